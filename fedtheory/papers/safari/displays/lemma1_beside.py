"""Lemma 1 with the confidence beside the logarithm, as the works that it cites have it, for classes of dimension d.

A = d l_1/n + l/n with l = log(1/delta), l_1 = max(log(n/d), 1), n >= d samples. For a pair h, g of hypotheses the
sets are {h errs, g does not}, the same exchanged, and {h != g}; p^2 is the probability of one, q^2 its frequency among
n samples; S is how many labellings of 2n points the class has at most, and t^2 = 16 (2 log S + log(8/delta))/n.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import at_least, capped, nonnegative, region
from ....proof.steps import Identity, Step
from ....proof.write import given, nonnegative_step, same

A, c, d, delta, e, l, L, ln, m, n, nu, p, q, S, t, u, w, X = sympy.symbols("A c d delta e l L ln m n nu p q S t u w X")
one = sympy.Integer(1)
_WHERE = "(16), (17), beside"
_LOGS = region(at_least("d", one), at_least("ln", one), nonnegative("l"))
"""ln is l_1."""

PAIRS = (
    given("learn.pairs.shatter", _WHERE, "the sets of pairs are known from the labellings of both: of {h errs, g does "
          "not} and of {h != g} there are at most S^2 each on 2n points, S <= (e 2n/d)^d for 2n >= d (Sauer)",
          printed=False),
    given("learn.pairs.logs", _WHERE, "log(2 e n/d) = 1 + log 2 + log(n/d) is at most 17/10 + l_1, log 8 at most "
          "21/10, log 4 at most 14/10", printed=False),
    same("learn.pairs.union", _WHERE, "of 2 S^2 sets none fails either way, 2 2 2 S^2 e^(-n t^2/16) = delta, for n "
         "t^2/16 = log(8 S^2/delta)", [(2 * 2 * 2 * S**2 * delta / (8 * S**2), delta)], printed=False,
         kind="probabilistic", rests_on=("learn.vc.exponent", "learn.pairs.shatter")),
    nonnegative_step("learn.pairs.level", _WHERE, "2 d (17/10 + l_1) + 21/10 + l <= 8 (d l_1 + l) for d, l_1 >= 1: "
                     "t^2 <= 16 8 A",
                     8 * (d * ln + l) - (2 * d * (sympy.Rational(17, 10) + ln) + sympy.Rational(21, 10) + l), _LOGS,
                     printed=False, rests_on=("learn.pairs.logs", "learn.pairs.union")),
    # q^2 <= p^2 + t q, with u what is left; q^2 >= p^2 - t p
    Step("learn.pairs.frequency", _WHERE, "q^2 <= p^2 + t q gives q^2 <= 2 p^2 + t^2", "probabilistic",
         (Identity(2 * (q**2 - t * q + u) + t**2 - q**2, (q - t) ** 2 + 2 * u),), printed=False,
         rests_on=("learn.pairs.union",)),
    Step("learn.pairs.deficit", _WHERE, "q^2 >= p^2 - t p gives p^2/2 - q^2 <= t^2/2", "probabilistic",
         (Identity(t**2 / 2 - p**2 / 2 + p**2 - t * p + u, (p - t) ** 2 / 2 + u),), printed=False,
         rests_on=("learn.pairs.union",)),
    nonnegative_step("learn.pairs.root", _WHERE, "q <= p + t: beyond it, q^2 - t q - p^2 > 0; likewise p <= q + t",
                     q**2 - t * q - p**2, region(at_least("q", p + t), nonnegative("p"), nonnegative("t")),
                     printed=False, rests_on=("learn.pairs.union",)),
    # m^2 is the smaller of P(h != g) and its frequency, so that the other root is at most m + t
    nonnegative_step("learn.pairs.difference", _WHERE, "the risks' difference less that on samples is at most t (p + "
                     "q) of {h != g}, t (2 m + t): at most sqrt(m^2 x) + x for x = 4 t^2", 2 * t * m + 4 * t**2
                     - t * (2 * m + t), region(nonnegative("m"), nonnegative("t")), printed=False,
                     rests_on=("learn.pairs.root",)),
    nonnegative_step("learn.beside.17", "(17), beside", "t^2 <= 128 A <= c A for c >= 512", c * A - 128 * A,
                     region(at_least("c", sympy.Integer(512)), nonnegative("A")), printed=False,
                     rests_on=("learn.pairs.level", "learn.pairs.frequency")),
    nonnegative_step("learn.beside.17_below", "(17), beside", "t^2/2 <= 64 A <= c A for c >= 512", c * A - 64 * A,
                     region(at_least("c", sympy.Integer(512)), nonnegative("A")), printed=False,
                     rests_on=("learn.pairs.level", "learn.pairs.deficit")),
    nonnegative_step("learn.beside.16", "(16), beside", "4 t^2 <= 512 A <= c A for c >= 512", c * A - 512 * A,
                     region(at_least("c", sympy.Integer(512)), nonnegative("A")), printed=False,
                     rests_on=("learn.pairs.level", "learn.pairs.difference")),
    # w = A^r, X = (640 alpha_Q)^r, r = 1/(2 - beta_Q)
    nonnegative_step("learn.beside.level", "(18), beside", "d (17/10 + l_1) + 14/10 + l <= 5 (d l_1 + l): L <= 5 A",
                     5 * (d * ln + l) - (d * (sympy.Rational(17, 10) + ln) + sympy.Rational(14, 10) + l), _LOGS,
                     printed=False, rests_on=("learn.pairs.logs",)),
    nonnegative_step("learn.beside.18", "(18), beside", "(128 alpha_Q L)^r + 32 L <= (640 alpha_Q)^r w + 160 A <= c w "
                     "for A <= 1, c >= 640 alpha_Q + 161", c * w - (X * w + 160 * A),
                     *(region(at_least("c", 640 * nu + 161), capped("X", most), at_least("w", A), nonnegative("nu"),
                              nonnegative("A")) for most in (one, 640 * nu)),
                     printed=False, rests_on=("learn.vc.excess", "learn.beside.level", "learn.root_between")),
    nonnegative_step("learn.beside.large", "(18), beside", "for A >= 1 an excess risk, at most 1, is at most c w",
                     c * w - e, region(at_least("c", one), at_least("w", one), capped("e", one)), printed=False,
                     rests_on=("learn.beside.18",)),
)  # fmt: skip
