"""The displays (B.6.1) to (B.6.6): the law, the mean and the variance of a participation interval.

a = q^K and b = q^k are numbers of their own, whose derivatives in p are -K a/q and -k b/q.
"""

from __future__ import annotations

import sympy

from ....assumptions import INDEPENDENT_PARTICIPATION
from ....proof.symbol_regions import capped, region
from ....proof.steps import Identity, Step
from ....proof.write import given, nonnegative_step, same
from .symbols import K, one, p, q

a, b, k, mass, here, there = sympy.symbols("a b k mass here there")


def _tail(power: int) -> sympy.Expr:
    """q^(K + power)."""
    return a * q**power


def _slope(expression: sympy.Expr) -> sympy.Expr:
    """The derivative in p."""
    return sympy.diff(expression, p) - K * a / q * sympy.diff(expression, a) - k * b / q * sympy.diff(expression, b)


MEAN = (1 - a) / p
_last = K * _tail(-1)
_sum = q * (_tail(-1) - 1) / p  # minus the sum of q^k over k < K
_sum_4 = (a - 1 + p) / p
_sum_5 = a / p - 1 / p + 1
_slope_6 = -(K * _tail(-1) * p + a) / p**2 + 1 / p**2

_last_4 = K * (K - 1) * _tail(-1)
_inner = (1 - _tail(-1)) / p  # the sum of q^(k-1) over k < K
_inner_6 = ((K - 1) * _tail(-2) * p - 1 + _tail(-1)) / p**2
_outer_7 = (K - 1) * a / p + _tail(1) / p**2 - q**2 / p**2
_line_8 = (
    p * (-(K * (K - 1) * _tail(-1) * p + (K - 1) * a) / p**2 - ((K + 1) * a * p**2 + 2 * _tail(1) * p) / p**4
         + (2 * q * p**2 + 2 * q**2 * p) / p**4) + _last_4
)  # fmt: skip
_line_9 = -(K - 1) * a / p - (K + 1) * a / p - 2 * _tail(1) / p**2 + 2 * q / p**2
_line_10 = -2 * K * a / p - 2 * q * a / p**2 + 2 * q / p**2
_line_11 = -2 * K * a / p - 2 * a / p**2 + 2 * a / p**2 + 2 * q / p**2
_line_12 = -2 * (K - 1) * a / p - 2 * a / p**2 + 2 * a / p**2 + 2 * q / p**2
_right = -2 * (K - 1) * a / p - 2 * a / p**2 + 2 * q / p**2
SQUARE = -(2 * K - 1) * a / p - 2 * a / p**2 + (2 - p) / p**2
VARIANCE = q / p**2 - (2 * K - 1) * a / p - a**2 / p**2


_open_chance = region(capped("participation_probability", one))


def _for_two(expression: sympy.Expr) -> sympy.Expr:
    """Insert K = 2."""
    return expression.subs({K: 2, a: q**2})


def _next(expression: sympy.Expr) -> sympy.Expr:
    """Insert K + 1 for K."""
    return expression.subs({K: K + 1, a: a * q}, simultaneous=True)


LAW = (
    given("fedau.law", "(B.6.1), Assumption 4, Algorithm 2", "a client takes part in every round with probability p, "
          "whatever the other rounds were; an interval ends when it does, or after K rounds: the lengths S_1, S_2, ... "
          "are independent, each with P(S > k) = q^k for k < K and P(S > K) = 0", assumes=(INDEPENDENT_PARTICIPATION,)),
    same("fedau.B.6.1_mass", "(B.6.1)", "P(S = k) = q^(k-1) - q^k = p q^(k-1) for k < K, and q^(K-1) for k = K",
         [(b / q - b, p * b / q)], rests_on=("fedau.law",), kind="probabilistic"),
    Step("fedau.B.6.1_sum", "Lemma B.6.1", "the probabilities add up to 1, by induction over K: for K = 2, p + q = 1; "
         "the mass at K is then split between K and K + 1", "induction",
         (Identity(p + q, one), Identity(p * mass + q * mass, mass)), rests_on=("fedau.B.6.1_mass",)),
    # the mass q^(K-1) at K becomes p q^(K-1) there and q^K at K + 1; here, there: the values of g at K and K + 1
    same("fedau.law_next", "Lemma B.6.1", "from K to K + 1 the expectation of g(S) grows by q^K (g(K+1) - g(K))",
         [(here * (p * _tail(-1) - _tail(-1)) + there * a, a * (there - here))], printed=False, kind="probabilistic",
         rests_on=("fedau.B.6.1_sum",)),
)  # fmt: skip

FIRST_MOMENT = (
    Step("fedau.B.6.3", "(B.6.3), (B.6.2)", "its lines: k q^(k-1) = -(q^k)', the geometric sum, and the derivative of "
         "the rest",
         "identity",
         (Identity(-_slope(b), k * b / q), Identity(_next(-_sum) + _sum, a), Identity(_sum.subs({K: 1, a: q})),
          Identity(_sum, _sum_4), Identity(_sum_4, _sum_5), Identity(_slope(_sum_5), _slope_6),
          Identity(p * _slope_6 + _last, 1 / p - a / p)), rests_on=("fedau.B.6.1_mass",)),
    Step("fedau.mean", "(B.6.2)", "E S = (1 - q^K)/p, by induction over K from S = 1 for K = 1", "induction",
         (Identity(MEAN.subs(a, q), one), Identity(_next(MEAN) - MEAN, a)), printed=False,
         rests_on=("fedau.law_next",)),
)  # fmt: skip

SECOND_MOMENT = (
    Step("fedau.B.6.4", "(B.6.4), to its eighth line", "k(k-1) q^(k-1) = -((k-1) q^k)' and (k-1) q^(k-2) = "
         "-(q^(k-1))', the geometric sum, and the derivatives", "identity",
         (Identity(-_slope((k - 1) * b), k * (k - 1) * b / q), Identity(-_slope(b / q), (k - 1) * b / q**2),
          Identity(_next(_inner) - _inner, _tail(-1)), Identity(_inner.subs({K: 1, a: q})),
          Identity(_slope(_inner), _inner_6), Identity(q**2 * _inner_6, _outer_7),
          Identity(p * _slope(_outer_7) + _last_4, _line_8), Identity(_line_8, _line_9),
          Identity(_line_9, _line_10)), rests_on=("fedau.B.6.1_mass",)),
    nonnegative_step("fedau.B.6.4_next", "(B.6.4), the last line but one", "E S(S - 1) = -2K q^K/p - 2 q^K/p^2 + 2 "
                     "q^K/p^2 + 2q/p^2, as the text at hand has it, for K = 2", _for_two(_line_10 - _line_11),
                     _open_chance, expected="gap", why="q q^K = q^K - p q^K, so the third term is 2 q^K/p",
                     repaired_by=("fedau.B.6.4_right",)),
    nonnegative_step("fedau.B.6.4_last", "(B.6.4), its last line", "E S(S - 1) = -2(K-1) q^K/p - 2 q^K/p^2 + 2 q^K/p^2 "
                     "+ 2q/p^2, as the text at hand has it, for K = 2", _for_two(_line_10 - _line_12), _open_chance,
                     expected="gap", why="the third term is in the first one already",
                     repaired_by=("fedau.B.6.4_right",)),
    same("fedau.B.6.4_right", "(B.6.4)", "E S(S - 1) = -2(K-1) q^K/p - 2 q^K/p^2 + 2q/p^2, what (B.6.5) uses",
         [(_line_10, _right)], printed=False, rests_on=("fedau.B.6.4",)),
    same("fedau.B.6.5", "(B.6.5)", "E S^2 = E S(S - 1) + E S", [(_right + MEAN, SQUARE)],
         rests_on=("fedau.B.6.3", "fedau.B.6.4_next", "fedau.B.6.4_last")),
    same("fedau.B.6.6", "(B.6.6), (B.6.2)", "Var S = E S^2 - (E S)^2", [(SQUARE - MEAN**2, VARIANCE)],
         rests_on=("fedau.B.6.5", "fedau.B.6.3")),
    Step("fedau.square", "(B.6.2)", "E S^2 by induction over K, as (K+1)^2 - K^2 = 2K + 1", "induction",
         (Identity(SQUARE.subs({K: 1, a: q}), one), Identity(_next(SQUARE) - SQUARE, a * (2 * K + 1))), printed=False,
         rests_on=("fedau.law_next",)),
    same("fedau.variance", "(B.6.2)", "and the variance from it", [(SQUARE - MEAN**2, VARIANCE)], printed=False,
         rests_on=("fedau.square", "fedau.mean")),
)  # fmt: skip

ALL = (*LAW, *FIRST_MOMENT, *SECOND_MOMENT)
