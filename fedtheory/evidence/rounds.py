"""One round on a quadratic federation, as a linear map.

With y = x - x*, client i's local training is the affine map y -> A_i y + b_i + noise, where

    A_i = (I - eta H_i)^K,  b_i = (I - A_i)(c_i - x*),  noise covariance eta^2 sigma^2/D sum_{k<K} (I - eta H_i)^{2k},

and the server's own step is another one, y -> (I - eta_s H) y + noise, as of a single client with the objective F. The
average of such maps with random weights is then linear in z = (y, 1) for the first moments, and linear in
Z = E[z z^T] for the second moments; a round whose kind is random mixes the kinds' operators. Everything here works on
float arrays and, where numbers are exact, on arrays of Fractions (dtype object), by the same formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.base import ClientRound, Kind, ServerRound, Weights
from ..federations.quadratic import Quadratic
from ..participation import Fixed, Phases

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class LocalMaps:
    """What each client does to the server's model in a round, in lifted coordinates z = (y, 1) with y = x - x*.

    Attributes:
        maps: (M, D + 1, D + 1), [[A_i, b_i], [0, 1]].
        shares: (M, D, D), I - A_i: a sum of its own, since the difference loses its digits where steps are small.
        noise: (M, D, D), the covariance of what gradient noise adds.
        local_lr: eta.
    """

    maps: np.ndarray
    shares: np.ndarray
    noise: np.ndarray
    local_lr: object

    def gradient_sums(self) -> np.ndarray:
        """(M, D, D + 1): the map from z to client i's sum of local gradients, (y - y_K) / eta without noise."""
        return np.concatenate([self.shares, -self.maps[:, :-1, -1:]], axis=2) / self.local_lr


def local_maps(setting: Setting, exact: bool = False) -> LocalMaps:
    """The clients' maps in rounds in which they train, in Fractions if ``exact``.

    Raises:
        ValueError: the federation is not quadratic, or the algorithm's kinds of round train in different ways.
    """
    kinds = [kind for kind in setting.algorithm.kinds if isinstance(kind, ClientRound)]
    if any((kind.local_steps, kind.local_lr) != (kinds[0].local_steps, kinds[0].local_lr) for kind in kinds):
        raise ValueError(f"algorithm = {setting.algorithm}: allowed is one way of local training")
    return training_maps(quadratic(setting), kinds[0], exact)


def quadratic(setting: Setting) -> Quadratic:
    """The setting's federation; ``ValueError`` unless it is quadratic."""
    if not isinstance(setting.federation, Quadratic):
        raise ValueError(f"exact moments need a Quadratic federation, not {type(setting.federation).__name__}")
    return setting.federation


def training_maps(fed: Quadratic, kind: ClientRound, exact: bool = False) -> LocalMaps:
    """The clients' maps in a round of this kind."""
    shifted = fed.exact_centres - fed.exact_optimum
    return _maps(fed.exact_hessians, shifted, fed.exact_gradient_noise, kind.local_lr, kind.local_steps, exact)


def server_map(fed: Quadratic, kind: ServerRound, exact: bool = False) -> LocalMaps:
    """The server's map in a round of its own, as of a single client that minimises F in one step."""
    hessian = fed.exact_hessians.sum(0)[None] / Fraction(fed.clients)
    at_optimum = np.full((1, fed.dimension), Fraction(0), dtype=object)
    return _maps(hessian, at_optimum, fed.exact_server_noise, kind.server_lr, 1, exact)


def _maps(
    hessians: np.ndarray, minimisers: np.ndarray, noise: Fraction, lr: object, steps: int, exact: bool
) -> LocalMaps:
    """Gradient steps on (y - m_i)^T H_i (y - m_i) / 2; hessians (M, D, D) and minimisers (M, D) in Fractions."""
    clients, dimension = minimisers.shape
    kind = object if exact else float
    eta = lr if exact else float(lr)
    identity = np.array([[Fraction(int(i == j)) for j in range(dimension)] for i in range(dimension)])
    identity = identity.astype(kind)
    step = identity - eta * hessians.astype(kind)
    noise_level = noise**2 / dimension
    noise_level = eta**2 * (noise_level if exact else float(noise_level))
    power, shares, added = np.broadcast_to(identity, step.shape), 0 * step, 0 * step
    for _ in range(steps):
        added = added + noise_level * (power @ power)
        shares = shares + power @ (eta * hessians.astype(kind))
        power = power @ step
    drift = np.stack([share @ m for share, m in zip(shares, minimisers.astype(kind), strict=True)])
    maps = np.zeros((clients, dimension + 1, dimension + 1), dtype=int).astype(kind)
    maps[:, :-1, :-1], maps[:, :-1, -1] = power, drift
    maps[:, -1, -1] = Fraction(1) if exact else 1.0
    return LocalMaps(maps, shares, added, eta)


def kind_of_round(setting: Setting, kind: Kind, exact: bool = False) -> tuple[LocalMaps, Weights]:
    """The maps that a round of this kind averages, and the moments of their weights, in Fractions if ``exact``.

    Raises:
        ValueError: the federation is not quadratic; the participants' moments are not the same in every round; or
            Fractions are asked for and the participation process knows floats only.
    """
    fed = quadratic(setting)
    if isinstance(kind, ServerRound):
        return server_map(fed, kind, exact), Weights.equal(1)
    return training_maps(fed, kind, exact), kind.weights(setting.participation, fed.clients, exact)


def mean_map(local: LocalMaps, weights: Weights) -> np.ndarray:
    """E[z] -> E[z'] of one round, (D + 1, D + 1): sum_i E[w_i] T_i."""
    first = weights.first.astype(local.maps.dtype) / _number(local, weights.divisor)
    return _keeping_one(np.tensordot(first, local.maps, axes=1))


def second_moment_map(local: LocalMaps, weights: Weights) -> np.ndarray:
    """vec(Z) -> vec(Z') of one round, ((D + 1)^2, (D + 1)^2), row-major:

    Z' = sum_ij E[w_i w_j] T_i Z T_j^T + sum_i E[w_i^2] noise_i.
    """
    size = local.maps.shape[1]
    second = weights.second.astype(local.maps.dtype) / _number(local, weights.divisor) ** 2
    partners = np.tensordot(second, local.maps, axes=1)
    operator = sum(np.kron(own, partner) for own, partner in zip(local.maps, partners, strict=True))
    added = np.zeros((size, size), dtype=int).astype(local.maps.dtype)
    added[:-1, :-1] = np.tensordot(np.diagonal(second), local.noise, axes=1)
    operator[:, -1] = operator[:, -1] + added.ravel()  # the last entry of vec(Z) is 1
    return _keeping_one(operator)


def _keeping_one(operator: np.ndarray) -> np.ndarray:
    """The operator with its last row exactly (0, ..., 0, 1): a constant that is off by one rounding would drift over
    a long horizon."""
    operator[-1, :-1], operator[-1, -1] = operator[-1, :-1] * 0, operator[-1, -1] * 0 + 1
    return operator


def _number(local: LocalMaps, value: int) -> object:
    return Fraction(value) if local.maps.dtype == object else float(value)


def observable_weights(fed: Quadratic, exact: bool = False) -> dict[str, np.ndarray]:
    """Row vectors w with w . vec(Z) = E|x - x*|^2 and = E|grad F(x)|^2, each ((D + 1)^2,)."""
    kind = object if exact else float
    hessian = fed.exact_hessians.sum(0) / Fraction(fed.clients)
    identity = np.array([[Fraction(int(i == j)) for j in range(fed.dimension)] for i in range(fed.dimension)])
    weights = {}
    for name, form in {"squared_distance": identity, "squared_gradient": hessian @ hessian}.items():
        padded = np.full((fed.dimension + 1, fed.dimension + 1), Fraction(0), dtype=object)
        padded[:-1, :-1] = form
        weights[name] = padded.ravel().astype(kind)
    return weights


@dataclass(frozen=True)
class Schedule:
    """The operators of the rounds 0, 1, 2, ...: ``first`` in round 0, ``rest`` in rounds 1 to period - 1, repeated."""

    first: np.ndarray
    rest: np.ndarray
    period: int


def schedule(setting: Setting, one_round: Callable, exact: bool = False) -> Schedule:
    """The schedule of ``one_round`` (``mean_map`` or ``second_moment_map``) operators of ``setting``.

    A kind of round that comes with probability q mixes the two kinds: a draw, then one of the two maps.
    """
    algorithm = setting.algorithm
    first, second = (one_round(*kind_of_round(setting, kind, exact)) for kind in algorithm.kinds)
    if algorithm.period is not None:
        return Schedule(first, second, algorithm.period)
    q = algorithm.share if exact else float(algorithm.share)
    mixed = q * first + (1 - q) * second
    return Schedule(mixed, mixed, 1)


@dataclass(frozen=True)
class Timeline:
    """Schedules one after another, each for its number of rounds: the last for ever, or all of them in a cycle."""

    schedules: tuple[Schedule, ...]
    lengths: tuple[int, ...]
    cyclic: bool


def timeline(setting: Setting, one_round: Callable) -> Timeline:
    """The operators of ``one_round`` of all rounds, also where the participants change between phases (floats).

    Raises:
        ValueError: a phase's length is not a multiple of the algorithm's period.
    """
    process, period = setting.participation, setting.algorithm.period or 1
    if not isinstance(process, Phases):
        return Timeline((schedule(setting, one_round),), (1,), False)
    ended = process.lengths if process.cyclic else process.lengths[:-1]
    if any(length % period for length in ended):
        raise ValueError(f"lengths = {list(ended)}: exact moments need multiples of the snapshot period, {period}")
    return Timeline(tuple(schedule(s, one_round) for s in phase_settings(setting)), process.lengths, process.cyclic)


def phase_settings(setting: Setting) -> list[Setting]:
    """The setting of each phase, its participants fixed; the setting itself where nothing changes."""
    if not isinstance(setting.participation, Phases):
        return [setting]
    return [replace(setting, participation=Fixed(members)) for members in setting.participation.sets]


def advance(plan: Timeline, start: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """The state before each of ``rounds``, (len(rounds), size), from ``start`` before round 0 (floats).

    By binary powers of one cycle's operator, so the cost grows with the logarithm of the horizon.
    """
    left = np.array(rounds, dtype=np.int64)
    states = np.broadcast_to(start, (len(left), len(start))).copy()
    if plan.cyclic:
        columns = np.eye(len(start))
        for part, length in zip(plan.schedules, plan.lengths, strict=True):
            columns = _advance(part, columns, np.full(len(start), length))
        cycles, left = np.divmod(left, sum(plan.lengths))
        states = _apply_powers(columns.T, cycles, states)
    for i, (part, length) in enumerate(zip(plan.schedules, plan.lengths, strict=True)):
        endless = i == len(plan.schedules) - 1
        passed = left if endless else np.minimum(left, length)
        states, left = _advance(part, states, passed), left - passed
    return states


def _advance(schedule: Schedule, states: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """Each row of ``states`` moved on by its number of rounds."""
    cycle = np.linalg.matrix_power(schedule.rest, schedule.period - 1) @ schedule.first
    cycles, phase = np.divmod(rounds, schedule.period)
    states = _apply_powers(cycle, cycles, states)
    states[phase > 0] = states[phase > 0] @ schedule.first.T
    return _apply_powers(schedule.rest, np.maximum(phase - 1, 0), states)


def _apply_powers(matrix: np.ndarray, exponents: np.ndarray, states: np.ndarray) -> np.ndarray:
    power, bit = matrix, 0
    states = states.copy()
    while (exponents >> bit).any():
        chosen = (exponents >> bit & 1).astype(bool)
        states[chosen] = states[chosen] @ power.T
        power, bit = power @ power, bit + 1
    return states
