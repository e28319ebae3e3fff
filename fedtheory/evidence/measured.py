"""Measured evidence: claims on regularised logistic regression over real data, with every hypothesis checked on the
run itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .. import data
from ..claims.evaluation import Bound
from ..claims.statement import Claim
from ..federations.logistic import Logistic
from ..functionals import AVERAGES
from ..papers import claim as find_claim
from ..papers.registry import subject_of
from ..quantities import RUN_QUANTITIES
from ..setting import Setting
from ..simulation import Run
from ..subjects.quadratic_candidates import EVERYONE, bound_counts

CONFIDENCE = 0.99

SHOWN = ("snapshot_probability", "client_round_probability", "local_lr", "server_lr")
"""Quantities of the algorithm that a measurement reports."""


COUNTS = ("cohort", "arbitrary_cohort", "local_steps")


@dataclass(frozen=True)
class RealData:
    """Parameters of a measurement of a claim on a data set.

    Attributes:
        dataset, clients, alpha, l2: the federation: a balanced Dirichlet(alpha) split of the labels, and the ridge.
        gradient_noise: two-point, in units of F/x.
        cohort, arbitrary_cohort, local_steps: m, n, K; arbitrary rounds follow the index-weighted Beta(1, 10) law.
        rounds, replicas: what is simulated, from x_0 = 0.
        precision: of the runs. Numbers of 24 bits change a left side by less than 1e-6 of itself, while what so few
            replicas leave open is a hundredth or more; constants, bounds and the slack of what is known beforehand are
            of 53.
    """

    dataset: str
    clients: int
    alpha: float
    l2: float
    gradient_noise: float
    cohort: int
    arbitrary_cohort: int
    local_steps: int
    rounds: int
    replicas: int
    precision: str = "float64"


DIGITS = RealData("digits", 50, 0.3, 0.3, 0.1, 5, 5, 1, 600, 8)
FASHION_MNIST = RealData("fashion-mnist", 100, 0.3, 0.3, 0.1, 5, 5, 1, 25, 3, precision="float32")


@cache
def federation(plan: RealData) -> Logistic:
    """Make the plan's federation; the split depends on the plan alone."""
    rows = data.load(plan.dataset).normalised()
    return Logistic.split(
        rows, clients=plan.clients, alpha=plan.alpha, l2=plan.l2, seed=0, gradient_noise=plan.gradient_noise
    )


def measure(
    ref: str,
    plan: RealData,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """A claim on real data: both sides after the plan's rounds, and the slack of every hypothesis (the smallest over
    the replicas). What is published is of the CPU, so that is where it runs unless another device is asked for.

    Returns:
        ``outcome``, with the numbers behind it: ``holds`` (the left side's confidence interval reaches below the right
            side), ``exceeded`` (it does not) or ``not applicable`` (a hypothesis fails on some replica or is
            undecided, a replica diverges, or the right side is infinite).
    """
    statement = find_claim(ref)
    setting = setting_on(statement, plan)
    watched = (statement.functional.observable, *["peaks"] * bool({*RUN_QUANTITIES} & {*statement.quantities}))
    run = _run(plan, setting, watched, seed, progress, device)
    bound = bound_on_run(statement, setting, run, plan.rounds)
    average = next(statement.readings()).get("average", AVERAGES[0])
    mean, low, high = (float(v[-1]) for v in run.interval(statement.functional, average, CONFIDENCE))
    right = float(np.max(bound.value))
    holds = "holds" if low <= right else "exceeded"
    applies = bound.hypotheses_hold and run.divergence is None and right < np.inf
    return {
        "data": plan.dataset,
        "device": run.where["device"],
        "clients": plan.clients,
        "rounds": plan.rounds,
        "replicas": plan.replicas,
        **{name: float(value) for name, value in setting.algorithm.quantities().items() if name in SHOWN},
        "slack": {name: float(np.min(slack)) for name, slack in bound.slack.items() if slack is not None},
        "hypotheses_hold": bool(bound.hypotheses_hold),
        "left": mean,
        "left_interval": [low, high],
        "confidence": CONFIDENCE,
        "right": right,
        "ratio": mean / right,
        "outcome": holds if applies else "not applicable",
    }


_KNOWN: dict[tuple[Any, ...], Run] = {}


def _run(
    plan: RealData,
    setting: Setting,
    watched: tuple[str, ...],
    seed: int,
    progress: Callable[[int, int], None] | None,
    device: str = "cpu",
) -> Run:
    """The run of a setting as the plan has it, made once: editions of a claim may ask for one run."""
    start = None if setting.start is None else np.asarray(setting.start, dtype=float).tobytes()
    asked = (setting.federation, setting.algorithm, setting.participation, start, plan, watched, seed, device)
    if asked not in _KNOWN:
        _KNOWN[asked] = setting.simulate(
            replicas=plan.replicas,
            rounds=plan.rounds,
            seed=seed,
            progress=progress,
            observers=list(watched),
            dtype=plan.precision,
            device=device,
        )
    return _KNOWN[asked]


def bound_on_run(statement: Claim, setting: Setting, run: Run, rounds: int) -> Bound:
    """Evaluate the claim with the run quantities that each replica really had."""
    overrides: dict[str, Any] = {name: run.peaks[name] for name in RUN_QUANTITIES if name in statement.quantities}
    return statement.at(setting, rounds=rounds, **overrides)


def setting_on(statement: Claim, plan: RealData) -> Setting:
    """Make a setting on the plan's federation that meets the claim's hypotheses, as far as these can be told
    beforehand.

    Its cohorts and local steps are those that the claim binds, else the plan's.
    """
    space, known = subject_of(statement).space(statement), federation(plan)
    counts = {name: getattr(plan, name) for name in COUNTS} | bound_counts(statement, *COUNTS)
    everyone = {name: known.clients for name, count in counts.items() if count == EVERYONE}
    return space.on_data(known, **counts | everyone)
