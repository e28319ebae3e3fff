"""A published instance as a page shows it: the values that it gives a claim, and what goes on in it step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ...claims.balls import Undecided
from ...claims.statement import Claim
from ...evidence.judge import parse
from ...moments.expected_errors import exact_errors, expected_models
from ...papers.fedau.examples.weight_points import WeightsPoint
from ...papers.flics.examples.selection_points import SelectionPoint
from ...papers.safari.examples.learning_points import LearningPoint
from ...setting import Setting
from ...subjects.enclosures import with_new_steps
from ...subjects.kinked_points import KinkedPoint
from ...subjects.protocol import Examined, Point, Sides
from ...subjects.run_points import RunPoint
from .films import Film, of_learning, of_selection, of_weights, plain, right_side, shown_rounds

NARROW = 1e-6
"""Relative width of an enclosure at which a quantity of a run counts as known."""


def point_of(claim: Claim, instance: Mapping[str, Any]) -> Point:
    """The point that an instance's file describes.

    Raises:
        ValueError: it is no instance of the claim.
    """
    return parse(instance, claim).point


def values_of(claim: Claim, point: Point) -> dict[str, float]:
    """The values of the claim's quantities at a point, under the literal reading, as far as they are known; nothing
    where that reading decides nothing there.

    >>> from fedtheory.files import read_json
    >>> from fedtheory.papers import claim, instance_path
    >>> thm1 = claim("fast.thm1")
    >>> values_of(thm1, point_of(thm1, read_json(instance_path(thm1.ref))))["initial_gap"]
    1.805
    """
    try:
        sides = _literal(claim, point.examined(claim, follow=False))
    except Undecided:
        return {}
    known = {name: float(value) for name, value in sides.values.items()} | _narrow(sides)
    return {name: known[name] for name in claim.quantities if name in known and math.isfinite(known[name])}


def _literal(claim: Claim, examined: Examined) -> Sides:
    return examined.sides(next(claim.readings()))


def _narrow(sides: Sides) -> dict[str, float]:
    """Quantities of the run that are enclosed tightly."""
    try:
        boxes = sides.boxes()
    except Undecided:
        return {}
    if len(boxes) != 1:
        return {}
    ends = {name: (float(box.lower()), float(box.upper())) for name, box in boxes[0].items()}
    return {
        name: float(f"{(low + high) / 2:.9g}")
        for name, (low, high) in ends.items()
        if high - low <= NARROW * max(abs(low), abs(high))
    }


NO_ROUNDS = {
    "round": "it is about one round: there is nothing to follow",
    "values": "it is about values of quantities: there are no rounds",
    "function": "it is about a function at some points: there are no rounds",
}
"""Reasons why there is no film, by the scope of what a claim is about."""


def film(claim: Claim, point: Point) -> Film:
    """An instance step by step, under the literal reading.

    Raises:
        ValueError: there is nothing that goes on step by step, or it cannot be followed; it is said which.
    """
    if claim.functional.scope in NO_ROUNDS:
        raise ValueError(NO_ROUNDS[claim.functional.scope])
    if isinstance(point, SelectionPoint):
        chosen = point.examined(claim).chosen()
        return of_selection(claim, point, values_of(claim, point), chosen)
    if isinstance(point, WeightsPoint):
        return of_weights(claim, point, values_of(claim, point))
    if isinstance(point, LearningPoint):
        return of_learning(claim, point, lambda each: values_of(claim, each))
    if isinstance(point, RunPoint) and not isinstance(point, KinkedPoint):
        return _of_run(claim, point)
    raise ValueError("its clients are not quadratic, or its moments do not close: only the last round is known exactly")


def _of_run(claim: Claim, point: RunPoint) -> Film:
    """A run on quadratics: its expected model, and both sides with R = the round."""
    values = values_of(claim, point) or {n: float(x) for n, x in point.quantities(claim).items()}
    setting = _setting(claim, point)
    rounds = shown_rounds(point.rounds)
    first = 1 if claim.functional.average else 0  # an average over no rounds is none
    left = exact_errors(setting, rounds[first:]).functional(claim.functional, _average(claim))
    of_horizon = any("rounds" in {s.name for s in choice.free_symbols} for choice in claim.choices.values())
    right = right_side(claim, values, np.full(len(rounds) - 1, point.rounds) if of_horizon else rounds[1:])
    federation = setting.federation
    return Film(
        {
            "rounds": rounds.tolist(),
            "models": plain(expected_models(setting, rounds)),
            "left": [None] * first + plain(left),
            "right": [None, *plain(right)],
            "optimum": plain(np.asarray(federation.exact_optimum, dtype=float)),  # type: ignore[attr-defined]
            "centres": plain(np.asarray(federation.exact_centres, dtype=float)),  # type: ignore[attr-defined]
            "participants": _participants(setting),
        },
        of_horizon,
    )


def _setting(claim: Claim, point: RunPoint) -> Setting:
    """Return the setting that runs under the literal reading, with the step sizes that the claim chooses."""
    chosen = {name: point.quantities(claim)[name] for name in claim.choices}
    steps = {name: step if isinstance(step, Fraction) else Fraction(float(step)) for name, step in chosen.items()}
    algorithm = with_new_steps(point.setting.algorithm, steps)
    return point.part.way(point, claim, next(claim.readings()), algorithm).setting


def _average(claim: Claim) -> str:
    return next(claim.readings()).get("average", "r = 1..R")


def _participants(setting: Setting) -> list[int]:
    members = getattr(setting.participation, "members", ())
    return [int(member) for member in members]
