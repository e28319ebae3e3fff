"""Per-round plans, and moving participation between groups without changing what a round uses.

A plan gives every round t rates r(t) with 0 <= r(t) <= a(t) and sum r(t) = min(k(t), sum a(t)). Group i can give to
group j, in round t, at most min(r_i(t), a_j(t) - r_j(t)): what i has and j still lacks. Doing so in all rounds at once
is one vector operation, so a plan of a million rounds is steered by a graph with one node a group.

The search for exchanges is a push-relabel method (Goldberg & Tarjan, 1988) whose labels are distances, computed
afresh after every sweep. A push empties its exchange completely or moves all that is left to move; no push creates
an exchange that leads further down than its own, so the distance of a group that is stuck grows with every sweep.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SETTLED = 1e-13
"""A group's total counts as reached within this relative error; sums over 10^6 rounds are good to about 1e-15."""

_FULL = 1 - 1e-14  # a push of almost all there is takes all: no remainder of the size of a rounding error stays behind


class Plan:
    """A plan that uses every round fully, open to exchanges.

    Attributes:
        rates: (groups, rounds), r_j(t).
        unused: (groups, rounds), a_j(t) - r_j(t). It is kept rather than computed: a full group shows an exact 0.
        totals: (groups,), sum_t r_j(t).

    >>> plan = Plan(np.array([[4.0, 4.0], [4.0, 0.0]]), np.array([4.0, 2.0]), np.array([1.0, 1.0]))
    >>> plan.rates.tolist(), plan.totals.tolist()
    ([[2.0, 2.0], [2.0, 0.0]], [4.0, 2.0])
    >>> plan.settle([0, 1], np.array([3.0, 3.0])), plan.rates.tolist()
    ([], [[1.0, 2.0], [3.0, 0.0]])
    """

    def __init__(self, availability: np.ndarray, budget: np.ndarray, weight: np.ndarray) -> None:
        """Start near rates proportional to ``weight``: min(a, k weight) first, what is left in proportion to a - r."""
        share = weight / weight.sum()
        self.rates = np.empty_like(availability)
        for j, rates in enumerate(self.rates):
            np.multiply(budget, share[j], out=rates)
            np.minimum(rates, availability[j], out=rates)
        self.unused = availability - self.rates
        self._scratch = np.empty_like(budget)
        self._fill(availability, budget)
        self.totals = self.rates.sum(axis=1)

    def _fill(self, availability: np.ndarray, budget: np.ndarray) -> None:
        left = np.maximum(budget - self.rates.sum(axis=0), 0)
        room = self.unused.sum(axis=0)
        fraction = np.divide(left, room, out=np.ones_like(left), where=room > 0)
        np.minimum(fraction, 1, out=fraction)
        fraction[availability.sum(axis=0) <= budget] = 1  # decided by the counts: these groups end exactly full
        for rates, unused in zip(self.rates, self.unused, strict=True):
            np.multiply(unused, fraction, out=self._scratch)
            rates += self._scratch
            unused -= self._scratch

    def give(self, source: int, taker: int, amount: float) -> float:
        """Move up to ``amount`` from one group to another, spread over all rounds, and return what was moved."""
        movable = np.minimum(self.rates[source], self.unused[taker], out=self._scratch)
        capacity = float(movable.sum())
        moved = min(capacity, amount)
        if moved <= 0:
            return 0.0
        if moved < capacity * _FULL:
            movable *= moved / capacity
        else:
            moved = capacity
        self.rates[source] -= movable
        self.unused[source] += movable
        self.rates[taker] += movable
        self.unused[taker] -= movable
        self.totals[source] -= moved
        self.totals[taker] += moved
        return moved

    def distances(self, groups: Sequence[int], takers: Sequence[int]) -> dict[int, int]:
        """Count the exchanges between each group and ``takers``; groups that cannot reach them are left out."""
        found = dict.fromkeys(takers, 0)
        frontier = list(takers)
        open_room = np.empty_like(self._scratch)
        while frontier and len(found) < len(groups):
            open_room[:] = self.unused[frontier[0]]
            for j in frontier[1:]:
                open_room += self.unused[j]
            farther = [i for i in groups if i not in found and self._can_give(i, open_room)]
            for i in farther:
                found[i] = found[frontier[0]] + 1
            frontier = farther
        return found

    def _can_give(self, source: int, room: np.ndarray) -> bool:
        # No tolerance: what is nothing to a large source may be all that a scarce taker needs.
        return bool(np.minimum(self.rates[source], room, out=self._scratch).any())

    def settle(self, groups: Sequence[int], target: np.ndarray) -> list[int]:
        """Exchange within ``groups`` until each has reached its ``target`` (indexed by group), as far as possible.

        Returns:
            An empty list once no group lacks anything. Otherwise the groups from which those that still lack can be
            reached, where none of these has a surplus: in every round they take all that they can, so they are a set
            A with f(A) < target(A).
        """
        for _ in range(4 * len(groups) ** 2 + 4):
            excess = {i: float(self.totals[i] - target[i]) for i in groups}
            takers = [i for i in groups if excess[i] < -SETTLED * target[i]]
            givers = [i for i in groups if excess[i] > SETTLED * target[i]]
            if not takers:
                return []
            distance = self.distances(groups, takers)
            if not any(i in distance for i in givers):
                return [i for i in groups if i in distance]
            self._sweep(distance, excess)
        raise ArithmeticError("the exchanges did not settle")

    def _sweep(self, distance: dict[int, int], excess: dict[int, float]) -> None:
        """Push every surplus one step down the distances, the farthest groups first."""
        for source in sorted(distance, key=lambda i: (-distance[i], i)):
            for taker in distance:
                if distance[source] == 0 or excess[source] <= 0:
                    break
                if distance[taker] == distance[source] - 1:
                    wanted = excess[source]
                    if distance[taker] == 0:
                        wanted = min(wanted, max(-excess[taker], 0.0))
                    moved = self.give(source, taker, wanted)
                    excess[source] -= moved
                    excess[taker] += moved
