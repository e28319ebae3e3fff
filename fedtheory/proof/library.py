"""Library of proofs: theorems of the kernel, and steps of printed proofs, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property

from ..claims.statement import Claim, algorithm_of
from ..quantities import nearest
from .algorithm_match import Rounds, built_in
from .derivations import Derivation
from .printed_proof import PrintedProof
from .steps import Decision, Step, decide

CLAIM = "claim."
"""Prefix of the names of steps on the claim itself."""


class Library:
    """Theorems of the kernel, and steps, which may rest on each other, with the printed proofs that they make.

    Attributes:
        steps: in the order given; a function that returns them is called where one is asked for.
        derivations: in the order in which they are tried on a claim.
        printed_proofs: of the claims that they name, as they are stated.
        stated: returns the claim of a ref as it is stated, or ``None``.
        algorithms: the algorithm whose runs a paper's claims are about, by the paper's name.
        rounds: returns the rounds of an algorithm from the claim and the algorithm's name; ``ValueError`` if the kernel
            has no words for them.
        excluded: says of a claim why nothing that it is about meets its hypotheses; "" where nothing does that.
        vouched: the part of the library that is trusted to declare how the steps of a printed proof follow on each
            other; by default all of it.
    """

    def __init__(
        self,
        steps: Iterable[Step] | Callable[[], Iterable[Step]],
        derivations: Iterable[Derivation] = (),
        algorithms: Mapping[str, str] | None = None,
        rounds: Callable[[Claim, str], Rounds] = built_in,
        vouched: Library | None = None,
        excluded: Callable[[Claim], str] = lambda claim: "",
        decided: dict[str, Decision] | None = None,
        printed_proofs: Iterable[PrintedProof] = (),
        stated: Callable[[str], Claim | None] = lambda ref: None,
    ) -> None:
        """``decided`` are decisions that several libraries of the same steps share."""
        self._given, self.derivations = steps, tuple(derivations)
        self.algorithms, self.rounds, self.vouched, self.excluded = dict(algorithms or {}), rounds, vouched, excluded
        self.printed_proofs, self.stated = tuple(printed_proofs), stated
        self._decided = {} if decided is None else decided
        self._needed = cache(self._all_needed)
        if vouched is not None or not callable(steps):
            _ = self._by_name  # no step of one's own takes the name of another, whether or not that one is asked for

    @cached_property
    def _by_name(self) -> dict[str, Step]:
        return _named(self._given() if callable(self._given) else self._given)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in the order given."""
        return tuple(self._by_name.values())

    def step(self, name: str) -> Step:
        """Return the step of that name; raise ``ValueError`` if there is none."""
        if name not in self._by_name:
            raise ValueError(f"unknown step {name!r}: {nearest(name, self._by_name)}")
        return self._by_name[name]

    def decided(self, name: str) -> Decision:
        """Decide a step, once, after all that it rests on."""
        for other in self.needed([name]):
            if other not in self._decided:
                self._decided[other] = decide(self.step(other), self._decided)
        return self._decided[name]

    def needed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of these steps, with all that they rest on and all that repairs them. Each comes after what
        it needs. A name that ends in * stands for all that begin so."""
        return self._needed(tuple(names))

    def _all_needed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        done: dict[str, None] = {}
        for name in names:
            matching = [n for n in self._by_name if n.startswith(name[:-1])] if name.endswith("*") else [name]
            if not matching:
                raise ValueError(f"step {name!r}: no step's name begins so")
            for found in matching:
                self._visit(found, done, ())
        return tuple(done)

    def vouches_for(self, printed: PrintedProof) -> bool:
        """Whether a printed proof and all of its steps are in the part of the library that is trusted."""
        if self.vouched is None:
            return True
        needed = {*self.needed(printed.steps)}
        return any(printed is p for p in self.vouched.printed_proofs) and needed <= self.vouched._by_name.keys()

    def nearest(self, claim: Claim) -> list[Derivation | PrintedProof]:
        """Return what a claim may be compared with, the nearest first: the theorems that were written for it, its
        printed proof, and the other theorems on its functional."""
        fitting, printed = self.fitting(claim), self.printed_proof(claim)
        own = [derivation for derivation in fitting if claim.ref in derivation.proves]
        return [*own, *([] if printed is None else [printed]), *fitting[len(own) :]]

    def printed_proof(self, claim: Claim) -> PrintedProof | None:
        """Return the printed proof of a claim, which has to be as it is stated, with more assumptions at most."""
        named = next((printed for printed in self.printed_proofs if claim.ref in printed.claims), None)
        known = self.stated(claim.ref) if named is not None else None
        if known is None or not {*known.assumptions} <= {*claim.assumptions}:
            return None
        return named if replace(claim, assumptions=known.assumptions) == known else None

    def assumed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the kinds of assumption that the steps of these names take, with all that they rest on."""
        return tuple(dict.fromkeys(kind for name in self.needed(names) for kind in self.step(name).takes))

    def _visit(self, name: str, done: dict[str, None], above: tuple[str, ...]) -> None:
        """Add a step to ``done``, after all that it needs."""
        if name in above:
            raise ValueError(f"step {name!r} rests on itself: {' -> '.join((*above, name))}")
        if name not in done:
            this = self.step(name)
            for other in (*this.rests_on, *this.repaired_by):
                self._visit(other, done, (*above, name))
            done[name] = None

    def fitting(self, claim: Claim) -> list[Derivation]:
        """Return the derivations of a claim's functional, for its algorithm; the one that was written for the claim
        comes first."""
        algorithm = algorithm_of(claim, self.algorithms.get(claim.paper, ""))
        fitting = (d for d in self.derivations if d.fits(claim, algorithm))
        return sorted(fitting, key=lambda d: claim.ref not in d.proves)


def _named(steps: Iterable[Step]) -> dict[str, Step]:
    """Return steps by name; raise ``ValueError`` where a name is not allowed or occurs twice."""
    named: dict[str, Step] = {}
    for step in steps:
        if step.name.startswith(CLAIM):
            raise ValueError(f"step {step.name!r}: allowed is a name that does not begin with {CLAIM!r}")
        if step.name in named:
            papers = " and ".join(sorted({named[step.name].paper, step.paper}))
            raise ValueError(f"step {step.name!r}: its name occurs twice, in {papers or 'one list'}")
        named[step.name] = step
    return named
