"""Other objectives over the same reachable participation, and policies for a known availability law.

The fair share (`fedtheory.selection.sharing`) depends on an objective through its slopes only. For weights w and alpha
> 0,

    maximise  U(s) = sum_j w_j u(s_j),   u(s) = s^(1-alpha) / (1-alpha),   u(s) = log s for alpha = 1,

has the slopes w_j s_j^(-alpha) = level^(-alpha) with level = s_j / w_j^(1/alpha), so its solution is the fair share
with weights w^(1/alpha). OffVar is alpha = 2 with w = p^2; alpha = 1 maximises the entropy-like sum of w log s, that
is, minimises the divergence of w from s; alpha = infinity is the max-min fair participation s_j / w_j. With level
weights p all three are the same totals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .inputs import checked_availability, checked_budget, checked_group_weight, checked_number
from .offline import levels_and_prices, proxy
from .sharing import Share, fair_share


@dataclass(frozen=True)
class FairSolution:
    """The alpha-fair participation.

    Attributes:
        participation: (groups,), s_j.
        objective: U(s); for alpha = infinity the least s_j / w_j over w_j > 0.
        upper_bound: what the prices prove no plan exceeds; equal to the objective up to rounding.
        level: (groups,), s_j / w_j^(1/alpha) of each group's block.
        blocks: the groups by increasing level.
    """

    participation: np.ndarray
    objective: float
    upper_bound: float
    level: np.ndarray
    blocks: tuple[tuple[int, ...], ...]
    _rates: np.ndarray

    def plan(self) -> np.ndarray:
        """Return rates (rounds, groups) that reach the participation."""
        return self._rates.T


def fair(
    availability: ArrayLike, budget: ArrayLike, group_weight: ArrayLike, alpha: float, r_min: float = 0.0
) -> FairSolution:
    """The alpha-fair participation, exactly, with a plan and a certificate.

    The certificate for finite alpha is the dual at the prices mu_j = level_j^(-alpha),

        U(s) <= sum_j max over s_j >= r_min of (w_j u(s_j) - mu_j s_j)  +  (1/T) sum_t max over r(t) of mu . r(t),

    and for alpha = infinity the first block A: some group of it has s_j / w_j <= f(A) / (T w(A)).

    Args:
        availability, budget, r_min: as in `offvar`.
        group_weight: (groups,), w_j >= 0 with sum 1.
        alpha: above 0, `math.inf` for max-min.

    Raises:
        ValueError: as `offvar`; or alpha is not above 0; or so small that a weight's w^(1/alpha) is below the smallest
            number, or so large that U is above the largest; or alpha = infinity with an r_min, which leaves the first
            block no common level.

    >>> a, k = [[4, 1], [4, 0]], [3, 2]
    >>> fair(a, k, [0.5, 0.5], alpha=1).participation.tolist(), fair(a, k, [0.5, 0.5], alpha=math.inf).objective
    ([2.0, 0.5], 1.0)
    """
    a = checked_availability(availability)
    groups, rounds = a.shape
    k = checked_budget(budget, rounds)
    w = checked_group_weight(group_weight, groups)
    least = checked_number("r_min", r_min)
    if not (isinstance(alpha, (int, float)) and alpha > 0):
        raise ValueError(f"alpha = {alpha!r}: allowed is a number above 0, infinity included")
    if alpha == math.inf and least > 0:
        raise ValueError(f"r_min = {least}: allowed is 0 for alpha = infinity")
    share = fair_share(a, k, _level_weight(w, alpha), np.full(groups, least * rounds))
    s = share.totals / rounds
    level, _ = levels_and_prices(share, rounds)
    if alpha == math.inf:
        first = list(share.blocks[0])
        value, bound = float((s[w > 0] / w[w > 0]).min()), share.ranks[0] / rounds / w[first].sum()
    else:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # refused below
            price = _prices(share, level, alpha)
            value = _utility(w, s, alpha)
            bound = _dual(w, least, price, alpha) + share.support(price) / rounds
        if not math.isfinite(value) or not math.isfinite(bound):
            raise ValueError(f"alpha = {alpha}: U overflows; allowed is a smaller alpha, or infinity")
    return FairSolution(s, value, float(bound), level, share.blocks, share.rates)


def _level_weight(w: np.ndarray, alpha: float) -> np.ndarray:
    """w^(1/alpha), the weights that levels are counted in."""
    if alpha == math.inf:
        return w
    powered = w ** (1 / alpha)
    lost = np.flatnonzero((w > 0) & (powered < np.finfo(float).tiny))
    if len(lost):
        raise ValueError(
            f"alpha = {alpha}: {w[lost[0]]:g}^(1/alpha), for the weight of group {lost[0]}, is below the smallest "
            "number; allowed is a larger alpha"
        )
    return powered


def _prices(share: Share, level: np.ndarray, alpha: float) -> np.ndarray:
    highest, price = 0.0, np.zeros(len(level))
    for block in share.blocks:
        highest = max(highest, level[block[0]])
        price[list(block)] = highest**-alpha
    return price


def _utility(w: np.ndarray, s: np.ndarray, alpha: float) -> float:
    w, s = w[w > 0], s[w > 0]
    return float((w * np.log(s)).sum() if alpha == 1 else (w * s ** (1 - alpha)).sum() / (1 - alpha))


def _dual(w: np.ndarray, r_min: float, price: np.ndarray, alpha: float) -> float:
    w, price = w[price > 0], price[price > 0]
    s = np.maximum(r_min, (w / price) ** (1 / alpha))
    return _utility(w, s, alpha) - float((price * s).sum())


@dataclass(frozen=True)
class StationaryPolicy:
    """The best stationary policy for a known availability law.

    Attributes:
        rates: (states, groups), r^f(a, k): the policy of Definition 2.
        participation: (groups,), s^f = sum_c pi(c) r^f(c), display (4).
        objective: sum_j p_j^2 / s_j, the best that any policy reaches in the long run.
        level, blocks: as in `OffVarSolution`.
    """

    rates: np.ndarray
    participation: np.ndarray
    objective: float
    level: np.ndarray
    blocks: tuple[tuple[int, ...], ...]


def stationary(
    availability: ArrayLike, budget: ArrayLike, probability: ArrayLike, group_weight: ArrayLike, r_min: float = 0.0
) -> StationaryPolicy:
    """The stationary state-dependent policy of FLICS-OPT's Definition 2 with the least sum_j p_j^2 / s_j.

    A state of probability pi(c) is a round that counts pi(c) times: with x = sum_c pi(c) r(c) this is OffVar for the
    availability pi(c) a(c) and the budgets pi(c) k(c).

    Args:
        availability: (states, groups), a(c). budget: one number, or one a state. group_weight, r_min: as in `offvar`.
        probability: (states,), pi(c) >= 0 with sum 1; a state of probability 0 gets rates 0.

    Raises:
        ValueError: as `offvar`; or the probabilities are negative or do not sum to 1.

    >>> f = stationary([[4, 4], [4, 0]], [4, 2], [0.5, 0.5], [0.5, 0.5])
    >>> f.rates.tolist(), f.participation.tolist()
    ([[1.0, 3.0], [2.0, 0.0]], [1.5, 1.5])
    """
    a = checked_availability(availability)
    groups, states = a.shape
    k = checked_budget(budget, states)
    p = checked_group_weight(group_weight, groups)
    try:
        pi = checked_group_weight(probability, states)
    except ValueError as error:
        raise ValueError(str(error).replace("group_weight", "probability").replace("a group", "a state")) from None
    share = fair_share(a * pi, k * pi, p, np.full(groups, checked_number("r_min", r_min)))
    rates = np.divide(share.rates, pi, out=np.zeros_like(share.rates), where=pi > 0)
    level, _ = levels_and_prices(share, 1)
    return StationaryPolicy(np.minimum(rates, a).T, share.totals, float(proxy(share.totals, p)), level, share.blocks)
