"""`proved` is kept for what the kernel composes and for single inequalities between numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sympy

from fedtheory.claims import readings
from fedtheory.claims.statement import Claim
from fedtheory.papers import claim
from fedtheory.papers.proofs import library
from fedtheory.papers.saved_certificates import reverify, steps_decided
from fedtheory.proof.chains import proof_of
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.domain import bare
from fedtheory.proof.library import Library
from fedtheory.proof.text import uses
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.proof.verdict_word import DECLARED, KERNEL, SINGLE, joints, table

KERNEL_MD = Path(__file__).parents[2] / "docs" / "kernel.md"
COMPOSED = [d for d in library().derivations if d.origin is not None]


@pytest.mark.parametrize(
    ("ref", "how", "word"),
    [
        ("fast.thm2@sharper", KERNEL, "proved"),
        ("fast.thm2@sharp", KERNEL, "proved"),  # implied by what the kernel composes
        ("fast.rem2.a@main", SINGLE, "proved"),
        ("fast.lemma1@main", KERNEL, "proved"),  # about a function at points
        ("li2020.thm1@main", KERNEL, "proved"),  # of three: a step, a round's end, the gap of F
        ("khaled2020.thm1@main", KERNEL, "proved"),
        ("fast.thm1@sharp", KERNEL, "proved"),
        ("fast.eq17@main", KERNEL, "proved"),  # of one round, given its start
        ("safari.thm4@corrected", KERNEL, "proved"),  # of two theorems, one for each kind of round
        ("flics.eq7.a@main", KERNEL, "proved"),  # an identity of numbers
        ("flics.thm2@corrected", DECLARED, "steps decided"),
        ("fast.cor3@main", DECLARED, "gap"),
    ],
)
def test_the_word_says_how_the_steps_are_joined(ref: str, how: str, word: str) -> None:
    chain = reverify(ref)
    assert (chain.joints, chain.verdict) == (how, word)


def test_the_page_lists_what_is_decided_step_by_step() -> None:
    assert "\n".join(table(steps_decided())) in KERNEL_MD.read_text(encoding="utf-8")


def test_a_rule_lacks_where_steps_are_decided_and_nowhere_else() -> None:
    """Each such claim says which; no derivation says so of a claim that the kernel proves, or that is not decided."""
    rows = {row["claim"]: row["missing"] for row in steps_decided()}
    said = {ref: d.lacks for d in library().derivations if d.lacks for ref in d.proves}
    assert rows == said and all(rows.values()) and all(d.origin is None for d in library().derivations if d.lacks)


def test_what_a_proof_uses_is_named() -> None:
    of = uses(reverify("fast.thm1@sharper"))
    assert {"descent", "smooth", "unbiased", "uncorrelated", "variance", "dissimilar"} <= {*of["axioms"]}
    assert "bounded_noise(gradient_noise**2)" in of["assumptions"] and "strongly_convex" not in str(of["assumptions"])
    declared = uses(reverify("fast.eq29@main"))
    assert declared["axioms"] == [] and "unbiased_noise" in declared["assumptions"] and declared["given"]


def changed_library(derivation: Derivation) -> Library:
    """This derivation alone, with the step that it may name."""
    return Library(map(library().step, library().needed(derivation.steps)), [derivation], {"fast": "fast"})


def thm(ref: str) -> Derivation:
    (found,) = [d for d in COMPOSED if d.name == f"composed, {ref}"]
    return found


RIGHT = bare(claim("fast.thm1@sharper").right_side)
BY_HAND = {
    "half the right side": lambda d: replace(d, right_side=RIGHT / 2),
    "1% less": lambda d: replace(d, right_side=RIGHT * sympy.Rational(99, 100)),
    "no needs": lambda d: replace(d, right_side=RIGHT, origin=None),
    "fewer assumptions": lambda d: replace(d, assumptions=("smoothness",)),
    "no readings": lambda d: replace(d, right_side=RIGHT, readings={}),
    "another average": lambda d: replace(d, readings={readings.AVERAGE: readings.FROM_ROUND_1}),
    "a step": lambda d: replace(d, steps=("lemma2",)),
    "a step alone": lambda d: replace(d, steps=("lemma2",), right_side=RIGHT, origin=None),
    "another functional": lambda d: replace(d, functional="final_squared_distance"),
}
"""Derivations with something that is written by hand."""


def times(this: Claim, share: sympy.Expr) -> Claim:
    terms = tuple(replace(term, expression=term.expression * share) for term in this.terms)
    return replace(this, edition="mine", terms=terms)


def averaged(this: Claim, *options: str) -> Claim:
    """The claim with other options of the average, or none."""
    others = tuple(a for a in this.ambiguities if a.name != readings.AVERAGE)
    (own,) = (a for a in this.ambiguities if a.name == readings.AVERAGE)
    return replace(this, edition="mine", ambiguities=(*others, *((replace(own, options=options),) if options else ())))


SAID: dict[str, Callable[[Claim], Claim]] = {
    "half the right side": lambda c: times(c, sympy.Rational(1, 2)),
    "1% less": lambda c: times(c, sympy.Rational(99, 100)),
    "no needs": lambda c: replace(c, edition="mine", hypotheses=()),
    "fewer assumptions": lambda c: replace(
        c, edition="mine", assumptions=tuple(a for a in c.assumptions if a.kind != "bounded_dissimilarity")
    ),
    "no readings": averaged,
    "another average": lambda c: averaged(c, readings.FROM_ROUND_1),
}
"""The claim that a derivation by hand would show; by the others nothing is shown."""


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_written_by_hand_proves_nothing(name: str) -> None:
    """Neither what it says, nor the claim itself."""
    this, derivation = claim("fast.thm1@sharper"), thm("fast.thm1@sharper")
    assert proof_of(this, changed_library(derivation)) is not None
    by_hand = BY_HAND[name](derivation)
    for said in (this, SAID.get(name, lambda c: c)(this)):
        found = proof_of(said, changed_library(by_hand))
        assert found is None or (name == "a step alone" and found.verdict == "steps decided")  # as it is vouched for
    assert joints(by_hand, [library().step(n) for n in by_hand.steps]) == DECLARED


def test_another_theorem_is_none_of_the_claim() -> None:
    other = replace(thm("fast.thm1@sharper"), origin=thm("fast.thm2@sharper").origin)
    assert proof_of(claim("fast.thm1@sharper"), changed_library(other)) is None


@pytest.mark.parametrize(
    "other",
    [
        {"m": "arbitrary_cohort", "n": "cohort"},
        {"q": "client_round_probability"},
        {"eta": "server_lr"},
        {"K": "rounds", "rounds": "local_steps"},
        {"L": "strong_convexity", "mu": "smoothness"},
        {"sigma": "dissimilarity", "sigma_G": "gradient_noise"},
    ],
)
def test_a_letter_stands_for_the_quantity_in_its_place(other: dict[str, str]) -> None:
    derivation, this = thm("fast.thm1@sharper"), claim("fast.thm1@sharper")
    assert isinstance(derivation.origin, MadeBound)
    wrong = replace(derivation.origin, letters={**derivation.origin.letters, **other}).derivation("mine", (this.ref,))
    assert proof_of(this, changed_library(wrong.of("fast"))) is None


def test_each_composed_derivation_is_its_theorem_alone() -> None:
    assert len(COMPOSED) > 100
    for derivation in COMPOSED:
        assert joints(derivation, []) == KERNEL and not derivation.steps


def test_the_page_names_files_that_are_there() -> None:
    root = KERNEL_MD.parents[1]
    there = {path.name for folder in ("fedtheory", "tests") for path in (root / folder).rglob("*.py")}
    named = re.findall(r"`([\w/]+\.py)`", KERNEL_MD.read_text(encoding="utf-8"))
    assert len(named) > 30 and [name for name in named if name.rpartition("/")[2] not in there] == []
