"""Quantities of one round from x_0, as linear functions of a program's unknowns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .geometry import variance_factor
from .round_plans import Cohort, Plan, Training

if TYPE_CHECKING:
    from .program import Program

Array = np.ndarray

ROUND_METRIC = "one_round"
"""Metric of a problem that is a combination of such quantities."""

POWERS = {
    "final_squared_distance": 0, "squared_movement": 0, "arbitrary_drift": 0, "negated_full_progress": 1,
    "negated_arbitrary_progress": 0, "squared_gradient": 2, "full_pseudogradient": 2, "cohort_pseudogradient": 2,
    "arbitrary_pseudogradient": 2, "objective_decrease": 1, "arbitrary_excess": 1,
}  # fmt: skip
"""Functionals and quantities of one round, as `fedtheory.functionals` and `fedtheory.quantities` define them, and the
powers of L that they have as units, beside a squared length."""

AFTER = ("objective_decrease",)
"""Quantities that need a value of F after the round; only rounds with one outcome have it."""


def check(combination: Mapping[str, Any], plan: Plan) -> None:
    """Refuse quantities that no program of the plan has.

    Raises:
        ValueError: no name, or one that is unknown; more than one round; a proximal term; or a value of F after a
            random round.
    """
    for name in combination:
        if name not in POWERS:
            raise ValueError(f"combination: {name!r}: allowed is one of {', '.join(POWERS)}")
        if name in AFTER and plan.random:
            raise ValueError(f"{name}: allowed is a round with one outcome, of all clients or of one set")
    if not combination or len(plan.rounds) != 1:
        raise ValueError(
            f"rounds = {len(plan.rounds)}, combination of {len(combination)}: allowed is one round, and "
            "at least one quantity"
        )
    if any(isinstance(kind, Training) and kind.proximal for kind in plan.kinds):
        raise ValueError("proximal: allowed with a combination is 0")


def combined(program: Program, combination: Mapping[str, float]) -> tuple[Array, float]:
    """Return the row of sum of coefficient * quantity, without units, and the constant that is added to it."""
    row, extra = nothing(program), 0.0
    for name, coefficient in combination.items():
        found, more = ROWS[name](program)
        row, extra = row + coefficient * found, extra + coefficient * more
    return row, extra


def _start(program: Program) -> Array:
    return program.geometry.points[1].x[0]


def _movement(program: Program) -> tuple[Array, float]:
    row, extra = nothing(program), 0.0
    for outcome in program.geometry.outcomes:
        row = row + outcome.probability * program.inner(outcome.moved, outcome.moved)
        row = row + sum((outcome.probability * w * program.inner(v, v) for w, v in outcome.spread), nothing(program))
        extra += outcome.probability * outcome.extra
    return row, extra


def _distance(program: Program) -> tuple[Array, float]:
    row, extra = _movement(program)
    start = _start(program)
    for outcome in program.geometry.outcomes:
        row = row + outcome.probability * 2 * program.inner(outcome.moved, start)
    return row + program.inner(start, start), extra


def _sums(program: Program) -> Array:
    """Return, for a client of each orbit, the sum of its local gradients."""
    (sums,) = program.geometry.sums.values()
    return sums


def _of_set(program: Program) -> Array:
    """The mean of the sums over the adversary's set, or over all."""
    geometry = program.geometry
    if geometry.plan.chosen is None:
        return geometry.mean(_sums(program))
    return geometry.only_means(_sums(program)[0])


def _full_progress(program: Program) -> tuple[Array, float]:
    return -program.inner(program.geometry.mean(_sums(program)), _start(program)), 0.0


def _arbitrary_progress(program: Program) -> tuple[Array, float]:
    return -2 * _lr(program) * program.inner(_of_set(program), _start(program)), 0.0


def _lr(program: Program) -> float:
    (kind,) = {k for k in program.geometry.plan.kinds if isinstance(k, Training)}
    return float(program.units.step(kind.local_lr[0]))


def _gradient(program: Program) -> tuple[Array, float]:
    return program.squared_gradient(1), 0.0


def _full(program: Program) -> tuple[Array, float]:
    mean = program.geometry.mean(_sums(program))
    return program.inner(mean, mean), 0.0


def _cohort(program: Program) -> tuple[Array, float]:
    """|mean|^2 and the variance of the mean over a cohort that is drawn."""
    geometry = program.geometry
    row, mean = _full(program)[0], geometry.mean(_sums(program))
    for who in geometry.plan.participants:
        if isinstance(who, Cohort) and not geometry.plan.is_everyone(who):
            factor = variance_factor(who, geometry.plan.clients or 1, program.units)
            for orbit, each in zip(geometry.orbits, _sums(program), strict=True):
                row = row + factor * orbit.share * program.inner(each - mean, each - mean)
    return row, 0.0


def _arbitrary(program: Program) -> tuple[Array, float]:
    mean = _of_set(program)
    return program.inner(mean, mean), 0.0


def _decrease(program: Program) -> tuple[Array, float]:
    return program.gap(1) - program.gap(len(program.geometry.points) - 1), 0.0


def _excess(program: Program) -> tuple[Array, float]:
    start = _start(program)
    if program.geometry.plan.chosen is None:
        return program.gap(1), 0.0
    return program.value_of(0, 1) + program.inner(start, start) * (program.units.condition / 2), 0.0


def _drift(program: Program) -> tuple[Array, float]:
    geometry, row = program.geometry, nothing(program)
    shares = [1.0] if geometry.plan.chosen is not None else [float(orbit.share) for orbit in geometry.orbits]
    for point in geometry.points[2:]:
        if not point.shared:
            for o, share in enumerate(shares):
                moved = point.x[o] - geometry.points[1].x[o]
                row = row + share * program.inner(moved, moved)
    return row, 0.0


def nothing(program: Program) -> Array:
    """Return the row of zeros."""
    return program.inner(program.geometry.points[0].x[0], program.geometry.points[0].x[0])


ROWS: dict[str, Callable[[Program], tuple[Array, float]]] = {
    "final_squared_distance": _distance, "squared_movement": _movement, "arbitrary_drift": _drift,
    "negated_full_progress": _full_progress, "negated_arbitrary_progress": _arbitrary_progress,
    "squared_gradient": _gradient, "full_pseudogradient": _full, "cohort_pseudogradient": _cohort,
    "arbitrary_pseudogradient": _arbitrary, "objective_decrease": _decrease, "arbitrary_excess": _excess,
}  # fmt: skip
