"""A round of an algorithm of one's own, on tensors: its step is called once for all replicas.

What a step returns may depend on what it is given alone. In the rounds 0, 1, 2, 4, 8, ... it is called twice: a step
that then returns something else keeps or draws what is not in its memory, and checkpoints would not bring it back.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..algorithms.aggregation import AverageParticipating, Memory
from ..algorithms.algorithm import OwnRound
from ..algorithms.custom_algorithm import (
    Outcomes,
    Round,
    StepError,
    check_cohort,
    check_each,
    check_point,
    check_where,
    checked_chance,
    checked_numbers,
    checked_size,
    checked_weight,
    numbers_at,
    taken,
)
from ..federations.federation import Federation, Pairs
from ..federations.local_training import PLAIN_SGD, LocalTraining
from ..own import place
from ..participation import Keys
from ..quantities import check_values
from ..randomness import Axis, normals, uniforms, words
from ..rationals import checked_count

if TYPE_CHECKING:
    from .state import Plan, State

FAR = 40
"""Bits of the number of a round: a round's second cohort is drawn as that of a round 2^40 later."""


class TensorRound(Round):
    """A round of all replicas, with x (replicas, D) and counts (replicas, clients). What a client, the server or the
    step is asked to draw is keyed by how much it was asked for before in this round; the first number that the step
    draws for all, and the first cohort, as built-in algorithms draw of which kind a round is, and whom it asks.

    With ``outcomes``, draws and orders are those, the same in all replicas, and there is no ``noise``.
    """

    def __init__(
        self,
        fed: Federation,
        x: Tensor,
        counts: Tensor,
        ids: Tensor,
        seed: int,
        round: int,
        outcomes: Outcomes | None = None,
    ) -> None:
        self.fed, self.dimension, self.ids, self.seed, self.index = fed, x.shape[1], ids, seed, round
        self.dtype, self.outcomes = x.dtype, outcomes
        self.asked: Counter[str] = Counter()  # one for all participants that the round may have
        self._take(counts)

    def _take(self, counts: Tensor) -> None:
        """Note the participants."""
        self.counts, self.pairs = counts, Pairs.of(counts > 0, self.ids, self.seed, self.index)
        self.count = counts.to(self.dtype)[:, :, None]
        self.share = AverageParticipating().weights(counts, {}).to(self.dtype)[:, :, None]
        self.present = (counts > 0).to(self.dtype)[:, :, None]
        self.somebody = (counts > 0).any(1, keepdim=True).to(self.dtype)

    def cohort(self, size: int, where: Any = 1, replacement: bool = False) -> TensorRound:
        clients = self.counts.shape[1]
        process = check_cohort(size, clients, replacement)
        if isinstance(where, Tensor):
            check_point(where, Tensor, ((len(self.ids), 1),), "where")
            check_where(next((each for each in where.ravel().tolist() if each not in (0, 1)), 0))
        here = torch.as_tensor(check_where(where) if not isinstance(where, Tensor) else where, device=self.ids.device)
        if self.outcomes is not None:
            told = self.outcomes.cohort(clients, size, replacement, bool((here == 1).all()))
            drawn = self.counts if told is None else torch.tensor([told], dtype=self.counts.dtype)
        else:
            turn = self.index + (self.asked["cohort"] << FAR)  # no run has so many rounds
            self.asked["cohort"] += 1
            drawn, _ = process.step(process.init(Keys(self.seed, Axis.COHORT, self.ids, clients)), turn)
        found = copy(self)
        found._take(torch.where(here == 1, drawn, self.counts))
        return found

    def each(self, values: Sequence[Any]) -> Tensor:
        own = torch.tensor([float(value) for value in values], dtype=self.dtype, device=self.ids.device)
        return own[: check_each(values, self.count.shape[1])][None, :, None]

    def train(self, start: Tensor, local_lr: Any, local_steps: int = 1, proximal: Any = 0) -> Tensor:
        check_values({"local_steps": local_steps})
        steps = int(local_steps)
        sizes = checked_numbers("local_lr", local_lr)  # that may be others each time
        sizes = sizes if isinstance(local_lr, tuple) else sizes * steps
        (pull,) = checked_numbers("proximal", proximal)
        how = LocalTraining(steps, sizes, pull)
        at = self._at_participants(start)
        change, _ = self.fed.local_change(at, self.pairs.at_step(self.asked["clients"]), how, PLAIN_SGD.start(at))
        self.asked["clients"] += steps
        return self._spread(change)

    def gradient(self, x: Tensor) -> Tensor:
        found = self.fed.gradient(self._at_participants(x), self.pairs.at_step(self.asked["clients"]))
        self.asked["clients"] += 1
        return self._spread(found)

    def proximal(self, x: Tensor, weight: Any) -> Tensor:
        return self._spread(self.fed.proximal_way(self._at_participants(x), self.pairs, checked_weight(weight)))

    def server_gradient(self, x: Tensor) -> Tensor:
        check_point(x, Tensor, ((len(self.ids), self.dimension),))
        self.asked["server"] += 1
        return self.fed.server_gradient(x, self.ids, self.seed, self.index, self.asked["server"] - 1)

    def draw(self, probability: Any, clients: bool = False) -> Tensor:
        chance = float(checked_chance(probability))
        if self.outcomes is not None:
            here = [bool(each) for each in self.present[0, :, 0].tolist()]
            told = self.outcomes.draws(Fraction(chance), here if clients else [True])
            found = torch.tensor(told, dtype=self.dtype).expand(len(self.ids), -1)
            return found[..., None] if clients else found
        if clients or self.asked["draws"]:
            found = uniforms(self._words(torch.arange(self.count.shape[1]) if clients else 0)) < chance
        else:
            self.asked["draws"] += 1
            found = uniforms(words(self.seed, Axis.SNAPSHOT, self.ids, self.index))[:, None] < chance
        return found.to(self.dtype)[..., None] * self.present if clients else found.to(self.dtype)

    def permutation(self, number: int) -> list[Tensor]:
        items = torch.arange(checked_count("number", number), device=self.ids.device)
        if self.outcomes is not None:
            order = torch.tensor([self.outcomes.order(number)] * len(self.ids))
        else:
            order = uniforms(self._words(items)).argsort(1)  # no two of 2^52 numbers are equal but by chance
        return list((order[:, :, None, None] == items[:, None]).to(self.dtype).unbind(1))

    def noise(self, size: Any, clients: bool = False) -> Tensor:
        scale = float(checked_size(size)) / math.sqrt(self.dimension)
        shape = self.count.shape[:2] if clients else self.count.shape[:1]
        if self.outcomes is not None:
            return torch.zeros(*shape, self.dimension, dtype=self.dtype)
        keys = self._words(torch.arange(self.count.shape[1]) if clients else 0)
        found = normals(keys if clients else keys[:, 0], self.dimension, self.dtype, scale)
        return found * self.present if clients else found

    def _words(self, column: Tensor | int) -> Tensor:
        """Random words of a new draw of the step, (replicas, columns)."""
        self.asked["draws"] += 1
        column = (
            column.to(self.ids.device) if isinstance(column, Tensor) else torch.tensor([column], device=self.ids.device)
        )
        return words(self.seed, Axis.STEP, self.ids[:, None], column, self.index, self.asked["draws"])

    def _at_participants(self, x: Tensor) -> Tensor:
        """(P, D), of one point for all clients, or one for each."""
        replicas, clients, _ = self.count.shape
        if getattr(x, "shape", None) == (replicas, self.dimension):
            return x[self.pairs.replica]
        check_point(x, Tensor, ((replicas, self.dimension), (replicas, clients, self.dimension)))
        return x[self.pairs.replica, self.pairs.client]

    def _spread(self, values: Tensor) -> Tensor:
        """(P, D) as (replicas, clients, D)."""
        replicas, clients, _ = self.count.shape
        empty = torch.zeros(replicas, clients, values.shape[1], dtype=values.dtype, device=values.device)
        return empty.index_put((self.pairs.replica, self.pairs.client), values)


def own_round(plan: Plan, state: State, round: int, kind: OwnRound, counts: Tensor) -> tuple[Tensor, Memory]:
    """x and the memory after a round with these counts (replicas, clients).

    Raises:
        StepError: the step is not one; see ``algorithms.custom_algorithm.taken``.
    """

    def call() -> tuple[Tensor, Memory]:
        given = {name: state.memory[name].clone() for name, _ in kind.memory}
        told = TensorRound(plan.federation, state.x, counts, state.ids, plan.seed, round)
        return taken(kind, state.x.clone(), given, told, numbers)

    numbers = numbers_at(kind, round, float)
    x, memory = call()
    if round & (round - 1) == 0:
        again, remembered = call()
        differing = [name for name in memory if not _same(memory[name], remembered[name])]
        if differing or not _same(x, again):
            what = differing[0] if differing else "x"
            raise StepError(
                f"{place(kind.step)}: algorithm {kind.name}: two calls of step in round {round} with the same "
                f"arguments return another {what}: allowed is a step that keeps nothing outside its memory and "
                "draws nothing by itself"
            )
    return x, memory


def _same(one: Tensor, other: Tensor) -> bool:
    return bool(((one == other) | (one.isnan() & other.isnan())).all())
