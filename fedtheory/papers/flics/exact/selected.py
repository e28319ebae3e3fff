"""Numbers of a server's selection of clients by groups, read off a setting exactly.

Clients of a group share their objective, whose Hessian is diagonal, so that coordinates do not meet: every coordinate
is followed on its own. The objective is F = sum_j p_j F_j.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ....algorithms.aggregation import GroupWeights
from ....algorithms.algorithm import ClientRound
from ....algorithms.every_round import EveryRound
from ....algorithms.cohort_rules import VarSelection
from ....algorithms.server_step import Plain
from ....federations.quadratic import Quadratic
from ....participation import Bernoulli, Fixed, GroupAvailability, GroupChain, Participation, Phases, Recorded
from ....setting import Setting
from ....moments.evaluators import Question, Unserved
from ....moments.round_maps import has_common_noise

DIVISION, DIVIDED, UNDIVIDED = "line 14", "divided", "not divided"
"""Whether the sum of the updates is divided by the number of answers."""

COUNTS, RECEIVED, PLANNED = "counts", "received", "planned"
"""Readings of what the participation estimate counts: answers (line 7), or the rates asked for (display (6))."""

BEGINNING, FORGOTTEN, COUNTED = "start", "forgotten", "counted"
"""Readings of the estimate before round 1: it is forgotten, as in display (6), or it counts as one round."""

MATRIX, CORRELATION = "Sigma", "correlation"
"""Whether Sigma is the matrix of the answers' covariances, or of their correlations: 0 where a number never varies."""

UPDATES = {FORGOTTEN: "mean", COUNTED: "start_counts"}

Counts = tuple[int, ...]
"""A number of clients for each group."""

LARGEST_STATES = 1000
"""Largest number of ways in which clients of the groups can be there in a round."""


@dataclass(frozen=True)
class Groups:
    """The clients of a setting, group by group, and their local training; Fractions.

    Attributes:
        weight: (groups,), p.
        curvatures, centres: (groups, D), of a client of the group.
        start: (D,), x_0.
        gradient_noise: total over the coordinates.
        local_steps, local_lr, global_lr: of the rounds; step sizes may be balls, where the question states them.
    """

    weight: tuple[Fraction, ...]
    curvatures: tuple[tuple[Fraction, ...], ...]
    centres: tuple[tuple[Fraction, ...], ...]
    start: tuple[Fraction, ...]
    gradient_noise: Fraction
    local_steps: int
    local_lr: Any
    global_lr: Any


def horizons(question: Question) -> list[int]:
    """Return the question's rounds, as whole numbers >= 1.

    Raises:
        Unserved: there are none.
        ValueError: they are others.
    """
    if question.rounds is None:
        raise Unserved("rounds: what is asked is about runs; say of how many rounds")
    given = np.atleast_1d(np.asarray(question.rounds, dtype=object)).ravel().tolist()
    wrong = [r for r in given if r != int(r) or r < 1]
    if wrong or not given:
        raise ValueError(f"rounds = {wrong[0] if wrong else given}: allowed are whole numbers >= 1")
    return [int(r) for r in given]


def _weighing(setting: Setting) -> tuple[EveryRound, GroupWeights]:
    """An algorithm that weighs groups of clients, and how it does.

    Raises:
        Unserved: the setting's is another one.
    """
    algorithm = setting.algorithm
    aggregation = algorithm.round.aggregation if isinstance(algorithm, EveryRound) else None
    if not (isinstance(algorithm, EveryRound) and isinstance(aggregation, GroupWeights)):
        raise Unserved(f"algorithm = {algorithm}: allowed is one that weighs groups of clients, such as flics_avg")
    kind = algorithm.round
    if not isinstance(kind.server, Plain) or kind.proximal != 0 or not kind.by_sgd:
        raise Unserved(f"algorithm = {algorithm}: allowed is SGD with a plain server, of which the statements speak")
    return algorithm, aggregation


def client_round(setting: Setting) -> ClientRound:
    """Return the round of an algorithm that weighs groups of clients.

    Raises:
        Unserved: the setting's is another one.
    """
    return _weighing(setting)[0].round


def aggregation_of(setting: Setting) -> GroupWeights:
    """The rule by which the setting's algorithm weighs groups of clients.

    Raises:
        Unserved: it does not.
    """
    return _weighing(setting)[1]


def read(setting: Setting, reading: Mapping[str, str]) -> Setting:
    """Return the setting as the reading has it; what the reading leaves open stays as the setting says."""
    algorithm, aggregation = _weighing(setting)
    kind, selection = algorithm.round, algorithm.round.selection
    if DIVISION in reading:
        aggregation = replace(aggregation, divided=reading[DIVISION] == DIVIDED)
    if isinstance(selection, VarSelection):
        selection = replace(
            selection,
            counts=reading.get(COUNTS, selection.counts),
            update=UPDATES[reading[BEGINNING]] if BEGINNING in reading else selection.update,
        )
    if (aggregation, selection) == (kind.aggregation, kind.selection):
        return setting
    changed = replace(kind, aggregation=aggregation, selection=selection)
    return replace(setting, algorithm=replace(algorithm, round=changed))


def groups_of(question: Question) -> Groups:
    """Return the groups of the question's setting; step sizes are those that it states, if it does.

    Raises:
        Unserved: the algorithm, the federation or its objective is not one of which the statements speak.
    """
    setting, stated = question.setting, question.stated
    kind, fed, aggregation = client_round(setting), setting.federation, aggregation_of(setting)
    labels, weight = aggregation.groups, aggregation.group_weight
    if not isinstance(fed, Quadratic):
        raise Unserved(f"federation = {type(fed).__name__}: exact moments need a Quadratic one")
    first = [labels.index(j) for j in range(len(weight))]
    shared = [first[j] for j in labels]
    hessians, centres = fed.exact_hessians, fed.exact_centres
    if any(np.count_nonzero(h - np.diag(h.diagonal())) for h in hessians[first]):
        raise Unserved("hessians: exact moments of a selection need diagonal ones")
    if (hessians != hessians[shared]).any() or (centres != centres[shared]).any():
        raise Unserved("federation: allowed are groups whose clients share their objective")
    if has_common_noise(fed):
        raise Unserved("noise: a selection's moments need clients whose noises are independent")
    if tuple(fed.exact_weight) != setting.algorithm.objective_weight(fed.clients):
        raise Unserved(
            "objective_weight: the federation's objective weighs clients otherwise than the algorithm's "
            "group_weight; give the federation the algorithm's objective_weight"
        )
    if kind.by_rule:
        raise Unserved("exact moments of a selection need step sizes that do not change")
    return Groups(
        weight=weight,
        curvatures=tuple(tuple(hessians[i].diagonal()) for i in first),
        centres=tuple(tuple(centres[i]) for i in first),
        start=tuple(setting.exact_start),
        gradient_noise=fed.exact_gradient_noise,
        local_steps=kind.local_steps,
        local_lr=stated.get("local_lr", kind.local_lr),
        global_lr=stated.get("global_lr", kind.server.global_lr),
    )


def selection_of(setting: Setting) -> VarSelection:
    """Return FLICS's policy in a setting.

    Raises:
        Unserved: the setting has another one.
    """
    selection = client_round(setting).selection
    if not isinstance(selection, VarSelection):
        raise Unserved(f"selection = {selection}: allowed is the policy of FLICS, as flics_avg has it")
    return selection


def states_of(setting: Setting, round: int, exact: bool) -> list[tuple[Any, Counts]]:
    """Return the law of how many clients of each group are there in a round; rounds count from 0.

    Raises:
        Unserved: the process is not one in which that is known; or, if ``exact``, in floating point only.
    """
    process, groups = setting.participation, aggregation_of(setting).groups
    number = max(groups) + 1
    if isinstance(process, GroupChain):
        _check_chain(process, groups)
        law = process.law_of(round)
        if not process.independent_rounds and sum(p > 0 for p in law) > 1:
            raise Unserved("participation = GroupChain: its rounds depend on each other; allowed are independent ones")
        return [(chance, tuple(counts)) for chance, counts in zip(law, process.counts, strict=True) if chance > 0]
    if process.deterministic:
        here = process.expected(len(groups), round)
        return [
            (
                Fraction(1),
                tuple(sum(int(n) for n, g in zip(here, groups, strict=True) if g == j) for j in range(number)),
            )
        ]
    laws = _laws(process, groups, round)
    if exact and any(isinstance(chance, float) for law in laws for chance in law):
        raise Unserved(f"participation = {type(process).__name__}: its law is known in floating point only")
    if math.prod(len(law) for law in laws) > LARGEST_STATES:
        raise Unserved(
            f"participation = {type(process).__name__}: clients can be there in more than "
            f"{LARGEST_STATES} ways in a round; simulate it"
        )
    found = (
        (math.prod(law[n] for law, n in zip(laws, counts, strict=True)), counts)
        for counts in itertools.product(*map(range, map(len, laws)))
    )
    return [(chance, counts) for chance, counts in found if chance > 0]


def going_on(setting: Setting, round: int, state: int | None, exact: bool) -> list[tuple[Any, Counts, int | None]]:
    """Return the law of ``states_of`` given the state of the round before, with the state that comes.

    A state is ``None`` before the first round, or where rounds are independent.

    Raises:
        Unserved: as ``states_of``.
    """
    process = setting.participation
    if not isinstance(process, GroupChain) or process.independent_rounds:
        return [(chance, there, None) for chance, there in states_of(setting, round, exact)]
    _check_chain(process, aggregation_of(setting).groups)
    law = process.law if state is None else process.rows[state]
    return [(chance, tuple(process.counts[z]), z) for z, chance in enumerate(law) if chance > 0]


def _check_chain(process: GroupChain, groups: Sequence[int]) -> None:
    if tuple(process.groups) != tuple(groups):
        raise Unserved("participation = GroupChain: allowed are the algorithm's own groups")


def stationary_counts(setting: Setting) -> list[tuple[Fraction, Counts]]:
    """Return the law of how many clients of each group are there in any round.

    Raises:
        Unserved: the process is no stationary ergodic chain.
    """
    process = setting.participation
    if not isinstance(process, GroupChain) or not (process.is_stationary and process.is_irreducible):
        raise Unserved(
            f"participation = {type(process).__name__}: allowed is a GroupChain that is irreducible and "
            "begins in its stationary law"
        )
    _check_chain(process, aggregation_of(setting).groups)
    return [(p, tuple(counts)) for p, counts in zip(process.law, process.counts, strict=True)]


def _laws(process: Participation, groups: Sequence[int], round: int) -> list[list[Any]]:
    """P(0), P(1), ... clients of each group, where groups are independent."""
    if isinstance(process, GroupAvailability) and tuple(process.groups) == tuple(groups):
        rows = process.chances(process.phase(round))
        return [row[: size + 1].tolist() for row, size in zip(rows, process.group_sizes, strict=True)]
    if isinstance(process, Bernoulli):
        chances = [
            [p for p, g in zip(process.probabilities, groups, strict=True) if g == j] for j in range(max(groups) + 1)
        ]
        return [count_law(own) for own in chances]
    raise Unserved(
        f"participation = {type(process).__name__}: allowed are deterministic processes, Bernoulli, and availability "
        "of the algorithm's groups; simulate others"
    )


def count_law(chances: Sequence[Any]) -> list[Any]:
    """Return P(0), P(1), ... of the number of successes in independent trials.

    >>> [str(chance) for chance in count_law([Fraction(1, 2), Fraction(1, 2)])]
    ['1/4', '1/2', '1/4']
    """
    law = [chances[0] * 0 + 1] if chances else [Fraction(1)]
    for p in chances:
        law = [stay * (1 - p) + come * p for stay, come in zip([*law, 0], [0, *law], strict=True)]
    return law


@dataclass(frozen=True)
class Settled:
    """Availability and budget in the end.

    Attributes:
        beginning: rounds until then.
        availability, budget: of the rounds that repeat for ever; one, where they stay.
    """

    beginning: int
    availability: tuple[Counts, ...]
    budget: tuple[Fraction, ...]


def settled(setting: Setting) -> Settled:
    """Return the rounds that repeat for ever.

    Raises:
        Unserved: availability is random, or ends.
    """
    process, selection = setting.participation, selection_of(setting)
    given = len(selection.budget)
    ends = (given - 1, 1) if selection.budget_after == "last" else (0, given)
    match process:
        case Fixed():
            there = 0, 1
        case Phases(cyclic=True) | Recorded(after="repeat"):
            there = 0, sum(process.lengths) if isinstance(process, Phases) else len(process.mask)
        case Phases():
            there = sum(process.lengths[:-1]), 1
        case Recorded(after="last"):
            there = len(process.mask) - 1, 1
        case _:
            raise Unserved(
                f"participation = {type(process).__name__}: the long-term participation is known where availability is "
                'deterministic and goes on for ever, as of Fixed, Phases and Recorded with after="repeat" or "last"'
            )
    beginning, period = max(ends[0], there[0]), math.lcm(ends[1], there[1])
    rounds = range(beginning, beginning + period)
    return Settled(
        beginning,
        tuple(states_of(setting, t, exact=True)[0][1] for t in rounds),
        tuple(selection.exact_budget(t) for t in rounds),
    )
