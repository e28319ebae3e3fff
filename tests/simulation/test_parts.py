"""The algorithms' parts in the engine: special cases that are other algorithms, any chunk plan, stop and resume."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import algorithms as algos
from fedtheory.algorithms import Algorithm
from fedtheory.federations import Quadratic, random_quadratic
from fedtheory.participation import Bernoulli, Cyclic, Fixed, Markov, Participation, Uniform, UniformGroups
from fedtheory.setting import Setting
from fedtheory.simulation import memory_limits
from fedtheory.simulation.iterates import iterates
from fedtheory.simulation.state import Plan

LOCAL = {"local_lr": "1/8", "local_steps": 2}
CLIENTS, GROUPS = 4, [0, 0, 1, 0]
OFTEN = Bernoulli(["1/4", "1/2", "1/8", "1/2"])
"""Nobody takes part in a sixth of the rounds."""
ALL = Fixed(range(CLIENTS))
ROUNDING = 1e-13
"""Relative to iterates of order 1, after a dozen contracting rounds whose sums are formed in another order."""

ALGORITHMS: dict[str, Algorithm] = {
    "fedavg": algos.fedavg(**LOCAL, global_lr="3/2"),
    "all": algos.fedavg(**LOCAL, average="all"),
    "proximal": algos.fedprox(**LOCAL, proximal=1),
    "momentum": algos.fedavgm(**LOCAL, momentum="1/2"),
    "adam": algos.fedadam(**LOCAL, global_lr="1/8"),
    "amplified": algos.fedamplify(**LOCAL, period=3, global_lr=2),
    "fast": algos.fast(**LOCAL, cohort=2, snapshot_probability="1/3", momentum="1/2", proximal=1),
    "fedau": algos.fedau(**LOCAL, cutoff=3),
    "known": algos.known_statistics(**LOCAL),
    "constant": algos.constant_weights(**LOCAL, aggregation_weight=[1, 2, 3, "1/2"]),
    "given": algos.given_weights(**LOCAL, aggregation_weight=[[1, 2, 3, "1/2"], [2, 1, 1, 3]]),
    "fedvarp": algos.fedvarp(**LOCAL),
    "mifa": algos.mifa(**LOCAL),
    "flics": algos.flics_avg(**LOCAL, groups=GROUPS, budget=["3/2", 1]),
    "received": algos.flics_avg(**LOCAL, groups=GROUPS, budget=1, counts="received", update="start_counts", start=1),
    "flics adam": algos.flics_adam(**LOCAL, groups=GROUPS, budget=1, global_lr="1/8", answers="drawn"),
    "budget": algos.fedadam(**LOCAL, global_lr="1/8", budget="3/2"),
    "naive": algos.naive(**LOCAL, groups=GROUPS, budget="3/2"),
}


def federation(noise: float = 0.25) -> Quadratic:
    return random_quadratic(CLIENTS, 2, seed=1, gradient_noise=noise)


def setting(algorithm: Algorithm, who: Participation = OFTEN, noise: float = 0.25) -> Setting:
    return Setting(federation(noise), algorithm, who, start=[1.0, -2.0])


def path(algorithm: Algorithm, who: Participation = OFTEN, rounds: int = 12, **options: object) -> torch.Tensor:
    return iterates(setting(algorithm, who), rounds=rounds, replicas=3, seed=5, **options)


# Special cases that are other algorithms.

AVERAGE, PARTICIPANTS = algos.fedavg(**LOCAL, average="all"), algos.fedavg(**LOCAL)
SAME: dict[str, tuple[Algorithm, Algorithm, Participation]] = {
    "no pull": (algos.fedprox(**LOCAL, proximal=0), PARTICIPANTS, OFTEN),
    "no momentum": (algos.fedavgm(**LOCAL, momentum=0, global_lr=2), algos.fedavg(**LOCAL, global_lr=2), OFTEN),
    "stretched every round": (
        algos.fedamplify(**LOCAL, period=1, global_lr=2),
        algos.fedavg(**LOCAL, global_lr=2),
        OFTEN,
    ),
    "never stretched": (algos.fedamplify(**LOCAL, period=5, global_lr=1), PARTICIPANTS, OFTEN),
    "cutoff 1": (algos.fedau(**LOCAL, cutoff=1), AVERAGE, OFTEN),
    "weights 1": (algos.constant_weights(**LOCAL, aggregation_weight=[1] * CLIENTS), AVERAGE, OFTEN),
    "probabilities 1": (algos.known_statistics(**LOCAL, participation_probability=[1] * CLIENTS), AVERAGE, OFTEN),
    "fedau, all": (algos.fedau(**LOCAL, cutoff=math.inf), AVERAGE, ALL),
    "known, all": (algos.known_statistics(**LOCAL), AVERAGE, ALL),
    "known, uniform": (algos.known_statistics(**LOCAL), PARTICIPANTS, Uniform(2)),
    "mifa, all": (algos.mifa(**LOCAL), AVERAGE, ALL),
    "fedvarp, all": (algos.fedvarp(**LOCAL), AVERAGE, ALL),
    "one group, all": (algos.flics_avg(**LOCAL, groups=[0] * CLIENTS, budget=CLIENTS), AVERAGE, ALL),
    "plenty for all": (algos.fedavg(**LOCAL, budget=CLIENTS), PARTICIPANTS, OFTEN),
    "one group": (algos.naive(**LOCAL, groups=[0] * CLIENTS, budget=2), algos.fedavg(**LOCAL, budget=2), OFTEN),
    "plenty": (algos.naive(**LOCAL, groups=GROUPS, budget=100), PARTICIPANTS, OFTEN),
    "fast without snapshots": (
        algos.fast(**LOCAL, cohort=1, snapshot_probability=0, momentum="1/2", proximal=1),
        replace(
            algos.fedavgm(**LOCAL, momentum="1/2"),
            round=replace(
                algos.fedavgm(**LOCAL, momentum="1/2").round, proximal=algos.fedprox(**LOCAL, proximal=1).round.proximal
            ),
        ),
        OFTEN,
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_special_cases_are_other_algorithms(name: str) -> None:
    one, other, who = SAME[name]
    torch.testing.assert_close(path(one, who), path(other, who), rtol=ROUNDING, atol=ROUNDING)


def test_the_algorithms_differ() -> None:
    """So that the special cases above say something."""
    ends = {name: path(algorithm)[-1] for name, algorithm in ALGORITHMS.items()}
    assert not any(torch.equal(ends[a], ends[b]) for a in ends for b in ends if a < b)


# Any chunk plan; stop and resume.


@pytest.mark.parametrize("name", ALGORITHMS)
def test_replicas_do_not_depend_on_what_shares_their_chunk(name: str) -> None:
    assert torch.equal(path(ALGORITHMS[name], rounds=8), path(ALGORITHMS[name], rounds=8, chunk=2))


def interrupt_after(rounds: int) -> Callable[[int, int], None]:
    """Three replicas, which make rounds some at a time."""

    def progress(done: int, total: int) -> None:
        if done >= 3 * rounds:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_interrupted_run_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    here = setting(ALGORITHMS[name])
    options = {"replicas": 3, "rounds": 14, "seed": 2, "record_every": 3, "checkpoint_every": 5}
    whole = here.simulate(**options)
    with contextlib.suppress(KeyboardInterrupt):
        here.simulate(**options, directory=tmp_path, progress=interrupt_after(8))
    assert [path.stem for path in tmp_path.glob("*/segment-*")] == ["segment-000000000005"]
    resumed = here.simulate(**options, directory=tmp_path)
    for row in whole.rows:
        assert np.array_equal(whole.rows[row], resumed.rows[row]), row


def test_a_directory_belongs_to_one_algorithm(tmp_path: Path) -> None:
    options = {"replicas": 1, "rounds": 2, "directory": tmp_path}
    setting(ALGORITHMS["fedau"]).simulate(**options)
    for other in (algos.fedau(**LOCAL, cutoff=4), algos.fedau(**LOCAL, cutoff=3, global_lr=2)):
        with pytest.raises(ValueError, match="holds another run"):
            setting(other).simulate(**options)


def test_the_memory_counts_where_replicas_are_split_into_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica draws 4 numbers of 8 bytes a round; a model, and an update that is remembered, has 16 bytes. The sum of
    what is remembered has 32, and the number of rows that were replaced 8."""
    monkeypatch.setattr(memory_limits, "CHUNK_BYTES", 480)

    def chunk(algorithm: Algorithm, who: Participation = OFTEN) -> int:
        return memory_limits.chunks(Plan.of(setting(algorithm, who), rounds=1), replicas=12, limit=2**20)[0]

    assert chunk(ALGORITHMS["mifa"]) == 480 // (32 + 4 * 16 + 4 * 16 + 32 + 8)
    assert chunk(ALGORITHMS["fedavg"]) == 480 // (32 + 4 * 16)
    assert chunk(ALGORITHMS["fedavg"], Fixed([0])) == 480 // (32 + 16)
    assert chunk(algos.fast(**LOCAL, cohort=3, snapshot_period=2), Fixed([0])) == 480 // (32 + 3 * 16)


# What runs look like.


@pytest.mark.parametrize("who", [OFTEN, Markov(["1/4"] * 4, ["1/8"] * 4), Cyclic(["1/4"] * 4, period=4)], ids=str)
def test_all_algorithms_run_under_any_process(who: Participation) -> None:
    for algorithm in ALGORITHMS.values():
        run = setting(algorithm, who).simulate(replicas=2, rounds=6, dtype=torch.float32)
        assert np.isfinite(run.rows["squared_distance"]).all()


def test_deterministic_says_whether_replicas_are_alike() -> None:
    for name, algorithm in ALGORITHMS.items():
        here = setting(algorithm, Fixed([0, 2]), noise=0.0) if name != "known" else setting(algorithm, ALL, noise=0.0)
        selects = any(kind.selection is not None for kind in algorithm.client_rounds)
        assert here.deterministic == (not selects and name != "fast")
        if here.deterministic:
            found = here.simulate(replicas=2, rounds=6).rows["squared_distance"]
            assert np.array_equal(found[0], found[1])


def test_mean_updates_of_flics_are_unbiased_in_the_long_run() -> None:
    """One step from x_0, t large, always the same availability: s^ is the rate, so E Delta = sum_j p_j mean delta."""
    algorithm = algos.flics_avg(local_lr="1/8", groups=GROUPS, budget=2, group_weight=["1/4", "3/4"])
    here = setting(algorithm, ALL, noise=0.0)
    fed, x = here.federation, here.start_vector.numpy()
    updates = [-(1 / 8) * h @ (x - c) for h, c in zip(fed.hessians, fed.centres, strict=True)]
    expected = x + (updates[0] + updates[1] + updates[3]) / 12 + 3 / 4 * updates[2]
    found = iterates(here, rounds=1, replicas=4000)[1].numpy()
    # Five standard errors; the seed is fixed.
    assert (np.abs(found.mean(0) - expected) < 5 * found.std(0) / np.sqrt(4000)).all()
    assert (found.std(0) > 0.01).all()


def test_groups_with_nobody_there_are_asked_for_nothing() -> None:
    """Group 1 is never there; the budget goes to group 0, and everything stays finite."""
    who = UniformGroups(GROUPS, lowest=[1, 0], highest=[3, 0])
    for name in ("flics", "received", "flics adam", "naive"):
        run = setting(ALGORITHMS[name], who).simulate(replicas=4, rounds=10)
        assert np.isfinite(run.rows["squared_distance"]).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_on_the_gpu(name: str) -> None:
    here = path(ALGORITHMS[name])
    torch.testing.assert_close(path(ALGORITHMS[name], device="cuda"), here, rtol=ROUNDING, atol=ROUNDING)
