"""Whatever kills a command, and wherever: the same command ends with the same bits, and nothing is left over.

36 kills, half of them in the middle of a write, over what `fedtheory verify`, `run` and `report` do (``-m exhaustive``;
runs that are killed twenty times have a test of their own, beside experiments). Most are of single claims and figures.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .experiments.test_runs import EXPERIMENT

ROOT = Path(__file__).parents[1]
PROGRAM = Path(__file__).with_name("killed.py")
CLAIMS = ("fast.thm1@main", "fedau.lemmaB_3_1@main", "khaled2020.thm1@main")
FIGURES = ("fedau/figures/inconsistency.toml", "engine/figures/cost.toml")

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc"),
]


def group(leader: int) -> list[int]:
    """The processes that one has started, and it, as long as they run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = path.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found


def run(how: str, when: float, *arguments: object, statuses: tuple[int, ...] = (0,)) -> tuple[bool, str]:
    """Whether the command was killed, and what it said; who it has started ends with it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), how, str(when), *map(str, arguments)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT, start_new_session=True,
    )  # fmt: skip
    try:
        _, said = process.communicate()
        end = time.monotonic() + 20
        while (left := group(process.pid)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not left, f"{len(left)} processes go on"
    finally:
        for pid in group(process.pid):
            os.kill(pid, signal.SIGKILL)
    assert process.returncode in (-signal.SIGKILL, *statuses), said
    return process.returncode == -signal.SIGKILL, said


def contents(folder: Path, but: tuple[str, ...]) -> dict[str, bytes]:
    """The files in a folder, but for those that tell times."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in but)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def survives(
    kills: int,
    make: Callable[[Path], tuple[object, ...]],
    folder: Path,
    but: tuple[str, ...] = (),
    statuses: tuple[int, ...] = (0,),
    cleaned: Callable[[str, bytes], bytes] = lambda name, content: content,
) -> None:
    """Kill the command that ``make`` gives for a folder ``kills`` times, half of them in a write; then let it end."""
    plain, here = folder / "plain", folder / "killed"
    for each in (plain, here):
        each.mkdir()
    begin = time.monotonic()
    _, said = run("never", 0, *make(plain), statuses=statuses)
    took, writes = time.monotonic() - begin, int(re.findall(r"^(\d+) writes$", said, re.M)[-1])
    draw, done = random.Random(f"{kills} {make(Path())}"), 0
    for attempt in range(4 * kills):
        how = "write" if done % 2 == 0 else "moment"
        when = draw.randint(1, max(1, writes)) if how == "write" else draw.uniform(0.1, 0.9) * took
        if attempt >= 3 * kills:
            when = 1 if how == "write" else 2.0  # who goes on has less to write, and is done sooner
        done += run(how, when, *make(here), statuses=statuses)[0]
        if done == kills:
            break
    assert done == kills
    run("never", 0, *make(here), statuses=statuses)
    left = [path for path in here.rglob(".fedtheory-*")]
    assert not left, left
    found, wanted = ({n: cleaned(n, c) for n, c in contents(each, but).items()} for each in (here, plain))
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if found[name] != wanted[name]] == []


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure(tmp_path: Path, figure: str) -> None:
    survives(5, lambda folder: ("command", "run", f"experiments/{figure}", "--figures", folder), tmp_path)


def test_claims(tmp_path: Path) -> None:
    survives(9, lambda folder: ("verify", folder, *CLAIMS), tmp_path)


def timeless(name: str, content: bytes) -> bytes:
    """A published result without what it took, where it was, and the seal over that."""
    if not name.endswith(".json"):
        return content
    found = json.loads(content)
    for row in (found, *found.get("settings", [])):
        for key in ("seconds", "seal", "file", "experiment"):
            row.pop(key, None)
    return json.dumps(found).encode()


def test_what_is_published(tmp_path: Path) -> None:
    def command(folder: Path) -> tuple[object, ...]:
        if folder.is_absolute():
            folder.joinpath("test.toml").write_text(EXPERIMENT)
        return "command", "run", folder / "test.toml", "--store", folder / "store", "--publish"

    survives(7, command, tmp_path, ("time.json", "lock"), cleaned=timeless)


def test_pages(tmp_path: Path) -> None:
    survives(6, lambda folder: ("command", "report", "--into", folder), tmp_path)


@pytest.fixture
def whole() -> Iterator[Path]:
    """What is whole takes minutes, and is compared with what is published."""
    yield ROOT / "figures"


def test_all_figures(tmp_path: Path, whole: Path) -> None:
    command = ("command", "run", "--all-figures", "--figures", tmp_path)
    assert run("write", 20, *command)[0] and run("moment", 60, *command)[0]
    run("never", 0, *command)
    assert not list(tmp_path.rglob(".fedtheory-*"))
    drawn, kept = ({path.name: path.read_text() for path in each.glob("*.csv")} for each in (tmp_path, whole))
    assert drawn.keys() == kept.keys() and [name for name in kept if drawn[name] != kept[name]] == []


def test_all_claims(tmp_path: Path) -> None:
    command = ("command", "verify", "--report", tmp_path)
    assert run("write", 150, *command, statuses=(0, 1))[0] and run("moment", 60, *command, statuses=(0, 1))[0]
    _, said = run("never", 0, *command, statuses=(0, 1))
    assert not list(tmp_path.rglob(".fedtheory-*")) and not list(tmp_path.glob("cache/checks/*.json"))
    shutil.rmtree(tmp_path / "cache")
    published = ROOT / "fedtheory/evidence/published/scorecard.json"
    assert (tmp_path / "scorecard.json").read_bytes() == published.read_bytes(), said
