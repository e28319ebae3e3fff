"""(B, G)-dissimilarity: exact offsets against eigenvalues, random points and grids."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

import fedtheory as ft
from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.federations.federation import Pairs
from fedtheory.federations.relative_dissimilarity import least_squared_offset, least_whole_factor, supremum
from fedtheory.moments.evaluators import BALL, EXACT, Question, Unserved, quantities, quantity

FACTOR, OFFSET = "dissimilarity_factor", "dissimilarity_offset"


def setting(fed) -> ft.Setting:
    algorithm = ft.algorithms.fast(cohort=1, local_lr="1/10", snapshot_probability=0)
    return ft.Setting(fed, algorithm, ft.participation.Fixed([0]))


def excess(fed, points: np.ndarray, factor: float) -> np.ndarray:
    """sum_i p_i |grad F_i|^2 - B^2 |grad F|^2 at points (P, D), by the federation's own gradients."""
    weights = np.array([float(p) for p in (fed.objective_weight or [Fraction(1, fed.clients)] * fed.clients)])
    everyone = Pairs.of(torch.ones(1, fed.clients, dtype=torch.bool), torch.zeros(1).long(), 0, 0)
    found = []
    for point in points:
        x = torch.as_tensor(point)
        gradients = fed.exact_gradient(x.expand(fed.clients, -1), everyone).numpy()
        found.append(weights @ (gradients**2).sum(1) - factor**2 * ((weights @ gradients) ** 2).sum())
    return np.array(found)


def drawn(rng: np.random.Generator, common: bool) -> Quadratic:
    clients, dimension = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    shape = (clients, dimension)
    hessians = np.broadcast_to(rng.integers(1, 9, dimension), shape) if common else rng.integers(1, 9, shape)
    weights = None
    if rng.random() < 0.5:
        parts = rng.integers(1, 5, clients).tolist()
        weights = [Fraction(part, sum(parts)) for part in parts]
    return Quadratic(hessians.tolist(), rng.integers(-5, 6, shape).tolist(), objective_weight=weights)


@pytest.mark.parametrize("seed", range(12))
def test_no_point_exceeds_the_offset_and_some_reach_it(seed: int) -> None:
    """Random points, and the maximiser by least squares in floats."""
    rng = np.random.default_rng(seed)
    fed = drawn(rng, common=seed % 3 == 0)
    factor = least_whole_factor(fed) + (seed % 2)
    square = float(least_squared_offset(fed, Fraction(factor) ** 2))
    p = fed.exact_weight.astype(float)
    hessians, slopes = fed.hessians, fed.exact_slopes.astype(float)
    H, g = np.tensordot(p, hessians, 1), p @ slopes
    form = sum(w * h @ h for w, h in zip(p, hessians, strict=True)) - factor**2 * H @ H
    linear = sum(w * h @ s for w, h, s in zip(p, hessians, slopes, strict=True)) - factor**2 * H @ g
    top = np.linalg.lstsq(-form, linear, rcond=None)[0]
    points = top + rng.standard_normal((300, fed.dimension)) * 10.0 ** rng.uniform(-3, 3, (300, 1))
    assert excess(fed, points, factor).max() <= square * (1 + 1e-9) + 1e-9
    assert excess(fed, top[None], factor)[0] == pytest.approx(square, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_where_the_offset_is_finite_is_told_by_eigenvalues(seed: int) -> None:
    """Strictly above the root of the largest generalized eigenvalue of (sum p H_i^2, H^2), and not below it."""
    fed = drawn(np.random.default_rng(100 + seed), common=False)
    p = fed.exact_weight.astype(float)
    H = np.tensordot(p, fed.hessians, 1)
    squares = sum(w * h @ h for w, h in zip(p, fed.hessians, strict=True))
    least = np.linalg.eigvals(np.linalg.solve(H @ H, squares)).real.max() ** 0.5
    assert least_squared_offset(fed, Fraction(least * 1.001) ** 2) is not None
    assert least_squared_offset(fed, Fraction(least * 0.999) ** 2) is None
    assert least_whole_factor(fed) == max(1, int(np.ceil(least - 1e-9)))


def test_a_common_hessian_has_the_variance_of_the_gradients() -> None:
    fed = Quadratic.common_hessian([3, -1, -2], hessian=2)
    assert least_squared_offset(fed, Fraction(1)) == Fraction(4 * (9 + 1 + 4), 3)
    assert least_squared_offset(fed, Fraction(4)) == Fraction(4 * (9 + 1 + 4), 3)  # at x*, whatever B


def test_an_incompatible_linear_part_is_infinite() -> None:
    """-3 x^2 + 2 l x along one direction, 2 y along one without curvature."""
    form = np.array([[Fraction(-3), Fraction(0)], [Fraction(0), Fraction(0)]])
    assert supremum(form, np.array([Fraction(3), Fraction(0)]), Fraction(1)) == 4
    assert supremum(form, np.array([Fraction(3), Fraction(1)]), Fraction(1)) is None
    assert supremum(-form, np.array([Fraction(0), Fraction(0)]), Fraction(1)) is None
    saddle = np.array([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]])
    assert supremum(saddle, np.array([Fraction(0), Fraction(0)]), Fraction(0)) is None


@pytest.mark.parametrize("seed", range(10))
def test_kinks_against_a_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def line() -> PiecewiseLinear:
        places = sorted(rng.choice(np.arange(-6, 7), int(rng.integers(0, 4)), replace=False).tolist())
        slopes = rng.integers(1, 5, len(places) + 1).tolist()
        return PiecewiseLinear(slopes, places, int(rng.integers(-3, 4)))

    fed = Piecewise([[line(), line()], [line(), line()]], [1, 2])
    factor = least_whole_factor(fed)
    square = least_squared_offset(fed, Fraction(factor) ** 2)
    grid = np.concatenate([np.linspace(-40, 40, 4001), -np.geomspace(40, 4e4, 2000), np.geomspace(40, 4e4, 2000)])
    best = np.zeros(2)
    for j in range(2):
        points = np.zeros((len(grid), 2))
        points[:, j] = grid
        best[j] = grid[excess(fed, points, factor).argmax()]
    reached = excess(fed, best[None], factor)[0]
    assert reached <= float(square) * (1 + 1e-12) + 1e-9
    assert reached == pytest.approx(float(square), rel=1e-4, abs=0.01)
    if factor > 1:
        assert least_squared_offset(fed, Fraction(factor - 1) ** 2) is None


def test_kinks_without_kinks_are_quadratic() -> None:
    for slopes, offsets in (((1, 3), (-1, 2)), ((2, 2), (1, -1))):
        kinked = Piecewise([[PiecewiseLinear([s], (), g)] for s, g in zip(slopes, offsets, strict=True)])
        plain = Quadratic.with_slopes([[s] for s in slopes], [[g] for g in offsets])
        for square in (Fraction(1), Fraction(5, 4), Fraction(4)):
            assert least_squared_offset(kinked, square) == least_squared_offset(plain, square)


def test_a_huber_gradient_needs_no_factor() -> None:
    """Bounded gradients: the offset is finite for every B, also where the outermost slopes are 0."""
    huber = PiecewiseLinear([0, 1, 0], [-1, 1])
    fed = Piecewise([[huber], [PiecewiseLinear([1, 1], [0], at_zero=1)]])
    assert least_whole_factor(fed) == 2  # at infinity (g_2)^2/2 against (g_2/2)^2 B^2


def test_evaluators_answer_in_all_numbers() -> None:
    known = setting(Quadratic([[1], [3]], [[1], [0]]))
    both = quantities(known, needed=[FACTOR, OFFSET])  # B = 2: -11 x^2 + 7 x - 1/2 at x = 7/22
    assert both[FACTOR].value == 2 and both[OFFSET].kind == "exact"
    assert both[OFFSET].value ** 2 == pytest.approx(49 / 44 - 1 / 2)
    stated = {FACTOR: Fraction(3)}
    square = least_squared_offset(known.federation, Fraction(9))
    assert quantity(OFFSET, Question(known, stated=stated)).value == pytest.approx(float(square) ** 0.5)
    assert float(quantity(OFFSET, Question(known, numbers=BALL, stated=stated)).value) ** 2 == pytest.approx(
        float(square)
    )
    with pytest.raises(Unserved, match="irrational"):
        quantity(OFFSET, Question(known, numbers=EXACT, stated=stated))
    common = setting(Quadratic.common_hessian([2, -2]))
    assert quantity(OFFSET, Question(common, numbers=EXACT)).value == Fraction(2)
    several = quantity(OFFSET, Question(known, stated={FACTOR: np.array([2.0, 3.0])})).value
    assert several.shape == (2,) and several[0] > several[1]
    with pytest.raises(Unserved, match="infinite for dissimilarity_factor = 1; state a larger one"):
        quantity(OFFSET, Question(known, stated={FACTOR: 1}))


def test_other_federations() -> None:
    """Logistic regression bounds the dissimilarity, so it has B = 1; what is not convex says that it does not know."""
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal((20, 2)) for _ in range(3)]
    fed = ft.federations.Logistic(rows, [rng.integers(0, 2, 20) for _ in rows], l2=0.1, classes=2)
    known = quantities(setting(fed), needed=[FACTOR, OFFSET])
    assert known[FACTOR].value == 1 and known[OFFSET].kind == "bound"
    points = rng.standard_normal((200, fed.dimension)) * 10.0 ** rng.uniform(-2, 2, (200, 1))
    worst = excess(fed, points, 1.0).max()
    assert 0 < worst <= known[OFFSET].value ** 2
    with pytest.raises(Unserved, match="Logistic knows it in floats only"):
        quantity(OFFSET, Question(setting(fed), numbers=EXACT))
