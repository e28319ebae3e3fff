"""Exact points near what a search found, and whether the claim falls there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..claims.balls import decimal
from ..claims.statement import Claim
from ..papers.registry import subject_of
from ..participation import Phases
from ..subjects.lead import Found
from ..subjects.protocol import Instance, Point, Space
from .judge import Judgement, judge

MARGIN = 2
"""Factor by which an instance exceeds its bound so that a reader sees it at a glance.

The numbers of an instance are shortened as long as every reading falls by it."""


DIGITS = (1, 2, 3, 4, 6, 9, 12, 16)
"""Significant digits to which the numbers of a find are rounded, the fewest that do."""


NEAR = 0.9
"""Share of a find's ratio with which an exact point is good enough, as is one that exceeds its bound by ``MARGIN``:
points with more digits are then not looked at."""


def refuting_point(statement: Claim, found: Found) -> Judgement | None:
    """Shorten the numbers of a search's find as far as the claim still falls under every reading, and judge it.

    It is ``None`` if no such point refutes the claim, or if no exact point is near the find. The claim need not be a
    registered one. Constants are those of the rounded federation or function.
    """
    return confirmed(statement, found)[0]


def confirmed(
    statement: Claim, found: Found, space: Space | None = None, numbers: Sequence[int] = DIGITS
) -> tuple[Judgement | None, str]:
    """Shorten a find in ``space`` to numbers with so many digits, and judge the shortest that refutes the claim clearly
    (``NEAR``), else the one that refutes it most clearly.

    Where there is none, the reason says why the point with the most digits is none, or does not refute.
    """
    why, tried, best, enough = "no exact point is near it", 0, None, min(MARGIN, NEAR * found.ratio)
    for digits, point in _points(space or subject_of(statement).space(statement), found, numbers):
        try:
            if isinstance(point, ValueError):  # no point can hold it
                raise point
            tried += 1
            judgement = judge(Instance(statement.ref, point), follow=False, statement=statement)
        except ValueError as error:  # or rounding left no instance of the claim
            why = f"with {digits} digits: {error}"
            continue
        if not judgement.refutes:
            why = f"with {digits} digits: {_shortfall(judgement)}"
        elif best is None or _least_ratio(judgement) > _least_ratio(best):
            best = judgement
            if _least_ratio(best) >= enough:
                break
    if best is not None:
        return judge(best.instance, statement=statement), ""
    return None, f"{tried} exact points near it do not refute the claim; {why}" if tried else why


def _points(space: Space, found: Found, numbers: Sequence[int]) -> Iterator[tuple[int, Point | ValueError]]:
    """Exact points near a find, by digits, or why there are no more of so many digits; of participants that change,
    those of a fixed set first."""
    roundings = [(space, digits) for digits in numbers]
    if space.beside is not None and isinstance(getattr(found.point, "participation", None), Phases):
        roundings += [(space.beside, digits) for digits in numbers]
    for rounding, digits in roundings:
        points = rounding.rounded(found, digits)
        while True:
            try:
                point = next(points, None)
            except ValueError as error:
                yield digits, error
                break
            if point is None:
                break
            yield digits, point


def _least_ratio(judgement: Judgement) -> float:
    """Left / right, under the reading that it is least for."""
    return min(float(reading.ratio) for reading in judgement.readings)


def _shortfall(judgement: Judgement) -> str:
    """Why a judgement does not refute, under the first reading that stands."""
    reading = next(reading for reading in judgement.readings if not reading.refutes)
    under = f", read with {', '.join(f'{n}: {o}' for n, o in reading.reading.items())}" if reading.reading else ""
    if reading.failing:
        why = f" ({reading.undecided})" if reading.undecided else ""
        return f"the hypothesis {reading.failing[0]} is not shown to hold{why}{under}"
    sides = f"left {decimal(reading.left)} is not shown to exceed right {decimal(reading.right)}"
    return sides + (f" ({reading.undecided})" if reading.undecided else "") + under
