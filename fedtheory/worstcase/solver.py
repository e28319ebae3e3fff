"""Solving a program by its dual: multipliers of the constraints, for which the remainder of every matrix is >= 0.

    min sum of multiplier * bound  s.t.  sum of multiplier * row - objective is a matrix >= 0 (and 0 on the phi).

Most pairs of points do not matter: pairs are added where the matrices found violate their conditions, until none is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from scipy import sparse

from ..extras import needed
from .program import Array, Program

ACCURACY = 1e-7
"""Accuracy that a solve has to reach: gap relative to the value, violations relative to the rows' size."""
ALL_PAIRS = 150
"""Number of pairs up to which all of them are taken at once."""
ROUNDS = 30
"""Largest number of rounds of adding pairs."""


@dataclass
class Solution:
    """Solution that a solver found, in the program's scale.

    Attributes:
        primal, dual: the objective at ``point``, and the bound by the multipliers.
        point: the unknowns. at_most, equal: multipliers of these rows. pairs: {(orbit, p, q): multiplier}.
        operators: multiplier matrices of ``matrix_of``.
        solver, status: the solver's name and its own word for the result. violation: the largest, of constraints and
            matrices, both sides.
        iterations: of the solver, all in all.
    """

    primal: float
    dual: float
    point: Array
    at_most: Array
    equal: Array
    pairs: dict[tuple[int, int, int], float]
    operators: list[Array]
    solver: str
    status: str
    violation: float = np.inf
    iterations: int = 0
    unbounded: bool = False

    @property
    def gap(self) -> float:
        """Relative gap: |dual - primal|, relative to the larger of 1 and their size."""
        return abs(self.dual - self.primal) / max(1.0, abs(self.dual), abs(self.primal))

    @property
    def error(self) -> float:
        """Larger one of gap and violation."""
        return max(self.gap, self.violation) if np.isfinite(self.dual) else np.inf


@dataclass
class Data:
    """Dual as min cost . y s.t. bounds - matrix y in a product of cones: zeros, numbers >= 0, matrices >= 0."""

    cost: Array
    matrix: sparse.csc_matrix
    bounds: Array
    zeros: int
    positive: int
    sides: list[int]
    names: dict[str, slice] = field(default_factory=dict)


def solve(program: Program, accuracy: float = ACCURACY) -> Solution:
    """Solve the program by Clarabel, or else by SCS, and return the better solution if neither is accurate."""
    if not program.length:  # x* alone, of which nothing is unknown
        nothing, matrices = np.zeros(0), [np.zeros(each.shape[:2]) for each in program.matrix_of]
        return Solution(0.0, 0.0, nothing, nothing, nothing, {}, matrices, "none", "nothing is unknown", 0.0)
    found = _with_pairs(program, clarabel, accuracy)
    if found.unbounded or found.error <= accuracy:
        return found
    other = _with_pairs(program, scs, accuracy)
    return other if other.error < found.error else found


def _with_pairs(program: Program, solver: Any, accuracy: float) -> Solution:
    pairs = list(program.pairs)
    every = np.array([program.pairs[pair] for pair in pairs]) if pairs else np.zeros((0, program.length))
    used = np.ones(len(pairs), dtype=bool) if len(pairs) <= ALL_PAIRS else first_pairs(program, pairs)
    done = 0
    for _ in range(ROUNDS):
        found = solver(program, [pairs[k] for k in np.flatnonzero(used)])
        found.iterations = done = done + found.iterations
        if not np.isfinite(found.dual) and used.all():
            return found
        excess = (
            np.where(used, -np.inf, every @ found.point)
            if np.isfinite(found.point).all()
            else np.where(used, -np.inf, 1.0)
        )
        most = max(excess.max(initial=-np.inf), 0.0)
        found.violation = max(found.violation, most / max(1.0, float(np.abs(found.point).max(initial=1.0))))
        if most <= accuracy / 10:
            return found
        worst = np.argsort(-excess)[: max(2 * max(map(len, program.paths)), used.sum() // 2)]
        used[worst[np.isfinite(excess[worst])]] = True  # those that are almost violated too: they come next
    return found


def first_pairs(program: Program, pairs: list[tuple[int, int, int]]) -> Array:
    """Return the pairs to begin with: all with x* and with the last point, neighbours, and the same local step of
    neighbouring rounds."""
    places = [np.array([point.place for point in path]) for path in program.paths]

    def near(o: int, p: int, q: int) -> bool:
        path, last = program.paths[o], len(program.paths[o]) - 1
        between = np.abs(places[o][p] - places[o][q])
        return between.max() <= 1 or q in (path[p].parent, last) or p in (path[q].parent, last)

    return np.array([0 in (p, q) or near(o, p, q) for o, p, q in pairs])


def assemble(program: Program, pairs: list[tuple[int, int, int]]) -> Data:
    """Return the dual with these pairs."""
    rows = [row.coefficients for row in program.at_most]
    pair_rows = [program.pairs[pair] for pair in pairs]
    columns = np.array([*rows, *pair_rows, *program.equal]).reshape(-1, program.length)
    operators = [_in_triangle(matrix) for matrix in program.matrix_of]
    columns = np.concatenate([columns, *(-each for each in operators)])
    forms = program.length - program.values
    free = [k for k, row in enumerate(program.at_most) if row.free]
    signed = [k for k in range(len(rows) + len(pairs)) if k not in free]
    y = len(columns)
    pick = sparse.csc_matrix((-np.ones(len(signed)), (range(len(signed)), signed)), shape=(len(signed), y))
    start = len(rows) + len(pairs) + len(program.equal)
    own = sparse.csc_matrix((-np.ones(y - start), (range(y - start), range(start, y))), shape=(y - start, y))
    matrix: Any = sparse.vstack([-columns[:, forms:].T, pick, own, -columns[:, :forms].T], format="csc")
    bounds = np.concatenate([-program.objective[forms:], np.zeros(len(signed) + y - start), -program.objective[:forms]])
    cost: Array = np.zeros(y)
    cost[: len(rows)] = [row.bound for row in program.at_most]
    names = {
        "at_most": slice(0, len(rows)),
        "pairs": slice(len(rows), len(rows) + len(pairs)),
        "equal": slice(len(rows) + len(pairs), start),
    }
    sides = [*(len(each) for each in program.matrix_of), *program.sides]
    return Data(cost, matrix, bounds, program.values, len(signed), sides, names)


def _in_triangle(matrix: Array) -> Array:
    """Rows of a matrix's upper triangle, column by column, those off the diagonal times sqrt(2)."""
    return np.array([matrix[p, q] * (1 if p == q else sqrt(2)) for q in range(len(matrix)) for p in range(q + 1)])


def clarabel(program: Program, pairs: list[tuple[int, int, int]], given: Data | None = None) -> Solution:
    """Solve with Clarabel, an interior-point method; the dual is that of these pairs unless it is ``given``."""
    solver = needed("clarabel")

    data = given or assemble(program, pairs)
    settings = solver.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    settings.chordal_decomposition_enable = False
    cones = [
        solver.ZeroConeT(data.zeros),
        solver.NonnegativeConeT(data.positive),
        *(solver.PSDTriangleConeT(side) for side in data.sides),
    ]
    nothing = sparse.csc_matrix((len(data.cost), len(data.cost)))
    made = solver.DefaultSolver(nothing, data.cost, data.matrix, data.bounds, cones, settings).solve()
    said = str(made.status)
    unbounded = said in ("PrimalInfeasible", "AlmostPrimalInfeasible")
    return _read(program, data, pairs, np.array(made.x), np.array(made.z), "Clarabel", said, made.iterations, unbounded)


def scs(program: Program, pairs: list[tuple[int, int, int]]) -> Solution:
    """Solve with SCS, a first-order method."""
    import scs as solver

    data = assemble(program, pairs)
    order = _lower_triangles(data)
    problem = {"A": data.matrix[order], "b": data.bounds[order], "c": data.cost}
    cone = {"z": data.zeros, "l": data.positive, "s": data.sides}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = solver.SCS(problem, cone, eps_abs=1e-9, eps_rel=1e-9, max_iters=20_000, verbose=False).solve()
    z = np.empty_like(made["y"])
    z[order] = made["y"]
    said, unbounded = made["info"]["status"], made["info"]["status"].startswith("infeasible")
    return _read(program, data, pairs, made["x"], z, "SCS", said, made["info"]["iter"], unbounded)


def _lower_triangles(data: Data) -> Array:
    """Return the places of SCS's rows among ours: it goes through lower triangles column by column."""
    order = list(range(data.zeros + data.positive))
    at = len(order)
    for side in data.sides:
        order += [at + i * (i + 1) // 2 + j for j in range(side) for i in range(j, side)]
        at += side * (side + 1) // 2
    return np.array(order)


def _read(
    program: Program,
    data: Data,
    pairs: list[tuple[int, int, int]],
    y: Array,
    z: Array,
    name: str,
    said: str,
    iterations: int,
    unbounded: bool,
) -> Solution:
    forms = program.length - program.values
    point = np.concatenate([z[len(z) - forms :], z[: data.zeros]])
    y = y.copy()
    y[: len(program.at_most)] = [v if row.free else max(v, 0) for v, row in zip(y, program.at_most, strict=False)]
    y[data.names["pairs"]] = y[data.names["pairs"]].clip(min=0)
    operators, at = [], data.names["equal"].stop
    for matrix in program.matrix_of:
        operators.append(matrix_of(y[at:], len(matrix)))
        at += len(matrix) * (len(matrix) + 1) // 2
    pair_values = dict(zip(pairs, y[data.names["pairs"]].tolist(), strict=True))
    found = Solution(
        primal=float(program.objective @ point),
        dual=np.inf if unbounded else float(data.cost @ y),
        point=point,
        at_most=y[data.names["at_most"]],
        equal=y[data.names["equal"]],
        pairs=pair_values,
        operators=operators,
        solver=name,
        status=said,
        iterations=int(iterations),
        unbounded=unbounded,
    )
    found.violation = np.inf if unbounded else _violation(program, data, found, y)
    return found


def _violation(program: Program, data: Data, found: Solution, y: Array) -> float:
    """The largest violation on either side: of rows by the point, of the equalities and matrices by the multipliers."""
    point, size = found.point, max(1.0, float(np.abs(found.point).max(initial=0)))
    over = [float(row.coefficients @ point - row.bound) / size for row in program.at_most]
    over += [abs(float(row @ point)) / size for row in program.equal]
    over += [float(program.pairs[pair] @ point) / size for pair in found.pairs]
    over += [-least(matrix @ point) / size for matrix in program.matrix_of]
    at = 0
    for side in program.sides:
        over.append(-least(matrix_of(point[at:], side)) / size)
        at += side * (side + 1) // 2
    slack = data.bounds - data.matrix @ y
    scale = max(1.0, float(np.abs(y).max(initial=0)))
    over += [float(np.abs(slack[: data.zeros]).max(initial=0)) / scale]
    at = data.zeros + data.positive
    for side in data.sides:
        over.append(-least(matrix_of(slack[at:], side)) / scale)
        at += side * (side + 1) // 2
    return max(0.0, *over)


def least(matrix: Array) -> float:
    """Return the least eigenvalue."""
    return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]) if len(matrix) else 0.0


def matrix_of(triangle: Array, side: int) -> Array:
    """Return the symmetric matrix of such a triangle (see ``program``)."""
    found = np.zeros((side, side))
    rows, columns = np.array([(i, j) for j in range(side) for i in range(j + 1)], dtype=int).reshape(-1, 2).T
    found[rows, columns] = found[columns, rows] = triangle[: len(rows)] / np.where(rows == columns, 1, sqrt(2))
    return found
