"""Local training: several steps of every pair from where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .augmentation import Augmentation
from .flat import FlatModel
from .gradients import gradients
from .local_solver import SGD, Solver, State
from .samples import Samples, Visits


class Trained(NamedTuple):
    """Models (P, D) after local training, what the solver remembers, and the loss of each batch before its step,
    (P, K), 0 where a pair made no step."""

    models: Tensor
    state: State
    losses: Tensor


def local_update(
    model: FlatModel,
    start: Tensor,
    samples: Samples,
    visits: Visits,
    lr: float | Sequence[float],
    solver: Solver | None = None,
    *,
    state: State | None = None,
    proximal: float = 0.0,
    augmentation: Augmentation | None = None,
    path: str = "auto",
    precision: str = "float32",
) -> Trained:
    """Local training of P pairs from ``start`` (P, D), with steps of size ``lr`` (or one size for each step).

    ``proximal`` mu adds mu (x - start) to the gradient, before the solver sees it. ``state`` is what the solver
    remembers of each pair from earlier rounds; None starts anew.

    Raises:
        ValueError: sizes that are not as many as the steps, or shapes that do not match.

    >>> model = FlatModel(torch.nn.Linear(3, 2))
    >>> samples = Samples(torch.randn(10, 3), torch.zeros(10).long())
    >>> visits = Visits(torch.randint(10, (4, 5, 2)))
    >>> local_update(model, model.initial(0).expand(4, -1), samples, visits, lr=0.1).losses.shape
    torch.Size([4, 5])
    """
    solver = SGD() if solver is None else solver
    sizes = _sizes(lr, visits.steps)
    if start.shape != (len(visits), model.dimension):
        raise ValueError(f"start has shape {tuple(start.shape)}: allowed is {(len(visits), model.dimension)}")
    trained, x = model.trained, start.detach()
    state = solver.start(x[:, :trained]) if state is None else state
    losses = x.new_zeros(len(visits), visits.steps)
    for step, size in enumerate(sizes):
        batches = visits.batches(samples, step, augmentation)
        found, gradient = gradients(model, x, batches, path, precision)
        slopes = gradient[:, :trained]
        if proximal > 0:
            slopes = slopes + proximal * (x[:, :trained] - start[:, :trained])
        moved, remembered = solver.step(x[:, :trained], slopes, size, state)
        if model.statistics:
            moved = torch.cat([moved, x[:, trained:] - gradient[:, trained:]], dim=1)
        x, state, losses[:, step] = _where_active(batches.weights, (moved, remembered, found), (x, state))
    return Trained(x, state, losses)


def _where_active(
    weights: Tensor | None, new: tuple[Tensor, State, Tensor], old: tuple[Tensor, State]
) -> tuple[Tensor, State, Tensor]:
    """``new`` for the pairs that make this step, ``old`` and loss 0 for the others."""
    active = None if weights is None else (weights > 0).any(1)
    if active is None or active.all():
        return new
    column = active[:, None]
    state = {name: torch.where(column, value, old[1][name]) for name, value in new[1].items()}
    return torch.where(column, new[0], old[0]), state, torch.where(active, new[2], 0.0)


def _sizes(lr: float | Sequence[float], steps: int) -> list[float]:
    sizes = [float(each) for each in lr] if isinstance(lr, Sequence) else [float(lr)] * steps
    if len(sizes) != steps:
        raise ValueError(f"lr has {len(sizes)} sizes for {steps} steps: allowed is one number, or one for each step")
    return sizes
