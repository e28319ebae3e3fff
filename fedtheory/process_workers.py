"""Worker processes that end when the process that started them does, even when that one was killed."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path


def check_main_guard(what: str) -> None:
    """Refuse to start processes from a script that starts them whenever it is imported: each process imports it, and
    would start more.

    Args:
        what: the argument that asks for processes.

    Raises:
        ValueError: nothing in the script tells a process of its own from the first one.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        text = Path(script).read_text(encoding="utf-8", errors="replace") if script else "__name__"
    except OSError:
        return
    if not any(word in text for word in ("__name__", "freeze_support", "current_process", "parent_process")):
        raise ValueError(
            f"{what}: processes import the script {script}, which starts them when it is imported; "
            'allowed is one whose own work is under if __name__ == "__main__":'
        )


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
