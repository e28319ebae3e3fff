"""The plan of a simulation, which is fixed, and its state, which changes from round to round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..algorithms import ClientRound, OwnRound, ServerRound
from ..algorithms.aggregation import Aggregation, LatestUpdates, Memory
from ..algorithms.custom_algorithm import initial_memory
from ..federations.devices import device_name, fetched, find_device, find_dtype
from ..federations.federation import ConvexFederation, ExactFederation, Federation
from ..participation import Keys
from ..provenance import Record, machine
from ..randomness import Axis, in_memory
from .observer import Observer
from .observers import resolve
from .run import STATISTICS, Row, row_names

if TYPE_CHECKING:
    from ..setting import Setting
    from .tracking import Tracking

AHEAD = 2**14
"""(replica, round) pairs of which it is drawn at once on a device whether the round is of the first kind."""
LAYOUT = 4
"""The version of draws and of a checkpoint's content. Runs of another version cannot go on here.

Until 1, which has no number in its stores, Gaussian noise was drawn in float64 whatever the precision, and local steps
were made one by one. Until 2, Gaussian noise in float32 and gradients of logistic regression were rounded otherwise.
Until 3, Gaussian noise was rounded otherwise.
"""
MEMORY_LAYOUT = 1
"""The version of what is remembered of every client's latest update: until 1, their sum was computed in every round."""
SINCE = 3
"""The layout since which runs of federations that are not convex have not changed: they have no Gaussian noise."""


@dataclass(frozen=True)
class Plan:
    """The plan that all chunks of one simulation share; its arguments are those of ``simulate``.

    Attributes:
        federation: on the simulation's device, in its precision.
        device, dtype: these.
        kinds: the algorithm's kinds of round, bound to the process that brings the participants.
        trainings: the kinds in which clients train, and which of the kinds each stands for: those that differ only in
            their cohorts train together.
    """

    setting: Setting
    rounds: int
    seed: int
    record_every: int
    observers: tuple[Observer, ...]
    federation: Federation
    device: torch.device
    dtype: torch.dtype
    kinds: tuple[ClientRound | ServerRound | OwnRound, ...]
    trainings: tuple[tuple[ClientRound, tuple[int, ...]], ...]
    pairs_at_once: int | None = None
    """How many (replica, client) pairs train together; ``None``: all."""
    chunk: int | None = None
    """How many replicas advance together; ``None``: all."""
    threads: int = 1
    mixed: bool = False
    """Whether a run is gone on with that something else has begun."""
    keep_models: int | None = None
    """The rounds from one kept model to the next; ``None``: the last alone."""
    tracking: Tracking | None = field(default=None, compare=False)
    """What is told to whom while it runs, if anything."""
    memory_on_disk: bool = False
    """Whether what is remembered of every client is in files of the store."""
    checkpoint_every: int = 1

    @classmethod
    def of(
        cls,
        setting: Setting,
        rounds: int,
        seed: int = 0,
        record_every: int = 1,
        observers: Iterable[Observer | str] | None = None,
        device: str | torch.device = "cpu",
        dtype: str | torch.dtype | None = None,
    ) -> Plan:
        """Prepare the plan: resolve the observers, place the federation, bind the kinds of round to the process.

        Raises:
            ValueError: a step size is no finite number > 0 in one of the rounds, or as ``resolve``.
        """
        setting.algorithm.check_rounds(rounds)
        fed = setting.federation
        place, precision = find_device(device), find_dtype(dtype, fed.dtype)
        kinds = tuple(
            kind.bound(setting.participation, fed.clients) if isinstance(kind, ClientRound) else kind
            for kind in setting.algorithm.kinds
        )
        trainings: dict[ClientRound, tuple[int, ...]] = {}
        for i, kind in enumerate(kinds):
            if isinstance(kind, ClientRound):
                same = replace(kind, uniform=None)
                trainings[same] = (*trainings.get(same, ()), i)
        return cls(
            setting,
            rounds,
            seed,
            record_every,
            resolve(observers, setting, record_every),
            fed.to(place, precision),
            place,
            precision,
            kinds,
            tuple(trainings.items()),
        )

    @property
    def adaptive(self) -> bool:
        """Whether the algorithm adapts its snapshot probability."""
        return self.setting.algorithm.adaptive

    def keys(self, axis: Axis, ids: Tensor) -> Keys:
        """Return the keys of these replicas' draws on an axis."""
        return Keys(self.seed, axis, ids, self.federation.clients)

    @cached_property
    def watching(self) -> tuple[Observer, ...]:
        """The observers that look at what clients did."""
        return tuple(each for each in self.observers if type(each).after_training is not Observer.after_training)

    @cached_property
    def summed(self) -> bool:
        """Whether an observer asks for the sums of exact local gradients."""
        return any(each.needs_gradients for each in self.observers)

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The names of what is remembered of every client, where it is in files."""
        names = [name for kind, _ in self.trainings for name in kind.tables] if self.memory_on_disk else []
        return tuple(dict.fromkeys(names))

    @cached_property
    def one_kind(self) -> bool:
        """Whether all rounds are of one kind."""
        return all(kind == self.kinds[0] for kind in self.kinds)

    @cached_property
    def somebody(self) -> bool:
        """Whether clients train in every round of every replica, whatever happens."""
        (kind, which), *others = self.trainings or [(None, ())]
        everywhere = not others and len(which) == len(self.kinds)
        least = self.setting.participation.sizes(self.federation.clients)[0]
        return everywhere and kind is not None and kind.selection is None and least > 0

    @property
    def where(self) -> dict[str, str]:
        """The entries of a run's record that say what ran, and where."""
        setting = self.setting
        what = (type(part).__name__ for part in (setting.federation, setting.algorithm, setting.participation))
        return {"dtype": str(self.dtype).removeprefix("torch."), "seed": str(self.seed), "setting": ", ".join(what)}

    @cached_property
    def made_by(self) -> Record:
        """Record of what the bits depend on besides the draws; it has to agree if the run is gone on with."""
        split = {"chunk": self.chunk, "pairs_at_once": self.pairs_at_once}
        return {
            **machine(device_name(self.device), self.threads),
            **self.federation.choices,
            **{name: "all" if count is None else str(count) for name, count in split.items()},
        }

    def label(self, ids: Tensor) -> dict[str, Any]:
        """Return the entries that must agree for a checkpoint to belong to this simulation."""
        kept: dict[str, Any] = {} if self.keep_models is None else {"keep_models": self.keep_models}
        if self.memory_on_disk:
            kept["memory_on_disk"] = True
        if any(isinstance(kind.aggregation, LatestUpdates) for kind, _ in self.trainings):
            kept["memory_layout"] = MEMORY_LAYOUT
        return {
            **kept,
            "layout": LAYOUT if isinstance(self.federation, ConvexFederation) else SINCE,
            "setting": self.setting.fingerprint(),
            "dtype": str(self.dtype),
            "seed": self.seed,
            "rounds": self.rounds,
            "record_every": self.record_every,
            "observers": [repr(observer) for observer in self.observers],
            "first_replica": int(ids[0]),
            "replicas": len(ids),
        }


@dataclass
class State:
    """State of a simulation: all that changes from round to round, in plain tensors, so that it can be saved."""

    ids: Tensor
    x: Tensor
    memory: Memory
    """What the algorithm's parts remember."""
    sums: dict[str, Tensor]
    least: dict[str, Tensor]
    most: dict[str, Tensor]
    current: dict[str, Tensor]
    kept: dict[str, Tensor]
    """What observers keep."""
    diverged_at: Tensor
    probability: Tensor
    """q_r of adaptive snapshots before round r, (replicas,) float64; 0 for others."""
    accuracy: Tensor
    """acc_{r-1} of adaptive snapshots before round r, (replicas,) float64; 0 for others."""
    finite: Tensor
    """Where x was finite when it was last observed, (replicas,) bool."""
    aggregations: tuple[Aggregation, ...] = ()
    """Those that remember something."""
    tables: tuple[str, ...] = ()
    """Names of what is remembered of every client, in files."""
    changed: list[Tensor] = field(default_factory=list, repr=False)
    """Where these have changed since the last checkpoint."""
    _gradient: tuple[Tensor, Tensor] | None = field(default=None, repr=False)
    """The last x at which the gradient was asked for, and the gradient; nothing changes an x in place."""
    _first: tuple[int, Tensor] | None = field(default=None, repr=False)
    """A round, and in which replicas it and those that follow are of the first kind, (rounds, replicas)."""

    @classmethod
    def initial(cls, plan: Plan, ids: Tensor) -> State:
        """Return the state before round 0 of these replicas."""
        zero = torch.zeros(len(ids), dtype=torch.float64, device=ids.device)
        each = torch.zeros(len(ids), plan.federation.clients, dtype=torch.float64, device=ids.device)
        blank = {
            name: each if name in observer.per_client else zero
            for observer in plan.observers
            for name in observer.names
        }

        def full(value: float) -> dict[str, Tensor]:
            return {name: torch.full_like(like, value) for name, like in blank.items()}

        x = plan.setting.starts(plan.seed, ids).to(plan.device, plan.dtype).clone()
        memory: Memory = {}
        kept: dict[str, Tensor] = {}
        for kind, _ in plan.trainings:
            memory |= kind.initial(x, plan.federation.clients, bool(plan.tables))
        for own in plan.kinds:
            memory |= initial_memory(own, x, plan.federation.clients) if isinstance(own, OwnRound) else {}
        for observer in plan.observers:
            kept |= observer.initial(ids)
        never = torch.full_like(ids, -1)
        statistics = full(0.0), full(torch.inf), full(-torch.inf), full(0.0)
        rules = tuple({kind.aggregation for kind, _ in plan.trainings if kind.aggregation.remembers})
        return cls(ids, x, memory, *statistics, kept, never, zero, zero, never < 0, rules, plan.tables)

    @property
    def stored_memory(self) -> Memory:
        """Return what a checkpoint keeps of the memory."""
        memory = self.memory
        for rule in self.aggregations:
            memory = rule.stored(memory)
        return memory

    def restore_memory(self, kept: Memory) -> None:
        """Put back what a checkpoint has kept of the memory."""
        for rule in self.aggregations:
            kept = rule.restored(kept)
        self.memory = kept

    def observe(self, plan: Plan, round: int) -> None:
        """Let the observers look at what is known before round r; ``sums`` run over the rounds before this one."""
        self.finite = finite = self._finite()
        finite = _finite_too(finite, list(self.kept.values()))
        plain: dict[str, Tensor] = {}
        for observer in plan.observers:
            if round % observer.every and round != plan.rounds:
                continue
            for name, value in observer.observe(plan, self, round).items():
                if (
                    not in_memory(value)
                    and value.dim() == 1
                    and value.dtype == self.current[name].dtype == torch.float64
                ):
                    plain[name] = value
                else:
                    finite = self._follow(name, value, finite)
        if plain:
            finite = self._follow_together(plain, finite)
        self.diverged_at = self._diverged(finite, round)

    def observe_rounds(self, plan: Plan, round: int, points: Tensor) -> list[tuple[int, Row]]:
        """Observe several rounds at once, and return the rows of those that are recorded.

        ``points`` (rounds, replicas, D) are the models before this round and some that follow it, in main memory. All
        observers are such as observe ``of_points``.
        """
        from ..loops.statistics import find_diverged, follow_rounds

        x = points.flatten(0, 1)
        each = replace(self, x=x, finite=_where_finite(x), _gradient=None)
        finite = each.finite.view(points.shape[:2]).clone()
        recorded = np.arange(-round % plan.record_every, len(points), plan.record_every)
        rows: list[tuple[int, Row]] = [(round + t, {}) for t in recorded.tolist()]
        for observer in plan.observers:
            for name, value in observer.observe(plan, each, round).items():
                for kind in (self.current, self.sums, self.least, self.most):
                    kind[name] = kind[name].clone()
                current, sums, least, most = (
                    kind[name].numpy() for kind in (self.current, self.sums, self.least, self.most)
                )
                found = np.empty((len(recorded), len(STATISTICS), len(self.ids)))
                numbers, good = value.view_as(finite).numpy(), finite.numpy()
                follow_rounds(numbers, current, sums, least, most, good, recorded, found)
                for (_, row), values in zip(rows, found, strict=True):
                    row |= zip(row_names([name]), values, strict=True)
        diverged = self.diverged_at.clone()
        find_diverged(finite.numpy(), round, diverged.numpy())
        self.diverged_at = diverged
        return rows

    def row(self) -> Row:
        """Return the present value of each statistic."""
        kinds = (self.current, self.sums, self.least, self.most)
        known = {
            name + statistic: kind[name]
            for name in self.sums
            for statistic, kind in zip(STATISTICS, kinds, strict=True)
        }
        return dict(zip(known, fetched(list(known.values())), strict=True))

    def _finite(self) -> Tensor:
        """Return the mask of the replicas whose x is finite, (replicas,)."""
        return _where_finite(self.x) if in_memory(self.x) else self.x.abs().amax(1) < torch.inf  # NaN is not

    def _follow(self, name: str, value: Tensor, finite: Tensor) -> Tensor:
        """Keep a value in the statistics, and return the mask of the replicas that are still finite."""
        before, self.current[name] = self.current[name], value
        known = before, self.sums[name], self.least[name], self.most[name]
        if in_memory(value) and value.dim() == 1 and value.dtype == before.dtype == torch.float64:
            from ..loops.statistics import follow

            found, finite = torch.empty(3, len(value), dtype=torch.float64), finite.clone()
            follow(*(each.numpy() for each in (value, *known, found, finite)))
            self.sums[name], self.least[name], self.most[name] = found.unbind()
            return finite
        self.sums[name] = self.sums[name] + before
        self.least[name] = torch.minimum(self.least[name], value)
        self.most[name] = torch.maximum(self.most[name], value)
        total = self.sums[name] + value
        fine = total.abs() < torch.inf if total.dim() == 1 else (total.isfinite() | total.isnan()).all(1)
        return finite & fine

    def _follow_together(self, found: dict[str, Tensor], finite: Tensor) -> Tensor:
        """The same of several numbers a replica on a device, where each operation is launched once for all of them."""
        names, values = list(found), list(found.values())

        def known(kind: dict[str, Tensor]) -> list[Tensor]:
            return [kind[name] for name in names]

        self.sums.update(zip(names, torch._foreach_add(known(self.sums), known(self.current)), strict=True))
        self.least.update(zip(names, torch._foreach_minimum(known(self.least), values), strict=True))
        self.most.update(zip(names, torch._foreach_maximum(known(self.most), values), strict=True))
        self.current.update(found)
        return _finite_too(finite, list(torch._foreach_add(known(self.sums), values)))

    def _diverged(self, finite: Tensor, round: int) -> Tensor:
        """``diverged_at``, with this round where it is the first one that is not ``finite``."""
        if not in_memory(finite):
            return torch.where(finite | (self.diverged_at >= 0), self.diverged_at, round)
        from ..loops.statistics import find_diverged

        found = self.diverged_at.clone()
        find_diverged(finite[None].numpy(), round, found.numpy())
        return found

    def gradient(self, federation: ExactFederation) -> Tensor:
        """grad F(x), (replicas, D): computed once, however many observers ask for it."""
        if self._gradient is None or self._gradient[0] is not self.x:
            self._gradient = (self.x, federation.global_gradient(self.x))
        return self._gradient[1]

    def is_first(self, plan: Plan, round: int | Tensor) -> Tensor:
        """Return in which replicas this round is of the algorithm's first kind; of several rounds, (rounds, 1), in
        rows.

        On a device it is drawn for rounds to come at once, where it does not depend on how the run goes.
        """
        ids, drawn = self.ids, plan.setting.algorithm.is_first
        if isinstance(round, Tensor) or plan.adaptive or in_memory(ids):
            return drawn(plan.keys(Axis.SNAPSHOT, ids), round, self.probability)
        begin, rows = self._first or (0, ids[:0, None])
        if not begin <= round < begin + len(rows):
            rounds = torch.arange(round, round + max(1, AHEAD // len(ids)), device=ids.device)
            begin, rows = round, drawn(plan.keys(Axis.SNAPSHOT, ids), rounds[:, None])
            self._first = begin, rows
        return rows[round - begin]


def _finite_too(finite: Tensor, values: list[Tensor]) -> Tensor:
    """Where all of these are finite too, (replicas,)."""
    if not values or in_memory(finite):
        for value in values:
            finite = finite & torch.isfinite(value)
        return finite
    return finite & (torch.stack(values).abs().amax(0) < torch.inf)  # NaN is not


def _where_finite(x: Tensor) -> Tensor:
    """Return the mask of the rows of x, in main memory, that are finite."""
    from ..loops.statistics import find_finite

    find_finite(x.numpy(), (found := torch.empty(len(x), dtype=torch.bool)).numpy())
    return found
