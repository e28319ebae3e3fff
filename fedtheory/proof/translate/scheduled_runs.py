"""Bounds on runs whose kinds of round are fixed beforehand, from a theorem on one round.

The theorem holds whatever the probability q of a snapshot is, hence for a round that is one (q = 1) and for a round
that is none (q = 0). Over the rounds its additions B(1) and B(0) are weighed by P^{R-1-r}, P the factor of a round. For
any schedule the bound is ``along``; with snapshots in the rounds 0, I, 2I, ... ``shares`` bounds the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

import sympy

from ...claims import readings
from ..composition import Contraction, Descent, OfRounds
from ..kernel.round_rules import average, contraction
from ..kernel.scalars import Scalar

_PERIOD, _Q = sympy.symbols("snapshot_period snapshot_probability")
RANDOM_KINDS = "random_kinds"


def shares(fall: sympy.Expr | float, period: sympy.Expr | float) -> tuple[sympy.Expr, sympy.Expr]:
    """Return (s, a) such that the sum over snapshots r < R of (1 - fall)^{R-1-r} is at most s/fall, and that over other
    rounds at most a/fall:

        s = 1/I + (1 - 1/I) fall,   a = (1 - 1/I) (1 + fall),   for 0 < fall <= 1.

    A snapshot weighs no more than each of the I - 1 rounds after it, and no less than each of the I - 1 before it. So
    I times the snapshots' weight is at most that of all rounds, plus I - 1 for rounds that would come after the last
    one; and at least that of all rounds, less those after the last snapshot, at most I - 1 of a weight of at most 1.

    >>> shares(sympy.Rational(1, 10), 2)
    (11/20, 11/20)
    """
    own = 1 / sympy.sympify(period)
    return own + (1 - own) * fall, (1 - own) * (1 + fall)


class _Scheduled(OfRounds):
    """Derivation over a schedule: the theorem's probability of a snapshot is 1 or 0, round by round."""

    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {readings.SNAPSHOTS: readings.PERIOD}

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms and rules name. Random kinds of round, where they are named, are every
        I-th and others."""
        return tuple("periodic_kinds" if name.startswith(RANDOM_KINDS) else name for name in super().assumed())

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the theorem's needs in rounds that are snapshots and in rounds that are none, without those of their
        share."""
        found = []
        for name, need in super().needs():
            if need.has(_Q):
                found += [(f"{name}.snapshot", need.subs(_Q, 1)), (f"{name}.other", need.subs(_Q, 0))]
            else:
                found.append((name, need))
        return tuple(found)

    def _probability(self) -> str:
        """The letter of the probability.

        Raises:
            ValueError: the theorem has none, or a number in its place.
        """
        found = [str(q) for name, q in self.theorem.assumptions if name == RANDOM_KINDS and q is not None]
        if len(found) != 1 or self.letters.get(found[0]) != "snapshot_probability":
            raise ValueError(f"probability {found}: allowed is a theorem for every snapshot_probability")
        return found[0]

    def _check(self, quantities: Mapping[str, Fraction]) -> None:
        """Raise ``ValueError`` unless the quantities are what the theorem asks of them."""
        needed = {str(self.letters[c.name]) for c in self.theorem.where.conditions if c.name in self.letters}
        if lacking := sorted(needed - {*quantities, "snapshot_probability"}):
            raise ValueError(f"quantities: {', '.join(lacking)}: allowed are values of these too")
        values = {sympy.Symbol(name): sympy.Rational(value) for name, value in quantities.items()}
        for _, slack in self.needs():
            if slack.subs(values) < 0:
                raise ValueError(f"quantities: allowed are such that {slack} >= 0")

    def _at(self, scalar: Scalar, quantities: Mapping[str, Fraction], snapshot: bool) -> Fraction:
        """Return a scalar's value in a round of a kind."""
        known = {letter: quantities[str(name)] for letter, name in self.letters.items() if str(name) in quantities}
        return scalar.at({**known, self._probability(): int(snapshot)})

    def _of_either_kind(self, addition: Scalar) -> tuple[sympy.Expr, sympy.Expr]:
        """B(1) and B(0)."""
        ring, letter = self.theorem.where.ring, self._probability()
        one, other = (self.own.read_apart(addition.replace({letter: ring.number(q)})) for q in (1, 0))
        return one, other

    def _same_for_both(self, scalar: Scalar) -> sympy.Expr:
        """Return the factor of a round on what it starts from, which must not depend on the kind of round.

        Raises:
            ValueError: it depends on the kind of round.
        """
        if self._probability() in scalar.names:
            raise ValueError(f"{scalar}: allowed is what does not depend on the kind of round")
        return sympy.factor(self.own.read(scalar))


class PeriodicContraction(_Scheduled, Contraction):
    """Bound on the final squared distance over a schedule, from E|x+ - x*|^2 <= P |x - x*|^2 + B(q) in every round:

        E|x_R - x*|^2 <= exp(-(1 - P) R) |x_0 - x*|^2 + sum over r of P^{R-1-r} B(q_r),

    by induction over the rounds, and ``shares``.
    """

    def along(self, snapshots: Sequence[bool], distance: Fraction, quantities: Mapping[str, Fraction]) -> Fraction:
        """Return the bound on E|x_R - x*|^2 for rounds of these kinds, with |x_0 - x*|^2 = distance^2; in Fractions.

        Raises:
            ValueError: a quantity is missing, or not what the theorem asks of it.
        """
        self._check(quantities)
        factor, addition = contraction(self.theorem)
        of = {kind: [self._at(part, quantities, kind) for part in (factor, addition)] for kind in {*snapshots}}
        bound = distance**2
        for kind in snapshots:
            bound = of[kind][0] * bound + of[kind][1]
        return bound

    def right_side(self) -> sympy.Expr:
        factor, addition = contraction(self.theorem)
        rounds, distance = sympy.symbols("rounds initial_distance")
        fall = self._same_for_both(1 - factor)
        s, a = shares(fall, _PERIOD)
        snapshot, other = self._of_either_kind(addition)
        return sympy.exp(-fall * rounds) * distance**2 + (s * snapshot + a * other) / fall


class PeriodicDescent(_Scheduled, Descent):
    """Bound on the mean squared gradient over a schedule, from E F(x+) <= F(x) - c |grad F(x)|^2 + B(q) in every round:

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + (s B(1) + a B(0))/c.

    Of R rounds a share of at most s = 1/I + (1 - 1/I)/R are snapshots, because the first one is a snapshot; and a share
    of at most a = 1 - 1/I are none.
    """

    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {**Descent.own_readings, **_Scheduled.own_readings}

    def along(self, snapshots: Sequence[bool], gap: Fraction, quantities: Mapping[str, Fraction]) -> Fraction:
        """Return the bound on the mean over r < R of E|grad F(x_r)|^2 for rounds of these kinds, with F(x_0) - inf F =
        gap; in Fractions.

        Raises:
            ValueError: a quantity is missing, or not what the theorem asks of it; or there are no rounds, or how much
                F falls depends on the kind.
        """
        self._check(quantities)
        if not snapshots:
            raise ValueError("snapshots: allowed is at least one round")
        fall, addition = average(self.theorem)
        self._same_for_both(fall)
        of = {kind: self._at(addition, quantities, kind) for kind in {*snapshots}}
        total = gap + sum(of[kind] for kind in snapshots)
        return total / self._at(fall, quantities, True) / len(snapshots)

    def right_side(self) -> sympy.Expr:
        fall, addition = average(self.theorem)
        gap, rounds = sympy.symbols("initial_gap rounds")
        snapshot, other = self._of_either_kind(addition)
        s, a = 1 / _PERIOD + (1 - 1 / _PERIOD) / rounds, 1 - 1 / _PERIOD
        return (gap / rounds + s * snapshot + a * other) / self._same_for_both(fall)
