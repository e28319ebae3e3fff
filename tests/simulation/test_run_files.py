"""Runs as files and as tables; what a run's record says of where it ran; the progress line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import Setting, algorithms
from fedtheory.federations import Quadratic
from fedtheory.participation import Bernoulli
from fedtheory.provenance import machine
from fedtheory.simulation import Evaluation, Run, simulate
from fedtheory.simulation.progress import ProgressBar

from ..contract.table import network, setting

WATCHED = [Evaluation("train", every=2, by_client=True), "traffic"]


@pytest.fixture(scope="module")
def run() -> Run:
    this = setting("fedau", "Bernoulli", "network")
    return simulate(this, replicas=2, rounds=6, record_every=2, observers=[*WATCHED, "weights"])


def same(one: Run, other: Run) -> None:
    assert one.rows.keys() == other.rows.keys() and one.peaks.keys() == other.peaks.keys()
    for name in ("rounds", "diverged_at", "every", "where"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in one.rows:
        np.testing.assert_array_equal(one.rows[name], other.rows[name])
    for name in one.peaks:
        np.testing.assert_array_equal(one.peaks[name], other.peaks[name])


def test_a_run_comes_back_from_its_file(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "deep" / "run.npz")
    same(Run.load(tmp_path / "deep" / "run.npz"), run)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["run.npz"]
    with pytest.raises(ValueError, match=r"allowed is a name that ends in \.npz"):
        run.save(tmp_path / "run.pickle")


@pytest.mark.parametrize("damage", ["short", "empty", "absent", "pickle", "other", "shape", "format"])
def test_a_file_that_is_no_run_says_so(run: Run, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    arrays = dict(np.load(path))
    if damage in ("short", "empty"):
        path.write_bytes(path.read_bytes()[: 100 if damage == "short" else 0])
    elif damage == "absent":
        path.unlink()
    elif damage == "pickle":
        np.savez(path, **arrays | {"rounds": np.array([{}], dtype=object)})
    elif damage == "other":
        np.savez(path, numbers=np.arange(3))
    elif damage == "shape":
        np.savez(path, **arrays | {"rows.bytes_sent": np.zeros((3, 4))})
    else:
        np.savez(path, **arrays | {"about": np.frombuffer(b'{"format": "x"}', dtype=np.uint8)})
    with pytest.raises(ValueError, match=r"run\.npz: (no run can be read|row bytes_sent has shape)"):
        Run.load(path)


def test_a_table_has_a_line_for_each_replica_and_round(run: Run) -> None:
    table = run.to_pandas()
    assert table.index.names == ["replica", "round"] and len(table) == 2 * len(run.rounds)
    assert table.loc[(1, 4), "bytes_sent"] == run.rows["bytes_sent"][1, 2]
    by_client = run.to_pandas(by_client=True)
    assert by_client.index.names == ["replica", "round", "client"]
    assert by_client.loc[(1, 6, 3), "aggregation_weight"] == run.rows["aggregation_weight"][1, 3, 3]
    assert set(table) | set(by_client) == set(run.rows)


def test_a_table_without_pandas_says_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas is not installed; it comes with the extra 'pandas'"):
        run.to_pandas()


def test_a_run_of_no_client_has_no_table_of_them() -> None:
    plain = Setting(Quadratic.common_hessian([1, -1]), algorithms.fedavg(local_lr="1/2"), Bernoulli(["1/2", 1]))
    run = plain.simulate(replicas=1, rounds=2)
    assert list(run.to_pandas()["squared_distance"]) == run.rows["squared_distance"][0].tolist()
    with pytest.raises(ValueError, match="by_client: no row of this run is of each client"):
        run.to_pandas(by_client=True)


# Where it ran.


def test_the_record_says_where_it_ran(run: Run, tmp_path: Path) -> None:
    this = setting("fedavg", "Bernoulli", "network")
    assert run.where["dtype"] == "float32" and run.where["torch"] == torch.__version__
    assert run.where["device"].startswith("cuda" if torch.cuda.is_available() else "cpu")
    for name, dtype in (("float64", torch.float64), ("float32", torch.float32)):
        by_name, as_torch = (simulate(this, replicas=1, rounds=1, dtype=each, device="cpu") for each in (name, dtype))
        ran = {"seed": "0", "setting": "Network, EveryRound, Bernoulli"}
        place = machine("cpu", 1) | {"dtype": name}
        split = {"path": "grouped", "workers": "0", "evaluated_at_once": "2000", "chunk": "1", "pairs_at_once": "all"}
        assert by_name.where == as_torch.where == place | split | ran
    kept = simulate(this, replicas=1, rounds=1, directory=tmp_path, device="cpu")
    assert kept.where["device"] == "cpu"
    with pytest.raises(ValueError, match=r"holds another run: dtype = 'torch.float32' there, 'torch.float64' here"):
        simulate(this, replicas=1, rounds=1, directory=tmp_path, device="cpu", dtype="float64")


@pytest.mark.parametrize("device", ["tpu", "cuda:97", "gpu", ""])
def test_a_device_that_is_not_there_is_refused(device: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"device = '{device}'.*: allowed here is one of auto, cpu"):
        simulate(setting("fedavg", "Bernoulli"), rounds=1, device=device, directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_cuda_without_cuda_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for this in (setting("fedavg", "Bernoulli"), setting("fedavg", "Bernoulli", "network")):
        with pytest.raises(ValueError, match=r"device = 'cuda' \(torch finds no CUDA device\): allowed here is one of"):
            this.simulate(rounds=1, device="cuda")
        assert this.simulate(replicas=1, rounds=1).where["device"] == "cpu"
        with pytest.raises(ValueError, match=r"device = 'cuda' \(torch finds no CUDA device\): allowed here is one of"):
            this.federation.to("cuda")


@pytest.mark.parametrize("dtype", ["float16", "double", "", torch.int64, torch.bfloat16, 64])
def test_other_precisions_are_refused(dtype: object) -> None:
    with pytest.raises(
        ValueError, match=r"dtype = .*: allowed is 'float32', 'float64', torch.float32 or torch.float64"
    ):
        simulate(setting("fedavg", "Bernoulli"), rounds=1, dtype=dtype)
    for kind in ("quadratic", "logistic", "network"):
        with pytest.raises(ValueError, match=r"dtype = .*: allowed is 'float32', 'float64'"):
            setting("fedavg", "Bernoulli", kind).federation.to("cpu", dtype)


# What is on the way.


def test_the_progress_line_counts_rounds_of_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    simulate(setting("fedavg", "Bernoulli"), replicas=2, rounds=3, chunk=1, progress=ProgressBar(stream, always=True))
    lines = stream.getvalue().split("\r")
    assert lines[-1] == f"[{'#' * 30}] 100 %  6/6  0:00:00 left\n"
    monkeypatch.setattr(sys, "stderr", silent := io.StringIO())
    simulate(setting("fedavg", "Bernoulli"), replicas=2, rounds=3, progress=True)
    assert silent.getvalue() == ""  # no terminal


def test_a_network_without_test_points_is_evaluated_on_training_points() -> None:
    this = Setting(network(), algorithms.fedavg(local_lr="1/8"), Bernoulli(["1/2"] * 4))
    run = simulate(this, replicas=1, rounds=4, record_every=2)
    assert {"train_accuracy", "train_loss", "train_accuracy_worst", "train_accuracy_spread"} <= run.rows.keys()
    assert run.every["train_accuracy"] == 2
    with pytest.raises(ValueError, match="'points' has no test set"):
        simulate(this, rounds=1, observers=["evaluation"])


def test_loss_and_accuracy_of_clients_are_summed_up() -> None:
    """By numpy's mean, least and deviation of what is kept of every client; a diverged model's losses are infinite."""
    this = Setting(network(), algorithms.fedavg(local_lr="1/8"), Bernoulli(["1/2"] * 4))
    run = simulate(this, replicas=3, rounds=4, observers=[Evaluation(of="train", by_client=True)])
    for what in ("loss", "accuracy"):
        clients, found = run.rows[f"train_{what}_by_client"], run.rows
        assert clients.shape == (3, 5, 4) and clients.std(2).max() > 0
        np.testing.assert_allclose(found[f"train_{what}"], clients.mean(2), rtol=1e-12)  # sums of four
        np.testing.assert_allclose(found[f"train_{what}_spread"], clients.std(2), rtol=1e-12)
    assert (run.rows["train_accuracy_worst"] == clients.min(2)).all()
    wild = Setting(network(), algorithms.fedavg(local_lr=3e38), Bernoulli(["1/2"] * 4))
    lost = simulate(wild, replicas=1, rounds=4, observers=[Evaluation(of="train")]).rows
    assert {float(lost[f"train_loss{each}"][0, -1]) for each in ("", "_spread")} == {float("inf")}
