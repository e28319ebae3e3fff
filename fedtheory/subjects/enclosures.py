"""Proven enclosures, in balls, of what a claim needs from runs on quadratic clients with fixed participants.

The left side follows from the exact recursion of second moments: by powers of the rounds' maps, also where participants
change, or round by round where step sizes change. So do maxima and minima over rounds of expectations, by following it.
Where a claim asks something of every round of every run, the run is followed if it is deterministic. Else an invariant
interval holds all runs in one dimension, with one curvature h and without noise. A round of clients then moves
y = x - x* a share a_c = 1 - (1 - eta_c h)^K of the way to the mean minimiser of its cohort, a server's round
a_s = eta_s h of it to 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat

from ..algorithms import Algorithm, Fast, Safari
from ..algorithms.algorithm import Kind, OwnRound, ServerRound
from ..algorithms.fast import fast_of
from ..claims.balls import Ball, Undecided, ball, ball_matrix, interval
from ..federations.noise_laws import COMMON, ONE_SIDED, rise_of
from ..functionals import Functional
from ..moments.averages import form_of
from ..moments.expected_errors import exact_errors
from ..moments.linear_rounds import LinearRound, mean_map, second_moment_map
from ..moments.participation_laws import phases_of
from ..moments.round_maps import (
    drawn,
    initial_moments,
    is_one_sided,
    kind_of_round,
    layout_of,
    local_maps,
    observable_weights,
    quadratic,
    rounds_with,
)
from ..participation import Fixed, Phases
from ..quantities import LEAST_QUANTITIES, RUN_QUANTITIES
from ..schedule import StepRule
from ..setting import Setting
from .protocol import Box

FOLLOWED = 10**6
"""Largest number of rounds over which deterministic runs, and moments, are followed round by round.

Longer runs are enclosed like random ones, by an invariant interval.
"""

FIRST, SECOND, DRAWN = 0, 1, 2
"""Kinds of round: one of the algorithm's two, or one that is drawn."""

FOLLOWED_BY_RULE = 5000
"""The most rounds that are followed one by one where step sizes change."""

GRADIENTS = ("peak_server_gradient", "least_server_gradient")
PSEUDOGRADIENTS = ("peak_arbitrary_pseudogradient", "least_arbitrary_pseudogradient")
LEAST = (GRADIENTS[1], PSEUDOGRADIENTS[1])
PROGRESS = ("least_client_progress", "peak_client_progress")
EVERY_ROUND = (*PROGRESS, "least_gradient")
"""Quantities that are known of every round of every run."""

BLUR, MOST_PIECES = 100, 20
"""Largest ratio of an interval's ends in one piece, and largest number of pieces into which it is cut.

The ends of a ball that is much wider than its lower end are blurred, as its radius has 30 binary digits.
"""


@dataclass(frozen=True)
class Way:
    """Runs of one reading.

    Attributes:
        setting: fixed participants, diagonal Hessians; steps in Fractions or balls.
        rounds: R.
        order: the kinds of the first rounds, repeated, where they are given; else they are the setting's.
    """

    setting: Setting
    rounds: int
    order: tuple[int, ...] = ()

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """The rounds of a cycle as (kind, how often it comes one after another)."""
        period = self.setting.algorithm.period
        if self.order:
            return [(kind, len(list(run))) for kind, run in itertools.groupby(self.order)]
        return [(DRAWN, 1)] if period is None else [(FIRST, 1), (SECOND, period - 1)]

    def kinds(self) -> Iterator[int]:
        """The kinds of the rounds, one after another."""
        cycle = itertools.cycle(self.blocks)
        each = itertools.chain.from_iterable(itertools.repeat(kind, times) for kind, times in cycle)
        return itertools.islice(each, self.rounds)

    @property
    def in_balls(self) -> Setting:
        """The setting with steps in balls, which keeps their powers from growing by their digits."""
        algorithm = self.setting.algorithm
        steps = {name: getattr(algorithm, name) for name in STEPS if hasattr(algorithm, name)}
        balls = {name: step if isinstance(step, Ball | StepRule) else Ball(ball(step)) for name, step in steps.items()}
        return replace(self.setting, algorithm=with_new_steps(algorithm, balls))


STEPS = ("local_lr", "server_lr", "global_lr")
"""Names of algorithms' step sizes."""


def algorithm_of(setting: Setting) -> Fast | Safari:
    """Return the algorithm of a run."""
    assert isinstance(setting.algorithm, (Fast, Safari))
    return setting.algorithm


def members_of(setting: Setting) -> list[int]:
    """Return the fixed participants of a run.

    Raises:
        Undecided: they are not fixed.
    """
    if not isinstance(setting.participation, Fixed):
        raise Undecided("run quantities are enclosed for a fixed set only")
    return list(setting.participation.members)


def with_new_steps(algorithm: Any, steps: Mapping[str, Any]) -> Any:
    """Return the algorithm with these step sizes: Fractions, balls, or ``None`` for what a claim chooses."""
    return replace(algorithm, **steps)


def with_steps(make: Callable[..., Any], **parameters: Any) -> Any:
    """Make an algorithm whose step sizes may be left to a claim (``None``), as no algorithm that runs may."""
    special = {n: parameters[n] for n in STEPS if n in parameters and not isinstance(parameters[n], Fraction)}
    return replace(make(**parameters | dict.fromkeys(special, Fraction(1))), **special)


def steps_of(algorithm: Algorithm) -> dict[str, Any]:
    """Return the step sizes by name."""
    return {name: getattr(algorithm, name) for name in STEPS if hasattr(algorithm, name)}


# Moments over all rounds ----------------------------------------------------------------------------------------------


def column(numbers: np.ndarray, last: int) -> arb_mat:
    """Return a column of balls with the numbers and ``last`` below them."""
    return ball_matrix(np.array([*numbers, Fraction(last)], dtype=object))


def moment_maps(setting: Setting, weight: np.ndarray) -> list[arb_mat]:
    """Return the maps of a round on second moments and on the sum of ``weight . moments`` so far.

    They are those of the two kinds of round, and of a drawn one.
    """
    maps = [with_sum(kind_of_round(setting, kind, exact=True), weight) for kind in setting.algorithm.kinds]
    q = setting.algorithm.share
    return [*maps, maps[FIRST] * ball(q) + maps[SECOND] * ball(1 - q)]


def advanced(way: Way, maps: list[arb_mat], state: arb_mat) -> arb_mat:
    """Return the state after all rounds."""
    blocks = way.blocks
    cycle = maps[blocks[0][0]] ** blocks[0][1]
    for kind, times in blocks[1:]:
        cycle = maps[kind] ** times * cycle
    cycles, rest = divmod(way.rounds, sum(times for _, times in blocks))
    state = cycle**cycles * state
    for kind, times in blocks:
        state = maps[kind] ** min(times, rest) * state
        rest -= min(times, rest)
    return state


def advanced_moments(way: Way, setting: Setting, weight: np.ndarray, state: arb_mat) -> arb_mat:
    """Return second moments and the sum of ``weight . moments`` after all rounds.

    ``setting`` is the way's, with steps in balls. In phases the participants of each are fixed.

    Raises:
        Undecided: a phase ends within a period of the algorithm's kinds of round.
    """
    process = setting.participation
    if not isinstance(process, Phases):
        return advanced(way, moment_maps(setting, weight), state)
    maps = {s: moment_maps(replace(setting, participation=Fixed(s)), weight) for s in dict.fromkeys(process.sets)}
    period, ended = sum(times for _, times in way.blocks), process.lengths if process.cyclic else process.lengths[:-1]
    if any(length % period for length in ended):
        raise Undecided(f"participants change within a period of {period} rounds: allowed are multiples of it")
    left = way.rounds
    if process.cyclic and left >= (total := sum(process.lengths)):
        size = state.nrows()
        cycle = ball_matrix(np.array([[Fraction(int(i == j)) for j in range(size)] for i in range(size)], dtype=object))
        for members, length in zip(process.sets, process.lengths, strict=True):
            cycle = advanced(replace(way, rounds=length), maps[members], cycle)
        state, left = cycle ** (left // total) * state, left % total
    for place, (members, length) in enumerate(zip(process.sets, process.lengths, strict=True)):
        passed = left if place == len(process.sets) - 1 else min(left, length)
        state, left = advanced(replace(way, rounds=passed), maps[members], state), left - passed
    return state


def advanced_by_rule(
    setting: Setting, order: Iterable[int], rounds: int, weight: np.ndarray, state: arb_mat
) -> arb_mat:
    """Return the state after all rounds, of which each has step sizes of its own.

    ``order`` has the rounds' kinds, 0 or 1, or 2 for a drawn one.

    Raises:
        Undecided: there are too many rounds, participants with a memory, or irrational sizes.
    """
    if rounds > FOLLOWED_BY_RULE:
        raise Undecided(f"{rounds} rounds of steps by rule: at most {FOLLOWED_BY_RULE} are followed")
    if not setting.participation.independent_rounds:
        raise Undecided("participants with a memory and steps by rule are not followed in balls")
    fed, layout, kinds = quadratic(setting), layout_of(setting), setting.algorithm.kinds
    phases = phases_of(setting.participation)
    processes = (setting.participation,) if phases is None else phases.processes
    made = {
        process: [drawn(replace(setting, participation=process), kind, exact=True) for kind in kinds]
        for process in dict.fromkeys(processes)
    }
    share = (Fraction(1), Fraction(0), setting.algorithm.share)

    def of_round(place: int, r: int) -> arb_mat:
        kind, process = _in_balls(kinds[place].at(r)), processes[0 if phases is None else phases.place(r)]
        return with_sum(rounds_with(process, fed, kind, made[process][place], True, layout)[0], weight)

    for r, kind in enumerate(order):
        q = share[kind]
        moved = [(of_round(place, r) * state) * ball(p) for place, p in ((0, q), (1, 1 - q)) if p]
        state = sum(moved[1:], moved[0])
    return state


def _in_balls(kind: Kind) -> Kind:
    """A kind of round of one round, with its sizes in balls."""

    def size(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(size, value))
        if isinstance(value, float):
            raise Undecided(f"a step of size {value} is irrational: allowed are rules whose sizes are rational")
        return value if isinstance(value, Ball) else Ball(ball(value))

    if isinstance(kind, OwnRound):
        return kind
    if isinstance(kind, ServerRound):
        return replace(kind, server_lr=size(kind.server_lr))
    return replace(kind, local_lr=size(kind.local_lr))


def with_sum(round: LinearRound, weight: np.ndarray) -> arb_mat:
    """Advance second moments, and the sum of ``weight . moments`` so far, by a round."""
    one = second_moment_map(round)
    nothing = np.full((len(one), 1), Fraction(0), dtype=object)
    return ball_matrix(np.block([[one, nothing], [weight[None], np.array([[Fraction(1)]])]]))


def weights_of(setting: Setting, only: str) -> dict[str, np.ndarray]:
    """Return the row vectors on vec E[z z^T] that give the observables."""
    fed, layout = quadratic(setting), layout_of(setting)
    known = observable_weights(fed, True, layout)
    if not only:
        return known
    if only not in known and only == "gap":
        form = np.full((layout.size, layout.size), Fraction(0), dtype=object)
        form[layout.of_model, layout.of_model] = form_of(fed, only)
        known = {**known, only: form.ravel()}
    return {only: known[only]} if only in known else {}


# Left sides -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftSide:
    """Enclosed expectations of the observables, for one reading of the algorithm."""

    final: dict[str, arb]
    sums: dict[str, arb]
    initial: dict[str, arb]
    rounds: int

    def of(self, functional: Functional, average: str) -> arb:
        """Return the functional; ``average`` says which iterates an average runs over."""
        name = functional.observable
        if functional.of_all_rounds or name not in (self.sums if functional.average else self.final):
            raise Undecided(f"{functional.name}: no enclosure of it is known")
        if not functional.average:
            return self.final[name]
        total = self.sums[name]
        if average == "r = 1..R":
            total = total + self.final[name] - self.initial[name]
        return total / self.rounds


def left_side(way: Way, only: str = "") -> LeftSide:
    """Enclose the exact expected errors after the rounds, or ``only`` the one observable, also ``gap``."""
    if is_one_sided(way.setting.federation):
        return _enumerated(way)
    setting = way.in_balls
    start = initial_moments(setting, exact=True)
    final, sums, initial = {}, {}, {}
    for name, weight in weights_of(setting, only).items():
        start_column = column(start, 0)
        if setting.algorithm.by_rule:
            state = advanced_by_rule(setting, way.kinds(), way.rounds, weight, start_column)
        else:
            state = advanced_moments(way, setting, weight, start_column)
        values = [state[i, 0] for i in range(len(start) + 1)]
        final[name] = sum((ball(w) * v for w, v in zip(weight, values, strict=False)), arb(0))
        sums[name] = values[-1]
        initial[name] = ball(weight @ start)
    return LeftSide(final, sums, initial, way.rounds)


def _enumerated(way: Way) -> LeftSide:
    """Enclose the left side of a short run whose noise depends on the state."""
    if way.order or any(isinstance(getattr(way.setting.algorithm, name, None), Ball) for name in STEPS):
        raise Undecided("noise that depends on the state is followed with rational steps and drawn kinds of round")
    try:
        found = exact_errors(way.setting, [way.rounds], exact=True)
    except ValueError as reason:
        raise Undecided(str(reason)) from None
    shift = way.setting.exact_start - quadratic(way.setting).exact_optimum
    final = {"squared_distance": ball(found.squared_distance[0]), "squared_gradient": ball(found.squared_gradient[0])}
    initial = {
        "squared_distance": ball(shift @ shift),
        "squared_gradient": ball(Fraction(found.initial_squared_gradient)),
    }
    return LeftSide(final, {"squared_gradient": ball(found.gradient_sum[0])}, initial, way.rounds)


# Run quantities -------------------------------------------------------------------------------------------------------


def run_boxes(way: Way, local_index: str, asked: set[str], follow: bool = True, divided: bool = False) -> list[Box]:
    """Return boxes that together hold the run quantities ``asked`` of every run.

    The runs have snapshots and arbitrary rounds, or some rounds are the server's; ``divided``: see ``every_round``.

    Raises:
        Undecided: no enclosure; it is said why.
    """
    if way.setting.algorithm.by_rule:
        if asked:
            raise Undecided("run quantities are not enclosed where step sizes change")
        return [{}]
    shifted = local_index == "k = 1..K"
    if not any(isinstance(kind, ServerRound) for kind in way.setting.algorithm.kinds):
        return _snapshot_boxes(way, shifted, follow, asked)
    box: dict[str, arb] = {}
    if asked & {*GRADIENTS, *PSEUDOGRADIENTS}:
        noisy = quadratic(way.setting).exact_gradient_noise != 0
        box |= (
            _least_of_every_run(way)
            if noisy and not asked & {GRADIENTS[0], PSEUDOGRADIENTS[0]}
            else _extremes(way, shifted)
        )
    return [{**box, **known} for known in every_round(way, divided)] if asked & {*EVERY_ROUND} else [box]


def _snapshot_boxes(way: Way, shifted: bool, follow: bool, asked: set[str]) -> list[Box]:
    """Boxes that together hold (G_1, G_2, G_3) of every run that has a round of each kind (others have probability
    0 with periodic snapshots of period 2 or more over two rounds or more, q^R + (1 - q)^R with random ones, and leave a
    maximum over no rounds).

    A deterministic run is followed round by round (there a maximum or minimum over no rounds is 0), or, unless
    ``follow`` and over more than ``FOLLOWED`` rounds, enclosed like a random one. What is least is known of runs that
    are followed.
    """
    if way.setting.deterministic and follow and way.rounds <= FOLLOWED:
        return [_deterministic_box(way, shifted)]
    if asked & {*LEAST_QUANTITIES}:
        raise Undecided(f"minima over rounds are of deterministic runs that are followed, of {FOLLOWED} rounds at most")
    if way.rounds == 1 or way.setting.algorithm.share in (0, 1):
        raise Undecided("no run has rounds of both kinds, so a maximum is over no rounds")
    return list(_invariant_boxes(way, shifted))


def _gradient_sums(setting: Setting, shifted: bool) -> np.ndarray:
    """(M, D, D + 1): the clients' sums of local gradients, ``shifted`` one local step later."""
    sums = local_maps(setting, exact=True).gradient_sums()
    if shifted:
        single = replace(setting, algorithm=replace(algorithm_of(setting), local_steps=1))
        sums = np.stack([s @ t for s, t in zip(sums, local_maps(single, exact=True).maps, strict=True)])
    return sums


def _mean_gradient_sum(setting: Setting, shifted: bool) -> np.ndarray:
    """(D, D + 1), of the participants."""
    members = members_of(setting)
    return _gradient_sums(setting, shifted)[members].sum(0) * Fraction(1, len(members))


def _deterministic_box(way: Way, shifted: bool) -> Box:
    """Follow the run in balls, round by round."""
    setting, algorithm = way.setting, way.setting.algorithm
    full = _gradient_sums(setting, shifted).sum(0) / Fraction(setting.federation.clients)
    forms = [ball_matrix(form) for form in (full, _mean_gradient_sum(setting, shifted))]
    maps = [ball_matrix(mean_map(kind_of_round(setting, kind, exact=True))) for kind in algorithm.kinds]
    state = column(setting.exact_start - quadratic(setting).exact_optimum, 1)
    peaks, least = [arb(0), arb(0)], [arb("inf"), arb("inf")]
    seen = {FIRST: False, SECOND: False}
    always = FIRST if algorithm.share == 1 else SECOND
    for kind in way.kinds():
        kind = always if kind == DRAWN else kind
        gradient = forms[kind] * state
        size = sum((gradient[i, 0] ** 2 for i in range(gradient.nrows())), arb(0))
        peaks[kind], least[kind], seen[kind] = peaks[kind].max(size), least[kind].min(size), True
        state = maps[kind] * state
    smallest = [least[kind] if seen[kind] else arb(0) for kind in (FIRST, SECOND)]
    maxima = zip(RUN_QUANTITIES, (peaks[0], peaks[1], peaks[0]), strict=True)
    return dict(maxima) | dict(zip(LEAST_QUANTITIES, smallest, strict=True))


def _line(setting: Setting, what: str) -> Fraction:
    """The curvature of clients on a line, without noise.

    Raises:
        Undecided: they are none.
    """
    fed = quadratic(setting)
    server = any(isinstance(kind, ServerRound) for kind in setting.algorithm.kinds)
    noisy = fed.exact_gradient_noise != 0 or (server and fed.exact_server_noise != 0)
    if fed.dimension > 1 or not fed.has_common_hessian or noisy:
        raise Undecided(f"{what} enclosed in one dimension, with one curvature and without noise only")
    return fed.exact_hessians[0, 0, 0]


def _invariant_boxes(way: Way, shifted: bool) -> Iterator[Box]:
    curvature, algorithm = _line(way.setting, "the run quantities are"), algorithm_of(way.setting)
    step = 1 - algorithm.local_lr * curvature
    if not (ball(step) >= 0 and ball(step) < 1):
        raise Undecided("the local step size is above 1 / curvature, or not seen to be above 0")
    scale = (1 - step**algorithm.local_steps) / algorithm.local_lr * (step if shifted else 1)
    geometry = _Geometry.of(way.setting)
    for kind_of_round_0 in (FIRST,) if algorithm.period is not None else (FIRST, SECOND):
        ranges = geometry.squared_distances(kind_of_round_0)
        yield {
            name: interval(scale**2 * low, scale**2 * high)
            for name, (low, high) in zip(RUN_QUANTITIES, ranges, strict=True)
        }


@dataclass(frozen=True)
class _Geometry:
    """The line of x - x*: the start, the arbitrary cohort's minimiser, and the range of the uniform cohorts'."""

    start: Fraction
    arbitrary: Fraction
    lowest: Fraction
    highest: Fraction

    @classmethod
    def of(cls, setting: Setting) -> _Geometry:
        fed, algorithm = quadratic(setting), fast_of(setting)
        minimisers = fed.exact_centres[:, 0] - fed.exact_optimum[0]
        shifted, members = sorted(minimisers), minimisers[members_of(setting)]
        m = 1 if algorithm.replacement else algorithm.cohort
        return cls(
            setting.exact_start[0] - fed.exact_optimum[0],
            sum(members) / len(members),
            sum(shifted[:m]) / m,
            sum(shifted[-m:]) / m,
        )

    def squared_distances(self, kind_of_round_0: int) -> tuple[tuple[Fraction, Fraction], ...]:
        """Ranges of the maxima over the run of |x|^2 in snapshot rounds (G_1), |x - arbitrary|^2 in arbitrary
        rounds (G_2) and |x - cohort|^2 in snapshot rounds (G_3).

        A maximum is at least its value in the first round of the kind: at x_0 if that is round 0; otherwise at a
        point that rounds of the other kind reached from x_0, so in the hull of x_0 and of where they pull to.
        """
        everywhere = [self.start, self.arbitrary, self.lowest, self.highest]
        first_snapshot = first_arbitrary = [self.start]
        if kind_of_round_0 == FIRST:
            first_arbitrary = [self.start, self.lowest, self.highest]
        else:
            first_snapshot = [self.start, self.arbitrary]
        cohort_far = max((x - c) ** 2 for x in everywhere for c in (self.lowest, self.highest))
        return (
            (_nearest(first_snapshot, Fraction(0)), max(x**2 for x in everywhere)),
            (_nearest(first_arbitrary, self.arbitrary), max((x - self.arbitrary) ** 2 for x in everywhere)),
            (Fraction(0), cohort_far),
        )


def _nearest(points: list[Fraction], target: Fraction) -> Fraction:
    """The squared distance from ``target`` to the hull of ``points``."""
    return max(min(points) - target, target - max(points), Fraction(0)) ** 2


# Where some rounds are the server's -----------------------------------------------------------------------------------


def _extremes(way: Way, shifted: bool) -> dict[str, arb]:
    """Extremes over rounds of E|grad F(x_r)|^2 and of E|mean over the participants of sum_k grad F_i(x_{i,k})|^2: over
    all rounds where each one's kind is drawn, over those of the server and of the clients where the order is given."""
    if way.rounds > FOLLOWED:
        raise Undecided(f"rounds = {way.rounds}: moments are followed round by round over at most {FOLLOWED}")
    setting = way.in_balls
    fed = quadratic(setting)
    if fed.exact_gradient_noise != 0:
        raise Undecided("sums of local gradients are enclosed without gradient noise only")
    weight, mean = observable_weights(fed, exact=True)["squared_gradient"], _mean_gradient_sum(setting, shifted)
    forms = [column(form, 0).transpose() for form in (weight, (mean.T @ mean).ravel())]
    maps = moment_maps(setting, weight)
    state = column(initial_moments(setting, exact=True), 0)
    seen: list[tuple[arb, arb] | None] = [None, None]
    for kind in way.kinds():
        for i, other in enumerate((FIRST, SECOND)):  # of the server's rounds, of the clients'
            if kind != other:
                value = (forms[i] * state)[0, 0]
                peak, least = seen[i] or (value, value)
                seen[i] = peak.max(value), least.min(value)
        state = maps[kind] * state
    extremes = [extreme for pair in seen if pair is not None for extreme in pair]
    if len(extremes) < 4:
        raise Undecided("all rounds are of one kind, so a maximum is over no rounds")
    return dict(zip((*GRADIENTS, *PSEUDOGRADIENTS), extremes, strict=True))


def _least_of_every_run(way: Way) -> dict[str, arb]:
    """Bound the least |grad F(x_r)|^2 and |mean over the participants of sum_k grad F_i(x_{i,k})|^2 in every run.

    The runs are of identical clients on a line, with rounds of both kinds and bounded noise, however it falls. A step
    of at most 1/h moves y = x - x* to a mean of y and of noise/h with weights >= 0. So |y| stays below Y = max(|y_0|,
    noise/h), the squares below (h Y)^2 and (K h Y)^2.

    Raises:
        Undecided: the runs are not of this kind.
    """
    setting, algorithm, fed = way.setting, way.setting.algorithm, quadratic(way.setting)
    assert isinstance(algorithm, Safari)
    rise = 1 if fed.noise in (COMMON, ONE_SIDED) else rise_of(fed.noise)
    if fed.dimension > 1 or not fed.identical or rise is None:
        raise Undecided("every run is enclosed of identical clients on a line, with noise that is bounded")
    if algorithm.share in (0, 1) or (way.order and len({*way.order}) == 1):
        raise Undecided("all rounds are of one kind, so a minimum is over no rounds")
    h = fed.exact_hessians[0, 0, 0]
    if not all(0 <= step <= 1 for step in (ball(algorithm.local_lr) * ball(h), ball(algorithm.server_lr) * ball(h))):
        raise Undecided("a step moves past its target, or away from it")
    noise = rise * max(fed.exact_gradient_noise, fed.exact_server_noise)
    highest = max(abs(setting.exact_start[0] - fed.exact_optimum[0]) * h, noise)
    ends = highest**2, (algorithm.local_steps * highest) ** 2
    return {name: interval(Fraction(0), end) for name, end in zip(LEAST, ends, strict=True)}


def every_round(way: Way, divided: bool = False) -> list[Box]:
    """Enclose G_4/G_3 and the least G_3 over the rounds of a run.

    Where the start tells, they follow from it (``_on_one_side``). Else they are enclosed as functions of x
    (``progress_everywhere``), whatever the run.

    Args:
        divided: whether what is asked divides by G_3 in every round. A run that nobody follows may come to x*, where
            G_3 and G_4 are 0 and a condition that multiplies by them asks nothing, but a quotient of them is none.

    Raises:
        Undecided: neither holds.
    """
    try:
        return _on_one_side(way)
    except Undecided:
        everywhere = progress_everywhere(way.setting)
        if everywhere is None:
            raise
    if divided:
        raise Undecided("a run may come to x*, where G_4/G_3 is 0/0")
    gradient = quadratic(way.setting).exact_hessian @ (way.setting.exact_start - quadratic(way.setting).exact_optimum)
    ratio = interval(*everywhere)
    return [dict.fromkeys(PROGRESS, ratio) | {"least_gradient": interval(Fraction(0), gradient @ gradient)}]


def progress_everywhere(setting: Setting) -> tuple[Fraction, Fraction] | None:
    """The ends of what G_4/G_3 can be at any x but x*, whoever of those that can take part does: with all their
    gradients 0 at x*, on diagonal Hessians H_i and with y = x - x*,

        G_4/G_3 = sum_d h_d y_d^2 / (2 sum_d H_d^2 y_d^2), h the participants' mean Hessian and H that of F,

    which is between its least and its largest h_d/(2 H_d^2): a constant where these are the same. ``None`` where a
    gradient is not 0 at x*, so that the quotient has no bound near it, or where Hessians are not diagonal.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian([[0, 0]] * 2, hessian=[1, 3], gradient_noise=1)
    >>> algorithm = ft.algorithms.safari(client_round_probability=1, local_lr="1/9", server_lr="1/9")
    >>> progress_everywhere(ft.Setting(fed, algorithm, ft.participation.Fixed([0])))
    (Fraction(1, 6), Fraction(1, 2))
    """
    fed = quadratic(setting)
    if fed.exact_diagonals is None:
        return None
    slopes = fed.exact_diagonals * (fed.exact_optimum - fed.exact_centres)
    match setting.participation:
        case Fixed(members=members):
            groups = [list(members)]
        case Phases(sets=sets):
            groups = [list(members) for members in sets]
        case _:  # whoever takes part, their mean is between each client's
            groups = [[i] for i in range(fed.clients)]
    ratios = set()
    for group in groups:
        if np.any(slopes[group].sum(0)):
            return None
        ratios |= {*(fed.exact_diagonals[group].sum(0) / len(group) / (2 * fed.exact_hessian.diagonal() ** 2))}
    return min(ratios), max(ratios)


def _on_one_side(way: Way) -> list[Box]:
    """Enclose G_4/G_3 = (1 - 2 c/y)/(2 h) and the least G_3 = (h y)^2 over the rounds of a run that starts on c's side
    of x*.

    Here y = x_r - x*; the least G_3 comes in pieces. With y_0 > 0 and c >= 0, a client round leads to at least min(y,
    c) and to at least (1 - a_c) y, a server round to (1 - a_s) y. So y_r is at least (1 - a_s)^r min(y_0, c), and at
    least (1 - max(a_c, a_s))^r y_0. It is at most max(y_0, c), and the ratio increases with y, from its value in round
    0.

    Raises:
        Undecided: the runs are not of this kind.
    """
    setting, algorithm, fed = way.setting, way.setting.algorithm, quadratic(way.setting)
    assert isinstance(algorithm, Safari)
    h = _line(setting, "the clients' progress is")
    eta_c, eta_s = ball(algorithm.local_lr), ball(algorithm.server_lr)
    shares = [1 - (1 - eta_c * ball(h)) ** algorithm.local_steps, eta_s * ball(h)]
    if not all(share >= 0 and share < 1 for share in shares):
        raise Undecided("a round moves past its target, or away from it")
    y, members = setting.exact_start[0] - fed.exact_optimum[0], members_of(setting)
    c = sum(fed.exact_centres[members, 0]) / len(members) - fed.exact_optimum[0]
    if y < 0:
        y, c = -y, -c
    if not (y > 0 and c >= 0):
        raise Undecided("the start is not on the same side of the optimum as the participants' minimiser")
    last = way.rounds - 1
    lowest = (ball(min(y, c)) * (1 - shares[1]) ** last).max(ball(y) * (1 - shares[0].max(shares[1])) ** last)
    low, first, high = ((1 - 2 * ball(c) / end) / (2 * ball(h)) for end in (lowest, ball(y), ball(max(y, c))))
    progress = dict(zip(PROGRESS, (interval(low, first), interval(first, high)), strict=True))
    ends = [ball((h * y) ** 2)]  # downwards
    while ends[-1] > (ball(h) * lowest) ** 2 * BLUR and len(ends) < MOST_PIECES:
        ends.append(ends[-1] / BLUR)
    ends.append((ball(h) * lowest) ** 2)
    return [progress | {"least_gradient": interval(low, high)} for high, low in itertools.pairwise(ends)]
