"""Settings: the quantities they hand to claims, with provenance; their fingerprints; what they refuse."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.algorithms import fast
from fedtheory.federations.logistic import Logistic
from fedtheory.federations.quadratic import Quadratic
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.moments import expected_errors
from fedtheory.moments.evaluators import Question, left
from fedtheory.moments.one_round import one_round
from fedtheory.moments.trajectory import least, peaks
from fedtheory.papers import all_claims, claim
from fedtheory.participation import Fixed, IndexBeta, Uniform, Weighted
from fedtheory.quantities import RUN_QUANTITIES
from fedtheory.setting import Setting


def quadratic(**options: object) -> Quadratic:
    """Two clients with Hessian diag(1, 4) at (1, 1) and (-1, 3): x* = (0, 2), gradients (-+1, +-4) there."""
    return Quadratic.common_hessian([[1, 1], [-1, 3]], [1, 4], **options)


def usual(**options: object) -> Setting:
    parts = {
        "federation": quadratic(gradient_noise=0.5),
        "algorithm": fast(cohort=2, local_lr="1/100", local_steps=3, snapshot_period=4),
        "participation": Fixed([0]),
        "start": [3, 6],
    }
    return Setting(**(parts | options))


# Quantities.

# x_0 - x* = (3, 4): |x_0 - x*| = 5 and F(x_0) - F* = (9 + 4 * 16) / 2.
EXPECTED = {
    "smoothness": 4, "strong_convexity": 1, "dissimilarity": math.sqrt(17), "dissimilarity_at_optimum": math.sqrt(17),
    "gradient_noise": 0.5, "clients": 2, "cohort": 2, "arbitrary_cohort": 1, "local_lr": 0.01, "local_steps": 3,
    "snapshot_probability": 0.25, "snapshot_period": 4, "initial_gap": 36.5, "initial_distance": 5,
}  # fmt: skip


def test_quantities_are_the_settings_constants() -> None:
    known = usual().quantities()
    assert {name: constant.value for name, constant in known.items()} == pytest.approx(EXPECTED, rel=1e-14)
    assert {constant.kind for constant in known.values()} == {"exact"}
    assert all(constant.how for constant in known.values())
    with_rounds = usual().quantities(rounds=[3, 5])
    assert set(with_rounds) == {*EXPECTED, "rounds"}
    assert with_rounds["rounds"].value == [3, 5]


def test_a_probability_has_no_period() -> None:
    known = usual(algorithm=fast(cohort=1, local_lr=0.01, snapshot_probability="1/3")).quantities()
    assert "snapshot_period" not in known
    assert known["snapshot_probability"].value == 1 / 3
    assert known["cohort"].value == 1


def test_only_what_is_needed_is_given_in_the_order_asked() -> None:
    needed = ["rounds", "initial_gap", "cohort"]
    assert list(usual().quantities(rounds=3, needed=needed)) == needed
    assert list(usual().quantities(needed=needed)) == ["initial_gap", "cohort"]


def test_quantities_of_the_run_are_known_for_deterministic_runs_only() -> None:
    setting = usual(federation=quadratic())
    known = setting.quantities(rounds=[2, 9, 5], needed=RUN_QUANTITIES)
    assert {name: constant.value for name, constant in known.items()} == peaks(setting, 9)
    assert {constant.kind for constant in known.values()} == {"exact"}
    assert all("first 9 rounds" in constant.how for constant in known.values())
    assert setting.quantities(needed=RUN_QUANTITIES) == {}
    assert usual().quantities(rounds=9, needed=RUN_QUANTITIES) == {}


def test_the_initial_gap_does_not_cancel() -> None:
    setting = usual(federation=Quadratic.common_hessian([10**8, -(10**8)]), start=1e-3)
    # x* = 0, H = 1; one or two roundings.
    assert setting.quantities()["initial_gap"].value == pytest.approx(5e-7, rel=1e-14)


def test_an_inexact_optimum_widens_the_initial_quantities() -> None:
    rng = np.random.default_rng(0)
    rows, labels = [rng.normal(size=(6, 2)) for _ in range(2)], [np.array([0, 1] * 3) for _ in range(2)]
    setting = usual(federation=Logistic(rows, labels, l2=0.1, classes=2), start=1.0)
    known, fed = setting.quantities(), setting.federation
    distance = float((setting.start_vector - fed.optimum).norm())
    assert known["initial_distance"].kind == known["initial_gap"].kind == "bound"
    assert distance < known["initial_distance"].value == pytest.approx(distance, rel=1e-6)  # as good as its certificate
    assert setting.quantities(rounds=9, needed=RUN_QUANTITIES) == {}


# Claims at a setting.


RUNS = [
    c
    for c in all_claims()
    if c.paper == "fast" and c.functional.scope == "run" and not c.choices and "young_parameter" not in c.quantities
]


@pytest.mark.parametrize("each", RUNS, ids=lambda c: c.ref)
def test_a_claim_at_a_setting_is_its_evaluation(each: object) -> None:
    setting = usual(federation=quadratic())
    bound = each.at(setting, rounds=[10, 20])
    values = EXPECTED | peaks(setting, 20) | least(setting, 20) | {"rounds": [10, 20], "gradient_noise": 0}
    expected = each.evaluate(**values)
    # The expected constants were computed in another way: a few roundings.
    np.testing.assert_allclose(bound.value, expected.value, rtol=1e-13)
    assert set(bound.slack) == set(expected.slack)
    assert all(slack is not None for slack in bound.slack.values())
    assert set(bound.provenance) == set(bound.quantities) == set(each.quantities)
    if "cohort" in each.quantities:
        assert bound.provenance["cohort"] == "exact: the algorithm"
    assert bound.provenance["smoothness"] == "exact: largest Hessian eigenvalue of a client"


def test_quantities_of_a_round_come_from_the_round() -> None:
    setting = usual(federation=quadratic())
    bound = claim("fast.eq13").at(setting, rounds=1)
    assert bound.quantities["objective_decrease"] == one_round(setting).quantities()["objective_decrease"]
    assert bound.provenance["objective_decrease"] == "exact: the moments of one round"
    with pytest.raises(ValueError, match=r"fast\.eq35@main needs young_parameter"):
        claim("fast.eq35").at(setting, rounds=1)
    assert claim("fast.eq35").at(setting, rounds=1, young_parameter=1.0).provenance["young_parameter"] == "given"


def test_a_step_size_that_a_claim_chooses_is_compared_with_the_settings() -> None:
    setting = usual(federation=quadratic())
    other = claim("fast.cor1@corrected").at(setting, rounds=100, step_constant=1.0)
    assert other.slack["local_lr_choice"] < 0 and other.hypotheses_hold is False
    # c = eta sqrt(R K (q/m + (1 - q)/n)) makes the setting's own step size the chosen one.
    v = other.quantities
    h = v["snapshot_probability"] / v["cohort"] + (1 - v["snapshot_probability"]) / v["arbitrary_cohort"]
    own = v["local_lr"] * (100 * v["local_steps"] * h) ** 0.5
    assert claim("fast.cor1@corrected").at(setting, rounds=100, step_constant=own).slack["local_lr_choice"] == 0


def test_overrides_replace_and_say_so() -> None:
    bound = claim("fast.thm2").at(usual(), rounds=10, smoothness=7.0, dissimilarity=[1.0, 2.0])
    assert bound.quantities["smoothness"] == 7.0
    assert bound.value.shape == (2,)
    assert bound.provenance["smoothness"] == bound.provenance["dissimilarity"] == "given"
    assert bound.provenance["strong_convexity"].startswith("exact: ")
    same = claim("fast.thm2").evaluate(
        **EXPECTED | {"rounds": 10, "smoothness": 7.0, "dissimilarity": [1.0, 2.0], "dissimilarity_at_optimum": 0}
    )
    np.testing.assert_allclose(bound.value, same.value, rtol=1e-14)


def test_overrides_make_up_for_what_the_setting_lacks() -> None:
    different = usual(federation=Quadratic([[1, 4], [2, 2]], [[1, 1], [-1, 3]]))
    with pytest.raises(ValueError, match="dissimilarity = inf: allowed is a finite number >= 0"):
        claim("fast.thm2").at(different, rounds=10)
    assert np.isfinite(claim("fast.thm2").at(different, rounds=10, dissimilarity=5.0).value)
    with pytest.raises(ValueError, match=r"fast\.thm2@main needs rounds"):
        claim("fast.thm2").at(usual())
    bound = claim("fast.thm1").at(usual(), rounds=10)
    assert bound.slack["q_condition"] is None
    given = dict.fromkeys(RUN_QUANTITIES, 1.0)
    assert claim("fast.thm1").at(usual(), rounds=10, **given).slack["q_condition"] is not None


def test_wrong_overrides_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown quantity 'cohorts': did you mean 'cohort'"):
        claim("fast.thm2").at(usual(), rounds=10, cohorts=3)
    with pytest.raises(ValueError, match=r"smoothness = 0\.5|strong_convexity = "):
        claim("fast.thm2").at(usual(), rounds=10, smoothness=0.5)  # below the strong convexity of 1
    with pytest.raises(ValueError, match=r"rounds = 1\.5: allowed is an integer >= 1"):
        claim("fast.thm2").at(usual(), rounds=1.5)


# The start.


@pytest.mark.parametrize("start", [3, 3.0, Fraction(3), [3, 3], np.array([3.0, 3.0]), (Fraction(3), 3.0), np.int64(3)])
def test_the_ways_to_write_a_start_agree(start: object) -> None:
    setting = usual(start=start)
    assert setting.exact_start.tolist() == [Fraction(3), Fraction(3)]
    assert setting.start_vector.tolist() == [3.0, 3.0]


def test_the_start_is_kept_exactly() -> None:
    assert usual(start=["1/3", 0.1]).exact_start.tolist() == [Fraction(1, 3), Fraction(0.1)]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([1, 2, 3], r"start has shape \(3,\): allowed is \(\) or \(2,\)"),
        ([[1, 2]], r"start has shape \(1, 2\): allowed is \(\) or \(2,\)"),
        ([1], r"start has shape \(1,\): allowed is \(\) or \(2,\)"),
        ([], "start is empty"),
        (math.nan, "start = nan: allowed is a finite number"),
        ([1, math.inf], "start = inf: allowed is a finite number"),
        ([1, "x"], "start = 'x': allowed is a finite number"),
    ],
)
def test_wrong_starts(start: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        usual(start=start)


# What the federation cannot supply.


def test_cohorts_that_are_too_large() -> None:
    with pytest.raises(ValueError, match="cohort = 3: allowed is 1 to clients = 2"):
        usual(algorithm=fast(cohort=3, local_lr=0.1, snapshot_period=2))
    assert usual(algorithm=fast(cohort=3, local_lr=0.1, snapshot_period=2, replacement=True)).algorithm.cohort == 3
    with pytest.raises(ValueError, match="cohort = 3: allowed is 1 to clients = 2"):
        usual(participation=IndexBeta(3))
    with pytest.raises(ValueError, match="cohort = 3: allowed is 1 to clients = 2"):
        usual(participation=Uniform(3))
    with pytest.raises(ValueError, match=r"members = \[0, 2\]: client 2 is not in 0 to 1"):
        usual(participation=Fixed([0, 2]))
    with pytest.raises(ValueError, match="weights: there are 3, allowed is one for each of 2 clients"):
        usual(participation=Weighted(1, [1, 1, 1]))


ALGORITHM = {"cohort": 2, "local_lr": 0.1, "snapshot_period": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"snapshot_probability": 0.5}, "snapshot_period and snapshot_probability: give exactly one of them"),
        ({"snapshot_period": None}, "snapshot_period and snapshot_probability: give exactly one of them"),
        ({"snapshot_period": 0}, r"snapshot_period = 0\.0: allowed is an integer >= 1"),
        ({"snapshot_period": 1.5}, r"snapshot_period = 1\.5: allowed is an integer >= 1"),
        (
            {"snapshot_period": None, "snapshot_probability": 1.5},
            r"snapshot_probability = 1\.5: allowed is a number in",
        ),
        ({"snapshot_period": None, "snapshot_probability": "x"}, "snapshot_probability = 'x': allowed is a finite"),
        ({"cohort": 0}, r"cohort = 0\.0: allowed is an integer >= 1"),
        ({"local_lr": 0}, r"local_lr = 0\.0: allowed is a finite number > 0"),
        ({"local_lr": math.nan}, "local_lr = nan: allowed is a finite number"),
        ({"local_lr": math.inf}, "local_lr = inf: allowed is a finite number"),
        ({"local_lr": None}, "local_lr = None: allowed is a finite number"),
        ({"local_steps": 2.5}, r"local_steps = 2\.5: allowed is an integer >= 1"),
    ],
)
def test_what_the_algorithm_refuses(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fast(**(ALGORITHM | arguments))


# Determinism.


def test_a_setting_is_deterministic_when_nothing_is_drawn() -> None:
    sure = usual(federation=quadratic())
    assert sure.deterministic
    for algorithm in (fast(cohort=2, local_lr=0.1, snapshot_probability=q) for q in (0, 1)):
        assert replace(sure, algorithm=algorithm).deterministic
    assert not usual().deterministic  # gradient noise
    assert not replace(sure, participation=Uniform(2)).deterministic
    assert not replace(sure, algorithm=replace(sure.algorithm, cohort=1)).deterministic
    assert not replace(sure, algorithm=replace(sure.algorithm, replacement=True)).deterministic
    assert not replace(sure, algorithm=fast(cohort=2, local_lr=0.1, snapshot_probability=0.5)).deterministic


# Fingerprints.

DIFFERENT = {
    "the usual": usual(),
    "centres": usual(federation=Quadratic.common_hessian([[1, 1], [-1, 3.25]], [1, 4], gradient_noise=0.5)),
    "clients exchanged": usual(federation=Quadratic.common_hessian([[-1, 3], [1, 1]], [1, 4], gradient_noise=0.5)),
    "hessian": usual(federation=Quadratic.common_hessian([[1, 1], [-1, 3]], [1, 5], gradient_noise=0.5)),
    "noise": usual(federation=quadratic(gradient_noise=0.6)),
    "law of the noise": usual(federation=quadratic(gradient_noise=0.5, noise="gaussian")),
    "cohort": usual(algorithm=fast(cohort=1, local_lr="1/100", local_steps=3, snapshot_period=4)),
    "step": usual(algorithm=fast(cohort=2, local_lr="1/101", local_steps=3, snapshot_period=4)),
    "local steps": usual(algorithm=fast(cohort=2, local_lr="1/100", local_steps=2, snapshot_period=4)),
    "period": usual(algorithm=fast(cohort=2, local_lr="1/100", local_steps=3, snapshot_period=5)),
    "probability": usual(algorithm=fast(cohort=2, local_lr="1/100", local_steps=3, snapshot_probability="1/4")),
    "replacement": usual(
        algorithm=fast(cohort=2, local_lr="1/100", local_steps=3, snapshot_period=4, replacement=True)
    ),
    "member": usual(participation=Fixed([1])),
    "members": usual(participation=Fixed([0, 1])),
    "process": usual(participation=Uniform(1)),
    "another process": usual(participation=IndexBeta(1)),
    "its parameter": usual(participation=IndexBeta(1, 1, 9)),
    "start": usual(start=[3, 6.5]),
    "start, exchanged": usual(start=[6, 3]),
}


def test_fingerprints_differ_when_any_part_does() -> None:
    prints = {name: setting.fingerprint() for name, setting in DIFFERENT.items()}
    assert len(set(prints.values())) == len(prints)


def test_fingerprints_agree_for_the_same_setting_written_otherwise() -> None:
    assert usual().fingerprint() == usual().fingerprint()
    other = usual(
        federation=Quadratic([[1, 4], [1.0, 4.0]], np.array([[1, 1], [-1, 3]]), Fraction(1, 2)),
        algorithm=fast(cohort=2, local_lr=Fraction(1, 100), local_steps=3, snapshot_period=4),
        start=(3.0, Fraction(6)),
    )
    assert other.fingerprint() == usual().fingerprint()


def test_federations_that_agree_at_a_point_have_their_own_fingerprints() -> None:
    # Gradients at x = -1: (-1 - 1, -1 + 3) = (-2, 2), and 2 (-1 - 0, -1 + 2).
    one, other = Quadratic.common_hessian([1, -3], 1), Quadratic.common_hessian([0, -2], 2)
    assert usual(federation=one, start=1).fingerprint() != usual(federation=other, start=1).fingerprint()


# What is kept.


def test_what_is_kept_is_of_the_rounds_asked_and_nobody_changes_it() -> None:
    setting = usual()

    def distance(rounds: object) -> np.ndarray:
        return left(FINAL_SQUARED_DISTANCE, Question(setting, rounds))

    def afresh(*rounds: int) -> list[float]:
        return usual().exact(rounds).squared_distance.tolist()

    first = distance(np.array([1, 2]))
    assert first.tolist() == afresh(1, 2) and distance(np.array([3, 1])).tolist() == afresh(3, 1)
    first[:] = 0
    assert distance(np.array([1, 2])).tolist() == afresh(1, 2)
    assert left(AVERAGE_SQUARED_GRADIENT, Question(setting, np.array([1, 2]))).tolist() != afresh(1, 2)
    exact = left(FINAL_SQUARED_DISTANCE, Question(setting, np.array([1, 2]), numbers="exact"))
    assert exact.tolist() == usual().exact([1, 2], exact=True).squared_distance.tolist() != afresh(1, 2)


def test_settings_that_differ_in_their_start_share_their_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(expected_errors, "timeline", lambda *given: made.append(1) or TIMELINE(*given))
    base, starts = usual(), ([3, 6], [0, 0], [-1, 2])
    shared = [base.started(start) for start in starts]
    for exact in (False, True):
        found = [setting.exact([0, 1, 5], exact).squared_distance.tolist() for setting in shared]
        assert len(made) == 1
        assert found == [usual(start=start).exact([0, 1, 5], exact).squared_distance.tolist() for start in starts]
        made.clear()
    other = replace(shared[0], algorithm=fast(cohort=2, local_lr="1/50", local_steps=3, snapshot_period=4))
    assert other.exact([5]).squared_distance != shared[0].exact([5]).squared_distance


TIMELINE = expected_errors.timeline


def test_what_is_kept_is_sent_nowhere() -> None:
    setting = usual().started([1, 1])
    setting.once("errors", lambda: lambda: "cannot be sent")
    left(FINAL_SQUARED_DISTANCE, Question(setting, np.array([1, 2])))
    again = pickle.loads(pickle.dumps(setting))
    assert not {"_kept", "_of_any_start"} & vars(again).keys() and again.fingerprint() == setting.fingerprint()
    assert again.once("errors", lambda: 2) == 2 and again.once("errors", lambda: 3) == 2


def test_options_of_simulations_are_those_of_simulate() -> None:
    from inspect import signature

    from fedtheory.setting import SimulationOptions
    from fedtheory.simulation import simulate

    known = set(signature(simulate).parameters) - {"setting", "replicas", "rounds", "seed"}
    assert set(SimulationOptions.__annotations__) == known
