"""The law of a round's participants, cohort by cohort, for rounds that depend on it in any way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb, factorial, prod
from typing import Any

from ..participation import Bernoulli, Fixed, Incomplete, Mixture, Multinomial, Participation, Uniform
from .linear_rounds import NotClosed

Law = list[tuple[tuple[int, ...], Fraction]]
"""Pairs of how often each client takes part, (clients,), and the probability of that."""

MOST_COHORTS = 256
"""The most cohorts that are told apart."""


def law_of(process: Participation, clients: int) -> Law:
    """The law of one round of a process whose rounds are independent.

    Raises:
        NotClosed: there are more than ``MOST_COHORTS``, or it is not known here.

    >>> law_of(Uniform(2), 3)[0]
    ((1, 1, 0), Fraction(1, 3))
    >>> law_of(Bernoulli(["1/2", 1]), 2)
    [((0, 1), Fraction(1, 2)), ((1, 1), Fraction(1, 2))]
    >>> law_of(Mixture([Fixed([0]), Fixed([1])], ["1/4", "3/4"]), 2)
    [((1, 0), Fraction(1, 4)), ((0, 1), Fraction(3, 4))]
    """
    if isinstance(process, Incomplete):
        process.check(clients)
        here = [i for i in range(clients) if i not in process.absent]
        return [(_placed(counts, here, clients), p) for counts, p in law_of(process.process, len(here))]
    if isinstance(process, Mixture):
        return _mixed(
            [(p, law_of(part, clients)) for p, part in zip(process.probabilities, process.processes, strict=True)]
        )
    number, each = _cohorts(process, clients)
    if number > MOST_COHORTS:
        raise NotClosed(
            f"participation = {type(process).__name__}: {number} cohorts of {clients} clients; exact "
            f"moments of an algorithm of one's own tell at most {MOST_COHORTS} apart"
        )
    return [(counts, p) for counts, p in each if p > 0]


def _mixed(laws: Sequence[tuple[Fraction, Law]]) -> Law:
    """One of several laws, with these probabilities."""
    whole: dict[tuple[int, ...], Fraction] = {}
    for share, law in laws:
        for counts, p in law:
            whole[counts] = whole.get(counts, Fraction(0)) + share * p
    return [(counts, p) for counts, p in whole.items() if p > 0]


def certain(members: tuple[int, ...], clients: int) -> Law:
    """Return the law under which exactly these clients take part.

    >>> certain((1,), 2)
    [((0, 1), Fraction(1, 1))]
    """
    present = frozenset(members)
    return [(tuple(int(i in present) for i in range(clients)), Fraction(1))]


class CrowdLaw(list[tuple[tuple[int, ...], Fraction]]):
    """A law in which cohorts with as many clients of each kind count as one: for steps that treat clients alike."""


def law_of_crowd(process: Participation, kinds: Sequence[int]) -> CrowdLaw | None:
    """Return the law of a round's cohorts by how many clients of each kind they have, one cohort standing for all such.

    It is ``None`` where it is not known, or where there are more than ``MOST_COHORTS`` of them.

    Args:
        kinds: of which kind each client is, (clients,).

    >>> law_of_crowd(Uniform(2), (0, 0, 0, 1))
    [((1, 1, 0, 0), Fraction(1, 2)), ((1, 0, 0, 1), Fraction(1, 2))]
    """
    clients = len(kinds)
    if isinstance(process, Fixed):
        return CrowdLaw(certain(tuple(process.members), clients))
    process.check(clients)
    of_kind: dict[Any, list[int]] = {}
    for i, kind in enumerate(kinds):
        own = process.probabilities[i] if isinstance(process, Bernoulli) else None
        of_kind.setdefault((kind, own), []).append(i)
    sizes = [len(members) for members in of_kind.values()]
    if isinstance(process, Uniform) and not process.replacement:
        splits = _splits(process.cohort, sizes)
        total = comb(clients, process.cohort)
        chances = {each: Fraction(prod(map(comb, sizes, each)), total) for each in splits}
    elif isinstance(process, Bernoulli) and prod(size + 1 for size in sizes) <= MOST_COHORTS:
        chances = {
            each: prod(
                (comb(m, n) * p**n * (1 - p) ** (m - n) for m, n, (_, p) in zip(sizes, each, of_kind, strict=True)),
                start=Fraction(1),
            )
            for each in product(*(range(size + 1) for size in sizes))
        }
    else:
        return None
    if len(chances) > MOST_COHORTS:
        return None
    law = CrowdLaw()
    for each, p in chances.items():
        counts = [0] * clients
        for members, number in zip(of_kind.values(), each, strict=True):
            for i in members[:number]:
                counts[i] = 1
        if p:
            law.append((tuple(counts), p))
    return law


def _splits(total: int, sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """All ways to take so many in all from groups of these sizes, the most from the first one first; one more than
    ``MOST_COHORTS`` at most."""
    if len(sizes) == 1:
        return [(total,)] if total <= sizes[0] else []
    found: list[tuple[int, ...]] = []
    for first in range(min(total, sizes[0]), -1, -1):
        found += [(first, *rest) for rest in _splits(total - first, sizes[1:])]
        if len(found) > MOST_COHORTS:
            break
    return found


def _cohorts(process: Participation, clients: int) -> tuple[int, Iterator[tuple[tuple[int, ...], Fraction]]]:
    """Return the most cohorts that there are, and the cohorts with their probabilities."""
    equal = (Fraction(1, clients),) * clients
    match process:
        case Fixed(members=members):
            return 1, iter(certain(tuple(members), clients))
        case Uniform(replacement=False, cohort=cohort):
            number = comb(clients, cohort)
            sets = (certain(members, clients)[0][0] for members in combinations(range(clients), cohort))
            return number, ((counts, Fraction(1, number)) for counts in sets)
        case Uniform(cohort=cohort):
            return comb(clients + cohort - 1, cohort), _with_replacement(equal, cohort)
        case Multinomial(probabilities=p, cohort=cohort):
            return comb(clients + cohort - 1, cohort), _with_replacement(tuple(p), cohort)
        case Bernoulli(probabilities=p):
            chances = [(0, 1) if 0 < p_i < 1 else (int(p_i),) for p_i in p]
            return prod(map(len, chances)), (
                (counts, prod((p_i if n else 1 - p_i for n, p_i in zip(counts, p, strict=True)), start=Fraction(1)))
                for counts in product(*chances)
            )
    raise NotClosed(
        f"participation = {type(process).__name__}: the law of its cohorts is not known here; allowed for exact "
        "moments of an algorithm of one's own are Fixed, Uniform, Multinomial, Bernoulli, Incomplete, Mixture and, in "
        "phases or followed jointly, Phases, Recorded, Markov and Cyclic"
    )


def _with_replacement(p: tuple[Fraction, ...], cohort: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    for counts in _compositions(cohort, len(p)):
        ways = factorial(cohort) // prod(factorial(n) for n in counts)
        yield counts, ways * prod((p_i**n for n, p_i in zip(counts, p, strict=True)), start=Fraction(1))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All tuples of so many whole numbers >= 0 with this sum."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _placed(counts: tuple[int, ...], here: list[int], clients: int) -> tuple[int, ...]:
    full = [0] * clients
    for place, count in zip(here, counts, strict=True):
        full[place] = count
    return tuple(full)
