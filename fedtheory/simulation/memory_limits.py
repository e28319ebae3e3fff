"""Memory limits: replicas and pairs are chunked so that a simulation keeps a stated limit."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..federations.federation import Footprint
from ..federations.local_training import LocalTraining
from .chunked_training import PREFIX
from .drawn_participants import DRAWS
from .fused_rounds import Several
from .run import STATISTICS
from .state import State

if TYPE_CHECKING:
    from .state import Plan

CHUNK_BYTES = 256 * 2**20
"""Size that what a round needs of its replicas may reach before they are split into chunks."""
LIMIT = 4 * 2**30
"""The limit, by default, of all that a simulation holds besides the federation's data: the same on every machine, since
how a run is split decides its last bits."""

_MODELS = 8  # of the size of a replica's x: before, after, aggregated, moved, and what their arithmetic needs
_UPDATES = 4  # of the size of a participant's update: it, what it is compared with, and their weighted copies
_REMEMBERED = 3  # of the size of what the algorithm remembers: before, after, and the choice between them
_KEPT = 2  # of the size of what local solvers keep of all clients, which changes in place: it, and its checkpoint
_CLIENTS = 128  # bytes of a client's draws and weights
_DRAWN = 32  # bytes of whether a client takes part in a round that is drawn ahead
_LISTED = 72  # bytes of a pair that does: who it is, where it stands, its weight
_ROWS = 2  # of the size of what is recorded: in the segments, and put together


def free_bytes(device: torch.device) -> int:
    """Return the bytes that programs may still take where the simulation runs."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return max(0, int(torch.cuda.mem_get_info(device)[0] + unused))
    return _free()


def _free() -> int:
    """Bytes of main memory that programs may still take; where the system does not say, four times ``LIMIT``."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 4 * LIMIT


@dataclass(frozen=True)
class Needs:
    """Bytes that a simulation holds besides the federation's data.

    Attributes:
        base: however much is done at once.
        pair: for each pair that trains at a time. replica: for each replica that advances at a time.
        recorded: for each replica of all.
        chunk: of what a round needs of a replica, by which replicas are split.
        most: pairs of a replica. fastest: pairs that are trained together at most.
        drawn: of who takes part, for each replica and round. ahead: so many replicas' rounds at most are drawn ahead,
            and so many rounds. several: rounds that are made in one call.
    """

    base: int
    pair: int
    replica: int
    recorded: int
    chunk: int
    most: int
    fastest: int
    drawn: int
    ahead: tuple[int, int]
    several: Several | None

    @classmethod
    def of(cls, plan: Plan, limit: int) -> Needs:
        """Predict the needs of a plan under this limit."""
        fed, clients = plan.federation, plan.federation.clients
        one = State.initial(plan, torch.zeros(1, dtype=torch.int64, device=plan.device))
        cohorts = [own.cohort for own in plan.setting.algorithm.own_cohorts]
        most = max(plan.setting.participation.sizes(clients)[1], *cohorts, 0)
        if any(observer.needs_gradients for observer in plan.observers):
            most = clients  # all train, to be looked at
        here = {name: value for name, value in one.memory.items() if name not in one.tables}
        kept = sum(value.nbytes for name, value in here.items() if name.startswith(PREFIX))
        remembered = sum(value.nbytes for value in here.values()) - kept
        rows_held = sum(_rows_held(one.memory[name], most * plan.checkpoint_every) for name in one.tables)
        parts = [fed.footprint(how, one.x, limit) for how in _trainings(plan)]
        need, size = Footprint(*map(max, zip(*parts, strict=True))), one.x.nbytes
        replica = _CLIENTS * clients + (_MODELS + _UPDATES * most) * size + _REMEMBERED * remembered
        replica += _KEPT * kept + rows_held + need.replica
        rows = plan.rounds // plan.record_every + 2
        recorded = _ROWS * rows * len(STATISTICS) * sum(value.nbytes for value in one.current.values())
        if plan.keep_models is not None:
            recorded += _ROWS * (plan.rounds // plan.keep_models + 1) * size
        chunk = 8 * clients + most * size + remembered + kept
        drawn, ahead = _DRAWN * clients + _LISTED * most, (DRAWS // clients, 0 if plan.adaptive else plan.rounds)
        return cls(need.base, need.pair, replica, recorded, chunk, most, need.together, drawn, ahead, Several.of(plan))

    def bytes(self, replicas: int, together: int, pairs: int) -> int:
        """Return the bytes for ``replicas``, with ``together`` of them advancing at once and ``pairs`` training at a
        time."""
        held = self.base + replicas * self.recorded + together * self.replica + pairs * self.pair
        return held + self.drawn_ahead(together)

    def drawn_ahead(self, together: int) -> int:
        """Bytes of who takes part in the rounds to come, and of rounds that are made in one call."""
        most, rounds = self.ahead
        return self.drawn * min(most, together * rounds) + (self.several.held(together) if self.several else 0)


def _rows_held(table: Tensor, changed: int) -> int:
    """The bytes of so many rows of a table in a file: whole pages, what they were, and the files of both."""
    row = table.nbytes // table.shape[1]
    pages = -(-row // mmap.PAGESIZE) + 1
    return min(table.shape[1], changed) * (pages * mmap.PAGESIZE + 5 * row)


def settled(plan: Plan, known: Mapping[str, str] | None) -> Plan:
    """The plan with all decided that the federation chooses; as is ``known`` of a run that is taken up again."""
    fed = plan.federation.with_choices(known or {})
    one = plan.setting.starts(plan.seed, torch.zeros(1, dtype=torch.int64)).to(plan.device, plan.dtype)
    for how in _trainings(plan):
        fed = fed.choose(how, one)
    return replace(plan, federation=fed)


def chunks(
    plan: Plan, replicas: int, limit: int | None = None, known: Mapping[str, str] | None = None
) -> tuple[int, int | None]:
    """Return the numbers of replicas that advance together, and of (replica, client) pairs that train together.

    The latter is all (``None``), or a power of two, which small differences of what was measured do not change. What
    is ``known`` of a run that is taken up again stays.

    Raises:
        ValueError: one pair of one replica, and what is recorded of all, need more than the limit; the split by the
            limit that holds by default, or the known one, needs more than is free.
    """
    needs, most = Needs.of(plan, limit or LIMIT), limit or LIMIT
    if known is not None and {"chunk", "pairs_at_once"} <= known.keys():
        together, pairs = (_count(name, known[name]) for name in ("chunk", "pairs_at_once"))
        together = min(together or replicas, replicas)
        _check_room(plan, needs.bytes(replicas, together, pairs or together * needs.most), limit, (together, pairs))
        return together, pairs
    least = needs.bytes(replicas, 1, 1)
    if least > most:
        rows = f", {replicas * needs.recorded} of them for what is recorded of {replicas} replicas"
        raise ValueError(
            f"memory_limit = {most}: one replica with one client training at a time needs "
            f"{least} bytes{rows}; allowed is at least so many"
        )
    left = most - needs.bytes(replicas, 0, 1) - needs.drawn_ahead(replicas)
    together = max(1, min(replicas, CHUNK_BYTES // needs.chunk, left // (2 * needs.replica)))
    room = (most - needs.bytes(replicas, together, 0)) // max(1, needs.pair)
    pairs = max(1, min(room, needs.fastest))
    if pairs >= together * needs.most:
        pairs = None
    else:
        pairs = 1 << (int(pairs).bit_length() - 1)
    if limit is None:
        _check_room(plan, needs.bytes(replicas, together, pairs or together * needs.most), None, None)
    return together, pairs


def _check_room(plan: Plan, held: int, limit: int | None, known: tuple[int, int | None] | None) -> None:
    """``ValueError`` if a split needs more than the limit, or than is free where none is given."""
    room = limit or free_bytes(plan.device)
    if held <= room:
        return
    has = f"memory_limit = {limit}" if limit else f"memory_limit = None, of {room} bytes that are free"
    if known is not None:
        together, pairs = known
        raise ValueError(
            f"{has}: the run goes on as it was begun, {together} replicas and {pairs or 'all'} pairs at "
            f"a time, which needs {held} bytes; allowed are so many, or another directory"
        )
    raise ValueError(
        f"{has}: a run as it is split on every machine needs {held} bytes; allowed are more, or a "
        "memory_limit (--memory-limit), by which it is split otherwise, so that its last bits "
        "may be others"
    )


def _count(name: str, text: str) -> int | None:
    """A number of a record; ``None``: all."""
    if text == "all":
        return None
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 18 and int(text) > 0):
        raise ValueError(f"{name} = {text[:40]!r} in the record of the run: allowed is an integer >= 1, or all")
    return int(text)


def _trainings(plan: Plan) -> list[LocalTraining]:
    """The ways of training in round 0; step sizes do not matter here. Of a step of one's own, plain training."""
    known = [
        LocalTraining(kind.local_steps, 0.0, float(kind.proximal), kind.local_solver) for kind, _ in plan.trainings
    ]
    return known or [LocalTraining(1, 0.0)]
