"""Algorithms whose rounds are all of one kind: FedAvg and its variants in local training and in the server's step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isinf
from typing import Any

from ..federations.local_training import PLAIN_SGD, Steps
from ..neural.local_solver import Solver
from ..quantities import check_values
from ..rationals import Number, at_least_zero, below_one, budgets, checked_count, each, option, positive, whole
from ..schedule import StepRule, StepSize, numbers, step_size
from .aggregation import (
    Aggregation,
    AverageAll,
    AverageParticipating,
    FedAUWeights,
    GroupWeights,
    ObjectiveShares,
    SampleShares,
)
from .algorithm import Algorithm, ClientRound
from .cohort_rules import GroupSelection, Selection, UniformSelection
from .server_step import Adam, Amplified, Momentum, Plain, Server

AVERAGES = {"participating": AverageParticipating(), "all": AverageAll()}
BY_OBJECTIVE, BY_SAMPLES = "weighted", "samples"


@dataclass(frozen=True)
class EveryRound(Algorithm):
    """Algorithm with one kind of round for ever."""

    round: ClientRound
    weighed: tuple[Fraction, ...] | None = None
    """The weights of the clients in the objective, where they are given."""

    @property
    def kinds(self) -> tuple[ClientRound, ClientRound]:
        return self.round, self.round

    @property
    def local_steps(self) -> Steps:
        """The local steps of a round, or those of each client."""
        return self.round.local_steps

    @property
    def local_lr(self) -> StepSize:
        """The local step size."""
        return self.round.local_lr

    @property
    def global_lr(self) -> StepSize:
        """The server's step size."""
        return self.round.server.global_lr

    @property
    def share(self) -> Fraction:
        """The share of the first kind, 0: there is none."""
        return Fraction(0)

    def with_share(self, share: Fraction) -> EveryRound:
        """Return this algorithm, since both kinds are one."""
        return self

    def trained_by(self, solver: Solver) -> EveryRound:
        return replace(self, round=replace(self.round, local_solver=solver))

    def for_federation(self, federation: Any) -> EveryRound:
        if isinstance(self.round.local_steps, tuple):
            _check_steps(self.round.local_steps, self.round.local_solver, federation)
        weights = self.round.aggregation
        if not isinstance(weights, SampleShares):
            return self
        if weights.samples is None and (sizes := getattr(federation, "sizes", None)) is not None:
            weights = SampleShares(tuple(Fraction(int(n)) for n in sizes))
        # Weights by samples belong to no objective: F is the federation's where none is given here.
        weighed = federation.objective_weight if self.weighed is None else self.weighed
        if (weights, weighed) == (self.round.aggregation, self.weighed):
            return self
        return replace(self, round=replace(self.round, aggregation=weights), weighed=weighed)

    def objective_weight(self, clients: int) -> tuple[Fraction, ...]:
        """Return the clients' weights in the objective: those that are given, else p_g / (clients of group g).

        The latter holds where groups of clients weigh p_g.
        """
        if self.weighed is not None:
            return self.weighed
        parts = self.round.selection, self.round.aggregation
        own = next((part for part in parts if isinstance(part, (GroupSelection, GroupWeights))), None)
        if own is None:
            return super().objective_weight(clients)
        shares = {g: own.group_weight[g] / count for g, count in Counter(own.groups).items()}
        return tuple(shares[g] for g in own.groups)

    def quantities(self) -> dict[str, float]:
        """The claims' quantities that the algorithm fixes; none with a proximal term, with another local solver than
        SGD, with numbers of steps that differ or with another server than ``Plain``, of which no claim speaks."""
        kind = self.round
        if not kind.trains_alike or kind.proximal != 0 or not kind.by_sgd or not isinstance(kind.server, Plain):
            return {}
        known: dict[str, float] = {"local_steps": kind.local_steps}
        known |= numbers(local_lr=kind.local_lr, global_lr=kind.server.global_lr)
        weights = kind.aggregation
        if isinstance(weights, FedAUWeights) and not isinf(weights.cutoff):
            known["cutoff"] = weights.cutoff
        return known


def every_round(
    local_lr: Number,
    local_steps: int | Sequence[int],
    server: Server,
    aggregation: Aggregation,
    proximal: Number = 0,
    selection: Selection | None = None,
) -> EveryRound:
    """Make the algorithm of these parts; step size and number of steps are checked here."""
    step = step_size("local_lr", local_lr)
    if isinstance(local_steps, Sequence) and not isinstance(local_steps, str):
        own: Steps = _steps_of_clients(local_steps, step)
        check_values(numbers(local_lr=step))
    else:
        check_values({"local_steps": local_steps, **numbers(local_lr=step)})
        own = int(local_steps)
    return EveryRound(
        ClientRound(
            own,
            step,
            proximal=at_least_zero("proximal", proximal),
            selection=selection,
            aggregation=aggregation,
            server=server,
        )
    )


def _steps_of_clients(steps: Sequence[int], local_lr: StepSize) -> tuple[int, ...]:
    """The clients' numbers of steps, each an integer >= 1."""
    if isinstance(local_lr, StepRule):
        raise ValueError(f"local_lr = {local_lr}: allowed is a number where clients make different numbers of steps")
    found = tuple(int(checked_count(f"local_steps[{i}]", k)) for i, k in enumerate(steps))
    if not found:
        raise ValueError("local_steps = []: allowed is an integer >= 1, or one for each client")
    return found


def _check_steps(steps: tuple[int, ...], solver: Solver, federation: Any) -> None:
    """Raise ``ValueError`` unless clients of this federation can make so many steps each."""
    from ..federations.federation import COMMON, ONE_SIDED
    from ..federations.quadratic import Quadratic

    if not isinstance(federation, Quadratic):
        raise ValueError(
            f"local_steps = {list(steps)}: allowed is one for each client of a Quadratic; clients of a network make "
            "different numbers of steps with its local_epochs"
        )
    if solver != PLAIN_SGD:
        raise ValueError(f"local_steps = {list(steps)}: allowed with local_solver = {solver} is one number for all")
    if len(steps) != federation.clients:
        raise ValueError(f"local_steps: {len(steps)} numbers, allowed are {federation.clients}, one for each client")
    if federation.noise in (COMMON, ONE_SIDED) and federation.gradient_noise:
        why = f"allowed with noise = {federation.noise!r} is one number for all clients"
        raise ValueError(f"local_steps = {list(steps)}: {why}")


def fedavg(
    *,
    local_lr: Number,
    local_steps: int | Sequence[int] = 1,
    global_lr: Number = 1,
    average: str = "participating",
    budget: Number | Sequence[Number] | None = None,
    objective_weight: Sequence[Number] | None = None,
    samples: Sequence[Number] | None = None,
) -> EveryRound:
    """FedAvg: whoever the participation process brings trains, and

        x_{r+1} = x_r + global_lr sum_i w_i delta_i,    delta_i the way of client i's local SGD,

    with w_i = 1/|S_r| (the mean over the participants), w_i = 1/M (over all clients, the absent ones sending 0)
    or w_i = M p_i/|S_r| (p the clients' weights in the objective sum_i p_i F_i). By samples n it is
    w_i = n_i / sum_{j in S_r} n_j. With weights p that differ, the mean is for cohorts drawn with probabilities p
    (``participation.Multinomial``), the third one for uniform ones or everyone.

    The last one is what most frameworks run. A step of it goes, in the mean, down sum_i E[w_i] F_i, where E[w_i] is in
    proportion to n_i only if everyone takes part or all n_i are equal: ``moments.implied_objective`` computes it. The
    exact error is from the optimum of the federation's F all the same.

    Args:
        local_lr: the clients' step size, in units of x^2/F: a number, or a rule in ``round_index`` and ``step_index``
            such as "2/(8 + step_index)" (see ``schedule.StepRule``); a sympy expression is one too.
        local_steps: gradient steps of a client in a round; or a list of one number for each client, of quadratic
            federations, where ``local_lr`` is a number. Clients then weigh by their steps too in what is really
            minimised (``moments.implied_objective``).
        global_lr: > 0, without units; it may be a rule in ``round_index``.
        average: "participating", "all", "weighted" or "samples".
        objective_weight: p > 0 with the sum 1, where clients weigh differently; the federation has the same.
        samples: n >= 0 with a sum > 0, for average = "samples"; ``None``: the ``objective_weight`` if it is given, else
            how many points each client of the federation holds.
        budget: at most so many of those who are there, drawn uniformly (one number > 0, or several that take turns; a
            number that is not whole is rounded at random, its mean kept); ``None``: all of them.

    Raises:
        ValueError: a value out of bounds.

    Source: McMahan et al. (2017); FedAU, section 5, for both averages; FLICS, section IV-C, for the budget; Li et al.,
    "On the Convergence of FedAvg on Non-IID Data" (2020), for weighted clients (schemes I and II).

    >>> fedavg(local_lr="1/10", average="all").round.aggregation
    AverageAll()
    >>> fedavg(local_lr="1/10", average="samples", samples=[1, 2]).round.aggregation
    SampleShares(samples=(Fraction(1, 1), Fraction(2, 1)))
    """
    option("average", average, (*AVERAGES, BY_OBJECTIVE, BY_SAMPLES))
    server, weights = Plain(global_step(global_lr)), _weights(average, objective_weight)
    kind = _kind_of_average(average, weights, samples)
    made = every_round(local_lr, local_steps, server, kind, selection=_selection(budget))
    return replace(made, weighed=weights)


def _kind_of_average(
    average: str, weights: tuple[Fraction, ...] | None, samples: Sequence[Number] | None
) -> Aggregation:
    """The rule of this name, with its numbers."""
    if average == BY_SAMPLES:
        return SampleShares(weights if samples is None else _held(samples))
    if samples is not None:
        raise ValueError(f"samples: allowed is average = {BY_SAMPLES!r}, not {average!r}")
    return ObjectiveShares(weights) if average == BY_OBJECTIVE and weights else AVERAGES[average]


def _held(samples: Sequence[Number]) -> tuple[Fraction, ...]:
    """The clients' samples; ``ValueError`` unless they are >= 0 and one is > 0."""
    held = tuple(at_least_zero(f"samples[{i}]", n) for i, n in enumerate(samples))
    if not any(held):
        raise ValueError(f"samples = {[str(n) for n in held]}: allowed are numbers >= 0, of which one is > 0")
    return held


def _weights(average: str, given: Sequence[Number] | None) -> tuple[Fraction, ...] | None:
    """The clients' weights in the objective; ``ValueError`` unless they are > 0 with the sum 1."""
    if given is None and average == BY_OBJECTIVE:
        raise ValueError("objective_weight: average = 'weighted' needs one for each client")
    weights = None if given is None else each("objective_weight", given)
    if weights is not None and (average == "all" or sum(weights) != 1):
        raise ValueError(
            f"objective_weight = {[str(p) for p in weights]}: allowed are numbers > 0 with the sum 1, and "
            "average = 'weighted' or 'participating' or 'samples'"
        )
    return weights


def fedprox(
    *, local_lr: Number, proximal: Number, local_steps: int = 1, global_lr: Number = 1, average: str = "participating"
) -> EveryRound:
    """FedProx: FedAvg whose clients minimise F_i(x) + (proximal/2) |x - x_r|^2, by local_steps gradient steps.

    Args:
        proximal: >= 0, in units of F/x^2. local_lr, local_steps, global_lr, average: as in ``fedavg``.

    Raises:
        ValueError: a value out of bounds.

    Source: Li et al., "Federated Optimization in Heterogeneous Networks" (2020), with gradient steps for its inexact
    minimisation; FAST's baseline of that name.

    >>> fedprox(local_lr="1/10", proximal=2).round.proximal
    Fraction(2, 1)
    """
    server = Plain(global_step(global_lr))
    return every_round(local_lr, local_steps, server, _average(average), proximal)


def fedavgm(
    *, local_lr: Number, momentum: Number, local_steps: int = 1, global_lr: Number = 1, average: str = "participating"
) -> EveryRound:
    """FedAvgM: FedAvg with momentum at the server,

        v_{r+1} = momentum v_r + sum_i w_i delta_i,    x_{r+1} = x_r + global_lr v_{r+1},    v_0 = 0.

    Args:
        momentum: in [0, 1). local_lr, local_steps, global_lr, average: as in ``fedavg``.

    Raises:
        ValueError: a value out of bounds.

    Source: Hsu et al. (2019); FAST's baseline of that name.

    >>> fedavgm(local_lr="1/10", momentum="9/10").round.server
    Momentum(global_lr=Fraction(1, 1), momentum=Fraction(9, 10))
    """
    server = Momentum(global_step(global_lr), below_one("momentum", momentum))
    return every_round(local_lr, local_steps, server, _average(average))


def fedadam(
    *,
    local_lr: Number,
    global_lr: Number,
    local_steps: int = 1,
    beta1: Number = "9/10",
    beta2: Number = "99/100",
    epsilon: Number = "1/1000",
    average: str = "participating",
    budget: Number | Sequence[Number] | None = None,
) -> EveryRound:
    """FedAdam: FedAvg whose server takes the aggregated update for a gradient and runs Adam; see ``server_step.Adam``.

    Args:
        global_lr, epsilon: > 0, in units of x.
        beta1, beta2: in [0, 1).
        local_lr, local_steps, average, budget: as in ``fedavg``.

    Raises:
        ValueError: a value out of bounds.

    Source: Reddi et al. (2021), Algorithm 2; FLICS's baseline of that name.

    >>> fedadam(local_lr="1/10", global_lr="1/100").round.server.beta2
    Fraction(99, 100)
    """
    server = adam(global_lr, beta1, beta2, epsilon)
    return every_round(local_lr, local_steps, server, _average(average), selection=_selection(budget))


def adam(global_lr: Number, beta1: Number, beta2: Number, epsilon: Number) -> Adam:
    """Return the server's Adam with checked numbers."""
    return Adam(
        global_step(global_lr),
        below_one("beta1", beta1),
        below_one("beta2", beta2),
        positive("epsilon", epsilon),
    )


def fedamplify(*, local_lr: Number, period: int, global_lr: Number, local_steps: int = 1) -> EveryRound:
    """Generalised FedAvg with amplified updates: plain averages of the participants' models, and after every
    ``period`` rounds the way gone since the last time is multiplied by global_lr; see ``server_step.Amplified``.

    Args:
        period: an integer >= 1; with 1 it is ``fedavg``.
        global_lr: > 0, without units. local_lr, local_steps: as in ``fedavg``.

    Raises:
        ValueError: a value out of bounds.

    Source: Wang and Ji (2022), Algorithm 1; FAST, Table 1, which gives the name FedAmplify only.

    >>> fedamplify(local_lr="1/10", period=4, global_lr=2).round.server
    Amplified(global_lr=Fraction(2, 1), period=4)
    """
    server = Amplified(global_step(global_lr), whole("period", period))
    return every_round(local_lr, local_steps, server, AverageParticipating())


def global_step(global_lr: Number) -> StepSize:
    """Check the server's step size: a number > 0, or a rule in ``round_index``."""
    step = step_size("global_lr", global_lr, within_rounds=False)
    return step if isinstance(step, StepRule) else positive("global_lr", step)


def _average(average: str) -> Aggregation:
    option("average", average, tuple(AVERAGES))
    return AVERAGES[average]


def _selection(budget: Number | Sequence[Number] | None) -> UniformSelection | None:
    return None if budget is None else UniformSelection(budgets(budget))
