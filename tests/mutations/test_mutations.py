"""The mutations themselves, and a run on a small project of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = '''
"""Text with 1 + 1 in it."""
def largest(values: "int" = 0, least=3) -> "a + b":
    """More text < 2."""
    if not values or values[0] < least:
        return -least
    return max(values) + 1
'''
TESTS = """
from fedtheory.toy import largest

def test_largest():
    assert largest([5, 9]) == 10 and largest([]) == -3 and largest([1, 7]) == -3
"""


def changes(source):
    sys.path.insert(0, str(ROOT))
    try:
        from tests.mutations.operators import mutants
    finally:
        sys.path.remove(str(ROOT))
    found = list(mutants(source))
    assert all(mutant.text == source.splitlines()[mutant.line - 1].strip() for mutant in found)
    return [(mutant.line, mutant.change, mutant.source) for mutant in found]


def test_every_line_of_the_table_is_one_of_the_module():
    """So that what was found to be equivalent is looked at again when its line changes."""
    sys.path.insert(0, str(ROOT))
    try:
        from tests.mutations.operators import names
        from tests.mutations.table import ANY, EQUIVALENT, FOCUSED
    finally:
        sys.path.remove(str(ROOT))
    for module, known in EQUIVALENT.items():
        made = list(names((ROOT / "fedtheory" / module).read_text()))
        there = {(text, each) for text, change in made for each in (change, ANY)}
        assert known.keys() <= there, known.keys() - there
    for module, tests in FOCUSED.items():
        assert (ROOT / "fedtheory" / module).exists()
        assert all((ROOT / "tests" / test.partition("::")[0]).exists() for test in tests)


def test_the_page_lists_the_table():
    sys.path.insert(0, str(ROOT))
    try:
        from tests.mutations.table import EQUIVALENT, FOCUSED
    finally:
        sys.path.remove(str(ROOT))
    page = (ROOT / "docs/mutations.md").read_text()
    told = {module: int(known) for module, known in re.findall(r"^\| `(.*)` \| (\d+) \|$", page, re.MULTILINE)}
    assert told == {module: len(EQUIVALENT.get(module, ())) for module in FOCUSED}
    sample = re.findall(r"^\| `(.*?)` \|", (ROOT / "docs/mutations-sample.md").read_text(), re.MULTILINE)
    assert EQUIVALENT.keys() <= {*told, *sample}


def test_every_kind_of_change_and_none_of_texts():
    found = {change for _, change, _ in changes(SOURCE)}
    assert found >= {
        "not values or values[0] < least -> not values and values[0] < least",
        "not values or values[0] < least -> not values", "not values -> values",
        "values[0] < least -> values[0] <= least",
        "values[0] < least -> values[0] > least", "0 -> 1", "3 -> 4", "-least -> least", "max -> min",
        "max(values) + 1 -> max(values) - 1", "max(values) + 1 -> max(values)", "max(values) + 1 -> 1", "1 -> 0",
    }  # fmt: skip
    assert not any("a + b" in change or "Text" in change for change in found)
    texts = [text for *_, text in changes(SOURCE)]
    assert len(set(texts)) == len(texts) and all("1 + 1" in text and "More text < 2." in text for text in texts)
    assert [line for line, change, _ in changes(SOURCE) if change.startswith("max(")] == [7, 7, 7]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "fedtheory").mkdir()
    (tmp_path / "fedtheory/__init__.py").write_text("")
    (tmp_path / "fedtheory/toy.py").write_text(SOURCE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_toy.py").write_text(TESTS)
    return tmp_path


def run(project, *options):
    command = [sys.executable, "-m", "tests.mutations", "fedtheory/toy.py", f"--root={project}", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300)


@pytest.mark.slow
def test_survivors_are_named_and_the_project_is_left_alone(project):
    done = run(project, "--tests", "tests/test_toy.py", "--lines", "5-7")
    survivors = [line for line in done.stdout.splitlines() if "SURVIVED" in line]
    assert survivors == ["fedtheory/toy.py:5: values[0] < least -> values[0] <= least  [SURVIVED]"], done
    assert done.returncode == 1 and "15 mutants, 14 killed, 0 equivalent, 1 survived" in done.stdout
    assert (project / "fedtheory/toy.py").read_text() == SOURCE
    assert {path.name for path in project.rglob("*")} == {"fedtheory", "tests", "__init__.py", "toy.py", "test_toy.py"}


@pytest.mark.slow
def test_a_sample_is_drawn_by_its_seed_and_failing_tests_are_said(project):
    (project / "tests/test_toy.py").write_text("def test_nothing(): pass\n")
    first, again, other = (run(project, "--tests", "tests/test_toy.py", "--sample", "3", "--seed", seed).stdout
                           for seed in "001")  # fmt: skip
    assert first == again != other and "3 mutants, 0 killed" in first
    (project / "tests/test_toy.py").write_text("def test_something(): assert False\n")
    done = run(project, "--tests", "tests/test_toy.py", "--sample", "3")
    assert (done.returncode, done.stdout) == (2, "the tests fail without a change\n")


@pytest.fixture
def sampling():
    sys.path.insert(0, str(ROOT))
    try:
        from tests.mutations import covered, sample
    finally:
        sys.path.remove(str(ROOT))
    return covered, sample


def test_a_sample_over_modules_goes_on_where_a_smaller_one_ends(project, sampling):
    _, sample = sampling
    (project / "fedtheory/other.py").write_text("x = 1 < 2\n" * 5)
    first, more, other = (sample.drawn(project, count, seed) for count, seed in ((5, 0), (12, 0), (12, 1)))
    assert more[:5] == first and more != other
    assert {each["module"] for each in more} == {"fedtheory/toy.py", "fedtheory/other.py"}
    assert len({(each["module"], each["number"]) for each in more}) == 12


def test_the_likely_tests_are_those_that_run_the_innermost_block(sampling):
    covered, sample = sampling
    known = []
    covered.Blocks("fedtheory/toy.py", known).visit(compile(SOURCE, "toy", "exec", 1024))
    assert [block[1:] for block in known] == [(6, 6), (4, 7)]
    blocks = [[*known[0], [1]], [*known[1], [0, 1, 2]]]
    tests = sample.Tests({"tests": [["a", 0.1, True], ["b", 0.2, True], ["toy", 9.0, False]], "blocks": blocks})
    assert (tests.running("fedtheory/toy.py", 6), tests.running("fedtheory/toy.py", 7)) == (["b"], ["a", "b"])
    assert tests.running("fedtheory/toy.py", 1) == ["a", "b"] and tests.running("fedtheory/x.py", 1) == []
    assert tests.within(["a", "b"], 0.2) == ["a"] and tests.near("fedtheory/toy.py") == []


def test_every_outcome_is_told(sampling):
    _, sample = sampling
    each = {"module": "fedtheory/toy.py", "number": 0, "text": "", "change": "a | b", "line": 3, "by": ""}
    told = sample.table([each | {"result": "caught", "by": "tests/x::y"}, each | {"result": "lived"},
                         each | {"result": "lived all"}, each | {"result": ""}], 0)  # fmt: skip
    assert told.count("| `toy.py` | 3 | `a \\| b` |") == 4
    for outcome in ("`tests/x::y`", "lived the likely tests", "**lived**", "not tried"):
        assert f"{outcome} |" in told
