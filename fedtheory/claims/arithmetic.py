"""Arithmetic of claims on arrays of floats, compiled; in exact numbers it is that of ``balls``.

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
from typing import Any

import numpy as np
import sympy

from .balls import fold, two_sided_denominators
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
