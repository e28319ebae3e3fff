"""The list of slow tests: of tests that there are."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from xdist.remote import Producer

from tests import scheduling, slowest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", [slowest.LIST, slowest.KEPT], ids=lambda path: path.stem)
def test_every_listed_test_is_there(path):
    names = path.read_text(encoding="utf-8").splitlines()
    assert names == sorted(set(names)) and len(names) > 10
    gone = []
    for name in names:
        where, _, test = name.partition("::")
        path = ROOT / (where.replace(".", "/") + ".py")
        function = re.escape(test.partition("[")[0].rpartition(".")[2])
        if not path.is_file() or not re.search(rf"\b(def|class) {function}\b", path.read_text(encoding="utf-8")):
            gone.append(name)
    assert gone == []


@pytest.mark.parametrize(
    ("goals", "selects"),
    [
        ("test", ["not slow and not exhaustive"]),
        ("test-all", ["slow and not exhaustive"]),
        ("test test-all", ["not exhaustive"]),
    ],
)
def test_the_goals_of_make_run_every_test_once(goals, selects):
    """Both at once in one session."""
    said = subprocess.run(["make", "-n", *goals.split()], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"-m pytest .*? -m '([^']*)'", said) == selects


def test_what_stays_quick_is_not_listed():
    slow, quick = (set(path.read_text(encoding="utf-8").splitlines()) for path in (slowest.LIST, slowest.KEPT))
    assert not {name for name in quick if name in slow or name.partition("[")[0] in slow}
    assert slowest.listed([("a::x", 2), ("a::y", 2), ("b::z", 0.1)], share=0.1, kept={"a::y"}) == ["a::x"]


def test_the_map_keeps_what_alone_runs_a_block(tmp_path, monkeypatch):
    report, known = tmp_path / "quick.xml", tmp_path / "map.json"
    cases = "".join(
        f'<testcase classname="tests.test_a" name="{n}" time="{t}"/>' for n, t in (("x", 1), ("y", 2), ("z", 3))
    )
    report.write_text(f"<testsuite>{cases}</testsuite>")
    tests = [[f"tests/test_a.py::{name}", 1, True] for name in "xyz"]
    known.write_text(json.dumps({"tests": tests, "blocks": [["f.py", 1, 1, [0, 1, 2]], ["f.py", 2, 2, [1, 2]]]}))
    for name in ("LIST", "KEPT"):
        monkeypatch.setattr(slowest, name, tmp_path / f"{name}.txt")
        (tmp_path / f"{name}.txt").write_text("")
    monkeypatch.setattr(scheduling, "LONG", tmp_path / "long.txt")
    scheduling.LONG.write_text("tests/test_b.py\n")
    monkeypatch.setattr(slowest, "SHARE", 0.2)
    assert slowest.main([str(report), "--map", str(known)]) == 0
    assert (slowest.KEPT.read_text(), slowest.LIST.read_text()) == ("tests.test_a::y\n", "tests.test_a::z\n")
    assert scheduling.LONG.read_text() == "tests/test_b.py\ntests/test_a.py\n"


def test_files_that_take_longest_begin():
    """Each in full and in order, also where few of its tests are left; a scheduler that is told so keeps the order."""
    long = scheduling.LONG.read_text(encoding="utf-8").splitlines()
    assert len(long) == len({*long}) > 10 and all((ROOT / unit).exists() for unit in long)
    assert all(scheduling.unit_of(f"{unit}::test_x") == unit for unit in long)
    tests = ["tests/test_a.py::x", "tests/test_b.py::x", "tests/test_b.py::y", f"{long[3]}::x", f"{long[1]}::x"]
    assert scheduling.longest_first(tests, long) == [4, 3, 1, 2, 0]


class Worker:
    """A worker that is told tests and ends them one after another."""

    shutting_down = False

    gateway = SimpleNamespace(id="of a test")

    def __init__(self) -> None:
        self.told = []

    def send_runtest_some(self, places):
        self.told += places

    def shutdown(self):
        self.shutting_down = True


def test_workers_get_units_in_the_order_of_the_collection():
    option = SimpleNamespace(tx=["2*popen"], loadscopereorder=True)
    config = SimpleNamespace(option=option, getvalue=lambda name: getattr(option, name))
    made = scheduling.scheduler(config, Producer("test", enabled=False))
    tests = [f"tests/test_{unit}.py::x[{i}]" for unit in "abcd" for i in range({"a": 2, "b": 9, "c": 5, "d": 1}[unit])]
    one, other = Worker(), Worker()
    for worker in (one, other):
        made.add_node(worker)
    for worker in (one, other):
        made.add_node_collection(worker, tests)
    made.schedule()
    # Of a there are two tests, so that the one gets more at once.
    assert (one.told, other.told) == ([0, 1, *range(11, 16)], [*range(2, 11)])
    for worker, place in [(one, i) for i in one.told] + [(other, i) for i in range(2, 9)]:
        made.mark_test_complete(worker, place)
    assert one.told[-1] == 16 and not made.tests_finished
    for worker, place in ((one, 16), (other, 9), (other, 10)):
        made.mark_test_complete(worker, place)
    assert made.tests_finished and not made.has_pending and one.shutting_down and other.shutting_down
