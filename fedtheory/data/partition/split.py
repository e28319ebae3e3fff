"""Partitions, and the shared parts of the schemes that draw them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import arguments
from ..dataset import Dataset

WHOLE, PROPORTIONS = "whole", "proportions"
# Schemes draw from default_rng(seed), test parts and a client's noise from streams of their own.
_TEST_STREAM, _NOISE_STREAM = 1, 2
TRIES = 1000
"""The most draws that a scheme makes until every client has enough samples."""

Parts = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class FeatureNoise:
    """Gaussian noise in the clients' features, independent of all else: each client's standard deviation, (clients,),
    in units of what features mean, and the seed of the draws."""

    deviations: np.ndarray
    seed: int = 0

    def of(self, client: int, shape: tuple[int, ...]) -> np.ndarray:
        """A client's noise, float64: a function of the seed, the client and the shape."""
        draws = np.random.default_rng((self.seed, _NOISE_STREAM, client))
        return self.deviations[client] * draws.standard_normal(shape)


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
        redraws: how often the scheme drew everything again, until every client had enough samples.
        noise: what is added to the clients' features, see ``seen``; or None.

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
    redraws: int = 0
    noise: FeatureNoise | None = None

    @classmethod
    def of(
        cls,
        indices: Sequence[Any] | Mapping[Any, Any],
        test: Sequence[Any] | Mapping[Any, Any] | None = None,
        held_out: bool = False,
        shared: bool = False,
    ) -> Partition:
        """The partition in which client i has the samples with these numbers, in any order.

        Args:
            indices: for each client a list or array of integers; or a mapping of clients to such, in its order.
            test: the same for test samples, of the same clients; None: all share the whole test set.
            held_out, shared: as of ``Partition``.

        Raises:
            ValueError: as of ``Partition``; numbers that are no integers, or test samples of other clients.

        >>> Partition.of([[2, 0], [1]]).counts(np.array([0, 1, 1])).tolist()
        [[1, 1], [0, 1]]
        """
        if test is not None and isinstance(indices, Mapping):
            if not isinstance(test, Mapping) or test.keys() != indices.keys():
                raise ValueError("test has other clients than indices: allowed is a mapping of the same ones")
            test = [test[client] for client in indices]
        found = [_parts(name, each) for name, each in (("indices", indices), ("test", test)) if each is not None]
        return cls(found[0], found[1] if len(found) > 1 else None, held_out, shared)

    def __post_init__(self) -> None:
        for name, parts in (("train", self.train), ("test", () if self.test is None else self.test)):
            for client, part in enumerate(arguments.listed(name, parts, "a tuple of arrays, one for each client")):
                arguments.check_kind(f"{name}[{client}]", part, np.ndarray, "an array of int64 indices")
                if part.ndim != 1 or part.dtype != np.int64 or (np.diff(part) <= 0).any() or (part < 0).any():
                    raise ValueError(f"{name}[{client}]: allowed are increasing int64 indices >= 0, (n,)")
            if len(parts) and not self.shared and len(np.unique(np.concatenate(parts))) < sum(map(len, parts)):
                raise ValueError(f"{name}: a sample is of two clients; allowed are disjoint parts")
        empty = [client for client, part in enumerate(self.train) if len(part) == 0]
        deviations = None if self.noise is None else self.noise.deviations
        if empty or len(self.train) == 0:
            raise ValueError(f"train: client {empty[:1] or 'list'} is empty; allowed is at least 1 sample for each")
        each_clients = {
            "test": self.test,
            "groups": self.groups,
            "distributions": self.distributions,
            "noise": deviations,
        }
        for name, each in each_clients.items():
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

    def lacks(self, dataset: Dataset) -> tuple[str, ...]:
        """Say in lines what the clients do not have of a data set: classes that nobody trains on, samples that nobody
        has; and that the scheme drew again, if it did. () where nothing is lacking.

        >>> data = Dataset("toy", np.ones((4, 1)), np.array([0, 1, 2, 2]), classes=3)
        >>> Partition.of([[0], [1]]).lacks(data)
        ('no client trains on class 2 (2 samples)', '2 of 4 samples are of no client')
        """
        found = []
        for of, whole in (("", dataset), ("test ", dataset.test)):
            if dataset.classes and whole is not None:
                there = np.bincount(class_labels(whole), minlength=dataset.classes)
                held = np.bincount(class_labels(dataset)[np.concatenate(self.train)], minlength=dataset.classes)
                if len(absent := np.flatnonzero((held == 0) & (there > 0))):
                    names = ", ".join(map(str, absent[:10])) + (", ..." if len(absent) > 10 else "")
                    word = "class" if len(absent) == 1 else f"{len(absent)} classes:"
                    found.append(f"no client trains on {word} {names} ({there[absent].sum()} {of}samples)")
        parts = (*self.train, *(self.test or ())) if self.held_out else self.train
        if left := len(dataset) - len(np.unique(np.concatenate(parts))):
            found.append(f"{left} of {len(dataset)} samples are of no client")
        if self.redraws:
            found.append(f"drawn {self.redraws + 1} times, until every client had enough samples")
        return tuple(found)

    def seen(self, dataset: Dataset) -> Dataset:
        """The data set as its clients see it: with their ``noise`` in the features of their samples.

        Images become float32, of which 0 to 1 means what 0 to 255 meant of bytes.
        """
        if self.noise is None:
            return dataset
        features = dataset.values()
        for client, part in enumerate(self.train):
            mine = (
                part if self.test is None or not self.held_out else np.sort(np.concatenate([part, self.test[client]]))
            )
            features[mine] += self.noise.of(client, (len(mine), *features.shape[1:])).astype(features.dtype)
        return replace(dataset, features=features)

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
        if labels.dtype.kind not in "iu":
            raise ValueError(f"labels are {labels.dtype}: allowed are classes, integers >= 0")
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
    redraws: int = 0
    noise: FeatureNoise | None = None


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
        elif not (arguments.is_real(self.test) and 0 < self.test < 1):
            raise ValueError(f"test = {self.test}: allowed is {PROPORTIONS}, {WHOLE} or a number in (0, 1)")

    def split(self, dataset: Dataset) -> Partition:
        """The partition of a data set.

        Raises:
            ValueError: more clients than samples, or a data set that lacks what the scheme needs.
        """
        arguments.check_kind("dataset", dataset, Dataset, 'a data set, such as data.load("digits")')
        drawn = self.draw(dataset, np.random.default_rng(self.seed))
        train = tuple(np.sort(np.asarray(part, dtype=np.int64)) for part in drawn.parts)
        test, held_out = None, not isinstance(self.test, str)
        rng = np.random.default_rng((self.seed, _TEST_STREAM))
        if held_out:
            train, test = held_out_share(train, float(self.test), rng)
        elif self.test == PROPORTIONS and dataset.test is not None:
            test = self._test_parts(drawn, train, dataset, rng)
        return Partition(
            train, test, held_out, drawn.shared, drawn.groups, drawn.distributions, drawn.redraws, drawn.noise
        )

    @staticmethod
    def _test_parts(drawn: Drawn, train: Parts, dataset: Dataset, rng: np.random.Generator) -> Parts:
        assert dataset.test is not None
        if drawn.test is not None:
            return tuple(np.sort(np.asarray(part, dtype=np.int64)) for part in drawn.test)
        counts = Partition(train, shared=drawn.shared).counts(_strata(dataset), dataset.classes or 1)
        return in_proportion(counts, _strata(dataset.test), rng)

    @abstractmethod
    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        """The training samples of each client, drawn with ``rng``."""


@dataclass(frozen=True, kw_only=True)
class ForClients(Scheme):
    """A scheme for a number of clients that is given."""

    clients: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("clients", self.clients)

    def dealt(self, dataset: Dataset, rng: np.random.Generator) -> list[np.ndarray]:
        """Deal all samples at random; sizes differ by at most 1."""
        check_count("clients", self.clients, len(dataset), "the number of samples")
        return np.array_split(rng.permutation(len(dataset)), self.clients)


def _parts(name: str, indices: Sequence[Any] | Mapping[Any, Any]) -> Parts:
    """The numbers of each client, sorted."""
    found = []
    for client, each in indices.items() if isinstance(indices, Mapping) else enumerate(indices):
        numbers = np.asarray(each)
        if numbers.size == 0:
            numbers = np.empty(0, dtype=np.int64)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ValueError(f"{name}[{client}] is {numbers.dtype} {numbers.shape}: allowed are integers >= 0, (n,)")
        found.append(np.sort(numbers.astype(np.int64)))
    return tuple(found)


def targets(dataset: Dataset) -> np.ndarray:
    """The target of each sample: its class, (N,), of text whose every character has one, the last; or the
    targets of regression, (N,) or (N, k)."""
    return dataset.labels[:, -1] if dataset.classes and dataset.labels.ndim == 2 else dataset.labels


def class_labels(dataset: Dataset) -> np.ndarray:
    """The class of each sample, (N,).

    Raises:
        ValueError: the data set has no classes.
    """
    if not dataset.classes:
        raise ValueError(f"{dataset.name!r} has targets of regression: allowed is a data set with classes")
    return targets(dataset)


def _strata(dataset: Dataset) -> np.ndarray:
    """Whole numbers of which each client gets its share: classes, or 0 for all."""
    return targets(dataset) if dataset.classes else np.zeros(len(dataset), dtype=np.int64)


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


def enough_for_each(
    draw: Callable[[], tuple[np.ndarray, Any]], clients: int, alpha: float, least: int, samples: int
) -> tuple[Any, int]:
    """Draw until every client gets ``least`` samples; return what was drawn, and how often it was drawn anew.

    Args:
        draw: the sizes, (clients,), and what goes with them.
        samples: how many there are.

    Raises:
        ValueError: there are not so many samples, or ``TRIES`` draws were not enough.
    """
    check_count("clients", clients, samples // least, "the number of samples over least")
    for redraws in range(TRIES):
        sizes, drawn = draw()
        if sizes.min() >= least:
            return drawn, redraws
    raise ValueError(
        f"clients = {clients}, alpha = {alpha}: in {TRIES} draws some client always had fewer than {least} samples; "
        "allowed are fewer clients or a larger alpha"
    )


def check_seed(seed: int) -> None:
    """Raise ``ValueError`` unless the seed is an integer >= 0."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed = {seed}: allowed is an integer >= 0")


def check_count(name: str, count: int, most: int | None = None, what: str = "") -> None:
    """Raise ``ValueError`` unless the count is an integer >= 1, and no more than there is of something."""
    arguments.check_count(name, count)
    if most is not None and count > most:
        raise ValueError(f"{name} = {count}: allowed is an integer from 1 to {what}, {most}")


def check_alpha(name: str, alpha: float) -> None:
    """Refuse a concentration that is not finite and > 0."""
    if not (arguments.is_real(alpha) and alpha > 0 and math.isfinite(alpha)):
        raise ValueError(f"{name} = {alpha}: allowed is a finite number > 0")
