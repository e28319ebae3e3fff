"""The weighted fair share of a polymatroid: one vector of totals that is best for a whole family of objectives.

The totals x = sum_t r(t) that plans with 0 <= r(t) <= a(t), sum r(t) <= k(t) can reach are the polymatroid

    x >= 0,  x(A) <= f(A) = sum_t min(k(t), sum_{j in A} a_j(t))  for every set A of groups:

in one round this holds by definition, and ranks add up when polymatroids do. Given weights q, let the *level* of a
group be x_j / q_j. The fair share raises all levels together; a set of groups that already takes all it can is left
where it is, and the others go on. It minimises every sum of convex functions whose slopes depend on the levels alone.

It is found by decomposition (Fujishige 1980, Groenevelt 1991). A *block* of groups gets the targets that use what it
has at one common level. If a plan reaches them, the block is done; if not, some set A has f(A) below its targets and
takes all that it can (`exchange.settle` finds it), and the block splits into A and the rest, which shares what A
leaves. Every split keeps the plan found so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .exchange import Plan

_SHORT = 1 - 1e-12
"""A set is short of its targets below this fraction of them; closer than that is rounding, and splits nothing."""


@dataclass(frozen=True)
class Share:
    """The fair share.

    Attributes:
        totals: (groups,), x_j.
        level: (groups,), the level of each group's block: x_j = max(least_j, q_j level_j). Infinite for groups that
            want no more than their least, and for groups left out.
        blocks: the groups by increasing level.
        ranks: f of the first block, of the first two, ...
        rates: (groups, rounds), a plan that reaches the totals.
    """

    totals: np.ndarray
    level: np.ndarray
    blocks: tuple[tuple[int, ...], ...]
    ranks: np.ndarray
    rates: np.ndarray

    def support(self, price: np.ndarray) -> float:
        """Compute sum_t max over r(t) of price . r(t), for prices that do not increase from block to block."""
        firsts = [block[0] for block in self.blocks]
        return float(price[firsts] @ np.diff(self.ranks, prepend=0))


def fair_share(a: np.ndarray, k: np.ndarray, q: np.ndarray, least: np.ndarray) -> Share:
    """The fair share for weights ``q`` under x >= ``least``.

    Args:
        a: (groups, rounds), availability; checked, real numbers allowed.
        k: (rounds,), budgets.
        q: (groups,), weights >= 0, not all 0. A group of weight 0 gets its least.
        least: (groups,).

    Raises:
        ValueError: a group with positive weight can get nothing, or the least totals cannot all be reached.

    >>> a, k = np.array([[3.0, 3.0], [1.0, 0.0]]), np.array([3.0, 2.0])
    >>> s = fair_share(a, k, np.array([1.0, 1.0]), np.zeros(2))
    >>> s.totals.tolist(), s.blocks, s.ranks.tolist()
    ([4.0, 1.0], ((1,), (0,)), [1.0, 5.0])
    """
    wanted = np.flatnonzero((q > 0) | (least > 0))
    kept = a if len(wanted) == len(a) else a[wanted]
    plan = Plan(kept, k, q[wanted])
    for j, total in zip(wanted, plan.totals, strict=True):
        if total == 0 and q[j] > 0:
            raise ValueError(
                f"group {j} has weight {q[j]:g} but is never available in a round with a budget: "
                "the objective is infinite"
            )
    if least.any():
        _secure(plan, kept, k, least[wanted], wanted)
    parts = _decompose(plan, q[wanted], least[wanted])
    blocks = tuple(tuple(int(wanted[j]) for j in part) for part in parts)
    ranks = chain_ranks(a, k, blocks)
    totals, level = np.zeros(len(a)), np.full(len(a), np.inf)
    for block, total in zip(blocks, np.diff(ranks, prepend=0), strict=True):
        members = list(block)
        level[members] = block_level(q[members], least[members], float(total))
        totals[members] = targets(q[members], least[members], level[block[0]])
    return Share(totals, level, blocks, ranks, _reaching(plan, totals, wanted, q))


def _secure(plan: Plan, a: np.ndarray, k: np.ndarray, least: np.ndarray, wanted: np.ndarray) -> None:
    """Bring the plan above ``least``, or say which groups cannot all have it."""
    short = plan.settle(range(len(least)), least)
    if short:
        reachable, needed = chain_ranks(a, k, [short])[0], least[short].sum()
        if reachable < needed * _SHORT:
            raise ValueError(
                f"r_min cannot be met: groups {[int(wanted[j]) for j in short]} need {needed:g} in total and can get "
                f"{reachable:g} at most"
            )


def _decompose(plan: Plan, q: np.ndarray, least: np.ndarray) -> list[list[int]]:
    """The blocks by increasing level; ``plan`` is brought to their targets."""
    done: list[list[int]] = []
    waiting = [list(range(len(q)))]
    while waiting:
        block = waiting.pop()
        level = block_level(q[block], least[block], float(plan.totals[block].sum()))
        target = np.zeros(len(q))
        target[block] = targets(q[block], least[block], level)
        short = plan.settle(block, target) if level < np.inf else []
        if short and plan.totals[short].sum() < target[short].sum() * _SHORT:
            waiting += [[j for j in block if j not in short], short]  # the last one comes first
        else:
            done.append(block)
    return done


def block_level(q: np.ndarray, least: np.ndarray, total: float) -> float:
    """The largest level with sum_j max(least_j, q_j level) = ``total``; infinite if all weights are 0.

    >>> block_level(np.array([1.0, 1.0, 2.0]), np.array([3.0, 0.0, 0.0]), 6.0)
    1.0
    """
    index = np.flatnonzero(q > 0)
    ratio = least[index] / q[index]
    order = index[np.argsort(ratio, kind="stable")]
    ratio = np.sort(ratio)
    for count in range(1, len(order) + 1):  # groups above their least
        above = order[:count]
        level = (total - (least.sum() - least[above].sum())) / q[above].sum()
        if count == len(order) or level <= ratio[count]:
            return float(max(level, ratio[0]))
    return np.inf


def targets(q: np.ndarray, least: np.ndarray, level: float) -> np.ndarray:
    """Return max(least_j, q_j level), and least_j where the weight is 0."""
    return np.maximum(least, q * level) if level < np.inf else least.copy()


def chain_ranks(a: np.ndarray, k: np.ndarray, blocks: Sequence[Sequence[int]] | np.ndarray) -> np.ndarray:
    """f of the first block, of the union of the first two, ...: one pass over the rounds.

    >>> chain_ranks(np.array([[3.0, 3.0], [1.0, 0.0]]), np.array([3.0, 2.0]), [[1], [0]]).tolist()
    [1.0, 5.0]
    """
    available = np.zeros_like(k)
    taken = np.empty_like(k)
    ranks = []
    for block in blocks:
        for j in block:
            available += a[j]
        ranks.append(float(np.minimum(available, k, out=taken).sum()))
    return np.array(ranks)


def _reaching(plan: Plan, totals: np.ndarray, wanted: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The plan's rates for all groups; those of weight 0 are lowered to their totals, which they may exceed."""
    for row, j in enumerate(wanted):
        if q[j] == 0 and plan.totals[row] > totals[j]:
            plan.rates[row] *= totals[j] / plan.totals[row]
    if len(wanted) == len(totals):
        return plan.rates
    rates = np.zeros((len(totals), plan.rates.shape[1]))
    rates[wanted] = plan.rates
    return rates
