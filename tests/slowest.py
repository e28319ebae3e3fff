"""Keeps the list of slow tests, ``slow.txt``, by what a run of all tests took: ``python -m tests.slowest suite.xml``.

The file is what ``pytest --junitxml=suite.xml`` writes. A test is slow if it takes more than a share of the whole, so
that the list is the same on a fast machine and on a loaded one. ``conftest.py`` marks what is listed. A name without
parameters stands for all of them.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

from _pytest.junitxml import mangle_test_address

LIST = Path(__file__).parent / "slow.txt"

SHARE = 6e-5
"""Of the time of all tests: 0.12 s of 2000 s."""


def name_of(test: str) -> str:
    """A test's name in the list, which is that of pytest's reports.

    >>> name_of("tests/claims/test_rounds.py::test_all[a/b-1]")
    'tests.claims.test_rounds::test_all[a/b-1]'
    """
    *where, name = mangle_test_address(test)
    return f"{'.'.join(where)}::{name}"


def listed(seconds: Iterable[tuple[str, float]], share: float = SHARE) -> list[str]:
    """The slow ones of tests and their times; one name for those that differ in their parameters, where all are slow.

    >>> listed([("a::x[1]", 2), ("a::x[2]", 3), ("a::y[1]", 2), ("a::y[2]", 0.1), ("a::z", 0.2)], 0.1)
    ['a::x', 'a::y[1]']
    """
    taken, whole = defaultdict[str, dict[str, float]](dict), 0.0
    for name, each in seconds:
        taken[name.partition("[")[0]][name] = each
        whole += each
    slow = []
    for test, cases in taken.items():
        those = [name for name, each in cases.items() if each > share * whole]
        slow += [test] if len(those) == len(cases) else those
    return sorted(slow)


def main(arguments: Sequence[str] | None = None) -> int:
    (path,) = sys.argv[1:] if arguments is None else arguments
    cases = ElementTree.parse(path).iter("testcase")
    slow = listed((f"{case.get('classname')}::{case.get('name')}", float(case.get("time", 0))) for case in cases)
    LIST.write_text("\n".join(name for name in slow if "\n" not in name) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
