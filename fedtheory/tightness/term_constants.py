"""Best constant of each term of a bound on squared gradients or on one round: the least with which the bound holds,
other terms kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

from sympy import Expr, expand, lambdify

from ..claims.statement import Claim
from ..functionals import AVERAGES
from ..quantities import symbol
from ..worstcase.problem import Problem
from ..worstcase.round_quantities import ROUND_METRIC
from ..worstcase.worst import SOLVED, UNBOUNDED, solved
from .function_class import NotApplicable, of_one_round
from .matched_problem import Comparison

CONSTANTS = {"initial_gap": 1, "initial_distance": 2, "dissimilarity": 2, "gradient_noise": 2, "server_noise": 2}
"""Constants whose multiples a right side adds up, with their powers: F(x_0) - F*, |x_0 - x*|^2, delta^2, sigma^2,
sigma_s^2."""

OF_A_ROUND = {"gradient_norm": 2, "objective_decrease": 1, "full_pseudogradient": 1, "cohort_pseudogradient": 1,
              "arbitrary_pseudogradient": 1, "arbitrary_excess": 1, "arbitrary_drift": 1}  # fmt: skip
"""Quantities of one round whose multiples its right side may add up, with their powers: |grad F(x_0)|^2 and others."""

IN_PROGRAM = {"initial_gap": "initial_gap", "initial_distance": "contraction",
              "dissimilarity": "dissimilarity_at_optimum", "gradient_noise": "gradient_noise"}  # fmt: skip

RESOLVED = 1e-6
"""Relative size, compared with the claim's constant, below which a least constant counts as 0."""

SLACK = 1e-6
"""Relative tolerance of a coefficient: a least one that exceeds it by no more counts as equal."""

HOMOGENEOUS = 1e-9


@dataclass(frozen=True)
class ConstantTightness:
    """Tightness of the terms of one constant, in a bound that is the sum of all terms.

    Attributes:
        of: the constant: "initial_gap", of F(x_0) - F*; "initial_distance", of |x_0 - x*|^2; "dissimilarity", of
            delta^2; "gradient_noise", of sigma^2.
        cohort: how many clients take part; noise is compared where all do.
        coefficient: the claim's multiple of it, of all terms together.
        least: the least with which the bound holds over the class, the terms of the other constants as they are; 0
            where none is needed, infinite where no multiple is enough, ``None`` where the solve was inaccurate.
        looseness: coefficient / least; ``None`` unless both are numbers > 0.
        terms: of each term by its name the claim's coefficient and the least one, all others as they are.
    """

    of: str
    cohort: int
    coefficient: float
    least: float | None
    looseness: float | None
    terms: Mapping[str, tuple[float, float | None]]

    @property
    def exceeded(self) -> bool:
        """Whether the claim's multiple is not enough."""
        return self.least is not None and self.least > self.coefficient + SLACK * abs(self.coefficient)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        terms = {name: {"coefficient": own, "least": least} for name, (own, least) in self.terms.items()}
        return vars(self) | {"terms": terms}


def coefficients(statement: Claim, values: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Return {(term, constant): coefficient} of a right side: a sum of multiples of powers as ``CONSTANTS`` and
    ``OF_A_ROUND`` have them.

    Raises:
        NotApplicable: it is none.

    >>> from fedtheory.papers import claim
    >>> given = {"local_lr": 0.5, "local_steps": 2, "rounds": 4, "server_lr": 0.5}
    >>> coefficients(claim("safari.rem5.b"), given | {"smoothness": 3})
    {('optimization', 'initial_gap'): 1.0, ('server_noise', 'server_noise'): 1.5}
    """
    found: dict[tuple[str, str], float] = {}
    powers = CONSTANTS | OF_A_ROUND
    for term in statement.terms:
        parts = {name: _part(term.expression, name, power) for name, power in powers.items()}
        rest = expand(term.expression - sum(part * symbol(n) ** powers[n] for n, part in parts.items()))
        if abs(_number(rest, dict(values) | dict.fromkeys(powers, 1.0))) > HOMOGENEOUS:
            raise NotApplicable(f"{term.name} is no sum of multiples of constants")
        found |= {(term.name, name): _number(part, values) for name, part in parts.items() if part != 0}
    return found


def _part(expression: Expr, name: str, power: int) -> Expr:
    """The coefficient of one constant's power, where the others are 0."""
    zero = {symbol(other): 0 for other in (*CONSTANTS, *OF_A_ROUND) if other != name}
    return (expression.subs(zero).subs(symbol(name), 1)) if expression.has(symbol(name)) else expression * 0


def _number(expression: Expr, values: Mapping[str, Any]) -> float:
    names = sorted(s.name for s in expression.free_symbols)
    return float(lambdify([symbol(name) for name in names], expression)(*(float(values[name]) for name in names)))


def of_constants(compared: Comparison, all_of_them: Comparison | None) -> tuple[ConstantTightness, ...]:
    """Compute the best multiple of every constant, see ``ConstantTightness``.

    For a constant c it is the largest of metric - (the other constants' terms), over all federations of the class with
    c = 1: one semidefinite program.

    Args:
        all_of_them: the claim where all clients take part with noise, of which the noise is compared; ``None``: it is
            left out, unless it is in ``compared``.

    Raises:
        NotApplicable: the right side is no sum of multiples of the constants.
    """
    found = _of(compared, [name for name in IN_PROGRAM if name != "gradient_noise" or compared.noise])
    if all_of_them is not None and not compared.noise:
        found += _of(all_of_them, ["gradient_noise"])
    if not found:
        raise NotApplicable("nothing of its right side is a multiple of |x_0 - x*|^2, delta^2 or sigma^2")
    return tuple(found)


def _of(compared: Comparison, asked: Sequence[str]) -> list[ConstantTightness]:
    claimed = coefficients(compared.statement, compared.values)
    totals: dict[str, float] = {}
    for (_, constant), coefficient in claimed.items():
        totals[constant] = totals.get(constant, 0.0) + coefficient
    there = {
        "initial_gap": True,
        "initial_distance": True,
        "dissimilarity": compared.dissimilarity > 0,
        "gradient_noise": compared.noise > 0,
    }
    known = [name for name in IN_PROGRAM if name in totals and there[name]]
    of_round = of_one_round(compared.statement)
    problem = partial(round_problem, claimed=totals) if of_round else gradient_problem
    least = {
        name: _least(problem(compared, name, {n: totals[n] for n in known if n != name}), totals[name])
        for name in known
        if name in asked
    }
    if any(value is not None and value <= totals[name] for name, value in least.items()):
        least = {name: None if value == inf else value for name, value in least.items()}  # all of it holds
    return [_together(name, compared, claimed, totals[name], value) for name, value in least.items()]


def _least(problem: Problem, claimed: float) -> float | None:
    found = solved(problem)
    if found.status != SOLVED or found.value is None:
        return inf if found.status == UNBOUNDED else None
    return found.value if abs(found.value) > RESOLVED * abs(claimed) else 0.0


def _together(
    name: str, compared: Comparison, claimed: Mapping[tuple[str, str], float], total: float, least: float | None
) -> ConstantTightness:
    own = {term: coefficient for (term, constant), coefficient in claimed.items() if constant == name}
    terms = {term: (each, least if least is None else max(0.0, least - (total - each))) for term, each in own.items()}
    number = least is not None and 0 < least < inf and total > 0
    return ConstantTightness(
        name, int(compared.values["arbitrary_cohort"]), total, least, total / least if number and least else None, terms
    )


def round_problem(
    compared: Comparison, name: str, prices: Mapping[str, float], claimed: Mapping[str, float]
) -> Problem:
    """Set up the worst-case problem of one round.

    Its objective is the left side less the right side's multiples of the round's quantities. The constant ``name`` is
    1; the other constants have the multiples ``prices``.
    """
    left, known = compared.statement.functional.name, (name, *prices)
    combination = {left: Fraction(1)}
    for quantity in sorted(OF_A_ROUND.keys() & claimed.keys()):
        as_left = "squared_gradient" if quantity == "gradient_norm" else quantity
        combination[as_left] = combination.get(as_left, Fraction(0)) - Fraction(claimed[quantity])
    others = {IN_PROGRAM[n]: Fraction(p) for n, p in prices.items() if n != "initial_distance"}
    return Problem(
        compared.functions,
        compared.plan,
        ROUND_METRIC,
        everywhere="dissimilarity" in known,
        dissimilarity_at_optimum=Fraction(1) if "dissimilarity" in known else None,
        gradient_noise=Fraction("gradient_noise" in known),
        prices=others,
        combination=combination,
        contraction=None if name == "initial_distance" else Fraction(prices.get("initial_distance", 0)),
    )


def gradient_problem(compared: Comparison, name: str = "", prices: Mapping[str, float] | None = None) -> Problem:
    """Set up the program of the largest metric at these values of the constants.

    With ``prices``, the constants are free but one, ``name``, which is 1: the right side is a sum of multiples of them,
    so that their values do not matter.
    """
    statement, zeta, noise, gap = compared.statement, compared.dissimilarity, compared.noise, Fraction(1)
    if prices is not None:
        zeta, noise = (Fraction(each in (name, *prices)) for each in ("dissimilarity", "gradient_noise"))
    else:
        gap = compared.values["initial_gap"]
    average = next((a.options[0] for a in statement.ambiguities if a.name == "average"), AVERAGES[0])
    return Problem(
        compared.functions,
        compared.plan,
        statement.functional.name,
        average,
        everywhere=True,
        dissimilarity_at_optimum=zeta,
        gradient_noise=noise,
        initial_gap=gap,
        prices={IN_PROGRAM[other]: Fraction(price) for other, price in (prices or {}).items()},
    )
