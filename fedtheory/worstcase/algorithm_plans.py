"""Plans of the algorithms for which a worst case is known."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..schedule import StepRule
from .round_plans import (
    Arbitrary,
    Cohort,
    Everyone,
    Kind,
    Participants,
    Plan,
    Round,
    ServerStep,
    Training,
    check_steps,
    mixture,
)


def plan_of(
    algorithm: Any,
    rounds: int = 1,
    *,
    clients: int | None = None,
    cohort: int | None = None,
    arbitrary_cohort: int | None = None,
) -> Plan:
    """Return the plan of an algorithm, or of rounds given as data (a ``Training``, a ``ServerStep`` or a
    ``mixture``).

    Args:
        rounds: how many; of data, how often it is repeated.
        clients: M. cohort: clients drawn uniformly in rounds whose participants the algorithm leaves to a process;
            arbitrary_cohort: or else chosen by an adversary; neither: everyone takes part. Data have their own.

    Raises:
        ValueError: a value out of bounds, or an algorithm none of whose worst cases is known: one whose clients have
            another solver than SGD, whose server or aggregation is not plain, or with snapshots that follow the run.

    >>> from fedtheory.algorithms import fedavg
    >>> plan_of(fedavg(local_lr="1/10", local_steps=2), clients=3, cohort=2).participants
    [Cohort(size=2, replacement=False)]
    >>> from fedtheory.algorithms import fast
    >>> every_third = fast(cohort=4, local_lr="1/10", snapshot_period=3)  # of all clients, so that nothing is drawn
    >>> [type(who).__name__ for who in plan_of(every_third, 4, clients=4, arbitrary_cohort=1).participants]
    ['Cohort', 'Arbitrary', 'Arbitrary', 'Cohort']
    """
    check_steps("rounds", rounds)
    if cohort is not None and arbitrary_cohort is not None:
        raise ValueError("cohort, arbitrary_cohort: give at most one of them; the algorithm's own cohort is its own")
    given = isinstance(algorithm, Training | ServerStep | Sequence) and not isinstance(algorithm, str)
    if given and (cohort is not None or arbitrary_cohort is not None):
        raise ValueError("cohort, arbitrary_cohort: allowed with rounds as data are their own ``participants``")
    who: Participants = Everyone()
    if cohort is not None:
        who = Cohort(cohort)
    elif arbitrary_cohort is not None:
        who = Arbitrary(arbitrary_cohort)
    if isinstance(algorithm, Training | ServerStep):
        return Plan((mixture((1, algorithm)),) * rounds, clients)
    if given:
        return Plan((mixture(*algorithm),) * rounds, clients)
    return Plan(tuple(_round(algorithm, r, who, clients) for r in range(rounds)), clients)


def _round(algorithm: Any, r: int, who: Participants, clients: int | None) -> Round:
    from ..algorithms import Algorithm, EveryRound

    if not isinstance(algorithm, Algorithm):
        raise ValueError(
            f"algorithm = {algorithm!r}: allowed is one of fedtheory.algorithms, or rounds of fedtheory.worstcase"
        )
    if algorithm.adaptive:
        name = type(algorithm).__name__
        raise ValueError(f"{name}: its kinds of round follow the run; allowed is with_share(q)")
    if isinstance(algorithm, EveryRound) and algorithm.weighed is not None:
        raise ValueError("objective_weight: allowed are clients that weigh the same")
    first, second = (_kind(kind.at(r), who, clients) for kind in algorithm.kinds)
    if isinstance(algorithm, EveryRound):
        return mixture((1, first))
    if algorithm.period is not None:
        return mixture((1, second if r % algorithm.period else first))
    return mixture((algorithm.share, first), (1 - algorithm.share, second))


def _kind(kind: Any, who: Participants, clients: int | None) -> Kind:
    from ..algorithms import AverageAll, ClientRound, Plain, ServerRound
    from ..algorithms.algorithm import PARTICIPANTS_MEAN
    from ..federations.local_training import PLAIN_SGD

    if isinstance(kind, ServerRound) and kind.steps != 1:
        raise ValueError(f"server_steps = {kind.steps}: allowed is 1")
    if isinstance(kind, ServerRound):
        return ServerStep(_number("server_lr", kind.server_lr))
    if not isinstance(kind, ClientRound):
        raise ValueError(f"{kind!r}: allowed are rounds of local SGD and steps of the server")
    if kind.local_solver != PLAIN_SGD or kind.selection is not None or not isinstance(kind.server, Plain):
        raise ValueError(f"{kind}: allowed are SGD, no selection and a plain server")
    if kind.uniform is not None:
        who = Cohort(kind.uniform.cohort, kind.uniform.replacement)
    scale = _number("global_lr", kind.server.global_lr)
    if isinstance(kind.aggregation, AverageAll):
        scale *= 1 if isinstance(who, Everyone) else Fraction(who.size, clients or who.size)
    elif kind.aggregation != PARTICIPANTS_MEAN:
        raise ValueError(f"{kind.aggregation}: allowed is the mean over the participants or over all clients")
    if not isinstance(kind.local_lr, tuple):
        check_steps("local_steps", kind.local_steps)
    rates = kind.local_lr if isinstance(kind.local_lr, tuple) else (kind.local_lr,) * kind.local_steps
    return Training(tuple(_number("local_lr", each) for each in rates), who, scale, Fraction(kind.proximal))


def _number(name: str, value: Any) -> Fraction:
    if isinstance(value, StepRule):
        raise ValueError(f"{name} = {value}: allowed here is a number")
    return Fraction(value)
