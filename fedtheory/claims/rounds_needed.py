"""The least number of rounds at which a right side is small enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import sympy
from flint import arb, ctx

from ..quantities import symbol
from .balls import ball, fold
from .ranges import Allowed, with_exact_ends
from .subdivision import pieces

ROUNDS = symbol("rounds")
_MOST_PRECISION = 2**18


def least_rounds(
    right: sympy.Expr, values: Mapping[str, Fraction], within: Allowed, target: Fraction, name: str
) -> int:
    """Return the least number of rounds R, within those allowed, with right(R) <= target; exact to the integer.

    A rational right side, or one with roots, is solved for all R at once. One that is shown to fall (by the sign of
    each term's derivative, or by solving right(R) >= right(R + 1)) is bisected, each comparison being made in balls
    that grow in precision until they decide. For any other, such as log(R)/R, balls show block by block that no
    smaller number of rounds is enough.

    Raises:
        ValueError: no number of rounds is enough, or the right side cannot be told from ``target``.

    >>> from fedtheory.claims.ranges import solution_set
    >>> every = solution_set(sympy.Integer(1), "rounds", {})
    >>> least_rounds(sympy.log(ROUNDS) / ROUNDS + 1 / ROUNDS, {}, every, Fraction(1, 100), "the example")
    764
    """
    none = ValueError(f"epsilon = {float(target):g}: no {within} brings the right side of {name} to it")
    R = sympy.Symbol("R", integer=True, positive=True)
    numbers = {symbol(key): sympy.Rational(v.numerator, v.denominator) for key, v in values.items()}
    alone = right.xreplace(numbers | {ROUNDS: R})
    if alone.has(sympy.zoo, sympy.nan, sympy.oo):
        raise none
    room = sympy.Rational(target.numerator, target.denominator) - alone.xreplace({R: ROUNDS})
    enough = _exactly(room, within)
    if enough is not None and not enough.empty:
        return int(enough.intervals[0][0])
    if _falls(alone, R):
        found = _where_it_falls(alone, R, target, name)
        later = [max(found, int(low)) for low, high, *_ in within.intervals if found <= high]
        if later:
            return later[0]
    elif enough is None:
        for one in within.intervals:
            for low, _, holds in pieces(room, ROUNDS, {}, one):
                if holds:
                    return int(low)
    raise none


def _exactly(room: sympy.Expr, within: Allowed) -> Allowed | None:
    """The rounds with room >= 0, for polynomials and roots."""
    try:
        return with_exact_ends(room, "rounds", {}) & within
    except ZeroDivisionError:
        return Allowed("rounds", (), within.bounds)
    except ValueError:
        return None


def _where_it_falls(right: sympy.Expr, R: sympy.Symbol, target: Fraction, name: str) -> int:
    """min {R >= 1: right(R) <= target}."""
    if _at_most(right, 1, target):
        return 1
    floor = sympy.Add(*(sympy.limit(term, R, sympy.oo) if term.has(R) else term for term in sympy.Add.make_args(right)))
    if not floor.is_finite or _at_least(floor, target):
        raise ValueError(
            f"epsilon = {float(target):g}: allowed is a number above the floor {float(floor):.6g} of {name}"
        )
    enough = 2
    while not _at_most(right, enough, target):
        enough *= 2
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if _at_most(right, middle, target) else (middle, enough)
    return enough


def _falls(right: sympy.Expr, R: sympy.Symbol) -> bool:
    """Whether it is seen that the expression does not increase with R >= 1."""
    terms = sympy.Add.make_args(right)
    open_terms = [term for term in terms if not (-sympy.diff(term, R)).is_nonnegative]
    if not open_terms:
        return True
    rest = sympy.Add(*open_terms)
    try:
        fall = rest.xreplace({R: ROUNDS}) - rest.xreplace({R: ROUNDS + 1})
        return with_exact_ends(fall, "rounds", {}).everything
    except ValueError:
        return False


def _at_most(right: sympy.Expr, rounds: int, target: Fraction) -> bool:
    """Whether right <= target at so many rounds."""
    return _decided(lambda: fold(right, {"R": arb(rounds)}, _ball), target, lambda value, goal: value <= goal)


def _at_least(constant: sympy.Expr, target: Fraction) -> bool:
    if constant.is_Rational:
        return Fraction(int(constant.p), int(constant.q)) >= target
    return _decided(lambda: fold(constant, {}, _ball), target, lambda value, goal: value >= goal)


def _ball(number: sympy.Rational) -> arb:
    return ball(Fraction(int(number.p), int(number.q)))


def _decided(value_of: Callable[[], arb], target: Fraction, holds: Callable[[arb, arb], bool]) -> bool:
    precision = 128
    while precision <= _MOST_PRECISION:
        with ctx.workprec(precision):
            value, goal = value_of(), ball(target)
            if holds(value, goal):
                return True
            if value > goal or value < goal:
                return False
        precision *= 2
    raise ValueError(f"epsilon = {target}: the right side cannot be told from it; allowed is any other number")
