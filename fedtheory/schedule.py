"""Step sizes by rule: expressions in the round and in the gradient step, kept as text and parsed, never executed."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from .numerals import DIGITS, rational
from .rationals import exact_number

ROUND, STEP = INDICES = ("round_index", "step_index")
"""Names of the indices in a rule: r = 0, 1, ..., and t = r local_steps + k for the gradient step k = 0, 1, ... of round
r."""

LONGEST = 2000
"""Largest number of characters that a rule may have."""

LARGEST, LONGEST_POWER = 1e60, 10**5
"""Largest number that may be written in a rule, and the most bits of a power."""

Value = Fraction | float


@dataclass(frozen=True)
class StepRule:
    """Step size as an expression in ``round_index`` and ``step_index``.

    Numbers, + - * / **, parentheses, and sqrt, min, max, floor, ceiling (also as sympy prints them: Min, Max) are
    allowed. A size is an exact Fraction where it is rational, else a float.

    Args:
        text: the expression.

    Raises:
        ValueError: it is none, or uses another name. When a size is asked for: it is no finite number > 0.

    >>> rule = StepRule("2/(3*(8 + step_index))")
    >>> rule.at(round=1, step=4), StepRule("1/sqrt(round_index + 2)").at(0, 0)
    (Fraction(1, 18), 0.7071067811865475)
    """

    text: str

    def __post_init__(self) -> None:
        used = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)} - _FUNCTIONS.keys()
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
                f"step size {shown!r}: allowed is an expression in {' and '.join(INDICES)} with numbers of at most "
                f"{DIGITS} digits, + - * / **, {', '.join(dict.fromkeys(name.lower() for name in _FUNCTIONS))}"
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

    def sizes(self, round: int, local_steps: int) -> Any:
        """Return the sizes of a round's local steps: one number if they agree, else a tuple."""
        first = round * local_steps
        sizes = tuple(self.at(round, first + k) for k in range(local_steps if self.uses_steps else 1))
        return sizes[0] if len(set(sizes)) == 1 else sizes

    def __float__(self) -> float:
        raise ValueError(f"step size {self.text}: it changes from step to step, allowed here is one number")

    def __str__(self) -> str:
        return self.text


StepSize = Any
"""Step size: a Fraction or a ``StepRule``; most callers that take one have refused rules before."""


def step_size(name: str, value: Any, within_rounds: bool = True) -> StepSize:
    """Read a step size as users write it: a number or a rule. A rule is an object, a sympy expression or text with an
    index in it.

    Raises:
        ValueError: it is neither; or it changes within a round, where it must not.

    >>> step_size("local_lr", "1/10"), step_size("local_lr", "1/(2 + round_index)")
    (Fraction(1, 10), StepRule(text='1/(2 + round_index)'))
    """
    rule: StepRule | None = value if isinstance(value, StepRule) else None
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
    return {name: float(step) for name, step in steps.items() if not isinstance(step, StepRule)}


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
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            inner = [left, right]
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            inner = [operand]
        case ast.Call(ast.Name(name), arguments, []) if name in _FUNCTIONS and arguments:
            inner = arguments if name.lower() in ("min", "max") or len(arguments) == 1 else [node.func]
        case ast.Constant(int() | float() as value) if not isinstance(value, bool) and abs(value) < LARGEST:
            _constant(node, text)
            return
        case ast.Name(name) if name not in _FUNCTIONS:
            return
        case _:
            raise ValueError
    for each in inner:
        _check(each, text)


def _value(node: ast.expr, indices: dict[str, Fraction], text: str) -> Value:
    match node:
        case ast.BinOp(left, operator, right):
            return _OPERATORS[type(operator)](_value(left, indices, text), _value(right, indices, text))
        case ast.UnaryOp(operator, operand):
            inner = _value(operand, indices, text)
            return -inner if isinstance(operator, ast.USub) else inner
        case ast.Call(ast.Name(name), arguments):
            values = [_value(argument, indices, text) for argument in arguments]
            return values[0] if len(values) == 1 and name.lower() in ("min", "max") else _FUNCTIONS[name](*values)
        case ast.Constant():
            return _constant(node, text)
    assert isinstance(node, ast.Name)
    return indices[node.id]
