"""The smallest constants: exact for finite classes, on the line against a fine grid of thresholds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.learning.finite_domains import FiniteClass, Law
from fedtheory.learning.relatedness import related, smallest_alpha, smallest_alpha_on_path, smallest_noise_constant
from fedtheory.learning.risk_bounds import mixture_alpha
from fedtheory.learning.thresholds import (
    OnLine,
    random_geometries,
    smallest_alpha_for_intervals,
    smallest_alpha_for_thresholds,
    threshold_excesses,
)
from tests.work import counted

BETAS = (0.0, 0.3, 0.5, 1.0, 1.5, 2.0)


def random_line(rng: np.random.Generator, noisy: bool) -> OnLine:
    pieces = int(rng.integers(1, 5))
    edges = np.sort(rng.choice(np.arange(0, 21), pieces + 1, replace=False)) / 10.0
    masses = rng.integers(0 if pieces > 1 else 1, 5, pieces).astype(float)
    if masses.sum() == 0:
        masses[0] = 1.0
    labels = rng.integers(0, 5, pieces) / 4 if noisy else rng.integers(0, 2, pieces).astype(float)
    return OnLine(edges, masses / masses.sum(), labels)


def ratio(gap: np.ndarray, base: np.ndarray, beta: float) -> np.ndarray:
    """|gap| <= alpha base^beta needs alpha at least this."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(gap) < 1e-12, 0.0, np.abs(gap) / base**beta)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("noisy", [False, True])
def test_thresholds_against_a_grid(beta: float, noisy: bool) -> None:
    """From below the grid never exceeds the answer; it comes near it wherever the answer is finite."""
    rng = np.random.default_rng(int(10 * beta) + noisy)
    finite = 0
    for _ in range(150):
        p, q = random_line(rng, noisy), random_line(rng, noisy)
        exact = smallest_alpha_for_thresholds(p, q, beta)
        edges = np.union1d(p.edges, q.edges)
        t = np.union1d(np.linspace(edges[0], edges[-1], 20_001), edges)
        of_p, of_q = (law.threshold_risks(t) for law in (p, q))
        of_p, of_q = of_p - of_p.min(), of_q - of_q.min()
        of_q[of_q < 1e-12] = 0
        seen = ratio(of_p - of_q, of_q, beta).max()
        assert seen <= exact * (1 + 1e-6) + 1e-9
        if math.isfinite(exact):
            finite += 1
            assert seen >= exact * (1 - 0.02) - 1e-3
        else:
            assert seen > 30  # grows without bound as the grid is refined
    assert finite > 10 or beta > 1  # there P and Q have to agree around the best threshold


@pytest.mark.parametrize("beta", BETAS)
def test_intervals_against_a_grid(beta: float) -> None:
    rng = np.random.default_rng(int(10 * beta))
    for _ in range(25):
        p, q = random_line(rng, True), random_line(rng, True)
        exact = smallest_alpha_for_intervals(p, q, beta)
        edges = np.union1d(p.edges, q.edges)
        t = np.union1d(np.linspace(edges[0], edges[-1], 241), edges)
        excess = []
        for law in (p, q):
            masses, ones = law.on(t)
            gain = np.concatenate([[0.0], np.cumsum(masses * (1 - 2 * ones))])
            risk = (gain[None, :] - gain[:, None])[np.triu_indices(len(t))]
            risk = risk - risk.min()
            excess.append(np.where(risk < 1e-12, 0.0, risk))
        seen = ratio(excess[0] - excess[1], excess[1], beta).max()
        assert seen <= exact * (1 + 1e-6) + 1e-9
        assert seen >= exact * 0.9 - 0.02 if math.isfinite(exact) else seen > 3


def test_ten_thousand_geometries_at_once() -> None:
    of_p, of_q = random_geometries(10_000, 6)
    for beta in BETAS:
        with counted(1000):
            alphas = smallest_alpha_on_path(of_p, of_q, beta)
        assert alphas.shape == (10_000,)
    one = smallest_alpha_on_path(of_p, of_q, 1.0)
    for i in range(0, 10_000, 997):
        assert one[i] == smallest_alpha_on_path(of_p[i], of_q[i], 1.0)
        s = np.linspace(0, 1, 2001)
        p, q = (np.concatenate([v[i, k] + s * (v[i, k + 1] - v[i, k]) for k in range(6)]) for v in (of_p, of_q))
        assert ratio(p - q, q, 1.0).max() == pytest.approx(one[i], rel=1e-6)


def test_corners_are_needed_and_interiors_too() -> None:
    """|g|/q^beta can be largest inside a piece: g falls and q falls to a positive number."""
    of_p, of_q = np.array([2.0, 1.0]), np.array([1.0, 0.0])
    assert smallest_alpha_on_path(of_p, of_q, 0.5) == math.inf
    of_p, of_q = np.array([1.0, 0.3]), np.array([1.0, 0.1])
    s = np.linspace(0, 1, 100_001)
    g, q = (of_p - of_q)[0] + s * ((of_p - of_q)[1] - (of_p - of_q)[0]), 1 + s * (0.1 - 1)
    assert float(smallest_alpha_on_path(of_p, of_q, 0.5)) == pytest.approx((g / q**0.5).max(), rel=1e-8)
    p2, q2 = np.array([0.0 + 0.05, 1.0]), np.array([0.05, 0.4])
    g2, b2 = s * 0.6, 0.05 + s * 0.35
    assert float(smallest_alpha_on_path(p2, q2, 3.0)) == pytest.approx((g2 / b2**3).max(), rel=1e-7)
    assert (g2 / b2**3).argmax() not in (0, len(s) - 1)


# The paper's example ---------------------------------------------------------------------------------------------


def test_the_one_dimensional_example() -> None:
    """Inside the support of Q alpha = 1 - (b'-a')/(b-a) is right; outside it need not be enough, nor any alpha."""
    p = OnLine.uniform(0, 1, 0.25)
    assert smallest_alpha_for_thresholds(p, OnLine.uniform(0, 0.5, 0.25), 1.0) == pytest.approx(0.5)
    p = OnLine.uniform(0, 1, 0.4)
    assert smallest_alpha_for_thresholds(p, OnLine.uniform(0, 0.5, 0.4), 1.0) == pytest.approx(2.0)
    p = OnLine.uniform(0, 1, 0.5)
    assert smallest_alpha_for_thresholds(p, OnLine.uniform(0, 0.5, 0.5), 1.0) == math.inf
    for lam in (0.1, 0.5, 0.9):  # a mixture has the whole support
        q = OnLine.uniform(0, 0.5, 0.5).mixed(p, lam)
        alpha = smallest_alpha_for_thresholds(p, q, 1.0)
        assert alpha == pytest.approx(lam / (1 - lam)) and alpha <= mixture_alpha(lam) * (1 + 1e-9)


def test_a_target_at_an_end() -> None:
    """A target at an end of the support leaves no label or one label in it."""
    assert OnLine.uniform(0, 1, 0).positive.tolist() == [1.0]
    t, of_p, of_q = threshold_excesses(OnLine.uniform(0, 1, 1), OnLine.uniform(0, 1, 1))
    assert of_p.tolist() == [1.0, 0.0] == of_q.tolist() and t.tolist() == [0.0, 1.0]


# Finite classes --------------------------------------------------------------------------------------------------


def random_pair(rng: np.random.Generator) -> tuple[Law, Law, FiniteClass]:
    points = int(rng.integers(1, 4))
    laws = []
    for _ in range(2):
        weights = rng.integers(0, 4, (points, 2))
        weights[0, 0] += weights.sum() == 0
        laws.append(Law([[Fraction(int(w), int(weights.sum())) for w in row] for row in weights]))
    table = FiniteClass.all(points).labels
    keep = rng.permutation(len(table))[: int(rng.integers(1, len(table) + 1))]
    return laws[0], laws[1], FiniteClass(table[keep])


def test_the_smallest_alpha_is_enough_and_no_less_is() -> None:
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(300):
        p, q, h = random_pair(rng)
        for beta in (0, 1, 2):
            found = smallest_alpha(p.excesses(h), q.excesses(h), beta)
            if found.value == math.inf:
                assert q.excesses(h)[found.at] == 0 < p.excesses(h)[found.at]
                assert not related(p.excesses(h), q.excesses(h), 10**9, beta)
                continue
            assert related(p.excesses(h), q.excesses(h), found.value, beta)
            if found.value > 0:
                seen += 1
                assert not related(p.excesses(h), q.excesses(h), found.value * Fraction(999, 1000), beta)
        half = smallest_alpha(p.excesses(h), q.excesses(h), Fraction(1, 2)).value
        if half not in (0, math.inf):
            assert related(p.excesses(h), q.excesses(h), Fraction(half) * Fraction(1001, 1000), "1/2")
            assert not related(p.excesses(h), q.excesses(h), Fraction(half) * Fraction(999, 1000), "1/2")
    assert seen > 100


def test_positive_exponents_make_the_best_of_q_best_under_p() -> None:
    """With beta > 0 a finite alpha says e_P(h) = 0 wherever e_Q(h) = 0: more than Theorem 3 asks."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        p, q, h = random_pair(rng)
        finite = smallest_alpha(p.excesses(h), q.excesses(h), "1/3").value < math.inf
        assert finite == all(x == 0 for x, y in zip(p.excesses(h), q.excesses(h), strict=True) if y == 0)


def test_one_target_and_a_mixture_are_always_related() -> None:
    rng = np.random.default_rng(6)
    for _ in range(200):
        points = int(rng.integers(1, 5))
        h = FiniteClass.all(points)
        masses = [rng.integers(0, 5, points) for _ in range(2)]
        masses = [[Fraction(int(v), int(m.sum()) + 1) for v in m] for m in masses]
        masses = [[m[0] + 1 - sum(m), *m[1:]] for m in masses]
        target = rng.integers(0, 2, points)
        d, p = (Law.labelled(m, target) for m in masses)
        share = Fraction(int(rng.integers(0, 9)), 9)
        assert related(p.excesses(h), d.mixed(p, share).excesses(h), Fraction(mixture_alpha(share)), 1)


def test_noise_conditions() -> None:
    h = FiniteClass([[0], [1]])
    for eta in (Fraction(1, 4), Fraction(1, 8), Fraction(0)):  # Massart: P(h != h*) = e/(1 - 2 eta)
        law = Law([[1 - eta, eta]])
        found = smallest_noise_constant(law.excesses(h), law.disagreements(h, law.best(h)), 1)
        assert found.value == 1 / (1 - 2 * eta)
    fair = Law([["1/2", "1/2"]])
    assert smallest_noise_constant(fair.excesses(h), fair.disagreements(h, 0), 1).value == math.inf
    assert smallest_noise_constant(fair.excesses(h), fair.disagreements(h, 0), 0).value == 1


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="beta = -1: allowed is a number >= 0"):
        smallest_alpha([1], [1], -1)
    with pytest.raises(ValueError, match=r"beta = -0\.5"):
        smallest_alpha_on_path(np.ones(2), np.ones(2), -0.5)
    with pytest.raises(ValueError, match=r"exponent = 2: allowed is a number in \[0, 1\]"):
        smallest_noise_constant([1], [1], 2)
    with pytest.raises(ValueError, match="of_p is empty"):
        smallest_alpha([], [], 1)
    with pytest.raises(ValueError, match="of_q = -1: allowed are excess risks >= 0"):
        smallest_alpha([1], [-1], 1)
    with pytest.raises(ValueError, match="one number for each hypothesis"):
        smallest_alpha([1, 2], [1], 1)
    with pytest.raises(ValueError, match="at least one corner"):
        smallest_alpha_on_path(np.ones(0), np.ones(0), 1)
    with pytest.raises(ValueError, match="excess risk = -1"):
        smallest_alpha_on_path(np.array([-1.0]), np.array([1.0]), 1)
    for edges, masses, labels, what in (
        ([0], [], [], "edges"), ([0, 0], [1], [1], "edges"), ([0, 1], [0.9], [1], "sum to 0.9"),
        ([0, 1, 2], [1.5, -0.5], [1, 1], "density >= 0"), ([0, 1], [1], [2], "probabilities"),
        ([0, 1], [1, 0], [1], "masses has shape"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=what):
            OnLine(edges, masses, labels)
    with pytest.raises(ValueError, match="share = 2"):
        OnLine.uniform(0, 1, 0).mixed(OnLine.uniform(0, 1, 0), 2)
    with pytest.raises(ValueError, match="cover the distribution"):
        OnLine.uniform(0, 1, 0).threshold_risks(np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="count = 0"):
        random_geometries(0, 1)
