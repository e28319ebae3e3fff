"""Algorithms: a few kinds of round, and a rule that says which kind a round is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import torch
from ..federations.devices import library
from ..federations.local_training import PLAIN_SGD, LocalTraining, Steps
from ..neural.local_solver import Solver
from ..participation import Keys, Participation, Uniform
from ..randomness import uniforms, words
from ..schedule import StepRule, StepSize, at_round
from .aggregation import Aggregation, AverageParticipating, GroupWeights, Known, Memory, WeightedSum
from .cohort_rules import Selection, VarSelection
from .server_step import Plain, Server

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Weights:
    """First and second moments of the weights w_i with which a round averages what its clients trained.

    The weights are w_i = v_i / divisor and add up to 1 in every round. Counts of draws N_i are the v_i of a plain
    average over a cohort: kept apart from the divisor, what cancels between them cancels exactly.

    Attributes:
        first: (clients,), E[v_i].
        second: (clients, clients), E[v_i v_j].
        divisor: the same number in every round.

    Entries are Fractions (dtype object) or floats.
    """

    first: np.ndarray
    second: np.ndarray
    divisor: int = 1

    @classmethod
    def equal(cls, clients: int) -> Weights:
        """Return the weights with which every client always counts 1/clients, in Fractions.

        >>> Weights.equal(2).first.tolist(), Weights.equal(2).divisor
        ([Fraction(1, 1), Fraction(1, 1)], 2)
        """
        first = np.full(clients, Fraction(1), dtype=object)
        return cls(first, np.outer(first, first), clients)


PARTICIPANTS_MEAN = AverageParticipating()
PLAIN = Plain()


@dataclass(frozen=True)
class ClientRound:
    """Round in which clients train and the server aggregates. For every participant i, with k = 0..local_steps - 1,

        x_{i,0} = x_r,    x_{i,k+1} = x_{i,k} - local_lr (grad F_i(x_{i,k}) + noise + proximal (x_{i,k} - x_r)),
        delta_i = x_{i,K} - x_r;

    ``aggregation`` makes one update Delta of the delta_i, and ``server`` makes x_{r+1} of x_r and Delta. By default
    x_{r+1} = sum_i w_i x_{i,K} with w_i = N_i / sum_j N_j. In a round without participants x and what the server
    remembers stay as they are, unless ``aggregation.steps_when_empty``; what the aggregation and the selection remember
    goes on.

    Attributes:
        local_steps: K; or K_i, one for each client, of quadratic federations.
        local_lr: in units of x^2/F; a rule gives every step its own size (see ``schedule``).
        uniform: the cohort that this kind of round draws for itself; ``None``: whoever the setting's participation
            process brings.
        proximal: in units of F/x^2; 0 is SGD.
        selection: whom the server takes of them; ``None``: all.
        aggregation, server: see their modules.
        local_solver: what a client does with its gradients, see ``neural.local_solver``; g there is the bracket above.
    """

    local_steps: Steps
    local_lr: StepSize
    uniform: Uniform | None = None
    proximal: Fraction = Fraction(0)
    selection: Selection | None = None
    aggregation: Aggregation = PARTICIPANTS_MEAN
    server: Server = PLAIN
    local_solver: Solver = PLAIN_SGD

    @property
    def parts(self) -> tuple[Selection | None, Aggregation, Server]:
        """The parts that may remember something."""
        return self.selection, self.aggregation, self.server

    @property
    def rules(self) -> tuple[tuple[str, StepRule, int], ...]:
        """The step sizes by rule, each with its name and how many a round takes."""
        steps = 1 if isinstance(self.local_steps, tuple) else self.local_steps  # which have no rule
        return _rules(("local_lr", self.local_lr, steps), ("global_lr", self.server.global_lr, 1))

    @cached_property
    def by_rule(self) -> bool:
        """Whether a step size changes."""
        return bool(self.rules)

    def at(self, round: int) -> ClientRound:
        """Return this kind of round with the step sizes of one round.

        ``local_lr`` is then a number, or a tuple of one for each local step.
        """
        if not self.by_rule:
            return self
        if isinstance(self.local_steps, tuple):  # whose own step size is no rule
            return replace(self, server=self.server.at(round))
        return replace(self, local_lr=at_round(self.local_lr, round, self.local_steps), server=self.server.at(round))

    @cached_property
    def training(self) -> LocalTraining:
        """The clients' local training, with the step sizes of a round (see ``at``)."""
        sizes = self.local_lr
        lr = tuple(map(float, sizes)) if isinstance(sizes, tuple) else float(sizes)  # type: ignore[arg-type]
        return LocalTraining(self.local_steps, lr, float(self.proximal), self.local_solver)

    @cached_property
    def by_counts(self) -> bool:
        """Whether the weights of a round depend on who was drawn for it alone."""
        return self.selection is None and isinstance(self.aggregation, WeightedSum) and self.aggregation.by_counts

    @property
    def trains_alike(self) -> bool:
        """Whether all clients make the same number of steps."""
        return not isinstance(self.local_steps, tuple)

    @cached_property
    def by_sgd(self) -> bool:
        """Whether clients make plain steps of SGD."""
        return self.local_solver in (PLAIN_SGD,)  # which is nearly always the same object

    @property
    def plain(self) -> bool:
        """Whether clients run SGD, equally many steps, and the server takes the mean of the participants' models."""
        return (
            self.trains_alike and self.proximal == 0 and self.by_sgd and self.parts == (None, PARTICIPANTS_MEAN, PLAIN)
        )

    def bound(self, participation: Participation, clients: int) -> ClientRound:
        """Return this kind of round with what its parts take from the process that brings its participants.

        Raises:
            ValueError: a part does not fit so many clients, or the process lacks what it needs.
        """
        process = participation if self.uniform is None else self.uniform
        if self.selection is not None:
            self.selection.check(clients)
            if isinstance(self.aggregation, Known):
                raise ValueError("aggregation = Known: allowed without a selection only, which changes who takes part")
        estimated = isinstance(self.aggregation, GroupWeights) and self.aggregation.estimate is None
        if estimated and not isinstance(self.selection, VarSelection):
            raise ValueError(f"selection = {self.selection}: allowed with GroupWeights is a VarSelection")
        aggregation = self.aggregation.bound(process, clients)
        return self if aggregation is self.aggregation else replace(self, aggregation=aggregation)

    def initial(self, x: Tensor, clients: int, tables_apart: bool) -> Memory:
        """Return the parts' memory before round 0, for the iterates x (replicas, D).

        Args:
            tables_apart: whether the ``tables`` are elsewhere: here they are one number that stands for all.
        """
        several = 1 if tables_apart else clients
        selected = {} if self.selection is None else self.selection.initial(x)
        rule = self.aggregation.initial(x, several if self.aggregation.tables else clients)
        found = selected | rule | self.server.initial(x) | self._kept(x, several)
        if tables_apart:
            for name in self.tables:
                (row,) = found[name][:1, 0].unbind()
                found[name] = row.new_zeros(()).expand(len(x), clients, *row.shape)
        return found

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The names of what is remembered of every client, 0 before its first round, and changes in a participant's row
        alone, in its place."""
        solver = self.local_solver
        own = solver.start(torch.zeros(1, 1)) if solver.keep else {}
        return (*self.aggregation.tables, *(f"local_{name}" for name in own))

    def _kept(self, x: Tensor, clients: int) -> Memory:
        """Return what the local solver keeps of every client, before round 0."""
        if not self.local_solver.keep:
            return {}
        replicas = len(x)
        own = self.local_solver.start(x.repeat_interleave(clients, 0))
        return {f"local_{name}": value.view(replicas, clients, *value.shape[1:]) for name, value in own.items()}

    def weights(self, participation: Participation, clients: int, exact: bool = False) -> Weights:
        """The moments of N_i / cohort, in Fractions if ``exact``.

        Raises:
            ValueError: Fractions are asked for and the process knows floats only; the process has no cohort, or no
                moments that are the same in every round; or the round is not ``plain``.

        >>> found = ClientRound(1, Fraction(1, 2), Uniform(2)).weights(Uniform(1), clients=4, exact=True)
        >>> found.first[0] / found.divisor, found.second[0, 1] / found.divisor**2
        (Fraction(1, 4), Fraction(1, 24))
        """
        if not self.plain:
            raise ValueError(f"{self}: allowed is a round of SGD whose models are averaged")
        process = participation if self.uniform is None else self.uniform
        inclusion = process.inclusion(clients)
        if not exact:
            inclusion = inclusion.as_floats()
        elif inclusion.first.dtype != object:
            raise ValueError(f"{type(process).__name__} knows its inclusion probabilities in floating point only")
        return Weights(inclusion.first, inclusion.second, process.cohort)


@dataclass(frozen=True)
class ServerRound:
    """Round in which the server makes steps of its own: ``steps`` times x - server_lr (grad F(x) + noise) for x."""

    server_lr: StepSize
    steps: int = 1

    @property
    def rules(self) -> tuple[tuple[str, StepRule, int], ...]:
        """The step size, where it is by rule; a round takes one size."""
        return _rules(("server_lr", self.server_lr, 1))

    @property
    def by_rule(self) -> bool:
        """Whether the step size changes."""
        return bool(self.rules)

    def at(self, round: int) -> ServerRound:
        """Return this kind of round with the step size of one round."""
        return replace(self, server_lr=at_round(self.server_lr, round))


@dataclass(frozen=True, repr=False)
class OwnRound:
    """A round of an algorithm of one's own: see ``custom_algorithm``.

    Attributes:
        step: what happens, a user's function. name: of the algorithm.
        memory: what is remembered, (name, one of ``custom_algorithm.MEMORIES``).
        numbers: what the step takes by name, Fractions or rules.
        round: which one it is, where that matters.
        digest: of what the step does.
    """

    step: Callable[..., Any]
    name: str
    memory: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[str, Any], ...] = ()
    round: int | None = None
    digest: str = ""

    @property
    def rules(self) -> tuple[tuple[str, StepRule, int], ...]:
        """The numbers by rule, each with its name and how many a round takes."""
        return _rules(*((name, value, self.local_steps) for name, value in self.numbers))

    @property
    def by_rule(self) -> bool:
        """Whether a number changes."""
        return bool(self.rules)

    @property
    def local_steps(self) -> int:
        """The steps of a round of which a number within it is one each."""
        return int(dict(self.numbers).get("local_steps", 1))

    def at(self, round: int) -> OwnRound:
        """Return this kind of round in one round."""
        return replace(self, round=round) if self.by_rule else self

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value}" for name, value in self.numbers)
        return f"OwnRound({self.name!r}, memory={dict(self.memory)}, {numbers}, step={self.digest})"


Kind = ClientRound | ServerRound


def _rules(*sizes: tuple[str, Any, int]) -> tuple[tuple[str, StepRule, int], ...]:
    return tuple((name, size, steps) for name, size, steps in sizes if isinstance(size, StepRule))


class Algorithm(ABC):
    """Algorithm of two kinds of round, and a rule that says which comes.

    The first kind comes in the rounds 0, I, 2I, ..., or with a probability in every round, independently of all else.
    Every other round is of the second kind.
    """

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, Kind]:
        """The first and the second kind of round."""

    @property
    def own_cohorts(self) -> list[Uniform]:
        """The cohorts that kinds of round draw for themselves."""
        return [kind.uniform for kind in self.kinds if isinstance(kind, ClientRound) and kind.uniform is not None]

    @property
    def period(self) -> int | None:
        """I, where the first kind comes periodically."""
        return None

    @property
    @abstractmethod
    def share(self) -> Fraction:
        """The probability, or the long-run share, of rounds of the first kind.

        Raises:
            ValueError: it is no number but a process of the run.
        """

    @abstractmethod
    def with_share(self, share: Fraction) -> Algorithm:
        """Return this algorithm with the first kind of round at this probability in every round."""

    @property
    def adaptive(self) -> bool:
        """Whether the share depends on the run."""
        return False

    def next_probability(self, probability: Tensor, accuracy_before: Tensor, accuracy: Tensor) -> Tensor:
        """Compute an adaptive algorithm's probability of the first kind in the next round.

        It follows from the last two training accuracies; all are (replicas,) float64.
        """
        raise NotImplementedError

    def is_first(self, keys: Keys, round: int | Tensor, probability: Tensor | None = None) -> Tensor:
        """Return the mask of the replicas in which this round is of the first kind, (replicas,) bool.

        Of several rounds, (rounds, 1), it has a row each. ``probability`` is that of each replica, (replicas,) float64;
        only adaptive algorithms read it.
        """
        if self.period is not None:
            of = library(keys.replica_ids)
            periodic = of.asarray(round, device=keys.replica_ids.device) % self.period == 0
            return periodic | of.zeros_like(keys.replica_ids, dtype=of.bool)
        q = probability if self.adaptive and probability is not None else float(self.share)
        return uniforms(words(keys.seed, keys.axis, keys.replica_ids, round)) < q

    @property
    def client_rounds(self) -> list[ClientRound]:
        """The kinds of round in which clients train."""
        return [kind for kind in self.kinds if isinstance(kind, ClientRound)]

    @property
    def by_rule(self) -> bool:
        """Whether a step size changes with the round or within it."""
        return any(kind.by_rule for kind in self.kinds)

    def check_rounds(self, rounds: int) -> None:
        """Raise ``ValueError`` if a step size by rule is no finite number > 0 in one of so many rounds; the first is
        named. Functions are not asked before the run.

        >>> from fedtheory.algorithms import fedavg
        >>> fedavg(local_lr="2 - round_index").check_rounds(2)
        >>> fedavg(local_lr="2 - round_index").check_rounds(3)
        Traceback (most recent call last):
        ValueError: local_lr: step size 2 - round_index is 0 at round_index = 2, step_index = 2: ...
        """
        for name, rule, steps in dict.fromkeys(each for kind in self.kinds for each in kind.rules):
            if type(rule) is StepRule:
                rule.check_rounds(name, rounds, steps)

    @property
    def plain(self) -> bool:
        """Whether clients run SGD and the server takes the mean of the participants' models, in all client rounds."""
        return all(kind.plain for kind in self.client_rounds)

    def trained_by(self, solver: Solver) -> Algorithm:
        """Return this algorithm with another solver of its clients.

        Solvers are SGD with momentum, weight decay or clipped gradients, and Adam.

        Raises:
            ValueError: its clients have a local training of their own.

        >>> from fedtheory.algorithms import fedavg
        >>> from fedtheory.neural import SGD
        >>> fedavg(local_lr="1/10").trained_by(SGD(momentum=0.9)).round.local_solver.momentum
        0.9
        """
        raise ValueError(
            f"{type(self).__name__}: another local solver is allowed with fast, safari and EveryRound only"
        )

    def check(self, clients: int, participation: Participation) -> None:
        """Raise ``ValueError`` if a kind of round cannot run on so many clients, brought by this process.

        Kinds of round must not differ in parts that remember something: whose would the memory be?
        """
        for uniform in self.own_cohorts:
            uniform.check(clients)
        for kind in self.client_rounds:
            kind.bound(participation, clients)
        used = {kind.parts for kind in self.client_rounds}
        if len(used) > 1 and any(part is not None and part.remembers for parts in used for part in parts):
            raise ValueError(f"kinds = {self.kinds}: allowed are the same parts in all of them, where parts remember")

    def objective_weight(self, clients: int) -> tuple[Fraction, ...]:
        """Return phi of the objective sum_i phi_i F_i that the algorithm is to minimise: the mean over the clients."""
        return (Fraction(1, clients),) * clients

    def for_federation(self, federation: Any) -> Algorithm:
        """Return this algorithm with what it takes from the federation, such as how many points its clients hold."""
        return self

    def number(self, name: str) -> Any:
        """Return the algorithm's number of this name as it is kept, exactly; ``None`` where it has none."""
        return getattr(self, name, None)

    @abstractmethod
    def quantities(self) -> dict[str, float]:
        """The claims' quantities that the algorithm fixes."""
