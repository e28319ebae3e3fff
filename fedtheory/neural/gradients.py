"""Losses and gradients of packed pairs: every pair its own parameters and its own batch.

Three paths compute the same numbers: "loop" takes one pair after the other, "vmap" all pairs at once by ``torch.func``,
"grouped" all pairs at once by layers written for many sets of weights. Which one is fastest depends on the network, on
the shapes and on the device: "auto" follows a rule (paths.py), "timed" times them once and remembers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import grad_and_value, vmap

from .flat import FlatModel, mean_loss
from .grouped import grouped_gradients, refusal
from .manual_backward import covers, loss_and_slopes
from .packed import Batches, one_loss, reduced
from .paths import rule

TRIAL_PAIRS = 8
TRIALS = 2
FILLED_TO = 16
"""Number of samples of which batches keep a multiple when they are cut to the samples in use.

A library of convolutions prepares itself anew for every size.
"""
_FASTEST: dict[tuple[object, ...], str] = {}
CHOSEN = ("auto", "timed")
"""Words in place of a path: it is chosen by the rule, or by the clock."""


def gradients(
    model: FlatModel, x: Tensor, batches: Batches, path: str = "auto", precision: str = "float32"
) -> tuple[Tensor, Tensor]:
    """Compute losses (P,) and their gradients (P, D) at x (P, D), in training mode.

    At the coordinates of running statistics, from ``model.trained`` on, the "gradient" is what the forward pass takes
    off them: x - gradient is their next value, whatever the step size.

    Raises:
        ValueError: for a path or a precision that does not exist, or that this network does not have.

    >>> model = FlatModel(torch.nn.Linear(3, 2))
    >>> x = model.initial(0).expand(4, -1)
    >>> losses, found = gradients(model, x, Batches(torch.ones(4, 5, 3), torch.zeros(4, 5).long()), path="loop")
    >>> losses.shape, found.shape
    (torch.Size([4]), torch.Size([4, 8]))
    """
    if path not in (*CHOSEN, *PATHS):
        raise ValueError(f"path = {path!r}: allowed is one of {', '.join((*CHOSEN, *PATHS))}")
    if path not in (*CHOSEN, "loop") and model.mixes_samples and _filled_up(batches):
        raise ValueError(
            f"path = {path!r}, for batches of different sizes: allowed is 'loop', since batch norm would "
            "see what fills them up"
        )
    name = choose_path(model, x, batches, precision, path) if path in CHOSEN else path
    return PATHS[name](model, x, batches, precision)


def one_by_one(model: FlatModel, x: Tensor, batches: Batches, precision: str = "float32") -> tuple[Tensor, Tensor]:
    """Compute gradients by the path "loop"."""
    factors = model.factors(batches.keys, batches.features)
    losses, found = x.new_empty(len(x)), torch.empty_like(x)
    with model.training():
        for p in range(len(x)):
            tensors = model.unflattened(x[p].detach())
            moved = {name: tensors[name].clone() for name in model.statistics}
            if batches.counts is not None and not batches.counts[p].any():
                losses[p], found[p] = 0.0, 0.0
                continue
            losses[p], slopes = one_gradient(model, tensors | moved, batches, p, factors, precision)
            taken = [tensors[name] - moved[name] for name in moved]
            torch.cat([each.flatten() for each in (*slopes, *taken)], out=found[p])
    return losses, found


def one_gradient(
    model: FlatModel,
    tensors: dict[str, Tensor],
    batches: Batches,
    pair: int,
    factors: tuple[Tensor, ...],
    precision: str,
) -> tuple[Tensor, list[Tensor]]:
    """Compute the loss of one pair's batch, and its gradient by each trained parameter.

    ``factors`` are those of all pairs.
    """
    features, labels, weights = batches.features[pair], batches.labels[pair], None
    factors = tuple(each[pair] for each in factors)
    if batches.weights is not None and batches.counts is not None:
        used = _used(model, batches.counts[pair])
        features, labels, weights = features[used], labels[used], batches.weights[pair][used]
        factors = tuple(each[used] for each in factors)
    leaves = [tensors[name] for name in model.trainable]
    if covers(model, leaves[0], precision):
        return loss_and_slopes(model, tensors, features, labels, weights, factors, precision)
    for leaf in leaves:
        leaf.requires_grad_()
    loss = one_loss(model, tensors, features, labels, weights, factors, precision)
    return loss.detach(), list(torch.autograd.grad(loss, leaves, materialize_grads=True))


def _used(model: FlatModel, counts: np.ndarray) -> slice | Tensor:
    """The samples of a batch that do not merely fill it up, with a few more where they do no harm."""
    (numbers,) = counts.nonzero()
    if not model.mixes_samples:
        return slice(0, -(-(int(numbers[-1]) + 1) // FILLED_TO) * FILLED_TO)
    return slice(0, len(numbers)) if counts[: len(numbers)].all() else torch.from_numpy(numbers)


def _filled_up(batches: Batches) -> bool:
    return batches.counts is not None and not batches.counts.all()


def all_at_once(model: FlatModel, x: Tensor, batches: Batches, precision: str = "float32") -> tuple[Tensor, Tensor]:
    """Compute gradients by the path "vmap".

    Raises:
        ValueError: for a network with averaged running statistics, which torch.func does not move.
    """
    if model.statistics:
        raise ValueError("path = 'vmap' does not exist with buffers='average': allowed is 'loop' or 'grouped'")
    factors = model.factors(batches.keys, batches.features)

    def loss(x: Tensor, features: Tensor, labels: Tensor, weights: Tensor | None, *factors: Tensor) -> Tensor:
        with reduced(features.device, precision):
            scores = model.scores(model.unflattened(x), features, factors)
        return mean_loss(model.losses(scores.to(x.dtype), labels), weights)

    weighted = None if batches.weights is None else 0
    with model.training(), _quiet():
        each = vmap(grad_and_value(loss), in_dims=(0, 0, 0, weighted, *(0,) * len(factors)))
        slopes, losses = each(x.detach(), batches.features, batches.labels, batches.weights, *factors)
    return losses.detach(), slopes


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings that some layers are taken one pair after the other."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop", category=UserWarning)
        yield


def choose_path(model: FlatModel, x: Tensor, batches: Batches, precision: str = "float32", way: str = "auto") -> str:
    """The path for batches of this shape: by the rule, which gives the same one in every process, or "timed"."""
    if way == "timed":
        return fastest(model, x, batches, precision)
    return rule(model, tuple(batches.features.shape[1:]), x.device.type)


def fastest(model: FlatModel, x: Tensor, batches: Batches, precision: str = "float32") -> str:
    """Return the path that takes the least time for batches of this shape on this device.

    It is found by a trial on at most ``TRIAL_PAIRS`` pairs. For models of this description the answer is remembered as
    long as the process lives. So runs in it that are to have the same bits have them, whatever else the machine
    does.
    """
    if model.mixes_samples and batches.weights is not None:  # other batches than these may be filled up
        return "loop"
    shapes = (
        tuple(batches.features.shape[1:]),
        batches.features.dtype,
        min(len(x), TRIAL_PAIRS),
        batches.weights is None,
    )
    names = tuple(name for name in PATHS if _worth_trying(name, model, x))
    losses = getattr(model.losses, "__qualname__", type(model.losses).__qualname__)
    of_model = str(model.module), tuple(model.shapes.items()), losses, names
    key = (*of_model, x.device.type, x.dtype, torch.get_num_threads(), precision, *shapes)
    if key not in _FASTEST:
        x, batches = x[:TRIAL_PAIRS], batches[:TRIAL_PAIRS]
        _FASTEST[key] = min(names, key=lambda name: _seconds(name, model, x, batches, precision))
    return _FASTEST[key]


def _worth_trying(path: str, model: FlatModel, x: Tensor) -> bool:
    """Whether a path exists for this network, and does not lose on this device whatever the shape: on a CPU
    torch.func's convolutions and recurrent layers do, at .7 to .8 of a loop's speed."""
    if path == "grouped":
        return refusal(model) is None
    if path == "vmap" and model.statistics:
        return False
    heavy = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNNBase)
    return path != "vmap" or x.is_cuda or not any(isinstance(each, heavy) for each in model.module.modules())


def _seconds(path: str, model: FlatModel, x: Tensor, batches: Batches, precision: str) -> float:
    """The shortest of ``TRIALS`` after one to warm up."""
    times = []
    for _ in range(1 + TRIALS):
        start = time.perf_counter()
        PATHS[path](model, x, batches, precision)
        if x.is_cuda:
            torch.cuda.synchronize(x.device)
        times.append(time.perf_counter() - start)
    return min(times[1:])


Path = Callable[[FlatModel, Tensor, Batches, str], tuple[Tensor, Tensor]]
PATHS: dict[str, Path] = {"loop": one_by_one, "vmap": all_at_once, "grouped": grouped_gradients}
