"""The law of a round's participants, cohort by cohort, for rounds that depend on it in any way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice, product
from math import comb, factorial, perm, prod
from typing import Any, NamedTuple

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
        own = process.probabilities[i] if isinstance(process, Bernoulli | Multinomial) else None
        of_kind.setdefault((kind, own), []).append(i)
    sizes = tuple(len(members) for members in of_kind.values())
    ways: Sequence[Split]
    if isinstance(process, Uniform):
        ways = splits(sizes, process.cohort, process.replacement, most=MOST_COHORTS)
    elif isinstance(process, Multinomial):
        ways = splits(sizes, process.cohort, True, tuple(own for _, own in of_kind), MOST_COHORTS)
    elif isinstance(process, Bernoulli) and prod(size + 1 for size in sizes) <= MOST_COHORTS:
        ways = [
            Split(
                tuple(((1, n), (0, m - n)) for m, n in zip(sizes, each, strict=True)),
                prod(
                    (comb(m, n) * p**n * (1 - p) ** (m - n) for m, n, (_, p) in zip(sizes, each, of_kind, strict=True)),
                    start=Fraction(1),
                ),
            )
            for each in product(*(range(size + 1) for size in sizes))
        ]
    else:
        return None
    if len(ways) > MOST_COHORTS:
        return None
    law = CrowdLaw()
    for split, chance in ways:
        counts = [0] * clients
        for members, parts in zip(of_kind.values(), split, strict=True):
            for i, times in zip(members, (times for times, number in parts for _ in range(number)), strict=True):
                counts[i] = times
        if chance:
            law.append((tuple(counts), chance))
    return law


class Split(NamedTuple):
    """Cohorts that split groups of clients in one way.

    Attributes:
        groups: for each group the pairs (how often a client is drawn, of how many clients that is so), the largest
            first.
        probability: of all such cohorts.
    """

    groups: tuple[tuple[tuple[int, int], ...], ...]
    probability: Fraction


@lru_cache(maxsize=512)
def splits(
    sizes: tuple[int, ...],
    cohort: int,
    replacement: bool,
    chances: tuple[Fraction, ...] | None = None,
    most: int = 4096,
) -> list[Split]:
    """Return the ways in which a cohort may split groups of clients, no client of a group being told from another.

    Without replacement all sets of the cohort's size are as likely. With replacement, of m_g clients in group g, each
    drawn with probability p_g, of whom m_gc come c times, a way has the probability

        S! prod_g m_g! / prod_c (c! / p_g^c)^m_gc m_gc!,    sum_gc c m_gc = S.

    Args:
        sizes: clients of each group.
        cohort: S, how many are drawn.
        chances: p_g of each group; all the same, if there are none. Without replacement there are none.
        most: where there are more ways than that, ``most + 1`` are returned.

    >>> splits((3, 1), 2, False)[0]
    Split(groups=(((1, 2), (0, 1)), ((0, 1),)), probability=Fraction(1, 2))
    >>> [str(p) for _, p in splits((3, 1), 2, True)]
    ['3/16', '3/8', '3/8', '1/16']
    """
    found: list[Split] = []
    chances = chances or (Fraction(1, sum(sizes)),) * len(sizes)
    for each in totals(cohort, (cohort,) * len(sizes) if replacement else sizes):
        if not replacement:
            parts = tuple(_parts((1,) * n, size) for n, size in zip(each, sizes, strict=True))
            found.append(Split(parts, Fraction(prod(map(comb, sizes, each)), comb(sum(sizes), cohort))))
        else:
            drawn = [islice(_partitions(n, n, size), most + 1) for n, size in zip(each, sizes, strict=True)]
            draws = prod((p**n for p, n in zip(chances, each, strict=True)), start=Fraction(1)) * factorial(cohort)
            for own in product(*drawn):
                parts = tuple(map(_parts, own, sizes))
                within = prod(factorial(times) for of in own for times in of)
                among = prod(perm(size, len(of)) for of, size in zip(own, sizes, strict=True))
                alike = prod(factorial(number) for of in parts for times, number in of if times)
                found.append(Split(parts, draws * Fraction(among, within * alike)))
                if len(found) > most:
                    return found
        if len(found) > most:
            break
    return found


def _parts(drawn: tuple[int, ...], size: int) -> tuple[tuple[int, int], ...]:
    """The pairs of a group of this size, of whom some are drawn so often."""
    counts = Counter(drawn) + Counter({0: size - len(drawn)})
    return tuple(sorted(counts.items(), reverse=True))


def _partitions(total: int, largest: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of at most so many, none larger than this, the largest first."""
    if total == 0:
        yield ()
    elif most > 0:
        for first in range(min(total, largest), (total - 1) // most, -1):
            for rest in _partitions(total - first, first, most - 1):
                yield (first, *rest)


def totals(total: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all ways to take so many in all from groups of these sizes, the most from the first one first."""
    if len(sizes) == 1:
        if total <= sizes[0]:
            yield (total,)
        return
    for first in range(min(total, sizes[0]), -1, -1):
        for rest in totals(total - first, sizes[1:]):
            yield (first, *rest)


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
