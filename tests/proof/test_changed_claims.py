"""Changed claims have no proof, unless they are weaker: a few of each kind here, all of them with `-m exhaustive`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
import sympy

from fedtheory.claims.statement import Hypothesis
from fedtheory.papers import all_claims, claim
from fedtheory.papers.proofs import chain, proof_of
from fedtheory.papers.saved_certificates import published_outcome
from fedtheory.proof import checker
from fedtheory.proof.claim_goals import AT_ONE_PLACE, Goal, asked_of
from fedtheory.proof.claim_theorems import untouched
from fedtheory.quantities import symbols

from .changed_claims import ALGORITHMS, KINDS, ROOM, Change, changes, may_be_proved

L, mu, q, eta = symbols("smoothness", "strong_convexity", "snapshot_probability", "local_lr")
K, sigma_G = symbols("local_steps", "dissimilarity")
SEEING = {"goal": Goal, "checker": checker.ClaimOfRuns}
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


ASSUMING = ("fast.thm2@sharper", "safari.thm5@sharper", "fedau.cor4@main", "flics.thm1@corrected", "li2020.thm3@main")


def lacking(ref: str) -> Iterator[tuple[set[str], set[str]]]:
    """Of each assumption that a claim may lose: those of its theorem that it lacks then, and what the goal names."""
    theorem = chain(ref).theorem
    bound, own = untouched(theorem.make()), theorem.claim
    needed = {AT_ONE_PLACE.get(name, name) for name, _ in asked_of(bound)}
    for lost in own.assumptions:
        less = replace(own, assumptions=tuple(each for each in own.assumptions if each is not lost))
        said = replace(theorem.goal, claim=less).lacks(bound)
        yield (own.assumed - less.assumed) & needed, {AT_ONE_PLACE.get(name, name) for name in said}


@pytest.mark.parametrize("ref", ASSUMING)
def test_the_goal_alone_names_each_assumption_that_a_claim_loses(ref: str) -> None:
    """Before the checker sees it."""
    found = list(lacking(ref))
    assert all(said == lost for lost, said in found) and sum(bool(lost) for lost, _ in found) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("ref", sorted({name.partition(":")[0] for name in ROOM}))
def test_changes_with_room_are_changes_that_keep_a_proof(ref: str) -> None:
    wanted = {name for name in ROOM if name.startswith(f"{ref}:")}
    made = [change for change in changes(ref) if change.name in wanted]
    assert {change.name for change in made} == wanted
    for change in made:
        found = proof_of(change.claim)
        assert found is not None and found.verdict == "proved", change.name


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


@pytest.mark.parametrize("cap", [8 * eta * K * L, eta * L * (8 * K + 1)], ids=str)
def test_a_cap_may_be_a_product(cap: sympy.Expr) -> None:
    assert found_with(sympy.Le(cap, 1)) == "proved"


@pytest.mark.parametrize("factor", [q, 1 - q, sigma_G, 2 - q], ids=str)
@pytest.mark.parametrize("loose", ["", "goal", "checker"])
def test_what_may_be_0_is_not_divided_by(factor: sympy.Expr, loose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step has no cap where the factor is 0. (2 - q is not seen to be above 0.) Either one says so by itself."""
    for name in (loose,) if loose else ():
        monkeypatch.setattr(SEEING[name], "surely_positive", lambda of, scalar: True)
    assert found_with(sympy.Le(factor * 8 * eta * K * L, factor), f"changed{loose}") is None


def test_that_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for seeing in SEEING.values():
        monkeypatch.setattr(seeing, "surely_positive", lambda of, scalar: True)
    assert found_with(sympy.Le(q * 8 * eta * K * L, q), "loose") == "proved"


def found_with(cap: sympy.Basic, edition: str = "changed") -> str | None:
    """The verdict on the paper's theorem with another cap in the place of its own; that on one edition is kept."""
    own = claim("fast.thm1@sharper")
    found = proof_of(replace(own, edition=edition, hypotheses=(replace(own.hypotheses[0], relation=cap),)))
    return found and found.verdict


@pytest.mark.exhaustive
@pytest.mark.parametrize("ref", PROVED)
def test_all_changes(ref: str) -> None:
    if ref in on_runs():
        found = [change.name for change in changes(ref) if survives(change)]
        assert not found
