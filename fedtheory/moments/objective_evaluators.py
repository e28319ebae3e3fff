"""Evaluators of quantities about the objective: the cost of heterogeneity, weights and noises, gradients along a run.

Also of the gaps and averages that runs end with.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..algorithms.algorithm import ClientRound
from ..federations.constants import EXACT, Constant
from ..federations.federation import ConvexFederation
from ..federations.quadratic import Quadratic
from ..functionals import (
    AVERAGE_GAP,
    AVERAGE_ITERATE_DISTANCE,
    AVERAGES,
    BEST_GAP,
    FINAL_GAP,
    FINAL_SQUARED_GRADIENT,
    GAP_OF_AVERAGE,
    GAP_OF_WEIGHTED_AVERAGE,
    WEIGHTED_AVERAGE_GAP,
    Functional,
)
from ..setting import Setting
from .averages import of_run, second_moments
from .evaluators import FLOAT, Question, Unserved, evaluates, evaluates_functional
from .round_maps import layout_of, local_gradients, quadratic

FOLLOWED = 10**5
"""The most rounds that are followed for the largest gradient."""


@evaluates("heterogeneity_gap")
def heterogeneity_gap(question: Question) -> Constant:
    """Compute Gamma = F* - sum_i p_i F_i*: >= 0, and 0 exactly where the clients have a common minimiser.

    Raises:
        Unserved: the federation is not quadratic, F has no unique minimiser, or a client no least value.
    """
    fed = question.setting.federation
    if not isinstance(fed, Quadratic):
        raise Unserved(f"{type(fed).__name__} does not know its clients' least values; state it")
    try:
        value = gap_of_heterogeneity(fed)
    except ValueError as reason:
        raise Unserved(str(reason)) from None
    return Constant(question.number(value if question.numbers != FLOAT else float(value)), EXACT, "F* - sum p_i F_i*")


def gap_of_heterogeneity(fed: Quadratic) -> Fraction:
    """Compute sum_i p_i (x* - c_i)^T H_i (x* - c_i) / 2, with grad F_i(c_i) = 0.

    The summands are p_i (F_i(x*) - F_i*), whatever constants the F_i have.

    Raises:
        ValueError: F has no unique minimiser, or a client no least value.

    >>> gap_of_heterogeneity(Quadratic([[1], [3]], [[0], [4]]))  # x* = 3: (9 + 3)/4
    Fraction(3, 1)
    """
    spectra = np.linalg.eigvalsh(fed.hessians)
    if spectra.min() < -1e-12 * np.abs(spectra).max():
        raise ValueError(
            f"client {spectra.min(1).argmin()} has no least value: its Hessian is not positive semidefinite"
        )
    gaps = [s @ h @ s / 2 for h, s in zip(fed.exact_hessians, fed.exact_optimum - fed.exact_centres, strict=True)]
    return sum((p * gap for p, gap in zip(fed.exact_weight, gaps, strict=True)), Fraction(0))


@evaluates("weighted_noise")
def weighted_noise(question: Question) -> Constant:
    """Compute sum_i p_i^2 sigma_i^2; clients of a federation have noise of one level.

    Raises:
        Unserved: the noise is not known, or in floats only.
    """
    fed = question.setting.federation
    if not isinstance(fed, ConvexFederation):
        raise Unserved(f"{type(fed).__name__} does not know its noise; state it")
    weights = fed.objective_weight or (Fraction(1, fed.clients),) * fed.clients
    squares = sum((p * p for p in weights), Fraction(0))
    if question.numbers == FLOAT:
        return Constant(float(squares) * fed.gradient_noise**2, EXACT, "sum p_i^2 gradient_noise^2")
    known = fed.exact_constants()
    if "gradient_noise" not in known:
        raise Unserved("the noise is known in floats only")
    return Constant(question.number(squares * known["gradient_noise"] ** 2), EXACT, "sum p_i^2 gradient_noise^2")


@evaluates("gradient_bound")
def gradient_bound(question: Question) -> Constant:
    """Compute the root of the largest E|stochastic gradient|^2 over all clients, max(rounds) rounds and the local
    steps.

    All clients count as training in every round.

    Raises:
        Unserved: the rounds are not given or more than ``FOLLOWED``, some are the server's, the federation is not
            quadratic, or moments do not close.
    """
    if question.rounds is None:
        raise Unserved("the rounds are not given; say rounds = R")
    horizon = int(np.max(question.rounds))
    if horizon > FOLLOWED:
        raise Unserved(f"rounds = {horizon}: allowed are at most {FOLLOWED}; state it")
    try:
        square = largest_squared_gradient(question.setting, horizon, question.numbers != FLOAT)
    except ValueError as reason:
        raise Unserved(f"{reason}; state it") from None
    value = float(square) ** 0.5 if question.numbers == FLOAT else question.root(square)
    return Constant(value, EXACT, f"largest over the clients' steps in {horizon} rounds")


def largest_squared_gradient(setting: Setting, rounds: int, exact: bool = False) -> Any:
    """Compute the largest E|grad F_i(x_{i,k}) + noise|^2 over clients i, rounds r < ``rounds`` and local steps k.

    It is infinite where it leaves the floating-point range.

    Raises:
        ValueError: rounds of the server's own, or as ``exact_errors``.
    """
    kinds = {kind for kind in setting.algorithm.kinds if isinstance(kind, ClientRound)}
    if setting.has_server_rounds:
        raise ValueError(f"algorithm = {type(setting.algorithm).__name__}: allowed are rounds in which clients train")
    fed, model, largest = quadratic(setting), layout_of(setting).of_model, None
    trained: dict[Any, tuple[np.ndarray, np.ndarray]] = {}
    for r, moments in enumerate(second_moments(setting, rounds - 1, exact)):
        whole = moments.sum(0)
        places = [*range(model.start, model.stop), len(whole) - 1]
        of_model = whole[np.ix_(places, places)].ravel()
        for kind in (kind.at(r) for kind in kinds):
            key = kind.local_lr, kind.local_steps, kind.proximal
            if key not in trained:
                trained[key] = local_gradients(fed, kind, exact)
            forms, noise = trained[key]
            found = (forms @ of_model + noise).max()
            largest = found if largest is None else max(largest, found)
    return largest if exact or np.isfinite(float(largest or 0)) else np.inf


def _of_run(functional: Functional, question: Question) -> Any:
    if question.rounds is None:
        raise Unserved(f"functional {functional.name}: the rounds are not given; say rounds = R")
    average = question.reading.get("average", AVERAGES[0])
    try:
        found = of_run(question.setting, functional, question.rounds, question.numbers != FLOAT, average)
    except ValueError as error:
        raise Unserved(f"functional {functional.name}: {error}; simulate() measures what it observes") from None
    values = question.number(found)
    return values if np.ndim(question.rounds) else values[0]


for _functional in (
    FINAL_GAP,
    AVERAGE_GAP,
    BEST_GAP,
    GAP_OF_AVERAGE,
    WEIGHTED_AVERAGE_GAP,
    GAP_OF_WEIGHTED_AVERAGE,
    AVERAGE_ITERATE_DISTANCE,
    FINAL_SQUARED_GRADIENT,
):
    evaluates_functional(_functional)(partial(_of_run, _functional))
