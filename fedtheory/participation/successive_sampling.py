"""Memoryless participation with unequal chances: successive sampling."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isfinite, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from ..arguments import is_real, listed
from ..extras import torch
from ..randomness import exponentials, refined, words
from .base import Inclusion, Keys, Participation
from .processes import smallest

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST_WEIGHT = 1e-290
"""The weight that ``cohort`` clients must have at least (the largest weight being 1), so that underflow is never
missed."""


class WeightedState(NamedTuple):
    """A process's keys, and its clients' weights (clients,) float64 on the keys' device."""

    keys: Keys
    weights: Tensor


class SuccessiveSampling(Participation):
    r"""``cohort`` distinct clients, drawn one after another; a rule for the weights makes it a process.

    Each draw takes one of the clients not yet drawn, with probability proportional to its weight w_i. Two other
    descriptions of the same law:

    - *Rejection.* Draw clients independently, i with probability w_i / sum(w), until ``cohort`` different ones have
      been seen. Given those seen so far, the next new one is i with probability proportional to w_i.
    - *Clocks.* Client i rings at a time T_i that is exponential with rate w_i, independently; the first ``cohort`` to
      ring take part. Clocks forget: whoever has rung, the next is i with probability proportional to w_i. One
      exponential a client and a partial sort draw a whole round (P. Efraimidis and P. Spirakis, "Weighted random
      sampling with a reservoir", Information Processing Letters 97, 2006).
    """

    @property
    def deterministic(self) -> bool:
        """Whether the participants are fixed; they never are."""
        return False

    @abstractmethod
    def relative_weights(self, clients: int) -> np.ndarray:
        """The weights (clients,) divided by the largest; 0 where that underflows."""

    def check(self, clients: int) -> None:
        if not 1 <= self.cohort <= clients:
            raise ValueError(f"cohort = {self.cohort}: allowed is 1 to clients = {clients}")
        reachable = int((self.relative_weights(clients) >= SMALLEST_WEIGHT).sum())
        if reachable < self.cohort:
            raise ValueError(
                f"cohort = {self.cohort}: allowed is 1 to {reachable}, the number of clients among {clients} "
                f"that weigh at least {SMALLEST_WEIGHT} times the heaviest one"
            )

    def init(self, keys: Keys) -> WeightedState:
        self.check(keys.clients)
        weights = torch.from_numpy(self.relative_weights(keys.clients))
        return WeightedState(keys, weights.to(keys.replica_ids.device))

    def step(self, state: WeightedState, round: int) -> tuple[Tensor, WeightedState]:
        return self.steps(state, round, 1)[0][0], state

    def steps(self, state: WeightedState, first: int, rounds: int) -> tuple[Tensor, WeightedState]:
        keys, weights = state
        clients = torch.arange(keys.clients, device=weights.device)
        numbers = torch.arange(first, first + rounds, device=weights.device)[:, None, None]
        bits = refined(words(keys.seed, keys.axis, keys.replica_ids[:, None], clients), numbers)
        return smallest(exponentials(bits) / weights, self.cohort), state

    def inclusion(self, clients: int) -> Inclusion:
        r"""Compute E[N_i] and E[N_i N_j] by quadrature over the clocks' time; errors are of the order of 1e-15.

        Let p_k(t) = 1 - exp(-w_k t), and let n be the cohort. Then

            pi_i = \int p_i'(t) P(at most n-1 of the others have rung by t) dt = E[N_i],
            pi_ij = \int (p_i p_j)'(t) P(at most n-2 of the others have rung by t) dt = E[N_i N_j] for i != j.

        Raises:
            ValueError: as `check`.
            ArithmeticError: if sum_i pi_i = n or sum_j pi_ij = n pi_i fails by more than 1e-10.
        """
        self.check(clients)
        first, second = _moments(tuple(self.relative_weights(clients).tolist()), self.cohort)
        return Inclusion(first.copy(), second.copy())


@dataclass(frozen=True)
class Weighted(SuccessiveSampling):
    """``cohort`` distinct clients, drawn one after another with probability proportional to ``weights``.

    Raises:
        ValueError: if a weight is not positive and finite; in `check`, if there is not one weight for each client.

    >>> Weighted(1, [1.0, 1.0, 2.0]).inclusion(3).first.round(12).tolist()
    [0.25, 0.25, 0.5]
    >>> Weighted(2, [1.0, 1.0, 2.0]).inclusion(3).first.round(12).tolist()  # 1/4 + 1/4 * 1/3 + 1/2 * 1/2, ...
    [0.583333333333, 0.583333333333, 0.833333333333]
    """

    cohort: int
    weights: Sequence[float]

    def __post_init__(self) -> None:
        for i, w in enumerate(listed("weights", self.weights)):
            if not (is_real(w) and isfinite(w) and w > 0):
                raise ValueError(
                    f"weights[{i}] = {float(w) if is_real(w) else repr(w)}: allowed are positive finite numbers"
                )
        object.__setattr__(self, "weights", tuple(map(float, self.weights)))

    def check(self, clients: int) -> None:
        if len(self.weights) != clients:
            raise ValueError(f"weights: there are {len(self.weights)}, allowed is one for each of {clients} clients")
        super().check(clients)

    def relative_weights(self, clients: int) -> np.ndarray:
        weights = np.array(self.weights)
        return weights / weights.max()


@dataclass(frozen=True)
class IndexBeta(SuccessiveSampling):
    r"""Clients whose index, over the number of clients, follows a Beta law: the low ones come often, the high seldom.

    Client i of M weighs the Beta(alpha, beta) mass of [i/M, (i+1)/M]. Equivalently: draw u ~ Beta(alpha, beta), take
    client floor(u M), and repeat until ``cohort`` distinct clients are found (see `SuccessiveSampling`).

    Source: FAST, appendix B.1.3 a), with alpha = 1, beta = 10 and 100 clients. The paper names the law only; that it
    is a law of the index, and that a round's clients are distinct, is our reading of its Figure 2.

    Raises:
        ValueError: if alpha or beta is not positive and finite; in `check`, if fewer than ``cohort`` clients have a
            mass that can be told from 0.

    >>> IndexBeta(1, alpha=1.0, beta=2.0).inclusion(2).first.round(12).tolist()  # the density is 2 (1 - x)
    [0.75, 0.25]
    """

    cohort: int
    alpha: float = 1.0
    beta: float = 10.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            if not (is_real(value) and isfinite(value) and value > 0):
                raise ValueError(f"{name} = {value}: allowed are positive finite numbers")

    def relative_weights(self, clients: int) -> np.ndarray:
        masses = _beta_masses(clients, self.alpha, self.beta)
        return masses / masses.max()


def _beta_masses(cells: int, alpha: float, beta: float) -> np.ndarray:
    """Beta(alpha, beta) masses of ``cells`` equal cells of [0, 1], each to nearly full relative accuracy.

    Right of the median they are differences of upper tails, P(X > x) = betainc(beta, alpha, 1 - x), with 1 - x
    formed from integers; differences of values of betainc(alpha, beta, .) close to 1 would be rounding noise there.
    For Beta(1, 10) in 100 cells, the last of mass 1e-20, relative errors are below 2e-14.
    """
    edges = np.arange(cells + 1)
    below = scipy.special.betainc(alpha, beta, edges / cells)
    above = scipy.special.betainc(beta, alpha, (cells - edges) / cells)
    return np.where(above[1:] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1])


_ORDER = 24  # Gauss-Legendre nodes a panel
_CHUNK = 64  # nodes handled at once: bounds the memory by clients * cohort * _CHUNK numbers
_NEVER = 45.0  # exp(-45) < 3e-20


@lru_cache(maxsize=16)
def _moments(weights: tuple[float, ...], cohort: int) -> tuple[np.ndarray, np.ndarray]:
    """First (M,) and second (M, M) moments of successive sampling."""
    rates = np.array(weights)
    first, second = np.zeros(len(rates)), np.zeros((len(rates), len(rates)))
    if np.count_nonzero(rates) == cohort:
        first[:] = rates > 0
        return first, np.outer(first, first)
    times, masses = _quadrature(rates, cohort)
    for k in range(0, len(times), _CHUNK):
        singles, pairs = _integrate(rates, cohort, times[k : k + _CHUNK], masses[k : k + _CHUNK])
        first += singles
        second += pairs
    np.fill_diagonal(second, first)
    _check_sums(first, second, cohort)
    return first, second


def _check_sums(first: np.ndarray, second: np.ndarray, cohort: int) -> None:
    """A round has exactly ``cohort`` clients: sum_i pi_i = n and sum_j pi_ij = n pi_i."""
    error = max(abs(first.sum() - cohort), np.abs(second.sum(axis=1) - cohort * first).max())
    if not error <= 1e-10:
        raise ArithmeticError(f"inclusion probabilities of a cohort of {cohort}: their sums are off by {error:.1e}")


def _quadrature(weights: np.ndarray, cohort: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights in time, for all integrals of `SuccessiveSampling.inclusion` at once.

    Up to t_0 = 1 / sum(w) one client has rung on average, every integrand is an entire function of w t with w t <= 1,
    and one Gauss-Legendre panel in t is exact to rounding. Beyond, events lie on all scales between the largest and
    the smallest weight, so panels are equal in s = log t. There the sharpest feature is the time at which the cohort
    fills, whose standard deviation in s is at least of the order of 1/sqrt(n): panels are at most 3/sqrt(n) wide (and
    at most 2, the scale of exp(-exp(s)) itself). They end at 45 / (n-th largest weight): the n heaviest have rung by
    then but for a chance n exp(-45), and nothing can change any more.
    """
    roots, masses = np.polynomial.legendre.leggauss(_ORDER)
    roots, masses = (roots + 1.0) / 2.0, masses / 2.0
    start, end = 1.0 / weights.sum(), _NEVER / np.sort(weights)[-cohort]
    panels = ceil(log(end / start) / min(2.0, 3.0 / sqrt(cohort)))
    width = log(end / start) / panels
    later = start * np.exp((np.arange(panels)[:, None] + roots) * width).ravel()
    return np.r_[start * roots, later], np.r_[start * masses, np.tile(masses * width, panels) * later]


def _with_client(laws: np.ndarray, silent: np.ndarray, rung: np.ndarray) -> np.ndarray:
    """Laws (..., n, T) of the number of ringers, cut at n-1, after one more client is counted."""
    more = laws * silent
    more[..., 1:, :] += laws[..., :-1, :] * rung
    return more


def _integrate(weights: np.ndarray, cohort: int, times: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, ...]:
    """The nodes' share of pi_i (M,), and of pi_ij (M, M) off the diagonal, which is left 0.

    How many clients *other than i and j* have rung is found without dividing their factors out of the full product,
    which amplifies rounding errors: ``without[i]`` is the law over the clients before j other than i, brought forward
    from j to j+1; ``after[j]`` is the distribution function over the clients after j, brought backward. Only products
    and sums of non-negative numbers occur, so every entry has full relative accuracy. O(M^2 n) work a node.
    """
    clients = len(weights)
    silent = np.exp(-np.outer(weights, times))
    rung = -np.expm1(-np.outer(weights, times))
    density = weights[:, None] * silent
    after = np.ones((clients, cohort, len(times)))  # P(at most a ring), a = 0, ..., n-1
    for j in range(clients - 1, 0, -1):
        after[j - 1] = _with_client(after[j], silent[j], rung[j])
    before = np.zeros((cohort, len(times)))
    before[0] = 1.0
    without = np.zeros_like(after)
    second = np.zeros((clients, clients))
    for j in range(clients):
        if cohort > 1:
            at_most = np.einsum("iat,at->it", without[:j, : cohort - 1], after[j, cohort - 2 :: -1])
            second[:j, j] = ((density[:j] * rung[j] + density[j] * rung[:j]) * at_most) @ masses
        without[:j] = _with_client(without[:j], silent[j], rung[j])
        without[j] = before
        before = _with_client(before, silent[j], rung[j])
    return (density * without.sum(axis=1)) @ masses, second + second.T
