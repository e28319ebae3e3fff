"""The command line: ``fedtheory --help``. A module has the commands of one subject."""

from __future__ import annotations

import sys

# Their commands are the application's.
from . import (  # noqa: F401
    data,
    diagnosis,
    experiments,
    learnability,
    lists,
    participation,
    report,
    statements,
    verdicts,
    worst_case,
)
from .app import app
from .statuses import run

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line and exit with its status: see ``statuses``."""
    sys.exit(run())
