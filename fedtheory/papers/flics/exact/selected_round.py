"""One round from x_0 of a server that weighs what groups send, by enumerating the numbers of answers of each group."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb

from ....functionals import (
    AGGREGATE_BIAS,
    INNER_PRODUCT,
    SCALED_INNER_PRODUCT,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
    Functional,
)
from ....participation import Bernoulli, Mixture, Participation
from ....selection.rational import var_rates
from ....setting import Setting
from ....moments.evaluators import EXACT, FLOAT, Question, Unserved
from ....moments.number_kinds import CONVERT, larger, root
from .policy import answer_law, number_of
from .selected import (
    CORRELATION,
    DIVIDED,
    DIVISION,
    MATRIX,
    PLANNED,
    Counts,
    Groups,
    aggregation_of,
    count_law,
    groups_of,
    read,
    selection_of,
    states_of,
)
from .group_training import noise_of_a_coordinate, training

FACTOR, PRINTED_FACTOR, PROVED_FACTOR = "factor", "1 + epsilon^", "epsilon^"
"""Readings of the factor with which Lemma 4 multiplies the mean update."""

LOCAL_INDEX, FROM_ONE, FROM_ZERO = "local gradients", "k = 1..K-1", "k = 0..K-1"

LARGEST_OUTCOMES = 5000
"""Largest number of outcomes of who answers that are enumerated."""

LARGEST_STEPS = 1000
"""Largest number of local steps whose noises are followed one by one."""


@dataclass(frozen=True)
class Answering:
    """A case that may occur in a round, with its probability and laws.

    A law has the probabilities P(0), P(1), ... that so many clients of its group answer.
    """

    probability: Any
    laws: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class SelectedRound:
    """One round from x_0: the clients that answer, the estimates that the server divides by, and the clients' training.

    The case is drawn; then clients answer independently, so the numbers S_j of answers have the means s_j and the
    covariance Sigma. The server forms Delta = sum_j weight_j / estimate_j * (sum of the updates of group j), where
    line 14 divides by the number of answers, if it is read so.

    Attributes:
        groups: the clients. estimate: (M,), s^_j > 0, known before the round.
        cases: what may be the case.
        numbers: the kind of number.
    """

    groups: Groups
    estimate: tuple[Any, ...]
    cases: tuple[Answering, ...]
    numbers: str

    def __post_init__(self) -> None:
        if sum(math.prod(map(len, case.laws)) for case in self.cases) > LARGEST_OUTCOMES:
            raise Unserved(
                f"participation: clients can answer in more than {LARGEST_OUTCOMES} ways in a round; "
                "allowed are fewer clients"
            )
        if self.groups.local_steps > LARGEST_STEPS:
            raise Unserved(f"local_steps = {self.groups.local_steps}: allowed in one round is at most {LARGEST_STEPS}")

    # The law of the answers -------------------------------------------------------------------------------------------

    def answers(self) -> Iterator[tuple[Any, int, Counts]]:
        """Yield (probability, place of the case, answers of each group) for all outcomes."""
        for place, case in enumerate(self.cases):
            for counts in itertools.product(*map(range, map(len, case.laws))):
                chance = math.prod((law[n] for law, n in zip(case.laws, counts, strict=True)), start=case.probability)
                if chance:
                    yield chance, place, counts

    @cached_property
    def participation(self) -> list[Any]:
        """(M,), s_j = E S_j."""
        means = [[sum(n * chance for n, chance in enumerate(law)) for law in case.laws] for case in self.cases]
        return [
            sum(case.probability * mean[j] for case, mean in zip(self.cases, means, strict=True)) for j in self._labels
        ]

    @cached_property
    def covariance(self) -> list[list[Any]]:
        """(M, M), Sigma."""
        s, law = self.participation, list(self.answers())
        return [[sum(c * n[i] * n[j] for c, _, n in law) - s[i] * s[j] for j in self._labels] for i in self._labels]

    @property
    def _weighed_covariance(self) -> dict[tuple[int, int], Any]:
        y, pairs = self._scales, itertools.product(self._labels, repeat=2)
        return {(i, j): y[i] * y[j] * self._number(self.covariance[i][j]) for i, j in pairs}

    def _weighed_correlation(self) -> Iterator[Any]:
        """Yield the weighed correlations of the numbers of answers; a number that never varies correlates with none."""
        y, v = self._scales, self.covariance
        for i, j in itertools.product(self._labels, repeat=2):
            if v[i][j]:
                size = root(v[i][j] ** 2 / (v[i][i] * v[j][j]))
                if isinstance(size, arb) and self.numbers == EXACT:
                    raise Unserved("selection_variance: a correlation of groups is irrational; ask for it in balls")
                kept = isinstance(size, arb) and self.numbers != FLOAT
                yield y[i] * y[j] * (size if kept else self._number(size)) * (1 if v[i][j] > 0 else -1)

    # Local training, by coordinate and group --------------------------------------------------------------------------

    @property
    def _labels(self) -> range:
        return range(len(self.groups.weight))

    @cached_property
    def _number(self) -> Any:
        return CONVERT[self.numbers]

    @cached_property
    def _weight(self) -> list[Any]:
        return [self._number(p) for p in self.groups.weight]

    @cached_property
    def _scales(self) -> list[Any]:
        """p_j / s^_j."""
        return [p / s for p, s in zip(self._weight, map(self._number, self.estimate), strict=True)]

    @cached_property
    def _training(self) -> list[list[Any]]:
        return training(self.groups, self.numbers)

    @cached_property
    def _start(self) -> list[Any]:
        return [self._number(x) for x in self.groups.start]

    @cached_property
    def gradients(self) -> list[list[Any]]:
        """(D, M), grad F_j(x_0)."""
        return [
            [one.curvature * (x - one.centre) for one in column]
            for x, column in zip(self._start, self._training, strict=True)
        ]

    @cached_property
    def gradient(self) -> list[Any]:
        """(D,), grad F(x_0)."""
        return [self._mean(row) for row in self.gradients]

    @cached_property
    def updates(self) -> list[list[Any]]:
        """(D, M), v_j: the mean update of a client of group j."""
        return [
            [one.gain * (x - one.centre) for one in column]
            for x, column in zip(self._start, self._training, strict=True)
        ]

    def _mean(self, values: list[Any]) -> Any:
        return sum(p * v for p, v in zip(self._weight, values, strict=True))

    def _weighed(self, values: list[Any], counts: Any) -> Any:
        return sum(y * n * v for y, n, v in zip(self._scales, counts, values, strict=True))

    def local_gradient_bound(self) -> Any:
        """The largest |stochastic gradient| that a client can meet."""
        sigma, met = noise_of_a_coordinate(self.groups, self.numbers), []
        for group in zip(*self._training, strict=True):
            places = zip(self._start, group, strict=True)
            met.append(_length([one.largest_gradient(abs(x - one.centre), sigma) for x, one in places]))
        return functools.reduce(larger, met)

    def weighted_pseudogradient(self, first: int) -> Any:
        """E |sum_j p_j sum_{k >= first} grad F_j(x_{j,k})|^2, where the noises of groups are independent; ``first`` is
        0 or 1."""
        eta, sigma = self._number(self.groups.local_lr), noise_of_a_coordinate(self.groups, self.numbers)
        steps, total = range(first, self.groups.local_steps), self._number(0)
        for gradients, column in zip(self.gradients, self._training, strict=True):
            shrinks = [1 - eta * one.curvature for one in column]
            total += self._mean([g * sum(s**k for k in steps) for g, s in zip(gradients, shrinks, strict=True)]) ** 2
            for p, shrink, one in zip(self._weight, shrinks, column, strict=True):
                # The noise of a step stays in all later iterates.
                shares = itertools.accumulate(shrink**k for k in range(self.groups.local_steps - 1))
                total += (p * one.curvature * eta * sigma) ** 2 * sum(share**2 for share in shares)
        return total

    # What claims speak of ---------------------------------------------------------------------------------------------

    def aggregate(self, divided: bool) -> tuple[list[Any], Any, Any]:
        """E Delta (D,), E |Delta|^2 and E |E[Delta | case]|^2."""
        zero, dimension = self._number(0), len(self._start)
        first, second = [zero] * dimension, zero
        by_case = [[zero] * dimension for _ in self.cases]
        for chance, place, counts in self.answers():
            answers = sum(counts)
            scale = self._number(Fraction(1, answers) if divided and answers else Fraction(1))
            share = self._number(chance)
            for d, (updates, column) in enumerate(zip(self.updates, self._training, strict=True)):
                value = scale * self._weighed(updates, counts)
                noise = scale**2 * sum(
                    y**2 * n * one.spread for y, n, one in zip(self._scales, counts, column, strict=True)
                )
                first[d] = first[d] + share * value
                second = second + share * (value**2 + noise)
                by_case[place][d] = by_case[place][d] + share * value
        given = sum(
            (_square(mean) / self._number(case.probability) for case, mean in zip(self.cases, by_case, strict=True)),
            zero,
        )
        return first, second, given

    def left(self, functional: Functional, reading: Mapping[str, str], stated: Mapping[str, Any]) -> Any:
        """Return the functional's value.

        Raises:
            Unserved: it needs a constant that is not stated.
        """
        divided, d = reading.get(DIVISION) == DIVIDED, range(len(self._start))
        if functional == SQUARED_SELECTED_VECTOR:
            return sum(
                self._number(chance) * sum(self._weighed(row, counts) ** 2 for row in self.gradients)
                for chance, _, counts in self.answers()
            )
        mean, square, _ = self.aggregate(divided)
        wanted = [self._mean(row) for row in self.updates]
        step = self._number(self.groups.local_lr) * self.groups.local_steps
        if functional == SQUARED_AGGREGATE:
            return square
        if functional == AGGREGATE_BIAS:
            return _length([mean[i] - wanted[i] for i in d])
        if functional == INNER_PRODUCT:
            return sum(self.gradient[i] * (mean[i] + step * self.gradient[i]) for i in d)
        inflation = 1 + self._inflation(functional, stated)
        if functional == SCALED_INNER_PRODUCT:
            return sum(self.gradient[i] * (mean[i] + inflation * step * self.gradient[i]) for i in d)
        factor = inflation if reading.get(FACTOR) == PROVED_FACTOR else 1 + inflation
        return _length([mean[i] - factor * wanted[i] for i in d])

    def _inflation(self, functional: Functional, stated: Mapping[str, Any]) -> Any:
        """epsilon / r_min."""
        for name in ("estimate_error", "least_participation"):
            if name not in stated:
                raise Unserved(f"functional {functional.name}: it speaks of {name}, which is no setting's; state it")
        return self._number(stated["estimate_error"]) / self._number(stated["least_participation"])

    def values(self, names: Collection[str], reading: Mapping[str, str]) -> dict[str, Any]:
        """Return those of the quantities that a round alone has."""
        y, s, divided = self._scales, self.participation, reading.get(DIVISION) == DIVIDED
        first = 1 if reading.get(LOCAL_INDEX) == FROM_ONE else 0
        known = {
            "local_gradient_bound": self.local_gradient_bound,
            "largest_estimate_error": lambda: max(abs(a - b) for a, b in zip(s, self.estimate, strict=True)),
            "least_group_participation": lambda: min(s),
            "weight_mismatch": lambda: max(abs(a / b - 1) for a, b in zip(s, self.estimate, strict=True)),
            "mean_mismatch": lambda: max(abs(a / b - 1) for a, b in zip(s, self.estimate, strict=True)),
            "selection_variance": lambda: sum(
                self._weighed_correlation() if reading.get(MATRIX) == CORRELATION else self._weighed_covariance.values()
            ),
            "answer_mismatch": self._answer_mismatch,
            "selection_proxy": lambda: sum(a**2 * self._number(b) for a, b in zip(y, s, strict=True)),
            "answer_proxy": lambda: sum(a**2 * self._number(b) for a, b in zip(y, s, strict=True)),
            "rate_spread": self._rate_spread,
            "mean_update_length": lambda: self._mean([_length(v) for v in zip(*self.updates, strict=True)]),
            "squared_mean_update": lambda: _square(self.aggregate(divided)[0]),
            "squared_state_update": lambda: self.aggregate(divided)[2],
            "weighted_pseudogradient": lambda: self.weighted_pseudogradient(first),
            "squared_mean_vector": lambda: _square(self.gradient),
            "mean_squared_vector": lambda: self._mean([_square(g) for g in zip(*self.gradients, strict=True)]),
            "vector_covariance": lambda: sum(
                c * g[i] * g[j] for g in self.gradients for (i, j), c in self._weighed_covariance.items()
            ),
        }
        return {name: known[name]() for name in names if name in known}

    def _rates(self, case: Answering) -> list[Any]:
        """Return the expected numbers of answers in a case."""
        return [self._number(sum(n * chance for n, chance in enumerate(law))) for law in case.laws]

    def _rate_spread(self) -> Any:
        """E (sum_j p_j r_j / s^_j)^2 over the cases."""
        total = self._number(0)
        for case in self.cases:
            ratio = sum(y * r for y, r in zip(self._scales, self._rates(case), strict=True))
            total = total + self._number(case.probability) * ratio**2
        return total

    def _answer_mismatch(self) -> Any:
        """The root of E (max_j |r_j / s^_j - 1|)^2 over the cases."""
        total = self._number(0)
        for case in self.cases:
            pairs = zip(self._rates(case), map(self._number, self.estimate), strict=True)
            far = functools.reduce(larger, (abs(r / e - 1) for r, e in pairs))
            total = total + self._number(case.probability) * far * far
        return root(total)


def _square(vector: Any) -> Any:
    return sum(v * v for v in vector)


def _length(vector: Any) -> Any:
    return abs(vector[0]) if len(vector) == 1 else root(_square(vector))


def round_of(question: Question) -> SelectedRound:
    """Return the round from x_0 of the question's setting.

    Under FLICS's policy it is the first one, of known availability, with planned counts: so s^ is known before the
    answers. Where the aggregation has an estimate of its own, the participants answer.

    Raises:
        Unserved: the weights are not known before the answers, or availability or answers have another law.
    """
    setting, groups = read(question.setting, question.reading), groups_of(question)
    own, number = aggregation_of(setting).estimate, number_of(question.numbers != FLOAT)
    if own is not None:
        return SelectedRound(groups, tuple(map(number, own)), _answering(setting, number), question.numbers)
    return _first_round(setting, groups, question.numbers)


def _first_round(setting: Setting, groups: Groups, numbers: str) -> SelectedRound:
    policy, number = selection_of(setting), number_of(numbers != FLOAT)
    if policy.counts != PLANNED:
        raise Unserved(
            'counts = "received": the lemmas speak of weights that are known before the answers; allowed is "planned"'
        )
    states = states_of(setting, 0, exact=numbers != FLOAT)
    if len(states) > 1:
        raise Unserved(
            "participation: the lemmas speak of weights that are known before availability is; allowed is a "
            "first round of known availability, or an estimate of the aggregation's own"
        )
    there, weight = states[0][1], tuple(map(number, groups.weight))
    nothing, start = (number(0),) * len(weight), number(policy.start)
    rates = tuple(map(number, var_rates(nothing, there, number(policy.exact_budget(0)), weight)))
    estimate = {"mean": rates, "printed": (start,) * len(weight)}.get(
        policy.update, tuple((start + r) / 2 for r in rates)
    )
    for j, e in enumerate(estimate):
        if e == 0:
            raise Unserved(
                f"participation_estimate: that of group {j} is 0 in the first round, where its weight is 1/0"
            )
    laws = tuple(tuple(answer_law(policy.answers, r, a)) for r, a in zip(rates, there, strict=True))
    return SelectedRound(groups, estimate, (Answering(number(1), laws),), numbers)


def _answering(setting: Setting, number: Any) -> tuple[Answering, ...]:
    """The cases of a process whose participants answer on their own."""
    process, labels = setting.participation, aggregation_of(setting).groups
    parts = (
        zip(process.probabilities, process.processes, strict=True) if isinstance(process, Mixture) else [(1, process)]
    )
    return tuple(Answering(number(chance), _laws(part, labels, number)) for chance, part in parts)


def _laws(process: Participation, labels: tuple[int, ...], number: Any) -> tuple[tuple[Any, ...], ...]:
    if not (isinstance(process, Bernoulli) or process.deterministic):
        raise Unserved(
            f"participation = {type(process).__name__}: allowed are Bernoulli, deterministic processes, and "
            "mixtures of them"
        )
    chances = process.expected(len(labels), 0)
    own = (
        [number(p) for p, g in zip(chances, labels, strict=True) if g == j and p > 0] for j in range(max(labels) + 1)
    )
    return tuple(tuple(count_law(group)) for group in own)
