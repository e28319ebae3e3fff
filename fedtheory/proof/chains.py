"""Chain of a claim's proof: the steps of a derivation, then the steps that tie them to the claim's own data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..assumptions import ASSUMPTIONS
from ..claims.statement import Claim
from . import compatibility
from .claim_theorems import KernelClaim
from .derivations import Derivation
from .implies import ASSUMES, CLAIM, tying, words
from .library import Library
from .steps import Decision, Step, certified_all, decide_all
from .verdict_word import DECLARED, KERNEL, PROVED, STEPS_DECIDED, is_of_kernel, joints

GOAL = f"{CLAIM}goal"
"""Name of the step that says that a claim is a theorem of the kernel on whole runs."""


@dataclass(frozen=True)
class Chain:
    """Proof of a claim, with every step decided.

    Attributes:
        claim: the claim with whose data the last steps compare.
        derivation: the derivation that makes the first steps; ``None`` if there is none for the claim's functional.
        decisions: the decided steps, in order.
    """

    claim: Claim
    derivation: Derivation | None
    decisions: tuple[Decision, ...]

    @property
    def outcome(self) -> str:
        """Outcome of the steps. It is ``proved`` if every step is proved, given by definition, or repaired by such
        steps; else ``gap`` if some step is a gap, or ``unknown``. The word for the claim itself is ``verdict``."""
        if self.derivation is not None and self.first_open is None:
            return "proved"
        return "gap" if any(d.outcome == "gap" for d in self.open) else "unknown"

    @property
    def own(self) -> tuple[Step, ...]:
        """Steps of the derivation, without those that tie it to the claim."""
        return tuple(d.step for d in self.decisions if not d.step.name.startswith(CLAIM))

    @property
    def joints(self) -> str:
        """Word for the way in which the steps are joined, one of ``verdict_word.JOINTS``."""
        return KERNEL if self.theorem is not None else joints(self.derivation, self.own)

    @property
    def theorem(self) -> KernelClaim | None:
        """Theorem of the kernel on whole runs that is the claim, or ``None``."""
        checks = (check for d in self.decisions if d.step.name == GOAL for check in d.step.checks)
        return next((check for check in checks if isinstance(check, KernelClaim)), None)

    def covers(self, ambiguity: str) -> tuple[str, ...]:
        """Return the options of an ambiguity under which the claim is proved, or none if nothing is said of it."""
        if self.theorem is not None:
            return tuple(option for name, option in self.theorem.read.items() if name == ambiguity)
        return self.derivation.options(ambiguity) if self.derivation is not None else ()

    @property
    def verdict(self) -> str:
        """Verdict on the claim. It is ``proved`` if nothing is declared by hand, and ``steps decided`` if all steps
        are proved but the way in which they are joined is declared. Otherwise it is the steps' ``outcome``."""
        if self.outcome != "proved":
            return self.outcome
        return STEPS_DECIDED if self.joints == DECLARED else PROVED

    @property
    def open(self) -> tuple[Decision, ...]:
        """Steps that are neither closed nor repaired."""
        closed = {d.step.name for d in self.decisions if d.closed}
        return tuple(
            d for d in self.decisions if not d.closed and not (d.step.repaired_by and {*d.step.repaired_by} <= closed)
        )

    @property
    def lacking(self) -> tuple[str, ...]:
        """Kinds of assumption that the chain takes and the claim does not make."""
        if self.derivation is None:
            return ()
        names = (d.step.name.removeprefix(ASSUMES) for d in self.open if d.step.name.startswith(ASSUMES))
        return tuple(name for name in names if name in ASSUMPTIONS)

    @property
    def first_open(self) -> Decision | None:
        """First open step, or ``None``."""
        return self.open[0] if self.open else None

    @property
    def readings(self) -> tuple[dict[str, str], ...]:
        """Readings of the claim under which the chain proves it: none if it does not."""
        if self.outcome != "proved" or self.derivation is None:
            return ()
        return tuple(
            reading
            for reading in self.claim.readings()
            if all(option in (self.covers(name) or (option,)) for name, option in reading.items())
        )

    @property
    def narrowed(self) -> dict[str, list[str]]:
        """Options that the chain covers, for each ambiguity that it does not cover in full; empty if the chain proves
        nothing."""
        proved, ambiguities = self.readings, self.claim.ambiguities
        covered = {a.name: [o for o in a.options if any(r[a.name] == o for r in proved)] for a in ambiguities}
        return {a.name: covered[a.name] for a in ambiguities if proved and covered[a.name] != list(a.options)}

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Numbers of steps by kind: (decided as proved or gap, all). Definitions have nothing to decide and are left
        out."""
        steps = [d for d in self.decisions if d.step.kind != "definition"]
        all_of = Counter(d.step.kind for d in steps)
        decided = Counter(d.step.kind for d in steps if d.outcome in ("proved", "gap"))
        return {kind: (decided[kind], number) for kind, number in sorted(all_of.items())}


def prove(claim: Claim, library: Library) -> Chain:
    """Return the chain that proves the claim, on its own data. If none does, return the chain written for the claim's
    ref, or else the first for its functional, with its open steps.

    >>> from fedtheory.papers import claim
    >>> from fedtheory.papers.proofs import library
    >>> prove(claim("fast.lemma2"), library()).outcome
    'proved'
    >>> half = {"curvature": claim("fast.lemma1").right_side / 2}
    >>> prove(claim("fast.lemma1").edited("main", "mutated", terms=half), library()).first_open.step.name
    'claim.composed'
    """
    found = proof_of(claim, library)
    fitting = library.fitting(claim)
    if found is not None or not fitting:
        return found or Chain(claim, None, ())
    return made_of(claim, fitting[0], decide_all(tied(claim, fitting[0], library)), library)


def proof_of(claim: Claim, library: Library) -> Chain | None:
    """Return the chain that proves the claim, or ``None``. No counterexample is looked for, and a solver is asked only
    whether the hypotheses can be met. A theorem of the kernel on whole runs that is the claim is tried first, then
    derivations that the kernel composes."""
    fitting = sorted(library.fitting(claim), key=lambda d: d.origin is None)
    for derivation in fitting:
        if (theorem := _theorem_of_claim(claim, derivation, library)) is None:
            continue
        decisions = certified_all((_goal(theorem), *_met(claim, _read_by(theorem), library)))
        if decisions is not None and (made := made_of(claim, derivation, decisions, library)).outcome == "proved":
            return made
    for derivation in fitting:
        if derivation.origin is not None or not derivation.steps or _only_declared(derivation, library):
            continue
        if any(step.kind == "unclear" for step in words(claim, derivation, library.assumed(derivation.steps))):
            continue  # an assumption or a reading is missing; the rest costs more
        decisions = certified_all(_tying(claim, derivation, library))
        if decisions is not None and (made := made_of(claim, derivation, decisions, library)).outcome == "proved":
            return made
    return None


def tied(claim: Claim, derivation: Derivation, library: Library) -> tuple[Step, ...]:
    """Return the steps that tie a claim to a derivation of the library. A theorem of the kernel has to be the claim
    itself; the bound that declared steps show has to imply it (see ``implies.tie``), and it has to be declared by a
    trusted part of the library how they follow on each other. Some values have to meet the claim's hypotheses, since
    otherwise the claim says nothing."""
    return tuple(_tying(claim, derivation, library))


def _tying(claim: Claim, derivation: Derivation, library: Library) -> Iterator[Step]:
    """Yield the steps of ``tied`` one after another."""
    if (theorem := _theorem_of_claim(claim, derivation, library)) is not None:
        yield from (_goal(theorem), *_met(claim, _read_by(theorem), library))
        return
    if derivation.origin is not None or not derivation.steps:
        yield from _apart(claim, derivation, library)
    else:
        yield from tying(claim, derivation, library.assumed(derivation.steps))
        if _only_declared(derivation, library):
            yield _open(
                "joined",
                claim,
                "that the steps follow on each other, and end in the right side, "
                "is declared in a file of one's own, which shows nothing",
            )
    yield from _met(claim, derivation.options, library)


def _theorem_of_claim(claim: Claim, derivation: Derivation, library: Library) -> KernelClaim | None:
    """Return the check that the claim is the theorem of the kernel that a derivation is; ``None`` if it is not found to
    be. Only a class of this package may say that it is."""
    origin = derivation.origin
    if origin is None or not is_of_kernel(derivation):
        return None
    return type(origin).of_claim(origin, claim, derivation.algorithm, library.rounds)


def _apart(claim: Claim, derivation: Derivation, library: Library) -> Iterator[Step]:
    """Yield open steps that say why the claim is not the theorem of the kernel that a derivation is."""
    origin = derivation.origin
    if origin is None or not is_of_kernel(derivation):
        yield _open("composed", claim, "what is said to be a theorem of the kernel is not what the kernel makes")
        return
    lacks = [name for name in origin.assumptions() if name in ASSUMPTIONS and name not in claim.assumed]
    yield from (_open(f"assumes.{name}", claim, f"the claim does not assume {_meaning(name)}") for name in lacks)
    told = claim.assuming(*(name for name in lacks if not ASSUMPTIONS[name].quantity))
    if why := next(origin.apart_from(told, derivation.algorithm, library.rounds), ""):
        yield _open("composed", claim, f"the theorem of the kernel is not about what the claim is: {why}")
    elif not lacks:
        yield _open("goal", claim, "it is not the theorem that the kernel makes")


def _goal(theorem: KernelClaim) -> Step:
    """Return the step that a claim is a theorem of the kernel on whole runs."""
    claim = theorem.claim
    says = f"the claim is the kernel's theorem on {theorem.about}: its hypotheses, assumptions, readings and right side"
    return Step(GOAL, claim.source, says, "composed", (theorem,), printed=False, paper=claim.paper)


def _read_by(theorem: KernelClaim) -> Callable[[str], tuple[str, ...]]:
    """Return the options of each ambiguity under which a theorem is the claim; none where every option is."""
    return lambda name: tuple(option for ambiguity, option in theorem.read.items() if ambiguity == name)


def _meaning(assumption: str) -> str:
    return f"{assumption}: {ASSUMPTIONS[assumption].meaning}"


def _only_declared(derivation: Derivation, library: Library) -> bool:
    """Whether it is declared how its steps follow on each other, and not by whose word is taken."""
    own = [library.step(name) for name in library.needed(derivation.steps)]
    return joints(derivation, own) == DECLARED and not library.vouches_for(derivation)


def _open(name: str, claim: Claim, says: str) -> Step:
    return Step(f"{CLAIM}{name}", claim.source, says, "unclear", expected="unknown", paper=claim.paper)


def _met(claim: Claim, covers: Callable[[str], tuple[str, ...]], library: Library) -> Iterator[Step]:
    """A step that is open, unless values of the quantities are known that meet all hypotheses of the claim, in a
    reading that the proof covers, and nothing is known of its subject by which no run does."""
    covered = {a: [o for o in a.options if o in covers(a.name)] for a in claim.ambiguities}
    if any(some and len(some) < len(a.options) for a, some in covered.items()):
        kept = (replace(a, options=tuple(some or a.options)) for a, some in covered.items())
        claim = replace(claim, ambiguities=tuple(kept))
    found = compatibility.kept_compatibility(claim)
    if found.state == compatibility.CONTRADICTORY:
        fails = " or ".join(dict.fromkeys(proof["fails"] for proof in found.proofs))
        yield _open(
            "hypotheses",
            claim,
            f"its hypotheses contradict each other, so that it says nothing: {fails} fails wherever the others hold",
        )
    elif found.state != compatibility.COMPATIBLE:
        yield _open(
            "hypotheses", claim, "no values of the quantities are known that meet all hypotheses: it may say nothing"
        )
    elif why := library.excluded(claim):
        yield _open("hypotheses", claim, f"its hypotheses contradict each other, so that it says nothing: {why}")


def made_of(claim: Claim, derivation: Derivation, tied: tuple[Decision, ...], library: Library) -> Chain:
    """Return the chain of a derivation's steps, decided, and of the steps that tie it to the claim."""
    return Chain(claim, derivation, (*map(library.decided, library.needed(derivation.steps)), *tied))
