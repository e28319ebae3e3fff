"""Check that a claim is a theorem of the kernel."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from ..claims.statement import Claim
from . import checker
from .algorithm_match import Rounds, strange
from .answer_goals import whichever
from .claim_goals import Goal, claim_data, theorem_of
from .goal_tactics import roots_in, sought, why_not
from .kernel.run_bounds import RunBound, untouched
from .kernel.saved_claims import saved_claim
from .kernel.saved_theorems import saved
from .steps import Evidence, Finding


class KernelClaim(ABC):
    """Check that a claim is a theorem of the kernel, and that the independent checker accepts its saved proof, reads
    the claim from it, and finds the same."""

    about: ClassVar[str] = "runs"
    """What the theorem is on, in a word."""
    claim: Claim
    algorithm: str

    @property
    @abstractmethod
    def read(self) -> dict[str, str]:
        """The option of each ambiguity under which the theorem is the claim."""

    @abstractmethod
    def found(self) -> bool:
        """Whether the kernel makes the claim's theorem."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Return the saved proof of the claim."""

    def said(self, read: Mapping[str, str]) -> dict[str, Any]:
        """Return what the claim says, as it stands in a saved proof."""
        return claim_data(self.claim, read, self.algorithm)

    @abstractmethod
    def is_of(self, data: Mapping[str, Any]) -> bool:
        """Whether a saved proof is from the very theorem that the kernel makes now."""

    @abstractmethod
    def apart(self) -> Iterator[str]:
        """List in words why the theorem is not the claim, as far as was tried; nothing where it is."""

    @property
    def whichever(self) -> set[str]:
        """Ambiguities of the claim whose options make no difference."""
        return set()

    def text(self) -> str:
        """Return the saved proof of the claim.

        Raises:
            ValueError: the kernel does not make the claim's theorem.
        """
        if not self.found():
            raise ValueError(f"{self.claim.ref}: the kernel does not make its theorem")
        return json.dumps(self.data(), separators=(",", ":"))

    def certified(self) -> Finding:
        """Return ``proved`` with the saved proof as evidence if the checker accepts it, else ``unknown``."""
        return self._finding

    @cached_property
    def _finding(self) -> Finding:
        if not self.found():
            return Finding("unknown")
        text = self.text()
        return Finding("proved", (text,)) if self.accepts((text,)) else Finding("unknown")

    decide = certified
    """Decide the check; the kernel refutes nothing, so this is ``certified``."""

    def says(self, other: KernelClaim) -> bool:
        """Whether the saved proof that was accepted is of what the claim of another check says now."""
        data = [_proved(text) for text in self.certified().evidence if isinstance(text, str)]
        return bool(data) and all(d is not None and d["claim"] == other.said(d["claim"]["readings"]) for d in data)

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the checker accepts the text as a proof, from the very theorem that the kernel makes, of what the
        claim says."""
        if len(evidence) != 1 or not isinstance(evidence[0], str):
            return False
        if (data := _proved(evidence[0])) is None:
            return False
        read, free = data["claim"]["readings"], self.whichever
        fits = all(a.name in free or read.get(a.name) in a.options for a in self.claim.ambiguities)
        return fits and data["claim"] == self.said(read) and self.is_of(data)

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Return false: a claim whose theorem is not made may still be true."""
        return False


@dataclass(frozen=True)
class ClaimTheorem(KernelClaim):
    """Check that the kernel makes a claim's theorem on whole runs.

    Attributes:
        make: makes the bound that is the claim's theorem, where its hypotheses are stronger or its right side larger.
        letters: the quantities that its letters stand for.
        rounds: the rounds of the claim's algorithm, where an engine runs them.
        more: options of ambiguities that concern the claim's hypotheses alone.
    """

    claim: Claim
    make: Callable[[], RunBound]
    letters: tuple[tuple[str, str], ...]
    rounds: Rounds | None
    algorithm: str
    more: tuple[tuple[str, str], ...] = ()

    @cached_property
    def goal(self) -> Goal:
        """The claim in the letters of the bound."""
        return Goal(self.claim, dict(self.letters), self.make().where.ring, self.rounds, self.more)

    @cached_property
    def bound(self) -> RunBound | None:
        """The claim's theorem, or ``None`` where it is not found. Where an assumption is lacking, none is sought."""
        try:
            made = untouched(self.make())
            return None if self.goal.lacks(made) else sought(made, self.goal)
        except ValueError:  # the claim, or a part of it, is not reached
            return None

    def apart(self) -> Iterator[str]:
        """List in words why the theorem is not the claim, as far as was tried; nothing where it is."""
        if not self.found():
            yield why_not(untouched(self.make()), self.goal)
        elif self.certified().outcome != "proved":
            yield "its saved proof is not accepted"

    @property
    def read(self) -> dict[str, str]:
        """The option of each ambiguity under which the theorem is the claim."""
        return {} if self.bound is None else self.goal.read(self.bound)

    def found(self) -> bool:
        """Whether the kernel makes the claim's theorem."""
        return self.bound is not None and not list(self.goal.differences(self.bound))

    def data(self) -> dict[str, Any]:
        """Return the saved proof of the claim."""
        assert self.bound is not None  # it is found
        return saved_claim(self.bound, self.goal.letters, self.said(self.read), roots_in(self.goal, self.bound))

    def is_of(self, data: Mapping[str, Any]) -> bool:
        """Whether a saved proof is from the theorem on a round that the kernel makes now, of the claim's rounds."""
        theorem = theorem_of(self.make())
        if self.rounds is not None and theorem is not None and any(strange(theorem, self.rounds)):
            return False
        return _says(data) == (() if theorem is None else _says(saved(theorem)))

    @property
    def whichever(self) -> set[str]:
        """Ambiguities of the claim whose options make no difference."""
        return whichever(self.claim) if self.bound is None else self.goal.whichever(self.bound)


@lru_cache(maxsize=100)
def _proved(text: str) -> dict[str, Any] | None:
    """Check the proof in a text, once, and return it; ``None`` if it is no proof of a claim."""
    try:
        data = checker.read(text)
        checker.check(data)
    except (checker.Wrong, ValueError):
        return None
    return data if isinstance(data, dict) and "claim" in data else None


def _says(data: Mapping[str, Any]) -> tuple:
    """Return the last theorem without how it was made, and its region, with the powers of the letters that occur; and
    nothing where there is none."""
    if not data["theorems"]:
        return ()
    last = data["theorems"][-1]
    stated = {part: value for part, value in last.items() if part not in ("rule", "premises", "arguments", "where")}
    return _named(stated, data["names"]), _named(data["regions"][last["where"]], data["names"])


def _named(data: object, names: list[str]) -> object:
    """Return data whose power products name their letters, so that those of two lists of names compare."""
    if isinstance(data, dict) and data.keys() == {"top", "bottom"}:
        return {
            part: sorted(
                [sorted(pair for pair in zip(names, powers, strict=True) if pair[1]), c] for powers, c in terms
            )
            for part, terms in data.items()
        }
    if isinstance(data, dict):
        return {name: _named(part, names) for name, part in data.items()}
    return [_named(part, names) for part in data] if isinstance(data, list) else data
