"""Models that stay: of a run, of a file, of a folder; and runs that go on, to the bits of the long one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import Setting, algorithms, data, federations, neural, participation
from fedtheory.simulation import Run, engine, kept_models, stored_run

CLIENTS = 12
DIGITS = data.load("digits")


def module(outputs: int = 10) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(64, 6), torch.nn.Tanh(), torch.nn.Linear(6, outputs))


def network(algorithm: algorithms.Algorithm, model: torch.nn.Module | None = None) -> Setting:
    scheme = data.Dirichlet(clients=CLIENTS, alpha=0.5, test=0.2)
    fed = federations.Network(model or module(), DIGITS, scheme, batch_size=8)
    return Setting(fed, algorithm, participation.Markov([0.5] * CLIENTS, [0.2] * CLIENTS))


def check_equal(one: torch.nn.Module, other: torch.nn.Module) -> None:
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def quadratic() -> Setting:
    fed = federations.Quadratic.common_hessian(offsets=[1, -1, 3])
    return Setting(fed, algorithms.fedavg(local_lr="1/10"), participation.Uniform(1), start=3)


OPTIONS = {"local_lr": 0.1, "local_steps": 2}
SETTINGS = {
    "quadratic, rounds at once": quadratic,
    "fedavg": lambda: network(algorithms.fedavg(**OPTIONS)),
    "mifa": lambda: network(algorithms.mifa(**OPTIONS)),
    "fedau": lambda: network(algorithms.fedau(cutoff=5, **OPTIONS)),
}


def check_same(one: Run, other: Run) -> None:
    """Bit by bit."""
    assert one.rows.keys() == other.rows.keys() and one.rounds.tolist() == other.rounds.tolist()
    pairs = [(one.rows[name], other.rows[name]) for name in one.rows]
    pairs += [(one.peaks[name], other.peaks[name]) for name in one.peaks]
    pairs += [(one.models[round], other.models[round]) for round in one.models.keys() & other.models.keys()]
    pairs += [(one.parameters(), other.parameters()), (one.diverged_at, other.diverged_at)]
    for mine, theirs in pairs:
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_run_goes_on_to_the_bits_of_the_long_one(name: str, tmp_path: Path) -> None:
    s, options = SETTINGS[name](), {"record_every": 3, "keep_models": 4}
    short = s.simulate(replicas=2, rounds=8, seed=5, **options)
    long = s.simulate(replicas=2, rounds=16, seed=5, **options)
    assert sorted(long.models) == [0, 4, 8, 12, 16]
    check_same(s.simulate(rounds=16, start=short), long)  # which leaves the start as it was
    check_same(s.simulate(rounds=16, start=s.simulate(rounds=11, start=short)), long)
    s.simulate(replicas=2, rounds=8, seed=5, directory=tmp_path, **options)
    check_same(s.simulate(replicas=2, rounds=16, seed=5, directory=tmp_path), long)
    stored = stored_run(tmp_path)
    check_same(replace(stored, peaks=long.peaks), long)
    if "quadratic" not in name:
        check_equal(stored.model(1, 8, into=module()), long.model(1, 8))
        with pytest.raises(ValueError, match="of another architecture: of 460 numbers, Sequential has 467"):
            stored.model(into=module(11))


def test_chunks_and_executors_go_on_too() -> None:
    from concurrent.futures import ThreadPoolExecutor

    s = quadratic()
    short = s.simulate(replicas=5, rounds=8, chunk=2)
    long = s.simulate(replicas=5, rounds=16, chunk=2, record_every=1)
    check_same(s.simulate(rounds=16, start=short, chunk=2), long)
    with ThreadPoolExecutor(2) as executor:
        check_same(s.simulate(rounds=16, start=short, executor=executor), long)


def test_sums_count_the_last_round_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relapse: the state after the last round was observed, which a longer run observes once more."""
    s = quadratic()
    long = s.simulate(replicas=2, rounds=16)
    remember, save = engine.Checkpoints.remember, engine.Checkpoints.finish
    monkeypatch.setattr(engine.Checkpoints, "remember", lambda self, state: None)
    monkeypatch.setattr(
        engine.Checkpoints, "finish", lambda self, rounds, state: (remember(self, state), save(self, rounds, state))
    )
    wrong = s.simulate(rounds=16, start=s.simulate(replicas=2, rounds=8))
    assert not np.array_equal(wrong.rows["squared_distance_sum"], long.rows["squared_distance_sum"])


def test_a_longer_run_in_a_folder_is_recorded_as_often(tmp_path: Path) -> None:
    s = quadratic()
    s.simulate(replicas=1, rounds=100, directory=tmp_path)  # every round; 300 rounds alone would be every third
    found = s.simulate(replicas=1, rounds=300, directory=tmp_path)
    check_same(found, s.simulate(replicas=1, rounds=300, record_every=1))


def test_what_a_run_may_start_from() -> None:
    s = quadratic()
    short = s.simulate(replicas=2, rounds=8)
    for options, message in (
        ({"rounds": 8}, "rounds = 8: allowed is more than the 8 rounds that start has"),
        ({"rounds": 9, "replicas": 3}, "start is another run: replicas = 2 there, 3 here"),
        ({"rounds": 9, "seed": 1}, "start is another run: seed = 0 there, 1 here"),
        ({"rounds": 9, "record_every": 2}, "record_every = 1 there, 2 here"),
        (
            {"rounds": 9, "chunk": 1},
            r"chunk: start has chunks of replicas \[\(0, 2\)\]|holds|start is a run whose bits",
        ),
        ({"rounds": 9, "directory": "x"}, "start and directory are both given"),
    ):
        with pytest.raises(ValueError, match=message):
            s.simulate(start=short, **options)
    with pytest.raises(ValueError, match="another setting"):
        replace(s, start=2).simulate(rounds=9, start=short)
    with pytest.raises(ValueError, match="loaded or sent from elsewhere"):
        s.simulate(rounds=9, start=pickle.loads(pickle.dumps(short)))
    with pytest.raises(ValueError, match="start is 3: allowed is a run"):
        s.simulate(rounds=9, start=3)


def test_a_large_state_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_models, "KEPT_STATE", 15)
    s = quadratic()
    with pytest.raises(ValueError, match="more than 15 bytes, or is in files, so that it was not kept; allowed is"):
        s.simulate(rounds=9, start=s.simulate(replicas=2, rounds=8))


def accuracy(found: torch.nn.Module, s: Setting) -> float:
    """Mean over the clients of the share of their test points that a module has right; by torch alone."""
    shares = []
    for part in s.federation.partition.test:
        points = torch.from_numpy(DIGITS.features[part]).float()
        shares.append((found(points).argmax(1).numpy() == DIGITS.labels[part]).mean() if len(part) else np.nan)
    return float(np.nanmean(shares))


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_saved_network_has_its_accuracy_in_another_process(suffix: str, tmp_path: Path) -> None:
    s = network(algorithms.fedavg(local_lr=0.5, local_steps=5))
    run = s.simulate(replicas=2, rounds=15)
    expected = run.rows["test_accuracy"][1, -1]
    assert expected > 0.3  # it has learned
    run.save_model(tmp_path / f"model{suffix}", replica=1)
    run.save(tmp_path / "run.npz", weights=True)
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_models as t
from fedtheory import algorithms, neural
from fedtheory.simulation import Run
s = t.network(algorithms.fedavg(local_lr=0.5, local_steps=5))
for found in (neural.load_model({str(tmp_path / f"model{suffix}")!r}, t.module()),
              Run.load({str(tmp_path / "run.npz")!r}).model(1, into=t.module())):
    print(repr(t.accuracy(found, s)))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [float(each) for each in said] == [accuracy(run.model(1), s)] * 2
    assert float(said[0]) == pytest.approx(expected, abs=1e-12)


def test_models_of_a_run() -> None:
    run = network(algorithms.fedavg(**OPTIONS)).simulate(replicas=2, rounds=6, keep_models=2)
    for round in (0, 2, 4, 6):
        for replica in (0, 1):
            flat = torch.cat([value.flatten() for value in run.model(replica, round).parameters()])
            np.testing.assert_array_equal(flat.detach().numpy(), run.parameters(round)[replica])
    assert not np.array_equal(run.parameters(4), run.parameters(6))
    assert not run.model().training and run.model() is not run.model()
    for arguments, message in (
        ({"replica": 2}, "replica = 2: allowed is 0 to 1"),
        ({"round": 3}, "round = 3: allowed are the rounds whose models are kept, 0, 2, 4, 6 "),
    ):
        with pytest.raises(ValueError, match=message):
            run.model(**arguments)
    with pytest.raises(ValueError, match=r"the run is none of a network; allowed is run.parameters\(\)"):
        quadratic().simulate(replicas=1, rounds=2).model()


def test_files_of_another_architecture_and_damaged_ones(tmp_path: Path) -> None:
    run = network(algorithms.fedavg(**OPTIONS)).simulate(replicas=1, rounds=2)
    run.save(tmp_path / "bare.npz")
    run.save(tmp_path / "run.npz", weights=True)
    bare, loaded = Run.load(tmp_path / "bare.npz"), Run.load(tmp_path / "run.npz")
    check_same(replace(bare, models=run.models), run)
    check_same(loaded, run)
    with pytest.raises(ValueError, match="this run has no models"):
        bare.parameters()
    with pytest.raises(ValueError, match="its module is not known; allowed is a module"):
        loaded.model()
    other = module(11)
    before = [value.clone() for value in other.parameters()]
    wrong = r"2.weight is \(10, 6\) there and \(11, 6\) in Sequential; allowed is the architecture that was saved"
    with pytest.raises(ValueError, match=f"the run holds a model of another architecture: {wrong}"):
        loaded.model(into=other)
    for suffix in neural.model_files.SUFFIXES:
        path = tmp_path / f"model{suffix}"
        run.save_model(path)
        with pytest.raises(ValueError, match=f"model{suffix} holds a model of another architecture: {wrong}"):
            neural.load_model(path, other)
        with pytest.raises(ValueError, match=r"0.weight is \(6, 64\) there and missing in Linear"):
            neural.load_model(path, torch.nn.Linear(64, 10))
        with pytest.raises(ValueError, match=r"4.weight is missing there and \(2, 10\) in Sequential"):
            neural.load_model(path, torch.nn.Sequential(*module(), torch.nn.ReLU(), torch.nn.Linear(10, 2)))
        content = path.read_bytes()
        for bad in (content[:-3], content[:40], b"", b"\xff" * 100):
            path.write_bytes(bad)
            with pytest.raises(ValueError, match="no model can be read from it") as told:
                neural.load_model(path, module())
            assert "\n" not in str(told.value)
    assert all(torch.equal(a, b) for a, b in zip(before, other.parameters(), strict=True))
    with pytest.raises(ValueError, match=r"allowed is a name that ends in .npz or .safetensors"):
        run.save_model(tmp_path / "model.pt")
    with pytest.raises(ValueError, match="no such file"):
        neural.load_model(tmp_path / "none.npz", module())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_numbers_and_buffers_in_files(dtype: torch.dtype, tmp_path: Path) -> None:
    """Batch norm has counters and statistics; an array of each kind, and empty and scalar ones."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).to(dtype)
    model(torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).to(dtype))
    for suffix in neural.model_files.SUFFIXES:
        neural.save_model(model, tmp_path / f"m{suffix}")
        fresh = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).to(dtype)
        neural.load_model(tmp_path / f"m{suffix}", fresh)
        for name, value in model.state_dict().items():
            assert torch.equal(fresh.state_dict()[name], value)


def test_safetensors_are_those_of_others(tmp_path: Path) -> None:
    """The bytes by hand, as the format's description has them."""
    import json

    values = np.arange(6, dtype="<f4").reshape(2, 3)
    header = json.dumps({"bias": {"dtype": "BF16", "shape": [2], "data_offsets": [24, 28]},
                         "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()  # fmt: skip
    half = np.array([0x3F80, 0xC000], "<u2")  # 1 and -2
    path = tmp_path / "theirs.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + values.tobytes() + half.tobytes())
    found = neural.load_model(path, torch.nn.Linear(3, 2))
    assert found.weight.tolist() == values.tolist() and found.bias.tolist() == [1.0, -2.0]
    neural.save_model(found, tmp_path / "ours.safetensors")
    theirs = pytest.importorskip("safetensors.torch")
    assert theirs.load_file(tmp_path / "ours.safetensors")["weight"].tolist() == values.tolist()


def test_training_goes_on_from_a_saved_network() -> None:
    s = network(algorithms.fedavg(**OPTIONS))
    run = s.simulate(replicas=1, rounds=3)
    again = replace(s, start=run.parameters()[0]).simulate(replicas=1, rounds=1)
    assert again.rows["test_accuracy"][0, 0] == run.rows["test_accuracy"][0, -1]
