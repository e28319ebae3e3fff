"""Units of a setting, or of several, that advance in one batch, each to the end of its own checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..files import check_no_links, json_text, locked
from .construction import setting
from .files_beside import FilesBeside
from .work_units import LOCK, Clock, OutOfTime, Unit, check_begun, note_asked, run_arguments


def advance(units: Sequence[Unit], deadline: float, progress: Callable[[int, int], None], methods: int = 1) -> None:
    """Advance those units to their last round that have come to the same one; their results are then read from there.

    Units that are alone are left.

    Args:
        units: of one file.
        deadline: in seconds since the epoch.
        progress: called with (replica-rounds done, replica-rounds in all) of what advances.
        methods: how many settings advance in one batch at most, of the same seeds, network, data and run.

    Raises:
        ValueError: the runs of a setting differ in more than in seeds and in who holds which points, or are of others
            than networks that draw minibatches; or as for a unit alone.
        OutOfTime: the deadline passed first.
    """
    if units and units[0].content["run"].get("memory_on_disk"):
        raise ValueError(f"{units[0].experiment}: memory_on_disk = true: allowed without --together")
    at: dict[tuple[str, int], list[Unit]] = {}
    for unit in sorted(units, key=lambda unit: unit.folder):
        last = int(unit.content["run"]["rounds"]) + 1
        if not unit.result_path.exists() and (come := _come_to(unit)) < last:
            at.setdefault((unit.point, come), []).append(unit)
    tables: dict[str, list[list[Unit]]] = {}
    for settings in at.values():
        tables.setdefault(shared(settings), []).append(settings)
    for table in tables.values():
        for first in range(0, len(table), methods):
            batch = table[first : first + methods]
            if sum(map(len, batch)) > 1:
                _advance(batch, deadline, progress)


def shared(units: Sequence[Unit]) -> str:
    """Return what settings, each with these units, have to share to advance in one batch."""
    content = units[0].content
    return json_text([[unit.seed for unit in units], content["federation"], content["run"]])


def _come_to(unit: Unit) -> int:
    """The round after the last checkpoint."""
    found = [path.stem.rpartition("-")[2] for path in Path(unit.folder).glob("replica-*/segment-*.npz")]
    return max(map(int, found), default=0)


def _advance(batch: Sequence[Sequence[Unit]], deadline: float, progress: Callable[[int, int], None]) -> None:
    """Advance settings with their seeds."""
    if time.time() > deadline:
        raise OutOfTime("not begun")
    units = [unit for settings in batch for unit in settings]
    with ExitStack() as stack:
        in_order = sorted(units, key=lambda unit: unit.folder)  # so that two processes do not wait for each other
        for unit in in_order:
            folder = Path(unit.folder)
            check_no_links(folder, 4)
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder / LOCK, make=True))
            check_begun(unit)
        if any(len({_come_to(unit) for unit in settings}) > 1 for settings in batch):
            return  # another process has gone on with some
        made = [
            [setting(unit.content, FilesBeside(Path(unit.experiment).parent, unit.code)) for unit in settings]
            for settings in batch
        ]
        for unit in units:
            note_asked(unit)
        clocks = [Clock(Path(unit.folder) / "time.json", deadline, 1 / len(units)) for unit in units]

        def tell(done: int, total: int) -> None:
            for clock in clocks:
                clock(done, total)
            progress(done, total)

        from ..simulation.packed_runs import simulate_table

        seeds, folders = [unit.seed for unit in batch[0]], [[unit.folder for unit in settings] for settings in batch]
        try:
            simulate_table(made, seeds, folders, progress=tell, **run_arguments(units[0].content))
        except ValueError as error:
            names = "; ".join(settings[0].point for settings in batch)
            raise ValueError(f"{units[0].experiment}, {names}, --together: {error}") from None
        for clock in clocks:
            clock.note()
