"""Stationary moments of an algorithm on a quadratic federation, where a run settles, and its best mixture of rounds.

Let s be the state without its last 1 (the model's error x - x* and what is remembered, see ``linear_rounds``). Let a
round be s' = s + P s + c + noise with random P and c. If the rounds are independent, and what they do to squares
contracts, then the law of s tends to a limit. Its mean m and its covariance C solve

    -E[P] m = E[c],
    C - E[(I + P) C (I + P)^T] = E[(P m + c)(P m + c)^T] + E[noise noise^T].

Participants with a memory have a chain of states t with the stationary law pi_t (see ``joint_law``). Then the unknowns
are those of each state, m_t = E[s 1(t)] and C_t = E[(s - m)(s - m)^T 1(t)], and m and C are their sums. All systems are
set up from P, not from I + P: where steps are small, the difference would lose its digits.

The mean is where the algorithm is on average in the end, its biased optimum x* + m. It is x* only where local training
and the participants' weights leave no bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..federations.elimination import solve_exactly
from .custom_rounds import OwnLayout
from .expected_errors import exact_errors
from .joint_law import Chain, chain_of, check_size
from .linear_rounds import LinearRound
from .round_maps import Layout, layout_of, observable_weights, quadratic, rounds_of_kind

if TYPE_CHECKING:
    from ..setting import Setting

ROUNDING = 1e-13
"""Relative error of eigenvalues of small matrices, some 1e-15 of the largest one."""

SCANNED = np.linspace(0, 1, 41)
"""The shares of a scan, ascending."""


class NotContracting(ValueError):
    """Error of a setting without a stationary law, since squares do not contract."""


@dataclass(frozen=True)
class FixedPoint:
    """The limit of the expected model, in floats or in Fractions.

    Attributes:
        point: (D,), lim E x_r, the biased optimum.
        bias: (D,), point - x*.
        squared_distance: |bias|^2: what is left of the error if the steps' randomness is averaged out.
        spectral_radius: of the recursion of means, below 1. Always a float.
    """

    point: np.ndarray
    bias: np.ndarray
    squared_distance: float | Fraction
    spectral_radius: float


@dataclass(frozen=True)
class Stationary:
    """The stationary law's moments, in floats or in Fractions.

    Attributes:
        mean: (D,), E x - x*.
        covariance: (D, D), of x.
        squared_distance: E|x - x*|^2.
        squared_gradient: E|grad F(x)|^2.
        spectral_radius: of what a round does to second moments, below 1: the factor by which the expected square of
            the distance of two runs with the same draws shrinks in a round, in the long run. Always a float; with tiny
            steps it rounds to 1.
    """

    mean: np.ndarray
    covariance: np.ndarray
    squared_distance: float | Fraction
    squared_gradient: float | Fraction
    spectral_radius: float


def fixed_point(setting: Setting, exact: bool = False) -> FixedPoint:
    """Compute the limit of E x_r from any start, in Fractions if ``exact``. It may exist where squares diverge.

    Raises:
        ValueError: as ``stationary``, with means in the place of squares.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic([[1], [3]], [[0], [1]])  # x* = 3/4
    >>> algorithm = ft.algorithms.fedavg(local_lr="1/3", local_steps=2)
    >>> fixed_point(ft.Setting(fed, algorithm, ft.participation.Fixed([0, 1])), exact=True).point.tolist()
    [Fraction(9, 14)]
    """
    mixture = _Mixture.of(setting, exact, squares=False)
    means, radius = mixture.means()
    bias = means.sum(0)[mixture.layout.of_model]
    optimum = quadratic(setting).exact_optimum
    squared_distance = bias @ bias if exact else float(bias @ bias)
    return FixedPoint((optimum if exact else optimum.astype(float)) + bias, bias, squared_distance, radius)


def stationary(setting: Setting, exact: bool = False) -> Stationary:
    """Compute the moments to which the run of ``setting`` tends from any start, in Fractions if ``exact``.

    Raises:
        ValueError: the federation is not quadratic; moments do not close under the algorithm; the kinds of round
            alternate periodically, or the participants' moments are not the same in every round; the squares do not
            contract; Fractions are asked for and the participation process knows floats only; or the recursion has
            more numbers than ``joint_law.LARGEST``.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.safari(client_round_probability="1/3", local_lr="1/10", server_lr="1/20")
    >>> found = stationary(ft.Setting(fed, algorithm, ft.participation.Fixed([0])), exact=True)
    >>> found.mean.tolist(), found.squared_distance  # q eta_c c / ((1 - q) eta_s + q eta_c) = 1/2
    ([Fraction(1, 2)], Fraction(20, 77))
    """
    mixture = _Mixture.of(setting, exact, squares=True)
    squares, radius = mixture.about_the_mean()
    means, _ = mixture.means()
    model = mixture.layout.of_model
    mean, covariance = means.sum(0)[model], squares.sum(0)[model, model]
    moment = np.zeros([len(mean) + 1] * 2, dtype=int).astype(mean.dtype)
    moment[:-1, :-1] = covariance + np.outer(mean, mean)
    weights = observable_weights(quadratic(setting), exact)
    observed = {name: weight @ moment.ravel() for name, weight in weights.items()}
    observed = observed if exact else {name: float(value) for name, value in observed.items()}
    return Stationary(mean, covariance, **observed, spectral_radius=radius)


@dataclass(frozen=True)
class _Mixture:
    """Mixture of kinds of round, the same for ever.

    Attributes:
        kinds: for each kind of round its probability, and the rounds in each of the chain's states.
    """

    layout: Layout | OwnLayout
    chain: Chain
    kinds: tuple[tuple[Any, list[LinearRound]], ...]

    @classmethod
    def of(cls, setting: Setting, exact: bool, squares: bool) -> _Mixture:
        algorithm = setting.algorithm
        if algorithm.period not in (None, 1):
            raise ValueError(
                f"period = {algorithm.period}: allowed are kinds of round that come at random, or period 1"
            )
        share = Fraction(1) if algorithm.period == 1 else algorithm.share
        clients, layout = quadratic(setting).clients, layout_of(setting)
        chain = chain_of(setting.participation, clients)
        numbers = len(chain.sets) * (layout.size - 1) ** (2 if squares else 1)
        how = f"a state of {layout.size} numbers and {len(chain.sets)} of the participants"
        check_size(numbers, f"algorithm = {type(algorithm).__name__}", how, exact)
        # Both kinds are made, also where one never comes: a setting that is refused is refused whatever the share.
        kinds = [
            (q if exact else float(q), rounds_of_kind(setting, kind, exact, layout))
            for q, kind in zip((share, 1 - share), algorithm.kinds, strict=True)
        ]
        return cls(layout, chain, tuple(kinds))

    @property
    def size(self) -> int:
        """The number of entries of s."""
        return self.layout.size - 1

    @property
    def dtype(self) -> np.dtype:
        return self.kinds[0][1][0].increments.dtype

    @property
    def _initial(self) -> np.ndarray:
        return self.chain.initial.astype(self.dtype)

    def means(self) -> tuple[np.ndarray, float]:
        """m_t for each state t of the participants, (states, size), and the spectral radius of means."""
        increments = self._mixed(LinearRound.mean_increment)
        unknown = np.arange(self.size + 1) < self.size
        return self._solve(increments, unknown, self._initial[:, None], "the means")

    def about_the_mean(self) -> tuple[np.ndarray, float]:
        """C_t for each state t, (states, size, size), and the spectral radius of squares."""
        means, _ = self.means()
        mean, initial = means.sum(0), self._initial
        centred = replace(self, kinds=tuple((q, [r.about(mean) for r in rounds]) for q, rounds in self.kinds))
        increments = centred._mixed(LinearRound.square_increment)
        # Of vec(Z), row-major, those of s s^T are unknown; those of s 1 and 1 s, and the last 1, are the means.
        offsets = means - np.outer(initial, mean)  # 0 where there is one state
        known = np.zeros((len(initial), self.size + 1, self.size + 1), dtype=int).astype(self.dtype)
        known[:, :-1, -1], known[:, -1, :-1], known[:, -1, -1] = offsets, offsets, initial
        square = np.zeros((self.size + 1, self.size + 1), dtype=bool)
        square[:-1, :-1] = True
        unknown = square.ravel()
        found, radius = self._solve(increments, unknown, known.reshape(len(initial), -1)[:, ~unknown], "the squares")
        return found.reshape(-1, self.size, self.size), radius

    def _mixed(self, increment: Callable[[LinearRound], np.ndarray]) -> list[np.ndarray]:
        """The increments of the mixture in each state."""
        states = range(len(self.chain.sets))
        return [np.sum([q * increment(rounds[t]) for q, rounds in self.kinds], axis=0) for t in states]

    def _solve(
        self, increments: list[np.ndarray], unknown: np.ndarray, known: np.ndarray, what: str
    ) -> tuple[np.ndarray, float]:
        """The fixed point w_t = sum_s P(s -> t) (I + G_s) w_s, whose entries outside of ``unknown`` are ``known``
        (states, number of them); (states, number of unknown), and the spectral radius."""
        states, wanted = len(increments), int(unknown.sum())
        into = self.chain.transitions.astype(self.dtype).T
        identity = np.eye(wanted, dtype=int).astype(self.dtype)
        own = [increment[np.ix_(unknown, unknown)] for increment in increments]
        moved = np.block([[p * block for p, block in zip(row, own, strict=True)] for row in into])
        contraction = np.kron(np.eye(states, dtype=int).astype(self.dtype) - into, identity) - moved
        radius = _spectral_radius(contraction.astype(float), what)
        pushed = [increment[np.ix_(unknown, ~unknown)] @ k for increment, k in zip(increments, known, strict=True)]
        right = (into @ np.stack(pushed)).ravel()
        solved = solve_exactly(contraction, right) if self.dtype == object else np.linalg.solve(contraction, right)
        return solved.reshape(states, wanted), radius


def _spectral_radius(contraction: np.ndarray, what: str) -> float:
    """Compute the spectral radius of I - contraction.

    Of squares it maps positive semidefinite matrices to such ones, so its spectral radius is one of its eigenvalues,
    the largest real one. Of means any eigenvalue may be the largest.

    Raises:
        NotContracting: it is not below 1.
    """
    symmetric = np.abs(contraction - contraction.T).max() <= ROUNDING * np.abs(contraction).max()
    if symmetric:
        eigenvalues = np.linalg.eigvalsh((contraction + contraction.T) / 2).astype(complex)
    else:
        eigenvalues = np.linalg.eigvals(contraction)
    # |1 - e| < 1 is 2 Re e > |e|^2: so tiny eigenvalues keep their digits.
    margin = 2 * eigenvalues.real - np.abs(eigenvalues) ** 2
    largest = np.abs(eigenvalues).max()
    radius = float(np.abs(1 - eigenvalues).max())
    if (margin <= ROUNDING * largest).any():
        raise NotContracting(f"spectral radius = {radius}: allowed is less than 1; {what} do not contract")
    return radius


@dataclass(frozen=True)
class BestProbability:
    """The share of rounds of the first kind that leaves the smallest error.

    Attributes:
        probability: client_round_probability of ``safari``, snapshot_probability of ``fast``.
        squared_distance: E|x_R - x*|^2 with it.
    """

    probability: float
    squared_distance: float


def best_probability(setting: Setting, rounds: float) -> BestProbability:
    """Find the probability q of the first kind of round that makes the exact E|x_R - x*|^2 least, over q in [0, 1].

    The first kind is client rounds in ``safari``, snapshots in ``fast``. All else is as in ``setting``.

    A scan of ``SCANNED``, then a bounded minimisation between the neighbours of its best share. The error of a
    diverging mixture is infinite. Of equal errors the smallest share is taken.

    Args:
        rounds: R >= 1, or ``math.inf`` for the stationary error.

    Raises:
        ValueError: rounds that are no whole number >= 1, exact moments that do not exist (see ``exact_errors`` and
            ``stationary``), or a setting that diverges whatever the share.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1], server_noise=1)
    >>> algorithm = ft.algorithms.safari(client_round_probability=0, local_lr="1/50", server_lr="1/100")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=10)
    >>> best_probability(s, 100).probability, best_probability(s, 300).probability
    (1.0, 0.0)
    """
    from scipy.optimize import minimize_scalar

    if not rounds >= 1 or (rounds != math.inf and rounds != int(rounds)):
        raise ValueError(f"rounds = {rounds}: allowed is an integer >= 1, or inf")

    def error(share: float) -> float:
        mixture = replace(setting, algorithm=setting.algorithm.with_share(Fraction(float(share))))
        if rounds < math.inf:
            return float(exact_errors(mixture, [int(rounds)]).squared_distance[0])
        try:
            return float(stationary(mixture).squared_distance)
        except NotContracting:
            return math.inf

    errors = np.array([error(share) for share in SCANNED])
    if np.isinf(errors.min()):
        raise ValueError(f"rounds = {rounds}: the errors are infinite whatever the share; allowed are smaller steps")
    best = int(errors.argmin())
    found = BestProbability(float(SCANNED[best]), float(errors[best]))
    low, high = SCANNED[max(best - 1, 0)], SCANNED[min(best + 1, len(SCANNED) - 1)]
    refined = minimize_scalar(error, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    if refined.fun < found.squared_distance:
        found = BestProbability(float(refined.x), float(refined.fun))
    return found
