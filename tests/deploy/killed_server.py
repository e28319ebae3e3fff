"""A server that is killed fifty times as it reads and writes its state, each time somewhere else.

    python -m tests.deploy.killed_server FOLDER RELAPSE

A child opens the server and runs rounds until it is killed: at a line of what keeps the state, or by the kernel in the
middle of a file. After each kill the server is opened here: its state and its log must be, to the byte, those of a
server that was never killed, after as many rounds. RELAPSE is "none", or what is planted (``RELAPSES``). Prints
"whole", or what is not.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from fedtheory import files
from fedtheory.algorithms import mifa
from fedtheory.deploy import Server, round_log, server

from .rounds_beside import answers, flat, opened, trace

ALGORITHM, ROUNDS = mifa(local_lr=1), 60
BY_LINE, IN_LOG, IN_STATE = 30, 10, 10
KEEPING = {module.__file__ for module in (files, round_log, server)}


def play(one: Server) -> None:
    """A round."""
    there = trace()[one.round]
    task = one.begin(str(i) for i in there.nonzero()[0])
    one.end(answers(task.clients, task.round, flat(one.model)))


class Lines:
    """Counts the lines of what keeps the state, and dies before the one with this number."""

    def __init__(self, last: int | None = None) -> None:
        self.last, self.seen = last, 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in KEEPING:
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def bytes_allowed(size: int) -> None:
    """The kernel kills who writes more than so many bytes into a file, when these are written."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def killed(folder: Path, arm: Callable[[], None]) -> None:
    """Run rounds in a child until it dies."""
    child = os.fork()
    if not child:
        arm()
        one = opened(ALGORITHM, folder)
        play(one)
        play(one)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child ended with status {os.waitstatus_to_exitcode(status)}"


def whole(folder: Path) -> list[tuple[bytes, bytes]]:
    """State and log after each number of rounds, of a server that is not killed."""
    found = []
    with opened(ALGORITHM, folder) as one:
        for _ in range(ROUNDS + 1):
            log = folder / "log.csv"
            found.append((one._content(), log.read_bytes() if log.exists() else b""))
            play(one)
    return found


def places(folder: Path) -> Iterator[Callable[[], None]]:
    """Where the child dies, in turn."""
    counted = Lines()
    for tracer in (None, counted):  # of a server that finds a state
        sys.settrace(tracer)
        with opened(ALGORITHM, folder / "counted") as one:
            play(one)
    sys.settrace(None)
    log, state = folder / "killed" / "log.csv", folder / "killed" / "state.npz"
    for i in range(BY_LINE):  # from the first line to the last one of a round, in an order that is none
        part = 7 * i % BY_LINE
        yield lambda last=1 + part * (counted.seen - 1) // (BY_LINE - 1): sys.settrace(Lines(last))  # type: ignore[misc]
    for i in range(IN_LOG):
        yield lambda i=i: bytes_allowed(log.stat().st_size + 1 + 5 * i)  # type: ignore[misc]
    for i in range(IN_STATE):
        yield lambda i=i: bytes_allowed(state.stat().st_size * (i + 9) // 20)  # type: ignore[misc]


def check(folder: Path, expected: list[tuple[bytes, bytes]], more: int = 0) -> int:
    """Open the server after a kill, and run so many rounds more; return how many it had."""
    with opened(ALGORITHM, folder) as one:
        log = folder / "log.csv"
        found = one._content(), log.read_bytes() if log.exists() else b""
        for name, here, right in zip(("state", "log"), found, expected[one.round], strict=True):
            assert here == right, f"after {one.round} rounds: another {name}"
        for _ in range(more):
            play(one)
        return one.round - more


def unsynced(self: round_log.RoundLog, rows: Any) -> None:
    """Append rows after the state that follows them."""
    content = round_log.encoded(rows) if self.length else round_log.encoded([round_log.COLUMNS, *rows])
    before, self.__dict__["waiting"] = self.__dict__.get("waiting", b""), content
    with open(self.path, "ab") as stream:
        stream.write(before)
    self.length += len(content)


RELAPSES: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "a state written in place": lambda: setattr(server, "write_beside", Path.write_bytes),
    "rows after the state": lambda: setattr(round_log.RoundLog, "append", unsynced),
    "rows of a round that the state does not know": lambda: setattr(os, "truncate", lambda path, length: None),
}


def main(folder: Path, relapse: str) -> None:
    """Kill the server at every place, and let it run to its end then."""
    expected = whole(folder / "whole")
    RELAPSES[relapse]()
    rounds, kills = 0, 0
    for arm in places(folder):
        killed(folder / "killed", arm)
        kills += 1
        more = int(kills > 10)  # the first ones are before, or in, the first round
        found = check(folder / "killed", expected, more)
        assert rounds <= found <= rounds + 1, f"{found} rounds after {rounds}"
        rounds = found + more
    assert kills == 50
    check(folder / "killed", expected, ROUNDS - rounds)
    assert check(folder / "killed", expected) == ROUNDS
    assert sorted(os.listdir(folder / "killed")) == ["lock", "log.csv", "state.npz"]


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2])
        print("whole")
    except (AssertionError, files.Damaged) as error:
        print(f"{type(error).__name__}: {error}")
