"""The settings that are searched: valid, within what the claim's words say, at the step and the probability meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.federations import Quadratic
from fedtheory.moments.one_round import one_round
from fedtheory.moments.trajectory import peaks
from fedtheory.papers import all_claims, claim
from fedtheory.papers.registry import subject_of
from fedtheory.participation import Fixed
from fedtheory.quantities import RUN_QUANTITIES, symbol
from fedtheory.setting import Setting
from fedtheory.subjects.lead import LATE
from fedtheory.subjects.quadratic_candidates import (
    FAMILIES,
    PROCESSES,
    Candidate,
    demands,
    draw,
    limit_of,
    perturb,
    settle,
    structured,
)  # fmt: skip
from fedtheory.subjects.run_search import HORIZONS, Runs

SEARCHED = [c.ref for c in all_claims() if type(subject_of(c).space(c)) is Runs]
THEOREM_1, THEOREM_2 = claim("fast.thm1@main"), claim("fast.thm2@appendix")
seeds = st.integers(0, 2**32 - 1)
refs = st.sampled_from(SEARCHED)

MILD = Candidate(
    family="quartet", seed=0, dimension=1, axis=0, mildness=0.9, conditioning=1.0, smoothness=1.0, scale=1.0, noise=0.0,
    start=0.1, start_axis=0, process="fixed", arbitrary_cohort=1, order=0, stay=1, local_steps=1, cohort=4,
    step_share=0.01, step_constant=1.0, replacement=False, period=10, probability=0.5,
)  # fmt: skip


def conforms(candidate: Candidate, ref: str) -> None:
    """What the claim's words, its hypotheses and our own limits ask for."""
    step = 0.01 / max(1.0, candidate.smoothness * candidate.local_steps)
    setting, wanted = candidate.setting(local_lr=step), demands(claim(ref))
    fed, algorithm = setting.federation, setting.algorithm
    constants = fed.constants()
    assert constants["smoothness"].value == pytest.approx(candidate.smoothness, rel=1e-12)
    assert np.isfinite(constants["dissimilarity"].value)  # every FAST claim about runs assumes that it is
    assert 1 <= fed.clients <= 5 and 1 <= fed.dimension <= 3
    assert 1 <= algorithm.cohort <= fed.clients and 1 <= setting.participation.cohort <= fed.clients
    assert candidate.family in FAMILIES and candidate.process in PROCESSES
    for share in (candidate.step_share, candidate.mildness, candidate.conditioning):
        assert 0 < share <= 1
    assert 0 <= candidate.probability <= 1
    assert algorithm.periodic <= ("period" in wanted.snapshots)
    assert algorithm.replacement <= wanted.replacement
    if wanted.run_quantities:
        assert fed.gradient_noise == 0 and setting.participation.deterministic
        assert setting.deterministic or fed.dimension == 1
    if wanted.equal_cohorts:
        assert algorithm.cohort == setting.participation.cohort
    assert np.isfinite(setting.exact([0, 5]).squared_distance).all()


@settings(deadline=None, max_examples=100)
@given(seeds, refs, st.integers(0, 3))
def test_candidates_conform(seed: int, ref: str, moves: int) -> None:
    """Also after some steps of a climb."""
    rng, wanted = np.random.default_rng(seed), demands(claim(ref))
    candidate = draw(rng, wanted)
    for _ in range(moves):
        candidate = perturb(candidate, rng, wanted)
    conforms(candidate, ref)


@pytest.mark.parametrize("ref", SEARCHED)
def test_structured_candidates_conform(ref: str) -> None:
    wanted = demands(claim(ref))
    candidates = list(structured(wanted))
    assert len(candidates) == len(set(candidates)) == 36 + 3 * wanted.replacement
    for candidate in candidates[::5]:
        conforms(candidate, ref)


def test_demands_are_the_words_of_the_claim() -> None:
    wanted = {
        ref: demands(claim(ref)) for ref in ("fast.thm1", "fast.thm2@sharp", "fast.thm2", "fast.eq39", "fast.cor3")
    }
    assert [ref for ref, w in wanted.items() if w.run_quantities] == ["fast.thm1"]
    assert [ref for ref, w in wanted.items() if w.one_round] == ["fast.eq39"]
    assert wanted["fast.thm2@sharp"].snapshots == wanted["fast.eq39"].snapshots == ("probability",)
    assert wanted["fast.thm2"].snapshots == ("period", "probability")
    assert [ref for ref, w in wanted.items() if w.replacement] == ["fast.thm2", "fast.eq39", "fast.cor3"]
    assert [ref for ref, w in wanted.items() if w.equal_cohorts] == ["fast.cor3"]
    assert all(w.common_hessian for w in wanted.values())


def test_different_hessians_where_nothing_bounds_the_dissimilarity() -> None:
    rng, wanted = np.random.default_rng(0), replace(demands(THEOREM_2), common_hessian=False)
    mixed = [c for c in (draw(rng, wanted) for _ in range(60)) if c.family == "mixed"]
    assert len(mixed) > 5
    assert not all(c.federation().has_common_hessian for c in mixed)
    assert all(c.federation().constants()["smoothness"].value <= c.smoothness * (1 + 1e-12) for c in mixed)


def test_every_choice_is_drawn() -> None:
    rng, wanted = np.random.default_rng(0), demands(THEOREM_2)
    drawn = [draw(rng, wanted) for _ in range(300)]
    assert {c.family for c in drawn} == set(FAMILIES) and {c.process for c in drawn} == set(PROCESSES)
    assert {c.dimension for c in drawn} == {1, 2, 3}
    assert {0.0, 1.0} < {c.probability for c in drawn} and 0.0 in {c.start for c in drawn}
    assert min(c.step_share for c in drawn) < 1e-5 and max(c.step_share for c in drawn) == 1
    assert min(c.conditioning for c in drawn) < 1e-5 and max(abs(c.start) for c in drawn) > 5000
    assert {c.federation().clients for c in drawn} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(("order", "expected"), [(0, (0, 1)), (1, (3, 2))])
def test_participants(order: int, expected: tuple[int, ...]) -> None:
    candidate = replace(MILD, arbitrary_cohort=2, order=order, stay=3, period=2)

    def process(name: str) -> object:
        return replace(candidate, process=name).setting().participation

    listed = list(np.random.default_rng(order).permutation(4)) if order else [0, 1, 2, 3]
    assert process("fixed").members == tuple(listed[:2])
    cycle, switch = process("cycle"), process("switch")
    assert [set(members) for members in cycle.sets] == [{listed[j], listed[(j + 1) % 4]} for j in range(4)]
    assert cycle.lengths == (6,) * 4 and cycle.cyclic
    assert switch.sets == (tuple(listed[:2]), tuple(listed[-2:])) and switch.lengths[0] == 6 and not switch.cyclic


def test_the_start_is_measured_from_the_optimum() -> None:
    candidate = replace(MILD, family="random", seed=5, dimension=3, start=-2.0, start_axis=1, scale=10.0)
    setting = candidate.setting()
    offset = (setting.exact_start - setting.federation.exact_optimum).astype(float)
    assert offset.tolist() == [0.0, -20.0, 0.0]
    assert (replace(candidate, start=0.0).setting().exact_start == setting.federation.exact_optimum).all()


# At the step size and the probability meant.


@settings(deadline=None, max_examples=60)
@given(seeds, refs)
def test_settled_candidates_keep_the_limits(seed: int, ref: str) -> None:
    """Every cap on the step size, and what is asked of q apart from maxima over the run."""
    statement = claim(ref)
    if statement.choices:
        return
    candidate = draw(np.random.default_rng(seed), demands(statement))
    setting = settle(statement, candidate)
    if setting is None:
        return
    lr = float(setting.algorithm.local_lr)
    free = {"young_parameter": 1.0}
    if demands(statement).one_round:
        free |= one_round(setting).quantities()
    free = {name: value for name, value in free.items() if name in statement.quantities}
    free |= {name: 1.0 for name in RUN_QUANTITIES if name in statement.quantities}
    bound = statement.at(setting, rounds=1, **free)
    caps = [h.name for h in statement.hypotheses if h.relation.lhs == symbol("local_lr")]
    slacks = [float(bound.slack[name]) for name in caps]
    assert caps and min(slacks) >= -1e-12 * lr  # rounding of the cap
    assert lr == pytest.approx(candidate.step_share * (min(slacks) + lr), rel=1e-6)
    kinds = ("snapshot_round", "arbitrary_round") + ("q_condition",) * (ref.startswith(("fast.thm2", "fast.eq39")))
    if not candidate.period:
        # A limit that is above 1 by 1e-9 counts as 1; what then lies beyond it is not admissible.
        assert all(bound.slack[name] >= -1e-9 for name in kinds if name in bound.slack)


def test_probability_at_its_share_of_what_is_allowed() -> None:
    """Theorem 2 asks for q >= 1 - progress / 4; the rounds of (30) and (38) are of one kind."""
    candidate = replace(MILD, period=0, step_share=1.0, probability=0.25)
    setting = settle(THEOREM_2, candidate)
    z = float(setting.algorithm.local_lr)  # smoothness = strong_convexity = local_steps = 1
    lowest = 1 - (z - 16 * z**2) / 4
    assert float(setting.algorithm.snapshot_probability) == pytest.approx(lowest + (1 - lowest) / 4, rel=1e-9)
    assert settle(claim("fast.eq30"), candidate).algorithm.snapshot_probability == 1
    assert settle(claim("fast.eq38"), candidate).algorithm.snapshot_probability == 0
    assert settle(claim("fast.thm2@sharp"), candidate).algorithm.snapshot_probability == 0.25


def test_contradictory_demands_on_q_settle_nothing() -> None:
    both = replace(THEOREM_2, hypotheses=claim("fast.eq30").hypotheses + claim("fast.eq38").hypotheses)
    assert settle(both, replace(MILD, period=0)) is None


def test_limits_that_nothing_decides_do_not_count() -> None:
    assert limit_of(THEOREM_2, "local_lr", sympy.Le, {"smoothness": 1.0}) is None
    assert limit_of(claim("fast.eq30"), "snapshot_probability", sympy.Ge, {}) == 1
    assert limit_of(claim("fast.eq13"), "local_lr", sympy.Le, {"smoothness": 2.0, "local_steps": 1.0}) == 1 / 16


# What is assessed.


@settings(deadline=None, max_examples=30)
@given(seeds, refs)
def test_what_is_assessed_is_admissible_and_what_it_says(seed: int, ref: str) -> None:
    """Its numbers again, by the package's setting and claim."""
    statement = claim(ref)
    space = Runs(statement)
    result = space.assess(draw(np.random.default_rng(seed), space.demands))
    if result is None:
        return
    best, late = result
    assert late is None or (late.fading < LATE and late.ratio <= best.ratio)
    for found in filter(None, result):
        assert found.rounds in HORIZONS and not np.isnan(found.ratio)
        free = {name: value for name, value in found.quantities.items() if name in ("young_parameter", "step_constant")}
        random_peaks = space.demands.run_quantities and not found.point.deterministic
        if space.demands.run_quantities and not random_peaks:
            free |= peaks(found.point, min(found.rounds, 3000), space.shifted)
        if space.demands.one_round:
            round = one_round(found.point)
            free |= {name: v for name, v in round.quantities().items() if name in statement.quantities}
            left = round.left(statement.functional)
        else:
            left = found.point.exact([found.rounds]).functional(statement.functional, space.average)[0]
        bound = statement.at(found.point, rounds=found.rounds, **free)
        assert left == pytest.approx(found.left, rel=1e-9)
        assert float(bound.value) == pytest.approx(found.right, rel=1e-9)
        unknown = {"q_condition"} if random_peaks else set()
        assert all(slack >= 0 for name, slack in bound.slack.items() if name not in unknown)


def test_the_worst_horizon() -> None:
    statement, rng = THEOREM_2, np.random.default_rng(1)
    space = Runs(statement)
    for _ in range(5):
        candidate = draw(rng, space.demands)
        if (result := space.assess(candidate)) is None:
            continue
        setting = settle(statement, candidate)
        lefts, rights = setting.exact(HORIZONS).squared_distance, statement.at(setting, rounds=HORIZONS).value
        with np.errstate(divide="ignore", invalid="ignore"):
            assert result[0].ratio == pytest.approx(np.nanmax(lefts / rights), rel=1e-12)


def test_inadmissible_candidates_are_not_assessed() -> None:
    """A near start: the maxima over the run stay small, and the condition on q fails at every horizon."""
    space = Runs(THEOREM_1)
    assert space.assess(MILD) is None
    assert space.assess(replace(MILD, start=50.0)) is not None


def test_random_cohorts_are_admitted_by_their_ranges() -> None:
    """A far start; one round is none of those that the ranges speak of."""
    space = Runs(THEOREM_1)
    best, _ = space.assess(replace(MILD, cohort=1, start=50.0))
    assert best.rounds >= 2 and not set(RUN_QUANTITIES) & set(best.quantities)
    assert space.assess(replace(MILD, cohort=1, start=0.1)) is None
    assert space.assess(replace(MILD, cohort=1, start=50.0, noise=1.0)) is None


def test_a_denominator_that_changes_sign_admits_nothing() -> None:
    """Both ends of a range may satisfy a quotient whose pole between them does not."""
    space, shape = Runs(THEOREM_1), (2,)
    peaks = {"peak_full_pseudogradient": 0.0, "peak_cohort_pseudogradient": 0.0}
    at = {"smoothness": 1, "gradient_noise": 0, "dissimilarity": 1, "initial_gap": 1, "cohort": 1, "rounds": 9,
          "arbitrary_cohort": 1, "local_steps": 1, "local_lr": 0.1, "snapshot_probability": 0.5}  # fmt: skip
    # The denominator is 2 - 0.8 G_2: negative at both ends in the first column only.
    bound = THEOREM_1.evaluate(**at, **peaks, peak_arbitrary_pseudogradient=np.array([[3.0, 2.0], [4.0, 3.0]]))
    assert space._without_poles(bound, shape).tolist() == [True, False]


def test_rounding_is_no_left_side() -> None:
    """At the optimum the recursion leaves 10^-32 of the squared centres; without a bound that would be infinite."""
    statement = claim("fast.eq30")
    still = replace(statement, terms=statement.terms[:1])
    candidate = replace(MILD, family="random", dimension=3, conditioning=0.3, scale=0.1, cohort=5, period=0, start=0.0,
                        step_share=1.0)  # fmt: skip
    best, _ = Runs(still).assess(candidate)
    assert 0 < best.left < 1e-30 and best.right == best.ratio == 0
    away, _ = Runs(still).assess(replace(candidate, start=1e-6))
    assert away.left > 0 and 0.5 < away.ratio < 1


def test_the_probability_that_a_chosen_step_allows() -> None:
    """Corollary 3's step size depends on q, and what is allowed of q on the step size."""
    statement = claim("fast.cor3@corrected")
    for share in (0.01, 0.5, 1.0):
        best, _ = Runs(statement).assess(replace(MILD, cohort=1, period=0, probability=share))
        q, slack = best.quantities["snapshot_probability"], statement.at(best.point, rounds=best.rounds).slack
        assert slack["q_condition"] >= 0 and slack["local_lr_choice"] == 0
        # At that share of the way from the least q to 1, up to what the last try changes.
        assert slack["q_condition"] * (1 - share) == pytest.approx((1 - q) * share, rel=0.01, abs=1e-15)


def test_the_chosen_step() -> None:
    """Corollary 1's step size shrinks with the horizon, and only those below the cap are looked at."""
    statement = claim("fast.cor1@corrected")
    best, _ = Runs(statement).assess(replace(MILD, period=0, step_constant=1.0, start=50.0))
    values = {name: v for name, v in best.quantities.items() if name != "local_lr"}
    slack = statement.at(best.point, rounds=best.rounds, step_constant=1.0).slack
    assert slack["local_lr_choice"] == 0 and values["step_constant"] == 1.0
    assert best.quantities["local_lr"] == float(best.point.algorithm.local_lr)
    assert Runs(statement).assess(replace(MILD, period=0, step_constant=1e9)) is None


@pytest.mark.parametrize("ref", ["fast.cor1@corrected", "fast.cor2@corrected", "fast.cor3@corrected"])
def test_sides_of_a_chosen_step_are_those_of_its_setting(ref: str) -> None:
    """What is known before the step is chosen is not asked again, and is the same."""
    statement, rng, seen = claim(ref), np.random.default_rng(0), 0
    space = Runs(statement)
    while seen < 10:
        candidate = space.draw(rng)
        found = (space.assess(candidate) or (None,))[0] if isinstance(candidate, Candidate) else None
        if found is None:
            continue
        free = {"step_constant": candidate.step_constant} if "step_constant" in statement.quantities else {}
        assert found.right == float(np.max(statement.at(found.point, rounds=found.rounds, **free).value))
        seen += 1


def test_what_counts_as_rounding_does_not_depend_on_where_the_optimum_is() -> None:
    space, left, seen = Runs(claim("fast.thm1@corrected")), np.geomspace(1, 1e-40, 41), []
    for far in (0, 10**6):
        federation = Quadratic.common_hessian([[far - 1], [far + 1]])
        setting = Setting(federation, MILD.algorithm(2, 0.5), Fixed([0]), start=[far + 3])
        seen.append(space._surely(left, setting))
    assert np.array_equal(*seen) and seen[0][0] == pytest.approx(1) and seen[0][-1] == 0


def test_readings_of_a_run() -> None:
    space = Runs(claim("fast.thm2@appendix"))
    found = space.assess(replace(MILD, period=1))[0]
    assert space.readings(found) == ("without replacement",)
    drawn_twice = space.assess(replace(MILD, period=1, replacement=True))[0]
    assert space.readings(drawn_twice) == ("with replacement",)
    for alone in (replace(MILD, period=1, cohort=1), replace(MILD, period=1, cohort=1, replacement=True)):
        assert space.readings(space.assess(alone)[0]) == ("without replacement", "with replacement")


# A step of a climb.


def test_perturbation_stays_within_bounds() -> None:
    """Shares do not leave (0, 1], and no noise stays no noise where there must be none."""
    rng, wanted = np.random.default_rng(0), demands(THEOREM_1)
    candidate = replace(MILD, step_share=1.0, mildness=1.0, conditioning=1.0, probability=1.0)
    for moved in (perturb(candidate, rng, wanted, size=2.0) for _ in range(50)):
        for name in ("step_share", "mildness", "conditioning"):
            assert 0 < getattr(moved, name) <= 1, name
        assert 0 <= moved.probability <= 1 and moved.noise == 0
        assert moved.setting(local_lr=0.1).deterministic or moved.dimension == 1


def test_discrete_moves_happen() -> None:
    rng, wanted = np.random.default_rng(0), demands(THEOREM_2)
    moved = [perturb(MILD, rng, wanted) for _ in range(600)]
    assert len({c.family for c in moved}) > 2 and max(c.local_steps for c in moved) > 10
    assert len({c.process for c in moved}) > 2 and len({c.dimension for c in moved}) > 1
    assert {c.replacement for c in moved} == {False}  # a climb stays in its reading
