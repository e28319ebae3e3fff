"""Counterexamples to statements about estimated weights, by construction, and from what a search has found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from ...claims.statement import Claim
from ...subjects.weights.exact import Weights
from ...subjects.weights.instance import WeightsInstance


def before_the_cutoff(ref: str, probability: Fraction, cutoff: int) -> WeightsInstance:
    """One client in round 1, before the cutoff K >= 2: its weight is 1 for certain, whether an interval has ended (it
    then lasted 1 round) or not. So the error is q^2, q = 1 - p.

    Line (a) has p^2 (1 - E[S])^2 + q^(2K) with E[S] = (1 - q^K)/p, that is q^2 - 2 q^(K+1) + 2 q^(2K), which is smaller
    as long as q^(K-1) < 1. At p = 1/2, K = 2: 1/8 against 1/4.

    Line (b) has p^2 Var[S] + q^(2K) = q - (2K-1) p q^K, the next one twice the variance's share times K. At p = 1/10,
    K = 3 these are 0.5355 and 0.5558 against 0.81.
    """
    return WeightsInstance(ref, Weights((probability,), cutoff, rounds=2))


CONSTRUCTIONS: dict[str, Callable[[str], WeightsInstance]] = {
    "fedau.eqB_6_8.a@main": lambda ref: before_the_cutoff(ref, Fraction(1, 2), 2),
    "fedau.eqB_6_8.b@main": lambda ref: before_the_cutoff(ref, Fraction(1, 10), 3),
    "fedau.eqB_6_8.b_next@main": lambda ref: before_the_cutoff(ref, Fraction(1, 10), 3),
}


def rounded_weights(
    statement: Claim, weights: Weights, short: Callable[[object], Fraction], short_count: Callable[[object], Fraction]
) -> WeightsInstance:
    """The weights with shorter numbers: ``short`` rounds a probability, ``short_count`` a cutoff or the rounds."""
    probabilities = tuple(min(Fraction(1), short(p)) for p in weights.probabilities)
    rounds, cutoff = int(short_count(weights.rounds)), weights.cutoff
    if statement.choices:
        return WeightsInstance(statement.ref, Weights(probabilities, math.inf, rounds), cutoff_given=False)
    cutoff = cutoff if cutoff == math.inf else int(short_count(cutoff))
    return WeightsInstance(statement.ref, replace(weights, probabilities=probabilities, cutoff=cutoff, rounds=rounds))
