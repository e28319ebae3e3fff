r"""Rounds of weighted updates (FedAU's Algorithm 1) on quadratic clients, in floats, Fractions or balls.

A round t >= 0 adds (global_lr/N) sum_n 1_n omega_n Delta_n to x_t. Client n, with F_n(x) = sum_d h_d x_d^2/2 + g_d x_d,
makes I steps; with S = sum_{i<I} (1 - local_lr h)^i, coordinate by coordinate,

    Delta_n = -local_lr (S (h x + g) - zeta),    Var zeta = (sigma^2/D) sum_{i<I} (1 - local_lr h)^(2i),

so that no number is the difference of two that are nearly equal. Client n takes part with probability p_n,
independently of everything else. Whether a client takes part concerns all coordinates, but what a claim bounds is a sum
of squares of single ones: their first and second moments follow a recursion of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from flint import arb, arb_mat

from ....algorithms.aggregation import Aggregation, Constant, FedAUWeights, GivenWeights, Known
from ....algorithms.algorithm import ClientRound
from ....algorithms.every_round import EveryRound
from ....algorithms.server_step import Plain
from ....claims.balls import Ball, ball
from ....claims.balls import Undecided
from ....federations.quadratic import Quadratic
from ....participation import Bernoulli
from ....setting import Setting
from ....moments.evaluators import BALL, FLOAT, Question, Unserved
from ....moments.number_kinds import larger
from ....moments.round_maps import has_common_noise

Row = tuple[Any, ...]
"""Numbers, one for each client or for each coordinate."""

WEIGHTED = (Constant, GivenWeights, Known, FedAUWeights)
"""Aggregations whose rounds are weighted updates."""

STEPS = ("local_lr", "global_lr")
"""Step sizes that a question may state in a ball: those that a claim chooses may be irrational."""


class Unfollowed(Unserved, Undecided):
    """Error where a setting has what is asked for, but it is not known how to compute or to enclose it."""


@dataclass(frozen=True)
class WeightedRounds:
    """A setting in numbers of one kind.

    Attributes:
        curvatures, slopes: (N, D), h and g of each client.
        start: (D,), x_0. gradient_noise: sigma.
        probabilities: (N,), p_n.
        rows: of given weights, those of round t are ``rows[t % len(rows)]``; () where they are estimated.
        cutoff: K of estimated weights, an integer >= 1 or ``math.inf``; ``None`` where they are given.
        local_steps: I. local_lr, global_lr: gamma and eta.
    """

    curvatures: tuple[Row, ...]
    slopes: tuple[Row, ...]
    start: Row
    gradient_noise: Any
    probabilities: Row
    rows: tuple[Row, ...]
    cutoff: int | float | None
    local_steps: int
    local_lr: Any
    global_lr: Any

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.slopes)

    @property
    def dimension(self) -> int:
        """The dimension of the iterates."""
        return len(self.start)

    @property
    def first_row(self) -> Row:
        """The weights of round 0: estimated ones are 1 then."""
        return self.rows[0] if self.rows else tuple(p * 0 + 1 for p in self.probabilities)

    @property
    def estimated_cutoff(self) -> int | float:
        """K, of weights that are estimated."""
        assert self.cutoff is not None and not self.rows
        return self.cutoff

    @property
    def gradients(self) -> list[list[Any]]:
        """(N, D), the clients' gradients at x_0."""
        return [
            [h * x + g for h, x, g in zip(hs, self.start, gs, strict=True)]
            for hs, gs in zip(self.curvatures, self.slopes, strict=True)
        ]

    def column(self, d: int) -> Row:
        """(N,), the clients' curvatures in coordinate d."""
        return tuple(row[d] for row in self.curvatures)

    def largest_weights(self, rounds: int) -> Row:
        """Return the largest weight that each client can have in any of so many rounds."""
        if self.rows:
            return tuple(map(max, zip(*self.rows, strict=True)))
        longest = longest_interval(self.estimated_cutoff, rounds)
        return tuple(1 if p == 1 else longest for p in self.probabilities)


def longest_interval(cutoff: int | float, rounds: int) -> int:
    """Return the largest weight of a client that may be absent: away until it is cut off, or until round T - 2."""
    return int(max(1, min(cutoff, rounds - 1)))


def is_weighted(setting: Setting) -> bool:
    """Whether rounds of the setting are weighted updates of clients that take part independently, on a quadratic
    federation without mixed curvatures."""
    return weighted_parts(setting) is not None


def weighted_parts(setting: Setting) -> tuple[Quadratic, ClientRound] | None:
    """The federation and the round of such a setting; of others ``None``."""
    fed, algorithm = setting.federation, setting.algorithm
    if not (isinstance(fed, Quadratic) and isinstance(algorithm, EveryRound)):
        return None
    diagonal = np.count_nonzero(fed.hessians) == np.count_nonzero(np.diagonal(fed.hessians, axis1=1, axis2=2))
    kind = algorithm.round
    plain = kind.proximal == 0 and kind.by_sgd and kind.selection is None and not kind.by_rule
    weighted = isinstance(kind.aggregation, WEIGHTED) and isinstance(setting.participation, Bernoulli)
    return (fed, kind) if diagonal and plain and weighted and isinstance(kind.server, Plain) else None


def aggregation_of(setting: Setting) -> Aggregation:
    """Return the rule that weighs a round's updates, with what it takes from the participants.

    Raises:
        Unserved: updates are not weighted, or the algorithm has several kinds of round.
    """
    if isinstance(setting.algorithm, EveryRound):
        kind = setting.algorithm.round
        if isinstance(kind.aggregation, WEIGHTED):
            return kind.bound(setting.participation, setting.federation.clients).aggregation
    raise Unserved(
        "weights of updates: the algorithm has none of its own; allowed are fedau, known_statistics, constant_weights "
        "and given_weights"
    )


def given_rows(aggregation: Aggregation) -> tuple[tuple[Fraction, ...], ...]:
    """Return the weights of the rounds, in a cycle; () where they are estimated."""
    match aggregation:
        case GivenWeights(rows):
            return rows
        case Constant(row):
            return (row,)
        case Known(p):
            assert p is not None  # ``aggregation_of`` has bound the rule to the process
            return (tuple(1 / Fraction(p_n) for p_n in p),)
    return ()


def probabilities_of(setting: Setting) -> tuple[Fraction, ...]:
    """Return p_n, for clients that take part independently of each other and of other rounds.

    Raises:
        Unserved: they take part in another way.
    """
    if not isinstance(setting.participation, Bernoulli):
        raise Unserved(
            f"participation = {type(setting.participation).__name__}: allowed is Bernoulli, clients that take part "
            "independently, each with a probability of its own"
        )
    return tuple(map(Fraction, setting.participation.probabilities))


def in_kind(values: Iterable[Any], numbers: str) -> Row:
    """Convert Fractions to the kind of number that is asked for."""
    return tuple(float(v) for v in values) if numbers == FLOAT else tuple(values)


def answer(question: Question, value: Any) -> Any:
    """Return a value in the kind of number that is asked for, a ball where no Fraction exists; an array as it is."""
    if isinstance(value, np.ndarray) or question.numbers == FLOAT:
        return value
    value = value.value if isinstance(value, Ball) else value
    return ball(value) if question.numbers == BALL else value if isinstance(value, arb) else Fraction(value)


def weighted_rounds(question: Question) -> WeightedRounds:
    """Read the rounds of weighted updates off a question's setting.

    Steps may be stated, as ``local_lr`` and ``global_lr``: a claim may choose irrational ones, which are balls. In
    balls all steps are, which keeps their powers from growing by digits.

    Raises:
        Unserved: the setting has no weighted updates, or its federation or its participants are others than here.
    """
    setting, numbers = question.setting, question.numbers
    aggregation, probabilities = aggregation_of(setting), probabilities_of(setting)
    parts = weighted_parts(setting)
    if parts is None:
        raise Unserved(
            "moments of weighted updates: allowed are quadratic federations with diagonal Hessians, without a proximal "
            "term, a selection, a server's rule but global_lr or step sizes by rule"
        )
    fed, kind = parts
    if has_common_noise(fed):
        raise Unserved("noise: weighted rounds need clients whose noises are independent")
    steps = {"local_lr": kind.local_lr, "global_lr": kind.server.global_lr}
    steps = {name: _step(question.stated.get(name, value), numbers) for name, value in steps.items()}
    diagonals = np.diagonal(fed.exact_hessians, axis1=1, axis2=2)
    return WeightedRounds(
        curvatures=tuple(in_kind(row, numbers) for row in diagonals),
        slopes=tuple(in_kind(row, numbers) for row in fed.exact_slopes),
        start=in_kind(setting.exact_start, numbers),
        gradient_noise=in_kind((fed.exact_gradient_noise,), numbers)[0],
        probabilities=in_kind(probabilities, numbers),
        rows=tuple(in_kind(row, numbers) for row in given_rows(aggregation)),
        cutoff=aggregation.cutoff if isinstance(aggregation, FedAUWeights) else None,
        local_steps=kind.local_steps,
        **steps,
    )


def _step(value: Any, numbers: str) -> Any:
    if numbers == FLOAT:
        return float(value)
    return Ball(ball(value)) if numbers == BALL or isinstance(value, (arb, Ball)) else Fraction(value)


def total(values: Sequence[Any]) -> Any:
    """Sum numbers of one kind."""
    return reduce(add, values)


def mean(values: Sequence[Any]) -> Any:
    """Compute the plain mean."""
    return total(values) / len(values)


def mean_of(weights: Sequence[Any], values: Sequence[Any]) -> Any:
    """Compute sum_n weights_n values_n."""
    return total([w * v for w, v in zip(weights, values, strict=True)])


def minimiser(rounds: WeightedRounds, objective: Row) -> tuple[list[Any], list[Any]]:
    """Return the curvatures of sum_n phi_n F_n, and its minimiser.

    Raises:
        Unserved: it has no unique minimiser.
    """
    columns = list(zip(*rounds.curvatures, strict=True)), list(zip(*rounds.slopes, strict=True))
    curvatures, slopes = ([mean_of(objective, column) for column in part] for part in columns)
    if not all(h > 0 for h in curvatures):
        raise Unserved("curvatures: the objective has no unique minimiser")
    return curvatures, [-g / h for g, h in zip(slopes, curvatures, strict=True)]


# Training ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """Local training of one client in one coordinate y = x - origin.

    Its summed gradients are ``slope`` y + ``offset`` in the mean, with the variance ``noise``.
    """

    slope: Any
    offset: Any
    noise: Any


def training(rounds: WeightedRounds, origin: Sequence[Any]) -> list[list[Training]]:
    """Return each client's training in each coordinate, (D, N), with y measured from ``origin``."""
    variance = rounds.gradient_noise**2 / rounds.dimension
    found = []
    for d, centre in enumerate(origin):
        column = []
        for h, g in zip(rounds.column(d), (row[d] for row in rounds.slopes), strict=True):
            once, squares = powers(1 - rounds.local_lr * h, rounds.local_steps)
            column.append(Training(once * h, once * (h * centre + g), variance * squares))
        found.append(column)
    return found


def powers(factor: Any, steps: int) -> tuple[Any, Any]:
    """Sum the first so many powers of a number, and of its square."""
    power = once = squares = factor * 0 + 1
    for _ in range(steps - 1):
        power = power * factor
        once, squares = once + power, squares + power**2
    return once, squares


# Given weights --------------------------------------------------------------------------------------------------------


def round_map(column: Sequence[Training], rounds: WeightedRounds, weights: Row, observed: Any) -> np.ndarray:
    """(E y^2, E y, 1, sum of ``observed`` y^2 so far) -> the same a round later, (4, 4), for one coordinate.

    With s = local_lr global_lr / N and a client's part omega (slope y + offset) =: A y + B,

        E[y' | y] = y - s sum_n p_n (A_n y + B_n),
        Var[y' | y] = s^2 sum_n p_n (1 - p_n) (A_n y + B_n)^2 + s^2 sum_n p_n omega_n^2 noise_n.
    """
    s = rounds.local_lr * rounds.global_lr / rounds.clients
    zero = s * 0
    slope = offset = bend = tilt = lift = zero
    for client, p, w in zip(column, rounds.probabilities, weights, strict=True):
        a, b, spread = w * client.slope, w * client.offset, p * (1 - p)
        slope, offset = slope + p * a, offset + p * b
        bend, tilt = bend + spread * a * a, tilt + 2 * spread * a * b
        lift = lift + spread * b * b + p * w * w * client.noise
    keep, move, one = 1 - s * slope, -(s * offset), zero + 1
    return np.array(
        [
            [keep * keep + s * s * bend, 2 * keep * move + s * s * tilt, move * move + s * s * lift, zero],
            [zero, keep, move, zero],
            [zero, zero, one, zero],
            [observed + zero, zero, zero, one],
        ]
    )


def given_sums(rounds: WeightedRounds, objective: Row, horizons: Sequence[int]) -> list[Any]:
    """Compute sum_{t<T} E|grad of sum_n phi_n F_n (x_t)|^2 for each horizon T, by binary powers of one cycle's map."""
    curvatures, origin = minimiser(rounds, objective)
    sums = [0] * len(horizons)
    for d, column in enumerate(training(rounds, origin)):
        maps = [round_map(column, rounds, row, curvatures[d] ** 2) for row in rounds.rows]
        y = rounds.start[d] - origin[d]
        state = np.array([y * y, y, y * 0 + 1, y * 0])
        if maps[0].dtype == object or max(horizons) >= 2**63:
            squares: list[np.ndarray] = []
            parts = [_advanced(maps, state, horizon, squares)[-1] for horizon in horizons]
        else:
            parts = list(advanced_in_floats(np.array(maps), state, np.array(horizons))[:, -1])
        sums = [total + part for total, part in zip(sums, parts, strict=True)]
    return sums


def advanced_in_floats(maps: np.ndarray, state: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """The state after each of the numbers of rounds, (rounds, 4), all at once and each to the same bits as alone.

    Args:
        maps: (cycle, 4, 4), one after the other, again and again. state: (4,). rounds: whole numbers >= 0, (rounds,).

    >>> maps = np.array([np.eye(4) / 2, np.eye(4) * 3])
    >>> advanced_in_floats(maps, np.ones(4), np.array([0, 1, 2, 5]))[:, 0].tolist()
    [1.0, 0.5, 1.5, 1.125]
    """
    cycles, rest = np.divmod(rounds, len(maps))
    square = _cycle(list(maps))
    power = np.repeat((square * 0 + np.eye(4))[None], len(rounds), axis=0)
    for bit in range(int(cycles.max()).bit_length()):
        square = square @ square if bit else square
        chosen = (cycles >> bit & 1).astype(bool)
        power[chosen] = square @ power[chosen]
    states = power @ state
    for place, one in enumerate(maps[:-1]):
        later = rest > place
        states[later] = (one @ states[later][..., None])[..., 0]
    return states


def _advanced(
    maps: Sequence[np.ndarray], state: np.ndarray, rounds: int, squares: list[np.ndarray]
) -> Sequence[Any] | np.ndarray:
    """The state after so many rounds in exact numbers or balls, the maps in a cycle, of which ``squares`` are the
    powers 1, 2, 4, ... so far."""
    cycles, rest = divmod(rounds, len(maps))
    if maps[0].dtype == object and any(isinstance(v, Ball) for v in maps[0].ravel()):
        balls = [arb_mat(4, 4, [ball(v) for v in one.ravel()]) for one in maps]
        column = arb_mat(4, 1, [ball(v) for v in state])
        for one in [_cycle(balls) ** cycles, *balls[:rest]]:
            column = one * column
        return [Ball(column[i, 0]) for i in range(4)]
    if not squares:
        squares.append(_cycle(maps))
    for one in [_power(squares, cycles), *maps[:rest]]:
        state = one @ state
    return state


def _cycle(maps: Sequence[Any]) -> Any:
    """The first map, then the second, ..."""
    return reduce(lambda earlier, later: later @ earlier if isinstance(later, np.ndarray) else later * earlier, maps)


def _power(squares: list[np.ndarray], exponent: int) -> np.ndarray:
    """A power of a matrix from its powers 1, 2, 4, ..., to which those are added that it needs."""
    result = squares[0] * 0 + np.eye(4, dtype=int)
    for bit in range(exponent.bit_length()):
        if bit == len(squares):
            squares.append(squares[-1] @ squares[-1])
        if exponent >> bit & 1:
            result = squares[bit] @ result
    return result


# One round ------------------------------------------------------------------------------------------------------------

Law = Sequence[tuple[Any, Row]]
"""(chance, each client's probability to take part then, independently of the others)."""


def expected_increase(rounds: WeightedRounds, objective: Row, law: Law) -> Any:
    """E f~(x_1) - f~(x_0), f~ = sum_n phi_n F_n, where the participants have this law; from the move, not as a
    difference of two values. With s = local_lr global_lr / N and the offsets b_n of training from x_0,

        E move = -s sum_n q_n omega_n b_n,    Var move = s^2 sum_n q_n omega_n^2 ((1 - q_n) b_n^2 + noise_n).
    """
    columns, s = training(rounds, rounds.start), rounds.local_lr * rounds.global_lr / rounds.clients
    gradients, increase = rounds.gradients, s * 0
    for d, column in enumerate(columns):
        slope = mean_of(objective, [row[d] for row in gradients])
        curvature = mean_of(objective, rounds.column(d))
        for chance, present in law:
            here = list(zip(present, rounds.first_row, column, strict=True))
            move = -s * total([q * w * client.offset for q, w, client in here])
            spread = s * s * total([q * w * w * ((1 - q) * client.offset**2 + client.noise) for q, w, client in here])
            increase = increase + chance * (slope * move + curvature * (move * move + spread) / 2)
    return increase


def largest_drift(rounds: WeightedRounds) -> Any:
    """max over clients and i = 0..I of E|y_i - x_0|^2."""
    variance = rounds.gradient_noise**2 / rounds.dimension
    drifts = [rounds.local_lr * 0]
    for n, row in enumerate(rounds.gradients):
        means = [rounds.local_lr * 0 for _ in row]
        noises = list(means)
        for _ in range(rounds.local_steps):
            factors = [1 - rounds.local_lr * h for h in rounds.curvatures[n]]
            means = [f * m - rounds.local_lr * u for f, m, u in zip(factors, means, row, strict=True)]
            noises = [f**2 * v + rounds.local_lr**2 * variance for f, v in zip(factors, noises, strict=True)]
            drifts.append(total([m * m + v for m, v in zip(means, noises, strict=True)]))
    return reduce(larger, drifts)


def largest_divergence(rounds: WeightedRounds, objective: Row) -> Any:
    """max over clients of |grad F_n(x_0) - grad f~(x_0)|^2."""
    gradients = rounds.gradients
    centre = [mean_of(objective, column) for column in zip(*gradients, strict=True)]
    return max(total([(u - c) ** 2 for u, c in zip(row, centre, strict=True)]) for row in gradients)
