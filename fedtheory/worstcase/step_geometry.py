"""Points of rounds of one's own steps, as combinations of a few vectors.

The rounds are followed along every way in which cohorts and draws may come, by the traces of the step
(``moments.step_trace``). Along a way the model and what is remembered are combinations, with rational factors, of the
start, of the clients' gradients at x*, and of their gradients at the points at which the step asks. A point is known by
its combination: where two ways ask a client at one point, there is one gradient. An expectation is the mean over the
ways, by their probabilities. All ways are of one federation, so each client's gradients at all its points, whatever the
way, are of one function.

Units, and the change of basis that keeps small steps well conditioned, are those of ``geometry``: here every client is
an orbit of its own, and there is one Gram matrix.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.algorithm import OwnRound
from ..algorithms.custom_algorithm import CLIENTS, MODEL
from ..moments.step_trace import (
    GRADIENT,
    NOISE,
    NOISES,
    PROXIMAL,
    SERVER,
    TRAINING,
    Combinations,
    Question,
    Trace,
    traces,
)
from ..own import place
from .geometry import Orbit, Outcome, PathPoint, Units

Array = np.ndarray
Law = list[tuple[tuple[int, ...], Fraction]]
"""Pairs of how often each client takes part, and the probability of that."""

Symbol = tuple[Any, ...]
"""A vector of which nothing is known: ("start",), or ("gradient", client, number of its point)."""

START: Symbol = ("start",)
MOST_WAYS = 1024
"""The most ways that are followed."""


class Combination(dict[Symbol, Fraction]):
    """Combination of vectors, by vector; those with the factor 0 are left out."""

    def plus(self, other: Combination, times: Any = 1) -> Combination:
        """Return self + times * other."""
        found = Combination(self)
        for symbol, factor in other.items():
            total = found.get(symbol, Fraction(0)) + times * factor
            if total:
                found[symbol] = total
            else:
                found.pop(symbol, None)
        return found

    @property
    def key(self) -> frozenset[tuple[Symbol, Fraction]]:
        """The same, to compare with."""
        return frozenset(self.items())


@dataclass(frozen=True)
class Way:
    """A way that the rounds may take so far: its probability, the model relative to x*, and what is remembered."""

    probability: Fraction
    x: Combination
    memory: dict[tuple[str, int], Combination]


@dataclass
class NamedPoint:
    """A point at which a client is asked for its gradient.

    Attributes:
        base: where it is; of a proximal point, from where.
        pull: 0, or 1/weight of a proximal point: the point is at base - pull times the gradient there.
    """

    base: Combination
    pull: Fraction = Fraction(0)


class StepRounds:
    """Rounds of a step along all ways in which they may come.

    Attributes:
        points: each client's points, of which the first is x*, (clients lists).
        server: whether the step asks for the server's gradient.
        order: (client, number) of the others, each after those of which it is a combination.
        shown: for each round, and the end, the ways, and the number of each client's point at the way's model, or
            ``None`` where not all are asked there.
    """

    def __init__(
        self, kind: OwnRound, clients: int, law: Law, rounds: int, asked: Collection[int], from_optimum: bool
    ) -> None:
        self.kind, self.clients, self.law = kind, clients, law
        self.points: list[list[NamedPoint]] = [[NamedPoint(Combination())] for _ in range(clients)]
        self.order: list[tuple[int, int]] = []
        self.server = False
        self._numbers: dict[Any, int] = {(i, Combination().key, Fraction(0)): 0 for i in range(clients)}
        self.shown: list[list[tuple[Way, list[int] | None]]] = []
        start = Combination() if from_optimum else Combination({START: Fraction(1)})
        memory = {
            (name, i): start if what == MODEL else Combination()
            for name, what in kind.memory
            for i in range(clients if what == CLIENTS else 1)
        }
        self._check_ways(len(law) ** rounds)
        ways = [Way(Fraction(1), start, memory)]
        for r in range(rounds + 1):
            self.shown.append([(way, self._at_all(way.x) if r in asked else None) for way in ways])
            if r < rounds:
                ways = self._after(kind.at(r), ways)

    def _check_ways(self, number: int) -> None:
        if number > MOST_WAYS:
            raise ValueError(
                f"algorithm {self.kind.name}: cohorts and draws come in more than {MOST_WAYS} ways: allowed are fewer "
                "rounds, or clients"
            )

    def _at_all(self, x: Combination) -> list[int]:
        return [self._number(i, x) for i in range(self.clients)]

    def _number(self, client: int, base: Combination, pull: Fraction = Fraction(0)) -> int:
        """The number of a client's point."""
        key = (client, base.key, pull)
        if key not in self._numbers:
            self._numbers[key] = len(self.points[client])
            self.points[client].append(NamedPoint(base, pull))
            self.order.append((client, self._numbers[key]))
        return self._numbers[key]

    def _gradient(self, client: int, base: Combination, pull: Fraction = Fraction(0)) -> Combination:
        """The client's gradient there, as a vector."""
        return Combination({("gradient", client, self._number(client, base, pull)): Fraction(1)})

    def _after(self, kind: OwnRound, ways: list[Way]) -> list[Way]:
        """The ways after one more round; those that come to the same are one."""
        found: dict[Any, Way] = {}
        for way in ways:
            for counts, p in self.law:
                for trace in self._traces(kind, counts):
                    moved = self._moved(trace, way, way.probability * p * trace.probability)
                    key = (moved.x.key, tuple(each.key for each in moved.memory.values()))
                    before = found[key].probability if key in found else Fraction(0)
                    found[key] = Way(moved.probability + before, moved.x, moved.memory)
                    self._check_ways(len(found))
        return list(found.values())

    def _traces(self, kind: OwnRound, counts: tuple[int, ...]) -> tuple[Trace, ...]:
        """The traces in two dimensions, if those in three are the same: that is what makes them those of every one."""
        found = traces(kind, counts, 2)
        for trace, other in zip(found, traces(kind, counts, 3), strict=True):
            try:
                if trace.everywhere() != other.everywhere():
                    raise ValueError("depends on the number of dimensions")
            except ValueError as error:
                raise self._refused(str(error)) from None
        return found

    def _refused(self, why: str) -> ValueError:
        return ValueError(
            f"{place(self.kind.step)}: algorithm {self.kind.name}: {why}: allowed for worst cases is a step that is "
            "the same in every dimension and wherever the origin is"
        )

    def _moved(self, trace: Trace, way: Way, probability: Fraction) -> Way:
        known: list[Combination | None] = []
        for name, number in trace.known:
            known.append(way.x if name == "x" else way.memory[name, number])
        known.append(None)  # the number 1
        for question in trace.questions:
            known += self._answers(trace, question, known)
        memory, x = {}, Combination()
        kinds = dict(self.kind.memory)
        for name, of in trace.returned.items():
            for row in range(len(of.factors)):
                moved = self._combined(trace, of, row, known, name == "x" or kinds[name] == MODEL)
                if name == "x":
                    x = moved
                else:
                    memory[name, row] = moved
        return Way(probability, x, memory)

    def _combined(
        self, trace: Trace, of: Combinations, row: int, known: list[Combination | None], point: bool
    ) -> Combination:
        """A combination of what is known; of points, relative to x*."""
        factors, kinds = of.factors[row][0], dict(self.kind.memory)
        of_points = [name == "x" or kinds[name] == MODEL for name, _ in trace.known]
        origin = sum((f for f, each in zip(factors, of_points, strict=False) if each), Fraction(0))
        if origin != int(point) or factors[trace.place_of_one]:
            raise self._refused("depends on where the origin is")
        found = Combination()
        for factor, vector in zip(factors, known, strict=False):
            if factor and vector is not None:
                found = found.plus(vector, factor)
        return found

    def _answers(self, trace: Trace, question: Question, known: list[Combination | None]) -> Iterator[Combination]:
        """The vectors of a question's answers."""
        if question.of in (NOISE, NOISES):
            if question.numbers[0]:
                where = f"{place(self.kind.step)}: algorithm {self.kind.name}"
                raise ValueError(f"{where}: round.noise({question.numbers[0]}): allowed for worst cases is 0")
            yield from [Combination()] * len(question.asked)
            return
        assert question.points is not None
        for i in question.asked:
            base = self._combined(trace, question.points, i, known, True)
            if question.of == SERVER:
                self.server = True
                total = Combination()
                for client in range(self.clients):
                    total = total.plus(self._gradient(client, base), Fraction(1, self.clients))
                yield total
            elif question.of == GRADIENT:
                yield self._gradient(i, base)
            elif question.of == PROXIMAL:
                (weight,) = question.numbers
                yield Combination().plus(self._gradient(i, base, 1 / weight), -1 / weight)
            else:
                assert question.of == TRAINING
                yield self._trained(i, base, *question.numbers)

    def _trained(self, client: int, start: Combination, local_lr: Any, steps: int, proximal: Fraction) -> Combination:
        moved = Combination()
        for size in local_lr if isinstance(local_lr, tuple) else (local_lr,) * steps:
            gradient = self._gradient(client, start.plus(moved))
            moved = moved.plus(gradient.plus(moved, proximal), -size)
        return moved


class StepGeometry:
    """Points of a step's rounds with their vectors, in the numbers of ``Units``: see ``geometry.Geometry``, whose face
    it has.

    Attributes:
        rounds: the rounds that are followed.
        size: n, of the basis vectors: the start's distance, the gradients at x*, and changes of h from point to point.
        counted: the points that a metric is of, by their numbers in ``together``, with their probabilities.
        outcomes: of all rounds together, one for each way.
    """

    names: tuple[()] = ()

    def __init__(self, rounds: StepRounds, units: Units) -> None:
        self.rounds, self.units, M = rounds, units, rounds.clients
        self.rigid = units.condition == 1
        stars = M - 1 if units.dissimilarity != 0 else 0
        self.size = 1 + stars + (0 if self.rigid else len(rounds.order))
        self.blocks = [slice(0, self.size)]
        self.orbits = [Orbit(1 / M, 1, slice(self.size, self.size))] * M
        self._vectors: dict[Symbol, Array] = {START: self._basis(0) * units.distance}
        self.paths = [[self._optimum(i, stars)] for i in range(M)]
        for k, (client, number) in enumerate(rounds.order):
            self._add(client, number, 1 + stars + k)
        self.start = self._vectors[START]
        self.together = [[0] * M]
        self.counted: list[tuple[int, float]] = []
        self.by_round: list[list[tuple[int, float]]] = []
        for ways in rounds.shown:
            shown = [(way, places) for way, places in ways if places is not None]
            self.by_round.append([(len(self.together) + k, float(way.probability)) for k, (way, _) in enumerate(shown)])
            self.together += [places for _, places in shown]
        start = rounds.shown[0][0][0].x
        self.outcomes = []
        for way, _ in rounds.shown[-1]:
            moved = self._of(way.x.plus(start, -1))
            self.outcomes.append(Outcome(float(way.probability), self.start + moved, moved))

    def _basis(self, k: int) -> Array:
        found = np.zeros(self.size)
        found[k] = 1.0
        return found

    def _of(self, combination: Combination) -> Array:
        """The vector of a combination, (n,)."""
        found = np.zeros(self.size)
        for symbol, factor in combination.items():
            found = found + float(factor) * self._vectors[symbol]
        return found

    def _optimum(self, client: int, stars: int) -> PathPoint:
        """x*, with the client's gradient there; the mean of all clients' is 0."""
        zeros, size = np.zeros(self.size), self.units.dissimilarity or 1.0
        star = zeros
        if stars:
            star = (
                self._basis(1 + client) if client < stars else -sum((self._basis(1 + i) for i in range(stars)), zeros)
            )
        self._vectors["gradient", client, 0] = star * size * float(self.units.smoothness)
        return PathPoint(-1, zeros, star * size, zeros, zeros, 1.0)

    def _add(self, client: int, number: int, k: int) -> None:
        """Add a point after that of the same client's to which it is closest."""
        L, mu, named = float(self.units.smoothness), self.units.condition, self.rounds.points[client]
        point, path = named[number], self.paths[client]
        ways = [self._length(point, each) for each in named[:number]]
        parent = int(np.argmin(ways))
        scale = min(1.0, ways[parent]) or 1.0
        before = path[parent]
        change = np.zeros(self.size) if self.rigid else self._basis(k) * scale
        h, pull = before.h + change, float(point.pull) * L
        x = (self._of(point.base) - pull * h) / (1 + pull * mu)
        self._vectors["gradient", client, number] = L * (h + mu * x)
        if named[parent].pull or pull:
            step = x - before.x
        else:
            step = self._of(point.base.plus(named[parent].base, -1))
        self.paths[client].append(PathPoint(parent, x, h, step, change, scale, (0, number)))

    def _length(self, one: NamedPoint, other: NamedPoint) -> float:
        """A rough distance between two points."""
        L = float(self.units.smoothness)
        total = sum(
            abs(float(factor)) * (self.units.distance if symbol == START else L)
            for symbol, factor in one.base.plus(other.base, -1).items()
        )
        return total + L * abs(float(one.pull - other.pull))

    def mean(self, rows: Array) -> Array:
        """Return the mean over all clients, of (clients, n): (n,)."""
        found: Array = np.mean(rows, axis=0)
        return found
