"""Learning problems on finite domains: distributions and classes with exact risks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ..arguments import check_count
from ..rationals import exact_array
from .tails import check_probability

MOST_POINTS = 16
"""The most points of which all labellings are written down."""


def check_law(name: str, values: object) -> np.ndarray:
    """Probabilities as Fractions, in the shape given.

    Raises:
        ValueError: there are none, one is below 0, or they do not sum to 1.

    >>> check_law("law", ["1/2", "1/3"])
    Traceback (most recent call last):
    ValueError: law sums to 5/6: allowed are probabilities that sum to 1
    """
    law = exact_array(name, values)
    if min(law.flat) < 0:
        raise ValueError(f"{name} = {min(law.flat)}: allowed are probabilities >= 0")
    if sum(law.flat) != 1:
        raise ValueError(f"{name} sums to {sum(law.flat)}: allowed are probabilities that sum to 1")
    return law


@dataclass(frozen=True, eq=False)
class FiniteClass:
    """Hypotheses on the points 0..k-1, each a row of labels.

    Args:
        labels: (H, k), entries 0 or 1, rows distinct.

    Raises:
        ValueError: an empty class, other labels, a row twice.

    >>> FiniteClass([[0, 0], [0, 1]]).dimension
    1
    """

    labels: Any

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        if labels.ndim != 2 or labels.size == 0:
            raise ValueError(
                f"labels have shape {labels.shape}: allowed is a class of at least one hypothesis, "
                "one row of labels each"
            )
        if not np.isin(labels, (0, 1)).all():
            raise ValueError("labels: allowed are 0 and 1")
        if len({tuple(row) for row in labels.tolist()}) < len(labels):
            raise ValueError("labels: a hypothesis is there twice; allowed are distinct rows")
        object.__setattr__(self, "labels", labels.astype(int))

    @classmethod
    def thresholds(cls, points: int) -> FiniteClass:
        """Return the class of the hypotheses 1[x >= t], t = 0..points.

        >>> FiniteClass.thresholds(2).labels.tolist()
        [[1, 1], [0, 1], [0, 0]]
        """
        return cls([[int(x >= t) for x in range(points)] for t in range(points + 1)])

    @classmethod
    def all(cls, points: int) -> FiniteClass:
        """Return the class of every labelling.

        Raises:
            ValueError: more points than ``MOST_POINTS``, whose labellings are too many to be written down.

        >>> FiniteClass.all(30)
        Traceback (most recent call last):
        ValueError: points = 30: 1073741824 labellings, allowed are at most 16 points; pass a sample of the labellings
        """
        if check_count("points", points) > MOST_POINTS:
            raise ValueError(
                f"points = {points}: {2**points} labellings, allowed are at most {MOST_POINTS} points; "
                "pass a sample of the labellings"
            )
        return cls([[h >> x & 1 for x in range(points)] for h in range(2**points)])

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def points(self) -> int:
        """The number of points, k."""
        return int(self.labels.shape[1])

    @cached_property
    def dimension(self) -> int:
        """The Vapnik-Chervonenkis dimension, by trying all sets of points.

        >>> FiniteClass.thresholds(4).dimension, FiniteClass.all(3).dimension, FiniteClass([[0]]).dimension
        (1, 3, 0)
        """
        size = 0
        while size < self.points and 2 ** (size + 1) <= len(self):
            if not any(
                len(np.unique(self.labels[:, s], axis=0)) == 2 ** (size + 1)
                for s in map(list, combinations(range(self.points), size + 1))
            ):
                break
            size += 1
        return size


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution of (x, y) on a finite domain.

    Args:
        joint: (k, 2), P(x, y), exact; sums to 1.

    Raises:
        ValueError: see ``check_law``; another shape.

    >>> law = Law([["1/2", 0], ["1/8", "3/8"]])
    >>> [str(r) for r in law.risks(FiniteClass([[0, 0], [0, 1]]))]
    ['3/8', '1/8']
    """

    joint: Any

    def __post_init__(self) -> None:
        joint = check_law("joint", self.joint)
        if joint.ndim != 2 or joint.shape[1] != 2:
            raise ValueError(f"joint has shape {joint.shape}: allowed is (points, 2), the labels 0 and 1")
        object.__setattr__(self, "joint", joint)

    @classmethod
    def labelled(cls, masses: Sequence[Any], target: Sequence[int]) -> Law:
        """Return the law of points with these masses, labelled by a function."""
        return cls([[m if y == label else 0 for y in (0, 1)] for m, label in zip(masses, target, strict=True)])

    def mixed(self, other: Law, share: Any) -> Law:
        """Return share * self + (1 - share) * other: Q of D and P.

        >>> Law([[1, 0]]).mixed(Law([[0, 1]]), "1/4").joint.tolist()
        [[Fraction(1, 4), Fraction(3, 4)]]
        """
        weight = check_probability("share", share)
        if self.joint.shape != other.joint.shape:
            raise ValueError(f"distributions on {len(self.joint)} and {len(other.joint)} points: allowed is one domain")
        return Law(weight * self.joint + (1 - weight) * other.joint)

    def risks(self, hypotheses: FiniteClass) -> np.ndarray:
        """Return the risks P(h(x) != y), (H,)."""
        if hypotheses.points != len(self.joint):
            raise ValueError(f"a class on {hypotheses.points} points: allowed is one on {len(self.joint)}")
        rows = range(len(self.joint))
        return np.array([sum(self.joint[x, 1 - h[x]] for x in rows) for h in hypotheses.labels], dtype=object)

    def excesses(self, hypotheses: FiniteClass) -> np.ndarray:
        """Return the risks less the least one, (H,)."""
        risks = self.risks(hypotheses)
        return risks - min(risks)

    def best(self, hypotheses: FiniteClass) -> int:
        """The first of the hypotheses with the least risk."""
        risks = self.risks(hypotheses)
        return min(range(len(risks)), key=lambda i: risks[i])

    def disagreements(self, hypotheses: FiniteClass, other: int) -> np.ndarray:
        """Return P(h(x) != h_other(x)), (H,)."""
        masses, labels = self.joint.sum(1), hypotheses.labels
        differ = labels != labels[other]
        return np.array([sum(masses[x] for x in np.flatnonzero(row)) + Fraction(0) for row in differ], dtype=object)
