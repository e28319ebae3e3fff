"""What files from elsewhere may reach: nothing outside their folder, nothing that blocks, nothing that is left over."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fedtheory import Setting, algorithms, federations, participation
from fedtheory.experiments.commands import Report, RunOptions, run_files
from fedtheory.experiments.work_units import folder_name
from fedtheory.files import (
    TEMPORARY,
    TEMPORARY_FOLDER,
    Damaged,
    check_no_links,
    locked,
    remove_leftovers,
    temporary_folder,
    write_beside,
)
from fedtheory.report.site.replaced_folder import LIST, fresh
from fedtheory.simulation import checkpoint
from fedtheory.simulation.segment import read_segment

EXPERIMENT = """title = "x"
{more}
federation = {{ kind = "common_hessian", offsets = [1, -1] }}
algorithm = {{ kind = "fedavg", local_lr = "1/10" }}
participation = {{ kind = "Uniform", cohort = 1 }}
run = {{ rounds = 2, observers = ["squared_distance"] }}
statistics = [{{ name = "d", of = "squared_distance" }}]
"""


def ran(folder: Path, more: str = "") -> Report:
    """What comes of an experiment file in a folder, and of a store beside it."""
    path = folder / "e.toml"
    path.write_text(EXPERIMENT.format(more=more))
    return run_files([path], RunOptions(folder / "runs"))


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "paper", ["../../outside", "..", ".", "/tmp", "a/b", "a\\\\b", ".hidden", "x" * 101, "a\\u0000b"]
)
def test_a_papers_name_is_one_component_of_a_path(tmp_path: Path, paper: str) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    report = ran(inside, f'paper = "{paper}"')
    assert report.failed and "paper" in report.lines[0] and "files are named by it" in report.lines[0]
    assert everything(tmp_path) == {"a", "a/b", "a/b/e.toml"}


@pytest.mark.parametrize("name", ["..", ".", "", "../x", "/", "...", "a/../../b", ". .", "x" * 300])
def test_folders_of_names_stay_where_they_are(tmp_path: Path, name: str) -> None:
    made = tmp_path / folder_name(name)
    assert made.parent == tmp_path and made.resolve().parent == tmp_path.resolve() and made != tmp_path
    assert folder_name(name) != folder_name(name + " ")


def test_variants_called_like_folders_have_folders_of_their_own(tmp_path: Path) -> None:
    more = "variants = [" + ", ".join(f'{{ name = "{name}", set = {{}} }}' for name in ("..", ".", "x")) + "]"
    assert not ran(tmp_path, more).failed
    found = {path.relative_to(tmp_path / "runs").parts for path in tmp_path.rglob("result.json")}
    assert len(found) == 3 and all(parts[:2] == ("own", "e") and len(parts) == 5 for parts in found)


def finished(folder: Path) -> Path:
    assert not ran(folder).failed
    (result,) = folder.rglob("result.json")
    result.unlink()
    return result.parent


@pytest.mark.parametrize("what", ["link", "dangling", "pipe", "folder"])
def test_a_lock_that_is_no_file_is_refused(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = finished(tmp_path) / "lock"
    lock.unlink()
    other = tmp_path / "other.txt"
    if what != "dangling":
        other.write_text("precious")
    {"pipe": lambda: os.mkfifo(lock), "folder": lock.mkdir}.get(what, lambda: lock.symlink_to(other))()
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waits"))
    before = everything(tmp_path)
    report = ran(tmp_path)
    assert report.failed and "lock: is no regular file" in report.lines[0]
    assert everything(tmp_path) == before and (what == "dangling" or other.read_text() == "precious")


@pytest.mark.parametrize("depth", range(5))
def test_a_store_does_not_follow_links(tmp_path: Path, depth: int) -> None:
    """From ``replica-000000`` up to the paper's folder."""
    elsewhere, unit = tmp_path / "elsewhere", finished(tmp_path)
    place = (unit / "replica-000000", *(unit, *unit.parents)[:4])[depth]
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    before = everything(elsewhere)
    report = ran(tmp_path)
    assert report.failed and "is a symbolic link" in report.lines[0]
    assert everything(elsewhere) == before


def test_leftovers_that_are_no_files_are_left_alone(tmp_path: Path) -> None:
    unit = finished(tmp_path)
    (tmp_path / "precious").write_text("x")
    (tmp_path / "inner").mkdir()
    for number, pattern in enumerate((TEMPORARY, TEMPORARY_FOLDER)):
        os.mkfifo(unit / pattern.replace("*", f"pipe{number}"))
        (unit / pattern.replace("*", f"link{number}")).symlink_to(tmp_path / "precious")
        (unit / pattern.replace("*", f"folder link{number}")).symlink_to(tmp_path / "inner")
    (unit / TEMPORARY.replace("*", "dead")).write_text("left by a killed process")
    (unit / TEMPORARY_FOLDER.replace("*", "dead") / "deep").mkdir(parents=True)
    assert not ran(tmp_path).failed
    assert not any("dead" in name for name in everything(tmp_path))
    assert len(list(unit.glob(".fedtheory-*"))) == 6 and (tmp_path / "precious").read_text() == "x"


def test_a_folder_that_is_used_is_no_leftover(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as mine:
        remove_leftovers(tmp_path)
        with temporary_folder(tmp_path) as other:
            assert mine.is_dir() and other.is_dir() and mine != other
    assert not everything(tmp_path)


KILLED = """
import os, signal, sys
from pathlib import Path
from fedtheory.report.site.replaced_folder import fresh
with fresh(Path(sys.argv[1])) as folder:
    (folder / "page.html").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_report_left_is_removed_by_the_next(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=60)
    assert len(list(tmp_path.glob(TEMPORARY_FOLDER))) == 1
    with fresh(tmp_path) as folder:
        (folder / "page.html").write_text("whole")
    assert everything(tmp_path) == {"page.html", LIST} and (tmp_path / "page.html").read_text() == "whole"


def test_a_report_neither_writes_nor_removes_through_links(tmp_path: Path) -> None:
    into, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    with fresh(into) as folder:
        write_beside(folder / "index.html", b"1")
        (folder / "assets").mkdir()
        write_beside(folder / "assets" / "style.css", b"2")
    (into / "assets").rename(elsewhere)
    (into / "assets").symlink_to(elsewhere)
    with fresh(into) as folder:
        write_beside(folder / "index.html", b"3")
    assert (elsewhere / "style.css").read_bytes() == b"2"
    with pytest.raises(Damaged, match="assets: is a symbolic link"), fresh(into) as folder:
        (folder / "assets").mkdir()
        write_beside(folder / "assets" / "style.css", b"4")
    assert (elsewhere / "style.css").read_bytes() == b"2"


def test_names_in_a_reports_list_stay_inside(tmp_path: Path) -> None:
    into, other = tmp_path / "report", tmp_path / "precious"
    other.write_bytes(b"x")
    into.mkdir()
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    names = ("../precious", str(other), "", ".", "a\\u0000b")
    (into / LIST).write_text("{" + ", ".join(f'"{name}": "{digest}"' for name in names) + "}")
    with fresh(into) as folder:
        write_beside(folder / "page.html", b"1")
    assert other.read_bytes() == b"x"


def test_the_lock_of_a_folder_may_be_reached_by_a_link_but_not_that_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with locked(tmp_path / "link"):
        pass
    with pytest.raises(Damaged, match="is no regular file"), locked(tmp_path / "link", make=True):
        pass
    check_no_links(tmp_path / "link" / "inner", 1)


def test_a_segment_loses_its_memory_after_a_kill_between_two_writes(tmp_path: Path, monkeypatch) -> None:
    """Two later segments have it; whoever goes on writes it without, and the run is the same."""
    fed = federations.Quadratic.common_hessian(offsets=[1, -1, 3])
    setting = Setting(fed, algorithms.fedvarp(local_lr="1/10"), participation.Uniform(2), start=2)

    def run(folder: Path, rounds: int = 12):
        return setting.simulate(replicas=2, rounds=rounds, directory=folder, checkpoint_every=2)

    whole = run(tmp_path / "whole")
    kept = checkpoint.write_segment

    class Killed(BaseException):
        pass

    def killed(path: Path, arrays) -> None:
        if path.exists():  # written once more, without its memory
            raise Killed
        kept(path, arrays)

    monkeypatch.setattr(checkpoint, "write_segment", killed)
    with pytest.raises(Killed):
        run(tmp_path / "killed")
    monkeypatch.undo()
    again = run(tmp_path / "killed")
    assert all(np.array_equal(again.rows[name], whole.rows[name]) for name in whole.rows)
    for store in ("whole", "killed"):
        paths = sorted((tmp_path / store).rglob("segment-*.npz"))
        has = [any(name.startswith("memory.") for name in read_segment(path)) for path in paths]
        assert has == [False] * (len(paths) - 2) + [True] * 2, (store, has)


@pytest.mark.parametrize("change", ["algorithm.local_lr", "federation.gradient_noise", "federation.hessian", "start"])
def test_a_number_beyond_floats_is_no_defect(tmp_path: Path, change: str) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT.format(more=""))
    report = run_files([tmp_path / "e.toml"], RunOptions(tmp_path / "runs", changes={change: "1e400"}))
    assert report.failed and not report.contents and "e.toml" in report.lines[0] and "allowed " in report.lines[0]
