"""Local training of rounds' (replica, client) pairs, as many at once as memory allows.

A way through rounds asks for the training that it needs, so that several ways can be gone at once.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from ..algorithms.aggregation import Memory
from ..federations.federation import Asked, ExactFederation, Federation, Pairs
from ..federations.local_training import LocalTraining
from ..neural.local_solver import State

T = TypeVar("T")

PREFIX = "local_"
"""Prefix of the names under which an algorithm's memory has what a local solver keeps of every client."""


class LocalRound(NamedTuple):
    """The local training of a round: every pair, from its replica's x.

    Attributes:
        before: x (replicas, D).
        memory: the algorithm's.
        at_once: how many pairs train together; ``None``: all.
        summed: whether the sums of the EXACT local gradients at the (noisy) local iterates k = 0..K-1 are asked for,
            which need an ``ExactFederation``.
    """

    fed: Federation
    before: Tensor
    pairs: Pairs
    training: LocalTraining
    memory: Memory
    at_once: int | None = None
    summed: bool = False

    @property
    def known(self) -> dict[str, Tensor]:
        """The part of the memory that is of local solvers."""
        return {name: value for name, value in self.memory.items() if name.startswith(PREFIX)}

    def asked(self, pairs: Pairs) -> Asked:
        """Return what is asked of the federation for some of the pairs."""
        start, where = self.before.index_select(0, pairs.replica), (pairs.replica, pairs.client)
        if self.training.solver.keep:
            state = {name.removeprefix(PREFIX): value[where] for name, value in self.known.items()}
        else:
            state = self.training.solver.start(start)
        return Asked(start, pairs, self.training, state)


Trained = tuple[Tensor, "Memory", Tensor | None]
"""The change of each pair's x, (P, D); what the local solver keeps of every pair then, (P, ...) by name; and the sums
of exact gradients, (P, D), if they were asked for."""
Rounds = Generator[LocalRound, Trained, T]
"""A way through rounds that asks for their training, is sent what was trained, and ends with a result."""


def together(several: Sequence[Rounds[T]]) -> list[T]:
    """Go several ways at once, and return their results: what they ask for at a time is trained together."""
    results: dict[int, T] = {}
    trained: dict[int, Any] = dict.fromkeys(range(len(several)))
    while trained:
        asked: dict[int, LocalRound] = {}
        for number, given in trained.items():
            try:
                asked[number] = several[number].send(given)
            except StopIteration as end:
                results[number] = end.value
        trained = dict(zip(asked, train_together(list(asked.values())), strict=True))
    return [results[number] for number in range(len(several))]


def train(asked: LocalRound) -> Trained:
    """Train every pair of a round locally."""
    fed, before, pairs, training, _, at_once, summed = asked
    if len(pairs) <= (at_once or len(pairs)) and not summed and not training.solver.keep:
        return fed.local_change(*asked.asked(pairs))[0], {}, None
    delta = torch.empty(len(pairs), before.shape[1], dtype=before.dtype, device=before.device)
    total = torch.zeros_like(delta) if summed else None
    kept: list[State] = []
    for first, last in _parts(len(pairs), at_once or len(pairs)):
        own = asked.asked(pairs.part(first, last) if last - first < len(pairs) else pairs)
        if total is None:
            delta[first:last], state = fed.local_change(*own)
        else:
            assert isinstance(fed, ExactFederation)
            x, state, total[first:last] = _with_exact_sums(fed, own)
            torch.sub(x, own.start, out=delta[first:last])
        kept.append(state)
    after = {name: torch.cat([state[name.removeprefix(PREFIX)] for state in kept]) for name in asked.known if kept}
    return delta, after, total


def train_together(rounds: Sequence[LocalRound]) -> list[Trained]:
    """Train the pairs of several rounds, in one batch where they are of networks that are packed alike."""
    batches: dict[Hashable, list[int]] = {}
    for number, each in enumerate(rounds):
        batches.setdefault(_way(each) or number, []).append(number)
    found: dict[int, Trained] = {}
    for batch in batches.values():
        numbers = sorted(batch, key=lambda number: rounds[number].training.sizes) if len(batch) > 1 else batch
        for some in _fitting(rounds, numbers):
            found |= zip(some, _joined([rounds[number] for number in some]), strict=True)
    return [found[number] for number in range(len(rounds))]


def _way(asked: LocalRound) -> Hashable:
    """What rounds have to share to be trained in one batch; ``None``: this one is trained alone."""
    whole = asked.at_once is None or len(asked.pairs) <= asked.at_once
    return asked.fed.way(asked.training) if whole and not asked.summed else None


def _fitting(rounds: Sequence[LocalRound], numbers: Sequence[int]) -> Iterator[list[int]]:
    """The rounds in batches of no more pairs than may train together."""
    some, pairs = list[int](), 0
    for number in numbers:
        more, most = len(rounds[number].pairs), rounds[number].at_once
        if some and most is not None and pairs + more > most:
            yield some
            some, pairs = [], 0
        some.append(number)
        pairs += more
    yield some


def _joined(rounds: Sequence[LocalRound]) -> list[Trained]:
    if len(rounds) == 1:
        return [train(each) for each in rounds]
    done = rounds[0].fed.changes_together([each.asked(each.pairs) for each in rounds])
    return [
        (delta, {name: state[name.removeprefix(PREFIX)] for name in each.known}, None)
        for each, (delta, state) in zip(rounds, done, strict=True)
    ]


def _parts(count: int, size: int) -> Iterator[tuple[int, int]]:
    """0 to count in parts of at most ``size``, of nearly equal size."""
    number = -(-count // max(size, 1))
    for i in range(number):
        yield i * count // number, (i + 1) * count // number


def _with_exact_sums(fed: ExactFederation, asked: Asked) -> tuple[Tensor, State, Tensor]:
    """Local training, and the sums of the exact gradients on its way."""
    start, pairs, training, state = asked
    x, total = start, torch.zeros_like(start)
    for step, size in enumerate(training.sizes):
        exact = fed.exact_gradient(x, pairs)
        total += exact
        gradient = training.pulled(x, start, fed.gradient_from(exact, x, pairs.at_step(pairs.step + step)))
        x, state = training.solver.step(x, gradient, size, state)
    return x, state, total
