"""Deterministic runs on federations with piecewise linear gradients, to any horizon.

Coordinates move on their own. A pattern of pieces says which piece of which gradient each local step sees. Within one
pattern a cycle of rounds is an affine map x -> x^ + alpha (x - x^). Where no step overshoots (local_lr * slope <= 1)
every map of a step is nondecreasing, so a pattern holds on an interval. Hence a run whose pattern is that of x^ keeps
it for ever, on its way to x^, and the rest of the run is a geometric series. Until then it is followed cycle by cycle.

Numbers are floats, or balls (python-flint), in which every comparison is proven or left open.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.algorithm import ClientRound, Kind, ServerRound
from ..federations.piecewise import Piecewise, PiecewiseLinear
from ..functionals import AVERAGES, Functional, check_among_errors
from ..participation import Fixed

if TYPE_CHECKING:
    from ..setting import Setting

LONGEST = 3000
"""The most cycles that are followed one by one."""


def piecewise(setting: Setting) -> Piecewise:
    """Return the setting's federation; raise ``ValueError`` unless its gradients are piecewise linear."""
    if not isinstance(setting.federation, Piecewise):
        raise ValueError(f"federation is {type(setting.federation).__name__}: allowed is Piecewise")
    return setting.federation


def counts_of_members(setting: Setting) -> list[int]:
    """Count the fixed participants of each kind of client.

    Raises:
        ValueError: the participation is not ``Fixed``.
    """
    fed = piecewise(setting)
    if not isinstance(setting.participation, Fixed):
        raise ValueError(f"participation is {type(setting.participation).__name__}: allowed is Fixed")
    members = setting.participation.members

    def count() -> list[int]:
        return np.bincount(fed.kind_of_client[list(members)], minlength=len(fed.gradients)).tolist()

    return list(setting.once("counts of members", count))


class Line:
    """A piecewise linear function in floats or balls."""

    def __init__(self, of: PiecewiseLinear, number: Any) -> None:
        self.breakpoints, self.slopes, self.intercepts = (
            [number(v) for v in values] for values in (of.breakpoints, of.slopes, of.intercepts)
        )
        self.rises = [number(d) for _, d in of.hinges]
        self.in_floats = number is float

    def piece(self, y: Any) -> int | None:
        """Return the piece that y lies on; ``None`` where a ball does not tell."""
        if self.in_floats:
            return bisect_left(self.breakpoints, y)
        for place, t in enumerate(self.breakpoints):
            if y < t:
                return place
            if not y > t:
                return None
        return len(self.breakpoints)

    def on(self, piece: int | None, y: Any) -> Any:
        """Evaluate the function at ``y``, on the given piece if it is known."""
        if piece is not None:
            return self.intercepts[piece] + self.slopes[piece] * y
        value = self.intercepts[0] + self.slopes[0] * y
        for t, rise in zip(self.breakpoints, self.rises, strict=True):
            value = value + rise * (y - t).max(y * 0)
        return value

    def __call__(self, y: Any) -> Any:
        return self.on(self.piece(y), y)


@dataclass(frozen=True)
class Motion:
    """Move of one coordinate in one kind of round.

    x becomes the sum of ``weight`` times what ``steps`` gradient steps of size ``lr`` down ``line`` make of it.
    """

    parts: tuple[tuple[Any, Line, Any, int], ...]

    def moved(self, x: Any) -> tuple[Any, Any, Any, tuple[int, ...] | None]:
        """Follow one round from x.

        Returns:
            the end; the end less x; 1 - the derivative; and the pattern. Without a pattern there is no derivative.
        """
        end = move = share = x * 0
        pattern: list[int] | None = []
        for weight, line, lr, steps in self.parts:
            y, own_move, own_share = x, x * 0, x * 0
            for _ in range(steps):
                piece = line.piece(y)
                gradient = line.on(piece, y)
                own_move = own_move - lr * gradient
                if piece is None:
                    pattern, y = None, y - lr * gradient
                else:
                    pull = lr * line.slopes[piece]
                    y = (1 - pull) * y - lr * line.intercepts[piece]
                    own_share = own_share + (1 - own_share) * pull
                    if pattern is not None:
                        pattern.append(piece)
            end, move, share = end + weight * y, move + weight * own_move, share + weight * own_share
        return end, move, share, None if pattern is None else tuple(pattern)

    @property
    def monotone(self) -> bool:
        """Whether no step overshoots, so that more stays more."""
        return all(lr * slope <= 1 for _, line, lr, _ in self.parts for slope in line.slopes)


def motion(setting: Setting, kind: Kind, coordinate: int, number: Any) -> Motion:
    """Return the move of a round of this kind with everyone, or with the fixed participants.

    Raises:
        ValueError: its cohort is drawn, or it is more than SGD and a mean.
    """
    fed = piecewise(setting)
    if isinstance(kind, ServerRound):
        line = Line(fed.mean_gradient[coordinate], number)
        return Motion(((number(Fraction(1)), line, number(kind.server_lr), kind.steps),))
    check_plain(kind)
    counts = list(fed.multiplicities)
    if kind.uniform is None:
        counts = counts_of_members(setting)
    elif kind.uniform.cohort != fed.clients or kind.uniform.replacement:
        raise ValueError("cohort is drawn: allowed is a deterministic run")
    total = sum(counts)
    return Motion(
        tuple(
            (number(Fraction(count, total)), Line(row[coordinate], number), number(kind.local_lr), kind.local_steps)
            for count, row in zip(counts, fed.gradients, strict=True)
            if count
        )
    )


def check_plain(kind: ClientRound) -> None:
    """Raise ``ValueError`` unless a round is SGD and a mean."""
    if not kind.plain:
        raise ValueError(f"{kind}: allowed is a round of SGD whose models are averaged")


def alike(setting: Setting) -> bool:
    """Whether all runs with the same order of kinds are the same: no noise, and no cohort is drawn."""
    fed = piecewise(setting)
    server = setting.has_server_rounds and fed.server_noise > 0
    drawn = any(own.cohort < fed.clients or own.replacement for own in setting.algorithm.own_cohorts)
    return fed.gradient_noise == 0 and not server and not drawn and setting.participation.deterministic


def cycle_of_kinds(setting: Setting) -> list[int]:
    """Return the index of each round's kind over a cycle of a deterministic setting."""
    algorithm = setting.algorithm
    return [0] + [1] * (algorithm.period - 1) if algorithm.period else [0 if algorithm.share == 1 else 1]


@dataclass(frozen=True)
class Passed:
    """State after R rounds: x_R, and the sum over r < R of F's squared partial derivative at x_r."""

    x: Any
    squares: Any


@dataclass
class _Cycle:
    """A cycle of rounds from x: what is there before each of its rounds."""

    points: list[Any]
    derivatives: list[Any]
    pieces: list[int | None]
    move: Any
    share: Any
    pattern: tuple | None


def follow(cycle: Sequence[Motion], mean: Line, x: Any, horizons: Sequence[int]) -> list[Passed]:
    """Follow a coordinate to each of the ascending ``horizons``, as far as it can be followed.

    Values are not finite where a run leaves the range of floats.
    """
    found: list[Passed] = []
    squares, r, before = x * 0, 0, None
    monotone = all(motion.monotone for motion in cycle)
    for _ in range(LONGEST):
        passed = _around(cycle, mean, x)
        if monotone and passed.pattern is not None and passed.pattern != before:  # the same has the same limit
            limit = _limit(cycle, mean, x, passed)
            if limit is not None:
                return [*found, *(_later(cycle, mean, passed, limit, squares, R - r) for R in horizons[len(found) :])]
        before = passed.pattern
        for point in passed.points[:-1]:
            while len(found) < len(horizons) and horizons[len(found)] == r:
                found.append(Passed(point, squares))
            if len(found) == len(horizons):
                return found
            squares, r = squares + _square(mean(point)), r + 1
        x = passed.points[-1]
        if isinstance(x, float) and not math.isfinite(x):
            return [*found, *_lost(horizons[len(found) :])]
    return found


def _lost(horizons: Sequence[int]) -> list[Passed]:
    """Return the values at horizons after which a run has left the range of floats."""
    return [Passed(math.inf, math.inf)] * len(horizons)


def _around(cycle: Sequence[Motion], mean: Line, x: Any) -> _Cycle:
    points, derivatives, pieces = [x], [x * 0 + 1], []
    pattern: list | None = []
    total, share = x * 0, x * 0
    for one in cycle:
        pieces.append(mean.piece(points[-1]))
        end, move, own_share, own = one.moved(points[-1])
        total, share = total + move, share + (1 - share) * own_share
        pattern = None if pattern is None or own is None or pieces[-1] is None else [*pattern, own, pieces[-1]]
        points.append(end)
        derivatives.append(1 - share)
    return _Cycle(points, derivatives, pieces, total, share, None if pattern is None else tuple(pattern))


def _limit(cycle: Sequence[Motion], mean: Line, x: Any, passed: _Cycle) -> _Cycle | None:
    """The cycle at x^, if the run goes there within its pattern."""
    if not (passed.share > 0 and passed.share <= 1):
        return None
    at_limit = _around(cycle, mean, x + passed.move / passed.share)
    return at_limit if at_limit.pattern == passed.pattern else None


def _later(cycle: Sequence[Motion], mean: Line, passed: _Cycle, limit: _Cycle, squares: Any, rounds: int) -> Passed:
    """Return the state ``rounds`` rounds after ``passed`` began, by geometric series."""
    n, rest = divmod(rounds, len(cycle))
    share, off = passed.share, -passed.move / passed.share
    left, left_twice = _power(share, n), _power(share * (2 - share), n)
    for place in range(len(cycle)):
        piece = limit.pieces[place]
        assert piece is not None
        level, slope = mean.on(piece, limit.points[place]), mean.slopes[piece] * passed.derivatives[place] * off
        squares = squares + level**2 * n + 2 * level * slope * (1 - left) / share
        squares = squares + slope**2 * (1 - left_twice) / (share * (2 - share))
    x = limit.points[0] + off * left
    for place in range(rest):
        squares, x = squares + _square(mean(x)), cycle[place].moved(x)[0]
    return Passed(x, squares)


def _power(share: Any, n: int) -> Any:
    """(1 - share)^n."""
    if not isinstance(share, float):
        return (1 - share) ** n
    return math.exp(n * math.log1p(-share)) if share < 1 else float(n == 0)


def _square(value: Any) -> Any:
    """A product: a float's power would raise where it is too large."""
    return value * value


@dataclass(frozen=True)
class KinkedErrors:
    """Errors of a run: |x_R - x*|^2, |grad F(x_R)|^2 and the sum over r < R of |grad F(x_r)|^2, for each R of
    ``rounds``.

    Also |grad F(x_0)|^2.
    """

    rounds: list[int]
    squared_distance: list[Any]
    squared_gradient: list[Any]
    gradient_sum: list[Any]
    initial_squared_gradient: Any

    def functional(self, functional: Functional, average: str) -> list[Any]:
        """Return the functional's value with R = each of ``rounds``; ``average`` as in ``ExactErrors.functional``.

        Raises:
            ValueError: as there.
        """
        check_among_errors(functional)
        if not functional.average:
            return getattr(self, functional.observable)
        ends = zip(self.rounds, self.squared_gradient, self.gradient_sum, strict=True)
        first = self.initial_squared_gradient
        return [(total + last - first if average == AVERAGES[0] else total) / R for R, last, total in ends]


def deterministic_errors(
    setting: Setting, horizons: Sequence[int], number: Any = float, order: Sequence[int] = ()
) -> KinkedErrors:
    """Compute the errors of a deterministic run at the ascending ``horizons``, as far as it can be followed.

    ``number`` makes floats or balls of Fractions. ``order`` has the kinds of the first rounds, repeated, where they are
    given.

    Raises:
        ValueError: the federation is not piecewise linear, or the run is random.

    >>> import fedtheory as ft
    >>> huber = ft.federations.PiecewiseLinear([1, 2], [0])
    >>> s = ft.Setting(ft.federations.Piecewise([[huber]]), ft.algorithms.fedavg(local_lr="1/4"),
    ...                ft.participation.Fixed([0]), start=1)
    >>> deterministic_errors(s, [0, 1, 2, 10**12]).squared_distance  # x = 1, 1/2, 1/4, ...
    [1.0, 0.25, 0.0625, 0.0]
    """
    fed = piecewise(setting)
    if not (setting.deterministic or (order and alike(setting))):
        raise ValueError("the run is random: allowed is one without noise, with fixed participants or everyone")
    kinds, cycle = setting.algorithm.kinds, list(order) or cycle_of_kinds(setting)
    lines = [Line(mean, number) for mean in fed.mean_gradient]
    starts = [number(value) for value in setting.exact_start]
    passed = []
    for j, (line, start) in enumerate(zip(lines, starts, strict=True)):
        motions = {k: motion(setting, kinds[k], j, number) for k in set(cycle)}
        passed.append(follow([motions[k] for k in cycle], line, start, horizons))
    known = min(map(len, passed))
    optimum = [number(value) for value in fed.exact_optimum]

    def total(of: Any) -> list[Any]:
        return [sum((of(j, passed[j][i]) for j in range(fed.dimension)), starts[0] * 0) for i in range(known)]

    return KinkedErrors(
        list(horizons[:known]),
        total(lambda j, at: _square(at.x - optimum[j])),
        total(lambda j, at: _square(lines[j](at.x))),
        total(lambda j, at: at.squares),
        sum((_square(line(start)) for line, start in zip(lines, starts, strict=True)), starts[0] * 0),
    )
