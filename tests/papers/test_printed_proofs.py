"""Every printed proof rests on the steps that it always rested on, and names only the last of them."""

from __future__ import annotations

import pytest

from fedtheory.papers import papers
from fedtheory.papers.proofs import library
from fedtheory.proof.printed_proof import PrintedProof
from tests.loops import looped

COUNTS = {
    "(14) to (23)": 37, "(29)": 22, "(26) to (30)": 44, "(31) to (38)": 41, "(26) to (39)": 66, "(26) to (40)": 72,
    "(5) to (24)": 70, "Theorem 1, with minima": 29,
    "the quotient of leading coefficients": 2, "rates for few samples, as printed": 1, "(29) to (50)": 34,
    "(25) to (55), with minima": 48, "(25) to (55)": 48, "Remark 5, identical clients": 42, "(59) to (65)": 59,
    "(59) to (77)": 63, "(56) to (83)": 75, "(56) to (85)": 81, "(56) to (85), as printed": 81,
    "(56) to (85), as printed, with an O(.)": 81, "(24) to (23), as printed": 10,
    "(26), as printed": 22, "Lemma 6, as printed": 6, "(28), as printed": 13, "(9) to Theorem 1, as printed": 53,
    "(9) to Corollary 1.1, as printed": 55, "(11) to (22)": 39, "weak duality along a trace": 6,
}  # fmt: skip
"""How many steps each has, with all that they rest on."""

COUNTED = [printed for paper in ("fast", "safari", "flics") for printed in papers()[paper].printed_proofs]

every_proof = looped("printed", COUNTED, ids=lambda printed: printed.name)


def test_all_are_counted() -> None:
    assert list(COUNTS) == [printed.name for printed in COUNTED] == [p.name for p in library().printed_proofs]


@every_proof
def test_how_many_steps_it_has(printed: PrintedProof) -> None:
    assert len(library().needed(printed.steps)) == COUNTS[printed.name]


@every_proof
def test_it_names_its_last_steps(printed: PrintedProof) -> None:
    for name in printed.steps:
        others = [other for other in printed.steps if other != name]
        assert name not in library().needed(others)


def test_what_a_step_rests_on_is_known() -> None:
    with pytest.raises(ValueError, match=r"unknown step 'lemma3': did you mean 'lemma2'"):
        library().step("lemma3")
    with pytest.raises(ValueError, match="no step's name begins so"):
        library().needed(["zzz*"])
