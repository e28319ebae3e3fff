"""Derivations that are a claim's theorem on samples itself."""

from __future__ import annotations

from collections.abc import Callable

from ...claims.statement import Claim
from ..algorithm_match import Rounds
from ..derivations import Made
from ..kernel.sampling_laws import SampleTheorem
from ..kernel.sealed import ancestry, intact
from ..sample_claims import SampleClaim

_RULES = ("add", "cancel", "solve", "raised", "largest", "least", "absolute", "bounds", "bounds deviation")
"""Rules from theorems on samples; the others are axioms."""


class OfSamples(Made):
    """Theorem of the kernel on samples, said of the whole problem, that is a claim's theorem, or is none of it. Its
    letters are those that are no quantity of the problem in the theorem."""

    @property
    def theorem(self) -> SampleTheorem:
        """Theorem as the kernel made it."""
        return intact(self.make())

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the kernel's axioms that the theorem is made of."""
        return tuple(sorted({each.rule for each in ancestry(self.theorem)} - {*_RULES}))

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name."""
        return tuple(sorted(self.theorem.assumptions))

    assumptions = assumed
    """Return the names of the theorem's assumptions, which have no constants."""

    def check(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> SampleClaim:
        """Return the check that a claim is the theorem."""
        letters = tuple(sorted(self.letters.items()))
        return SampleClaim(claim, self.make, letters, tuple(sorted(self.more.items())), algorithm)
