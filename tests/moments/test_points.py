"""Functions and points, exactly: the definitions in floats, and the lemmas that hold for every one of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.functionals import LINEARIZATION_ERROR, PERTURBED_LINEARIZATION_ERROR, SQUARED_GRADIENT
from fedtheory.moments.function_points import Points
from fedtheory.papers import claim

POINTS = Points(["1/2", -3, 2], [1, 0, "1/3"], [0, 1, "5/2"], [1, -1, 2], [3, 0, "-1/4"])


def vectors(points: Points) -> list[np.ndarray]:
    names = ("curvatures", "slope", "x", "y", "z")
    return [np.array(getattr(points, name), dtype=float) for name in names]


def test_left_sides_by_their_definitions() -> None:
    h, b, x, y, z = vectors(POINTS)

    def g(u: np.ndarray) -> float:
        return h @ u**2 / 2 + b @ u

    gradient = h * x + b
    assert float(POINTS.left(LINEARIZATION_ERROR)) == pytest.approx(g(y) - g(x) - gradient @ (y - x), rel=1e-13)
    assert float(POINTS.left(PERTURBED_LINEARIZATION_ERROR)) == pytest.approx(
        g(z) - g(y) - gradient @ (z - y), rel=1e-13
    )


def test_quantities_by_their_definitions() -> None:
    x, y, z = vectors(POINTS)[2:]
    first, second = POINTS.quantities(LINEARIZATION_ERROR), POINTS.quantities(PERTURBED_LINEARIZATION_ERROR)
    assert first == {"displacement": pytest.approx(np.linalg.norm(y - x)), "perturbation": 0.0, "smoothness": 3.0}
    assert second["displacement"] == pytest.approx(np.linalg.norm(y - z))
    assert second["perturbation"] == pytest.approx(np.linalg.norm(z - x))
    assert POINTS.squares(PERTURBED_LINEARIZATION_ERROR)["perturbation"] == Fraction(9 + 1) + Fraction(11, 4) ** 2
    assert POINTS.smoothness == 3 and POINTS.strong_convexity == -3
    convex = Points([2, "1/2"], [0, 0], [0, 0], [1, 0], [0, 1])
    assert convex.quantities(LINEARIZATION_ERROR)["strong_convexity"] == 0.5


numbers = st.fractions(-3, 3, max_denominator=6)


@settings(deadline=None)
@given(st.data(), st.integers(1, 3), st.booleans())
def test_the_lemmas_in_rational_arithmetic(data: st.DataObject, dimension: int, convex: bool) -> None:
    """Lemma 1 for every function, Lemma 2 for every strongly convex one: no rounding is left to excuse a failure."""
    curvature = st.fractions("1/6" if convex else -3, 3, max_denominator=6)
    lists = [data.draw(st.lists(kind, min_size=dimension, max_size=dimension)) for kind in (curvature, *[numbers] * 4)]
    points = Points(*lists)
    L, square = points.smoothness, points.squares(LINEARIZATION_ERROR)["displacement"]
    assert points.left(LINEARIZATION_ERROR) <= L / 2 * square
    if convex:
        squares = points.squares(PERTURBED_LINEARIZATION_ERROR)
        right = L * squares["perturbation"] - points.strong_convexity / 4 * squares["displacement"]
        assert points.left(PERTURBED_LINEARIZATION_ERROR) <= right
        bound = claim("fast.lemma2").evaluate(**points.quantities(PERTURBED_LINEARIZATION_ERROR))
        assert float(bound.value) == pytest.approx(float(right), rel=1e-12, abs=1e-12)  # two roots squared again


def test_both_lemmas_are_tight() -> None:
    points = Points([2], [5], [1], [4], [-2])  # y on the other side of x than z
    assert points.left(LINEARIZATION_ERROR) == points.squares(LINEARIZATION_ERROR)["displacement"]
    squares = points.squares(PERTURBED_LINEARIZATION_ERROR)
    assert points.left(PERTURBED_LINEARIZATION_ERROR) == 2 * squares["perturbation"] - squares["displacement"] / 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [0], [0, 0], [0, 0], [0, 0]), r"slope has shape \(1,\): allowed is \(2,\)"),
        (([1], [0], [0], [0], [0, 1]), r"z has shape \(2,\): allowed is \(1,\)"),
        (([1], [0], [float("nan")], [0], [0]), r"x = nan: allowed is a finite number"),
        (([], [], [], [], []), r"curvatures is empty"),
    ],
)
def test_wrong_input_is_named(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Points(*arguments)


def test_other_functionals_are_refused() -> None:
    for method in (POINTS.left, POINTS.squares, POINTS.quantities):
        with pytest.raises(ValueError, match="functional = squared_gradient: allowed is linearization_error or"):
            method(SQUARED_GRADIENT)
