"""The online policy with planned counts, computed for many segments of a trace at once.

A round needs the round before, so a trace seems to be a loop. But its state is short-lived: a group that was served at
the common level lags by exactly nothing, however it got there, and a group that is always short takes all it can,
however far behind it is. So the trace is cut into segments that advance side by side from guessed states. A segment
whose start is not the end of the one before is run again from there ("parareal"; Lions, Maday & Turinici, 2001). Once
every start is the end before it, the whole is the trajectory itself.

Guesses only cost time: what does not agree after a few runs is finished round by round.
"""

from __future__ import annotations

import numpy as np

AGREE = 1e-11
"""Absolute tolerance within which lags agree, beside `ROUNDING`: their difference enters rates as it is."""

ROUNDING = 1e-14
"""Relative tolerance within which lags agree, for rounding in the sums that they come from."""

RUNS = 8
"""The most times that segments are run again before the rest is left to the loop."""


def advance(a: np.ndarray, k: np.ndarray, p: np.ndarray, length: int) -> tuple[np.ndarray, int, np.ndarray]:
    """The rates of a trace, as far as segments of ``length`` rounds come to agree.

    Args:
        a: (rounds, groups). k: (rounds,). p: (groups,), all positive.

    Returns:
        The rates (rounds, groups); how many rounds from the first on are right; and the lags after these.
    """
    rounds, groups = a.shape
    count = -(-rounds // length)
    padded = np.zeros((count * length, groups))
    padded[:rounds] = a
    a = np.ascontiguousarray(padded.reshape(count, length, groups).transpose(1, 0, 2))
    k = np.ascontiguousarray(np.concatenate([k, np.zeros(count * length - rounds)]).reshape(count, length).T)
    start, end, walk, floor = (np.zeros((count, groups)) for _ in range(4))
    rates = np.empty_like(a)
    stale = np.arange(count)
    for _ in range(RUNS):
        rates[:, stale], end[stale], walk[stale], touched = _run(a[:, stale], k[:, stale], p, start[stale])
        floor[stale] = np.where(touched, end[stale], floor[stale])
        apart = _differ(np.concatenate([np.zeros((1, groups)), end[:-1]]), start)
        if not apart.any():
            break
        guess = _restart(start, end, walk, floor)
        stale = np.flatnonzero(_differ(guess, start))
        start[stale] = guess[stale]
    right = (int(np.argmax(apart)) if apart.any() else count) * length
    return rates.transpose(1, 0, 2).reshape(-1, groups)[:rounds], min(right, rounds), end[right // length - 1]


def _differ(lags: np.ndarray, others: np.ndarray) -> np.ndarray:
    return (np.abs(lags - others) > AGREE + ROUNDING * np.abs(lags)).any(axis=1)


def _restart(start: np.ndarray, end: np.ndarray, walk: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """The next guess of the starts: where the segment before ended, corrected for the change of its own start.

    A lag moves like a waiting time: by what the group loses, but not below nothing. A segment entered with lag x thus
    ends near max(floor, x + walk), which carries a change through all later segments at once.
    """
    guess = np.zeros_like(start)
    for c in range(len(start) - 1):
        moved = np.maximum(floor[c], guess[c] + walk[c]) - np.maximum(floor[c], start[c] + walk[c])
        guess[c + 1] = end[c] + moved
    return guess


def _run(
    a: np.ndarray, k: np.ndarray, p: np.ndarray, lag: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Advance all segments from ``lag`` (segments, groups), how far each group is behind the one furthest ahead.

    Returns:
        The rates (length, segments, groups); the lags at the end; how far they moved, or would have moved had the group
        always taken all it can; and whether a group was ever level with the one furthest ahead.
    """
    rates, start, lag = np.empty_like(a), lag, lag.copy()
    lost, touched = np.zeros_like(lag), np.zeros(lag.shape, dtype=bool)
    for t, (available, budget) in enumerate(zip(a, k, strict=True)):
        rise = rises(p, lag, available, budget)
        plenty = np.isinf(rise)
        lag += p * np.where(plenty, 0, rise)[:, None]
        np.clip(lag, 0, available, out=rates[t])
        rates[t, plenty] = available[plenty]
        lag -= rates[t]
        ahead = (lag / p).min(axis=1)
        lag -= p * ahead[:, None]
        lost += p * np.where(plenty, -ahead, rise - ahead)[:, None]
        lost -= available
        touched |= lag <= AGREE
    return rates, lag, np.where(touched, lost, lag - start), touched


def rises(p: np.ndarray, lag: np.ndarray, a: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Solve sum_j clip(p_j rise + lag_j, 0, a_j) = k for the rise in each row; it is infinite if all take part.

    The method is that of `online.water_fill`, for many rows at once: bounds are fixed, those violated by more first,
    until none is.

    As `online.water_fill`, for many rows at once: bounds are fixed, those violated by more first, until none is.

    >>> rises(np.array([0.5, 0.5]), np.array([[0.0, 1.0]]), np.array([[4.0, 4.0]]), np.array([3.0])).tolist()
    [2.0]
    """
    rise = np.full(len(k), np.inf)
    rows = np.flatnonzero(a.sum(axis=1) > k)
    lag, a, left = lag[rows], a[rows], k[rows]
    share, behind = np.broadcast_to(p, a.shape), lag
    for _ in range(2 * a.shape[1] + 1):
        weight = share.sum(axis=1)
        found = (left - behind.sum(axis=1)) / np.where(weight > 0, weight, 1)
        rise[rows] = np.where(weight > 0, found, rise[rows])
        wanted = share * found[:, None] + behind
        excess = np.maximum(wanted - a, 0)
        lack = np.maximum(-wanted, 0)
        over, under = excess.sum(axis=1), lack.sum(axis=1)
        full = (over > under)[:, None]
        fixed = np.where(full, excess > 0, lack > 0) & (over != under)[:, None]
        again = np.flatnonzero(fixed.any(axis=1))
        if len(again) == 0:
            break
        fixed = fixed[again]
        left = left[again] - np.where(fixed & full[again], a[again], 0).sum(axis=1)
        share, behind = np.where(fixed, 0, share[again]), np.where(fixed, 0, behind[again])
        rows, a = rows[again], a[again]
    return rise
