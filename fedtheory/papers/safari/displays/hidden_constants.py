"""Section 3: the way from bounds with every constant to those of an O(.) whose constant may depend on the problem.

r = 1/(2 - noise exponent), w = a^r and v = a^(beta r) are at most 1; g = 8 alpha_Q + 2, G = g^beta; c is the constant
that the O(.) hides.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import at_least, capped, nonnegative, positive, region
from ....proof.write import given, nonnegative_step

a, alpha, c, e_0, g, G, nu, v, w, X = sympy.symbols("a alpha c e_0 g G nu v w X")

one = sympy.Integer(1)
_two_thirds = sympy.Rational(2, 3)


def _between(name: str, factor: int, says: str, claimed: sympy.Expr):
    """X = (factor nu)^r is at most 1 or at most factor nu."""
    rest = (at_least("w", a), nonnegative("nu"), nonnegative("a"))
    return nonnegative_step(
        name,
        "with a constant",
        says,
        claimed - (X * w + _two_thirds * a),
        region(capped("X", one), *rest),
        region(capped("X", factor * nu), *rest),
        printed=False,
        rests_on=("learn.root_between",),
    )


HIDDEN = (
    given("learn.root_between", "with a constant", "x^r is between x and 1 for r from 1/2 to 1; (x y)^r = x^r y^r",
          printed=False),
    _between("learn.hidden.source", 8, "(8 alpha_Q a)^r + 2a/3 <= (8 alpha_Q + 2) a^r for a <= 1", (8 * nu + 2) * w),
    nonnegative_step("learn.hidden.2", "Theorem 2, with a constant", "so e_P <= g w + alpha G v, which is at most "
                     "c (w + v) for c >= (1 + alpha) g G", c * (w + v) - (g * w + alpha * G * v),
                     region(at_least("c", (1 + alpha) * g * G), at_least("g", one), at_least("G", one),
                            nonnegative("alpha"), nonnegative("w"), nonnegative("v")), printed=False,
                     rests_on=("learn.general.2", "learn.hidden.source")),
    _between("learn.hidden.rate", 16, "(16 alpha_P a)^r + 2a/3 <= (16 alpha_P + 2) a^r for a <= 1",
             (16 * nu + 2) * w),
    nonnegative_step("learn.hidden.3", "Theorem 3, with a constant", "so e_P <= (16 alpha_P + 2) w + 2 e_0, which is "
                     "at most c w for e_0 <= a <= w, c >= 16 alpha_P + 5", c * w - ((16 * nu + 2) * w + 2 * e_0),
                     region(at_least("c", 16 * nu + 5), nonnegative("nu"), capped("e_0", w), positive("w")),
                     printed=False, rests_on=("learn.general.3", "learn.hidden.rate")),
)  # fmt: skip
