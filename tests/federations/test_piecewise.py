"""Federations with piecewise linear gradients: gradients, losses, the optimum, the constants, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.federations.constants import Region
from fedtheory.federations.federation import Pairs

numbers = st.fractions(-3, 3, max_denominator=4)
slopes = st.fractions(Fraction(1, 4), 3, max_denominator=4)


@st.composite
def lines(draw: st.DrawFn, slope: st.SearchStrategy = slopes) -> PiecewiseLinear:
    places = sorted(draw(st.sets(numbers, max_size=3)))
    return PiecewiseLinear([draw(slope) for _ in range(len(places) + 1)], places, draw(numbers))


@st.composite
def federations(draw: st.DrawFn, **options: object) -> Piecewise:
    dimension, kinds = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    rows = [[draw(lines()) for _ in range(dimension)] for _ in range(kinds)]
    return Piecewise(rows, [draw(st.integers(1, 3)) for _ in rows], **options)


def by_steps(line: PiecewiseLinear, x: Fraction) -> Fraction:
    """g(x) by walking from 0 over the pieces."""
    way, low, high = (1, Fraction(0), x) if x >= 0 else (-1, x, Fraction(0))
    stops = [low, *(t for t in line.breakpoints if low < t < high), high]
    value = line.at_zero
    for a, b in pairwise(stops):
        piece = sum(t <= a for t in line.breakpoints)
        value += way * line.slopes[piece] * (b - a)
    return value


@settings(deadline=None)
@given(lines(st.fractions(-3, 3, max_denominator=4)), lines(), numbers)
def test_a_line_its_sum_and_its_integral(line: PiecewiseLinear, other: PiecewiseLinear, x: Fraction) -> None:
    assert line(x) == by_steps(line, x)
    assert line.plus(other, Fraction(-1, 2))(x) == line(x) - other(x) / 2
    ends = sorted({Fraction(0), x, *(t for t in line.breakpoints if min(x, 0) < t < max(x, 0))})
    trapezes = sum((line(a) + line(b)) * (b - a) / 2 for a, b in pairwise(ends))
    assert line.integral(x) == (trapezes if x >= 0 else -trapezes)


def zeros(line: PiecewiseLinear) -> list[Fraction]:
    """Where pieces that are not flat vanish."""
    at = [(t, s) for t, pair in zip(line.breakpoints, pairwise(line.slopes), strict=True) for s in pair if s]
    found = {t - line(t) / s for t, s in at}
    return sorted(x for x in found if line(x) == 0)


@pytest.mark.parametrize(("line", "found"), [
    (PiecewiseLinear([0, -1, 1], [0, 1]), Fraction(2)),
    (PiecewiseLinear([1, -1, 0], [-1, 0]), Fraction(-2)),
    (PiecewiseLinear([0, 1], [0]), None),
    (PiecewiseLinear([0, 1, -1, 1], [0, 1, 2]), None),
    (PiecewiseLinear([0]), None),
])  # fmt: skip
def test_the_minimiser_of_a_line_that_is_0_far_out(line: PiecewiseLinear, found: Fraction | None) -> None:
    """One beside the ray on which g is 0 is found; those of the ray are several."""
    assert line.minimiser() == found


def test_on_a_region_constants_are_bounds() -> None:
    """The ball lies in the pieces of slope 1: the largest slope and distance are elsewhere."""
    fed = Piecewise([[PiecewiseLinear([1, 2, 1], [5, 6])], [PiecewiseLinear([1, 3, 1], [7, 8])]])
    found = fed.constants(Region(np.zeros(1), 0.5))
    kinds = {found[name].kind for name in ("smoothness", "strong_convexity", "dissimilarity")}
    assert kinds == {"bound"} and fed.constants()["smoothness"].kind == "exact"


@settings(deadline=None)
@given(lines(st.fractions(-3, 3, max_denominator=4)))
def test_the_minimiser(line: PiecewiseLinear) -> None:
    """Against a grid; ``None`` where slopes far out say that there is none."""
    grid = [Fraction(j, 16) for j in range(-400, 401)]
    found = line.minimiser()
    if found is None:
        ends = line.slopes[0] <= 0, line.slopes[-1] <= 0
        places = [*grid, *zeros(line)]
        values = {x: line.integral(x) for x in places}
        several = list(values.values()).count(min(values.values())) > 1
        assert any(ends) or several or abs(min(values, key=lambda x: values[x])) > 24
    else:
        assert line(found) == 0
        assert all(line.integral(found) <= line.integral(x) for x in grid)


@settings(deadline=None)
@given(federations())
def test_tensors_are_the_fractions(fed: Piecewise) -> None:
    points = torch.tensor([[-2.5, 0.75], [0.0, -0.5], [3.25, 2.0]], dtype=torch.float64)[:, : fed.dimension]
    pairs = Pairs.of(torch.ones(len(points), fed.clients, dtype=torch.bool), torch.arange(len(points)), 0, 0)
    gradient, loss = fed.exact_gradient(points[pairs.replica], pairs), fed.loss(points[pairs.replica], pairs)
    for client, replica, found, value in zip(pairs.client, pairs.replica, gradient, loss, strict=True):
        row = fed.gradients[fed.kind_of_client[client]]
        x = [Fraction(float(v)) for v in points[replica]]
        assert found.tolist() == pytest.approx([float(g(v)) for g, v in zip(row, x, strict=True)], abs=1e-12)
        assert float(value) == pytest.approx(float(sum(g.integral(v) for g, v in zip(row, x, strict=True))), abs=1e-12)
    by_client = gradient.reshape(fed.clients, len(points), -1).mean(0)
    torch.testing.assert_close(fed.global_gradient(points), by_client, atol=1e-12, rtol=0)
    torch.testing.assert_close(fed.global_loss(points), loss.reshape(fed.clients, -1).mean(0), atol=1e-12, rtol=0)
    exact = [float(fed.exact_gap([Fraction(float(v)) for v in x])) for x in points]
    assert fed.gap(points).tolist() == pytest.approx(exact, abs=1e-12)
    assert fed.global_gradient(fed.optimum[None]).abs().max() < 1e-12


@settings(deadline=None, max_examples=50)
@given(federations())
def test_constants_are_attained(fed: Piecewise) -> None:
    """Over a grid that holds every breakpoint and a point of every piece."""
    grid = torch.arange(-240, 241, dtype=torch.float64)[:, None].expand(-1, fed.dimension) / 48
    pairs = Pairs.of(torch.ones(len(grid), fed.clients, dtype=torch.bool), torch.arange(len(grid)), 0, 0)
    own = fed.exact_gradient(grid[pairs.replica], pairs).reshape(fed.clients, len(grid), -1)
    steps, constants = own.diff(dim=1) * 48, fed.constants()
    assert constants["smoothness"].value == pytest.approx(float(steps.max()), rel=1e-9)
    assert constants["strong_convexity"].value == pytest.approx(float(steps.min()), rel=1e-9)
    assert all(c.kind == "exact" for c in constants.values())
    off = (own - own.mean(0)) ** 2  # coordinates take their maxima on their own
    largest = float(off.amax(1).sum(1).max()) ** 0.5
    ends = {tuple((g.slopes[0], g.slopes[-1]) for g in row) for row in fed.gradients}
    if len(ends) == 1:
        assert constants["dissimilarity"].value == pytest.approx(largest, abs=1e-9)
        above = fed.squared_dissimilarity_root_above()
        assert 0 <= above**2 - fed.exact_squared_dissimilarity < Fraction(1, 10**10)
    else:
        assert constants["dissimilarity"].value == float("inf")
        ball = fed.constants(Region(np.zeros(fed.dimension), 5.0))["dissimilarity"]
        assert ball.kind == "bound" and ball.value == pytest.approx(largest, abs=1e-9)


def test_dissimilarity_between_kinks() -> None:
    """Slopes that differ on [0, 1] only: gradients part there, by 3/4 from the second kink on."""
    kinds = [[PiecewiseLinear([1, h, 1], [0, 1])] for h in (2, "1/2")]
    fed = Piecewise(kinds)
    assert fed.exact_squared_dissimilarity == Fraction(9, 16)
    assert fed.exact_constants()["smoothness"] == 2 and fed.exact_constants()["strong_convexity"] == Fraction(1, 2)
    assert Piecewise(kinds, [3, 1]).exact_squared_dissimilarity == Fraction(9, 8) ** 2


def test_without_kinks_it_is_quadratic() -> None:
    fed = Piecewise([[PiecewiseLinear(["1/2"], (), -1), 2], [PiecewiseLinear([3], (), 1), 1]], gradient_noise="1/3")
    same = Quadratic([["1/2", 2], [3, 1]], [[2, 0], ["-1/3", 0]], gradient_noise="1/3")
    assert fed.exact_optimum.tolist() == same.exact_optimum.tolist()
    assert fed.exact_constants() == same.exact_constants()
    assert fed.exact_squared_constants() == same.exact_squared_constants()
    pairs = Pairs.of(torch.ones(1, 2, dtype=torch.bool), torch.arange(1), 5, 3)
    x = torch.tensor([[1.5, -2.0]], dtype=torch.float64)[pairs.replica]
    torch.testing.assert_close(fed.gradient(x, pairs), same.gradient(x, pairs))  # the same draws too
    torch.testing.assert_close(fed.to(dtype=torch.float32).global_gradient(x.float()), same.global_gradient(x).float())


def test_multiplicities_are_copies() -> None:
    kinds = [[PiecewiseLinear([1, 2], [0], at_zero=g)] for g in (1, -3)]
    fed, copies = Piecewise(kinds, [3, 1]), Piecewise([kinds[0]] * 3 + [kinds[1]])
    assert fed.clients == copies.clients == 4 and fed.kind_of_client.tolist() == [0, 0, 0, 1]
    assert fed.constants() == copies.constants() and fed.identity() == copies.identity()
    assert fed.mean_gradient == copies.mean_gradient and fed.exact_optimum.tolist() == [0]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: PiecewiseLinear([1], [0]), "slopes are 1 and breakpoints 1"),
    (lambda: PiecewiseLinear([1, 1, 1], [1, 1]), "breakpoints = .*ascending"),
    (lambda: PiecewiseLinear([float("nan")]), "slopes = nan"),
    (lambda: PiecewiseLinear([[1]]), r"slopes have shape \(1, 1\)"),
    (lambda: Piecewise([[1], [1, 2]]), r"rows of lengths \[1, 2\]"),
    (lambda: Piecewise([[1]], [0]), r"multiplicities = \[0\]"),
    (lambda: Piecewise([[1]], [1, 2]), r"multiplicities = \[1, 2\]"),
    (lambda: Piecewise([[1, -1]]), "along coordinate 1"),
    (lambda: Piecewise([[PiecewiseLinear([1, 0, 1], [0, 1])]]), "along coordinate 0"),
    (lambda: Piecewise([[1]], gradient_noise=-1), "gradient_noise = -1"),
    (lambda: Piecewise([[PiecewiseLinear([1, 2], [0])], [1]]).constants(Region(np.zeros(2), 1.0)), "region's centre"),
])  # fmt: skip
def test_refusals(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
