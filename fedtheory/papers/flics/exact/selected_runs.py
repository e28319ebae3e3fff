"""Runs of FLICS-AVG by the first two moments of the iterate, for every history of the policy that is possible.

A round's rates follow from the history of the groups' participation. With planned counts and deterministic availability
there is one history, and a run costs a few operations a round; where answers are counted, or availability is random,
histories branch, and short runs can be followed only.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....selection.rational import var_rates
from ....setting import Setting
from ....moments.evaluators import FLOAT, Question, Unserved
from ....moments.number_kinds import CONVERT, INFINITE, larger, root, smaller
from .policy import answer_covariance, answer_law, answer_range, answer_variance, long_term, number_of
from .selected import (
    RECEIVED,
    Counts,
    aggregation_of,
    going_on,
    groups_of,
    read,
    selection_of,
)  # fmt: skip
from .group_training import Training, noise_of_a_coordinate, training

LARGEST_WORK = 10**5
"""Largest number of ways of going on that are followed, over all histories and rounds."""
CANCELLATION = 1e-15  # floats leave so much of terms that cancel


@dataclass(frozen=True)
class _Line:
    """One coordinate of the runs with one history: E[1 * w], E[1 * w^2], and an interval that holds every w."""

    first: Any
    second: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class _Node:
    """All runs with one history: its probability, and the coordinates."""

    chance: Any
    lines: tuple[_Line, ...]

    def joined(self, other: _Node | None) -> _Node:
        if other is None:
            return self
        both = zip(self.lines, other.lines, strict=True)
        lines = (
            _Line(a.first + b.first, a.second + b.second, smaller(a.low, b.low), larger(a.high, b.high))
            for a, b in both
        )
        return _Node(self.chance + other.chance, tuple(lines))


_Past = tuple[int | None, tuple]
"""State on which the future depends: that of availability, where it has a memory, and the sums of what was counted."""


class Followed:
    """Runs of up to T rounds under a reading.

    Attributes:
        squares: E|grad F(w_t)|^2 for t = 0..T.
        bound: (T,), by rounds passed: the largest stochastic gradient on any client's path, taken or not.
        error: the same, largest |s* - s^(t)|; or why it is not known.
        proxy, rate_spread, squared_mismatch, mean_mismatch: (T,), of each round, in expectation; the last, squared, of
            the mismatch given the past alone.
        answer_proxy, answer_mismatch: (T,), as proxy and squared_mismatch, of the answers that come.
        variance: the same; or why it is not known. correlation: the same of what is 1 where an answer varies.
    """

    def __init__(self, question: Question, rounds: int) -> None:
        self.setting = read(question.setting, question.reading)
        self.numbers, self.convert = question.numbers, CONVERT[question.numbers]
        self.groups, self.policy = groups_of(question), selection_of(self.setting)
        self.divided = aggregation_of(self.setting).divided
        # The policy is followed in Fractions, or in floats where everything is.
        self.number = number_of(question.numbers != FLOAT)
        self.weight = tuple(map(self.number, self.groups.weight))
        self.training, self.global_lr = training(self.groups, self.numbers), self.convert(self.groups.global_lr)
        self.sigma = noise_of_a_coordinate(self.groups, self.numbers)
        self._objective()
        self._long_run()
        self.squares: list[Any] = []
        self.work = 0
        self.bound, self.error = [self.convert(0)], [self.number(0)]
        self.proxy: list[Any] = []
        self.rate_spread: list[Any] = []
        self.squared_mismatch: list[Any] = []
        self.mean_mismatch: list[Any] = []
        self.answer_proxy: list[Any] = []
        self.answer_mismatch: list[Any] = []
        self.variance: list[Any] = []
        self.correlation: list[Any] = []
        self._follow(rounds)
        del self.bound[0], self.error[0]

    def _follow(self, rounds: int) -> None:
        """Fill all lists, one history after the other."""
        starts, certain = map(self.convert, self.groups.start), self.convert(1)
        sums = (self.number(0),) * len(self.weight)
        nodes: dict[_Past, _Node] = {(None, sums): _Node(certain, tuple(_Line(x, x * x, x, x) for x in starts))}
        self.squares.append(self._square(nodes))
        for t in range(1, rounds + 1):
            nodes = self._round(t, nodes)
            self.squares.append(self._square(nodes))

    def _objective(self) -> None:
        """F's curvature and minimiser in every coordinate."""
        weight = [self.convert(p) for p in self.groups.weight]
        self.objective = []
        for column in self.training:
            pulls = [p * one.curvature for p, one in zip(weight, column, strict=True)]
            centre = sum(h * one.centre for h, one in zip(pulls, column, strict=True)) / sum(pulls)
            self.objective.append((sum(pulls), centre))

    def _long_run(self) -> None:
        """s*; and Sigma, of the answers in a round of the long run, as covariances and as correlations, entry by entry
        that is not 0; or why they are not known."""
        exact = self.numbers != FLOAT
        self.long_term, self.covariance = (_or_why(of, self.setting, exact) for of in (long_term, answer_covariance))
        self.varying: list[tuple[int, int, Any, Any]] = []
        if not isinstance(self.covariance, Unserved):
            of_pairs, one = self.covariance, self.convert(1)
            deviations = [root(self.convert(row[i])) for i, row in enumerate(of_pairs)]
            self.varying = [
                (i, j, self.convert(v), one if i == j else self.convert(v) / (deviations[i] * deviations[j]))
                for i, row in enumerate(of_pairs)
                for j, v in enumerate(row)
                if v != 0
            ]

    def _square(self, nodes: Mapping[_Past, _Node]) -> Any:
        """E|grad F(w)|^2; in floats 0 where nothing but rounding is left of terms that cancel."""
        total = extent = zero = self.convert(0)
        for d, (h, centre) in enumerate(self.objective):
            parts = [(node.lines[d].first, node.lines[d].second, node.chance) for node in nodes.values()]
            first, second, chance = (sum(each, zero) for each in zip(*parts, strict=True))
            total = total + h**2 * (second - 2 * centre * first + centre * centre * chance)
            extent = extent + h**2 * (second + centre * centre * chance)
        return zero if self.numbers == FLOAT and total <= CANCELLATION * extent else total

    # The policy -------------------------------------------------------------------------------------------------------

    def _estimate(self, sums: tuple, rounds: int) -> tuple:
        """s^ after so many rounds, from the sums of what was counted."""
        update, start = self.policy.update, self.number(self.policy.start)
        if update == "start_counts":
            return tuple((start + s) / (rounds + 1) for s in sums)
        if update == "printed":
            return tuple(s / (rounds - 1) for s in sums) if rounds > 1 else (start,) * len(sums)
        return tuple(s / rounds for s in sums) if rounds else sums

    def _counted(self, t: int, sums: tuple, counts: tuple) -> tuple:
        if self.policy.update == "printed" and t == 1:
            return sums
        return tuple(s + n for s, n in zip(sums, counts, strict=True))

    def _round(self, t: int, nodes: Mapping[_Past, _Node]) -> dict[_Past, _Node]:
        exact = self.numbers != FLOAT
        states = {z: going_on(self.setting, t - 1, z, exact) for z in dict.fromkeys(z for z, _ in nodes)}
        budget, following = self.number(self.policy.exact_budget(t - 1)), dict[_Past, _Node]()
        bound = functools.reduce(larger, map(self._met, nodes.values()), self.bound[-1])
        error, tally = self.error[-1], _Tally(self)
        ways = ((past, node, *way) for past, node in nodes.items() for way in states[past[0]])
        for past, node, chance, there, state in ways:
            sums = past[1]
            history = [(t - 1) * s for s in self._estimate(sums, t - 1)]
            rates = tuple(map(self.number, var_rates(history, there, budget, self.weight)))
            moves = self._moves(t, sums, node, self.number(chance), there, rates)
            for after, estimate, answers, moved in moves:
                following[state, after] = moved.joined(following.get((state, after)))
                tally.answered(moved.chance, answers, estimate, (past, there))
                tally.add(moved.chance, rates, estimate, past)
                if not isinstance(self.long_term, Unserved):
                    error = max(error, *(abs(s - e) for s, e in zip(self.long_term, estimate, strict=True)))
        self.bound.append(bound)
        self.error.append(error)
        tally.close()
        return following

    def _moves(
        self, t: int, sums: tuple, node: _Node, chance: Any, there: Counts, rates: tuple
    ) -> Iterator[tuple[tuple, tuple, tuple, _Node]]:
        """Yield the possible outcomes of a round: the sums after it, s^, the answers and the runs.

        Where s^ is known before the answers, the expected ones take their place.
        """
        planned = self.policy.counts != RECEIVED
        if planned:
            after = self._counted(t, sums, rates)
            estimate = self._estimate(after, t)
        if planned and not self.divided:
            self._worked(1)
            yield after, estimate, rates, self._moved_on_average(node, chance, there, rates, estimate)
            return
        laws = [answer_law(self.policy.answers, r, a) for r, a in zip(rates, there, strict=True)]
        possible = [[n for n, chance in enumerate(law) if chance] for law in laws]
        self._worked(math.prod(map(len, possible)))
        for counts in itertools.product(*possible):
            share = math.prod((law[n] for law, n in zip(laws, counts, strict=True)), start=chance)
            if not planned:
                after = self._counted(t, sums, counts)
                estimate = self._estimate(after, t)
            yield after, estimate, rates if planned else counts, self._moved(node, share, counts, estimate)

    def _worked(self, ways: int) -> None:
        self.work += ways
        if self.work > LARGEST_WORK:
            raise Unserved(
                f"rounds: answers and availability branch in more than {LARGEST_WORK} ways; allowed are fewer rounds, "
                'or counts="planned" without division under deterministic availability; simulate others'
            )

    # The iterates -----------------------------------------------------------------------------------------------------

    def _met(self, node: _Node) -> Any:
        """The largest stochastic gradient of any group's clients along their local steps, whether or not one is there
        or asked: what is assumed of G is said of every client's path."""
        bound = self.convert(0)
        for group in zip(*self.training, strict=True):
            met = []
            for line, one in zip(node.lines, group, strict=True):
                far = larger(abs(line.low - one.centre), abs(line.high - one.centre))
                met.append(one.largest_gradient(far, self.sigma))
            bound = larger(bound, met[0] if len(met) == 1 else root(sum(m * m for m in met)))
        return bound

    def _scales(self, estimate: tuple, answers: tuple, total: Any = 1) -> list[Any]:
        """p_j / s^_j, over the number of answers if they are divided; 0 for a group without answers."""
        return [
            self.convert(p / (s * total)) if n else self.convert(0)
            for p, s, n in zip(self.weight, estimate, answers, strict=True)
        ]

    def _affine(self, column: list[Training], scales: list[Any], answers: tuple) -> tuple[Any, Any, Any]:
        """w + global_lr Delta = slope w + shift + noise, whose variance is returned, for so many answers."""
        parts = list(zip(scales, answers, column, strict=True))
        zero = self.convert(0)
        slope = 1 + self.global_lr * sum((y * n * one.gain for y, n, one in parts), zero)
        shift = -self.global_lr * sum((y * n * one.gain * one.centre for y, n, one in parts), zero)
        noise = self.global_lr * self.global_lr * sum((y * y * n * one.spread for y, n, one in parts), zero)
        return slope, shift, noise

    def _moved(self, node: _Node, chance: Any, counts: Counts, estimate: tuple) -> _Node:
        """The runs after these answers."""
        answers = sum(counts)
        total = answers if self.divided and answers else 1
        scales, chance, lines = self._scales(estimate, counts, total), self.convert(chance), []
        for line, column in zip(node.lines, self.training, strict=True):
            slope, shift, noise = self._affine(column, scales, counts)
            stray = self.global_lr * sum(
                (y * n * one.reach for y, n, one in zip(scales, counts, column, strict=True)), self.convert(0)
            )
            ends = slope * line.low + shift, slope * line.high + shift
            first, second = _through(line, node.chance, slope, shift, noise)
            lines.append(_Line(chance * first, chance * second, smaller(*ends) - stray, larger(*ends) + stray))
        return _Node(chance * node.chance, tuple(lines))

    def _moved_on_average(self, node: _Node, chance: Any, there: Counts, rates: tuple, estimate: tuple) -> _Node:
        """The runs after all answers that are possible; groups answer independently of each other."""
        rate = [self.convert(r) for r in rates]
        scales, chance, lines = self._scales(estimate, rates), self.convert(chance), []
        how, pairs = self.policy.answers, list(zip(rates, there, strict=True))
        variances = [self.convert(answer_variance(how, r, a)) for r, a in pairs]
        ranges = [answer_range(how, r, a) for r, a in pairs]
        for line, column in zip(node.lines, self.training, strict=True):
            slope, shift, noise = self._affine(column, scales, tuple(rate))
            first, second = _through(line, node.chance, slope, shift, noise)
            for y, variance, one in zip(scales, variances, column, strict=True):
                about = line.second - 2 * one.centre * line.first + one.centre * one.centre * node.chance
                second = second + (self.global_lr * y * one.gain) ** 2 * variance * about
            low, high = self._extremes(line, column, scales, ranges)
            lines.append(_Line(chance * first, chance * second, low, high))
        return _Node(chance * node.chance, tuple(lines))

    def _extremes(self, line: _Line, column: list, scales: list, ranges: list) -> tuple[Any, Any]:
        """Return the least and the largest place that runs can reach from the interval's two ends.

        What each group adds is linear in its answers. What is certain is one affine map, so that balls do not grow by
        adding a point to what was computed from it.
        """
        certain = tuple(most if fewest == most else 0 for fewest, most in ranges)
        slope, shift, _ = self._affine(column, scales, certain)
        lows, highs = [], []
        for x in (line.low, line.high):
            low = high = slope * x + shift
            for y, (fewest, most), one in zip(scales, ranges, column, strict=True):
                way = one.gain * (x - one.centre) if fewest != most else self.convert(0)
                down, up = (self.global_lr * y * (way + sign * one.reach) for sign in (-1, 1))
                low = low + smaller(fewest * down, most * down)
                high = high + larger(fewest * up, most * up)
            lows.append(low)
            highs.append(high)
        return smaller(*lows), larger(*highs)


def _through(line: _Line, chance: Any, slope: Any, shift: Any, noise: Any) -> tuple[Any, Any]:
    """The moments of slope w + shift + noise."""
    first = slope * line.first + shift * chance
    return first, slope * slope * line.second + 2 * slope * shift * line.first + (shift * shift + noise) * chance


def _or_why(of: Callable[[Setting, bool], tuple], setting: Setting, exact: bool) -> Any:
    try:
        return of(setting, exact)
    except Unserved as reason:
        return reason


class _Tally:
    """Averages over the runs of a round; infinite where an estimate is 0."""

    def __init__(self, run: Followed) -> None:
        self.run, zero = run, run.convert(0)
        self.proxy = self.rate_spread = self.mismatch = self.variance = self.correlation = self.answers = zero
        self.pasts: dict[tuple, tuple[Any, list[Any]]] = {}
        self.states: dict[tuple, tuple[Any, list[Any]]] = {}

    def answered(self, chance: Any, answers: tuple, estimate: tuple, state: tuple) -> None:
        """Add the ratios S_j/s^_j, which are 0 for a group that has never answered; a state is the past and who is
        there."""
        convert, pairs = self.run.convert, list(zip(answers, estimate, strict=True))
        ratios = [convert(n / e) if n else convert(0) for n, e in pairs]
        _average(self.states, state, chance, ratios)
        y = (p / e if n else 0 for p, (n, e) in zip(self.run.weight, pairs, strict=True))
        self.answers += chance * convert(sum(a**2 * n for a, n in zip(y, answers, strict=True)))

    def add(self, chance: Any, rates: tuple, estimate: tuple, past: tuple) -> None:
        run, convert = self.run, self.run.convert
        if any(e == 0 for e in estimate):
            infinite = INFINITE[run.numbers]
            self.proxy = self.rate_spread = self.mismatch = self.variance = self.correlation = infinite
            self.pasts[past] = infinite, [infinite] * len(rates)
            return
        y = [p / e for p, e in zip(run.weight, estimate, strict=True)]
        parts = list(zip(y, rates, strict=True))
        ratios = [convert(r / e) for r, e in zip(rates, estimate, strict=True)]
        _average(self.pasts, past, chance, ratios)
        self.proxy += chance * convert(sum(a**2 * r for a, r in parts))
        self.rate_spread += chance * convert(sum(a * r for a, r in parts) ** 2)
        self.mismatch += chance * convert(max(abs(r / e - 1) for r, e in zip(rates, estimate, strict=True)) ** 2)
        for i, j, covariance, correlation in run.varying:
            both = chance * convert(y[i] * y[j])
            self.variance += both * covariance
            self.correlation += both * correlation

    def close(self) -> None:
        run = self.run
        run.proxy.append(self.proxy)
        run.rate_spread.append(self.rate_spread)
        run.squared_mismatch.append(self.mismatch)
        run.mean_mismatch.append(self._given_the_past())
        run.answer_proxy.append(self.answers)
        run.answer_mismatch.append(self._far(self.states))
        run.variance.append(self.variance)
        run.correlation.append(self.correlation)

    def _given_the_past(self) -> Any:
        """E (max over groups of |E[r_j/s^_j | the past] - 1|)^2."""
        if self.proxy == INFINITE[self.run.numbers]:
            return self.proxy
        return self._far(self.pasts)

    def _far(self, groups: Mapping[tuple, tuple[Any, list[Any]]]) -> Any:
        total = self.run.convert(0)
        for chance, means in groups.values():
            far = functools.reduce(larger, (abs(mean / chance - 1) for mean in means))
            total = total + chance * far * far
        return total


def _average(groups: dict[tuple, tuple[Any, list[Any]]], key: tuple, chance: Any, ratios: list[Any]) -> None:
    """Add ratios that come with this chance to those of the same key."""
    seen, means = groups.get(key, (chance * 0, [chance * 0] * len(ratios)))
    groups[key] = seen + chance, [m + chance * r for m, r in zip(means, ratios, strict=True)]
