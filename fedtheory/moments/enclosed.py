"""Exact errors as floats with proven bounds: followed in balls, in as many binary digits as that takes.

A round's operator on second moments (see ``timeline``) is made in balls, and moved on by powers of two of it. Radii
grow with the horizon, and where an error vanishes its moments about x* cancel; both cost digits and nothing else, so
the number of digits is raised until every value is known to the last digit of a float, or to the least float.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, arb_mat, ctx

from ..claims.balls import ball_matrix, working_precision
from .timeline import MOST_VARYING, Schedule, Timeline, Varying, small_bits

DIGITS = 51
"""Binary digits of a value that have to be known."""

LEAST = 2.0**-1074
"""The smallest float above 0. A value that is known to within it is known well enough."""

SPARE, MOST_BITS = 64, 2**14
"""Binary digits that are taken besides those that a horizon costs, and the most."""

FEW = 200
"""The most horizons that are reached one after another. More are reached by small and giant steps."""


class Imprecise(ValueError):
    """Error of enclosures that are not narrow enough, or would take too long."""


def rounded(
    rounds: np.ndarray, enclose: Callable[[], list[list[arb]]], enough: Sequence[float] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Round numbers >= 0 to floats, and bound their distance from what they stand for.

    ``enclose`` gives the numbers in balls of the working precision. They are infinite where they are above the range of
    floats.

    Args:
        enough: for each of the rounds, a distance that is small enough; by default ``LEAST``.

    Raises:
        Imprecise: no enclosure in ``MOST_BITS`` is narrow enough, or it would take too long.

    >>> values, accuracy = rounded(np.array([1]), lambda: [[arb(1) / 3]])
    >>> float(values[0, 0]), 0 < float(accuracy[0, 0]) < 1e-16
    (0.3333333333333333, True)
    """
    bits = SPARE + 4 * int(rounds.max()).bit_length()
    wanted = [math.frexp(max(each, LEAST))[1] - 1 for each in enough] or [-1074] * len(rounds)
    if enough:  # moments about x* cancel down to that
        bits = min(MOST_BITS, bits + max(0, -min(wanted)))
    while bits <= MOST_BITS:
        with working_precision(bits):
            found = enclose()
            missing = max(_missing(value, least) for row in found for value, least in zip(row, wanted, strict=True))
            if missing <= 0:
                pairs = np.array([[_nearest(value) for value in row] for row in found])
                return pairs[..., 0], pairs[..., 1]
        bits = max(2 * bits, bits + missing + SPARE)
    raise Imprecise(
        f"rounds = {reprlib.repr(int(rounds.max()))}: no enclosure of the errors in {MOST_BITS} binary "
        "digits is narrow enough; allowed are fewer rounds"
    )


def _missing(value: arb, least: int) -> int:
    """Return how many more digits of a value are needed, at least.

    It is 0 or less where the value is known to its last digit as a float, or to 2^least.
    """
    if not value.is_finite():
        return 1
    radius = value.rad()
    if radius == 0:
        return 0
    missing = _exponent(radius) - least
    if value.contains(0):  # perhaps it is 0; perhaps more digits show that it is not
        return min(missing, ctx.prec)
    return min(missing, _exponent(radius) - _exponent(abs(value).lower()) + DIGITS)


def _exponent(value: arb) -> int:
    """e with |value| < 2^e, about the least."""
    mantissa, exponent = value.mid().man_exp()
    return int(mantissa).bit_length() + int(exponent)


def _nearest(value: arb) -> tuple[float, float]:
    """A float >= 0 near a number >= 0, and a bound of their distance."""
    middle = max(0.0, float(value.mid()))
    if math.isinf(middle):
        return math.inf, math.inf
    distance = float(abs(value - arb(middle)).upper())
    return middle, 0.0 if value == arb(middle) else math.nextafter(distance, math.inf)


# Moving on ------------------------------------------------------------------------------------------------------------

Blocks = list[arb_mat]
"""A matrix for each coordinate that evolves alone, or one."""


def blocks_of(array: np.ndarray) -> Blocks:
    """Convert the matrices (*blocks, n, k) to balls."""
    return [ball_matrix(each) for each in array.reshape(-1, *array.shape[-2:])]


def times(one: Blocks, other: Blocks) -> Blocks:
    """Multiply block by block."""
    return [a * b for a, b in zip(one, other, strict=True)]


class Powers:
    """Powers of one operator, squared when they are asked for.

    What is less than the working precision shows, beside 1, is taken for 0 and for an error: products of numbers of all
    sizes are slow.

    Args:
        operator: on states (z, a), of which a sums over time and moves nothing: z' = T z, a' = a + w z.
        constants: the places in z whose sum never changes; () where that is not known.
    """

    def __init__(self, operator: Blocks, constants: Sequence[int] = ()) -> None:
        self.squares, self.constants = [operator], constants
        self._norms: dict[int, list[float]] = {}

    def moved(self, states: Blocks, number: int) -> Blocks:
        """Apply the operator so many times to the states."""
        size = states[0].nrows()
        if number <= size // states[0].ncols() and number >> len(self.squares):  # squares would cost more
            for _ in range(number):
                states = times(self.squares[0], states)
            return states
        if size**3 * number.bit_length() > MOST_WORK:
            raise Imprecise(
                f"rounds = {number} of a recursion of {size} numbers: enclosed are at most {size} such "
                f"rounds, or one of at most {int((MOST_WORK / number.bit_length()) ** (1 / 3))} numbers; "
                "errors_in_floats states no accuracy"
            )
        for bit in range(number.bit_length()):
            if bit == len(self.squares):
                self.squares.append(self._square())
            if bit and self._forgets(bit, number >> bit):
                return self._settled(states, number >> bit, bit)
            if number >> bit & 1:
                states = times(self.squares[bit], states)
        return states

    def _square(self) -> Blocks:
        last, least = self.squares[-1], arb(2) ** -ctx.prec
        return [each.chop(least) + _blur(each.nrows(), ctx.prec) for each in times(last, last)]

    def _forgets(self, bit: int, number: int) -> bool:
        """Whether so many of the 2^bit-th powers leave nothing of differences between states."""
        if not self.constants or self.squares[0][0].nrows() < LARGE:
            return False
        if bit not in self._norms:
            self._norms[bit] = [self._norm(each) for each in self.squares[bit]]
        return all(norm < 0.5 and -math.log2(max(norm, LEAST)) * number > NOTHING for norm in self._norms[bit])

    def _norm(self, power: arb_mat) -> float:
        """Bound the norm of T on the differences, whose ``constants`` sum to 0: so a column may be taken from those."""
        size = power.nrows() - 1
        common = [power[i, self.constants[0]].mid() for i in range(size)]
        rows = (
            [abs(power[i, j] - common[i] if j in self.constants else power[i, j]) for j in range(size)]
            for i in range(size)
        )
        return max(float(sum(row, arb(0)).upper()) for row in rows) * (1 + 1e-9)

    def _settled(self, states: Blocks, number: int, bit: int) -> Blocks:
        """The states, so many of the 2^bit-th powers on. With l the sum of the constants, and l u = 1, the limit is
        l z times the solution of (I - T + u l^T) z* = u, and of the same x = (I - T)^{-1} (z - z*),

            T^n z = z* + T^n (z - z*),    sum_{s < n} T^s z = n z* + x - T^n x.
        """
        found, rounds = [], number << bit
        for operator, power, norm, state in zip(
            self.squares[0], self.squares[bit], self._norms[bit], states, strict=True
        ):
            size = operator.nrows() - 1
            common = [power[i, self.constants[0]].mid() for i in range(size)]
            total = sum((common[i] for i in self.constants), arb(0))
            common = [each / total for each in common]
            off = [
                [int(i == j) - operator[i, j] + (common[i] if j in self.constants else 0) for j in range(size)]
                for i in range(size)
            ]
            limit = arb_mat(off).solve(_column_of(common))
            begun = arb_mat([[state[i, c] for c in range(state.ncols())] for i in range(size)])
            known = arb_mat([[sum((state[i, c] for i in self.constants), arb(0)) for c in range(state.ncols())]])
            away = begun - limit * known
            passed, row = arb_mat(off).solve(away), arb_mat([[operator[size, j] for j in range(size)]])
            left = arb(norm) ** number
            ended = limit * known + _around(away, left)
            gained = row * (limit * known) * rounds + row * (passed + _around(passed, left))
            found.append(
                arb_mat(
                    [[ended[i, c] for c in range(state.ncols())] for i in range(size)]
                    + [[state[size, c] + gained[0, c] for c in range(state.ncols())]]
                )
            )
        return found


MOST_WORK = 2 * 10**10
"""The most products that powers may take; each is some 20 to 100 ns."""

LARGE, NOTHING = 8, 1200
"""The least size of a state that is replaced by its limit far out, where less than 2^-1200 is left of the past."""


def _column_of(numbers: list[arb]) -> arb_mat:
    return arb_mat([[number] for number in numbers])


def _around(matrix: arb_mat, share: arb) -> arb_mat:
    """Around 0, what is at most this share of the largest entry of each column."""
    rows, columns = range(matrix.nrows()), range(matrix.ncols())
    largest = [max((abs(matrix[i, c]).upper() for i in rows), key=float) * share for c in columns]
    return arb_mat([[arb(0, largest[c].upper()) for c in columns] for _ in rows])


@lru_cache(maxsize=64)
def _blur(size: int, bits: int) -> arb_mat:
    """Balls around 0 that hold what is less than 2^-bits."""
    return arb_mat(size, size, [arb(0, arb(2) ** -bits)] * size**2)


class _Periods:
    """The rounds of a ``Schedule``."""

    def __init__(self, schedule: Schedule, constants: Sequence[int]) -> None:
        self.period = schedule.period
        self.first, self.rest = (Powers(blocks_of(each), constants) for each in (schedule.first, schedule.rest))
        whole = self.rest.moved(self.first.squares[0], self.period - 1)
        self.whole = self.first if self.period == 1 else Powers(whole, constants)

    def moved(self, states: Blocks, begin: int, end: int) -> Blocks:
        """Advance the states from before the round ``begin`` to before the round ``end``."""
        place = begin % self.period
        if place and begin < end:
            ahead = min(end - begin, self.period - place)
            states, begin = self.rest.moved(states, ahead), begin + ahead
        states = self.whole.moved(states, (end - begin) // self.period)
        left = (end - begin) % self.period
        return self.rest.moved(self.first.moved(states, 1), left - 1) if left else states


class Advancing:
    """The rounds of a ``Timeline``, in balls; ``constants`` as in ``Powers``."""

    def __init__(self, plan: Timeline, constants: Sequence[int]) -> None:
        self.constants = constants
        made = {id(schedule): _Periods(schedule, constants) for schedule in plan.schedules}
        self.parts = [made[id(schedule)] for schedule in plan.schedules]
        ends = np.cumsum([0, *plan.lengths]).tolist()
        self.length = ends[-1] if plan.cyclic else None
        self.spans = list(pairwise(ends)) if plan.cyclic else [*pairwise(ends[:-1]), (ends[-2], math.inf)]
        self._cycle: Powers | None = None

    @property
    def steady(self) -> _Periods | None:
        """The only schedule, where there is one."""
        return self.parts[0] if len(self.parts) == 1 and self.length is None else None

    def moved(self, states: Blocks, begin: int, end: int) -> Blocks:
        """Advance the states from before the round ``begin`` to before the round ``end``."""
        if self.length is None:
            return self._within(states, begin, end)
        cycles = end // self.length - -(-begin // self.length)
        if cycles <= 0:
            middle = min(end, -(-begin // self.length) * self.length)
            states = self._within(states, *self._placed(begin, middle))
            return self._within(states, *self._placed(middle, end))
        states = self._within(states, *self._placed(begin, -(-begin // self.length) * self.length))
        if self._cycle is None:
            whole = blocks_of(np.stack([_identity(each.nrows()) for each in states]))
            self._cycle = Powers(self._within(whole, 0, self.length), self.constants)
        return self._within(self._cycle.moved(states, cycles), 0, end % self.length)

    def _placed(self, begin: int, end: int) -> tuple[int, int]:
        """Return the same rounds in the first cycle; ``end`` may be its end."""
        assert self.length is not None
        return begin % self.length, begin % self.length + end - begin

    def _within(self, states: Blocks, begin: int, end: int) -> Blocks:
        for part, (low, high) in zip(self.parts, self.spans, strict=True):
            if begin < min(end, high) and end > low:
                last = int(min(end, high))
                states, begin = part.moved(states, int(begin - low), int(last - low)), last
        return states


def _identity(size: int) -> np.ndarray:
    return np.eye(size, dtype=int).astype(object)


def observed_in_balls(
    plan: Timeline | Varying,
    start: np.ndarray,
    observables: np.ndarray,
    rounds: Sequence[int],
    constants: Sequence[int] = (),
) -> list[list[arb]]:
    """Follow the observables (q, *blocks, n) of the state before each of ``rounds``, summed over blocks.

    The state begins as ``start`` (*blocks, n) before round 0. Each observable has one ball for each of the rounds. The
    entries at ``constants`` have a sum that never changes (see ``Powers``).
    """
    states, wanted = blocks_of(start[..., None]), sorted(set(rounds))
    rows = [ball_matrix(np.stack([row.reshape(len(states), -1)[b] for row in observables])) for b in range(len(states))]
    if isinstance(plan, Varying):
        known = dict(_one_by_one(plan, states, rows, wanted))
    else:
        moving = Advancing(plan, constants)
        if moving.steady is not None and moving.steady.period == 1 and len(wanted) > FEW and wanted[-1] < 2**62:
            known = _by_giant_steps(moving.steady.whole, states, rows, wanted)
        else:
            known, at = {}, 0
            for r in wanted:
                states, at = moving.moved(states, at, r), r
                known[r] = _summed(rows, states)
    return [[known[r][q] for r in rounds] for q in range(len(observables))]


def _summed(rows: Blocks, states: Blocks) -> list[arb]:
    total = sum(times(rows, states)[1:], rows[0] * states[0])
    return [total[q, 0] for q in range(total.nrows())]


def _one_by_one(plan: Varying, states: Blocks, rows: Blocks, wanted: list[int]) -> Iterator[tuple[int, list[arb]]]:
    if wanted[-1] > MOST_VARYING:
        raise ValueError(f"rounds = {wanted[-1]}: allowed are at most {MOST_VARYING} that all differ")
    at = 0
    for r in wanted:
        for passed in range(at, r):
            states = times(blocks_of(plan.of_round(passed)), states)
        at = r
        yield r, _summed(rows, states)


def _by_giant_steps(powers: Powers, states: Blocks, rows: Blocks, wanted: list[int]) -> dict[int, list[arb]]:
    """Observables take the small steps w P^b, and states the giant ones P^(a m) z_0 (see ``timeline.at_horizons``)."""
    cycles, count = np.array(wanted, dtype=np.int64), rows[0].nrows()
    small = small_bits(cycles, 0 * cycles, count)
    of_row, row = np.unique(cycles & (1 << small) - 1, return_inverse=True)
    giant, state = np.unique(cycles >> small, return_inverse=True)
    turned = Powers([each.transpose() for each in powers.squares[0]])
    moved, columns, at = [], [each.transpose() for each in rows], 0
    for b in of_row.tolist():
        columns, at = turned.moved(columns, b - at), b
        moved.append(columns)
    step = [Powers(powers.moved(_identities(states), 1 << small))]
    reached, at = [], 0
    for a in giant.tolist():
        states, at = step[0].moved(states, a - at), a
        reached.append(states)
    left = arb_mat([[c for each in columns for c in _column(each, q)] for columns in moved for q in range(count)])
    right = arb_mat([[c for each in states for c in _column(each, 0)] for states in reached])
    table = (left * right.transpose()).table()
    return {
        r: [table[int(i) * count + q][int(j)] for q in range(count)] for r, i, j in zip(wanted, row, state, strict=True)
    }


def _identities(states: Blocks) -> Blocks:
    return [ball_matrix(_identity(each.nrows())) for each in states]


def _column(matrix: arb_mat, place: int) -> list[arb]:
    return [matrix[i, place] for i in range(matrix.nrows())]
