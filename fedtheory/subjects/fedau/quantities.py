"""What a claim about Algorithm 1 asks of a run: whose weights it speaks of, which objective, and its quantities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...claims.statement import Claim
from ...functionals import (
    AVERAGE_SQUARED_WEIGHTED_GRADIENT,
)
from .exact import (
    FedauRun,
    GivenWeights,
    Row,
    largest_divergence,
    mean,
    mean_of,
    minimiser,
    squared_gradient_bound,
    stays_in,
    total,
)
from .weights import (
    WeightSummary,
    estimated_summary,
    given_summary,
    longest_interval,
)

CONDITIONING, ALL_ROUNDS = "conditioning", "weights of all rounds"
"""The ambiguity of what E_t is conditional on, and its option that later weights are known too."""


def is_about_a_round(statement: Claim) -> bool:
    """Whether it is about one round; else about runs."""
    return statement.functional.scope == "round"


def chooses_cutoff(statement: Claim) -> bool:
    """Whether it is about Algorithm 2's weights with a cutoff of its own choice."""
    return "cutoff" in statement.choices


def leaves_objective_open(statement: Claim) -> bool:
    """Whether it is about any f~ = sum_n phi_n F_n."""
    return is_about_a_round(statement) and "weight_error" not in statement.quantities


def may_estimate(statement: Claim) -> bool:
    """Whether the weights may be Algorithm 2's: not where the claim uses a Q that is then random, unless it chooses the
    cutoff, so that it is about nothing else."""
    if is_about_a_round(statement):
        return any(a.name == CONDITIONING for a in statement.ambiguities)
    constant = statement.functional == AVERAGE_SQUARED_WEIGHTED_GRADIENT
    return chooses_cutoff(statement) or not (constant or "weight_scale" in statement.quantities)


def objective_of(run: FedauRun, statement: Claim) -> Row:
    """phi_n of the objective that the left side speaks of."""
    if statement.functional == AVERAGE_SQUARED_WEIGHTED_GRADIENT:
        return run.implied
    return run.objective if leaves_objective_open(statement) else run.equal


def summary_of(run: FedauRun, statement: Claim) -> WeightSummary:
    """Of the weights of the round, or of the run."""
    if isinstance(run.weights, GivenWeights):
        return given_summary(run, 1 if is_about_a_round(statement) else run.rounds)
    if is_about_a_round(statement):  # round 0, where all estimated weights are 1
        return given_summary(replace(run, weights=GivenWeights(((Fraction(1),) * run.clients,))), 1)
    return estimated_summary(run.probabilities, run.weights.cutoff, run.rounds)


def largest_weights(run: FedauRun) -> Row:
    """By client, in any round."""
    if isinstance(run.weights, GivenWeights):
        return tuple(map(max, zip(*run.weights.rows, strict=True)))
    longest = longest_interval(run.weights.cutoff, run.rounds)
    return tuple(1 if p == 1 else longest for p in run.probabilities)


def quantities(run: FedauRun, statement: Claim, root: Callable[[Any], Any]) -> dict[str, Any]:
    """The quantities that the run fixes, of those that the claim uses and but for those that it chooses; ``root`` takes
    square roots.

    Raises:
        ValueError: there is no such number: the dissimilarity where curvatures differ, an initial gap without a
            minimum.
        Undecided: the gradient is not enclosed.
    """
    objective, weights = objective_of(run, statement), summary_of(run, statement)
    row = run.weights.rows[0] if isinstance(run.weights, GivenWeights) else (Fraction(1),) * run.clients
    columns = list(zip(*run.gradients(run.start), strict=True))

    def initial_gap() -> Any:
        curvatures, origin = minimiser(run, objective)
        gaps = [h * (x - m) ** 2 for h, x, m in zip(curvatures, run.start, origin, strict=True)]
        return total(gaps) / 2

    def dissimilarity() -> Any:
        if any(row != run.curvatures[0] for row in run.curvatures):
            raise ValueError("dissimilarity: curvatures differ between clients, so it is infinite")
        return root(largest_divergence(run, run.equal))

    def objective_error() -> Any:
        parts = zip(run.probabilities, row, objective, strict=True)
        return total([(p * w / run.clients - phi) ** 2 for p, w, phi in parts])

    known: dict[str, Callable[[], Any]] = {
        "smoothness": lambda: max(abs(h) for row in run.curvatures for h in row),
        "gradient_noise": lambda: run.gradient_noise,
        "dissimilarity": dissimilarity,
        "initial_gap": initial_gap,
        "gradient_norm": lambda: root(total([mean_of(objective, column) ** 2 for column in columns])),
        "gradient_bound": lambda: root(squared_gradient_bound(run)),
        "clients": lambda: run.clients,
        "local_steps": lambda: run.local_steps,
        "rounds": lambda: run.rounds,
        "local_lr": lambda: run.local_lr,
        "global_lr": lambda: run.global_lr,
        "cutoff": lambda: run.weights.cutoff,
        "least_participation_probability": lambda: min(run.probabilities),
        "weight_error": lambda: weights.error,
        "peak_weight_error": lambda: weights.peak_error,
        "weight_scale": lambda: weights.scale,
        "expected_weight_scale": lambda: weights.expected_scale,
        "update_weight": lambda: mean([p * w for p, w in zip(run.probabilities, row, strict=True)]),
        "objective_error": objective_error,
        "least_objective_weight": lambda: min(objective),
    }
    wanted = [name for name in statement.quantities if name in known and name not in statement.choices]
    return {name: known[name]() for name in wanted}


def bounds_gradient(statement: Claim) -> bool:
    """Whether it assumes a bounded gradient (Option 2 of Assumption 5)."""
    return "gradient_bound" in {*statement.quantities, *(a.quantity for a in statement.assumptions)}


def stays_put(run: FedauRun, statement: Claim) -> bool:
    """Whether the run keeps to where the gradient has the bound that the claim assumes, if it assumes one."""
    return not bounds_gradient(statement) or stays_in(run, largest_weights(run))
