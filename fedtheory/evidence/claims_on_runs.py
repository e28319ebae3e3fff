"""Statements of claims on runs whose constants are only estimated, such as a network's, beside the outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..papers import claim as find_claim

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from ..federations.constants import Constants
    from ..setting import Setting
    from ..simulation.run import Run


@dataclass(frozen=True)
class OnRun:
    """A claim on a run.

    Attributes:
        claim: its id and edition.
        functional: what it bounds.
        left: the functional on the run, the mean over replicas, and ``left_interval``, of 99 % confidence.
        right: the bound with the constants' cautious ends; ``nan`` where it cannot be evaluated.
        slack: by hypothesis how much it holds by; ``None``: undecided, negative: it fails.
        why: what keeps it from being evaluated; "" if nothing does.
    """

    claim: str
    functional: str
    left: float
    left_interval: tuple[float, float]
    right: float
    slack: dict[str, float | None]
    why: str = ""

    @property
    def hypotheses_hold(self) -> bool | None:
        """Whether all hold with these constants; ``None`` if none fails and some are undecided."""
        if self.why or any(value is not None and value < 0 for value in self.slack.values()):
            return False
        return None if None in self.slack.values() else True


def on_run(claims: Iterable[str], setting: Setting, run: Run, constants: Constants, **given: Any) -> list[OnRun]:
    """Evaluate each claim's hypotheses and both of its sides after the run's rounds.

    Constants enter with the ends of their intervals that are safe to plug into a theorem; run quantities (G_1 to
    G_3) as the run's own maxima, where ``peaks`` watched them. Estimates are of the points that were seen, and theorems
    ask for suprema over all points: a bound below what happened refutes nothing, and one above confirms nothing. It is
    told how far the two are apart.

    Args:
        claims: their refs.
        setting, run: what ran, with the functionals' observables watched in every round.
        constants: see ``federations.estimated_constants``.
        given: other quantities, or better values; they win.

    Raises:
        ValueError: an unknown claim, or a functional whose observable the run lacks.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian([1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/100")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=3)
    >>> points = ft.simulation.iterates(s, rounds=100, every=10)[:, 0]
    >>> run = s.simulate(replicas=2, rounds=100, observers=["squared_gradient", "peaks"])
    >>> found, = on_run(["fast.thm1@sharp"], s, run, ft.federations.estimated_constants(fed, points))
    >>> found.hypotheses_hold, found.left < found.right
    (True, True)
    """
    return [_of_one(find_claim(each), setting, run, constants, given) for each in claims]


def _of_one(claim: Claim, setting: Setting, run: Run, constants: Constants, given: dict[str, Any]) -> OnRun:
    functional, rounds = claim.functional, int(run.rounds[-1])
    mean, low, high = (float(values[-1]) for values in run.interval(functional))
    name = f"{claim.id}@{claim.edition}"
    peaks = {key: float(values.max()) for key, values in run.peaks.items() if key in claim.quantities}
    values = constants.cautious() | peaks | given
    try:
        bound = claim.at(setting, rounds=rounds, **values)
    except ValueError as error:
        return OnRun(name, functional.name, mean, (low, high), float("nan"), {}, str(error))
    slack = {key: None if value is None else float(np.min(value)) for key, value in bound.slack.items()}
    return OnRun(name, functional.name, mean, (low, high), float(np.max(bound.value)), slack)
