"""Several rounds in one call, where nothing is asked of them one by one: what a round of few numbers takes is how it is
begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..algorithms import ClientRound
from ..algorithms.aggregation import WeightedSum
from ..algorithms.server import Plain
from ..federations.base import Pairs
from ..federations.hessians import Diagonal
from ..federations.linear_training import closed_form, coordinates_apart, drawn_noise
from ..federations.local import PLAIN_SGD
from ..federations.quadratic import Quadratic
from ..randomness import in_memory
from .participants import WEIGHTS, Drawn, Participants
from .state import Plan, State

CACHED = 2**16
"""Bytes of the iterates of the rounds of one call, with Gaussian noise: so these, and what is computed of them, stay in
a cache."""
KEYS = 4 * CACHED
"""Bytes of what the noise of the rounds of one call is drawn from."""
HELD = 5 * CACHED + KEYS
"""Bytes, at most, besides what rounds one by one hold: these, and what observers compute of iterates."""


@dataclass(frozen=True)
class Several:
    """Rounds that are all alike: plain SGD on a quadratic whose coordinates do not meet, updates that are weighted by
    who takes part in the round alone, and a server that adds them up.

    Attributes:
        kind: the round.
    """

    plan: Plan
    fed: Quadratic
    products: Diagonal
    kind: ClientRound

    @classmethod
    def of(cls, plan: Plan) -> Several | None:
        """``None`` where a plan has other rounds, or observers who look at more than where runs are."""
        fed = plan.federation
        if type(fed) is not Quadratic or not coordinates_apart(fed) or plan.adaptive or len(plan.trainings) != 1:
            return None
        (kind, which), *_ = plan.trainings
        weighed = isinstance(kind.aggregation, WeightedSum) and type(kind.aggregation).step is WeightedSum.step
        forgets = weighed and kind.by_counts and not kind.aggregation.remembers and type(kind.server) is Plain
        plain = forgets and not kind.by_rule and kind.local_solver == PLAIN_SGD and len(which) == len(plan.kinds)
        seen = all(each.of_points and each.every == 1 for each in plan.observers)
        here = in_memory(torch.empty(0, device=plan.device))
        assert isinstance(fed.products, Diagonal)
        return cls(plan, fed, fed.products, kind) if plain and seen and here else None

    def advance(self, state: State, round: int, participants: Participants, spacing: int | None) -> int:
        """Move ``state`` on from before this round, but not past where it is recorded or kept, which is every
        ``spacing`` rounds; how many rounds. It is as if they had been made one by one, and not yet observed before the
        next one."""
        plan = self.plan
        stops = (plan.rounds - round, *(every - round % every for every in (plan.record_every, spacing) if every))
        drawn = participants.steps(state, lambda ahead: self._fitting(len(state.x), ahead[: min(stops)]))
        if drawn:
            points = self._made(state.x, drawn)
            if len(drawn) > 1:
                state.observe_rounds(plan, round + 1, points[:-1])
            state.x = points[-1]
        return len(drawn)

    def _fitting(self, replicas: int, ahead: Sequence[Drawn]) -> int:
        """How many rounds are made in one call."""
        size = self.fed.dimension * self.plan.dtype.itemsize
        steps = self.kind.local_steps if self.fed.gradient_noise else 0
        shown = steps if self.fed.noise == "gaussian" else 0
        total = keys = 0
        for number, drawn in enumerate(ahead):
            pairs = len(_pairs(drawn))
            total += size * (replicas + shown * pairs)
            keys += 8 * steps * pairs
            if total > CACHED or keys > KEYS:
                return number
        return len(ahead)

    def _made(self, x: Tensor, rounds: Sequence[Drawn]) -> Tensor:
        """The iterates after each of the rounds, (rounds, replicas, D), from x (replicas, D) on."""
        from . import several_loops as loops

        fed, training, x = self.fed, self.kind.training, x.contiguous()
        some = _pairs(rounds[0])
        ends = np.cumsum([0, *(len(_pairs(drawn)) for drawn in rounds)])
        if len(rounds) > 1:
            whole, begin = some.drawn_with
            some = whole.part(begin, begin + int(ends[-1]))
        weights = some.known(WEIGHTS)
        assert weights is not None
        rate = x.numpy().dtype.type(float(self.kind.server.global_lr))
        start, replica, client, shares = (each.numpy() for each in (x, some.replica, some.client, weights))
        centres, out = fed.centred.numpy(), torch.empty(len(rounds), *x.shape, dtype=x.dtype)
        moved = closed_form(fed, self.products, training)
        if moved is not None:
            loops.make_at_once(start, replica, client, shares, ends, rate, moved.numpy(), centres, out.numpy())
            return out
        from ..federations.entrywise import prepared

        noise = drawn_noise(fed, some, training, x.dtype)
        steps = prepared(len(some), x, noise, training.sizes, training.proximal)
        entries = self.products.diagonals.numpy()
        loops.make(start, replica, client, shares, ends, rate, entries, centres, *steps, out.numpy())
        return out


def _pairs(drawn: Drawn) -> Pairs:
    """Who trains."""
    (pairs,) = drawn.pairs
    assert pairs is not None
    return pairs
