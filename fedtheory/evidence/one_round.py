"""One round of FAST on a quadratic federation: every left side and quantity of the papers' one-round inequalities.

With y = x - x* and S_i = I - eta H_i, client i's local iterates from y_0 are affine in y_0 plus noise:

    E y_{i,k+1} = S_i E y_{i,k} + eta H_i (c_i - x*),   Cov y_{i,k+1} = S_i Cov(y_{i,k}) S_i + eta^2 sigma^2/D I.

The sum of exact gradients along the noisy path, G_i = sum_{k<K} H_i (y_{i,k} - c_i + x*), has the mean along the mean
path; since eta H_i (I + S_i + ... + S_i^{l-1}) = I - S_i^l, the noise of step j enters it as -(I - S_i^{K-1-j}), so

    Cov G_i = sigma^2/D sum_{l<K} (I - S_i^l)^2.

Clients' noises are independent, so a cohort with counts N_i enters by E[N_i N_j] alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from ..federations.quadratic import Quadratic
from ..functionals import (
    FINAL_SQUARED_DISTANCE,
    LOCAL_GRADIENT_ERROR,
    NEGATED_ARBITRARY_PROGRESS,
    NEGATED_FULL_PROGRESS,
    SQUARED_GRADIENT,
    SQUARED_MOVEMENT,
    Functional,
)
from ..participation import Inclusion
from .rounds import inclusions, phase_settings

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class OneRound:
    """The round from x_0, in floats or in Fractions.

    Attributes:
        lefts: by a functional's name, its value.
        known: by a quantity's name (``ROUND_QUANTITIES``), its value.
    """

    lefts: Mapping[str, float | Fraction]
    known: Mapping[str, float | Fraction]

    def left(self, functional: Functional) -> float | Fraction:
        """The value of a functional of scope "round", or of E|x_1 - x*|^2.

        Raises:
            ValueError: the functional is of another kind.
        """
        if functional.name not in self.lefts:
            raise ValueError(f"functional = {functional.name}: allowed is one of {', '.join(self.lefts)}")
        return self.lefts[functional.name]

    def quantities(self) -> dict[str, float | Fraction]:
        """The values of ``ROUND_QUANTITIES``. In Fractions ``gradient_norm`` is there only where it is rational;
        ``left(SQUARED_GRADIENT)`` is its square."""
        return dict(self.known)


def one_round(setting: Setting, exact: bool = False) -> OneRound:
    """The round from x_0 = ``setting.start``, in expectation over its noise, its kind and its cohort.

    Its kind: a snapshot with ``snapshot_probability``; round 0 of a periodic schedule is one. What speaks of one kind
    of round only (``cohort_pseudogradient``, ``arbitrary_pseudogradient``, the arbitrary progress) is of that kind,
    whatever the probability. ``local_gradient_error`` is the maximum over k = 0..K: the algorithm's gradients are
    taken at k = 0..K-1, the printed sums run over k = 1..K, and the drift lemma behind (17) covers both.

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
    paths = _local_paths(setting, exact)
    start, hessian, eta = paths.start, paths.mean_hessian, paths.local_lr
    identity = np.eye(len(start), dtype=int).astype(start.dtype)
    algorithm, clients = setting.algorithm, setting.federation.clients
    uniform, arbitrary = inclusions(phase_settings(setting)[0], exact)
    cohorts = {"uniform": (uniform, algorithm.cohort), "arbitrary": (arbitrary, setting.participation.cohort),
               "full": (_everyone(clients), clients)}  # fmt: skip
    q = 1 if algorithm.periodic else algorithm.snapshot_probability if exact else float(algorithm.snapshot_probability)

    def of_kinds(form: np.ndarray) -> object:
        """E of the form at x_1 - x_0, over the kinds of round."""
        snapshot, other = (_mean_form(form, -eta * paths.sums, paths.end_noise, *cohorts[kind])
                           for kind in ("uniform", "arbitrary"))  # fmt: skip
        return q * snapshot + (1 - q) * other

    means = {kind: _mean(paths.sums, *cohort) for kind, cohort in cohorts.items()}
    squares = {kind: _mean_form(identity, paths.sums, paths.sum_noise, *cohort) for kind, cohort in cohorts.items()}
    moved = -eta * (q * means["uniform"] + (1 - q) * means["arbitrary"])  # E[x_1 - x_0]
    gradient = hessian @ start
    movement = of_kinds(identity)
    lefts = {
        SQUARED_GRADIENT.name: gradient @ gradient,
        LOCAL_GRADIENT_ERROR.name: paths.gradient_error,
        NEGATED_FULL_PROGRESS.name: -(means["full"] @ start),
        NEGATED_ARBITRARY_PROGRESS.name: -2 * eta * (means["arbitrary"] @ start),
        SQUARED_MOVEMENT.name: movement,
        FINAL_SQUARED_DISTANCE.name: start @ start + 2 * (moved @ start) + movement,
    }
    known = {
        "gradient_norm": _root(gradient @ gradient),
        # From the move, not as a difference of two values of F: for small steps these would cancel.
        "objective_decrease": -(gradient @ moved) - of_kinds(hessian) / 2,
        "full_pseudogradient": squares["full"],
        "cohort_pseudogradient": squares["uniform"],
        "arbitrary_pseudogradient": squares["arbitrary"],
    }
    return OneRound(lefts, {name: value for name, value in known.items() if value is not None})


@dataclass(frozen=True)
class _LocalPaths:
    """Local training of all clients from x_0, with y = x - x*.

    Attributes:
        start: (D,), y_0. mean_hessian: (D, D), of F. local_lr: eta.
        sums: (M, D), E G_i; sum_noise: (M, D, D), Cov G_i.
        end_noise: (M, D, D), Cov y_{i,K}.
        gradient_error: max over clients and k = 0..K of E|grad F(x_0) - grad F_i(x_{i,k})|^2.
    """

    start: np.ndarray
    mean_hessian: np.ndarray
    local_lr: object
    sums: np.ndarray
    sum_noise: np.ndarray
    end_noise: np.ndarray
    gradient_error: object


def _local_paths(setting: Setting, exact: bool) -> _LocalPaths:
    fed, algorithm = setting.federation, setting.algorithm
    if not isinstance(fed, Quadratic):
        raise ValueError(f"the moments of a round need a Quadratic federation, not {type(fed).__name__}")
    kind = object if exact else float
    hessians, centres = fed.exact_hessians.astype(kind), (fed.exact_centres - fed.exact_optimum).astype(kind)
    start = (setting.exact_start - fed.exact_optimum).astype(kind)
    variance = fed.exact_gradient_noise**2 / fed.dimension
    eta, variance = (number if exact else float(number) for number in (algorithm.local_lr, variance))
    identity = np.eye(fed.dimension, dtype=int).astype(kind)
    mean_hessian = hessians.sum(0) / fed.clients
    point, noise, power = np.array([start] * fed.clients), 0 * hessians, np.array([identity] * fed.clients)
    sums, sum_noise, errors = 0 * point, 0 * hessians, []
    for k in range(algorithm.local_steps + 1):
        gradients = _apply(hessians, point - centres)
        off = gradients - mean_hessian @ start
        errors += [e @ e + np.trace(h @ c @ h) for e, h, c in zip(off, hessians, noise, strict=True)]
        if k < algorithm.local_steps:
            sums, sum_noise = sums + gradients, sum_noise + variance * (identity - power) @ (identity - power)
            point, power = point - eta * gradients, power - eta * hessians @ power
            step = identity - eta * hessians
            noise = step @ noise @ step + eta**2 * variance * identity
    return _LocalPaths(start, mean_hessian, eta, sums, sum_noise, noise, max(errors))


def _apply(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.array([matrix @ vector for matrix, vector in zip(matrices, vectors, strict=True)])


def _everyone(clients: int) -> Inclusion:
    """Each client once."""
    first = np.full(clients, Fraction(1), dtype=object)
    return Inclusion(first, np.outer(first, first))


def _mean(vectors: np.ndarray, inclusion: Inclusion, cohort: int) -> np.ndarray:
    """E of the cohort's mean vector."""
    return inclusion.first.astype(vectors.dtype) @ vectors / cohort


def _mean_form(
    form: np.ndarray, vectors: np.ndarray, noise: np.ndarray, inclusion: Inclusion, cohort: int
) -> float | Fraction:
    """E v^T A v of the cohort's mean v = sum_i N_i v_i / cohort, A positive semidefinite and the v_i independent with
    means and covariances given. Around E v = sum_i E[N_i]/cohort E v_i, with d_i = E v_i - E v and sum_i N_i = cohort:

        E v^T A v = E v^T A E v + sum_ij Cov(N_i, N_j)/cohort^2 <d_i, A d_j> + sum_i E[N_i^2]/cohort^2 tr(A Cov v_i),

    so that numbers which cancel do so before they are multiplied.
    """
    first, second = inclusion.first.astype(vectors.dtype), inclusion.second.astype(vectors.dtype)
    centre = _mean(vectors, inclusion, cohort)
    off = vectors - centre
    spread = np.sum((second - np.outer(first, first)) * (off @ form @ off.T))
    noisy = sum(second[i, i] * np.trace(form @ c) for i, c in enumerate(noise))
    return centre @ form @ centre + (max(spread, 0 * spread) + noisy) / cohort**2  # rounding can make spread negative


def _root(square: float | Fraction) -> float | Fraction | None:
    """The square root; of a Fraction only where it is rational."""
    if not isinstance(square, Fraction):
        return float(np.sqrt(square))
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else None
