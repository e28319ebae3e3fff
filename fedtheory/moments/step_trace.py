"""The trace of a step: a round of an algorithm of one's own as combinations of vectors, whatever the federation is.

The step is called on forms (``affine_numbers``) in the vectors that it is given, which are the model and what is
remembered, and in those that it is answered with when it asks: a gradient at a point, the way of a local training or
to a proximal point, the server's gradient, noise. What it returns is then a known combination of known vectors, and so
is each point at which it asks. Draws are told apart: there is a trace for each way in which they may come.

All that is computed of a step reads its traces: exact moments put a quadratic federation's maps for the answers
(``custom_rounds``), worst cases put unknown gradients that functions of a class may have
(``worstcase.step_geometry``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ..algorithms.algorithm import OwnRound
from ..algorithms.custom_algorithm import (
    CLIENTS,
    KnownCohort,
    Outcomes,
    Round,
    StepError,
    check_cohort,
    check_each,
    check_point,
    check_where,
    checked_chance,
    checked_size,
    checked_weight,
    numbers_at,
    taken,
)
from ..own import place
from ..quantities import check_values
from ..rationals import checked_count
from .affine_numbers import Affine, NotLinear, Space, exact_value
from .cohorts import Split, splits
from .linear_rounds import NotClosed

DEVIATION = -1
"""Number of the vector of a memory that tells how a client's differs from its entry's mean."""

GRADIENT, TRAINING, PROXIMAL, NOISES = "gradient", "training", "proximal point", "noise of each"
SERVER, NOISE = "server gradient", "noise"
"""Kinds of question: to each participant, or once for all."""

MOST_WAYS = 4096
"""The most cohorts and ways of a round's draws that are told apart."""


@dataclass(frozen=True)
class Question:
    """Question of a step to the clients, or to the server.

    Attributes:
        of: what, one of the six.
        points: at which each client (or the server) is asked, as rows of ``Trace`` are; none of noise.
        asked: the clients that answer, by number, or (0,) for one answer to all. Each answer is one more vector.
        numbers: of a training (local_lr, local_steps, proximal), of a proximal point (weight,), of noise (size,).
    """

    of: str
    points: Combinations | None
    asked: tuple[int, ...]
    numbers: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Combinations:
    """Combinations of the vectors of a trace, one in each row.

    Attributes:
        factors: (rows, D, columns), Fractions. In a trace ``by_coordinates`` a column is a vector, and entry (row, d)
            the factor of its coordinate d; else a column is a vector's coordinate. The column of 1 has constants.
        sizes: where forms know what was rounded, the same in floats if nothing cancelled: see ``Affine``.
    """

    factors: np.ndarray
    sizes: np.ndarray | None


@dataclass(frozen=True)
class Trace:
    """Round of a step with one way of its draws, as combinations of vectors.

    The vectors are x, what is remembered by name (of each client where it is of ``CLIENTS``), the number 1, and the
    answers in the order in which they come. Of a crowd that is remembered client by client,
    an entry's vector is the mean of its clients', and one more of each memory, after it, and of each question to the
    clients, is how a client's differs from that (``DEVIATION``).

    Attributes:
        counts: how often each client takes part; of a crowd, each client of an entry.
        copies: for how many clients each entry stands.
        given: of which of the entries that were given each one is a part, the first of the first: cohorts that a step
            draws divide those of a crowd.
        dimension: D of the vectors that the step was shown.
        known: the vectors before the answers, as (name, number among those of the name), without the number 1.
        questions: what it asks for, in order.
        returned: x and what is remembered after the round, by name.
        probability: of this way of the draws.
        by_coordinates: whether each coordinate follows from the same coordinate of the vectors alone.
    """

    counts: tuple[int, ...]
    copies: tuple[int, ...]
    given: tuple[int, ...]
    dimension: int
    known: tuple[tuple[str, int], ...]
    questions: tuple[Question, ...]
    returned: dict[str, Combinations]
    probability: Fraction
    by_coordinates: bool

    @property
    def deviates(self) -> bool:
        """Whether there are vectors of how clients differ from those that their entry stands for."""
        return any(number == DEVIATION for _, number in self.known)

    @property
    def width(self) -> int:
        """The columns of a vector."""
        return 1 if self.by_coordinates else self.dimension

    @property
    def place_of_one(self) -> int:
        """The column of the number 1."""
        return len(self.known) * self.width

    def factors(self, name: str, row: int = 0) -> list[Fraction]:
        """Return the factors of the vectors in what is returned, if they are the same in every coordinate.

        Raises:
            ValueError: they are not.
        """
        return _same(self.by_coordinates, self.returned[name])[row]

    def everywhere(self) -> tuple[Any, ...]:
        """Return all that is asked and returned, with one factor for each vector, if every coordinate has the same.

        Raises:
            ValueError: it is not.
        """
        asked = [
            (each.of, each.asked, each.numbers, each.points and _same(self.by_coordinates, each.points))
            for each in self.questions
        ]
        return asked, {name: _same(self.by_coordinates, of) for name, of in self.returned.items()}


def _same(by_coordinates: bool, of: Combinations) -> list[list[Fraction]]:
    if not by_coordinates:
        raise ValueError("tells coordinates apart")
    if (of.factors != of.factors[:, :1]).any():
        raise ValueError("does not treat all coordinates alike")
    return [list(row) for row in of.factors[:, 0]]


class FormRound(Round):
    """A round of one replica on forms, with given counts and draws; what is asked for is left open."""

    def __init__(self, space: Space, counts: tuple[int, ...], outcomes: Outcomes) -> None:
        self.space, self.outcomes = space, outcomes
        self.copies = space.crowd or (1,) * len(counts)
        self.clients = sum(self.copies)
        self._take(counts)

    def _take(self, counts: tuple[int, ...]) -> None:
        """Note the participants."""
        space, self.counts = self.space, counts
        self.here = tuple(i for i, n in enumerate(counts) if n > 0)
        total = sum(n * m for n, m in zip(counts, self.copies, strict=True))
        self.count = space.constant([[[Fraction(n)] for n in counts]])
        self.share = self.count * Fraction(1, max(1, total))
        self.present = space.constant([[[Fraction(int(n > 0))] for n in counts]])
        self.somebody = space.constant([[Fraction(int(total > 0))]])

    def cohort(self, size: int, where: Any = 1, replacement: bool = False) -> FormRound:
        check_cohort(size, self.clients, replacement)
        asked = _is_one(where)
        if self.space.crowd and asked:
            return self._with(self._of_crowd(size, replacement))
        return self._with(self.outcomes.cohort(self.clients, size, replacement, asked) or self.counts)

    def _with(self, counts: tuple[int, ...]) -> FormRound:
        """This round with these participants."""
        found = copy(self)
        found._take(counts)
        return found

    def _of_crowd(self, size: int, replacement: bool) -> tuple[int, ...]:
        """How often each client of an entry is in a cohort; it is refused here."""
        raise self._each_is_told("round.cohort")

    def each(self, values: Sequence[Any]) -> Affine:
        check_each(values, self.clients)
        self._of_each("round.each")
        return self.space.constant(np.array([[[_number(value)] for value in values]], dtype=object))

    def _of_each(self, operation: str) -> None:
        """Refuse what tells the clients of a crowd apart."""
        if self.space.crowd:
            raise self._each_is_told(operation)

    def _each_is_told(self, operation: str) -> NotLinear:
        return self.space.constant([Fraction(0)])._refused(f"{operation}, of each client of a crowd")

    def draw(self, probability: Any, clients: bool = False) -> Affine:
        chance = checked_chance(_number(probability))
        if clients:
            self._of_each("round.draw")
        found = self.outcomes.draws(chance, [n > 0 for n in self.counts] if clients else [True])
        values = np.array(found, dtype=object) * Fraction(1)
        return self.space.constant(values[None, :, None] if clients else values[None])

    def permutation(self, number: int) -> list[Affine]:
        self._of_each("round.permutation")
        items = np.arange(checked_count("number", number))
        places = ((items == item).astype(int).astype(object) * Fraction(1) for item in self.outcomes.order(number))
        return [self.space.constant(place[None, :, None]) for place in places]


class TracedRound(FormRound):
    """A round whose answers are vectors that nothing is known of."""

    def __init__(self, space: Space, counts: tuple[int, ...], outcomes: Outcomes, dimension: int) -> None:
        super().__init__(space, counts, outcomes)
        self.dimension, self.questions = dimension, []  # type: ignore[var-annotated]
        self.deviating = bool(space.deviations)

    def _of_crowd(self, size: int, replacement: bool) -> tuple[int, ...]:
        if self.deviating:  # those of a part have another mean than those of the entry
            return super()._of_crowd(size, replacement)
        if (known := self.outcomes.known_cohort()) is not None:
            return known
        ways = splits(self.copies, size, replacement, most=MOST_WAYS)
        self.space.divided = ways[self.outcomes.choose(len(ways))], len(ways)
        return super()._of_crowd(size, replacement)

    def train(self, start: Affine, local_lr: Any, local_steps: int = 1, proximal: Any = 0) -> Affine:
        check_values({"local_steps": local_steps})
        sizes = tuple(map(_number, local_lr)) if isinstance(local_lr, tuple) else _number(local_lr)
        return self._of_clients(TRAINING, start, (sizes, int(local_steps), _number(proximal)))

    def gradient(self, x: Affine) -> Affine:
        return self._of_clients(GRADIENT, x)

    def proximal(self, x: Affine, weight: Any) -> Affine:
        rho = _number(weight)
        checked_weight(rho)
        return self._of_clients(PROXIMAL, x, (rho,))

    def server_gradient(self, x: Affine) -> Affine:
        check_point(x, Affine, ((1, self.dimension),))
        points = self._points(x, 1)
        return self._asked(Question(SERVER, points, (0,)), 1)._arranged(lambda forms: forms[:, 0])

    def noise(self, size: Any, clients: bool = False) -> Affine:
        scale = checked_size(_number(size))
        if clients:
            return self._asked(Question(NOISES, None, self.here, (scale,)), len(self.counts))
        return self._asked(Question(NOISE, None, (0,), (scale,)), 1)._arranged(lambda forms: forms[:, 0])

    def _of_clients(self, of: str, x: Any, numbers: tuple[Any, ...] = ()) -> Affine:
        points = self._points(x, len(self.counts))
        return self._asked(Question(of, points, self.here, numbers), len(self.counts))

    def _points(self, x: Any, rows: int) -> Combinations:
        """The point of each client, or of the server, in all columns that there are."""
        D = self.dimension
        check_point(x, Affine, ((1, D), (1, self.clients, D)))
        whole = x.all_columns()
        if x.ndim == 2:
            whole = whole._arranged(lambda forms: np.broadcast_to(forms[:, None], (1, rows, *forms.shape[1:])))
        return Combinations(whole.forms[0], None if whole.sizes is None else whole.sizes[0])

    def _asked(self, question: Question, rows: int) -> Affine:
        """The answers, (1, rows, D): a new vector for each that is asked, 0 for others."""
        self.questions.append(question)
        width = 1 if self.space.coordinates else self.dimension
        begin = self.space.columns
        self.space.noise(width * len(question.asked))
        own = None
        if self.deviating and question.of not in (SERVER, NOISE):
            own = _deviation(self.space, self.space.noise(width).start, width)
        return _vectors(self.space, begin, self.dimension, question.asked, rows, own)


def _deviation(space: Space, begin: int, width: int) -> int:
    """Note the columns from ``begin`` on as those of a deviation, and return where they begin."""
    space.deviations.extend(range(begin, begin + width))
    return begin


def _vectors(
    space: Space, begin: int, dimension: int, places: Sequence[int], rows: int, own: int | None = None
) -> Affine:
    """Vectors whose columns begin at ``begin``, in these places of (1, rows, D); each with the deviation whose columns
    begin at ``own``."""
    forms = np.full((1, rows, dimension, space.columns), Fraction(0), dtype=object)
    for k, i in enumerate(places):
        for d in range(dimension):
            forms[0, i, d, begin + (k if space.coordinates else k * dimension + d)] = Fraction(1)
            if own is not None:
                forms[0, i, d, own + (0 if space.coordinates else d)] = Fraction(1)
    return Affine(space, forms)


def _is_one(where: Any) -> bool:
    """Whether a number that was drawn, of the one replica, is 1.

    Raises:
        ValueError: it depends on the state, or is neither 0 nor 1.
    """
    if isinstance(where, Affine):
        check_point(where, Affine, ((1, 1),), "where")
        if not where.fixed:
            raise where._refused("round.cohort, where it depends on the state or the noise")
        where = where.numbers[0, 0]
    return bool(check_where(where))


def _number(value: Any) -> Fraction:
    """A number that a step hands on, exactly.

    Raises:
        ValueError: it is irrational, or depends on the state.
    """
    if isinstance(value, Affine):
        raise value._refused("a number that round is given and that depends on the round")
    return exact_value(value)


def exactly(value: Any) -> Fraction:
    """Return a number of the algorithm in Fractions.

    Raises:
        NotLinear: it is irrational.
    """
    if isinstance(value, float):
        raise NotLinear(f"has the irrational number {value}: allowed for exact moments are rational ones")
    return Fraction(value)


@lru_cache(maxsize=4096)  # rounds by rule are a thousand, of which each has its own
def traces(kind: OwnRound, counts: tuple[int, ...], dimension: int, crowd: tuple[int, ...] = ()) -> tuple[Trace, ...]:
    """Return the traces of a round with these counts: one for each way in which the draws may come.

    Args:
        counts: how often each client takes part; of a crowd, each entry of it.
        dimension: D.
        crowd: for how many clients each entry of ``counts`` stands; empty: one each.

    Raises:
        NotLinear: the step is not affine in what it is given and answered, as far as it is followed; it is said where.
        StepError: it does not do what a step has to, or does something else when it is called again.
        NotClosed: there are more than ``MOST_WAYS`` ways.

    >>> from fedtheory.algorithms import fedlin
    >>> (found,) = traces(fedlin(local_lr="1/10").round, (1, 1), 1)
    >>> [(each.of, each.asked) for each in found.questions]
    [('gradient', (0, 1)), ('gradient', (0, 1))]
    >>> [str(each) for each in found.factors("x")]  # of x, 1, and the gradients
    ['1', '0', '0', '0', '-1/20', '-1/20']
    """
    found: list[Trace] = []
    way: Outcomes | None = Outcomes()
    while way is not None:
        if len(found) == MOST_WAYS:
            raise too_many(kind)
        trace, way = traced(kind, counts, dimension, way, crowd)
        if way.number > MOST_WAYS:
            raise too_many(kind)
        again, _ = traced(kind, counts, dimension, way.again(), crowd)
        _check_same(kind, trace, again)
        found.append(trace)
        way = way.next()
    return tuple(found)


def check_unchanged(kind: OwnRound, clients: int) -> None:
    """Raise ``StepError`` if a step does something else than when this was first asked of it, with so many clients."""
    before = _first_traced(kind, clients)
    _check_same(kind, before, traced(kind, (1,) * clients, 1, Outcomes())[0])


@lru_cache(maxsize=64)
def _first_traced(kind: OwnRound, clients: int) -> Trace:
    return traced(kind, (1,) * clients, 1, Outcomes())[0]


def _check_same(kind: OwnRound, one: Trace, other: Trace) -> None:
    if _differ(one, other):
        raise StepError(
            f"{place(kind.step)}: algorithm {kind.name}: two calls of step with the same arguments return "
            "different things: allowed is a step that keeps nothing outside its memory and draws nothing by itself"
        )


def too_many(kind: OwnRound) -> NotClosed:
    """Return the error of a step whose draws come in more ways than are told apart."""
    return NotClosed(
        f"{place(kind.step)}: algorithm {kind.name}: its draws come in more than {MOST_WAYS} ways: allowed for exact "
        "moments are fewer"
    )


def traced(
    kind: OwnRound,
    counts: tuple[int, ...],
    dimension: int,
    way: Outcomes,
    crowd: tuple[int, ...] = (),
    rounding: bool = False,
) -> tuple[Trace, Outcomes]:
    """Call the step once, and return its trace with this way of its draws, and the way.

    Raises:
        NotLinear, StepError: as ``traces``.
    """
    known = [("x", 0)]
    for name, what in kind.memory:
        known += [(name, i) for i in range(len(counts) if what == CLIENTS else 1)]
        known += [(name, DEVIATION)] if crowd and what == CLIENTS else []
    for coordinates in (dimension, 0):
        space = Space.of(len(known), dimension, coordinates, rounding, crowd)
        try:
            trace = called(kind, counts, tuple(known), space, dimension, way)
        except ValueError:
            if not space.mixed and not space.divided:
                raise
        if space.divided:
            return _of_parts(kind, counts, dimension, way, crowd, rounding, *space.divided)
        if not space.mixed:  # nor in what the step caught
            return trace, way
        way = way.again(way.cohorts)
    raise AssertionError("a space of single coordinates mixes none")


def _of_parts(
    kind: OwnRound,
    counts: tuple[int, ...],
    dimension: int,
    way: Outcomes,
    crowd: tuple[int, ...],
    rounding: bool,
    split: Split,
    ways: int,
) -> tuple[Trace, Outcomes]:
    """``traced``, of a step that draws a cohort which divides the entries of a crowd, with their parts in their place.

    Args:
        split: how it does so, one of so many ways.
    """
    parts = [(entry, times, clients) for entry, of in enumerate(split.groups) for times, clients in of]

    def of_parts(each: Sequence[int]) -> tuple[int, ...]:
        return tuple(each[entry] for entry, _, _ in parts)

    before = [replace(each, counts=of_parts(each.counts)) for each in way.cohorts]
    drawn = KnownCohort(tuple(times for _, times, _ in parts), split.probability, ways)
    again = way.again([*before, drawn])
    trace, way = traced(kind, of_parts(counts), dimension, again, tuple(n for _, _, n in parts), rounding)
    return replace(trace, given=tuple(parts[i][0] for i in trace.given)), way


def called(
    kind: OwnRound,
    counts: tuple[int, ...],
    known: tuple[tuple[str, int], ...],
    space: Space,
    dimension: int,
    way: Outcomes,
    shown: type[TracedRound] = TracedRound,
) -> Trace:
    """Call the step once, with vectors of this space and the round as it is ``shown``, and return its trace.

    Raises:
        NotLinear, StepError: as ``traces``.
    """
    width, many = 1 if space.coordinates else dimension, dict(kind.memory)
    rows = {"x": 1} | {name: len(counts) if what == CLIENTS else 1 for name, what in many.items()}
    given = {}
    for name, number in rows.items():
        deviates = space.crowd and many.get(name) == CLIENTS
        own = _deviation(space, known.index((name, DEVIATION)) * width, width) if deviates else None
        each = _vectors(space, known.index((name, 0)) * width, dimension, range(number), number, own)
        given[name] = each if many.get(name) == CLIENTS else each._arranged(lambda forms: forms[:, 0])
    round = shown(space, counts, way, dimension)
    try:
        numbers = numbers_at(kind, kind.round, exactly)
    except NotLinear as error:
        raise error.at(f"{place(kind.step)}: algorithm {kind.name}") from None
    moved, kept = taken(kind, given.pop("x"), given, round, numbers)
    if space.refused is not None:
        raise space.refused.at(f"{place(kind.step)}: algorithm {kind.name}")
    returned = {}
    for name, each in {"x": moved, **kept}.items():
        whole = each.all_columns()
        shape = (rows[name], dimension, space.columns)
        returned[name] = Combinations(
            whole.forms.reshape(shape), None if whole.sizes is None else whole.sizes.reshape(shape)
        )
    copies, parts = space.crowd or (1,) * len(counts), tuple(range(len(counts)))
    asked, by_coordinates = tuple(round.questions), bool(space.coordinates)
    return Trace(counts, copies, parts, dimension, known, asked, returned, way.probability, by_coordinates)


def _differ(one: Trace, other: Trace) -> bool:
    """Whether two traces are not the same."""

    def parts(trace: Trace) -> Iterator[np.ndarray]:
        for question in trace.questions:
            if question.points is not None:
                yield question.points.factors
        yield from (each.factors for each in trace.returned.values())

    asked = [[(each.of, each.asked, each.numbers) for each in trace.questions] for trace in (one, other)]
    if asked[0] != asked[1] or one.by_coordinates != other.by_coordinates:
        return True
    pairs = zip(parts(one), parts(other), strict=True)
    return any(mine.shape != theirs.shape or (mine != theirs).any() for mine, theirs in pairs)
