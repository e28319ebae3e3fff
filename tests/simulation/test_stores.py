"""Stores that several processes and threads use, and segments that are none of their run."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fedtheory.algorithms import fast
from fedtheory.federations import Quadratic
from fedtheory.files import TEMPORARY, Damaged, archived, locked, remove_leftovers, write_beside
from fedtheory.participation import Fixed
from fedtheory.quantities import RUN_QUANTITIES
from fedtheory.setting import Setting
from fedtheory.simulation import checkpoint
from fedtheory.simulation.segment import read_segment, write_segment

from .test_checkpoint import assert_same_run, contents, interrupted, refusal, run_once


@pytest.fixture(scope="module")
def undisturbed():
    return run_once(None)


def both(directory, spacings):
    """The runs of threads that have different distances between checkpoints, all at work at the same time."""
    begun, found = threading.Event(), {}

    def slowly(done, total):
        begun.set()
        time.sleep(0.003)

    def go(every):
        try:
            found[every] = run_once(directory, checkpoint_every=every, progress=slowly)
        except Exception as error:
            found[every] = error

    threads = [threading.Thread(target=go, args=(every,)) for every in spacings]
    for thread in threads:
        thread.start()
        begun.wait(10)
    for thread in threads:
        thread.join()
    return [found[every] for every in spacings]


def check_both(directory, spacings, undisturbed):
    for run in (*both(directory, spacings), run_once(directory)):
        assert_same_run(run, undisturbed)


@pytest.mark.parametrize("spacings", [(5, 3), (3, 5), (7, 7), (1, 23, 4)])
def test_two_at_once_end_with_one_valid_store(tmp_path, undisturbed, spacings):
    check_both(tmp_path, spacings, undisturbed)
    for folder in tmp_path.iterdir():
        ends = [read_segment(path) for path in sorted(folder.glob("segment-*.npz"))]
        assert [int(end["first_round"]) for end in ends] == [0, *(int(end["next_round"]) for end in ends[:-1])]


@pytest.mark.parametrize("spacings", [(5, 3), (7, 7)])
def test_without_locks_the_store_is_valid_too(tmp_path, monkeypatch, undisturbed, spacings):
    monkeypatch.setattr(checkpoint, "locked", contextlib.nullcontext)
    check_both(tmp_path, spacings, undisturbed)


def test_who_waits_says_so(tmp_path, caplog):
    def wait():
        with locked(tmp_path):
            pass

    second = threading.Thread(target=wait)
    with locked(tmp_path):
        second.start()
        time.sleep(0.2)
        assert second.is_alive() and f"{tmp_path} is in use" in caplog.text
    second.join(5)
    assert not second.is_alive()


def test_a_file_system_without_locks_lets_everybody_in(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fedtheory.files.fcntl.flock", none)
    with locked(tmp_path), locked(tmp_path):
        write_beside(tmp_path / "file", b"content")
    assert contents(tmp_path) == {"file": b"content"}


def test_threads_write_one_file(tmp_path):
    failed = []

    def write(byte):
        for _ in range(60):
            try:
                write_beside(tmp_path / "file", bytes([byte]) * 50_000)
            except OSError as error:
                failed.append(error)

    threads = [threading.Thread(target=write, args=(byte,)) for byte in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    (content,) = contents(tmp_path).values()
    assert len(content) == 50_000 and len(set(content)) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from fedtheory.files import write_beside
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
write_beside(Path(sys.argv[1]), b"new")
"""


def test_what_a_killed_writer_leaves_is_removed(tmp_path):
    write_beside(tmp_path / "file", b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "file")], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == b"old" and len(list(tmp_path.glob(TEMPORARY))) == 1
    write_beside(tmp_path / "other", b"content")
    assert contents(tmp_path) == {"file": b"old", "other": b"content"}


def test_a_run_that_goes_on_removes_leftovers(tmp_path):
    run_once(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "replica-000000" / TEMPORARY.replace("*", "0" * 16)).write_bytes(b"half of")
    run_once(tmp_path)
    assert contents(tmp_path) == before


def test_what_is_being_written_is_no_leftover(tmp_path, monkeypatch):
    seen = []

    def look(file):
        remove_leftovers(tmp_path)
        seen.extend(tmp_path.glob(TEMPORARY))

    monkeypatch.setattr(os, "fsync", look)
    write_beside(tmp_path / "file", b"content")
    assert len(seen) == 1 and contents(tmp_path) == {"file": b"content"}


# Segments that are none of their run. Each is sealed again, so that only its content can give it away.


def changed(name, change):
    return lambda arrays: arrays | {name: change(arrays[name].copy())}


def put(values, place, value):
    values[place] = value
    return values


FORGED = {
    "NaN in the model": (changed("x", lambda v: put(v, (0, 0), np.nan)), "x is not finite"),
    "infinite sum": (changed("sums.squared_distance", lambda v: put(v, 1, np.inf)), "sums.squared_distance is not"),
    "NaN in a row": (changed("squared_distance_sum", lambda v: put(v, (0, 0), np.nan)), "_sum is not finite"),
    "NaN in a peak": (changed(f"kept.{RUN_QUANTITIES[0]}", lambda v: v * np.nan), "is not finite"),
    "single precision": (changed("sums.squared_distance", np.float32), "squared_distance is float32 (2,), allowed is"),
    "a model of floats": (changed("x", np.float32), "x is float32 (2, 2), allowed is float64"),
    "a shape": (changed("x", lambda v: v[:, :1]), "x is float64 (2, 1), allowed is float64 (2, 2)"),
    "fewer replicas": (changed("squared_distance", lambda v: v[:1]), "squared_distance is"),
    "an array too few": (lambda arrays: {k: v for k, v in arrays.items() if k != "probability"}, "probability is miss"),
    "an array too many": (lambda arrays: arrays | {"own": np.zeros(2)}, "own is none of this run"),
    "text": (changed("current.squared_distance", lambda v: v.astype(str)), "current.squared_distance is <U"),
    "other rounds": (changed("rounds", lambda v: v + 1), "its rounds are not those from"),
    "next round": (changed("next_round", lambda v: v + 1), "it says that it goes from round"),
    "no way on": (changed("first_round", lambda v: v * 0 + 10), "it says that it goes from round 10 to 10"),
    "first round": (changed("first_round", lambda v: v * 0 - 1), "it says that it goes from round -1"),
    "a list for a round": (changed("next_round", lambda v: np.array([10, 10])), "damaged segment"),
    "not a number of rounds": (changed("next_round", lambda v: np.array(np.inf)), "damaged segment"),
    "diverges later": (changed("diverged_at", lambda v: v * 0 + 10), "it speaks of rounds after 9"),
}


@pytest.mark.parametrize(("forge", "message"), FORGED.values(), ids=FORGED)
def test_a_segment_that_cannot_be_of_the_run_is_refused(tmp_path, forge, message):
    path = sorted(interrupted(tmp_path).glob("segment-*.npz"))[-1]
    arrays = read_segment(path)
    path.unlink()
    write_segment(path, forge(arrays))
    kind, text = refusal(tmp_path)
    assert kind is Damaged and text.startswith(f"{path}: damaged segment (") and message in text
    assert "remove it to go on from the one before" in text


@pytest.mark.parametrize("edit", ["another number", "no seal"])
def test_an_edited_segment_is_refused(tmp_path, edit):
    path = sorted(interrupted(tmp_path).glob("segment-*.npz"))[0]
    with np.load(path) as file:
        arrays = dict(file)
    if edit == "no seal":
        del arrays["seal"]
    else:
        arrays["x"][0, 0] += 1e-9
    np.savez(path, **arrays)
    kind, text = refusal(tmp_path)
    assert kind is Damaged and text.startswith(f"{path}: damaged segment (it ")


def test_a_segment_beyond_the_run_is_refused(tmp_path):
    run_once(tmp_path)
    last = sorted((tmp_path / "replica-000000").glob("segment-*.npz"))[-1]
    arrays = read_segment(last)
    after = Path(str(last).replace("24.npz", "30.npz"))
    write_segment(after, arrays | {"next_round": np.array(30)})
    last.unlink()
    kind, text = refusal(tmp_path)
    assert kind is Damaged and "it speaks of rounds after 23" in text


def test_replicas_that_diverged_may_hold_what_is_not_finite(tmp_path):
    """Their segments are those of a sound run."""
    setting = Setting(
        Quadratic([[1.0]], [[1.0]]), fast(cohort=1, local_lr="1e40", snapshot_period=2), Fixed([0]), start=2.0
    )
    first = setting.simulate(replicas=2, rounds=20, directory=tmp_path, checkpoint_every=3)
    assert (first.diverged_at >= 0).all() and not np.isfinite(first.rows["squared_distance"]).all()
    assert_same_run(setting.simulate(replicas=2, rounds=20, directory=tmp_path), first)


def test_an_interrupt_while_an_archive_is_made_comes_after_it(monkeypatch):
    """Else the archive, closed half made, has an error of its own; in other threads nothing is interrupted."""
    begin, plain = zipfile._ZipWriteFile.__init__, archived(first=np.zeros(3))

    def interrupted_there(self, *given):
        begin(self, *given)
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(zipfile._ZipWriteFile, "__init__", interrupted_there)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started this may have it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            archived(first=np.zeros(3))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    found = []
    other = threading.Thread(target=lambda: found.append(archived(first=np.zeros(3))))
    other.start(), other.join()
    assert len(found[0]) == len(plain)
