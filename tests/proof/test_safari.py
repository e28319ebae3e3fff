"""The proofs of SAFARI: every display as expected, every chain with its first open step, and no proof kept that a
changed claim should lose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import sympy
from sympy import Rational

from fedtheory.assumptions import COHORT_BEFORE_NOISE, INDEPENDENT_NOISE, with_implied
from fedtheory.claims.readings import OPTIONS
from fedtheory.claims.statement import Ambiguity, Claim, Term
from fedtheory.papers import all_claims
from fedtheory.papers import claim as registered
from fedtheory.papers.proofs import library, proof_of, prove, sentence
from fedtheory.papers.registry import algorithm_of
from fedtheory.papers.safari import display_steps
from fedtheory.papers.safari.printed_proofs import PRINTED_PROOFS
from fedtheory.papers.safari.proofs import DERIVATIONS
from fedtheory.papers.safari.statements import corollaries, rem5, rounds, thm4, thm5
from fedtheory.proof.chains import ASSUMES, Chain
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.text import describe, lines
from fedtheory.quantities import symbols

CLAIMS = {c.ref: c for module in (thm4, thm5, corollaries, rounds, rem5) for c in module.EDITIONS}
OF_SECTION_3 = {c.ref for c in all_claims() if c.paper == "safari"} - set(CLAIMS)
"""What is learned from samples: tests/learning."""
ALL_STEPS = display_steps.STEPS
STEPS = tuple(step for step in ALL_STEPS if not step.name.startswith("learn."))
K, L, R, eta_c, eta_s, q, G1 = symbols(
    "local_steps", "smoothness", "rounds", "local_lr", "server_lr", "client_round_probability", "peak_server_gradient"
)
_MAXIMA, _GAIN = "s4.54_squares_replaced_by_their_maximum", "s5.83_gain"
OPEN = {
    "safari.thm4@main": (_MAXIMA,),
    "safari.thm4@appendix": (_MAXIMA,),
    "safari.thm4@submission": (),
    "safari.thm4@corrected": (),
    "safari.thm4@sharp": (),
    "safari.thm4@sharper": (),
    "safari.thm4@averaged": (),
    # 1/(L + mu) is printed where 1/(L mu) follows; then the condition on q is not the one needed
    "safari.thm5@main": (_GAIN,),
    "safari.thm5@appendix": (_GAIN,),
    "safari.thm5@derived": (),
    "safari.thm5@corrected": (),
    "safari.thm5@sharp": (),
    "safari.thm5@sharper": (),
    "safari.thm5@unbiased": (),
    "safari.cor1.b@main": (_MAXIMA,),
    "safari.cor1.c@main": (_MAXIMA,),
    "safari.cor1.a@main": (_MAXIMA,),
    "safari.cor1.c@submission": (),
    "safari.cor2@main": (_GAIN,),
    "safari.eq28@main": (),
    "safari.eq50@main": (),
    "safari.eq58@main": (),
    "safari.eq65@main": (),
    "safari.eq77@main": (),
    "safari.eq83@main": (),
    "safari.rem5.a@main": (),
    "safari.rem5.b@main": (),
}
"""The open steps of each claim, once it assumes what it lacks; none for what is then proved."""
_OF_THEOREM_4 = ("cohort_before_noise", "uncorrelated_noise")
_OF_THEOREM_5 = ("cohort_before_noise", "independent_noise", "uncorrelated_noise")
LACKING: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (f"safari.{name}" for name in ("thm4@main", "thm4@appendix", "thm4@submission", "cor1.a@main", "cor1.b@main",
                                       "cor1.c@main", "cor1.c@submission", "eq50@main", "rem5.a@main")),
        _OF_THEOREM_4,
    ),
    **dict.fromkeys(
        (f"safari.{name}" for name in ("thm5@main", "thm5@appendix", "thm5@derived", "cor2@main", "eq65@main",
                                       "eq77@main", "eq83@main")),
        _OF_THEOREM_5,
    ),
}  # fmt: skip
"""The kinds of assumption that a proof takes and the printed claim does not state; none of the others."""
REPAIRED = {
    "safari.thm4@submission": ["s4.26", "s4.46_root_of_30LK", "s4.55_squared_step"],
    "safari.eq77@main": ["s5.61_step", "s5.61_three_steps", "s5.75_cap"],
    "safari.eq83@main": ["s5.61_step", "s5.61_three_steps", "s5.75_cap", "s5.81"],
    "safari.thm5@derived": ["s5.61_step", "s5.61_three_steps", "s5.75_cap", "s5.81", "s5.84_sum_of_delta"],
}
"""The printed steps that fail and are repaired."""


@cache
def chain(ref: str) -> Chain:
    return prove(CLAIMS[ref])


@cache
def completed(ref: str) -> Chain:
    """The chain of the claim that assumes what the printed one lacks."""
    return prove(CLAIMS[ref].assuming(*chain(ref).lacking))


# Steps -----------------------------------------------------------------------------------------------------------


def test_every_step_comes_out_as_derived_by_hand() -> None:
    found = {s.name: library().decided(s.name).outcome for s in ALL_STEPS}
    assert found == {s.name: s.expected for s in ALL_STEPS}


def test_names_are_unique_and_every_step_is_used() -> None:
    names = [s.name for s in library().steps]
    assert len(set(names)) == len(names)
    used = {name for printed in library().printed_proofs for name in library().needed(printed.steps)}
    assert {s.name for s in STEPS} <= used


def test_the_displays_are_all_there() -> None:
    """(25) to (85), but for (66) and (71), which are empty lines: a step's equation names the displays it covers."""
    covered: set[int] = set()
    for each in ALL_STEPS:
        if each.printed:
            numbers = [int(n) for n in "".join(c if c.isdigit() else " " for c in each.equation).split()]
            ends = "to" in each.equation or "," in each.equation
            covered |= set(range(min(numbers), max(numbers) + 1)) if numbers and ends else set(numbers)
    assert set(range(25, 86)) - covered <= {66, 71}


def test_three_large_steps_by_hand() -> None:
    """Noise of size 1 in the first of three steps, F_i = L x^2/2, x_r = x*: exact against what (61) says."""
    eta_L, gradients, x = Fraction(8, 3), Fraction(0), Fraction(0)
    for noise in (1, 0, 0):
        gradients, x = gradients + x, x - eta_L * (x + noise)  # of L = 1, in units of 1/L
    assert (gradients + 1) ** 2 == Fraction(5, 3) ** 4 > gradients**2 + 3
    found = library().decided("s5.61_three_steps").evidence[0]
    step = Fraction(dict(found.point)["step"])
    assert step**2 * (2 - step) ** 2 + 3 - (1 - step) ** 4 == Fraction(found.value) < 0


# Chains ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", CLAIMS)
def test_the_open_steps(ref: str) -> None:
    made = completed(ref)
    assert tuple(d.step.name for d in made.open) == OPEN[ref]
    assert made.outcome == ("gap" if OPEN[ref] else "proved")
    for each in (chain(ref), made):
        repaired = [d.step.name for d in each.decisions if d.outcome == "gap" and d not in each.open]
        assert repaired == REPAIRED.get(ref, repaired)
        assert describe(each)["outcome"] == each.outcome and lines(each)[0].startswith(f"{ref}: {each.verdict}")
        for decision in each.decisions:
            if not decision.closed and decision.step.printed:
                assert sentence(decision).startswith(decision.step.equation)


@pytest.mark.parametrize("ref", CLAIMS)
def test_what_a_printed_claim_lacks(ref: str) -> None:
    """It is not proved without, and nothing else comes to it or goes from it."""
    printed, lacking = chain(ref), LACKING.get(ref, ())
    assert printed.lacking == lacking and completed(ref).lacking == ()
    assert printed.outcome == ("gap" if OPEN[ref] else "unknown" if lacking else "proved")
    assert [d.step.name for d in printed.open if d.step.name.removeprefix(ASSUMES) not in lacking] == [*OPEN[ref]]
    for kind in lacking:
        others = [k for k in lacking if kind not in with_implied([k])]
        assert kind in prove(CLAIMS[ref].assuming(*others)).lacking


def test_every_claim_has_an_expectation_and_its_own_derivation() -> None:
    own = {ref for d in DERIVATIONS for ref in d.proves} | {ref for p in PRINTED_PROOFS for ref in p.claims}
    own -= OF_SECTION_3
    assert set(OPEN) == set(CLAIMS) == own | {*BY_SHARPER} and not own & {*BY_SHARPER}
    for ref in CLAIMS:
        shown, source = f"{ref}er" if ref in BY_SHARPER else ref, chain(ref).source
        assert shown in (source.claims if isinstance(source, PrintedProof) else source.proves)


BY_SHARPER = ("safari.thm4@sharp", "safari.thm5@sharp")
"""Claims that what the kernel composes for their sharper editions proves."""


_PROOFS = {"average": "r = 0..R-1"}
_SUBMISSION = _PROOFS | {"local gradients": "k = 0..K-1", "root": "root of 30"}


@pytest.mark.parametrize(
    ("ref", "fixed", "free"),
    [
        # with kinds by chance, a run's minima hang together with how many rounds of each kind there are
        ("thm4@submission", _SUBMISSION | {"kinds of rounds": "exact shares"}, ["q-condition"]),
        ("thm4@corrected", _PROOFS, ["kinds of rounds"]),
        ("thm4@sharp", _PROOFS | {"kinds of rounds": "probability"}, []),
        ("thm5@derived", {"kinds of rounds": "probability"}, []),
        ("eq50@main", {"root": "root of 30"}, []),
    ],
)
def test_the_readings_under_which_it_is_proved(ref: str, fixed: dict[str, str], free: list[str]) -> None:
    this = CLAIMS[f"safari.{ref}"]
    expected = [r for r in this.readings() if all(r[name] == option for name, option in fixed.items())]
    assert list(completed(this.ref).readings) == expected
    assert list(chain(this.ref).readings) == ([] if this.ref in LACKING else expected)
    assert {name for r in expected for name in r} == {*fixed, *free}


def test_what_is_said_of_the_sign_and_of_the_root() -> None:
    said = {d.step.name: sentence(d) for d in chain("safari.thm4@submission").decisions if d.outcome == "gap"}
    assert "1/(4 sqrt(30 L K))" in said["s4.46_root_of_30LK"]
    assert "z <= 1/(4 sqrt 30) < 1/21" in said["s4.46_root_of_30LK"]
    (sign,) = [d for d in chain("safari.thm4@submission").decisions if d.step.name == "s4.26"]
    assert sign.outcome == "gap"
    assert sentence(sign).startswith("(26): it is claimed that the movement is eta_s times")


def test_65_holds_for_tied_steps_under_the_cap() -> None:
    this = CLAIMS["safari.eq65@main"]
    assert proof_of(this) is None and proved(this)


def test_what_three_large_steps_add_is_within_their_drift() -> None:
    """The step that (61) lacks, on clients of one dimension with kinks and noise that depends on the step before."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(3000):
        eta, knots = rng.uniform(2, 8 / 3), np.sort(rng.uniform(-8, 8, 6))
        ends = np.concatenate([[-50.0], knots, [50.0]])
        values = np.concatenate([[0.0], np.cumsum(rng.choice([0.0, 1.0, 0.5], 7) * np.diff(ends))])
        slope = rng.uniform(-3, 3) * rng.integers(0, 2)
        p, size = rng.uniform(0.1, 0.9), rng.uniform(0, 3)
        crossed = moved = 0.0
        for chance, first in ((p, size * np.sqrt((1 - p) / p)), (1 - p, -size * np.sqrt(p / (1 - p)))):
            one = -eta * (slope + first)
            gradient, later = slope + np.interp([one, 0.0], ends, values) @ [1, -1], rng.uniform(0, 3)
            for second in (later, -later):
                two = one - eta * (gradient + second)
                last = slope + np.interp([two, 0.0], ends, values) @ [1, -1]
                crossed += chance / 2 * (gradient * first + last * (first + second))
                moved += chance / 2 * (one**2 + two**2)
        if moved > 0:
            largest = max(largest, 2 * eta**2 * crossed / (eta / 2 * moved))
    assert 0.3 < largest <= 1


# Changed claims ------------------------------------------------------------------------------------------------

_ROOT = "the printed root is not the one that the proof reads"
_NEGATIVE = "a negative term dropped makes the right side larger"
_TIED = "it follows from the other cap and the tie of the steps"
_SHARPER = "the sharper edition shows it"
_COMPOSED = "what the kernel composes has smaller constants"
IMPLIED = {
    "eq28@main": {},
    "eq58@main": {"without gradient": _NEGATIVE, **dict.fromkeys(
        ("no server_cap", "1% looser server_cap", "twice server_cap"), "(58) does not use the cap")},
    "eq50@main": {"1% looser step_cap": _ROOT, "twice step_cap": _ROOT,
                  "without pseudogradient": f"it is negative under the cap: {_NEGATIVE}",
                  **dict.fromkeys(("half of drift", "99% of drift"), _COMPOSED)},
    "rem5.a@main": {"1% looser step_cap": _ROOT, "twice step_cap": _ROOT,
                    "not assuming assumption_4_server": "q = 1: the server computes nothing"},
    "rem5.b@main": {"1% looser step_cap": _ROOT, "twice step_cap": _ROOT, **dict.fromkeys(
        ("not assuming assumption_4", "not assuming assumption_5"), "q = 0: no client computes anything")},
    "thm4@corrected": {"1% looser step_cap": "1/21 suffices"},
    "thm4@sharp": dict.fromkeys(
        ("half of drift", "99% of drift", "99% of noise", "1% looser step_cap", "twice step_cap",
         "1% looser server_cap"), _SHARPER),
    "thm5@corrected": {
        **dict.fromkeys(("no server_cap", "1% looser server_cap", "twice server_cap"), _TIED),
        **dict.fromkeys(("half of client_bias", "99% of client_bias", "half of drift", "99% of drift"), _COMPOSED),
    },
    "thm5@sharp": dict.fromkeys(
        ("half of drift", "99% of drift", "99% of noise", "1% looser server_cap", "1% looser drift_cap"), _SHARPER),
    "thm5@unbiased": dict.fromkeys(
        ("no arbitrary_cohort_at_most", "no arbitrary_cohort_at_least"), "the claim is of cohorts of all clients"),
}  # fmt: skip
FAST_ENOUGH = ("eq28@main", "eq58@main", "rem5.b@main", "thm4@corrected")


@cache
def proved(this: Claim) -> bool:
    """Whether it is proved once it assumes what no paper prints."""
    return proof_of(this.assuming(INDEPENDENT_NOISE, COHORT_BEFORE_NOISE)) is not None


def changed_choices(this: Claim) -> Iterator[tuple[str, Claim]]:
    for name, choice in this.choices.items():
        for word, factor in (("twice", 2), ("99% of", Rational(99, 100)), ("minus", -1)):
            yield f"{word} {name}", replace(this, choices={**this.choices, name: factor * choice})
        yield f"free {name}", replace(this, choices={n: c for n, c in this.choices.items() if n != name})


@pytest.mark.parametrize("name", [n if n in FAST_ENOUGH else pytest.param(n, marks=pytest.mark.slow) for n in IMPLIED])
def test_only_implied_changes_keep_a_proof(name: str, mutants: Callable, keeping: Callable) -> None:
    this = CLAIMS[f"safari.{name}"]
    assert proved(this)
    assert keeping(mutants(this), proved) == set(IMPLIED[name])


@pytest.mark.parametrize("name", ["rem5.a@main", "thm4@corrected", "thm5@corrected"])
def test_a_changed_choice_loses_the_proof(name: str) -> None:
    this = CLAIMS[f"safari.{name}"]
    assert [change for change, mutant in changed_choices(this) if proved(mutant)] == []


def test_a_changed_power_loses_the_proof() -> None:
    this = CLAIMS["safari.thm5@corrected"]
    rate = thm5.rate
    distance = symbols("initial_distance")[0] ** 2
    too_small = sympy.exp(-Rational(101, 100) * rate * R)
    for power in ((1 - Rational(101, 100) * rate) ** R, (1 - rate) ** (R + 1), too_small, rate**R):
        assert not proved(this.edited("mine", "", terms={"initial": power * distance})), power
    for power in (2 * (1 - rate / 2) ** R, sympy.exp(-rate * R)):
        assert proved(this.edited("mine", "", terms={"initial": power * distance})), power


@pytest.mark.parametrize("name", ["thm4@corrected", "thm4@sharp", "thm5@sharp"])
def test_readings_that_the_proof_does_not_cover_lose_it(name: str) -> None:
    this = CLAIMS[f"safari.{name}"]
    for ambiguity in this.ambiguities:
        for option in {*OPTIONS[ambiguity.name]} - {*ambiguity.options}:
            other = replace(ambiguity, options=(option,))
            read = tuple(other if a is ambiguity else a for a in this.ambiguities)
            assert not proved(replace(this, ambiguities=read)), option
    assert not proved(replace(this, ambiguities=(*this.ambiguities, Ambiguity("which norm", ("1", "2"), ""))))
    if name != "thm4@corrected":
        shares = Ambiguity("kinds of rounds", ("exact shares",), "")
        others = tuple(a for a in this.ambiguities if a.name != "kinds of rounds")
        assert not proved(replace(this, ambiguities=(*others, shares)))


def test_one_algorithms_proof_is_not_anothers() -> None:
    """The left sides have the same names: FAST's theorems say nothing of SAFARI's runs."""
    this, fast = CLAIMS["safari.thm5@corrected"], registered("fast.thm2@corrected")
    assert (algorithm_of(this), algorithm_of(fast)) == ("safari", "fast")
    assert not proved(replace(fast, id="safari.thm2")) and not proved(replace(this, id="fast.thm5"))
    assert proved(replace(this, id="mine.thm5")) and proved(replace(fast, id="mine.thm2"))
    assert algorithm_of(replace(this, id="mine.thm5", terms=(*this.terms, *fast.terms))) is None
    # a quantity that neither algorithm knows
    unknown = Term("more", symbols("snapshot_period")[0])
    assert algorithm_of(replace(this, id="mine.thm5", terms=(*this.terms, unknown))) is None
