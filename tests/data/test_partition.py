"""Properties of the balanced Dirichlet partition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.data import dirichlet

LABELS = st.lists(st.integers(0, 5), min_size=1, max_size=80).map(np.array)


def shares(labels: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """(clients, classes): the share of each label in each part."""
    counts = [np.bincount(labels[part], minlength=labels.max() + 1) for part in parts]
    return np.array(counts) / np.sum(counts, axis=1, keepdims=True)


@settings(max_examples=150, deadline=None)
@given(labels=LABELS, data=st.data(), alpha=st.floats(1e-6, 1e6), seed=st.integers(0, 2**32))
def test_disjoint_balanced_and_deterministic(labels: np.ndarray, data: st.DataObject, alpha: float, seed: int) -> None:
    clients = data.draw(st.integers(1, len(labels)))
    parts = dirichlet(labels, clients, alpha, seed)
    chosen = np.concatenate(parts)
    assert [len(part) for part in parts] == [len(labels) // clients] * clients
    assert len(np.unique(chosen)) == len(chosen) and chosen.min() >= 0 and chosen.max() < len(labels)
    assert all(part.dtype == np.int64 and (np.diff(part) > 0).all() for part in parts)
    again = dirichlet(labels.copy(), clients, alpha, seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


def test_extreme_alpha() -> None:
    """Even where Dirichlet draws underflow (to one class, or to none at all) every sample finds a client."""
    labels = np.repeat(np.arange(10), 30)
    for alpha in (5e-324, 1e-300, 1e-3, 1e300, 1.7e308):
        assert [len(part) for part in dirichlet(labels, 7, alpha, 0)] == [42] * 7


def test_large_alpha_is_near_uniform() -> None:
    """At alpha = 1e6 all priors are uniform to about 1e-3; shares of 500 draws then have standard deviation 0.013
    (less, since classes run out), and 0.08 is six of them."""
    labels = np.repeat(np.arange(10), 1000)
    deviation = np.abs(shares(labels, dirichlet(labels, 20, 1e6, 0)) - 0.1)
    assert deviation.max() < 0.08


def test_small_alpha_concentrates() -> None:
    """At alpha = 0.01 the largest entry of a prior is above 0.9 on average; what lowers a client's largest share is
    that classes run out. A partition that ignores alpha has a mean largest share near 0.13."""
    labels = np.repeat(np.arange(10), 2000)
    assert shares(labels, dirichlet(labels, 40, 0.01, 0)).max(axis=1).mean() > 0.65


def test_moments_of_the_label_distribution() -> None:
    """Two samples of one client have the same label with probability (alpha + 1) / (C alpha + 1).

    59 samples, 20 clients: n = 2, and 19 samples are left over, so that a class is used up only where 30 of 40 draws
    agree, 2.8 standard deviations out. At alpha = 1.5, C = 2 the probability is 0.625 (0.5 if labels ignored the
    client's prior); 300 partitions give 6,000 pairs, standard error 0.0063, and four of them are allowed.
    """
    labels = np.arange(59) % 2
    agree = [labels[part[0]] == labels[part[1]] for seed in range(300) for part in dirichlet(labels, 20, 1.5, seed)]
    assert abs(np.mean(agree) - 0.625) < 4 * 0.0063


def test_seeds_differ() -> None:
    labels = np.arange(100) % 4
    one, two = dirichlet(labels, 5, 1.0, 0), dirichlet(labels, 5, 1.0, 1)
    assert any(not np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_leftover_is_left_out() -> None:
    assert sum(len(part) for part in dirichlet(np.zeros(11, dtype=int), 4, 1.0, 0)) == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clients": 0}, "clients = 0: allowed is an integer >= 1"),
        ({"clients": 5}, "clients = 5"),
        ({"clients": 2.0}, "clients = 2.0"),
        ({"alpha": 0.0}, "alpha = 0.0: allowed is a finite number > 0"),
        ({"alpha": -1.0}, "alpha = -1.0"),
        ({"alpha": math.inf}, "alpha = inf"),
        ({"alpha": math.nan}, "alpha = nan"),
        ({"seed": -1}, "seed = -1: allowed is an integer >= 0"),
        ({"labels": np.array([0, -1])}, "labels of shape"),
        ({"labels": np.array([0.5])}, "labels of shape"),
        ({"labels": np.array([], dtype=int)}, "labels of shape"),
        ({"labels": np.zeros((2, 2), dtype=int)}, "labels of shape"),
    ],
)
def test_refuses_what_is_infeasible(change: dict, message: str) -> None:
    arguments = {"labels": np.array([0, 1, 0, 1]), "clients": 2, "alpha": 1.0, "seed": 0} | change
    with pytest.raises(ValueError, match=message):
        dirichlet(**arguments)
