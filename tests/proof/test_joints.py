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
from fedtheory.papers.fast.proofs.kinds_of_round import LETTERS
from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex, strongly_convex
from fedtheory.papers.proofs import library
from fedtheory.papers.saved_certificates import reverify, steps_decided
from fedtheory.proof.chains import proof_of
from fedtheory.proof.composition import Contraction, Descent
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.library import Library
from fedtheory.proof.text import uses
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
    """The kernel's steps, with this derivation alone."""
    steps = [library().step(name) for name in derivation.steps]
    return Library(steps, [derivation], {"fast": "fast"})


def thm(name: str) -> Derivation:
    (found,) = [d for d in COMPOSED if d.name == f"composed, {name}"]
    return found


BY_HAND = {
    "half the right side": lambda d: replace(d, right_side=d.right_side / 2),
    "1% less": lambda d: replace(d, right_side=d.right_side * sympy.Rational(99, 100)),
    "no needs": lambda d: replace(d, needs=()),
    "fewer assumptions": lambda d: replace(d, assumptions=d.assumptions[:-1]),
    "no readings": lambda d: replace(d, readings={}),
    "another average": lambda d: replace(d, readings={**d.readings, readings.AVERAGE: readings.FROM_ROUND_1}),
    "no origin": lambda d: replace(d, origin=None),
    "another theorem": lambda d: replace(d, steps=("thm2.sharper.composed",)),
    "another functional": lambda d: replace(d, functional="final_squared_distance"),
}


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
    """Neither what it says, nor, where it is not of the theorem, the claim itself."""
    this, derivation = claim("fast.thm1@sharper"), thm("thm1.sharper")
    assert proof_of(this, changed_library(derivation)) is not None
    by_hand = BY_HAND[name](derivation)
    assert proof_of(SAID.get(name, lambda c: c)(this), changed_library(by_hand)) is None
    own = [library().step(n) for n in by_hand.steps]
    assert joints(by_hand, own) == DECLARED


@pytest.mark.parametrize(
    "other",
    [
        {"m": "arbitrary_cohort", "n": "cohort"},
        {"q": "client_round_probability"},
        {"eta": "server_lr"},
        {"K": "rounds"},
        {"L": "strong_convexity"},
        {"sigma": "dissimilarity"},
        {"sigma_G": "gradient_noise"},
    ],
)
def test_a_letter_stands_for_the_quantity_in_its_place(other: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"allowed is|takes the constant"):
        _ = Descent(nonconvex, {**LETTERS, **other}).content


def test_each_composed_derivation_is_what_its_theorem_gives() -> None:
    assert len(COMPOSED) >= 4
    assert Descent(nonconvex, LETTERS).functional != Contraction(strongly_convex, LETTERS).functional
    for derivation in COMPOSED:
        assert joints(derivation, [library().step(n) for n in derivation.steps]) == KERNEL


def test_the_page_names_files_that_are_there() -> None:
    root = KERNEL_MD.parents[1]
    there = {path.name for folder in ("fedtheory", "tests") for path in (root / folder).rglob("*.py")}
    named = re.findall(r"`([\w/]+\.py)`", KERNEL_MD.read_text(encoding="utf-8"))
    assert len(named) > 30 and [name for name in named if name.rpartition("/")[2] not in there] == []
