"""``python -m fedtheory``, and the command ``fedtheory``; nothing is imported before it can be interrupted."""

import gc
import os
import sys

SELDOM = (100_000, 20, 20)
"""Thresholds of the garbage collector. Imports and formulas make many objects and few cycles, and looking through all
of them again and again took a tenth of a short command's time."""


def _open_what_is_closed() -> None:
    """Have somewhere to print to, as after ``>&-``: else the next file that is opened would have its place."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDWR)
            if file != number:
                os.dup2(file, number)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def main() -> None:
    """Run the command line and exit with its status."""
    _open_what_is_closed()
    gc.set_threshold(*SELDOM)
    try:
        from .cli.statuses import run

        status = run()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    main()
