"""The units check: is a claim homogeneous under F -> cF and x -> cx?

The assumptions of the papers are invariant under both scalings, so a claim that is not is a misprint or says more
than its proof can: its truth would depend on the unit in which losses are measured.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import sympy

from ..claims.arithmetic import compiled
from ..claims.schedules import INDICES, by_rule
from ..claims.statement import Claim
from ..quantities import DIMENSIONLESS, QUANTITIES, Units


class UnitsError(ValueError):
    """Error where the parts of an expression do not have the same units."""


@dataclass(frozen=True)
class Finding:
    """One place of a claim that is not homogeneous: the name of a term, of a hypothesis, of a quantity that the claim
    chooses or of the left side, and what clashes there."""

    where: str
    what: str


def units_of(expression: sympy.Expr) -> Units:
    """Return the units of an expression over the vocabulary's symbols.

    Raises:
        UnitsError: a sum, minimum, exponent or exponential mixes units.

    >>> from fedtheory.quantities import symbol
    >>> print(units_of(symbol("smoothness") * symbol("local_lr") ** 2))
    x^2/F
    """
    if expression.is_Symbol:
        return QUANTITIES[expression.name].units
    if expression.is_number:
        return DIMENSIONLESS
    if expression.is_Mul:
        return functools.reduce(lambda a, b: a * b, map(units_of, expression.args))
    if expression.is_Pow and expression.exp.is_number:
        return units_of(expression.base) ** float(expression.exp)
    if isinstance(expression, sympy.Abs):
        return units_of(expression.args[0])
    if expression.is_Add or isinstance(expression, (sympy.Min, sympy.Max)):
        return _common(expression.args)
    for argument in expression.args:  # exp, log and powers take pure numbers
        _expect(argument, DIMENSIONLESS)
    return DIMENSIONLESS


def check_units(claim: Claim) -> tuple[Finding, ...]:
    """List every place of ``claim`` that is not homogeneous; empty for a homogeneous claim.

    Printed rates are not looked at: the constants that an O(.) hides may have units.

    >>> from fedtheory.papers import claim
    >>> [finding.where for finding in check_units(claim("fast.thm2@main"))]
    ['arbitrary_rounds', 'q_condition']
    >>> check_units(claim("fast.thm2@appendix"))
    ()
    """
    return tuple(_findings(claim))


def _findings(claim: Claim) -> Iterator[Finding]:
    for name, expression, needed in _expressions(claim):
        try:
            units = units_of(expression)
        except UnitsError as error:
            yield Finding(name, str(error))
        else:
            if units != needed and expression != 0:
                yield Finding(name, f"{expression} has units {units} where {needed} is needed")
    for hypothesis in claim.hypotheses:
        for relation in (hypothesis.relation, *hypothesis.alternatives.values()):
            try:
                _common(relation.args)
            except UnitsError as error:
                yield Finding(hypothesis.name, str(error))


def _expressions(claim: Claim) -> Iterator[tuple[str, sympy.Expr, Units]]:
    """(name, expression, the units that it must have) of the left side if it is one, the terms and the choices."""
    left = claim.functional
    if left.expression is not None:
        yield from ((left.name, each, left.units) for each in (left.expression, *left.alternatives.values()))
    yield from ((term.name, term.expression, left.units) for term in claim.terms)
    yield from ((name, choice, QUANTITIES[name].units) for name, choice in claim.choices.items())


def _common(parts: tuple[sympy.Expr, ...]) -> Units:
    """The units that all ``parts`` share; 0 has whatever units are needed."""
    parts = tuple(part for part in parts if part != 0) or parts
    units = [units_of(part) for part in parts]
    if len(set(units)) > 1:
        listed = (f"{part} with units {found}" for part, found in zip(parts, units, strict=True))
        raise UnitsError(f"it adds or compares {' and '.join(listed)}")
    return units[0]


def _expect(expression: sympy.Expr, units: Units) -> None:
    found = units_of(expression)
    if found != units:
        raise UnitsError(f"{expression} has units {found} where {units} is needed")


def scaling_defect(claim: Claim, seed: int = 0, points: int = 60) -> dict[str, float]:
    """Check units by numbers: how far does each term, choice and hypothesis move under random changes of units?

    At random points, every quantity is multiplied by c^a s^b, (a, b) its powers of F and x. A homogeneous term is then
    multiplied by the power that the left side's units say (a choice: its quantity's), and both sides of a homogeneous
    relation by the same factor. Returned is, by name, the largest relative difference over the points (several, so that
    every branch of a minimum is met). A second route to ``check_units``, which shares
    with it only the list of what is looked at.
    """
    draw, drawn = random.Random(seed), []
    names = (*claim.quantities, *(INDICES if any(map(by_rule, claim.choices.values())) else ()))
    for _ in range(points):
        factors = draw.uniform(1.5, 3), draw.uniform(1.5, 3)
        drawn.append((*factors, *(_drawn(name, draw) for name in names)))
    c, s, *values = np.array(drawn).T
    point = dict(zip(names, values, strict=True))
    units = {name: QUANTITIES[name].units for name in names}
    scaled = {name: v * c ** units[name].objective * s ** units[name].parameter for name, v in point.items()}
    defects: dict[str, float] = {}
    for name, defect in _defects(claim, point, scaled, c, s):
        defects[name] = max(float(np.max(defect)), defects.get(name, 0.0))
    return defects


def _defects(
    claim: Claim, point: Mapping[str, np.ndarray], scaled: Mapping[str, np.ndarray], c: np.ndarray, s: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """The relative difference at each of the points, by name; 0 where it is not to be told."""
    for name, expression, needed in _expressions(claim):
        before, after = (_values(expression, each) for each in (point, scaled))
        # An exponential may overflow, or underflow, where digits are lost; counts may make a divisor 0.
        larger, smaller = np.maximum(abs(before), abs(after)), np.minimum(abs(before), abs(after))
        told = (larger < math.inf) & (smaller > 1e-290)
        yield name, np.where(told, _relative(after, before * c**needed.objective * s**needed.parameter), 0.0)
    for hypothesis in claim.hypotheses:
        for relation in (hypothesis.relation, *hypothesis.alternatives.values()):
            (low, high), (scaled_low, scaled_high) = (
                [_values(side, each) for side in relation.args] for each in (point, scaled)
            )
            # low'/low = high'/high, multiplied out: a side may be 0.
            yield hypothesis.name, _relative(scaled_low * high, low * scaled_high)


def _values(expression: sympy.Expr, point: Mapping[str, np.ndarray]) -> np.ndarray:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(compiled(expression)(point), dtype=float)


def _drawn(name: str, draw: random.Random) -> float:
    """A value spread over three decades, so that each branch of a minimum is the smaller one somewhere; a whole number
    where only such are allowed, which may be exponents."""
    known = QUANTITIES[name]
    if known.upper == 1:
        return draw.uniform(0.1, 0.9)
    value = 10 ** draw.uniform(-1.5, 1.5)
    return max(known.lower, float(round(value))) if known.integer else value


def _relative(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(one - other) / np.where(other == 0, 1.0, np.abs(other))
