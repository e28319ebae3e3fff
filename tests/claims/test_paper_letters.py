"""Letters of the papers are understood, and one that stands for two quantities is refused with both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedtheory.claims.paper_letters import quantity_named, spelled
from fedtheory.claims.terminal_formula import formula, letters_of
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import QUANTITIES


def test_every_letter_of_a_claim_is_its_quantity() -> None:
    for each in all_claims():
        for name in each.quantities:
            letter = spelled(each.letters.get(name, ""))
            same = [other for other in each.quantities if spelled(each.letters.get(other, "")) == letter]
            if letter and letter not in QUANTITIES and len(same) == 1:
                assert quantity_named(each, letter, QUANTITIES) == name


def test_a_letter_of_two_quantities_names_both() -> None:
    shared = replace(claim("fast.thm2"), letters=claim("fast.thm2").letters | {"cohort": "K"})
    with pytest.raises(ValueError, match=r"K: stands for (cohort and for local_steps|local_steps and for cohort) in"):
        quantity_named(shared, "K", QUANTITIES)
    assert letters_of(shared)["cohort"] == "cohort" and letters_of(shared)["local_steps"] == "local_steps"


def test_greek_is_taken_as_it_is_typed() -> None:
    typed = ("eta_c", "η_c", r"\eta_c", r"\eta_{c}")
    assert {quantity_named(claim("fast.thm2"), letter, QUANTITIES) for letter in typed} == {"local_lr"}
    assert quantity_named(claim("fast.thm2"), "\u00b5", QUANTITIES) == "strong_convexity"  # the sign for micro


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_formulas_fit(columns: int) -> None:
    for id in ("fast.thm2", "flics.thm1", "safari.thm4"):
        for unicode in (True, False):
            text = formula(claim(id), columns, unicode)
            assert text.strip() and max(map(len, text.splitlines())) <= columns
            assert unicode or text.isascii()
