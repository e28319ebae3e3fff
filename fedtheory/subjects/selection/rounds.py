"""One round of FLICS-OPT from x_0, exactly, by enumerating how many clients of each group answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ...functionals import (
    AGGREGATE_BIAS,
    AGGREGATE_ERROR,
    INNER_PRODUCT,
    SCALED_INNER_PRODUCT,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
    Functional,
)

DIVISION, DIVIDED, UNDIVIDED = "line 14", "divided", "not divided"
"""Whether the sum of the updates is divided by the number of answers."""

FACTOR, PRINTED_FACTOR, PROVED_FACTOR = "factor", "1 + epsilon^", "epsilon^"
"""What Lemma 4 multiplies the mean update with."""

LOCAL_INDEX, FROM_ONE, FROM_ZERO = "local gradients", "k = 1..K-1", "k = 0..K-1"

LARGEST_OUTCOMES = 5000
"""Outcomes of who answers that are enumerated."""


@dataclass(frozen=True)
class State:
    """What may be the case in a round: with this probability so many clients of each group are there, and the server
    asks for so many of each."""

    probability: Fraction
    availability: tuple[int, ...]
    rates: tuple[Fraction, ...]


@dataclass(frozen=True)
class SelectionRound:
    """F_j(x) = curvature (x - centre_j)^2 / 2 for the clients of group j, and one round from x_0 = start.

    The state is drawn; then every available client answers on its own with probability rate / availability, so the
    numbers S_j of answers have the means s_j and the covariance Sigma. Who answers makes K steps with gradients to
    which +-gradient_noise is added, each with probability 1/2, and the server forms
    Delta = sum_j weight_j / estimate_j * (sum of the updates of group j), where line 14 divides by the number of
    answers, if it is read so.

    Attributes:
        weight: (M,), p_j, with sum 1. estimate: (M,), s^_j, known before the round.
        states: what may be the case.
        curvature: of every client, not 0. centres: (M,). start: x_0.
        gradient_noise, local_steps, local_lr: of the local training.

    Raises:
        ValueError: a number is out of bounds.
    """

    weight: tuple[Fraction, ...]
    estimate: tuple[Fraction, ...]
    states: tuple[State, ...]
    curvature: Fraction
    centres: tuple[Fraction, ...]
    start: Fraction
    gradient_noise: Fraction
    local_steps: int
    local_lr: Fraction

    def __post_init__(self) -> None:
        groups = len(self.weight)
        check_weight(self.weight)
        if len(self.estimate) != groups or min(self.estimate) <= 0:
            raise ValueError(f"estimate has {len(self.estimate)} entries: allowed is a number > 0 a group")
        if len(self.centres) != groups:
            raise ValueError(f"centres has {len(self.centres)} entries: allowed is one a group")
        if not self.states or sum(s.probability for s in self.states) != 1:
            raise ValueError("states: allowed are probabilities > 0 with sum 1")
        for state in self.states:
            sizes = {len(state.availability), len(state.rates)}
            fits = sizes == {groups} and all(0 <= r <= a for r, a in zip(state.rates, state.availability, strict=True))
            if not fits or state.probability <= 0:
                raise ValueError("states: allowed are a probability > 0 and, a group, 0 <= rates <= availability")
        if sum(math.prod(a + 1 for a in state.availability) for state in self.states) > LARGEST_OUTCOMES:
            raise ValueError(f"states: allowed are at most {LARGEST_OUTCOMES} ways of answering")
        if self.curvature == 0 or self.local_lr <= 0 or self.gradient_noise < 0:
            raise ValueError("curvature, local_lr, gradient_noise: allowed are != 0, > 0 and >= 0")

    # The law of the answers -------------------------------------------------------------------------------------------

    def answers(self) -> Iterator[tuple[Fraction, State, tuple[int, ...]]]:
        """(probability, state, answers of each group)."""
        for state in self.states:
            laws = [binomial(a, r) for a, r in zip(state.availability, state.rates, strict=True)]
            for counts in itertools.product(*map(range, map(len, laws))):
                chance = math.prod((law[n] for law, n in zip(laws, counts, strict=True)), start=state.probability)
                if chance:
                    yield chance, state, counts

    @property
    def participation(self) -> tuple[Fraction, ...]:
        """(M,), s_j = E S_j."""
        return tuple(sum(state.probability * state.rates[j] for state in self.states) for j in range(len(self.weight)))

    @property
    def covariance(self) -> list[list[Fraction]]:
        """(M, M), Sigma."""
        s, groups = self.participation, range(len(self.weight))
        law = list(self.answers())
        return [[sum(c * n[i] * n[j] for c, _, n in law) - s[i] * s[j] for j in groups] for i in groups]

    # Local training ---------------------------------------------------------------------------------------------------

    @property
    def _contraction(self) -> Fraction:
        return 1 - self.local_lr * self.curvature

    @property
    def gradients(self) -> list[Fraction]:
        """(M,), grad F_j(x_0)."""
        return [self.curvature * (self.start - c) for c in self.centres]

    @property
    def gradient(self) -> Fraction:
        """grad F(x_0)."""
        return sum(p * g for p, g in zip(self.weight, self.gradients, strict=True))

    @property
    def updates(self) -> list[Fraction]:
        """(M,), v_j: the mean update of a client of group j."""
        return [(self._contraction**self.local_steps - 1) * (self.start - c) for c in self.centres]

    @property
    def update_variance(self) -> Fraction:
        """Of every client's update."""
        powers = (self._contraction ** (2 * k) for k in range(self.local_steps))
        return (self.local_lr * self.gradient_noise) ** 2 * sum(powers)

    def local_gradient_bound(self) -> Fraction:
        """The largest |stochastic gradient| that a client can meet."""
        shrink = abs(self._contraction)
        far = max(abs(self.start - c) for c in self.centres)
        steps = range(self.local_steps)
        reached = (shrink**k * far + self.local_lr * self.gradient_noise * sum(shrink**j for j in range(k))
                   for k in steps)  # fmt: skip
        return abs(self.curvature) * max(reached) + self.gradient_noise

    def weighted_pseudogradient(self, first: int) -> Fraction:
        """E |sum_j p_j sum_{k >= first} grad F_j(x_{j,k})|^2, where the noises of groups are independent."""
        shrink, steps = self._contraction, range(first, self.local_steps)
        mean = sum(p * g for p, g in zip(self.weight, self.gradients, strict=True)) * sum(shrink**k for k in steps)
        # The noise of step j stays in all later iterates.
        shares = [sum(shrink ** (k - 1 - j) for k in steps if k > j) for j in range(self.local_steps)]
        noise = (self.curvature * self.local_lr * self.gradient_noise) ** 2 * sum(share**2 for share in shares)
        return mean**2 + sum(p**2 for p in self.weight) * noise

    # What claims speak of ---------------------------------------------------------------------------------------------

    def aggregate(self, divided: bool) -> tuple[Fraction, Fraction, Fraction]:
        """E Delta, E Delta^2 and E (E[Delta | state])^2."""
        first, second, by_state = Fraction(0), Fraction(0), dict.fromkeys(range(len(self.states)), Fraction(0))
        y, variance = [p / s for p, s in zip(self.weight, self.estimate, strict=True)], self.update_variance
        for chance, state, counts in self.answers():
            scale = Fraction(1, sum(counts)) if divided and sum(counts) else Fraction(1)
            value = scale * sum(a * n * v for a, n, v in zip(y, counts, self.updates, strict=True))
            noise = scale**2 * sum(a**2 * n for a, n in zip(y, counts, strict=True)) * variance
            first += chance * value
            second += chance * (value**2 + noise)
            by_state[self.states.index(state)] += chance * value / state.probability
        given = sum((s.probability * by_state[i] ** 2 for i, s in enumerate(self.states)), Fraction(0))
        return first, second, given

    def sides(
        self, functional: Functional, reading: Mapping[str, str], constants: Mapping[str, Fraction]
    ) -> tuple[Fraction, dict[str, Fraction]]:
        """The functional's value, and all quantities that the round fixes.

        Raises:
            ValueError: the functional is not about one round.
        """
        mean, square, given = self.aggregate(reading.get(DIVISION) == DIVIDED)
        values = self._values(mean, given, 1 if reading.get(LOCAL_INDEX) == FROM_ONE else 0)
        wanted = sum(p * v for p, v in zip(self.weight, self.updates, strict=True))
        inflation = Fraction(1)
        if "least_participation" in constants:
            inflation += constants["estimate_error"] / constants["least_participation"]
        factor = inflation if reading.get(FACTOR) == PROVED_FACTOR else 1 + inflation
        step = self.local_lr * self.local_steps * self.gradient
        y = [p / s for p, s in zip(self.weight, self.estimate, strict=True)]
        lefts = {
            AGGREGATE_ERROR: lambda: abs(mean - factor * wanted),
            AGGREGATE_BIAS: lambda: abs(mean - wanted),
            SCALED_INNER_PRODUCT: lambda: self.gradient * (mean + inflation * step),
            INNER_PRODUCT: lambda: self.gradient * (mean + step),
            SQUARED_AGGREGATE: lambda: square,
            SQUARED_SELECTED_VECTOR: lambda: sum(
                chance * sum(a * n * x for a, n, x in zip(y, counts, self.gradients, strict=True)) ** 2
                for chance, _, counts in self.answers()
            ),
        }
        if functional not in lefts:
            raise ValueError(f"functional = {functional.name}: allowed is one of a single round")
        return lefts[functional](), values

    def _values(self, mean: Fraction, given: Fraction, first: int) -> dict[str, Fraction]:
        p, estimate, s, sigma, x = self.weight, self.estimate, self.participation, self.covariance, self.gradients
        y = [a / b for a, b in zip(p, estimate, strict=True)]
        groups = range(len(p))
        return {
            "smoothness": abs(self.curvature),
            "gradient_noise": self.gradient_noise,
            "dissimilarity": max(abs(g - self.gradient) for g in x),
            "local_gradient_bound": self.local_gradient_bound(),
            "groups": Fraction(len(p)),
            "weight_concentration": sum(a**2 for a in p),
            "local_steps": Fraction(self.local_steps),
            "local_lr": self.local_lr,
            "gradient_norm": abs(self.gradient),
            "largest_estimate_error": max(abs(a - b) for a, b in zip(s, estimate, strict=True)),
            "least_group_participation": min(s),
            "weight_mismatch": max(abs(a / b - 1) for a, b in zip(s, estimate, strict=True)),
            "selection_variance": sum(y[i] * y[j] * sigma[i][j] for i in groups for j in groups),
            "selection_proxy": sum(y[j] ** 2 * s[j] for j in groups),
            "mean_update_length": sum(a * abs(v) for a, v in zip(p, self.updates, strict=True)),
            "squared_mean_update": mean**2,
            "squared_state_update": given,
            "weighted_pseudogradient": self.weighted_pseudogradient(first),
            "squared_mean_vector": self.gradient**2,
            "mean_squared_vector": sum(a * g**2 for a, g in zip(p, x, strict=True)),
            "vector_covariance": sum(y[i] * y[j] * sigma[i][j] * x[i] * x[j] for i in groups for j in groups),
        }


def binomial(number: int, mean: Fraction) -> list[Fraction]:
    """P(n = 0), ..., P(n = number) of a binomial law with that mean.

    >>> [str(chance) for chance in binomial(2, Fraction(1))]
    ['1/4', '1/2', '1/4']
    """
    q = mean / number if number else mean
    return [math.comb(number, n) * q**n * (1 - q) ** (number - n) for n in range(number + 1)]


def check_weight(weight: tuple[Fraction, ...]) -> None:
    """Refuse weights that are negative or do not sum to 1."""
    if not weight or min(weight) < 0 or sum(weight) != 1:
        raise ValueError("weight: allowed are numbers >= 0 with sum 1, one a group")
