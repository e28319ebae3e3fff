"""Moments of runs in balls: by powers of the rounds' maps, also where participants change, or round by round where step
sizes change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb_mat

from ..algorithms.algorithm import Kind, OwnRound, ServerRound
from ..claims.balls import Ball, Undecided, ball, ball_matrix
from ..moments.averages import form_of
from ..moments.linear_rounds import LinearRound, second_moment_map
from ..moments.round_maps import drawn, kind_of_round, layout_of, observable_weights, quadratic, rounds_with
from ..moments.weight_draws import phases_of
from ..participation import Fixed, Phases
from ..setting import Setting

if TYPE_CHECKING:
    from .enclosures import Way

FIRST, SECOND, DRAWN = 0, 1, 2
"""Kinds of round: one of the algorithm's two, or one that is drawn."""

FOLLOWED_BY_RULE = 5000
"""The most rounds that are followed one by one where step sizes change."""


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
    column = np.full((len(one), 1), Fraction(0), dtype=object)
    return ball_matrix(np.block([[one, column], [weight[None], np.array([[Fraction(1)]])]]))


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
