"""Claims that choose their step sizes by a rule: evaluated, compared with settings, searched, and as instances."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy

from fedtheory.algorithms import StepRule, fast, fedavg
from fedtheory.claims.schedules import difference, rule_of
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.evidence.judge import judge
from fedtheory.evidence.units_check import check_units as units
from fedtheory.evidence.units_check import scaling_defect
from fedtheory.federations import Quadratic
from fedtheory.functionals import FINAL_GAP, FINAL_SQUARED_DISTANCE, linear_weight
from fedtheory.moments.averages import of_run
from fedtheory.participation import Fixed
from fedtheory.quantities import symbols
from fedtheory.setting import Setting
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.run_subject import PARTS, from_setting, parse

F = Fraction
mu, L, gamma, t, r, R, eta, D, sigma = symbols(
    "strong_convexity", "smoothness", "step_shift", "step_index", "round_index", "rounds", "local_lr",
    "initial_distance", "gradient_noise",
)  # fmt: skip


def made(**changes) -> Claim:
    """On one client with one step a round: E F(x_R) - F* is at most L D^2/(2 (R + 1)) for steps 1/(mu (gamma + t))."""
    known = dict(
        id="mine.thm1", title="decaying steps", source="here", functional=FINAL_GAP,
        terms=(Term("start", L * D**2 / (2 * (R + 1))),),
        hypotheses=(Hypothesis("shift", sympy.Ge(gamma, 2 * L / mu), "here"),),
        choices={"local_lr": 2 / (mu * (gamma + t))},
    )  # fmt: skip
    return Claim(**known | changes)


VALUES = dict(smoothness=1, strong_convexity=0.5, initial_distance=2, rounds=9, step_shift=8)


def test_a_claim_with_a_rule_is_evaluated() -> None:
    claim = made()
    assert {*claim.quantities} == {*VALUES, "local_lr"}
    bound = claim.evaluate(**VALUES)
    assert float(bound.value) == pytest.approx(0.2) and float(bound.slack["shift"]) == 4
    assert bound.quantities["local_lr"].at(0, 3) == F(4, 11)
    several = claim.evaluate(**VALUES | {"strong_convexity": np.array([0.5, 0.25])}).quantities["local_lr"]
    assert [rule.at(0, 3) for rule in several] == [F(4, 11), F(8, 11)]
    assert not list(units(claim)) and list(units(made(choices={"local_lr": 2 / (gamma + t)})))
    assert max(scaling_defect(claim).values()) < 1e-9
    assert scaling_defect(made(choices={"local_lr": 2 / (gamma + t)}))["local_lr"] > 0.1
    with pytest.raises(ValueError, match="chooses it"):
        claim.evaluate(**VALUES, local_lr=1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"terms": (Term("start", L * D**2 / (1 + t)),)}, "term 'start': step_index may stand in the choice of a step"),
        ({"terms": (Term("start", eta * L**2 * D**2),)}, "term 'start': mine.thm1@main chooses local_lr by a rule"),
        ({"hypotheses": (Hypothesis("cap", eta <= 1 / L, "here"),)}, "hypothesis 'cap': mine.thm1@main chooses"),
        ({"choices": {"step_constant": r / L}}, "choice of step_constant: round_index may stand"),
    ],
)
def test_what_a_rule_cannot_mean_is_refused(changes: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        made(**changes)


def line(local_lr: object, local_steps: int = 1) -> Setting:
    """One client, x^2/2, from x_0 = 3."""
    fed = Quadratic([[1]], [[0]])
    return Setting(fed, fedavg(local_lr=local_lr, local_steps=local_steps), Fixed([0]), start=3)


@pytest.mark.parametrize(
    ("local_lr", "fits"),
    [("2/(8 + step_index)", True), ("2/(8 + round_index)", True), ("1/(4 + step_index/2)", True), ("1/4", False),
     ("2/(9 + step_index)", False), ("min(1/4, 2/(8 + step_index))", True), ("max(1/100, 2/(8 + step_index))", False)],
)  # fmt: skip
def test_a_setting_is_told_whether_its_steps_are_the_chosen_ones(local_lr: str, fits: bool) -> None:
    bound = made().at(line(local_lr), rounds=1000, step_shift=8)
    assert (bound.slack["local_lr_choice"] == 0) == fits
    assert (bound.hypotheses_hold is True) == fits
    assert float(bound.value) == pytest.approx(9 / 2 / 1001)


def test_rules_are_compared_step_by_step() -> None:
    by_step, by_round = StepRule("1/(1 + step_index)"), StepRule("1/(1 + round_index)")
    assert difference(by_step, by_round, 1, 10**9) == 0
    assert difference(by_step, by_round, 2, 10**9) > 0.1
    assert difference(by_step, F(1), 1, 1) == 0 and difference(by_step, F(1), 1, 2) == pytest.approx(0.5)
    assert difference(by_step, StepRule("max(0, 3 - round_index)"), 1, 9) == np.inf


def test_values_in_a_rule_are_rational() -> None:
    with pytest.raises(ValueError, match=r"step_shift = .* allowed in a step size by rule is a rational number"):
        rule_of(made(), "local_lr", {"strong_convexity": 1, "step_shift": object()})


# Instances.


def instance(claim: Claim, **constants: Fraction) -> Instance:
    fed = Quadratic([[1], [2]], [[0], [0]], gradient_noise=constants.pop("noise", 0))
    algorithm = fast(cohort=1, snapshot_probability=0, local_lr=1, local_steps=2)
    setting = Setting(fed, algorithm, Fixed([0, 1]), start=3)
    return Instance(claim.ref, from_setting(claim, setting, 3, PARTS["fast"], **constants))


def exact(local_lr: str, functional=FINAL_GAP, noise: int = 0, weights=None):
    fed = Quadratic([[1], [2]], [[0], [0]], gradient_noise=noise)
    algorithm = fast(cohort=1, snapshot_probability=0, local_lr=local_lr, local_steps=2)
    setting = Setting(fed, algorithm, Fixed([0, 1]), start=3)
    return of_run(setting, functional, 3, exact=True)[0]


@pytest.mark.parametrize("functional", [FINAL_GAP, FINAL_SQUARED_DISTANCE])
def test_an_instance_of_a_rule_is_judged_exactly(functional) -> None:
    """The bound D^2 (or L D^2/2) on the last iterate holds; a hundredth of it does not, and the file replays."""
    of = 1 if functional is FINAL_SQUARED_DISTANCE else L / 2
    true = made(functional=functional, terms=(Term("s", of * D**2),), hypotheses=())
    false = replace(true, terms=(Term("s", true.right_side / 10**4),))
    for claim, refutes in ((true, False), (false, True)):
        found = instance(claim, step_shift=F(8))
        judged = judge(found, statement=claim)
        assert judged.refutes == refutes
        written = judged.to_json()
        assert written["algorithm"]["local_lr"] == "chosen" and written["chosen"][0]["value"] == "2/(step_index + 8)"
        value = exact("2/(8 + step_index)", functional)
        assert float(written["left"]) == pytest.approx(float(value), rel=1e-9)
        again = parse(written, claim, PARTS["fast"])
        assert again == found.point


def test_an_instance_may_state_a_rule_of_its_own() -> None:
    claim = made(choices={}, hypotheses=(), terms=(Term("s", L * D**2),))
    algorithm = fast(cohort=1, snapshot_probability=0, local_lr="1/(3 + step_index)", local_steps=2)
    setting = Setting(Quadratic([[1], [2]], [[0], [0]]), algorithm, Fixed([0, 1]), 3)
    point = from_setting(claim, setting, 3, PARTS["fast"])
    data = point.to_json()
    assert data["algorithm"]["local_lr"] == "1/(3 + step_index)"
    assert parse(data, claim, PARTS["fast"]) == point
    judged = judge(Instance(claim.ref, point), statement=claim)
    assert not judged.refutes
    assert float(judged.to_json()["left"]) == pytest.approx(float(exact("1/(3 + step_index)")), rel=1e-9)
    data["algorithm"]["local_lr"] = "__import__('os').getpid() + step_index"
    with pytest.raises(ValueError, match="allowed is an expression"):
        parse(data, claim, PARTS["fast"])


def test_weights_of_one_s_own() -> None:
    """w_r = r + 1 is what the vocabulary's weighted averages take; any other may be given."""
    squares = replace(FINAL_GAP, name="own", average=True, weights=lambda r: r * r)
    setting = line("1/(2 + round_index)")  # 3, 3/2, 1, 3/4
    assert of_run(setting, squares, 3, True)[0] == (F(9, 8) + 4 * F(1, 2) + 9 * F(9, 32)) / 14
    linear = replace(squares, weights=linear_weight)
    assert of_run(setting, linear, 3, True)[0] == (2 * F(9, 8) + 3 * F(1, 2) + 4 * F(9, 32)) / 9
