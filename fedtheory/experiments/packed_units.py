"""Units of one setting that advance in one batch, each to the end of its own checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..files import check_no_links, locked
from .construction import setting
from .files_beside import FilesBeside
from .work_units import Clock, OutOfTime, Unit, check_begun, note_asked, run_arguments


def advance(units: Sequence[Unit], deadline: float, progress: Callable[[int, int], None]) -> None:
    """Advance those units to their last round that have come to the same one; their results are then read from there.

    Units that are alone at their round are left.

    Args:
        units: of one setting, with a seed each.
        deadline: in seconds since the epoch.
        progress: called with (replica-rounds done, replica-rounds in all).

    Raises:
        ValueError: their runs differ in more than in seeds and in who holds which points, or are of others than
            networks that draw minibatches; or as for a unit alone.
        OutOfTime: the deadline passed first.
    """
    if units and units[0].content["run"].get("memory_on_disk"):
        raise ValueError(f"{units[0].experiment}: memory_on_disk = true: allowed without --together")
    at: dict[int, list[Unit]] = {}
    for unit in sorted(units, key=lambda unit: unit.folder):
        last = int(unit.content["run"]["rounds"]) + 1
        if not unit.result_path.exists() and (come := _come_to(unit)) < last:
            at.setdefault(come, []).append(unit)
    for batch in at.values():
        if len(batch) > 1:
            _advance(batch, deadline, progress)


def _come_to(unit: Unit) -> int:
    """The round after the last checkpoint."""
    found = [path.stem.rpartition("-")[2] for path in Path(unit.folder).glob("replica-*/segment-*.npz")]
    return max(map(int, found), default=0)


def _advance(units: Sequence[Unit], deadline: float, progress: Callable[[int, int], None]) -> None:
    if time.time() > deadline:
        raise OutOfTime("not begun")
    with ExitStack() as stack:
        for unit in units:  # in the order of their folders, so that two processes do not wait for each other
            folder = Path(unit.folder)
            check_no_links(folder, 4)
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder / "lock", make=True))
            check_begun(unit)
        if len({_come_to(unit) for unit in units}) > 1:
            return  # another process has gone on with some
        settings = []
        for unit in units:
            beside = FilesBeside(Path(unit.experiment).parent, unit.code)
            settings.append(setting(unit.content, beside))
            note_asked(unit)
        clocks = [Clock(Path(unit.folder) / "time.json", deadline, 1 / len(units)) for unit in units]

        def tell(done: int, total: int) -> None:
            for clock in clocks:
                clock(done, total)
            progress(done, total)

        from ..simulation.packed_runs import simulate_packed

        seeds, folders = [unit.seed for unit in units], [unit.folder for unit in units]
        try:
            simulate_packed(settings, seeds, folders, progress=tell, **run_arguments(units[0].content))
        except ValueError as error:
            raise ValueError(f"{units[0].experiment}, {units[0].point}, --together: {error}") from None
        for clock in clocks:
            clock.note()
