"""Implied objectives: enumeration in Fractions, and what FedAU's weights do over a long run."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fedtheory.weights as w

P = [Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


def participating(probabilities: list[Fraction]) -> np.ndarray:
    """E[I_n / sum I], over all subsets of participants, normalised."""
    shares = [Fraction(0)] * len(probabilities)
    for present in product((0, 1), repeat=len(probabilities)):
        chance = math.prod(p if i else 1 - p for p, i in zip(probabilities, present, strict=True))
        for n, i in enumerate(present):
            if i:
                shares[n] += chance / sum(present)
    return np.array([float(s / sum(shares)) for s in shares])


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_average_over_participants_is_that_of_all_subsets(size):
    exact = participating(P[:size])
    assert w.average_participating_objective([float(p) for p in P[:size]]) == pytest.approx(exact, rel=1e-14)


def test_the_average_over_participants_of_many_clients():
    """250 clients, against the law of the number of the others by direct convolution."""
    p = np.random.default_rng(0).uniform(0.0, 1.0, 250)
    shares = []
    for n in range(250):
        others = np.ones(1)
        for chance in np.delete(p, n):
            others = np.convolve(others, [1 - chance, chance])
        shares.append(p[n] * (others / np.arange(1, 251)).sum())
    assert w.average_participating_objective(p) == pytest.approx(np.array(shares) / sum(shares), rel=1e-12)


def test_equal_clients_are_equal_and_absent_ones_do_not_count():
    assert w.average_participating_objective([0.2] * 7) == pytest.approx(np.full(7, 1 / 7), rel=1e-14)
    assert w.average_participating_objective([0.0, 0.4, 0.4]) == pytest.approx([0, 0.5, 0.5], rel=1e-14)


def test_fedaus_objective_in_fractions():
    for cutoff in (1, 2, 5):
        shares = [1 - (1 - p) ** cutoff for p in P]
        exact = [float(s / sum(shares)) for s in shares]
        assert w.fedau_objective([float(p) for p in P], cutoff) == pytest.approx(exact, rel=1e-14)
    assert w.fedau_objective([0.1, 0.3, 1.0], math.inf) == pytest.approx(np.full(3, 1 / 3), rel=1e-14)


def test_cutoff_1_is_the_average_over_all_clients():
    p = [0.1, 0.5, 0.9]
    assert w.fedau_objective(p, 1) == pytest.approx(w.implied_objective(p), rel=1e-14)
    assert w.known_statistics_objective(p) == pytest.approx(np.full(3, 1 / 3), rel=1e-14)


def test_long_runs_of_the_rule_itself():
    """The averages of participation x weight over 400,000 client-rounds; 5 standard errors are below 0.02."""
    p, cutoff = np.array([0.1, 0.4]), 4
    history = (np.random.default_rng(5).random((2000, 200, 2)) < p).astype(np.uint8)
    applied = (history * w.FedAU(cutoff).batch(history))[50:].mean(axis=(0, 1))
    assert applied / applied.sum() == pytest.approx(w.fedau_objective(p, cutoff), abs=0.01)


def test_weights_may_be_rescaled():
    p, omega = [0.1, 0.3, 0.5], np.array([2.0, 1.0, 7.0])
    assert w.implied_objective(p, 3 * omega) == pytest.approx(w.implied_objective(p, omega), rel=1e-15)


REFUSED = {
    "no client": (lambda: w.implied_objective([]), r"participation_probability is empty"),
    "a number": (lambda: w.implied_objective(0.5), r"shape \(\): allowed is \(clients,\)"),
    "all absent": (lambda: w.average_participating_objective([0.0, 0.0]), r"is 0 for all clients"),
    "outside": (lambda: w.fedau_objective([0.5, 2.0], 3), r"participation_probability\[1\] = .*2.0"),
    "weights": (lambda: w.implied_objective([0.5], [0.0]), r"aggregation_weight = \[0.0\]: allowed are positive"),
    "shape": (lambda: w.implied_objective([0.5, 0.5], [1.0]), r"aggregation_weight has shape \(1,\)"),
    "no cutoff": (lambda: w.fedau_objective([0.5, 0.0], math.inf), r"\[1\] = .*0.0.*has no end"),
    "reciprocal": (lambda: w.known_statistics_objective([0.5, 0.0]), r"\[1\] = .*0.0.*would be 1/0"),
    "cutoff": (lambda: w.fedau_objective([0.5], 0), r"cutoff = 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_input_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()
