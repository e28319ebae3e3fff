"""Moments of runs over many rounds, in balls: by powers of the rounds' maps, also where participants change."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb_mat

from ..claims.balls import Undecided, ball, ball_matrix
from ..moments.ball_runs import with_sum
from ..moments.round_maps import kind_of_round
from ..participation import Fixed, Phases
from ..setting import Setting

if TYPE_CHECKING:
    from .enclosures import Way

FIRST, SECOND, DRAWN = 0, 1, 2
"""Kinds of round: one of the algorithm's two, or one that is drawn."""


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
