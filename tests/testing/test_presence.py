"""Finite chains of participation: their limits by other routes, and their draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedtheory.testing import presence
from fedtheory.testing.presence import KINDS, bernoulli, cyclic, draw, markov
from fedtheory.weights import CutoffGeometric, FedAU, cyclic_long_run_weight, markov_long_run_weight

CUTOFFS = (1, 2, 5, 17, 50, 1000, math.inf)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_limits_are_those_of_the_closed_forms(p: float, cutoff: float) -> None:
    """Sums of at most 1000 numbers of order 1."""
    assert bernoulli(p).limit(cutoff) == pytest.approx(p * CutoffGeometric(p, cutoff).mean(), rel=1e-12)
    assert markov(p).limit(cutoff) == pytest.approx(p * markov_long_run_weight(p, p / 2, cutoff), rel=1e-12)
    assert cyclic(p).limit(cutoff) == pytest.approx(p * cyclic_long_run_weight(round(20 * p), 20, cutoff), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cutoff", [3, 17, math.inf])
def test_limits_are_those_of_long_runs(kind, cutoff: float) -> None:
    """Of 100 clients over 20,000 rounds: 6 standard errors, and a beginning of 20 rounds."""
    chain = kind(0.1)
    history, chances = draw([chain], 100, 20_000, seed=3)
    counted = (chances * FedAU(cutoff).batch(history))[10_000:].mean(0)
    error = 6 * counted.std() / 10 + 1e-3
    assert abs(counted.mean() - chain.limit(cutoff)) < error < 0.05


@pytest.mark.parametrize("kind", [bernoulli, *KINDS])
@pytest.mark.parametrize("p", [0.1, 0.3])
def test_draws_have_the_chances_that_are_told(kind, p: float) -> None:
    """A sum of martingale differences of variance chance (1 - chance): 6 standard deviations."""
    chain = kind(p)
    assert chain.probability == pytest.approx(p, rel=1e-12)
    history, chances = draw([chain], 50, 2000, seed=1)
    allowed = 6 * math.sqrt((chances * (1 - chances)).sum())
    assert abs(history.sum() - chances.sum()) <= allowed
    assert abs(history.mean() - p) < 0.02
    assert ((chances > 0) | (history == 0)).all() and ((chances < 1) | (history == 1)).all()


def test_what_counts_in_the_long_run_is_not_the_time_mean_of_the_weight() -> None:
    """The last interval, of a client that comes in bursts: on in 2 rounds of every 4, its weight is 1 for three rounds
    and 3 for one; where it takes part it is 1 and 3, so that 4 rounds count 4."""
    chain = presence._periodic("two of four", [1, 1, 0, 0])
    history, chances = draw([chain], 4, 400, seed=0)
    weights, last, age = np.empty(history.shape), np.ones(4), np.zeros(4)
    for t, here in enumerate(history):
        weights[t], age = last, age + 1
        last, age = np.where(here, age, last), np.where(here, 0, age)
    assert weights[100:].mean(0) * chain.probability == pytest.approx(np.full(4, 0.75), rel=1e-12)
    assert (chances * weights)[100:].mean(0) == pytest.approx(np.ones(4), rel=1e-12)


def test_several_chains_are_drawn_beside_each_other() -> None:
    chains = [bernoulli(0.3), cyclic(0.1), markov(0.8)]
    history, _ = draw(chains, 40, 1000, seed=2)
    assert history.shape == (1000, 120) and history.dtype == np.uint8
    shares = history.reshape(1000, 3, 40).mean((0, 2))
    np.testing.assert_allclose(shares, [0.3, 0.1, 0.8], atol=0.03)  # 40,000 rounds, correlated over 3 at most
    cycles = history[:, 40:80]
    assert (cycles[20:] == cycles[:-20]).all()
