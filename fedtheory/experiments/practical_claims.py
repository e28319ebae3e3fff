"""Practical claims: sentences of a paper about its tables, judged by our runs.

Each sentence of a paper's ``checks.toml`` is a comparison of cells. The printed numbers are judged by ``table_checks``;
here the same comparison is made of our numbers in the cells' places, the means over the last third of the rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .comparisons import AnyComparison, Trial
from .paired_tests import decided
from .prices import NOTHING, Rest, Shop
from .printed_tables import Cell, Table, folder, tables
from .published import read_current
from .results import experiment_files
from .schema import read_experiment
from .table_checks import Statement, read_checks
from .theirs_and_ours import FACTOR, Beside, More, more, parts_of


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
        rest: what the runs would cost that are missing.
        more: the seeds, and their cost, that would see half of what is printed in each open comparison with seeds
            enough for a test; ``None`` where there is none.
    """

    paper: str
    statement: Statement
    reading: str
    trials: tuple[Trial, ...]
    words: tuple[str, ...]
    mostly: bool
    seconds: float
    rest: Rest = NOTHING
    more: More | None = None

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
    def runs(self) -> tuple[int, int]:
        """The number of comparisons that were run, and that of all their seeds: by this a file is chosen for it."""
        seeds = [len(wanted.differences.values) for trial in self.trials for wanted in trial.wanted]
        return sum(bool(trial.wanted) for trial in self.trials), sum(seeds)

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
    numbers can be asked. One that is not borne out as it is read first is judged by its next reading too.

    Raises:
        ValueError: results that are damaged.
    """
    root = root or folder()
    printed = tables(paper, root)
    by_file, shop = _ours(paper, printed, root), Shop(paper, printed, root)
    for statement in read_checks(paper, root).statements:
        for reading in statement.readings:
            made = [_made(paper, statement, reading, printed, ours) for ours in by_file]
            if made[0].trials:
                best = max(made, key=lambda claim: claim.runs)  # the first of several
                yield replace(best, rest=shop.rest(_cells(reading, printed)))
                if best.verdict != "not borne out":
                    break


def _cells(reading: AnyComparison, printed: Sequence[Table]) -> Iterable[Cell]:
    """The printed numbers that a reading compares."""
    asked: dict[Cell, None] = {}

    def look(cell: Cell) -> Mapping[int, float]:
        asked[cell] = None
        return {0: 0.0}

    for _ in reading.trials(printed, look):
        pass
    return asked


def _made(
    paper: str, statement: Statement, reading: AnyComparison, printed: Sequence[Table], ours: Mapping[Cell, Beside]
) -> PracticalClaim:
    """The claim by one file's numbers."""
    trials = tuple(reading.trials(printed, lambda cell: ours[cell].late if cell in ours else None))
    words, run = _words(trials), [trial for trial in trials if trial.wanted]
    taken = {name: spent for trial in run for cell in trial.cells for name, spent in ours[cell].runs.items()}
    tests = sum(wanted.differences.decides for trial in run for wanted in trial.wanted)
    asked = [
        (wanted.differences.seeds_for(wanted.margin / FACTOR, tests), [ours[cell] for cell in trial.cells])
        for trial, word in zip(trials, words, strict=True)
        for wanted in trial.wanted
        if word == "open" and wanted.differences.decides
    ]
    return PracticalClaim(
        paper=paper,
        statement=statement,
        reading=reading.reading,
        trials=trials,
        words=words,
        mostly=bool(getattr(reading, "mostly", False)),
        seconds=math.fsum(taken.values()),
        more=more(asked) if asked else None,
    )


def _ours(paper: str, printed: Sequence[Table], root: Path) -> list[Mapping[Cell, Beside]]:
    """Our numbers by the printed cell, of each file with results; numbers of two files are never compared, since their
    seeds share nothing. At least one mapping, of nothing if nothing was run."""
    found: list[Mapping[Cell, Beside]] = []
    for path in experiment_files(root):
        if path.parent.name == paper:
            experiment = read_experiment(path)
            if (content := read_current(path, experiment)) is not None:
                parts = (part for table in printed for part in parts_of(table, [(path, experiment, content)]))
                found.append({run.cell: run for part in parts for run in part.cells if run.values})
    return found or [{}]


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
