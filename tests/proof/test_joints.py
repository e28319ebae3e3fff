"""`proved` is kept for what the kernel composes; printed proofs are of the claims that they name, word for word."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fedtheory.papers import claim
from fedtheory.papers.proofs import library
from fedtheory.papers.saved_certificates import reverify, steps_decided
from fedtheory.proof.chains import proof_of
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.library import Library
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.text import uses
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.proof.verdict_word import DECLARED, KERNEL, is_of_kernel, table

KERNEL_MD = Path(__file__).parents[2] / "docs" / "kernel.md"


@pytest.mark.parametrize(
    ("ref", "how", "word"),
    [
        ("fast.thm2@sharper", KERNEL, "proved"),
        ("fast.thm2@sharp", KERNEL, "proved"),  # implied by what the kernel composes
        ("fast.rem2.a@main", KERNEL, "proved"),  # an inequality between numbers
        ("fast.lemma1@main", KERNEL, "proved"),  # about a function at points
        ("li2020.thm1@main", KERNEL, "proved"),  # of three: a step, a round's end, the gap of F
        ("khaled2020.thm1@main", KERNEL, "proved"),
        ("fast.thm1@sharp", KERNEL, "proved"),
        ("fast.eq17@main", KERNEL, "proved"),  # of one round, given its start
        ("safari.thm4@corrected", KERNEL, "proved"),  # of two theorems, one for each kind of round
        ("flics.eq7.a@main", KERNEL, "proved"),  # an identity of numbers
        ("flics.thm2@corrected", DECLARED, "steps decided"),
        ("fast.thm1@main", DECLARED, "gap"),
        ("fast.cor3@main", KERNEL, "unknown"),
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
    said = {ref: printed.lacks for printed in library().printed_proofs if printed.lacks for ref in printed.claims}
    assert rows == said and all(rows.values()) and len(rows) <= 8


PRINTED = [(printed, ref) for printed in library().printed_proofs for ref in printed.claims]


@pytest.mark.parametrize(("printed", "ref"), PRINTED, ids=[ref for _, ref in PRINTED])
def test_a_printed_proof_is_of_the_claims_that_it_names(printed: PrintedProof, ref: str) -> None:
    """And of those with more assumptions; of none that says anything else."""
    this, own = claim(ref), library().printed_proof
    assert own(this) is printed and own(this.assuming("independent_noise")) is printed
    assert {*printed.readings} <= {a.name for a in this.ambiguities} or ref != printed.claims[0]
    assert all(printed.options(a.name) for a in this.ambiguities)
    (first, *others) = this.terms
    changed = [
        replace(this, terms=(replace(first, expression=first.expression + 1), *others)),
        replace(this, edition="mine"),
        replace(this, functional=replace(this.functional, name="mine")),
    ]
    changed += [replace(this, assumptions=this.assumptions[1:])] if this.assumptions else []
    changed += [replace(this, hypotheses=this.hypotheses[1:])] if this.hypotheses and not this.bound else []
    assert not any(own(other) for other in changed)


def test_what_a_proof_uses_is_named() -> None:
    of = uses(reverify("fast.thm1@sharper"))
    assert {"descent", "smooth", "unbiased", "uncorrelated", "variance", "dissimilar"} <= {*of["axioms"]}
    assert "bounded_noise(gradient_noise**2)" in of["assumptions"] and "strongly_convex" not in str(of["assumptions"])
    declared = uses(reverify("fast.eq29@main"))
    assert declared["axioms"] == [] and "unbiased_noise" in declared["assumptions"] and declared["given"]


def changed_library(derivation: Derivation) -> Library:
    """This theorem alone."""
    return Library((), [derivation], {"fast": "fast"})


def thm(ref: str) -> Derivation:
    (found,) = [d for d in library().derivations if d.name == f"composed, {ref}"]
    return found


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


def test_each_derivation_is_its_theorem_alone() -> None:
    assert len(library().derivations) > 100 and all(map(is_of_kernel, library().derivations))
    other = replace(thm("fast.thm1@sharper"), functional="final_squared_distance")
    assert not is_of_kernel(other) and not proof_of(claim("fast.thm2@sharper"), changed_library(other))


def test_the_page_names_files_that_are_there() -> None:
    root = KERNEL_MD.parents[1]
    there = {path.name for folder in ("fedtheory", "tests") for path in (root / folder).rglob("*.py")}
    named = re.findall(r"`([\w/]+\.py)`", KERNEL_MD.read_text(encoding="utf-8"))
    assert len(named) > 30 and [name for name in named if name.rpartition("/")[2] not in there] == []
