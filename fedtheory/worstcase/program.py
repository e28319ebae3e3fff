"""Semidefinite program of a plan, as rows of numbers.

Unknown are the Gram matrices of ``geometry``, and one number phi for every orbit and point p, in the point's scale. It
is the mean of f_i(p) - f_i(q) - <h_i(q), p - q> over the orbit, where f_i = F_i - mu/2 |x - x*|^2 and q is the point
before p. A row holds the coefficients of a linear function of them: first the matrices' upper triangles, column by
column and off the diagonal times sqrt(2), then the phi. The program is

    max objective . z  s.t.  row . z <= bound (``at_most``), row . z = 0 (``equal``), row . z <= 0 (``pairs``),
    and the Gram matrices and those of ``matrix_of`` are >= 0.

Each constant that has a price adds its square (in the problem's units) as an unknown. The constraints are then that
what the constant bounds is at most this unknown, and the objective has the unknown with minus the price. For the
initial gap it is F(x_0) - F(x*) itself.

Pairs of points (p, q) carry the interpolation conditions of convex (1 - mu)-smooth functions (Taylor, Hendrickx and
Glineur 2017, Theorem 4),

    f_p - f_q - <h_q, p - q> >= |h_p - h_q|^2 / (2 (1 - mu)).

For quadratics they are that <x_p, U_q> is symmetric in p and q, and that the matrix of <U_p, (1 - mu) x_q - U_q> is >=
0, where U = h - h(x*) (Bousselmi, Hendrickx and Glineur 2024, for symmetric operators with bounded eigenvalues).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from .geometry import Geometry
from .round_quantities import combined

Array = np.ndarray

METRICS = (
    "final_squared_distance", "final_gap", "final_squared_gradient", "average_gap", "average_squared_gradient",
)  # fmt: skip
"""Metrics of worst cases; the functionals of the same names are in `fedtheory.functionals`."""


@dataclass(frozen=True)
class Row:
    """Constraint coefficients . z <= bound, with a name for reports and certificates. ``free``: the multiplier may have
    either sign."""

    name: str
    coefficients: Array
    bound: float
    free: bool = False


class Program:
    """Semidefinite program; see the module.

    Args:
        geometry: of a plan, in floats, scaled.
        metric: one of ``METRICS``. counted: the points over which gaps and gradients are averaged, by their numbers in
            ``geometry.together``.
        contraction: ``None``, or tau: the objective is then the metric less tau |x_0 - x*|^2, and the start is free.
        dissimilar_at: the points at which the dissimilarity is bounded.
        weights: of the counted points in the average; by default all count the same.
        gap: a bound on F(x_0) - F(x*), instead of a distance; ``None``: the distance is bounded.
        prices: of constants, "gap", "dissimilarity" and "noise": they are free, and cost so much.
        combination: of a round's quantities, in the place of a metric: see ``round_quantities``.

    Attributes:
        sides: of the Gram matrices. objective: with ``value = offset + factor * (objective . z)``.
        pairs: {(orbit, p, q): row}, scaled so that the largest coefficient is 1; ``sizes``: its size before.
        matrix_of: for quadratics, each orbit's (P, P, row) of the matrix >= 0.
    """

    def __init__(
        self,
        geometry: Geometry,
        metric: str,
        counted: list[int],
        quadratic: bool,
        contraction: float | None,
        dissimilar_at: list[int],
        gap: float | None = None,
        prices: Mapping[str, float] | None = None,
        combination: Mapping[str, float] | None = None,
        weights: list[float] | None = None,
    ) -> None:
        self.geometry, self.metric, self.counted, self.quadratic = geometry, metric, counted, quadratic
        self.paths, self.together, self.weights = geometry.paths, geometry.together, weights
        self.units, self.contraction, self.dissimilar_at = geometry.units, contraction, dissimilar_at
        self.gap_at_most, self.prices, self.combination = gap, dict(prices or {}), dict(combination or {})
        self._coordinates()
        self.at_most: list[Row] = []
        self.equal: list[Array] = []
        self.matrix_of: list[Array] = []
        self.pairs: dict[tuple[int, int, int], Array] = {}
        self.sizes: dict[tuple[int, int, int], float] = {}
        self._objective()
        self._bounds()
        self._noise()
        self._lower_bound()
        if quadratic:
            self._operators()
        elif not geometry.rigid:
            for o in range(len(geometry.orbits)):
                self._interpolation(o)

    def _coordinates(self) -> None:
        unmoved = self.units.distance == 0
        rows, columns, self.sides = [], [], []
        for block in self.geometry.blocks:
            kept = range(block.start + (unmoved and block.start == 0), block.stop)
            self.sides.append(len(kept))
            rows += [i for j in range(len(kept)) for i in kept[: j + 1]]
            columns += [kept[j] for j in range(len(kept)) for _ in range(j + 1)]
        self._i, self._j = np.array(rows, dtype=int), np.array(columns, dtype=int)
        self._weight = np.where(self._i == self._j, 1.0, sqrt(2))
        self.levels = [name for name in self.prices if name != "gap"]
        self.values = len(self.levels)
        self._values_before = []
        if not (self.quadratic or self.geometry.rigid):
            for path in self.paths:
                self._values_before.append(self.values)
                self.values += len(path) - 1
        self.length = len(rows) + self.values

    # Linear functions of the unknowns --------------------------------------------------------------------------------

    def inner(self, u: Array, v: Array) -> Array:
        """Return <u, v> of vectors (..., n), as rows."""
        u, v = np.broadcast_arrays(u, v)
        form = (u[..., self._i] * v[..., self._j] + u[..., self._j] * v[..., self._i]) * (self._weight / 2)
        return np.concatenate([form, np.zeros((*form.shape[:-1], self.values))], axis=-1)

    def _phi(self, o: int, p: int) -> int:
        return self.length - self.values + self._values_before[o] - len(self.levels) + p - 1

    def _bounded(self, name: str, constant: str, row: Array) -> Row:
        """row . z <= 1 in the constant's units, or at most its unknown square where that is free."""
        if constant not in self.levels:
            return Row(name, row, 1.0)
        row[self.length - len(self.levels) + self.levels.index(constant)] -= 1.0
        return Row(name, row, 0.0)

    def value_of(self, o: int, p: int) -> Array:
        """Return f(p) - f(x*) of a client of an orbit, f = F_i - mu/2 |x - x*|^2, as a row."""
        path = self.paths[o]
        if self.quadratic or self.geometry.rigid:
            change = path[p].h - path[0].h
            return self.inner(path[p].x, change / 2 + path[0].h)
        found = np.zeros(self.length)
        while p:
            point = path[p]
            found += self.inner(path[point.parent].h, point.step)
            found[self._phi(o, p)] += point.scale**2
            p = point.parent
        return found

    def gap(self, p: int) -> Array:
        """Return F(p) - F(x*) at a point that all clients share, as a row."""
        x = self.paths[0][self.together[p][0]].x
        whole = sum(orbit.share * self.value_of(o, self.together[p][o]) for o, orbit in enumerate(self.geometry.orbits))
        return whole + self.inner(x, x) * (self.units.condition / 2)

    def squared_gradient(self, p: int) -> Array:
        """Return |grad F(p)|^2 at a point that all clients share, as a row."""
        x = self.paths[0][self.together[p][0]].x
        gradient = self.geometry.mean(self._slopes(p)) + self.units.condition * x
        return self.inner(gradient, gradient)

    def _slopes(self, p: int) -> Array:
        """The h of a client of each orbit at a point, (orbits, n)."""
        return np.array([path[at].h for path, at in zip(self.paths, self.together[p], strict=True)])

    # Objective -------------------------------------------------------------------------------------------------------

    def _objective(self) -> None:
        start = self.geometry.start
        self.offset, self.factor = 0.0, 1.0
        if self.metric == "final_squared_distance":
            self._decrement(start)
            return
        self.objective: Array
        if self.combination:
            self.objective, self.offset = combined(self, self.combination)
        else:
            of = self.gap if self.metric.endswith("gap") else self.squared_gradient
            rows = np.array([of(p) for p in self.counted])
            self.objective = np.sum(rows, axis=0) / len(rows) if self.weights is None else np.array(self.weights) @ rows
        if self.contraction is not None:
            self.objective = self.objective - self.contraction * self.inner(start, start)
        if "gap" in self.prices:
            self.objective = self.objective - self.prices["gap"] * self.gap(1)
        for k, name in enumerate(self.levels):
            self.objective[self.length - len(self.levels) + k] -= self.prices[name]

    def _decrement(self, start: Array) -> None:
        """E|x_T - x*|^2 - |x_0 - x*|^2, without cancellation, in units of how far it can get in small steps."""
        row, extra, moved = np.zeros(self.length), 0.0, 0.0
        for outcome in self.geometry.outcomes:
            whole = outcome.mean - start
            row += outcome.probability * (self.inner(2 * start, whole) + self.inner(whole, whole))
            row += outcome.probability * sum(w * self.inner(v, v) for w, v in outcome.spread)
            extra += outcome.probability * outcome.extra
            moved = max(moved, float(np.abs(whole).max()))
        self.factor = min(1.0, moved) or 1.0
        tau = 1.0 if self.contraction is None else self.contraction
        self.objective = (row + (1 - tau) * self.inner(start, start)) / self.factor
        self.offset = extra + (self.units.distance**2 if self.contraction is None else 0.0)
        self.decrement = self.contraction is None

    def rescale(self, size: float) -> None:
        """Measure the objective in units of ``size``."""
        self.objective, self.factor = self.objective / size, self.factor * size

    decrement = False
    """Whether ``objective`` is less |x_0 - x*|^2, which ``offset`` has."""

    # Constraints -----------------------------------------------------------------------------------------------------

    def _bounds(self) -> None:
        geometry, units = self.geometry, self.units
        start = geometry.start
        if self.gap_at_most is not None:
            self.at_most.append(Row("gap", self.gap(1) / self.gap_at_most, 1.0))
        elif self.contraction is None and units.distance and "gap" not in self.prices:
            free = self.metric == "final_squared_distance" or bool(self.combination)
            self.at_most.append(Row("distance", self.inner(start, start / units.distance**2), 1.0, free))
        for p in self.dissimilar_at:
            slopes = self._slopes(p)
            mean = geometry.mean(slopes)
            for o in range(len(geometry.orbits)):
                off = (slopes[o] - mean) / (units.dissimilarity or 1.0)
                row = self.inner(off, off)
                self.at_most.append(self._bounded(f"dissimilarity {p} {o}", "dissimilarity", row))

    def _lower_bound(self) -> None:
        """F(x*) is the least value: F(p) - F(x*) >= |grad F(p)|^2 / (2 L). Of convex functions that follows."""
        if self.units.condition >= 0:
            return
        for p, point in enumerate(self.geometry.points):
            if point.shared:
                row = self.squared_gradient(p) / 2 - self.gap(p)
                self.at_most.append(Row(f"least value {p}", row, 0.0))

    def _noise(self) -> None:
        """Noise is bounded, and uncorrelated with all that does not come after it in its own client's round."""
        for row, tie in noise_entries(self.geometry):
            coefficients = np.zeros(self.length)
            for (i, j), factor in row.items():
                at = np.flatnonzero((self._i == min(i, j)) & (self._j == max(i, j)))
                coefficients[at] += factor / self._weight[at]
            if not coefficients.any():  # of a start that is x*
                continue
            if tie:
                self.equal.append(coefficients)
            else:
                self.at_most.append(self._bounded("noise", "noise", coefficients))

    def _interpolation(self, o: int) -> None:
        """Pair rows: |h_p - h_q|^2 / (2 (1 - mu)) - (f_p - f_q - <h_q, p - q>) <= 0, largest coefficient 1.

        With g(p, q) the bracket and p' the point before p,
        g(p, q) = g(p', q) + <h_p' - h_q, p - p'> + phi_p and g(p, q) = g(p, q') - phi_q - <h_q - h_q', p - q>,
        in which nothing cancels.
        """
        points, count = self.paths[o], len(self.paths[o])
        x, h = (np.array([getattr(point, name) for point in points]) for name in "xh")
        table = np.zeros((count, count, self.length))
        for p in range(1, count):
            q = points[p].parent
            phi = points[p].scale ** 2
            table[p, :p] = table[q, :p] + self.inner(h[q] - h[:p], points[p].step)
            table[p, :p, self._phi(o, p)] += phi
            table[:p, p] = table[:p, q] - self.inner(points[p].change, x[:p] - x[p])
            table[:p, p, self._phi(o, p)] -= phi
        smooth = 2 * (1 - self.units.condition)
        for p in range(count):
            for q in range(count):
                if p != q:
                    row = self.inner(h[p] - h[q], h[p] - h[q]) / smooth - table[p, q]
                    self.sizes[o, p, q] = float(np.abs(row).max())
                    self.pairs[o, p, q] = row / self.sizes[o, p, q]

    def _operators(self) -> None:
        """Symmetric operators between 0 and 1 - mu, from changes of x to changes of h."""
        top = 1 - self.units.condition
        for path in self.paths:
            steps = [path[p].step / path[p].scale for p in range(1, len(path))]
            changes = [path[p].change / path[p].scale for p in range(1, len(path))]
            count = len(steps)
            matrix = np.zeros((count, count, self.length))
            for p in range(count):
                for q in range(count):
                    matrix[p, q] += self.inner(changes[p], top * steps[q] - changes[q]) / 2
                    matrix[q, p] += self.inner(changes[p], top * steps[q] - changes[q]) / 2
                    if p < q:
                        self.equal.append(self.inner(steps[p], changes[q]) - self.inner(steps[q], changes[p]))
            self.matrix_of.append(matrix)


def noise_entries(geometry: Geometry) -> list[tuple[dict[tuple[int, int], float], bool]]:
    """Return linear functions of the Gram matrices' entries, {(i, j): factor}: those that are 0 (True), at most 1
    (False)."""
    found: list[tuple[dict[tuple[int, int], float], bool]] = []
    noises = [name for name in geometry.names if name[0] == "noise"]
    for k, name in enumerate(noises):
        for o, orbit in enumerate(geometry.orbits):
            own, off = geometry.mean_of[o, name], geometry.deviation_of.get((o, name))
            found.append(({(own, own): 1.0}, False))
            found.append(({(0, own): 1.0}, True))
            c = orbit.clients or 1
            if off is not None:
                found.append(({(off, off): 1.0, (own, own): -(c - 1) / c}, True))
            for other in geometry.names:
                if other == name or other in noises[:k]:
                    continue
                for w in range(len(geometry.orbits)):
                    found += _between(geometry, name, other, (o, w), (c - 1) / c**0.5)
        for w in range(1, len(geometry.orbits)):
            found.append(({(geometry.mean_of[0, name], geometry.mean_of[w, name]): 1.0}, True))
    return found


def _between(
    geometry: Geometry, noise: tuple, other: Any, orbits: tuple[int, int], factor: float
) -> list[tuple[dict[tuple[int, int], float], bool]]:
    """Return the constraints on a noise of the first orbit and another family of the second."""
    o, w = orbits
    own, off = geometry.mean_of[o, noise], geometry.deviation_of.get((o, noise))
    mean, deviation = geometry.mean_of.get((w, other)), geometry.deviation_of.get((w, other))
    _, r, key, step = noise
    after = other != "*" and other[0] != "noise" and (other[0] > r or (other[1] == key and other[2] > step))
    if after and other[0] > r:
        return []
    if after and o == w:
        if off is None or deviation is None or mean is None:
            return []
        return [({(off, deviation): 1.0, (own, mean): -factor}, True)]
    found: list[tuple[dict[tuple[int, int], float], bool]] = []
    if mean is not None:
        found.append(({(own, mean): 1.0}, True))
    if o == w and off is not None and deviation is not None:
        found.append(({(off, deviation): 1.0}, True))
    return found
