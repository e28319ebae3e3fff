"""The search for counterexamples: maximise left / right over small settings that satisfy every hypothesis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import chain, islice

import numpy as np

from ..claims.arithmetic import compiled_term
from ..claims.statement import Claim, Term
from ..papers import claim as find_claim
from ..papers.registry import searched, subject_of
from ..subjects.lead import Found, worst
from ..subjects.protocol import Space

ROUNDING = 1e-6
"""Excess of a ratio over 1 up to which it is no lead.

Float64 recursions lose up to R K 2^-52 of a contraction over R rounds of K steps so small that 1 - local_lr * curvature
rounds to 1, which is 2e-7 at R = 10^8 and K = 10.
"""


LEADS = 4
"""Number of finds besides the best one that are followed up, of as many families as there are."""

SEEN = 0.01
"""Share of a right side from which on a term is seen: without it the claim would be another one there."""


@dataclass(frozen=True)
class SearchReport:
    """Extent of a search, and the largest left / right seen.

    Attributes:
        candidates: how many points were looked at.
        admissible: how many of them satisfy every hypothesis at some horizon.
        best: the admissible one with the largest ratio, or ``None``.
        best_late: the same among horizons where the fading share of the bound is below a tenth: how tight the rest
            of the bound is (the first term alone makes many a bound tight at the start). ``None`` for claims that do
            not speak of long runs.
        readings: ``best`` under each reading of how cohorts are drawn. A claim falls only if it falls under all of
            them, so ``best`` and ``best_late`` are those of the reading with the smallest ratio.
        searched, left_out: what was drawn, and what not, in words.
        shares: by term, its largest share of the right side at the worst places of admissible points.
        leads: ``best`` and the best of some other families, all that are certain to exceed the bound by more than
            rounding may.
    """

    claim: str
    seed: int
    candidates: int
    admissible: int
    best: Found | None
    best_late: Found | None
    readings: Mapping[str, Found] = field(default_factory=dict)
    searched: str = ""
    left_out: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    leads: tuple[Found, ...] = ()

    @property
    def unseen(self) -> tuple[str, ...]:
        """The terms that made no difference anywhere, so that the search says nothing of whether they are needed."""
        return tuple(name for name, share in self.shares.items() if share < SEEN) if self.admissible else ()

    @property
    def lead(self) -> Found | None:
        """The best find, if it exceeds the bound by more than rounding may."""
        return self.best if self.best is not None and self.best.ratio > 1 + ROUNDING else None


def search(
    statement: Claim | str,
    candidates: int = 1500,
    climbs: int = 12,
    steps: int = 40,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SearchReport:
    """Search for a counterexample: structured candidates, random ones, then hill climbing from the ``climbs`` best
    ones.

    What is drawn depends on what the claim speaks of (``subjects``): runs and single rounds of small quadratic
    federations, whose left sides are exact (moment recursions) with horizons up to 10^8 rounds; crowds of clients and
    gradients with kinks; quadratic functions at some points; estimated weights; selections; learning problems; values
    of quantities. A claim whose hypotheses speak about maxima over the run is searched over runs where these are known:
    deterministic ones, and such random ones as ``trajectory.peak_ranges`` encloses. The same seed gives the
    same search.

    Args:
        statement: a claim, which need not be a registered one, or its ref.
        candidates: points drawn. climbs: starts of the climbs, of the largest ratio and of the largest late one each.
            steps: points looked at by each climb.
        progress: called with (points looked at, points in all).

    >>> search("fast.lemma2", candidates=50, climbs=1, steps=10).best.ratio <= 1 + ROUNDING
    True
    """
    statement = find_claim(statement) if isinstance(statement, str) else statement
    return search_in(subject_of(statement).space(statement), statement, candidates, climbs, steps, seed, progress)


BESIDE = (120, 3, 12)
"""Numbers of candidates, of climbs, and of steps of each climb, where a claim is searched in ``Space.beside`` as
well."""


def search_beside(space: Space, statement: Claim, seed: int = 0) -> SearchReport:
    """Search ``Space.beside`` shortly, by draws of its own."""
    return search_in(space, statement, *BESIDE, seed=seed)


def merged(one: SearchReport, other: SearchReport) -> SearchReport:
    """Merge two reports into one on both searches."""
    shares = {name: max(share, other.shares.get(name, 0.0)) for name, share in one.shares.items()}
    best, late = (worst(filter(None, pair)) for pair in ((one.best, other.best), (one.best_late, other.best_late)))
    searched, left_out = f"{one.searched}; {other.searched}", f"{one.left_out}; {other.left_out}"
    return replace(
        one,
        candidates=one.candidates + other.candidates,
        admissible=one.admissible + other.admissible,
        best=best,
        best_late=late,
        searched=searched,
        left_out=left_out,
        shares=shares,
        leads=one.leads + other.leads,
    )


def search_in(
    space: Space,
    statement: Claim,
    candidates: int,
    climbs: int,
    steps: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SearchReport:
    """Search one space; see ``search``."""
    rng = np.random.default_rng(seed)
    tracker = _Tracker(statement, space, candidates + 2 * climbs * steps, progress)
    pool = islice(chain(space.structured(), (space.draw(rng) for _ in range(candidates))), candidates)
    finds: dict[str, list[tuple[Found, Found | None]]] = {}
    for candidate in pool:
        if result := tracker.look(candidate):
            for reading in space.readings(result[0]):
                finds.setdefault(reading, []).append(result)
    bests = {
        reading: tracker.climbed(results, reading, (climbs + i) // len(finds), steps, rng)
        for i, (reading, results) in enumerate(finds.items())
    }
    found = {reading: worst(filter(None, both)) for reading, both in bests.items()}
    overall = {reading: best for reading, best in found.items() if best is not None}
    best = best_late = None
    leads: tuple[Found, ...] = ()
    if overall:
        chosen = min(overall, key=lambda reading: overall[reading].ratio)
        best, best_late = overall[chosen], bests[chosen][1]
        others = [found for found, _ in finds[chosen] if found.ratio > 1 + ROUNDING and found.point is not best.point]
        leads = tuple(islice(_confirmed(space, [best, *_diverse(others, len(others))]), 1 + LEADS))
    return SearchReport(
        statement.ref,
        seed,
        tracker.looked,
        tracker.admissible,
        best,
        best_late,
        overall,
        *searched(statement, space),
        shares=tracker.shares,
        leads=leads,
    )


def ranked(space: Space, finds: Iterable[Found]) -> Iterator[Found]:
    """Sort finds by their ratios, the largest first.

    Those that exceed the bound are ranked by what is certain of their left sides, which is looked at as they come: one
    that falls behind waits for its turn.

    >>> from dataclasses import replace
    >>> class Doubting(Space):
    ...     def certain(self, found):
    ...         return replace(found, ratio=0.5) if found.ratio == np.inf else found
    >>> finds = [Found(None, None, {}, 1, 1.0, 1.0, ratio) for ratio in (2.0, np.inf, 0.7)]
    >>> [found.ratio for found in ranked(Doubting(), finds)]
    [2.0, 0.7, 0.5]
    """
    waiting = [(-found.ratio, place, found.ratio <= 1 + ROUNDING, found) for place, found in enumerate(finds)]
    heapify(waiting)
    while waiting:
        _, place, seen, found = heappop(waiting)
        if not seen:
            found = space.certain(found)
            if waiting and -found.ratio > waiting[0][0]:
                heappush(waiting, (-found.ratio, place, True, found))
                continue
        yield found


def _confirmed(space: Space, finds: Iterable[Found]) -> Iterator[Found]:
    """Keep the finds, in their order, that are certain to exceed the bound by more than rounding may."""
    return (found for found in map(space.certain, finds) if found.ratio > 1 + ROUNDING)


def _diverse(finds: Sequence[Found], count: int) -> list[Found]:
    """The best of each family, then the second best of each, ...: ``count`` in all, so that one family that is good
    everywhere does not take every climb."""
    seen: Counter[str] = Counter()
    ranked = []
    for found in sorted(finds, key=lambda found: -found.ratio):
        family = getattr(found.candidate, "family", "")
        ranked.append((seen[family], found))
        seen[family] += 1
    return [found for _, found in sorted(ranked, key=lambda pair: pair[0])[:count]]


def names_in(term: Term) -> set[str]:
    """Return the names of the quantities in a term."""
    return {used.name for used in term.expression.free_symbols}


class _Tracker:
    """Assesses candidates and keeps count."""

    def __init__(self, statement: Claim, space: Space, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.space, self.total, self.progress = space, total, progress
        self.terms = {term.name: (names_in(term), compiled_term(term.expression)) for term in statement.terms}
        self.shares = dict.fromkeys(self.terms, 0.0)
        self.looked = self.admissible = 0

    def look(self, candidate: object) -> tuple[Found, Found | None] | None:
        self.looked += 1
        if self.progress:
            self.progress(self.looked, self.total)
        result = self.space.assess(candidate)
        self.admissible += result is not None
        for found in filter(None, result or ()):
            self._weigh(found)
        return result

    def _weigh(self, found: Found) -> None:
        """The share of each term; one that is not known there counts as seen."""
        values = {name: np.float64(value) for name, value in found.quantities.items()}
        for name, (needed, term) in self.terms.items():
            value = abs(float(term(values))) if needed <= values.keys() else np.inf
            share = value / abs(found.right) if value and found.right else float(value > 0)
            self.shares[name] = max(self.shares[name], share)

    def climbed(
        self,
        results: Sequence[tuple[Found, Found | None]],
        reading: str,
        climbs: int,
        steps: int,
        rng: np.random.Generator,
    ) -> tuple[Found | None, Found | None]:
        """The best one of the results of a reading, and the best late one, after climbs from the best ``climbs``."""
        bests = []
        for place in (0, 1):
            finds = [found for result in results if (found := result[place])]
            climbed = [self._climb(start, place, reading, steps, rng) for start in _diverse(finds, climbs)]
            bests.append(next(ranked(self.space, [*climbed, *finds]), None))
        return bests[0], bests[1]

    def _climb(self, best: Found, place: int, reading: str, steps: int, rng: np.random.Generator) -> Found:
        """Hill climbing on the ratio overall (``place`` 0) or late (1), by steps of all sizes."""
        for _ in range(steps):
            if best.ratio == np.inf:
                break
            result = self.look(self.space.perturb(best.candidate, rng, size=10.0 ** rng.uniform(-2.5, 0.3)))
            found = result[place] if result else None
            if found and reading in self.space.readings(found):
                best = max(best, found, key=lambda found: found.ratio)
        return best
