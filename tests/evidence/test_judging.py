"""Judging what Theorems 1 and 2 do not need: random snapshots, one round, chosen steps, functions, values. Formulas are
typed from the paper again, and left sides come by plain loops."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from math import log

import pytest
import sympy
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.claims.balls import ball, working_precision
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.evidence.constructions import construct
from fedtheory.evidence.judge import judge as judge_again
from fedtheory.evidence.judge import parse
from fedtheory.evidence.search import search
from fedtheory.functionals import (
    AVERAGE_ITERATE_DISTANCE,
    BEST_GAP,
    FINAL_SQUARED_DISTANCE,
    GAP_OF_AVERAGE,
    GAP_OF_WEIGHTED_AVERAGE,
    WEIGHTED_AVERAGE_GAP,
    Functional,
)
from fedtheory.moments.function_points import Points
from fedtheory.papers import claim
from fedtheory.papers.registry import subject_of
from fedtheory.quantities import RUN_QUANTITIES, symbol
from fedtheory.subjects.enclosures import FOLLOWED, Undecided
from fedtheory.subjects.functions import FunctionPoint
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.values import ValuesPoint
from tests.work import counted

from .numbers import Numbers, biased_quartet, flat_and_noisy, judge, left_side, run_boxes, stated_constants

F = Fraction


def line(ref: str, centres: tuple, start: object, **changes: object) -> Numbers:
    """F_i(x) = (x - c_i)^2 / 2 on the line, with random snapshots."""
    constants = {name: F(int(name != "gradient_noise")) for name in stated_constants(ref)}
    defaults = {
        "hessians": ((F(1),),) * len(centres), "centres": tuple((F(c),) for c in centres), "start": (F(start),),
        "cohort": len(centres), "local_steps": 1, "local_lr": F(1, 200), "snapshot_period": None, "members": (0,),
        "rounds": 1, "snapshot_probability": F(1, 2),
    }  # fmt: skip
    return Numbers(claim=ref, constants=constants | changes.pop("constants", {}), **(defaults | changes))


def holds(enclosure: arb, value: Fraction) -> bool:
    """Whether a sharp ball holds a rational number."""
    with working_precision(4000):
        return enclosure.is_finite() and float(enclosure.rad()) < 1e-50 and bool(enclosure.contains(ball(value)))


# Random snapshots.


def test_a_half_is_a_period_of_two():
    """The quartet with q = 1/2 instead of I = 2: the same judgement, reading by reading."""
    periodic = biased_quartet("fast.thm1@main", rounds=1000, cohort=4, local_lr=F(1, 200))
    random = replace(periodic, snapshot_period=None, snapshot_probability=F(1, 2))
    one, other = (judge(i).to_json() for i in (periodic, random))
    assert other.pop("algorithm")["snapshot_probability"] == "1/2" and one.pop("algorithm")["snapshot_period"] == 2
    assert one == other


def test_a_probability_that_is_no_period_leaves_the_periodic_readings_open():
    instance = line("fast.thm2@main", (1, -1), 3, snapshot_probability=F(2, 5), rounds=10)
    judgement = judge(instance)
    by_rule = {r.reading["snapshots"]: r for r in judgement.readings}
    assert not judgement.refutes and len(judgement.readings) == 4
    assert by_rule["period"].undecided == "snapshots with probability 2/5 have no period"
    assert not by_rule["period"].refutes and by_rule["period"].failing == ["step_cap", "q_condition"]
    assert by_rule["probability"].undecided == "" and by_rule["probability"].left.is_finite()


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.fractions(-2, 2, max_denominator=9), min_size=1, max_size=3), st.fractions(0, 1, max_denominator=7),
    st.integers(1, 2), st.integers(1, 2), st.booleans(),
)  # fmt: skip
def test_left_side_of_random_snapshots(centres, q, K, rounds, replacement):
    """Over all histories of kinds and cohorts, in Fractions."""
    m, eta = len(centres), F(1, 5)
    if not replacement:
        m = max(1, m - 1)
    instance = line("fast.thm2@sharp", tuple(centres), 1, snapshot_probability=q, cohort=m, local_steps=K,
                    local_lr=eta, rounds=rounds)  # fmt: skip
    share = (1 - eta) ** K
    choose = itertools.product if replacement else itertools.combinations
    cohorts = list(choose(centres, *(() if replacement else (m,)), **({"repeat": m} if replacement else {})))
    optimum = sum(centres) / len(centres)
    law = {F(1): F(1)}
    for _ in range(rounds):
        after: dict[Fraction, Fraction] = {}
        moves = [(q / len(cohorts), F(sum(c)) / m) for c in cohorts] + [(1 - q, centres[0])]
        for (x, p), (w, target) in itertools.product(law.items(), moves):
            new = target + share * (x - target)
            after[new] = after.get(new, 0) + p * w
        law = after
    expected = sum(p * (x - optimum) ** 2 for x, p in law.items())
    with working_precision():
        side = left_side(instance, "probability", "with replacement" if replacement else "without replacement")
        assert holds(side.of(FINAL_SQUARED_DISTANCE, ""), expected)


def test_deterministic_runs_of_one_kind_are_followed():
    """With probability 0 or 1 all rounds are of one kind; a maximum over no rounds is 0."""
    for q, first, second in ((F(1), F(9), 0), (F(0), 0, F(4))):
        instance = line("fast.thm1@main", (1, -1), 3, snapshot_probability=q, rounds=5)
        with working_precision():
            (box,) = run_boxes(instance, "probability", "without replacement", "k = 0..K-1")
            assert all(holds(box[n], F(v)) for n, v in zip(RUN_QUANTITIES, (first, second, first), strict=True))
            with pytest.raises(Undecided, match="rounds of both kinds"):
                run_boxes(instance, "probability", "with replacement", "k = 0..K-1")


def test_one_round_has_no_maxima_of_both_kinds():
    for rounds, decided in ((1, False), (2, True)):
        instance = line("fast.thm1@main", (1, -1), 3, cohort=1, rounds=rounds)
        reading = judge(instance).readings[0]
        assert (reading.undecided == "") == decided


# Long and hostile.


def test_longest_runs_are_judged_quickly():
    """10^15 rounds of the deterministic quartet, not followed, and it is said so."""
    # eta = 2 / sqrt(5 R / 2): 25 * 10^14 is a square
    with counted(10**6):
        judgement = judge(biased_quartet("fast.cor1@main", rounds=10**15, cohort=4))
    assert judgement.to_json()["chosen"][0]["value"] == "4.00000000000e-8" and judgement.refutes
    # 25 * 10^13 is none: the chosen step is irrational, a ball
    with counted(10**6):
        judgement = judge(biased_quartet("fast.cor1@main", rounds=10**14, cohort=4))
    assert judgement.to_json()["chosen"][0]["value"] == "1.26491106407e-7" and judgement.refutes
    long = judge(biased_quartet("fast.thm1@main", rounds=10**15, cohort=4, local_lr=F(1, 200)))
    followed = judge(biased_quartet("fast.thm1@main", rounds=FOLLOWED // 100, cohort=4, local_lr=F(1, 200)))
    assert long.refutes
    notes = [(r.reading["snapshots"], r.reading["uniform cohort"], r.note) for r in long.readings if r.note]
    assert {note[:2] for note in notes} == {("period", "without replacement")}
    assert all("invariant interval" in note[2] for note in notes)
    assert "note" in long.to_json()["readings"][0] and not any(r.note for r in followed.readings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 10**15 + 1}, "rounds = 1000000000000001: allowed is an integer from 1 to 1000000000000000"),
        ({"local_steps": 101}, "local_steps = 101: allowed is an integer from 1 to 100"),
        ({"snapshot_period": 10**16, "snapshot_probability": None}, "snapshot_period = 10000000000000000: allowed"),
        ({"snapshot_period": 0, "snapshot_probability": None}, "snapshot_period = 0.0: allowed is an integer >= 1"),
        ({"snapshot_period": 2}, "snapshot_period and snapshot_probability: give exactly one of them"),
        ({"snapshot_probability": None}, "snapshot_period and snapshot_probability: give exactly one of them"),
        ({"snapshot_probability": F(3, 2)}, "snapshot_probability = 1.5: allowed is a number in [0, 1]"),
        ({"local_lr": None}, "local_lr = chosen: allowed is a rational"),
        ({"local_lr": F(0)}, "local_lr = 0.0: allowed is a finite number > 0"),
        ({"centres": ((F(1),),) * 1001, "hessians": ((F(1),),) * 1001}, "clients = 1001: allowed in an instance is at"),
        ({"centres": ((F(0),), *((F(1),),) * 100), "hessians": ((F(1),),) * 101}, "clients = 101: allowed in an insta"),
        ({"start": (F(1),) * 5}, "dimension = 5: allowed in an instance is at most 4"),
        ({"constants": {"young_parameter": F(1)}}, "constants: young_parameter is none of fast.thm1@main"),
    ],
)
def test_what_is_no_instance_of_a_run(change, message):
    with pytest.raises(ValueError) as error:
        judge(replace(line("fast.thm1@main", (1, -1), 3), **change))
    assert message in str(error.value)


def test_what_is_no_instance_of_another_kind():
    points = Instance(
        "fast.lemma1@main", FunctionPoint(Points(["1"], ["0"], ["0"], ["1"], ["0"]), {"smoothness": F(1)})
    )
    for instance, statement, message in (
        (points, claim("fast.thm1"), "fast.thm1@main is about a run: allowed with such an instance is one about a f"),
        (line("fast.thm1@main", (1,), 1), claim("fast.lemma1"), "about a function: allowed with such an instance is"),
        (line("fast.eq17@main", (1,), 1, rounds=2), None, "rounds = 2: allowed is 1, the claim is about one round"),
        (line("fast.cor1@main", (1,), 1), None, "local_lr = 1/200: allowed is left to the claim, which chooses it"),
        (
            replace(points, point=replace(points.point, constants={})),
            None,
            "smoothness = None: allowed is a finite number > 0",
        ),
        (Instance("fast.rem2.a@main", ValuesPoint({})), None, "smoothness = None: allowed is a finite number > 0"),
    ):
        with pytest.raises(ValueError) as error:
            judge(instance, statement=statement)
        assert message in str(error.value)


def test_a_bound_on_run_quantities_cannot_be_judged():
    """What no instance knows is an error by name, not a crash."""
    statement = claim("fast.thm1").edited("peaks", "", terms={"noise": symbol("peak_full_pseudogradient")})
    with pytest.raises(ValueError, match="peak_full_pseudogradient: such an instance does not have it"):
        judge(replace(line("fast.thm1@main", (1, -1), 3, rounds=5), claim=statement.ref), statement=statement)


# One round.


def test_eq38_by_hand():
    """x_1 = c + (1 - eta)^2 (x_0 - c) with c = 1, from 3, with noise eta^2 sigma^2 (1 + (1 - eta)^2) for K = 2."""
    eta, sigma, epsilon = F(1, 100), F(1, 3), F(1, 7)
    constants = {"gradient_noise": sigma, "young_parameter": epsilon}
    instance = line("fast.eq38@main", (1, -1), 3, local_steps=2, local_lr=eta, snapshot_probability=F(0),
                    constants=constants)  # fmt: skip
    (reading,) = judge(instance).readings
    assert holds(reading.left, (1 + (1 - eta) ** 2 * 2) ** 2 + eta**2 * sigma**2 * (1 + (1 - eta) ** 2))
    K, L, mu, n, s_G, d2 = 2, 1, 1, 1, 1, 9
    right = (1 - F(3, 2) * mu * K * eta + 2 * K * eta * epsilon + 8 * L**2 * K**2 * eta**2) * d2
    right += (K * eta / (2 * epsilon) + 8 * K**2 * eta**2) * s_G**2 + 2 * K * eta**2 / n * sigma**2
    with working_precision():  # the distance enters as a root of 9, squared again
        assert abs(float(reading.right - ball(right))) < 1e-60
    assert reading.failing == [] and not reading.refutes
    wrong_kind = judge(replace(instance, snapshot_probability=F(1, 1000))).readings[0]
    assert wrong_kind.failing == ["arbitrary_round"] and not wrong_kind.refutes
    two_rounds = judge(replace(instance, rounds=2)).readings[0]
    assert two_rounds.failing == ["one_round"] and not two_rounds.refutes


def test_eq13_by_hand():
    """Terms of both signs: with K = 1 and everyone in, x_1 = (1 - eta) x_0, and all sums of gradients are x_0."""
    eta, x = F(1, 10), F(3)
    (reading, twin) = judge(line("fast.eq13@main", (1, -1), x, local_lr=eta, snapshot_probability=F(1))).readings
    decrease = (x**2 - (1 - eta) ** 2 * x**2) / 2
    positive = 4 / eta * decrease + 60 * eta**2 + 4 * eta * x**2
    assert holds(reading.left, x**2) and holds(reading.right, positive - 2 * x**2)
    assert holds(reading.ratio, (x**2 + 2 * x**2) / positive)
    assert reading.failing == [] and reading.slack["drift_cap"] == F(1, 8) - eta
    assert reading.slack["rate_cap"].overlaps(arb(1) / (2 * arb(15).sqrt()) - ball(eta))
    # Two draws with replacement: the cohort's mean c is 0 or, with probability 1/4 each, 1 or -1.
    assert twin.reading == {"uniform cohort": "with replacement"}
    decrease -= eta**2 / 2 * F(1, 2)
    positive = 4 / eta * decrease + 60 * eta**2 + 4 * eta * (x**2 + F(1, 2))
    assert holds(twin.right, positive - 2 * x**2)


def test_one_round_is_never_periodic():
    """An instance with period 2 is a snapshot with probability 1/2, although round 0 of a period is one for sure."""
    periodic = line("fast.eq39@main", (1, -1), 3, snapshot_period=2, snapshot_probability=None)
    random = line("fast.eq39@main", (1, -1), 3)
    one, other = (judge(i).readings[0] for i in (periodic, random))
    assert one.left.mid() == other.left.mid() and one.right.mid() == other.right.mid()
    eta, x = F(1, 200), F(3)
    assert holds(one.left, (((1 - eta) * x) ** 2 + (1 + (1 - eta) * (x - 1)) ** 2) / 2)


@pytest.mark.parametrize("ref", ["eq13", "eq17", "eq23", "eq28", "eq29", "eq30", "eq35", "eq38", "eq39"])
@settings(deadline=None, max_examples=12)
@given(
    st.lists(st.fractions(-2, 2, max_denominator=9), min_size=2, max_size=4), st.fractions(-9, 9, max_denominator=9),
    st.integers(1, 4), st.fractions(0, 2, max_denominator=5), st.fractions(F(1, 50), 3, max_denominator=50),
)  # fmt: skip
def test_one_round_claims_stand(ref, centres, start, K, noise, epsilon):
    statement = claim(f"fast.{ref}")
    names = {h.name for h in statement.hypotheses}
    q = F(int("arbitrary_round" not in names))
    optimum = sum(centres) / len(centres)
    values = {"dissimilarity": max(abs(c - optimum) for c in centres), "gradient_noise": noise,
              "young_parameter": epsilon}  # fmt: skip
    constants = {n: v for n, v in values.items() if n in stated_constants(statement)}
    lr = F(1, 20 * K * len(centres) + 3)
    judgement = judge(line(statement.ref, tuple(centres), start, cohort=2, local_steps=K, local_lr=lr,
                           snapshot_probability=q, constants=constants))  # fmt: skip
    for reading in judgement.readings:
        assert set(reading.failing) <= {"q_condition"}
        if (ref, reading.reading) != FALLS:
            assert not reading.refutes and not reading.left > reading.right


FALLS = ("eq29", {"uniform cohort": "with replacement"})


@pytest.mark.parametrize("clients", [2, 3, 5])
def test_noise_of_a_client_that_is_drawn_twice_counts_twice(clients):
    """At the optimum of equal clients, m = 2, K = 1: (29) allows eta^2 sigma^2 / 2 + 10 eta^4 sigma^2. With
    replacement both draws are of one client with probability 1/M, whose noise is whole: eta^2 sigma^2 (1 + 1/M) / 2."""
    eta = F(1, 43)
    instance = line("fast.eq29@main", (F(1),) * clients, F(1), cohort=2, local_lr=eta, snapshot_probability=F(1),
                    constants={"dissimilarity": F(0), "gradient_noise": F(1)})  # fmt: skip
    without, with_replacement = judge(instance).readings
    assert with_replacement.reading == FALLS[1] and with_replacement.refutes and not without.refutes
    assert holds(with_replacement.left, eta**2 * (1 + F(1, clients)) / 2) and holds(without.left, eta**2 / 2)
    assert holds(without.right, eta**2 / 2 + 10 * eta**4)


# Steps that the claim chooses.


def test_chosen_rational_steps_are_exact():
    """Corollary 1 with m = 4, n = 1, q = 1/2: eta = 2 c / sqrt(5 R / 2), rational for R = 10 s^2."""
    constants = {"smoothness": F(1), "gradient_noise": F(0), "dissimilarity": F(1), "step_constant": F(1, 2)}
    instance = biased_quartet("fast.cor1@main", rounds=10 * 100**2, cohort=4, constants=constants)
    judgement = judge(instance)
    assert judgement.to_json()["chosen"][0]["value"] == "0.00200000000000"  # 2 c / (5 s)
    assert all(r.slack["step_cap"] == F(1, 8) - F(1, 500) for r in judgement.readings)
    assert judgement.refutes  # and Theorem 1 itself falls there: the same runs
    theorem = judge(replace(instance, claim="fast.thm1@main", local_lr=F(1, 500), constants={
        name: value for name, value in constants.items() if name != "step_constant"}))  # fmt: skip
    for one, other in zip(judgement.readings, theorem.readings, strict=True):
        assert one.left.overlaps(other.left) and one.right.overlaps(other.right)


def test_run_quantities_of_irrational_steps():
    """Enclosed as those of a rational step beside it, whether the run is followed or not."""
    chosen = biased_quartet("fast.cor1@main", rounds=2 * 10**5, cohort=4)  # eta = 2 / sqrt(5 R / 2)
    theorem = {n: v for n, v in chosen.constants.items() if n != "step_constant"}
    beside = replace(chosen, claim="fast.thm1@main", local_lr=F(2 / (5 * 10**5) ** 0.5), constants=theorem)
    for follow in (True, False):
        for one, other in zip(
            judge(chosen, follow=follow).readings, judge(beside, follow=follow).readings, strict=True
        ):
            assert one.slack["q_condition"] is not None and not one.undecided
            # radii of boxes have 30 bits
            assert float(one.slack["q_condition"]) == pytest.approx(float(other.slack["q_condition"]), rel=1e-7)
            # a float's step, relative error 2^-53, over 10^5 rounds
            assert float(one.left) == pytest.approx(float(other.left), rel=1e-9)


def test_chosen_irrational_steps_are_enclosed():
    """Corollary 3: one client with noise is an autoregression, whose second moment has a closed form."""
    judgement = construct("fast.cor3@main")
    with working_precision(512):
        mu, R = ball(F(1, 1000)), 1000
        eta = (10**12 * mu / 2).log()  # log(|x_0|^2 mu^2 R / (2 sigma^2)) / (mu R), mu R = 1
        share = (1 - mu * eta) ** 2
        left = share**R * 10**12 + eta**2 * (1 - share**R) / (1 - share)
        for reading in judgement.readings:
            assert reading.left.overlaps(left) and float(reading.left.rad()) < 1e-60 * float(left)
    assert float(judgement.readings[0].right) == pytest.approx(
        2.718281828459045 ** (-1000 / 20) * 10**12 + (1 + log(5 * 10**8)) * 2, rel=1e-12
    )
    # its q-condition divides by the dissimilarity, 0: it asks for q >= -infinity
    assert all(bool(reading.slack["q_condition"] == arb("inf")) for reading in judgement.readings)


def test_corollary_3_needs_another_power_of_mu():
    """The ratio grows like l / (1 + l) / (4 mu): no constant in place of the O(.) repairs the statement."""
    ratios = []
    for inverse in (10**3, 10**4, 10**6):
        judgement = judge(flat_and_noisy("fast.cor3@main", inverse))
        assert judgement.refutes
        ratios.append(float(judgement.readings[0].ratio))
        log_term = log(10**12 / (2 * inverse))
        # up to shares l mu / 2 of the stationary noise, l <= 21, and 8 / (10^12 mu l) of what is left of the start
        assert ratios[-1] == pytest.approx(inverse / 4 * log_term / (1 + log_term), rel=11 / inverse)
    assert ratios[0] > 200 and all(later > 8 * earlier for earlier, later in itertools.pairwise(ratios))


def test_corrected_corollaries_stand_there():
    constants = construct("fast.cor1@main").instance.point.constants
    first = biased_quartet("fast.cor1@corrected", rounds=10**10, constants=dict(constants))
    for judgement in (judge(first), judge(flat_and_noisy("fast.cor3@corrected"))):
        assert all(r.failing == [] and r.left < r.right for r in judgement.readings)


def test_a_chosen_step_of_zero_is_an_error():
    """Corollary 3 from its optimum: the logarithm is 0."""
    instance = replace(flat_and_noisy("fast.cor3@main"), start=(F(0),))
    with pytest.raises(ValueError, match=r"local_lr: fast\.cor3@main chooses 0 here, allowed is a number > 0"):
        judge(instance)


# Functions and values.


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.fractions(-5, 5, max_denominator=9)] * 5), min_size=1, max_size=3), st.data())
def test_lemmas_by_hand(rows, data):
    """Typed from the paper; both lemmas stand, under any honest constants."""
    h, b, x, y, z = (tuple(column) for column in zip(*rows, strict=True))
    convex = tuple(abs(v) + F(1, 5) for v in h)
    L = max(map(abs, h)) + data.draw(st.fractions(F(1, 9), 1))

    def g(curvatures, u):
        return sum(c * v * v / 2 + s * v for c, s, v in zip(curvatures, b, u, strict=True))

    def slope(curvatures, at, step):
        return sum((c * u + s) * d for c, s, u, d in zip(curvatures, b, at, step, strict=True))

    def minus(one, other):
        return [p - q for p, q in zip(one, other, strict=True)]

    def square(v):
        return sum(t * t for t in v)

    (first,) = judge(Instance("fast.lemma1@main", FunctionPoint(Points(h, b, x, y, z), {"smoothness": L}))).readings
    assert holds(first.left, g(h, y) - g(h, x) - slope(h, x, minus(y, x)))
    with working_precision():
        assert (first.right - ball(L / 2 * square(minus(y, x)))).overlaps(arb(0))
    assert first.failing == [] and not first.refutes
    mu, L = min(convex), max(convex)
    constants = {"smoothness": L, "strong_convexity": mu}
    (second,) = judge(Instance("fast.lemma2@main", FunctionPoint(Points(convex, b, x, y, z), constants))).readings
    assert holds(second.left, g(convex, z) - g(convex, y) - slope(convex, x, minus(z, y)))
    with working_precision():
        right = -mu / 4 * square(minus(y, z)) + L * square(minus(z, x))
        assert (second.right - ball(right)).overlaps(arb(0))
    assert second.failing == [] and not second.refutes


def test_functions_must_respect_the_stated_constants():
    points = Points(["-2"], ["0"], ["1"], ["2"], ["3"])
    fails = judge(Instance("fast.lemma1@main", FunctionPoint(points, {"smoothness": F(1)}))).readings[0]
    assert fails.failing == ["assumption_1"] and not fails.refutes
    constants = {"smoothness": F(2), "strong_convexity": F(1)}
    fails = judge(Instance("fast.lemma2@main", FunctionPoint(points, constants))).readings[0]
    assert fails.failing == ["assumption_4"] and not fails.refutes


def test_values_are_those_of_a_run_of_identical_clients():
    """Remark 2, case 1: an arbitrary round and then a snapshot, of clients F_i(x) = x^2 / 2 from x_0 = 1; by hand, and
    among runs of the simulator."""
    judgement = construct("fast.rem2.a@main")
    values = judgement.instance.point.values
    x_0 = F(1)
    x_1 = x_0 - values["local_lr"] * x_0
    G = {"peak_full_pseudogradient": x_1**2, "peak_arbitrary_pseudogradient": x_0**2,
         "peak_cohort_pseudogradient": x_1**2}  # fmt: skip
    assert {name: values[name] for name in RUN_QUANTITIES} == G
    assert holds(judgement.readings[0].left, 1 / (1 - x_1**2)) and judgement.readings[0].right == 0
    setting = line(
        "fast.thm1@main", (0, 0), 1, local_lr=values["local_lr"], cohort=1, rounds=2,
        snapshot_probability=values["snapshot_probability"], constants={"dissimilarity": F(0)},
    ).setting()  # fmt: skip
    assert setting.federation.exact_squared_dissimilarity == 0
    run = setting.simulate(replicas=40, rounds=2, seed=0, observers=["peaks"])
    seen = [all(abs(run.peaks[name][i] - float(G[name])) < 1e-12 for name in G) for i in range(40)]
    assert any(seen)  # a quarter of the runs


def test_values_that_divide_by_zero_are_an_error():
    values = dict(construct("fast.rem2.a@main").instance.point.values)
    values |= dict.fromkeys(RUN_QUANTITIES, F(0))
    with pytest.raises(ValueError, match="values: what the condition on q asks at dissimilarity 0 divides by zero"):
        judge(Instance("fast.rem2.a@main", ValuesPoint(values)))


# Statements.


def test_the_given_statement_is_judged():
    """Not the registered one of the same name."""
    instance = line("fast.thm2@corrected", (1, -1), 2, snapshot_probability=F(0), local_lr=F(1, 1000), rounds=10**5)
    assert not judge(instance).refutes
    original = claim("fast.thm2@corrected")
    bare = replace(original, terms=tuple(t for t in original.terms if t.name != "arbitrary_rounds"))
    judgement = judge(instance, statement=bare)
    assert judgement.refutes and judgement.statement is bare
    capped = replace(bare, hypotheses=(*bare.hypotheses, Hypothesis("short", sympy.Le(symbol("rounds"), 10), "")))
    assert judge(instance, statement=capped).readings[0].failing == ["short"]
    assert judge(replace(instance, rounds=10), statement=capped).readings[0].failing == []


@pytest.mark.parametrize(
    ("probability", "dissimilarity", "local_lr", "decided"),
    [
        ("1", "0", "1/100", True),
        ("1/2", "0", "1/100", True),
        ("1/2", "0", "1/16", None),
        ("1/2", "1/10", "1/100", False),
    ],
)
def test_division_by_a_dissimilarity_of_zero(probability, dissimilarity, local_lr, decided):
    """q >= 1 - (mu K eta - 16 L^2 K^2 eta^2) / (4 sigma_G^2): minus infinity while eta < 1/16, and 0/0 there."""
    instance = line(
        "fast.thm2@main", (0, 0), 1, snapshot_probability=F(probability), local_lr=F(local_lr), rounds=3,
        constants={"dissimilarity": F(dissimilarity)},
    )  # fmt: skip
    slacks = [r.slack["q_condition"] for r in judge(instance).readings]
    if decided:
        assert all(bool(slack == arb("inf")) for slack in slacks)
    else:  # at 1/10: 1/2 - 1 + (1/100 - 16/10000) / (4/100) < 0
        assert slacks == [None] * 4
    larger = judge(replace(instance, local_lr=F(1, 10))).readings
    if dissimilarity == "0":  # beyond 1/16: plus infinity
        assert all(r.slack["q_condition"] is None for r in larger)


def test_parse_and_judge_a_claim_of_ones_own():
    """A claim that is in no paper: one hypothesis with a root, judged in balls."""
    lr, L = symbol("local_lr"), symbol("smoothness")
    own = Claim(
        id="own.thm1", title="mine", source="nowhere", functional=FINAL_SQUARED_DISTANCE,
        terms=(Term("all", symbol("initial_distance") ** 2 * sympy.exp(-lr * L)),),
        hypotheses=(Hypothesis("root_cap", sympy.Le(lr, 1 / (3 * sympy.sqrt(L))), ""),),
    )  # fmt: skip
    instance = replace(line("fast.thm1@main", (0,), 1, rounds=2), claim=own.ref, constants={}, local_lr=F(1, 3))
    assert Numbers.of(parse(instance.to_json(), own)) == instance
    (reading,) = judge(instance, statement=own).readings
    assert holds(reading.left, F(2, 3) ** 4) and reading.failing == [] and not reading.refutes
    assert judge(replace(instance, local_lr=F(334, 1000)), statement=own).readings[0].failing == ["root_cap"]
    stronger = replace(own, terms=(Term("all", symbol("initial_distance") ** 2 * sympy.exp(-5 * lr * L)),))
    assert judge(instance, statement=stronger).refutes  # (2/3)^4 = 0.1975 > exp(-5/3) = 0.1889


@pytest.mark.parametrize("ref", ["fast.thm1@floor", "safari.thm4@floor"])
def test_values_that_are_stated_of_a_run_are_taken_as_they_are(ref: str) -> None:
    """Values of a run's quantities have no range to be looked through: they are numbers of the point."""
    statement = claim(ref)
    found = search(statement, candidates=40, climbs=1, steps=5).best
    assert found is not None
    point = next(iter(subject_of(statement).space(statement).rounded(found, 6)))
    judged = judge_again(Instance(ref, point), follow=False, statement=statement)
    assert not judged.refutes and not judged.readings[0].failing


OF_ALL_ROUNDS = (BEST_GAP, GAP_OF_AVERAGE, WEIGHTED_AVERAGE_GAP, GAP_OF_WEIGHTED_AVERAGE, AVERAGE_ITERATE_DISTANCE)


@pytest.mark.parametrize("functional", OF_ALL_ROUNDS, ids=lambda functional: functional.name)
def test_left_sides_of_all_rounds_are_judged(functional: Functional) -> None:
    """Clients (x - 1)^2/2 and 3 (x + 1)^2/2, two local steps of 1/5, over three rounds from 2. F is (x + 1/2)^2 but for
    a constant."""
    x, iterates = F(2), []
    for _ in range(3):
        ends = [c + (1 - F(h, 5)) ** 2 * (x - c) for h, c in ((1, 1), (3, -1))]
        x = sum(ends) / 2
        iterates.append(x + F(1, 2))
    weights = (2, 3, 4) if functional.weights else (1, 1, 1)
    mean = sum(w * y for w, y in zip(weights, iterates, strict=True)) / sum(weights)
    square = sum(w * y**2 for w, y in zip(weights, iterates, strict=True)) / sum(weights)
    value = mean**2 if functional.of_mean else min(y**2 for y in iterates) if functional.best else square
    stated = Claim(
        id="mine.thm1", title="left side", source="mine", functional=functional,
        terms=(Term("one", symbol("smoothness")),), assumptions=(Assumption("smooth", "smoothness", "mine"),),
        algorithm="local_sgd",
    )  # fmt: skip
    federation = {"kind": "quadratic", "hessians": [["1"], ["3"]], "centres": [["1"], ["-1"]]}
    instance = {
        "claim": "mine.thm1@main", "federation": federation, "start": ["2"], "rounds": 3,
        "algorithm": {"kind": "local_sgd", "local_steps": 2, "local_lr": "1/5"},
        "participation": {"kind": "fixed", "members": [0, 1]}, "constants": {"smoothness": "3"},
    }  # fmt: skip
    found = judge_again(parse(instance, stated), statement=stated).readings[0]
    assert not found.undecided and holds(found.left, value)
