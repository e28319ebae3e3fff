"""Every derivation rests on the steps that it always rested on, and names only the last of them."""

from __future__ import annotations

import pytest

from fedtheory.papers import papers
from fedtheory.papers.proofs import library
from fedtheory.proof.derivations import Derivation

COUNTS = {
    "Lemma 1": 3, "Lemma 2": 4, "(5) to (13)": 36, "(16) to (17)": 12, "(14) to (23)": 35, "(26) to (28)": 21,
    "(29)": 19, "(26) to (30)": 42, "(31) to (35)": 23, "(31) to (38)": 38, "(26) to (39)": 63,
    "(26) to (40), epsilon = sigma_G^2/(K eta)": 69, "(26) to (40), epsilon = 1/(K eta)": 70,
    "(26) to (40), epsilon = mu/(8p)": 63, "one step of the mean": 40, "(5) to (24)": 68, "Theorem 1, repaired": 31,
    "Theorem 1, sharp": 32, "the condition at sigma_G = 0": 1, "the quotient of leading coefficients": 2,
    "(25) to (28)": 10, "(29) to (50)": 32, "(25) to (55), with minima": 46, "(25) to (55)": 46,
    "Theorem 4, repaired": 41, "Theorem 4, sharp": 24, "(56) to (58)": 10, "(59) to (65)": 56, "(59) to (77)": 60,
    "(56) to (83)": 72, "(56) to (85)": 78, "(56) to (85), as printed": 78, "Theorem 5, repaired": 38,
    "Theorem 5, sharp": 34, "the bound on q at sigma_G = 0": 1, "the limit of the bound on q": 2, "(B.3.2)": 7,
    "(B.3.2), sharp": 6, "(B.3.3)": 30, "(B.3.3), sharp": 26, "(B.3.5)": 60, "(B.5.1)": 62, "(B.4.1) to (B.4.4)": 67,
    "(B.5.1) to (B.5.3)": 70, "(B.5.1) to (B.5.5)": 70, "Theorem 2, repaired": 48, "(B.6.3)": 6,
    "(B.6.3), from below": 6, "(B.6.4) to (B.6.6)": 14, "(B.6.4) to (B.6.6), from below": 14,
    "(B.6.7), in every round": 18, "(B.6.8), a": 16, "(B.6.8), a, from round K on": 16, "(B.6.8), b": 19,
    "(B.6.8), b, from round K on": 19, "(B.6.8), b, next": 21, "(B.6.8), b, next, from round K on": 21, "(B.6.8)": 26,
    "(B.6.7) to (B.6.9)": 34, "(B.6.7) to (7)": 36, "Theorem 3, sharp": 26, "(B.7.1)": 41, "(B.7.1), sharp": 32,
    "(B.7.2)": 10, "Corollary 4": 95, "Corollary 4, repaired": 93, "the interval of nearly optimal weights": 1,
    "Q for known probabilities": 2, "the weight error for known probabilities": 1, "(B.6.7)": 2,
    "(24) to (23), as printed": 10, "(26), as printed": 22, "Lemma 6, as printed": 6, "(28), as printed": 12,
    "(9) to Theorem 1, as printed": 52, "(9) to Corollary 1.1, as printed": 54, "Hoeffding's step, as printed": 2,
    "(11) to (22), as printed": 18, "Lemma 4, repaired": 7, "Lemma 5, repaired": 15, "Lemma 6, repaired": 4,
    "Lemma 7, repaired": 7, "Theorem 1 of FLICS, repaired": 24,
    "Theorem 1 of FLICS, repaired for random availability": 27, "Hoeffding's step, repaired": 8,
    "weak duality along a trace": 6, "(7), at most": 3, "(7), at least": 3, "the band of (7), at least": 2,
    "the band of (7), at most": 2,
}  # fmt: skip
"""How many steps each has, with all that they rest on."""

COUNTED = [derivation for paper in ("fast", "safari", "fedau", "flics") for derivation in papers()[paper].derivations]

every_derivation = pytest.mark.parametrize("derivation", COUNTED, ids=lambda d: d.name)


def test_all_are_counted() -> None:
    assert list(COUNTS) == [derivation.name for derivation in COUNTED]


@every_derivation
def test_how_many_steps_it_has(derivation: Derivation) -> None:
    assert len(library().needed(derivation.steps)) == COUNTS[derivation.name]


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
