"""Both sides of a claim about FedAU on an instance, in Fractions and balls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import arb
from sympy import ceiling

from ...claims.balls import Ball, Number, ball, evaluate_in_balls
from ...claims.statement import Claim
from ...claims.undecided import Undecided
from ...functionals import (
    AVERAGE_SQUARED_GRADIENT,
    AVERAGE_SQUARED_WEIGHTED_GRADIENT,
    LOCAL_DRIFT,
    WEIGHTED_DIVERGENCE,
    WEIGHTED_INCREASE,
)
from ..base import Examined, Reading, Sides, Slack, chosen_step
from .exact import (
    EstimatedWeights,
    FedauRun,
    GivenWeights,
    attendances,
    expected_increase,
    given_sums,
    in_balls,
    largest_divergence,
    largest_drift,
)
from .point import STEPS
from .quantities import (
    ALL_ROUNDS,
    CONDITIONING,
    chooses_cutoff,
    is_about_a_round,
    objective_of,
    quantities,
    stays_put,
)
from .weights import estimated_sum, law_given_weights

WEIGHTS, ON_THE_RUN = "weights", "estimated on the run"
"""The ambiguity of whose weights a theorem speaks of, and its option that they are Algorithm 2's."""

SCALE, OF_THE_RUN = "Q", "of the run"
"""The ambiguity of which Q a step is chosen by, and its option that it is the run's own, which is random."""


def settled(run: FedauRun, statement: Claim) -> tuple[FedauRun, dict[str, Number]]:
    """The run with what the claim chooses, a step in a ball where it is irrational; and all quantities.

    Raises:
        ValueError: a choice is no number > 0, or balls do not decide the cutoff.
        Undecided: a quantity cannot be enclosed.
    """
    chosen: dict[str, Number] = {}
    if chooses_cutoff(statement):
        chosen["cutoff"] = cutoff = _cutoff(run, statement)
        run = replace(run, weights=EstimatedWeights(cutoff))
    values = {name: _number(value) for name, value in quantities(run, statement, exact_root).items()}
    values |= {name: Fraction(value) for name, value in chosen.items()}
    for name in statement.choices:
        if name in STEPS:
            values[name] = chosen_step(statement, name, values)
    steps = {name: values[name] if isinstance(values[name], Fraction) else Ball(values[name])
             for name in STEPS if name in statement.choices}  # fmt: skip
    return replace(run, **steps), values


def _cutoff(run: FedauRun, statement: Claim) -> int:
    """The cutoff that the claim chooses, a ceiling of a function of p and T."""
    choice = statement.choices["cutoff"]
    least, rounds = min(run.probabilities), run.rounds
    if isinstance(choice, ceiling) and 0 < least < 1:
        known = {"least_participation_probability": least, "rounds": Fraction(rounds)}
        quotient = evaluate_in_balls(choice.args[0], known)
        rounded = quotient.ceil()
        if quotient.is_finite() and rounded.is_exact() and rounded >= 1:
            return int(rounded.fmpz())
    raise ValueError(f"cutoff: {statement.ref} chooses no integer >= 1 here, or balls do not decide it")


class ExaminedFedau(Examined):
    """A run, as a claim speaks of it."""

    def __init__(self, run: FedauRun, statement: Claim) -> None:
        self.run, self.statement = run, statement
        self.margins: dict[str, Slack] = {a.name: Fraction(0) for a in statement.assumptions}  # the run's own constants

    def chosen(self) -> Mapping[str, Number]:
        return settled(self.run, self.statement)[1]

    def sides(self, reading: Reading) -> Sides:
        run, values = settled(self.run, self.statement)
        given = isinstance(run.weights, GivenWeights)
        if reading.get(WEIGHTS) == ON_THE_RUN and given:
            raise Undecided("the weights are given")
        if reading.get(SCALE) == OF_THE_RUN and min(run.rounds - 1, run.weights.cutoff) > 1:
            raise Undecided("Q depends on who takes part, and the steps on Q")
        return Sides(_number(_left(run, self.statement, reading)), values)


def _left(run: FedauRun, statement: Claim, reading: Mapping[str, str]) -> Any:
    if is_about_a_round(statement):
        return round_value(run, statement, reading)
    objective, functional = objective_of(run, statement), statement.functional
    if functional not in (AVERAGE_SQUARED_GRADIENT, AVERAGE_SQUARED_WEIGHTED_GRADIENT):
        raise ValueError(f"functional = {functional.name}: such an instance does not have it")
    run = in_balls(run)
    if not stays_put(run, statement):
        raise Undecided("the run may leave the region in which its gradient is bounded")
    if isinstance(run.weights, GivenWeights):
        return given_sums(run, objective, [run.rounds])[0] / run.rounds
    return estimated_sum(run, objective) / run.rounds


def round_value(run: FedauRun, statement: Claim, reading: Mapping[str, str]) -> Any:
    """The left side of a claim about one round, under a reading."""
    objective, functional = objective_of(run, statement), statement.functional
    if functional == WEIGHTED_DIVERGENCE:
        return largest_divergence(run, objective)
    if functional == LOCAL_DRIFT:
        return largest_drift(run)
    if functional != WEIGHTED_INCREASE:
        raise ValueError(f"functional = {functional.name}: such an instance does not have it")
    given, law = isinstance(run.weights, GivenWeights), attendances(run.probabilities)
    if reading.get(CONDITIONING) == ALL_ROUNDS and not given:
        law = law_given_weights(run)
    weights = run.weights.rows[0] if given else (Fraction(1),) * run.clients
    return expected_increase(run, objective, weights, law)


def exact_root(value: Any) -> Any:
    """The square root of a Fraction or ball >= 0; a Fraction where it is rational."""
    if isinstance(value, Fraction):
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root**2 == value:
            return root
    return Ball(ball(value).sqrt())


def _number(value: Any) -> Number:
    """A Fraction, or an arb."""
    return value.value if isinstance(value, Ball) else value if isinstance(value, arb) else Fraction(value)
