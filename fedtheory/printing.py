"""Reading and printing for the command line."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import zip_longest
from textwrap import TextWrapper
from threading import Event, Lock, Thread
from typing import Any

from .files import json_text
from .loops import first_compilation
from .numerals import rational


def assignment(text: str) -> tuple[str, Any]:
    """Read 'name=1', 'name=1/3', 'name=1e-2' or 'name=1,2,3' as a name and numbers; nothing is evaluated."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r}: allowed is name=number")
    try:
        numbers = [_number(part) for part in value.split(",")]
    except (ValueError, OverflowError):
        raise ValueError(
            f"{name} = {value!r}: allowed is a number such as 0.01, 1e-2 or 1/100, or a list 1,2,3"
        ) from None
    return name, numbers if "," in value else numbers[0]


def _number(text: str) -> float:
    return float(text) if text.strip().lstrip("+-").lower() in ("inf", "infinity", "nan") else float(rational(text))


def plain(value: Any) -> Any:
    """Return an array or a number of numpy as plain lists or numbers, and anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def print_json(content: Any) -> None:
    """Print plain data as indented JSON."""
    print(json_text(content, indent=1))


PIPE = 120
"""Columns of what is printed to no terminal, where ``COLUMNS`` does not say otherwise."""


def columns() -> int:
    """Return how many columns there are: as ``COLUMNS`` says, or of the terminal, or ``PIPE``; 20 at the least."""
    return max(shutil.get_terminal_size((PIPE, 24)).columns if _has_width() else PIPE, 20)


def _has_width() -> bool:
    """Whether what is printed is seen in columns: on a terminal, or where ``COLUMNS`` says how many."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


class _Wrapper(TextWrapper):
    """A wrapper that breaks no word, but breaks a formula that is too long after a sign, a bracket or a comma."""

    def __init__(self, width: int, first: str = "", indent: str = "") -> None:
        super().__init__(width, first, indent, break_long_words=False, break_on_hyphens=False)

    def _split(self, text: str) -> list[str]:
        room = self.width - max(len(self.initial_indent), len(self.subsequent_indent))
        words = super()._split(text)
        return [part for word in words for part in (_parts(word) if len(word) > room else [word])]


def _parts(word: str) -> list[str]:
    """Return the parts of a long word, between which a line may end.

    >>> _parts("2*x**2/(y+z)")
    ['2*', 'x**', '2/(', 'y+', 'z)']
    """
    return [part for part in re.split(r"(?<=[*/+,(\[{])(?![*/(\[{])", word) if part]


def print_wrapped(text: str, indent: str = "", first: str = "") -> None:
    """Print a line as several that fit, those after the first one indented; only formulas are broken."""
    print("\n".join(_Wrapper(columns(), first, indent).wrap(text)) or first)


def print_markdown(text: str) -> None:
    """Print Markdown: as lines that fit on a terminal; elsewhere as it is, as a row of a table is one line."""
    for line in text.splitlines():
        print_wrapped(line, "  ") if _has_width() else print(line)


def print_tree(content: dict[str, Any], indent: str = "") -> None:
    """Print nested data as lines that fit, one level of indentation for each level; what is empty is left out."""
    for key, value in content.items():
        if value in ({}, [], "") and not isinstance(value, bool):
            continue
        if isinstance(value, dict):
            print(f"{indent}{key}:")
            print_tree(value, indent + "  ")
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            print_wrapped(f"{key}: {shown}", indent + "    ", indent)


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print rows as a table. It fits the terminal: long cells take several lines, and columns without room are named
    below it. Elsewhere every row is one line, for programs that read lines."""
    widths = {key: max(len(key), *(len(str(row[key])) for row in rows)) for key in rows[0]}
    left_out = _narrowed(widths, rows, columns()) if _has_width() else []
    for row in ({key: key for key in widths}, *rows):
        cells = [_cell(str(row[key]), width) for key, width in widths.items()]
        for line in zip_longest(*cells, fillvalue=""):
            print("  ".join(part.ljust(width) for part, width in zip(line, widths.values(), strict=True)).rstrip())
    if left_out:
        print_wrapped(f"(left out, for want of room: {', '.join(left_out)}; --json has all)")


COMFORT = 14
"""Columns are made this narrow before others are left out, and no narrower than their longest word."""


def _narrowed(widths: dict[str, int], rows: list[dict[str, Any]], room: int) -> list[str]:
    """Make columns narrower, the widest first; where that is not enough take out those between the first and the last,
    from the right, and name them."""
    natural, left_out = dict(widths), list[str]()
    texts = {key: f"{key} {' '.join(str(row[key]) for row in rows)}" for key in widths}
    words = {key: max(len(part) for word in text.split() for part in _parts(word)) for key, text in texts.items()}
    while sum(widths.values()) + 2 * (len(widths) - 1) > room:
        floor = {key: max(words[key], min(natural[key], COMFORT)) for key in widths}
        wide = [key for key in widths if widths[key] > floor[key]]
        if wide:
            widths[max(wide, key=lambda key: widths[key])] -= 1
        elif len(widths) > 2:
            left_out.insert(0, [*widths][-2])
            del widths[left_out[0]]
            widths |= {key: natural[key] for key in widths}
        else:
            first, last = widths
            widths[last] = max(room - widths[first] - 2, COMFORT)
            break
    return left_out


def _cell(text: str, width: int) -> list[str]:
    wrapper = _Wrapper(width)
    wrapper.break_long_words = True  # where even the last column has no room for one
    return wrapper.wrap(text) if len(text) > width else [text]


def print_judgement(content: dict[str, Any]) -> None:
    """Print both sides under the first reading that falls, or else under the literal one; the hypotheses; how many
    fall."""
    readings = content["readings"]
    falling = [reading for reading in readings if reading["refutes"]]
    shown = (falling or readings)[0]
    print_wrapped(f"{content['claim']}: {content['functional']}", "  ")
    after = f", after {content['rounds']} rounds" if "rounds" in content else ""
    sign = ">" if shown["refutes"] else "not shown to exceed"
    times = "" if shown["ratio"] == "inf" else f", {shown['ratio']} times"  # nothing is so many times 0
    print_wrapped(f"left {shown['left']} {sign} right {shown['right']}{times}{after}", "  ")
    if shown["reading"]:
        print_wrapped(f"read with {', '.join(f'{name}: {option}' for name, option in shown['reading'].items())}", "  ")
    if content["hypotheses"]:
        print_table(
            [
                {
                    "hypothesis": h["name"],
                    "slack": shown["slack"][h["name"]],
                    "checked": shown.get("checked", {}).get(h["name"], h["checked"]),
                    "statement": h["statement"],
                }
                for h in content["hypotheses"]
            ]
        )
    if violated := content.get("violates"):
        print_wrapped(
            f"violates {' and '.join(violated)}, which the claim does not assume: it needs one of these", "  "
        )
    word = "reading" if len(readings) == 1 else "readings"
    print(f"{'falls' if violated else 'refuted'} under {len(falling)} of {len(readings)} {word}")


def print_scorecard(card: dict[str, Any]) -> None:
    """Print the scorecard as a table, one row a claim."""
    from rich.table import Table

    from .evidence.verdict_rule import with_readings
    from .tightness.scorecard_column import text

    table = Table("claim", "verdict", "units", "largest left/right", "measured: left/right", "tightness", "why")
    for row in card["rows"]:
        evidence = row["evidence"]
        units = "match" if evidence["units"]["homogeneous"] else "do not match"
        instance, found = evidence["exact"]["instance"], evidence["exact"]["search"]
        ratio = float(instance["ratio"] if instance else found["largest_ratio"])  # a file has an infinite one as a word
        exact = f"{ratio:.3g} (instance)" if instance else f"{ratio:.4g} (search)"
        measured = "\n".join(
            f"{m['data']} {float(m['ratio']):.2g} {m['outcome']}{_elsewhere(m)}{_seen(m)}" for m in evidence["measured"]
        )
        ref, tight = f"{row['id']}@{row['edition']}", text(row["tightness"])
        table.add_row(ref, with_readings(row), units, exact, measured, tight, row["why"])
    _print_rich(table, ("units", "measured: left/right", "tightness", "largest left/right", "why"))


def _elsewhere(measured: Mapping[str, Any]) -> str:
    """Where a claim was measured, if that was not a CPU."""
    device = measured.get("device", "cpu")
    return "" if device == "cpu" else f" ({device})"


def _seen(measured: Mapping[str, Any]) -> str:
    """What a measurement could see."""
    from .evidence.scorecard import least_exceeding

    found = least_exceeding(measured)
    return "" if found is None else f", sees {found:.3g}"


def print_findings(rows: Sequence[Any]) -> None:
    """Print findings as a table."""
    from rich.table import Table

    table = Table("claim", "where", "finding", "found by")
    for row in rows:
        table.add_row(row.claim, row.where, row.what, row.check)
    _print_rich(table, ("found by", "where"))


def _print_rich(table: Any, spare: Sequence[str] = ()) -> None:
    """A table that fits; where words would be broken, the ``spare`` columns are left out, in this order, and named."""
    from rich.console import Console

    console = Console(width=columns())
    left_out = []
    for name in spare:
        if console.measure(table, options=console.options.update(max_width=10**5)).minimum <= console.width:
            break
        kept = [column for column in table.columns if column.header != name]
        left_out += [name] * (len(kept) < len(table.columns))
        table.columns = kept
    console.print(table)
    if left_out:
        print_wrapped(f"(left out, for want of room: {', '.join(left_out)}; --json has all)")


SETTLES = 3.0
"""Seconds from which on a stage has a pace: as soon as it is worth telling."""


@dataclass
class _Stage:
    """A part of a command's work: its last call, (seconds, how much of ``total`` was done), and its ``calls`` from the
    first on, but for those within 1/200 of another one."""

    total: float
    calls: list[tuple[float, float]]
    last: tuple[float, float]

    def call(self, seconds: float, done: float) -> None:
        """Note a call."""
        self.last = seconds, done
        if done - self.calls[-1][1] >= self.total / 200:
            self.calls.append(self.last)

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        return self.last[1] / self.total if self.total else 1.0

    def left(self, now: float) -> float | None:
        """The seconds that are left, at the pace since a quarter was done of what the calls told: the first pieces may
        be slow, which warm caches or are compiled. What came before the first call, such as a set-up, or what an
        earlier run has done, is no part of it. ``None`` before there is a pace: in the first ``SETTLES`` seconds.

        A piece of work that takes longer than all that was left is thought to be some two thirds over.

        >>> _Stage(10, [(0.0, 0)], (20.0, 4)).left(now=25.0)
        25.0
        """
        at, done = self.last
        start = self.calls[0][1]
        begun, before = max(
            (call for call in self.calls if call[1] <= start + (done - start) / 4), default=self.calls[0]
        )
        if done <= before or at <= begun or at - self.calls[0][0] < SETTLES:
            return None
        since = now - at
        return max((at - begun) / (done - before) * (self.total - done) - since, since / 2)


class Progress:
    """Display of progress, on standard error; called with (label, done, total), for each stage of the work another
    label.

    ``done`` and ``total`` count pieces of work. Where these differ, both are sums of weights instead, such as the
    seconds that each piece took before, or thousandths of their sum: the time that is left is told from ``done``, so
    that it is right as far as the weights are in proportion to the time. The first call of a stage begins its time.

    On a terminal it is a bar. Elsewhere it is a line, once ``QUIET`` seconds have passed and then every ``PAUSE``, also
    while a piece of work goes on.
    """

    QUIET, PAUSE = SETTLES, 10.0

    def __enter__(self) -> Progress:
        self.on_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.stages: dict[str, _Stage] = {}
        self.label = self.said = ""
        self.next = time.monotonic() + self.QUIET
        self.ended, self.one_line = Event(), Lock()
        if self.on_terminal:
            self._begin_bars()
        else:
            Thread(target=self._tick, daemon=True).start()
        first_compilation.tell = self.note
        return self

    def __exit__(self, *error: object) -> None:
        first_compilation.tell = None
        self.ended.set()
        if self.on_terminal:
            self.bars.stop()

    def __call__(self, label: str, done: float, total: float) -> None:
        here, stage = (time.monotonic(), done), self.stages.get(label)
        if stage is None or done < stage.last[1] or total != stage.total:
            stage = self.stages[label] = _Stage(total, [here], here)
        stage.call(*here)
        self.label, self.said = label, ""
        if self.on_terminal:
            self._bar(label, stage)
        elif done < total:
            self._line(here[0])

    def doing(self, what: str) -> None:
        """Say what is done now, of which nobody knows how long it takes, until the next call."""
        self.said = what
        if self.on_terminal:
            self._bar(what, None)

    def note(self, what: str) -> None:
        """Say something at once; it is no stage."""
        if self.on_terminal:
            self.bars.console.print(f"fedtheory: {what}", highlight=False, markup=False)
        else:
            print(f"fedtheory: {what}", file=sys.stderr, flush=True)

    def _tick(self) -> None:
        while not self.ended.wait(0.5):
            self._line(time.monotonic())

    def _line(self, now: float) -> None:
        """Print a line, if it is time."""
        with self.one_line:
            stage = self.stages.get(self.label)
            if now < self.next or self.ended.is_set() or not (self.said or stage):
                return
            self.next = now + self.PAUSE
            print(f"fedtheory: {self.said or f'{self.label}: {_how_far(stage, now)}'}", file=sys.stderr, flush=True)

    def _begin_bars(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn
        from rich.progress import Progress as Bars
        from rich.text import Text

        stages = self.stages

        class HowFar(ProgressColumn):
            """The share that is done and the time that is left."""

            def render(self, task: Any) -> Text:
                stage = stages.get(task.description)
                return Text("" if task.total is None or stage is None else _how_far(stage, time.monotonic()))

        text = TextColumn("{task.description}", markup=False)
        self.bars = Bars(text, BarColumn(), HowFar(), console=Console(stderr=True), transient=True)
        self.tasks: dict[str, Any] = {}
        self.bars.start()

    def _bar(self, label: str, stage: _Stage | None) -> None:
        """Show a stage as a bar, and something of unknown length as a moving one, which is gone with the next call."""
        for other in [name for name in self.tasks if name not in self.stages and name != label]:
            self.bars.remove_task(self.tasks.pop(other))
        if label not in self.tasks:
            self.tasks[label] = self.bars.add_task(label, total=None)
        if stage is not None:
            self.bars.update(self.tasks[label], completed=stage.last[1], total=stage.total)


def _how_far(stage: _Stage | None, now: float) -> str:
    """The share that is done and the time that is left, as far as it is known.

    >>> _how_far(_Stage(240, [(0.0, 0)], (30.0, 40)), 30.0)
    '40 of 240, about 0:02:30 left'
    >>> _how_far(_Stage(1000, [(0.0, 0)], (30.0, 371)), 30.0)
    '37 %, about 0:00:51 left'
    """
    if stage is None:
        return ""
    done, left = stage.last[1], stage.left(now)
    counted = float(done).is_integer() and stage.total < 1000
    share = f"{done:g} of {stage.total:g}" if counted else f"{100 * stage.share:.0f} %"
    if done >= stage.total:
        return f"{share}, finishing"
    return share if left is None else f"{share}, about {timedelta(seconds=round(left))} left"
