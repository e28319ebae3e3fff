"""The same worst cases by PEPit, with one function for every client and no use of symmetry."""

from __future__ import annotations

import warnings
from itertools import combinations

import cvxpy
import numpy as np
from PEPit import PEP, Point
from PEPit.functions import SmoothConvexFunction, SmoothStronglyConvexFunction, SmoothStronglyConvexQuadraticFunction

CLARABEL = {"solver": cvxpy.CLARABEL, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
SCS = {"solver": cvxpy.SCS, "eps": 1e-9, "max_iters": 50_000}


class Clients:
    """M clients in PEPit, with L = 1, |x_0 - x*| <= 1 and every |grad F_i(x*)| <= zeta."""

    def __init__(self, clients: int, mu: float, zeta: float, quadratic: bool = False) -> None:
        self.problem = PEP()
        if quadratic:
            make = lambda: self.problem.declare_function(SmoothStronglyConvexQuadraticFunction, mu=mu, L=1.0)  # noqa: E731
        elif mu:
            make = lambda: self.problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=1.0)  # noqa: E731
        else:
            make = lambda: self.problem.declare_function(SmoothConvexFunction, L=1.0)  # noqa: E731
        self.functions = [make() for _ in range(clients)]
        self.mean = sum(self.functions[1:], self.functions[0]) / clients
        self.optimum = self.mean.stationary_point()
        self.start = self.problem.set_initial_point()
        self.problem.set_initial_condition((self.start - self.optimum) ** 2 <= 1)
        for f in self.functions:
            if clients > 1:
                self.problem.add_constraint(f.gradient(self.optimum) ** 2 <= zeta**2)

    def trained(self, x, lr: float, steps: int, who) -> list:
        """Where the local training of these clients ends."""
        ends = []
        for i in who:
            y = x
            for _ in range(steps):
                y = y - lr * self.functions[i].gradient(y)
            ends.append(y)
        return ends

    def averaged(self, x, lr: float, steps: int, who=None):
        """The server's next model."""
        ends = self.trained(x, lr, steps, range(len(self.functions)) if who is None else who)
        return sum(ends[1:], ends[0]) / len(ends)

    def noisy(self, i: int, x, lr: float, steps: int) -> tuple:
        """Where the local training of a client with noise of variance 1 at most ends: its mean, and the variance about
        it. The noise at every point has two values of equal chances, u and -u, and u depends on the point."""
        ends = [x]
        for k in range(steps):
            moved = [y - lr * self.functions[i].gradient(y) for y in ends]
            if k + 1 == steps:  # the last noise only adds to the variance
                mean = sum(moved[1:], moved[0]) / len(moved)
                about = [(end - mean) ** 2 for end in moved]
                return mean, sum(about[1:], about[0]) / len(moved) + lr**2
            noises = [Point() for _ in moved]
            for u in noises:
                self.problem.add_constraint(u**2 <= 1)
            ends = [y + sign * lr * u for y, u in zip(moved, noises, strict=True) for sign in (1, -1)]
        raise ValueError(f"steps = {steps}: allowed is a whole number >= 1")

    def noisy_error(self, ends: list[tuple], size: int):
        """E|x+ - x*|^2 over all sets of so many of these clients, whose noises are independent."""
        errors = []
        for chosen in combinations(ends, size):
            mean = sum((m for m, _ in chosen[1:]), chosen[0][0]) / size
            errors.append((mean - self.optimum) ** 2 + sum((v for _, v in chosen[1:]), chosen[0][1]) / size**2)
        return sum(errors[1:], errors[0]) / len(errors)

    def expected(self, x, lr: float, steps: int, cohort: int):
        """E|x+ - x*|^2 over the uniform cohorts."""
        ends = self.trained(x, lr, steps, range(len(self.functions)))
        cohorts = list(combinations(ends, cohort))
        return sum((sum(each[1:], each[0]) / cohort - self.optimum) ** 2 for each in cohorts) / len(cohorts)

    def worst(self, metric, precise: bool = False) -> float:
        """The largest value of an expression: by Clarabel, or by SCS where Clarabel does not reach 1e-10 and SCS its
        1e-9; ``precise`` asks SCS at once."""
        self.problem.set_performance_metric(metric)
        first, reached = self._solved(SCS if precise else CLARABEL)
        second, better = (first, False) if reached or precise else self._solved(SCS)
        found = second if better or not np.isfinite(first) else first
        assert np.isfinite(found)
        return found

    def _solved(self, options: dict) -> tuple[float, bool]:
        """The value that a solver finds, and whether it says that it is accurate. The conditions of quadratics leave no
        interior, for which Clarabel may fail."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found = self.problem.solve(wrapper="cvxpy", verbose=0, **options)
            except cvxpy.error.SolverError:
                return np.nan, False
        return found, not any("inaccurate" in str(each.message) for each in said)
