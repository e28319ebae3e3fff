"""Bounds for a cutoff that grows with the logarithm of the rounds, from theorems on intervals. The cutoff is C = ceil(R
log T), where R = -1/(2 log(1 - min p)). Then q^(2C) <= (1 - min p)^(2 R log T) = 1/T for every client, and from T = 2
on 1 <= log T/log 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import sympy

from ...quantities import symbols
from ..domain import bare
from ..kernel.forms import dot
from ..kernel.participation_intervals import INTERVAL, UNIT
from ..kernel.theorems import Refused
from .interval_means import AverageError, OfIntervals, _constant, _number
from .vocabulary import Letters

_T, _LEAST = symbols("rounds", "least_participation_probability")
R = -1 / (2 * sympy.log(1 - _LEAST))
CHOSEN: Mapping[str, sympy.Expr] = {"cutoff": bare(sympy.ceiling(sympy.log(_T) * R))}
_rounds, _absence, _bias, _cutoff = sympy.symbols("rounds absence cutoff_bias cutoff")
_rate, _log = bare(R * sympy.log(_T) ** 2 / _T), sympy.log(_rounds)
_TWO_ROUNDS = (("two_rounds", _rounds - 2),)


@dataclass(frozen=True)
class LongRunBias(OfIntervals):
    """Bound on the long-run bias from p E S = nu. The mean over clients of (p E S - 1)^2 = c q^(2C) is at most c/T, and
    c (log T/log 2)^2/T."""

    letters: Letters = field(default_factory=dict)
    functional: ClassVar[str] = "long_run_bias"  # type: ignore[misc]

    def right_side(self) -> sympy.Expr:
        of = self.own
        of.check_every_chance()
        if not of.theorem.equality:
            raise Refused(f"{of.theorem}: allowed is p E S - nu = 0")
        unit, length = (_number(of.ring, atom) for atom in (UNIT, INTERVAL))
        mean = _constant(dot(length, unit) * of.ring[of.chance] - of.theorem.form)
        return _tail(of.averaged((mean - 1) ** 2)) * (_log / sympy.log(2)) ** 2 / _rounds

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the need of at least two rounds."""
        return _TWO_ROUNDS

    def choices(self) -> Mapping[str, sympy.Expr]:
        return CHOSEN


def _tail(value: sympy.Expr) -> sympy.Expr:
    """c of c q^(2C)."""
    share = value / _bias
    if share.free_symbols or share.is_negative:
        raise Refused(f"{value}: allowed is a multiple of q^(2C)")
    return share


@dataclass(frozen=True)
class LogarithmicCutoff(AverageError):
    """Bound on the mean error over rounds for a cutoff that grows with the logarithm of the rounds. From a bound (C (f
    + s (1 + log T)) + c)/T with numbers f, s and c it gives at most (2 s + (2 (f + s) + c)/log 2) R log^2 T/T, if that
    is at least 6 R log^2 T/T. With l = log T >= log 2 >= 1/2:

    - C >= 2: then R l > 1, so that C < R l + 1 <= 2 R l, and 1 <= R l.
    - C = 1: all lengths are 1, and so are the weights: the error is q^2 <= exp(-1/R). With exp(1/R) = y T, y >= 1
      as R l <= 1, and 1/R = l + log y <= l + y <= 2 l^2 y + 4 l^2 y, it is at most 6 R l^2/T.
    - T < C, where the bound is one for T >= C: then R l > C - 1 >= T, and the error is at most 1 <= 6 R l^2/T.
    """

    def right_side(self) -> sympy.Expr:
        many, first, share, rest = self.parts
        if self.early is None and first.subs(_absence, 1) != 1:
            raise Refused(f"{first}: allowed is a bound of at most 1 before the cutoff")
        f, s = (self._per_round_of_cutoff(many * part) for part in (first, share))
        factor = 2 * s + (2 * (f + s) + _tail(rest)) / sympy.log(2)
        if not (factor - 6).is_positive:
            raise Refused(f"{factor}: allowed is at least 6")
        return factor * _rate

    @staticmethod
    def _per_round_of_cutoff(part: sympy.Expr) -> sympy.Expr:
        """f of a bound f C, as q <= 1 <= C."""
        terms = sympy.Poly(part.subs(_absence, 1), _cutoff)
        if terms.degree() > 1 or any(not c.is_number for c in terms.coeffs()):
            raise Refused(f"{part}: allowed is a bound that is linear in the cutoff")
        return terms.eval(1)

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        return _TWO_ROUNDS

    def choices(self) -> Mapping[str, sympy.Expr]:
        return CHOSEN
