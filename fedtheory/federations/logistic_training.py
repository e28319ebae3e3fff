"""Local SGD on logistic regression: a client's rows are read in one go for all its pairs and all their steps.

Scores and residuals are kept as (points, classes, rows): so a softmax runs over whole lines of numbers, and both
products of a step have the rows, as they lie in memory, on their right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..extras import torch
from .federation import Pairs
from .local_training import LocalTraining

if TYPE_CHECKING:
    from torch import Tensor

    from .logistic import Logistic


class Stacked(NamedTuple):
    """Clients with equally many rows, n of p features, side by side; their points are padded by zeros to equally many.

    Attributes:
        rows: (K, n, p), of the K clients that take part. labels: (K, n).
        client, slot: (P,), where each pair's point is among (K, L).
        largest: L, the most points of a client.
        classes, l2: of the federation.
    """

    rows: Tensor
    labels: Tensor
    client: Tensor
    slot: Tensor
    largest: int
    classes: int
    l2: float

    @classmethod
    def of(cls, pairs: Pairs, rows: Tensor, labels: Tensor, classes: int, l2: float) -> Stacked:
        """Select the rows of the clients that take part, from ``rows`` (M, n, p) of all clients."""
        present = pairs.sizes.nonzero()[0]
        client, slot = pairs.client, torch.arange(len(pairs), device=pairs.client.device)
        slot = slot - pairs.offsets.index_select(0, client)
        if len(present) < len(rows):
            chosen = torch.from_numpy(present).to(client.device)
            number = torch.zeros(len(rows), dtype=torch.int64, device=client.device)
            number[chosen] = torch.arange(len(present), device=client.device)
            rows, labels = rows.index_select(0, chosen), labels.index_select(0, chosen)
            client = number.index_select(0, client)
        return cls(rows, labels, client, slot, int(pairs.sizes.max()), classes, l2)

    def put(self, x: Tensor) -> Tensor:
        """The pairs' points, (P, D), side by side: (K, L, D)."""
        points = x.new_zeros(len(self.rows), self.largest, x.shape[1])
        points[self.client, self.slot] = x
        return points

    def taken(self, points: Tensor) -> Tensor:
        """Select the points of the pairs."""
        return points[self.client, self.slot]

    def gradient(self, points: Tensor) -> Tensor:
        """The clients' gradients at their points, (K, L, D)."""
        count = self.labels.shape[1]
        weights = points.view(len(points), -1, self.rows.shape[2])
        scores = (weights @ self.rows.transpose(1, 2)).view(len(points), self.largest, self.classes, count)
        residuals = minus_labels(torch.softmax(scores, dim=2), self.labels[:, None])
        return (residuals.flatten(1, 2) @ self.rows).view(points.shape).div_(count).add_(points, alpha=self.l2)


def minus_labels(probabilities: Tensor, labels: Tensor) -> Tensor:
    """p - e_y in place: p of shape (..., C, n), labels (..., n)."""
    shape = (*probabilities.shape[:-2], 1, probabilities.shape[-1])
    index = labels[..., None, :].expand(shape)
    return probabilities.scatter_add_(-2, index, probabilities.new_full((), -1.0).expand(shape))


def logistic_update(fed: Logistic, start: Tensor, pairs: Pairs, training: LocalTraining) -> Tensor:
    """The models after local SGD from ``start`` (P, D), with the draws of the steps ``pairs.step``, ..."""
    keys = None if fed.deterministic else fed.step_keys(pairs, training.steps)
    stacked = fed.stacked(pairs)
    if stacked is None:
        end = torch.empty_like(start)
        for span, rows in fed.present(pairs):
            x = begin = start[span]
            for step, size in enumerate(training.sizes):
                x = _stepped(
                    fed, x, begin, fed.gradient_on(x, rows), None if keys is None else keys[step, span], size, training
                )
            end[span] = x
        return end
    x = start
    points = stacked.put(x)
    for step, size in enumerate(training.sizes):
        gradient = stacked.gradient(points)
        if keys is None and training.proximal == 0:  # nothing but the clients' own: it can stay where it is
            points = points - size * gradient
            continue
        x = _stepped(fed, x, start, stacked.taken(gradient), None if keys is None else keys[step], size, training)
        points = stacked.put(x)
    return stacked.taken(points)


def _stepped(
    fed: Logistic, x: Tensor, start: Tensor, gradient: Tensor, keys: Tensor | None, size: float, training: LocalTraining
) -> Tensor:
    """x after a step of this size, with the noise of these keys."""
    if keys is not None:
        gradient = gradient + fed.felt(fed.noise_of(keys, gradient.dtype), x)
    return x - size * training.pulled(x, start, gradient)
