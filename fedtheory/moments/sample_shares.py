"""Moments of the weights w_i = n_i N_i / sum_j n_j N_j, with which a round averages its clients by their samples.

Of clients that take part independently with probabilities p_i, T_i is the sum of the n_j of the others that take part,
T_ij that without i and j:

    E[w_i] = n_i p_i E[1/(T_i + n_i)],    E[w_i^2] = n_i^2 p_i E[1/(T_i + n_i)^2],
    E[w_i w_j] = n_i n_j p_i p_j E[1/(T_ij + n_i + n_j)^2].

Of uniform cohorts of S clients p_i is P(N_i = 1) = S/M, p_i p_j is P(N_i = N_j = 1), and the others' sums are those of
S - 1 and S - 2 of them. Laws of sums follow client by client, in Fractions; clients that are alike count together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from ..algorithms.aggregation import SampleShares
from ..participation import Bernoulli, Incomplete, Participation, Uniform
from .cohorts import law_of
from .linear_rounds import NotClosed
from .participation_laws import SHARE, Draws, Embedded, draws_of, draws_of_set

MOST_TERMS = 10**6
"""The most terms of laws of sums that are formed, a second's or two's work."""

Kind = tuple[Fraction, Fraction]
"""Pair n, p of clients that are alike; of uniform cohorts p is 1/2, which does not matter."""


@dataclass(frozen=True)
class SampleShareDraws(Draws):
    """Draws whose shares go by samples; counts and presence are those of ``plain``.

    Attributes:
        shares, products: E[w_i], (clients,), and E[w_i w_j], (clients, clients).
    """

    plain: Draws
    shares: np.ndarray
    products: np.ndarray

    def first(self, family: str) -> np.ndarray:
        return self.shares if family == SHARE else self.plain.first(family)

    def second(self, one: str, other: str) -> np.ndarray:
        if (one, other) == (SHARE, SHARE):
            return self.products
        if SHARE in (one, other):
            raise NotClosed("aggregation = SampleShares: its products with counts are not known here")
        return self.plain.second(one, other)

    def somebody(self) -> object:
        return self.plain.somebody()


def sample_share_draws(process: Participation, clients: int, aggregation: SampleShares, exact: bool = False) -> Draws:
    """Compute the moments of a round of ``process`` with shares by samples; in Fractions if ``exact``.

    Raises:
        ValueError: a cohort that may come has no samples; the rounds' moments are not the same; or their law is not
            known, or of too many terms.

    >>> draws = sample_share_draws(Uniform(1), 2, SampleShares((Fraction(1), Fraction(3))), exact=True)
    >>> [str(share) for share in draws.first("share")]
    ['1/2', '1/2']
    >>> draws = sample_share_draws(Bernoulli(["1/2", "1/2"]), 2, SampleShares((Fraction(1), Fraction(3))), exact=True)
    >>> [str(share) for share in draws.first("share")]  # 1/4 + 1/4 1/4, 1/4 + 1/4 3/4
    ['5/16', '7/16']
    """
    samples = aggregation.samples or ()
    if isinstance(process, Incomplete):
        present = [i for i in range(clients) if i not in process.absent]
        inner = SampleShares(tuple(samples[i] for i in present))
        return Embedded(sample_share_draws(process.process, len(present), inner, exact), present, clients)
    return _checked(draws_of(process, clients, exact), *_moments(process, samples), exact)


def sample_shares_of_set(members: Iterable[int], clients: int, aggregation: SampleShares) -> Draws:
    """Return the draws in which ``members`` take part for certain, in Fractions; there may be none."""
    samples, chosen = aggregation.samples or (), sorted(members)
    shares = _shares([int(i in chosen) for i in range(clients)], samples)
    return _checked(draws_of_set(chosen, clients), shares, np.outer(shares, shares), True)


def _checked(plain: Draws, shares: np.ndarray, products: np.ndarray, exact: bool) -> Draws:
    """The draws; ``ValueError`` if a cohort may come without samples, of which the weights have the sum 0."""
    total, somebody = shares.sum(), plain.somebody()
    short = total != somebody if isinstance(somebody, int | Fraction) else float(total) < float(somebody) * (1 - 1e-9)  # type: ignore[arg-type]
    if short:
        raise ValueError(
            f"samples: with probability {float(somebody) - float(total):.3g} all who take part have 0; "  # type: ignore[arg-type]
            "allowed are cohorts with a sample"
        )
    kind = object if exact else float
    return SampleShareDraws(plain, shares.astype(kind), products.astype(kind))


def _shares(counts: Iterable[int], samples: Iterable[Fraction]) -> np.ndarray:
    held = np.array([n * k for n, k in zip(samples, counts, strict=True)], dtype=object)
    total = held.sum()
    return held / total if total else held * Fraction(0)


@lru_cache(maxsize=64)
def _moments(process: Participation, samples: tuple[Fraction, ...]) -> tuple[np.ndarray, np.ndarray]:
    """E[w_i] and E[w_i w_j], in Fractions."""
    match process:
        case Bernoulli(probabilities=p):
            return _of_kinds(list(zip(samples, map(Fraction, p), strict=True)), None)
        case Uniform(replacement=False, cohort=cohort):
            return _of_kinds([(n, Fraction(1, 2)) for n in samples], cohort)
    try:
        law = law_of(process, len(samples))
    except NotClosed:
        raise NotClosed(
            f"participation = {type(process).__name__}: the moments of shares by samples are known here for Bernoulli "
            "and Uniform, for few cohorts of Multinomial and Uniform with replacement, and for Fixed, Phases, "
            "Recorded, Markov and Cyclic"
        ) from None
    each = [(_shares(counts, samples), chance) for counts, chance in law]
    return sum(p * w for w, p in each), sum(p * np.outer(w, w) for w, p in each)  # type: ignore[return-value]


def _of_kinds(clients: list[Kind], cohort: int | None) -> tuple[np.ndarray, np.ndarray]:
    """E[w_i] and E[w_i w_j] of independent clients, or of uniform cohorts of so many."""
    number, left = Counter(clients), [MOST_TERMS]
    ways = Fraction(1) if cohort is None else Fraction(1, comb(len(clients), cohort))
    own: dict[Kind, tuple[Fraction, Fraction]] = {}
    both: dict[tuple[Kind, Kind], Fraction] = {}
    for one in number:
        (n, p), law = one, _sums(number - Counter([one]), cohort, 1, left)
        chance = ways * (p if cohort is None else 1)
        own[one] = (chance * n * _mean(law, n, 1), chance * n * n * _mean(law, n, 2))
        for other in number:
            if (other, one) in both or (one == other and number[one] == 1):
                continue
            m, q = other
            law = _sums(number - Counter([one]) - Counter([other]), cohort, 2, left)
            chance = ways * (p * q if cohort is None else 1)
            both[one, other] = chance * n * m * _mean(law, n + m, 2)
    count = len(clients)
    products = np.empty((count, count), dtype=object)
    for i, one in enumerate(clients):
        for j, other in enumerate(clients):
            products[i, j] = both.get((one, other), both.get((other, one), Fraction(0)))
        products[i, i] = own[one][1]
    return np.array([own[one][0] for one in clients], dtype=object), products


def _mean(law: dict[Fraction, Fraction], more: Fraction, power: int) -> Fraction:
    """E[1/(T + more)^power]; 0 where nobody who counts has samples, since n = 0 stands before it."""
    return sum((p / (total + more) ** power for total, p in law.items() if total + more), Fraction(0))


def _sums(others: Counter[Kind], cohort: int | None, drawn: int, left: list[int]) -> dict[Fraction, Fraction]:
    """The law of the sum of the others that take part, or how many sets of cohort - drawn of them have each sum.

    Raises:
        NotClosed: there are more terms than are ``left``.
    """
    rest = None if cohort is None else cohort - drawn
    if rest is not None and rest < 0:
        return {}
    chances: Callable[[int, int, Fraction], Fraction] = (
        (lambda number, k, p: comb(number, k) * p**k * (1 - p) ** (number - k))
        if rest is None
        else (lambda number, k, p: Fraction(comb(number, k)))
    )
    law = {(0, Fraction(0)): Fraction(1)}
    for (n, p), number in others.items():
        following: dict[tuple[int, Fraction], Fraction] = {}
        for (size, total), chance in law.items():
            most = number if rest is None else min(number, rest - size)
            left[0] -= most + 1
            if left[0] < 0:
                raise NotClosed(
                    f"samples: the law of a cohort's sum has more than {MOST_TERMS} terms; allowed for exact moments "
                    "are fewer clients, or fewer numbers of samples that differ"
                )
            for k in range(most + 1):
                if own := chances(number, k, p):
                    place = (size + k if rest is not None else 0), total + k * n
                    following[place] = following.get(place, Fraction(0)) + chance * own
        law = following
    return {total: p for (size, total), p in law.items() if rest is None or size == rest}
