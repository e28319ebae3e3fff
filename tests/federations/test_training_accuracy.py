"""The training accuracy of logistic regression, against a count of every row in Fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from fedtheory.federations import Logistic, logistic, random_quadratic

SIZES = {"equal": (6, 6, 6, 6), "unequal": (3, 9, 1, 6), "one client": (7,)}


def random_rows(sizes: tuple[int, ...], seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rows and points of small whole numbers, so that scores are exact in every precision and ties occur."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-2, 3, (n, 3)).astype(float) for n in sizes], [rng.integers(0, 4, n) for n in sizes]


def counted(rows: list[np.ndarray], labels: list[np.ndarray], x: np.ndarray) -> float:
    """One row after the other; the first of equal scores is the prediction."""
    total = Fraction(0)
    for block, target in zip(rows, labels, strict=True):
        right = 0
        for row, label in zip(block.tolist(), target.tolist(), strict=True):
            scores = [sum(w * a for w, a in zip(weights, row, strict=True)) for weights in x.reshape(4, 3).tolist()]
            right += scores.index(max(scores)) == label
        total += Fraction(right, len(block))
    return total / len(rows)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("entries", [2**22, 7], ids=["one pass", "many chunks"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_against_counting(monkeypatch, sizes, entries, dtype):
    monkeypatch.setattr(logistic, "_ENTRIES", entries)
    rows, labels = random_rows(sizes)
    fed = Logistic(rows, labels, l2=0.1, classes=4).to(dtype=dtype)
    points = np.random.default_rng(1).integers(-2, 3, (40, 12)).astype(float)
    found = fed.training_accuracy(torch.from_numpy(points).to(dtype))
    expected = [counted(rows, labels, x) for x in points]
    assert found.dtype == torch.float64 and found.shape == (40,)
    # One rounding for each size among the clients and one for each sum.
    np.testing.assert_allclose(found.numpy(), [float(e) for e in expected], rtol=1e-15, atol=0)
    if len(set(sizes)) == 1:
        assert found.tolist() == [float(e) for e in expected]
    assert len({float(e) for e in expected}) > 3


def test_clients_count_equally_however_many_rows_they_hold():
    fed = Logistic([[[1.0]] * 3, [[1.0]]], [[0, 0, 1], [1]], l2=1.0)
    class_0, class_1 = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).double()
    assert fed.training_accuracy(torch.stack([class_0, class_1])).tolist() == [1 / 3, (1 / 3 + 1) / 2]


def test_batches_agree_bit_for_bit():
    rows, labels = random_rows(SIZES["unequal"], seed=2)
    fed = Logistic(rows, labels, l2=0.1, classes=4)
    points = torch.from_numpy(np.random.default_rng(3).integers(-2, 3, (50, 12)).astype(float))
    together = fed.training_accuracy(points)
    assert torch.equal(torch.cat([fed.training_accuracy(x[None]) for x in points]), together)


def test_equal_scores_are_the_first_class():
    fed = Logistic([[[1.0], [2.0], [0.0], [3.0]]], [[0, 1, 1, 0]], l2=1.0)
    assert fed.training_accuracy(torch.zeros(1, 2).double()).tolist() == [0.5]


def test_scores_that_overflow_are_wrong():
    """Of a row (1e200,): 1e200 * 1e200 is infinite; nothing is classified by that, nor by NaN."""
    fed = Logistic([[[1e200], [1.0]]], [[0, 0]], l2=1.0)
    points = torch.tensor([[1, 0], [1e200, 0], [torch.nan, 0], [0, torch.inf]], dtype=torch.float64)
    assert fed.training_accuracy(points).tolist() == [1.0, 0.5, 0.0, 0.0]


def test_a_federation_that_classifies_nothing_says_so():
    with pytest.raises(ValueError, match="Quadratic has no training accuracy: allowed is a federation that classifies"):
        random_quadratic(2, 2).training_accuracy(torch.zeros(1, 2).double())


def test_wrong_shapes_are_named():
    fed = Logistic([[[1.0]]], [[0]], l2=1.0)
    with pytest.raises(ValueError, match=r"x has shape \(2,\): allowed is \(replicas, 2\)"):
        fed.training_accuracy(torch.zeros(2).double())
