"""Practical claims: sentences of a paper about its tables, judged by our runs.

Each sentence of a paper's ``checks.toml`` is a comparison of cells. The printed numbers are judged by ``table_checks``;
here the same comparison is made of our numbers in the cells' places, the means over the last third of the rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .comparisons import Trial
from .paired_tests import decided
from .printed_tables import Cell, Table, folder, tables
from .published import read_current
from .results import experiment_files
from .schema import read_experiment
from .table_checks import Statement, read_checks
from .theirs_and_ours import Beside, parts_of


@dataclass(frozen=True)
class PracticalClaim:
    """A sentence of a paper about its tables, and what our runs say of it.

    Attributes:
        paper: its key.
        statement: the sentence.
        reading: how it is read; empty if there is one way only.
        trials: its comparisons.
        words: of each, ``holds``, ``fails``, ``open`` or ``not run``; any wrong ``holds`` or ``fails`` among them has
            probability at most .05 (Holm).
        mostly: whether more than half of the comparisons are enough.
        seconds: that the runs took, each setting counted once.
    """

    paper: str
    statement: Statement
    reading: str
    trials: tuple[Trial, ...]
    words: tuple[str, ...]
    mostly: bool
    seconds: float

    @property
    def verdict(self) -> str:
        """``borne out``, ``not borne out``, ``open`` or ``not run``: whether all comparisons hold, or one fails; of a
        sentence on most of them, whether more than half hold, or at least half fail. ``borne out so far``: all that
        were run hold, others were not run."""
        count = {word: self.words.count(word) for word in ("holds", "fails", "open", "not run")}
        whole = len(self.words)
        if count["not run"] == whole:
            return "not run"
        if self.mostly:
            return (
                "borne out"
                if 2 * count["holds"] > whole
                else "not borne out"
                if 2 * count["fails"] >= whole
                else "open"
            )
        if count["fails"]:
            return "not borne out"
        if count["open"]:
            return "open"
        return "borne out so far" if count["not run"] else "borne out"

    @property
    def count(self) -> str:
        """The number of comparisons of each word."""
        named = {word: self.words.count(word) for word in ("holds", "fails", "open", "not run")}
        told = {"holds": "hold", "fails": "fail"}
        return ", ".join(f"{number} {told.get(word, word)}" for word, number in named.items() if number)

    @property
    def least(self) -> tuple[str, float, float, float] | None:
        """The comparison that is farthest from holding: what, our difference, half its interval, its resolution, both
        corrected for the number of comparisons; ``None`` if too few seeds were run."""
        run = [
            (wanted.p_holds, trial.text, wanted.differences)
            for trial in self.trials
            for wanted in trial.wanted
            if wanted.differences.decides
        ]
        if not run:
            return None
        _, text, found = max(run, key=lambda each: (each[0], each[1]))
        return text, found.mean, found.half_width(len(run)), found.resolution(len(run))


def practical_claims(paper: str, root: Path | None = None) -> Iterator[PracticalClaim]:
    """Yield the sentences of a paper that runs can bear out, in the order of its file; none of what only printed
    numbers can be asked.

    Raises:
        ValueError: results that are damaged.
    """
    root = root or folder()
    printed = tables(paper, root)
    ours = _ours(paper, printed, root)
    for statement in read_checks(paper, root).statements:
        for reading in statement.readings:
            if trials := tuple(reading.trials(printed, lambda cell: ours[cell].late if cell in ours else None)):
                used = {id(run): run for cell, run in ours.items() if reading.uses(cell)}
                seconds = (
                    math.fsum(run.seconds for run in used.values()) if any(each.wanted for each in trials) else 0.0
                )
                mostly = bool(getattr(reading, "mostly", False))
                yield PracticalClaim(paper, statement, reading.reading, trials, _words(trials), mostly, seconds)
                break


def _ours(paper: str, printed: Sequence[Table], root: Path) -> Mapping[Cell, Beside]:
    """Our numbers by the printed cell: those of the file that ran most seeds."""
    files = [
        (path, experiment, content)
        for path in experiment_files(root)
        if path.parent.name == paper
        for experiment in [read_experiment(path)]
        if (content := read_current(path, experiment)) is not None
    ]
    found: dict[Cell, Beside] = {}
    for table in printed:
        for part in parts_of(table, files):
            for run in part.cells:
                if run.values and (run.cell not in found or len(run.values) > len(found[run.cell].values)):
                    found[run.cell] = run
    return found


def _words(trials: Sequence[Trial]) -> tuple[str, ...]:
    words = iter(decided([wanted for trial in trials for wanted in trial.wanted]))
    found = []
    for trial in trials:
        of_trial = [next(words) for _ in trial.wanted]
        if not of_trial:
            found.append("not run")
        elif "holds" in of_trial:
            found.append("holds")
        else:
            found.append("fails" if set(of_trial) == {"fails"} else "open")
    return tuple(found)
