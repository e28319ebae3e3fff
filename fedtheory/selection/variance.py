"""Var: the rates of one round that minimise the variance proxy, by water-filling, in batches.

FLICS-OPT, problem (5)-(6): with b_j = (t-1) s^_j(t-1), what group j has contributed so far,

    minimise  sum_j p_j^2 / s_j(t),  s_j(t) = (b_j + r_j) / t,   over  0 <= r_j <= a_j,  sum_j r_j <= k.

Its optimality conditions say that (b_j + r_j) / p_j, the *level* of group j, equals one number nu for every group
strictly between its bounds, is at least nu where r_j = 0 and at most nu where r_j = a_j. Hence

    r_j = clip(p_j nu - b_j, 0, a_j)

where nu makes the sum k, and nu = infinity (everyone takes part) if k is at least what is available.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .inputs import WEIGHT_SUM_TOLERANCE

CHUNK = 8192
"""Instances solved at once: the arrays of a chunk stay in the processor's cache."""


@dataclass(frozen=True)
class VarSolution:
    """Solutions of a batch of Var problems; ``...`` stands for the shape of the batch.

    Attributes:
        rates: (..., groups), r_j.
        level: (...), nu; infinite where the budget does not bind, 0 where it is 0 and a group that
            is there has had nothing.
        group_weight, history, availability, budget: what was asked.
    """

    rates: np.ndarray
    level: np.ndarray
    group_weight: np.ndarray
    history: np.ndarray
    availability: np.ndarray
    budget: np.ndarray

    @property
    def multiplier(self) -> np.ndarray:
        """(...), the budget's multiplier for sum_j p_j^2 / (b_j + r_j), which is 1/nu^2; for (5) it is t/nu^2."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.level**2

    @property
    def objective(self) -> np.ndarray:
        """(...), sum_j p_j^2 / (b_j + r_j) over p_j > 0; t times this is (5). Infinite if a group has nothing."""
        total = self.history + self.rates
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.group_weight > 0, self.group_weight**2 / total, 0.0).sum(axis=-1)

    @cached_property
    def residual(self) -> np.ndarray:
        """(...), the largest violation of the optimality conditions, each relative to its own scale.

        Bounds relative to a_j, the budget that is exceeded or, where it binds, unused relative to k (as they are where
        these are 0); levels relative to nu.
        """
        r, a, k, nu = self.rates, self.availability, self.budget, self.level[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            # dividing by zero is meant: a zero weight gets an infinite level
            levels = np.where(self.group_weight > 0, (self.history + r) / self.group_weight, np.inf)
            too_high = np.where((r > 0) & np.isfinite(nu), levels / nu - 1, 0)
            too_low = np.where((r < a) & (levels < nu), 1 - levels / nu, 0)
            bounds = np.maximum(r - a, -r) / np.where(a > 0, a, 1)
            used = r.sum(axis=-1)
            over = (used - k) / np.where(k > 0, k, 1)
            unused = np.where(np.isfinite(self.level), -over, 0)
        worst = np.maximum(np.maximum(too_high, too_low), bounds).max(axis=-1)
        return np.abs(np.maximum(np.maximum(worst, 0), np.maximum(over, unused)))


def var(history: ArrayLike, availability: ArrayLike, budget: ArrayLike, group_weight: ArrayLike) -> VarSolution:
    """Solve Var (FLICS-OPT, (5)-(6)) exactly, for one instance or a batch.

    Args:
        history: (..., groups), b_j = (t-1) s^_j(t-1) >= 0; zeros for t = 1.
        availability: (..., groups), a_j >= 0.
        budget: (...), k >= 0.
        group_weight: (groups,) or (..., groups), p_j >= 0, each row summing to 1.

    Groups of weight 0 get rate 0. A group that has nothing and can get nothing makes the objective infinite whatever
    the others do; the rates then minimise the sum over the others.

    Raises:
        ValueError: a value is outside these ranges, or the shapes do not broadcast.

    >>> s = var(history=[0, 0, 9], availability=[5, 1, 5], budget=4, group_weight=[0.5, 0.25, 0.25])
    >>> s.rates.tolist(), float(s.level), float(s.residual)
    ([3.0, 1.0, 0.0], 6.0, 0.0)
    >>> float(var([0, 0], [1, 2], 3, [0.5, 0.5]).level)
    inf
    """
    weight, b, a, k = _batch(history, availability, budget, group_weight)
    shape, groups = b.shape[:-1], b.shape[-1]
    flat = [np.ascontiguousarray(v.reshape(-1, groups)) for v in (weight, b, a)]
    flat_budget = k.reshape(-1)
    rates, level = np.empty_like(flat[1]), np.empty(len(flat_budget))
    for first in range(0, len(level), CHUNK):
        rows = slice(first, first + CHUNK)
        rates[rows], level[rows] = fill(flat[0][rows], flat[1][rows], flat[2][rows], flat_budget[rows])
    return VarSolution(rates.reshape(b.shape), level.reshape(shape), weight, b, a, k)


def _batch(
    history: ArrayLike, availability: ArrayLike, budget: ArrayLike, group_weight: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    named = {"group_weight": group_weight, "history": history, "availability": availability, "budget": budget}
    values = {}
    for name, value in named.items():
        try:
            values[name] = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"{name} = {value!r}: allowed are numbers") from None
        array = values[name]
        if array.size and not (array.min() >= 0 and array.max() < np.inf):  # also false for NaN
            bad = array[~((array >= 0) & (array < np.inf))].flat[0]
            raise ValueError(f"{name} has an entry {bad}: allowed are finite numbers >= 0")
    sums = values["group_weight"].sum(axis=-1)
    if np.any(np.abs(sums - 1) > WEIGHT_SUM_TOLERANCE):
        worst = float(np.ravel(sums)[np.argmax(np.abs(np.ravel(sums) - 1))])
        raise ValueError(f"group_weight sums to {worst:.12g}: allowed is a sum of 1")
    try:
        weight, b, a, k = np.broadcast_arrays(*list(values.values())[:3], values["budget"][..., None])
    except ValueError:
        shapes = {name: value.shape for name, value in values.items()}
        raise ValueError(f"the shapes {shapes} do not broadcast to (..., groups), and budget to (...)") from None
    return weight, b, a, k[..., 0]


def fill(p: np.ndarray, b: np.ndarray, a: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates and levels of instances (instances, groups) with budgets (instances,); nothing is checked.

    What the groups take is a piecewise linear function of nu. Its 2M kinks are sorted and bisected, and every value
    is computed from the definition: a running sum over kinks would lose all digits of a small weight beside a large
    one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        start, end = b / p, (b + a) / p
    idle = p == 0
    start[idle] = end[idle] = np.inf  # never reached
    kinks = np.concatenate([start, end], axis=1)
    kinks.sort(axis=1)
    finite = 2 * (~idle).sum(axis=1)  # the kinks of the groups with positive weight come first
    rows = np.arange(len(k))
    plenty = np.where(idle, 0, a).sum(axis=1) <= k
    low, high = np.zeros_like(finite), finite - 1  # the demand is at most k at the first kink, more at the last
    for _ in range(int(2 * a.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        fits = _demand(p, b, a, kinks[rows, middle]).sum(axis=1) <= k
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    left, right = kinks[rows, low], kinks[rows, high]
    moving = (start <= left[:, None]) & (end >= right[:, None]) & (left < right)[:, None]
    slope = np.where(moving, p, 0)
    steepness = slope.sum(axis=1)
    steepness[steepness == 0] = np.inf  # only where nothing is to be shared out
    level = np.clip(left + (k - _demand(p, b, a, left).sum(axis=1)) / steepness, left, right)
    level[plenty] = np.inf
    rates = _demand(p, b, a, np.where(plenty, 0, level))
    rates = np.where(end <= left[:, None], a, np.where(start >= right[:, None], 0, rates))  # bounds are met exactly
    rates = np.where(idle, 0, np.where(plenty[:, None], a, rates))
    # p nu - b loses digits where b is large; what that costs the sum is shared out by a last small rise of the level
    rise = np.where(plenty, 0, k - rates.sum(axis=1)) / steepness
    return np.clip(rates + slope * rise[:, None], 0, a), level + rise


def _demand(p: np.ndarray, b: np.ndarray, a: np.ndarray, level: np.ndarray) -> np.ndarray:
    wanted = p * level[:, None]
    wanted -= b
    np.maximum(wanted, 0, out=wanted)
    return np.minimum(wanted, a, out=wanted)
