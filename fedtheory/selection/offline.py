"""OffVar: the best participation in hindsight, exactly, for millions of rounds, with a proof.

FLICS-OPT, problem (8): over all rounds at once,

    minimise  sum_j p_j^2 / s_j,   s = (1/T) sum_t r(t) >= r_min,   0 <= r(t) <= a(t),   sum_j r_j(t) <= k(t).

The slope of p_j^2 / s_j is -1 / level^2 with level = s_j / p_j, so the solution is the fair share with weights p
(`fedtheory.selection.sharing`).

A plan shows that an objective can be reached. That nothing is better follows from any prices mu >= 0: every plan has at
least

    sum_j min over s_j >= r_min of (p_j^2 / s_j + mu_j s_j)  -  (1/T) sum_t max over r(t) of mu . r(t),

and hence so has every online policy. At mu_j = 1 / level_j^2 this equals the optimum.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .inputs import checked_availability, checked_budget, checked_group_weight, checked_number
from .sharing import Share, chain_ranks, fair_share


@dataclass(frozen=True)
class OffVarSolution:
    """The solution of OffVar.

    Attributes:
        totals: (groups,), the optimal sum_t r_j(t).
        objective: the optimal sum_j p_j^2 / s_j.
        lower_bound: what the prices prove; equal to the objective up to rounding.
        level: (groups,), the level s_j / p_j that a group's block shares; a group held up by r_min has more.
        price: (groups,), the multipliers 1 / level^2 that prove `lower_bound`; infinite where that is above the
            largest number.
        blocks: the groups by increasing level. Each block takes all that it can of what the earlier ones leave, so the
            first holds the groups that are scarcest for their weight.
        rounds: T.
        seconds: how long it took, plan included.
    """

    totals: np.ndarray
    objective: float
    lower_bound: float
    level: np.ndarray
    price: np.ndarray
    blocks: tuple[tuple[int, ...], ...]
    rounds: int
    seconds: float
    _rates: np.ndarray = field(repr=False)

    @property
    def participation(self) -> np.ndarray:
        """(groups,), s_j = totals_j / T."""
        return self.totals / self.rounds

    @property
    def gap(self) -> float:
        """(objective - lower bound) / objective: how far from optimal the answer can be at most."""
        return (self.objective - self.lower_bound) / self.objective

    def plan(self) -> np.ndarray:
        """Return rates (rounds, groups) that reach the totals. Often it is one plan of many: compare objectives, not
        plans."""
        return self._rates.T


def offvar(availability: ArrayLike, budget: ArrayLike, group_weight: ArrayLike, r_min: float = 0.0) -> OffVarSolution:
    """Solve OffVar (FLICS-OPT, (8)) exactly, with a plan and a certificate.

    Args:
        availability: (rounds, groups), a_j(t), whole numbers.
        budget: one number, or one a round, k(t) >= 0.
        group_weight: (groups,), p_j >= 0 with sum 1. A group of weight 0 gets r_min.
        r_min: the least participation of every group, in clients a round on average.

    Raises:
        ValueError: a value is outside these ranges; a group with positive weight is never available in a round with a
            budget, which makes the objective infinite; or no plan gives every group r_min. The groups are named.

    >>> s = offvar([[4, 4], [4, 0]], [4, 2], [0.5, 0.5])
    >>> s.totals.tolist(), s.plan().tolist()
    ([3.0, 3.0], [[1.0, 3.0], [2.0, 0.0]])
    >>> round(s.objective, 12), round(s.gap, 12), s.blocks
    (0.333333333333, 0.0, ((0, 1),))
    """
    began = time.perf_counter()
    a = checked_availability(availability)
    groups, rounds = a.shape
    k = checked_budget(budget, rounds)
    p = checked_group_weight(group_weight, groups)
    least = checked_number("r_min", r_min)
    share = fair_share(a, k, p, np.full(groups, least * rounds))
    level, price = levels_and_prices(share, rounds)
    objective, bound = float(proxy(share.totals / rounds, p)), _bound(share, p, least, level, rounds)
    if not math.isfinite(objective) or not math.isfinite(bound):
        raise ValueError("budget: the objective is above the largest number; allowed are larger budgets")
    seconds = time.perf_counter() - began
    return OffVarSolution(share.totals, objective, bound, level, price, share.blocks, rounds, seconds, share.rates)


def levels_and_prices(share: Share, rounds: float) -> tuple[np.ndarray, np.ndarray]:
    """The levels a round on average, and the prices 1 / level^2, made not to increase from block to block.

    The levels of the blocks increase; where two are equal up to rounding they may be the wrong way round, and a bound
    needs prices in order.
    """
    level = share.level / rounds
    with np.errstate(over="ignore", divide="ignore"):
        return level, np.array([1.0]) / _in_order(share, level) ** 2


def _in_order(share: Share, level: np.ndarray) -> np.ndarray:
    """(groups,), the highest level up to and with a group's block; infinite for groups left out."""
    highest, ordered = 0.0, np.full(len(level), np.inf)
    for block in share.blocks:
        highest = max(highest, level[block[0]])
        ordered[list(block)] = highest
    return ordered


def _bound(share: Share, p: np.ndarray, r_min: float, level: np.ndarray, rounds: float) -> float:
    """The dual bound at the prices 1 / level^2, which need not be numbers that a float can be."""
    highest = _in_order(share, level)
    firsts = highest[[block[0] for block in share.blocks]]
    p, highest = p[highest < np.inf], highest[highest < np.inf]
    s = np.maximum(r_min, p * highest)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # refused by the caller
        used = np.diff(share.ranks, prepend=0) / rounds / firsts / firsts
        return float((s / highest / highest).sum() + proxy(s, p) - used.sum())


def proxy(participation: ArrayLike, group_weight: ArrayLike) -> np.ndarray | float:
    """The variance proxy sum_j p_j^2 / s_j over p_j > 0, (...) for participation (..., groups); inf where s_j = 0.

    >>> proxy([1.0, 0.0], [1.0, 0.0]), proxy([[1.0, 2.0], [0.0, 1.0]], [0.5, 0.5]).tolist()
    (1.0, [0.375, inf])
    """
    s, p = np.asarray(participation, dtype=float), np.asarray(group_weight, dtype=float)
    with np.errstate(divide="ignore", over="ignore"):
        value = (p[p > 0] ** 2 / s[..., p > 0]).sum(axis=-1)
    return float(value) if value.ndim == 0 else value


def lower_bound(
    availability: ArrayLike, budget: ArrayLike, group_weight: ArrayLike, price: ArrayLike, r_min: float = 0.0
) -> float:
    """Bound sum_j p_j^2 / s_j from below, for every plan and every online policy, in one pass over the rounds.

    Args:
        availability, budget, group_weight, r_min: as in `offvar`.
        price: (groups,), any mu_j >= 0. At (p_j / s_j)^2 for a trajectory's own s, it bounds how far that trajectory is
            from the best in hindsight, without solving for it.

    Raises:
        ValueError: a value is outside its range.

    >>> lower_bound([[4, 4], [4, 0]], [4, 2], [0.5, 0.5], price=[0.2, 0.1])
    0.16344...
    """
    a = checked_availability(availability)
    groups, rounds = a.shape
    k = checked_budget(budget, rounds)
    p = checked_group_weight(group_weight, groups)
    mu = np.asarray(price, dtype=float)
    if mu.shape != (groups,) or not (np.isfinite(mu) & (mu >= 0)).all():
        raise ValueError(f"price = {mu.tolist()}: allowed is one finite number >= 0 a group, ({groups},)")
    order = np.argsort(-mu, kind="stable")
    ranks = chain_ranks(a, k, order[:, None])
    most = float(mu[order] @ np.diff(ranks, prepend=0))
    return _dual(p, checked_number("r_min", r_min), mu) - most / rounds


def _dual(p: np.ndarray, r_min: float, price: np.ndarray) -> float:
    """sum_j min over s_j >= r_min of p_j^2 / s_j + mu_j s_j; a group of price 0 adds nothing (s_j is unbounded)."""
    p, price = p[price > 0], price[price > 0]
    s = np.maximum(r_min, p / np.sqrt(price))
    return float((price * s).sum() + proxy(s, p))
