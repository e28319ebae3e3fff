"""Where runs settle whose clients make several steps of a fixed size, and where the objective is smallest."""

from __future__ import annotations

import random
from fractions import Fraction as F

import numpy as np
import pytest

import fedtheory.weights as w
from fedtheory.algorithms import given_weights
from fedtheory.federations import Quadratic
from fedtheory.moments.evaluators import Question
from fedtheory.papers.fedau.exact.weighted_update_rounds import round_map, training, weighted_rounds
from fedtheory.participation import Bernoulli
from fedtheory.setting import Setting

APART = {"curvatures": [[1], [2]], "centres": [[0], [1]]}


def some(rng: random.Random, clients: int, dimension: int) -> tuple[list, list, list]:
    def numbers(low: int) -> list[list[F]]:
        return [[F(rng.randint(low, 20), rng.randint(1, 9)) for _ in range(dimension)] for _ in range(clients)]

    return [F(rng.randint(1, 9)) for _ in range(clients)], numbers(1), numbers(-20)


def test_two_clients_that_are_curved_differently_by_hand() -> None:
    """Shares 1 - (9/10)^2 = 19/100 and 1 - (8/10)^2 = 36/100; curvatures 1 and 2."""
    assert w.fixed_point([1, 1], **APART, local_steps=2, local_lr="1/10").tolist() == [F(36, 55)]
    assert w.objective_minimiser([1, 1], **APART).tolist() == [F(2, 3)]


def test_one_step_or_one_curvature_lead_to_the_minimiser() -> None:
    rng = random.Random(0)
    for _ in range(20):
        phi, h, c = some(rng, 3, 2)
        step = F(1, 40)
        minimiser = w.objective_minimiser(phi, h, c).tolist()
        assert w.fixed_point(phi, h, c, 1, step).tolist() == minimiser
        same = [h[0]] * 3
        assert w.fixed_point(phi, same, c, 7, step).tolist() == w.objective_minimiser(phi, same, c).tolist()
        assert w.inconsistency_rate(phi, h, c, 1).tolist() == w.inconsistency_rate(phi, same, c, 7).tolist() == [0, 0]


def test_two_clients_never_agree_otherwise() -> None:
    """The share over the curvature, (1 - (1 - gamma h)^I)/h, decreases with h for I >= 2: the flatter client pulls more
    than it should."""
    rng = random.Random(1)
    for _ in range(50):
        phi, h, c = some(rng, 2, 1)
        if h[0] == h[1] or c[0] == c[1]:
            continue
        (there,), (best,) = w.fixed_point(phi, h, c, rng.randint(2, 9), F(1, 30)), w.objective_minimiser(phi, h, c)
        flatter = 0 if h[0][0] < h[1][0] else 1
        assert abs(there - c[flatter][0]) < abs(best - c[flatter][0])


def test_the_rate_is_that_of_small_steps() -> None:
    """What is left is of second order: half the step halves it."""
    rng = random.Random(2)
    for _ in range(20):
        phi, h, c = some(rng, 3, 1)
        (rate,), (best,) = w.inconsistency_rate(phi, h, c, 4), w.objective_minimiser(phi, h, c)
        rests = [(w.fixed_point(phi, h, c, 4, step)[0] - best) / step - rate for step in (F(1, 10**6), F(1, 2 * 10**6))]
        assert abs(rests[1] - rests[0] / 2) <= abs(rests[0]) / 10**3
    assert w.inconsistency_rate([1, 1], **APART, local_steps=2).tolist() == [F(-1, 9)]


@pytest.mark.parametrize("omega", [(F(1), F(1)), (F(2), F(4)), (F(1, 2), F(6))])
def test_the_mean_of_algorithm_1_goes_there(omega: tuple[F, F]) -> None:
    """phi in proportion to p omega; the server's step and a common factor of the weights do not matter. E x_t contracts
    by less than 0.999 a round, so that 20,000 rounds leave nothing of a double."""
    p, h, c = (F(1, 3), F(4, 5)), (F(1), F(3)), (F(0), F(1))
    fed = Quadratic([[v] for v in h], [[v] for v in c], gradient_noise=1)
    shares = [a * b for a, b in zip(p, omega, strict=True)]
    there = w.fixed_point(shares, [[v] for v in h], [[v] for v in c], 3, "1/10")[0]
    for global_lr, factor in ((F(1, 20), 1), (F(1, 8), F(1, 3))):
        algorithm = given_weights(
            aggregation_weight=[[factor * v for v in omega]], local_steps=3, local_lr="1/10", global_lr=global_lr
        )
        rounds = weighted_rounds(Question(Setting(fed, algorithm, Bernoulli(p), 5), 1))
        step = round_map(training(rounds, (0.0,))[0], rounds, rounds.rows[0], 1.0)
        first = np.linalg.matrix_power(step, 20_000) @ np.array([25.0, 5.0, 1.0, 0.0])
        assert first[1] == pytest.approx(float(there), rel=1e-12)
    minimiser = w.objective_minimiser(shares, [[v] for v in h], [[v] for v in c])[0]
    assert abs(there - minimiser) > F(1, 1000)


REFUSED = {
    "shapes": (
        lambda: w.objective_minimiser([1], [[1], [2]], [[0], [1]]),
        r"shapes \(1,\), \(2, 1\) and \(2, 1\)",
    ),
    "flat": (lambda: w.objective_minimiser([1, 1], [[0], [2]], [[0], [1]]), "curvatures = 0: allowed are numbers > 0"),
    "negative": (lambda: w.objective_minimiser([2, -1], **APART), "objective_weight = -1"),
    "nobody": (lambda: w.objective_minimiser([0, 0], **APART), "objective_weight = 0"),
    "too far": (lambda: w.fixed_point([1, 1], **APART, local_steps=2, local_lr=1), r"local_lr = 1: .* \(0, 1/2\]"),
    "no step": (lambda: w.fixed_point([1, 1], **APART, local_steps=2, local_lr=0), "local_lr = 0"),
    "no steps": (lambda: w.inconsistency_rate([1, 1], **APART, local_steps=0), "local_steps = 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_input_is_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()
