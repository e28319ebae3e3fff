"""Changed claims have no proof, unless they are weaker: a few of each kind here, all of them with `-m exhaustive`."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from fedtheory.papers import all_claims
from fedtheory.papers.proofs import chain, proof_of
from fedtheory.papers.saved_certificates import published_outcome

from .changed_claims import ALGORITHMS, KINDS, Change, changes, may_be_proved

PAPERS = ("fast", "safari", "khaled2020", "li2020")
PROVED = tuple(
    c.ref for c in all_claims()
    if c.paper in PAPERS and c.functional.scope == "run" and published_outcome(c.ref) == "proved"
)  # fmt: skip


def on_runs() -> tuple[str, ...]:
    """The claims that are theorems of the kernel on whole runs."""
    return tuple(ref for ref in PROVED if chain(ref).theorem is not None)


def survives(change: Change) -> bool:
    """Whether a changed claim is proved and says more."""
    found = proof_of(change.claim)
    return found is not None and found.verdict == "proved" and not may_be_proved(change)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "algorithm"])
def test_changed_claims_lose_their_proof(kind: str) -> None:
    draw = Random(kind)
    of = ("fast.thm2@sharper", "fast.thm1@corrected", "safari.thm5@sharper")
    refs = ["li2020.thm1@main"] if kind == "choices" else draw.sample(of, 2)  # the others choose nothing
    made = [c for ref in refs for c in changes(ref) if c.kind == kind]
    assert made
    for change in draw.sample(made, min(2, len(made))):
        assert not survives(change), change.name


@pytest.mark.parametrize("ref", ["fast.thm2@sharper", "safari.thm5@sharper"])
def test_a_claim_of_another_algorithm(ref: str) -> None:
    """It names a quantity that the other one does not have, or has no proof."""
    assert not any(survives(change) for change in changes(ref) if change.kind == "algorithm")
    for name in ALGORITHMS:
        theorem = chain(ref).theorem
        other = replace(theorem, algorithm=name)
        assert (other.certified().outcome == "proved") == (name == theorem.algorithm)


def test_what_is_weaker_may_be_proved() -> None:
    """Else the test above would say nothing: a larger number of a right side keeps its proof, and may."""
    larger = [c for c in changes("fast.thm2@sharper") if "3/5 * 101/100" in c.part]
    assert larger and all(proof_of(c.claim) is not None and may_be_proved(c) for c in larger)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ref", PROVED)
def test_all_changes(ref: str) -> None:
    if ref in on_runs():
        found = [change.name for change in changes(ref) if survives(change)]
        assert not found
