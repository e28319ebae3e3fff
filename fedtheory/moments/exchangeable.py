"""Random runs on federations with piecewise linear gradients, exactly, with clients counted by kind.

A cohort enters by how many of its clients are of each kind, so the cost does not grow with the clients. The law of x_r
is followed by enumerating cohorts, kinds of round and the signs of two-point noise, with equal states merged; the
second moments after the last round need no enumeration of cohorts. Without kinks a round is affine, and two moments of
each coordinate are enough for any number of rounds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, islice, product
from math import comb, isqrt, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from ..algorithms.algorithm import ClientRound, Kind, ServerRound
from ..claims.balls import Ball, ball
from ..federations.federation import ONE_SIDED
from ..federations.piecewise import Piecewise, PiecewiseLinear
from ..federations.quadratic import Quadratic
from ..participation import Fixed
from .cohorts import totals
from .kinked_runs import KinkedErrors, check_plain, counts_of_members, piecewise

if TYPE_CHECKING:
    from ..setting import Setting

Law = dict[Fraction, Fraction]
"""Probability by value."""

MOST_STATES = 30_000
"""The most values of a law that are followed."""


class TooMany(ValueError):
    """Error of an enumeration that would take too long."""


@dataclass(frozen=True)
class Cohorts:
    """The numbers N_k of clients of each kind k in a round's cohort.

    Attributes:
        size: m, the clients in a cohort.
        pool: of each kind, how many there are to draw from; all are taken where ``size`` is their number.
        draws: with replacement, so that a client can be drawn twice.
    """

    size: int
    pool: tuple[int, ...]
    draws: bool = False

    @property
    def first(self) -> list[Fraction]:
        """The means E N_k."""
        total = sum(self.pool)
        return [Fraction(self.size * count, total) for count in self.pool]

    @property
    def second(self) -> list[list[Fraction]]:
        """The moments E N_k N_l, by the factorial ones.

        E N_k (N_l - [k = l]) = m (m - 1) p_kl, where p_kl is the chance that two draws are of the kinds k and l.
        """
        total, m = sum(self.pool), self.size
        pairs = m * (m - 1)

        def both(k: int, j: int) -> Fraction:
            if self.draws:
                return Fraction(self.pool[k] * self.pool[j], total**2)
            return Fraction(self.pool[k] * (self.pool[j] - (k == j)), total * (total - 1)) if total > 1 else Fraction(0)

        first = self.first
        return [
            [pairs * both(k, j) + (first[k] if k == j else 0) for j in range(len(first))] for k in range(len(first))
        ]

    def repeated(self) -> Fraction:
        """E of sum over clients of N_i^2, over m: 1 unless a client can be drawn twice."""
        return 1 + Fraction(self.size - 1, sum(self.pool)) if self.draws else Fraction(1)

    def outcomes(self) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """Yield (counts, probability) of the sets; with replacement there are more sets than counts say."""
        total = sum(self.pool)
        for counts in totals(self.size, self.pool):
            ways = 1
            for count, there in zip(counts, self.pool, strict=True):
                ways *= comb(there, count)
            yield counts, Fraction(ways, comb(total, self.size))


def cohorts_of(setting: Setting, kind: ClientRound) -> Cohorts:
    """Return the law of the cohorts in a round of this kind."""
    check_plain(kind)
    if kind.uniform is not None:
        return Cohorts(kind.uniform.cohort, piecewise(setting).multiplicities, kind.uniform.replacement)
    members = counts_of_members(setting)
    return Cohorts(sum(members), tuple(members))


def noise_step(fed: Piecewise, server: bool = False) -> Fraction:
    """Return noise / sqrt(D), which two-point noise adds to or takes from a partial derivative.

    Raises:
        ValueError: it is irrational, or the noise is Gaussian or the same for all clients.
    """
    level, root = fed.exact_server_noise if server else fed.exact_gradient_noise, isqrt(fed.dimension)
    if level and (root**2 != fed.dimension or fed.noise not in ("two-point", ONE_SIDED)):
        raise ValueError(
            f"noise is {fed.noise} in {fed.dimension} dimensions: allowed is two-point or one-sided, "
            "in 1, 4, 9 or another square"
        )
    return level / root if level else Fraction(0)


@dataclass(frozen=True)
class WholeLaw:
    """A law in whole numbers: the value n / ``unit`` has the probability ``law[n]`` / ``total``."""

    law: Mapping[int, int]
    unit: int
    total: int

    def in_fractions(self) -> Law:
        """Return the law as probabilities by value."""
        return {Fraction(n, self.unit): Fraction(p, self.total) for n, p in self.law.items()}

    def mean_and_variance(self) -> tuple[Fraction, Fraction]:
        """Compute the mean and the variance."""
        first = sum(p * n for n, p in self.law.items())
        second = sum(p * n * n for n, p in self.law.items())
        mean = Fraction(first, self.total * self.unit)
        return mean, Fraction(second * self.total - first * first, (self.total * self.unit) ** 2)


def trained(
    line: PiecewiseLinear, x: Fraction, lr: Fraction, steps: int, noise: Fraction, one_sided: bool = False
) -> WholeLaw:
    """Return the law of x after so many steps down ``line``.

    Each step has noise of either sign, ``one_sided`` at points > 0 only. Whole numbers have no common divisors to look
    for: after k steps the unit is that of x, of ``line`` and of the noise, times one power of ``lr * slope``'s for each
    step.

    >>> trained(PiecewiseLinear([1, 2], [0]), Fraction(1), Fraction(1, 4), 1, Fraction(1)).in_fractions()
    {Fraction(1, 4): Fraction(1, 2), Fraction(3, 4): Fraction(1, 2)}
    """
    pulls, moves, kick = [lr * slope for slope in line.slopes], [lr * level for level in line.intercepts], lr * noise
    further = lcm(*(pull.denominator for pull in pulls))
    unit = lcm(*(value.denominator for value in (x, kick, *moves, *line.breakpoints)))
    keep = [further - int(pull * further) for pull in pulls]
    places, shifts, added = [int(t * unit) for t in line.breakpoints], [int(m * unit) for m in moves], int(kick * unit)
    law, total = {int(x * unit): 1}, 1
    for _ in range(steps):
        after: dict[int, int] = {}
        shifts, added = [shift * further for shift in shifts], added * further
        for y, p in law.items():
            piece = bisect_left(places, y)
            end = keep[piece] * y - shifts[piece]
            if added and not (one_sided and y <= 0):
                for at in (end - added, end + added):
                    after[at] = after.get(at, 0) + p
            else:
                after[end] = after.get(end, 0) + 2 * p
        _check_states(len(after))
        law, total, unit, places = after, 2 * total, unit * further, [t * further for t in places]
    return WholeLaw(law, unit, total)


def _check_states(states: int) -> None:
    if states > MOST_STATES:
        raise TooMany(f"states are {states} or more: at most {MOST_STATES} are enumerated")


@dataclass(frozen=True)
class _Round:
    """One kind of round, coordinate by coordinate."""

    fed: Piecewise
    kind: Kind
    cohorts: Cohorts | None

    def laws(self, coordinate: int, x: Fraction) -> list[WholeLaw]:
        """Return the law of where training leads from x, by kind of client; of the server, the law of its step."""
        one_sided = self.fed.noise == ONE_SIDED
        if isinstance(self.kind, ServerRound):
            mean = self.fed.mean_gradient[coordinate]
            return [
                trained(mean, x, self.kind.server_lr, self.kind.steps, noise_step(self.fed, server=True), one_sided)
            ]
        noise = noise_step(self.fed)
        return [
            trained(row[coordinate], x, self.kind.local_lr, self.kind.local_steps, noise, one_sided)
            for row in self.fed.gradients
        ]

    def second_moment(self, coordinate: int, x: Fraction, about: Fraction) -> Fraction:
        """E (x' - about)^2 for a round from x."""
        ends = [law.mean_and_variance() for law in self.laws(coordinate, x)]
        if self.cohorts is None:
            (mean, variance), m = ends[0], 1
            return (mean - about) ** 2 + variance
        m, second = self.cohorts.size, self.cohorts.second
        off = [mean - about for mean, _ in ends]
        spread = sum((second[k][j] * off[k] * off[j] for k in range(len(off)) for j in range(len(off))), Fraction(0))
        noisy = sum((count * v for count, (_, v) in zip(self.cohorts.first, ends, strict=True)), Fraction(0))
        return (spread + noisy * self.cohorts.repeated()) / m**2

    def states(self, x: tuple[Fraction, ...]) -> Iterator[tuple[tuple[Fraction, ...], Fraction]]:
        """(x', probability): given who takes part, coordinates are independent."""
        laws = [[law.in_fractions() for law in self.laws(j, value)] for j, value in enumerate(x)]
        if self.cohorts is None:
            yield from _joint([own[0] for own in laws])
            return
        if self.cohorts.draws:
            raise TooMany("cohorts are drawn with replacement: their laws are not enumerated")
        for counts, p in self.cohorts.outcomes():
            means = [_mean_of_draws(own, counts) for own in laws]
            for state, chance in _joint(means):
                yield state, p * chance


def _joint(laws: list[Law]) -> Iterator[tuple[tuple[Fraction, ...], Fraction]]:
    for choice in product(*(law.items() for law in laws)):
        chance = Fraction(1)
        for _, p in choice:
            chance *= p
        yield tuple(value for value, _ in choice), chance


def _mean_of_draws(laws: list[Law], counts: tuple[int, ...]) -> Law:
    """Return the law of the mean of independent numbers, ``counts`` of each law."""
    total = {Fraction(0): Fraction(1)}
    for law, count in zip(laws, counts, strict=True):
        if len(law) == 1:
            shift = count * next(iter(law))
            total = {value + shift: p for value, p in total.items()}
            continue
        for _ in range(count):
            _check_states(len(total) * len(law))
            after: Law = {}
            for value, p in total.items():
                for more, chance in law.items():
                    after[value + more] = after.get(value + more, Fraction(0)) + p * chance
            total = after
    return {value / sum(counts): p for value, p in total.items()}


def _kinds(setting: Setting, r: int, order: Sequence[int]) -> list[tuple[Fraction, _Round]]:
    """Return the kinds of round that round r can be, with probabilities."""
    fed, algorithm = piecewise(setting), setting.algorithm
    if order or algorithm.period is not None:
        first = order[r % len(order)] == 0 if order else r % (algorithm.period or 1) == 0
        shares = [Fraction(first), Fraction(not first)]
    else:
        shares = [algorithm.share, 1 - algorithm.share]
    return [
        (share, _Round(fed, kind, cohorts_of(setting, kind) if isinstance(kind, ClientRound) else None))
        for share, kind in zip(shares, algorithm.kinds, strict=True)
        if share
    ]


def enumerated_errors(setting: Setting, rounds: int, last_law: bool = True, order: Sequence[int] = ()) -> KinkedErrors:
    """Compute E|x_R - x*|^2 and E|grad F(x_R)|^2 after so many rounds, and the sum of the latter before each of them.

    All are in Fractions. Without ``last_law`` the law of x_R is not enumerated, which is faster, and E|grad F(x_R)|^2
    is left out. ``order`` has the kinds of the first rounds, repeated, where they are given.

    Raises:
        TooMany: there are too many states.
        ValueError: the federation is not piecewise linear, rounds are more than SGD and a mean, or noise is irrational.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Piecewise([[ft.federations.PiecewiseLinear([1, 2], [0])]], [10**6], gradient_noise=1)
    >>> s = ft.Setting(fed, ft.algorithms.fast(cohort=4, snapshot_probability=1, local_lr="1/2"),
    ...                ft.participation.Fixed([0]))
    >>> enumerated_errors(s, 1).squared_distance
    [Fraction(1, 16)]
    """
    if last_law or rounds == 0:
        return enumerated_at(setting, [rounds], order)
    fed, kinds = piecewise(setting), _kinds(setting, rounds - 1, order)
    laws = list(islice(_laws(setting, order), rounds))
    gradients = [_expected(law, _squared_gradient(fed)) for law in laws]
    passed = _expected(
        laws[-1],
        lambda x: sum(
            (
                share * round.second_moment(j, value, fed.exact_optimum[j])
                for share, round in kinds
                for j, value in enumerate(x)
            ),
            Fraction(0),
        ),
    )
    return KinkedErrors([rounds], [passed], [None], [sum(gradients, Fraction(0))], gradients[0])


def enumerated_at(setting: Setting, horizons: Sequence[int], order: Sequence[int] = ()) -> KinkedErrors:
    """Compute the exact errors at each of the ``horizons``, which may be 0, by one enumeration.

    Raises:
        TooMany, ValueError: as ``enumerated_errors``.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Piecewise([[ft.federations.PiecewiseLinear([1, 2], [0])]], [10**6], gradient_noise=1)
    >>> s = ft.Setting(fed, ft.algorithms.fast(cohort=4, snapshot_probability=1, local_lr="1/2"),
    ...                ft.participation.Fixed([0]))
    >>> enumerated_at(s, [0, 1]).squared_distance
    [Fraction(0, 1), Fraction(1, 16)]
    """
    fed, distances, gradients = piecewise(setting), {}, []
    for r, law in enumerate(islice(_laws(setting, order), max(horizons) + 1)):
        gradients.append(_expected(law, _squared_gradient(fed)))
        if r in horizons:
            distances[r] = _expected(law, _squared_distance(fed))
    totals = list(accumulate(gradients, initial=Fraction(0)))
    return KinkedErrors(
        list(horizons),
        [distances[R] for R in horizons],
        [gradients[R] for R in horizons],
        [totals[R] for R in horizons],
        gradients[0],
    )


def _laws(setting: Setting, order: Sequence[int]) -> Iterator[dict[tuple[Fraction, ...], Fraction]]:
    """The laws of x_0, x_1, ...: probability by state."""
    law, r = {tuple(setting.exact_start): Fraction(1)}, 0
    while True:
        yield law
        kinds = _kinds(setting, r, order)
        after: dict[tuple[Fraction, ...], Fraction] = {}
        for x, p in law.items():
            for share, round in kinds:
                for state, chance in round.states(x):
                    after[state] = after.get(state, Fraction(0)) + p * share * chance
                _check_states(len(after))
        law, r = after, r + 1


def _squared_distance(fed: Piecewise) -> Any:
    return lambda x: sum(((v - best) ** 2 for v, best in zip(x, fed.exact_optimum, strict=True)), Fraction(0))


def _squared_gradient(fed: Piecewise) -> Any:
    return lambda x: sum((g(v) ** 2 for g, v in zip(fed.mean_gradient, x, strict=True)), Fraction(0))


def _expected(law: Mapping[Any, Fraction], of: Any) -> Fraction:
    return sum((p * of(x) for x, p in law.items()), Fraction(0))


# Without kinks --------------------------------------------------------------------------------------------------------


def affine_map(setting: Setting, kind: Kind, coordinate: int) -> np.ndarray:
    """Return the map by which a round of this kind advances (E y^2, E y, 1, sum of E g(y)^2 so far), (4, 4).

    It exists where no gradient has a kink: y is the coordinate of x - x*, g that of grad F. Steps may be Fractions or
    balls (``claims.balls.Ball``).

    Training takes a client of kind k from y to a_k y + b_k + noise of variance v_k, and the round averages.
    """
    fed = piecewise(setting)
    if fed.noise == ONE_SIDED:
        raise ValueError(f"noise = {fed.noise!r}: its variance depends on the state, so moments do not close")
    mean, best = fed.mean_gradient[coordinate], fed.exact_optimum[coordinate]
    server = isinstance(kind, ServerRound)
    lines = [mean] if server else [row[coordinate] for row in fed.gradients]
    lr, steps = (kind.server_lr, kind.steps) if isinstance(kind, ServerRound) else (kind.local_lr, kind.local_steps)
    level = (fed.exact_server_noise if server else fed.exact_gradient_noise) ** 2 / fed.dimension
    cohorts = Cohorts(1, (1,)) if isinstance(kind, ServerRound) else cohorts_of(setting, kind)
    a, b, v = zip(*(_trained_affinely(line, best, lr, steps, level) for line in lines), strict=True)
    m, kinds = cohorts.size, range(len(lines))
    first = [weight / m for weight in cohorts.first]
    second = [[weight / m**2 for weight in row] for row in cohorts.second]

    def form(left: Sequence[Any], right: Sequence[Any]) -> Any:
        return sum((second[k][j] * (left[k] * right[j]) for k in kinds for j in kinds), Fraction(0))

    noise = sum((first[k] / m * v[k] for k in kinds), Fraction(0)) * cohorts.repeated()
    moved = [sum((first[k] * of[k] for k in kinds), Fraction(0)) for of in (a, b)]
    zero, one = Fraction(0), Fraction(1)
    rows = [
        [form(a, a), 2 * form(a, b), form(b, b) + noise, zero],
        [zero, *moved, zero],
        [zero, zero, one, zero],
        [mean.slopes[0] ** 2, zero, zero, one],
    ]
    return np.array(rows, dtype=object)


def _trained_affinely(
    line: PiecewiseLinear, best: Fraction, lr: Any, steps: int, level: Fraction
) -> tuple[Any, Any, Any]:
    """(a, b, v) about ``best``, for noise of variance ``level`` in every step."""
    if line.breakpoints:
        raise ValueError("a gradient has a kink: allowed are none")
    keep, shift, added = 1 - lr * line.slopes[0], lr * line(best), lr * lr * level
    if not isinstance(keep, Ball):
        return _after(steps, keep, shift, keep * keep, added, Fraction(1), Fraction(0))
    a, b, v = _after(steps, keep.value, ball(shift), (keep * keep).value, ball(added), arb(1), arb(0))
    return Ball(a), Ball(b), Ball(v)


def _after(steps: int, keep: Any, shift: Any, kept: Any, added: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """a, b and, from 0, v after the steps a -> keep a, b -> keep b - shift, v -> kept v + added."""
    v = b
    for _ in range(steps):
        a, b, v = keep * a, keep * b - shift, kept * v + added
    return a, b, v


LONGEST = 8
"""The most rounds that are enumerated."""


def enumerated(setting: Setting, rounds: np.ndarray, exact: bool) -> tuple[np.ndarray, Any]:
    """Enumerate the errors at each R, (rounds, 3), and |grad F(x_0)|^2; in Fractions if ``exact``.

    The errors are E|x_R - x*|^2, E|grad F(x_R)|^2 and the sum of the latter over the rounds before.

    Raises:
        ValueError: clients are not on a line or weigh differently, participants or step sizes change, or rounds are
            more than ``LONGEST`` or bring too many states; or as ``exchangeable.enumerated_errors``.

    >>> import fedtheory as ft
    >>> fed = Quadratic.common_hessian([0], gradient_noise=1, noise=ONE_SIDED)
    >>> algorithm = ft.algorithms.fast(cohort=1, local_lr="1/2", snapshot_probability=0)
    >>> one = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=1)  # 1, then 0 or 1, then 0, 0 or 1
    >>> enumerated(one, np.array([0, 1, 2]), exact=True)[0][:, 0].tolist()
    [Fraction(1, 1), Fraction(1, 2), Fraction(1, 4)]
    """
    fed = setting.federation
    assert isinstance(fed, Quadratic)
    short = fed.dimension == 1 and fed.objective_weight is None and max(rounds) <= LONGEST
    if not short or setting.algorithm.by_rule or not isinstance(setting.participation, Fixed):
        raise ValueError(
            f"noise = {fed.noise!r}: exact errors are known on a line, of clients that weigh alike, of a "
            f"fixed set, with steps of one size, over at most {LONGEST} rounds"
        )
    lines = [[PiecewiseLinear([h[0, 0]], (), g[0])] for h, g in zip(fed.exact_hessians, fed.exact_slopes, strict=True)]
    same = Piecewise(lines, None, fed.exact_gradient_noise, fed.noise, fed.exact_server_noise)
    found = enumerated_at(replace(setting, federation=same), np.asarray(rounds).tolist())
    rows = np.array([found.squared_distance, found.squared_gradient, found.gradient_sum], dtype=object).T
    first = found.initial_squared_gradient
    return rows.astype(object if exact else float), first if exact else float(first)
