"""Numbers that prove something: Fractions, or balls with a proven error radius.

Expressions that stay rational are computed in Fractions, others in balls (python-flint).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from flint import arb, arb_mat, ctx, fmpq

PRECISION = 256
"""Bits of balls: far more than a million contracting rounds lose."""


@contextmanager
def working_precision(bits: int = PRECISION):
    """Compute with balls of so many bits inside the ``with`` block."""
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


class Ball:
    """Ball that mixes with whole numbers and Fractions, so that one array can hold both.

    >>> with working_precision():
    ...     third = Fraction(1, 2) - Ball(ball(Fraction(1, 6)))
    ...     print((third * 3).value.contains(1), float((third**2 / Fraction(1, 9)).value))
    True 1.0
    """

    __slots__ = ("value",)

    def __init__(self, value: arb) -> None:
        self.value = value

    def __add__(self, other: object) -> Ball:
        operand = _operand(other)
        return NotImplemented if operand is None else Ball(self.value + operand)

    def __sub__(self, other: object) -> Ball:
        operand = _operand(other)
        return NotImplemented if operand is None else Ball(self.value - operand)

    def __rsub__(self, other: object) -> Ball:
        operand = _operand(other)
        return NotImplemented if operand is None else Ball(operand - self.value)

    def __mul__(self, other: object) -> Ball:
        operand = _operand(other)
        return NotImplemented if operand is None else Ball(self.value * operand)

    def __truediv__(self, other: object) -> Ball:
        operand = _operand(other)
        return NotImplemented if operand is None else Ball(self.value / operand)

    def __rtruediv__(self, other: object) -> Ball:
        operand = _operand(other)
        return NotImplemented if operand is None else Ball(operand / self.value)

    def __neg__(self) -> Ball:
        return Ball(-self.value)

    def __pow__(self, exponent: int) -> Ball:
        return Ball(whole_power(self.value, exponent))

    __radd__, __rmul__ = __add__, __mul__


def _operand(other: object) -> arb | None:
    """Turn an operand of a ball's arithmetic into a ball; ``None`` where it does not mix.

    Matrices have many operands, so each kind that they hold is told at once.
    """
    kind = type(other)
    if kind is Ball:
        return other.value  # type: ignore[attr-defined]
    if kind is Fraction or kind is int:
        return arb(fmpq(other.numerator, other.denominator))  # type: ignore[attr-defined]
    return ball(other) if isinstance(other, Ball | Fraction | int) else None


Number = Fraction | arb
"""An exact number, or a ball that holds it."""


def ball(value: Number | Ball | int) -> arb:
    """Enclose a number in a ball."""
    if isinstance(value, arb):
        return value
    if isinstance(value, Ball):
        return value.value
    value = value if type(value) is Fraction else Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


def interval(low: Number, high: Number) -> arb:
    """Return a ball that holds both ends, and hardly more."""
    return ball(low).union(ball(high))


def ball_matrix(matrix: np.ndarray) -> arb_mat:
    """Turn an array of numbers into a matrix of balls; a vector becomes a column."""
    rows, columns = matrix.shape if matrix.ndim == 2 else (len(matrix), 1)
    return arb_mat(rows, columns, [ball(v) for v in matrix.ravel()])


def from_matrix(matrix: arb_mat) -> np.ndarray:
    """Turn a matrix of balls into an array of ``Ball``."""
    entries = np.array([Ball(value) for value in matrix.entries()], dtype=object)
    return entries.reshape(matrix.nrows(), matrix.ncols())


def matrix_product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Compute one @ other for arrays of numbers (..., n, m) and (..., m, k).

    Large ones of balls are multiplied as python-flint's matrices, those of Fractions as whole numbers.
    """
    if one.dtype != object or one.shape[-1] < FEW:
        return one @ other
    if not (holds_balls(one) or holds_balls(other)):
        if other.dtype != object:
            return one @ other
        left, right, over = whole_factors(one, other)
        return fractions(left @ right, over) if over else one @ other
    shape = np.broadcast_shapes(one.shape[:-2], other.shape[:-2])
    ones, others = (np.broadcast_to(a, (*shape, *a.shape[-2:])).reshape(-1, *a.shape[-2:]) for a in (one, other))
    found = [from_matrix(ball_matrix(a) * ball_matrix(b)) for a, b in zip(ones, others, strict=True)]
    return np.stack(found).reshape(*shape, one.shape[-2], other.shape[-1])


def whole_factors(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Write two arrays of Fractions, each over its least common denominator: return their numerators, and by what
    products of these are divided. It is 0, and both are as they were, where the denominators are so long that Fractions
    take less time.

    >>> whole_factors(np.array([Fraction(1, 2), Fraction(2, 3), 0]), np.array([Fraction(1, 5)]))
    (array([3, 4, 0], dtype=object), array([1], dtype=object), 30)
    """
    over, under = (math.lcm(*{each.denominator for each in array.flat}) for array in (one, other))
    if over.bit_length() * under.bit_length() > LONGEST:
        return one, other, 0
    return _over(one, over), _over(other, under), over * under


def _over(array: np.ndarray, common: int) -> np.ndarray:
    """Return the numerators of Fractions over a common denominator."""
    return np.frompyfunc(lambda each: each.numerator * (common // each.denominator), 1, 1)(array)


def fractions(numerators: np.ndarray, denominator: int) -> np.ndarray:
    """Divide whole numbers by one number, to Fractions."""
    return np.frompyfunc(lambda each: Fraction(each, denominator), 1, 1)(numerators)


def holds_balls(array: np.ndarray) -> bool:
    """Whether some of the entries are balls."""
    return any(isinstance(each, Ball) for each in array.flat)


FEW, LONGEST = 3, 10**6
"""Least number of columns from which a product is computed by python-flint's matrices or in whole numbers, and the
largest product of the lengths of both denominators, in bits, with which whole numbers are quicker."""


@functools.lru_cache(maxsize=4096)
def denominators(expression: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """List the denominators of an expression that may vanish, each once, nested ones too.

    >>> from fedtheory.quantities import symbols
    >>> x, y, L = symbols("dissimilarity", "objective_decrease", "smoothness")
    >>> denominators(1 / L + 1 / x**2 + 3 / (1 + 1 / y))
    (objective_decrease, dissimilarity**2, 1 + 1/objective_decrease)
    """
    powers = [node for node in sympy.postorder_traversal(expression) if node.is_Pow and not node.exp.is_nonnegative]
    found = dict.fromkeys(sympy.Pow(node.base, -node.exp) for node in powers)
    return tuple(sorted((d for d in found if not d.is_positive), key=lambda d: (d.count_ops(), str(d))))


def two_sided_denominators(expression: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """List the ``denominators`` that may have either sign: over them there is no limit."""
    return tuple(d for d in denominators(expression) if not d.is_nonnegative)


def fold(expression: sympy.Expr, values: Mapping[str, Any], number: Callable[[sympy.Rational], Any]) -> Any:
    """Evaluate an expression in the arithmetic of ``values``.

    These are Fractions (without ``exp``) or real balls, which have the methods ``exp``, ``log``, ``ceil``, ``min``,
    ``max`` and ``**``. ``number`` converts the rational constants.

    Raises:
        ValueError: no exact arithmetic for a function in it, or a power with a whole symbolic exponent that is not
            known, or makes it too long, while the base is not seen to be in [-1, 1].

    >>> x = sympy.Symbol("x")
    >>> fold(1 / (3 * x**2), {"x": Fraction(1, 2)}, lambda c: Fraction(int(c.p), int(c.q)))
    Fraction(4, 3)
    """
    if expression.is_Symbol:
        return values[expression.name]
    if expression.is_Rational:
        return number(expression)
    parts = [fold(part, values, number) for part in expression.args]
    if expression.is_Add:
        return functools.reduce(lambda a, b: a + b, parts)
    if expression.is_Mul:
        return functools.reduce(lambda a, b: a * b, parts)
    if expression.is_Pow and expression.exp.is_Integer:
        exponent = int(expression.exp)
        power = whole_power(parts[0], abs(exponent))
        return power if exponent >= 0 else number(sympy.Integer(1)) / power
    if expression.is_Pow and expression.exp.is_Rational and hasattr(parts[0], "exp"):
        return parts[0] ** parts[1]
    if expression.is_Pow and hasattr(parts[0], "to_power"):
        return parts[0].to_power(parts[1])
    if expression.is_Pow and expression.exp.is_integer:
        return _whole_power(expression, *parts)
    if expression.is_Pow and hasattr(parts[0], "exp") and (expression.base.is_nonnegative or parts[0] >= 0):
        return _real_power(*parts)
    if isinstance(expression, (sympy.exp, sympy.log)) and hasattr(parts[0], "exp"):
        return getattr(parts[0], expression.func.__name__)()
    if isinstance(expression, sympy.Min):
        return functools.reduce(lambda a, b: a.min(b) if hasattr(a, "min") else min(a, b), parts)
    if isinstance(expression, sympy.Max):
        return functools.reduce(lambda a, b: a.max(b) if hasattr(a, "max") else max(a, b), parts)
    if isinstance(expression, sympy.Abs):
        return abs(parts[0])
    if isinstance(expression, sympy.ceiling) and hasattr(parts[0], "ceil"):
        return parts[0].ceil()
    raise ValueError(f"no exact arithmetic for {type(expression).__name__} in {expression}")


def whole_power(base: Any, exponent: int) -> Any:
    """Compute base^exponent.

    For a ball that may be 0 this is done by squaring: its own power is not a number where its middle is 0.

    >>> from flint import arb
    >>> around_zero = arb(0, 1e-20)
    >>> around_zero**2, whole_power(around_zero, 2).contains(0)
    (nan, True)
    """
    if exponent <= 0 or not hasattr(base, "contains") or not base.contains(0):
        return base**exponent
    result = None
    while exponent:
        if exponent % 2:
            result = base if result is None else result * base
        base, exponent = base * base, exponent // 2
    return result


LONGEST_POWER = 10**6
"""The most binary digits of the numerator of a power of a fraction outside [-1, 1]."""


def _whole_power(power: sympy.Pow, base: Any, exponent: Any) -> Any:
    """base^exponent for a whole exponent, given as a Fraction or a ball.

    A base outside [-1, 1] has the sign that the exponent's parity gives it, so the exponent has to be known.
    """
    plain, times = getattr(base, "value", base), getattr(exponent, "value", exponent)
    if isinstance(times, Fraction):
        times = int(times)
    elif hasattr(times, "unique_fmpz") and times.unique_fmpz() is not None and times.is_exact():
        times = int(times.unique_fmpz())
    try:
        inside = bool(abs(plain) <= 1)
    except TypeError:
        inside = False
    known = isinstance(times, int) and not isinstance(plain, float)
    counted = known and not inside and isinstance(plain, Fraction)
    # A base outside [-1, 1] has a numerator of 2 or more: a larger exponent is too large whatever it is.
    digits = int(min(abs(times), LONGEST_POWER) * math.log2(abs(plain.numerator))) + 1 if counted else 0
    if not inside and (not known or digits > LONGEST_POWER):
        raise ValueError(
            f"{power.base} = {plain}: allowed is a number in [-1, 1], or a known exponent and a power of at most "
            f"{LONGEST_POWER} binary digits in its numerator, to be raised to {power.exp}"
        )
    return type(base)(whole_power(plain, times) if known and times >= 0 else plain**times)


@functools.cache
def is_rational(expression: sympy.Expr) -> bool:
    """Whether an expression has no roots, exponentials and logarithms."""
    return not any(
        isinstance(node, (sympy.exp, sympy.log)) or (node.is_Pow and not node.exp.is_Integer)
        for node in sympy.preorder_traversal(expression)
    )


def _real_power(base: Any, exponent: Any) -> Any:
    """base^exponent for a base >= 0, in balls; 0^0 = 1."""
    if base == 0:
        return base if exponent > 0 else base + 1 if exponent == 0 else 1 / base
    return base**exponent


def evaluate_in_balls(expression: sympy.Expr, values: Mapping[str, Number]) -> arb:
    """Enclose the value of an expression."""
    balls = {s.name: ball(values[s.name]) for s in expression.free_symbols}
    return fold(expression, balls, lambda c: ball(Fraction(int(c.p), int(c.q))))


def evaluate_exactly(expression: sympy.Expr, values: Mapping[str, Any]) -> Fraction:
    """Evaluate an expression in rational arithmetic."""
    return fold(expression, values, lambda c: Fraction(int(c.p), int(c.q)))


def evaluate_number(expression: sympy.Expr, values: Mapping[str, Number]) -> Number:
    """Evaluate an expression, exactly where all numbers in it are exact and its roots, if any, are of squares.

    Raises:
        ZeroDivisionError: it divides by zero, in exact arithmetic; a ball is then not finite.

    >>> x = sympy.Symbol("x", positive=True)
    >>> evaluate_number(1 / (3 * sympy.sqrt(x)), {"x": Fraction(4)})
    Fraction(1, 6)
    """
    if any(isinstance(values[s.name], arb) for s in expression.free_symbols):
        return evaluate_in_balls(expression, values)
    if is_rational(expression):
        return evaluate_exactly(expression, values)
    enclosure, exact = evaluate_in_balls(expression, values), rational_value(expression, values)
    return enclosure if exact is None or not (enclosure.is_finite() and enclosure.overlaps(ball(exact))) else exact


def evaluate_or_limit(expression: sympy.Expr, values: Mapping[str, Number]) -> Number:
    """Evaluate an expression, by the rule of ``fedtheory.claims.arithmetic`` where it divides by zero.

    That is its limit where it has one, else -inf or a ball that is not a number, neither of which is >= 0.

    >>> x, y = sympy.symbols("x y", nonnegative=True)
    >>> zero = {"x": Fraction(0), "y": Fraction(0)}
    >>> slacks = ((1 + y) / x**2 - 1, 1 - (1 + y) / x**2, 1 - y / x, sympy.sqrt(2) / x)
    >>> [decimal(evaluate_or_limit(slack, zero)) for slack in slacks]
    ['inf', '-inf', '-inf', 'inf']
    """
    names = {s.name for s in expression.free_symbols}
    if is_rational(expression) and not any(isinstance(values[name], arb) for name in names):
        exact: dict[str, Any] = {name: values[name] for name in names}
        slack = exact_slack(expression, exact)
        return slack if isinstance(slack, Fraction) else arb(str(slack))
    for denominator in _two_sided_denominators(expression):
        below = evaluate_or_limit(denominator, values)
        if not (below > 0 or below < 0):
            return arb("nan")
    try:
        value = evaluate_number(expression, values)
    except ZeroDivisionError:
        value = arb("nan")
    if isinstance(value, Fraction) or value.is_finite():
        return value
    limits = {name: _Limit(ball(values[name])) for name in names}
    return fold(expression, limits, lambda c: _Limit(ball(Fraction(int(c.p), int(c.q))))).value


def exact_slack(expression: sympy.Expr, values: Mapping[str, Fraction]) -> Fraction | float:
    """Evaluate a rational expression at Fractions, by the rule of ``claims.arithmetic`` for division by zero.

    The result is a Fraction, +inf or -inf; -inf where it is undefined.

    Raises:
        ValueError: the expression has an exponential, a logarithm or a root.

    >>> from fedtheory.quantities import symbols
    >>> x, y = symbols("dissimilarity", "objective_decrease")
    >>> zero = {"dissimilarity": Fraction(0), "objective_decrease": Fraction(0)}
    >>> exact_slack(1 / x - 5, zero), exact_slack(1 / y - 5, zero), exact_slack((y + 1) / (1 + x), zero)
    (inf, -inf, Fraction(1, 1))
    """
    extended = {name: _Extended(value) for name, value in values.items()}

    def at(part: sympy.Expr) -> _Extended:
        return fold(part, extended, lambda c: _Extended(Fraction(int(c.p), int(c.q))))

    try:
        if any(at(denominator).value == 0 for denominator in two_sided_denominators(expression)):
            return -math.inf
        return at(expression).value
    except ZeroDivisionError:
        return -math.inf


@dataclass(frozen=True)
class _Extended:
    """A Fraction, or plus or minus infinity; 1/0 is +inf, and what is undefined raises ``ZeroDivisionError``."""

    value: Fraction | float

    @property
    def infinite(self) -> bool:
        return isinstance(self.value, float)

    def __add__(self, other: _Extended) -> _Extended:
        if self.infinite and other.infinite and self.value != other.value:
            raise ZeroDivisionError
        infinity = self if self.infinite else other
        return infinity if infinity.infinite else _Extended(self.value + other.value)

    def __mul__(self, other: _Extended) -> _Extended:
        if not (self.infinite or other.infinite):
            return _Extended(self.value * other.value)
        if self.value == 0 or other.value == 0:
            raise ZeroDivisionError
        return _Extended(math.inf if (self.value > 0) == (other.value > 0) else -math.inf)

    def __truediv__(self, other: _Extended) -> _Extended:
        if other.value == 0:
            return self * _Extended(math.inf)
        inverse: Fraction | float = Fraction(0) if other.infinite else 1 / other.value
        return self * _Extended(inverse)

    def __pow__(self, exponent: int) -> _Extended:
        value: Any = self.value
        return _Extended(value**exponent)

    def __abs__(self) -> _Extended:
        return self if self.value >= 0 else _Extended(-self.value)

    def min(self, other: _Extended) -> _Extended:
        return self if self.value <= other.value else other

    def max(self, other: _Extended) -> _Extended:
        return self if self.value >= other.value else other


_two_sided_denominators = functools.cache(two_sided_denominators)


@dataclass(frozen=True)
class _Limit:
    """A ball, in which a/0 is a times +inf; what is undefined is not a number."""

    value: arb

    def __add__(self, other: _Limit) -> _Limit:
        return _Limit(self.value + other.value)

    def __mul__(self, other: _Limit) -> _Limit:
        return _Limit(self.value * other.value)

    def __truediv__(self, other: _Limit) -> _Limit:
        return _Limit(self.value * arb("inf") if other.value == 0 else self.value / other.value)

    def __pow__(self, exponent: int | _Limit) -> _Limit:
        power = exponent.value if isinstance(exponent, _Limit) else arb(exponent)
        return _Limit(arb(1)) / _Limit(self.value**-power) if power < 0 else _Limit(self.value**power)

    def __abs__(self) -> _Limit:
        return _Limit(abs(self.value))

    def exp(self) -> _Limit:
        return _Limit(self.value.exp())

    def log(self) -> _Limit:
        return _Limit(self.value.log())

    def min(self, other: _Limit) -> _Limit:
        return _Limit(self.value.min(other.value))

    def max(self, other: _Limit) -> _Limit:
        return _Limit(self.value.max(other.value))


def rational_value(expression: sympy.Expr, values: Mapping[str, Number]) -> Fraction | None:
    """Evaluate an expression where it is rational, roots of squares included; ``None`` where that is not seen.

    >>> x = sympy.Symbol("x", positive=True)
    >>> at = {"x": Fraction(8, 3)}
    >>> rational_value(sympy.sqrt(6) / sympy.sqrt(x), at), rational_value(sympy.log(x), at)
    (Fraction(3, 2), None)
    """
    if expression.has(sympy.exp, sympy.log) or any(isinstance(values[s.name], arb) for s in expression.free_symbols):
        return None
    fractions: Mapping[str, Any] = values
    exact = {s: sympy.Rational(*fractions[s.name].as_integer_ratio()) for s in expression.free_symbols}
    value = expression.xreplace(exact)
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else None


def lower_bound_over_box(function: Callable[[Sequence[arb]], arb], box: Sequence[arb], depth: int = 16) -> arb | None:
    """Return a lower bound of ``function`` on a product of intervals.

    It is ``None`` if the function is not shown to be >= 0 there within ``depth`` bisections, each of the side that
    blurs the value most.

    >>> with working_precision():
    ...     print(lower_bound_over_box(lambda v: 1 + v[0] * (v[0] - 1), [interval(0, 1)]) is not None)
    ...     print(lower_bound_over_box(lambda v: v[0] * (v[0] - 1), [interval(0, 1)]) is not None)
    True
    False
    """
    value = function(box)
    if value >= 0:  # so it is a number
        return value.lower()
    open_sides = [i for i, side in enumerate(box) if not side.is_exact()]
    if depth == 0 or not open_sides or value < 0:
        return None

    def blur_without(i: int) -> float:
        sharper = function([*box[:i], box[i].mid(), *box[i + 1 :]])
        return float(sharper.rad()) if sharper.is_finite() else float("inf")

    i = min(open_sides, key=blur_without)
    bounds: list[arb] = []
    for half in (interval(box[i].lower(), box[i].mid()), interval(box[i].mid(), box[i].upper())):
        bound = lower_bound_over_box(function, [*box[:i], half, *box[i + 1 :]], depth - 1)
        if bound is None:
            return None
        bounds.append(bound)
    return bounds[0].min(bounds[1])


def decimal(value: Number) -> str:
    """Write twelve significant digits of a ball's middle or of a Fraction, for people and for comparing files.

    ``inf`` is written for an infinite one, ``nan`` for a ball that is not known at all.

    >>> decimal(Fraction(1, 3)), decimal(arb("inf")), decimal(arb(1) / arb(0))
    ('0.333333333333', 'inf', 'nan')
    """
    value = ball(value)
    if not value.is_finite():
        return "inf" if value > 0 else "-inf" if value < 0 else "nan"
    return value.mid().str(12, radius=False)


class Undecided(Exception):
    """The enclosure cannot be given; the reason is the message."""
