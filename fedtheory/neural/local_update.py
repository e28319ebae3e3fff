"""Local training: several steps of every pair from where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from . import bfloat16
from . import compiled_logistic as compiled_logistic
from .augmentation import Augmentation
from .batches import Place, Samples, Visits
from .flat import FlatModel
from .gradients import CHOSEN, choose_path, gradients, one_gradient
from .grouped import leaf_gradients, leaves_of, logistic, logistic_errors
from .local_solver import SGD, Solver, State
from .packed import Batches


class Trained(NamedTuple):
    """Result of local training.

    It has the models (P, D), the solver's state, and the loss of each batch before its step, (P, K), 0 where a pair
    made no step.
    """

    models: Tensor
    state: State
    losses: Tensor


class Sized(NamedTuple):
    """The step sizes of so many pairs in a row."""

    pairs: int
    sizes: Sequence[float]


class Task(NamedTuple):
    """Local training apart from its start and its data."""

    model: FlatModel
    sizes: list[float]
    solver: Solver
    proximal: float = 0.0
    augmentation: Augmentation | None = None
    precision: str = "float32"

    @property
    def is_plain(self) -> bool:
        """Whether a step is x - lr * gradient."""
        return self.solver == SGD() and self.proximal == 0

    def step(self, x: Tensor, start: Tensor, gradient: Tensor, size: float, state: State) -> tuple[Tensor, State]:
        """Return the next x (P, D) and the solver's state."""
        trained = self.model.trained
        slopes = gradient[:, :trained]
        if self.proximal > 0:
            slopes = slopes + self.proximal * (x[:, :trained] - start[:, :trained])
        moved, state = self.solver.step(x[:, :trained], slopes, size, state)
        if self.model.statistics:
            moved = torch.cat([moved, x[:, trained:] - gradient[:, trained:]], dim=1)
        return moved, state


def local_update(
    model: FlatModel,
    start: Tensor,
    samples: Samples,
    visits: Visits,
    lr: float | Sequence[float],
    solver: Solver | None = None,
    *,
    spans: Sequence[Sized] = (),
    state: State | None = None,
    proximal: float = 0.0,
    augmentation: Augmentation | None = None,
    path: str = "auto",
    precision: str = "float32",
) -> Trained:
    """Train P pairs locally from ``start`` (P, D), with steps of size ``lr`` (or one size for each step).

    Where pairs make steps of different sizes, ``spans`` says them for some pairs after others, for all in the sum; they
    take plain steps in the path "grouped", without ``weights`` of visits but in compiled loops.

    ``proximal`` mu adds mu (x - start) to the gradient, before the solver sees it. ``state`` is what the solver
    remembers of each pair from earlier rounds; None starts anew. ``path`` and ``precision`` are those of ``gradients``.

    Raises:
        ValueError: sizes that are not as many as the steps or beyond the dtype, shapes that do not match, or spans
            where there are none.

    >>> model = FlatModel(torch.nn.Linear(3, 2))
    >>> samples = Samples(torch.randn(10, 3), torch.zeros(10).long())
    >>> visits = Visits(torch.randint(10, (4, 5, 2)))
    >>> local_update(model, model.initial(0).expand(4, -1), samples, visits, lr=0.1).losses.shape
    torch.Size([4, 5])
    """
    sizes = _sizes(lr, visits.steps)
    _check_sizes([*sizes, *(size for span in spans for size in span.sizes)], start.dtype)
    if start.shape != (len(visits), model.dimension):
        raise ValueError(f"start has shape {tuple(start.shape)}: allowed is {(len(visits), model.dimension)}")
    task = Task(model, sizes, SGD() if solver is None else solver, proximal, augmentation, precision)
    start = start.detach()
    if len(visits) == 0 or not sizes:
        losses = start.new_zeros(len(visits), len(sizes))
        return Trained(start, task.solver.start(start[:, : model.trained]) if state is None else state, losses)
    if path in CHOSEN:
        few = slice(0, 8)
        path = choose_path(model, start[few], visits[few].batches(samples, 0, augmentation), precision, path)
    if path == "grouped" and task.is_plain and not model.statistics:
        compiled = compiled_logistic.covers(model, start, samples, augmentation, precision)
        if compiled or visits.weights is None:
            return _by_leaves(task, start, samples, visits, spans, compiled)
    if spans:
        allowed = "plain steps in the path 'grouped', and weights of visits in compiled loops alone"
        raise ValueError(f"spans: allowed are {allowed}; the path is {path!r}")
    if path == "loop":
        return _pair_after_pair(task, start, samples, visits, state)
    return _step_after_step(task, start, samples, visits, state, path)


def _step_after_step(
    task: Task, start: Tensor, samples: Samples, visits: Visits, state: State | None, path: str
) -> Trained:
    """All pairs make their first step, then all their second one, ..."""
    x, state = start, task.solver.start(start[:, : task.model.trained]) if state is None else state
    losses = x.new_zeros(len(visits), visits.steps)
    for step, size in enumerate(task.sizes):
        batches = visits.batches(samples, step, task.augmentation)
        found, gradient = gradients(task.model, x, batches, path, task.precision)
        moved, remembered = task.step(x, start, gradient, size, state)
        x, state, losses[:, step] = _where_active(batches, (moved, remembered, found), (x, state))
    return Trained(x, state, losses)


Span = tuple[slice, Sequence[float]]
"""Pairs in a row, and the sizes of their steps."""


def _by_leaves(
    task: Task, start: Tensor, samples: Samples, visits: Visits, sized: Sequence[Sized], compiled: bool
) -> Trained:
    """All pairs at once, with plain steps: parameters stay apart, and move where they are."""
    ends = [0, *accumulate(each.pairs for each in sized)]
    spans: list[Span] = [(slice(*span), each.sizes) for span, each in zip(pairwise(ends), sized, strict=True)]
    spans = spans or [(slice(0, len(visits)), task.sizes)]
    if compiled:
        done = [
            compiled_logistic.train(task.model, start[span], samples, visits[span], list(sizes))
            for span, sizes in spans
        ]
        models, of_steps = (torch.cat(each) for each in zip(*done, strict=True))
        return Trained(models, {}, of_steps)
    leaves = {name: value.clone() for name, value in leaves_of(task.model, start).items()}
    losses = start.new_zeros(len(visits), visits.steps)
    prefix = logistic(task.model)
    if prefix is not None and task.precision == "float32":
        weight, bias = leaves[f"{prefix}weight"], leaves[f"{prefix}bias"]
        losses = _logistic_visits(task, weight, bias[..., None], samples, visits, spans)
    else:
        place = visits.place(samples)
        moving = [[each[span] for each in leaves.values()] for span, _ in spans]
        for step in range(visits.steps):
            batches = visits.batches(samples, step, task.augmentation, place)
            losses[:, step], slopes, _ = leaf_gradients(task.model, leaves, batches, task.precision)
            for (span, sizes), own in zip(spans, moving, strict=True):
                torch._foreach_add_(own, [each[span] for each in slopes], alpha=-sizes[step])
    return Trained(torch.cat([each.flatten(1) for each in leaves.values()], dim=1), {}, losses)


def _logistic_visits(
    task: Task, weight: Tensor, bias: Tensor, samples: Samples, visits: Visits, spans: Sequence[Span]
) -> Tensor:
    """Plain steps of logistic regression, on weight (P, classes, p) and bias (P, classes, 1) in place; the losses."""
    labels, place, keys = visits.labels(samples), visits.place(samples), visits.augmentation_keys
    batch = labels.shape[2]
    ones, losses = weight.new_ones(len(visits), 1, batch), []
    for step in range(visits.steps):
        mine = None if keys is None else keys[:, step]
        features = samples.of(visits.index[:, step], task.augmentation, mine, place).flatten(2)
        each, errors = logistic_errors(weight, bias, features, labels[:, step : step + 1], ones)
        total = errors.sum(2, keepdim=True)
        for span, sizes in spans:
            weight[span].baddbmm_(errors[span], features[span], alpha=-sizes[step] / batch)
            bias[span].sub_(total[span], alpha=sizes[step] / batch)
        losses.append(each)
    return torch.cat(losses, dim=1).mean(2)


def _pair_after_pair(task: Task, start: Tensor, samples: Samples, visits: Visits, state: State | None) -> Trained:
    """The first pair makes all its steps, then the second one, ...: its model stays in the cache."""
    model = task.model
    x, losses = start.clone(), start.new_zeros(len(visits), visits.steps)
    state = task.solver.start(start[:, : model.trained]) if state is None else state
    state = {name: value.clone() for name, value in state.items()}
    place: Place | None = None
    with model.training():
        for p in range(len(visits)):
            mine = visits[p : p + 1]
            place = mine.place(samples) if place is None else place
            own = {name: value[p : p + 1] for name, value in state.items()}
            copied = (
                bfloat16.Copied(model, x[p]) if task.is_plain and bfloat16.covers(model, x, task.precision) else None
            )
            for step, size in enumerate(task.sizes):
                if mine.counts is not None and not mine.counts[0, step].any():
                    continue
                batches = mine.batches(samples, step, task.augmentation, place)
                if copied is not None:
                    losses[p, step] = _step_in_halves(task, copied, batches, size)
                    continue
                losses[p, step], remembered = _own_step(task, x[p], start[p], batches, size, own)
                for name, value in remembered.items():
                    own[name].copy_(value)
    return Trained(x, state, losses)


def _step_in_halves(task: Task, copied: bfloat16.Copied, batches: Batches, size: float) -> Tensor:
    """One plain step of one pair, in place; the loss."""
    factors = task.model.factors(batches.keys, batches.features)
    loss, slopes = one_gradient(task.model, copied.tensors, batches, 0, factors, task.precision)
    copied.move(slopes, size)
    return loss


def _own_step(
    task: Task, x: Tensor, start: Tensor, batches: Batches, size: float, state: State
) -> tuple[Tensor, State]:
    """One step of one pair's x (D,), in place; the loss and what the solver remembers."""
    model = task.model
    tensors = model.unflattened(x.detach())
    leaves = [tensors[name] for name in model.trainable]
    moved = {name: tensors[name].clone() for name in model.statistics}
    factors = model.factors(batches.keys, batches.features)
    loss, slopes = one_gradient(model, tensors | moved, batches, 0, factors, task.precision)
    with torch.no_grad():
        if task.is_plain:
            torch._foreach_add_(leaves, slopes, alpha=-size)
            for name, value in moved.items():
                tensors[name].copy_(value)
        else:
            taken = [tensors[name] - moved[name] for name in moved]
            gradient = torch.cat([each.flatten() for each in (*slopes, *taken)])
            new, state = task.step(x[None], start[None], gradient[None], size, state)
            x.copy_(new[0])
    return loss.detach(), state


def _where_active(
    batches: Batches, new: tuple[Tensor, State, Tensor], old: tuple[Tensor, State]
) -> tuple[Tensor, State, Tensor]:
    """``new`` for the pairs that make this step, ``old`` and loss 0 for the others."""
    if batches.weights is None or batches.counts is None or batches.counts.any(1).all():
        return new
    active = (batches.weights > 0).any(1)
    column = active[:, None]
    state = {name: torch.where(column, value, old[1][name]) for name, value in new[1].items()}
    return torch.where(column, new[0], old[0]), state, torch.where(active, new[2], 0.0)


def _sizes(lr: float | Sequence[float], steps: int) -> list[float]:
    sizes = [float(each) for each in lr] if isinstance(lr, Sequence) else [float(lr)] * steps
    if len(sizes) != steps:
        raise ValueError(f"lr has {len(sizes)} sizes for {steps} steps: allowed is one number, or one for each step")
    return sizes


def _check_sizes(sizes: Sequence[float], dtype: torch.dtype) -> None:
    most = torch.finfo(dtype).max
    for size in sizes:
        if abs(size) > most:
            raise ValueError(f"lr = {size:g}: allowed is what {dtype} can hold, at most {most:g}")
