"""FedAU's exact left sides against the moments of any algorithm's rounds, and against simulated runs."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory.algorithms import constant_weights, fedau
from fedtheory.federations import Quadratic
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, AVERAGES
from fedtheory.moments.errors import exact_errors
from fedtheory.participation import Bernoulli
from fedtheory.setting import Setting
from fedtheory.subjects.fedau.exact import EstimatedWeights, FedauRun, GivenWeights, given_sums
from fedtheory.subjects.fedau.weights import estimated_sum

CURVATURES, CENTRES = (F(1), F(3, 2)), (F(-1), F(4, 3))
FEDERATION = Quadratic([[h] for h in CURVATURES], [[c] for c in CENTRES], gradient_noise=F(1, 3))
PARTICIPATION = Bernoulli(["1/3", "4/5"])
STEPS = {"local_lr": F(1, 4), "local_steps": 2, "global_lr": F(3, 5)}


def run_of(weights: GivenWeights | EstimatedWeights, rounds: int) -> FedauRun:
    return FedauRun(
        curvatures=tuple((h,) for h in CURVATURES),
        slopes=tuple((-h * c,) for h, c in zip(CURVATURES, CENTRES, strict=True)), start=(F(2),),
        gradient_noise=F(1, 3), probabilities=(F(1, 3), F(4, 5)), weights=weights, rounds=rounds, **STEPS,
    )  # fmt: skip


def test_constant_weights_have_the_moments_of_rounds() -> None:
    """1e-13: rounding of a few dozen rounds."""
    setting = Setting(FEDERATION, constant_weights(aggregation_weight=[3, "1/2"], **STEPS), PARTICIPATION, start=2)
    horizons = [1, 2, 7, 40]
    run = run_of(GivenWeights(((F(3), F(1, 2)),)), 40)
    sums = given_sums(run, run.equal, horizons)
    theirs = exact_errors(setting, horizons).functional(AVERAGE_SQUARED_GRADIENT, AVERAGES[1])
    assert theirs == pytest.approx([float(total) / T for total, T in zip(sums, horizons, strict=True)], rel=1e-13)


def test_estimated_weights_have_the_mean_of_simulated_runs() -> None:
    """Within 4.5 standard errors: 7 in a million for one seed."""
    setting = Setting(FEDERATION, fedau(cutoff=2, **STEPS), PARTICIPATION, start=2)
    rounds = 6
    sums = setting.simulate(replicas=8_000, rounds=rounds, seed=3).rows["squared_gradient_sum"][:, -1]
    run = run_of(EstimatedWeights(2), rounds)
    error = float(sums.std() / np.sqrt(len(sums)))
    assert abs(float(sums.mean()) - float(estimated_sum(run, run.equal))) < 4.5 * error
    other = float(estimated_sum(run_of(EstimatedWeights(1), rounds), run.equal))
    assert abs(float(sums.mean()) - other) > 10 * error
