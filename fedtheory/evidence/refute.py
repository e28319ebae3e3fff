"""From a lead to an instance with short numbers that refutes a claim under every reading."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from ..claims.balls import decimal
from ..claims.statement import Claim
from ..papers import claim as find_claim
from ..papers.whose import subject_of
from ..subjects.base import Instance, Space
from ..subjects.found import Found
from ..subjects.violations import VIOLATIONS
from .constructions import construct
from .judge import Judgement, judge
from .search import SearchReport, search

MARGIN = 2
"""A shrunk instance must exceed its bound by this factor: a reader should see it at a glance."""

DIGITS = (1, 2, 3, 4, 6, 9, 12, 16)
"""Significant digits to which the numbers of a find are rounded, the fewest that do."""


TRIED = 5
"""Points at which a claim falls in floating point that are judged exactly, at most, for each kind of assumption."""


def refute(
    statement: Claim | str, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> Judgement | SearchReport:
    """Search for a counterexample; a judgement that refutes the claim under every reading, or what was searched. Where
    the search confirms none, the one that the claim's paper constructs is judged; and where nothing that meets every
    usual assumption is found, runs that violate what the claim does not assume are looked at: the instance says what
    it violates.

    >>> import fedtheory as ft
    >>> ft.refute("fast.thm1@main").refutes  # doctest: +SKIP
    True
    """
    statement = find_claim(statement) if isinstance(statement, str) else statement
    report = search(statement, seed=seed, progress=progress)
    if report.lead is not None:
        found = charitable_instance(statement, seed=seed) or refuting_point(statement, report.lead)
        if found is not None:
            return found
    known = construct(statement)
    if known is not None and known.refutes:
        return known
    return report if report.lead is not None else next(iter(falls_without(statement).values()), report)


def refuting_point(statement: Claim, found: Found) -> Judgement | None:
    """What a search found, with the shortest numbers under which the claim falls under every reading, judged;
    ``None`` if none do, or if no exact point is near it.

    The claim need not be a registered one. Constants are those of the rounded federation or function.
    """
    return confirmed(statement, found)[0]


def confirmed(statement: Claim, found: Found) -> tuple[Judgement | None, str]:
    """The same, and where there is none the reason: why the point with the most digits is none, or does not refute."""
    space, why, tried = subject_of(statement).space(statement), "no exact point is near it", 0
    for digits in DIGITS:
        points = space.rounded(found, digits)
        while True:
            try:
                if (point := next(points, None)) is None:
                    break
                tried += 1
                instance = Instance(statement.ref, point)
                judgement = judge(instance, follow=False, statement=statement)
            except ValueError as error:  # no point can hold it, or rounding left no instance of the claim
                why = f"with {digits} digits: {error}"
                continue
            if judgement.refutes:
                return judge(instance, statement=statement), ""
            why = f"with {digits} digits: {_shortfall(judgement)}"
    return None, f"{tried} exact points near it do not refute the claim; {why}" if tried else why


def _shortfall(judgement: Judgement) -> str:
    """Why a judgement does not refute, under the first reading that stands."""
    reading = next(reading for reading in judgement.readings if not reading.refutes)
    under = f", read with {', '.join(f'{n}: {o}' for n, o in reading.reading.items())}" if reading.reading else ""
    if reading.failing:
        why = f" ({reading.undecided})" if reading.undecided else ""
        return f"the hypothesis {reading.failing[0]} is not shown to hold{why}{under}"
    sides = f"left {decimal(reading.left)} is not shown to exceed right {decimal(reading.right)}"
    return sides + (f" ({reading.undecided})" if reading.undecided else "") + under


def charitable_instance(statement: Claim, seed: int = 0, starts: int = 40, steps: int = 50) -> Judgement | None:
    """An instance of the family that the claim's space knows, refuting the claim under every reading, with numbers as
    short as they go; ``None`` if there is no family, or hill climbing from so many ``starts`` did not find one.

    The score climbed is the number of readings under which the claim falls, then left / right.
    """
    space, rng = subject_of(statement).space(statement), np.random.default_rng(seed)
    for _ in range(starts):
        point = space.family_member(rng)
        if point is None:
            return None
        best = judge(Instance(statement.ref, point), follow=False, statement=statement)
        for _ in range(steps):
            if best.refutes:
                return shrunk(best)
            best = max(best, _neighbour(best, space, rng), key=_score)
    return None


def falls_without(statement: Claim) -> dict[str, Judgement]:
    """By kind of assumption that the claim does not make: an instance that violates it and refutes the claim under
    every reading. Kinds for which none is found are left out.

    >>> from fedtheory.papers import claim
    >>> found = falls_without(claim("fast.eq29"))
    >>> list(found), found["uncorrelated_noise"].refutes
    (['uncorrelated_noise'], True)
    """
    space, found = subject_of(statement).space(statement), {}
    for kind, violated in VIOLATIONS.items():
        if not violated & statement.assumed:
            points = islice(space.violating(kind), TRIED)
            judgements = (judge(Instance(statement.ref, point), statement=statement) for point in points)
            refuting = next((judgement for judgement in judgements if judgement.refutes), None)
            if refuting is not None:
                found[kind] = refuting
    return found


def _neighbour(judgement: Judgement, space: Space, rng: np.random.Generator) -> Judgement:
    instance = Instance(judgement.instance.claim, space.neighbour(judgement.instance.point, rng))
    return judge(instance, follow=False, statement=judgement.statement)


def _score(judgement: Judgement) -> tuple[int, float]:
    ratio = float(judgement.readings[0].left / judgement.readings[0].right)
    return sum(reading.refutes for reading in judgement.readings), ratio


def shrunk(judgement: Judgement) -> Judgement:
    """Shorter numbers, one change at a time, as long as every reading still falls by ``MARGIN``."""
    current, changed = judgement, True
    while changed:
        changed = False
        for point in current.instance.point.shorter():
            instance = Instance(current.instance.claim, point)
            attempt = judge(instance, follow=False, statement=current.statement)
            if attempt.refutes and all(r.left > MARGIN * r.right for r in attempt.readings):
                current, changed = attempt, True
                break
    return judge(current.instance, statement=current.statement)
