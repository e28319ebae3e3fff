"""Chain of a claim's proof: that it is a theorem of the kernel, or the steps of a printed proof of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

from ..assumptions import ASSUMPTIONS
from ..claims.statement import Claim
from . import compatibility
from .claim_theorems import KernelClaim
from .derivations import Derivation
from .library import CLAIM, Library
from .printed_proof import PrintedProof
from .steps import Decision, Step, decide_all
from .verdict_word import DECLARED, KERNEL, PROVED, STEPS_DECIDED, is_of_kernel

GOAL = f"{CLAIM}goal"
"""Name of the step that says that a claim is a theorem of the kernel."""

ASSUMES = f"{CLAIM}assumes."
"""Prefix of the names of steps that say whether the claim makes an assumption of its proof."""


@dataclass(frozen=True)
class Chain:
    """Proof of a claim, with every step decided.

    Attributes:
        claim: the claim.
        source: the theorem of the kernel that it is or is compared with, or the printed proof; ``None`` if there is
            none for the claim's functional.
        decisions: the decided steps, in order.
    """

    claim: Claim
    source: Derivation | PrintedProof | None
    decisions: tuple[Decision, ...]

    @property
    def outcome(self) -> str:
        """Outcome of the steps. It is ``proved`` if every step is proved, given by definition, or repaired by such
        steps; else ``gap`` if some step is a gap, or ``unknown``. The word for the claim itself is ``verdict``."""
        if self.source is not None and self.first_open is None:
            return "proved"
        return "gap" if any(d.outcome == "gap" for d in self.open) else "unknown"

    @property
    def own(self) -> tuple[Step, ...]:
        """Steps of the printed proof, without those that say what the claim assumes and how it is read."""
        return tuple(d.step for d in self.decisions if not d.step.name.startswith(CLAIM))

    @property
    def joints(self) -> str:
        """Word for the way in which the steps are joined, ``KERNEL`` or ``DECLARED``."""
        return KERNEL if isinstance(self.source, Derivation) else DECLARED

    @property
    def theorem(self) -> KernelClaim | None:
        """Theorem of the kernel that is the claim, or ``None``."""
        checks = (check for d in self.decisions if d.step.name == GOAL for check in d.step.checks)
        return next((check for check in checks if isinstance(check, KernelClaim)), None)

    def covers(self, ambiguity: str) -> tuple[str, ...]:
        """Return the options of an ambiguity under which the claim is proved, or none if nothing is said of it."""
        if self.theorem is not None:
            return tuple(option for name, option in self.theorem.read.items() if name == ambiguity)
        return self.source.options(ambiguity) if isinstance(self.source, PrintedProof) else ()

    @property
    def verdict(self) -> str:
        """Verdict on the claim. It is ``proved`` if it is a theorem of the kernel, and ``steps decided`` if all steps
        of a printed proof are proved. Otherwise it is the steps' ``outcome``."""
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
        names = (d.step.name.removeprefix(ASSUMES) for d in self.open if d.step.name.startswith(ASSUMES))
        return tuple(name for name in names if name in ASSUMPTIONS)

    @property
    def first_open(self) -> Decision | None:
        """First open step, or ``None``."""
        return self.open[0] if self.open else None

    @property
    def readings(self) -> tuple[dict[str, str], ...]:
        """Readings of the claim under which the chain proves it: none if it does not."""
        if self.outcome != "proved":
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


def _restated(claim: Claim) -> Claim:
    """Return the claim made anew of its parts, which are checked again. It may have been changed since it was made, or
    be of a class that says otherwise what the parts are."""
    return Claim(**{part.name: getattr(claim, part.name) for part in fields(Claim)})


def prove(claim: Claim, library: Library) -> Chain:
    """Return the chain that proves the claim. If none does, return what comes nearest, with its open steps: the theorem
    of the kernel, or the printed proof, that was written for the claim, or else the first theorem for its functional.

    >>> from fedtheory.papers import claim
    >>> from fedtheory.papers.proofs import library
    >>> prove(claim("fast.lemma2"), library()).outcome
    'proved'
    >>> half = {"curvature": claim("fast.lemma1").right_side / 2}
    >>> prove(claim("fast.lemma1").edited("main", "mutated", terms=half), library()).first_open.step.name
    'claim.composed'
    """
    claim = _restated(claim)
    if (found := proof_of(claim, library)) is not None:
        return found
    nearest = library.nearest(claim)
    return decided_by(claim, nearest[0], library) if nearest else Chain(claim, None, ())


def proof_of(claim: Claim, library: Library) -> Chain | None:
    """Return the chain that proves the claim, or ``None``: a theorem of the kernel that is the claim, or else a printed
    proof of it, all of whose steps are decided. No counterexample of the claim is looked for, and a solver is asked
    only whether the hypotheses can be met."""
    claim = _restated(claim)
    for derivation in library.fitting(claim):
        if (theorem := _theorem_of_claim(claim, derivation, library)) is None:
            continue
        decisions = decide_all((_goal(theorem), *_met(claim, _read_by(theorem), library)))
        if (made := Chain(claim, derivation, decisions)).outcome == "proved":
            return made
    printed = library.printed_proof(claim)
    if printed is None or any(step.kind == "unclear" for step in _words(claim, printed, library)):
        return None  # an assumption or a reading is missing; the rest costs more
    return made if (made := decided_by(claim, printed, library)).outcome == "proved" else None


def decided_by(claim: Claim, source: Derivation | PrintedProof, library: Library) -> Chain:
    """Return the chain of a theorem of the kernel, or of a printed proof of the claim, decided."""
    own = map(library.decided, library.needed(source.steps)) if isinstance(source, PrintedProof) else ()
    return Chain(claim, source, (*own, *decide_all(tied(claim, source, library))))


def tied(claim: Claim, source: Derivation | PrintedProof, library: Library) -> tuple[Step, ...]:
    """Return the steps on the claim itself. It has to be the theorem of the kernel; of a printed proof it makes the
    assumptions, and is read so. Some values have to meet its hypotheses, since otherwise it says nothing."""
    if isinstance(source, PrintedProof):
        return (*_words(claim, source, library), *_met(claim, source.options, library))
    if (theorem := _theorem_of_claim(claim, source, library)) is not None:
        return (_goal(theorem), *_met(claim, _read_by(theorem), library))
    return (*_apart(claim, source, library), *_met(claim, lambda ambiguity: (), library))


def _words(claim: Claim, printed: PrintedProof, library: Library) -> Iterator[Step]:
    """Yield the steps on assumptions and readings of a printed proof, and one that is open where a file of one's own
    declares it."""
    for name in library.assumed(printed.steps):
        made = name in claim.assumed
        says = f"the claim {'assumes' if made else 'does not assume'} {_meaning(name)}"
        yield _word(f"assumes.{name}", claim, says, made)
    for ambiguity in claim.ambiguities:
        name, covered = ambiguity.name, [o for o in printed.options(ambiguity.name) if o in ambiguity.options]
        option = " or ".join(covered or ambiguity.options)
        says = f"the claim {'read' if covered else 'can be read'} with {name} = {option}"
        says += "" if covered else ", of which the proof says nothing"
        yield _word(f"reading.{name}", claim, says, bool(covered))
    if not library.vouches_for(printed):
        yield _word(
            "joined",
            claim,
            "that the steps follow on each other, and end in the right side, is declared in a file of one's own, which "
            "shows nothing",
        )


def _word(name: str, claim: Claim, says: str, holds: bool = False) -> Step:
    kind, expected = ("definition", "given") if holds else ("unclear", "unknown")
    name = f"{CLAIM}{name}".replace(" ", "_")
    return Step(name, claim.source, says, kind, expected=expected, paper=claim.paper)


def _theorem_of_claim(claim: Claim, derivation: Derivation, library: Library) -> KernelClaim | None:
    """Return the check that the claim is the theorem of the kernel that a derivation is; ``None`` if it is not found to
    be. Only a class of this package may say that it is."""
    origin = derivation.origin
    if not is_of_kernel(derivation):
        return None
    return type(origin).of_claim(origin, claim, derivation.algorithm, library.rounds)


def _apart(claim: Claim, derivation: Derivation, library: Library) -> Iterator[Step]:
    """Yield open steps that say why the claim is not the theorem of the kernel that a derivation is."""
    origin = derivation.origin
    if not is_of_kernel(derivation):
        yield _word("composed", claim, "what is said to be a theorem of the kernel is not what the kernel makes")
        return
    lacks = [name for name in origin.assumptions() if name in ASSUMPTIONS and name not in claim.assumed]
    yield from (_word(f"assumes.{name}", claim, f"the claim does not assume {_meaning(name)}") for name in lacks)
    told = claim.assuming(*(name for name in lacks if not ASSUMPTIONS[name].quantity))
    if why := next(origin.apart_from(told, derivation.algorithm, library.rounds), ""):
        yield _word("composed", claim, f"the theorem of the kernel is not about what the claim is: {why}")
    elif not lacks:
        yield _word("goal", claim, "it is not the theorem that the kernel makes")


def _goal(theorem: KernelClaim) -> Step:
    """Return the step that a claim is a theorem of the kernel."""
    claim = theorem.claim
    says = f"the claim is the kernel's theorem on {theorem.about}: its hypotheses, assumptions, readings and right side"
    return Step(GOAL, claim.source, says, "composed", (theorem,), printed=False, paper=claim.paper)


def _read_by(theorem: KernelClaim) -> Callable[[str], tuple[str, ...]]:
    """Return the options of each ambiguity under which a theorem is the claim; none where every option is."""
    return lambda name: tuple(option for ambiguity, option in theorem.read.items() if ambiguity == name)


def _meaning(assumption: str) -> str:
    return f"{assumption}: {ASSUMPTIONS[assumption].meaning}"


def _met(claim: Claim, covers: Callable[[str], tuple[str, ...]], library: Library) -> Iterator[Step]:
    """A step that is open, unless values of the quantities are known that meet all hypotheses of the claim, in a
    reading that the proof covers, and nothing is known of its subject by which no run does."""
    covered = {a: [o for o in a.options if o in covers(a.name)] for a in claim.ambiguities}
    if any(some and len(some) < len(a.options) for a, some in covered.items()):
        kept = (replace(a, options=tuple(some or a.options)) for a, some in covered.items())
        claim = replace(claim, ambiguities=tuple(kept))
    found = compatibility.kept_compatibility(claim)
    why = library.excluded(claim) if found.state == compatibility.COMPATIBLE else ""
    if found.state == compatibility.CONTRADICTORY:
        fails = " or ".join(dict.fromkeys(proof["fails"] for proof in found.proofs))
        why = f"{fails} fails wherever the others hold"
    if why:
        yield _word("hypotheses", claim, f"its hypotheses contradict each other, so that it says nothing: {why}")
    elif found.state != compatibility.COMPATIBLE:
        says = "no values of the quantities are known that meet all hypotheses: it may say nothing"
        yield _word("hypotheses", claim, says)
