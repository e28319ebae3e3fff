"""The worst deterministic orders of participants, by dynamic programming on the mean of the iterates.

In stages of some rounds each, one of several sets takes part: it moves the mean of the lifted state z = (x - x*, 1) by
an affine map. What is maximised is a quadratic form of the last mean, or its sum over the stages, plus what noise adds,
which no order changes where all clients have one Hessian.

On a line, the means that can be reached after s stages have extremes that are images of those after s - 1, since an
affine map takes an interval to an interval; a form y^2 is largest at one of them. So two states a stage are enough, and
the order is the worst one. In more dimensions, and for sums, the states kept are those that are extreme in some of many
directions: a beam, whose orders are real ones but need not be the worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ..participation import Fixed, Phases
from .linear_rounds import mean_map
from .round_maps import initial_state
from .timeline import schedule

if TYPE_CHECKING:
    from ..setting import Setting

Members = tuple[int, ...]

DIRECTIONS = 24
"""Directions of a plane in which a beam keeps the extreme states. In more dimensions they are the axes, either way, and
twice as many random ones."""


@dataclass(frozen=True)
class Order:
    """An order of participants.

    Attributes:
        sets: who takes part, stage by stage. stay: rounds of a stage.
        value: the largest form of the mean, or its sum, in floats.
    """

    sets: tuple[Members, ...]
    stay: int
    value: float

    def process(self) -> Phases:
        """Return the participation process of these rounds, with the last set for ever.

        >>> Order(((0,), (0,), (1,)), 2, 1.0).process()
        Phases(sets=((0,), (1,)), lengths=(4, 2), cyclic=False)
        """
        runs = [(members, len(list(run)) * self.stay) for members, run in groupby(self.sets)]
        return Phases([members for members, _ in runs], [length for _, length in runs])

    def cycle(self, most: int = 8) -> Phases | None:
        """Return the shortest pattern of at most so many stages that the last ``3 * most`` of them repeat.

        The last stage is then the pattern's last. Returns ``None`` where they repeat none or stay with one set.
        """
        tail = self.sets[-3 * most :]
        for period in range(2, most + 1):
            if len(tail) == 3 * most and all(tail[i] == tail[i - period] for i in range(period, len(tail))):
                if len(set(tail)) == 1:
                    return None
                runs = [(members, len(list(run)) * self.stay) for members, run in groupby(tail[-period:])]
                return Phases([members for members, _ in runs], [length for _, length in runs], cyclic=True)
        return None


def worst_orders(
    setting: Setting, sets: Sequence[Members], stages: int, stay: int, form: np.ndarray, summed: bool = False
) -> list[Order]:
    """Find orders of so many stages that make the form of the last mean large, or its sum over stages; the largest
    first.

    Args:
        sets: who may take part in arbitrary rounds, all of one size.
        stay: rounds of a stage, a multiple of the algorithm's period.
        form: (D, D), of x - x*.

    Raises:
        ValueError: ``stay`` is no such multiple, or moments of the setting do not close.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(cohort=1, local_lr="19/10", snapshot_probability=0)  # x - 0.9 (x - c) a round
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]))
    >>> worst_orders(s, [(0,), (1,)], stages=4, stay=1, form=np.eye(1))[0].sets
    ((1,), (0,), (1,), (0,))
    """
    maps = np.stack([_stage(setting, members, stay) for members in sets])
    dimension = len(form)
    states, sums = initial_state(setting)[None], np.zeros(1)
    parents: list[tuple[np.ndarray, np.ndarray]] = []
    directions = _directions(dimension, summed)
    for _ in range(stages):
        moved = np.einsum("cij,bj->cbi", maps, states).reshape(-1, dimension + 1)
        model = moved[:, :dimension]
        gained = np.tile(sums, len(sets)) + (np.einsum("bi,ij,bj->b", model, form, model) if summed else 0.0)
        kept = _extreme(model, gained, directions)
        parents.append((kept // len(states), kept % len(states)))
        states, sums = moved[kept], gained[kept]
    model = states[:, :dimension]
    values = sums if summed else np.einsum("bi,ij,bj->b", model, form, model)
    found = []
    for end in np.argsort(-values, kind="stable"):
        chosen, place = [], int(end)
        for of_set, before in reversed(parents):
            chosen.append(tuple(sets[of_set[place]]))
            place = int(before[place])
        found.append(Order(tuple(reversed(chosen)), stay, float(values[end])))
    return found


def _stage(setting: Setting, members: Members, stay: int) -> np.ndarray:
    """The mean's map over a stage in which these take part."""
    plan = schedule(replace(setting, participation=Fixed(members)), mean_map)
    if stay % plan.period:
        raise ValueError(f"stay = {stay}: allowed is a multiple of the period, {plan.period}")
    cycle = np.linalg.matrix_power(plan.rest, plan.period - 1) @ plan.first
    return np.linalg.matrix_power(cycle, stay // plan.period)


def _directions(dimension: int, summed: bool) -> np.ndarray:
    """(n, D) or, with what is summed last, (n, D + 1)."""
    if dimension == 1 and not summed:
        return np.array([[1.0], [-1.0]])
    rng, size = np.random.default_rng(0), dimension + summed
    if size == 2:
        angles = np.linspace(0, (1 if summed else 2) * np.pi, DIRECTIONS, endpoint=summed)
        return np.column_stack([np.cos(angles), np.sin(angles)])
    found = np.vstack([np.eye(size), -np.eye(size), rng.standard_normal((2 * DIRECTIONS, size))])
    if summed:
        found[:, -1] = np.abs(found[:, -1])
    return found


def _extreme(model: np.ndarray, gained: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """The rows that are largest in some direction, each coordinate in units of its extent."""
    points = np.column_stack([model, gained])[:, : directions.shape[1]]
    extent = np.abs(points).max(0)
    scaled = points / np.where((extent > 0) & np.isfinite(extent), extent, 1.0)
    return np.unique((scaled @ directions.T).argmax(0))
