"""Powers of a round's operator, applied to states and to observables.

Operators are (*blocks, n, n), states (*blocks, k, n): a block of an operator acts on its block of each state.
"""

from __future__ import annotations

import numpy as np

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
    for bit in range(int(exponents.max()).bit_length()):
        power = squared(power) if bit else operator
        _move(power.swapaxes(-1, -2), exponents >> bit, states)
    return states


def _move(by: np.ndarray, whether: np.ndarray, states: np.ndarray) -> None:
    """Move the states with an odd number in ``whether``, in place."""
    chosen = (whether & 1).astype(bool)
    if chosen.any():
        states[..., chosen, :] = states[..., chosen, :] @ by


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
    cycles, phase = np.divmod(np.asarray(rounds, dtype=np.int64), period)
    whole = np.linalg.matrix_power(rest, period - 1) @ first if period > 1 else first
    bits = int(cycles.max()).bit_length()
    small = small_bits(cycles, phase, len(observables))
    of_row, row = np.unique(phase << small | cycles & (1 << small) - 1, return_inverse=True)
    giant, state = np.unique(cycles >> small, return_inverse=True)
    rows = _in_phase(first, rest, of_row >> small, observables)
    states = np.broadcast_to(start[..., None, :], (*start.shape[:-1], len(giant), start.shape[-1])).copy()
    power, steps = whole, np.tile(of_row & (1 << small) - 1, len(observables))
    for bit in range(bits):
        power = squared(power) if bit else whole
        if bit < small:
            _move(power, steps >> bit, rows)
            continue
        if power.ndim == 2 and len(power) >= LARGE:
            giant[settled(power, giant >> (bit - small), states)] = 0
            if not giant.any():
                break
        _move(power.swapaxes(-1, -2), giant >> (bit - small), states)
    return _paired(rows, states, len(observables), row, state)


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
