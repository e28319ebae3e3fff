"""Points of a plan, as combinations of a few vectors.

Clients that play the same part form an *orbit*: all of them; or those in the adversary's set, and those outside.
Averaging a problem over the permutations of an orbit changes no constraint and no objective. So a client's vector v_i
is the orbit's mean of v plus a deviation, and only two things count: <mean v, mean w> for the means of all orbits, and
for each orbit the mean over i of <v_i - mean v, w_i - mean w>. Hence there is one Gram matrix of the start and the
means, and one of the deviations of each orbit; their size does not depend on the number of clients. Conversely all such
matrices are those of clients: deviations w (x) u_i, with u_i the corners of a regular simplex, in a space of their own.

Units here: smoothness is 1, so step sizes are L local_lr; h = grad F_i - mu (x - x*) takes the place of a gradient. It
is the gradient of a convex (1 - mu)-smooth function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .round_plans import Arbitrary, Cohort, Everyone, Kind, Plan, ServerStep, Training

Number = Any
Array = np.ndarray


@dataclass(frozen=True)
class Orbit:
    """Clients that play the same part. The fields are their share of all clients, their number (``None``: any number >=
    2), and the place of their deviations among the basis vectors (empty for a single client)."""

    share: Number
    clients: int | None
    deviations: slice


@dataclass
class Point:
    """Point at which gradients are taken: x and h of a client of each orbit, (orbits, n) each.

    Attributes:
        parent: the point before; -1 for x*. step: x - x of the parent. change: h - h of the parent. scale: the order of
            size of this change.
        shared: whether all clients are there. place: (rounds that are over, local steps since).
    """

    parent: int
    x: Array
    h: Array
    step: Array
    change: Array
    scale: Number
    shared: bool
    place: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class PathPoint:
    """Point of one client of an orbit: x, h, step and change (n,) of a ``Point``, and what comes before it."""

    parent: int
    x: Array
    h: Array
    step: Array
    change: Array
    scale: Number
    place: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Units:
    """Numbers of a problem in units of L and of a length, of one kind (floats or Fractions).

    Attributes:
        number: from a Fraction to that kind.
        condition: mu / L. smoothness: L, to convert step sizes.
        distance, dissimilarity, noise, server_noise: in units of the length, and L times it.
        scaled: whether basis vectors are scaled so that all of them matter alike.
    """

    number: Callable[[Any], Number]
    condition: Number
    smoothness: Any
    distance: Number
    dissimilarity: Number | None
    noise: Number
    server_noise: Number
    scaled: bool

    @property
    def dtype(self) -> Any:
        """Type of arrays of such numbers."""
        return float if self.number is float else object

    def step(self, lr: Any) -> Number:
        """Return L lr."""
        return self.number(lr * self.smoothness)


@dataclass
class Outcome:
    """Result of a kind of round: its probability, the mean of x+ and of its move, and the variance about it. The
    variance is a sum of weight times |vector|^2, for vectors of one client of an orbit."""

    probability: Number
    mean: Array
    moved: Array
    spread: list[tuple[Number, Array]] = field(default_factory=list)
    extra: Number = 0


class Geometry:
    """Points and outcomes of a plan; see the module.

    Attributes:
        size: n, number of basis vectors: the start's distance, the families' means, the deviations orbit by orbit.
        blocks: the slices of the Gram matrices. orbits, points: the first point is x*.
        outcomes: of the last round. sums: of each sort of its local training, a client's gradients, added up.
        names: of the families: "*", the gradients at x*; (round, path, k), the change of h at the point that k steps
            lead to; ("noise", round, path, k). mean_of, deviation_of: {(orbit, name): basis vector}.
    """

    def __init__(self, plan: Plan, units: Units, final: bool) -> None:
        self.plan, self.units, self.final = plan, units, final
        self.rigid = units.condition == 1
        self._layout()
        self._walk()

    @property
    def start(self) -> Array:
        """The start, relative to x*, (n,)."""
        found: Array = self.points[1].x[0]
        return found

    @property
    def paths(self) -> list[list[PathPoint]]:
        """The points of a client of each orbit."""
        return [
            [PathPoint(p.parent, p.x[o], p.h[o], p.step[o], p.change[o], p.scale, p.place) for p in self.points]
            for o in range(len(self.orbits))
        ]

    @property
    def together(self) -> list[list[int]]:
        """The number of each point on the path of each orbit."""
        return [[p] * len(self.orbits) for p in range(len(self.points))]

    # Basis ---------------------------------------------------------------------------------------------------------

    def _layout(self) -> None:
        number, M, chosen = self.units.number, self.plan.clients, self.plan.chosen
        if chosen is None:
            parts = [(number(1), M)]
        else:
            assert M is not None
            parts = [(number(1) * size / M, size) for size in (chosen, M - chosen)]
        self._spread_star = not (len(parts) == 1 and parts[0][1] == 1) and self.units.dissimilarity != 0
        self.names = self._families()
        means = 1
        self.mean_of: dict[tuple[int, Any], int] = {}
        for o in range(len(parts)):
            for name in self.names:
                if name == "*" and o == len(parts) - 1:
                    continue  # the mean of all gradients at x* is 0
                self.mean_of[o, name] = means
                means += 1
        self.blocks = [slice(0, means)]
        self.deviation_of: dict[tuple[int, Any], int] = {}
        self.orbits = []
        end = means
        for o, (share, clients) in enumerate(parts):
            names = self.names if clients != 1 else []
            self.deviation_of |= {(o, name): end + k for k, name in enumerate(names)}
            self.orbits.append(Orbit(share, clients, slice(end, end + len(names))))
            if names:
                self.blocks.append(self.orbits[-1].deviations)
            end += len(names)
        self.size = end

    def _families(self) -> list[Any]:
        """Names of what differs from client to client: gradients at x*, changes of h at the points, noise."""
        names: list[Any] = ["*"] if self._spread_star else []
        for r, each in enumerate(self.plan.rounds):
            names += [] if self.rigid else [(r, None, 0)]
            for key in _paths(each):
                steps = len(key[0])
                names += [] if self.rigid else [(r, key, k) for k in range(1, steps)]
                names += [("noise", r, key, k) for k in range(steps)] if self.units.noise else []
        if self.final and not self.rigid:
            names.append((len(self.plan.rounds), None, 0))
        return names

    def _zeros(self) -> Array:
        return np.full((len(self.orbits), self.size), self.units.number(0), dtype=self.units.dtype)

    def _family(self, name: Any, scale: Number = 1) -> Array:
        """The family, times a number, for a client of each orbit: mean plus deviation; x*'s means add up to 0."""
        found, number = self._zeros(), self.units.number
        last = len(self.orbits) - 1
        for o, orbit in enumerate(self.orbits):
            if (o, name) in self.mean_of:
                found[o, self.mean_of[o, name]] = number(1) * scale
            elif name == "*" and last:
                found[o, self.mean_of[0, name]] = -self.orbits[0].share / orbit.share * scale
            if (o, name) in self.deviation_of:
                found[o, self.deviation_of[o, name]] = number(1) * scale
        return found

    # Path ----------------------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        units = self.units
        zeros, start = self._zeros(), self._zeros()
        start[:, 0] = units.distance if units.scaled else units.number(1)
        star = self._family("*", self._of_star()) if self._spread_star else zeros
        self.points = [Point(-1, zeros, star, zeros, zeros, units.number(1), False)]
        x, server = start, self._add(0, start, start, (0, None, 0), units.distance or units.number(1))
        for r, each in enumerate(self.plan.rounds):
            ends = self._train(r, each, server)
            self.outcomes = [self._outcome(p, kind, x, ends, server) for p, kind in each]
            if r + 1 < len(self.plan.rounds) or self.final:
                moved = np.tile(self.outcomes[0].moved, (len(self.orbits), 1))
                x = x + moved
                lr = _length(each[0][1], units)
                server = self._add(server, x, moved, (r + 1, None, 0), lr * self._reach(each[0][1], lr))

    def _reach(self, kind: Kind, lr: Number) -> Number:
        """Return the rough size of the server's gradient: as the distance, with the drift of local steps, or with the
        gradients at x* of clients that were chosen."""
        local = isinstance(kind, Training) and len(kind.local_lr) > 1
        far = 1 if self.plan.chosen is not None or self.units.noise else min(lr, 1) if local else 0
        return min(self.units.number(1), (self.units.distance + far) or self.units.number(1))

    def _of_star(self) -> Number:
        return self.units.dissimilarity if self.units.scaled and self.units.dissimilarity else 1

    def _add(self, parent: int, x: Array, step: Array, name: Any, lr: Number) -> int:
        before, units = self.points[parent], self.units
        scale = min(units.number(1), lr) if units.scaled else units.number(1)
        change = self._zeros() if self.rigid else self._family(name, scale)
        shared, place = name[1] is None, (name[0], name[2])
        self.points.append(Point(parent, x, before.h + change, step, change, scale, shared, place))
        return len(self.points) - 1

    def _train(self, r: int, each: Any, server: int) -> dict[Any, Array]:
        """Return every client's displacement by its local training of each sort, (orbits, n)."""
        units, ends = self.units, {}
        self.sums: dict[Any, Array] = {}
        for key in _paths(each):
            rates, pull = key
            at, moved, total = server, self._zeros(), self._zeros()
            for k, rate in enumerate(rates):
                lr, point = units.step(rate), self.points[at]
                total = total + point.h + units.condition * point.x
                gradient = point.h + units.condition * point.x + units.number(pull / units.smoothness) * moved
                if units.noise:
                    noise = self._noise(r, key, k)
                    gradient = gradient + noise
                step = -lr * gradient
                moved = moved + step
                if k + 1 < len(rates):
                    at = self._add(at, point.x + step, step, (r, key, k + 1), lr)
            ends[key], self.sums[key] = moved, total
        return ends

    def _noise(self, r: int, key: Any, k: int) -> Array:
        """Mean over an orbit of c clients: 1/sqrt(c) of one client's size, if noise is uncorrelated."""
        found, size = (
            self._family(("noise", r, key, k)),
            self.units.noise if self.units.scaled else self.units.number(1),
        )
        for o, orbit in enumerate(self.orbits):
            at = self.mean_of[o, ("noise", r, key, k)]
            found[o] = found[o] * size
            if self.units.scaled and orbit.clients:
                found[o, at] = size / orbit.clients**0.5
        return found

    # Server --------------------------------------------------------------------------------------------------------

    def mean(self, rows: Array) -> Array:
        """Return the mean over all clients of a family (orbits, n): (n,)."""
        whole = sum(orbit.share * row for orbit, row in zip(self.orbits, rows, strict=True))
        return self.only_means(whole)

    def only_means(self, vector: Any) -> Array:
        """Return a vector without the deviations of its orbit: the orbit's mean."""
        found = np.array(vector, dtype=self.units.dtype)
        found[self.blocks[0].stop :] = self.units.number(0)
        return found

    def _outcome(self, p: Any, kind: Kind, x: Array, ends: dict[Any, Array], server: int) -> Outcome:
        units = self.units
        start, probability = self.only_means(x[0]), units.number(p)
        if isinstance(kind, ServerStep):
            lr = units.step(kind.server_lr)
            moved = -lr * (self.mean(self.points[server].h) + units.condition * start)
            return Outcome(probability, start + moved, moved, extra=lr**2 * units.server_noise**2)
        rows = units.number(kind.global_lr) * ends[_path(kind)]
        who = kind.participants
        if isinstance(who, Arbitrary) and not self.plan.is_everyone(who):
            moved = self.only_means(rows[0])
            return Outcome(probability, start + moved, moved)
        moved = self.mean(rows)
        factor = 0 if isinstance(who, (Everyone, Arbitrary)) else variance_factor(who, self.plan.clients or 1, units)
        spread = []
        if factor:
            for orbit, row in zip(self.orbits, rows, strict=True):
                spread.append((factor * orbit.share, row - moved))
        return Outcome(probability, start + moved, moved, spread)


def variance_factor(who: Cohort, clients: int, units: Units) -> Number:
    """Return c in E|mean_S v|^2 - |mean v|^2 = c mean |v_i - mean v|^2: (M - m)/(m (M - 1)) without, 1/m with
    replacement."""
    one = units.number(1)
    if clients == 1:
        return units.number(0)
    return one / who.size if who.replacement else one * (clients - who.size) / (who.size * (clients - 1))


def _length(kind: Kind, units: Units) -> Number:
    """L times the length of all steps of a round."""
    if isinstance(kind, ServerStep):
        return units.step(kind.server_lr)
    return units.step(kind.global_lr * sum(kind.local_lr))


def _path(kind: Training) -> tuple[Any, Any]:
    return kind.local_lr, kind.proximal


def _paths(each: Any) -> list[Any]:
    """The sorts of local training of a round, each once."""
    return list(dict.fromkeys(_path(kind) for _, kind in each if isinstance(kind, Training)))
