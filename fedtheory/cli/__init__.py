"""The command line: ``fedtheory --help``. A module has the commands of one subject."""

from __future__ import annotations

from ..__main__ import main

# Their commands are the application's.
from . import data, experiments, learnability, lists, participation, statements, verdicts  # noqa: F401
from .app import app

__all__ = ["app", "main"]
