"""Progress of a simulation, as a line on standard error."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import TextIO

WIDTH = 30


class ProgressBar:
    """Progress bar with the share that is done and the time that is left, at the pace so far; called with (done,
    total).

    Nothing is written where the stream is no terminal, and at most ten times a second.
    """

    def __init__(self, stream: TextIO | None = None, always: bool = False) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.on = always or self.stream.isatty()
        self.begun = time.monotonic()
        self.first: int | None = None
        self.last = -1.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.first is None:  # a run that was resumed begins with what others have done
            self.first, self.begun = done, now
        if self.on and (done == total or now - self.last >= 0.1):
            self.last = now
            self.stream.write("\r" + self.line(done, total, now - self.begun) + ("\n" if done == total else ""))
            self.stream.flush()

    def line(self, done: int, total: int, seconds: float) -> str:
        """Return the line that is shown after so many seconds.

        >>> bar = ProgressBar()
        >>> bar.first = 0
        >>> bar.line(30, 120, 20.0)
        '[#######                       ]  25 %  30/120  0:01:00 left'
        """
        full = WIDTH * done // total
        new = done - (self.first or 0)
        left = "?" if new <= 0 else str(timedelta(seconds=round(seconds / new * (total - done))))
        return f"[{'#' * full}{' ' * (WIDTH - full)}] {100 * done // total:3d} %  {done}/{total}  {left} left"
