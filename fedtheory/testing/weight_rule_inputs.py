"""What `check_weight_estimator` takes for a weight rule: more than a `WeightRule`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..weights.weight_arguments import check_cutoff

STEPS = ("init", "weights", "step")

ALLOWED = (
    "a WeightRule, an object with `batch` or with `init`, `weights` and `step`, or a function of a history "
    "(rounds, clients) to weights of that shape"
)


@dataclass(frozen=True)
class Estimator:
    """A weight rule by what it has.

    Attributes:
        batch: the weights of a whole history; by steps, where the rule has nothing else.
        rule: with `init`, `weights` and `step`; None where it has not all of them.
        long_run: what mean and variance tend to; None where the rule does not say.
        cutoff: the longest interval; None of a rule that does not say that it averages intervals.
        known: the participation probability that the rule was told; None where it was not.
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
        """The longest interval of a rule that averages intervals."""
        return math.inf if self.cutoff is None else self.cutoff


def accepted(rule: Any) -> Estimator:
    """A rule in whichever form it comes.

    Raises:
        ValueError: it is a class, or nothing that gives weights.

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
    return Estimator(batch, steps, long_run, None if cutoff is None else check_cutoff(cutoff), known)


def tolerance(weights: np.ndarray) -> float:
    """What weights may differ in by rounding, relatively: a running average and a quotient of sums do so in their last
    digits, and those of float32 much earlier."""
    return 1e-9 if weights.dtype != np.float32 else 1e-5


def stream(rule: Any, history: np.ndarray) -> np.ndarray:
    """The weights of every round, one step after the other."""
    state, weights = rule.init(history.shape[1:]), []
    for participated in history:
        weights.append(np.array(rule.weights(state)))
        state = rule.step(state, participated)
    return np.stack(weights)


def _by_steps(rule: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda history: stream(rule, history)
