"""Learners, and how often each fails on the two-point problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from ..arguments import check_count
from ..participation.base import Keys
from ..randomness import Axis
from .adversary import FewestRare
from .impossibility import TwoPoints

POINTS = np.array([[0.0], [1.0]])
"""The points x_1 and x_2."""

TARGETS = np.array([[0, 0], [0, 1]])
"""The labels that f_1 and f_2 give them."""


class Learner(Protocol):
    """Function of samples (N, 1), their labels (N,) and a generator.

    It returns the labels (2,) that its hypothesis gives x_1 and x_2. The class is {f_1, f_2}.
    """

    def __call__(self, points: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...


def empirical_risk_minimiser(points: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the target with the fewest errors; f_1 where both have as many.

    >>> empirical_risk_minimiser(POINTS[[0, 1]], np.array([0, 1]), np.random.default_rng(0)).tolist()
    [0, 1]
    """
    where = points[:, 0].astype(int)
    return TARGETS[int((TARGETS[:, where] != labels).sum(1).argmin())]


def random_minimiser(points: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the target with the fewest errors; by lot where both have as many."""
    errors = (TARGETS[:, points[:, 0].astype(int)] != labels).sum(1)
    return TARGETS[rng.choice(np.flatnonzero(errors == errors.min()))]


def majority(points: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Predict the more frequent label at each point; 0 where the point was not seen.

    >>> majority(POINTS[[0, 0, 1]], np.array([0, 0, 1]), np.random.default_rng(0)).tolist()
    [0, 1]
    """
    where = points[:, 0].astype(int)
    ones = np.bincount(where, weights=labels, minlength=2)
    return (2 * ones > np.bincount(where, minlength=2)).astype(int)


def from_sklearn(make: Callable[[], Any]) -> Learner:
    """A scikit-learn classifier, made anew for each data set; where it sees one label only, that label.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> learn = from_sklearn(DecisionTreeClassifier)
    >>> learn(POINTS, np.array([0, 1]), np.random.default_rng(0)).tolist()
    [0, 1]
    """

    def learn(points: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if len(set(labels.tolist())) == 1:
            return np.full(2, labels[0])
        return np.asarray(make().fit(points, labels).predict(POINTS))

    return learn


LEARNERS: dict[str, Learner] = {
    "empirical risk": empirical_risk_minimiser, "random ties": random_minimiser, "majority": majority,
}  # fmt: skip
"""Learners by name."""


@dataclass(frozen=True)
class Failures:
    """Counts of runs in which a learner erred on x_2 (error p) under each target, and in which x_2 was hidden."""

    runs: int
    hidden: int
    under_targets: tuple[int, int]

    @property
    def worst(self) -> float:
        """The larger of the two frequencies of failure."""
        return max(self.under_targets) / self.runs


def failures(problem: TwoPoints, learner: Learner, runs: int, seed: int = 0, of_clients: bool = False) -> Failures:
    """Run the learner on the data that ``FewestRare`` lets through, under both targets.

    Args:
        of_clients: whether whole clients are chosen, instead of samples one by one.

    >>> failures(TwoPoints(2, 1, 2), majority, runs=100).under_targets[1] > 80
    True
    """
    check_count("runs", runs)
    process = (FewestRare.of_clients if of_clients else FewestRare.of_samples)(problem)
    clients = problem.clients if of_clients else problem.samples
    state = process.init(Keys(seed, Axis.ARBITRARY, torch.arange(runs), clients))
    present, _ = process.step(state, 0)
    seen = (state.rare * present).sum(1).numpy()
    size, rng = process.cohort * process.samples_per_client, np.random.default_rng(seed)
    under = [0, 0]
    for rare in seen:
        points = POINTS[(np.arange(size) < rare).astype(int)]
        for which, target in enumerate(TARGETS):
            labels = target[points[:, 0].astype(int)]
            under[which] += int(learner(points, labels, rng)[1] != target[1])
    return Failures(runs, int((seen == 0).sum()), (under[0], under[1]))
