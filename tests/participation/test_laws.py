"""The published laws: FAST's Gamma and Weibull, FedAU's probabilities; and estimates with error bars."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import torch

import fedtheory as ft
from fedtheory.participation import (
    Bernoulli,
    IndexGamma,
    IndexWeibull,
    Markov,
    Uniform,
    class_weights,
    estimated_marginal,
    participation_probabilities,
)
from fedtheory.participation.base import Inclusion, Keys, Participation

LAWS = {
    "gamma": (IndexGamma(10), lambda x: mpmath.gammainc(10, x / mpmath.mpf("0.01"), regularized=True)),
    "weibull": (IndexWeibull(10), lambda x: mpmath.exp(-(x**10))),
    "gamma, flat": (
        IndexGamma(2, shape=0.5, scale=3.0),
        lambda x: mpmath.gammainc(0.5, x / mpmath.mpf(3), regularized=True),
    ),
    "weibull, steep": (IndexWeibull(2, shape=40.0, scale=0.25), lambda x: mpmath.exp(-((4 * x) ** 40))),
}


@pytest.mark.parametrize(("process", "above"), LAWS.values(), ids=LAWS.keys())
@pytest.mark.parametrize("clients", [7, 100, 139])
def test_masses_to_high_precision(process, above, clients):
    with mpmath.workdps(120):
        tails = [above(mpmath.mpf(i) / clients) for i in range(clients + 1)]
        masses = [a - b for a, b in pairwise(tails)]
        exact = np.array([float(m / max(masses)) for m in masses])
        last = [*masses[:-1], masses[-1] + tails[-1]]
        exact_last = np.array([float(m / max(last)) for m in last])
    # Rounding moves z = (x / scale)^k by k 1e-16 of itself, and with it exp(-z) by z k 1e-16: the steep law, k = 40, is
    # 0 from z = 670 on. The difference of powers of neighbours loses another factor M / k.
    np.testing.assert_allclose(process.relative_weights(clients), exact, rtol=5e-12, atol=1e-290)
    capped = type(process)(process.cohort, process.shape, process.scale, beyond="last")
    np.testing.assert_allclose(capped.relative_weights(clients), exact_last, rtol=5e-12, atol=1e-290)


@pytest.mark.parametrize("beyond", ["redrawn", "last"])
def test_drawing_as_the_docstring_says_has_the_same_law(beyond):
    """u from numpy's Weibull, client floor(u M), until 3 are distinct; normal bound, level 1e-6 over 8 clients."""
    rng, seen = np.random.default_rng(0), np.zeros(8)
    for _ in range(4_000):
        found: set[int] = set()
        while len(found) < 3:
            u = rng.weibull(2.0)
            if u < 1 or beyond == "last":
                found.add(min(int(u * 8), 7))
        seen[list(found)] += 1
    first = IndexWeibull(3, shape=2.0, beyond=beyond).inclusion(8).first
    assert (np.abs(seen - 4_000 * first) < 5.4 * np.sqrt(4_000 * first * (1 - first))).all()


def test_gamma_against_numpys_draws():
    rng, seen = np.random.default_rng(1), np.zeros(20)
    for u in rng.gamma(10.0, 0.01, 20_000):
        seen[int(u * 20)] += 1
    first = IndexGamma(1).inclusion(20).first
    assert (np.abs(seen - 20_000 * first) < 5.4 * np.sqrt(20_000 * first * (1 - first)) + 1).all()


def test_extreme_parameters_give_numbers_or_errors():
    assert IndexWeibull(1, shape=1e3, scale=1e-3).relative_weights(4).tolist() == [1, 0, 0, 0]
    assert IndexGamma(1, shape=1.0, scale=1e-300).relative_weights(4).tolist() == [1, 0, 0, 0]
    assert IndexWeibull(1, scale=1e40, beyond="last").relative_weights(3).tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="chance above 0"):
        IndexGamma(1, shape=200.0, scale=1e10).check(3)


def test_fedau_probabilities_by_hand():
    kappa, q = [[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1]], [0.75, 0.25, 0.0]
    # C mu <kappa, q> with C = 3, mu = 0.4: 0.9, 0.15, 0
    np.testing.assert_allclose(participation_probabilities(kappa, q, mean=0.4), [0.9, 0.15, 0.02], rtol=1e-15)
    np.testing.assert_allclose(participation_probabilities(kappa, q, 0.4, floor=0), [0.9, 0.15, 0], rtol=1e-15)
    # mean 1: 2.25, 0.375, 0
    np.testing.assert_allclose(participation_probabilities(kappa, q, 1, floor=0), [1, 0.375, 0], rtol=1e-15)
    with pytest.raises(ValueError, match=r"p\[0\] = 2.25: allowed is at most 1; a smaller mean, or above='cap'"):
        participation_probabilities(kappa, q, 1, above="refuse")
    empirical = participation_probabilities(kappa, q, 0.2, floor=0, normalisation="empirical")
    np.testing.assert_allclose(empirical, np.array([0.75, 0.125, 0]) * 0.2 * 3 / 0.875, rtol=1e-15)


@pytest.mark.parametrize("classes", [10, 100])
def test_fedau_mean_over_random_clients(classes):
    """E[p_n] = mu before floor and cap, whatever q is: 5 standard errors."""
    q = class_weights(classes, 0.1, seed=1)
    kappa = np.random.default_rng(2).dirichlet(np.full(classes, 0.1), 20_000)
    p = participation_probabilities(kappa, q, mean=0.005, floor=0, above="refuse")
    assert abs(p.mean() - 0.005) < 5 * p.std() / np.sqrt(20_000)
    main = participation_probabilities(kappa, q)
    assert main.min() == 0.02 and main.max() <= 1
    single = np.eye(classes)  # every client has one class: C mu q
    np.testing.assert_allclose(
        participation_probabilities(single, q, mean=1, floor=0), np.minimum(classes * q, 1), rtol=1e-14
    )
    Bernoulli(main[:5])
    Markov.with_largest_entry(main[:5])


def test_class_weights():
    q = class_weights(10, seed=4)
    assert q.shape == (10,) and (q >= 0).all() and abs(q.sum() - 1) < 1e-12
    assert (q == class_weights(10, seed=4)).all() and (q != class_weights(10, seed=5)).any()
    # E[sum q^2] = (alpha + 1) / (C alpha + 1) = 0.55: 400 draws of a variable within [0, 1], 5 standard deviations.
    squares = [np.square(class_weights(10, seed=s)).sum() for s in range(400)]
    assert abs(np.mean(squares) - 0.55) < 5 * 0.5 / 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(mean=0), r"mean = 0: allowed is \(0, 1\]"),
        (dict(mean=float("nan")), r"mean = nan"),
        (dict(floor=-0.1), r"floor = -0.1: allowed is \[0, 1\]"),
        (dict(above="x"), r"above = 'x': allowed is one of cap, refuse"),
        (dict(normalisation="x"), r"normalisation = 'x': allowed is one of expected, empirical"),
        (dict(weights=[1.0]), r"class_distributions has shape \(2, 2\), weights \(1,\)"),
        (dict(weights=[0.5, 0.6]), r"weights = \[0.5, 0.6\]: allowed are numbers >= 0 that sum to 1"),
        (dict(weights=[1.5, -0.5]), r"weights = \[1.5, -0.5\]"),
        (dict(class_distributions=[[1, 0], [0.5, float("nan")]]), r"class_distributions\[1\] = \[0.5, nan\]"),
        (dict(class_distributions=[[0, 1]], weights=[1, 0], normalisation="empirical"), r"no client has data of a"),
    ],
)
def test_fedau_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        participation_probabilities(**dict(class_distributions=[[1, 0], [0, 1]], weights=[0.5, 0.5]) | arguments)


@pytest.mark.parametrize(("classes", "concentration"), [(0, 1.0), (3, 0.0), (3, float("nan"))])
def test_class_weights_errors(classes, concentration):
    with pytest.raises(ValueError, match=r"classes = 0|concentration = "):
        class_weights(classes, concentration)


def test_estimates_with_error_bars():
    exact = Uniform(3).inclusion(6).as_floats()
    found = estimated_marginal(Uniform(3), 6, samples=20_000, seed=5)
    # Hoeffding's: sqrt(log(2000) / 40000)
    assert found.first_error == found.second_error == pytest.approx(0.0137848, rel=1e-5) and found.samples == 20_000
    assert (np.abs(found.first - exact.first) < found.first_error).all()
    assert (np.abs(found.second - exact.second) < found.second_error).all()
    assert (np.diag(found.second) == found.first).all() and found.second.sum() == pytest.approx(9)
    repeated = estimated_marginal(Uniform(4, True), 3, samples=5_000, most=4)
    exact = Uniform(4, True).inclusion(3).as_floats()
    assert repeated.second_error == pytest.approx(4 * repeated.first_error)
    assert (np.abs(repeated.second - exact.second) < repeated.second_error).all()
    chain = Markov.with_largest_entry([0.5, 0.1])
    far = estimated_marginal(chain, 2, round=500, samples=4_000)
    assert (np.abs(far.second - chain.marginal(2, 500).second.astype(float)) < far.second_error).all()


def test_estimates_in_chunks_are_the_same(monkeypatch):
    from fedtheory.participation import simulated_inclusion

    whole = estimated_marginal(Uniform(2), 5, samples=1_000)
    monkeypatch.setattr(simulated_inclusion, "_CHUNK", 35)
    parts = estimated_marginal(Uniform(2), 5, samples=1_000)
    assert (whole.first == parts.first).all() and (whole.second == parts.second).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(samples=0), r"samples = 0: allowed is an integer >= 1"),
        (dict(confidence=1.0), r"confidence = 1.0: allowed is between 0 and 1"),
        (dict(most=0), r"most = 0"),
        (dict(process=Uniform(3, True)), r"most = 1: a client was drawn [23] times; allowed is at least that"),
    ],
)
def test_estimate_errors(options, message):
    with pytest.raises(ValueError, match=message):
        estimated_marginal(**dict(process=Uniform(1), clients=2, samples=200) | options)


class Either(Participation):
    """The first client with probability 3/4, else the second one: its moments are Fractions, and zeros as integers."""

    cohort, deterministic = 1, False

    def check(self, clients: int) -> None:
        pass

    def inclusion(self, clients: int) -> Inclusion:
        p = Fraction(3, 4)
        return Inclusion(np.array([p, 1 - p], dtype=object), np.array([[p, 0], [0, 1 - p]], dtype=object))

    def step(self, state: Keys, round: int) -> tuple[torch.Tensor, Keys]:
        raise NotImplementedError


def test_integers_among_exact_moments_are_exact() -> None:
    """0/1 of an int is a float, and balls refuse it."""
    federation = ft.federations.Quadratic.common_hessian([1, -1])
    setting = ft.Setting(federation, ft.algorithms.fedavg(local_lr="1/10"), Either(), start=3)
    found, exact = setting.exact([50]).squared_distance, setting.exact([50], exact=True).squared_distance
    assert found[0] == float(exact[0])
