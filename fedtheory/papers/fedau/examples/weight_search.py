"""Search of claims about estimated weights: probabilities, a cutoff and rounds, with left sides in floating point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from ....claims import readings
from ....claims.statement import Claim
from ....functionals import AVERAGE_WEIGHT_ERROR, ROUND_WEIGHT_ERROR, Functional
from ....moments.evaluators import FLOAT, Unserved, left, quantity
from ..exact.weight_laws import absent, certain
from ....subjects.protocol import Space
from ....subjects.lead import Found, ratio
from ....subjects.short_numbers import short
from .weight_points import INTERVAL_FUNCTIONALS, Weights, WeightsPoint, chosen_cutoff

RESOLUTION = 1e-11
"""Error of a weight error in floating point, up to 10,000 rounds; beyond, it grows in proportion to the rounds.

It was measured below 1e-12 (``fedtheory.weights``). A left side enters a ratio less this much.
"""

LONGEST = 2 * 10**4
"""Largest number of rounds of a candidate whose cutoff comes into play, which takes a Fourier transform.

Other candidates have fifty times as many.
"""

SMALLEST, LARGEST = 1e-12, 1 - 1e-5
"""Least and largest probability of candidates, but for 0 and 1. Nearer to 1 the weight error is below
``RESOLUTION``."""

MOST_CLIENTS, MOST_COUNTED = 3, 10**6
"""Largest number of clients of a candidate; and of its rounds and its cutoff, where climbs go."""

PROBABILITIES = (0.0, 1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0)
CUTOFFS = (1, 2, 3, 10, 100)
SHARES = (0.0, 0.5, 1.0, 2.0, 30.0)
"""History over cutoff, of the candidates to look at first."""


@dataclass(frozen=True)
class WeightsCandidate:
    """Weights, and what a round's error is conditional on, where the claim leaves it open."""

    weights: Weights
    condition: str = ""


class EstimatedWeights(Space):
    """Space of weights on which a claim is searched.

    Probabilities are 0 or go from 1e-12 to 1, cutoffs from 1 to 10^6 and, where the claim does not speak of the
    cutoff, to none. There are a few rounds up to 10^6, also just before and after the cutoff.
    """

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        self.needed = [name for name in statement.quantities if name not in statement.choices]
        self.single = bool({"participation_probability", "weight_spread"} & {*self.needed})
        about_errors = statement.functional in (AVERAGE_WEIGHT_ERROR, ROUND_WEIGHT_ERROR)
        self.may_lack_cutoff = about_errors and "cutoff" not in statement.quantities
        options = [a.options for a in statement.ambiguities if a.name == readings.CONDITION]
        self.conditions = options[0] if options else ("",)

    left_out = "clients that depend on each other or on their past"

    @property
    def searched(self) -> str:
        """Description of the weights that are searched, in words."""
        clients = "one client" if self.single else f"at most {MOST_CLIENTS} clients"
        none = " or none" if self.may_lack_cutoff else ""
        return (
            f"FedAU's estimated weights of {clients} that take part independently with probabilities 0, or from "
            f"{SMALLEST:g} to 1, cutoffs of 1 to {MOST_COUNTED}{none}, at most {50 * LONGEST} rounds"
        )

    def structured(self) -> Iterator[WeightsCandidate]:
        """Yield the first candidates of one client: many rounds with weights that are 1 for certain, then a grid."""
        for p in PROBABILITIES:
            yield WeightsCandidate(Weights((p,), 1, 50 * LONGEST), self.conditions[0])
        for share, cutoff, p, condition in product(SHARES, CUTOFFS, PROBABILITIES, self.conditions):
            yield WeightsCandidate(Weights((p,), cutoff, 2 + round(share * cutoff)), condition)

    def draw(self, rng: np.random.Generator) -> WeightsCandidate:
        """A random candidate."""
        clients = 1 if self.single else int(rng.integers(1, MOST_CLIENTS + 1))
        probabilities = tuple(_probability(rng) for _ in range(clients))
        rounds = 1 + int(rng.integers(1, 13)) if rng.random() < 0.5 else 1 + round(10.0 ** rng.uniform(0, 4))
        if rng.random() < 0.05:
            rounds = round(10.0 ** rng.uniform(4, 6))
        cutoff = max(1, rounds - int(rng.integers(-1, 4)))
        if rng.random() < 0.7:
            cutoff = int(rng.integers(1, 9)) if rng.random() < 0.5 else round(10.0 ** rng.uniform(0, 6))
        if self.may_lack_cutoff and rng.random() < 0.2:
            cutoff = math.inf
        condition = str(rng.choice(self.conditions))
        return WeightsCandidate(Weights(probabilities, cutoff, _affordable(cutoff, rounds)), condition)

    def perturb(self, candidate: WeightsCandidate, rng: np.random.Generator, size: float) -> WeightsCandidate:
        """Return a neighbour: odds, cutoff and rounds move by about ``size`` in the logarithm, or by one."""
        weights = candidate.weights
        probabilities = tuple(_moved(p, rng, size) for p in weights.probabilities)
        cutoff = weights.cutoff if weights.cutoff == math.inf else _moved_count(int(weights.cutoff), rng, size, 1)
        rounds = _moved_count(weights.rounds, rng, size, 2)
        return replace(candidate, weights=Weights(probabilities, cutoff, _affordable(cutoff, rounds)))

    def readings(self, found: Found) -> tuple[str, ...]:
        """Return the readings under which the point is the one found: all, where an interval has ended for certain."""
        ended = found.point.rounds > found.point.cutoff
        return self.conditions if ended else (found.candidate.condition,)

    def assess(self, candidate: WeightsCandidate) -> tuple[Found, None] | None:
        """Evaluate both sides; ``None`` where a hypothesis fails or a quantity has no value."""
        weights = candidate.weights
        if self.statement.functional in INTERVAL_FUNCTIONALS:
            weights = replace(weights, rounds=1)
        if self.statement.choices:
            cutoff = chosen_cutoff(self.statement, weights.question())
            if cutoff is None:
                return None
            weights = replace(weights, cutoff=cutoff, rounds=_affordable(cutoff, weights.rounds))
            if chosen_cutoff(self.statement, weights.question()) != cutoff:
                return None
        if 0 in weights.probabilities and _never_ends(weights, candidate.condition):
            return None
        question = weights.question(FLOAT, {readings.CONDITION: candidate.condition})
        try:
            values = {name: quantity(name, question).value for name in self.needed}
        except Unserved:
            return None
        bound = self.statement.evaluate(**values)
        right = float(bound.value)
        if bound.hypotheses_hold is not True or not np.isfinite(right):
            return None
        least = least_left(weights, self.statement.functional, candidate.condition)
        found = float(ratio(least, bound.terms.values()))
        return Found(candidate, weights, values, weights.rounds, least, right, found), None

    def rounded(self, found: Found, digits: int) -> Iterator[WeightsPoint]:
        """Yield the weights with shorter numbers."""
        weights, cutoff = found.point, found.point.cutoff
        probabilities = tuple(min(Fraction(1), short(p, digits)) for p in weights.probabilities)
        rounds = int(short(weights.rounds, digits))
        if self.statement.choices:
            yield WeightsPoint(Weights(probabilities, math.inf, rounds), cutoff_given=False)
            return
        cutoff = cutoff if cutoff == math.inf else int(short(cutoff, digits))
        yield WeightsPoint(Weights(probabilities, cutoff, rounds))


def least_left(weights: Weights, functional: Functional, condition: str = "") -> float:
    """Compute a functional in floating point; an error is lowered by what it may be off.

    It is kept, since editions of a claim are searched on the same weights; one that a user computes is not.
    """
    return (_least_left if functional.compute is None else _least_left.__wrapped__)(weights, functional, condition)


@lru_cache(maxsize=2048)
def _least_left(weights: Weights, functional: Functional, condition: str) -> float:
    value = left(functional, weights.question(FLOAT, {readings.CONDITION: condition}))
    if functional not in (AVERAGE_WEIGHT_ERROR, ROUND_WEIGHT_ERROR):
        return value
    of_a_round, given = functional == ROUND_WEIGHT_ERROR, condition == readings.GIVEN_AN_INTERVAL
    history, off = weights.rounds - 1, 0.0
    for p in weights.probabilities:
        initial = absent(p, history) if of_a_round and given and history < weights.cutoff else 0.0
        off += 1 / (1 - initial) if of_a_round or not certain(p, weights.cutoff) else 0.0
    off *= RESOLUTION * max(1.0, weights.rounds / 10**4)
    return max(0.0, value - off / len(weights.probabilities))


# Numbers --------------------------------------------------------------------------------------------------------------


def _never_ends(weights: Weights, condition: str) -> bool:
    """Whether no interval of a client that never comes ends, where the claim speaks of one that does."""
    given = condition == readings.GIVEN_AN_INTERVAL
    return weights.cutoff == math.inf or (given and weights.rounds - 1 < weights.cutoff)


def _affordable(cutoff: float, rounds: int) -> int:
    return min(rounds, 50 * LONGEST if cutoff == 1 or cutoff >= rounds else LONGEST)


def _probability(rng: np.random.Generator) -> float:
    """0, small, anywhere, nearly 1, or 1."""
    kind = rng.random()
    if kind < 0.05:
        return 0.0
    if kind < 0.4:
        return min(10.0 ** rng.uniform(-12 if kind < 0.1 else -4, 0), LARGEST)
    if kind < 0.8:
        return rng.uniform(0.01, 0.99)
    return min(1 - 10.0 ** rng.uniform(-5, -1), LARGEST) if kind < 0.95 else 1.0


def _moved(p: float, rng: np.random.Generator, size: float) -> float:
    """Another probability, or 0 or 1 if it was."""
    if p in (0.0, 1.0) or rng.random() < 0.3:
        return p
    odds = p / (1 - p) * math.exp(size * rng.standard_normal())
    return min(max(odds / (1 + odds), SMALLEST), LARGEST)


def _moved_count(count: int, rng: np.random.Generator, size: float, least: int) -> int:
    moved = count * math.exp(size * rng.standard_normal()) if rng.random() < 0.5 else count + rng.integers(-1, 2)
    return min(max(round(float(moved)), least), MOST_COUNTED)
