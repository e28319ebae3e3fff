"""Derivations that are a claim's theorem on samples itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from ...claims.statement import Claim
from ..algorithm_match import Rounds
from ..composition import Composed, once
from ..derivations import Derivation
from ..kernel.sampling_laws import SampleTheorem
from ..kernel.sealed import ancestry, intact
from ..sample_claims import ASSUMING, READING, SampleClaim
from ..steps import Step

_RULES = ("add", "cancel", "solve", "raised", "largest", "least", "absolute", "bounds", "bounds deviation")
"""Rules from theorems on samples; the others are axioms."""


@dataclass(frozen=True)
class OfSamples:
    """Proof of a claim on samples, from a theorem of the kernel that is said of the whole problem.

    Attributes:
        make: makes the theorem.
        letters: the quantities of letters that are no quantity of the problem in the theorem.
        functional: the functional's name.
        more: the options of hypotheses that a claim is read under.
        left_side: the functional, if it is an expression of quantities; which one the theorem bounds is read off it.
    """

    make: Callable[[], SampleTheorem]
    letters: Mapping[str, str]
    functional: str
    more: Mapping[str, str] = field(default_factory=dict)
    left_side: sympy.Expr | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", once(self.make))  # type: ignore[arg-type]

    @property
    def theorem(self) -> SampleTheorem:
        """Theorem as the kernel made it."""
        return intact(self.make())

    @property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation that are computed from the theorem: none, as the theorem itself is the claim."""
        return {}

    @property
    def checks(self) -> tuple[Composed, ...]:
        """Return the one check, that the kernel makes the theorem."""
        return (Composed(self.make),)

    def step(self, name: str, equation: str, says: str) -> Step:
        """Return the one step of a proof that the kernel composed; its assumptions are the theorem's."""
        return Step(name, equation, says, "composed", self.checks, printed=False)

    def makes(self, steps: Iterable[Step]) -> bool:
        """Whether the steps are this theorem, with its assumptions, and nothing else."""
        own = ("composed", self.checks, ())
        return all(
            type(s) is Step and all(type(c) is Composed for c in s.checks) and (s.kind, s.checks, s.assumes) == own
            for s in steps
        )

    def derivation(self, name: str, step: str, proves: tuple[str, ...]) -> Derivation:
        """Return the derivation with this step."""
        return Derivation(
            name,
            functional=self.functional,
            steps=(step,),
            proves=proves,
            origin=self,
            left_side=self.left_side,
        )

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the kernel's axioms that the theorem is made of."""
        return tuple(sorted({each.rule for each in ancestry(self.theorem)} - {*_RULES}))

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name."""
        return tuple(sorted(self.theorem.assumptions))

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> SampleClaim | None:
        """Return the check that a claim is the theorem, or ``None`` if it is not found to be."""
        key = id(self), claim, algorithm
        if key not in _OF_CLAIMS:
            letters = tuple(sorted(self.letters.items()))
            check = SampleClaim(claim, self.make, letters, tuple(sorted(self.more.items())), algorithm)
            _OF_CLAIMS[key] = self, check if check.certified().outcome == "proved" else None
        return _OF_CLAIMS[key][1]

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words the ways in which the theorem is not what a claim is. Where it takes an assumption or a reading
        that the claim does not have, that is told besides, and the rest says nothing."""
        letters = tuple(sorted(self.letters.items()))
        apart = SampleClaim(claim, self.make, letters, tuple(sorted(self.more.items())), algorithm).apart
        yield from () if any(why.startswith((ASSUMING, READING)) for why in apart) else apart


_OF_CLAIMS: dict[tuple[int, Claim, str], tuple[OfSamples, SampleClaim | None]] = {}
"""Cache of claims' theorems, apart from the objects that make theorems, which anybody could write to."""
