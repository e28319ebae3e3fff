"""One round of all replicas."""

from __future__ import annotations

import torch
from torch import Tensor

from ..algorithms import ClientRound, OwnRound, ServerRound, Updates
from ..algorithms.aggregation import Memory
from ..federations.federation import Pairs
from ..randomness import Axis
from .chunked_training import LocalRound, Rounds
from .custom_steps import own_round
from .drawn_participants import WEIGHTS, Drawn
from .observer import Training
from .state import Plan, State


def advancing(plan: Plan, state: State, round: int, drawn: Drawn) -> Rounds[None]:
    """Move ``state`` on by one round, with the participants that were drawn for it."""
    after, memory = state.x, state.memory
    for i, each in enumerate(plan.kinds):
        kind, chosen = each.at(round), drawn.chosen((i,))
        if isinstance(kind, OwnRound):
            if i == 0:  # in all replicas: its kinds are one
                after, own = own_round(plan, state, round, kind, drawn.counts)
                memory = memory | own
        elif isinstance(kind, ServerRound):
            after = _where(chosen, _server_round(plan, state, round, kind, drawn.rows[i]), after)
    for (kind, which), pairs in zip(plan.trainings, drawn.pairs, strict=True):
        chosen = drawn.chosen(which)
        moved, remembered = yield from _client_round(plan, state, round, kind.at(round), chosen, drawn.counts, pairs)
        after = _where(chosen, moved, after)
        memory = memory | {name: _where(chosen, value, memory[name]) for name, value in remembered.items()}
    state.x, state.memory = after, memory
    if plan.adaptive:
        accuracy = state.current["training_accuracy"]
        state.probability = plan.setting.algorithm.next_probability(state.probability, state.accuracy, accuracy)
        state.accuracy = accuracy


def _client_round(
    plan: Plan, state: State, round: int, kind: ClientRound, chosen: Tensor | None, counts: Tensor, pairs: Pairs | None
) -> Rounds[tuple[Tensor, Memory]]:
    """x and the memory after a round in which clients train, right in the ``chosen`` replicas; ``None``: in all."""
    before, memory = state.x, state.memory
    remembered: Memory = {}
    if chosen is not None:
        counts = torch.where(chosen[:, None], counts, 0)
    if kind.selection is not None:
        keys = plan.keys(Axis.SELECTION, state.ids)
        counts, remembered = kind.selection.step(counts > 0, keys, round, memory)
        memory = memory | remembered
    if pairs is None:
        pairs = Pairs.of(counts > 0, state.ids, plan.seed, round)
    how = kind.training
    asked = LocalRound(plan.federation, before, pairs, how, memory, plan.pairs_at_once, plan.summed)
    delta, kept, gradients = yield asked
    updates = Updates(delta, pairs, counts, pairs.known(WEIGHTS))
    if plan.watching:
        everywhere = torch.ones_like(state.ids, dtype=torch.bool) if chosen is None else chosen
        training = Training(kind, everywhere, counts, memory, pairs, how, gradients)
        for observer in plan.watching:
            observer.after_training(plan, state, round, training)
    delta, own = kind.aggregation.step(updates, memory)
    moved, servers = kind.server.step(before, delta, memory)
    steps = None if plan.somebody or kind.aggregation.steps_when_empty else (counts > 0).any(1)
    servers = {name: _where(steps, value, memory[name]) for name, value in servers.items()}
    if state.tables:
        state.changed.append(pairs.place)
    for name, value in kept.items():  # in place: of all clients it may be large, and few of them have trained
        memory[name][pairs.replica, pairs.client] = value
    return _where(steps, moved, before), remembered | own | servers


def _where(chosen: Tensor | None, new: Tensor, old: Tensor) -> Tensor:
    """``new`` in the chosen replicas, ``old`` in the others; ``None``: all are chosen. What has changed in its place is
    new in the chosen ones alone."""
    if chosen is None or new is old:
        return new
    return torch.where(chosen.view(-1, *(1,) * (new.dim() - 1)), new, old)


def _server_round(plan: Plan, state: State, round: int, kind: ServerRound, rows: Tensor) -> Tensor:
    """x after the server's steps in these rows; others stay."""
    if not len(rows):
        return state.x
    x, ids = state.x.index_select(0, rows), state.ids.index_select(0, rows)
    for step in range(kind.steps):
        x = x - float(kind.server_lr) * plan.federation.server_gradient(x, ids, plan.seed, round, step)
    return state.x.index_copy(0, rows, x)
