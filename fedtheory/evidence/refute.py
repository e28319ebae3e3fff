"""The way from a lead to an instance with short numbers that refutes a claim under every reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from ..arguments import check_kind
from ..claims.statement import Claim
from ..papers import claim as find_claim
from ..papers.registry import subject_of
from ..rationals import checked_seed
from ..subjects.protocol import Instance, Space
from ..subjects.violations import VIOLATIONS
from .confirm import DIGITS, MARGIN, confirmed
from .constructions import construct
from .judge import Judgement, judge
from .search import SearchReport, merged, search, search_beside
from .worst_case_leads import refuted_from_leads

FEWER = (2, 4, 9)
"""Significant digits to which the numbers of finds other than the best are rounded."""

TRIED = 5
"""Largest number of points, at which a claim falls in floating point, that are judged exactly for a kind of
assumption."""


def refute(
    statement: Claim | str, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> Judgement | SearchReport:
    """Search for a counterexample; return a judgement that refutes the claim under every reading, or what was searched.

    Where the search confirms none, the one that the claim's paper constructs is judged, then what a worst case above
    the bound leads to. Where nothing that meets every usual assumption is found, runs that violate what the claim does
    not assume are looked at: the instance says what it violates.

    >>> import fedtheory as ft
    >>> ft.refute("fast.thm1@main").refutes  # doctest: +SKIP
    True
    """
    check_kind("statement", statement, (str, Claim), "a claim, or its name")
    statement = find_claim(statement) if isinstance(statement, str) else statement
    report = search(statement, seed=checked_seed(seed), progress=progress)
    judgement = charitable_instance(statement, seed=seed) if report.lead else None
    judgement = judgement or followed_up(statement, report)[0]
    if judgement:
        return judgement
    known = construct(statement)
    if known is not None and known.refutes:
        return known
    report, judgement, _ = search_further(statement, report, seed)
    if judgement is None:
        judgement = refuted_from_leads(statement, seed)
    if judgement is None and report.lead is None:
        judgement = next(iter(falls_without(statement).values()), None)
    return judgement or report


def followed_up(statement: Claim, report: SearchReport, space: Space | None = None) -> tuple[Judgement | None, str]:
    """Judge the first of the leads of a search, in ``space``, that an exact point confirms.

    Where there is none, say why the best one is not confirmed.
    """
    reasons = []
    for place, found in enumerate(report.leads):
        judgement, why = confirmed(statement, found, space, FEWER if place else DIGITS)
        if judgement:
            return judgement, ""
        reasons.append(why)
    return None, reasons[0] if reasons else ""


def search_further(statement: Claim, report: SearchReport, seed: int = 0) -> tuple[SearchReport, Judgement | None, str]:
    """Search ``Space.beside``, for a claim of which no exact point confirms a find.

    Returns:
        The report on both searches, a judgement that refutes the claim or ``None``, and, where a lead of the second
            search
        is not confirmed, the reason.
    """
    space = subject_of(statement).space(statement).beside
    if space is None:
        return report, None, ""
    found = search_beside(space, statement, seed)
    return merged(report, found), *followed_up(statement, found, space)


def charitable_instance(statement: Claim, seed: int = 0, starts: int = 40, steps: int = 50) -> Judgement | None:
    """Find an instance, of the family that the claim's space knows, which refutes the claim under every reading.

    Its numbers are as short as they go. It is ``None`` if there is no family, or hill climbing from so many ``starts``
    did not find one. The score climbed is the number of readings under which the claim falls, then left / right.
    """
    space, rng = subject_of(statement).space(statement), np.random.default_rng(seed)
    for _ in range(starts):
        point = space.family_member(rng)
        if point is None:
            return None
        best = judge(Instance(statement.ref, point), follow=False, statement=statement)
        seen = [best]
        for _ in range(steps):
            if best.refutes:
                return shrunk(best)
            best = max(best, _neighbour(best, space, rng, seen), key=_score)
    return None


def falls_without(
    statement: Claim, kinds: Iterable[str] = tuple(VIOLATIONS), partly: bool = False
) -> dict[str, Judgement]:
    """Find instances that refute a claim by violating an assumption which it does not make, one for each kind in
    ``kinds``.

    An instance refutes the claim under every reading. With ``partly``, where there is none, it does so under as many
    readings as are found by looking at one option after another. Kinds for which none is found are left out.

    >>> from fedtheory.papers import claim
    >>> found = falls_without(claim("fast.eq29"))
    >>> list(found), found["uncorrelated_noise"].refutes
    (['uncorrelated_noise'], True)
    """
    found = {}
    for kind in kinds:
        if not VIOLATIONS[kind] & statement.assumed:
            judgements = _violating(statement, statement, kind)
            refuting = next((judgement for judgement in judgements if judgement.refutes), None)
            if refuting is None and partly:
                options = [{a.name: option} for a in statement.ambiguities for option in a.options[1:]]
                each = [judged for read in options for judged in _violating(statement, statement.under(read), kind)]
                some = max(each, key=_falling, default=None)
                refuting = some if some is not None and _falling(some) else None
            if refuting is not None:
                found[kind] = refuting
    return found


def _violating(statement: Claim, read: Claim, kind: str) -> Iterator[Judgement]:
    """The claim, judged where it falls in floating point as it is ``read``, on runs that violate such assumptions."""
    points = islice(subject_of(read).space(read).violating(kind), TRIED)
    return (judge(Instance(statement.ref, point), statement=statement) for point in points)


def _falling(judgement: Judgement) -> int:
    """Count the readings under which the claim falls."""
    return sum(reading.refutes for reading in judgement.readings)


def _neighbour(judgement: Judgement, space: Space, rng: np.random.Generator, seen: list[Judgement]) -> Judgement:
    """A neighbour, judged; a point has few of them, so most have been ``seen``."""
    instance = Instance(judgement.instance.claim, space.neighbour(judgement.instance.point, rng))
    known = next((each for each in seen if each.instance.point == instance.point), None)
    if known is None:
        known = judge(instance, follow=False, statement=judgement.statement)
        seen.append(known)
    return known


def _score(judgement: Judgement) -> tuple[int, float]:
    ratio = float(judgement.readings[0].left / judgement.readings[0].right)
    return sum(reading.refutes for reading in judgement.readings), ratio


def shrunk(judgement: Judgement) -> Judgement:
    """Shorten the numbers of an instance, one change at a time, as long as every reading still falls by ``MARGIN``."""
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
