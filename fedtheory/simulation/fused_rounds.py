"""Several rounds in one call, where nothing is asked of them one by one.

A round of few numbers takes most of its time for the call itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..algorithms import ClientRound
from ..algorithms.aggregation import WeightedSum
from ..algorithms.server_step import Plain
from ..federations.attendance import places
from ..federations.federation import Pairs
from ..federations.hessians import Diagonal
from ..federations.linear_training import closed_form, coordinates_apart, drawn_noise
from ..federations.quadratic import Quadratic
from ..randomness import in_memory
from .drawn_participants import WEIGHTS, Drawn, Participants
from .run import Row
from .state import Plan, State

CACHED = 2**16
"""The most bytes of the iterates of one call whose pairs are listed, with those of noise that is no fair sign, so that
they and what is computed of them stay in a cache."""
AT_ONCE = 8 * CACHED
"""The most bytes of the iterates of one call whose pairs are not listed, where a call takes longer than its rounds."""
KEYS = 4 * CACHED
"""The most bytes of the keys of the noise of the rounds of one call."""


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
        """Return the rounds of a plan; ``None`` where it has other rounds, or observers who look at more than where
        runs are."""
        fed = plan.federation
        if type(fed) is not Quadratic or not coordinates_apart(fed) or plan.adaptive or len(plan.trainings) != 1:
            return None
        (kind, which), *_ = plan.trainings
        weighed = isinstance(kind.aggregation, WeightedSum) and type(kind.aggregation).step is WeightedSum.step
        forgets = weighed and kind.by_counts and not kind.aggregation.remembers and type(kind.server) is Plain
        trained = kind.by_sgd and kind.trains_alike and not kind.by_rule
        plain = forgets and trained and len(which) == len(plan.kinds)
        seen = all(each.of_points and each.every == 1 for each in plan.observers)
        here = in_memory(torch.empty(0, device=plan.device))
        assert isinstance(fed.products, Diagonal)
        return cls(plan, fed, fed.products, kind) if plain and seen and here else None

    def held(self, replicas: int) -> int:
        """Return the bytes, at most, besides what rounds one by one hold.

        They hold the iterates of the rounds of a call, what observers compute of them, and the keys of the noise.
        """
        if self.listed:
            return (5 * CACHED + KEYS) * (replicas > 0)
        return 5 * min(AT_ONCE, self.plan.rounds * replicas * self._size)

    @property
    def _size(self) -> int:
        """Bytes of an iterate."""
        return self.fed.dimension * self.plan.dtype.itemsize

    @cached_property
    def moved(self) -> Tensor | None:
        """The factors of x - c in a client's update, (M, D) or (1, D), where all its steps are made at once."""
        return closed_form(self.fed, self.products, self.kind.training)

    @property
    def listed(self) -> bool:
        """Whether pairs have to be listed: for the draws of their noise, or where a client makes a single step."""
        return self.moved is None

    def advance(
        self, state: State, round: int, participants: Participants, spacing: int | None
    ) -> tuple[int, list[tuple[int, Row]]]:
        """Advance ``state`` from before this round by as many rounds as one call makes.

        It does not pass where the state is kept, which is every ``spacing`` rounds, or models are. The result is as if
        the rounds had been made one by one, and not yet observed before the next one.

        Returns:
            how many rounds were made, and the rows that are recorded on the way.
        """
        plan = self.plan
        kept = (every - round % every for every in (spacing, plan.keep_models) if every)
        most = min([plan.rounds - round, *kept])
        drawn = participants.steps(state, lambda ahead: self._fitting(len(state.x), ahead[:most]))
        if not drawn:
            return 0, []
        points = self._made(state.x, drawn) if self.listed else self._made_at_once(state.x, drawn)
        state.x, passed = points[-1], points[:-1]
        return len(drawn), state.observe_rounds(plan, round + 1, passed) if len(passed) else []

    def _fitting(self, replicas: int, ahead: Sequence[Drawn]) -> int:
        """Return how many rounds are made in one call."""
        size = self._size
        if not self.listed:
            return max(1, min(len(ahead), AT_ONCE // (size * replicas)))
        steps = self.kind.local_steps if self.fed.gradient_noise else 0
        shown = 0 if self.fed.has_fair_signs else steps
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
        from ..loops import diagonal_rounds as loops

        fed, training, x = self.fed, self.kind.training, x.contiguous()
        some = _pairs(rounds[0])
        ends = np.cumsum([0, *(len(_pairs(drawn)) for drawn in rounds)])
        if len(rounds) > 1:
            whole, begin = some.drawn_with
            some = whole.part(begin, begin + int(ends[-1]))
        weights = some.known(WEIGHTS)
        assert weights is not None
        start, replica, client, shares = (each.numpy() for each in (x, some.replica, some.client, weights))
        centres, out = fed.centred.numpy(), torch.empty(len(rounds), *x.shape, dtype=x.dtype)
        from ..loops.diagonal_sgd import prepared

        noise = drawn_noise(fed, some, training, x.dtype)
        steps = prepared(len(some), x, noise, training.sizes, training.proximal)
        entries = self.products.diagonals.numpy()
        loops.make(start, replica, client, shares, ends, self._rate(x), entries, centres, *steps, out.numpy())
        return out

    def _made_at_once(self, x: Tensor, rounds: Sequence[Drawn]) -> Tensor:
        """Make the rounds where no noise has to be drawn."""
        from ..loops.diagonal_rounds import make_at_once

        assert self.moved is not None and isinstance(self.kind.aggregation, WeightedSum)
        counts = torch.stack([drawn.counts for drawn in rounds])
        weights = self.kind.aggregation.weights_at(counts.flatten(0, 1), places(counts)).to(x.dtype)
        start, who, shares = (each.numpy() for each in (x.contiguous(), counts, weights))
        out = torch.empty(len(rounds), *x.shape, dtype=x.dtype)
        make_at_once(start, who, shares, self._rate(x), self.moved.numpy(), self.fed.centred.numpy(), out.numpy())
        return out

    def _rate(self, x: Tensor) -> Any:
        """The server's, in the precision of x."""
        return x.numpy().dtype.type(float(self.kind.server.global_lr))


def _pairs(drawn: Drawn) -> Pairs:
    """Return the pairs that train."""
    (pairs,) = drawn.pairs
    assert pairs is not None
    return pairs
