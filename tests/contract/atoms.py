"""The vectors of the kernel's axioms along runs of the engine, pointwise: of every replica, client and step, of clients
that do not take part too, whose draws depend on nothing but themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from fedtheory import Setting
from fedtheory.algorithms import ClientRound, OwnRound, ServerRound
from fedtheory.federations import Quadratic
from fedtheory.federations.federation import ConvexFederation, Pairs
from fedtheory.federations.local_training import PLAIN_SGD
from fedtheory.proof.kernel.forms import STEP, Atom, Entry, Product, Term
from fedtheory.proof.kernel.scalars import Scalar
from fedtheory.proof.kernel.theorems import Theorem
from fedtheory.simulation import simulate
from fedtheory.simulation.observer import Observer, Training
from fedtheory.simulation.state import Plan, State
from tests.proof.kernel.models import Exact, exact, valued

ROUNDING = 1e-10
"""Points, gradients and steps are numbers of order 1, up to some thousands, which floats compute in a few operations
each: of a sum of their products, so small a share of the largest one, or of 1, is rounding."""


@dataclass(frozen=True)
class _Watched(Observer):
    """Keeps, round by round, x and who takes part in which kind of round."""

    points: list[Tensor] = field(default_factory=list, compare=False)
    rounds: list[list[tuple[ClientRound, Tensor, Tensor]]] = field(default_factory=list, compare=False)

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        self.points.append(state.x.clone())
        self.rounds.append([])
        return {}

    def after_training(self, plan: Plan, state: State, round: int, training: Training) -> None:
        self.rounds[round].append((training.kind, training.chosen.clone(), training.counts.clone()))


@dataclass(frozen=True)
class Round:
    """One round of some replicas of a run that are of one kind.

    Attributes:
        rows: which. start, end: x before and after, (rows, D).
        counts: how often each client takes part, (rows, M).
    """

    setting: Setting
    kind: ClientRound | ServerRound
    number: int
    rows: Tensor
    start: Tensor
    end: Tensor
    counts: Tensor
    seed: int

    @property
    def _fed(self) -> ConvexFederation:
        fed = self.setting.federation
        assert isinstance(fed, ConvexFederation)
        return fed

    @property
    def steps(self) -> int:
        return self.kind.local_steps if isinstance(self.kind, ClientRound) else 1

    @cached_property
    def _pairs(self) -> Pairs:
        everyone = torch.ones(len(self.rows), self._fed.clients, dtype=torch.bool)
        return Pairs.of(everyone, self.rows, self.seed, self.number)

    def _by_pair(self, points: Tensor) -> Tensor:
        """(P, D), for points (rows or 1, M or 1, D)."""
        whole = points.expand(len(self.rows), self._fed.clients, -1)
        return whole[self._pairs.replica, self._pairs.client]

    def _back(self, values: Tensor) -> Tensor:
        """(rows, M, ...) from (P, ...)."""
        made = torch.empty(len(self.rows), self._fed.clients, *values.shape[1:], dtype=values.dtype)
        made[self._pairs.replica, self._pairs.client] = values
        return made

    def gradient(self, points: Tensor) -> Tensor:
        """grad F_i, (rows, M, D)."""
        return self._back(self._fed.exact_gradient(self._by_pair(points), self._pairs))

    def loss(self, points: Tensor) -> Tensor:
        return self._back(self._fed.loss(self._by_pair(points), self._pairs))

    @cached_property
    def paths(self) -> tuple[Tensor, Tensor, Tensor]:
        """Every client's iterates, gradients and noises, (rows, M, K + 1, D); after the last step there is no noise."""
        assert isinstance(self.kind, ClientRound)
        how, x = self.kind.training, self._by_pair(self.start[:, None])
        start, points, gradients, noises = x, [x], [], []
        for k, size in enumerate(how.sizes):
            gradient = self._fed.exact_gradient(x, self._pairs)
            stochastic = self._fed.gradient(x, self._pairs.at_step(k))
            noises.append(stochastic - gradient)
            gradients.append(gradient)
            x = x - size * how.pulled(x, start, stochastic)
            points.append(x)
        gradients.append(self._fed.exact_gradient(x, self._pairs))
        noises.append(torch.zeros_like(x))
        points, gradients, noises = (self._back(torch.stack(each, 1)) for each in (points, gradients, noises))
        return points, gradients, noises

    @cached_property
    def shares(self) -> Tensor:
        """phi, of F = sum phi_i F_i."""
        M = self._fed.clients
        return torch.tensor(
            [float(p) for p in self._fed.objective_weight or (Fraction(1, M),) * M], dtype=torch.float64
        )

    @cached_property
    def atoms(self) -> dict[str, Tensor]:
        """(rows or 1, M or 1, steps or 1, D) each, for the names of what has no step, or of families."""
        fed, optimum = self._fed, self._fed.optimum[None, None]
        x = self.start[:, None]
        found = {
            "x": x, "x*": optimum, "x+": self.end[:, None], "g_start": self.gradient(x),
            "g_opt": self.gradient(optimum), "g_centre": self.gradient(x).mean(1, keepdim=True),
        }  # fmt: skip
        if isinstance(fed, Quadratic):
            found["x_own"] = torch.as_tensor(fed.centres)[None]
        if isinstance(self.kind, ServerRound):
            moved = (self.start - self.end) / float(self.kind.server_lr)
            found["N_server"] = (moved - (self.shares[:, None] * found["g_start"]).sum(1))[:, None]
        made = {name: value[:, :, None] for name, value in found.items()}
        if isinstance(self.kind, ClientRound) and self.kind.local_solver == PLAIN_SGD:
            points, gradients, noises = self.paths
            mean = (self.shares[:, None, None] * points).sum(1, keepdim=True)
            at_mean = [self.gradient(mean[:, :, k]) for k in range(self.steps + 1)]
            made |= {"x[k]": points, "g[k]": gradients, "N[k]": noises, "x_mean[k]": mean,
                     "g_mean[k]": torch.stack(at_mean, 2)}  # fmt: skip
        return made

    # forms

    def knows(self, theorem: Theorem) -> bool:
        """Whether the round has all of a theorem's vectors."""
        points = [
            Term("", entry.point) for entry in theorem.form.entries if isinstance(entry, tuple) and len(entry) == 2
        ]
        return all(_name(term.atom) in self.atoms for term in [*theorem.form.terms, *points])

    def _term(self, term: Term, last: int) -> Tensor:
        """(rows, M or 1, last or 1, D)."""
        value = self._atom(term.atom, self.steps if "K" in term.bound else last)
        if "K" in term.bound:
            value = value.sum(2, keepdim=True)
        return self._over_clients(value, term.bound)

    def _atom(self, atom: Atom, last: int) -> Tensor:
        value = self.atoms[_name(atom)]
        if not atom.step:
            return value
        a, b, c = atom.step
        return value[:, :, [a * k + b * self.steps + c for k in range(last if a else 1)]]

    def _over_clients(self, value: Tensor, bound: str) -> Tensor:
        if "M" in bound:
            return self._mean(value, self.shares.expand(len(value), -1)) if value.shape[1] > 1 else value
        return self._mean(value, self.counts / self.counts.sum(1, keepdim=True)) if "S" in bound else value

    @staticmethod
    def _mean(value: Tensor, weights: Tensor) -> Tensor:
        return (value * weights.view(*weights.shape, *(1,) * (value.dim() - 2))).sum(1, keepdim=True)

    @cached_property
    def _known(self) -> dict[tuple[Entry, int], Tensor]:
        return {}

    def _entry(self, entry: Entry, last: int) -> Tensor:
        """(rows, M or 1, last or 1)."""
        if (entry, last) not in self._known:
            self._known[entry, last] = self._computed(entry, last)
        return self._known[entry, last]

    def _computed(self, entry: Entry, last: int) -> Tensor:
        if isinstance(entry, str):
            return torch.ones(1, 1, 1, dtype=torch.float64)
        steps = self.steps if "K" in entry.bound else last
        if isinstance(entry, Product):
            value = (self._term(entry.left, steps) * self._term(entry.right, steps)).sum(-1)
        else:
            points = self._atom(entry.point, steps)
            value = torch.stack([self.loss(points[:, :, k]) for k in range(points.shape[2])], 2)
        if "K" in entry.bound:
            value = value.sum(2, keepdim=True) if value.shape[2] > 1 else value * self.steps
        return self._over_clients(value, entry.bound)

    def least_slack(self, theorem: Theorem, constants: Mapping[str, float]) -> float:
        """The least value of the theorem's form over rows, clients and steps, or minus the largest distance from 0 of
        what is to be 0; as a share of its largest part, or of 1. It is rounding down to ``-ROUNDING``."""
        last = self.steps + (1 if theorem.path_to_the_end else 0)
        total, size = torch.zeros(1, 1, 1, dtype=torch.float64), 1.0
        for entry, c in theorem.form.entries.items():
            part = _factors(c, tuple(sorted(constants.items())), last) * self._entry(entry, last)
            total, size = total + part, max(size, float(part.abs().max()))
        return float((-total.abs() if theorem.equality else total).min()) / size


@lru_cache(maxsize=10_000)
def _factors(c: Scalar, constants: tuple[tuple[str, float], ...], last: int) -> Tensor:
    """A coefficient at the steps 0, 1, ..., (1, 1, steps)."""
    at = {name: exact(Fraction(value)) for name, value in constants if name in c.names}
    steps = range(last if STEP in c.names else 1)
    return torch.tensor([_float(valued(c, {**at, STEP: exact(k)})) for k in steps], dtype=torch.float64)[None, None]


def _float(value: Exact) -> float:
    return int(value.p) / int(value.q)


def _name(atom: Atom) -> str:
    return f"{atom.name}[k]" if atom.step else atom.name


def rounds(setting: Setting, number: int, replicas: int, seed: int) -> Iterator[Round]:
    """All rounds of runs of the engine, by kind."""
    watched, first = _Watched(), setting.algorithm.kinds[0]
    simulate(setting, replicas=replicas, rounds=number, seed=seed, observers=[watched])
    for r, kinds in enumerate(watched.rounds[:number]):
        served = torch.ones(replicas, dtype=torch.bool)
        if isinstance(first, OwnRound):  # who takes part in it, the observer is not told
            numbers, nobody = dict(first.numbers), torch.zeros(replicas, setting.federation.clients, dtype=torch.int8)
            kinds = [(ClientRound(int(numbers["local_steps"]), numbers["local_lr"]), served, nobody)]
        x, after = watched.points[r], watched.points[r + 1]
        for kind, chosen, counts in kinds:
            rows = chosen.nonzero()[:, 0]
            served = served & ~chosen
            if len(rows):
                yield Round(setting, kind, r, rows, x[rows], after[rows], counts[rows].double(), seed)
        rows = served.nonzero()[:, 0]
        server = [kind.at(r) for kind in setting.algorithm.kinds if isinstance(kind, ServerRound)]
        if server and len(rows):
            nobody = torch.zeros(len(rows), setting.federation.clients)
            yield Round(setting, server[0], r, rows, x[rows], after[rows], nobody, seed)
