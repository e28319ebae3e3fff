"""Successive sampling: its inclusion probabilities beyond what can be enumerated, and the weights of `IndexBeta`."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import betainc

from fedtheory.participation import IndexBeta, Keys, Uniform, Weighted, successive_sampling
from fedtheory.randomness import Axis, exponentials, words

weights = st.lists(st.floats(-18, 3).map(lambda e: 10.0**e), min_size=1, max_size=5)


def enumerated(values: list[float], cohort: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact moments from all ordered draws."""
    exact = [Fraction(w) for w in values]
    second = np.full((len(exact), len(exact)), Fraction(0), dtype=object)
    for drawn in permutations(range(len(exact)), cohort):
        left, chance = sum(exact), Fraction(1)
        for i in drawn:
            chance, left = chance * exact[i] / left, left - exact[i]
        second[np.ix_(drawn, drawn)] += chance
    return second.diagonal().astype(float), second.astype(float)


@settings(max_examples=60, deadline=None)
@given(weights, st.data())
def test_inclusion_of_any_weights(values, data):
    cohort = data.draw(st.integers(1, len(values)))
    inclusion = Weighted(cohort, values).inclusion(len(values))
    first, second = enumerated(values, cohort)
    # Quadrature and rounding; the error is relative, down to chances of 1e-40.
    np.testing.assert_allclose(inclusion.first, first, rtol=1e-12, atol=0)
    np.testing.assert_allclose(inclusion.second, second, rtol=1e-12, atol=0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=12), st.data())
def test_inclusion_follows_the_weights(values, data):
    cohort = data.draw(st.integers(1, len(values)))
    order = data.draw(st.permutations(range(len(values))))
    inclusion = Weighted(cohort, values).inclusion(len(values))
    assert (np.diff(inclusion.first[np.argsort(values)]) > -1e-12).all()  # heavier means at least as likely
    permuted = Weighted(cohort, [values[i] for i in order]).inclusion(len(values))
    np.testing.assert_allclose(permuted.second, inclusion.second[np.ix_(order, order)], rtol=1e-12)
    for scale in (1e-295, 1e305):  # neither underflow nor overflow
        scaled = Weighted(cohort, [scale * w for w in values]).inclusion(len(values))
        np.testing.assert_allclose(scaled.second, inclusion.second, rtol=1e-12)


@pytest.mark.parametrize(("clients", "cohort"), [(100, 1), (100, 2), (100, 20), (60, 59), (127, 40)])
def test_equal_weights_are_uniform(clients, cohort):
    inclusion = Weighted(cohort, [0.1] * clients).inclusion(clients)
    exact = Uniform(cohort).inclusion(clients).as_floats()
    np.testing.assert_allclose(inclusion.first, exact.first, rtol=1e-13)
    np.testing.assert_allclose(inclusion.second, exact.second, rtol=1e-13, atol=0)


@pytest.mark.parametrize("cohort", [1, 2, 3, 7, 13, 20])
def test_two_classes_match_an_exact_recursion(cohort):
    """With 50 clients of weight 1 and 50 of weight 1e-9, the number of heavy ones drawn is a Markov chain."""
    light = Fraction(1, 10**9)
    chances = {0: Fraction(1)}
    for draw in range(cohort):
        following: dict[int, Fraction] = {}
        for heavy, chance in chances.items():
            some, other = 50 - heavy, light * (50 - draw + heavy)
            following[heavy + 1] = following.get(heavy + 1, 0) + chance * some / (some + other)
            following[heavy] = following.get(heavy, 0) + chance * other / (some + other)
        chances = following
    inclusion = Weighted(cohort, [1.0] * 50 + [1e-9] * 50).inclusion(100)
    mean = sum(h * p for h, p in chances.items())
    blocks = {
        (0, 1): sum(h * (h - 1) * p for h, p in chances.items()) / 2450,
        (0, 50): sum(h * (cohort - h) * p for h, p in chances.items()) / 2500,
        (98, 99): sum((cohort - h) * (cohort - h - 1) * p for h, p in chances.items()) / 2450,
    }
    np.testing.assert_allclose(
        inclusion.first, [float(mean / 50)] * 50 + [float((cohort - mean) / 50)] * 50, rtol=1e-12
    )
    for pair, exact in blocks.items():
        np.testing.assert_allclose(inclusion.second[pair], float(exact), rtol=1e-12, atol=0)


@pytest.mark.parametrize("cohort", [2, 10, 20])
def test_quadrature_has_converged(cohort, monkeypatch):
    """On the paper's weights, of ratio 1e-19: one and a half times the nodes give the same, to rounding."""
    relative = tuple(IndexBeta(cohort).relative_weights(100).tolist())
    usual = successive_sampling._moments.__wrapped__(relative, cohort)
    monkeypatch.setattr(successive_sampling, "_ORDER", 36)
    for values, finer in zip(usual, successive_sampling._moments.__wrapped__(relative, cohort), strict=True):
        np.testing.assert_allclose(values, finer, rtol=1e-13, atol=0)


def test_wrong_sums_are_refused(monkeypatch):
    monkeypatch.setattr(successive_sampling, "_ORDER", 3)
    with pytest.raises(ArithmeticError, match=r"cohort of 5: their sums are off by"):
        successive_sampling._moments.__wrapped__(tuple([1.0] * 50), 5)


def test_inclusion_is_a_copy():
    inclusion = Weighted(1, [1.0, 3.0]).inclusion(2)
    inclusion.first[:], inclusion.second[:] = 7, 7
    np.testing.assert_allclose(Weighted(1, [1.0, 3.0]).inclusion(2).second, [[0.25, 0], [0, 0.75]], rtol=1e-13)
    np.testing.assert_allclose(Weighted(1, [1.0, 3.0]).inclusion(2).first, [0.25, 0.75], rtol=1e-13)


def test_a_weight_that_underflows_beside_the_heaviest_counts_as_zero():
    inclusion = Weighted(2, [1e300, 1e-300, 1e299]).inclusion(3)
    assert inclusion.second.tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1]]
    assert inclusion.first.tolist() == [1, 0, 1]


def test_extreme_weights_are_kept_apart():
    values = [1e-289, 1.0, 1e-320, 1e-150]
    inclusion = Weighted(3, values).inclusion(4)
    np.testing.assert_allclose(inclusion.first, [1, 1, 1e-31, 1], rtol=1e-3)  # 1e-320 has three digits
    keys = Keys(0, Axis.COHORT, torch.arange(1000), 4)
    process = Weighted(3, values)
    assert (process.step(process.init(keys), 0)[0] == torch.tensor([1, 1, 0, 1])).all()


def test_clients_whose_mass_underflows_are_never_drawn():
    process = IndexBeta(5, 1.0, 1e3)
    relative = process.relative_weights(30)
    assert relative[20] == 0
    first = process.inclusion(30).first
    assert (first[relative == 0] == 0).all() and abs(first.sum() - 5) < 1e-12
    counts, _ = process.step(process.init(Keys(0, Axis.COHORT, torch.arange(500), 30)), 0)
    assert (counts.sum(1) == 5).all() and not counts[:, relative == 0].any()


def test_the_first_to_ring_take_part():
    process = Weighted(2, [3.0, 1.0, 0.5, 1.5])
    clients = torch.arange(4)
    counts, _ = process.step(process.init(Keys(5, Axis.ARBITRARY, torch.arange(200), 4)), 9)
    for replica in range(200):
        times = exponentials(words(5, Axis.ARBITRARY, replica, clients, 9)) / torch.tensor(process.weights)
        assert set(counts[replica].nonzero().ravel().tolist()) == set(times.argsort()[:2].tolist())


@pytest.mark.parametrize(("alpha", "beta"), [(1, 10), (10, 1), (2, 3), (1, 1), (5, 5)])
@pytest.mark.parametrize("clients", [1, 7, 100])
def test_masses_of_integer_laws(alpha, beta, clients):
    """P(X <= x) is a polynomial: the density expanded and integrated in Fractions."""

    def below(x: Fraction) -> Fraction:
        terms = [Fraction(1)]  # coefficients of (1 - x)^(beta - 1)
        for k in range(1, beta):
            terms.append(-terms[-1] * (beta - k) / k)
        return sum(c * x ** (alpha + k) / (alpha + k) for k, c in enumerate(terms))

    edges = [below(Fraction(i, clients)) for i in range(clients + 1)]
    exact = np.array([(b - a) / edges[-1] for a, b in pairwise(edges)]).astype(float)
    relative = IndexBeta(1, float(alpha), float(beta)).relative_weights(clients)
    # betainc's relative error, a few 1e-16, grows by (tail) / (cell), at most `clients`, in the difference.
    np.testing.assert_allclose(relative, exact / exact.max(), rtol=1e-13, atol=0)


@pytest.mark.parametrize("clients", [7, 100, 1000, 30_000])
def test_the_last_mass(clients):
    """P(X > 1 - 1/M) = M^-10 for Beta(1, 10): needs 1 - x itself, not the rounded x."""
    np.testing.assert_allclose(
        successive_sampling._beta_masses(clients, 1.0, 10.0)[-1], float(clients) ** -10, rtol=1e-14
    )


@settings(max_examples=50, deadline=None)
@given(st.floats(0.1, 20), st.floats(0.1, 20), st.integers(1, 60))
def test_masses_of_any_law(alpha, beta, clients):
    masses = successive_sampling._beta_masses(clients, alpha, beta)
    assert (masses > 0).all()
    assert abs(masses.sum() - 1) < 1e-12
    np.testing.assert_allclose(
        masses, successive_sampling._beta_masses(clients, beta, alpha)[::-1], rtol=1e-11
    )  # x -> 1 - x
    cumulated = betainc(alpha, beta, np.arange(1, clients + 1) / clients)
    np.testing.assert_allclose(np.cumsum(masses), cumulated, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.3, 12), st.floats(0.3, 12), st.integers(2, 20), st.data())
def test_reflection(alpha, beta, clients, data):
    cohort = data.draw(st.integers(1, clients))
    one = IndexBeta(cohort, alpha, beta).inclusion(clients)
    other = IndexBeta(cohort, beta, alpha).inclusion(clients)
    assume(one.first.min() > 0)
    np.testing.assert_allclose(one.first, other.first[::-1], rtol=1e-9)
    np.testing.assert_allclose(one.second, other.second[::-1, ::-1], rtol=1e-9, atol=1e-300)


def test_rejection_has_the_same_law():
    """u ~ Beta(1, 10), client floor(u M), until 3 distinct: first moments, normal bound, level 1e-6 over 8 clients."""
    rng, seen = np.random.default_rng(0), np.zeros(8)
    for _ in range(4_000):
        found: set[int] = set()
        while len(found) < 3:
            found.add(int(rng.beta(1.0, 10.0) * 8))
        seen[list(found)] += 1
    first = IndexBeta(3).inclusion(8).first
    # 5.4 standard deviations: P(|Z| > 5.4) = 7e-8 < 1e-6 / 8; one more event for the very rare clients.
    assert (np.abs(seen - 4_000 * first) < 5.4 * np.sqrt(4_000 * first * (1 - first)) + 1).all()
