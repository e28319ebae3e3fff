"""The chain of every claim of FAST comes out as expected, and its first open step is the right one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from fedtheory.assumptions import with_implied
from fedtheory.papers import all_claims, claim
from fedtheory.papers.proofs import chain, library, prove, sentence
from fedtheory.proof.chains import ASSUMES, Chain, decided_by
from fedtheory.proof.text import describe, lines
from tests.loops import looped

_Q_CONDITION = "a2.24_q_condition_divided_by_D<0"
EXPECTED = {
    "fast.lemma1@main": None,
    "fast.lemma2@main": None,
    "fast.eq13@main": None,
    "fast.eq17@main": None,
    "fast.eq23@main": None,
    # the quotient may be >= N/D with D < 0; then the squares, and the dropped noise term
    "fast.thm1@main": _Q_CONDITION,
    "fast.thm1@appendix": _Q_CONDITION,
    "fast.thm1@corrected": None,
    "fast.thm1@sharp": None,
    "fast.thm1@sharper": None,
    "fast.thm1@averaged": None,
    "fast.thm1@periodic": None,
    "fast.cor1@main": _Q_CONDITION,
    "fast.cor1@appendix": _Q_CONDITION,
    "fast.cor1@corrected": None,
    "fast.cor2@main": _Q_CONDITION,
    "fast.cor2@corrected": None,
    "fast.rem2.a@main": None,
    "fast.rem2.b@main": None,
    "fast.eq28@main": None,
    "fast.eq29@main": None,
    "fast.eq30@main": None,
    "fast.eq35@main": None,
    "fast.eq38@main": None,
    "fast.eq39@main": None,
    "fast.thm2@main": None,
    "fast.thm2@appendix": None,
    "fast.thm2@corrected": None,
    "fast.thm2@sharp": None,
    "fast.thm2@sharper": None,
    "fast.thm2@averaged": None,
    "fast.thm2@wide": None,
    "fast.thm2@periodic": None,
    # mu R is printed where the proof gives mu^2 R
    "fast.cor3@main": "claim.composed",
    "fast.cor3@corrected": None,
    **dict.fromkeys(("fast.thm1@minima", "fast.thm1@floor", "fast.thm2@room", "fast.rem3@main")),
    **dict.fromkeys(("fast.rem1.a@main", "fast.rem1.b@main"), "claim.composed"),
}
"""The first open step of each claim, once it assumes what it lacks; ``None`` for what is then proved."""

_ROUND = ("uncorrelated_noise", "cohort_before_noise")
_POTENTIAL = ("independent_noise", "uncorrelated_noise")
LACKING: dict[str, tuple[str, ...]] = {
    "fast.eq13@main": ("uncorrelated_noise",),
    "fast.eq23@main": _ROUND,
    **dict.fromkeys(("fast.thm1@main", "fast.thm1@appendix", "fast.cor1@main", "fast.cor1@appendix"), _ROUND),
    **dict.fromkeys(("fast.cor2@main", "fast.rem1.a@main", "fast.rem1.b@main", "fast.rem3@main"), _ROUND),
    "fast.cor3@main": _ROUND,
    "fast.eq29@main": _POTENTIAL,
    "fast.eq30@main": ("uncorrelated_noise",),
    **dict.fromkeys(("fast.eq38@main", "fast.eq39@main", "fast.thm2@main"), _ROUND),
    "fast.eq35@main": ("cohort_before_noise",),
    "fast.thm2@appendix": _ROUND,
}
"""The kinds of assumption that a proof takes and the printed claim does not state; none of the others."""

REPAIRED = {"fast.eq39@main": 0, "fast.thm2@main": 0, "fast.thm2@appendix": 0, "fast.eq23@main": 0, "fast.thm1@main": 3}
"""How many printed steps are broken, and repaired: (22) among them. What the kernel makes has none."""


@cache
def completed(ref: str) -> Chain:
    """The chain of the claim that assumes what the printed one lacks."""
    return prove(claim(ref).assuming(*chain(ref).lacking))


def test_every_claim_is_expected() -> None:
    assert set(EXPECTED) == {c.ref for c in all_claims() if c.paper == "fast"}


@looped("ref", EXPECTED, quick=4)
def test_the_outcome_and_the_first_open_step(ref: str) -> None:
    printed, made = chain(ref), completed(ref)
    assert (made.first_open.step.name if made.first_open else None) == EXPECTED[ref]
    assert made.outcome == {None: "proved", "claim.composed": "unknown"}.get(EXPECTED[ref], "gap")
    assert made.lacking == ()
    for each in (printed, made):
        described = describe(each)
        assert described["repaired"] == REPAIRED.get(ref, described["repaired"])
        assert sum(c["of"] for c in described["decided"].values()) == sum(
            s["kind"] != "definition" for s in described["steps"]
        )
        assert lines(each)[0].startswith(f"{ref}: {each.verdict}")
        for decision in each.decisions:
            if not decision.closed and decision.step.printed:
                assert sentence(decision).startswith(decision.step.equation)


@looped("ref", EXPECTED, quick=4)
def test_what_a_printed_claim_lacks(ref: str) -> None:
    """It is not proved without, and nothing else comes to it or goes from it."""
    printed, made = chain(ref), completed(ref)
    lacking = LACKING.get(ref, ())
    assert {*printed.lacking} == {*lacking}
    assert printed.outcome == (made.outcome if not lacking or made.outcome == "gap" else "unknown")
    open_ = [d.step.name for d in printed.open if d.step.name.removeprefix(ASSUMES) not in lacking]
    assert open_ == [d.step.name for d in made.open]
    for kind in lacking:
        others = [k for k in lacking if kind not in with_implied([k])]
        assert kind in prove(claim(ref).assuming(*others)).lacking


def test_theorem_1_has_exactly_three_open_places() -> None:
    """Beyond the assumptions that it does not state."""
    names = [d.step.name for d in completed("fast.thm1@main").open]
    assert names == [_Q_CONDITION, "a2.24_squares_replaced_by_their_maximum", "a2.24_noise_term_dropped"]


@pytest.mark.parametrize(
    ("ref", "readings"),
    [
        ("fast.thm2@main", {"snapshots": "probability", "uniform cohort": "without replacement"}),
        ("fast.eq29@main", {"uniform cohort": "without replacement"}),
        ("fast.eq38@main", {}),
    ],
)
def test_the_readings_under_which_it_is_proved(ref: str, readings: dict[str, str]) -> None:
    assert chain(ref).outcome == "unknown" and chain(ref).readings == ()
    assert completed(ref).readings == (readings,)
    assert readings in list(claim(ref).readings())


def test_the_proofs_of_broken_claims_cover_no_reading() -> None:
    assert chain("fast.thm1@main").readings == ()


def test_what_is_said_of_22() -> None:
    """The exact point, the weakest cap 1/(2 sqrt(30)) = 0.09129, and the repair."""
    printed = library().printed_proof(claim("fast.eq23"))
    made = decided_by(claim("fast.eq23"), printed, library())
    (decision,) = [d for d in made.decisions if d.outcome == "gap"]
    text = sentence(decision)
    assert "At L = 1, K = 1, eta_c = 1/8 this is off by 7/32" in text
    assert "holds for z <= 0.0912 and fails for z = 0.0914" in text
    assert "1/2 - 12 z^2 >= 1/4 under z <= 1/8" in text
    assert any("holds for z <= 0.0912 and fails for z = 0.0914" in line for line in lines(made))


def test_what_is_said_of_a_claim_above_its_proof() -> None:
    remark = claim("fast.rem2.a@main")
    quotient = replace(remark.functional, alternatives={"product": remark.functional.expression})
    apart = prove(replace(remark, functional=quotient)).first_open
    assert apart.step.name == "claim.composed" and "G_2 has no letter among" in sentence(apart)
    assert sentence(apart).endswith("neither proved nor refuted.")
