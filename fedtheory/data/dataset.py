"""A labelled data set, and the one normalisation the project uses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of features with the class of each.

    Attributes:
        name: what the data set is called.
        features: (N, p) float64, finite.
        labels: (N,) int64, in 0 to ``classes - 1``.
        classes: how many classes there are, at least 2.
        test_features, test_labels: a held-out set of the same kind, or both None.

    Raises:
        ValueError: for arrays of another shape, non-finite features or labels out of range.

    >>> data = Dataset("toy", np.array([[3.0, 4.0], [0.0, 5.0]]), np.array([0, 1]), classes=2)
    >>> data.normalised().features.tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """

    name: str
    features: np.ndarray
    labels: np.ndarray
    classes: int
    test_features: np.ndarray | None = None
    test_labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise ValueError(f"classes = {self.classes}: allowed is an integer >= 2")
        object.__setattr__(self, "features", _checked_features("features", self.features))
        object.__setattr__(self, "labels", _checked_labels("labels", self.labels, len(self.features), self.classes))
        if (self.test_features is None) != (self.test_labels is None):
            raise ValueError("test_features and test_labels: allowed is to give both or neither")
        if self.test_features is not None and self.test_labels is not None:
            test = _checked_features("test_features", self.test_features, self.features.shape[1])
            object.__setattr__(self, "test_features", test)
            labels = _checked_labels("test_labels", self.test_labels, len(test), self.classes)
            object.__setattr__(self, "test_labels", labels)

    def normalised(self, bias: bool = False) -> Dataset:
        """The same data with all features multiplied by ONE constant, so that mean_s |a_s|^2 = 1 over the N rows.

        Directions, angles and relative sizes of rows stay what they were, and a logistic loss becomes
        O(1)-smooth: (1/N) sum_s a_s a_s^T then has trace 1, so no eigenvalue above 1. With ``bias`` a column of
        ones is appended to the rows so scaled, and everything is divided by sqrt(2): the mean squared norm is 1
        again, half of it the bias. Test rows get the constant of the training rows.

        Raises:
            ValueError: if every feature is 0.
        """
        mean_square = float(np.mean(np.einsum("sp,sp->s", self.features, self.features)))
        if mean_square == 0:
            raise ValueError(f"features of {self.name!r} are all 0: allowed is at least one that is not")
        scale = float(np.sqrt(mean_square))
        test = None if self.test_features is None else _scaled(self.test_features, scale, bias)
        return replace(self, features=_scaled(self.features, scale, bias), test_features=test)

    def __len__(self) -> int:
        return len(self.features)


def _scaled(features: np.ndarray, scale: float, bias: bool) -> np.ndarray:
    scaled = features / scale
    return np.hstack([scaled, np.ones((len(scaled), 1))]) / np.sqrt(2.0) if bias else scaled


def _checked_features(name: str, features: np.ndarray, columns: int | None = None) -> np.ndarray:
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or 0 in features.shape or columns not in (None, features.shape[-1]):
        allowed = "(N, p)" if columns is None else f"(N, {columns})"
        raise ValueError(f"{name} has shape {features.shape}: allowed is {allowed}, not empty")
    if not np.isfinite(features).all():
        raise ValueError(f"{name} has entries that are not finite: allowed are finite numbers")
    return features


def _checked_labels(name: str, labels: np.ndarray, rows: int, classes: int) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.shape != (rows,) or labels.dtype.kind not in "iu":
        raise ValueError(f"{name} has shape {labels.shape} and type {labels.dtype}: allowed is ({rows},), integers")
    if labels.min() < 0 or labels.max() >= classes:
        raise ValueError(f"{name} range over {labels.min()} to {labels.max()}: allowed is 0 to {classes - 1}")
    return labels.astype(np.int64)
