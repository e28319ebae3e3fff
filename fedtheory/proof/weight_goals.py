"""Goals on weights that are means of participation intervals: parameters, cutoff and readings that a claim has; and
the numbers of such claims: q^C, logarithms, and R = -1/(2 log(1 - min p))."""

from __future__ import annotations

from collections.abc import Callable, Collection

import sympy

from ..claims import readings
from ..quantities import bare
from .kernel.interval_bounds import (
    ABSENCE,
    AVERAGE_ERROR,
    BIAS,
    CHANCE,
    CUTOFF,
    ENDED,
    HISTORY,
    LEAST,
    LONG_RUN_BIAS,
    MOMENTS,
    ROUND_ERROR,
    SPREAD,
)
from .kernel.regions import Condition
from .kernel.run_bounds import ROUNDS, Definition, RunBound
from .kernel.scalars import Ring, Scalar

OF_INTERVALS = (AVERAGE_ERROR, ROUND_ERROR, LONG_RUN_BIAS, *MOMENTS)
"""Functionals of weights and intervals, whose law is that of the bound's rule, and no engine's."""
PARAMETERS = {name: name for name in (ABSENCE, BIAS, CHANCE, CUTOFF, ENDED, HISTORY, LEAST, SPREAD)}
PARAMETERS_OF_LAW = frozenset({ABSENCE, BIAS, CHANCE, CUTOFF, LEAST, SPREAD})
"""Parameters of a run whose weights are means of intervals."""
WHICHEVER = {ROUND_ERROR: {readings.CONDITION: (readings.GIVEN_AN_INTERVAL, readings.IN_EXPECTATION)}}
"""Ambiguities whose options make no difference, unless a bound is read with ``in_expectation``."""

WITHIN = f"{HISTORY} % {CUTOFF}"
"""Meaning of a letter that is left of the round t >= C by the intervals of C rounds that fit in: t = m C + r."""

_T, _LEAST = sympy.Symbol(ROUNDS), sympy.Symbol(LEAST)
LOGARITHMIC = sympy.ceiling(-sympy.log(_T) / (2 * sympy.log(1 - _LEAST)))
"""Cutoff ceil(R log T)."""


def is_logarithmic(choice: sympy.Expr | None) -> bool:
    """Whether a claim chooses the cutoff so."""
    return choice is not None and bare(choice) == LOGARITHMIC


def number(
    expression: sympy.Expr, definitions: tuple[Definition, ...], read: Callable[[sympy.Expr], Scalar], ring: Ring
) -> Scalar | None:
    """Return what q^(n C), a logarithm, or log(1 - min p) = -1/(2 R) is in defined letters; ``None`` if it is none."""
    if expression.is_Pow and (n := (expression.exp / named(expression.exp, CUTOFF))).is_Integer and n > 0:
        found = [d.name for d in definitions if d.sort == "tail" and d.of == read(expression.base)]
        return ring[found[0]] ** int(n) if found else None
    if not isinstance(expression, sympy.log):
        return None
    of = read(expression.args[0])
    if found := [d.name for d in definitions if d.sort == "log" and d.of == of]:
        return ring[found[0]]
    found = [d.name for d in definitions if d.sort == "decay" and 1 - d.of == of]
    return -1 / (2 * ring[found[0]]) if found else None


def named(expression: sympy.Expr, name: str) -> sympy.Symbol:
    """Return the symbol of this name in an expression."""
    return next((symbol for symbol in expression.free_symbols if symbol.name == name), sympy.Symbol(name))


def is_within(condition: Condition, bound: RunBound, letters: dict[str, str], slacks: Collection[Scalar]) -> bool:
    """Whether a condition says no more than that m C + r is a round t >= C, m = floor(t/C), of a claim that has the
    hypothesis t >= C."""
    of, ring = {quantity: ring for ring, quantity in letters.items()}, bound.where.ring
    if letters[condition.name] != WITHIN or not {CUTOFF, ENDED} <= of.keys():
        return False
    cutoff, ended = ring[of[CUTOFF]], ring[of[ENDED]]
    late = ended * cutoff + ring[condition.name] - cutoff in slacks
    return late and condition == Condition(condition.name, "interval", cutoff - 1)
