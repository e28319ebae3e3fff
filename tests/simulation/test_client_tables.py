"""What is remembered of every client in files: the same bits, whenever the process dies, and whatever is taken away."""

import numpy as np
import pytest
import torch

from fedtheory.algorithms import fast, fedavg, fedvarp, mifa
from fedtheory.federations import Quadratic
from fedtheory.files import Damaged
from fedtheory.neural import SGD, Adam
from fedtheory.participation import Bernoulli, Uniform
from fedtheory.setting import Setting
from fedtheory.simulation import client_tables, memory_limits
from fedtheory.simulation.client_tables import ClientTables
from fedtheory.simulation.segment import PLACES, read_segment
from fedtheory.simulation.state import Plan

from .test_checkpoint import assert_same_run

CLIENTS = 6
FEDERATION = Quadratic(np.full((CLIENTS, 2), 1.0), np.arange(2.0 * CLIENTS).reshape(CLIENTS, 2), gradient_noise=0.5)
LOCAL = {"local_steps": 2, "local_lr": "1/10"}
ALGORITHMS = {
    "fedvarp": fedvarp(**LOCAL),
    "mifa": mifa(**LOCAL),
    "momentum": fedavg(**LOCAL).trained_by(SGD(momentum=0.9, keep=True)),
    "Adam in two kinds of round": fast(cohort=1, snapshot_period=3, **LOCAL).trained_by(Adam(keep=True)),
}


class Died(BaseException):
    """The process is gone."""


def run(directory=None, algorithm="fedvarp", rounds=24, every=5, on_disk=True, **options):
    process = Uniform(1) if algorithm.startswith("Adam") else Bernoulli(["1/3"] * CLIENTS)
    setting = Setting(FEDERATION, ALGORITHMS[algorithm], process, start=3.0)
    if directory is not None:
        options |= {"directory": directory, "checkpoint_every": every, "memory_on_disk": on_disk}
    return setting.simulate(replicas=3, chunk=2, rounds=rounds, seed=1, record_every=4, **options)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_files_hold_the_same(tmp_path, algorithm):
    plain = run(algorithm=algorithm)
    assert_same_run(run(tmp_path, algorithm), plain)
    assert_same_run(run(tmp_path, algorithm, on_disk=None), plain)  # as it was
    for folder in tmp_path.iterdir():
        tables = sorted(folder.glob("clients-*.rows"))
        segments = [read_segment(path) for path in sorted(folder.glob("segment-*.npz"))]
        assert tables and all(PLACES in each for each in segments[-2:]) and len(segments) > 4
        assert all(len(each.get(PLACES, ())) <= 2 * CLIENTS for each in segments)
        assert len(list(folder.glob("before-*.npz"))) == 2


class Crashes:
    """Every step of a checkpoint, one of which is the last one."""

    def __init__(self, monkeypatch, last):
        self.left = last
        monkeypatch.setattr(client_tables, "write_beside", self.around(client_tables.write_beside))
        monkeypatch.setattr("fedtheory.simulation.segment.write_beside", self.around(client_tables.write_beside))
        monkeypatch.setattr(ClientTables, "_write", self.in_the_middle(ClientTables._write))

    def step(self):
        self.left -= 1
        if self.left == 0:
            raise Died

    def around(self, write):
        def writing(path, content):
            self.step()
            write(path, content)
            self.step()

        return writing

    def in_the_middle(self, write):
        def writing(tables, segment):
            self.step()
            half = {name: values[::2] if name.startswith("memory.") else values for name, values in segment.items()}
            write(tables, half)
            self.step()
            write(tables, segment)
            self.step()

        return writing


@pytest.fixture
def unsynced(monkeypatch):
    """What is written is there at once; no disk is waited for."""
    monkeypatch.setattr("os.fsync", lambda file: None)


def dies(folder, *steps, taken, every, plain):
    """Die at these steps, in runs after each other, until one does not; return whether it is the first one."""
    for times, step in enumerate(steps):
        with pytest.MonkeyPatch.context() as patch:
            Crashes(patch, step)
            try:
                found = run(folder, rounds=8, every=every)
            except Died:
                for chunk in folder.iterdir() if taken and times == 1 else ():
                    for path in sorted(chunk.glob("segment-*.npz"))[-1:]:
                        path.unlink()
                continue
        assert_same_run(found, plain)
        return times == 0
    raise AssertionError("it never ends")


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_whenever_it_dies_it_goes_on(tmp_path, unsynced, stride):
    """At each step of each checkpoint of both chunks; then soon after it goes on, whereupon the last segments are taken
    away, or at the same step again; and to the end."""
    plain, every = run(rounds=8), 3
    for last in range(1, 1000, stride):
        ended = dies(tmp_path / f"{last} soon", last, 4, 10**9, taken=True, every=every, plain=plain)
        dies(tmp_path / f"{last} again", last, last, 10**9, taken=False, every=every, plain=plain)
        if ended:
            break
    assert last > 30


def test_a_segment_that_is_taken_away_takes_its_rows_along(tmp_path):
    """Once; what was remembered before the last two is gone, as it is without tables."""
    plain = run()
    run(tmp_path)
    for folder in tmp_path.iterdir():
        sorted(folder.glob("segment-*.npz"))[-1].unlink()
    assert_same_run(run(tmp_path), plain)
    for folder in tmp_path.iterdir():
        for path in sorted(folder.glob("segment-*.npz"))[-2:]:
            path.unlink()
    with pytest.raises(ValueError, match="kept in the last segments alone"):
        run(tmp_path)


@pytest.mark.parametrize("rounds", [20, 23])
def test_a_longer_run_goes_on(tmp_path, rounds):
    run(tmp_path, rounds=rounds)
    assert_same_run(run(tmp_path), run())


def test_a_run_that_has_no_checkpoint_begins_anew(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        Crashes(patch, 5)
        with pytest.raises(Died):
            run(tmp_path)
    for path in tmp_path.glob("*/segment-*.npz"):
        path.unlink()
    assert_same_run(run(tmp_path), run())


def cut(folder):
    path = folder / "clients-updates.rows"
    path.write_bytes(path.read_bytes()[:-1])


def linked(folder):
    path = folder / "clients-updates.rows"
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")


def later(folder):
    sorted(folder.glob("segment-*.npz"))[-1].unlink()
    path = sorted(folder.glob("before-*.npz"))[-1]
    path.write_bytes(path.read_bytes()[:-10])


WRONG = {
    "gone": (lambda folder: (folder / "clients-updates.rows").unlink(), "has None bytes, allowed are"),
    "cut": (cut, "bytes, allowed are 192"),
    "a link": (linked, "link"),
    "no way back": (later, "damaged"),
    "of another round": (lambda folder: [path.unlink() for path in folder.glob("before-*")], "are those of round 0"),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused(tmp_path, change, said):
    run(tmp_path)
    change(tmp_path / "replica-000000")
    with pytest.raises(Damaged, match=said) as refused:
        run(tmp_path)
    assert str(refused.value).count("\n") == 0


def test_who_asks_for_what_cannot_be_is_told(tmp_path):
    for asked, said in {
        "averages": "algorithms that remember something of each client",
        "nowhere": "directory=",
    }.items():
        algorithm = fedavg(**LOCAL) if asked == "averages" else mifa(**LOCAL)
        with pytest.raises(ValueError, match=said):
            Setting(FEDERATION, algorithm, Uniform(2)).simulate(
                rounds=2, memory_on_disk=True, directory=None if asked == "nowhere" else tmp_path
            )
    run(tmp_path / "in memory", on_disk=False)
    with pytest.raises(ValueError, match=r"holds another run: memory_on_disk = None there, True here"):
        run(tmp_path / "in memory")


def test_tables_on_disk_are_not_held(tmp_path):
    """A table of 80 GB fits a limit of 100 MB, and is made of holes."""
    clients, dimension = 10**5, 10**5
    setting = Setting(Quadratic(np.ones((2, 1)), np.zeros((2, 1))), mifa(**LOCAL), Uniform(2))
    plan = Plan.of(setting, 10)
    kind = plan.trainings[0][0]
    table = kind.initial(torch.zeros(1, dimension, dtype=torch.float64), clients, tables_apart=True)["updates"]
    assert table.shape == (1, clients, dimension) and table.untyped_storage().nbytes() == 8
    assert memory_limits._rows_held(table, 100) < 10**9
    tables = ClientTables(tmp_path, {"updates": table})
    mapped = tables.begin()["updates"]
    mapped[0, 77_777] = 1.0
    changed = tables.changed({"updates": mapped}, [torch.tensor([77_777])])
    tables.settle(changed | {"first_round": np.array(0), "next_round": np.array(5)})
    assert tables.mapped()["updates"][0, 77_776:77_779, -1].tolist() == [0, 1, 0]
    assert (tmp_path / "clients-updates.rows").stat().st_blocks * 512 < 10**7
