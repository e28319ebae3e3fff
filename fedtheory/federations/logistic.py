"""Multinomial logistic regression, its rows split between clients: real data with constants that are known."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import is_real, listed, number_array
from ..data import Dataset, dirichlet
from ..extras import torch
from ..rationals import checked_count
from .constants import Constants, Region
from .devices import find_device, find_dtype
from .federation import ConvexFederation, Pairs
from .local_training import PLAIN_SGD, LocalTraining, State
from .logistic_constants import LogisticConstants
from .logistic_optimum import Optimum, minimised
from .logistic_training import Stacked, logistic_update, minus_labels
from .noise_laws import check_noise

if TYPE_CHECKING:
    from torch import Tensor

_ENTRIES = 2**22  # scores held at once by a pass over all data: 32 MiB in float64
# Features in a block of such a pass on the CPU: 4 MiB in float64 stay in the cache between the scores and the gradient,
# which takes half the time of reading all rows twice (784 features).
_CACHED = 2**19
# Up to so many scores, clients of equal size are computed in one batched product instead of one by one: what costs is
# then the number of calls (on the CPU 3 to 6 times as much; larger batches are faster one by one).
_STACKED = {"cpu": 2**16, "cuda": 2**24}


@dataclass
class _Known:
    optimum: Optimum | None = None
    constants: LogisticConstants | None = None
    placed: tuple[tuple[torch.device, torch.dtype], tuple[Tensor, Tensor, Tensor, Tensor]] | None = None
    """The tensors that ``to`` made last, and where."""
    gap: tuple[Tensor, Tensor] | None = None
    """F(x) - F(x*) at the one point that was asked for last: every claim on a run asks for that of its start."""


class Logistic(ConvexFederation):
    """L2-regularised multinomial logistic regression with cross-entropy loss.

    Client i holds rows a_s (p features) with labels y_s, s = 1..n_i, and

        F_i(W) = (1/n_i) sum_s (log sum_c exp(w_c . a_s) - w_{y_s} . a_s) + (l2/2) |W|^2,    F = (1/M) sum_i F_i,

    so that clients count equally, however many rows they hold. W = (w_1, ..., w_C) is flat, class after class:
    D = C p and ``x.reshape(C, p)[c]`` is w_c. There is no bias term; give the rows a constant column for one.
    Losses stay finite and accurate however far apart the scores w_c . a_s are, as long as neither these nor |W|^2
    overflow: everything goes through log-sum-exp.

    Args:
        features: for each client an array (n_i, p), finite, n_i >= 1.
        labels: for each client an integer array (n_i,) with entries in 0 to C - 1.
        l2: the regularisation, in units of F / x^2; finite and > 0.
        classes: C, at least 2; by default one more than the largest label.
        gradient_noise, noise, server_noise: the additive noise of stochastic gradients, see ``ConvexFederation``.

    Attributes:
        data: the data set and which copy of it, in words; empty where rows are given.

    Raises:
        ValueError: for an argument outside its range, naming it and what is allowed.

    Source: the convex test problem common in federated learning; D. Boehning, "Multinomial logistic regression
    algorithm", 1992, for the curvature.

    >>> fed = Logistic([[[1.0]], [[1.0]]], [[0], [1]], l2=1.0)  # two clients that want opposite labels
    >>> fed.clients, fed.dimension, fed.optimum.tolist()
    (2, 2, [0.0, 0.0])
    >>> fed.constants()["smoothness"].value, fed.constants()["smoothness"].kind
    (1.5, 'exact')
    """

    def __init__(
        self,
        features: Sequence[np.ndarray],
        labels: Sequence[np.ndarray],
        l2: float,
        *,
        classes: int | None = None,
        gradient_noise: float = 0.0,
        noise: str = "two-point",
        server_noise: float = 0.0,
    ) -> None:
        check_noise(gradient_noise, noise, server_noise)
        if not (is_real(l2) and 0 < l2 < float("inf")):
            raise ValueError(f"l2 = {l2}: allowed is a finite number > 0")
        self.l2, self.gradient_noise, self.noise = float(l2), float(gradient_noise), noise
        self.server_noise = float(server_noise)
        blocks, targets = _checked(features, labels)
        largest = max(int(target.max()) for target in targets)
        least = max(2, largest + 1)
        self.classes = least if classes is None else checked_count("classes", classes, least)
        self.clients, self.dimension = len(blocks), self.classes * blocks[0].shape[1]
        sizes = np.array([len(block) for block in blocks])
        self._starts = [0, *np.cumsum(sizes).tolist()]
        self._equal = bool((sizes == sizes[0]).all())
        self._rows = torch.from_numpy(np.concatenate(blocks))
        self._labels = torch.from_numpy(np.concatenate(targets))
        self._weights = torch.from_numpy(np.repeat(1.0 / (self.clients * sizes), sizes))
        self._sizes, groups = np.unique(sizes, return_inverse=True)  # the clients' sizes; clients of one are a group
        self._groups = torch.from_numpy(np.repeat(groups, sizes))
        self._known = _Known()  # shared by all copies that ``to`` makes
        self._original: Logistic | None = None  # that ``to`` has copied
        self.data = ""

    @classmethod
    def split(
        cls,
        dataset: Dataset,
        clients: int,
        alpha: float,
        l2: float,
        seed: int,
        gradient_noise: float = 0.0,
        noise: str = "two-point",
        server_noise: float = 0.0,
    ) -> Logistic:
        """Split the rows of ``dataset`` by ``data.dirichlet(labels, clients, alpha, seed)``.

        Each client gets floor(N / clients) of them, its labels distributed as Dirichlet(alpha) draws.

        Features are taken as they are: pass ``dataset.normalised()`` for a problem that is O(1)-smooth.

        >>> from fedtheory import data
        >>> Logistic.split(data.load("digits").normalised(), clients=50, alpha=0.3, l2=0.1, seed=0).dimension
        640
        """
        parts = dirichlet(dataset.labels, clients, alpha, seed)
        features, labels = [dataset.features[part] for part in parts], [dataset.labels[part] for part in parts]
        made = cls(
            features,
            labels,
            l2,
            classes=dataset.classes,
            gradient_noise=gradient_noise,
            noise=noise,
            server_noise=server_noise,
        )
        made.data = f"{dataset.name}: {dataset.copy}" if dataset.copy else ""
        return made

    # Local objectives: each client's rows are read once, for all pairs of that client together.

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        self._check(x, pairs)
        result = 0.5 * self.l2 * x.square().sum(1)
        for span, rows in self.present(pairs):
            result[span] += self._cross_entropy(x[span], rows).mean(1)
        return result

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        self._check(x, pairs)
        stacked = self.stacked(pairs)
        if stacked is not None:
            return stacked.taken(stacked.gradient(stacked.put(x)))
        result = torch.empty_like(x)
        for span, rows in self.present(pairs):
            result[span] = self.gradient_on(x[span], rows)
        return result

    def gradient_on(self, x: Tensor, rows: slice) -> Tensor:
        """Compute the gradient at x (B, D) of the client that holds these rows."""
        mean = self._pull_back(self._residuals(x, rows), rows) / (rows.stop - rows.start)
        return mean.add_(x, alpha=self.l2)

    def local_update(self, start: Tensor, pairs: Pairs, training: LocalTraining, state: State) -> tuple[Tensor, State]:
        if training.solver == PLAIN_SGD:
            return logistic_update(self, start, pairs, training), state
        return super().local_update(start, pairs, training, state)

    # The global objective: one pass over all rows, in chunks.

    def global_loss(self, x: Tensor) -> Tensor:
        self._check(x)
        result = 0.5 * self.l2 * x.square().sum(1)
        for rows in self._chunks(len(x)):
            result += self._cross_entropy(x, rows) @ self._weights[rows]
        return result

    def global_gradient(self, x: Tensor) -> Tensor:
        self._check(x)
        result = (self.l2 * x).contiguous()
        total = result.view(-1, self._rows.shape[1])
        for rows in self._chunks(len(x)):
            residuals = self._residuals(x, rows).mul_(self._weights[rows])
            total.addmm_(residuals.flatten(0, 1), self._rows[rows])
        return result

    def training_accuracy(self, x: Tensor) -> Tensor:
        """Compute (1/M) sum_i (1/n_i) #{s : the largest of the scores w_c . a_s is that of y_s}, (replicas,) float64.

        Of equal scores the first class counts as the largest, so W = 0 puts every row in class 0. A row whose scores
        overflow is classified wrong. Rows are counted in whole numbers: the accuracy depends on nothing but them,
        however many replicas are in the batch.

        >>> fed = Logistic([[[1.0], [-1.0]], [[1.0]]], [[0, 0], [1]], l2=1.0)
        >>> fed.training_accuracy(torch.tensor([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).double()).tolist()
        [0.5, 0.25, 0.75]
        """
        self._check(x)
        right = torch.zeros(len(self._sizes), len(x), dtype=torch.int64, device=x.device)
        for rows in self._chunks(len(x)):
            scores = (self._rows[rows] @ x.reshape(-1, self._rows.shape[1]).T).view(-1, len(x), self.classes)
            hits = (scores.argmax(2) == self._labels[rows, None]) & scores.isfinite().all(2)
            right.index_add_(0, self._groups[rows], hits.long())
        accuracy = torch.zeros(len(x), dtype=torch.float64, device=x.device)
        for count, size in zip(right, self._sizes.tolist(), strict=True):
            accuracy += count.to(torch.float64) / (self.clients * size)
        return accuracy

    def gap(self, x: Tensor) -> Tensor:
        if len(x) != 1:
            return super().gap(x)
        known = self._known.gap
        if known is None or known[0].dtype != x.dtype or known[0].device != x.device or not torch.equal(known[0], x):
            known = self._known.gap = (x.clone(), super().gap(x))
        return known[1].clone()

    # What is known about the problem: computed once, in float64 on the CPU.

    @property
    def optimum(self) -> Tensor:
        """The minimiser x* of F, (D,), float64 on the CPU, up to ``optimum_error``.

        Raises:
            RuntimeError: if the gradient at the point found is not as small as the certificate asks.
        """
        return self._optimum.x

    @property
    def optimal_value(self) -> float:
        """F at ``optimum``; above F(x*) by at most ``optimal_value_error``."""
        return self._optimum.value

    @property
    def optimum_gradient_norm(self) -> float:
        """|grad F(optimum)|, in units of F / x."""
        return self._optimum.gradient_norm

    @property
    def optimum_error(self) -> float:  # type: ignore[override]
        """Certificate |optimum - x*| <= |grad F(optimum)| / l2, by strong convexity; in units of x."""
        return self._optimum.gradient_norm / self.l2

    @property
    def optimal_value_error(self) -> float:  # type: ignore[override]
        """Certificate 0 <= optimal_value - F(x*) <= |grad F(optimum)|^2 / (2 l2), by strong convexity."""
        return self._optimum.gradient_norm**2 / (2 * self.l2)

    def constants(self, region: Region | None = None) -> Constants:
        """The constants on all of R^D or on ``region``; ``LogisticConstants`` states and proves each.

        Raises:
            ValueError: if the centre of ``region`` is no point of R^D.
        """
        if region is not None and np.shape(region.centre) != (self.dimension,):
            raise ValueError(f"region.centre has shape {np.shape(region.centre)}: allowed is ({self.dimension},)")
        if self._known.constants is None:
            source = self._original or self
            blocks = [source._rows[i:j] for i, j in pairwise(self._starts)]
            targets = [source._labels[i:j] for i, j in pairwise(self._starts)]
            self._known.constants = LogisticConstants(blocks, targets, self.classes, self.l2)
        found = self._known.constants.at(self._optimum, self.gradient_noise, region)
        return Constants({**found.entries, **self._known_server_noise()})

    def to(self, device: torch.device | str = "cpu", dtype: torch.dtype | str = "float64") -> Logistic:
        device, dtype = find_device(device), find_dtype(dtype, torch.float64)
        moved = copy.copy(self)
        source = moved._original = self._original or self
        moved._rows, moved._weights, moved._labels, moved._groups = source._placed(torch.device(device), dtype)
        return moved

    def _placed(self, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The rows, weights, labels and groups there; those that were asked for last are kept."""
        known = self._known.placed
        if known is None or known[0] != (device, dtype):
            numbers, labels = (self._rows, self._weights), (self._labels.to(device), self._groups.to(device))
            rows, weights = (each.to(device, dtype) for each in numbers)
            known = self._known.placed = (device, dtype), (rows, weights, *labels)
        return known[1]

    # Helpers. ``rows`` is a slice of the N rows of data, n of them; ``x`` has B rows.

    @property
    def _optimum(self) -> Optimum:
        if self._known.optimum is None:
            source = self._original or self
            self._known.optimum = minimised(source._rows, source._labels, source._weights, self.classes, self.l2)
        return self._known.optimum

    def present(self, pairs: Pairs) -> Iterator[tuple[slice, slice]]:
        """Yield the span of pairs and the span of rows of each client that takes part."""
        ends = pairs.sizes.cumsum().tolist()
        for i, (start, stop) in enumerate(pairwise([0, *ends])):
            if stop > start:
                yield slice(start, stop), slice(self._starts[i], self._starts[i + 1])

    def stacked(self, pairs: Pairs) -> Stacked | None:
        """Put all pairs into one batched product; ``None`` where that does not pay.

        It pays where all clients hold equally many rows, and the scores, padded to the largest count, are few. The rows
        have to be few too, unless all of them are wanted, which needs no copy.
        """
        sizes = pairs.sizes
        present = int((sizes > 0).sum())
        scores = present * int(sizes.max()) * self._starts[1] * self.classes
        copied = present * self._starts[1] * self._rows.shape[1] if present < self.clients else 0
        limit = _STACKED.get(pairs.client.device.type, 0)
        if not self._equal or not 0 < scores <= limit or copied > 16 * limit:
            return None
        rows, labels = self._rows.view(self.clients, -1, self._rows.shape[1]), self._labels.view(self.clients, -1)
        return Stacked.of(pairs, rows, labels, self.classes, self.l2)

    def _chunks(self, replicas: int) -> Iterator[slice]:
        size = _ENTRIES // max(1, replicas * self.classes)
        if self._rows.device.type == "cpu":
            size = min(size, _CACHED // self._rows.shape[1])
        size = max(1, size)
        total = self._starts[-1]
        for start in range(0, total, size):
            yield slice(start, min(start + size, total))

    def _scores(self, x: Tensor, rows: slice) -> Tensor:
        """w_c . a_s, shape (B, C, n)."""
        data = self._rows[rows]
        return (x.reshape(-1, data.shape[1]) @ data.T).view(len(x), self.classes, len(data))

    def _cross_entropy(self, x: Tensor, rows: slice) -> Tensor:
        """log sum_c exp(w_c . a_s) - w_{y_s} . a_s, shape (B, n)."""
        labels = self._labels[rows].expand(len(x), 1, -1)
        return -torch.log_softmax(self._scores(x, rows), dim=1).gather(1, labels).squeeze(1)

    def _residuals(self, x: Tensor, rows: slice) -> Tensor:
        """softmax(W a_s) - e_{y_s}, shape (B, C, n)."""
        return minus_labels(torch.softmax(self._scores(x, rows), dim=1), self._labels[rows])

    def _pull_back(self, residuals: Tensor, rows: slice) -> Tensor:
        """sum_s r_s a_s^T of residuals (B, C, n), flat: shape (B, D)."""
        return (residuals.flatten(0, 1) @ self._rows[rows]).view(len(residuals), self.dimension)

    def _check(self, x: Tensor, pairs: Pairs | None = None) -> None:
        if x.ndim != 2 or x.shape[1] != self.dimension or (pairs is not None and len(pairs) != len(x)):
            allowed = f"({'replicas' if pairs is None else len(pairs)}, {self.dimension})"
            raise ValueError(f"x has shape {tuple(x.shape)}: allowed is {allowed}")
        if pairs is not None and len(pairs.offsets) != self.clients + 1:
            raise ValueError(f"pairs are of {len(pairs.offsets) - 1} clients: allowed is {self.clients}")


def _checked(features: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The clients' rows as float64 and labels as int64, or a ``ValueError``."""
    blocks, targets = (
        [
            number_array(f"{name}[{i}]", each, kind)
            for i, each in enumerate(listed(name, values, "a list of arrays, one a client"))
        ]
        for name, values, kind in (("features", features, np.float64), ("labels", labels, None))
    )
    if len(blocks) == 0 or len(blocks) != len(targets):
        raise ValueError(f"{len(blocks)} features and {len(targets)} labels: allowed is as many of each, at least one")
    for i, (block, target) in enumerate(zip(blocks, targets, strict=True)):
        if block.ndim != 2 or 0 in block.shape or block.shape[1] != blocks[0].shape[-1]:
            raise ValueError(f"features[{i}] has shape {block.shape}: allowed is (n, p), not empty, p the same for all")
        if not np.isfinite(block).all():
            raise ValueError(f"features[{i}] has entries that are not finite: allowed are finite numbers")
        if target.shape != (len(block),) or target.dtype.kind not in "iu" or target.min() < 0:
            raise ValueError(
                f"labels[{i}] of shape {target.shape}, type {target.dtype}: allowed is ({len(block)},), integers >= 0"
            )
    return blocks, [target.astype(np.int64) for target in targets]
