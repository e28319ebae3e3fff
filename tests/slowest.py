"""Keeps the list of slow tests, ``slow.txt``, by what runs took: ``python -m tests.slowest quick.xml slow.xml``.

The files are what ``pytest --junitxml=quick.xml`` writes, of all tests together: of `make test` and of `make test-all`.
A test is slow if it takes more than a share of the whole, so that the list is the same on a fast machine and on a
loaded one; one that loops over cases, and says over how many, if each takes so much on average. What is listed and was
not run stays listed: nobody knows that it is quick. ``conftest.py`` marks what is listed. A name without parameters
stands for all of them.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

from _pytest.junitxml import mangle_test_address

LIST = Path(__file__).parent / "slow.txt"

SHARE = 1.3e-4
"""Of the time of all tests: 0.26 s of 2000 s."""

CASES = "cases"
"""Name of the property of a test that is the number of its cases."""


def name_of(test: str) -> str:
    """A test's name in the list, which is that of pytest's reports.

    >>> name_of("tests/claims/test_rounds.py::test_all[a/b-1]")
    'tests.claims.test_rounds::test_all[a/b-1]'
    """
    *where, name = mangle_test_address(test)
    return f"{'.'.join(where)}::{name}"


def listed(seconds: Iterable[tuple[str, float]], before: Iterable[str] = (), share: float = SHARE) -> list[str]:
    """The slow ones of tests and their times, and what was listed ``before`` and is none of them; one name for those
    that differ in their parameters, where all are slow.

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
        those = {name for name, each in cases.items() if each > share * whole}
        slow |= {test} if len(those) == len(cases) else those
    unknown = {name for name in before if name not in taken and name not in taken.get(_without_parameters(name), ())}
    return sorted(slow | {name for name in unknown if _without_parameters(name) not in slow})


def _without_parameters(name: str) -> str:
    return name.partition("[")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    taken: dict[str, float] = {}
    for path in sys.argv[1:] if arguments is None else arguments:
        for case in ElementTree.parse(path).iter("testcase"):
            said = case.find(f"properties/property[@name='{CASES}']")
            cases = 1 if said is None else max(1, int(said.get("value", 1)))
            taken[f"{case.get('classname')}::{case.get('name')}"] = float(case.get("time", 0)) / cases
    slow = listed(taken.items(), LIST.read_text(encoding="utf-8").splitlines())
    LIST.write_text("\n".join(name for name in slow if "\n" not in name) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
