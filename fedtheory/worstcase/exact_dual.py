"""Slack of a bound, in Fractions: the remainder of the Gram matrices under given multipliers. The bound holds if the
slack is >= 0.

For all x_0, zeta and clients of the class

    tau |x_0 - x*|^2 + sum nu zeta^2 - metric >= <slack, Gram> + sum lambda (what interpolation conditions leave),

so slack >= 0 and lambda >= 0 prove metric <= tau |x_0 - x*|^2 + sum nu zeta^2. Written from the points and their
vectors, it shares the geometry with the solver's program and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

from .geometry import Geometry
from .problem import Problem
from .program import METRICS

Matrix = fmpq_mat
Entries = dict[tuple[int, int], Fraction]


@dataclass
class Multipliers:
    """Multipliers of one problem, without units (smoothness 1).

    Attributes:
        contraction: tau, of |x_0 - x*|^2.
        additive: nu by (point, orbit) where the dissimilarity is bounded, >= 0.
        pairs: lambda by (orbit, p, q), >= 0, of the interpolation conditions. Quadratics have instead
        operators: by orbit, {(p, q): entry} of a symmetric matrix >= 0, and
        symmetric: by orbit, {(p, q): multiplier}, p < q; both between changes of points from the ones before them.
    """

    contraction: Fraction
    additive: dict[tuple[int, int], Fraction]
    pairs: dict[tuple[int, int, int], Fraction] = field(default_factory=dict)
    operators: list[Entries] = field(default_factory=list)
    symmetric: list[Entries] = field(default_factory=list)


class Exact:
    """Slack of a problem, as a function of multipliers.

    Raises:
        ValueError: the problem has noise, a combination in the place of a metric, or functions that need not be convex,
            of which no certificates are known.
    """

    def __init__(self, problem: Problem) -> None:
        if problem.gradient_noise or problem.server_noise:
            raise ValueError("gradient_noise, server_noise: allowed for a certificate is 0")
        if problem.combination:
            raise ValueError(f"metric = {problem.metric!r}: allowed for a certificate is one of {', '.join(METRICS)}")
        if problem.functions.nonconvex:
            raise ValueError(f"functions = {problem.functions}: allowed for a certificate are convex ones")
        self.problem = problem
        self.geometry: Geometry = problem.geometry(Fraction, scaled=False)
        self.top = 1 - problem.functions.condition
        self.quadratic = problem.functions.quadratic
        points, orbits = self.geometry.points, range(len(self.geometry.orbits))
        self.count = len(points)
        self.x = [_matrix([point.x[o] for point in points]) for o in orbits]
        self.h = [_matrix([point.h[o] for point in points]) for o in orbits]
        self.objective, self.values = self._objective()
        start = points[1].x[0]
        self.start = _outer(start, start)
        self.dissimilar = {(p, o): self._off(p, o) for p in problem.dissimilar_at(self.geometry) for o in orbits}

    def _off(self, p: int, o: int) -> Matrix:
        h = self.geometry.points[p].h
        off = h[o] - self.geometry.mean(h)
        return _outer(off, off)

    def _objective(self) -> tuple[Matrix, dict[tuple[int, int], Fraction]]:
        """The metric as a form, and what it takes of the values f of every orbit and point."""
        geometry, size = self.geometry, self.geometry.size
        form = fmpq_mat(size, size)
        values: dict[tuple[int, int], Fraction] = {}
        if self.problem.metric == "final_squared_distance":
            for outcome in geometry.outcomes:
                parts = [(Fraction(1), outcome.mean), *outcome.spread]
                form += sum((_outer(v, v) * _q(outcome.probability * w) for w, v in parts), fmpq_mat(size, size))
            return form, values
        chosen = self.problem.counted(geometry)
        for p in chosen:
            point, mu = geometry.points[p], self.problem.functions.condition
            if self.problem.metric.endswith("gap"):
                form += _outer(point.x[0], point.x[0]) * _q(mu / 2 / len(chosen))
                for o, orbit in enumerate(geometry.orbits):
                    values[o, p] = values.get((o, p), Fraction(0)) + orbit.share / len(chosen)
            else:
                gradient = geometry.mean(point.h) + mu * point.x[0]
                form += _outer(gradient, gradient) * _q(Fraction(1, len(chosen)))
        return form, values

    # Slack -----------------------------------------------------------------------------------------------------------

    def slack(self, given: Multipliers) -> list[np.ndarray]:
        """Return the matrices of Fractions that have to be >= 0, block by block; first those of ``operators``.

        Raises:
            ValueError: a multiplier is negative, of something that is not there, or the values F_i do not cancel.
        """
        self._check(given)
        return self.under(given, self.left(given))

    def left(self, given: Multipliers) -> tuple[Matrix, list[np.ndarray]]:
        """Return the class's conditions times their multipliers, less the metric, and the matrices of ``operators``."""
        whole, found = -self.objective, []
        for o in range(len(self.geometry.orbits)):
            if self.quadratic:
                form, operator = self._operators(o, given.operators[o], given.symmetric[o])
                found.append(operator)
            else:
                form = self._interpolation(o, given.pairs)
            whole += form
        return whole, found

    def under(self, given: Multipliers, left: tuple[Matrix, list[np.ndarray]]) -> list[np.ndarray]:
        """Return the slack under the bound of these multipliers."""
        whole, found = left
        whole = whole + self.start * _q(given.contraction)
        for at, nu in given.additive.items():
            whole += self.dissimilar[at] * _q(nu)
        return [*found, *self._blocks(whole)]

    def _check(self, given: Multipliers) -> None:
        orbits = len(self.geometry.orbits)
        if given.contraction < 0 or any(value < 0 for value in (*given.additive.values(), *given.pairs.values())):
            raise ValueError("multipliers: allowed are numbers >= 0")
        if given.additive.keys() - self.dissimilar.keys():
            raise ValueError(f"dissimilarity at {sorted(given.additive)}: it is bounded at {sorted(self.dissimilar)}")
        if self.quadratic:
            if given.pairs or len(given.operators) != orbits or len(given.symmetric) != orbits:
                raise ValueError(
                    f"operators, symmetric: allowed for quadratics is one of each for {orbits} sorts of clients"
                )
            entries = [at for each in (*given.operators, *given.symmetric) for at in each]
            if any(not 1 <= p <= q < self.count for p, q in entries):
                raise ValueError(f"points: allowed are p <= q from 1 to {self.count - 1}")
            return
        if given.operators or given.symmetric:
            raise ValueError("operators, symmetric: allowed for quadratics only")
        for o, p, q in given.pairs:
            if not (0 <= o < orbits and 0 <= p < self.count and 0 <= q < self.count and p != q):
                raise ValueError(f"pair {o}, {p}, {q}: allowed are {orbits} sorts of clients and {self.count} points")
        left = self.unbalanced(given.pairs)
        if any(left.values()):
            raise ValueError(
                f"the multipliers of pairs do not cancel the values F_i at {[at for at in left if left[at]]}"
            )

    def unbalanced(self, pairs: dict[tuple[int, int, int], Fraction]) -> dict[tuple[int, int], Fraction]:
        """Return the multiple of f(p) - f(x*) that is taken beyond what the metric asks for, by orbit and point."""
        if self.geometry.rigid or self.quadratic:
            return {}
        left = {
            (o, p): -self.values.get((o, p), Fraction(0))
            for o in range(len(self.geometry.orbits))
            for p in range(1, self.count)
        }
        for (o, p, q), value in pairs.items():
            if p:
                left[o, p] -= value
            if q:
                left[o, q] += value
        return left

    def _interpolation(self, o: int, pairs: dict[tuple[int, int, int], Fraction]) -> Matrix:
        """sum of lambda (|h_p - h_q|^2 / (2 (1 - mu)) + <h_q, x_p - x_q>)."""
        if self.geometry.rigid:  # f_p - f(x*) = <h(x*), x_p>
            return self._values_of(o, self.h[o])
        cross = [[Fraction(0)] * self.count for _ in range(self.count)]
        square = [[Fraction(0)] * self.count for _ in range(self.count)]
        for (orbit, p, q), value in pairs.items():
            if orbit == o:
                cross[q][p] += value
                cross[q][q] -= value
                square[p][p] += value
                square[q][q] += value
                square[p][q] -= value
                square[q][p] -= value
        h, x = self.h[o], self.x[o]
        form = h.transpose() * _matrix(cross) * x
        return (form + form.transpose()) * fmpq(1, 2) + h.transpose() * _matrix(square) * h * _q(1 / (2 * self.top))

    def _values_of(self, o: int, slopes: Matrix) -> Matrix:
        """- sum of (what the metric takes of f(p)) <slope_p, x_p>, of an orbit."""
        weights = [[Fraction(0)] * self.count for _ in range(self.count)]
        for (orbit, p), value in self.values.items():
            if orbit == o:
                weights[p][p] -= value
        form = slopes.transpose() * _matrix(weights) * self.x[o]
        return (form + form.transpose()) * fmpq(1, 2)

    def _operators(self, o: int, operators: Entries, symmetric: Entries) -> tuple[Matrix, np.ndarray]:
        """Return the remainder of quadratics, with f_p - f(x*) = <U_p, x_p>/2 + <h(x*), x_p>, and the conditions on
        changes."""
        points = self.geometry.points[1:]
        steps, changes = _matrix([p.step[o] for p in points]), _matrix([p.change[o] for p in points])
        size = self.count - 1
        matrix = [[Fraction(0)] * size for _ in range(size)]
        skew = [[Fraction(0)] * size for _ in range(size)]
        for (p, q), value in operators.items():
            matrix[p - 1][q - 1] = matrix[q - 1][p - 1] = value
        for (p, q), value in symmetric.items():
            skew[p - 1][q - 1] += value
            skew[q - 1][p - 1] -= value
        form = steps.transpose() * _matrix(skew) * changes
        form -= changes.transpose() * _matrix(matrix) * (steps * _q(self.top) - changes)
        form = (form + form.transpose()) * fmpq(1, 2)
        star = _matrix([self.geometry.points[0].h[o]] * self.count)
        form += self._values_of(o, (self.h[o] + star) * fmpq(1, 2))
        return form, np.array(matrix, dtype=object)

    def _blocks(self, whole: Matrix) -> list[np.ndarray]:
        rows = whole.tolist()
        return [
            np.array(
                [[_fraction(rows[i][j]) for j in range(b.start, b.stop)] for i in range(b.start, b.stop)], dtype=object
            )
            for b in self.geometry.blocks
        ]


def _q(value: Fraction) -> fmpq:
    value = Fraction(value)
    return fmpq(value.numerator, value.denominator)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _matrix(rows: object) -> Matrix:
    listed = [[_q(value) for value in row] for row in rows]  # type: ignore[attr-defined]
    return fmpq_mat(len(listed), len(listed[0]), [value for row in listed for value in row])


def _outer(u: np.ndarray, v: np.ndarray) -> Matrix:
    column = _matrix([[value] for value in u])
    return column * _matrix([list(v)])
