"""Settings of FLICS, and rounds whose estimate is free, as examples of claims about a server's selection.

Their numbers are short and rational.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from ....algorithms import flics_avg
from ....federations import Quadratic
from ....functionals import Functional
from ....moments.evaluators import EXACT, Question, Unserved, left, quantity
from ..exact.selection_evaluators import OF_RUNS
from ..exact.policy import answer_law
from ..exact.selected import Groups
from ..exact.selected_round import LARGEST_OUTCOMES, Answering, SelectedRound
from ....participation import GroupChain, Recorded
from ....setting import Setting
from ....subjects.file_entries import Rationals

Values = Mapping[str, Any]

MOST_STATES, MOST_PRESENT = 8, 1000
"""Largest numbers of states of a process, and of clients of a group that are there in one."""


# Settings of FLICS ---------------------------------------------------------------------------------------------------


def groups_of(sizes: Sequence[int]) -> list[int]:
    """Return each client's group: so many clients of each, but at least one.

    >>> groups_of((2, 1))
    [0, 0, 1]
    """
    return [j for j, size in enumerate(sizes) for _ in range(max(size, 1))]


def federation(
    weight: Rationals, groups: Sequence[int], curvature: Fraction, centres: Rationals, gradient_noise: Fraction
) -> Quadratic:
    """Make F_j(x) = curvature (x - centre_j)^2 / 2 for the clients of group j, and F = sum_j p_j F_j."""
    phi = [weight[j] / groups.count(j) for j in groups]
    return Quadratic.common_hessian([centres[j] for j in groups], curvature, gradient_noise, objective_weight=phi)


def along_a_trace(
    weight: Rationals,
    availability: Sequence[Sequence[int]],
    budget: Rationals,
    curvature: Fraction = Fraction(1),
    centres: Rationals | None = None,
    start: Fraction = Fraction(0),
    gradient_noise: Fraction = Fraction(0),
    local_lr: Fraction = Fraction(1),
    initial_estimate: Fraction = Fraction(0),
    **options: Any,
) -> Setting:
    """Make FLICS-AVG where so many clients of each group are there in the rounds given, of which the last one stays.

    It starts from x_0 = ``start`` and s^(0) = ``initial_estimate``.
    """
    groups = groups_of([max(column) for column in zip(*availability, strict=True)])
    fed = federation(weight, groups, curvature, centres or (Fraction(0),) * len(weight), gradient_noise)
    algorithm = flics_avg(
        groups=groups,
        budget=budget,
        budget_after="last",
        local_lr=local_lr,
        group_weight=weight,
        start=initial_estimate,
        **options,
    )
    return Setting(fed, algorithm, Recorded.of_counts(availability, groups, after="last"), start=start)


def with_availability(
    process: Process,
    curvature: Fraction,
    centres: Rationals,
    start: Fraction,
    gradient_noise: Fraction,
    initial_estimate: Fraction,
    **options: Any,
) -> Setting:
    """Make FLICS-AVG where a process says how many clients of each group are there.

    It starts from x_0 = ``start`` and s^(0) = ``initial_estimate``.
    """
    fed = federation(process.weight, process.groups, curvature, centres, gradient_noise)
    algorithm = flics_avg(
        groups=process.groups, budget=process.budget, group_weight=process.weight, start=initial_estimate, **options
    )
    return Setting(fed, algorithm, process.chain, start=start)


def answers(probability: Fraction, clients: int) -> Setting:
    """Make one group, each of whose clients answers with this probability in every round."""
    return along_a_trace((Fraction(1),), [[clients]], (clients * probability,), counts="received")


# Examples ------------------------------------------------------------------------------------------------------------


class _OfSetting(ABC):
    """An example that is a setting, followed over ``rounds`` rounds."""

    rounds: int

    @property
    @abstractmethod
    def setting(self) -> Setting:
        """What is followed."""

    def fixed(self, names: Collection[str]) -> dict[str, Any]:
        """Return those of the quantities that do not depend on runs, exactly."""
        question = Question(self.setting, self.rounds, numbers=EXACT)
        return {name: quantity(name, question).value for name in names if name not in OF_RUNS}

    def told(
        self, functional: Functional, names: Collection[str], reading: Mapping[str, str], stated: Values, numbers: str
    ) -> tuple[Any, dict[str, Any]]:
        """The functional's value under a reading, and the other quantities, in numbers of the kind."""
        question = Question(self.setting, self.rounds, reading, numbers, stated)
        known = {name: quantity(name, question).value for name in names if name in OF_RUNS}
        return left(functional, question), known


@dataclass(frozen=True)
class Trace:
    """Availability and budget round by round, with the groups' weights p.

    Each round has the number of clients of each group that are there, and the budget. The last round given stays for
    ever.

    Raises:
        ValueError: a number is out of bounds.
    """

    weight: Rationals
    availability: tuple[tuple[int, ...], ...]
    budget: Rationals

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        if min(self.weight) == 0:
            raise ValueError("weight: allowed along a trace are numbers > 0")
        if not self.availability or len(self.availability) != len(self.budget):
            raise ValueError("availability, budget: allowed are as many rounds of both, at least one")
        if any(len(a) != len(self.weight) or min(a) < 0 for a in self.availability) or min(self.budget) <= 0:
            raise ValueError("availability, budget: allowed are numbers >= 0, one a group, and > 0, one a round")

    @property
    def stationary(self) -> str:
        """The reason why it is a realization of a stationary ergodic process, or ""; one that changes and then stays is
        none."""
        constant = len({*self.availability}) == 1 and len({*self.budget}) == 1
        return "by the process: the same availability and budget in every round" if constant else ""


@dataclass(frozen=True)
class Process:
    """Availability as a finite Markov chain, and a budget that allows everybody.

    Whoever is there is asked, and answers, so that planned and received counts are the same.

    Attributes:
        weight: (groups,), p > 0. counts: (states, groups), clients of each group that are there.
        initial: (states,), the law of the first round's state. transitions: (states, states); ``None``: every round's
            state is drawn anew from ``initial``.
        budget: (1,), k, at least everybody who may be there.

    Raises:
        ValueError: a number is out of bounds.
    """

    weight: Rationals
    counts: tuple[tuple[int, ...], ...]
    initial: Rationals
    transitions: tuple[Rationals, ...] | None
    budget: Rationals

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        if min(self.weight) == 0:
            raise ValueError("weight: allowed along a process are numbers > 0")
        if not 1 <= len(self.counts) <= MOST_STATES:
            raise ValueError(f"counts has {len(self.counts)} rows: allowed are 1 to {MOST_STATES} states")
        if any(len(row) != len(self.weight) or not 0 <= min(row) <= max(row) <= MOST_PRESENT for row in self.counts):
            raise ValueError(f"counts: allowed are whole numbers from 0 to {MOST_PRESENT}, one a group")
        if len(self.budget) != 1 or self.budget[0] < max(map(sum, self.counts)):
            raise ValueError(
                f"budget: allowed is one number >= {max(map(sum, self.counts))}, everybody who may be there"
            )
        _ = self.chain

    @cached_property
    def groups(self) -> list[int]:
        """The group of each client."""
        return groups_of([max(column) for column in zip(*self.counts, strict=True)])

    @cached_property
    def chain(self) -> GroupChain:
        """The participation process."""
        return GroupChain(self.groups, self.counts, self.initial, self.transitions)

    @property
    def stationary(self) -> str:
        """The reason why it is stationary and ergodic, or ""; computed from the chain."""
        chain = self.chain
        if not (chain.is_stationary and chain.is_irreducible):
            return ""
        if chain.independent_rounds:
            return "by the law of the process: every round's state is drawn anew from one law"
        return "by the law of the process: an irreducible chain that begins in its stationary law"


@dataclass(frozen=True)
class SelectionRun(_OfSetting):
    """FLICS-AVG for T rounds on F_j(x) = curvature (x - centre_j)^2 / 2.

    Attributes:
        availability: who is there. initial_estimate: beta, s^(0).
        curvature, centres, start, gradient_noise: as in ``SelectionRound``; curvature > 0.
        local_steps, rounds: K and T.
        local_lr, global_lr: eta_L and eta; ``None`` where the claim chooses them.
    """

    availability: Trace | Process
    initial_estimate: Fraction
    curvature: Fraction
    centres: Rationals
    start: Fraction
    gradient_noise: Fraction
    local_steps: int
    rounds: int
    local_lr: Fraction | None
    global_lr: Fraction | None

    def __post_init__(self) -> None:
        if len(self.centres) != len(self.availability.weight):
            raise ValueError(f"centres has {len(self.centres)} entries: allowed is one a group")
        if self.curvature <= 0 or self.gradient_noise < 0 or self.initial_estimate < 0:
            raise ValueError("curvature, gradient_noise, initial_estimate: allowed are > 0, >= 0 and >= 0")
        if self.local_lr is not None and not 0 < self.local_lr * self.curvature <= 1:
            raise ValueError(f"local_lr = {self.local_lr}: allowed is a number in (0, 1/curvature]")

    @property
    def setting(self) -> Setting:
        """The run's setting; a step size that the claim chooses is 1 there, and has to be stated.

        Equal runs have the same one, so that what was computed of it is known to all claims that they are searched for.
        """
        return _setting_of(self)

    def _setting(self) -> Setting:
        who = self.availability
        training: dict[str, Any] = {
            "curvature": self.curvature,
            "centres": self.centres,
            "start": self.start,
            "gradient_noise": self.gradient_noise,
            "local_lr": self.local_lr or Fraction(1),
            "initial_estimate": self.initial_estimate,
            "local_steps": self.local_steps,
            "global_lr": self.global_lr or Fraction(1),
        }
        if isinstance(who, Process):
            return with_availability(who, **training)
        return along_a_trace(who.weight, who.availability, who.budget, **training)


@dataclass(frozen=True)
class PolicyTrace(_OfSetting):
    """FLICS's policy along a trace, with planned counts, and the best in hindsight; after ``rounds`` rounds."""

    trace: Trace
    rounds: int

    @cached_property
    def setting(self) -> Setting:
        """The setting; its training plays no part."""
        return along_a_trace(self.trace.weight, self.trace.availability, self.trace.budget)


@lru_cache(maxsize=1024)
def _setting_of(run: SelectionRun) -> Setting:
    return run._setting()


@dataclass(frozen=True)
class Answers(_OfSetting):
    """``clients`` clients of a group, each of which answers in every one of ``rounds`` rounds, on its own, with this
    probability: s = clients * probability, and s^ is the mean number of answers a round."""

    probability: Fraction
    clients: int
    rounds: int

    @cached_property
    def setting(self) -> Setting:
        """The setting: a budget for so many answers, and everybody there."""
        return answers(self.probability, self.clients)


@dataclass(frozen=True)
class State:
    """A case that may occur in a round, with its probability.

    So many clients of each group are there, and the server asks for so many of each.
    """

    probability: Fraction
    availability: tuple[int, ...]
    rates: Rationals


@dataclass(frozen=True)
class SelectionRound:
    """F_j(x) = curvature (x - centre_j)^2 / 2 for the clients of group j, and one round from x_0 = start, as the lemmas
    have it: rates and estimate are free, which no rule relates.

    The state is drawn; then every available client answers on its own with probability rate / availability. Who answers
    makes K steps with gradients to which +-gradient_noise is added, each with probability 1/2.

    Attributes:
        weight: (M,), p_j, with sum 1. estimate: (M,), s^_j, known before the round.
        states: what may be the case.
        curvature: of every client, not 0. centres: (M,). start: x_0.
        gradient_noise, local_steps, local_lr: of the local training.

    Raises:
        ValueError: a number is out of bounds.
    """

    weight: Rationals
    estimate: Rationals
    states: tuple[State, ...]
    curvature: Fraction
    centres: Rationals
    start: Fraction
    gradient_noise: Fraction
    local_steps: int
    local_lr: Fraction

    def __post_init__(self) -> None:
        groups = len(self.weight)
        _check_weight(self.weight)
        if len(self.estimate) != groups or min(self.estimate) <= 0:
            raise ValueError(f"estimate has {len(self.estimate)} entries: allowed is a number > 0 a group")
        if len(self.centres) != groups:
            raise ValueError(f"centres has {len(self.centres)} entries: allowed is one a group")
        if not self.states or sum(s.probability for s in self.states) != 1:
            raise ValueError("states: allowed are probabilities > 0 with sum 1")
        for state in self.states:
            sizes = {len(state.availability), len(state.rates)}
            fits = sizes == {groups} and all(0 <= r <= a for r, a in zip(state.rates, state.availability, strict=True))
            if not fits or state.probability <= 0:
                raise ValueError("states: allowed are a probability > 0 and, a group, 0 <= rates <= availability")
        if sum(math.prod(a + 1 for a in state.availability) for state in self.states) > LARGEST_OUTCOMES:
            raise ValueError(f"states: allowed are at most {LARGEST_OUTCOMES} ways of answering")
        if self.curvature == 0 or self.local_lr <= 0 or self.gradient_noise < 0:
            raise ValueError("curvature, local_lr, gradient_noise: allowed are != 0, > 0 and >= 0")

    @cached_property
    def round(self) -> SelectedRound:
        """The round, in Fractions."""
        groups = Groups(
            self.weight,
            ((self.curvature,),) * len(self.weight),
            tuple((c,) for c in self.centres),
            (self.start,),
            self.gradient_noise,
            self.local_steps,
            self.local_lr,
            Fraction(1),
        )
        cases = tuple(
            Answering(
                state.probability,
                tuple(
                    tuple(answer_law("independent", rate, there))
                    for rate, there in zip(state.rates, state.availability, strict=True)
                ),
            )
            for state in self.states
        )
        return SelectedRound(groups, self.estimate, cases, EXACT)

    def fixed(self, names: Collection[str]) -> dict[str, Any]:
        """Return those of the quantities that are the same under every reading."""
        (gradients,), (gradient,) = self.round.gradients, self.round.gradient
        known = {
            "smoothness": abs(self.curvature),
            "gradient_noise": self.gradient_noise,
            "dissimilarity": max(abs(g - gradient) for g in gradients),
            "groups": Fraction(len(self.weight)),
            "weight_concentration": sum(p**2 for p in self.weight),
            "local_steps": Fraction(self.local_steps),
            "gradient_norm": abs(gradient),
        }
        return {name: known[name] for name in names if name in known}

    def told(
        self, functional: Functional, names: Collection[str], reading: Mapping[str, str], stated: Values, numbers: str
    ) -> tuple[Any, dict[str, Any]]:
        """Return the functional's value under a reading, and the other quantities.

        They are Fractions, whatever the kind, but where one of them is irrational.
        """
        value = self.round.left(functional, reading, stated)
        try:
            return value, self.round.values(names, reading)
        except Unserved:
            return value, replace(self.round, numbers=numbers).values(names, reading)


def _check_weight(weight: Rationals) -> None:
    """Refuse weights that are negative or do not sum to 1."""
    if not weight or min(weight) < 0 or sum(weight) != 1:
        raise ValueError("weight: allowed are numbers >= 0 with sum 1, one a group")
