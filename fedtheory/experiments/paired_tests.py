"""Tests of paired differences: which signs and sizes seeds decide, with a correction for many tests, and what they can
see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import fmean, stdev

LEVEL = 0.05
"""Probability at most of any wrong sign in a family of tests, and of any interval that misses."""

LEAST_SEEDS = 5
"""Seeds before a test decides anything."""

POWER = 0.9
"""Probability with which a difference as large as the resolution is seen."""


@dataclass(frozen=True)
class Differences:
    """Differences of two settings, one for each seed; they are taken as independent and normal.

    >>> found = Differences((1.0, 2.0, 3.0, 2.5, 1.5))
    >>> found.mean, round(found.error, 3), round(found.p_above(0), 4)
    (2.0, 0.354, 0.0024)
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean difference; NaN of none."""
        return fmean(self.values) if self.values else math.nan

    @cached_property
    def error(self) -> float:
        """Standard error of the mean, s / sqrt n; NaN of fewer than two seeds or of numbers that are not finite."""
        n = len(self.values)
        return stdev(self.values) / math.sqrt(n) if n > 1 and all(map(math.isfinite, self.values)) else math.nan

    @property
    def decides(self) -> bool:
        """Whether there are seeds enough, and all numbers are finite."""
        return len(self.values) >= LEAST_SEEDS and math.isfinite(self.error)

    def p_above(self, bound: float) -> float:
        """p-value of "the mean is at most ``bound``": Student's, P(T >= (mean - bound) / error), n - 1 degrees."""
        from scipy.stats import t as student

        if bound == -math.inf:
            return 0.0
        if bound == math.inf:
            return 1.0
        if self.error == 0:
            return 0.0 if self.mean > bound else 1.0
        return float(student.sf((self.mean - bound) / self.error, len(self.values) - 1))

    def p_below(self, bound: float) -> float:
        """p-value of "the mean is at least ``bound``"."""
        return Differences(tuple(-value for value in self.values)).p_above(-bound)

    def half_width(self, tests: int = 1) -> float:
        """Half the width of the interval of the mean; of ``tests`` such, all hold with probability 1 - ``LEVEL``
        (Bonferroni)."""
        from scipy.stats import t as student

        return float(student.isf(LEVEL / (2 * tests), len(self.values) - 1)) * self.error if self.error > 0 else 0.0

    def resolution(self, tests: int = 1) -> float:
        """Least difference whose sign these seeds see with probability ``POWER`` among ``tests``, were the deviation
        of the differences the one that is seen.

        The test at level a = LEVEL / (2 tests), one-sided, sees d with the probability that a noncentral t of
        noncentrality d / error exceeds t's quantile.
        """
        if not self.decides or self.error == 0:
            return 0.0 if self.error == 0 else math.nan
        return errors_seen(len(self.values), tests) * self.error

    def seeds_for(self, size: float, tests: int = 1) -> float:
        """Least number of seeds whose resolution is at most ``size`` > 0, were the deviation the one that is seen.

        It is infinite if ``size`` is 0, and NaN where these seeds decide nothing.

        >>> of = Differences((1.0, 2.0, 3.0, 2.5, 1.5))
        >>> round(of.resolution(), 3), of.seeds_for(1.8), of.seeds_for(0.9)
        (1.554, 5, 11)
        """
        from scipy.stats import norm

        if not self.decides:
            return math.nan
        deviation = self.error * math.sqrt(len(self.values))
        if deviation == 0:
            return LEAST_SEEDS
        if size == 0:
            return math.inf
        known = float(norm.isf(LEVEL / (2 * tests)) + norm.isf(1 - POWER)) * deviation / size  # were it known
        n = max(LEAST_SEEDS, math.floor(known**2))
        while errors_seen(n, tests) * deviation > size * math.sqrt(n):
            n += 1
        return n


@lru_cache(maxsize=4096)
def errors_seen(seeds: int, tests: int) -> float:
    """Compute the resolution of so many seeds among ``tests``, in standard errors of the mean."""
    from scipy.optimize import brentq
    from scipy.stats import nct
    from scipy.stats import t as student

    edge = float(student.isf(LEVEL / (2 * tests), seeds - 1))
    return float(brentq(lambda shift: nct.sf(edge, seeds - 1, shift) - POWER, 0.0, 40 * edge, xtol=1e-6))


@dataclass(frozen=True)
class Wanted:
    """A statement on a mean difference: that it lies in [least, most].

    Attributes:
        differences: ours.
        least, most: the ends.
        printed: the difference that is printed in their place; NaN where none is.
    """

    differences: Differences
    least: float = -math.inf
    most: float = math.inf
    printed: float = math.nan

    @property
    def margin(self) -> float:
        """Distance from the printed difference to the nearest end."""
        return min(abs(self.printed - end) for end in (self.least, self.most))

    @property
    def p_holds(self) -> float:
        """p-value of "it does not": both ends have to be refuted."""
        return max(self.differences.p_above(self.least), self.differences.p_below(self.most))

    @property
    def p_fails(self) -> float:
        """p-value of "it does": one end has to be exceeded, with a correction where there are two."""
        ends = [
            p
            for end, p in (
                (self.least, self.differences.p_below(self.least)),
                (self.most, self.differences.p_above(self.most)),
            )
            if math.isfinite(end)
        ]
        return min([1.0, *(p * len(ends) for p in ends)])


def decided(family: Sequence[Wanted]) -> list[str]:
    """Say of each statement of a family whether it ``holds``, ``fails`` or is ``open``.

    Each statement has two hypotheses, that it holds and that it does not. Holm's procedure over all of them: the
    smallest of k p-values is compared with LEVEL / k, the next with LEVEL / (k - 1), until one is above. The
    probability of any wrong word is at most ``LEVEL``, however the tests depend on each other (S. Holm, A simple
    sequentially rejective multiple test procedure, 1979). Statements with fewer than ``LEAST_SEEDS`` seeds are open,
    and are no tests.

    >>> decided([Wanted(Differences((1.0, 1.1, 0.9, 1.0, 1.2)), least=0.0), Wanted(Differences((1.0, 2.0)), least=0.0)])
    ['holds', 'open']
    """
    found = ["open"] * len(family)
    tests = sorted(
        (p, place, word)
        for place, each in enumerate(family)
        if each.differences.decides
        for word, p in (("holds", each.p_holds), ("fails", each.p_fails))
    )
    for rank, (p, place, word) in enumerate(tests):
        if p > LEVEL / (len(tests) - rank):
            break
        found[place] = word
    return found
