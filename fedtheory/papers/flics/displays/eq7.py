"""Section III-B: the step by Hoeffding's inequality between display (7) and its band.

r is the probability with which each of n clients of a group answers, s = n r, s^ the estimate, t the rounds.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import Region, at_least, capped, count, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same

n, p, s, hat, r, t = sympy.symbols(
    "group_clients group_weight group_participation participation_estimate response_probability rounds"
)
epsilon, failure = sympy.symbols("relative_error failure_probability")
h, y, x, N, step, a, b, k, tau = sympy.symbols("h y deviation number step a b k tau")

ABOVE, BELOW = s - (1 - epsilon) * hat, (1 + epsilon) * hat - s
"""Slacks that are >= 0 where s/s^ is at least 1 - epsilon, and at most 1 + epsilon."""

MODEL = (
    given("flics.eq7.independent", "before (7)", "the n clients of a group answer independently, each with probability "
          "r, in every round"),
)  # fmt: skip

# The step by Hoeffding's inequality -----------------------------------------------------------------------------------

_between = "between (7) and the band"
_absolute = region(interval("participation_estimate", s - epsilon, s + epsilon),
                   at_least("group_participation", epsilon), nonnegative("relative_error"))  # fmt: skip

PRINTED = (
    nonnegative_step("flics.hoeffding.absolute", _between, "|s^ - s| <= epsilon, which Hoeffding's inequality bounds, "
                     "gives s/s^ <= 1 + epsilon", BELOW, _absolute, expected="gap",
                     why="it is an absolute error, not one relative to s",
                     repaired_by=("flics.hoeffding.relative",)),
    # (1 - r)^t >= 1 - t r: the induction, then what is claimed
    Step("flics.hoeffding.constant", _between, "some number of rounds, that does not depend on r, makes it at most "
         "beta that nobody has answered, which is at least 1 - t r", "probabilistic",
         (Nonnegative((1 - t * r) * (1 - r) - (1 - (t + 1) * r), (region(count("rounds"), interval(r.name)),)),
          Nonnegative(failure - (1 - t * r),
                      (region(count("rounds"), capped(r.name, sympy.Integer(1)),
                               capped("failure_probability", sympy.Integer(1))),))),
         "a client that answers rarely is silent for about 1/r rounds", "gap", repaired_by=("flics.hoeffding.rounds",)),
)  # fmt: skip

_of_the_group = "with a constant of the group"
least, more_C, more_t, logarithm = sympy.symbols("least C excess l")
small = sympy.Symbol("delta", positive=True)
_error = epsilon * s / (1 + epsilon)
_within = region(interval("participation_estimate", s - _error, s + _error), nonnegative("relative_error"),
                 positive("group_participation"))  # fmt: skip
_slope = r * y / (1 - r + r * y) - r  # y = exp(h)
_second = a * b / (a + b) ** 2  # a = 1 - r, b = r y


def _ordered(larger: str, smaller: sympy.Symbol) -> Region:
    return region(at_least(larger, smaller), positive(smaller.name))


HOEFFDING = (
    given("flics.hoeffding.markov", "repaired", "P(X >= x) <= E exp(h (X - x)) for h >= 0, and exp(h X) of independent "
          "sums is a product (Markov)", printed=False),
    given("flics.hoeffding.taylor", "repaired", "f(h) = f(0) + f'(0) h + the integral of (h - tau) f''(tau) over 0 <= "
          "tau <= h (Taylor), here for log E exp(h (B - r)) = log(1 - r + r exp(h)) - r h", printed=False),
    # one answer B: derivatives by h, with y = exp(h)
    Step("flics.hoeffding.one_answer", "repaired", "log E exp(h (B - r)) <= h^2/8: the second derivative is at most "
         "1/4", "analytic",
         (Identity(y * sympy.diff(sympy.log(1 - r + r * y), y) - r, _slope), Identity(_slope.subs(y, 1)),
          Identity(y * sympy.diff(_slope, y), _second.subs({a: 1 - r, b: r * y}, simultaneous=True)),
          Nonnegative(sympy.Rational(1, 4) - _second, (_ordered("a", b), _ordered("b", a))),
          Identity(sympy.integrate((h - tau) / 4, (tau, 0, h)), h**2 / 8)), printed=False,
         rests_on=("flics.hoeffding.taylor",)),
    same("flics.hoeffding.sum", "repaired", "N answers deviate upwards by N x with probability at most exp(-2 N x^2): "
         "h = 4 x", [(N * h**2 / 8 + h**2 / 8, (N + 1) * h**2 / 8),
                     ((N * h**2 / 8 - h * N * x).subs(h, 4 * x), -2 * N * x**2)], kind="induction", printed=False,
         rests_on=("flics.hoeffding.one_answer", "flics.hoeffding.markov", "flics.eq7.independent")),
    same("flics.hoeffding.downwards", "repaired", "downwards too: 1 - B has the mean 1 - r",
         [(-(step - r), (1 - step) - (1 - r))], kind="probabilistic", printed=False, rests_on=("flics.hoeffding.sum",)),
    Step("flics.hoeffding.relative", "repaired", "|s^ - s| <= epsilon s/(1 + epsilon) gives 1 - epsilon <= s/s^ <= "
         "1 + epsilon", "polynomial", (Nonnegative(BELOW, (_within,)), Nonnegative(ABOVE, (_within,))), printed=False),
    same("flics.hoeffding.both", "repaired", "both deviations of n t answers by x = epsilon r/(1 + epsilon) each",
         [(-2 * (n * t) * (_error / n).subs(s, n * r) ** 2, -2 * n * t * epsilon**2 * r**2 / (1 + epsilon) ** 2)],
         kind="probabilistic", printed=False,
         rests_on=("flics.hoeffding.sum", "flics.hoeffding.downwards", "flics.hoeffding.relative")),
    # with l = log(1/delta) and the excess of t over C l/epsilon^2, of C over 4/(n r^2)
    nonnegative_step("flics.hoeffding.rounds", _of_the_group, "t >= C l/epsilon^2 and C >= 4/(n r^2) give 2 n t "
                     "epsilon^2 r^2/(1 + epsilon)^2 >= 2 l for epsilon <= 1",
                     (2 * n * r**2 * (least + more_C) * logarithm - 2 * logarithm * (1 + epsilon) ** 2
                      + 2 * n * r**2 * more_t).subs(least, 4 / (n * r**2)).expand(),
                     region(nonnegative("C"), nonnegative("excess"), nonnegative("l"), positive("group_clients"),
                            nonnegative("response_probability"), interval("relative_error", 0, 1)),
                     printed=False),
    Step("flics.hoeffding.enough", _of_the_group, "2 exp(-2 l) = 2 delta^2 <= delta for l = log(1/delta), delta <= 1/2",
         "analytic",
         (Identity(2 * sympy.exp(-2 * sympy.log(1 / small)), 2 * small**2),
          Nonnegative(failure - 2 * failure**2,
                      (region(interval("failure_probability", 0, sympy.Rational(1, 2))),))), printed=False,
         rests_on=("flics.hoeffding.both", "flics.hoeffding.rounds", "flics.hoeffding.absolute",
                   "flics.hoeffding.constant")),
)  # fmt: skip

ALL = (*MODEL, *PRINTED, *HOEFFDING)
