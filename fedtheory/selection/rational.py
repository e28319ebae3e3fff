"""FLICS's selection problems on small instances, in whatever numbers they are given: Fractions stay exact.

The other solvers of this package are fast and work in floating point. These are slow and take other routes: the
policy by the breakpoints of its level, the best in hindsight by trying every set of groups.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

Number = Fraction | float
Numbers = Sequence[Number]


def var_rates(history: Numbers, availability: Numbers, budget: Number, weight: Numbers) -> tuple[Number, ...]:
    """Solve Var (FLICS, (5)-(6)) in the numbers that are given.

    The rates 0 <= r <= availability with sum <= budget minimise sum_j weight_j^2 / (history_j + r_j), where groups of
    weight 0 get nothing.

    r_j = clip(weight_j nu - history_j, 0, availability_j) for the level nu at which the budget is used, or everything.
    The sum is piecewise linear in nu, with breakpoints history_j / weight_j and (history_j + availability_j)/weight_j.

    >>> one, half = Fraction(1), Fraction(1, 2)
    >>> [str(r) for r in var_rates((one, 0 * one), (2, 2), one, (half, half))]
    ['0', '1']
    >>> [str(r) for r in var_rates((one, 0 * one), (2, 2), 2 * one, (half, half))]
    ['1/2', '3/2']
    """
    groups = [j for j, p in enumerate(weight) if p > 0]
    everything = tuple(availability[j] if j in groups else 0 * budget for j in range(len(weight)))
    if sum(everything) <= budget:
        return everything

    def rates(level: Number) -> tuple[Number, ...]:
        wanted = (p * level - b for p, b in zip(weight, history, strict=True))
        return tuple(min(max(w, 0 * w), a) for w, a in zip(wanted, everything, strict=True))

    ends = ((history[j] + extra) / weight[j] for j in groups for extra in (0 * budget, availability[j]))
    levels = sorted(ends)
    place = bisect.bisect_left(levels, budget, lo=1, hi=len(levels) - 1, key=lambda level: sum(rates(level)))
    low, high = levels[place - 1], levels[place]
    below, above = sum(rates(low)), sum(rates(high))
    share = (budget - below) / (above - below) if above > below else 0 * budget
    return rates(low + share * (high - low))


def reach(availability: Sequence[Numbers], budget: Numbers, groups: Sequence[int]) -> Number:
    """Return the most that these groups can have together, on average over the rounds."""
    each = (min(k, sum(a[j] for j in groups)) for a, k in zip(availability, budget, strict=True))
    return sum(each) / (len(budget) + 0 * budget[0])


def best_participation(
    availability: Sequence[Numbers], budget: Numbers, weight: Numbers, least: Number
) -> tuple[Number, ...]:
    """Solve OffVar (FLICS, (8)): the s >= least that minimises sum_j weight_j^2 / s_j over what plans can reach.

    Sets A of groups are limited by sum_A s_j <= reach(A), a polymatroid. Hence the scarcest set, of the lowest level nu
    with sum_A max(least, weight_j nu) = reach(A), takes all it can, and the others share the rest in the same way. All
    sets are tried: for a few groups. Groups of weight 0 get ``least``.

    Raises:
        ValueError: no plan gives every group ``least``; or a group can get nothing.

    >>> one, half = Fraction(1), Fraction(1, 2)
    >>> [str(s) for s in best_participation([(4, 4), (4, 0)], (4 * one, 2 * one), (half, half), 0 * one)]
    ['3/2', '3/2']
    """
    fixed: dict[int, Number] = {j: least for j, p in enumerate(weight) if p == 0}
    for members in _subsets(tuple(fixed)):
        if reach(availability, budget, members) < least * len(members):
            raise ValueError(f"least_participation = {least}: no plan gives it to every group")
    while len(fixed) < len(weight):
        done, free = tuple(fixed), [j for j in range(len(weight)) if j not in fixed]
        found = []
        for members in _subsets(free):
            room = min(
                reach(availability, budget, (*members, *some)) - sum(fixed[j] for j in some)
                for some in _with_empty(done)
            )
            found.append((_level([weight[j] for j in members], least, room), members))
        level, members = min(found, key=lambda scarcest: (scarcest[0], -len(scarcest[1])))
        fixed |= {j: max(least, weight[j] * level) for j in members}
    if not all(value > 0 for j, value in fixed.items() if weight[j] > 0):
        raise ValueError("availability: some group can take part in no round")
    return tuple(fixed[j] for j in range(len(weight)))


def _level(weight: Numbers, least: Number, room: Number) -> Number:
    """The level nu with sum_j max(least, weight_j nu) = room."""
    if room < least * len(weight):
        raise ValueError(f"least_participation = {least}: no plan gives it to every group")
    held = sorted(weight, reverse=True)  # the lightest groups are held up by the least participation
    for count in range(len(held), 0, -1):
        level = (room - least * (len(held) - count)) / sum(held[:count])
        if held[count - 1] * level >= least:
            return level
    return least / held[0]


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    sizes = range(1, len(items) + 1)
    return itertools.chain.from_iterable(itertools.combinations(items, size) for size in sizes)


def _with_empty(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.chain([()], _subsets(items))


def proxy(participation: Numbers, weight: Numbers, power: int = 2) -> Number:
    """sum_j weight_j^power / s_j over the groups of positive weight; infinite where one has nothing."""
    pairs = [(p, s) for p, s in zip(weight, participation, strict=True) if p > 0]
    return float("inf") if any(s == 0 for _, s in pairs) else sum(p**power / s for p, s in pairs)
