"""Stationary moments of an algorithm on a quadratic federation, where a run settles, and its best mixture of rounds.

Let s be the state without its last 1 (the model's error x - x* and what is remembered, see ``linear_rounds``). Let a
round be s' = s + P s + c + noise with random P and c. If the rounds are independent, and what they do to squares
contracts, then the law of s tends to a limit. Its mean m and its covariance C solve

    -E[P] m = E[c],
    C - E[(I + P) C (I + P)^T] = E[(P m + c)(P m + c)^T] + E[noise noise^T].

Participants with a memory have a chain of states t with the stationary law pi_t (see ``participation_laws``). Then the
unknowns are those of each state, m_t = E[s 1(t)] and C_t = E[(s - m)(s - m)^T 1(t)], and m and C are their sums. All
systems are set up from P, not from I + P: where steps are small, the difference would lose its digits.

The mean is where the algorithm is on average in the end, its biased optimum x* + m. It is x* only where local training
and the participants' weights leave no bias.

Where rounds come in a cycle (snapshots with a period, a record that is repeated, phases), the run tends to a periodic
law instead. The systems are those of a cycle: with w' = w - B_k w + r_k in its round k,

    B = B_1 + B_2 - B_2 B_1,  r = r_1 + r_2 - B_2 r_1    for two rounds, and so on for more,    B w = r

gives w before the cycle's first round, and each round the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.algorithm import Kind
from ..federations.elimination import solve_exactly
from ..participation import Participation
from .expected_errors import exact_errors
from .known_past import settled_rounds
from .linear_rounds import LinearRound, check_size
from .participation_laws import Chain, chain_of, phases_of
from .round_maps import AnyLayout, layout_of, observable_weights, quadratic, rounds_of_kind

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
        point: (D,), lim E x_r, the biased optimum; where rounds come in a cycle, the mean over the cycle.
        bias: (D,), point - x*.
        squared_distance: |bias|^2: what is left of the error if the steps' randomness is averaged out.
        spectral_radius: of the recursion of means, below 1; of a cycle its geometric mean per round. Always a float.
        points: (P, D), the limit of E x_r over the rounds r = k modulo P, for k = 0, ..., P - 1; P = 1 where all rounds
            are alike.
    """

    point: np.ndarray
    bias: np.ndarray
    squared_distance: float | Fraction
    spectral_radius: float
    points: np.ndarray


@dataclass(frozen=True)
class Stationary:
    """The stationary law's moments, in floats or in Fractions.

    Where rounds come in a cycle, they are those of the model before a round that is drawn uniformly from a late cycle.

    Attributes:
        mean: (D,), E x - x*.
        covariance: (D, D), of x.
        squared_distance: E|x - x*|^2.
        squared_gradient: E|grad F(x)|^2.
        spectral_radius: of what a round does to second moments, below 1: the factor by which the expected square of
            the distance of two runs with the same draws shrinks in a round, in the long run. Always a float; with tiny
            steps it rounds to 1.
        means: (P, D), and
        covariances: (P, D, D), of x before the rounds r = k modulo P, for k = 0, ..., P - 1; P = 1 where all rounds are
            alike.
    """

    mean: np.ndarray
    covariance: np.ndarray
    squared_distance: float | Fraction
    squared_gradient: float | Fraction
    spectral_radius: float
    means: np.ndarray
    covariances: np.ndarray


def fixed_point(setting: Setting, exact: bool = False) -> FixedPoint:
    """Compute the limit of E x_r from any start, in Fractions if ``exact``. It may exist where squares diverge.

    Raises:
        ValueError: as ``stationary``, with means in the place of squares.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic([[1], [3]], [[0], [1]])  # x* = 3/4
    >>> algorithm = ft.algorithms.fedavg(local_lr="1/3", local_steps=2)
    >>> fixed_point(ft.Setting(fed, algorithm, ft.participation.Fixed([0, 1])), exact=True).point.tolist()
    [Fraction(9, 14)]

    Two clients in turn:

    >>> fedavg, here = ft.algorithms.fedavg(local_lr="1/4"), ft.participation.Recorded.of_sets([[0], [1]], 2, "repeat")
    >>> found = fixed_point(ft.Setting(fed.common_hessian([1, -1]), fedavg, here), exact=True)
    >>> found.point.tolist(), found.points[:, 0].tolist()
    ([Fraction(0, 1)], [Fraction(-1, 7), Fraction(1, 7)])
    """
    cycle = _Cycle.of(setting, exact, squares=False)
    means, radius = cycle.means()
    biases = means.sum(1)[:, cycle.layout.of_model]
    bias = _mean(biases)
    optimum = quadratic(setting).exact_optimum
    optimum = optimum if exact else optimum.astype(float)
    squared_distance = bias @ bias if exact else float(bias @ bias)
    return FixedPoint(optimum + bias, bias, squared_distance, radius, optimum + biases)


def stationary(setting: Setting, exact: bool = False) -> Stationary:
    """Compute the moments to which the run of ``setting`` tends from any start, in Fractions if ``exact``.

    Raises:
        ValueError: the federation is not quadratic; moments do not close under the algorithm; a record of the
            participants ends; the squares do not contract; Fractions are asked for and the participation process knows
            floats only; or the recursion has more numbers than ``linear_rounds.LARGEST``.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.safari(client_round_probability="1/3", local_lr="1/10", server_lr="1/20")
    >>> found = stationary(ft.Setting(fed, algorithm, ft.participation.Fixed([0])), exact=True)
    >>> found.mean.tolist(), found.squared_distance  # q eta_c c / ((1 - q) eta_s + q eta_c) = 1/2
    ([Fraction(1, 2)], Fraction(20, 77))
    """
    cycle = _Cycle.of(setting, exact, squares=True)
    squares, radius = cycle.about_the_mean()
    of_state, _ = cycle.means()
    model = cycle.layout.of_model
    means, covariances = of_state.sum(1)[:, model], squares.sum(1)[:, model, model]
    mean = _mean(means)
    covariance = _mean(covariances) + _mean(np.array([np.outer(each, each) for each in means - mean]))
    moment = np.zeros([len(mean) + 1] * 2, dtype=int).astype(mean.dtype)
    moment[:-1, :-1] = covariance + np.outer(mean, mean)
    weights = observable_weights(quadratic(setting), exact)
    observed = {name: weight @ moment.ravel() for name, weight in weights.items()}
    observed = observed if exact else {name: float(value) for name, value in observed.items()}
    return Stationary(mean, covariance, **observed, spectral_radius=radius, means=means, covariances=covariances)


def _mean(values: np.ndarray) -> np.ndarray:
    return values.sum(0) / (Fraction(len(values)) if values.dtype == object else len(values))


Mixture = tuple[tuple[Any, list[LinearRound]], ...]
"""The probability of each kind of round, and the rounds in each of the states of the participants' chain."""


@dataclass(frozen=True)
class _Cycle:
    """Rounds one after another, for ever."""

    layout: AnyLayout
    chain: Chain
    rounds: tuple[Mixture, ...]

    @classmethod
    def of(cls, setting: Setting, exact: bool, squares: bool) -> _Cycle:
        algorithm, layout = setting.algorithm, layout_of(setting)
        chain, changes = chain_of(setting.participation, quadratic(setting).clients), phases_of(setting.participation)
        numbers = len(chain.sets) * (layout.size - 1) ** (2 if squares else 1)
        how = f"a state of {layout.size} numbers and {len(chain.sets)} of the participants"
        check_size(numbers, f"algorithm = {type(algorithm).__name__}", how, exact)
        first, length = 0, 1
        if changes is not None:
            if changes.ends:
                raise ValueError(
                    f"participation = {setting.participation}: a record that ends has no limit; allowed is "
                    'after="repeat", after="absent" or after="last"'
                )
            first, length = (0, sum(changes.lengths)) if changes.cyclic else (sum(changes.lengths[:-1]), 1)

        @cache
        def made(process: Participation, kind: Kind) -> list[LinearRound]:
            return rounds_of_kind(replace(setting, participation=process), kind, exact, layout)

        rounds = []
        for r, *kinds in settled_rounds(setting, first, length):
            process = setting.participation if changes is None else changes.processes[changes.place(r)]
            share = Fraction(int(r % algorithm.period == 0)) if algorithm.period is not None else algorithm.share
            # Both kinds are made, also where one never comes: a setting that is refused is refused whatever the share.
            both = zip((share, 1 - share), kinds, strict=True)
            rounds.append(tuple((q if exact else float(q), made(process, kind)) for q, kind in both))
        return cls(layout, chain, tuple(rounds))

    @property
    def size(self) -> int:
        """The number of entries of s."""
        return self.layout.size - 1

    @property
    def dtype(self) -> np.dtype:
        return self.rounds[0][0][1][0].increments.dtype

    @property
    def _initial(self) -> np.ndarray:
        return self.chain.initial.astype(self.dtype)

    def means(self) -> tuple[np.ndarray, float]:
        """m_t before each round, for each state t of the participants, (rounds, states, size), and the spectral radius
        of means."""
        increments = [self._mixed(mixture, LinearRound.mean_increment) for mixture in self.rounds]
        unknown = np.arange(self.size + 1) < self.size
        known = [self._initial[:, None]] * len(self.rounds)
        return self._solve(increments, unknown, known, "the means")

    def about_the_mean(self) -> tuple[np.ndarray, float]:
        """C_t before each round, for each state t, (rounds, states, size, size), and the spectral radius of squares."""
        means, _ = self.means()
        initial, centres = self._initial, means.sum(1)
        increments, known = [], []
        # Of vec(Z), row-major, those of s s^T are unknown; those of s 1 and 1 s, and the last 1, are the means.
        square = np.zeros((self.size + 1, self.size + 1), dtype=bool)
        square[:-1, :-1] = True
        for mixture, of_state, centre, after in zip(
            self.rounds, means, centres, np.roll(centres, -1, axis=0), strict=True
        ):
            way = None if len(self.rounds) == 1 else centre - after
            centred = tuple((q, [_about(round, centre, way) for round in rounds]) for q, rounds in mixture)
            increments.append(self._mixed(centred, LinearRound.square_increment))
            offsets = of_state - np.outer(initial, centre)  # 0 where there is one state
            all_of = np.zeros((len(initial), self.size + 1, self.size + 1), dtype=int).astype(self.dtype)
            all_of[:, :-1, -1], all_of[:, -1, :-1], all_of[:, -1, -1] = offsets, offsets, initial
            known.append(all_of.reshape(len(initial), -1)[:, ~square.ravel()])
        found, radius = self._solve(increments, square.ravel(), known, "the squares")
        return found.reshape(len(self.rounds), -1, self.size, self.size), radius

    def _mixed(self, mixture: Mixture, increment: Callable[[LinearRound], np.ndarray]) -> list[np.ndarray]:
        """The increments of the mixture in each state."""
        states = range(len(self.chain.sets))
        return [np.sum([q * increment(rounds[t]) for q, rounds in mixture], axis=0) for t in states]

    def _solve(
        self, increments: list[list[np.ndarray]], unknown: np.ndarray, known: list[np.ndarray], what: str
    ) -> tuple[np.ndarray, float]:
        """Solve for the w_t before each round, (rounds, states, number of unknown), and the spectral radius.

        In a round w_t' = sum_s P(s -> t) (I + G_s) w_s, and after the last one they are what they were. Entries outside
        of ``unknown`` are ``known``, (states, number of them) before each round.
        """
        steps = [self._step(of_state, unknown, rest) for of_state, rest in zip(increments, known, strict=True)]
        contraction, right = steps[0]
        for own, pushed in steps[1:]:
            contraction, right = contraction + own - own @ contraction, right + pushed - own @ right
        radius = _spectral_radius(contraction.astype(float), what) ** (1 / len(steps))
        solved = solve_exactly(contraction, right) if self.dtype == object else np.linalg.solve(contraction, right)
        found = [solved]
        for own, pushed in steps[:-1]:
            found.append(found[-1] - own @ found[-1] + pushed)
        return np.stack(found).reshape(len(steps), len(self.chain.sets), -1), radius

    def _step(
        self, increments: list[np.ndarray], unknown: np.ndarray, known: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """B and r of one round, w' = w - B w + r, of all states' unknown entries."""
        states, wanted = len(increments), int(unknown.sum())
        into = self.chain.transitions.astype(self.dtype).T
        identity = np.eye(wanted, dtype=int).astype(self.dtype)
        own = [increment[np.ix_(unknown, unknown)] for increment in increments]
        moved = np.block([[p * block for p, block in zip(row, own, strict=True)] for row in into])
        contraction = np.kron(np.eye(states, dtype=int).astype(self.dtype) - into, identity) - moved
        pushed = [increment[np.ix_(unknown, ~unknown)] @ k for increment, k in zip(increments, known, strict=True)]
        return contraction, (into @ np.stack(pushed)).ravel()


def _about(round: LinearRound, centre: np.ndarray, way: np.ndarray | None) -> LinearRound:
    """Express the round for the state minus ``centre``, and what it makes of it minus another point, ``way`` away."""
    moved = round.about(centre)
    if way is None:
        return moved
    certain = np.zeros_like(moved.increments[:1])
    certain[0, :-1, -1] = way
    first = np.concatenate([moved.first, moved.first[:1] * 0 + 1])
    second = np.block([[moved.second, moved.first[:, None]], [moved.first[None], first[None, -1:]]])
    return replace(moved, increments=np.concatenate([moved.increments, certain]), first=first, second=second)


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
