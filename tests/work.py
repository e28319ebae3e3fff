"""What a call costs, counted: calls of functions, and bytes held at once. A count is the same on a loaded machine."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooMuch(AssertionError):
    """More was done than is allowed."""


class Work:
    """Calls that were made so far."""

    def __init__(self) -> None:
        self.calls = 0


@contextmanager
def counted(calls: int | None = None, bytes: int | None = None) -> Iterator[Work]:
    """Count the calls of functions in the block, Python's and those of C; some 10^7 of them take a second.

    Parameters:
        calls: the most that are allowed; the one after it raises.
        bytes: the most that Python's objects and numpy's arrays may hold at once, beyond what there is.

    Raises:
        TooMuch: more.
    """
    work, before = Work(), sys.getprofile()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event in ("call", "c_call"):
            work.calls += 1
            if calls is not None and work.calls > calls:
                raise TooMuch(f"more than {calls} calls of functions")

    if bytes is not None:
        tracemalloc.start()
    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(before)
        held = tracemalloc.get_traced_memory()[1] if bytes is not None else 0
        if bytes is not None:
            tracemalloc.stop()
    # Also where the one inside was caught.
    if calls is not None and work.calls > calls:
        raise TooMuch(f"more than {calls} calls of functions")
    if bytes is not None and held > bytes:
        raise TooMuch(f"{held} bytes; allowed are {bytes}")
