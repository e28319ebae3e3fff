"""Points of claims about estimated weights: probabilities, a cutoff and rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from sympy import ceiling

from ....algorithms import fedau
from ....assumptions import INDEPENDENT_PARTICIPATION
from ....claims.balls import Number, evaluate_in_balls, working_precision
from ....claims.statement import Claim
from ....federations import Quadratic
from ....functionals import INTERVAL_MEAN, INTERVAL_VARIANCE, NEGATED_INTERVAL_MEAN, NEGATED_INTERVAL_VARIANCE
from ....moments.evaluators import EXACT, Question, left, quantity
from ....participation import Bernoulli
from ....setting import Setting
from ....subjects.protocol import Examined, Point, Reading, Sides
from ....subjects.file_entries import CHOSEN, check_scope, entry, shown, vector

INTERVAL_FUNCTIONALS = (INTERVAL_MEAN, NEGATED_INTERVAL_MEAN, INTERVAL_VARIANCE, NEGATED_INTERVAL_VARIANCE)

NO_CUTOFF = "none"
"""Entry of a file for an infinite cutoff."""

INDEPENDENT_CLIENTS = {
    INDEPENDENT_PARTICIPATION: "by construction: in every round every client takes part by a coin of its own",
}

LARGEST_CLIENTS = 100

LARGEST_HISTORY = 200
"""Largest number of rounds of weights, whose exact law has a number for each (intervals ended, rounds covered)."""

LARGEST_WORK = 200_000
"""Largest clients * (rounds + cutoff) * bits of weights, where the longest probability has ``bits``."""


@dataclass(frozen=True)
class Weights:
    """Clients that take part independently, and rounds 0 to rounds-1 of Algorithm 2.

    Attributes:
        probabilities: (N,), p_n, Fractions or floats.
        cutoff: K, an integer >= 1 or ``math.inf``.
        rounds: T. What a claim says of one round is about the last one, t = T-1.
    """

    probabilities: tuple[Any, ...]
    cutoff: int | float
    rounds: int

    def question(self, numbers: str = EXACT, reading: Reading | None = None) -> Question:
        """Ask claims' question about the weights; clients' objectives play no part in it."""
        algorithm = fedau(local_lr=1, cutoff=self.cutoff)
        setting = Setting(_clients(len(self.probabilities)), algorithm, Bernoulli(self.probabilities))
        return Question(setting, self.rounds, reading or {}, numbers)


@lru_cache(maxsize=8)
def _clients(number: int) -> Quadratic:
    return Quadratic.common_hessian([0] * number)


def chosen_cutoff(statement: Claim, question: Question) -> int | None:
    """Return the cutoff that the claim chooses, a ceiling, for the exact numbers of a setting.

    It is ``None`` where it is no number >= 1, or balls do not decide it.

    Raises:
        ValueError: the claim chooses something else.
    """
    choice = statement.choices.get("cutoff")
    if not isinstance(choice, ceiling):
        raise ValueError(f"{statement.ref} chooses {', '.join(statement.choices)}: allowed is the ceiling of a cutoff")
    with working_precision():
        known: dict[str, Any] = {s.name: quantity(s.name, question).value for s in choice.free_symbols}
        quotient = evaluate_in_balls(choice.args[0], known)
        rounded = quotient.ceil()
        return int(rounded.fmpz()) if quotient.is_finite() and rounded.is_exact() and rounded >= 1 else None


def required_cutoff(statement: Claim, question: Question) -> int:
    """Return the cutoff that a claim chooses, which it has to do; see ``chosen_cutoff``.

    Raises:
        ValueError: there is none.
    """
    cutoff = chosen_cutoff(statement, question)
    if cutoff is None:
        raise ValueError(f"cutoff: {statement.ref} chooses no integer >= 1 here, or balls do not decide it")
    return cutoff


@dataclass(frozen=True)
class WeightsPoint(Point):
    """Weights with rational probabilities, for one claim about them.

    Attributes:
        weights: what a claim says of one round is about the last one; claims about the law of an interval speak of no
            rounds, and have 1. The cutoff is infinite where the claim is to choose it.
        cutoff_given: whether the cutoff is the point's own, not the claim's.
    """

    weights: Weights
    cutoff_given: bool = True

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        check_scope(statement, "weights")
        if self.cutoff_given == bool(statement.choices):
            rule = "left to the claim, which chooses it" if statement.choices else f"an integer >= 1, or {NO_CUTOFF!r}"
            raise ValueError(f"cutoff = {self._cutoff_text()!r}: allowed is {rule}")
        clients, rounds = len(self.weights.probabilities), self.weights.rounds
        if not 1 <= clients <= LARGEST_CLIENTS:
            raise ValueError(f"probabilities has {clients} entries: allowed are 1 to {LARGEST_CLIENTS}")
        for p in self.weights.probabilities:
            if not 0 <= p <= 1:
                raise ValueError(f"probabilities = {p}: allowed is a number in [0, 1]")
        longest = 1 if statement.functional in INTERVAL_FUNCTIONALS else LARGEST_HISTORY
        if not 1 <= rounds <= longest:
            raise ValueError(f"rounds = {shown(rounds)}: allowed is an integer from 1 to {longest}")
        self._check_cutoff(self.weights.cutoff)

    def settled(self, statement: Claim) -> Weights:
        """Return the weights, with the cutoff that the claim chooses.

        Raises:
            ValueError: it chooses none that is a number >= 1 and decided by balls, or too large a one.
        """
        if self.cutoff_given:
            return self.weights
        cutoff = required_cutoff(statement, self.weights.question())
        self._check_cutoff(cutoff)
        return replace(self.weights, cutoff=cutoff)

    def _check_cutoff(self, cutoff: int | float) -> None:
        """Raise ``ValueError`` where it is < 1, or exact arithmetic takes too long."""
        if cutoff < 1:
            raise ValueError(f"cutoff = {shown(cutoff)}: allowed is an integer >= 1, or {NO_CUTOFF!r}")
        bits = max(p.numerator.bit_length() + p.denominator.bit_length() for p in self.weights.probabilities)
        longest = self.weights.rounds + (cutoff if cutoff < math.inf else 0)
        work = len(self.weights.probabilities) * longest * bits
        if work > LARGEST_WORK:
            raise ValueError(f"clients * (rounds + cutoff) * bits = {shown(work)}: allowed is at most {LARGEST_WORK}")

    @property
    def met(self) -> Mapping[str, str]:
        """The assumptions that its clients meet, with reasons."""
        return INDEPENDENT_CLIENTS

    def examined(self, statement: Claim, follow: bool = True) -> Examined:
        """Return the weights as the claim speaks of them."""
        return _ExaminedWeights(self, statement)

    def to_json(self) -> dict[str, Any]:
        """Plain data; ``parse`` reads it back."""
        weights = self.weights
        inner = {"probabilities": [str(p) for p in weights.probabilities], "cutoff": self._cutoff_text()}
        return {"weights": inner | {"rounds": weights.rounds}}

    def _cutoff_text(self) -> int | str:
        if not self.cutoff_given:
            return CHOSEN
        return NO_CUTOFF if self.weights.cutoff == math.inf else int(self.weights.cutoff)


def parse(data: Mapping[str, Any], statement: Claim) -> WeightsPoint:
    """Read weights from plain data, not yet checked.

    Raises:
        ValueError: an entry is missing or of the wrong kind; it is named.
    """
    inner = entry(data, "weights", dict)
    chosen = inner.get("cutoff") == CHOSEN
    cutoff = math.inf if chosen or inner.get("cutoff") == NO_CUTOFF else entry(inner, "cutoff", int)
    weights = Weights(vector(inner, "probabilities"), cutoff, entry(inner, "rounds", int))
    return WeightsPoint(weights, not chosen)


class _ExaminedWeights(Examined):
    def __init__(self, point: WeightsPoint, statement: Claim) -> None:
        self.statement, self.weights = statement, point.settled(statement)

    def chosen(self) -> dict[str, Number]:
        found: dict[str, Any] = {name: quantity(name, self._question).value for name in self.statement.choices}
        return found

    @cached_property
    def _question(self) -> Question:
        return self.weights.question()

    def sides(self, reading: Reading) -> Sides:
        question = replace(self._question, reading=reading)
        values = {name: quantity(name, question).value for name in self.statement.quantities}
        return Sides(left(self.statement.functional, question), values)
