"""FLICS-OPT's selection policy along a trace, and how far it stays from the best in hindsight.

Algorithm 1 solves Var in every round for the estimate of the rounds before. Two things in it admit several readings.

What is counted (`counts`): display (6) adds the planned rates r(t), line 7 the received counts r^(t), where every
client of group j answers with probability r_j(t) / a_j(t).

How the estimate moves (`update`): line 7 prints s^(t) = s^(t-1) + (r^(t) - s^(t-1)) / (t-1),
a division by zero at t = 1.

- ``"mean"``: divided by t, which is display (6): the mean of rounds 1 to t. The start is forgotten.
- ``"printed"``: divided by t - 1 from t = 2 on, when the start is still in place. The mean of rounds 2 to t: round 1 is
  forgotten.
- ``"start_counts"``: divided by t + 1: the start counts as one round.

Var takes the history (t-1) s^(t-1) in all of them, as (6) says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..extras import absent
from ..rationals import checked_seed
from .inputs import checked_availability, checked_budget, checked_group_weight, checked_number
from .offline import lower_bound, offvar, proxy

COUNTS = ("planned", "received")
UPDATES = ("mean", "printed", "start_counts")
_CHUNK = 4096
_LONG = 10**6
"""Rounds times groups from which on a compiled loop pays off: a second of the interpreter's."""


@dataclass(frozen=True)
class OnlineRun:
    """Record of the policy's run along a trace.

    Attributes:
        rates: (rounds, groups), r(t).
        counted: (rounds, groups), what entered the estimate: the rates, or the received counts.
        group_weight: (groups,).
        update, start: how the estimate moves, and its value before round 1.
    """

    rates: np.ndarray
    counted: np.ndarray
    group_weight: np.ndarray
    update: str
    start: float

    def estimate(self) -> np.ndarray:
        """Return s^(t), (rounds, groups)."""
        sums = _running_sums(self.counted)
        t = np.arange(1, len(sums) + 1)[:, None]
        if self.update == "start_counts":
            return (self.start + sums) / (t + 1)
        if self.update == "mean":
            return sums / t
        return np.concatenate([np.full_like(sums[:1], self.start), (sums - self.counted[0])[1:] / (t - 1)[1:]])

    def final_estimate(self) -> np.ndarray:
        """Return s^(T), (groups,): the last line of ``estimate``, without the others.

        >>> run = online([[4, 4], [4, 0], [4, 4]], [4, 2, 4], [0.5, 0.5], update="printed")
        >>> run.final_estimate(), run.estimate()[-1]
        (array([1., 2.]), array([1., 2.]))
        """
        sums, t = np.zeros(self.counted.shape[1]), len(self.counted)
        for first in range(0, t, _CHUNK):  # as in ``_running_sums``
            sums = np.cumsum(self.counted[first : first + _CHUNK], axis=0)[-1] + sums
        if self.update == "start_counts":
            return (self.start + sums) / (t + 1)
        if self.update == "mean":
            return sums / t
        return (sums - self.counted[0]) / (t - 1) if t > 1 else np.full_like(sums, self.start)

    def objective(self) -> np.ndarray:
        """(rounds,), sum_j p_j^2 / s^_j(t), the value of (5) in each round; infinite while a group has nothing."""
        return np.asarray(proxy(self.estimate(), self.group_weight))


def online(
    availability: ArrayLike,
    budget: ArrayLike,
    group_weight: ArrayLike,
    counts: str = "planned",
    update: str = "mean",
    start: float = 0.0,
    seed: int = 0,
) -> OnlineRun:
    """Run FLICS-OPT's selection (Algorithm 1, lines 3 to 7) along a trace.

    Args:
        availability: (rounds, groups). budget: one number, or one a round. group_weight: (groups,), p_j.
        counts, update: the reading, as in the module's description.
        start: beta, the estimate before round 1.
        seed: of the clients' answers, for received counts.

    The rates of a round never exceed its budget, added up exactly. They are good to a few roundings of the largest
    lag: with planned counts and the plain mean that is p_j times how
    far group j's level is behind the highest, in clients; otherwise it is the largest history. Lags grow with the
    rounds, and a group of tiny weight that is often alone drives them up by one over its weight.

    Raises:
        ValueError: a value is outside its range.

    >>> run = online([[4, 4], [4, 0], [4, 4]], [4, 2, 4], [0.5, 0.5])
    >>> run.rates.tolist()
    [[2.0, 2.0], [2.0, 0.0], [1.0, 3.0]]
    """
    a = checked_availability(availability)
    groups, rounds = a.shape
    k = checked_budget(budget, rounds)
    p = checked_group_weight(group_weight, groups)
    for name, value, allowed in (("counts", counts, COUNTS), ("update", update, UPDATES)):
        if value not in allowed:
            raise ValueError(f"{name} = {value!r}: allowed is one of {', '.join(allowed)}")
    beta, seed = checked_number("start", start), checked_seed(seed)
    taking = np.flatnonzero(p > 0) if (p == 0).any() else slice(None)  # a slice copies nothing
    rates = np.zeros((rounds, groups))
    counted = rates if counts == "planned" else np.zeros((rounds, groups))
    steps: Iterator[tuple[Any, Any]]
    if counts == "planned" and rounds * np.count_nonzero(p) >= _LONG and not absent("numba"):
        steps = _compiled_steps(a[taking], k, p[taking], update, beta)
    else:
        steps = _plain_steps(a[taking], k, p[taking], counts, update, beta, seed)
    for first, (planned, entered) in zip(range(0, rounds, _CHUNK), steps, strict=True):
        rates[first : first + _CHUNK, taking] = planned
        if counts == "received":
            counted[first : first + _CHUNK, taking] = entered
    return OnlineRun(rates, counted, p, update, beta)


def _running_sums(counted: np.ndarray) -> np.ndarray:
    """Sums over the first 1, 2, ... rounds, chunk by chunk: one long running sum would round a million times."""
    sums, before = np.empty(counted.shape), np.zeros(counted.shape[1])
    for first in range(0, len(counted), _CHUNK):
        rows = slice(first, first + _CHUNK)
        np.cumsum(counted[rows], axis=0, out=sums[rows])
        sums[rows] += before
        before = sums[rows][-1]
    return sums


def _compiled_steps(
    a: np.ndarray, k: np.ndarray, p: np.ndarray, update: str, start: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What `_plain_steps` yields for planned counts, the same bits."""
    from ..loops.policy_rounds import follow

    lag, sums = np.zeros(len(p)), np.full(len(p), start if update == "start_counts" else 0.0)
    for first in range(0, len(k), _CHUNK):
        available = np.ascontiguousarray(a[:, first : first + _CHUNK].T)
        rates = np.empty(available.shape)
        follow(available, k[first : first + _CHUNK], p, UPDATES.index(update), start, first, lag, sums, rates)
        yield rates, rates


def _plain_steps(
    a: np.ndarray, k: np.ndarray, p: np.ndarray, counts: str, update: str, start: float, seed: int
) -> Iterator[tuple[Any, Any]]:
    """The rates and what was counted, chunk after chunk of rounds."""
    steps = _steps(_rows(a, k), p.tolist(), counts, update, start, seed)
    while chunk := list(islice(steps, _CHUNK)):
        planned, entered = zip(*chunk, strict=True)
        yield planned, entered


def _rows(a: np.ndarray, k: np.ndarray) -> Iterator[tuple[list[float], float]]:
    """The rounds as lists: an interpreted loop over twenty groups is faster on lists than on arrays."""
    for first in range(0, len(k), _CHUNK):
        yield from zip(a[:, first : first + _CHUNK].T.tolist(), k[first : first + _CHUNK].tolist(), strict=True)


def _steps(
    rows: Iterator[tuple[list[float], float]],
    p: list[float],
    counts: str,
    update: str,
    start: float,
    seed: int,
) -> Iterator[tuple[list[float], list[float]]]:
    """The rates and what was counted, round after round. For planned counts ``loops.policy_rounds`` has it compiled.

    A group's lag is p_j nu - b_j for the last level nu. Var's rates clip(p_j rise + lag_j, 0, a_j) follow from the lags
    and the rise of the level alone, and what is not served is the next lag; so with the plain mean no growing sum is
    ever formed.
    """
    rng = np.random.default_rng(seed)
    lag = [0.0] * len(p)
    sums = [start if update == "start_counts" else 0.0] * len(p)
    for t, (a, k) in enumerate(rows, start=1):
        if update != "mean":
            lag = [-b for b in _history(sums, t, update, start)]
        wanted, rates = water_fill(p, lag, a, k)
        rates = within(rates, k)
        counted = rates if counts == "planned" else _answers(rates, a, rng)
        lag = [w - n for w, n in zip(wanted, counted, strict=True)]
        if update == "start_counts" or (update == "printed" and t > 1):
            sums = [s + n for s, n in zip(sums, counted, strict=True)]
        yield rates, counted


def _history(sums: list[float], t: int, update: str, start: float) -> list[float]:
    """(t-1) s^(t-1)."""
    if update == "start_counts":
        return [s * ((t - 1) / t) for s in sums]
    return [start * (t - 1)] * len(sums) if t <= 2 else [s * ((t - 1) / (t - 2)) for s in sums]


def _answers(rates: list[float], a: list[float], rng: np.random.Generator) -> list[float]:
    chance = [min(r / n, 1.0) if n else 0.0 for r, n in zip(rates, a, strict=True)]
    return rng.binomial(np.array(a, dtype=np.int64), chance).tolist()


def water_fill(p: Sequence[float], lag: Sequence[float], a: list[float], k: float) -> tuple[list[float], list[float]]:
    """Compute each group's wanted rate p_j rise + lag_j and its rate clip(wanted, 0, a_j), whose sum is k.

    Where k is at least sum a, every rate is a_j, and the rise is k.

    Bounds are tried as inactive. Then either all groups that want too much or all that want less than nothing get their
    bound, whichever violate it by more, and the others share what is left. Such a bound stays active (Bitran & Hax,
    1981).

    >>> water_fill([0.5, 0.5], [0.0, 1.0], [4.0, 4.0], 3.0)
    ([1.0, 2.0], [1.0, 2.0])
    """
    if _total(a) <= k:
        return [q * k + l for q, l in zip(p, lag, strict=True)], a
    rise = (k - _total(lag)) / _total(p)
    wanted = [q * rise + l for q, l in zip(p, lag, strict=True)]
    if min(wanted) >= 0 and all(map(float.__le__, wanted, a)):
        return wanted, wanted
    free = list(range(len(p)))
    while True:
        over = under = 0.0
        for j in free:
            if wanted[j] > a[j]:
                over += wanted[j] - a[j]
            elif wanted[j] < 0:
                under -= wanted[j]
        if over == under:
            break
        if over > under:
            k -= _total([a[j] for j in free if wanted[j] > a[j]])
            free = [j for j in free if wanted[j] <= a[j]]
        else:
            free = [j for j in free if wanted[j] >= 0]
        if not free:  # the others take exactly what is there
            break
        rise = (k - _total([lag[j] for j in free])) / _total([p[j] for j in free])
        for j in free:
            wanted[j] = p[j] * rise + lag[j]
    wanted = [q * rise + l for q, l in zip(p, lag, strict=True)]
    return wanted, [0.0 if w < 0 else (n if w > n else w) for w, n in zip(wanted, a, strict=True)]


def _total(numbers: Iterable[float]) -> float:
    """The sum from left to right, rounded at each step as in the compiled loop; ``sum`` has other bits from Python 3.12
    on."""
    return reduce(operator.add, numbers, 0.0)


def within(rates: list[float], k: float) -> list[float]:
    """Lower the largest rate by as much as the rates' exact sum exceeds k, which is rounding.

    >>> within([0.5, 0.25], 0.5), within([0.5, 0.25], 1.0)
    ([0.25, 0.25], [0.5, 0.25])
    """
    while (excess := math.fsum([*rates, -k])) > 0:  # rounded once, so of the right sign
        j = rates.index(max(rates))
        lowered = max(0.0, min(rates[j] - excess, math.nextafter(rates[j], 0.0)))
        rates = [*rates[:j], lowered, *rates[j + 1 :]]
    return rates


@dataclass(frozen=True)
class GenieGap:
    """The policy beside the best in hindsight, over prefixes of a trace.

    Attributes:
        rounds: (prefixes,), their lengths.
        online: (prefixes,), sum_j p_j^2 / s^_j of the policy.
        genie: (prefixes,), the optimum of OffVar for the same prefix.
        bound: (prefixes,), a lower bound on that optimum from the policy's own participation, one pass each.
    """

    rounds: np.ndarray
    online: np.ndarray
    genie: np.ndarray
    bound: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """The gap online - genie, (prefixes,)."""
        return self.online - self.genie


def genie_gap(run: OnlineRun, availability: ArrayLike, budget: ArrayLike, rounds: Sequence[int]) -> GenieGap:
    """Compare a run with OffVar over the first ``rounds`` rounds, for each of several prefixes.

    Args:
        run: of `online` on this trace.
        availability, budget: the trace.
        rounds: lengths of prefixes, each long enough that every group with positive weight has been counted.

    Raises:
        ValueError: a length is outside the trace, or a group has nothing by then.

    >>> trace = [[4, 4], [4, 0], [4, 4]]
    >>> genie_gap(online(trace, 4, [0.5, 0.5]), trace, 4, [1, 3]).gap.tolist()
    [0.0, 0.0]
    """
    counts, p = np.asarray(availability), run.group_weight
    k = checked_budget(budget, len(counts))
    outside = [t for t in rounds if not 1 <= t <= len(run.rates)]
    if outside or len(counts) != len(run.rates):
        raise ValueError(
            f"rounds = {list(rounds)}: allowed are 1 to {len(run.rates)}, for a trace of {len(counts)} rounds"
        )
    objective, estimate = run.objective(), run.estimate()
    genie, bound = [], []
    for t in rounds:
        s = estimate[t - 1]
        if (s[p > 0] == 0).any():
            raise ValueError(f"rounds = {t}: by then group {np.flatnonzero((p > 0) & (s == 0))[0]} has nothing")
        price = np.zeros_like(p)
        price[p > 0] = (p[p > 0] / s[p > 0]) ** 2
        genie.append(offvar(counts[:t], k[:t], p).objective)
        bound.append(lower_bound(counts[:t], k[:t], p, price))
    at = np.asarray(rounds) - 1
    return GenieGap(at + 1, objective[at], np.array(genie), np.array(bound))
