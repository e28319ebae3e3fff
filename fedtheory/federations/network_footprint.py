"""Memory of a network's training and evaluation, measured on a trial."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..neural.model_evaluation import per_sample
from .federation import Footprint, Pairs
from .local_training import LocalTraining
from .memory_ledger import peak_bytes
from .network_losses import some, weighted_gradient

if TYPE_CHECKING:
    from .network import Network

_POINT = 40  # bytes of a point in an evaluation: its loss, whether it is right, its holder, and copies of these
_DRAW = 96  # bytes of a point of a batch while it is drawn
_KERNELS = 1.25  # what libraries take besides tensors, relative to these
_TRIAL_STEPS = 2


def measured_footprint(net: Network, training: LocalTraining, x: Tensor, limit: int) -> tuple[int, Footprint]:
    """Measure the bytes that one client's local training takes, and the footprint.

    The footprint follows from runs of one and of two clients and an evaluation.

    Raises:
        ValueError: as ``check_one``.
    """
    trial = replace(training, steps=min(training.steps, _TRIAL_STEPS), lr=0.0)
    largest = int(net.sizes.argmax())

    def train(pairs: int) -> int:
        # Replicas of one client, since their number is not bounded by that of the clients.
        who = net.of_holder(largest, torch.zeros(pairs, dtype=torch.int64, device=x.device), 0, 0)
        start = x.expand(pairs, -1).contiguous()
        return peak_bytes(lambda: net.local_update(start, _as_clients(net, who), trial, trial.solver.start(start)))

    train(1)  # what is set up once counts in no measurement
    one = train(1)
    check_one(one, limit)
    pair = max(train(2) - one, x.nbytes)
    few = some(net.samples, slice(0, min(net.at_once, len(net.samples))))
    weights = torch.ones(len(few), dtype=torch.float64, device=x.device)
    evaluated = max(
        peak_bytes(lambda: per_sample(net.model, x, few, net.at_once)),
        peak_bytes(lambda: weighted_gradient(net.model, x, few, weights, net.at_once)),
    )
    drawn = _DRAW * (training.steps * (net.batch_size or 1) + int(net.sizes.max()))
    base = max(one - pair, 0) * max(1, net.workers) + evaluated
    return one, Footprint(int(_KERNELS * base), int(_KERNELS * (pair + x.nbytes)) + drawn, _POINT * len(net.samples))


def check_one(one: int, limit: int) -> None:
    """Raise ``ValueError`` if one client's training needs more than ``limit``."""
    if one > limit:
        raise ValueError(f"memory_limit = {limit}: the training of one client needs {one} bytes; allowed is more")


def _as_clients(net: Network, pairs: Pairs) -> Pairs:
    """Return the pairs without the server's place."""
    return replace(pairs, offsets=pairs.offsets[: net.clients + 1])
