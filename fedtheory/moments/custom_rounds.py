"""Rounds of an algorithm of one's own as linear maps of the lifted state, where its step is affine in state and noise.

A round has a trace (``step_trace``) for each cohort that may come and each way in which its draws may. What a quadratic
federation answers is affine in the point at which it is asked. Put into a trace it makes the map z' = T_S z + sum_s
L_Ss n_s for the cohort S; a round is these maps with u_S = 1 if the cohort, and the draws, are S, so that E[u_S u_T] is
the probability of S on the diagonal and 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from ..algorithms.algorithm import ClientRound, OwnRound
from ..algorithms.custom_algorithm import CLIENTS, MODEL, KnownCohort, Outcomes, StepError, numbers_at, taken
from ..extras import torch
from ..federations.elimination import solve_exactly
from ..federations.federation import COMMON
from ..federations.quadratic import Quadratic
from ..own import place
from ..participation import Participation
from .cohorts import CrowdLaw, Law, law_of_crowd
from .linear_rounds import LinearRound, Noise
from .step_trace import MOST_WAYS, NOISE, SERVER, Question, Trace, too_many, traced, traces


@dataclass(frozen=True)
class OwnLayout:
    """The places of the parts of the state: the model's error, what is remembered, and 1.

    What begins as the model is kept as an error too.

    Attributes:
        dimension, clients: D, M.
        memory: (name, kind) as the algorithm has it.
    """

    dimension: int
    clients: int
    memory: tuple[tuple[str, str], ...]

    def _widths(self) -> list[int]:
        return [self.dimension, *(self.dimension * (self.clients if kind == CLIENTS else 1) for _, kind in self.memory)]

    @property
    def size(self) -> int:
        """The number of entries of the state, with the last 1."""
        return sum(self._widths()) + 1

    @property
    def of_model(self) -> slice:
        """The place of the model's error."""
        return slice(0, self.dimension)

    @property
    def of_memory(self) -> dict[str, slice]:
        """The places of what is remembered, by name."""
        ends = np.cumsum(self._widths()).tolist()
        pairs = zip(self.memory, ends[:-1], ends[1:], strict=True)
        return {name: slice(begin, end) for (name, _), begin, end in pairs}

    @property
    def of_start(self) -> list[slice]:
        """The places of the entries that are x_0 - x* before round 0."""
        return [self.of_model, *(self.of_memory[name] for name, kind in self.memory if kind == MODEL)]


LocalMapsOf = Callable[[ClientRound], Any]
"""The clients' maps (``round_maps.LocalMaps``) of a way of training, in Fractions."""

Trainings = Callable[[Quadratic], LocalMapsOf]


@dataclass(frozen=True)
class AnswerMap:
    """Answers as affine maps of the points: slope_i (x - x*) + offset_i + noise.

    Attributes:
        slopes, offsets: (clients, D, D) and (clients, D). noise: (clients, D, D), covariances.
        common: whether the noise is the same for all that are asked at once.
    """

    slopes: np.ndarray
    offsets: np.ndarray
    noise: np.ndarray
    common: bool = False


class Answers:
    """Answers of a quadratic federation to a trace, as affine forms of the state before the round and of noise.

    Args:
        fed: one client for each entry that the step was given.
        maps: the clients' maps by way of training.
    """

    def __init__(self, fed: Quadratic, layout: OwnLayout, maps: LocalMapsOf) -> None:
        self.fed, self.layout, self.maps = fed, layout, maps
        self.identity = np.eye(fed.dimension, dtype=int).astype(object) * Fraction(1)
        self.noises: list[tuple[np.ndarray, slice]] = []
        self.before = layout.size
        """Number of columns before those of the noises."""

    def put_into(self, trace: Trace, rounding: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the state after a traced round but for its last 1, (size - 1, columns); and if ``rounding`` the sizes
        of what its numbers are added up of."""
        maps = [self._map(question) for question in trace.questions]
        own = [self._columns(trace, question, each) for question, each in zip(trace.questions, maps, strict=True)]
        known = self._given(trace)
        sizes = [np.abs(each).astype(float) for each in known] if rounding else []
        for question, map, columns in zip(trace.questions, maps, own, strict=True):
            self._answer(trace, question, map, columns, known, sizes)
        kinds = dict(self.layout.memory)
        after, rounded = [], []
        for name, of in trace.returned.items():
            shift = self.fed.exact_optimum if name == "x" or kinds[name] == MODEL else None
            for row in range(len(of.factors)):
                after.append(self._shifted(combined(trace, of.factors[row], known), shift))
                if rounding:
                    rounded.append(self._shifted(combined(trace, of.sizes[row], sizes), shift, 1))  # type: ignore[index]
        return np.concatenate(after), np.concatenate(rounded) if rounding else np.zeros(0)

    def _shifted(self, forms: np.ndarray, optimum: Any, sign: int = -1) -> np.ndarray:
        """The forms less the optimum; of sizes, that of both."""
        if optimum is not None:
            change = -optimum if sign < 0 else np.abs(optimum).astype(float)
            forms[:, self.layout.size - 1] = forms[:, self.layout.size - 1] + change
        return forms

    def _given(self, trace: Trace) -> list[np.ndarray]:
        """The model and what is remembered, (D, columns) each, and the number 1, (1, columns)."""
        D, layout, kinds = self.fed.dimension, self.layout, dict(self.layout.memory)
        found = []
        for name, number in trace.known:
            begin = (layout.of_model if name == "x" else layout.of_memory[name]).start + number * D
            each = self._nothing(D)
            each[range(D), range(begin, begin + D)] = Fraction(1)
            if name == "x" or kinds[name] == MODEL:
                each[:, layout.size - 1] = self.fed.exact_optimum
            found.append(each)
        one = self._nothing(1)
        one[0, layout.size - 1] = Fraction(1)
        return [*found, one]

    def _nothing(self, rows: int) -> np.ndarray:
        return np.full((rows, self.before + self.fed.dimension * len(self.noises)), Fraction(0), dtype=object)

    def _columns(self, trace: Trace, question: Question, map: AnswerMap) -> list[slice | None]:
        """The columns of the noise in each answer; of clients that one entry stands for, it is the mean of theirs."""
        found: list[slice | None] = []
        for i in question.asked:
            if map.common and found:
                found.append(found[0])
                continue
            alone = map.common or question.of in (SERVER, NOISE)
            noise = map.noise[trace.given[i]] * (1 if alone else Fraction(1, trace.copies[i]))
            if noise.any():
                end = self.before + self.fed.dimension * (len(self.noises) + 1)
                self.noises.append((noise, slice(end - self.fed.dimension, end)))
            found.append(self.noises[-1][1] if noise.any() else None)
        return found

    def _answer(
        self,
        trace: Trace,
        question: Question,
        map: AnswerMap,
        columns: list[slice | None],
        known: list[np.ndarray],
        sizes: list[np.ndarray],
    ) -> None:
        """Add the answers to what is known, and their sizes."""
        points, last = question.points, self.layout.size - 1
        for i, own in zip(question.asked, columns, strict=True):
            answer, at = self._nothing(self.fed.dimension), trace.given[i]
            if points is not None:
                error = self._shifted(combined(trace, points.factors[i], known), self.fed.exact_optimum)
                answer = map.slopes[at] @ error
                answer[:, last] = answer[:, last] + map.offsets[at]
            if own is not None:
                answer[:, own] = answer[:, own] + self.identity
            if sizes:
                size = np.zeros(answer.shape)
                if points is not None:
                    reach = self._shifted(combined(trace, points.sizes[i], sizes), self.fed.exact_optimum, 1)  # type: ignore[index]
                    size = (np.abs(map.slopes[at]).astype(float) + np.eye(len(answer))) @ reach
                    size[:, last] += np.abs(map.offsets[at]).astype(float)
                sizes.append(size)
            known.append(answer)

    def _map(self, question: Question) -> AnswerMap:
        fed, identity = self.fed, self.identity
        none, nowhere = np.stack([0 * identity] * fed.clients), 0 * fed.exact_centres
        minimisers = fed.exact_centres - fed.exact_optimum
        match question.of:
            case "gradient":
                offsets = np.stack([-h @ m for h, m in zip(fed.exact_hessians, minimisers, strict=True)])
                level = fed.exact_gradient_noise**2 / fed.dimension
                noise = np.stack([level * identity] * fed.clients)
                return AnswerMap(fed.exact_hessians, offsets, noise, fed.noise == COMMON)
            case "training":
                lr, steps, pull = question.numbers
                found = self.maps(ClientRound(steps, lr, proximal=pull))
                return AnswerMap(-found.shares, found.maps[:, :-1, -1], found.noise, fed.noise == COMMON)
            case "proximal point":
                (rho,) = question.numbers
                inverses = [solve_exactly(h + rho * identity, identity) for h in fed.exact_hessians]
                slopes = np.stack([-each @ h for each, h in zip(inverses, fed.exact_hessians, strict=True)])
                return AnswerMap(slopes, np.stack([-a @ m for a, m in zip(slopes, minimisers, strict=True)]), none)
            case "server gradient":
                level = fed.exact_server_noise**2 / fed.dimension
                return AnswerMap(fed.exact_hessian[None], nowhere[:1], level * identity[None])
            case _:
                level = question.numbers[0] ** 2 / fed.dimension
                return AnswerMap(none, nowhere, np.stack([level * identity] * fed.clients))


def combined(trace: Trace, factors: np.ndarray, known: list[np.ndarray]) -> np.ndarray:
    """Return a combination (D, columns) of the known vectors, with factors as in ``Combinations``."""
    if not trace.by_coordinates:
        return factors @ np.concatenate(known)[: factors.shape[-1]]
    columns = np.flatnonzero(factors.astype(bool).any(axis=0))
    if known[0].dtype != object:
        return sum((factors[:, column, None] * known[column] for column in columns), start=known[0] * 0)
    found = np.full(known[0].shape, Fraction(0), dtype=object)
    for column in columns:  # most are 0
        each = np.broadcast_to(known[column], found.shape)
        for row, at in zip(*each.nonzero(), strict=True):
            if factors[row, column]:
                found[row, at] = found[row, at] + factors[row, column] * each[row, at]
    return found


def linear_round(
    kind: OwnRound, fed: Quadratic, law: Law, layout: OwnLayout, trainings: Trainings, exact: bool
) -> LinearRound:
    """Return the round under this law of the cohorts, where ``trainings`` knows how a federation's clients train.

    Raises:
        NotLinear: the step is not affine in the state and the noise, as far as it is followed; it is said where.
        StepError: it does not do what a step has to.
    """
    crowds = _crowds(fed, law) if isinstance(law, CrowdLaw) else {}
    maps = None if crowds else trainings(fed)
    increments, noises, dtype = [], [], object if exact else float
    chances: list[Fraction] = []
    for counts, p in law:
        for trace, change, sources in one_cohort(
            kind, fed, counts, layout, maps or trainings(crowds[counts].fed), crowds.get(counts)
        ):
            if len(chances) == MOST_WAYS:
                raise too_many(kind)
            noises += [Noise(cov.astype(dtype), [len(chances)], load[None].astype(dtype)) for cov, load in sources]
            increments.append(change.astype(dtype))
            chances.append(p * trace.probability)
    check_on_tensors(kind, fed, law[0][0], layout, trainings, crowds.get(law[0][0]))
    first = np.array(chances, dtype=object).astype(dtype)
    return LinearRound(np.stack(increments), first, np.diag(first) if not exact else _diagonal(first), tuple(noises))


@dataclass(frozen=True)
class Crowd:
    """Clients of which those that are alike, in a round in which all or none of them take part, stand together.

    Attributes:
        fed: one client for each group, F as it is.
        counts: how often each client of a group takes part.
        members: the clients of each group.
    """

    fed: Quadratic
    counts: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]

    @property
    def copies(self) -> tuple[int, ...]:
        """Numbers of clients of the groups."""
        return tuple(map(len, self.members))

    def of_clients(self, trace: Trace, each: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of all clients, of those of a trace's entries."""
        left, found = [iter(of) for of in self.members], [0] * sum(self.copies)
        for entry, number, copies in zip(trace.given, each, trace.copies, strict=True):
            for i in islice(left[entry], copies):
                found[i] = number
        return tuple(found)


def _crowds(fed: Quadratic, law: CrowdLaw) -> dict[tuple[int, ...], Crowd]:
    """The crowd of each of the law's cohorts."""
    kinds, weights = kinds_of(fed), fed.exact_weight
    made: dict[Any, Quadratic] = {}
    found = {}
    for counts, _ in law:
        groups: dict[tuple[int, int], list[int]] = {}
        for i, own in enumerate(zip(kinds, counts, strict=True)):
            groups.setdefault(own, []).append(i)
        parts = list(groups.values())
        while len(parts) < max(2, fed.dimension + 1):  # so that no other axis is as long as the clients'
            largest = max(parts, key=len)
            parts.remove(largest)
            parts += [largest[:1], largest[1:]]
        key = tuple((part[0], len(part)) for part in parts)
        if key not in made:
            first = [part[0] for part in parts]
            shares = [sum((weights[i] for i in part), Fraction(0)) for part in parts]
            made[key] = Quadratic(
                fed.exact_hessians[first],
                fed.exact_centres[first],
                fed.exact_gradient_noise,
                fed.noise,
                fed.exact_server_noise,
                shares,
            )
        found[counts] = Crowd(made[key], tuple(counts[part[0]] for part in parts), tuple(map(tuple, parts)))
    return found


def kinds_of(fed: Quadratic) -> tuple[int, ...]:
    """Return of which kind each client is, (clients,): those of a kind have one Hessian and one minimiser."""
    numbers: dict[Any, int] = {}
    rows = zip(fed.exact_hessians, fed.exact_centres, strict=True)
    return tuple(numbers.setdefault((*h.ravel(), *c), len(numbers)) for h, c in rows)


LEAST_CROWD, MOST_KINDS = 9, 6
"""Number of clients from which on they are counted by kind, and the most kinds there may be then."""


def crowd_law(kind: OwnRound, fed: Quadratic, process: Participation, layout: OwnLayout, trainings: Trainings) -> Any:
    """Return the law of a round's cohorts by kinds of client; ``None`` where these do not tell all.

    They do where the clients are a crowd of few kinds, and the step treats all alike and remembers nothing of each.
    That the step does so shows on forms that stand for all clients of a kind: what tells them apart is refused.
    """
    if fed.clients < max(LEAST_CROWD, fed.dimension + 2) or any(what == CLIENTS for _, what in kind.memory):
        return None
    kinds = kinds_of(fed)
    law = law_of_crowd(process, kinds) if max(kinds) < MOST_KINDS else None
    if not law:
        return None
    counts, _ = law[0]
    crowd = _crowds(fed, CrowdLaw(law[:1]))[counts]
    try:
        traced(kind, crowd.counts, fed.dimension, Outcomes(), crowd.copies)
    except ValueError:  # followed client by client, it tells what it does not allow
        return None
    return law


def most_ways(kind: OwnRound, fed: Quadratic, law: Law) -> int:
    """Return the most ways in which a round comes under this law: cohorts that are told apart, times draws."""
    counts, _ = law[0]
    crowd = _crowds(fed, CrowdLaw(law[:1]))[counts] if isinstance(law, CrowdLaw) else None
    entries, copies = (crowd.counts, crowd.copies) if crowd else (counts, ())
    return len(law) * traced(kind, entries, fed.dimension, Outcomes(), copies)[1].number


def _diagonal(values: np.ndarray) -> np.ndarray:
    matrix = np.full((len(values), len(values)), Fraction(0), dtype=object)
    np.fill_diagonal(matrix, values)
    return matrix


def one_cohort(
    kind: OwnRound,
    fed: Quadratic,
    counts: tuple[int, ...],
    layout: OwnLayout,
    maps: LocalMapsOf,
    crowd: Crowd | None = None,
) -> Iterator[tuple[Trace, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]]:
    """Yield for each trace T - I (size, size), and the covariance and L (size, D) of each noise, in Fractions."""
    fed, counts, copies = (fed, counts, ()) if crowd is None else (crowd.fed, crowd.counts, crowd.copies)
    identity = np.eye(layout.size, dtype=int).astype(object) * Fraction(1)
    for trace in traces(kind, counts, fed.dimension, copies):
        answers = Answers(fed, layout, maps)
        forms, _ = answers.put_into(trace)
        change = np.full((layout.size, layout.size), Fraction(0), dtype=object)
        change[:-1] = forms[:, : layout.size] - identity[:-1]
        loads = []
        for covariance, columns in answers.noises:
            load = np.full((layout.size, len(covariance)), Fraction(0), dtype=object)
            load[:-1] = forms[:, columns]
            loads.append((covariance, load))
        yield trace, change, loads


def _on_tensors(
    kind: OwnRound,
    fed: Quadratic,
    counts: tuple[int, ...],
    layout: OwnLayout,
    states: np.ndarray,
    cohorts: Sequence[KnownCohort],
) -> np.ndarray:
    """The states (replicas, size) after a round of the engine's kind with these cohorts, but for their last 1."""
    from ..simulation.custom_steps import TensorRound  # lazily, as the engine is

    optimum = fed.exact_optimum.astype(float)
    shift = np.zeros(layout.size)
    for part in layout.of_start:
        shift[part] = optimum
    values = torch.from_numpy(states + shift)
    replicas, kept = len(states), dict(kind.memory)
    each = (replicas, layout.clients, layout.dimension)
    memory = {
        name: values[:, part].reshape(each) if kept[name] == CLIENTS else values[:, part].clone()
        for name, part in layout.of_memory.items()
    }
    x, ids = values[:, layout.of_model].clone(), torch.arange(replicas)
    shown = torch.tensor([counts] * replicas, dtype=torch.int8)
    told = TensorRound(fed, x, shown, ids, 0, kind.round or 0, Outcomes(cohorts=cohorts))
    moved, after = taken(kind, x, memory, told, numbers_at(kind, kind.round, float))
    found = [moved, *(after[name].reshape(replicas, -1) for name, _ in kind.memory)]
    return torch.cat(found, 1).numpy() - shift[:-1]


SCALES = (1e-3, 1.0, 1.0, 1e3)
"""Sizes of the states at which tensors and forms are compared."""

AGREE, ROUNDED = 1e-9, 1e-12
"""Tolerances of differences between states: as a share of the states, and as a share of what a step adds up on its way,
of which more is lost where large numbers cancel. It is float64's rounding over thousands of operations."""

_CHECKED: set[tuple[Any, ...]] = set()


def check_on_tensors(
    kind: OwnRound,
    fed: Quadratic,
    counts: tuple[int, ...],
    layout: OwnLayout,
    trainings: Trainings,
    crowd: Crowd | None = None,
) -> None:
    """Raise ``StepError`` unless the step does on tensors what it does on forms, without noise.

    It is tried from places near and far in replicas of one batch, once for each step and number of clients and
    dimensions.
    """
    key = kind.step, counts, layout
    if key in _CHECKED:
        return
    quiet = Quadratic(fed.exact_hessians, fed.exact_centres)
    clients, there = quiet, counts
    if crowd is not None:
        own = crowd.fed
        clients = Quadratic(own.exact_hessians, own.exact_centres, objective_weight=list(own.exact_weight))
        there = crowd.counts
    copies = crowd.copies if crowd else ()
    trace, way = traced(kind, there, fed.dimension, Outcomes(), copies, rounding=True)
    forms, sizes = Answers(clients, layout, trainings(clients)).put_into(trace, rounding=True)
    forms, sizes = forms[:, : layout.size], sizes[:, : layout.size]  # without the step's own noise
    rng = np.random.default_rng(0)
    states = rng.standard_normal((len(SCALES), layout.size)) * np.array(SCALES)[:, None]
    states[:, -1] = 1
    moved = states @ forms.astype(float).T
    cohorts = [replace(each, counts=crowd.of_clients(trace, each.counts)) for each in way.cohorts] if crowd else ()
    found = _on_tensors(kind, quiet, counts, layout, states, cohorts)
    allowed = AGREE * (np.abs(moved).max(1) + np.abs(states).max(1))[:, None] + ROUNDED * np.abs(states) @ sizes.T
    if not (np.abs(found - moved) < allowed).all():
        raise StepError(
            f"{place(kind.step)}: algorithm {kind.name}: on tensors step does something else than on exact forms: "
            "allowed is one that treats each replica alone and does not look at what its arguments are made of"
        )
    _CHECKED.add(key)
