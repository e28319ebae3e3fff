"""A second decider for polynomial inequalities: z3, for up to a dozen parameters.

Its counterexamples are checked in our own rational arithmetic. What it proves comes without a certificate. Where it is
missing, fails or runs out of time, nothing is decided.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from .polynomials import Polynomial, Ratio
from .positivity import Counterexample, counterexample_at
from .regions import Region

MOST_PARAMETERS = 12
"""With more parameters z3 is not asked."""


def decide(expression: sympy.Expr, where: Region, milliseconds: int = 2000) -> bool | Counterexample | None:
    """``True`` if z3 finds ``expression >= 0`` on the region to hold wherever it is defined, a verified counterexample,
    or ``None``.

    Raises:
        ValueError: no rational function with rational coefficients, or a symbol of which the region says nothing.

    >>> from fedtheory.proof.regions import nonnegative, region
    >>> x = sympy.Symbol("x")
    >>> decide((x - 1) ** 2, region(nonnegative("x"))), decide(x**2 - 2 * x, region(nonnegative("x"))).verify()
    (True, True)
    """
    inequality = Ratio.of(expression)
    pulled = where.pulled(inequality)
    kinds = dict(where.kinds)
    if len(pulled.names) > MOST_PARAMETERS:
        return None
    try:
        answer, model = _ask(pulled, kinds, milliseconds)
    except Exception:  # whatever fails in a missing or foreign solver decides nothing
        return None
    if answer == "unsat":
        return True
    if answer != "sat":
        return None
    parameters = {name: model.get(name, Fraction(kind != "nonnegative")) for name, kind in kinds.items()}
    return counterexample_at(inequality, where, parameters)


def _ask(pulled: Ratio, kinds: dict[str, str], milliseconds: int) -> tuple[str, dict[str, Fraction]]:
    """Whether numerator * denominator can be negative, and where."""
    import z3

    variables = {name: z3.Real(name) for name in sorted(pulled.names)}
    solver = z3.Solver()
    solver.set("timeout", milliseconds)
    for name, variable in variables.items():
        solver.add(variable > 0 if kinds[name] == "positive" else variable >= 0)
    top, bottom = (_polynomial(p, variables, z3) for p in (pulled.numerator, pulled.denominator))
    if all(c >= 0 for c in pulled.denominator.coefficients):
        solver.add(top < 0, bottom != 0)
    else:
        solver.add(top * bottom < 0)
    answer = str(solver.check())
    if answer != "sat":
        return answer, {}
    found = solver.model()
    values = {name: found.eval(v, model_completion=True) for name, v in variables.items()}
    return answer, {name: _rational(value, z3) for name, value in values.items()}


def _polynomial(polynomial: Polynomial, variables: dict, z3: Any) -> Any:
    total = z3.RealVal(0)
    for (powers, _), coefficient in zip(polynomial.terms, polynomial.coefficients, strict=True):
        product = z3.Q(coefficient.numerator, coefficient.denominator)
        for name, power in zip(polynomial.names, powers, strict=True):
            for _ in range(power):
                product = product * variables[name]
        total = total + product
    return total


def _rational(value: Any, z3: Any) -> Fraction:
    """A model's number, an irrational one to 30 digits: the point is checked anyway."""
    if z3.is_algebraic_value(value):
        value = value.approx(30)
    return Fraction(value.numerator_as_long(), value.denominator_as_long())
