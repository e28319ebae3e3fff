"""Forms of a weight rule that `check_weight_estimator` accepts, beyond a `WeightRule`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import check_has
from ..weights.weight_arguments import check_cutoff
from .check_errors import InvalidWeightError

STEPS = ("init", "weights", "step")

ALLOWED = (
    "a WeightRule, an object with `batch` or with `init`, `weights` and `step`, or a function of a history "
    "(rounds, clients) to weights of that shape"
)


@dataclass(frozen=True)
class Estimator:
    """Weight rule in the form that checks use: its methods and what it states of itself.

    Attributes:
        batch: a function of a whole history to its weights; it steps through the rule if the rule has no `batch`.
        rule: the object with `init`, `weights` and `step`; None if it lacks any of them.
        long_run: a function of p to the limits of mean and variance; None if the rule states none.
        cutoff: the longest interval; None for a rule that does not state that it averages intervals.
        known: the participation probability that the rule was given; None if it has none, or several.
        absences: histories of a first participation after rounds of absence that are worth a try.
    """

    batch: Callable[[np.ndarray], Any]
    rule: Any
    long_run: Callable[[float], Any] | None
    cutoff: float | None
    known: float | None = None
    absences: tuple[np.ndarray, ...] = ()

    @property
    def longest(self) -> float:
        """Longest interval of a rule that averages intervals; infinite without a cutoff."""
        return math.inf if self.cutoff is None else self.cutoff


def accepted(rule: Any) -> Estimator:
    """Convert a rule of any accepted form.

    Raises:
        ValueError: it is a class, or does not give weights.

    >>> accepted(lambda history: history + 1.0).rule is None
    True
    >>> accepted(Estimator)
    Traceback (most recent call last):
    ValueError: rule = Estimator is a class: allowed is an instance of it, such as Estimator()
    """
    if inspect.isclass(rule):
        raise ValueError(f"rule = {rule.__name__} is a class: allowed is an instance of it, such as {rule.__name__}()")
    steps = rule if all(callable(getattr(rule, name, None)) for name in STEPS) else None
    batch = getattr(rule, "batch", None)
    if batch is None and steps is not None:
        batch = _by_steps(steps)
    if batch is None and callable(rule):
        batch = rule
    if not callable(batch):
        raise ValueError(f"rule = {rule!r}: allowed is {ALLOWED}")
    cutoff, long_run = getattr(rule, "cutoff", None), getattr(rule, "long_run", None)
    told = np.unique(np.asarray(getattr(rule, "participation_probability", []), float))
    known = float(told[0]) if len(told) == 1 else None
    if long_run is not None:
        check_has("long_run(p)", long_run(known or 0.5), ("mean", "variance"), "what has mean and variance: a LongRun")
    return Estimator(_weights_of(batch), steps, long_run, None if cutoff is None else check_cutoff(cutoff), known)


def _weights_of(batch: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], np.ndarray]:
    """Have every batch of weights looked at: whether they are numbers, one for each client and round. Half precision
    is no number here: it ends at 65504, and 1/3 is off by 0.02%.
    """

    def weights(history: np.ndarray) -> np.ndarray:
        shape = history.shape
        found = np.asarray(batch(history))
        if found.shape != shape or not (found.dtype.kind in "iu" or found.dtype in (np.float32, np.float64)):
            expected = f"numbers (float64, float32 or integers) of shape {shape}"
            raise InvalidWeightError(expected, f"{found.dtype} of shape {found.shape}", history)
        return found

    return weights


def tolerance(weights: np.ndarray) -> float:
    """Return the relative tolerance for rounding: 1e-9, or 1e-5 for weights in float32.

    A running average and a quotient of sums differ in their last digits.
    """
    return 1e-9 if weights.dtype != np.float32 else 1e-5


def stream(rule: Any, history: np.ndarray) -> np.ndarray:
    """Return the weights of every round, computed step by step."""
    state, weights = rule.init(history.shape[1:]), []
    for participated in history:
        weights.append(np.array(rule.weights(state)))
        state = rule.step(state, participated)
    return np.stack(weights)


def _by_steps(rule: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda history: stream(rule, history)
