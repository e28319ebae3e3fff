"""Every derivation rests on the steps that it always rested on, and names only the last of them."""

from __future__ import annotations

import pytest

from fedtheory.papers import papers
from fedtheory.papers.proofs import library
from fedtheory.proof.derivations import Derivation
from tests.loops import looped

COUNTS = {
    "(5) to (13)": 37, "(14) to (23)": 37, "(29)": 22, "(26) to (30)": 44, "(31) to (35)": 24, "(31) to (38)": 41,
    "(26) to (39)": 66, "(26) to (40)": 72,
    "(5) to (24)": 70, "Theorem 1, with minima": 29, "a floor, from the condition on every round": 1,
    "what the appendix's condition leaves": 1, "the condition at sigma_G = 0": 1,
    "the quotient of leading coefficients": 2, "rates for few samples, as printed": 1, "(29) to (50)": 34,
    "(25) to (55), with minima": 48, "(25) to (55)": 48, "Remark 5, identical clients": 42, "(59) to (65)": 59,
    "(59) to (77)": 63, "(56) to (83)": 75, "(56) to (85)": 81, "(56) to (85), as printed": 81,
    "(56) to (85), as printed, with an O(.)": 81, "Theorem 5, all clients": 34, "A.1, the ratio of rounds": 1,
    "a floor, from the condition with minima": 1, "(24) to (23), as printed": 10, "(26), as printed": 22,
    "Lemma 6, as printed": 6, "(28), as printed": 13, "(9) to Theorem 1, as printed": 53,
    "(9) to Corollary 1.1, as printed": 55, "(11) to (22)": 39,
    "weak duality along a trace": 6,
}  # fmt: skip
"""How many steps each has, with all that they rest on; those that the kernel composes have none."""

COUNTED = [derivation for paper in ("fast", "safari", "flics") for derivation in papers()[paper].derivations]

every_derivation = looped("derivation", COUNTED, ids=lambda d: d.name)


def test_all_are_counted() -> None:
    assert list(COUNTS) == [derivation.name for derivation in COUNTED if derivation.origin is None]


@every_derivation
def test_how_many_steps_it_has(derivation: Derivation) -> None:
    expected = COUNTS[derivation.name] if derivation.origin is None else 0
    assert len(library().needed(derivation.steps)) == expected


@every_derivation
def test_it_names_its_last_steps(derivation: Derivation) -> None:
    for name in derivation.steps:
        others = [other for other in derivation.steps if other != name]
        assert name not in library().needed(others)


def test_what_a_step_rests_on_is_known() -> None:
    with pytest.raises(ValueError, match=r"unknown step 'lemma3': did you mean 'lemma2'"):
        library().step("lemma3")
    with pytest.raises(ValueError, match="no step's name begins so"):
        library().needed(["zzz*"])
