"""Solver of systems of polynomial inequalities: z3.

Its values are checked in rational arithmetic. That there are none comes without a certificate. If z3 is missing, fails
or runs out of steps, nothing is decided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from ..claims.balls import denominators, two_sided_denominators
from ..quantities import ORDERED_PAIRS, QUANTITIES
from .polynomial_data import Polynomial, plain

SOLVER_STEPS = 20_000_000
"""Resource limit of z3 for a system. Unlike a time limit, it gives the same answer on every machine."""


@dataclass(frozen=True)
class Unsolvable:
    """Statement that no numbers solve a system: the solver that says so, and the system in SMT-LIB."""

    solver: str
    system: str


def solve(expressions: Sequence[sympy.Expr]) -> Unsolvable | dict[str, Fraction] | None:
    """Ask z3 for values of quantities, within the vocabulary's bounds, that make every rational function >= 0. Return
    values to be checked, or that there are none; ``None`` if z3 does not know, fails or is missing.

    >>> from sympy import Rational, Symbol
    >>> steps = Symbol("local_steps")  # a whole number
    >>> type(solve([steps - Rational(6, 5), Rational(9, 5) - steps])).__name__, solve([steps - 3, 3 - steps])
    ('Unsolvable', {'local_steps': Fraction(3, 1)})
    """
    try:
        import z3
    except ImportError:
        return None
    used = sorted({s.name for e in expressions for s in e.free_symbols})
    whole = [name for name in used if QUANTITIES[name].integer]
    numbers = {name: (z3.Int if name in whole else z3.Real)(name) for name in used}
    reals = {name: z3.ToReal(number) if name in whole else number for name, number in numbers.items()}
    solver = z3.Solver() if whole else z3.SolverFor("QF_NRA")
    solver.set("rlimit", SOLVER_STEPS)
    for name, number in reals.items():
        known = QUANTITIES[name]
        if known.lower > -math.inf:
            solver.add(number > 0 if known.positive else number >= z3.RealVal(str(Fraction(known.lower))))
        if known.upper < math.inf:
            solver.add(number <= z3.RealVal(str(Fraction(known.upper))))
    solver.add(*(reals[a] <= reals[b] for a, b in ORDERED_PAIRS if a in reals and b in reals))
    try:
        for expression in expressions:
            top, bottom = (_of(part, reals, z3) for part in sympy.fraction(sympy.together(expression)))
            holds = z3.And(bottom != 0, top * bottom >= 0)
            # Over a denominator of one sign a quotient may be +inf. The system then asks nothing, which only makes it
            # harder to contradict.
            infinite = len(denominators(expression)) > len(two_sided_denominators(expression))
            solver.add(z3.Or(holds, bottom == 0) if infinite else holds)
        answer = solver.check()
        if answer == z3.unsat:
            return Unsolvable(f"z3 {z3.get_version_string()}", solver.to_smt2())
        if answer != z3.sat:
            return None
        model = solver.model()
        return {name: _rational(model.eval(x, model_completion=True), z3) for name, x in numbers.items()}
    except (z3.Z3Exception, AttributeError, ValueError):  # a value that is no number; powers that are too large
        return None


def _of(polynomial: sympy.Expr, numbers: dict[str, Any], z3: Any) -> Any:
    """A polynomial in quantities."""
    expanded = Polynomial.of(plain(sympy.expand(polynomial)))
    total = z3.RealVal(0)
    for powers, coefficient in expanded.by_powers.items():
        product = z3.Q(coefficient.numerator, coefficient.denominator)
        for name, power in zip(expanded.names, powers, strict=True):
            for _ in range(power):
                product = product * numbers[name]
        total = total + product
    return total


def _rational(value: Any, z3: Any) -> Fraction:
    """A model's number, an irrational one to 30 digits: the point is checked anyway."""
    if z3.is_algebraic_value(value):
        value = value.approx(30)
    if z3.is_int_value(value):
        return Fraction(value.as_long())
    return Fraction(value.numerator_as_long(), value.denominator_as_long())
