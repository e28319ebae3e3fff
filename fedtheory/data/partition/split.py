"""Partitions, and the shared parts of the schemes that draw them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ...arguments import check_kind
from ...rationals import checked_count
from ..dataset import Dataset

WHOLE, PROPORTIONS = "whole", "proportions"
_TEST_STREAM = 1  # schemes draw from default_rng(seed), test parts from default_rng((seed, _TEST_STREAM))

Parts = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Partition:
    """Partition of a data set: the samples of each client.

    Attributes:
        train: for each client its training samples, sorted int64 indices into the data set; none is empty.
        test: for each client its test samples, which may be none; None if all clients share the whole test set.
        held_out: whether ``test`` are indices into the training set (a share that each client keeps from training)
            instead of into the test set.
        shared: whether a sample may be of several clients; if not, parts are disjoint.
        groups: the group of each client, (clients,) int64, or None.
        distributions: (clients, classes), the label distributions that the clients were given, or None.

    Raises:
        ValueError: an empty client, an index twice, or numbers of clients that differ.

    >>> Partition((np.array([0, 2]), np.array([1]))).counts(np.array([0, 1, 1])).tolist()
    [[1, 1], [0, 1]]
    """

    train: Parts
    test: Parts | None = None
    held_out: bool = False
    shared: bool = False
    groups: np.ndarray | None = None
    distributions: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name, parts in (("train", self.train), ("test", self.test or ())):
            for client, part in enumerate(parts):
                if part.ndim != 1 or part.dtype != np.int64 or (np.diff(part) <= 0).any() or (part < 0).any():
                    raise ValueError(f"{name}[{client}]: allowed are increasing int64 indices >= 0, (n,)")
            if parts and not self.shared and len(np.unique(np.concatenate(parts))) < sum(map(len, parts)):
                raise ValueError(f"{name}: a sample is of two clients; allowed are disjoint parts")
        empty = [client for client, part in enumerate(self.train) if len(part) == 0]
        if empty or not self.train:
            raise ValueError(f"train: client {empty[:1] or 'list'} is empty; allowed is at least 1 sample for each")
        for name, each in (("test", self.test), ("groups", self.groups), ("distributions", self.distributions)):
            if each is not None and len(each) != len(self.train):
                raise ValueError(f"{name} is of {len(each)} clients: allowed is {len(self.train)}, as in train")
        if self.held_out and self.test is not None:
            both = [i for i, (a, b) in enumerate(zip(self.train, self.test, strict=True)) if np.intersect1d(a, b).size]
            if both:
                raise ValueError(f"test[{both[0]}] holds training samples of that client; allowed are others")

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)

    @property
    def sizes(self) -> np.ndarray:
        """The number of training samples of each client, (clients,) int64."""
        return np.array([len(part) for part in self.train], dtype=np.int64)

    def label_shares(self, labels: np.ndarray, classes: int | None = None) -> np.ndarray:
        """The share of each class in each client's training samples, (clients, classes), rows that sum to 1."""
        return self.counts(labels, classes) / self.sizes[:, None]

    def counts(self, labels: np.ndarray, classes: int | None = None, of: str = "train") -> np.ndarray:
        """Count the samples of each class of each client: (clients, classes) int64, as shown by a heat map.

        Args:
            labels: (N,) of the data set that the parts index.
            classes: how many; by default up to the largest label.
            of: "train" or "test".

        Raises:
            ValueError: for another ``of``, or test parts that are not there.
        """
        parts = {"train": self.train, "test": self.test}.get(of)
        if parts is None:
            raise ValueError(f"of = {of!r}: allowed is train, or test where clients have test samples of their own")
        width = int(labels.max()) + 1 if classes is None else classes
        return np.array([np.bincount(labels[part], minlength=width) for part in parts], dtype=np.int64)


@dataclass(frozen=True)
class Drawn:
    """Draw of a scheme: the samples of each client in any order, and the scheme's other results."""

    parts: list[np.ndarray]
    groups: np.ndarray | None = None
    distributions: np.ndarray | None = None
    shared: bool = False
    test: list[np.ndarray] | None = None


@dataclass(frozen=True, kw_only=True)
class Scheme(ABC):
    """A rule that splits a data set between clients; ``split`` is a function of its fields and the data set.

    Attributes:
        seed: of all draws; an integer >= 0.
        test: what clients are tested on. "proportions": the test set, split so that of every class each client gets
            the share that it has of the training samples of that class, up to rounding; its test samples then have its
            label proportions. Some schemes have a rule of their own for it. "whole": all share the whole test set. A
            number in (0, 1): that share of a client's own samples, rounded down, is held out from training.
    """

    seed: int = field(default=0)
    test: str | float = field(default=PROPORTIONS)

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if isinstance(self.test, str):
            if self.test not in (WHOLE, PROPORTIONS):
                raise ValueError(f"test = {self.test!r}: allowed is {PROPORTIONS}, {WHOLE} or a number in (0, 1)")
        elif not 0 < self.test < 1:
            raise ValueError(f"test = {self.test}: allowed is {PROPORTIONS}, {WHOLE} or a number in (0, 1)")

    def split(self, dataset: Dataset) -> Partition:
        """The partition of a data set.

        Raises:
            ValueError: more clients than samples, or a data set that lacks what the scheme needs.
        """
        check_kind("dataset", dataset, Dataset, 'a data set, such as data.load("digits")')
        drawn = self.draw(dataset, np.random.default_rng(self.seed))
        train = tuple(np.sort(np.asarray(part, dtype=np.int64)) for part in drawn.parts)
        test, held_out = None, not isinstance(self.test, str)
        rng = np.random.default_rng((self.seed, _TEST_STREAM))
        if held_out:
            train, test = held_out_share(train, float(self.test), rng)
        elif self.test == PROPORTIONS and dataset.test is not None:
            test = self._test_parts(drawn, train, dataset, rng)
        return Partition(train, test, held_out, drawn.shared, drawn.groups, drawn.distributions)

    @staticmethod
    def _test_parts(drawn: Drawn, train: Parts, dataset: Dataset, rng: np.random.Generator) -> Parts:
        assert dataset.test is not None
        if drawn.test is not None:
            return tuple(np.sort(np.asarray(part, dtype=np.int64)) for part in drawn.test)
        counts = Partition(train, shared=drawn.shared).counts(targets(dataset), dataset.classes)
        return in_proportion(counts, targets(dataset.test), rng)

    @abstractmethod
    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        """The training samples of each client, drawn with ``rng``."""


def targets(dataset: Dataset) -> np.ndarray:
    """One label a sample, (N,): of text whose every character has one, the last."""
    return dataset.labels if dataset.labels.ndim == 1 else dataset.labels[:, -1]


def held_out_share(train: Parts, share: float, rng: np.random.Generator) -> tuple[Parts, Parts]:
    """Each client's samples as (kept, held out): floor(share n) of its n are held out, at random."""
    kept, held = [], []
    for part in train:
        mixed, count = rng.permutation(part), int(share * len(part))
        held.append(np.sort(mixed[:count]))
        kept.append(np.sort(mixed[count:]))
    return tuple(kept), tuple(held)


def in_proportion(counts: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> Parts:
    """Split the test samples between the clients in proportion to their training samples.

    A client that has counts[i, c] of the training samples of class c gets its share counts[i, c] / sum_i counts[i, c]
    of the test samples of that class. Shares are rounded so that each sample is given exactly once and no share is off
    by 1 or more. Classes without any training sample are left out.
    """
    parts: list[list[np.ndarray]] = [[] for _ in counts]
    for c in np.flatnonzero(counts.sum(axis=0)):
        samples = rng.permutation(np.flatnonzero(labels == c))
        ends = np.cumsum(counts[:, c])
        cuts = (2 * len(samples) * ends + ends[-1]) // (2 * ends[-1])  # rounded, in integers
        for client, part in enumerate(np.split(samples, cuts[:-1])):
            parts[client].append(part)
    return tuple(np.sort(np.concatenate(part)).astype(np.int64) for part in parts)


def check_seed(seed: int) -> None:
    """Raise ``ValueError`` unless the seed is an integer >= 0."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed = {seed}: allowed is an integer >= 0")


def check_count(name: str, count: int, most: int | None = None, what: str = "") -> None:
    """Raise ``ValueError`` unless the count is an integer >= 1, and no more than there is of something."""
    if not isinstance(count, int | np.integer) or isinstance(count, bool):
        raise ValueError(f"{name} = {count}: allowed is an integer >= 1")
    checked_count(name, count)
    if most is not None and count > most:
        raise ValueError(f"{name} = {count}: allowed is an integer from 1 to {what}, {most}")


def check_alpha(name: str, alpha: float) -> None:
    """Refuse a concentration that is not finite and > 0."""
    if not (alpha > 0 and math.isfinite(alpha)):
        raise ValueError(f"{name} = {alpha}: allowed is a finite number > 0")
