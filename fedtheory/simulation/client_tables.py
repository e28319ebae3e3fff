"""Tables of what is remembered of every client, in files of a store that are mapped into memory.

A table (replicas, clients, ...) is a file. Rounds read the rows of their participants, and change them in pages that
the process has for itself. A checkpoint then writes three things, each of which is there before the next one is begun:
the segment, with the rows that have changed, as they are now; a file `before-ROUND.npz` with what they were; and these
rows in the tables. So whenever a process is killed, the tables have the rows of the checkpoint before, or some of those
of the last one, whose segment has them all; and if the last segment is removed, since it is damaged or a longer run is
asked for, they go back to the one before.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..files import Damaged, check_no_links, parsing, write_beside
from .segment import PLACES, ROWS, Segment, before_name, read_segment, sealed_segment

_BEFORE = "before-*.npz"
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""MAP_NORESERVE, which Python names from 3.13 on: Linux refuses larger mappings than its memory without it."""


class ClientTables:
    """The tables of one chunk of replicas.

    Args:
        folder: the store's.
        blank: each table before round 0, by name: 0 everywhere.
    """

    def __init__(self, folder: Path, blank: dict[str, Tensor]) -> None:
        self.folder, self.blank = folder, blank

    def begin(self) -> dict[str, Tensor]:
        """Make the tables of a new run, and return them."""
        for path in self.folder.glob(_BEFORE):
            path.unlink()
        for name, like in self.blank.items():
            path = self._path(name)
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            with open(path, "xb") as stream:
                stream.truncate(like.numel() * like.element_size())  # holes, which read as 0
                os.fsync(stream.fileno())
        return self.mapped()

    def restored(self, last: Segment) -> dict[str, Tensor]:
        """Return the tables as they were after the ``last`` segment.

        Raises:
            Damaged: a table has another size than it should have, or is of another round.
        """
        for name, like in self.blank.items():
            path, size = self._path(name), like.numel() * like.element_size()
            check_no_links(path, 1)
            found = path.stat().st_size if path.is_file() else None
            if found != size:
                raise Damaged(path, f"has {found} bytes, allowed are {size}: the table of a run's clients is damaged")
        at = int(last["next_round"])
        known = {int(path.stem.partition("-")[2]): path for path in self.folder.glob(_BEFORE)}
        reached = max(known, default=0)
        while reached > at:
            before = self._before(known.pop(reached))
            if int(before["first_round"]) < at:
                break
            self._write(before)
            self.folder.joinpath(before_name(reached)).unlink()
            reached = int(before["first_round"])
        whole = reached == int(last["first_round"]) or self.folder.joinpath(before_name(at)).exists()
        if reached not in (at, int(last["first_round"])) or not whole:
            raise Damaged(
                self.folder,
                f"clients' rows are those of round {reached}, and the last segment goes from round "
                f"{last['first_round']} to {at}: allowed is a store that has all its files, or another directory",
            )
        self.settle(last)
        return self.mapped()

    def changed(self, memory: dict[str, Tensor], places: list[Tensor]) -> Segment:
        """Return the rows of the tables that have changed, and their places: replica * clients + client."""
        which = torch.cat(places).unique() if places else torch.empty(0, dtype=torch.int64)
        return {PLACES: which.numpy()} | {
            f"{ROWS}{name}": memory[name].flatten(0, 1).index_select(0, which).numpy() for name in self.blank
        }

    def settle(self, segment: Segment) -> None:
        """Bring the rows of a segment, which has been written, into the tables."""
        after, first = int(segment["next_round"]), int(segment["first_round"])
        path = self.folder / before_name(after)
        if not path.exists():
            before = {"first_round": segment["first_round"], "next_round": segment["next_round"]}
            rows = {f"{ROWS}{name}": self._flat(name, "r")[segment[PLACES]] for name in self.blank}
            write_beside(path, sealed_segment({**before, PLACES: segment[PLACES], **rows}))
        self._write(segment)
        for older in self.folder.glob(_BEFORE):
            if older.name not in (path.name, before_name(first)):  # that of the segment before stays, as its rows do
                older.unlink()

    def mapped(self) -> dict[str, Tensor]:
        """Return the tables, mapped anew: what is changed in them stays in the process, which may map more than there
        is memory."""
        found = {}
        for name, like in self.blank.items():
            with open(self._path(name), "rb") as stream:
                kind = mmap.MAP_PRIVATE | _NO_RESERVE
                mapping = mmap.mmap(stream.fileno(), 0, kind, mmap.PROT_READ | mmap.PROT_WRITE)
            found[name] = torch.frombuffer(mapping, dtype=like.dtype).view(like.shape)
        return found

    def _write(self, segment: Segment) -> None:
        for name in self.blank:
            table = self._flat(name, "r+")
            table[segment[PLACES]] = segment[f"{ROWS}{name}"]
            table.flush()  # type: ignore[attr-defined]

    def _before(self, path: Path) -> Segment:
        """Rows as they were before a checkpoint."""
        with parsing(path, "damaged", "; allowed is a store that has all its files whole, or another directory"):
            found = read_segment(path, before_name)
            shapes = {name: (len(found[PLACES]), *like.shape[2:]) for name, like in self.blank.items()}
            if any(found[f"{ROWS}{name}"].shape != shape for name, shape in shapes.items()):
                raise ValueError("its rows are none of this run")
        return found

    def _flat(self, name: str, mode: str) -> np.ndarray:
        """A table's file, (replicas * clients, ...)."""
        like = self.blank[name]
        shape = (like.shape[0] * like.shape[1], *like.shape[2:])
        return np.memmap(self._path(name), like[:0].numpy().dtype, mode, shape=shape)  # type: ignore[call-overload,no-any-return]

    def _path(self, name: str) -> Path:
        return self.folder / f"clients-{name}.rows"
