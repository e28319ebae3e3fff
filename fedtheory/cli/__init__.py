"""The command line: ``fedtheory --help``. A module has the commands of one subject."""

from __future__ import annotations

import sys

# Their commands are the application's.
from . import data, experiments, learnability, lists, participation, statements, verdicts  # noqa: F401
from .app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a wrong input ends with one line on what is allowed, and exit status 2."""
    try:
        app()
    except (ValueError, FileNotFoundError) as error:
        print(f"fedtheory: {error}", file=sys.stderr)
        sys.exit(2)
