"""Order in which workers get tests: whole files, or folders, and those that take longest first.

A long file that begins last leaves the other workers idle until it ends. ``long.txt`` names the files and folders that
take longest, the longest first; the others follow by their number of tests. ``python -m tests.slowest`` writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LONG = Path(__file__).parent / "long.txt"

TOGETHER = ("tests/proof/", "tests/report/site/", "tests/report/")
"""Folders of which one worker runs all tests: each worker would decide the steps of every proof again, write the
report, draw the figures."""


def unit_of(test: str) -> str:
    """What a worker gets at once: a file, or one of the folders ``TOGETHER``.

    >>> unit_of("tests/claims/test_rounds.py::test_all[a::b]"), unit_of("tests/proof/kernel/test_forms.py::test_sums")
    ('tests/claims/test_rounds.py', 'tests/proof/')
    """
    return next((folder for folder in TOGETHER if test.startswith(folder)), test.split("::", 1)[0])


def longest_first(tests: Sequence[str], long: Sequence[str]) -> list[int]:
    """Places of tests in their order: by unit, those named in ``long`` as they stand there, then those of most tests;
    each unit's tests as given.

    >>> longest_first(["a::1", "b::1", "b::2", "c::1", "a::2", "b::3"], ["c", "gone"])
    [3, 1, 2, 5, 0, 4]
    """
    units = [*map(unit_of, tests)]
    count, place = Counter(units), {unit: i for i, unit in enumerate(long)}
    return sorted(range(len(tests)), key=lambda i: (place.get(units[i], len(place)), -count[units[i]], units[i]))


class Placed(list[str]):
    """Names of tests, each found at once: workers are told thousands of tests by their places."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.places = {name: i for i, name in enumerate(names)}

    def index(self, name: str, *_: Any) -> int:
        """Return the place of a name."""
        return self.places[name]


def scheduler(config: Any, log: Any) -> Any:
    """Return the scheduler of pytest-xdist that gives units to workers in the order in which they were collected."""
    from xdist.scheduler import LoadScopeScheduling

    class InOrder(LoadScopeScheduling):
        def _split_scope(self, test: str) -> str:
            return unit_of(test)

        def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
            super().add_node_collection(node, collection)
            if node in self.registered_collections:
                self.registered_collections[node] = Placed(collection)

        def _pending_of(self, workload: Mapping[str, Mapping[str, bool]]) -> int:
            """Return 3 where more tests are left, which nobody asks for; those that are left are the last ones."""
            left = 0
            for unit in reversed(list(workload.values())):
                for ended in reversed(unit.values()):
                    left += not ended
                    if left > 2:
                        return left
            return left

    config.option.loadscopereorder = False  # workers sort what they collect
    return InOrder(config, log)
