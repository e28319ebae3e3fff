"""Section III-B: where the printed step by Hoeffding's inequality between display (7) and its band breaks.

r is the probability with which each of n clients of a group answers, s = n r, s^ the estimate, t the rounds.
"""

from __future__ import annotations

import sympy

from ....proof.steps import Nonnegative, Step
from ....proof.symbol_regions import at_least, capped, count, interval, nonnegative, positive, region
from ....proof.write import nonnegative_step

n, s, hat, r, t = sympy.symbols("group_clients group_participation participation_estimate response_probability rounds")
epsilon, failure = sympy.symbols("relative_error failure_probability")
more_C, more_t, logarithm = sympy.symbols("C excess l")

ABOVE, BELOW = s - (1 - epsilon) * hat, (1 + epsilon) * hat - s
"""Slacks that are >= 0 where s/s^ is at least 1 - epsilon, and at most 1 + epsilon."""

_between, _of = "between (7) and the band", ("flics.eq7.e@main",)
_absolute = region(interval("participation_estimate", s - epsilon, s + epsilon),
                   at_least("group_participation", epsilon), nonnegative("relative_error"))  # fmt: skip
_error = epsilon * s / (1 + epsilon)
_within = region(interval("participation_estimate", s - _error, s + _error), nonnegative("relative_error"),
                 positive("group_participation"))  # fmt: skip

ALL = (
    nonnegative_step("flics.hoeffding.absolute", _between, "|s^ - s| <= epsilon, which Hoeffding's inequality bounds, "
                     "gives s/s^ <= 1 + epsilon", BELOW, _absolute, expected="gap",
                     why="it is an absolute error, not one relative to s",
                     repaired_by=("flics.hoeffding.relative",), of=_of),
    # (1 - r)^t >= 1 - t r: the induction, then what is claimed
    Step("flics.hoeffding.constant", _between, "some number of rounds, that does not depend on r, makes it at most "
         "beta that nobody has answered, which is at least 1 - t r", "probabilistic",
         (Nonnegative((1 - t * r) * (1 - r) - (1 - (t + 1) * r), (region(count("rounds"), interval(r.name)),)),
          Nonnegative(failure - (1 - t * r),
                      (region(count("rounds"), capped(r.name, sympy.Integer(1)),
                               capped("failure_probability", sympy.Integer(1))),))),
         "a client that answers rarely is silent for about 1/r rounds", "gap", repaired_by=("flics.hoeffding.rounds",),
         of=_of),
    Step("flics.hoeffding.relative", "repaired", "|s^ - s| <= epsilon s/(1 + epsilon) gives 1 - epsilon <= s/s^ <= "
         "1 + epsilon", "polynomial", (Nonnegative(BELOW, (_within,)), Nonnegative(ABOVE, (_within,))), printed=False),
    # with l = log(1/delta) and the excess of t over C l/epsilon^2, of C over 4/(n r^2)
    nonnegative_step("flics.hoeffding.rounds", "with a constant of the group", "t >= C l/epsilon^2 and C >= 4/(n r^2) "
                     "give 2 n t epsilon^2 r^2/(1 + epsilon)^2 >= 2 l for epsilon <= 1",
                     (2 * n * r**2 * (4 / (n * r**2) + more_C) * logarithm - 2 * logarithm * (1 + epsilon) ** 2
                      + 2 * n * r**2 * more_t).expand(),
                     region(nonnegative("C"), nonnegative("excess"), nonnegative("l"), positive("group_clients"),
                            nonnegative("response_probability"), interval("relative_error", 0, 1)),
                     printed=False),
)  # fmt: skip
"""The printed step in two halves, and what holds in their place; the kernel proves what follows."""
