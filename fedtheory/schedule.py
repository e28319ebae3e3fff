"""Step sizes by rule: expressions in the round and in the gradient step, kept as text and parsed, never executed."""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from .code_digest import code_digest
from .numerals import DIGITS, rational
from .rationals import exact_number, nearest_float

ROUND, STEP = INDICES = ("round_index", "step_index")
"""Names of the indices in a rule: r = 0, 1, ..., and t = r local_steps + k for the gradient step k = 0, 1, ... of round
r."""

LONGEST = 2000
"""Largest number of characters that a rule may have."""

LARGEST, LONGEST_POWER = 1e60, 10**5
"""Number that those written in a rule are below, and the most bits of a power."""

_AT_ONCE, _EXACTLY, _NEAR = 2**16, 2000, 1e-9
"""Rounds whose steps are looked at together; steps that are all looked at exactly; what is near 0, next to the largest.
"""

Value = Fraction | float


@dataclass(frozen=True)
class StepRule:
    """Step size as an expression in ``round_index`` and ``step_index``.

    Numbers, pi, ``+ - * / **``, parentheses, and sqrt, cos, exp, min, max, floor, ceiling are allowed, and pieces:
    ``piecewise((size, condition), ..., (size, True))``, where the first that is met counts, and conditions are
    comparisons, joined by & and |. All may be as sympy prints them (Min, Max, Piecewise). A size is an exact Fraction
    where only rational arithmetic and square roots of squares make it, else a float; cos, exp and pi make floats, but
    for cos(0) and exp(0).

    Args:
        text: the expression.

    Raises:
        ValueError: it is none, or uses another name. When a size is asked for: it is no finite number > 0.

    >>> rule = StepRule("2/(3*(8 + step_index))")
    >>> rule.at(round=1, step=4), StepRule("1/sqrt(round_index + 2)").at(0, 0)
    (Fraction(1, 18), 0.7071067811865475)
    >>> cosine = "(1 + cos(pi*round_index/100))/20"
    >>> warm_up = StepRule(f"piecewise(((1 + round_index)/50, round_index < 5), ({cosine}, True))")
    >>> warm_up.at(4, 0), warm_up.at(50, 0)
    (Fraction(1, 10), 0.05)
    """

    text: str

    def __post_init__(self) -> None:
        used = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)} - _WORDS
        if used - set(INDICES):
            raise ValueError(
                f"step size {self.text!r} uses {sorted(used - set(INDICES))[0]}: allowed are {' and '.join(INDICES)}"
            )

    @classmethod
    def of(cls, expression: Any) -> StepRule:
        """Return the rule of a sympy expression in the two symbols; its floats are the dyadic numbers that they are."""
        floats = {number: _rational(number) for number in expression.atoms() if number.is_Float}
        return cls(str(expression.xreplace(floats)))

    @cached_property
    def _tree(self) -> ast.expr:
        try:
            if len(self.text) > LONGEST:
                raise ValueError
            text = self.text.strip()
            tree = ast.parse(text, mode="eval").body
            _check(tree, text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            shown = self.text if len(self.text) < 80 else self.text[:77] + "..."
            raise ValueError(
                f"step size {shown!r}: allowed is an expression in {' and '.join(INDICES)} with numbers below "
                f"{LARGEST:g}, of at most {DIGITS} digits, pi, + - * / **, "
                f"{', '.join(dict.fromkeys(name.lower() for name in _FUNCTIONS))}, "
                "piecewise((size, condition), ..., (size, True))"
            ) from None
        return tree

    @property
    def uses_steps(self) -> bool:
        """Whether the size changes within a round."""
        return any(isinstance(node, ast.Name) and node.id == STEP for node in ast.walk(self._tree))

    def at(self, round: int, step: int) -> Value:
        """Return the size of a step."""
        try:
            size = _value(self._tree, {ROUND: Fraction(round), STEP: Fraction(step)}, self.text.strip())
            fine = math.isfinite(size) and size > 0
        except (ArithmeticError, ValueError, TypeError):
            size, fine = math.nan, False
        if not fine:
            raise ValueError(
                f"step size {self.text} is {size} at {ROUND} = {round}, {STEP} = {step}: allowed is a finite number > 0"
            )
        return size

    def check_rounds(self, name: str, rounds: int, local_steps: int = 1) -> None:
        """Refuse a rule that gives a step of so many rounds no finite size > 0; the first such round is named.

        Of many steps, those are looked at exactly whose floats are not > 0, and those before them that are near 0.
        """
        each = local_steps if self.uses_steps else 1
        for first in range(0, rounds, _AT_ONCE):
            many = min(_AT_ONCE, rounds - first)
            places = (first * local_steps + np.arange(many)[:, None] * local_steps + np.arange(each)).ravel()
            for place in self._doubtful(places, local_steps) if rounds * each > _EXACTLY else places.tolist():
                try:
                    self.at(place // local_steps, place)
                except ValueError as error:
                    raise ValueError(f"{name}: {error}; no round is run") from None

    def _doubtful(self, places: np.ndarray, local_steps: int) -> list[int]:
        """The steps whose sizes, as floats, are not > 0, or that come just before one and are near 0."""
        indices = {ROUND: (places // local_steps).astype(float), STEP: places.astype(float)}
        with np.errstate(all="ignore"):
            sizes = np.broadcast_to(_floats(self._tree, indices, self.text.strip()), places.shape)
            wrong = ~(np.isfinite(sizes) & (sizes > 0))
            near = sizes <= _NEAR * np.max(np.abs(sizes), initial=0.0, where=np.isfinite(sizes))
        before = np.flatnonzero(wrong)[:1]
        while before.size and before[0] > 0 and near[before[0] - 1]:
            wrong[before[0] - 1] = True
            before = before - 1
        return [int(place) for place in places[wrong]]

    def sizes(self, round: int, local_steps: int) -> Any:
        """Return the sizes of a round's local steps: one number if they agree, else a tuple."""
        first = round * local_steps
        sizes = tuple(self.at(round, first + k) for k in range(local_steps if self.uses_steps else 1))
        return sizes[0] if len(set(sizes)) == 1 else sizes

    def __float__(self) -> float:
        raise ValueError(f"step size {self.text}: it changes from step to step, allowed here is one number")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class StepFunction(StepRule):
    """Step size as a function of one's own, of the round, or of the round and the step (see ``INDICES``).

    Runs and the exact moments of runs take it; no claim speaks of it, since nothing is known of it but its values.

    Args:
        text: its name.
        function: f(round_index) or f(round_index, step_index), a number > 0 whose floats are taken as they are.
        digest: of what it does.

    Raises:
        ValueError: it takes other arguments. When a size is asked for: it is no finite number > 0.

    >>> step_size("local_lr", lambda round_index: 0.5 ** round_index).at(2, 0)
    0.25
    """

    function: Callable[..., Any] = field(default=float, compare=False)
    digest: str = ""

    def __post_init__(self) -> None:
        if self._arguments not in (1, 2):
            raise ValueError(f"{self}: allowed are functions of {ROUND}, or of {ROUND} and {STEP}")

    @classmethod
    def named(cls, function: Callable[..., Any]) -> StepFunction:
        """Return the step size of a function, with its name and digest."""
        digest = code_digest(function) if hasattr(function, "__code__") else repr(function)
        return cls(getattr(function, "__name__", type(function).__name__), function, digest)

    @cached_property
    def _arguments(self) -> int:
        try:
            needed = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return 1
        return sum(each.kind <= each.POSITIONAL_OR_KEYWORD and each.default is each.empty for each in needed)

    @property
    def uses_steps(self) -> bool:
        return self._arguments == 2

    def at(self, round: int, step: int) -> Value:
        given = self.function(*(round, step)[: self._arguments])
        exact = isinstance(given, int | Fraction) and not isinstance(given, bool)
        size = Fraction(given) if exact else _float(given)
        if not (math.isfinite(size) and size > 0):
            raise ValueError(
                f"step size {self} is {given} at {ROUND} = {round}, {STEP} = {step}: allowed is a finite number > 0"
            )
        return size

    def __repr__(self) -> str:
        return f"StepFunction({self.text!r}, {self.digest})"

    def __str__(self) -> str:
        return f"of the function {self.text}"


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


StepSize = Any
"""Step size: a Fraction or a ``StepRule``; most callers that take one have refused rules before."""


def step_size(name: str, value: Any, within_rounds: bool = True) -> StepSize:
    """Read a step size as users write it: a number or a rule. A rule is an object, a sympy expression, text with an
    index in it, or a function (see ``StepFunction``).

    Raises:
        ValueError: it is neither; or it changes within a round, where it must not.

    >>> step_size("local_lr", "1/10"), step_size("local_lr", "1/(2 + round_index)")
    (Fraction(1, 10), StepRule(text='1/(2 + round_index)'))
    """
    rule: StepRule | None = value if isinstance(value, StepRule) else None
    if rule is None and callable(value) and not getattr(value, "free_symbols", None):
        rule = StepFunction.named(value)
    if isinstance(value, str) and any(index in value for index in INDICES):
        rule = StepRule(value)
    elif rule is None and getattr(value, "free_symbols", None):
        rule = StepRule.of(value)
    if rule is None:
        return exact_number(name, value)
    if rule.uses_steps and not within_rounds:
        raise ValueError(f"{name} = {rule}: allowed is an expression in {ROUND}")
    rule.at(0, 0)
    return rule


def at_round(step: Any, round: int, local_steps: int = 1) -> Any:
    """Return a step size in a round: a number, or one for each local step."""
    return step.sizes(round, local_steps) if isinstance(step, StepRule) else step


def one_number(name: str, step: Any) -> Fraction:
    """Return the step size as one number; raise ``ValueError`` if it changes."""
    if isinstance(step, StepRule | tuple):
        raise ValueError(f"{name} = {step}: it changes from step to step, allowed here is one number")
    return step


def numbers(**steps: Any) -> dict[str, float]:
    """Return the step sizes that are one number, as floats, by name."""
    return {name: nearest_float(step) for name, step in steps.items() if not isinstance(step, StepRule)}


def _rational(number: Any) -> Any:
    import sympy

    return sympy.Rational(*float(number).as_integer_ratio())


# Parsing ------------------------------------------------------------------------------------------------------------


def _root(value: Value) -> Value:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root**2 == value:
            return root
    return math.sqrt(value)


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Fraction) and exponent.denominator == 2:
        return _power(_root(base), Fraction(exponent.numerator))
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        if abs(exponent) * max(base.numerator.bit_length(), base.denominator.bit_length()) > LONGEST_POWER:
            raise ValueError("too long a power")
        return base ** int(exponent)
    return float(base) ** float(exponent)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sqrt": _root, "min": min, "max": max, "Min": min, "Max": max,
    "floor": lambda v: Fraction(math.floor(v)), "ceiling": lambda v: Fraction(math.ceil(v)),
    "cos": lambda v: math.cos(v) if v else Fraction(1), "exp": lambda v: math.exp(v) if v else Fraction(1),
}  # fmt: skip
_NUMBERS = {"pi": math.pi}
_PIECES = ("piecewise", "Piecewise")
_WORDS = {*_FUNCTIONS, *_NUMBERS, *_PIECES, "Eq", "Ne"}
_COMPARISONS: dict[type | str, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, "Eq": operator.eq, "Ne": operator.ne,
}  # fmt: skip
_OPERATORS: dict[type, Callable[[Any, Any], Value]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b, ast.Pow: _power,
}  # fmt: skip


def _constant(node: ast.expr, text: str) -> Fraction:
    return rational(str(ast.get_source_segment(text, node)))


def _check(node: ast.expr, text: str) -> None:
    """Raise ``ValueError`` at what is no arithmetic."""
    match node:
        case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
            inner = [left, right]
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            inner = [operand]
        case ast.Call(ast.Name(name), [_, *_] as pieces, []) if name in _PIECES:
            for piece in pieces:
                if not isinstance(piece, ast.Tuple) or len(piece.elts) != 2:
                    raise ValueError
                _check(piece.elts[0], text)
                _check_condition(piece.elts[1], text)
            return
        case ast.Call(ast.Name(name), arguments, []) if name in _FUNCTIONS and arguments:
            inner = arguments if name.lower() in ("min", "max") or len(arguments) == 1 else [node.func]
        case ast.Constant(int() | float() as value) if not isinstance(value, bool) and abs(value) < LARGEST:
            _constant(node, text)
            return
        case ast.Name(name) if name not in _WORDS or name in _NUMBERS:
            return
        case _:
            raise ValueError
    for each in inner:
        _check(each, text)


def _check_condition(node: ast.expr, text: str) -> None:
    """Raise ``ValueError`` at what is no condition."""
    match node:
        case ast.Constant(bool()):
            return
        case ast.Compare(left, kinds, others) if all(type(kind) in _COMPARISONS for kind in kinds):
            for each in (left, *others):
                _check(each, text)
        case ast.Call(ast.Name("Eq" | "Ne"), [one, other], []):
            _check(one, text)
            _check(other, text)
        case ast.BinOp(one, ast.BitAnd() | ast.BitOr(), other):
            _check_condition(one, text)
            _check_condition(other, text)
        case ast.BoolOp(_, conditions):
            for each in conditions:
                _check_condition(each, text)
        case _:
            raise ValueError


_OF_FLOATS: dict[str | type, Callable[..., Any]] = {
    "sqrt": np.sqrt, "floor": np.floor, "ceiling": np.ceil, "cos": np.cos, "exp": np.exp, "min": np.minimum,
    "max": np.maximum, ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.Pow: np.power,
}  # fmt: skip


def _floats(node: ast.expr, indices: dict[str, Any], text: str) -> Any:
    """The values of an expression at many indices, as floats; NaN where it has none, or one too large for a float."""
    match node:
        case ast.BinOp(left, kind, right):
            return _finite(_OF_FLOATS[type(kind)](_floats(left, indices, text), _floats(right, indices, text)))
        case ast.UnaryOp(sign, operand):
            inner = _floats(operand, indices, text)
            return -inner if isinstance(sign, ast.USub) else inner
        case ast.Call(ast.Name(name), pieces) if name in _PIECES:
            found: Any = np.full(indices[ROUND].shape, np.nan)
            for piece in reversed(pieces):
                assert isinstance(piece, ast.Tuple)
                found = np.where(_met(piece.elts[1], indices, text), _floats(piece.elts[0], indices, text), found)
            return found
        case ast.Call(ast.Name(name), arguments):
            values = [_floats(argument, indices, text) for argument in arguments]
            function = _OF_FLOATS[name.lower()]
            return functools.reduce(function, values) if name.lower() in ("min", "max") else _finite(function(*values))
        case ast.Constant():
            return np.float64(_constant(node, text))
    assert isinstance(node, ast.Name)
    return np.float64(_NUMBERS[node.id]) if node.id in _NUMBERS else indices[node.id]


def _finite(values: Any) -> Any:
    return np.where(np.isfinite(values), values, np.nan)


def _met(node: ast.expr, indices: dict[str, Any], text: str) -> Any:
    """Whether a condition is met at many indices."""
    match node:
        case ast.Constant(value):
            return np.bool_(value)
        case ast.Compare(left, kinds, others):
            values = [_floats(each, indices, text) for each in (left, *others)]
            pairs = zip(kinds, values[:-1], values[1:], strict=True)
            return functools.reduce(np.logical_and, [_COMPARISONS[type(kind)](a, b) for kind, a, b in pairs])
        case ast.Call(ast.Name(name), [one, other]):
            return _COMPARISONS[name](_floats(one, indices, text), _floats(other, indices, text))
        case ast.BinOp(one, kind, other):
            join = np.logical_and if isinstance(kind, ast.BitAnd) else np.logical_or
            return join(_met(one, indices, text), _met(other, indices, text))
    assert isinstance(node, ast.BoolOp)
    join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
    return functools.reduce(join, [_met(each, indices, text) for each in node.values])


def _holds(node: ast.expr, indices: dict[str, Fraction], text: str) -> bool:
    match node:
        case ast.Constant(value):
            return bool(value)
        case ast.Compare(left, kinds, others):
            values = [_value(each, indices, text) for each in (left, *others)]
            pairs = zip(kinds, values[:-1], values[1:], strict=True)
            return all(_COMPARISONS[type(kind)](a, b) for kind, a, b in pairs)
        case ast.Call(ast.Name(name), [one, other]):
            return _COMPARISONS[name](_value(one, indices, text), _value(other, indices, text))
        case ast.BinOp(one, ast.BitAnd(), other):
            return _holds(one, indices, text) and _holds(other, indices, text)
        case ast.BinOp(one, _, other):
            return _holds(one, indices, text) or _holds(other, indices, text)
    assert isinstance(node, ast.BoolOp)
    return (all if isinstance(node.op, ast.And) else any)(_holds(each, indices, text) for each in node.values)


def _value(node: ast.expr, indices: dict[str, Fraction], text: str) -> Value:
    match node:
        case ast.BinOp(left, kind, right):
            return _OPERATORS[type(kind)](_value(left, indices, text), _value(right, indices, text))
        case ast.UnaryOp(sign, operand):
            inner = _value(operand, indices, text)
            return -inner if isinstance(sign, ast.USub) else inner
        case ast.Call(ast.Name(name), pieces) if name in _PIECES:
            for piece in pieces:
                assert isinstance(piece, ast.Tuple)
                if _holds(piece.elts[1], indices, text):
                    return _value(piece.elts[0], indices, text)
            raise ValueError("no piece's condition is met")
        case ast.Call(ast.Name(name), arguments):
            values = [_value(argument, indices, text) for argument in arguments]
            return values[0] if len(values) == 1 and name.lower() in ("min", "max") else _FUNCTIONS[name](*values)
        case ast.Constant():
            return _constant(node, text)
    assert isinstance(node, ast.Name)
    return _NUMBERS[node.id] if node.id in _NUMBERS else indices[node.id]
