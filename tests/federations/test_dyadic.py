"""The floats nearest to a minimiser, against elimination in Fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedtheory.federations import dyadic_sums
from fedtheory.federations.dyadic_sums import integers, nearest_minimiser
from fedtheory.federations.elimination import solve_exactly
from fedtheory.federations.quadratic import Quadratic


def of_condition(rng: np.random.Generator, clients: int, dimension: int, condition: float) -> np.ndarray:
    turned = np.linalg.qr(rng.standard_normal((clients, dimension, dimension)))[0]
    matrices = (turned * np.geomspace(1, 1 / condition, dimension)) @ turned.transpose(0, 2, 1)
    return (matrices + matrices.transpose(0, 2, 1)) / 2


def exactly(matrices: np.ndarray, centres: np.ndarray) -> np.ndarray:
    fractions = np.vectorize(Fraction, otypes=[object])
    a, c = fractions(matrices), fractions(centres)
    return solve_exactly(a.sum(0), sum(h @ each for h, each in zip(a, c, strict=True))).astype(float)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e10])
@pytest.mark.parametrize("clients, dimension", [(1, 2), (3, 4), (5, 9)])
def test_rounded_right(clients: int, dimension: int, condition: float, scale: float) -> None:
    rng = np.random.default_rng(dimension)
    for _ in range(5):
        matrices = of_condition(rng, clients, dimension, condition) * scale
        centres = rng.standard_normal((clients, dimension)) * rng.choice([1e-5, 1, 1e9])
        found = nearest_minimiser(matrices, centres)
        assert found is not None
        assert found.tolist() == exactly(matrices, centres).tolist()


def test_dyadic_solutions() -> None:
    matrices = np.array([[[2.0, 1.0], [1.0, 3.0]]])
    assert nearest_minimiser(matrices, np.array([[0.75, -8.0]])).tolist() == [0.75, -8.0]  # type: ignore[union-attr]


def test_what_is_not_certain_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = of_condition(np.random.default_rng(0), 3, 4, 1e14)
    assert nearest_minimiser(matrices[:1], np.ones((1, 4))) is None
    well = of_condition(np.random.default_rng(0), 3, 4, 10.0)
    monkeypatch.setattr(dyadic_sums, "STEPS", 1)
    assert nearest_minimiser(well, np.random.default_rng(1).standard_normal((3, 4))) is None


def test_integers_of_far_apart_floats() -> None:
    array = np.array([5e-324, -1e308, 0.0, 0.1])
    n, e = integers(array)
    assert [Fraction(each) * Fraction(2) ** e for each in n] == [Fraction(each) for each in array]


def test_floats_are_taken_apart_only_when_asked() -> None:
    rng = np.random.default_rng(0)
    matrices, centres = of_condition(rng, 4, 6, 100.0), rng.standard_normal((4, 6))
    floats = Quadratic(matrices, centres)
    assert "exact_hessians" not in floats.__dict__
    texts = Quadratic([[[str(Fraction(v)) for v in row] for row in m] for m in matrices], centres)
    assert floats.optimum.tolist() == texts.optimum.tolist() == floats.exact_optimum.astype(float).tolist()
    assert (floats.exact_hessians == texts.exact_hessians).all()
