"""Rounds of a crowd of few kinds of clients, of each of whom a step remembers something, without following each.

Clients of a kind have one objective, and come by one law; so, if the step treats all alike, the law of what is
remembered of them does not change if they change places. With y_i what is remembered of client i, of the N of a kind,
y their mean and d_i = y_i - y, then

    E[d_i s^T] = 0  for the model, every mean, and what else is remembered,    E[d_i d_j^T] = -V/(N - 1)  for i != j,

with V = E[d_i d_i^T], and 0 for j of another kind. So the second moments of the model, the means and 1, and one V of
each kind, are all second moments.

In a round n of the N take part, any n of them being as likely. They and the others are two groups. The means of these
are y + e and y - n/(N - n) e, where E[e] = 0 given all that is remembered, and

    E[e e^T] = c V,  c = (N - n)/(n (N - 1)),    within a group of m:  mean of E[d d^T] = V N (m - 1)/(m (N - 1)).

What the step does to y_i is a y_i, with its group's a, and what it does to all of the group alike, and own noise. Hence

    V' = sum_g (m_g - 1)/(N - 1) a_g V a_g^T + sum_g (m_g - 1)/N b_g Q b_g^T + n (N - n)/N^2 E[D D^T]

with D the difference between the groups' new means, linear in the state, e and the mean noises. That is the round of a
state with one vector v of each kind in the place of all d_i, E[v v^T] = V, where v is multiplied by random numbers of
mean 0 and these variances; e is v times such a number.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..algorithms.algorithm import OwnRound
from ..algorithms.custom_algorithm import CLIENTS, MODEL, Outcomes
from ..federations.quadratic import Quadratic
from ..participation import Bernoulli, Fixed, Participation, Uniform
from .cohorts import Law, law_of, law_of_crowd
from .custom_rounds import (
    LEAST_CROWD,
    MOST_KINDS,
    AnswerMap,
    Answers,
    LocalMapsOf,
    OwnLayout,
    Trainings,
    check_on_tensors,
    combined,
    kinds_of,
)
from .linear_rounds import LinearRound, Noise
from .participation_laws import chain_of, phases_of
from .step_trace import DEVIATION, MOST_WAYS, NOISE, SERVER, Question, Trace, too_many, traced, traces


@dataclass(frozen=True)
class CrowdLayout:
    """The places of the parts of the state: the model's error, what is remembered, deviations, and 1.

    Of what is remembered of clients these are the means of each kind, and one deviation of each kind of more than one,
    of all that is remembered of a client.

    Attributes:
        dimension: D.
        kinds: of which kind each client is, (clients,).
        memory: (name, kind of memory) as the algorithm has it.
    """

    dimension: int
    kinds: tuple[int, ...]
    memory: tuple[tuple[str, str], ...]

    @cached_property
    def numbers(self) -> list[int]:
        """The number of clients of each kind."""
        return np.bincount(self.kinds).tolist()

    @property
    def remembered(self) -> list[str]:
        """The names of what is remembered of each client."""
        return [name for name, what in self.memory if what == CLIENTS]

    @property
    def own_width(self) -> int:
        """The number of entries of what is remembered of a client."""
        return self.dimension * len(self.remembered)

    def _of_all(self) -> int:
        vectors = sum(max(self.kinds) + 1 if what == CLIENTS else 1 for _, what in self.memory)
        return self.dimension * (1 + vectors)

    @property
    def size(self) -> int:
        """The number of entries of the state, with the last 1."""
        return self._of_all() + self.own_width * sum(number > 1 for number in self.numbers) + 1

    @property
    def of_model(self) -> slice:
        """The place of the model's error."""
        return slice(0, self.dimension)

    @property
    def of_memory(self) -> dict[str, slice]:
        """The places of what is remembered, by name; of clients, of the means of the kinds in turn."""
        found, begin = {}, self.dimension
        for name, what in self.memory:
            width = self.dimension * (max(self.kinds) + 1 if what == CLIENTS else 1)
            found[name] = slice(begin, begin + width)
            begin += width
        return found

    @property
    def of_deviation(self) -> dict[int, slice]:
        """The places of the deviations, by kind."""
        places = [kind for kind, number in enumerate(self.numbers) if number > 1]
        begins = (self._of_all() + i * self.own_width for i in range(len(places)))
        return {kind: slice(begin, begin + self.own_width) for kind, begin in zip(places, begins, strict=True)}

    @property
    def of_start(self) -> list[slice]:
        """The places of the entries that are x_0 - x* before round 0."""
        return [self.of_model, *(self.of_memory[name] for name, what in self.memory if what == MODEL)]


@lru_cache(maxsize=64)
def crowd_layout(kind: OwnRound, fed: Quadratic, process: Participation) -> CrowdLayout | None:
    """Return the layout of a crowd's state under a step that remembers something of each client.

    It is ``None`` where clients are few, of many kinds, or told apart by the step, or where the participants come in a
    way that tells them apart.
    """
    if fed.clients < max(LEAST_CROWD, fed.dimension + 2) or all(what != CLIENTS for _, what in kind.memory):
        return None
    ways = ways_to_come(process, fed.clients)
    if ways is None:
        return None
    numbers: dict[Hashable, int] = {}
    kinds = tuple(numbers.setdefault(both, len(numbers)) for both in zip(kinds_of(fed), ways, strict=True))
    if len(numbers) > MOST_KINDS:
        return None
    groups = Groups.of(tuple(map(int, np.bincount(kinds))), tuple(1 for _ in numbers), fed.dimension)
    try:
        traced(kind, groups.counts, fed.dimension, Outcomes(), groups.copies)
    except ValueError:  # followed client by client, it tells what it does not allow
        return None
    return CrowdLayout(fed.dimension, kinds, kind.memory)


def ways_to_come(process: Participation, clients: int) -> Sequence[Hashable] | None:
    """Return of each client by which law it comes; those with one law change places without a difference.

    ``None`` where that is not known here.

    >>> ways_to_come(Bernoulli(["1/2", 1, "1/2"]), 3)
    (Fraction(1, 2), Fraction(1, 1), Fraction(1, 2))
    """
    changes = phases_of(process)
    if changes is not None:
        each = [ways_to_come(one, clients) for one in dict.fromkeys(changes.processes)]
        return None if None in each else list(zip(*each, strict=True))  # type: ignore[arg-type]
    match process:
        case Fixed(members=members):
            present = frozenset(members)
            return [i in present for i in range(clients)]
        case Uniform(replacement=False):
            return [True] * clients
        case Bernoulli(probabilities=p):
            return tuple(map(Fraction, p))
    if process.independent_rounds:
        return None
    sets = [frozenset(members) for members in chain_of(process, clients).sets]
    return [tuple(i in members for members in sets) for i in range(clients)]


@dataclass(frozen=True)
class Groups:
    """Clients of a kind who take part in a round, and those who do not; and empty entries, so that no other axis is as
    long as that of the groups.

    Attributes:
        kinds: the kind of each group. counts: how often each of its clients takes part. copies: how many they are.
    """

    kinds: tuple[int, ...]
    counts: tuple[int, ...]
    copies: tuple[int, ...]

    @classmethod
    def of(cls, numbers: Sequence[int], present: Sequence[int], dimension: int) -> Groups:
        """Return the groups of a cohort with so many clients of each kind."""
        there = [(k, 1, n) for k, n in enumerate(present) if n]
        away = [(k, 0, number - n) for k, (number, n) in enumerate(zip(numbers, present, strict=True)) if number > n]
        empty = [(0, 0, 0)] * max(0, max(2, dimension + 1) - len(there) - len(away))
        kinds, counts, copies = zip(*there, *away, *empty, strict=True)
        return cls(kinds, counts, copies)

    def of_kind(self, kind: int) -> list[int]:
        """Return the places of a kind's groups: first of who takes part."""
        return [
            g for g, (own, copies) in enumerate(zip(self.kinds, self.copies, strict=True)) if own == kind and copies
        ]


class CrowdAnswers(Answers):
    """Answers to a crowd's trace: of groups' means, as forms of the state, of each kind's e, and of mean noises; and of
    one client's deviation from its group's mean, as forms of the deviation before and of own noise.

    Attributes:
        split: the kinds of which some clients take part and some do not, with where the columns of their e begin.
        own_noises: for each group, the covariances of the noises of a client alone, in the order of their columns.
        own: for each group, the vectors in order, (D, columns) each.
    """

    def __init__(self, fed: Quadratic, layout: CrowdLayout, maps: LocalMapsOf, groups: Groups) -> None:
        super().__init__(fed, layout, maps)  # type: ignore[arg-type]
        self.crowd, self.groups = layout, groups
        both = [kind for kind in range(len(layout.numbers)) if len(groups.of_kind(kind)) == 2]
        self.split = {kind: layout.size + i * layout.own_width for i, kind in enumerate(both)}
        self.before = layout.size + layout.own_width * len(both)
        self.own_noises: list[list[np.ndarray]] = [[] for _ in groups.kinds]
        self.own: list[list[np.ndarray]] = []

    def put_into(self, trace: Trace, rounding: bool = False) -> tuple[np.ndarray, np.ndarray]:
        many = sum(question.of not in (SERVER, NOISE) for question in trace.questions)
        self._own_columns = self.crowd.own_width + self.fed.dimension * many
        return super().put_into(trace, rounding)

    def _given(self, trace: Trace) -> list[np.ndarray]:
        D, layout = self.fed.dimension, self.crowd
        found, place = [], layout.size - 1
        self.own = [[] for _ in self.groups.kinds]
        for name, number in trace.known:
            each, alone = self._nothing(D), np.zeros((D, self._own_columns), dtype=int).astype(object) * Fraction(1)
            if number == DEVIATION:
                begin = layout.remembered.index(name) * D
                alone[range(D), range(begin, begin + D)] = Fraction(1)
            elif name == "x" or name not in layout.remembered:
                begin = (layout.of_model if name == "x" else layout.of_memory[name]).start
                each[range(D), range(begin, begin + D)] = Fraction(1)
                if name == "x" or dict(layout.memory)[name] == MODEL:
                    each[:, place] = self.fed.exact_optimum
            elif self.groups.copies[number]:
                begin = layout.of_memory[name].start + self.groups.kinds[number] * D
                each[range(D), range(begin, begin + D)] = Fraction(1)
                self._deviate(each, name, number)
            found.append(each)
            for own in self.own:
                own.append(alone)
        one = self._nothing(1)
        one[0, place] = Fraction(1)
        for own in self.own:
            own.append(np.zeros((1, self._own_columns), dtype=int).astype(object) * Fraction(1))
        return [*found, one]

    def _deviate(self, each: np.ndarray, name: str, group: int) -> None:
        """Add how far the mean of a group is from that of its kind."""
        kind, D = self.groups.kinds[group], self.fed.dimension
        if kind not in self.split:
            return
        here, away = self.groups.of_kind(kind)
        begin = self.split[kind] + self.crowd.remembered.index(name) * D
        times = Fraction(1) if group == here else Fraction(-self.groups.copies[here], self.groups.copies[away])
        each[range(D), range(begin, begin + D)] = times

    def _answer(
        self,
        trace: Trace,
        question: Question,
        map: AnswerMap,
        columns: list[slice | None],
        known: list[np.ndarray],
        sizes: list[np.ndarray],
    ) -> None:
        super()._answer(trace, question, map, columns, known, sizes)
        if question.of in (SERVER, NOISE):
            for own in self.own:
                own.extend(0 * own[0] for _ in question.asked)
            return
        known.append(self._nothing(self.fed.dimension))
        for g, own in enumerate(self.own):
            answer = 0 * own[0]
            if g in question.asked:
                if question.points is not None:
                    answer = map.slopes[g] @ combined(trace, question.points.factors[g], own)
                if not map.common and map.noise[g].any():
                    begin = self.crowd.own_width + len(self.own_noises[g]) * self.fed.dimension
                    self.own_noises[g].append(map.noise[g])
                    answer[:, begin : begin + self.fed.dimension] += self.identity
            own.extend(0 * answer for _ in question.asked)
            own.append(answer)

    def of_one(self, trace: Trace, group: int) -> np.ndarray:
        """Return what is remembered of a client of a group less the group's mean, (own_width, columns)."""
        names = self.crowd.remembered
        return np.concatenate([combined(trace, trace.returned[n].factors[group], self.own[group]) for n in names])


def crowd_round(
    kind: OwnRound, fed: Quadratic, process: Participation, layout: CrowdLayout, trainings: Trainings, exact: bool
) -> LinearRound:
    """Return a round of a crowd as a random linear map of its layout's state.

    Raises:
        NotClosed: the law of its cohorts is not known, or they come in too many ways.
        NotLinear, StepError: as ``custom_rounds.linear_round``.
    """
    law, dtype = _counts(process, layout), object if exact else float
    _check_on_few(kind, fed, law[0][0], layout, trainings)
    rounds = _Collected(layout, dtype)
    ways = 0
    for present, p in law:
        groups = Groups.of(layout.numbers, present, fed.dimension)
        few = _few(fed, layout, groups)
        maps = trainings(few)
        for trace in traces(kind, groups.counts, fed.dimension, groups.copies):
            if (ways := ways + 1) > MOST_WAYS:
                raise too_many(kind)
            answers = CrowdAnswers(few, layout, maps, groups)
            forms, _ = answers.put_into(trace)
            rounds.add(p * trace.probability, forms, answers, trace)
    return rounds.round()


def _counts(process: Participation, layout: CrowdLayout) -> Law:
    """The numbers of clients of each kind who take part, with the probabilities."""
    crowd = law_of_crowd(process, layout.kinds)
    law: Law = law_of(process, len(layout.kinds)) if crowd is None else crowd
    kinds, total = np.array(layout.kinds), dict[tuple[int, ...], Fraction]()
    for counts, p in law:
        present = tuple(np.bincount(kinds, np.array(counts), len(layout.numbers)).astype(int).tolist())
        total[present] = total.get(present, Fraction(0)) + p
    return list(total.items())


def _check_on_few(
    kind: OwnRound, fed: Quadratic, present: Sequence[int], layout: CrowdLayout, trainings: Trainings
) -> None:
    """Compare forms with tensors, client by client, on two clients of each kind at most: see ``check_on_tensors``."""
    rows, counts = [], []
    for k, (number, n) in enumerate(zip(layout.numbers, present, strict=True)):
        few = [int(n > 0)] + [int(n == number)] * (number > 1)
        rows += [layout.kinds.index(k)] * len(few)
        counts += few
    small = Quadratic(fed.exact_hessians[rows], fed.exact_centres[rows], fed.exact_gradient_noise, fed.noise)
    own = OwnLayout(layout.dimension, len(rows), layout.memory)
    check_on_tensors(kind, small, tuple(counts), own, trainings)


def _few(fed: Quadratic, layout: CrowdLayout, groups: Groups) -> Quadratic:
    """One client for each group, F as it is."""
    first = [layout.kinds.index(kind) for kind in groups.kinds]
    shares = [Fraction(0)] * len(layout.numbers)
    for kind, weight in zip(layout.kinds, fed.exact_weight, strict=True):
        shares[kind] += weight
    weights = [shares[k] * Fraction(n, layout.numbers[k]) for k, n in zip(groups.kinds, groups.copies, strict=True)]
    return Quadratic(
        fed.exact_hessians[first],
        fed.exact_centres[first],
        fed.exact_gradient_noise,
        fed.noise,
        fed.exact_server_noise,
        weights,
    )


class _Collected:
    """The random numbers of a crowd's round so far: all but the ways' own have mean 0, and no two are correlated."""

    def __init__(self, layout: CrowdLayout, dtype: Any) -> None:
        self.layout, self.dtype = layout, dtype
        self.increments: list[np.ndarray] = []
        self.first: list[Fraction] = []
        self.second: list[Fraction] = []
        self.noises: list[Noise] = []

    def _number(self, square: Fraction, mean: Fraction = Fraction(0)) -> tuple[int, np.ndarray]:
        """A new random number, and its increment to fill in."""
        self.increments.append(_zeros(self.layout.size, self.layout.size))
        self.first.append(mean)
        self.second.append(square)
        return len(self.first) - 1, self.increments[-1]

    def add(self, p: Fraction, forms: np.ndarray, answers: CrowdAnswers, trace: Trace) -> None:
        """Add one way of a round, of probability p, with the forms of the model and of what is remembered, by group."""
        layout, groups = self.layout, answers.groups
        size, width, numbers = layout.size, layout.own_width, layout.numbers
        rows = _rows(layout, forms, len(groups.kinds))
        spread = {
            kind: Fraction(numbers[kind] - n, n * (numbers[kind] - 1))
            for kind in answers.split
            if (n := groups.copies[groups.of_kind(kind)[0]])
        }
        means = _mean_forms(layout, groups, rows, forms.shape[1])
        way, change = self._number(p, p)
        change[: len(means), :] = means[:, :size]
        change[range(size - 1), range(size - 1)] -= Fraction(1)
        for kind, begin in answers.split.items():
            _, change = self._number(p * spread[kind])
            change[: len(means), layout.of_deviation[kind]] = means[:, begin : begin + width]
        apart: dict[int, tuple[int, np.ndarray]] = {}
        for kind in answers.split:
            here, away = groups.of_kind(kind)
            between = np.concatenate([rows[name][here] - rows[name][away] for name in layout.remembered])
            share = Fraction(groups.copies[here] * groups.copies[away], numbers[kind] ** 2)
            place = layout.of_deviation[kind]
            number, change = self._number(p * share)
            change[place, :] = between[:, :size]
            apart[kind] = number, between
            for other, begin in answers.split.items():
                _, change = self._number(p * share * spread[other])
                change[place, layout.of_deviation[other]] = between[:, begin : begin + width]
        for kind, place in layout.of_deviation.items():
            for group in groups.of_kind(kind):
                self._within(p, answers, trace, group, place, numbers[kind])
        for covariance, columns in answers.noises:
            load = _zeros(size, len(covariance))
            load[: len(means)] = means[:, columns]
            factors, loads = [way], [load]
            for kind, (number, between) in apart.items():
                load = _zeros(size, len(covariance))
                load[layout.of_deviation[kind]] = between[:, columns]
                factors.append(number)
                loads.append(load)
            self.noises.append(Noise(covariance.astype(self.dtype), factors, np.array(loads).astype(self.dtype)))

    def _within(self, p: Fraction, answers: CrowdAnswers, trace: Trace, group: int, place: slice, number: int) -> None:
        """Add what becomes of the deviations of a group's clients from its mean."""
        copies, width, D = answers.groups.copies[group], self.layout.own_width, self.layout.dimension
        if copies == 1:
            return
        own = answers.of_one(trace, group)
        _, change = self._number(p * Fraction(copies - 1, number - 1))
        change[place, place] = own[:, :width]
        if not answers.own_noises[group]:
            return
        noisy, _ = self._number(p * Fraction(copies - 1, number))
        for i, covariance in enumerate(answers.own_noises[group]):
            load = _zeros(self.layout.size, D)
            load[place] = own[:, width + i * D : width + (i + 1) * D]
            self.noises.append(Noise(covariance.astype(self.dtype), [noisy], load[None].astype(self.dtype)))

    def round(self) -> LinearRound:
        """Return the round."""
        first, square = (np.array(each, dtype=object).astype(self.dtype) for each in (self.first, self.second))
        second = np.zeros((len(first), len(first)), dtype=int).astype(object) * Fraction(1)
        second = second.astype(self.dtype)
        np.fill_diagonal(second, square)
        return LinearRound(np.stack(self.increments).astype(self.dtype), first, second, tuple(self.noises))


def _zeros(*shape: int) -> np.ndarray:
    return np.full(shape, Fraction(0), dtype=object)


def _rows(layout: CrowdLayout, forms: np.ndarray, groups: int) -> dict[str, list[np.ndarray]]:
    """The forms of the model and of what is remembered by name, of each group where it is of clients."""
    D, found, begin = layout.dimension, {}, 0
    for name, what in (("x", ""), *layout.memory):
        number = groups if what == CLIENTS else 1
        found[name] = [forms[begin + i * D : begin + (i + 1) * D] for i in range(number)]
        begin += number * D
    return found


def _mean_forms(layout: CrowdLayout, groups: Groups, rows: dict[str, list[np.ndarray]], columns: int) -> np.ndarray:
    """The forms of the model, of what is remembered, and of the means of each kind, in the order of the state."""
    found = [rows["x"][0]]
    for name, what in layout.memory:
        if what != CLIENTS:
            found.append(rows[name][0])
            continue
        for kind, number in enumerate(layout.numbers):
            each = [Fraction(groups.copies[g], number) * rows[name][g] for g in groups.of_kind(kind)]
            found.append(sum(each[1:], each[0]))
    return np.concatenate(found)
