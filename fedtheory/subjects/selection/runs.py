"""Runs of FLICS-OPT on small federations, exactly, reading by reading."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from ...claims.balls import ball, interval
from ...functionals import LEAST_SQUARED_GRADIENT, MEAN_SQUARED_GRADIENT, Functional
from .exact import var_rates
from .rounds import DIVIDED, DIVISION, binomial
from .traces import Trace, extended

COUNTS, RECEIVED, PLANNED = "counts", "received", "planned"
"""What the participation estimate counts: answers (line 7), or the rates asked for (display (6))."""

BEGINNING, FORGOTTEN, COUNTED = "start", "forgotten", "counted"
"""The estimate before round 1: it is forgotten, as in display (6), or it counts as one round."""

MINIMUM, FROM_FIRST, FROM_START = "minimum", "t = 1..T", "t = 0..T-1"

Convert = Callable[[Any], Any]
"""From a Fraction to the numbers that runs are computed in: ``float``, or balls."""


@dataclass(frozen=True)
class SelectionRun:
    """FLICS-AVG for T rounds on F_j(x) = curvature (x - centre_j)^2 / 2, by its two first moments for every count of
    answers so far.

    Attributes:
        trace: who is there. initial_estimate: beta, s^(0).
        curvature, centres, start, gradient_noise: as in ``SelectionRound``; curvature > 0.
        local_steps, rounds: K and T.
        local_lr, global_lr: eta_L and eta; ``None`` where the claim chooses them.
    """

    trace: Trace
    initial_estimate: Fraction
    curvature: Fraction
    centres: tuple[Fraction, ...]
    start: Fraction
    gradient_noise: Fraction
    local_steps: int
    rounds: int
    local_lr: Fraction | None
    global_lr: Fraction | None

    def __post_init__(self) -> None:
        if len(self.centres) != len(self.trace.weight):
            raise ValueError(f"centres has {len(self.centres)} entries: allowed is one a group")
        if self.curvature <= 0 or self.gradient_noise < 0 or self.initial_estimate < 0:
            raise ValueError("curvature, gradient_noise, initial_estimate: allowed are > 0, >= 0 and >= 0")
        if self.local_lr is not None and not 0 < self.local_lr * self.curvature <= 1:
            raise ValueError(f"local_lr = {self.local_lr}: allowed is a number in (0, 1/curvature]")

    def fixed(self) -> dict[str, Fraction]:
        """The quantities that do not depend on the step sizes."""
        weight, s = self.trace.weight, self.trace.long_term
        centre = sum(p * c for p, c in zip(weight, self.centres, strict=True))
        return {
            "smoothness": self.curvature,
            "gradient_noise": self.gradient_noise,
            "dissimilarity": self.curvature * max(abs(c - centre) for c in self.centres),
            "initial_gap": self.curvature * (self.start - centre) ** 2 / 2,
            "groups": Fraction(len(weight)),
            "weight_concentration": sum(p**2 for p in weight),
            "local_steps": Fraction(self.local_steps),
            "rounds": Fraction(self.rounds),
            "least_group_participation": min(s),
        }

    def sides(
        self, functional: Functional, reading: Mapping[str, str], steps: Mapping[str, Any], convert: Convert = ball
    ) -> tuple[Any, dict[str, Any]]:
        """The functional's value, and all quantities that the run fixes, in the numbers of ``convert``.

        Args:
            steps: local_lr and global_lr.

        Raises:
            ValueError: the functional is not about such runs.
        """
        if functional not in (LEAST_SQUARED_GRADIENT, MEAN_SQUARED_GRADIENT):
            raise ValueError(f"functional = {functional.name}: allowed is one of FLICS-AVG's runs")
        way = (
            reading.get(COUNTS, RECEIVED) == RECEIVED,
            reading.get(BEGINNING, FORGOTTEN) == COUNTED,
            reading.get(DIVISION) == DIVIDED and max(map(sum, self.trace.availability)) > 1,  # else it is the same
        )
        followed = _followed(self, *way, _key(steps["local_lr"]), _key(steps["global_lr"]), convert)
        squares = followed.squares
        if functional == MEAN_SQUARED_GRADIENT:
            left = sum(squares[:-1]) / self.rounds
        elif reading.get(MINIMUM, FROM_FIRST) == FROM_FIRST:
            left = functools.reduce(smaller, squares[1:])
        else:
            left = functools.reduce(smaller, squares[:-1])
        return left, self.fixed() | dict(steps) | followed.values


def smaller(one: Any, other: Any) -> Any:
    """The smaller of two numbers, floats or balls."""
    return min(one, other) if isinstance(one, float) else one.min(other)


def power(base: Any, exponent: int) -> Any:
    """A power of a number in [0, 1]. A ball that reaches 0 has no logarithm, by which balls take powers: its power is
    between 0 and that of its upper end."""
    if isinstance(base, float) or base > 0 or exponent == 0:
        return base**exponent
    return interval(0, base.abs_upper() ** exponent)


def larger(one: Any, other: Any) -> Any:
    """The larger of two numbers, floats or balls."""
    return max(one, other) if isinstance(one, float) else one.max(other)


@dataclass(frozen=True)
class _Node:
    """All runs with the same counts so far: P(they), E[1 * w], E[1 * w^2], and an interval that holds every w."""

    chance: Any
    first: Any
    second: Any
    low: Any
    high: Any

    def joined(self, other: _Node | None) -> _Node:
        if other is None:
            return self
        return _Node(self.chance + other.chance, self.first + other.first, self.second + other.second,
                     smaller(self.low, other.low), larger(self.high, other.high))  # fmt: skip


class _Followed:
    """A run, followed round by round under a reading.

    Attributes:
        squares: E|grad F(w_t)|^2 for t = 0..T.
        values: the quantities that only a run can tell.
    """

    def __init__(
        self, run: SelectionRun, received: bool, counted: bool, divided: bool, local_lr: Any, global_lr: Any,
        convert: Convert,
    ) -> None:  # fmt: skip
        self.run, self.convert = run, convert
        self.received, self.counted, self.divided = received, counted, divided
        # The policy is followed in Fractions, or in floats where everything is.
        trace, number = run.trace, float if convert is float else Fraction
        self.weight, self.initial_estimate = tuple(map(number, trace.weight)), number(run.initial_estimate)
        self.long_term = tuple(map(number, trace.long_term))
        self.covariance = [number(trace.covariance(j)) for j in range(len(trace.weight))]
        self._train(local_lr, global_lr)
        zero = convert(0)
        self.bound = self.proxy = self.mismatch = self.variance = self.rate_spread = zero
        self.error = number(0)
        start = convert(run.start)
        nodes = {(number(0),) * len(self.weight): _Node(zero + 1, start, start * start, start, start)}
        self.squares = [self._square(nodes)]
        budget = map(number, extended(trace.budget, run.rounds))
        rounds = zip(extended(trace.availability, run.rounds), budget, strict=True)
        for t, (a, k) in enumerate(rounds, start=1):
            nodes = self._round(t, a, k, nodes)
            self.squares.append(self._square(nodes))
        mean = self.mismatch / run.rounds
        self.values = {
            "local_gradient_bound": self.bound,
            "largest_estimate_error": self.error,
            "selection_variance": self.variance / run.rounds,
            "selection_proxy": self.proxy / run.rounds,
            "rate_spread": self.rate_spread / run.rounds,
            "weight_mismatch": mean**0.5 if isinstance(mean, float) else mean.sqrt(),
        }

    def _train(self, local_lr: Any, global_lr: Any) -> None:
        """The update of a client is gain (w - centre) + noise, of variance ``spread`` and at most ``reach``."""
        run, h, sigma = self.run, self.convert(self.run.curvature), self.convert(self.run.gradient_noise)
        shrink, steps = 1 - local_lr * h, run.local_steps
        self.gain, self.global_lr = power(shrink, steps) - 1, global_lr
        self.reach = sigma * (1 - power(shrink, steps)) / h
        self.spread = local_lr * sigma * sigma * (1 - power(shrink, 2 * steps)) / (h * (1 + shrink))
        self.local_reach = sigma * (1 - power(shrink, steps - 1)) / h

    def _square(self, nodes: Mapping[tuple, _Node]) -> Any:
        run = self.run
        centre = self.convert(sum(p * c for p, c in zip(run.trace.weight, run.centres, strict=True)))
        each = (node.second - 2 * centre * node.first + centre * centre * node.chance for node in nodes.values())
        return self.convert(run.curvature) ** 2 * sum(each, self.convert(0))

    def _estimate(self, sums: tuple, rounds: int) -> tuple:
        if self.counted:
            return tuple((self.initial_estimate + s) / (rounds + 1) for s in sums)
        return tuple(s / rounds for s in sums) if rounds else sums

    def _round(self, t: int, a: tuple, k: Any, nodes: Mapping[tuple, _Node]) -> dict[tuple, _Node]:
        following: dict[tuple, _Node] = {}
        for sums, node in nodes.items():
            history = [(t - 1) * s for s in self._estimate(sums, t - 1)]
            rates = var_rates(history, a, k, self.weight)
            laws = [binomial(n, r) for n, r in zip(a, rates, strict=True)]
            self._meet(node, rates)
            for counts in itertools.product(*map(range, map(len, laws))):
                chance = math.prod((law[n] for law, n in zip(laws, counts, strict=True)), start=Fraction(1))
                if chance:
                    added = counts if self.received else rates
                    after = tuple(s + n for s, n in zip(sums, added, strict=True))
                    estimate = self._estimate(after, t)
                    moved = self._moved(node, self.convert(chance), counts, estimate)
                    following[after] = moved.joined(following.get(after))
                    self._tally(moved.chance, rates, estimate)
        return following

    def _meet(self, node: _Node, rates: tuple) -> None:
        """The gradients that clients can meet in a round; local iterates do not leave the interval that spans the
        start and the centre by more than ``local_reach``."""
        run = self.run
        for c, r in zip(map(self.convert, run.centres), rates, strict=True):
            if r > 0:
                far = larger(abs(node.low - c), abs(node.high - c)) + self.local_reach
                met = self.convert(run.curvature) * far + self.convert(run.gradient_noise)
                self.bound = larger(self.bound, met)

    def _moved(self, node: _Node, chance: Any, counts: tuple, estimate: tuple) -> _Node:
        """w + global_lr Delta = slope w + shift + noise."""
        total = sum(counts) if self.divided and sum(counts) else 1
        each = [self.convert(p / (s * total)) if n else self.convert(0)
                for p, s, n in zip(self.weight, estimate, counts, strict=True)]  # fmt: skip
        pull = self.global_lr * self.gain
        slope = 1 + pull * sum(y * n for y, n in zip(each, counts, strict=True))
        centres = map(self.convert, self.run.centres)
        shift = -pull * sum(y * n * c for y, n, c in zip(each, counts, centres, strict=True))
        noise = (
            self.global_lr * self.global_lr * sum(y * y * n for y, n in zip(each, counts, strict=True)) * self.spread
        )
        stray = self.global_lr * sum(y * n for y, n in zip(each, counts, strict=True)) * self.reach
        ends = slope * node.low + shift, slope * node.high + shift
        return _Node(
            chance * node.chance,
            chance * (slope * node.first + shift * node.chance),
            chance
            * (slope * slope * node.second + 2 * slope * shift * node.first + (shift * shift + noise) * node.chance),
            smaller(*ends) - stray,
            larger(*ends) + stray,
        )

    def _tally(self, chance: Any, rates: tuple, estimate: tuple) -> None:
        """What is averaged over rounds and runs; infinite where an estimate is 0."""
        self.error = max(self.error, *(abs(s - e) for s, e in zip(self.long_term, estimate, strict=True)))
        groups = [j for j, p in enumerate(self.weight) if p > 0]
        if any(estimate[j] == 0 for j in groups):
            infinite = float("inf") if self.convert is float else arb("inf")
            self.variance = self.proxy = self.mismatch = self.rate_spread = infinite
            return
        y = [p / s if p else p for p, s in zip(self.weight, estimate, strict=True)]
        self.variance += chance * self.convert(sum(y[j] ** 2 * self.covariance[j] for j in groups))
        self.proxy += chance * self.convert(sum(y[j] ** 2 * rates[j] for j in groups))
        self.rate_spread += chance * self.convert(sum(y[j] * rates[j] for j in groups) ** 2)
        self.mismatch += chance * self.convert(max(abs(rates[j] / estimate[j] - 1) for j in groups) ** 2)


@functools.lru_cache(maxsize=8)
def _followed(
    run: SelectionRun, received: bool, counted: bool, divided: bool, local_key: Any, global_key: Any, convert: Convert
) -> _Followed:
    """The run, followed; readings that differ in the minimum only share it."""
    local_lr, global_lr = (convert(arb(*key) if isinstance(key, tuple) else key) for key in (local_key, global_key))
    return _Followed(run, received, counted, divided, local_lr, global_lr, convert)


def _key(step: Any) -> Any:
    """A step size as something that has a hash: balls have none, but their middles and radii do."""
    return (step.mid(), step.rad()) if isinstance(step, arb) else step
