"""Noise on quadratics, apart from all else: it enters linearly.

A client's local steps make y -> (1 - lr (h + proximal)) y - lr noise of a coordinate along an eigenvector, h its
eigenvalue. Noises have mean 0 and are uncorrelated. So E|x+ - x*|^2 is its value without noise and the squares that the
noises leave. The largest of either is attained at once: noise may live in dimensions of its own, in which all clients
have one curvature.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from .problem import Problem
from .round_plans import Arbitrary, Cohort, Everyone, Participants, Training


def noise_apart(problem: Problem) -> tuple[Problem, float] | None:
    """Return the problem without noise, and the factor of sigma^2 that noise adds to E|x+ - x*|^2:

        max over mu <= h <= L of
        sum over kinds of p/m global_lr^2 sum_k lr_k^2 prod_{l > k} (1 - lr_l (h + proximal))^2,

    with m the clients that take part, and for a cohort drawn with replacement the mean of the sum of squared weights in
    the place of 1/m; ``None`` unless there is noise, and it is about one round, quadratics and this error.

    >>> from fedtheory.worstcase import Problem, local_sgd, plan_of, quadratic
    >>> plan = plan_of(local_sgd(local_lr=1, local_steps=2), clients=4)
    >>> asked = Problem(quadratic(smoothness=1, strong_convexity="1/2"), plan, gradient_noise=1)
    >>> noise_apart(asked)[1]  # (1 + 1/4)/4
    0.3125
    """
    alone = not problem.prices and not problem.combination and len(problem.plan.rounds) == 1
    if not (problem.functions.quadratic and problem.gradient_noise and alone):
        return None
    if problem.metric != "final_squared_distance":
        return None
    L, kinds = problem.functions.smoothness, problem.plan.rounds[0]
    total = np.polynomial.Polynomial([0.0])
    for p, kind in kinds:
        if isinstance(kind, Training):
            share = p * kind.global_lr**2 * _averaged(kind.participants, problem.plan.clients or 1) / L**2
            total = total + float(share) * _left(kind, L)
    low = float(problem.functions.condition)
    flat = [complex(root) for root in total.deriv().roots()]
    at = [low, 1.0, *(root.real for root in flat if abs(root.imag) < 1e-9 and low < root.real < 1)]
    return replace(problem, gradient_noise=Fraction(0)), float(max(total(np.array(at))))


def _left(kind: Training, smoothness: Fraction) -> np.polynomial.Polynomial:
    """Return the squared distance that noise of variance 1 leaves a client, times L^2: a polynomial of h/L."""
    found, factor = np.polynomial.Polynomial([0.0]), np.polynomial.Polynomial([1.0])
    for lr in reversed(kind.local_lr):
        found = found + float(lr * smoothness) ** 2 * factor
        factor = factor * np.polynomial.Polynomial([float(1 - lr * kind.proximal), -float(lr * smoothness)]) ** 2
    return found


def _averaged(who: Participants, clients: int) -> Fraction:
    """Return the variance that averaging leaves of independent clients' variance 1: E of the sum of their squared
    weights."""
    if isinstance(who, Everyone):
        return Fraction(1, clients)
    if isinstance(who, Arbitrary) or (isinstance(who, Cohort) and not who.replacement):
        return Fraction(1, who.size)
    return (1 - Fraction(1, clients)) / who.size + Fraction(1, clients)
