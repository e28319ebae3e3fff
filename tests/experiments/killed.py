"""`fedtheory run` in children that kill themselves, half of them inside a write, until one is done.

Arguments: an experiment file of one setting and seed, a store. Prints how many were killed. The parent runs one round
in one thread, so that children may be forked from it.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from fedtheory.cli import app
from fedtheory.experiments import work_units


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def child(file: str, store: str, inside: bool) -> None:
    left = 2  # writes, or calls in which twenty rounds are made

    if inside:
        sync = os.fsync

        def killing(descriptor: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.ftruncate(descriptor, 10)  # the file is not whole, and not renamed
                die()
            sync(descriptor)

        os.fsync = killing
    else:
        call = work_units.Clock.__call__

        def counting(self: work_units.Clock, done: int, total: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                die()
            call(self, done, total)

        work_units.Clock.__call__ = counting  # type: ignore[method-assign]
    app(["run", file, "--store", store, "--json"], standalone_mode=False)


def main() -> None:
    from twins import warm  # beside this file, which is run as a program

    warm(sys.argv[1])
    killed = {True: 0, False: 0}
    for attempt in range(100):
        inside = attempt % 2 == 0
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            child(sys.argv[1], sys.argv[2], inside)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            killed[inside] += 1
        elif os.WEXITSTATUS(status) == 0:
            break
        else:
            sys.exit(1)
    print(json.dumps({"inside": killed[True], "outside": killed[False]}))


if __name__ == "__main__":
    main()
