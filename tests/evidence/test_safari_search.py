"""The search over SAFARI's settings finds what is wrong, also where we broke it, and nothing where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import sympy

from fedtheory.algorithms import safari
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.evidence import measured
from fedtheory.evidence.confirm import refuting_point
from fedtheory.evidence.refute import refute
from fedtheory.evidence.search import ROUNDING, SearchReport, search
from fedtheory.federations import Quadratic
from fedtheory.papers.safari.examples.server_run_search import ServerRuns, every_round_at, extremes_at
from fedtheory.papers.safari.statements import corollaries, rem5, rounds, thm4, thm5
from fedtheory.participation import Fixed
from fedtheory.quantities import symbols
from fedtheory.setting import Setting
from fedtheory.subjects import custom_search, run_search
from fedtheory.subjects.run_points import RunPoint
from fedtheory.subjects.run_subject import CLIENT, PARTS, SERVER

CLAIMS = {claim.ref: claim for module in (thm4, thm5, corollaries, rounds, rem5) for claim in module.EDITIONS}
SMALL = {"candidates": 80, "climbs": 4, "steps": 10}


@cache
def report_of(ref: str) -> SearchReport:
    return search(CLAIMS[ref], **SMALL)


REFUTED = {"safari.thm4@main": 5, "safari.thm4@appendix": 5, "safari.cor1.a@main": 5, "safari.cor1.b@main": 5,
           "safari.cor1.c@main": 5, "safari.thm5@main": 100, "safari.thm5@appendix": 5,
           "safari.cor2@main": 50}  # fmt: skip
"""With ratios that a small search reaches under every reading of the hypotheses."""

HARMLESS = (
    "safari.thm4@submission", "safari.thm4@corrected", "safari.thm4@sharp", "safari.thm5@derived",
    "safari.thm5@corrected", "safari.thm5@sharp", "safari.eq28@main", "safari.eq50@main", "safari.eq58@main",
    "safari.eq65@main", "safari.eq77@main", "safari.eq83@main", "safari.rem5.a@main",
    "safari.rem5.b@main", "safari.thm4@sharper", "safari.thm4@averaged", "safari.thm5@sharper",
    "safari.thm5@unbiased",
)  # fmt: skip
"""The submitted Theorem 4 under the readings that its proof needs: see below."""


SAME = ("safari.thm4@appendix", "safari.cor1.b@main", "safari.cor1.c@main")
"""Whose search looks at what that of another claim looks at."""


@pytest.mark.parametrize("ref", [pytest.param(r, marks=pytest.mark.slow if r in SAME else ()) for r in REFUTED])
def test_what_is_wrong_is_found(ref: str) -> None:
    report = report_of(ref)
    assert report.best.ratio >= REFUTED[ref] and report.admissible > 10


@pytest.mark.parametrize("ref", HARMLESS)
def test_what_is_right_survives(ref: str) -> None:
    report = report_of(ref)
    assert report.best.ratio <= 1 + ROUNDING
    assert report.admissible > (10 if "thm4@submission" in ref else 40)


def test_every_claim_is_searched_but_one_that_asks_for_too_many_rounds() -> None:
    """Corollary 1's part c as submitted has a condition on minima over the run that no run of the search meets."""
    assert {*REFUTED, *HARMLESS} == {*CLAIMS} - {"safari.cor1.c@submission"}
    assert report_of("safari.cor1.c@submission").best is None


def test_the_submitted_theorem_4_falls_in_the_literal_corner_alone() -> None:
    """With L K inside the root the steps may be far above 2/L, and there the quotient, divided by a negative number,
    says the opposite of what the proof needs."""
    by_reading = {name: found.ratio for name, found in report_of("safari.thm4@submission").readings.items()}
    wrong = {name for name, ratio in by_reading.items() if ratio > 1}
    assert wrong == {"root of 30 L K, quotient", "root of 30 L K, quotient with 2 L eta_s"}
    assert len(by_reading) == 8


# Claims that we broke.


def without(claim: Claim, *names: str, **hypotheses: object) -> Claim:
    """The claim without some terms or hypotheses, or with a hypothesis changed."""
    assert set(names) <= {t.name for t in claim.terms} | {h.name for h in claim.hypotheses}
    kept = tuple(h for h in claim.hypotheses if h.name not in names)
    changed = tuple(replace(h, relation=hypotheses.get(h.name, h.relation)) for h in kept)
    terms = tuple(t for t in claim.terms if t.name not in names)
    return replace(claim, edition="broken", terms=terms, hypotheses=changed)


def scaled(claim: Claim, name: str, factor: str) -> Claim:
    terms = tuple(Term(t.name, t.expression * sympy.Rational(factor)) if t.name == name else t for t in claim.terms)
    assert terms != claim.terms
    return replace(claim, edition="broken", terms=terms)


BROKEN = {
    "4 corrected without floor": without(thm4.CORRECTED, "client_rounds"),
    "4 corrected with a tenth of the floor": scaled(thm4.CORRECTED, "client_rounds", "1/10"),
    "4 corrected without its start": without(thm4.CORRECTED, "optimization"),
    "4 sharp without floor": without(thm4.SHARP, "client_rounds"),
    "4 sharp with 9/10 of the floor": scaled(thm4.SHARP, "client_rounds", "9/10"),
    "4 sharp without server noise": without(thm4.SHARP, "server_noise"),
    "5 corrected without floor": without(thm5.CORRECTED, "client_rounds"),
    "5 corrected with a tenth of the floor": scaled(thm5.CORRECTED, "client_rounds", "1/10"),
    "5 corrected with half of its start": scaled(thm5.CORRECTED, "initial", "1/2"),
    "5 sharp without floor": without(thm5.SHARP, "client_rounds"),
    "5 sharp with 9/10 of the floor": scaled(thm5.SHARP, "client_rounds", "9/10"),
    "5 derived without its condition": without(thm5.DERIVED, "q_condition"),
    "5 derived with a tenth of its start": scaled(thm5.DERIVED, "initial", "1/10"),
    "28 without the decrease": without(rounds.EQ_28, "decrease"),
    "28 with half of the noise": scaled(rounds.EQ_28, "server_noise", "1/2"),
    "50 without dissimilarity": without(rounds.EQ_50, "dissimilarity"),
    "58 without noise": without(rounds.EQ_58, "server_noise"),
    "58 with twice the gradient": scaled(rounds.EQ_58, "gradient", "2"),
    "65 without the pseudogradient": without(rounds.EQ_65, "pseudogradient"),
    "77 without the gradient and the client bias": without(rounds.EQ_77, "gradient", "client_bias"),
    "83 without its condition": without(rounds.EQ_83, "q_condition"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_what_we_broke_falls(name: str) -> None:
    assert search(BROKEN[name], **SMALL).best.ratio > 1.02


# No false alarm.


@pytest.mark.slow
@pytest.mark.parametrize("ref", ["safari.thm4@main", "safari.cor1.a@main", "safari.thm5@main", "safari.thm5@appendix"])
def test_what_is_found_is_proved_in_balls(ref: str) -> None:
    judgement = refuting_point(CLAIMS[ref], report_of(ref).best)
    assert judgement is not None and judgement.refutes


def test_a_broken_claim_falls_in_balls_too() -> None:
    broken = BROKEN["5 corrected without floor"]
    judgement = refuting_point(broken, search(broken, **SMALL).best)
    assert judgement.refutes and float(judgement.readings[0].ratio) > 1.02


@pytest.mark.parametrize("ref", ["safari.thm4@main", "safari.thm5@main", "safari.thm4@submission"])
def test_run_quantities_by_a_plain_loop(ref: str) -> None:
    """One dimension: E y and E y^2 of y = x - x*, round by round. The sample is every round up to 64."""
    space, rng, horizons, seen = ServerRuns(CLAIMS[ref]), np.random.default_rng(3), np.array([1, 5, 40]), 0
    while seen < 12:
        candidate = space.draw(rng)
        setting = space.settle(candidate, 40)
        if setting is None or setting.federation.dimension > 1 or not setting.federation.has_common_hessian:
            continue
        fed, algorithm = setting.federation, setting.algorithm
        h, optimum = float(fed.exact_hessians[0, 0, 0]), float(fed.exact_optimum[0])
        c = np.mean([float(fed.exact_centres[i, 0]) - optimum for i in setting.participation.members])
        q, eta_c, eta_s = (float(v) for v in (algorithm.share, algorithm.local_lr, algorithm.server_lr))
        y = float(setting.exact_start[0]) - optimum
        squared, G1, G2, states = y**2, [], [], []
        if 1 - (1 - eta_c * h) ** algorithm.local_steps > 1 or abs(1 - eta_c * h) > 1 or abs(1 - eta_s * h) > 1:
            continue  # sides of both signs, or a run that grows: nothing to compare to many digits
        a, s = (1 - eta_c * h) ** algorithm.local_steps, 1 - eta_s * h
        noise = eta_s**2 * float(fed.exact_server_noise) ** 2
        for _ in range(40):
            states.append(y)
            G1.append(h**2 * squared)
            scale = (1 - a) / eta_c * (1 - eta_c * h if space.shifted else 1)
            G2.append(scale**2 * (squared - 2 * c * y + c**2))
            clients = a**2 * squared + 2 * a * (1 - a) * c * y + (1 - a) ** 2 * c**2
            squared = q * clients + (1 - q) * (s**2 * squared + noise)
            y = q * (a * y + (1 - a) * c) + (1 - q) * s * y
        found = extremes_at(setting, horizons, space.shifted)
        for i, R in enumerate(horizons):
            for name, values in (("server_gradient", G1), ("arbitrary_pseudogradient", G2)):
                # Where x is near c or a step is tiny, G_2 is a difference that has lost digits.
                unit = 1e-8 * max(values)
                assert found[f"peak_{name}"][i] == pytest.approx(max(values[:R]), rel=1e-6, abs=unit)
                assert found[f"least_{name}"][i] == pytest.approx(min(values[:R]), rel=1e-6, abs=unit)
        seen += 1


def test_the_interval_of_progress_is_that_of_the_instances() -> None:
    from fedtheory.claims.balls import working_precision
    from fedtheory.subjects.enclosures import Way, every_round

    space, rng, seen = ServerRuns(thm5.MAIN), np.random.default_rng(0), 0
    while seen < 10:
        setting = space.settle(space.draw(rng), 1)
        ends = None if setting is None else every_round_at(setting, np.array([1, 30]))
        if ends is None:
            continue
        with working_precision():
            *_, exact = every_round(Way(setting, 30))
            low, high = float(exact["least_client_progress"].lower()), float(exact["peak_client_progress"].upper())
            square = float(exact["least_gradient"].lower())
        unit = 1e-6 * max(abs(low), abs(high))
        assert ends["least_gradient"][1] == pytest.approx(square, rel=1e-6)
        assert ends["least_client_progress"][1] == pytest.approx(low, rel=1e-6, abs=unit)
        assert ends["peak_client_progress"][1] == pytest.approx(high, rel=1e-6, abs=unit)
        seen += 1


def test_the_same_seed_gives_the_same_search() -> None:
    small = {"candidates": 30, "climbs": 1, "steps": 3}
    one, other = (search(thm5.SHARP, seed=5, **small) for _ in range(2))
    assert one == other


def test_steps_are_tied_and_capped() -> None:
    """Every drawn setting of Theorem 4 has local_lr = 2 server_lr/K within the cap, and some are at it."""
    space, rng, shares = ServerRuns(thm4.CORRECTED), np.random.default_rng(0), []
    for _ in range(30):
        candidate = space.draw(rng)
        setting = space.settle(candidate, 1)
        algorithm, smoothness = setting.algorithm, float(setting.federation.constants()["smoothness"].value)
        steps = algorithm.local_steps
        assert float(algorithm.local_lr) == pytest.approx(2 * float(algorithm.server_lr) / steps, rel=1e-12)
        shares.append(float(algorithm.local_lr) * 4 * 30**0.5 * smoothness * steps)
        assert shares[-1] == pytest.approx(candidate.base.step_share, rel=1e-9)
    assert max(shares) <= 1 < 1.001 * max(shares)


def test_a_hypothesis_that_no_probability_meets() -> None:
    q, steps = symbols("client_round_probability", "local_steps")
    low, high = sympy.Le(q, steps / 10**4), sympy.Ge(q, 1 - steps / 10**4)
    impossible = (Hypothesis("low", low, "here"), Hypothesis("high", high, "here"))
    assert search(replace(thm4.CORRECTED, hypotheses=impossible), candidates=10, climbs=1, steps=1).best is None


def test_refute_gives_a_judgement(monkeypatch) -> None:
    report = report_of("safari.thm5@main")
    monkeypatch.setattr("fedtheory.evidence.refute.find_claim", CLAIMS.get)
    monkeypatch.setattr("fedtheory.evidence.refute.search", lambda *_, **__: report)
    assert refute("safari.thm5@main").refutes


# On real data.


@pytest.mark.parametrize("claim", [thm4.SHARP, thm5.SHARP])
def test_settings_on_real_data_take_half_of_both_caps(claim: Claim) -> None:
    plan = replace(measured.DIGITS, clients=10)
    setting = measured.setting_on(claim, plan)
    algorithm, bound = setting.algorithm, claim.at(setting, rounds=10)
    caps = {"local_lr": ("step_cap", "drift_cap"), "server_lr": ("server_cap",)}
    for name, hypotheses in caps.items():
        (slack,) = (float(bound.slack[h]) for h in hypotheses if h in bound.slack)
        assert slack == pytest.approx(float(getattr(algorithm, name)), rel=1e-9)
    assert float(algorithm.share) == 0.5 and bound.hypotheses_hold


def test_a_claim_without_caps_is_not_measured() -> None:
    with pytest.raises(ValueError, match=r"local_lr: safari\.thm4@broken has no cap on it"):
        measured.setting_on(without(thm4.SHARP, "step_cap"), replace(measured.DIGITS, clients=10))


def test_exact_shares_have_whole_cycles() -> None:
    """With a share of 2/5, 12 rounds become 10, of two cycles; 3 have no order, nor have shares that are not exact."""
    setting = Setting(
        Quadratic([[1], [1]], [[2], [-2]]),
        safari(client_round_probability="2/5", local_lr="1/10", server_lr="1/10"), Fixed([0, 1]), start=3,
    )  # fmt: skip
    exact = ServerRuns(thm4.MAIN)
    for length, left in ((12, 10), (5, 5), (9, 5)):
        found = exact._ordered(RunPoint(setting, length, {}, part=PARTS["safari"]))
        assert (found.rounds, found.order) == (left, (SERVER, SERVER, CLIENT, SERVER, CLIENT))
    assert exact._ordered(RunPoint(setting, 3, {}, part=PARTS["safari"])).order == ()
    free = ServerRuns(thm5.MAIN)._ordered(RunPoint(setting, 12, {}, part=PARTS["safari"]))
    assert (free.rounds, free.order) == (12, ())


def test_the_probability_is_drawn_between_what_the_hypotheses_allow() -> None:
    """At the candidate's share of the way from 1/4 to 3/4."""
    (q,) = symbols("client_round_probability")
    ends = (sympy.Ge(q, sympy.Rational(1, 4)), sympy.Le(q, sympy.Rational(3, 4)))
    between = tuple(Hypothesis(f"end_{i}", end, "here") for i, end in enumerate(ends))
    space, rng, seen = ServerRuns(replace(thm4.CORRECTED, hypotheses=between)), np.random.default_rng(0), set()
    for _ in range(20):
        candidate = space.draw(rng)
        share = float(space.settle(candidate, 3).algorithm.share)
        assert share == pytest.approx(0.25 + 0.5 * candidate.base.probability, rel=1e-12)
        seen.add(share)
    assert {0.25, 0.75} <= seen and len(seen) > 4


def test_a_rounder_step_is_one_over_a_digit_and_zeros() -> None:
    """Of 97/1024: 1/10, 1/20, ..., 1/1000; a short one stays."""
    setting = Setting(
        Quadratic([[1], [1]], [[2], [-2]]),
        safari(client_round_probability="1/2", local_lr="97/1024", server_lr="1/2"), Fixed([0, 1]), start=3,
    )  # fmt: skip
    shorter = [point.setting.algorithm for point in RunPoint(setting, 5, {}, part=PARTS["safari"]).shorter()]
    local = {each.local_lr for each in shorter if each.server_lr == Fraction(1, 2)} - {Fraction(97, 1024)}
    assert local == {Fraction(1, n) for n in (10, 20, 50, 100, 200, 500, 1000)}
    assert {each.server_lr for each in shorter} == {Fraction(1, 2)}  # which has one digit
    assert [
        point.rounds for point in RunPoint(setting, 57, {}, part=PARTS["safari"]).shorter() if point.rounds != 57
    ] == [5]


def test_numbers_of_rounds_that_are_looked_at_are_different_ones_in_order() -> None:
    for looked in (custom_search.SIMULATED, custom_search.HORIZONS, run_search.HORIZONS):
        assert looked[0] == 1 and (np.diff(looked) > 0).all()
