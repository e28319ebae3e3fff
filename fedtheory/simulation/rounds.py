"""One round of all replicas."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..algorithms import ClientRound, ServerRound, Updates
from ..algorithms.aggregation import Memory
from ..federations.base import Pairs
from ..federations.local import LocalTraining
from ..randomness import Axis
from .local import train
from .observing import Training
from .state import Plan, State


def advance(plan: Plan, state: State, round: int, participation: Any) -> Any:
    """Move ``state`` on by one round; the participation process's next state."""
    first = state.is_first(plan, round)
    counts, participation = plan.setting.participation.step(participation, round)
    before, after, memory = state.x, state.x, state.memory
    of_kind = torch.stack([first, ~first])
    for each, chosen in zip(plan.kinds, of_kind, strict=True):
        kind = each.at(round)
        if isinstance(kind, ServerRound):
            step = float(kind.server_lr) * _server_gradient(plan, state, round, chosen)
            after = torch.where(chosen[:, None], before - step, after)
        else:
            counts = _with_own_cohort(plan, state, round, kind, chosen, counts)
    for kind, which in plan.trainings:
        chosen = of_kind[list(which)].any(0)
        moved, remembered = _client_round(plan, state, round, kind.at(round), chosen, counts)
        after = _where(chosen, moved, after)
        memory = memory | {name: _where(chosen, value, memory[name]) for name, value in remembered.items()}
    state.x, state.memory = after, memory
    if plan.adaptive:
        accuracy = state.current["training_accuracy"]
        state.probability = plan.setting.algorithm.next_probability(state.probability, state.accuracy, accuracy)
        state.accuracy = accuracy
    return participation


def _client_round(
    plan: Plan, state: State, round: int, kind: ClientRound, chosen: Tensor, counts: Tensor
) -> tuple[Tensor, Memory]:
    """x and the memory after a round in which clients train, right in the ``chosen`` replicas."""
    before, memory = state.x, state.memory
    remembered: Memory = {}
    counts = torch.where(chosen[:, None], counts, 0)
    if kind.selection is not None:
        keys = plan.keys(Axis.SELECTION, state.ids)
        counts, remembered = kind.selection.step(counts > 0, keys, round, memory)
        memory = memory | remembered
    pairs = Pairs.of(counts > 0, state.ids, plan.seed, round)
    sizes = kind.local_lr
    lr = tuple(map(float, sizes)) if isinstance(sizes, tuple) else float(sizes)
    how = LocalTraining(kind.local_steps, lr, float(kind.proximal), kind.local_solver)
    summed = any(observer.needs_gradients for observer in plan.observers)
    delta, kept, gradients = train(plan.federation, before, pairs, how, memory, plan.pairs_at_once, summed)
    updates = Updates(delta, pairs, counts)
    training = Training(kind, chosen, counts, memory, pairs, how, gradients)
    for observer in plan.observers:
        observer.after_training(plan, state, round, training)
    delta, own = kind.aggregation.step(updates, memory)
    moved, servers = kind.server.step(before, delta, memory)
    steps = (counts > 0).any(1) | kind.aggregation.steps_when_empty
    servers = {name: _where(steps, value, memory[name]) for name, value in servers.items()}
    return _where(steps, moved, before), remembered | own | servers | kept


def _where(chosen: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """``new`` in the chosen replicas, ``old`` in the others."""
    if chosen.all():
        return new
    return torch.where(chosen.view(-1, *(1,) * (new.dim() - 1)), new, old)


def _with_own_cohort(plan: Plan, state: State, round: int, kind: ClientRound, chosen: Tensor, counts: Tensor) -> Tensor:
    """``counts``, in the chosen replicas those of the cohort that this kind of round draws, if it draws one."""
    if kind.uniform is None or not chosen.any():
        return counts
    draws = kind.uniform.init(plan.keys(Axis.COHORT, state.ids))
    return torch.where(chosen[:, None], kind.uniform.step(draws, round)[0], counts)


def _server_gradient(plan: Plan, state: State, round: int, chosen: Tensor) -> Tensor:
    """The server's stochastic gradient at x in the chosen replicas, 0 in others, (replicas, D)."""
    gradient = torch.zeros_like(state.x)
    if chosen.any():
        gradient[chosen] = plan.federation.server_gradient(state.x[chosen], state.ids[chosen], plan.seed, round)
    return gradient
