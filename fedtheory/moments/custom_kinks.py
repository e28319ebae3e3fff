"""Runs of an algorithm of one's own on clients whose gradients have kinks: the law of the state, way by way.

The step is called on numbers, once for each state that may be, each cohort that may come, each way of its draws and
each sign of two-point noise. Runs that are certain have one way; others are followed over a few rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.algorithm import OwnRound
from ..algorithms.custom_algorithm import CLIENTS, MODEL, Outcomes, Refused, check_point, numbers_at, taken
from ..federations.federation import COMMON
from ..federations.piecewise import Piecewise
from ..functionals import AVERAGES, Functional
from .affine_numbers import Affine, Space
from .cohorts import law_of
from .exchangeable import noise_step
from .kinked_runs import piecewise
from .linear_rounds import NotClosed
from .participation_laws import phases_of
from .step_trace import FormRound, exactly

if TYPE_CHECKING:
    from ..setting import Setting

MOST_STATES, MOST_ROUNDS = 256, 200
"""The most states of a law that are followed, and the most rounds."""

State = tuple[Any, ...]


class NotWithKinks(NotClosed, Refused):
    """Error of an operation of a step that is not followed on clients with kinks, whatever they are."""


class PointRound(FormRound):
    """A round of one replica at one point, with given counts and draws, on clients with kinks."""

    def __init__(self, fed: Piecewise, space: Space, counts: tuple[int, ...], outcomes: Outcomes) -> None:
        super().__init__(space, counts, outcomes)
        self.fed = fed

    def gradient(self, x: Affine) -> Affine:
        fed, points = self._piecewise, self._points(x)
        common, step = fed.noise == COMMON, noise_step(fed)
        shared = self._signs(step) if common else None
        rows = []
        for i, here in enumerate(self.counts):
            lines = fed.gradients[fed.kind_of_client[i]]
            noise = (shared or self._signs(step)) if here else []
            rows.append([g(v) + n for g, v, n in zip(lines, points[i], noise, strict=False)] or self._nothing)
        return self.space.constant([rows])

    def train(self, start: Affine, local_lr: Any, local_steps: int = 1, proximal: Any = 0) -> Affine:
        sizes = local_lr if isinstance(local_lr, tuple) else (local_lr,) * int(local_steps)
        origin = self.space.constant([self._points(start)])
        y = origin
        for size in sizes:
            y = y - size * (self.gradient(y) + proximal * (y - origin))
        return self.present * (y - origin)

    def server_gradient(self, x: Affine) -> Affine:
        fed = self._piecewise
        check_point(x, Affine, ((1, fed.dimension),))
        noise = self._signs(noise_step(fed, server=True))
        means = zip(fed.mean_gradient, x.numbers[0], noise, strict=True)
        return self.space.constant([[mean(v) + n for mean, v, n in means]])

    def proximal(self, x: Affine, weight: Any) -> Affine:
        raise NotWithKinks("round.proximal: allowed are quadratic clients")

    def noise(self, size: Any, clients: bool = False) -> Affine:
        raise NotWithKinks("round.noise is Gaussian: runs with kinks are followed with two-point noise alone")

    @property
    def _piecewise(self) -> Piecewise:
        assert isinstance(self.fed, Piecewise)
        return self.fed

    @property
    def _nothing(self) -> list[Any]:
        return [Fraction(0)] * self._piecewise.dimension

    def _points(self, x: Affine) -> list[list[Any]]:
        """Where each client is."""
        clients, dimension = len(self.counts), self._piecewise.dimension
        check_point(x, Affine, ((1, dimension), (1, 1, dimension), (1, clients, dimension)))
        rows = x.numbers[0] if x.ndim == 3 else x.numbers
        return [list(rows[i if len(rows) > 1 else 0]) for i in range(clients)]

    def _signs(self, step: Fraction) -> list[Any]:
        """Two-point noise of this size in each coordinate."""
        if not step:
            return self._nothing
        half = [Fraction(1, 2)] * 2
        return [step * (1 - 2 * self.outcomes._one_of(half)) for _ in range(self._piecewise.dimension)]


def followed(setting: Setting, rounds: int, exact: bool = True) -> list[dict[State, Fraction]]:
    """Return the laws of the states (x, what is remembered) after 0, 1, ..., ``rounds`` rounds, by state.

    They are of Fractions if ``exact``, else of floats, and fewer where a run leaves the range of floats.

    Raises:
        NotClosed: there are more than ``MOST_STATES`` or ``MOST_ROUNDS``, or participants with a memory.
    """
    fed, process = piecewise(setting), setting.participation
    kind = setting.algorithm.kinds[0]
    assert isinstance(kind, OwnRound)
    if rounds > MOST_ROUNDS or not (process.independent_rounds or phases_of(process)):
        raise NotClosed(f"rounds = {rounds}: allowed with kinks are {MOST_ROUNDS}, with participants without a memory")
    phases, number = phases_of(process), (lambda v: v) if exact else float
    x = [number(v) for v in setting.exact_start]
    none = [number(Fraction(0))] * fed.dimension
    memory = [x if what == MODEL else none * (fed.clients if what == CLIENTS else 1) for _, what in kind.memory]
    laws: list[dict[State, Fraction]] = [{(tuple(x), *map(tuple, memory)): Fraction(1)}]
    for r in range(rounds):
        law = law_of(process if phases is None else phases.processes[phases.place(r)], fed.clients)
        now: dict[State, Fraction] = {}
        for state, chance in laws[-1].items():
            for counts, p in law:
                way: Outcomes | None = Outcomes()
                while way is not None:
                    after = _after(kind.at(r), fed, state, counts, way)
                    now[after] = now.get(after, Fraction(0)) + chance * p * way.probability
                    if len(now) > MOST_STATES:
                        raise NotClosed(f"more than {MOST_STATES} states after {r + 1} rounds with kinks")
                    way = way.next()
        if not exact and not all(isfinite(v) for state in now for part in state for v in part):
            break
        laws.append(now)
    return laws


def _after(kind: OwnRound, fed: Piecewise, state: State, counts: tuple[int, ...], way: Outcomes) -> State:
    space = Space(1, 1)
    x = space.constant([list(state[0])])
    memory = {}
    for (name, what), values in zip(kind.memory, state[1:], strict=True):
        array = np.array(values, dtype=object)
        memory[name] = space.constant(array.reshape(1, -1, fed.dimension) if what == CLIENTS else array[None])
    round = PointRound(fed, space, counts, way)
    moved, kept = taken(kind, x, memory, round, numbers_at(kind, kind.round, exactly))
    return tuple(tuple(each.numbers.ravel().tolist()) for each in (moved, *(kept[name] for name, _ in kind.memory)))


def values_at(
    setting: Setting, functional: Functional, horizons: Sequence[int], average: str = AVERAGES[0], exact: bool = True
) -> list[Any]:
    """Return the functional's value with R = each of the ascending ``horizons``: Fractions if ``exact``, else floats.

    They are of as many horizons as the run stays in the range of floats.

    Raises:
        NotClosed: as ``followed``, or it is of the mean of the iterates of a random run.

    >>> import fedtheory as ft
    >>> from fedtheory.functionals import FINAL_SQUARED_DISTANCE
    >>> huber = ft.federations.PiecewiseLinear([1, 2], [0])
    >>> step = lambda x, memory, round, *, local_lr: (x - local_lr * round.gradient(x).mean(1), {})
    >>> descent = ft.algorithms.own(step, name="descent", local_lr="1/4")
    >>> s = ft.Setting(ft.federations.Piecewise([[huber]]), descent, ft.participation.Fixed([0]), start=1)
    >>> [str(v) for v in values_at(s, FINAL_SQUARED_DISTANCE, [0, 1, 2])]  # x = 1, 1/2, 1/4
    ['1', '1/4', '1/16']
    """
    fed, laws = piecewise(setting), followed(setting, max(horizons), exact)
    number = (lambda v: v) if exact else float
    optimum = [number(v) for v in fed.exact_optimum]

    def of_point(x: Sequence[Any]) -> Any:
        if functional.observable == "squared_distance":
            return sum((v - o) * (v - o) for v, o in zip(x, optimum, strict=True))
        if functional.observable == "squared_gradient":
            slopes = [mean(v) for mean, v in zip(fed.mean_gradient, x, strict=True)]
            return sum(v * v for v in slopes)
        return number(fed.exact_gap(list(x)))

    def weighed(first: int, last: int, of: Any) -> Any:
        weights = [(functional.weights or (lambda r: 1))(r) for r in range(first, last)]
        return sum(w * of(r) for w, r in zip(weights, range(first, last), strict=True)) / sum(weights)

    def coordinate(r: int, j: int) -> Any:
        return next(iter(laws[r]))[0][j]

    each = [sum((number(p) * of_point(state[0]) for state, p in law.items()), number(Fraction(0))) for law in laws]
    found = []
    for R in (R for R in horizons if len(laws) > R):
        first, last = (1, R + 1) if average == AVERAGES[0] else (0, R)
        if functional.of_mean:
            if any(len(law) > 1 for law in laws):
                raise NotClosed("the mean of the iterates of a random run with kinks: allowed is a run that is certain")
            found.append(of_point([weighed(first, last, partial(coordinate, j=j)) for j in range(fed.dimension)]))
        elif functional.best:
            found.append(min(each[first:last]))
        else:
            found.append(weighed(first, last, each.__getitem__) if functional.average else each[R])
    return found
