"""Search for the step sizes that make a worst case least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from ..rationals import exact_number
from .classes import FunctionClass
from .program import METRICS
from .round_plans import positive
from .worst import WorstCase, worst_case

GRID = 13
"""Sizes of each step that are tried before the search goes on from the best."""
DIGITS = 6
"""Significant digits of the steps found."""


@dataclass(frozen=True)
class Steps:
    """Step sizes, and the worst case with them.

    Attributes:
        local_lr, global_lr: rational, with six digits; ``global_lr`` is 1 unless it was searched.
        worst: its ``value`` is the least that was found. score: the minimised value, see ``best_steps``.
        tried, failed: worst cases that were solved, and solves that were inaccurate.
    """

    local_lr: Fraction
    global_lr: Fraction
    worst: WorstCase
    score: float
    tried: int
    failed: int


def best_steps(
    functions: FunctionClass,
    make: Callable[..., Any],
    *,
    local_lr: tuple[Any, Any] | None = None,
    global_lr: tuple[Any, Any] | None = None,
    horizon: int = 1,
    **options: Any,
) -> Steps:
    """Search the local step size (and the server's) with the least worst case, on a grid that is refined from its
    best.

    A worst case is no convex function of the steps; what is found is the least of what was tried, and an upper bound of
    the least there is.

    Args:
        make: the algorithm with given steps, called as ``make(local_lr=...)``, or with ``global_lr`` too where that is
            searched, such as ``partial(local_sgd, local_steps=4)``.
        local_lr: the range that is searched, by default from 1/(1000 L) to 2/L. global_lr: the same, or ``None``: it is
            left as ``make`` has it.
        horizon: rounds after which ``Recursion.after`` is made least, of one round's squared distance; 1: the worst
            case itself.
        options: of ``worst_case``.

    Raises:
        ValueError: a range that is none, or no solve that was accurate; and as ``worst_case``.

    >>> from functools import partial
    >>> from fedtheory.worstcase import local_sgd, strongly_convex
    >>> found = best_steps(strongly_convex(smoothness=1, strong_convexity="1/9"), local_sgd)
    >>> round(float(found.local_lr), 3), round(found.worst.value, 4)  # 2 / (L + mu) and ((L - mu) / (L + mu))^2
    (1.8, 0.64)
    """
    L = functions.smoothness
    ranges = {"local_lr": _range("local_lr", local_lr or (1 / (1000 * L), 2 / L))}
    if global_lr is not None:
        ranges["global_lr"] = _range("global_lr", global_lr)
    search = _Search(functions, make, horizon, options)
    logs = {name: np.log([float(a), float(b)]) for name, (a, b) in ranges.items()}
    grids = [np.linspace(low, high, GRID) for low, high in logs.values()]
    starts = [tuple(point) for point in np.stack(np.meshgrid(*grids), -1).reshape(-1, len(grids))]
    scores = [search(names_and_logs(logs, point)) for point in starts]
    if not np.isfinite(min(scores)):
        raise ValueError(f"local_lr from {ranges['local_lr'][0]} to {ranges['local_lr'][1]}: no worst case was solved")
    best = starts[int(np.argmin(scores))]
    _refine(search, logs, grids, best)
    return search.result()


def names_and_logs(logs: dict[str, Any], point: Any) -> dict[str, float]:
    """Return the steps whose logarithms these are, within their ranges."""
    return {name: float(np.exp(np.clip(v, *logs[name]))) for name, v in zip(logs, point, strict=True)}


def _range(name: str, given: tuple[Any, Any]) -> tuple[Fraction, Fraction]:
    low, high = (positive(name, each) for each in given)
    if low >= high:
        raise ValueError(f"{name} from {low} to {high}: allowed is a range whose first number is the smaller one")
    return low, high


def _refine(search: _Search, logs: dict[str, Any], grids: list[Any], best: tuple[float, ...]) -> None:
    width = [grid[1] - grid[0] for grid in grids]
    if len(grids) == 1:
        low, high = logs["local_lr"]
        bounds = (max(low, best[0] - width[0]), min(high, best[0] + width[0]))
        minimize_scalar(
            lambda v: search(names_and_logs(logs, [v])), bounds=bounds, method="bounded", options={"xatol": 10**-DIGITS}
        )
        return
    corners = [
        best,
        *(
            tuple(b + w / 2 * (k == j) for k, (b, w) in enumerate(zip(best, width, strict=True)))
            for j in range(len(best))
        ),
    ]
    minimize(
        lambda v: search(names_and_logs(logs, v)),
        best,
        method="Nelder-Mead",
        options={"initial_simplex": corners, "xatol": 1e-5, "fatol": 1e-10, "maxfev": 200},
    )


class _Search:
    """Scores of steps, and the best so far."""

    def __init__(
        self, functions: FunctionClass, make: Callable[..., Any], horizon: int, options: dict[str, Any]
    ) -> None:
        if type(horizon) is not int or horizon < 1:
            raise ValueError(f"horizon = {horizon}: allowed is a whole number >= 1")
        if horizon > 1 and (options.get("metric", METRICS[0]) != METRICS[0] or options.get("rounds", 1) != 1):
            raise ValueError(f"horizon = {horizon}: allowed is 1, but for one round's {METRICS[0]}")
        self.functions, self.make, self.horizon, self.options = functions, make, horizon, options
        self.best: tuple[float, dict[str, Fraction], WorstCase] | None = None
        self.tried = self.failed = 0

    def __call__(self, steps: dict[str, float]) -> float:
        exact = {name: Fraction(f"{value:.{DIGITS}g}") for name, value in steps.items()}
        found = worst_case(self.functions, self.make(**exact), **self.options)
        self.tried += 1
        if found.value is None or found.recursion is None:
            self.failed += 1
            return np.inf
        score = found.value if self.horizon == 1 else found.recursion.after(self.horizon, **self._constants())
        if self.best is None or score < self.best[0]:
            self.best = score, exact, found
        return score

    def _constants(self) -> dict[str, float]:
        names = ("distance", "dissimilarity_at_optimum", "gradient_noise", "server_noise")
        return {name: float(exact_number(name, self.options[name])) for name in names if name in self.options}

    def result(self) -> Steps:
        assert self.best is not None
        score, steps, found = self.best
        return Steps(steps["local_lr"], steps.get("global_lr", Fraction(1)), found, score, self.tried, self.failed)
