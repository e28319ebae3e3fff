"""The list of slow tests: of tests that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests import slowest

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
    monkeypatch.setattr(slowest, "SHARE", 0.2)
    assert slowest.main([str(report), "--map", str(known)]) == 0
    assert (slowest.KEPT.read_text(), slowest.LIST.read_text()) == ("tests.test_a::y\n", "tests.test_a::z\n")
