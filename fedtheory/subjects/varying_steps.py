"""Search of runs whose step sizes change, in floating point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..claims.evaluation import compiled
from ..claims.schedules import by_rule, rule_of
from ..claims.statement import Claim
from ..federations import Quadratic
from ..functionals import Functional, linear_weight
from ..moments.averages import enclosed_value, run_in_floats
from ..moments.enclosed import Imprecise
from ..moments.evaluators import BALL, Question, left
from ..moments.expected_errors import errors_in_floats
from ..moments.round_maps import quadratic
from ..own import ComputeError
from ..schedule import StepRule
from ..setting import Setting
from .lead import Found

# Searching, in floating point -----------------------------------------------------------------------------------------

SEARCHED_BY_RULE = 1000
"""Largest number of rounds to look at where all of them differ."""


def longest(claim: Claim) -> int:
    """Return the most rounds over which the search follows runs for a claim."""
    if any(map(by_rule, claim.choices.values())):
        return SEARCHED_BY_RULE
    return 10**5 if claim.functional.of_all_rounds else 10**15


def followed(horizons: np.ndarray, claim: Claim) -> np.ndarray:
    """Return the horizons that are not beyond ``longest``."""
    return horizons[horizons <= longest(claim)]


def numbers_of(quantities: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the quantities that are numbers, as arrays."""
    return {n: np.asarray(v, dtype=float) for n, v in quantities.items() if not isinstance(v, StepRule)}


def free_of_steps(constant: float) -> dict[str, float]:
    """Return the values that a rule for step sizes leaves free, at a candidate's constant."""
    return {"step_constant": constant, "step_shift": 8 * constant}


def step_of(claim: Claim, values: Mapping[str, Any]) -> Any:
    """Return the local step size that a claim chooses: a float, or a rule."""
    choice = claim.choices["local_lr"]
    if by_rule(choice):
        return rule_of(claim, "local_lr", values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(compiled(choice)(values))


def possible(step: Any) -> bool:
    """Whether a step size is a rule or a finite number > 0."""
    return isinstance(step, StepRule) or 0 < step < np.inf


def left_in_floats(setting: Setting, rounds: np.ndarray, functional: Functional, average: str) -> np.ndarray:
    """Compute the functional's value at each of ``rounds``, quickly: errors by rounding grow with them.

    It is nan where a functional of one's own asks for what has no enclosure.
    """
    if functional.compute is not None:
        return _computed_in_floats(setting, rounds, functional, average)
    if not functional.among_errors:
        return run_in_floats(setting, functional, rounds, average)
    return errors_in_floats(setting, rounds).functional(functional, average)


def _computed_in_floats(setting: Setting, rounds: np.ndarray, functional: Functional, average: str) -> np.ndarray:
    try:
        return np.broadcast_to(left(functional, Question(setting, rounds, {"average": average})), rounds.shape)
    except ComputeError as error:
        if not isinstance(error.__context__, Imprecise):
            raise
    if len(rounds) == 1:
        return np.full(1, np.nan)
    halves = np.array_split(rounds, 2)
    return np.concatenate([_computed_in_floats(setting, half, functional, average) for half in halves])


LOST = 1e-16
"""Rounding of a left side, in units of ``scale_of``: at most this times the rounds."""

NOTHING = 1e-200
"""Right side below which it fades in floats: other horizons tell more."""


def scale_of(setting: Setting, units: Any) -> float:
    """Return the unit of a left side by ``scale``, from the start and the minimisers."""
    fed = quadratic(setting)
    points = np.vstack([fed.exact_centres - fed.exact_optimum, setting.exact_start - fed.exact_optimum])
    return scale(fed, units, points.astype(float))


def scale(fed: Any, units: Any, points: np.ndarray) -> float:
    """Return the unit of a left side: powers of smoothness and of the extent of ``points`` around x*."""
    extent = float((points**2).sum(1).max()) ** (units.objective + units.parameter / 2)
    return float(fed.constants()["smoothness"].value) ** units.objective * extent


def _of_moments(setting: Setting, functional: Functional) -> bool:
    """Whether a left side follows from moments of runs."""
    return functional.scope == "run" and functional.compute is None and isinstance(setting.federation, Quadratic)


def _enclosed(setting: Setting, functional: Functional) -> bool:
    """Whether a left side has an enclosure that the search may ask for: all but those that look at each round."""
    by_round = functional.best or functional.weights not in (None, linear_weight)
    return _of_moments(setting, functional) and not by_round


def surely(
    setting: Setting, rounds: np.ndarray, functional: Functional, average: str, seen: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the part of a left side that is certain, where floats have ``seen`` it.

    Where it exceeds the right side but may be nothing but rounding, that is the lower end of its enclosure at the first
    of such rounds and at the last, as between them sides go on as they began. It is 0 at others, and where there is
    none, or the right side is nothing in floats.
    """
    if not _of_moments(setting, functional) or not (seen > right).any():
        return seen
    with np.errstate(invalid="ignore"):
        doubtful = (seen > right) & (seen < LOST * (rounds + 1.0) * scale_of(setting, functional.units))
    found = seen.copy()
    if doubtful.any():
        found[doubtful] = 0.0
        doubtful &= right > NOTHING
        doubtful[np.flatnonzero(doubtful)[1:-1]] = False
    if doubtful.any() and _enclosed(setting, functional):
        found[doubtful] = lower_ends(setting, rounds[doubtful], functional, average, (right[doubtful] / 1000).tolist())
    return found


def certainly(found: Found, functional: Functional, average: str) -> Found:
    """Return a find with the lower end of its left side's enclosure; itself where the functional has none."""
    if not _enclosed(found.point, functional):
        return found
    return found.with_left(float(lower_ends(found.point, np.array([found.rounds]), functional, average)[0]))


def lower_ends(
    setting: Setting, rounds: np.ndarray, functional: Functional, average: str, enough: Sequence[float] = ()
) -> np.ndarray:
    """Bound the functional's values at each of ``rounds`` from below, closely or by what is ``enough``.

    It is 0 where no enclosure is known.
    """
    try:
        values, accuracy = enclosed_value(setting, functional, rounds, average, enough)
    except ValueError:
        return np.zeros(len(rounds))
    off = np.where(np.isinf(values), 0.0, accuracy)
    return np.maximum(values - off, 0.0)


def computed_left(setting: Setting, rounds: int, functional: Functional, average: str, numbers: str = BALL) -> Any:
    """Return the value that a functional of one's own computes, or of one round, exact or in balls."""
    return left(functional, Question(setting, rounds, {"average": average}, numbers))
