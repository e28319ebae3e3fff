"""Points of claims about learning problems: a problem with exact numbers, and the constants that a claim states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ....claims.statement import Claim
from ....claims.balls import Undecided
from ....subjects.protocol import Checked, Examined, Point, Reading, Sides
from ....subjects.file_entries import (
    by_vocabulary,
    check_names,
    check_scope,
    entry,
    matrix,
    rational_entry,
    rationals,
    shown,
    vector,
)
from ....subjects.values import SameSides
from .learning_problems import Hiding, Pooled, Problem, Thresholds

STATED = (
    "confidence", "error_level", "hidden_constant", "sample_complexity", "relatedness", "relatedness_exponent",
    "noise_constant", "noise_exponent",
)  # fmt: skip
"""Quantities that no problem has: where a claim speaks of one, the instance states it."""

BY_ASSUMPTION = {
    "positively_related": ("relatedness", "relatedness_exponent"),
    "source_noise": ("noise_constant", "noise_exponent"), "target_noise": ("noise_constant", "noise_exponent"),
}  # fmt: skip
"""Constants of which each kind of assumption speaks."""

COMPUTED = (*BY_ASSUMPTION, "one_target", "server_of_target")
"""Kinds of assumption that a problem's laws and labels decide."""

OF_THE_PROBLEM = "computed: the problem's own laws and labels"

QUANTILES = (
    "pooled_excess", "checked_excess", "checked_empirical_gap", "disagreement_excess", "disagreement_deficit",
    "pair_deviation", "pooled_source_excess",
)  # fmt: skip
"""Functionals of a problem and a confidence."""


def stated(claim: Claim) -> tuple[str, ...]:
    """Return the names of the constants that an instance of the claim states."""
    used = {*claim.quantities, *(name for a in claim.assumptions for name in BY_ASSUMPTION.get(a.kind, ()))}
    used |= {"confidence"} if claim.functional.name in QUANTILES else set()
    used |= {"error_level"} if claim.functional.name.startswith("negated_failure") else set()
    used |= {"relatedness", "relatedness_exponent"} if "related_gap" in used else set()
    return tuple(name for name in STATED if name in used)


@dataclass(frozen=True)
class _Undecided(Examined):
    """A problem whose left side is not enclosed, for this reason."""

    reason: Undecided
    checks: Mapping[str, Checked] = field(default_factory=dict)

    def sides(self, reading: Reading) -> Sides:
        raise self.reason


@dataclass(frozen=True)
class LearningPoint(Point):
    """A learning problem, for one claim about it; ``constants`` are the values of what the claim states."""

    problem: Problem
    constants: Mapping[str, Fraction]
    bearer = "problem"

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        check_scope(claim, "learning")
        if claim.functional not in self.problem.functionals:
            raise ValueError(
                f"kind = {self.problem.kind!r}: such a problem has no {claim.functional.name}, of which "
                f"{claim.ref} speaks"
            )
        check_names("constants", self.constants, stated(claim), claim)
        if self.constants.get("confidence") == 0:
            raise ValueError("confidence = 0: allowed is a number in (0, 1]")
        self.problem.check()

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """Return the problem as the claim speaks of it."""
        values = {**self.problem.quantities(self.constants), **self.constants}
        checks = {
            a.name: Checked(Fraction(0) if self.problem.holds(a.kind, self.constants) else None, OF_THE_PROBLEM)
            for a in claim.assumptions
            if a.kind in COMPUTED
        }
        try:
            left = self.problem.left(claim.functional, self.constants)
        except Undecided as reason:
            return _Undecided(reason, checks)
        return SameSides(Sides(left, values), checks)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; ``parse`` reads it back."""
        return {"problem": self.problem.to_json(), "constants": by_vocabulary(self.constants)}


def parse(data: Mapping[str, Any], claim: Claim) -> LearningPoint:
    """Read a learning problem from plain data, not yet checked.

    Raises:
        ValueError: an entry is missing or of the wrong kind; it is named.
    """
    inner = entry(data, "problem", dict)
    kinds: dict[str, Callable[[Mapping[str, Any]], Problem]] = {
        "two points": _hiding,
        "thresholds": _thresholds,
        "finite": _pooled,
    }
    kind = inner.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"kind = {shown(kind)}: allowed is {', '.join(map(repr, kinds))}")
    return LearningPoint(kinds[kind](inner), rationals(data, "constants"))


def _hiding(data: Mapping[str, Any]) -> Hiding:
    clients, participants, samples = (entry(data, n, int) for n in ("clients", "participants", "samples_per_client"))
    return Hiding(clients, participants, samples, rational_entry(data, "rare_mass"))


def _thresholds(data: Mapping[str, Any]) -> Thresholds:
    ends = {name: vector(data, name) for name in ("target", "source")}
    for name, values in ends.items():
        if len(values) != 2:
            raise ValueError(f"{name} has {len(values)} entries: allowed are 2, the ends of an interval")
    (a, b), (c, d) = ends["target"], ends["source"]
    return Thresholds((a, b), (c, d), rational_entry(data, "best"), rational_entry(data, "threshold"))


def _pooled(data: Mapping[str, Any]) -> Pooled:
    rows = entry(data, "labels", list)
    if not all(isinstance(row, list) and all(type(v) is int for v in row) for row in rows):
        raise ValueError("labels: allowed is a list of lists of 0 and 1")
    server, clients, hypothesis = (entry(data, n, int) for n in ("server_samples", "client_samples", "hypothesis"))
    labels = tuple(map(tuple, rows))
    of_server = matrix(data, "server") if "server" in data else None
    return Pooled(labels, matrix(data, "target"), matrix(data, "clients"), server, clients, hypothesis, of_server)
