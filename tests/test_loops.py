"""Loops in tests: what fails is named, with all that fails beside it; what is left for the slow tests is the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import scheduling, slowest
from tests.loops import looped, spread

ROOT = Path(__file__).parents[1]

FILE = '''
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import looped

@looped("each", ["one", "two", "three", "four"])
def test_whole(each):
    """All of them."""
    assert "t" not in each

@looped(("a", "b"), [(1, 1), (2, 3), (4, 4)], ids=["x", "y", "z"])
@pytest.mark.parametrize("factor", [1, 2])
def test_pairs(a, factor, b, tmp_path):
    assert tmp_path.exists() and a * factor == b * factor

@looped("limit", [-1, 2000])
@given(st.integers(0, 1000))
def test_of_hypothesis(limit, number):
    assert number <= limit

@looped("each", range(10), quick=3)
def test_in_two(each):
    pytest.fail("none is right")

@looped("each", [1, 2])
def test_skipped(each):
    pytest.skip("none of them")

@looped("each", [1, 2])
def test_skipped_in_part(each):
    if each == 1:
        pytest.skip("one of them")
'''


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What pytest prints of the file, and where its report is, by the tests that are asked for: run once for each."""

    @cache
    def run(which):
        folder = tmp_path_factory.mktemp("loops")
        (folder / "test_it.py").write_text(FILE)
        (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: slow\n")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "-rA"]
        # Where these are set, pytest's summary repeats the whole error.
        environment = {name: each for name, each in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
        command += ["-m", which, f"--junitxml={folder / 'run.xml'}", str(folder)]
        told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).stdout
        return told, folder / "run.xml"

    return run


def test_every_failure_is_named_and_nothing_else(ran):
    told, _ = ran("not slow")
    assert "2 of 4 fail:" in told and "two: AssertionError: " in told and "three: AssertionError: " in told
    assert "one: AssertionError" not in told and "four: AssertionError" not in told
    assert told.count("y: AssertionError: ") == 2 and "x: AssertionError" not in told
    assert "-1: AssertionError: " in told and "2000: " not in told
    assert "3 of 3 fail:" in told and "7 of 7 fail:" not in told
    assert "5 failed, 1 passed, 1 skipped, 1 deselected" in told, told


def test_a_loop_says_over_how_many_cases_it_goes_and_is_slow_if_each_of_them_is(ran, tmp_path, monkeypatch):
    _, report = ran("not slow")
    monkeypatch.setattr(slowest, "LIST", tmp_path / "list.txt")
    slowest.LIST.write_text("")
    monkeypatch.setattr(scheduling, "LONG", tmp_path / "long.txt")
    scheduling.LONG.write_text("")
    root = ElementTree.parse(report).getroot()
    found = {c.get("name"): c for c in root.iter("testcase")}
    cases = {name: [p.get("value") for p in c.iter("property")] for name, c in found.items()}
    assert cases["test_whole"] == ["4"] and cases["test_in_two[some]"] == ["3"] and cases["test_pairs[1]"] == ["3"]
    for name, c in found.items():
        c.set("time", {"test_whole": "8", "test_in_two[some]": "3e-4"}.get(name, "1e-4"))
    ElementTree.ElementTree(root).write(tmp_path / "run.xml")
    # of a mean case: 2, 1e-4, and at most 1e-4, where 7e-5 of the whole is 5.6e-4
    assert slowest.main([str(tmp_path / "run.xml")]) == 0
    assert [name.partition("::")[2] for name in slowest.LIST.read_text().split()] == ["test_whole"]


def test_the_rest_is_slow(ran):
    told, _ = ran("slow")
    assert "7 of 7 fail:" in told and "1 failed, 7 deselected" in told, told


def test_the_rest_and_some_are_all_of_them():
    for count in range(1, 30):
        for some in range(1, count + 1):
            for offset in range(0, 40, 7):
                chosen = spread(count, some, offset)
                assert len(chosen) == some and set(chosen) <= set(range(count))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="test takes a, not each"):

        @looped("each", [1])
        def test(a):
            pass

    with pytest.raises(ValueError, match="1 ids of 2 values"):
        looped("each", [1, 2], ids=["one"])
