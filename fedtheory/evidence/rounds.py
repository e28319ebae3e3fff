"""One round of FAST on a quadratic federation, as a linear map.

With y = x - x*, client i's local training is the affine map y -> A_i y + b_i + noise, where

    A_i = (I - eta H_i)^K,  b_i = (I - A_i)(c_i - x*),  noise covariance eta^2 sigma^2/D sum_{k<K} (I - eta H_i)^{2k}.

The server's average over a random cohort is then linear in z = (y, 1) for the first moments, and linear in
Z = E[z z^T] for the second moments. Everything here works on float arrays and, where numbers are exact, on arrays of
Fractions (dtype object), by the same formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..federations.quadratic import Quadratic
from ..participation import Fixed, Inclusion, Phases

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class LocalMaps:
    """Local training of every client, in lifted coordinates z = (y, 1) with y = x - x*.

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
    """The local maps of ``setting``, in Fractions if ``exact``.

    Raises:
        ValueError: the federation is not quadratic.
    """
    fed, algorithm = setting.federation, setting.algorithm
    if not isinstance(fed, Quadratic):
        raise ValueError(f"exact moments need a Quadratic federation, not {type(fed).__name__}")
    kind = object if exact else float
    eta = algorithm.local_lr if exact else float(algorithm.local_lr)
    identity = np.array([[Fraction(int(i == j)) for j in range(fed.dimension)] for i in range(fed.dimension)])
    identity = identity.astype(kind)
    step = identity - eta * fed.exact_hessians.astype(kind)
    noise_level = fed.exact_gradient_noise**2 / fed.dimension
    noise_level = eta**2 * (noise_level if exact else float(noise_level))
    power, shares, noise = np.broadcast_to(identity, step.shape), 0 * step, 0 * step
    for _ in range(algorithm.local_steps):
        noise = noise + noise_level * (power @ power)
        shares = shares + power @ (eta * fed.exact_hessians.astype(kind))
        power = power @ step
    shifted = (fed.exact_centres - fed.exact_optimum).astype(kind)
    drift = np.stack([share @ c for share, c in zip(shares, shifted, strict=True)])
    maps = np.zeros((fed.clients, fed.dimension + 1, fed.dimension + 1), dtype=int).astype(kind)
    maps[:, :-1, :-1], maps[:, :-1, -1] = power, drift
    maps[:, -1, -1] = Fraction(1) if exact else 1.0
    return LocalMaps(maps, shares, noise, eta)


def mean_map(local: LocalMaps, inclusion: Inclusion, cohort: int) -> np.ndarray:
    """E[z] -> E[z'] of one round, (D + 1, D + 1): sum_i E[N_i]/cohort T_i."""
    weights = inclusion.first.astype(local.maps.dtype) / _number(local, cohort)
    return _keeping_one(np.tensordot(weights, local.maps, axes=1))


def second_moment_map(local: LocalMaps, inclusion: Inclusion, cohort: int) -> np.ndarray:
    """vec(Z) -> vec(Z') of one round, ((D + 1)^2, (D + 1)^2), row-major:

    Z' = sum_ij w_ij T_i Z T_j^T + sum_i w_ii noise_i,   w_ij = E[N_i N_j] / cohort^2.
    """
    size = local.maps.shape[1]
    weights = inclusion.second.astype(local.maps.dtype) / _number(local, cohort) ** 2
    partners = np.tensordot(weights, local.maps, axes=1)
    operator = sum(np.kron(own, partner) for own, partner in zip(local.maps, partners, strict=True))
    added = np.zeros((size, size), dtype=int).astype(local.maps.dtype)
    added[:-1, :-1] = np.tensordot(np.diagonal(weights), local.noise, axes=1)
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


def inclusions(setting: Setting, exact: bool = False) -> tuple[Inclusion, Inclusion]:
    """The moments of the cohorts of snapshot and of arbitrary rounds, in Fractions if ``exact``.

    Raises:
        ValueError: Fractions are asked for and the process knows floats only.
    """
    clients, process = setting.federation.clients, setting.participation
    both = setting.algorithm.uniform.inclusion(clients), process.inclusion(clients)
    if not exact:
        return both[0].as_floats(), both[1].as_floats()
    if any(inclusion.first.dtype != object for inclusion in both):
        raise ValueError(f"{type(process).__name__} knows its inclusion probabilities in floating point only")
    return both


@dataclass(frozen=True)
class Schedule:
    """The operators of the rounds 0, 1, 2, ...: ``first`` in round 0, ``rest`` in rounds 1 to period - 1, repeated."""

    first: np.ndarray
    rest: np.ndarray
    period: int


def schedule(setting: Setting, one_round: object, exact: bool = False) -> Schedule:
    """The schedule of ``one_round`` (``mean_map`` or ``second_moment_map``) operators of ``setting``.

    A snapshot with probability q mixes the two kinds of round: a draw, then one of the two maps.
    """
    local, algorithm = local_maps(setting, exact), setting.algorithm
    uniform, own = inclusions(setting, exact)
    snapshot = one_round(local, uniform, algorithm.cohort)
    arbitrary = one_round(local, own, setting.participation.cohort)
    if algorithm.periodic:
        return Schedule(snapshot, arbitrary, algorithm.snapshot_period)
    q = algorithm.snapshot_probability if exact else float(algorithm.snapshot_probability)
    mixed = q * snapshot + (1 - q) * arbitrary
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
        ValueError: a phase's length is not a multiple of the snapshot period.
    """
    process, period = setting.participation, setting.algorithm.snapshot_period or 1
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
