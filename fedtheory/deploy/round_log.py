"""The log of a deployed run: a row for each round and client, in a form that ``participation.read_log`` reads.

A round's rows are appended before the state that follows it is saved. A server that was killed in between finds rows of
a round that the state does not know, and cuts them off; that round is done once more.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..files import Damaged, open_regular

COLUMNS = ("round", "client", "status", "examples", "reason")
"""Columns of the log."""
RECEIVED, MISSING, FAILED, DROPPED, UNAVAILABLE = STATUSES = ("received", "missing", "failed", "dropped", "unavailable")
"""Statuses. The first says that a client took part; the others that it did not answer, failed, sent what could not be
taken, or was not there."""


class Row(NamedTuple):
    """Row of the log: see ``COLUMNS``."""

    round: int
    client: str
    status: str
    examples: float = 0
    reason: str = ""


def encoded(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows as CSV."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


class RoundLog:
    """Log in a file, of which a beginning of ``length`` bytes is known to be whole; 0: there is none yet.

    Raises:
        Damaged: it is shorter, or is another file.
    """

    def __init__(self, path: Path, length: int) -> None:
        self.path, self.length = path, length
        if length:
            head = encoded([COLUMNS])
            with open_regular(path) as stream:  # as long as it is
                size, whole = os.fstat(stream.fileno()).st_size, stream.read(len(head)) == head
                if whole and len(head) <= length <= size:
                    stream.seek(length - 1)
                    whole = stream.read(1) == b"\n"
            if not (whole and len(head) <= length <= size):
                raise Damaged(path, f"has {size} bytes: allowed is a log of at least the {length} of the state")
            if size > length:
                os.truncate(path, length)

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows at the end, and wait until they are on disk."""
        content = encoded(rows)
        if not self.length:
            content = encoded([COLUMNS]) + content
        with open(self.path, "ab" if self.length else "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        self.length += len(content)
