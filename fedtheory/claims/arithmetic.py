"""Arithmetic of claims: compiled for arrays, or exact in the numbers that come in.

One rule holds for every division by zero:

- A denominator that cannot be negative (by the vocabulary's bounds, such as dissimilarity^2) vanishes from above. A
  quotient a/0 over it is its limit, +inf or -inf by the sign of a, and a relation holds there if the limit does.
- Over a denominator of either sign there is no limit. Then, and for 0/0, 0 * inf and inf - inf, nothing is said: a
  hypothesis fails (slack -inf), a term does not bound (+inf).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from .wide_floats import Wide

CHUNK = 8192
"""Number of entries that are evaluated at a time: a handful of arrays of so many floats stay in a core's cache."""


def seen_in_range() -> np.errstate:
    """Return a state in which what leaves the range of floats raises ``FloatingPointError``."""
    return np.errstate(under="raise", over="raise")


class Compiled:
    """A numpy function of a mapping from quantity names to arrays that broadcast.

    Attributes:
        otherwise: its value where the expression is undefined; ``None`` for numpy's own.
    """

    def __init__(self, expression: sympy.Expr, otherwise: float | None = None) -> None:
        self.otherwise = otherwise
        self.expressions = (expression, *(() if otherwise is None else two_sided_denominators(expression)))
        symbols = sorted(expression.free_symbols, key=lambda s: s.name)
        self.names = [s.name for s in symbols]
        extremes = {
            "amin": lambda entries, axis: functools.reduce(np.minimum, entries),
            "amax": lambda entries, axis: functools.reduce(np.maximum, entries),
        }
        # The module, not its name: by name all of it would be imported, with its compiler of Fortran.
        modules, several = [extremes, _EXP, np], len(self.expressions) > 1
        self.plain = sympy.lambdify(symbols, list(self.expressions), modules=modules, cse=several)

    def __call__(self, values: Mapping[str, Any]) -> np.ndarray:
        """Compute it, a chunk of the longest axis at a time."""
        entries = [values[name] for name in self.names]
        shapes = {np.shape(entry) for entry in entries if type(entry) not in (np.float64, float)} - {()}
        with seen_in_range():
            if not shapes:
                number: Any = self.of_numbers(dict(zip(self.names, map(np.float64, entries), strict=True)))
                return number
            shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
            if math.prod(shape) <= 2 * CHUNK:
                return self._of_piece(entries)
            axis = int(np.argmax(shape))
            full = [np.reshape(e, (1,) * (len(shape) - np.ndim(e)) + np.shape(e)) if np.ndim(e) else e for e in entries]
            result = np.empty(shape)
            step = max(1, CHUNK * shape[axis] // math.prod(shape))
            for start in range(0, shape[axis], step):
                part = (slice(None),) * axis + (slice(start, start + step),)
                result[part] = self._of_piece([e[part] if np.ndim(e) and e.shape[axis] > 1 else e for e in full])
        return result

    def of_numbers(self, values: Mapping[str, np.float64]) -> np.float64:
        """Compute it of numbers alone, ``seen_in_range``, which is entered once for many of them."""
        value, *denominators = self._plain_or_wide([values[name] for name in self.names])
        value = np.float64(value)
        undefined = self.otherwise is not None and (value != value or 0 in denominators)
        return np.float64(self.otherwise) if undefined else value

    def _of_piece(self, entries: list[Any]) -> np.ndarray:
        value, *denominators = self._plain_or_wide(entries)
        if self.otherwise is None:
            return value
        undefined = np.isnan(value)
        for each in denominators:
            undefined = undefined | (each == 0)
        somewhere = undefined.any() if undefined.ndim else undefined
        return np.where(undefined, self.otherwise, value)[()] if somewhere else value

    def _plain_or_wide(self, entries: list[Any]) -> list[Any]:
        try:
            return self.plain(*entries)
        except (FloatingPointError, OverflowError):  # within it; what comes out may be an ordinary number
            return _in_wide_range(self.expressions, dict(zip(self.names, entries, strict=True)), self.plain)


@functools.cache
def compiled(expression: sympy.Expr) -> Compiled:
    """Compile an expression for numpy, without the rule for division by zero."""
    return Compiled(expression)


@functools.cache
def compiled_term(expression: sympy.Expr) -> Compiled:
    """Compile a term; it is +inf where it is undefined."""
    return Compiled(expression, math.inf)


@functools.cache
def compiled_slack(expression: sympy.Expr) -> Compiled:
    """Compile a slack; it is -inf where it is undefined."""
    return Compiled(expression, -math.inf)


def _exp(argument: Any) -> Any:
    """numpy's, to whose 0 and infinity a wider range adds nothing."""
    with np.errstate(under="ignore", over="ignore"):
        return np.exp(argument)


_EXP = {"exp": _exp}


def _in_wide_range(
    expressions: tuple[sympy.Expr, ...], values: Mapping[str, Any], plain: Callable[..., list[Any]]
) -> list[Any]:
    """The first expression, and the others, which are only compared with 0, by their signs; as ``plain`` computes
    them where there is a function that wide numbers do not have."""
    wide = {name: Wide.of(value) for name, value in values.items()}
    with np.errstate(all="ignore"):
        try:
            value, *others = (fold(expression, wide, Wide.rational) for expression in expressions)
        except ValueError:
            return plain(*map(np.float64, values.values()))
        return [value.to_float(), *(np.sign(other.mantissa) for other in others)]


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
"""The most binary digits of a power of a fraction outside [-1, 1]."""


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
    digits = plain.numerator.bit_length() * abs(times) if known and isinstance(plain, Fraction) else 0
    if not inside and (not known or digits > LONGEST_POWER):
        raise ValueError(
            f"{power.base} = {plain}: allowed is a number in [-1, 1], or a known exponent and a power of at most "
            f"{LONGEST_POWER} binary digits, to be raised to {power.exp}"
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


def exact_slack(expression: sympy.Expr, values: Mapping[str, Fraction]) -> Fraction | float:
    """Evaluate a rational expression at Fractions, by the rule above.

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
