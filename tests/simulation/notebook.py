"""A tracker that keeps all it is told, as one's own would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Notebook:
    """Tracker with the steps of every run by identity; what it lacks stops no run.

    Args:
        fails: the method that raises an error, "begin", "last", "log" or "end".
    """

    def __init__(self, fails: str = "") -> None:
        self.fails, self.names, self.settings = fails, dict[str, str](), dict[str, dict[str, str]]()
        self.steps: dict[str, list[tuple[int, dict[str, float]]]] = {}
        self.ended: list[bool] = []

    def begin(self, name: str, identity: str, settings: Mapping[str, str]) -> Any:
        self.tried("begin")
        self.names[identity], self.settings[identity] = name, dict(settings)
        return Page(self, self.steps.setdefault(identity, []))

    def tried(self, what: str) -> None:
        if what == self.fails:
            raise ConnectionError(f"no connection at {what}")

    @property
    def rounds(self) -> list[int]:
        """The rounds of the only run."""
        (steps,) = self.steps.values()
        return [round for round, _ in steps]


class Page:
    def __init__(self, book: Notebook, steps: list[tuple[int, dict[str, float]]]) -> None:
        self.book, self.steps = book, steps

    def last(self, name: str) -> int:
        self.book.tried("last")
        return max((round for round, values in self.steps if name in values), default=-1)

    def log(self, round: int, values: Mapping[str, float]) -> None:
        self.book.tried("log")
        self.steps.append((round, dict(values)))

    def end(self, finished: bool) -> None:
        self.book.tried("end")
        self.book.ended.append(finished)
