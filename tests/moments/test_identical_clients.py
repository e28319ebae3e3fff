"""Identical clients: their rounds are those of one, against the general way and against all outcomes of the noise; and
the law of the largest of their noises."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtheory.algorithms import fast, fedavg, safari
from fedtheory.algorithms.algorithm import ClientRound
from fedtheory.federations import Quadratic
from fedtheory.federations.federation import Pairs
from fedtheory.moments.one_round import one_round
from fedtheory.participation import Fixed, LargestNoise, Phases, Uniform, history
from fedtheory.setting import Setting

TENTH, HALF = Fraction(1, 10), Fraction(1, 2)
ALGORITHMS = {
    "fast": fast(cohort=3, local_lr=TENTH, local_steps=2, snapshot_probability="1/3"),
    "fast, periodic": fast(cohort=2, local_lr=TENTH, local_steps=3, snapshot_period=2),
    "fast with replacement": fast(cohort=3, local_lr=TENTH, snapshot_probability=HALF, replacement=True),
    "safari": safari(client_round_probability="2/3", local_lr=TENTH, server_lr=HALF, local_steps=2),
    "fedavg": fedavg(local_lr=TENTH, local_steps=2),
}


def alike(noise: str = "two-point", dimension: int = 1, clients: int = 4) -> Quadratic:
    """Identical clients away from 0, with noise of both kinds."""
    return Quadratic.common_hessian([[2] * dimension] * clients, [1, 3][:dimension], 2, noise, server_noise=1)


def moments(setting: Setting) -> tuple:
    """All that is known of the first round, and of runs of a few rounds, in Fractions."""
    found, run = one_round(setting, exact=True), setting.exact([1, 3], exact=True)
    lengths = (list(run.squared_distance), list(run.squared_gradient), list(run.gradient_sum))
    return found.lefts, found.known, lengths


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("noise", ["two-point", "two-point 3", "common two-point"])
@pytest.mark.parametrize("who", [Fixed([0, 2]), Uniform(2), Uniform(3, replacement=True), Fixed([1]),
                                 Phases([[0, 1], [1, 3]], [2, 2], cyclic=True)], ids=repr)  # fmt: skip
def test_one_of_them_stands_for_all(name: str, noise: str, who, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers as with a weight for every client and every pair."""
    for dimension in (1, 2):
        made = [Setting(alike(noise, dimension), ALGORITHMS[name], who, start=[5, -1][:dimension]) for _ in range(2)]
        found = moments(made[0])
        with monkeypatch.context() as patched:
            patched.setattr(Quadratic, "identical", False)
            assert found == moments(made[1])


def test_who_is_not_the_same_is_not_taken_for_it() -> None:
    for fed in (Quadratic([[1], [1]], [[0], ["1/1000000"]]), Quadratic([[1], ["1000001/1000000"]], [[0], [0]]),
                Quadratic.with_slopes([[1], [1]], [[0], [1]])):  # fmt: skip
        assert not fed.identical
    assert Quadratic.with_slopes([[1], [1]], [[2], [2]]).identical and alike().identical


def test_a_thousand_cost_no_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks for the moments of a thousand times a thousand weights."""
    monkeypatch.setattr(ClientRound, "weights", None)
    algorithm = fast(cohort=500, local_lr=TENTH, snapshot_probability=HALF)
    for who, left in ((Fixed(range(250)), Fraction(1, 250)), (Uniform(1000), Fraction(1, 1000))):
        setting = Setting(Quadratic.common_hessian([0] * 1000, gradient_noise=1), algorithm, who)
        expected = TENTH**2 * (Fraction(1, 500) + left) / 2
        assert one_round(setting, exact=True).lefts["final_squared_distance"] == expected
        assert setting.exact([1], exact=True).squared_distance[0] == expected


# The largest noises --------------------------------------------------------------------------------------------------


def law_of_one(rise: int) -> dict[Fraction, Fraction]:
    """P(noise = v) by v: of mean 0 and variance 1."""
    often = Fraction(rise**2, 1 + rise**2)
    return {Fraction(rise): 1 - often, Fraction(-1, rise): often}


@given(clients=st.integers(1, 6), count=st.integers(1, 6), rise=st.integers(1, 40))
def test_the_law_of_the_largest_by_all_outcomes(clients: int, count: int, rise: int) -> None:
    count, law = min(count, clients), law_of_one(rise)
    mean = square = Fraction(0)
    for outcome in product(law, repeat=clients):
        chance = Fraction(1)
        for value in outcome:
            chance *= law[value]
        chosen = sum(sorted(outcome)[-count:]) / count
        mean, square = mean + chance * chosen, square + chance * chosen**2
    assert LargestNoise(count).mean_and_square(clients, rise) == (mean, square)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("rise", [1, 2, 5])
def test_a_round_of_the_largest_by_all_outcomes(count: int, rise: int) -> None:
    """E|x_1 - x*|^2 and E sum_k <grad F(x_k), x_0 - x*> of three clients x^2/2 with two steps, by all their noises."""
    noise = "two-point" if rise == 1 else f"two-point {rise}"
    fed, law, start = Quadratic.common_hessian([0] * 3, gradient_noise=2, noise=noise), law_of_one(rise), Fraction(3)
    algorithm = fast(cohort=1, local_lr=TENTH, local_steps=2, snapshot_probability=0)
    found = one_round(Setting(fed, algorithm, LargestNoise(count), start=start), exact=True)
    distance = progress = Fraction(0)
    for outcome in product(law, repeat=6):
        chance = Fraction(1)
        for value in outcome:
            chance *= law[value]
        first, second = outcome[:3], outcome[3:]
        chosen = sorted(range(3), key=lambda i: -first[i])[:count]
        halfway = [start - TENTH * (start + 2 * first[i]) for i in chosen]
        ends = [x - TENTH * (x + 2 * second[i]) for x, i in zip(halfway, chosen, strict=True)]
        distance += chance * (sum(ends) / count) ** 2
        progress += chance * (start + sum(halfway) / count) * start
    assert found.lefts["final_squared_distance"] == distance
    assert found.lefts["negated_arbitrary_progress"] == -2 * TENTH * progress


@pytest.mark.parametrize("noise", ["two-point", "two-point 2", "two-point 13"])
def test_the_engine_asks_whom_the_federation_gives_the_largest(noise: str) -> None:
    """In the same draws: nobody who is asked has less noise than one who is not."""
    fed = Quadratic.common_hessian([0] * 40, gradient_noise=1, noise=noise)
    counts = history(LargestNoise(2), clients=40, rounds=6, replicas=3, seed=4)
    for round in range(6):
        everyone = Pairs.of(torch.ones(3, 40, dtype=torch.bool), torch.arange(3), 4, round)
        drawn = fed.draw_noise(everyone)[:, 0].reshape(40, 3).T
        asked = counts[round].bool()
        assert (asked.sum(1) == 2).all()
        for noises, chosen in zip(drawn, asked, strict=True):
            assert noises[chosen].min() >= noises[~chosen].max()


@pytest.mark.parametrize("dimension", [1, 3])
def test_skewed_noise_is_drawn_as_it_is_counted(dimension: int) -> None:
    """3 with probability 1/10 and else -1/3 in each coordinate, times the level/sqrt(D): of 60 000 draws the share is
    within five standard errors (a false alarm in a million), no other values are there, and coordinates do not move
    together; runs have the errors that moments say."""
    fed = Quadratic.common_hessian([[0] * dimension] * 2, [1] * dimension, gradient_noise=1, noise="two-point 3")
    pairs = Pairs.of(torch.ones(30_000, 2, dtype=torch.bool), torch.arange(30_000), 7, 2)
    drawn = fed.draw_noise(pairs) * dimension**0.5
    assert {round(value, 12) for value in drawn.unique().tolist()} == {3, round(-1 / 3, 12)}
    rare = (drawn > 0).double()
    assert (rare.mean(0) - 0.1).abs().max() < 5 * (0.1 * 0.9 / 60_000) ** 0.5
    together = (drawn.T @ drawn / len(drawn) - torch.eye(dimension)).fill_diagonal_(0)
    assert together.abs().max() < 5 / 60_000**0.5
    algorithm = fast(cohort=1, local_lr=HALF, local_steps=2, snapshot_probability=0)
    who = LargestNoise(1) if dimension == 1 else Fixed([0])
    setting = Setting(fed, algorithm, who, start=[1] * dimension)
    found = setting.simulate(replicas=4000, rounds=3, seed=1).rows["squared_distance"][:, -1]
    assert abs(found.mean() - setting.exact([3]).squared_distance[0]) < 5 * found.std() / 4000**0.5


@pytest.mark.parametrize(
    "noise", ["two-point 1", "two-point 0", "two-point 1000", "two-point 2.5", "two-point  2", "2"]
)
def test_laws_that_are_none(noise: str) -> None:
    with pytest.raises(ValueError, match="'two-point 2' to 'two-point 999'"):
        Quadratic.common_hessian([0], gradient_noise=1, noise=noise)
