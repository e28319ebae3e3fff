"""The aggregated update of one round: its exact mean and covariance, under each reading of Algorithm 1's line 14.

In round t every one of the a_j available clients of group j answers independently with probability q_j = r_j / a_j; N_j
of them do. A client l of group j sends an update of mean v_j and covariance C_j, independent of everything else, and
the server forms

    Delta = h(N) sum_j (p_j / s^_j) sum_{l answering, of group j} Delta_l,   N = sum_j N_j.

Two readings of h: 1 / N as line 14 prints it (and Delta = 0 where nobody answers), or 1, as the proofs of Lemmas 4 to 7
use it. Two of the weights: s^_j known before the round (s^(t-1), or any fixed number, as Lemma 6 needs), or s^_j(t) of
line 7, which contains the round itself: s^_j = ((t-1) s^_j(t-1) + N_j) / t depends on N_j.

With g_j(n) = p_j n / s^_j(n) all of them are Delta-moments

    E[Delta]   = sum_j v_j E[g_j h]
    Cov(Delta) = sum_ij v_i v_j^T Cov(g_i h, g_j h)  +  sum_j C_j E[N_j (p_j / s^_j)^2 h^2],

and since the N_j are independent, E[g_i(N_i) g_j(N_j) h(N)^2] is a sum over the total N of h^2 times a convolution of
the binomial laws, those of i and j multiplied by g_i and g_j. Fractions stay exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..rationals import exact_array, exact_number


@dataclass(frozen=True)
class AggregateMoments:
    """Moments of the aggregated update, as coefficients of the groups' means and covariances (Fractions, dtype object).

    Attributes:
        mean: (groups,), m_j with E[Delta] = sum_j m_j v_j.
        covariance: (groups, groups), c_ij with the part sum_ij c_ij v_i v_j^T of the covariance, from who answers.
        noise: (groups,), n_j with the part sum_j n_j C_j, from the clients' own randomness.
    """

    mean: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray

    def update_mean(self, means: np.ndarray) -> np.ndarray:
        """E[Delta], (dimension,), for the groups' means v (groups, dimension)."""
        return self.mean.astype(float) @ np.asarray(means, dtype=float)

    def update_covariance(self, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
        """Cov(Delta), (dimension, dimension), for v (groups, dimension) and C (groups, dimension, dimension)."""
        v = np.asarray(means, dtype=float)
        spread = v.T @ self.covariance.astype(float) @ v
        return spread + np.tensordot(self.noise.astype(float), np.asarray(covariances, dtype=float), axes=1)


@dataclass(frozen=True)
class Round:
    """One round's law and weights, in Fractions (ints, floats and strings such as "1/3" are taken exactly).

    Attributes:
        rates: (groups,), r_j with 0 <= r_j <= a_j.
        availability: (groups,), a_j, whole numbers.
        group_weight: (groups,), p_j.
        estimate: (groups,), s^_j > 0; or s^_j(t-1) >= 0 if ``number`` is given.
        divided: whether the sum is divided by the number of answers.
        number: t, if the weights contain the current round; None if ``estimate`` itself is the weights' s^.
    """

    rates: Sequence
    availability: Sequence[int]
    group_weight: Sequence
    estimate: Sequence
    divided: bool
    number: int | None = None

    def __post_init__(self) -> None:
        for name in ("rates", "availability", "group_weight", "estimate"):
            values = exact_array(name, getattr(self, name))
            if values.shape != (len(self.availability),) or min(values) < 0:
                raise ValueError(f"{name} = {list(getattr(self, name))}: allowed is one number >= 0 a group")
            object.__setattr__(self, name, tuple(values))
        for j, (r, a, s) in enumerate(zip(self.rates, self.availability, self.estimate, strict=True)):
            if a.denominator != 1:
                raise ValueError(f"availability[{j}] = {a}: allowed is a whole number")
            if r > a:
                raise ValueError(f"rates[{j}] = {r}: allowed is 0 to availability[{j}] = {a}")
            if s == 0 and self.number is None:
                raise ValueError(f"estimate[{j}] = 0: allowed is a number > 0")
        if self.number is not None and (exact_number("number", self.number) < 1 or self.number != int(self.number)):
            raise ValueError(f"number = {self.number}: allowed is None or a whole number >= 1")

    def weight(self, j: int, count: int) -> Fraction:
        """Return p_j / s^_j when ``count`` >= 1 clients of group j answer."""
        if self.number is None:
            return self.group_weight[j] / self.estimate[j]
        return self.group_weight[j] * self.number / ((self.number - 1) * self.estimate[j] + count)

    def scale(self, total: int) -> Fraction:
        """Return h(N) when ``total`` >= 1 clients answer."""
        return Fraction(1, total) if self.divided else Fraction(1)

    def moments(self) -> AggregateMoments:
        """The moments by convolution of the binomial laws; about groups^2 times clients^2 operations.

        >>> m = Round([1, 1], [2, 1], ["1/2", "1/2"], [1, 1], divided=False).moments()
        >>> m.mean.tolist(), m.covariance.tolist()
        ([Fraction(1, 2), Fraction(1, 2)], [[Fraction(1, 8), Fraction(0, 1)], [Fraction(0, 1), Fraction(0, 1)]])
        """
        groups = range(len(self.rates))
        laws = [self._law(j, lambda j, n: Fraction(1)) for j in groups]
        first = [self._law(j, lambda j, n: n * self.weight(j, n) if n else Fraction(0)) for j in groups]
        square = [self._law(j, lambda j, n: (n * self.weight(j, n)) ** 2 if n else Fraction(0)) for j in groups]
        noise = [self._law(j, lambda j, n: n * self.weight(j, n) ** 2 if n else Fraction(0)) for j in groups]
        mean = np.array([self._expect(laws, {j: first[j]}, 1) for j in groups], dtype=object)
        second = np.empty((len(groups), len(groups)), dtype=object)
        for i, j in itertools.product(groups, groups):
            changed = {i: square[i]} if i == j else {i: first[i], j: first[j]}
            second[i, j] = self._expect(laws, changed, 2) if i <= j else second[j, i]
        own = np.array([self._expect(laws, {j: noise[j]}, 2) for j in groups], dtype=object)
        return AggregateMoments(mean, second - np.outer(mean, mean), own)

    def _law(self, j: int, factor) -> list[Fraction]:
        """P(N_j = n) factor(j, n) for n = 0, ..., a_j."""
        a = int(self.availability[j])
        q = self.rates[j] / a if a else Fraction(0)
        return [math.comb(a, n) * q**n * (1 - q) ** (a - n) * factor(j, n) for n in range(a + 1)]

    def _expect(self, laws: list[list[Fraction]], changed: dict[int, list[Fraction]], power: int) -> Fraction:
        """The sum over all counts of the product of the laws, some of them changed, times h^power of the total."""
        product = [Fraction(1)]
        for j, law in enumerate(laws):
            product = _convolve(product, changed.get(j, law))
        return sum((value * self.scale(n) ** power for n, value in enumerate(product) if n), Fraction(0))

    def enumerated(self) -> AggregateMoments:
        """Compute the ``moments`` from the definition, over every set of answering clients: for at most about 15
        clients.

        >>> r = Round(["1/2", 1], [2, 1], ["1/2", "1/2"], [1, "1/3"], divided=True, number=3)
        >>> a, b = r.moments(), r.enumerated()
        >>> bool((a.covariance == b.covariance).all() and (a.mean == b.mean).all() and (a.noise == b.noise).all())
        True
        """
        groups = len(self.rates)
        clients = [j for j in range(groups) for _ in range(int(self.availability[j]))]
        mean = np.full(groups, Fraction(0), dtype=object)
        second, own = np.full((groups, groups), Fraction(0), dtype=object), mean.copy()
        for answers in itertools.product((False, True), repeat=len(clients)):
            chance = Fraction(1)
            for j, answered in zip(clients, answers, strict=True):
                q = self.rates[j] / self.availability[j]
                chance *= q if answered else 1 - q
            counts = [0] * groups
            for j in itertools.compress(clients, answers):
                counts[j] += 1
            if chance == 0 or sum(counts) == 0:
                continue
            each = [self.weight(j, n) * self.scale(sum(counts)) if n else Fraction(0) for j, n in enumerate(counts)]
            total = np.array([n * w for n, w in zip(counts, each, strict=True)], dtype=object)
            mean = mean + chance * total
            second = second + chance * np.outer(total, total)
            own = own + chance * np.array([n * w**2 for n, w in zip(counts, each, strict=True)], dtype=object)
        return AggregateMoments(mean, second - np.outer(mean, mean), own)


def _convolve(left: list[Fraction], right: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(left) + len(right) - 1)
    for n, x in enumerate(left):
        for m, y in enumerate(right):
            result[n + m] += x * y
    return result
