"""Runs of networks that advance in one batch: seeds of a method, and methods that share their networks.

Each run keeps its checkpoints where it would alone, and has the draws that it has alone. What a batch of more pairs
rounds otherwise, if anything, is recorded with the run as its chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from ..federations.devices import same_bits
from ..federations.network import Network
from ..federations.packed_networks import PackedNetworks
from ..loops.threads import fixed
from ..randomness import Seeds
from ..rationals import checked_count
from .checkpoint import Checkpoints
from .chunked_training import together
from .engine import going_to_the_end
from .memory_limits import chunks, settled
from .observer import Observer
from .observers import Snapshots, TrainingAccuracy
from .practice_observers import Evaluation
from .run import Row, Run
from .state import Plan, State

if TYPE_CHECKING:
    from ..setting import Setting


def simulate_packed(
    settings: Sequence[Setting], seeds: Sequence[int], directories: Sequence[str | Path | None], **options: Any
) -> list[Run]:
    """Simulate one run of each setting, with its seed, all in one batch; ``options`` are those of ``simulate_table``.

    Args:
        settings: of networks that draw minibatches, alike but for who holds which points.
        seeds: of each.
        directories: of each, for its checkpoints; ``None``: none are kept. All have come to the same round.

    Raises:
        ValueError: as ``simulate_table``.
    """
    return simulate_table([settings], seeds, [directories], **options)[0]


def simulate_table(
    methods: Sequence[Sequence[Setting]],
    seeds: Sequence[int],
    directories: Sequence[Sequence[str | Path | None]],
    *,
    rounds: int,
    replicas: int = 1,
    record_every: int | None = None,
    observers: Sequence[Observer | str] | None = None,
    checkpoint_every: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    device: str | torch.device = "auto",
    dtype: str | torch.dtype | None = None,
    keep_models: int | None = None,
    threads: int = 1,
    memory_limit: int | None = None,
    mixed: bool = False,
) -> list[list[Run]]:
    """Simulate several methods, each with all seeds; clients of all of them train in one batch, where they train alike.

    That is by as many steps of one solver, which may differ in size where they are plain. What the server does is done
    for each method apart. Other arguments are those of ``simulate``.

    Args:
        methods: for each its settings, one a seed, of networks that draw minibatches. Those of a method are alike but
            for who holds which points; those of a seed have one network and may differ in all else.
        seeds: of the settings of each method.
        directories: of each run, for its checkpoints; ``None``: none are kept. Those of a method have come to the same
            round.
        progress: called with (replica-rounds done, replica-rounds in all) of all runs.

    Raises:
        ValueError: settings that differ in more, or are not of networks that draw minibatches; observers of more than
            losses and accuracies; directories of a method that have come to different rounds; or as ``simulate``.
    """
    checked_count("rounds", rounds), checked_count("replicas", replicas)
    shape = [len(seeds)] * len(methods)
    if not shape or not len(seeds) or not [*map(len, methods)] == [*map(len, directories)] == shape:
        raise ValueError("settings, seeds, directories: allowed is one of each for every run, and a run at least")
    packed = _with_one_network([packed_setting(settings, replicas) for settings in methods])
    every, runs = record_every or max(1, rounds // 100), replicas * len(seeds)
    total, done = rounds * runs * len(methods), [0] * len(methods)

    def tell(number: int, of_method: int) -> None:
        done[number] = of_method
        if progress:
            progress(sum(done), total)

    with fixed(threads), ExitStack() as stack:
        ways, stores = [], []
        for number, (setting, settings) in enumerate(zip(packed, methods, strict=True)):
            plan = Plan.of(setting, rounds, cast(int, Seeds(tuple(seeds), replicas)), every, observers, device, dtype)
            plan = replace(plan, threads=threads, mixed=mixed, keep_models=keep_models)
            plan = replace(plan, checkpoint_every=checkpoint_every or max(1, rounds // 10))
            _check_observers(plan)
            plan = settled(plan, None)
            _, pairs = chunks(plan, runs * len(methods), memory_limit)
            plan = replace(plan, chunk=runs * len(methods), pairs_at_once=pairs)
            own = [replace(plan, setting=each, seed=seed) for each, seed in zip(settings, seeds, strict=True)]
            store = PackedCheckpoints(own, replicas)
            folders = zip(own, directories[number], strict=True)
            store.parts = [stack.enter_context(_store(each, folder, replicas)) for each, folder in folders]
            stack.enter_context(plan.federation.working()), stack.enter_context(same_bits(plan.device))
            ids = torch.arange(runs, device=plan.device)
            ways.append(going_to_the_end(plan, ids, store, partial(tell, number)))
            stores.append(store)
        return [store.load(state) for store, state in zip(stores, together(ways), strict=True)]


def _with_one_network(packed: Sequence[Setting]) -> list[Setting]:
    """The settings of several methods, with the networks of the first one, which are those of all.

    Raises:
        ValueError: they are not.
    """
    networks = cast(PackedNetworks, packed[0].federation)
    known = [each.identity() for each in networks.networks]
    for setting in packed[1:]:
        if [each.identity() for each in cast(PackedNetworks, setting.federation).networks] != known:
            raise ValueError("methods: allowed in one batch are those that share the network and the data of each seed")
    return [replace(setting, federation=networks) for setting in packed]


def packed_setting(settings: Sequence[Setting], replicas: int = 1) -> Setting:
    """Return the settings as one, whose replicas are theirs, one after another.

    Raises:
        ValueError: they differ in more than in who holds which points.
    """
    first = settings[0]
    networks = [each.federation for each in settings]
    if not all(isinstance(each, Network) and each.batch_size is not None for each in networks):
        raise ValueError("allowed in one batch are runs of networks that draw minibatches")
    parts = [(repr(each.algorithm), repr(each.participation), each.starts_at_random) for each in settings]
    starts = [None if each.starts_at_random else each.start_vector for each in settings]
    same = all(each == parts[0] for each in parts) and all(
        each is None or torch.equal(each, cast(Tensor, starts[0])) for each in starts
    )
    if not same:
        raise ValueError("allowed in one batch are runs with the same algorithm, participants and start")
    return replace(first, federation=PackedNetworks(cast("list[Network]", networks), replicas))


def _check_observers(plan: Plan) -> None:
    """Raise ``ValueError`` if something is asked of runs in one batch that only runs alone have."""
    for each in plan.observers:
        if not isinstance(each, Evaluation | TrainingAccuracy | Snapshots):
            raise ValueError(f"observer {each}: allowed of runs in one batch are Evaluation and training accuracies")
    if plan.tables:
        raise ValueError("memory on disk: allowed for runs alone, not in one batch")


def _store(plan: Plan, directory: str | Path | None, replicas: int) -> Any:
    """Open the checkpoints of one run."""
    if directory is None:
        return nullcontext(Checkpoints(None, plan.checkpoint_every, [plan.made_by]))
    label = plan.label(torch.arange(replicas))
    return Checkpoints.open(directory, label, plan.checkpoint_every, plan.made_by, plan.mixed)


class PackedCheckpoints:
    """Checkpoints of several runs, each with its part of the state."""

    parts: list[Checkpoints]

    def __init__(self, plans: Sequence[Plan], replicas: int) -> None:
        self.plans, self.replicas = plans, replicas

    def _spans(self) -> Iterator[slice]:
        for first in range(0, self.replicas * len(self.plans), self.replicas):
            yield slice(first, first + self.replicas)

    def _states(self, state: State) -> list[State]:
        """The state of each run."""
        return [_part(state, span) for span in self._spans()]

    def restore(self, plan: Plan, state: State) -> int:
        """Put the last segments' state back; the round to go on with.

        Raises:
            ValueError: the runs have come to different rounds.
        """
        own = self._states(state)
        begun = [store.restore(each, mine) for store, each, mine in zip(self.parts, self.plans, own, strict=True)]
        if len({*begun}) > 1:
            raise ValueError(f"runs in one batch have come to rounds {sorted({*begun})}: allowed is one")
        _join(state, own)
        return begun[0]

    @property
    def spacing(self) -> int | None:
        """The rounds from one checkpoint to the next; ``None`` if none are kept."""
        return self.parts[0].spacing

    def record(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Keep rows of every statistic, each with its round."""
        for round, row in rows:
            for store, span in zip(self.parts, self._spans(), strict=True):
                store.record([(round, {name: values[span] for name, values in row.items()})])

    def rows(self, names: Iterable[str]) -> Iterator[tuple[int, Row]]:
        """Yield nothing: nobody is told of runs in one batch while they run."""
        return iter(())

    def record_models(self, round: int, state: State) -> None:
        """Keep the models before this round."""
        for store, own in zip(self.parts, self._states(state), strict=True):
            store.record_models(round, own)

    def remember(self, state: State) -> None:
        """Keep the state before the last round is observed."""
        for store, own in zip(self.parts, self._states(state), strict=True):
            store.remember(own)

    def maybe_save(self, next_round: int, state: State) -> None:
        """Save the state of each run, if a checkpoint is due before this round."""
        if self.spacing is not None and next_round % self.spacing == 0:
            for store, own in zip(self.parts, self._states(state), strict=True):
                store.maybe_save(next_round, own)

    def finish(self, rounds: int, state: State) -> None:
        """Write the rows that are left."""
        for store, own in zip(self.parts, self._states(state), strict=True):
            store.finish(rounds, own)

    def load(self, state: State) -> list[Run]:
        """Return all segments of each run."""
        own = self._states(state)
        return [store.load(each, mine) for store, each, mine in zip(self.parts, self.plans, own, strict=True)]


_DICTS = ("memory", "sums", "least", "most", "current", "kept")


def _part(state: State, span: slice) -> State:
    """The state of some replicas."""
    tensors: dict[str, Any] = {
        each.name: value[span] for each in fields(state) if isinstance(value := getattr(state, each.name), Tensor)
    }
    dicts: dict[str, Any] = {name: {key: value[span] for key, value in getattr(state, name).items()} for name in _DICTS}
    return replace(state, **tensors, **dicts, changed=[], _gradient=None, _first=None)


def _join(state: State, parts: Sequence[State]) -> None:
    """Put the state of all replicas together again."""
    for each in fields(state):
        if isinstance(getattr(state, each.name), Tensor):
            setattr(state, each.name, torch.cat([getattr(part, each.name) for part in parts]))
    for name in _DICTS:
        known = getattr(parts[0], name)
        setattr(state, name, {key: torch.cat([getattr(part, name)[key] for part in parts]) for key in known})
