"""One round of an algorithm with the updates of real clients, in numpy: the same objects that the engine asks.

A model is one row, x (1, D) float64, as if it were the only replica. Draws are those of replica 0 of a simulation with
the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..algorithms.aggregation import (
    Aggregation,
    Constant,
    GivenWeights,
    GroupWeights,
    Known,
    ObjectiveShares,
    SampleShares,
    Updates,
)
from ..algorithms.algorithm import Algorithm, ClientRound, ServerRound
from ..algorithms.cohort_rules import GroupSelection
from ..participation import Keys, Uniform
from ..randomness import Axis, words

ONE_EACH = (ObjectiveShares, Constant, GivenWeights, Known, GroupWeights)
"""Rules that have a number for each client, so that clients have to be known by name beforehand."""

Memory = dict[str, Any]
"""Arrays by name, which the parts of an algorithm remember. The parts say that they compute with tensors, and compute
with arrays as well, so that what they take and give is ``Any`` here."""


def checked_kinds(algorithm: Algorithm, clients: int, named: bool) -> tuple[ClientRound | ServerRound, ...]:
    """Return the algorithm's kinds of round, bound to so many clients.

    Raises:
        ValueError: a kind of round cannot be deployed: the error says which and why.
    """
    kinds = []
    for kind in algorithm.kinds:
        if isinstance(kind, ServerRound):
            kinds.append(kind)
            continue
        if not isinstance(kind, ClientRound):
            raise ValueError(f"algorithm = {algorithm}: allowed is one whose server averages what clients train")
        if not kind.trains_alike:
            raise ValueError(f"local_steps = {kind.local_steps}: allowed is one number for all clients")
        rule = kind.aggregation
        if isinstance(rule, Known) and rule.participation_probability is None:
            raise ValueError(
                "participation_probability = None: allowed is one for each client, as nobody knows it here"
            )
        by_client = isinstance(rule, ONE_EACH) or isinstance(kind.selection, GroupSelection)
        if (by_client or _given(rule)) and not named:
            name = type(kind.selection if isinstance(kind.selection, GroupSelection) else rule).__name__
            raise ValueError(f"clients = {clients}: allowed with {name} are their names, in the order of its numbers")
        if kind.selection is not None:
            kind.selection.check(clients)
        if kind.uniform is not None:
            kind.uniform.check(clients)
        kinds.append(kind if _by_report(rule) else replace(kind, aggregation=rule.bound(None, clients)))  # type: ignore[arg-type]
    return tuple(kinds)


def _by_report(rule: Aggregation) -> bool:
    """Whether clients count by the samples that they report."""
    return isinstance(rule, SampleShares) and rule.samples is None


def _given(rule: Aggregation) -> bool:
    return isinstance(rule, SampleShares) and rule.samples is not None


def initial_memory(kinds: Sequence[ClientRound | ServerRound], x: np.ndarray, clients: int) -> Memory:
    """Return what the parts of the kinds of round remember before round 0."""
    memory: Memory = {}
    model: Any = x
    for kind in kinds:
        if isinstance(kind, ClientRound):
            parts = (kind.selection, kind.server)
            for part in parts:
                memory |= {} if part is None else part.initial(model)
            memory |= kind.aggregation.initial(model, clients)
    return memory


def is_first(algorithm: Algorithm, seed: int, round: int, probability: np.ndarray) -> bool:
    """Whether a round is of the algorithm's first kind."""
    given: Any = probability
    return bool(algorithm.is_first(_keys(seed, Axis.SNAPSHOT, 1), round, given)[0])


def _keys(seed: int, axis: Axis, clients: int) -> Keys:
    """Return the keys of the only replica's draws."""
    replica: Any = np.arange(1)
    return Keys(seed, axis, replica, clients)


def asked(kind: ClientRound, seed: int, round: int, available: np.ndarray, memory: Memory) -> np.ndarray:
    """Return how often each client is drawn for a round, (clients,), of those ``available`` (clients,) bool. A cohort
    that a kind of round draws for itself may have clients who are not."""
    if kind.uniform is not None:
        return cohort(kind.uniform, seed, round, len(available))
    if kind.selection is None:
        return available.astype(np.int8)
    there: Any = available[None]
    drawn: Any = kind.selection.step(there, _keys(seed, Axis.SELECTION, len(available)), round, memory)[0]
    return np.asarray(drawn[0])


def cohort(uniform: Uniform, seed: int, round: int, clients: int) -> np.ndarray:
    """Draw how often each client is in a uniform cohort, (clients,) int8, as ``Uniform`` draws it.

    >>> cohort(Uniform(2), 0, 5, 4).tolist()
    [1, 0, 1, 0]
    """
    if not uniform.replacement and uniform.cohort == clients:
        return np.ones(clients, dtype=np.int8)
    columns = np.arange(uniform.cohort if uniform.replacement else clients)
    drawn = words(seed, Axis.COHORT, 0, columns, round)
    if uniform.replacement:
        return np.bincount(drawn % clients, minlength=clients).astype(np.int8)
    counts = np.zeros(clients, dtype=np.int8)
    counts[np.argsort(drawn, kind="stable")[: uniform.cohort]] = 1
    return counts


def client_round(
    kind: ClientRound,
    round: int,
    x: np.ndarray,
    available: np.ndarray,
    counts: np.ndarray,
    delta: np.ndarray,
    examples: np.ndarray,
    memory: Memory,
) -> tuple[np.ndarray, Memory]:
    """Return x (1, D) and the memory after a round in which clients have trained.

    Args:
        available: (clients,) bool, among whom the round's participants were selected.
        counts: (clients,) int8, how often each client counts who has answered; 0 for others.
        delta: (P, D), the updates of those, in the order of the clients.
        examples: (clients,), how many they report.
    """
    memory = dict(memory)
    there: Any = available[None]
    drawn: Any = counts[None]
    given: Any = delta
    model: Any = x
    if isinstance(kind.selection, GroupSelection):
        rates = kind.selection.rates(kind.selection.sums(there), round, memory)
        memory |= kind.selection.after(rates, kind.selection.sums(drawn > 0), round, memory)
    rule = kind.aggregation
    if _by_report(rule):
        rule = SampleShares(tuple(Fraction(n) for n in examples.tolist()))
    places = np.flatnonzero(counts)
    pairs: Any = SimpleNamespace(replica=np.zeros_like(places), client=places, place=places)
    update, own = rule.step(Updates(given, pairs, drawn), memory)
    moved, servers = kind.server.step(model, update, memory)
    if not (counts.any() or rule.steps_when_empty):
        return x, memory | own
    return np.asarray(moved), memory | own | servers
