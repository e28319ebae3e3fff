"""The displays of appendices B.6 and B.7 that do not hold: lines of (B.6.4) and (B.6.8), and the constant of (B.7.1).

q = 1 - p and a = q^K. Of weights omega, each the mean of the intervals that have ended, all but the last line of
(B.6.8) fail in rounds t < K.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import at_least, capped, count, equal, interval, positive, region
from ....proof.write import nonnegative_step

p, K = sympy.symbols("participation_probability cutoff")
a, log_T, log_2, number, constant, R = sympy.symbols("a log_T log_2 number constant R")
q, half = 1 - p, sympy.Rational(1, 2)

_open_chance = region(capped("participation_probability", sympy.Integer(1)))
_chance = region(interval("participation_probability"))
_VARIANCE = tuple(f"fedau.lemmaB_6_1.{part}@main" for part in ("variance", "variance_below"))
_LINES = tuple(f"fedau.eqB_6_8.{line}@main" for line in ("a", "b", "b_next"))
_COROLLARY = ("fedau.lemmaB_7_1@main", "fedau.cor4@main")


def _for_two(expression: sympy.Expr) -> sympy.Expr:
    """Insert K = 2."""
    return expression.subs({K: 2, a: q**2})


MEAN = (1 - a) / p
SPREAD = q - (2 * K - 1) * p * a - a**2
"""E S and p^2 Var S of an interval S."""
_falling = -2 * (K - 1) * a / p - 2 * a / p**2 + 2 * q / p**2
"""E S(S - 1)."""
_line_11 = -2 * K * a / p - 2 * a / p**2 + 2 * a / p**2 + 2 * q / p**2
_line_12 = -2 * (K - 1) * a / p - 2 * a / p**2 + 2 * a / p**2 + 2 * q / p**2

INTERVAL = (
    nonnegative_step("fedau.B.6.4_next", "(B.6.4), the last line but one", "E S(S - 1) = -2K q^K/p - 2 q^K/p^2 + 2 "
                     "q^K/p^2 + 2q/p^2, as the text at hand has it, for K = 2", _for_two(_falling - _line_11),
                     _open_chance, expected="gap", why="q q^K = q^K - p q^K, so the third term is 2 q^K/p",
                     repaired_by=("fedau.falling_moment",), of=_VARIANCE),
    nonnegative_step("fedau.B.6.4_last", "(B.6.4), its last line", "E S(S - 1) = -2(K-1) q^K/p - 2 q^K/p^2 + 2 q^K/p^2 "
                     "+ 2q/p^2, as the text at hand has it, for K = 2", _for_two(_falling - _line_12), _open_chance,
                     expected="gap", why="the third term is in the first one already",
                     repaired_by=("fedau.falling_moment",), of=_VARIANCE),
)  # fmt: skip

# K = 2, t = 1: whoever came has omega = 1, with the error q^2; so has who did not
LINES = (
    nonnegative_step("fedau.B.6.8_a", "(B.6.8), (a)", "the mean of omega_t is E S in every round in which an interval "
                     "has ended, so that the error is p^2 E(omega - E S)^2 + q^(2K); for K = 2, t = 1: q^2 <= p^2 q^2 "
                     "+ q^4",
                     _for_two(p**2 * (1 - MEAN) ** 2 + a**2) - q**2, _chance, expected="gap",
                     why="an interval that has ended within t < K rounds is one of at most t",
                     repaired_by=("fedau.late_a",), of=_LINES),
    nonnegative_step("fedau.B.6.8_b", "(B.6.8), (b)", "the error is at most p^2 Var S/max(floor(t/K), 1) + q^(2K); for "
                     "K = 2, t = 1: q^2 <= p^2 Var S + q^4", _for_two(SPREAD + a**2) - q**2, _chance,
                     expected="gap", why="the mean of at least floor(t/K) intervals, but of short ones",
                     repaired_by=("fedau.late_b",), of=_LINES[1:]),
    nonnegative_step("fedau.B.6.8_b_next", "(B.6.8), after (b)", "the error is at most p^2 2K Var S/t + q^(2K); for K "
                     "= 2, t = 1: q^2 <= 4 p^2 Var S + q^4", _for_two(2 * K * SPREAD + a**2) - q**2, _chance,
                     expected="gap", repaired_by=("fedau.late_b_next",), of=_LINES[2:]),
)  # fmt: skip

# number plays R log T, so that K <= number + 1
CUTOFF = (
    nonnegative_step("fedau.B.7.1_uniform", "after (B.7.2)", "R log^2 T/T + log^2 T/T is O(R log^2 T/T), with one "
                     "constant for all p, so that constant R >= 1 for every R", constant * R - 1,
                     region(equal("R", half / constant), positive("constant")), expected="gap",
                     why="R tends to 0 as p tends to 1; with a constant that depends on p it holds",
                     repaired_by=("fedau.B.7.1_many",), of=_COROLLARY),
    nonnegative_step("fedau.B.7.1_many", "(B.7.1)", "for K >= 2, R log T > 1 and K <= R log T + 1: 3K + 2K log T + 1 "
                     "<= (4 + 7/log 2) R log^2 T", (4 + 7 / log_2) * number * log_T - (3 * K + 2 * K * log_T + 1),
                     region(capped("cutoff", number + 1), at_least("number", sympy.Integer(1)),
                            at_least("log_T", log_2), at_least("log_2", half), count("rounds")), printed=False),
)  # fmt: skip

ALL = (*INTERVAL, *LINES, *CUTOFF)
