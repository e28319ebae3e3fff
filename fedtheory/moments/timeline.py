"""The rounds of a run one after another: which operator comes when, and how a state goes through many of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.aggregation import Constant, GivenWeights
from ..algorithms.algorithm import ClientRound, Kind, ServerRound
from ..algorithms.built_in_steps import Amplifying
from ..algorithms.every_round import EveryRound
from ..algorithms.server_step import Amplified
from ..claims.balls import matrix_product
from ..participation import Fixed, Participation, Phases
from .centred import Forms
from .known_past import KnownPast, depends_on_past
from .linear_rounds import check_entries, check_size, mean_map, symmetric_moment_map
from .participation_laws import Chain, chain_of, phases_of
from .round_maps import AnyLayout, drawn, layout_of, quadratic, rounds_of_kind, rounds_with

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class Schedule:
    """The operators of the rounds 0, 1, 2, ...: ``first`` in round 0, ``rest`` in rounds 1 to period - 1, repeated."""

    first: np.ndarray
    rest: np.ndarray
    period: int


def schedule(
    setting: Setting,
    one_round: Callable,
    exact: bool = False,
    layout: Any = None,
    forms: Forms | None = None,
    made: dict[Kind, np.ndarray] | None = None,
) -> Schedule:
    """The schedule of ``one_round`` (``mean_map``, ``second_moment_map`` or ``symmetric_moment_map``) operators of
    ``setting``.

    A kind of round that comes with probability q mixes the two kinds: a draw, then one of the two maps.

    Args:
        layout: what the state holds, if more than this setting needs.
        forms: the federation, if by coordinates that evolve alone.
        made: the operators, so far, of kinds of round in which it does not matter who shows up.

    Raises:
        ValueError: as ``rounds_of_kind``, or more numbers than ``linear_rounds.LARGEST``.
    """
    algorithm, layout = setting.algorithm, layout or layout_for(setting, forms)
    chain = chain_of(setting.participation, setting.federation.clients)
    _check(setting, one_round, chain, layout, forms, exact)

    def operator(kind: Kind) -> np.ndarray:
        if made is not None and kind in made:
            return made[kind]
        of_state = [one_round(round) for round in rounds_of_kind(setting, kind, exact, layout, forms)]
        found = chain.operator(of_state)
        if made is not None and len(of_state) == 1 and _whoever_shows_up(kind):
            made[kind] = found
        return found

    one, other = algorithm.kinds
    if algorithm.period is None and (one == other or algorithm.share in (0, 1)):  # the other kind never comes
        only = operator(one if algorithm.share == 1 else other)
        return Schedule(only, only, 1)
    first = operator(one)
    second = first if other == one else operator(other)
    if algorithm.period is not None:
        return Schedule(first, second, algorithm.period)
    q = algorithm.share if exact else float(algorithm.share)
    mixed = q * first + (1 - q) * second
    return Schedule(mixed, mixed, 1)


def _whoever_shows_up(kind: Kind) -> bool:
    """Whether a round of this kind is the same, whoever the participation process brings."""
    if isinstance(kind, ClientRound):
        return kind.uniform is not None and kind.selection is None
    return isinstance(kind, ServerRound)


def layout_for(setting: Setting, forms: Forms | None) -> AnyLayout:
    """Return the layout of the state, or of one coordinate if they evolve alone."""
    layout = layout_of(setting)
    return replace(layout, dimension=1) if forms is not None and forms.blocks else layout


def _check(setting: Setting, one_round: Callable, chain: Chain, layout: Any, forms: Forms | None, exact: bool) -> None:
    """Refuse operators that are too large."""
    size, states = layout.size, len(chain.sets)
    whole = {mean_map: size, symmetric_moment_map: size * (size + 1) // 2}.get(one_round, size**2)
    algorithm = f"algorithm = {type(setting.algorithm).__name__}"
    in_balls = forms is not None and forms.in_balls
    check_size(
        states * whole, algorithm, f"a state of {size} numbers and {states} of the participants", exact, in_balls
    )
    if forms is not None and forms.blocks:
        check_entries(forms.dimension, states * whole, algorithm, exact)


@dataclass(frozen=True)
class Timeline:
    """Schedules one after another, each for its number of rounds: the last for ever, or all of them in a cycle."""

    schedules: tuple[Schedule, ...]
    lengths: tuple[int, ...]
    cyclic: bool


@dataclass(frozen=True)
class Varying:
    """Rounds that all differ: ``of_round`` makes the operator of round r."""

    of_round: Callable[[int], np.ndarray]


MOST_VARYING = 10**5
"""The most rounds that are followed if they all differ."""


def timeline(
    setting: Setting, one_round: Callable, exact: bool = False, forms: Forms | None = None
) -> Timeline | Varying:
    """The operators of ``one_round`` of all rounds, also where the law of the participants changes between phases; by
    coordinates if the ``forms`` are.

    Raises:
        ValueError: as ``schedule``; or of what depends on the participation so far, as ``KnownPast``.
    """
    phases = phases_of(setting.participation)
    if setting.algorithm.by_rule:
        return _varying(setting, one_round, exact, forms)
    if phases is None and _amplifies(setting) and setting.participation.sizes(setting.federation.clients)[0] > 0:
        return _amplified(setting, one_round, exact, forms)
    if phases is None and _has_given_weights(setting):
        return _given(setting, one_round, exact, forms)
    if _depends_on_past(setting):
        return _varying(setting, one_round, exact, forms)
    if phases is None:
        return Timeline((schedule(setting, one_round, exact, None, forms),), (1,), False)
    period, ended = setting.algorithm.period or 1, phases.lengths if phases.cyclic else phases.lengths[:-1]
    if any(length % period for length in ended):
        return _varying(setting, one_round, exact, forms)
    layout = layout_for(setting, forms)
    of_kind: dict[Kind, np.ndarray] = {}
    made = {
        process: schedule(replace(setting, participation=process), one_round, exact, layout, forms, of_kind)
        for process in dict.fromkeys(phases.processes)
    }
    return Timeline(tuple(made[process] for process in phases.processes), phases.lengths, phases.cyclic)


def _varying(setting: Setting, one_round: Callable, exact: bool, forms: Forms | None) -> Varying:
    """The rounds of step sizes by rule, and of what depends on the participation so far."""
    algorithm, fed, layout = setting.algorithm, quadratic(setting), layout_for(setting, forms)
    phases, chain = phases_of(setting.participation), chain_of(setting.participation, fed.clients)
    past = KnownPast(setting)
    _check(setting, one_round, chain, layout, forms, exact)

    def draws_in(process: Participation, kind: Kind) -> list[Any]:
        return drawn(replace(setting, participation=process), kind, exact, forms is not None and forms.in_balls)

    of_place = cache(lambda process, place: draws_in(process, algorithm.kinds[place]))

    @lru_cache(maxsize=64)
    def operator(process: Participation, place: int, kind: Kind) -> np.ndarray:
        selects = isinstance(kind, ClientRound) and kind.selection is not None
        draws = draws_in(process, kind) if selects else of_place(process, place)
        return chain.operator(
            [one_round(each) for each in rounds_with(process, fed, kind, draws, exact, layout, forms)]
        )

    def of_kind(process: Participation, place: int, round: int) -> np.ndarray:
        return operator(process, place, past.at(algorithm.kinds[place].at(round), round))

    def of_round(round: int) -> np.ndarray:
        process = setting.participation if phases is None else phases.processes[phases.place(round)]
        if algorithm.period is not None:
            return of_kind(process, int(round % algorithm.period > 0), round)
        if algorithm.kinds[0] == algorithm.kinds[1]:
            return of_kind(process, 0, round)
        q = algorithm.share if exact else float(algorithm.share)
        return q * of_kind(process, 0, round) + (1 - q) * of_kind(process, 1, round)

    return Varying(of_round)


def is_steady(setting: Setting) -> bool:
    """Whether the kinds of round, and who takes part in them, are the same all along."""
    changing = setting.algorithm.by_rule or _depends_on_past(setting)
    return not changing and phases_of(setting.participation) is None


def _depends_on_past(setting: Setting) -> bool:
    return any(map(depends_on_past, setting.algorithm.kinds))


def _amplifies(setting: Setting) -> bool:
    return any(isinstance(kind, ClientRound) and isinstance(kind.server, Amplified) for kind in setting.algorithm.kinds)


def _has_given_weights(setting: Setting) -> bool:
    return any(isinstance(kind.aggregation, GivenWeights) for kind in setting.algorithm.client_rounds)


def _amplified(setting: Setting, one_round: Callable, exact: bool, forms: Forms | None) -> Timeline:
    """The rounds of a period, of which the last stretches the way gone in it, in a cycle."""
    kind = setting.algorithm.client_rounds[0]
    assert isinstance(kind.server, Amplified)
    schedules = []
    for last in (False, True):
        server: Any = Amplifying(kind.server.global_lr, last)
        algorithm = EveryRound(replace(kind, server=server))
        schedules.append(schedule(replace(setting, algorithm=algorithm), one_round, exact, None, forms))
    period = kind.server.period
    return Timeline(tuple(schedules), (period - 1, 1), True) if period > 1 else Timeline((schedules[1],), (1,), False)


def _given(setting: Setting, one_round: Callable, exact: bool, forms: Forms | None) -> Timeline:
    """The rounds of given weights, a row each, in a cycle."""
    kind = setting.algorithm.client_rounds[0]
    assert isinstance(kind.aggregation, GivenWeights)
    algorithms = [EveryRound(replace(kind, aggregation=Constant(row))) for row in kind.aggregation.aggregation_weight]
    schedules = [schedule(replace(setting, algorithm=each), one_round, exact, None, forms) for each in algorithms]
    return Timeline(tuple(schedules), (1,) * len(schedules), True)


def phase_settings(setting: Setting) -> list[Setting]:
    """Return the setting of each phase, its participants fixed; the setting itself where nothing changes."""
    if not isinstance(setting.participation, Phases):
        return [setting]
    return [replace(setting, participation=Fixed(members)) for members in setting.participation.sets]


def observed(plan: Timeline | Varying, start: np.ndarray, observables: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """Compute the observables (q, *blocks, n) of the state before each of ``rounds``, summed over blocks, (q,
    len(rounds)).

    The state begins as ``start`` (*blocks, n) before round 0. The result is that of ``advance``, without the states
    where it can be.
    """
    if isinstance(plan, Timeline) and len(plan.schedules) == 1 and not plan.cyclic and start.dtype != object:
        only = plan.schedules[0]
        return at_horizons(only.first, only.rest, only.period, start, observables, rounds)
    if start.dtype == object or isinstance(plan, Varying):
        flat = observables.reshape(len(observables), -1)
        return _one_by_one(plan, start, rounds, lambda state: flat @ state.ravel()).T
    states = advance(plan, start, rounds)
    flat = np.moveaxis(states, -2, 0).reshape(len(rounds), -1)
    return observables.reshape(len(observables), -1) @ flat.T


def advance(plan: Timeline | Varying, start: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """Compute the state before each of ``rounds``, (*blocks, len(rounds), n), from ``start`` (*blocks, n) before round
    0.

    By binary powers of one cycle's operator, so the cost grows with the logarithm of the horizon; in Fractions, whose
    digits grow with every product, and where all rounds differ, round by round.
    """
    if start.dtype == object or isinstance(plan, Varying):
        return np.moveaxis(_one_by_one(plan, start, rounds, lambda state: state), 0, -2)
    left = np.array(rounds, dtype=np.int64)
    *blocks, size = start.shape
    states = np.broadcast_to(start[..., None, :], (*blocks, len(left), size)).copy()
    if plan.cyclic:
        columns = np.broadcast_to(np.eye(size), (*blocks, size, size))
        for part, length in zip(plan.schedules, plan.lengths, strict=True):
            columns = _advance(part, columns, np.full(size, length))
        cycles, left = np.divmod(left, sum(plan.lengths))
        states = apply_powers(columns.swapaxes(-1, -2), cycles, states)
    for i, (part, length) in enumerate(zip(plan.schedules, plan.lengths, strict=True)):
        endless = i == len(plan.schedules) - 1
        passed = left if endless else np.minimum(left, length)
        states, left = _advance(part, states, passed), left - passed
    return states


def _one_by_one(plan: Timeline | Varying, start: np.ndarray, rounds: np.ndarray, what: Callable) -> np.ndarray:
    """Evaluate ``what`` at the state before each of the rounds, (len(rounds), ...)."""
    wanted, state = np.asarray(rounds).tolist(), start
    if isinstance(plan, Varying) and max(wanted) > MOST_VARYING:
        raise ValueError(f"rounds = {max(wanted)}: allowed are at most {MOST_VARYING} that all differ")
    asked, kept = set(wanted), {0: what(start)}
    for r, operator in enumerate(itertools.islice(operators(plan), max(wanted)), start=1):
        state = matrix_product(operator, state[..., None])[..., 0]
        if r in asked:
            kept[r] = what(state)
    return np.array([kept[r] for r in wanted], dtype=start.dtype)


def operators(plan: Timeline | Varying) -> Iterator[np.ndarray]:
    """Yield the operators of the rounds 0, 1, 2, ... for ever."""
    if isinstance(plan, Varying):
        yield from map(plan.of_round, itertools.count())
        return
    parts = list(zip(plan.schedules, plan.lengths, strict=True))
    endless = itertools.cycle(parts) if plan.cyclic else itertools.chain(parts[:-1], [(plan.schedules[-1], None)])
    for part, length in endless:
        for round in itertools.count() if length is None else range(length):
            yield part.rest if round % part.period else part.first


def _advance(schedule: Schedule, states: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """Each of the states moved on by its number of rounds."""
    period = np.linalg.matrix_power(schedule.rest, schedule.period - 1) @ schedule.first
    cycles, phase = np.divmod(rounds, schedule.period)
    states = apply_powers(period, cycles, states)
    states[..., phase > 0, :] = states[..., phase > 0, :] @ schedule.first.swapaxes(-1, -2)
    return apply_powers(schedule.rest, np.maximum(phase - 1, 0), states)


TINY = np.finfo(float).tiny


def squared(operator: np.ndarray) -> np.ndarray:
    """Multiply an operator by itself.

    Columns of zeros cost nothing; in the end, those of all that a run forgets are such. Numbers below the normal range
    count as 0, since arithmetic on them is slow.
    """
    live = operator.reshape(-1, operator.shape[-1]).any(0)
    if live.all():
        product = operator @ operator
    else:
        product = np.zeros_like(operator)
        columns = operator[..., live]
        product[..., live] = columns @ columns[..., live, :]
    product[np.abs(product) < TINY] = 0
    return product


def apply_powers(operator: np.ndarray, exponents: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Advance each of the states by its number of rounds (k,), by binary powers.

    >>> apply_powers(np.array([[0.5]]), np.array([0, 3]), np.array([[8.0], [8.0]])).tolist()
    [[8.0], [1.0]]
    """
    power, states = operator, states.copy()
    for bit, chosen in enumerate(_digits(exponents)):
        power = squared(power) if bit else operator
        if chosen is not None:
            states[..., chosen, :] = states[..., chosen, :] @ power.swapaxes(-1, -2)
    return states


def _digits(numbers: np.ndarray) -> Sequence[np.ndarray | None]:
    """By binary digit from the lowest, which of the numbers have it, ``None`` where none has."""
    of_bytes = _digits_of_bytes if len(numbers) <= FEW else _digits_of_bytes.__wrapped__
    return of_bytes(np.asarray(numbers, dtype=np.int64).tobytes())


@lru_cache(maxsize=1024)
def _digits_of_bytes(numbers: bytes) -> tuple[np.ndarray | None, ...]:
    given = np.frombuffer(numbers, dtype=np.int64)
    digits = [(given >> bit & 1).astype(bool) for bit in range(int(given.max()).bit_length())]
    return tuple(has if has.any() else None for has in digits)


def at_horizons(
    first: np.ndarray, rest: np.ndarray, period: int, start: np.ndarray, observables: np.ndarray, rounds: np.ndarray
) -> np.ndarray:
    """Return the observables (q, *blocks, n) of the state before each of the rounds, (q, len(rounds)), summed over
    blocks.

    Operators come as ``first`` in the rounds 0, period, 2 period, ..., else ``rest``. With P that of a period and a
    round's number p (m a + b) + f, p the period, an observable w is there

        (w R_f P^b) (P^m)^a z_0,   R_0 = I, R_f = rest^(f-1) first:

    observables take the small steps, and states the giant ones, so some sqrt(R) of each are made instead of R states.
    Of large operators, states go to the limit as soon as nothing else is left of them: see ``settled``.
    """
    whole = np.linalg.matrix_power(rest, period - 1) @ first if period > 1 else first
    division = _division if len(rounds) <= FEW else _division.__wrapped__
    numbers = np.asarray(rounds, dtype=np.int64).tobytes()
    bits, small, of_row, row, giant, state = division(numbers, period, len(observables))
    giant = giant.copy()
    rows = _in_phase(first, rest, of_row >> small, observables)
    states = np.broadcast_to(start[..., None, :], (*start.shape[:-1], len(giant), start.shape[-1])).copy()
    power, steps = whole, np.tile(of_row & (1 << small) - 1, len(observables))
    small_steps, giant_steps = _digits(steps), _digits(giant)
    for bit in range(bits):
        power = squared(power) if bit else whole
        if bit < small:
            if bit < len(small_steps) and (chosen := small_steps[bit]) is not None:
                rows[..., chosen, :] = rows[..., chosen, :] @ power
            continue
        if power.ndim == 2 and len(power) >= LARGE:
            giant[settled(power, giant >> (bit - small), states)] = 0
            if not giant.any():
                break
            giant_steps = _digits(giant)
        if bit - small < len(giant_steps) and (chosen := giant_steps[bit - small]) is not None:
            states[..., chosen, :] = states[..., chosen, :] @ power.swapaxes(-1, -2)
    return _paired(rows, states, len(observables), row, state)


FEW = 64
"""The most horizons whose division into steps is kept: a search asks for the same ones again and again."""


@lru_cache(maxsize=128)
def _division(
    rounds: bytes, period: int, observables: int
) -> tuple[int, int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The binary digits of the largest number of periods, and those of small steps; the small and the giant steps, each
    with which of them a horizon takes. The rounds are the bytes of int64."""
    cycles, phase = np.divmod(np.frombuffer(rounds, dtype=np.int64), period)
    small = small_bits(cycles, phase, observables)
    of_row, row = np.unique(phase << small | cycles & (1 << small) - 1, return_inverse=True)
    giant, state = np.unique(cycles >> small, return_inverse=True)
    return int(cycles.max()).bit_length(), small, of_row, row, giant, state


LARGE = 64
"""The least size at which solving a system of equations costs less than the squarings that it saves."""

NOTHING = 1200
"""Binary digits below a state's own at which a number counts as 0, since floats below 2^-1074 are 0."""


def settled(power: np.ndarray, times: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Move the states that forget their start to where ``times`` (k,) applications of ``power`` (n, n) lead.

    The states are (k, n). Returns the mask of those that moved, (k,) bool.

    Of a state (v, c, a), let c be what never changes and a sums over time, on which nothing depends:

        v' = A v + B c,    c' = c,    a' = a + C v + E c.

    With |A| <= 1/2 in some norm, v tends to v* = (I - A)^{-1} B c, |A^m| <= |A|^m, and where this is nothing

        v^(m) = v*,    a^(m) = a + m (C v* + E c) + C (I - A)^{-1} (v - v*).
    """
    found = np.zeros(len(states), dtype=bool)
    identity = np.eye(len(power))
    fixed, sums = (power == identity).all(1), (power == identity).all(0)
    own = ~(fixed | sums)
    inner = power[np.ix_(own, own)]
    norm = min(np.linalg.norm(inner, kind) for kind in (1, np.inf, "fro")) if inner.size else 0.0
    if not norm <= 0.5:  # nor if it is not a number
        return found
    found = times * -np.log2(max(norm, np.finfo(float).tiny)) >= NOTHING
    if not found.any():
        return found
    before, sums = states[found], sums & ~fixed
    constant = before[:, fixed]
    off = np.eye(len(inner)) - inner
    limit = np.linalg.solve(off, power[np.ix_(own, fixed)] @ constant.T).T
    passed = np.linalg.solve(off, (before[:, own] - limit).T).T
    gain = limit @ power[np.ix_(sums, own)].T + constant @ power[np.ix_(sums, fixed)].T
    after = before.copy()
    after[:, own] = limit
    after[:, sums] += times[found, None] * gain + passed @ power[np.ix_(sums, own)].T
    states[found] = after
    return found


def small_bits(cycles: np.ndarray, phase: np.ndarray, observables: int) -> int:
    """The binary digits of the numbers of periods that observables take: none where horizons are few."""
    phases = len(np.unique(phase))
    digits = max(0, round(np.log2(max(1, int(cycles.max())) / (observables * phases)) / 2))
    rows = len(np.unique(phase << digits | cycles & (1 << digits) - 1)) * observables
    return digits if rows + len(np.unique(cycles >> digits)) < len(np.unique(cycles)) + observables * phases else 0


def _in_phase(first: np.ndarray, rest: np.ndarray, phase: np.ndarray, observables: np.ndarray) -> np.ndarray:
    """Each observable as one of the state before the period in which a round has the place ``phase`` (u,):
    (*blocks, q u, n)."""
    distinct, place = np.unique(phase, return_inverse=True)
    rows = np.repeat(np.moveaxis(observables, 0, -2), len(distinct), axis=-2)
    where = np.tile(distinct, len(observables))
    later = where > 0
    if later.any():
        moved = apply_powers(rest.swapaxes(-1, -2), where[later] - 1, rows[..., later, :])
        rows[..., later, :] = moved @ first
    of_each = np.add.outer(np.arange(len(observables)) * len(distinct), place).ravel()
    return rows[..., of_each, :]


def _paired(rows: np.ndarray, states: np.ndarray, observables: int, row: np.ndarray, state: np.ndarray) -> np.ndarray:
    """sum over blocks of rows[q, row] . states[state], (observables, len(row))."""
    flat_rows, flat_states = (np.moveaxis(each, -2, 0).reshape(each.shape[-2], -1) for each in (rows, states))
    count = len(flat_rows) // observables
    if count * len(flat_states) <= 8 * len(row) + 2**16:
        return (flat_rows @ flat_states.T).reshape(observables, count, -1)[:, row, state]
    found = np.empty((observables, len(row)))
    size = max(1, 2**22 // flat_states.shape[1])
    for at in range(0, len(row), size):
        here = slice(at, at + size)
        for q in range(observables):
            found[q, here] = np.einsum("ij,ij->i", flat_rows[q * count + row[here]], flat_states[state[here]])
    return found
