"""Tests of one property for every claim, quantity or entry, as one or two tests that loop.

Thousands of small tests take longer to collect and to start than to run. ``looped`` stands where
``pytest.mark.parametrize`` would, and gives one test, which tries all values and then fails with the names of all that
failed, and the error of each. With ``quick`` it gives two: some of the values, and the rest, which is slow.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests import slowest


def looped(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    ids: Iterable[object] | Callable[[Any], object] | None = None,
    quick: int | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that calls the test with each of the values, by name, in one test.

    Parameters:
        names: the test's parameters that take a value: one, or a tuple, with commas or without.
        values: what they take; a tuple each where there are several names.
        ids: what a failure calls each value: as many texts, or a function; by default the value's own text.
        quick: how many values the quick test tries, evenly spread over the list, beginning where the test's name says;
            the others are tried by a test that is marked slow. By default all are tried by one test.

    A value that is skipped counts as passed, unless all are.
    """
    listed = list(values)
    several = isinstance(names, tuple)
    called = [str(each) for each in (map(ids, listed) if callable(ids) else ids or listed)]
    if len(called) != len(listed):
        raise ValueError(f"{len(called)} ids of {len(listed)} values")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def loop(places: list[int], record_property: Callable[[str, object], None], others: dict[str, Any]) -> None:
            record_property(slowest.CASES, len(places))
            failed, skipped, tried = {}, [], 0
            for i in places:
                tried += 1
                given = dict(zip(names, listed[i], strict=True)) if several else {names: listed[i]}
                try:
                    test(**others, **given)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as error:
                    failed[called[i]] = error
            if failed:
                told = "\n".join(f"{name}: {type(error).__name__}: {error}"[:500] for name, error in failed.items())
                raise AssertionError(f"{len(failed)} of {tried} fail:\n{told}") from next(iter(failed.values()))
            if skipped and len(skipped) == tried:
                raise skipped[0]

        taken = set(names) if several else {names}
        parameters = inspect.signature(test).parameters
        if not taken <= set(parameters):
            raise ValueError(f"{test.__name__} takes {', '.join(parameters)}, not {', '.join(taken)}")
        rest = [each for name, each in parameters.items() if name not in taken and name != "record_property"]
        rest = [*rest, inspect.Parameter("record_property", inspect.Parameter.KEYWORD_ONLY)]
        if quick is None or quick >= len(listed):

            def whole(record_property: Callable[[str, object], None], **others: Any) -> None:
                loop([*range(len(listed))], record_property, others)

            made: Any = whole
        else:
            some = spread(len(listed), quick, zlib.crc32(test.__name__.encode()))
            others_of_them = [i for i in range(len(listed)) if i not in set(some)]

            def part(
                values_of_the_loop: list[int], record_property: Callable[[str, object], None], **others: Any
            ) -> None:
                loop(values_of_the_loop, record_property, others)

            rest = [*rest, inspect.Parameter("values_of_the_loop", inspect.Parameter.KEYWORD_ONLY)]
            cases = [pytest.param(some, id="some"), pytest.param(others_of_them, id="rest", marks=pytest.mark.slow)]
            made = pytest.mark.parametrize("values_of_the_loop", cases)(part)
        # Not all of the test's attributes: of a test of hypothesis, the loop is none itself.
        made.__name__, made.__qualname__, made.__doc__ = test.__name__, test.__qualname__, test.__doc__
        made.__module__, made.__signature__ = test.__module__, inspect.Signature(rest)
        made.pytestmark = [*getattr(made, "pytestmark", []), *getattr(test, "pytestmark", [])]
        return made

    return decorate


def spread(count: int, some: int, offset: int = 0) -> list[int]:
    """So many of the numbers below ``count``, evenly spread; another offset begins elsewhere.

    >>> spread(10, 3), spread(10, 3, 2), spread(3, 3, 5)
    ([0, 3, 6], [2, 5, 8], [0, 1, 2])
    """
    return sorted({(offset + i * count // some) % count for i in range(some)})
