"""Runs in one batch are the runs alone: models to the bit, losses up to how a batch of more models is rounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fedtheory import Setting, algorithms, data
from fedtheory.federations import Network, packed_networks, random_quadratic
from fedtheory.neural import Adam
from fedtheory.neural.local_update import Sized
from fedtheory.participation import Bernoulli, Uniform
from fedtheory.randomness import Axis, Seeds, words
from fedtheory.simulation import packed_runs
from fedtheory.simulation.packed_runs import simulate_packed, simulate_table
from fedtheory.simulation.practice_observers import Evaluation
from fedtheory.testing.pretended_device import pretended_device

CLIENTS, SEEDS, ROUNDS = 6, (3, 4, 9), 6
LOCAL: dict[str, Any] = {"local_lr": "1/10", "local_steps": 3}
DIGITS = data.load("digits")
SHARED = data.Dataset(
    "digits with a test set", DIGITS.features[:600], DIGITS.labels[:600], 10,
    test=data.Dataset("rest", DIGITS.features[600:700], DIGITS.labels[600:700], 10),
)  # fmt: skip


def linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(64, 10)


def layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10))


def settings(
    algorithm: Any, model: Callable[[], nn.Module] = linear, tested: str | float = "proportions", **options: Any
) -> list[Setting]:
    made = []
    for seed in SEEDS:
        own = {"server_seed": seed} if "server_points" in options else {}
        partition = data.Dirichlet(clients=CLIENTS, alpha=0.5, seed=seed, test=tested)
        network = Network(model(), SHARED, partition, batch_size=8, **options, **own)
        made.append(Setting(network, algorithm, Uniform(3)))
    return made


CASES: dict[str, Callable[[], list[Setting]]] = {
    "plain": lambda: settings(algorithms.fedavg(**LOCAL)),
    "two layers": lambda: settings(algorithms.fedavg(**LOCAL), layers),
    "one test set": lambda: settings(algorithms.fedavg(**LOCAL), tested="whole"),
    "held out": lambda: settings(algorithms.fedavg(**LOCAL), tested=0.2),
    "one pass": lambda: settings(algorithms.fedavg(**LOCAL), local_epochs=1),
    "shuffled": lambda: settings(algorithms.fedavg(**LOCAL), sampling="shuffled"),
    "memories": lambda: settings(algorithms.fedvarp(**LOCAL)),
    "weights": lambda: settings(algorithms.fedau(**LOCAL, cutoff=3)),
    "snapshots": lambda: settings(algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/3")),
    "adaptive": lambda: settings(algorithms.fast(**LOCAL, cohort=2, adaptivity=7), accuracy_points=5),
    "server": lambda: settings(
        algorithms.safari(**LOCAL, client_round_probability="1/2", server_lr="1/10"), server_points=50
    ),
}
OBSERVERS = [Evaluation(of="test"), Evaluation(of="train", by_client=True, every=2)]


@pytest.mark.parametrize("name", CASES)
def test_runs_in_one_batch_are_the_runs_alone(name: str) -> None:
    made, replicas = CASES[name](), 1 + (name in ("snapshots", "memories"))
    given: dict[str, Any] = {"rounds": ROUNDS, "replicas": replicas, "observers": OBSERVERS, "record_every": 2}
    packed = simulate_packed(made, SEEDS, [None] * len(SEEDS), device="cpu", **given)
    for setting, seed, run in zip(made, SEEDS, packed, strict=True):
        alone = setting.simulate(seed=seed, device="cpu", **given)
        np.testing.assert_array_equal(run.models[ROUNDS], alone.models[ROUNDS])
        assert run.rounds.tolist() == alone.rounds.tolist() and run.rows.keys() == alone.rows.keys()
        for row, values in alone.rows.items():  # float32 scores of several models in one product
            np.testing.assert_allclose(run.rows[row], values, rtol=1e-6, atol=1e-7, err_msg=row)
        assert run.where["seed"] == str(seed)


def test_draws_are_those_of_each_seed() -> None:
    packed = words(Seeds((5, -7), 3), Axis.BATCH, torch.arange(6)[:, None], torch.arange(4), 2)
    alone = [words(seed, Axis.BATCH, torch.arange(3)[:, None], torch.arange(4), 2) for seed in (5, -7)]
    assert torch.equal(packed, torch.cat(alone))
    assert np.array_equal(words(Seeds((5, -7)), Axis.STEP, np.arange(2)), np.array([words(s, Axis.STEP, 0).item()
                                                                                   for s in (5, -7)]))  # fmt: skip
    with pytest.raises(ValueError, match="seed"):
        Seeds((2**63,))


def test_points_of_another_run_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all runs trained on the first one's points, the models would be others."""
    made = CASES["plain"]()
    kind = packed_networks.MinibatchesOfRuns
    monkeypatch.setattr(kind, "holder", lambda self, pairs: pairs.client)
    packed = simulate_packed(made, SEEDS, [None] * 3, rounds=2, device="cpu")
    alone = made[1].simulate(seed=SEEDS[1], rounds=2, replicas=1, device="cpu")
    assert (packed[1].models[2] != alone.models[2]).any()


TABLES: dict[str, Callable[[], list[list[Setting]]]] = {
    "weights and memories": lambda: [
        settings(each)
        for each in (
            algorithms.fedavg(**LOCAL),
            algorithms.fedavg(local_lr="1/20", local_steps=3, global_lr=2),
            algorithms.fedau(**LOCAL, cutoff=3),
            algorithms.mifa(**LOCAL),
        )
    ],
    "two layers": lambda: [
        settings(algorithms.fedavg(local_lr=lr, local_steps=steps), layers, path="grouped")
        for lr, steps in (("1/10", 3), ("1/20", 3), ("1/10", 2), ("1/10 - round_index/100", 3))
    ],
    "one pass": lambda: [
        settings(algorithms.fedavg(local_lr=lr, local_steps=3), local_epochs=1) for lr in ("1/10", "1/20", "1/10")
    ],
    "snapshots, Adam kept": lambda: [
        settings(algorithms.fast(**LOCAL, cohort=2, snapshot_probability=q).trained_by(Adam(keep=True)))
        for q in ("1/3", "1/2")
    ],
    "server's rounds": lambda: [
        settings(algorithms.safari(**LOCAL, client_round_probability=q, server_lr="1/10"), server_points=50)
        for q in ("1/2", "3/4")
    ],
}


@pytest.mark.parametrize("name", TABLES)
def test_methods_in_one_batch_are_the_runs_alone(name: str) -> None:
    methods = TABLES[name]()
    nowhere, given = [[None] * len(SEEDS)] * len(methods), {"rounds": ROUNDS, "device": "cpu", "observers": OBSERVERS}
    together = simulate_table(methods, SEEDS, nowhere, **given)
    for made, runs in zip(methods, together, strict=True):
        for setting, seed, run in zip(made, SEEDS, runs, strict=True):
            alone = setting.simulate(seed=seed, replicas=1, **given)
            np.testing.assert_array_equal(run.models[ROUNDS], alone.models[ROUNDS])
            for row, values in alone.rows.items():  # float32 scores of several models in one product
                np.testing.assert_allclose(run.rows[row], values, rtol=1e-6, atol=1e-7, err_msg=row)


def test_steps_of_another_method_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all methods took the first one's steps, the models would be others."""
    methods = TABLES["weights and memories"]()[:2]
    monkeypatch.setattr(packed_networks, "Sized", lambda pairs, sizes: Sized(pairs, [0.1] * 3))
    together = simulate_table(methods, SEEDS, [[None] * len(SEEDS)] * 2, rounds=2, device="cpu")
    alone = methods[1][0].simulate(seed=SEEDS[0], replicas=1, rounds=2, device="cpu")
    assert (together[1][0].models[2] != alone.models[2]).any()


def test_methods_of_another_network_are_refused() -> None:
    others = [CASES["plain"](), settings(algorithms.fedavg(**LOCAL), tested=0.2)]
    with pytest.raises(ValueError, match="share the network and the data"):
        simulate_table(others, SEEDS, [[None] * len(SEEDS)] * 2, rounds=1, device="cpu")


def test_as_many_pairs_as_fit_train_together(monkeypatch: pytest.MonkeyPatch) -> None:
    methods, sizes = TABLES["weights and memories"](), []
    real = packed_networks.PackedNetworks.changes_together

    def seen(self: Any, asked: Any) -> Any:
        sizes.append(sum(len(each.pairs) for each in asked))
        return real(self, asked)

    monkeypatch.setattr(packed_networks.PackedNetworks, "changes_together", seen)
    monkeypatch.setattr(packed_runs, "chunks", lambda plan, replicas, limit: (replicas, 20))
    simulate_table(methods, SEEDS, [[None] * len(SEEDS)] * 4, rounds=1, device="cpu")
    assert sizes == [18, 18]  # of four methods, 9 pairs each


class Stopped(Exception):
    pass


def test_a_batch_that_was_stopped_goes_on(tmp_path: Path) -> None:
    made, folders = CASES["memories"](), [tmp_path / str(seed) for seed in SEEDS]
    given: dict[str, Any] = {"rounds": ROUNDS, "checkpoint_every": 2, "device": "cpu"}

    def stop(done: int, total: int) -> None:
        assert total == ROUNDS * len(SEEDS)
        if done >= 5 * len(SEEDS):
            raise Stopped

    whole = simulate_packed(made, SEEDS, [None] * 3, **given)
    with pytest.raises(Stopped):
        simulate_packed(made, SEEDS, folders, progress=stop, **given)
    assert sorted(path.name for path in folders[0].glob("replica-*/segment-*")) == [
        "segment-000000000002.npz", "segment-000000000004.npz"
    ]  # fmt: skip
    again = simulate_packed(made, SEEDS, folders, **given)
    for setting, seed, folder, one, other in zip(made, SEEDS, folders, whole, again, strict=True):
        kept = setting.simulate(seed=seed, directory=folder, replicas=1, **given)
        assert one.rows.keys() == other.rows.keys()
        for row, values in one.rows.items():
            assert np.array_equal(other.rows[row], values) and np.array_equal(kept.rows[row], values)
        with pytest.raises(ValueError, match=r"another run: .*seed"):
            setting.simulate(seed=seed + 1, directory=folder, replicas=1, **given)


def test_runs_that_have_come_to_different_rounds_are_refused(tmp_path: Path) -> None:
    made, folders = CASES["plain"](), [tmp_path / str(seed) for seed in SEEDS]
    simulate_packed(made[:2], SEEDS[:2], folders[:2], rounds=4, device="cpu")
    with pytest.raises(ValueError, match="come to rounds"):
        simulate_packed(made, SEEDS, folders, rounds=4, device="cpu")


def test_what_differs_in_more_is_refused() -> None:
    plain, others = CASES["plain"](), CASES["two layers"]()
    cases = {
        "who holds which points alone": [plain[0], others[1]],
        "same algorithm": [plain[0], CASES["memories"]()[1]],
        "networks that draw minibatches": [Setting(random_quadratic(4, 2), algorithms.fedavg(**LOCAL), Uniform(2))],
        "same algorithm, participants": [
            plain[0], Setting(plain[1].federation, plain[1].algorithm, Bernoulli(["1/2"] * CLIENTS))
        ],
    }  # fmt: skip
    for said, made in cases.items():
        with pytest.raises(ValueError, match=said):
            simulate_packed(made, SEEDS[: len(made)], [None] * len(made), rounds=1)
    with pytest.raises(ValueError, match="allowed of runs in one batch"):
        simulate_packed(plain, SEEDS, [None] * 3, rounds=1, observers=["loss"])
    with pytest.raises(ValueError, match="one of each"):
        simulate_packed(plain, SEEDS[:2], [None] * 3, rounds=1)


QUIET: dict[str, Any] = {"observers": [Evaluation(every=100)], "record_every": 100, "device": "cuda"}


def launched(run: Callable[[int], object]) -> float:
    """Operations of a round, without what a run costs once."""
    found = []
    with pretended_device() as counts:
        for rounds in (1, 2, 6):
            counts.clear()
            run(rounds)
            found.append(counts.totals()[0])
    return float(found[2] - found[1]) / 4


def of_seeds(seeds: range, algorithm: Any, process: Any) -> list[Setting]:
    return [
        Setting(Network(layers(), SHARED, data.Uniform(clients=CLIENTS, seed=n), batch_size=8), algorithm, process)
        for n in seeds
    ]


def test_a_device_is_launched_a_tenth_as_often() -> None:
    """Twelve seeds in one batch launch at most a tenth of what they launch alone: little more than one run."""
    seeds = range(12)
    made = of_seeds(seeds, algorithms.fedavg(local_lr="1/10", local_steps=10), Uniform(3))
    together = launched(lambda rounds: simulate_packed(made, seeds, [None] * 12, rounds=rounds, **QUIET))
    alone = launched(lambda rounds: made[0].simulate(replicas=1, rounds=rounds, seed=0, **QUIET))
    assert together <= min(alone + 10, 12 * alone / 10), (together, alone)


def fedau_table() -> list[Any]:
    """The seven methods of FedAU's Table 1, with their step sizes on SVHN."""
    five: dict[str, Any] = {"local_lr": "1/10", "local_steps": 5}
    return [
        algorithms.fedau(**five),
        algorithms.fedau(**five, cutoff=50),
        algorithms.fedavg(local_lr="0.0562", global_lr="1.78", local_steps=5),
        algorithms.fedavg(**five, global_lr=10, average="all"),
        algorithms.fedvarp(**five),
        algorithms.mifa(**five),
        algorithms.known_statistics(**five),
    ]


TENTH = 0.1
"""Of what runs alone launch, the most that the runs of a table launch together."""


def table_and_alone(methods: Sequence[Any], process: Any, seeds: range = range(5)) -> tuple[float, float]:
    """Operations of a round of the table's runs together, and of each of them alone."""
    made = [of_seeds(seeds, each, process) for each in methods]
    nowhere = [[None] * len(seeds)] * len(made)
    together = launched(lambda rounds: simulate_table(made, seeds, nowhere, rounds=rounds, **QUIET))
    alone = [launched(lambda n, own=own: own[0].simulate(replicas=1, rounds=n, seed=0, **QUIET)) for own in made]
    return together, len(seeds) * sum(alone)


def test_a_table_launches_a_tenth_of_its_runs() -> None:
    together, alone = table_and_alone(fedau_table(), Bernoulli(["1/2"] * CLIENTS))
    assert together <= TENTH * alone, (together, alone)


if __name__ == "__main__":
    table = table_and_alone(fedau_table(), Bernoulli(["1/2"] * CLIENTS))
    print(f"FedAU's seven methods, five seeds: {table[0]:g} operations a round for {table[1]:g}")
