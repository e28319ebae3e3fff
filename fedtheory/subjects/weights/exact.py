"""The weights of FedAU's Algorithm 2, exactly: what statements about them are compared with.

No formula of the paper enters. The law of a weight follows from the algorithm, one round after the other: given how
many intervals have ended and how many rounds these cover, the weight is their quotient, and the next round ends an
interval if the client takes part in it or the interval has lasted as long as the cutoff.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from sympy import ceiling

from ...claims.balls import ball, evaluate_in_balls, working_precision
from ...claims.statement import Claim
from ...functionals import (
    AVERAGE_WEIGHT_ERROR,
    INTERVAL_MEAN,
    INTERVAL_VARIANCE,
    LONG_RUN_BIAS,
    NEGATED_INTERVAL_MEAN,
    NEGATED_INTERVAL_VARIANCE,
    ROUND_WEIGHT_ERROR,
    Functional,
)

CONDITION = "condition"
"""The ambiguity of what the error of a round is conditional on."""

GIVEN_AN_INTERVAL = "given an interval"
"""Its option that the error is meant given that some interval has ended before; else it is not conditional."""

INTERVAL_FUNCTIONALS = (INTERVAL_MEAN, NEGATED_INTERVAL_MEAN, INTERVAL_VARIANCE, NEGATED_INTERVAL_VARIANCE)


@dataclass(frozen=True)
class Weights:
    """Clients that take part independently, and rounds 0 to rounds-1 of Algorithm 2.

    Attributes:
        probabilities: (N,), p_n, Fractions or floats.
        cutoff: K, an integer >= 1 or ``math.inf``.
        rounds: T. What a claim says of one round is about the last one, t = T-1.
    """

    probabilities: tuple[Fraction | float, ...]
    cutoff: int | float
    rounds: int

    def quantities(self) -> dict[str, Fraction | float]:
        """The quantities that a claim may speak of, but for ``weight_spread``: one that has no value is left out (an
        infinite cutoff, the history of round 0, the probability of several clients)."""
        clients = len(self.probabilities)
        values: dict[str, Fraction | float] = {
            "clients": clients,
            "rounds": self.rounds,
            "least_participation_probability": min(self.probabilities),
            "absence": sum(1 - p for p in self.probabilities) / clients,
        }
        if clients == 1:
            values["participation_probability"] = self.probabilities[0]
        if self.rounds > 1:
            values["history"] = self.rounds - 1
        if self.cutoff < math.inf:
            values["cutoff"] = self.cutoff
            values["cutoff_bias"] = sum((1 - p) ** (2 * self.cutoff) for p in self.probabilities) / clients
            values["guaranteed_intervals"] = max((self.rounds - 1) // self.cutoff, 1)
        return values


@dataclass(frozen=True)
class RoundMoments:
    """Of a client's weight omega in one round, where M is the number of its intervals that have ended.

    Attributes:
        initial: P(M = 0); the weight is then 1.
        mean, mean_square: E[omega; M >= 1] and E[omega^2; M >= 1].
    """

    initial: Fraction
    mean: Fraction
    mean_square: Fraction

    def squared_distance(self, scale: Fraction, centre: Fraction, given_an_interval: bool) -> Fraction:
        """E[(scale * omega - centre)^2], or the same given M >= 1.

        Raises:
            ZeroDivisionError: given M >= 1, where M = 0 for certain.
        """
        later = scale**2 * self.mean_square - 2 * scale * centre * self.mean + centre**2 * (1 - self.initial)
        return later / (1 - self.initial) if given_an_interval else later + self.initial * (scale - centre) ** 2


@lru_cache(maxsize=64)
def round_moments(probability: Fraction, cutoff: int | float, rounds: int) -> tuple[RoundMoments, ...]:
    """The moments in rounds 0 to rounds-1.

    >>> [str(m.squared_distance(Fraction(1, 2), Fraction(1), False)) for m in round_moments(Fraction(1, 2), 2, 4)]
    ['1/4', '1/4', '1/8', '3/32']
    """
    # Chances in round t are whole multiples of denominator^-t: by (intervals ended, rounds that they cover).
    present, denominator = probability.numerator, probability.denominator
    chances, unit, found = {(0, 0): 1}, 1, [RoundMoments(Fraction(1), Fraction(0), Fraction(0))]
    for t in range(1, rounds):
        following: dict[tuple[int, int], int] = {}
        for (count, covered), chance in chances.items():
            ended = denominator if t - covered == cutoff else present
            if ended:
                following[count + 1, t] = following.get((count + 1, t), 0) + ended * chance
            if ended < denominator:
                following[count, covered] = (denominator - ended) * chance
        chances, unit = following, unit * denominator
        found.append(_summed(chances, unit))
    return tuple(found)


def _summed(chances: Mapping[tuple[int, int], int], unit: int) -> RoundMoments:
    sums: dict[int, tuple[int, int]] = {}
    for (count, covered), chance in chances.items():
        one, two = sums.get(count, (0, 0))
        sums[count] = one + covered * chance, two + covered**2 * chance
    ended = [(count, *both) for count, both in sums.items() if count]
    return RoundMoments(
        Fraction(chances.get((0, 0), 0), unit),
        sum((Fraction(one, count) for count, one, _ in ended), Fraction(0)) / unit,
        sum((Fraction(two, count**2) for count, _, two in ended), Fraction(0)) / unit,
    )


@lru_cache(maxsize=64)
def interval_moments(probability: Fraction, cutoff: int) -> tuple[Fraction, Fraction]:
    """E[S] and Var[S] by definition: S = k < K with probability p (1-p)^(k-1), else S = K.

    >>> [str(moment) for moment in interval_moments(Fraction(1, 2), 2)]
    ['3/2', '1/4']
    """
    chance, mean, mean_square = Fraction(1), Fraction(0), Fraction(0)
    for k in range(1, cutoff):
        mean += k * probability * chance
        mean_square += k**2 * probability * chance
        chance *= 1 - probability
    mean, mean_square = mean + cutoff * chance, mean_square + cutoff**2 * chance
    return mean, mean_square - mean**2


def exact_left(weights: Weights, functional: Functional, condition: str) -> Fraction:
    """The value of a functional of scope "weights", under a reading of what a round's error is conditional on.

    Raises:
        ValueError: the functional is of another kind, or the weights have no such value.
    """
    by_client = [_of_client(p, weights, functional, condition == GIVEN_AN_INTERVAL) for p in weights.probabilities]
    return sum(by_client, Fraction(0)) / len(by_client)


def _of_client(p: Fraction, weights: Weights, functional: Functional, given_an_interval: bool) -> Fraction:
    if functional in (AVERAGE_WEIGHT_ERROR, ROUND_WEIGHT_ERROR):
        moments = round_moments(p, weights.cutoff, weights.rounds)
        if functional == AVERAGE_WEIGHT_ERROR:
            return sum((m.squared_distance(p, Fraction(1), False) for m in moments), Fraction(0)) / len(moments)
        return _in_last_round(moments[-1], p, Fraction(1), given_an_interval)
    if functional not in (*INTERVAL_FUNCTIONALS, LONG_RUN_BIAS):
        raise ValueError(f"functional = {functional.name}: weights have no such value")
    mean, variance = _interval(p, weights)
    if functional == LONG_RUN_BIAS:
        return (p * mean - 1) ** 2
    moment = mean if functional in (INTERVAL_MEAN, NEGATED_INTERVAL_MEAN) else variance
    return moment if functional in (INTERVAL_MEAN, INTERVAL_VARIANCE) else -moment


def exact_spread(weights: Weights, condition: str) -> Fraction:
    """E[(omega_t - E[S])^2] of the only client in the last round.

    Raises:
        ValueError: there are several clients, or no cutoff.
    """
    if len(weights.probabilities) > 1:
        raise ValueError(
            f"probabilities: allowed is one, weight_spread is a client's, not {len(weights.probabilities)}"
        )
    (p,) = weights.probabilities
    moments = round_moments(p, weights.cutoff, weights.rounds)[-1]
    return _in_last_round(moments, Fraction(1), _interval(p, weights)[0], condition == GIVEN_AN_INTERVAL)


def _interval(p: Fraction, weights: Weights) -> tuple[Fraction, Fraction]:
    if weights.cutoff == math.inf:
        raise ValueError("cutoff = none: allowed is an integer >= 1, since intervals have no end")
    return interval_moments(p, weights.cutoff)


def _in_last_round(moments: RoundMoments, scale: Fraction, centre: Fraction, given_an_interval: bool) -> Fraction:
    try:
        return moments.squared_distance(scale, centre, given_an_interval)
    except ZeroDivisionError:
        raise ValueError("rounds: no interval has ended before the last round, so nothing is given then") from None


def chosen_cutoff(statement: Claim, weights: Weights) -> int | None:
    """The cutoff that the claim chooses, a ceiling, for the exact numbers of the weights; ``None`` where it is no
    number >= 1, or balls do not decide it.

    Raises:
        ValueError: the claim chooses something else.
    """
    choice = statement.choices.get("cutoff")
    if set(statement.choices) != {"cutoff"} or not isinstance(choice, ceiling):
        raise ValueError(f"{statement.ref} chooses {', '.join(statement.choices)}: allowed is the ceiling of a cutoff")
    known = {name: ball(Fraction(v)) for name, v in replace(weights, cutoff=math.inf).quantities().items()}
    with working_precision():
        quotient = evaluate_in_balls(choice.args[0], known)
        rounded = quotient.ceil()
        return int(rounded.fmpz()) if quotient.is_finite() and rounded.is_exact() and rounded >= 1 else None
