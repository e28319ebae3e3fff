"""Two processes publish what their stores have, at the same time. Arguments: a file, two stores."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from fedtheory.experiments import commands


def main() -> None:
    read = commands.read_kept

    def slow(*arguments):
        found = read(*arguments)
        time.sleep(0.2)  # so that both would read before either writes
        return found

    commands.read_kept = slow
    children = []
    for store in sys.argv[2:]:
        pid = os.fork()
        if pid == 0:
            report = commands.run_files(
                [Path(sys.argv[1])], commands.RunOptions(Path(store), budget="0s", publish=True)
            )
            os._exit(report.failed)
        children.append(pid)
    sys.exit(any(os.waitpid(pid, 0)[1] for pid in children))


if __name__ == "__main__":
    main()
