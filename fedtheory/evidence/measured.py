"""Measured evidence: claims on regularised logistic regression over real data, with every hypothesis checked on the
run itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sympy import Le

from .. import data
from ..algorithms import fast, safari
from ..claims.evaluation import Bound
from ..claims.statement import Claim
from ..federations.logistic import Logistic
from ..functionals import AVERAGES
from ..papers import claim as find_claim
from ..participation import IndexBeta
from ..quantities import RUN_QUANTITIES
from ..setting import Setting
from ..simulation import Run
from ..subjects.runs import limit_of
from ..subjects.safari.instance import STEPS, speaks_of_servers

CONFIDENCE = 0.99

SHOWN = ("snapshot_probability", "client_round_probability", "local_lr", "server_lr")
"""What is said of the algorithm."""


@dataclass(frozen=True)
class RealData:
    """How a claim is measured on a data set.

    Attributes:
        dataset, clients, alpha, l2: the federation: a balanced Dirichlet(alpha) split of the labels, and the ridge.
        gradient_noise: two-point, in units of F/x.
        cohort, arbitrary_cohort, local_steps: m, n, K; arbitrary rounds follow the index-weighted Beta(1, 10) law.
        rounds, replicas: what is simulated, from x_0 = 0.
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


DIGITS = RealData("digits", 50, 0.3, 0.3, 0.1, 5, 5, 1, 600, 8)
FASHION_MNIST = RealData("fashion-mnist", 100, 0.3, 0.3, 0.1, 5, 5, 1, 25, 3)


@cache
def federation(plan: RealData) -> Logistic:
    """The plan's federation; the split depends on the plan alone."""
    rows = data.load(plan.dataset).normalised()
    return Logistic.split(
        rows, clients=plan.clients, alpha=plan.alpha, l2=plan.l2, seed=0, gradient_noise=plan.gradient_noise
    )


def measure(
    ref: str, plan: RealData, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """A claim on real data: both sides after the plan's rounds, and the slack of every hypothesis (the smallest over
    the replicas).

    Returns:
        ``outcome``: ``holds`` (the left side's confidence interval reaches below the right side), ``exceeded`` (it
        does not) or ``not applicable`` (a hypothesis fails on some replica), with the numbers behind it.
    """
    statement = find_claim(ref)
    setting = (tied_setting if speaks_of_servers(statement) else admissible_setting)(statement, plan)
    run = setting.simulate(
        replicas=plan.replicas, rounds=plan.rounds, seed=seed, progress=progress,
        observers=[statement.functional.observable] + ["peaks"] * bool({*RUN_QUANTITIES} & {*statement.quantities}),
    )  # fmt: skip
    bound = bound_on_run(statement, setting, run, plan.rounds)
    average = next(statement.readings()).get("average", AVERAGES[0])
    mean, low, high = (float(v[-1]) for v in run.interval(statement.functional, average, CONFIDENCE))
    right = float(np.max(bound.value))
    holds = "holds" if low <= right else "exceeded"
    return {
        "data": plan.dataset,
        "clients": plan.clients,
        "rounds": plan.rounds,
        "replicas": plan.replicas,
        **{name: float(value) for name, value in setting.algorithm.quantities().items() if name in SHOWN},
        "slack": {name: float(np.min(slack)) for name, slack in bound.slack.items()},
        "hypotheses_hold": bool(bound.hypotheses_hold),
        "left": mean,
        "left_interval": [low, high],
        "confidence": CONFIDENCE,
        "right": right,
        "ratio": mean / right,
        "outcome": holds if bound.hypotheses_hold and run.divergence is None else "not applicable",
    }


def bound_on_run(statement: Claim, setting: Setting, run: Run, rounds: int) -> Bound:
    """The claim with the run quantities that each replica really had."""
    overrides = {name: run.peaks[name] for name in RUN_QUANTITIES if name in statement.quantities}
    return statement.at(setting, rounds=rounds, **overrides)


def tied_setting(statement: Claim, plan: RealData) -> Setting:
    """SAFARI on the plan's federation with q = 1/2 and both step sizes at half of the claim's caps; client rounds
    follow the plan's law.

    Raises:
        ValueError: the claim caps a step size not at all.
    """

    def setting(**steps: float) -> Setting:
        algorithm = safari(client_round_probability="1/2", local_steps=plan.local_steps, **steps)
        return Setting(federation(plan), algorithm, IndexBeta(plan.arbitrary_cohort))

    needed = [name for name in statement.quantities if name not in (*STEPS, "rounds")]
    known = setting(local_lr=1.0, server_lr=1.0).quantities(needed=needed)
    values = {name: constant.value for name, constant in known.items()}
    caps = {name: limit_of(statement, name, Le, values) for name in STEPS}
    for name, cap in caps.items():
        if cap is None:
            raise ValueError(f"{name}: {statement.ref} has no cap on it; allowed is a claim that caps both step sizes")
    return setting(**{name: cap / 2 for name, cap in caps.items()})


def admissible_setting(statement: Claim, plan: RealData) -> Setting:
    """FAST on the plan's federation with a step size at half the claim's cap and the smallest snapshot probability
    that the q-condition allows (to a margin of a thousandth of 1 - q).

    Where the condition speaks about the run, it is met for the G_1 that the first round has and G_2 = 0; whether it
    holds on the run is checked afterwards. A claim without a condition on q is measured at q = 1/2.
    """

    def setting(lr: float, probability: float) -> Setting:
        algorithm = fast(
            cohort=plan.cohort, local_steps=plan.local_steps, local_lr=lr, snapshot_probability=probability
        )
        return Setting(federation(plan), algorithm, IndexBeta(plan.arbitrary_cohort))

    tiny = 1e-30
    lr = (float(statement.at(setting(tiny, 1.0), rounds=1).slack["step_cap"]) + tiny) / 2
    if all(h.name != "q_condition" for h in statement.hypotheses):
        return setting(lr, 0.5)
    probe = setting(lr, 0.0)
    first = float((federation(plan).global_gradient(probe.start_vector[None]) ** 2).sum())
    # Half of the first round's value: the local steps after the first see smaller gradients.
    guess = dict(zip(RUN_QUANTITIES, (plan.local_steps**2 * first / 2, 0.0, plan.local_steps**2 * first), strict=True))
    overrides = {name: value for name, value in guess.items() if name in statement.quantities}
    needed = -float(statement.at(probe, rounds=1, **overrides).slack["q_condition"])
    if not needed < 1:
        raise ValueError(f"{statement.ref} allows no snapshot probability below 1 on {plan.dataset}")
    return setting(lr, 1 - (1 - max(0.0, needed)) * (1 - 1e-3))
