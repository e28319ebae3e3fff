"""Noise that there is on one side of 0 only: enumerated, simulated, and where it decides."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from sympy import Le, Rational

from fedtheory.algorithms import fast, safari
from fedtheory.assumptions import CONSTANT_NOISE
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.evidence.judge import judge, parse
from fedtheory.evidence.refute import falls_without
from fedtheory.evidence.replay import replay
from fedtheory.evidence.search import search
from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.federations.federation import ONE_SIDED, Pairs
from fedtheory.functionals import FINAL_SQUARED_DISTANCE, Functional
from fedtheory.moments.evaluators import FLOAT, Question
from fedtheory.moments.one_round import one_round
from fedtheory.moments.round_maps import has_common_noise
from fedtheory.participation import Fixed
from fedtheory.quantities import SQUARED_LENGTH, symbols
from fedtheory.setting import Setting
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.run_subject import PARTS, from_setting

HALF = Fraction(1, 2)


def line(noise: str = ONE_SIDED, **parameters) -> Setting:
    fed = Quadratic([[1], [2]], [[-1], [1]], gradient_noise=1, noise=noise)
    algorithm = fast(**({"cohort": 1, "local_lr": HALF, "local_steps": 2, "snapshot_probability": 0} | parameters))
    return Setting(fed, algorithm, Fixed([0, 1]), start=[HALF])


def by_hand(setting: Setting, rounds: int) -> Fraction:
    """E|x_R - x*|^2 by all signs of all noises, whether they are felt or not."""
    fed, algorithm = setting.federation, setting.algorithm
    steps, total = algorithm.local_steps, Fraction(0)
    draws = list(product((1, -1), repeat=rounds * steps * 2))
    for signs in draws:
        x, left = setting.exact_start[0], iter(signs)
        for _ in range(rounds):
            ends = []
            for i in range(2):
                y = x
                for _ in range(steps):
                    noise = next(left) * (y > 0)
                    y = y - algorithm.local_lr * (fed.exact_hessians[i, 0, 0] * (y - fed.exact_centres[i, 0]) + noise)
                ends.append(y)
            x = sum(ends) / 2
        total += (x - fed.exact_optimum[0]) ** 2
    return total / len(draws)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_exact_errors_are_those_of_all_signs(rounds: int) -> None:
    setting = line()
    found = setting.exact([0, rounds], exact=True)
    assert found.squared_distance[1] == by_hand(setting, rounds)
    assert found.squared_distance[0] == (HALF - setting.federation.exact_optimum[0]) ** 2
    assert setting.exact([rounds]).squared_distance[0] == pytest.approx(float(found.squared_distance[1]))
    assert found.squared_distance[1] < line("two-point").exact([rounds], exact=True).squared_distance[0]


def test_the_engine_runs_it() -> None:
    """The mean squared error of 4000 runs, within five standard errors; that of constant noise is far off."""
    for setting in (line(), replace(line(), federation=_kinked())):
        found = setting.simulate(replicas=4000, rounds=3, seed=1).rows["squared_distance"][:, -1]
        exact = line().exact([3]).squared_distance[0]
        assert abs(found.mean() - exact) < 5 * found.std() / 4000**0.5
    assert line("two-point").exact([3]).squared_distance[0] - exact > 5 * found.std() / 4000**0.5


def _kinked() -> Piecewise:
    rows = [[PiecewiseLinear([1], (), 1)], [PiecewiseLinear([2], (), -2)]]
    return Piecewise(rows, None, 1, ONE_SIDED)


def test_noise_is_felt_coordinate_by_coordinate() -> None:
    fed = Quadratic.common_hessian([[0, 0]], gradient_noise=2, noise=ONE_SIDED, server_noise=2)
    pairs = Pairs.of(torch.ones(4, 1, dtype=torch.bool), torch.arange(4), 0, 0)
    x = torch.tensor([[1.0, -1.0], [0.0, 2.0], [-1.0, -1.0], [3.0, 3.0]], dtype=torch.float64)
    felt = fed.gradient(x, pairs) - fed.exact_gradient(x, pairs)
    assert torch.equal(felt != 0, x > 0) and felt.abs().unique().tolist() == pytest.approx([0.0, 2**0.5])
    server = fed.server_gradient(x, torch.arange(4), 0, 0) - fed.global_gradient(x)
    assert torch.equal(server.abs() > 1e-9, x > 0)


def test_moments_of_constant_noise_are_refused() -> None:
    """No recursion takes it for noise of one variance."""
    plane = Quadratic.common_hessian([[0, 0]], gradient_noise=1, noise=ONE_SIDED)
    for setting, rounds in ((line(), 9), (Setting(plane, line().algorithm, Fixed([0])), 1)):
        with pytest.raises(ValueError, match="exact errors are known on a line"):
            setting.exact([rounds])
    with pytest.raises(ValueError, match="variance depends on the state"):
        line().quantities(1, needed=["objective_decrease"], strict=True)
    quiet = Quadratic.common_hessian([1, -1], noise=ONE_SIDED, server_noise=1)
    algorithm = safari(client_round_probability=HALF, local_lr=HALF, server_lr=HALF)
    assert Setting(quiet, algorithm, Fixed([0])).exact([2], exact=True).squared_distance[0] > 0
    silent = Quadratic.common_hessian([1, -1], noise=ONE_SIDED)
    assert Setting(silent, line().algorithm, Fixed([0])).exact([10**6]).squared_distance[0] == pytest.approx(1)


# A bound from below ---------------------------------------------------------------------------------------------------

sigma, n, eta, K, R = symbols("gradient_noise", "arbitrary_cohort", "local_lr", "local_steps", "rounds")


def negated(question: Question) -> object:
    """-E|x_R - x*|^2."""
    found = question.setting.exact(np.atleast_1d(question.rounds), exact=question.numbers != FLOAT).squared_distance
    return question.number(-found) if np.ndim(question.rounds) else question.number(-found)[0]


BELOW = Functional("negated_error", "-E|x_R-x*|^2", SQUARED_LENGTH, r"-E|x_R-x^*|^2", compute=negated)


def lower_bound(share: object = 1) -> Claim:
    """One step a round: the last round's noise is there whatever came before, E|x_R - x*|^2 >= eta^2 sigma^2/n."""
    return Claim(
        id="below.thm1", edition="main", title="What noise leaves", source="test", functional=BELOW,
        terms=(Term("noise", -share * eta**2 * sigma**2 / n),),
        hypotheses=(Hypothesis("one_step", Le(K, 1), "test"),),
        assumptions=(
            Assumption("noise", "gradient_noise", "A1"),
            *(Assumption(kind, kind=kind, source="A1")
              for kind in ("unbiased_noise", "independent_noise", "cohort_before_noise")),
        ),
        algorithm="fast", bound={"snapshot_probability": 0},
    )  # fmt: skip


def test_a_bound_from_below_needs_constant_noise() -> None:
    """It holds for noise of one variance, so no search sees it fall; it falls where there is none at the start."""
    statement = lower_bound()
    report = search(statement, candidates=100, climbs=2, steps=10)
    assert report.admissible > 40 and report.lead is None and report.best.ratio > 0.99
    found = falls_without(statement)
    assert list(found) == [CONSTANT_NOISE] and found[CONSTANT_NOISE].refutes
    content = json.loads(json.dumps(found[CONSTANT_NOISE].to_json()))
    assert content["violates"] == [CONSTANT_NOISE] and content["federation"]["noise"] == ONE_SIDED
    assert replay(content, statement).refutes
    assert falls_without(statement.assuming(CONSTANT_NOISE)) == {}
    point, more = parse(content, statement).point, statement.assuming(CONSTANT_NOISE)
    assuming = judge(Instance(statement.ref, point), statement=more)
    assert not assuming.refutes and CONSTANT_NOISE in assuming.readings[0].failing


def test_bounds_from_above_do_not() -> None:
    """Second moments are affine in the variances, with factors >= 0: a true bound for the largest variance stands, also
    at points where it is nearly reached."""
    statement = replace(
        lower_bound(), functional=FINAL_SQUARED_DISTANCE,
        terms=(Term("initial", symbols("initial_distance")[0] ** 2), Term("noise", R * eta**2 * sigma**2 / n)),
        hypotheses=(Hypothesis("one_step", Le(K, 1), "test"),
                    Hypothesis("cap", Le(eta, Rational(1) / symbols("smoothness")[0]), "test"),
                    Hypothesis("alone", Le(symbols("clients")[0], 1), "test")),
    )  # fmt: skip
    assert CONSTANT_NOISE not in falls_without(statement)


def test_an_instance_is_enumerated_or_undecided() -> None:
    """The left side of a short run is exact; a long one is left undecided."""
    statement = replace(lower_bound(), hypotheses=(), bound={}, functional=FINAL_SQUARED_DISTANCE,
                        terms=(Term("noise", eta**2 * sigma**2 / n),))  # fmt: skip
    setting = replace(line(), start=[HALF])

    def after(rounds: int):
        point = from_setting(statement, setting, rounds, PARTS["fast"])
        return judge(Instance(statement.ref, point), statement=statement)

    for rounds in (1, 2):
        assert float(after(rounds).readings[0].left) == pytest.approx(float(by_hand(setting, rounds)))
    long = after(100)
    assert not long.refutes and "at most 8 rounds" in long.readings[0].undecided


def test_other_algorithms_refuse_it() -> None:
    """FedAU's estimated weights and FLICS's selections follow second moments by code of their own."""
    fed = Quadratic.common_hessian([1, -1], gradient_noise=1, noise=ONE_SIDED)
    for name, rows in (("common two-point", True), ("two-point", False)):
        assert has_common_noise(Quadratic.common_hessian([1, -1], gradient_noise=1, noise=name)) == rows
    for compute in (has_common_noise, lambda fed: one_round(Setting(fed, line().algorithm, Fixed([0])))):
        with pytest.raises(ValueError, match="variance depends on the state"):
            compute(fed)
