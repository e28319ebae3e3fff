"""Numbers from claims: in floating point over arrays, or in any exact arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..quantities import RUN_QUANTITIES, check_values

if TYPE_CHECKING:
    from ..setting import Setting
    from .statement import Claim


@dataclass(frozen=True)
class Bound:
    """A claim at given values.

    Attributes:
        claim: its ref.
        value: the right side; scalar or array, in the functional's units.
        terms: the right side's summands by name.
        slack: by hypothesis: >= 0 where it holds; ``None`` where a quantity of the run is not known ("undecided").
        quantities: the values that went in.
        provenance: by quantity, where its value comes from (when taken from a setting).
    """

    claim: str
    value: np.ndarray
    terms: Mapping[str, np.ndarray]
    slack: Mapping[str, np.ndarray | None]
    quantities: Mapping[str, Any]
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def hypotheses_hold(self) -> bool | None:
        """Whether every hypothesis holds everywhere; ``None`` if none fails but some is undecided."""
        if any(slack is not None and np.any(slack < 0) for slack in self.slack.values()):
            return False
        return None if any(slack is None for slack in self.slack.values()) else True


def evaluate(claim: Claim, values: Mapping[str, Any]) -> Bound:
    """See ``Claim.evaluate``."""
    check_values(values)
    missing = [n for n in claim.quantities if n not in values and n not in RUN_QUANTITIES]
    if missing:
        raise ValueError(f"{claim.ref} needs {', '.join(missing)}")
    arrays = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    terms = {term.name: compiled(term.expression)(arrays) for term in claim.terms}
    slack = {h.name: _slack(h.slack, arrays) for h in claim.hypotheses}
    return Bound(claim.ref, functools.reduce(np.add, terms.values()), terms, slack, dict(values))


def _slack(expression: sympy.Expr, arrays: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The slack; where it divides 0 by 0 the condition says nothing, which counts as failing."""
    if any(s.name not in arrays for s in expression.free_symbols):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = compiled(expression)(arrays)
    return np.where(np.isnan(slack), -np.inf, slack)[()]


@functools.cache
def compiled(expression: sympy.Expr) -> Callable[[Mapping[str, Any]], np.ndarray]:
    """A numpy function of a mapping from quantity names to arrays."""
    names = sorted(s.name for s in expression.free_symbols)
    arguments = [next(s for s in expression.free_symbols if s.name == name) for name in names]
    least = {"amin": lambda entries, axis: functools.reduce(np.minimum, entries)}
    function = sympy.lambdify(arguments, expression, modules=[least, "numpy"])
    return lambda values: function(*(values[name] for name in names))


def at_setting(claim: Claim, setting: Setting, rounds: Any, overrides: Mapping[str, Any]) -> Bound:
    """See ``Claim.at``."""
    known = setting.quantities(rounds, needed=[name for name in claim.quantities if name not in overrides])
    values = {name: constant.value for name, constant in known.items()} | dict(overrides)
    provenance = {name: f"{constant.kind}: {constant.how}" for name, constant in known.items()}
    provenance |= dict.fromkeys(overrides, "given")
    bound = evaluate(claim, values)
    return Bound(bound.claim, bound.value, bound.terms, bound.slack, bound.quantities, provenance)


def fold(expression: sympy.Expr, values: Mapping[str, Any], number: Callable[[sympy.Rational], Any]) -> Any:
    """The expression in the arithmetic of ``values``: Fractions (without ``exp``) or real balls, which have the
    methods ``exp`` and ``min``; ``number`` converts the rational constants.

    >>> from fractions import Fraction
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
        return parts[0] ** exponent if exponent >= 0 else number(sympy.Integer(1)) / parts[0] ** -exponent
    if isinstance(expression, sympy.exp):
        return parts[0].exp()
    if isinstance(expression, sympy.Min):
        return functools.reduce(lambda a, b: a.min(b) if hasattr(a, "min") else min(a, b), parts)
    raise ValueError(f"no exact arithmetic for {type(expression).__name__} in {expression}")
