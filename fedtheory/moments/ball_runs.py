"""Exact errors of runs in balls; where step sizes change, followed round by round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb_mat

from ..algorithms.algorithm import Kind, OwnRound, ServerRound
from ..claims.balls import Ball, Undecided, ball, ball_matrix
from ..setting import Setting
from .averages import form_of
from .linear_rounds import LinearRound, second_moment_map
from .round_maps import drawn, layout_of, observable_weights, quadratic, rounds_with
from .weight_draws import phases_of

FOLLOWED_BY_RULE = 5000
"""The most rounds that are followed one by one where step sizes change."""


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
