"""Traces of availability, exactly: the policy beside the best in hindsight, and how often answers mislead.

Availability and budget are given for some rounds; the last of them stays for ever. So the long-term participation s*
is known: it is the best one of the last state, to which the policy converges.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...functionals import POLICY_GAP, POLICY_LIMIT, RATIO_FAILURE, Functional
from .exact import best_participation, proxy, var_rates
from .rounds import binomial, check_weight

SPREAD, IN_COROLLARY, IN_PROOF, IN_OBJECTIVE = "sigma_T", "of Corollary 1.1", "of the proof", "the policy's objective"
"""Which sigma_T Theorem 2 speaks of."""


def extended(rounds: tuple, number: int) -> list:
    """The first ``number`` rounds, where the last given one stays."""
    return [*rounds[:number], *[rounds[-1]] * (number - len(rounds))]


@dataclass(frozen=True)
class Trace:
    """Who is there, and what the server may ask for: the groups' weights p, and round by round how many clients of
    each group are there and the budget; the last round given stays for ever.

    Raises:
        ValueError: a number is out of bounds.
    """

    weight: tuple[Fraction, ...]
    availability: tuple[tuple[int, ...], ...]
    budget: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if not self.availability or len(self.availability) != len(self.budget):
            raise ValueError("availability, budget: allowed are as many rounds of both, at least one")
        if any(len(a) != len(self.weight) or min(a) < 0 for a in self.availability) or min(self.budget) < 0:
            raise ValueError("availability, budget: allowed are numbers >= 0, one a group and one a round")

    @functools.cached_property
    def long_term(self) -> tuple[Fraction, ...]:
        """(M,), s*."""
        return best_participation(self.availability[-1:], self.budget[-1:], self.weight, Fraction(0))

    def covariance(self, group: int) -> Fraction:
        """Sigma_jj in the long run, where every available client answers on its own; Sigma_ij is 0."""
        s, a = self.long_term[group], self.availability[-1][group]
        return s * (1 - s / a) if a else Fraction(0)


@dataclass(frozen=True)
class PolicyTrace:
    """FLICS's policy along a trace, with planned counts, and the best in hindsight; after ``rounds`` rounds."""

    trace: Trace
    rounds: int

    def sides(
        self, functional: Functional, reading: Mapping[str, str], constants: Mapping[str, Fraction]
    ) -> tuple[Any, dict[str, Any]]:
        """The functional's value, and all quantities that the trace fixes.

        Raises:
            ValueError: the functional is not about the policy and the best in hindsight.
        """
        values = {"rounds": Fraction(self.rounds)}
        if functional == POLICY_LIMIT:
            values["least_group_participation"] = min(self.trace.long_term)
            return self._limit(reading.get(SPREAD, IN_OBJECTIVE), constants["least_participation"]), values
        if functional != POLICY_GAP:
            raise ValueError(f"functional = {functional.name}: allowed is {POLICY_LIMIT.name} or {POLICY_GAP.name}")
        estimates, drift = self._run()
        best = best_participation(*self._rounds(), self.trace.weight, Fraction(0))
        value = proxy(estimates[-1], self.trace.weight) - proxy(best, self.trace.weight)
        return value, values | {"price_drift": drift}

    def _rounds(self) -> tuple[list, list]:
        return extended(self.trace.availability, self.rounds), extended(self.trace.budget, self.rounds)

    def _run(self) -> tuple[list[tuple], Any]:
        """s^(t), and (1/T) sum_t u(t) (max_j D_j(t) - min_j D_j(t)) with D = W(T) - W(t), W_j = (p_j / s^_j)^2."""
        sums, used, estimates = [Fraction(0)] * len(self.trace.weight), [], []
        for t, (a, k) in enumerate(zip(*self._rounds(), strict=True), start=1):
            rates = var_rates(sums, a, k, self.trace.weight)
            sums = [s + r for s, r in zip(sums, rates, strict=True)]
            used.append(sum(rates))
            estimates.append(tuple(s / t for s in sums))
        groups = [j for j, p in enumerate(self.trace.weight) if p > 0]
        if any(estimates[0][j] == 0 for j in groups):
            return estimates, float("inf")
        prices = [[(self.trace.weight[j] / s[j]) ** 2 for j in groups] for s in estimates]
        moves = ([last - now for last, now in zip(prices[-1], price, strict=True)] for price in prices)
        return estimates, sum(u * (max(d) - min(d)) for u, d in zip(used, moves, strict=True)) / self.rounds

    def _limit(self, spread: str, least: Fraction) -> Any:
        """|lim (sigma_T - sigma_T^Off)|: of the policy s^(t) -> s*, and OffVar's value goes to that of the last
        state."""
        trace, s = self.trace, self.trace.long_term
        sets = trace.availability[-1:], trace.budget[-1:]
        off = proxy(best_participation(*sets, trace.weight, least), trace.weight)
        if spread == IN_OBJECTIVE:
            return abs(proxy(s, trace.weight) - off)
        if self._run()[1] == float("inf"):  # 1/s^_j(1), and so the sum over t, is infinite for every T
            return float("inf")
        if spread == IN_PROOF:
            return abs(proxy(s, trace.weight, power=1) - off)
        return abs(sum(p**2 * trace.covariance(j) / s[j] ** 2 for j, p in enumerate(trace.weight) if p) - off)


@dataclass(frozen=True)
class Answers:
    """``clients`` clients of a group, each of which answers in every one of ``rounds`` rounds, on its own, with this
    probability: s = clients * probability, and s^ is the mean number of answers a round."""

    probability: Fraction
    clients: int
    rounds: int

    def sides(
        self, functional: Functional, reading: Mapping[str, str], constants: Mapping[str, Fraction]
    ) -> tuple[Fraction, dict[str, Fraction]]:
        """P(s/s^ is not in [1 - relative_error, 1 + relative_error]), and all quantities that are fixed; s/0 counts as
        outside."""
        if functional != RATIO_FAILURE:
            raise ValueError(f"functional = {functional.name}: allowed is {RATIO_FAILURE.name}")
        number, r, error = self.clients * self.rounds, self.probability, constants["relative_error"]
        mean, inside = number * r, Fraction(0)
        low = max(1, math.ceil(mean / (1 + error)))
        high = number if error >= 1 else min(number, math.floor(mean / (1 - error)))
        if high >= low:
            chances = binomial(number, mean)
            inside = sum(chances[low : high + 1], Fraction(0))
        values = {"response_probability": r, "group_clients": self.clients, "rounds": self.rounds}
        return 1 - inside, {name: Fraction(value) for name, value in values.items()}
