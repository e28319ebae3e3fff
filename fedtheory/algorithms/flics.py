"""FLICS and what it is compared with: clients in groups, of whom a random number is available and a few may take part.

The setting's participation process says who is available (`fedtheory.participation.UniformGroups` and others); the
algorithm selects among them. Groups weigh p_j, and FLICS minimises sum_j p_j F_j with F_j the mean of the objectives
of group j's clients. By default p_j is the group's share of the clients, so that this is the federation's own
objective F = (1/M) sum_i F_i. With other weights the minimiser is another point than the one from which a run's
distances are measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ..arguments import is_real, listed
from ..rationals import Number, at_least_zero, budgets, each, option, positive
from ..selection.inputs import WEIGHT_SUM_TOLERANCE
from ..selection.online import COUNTS, UPDATES
from .aggregation import AverageParticipating, GroupWeights
from .cohort_rules import ANSWERS, BUDGET_AFTER, NaiveSelection, VarSelection
from .every_round import EveryRound, adam, every_round
from .server_step import Plain, Server


def flics_avg(
    *,
    groups: Sequence[int],
    budget: Number | Sequence[Number],
    local_lr: Number,
    local_steps: int = 1,
    global_lr: Number = 1,
    group_weight: Sequence[Number] | None = None,
    counts: str = "planned",
    update: str = "mean",
    start: Number = 0,
    answers: str = "independent",
    divided: bool = False,
    budget_after: str = "repeat",
) -> EveryRound:
    """FLICS-Avg: in every round the rates r_j that keep sum_j p_j^2 / s^_j least, and importance weights,

        x_{t+1} = x_t + global_lr sum_{i answering} (p_g(i) / s^_g(i)(t)) delta_i.

    Args:
        groups: each client's group, numbered 0, 1, ...
        budget: k(t), how many clients may take part in a round on average: one number > 0, or several.
        budget_after: what comes after several budgets: "repeat", they take turns, or "last", the last one stays.
        local_lr, local_steps, global_lr: eta_L, T_L and eta.
        group_weight: p, > 0, one for each group, with the sum 1; ``None``: the groups' shares of the clients.
        counts, update, start: how s^ moves and from where (beta); see ``VarSelection``. The defaults are display (6),
            which the proofs need.
        answers: how rates become clients; see ``Selection``. "independent" is line 5, "drawn" Remark 4.
        divided: whether the sum is divided by the number of answers, as line 14 prints and no proof has it.

    Raises:
        ValueError: a value out of bounds, weights that do not sum to 1, or an unknown option.

    Source: FLICS, Algorithm 1, with a plain server.

    >>> flics_avg(groups=[0, 0, 1], budget=2, local_lr="1/10").round.selection.group_weight
    (Fraction(2, 3), Fraction(1, 3))
    """
    server = Plain(positive("global_lr", global_lr))
    return _flics(
        groups,
        budget,
        group_weight,
        counts,
        update,
        start,
        answers,
        divided,
        budget_after,
        local_lr,
        local_steps,
        server,
    )


def flics_adam(
    *,
    groups: Sequence[int],
    budget: Number | Sequence[Number],
    local_lr: Number,
    global_lr: Number,
    local_steps: int = 1,
    beta1: Number = "9/10",
    beta2: Number = "99/100",
    epsilon: Number = "1/1000",
    group_weight: Sequence[Number] | None = None,
    counts: str = "planned",
    update: str = "mean",
    start: Number = 0,
    answers: str = "independent",
    divided: bool = False,
    budget_after: str = "repeat",
) -> EveryRound:
    """FLICS-Adam: ``flics_avg`` whose server runs Adam on the aggregated update; see ``fedadam`` for its numbers.

    Raises:
        ValueError: as ``flics_avg`` and ``fedadam``.

    Source: FLICS, Algorithm 1 and section IV.

    >>> flics_adam(groups=[0, 1], budget=1, local_lr="1/10", global_lr="1/100").round.server.beta1
    Fraction(9, 10)
    """
    server = adam(global_lr, beta1, beta2, epsilon)
    return _flics(
        groups,
        budget,
        group_weight,
        counts,
        update,
        start,
        answers,
        divided,
        budget_after,
        local_lr,
        local_steps,
        server,
    )


def weighted_groups(
    *,
    groups: Sequence[int],
    estimate: Sequence[Number],
    local_lr: Number,
    local_steps: int = 1,
    global_lr: Number = 1,
    group_weight: Sequence[Number] | None = None,
    divided: bool = False,
) -> EveryRound:
    """FLICS's rounds with estimates that stay as they are: whoever the participation process brings answers, and

        x_{t+1} = x_t + global_lr sum_{i answering} (p_g(i) / s^_g(i)) delta_i.

    Args:
        estimate: s^, > 0, one for each group: for how many of its clients a round is to count.
        groups, local_lr, local_steps, global_lr, group_weight, divided: as in ``flics_avg``.

    Raises:
        ValueError: a value out of bounds, or weights that do not sum to 1.

    Source: FLICS, appendix C, of which Lemmas 4 to 7 speak.

    >>> weighted_groups(groups=[0, 0, 1], estimate=[1, "1/2"], local_lr="1/10").round.aggregation.estimate
    (Fraction(1, 1), Fraction(1, 2))
    """
    labels, weights = _groups(groups, group_weight)
    known = each("estimate", estimate)
    if len(known) != len(weights):
        raise ValueError(f"estimate: there are {len(known)}, allowed is one for each of {len(weights)} groups")
    server = Plain(positive("global_lr", global_lr))
    return every_round(local_lr, local_steps, server, GroupWeights(labels, weights, divided, known))


def naive(
    *,
    groups: Sequence[int],
    budget: Number | Sequence[Number],
    local_lr: Number,
    local_steps: int = 1,
    global_lr: Number = 1,
    group_weight: Sequence[Number] | None = None,
    answers: str = "drawn",
) -> EveryRound:
    """NAIVE: min(p_j k, a_j) clients of group j, of which the server averages the updates, each counting the same.

    How it aggregates the paper does not say; a plain mean is what needs no estimate, and is unbiased wherever the
    rates are p_j k.

    Args:
        answers: "drawn": that many clients, uniformly (a number that is not whole is rounded at random, its mean
            kept); "independent": each available client with probability r_j / a_j, as in FLICS.
        groups, budget, local_lr, local_steps, global_lr, group_weight: as in ``flics_avg``.

    Raises:
        ValueError: a value out of bounds, weights that do not sum to 1, or an unknown option.

    Source: FLICS, section IV-C, 2).

    >>> naive(groups=[0, 0, 1], budget=3, local_lr="1/10").round.selection.answers
    'drawn'
    """
    option("answers", answers, ANSWERS)
    selection = NaiveSelection(*_groups(groups, group_weight), budgets(budget), answers)
    server = Plain(positive("global_lr", global_lr))
    return every_round(local_lr, local_steps, server, AverageParticipating(), selection=selection)


def _flics(
    groups: Sequence[int],
    budget: Number | Sequence[Number],
    group_weight: Sequence[Number] | None,
    counts: str,
    update: str,
    start: Number,
    answers: str,
    divided: bool,
    budget_after: str,
    local_lr: Number,
    local_steps: int,
    server: Server,
) -> EveryRound:
    for name, value, allowed in (
        ("counts", counts, COUNTS),
        ("update", update, UPDATES),
        ("answers", answers, ANSWERS),
        ("budget_after", budget_after, BUDGET_AFTER),
    ):
        option(name, value, allowed)
    beta = at_least_zero("start", start)
    if update == "printed" and beta == 0:
        raise ValueError("start = 0: allowed is a number > 0 with update = 'printed', by which round 1 divides")
    labels, weights = _groups(groups, group_weight)
    selection = VarSelection(labels, weights, budgets(budget), answers, counts, update, beta, budget_after)
    aggregation = GroupWeights(labels, weights, divided)
    return every_round(local_lr, local_steps, server, aggregation, selection=selection)


def _groups(groups: Sequence[int], group_weight: Sequence[Number] | None) -> tuple[tuple[int, ...], tuple]:
    """The clients' groups and the groups' weights."""
    groups = listed("groups", groups, "a number 0, 1, ... for each client")
    labels = tuple(int(group) if is_real(group) and math.isfinite(group) else -1 for group in groups)
    if not labels or any(label != group for label, group in zip(labels, groups, strict=True)):
        raise ValueError(f"groups = {list(groups)}: allowed is a number 0, 1, ... for each client")
    number = max(labels) + 1
    if len(set(labels)) != number or min(labels) < 0:
        raise ValueError(f"groups = {list(groups)}: allowed are the numbers 0, 1, ..., each with a client at least")
    if group_weight is None:
        return labels, tuple(Fraction(labels.count(j), len(labels)) for j in range(number))
    weights = each("group_weight", group_weight)
    if len(weights) != number:
        raise ValueError(f"group_weight: there are {len(weights)}, allowed is one for each of {number} groups")
    if abs(sum(weights, Fraction(-1))) > WEIGHT_SUM_TOLERANCE:
        raise ValueError(f"group_weight sums to {float(sum(weights)):.12g}: allowed is a sum of 1")
    return labels, weights
