"""Rounds of built-in algorithms as steps: each readable from top to bottom, as those of ``corrected_steps``.

A built-in algorithm runs by its parts, which are faster. As a step it does the same with the same draws, up to the
order of sums. What is computed of steps is so of built-in ones, such as the worst cases of MIFA, of FedVarp, and of
several rounds of FAST and SAFARI.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from ..extras import torch
from ..schedule import StepRule
from .aggregation import (
    MIFA,
    Aggregation,
    AverageAll,
    AverageParticipating,
    Constant,
    FedAUWeights,
    FedVarp,
    GivenWeights,
    GroupWeights,
    Known,
    ObjectiveShares,
    SampleShares,
)
from .algorithm import Algorithm, ClientRound
from .custom_algorithm import Own, own
from .every_round import EveryRound
from .fast import Fast
from .safari import Safari
from .server_step import Adam, Amplified, Momentum, Plain, Server

# FedAvg, FedProx -----------------------------------------------------------------------------------------------


def fedavg(x, memory, round, *, local_lr, local_steps, proximal, global_lr):  # type: ignore[no-untyped-def]
    """Do a round of FedAvg or FedProx: x <- x + global_lr mean_S delta_i."""
    return x + global_lr * (round.share * round.train(x, local_lr, local_steps, proximal)).sum(1), {}


def fedavg_of_all(x, memory, round, *, local_lr, local_steps, proximal, global_lr):  # type: ignore[no-untyped-def]
    """Do a round of FedAvg over all clients: x <- x + global_lr (1/M) sum_{i in S} delta_i."""
    return x + global_lr * (round.count * round.train(x, local_lr, local_steps, proximal)).mean(1), {}


def fedavg_by_shares(x, memory, round, *, local_lr, local_steps, proximal, global_lr, shares):  # type: ignore[no-untyped-def]
    """Do a round of FedAvg by objective weights: x <- x + global_lr sum_S M p_i delta_i / |S|."""
    weights = round.each(shares) * round.share  # M p_i N_i / sum_j N_j
    return x + global_lr * (weights * round.train(x, local_lr, local_steps, proximal)).sum(1), {}


def fedavg_by_samples(x, memory, round, *, local_lr, local_steps, proximal, global_lr, samples):  # type: ignore[no-untyped-def]
    """Do a round of FedAvg by samples: x <- x + global_lr sum_S n_i delta_i / sum_S n_j."""
    held = round.each(samples) * round.count
    weights = held / (held.sum(1)[:, None] + (1 - round.somebody)[:, None])
    return x + global_lr * (weights * round.train(x, local_lr, local_steps, proximal)).sum(1), {}


# Servers that remember, whose Delta is the way of a round of FedAvg, or of another one -----------------------------


def fedavgm(x, memory, round, *, global_lr, momentum, way=fedavg, **numbers):  # type: ignore[no-untyped-def]
    """Do a round of FedAvgM: v <- momentum v + Delta, x <- x + global_lr v, if anybody takes part."""
    before, delta = memory["velocity"], way(x, {}, round, global_lr=1, **numbers)[0] - x
    velocity = momentum * before + delta
    moved = x + global_lr * round.somebody * velocity
    return moved, {"velocity": before + round.somebody * (velocity - before)}


def fedadam(x, memory, round, *, global_lr, beta1, beta2, epsilon, way=fedavg, **numbers):  # type: ignore
    """Do a round of FedAdam: m <- beta1 m + (1 - beta1) Delta, v alike of squares (v_0 = epsilon^2), and
    x <- x + global_lr m / (sqrt(v) + epsilon), if anybody takes part."""
    first, more = memory["first_moment"], memory["second_moment"]  # more = v - epsilon^2
    delta = way(x, {}, round, global_lr=1, **numbers)[0] - x
    mean = beta1 * first + (1 - beta1) * delta
    above = beta2 * more + (1 - beta2) * (delta * delta - epsilon**2)
    moved = x + global_lr * round.somebody * mean / (torch.sqrt(above + epsilon**2) + epsilon)
    kept = {"first_moment": (first, mean), "second_moment": (more, above)}
    return moved, {name: old + round.somebody * (new - old) for name, (old, new) in kept.items()}


def fedamplify(x, memory, round, *, period, **numbers):  # type: ignore[no-untyped-def]
    """Do a round of FedAvg with amplification, which stretches the way in every period-th round in which anybody takes
    part."""
    passed = memory["passed"] + round.somebody
    full = torch.where(passed == period, 1 + 0 * passed, 0 * passed)
    moved, kept = amplifying(x, {"way": memory["way"]}, round, last=full, **numbers)
    return moved, kept | {"passed": passed - round.somebody * full * passed}


def amplifying(x, memory, round, *, global_lr, last, way=fedavg, **numbers):  # type: ignore[no-untyped-def]
    """Do a round of it that is, or is not, the last of a period: x <- x + Delta, and in the last one, if anybody takes
    part, x <- x + (global_lr - 1) w besides, w the way since the last time."""
    delta = way(x, {}, round, global_lr=1, **numbers)[0] - x
    gone, full = memory["way"] + delta, last * round.somebody
    return x + delta + full * (global_lr - 1) * gone, {"way": gone - full * gone}


# FedAU and what it is compared with; FLICS's rounds with fixed estimates --------------------------------------------


def weighted(x, memory, round, *, local_lr, local_steps, proximal, global_lr, weights):  # type: ignore[no-untyped-def]
    """Do a round with weights that stay: x <- x + global_lr sum_{i in S} w_i delta_i."""
    own_weights = round.each(weights) * round.count
    return x + global_lr * (own_weights * round.train(x, local_lr, local_steps, proximal)).sum(1), {}


def given(x, memory, round, *, row, weights, **numbers):  # type: ignore[no-untyped-def]
    """Do a round with weights that take turns: x <- x + global_lr sum_{i in S} w_i delta_i, w a row of one each."""
    clients = round.present.shape[1]
    return weighted(x, memory, round, weights=weights[(row - 1) * clients : row * clients], **numbers)


def mifa(x, memory, round, *, local_lr, local_steps, proximal, global_lr, empty):  # type: ignore[no-untyped-def]
    """Do a round of MIFA: y_i <- delta_i for i in S, x <- x + global_lr (1/M) sum_j y_j."""
    latest = memory["updates"]
    latest = latest + round.present * (round.train(x, local_lr, local_steps, proximal) - latest)
    steps = empty + (1 - empty) * round.somebody
    return x + global_lr * steps * latest.mean(1), {"updates": latest}


def fedvarp(x, memory, round, *, local_lr, local_steps, proximal, global_lr, empty):  # type: ignore[no-untyped-def]
    """Do a round of FedVarp: x <- x + global_lr ((1/M) sum_j y_j + mean_S (delta_i - y_i)), y_i <- delta_i in S."""
    latest = memory["updates"]
    change = round.present * (round.train(x, local_lr, local_steps, proximal) - latest)
    steps = empty + (1 - empty) * round.somebody
    return x + global_lr * steps * (latest.mean(1) + (round.share * change).sum(1)), {"updates": latest + change}


def fedau(x, memory, round, *, local_lr, local_steps, proximal, global_lr, longest):  # type: ignore[no-untyped-def]
    """Do a round of FedAU: x <- x + global_lr (1/M) sum_{i in S} omega_i delta_i, omega_i its mean interval so far."""
    intervals, covered, running = memory["intervals"], memory["covered"], memory["running"]
    cut = torch.where(running == longest, 1 + 0 * running, 0 * running) if longest else 0 * running  # 0: no cutoff
    intervals, covered, running = intervals + cut, covered + cut * running, running - cut * running
    omega = torch.where(intervals > 0, covered / intervals.clamp(min=1), 1.0)
    moved = x + global_lr * (round.count * omega * round.train(x, local_lr, local_steps, proximal)).mean(1)
    here = round.present
    return moved, {
        "intervals": intervals + here,
        "covered": covered + here * (running + 1),
        "running": (1 - here) * (running + 1),
    }


# FAST ---------------------------------------------------------------------------------------------------------------


def fast(x, memory, round, *, snapshot_probability, cohort, replacement, **numbers):  # type: ignore[no-untyped-def]
    """Do a round of FAST: one of FedAvg, or FedAvgM, of a uniform cohort with a probability, else of who is there."""
    people = round.cohort(cohort, round.draw(snapshot_probability), replacement)
    return (fedavgm if memory else fedavg)(x, memory, people, **numbers)


def fast_by_period(x, memory, round, *, place, cohort, replacement, **numbers):  # type: ignore[no-untyped-def]
    """Do a round of FAST: one of FedAvg, or FedAvgM, of a uniform cohort in the first ``place`` of a period."""
    people = round.cohort(cohort, int(place == 1), replacement)
    return (fedavgm if memory else fedavg)(x, memory, people, **numbers)


# SAFARI -------------------------------------------------------------------------------------------------------------


def safari(x, memory, round, *, local_lr, local_steps, client_round_probability, server_lr, server_steps):  # type: ignore
    """Do a round of SAFARI: x <- mean_S x_{i,K} with a probability, else the server's steps."""
    trained, y = x + (round.share * round.train(x, local_lr, local_steps)).sum(1), x
    for _ in range(server_steps):
        y = y - server_lr * round.server_gradient(y)
    clients = round.draw(client_round_probability)
    return clients * trained + (1 - clients) * y, {}


# By algorithm -------------------------------------------------------------------------------------------------------

UPDATES = {"updates": "clients"}


def as_step(algorithm: Algorithm, clients: int) -> Own:
    """Return a built-in algorithm as a step, of so many clients.

    Raises:
        ValueError: its round is not written as one: selections by rates, snapshots that follow the training accuracy,
            other local solvers, clients without samples, clients that take different numbers of steps, sums divided by
            the number of answers, and samples or probabilities that are not given.

    >>> from . import mifa, safari
    >>> as_step(mifa(local_lr="1/10"), 3).name
    'mifa'
    >>> as_step(safari(client_round_probability="1/4", local_lr="1/10", server_lr="1/20"), 3).numbers["server_steps"]
    Fraction(1, 1)
    """
    if isinstance(algorithm, Safari):
        names = ("client_round_probability", "local_lr", "local_steps", "server_lr", "server_steps")
        if algorithm.local_solver == ClientRound.local_solver:
            return own(safari, **{name: getattr(algorithm, name) for name in names})
    if isinstance(algorithm, Fast) and not algorithm.adaptive and algorithm.kinds[0].by_sgd:
        numbers = {name: getattr(algorithm, name) for name in ("local_lr", "local_steps", "proximal", "cohort")}
        kept = {"velocity": "vector"} if algorithm.momentum else {}
        numbers |= {"global_lr": 1, "replacement": int(algorithm.replacement)}
        numbers |= {"momentum": algorithm.momentum} if kept else {}
        if algorithm.periodic:
            return own(fast_by_period, memory=kept, name="fast", **numbers, place=_turn(algorithm.snapshot_period))
        return own(fast, memory=kept, **numbers, snapshot_probability=algorithm.snapshot_probability)
    if isinstance(algorithm, EveryRound):
        kind = algorithm.round
        plain = kind.by_sgd and kind.trains_alike and kind.selection is None
        found = step_of(kind.aggregation, kind.server, clients) if plain else None
        if found is not None:
            step, memory, more = found
            numbers = {"local_lr": kind.local_lr, "local_steps": kind.local_steps, "proximal": kind.proximal}
            return own(step, memory=memory, **numbers, global_lr=kind.server.global_lr, **more)
    raise ValueError(f"algorithm = {algorithm}: its round is not written as a step")


@dataclass(frozen=True)
class Amplifying:
    """The step of the server ``Amplified`` in one round: its period's last one, or another."""

    global_lr: Any
    last: bool
    remembers = True


Written = tuple[Callable[..., Any], Mapping[str, str], dict[str, Any]]
"""A step, what it remembers, and its numbers beside those of a training and ``global_lr``."""


def step_of(rule: Aggregation, server: Server | Amplifying, clients: int) -> Written | None:
    """Return a round with this aggregation and server as a step; ``None`` where it is not written as one."""
    found = _of_aggregation(rule, clients)
    if found is None or isinstance(server, Plain):
        return found
    step, memory, more = found
    serve: Callable[..., Any]
    kept: tuple[str, ...]
    own_numbers: dict[str, Any]
    match server:
        case Momentum(_, momentum):
            serve, kept, own_numbers = fedavgm, ("velocity",), {"momentum": momentum}
        case Adam(_, beta1, beta2, epsilon):
            serve, kept = fedadam, ("first_moment", "second_moment")
            own_numbers = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        case Amplified(_, period):
            serve, kept, own_numbers = fedamplify, ("way", "passed"), {"period": period}
        case Amplifying(_, last):
            serve, kept, own_numbers = amplifying, ("way",), {"last": int(last)}
        case _:
            return None
    if memory:
        return None
    return _served(serve, step), dict.fromkeys(kept, "vector"), more | own_numbers


@cache
def _served(serve: Callable[..., Any], way: Callable[..., Any]) -> Callable[..., Any]:
    """A round of this way, whose server does that."""
    if way is fedavg:
        return serve

    def served(x, memory, round, **numbers):  # type: ignore[no-untyped-def]
        return serve(x, memory, round, way=way, **numbers)

    served.__name__ = serve.__name__
    return served


def _of_aggregation(rule: Aggregation, M: int) -> Written | None:
    """The step of a round with this aggregation and a plain server."""
    match rule:
        case AverageParticipating():
            return fedavg, {}, {}
        case AverageAll():
            return fedavg_of_all, {}, {}
        case ObjectiveShares(p):
            return fedavg_by_shares, {}, {"shares": [M * each for each in p]}
        case SampleShares(tuple() as samples) if 0 not in samples:  # of whom a round may not consist
            return fedavg_by_samples, {}, {"samples": list(samples)}
        case GivenWeights(rows):
            return given, {}, {"row": _turn(len(rows)), "weights": [each / M for row in rows for each in row]}
        case Constant(omega):
            return weighted, {}, {"weights": [Fraction(each) / M for each in omega]}
        case Known(tuple() as p):
            return weighted, {}, {"weights": [1 / (M * Fraction(each)) for each in p]}
        case GroupWeights(groups, p, False, tuple() as estimate):
            return weighted, {}, {"weights": [p[g] / estimate[g] for g in groups]}
        case MIFA(empty):
            return mifa, UPDATES, {"empty": int(empty)}
        case FedVarp(empty):
            return fedvarp, UPDATES, {"empty": int(empty)}
        case FedAUWeights(cutoff):
            kept = dict.fromkeys(("intervals", "covered", "running"), "clients")
            return fedau, kept, {"longest": 0 if math.isinf(cutoff) else int(cutoff)}
        case _:
            return None


def _turn(period: int | None) -> StepRule:
    """Which round of its period a round is: 1, ..., period, by turns."""
    return StepRule(f"1 + round_index - {period}*floor(round_index/{period})")
