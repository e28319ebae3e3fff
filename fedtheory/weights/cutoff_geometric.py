"""The cutoff-geometric law: how long a participation interval lasts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..rationals import checked_seed
from .weight_arguments import check_cutoff, check_probability


@dataclass(frozen=True)
class CutoffGeometric:
    r"""The law of S = min(G, K), with G geometric: P(G = k) = p (1-p)^{k-1}, k = 1, 2, ...

    So P(S = k) = p (1-p)^{k-1} for 1 <= k < K, and P(S = K) = (1-p)^{K-1}. Methods are named as those of a frozen
    distribution of scipy. All are accurate to rounding for p from 1e-12 to 1 and any cutoff; moments are in rounds.

    Args:
        participation_probability: p, in (0, 1]; 0 is allowed with a finite cutoff (then S = K).
        cutoff: K, an integer >= 1, or ``math.inf``.

    Raises:
        ValueError: an argument outside its range.

    Source: FedAU, (B.6.1) and Lemma B.6.1.

    >>> interval = CutoffGeometric(participation_probability=0.02, cutoff=50)
    >>> round(interval.mean(), 12), round(float(interval.pmf(50)), 12)
    (31.791515995644, 0.371601714375)
    """

    participation_probability: float
    cutoff: float = math.inf

    def __post_init__(self) -> None:
        cutoff = check_cutoff(self.cutoff)
        never = "without a cutoff the interval of a client that never takes part has no end"
        p = check_probability(self.participation_probability, never=never if cutoff == math.inf else None)
        object.__setattr__(self, "participation_probability", p)
        object.__setattr__(self, "cutoff", cutoff)

    @property
    def _log_absent(self) -> float:
        """log(1 - p)."""
        p = self.participation_probability
        return math.log1p(-p) if p < 1.0 else -math.inf

    def _absent(self, rounds: np.ndarray) -> np.ndarray:
        """(1-p)^rounds. From p = 1/2 on 1 - p is exact, and its power too but for one rounding."""
        if self.participation_probability >= 0.5:
            return (1.0 - self.participation_probability) ** rounds
        return np.exp(rounds * self._log_absent)

    def support(self) -> tuple[int, float]:
        """Return (1, cutoff)."""
        return 1, self.cutoff

    def pmf(self, k: ArrayLike) -> np.ndarray:
        """Compute P(S = k); 0 where k is no integer from 1 to the cutoff, ValueError where it is nan."""
        k = _numbers(k)
        inside = (k >= 1) & (k <= self.cutoff) & (k == np.floor(k)) & np.isfinite(k)
        absent = self._absent(np.where(inside, k - 1.0, 0.0))
        return np.where(inside, np.where(k == self.cutoff, 1.0, self.participation_probability) * absent, 0.0)[()]

    def sf(self, k: ArrayLike) -> np.ndarray:
        """Compute P(S > k), which is (1-p)^floor(k) for 0 <= k < K."""
        whole = np.floor(_numbers(k))
        absent = self._absent(np.where(np.isfinite(whole), np.maximum(whole, 0.0), 0.0))
        return np.where(whole < 1, 1.0, np.where((whole >= self.cutoff) | (whole == math.inf), 0.0, absent))[()]

    def cdf(self, k: ArrayLike) -> np.ndarray:
        """Compute P(S <= k), which is 1 - (1-p)^floor(k) for 0 <= k < K."""
        whole = np.floor(_numbers(k))
        inner = np.where(np.isfinite(whole), np.maximum(whole, 1.0), 1.0)
        taken = -np.expm1(inner * self._log_absent)
        return np.where(whole < 1, 0.0, np.where((whole >= self.cutoff) | (whole == math.inf), 1.0, taken))[()]

    def ppf(self, probability: object) -> np.ndarray:
        """The smallest k with P(S <= k) >= probability; 0 at probability 0, as scipy has it.

        Raises:
            ValueError: a probability outside [0, 1].
        """
        u = np.asarray(probability, float)
        if not ((u >= 0) & (u <= 1)).all():
            raise ValueError(f"probability = {probability!r}: allowed is [0, 1]")
        if self.participation_probability in (0.0, 1.0):
            k = float(self.cutoff) if self.participation_probability == 0.0 else 1.0
            return np.where(u == 0, 0.0, k)[()]
        with np.errstate(divide="ignore"):
            k = np.clip(np.ceil(np.log1p(-u) / self._log_absent), 1.0, self.cutoff)
        # The quotient of logarithms is off by a few units in the last place: look one to each side.
        k = np.where((k > 1) & self._reaches_quantile(k - 1, u), k - 1, k)
        k = np.where((k < self.cutoff) & ~self._reaches_quantile(k, u), k + 1, k)
        # 1 is reached at the cutoff only, however early P(S > k) rounds to 0.
        return np.where(u == 0, 0.0, np.where(u == 1, float(self.cutoff), k))[()]

    def _reaches_quantile(self, k: np.ndarray, u: np.ndarray) -> np.ndarray:
        """P(S <= k) >= u, compared in the smaller tail: the other one is rounded to 1."""
        return np.where(u < 0.5, self.cdf(k) >= u, self.sf(k) <= 1.0 - u)

    def median(self) -> float:
        """The smallest k with P(S <= k) >= 1/2."""
        return float(self.ppf(0.5))

    def mean(self) -> float:
        """Compute E[S] = (1 - (1-p)^K) / p, the first half of (B.6.2).

        >>> CutoffGeometric(0.5, cutoff=2).mean(), CutoffGeometric(0.0, cutoff=7).mean()
        (1.5, 7.0)
        """
        p = self.participation_probability
        return float(self.cutoff) if p == 0.0 else -math.expm1(self.cutoff * self._log_absent) / p

    def var(self) -> float:
        """Var[S] = (1-p)/p^2 - (2K-1) (1-p)^K / p - (1-p)^{2K} / p^2, the second half of (B.6.2).

        >>> CutoffGeometric(0.5, cutoff=2).var(), CutoffGeometric(0.25).var()
        (0.25, 12.0)
        """
        return self._central_moments()[0]

    def std(self) -> float:
        """Compute sqrt(Var[S])."""
        return math.sqrt(self.var())

    def skewness(self) -> float:
        """Compute E[(S - E S)^3] / Var[S]^{3/2}.

        Raises:
            ValueError: S is constant.
        """
        second, third, _ = self._spread("skewness")
        return third / second / math.sqrt(second)

    def kurtosis(self) -> float:
        """Compute the excess kurtosis E[(S - E S)^4] / Var[S]^2 - 3.

        Raises:
            ValueError: S is constant.
        """
        second, _, fourth = self._spread("kurtosis")
        return fourth / second / second - 3.0

    def entropy(self) -> float:
        """Compute -sum_k P(S = k) log P(S = k), in nats: the entropy of one trial times the expected number of trials.

        The trials are E[min(S, K-1)] = (1 - (1-p)^{K-1}) / p: what happens in round K does not change S.
        """
        p = self.participation_probability
        if p in (0.0, 1.0) or self.cutoff == 1:
            return 0.0
        trial = -p * math.log(p) - (1.0 - p) * self._log_absent
        return trial * -math.expm1((self.cutoff - 1) * self._log_absent) / p

    def mgf(self, argument: float) -> float:
        """Compute E[exp(argument * S)]; infinite where the expectation is, or where it exceeds the largest float.

        With y = (1-p) e^argument it is p e^argument (1 - y^{K-1}) / (1 - y) + (1-p)^{K-1} e^{argument K}.

        Raises:
            ValueError: the argument is not finite.

        >>> CutoffGeometric(0.5, cutoff=2).mgf(0.0)
        1.0
        """
        if not math.isfinite(argument):
            raise ValueError(f"argument = {argument}: allowed is a finite number")
        p = self.participation_probability
        growth = self._log_absent + argument
        with np.errstate(over="ignore"):
            if self.cutoff == math.inf:
                return math.inf if growth >= 0.0 else float(p * np.exp(argument) / -np.expm1(growth))
            n = self.cutoff - 1
            before = 0.0 if p == 0.0 or n == 0 else p * _geometric_sum(argument, growth, n)
            at_cutoff = np.exp(argument + (n * growth if n else 0.0))
        return float(before + at_cutoff)

    def rvs(self, size: int | tuple[int, ...] = (), *, seed: int) -> np.ndarray:
        """Independent draws, int64, of the given size; a function of the seed."""
        rng = np.random.default_rng(checked_seed(seed))
        if self.participation_probability == 0.0:
            return np.full(size, self.cutoff, np.int64)[()]
        draws = rng.geometric(self.participation_probability, size)
        return draws if self.cutoff == math.inf else np.minimum(draws, self.cutoff)

    @classmethod
    def fit(cls, intervals: Sequence[int], cutoff: float = math.inf) -> CutoffGeometric:
        """The law of greatest likelihood, at a given cutoff.

        An interval below the cutoff is one success at the end of S trials; one at the cutoff is K-1 failures (whether
        the client took part in its last round, S does not tell). So p = successes / sum of min(S, K-1).

        Raises:
            ValueError: no interval, an interval that is no integer from 1 to the cutoff, or cutoff 1 (where S
                says nothing of p).

        >>> CutoffGeometric.fit([1, 2, 3, 3], cutoff=3).participation_probability  # 2 successes in 1 + 2 + 2 + 2
        0.2857142857142857
        """
        cutoff = check_cutoff(cutoff)
        lengths = np.asarray(intervals)
        if lengths.size == 0:
            raise ValueError("intervals is empty: allowed is at least one")
        if lengths.dtype.kind not in "iu" or lengths.min() < 1 or lengths.max() > cutoff:
            raise ValueError(f"intervals = {intervals!r}: allowed are integers from 1 to cutoff = {cutoff}")
        if cutoff == 1:
            raise ValueError("cutoff = 1: allowed is 2 or more, since all intervals are 1 whatever the probability")
        trials = int(np.minimum(lengths, cutoff - 1).sum()) if cutoff != math.inf else int(lengths.sum())
        return cls(int((lengths < cutoff).sum()) / trials, cutoff)

    def _spread(self, what: str) -> tuple[float, float, float]:
        moments = self._central_moments()
        if moments[0] == 0.0:
            raise ValueError(
                f"{what} of a constant: participation_probability = {self.participation_probability}, "
                f"cutoff = {self.cutoff}; allowed is an interval that varies"
            )
        return moments

    def _central_moments(self) -> tuple[float, float, float]:
        """E[(S - E S)^r] for r = 2, 3, 4.

        From factorial moments of whichever of two variables is not nearly constant, so that little cancels: Y = S - 1
        in general, or the deficit D = K - S if the cutoff comes before most participations do.
        """
        p = self.participation_probability
        if p <= 0.5 and p * self.cutoff <= 3.0:
            return _central([_deficit_moment(p, int(self.cutoff), r) for r in (1, 2, 3, 4)], sign=-1)
        odds = (1.0 - p) / p
        return _central([math.factorial(r) * odds**r * self._reaches(r) for r in (1, 2, 3, 4)], sign=1)

    def _reaches(self, successes: int) -> float:
        """P(Binomial(K-1, p) >= successes): E[Y (Y-1) ... (Y-r+1)] = r! ((1-p)/p)^r P(Binomial(K-1, p) >= r)."""
        if self.cutoff == math.inf:
            return 1.0
        left = self.cutoff - successes
        return float(scipy.special.betainc(successes, left, self.participation_probability)) if left >= 1 else 0.0


def _numbers(k: ArrayLike) -> np.ndarray:
    """An array of numbers.

    Raises:
        ValueError: an entry is nan.
    """
    array = np.asarray(k, float)
    if np.isnan(array).any():
        raise ValueError(f"k = {k!r}: allowed are numbers")
    return array


def _geometric_sum(first: float, growth: float, terms: float) -> float:
    """sum_{j < terms} e^{first + growth j}; infinite where it exceeds the largest float."""
    if growth == 0.0:
        return terms * np.exp(first)
    if growth > 0.0:  # counted from the last term, which is the largest: neither quotient is inf / inf
        return np.exp(first + (terms - 1) * growth) * (np.expm1(-terms * growth) / np.expm1(-growth))
    return np.exp(first) * (np.expm1(terms * growth) / np.expm1(growth))


def _deficit_moment(p: float, cutoff: int, order: int) -> float:
    """E[D (D-1) ... (D-order+1)] for D = K - S, as order! sum_i (-1)^i p^{i+1} C(K, i + order + 1).

    From P(D = d) = p (1-p)^{K-1-d}, d >= 1, the binomial theorem, and
    sum_d C(d, r) C(K-1-d, i) = C(K, i + r + 1). With p K <= 3 the terms fall off like 3^i / i!.
    """
    # p C(K, order + 1) order!, as a product that neither overflows nor cancels
    term = p / (order + 1)
    for j in range(order + 1):
        term *= cutoff - j
    total = term
    for i in range(60):
        term *= -p * (cutoff - order - 1 - i) / (order + 2 + i)
        total += term
        if abs(term) <= 1e-18 * abs(total):
            break
    return total


def _central(factorial_moments: Sequence[float], sign: int) -> tuple[float, float, float]:
    """Central moments of orders 2, 3, 4 of sign * X from the first four factorial moments of X."""
    f1, f2, f3, f4 = factorial_moments
    m2, m3, m4 = f2 + f1, f3 + 3 * f2 + f1, f4 + 6 * f3 + 7 * f2 + f1
    second = m2 - f1 * f1
    third = m3 - 3 * f1 * m2 + 2 * f1**3
    fourth = m4 - 4 * f1 * m3 + 6 * f1 * f1 * m2 - 3 * f1**4
    return second, sign * third, fourth
