"""Algorithms for clients that take part at different, known or unknown rates: FedAU and what it is compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..rationals import Number, each, option, positive, probability
from ..weights.weight_arguments import check_cutoff
from .aggregation import MIFA, Aggregation, AverageParticipating, Constant, FedAUWeights, FedVarp, GivenWeights, Known
from .every_round import EveryRound, every_round, global_step
from .server_step import Plain

VARIANTS = {"cross_silo": MIFA(steps_when_empty=False), "cross_device": AverageParticipating()}


def fedau(*, local_lr: Number, local_steps: int = 1, global_lr: Number = 1, cutoff: float = 50) -> EveryRound:
    """FedAU: FedAvg whose weights estimate the reciprocals of the clients' participation probabilities,

        x_{r+1} = x_r + (global_lr / M) sum_{i in S_r} omega_i^r delta_i,

    omega_i^r being the mean participation interval of client i in the rounds before r; see ``FedAUWeights``.

    Args:
        local_lr: the clients' step size (gamma), in units of x^2/F.
        local_steps: gradient steps of a client in a round (I).
        global_lr: > 0, without units (eta).
        cutoff: the longest interval (K), an integer >= 1, or ``math.inf`` for none.

    Raises:
        ValueError: a value out of bounds.

    Source: FedAU, Algorithms 1 and 2; section 5 for the cutoff 50.

    >>> fedau(local_lr="1/10").quantities()["cutoff"]
    50
    """
    cutoff = check_cutoff(cutoff)
    return _with(local_lr, local_steps, global_lr, FedAUWeights(cutoff if math.isinf(cutoff) else int(cutoff)))


def known_statistics(
    *,
    local_lr: Number,
    local_steps: int = 1,
    global_lr: Number = 1,
    participation_probability: Sequence[Number] | None = None,
) -> EveryRound:
    """FedAvg with the weights 1/p_i that FedAU estimates: x_{r+1} = x_r + (global_lr / M) sum_{i in S_r} delta_i / p_i.

    Args:
        participation_probability: p, in (0, 1], one for each client; ``None``: E[N_i] of the setting's process. A
            setting refuses a process whose E[N_i] differ between rounds, or are 0.
        local_lr, local_steps, global_lr: as in ``fedau``.

    Raises:
        ValueError: a value out of bounds.

    Source: FedAU, section 5, the baseline of that name.

    >>> known_statistics(local_lr="1/10", participation_probability=["1/2", 1]).round.aggregation
    Known(participation_probability=(Fraction(1, 2), Fraction(1, 1)))
    """
    p = participation_probability
    known = Known(None if p is None else each("participation_probability", p, probability))
    return _with(local_lr, local_steps, global_lr, known)


def constant_weights(
    *, local_lr: Number, aggregation_weight: Sequence[Number], local_steps: int = 1, global_lr: Number = 1
) -> EveryRound:
    """FedAvg with fixed weights: x_{r+1} = x_r + (global_lr / M) sum_{i in S_r} omega_i delta_i.

    Args:
        aggregation_weight: omega, > 0, one for each client. local_lr, local_steps, global_lr: as in ``fedau``.

    Raises:
        ValueError: a value out of bounds.

    Source: FedAU, Theorem 1.

    >>> constant_weights(local_lr="1/10", aggregation_weight=[1, "3/2"]).round.aggregation.aggregation_weight
    (Fraction(1, 1), Fraction(3, 2))
    """
    return _with(local_lr, local_steps, global_lr, Constant(each("aggregation_weight", aggregation_weight, positive)))


def given_weights(
    *, local_lr: Number, aggregation_weight: Sequence[Sequence[Number]], local_steps: int = 1, global_lr: Number = 1
) -> EveryRound:
    """FedAvg with weights that are known beforehand and repeat: x_{r+1} = x_r + (global_lr / M) sum_{i in S_r}
    omega_i^r delta_i, with omega^r row r modulo the number of rows. One row is ``constant_weights``.

    Args:
        aggregation_weight: omega, > 0, rows of one for each client. local_lr, local_steps, global_lr: as in ``fedau``.

    Raises:
        ValueError: a value out of bounds.

    Source: FedAU, Theorem 2, for weights with a period.

    >>> given_weights(local_lr="1/10", aggregation_weight=[[1, 2], [3, "1/2"]]).round.aggregation.aggregation_weight[1]
    (Fraction(3, 1), Fraction(1, 2))
    """
    name = "aggregation_weight"
    if isinstance(aggregation_weight, str) or not hasattr(aggregation_weight, "__len__") or not len(aggregation_weight):
        raise ValueError(f"{name} = {aggregation_weight!r}: allowed is a list of rows of numbers")
    rows = tuple(each(f"{name}[{r}]", row, positive) for r, row in enumerate(aggregation_weight))
    return _with(local_lr, local_steps, global_lr, Constant(rows[0]) if len(rows) == 1 else GivenWeights(rows))


def fedvarp(
    *, local_lr: Number, local_steps: int = 1, global_lr: Number = 1, steps_when_empty: bool = False
) -> EveryRound:
    """FedVarp: the mean of all clients' latest updates, corrected by what the participants' have become,

        x_{r+1} = x_r + global_lr ((1/M) sum_j y_j + (1/|S_r|) sum_{i in S_r} (delta_i - y_i)),  then y_i = delta_i,

    with y_j = 0 before client j has come. A round without participants leaves x as it is; with ``steps_when_empty``
    it moves x by (global_lr / M) sum_j y_j, as the public code of FedAU's authors does.

    Raises:
        ValueError: a value out of bounds.

    Source: Jhunjhunwala et al. (2022), Algorithm 1; FedAU's baseline of that name.

    >>> fedvarp(local_lr="1/10").round.aggregation
    FedVarp(steps_when_empty=False)
    """
    return _with(local_lr, local_steps, global_lr, FedVarp(steps_when_empty))


def mifa(*, local_lr: Number, local_steps: int = 1, global_lr: Number = 1, steps_when_empty: bool = True) -> EveryRound:
    """MIFA: the mean of all clients' latest updates, x_{r+1} = x_r + (global_lr / M) sum_j y_j; see ``MIFA``.

    A round without participants does so too, unless ``steps_when_empty`` is false: x then stays as it is.

    Raises:
        ValueError: a value out of bounds.

    Source: Gu et al. (2021), Algorithm 1; FedAU's baseline of that name; FAST, Table 1.

    >>> mifa(local_lr="1/10", global_lr=2).round.server
    Plain(global_lr=Fraction(2, 1))
    """
    return _with(local_lr, local_steps, global_lr, MIFA(steps_when_empty))


def afl(*, local_lr: Number, local_steps: int = 1, global_lr: Number = 1, variant: str = "cross_silo") -> EveryRound:
    """Anarchic federated averaging, with its server's rule and without its workers' liberties.

    - "cross_silo" (AFA-CS): the server keeps every client's latest update and steps along the mean of all: ``mifa``,
      but that x stays in a round without participants, which theirs does not have.
    - "cross_device" (AFA-CD): it steps along the mean of the updates that have just come: ``fedavg``.

    Workers that choose their own number of local steps, or send updates of an older model, are not modelled: here all
    take ``local_steps`` steps from x_r. The original divides an update by its number of steps and by the local step
    size: its server's step size eta_AFL is global_lr local_lr local_steps here.

    Args:
        variant: "cross_silo", which is the one that FAST speaks of (a server that stores what each client sent), or
            "cross_device". local_lr, local_steps, global_lr: as in ``fedau``.

    Raises:
        ValueError: a value out of bounds.

    Source: Yang et al., "Anarchic Federated Learning" (2022); FAST, Table 1 and section 2, which describe it in words.

    >>> afl(local_lr="1/10").round.aggregation
    MIFA(steps_when_empty=False)
    """
    option("variant", variant, tuple(VARIANTS))
    return _with(local_lr, local_steps, global_lr, VARIANTS[variant])


def _with(local_lr: Number, local_steps: int, global_lr: Number, aggregation: Aggregation) -> EveryRound:
    return every_round(local_lr, local_steps, Plain(global_step(global_lr)), aggregation)
