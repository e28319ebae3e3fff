"""Instances of claims about estimated weights: probabilities, a cutoff and rounds, in files that anyone can replay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...claims.statement import Claim
from ..entries import CHOSEN, entry, shown, vector
from .exact import INTERVAL_FUNCTIONALS, Weights, chosen_cutoff

NO_CUTOFF = "none"
"""What a file has for an infinite cutoff."""

LARGEST_CLIENTS = 100

LARGEST_HISTORY = 200
"""Rounds of weights, whose exact law has a number for each (intervals ended, rounds covered)."""

LARGEST_WORK = 200_000
"""What weights may have of clients * (rounds + cutoff) * bits, where the longest probability has ``bits``."""


@dataclass(frozen=True)
class WeightsInstance:
    """Weights with rational probabilities, for one claim about them.

    Attributes:
        claim: its ref.
        weights: what a claim says of one round is about the last one; claims about the law of an interval speak of no
            rounds, and have 1. The cutoff is infinite where the claim is to choose it.
        cutoff_given: whether the cutoff is the instance's own, not the claim's.
    """

    claim: str
    weights: Weights
    cutoff_given: bool = True

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an instance of the claim, with numbers in bounds."""
        if statement.functional.scope != "weights":
            raise ValueError(f"{statement.ref} is about a {statement.functional.scope}: "
                             "allowed with such an instance is one about weights")  # fmt: skip
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
        """The weights, with the cutoff that the claim chooses.

        Raises:
            ValueError: it chooses none that is a number >= 1 and decided by balls, or too large a one.
        """
        if self.cutoff_given:
            return self.weights
        cutoff = chosen_cutoff(statement, self.weights)
        if cutoff is None:
            raise ValueError(f"cutoff: {statement.ref} chooses no integer >= 1 here, or balls do not decide it")
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

    def to_json(self) -> dict[str, Any]:
        """The instance as plain data; ``parse`` reads it back."""
        weights = self.weights
        inner = {"probabilities": [str(p) for p in weights.probabilities], "cutoff": self._cutoff_text()}
        return {"claim": self.claim, "weights": inner | {"rounds": weights.rounds}}

    def _cutoff_text(self) -> int | str:
        if not self.cutoff_given:
            return CHOSEN
        return NO_CUTOFF if self.weights.cutoff == math.inf else self.weights.cutoff


def parse_weights(data: Mapping[str, Any], statement: Claim) -> WeightsInstance:
    """An instance from plain data, not yet checked.

    Raises:
        ValueError: an entry is missing or of the wrong kind; it is named.
    """
    inner = entry(data, "weights", dict)
    chosen = inner.get("cutoff") == CHOSEN
    cutoff = math.inf if chosen or inner.get("cutoff") == NO_CUTOFF else entry(inner, "cutoff", int)
    weights = Weights(vector(inner, "probabilities"), cutoff, entry(inner, "rounds", int))
    return WeightsInstance(statement.ref, weights, not chosen)
