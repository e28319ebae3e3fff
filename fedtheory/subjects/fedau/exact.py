r"""FedAU's Algorithm 1 on quadratic clients, exactly: what statements about its runs and rounds are compared with.

A round t >= 0 adds (global_lr/N) sum_n 1_n omega_n Delta_n to x_t. Client n, with F_n(x) = sum_d h_d x_d^2/2 + g_d x_d,
makes I steps; with S = sum_{i<I} (1 - local_lr h)^i, coordinate by coordinate,

    Delta_n = -local_lr (S (h x + g) - zeta),    Var zeta = (sigma^2/D) sum_{i<I} (1 - local_lr h)^(2i),

so that no number is the difference of two that are nearly equal. Client n takes part with probability p_n,
independently of everything else. Whether a client takes part concerns all coordinates, but what a claim bounds is a sum
of squares of single ones: their first and second moments follow a recursion of their own.

Weights are given for every round, or FedAU's own (Algorithm 2; ``fedau.weights``). Numbers are floats, Fractions or
balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import add, mul
from typing import Any

import numpy as np
from flint import arb_mat

from ...claims.balls import Ball, ball
from ...claims.undecided import Undecided

Row = tuple[Any, ...]
"""Numbers, one for each client or for each coordinate."""


@dataclass(frozen=True)
class GivenWeights:
    """Weights known beforehand: in round t those of ``rows[t % len(rows)]``, (len(rows), N)."""

    rows: tuple[Row, ...]


@dataclass(frozen=True)
class EstimatedWeights:
    """The weights of Algorithm 2 with a cutoff K, an integer >= 1 or ``math.inf``; ``None``: the claim chooses it."""

    cutoff: int | float | None


@dataclass(frozen=True)
class FedauRun:
    """Algorithm 1 with everything that it runs on.

    Attributes:
        curvatures, slopes: (N, D), h and g of each client.
        start: (D,), x_0. gradient_noise: sigma.
        probabilities: (N,), p_n. weights: see there.
        local_steps: I. local_lr, global_lr: gamma and eta; ``None``: the claim chooses them.
        rounds: T.
        objective: (N,), phi_n >= 0 with sum 1, where a claim leaves it open; else ().
        history: (rounds, N) of 0 and 1, for a claim about round 0: who takes part in it and in those after it, in a run
            whose estimated weights are all known; else ().
    """

    curvatures: tuple[Row, ...]
    slopes: tuple[Row, ...]
    start: Row
    gradient_noise: Any
    probabilities: Row
    weights: GivenWeights | EstimatedWeights
    local_steps: int
    local_lr: Any
    global_lr: Any
    rounds: int
    objective: Row = ()
    history: tuple[tuple[int, ...], ...] = ()

    @property
    def clients(self) -> int:
        return len(self.slopes)

    @property
    def dimension(self) -> int:
        return len(self.start)

    @property
    def equal(self) -> Row:
        """phi_n = 1/N."""
        return (Fraction(1, self.clients),) * self.clients

    @property
    def implied(self) -> Row:
        """phi_n = p_n omega_n / sum_m p_m omega_m, for constant weights."""
        shares = [p * w for p, w in zip(self.probabilities, self.weights.rows[0], strict=True)]
        return tuple(share / total(shares) for share in shares)

    def gradients(self, x: Sequence[Any]) -> list[list[Any]]:
        """(N, D), the clients' gradients."""
        return [[h * v + g for h, v, g in zip(*rows, strict=True)]
                for rows in zip(self.curvatures, [x] * self.clients, self.slopes, strict=True)]  # fmt: skip

    def in_floats(self) -> FedauRun:
        """The same run, in floating point."""

        def row(values: Row) -> Row:
            return tuple(float(v) for v in values)

        weights = self.weights
        if isinstance(weights, GivenWeights):
            weights = GivenWeights(tuple(map(row, weights.rows)))
        return replace(
            self, curvatures=tuple(map(row, self.curvatures)), slopes=tuple(map(row, self.slopes)),
            start=row(self.start), gradient_noise=float(self.gradient_noise), probabilities=row(self.probabilities),
            weights=weights, objective=row(self.objective),
            local_lr=self.local_lr if self.local_lr is None else float(self.local_lr),
            global_lr=self.global_lr if self.global_lr is None else float(self.global_lr),
        )  # fmt: skip


def total(values: Sequence[Any]) -> Any:
    """The sum, of numbers of one kind."""
    return reduce(add, values)


def mean(values: Sequence[Any]) -> Any:
    """The plain mean."""
    return total(values) / len(values)


def mean_of(weights: Row, values: Sequence[Any]) -> Any:
    """sum_n weights_n values_n."""
    return total([w * v for w, v in zip(weights, values, strict=True)])


def minimiser(run: FedauRun, objective: Row) -> tuple[list[Any], list[Any]]:
    """Of sum_n phi_n F_n: its curvatures, and where it is smallest.

    Raises:
        ValueError: it has no unique minimiser.
    """
    columns = list(zip(*run.curvatures, strict=True)), list(zip(*run.slopes, strict=True))
    curvatures, slopes = ([mean_of(objective, column) for column in part] for part in columns)
    if not all(_float(h) > 0 for h in curvatures):
        raise ValueError("curvatures: the objective has no unique minimiser")
    return curvatures, [-g / h for g, h in zip(slopes, curvatures, strict=True)]


def _float(value: Any) -> float:
    return float(value.value.lower()) if isinstance(value, Ball) else float(value)


# Training ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """What one client does in one coordinate y = x - origin: its summed gradients are ``slope`` y + ``offset`` in the
    mean, with the variance ``noise``."""

    slope: Any
    offset: Any
    noise: Any


def training(run: FedauRun, origin: Sequence[Any]) -> list[list[Training]]:
    """(D, N), with y measured from ``origin``."""
    variance = run.gradient_noise**2 / run.dimension
    found = []
    for d, centre in enumerate(origin):
        column = []
        for h, g in zip((row[d] for row in run.curvatures), (row[d] for row in run.slopes), strict=True):
            once, squares = _powers(1 - run.local_lr * h, run.local_steps)
            column.append(Training(once * h, once * (h * centre + g), variance * squares))
        found.append(column)
    return found


def _powers(factor: Any, steps: int) -> tuple[Any, Any]:
    """The sums of the first so many powers of a number, and of its square."""
    power = once = squares = factor * 0 + 1
    for _ in range(steps - 1):
        power = power * factor
        once, squares = once + power, squares + power**2
    return once, squares


# Given weights --------------------------------------------------------------------------------------------------------


def round_map(column: Sequence[Training], run: FedauRun, probabilities: Row, weights: Row, observed: Any) -> np.ndarray:
    """(E y^2, E y, 1, sum of ``observed`` y^2 so far) -> the same a round later, (4, 4), for one coordinate.

    With s = local_lr global_lr / N and a client's part omega (slope y + offset) =: A y + B,

        E[y' | y] = y - s sum_n p_n (A_n y + B_n),
        Var[y' | y] = s^2 sum_n p_n (1 - p_n) (A_n y + B_n)^2 + s^2 sum_n p_n omega_n^2 noise_n.
    """
    s = run.local_lr * run.global_lr / run.clients
    zero = s * 0
    slope = offset = bend = tilt = lift = zero
    for client, p, w in zip(column, probabilities, weights, strict=True):
        a, b, spread = w * client.slope, w * client.offset, p * (1 - p)
        slope, offset = slope + p * a, offset + p * b
        bend, tilt = bend + spread * a * a, tilt + 2 * spread * a * b
        lift = lift + spread * b * b + p * w * w * client.noise
    keep, move, one = 1 - s * slope, -(s * offset), zero + 1
    return np.array([
        [keep * keep + s * s * bend, 2 * keep * move + s * s * tilt, move * move + s * s * lift, zero],
        [zero, keep, move, zero],
        [zero, zero, one, zero],
        [observed + zero, zero, zero, one],
    ])  # fmt: skip


def given_sums(run: FedauRun, objective: Row, horizons: Sequence[int]) -> list[Any]:
    """For each horizon T: sum_{t<T} E|grad of sum_n phi_n F_n (x_t)|^2, under given weights."""
    curvatures, origin = minimiser(run, objective)
    sums = [0] * len(horizons)
    for d, column in enumerate(training(run, origin)):
        maps = [round_map(column, run, run.probabilities, row, curvatures[d] ** 2) for row in run.weights.rows]
        y = run.start[d] - origin[d]
        state = np.array([y * y, y, y * 0 + 1, y * 0])
        for i, rounds in enumerate(horizons):
            sums[i] = sums[i] + _advanced(maps, state, rounds)[-1]
    return sums


def _advanced(maps: Sequence[np.ndarray], state: np.ndarray, rounds: int) -> Sequence[Any]:
    """The state after so many rounds, the maps in a cycle."""
    cycles, rest = divmod(rounds, len(maps))
    if maps[0].dtype == object and any(isinstance(v, Ball) for v in maps[0].ravel()):
        balls = [arb_mat(4, 4, [ball(v) for v in one.ravel()]) for one in maps]
        column = arb_mat(4, 1, [ball(v) for v in state])
        for one in [_cycle(balls) ** cycles, *balls[:rest]]:
            column = one * column
        return [Ball(column[i, 0]) for i in range(4)]
    for one in [_power(_cycle(maps), cycles), *maps[:rest]]:
        state = one @ state
    return state


def _cycle(maps: Sequence[Any]) -> Any:
    """The first map, then the second, ..."""
    return reduce(lambda earlier, later: later @ earlier if isinstance(later, np.ndarray) else later * earlier, maps)


def _power(matrix: np.ndarray, exponent: int) -> np.ndarray:
    result = matrix * 0 + np.eye(4, dtype=int)
    while exponent:
        if exponent & 1:
            result = matrix @ result
        matrix, exponent = matrix @ matrix, exponent >> 1
    return result


# One round ------------------------------------------------------------------------------------------------------------

Law = Sequence[tuple[Any, tuple[int, ...]]]
"""(chance, who takes part)."""


def attendances(probabilities: Row) -> list[tuple[Any, tuple[int, ...]]]:
    """(chance, who takes part), of all sets of participants that have one.

    >>> [(str(chance), who) for chance, who in attendances((Fraction(1, 3), Fraction(1)))]
    [('2/3', (0, 1)), ('1/3', (1, 1))]
    """
    sets = product(*[[here for here in (0, 1) if (p if here else 1 - p) != 0] for p in probabilities])
    return [(reduce(mul, [p if here else 1 - p for p, here in zip(probabilities, who, strict=True)]), who)
            for who in sets]  # fmt: skip


def expected_increase(run: FedauRun, objective: Row, weights: Row, law: Law) -> Any:
    """E f~(x_1) - f~(x_0), f~ = sum_n phi_n F_n, where the participants have this law; from the move, not as a
    difference of two values."""
    columns, s = training(run, run.start), run.local_lr * run.global_lr / run.clients
    gradients = run.gradients(run.start)
    increase = s * 0
    for d, column in enumerate(columns):
        slope = mean_of(objective, [row[d] for row in gradients])
        curvature = mean_of(objective, [row[d] for row in run.curvatures])
        for chance, who in law:
            here = [(w, client) for w, client, present in zip(weights, column, who, strict=True) if present]
            move = -s * total([s * 0, *(w * client.offset for w, client in here)])
            noise = s * s * total([s * 0, *(w * w * client.noise for w, client in here)])
            increase = increase + chance * (slope * move + curvature * (move * move + noise) / 2)
    return increase


def largest_drift(run: FedauRun) -> Any:
    """max over clients and i = 0..I of E|y_i - x_0|^2."""
    gradients, variance = run.gradients(run.start), run.gradient_noise**2 / run.dimension
    drifts = [run.local_lr * 0]
    for n, row in enumerate(gradients):
        means = [run.local_lr * 0 for _ in row]
        noises = list(means)
        for _ in range(run.local_steps):
            factors = [1 - run.local_lr * h for h in run.curvatures[n]]
            means = [f * m - run.local_lr * u for f, m, u in zip(factors, means, row, strict=True)]
            noises = [f**2 * v + run.local_lr**2 * variance for f, v in zip(factors, noises, strict=True)]
            drifts.append(total([m * m + v for m, v in zip(means, noises, strict=True)]))
    return max(drifts)


def largest_divergence(run: FedauRun, objective: Row) -> Any:
    """max over clients of |grad F_n(x_0) - grad f~(x_0)|^2."""
    gradients = run.gradients(run.start)
    centre = [mean_of(objective, column) for column in zip(*gradients, strict=True)]
    return max(total([(u - c) ** 2 for u, c in zip(row, centre, strict=True)]) for row in gradients)


# Reach ----------------------------------------------------------------------------------------------------------------


def squared_gradient_bound(run: FedauRun) -> Any:
    """max |grad f|^2 over the box that runs ``stay_in``.

    Outside the box F_n may go on with the gradient of its edge, coordinate by coordinate: so there are clients with the
    same runs and the same L, sigma and delta whose global gradient is bounded by this everywhere.

    Raises:
        Undecided: the clients' curvatures differ, or one is not positive.
    """
    bound = Fraction(0)
    reach = run.gradient_noise / _root(run.dimension, isinstance(run.gradient_noise, float))
    for d in range(run.dimension):
        h, slopes = run.curvatures[0][d], [row[d] for row in run.slopes]
        if any(row[d] != h for row in run.curvatures) or not h > 0:
            raise Undecided("runs are held in a box where the clients have one positive curvature only")
        centre = mean(slopes)
        # Gradients of f: at the start, and at a minimiser -g_n/h, moved by reach/h.
        ends = [h * run.start[d] + centre, *(centre - g + sign * reach for g in slopes for sign in (-1, 1))]
        bound = bound + reduce(_larger, [end * end for end in ends])
    return bound


def stays_in(run: FedauRun, most: Row) -> bool:
    """Whether no run leaves, coordinate by coordinate, the hull of x_0 and of the clients' minimisers, these moved by
    sigma/(sqrt(D) h) to either side; ``most`` are the largest weights of the clients.

    Where the clients have one curvature h > 0 and local_lr h <= 1, a step of a client goes the share local_lr h of the
    way to its minimiser, which its noise (two-point, of equal size) moves by so much. A round is the same if the shares
    (1 - (1 - local_lr h)^I) global_lr omega_n/N of all clients add up to at most 1.
    """
    for h in run.curvatures[0]:
        once, _ = _powers(1 - run.local_lr * h, run.local_steps)
        share = run.local_lr * h * once * run.global_lr * total(most) / run.clients
        if not (_at_most(run.local_lr * h, 1) and _at_most(share, 1)):
            return False
    return True


def _at_most(value: Any, limit: int) -> bool:
    return bool(value.value <= limit) if isinstance(value, Ball) else value <= limit


def _larger(one: Any, other: Any) -> Any:
    if isinstance(one, Ball) or isinstance(other, Ball):
        return Ball(ball(one).max(ball(other)))
    return max(one, other)


def _root(dimension: int, in_floats: bool) -> Any:
    """sqrt(D), exactly where it is rational."""
    root = math.isqrt(dimension)
    if in_floats or root**2 == dimension:
        return math.sqrt(dimension) if in_floats else Fraction(root)
    return Ball(ball(dimension).sqrt())


def in_balls(run: FedauRun) -> FedauRun:
    """The run with both steps in balls, which keeps the powers of its maps from growing by their digits."""
    return replace(run, local_lr=Ball(ball(run.local_lr)), global_lr=Ball(ball(run.global_lr)))
