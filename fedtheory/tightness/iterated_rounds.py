"""Worst cases over rounds: each kind of round is one program, and its effect on the squared distance is iterated.

Kinds of round that are drawn are one program together. Where snapshots come in every I-th round there are two, of a
snapshot and of a round between two of them, and each round has a recursion of its kind:

    E|x+ - x*|^2 <= tau_k |x - x*|^2 + nu_k,   k = s in snapshots and k = a in the others.

Where tau_s tau_a^(I-1) = tau^I and tau_s <= tau, the factors of R rounds are at most tau^R, whatever R is. What the
rounds add is least where tau_s is small: a snapshot's nu_s hardly depends on it, and nu_a falls with tau_a.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..worstcase.problem import Problem
from ..worstcase.round_plans import Plan
from ..worstcase.worst import INACCURATE, SOLVED, UNBOUNDED, Recursion, WorstCase, solved
from .matched_problem import Comparison

STARTS = (Fraction(1), Fraction(1, 3), Fraction(1, 10), Fraction(1, 30), Fraction(1, 100), Fraction(1, 300))
"""Distances, relative to the first one, at which one round's recursion is solved for."""

REFINED = 2
"""Number of further recursions, at the distance at which the errors settle."""

SPLITS = tuple(2.0**-k for k in range(1, 16))
"""Values of tau_s to try, as shares of the way from the class's own contraction to tau; tried until one helps no
more."""

TOLERANCE = 1e-12
"""Relative tolerance of a contraction: a class's own that exceeds the bound's by no more counts as equally fast."""

Line = tuple[float, float]
"""Slope and height: error after a round <= slope error before + height."""


def problem(compared: Comparison, plan: Plan, **changes: Any) -> Problem:
    """Set up the worst case of the claim's left side over its class, after the rounds of a plan."""
    constants = {
        "dissimilarity_at_optimum": compared.dissimilarity,
        "gradient_noise": compared.noise,
        "server_noise": compared.server_noise,
    }
    name = compared.statement.functional.name
    return Problem(compared.functions, plan, name, everywhere=compared.everywhere, **constants | changes)


@dataclass(frozen=True)
class LeastAdded:
    """The least that recursions of one round add to tau^R |x_0 - x*|^2.

    Attributes:
        status: "solved", "unbounded" or "inaccurate".
        kinds: of each kind of round the largest of metric - tau_k |x_0 - x*|^2.
        total: what they add in R rounds; infinite where unbounded. missed: how far off it may be by the solves' gaps.
    """

    status: str
    kinds: tuple[WorstCase, ...]
    total: float
    missed: float

    @property
    def recursions(self) -> list[Recursion | None]:
        """The recursion of each kind of round; ``None`` where it was not solved."""
        return [each.recursion for each in self.kinds]


def least_added(compared: Comparison, tau: float, own: float | None, rounds: int) -> LeastAdded:
    """Bound E|x_R - x*|^2 - tau^R |x_0 - x*|^2 from above, as low as one factor tau of all kinds of round allows.

    Where there are two kinds of round, tau_s is the one among ``SPLITS`` at which the bound is least.

    Args:
        own: the class's own contraction, below which there is no constant.
    """
    if own is not None and own > tau * (1 + TOLERANCE):
        return LeastAdded(UNBOUNDED, (), np.inf, 0.0)
    best = _added_at(compared, [tau] * len(compared.plans), rounds)
    if best.status != SOLVED or own is None or compared.other is None:
        return best
    for share in SPLITS:
        first = own + (tau - own) * share
        other = float(np.exp((compared.period * np.log(tau) - np.log(first)) / (compared.period - 1)))
        found = _added_at(compared, [first, other], rounds)
        if found.status != SOLVED or found.total > best.total:
            break
        best = found
    return best


def _added_at(compared: Comparison, factors: Sequence[float], rounds: int) -> LeastAdded:
    kinds = tuple(
        solved(problem(compared, plan, contraction=Fraction(tau)))
        for plan, tau in zip(compared.plans, factors, strict=True)
    )
    status = next((s for s in (UNBOUNDED, INACCURATE) if any(each.status == s for each in kinds)), SOLVED)
    if status != SOLVED:
        return LeastAdded(status, kinds, np.inf, 0.0)
    gaps = [each.gap * float(each.problem.unit) for each in kinds]
    total, missed = (
        added(factors, nu, 1 if compared.whole else rounds, compared.period)
        for nu in ([max(each.value or 0.0, 0.0) for each in kinds], gaps)
    )
    return LeastAdded(status, kinds, total, missed)


def own_contraction(compared: Comparison) -> float | None:
    """Compute the class's own contraction: the largest metric from distance 1 where nothing is added.

    Errors from far away are no less, as multiples of |x_0 - x*|^2: with a smaller factor no constant is enough. It is
    the same for all kinds of round: where nothing is added, clients that are all the same are the slowest.
    """
    alone = {"dissimilarity_at_optimum": Fraction(0), "gradient_noise": Fraction(0), "server_noise": Fraction(0)}
    found = solved(problem(compared, compared.plan, **alone))
    return found.lower if found.status == SOLVED else None


def added(factors: Sequence[float], each: Sequence[float], rounds: int, period: int = 1) -> float:
    """Compute what R recursions s -> factors[k] s + each[k] add up to from s = 0 on.

    k = 0 in the rounds 0, I, 2I, ... of the period I, else 1.

    >>> added([0.5, 0.25], [1.0, 2.0], 3, 2)  # 1, then 1/4 + 2, then 9/8 + 1
    2.125
    """
    whole, rest = divmod(rounds, period)

    def since(count: int) -> tuple[float, float]:
        """Factor and sum of the first ``count`` rounds of a period."""
        if not count:
            return 1.0, 0.0
        others = factors[-1] ** (count - 1)
        return factors[0] * others, others * each[0] + each[-1] * _sum(factors[-1], count - 1)

    factor, height = since(period)
    left, more = since(rest)
    return left * height * _sum(factor, whole) + more


def _sum(tau: float, rounds: int) -> float:
    """1 + tau + ... + tau^(rounds - 1)."""
    if tau == 1 or rounds == 0:
        return float(rounds)
    return float(-np.expm1(rounds * np.log(tau)) / (1 - tau)) if tau > 0 else 1.0


def iterated(
    compared: Comparison, rounds: Sequence[int], squared: float, best: Sequence[Recursion | None] = ()
) -> dict[int, float | None]:
    """Bound E|x_R - x*|^2 by iterating s -> min over the recursions of the round's kind, from |x_0 - x*|^2 on.

    A round's worst error is a concave function of s, hence the mean of the errors may take the place of s.

    Args:
        best: of each kind of round one more recursion, if known.
    """
    start, plans = compared.values["initial_distance"], compared.plans
    known = list(best) or [None] * len(plans)
    lines = [
        [
            _line(compared, each)
            for each in (own, *(_recursion(compared, plan, start * share) for share in STARTS))
            if each is not None
        ]
        for own, plan in zip(known, plans, strict=True)
    ]
    if not all(lines):
        return dict.fromkeys(rounds)
    errors, entering = by_lines(lines, rounds, squared, compared.period)
    for _ in range(REFINED):  # where the errors settle
        at = [Fraction(f"{before**0.5:.6g}") if 0 < before < squared else None for before in entering]
        more = [_recursion(compared, plan, d) if d else None for plan, d in zip(plans, at, strict=True)]
        if all(each is None for each in more):
            break
        lines = [[*own, _line(compared, new)] if new else own for own, new in zip(lines, more, strict=True)]
        errors, entering = by_lines(lines, rounds, squared, compared.period)
    return errors


def _recursion(compared: Comparison, plan: Plan, distance: Fraction) -> Recursion | None:
    """Return the least recursion of one round from this distance."""
    return solved(problem(compared, plan, distance=distance)).recursion


def by_lines(
    lines: Sequence[Sequence[Line]], rounds: Collection[int], start: float, period: int = 1
) -> tuple[dict[int, float | None], list[float]]:
    """Follow upper bounds of the errors round by round: each is the least of its kind's lines at the error before.

    Returned are the errors after rounds, and for each kind of round the error before the last one that was followed:
    rounds are, until errors are those of a period ago.

    Args:
        lines: of the rounds 0, I, 2I, ..., and, if there are two, of the others.

    >>> by_lines([[(0.5, 1.0)], [(0.5, 0.0)]], [1, 2, 3], 2.0, period=2)[0]
    {1: 2.0, 2: 1.0, 3: 1.5}
    """
    from ..loops.least_lines import least_of_lines  # a compiler comes with it

    asked = sorted(set(rounds))
    most = max(map(len, lines))
    padded = np.array([[*own, *[own[0]] * (most - len(own))] for own in lines])
    slopes, heights = (np.ascontiguousarray(padded[..., i]) for i in (0, 1))
    errors, entering = least_of_lines(slopes, heights, float(start), np.array(asked), np.full(period, np.nan))
    return dict(zip(asked, errors.tolist(), strict=True)), entering.tolist()


def _line(compared: Comparison, recursion: Recursion) -> Line:
    return recursion.contraction, recursion.after(
        1,
        distance=0.0,
        dissimilarity_at_optimum=float(compared.dissimilarity),
        gradient_noise=float(compared.noise),
        server_noise=float(compared.server_noise),
    )
