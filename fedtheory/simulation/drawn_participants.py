"""Draws of the participants of several rounds at once: no draw depends on x, but where snapshots adapt.

The draw for a round does not depend on the rounds that are drawn with it, so nothing depends on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..algorithms import ClientRound
from ..algorithms.aggregation import WeightedSum
from ..federations.federation import Pairs
from ..randomness import Axis

if TYPE_CHECKING:
    from .state import Plan, State

DRAWS = 2**18
"""The most (replica, client) pairs whose participation is drawn at once: for as many rounds as there is room."""


WEIGHTS = "weights"
"""Name under which pairs keep the weights of their updates, for rules that go by counts."""


@dataclass(frozen=True)
class Drawn:
    """The participants of one round.

    Attributes:
        of_kind: in which replicas the round is of the first kind, and of the second, (2, replicas); ``None`` where
            there is one kind only.
        counts: how often each client takes part, (replicas, clients) int8.
        pairs: of each way of training, where they are listed and nothing that is remembered says who takes part.
    """

    of_kind: Tensor | None
    counts: Tensor
    pairs: tuple[Pairs | None, ...]
    rows: tuple[Tensor, ...] = ()
    """Of several kinds: the replicas of each."""

    def chosen(self, which: tuple[int, ...]) -> Tensor | None:
        """Return the mask of the replicas in which the round is of one of these kinds; ``None`` stands for all
        replicas."""
        return None if self.of_kind is None or len(which) == len(self.of_kind) else self.of_kind[which[0]]


class Participants:
    """Draws of the participants, in rounds one after the other from the ``first`` on.

    Pairs are left out where they are not to be ``listed``.
    """

    def __init__(self, plan: Plan, ids: Tensor, first: int, listed: bool = True) -> None:
        self.plan, self.ids, self.listed = plan, ids, listed
        self.process = plan.setting.participation.init(plan.keys(Axis.ARBITRARY, ids))
        self.next = first
        self.ahead: list[Drawn] = []

    def step(self, state: State) -> Drawn:
        """Draw the participants of the next round, from the ``state`` before it."""
        return self.steps(state, lambda ahead: 1)[0]

    def steps(self, state: State, number: Callable[[list[Drawn]], int]) -> list[Drawn]:
        """Draw the participants of the next rounds, and return the first ``number`` of those that are drawn."""
        if not self.ahead:
            room = 1 if self.plan.adaptive else DRAWS // (len(self.ids) * self.plan.federation.clients)
            most = max(1, min(room, self.plan.rounds - self.next))
            self.ahead = self._draw(state, most)
            self.next += most
        taken = number(self.ahead)
        found, self.ahead = self.ahead[:taken], self.ahead[taken:]
        return found

    def _draw(self, state: State, number: int) -> list[Drawn]:
        plan, rounds = self.plan, range(self.next, self.next + number)
        counts, self.process = plan.setting.participation.steps(self.process, self.next, number)
        first = None
        if not plan.one_kind:
            first = state.is_first(plan, torch.arange(rounds.start, rounds.stop, device=plan.device)[:, None])
            counts = self._with_own_cohorts(first, counts, rounds)
        of_kind = None if first is None else torch.stack([first, ~first], 1)
        rows = [()] * number if of_kind is None else _true(of_kind)
        pairs = [self._pairs(kind, which, of_kind, counts, rounds) for kind, which in plan.trainings]
        kinds = [None] * number if of_kind is None else list(of_kind)
        return [Drawn(kinds[i], counts[i], tuple(each[i] for each in pairs), rows[i]) for i in range(number)]

    def _with_own_cohorts(self, first: Tensor, counts: Tensor, rounds: range) -> Tensor:
        """``counts``, with the cohorts that kinds of round draw for themselves where they come."""
        for kind, chosen in zip(self.plan.kinds, (first, ~first), strict=True):
            if isinstance(kind, ClientRound) and kind.uniform is not None:
                draws = kind.uniform.init(self.plan.keys(Axis.COHORT, self.ids))
                own, _ = kind.uniform.steps(draws, rounds.start, len(rounds))
                counts = torch.where(chosen[:, :, None], own, counts)
        return counts

    def _pairs(
        self, kind: ClientRound, which: tuple[int, ...], of_kind: Tensor | None, counts: Tensor, rounds: range
    ) -> list[Any]:
        """List the pairs that train in this way in each round."""
        if kind.selection is not None or not self.listed:
            return [None] * len(rounds)
        mask = counts > 0
        if of_kind is not None and len(which) < len(self.plan.kinds):
            mask &= of_kind[:, which[0], :, None]
        found = Pairs.of_rounds(mask, self.ids, self.plan.seed, rounds.start)
        if kind.by_counts:
            found[0].drawn(WEIGHTS, lambda all: self._weights(kind, counts, all, rounds.start))
        return found

    def _weights(self, kind: ClientRound, counts: Tensor, pairs: Pairs, first: int) -> Tensor:
        """Return the weights with which the updates of all pairs are added up, (P,)."""
        assert isinstance(kind.aggregation, WeightedSum)
        round = pairs.round - first
        place = pairs.place if len(counts) == 1 else pairs.place + round * counts[0].numel()
        return kind.aggregation.weights_at(counts.flatten(0, 1), place).to(self.plan.dtype)


def _true(mask: Tensor) -> list[tuple[Tensor, ...]]:
    """Find where each row of ``mask`` (rounds, kinds, replicas) is true."""
    known = mask.cpu().numpy()
    places = torch.from_numpy(known.nonzero()[2]).to(mask.device).split(known.sum(2).flatten().tolist())
    return [places[i : i + mask.shape[1]] for i in range(0, len(places), mask.shape[1])]
