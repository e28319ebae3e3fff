"""Changed claims have no proof, unless they are weaker: a few of each kind here, all of them with `-m exhaustive`."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import sympy

from fedtheory.claims.statement import Hypothesis
from fedtheory.papers import all_claims, claim
from fedtheory.papers.proofs import chain, proof_of
from fedtheory.papers.saved_certificates import published_outcome
from fedtheory.quantities import symbols

from .changed_claims import ALGORITHMS, KINDS, Change, changes, may_be_proved

L, mu, q = symbols("smoothness", "strong_convexity", "snapshot_probability")
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


@pytest.mark.parametrize("more", [sympy.Le(L, 1 / q), sympy.Ge(L, 1), sympy.Le(mu, 5)], ids=str)
def test_a_claim_that_asks_for_more_keeps_its_proof(more: sympy.Basic) -> None:
    """Its slack may divide by what is 0 somewhere, and a floor may stand beside one of the vocabulary, mu <= L."""
    own = claim("fast.thm2@sharper")
    asked = (*own.hypotheses, Hypothesis("more", more, "here"))
    found = proof_of(replace(own, edition="changed", hypotheses=asked))
    assert found is not None and found.verdict == "proved"


@pytest.mark.exhaustive
@pytest.mark.parametrize("ref", PROVED)
def test_all_changes(ref: str) -> None:
    if ref in on_runs():
        found = [change.name for change in changes(ref) if survives(change)]
        assert not found
