"""Worker processes that end when the process that started them does, even when that one was killed."""

from __future__ import annotations

import os
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait


def end_with_parent() -> None:
    """End this process as soon as its parent has ended, in the middle of whatever it does; to be called first in a
    worker. A worker of a pool would otherwise finish its task and wait for ever, since nobody closes its queue.

    In a process that ``multiprocessing`` did not start this does nothing.
    """
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
