"""Laws of the random partitions, against draws by other means: Kolmogorov and Smirnov's test of two samples.

Each test is of one number a partition, in 400 partitions and 400 independent draws, at level 1e-4; there are 40, so
that one of them in 250 sets of seeds would fail by chance. The other means are scipy's log-gamma variates and Gumbel
variables: a label is the argmax of log pi + Gumbel over the labels that are left, so that no share becomes 0. Numbers
that are whole make the test's level lower still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fedtheory.data import ByQuantity, CoarseLabels, Dataset, Dirichlet, LabelDirichlet
from fedtheory.data.partition import balanced, by_label, dirichlet_draws, in_groups

DRAWS, LEVEL = 400, 1e-4
ALPHAS = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.5, 10.0, 1e3, 1e6)
CLASSES, EACH, CLIENTS = 4, 30, 5
WHOLE = Dataset.of(np.ones((CLASSES * EACH, 1)), np.repeat(np.arange(CLASSES), EACH))
THREE = Dataset.of(np.ones((6 * EACH, 1)), np.repeat(np.arange(6), EACH))
COARSE = replace(THREE, coarse_labels=THREE.labels // 2)
Law = Callable[[float, np.random.Generator], float]


def log_shares(alpha: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """log of a Dirichlet vector: below 1, log Gamma(alpha) is that of alpha + 1 plus log(uniform) / alpha."""
    boost = np.log(rng.random(size)) / alpha if alpha < 1 else 0.0
    logs = stats.loggamma.rvs(alpha + (alpha < 1), size=size, random_state=rng) + boost
    return logs - np.logaddexp.reduce(logs)


def cut(shares: np.ndarray, samples: int) -> np.ndarray:
    """Sizes of the pieces of samples that are cut at the rounded down ends of these shares."""
    ends = np.cumsum(shares, axis=0) / np.cumsum(shares, axis=0)[-1]
    places = np.floor(ends * samples)
    places[-1] = samples
    return np.diff(places, axis=0, prepend=0)


def until(draw: Callable[[], np.ndarray]) -> np.ndarray:
    """The first sizes (clients, ...) that leave no client empty."""
    while True:
        sizes = draw()
        if sizes.reshape(len(sizes), -1).sum(axis=1).min() >= 1:
            return sizes


def over_classes(alpha: float, rng: np.random.Generator) -> float:
    def draw() -> np.ndarray:
        logs = np.array([log_shares(alpha, CLASSES, rng) for _ in range(CLIENTS)])
        return cut(np.exp(logs - np.logaddexp.reduce(logs, axis=0)), EACH)

    return float(until(draw)[:, 0].max())


def of_quantities(alpha: float, rng: np.random.Generator) -> float:
    return float(until(lambda: cut(np.exp(log_shares(alpha, CLIENTS, rng)), len(WHOLE))).max())


def drawn(logs: np.ndarray, left: np.ndarray, rng: np.random.Generator) -> int:
    return int(np.argmax(np.where(left, logs + rng.gumbel(size=len(logs)), -np.inf)))


def of_balanced(alpha: float, rng: np.random.Generator) -> float:
    """The most samples of one class that the last of 2 clients gets, as all is given and classes are used up."""
    logs = [log_shares(alpha, CLASSES, rng) for _ in range(2)]
    left, counts = np.full(CLASSES, EACH), np.zeros((2, CLASSES))
    for client in rng.permutation(np.repeat(np.arange(2), len(WHOLE) // 2)):
        label = drawn(logs[client], left > 0, rng)
        left[label] -= 1
        counts[client, label] += 1
    return float(counts[1].max() + counts[1, 0] / 100)


def of_coarse(alpha: float, rng: np.random.Generator) -> float:
    """How many samples of one coarse label the second of 2 clients gets, and of one label."""
    left, counts = np.full((3, 2), EACH), np.zeros((2, 3, 2))
    for client in range(2):
        theta, phi = log_shares(alpha, 3, rng), [log_shares(alpha, 2, rng) for _ in range(3)]
        for _ in range(len(THREE) // 2):
            coarse = drawn(theta, left.sum(axis=1) > 0, rng)
            label = drawn(phi[coarse], left[coarse] > 0, rng)
            left[coarse, label] -= 1
            counts[client, coarse, label] += 1
    return float(counts[1].sum(axis=1).max() + counts[1, 0, 0] / 100)


def test_number(scheme: type, alpha: float, seed: int) -> float:
    if scheme is ByQuantity:
        return float(ByQuantity(clients=CLIENTS, alpha=alpha, seed=seed).split(WHOLE).sizes.max())
    if scheme is CoarseLabels:
        parts = CoarseLabels(clients=2, alpha=alpha, beta=alpha, seed=seed).split(COARSE)
        of_fine = parts.counts(COARSE.labels, 6).reshape(2, 3, 2)[1]
        return float(of_fine.sum(axis=1).max() + of_fine[0, 0] / 100)
    parts = scheme(clients=CLIENTS if scheme is LabelDirichlet else 2, alpha=alpha, seed=seed).split(WHOLE)
    counts = parts.counts(WHOLE.labels, CLASSES)
    return float(counts[:, 0].max() if scheme is LabelDirichlet else counts[-1].max() + counts[-1, 0] / 100)


test_number.__test__ = False
LAWS: dict[type, Law] = {
    LabelDirichlet: over_classes,
    ByQuantity: of_quantities,
    Dirichlet: of_balanced,
    CoarseLabels: of_coarse,
}


def p_value(scheme: type, alpha: float) -> float:
    rng = np.random.default_rng(int(1e7 * alpha) + 1)
    ours = [test_number(scheme, alpha, seed) for seed in range(DRAWS)]
    return float(stats.ks_2samp(ours, [LAWS[scheme](alpha, rng) for _ in range(DRAWS)], method="asymp").pvalue)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scheme", LAWS, ids=lambda scheme: scheme.__name__)
def test_laws_are_those_of_independent_draws(scheme: type, alpha: float) -> None:
    if scheme is ByQuantity and alpha <= 0.03:  # no draw in a thousand leaves everybody a sample
        with pytest.raises(ValueError, match="some client always had fewer than 1 samples"):
            ByQuantity(clients=CLIENTS, alpha=alpha / 10).split(WHOLE)
        return
    assert p_value(scheme, alpha) > LEVEL


@pytest.mark.parametrize(
    ("scheme", "module"), [(LabelDirichlet, by_label), (Dirichlet, balanced), (CoarseLabels, in_groups)]
)
def test_shares_that_vanish_are_seen(scheme: type, module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The relapse: shares as numbers, of which a vanished one is split evenly."""

    def rounded(rng: np.random.Generator, alpha: float, count: int, size: int) -> np.ndarray:
        return np.log(np.maximum(rng.dirichlet(np.full(size, alpha), size=count), 1e-300))

    monkeypatch.setattr(module, "log_dirichlet", rounded)
    assert p_value(scheme, 1e-4) < LEVEL


@pytest.mark.parametrize("alpha", [1e-308, 1e-300, 1e-6, 0.3, 1e6, 1e300, 1e308])
def test_every_concentration_is_drawn(alpha: float) -> None:
    logs = dirichlet_draws.log_dirichlet(np.random.default_rng(0), alpha, 50, 3)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, rtol=1e-12)
    assert np.isfinite(logs).all()
    for scheme in (LabelDirichlet, Dirichlet):
        assert scheme(clients=2, alpha=alpha).split(WHOLE).sizes.sum() == len(WHOLE)
    assert CoarseLabels(clients=2, alpha=alpha, beta=alpha).split(COARSE).sizes.sum() == len(THREE)


def test_redraws_are_told() -> None:
    told = [LabelDirichlet(clients=CLIENTS, alpha=0.01, least=12, seed=seed).split(WHOLE) for seed in range(20)]
    assert {parts.redraws > 0 for parts in told} == {True, False}
    for parts in told:
        line = f"drawn {parts.redraws + 1} times, until every client had enough samples"
        assert (line in parts.lacks(WHOLE)) == (parts.redraws > 0)
