"""Var and OffVar given to a general convex solver (cvxpy with Clarabel): slow, and written independently of the rest.

It is what the exact algorithms are compared with. Nothing else in the package uses it.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..extras import needed
from .inputs import checked_availability, checked_budget, checked_group_weight

if TYPE_CHECKING:
    import cvxpy


@cache
def var_model(groups: int) -> cvxpy.Problem:
    """Problem (5)-(6) with parameters history, availability, budget and squared_weight: compiled once, solved often.

    The objective is sum_j p_j^2 / (b_j + r_j), which is (5) divided by t.
    """
    cp = needed("cvxpy")

    rates = cp.Variable(groups, nonneg=True, name="rates")
    history, availability, squared_weight = (
        cp.Parameter(groups, nonneg=True, name=name) for name in ("history", "availability", "squared_weight")
    )
    budget = cp.Parameter(nonneg=True, name="budget")
    total = cp.Variable(groups)  # a parameter inside inv_pos would be compiled anew for every instance
    limits = [rates <= availability, cp.sum(rates) <= budget, total == history + rates]
    return cp.Problem(cp.Minimize(squared_weight @ cp.inv_pos(total)), limits)


def solve_var(
    history: ArrayLike, availability: ArrayLike, budget: float, group_weight: ArrayLike
) -> tuple[np.ndarray, float]:
    """The rates and the objective sum_j p_j^2 / (b_j + r_j) of one Var problem, to the solver's tolerance.

    >>> rates, objective = solve_var([0, 0, 9], [5, 1, 5], 4, [0.5, 0.25, 0.25])
    >>> rates.round(4).tolist(), round(objective, 6)
    ([3.0, 1.0, 0.0], 0.152778)
    """
    weight = np.asarray(group_weight, dtype=float)
    taking = weight > 0  # 1/s of a group of weight 0 that has nothing would have no value
    problem = var_model(int(taking.sum()))
    values = {
        "history": np.asarray(history, dtype=float)[taking],
        "availability": np.asarray(availability, dtype=float)[taking],
        "squared_weight": weight[taking] ** 2,
        "budget": float(budget),
    }
    for name, value in values.items():
        problem.param_dict[name].value = value
    rates = np.zeros(len(weight))
    rates[taking] = _solve(problem)
    return rates, float(problem.value)


def offvar_model(
    availability: ArrayLike, budget: ArrayLike, group_weight: ArrayLike, r_min: float = 0.0
) -> cvxpy.Problem:
    """Problem (8), with the groups of positive weight in the objective: 1/s of one that gets nothing has no value.

    Availability and budget are constants: as parameters, 10^4 rounds would compile to a dense map of 80 GB.
    """
    cp = needed("cvxpy")

    a = checked_availability(availability).T
    rounds, groups = a.shape
    k, p = checked_budget(budget, rounds), checked_group_weight(group_weight, groups)
    rates = cp.Variable((rounds, groups), nonneg=True, name="rates")
    participation = cp.sum(rates, axis=0) / rounds
    limits = [rates <= a, cp.sum(rates, axis=1) <= k, participation >= r_min]
    counted = np.flatnonzero(p)
    return cp.Problem(cp.Minimize(p[counted] ** 2 @ cp.inv_pos(participation[counted])), limits)


def solve_offvar(
    availability: ArrayLike, budget: ArrayLike, group_weight: ArrayLike, r_min: float = 0.0
) -> tuple[np.ndarray, float]:
    """A plan (rounds, groups) and the objective of OffVar, to the solver's tolerance.

    >>> plan, objective = solve_offvar([[4, 4], [4, 0]], [4, 2], [0.5, 0.5])
    >>> plan.sum(axis=0).round(3).tolist(), round(objective, 6)
    ([3.0, 3.0], 0.333333)
    """
    problem = offvar_model(availability, budget, group_weight, r_min)
    return _solve(problem), float(problem.value)


def _solve(problem: cvxpy.Problem) -> np.ndarray:
    cp = needed("cvxpy")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of an inaccurate answer: the status says so too
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise ArithmeticError(f"Clarabel gave up: {error}") from None
    if problem.status != cp.OPTIMAL:
        raise ArithmeticError(f"Clarabel's answer is {problem.status}")
    return np.asarray(problem.var_dict["rates"].value)
