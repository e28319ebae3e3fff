"""A command in a process that kills itself: in the middle of a write, or at a moment.

Arguments: "write" and a number, to die in the so-manyth write or renaming; "moment" and seconds, after which to die; or
"never" and 0, to say on standard error how many writes there were. Then "command", and what follows `fedtheory`; or
"verify", a folder and claims, which are verified as by the command, but alone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Writes:
    """Writes and renamings, of which the one with this number is the last thing that the process does.

    A file is then not whole, and not renamed.
    """

    def __init__(self, last: int) -> None:
        self.last, self.seen = last, 0
        os.fsync = self.around(os.fsync, lambda descriptor: os.ftruncate(descriptor, 10))
        os.replace = self.around(os.replace, lambda *paths: None)  # type: ignore[assignment]

    def around(self, call: Callable[..., Any], half: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.seen += 1
            if self.seen == self.last:
                half(*arguments)
                die()
            return call(*arguments)

        return counted


def die_after(seconds: float) -> None:
    """By the clock, since children may do most of the work."""

    def wait() -> None:
        time.sleep(seconds)
        die()

    threading.Thread(target=wait, daemon=True).start()


def verify(folder: Path, claims: list[str]) -> int:
    """Check these claims as `fedtheory verify` checks all, and write the scorecard."""
    from fedtheory.evidence import scorecard
    from fedtheory.report.published_checks import check_published, places

    found = check_published(places(), 2, None, folder / "cache" / "checks", lambda ref: ref in claims)
    scorecard.write_json(folder / "scorecard.json", found.card)
    return 0


def main() -> int:
    how, when, what, *arguments = sys.argv[1:]
    writes = Writes(int(when)) if how == "write" else Writes(0)
    if how == "moment":
        die_after(float(when))
    if what == "verify":
        status = verify(Path(arguments[0]), arguments[1:])
    else:
        from fedtheory.cli.statuses import run

        status = run(arguments)
    if how == "never":
        print(f"{writes.seen} writes", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
