"""One round on a quadratic federation: every left side and quantity of the papers' one-round inequalities.

With y = x - x* and S_i = I - eta H_i, client i's local iterates from y_0 are affine in y_0 plus noise:

    E y_{i,k+1} = S_i E y_{i,k} + eta H_i (c_i - x*),   Cov y_{i,k+1} = S_i Cov(y_{i,k}) S_i + eta^2 sigma^2/D I.

The sum of exact gradients along the noisy path, G_i = sum_{k<K} H_i (y_{i,k} - c_i + x*), has the mean along the mean
path; since eta H_i (I + S_i + ... + S_i^{l-1}) = I - S_i^l, the noise of step j enters it as -(I - S_i^{K-1-j}), so

    Cov G_i = sigma^2/D sum_{l<K} (I - S_i^l)^2.

Clients' noises are independent, so the clients' weights w_i enter by E[w_i] and E[w_i w_j] alone. The server's own step
enters as the pseudogradient (eta_s / eta) grad F(x_0) of a single client: x_1 = x_0 - eta G in rounds of every kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algorithms.algorithm import ClientRound, Kind, ServerRound, Weights
from ..federations.quadratic import Quadratic
from ..functionals import (
    FINAL_GAP,
    FINAL_SQUARED_DISTANCE,
    LOCAL_GRADIENT_ERROR,
    NEGATED_ARBITRARY_PROGRESS,
    NEGATED_FULL_PROGRESS,
    SQUARED_GRADIENT,
    SQUARED_MOVEMENT,
    Functional,
)
from ..participation import LargestNoise
from ..schedule import one_number
from .averages import of_run
from .chosen_noise import chosen_noise
from .expected_errors import expected_models
from .participation_laws import averaged_noise
from .round_maps import has_common_noise, quadratic
from .timeline import phase_settings

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class OneRound:
    """The round from x_0, in floats or in Fractions.

    Attributes:
        lefts: by a functional's name, its value.
        known: by a quantity's name (``ROUND_QUANTITIES``, ``CLIENT_ROUND_QUANTITIES``), its value.
    """

    lefts: Mapping[str, float | Fraction]
    known: Mapping[str, float | Fraction]

    def left(self, functional: Functional) -> float | Fraction:
        """Return the value of a functional of scope "round", or of E|x_1 - x*|^2.

        Raises:
            ValueError: the functional is of another kind.
        """
        if functional.name not in self.lefts:
            raise ValueError(f"functional = {functional.name}: allowed is one of {', '.join(self.lefts)}")
        return self.lefts[functional.name]

    def quantities(self) -> dict[str, float | Fraction]:
        """Return the values of ``ROUND_QUANTITIES`` and, where some rounds are the server's, of
        ``CLIENT_ROUND_QUANTITIES``.

        Those of the algorithm's own cohort are left out where it draws none. In Fractions ``gradient_norm`` is there
        only where it is rational; ``left(SQUARED_GRADIENT)`` is its square.
        """
        return dict(self.known)


def one_round(setting: Setting, exact: bool = False) -> OneRound:
    """Compute the round from x_0 = ``setting.start``, in expectation over its noise, its kind and its cohort.

    Its kind: the algorithm's first one with its probability; round 0 of a periodic schedule is one. What speaks of one
    kind of round only (``cohort_pseudogradient``, ``arbitrary_pseudogradient``, ``arbitrary_excess``,
    ``arbitrary_drift``, the arbitrary progress) is of that kind, whatever the probability. ``local_gradient_error`` is
    the maximum over k = 0..K: the algorithm's gradients are taken at k = 0..K-1, the printed sums run over k = 1..K,
    and the drift lemma behind (17) covers both. ``arbitrary_drift`` sums over k = 0..K-1.

    Raises:
        ValueError: the federation is not quadratic; or, in Fractions, the participation process knows its inclusion
            probabilities in floating point only.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_probability=0, cohort=2, local_lr="1/4")
    >>> found = one_round(ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=3), exact=True)
    >>> found.left(FINAL_SQUARED_DISTANCE), found.quantities()["objective_decrease"]  # x_1 = 3 - (3 - 1)/4 = 5/2
    (Fraction(25, 4), Fraction(11, 8))
    """
    setting = phase_settings(setting)[0]
    paths = _local_paths(setting, exact)
    start, hessian, eta = paths.start, paths.mean_hessian, paths.local_lr
    identity = np.eye(len(start), dtype=int).astype(start.dtype)
    algorithm, gradient = setting.algorithm, hessian @ start
    chosen = _of_arbitrary_rounds(setting, paths, exact)
    moves = [_moves(setting, kind, paths if _draws_its_own(kind) else chosen, exact) for kind in algorithm.kinds]
    share = 1 if algorithm.period is not None else algorithm.share
    q = share if exact else float(share)

    def of_kinds(form: np.ndarray) -> Any:
        """E of the form at x_1 - x_0, over the kinds of round."""
        first, second = (_mean_form(form, -eta * move.vectors, move.noise, move.weights, move.common) for move in moves)
        return q * first + (1 - q) * second

    means = [_mean(move.vectors, move.weights) for move in moves]
    moved = -eta * (q * means[0] + (1 - q) * means[1])  # E[x_1 - x_0]
    movement = of_kinds(identity)
    clients = _weights_of_clients(setting, exact)
    lefts = {
        SQUARED_GRADIENT.name: gradient @ gradient,
        LOCAL_GRADIENT_ERROR.name: paths.gradient_error,
        NEGATED_FULL_PROGRESS.name: -(_mean(paths.sums, clients["full"]) @ start),
        NEGATED_ARBITRARY_PROGRESS.name: -2 * eta * (_mean(chosen.sums, clients["arbitrary"]) @ start),
        SQUARED_MOVEMENT.name: movement,
        FINAL_SQUARED_DISTANCE.name: start @ start + 2 * (moved @ start) + movement,
    }
    known = {
        "gradient_norm": _root(gradient @ gradient),
        # From the move, not as a difference of two values of F: for small steps these would cancel.
        "objective_decrease": -(gradient @ moved) - of_kinds(hessian) / 2,
    }
    for cohort, weights in clients.items():
        of = chosen if cohort == "arbitrary" else paths
        known[f"{cohort}_pseudogradient"] = _mean_form(identity, of.sums, of.sum_noise, weights, of.common_noise)
    if any(isinstance(kind, ServerRound) for kind in algorithm.kinds):
        known["arbitrary_excess"] = _mean(chosen.excess, clients["arbitrary"])
        known["arbitrary_drift"] = _mean(chosen.drift, clients["arbitrary"])
    return OneRound(lefts, {name: value for name, value in known.items() if value is not None})


class _Moves(NamedTuple):
    """Clients that move in a round of one kind.

    They are given by the means of their pseudogradients, the covariances of where they arrive, their weights, and
    whether their noise is the same.
    """

    vectors: np.ndarray
    noise: np.ndarray
    weights: Weights
    common: bool = False


def _draws_its_own(kind: Kind) -> bool:
    return isinstance(kind, ClientRound) and kind.uniform is not None


def _moves(setting: Setting, kind: Kind, paths: _LocalPaths, exact: bool) -> _Moves:
    if isinstance(kind, ClientRound):
        return _Moves(paths.pseudogradients, paths.end_noise, _weights(setting, kind, exact), paths.common_noise)
    if kind.steps != 1:
        raise ValueError(f"server_steps = {kind.steps}: one round's moments are known for 1")
    fed, gradient = quadratic(setting), paths.mean_hessian @ paths.start
    level = one_number("server_lr", kind.at(0).server_lr), fed.exact_server_noise**2 / fed.dimension
    eta_s, variance = (number if exact else float(number) for number in level)
    noise = eta_s**2 * variance * np.eye(fed.dimension, dtype=int).astype(gradient.dtype)
    return _Moves(gradient[None] * (eta_s / paths.local_lr), noise[None], Weights.equal(1))


def _weights(setting: Setting, kind: ClientRound, exact: bool) -> Weights:
    """Return the moments of the aggregation weights in this kind of round.

    If the noise chooses the cohort, one client stands for it and carries all the weight.
    """
    if isinstance(setting.participation, LargestNoise) and kind.uniform is None:
        return Weights.equal(1)
    fed = quadratic(setting)
    share = averaged_noise(fed, kind, setting.participation)
    if share is not None:
        return _of_one(fed, share)
    found = kind.weights(setting.participation, fed.clients, exact)
    return _of_one(fed, np.trace(found.second) / found.divisor**2) if fed.identical else found


def _of_one(fed: Quadratic, share: Any) -> Weights:
    """The weight of one of identical clients, in place of weights w_i with E sum_i w_i^2 = ``share``: as all clients
    have the same mean, second moments enter by the noise alone."""
    second = Fraction(1) if has_common_noise(fed) else share
    return Weights(np.array([Fraction(1)], dtype=object), np.array([[second]], dtype=object))


def _of_arbitrary_rounds(setting: Setting, paths: _LocalPaths, exact: bool) -> _LocalPaths:
    """The paths of who takes part in rounds that draw nobody themselves: of one client, where the noise chooses."""
    process, kinds = setting.participation, setting.algorithm.client_rounds
    own = next((kind for kind in kinds if kind.uniform is None), None)
    if own is None or not isinstance(process, LargestNoise):
        return paths
    noise = chosen_noise(quadratic(setting), own, process, exact)
    one = np.ones((1, 1), dtype=int).astype(paths.start.dtype)
    return replace(
        paths,
        sums=paths.sums[:1] + noise.sum_mean() * one,
        sum_noise=(noise.sum_variance() * one)[None],
        pseudogradients=paths.sums[:1] - noise.end_mean() / paths.local_lr * one,
        end_noise=(noise.end_variance() * one)[None],
        excess=paths.excess[:1],
        drift=paths.drift[:1] + noise.added_drift(paths.start[0]),
    )


def _weights_of_clients(setting: Setting, exact: bool) -> dict[str, Weights]:
    """Return the weights by cohort: those of all clients, and those of the rounds in which clients train."""
    fed = quadratic(setting)
    everyone = _of_one(fed, Fraction(1, fed.clients)) if fed.identical else Weights.equal(fed.clients)
    found = {"full": everyone}
    for kind in setting.algorithm.kinds:
        if isinstance(kind, ClientRound):
            name = "arbitrary" if kind.uniform is None else "cohort"
            found[name] = _weights(setting, kind, exact)
    return found


@dataclass(frozen=True)
class _LocalPaths:
    """Local training of all clients from x_0, with y = x - x*; of identical ones, of one.

    Attributes:
        start: (D,), y_0. mean_hessian: (D, D), of F. local_lr: eta.
        sums: (M, D), E G_i; sum_noise: (M, D, D), Cov G_i.
        pseudogradients: (M, D), (y_0 - E y_{i,K})/eta; end_noise: (M, D, D), Cov y_{i,K}.
        gradient_error: max over clients and k = 0..K of E|grad F(x_0) - grad F_i(x_{i,k})|^2.
        excess: (M,), F_i(x_0) - F_i(x*).
        drift: (M,), the sum over k < K of E|x_{i,k} - x_0|^2.
        common_noise: whether all clients' noise is the same.
    """

    start: np.ndarray
    mean_hessian: np.ndarray
    local_lr: Any
    sums: np.ndarray
    sum_noise: np.ndarray
    pseudogradients: np.ndarray
    end_noise: np.ndarray
    gradient_error: Any
    excess: np.ndarray
    drift: np.ndarray
    common_noise: bool


def _local_paths(setting: Setting, exact: bool) -> _LocalPaths:
    fed, training = quadratic(setting), setting.algorithm.client_rounds[0].at(0)
    kind = object if exact else float
    clients = 1 if fed.identical else fed.clients
    hessians = fed.exact_hessians[:clients].astype(kind)
    centres = (fed.exact_centres[:clients] - fed.exact_optimum).astype(kind)
    start = (setting.exact_start - fed.exact_optimum).astype(kind)
    level = one_number("local_lr", training.local_lr), fed.exact_gradient_noise**2 / fed.dimension
    eta, variance = (number if exact else float(number) for number in level)
    identity = np.eye(fed.dimension, dtype=int).astype(kind)
    mean_hessian = fed.exact_hessian.astype(kind)
    point, noise, power = np.array([start] * clients), 0 * hessians, np.array([identity] * clients)
    sums, sum_noise, errors, drift = 0 * point, 0 * hessians, [], 0 * point[:, 0]
    excess = ((point / 2 - centres) * _apply(hessians, point)).sum(1)
    for k in range(training.local_steps + 1):
        gradients = _apply(hessians, point - centres)
        off = gradients - mean_hessian @ start
        errors += [e @ e + np.trace(h @ c @ h) for e, h, c in zip(off, hessians, noise, strict=True)]
        if k < training.local_steps:
            drift = drift + ((point - start) ** 2).sum(1) + np.trace(noise, axis1=1, axis2=2)
            sums, sum_noise = sums + gradients, sum_noise + variance * (identity - power) @ (identity - power)
            point, power = point - eta * gradients, power - eta * hessians @ power
            step = identity - eta * hessians
            noise = step @ noise @ step + eta**2 * variance * identity
    return _LocalPaths(
        start, mean_hessian, eta, sums, sum_noise, sums, noise, max(errors), excess, drift, has_common_noise(fed)
    )


def _apply(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.array([matrix @ vector for matrix, vector in zip(matrices, vectors, strict=True)])


def _mean(values: np.ndarray, weights: Weights) -> np.ndarray:
    """E of the weighted mean of ``values`` (M, ...)."""
    return weights.first.astype(values.dtype) @ values / weights.divisor


def _mean_form(
    form: np.ndarray, vectors: np.ndarray, noise: np.ndarray, weights: Weights, common: bool
) -> float | Fraction:
    """E v^T A v of the mean v = sum_i w_i v_i, A positive semidefinite and the v_i independent with means and
    covariances given. Around E v = sum_i E[w_i] E v_i, with d_i = E v_i - E v and sum_i w_i = 1:

        E v^T A v = E v^T A E v + sum_ij Cov(w_i, w_j) <d_i, A d_j> + sum_i E[w_i^2] tr(A Cov v_i),

    so that numbers which cancel do so before they are multiplied. Noise that is ``common`` to all
    enters by (sum_i w_i)^2 = 1.
    """
    first, second = weights.first.astype(vectors.dtype), weights.second.astype(vectors.dtype)
    centre = _mean(vectors, weights)
    off = vectors - centre
    spread = np.sum((second - np.outer(first, first)) * (off @ form @ off.T))
    noisy = sum(second[i, i] * np.trace(form @ c) for i, c in enumerate(noise))
    if common:
        noisy = second.sum() * np.trace(form @ noise[0])
    # Rounding can make the spread negative.
    return centre @ form @ centre + (max(spread, 0 * spread) + noisy) / weights.divisor**2


def _root(square: float | Fraction) -> float | Fraction | None:
    """The square root; of a Fraction only where it is rational."""
    if not isinstance(square, Fraction):
        return float(np.sqrt(square))
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else None


def own_round(setting: Setting, exact: bool = False) -> OneRound:
    """Compute the round from x_0 of an algorithm of one's own, of which local iterates are not known by name.

    With y = x - x* and x_0 certain, E|x_1 - x_0|^2 = E|y_1|^2 - 2 <E y_1, y_0> + |y_0|^2.

    Raises:
        ValueError: as ``expected_errors.exact_errors`` in Fractions.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> step = lambda x, memory, round, *, local_lr: (x - local_lr * round.gradient(x)[:, 0], {})
    >>> s = ft.Setting(fed, ft.algorithms.own(step, name="first", local_lr="1/4"), ft.participation.Fixed([0]), start=3)
    >>> own_round(s, exact=True).left(SQUARED_MOVEMENT)  # x_1 = 3 - (3 - 1)/4
    Fraction(1, 4)
    """
    fed = quadratic(setting)
    start = setting.exact_start - fed.exact_optimum
    gradient = fed.exact_hessian @ start
    mean = expected_models(setting, [1], exact=True)[0] - fed.exact_optimum
    distance, gap = (of_run(setting, each, [1], exact=True)[0] for each in (FINAL_SQUARED_DISTANCE, FINAL_GAP))
    lefts = {
        SQUARED_GRADIENT.name: gradient @ gradient,
        SQUARED_MOVEMENT.name: distance - 2 * (mean @ start) + start @ start,
        FINAL_SQUARED_DISTANCE.name: distance,
    }
    known = {"gradient_norm": _root(gradient @ gradient), "objective_decrease": gradient @ start / 2 - gap}
    if exact:
        return OneRound(lefts, {name: value for name, value in known.items() if value is not None})
    known["gradient_norm"] = _root(float(gradient @ gradient))
    return OneRound(*({name: float(value) for name, value in each.items()} for each in (lefts, known)))
