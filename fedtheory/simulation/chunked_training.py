"""Local training of a round's (replica, client) pairs, as many at once as memory allows."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..algorithms.aggregation import Memory
from ..federations.federation import ExactFederation, Federation, Pairs
from ..federations.local_training import LocalTraining
from ..neural.local_solver import State

PREFIX = "local_"
"""Prefix of the names under which an algorithm's memory has what a local solver keeps of every client."""


def train(
    fed: Federation,
    before: Tensor,
    pairs: Pairs,
    training: LocalTraining,
    memory: Memory,
    at_once: int | None = None,
    summed: bool = False,
) -> tuple[Tensor, Memory, Tensor | None]:
    """Train every pair locally from its replica's x (replicas, D), ``at_once`` pairs together, by default all.

    Returns:
        the change of each pair's x, (P, D); what the local solver keeps of every pair then, (P, ...) by name; and, if
        ``summed``, the sums of the EXACT local gradients at the (noisy) local iterates k = 0..K-1, (P, D). These need
        an ``ExactFederation``.
    """
    if len(pairs) <= (at_once or len(pairs)) and not summed and not training.solver.keep:
        start = before.index_select(0, pairs.replica)
        return fed.local_change(start, pairs, training, training.solver.start(start))[0], {}, None
    delta = torch.empty(len(pairs), before.shape[1], dtype=before.dtype, device=before.device)
    total = torch.zeros_like(delta) if summed else None
    known = {name: value for name, value in memory.items() if name.startswith(PREFIX)}
    kept: list[State] = []
    for first, last in _parts(len(pairs), at_once or len(pairs)):
        part = pairs.part(first, last) if last - first < len(pairs) else pairs
        start, where = before.index_select(0, part.replica), (part.replica, part.client)
        if training.solver.keep:
            state = {name.removeprefix(PREFIX): value[where] for name, value in known.items()}
        else:
            state = training.solver.start(start)
        if total is None:
            delta[first:last], state = fed.local_change(start, part, training, state)
        else:
            assert isinstance(fed, ExactFederation)
            x, state, total[first:last] = _with_exact_sums(fed, start, part, training, state)
            torch.sub(x, start, out=delta[first:last])
        kept.append(state)
    after = {name: torch.cat([state[name.removeprefix(PREFIX)] for state in kept]) for name in known if kept}
    return delta, after, total


def _parts(count: int, size: int) -> Iterator[tuple[int, int]]:
    """0 to count in parts of at most ``size``, of nearly equal size."""
    number = -(-count // max(size, 1))
    for i in range(number):
        yield i * count // number, (i + 1) * count // number


def _with_exact_sums(
    fed: ExactFederation, start: Tensor, pairs: Pairs, training: LocalTraining, state: State
) -> tuple[Tensor, State, Tensor]:
    """Local training, and the sums of the exact gradients on its way."""
    x, total = start, torch.zeros_like(start)
    for step, size in enumerate(training.sizes):
        exact = fed.exact_gradient(x, pairs)
        total += exact
        gradient = training.pulled(x, start, fed.gradient_from(exact, x, pairs.at_step(pairs.step + step)))
        x, state = training.solver.step(x, gradient, size, state)
    return x, state, total
