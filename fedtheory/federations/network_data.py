"""A network's points: those that clients and the server hold, and those that clients are tested on."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor

from ..data import Dataset, Partition
from ..data.partition.split import targets
from ..neural.batches import Samples

KEPT_AS_BYTES = 2**30
"""The most bytes of images in single precision. Larger ones are kept as bytes."""


def samples_of(dataset: Dataset, rows: Tensor, dtype: torch.dtype, augmented: bool) -> Samples:
    """Return these rows of a data set as points for a network of this precision.

    Images that are to be ``augmented`` are not yet normalised, since augmentation comes first.
    """
    features = torch.from_numpy(np.ascontiguousarray(dataset.features[rows.numpy()]))
    labels = torch.from_numpy(targets(dataset))[rows]
    if dataset.kind == "text":
        return Samples(features.long(), labels)
    if not dataset.classes:
        labels = labels.to(dtype)
    mean, std = (dataset.normalisation.mean, dataset.normalisation.std) if dataset.normalisation else ((), ())
    if dataset.kind != "images":
        return Samples(features.to(dtype), labels)
    bytes = features.dtype == torch.uint8
    if bytes and dtype == torch.float32 and 4 * features.nbytes > KEPT_AS_BYTES:
        return Samples(features, labels, mean, std)
    images = features.to(dtype) / 255 if bytes else features.to(dtype)
    if augmented or not mean:
        return Samples(images, labels, mean, std)
    shape = (1, -1, 1, 1)
    images = (images - torch.tensor(mean, dtype=dtype).view(shape)) / torch.tensor(std, dtype=dtype).view(shape)
    return Samples(images, labels)


def server_rows(rows: Tensor, count: int, seed: int) -> Tensor:
    """``count`` of the clients' points, drawn without replacement."""
    points = rows.unique()
    if count > len(points):
        raise ValueError(f"server_points = {count}: allowed is 1 to {len(points)}, the points that clients hold")
    chosen = np.random.default_rng(seed).choice(len(points), count, replace=False)
    return points[torch.from_numpy(np.sort(chosen))]


def check_partition(partition: Partition, dataset: Dataset) -> None:
    """Refuse parts that reach beyond the data."""
    test = dataset if partition.held_out else dataset.test
    for name, parts, points in (("train", partition.train, dataset), ("test", partition.test or (), test)):
        if parts and points is None:
            raise ValueError(f"partition has test parts, {dataset.name!r} no test set: allowed is both or neither")
        largest = max((int(part[-1]) for part in parts if len(part)), default=-1)
        if points is not None and largest >= len(points):
            raise ValueError(f"partition.{name} names point {largest}: allowed is 0 to {len(points) - 1}")


def tell_what_is_lacking(partition: Partition, dataset: Dataset) -> None:
    """Warn of classes that no client trains on."""
    if lacking := [line for line in partition.lacks(dataset) if line.startswith("no client trains on")]:
        warnings.warn(f"partition of {dataset.name!r}: {'; '.join(lacking)}", stacklevel=3)


def test_rows(dataset: Dataset, partition: Partition) -> tuple[Dataset, Tensor]:
    """The data set that test points are of, and their numbers there, one client after the other.

    Raises:
        ValueError: there is no test set.
    """
    source = dataset if partition.held_out else dataset.test
    if source is None:
        raise ValueError(
            f"{dataset.name!r} has no test set: allowed is one that has, or a partition that holds a "
            "share of each client's points out"
        )
    if partition.test is None:
        return source, torch.arange(len(source))
    return source, torch.cat([torch.from_numpy(np.asarray(part)) for part in partition.test])
