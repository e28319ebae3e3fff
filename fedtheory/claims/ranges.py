"""Values of one quantity that satisfy an inequality: exact, as a finite union of intervals.

A rational inequality, or one with roots, is brought to P/Q >= 0 without cancelling. Its critical points are the real
roots of the irreducible factors of P and Q over the rationals. Signs are decided exactly between them and at them. No
sign is assumed, and neither is that a denominator has one. Other inequalities are left to ``subdivision``. What divides
by zero follows the rule of ``fedtheory.claims.arithmetic``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import sympy

from ..quantities import ORDERED_PAIRS, quantity, symbol
from ..rationals import exact_number
from .algebraic import algebraic
from .balls import ball, denominators, evaluate_number, evaluate_or_limit, fold, is_rational, working_precision
from .piecewise_rational import VARIABLE, Cases, constant
from .polynomial_roots import Field, Point, Rational, Sign, float_inside, real_roots
from .subdivision import allowed_intervals

Interval = tuple[Fraction | float, Fraction | float, bool, bool]
"""Interval (low, high, whether low belongs to it, whether high does)."""


@dataclass(frozen=True)
class Allowed:
    """A set of values of one quantity: a finite union of intervals, disjoint and in increasing order.

    Attributes:
        quantity: the name of the quantity.
        intervals: (low, high, low_closed, high_closed) each. Rational ends are Fractions, exactly; an irrational end
            is the nearest float inside, so that exactly the same floats belong to the set (an isolated irrational
            point or interval at such an end that no float can hit is left out). For an integer quantity the ends are
            whole numbers. Where exponentials, logarithms or roots of sums of the quantity decide, every end is such a
            float, and what holds up to the largest float (or 2^1023) is said to hold up to infinity.
        bounds: the interval of all values that the quantity may have.

    >>> some = Allowed("local_lr", ((Fraction(0), Fraction(1, 3), False, True),), (Fraction(0), math.inf, False, False))
    >>> print(some)
    local_lr in (0, 0.333333]
    >>> Fraction(1, 3) in some, 0 in some, some.largest, some.empty, some.everything
    (True, False, 0.3333333333333333, False, False)
    """

    quantity: str
    intervals: tuple[Interval, ...]
    bounds: Interval

    @property
    def empty(self) -> bool:
        """Whether no value is allowed."""
        return not self.intervals

    @property
    def everything(self) -> bool:
        """Whether every value within the quantity's bounds is allowed."""
        return self.intervals == (self.bounds,)

    @property
    def smallest(self) -> float:
        """The infimum, rounded into the set; it belongs to the set if the first interval is closed below.

        Raises:
            ValueError: the set is empty.
        """
        return float_inside(self._some()[0][0], 1)

    @property
    def largest(self) -> float:
        """The supremum, rounded into the set; it belongs to the set if the last interval is closed above.

        Raises:
            ValueError: the set is empty.
        """
        return float_inside(self._some()[-1][1], -1)

    def _some(self) -> tuple[Interval, ...]:
        if self.empty:
            raise ValueError(f"no value of {self.quantity} is allowed")
        return self.intervals

    def __contains__(self, value: object) -> bool:
        """Whether a number is allowed: exactly, without a tolerance.

        Raises:
            ValueError: ``value`` is no finite number.
        """
        x = exact_number(self.quantity, value)
        if quantity(self.quantity).integer and x.denominator != 1:
            return False
        return any(
            low < x < high or (x == low and low_closed) or (x == high and high_closed)
            for low, high, low_closed, high_closed in self.intervals
        )

    def __and__(self, other: Allowed) -> Allowed:
        """The values that both allow.

        Raises:
            ValueError: the two are about different quantities.
        """
        if self.quantity != other.quantity:
            raise ValueError(f"values of {self.quantity} and of {other.quantity} have no intersection")
        common = [_intersection(a, b) for a in self.intervals for b in other.intervals]
        bounds = _intersection(self.bounds, other.bounds)
        return Allowed(self.quantity, tuple(sorted(filter(_is_inhabited, common))), bounds)

    def __str__(self) -> str:
        known = quantity(self.quantity)
        if self.empty:
            return f"{self.quantity}: none"
        if self.everything:
            return f"{self.quantity}: any in {_interval_text(self.bounds)}"
        integers = " (integers)" if known.integer else ""
        return f"{self.quantity} in {' or '.join(map(_interval_text, self.intervals))}{integers}"


def _interval_text(interval: Interval) -> str:
    low, high, low_closed, high_closed = interval
    if low == high:
        return f"{{{float(low):g}}}"
    return f"{'[' if low_closed else '('}{float(low):g}, {float(high):g}{']' if high_closed else ')'}"


def _intersection(a: Interval, b: Interval) -> Interval:
    low, high = max(a[0], b[0]), min(a[1], b[1])
    low_closed = all(closed for end, closed in ((a[0], a[2]), (b[0], b[2])) if end == low)
    high_closed = all(closed for end, closed in ((a[1], a[3]), (b[1], b[3])) if end == high)
    return low, high, low_closed, high_closed


def _is_inhabited(interval: Interval) -> bool:
    low, high, low_closed, high_closed = interval
    return low < high or (low == high and low_closed and high_closed)


def bounds(name: str, values: Mapping[str, Fraction]) -> Interval:
    """Return all values that ``evaluate`` accepts for a quantity, given the others (strong_convexity <= smoothness,
    ...).

    >>> print(*bounds("cohort", {"clients": Fraction(10)}))
    1 10 True True
    """
    known = quantity(name)
    low: Fraction | float
    low, high = (end if math.isinf(end) else Fraction(end) for end in (known.lower, known.upper))
    low_closed = not (math.isinf(low) or (known.positive and known.lower == 0))
    for small, large in ORDERED_PAIRS:
        if name == small and large in values:
            high = min(high, values[large])
        if name == large and small in values and values[small] >= low:
            low, low_closed = max(low, values[small]), low_closed or values[small] > low
    return low, high, low_closed, not math.isinf(high)


def solution_set(slack: sympy.Expr, name: str, values: Mapping[str, Fraction]) -> Allowed:
    """Return {x within the bounds of the quantity ``name``: slack(x) >= 0}.

    The slack is built from +, *, /, Abs, Min and Max, powers, exponentials and logarithms. Where it divides by zero, x
    is allowed if the limit is +inf (``exact_slack``).

    Raises:
        ValueError: the slack is no such expression; or it vanishes where that is not seen, such as at a double root
            beside an exponential, or on a whole interval.

    >>> from fedtheory.quantities import symbol
    >>> x = symbol("local_lr")
    >>> print(solution_set(6 - sympy.sqrt(30) * sympy.sqrt(x), "local_lr", {}))
    local_lr in (0, 1.2]
    >>> print(solution_set((x - 2) * (x - 3) / (x - 1), "local_lr", {}))
    local_lr in (1, 2] or [3, inf)
    >>> print(solution_set(2 - x**2, "local_lr", {}))
    local_lr in (0, 1.41421]
    >>> print(solution_set(sympy.log(1 + x) - x / 2, "local_lr", {}))
    local_lr in (0, 2.51286]
    >>> print(solution_set((x - 2) / symbol("dissimilarity") ** 2, "local_lr", {"dissimilarity": Fraction(0)}))
    local_lr in (2, inf)
    """
    slack = _in_minima(slack)
    one_sided = [d for d in denominators(slack) if d.is_nonnegative]
    vanishing = [d for d in one_sided if _names(d) <= values.keys() and _vanishes(d, values)]
    if vanishing:
        return _with_an_infinite_part(slack, vanishing, name, values)
    found = _where_defined(slack, name, values)
    candidates = {root for d in one_sided if name in _names(d) for root in _exact_roots(d, name, values)}
    low, high, low_closed, high_closed = found.bounds
    within = [r for r in candidates if low < r < high or (r == low and low_closed) or (r == high and high_closed)]
    with working_precision():
        points = [(r, r, True, True) for r in within if evaluate_or_limit(slack, {**values, name: r}) >= 0]
    if not points:
        return found
    joined = _whole if quantity(name).integer else _union
    return Allowed(name, joined(sorted([*found.intervals, *points])), found.bounds)


def _in_minima(slack: sympy.Expr) -> sympy.Expr:
    """Write absolute values and maxima as minima."""
    if not slack.has(sympy.Max, sympy.Abs):
        return slack
    slack = slack.replace(sympy.Abs, lambda part: sympy.Max(part, -part, evaluate=False))
    return slack.replace(sympy.Max, lambda *parts: -sympy.Min(*(-part for part in parts), evaluate=False))


def _vanishes(denominator: sympy.Expr, values: Mapping[str, Fraction]) -> bool:
    """Whether what cannot be negative is 0."""
    with working_precision():
        try:
            value = evaluate_number(denominator, values)
        except ZeroDivisionError:
            return False
        if ball(value) > 0 or value == 0:
            return value == 0
    raise ValueError(f"{denominator} cannot be told from 0")


def _with_an_infinite_part(
    slack: sympy.Expr, vanishing: list[sympy.Expr], name: str, values: Mapping[str, Fraction]
) -> Allowed:
    """Solve slack(x) >= 0 where one quotient c(x)/0 is infinite for every x: it holds where c(x) > 0 and the rest is
    defined."""
    infinity = sympy.Dummy(positive=True)
    quotients = [node for node in sympy.preorder_traversal(slack) if node.is_Pow and 1 / node in vanishing]
    apart = slack.xreplace(dict.fromkeys(quotients, infinity))
    growth = sympy.diff(apart, infinity)
    if len(set(quotients)) > 1 or growth.has(infinity):
        raise ValueError("it divides by zero in several places or within a minimum")
    rest = apart.xreplace({infinity: sympy.Integer(0)})
    defined = _where_defined(growth**2, name, values) & _where_defined(rest**2, name, values)
    return _where_defined(1 / growth, name, values) & defined


def _where_defined(slack: sympy.Expr, name: str, values: Mapping[str, Fraction]) -> Allowed:
    """{x: slack(x) >= 0} without what divides by zero."""
    within = bounds(name, values)
    try:
        return with_exact_ends(slack, name, values)
    except ZeroDivisionError:
        return Allowed(name, (), within)
    except ValueError as error:
        try:
            return Allowed(name, allowed_intervals(slack, symbol(name), values, within), within)
        except ValueError as other:
            raise ValueError(f"{error}; {other}") from None


def with_exact_ends(slack: sympy.Expr, name: str, values: Mapping[str, Fraction]) -> Allowed:
    """Solve slack(x) >= 0 within the bounds of the quantity ``name``, for a slack of polynomials and roots.

    Raises:
        ValueError: the slack has anything else, or its roots cannot be told apart.
        ZeroDivisionError: it divides by zero for every x.
    """
    within = bounds(name, values)
    field, cases = _piecewise(_in_minima(slack), name, values)
    branches = [[Sign(field, r.numerator * r.denominator, r.denominator) for r in (r, *c)] for r, c in cases.cases]
    factors = {key for branch in branches for sign in branch for key in sign.zeros}
    low, high, low_closed, high_closed = within
    ends = {end: field.linear(Fraction(end)) for end in (low, high) if not math.isinf(end)}
    integer = quantity(name).integer
    points = real_roots(field, factors.union(ends.values()), integer)
    first = next((i for i, p in enumerate(points) if p.factor == ends.get(low)), -1)
    last = next((i for i, p in enumerate(points) if p.factor == ends.get(high)), len(points))

    def on(sample: Fraction) -> bool:
        return any(all(sign.between(sample) for sign in branch) for branch in branches)

    cells: list[tuple[Fraction | float, Fraction | float, bool, bool, bool]] = []
    for i in range(first, min(last + 1, len(points))):
        sample = _beside(points, i)
        if i >= 0:
            point = points[i]
            closed = (i != first or low_closed) and (i != last or high_closed)
            holds = closed and any(all(sign.at(point.factor, sample) for sign in branch) for branch in branches)
            cells.append((point.above, point.below, True, True, holds))
        if i < last:
            left = (points[i].above, not points[i].rational) if i >= 0 else (-math.inf, False)
            after = points[i + 1] if i + 1 < len(points) else None
            right = (after.below, not after.rational) if after else (math.inf, False)
            cells.append((left[0], right[0], left[1], right[1], on(sample)))
    found = filter(_is_inhabited, _joined(cells))
    return Allowed(name, _whole(found) if integer else tuple(found), within)


def _beside(points: Sequence[Point], i: int) -> Fraction:
    """Between the i-th point and the next; before the first for i = -1."""
    if not points:
        return Fraction(0)
    if i < 0:
        return points[0].low - 1
    return (points[i].high + points[i + 1].low) / 2 if i + 1 < len(points) else points[i].high + 1


def _piecewise(slack: sympy.Expr, name: str, values: Mapping[str, Fraction]) -> tuple[Field, Cases]:
    if is_rational(slack):
        numbers = {other: constant(value) for other, value in values.items()} | {name: VARIABLE}
        return Rational(), fold(slack, numbers, constant)
    return algebraic(slack, name, values)


def _names(expression: sympy.Expr) -> set[str]:
    return {s.name for s in expression.free_symbols}


def _exact_roots(expression: sympy.Expr, name: str, values: Mapping[str, Fraction]) -> list[Fraction]:
    """The rational x where an expression without Min vanishes, as far as they are seen to."""
    try:
        field, cases = _piecewise(expression, name, values)
        factors = {key for ratio, _ in cases.cases for key in field.factors(ratio.numerator)}
        return [point.low for point in real_roots(field, factors, False) if point.rational]
    except ValueError:
        return []


def _union(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Disjoint intervals in increasing order; what touches at a point that either holds is joined."""
    joined: list[Interval] = []
    for low, high, low_closed, high_closed in intervals:
        if joined and low == joined[-1][1] and (low_closed or joined[-1][3]):
            low, _, low_closed, _ = joined.pop()
        joined.append((low, high, low_closed, high_closed))
    return tuple(joined)


def _joined(cells: list[tuple]) -> list[Interval]:
    """Runs of consecutive cells that hold, as intervals."""
    joined: list[Interval] = []
    open_run = False
    for low, high, low_closed, high_closed, holds in cells:
        if holds and open_run:
            joined[-1] = (joined[-1][0], high, joined[-1][2], high_closed)
        elif holds:
            joined.append((low, high, low_closed, high_closed))
        open_run = holds
    return joined


def _whole(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The whole numbers in them; what is adjacent is joined."""
    whole: list[Interval] = []
    for low, high, low_closed, high_closed in intervals:
        first: Fraction | float = Fraction(math.ceil(low) + (low == math.ceil(low) and not low_closed))
        if math.isinf(high):
            end: tuple[Fraction | float, bool] = (high, False)
        else:
            end = (Fraction(math.floor(high) - (high == math.floor(high) and not high_closed)), True)
        if first > end[0]:
            continue
        if whole and first <= whole[-1][1] + 1:
            first = whole.pop()[0]
        whole.append((first, end[0], True, end[1]))
    return tuple(whole)
