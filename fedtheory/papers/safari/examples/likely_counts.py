"""Laws of functions of samples, in balls, for more samples than can be enumerated.

The likely counts are taken one by one, with a bound on the probability of all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpz

from ....claims.balls import ball, working_precision
from ....claims.balls import Undecided
from ....learning.finite_domains import FiniteClass
from ....learning.pooled_risk import (
    LARGEST_ENUMERATED,
    Source,
    atoms_of,
    counted,
    counted_tables,
    joint_tables,
    law_of,
    number_of_tables,
)
from ....learning.tails import LARGEST_EXACT, check_probability

DEVIATIONS = 16
"""A count of n samples is likely if it is within sqrt(16 n) of its mean: others have a probability of at most 2 e^-32,
by Hoeffding's inequality."""


@dataclass(frozen=True)
class LikelyLaw:
    """A law that is known up to a small probability.

    Attributes:
        values: increasing. probabilities: of each, a ball, without what is ``outside``.
        outside: at most so much probability is of other counts, whose values may be any.
    """

    values: tuple[Fraction, ...]
    probabilities: tuple[arb, ...]
    outside: arb

    def quantile(self, confidence: Any) -> Fraction:
        """Return the least value that is exceeded with probability at most ``confidence``, exactly.

        Raises:
            Undecided: it is not told by what is known of the law.

        >>> law = LikelyLaw((Fraction(0), Fraction(1)), (arb("0.9"), arb("0.1")), arb("1e-14"))
        >>> law.quantile("1/5"), law.quantile("1/20")
        (Fraction(0, 1), Fraction(1, 1))
        """
        above, delta = arb(0), ball(check_probability("confidence", confidence))
        for value, probability in zip(reversed(self.values), reversed(self.probabilities), strict=True):
            if above + probability > delta:  # so is every lower value exceeded, whatever lies outside
                if above + self.outside <= delta:
                    return value
                break
            above = above + probability
        raise Undecided(f"the quantile is not told by counts within sqrt({DEVIATIONS} n) of their means")


def tables_of(sources: Sequence[Source]) -> int:
    """Count the tables of counts that are gone through: all, or the likely ones of a source with many samples."""
    return math.prod(
        2 * _half(source[1]) + 1 if _windowed(source) else number_of_tables([source]) for source in sources
    )


def law(hypotheses: FiniteClass, sources: Sequence[Source], value: Callable[[list[np.ndarray]], Fraction]) -> Any:
    """Return the law of ``value``, a function of the errors of each hypothesis on each source's samples.

    It is exact, an ``ExcessLaw``, or a ``LikelyLaw`` where a source has more than ``LARGEST_EXACT`` samples of two (x,
    y).

    Raises:
        ValueError: there are more than ``LARGEST_ENUMERATED`` tables of counts to go through.
    """
    found: dict[Fraction, Any] = {}
    if not any(map(_windowed, sources)):
        scale, tables = counted_tables(hypotheses, sources)
        for errors, weight in tables:
            at = value(errors)
            found[at] = found.get(at, 0) + weight
        return law_of(found, scale)
    if (size := tables_of(sources)) > LARGEST_ENUMERATED:
        raise ValueError(f"{size} tables of counts: allowed is at most {LARGEST_ENUMERATED}")
    with working_precision():
        parts = [_weighed(source, hypotheses) for source in sources]
        balls: dict[tuple[int, int], arb] = {}  # by numerator and denominator, which are hashed faster than Fractions
        for errors, weight in joint_tables([rows for rows, _ in parts]):
            ratio = value(errors).as_integer_ratio()
            balls[ratio] = balls[ratio] + weight if ratio in balls else weight
        found = {Fraction(*ratio): weight for ratio, weight in balls.items()}
        values = tuple(sorted(found))
        outside: arb = sum((rest for _, rest in parts), arb(0))
        return LikelyLaw(values, tuple(found[v] for v in values), outside)


def _half(samples: int) -> int:
    return math.isqrt(DEVIATIONS * samples) + 1


def _windowed(source: Source) -> bool:
    """Whether only likely counts of a source are gone through: of two (x, y), and many samples."""
    law, n = source
    return int((law.joint > 0).sum()) == 2 and n > LARGEST_EXACT


def _weighed(source: Source, hypotheses: FiniteClass) -> tuple[list[tuple[np.ndarray, arb]], arb]:
    """(errors of each hypothesis, probability) of a source's tables of counts, and what others have at most."""
    (first, *others), errs = atoms_of(source[0], hypotheses)
    if not _windowed(source):
        scale = math.lcm(*(p.denominator for p in (first, *others)))
        rows = counted(([first, *others], errs), source[1], scale)
        return [(errors, ball(Fraction(weight, scale ** source[1]))) for errors, weight in rows], arb(0)
    n = source[1]
    return [(k * errs[0] + (n - k) * errs[1], weight) for k, weight in likely_counts(n, first)], 2 * arb(
        -2 * DEVIATIONS
    ).exp()


def likely_counts(trials: int, probability: Fraction) -> Iterator[tuple[int, arb]]:
    """Yield the counts k within sqrt(16 n) of n p, and P[X = k] for a binomial X of n trials with 0 < p < 1, as balls.

    The first probability is from log n!, the others by their ratios, all in balls.

    >>> counts = dict(likely_counts(4, Fraction(1, 2)))
    >>> [round(float(counts[k]), 12) for k in range(5)]
    [0.0625, 0.25, 0.375, 0.25, 0.0625]
    """
    n, p = trials, probability
    centre, half = round(n * p), _half(n)
    k, last = max(0, centre - half), min(n, centre + half)
    logs = [arb(fmpz(i + 1)).lgamma() for i in (n, k, n - k)]
    weight = (logs[0] - logs[1] - logs[2] + k * ball(p).log() + (n - k) * ball(1 - p).log()).exp()
    odds = p / (1 - p)
    while True:
        yield k, weight
        if k == last:
            return
        weight = weight * ((n - k) * odds.numerator) / ((k + 1) * odds.denominator)
        k += 1
