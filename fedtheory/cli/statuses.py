"""Exit statuses of all commands (docs/exit-statuses.md), and how errors become one of them."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence

from ..extras import MissingExtra, explained

YES, NO, NO_ANSWER, DEFECT, INTERRUPTED, NO_READER, TERMINATED = 0, 1, 2, 70, 130, 141, 143

STATUSES = {
    YES: "it is done, and where something is judged: yes",
    NO: "it is done, and the answer is no",
    NO_ANSWER: "there is no answer: wrong input, a file that cannot be read or "
    "written, an extra that is not installed, or "
    "nothing could be decided",
    DEFECT: "fedtheory itself failed: this is a defect",
    INTERRUPTED: "interrupted (Ctrl-C)",
    NO_READER: "nobody reads the output any more, as in `fedtheory claims | head`",
    TERMINATED: "ended by SIGTERM",
}
"""Every exit status, and what it means for all commands."""


class Terminated(BaseException):
    """SIGTERM came: what is open is closed, and what was begun is removed, on the way out."""


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's, and return its exit status; what is wrong is told in one line on
    standard error.

    >>> run(["show", "fast.thm0"])
    2
    """
    _print_anything()
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is threading.main_thread() and before == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        return _status(arguments)
    finally:
        if signal.getsignal(signal.SIGTERM) is _terminate:
            signal.signal(signal.SIGTERM, before)


def _print_anything() -> None:
    """Have names of files that are no UTF-8 printed with marks in their place, and never fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
            stream.reconfigure(errors="backslashreplace")


def _status(arguments: Sequence[str] | None) -> int:
    try:
        status = _invoked(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Terminated:
        return TERMINATED
    except BrokenPipeError:
        return _without_reader()
    except (ValueError, OSError) as error:
        return _told(error)
    except ModuleNotFoundError as error:
        told = explained(error)
        return _told(told) if isinstance(told, MissingExtra) else _defect()
    except MemoryError as error:
        return _told(ValueError(f"there is not enough memory for what was asked ({error}): allowed is less"))
    except Exception:
        return _defect()
    return status


def _defect() -> int:
    """Print the traceback of the error that is handled, which is no user's."""
    traceback.print_exc()
    print(f"fedtheory: {STATUSES[DEFECT]}; please report the lines above", file=sys.stderr)
    return DEFECT


def _invoked(arguments: Sequence[str] | None) -> int:
    """Run the application, which ends with ``SystemExit``; after a closed pipe with a status that means no."""
    from . import app

    try:
        app(args=None if arguments is None else list(arguments), prog_name="fedtheory")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else NO_ANSWER if end.code else YES
    return YES


def _told(error: Exception) -> int:
    """Say what was wrong in one line."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    print(f"fedtheory: {printable(' '.join(text.split()))}", file=sys.stderr)
    if isinstance(error, OSError):
        _drop_output()
    return NO_ANSWER


def printable(text: str) -> str:
    """The text without what moves a terminal's cursor or turns its text around: what files say is shown in messages."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def _without_reader() -> int:
    _drop_output()
    return NO_READER


def _drop_output() -> None:
    """Drop what standard output still holds, so that Python does not try it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
