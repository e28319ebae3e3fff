"""Exact expected errors of an algorithm on quadratic federations, with no sampling.

For every round r: E|x_r - x*|^2, E|grad F(x_r)|^2 and the running averages of the latter, by the linear recursion of
second moments (see ``rounds``). Gradient noise enters by its covariance alone, so two-point and Gaussian noise give
the same numbers; participation enters by the first and second moments of the clients' weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functionals import Functional, check_average
from .rounds import Schedule, advance, observable_weights, second_moment_map, timeline

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class ExactErrors:
    """Exact errors before each of ``rounds``.

    Attributes:
        rounds: (n,) int64.
        squared_distance: (n,), E|x_r - x*|^2.
        squared_gradient: (n,), E|grad F(x_r)|^2.
        gradient_sum: (n,), sum over s < r of E|grad F(x_s)|^2.
        initial_squared_gradient: |grad F(x_0)|^2.
    """

    rounds: np.ndarray
    squared_distance: np.ndarray
    squared_gradient: np.ndarray
    gradient_sum: np.ndarray
    initial_squared_gradient: float

    def functional(self, functional: Functional, average: str = "r = 1..R") -> np.ndarray:
        """The functional's value with R = each of ``rounds`` (which must be >= 1 for an average).

        ``average`` says which iterates an average runs over: "r = 1..R" or "r = 0..R-1".
        """
        if not functional.average:
            return getattr(self, functional.observable)
        check_average(average)
        if (self.rounds < 1).any():
            raise ValueError(f"rounds contain {self.rounds.min()}: an average needs >= 1")
        total = self.gradient_sum
        if average == "r = 1..R":
            total = total + self.squared_gradient - self.initial_squared_gradient
        return total / self.rounds


def exact_errors(setting: Setting, rounds: Any = None) -> ExactErrors:
    """The exact errors of ``setting`` before each of ``rounds`` (default: 0 to 1000).

    Where the recursion leaves the floating-point range, the errors are infinite.

    Raises:
        ValueError: the federation is not quadratic, the rounds are not whole numbers >= 0, or the participants change
            in phases that are no multiples of the algorithm's period.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/2")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]))
    >>> s.exact([0, 1, 2, 3]).squared_distance  # x = 0, 0, 1/2, 1/4
    array([0.    , 0.    , 0.25  , 0.0625])
    """
    given = np.atleast_1d(np.arange(1001) if rounds is None else np.asarray(rounds))
    if given.size == 0 or (given != np.round(given)).any() or given.min() < 0:
        raise ValueError(f"rounds = {rounds!r}: allowed are whole numbers >= 0")
    rounds = given.astype(np.int64)
    plan, weights = timeline(setting, second_moment_map), observable_weights(setting.federation)
    plan = replace(plan, schedules=tuple(accumulating(s, weights["squared_gradient"]) for s in plan.schedules))
    start = initial_moments(setting)
    with np.errstate(over="ignore", invalid="ignore"):
        states = advance(plan, np.append(start, 0.0), rounds)
    states[~np.isfinite(states).all(1)] = np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        observed = {name: states[:, :-1] @ weight for name, weight in weights.items()}
    observed = {name: np.where(np.isnan(values), np.inf, values) for name, values in observed.items()}
    initial = float(start @ weights["squared_gradient"])
    return ExactErrors(rounds, **observed, gradient_sum=states[:, -1], initial_squared_gradient=initial)


def initial_moments(setting: Setting, exact: bool = False) -> np.ndarray:
    """vec(z_0 z_0^T) with z_0 = (x_0 - x*, 1)."""
    lifted = np.append(setting.exact_start - setting.federation.exact_optimum, 1)
    lifted = lifted if exact else lifted.astype(float)
    return np.outer(lifted, lifted).ravel()


def accumulating(plan: Schedule, weight: np.ndarray) -> Schedule:
    """The schedule with one more coordinate: the sum of ``weight . state`` over the rounds passed."""

    def extend(operator: np.ndarray) -> np.ndarray:
        size = len(operator)
        extended = np.zeros((size + 1, size + 1), dtype=int).astype(operator.dtype)
        extended[:size, :size], extended[size, :size] = operator, weight
        extended[size, size] = extended[size, size] + 1
        return extended

    return Schedule(extend(plan.first), extend(plan.rest), plan.period)
