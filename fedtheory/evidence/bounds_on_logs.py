"""Bounds of proved claims on the candidates of a recommendation, beside their exact errors."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite
from typing import TYPE_CHECKING

from ..algorithms.fast import Fast
from ..assumptions import reason
from ..claims.statement import algorithm_of
from ..federations.noise_laws import TWO_POINT, met_by_noise
from ..papers import all_claims
from ..subjects.protocol import CHOSEN_BEFORE, UNIFORM_DRAWS, Reading
from .scorecard import published_rows

if TYPE_CHECKING:
    from ..algorithms.algorithm import Algorithm
    from ..claims.statement import Claim
    from ..diagnosis.recommendation import Choice, Recommendation

CONSTANTS = ("smoothness", "strong_convexity", "gradient_noise", "dissimilarity")
"""Constants of a twin, true by construction. With one Hessian, clients' gradients differ everywhere as at x*."""


def with_bounds(chosen: Recommendation) -> Recommendation:
    """Return the recommendation with the least bound that a proved claim gives on each candidate's score, or why none
    does: ``Choice.bound`` and ``bound_by``.

    A claim counts if its published verdict is "proved", it bounds E|x_R - x*|^2 of this algorithm as it runs here,
    every hypothesis holds at the twin's constants and the candidate's numbers, and every assumption is met: by a
    constant of the twin, or by construction of its noise, of the log and of the algorithm's own draws. One that nobody
    checked is not met. Half the smoothness times the bound is one of the score.

    A claim on rounds of n clients is used with the fewest that come in a round of any log. The mean of those who came
    is that over their subsets of n. Let one be drawn anew for each round. The last model is linear in each round's
    mean, since the clients of a twin have one Hessian, so that of those who came is the expected one, given the noise.
    By Jensen's inequality its square is at most that of the subsets, which the claim bounds.
    """
    verdicts = {ref: row["verdict"] for ref, row in published_rows().items()}
    proved = [
        each
        for each in all_claims()
        if verdicts.get(each.ref) == "proved" and each.functional.name == "final_squared_distance" and not each.choices
    ]
    found = {id(each): _bounded(chosen, each, proved) for each in chosen.choices}
    return replace(chosen, choices=tuple(found.values()), chosen=found[id(chosen.chosen)])


def _bounded(chosen: Recommendation, choice: Choice, proved: list[Claim]) -> Choice:
    options = _runs_as(choice.algorithm)
    about = [
        (claim, reading)
        for claim in proved
        if algorithm_of(claim) == choice.arguments["kind"]
        for reading in claim.readings()
        if reading.items() <= options.items()
    ]
    if not about:
        return replace(choice, bound_by="no proved claim is about its last model")
    if len({*chosen.twin.fair.tolist()}) > 1:
        return replace(choice, bound_by="proved claims are about the plain mean of the clients")
    if not chosen.fewest:
        return replace(choice, bound_by="nobody comes in some round, of which no claim speaks")
    values = _values(chosen, choice)
    bounds: dict[str, float] = {}
    against = []
    for claim, reading in about:
        value, fails = _evaluated(claim, reading, values)
        if fails:
            against.append(f"{claim.ref}: {', '.join(fails)}")
        else:
            bounds[claim.ref] = chosen.twin.smoothness / 2 * value
    if not bounds:
        return replace(choice, bound_by="; ".join(against))
    least = min(bounds, key=bounds.__getitem__)
    return replace(choice, bound=bounds[least], bound_by=least)


def _runs_as(algorithm: Algorithm) -> dict[str, str]:
    """The options in which claims may be read here; one that is not here is not met."""
    if not isinstance(algorithm, Fast):
        return {}
    return {
        "snapshots": "period" if algorithm.periodic else "probability",
        "uniform cohort": "with replacement" if algorithm.replacement else "without replacement",
    }


def _values(chosen: Recommendation, choice: Choice) -> dict[str, float]:
    twin = chosen.twin
    return {
        "smoothness": twin.smoothness,
        "strong_convexity": twin.strong_convexity,
        "gradient_noise": twin.gradient_noise,
        "dissimilarity": twin.dissimilarity_at_optimum,
        "initial_distance": twin.initial_distance,
        "clients": len(twin.fair),
        "arbitrary_cohort": chosen.fewest,
        "rounds": choice.rounds,
        **choice.algorithm.quantities(),
    }


def _evaluated(claim: Claim, reading: Reading, values: dict[str, float]) -> tuple[float, list[str]]:
    """The right side, and what keeps it from being a bound: quantities that are not known, assumptions that nobody
    checked, and hypotheses that fail."""
    fails = [f"{name} is not known" for name in claim.quantities if name not in values]
    met = {**met_by_noise(TWO_POINT), **CHOSEN_BEFORE, **UNIFORM_DRAWS}
    fails += [
        f"{each.kind} is not checked"
        for each in claim.assumptions
        if not (each.quantity in CONSTANTS if each.quantity else reason(each.kind, met))
    ]
    if fails:
        return inf, fails
    found = claim.evaluate(reading, **{name: values[name] for name in claim.quantities})
    fails = [f"{name} fails" for name, slack in found.slack.items() if slack is None or not (slack >= 0).all()]
    value = float(found.value)
    return value, fails or ([] if isfinite(value) else ["it is infinite"])
