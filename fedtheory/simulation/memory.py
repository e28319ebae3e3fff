"""How much of a simulation is held at once: replicas and pairs are chunked so that a stated limit is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ..federations.base import Footprint
from ..federations.local import LocalTraining
from .state import State

if TYPE_CHECKING:
    from .state import Plan

CHUNK_BYTES = 256 * 2**20
"""Size that what a round needs of its replicas may reach before they are split into chunks."""
LIMIT = 4 * 2**30
"""The default limit of all that a simulation holds besides the federation's data."""

_MODELS = 8  # of the size of a replica's x: before, after, aggregated, moved, and what their arithmetic needs
_UPDATES = 4  # of the size of a participant's update: it, what it is compared with, and their weighted copies
_REMEMBERED = 3  # of the size of what the algorithm remembers: before, after, and the choice between them
_CLIENTS = 128  # bytes of a client's draws and weights


def settled(plan: Plan, known: Mapping[str, str] | None) -> Plan:
    """The plan with all decided that is chosen by measured speed; as is ``known`` of a run that is taken up again."""
    fed = plan.federation
    if known is not None:
        return replace(plan, federation=fed.with_choices(known))
    one = plan.setting.starts(plan.seed, torch.zeros(1, dtype=torch.int64)).to(plan.device, plan.dtype)
    for how in _trainings(plan):
        fed = fed.choose(how, one)
    return replace(plan, federation=fed)


def chunks(plan: Plan, replicas: int, limit: int) -> tuple[int, int | None]:
    """How many replicas advance together, and how many (replica, client) pairs train together: all (``None``), or a
    power of two, which small differences of what was measured do not change.

    Raises:
        ValueError: one pair of one replica needs more than the limit.
    """
    fed, clients = plan.federation, plan.federation.clients
    one = State.initial(plan, torch.zeros(1, dtype=torch.int64, device=plan.device))
    cohorts = [own.cohort for own in plan.setting.algorithm.own_cohorts]
    most = max(plan.setting.participation.sizes(clients)[1], *cohorts, 0)
    remembered = sum(value.nbytes for value in one.memory.values())
    parts = [fed.footprint(how, one.x, limit) for how in _trainings(plan)]
    need = Footprint(*map(max, zip(*parts, strict=True)))
    size = one.x.nbytes
    replica = _CLIENTS * clients + (_MODELS + _UPDATES * most) * size + _REMEMBERED * remembered + need.replica
    if need.base + replica + need.pair > limit:
        raise ValueError(f"memory_limit = {limit}: one replica with one client training at a time needs "
                         f"{need.base + replica + need.pair} bytes; allowed is at least so many")  # fmt: skip
    fast = CHUNK_BYTES // (8 * clients + most * size + remembered)
    together = max(1, min(replicas, fast, (limit - need.base - need.pair) // (2 * replica)))
    pairs = max(1, (limit - need.base - together * replica) // max(1, need.pair))
    return together, None if pairs >= together * most else 1 << (int(pairs).bit_length() - 1)


def _trainings(plan: Plan) -> list[LocalTraining]:
    """The ways of training in round 0; step sizes do not matter here."""
    return [LocalTraining(kind.local_steps, 0.0, float(kind.proximal), kind.local_solver) for kind, _ in plan.trainings]
