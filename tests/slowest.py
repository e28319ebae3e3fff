"""Keeps the list of slow tests, ``slow.txt``, by what runs took: ``python -m tests.slowest quick.xml slow.xml``.

    python -m tests.mutations.covered map.json -m 'not slow and not exhaustive'
    python -m tests.slowest quick.xml slow.xml --map map.json

The files are what ``pytest --junitxml=quick.xml`` writes, of all tests together: of `make test` and of `make test-all`.
A test is slow if it takes more than a share of the whole, so that the list is the same on a fast machine and on a
loaded one; one that loops over cases, and says over how many, if each takes so much on average. What is listed and was
not run stays listed: nobody knows that it is quick. ``conftest.py`` marks what is listed. A name without parameters
stands for all of them.

``long.txt`` lists the files and folders of tests that take more than ``LONG_SHARE`` of the time, which workers begin
with (``scheduling.py``).

Tests of ``quick.txt`` stay quick, whatever they take: those that alone run some block of the package's code (by the
map, which adds them), and those that somebody wrote down, as they caught a planted change or look at all code.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from _pytest.junitxml import mangle_test_address

from tests import scheduling

LIST = Path(__file__).parent / "slow.txt"
KEPT = Path(__file__).parent / "quick.txt"

SHARE = 5e-5
"""Of the time of all tests: 0.2 s of 4000 s."""

LONG_SHARE = 4e-3
"""Of the time of all tests: 16 s of 4000 s."""

CASES = "cases"
"""Name of the property of a test that is the number of its cases."""


def name_of(test: str) -> str:
    """A test's name in the list, which is that of pytest's reports.

    >>> name_of("tests/claims/test_rounds.py::test_all[a/b-1]")
    'tests.claims.test_rounds::test_all[a/b-1]'
    """
    *where, name = mangle_test_address(test)
    return f"{'.'.join(where)}::{name}"


def only_slow(expression: str) -> bool:
    """Whether pytest's ``-m`` selects slow tests alone, whatever else they are marked with.

    >>> only_slow("slow and not exhaustive"), only_slow("not slow and not exhaustive"), only_slow("slow or gpu")
    (True, False, False)
    """
    return bool(re.fullmatch(r"slow( and (not )?\w+)*", expression))


def marks_slow(source: str) -> bool:
    """Whether a file may mark tests as slow where they stand: itself, or by ``loops.looped``.

    >>> marks_slow("@pytest.mark.slow"), marks_slow("@looped('n', N, quick=3)"), marks_slow("@pytest.mark.gpu")
    (True, True, False)
    """
    return "mark.slow" in source or "looped" in source


def listed(
    seconds: Iterable[tuple[str, float]], before: Iterable[str] = (), share: float = SHARE, kept: Set[str] = frozenset()
) -> list[str]:
    """The slow ones of tests and their times but for what is ``kept``, and what was listed ``before`` and is none of
    them; one name for those that differ in their parameters, where all are slow.

    >>> times = [("a::x[1]", 2), ("a::x[2]", 3), ("a::y[1]", 2), ("a::y[2]", 0.1), ("a::z", 0.2)]
    >>> listed(times, share=0.1), listed(times, ["a::y[2]", "a::y[3]", "a::z", "b::x"], share=0.1)
    (['a::x', 'a::y[1]'], ['a::x', 'a::y[1]', 'a::y[3]', 'b::x'])
    """
    taken, whole = defaultdict[str, dict[str, float]](dict), 0.0
    for name, each in seconds:
        taken[_without_parameters(name)][name] = each
        whole += each
    slow = set[str]()
    for test, cases in taken.items():
        those = {name for name, each in cases.items() if each > share * whole and name not in kept}
        slow |= {test} if len(those) == len(cases) else those
    unknown = {name for name in before if name not in taken and name not in taken.get(_without_parameters(name), ())}
    return sorted(slow | {name for name in unknown if _without_parameters(name) not in slow})


def long_units(seconds: Iterable[tuple[str, float]], before: Iterable[str] = ()) -> list[str]:
    """The units of ``scheduling.unit_of`` that take long, the longest first, after those listed ``before`` of which no
    test was run.

    >>> times = [("tests.a.test_x::one", 2.0), ("tests.a.test_x::two[b.c]", 2.0), ("tests.proof.test_y::one", 5.0)]
    >>> long_units([*times, ("fedtheory.a::fedtheory.a", 0.01)], ["tests/z.py", "tests/a/test_x.py"])
    ['tests/z.py', 'tests/proof/', 'tests/a/test_x.py']
    """
    taken = defaultdict[str, float](float)
    for name, each in seconds:
        taken[scheduling.unit_of(name.partition("::")[0].replace(".", "/") + ".py")] += each
    least = LONG_SHARE * sum(taken.values())
    long = sorted((unit for unit, each in taken.items() if each > least), key=lambda unit: (-taken[unit], unit))
    return [*(unit for unit in before if unit not in taken), *long]


def alone(content: Mapping[str, Any], slow: Set[str]) -> set[str]:
    """Of the slow tests, the quickest of those that run a block of code that no other test of a map runs.

    >>> tests = [["tests/test_a.py::x", 0.1, True], ["tests/test_a.py::y", 3, True], ["tests/test_a.py::z", 4, True]]
    >>> content = {"tests": tests, "blocks": [["f.py", 1, 2, [0, 2]], ["f.py", 3, 4, [1, 2]]]}
    >>> alone(content, {"tests.test_a::y", "tests.test_a::z"})
    {'tests.test_a::y'}
    """
    names = [name_of(test) for test, *_ in content["tests"]]
    return {names[ran[0]] for *_, ran in content["blocks"] if {names[i] for i in ran} <= slow}


def _without_parameters(name: str) -> str:
    return name.partition("[")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.slowest", description=__doc__.splitlines()[0])
    parser.add_argument("reports", type=Path, nargs="+", help="what pytest --junitxml wrote, of all tests together")
    parser.add_argument("--map", type=Path, help="what tests.mutations.covered wrote")
    options = parser.parse_args(arguments)
    taken: dict[str, float] = {}
    whole_times: dict[str, float] = {}
    for path in options.reports:
        for case in ElementTree.parse(path).iter("testcase"):
            said = case.find(f"properties/property[@name='{CASES}']")
            cases = 1 if said is None else max(1, int(said.get("value", 1)))
            name = f"{case.get('classname')}::{case.get('name')}"
            whole_times[name] = float(case.get("time", 0))
            taken[name] = whole_times[name] / cases
    before, kept, long = (path.read_text(encoding="utf-8").splitlines() for path in (LIST, KEPT, scheduling.LONG))
    if options.map:
        whole = sum(taken.values())
        slow = {name for name, each in taken.items() if each > SHARE * whole and name not in kept}
        kept = sorted({*kept} | alone(json.loads(options.map.read_text()), slow))
        _write(KEPT, kept)
    _write(LIST, listed(taken.items(), before, SHARE, frozenset(kept)))
    _write(scheduling.LONG, long_units(whole_times.items(), long))
    return 0


def _write(path: Path, names: Iterable[str]) -> None:
    path.write_text("\n".join(name for name in names if "\n" not in name) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
