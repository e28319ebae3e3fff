"""A published instance as a page shows it: the values that it gives a claim, and, where it is a run, its rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...claims.statement import Claim
from ...claims.undecided import Undecided
from ...evidence.judge import parse
from ...moments.errors import exact_errors, expected_models
from ...setting import Setting
from ...subjects.base import Examined, Point, Sides
from ...subjects.enclosure import with_new_steps
from ...subjects.kinked_run import KinkedPoint
from ...subjects.run import RunPoint

FRAMES = 120
"""So many rounds of a run are shown, the first ones all, later ones evenly on a logarithmic scale."""

NARROW = 1e-6
"""A quantity of a run that is enclosed so tightly, relatively, counts as known."""


@dataclass(frozen=True)
class Film:
    """A run, round by round.

    Attributes:
        data: ``rounds``, ``models`` (E x_r), ``left`` and ``right`` (both sides with R = the round), ``optimum`` and
            ``centres`` (the clients' minimisers), all numbers, ``null`` where there is none; ``participants``, of the
            rounds in which the algorithm does not draw them.
        of_horizon: whether the right side is that of the instance's R in every round, since the claim chooses a step
            size that depends on R.
    """

    data: dict[str, Any]
    of_horizon: bool


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
    return {name: float(f"{(low + high) / 2:.9g}") for name, (low, high) in ends.items()
            if high - low <= NARROW * max(abs(low), abs(high))}  # fmt: skip


def film(claim: Claim, point: Point) -> Film | None:
    """The rounds of a run under the literal reading; ``None`` where a point is no run on quadratics."""
    if not isinstance(point, RunPoint) or isinstance(point, KinkedPoint) or claim.functional.scope != "run":
        return None
    values = values_of(claim, point) or {n: float(x) for n, x in point.quantities(claim).items()}
    setting = _setting(claim, point)
    rounds = shown_rounds(point.rounds)
    first = 1 if claim.functional.average else 0  # an average over no rounds is none
    left = exact_errors(setting, rounds[first:]).functional(claim.functional, _average(claim))
    of_horizon = any("rounds" in {s.name for s in choice.free_symbols} for choice in claim.choices.values())
    right = _right(claim, values, np.full(len(rounds) - 1, point.rounds) if of_horizon else rounds[1:])
    federation = setting.federation
    return Film(
        {
            "rounds": rounds.tolist(),
            "models": _plain(expected_models(setting, rounds)),
            "left": [None] * first + _plain(left),
            "right": [None, *_plain(right)],
            "optimum": _plain(np.asarray(federation.exact_optimum, dtype=float)),  # type: ignore[attr-defined]
            "centres": _plain(np.asarray(federation.exact_centres, dtype=float)),  # type: ignore[attr-defined]
            "participants": _participants(setting),
        },
        of_horizon,
    )


def _setting(claim: Claim, point: RunPoint) -> Setting:
    """What runs under the literal reading, with the step sizes that the claim chooses."""
    chosen = {name: point.quantities(claim)[name] for name in claim.choices}
    steps = {name: step if isinstance(step, Fraction) else Fraction(float(step)) for name, step in chosen.items()}
    algorithm = with_new_steps(point.setting.algorithm, steps)
    return point.part.way(point, claim, next(claim.readings()), algorithm).setting


def _average(claim: Claim) -> str:
    return next(claim.readings()).get("average", "r = 1..R")


def _right(claim: Claim, values: Mapping[str, float], rounds: np.ndarray) -> np.ndarray:
    given = {name: value for name, value in values.items() if name not in claim.choices and name not in claim.bound}
    bound = claim.evaluate(**{**given, "rounds": rounds})  # type: ignore[arg-type]
    return np.broadcast_to(bound.value, rounds.shape)


def shown_rounds(last: int) -> np.ndarray:
    """Rounds from 0 to the last one, at most ``FRAMES`` of them.

    >>> shown_rounds(3).tolist(), len(shown_rounds(10**6)) <= FRAMES
    ([0, 1, 2, 3], True)
    """
    if last < FRAMES:
        return np.arange(last + 1)
    return np.unique(np.append(0, np.geomspace(1, last, FRAMES - 1).astype(np.int64)))


def _plain(numbers: Any) -> Any:
    """Nested lists of floats, ``None`` for what is not finite."""
    if isinstance(numbers, (float, int, np.floating)):
        return float(numbers) if math.isfinite(numbers) else None
    return [_plain(entry) for entry in numbers]


def _participants(setting: Setting) -> list[int]:
    members = getattr(setting.participation, "members", ())
    return [int(member) for member in members]
