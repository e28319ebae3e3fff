"""Runs of FLICS-AVG whose histories branch, in floats: all histories at once.

Where answers are counted, all that the server knows after a round are the sums of answers. What a round does to a run
is then a function of the round, the sums and the answers, which is computed beforehand for all of them; what goes from
round to round are a few arrays over the sums.

Axes of arrays are (round, state, answers, sums), or some of these, in this order: who is there; how many of each group
answer; how many did so before. Sums over them run in the order in which ``selected_runs`` comes by the terms.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx

from ....algorithms.aggregation import GroupWeights
from ....setting import Setting
from ....moments.evaluators import FLOAT, Question, Unserved
from .policy import asks_everybody
from .selected import (
    BEGINNING,
    COUNTS,
    DIVIDED,
    DIVISION,
    RECEIVED,
    UNDIVIDED,
    Counts,
    client_round,
    horizons,
    read,
    selection_of,
    states_of,
)  # fmt: skip
from .selected_runs import CANCELLATION, Followed

LEAST_ROUNDS = 8
"""Least number of rounds to compute so: over fewer, one history after the other takes no longer."""
LARGEST_GRID = 2**20
"""Largest number of entries of an array."""

States = Sequence[Sequence[tuple[Any, Counts]]]


def follow(question: Question) -> Followed:
    """Follow the runs of the question's setting over the most of its rounds.

    They are followed once for all that is asked about them, and for all readings under which they are the same.
    """
    return question.once(_follow)


def _follow(question: Question) -> Followed:
    kind = client_round(read(question.setting, question.reading))
    _, most = question.setting.participation.sizes(question.setting.federation.clients)
    assert isinstance(kind.aggregation, GroupWeights)
    divided = DIVIDED if kind.aggregation.divided and most > 1 else UNDIVIDED
    told = (BEGINNING,) if asks_everybody(question.setting) else (COUNTS, BEGINNING)
    reading = [(DIVISION, divided), *((n, question.reading[n]) for n in told if n in question.reading)]
    steps = tuple((n, _key(question.stated[n])) for n in ("local_lr", "global_lr") if n in question.stated)
    precision = 0 if question.numbers == FLOAT else ctx.prec
    return _followed(
        _Same(question.setting), tuple(reading), steps, question.numbers, max(horizons(question)), precision
    )


@dataclass(frozen=True, eq=False)
class _Same:
    """A setting, which is the same as itself only."""

    setting: Setting

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.setting is other.setting

    def __hash__(self) -> int:
        return id(self.setting)


@functools.lru_cache(maxsize=1024)
def _followed(same: _Same, reading: tuple, steps: tuple, numbers: str, rounds: int, precision: int) -> Followed:
    """Follow the runs, at the precision of balls that holds; arrays over all histories are dropped."""
    stated = {name: arb(*key) if isinstance(key, tuple) else key for name, key in steps}
    found = _way_of_following(Question(same.setting, rounds, dict(reading), numbers, stated), rounds)
    for name in [name for name, value in vars(found).items() if isinstance(value, np.ndarray)]:
        delattr(found, name)
    return found


def _key(step: Any) -> Any:
    """A step size as something that has a hash: balls have none, but their middles and radii do."""
    return (step.mid(), step.rad()) if isinstance(step, arb) else step


def _way_of_following(question: Question, rounds: int) -> Followed:
    """Runs of up to so many rounds: all histories at once, where that is possible and pays."""
    setting = read(question.setting, question.reading)
    policy = selection_of(setting)
    counted = policy.counts == RECEIVED and policy.answers == "independent" and policy.update != "printed"
    if question.numbers == FLOAT and counted and rounds >= LEAST_ROUNDS and setting.participation.independent_rounds:
        states = [states_of(setting, t, exact=False) for t in range(rounds)]
        if _entries(states) <= LARGEST_GRID:
            return Branching(question, rounds, states)
    return Followed(question, rounds)


def _most(states: States) -> list[int]:
    """Return the largest number of clients of each group that are ever there."""
    return [max(column) for column in zip(*(there for each in states for _, there in each), strict=True)]


def _entries(states: States) -> int:
    sizes = [(most + 1) * (most * len(states) + 1) for most in _most(states)]
    return len(states) * max(map(len, states)) * math.prod(sizes) * len(sizes)


def _sum(terms: Iterable[Any]) -> Any:
    """One after the other, from 0."""
    return sum(terms, start=0.0)


def _along(terms: np.ndarray) -> np.ndarray:
    """The sums over the last axis, one term after the other."""
    return np.add.accumulate(terms, axis=-1)[..., -1]


class Branching(Followed):
    """Runs as in ``Followed``, in floats, where answers are counted and clients answer on their own.

    Attributes:
        counts: (answers, groups). sums: (sums, groups). there: (rounds, states, groups). chance: (rounds, states).
        rates: (rounds, states, sums, groups). estimate: (rounds, answers, sums, groups), s^ after the round.
        share: (rounds, states, answers, sums), the probability of state and answers, given the sums before.
        nodes: (rounds, sums), the probability of the sums before the round.
    """

    def __init__(self, question: Question, rounds: int, states: States) -> None:
        self.states = states
        with np.errstate(all="ignore"):  # of what is computed where no run gets to
            super().__init__(question, rounds)

    def _follow(self, rounds: int) -> None:
        most = _most(self.states)
        self.counts = np.array(list(itertools.product(*(range(m + 1) for m in most))), dtype=float)
        self.sums = np.array(list(itertools.product(*(range(m * rounds + 1) for m in most))), dtype=float)
        sizes = [m * rounds + 1 for m in most]
        strides = [math.prod(sizes[j + 1 :]) for j in range(len(sizes))]
        self.further = (self.counts @ np.array(strides, dtype=float)).astype(int)
        self._who_is_there()
        self._rates_and_estimates()
        self._shares(most)
        self._advance(rounds)
        self._judge()

    # The policy -------------------------------------------------------------------------------------------------------

    def _who_is_there(self) -> None:
        shape = len(self.states), max(map(len, self.states))
        self.chance, self.there = np.zeros(shape), np.zeros((*shape, len(self.weight)))
        for t, each in enumerate(self.states):
            for s, (chance, there) in enumerate(each):
                self.chance[t, s], self.there[t, s] = chance, there

    def _estimates(self, sums: np.ndarray, rounds: np.ndarray) -> np.ndarray:
        """Compute ``_estimate`` for all sums and rounds."""
        if self.policy.update == "start_counts":
            return (float(self.policy.start) + sums) / (rounds + 1)
        return np.where(rounds > 0, sums / np.maximum(rounds, 1), sums)

    def _rates_and_estimates(self) -> None:
        t = np.arange(1.0, len(self.states) + 1).reshape(-1, 1, 1, 1)
        budget = np.array([float(self.policy.exact_budget(r)) for r in range(len(self.states))]).reshape(-1, 1, 1)
        history = (t - 1) * self._estimates(self.sums, t - 1)
        self.rates = var_rates(history, self.there[:, :, None], budget, [float(p) for p in self.groups.weight])
        self.estimate = self._estimates(self.sums + self.counts[:, None], t)

    def _shares(self, most: Sequence[int]) -> None:
        """P(so many clients of each group answer), as ``policy.answer_law``."""
        largest = max(most) + 1
        choose = np.array([[math.comb(a, n) for n in range(largest)] for a in range(largest)], dtype=float)
        self.share = self.chance[:, :, None, None]
        for j in range(len(most)):
            here, n = self.there[:, :, None, j, None], self.counts[:, None, j]
            q = self.rates[:, :, None, :, j]
            q = np.where(here > 0, q / np.maximum(here, 1), q)
            ways = choose[here.astype(int), n.astype(int)]
            self.share = self.share * (ways * q**n * (1 - q) ** np.maximum(here - n, 0))

    # The iterates -----------------------------------------------------------------------------------------------------

    def _advance(self, rounds: int) -> None:
        """Follow every history; ``nodes`` and ``reached`` are filled, and what is asked of the iterates."""
        from ....loops.branching_histories import advance

        starts = np.array(list(map(self.convert, self.groups.start)))
        sums, coordinates = (rounds + 1, len(self.sums)), (rounds + 1, len(starts), len(self.sums))
        chance, reached = np.zeros(sums), np.zeros(sums, dtype=bool)
        first, second = np.zeros(coordinates), np.zeros(coordinates)
        low, high = np.full(coordinates, np.inf), np.full(coordinates, -np.inf)
        chance[0, 0], reached[0, 0] = 1, True
        first[0, :, 0], second[0, :, 0], low[0, :, 0], high[0, :, 0] = starts, starts * starts, starts, starts
        advance(self.share, *self._affine_maps(), self.further, chance, reached, first, second, low, high)
        self.nodes, self.reached = chance[:-1], reached[:-1]
        self._worked(int(np.count_nonzero((self.share > 0) & self.reached[:, None, None])))
        self.squares.extend(self._squared(first, second, chance))
        self.bound.extend(self._largest_met(low[:-1], high[:-1]))

    def _affine_maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute ``_affine`` for all answers, and how far noise can take a run: (rounds, coordinates, answers, sums)
        each."""
        n = self.counts[:, None]
        answered = self.counts.sum(1)[:, None]
        total = np.where(answered > 0, answered, 1.0) if self.divided else np.ones_like(answered)
        weights = [
            np.where(n[..., j] > 0, p / np.where(n[..., j] > 0, self.estimate[..., j] * total, 1.0), 0.0)
            for j, p in enumerate(self.weight)
        ]
        found: list[list[np.ndarray]] = [[], [], [], []]
        for column in self.training:
            parts = [(y, n[..., j], one) for j, (y, one) in enumerate(zip(weights, column, strict=True))]
            found[0].append(1 + self.global_lr * _sum(y * n * one.gain for y, n, one in parts))
            found[1].append(-self.global_lr * _sum(y * n * one.gain * one.centre for y, n, one in parts))
            found[2].append(self.global_lr * self.global_lr * _sum(y * y * n * one.spread for y, n, one in parts))
            found[3].append(self.global_lr * _sum(y * n * one.reach for y, n, one in parts))
        slope, shift, noise, stray = (np.stack(each, axis=1) for each in found)
        return slope, shift, noise, stray

    def _squared(self, first: np.ndarray, second: np.ndarray, chance: np.ndarray) -> list[float]:
        """Compute ``_square`` after each round."""
        total, extent = np.zeros(len(chance)), np.zeros(len(chance))
        whole = _along(chance)
        for d, (h, centre) in enumerate(self.objective):
            one, two = _along(first[:, d]), _along(second[:, d])
            total = total + h**2 * (two - 2 * centre * one + centre * centre * whole)
            extent = extent + h**2 * (two + centre * centre * whole)
        return np.where(total <= CANCELLATION * extent, 0.0, total).tolist()  # type: ignore[no-any-return]

    def _largest_met(self, low: np.ndarray, high: np.ndarray) -> list[float]:
        """Compute the largest value of ``_met`` up to each round."""
        largest = np.zeros(len(low))
        for j in range(len(self.weight)):
            met = []
            for d, column in enumerate(self.training):
                one = column[j]
                far = np.maximum(abs(low[:, d] - one.centre), abs(high[:, d] - one.centre))
                met.append(one.largest_gradient(far, self.sigma, np.maximum))
            every = met[0] if len(met) == 1 else np.sqrt(_sum(m * m for m in met))
            largest = np.maximum(largest, np.where(self.reached, every, 0.0).max(1))
        return np.maximum.accumulate(largest).tolist()  # type: ignore[no-any-return]

    # What is averaged over the runs of a round ------------------------------------------------------------------------

    def _judge(self) -> None:
        """Compute what ``_Tally`` averages, for all rounds."""
        ways = self.share * self.nodes[:, None, None]
        real = (self.share > 0) & self.reached[:, None, None]
        known = np.where(self.estimate > 0, self.estimate, 1.0)
        unknown = ((self.estimate == 0).any(-1)[:, None] & real).any((1, 2, 3))
        n = self.counts[:, None]
        weights = [
            np.where(self.estimate[..., j] > 0, p / known[..., j], 0.0)[:, None] for j, p in enumerate(self.weight)
        ]
        answered = [np.where(n[..., j] > 0, n[..., j] / known[..., j], 0.0) for j in range(len(self.weight))]
        rates = [self.rates[:, :, None, :, j] for j in range(len(self.weight))]
        ratios = [r / known[:, None, ..., j] for j, r in enumerate(rates)]
        far = np.maximum.reduce([abs(ratio - 1) for ratio in ratios])
        pairs = list(zip(weights, rates, strict=True))
        proxy, spread = (_sum(y * y * r for y, r in pairs)), _sum(y * r for y, r in pairs)
        answers = _sum(y * y * n[..., j] for j, y in enumerate(weights))

        def mean(values: np.ndarray) -> np.ndarray:
            return _along(np.moveaxis(ways * values, 3, 1).reshape(len(ways), -1))

        def expected(values: np.ndarray) -> list[float]:
            return np.where(unknown, np.inf, mean(values)).tolist()

        self.answer_proxy = mean(answers).tolist()
        self.proxy, self.rate_spread, self.squared_mismatch = expected(proxy), expected(spread**2), expected(far**2)
        self.answer_mismatch = _far(ways, [ratio[:, None] for ratio in answered], by_state=True).tolist()
        self.mean_mismatch = np.where(unknown, np.inf, _far(ways, ratios, by_state=False)).tolist()
        sigma = [(weights[i] * weights[j], covariance, correlation) for i, j, covariance, correlation in self.varying]
        self.variance = expected(np.asarray(_sum(both * covariance for both, covariance, _ in sigma)))
        self.correlation = expected(np.asarray(_sum(both * correlation for both, _, correlation in sigma)))
        self._errors(real)

    def _errors(self, real: np.ndarray) -> None:
        """The largest error of an estimate up to each round."""
        if isinstance(self.long_term, Unserved):
            self.error.extend([0.0] * len(real))
            return
        off = np.maximum.reduce([abs(s - self.estimate[..., j]) for j, s in enumerate(self.long_term)])
        largest = np.where(real.any(1), off, 0.0).max((1, 2))
        self.error.extend(np.maximum.accumulate(largest).tolist())


def _far(ways: np.ndarray, ratios: Sequence[np.ndarray], by_state: bool) -> np.ndarray:
    """(rounds,), E (max over groups of |E[ratio | the sums, or the sums and the state] - 1|)^2."""
    shape = (*ways.shape[:2], -1) if by_state else (len(ways), 1, -1)

    def given(values: np.ndarray) -> np.ndarray:
        """(rounds, states, sums), or with one in place of the states, summed over what is not given."""
        return _along(np.moveaxis(values.reshape(*shape, ways.shape[-1]), 2, -1))

    chance = given(ways)
    known = np.where(chance > 0, chance, 1.0)
    far = np.maximum.reduce([abs(given(ways * ratio) / known - 1) for ratio in ratios])
    return _along(np.moveaxis(chance * far * far, 1, 2).reshape(len(ways), -1))


def var_rates(history: np.ndarray, availability: np.ndarray, budget: np.ndarray, weight: Sequence[float]) -> np.ndarray:
    """Compute ``selection.rational.var_rates`` for many histories at once.

    Histories and availability are (..., groups), budgets (...), and the rates (..., groups).
    """
    shape = np.broadcast_shapes(history.shape, availability.shape, (*budget.shape, 1))
    history, availability = np.broadcast_to(history, shape), np.broadcast_to(availability, shape)
    budget = np.broadcast_to(budget, shape[:-1])
    groups = [j for j, p in enumerate(weight) if p > 0]
    everything = np.stack([availability[..., j] * (j in groups) for j in range(len(weight))], axis=-1)

    def rates(level: np.ndarray) -> list[np.ndarray]:
        return [
            np.minimum(np.maximum(p * level - history[..., j], 0.0), everything[..., j]) for j, p in enumerate(weight)
        ]

    ends = [(history[..., j] + extra) / weight[j] for j in groups for extra in (0.0, availability[..., j])]
    levels = np.sort(np.stack(ends, axis=-1), axis=-1)
    place, last = np.full(shape[:-1], 1), np.full(shape[:-1], levels.shape[-1] - 1)
    while (place < last).any():  # bisection, where it is not over
        middle = (place + last) // 2
        less = _sum(rates(_at(levels, middle))) < budget
        more = (place < last) & less
        place, last = np.where(more, middle + 1, place), np.where((place < last) & ~less, middle, last)
    low, high = _at(levels, place - 1), _at(levels, place)
    below, above = _sum(rates(low)), _sum(rates(high))
    share = np.where(above > below, (budget - below) / np.where(above > below, above - below, 1.0), 0.0)
    found = np.stack(rates(low + share * (high - low)), axis=-1)
    enough = _sum(everything[..., j] for j in range(len(weight))) <= budget
    return np.where(enough[..., None], everything, found)


def _at(levels: np.ndarray, place: np.ndarray) -> np.ndarray:
    return np.take_along_axis(levels, place[..., None], axis=-1)[..., 0]
