"""Exact losses and gradients of a network, and its accuracies, in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..data import Dataset, Partition
from ..neural.batches import Samples
from ..neural.flat import FlatModel
from ..neural.model_evaluation import per_sample, points_at_once
from .federation import ExactFederation, Pairs
from .network_data import samples_of, test_rows
from .visits import Minibatches

CUDA_BATCH = 1000
"""Points that a GPU evaluates at once."""


T = TypeVar("T")


class kept(Generic[T]):
    """Property that is computed once for a device and precision, and shared by all copies of a network there.

    It is kept beside the network: one that held its own copies would be freed by a search for cycles only, and its
    points are large.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, network: Any, owner: type | None = None) -> T:
        if network is None:
            return self  # type: ignore[return-value]
        if self.name not in network._points:
            network._points[self.name] = self.compute(network)
        return network._points[self.name]  # type: ignore[no-any-return]


class Evaluated(ExactFederation):
    """A model, and points that clients hold, in the order of ``samples``: one client after the other."""

    model: FlatModel
    dataset: Dataset
    partition: Partition
    accuracy_points: int | None
    _batches: Minibatches
    _starts: list[int]
    _device: torch.device
    _precision: torch.dtype
    _points: dict[str, Any]

    @kept
    def samples(self) -> Samples:
        """All holders' points."""
        raise NotImplementedError

    @property
    def sizes(self) -> Tensor:
        """The points of each client, (clients,) int64."""
        return self._batches.sizes[: self.clients]

    @kept
    def _test_samples(self) -> Samples:
        """The points that clients are tested on, one client after the other; or the whole test set."""
        part, rows = test_rows(self.dataset, self.partition)
        return samples_of(part, rows, self._precision, False).to(self._device)

    @property
    def at_once(self) -> int:
        """Points that are evaluated at once."""
        return CUDA_BATCH if self._device.type == "cuda" else points_at_once(self.model)

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        self._check(x, pairs)
        found = x.new_zeros(len(x))
        for span, points in self._present(pairs):
            losses, _ = per_sample(self.model, x[span], points, self.at_once)
            found[span] = losses.mean(1).to(x)
        return found

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        found = torch.zeros_like(x)
        for span, points in self._present(pairs):
            weights = torch.full((len(points),), 1 / len(points), dtype=torch.float64, device=x.device)
            found[span] = weighted_gradient(self.model, x[span], points, weights, self.at_once)
        return found

    def global_loss(self, x: Tensor) -> Tensor:
        return self._over_clients(self.client_losses(x)[0]).to(x)

    def _over_clients(self, values: Tensor) -> Tensor:
        """Average clients' values, (replicas, clients) float64, as F averages the F_i: (replicas,)."""
        if self.objective_weight is None:
            return values.mean(1)
        return values @ torch.tensor([float(w) for w in self.objective_weight], dtype=torch.float64).to(values.device)

    def global_gradient(self, x: Tensor) -> Tensor:
        return weighted_gradient(self.model, x, self._clients_samples, self._weights, self.at_once)

    def client_losses(self, x: Tensor, of: str = "train") -> tuple[Tensor, Tensor]:
        """Mean loss and accuracy over each client's points, both (replicas, clients) float64. A point whose scores are
        not finite is classified wrong.

        Args:
            of: "train", or "test" for the points that each client is tested on (where all share the test set, those);
                NaN for a client that has none.

        Raises:
            ValueError: there is no test set.
        """
        if of == "train":
            points, sizes = self._clients_samples, self.sizes
        else:
            points, sizes = self._test_samples, self._test_sizes
        losses, right = per_sample(self.model, x, points, self.at_once)
        right &= losses.isfinite()
        holder = torch.arange(len(sizes), device=x.device).repeat_interleave(sizes, output_size=len(points))
        loss, accuracy = (holders_means(each, holder, sizes) for each in (losses, right))
        if len(sizes) < self.clients:
            loss, accuracy = loss.expand(-1, self.clients), accuracy.expand(-1, self.clients)
        return loss, accuracy

    def check_test(self) -> None:
        """Raise ``ValueError`` if there are no points to test on."""
        test_rows(self.dataset, self.partition)

    @property
    def is_tested(self) -> bool:
        """Whether there are points to test on."""
        return self.partition.held_out or self.dataset.test is not None

    @kept
    def _test_sizes(self) -> Tensor:
        parts = self.partition.test
        sizes = [len(self._test_samples)] if parts is None else [len(part) for part in parts]
        return torch.tensor(sizes, device=self._device)

    @property
    def _clients_samples(self) -> Samples:
        return some(self.samples, slice(0, self._starts[self.clients]))

    @kept
    def _weights(self) -> Tensor:
        """The weight of each point in F."""
        sizes = self.sizes
        if self.objective_weight is not None:
            count = int(sizes.sum())
            return torch.full((count,), 1.0 / count, dtype=torch.float64, device=sizes.device)
        return (1.0 / (self.clients * sizes.to(torch.float64))).repeat_interleave(sizes)

    @kept
    def _accuracy_points(self) -> tuple[Tensor, Tensor]:
        """The numbers of the first ``accuracy_points`` samples of each client, and whose they are."""
        sizes = np.diff(self._starts[: self.clients + 1])
        sizes = sizes if self.accuracy_points is None else sizes.clip(max=self.accuracy_points)
        holder = np.arange(self.clients).repeat(sizes)
        index = np.array(self._starts)[holder] + np.arange(len(holder)) - (sizes.cumsum() - sizes)[holder]
        return torch.from_numpy(index).to(self._device), torch.from_numpy(holder).to(self._device)

    def training_accuracy(self, x: Tensor) -> Tensor:
        """The share of client i's points (of the first ``accuracy_points``) that x classifies right, averaged over
        clients as F averages the F_i, (replicas,) float64."""
        if not self.dataset.classes:
            return super().training_accuracy(x)
        if self.accuracy_points is None:
            return self._over_clients(self.client_losses(x)[1])
        sizes = self.sizes.clamp(max=self.accuracy_points)
        index, holder = self._accuracy_points
        points = Samples(self.samples.features[index], self.samples.labels[index], self.samples.mean, self.samples.std)
        losses, right = per_sample(self.model, x, points, self.at_once)
        return self._over_clients(holders_means(right & losses.isfinite(), holder, sizes))

    def _present(self, pairs: Pairs) -> Iterator[tuple[slice, Samples]]:
        """Yield the span of pairs and the points of each holder that takes part."""
        for i, (start, stop) in enumerate(pairwise(pairs.offsets.tolist())):
            if stop > start:
                yield slice(start, stop), some(self.samples, slice(self._starts[i], self._starts[i + 1]))

    def _check(self, x: Tensor, pairs: Pairs) -> None:
        if x.shape != (len(pairs), self.dimension):
            raise ValueError(f"x has shape {tuple(x.shape)}: allowed is ({len(pairs)}, {self.dimension})")
        if len(pairs.offsets) != self.clients + 1:
            raise ValueError(f"pairs are of {len(pairs.offsets) - 1} clients: allowed is {self.clients}")
        if x.dtype != self._precision or x.device.type != self._device.type:
            raise ValueError(f"x is {x.dtype} on {x.device}: allowed is {self._precision} on {self._device}; see `to`")


def some(samples: Samples, rows: slice) -> Samples:
    """Return the samples in these rows, as views."""
    return Samples(samples.features[rows], samples.labels[rows], samples.mean, samples.std)


def weighted_gradient(model: FlatModel, x: Tensor, samples: Samples, weights: Tensor, batch: int) -> Tensor:
    """Compute the gradient of sum_s w_s l_s(x) at each of x (n, D), for weights (N,): (n, D); 0 in running statistics.

    ``batch`` samples at a time are held in memory.
    """
    found = torch.zeros_like(x)
    with torch.enable_grad(), model.training(False):
        for row, point in enumerate(x.detach()):
            for first in range(0, len(samples), batch):
                index = torch.arange(first, min(first + batch, len(samples)), device=weights.device)
                tensors = model.unflattened(point.clone())
                leaves = [tensors[name].requires_grad_() for name in model.trainable]
                losses = model.losses(model.scores(tensors, samples.of(index[None])[0]), samples.labels[index])
                loss = (losses * weights[index].to(losses)).sum()
                slopes = torch.autograd.grad(loss, leaves, materialize_grads=True)
                found[row, : model.trained] += torch.cat([slope.flatten() for slope in slopes])
    return found


def holders_means(values: Tensor, holder: Tensor, sizes: Tensor) -> Tensor:
    """The mean over each holder's samples of values (n, N): (n, holders) float64; NaN for one without samples.

    True and false are counted in whole numbers, so that the mean depends on nothing but the count.
    """
    exact = values.long() if values.dtype == torch.bool else values.double()
    total = torch.zeros(len(values), len(sizes), dtype=exact.dtype, device=values.device)
    total.index_add_(1, holder, exact)
    return total.double() / sizes.to(torch.float64)
