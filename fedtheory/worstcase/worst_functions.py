"""Worst functions: from the Gram matrices of a solved program, a federation that attains its value."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from .geometry import Orbit
from .interpolation import Interpolant, symmetric_operator
from .problem import Problem
from .program import METRICS, Program
from .round_plans import Arbitrary, Everyone, ServerStep, Training
from .solver import Solution, assemble, clarabel, matrix_of

if TYPE_CHECKING:
    from .worst import WorstCase

Array = np.ndarray
STRICT = 1e-9
"""Amount by which every interpolation condition holds, so that rounding breaks none."""
MOST_COHORTS = 20_000


@dataclass(frozen=True)
class Instance:
    """Federation that comes as close to the worst case as numbers allow; x* = 0.

    Attributes:
        problem: the problem whose worst case it is. start: x_0, (D,).
        functions: F_i of every client; of quadratics ``hessians`` (M, D, D) and ``gradients`` at x* (M, D) instead.
    """

    problem: Problem
    start: Array
    functions: tuple[Interpolant, ...]
    hessians: Array | None
    gradients: Array

    @property
    def clients(self) -> int:
        """Number of clients M."""
        return len(self.gradients)

    def at(self, client: int, x: Array) -> tuple[float, Array]:
        """Return F_i(x), where F(x*) = 0, and its gradient (D,)."""
        if self.hessians is None:
            return self.functions[client].at(x)
        curved = self.hessians[client] @ x
        return float(x @ (self.gradients[client] + curved / 2)), self.gradients[client] + curved

    def replay(self) -> float:
        """Simulate the rounds plainly and return the metric: every client's steps, and all cohorts that may be
        drawn.

        Raises:
            ValueError: there are too many cohorts, or the problem has a combination in the place of a metric.
        """
        if self.problem.combination:
            raise ValueError(f"metric = {self.problem.metric!r}: allowed for a replay is one of {', '.join(METRICS)}")
        x, shown = self.start, [self.start]
        plan = self.problem.plan
        for each in plan.rounds[:-1]:
            x = self._next(each[0][1], x)[0]
            shown.append(x)
        ends = [(p, self._next(kind, x)) for p, kind in plan.rounds[-1]]
        if self.problem.metric == "final_squared_distance":
            return sum(float(p) * float(np.mean([y @ y for y in found])) for p, found in ends)
        shown.append(ends[0][1][0])
        first = 0 if self.problem.metric.startswith("average") and not self.problem.at_end else 1
        counted = shown[-1:] if self.problem.metric.startswith("final") else shown[first : first + len(plan.rounds)]
        return float(np.mean([self._measure(y) for y in counted]))

    def _measure(self, x: Array) -> float:
        values, gradients = zip(*(self.at(i, x) for i in range(self.clients)), strict=True)
        if self.problem.metric.endswith("gap"):
            return float(np.mean(values))
        mean = np.mean(gradients, axis=0)
        return float(mean @ mean)

    def _next(self, kind: Training | ServerStep, x: Array) -> list[Array]:
        """All that x+ may be, each as likely as the others."""
        if isinstance(kind, ServerStep):
            return [x - float(kind.server_lr) * np.mean([self.at(i, x)[1] for i in range(self.clients)], axis=0)]
        who = [list(each) for each in self._cohorts(kind)]
        moves = {i: self._trained(i, kind, x) for i in {i for each in who for i in each}}
        return [x + float(kind.global_lr) * np.mean([moves[i] for i in each], axis=0) for each in who]

    def _cohorts(self, kind: Training) -> Any:
        who = kind.participants
        if isinstance(who, Everyone):
            return [range(self.clients)]
        if isinstance(who, Arbitrary):
            return [range(who.size)]
        number = self.clients**who.size if who.replacement else comb(self.clients, who.size)
        if number > MOST_COHORTS:
            raise ValueError(f"cohort = {who.size} of {self.clients}: {number} cohorts, allowed are {MOST_COHORTS}")
        if who.replacement:
            return product(range(self.clients), repeat=who.size)
        return combinations(range(self.clients), who.size)

    def _trained(self, client: int, kind: Training, x: Array) -> Array:
        y = x
        for lr in kind.local_lr:
            y = y - float(lr) * (self.at(client, y)[1] + float(kind.proximal) * (y - x))
        return y - x

    def federation(self) -> Any:
        """Return the instance as a federation of `fedtheory.federations`, for a ``Setting`` that starts at
        ``start``."""
        from .worst_federation import federation_of

        return federation_of(self)


def instance_of(found: WorstCase, clients: int | None = None) -> Instance:
    """Return an instance of a worst case; ``clients`` where their number does not matter (2 by default).

    Raises:
        ValueError: the solve was not accurate, there is noise, or the value is an upper bound that no federation need
            attain; another number of clients where it matters.
    """
    problem = found.problem
    assert isinstance(problem, Problem)
    if found.kind == "exact" and problem.gradient_noise:  # of quadratics after one round
        raise ValueError(f"gradient_noise = {problem.gradient_noise}: allowed for an instance is 0")
    if found.status != "solved" or not problem.exact:
        raise ValueError(
            f"status, kind = {found.status!r}, {found.kind!r}: allowed for an instance is 'solved', 'exact'"
        )
    known = problem.plan.clients
    if clients is not None and (clients < 1 or (known is not None and clients != known)):
        raise ValueError(f"clients = {clients}: allowed is {known or 'a number >= 2'}")
    program, solution = found.program, _strict(found)
    vectors = _vectors(program, solution)
    orbits = program.geometry.orbits
    counts = [orbit.clients or clients or 2 for orbit in orbits]
    if len(orbits) == 1 and orbits[0].clients is None and counts[0] < 2:
        raise ValueError("clients = 1: allowed is a number >= 2; one client has a worst case of its own")
    return _built(problem, program, solution, vectors, counts)


def _strict(found: WorstCase) -> Solution:
    """The program once more, with all interpolation conditions stricter by a little; as it is, where that leaves
    nothing: of a start that is x*."""
    pairs = list(found.program.pairs)
    if not pairs:
        return found.solution
    used = pairs if len(pairs) <= 400 else list(found.solution.pairs)
    data = assemble(found.program, used)
    data.cost[data.names["pairs"]] = -STRICT
    stricter = clarabel(found.program, used, data)
    loss = abs(stricter.primal - found.solution.primal)
    fine = (
        np.isfinite(stricter.point).all() and stricter.violation < 1e-7 and loss < 1e-5 * max(1, abs(stricter.primal))
    )
    return stricter if fine else found.solution


def _vectors(program: Program, solution: Solution) -> list[Array]:
    """Basis vectors, as rows in coordinates of their own, block by block of the Gram matrices."""
    found, at = [], 0
    for k, side in enumerate(program.sides):
        gram = matrix_of(solution.point[at:], side)
        at += side * (side + 1) // 2
        eigen, frame = np.linalg.eigh(gram)
        kept = eigen > 1e-13 * max(eigen.max(initial=0), 1e-300)
        rows = frame[:, kept] * np.sqrt(eigen[kept])
        block = program.geometry.blocks[k]
        lost = block.stop - block.start - side  # of a start that is x*
        found.append(np.vstack([np.zeros((lost, rows.shape[1])), rows]))
    return found


def _built(problem: Problem, program: Program, solution: Solution, vectors: list[Array], counts: list[int]) -> Instance:
    geometry, length, L = program.geometry, float(problem.length), float(problem.functions.smoothness)
    mu, points = float(problem.functions.strong_convexity), geometry.points
    widths = [vectors[0].shape[1], *(2 * each.shape[1] for each in vectors[1:])]
    functions, hessians, gradients = [], [], []
    block = 1
    start = np.zeros(sum(widths))
    start[: widths[0]] = points[1].x[0][geometry.blocks[0]] @ vectors[0] * length
    for o, orbit in enumerate(geometry.orbits):
        own = _has_block(orbit)
        corners = _corners(counts[o]) if own else np.zeros((counts[o], 2))
        values = np.array([program.value_of(o, p) @ solution.point if p else 0.0 for p in range(len(points))])
        for corner in corners:
            frame = _frame(geometry, vectors, widths, block if own else None, orbit, corner)
            x = np.array([point.x[o] for point in points]) @ frame * length
            h = np.array([point.h[o] for point in points]) @ frame * length * L
            gradients.append(h[0])
            if problem.functions.quadratic:
                hessians.append(mu * np.eye(len(start)) + symmetric_operator(x[1:], h[1:] - h[0], L - mu))
            else:
                functions.append(Interpolant(x, h, values * L * length**2, L - mu, mu, np.zeros(len(start))))
        block += own
    centred = np.array(gradients) - np.mean(gradients, axis=0)
    return Instance(problem, start, tuple(functions), np.array(hessians) if hessians else None, centred)


def _has_block(orbit: Orbit) -> bool:
    return orbit.deviations.stop > orbit.deviations.start


def _corners(count: int) -> Array:
    """Unit vectors of the plane with the sum 0, (count, 2): the corners of a polygon; all that deviations need."""
    angles = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _frame(
    geometry: Any, vectors: list[Array], widths: list[int], block: int | None, orbit: Orbit, corner: Array
) -> Array:
    """Return one client's basis vectors, (n, D): means as they are, deviations times its corner."""
    frame = np.zeros((geometry.size, sum(widths)))
    frame[geometry.blocks[0], : widths[0]] = vectors[0]
    if block is not None:
        at, rows = sum(widths[:block]), vectors[block]
        frame[orbit.deviations, at : at + widths[block]] = np.hstack([corner[0] * rows, corner[1] * rows])
    return frame
