"""The rounds between two participations of a client that takes part in a round with probability p = 1 - q, whatever the
other rounds were, and the weights that are means of them. An interval ends when the client takes part, or after C
rounds: its length S has P(S > k) = q^k for k < C, and P(S > C) = 0, and lengths are independent of one another. The
weight omega after t rounds is the mean of all lengths S_1, ..., S_M of the intervals that have ended, and 1 where M =
0.

Numbers are multiples of one fixed unit vector u, so that <X, Y> = E XY, over the whole run. The parameters are q
(``absence``), C (``cutoff``), q^C (``tail``); t (``history``), q^t (``head``), and a whole number of intervals
(``ended``). S_1 is S, and S <= t says that an interval has ended, so that M >= 1, where t < C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .axioms import OnRegion
from .forms import END, Atom, Form, dot, square
from .scalars import Scalar
from .theorems import Refused, Theorem

UNIT, INTERVAL, WEIGHT = Atom("unit"), Atom("interval", stage=END), Atom("weight", stage=END)
"""u, S and omega."""
UNIT_ENDED, INTERVAL_ENDED, WEIGHT_ENDED = (
    Atom(f"{name}_ended", stage=END) for name in ("unit", "interval", "weight")
)  # fmt: skip
"""u, S and omega where M >= 1, and 0 elsewhere."""
_LAW = ("independent_participation", None)


@dataclass(frozen=True)
class Intervals(OnRegion):
    """Axioms on a region, with q, and letters for C and q^C."""

    absence: Scalar
    cutoff: Scalar
    tail: Scalar
    context = "run"

    def __post_init__(self) -> None:
        self._letters(self.cutoff, self.tail)
        self.where.ask(self.absence, "q >= 0:")
        self.where.ask(1 - self.absence, "q <= 1:")

    def _letters(self, *scalars: Scalar) -> None:
        names = [str(scalar) for scalar in scalars]
        letters = all({name} == scalar.names for name, scalar in zip(names, scalars, strict=True))
        if not letters or len({*names}) < len(names):
            raise Refused(f"{', '.join(names)}: allowed are letters of their own")
        if self.absence.names & {*names}:
            raise Refused(f"q = {self.absence}: allowed is what does not depend on {', '.join(names)}")

    @property
    def parameters(self) -> dict[str, Scalar]:
        return {"absence": self.absence, "cutoff": self.cutoff, "tail": self.tail}

    def unit(self) -> Theorem:
        """State the axiom |u|^2 = 1."""
        return self._fact("unit", square(self.vector(UNIT)) - Form.constant(self.where.ring.number(1)), equality=True)

    # lengths

    def moment(self, power: int, value: Scalar) -> Theorem:
        """State the axiom p^d E S^d = V, d = 1 or 2, by induction over C. V = p^d for C = 1, and from C to C + 1 it
        grows by p^d q^C ((C + 1)^d - C^d)."""
        form = {1: dot(self.vector(INTERVAL), self.vector(UNIT)), 2: square(self.vector(INTERVAL))}.get(power)
        if form is None:
            raise Refused(f"power {power}: allowed are 1 and 2")
        scale, grown = (1 - self.absence) ** power, self.tail * ((self.cutoff + 1) ** power - self.cutoff**power)
        first = {str(self.cutoff): self.where.ring.number(1), str(self.tail): self.absence}
        later = {str(self.cutoff): self.cutoff + 1, str(self.tail): self.tail * self.absence}
        self._inductive(value, first, scale, later, scale * grown)
        form = form * scale - Form.constant(value)
        return self._fact("moment of an interval", form, _LAW, equality=True, power=power, value=value)

    def early_moment(self, power: int, value: Scalar, history: Scalar, head: Scalar) -> Theorem:
        """State the axiom p^d E[S^d; S <= t] = V, d = 0, 1 or 2, for t < C, by induction over t. V = 0 for t = 0, and
        from t to t + 1 it grows by p^d p q^t (t + 1)^d."""
        self._early(history, head)
        vectors = self.vector(UNIT_ENDED), self.vector(INTERVAL_ENDED)
        if power not in (0, 1, 2):
            raise Refused(f"power {power}: allowed are 0, 1 and 2")
        form = dot(vectors[power > 0], vectors[power > 1])
        scale, chance = (1 - self.absence) ** power, 1 - self.absence
        first = {str(history): self.where.ring.number(0), str(head): self.where.ring.number(1)}
        later = {str(history): history + 1, str(head): head * self.absence}
        self._inductive(value, first, self.where.ring.number(0), later, scale * chance * head * (history + 1) ** power)
        form = form * scale - Form.constant(value)
        said: dict[str, Any] = {"history": history, "head": head}
        return self._fact(
            "early moment of an interval", form, _LAW, equality=True, more=said, power=power, value=value, **said
        )

    @staticmethod
    def _inductive(
        value: Scalar, first: dict[str, Scalar], start: Scalar, later: dict[str, Scalar], growth: Scalar
    ) -> None:
        if value.bottom.names & first.keys():
            raise Refused(f"{value}: divides by what the induction is over")
        if value.replace(first) != start or value.replace(later) - value != growth:
            raise Refused(f"{value}: not what the law's induction gives")

    # weights

    def _early(self, history: Scalar, head: Scalar) -> None:
        self._letters(self.cutoff, self.tail, history, head)
        self.where.ask(history, "t >= 0:")
        self.where.ask(self.cutoff - 1 - history, "t < C:")

    def mean_ended(self, history: Scalar) -> Theorem:
        """State the axiom E omega = E S where t >= C."""
        self.where.ask(history - self.cutoff, "t >= C:")
        form, more = dot(self.vector(WEIGHT) - self.vector(INTERVAL), self.vector(UNIT)), {"history": history}
        return self._fact("mean of ended intervals", form, _LAW, equality=True, more=more, history=history)

    def spread_ended(self, mean: Theorem, ended: Scalar, history: Scalar) -> Theorem:
        """State the axiom c^2 E omega^2 <= c^2 E S^2/m + (1 - 1/m) nu^2, from c E S = nu, where t >= m C, m a whole
        number >= 1. The mean of M >= m lengths varies no more than that of m."""
        unit, length = self.vector(UNIT), self.vector(INTERVAL)
        (entry,) = dot(length, unit).entries
        scale = mean.form.entries.get(entry, self.where.ring.number(0))
        rest = dot(length, unit) * scale - mean.form
        value = rest.entries.get("1", self.where.ring.number(0))
        if not mean.equality or rest != Form.constant(value) or mean.context != "run":
            raise Refused(f"{mean}: allowed is c E S - nu = 0")
        if not self.where.within(mean.where):
            raise Refused(f"{mean}: shown on a region that does not contain this one")
        self.where.ask(ended - 1, "m >= 1:")
        self.where.ask(history - ended * self.cutoff, "t >= m C:")
        form = square(length) * (scale**2 / ended) + Form.constant((1 - 1 / ended) * value**2)
        form = form - square(self.vector(WEIGHT)) * scale**2
        said: dict[str, Any] = {"ended": ended, "history": history}
        own = self.parameters | said
        if any(own.get(name) != value for name, value in mean.parameters):
            raise Refused(f"{mean}: of another algorithm")
        return self._fact("spread of ended intervals", form, _LAW, premise=mean, more=said, **said)

    def early_weight(self, slope: Scalar, shift: Scalar, history: Scalar, head: Scalar) -> Theorem:
        """State the axiom E(c omega + d)^2 <= E[(c S + d)^2; S <= t] + q^t (c + d)^2 for t < C. The weight is 1 if no
        interval has ended, and else a mean of lengths, of which the first is one."""
        self._early(history, head)
        ended = self.vector(INTERVAL_ENDED) * slope + self.vector(UNIT_ENDED) * shift
        form = square(ended) + Form.constant(head * (slope + shift) ** 2)
        form = form - square(self.vector(WEIGHT) * slope + self.vector(UNIT) * shift)
        said: dict[str, Any] = {"history": history, "head": head}
        return self._fact("early weight", form, _LAW, more=said, slope=slope, shift=shift, **said)

    def early_given(self, slope: Scalar, shift: Scalar, history: Scalar, head: Scalar) -> Theorem:
        """State the axiom E[(c omega + d)^2; M >= 1] <= E[(c S + d)^2; S <= t] for t < C."""
        self._early(history, head)
        numbers = (self.vector(atom) * slope for atom in (INTERVAL_ENDED, WEIGHT_ENDED))
        length, weight = (number + self.vector(UNIT_ENDED) * shift for number in numbers)
        said: dict[str, Any] = {"history": history, "head": head}
        form = square(length) - square(weight)
        return self._fact("early weight of an interval", form, _LAW, more=said, slope=slope, shift=shift, **said)
