"""Rounds of built-in algorithms as steps: each readable from top to bottom, as those of ``corrected_steps``.

A built-in algorithm runs by its parts, which are faster. As a step it does the same with the same draws, up to the
order of sums. What is computed of steps is so of built-in ones, such as the worst cases of MIFA, of FedVarp, and of
several rounds of FAST and SAFARI.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from ..extras import torch
from ..schedule import StepRule
from .aggregation import (
    MIFA,
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
from .server_step import Adam, Amplified, Momentum, Plain

# FedAvg, FedProx, FedAvgM -------------------------------------------------------------------------------------------


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


def fedavgm(x, memory, round, *, local_lr, local_steps, proximal, global_lr, momentum):  # type: ignore[no-untyped-def]
    """Do a round of FedAvgM: v <- momentum v + mean_S delta_i, x <- x + global_lr v, if anybody takes part."""
    before = memory["velocity"]
    velocity = momentum * before + (round.share * round.train(x, local_lr, local_steps, proximal)).sum(1)
    moved = x + global_lr * round.somebody * velocity
    return moved, {"velocity": before + round.somebody * (velocity - before)}


def fedavg_by_samples(x, memory, round, *, local_lr, local_steps, proximal, global_lr, samples):  # type: ignore[no-untyped-def]
    """Do a round of FedAvg by samples: x <- x + global_lr sum_S n_i delta_i / sum_S n_j."""
    held = round.each(samples) * round.count
    weights = held / (held.sum(1)[:, None] + (1 - round.somebody)[:, None])
    return x + global_lr * (weights * round.train(x, local_lr, local_steps, proximal)).sum(1), {}


def fedadam(x, memory, round, *, local_lr, local_steps, proximal, global_lr, beta1, beta2, epsilon):  # type: ignore
    """Do a round of FedAdam: m <- beta1 m + (1 - beta1) mean_S delta_i, v alike of squares (v_0 = epsilon^2), and
    x <- x + global_lr m / (sqrt(v) + epsilon), if anybody takes part."""
    first, more = memory["first_moment"], memory["second_moment"]  # more = v - epsilon^2
    delta = (round.share * round.train(x, local_lr, local_steps, proximal)).sum(1)
    mean = beta1 * first + (1 - beta1) * delta
    above = beta2 * more + (1 - beta2) * (delta * delta - epsilon**2)
    moved = x + global_lr * round.somebody * mean / (torch.sqrt(above + epsilon**2) + epsilon)
    kept = {"first_moment": (first, mean), "second_moment": (more, above)}
    return moved, {name: old + round.somebody * (new - old) for name, (old, new) in kept.items()}


def fedamplify(x, memory, round, *, local_lr, local_steps, proximal, global_lr, period):  # type: ignore[no-untyped-def]
    """Do a round of FedAvg with amplification: x <- x + mean_S delta_i, and in every period-th round in which anybody
    takes part x <- x + (global_lr - 1) w besides, w the way since the last time."""
    delta = (round.share * round.train(x, local_lr, local_steps, proximal)).sum(1)
    way, passed = memory["way"] + delta, memory["passed"] + round.somebody
    full = round.somebody * torch.where(passed == period, 1 + 0 * passed, 0 * passed)
    return x + delta + full * (global_lr - 1) * way, {"way": way - full * way, "passed": passed - full * passed}


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
            other local solvers, clients without samples, and clients that take different numbers of steps.

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
        found = _of_aggregation(kind, clients) if plain else None
        if found is not None:
            step, memory, more = found
            numbers = {"local_lr": kind.local_lr, "local_steps": kind.local_steps, "proximal": kind.proximal}
            return own(step, memory=memory, **numbers, global_lr=kind.server.global_lr, **more)
    raise ValueError(f"algorithm = {algorithm}: its round is not written as a step")


def _of_aggregation(
    kind: ClientRound, clients: int
) -> tuple[Callable[..., Any], Mapping[str, str], dict[str, Any]] | None:
    """The step of a round with this aggregation and server, what it remembers, and its other numbers."""
    rule, M = kind.aggregation, clients
    match kind.server:
        case Momentum(_, momentum) if isinstance(rule, AverageParticipating):
            return fedavgm, {"velocity": "vector"}, {"momentum": momentum}
        case Adam(_, beta1, beta2, epsilon) if isinstance(rule, AverageParticipating):
            moments = dict.fromkeys(("first_moment", "second_moment"), "vector")
            return fedadam, moments, {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        case Amplified(_, period) if isinstance(rule, AverageParticipating):
            return fedamplify, dict.fromkeys(("way", "passed"), "vector"), {"period": period}
        case Plain():
            pass
        case _:
            return None
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
