"""Subdivision: where an expression with exponentials, logarithms or roots of sums is >= 0.

The floats within a quantity's bounds are cut into blocks; for an integer quantity, the whole numbers up to 2^1023 are.
Where intervals show that the expression has one sign on a whole block, that is settled. Else the block is cut in two,
down to neighbours, whose own signs are decided. So exactly those floats are found at which the expression is >= 0.
Nothing is assumed of how it rises or falls.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import sympy

from ..quantities import symbol
from .balls import ball, evaluate_in_balls, evaluate_or_limit, fold, working_precision
from .outward_intervals import Interval
from .polynomial_roots import float_inside

LEAST_PRECISION, MOST_PRECISION = 128, 4096
MOST_EVALUATIONS, MOST_ZEROS = 40_000, 32
_OCTAVES = 64
_LARGEST_WHOLE = 2**1023
_TINIEST = Fraction(math.ulp(0.0))

Block = tuple[Fraction, Fraction]
Piece = tuple[Fraction, Fraction, bool]
"""All floats (or whole numbers) from one to another, and whether they are allowed."""


def pieces(slack: sympy.Expr, x: sympy.Symbol, values: Mapping[str, Fraction], within: tuple) -> Iterator[Piece]:
    """Yield pieces that cover every float (or whole number) within bounds, each with whether slack >= 0 on it.

    They come in increasing order; bounds are (low, high, low_closed, high_closed). What divides by zero follows the
    rule of ``fedtheory.claims.arithmetic``.

    Raises:
        ValueError: a sign cannot be told from 0, or none is seen to last on any block.

    >>> x = sympy.Symbol("x", integer=True, positive=True)
    >>> some = pieces(sympy.Rational(1, 100) - sympy.log(x) / x, x, {}, (Fraction(2), math.inf, True, False))
    >>> next(int(low) for low, _, holds in some if holds)
    648
    """
    sign = _Sign(slack, x, values)
    whole = bool(x.is_integer)
    for block in _blocks(within, whole):
        sign.bits = LEAST_PRECISION
        yield from _cut(sign, *block, whole)


def allowed_intervals(
    slack: sympy.Expr, x: sympy.Symbol, values: Mapping[str, Fraction], within: tuple
) -> tuple[tuple, ...]:
    """Return where slack >= 0 as intervals (low, high, low_closed, high_closed).

    An end that is none of the bounds is the nearest float (or whole number) inside.

    >>> x = sympy.Symbol("x", positive=True)
    >>> within = (Fraction(0), Fraction(9), False, True)
    >>> [tuple(map(float, ends)) for ends in allowed_intervals(sympy.log(x), x, {}, within)]
    [(1.0, 9.0, 1.0, 1.0)]
    """
    low, high, low_closed, high_closed = within
    first, last = _outermost(within, bool(x.is_integer))
    found: list[tuple] = []
    before = False
    for start, end, holds in pieces(slack, x, values, within):
        if holds:
            joined = found.pop() if before else ((low, 0, low_closed) if start == first else (start, 0, True))
            top = (high, high_closed) if end == last else (end, True)
            found.append((joined[0], top[0], joined[2], top[1]))
        before = holds
    return tuple(found)


@dataclass
class _Sign:
    """Whether an expression is >= 0, at a point and on a block."""

    slack: sympy.Expr
    x: sympy.Symbol
    values: Mapping[str, Fraction]
    letters: dict[sympy.Expr, sympy.Symbol] = field(default_factory=dict)
    evaluations: int = 0
    zeros: int = 0
    bits: int = LEAST_PRECISION

    def __post_init__(self) -> None:
        self.never_negative = _less_of_more(self.slack)
        self.short = self._shortened(self.slack)
        self._known: dict[int, dict[str, Interval]] = {}
        for part, letter in self.letters.items():
            if not self._constants(LEAST_PRECISION)[letter.name].bounded:
                raise ValueError(f"{part} is no number")

    def _shortened(self, part: sympy.Expr) -> sympy.Expr:
        """Put a letter for each part that has no x in it."""
        if part == self.x or part.is_Rational:
            return part
        if self.x not in part.free_symbols:
            known = {"integer": part.is_integer or None, "nonnegative": part.is_nonnegative or None}
            return self.letters.setdefault(part, sympy.Symbol(f"c{len(self.letters)}", **known))
        parts = list(part.args)
        if part.is_Add or part.is_Mul:
            constant = [p for p in parts if self.x not in p.free_symbols]
            parts = [p for p in parts if self.x in p.free_symbols] + ([part.func(*constant)] if constant else [])
        return part.func(*map(self._shortened, parts), evaluate=False)

    def _constants(self, bits: int) -> dict[str, Interval]:
        if bits not in self._known:
            with working_precision(bits):
                balls = {letter.name: evaluate_in_balls(part, self.values) for part, letter in self.letters.items()}
                self._known[bits] = {name: Interval.of(value, value) for name, value in balls.items()}
        return self._known[bits]

    def on(self, low: Fraction, high: Fraction, bits: int) -> bool | None:
        """Return the one sign from low to high; ``None`` if none is seen."""
        self.evaluations += 1
        if self.evaluations > MOST_EVALUATIONS:
            raise ValueError(f"no lasting sign is seen from {float(low):g} to {float(high):g}")
        with working_precision(bits):
            known = self._constants(bits) | {self.x.name: Interval.of(ball(low), ball(high))}
            value = fold(self.short, known, _constant)
        return (value.bounded or None) if self.never_negative else value.sign

    def at(self, x: Fraction) -> bool:
        """Decide the sign at a point, with as much precision as it takes."""
        bits = self.bits
        while bits < MOST_PRECISION:
            told = self.on(x, x, bits)
            if told is not None:
                return told
            bits *= 2
        with working_precision(MOST_PRECISION):
            value = ball(evaluate_or_limit(self.slack, {**self.values, self.x.name: x}))
        if value >= 0 or value < 0:
            return bool(value >= 0)
        return (self.never_negative and value.is_finite()) or self._exactly(x)

    def _exactly(self, x: Fraction) -> bool:
        """Decide the sign where logarithms and roots of numbers cancel; ``False`` where the expression is undefined."""
        numbers = {symbol(name): _rational(number) for name, number in self.values.items()} | {self.x: _rational(x)}
        value = sympy.expand_log(self.slack.xreplace(numbers), factor=True)
        if value.has(sympy.zoo, sympy.nan) or value.is_real is False:
            return False
        self.zeros += 1
        if not value.is_Rational or self.zeros > MOST_ZEROS:
            raise ValueError(f"its sign at {float(x):g} cannot be told from 0")
        return bool(value >= 0)


def _constant(number: sympy.Rational) -> Interval:
    value = ball(Fraction(int(number.p), int(number.q)))
    return Interval.of(value, value)


def _rational(number: Fraction) -> sympy.Rational:
    return sympy.Rational(number.numerator, number.denominator)


def _less_of_more(slack: sympy.Expr) -> bool:
    """Whether it is min(some) - min(these and others), which cannot be negative."""
    if not slack.is_Add or len(slack.args) != 2:
        return False
    some = next((part for part in slack.args if isinstance(part, sympy.Min)), None)
    more = next((-part for part in slack.args if isinstance(-part, sympy.Min)), None)
    return some is not None and more is not None and set(some.args) <= set(more.args)


def _cut(sign: _Sign, low: Fraction, high: Fraction, whole: bool) -> Iterator[Piece]:
    """The pieces of a block."""
    if low == high:
        yield low, low, sign.at(low)
        return
    if _neighbours(low, high, whole):
        yield from ((end, end, sign.at(end)) for end in (low, high))
        return
    middle = _middle(low, high, whole)
    while True:
        told = sign.on(low, high, sign.bits)
        if told is not None:
            yield low, high, told
            return
        if sign.on(middle, middle, sign.bits) is not None:
            break
        if 2 * sign.bits >= MOST_PRECISION:
            sign.at(middle)
            break
        sign.bits *= 2
    yield from _cut(sign, low, middle, whole)
    yield from _cut(sign, middle + 1 if whole else middle, high, whole)


def _neighbours(low: Fraction, high: Fraction, whole: bool) -> bool:
    return high - low == 1 if whole else math.nextafter(float(low), math.inf) >= high


def _middle(low: Fraction, high: Fraction, whole: bool) -> Fraction:
    """A float, or whole number, between: by size where the ends differ much."""
    if low > 0 and high > 4 * low:
        exponents = (math.frexp(low)[1] + math.frexp(high)[1]) // 2
        return Fraction(2) ** (exponents - 1)
    if high < 0 and low < 4 * high:
        return -_middle(-high, -low, whole)
    return Fraction((low + high) // 2) if whole else Fraction(float((low + high) / 2))


def _outermost(within: tuple, whole: bool) -> Block:
    """The least and the largest float, or whole number, within bounds, the bounds themselves included."""
    low, high, low_closed, high_closed = within
    if whole:
        first = Fraction(math.floor(low) + (not low_closed or low != math.floor(low)))
        last = Fraction(_LARGEST_WHOLE if math.isinf(high) else math.ceil(high) - (not high_closed or high % 1 != 0))
        return first, last
    first, last = _float_above(low, low_closed), -_float_above(-high, high_closed)
    return (Fraction(low) if low_closed else first), (Fraction(high) if high_closed else last)


def _float_above(bound: Fraction | float, itself: bool) -> Fraction:
    if math.isinf(bound):
        return -Fraction(sys.float_info.max)
    nearest = float_inside(bound, 1)
    return Fraction(math.nextafter(nearest, math.inf) if nearest == bound and not itself else nearest)


def _blocks(within: tuple, whole: bool) -> Iterator[Block]:
    """Blocks in increasing order that cover all within bounds, none across 0 and none of more than 64 octaves."""
    first, last = _outermost(within, whole)
    if first > last:
        return
    low, high, _, _ = within
    start = first if whole else _float_above(low, True)
    end = last if whole else -_float_above(-high, True)
    start, end = max(start, first), min(end, last)
    if first < start:
        yield first, first
    tiniest = Fraction(1) if whole else _TINIEST
    if start < 0:
        yield from ((-b, -a) for a, b in reversed(list(_positive(max(-end, tiniest), -start, whole))))
    if start <= 0 <= end:
        yield Fraction(0), Fraction(0)
    if end > 0:
        yield from _positive(max(start, tiniest), end, whole)
    if end < last:
        yield last, last


def _positive(low: Fraction, high: Fraction, whole: bool) -> Iterator[Block]:
    while low <= high:
        top = min(high, Fraction(2) ** (_OCTAVES + math.frexp(low)[1] - 1))
        yield low, top
        if top == high:
            return
        low = top + 1 if whole else top
