"""Reading and printing for the command line."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import TextWrapper, wrap
from typing import Any

from .files import json_text
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


def print_wrapped(text: str, indent: str = "", first: str = "") -> None:
    """Print a line as several that fit, those after the first one indented; no word is broken."""
    wrap = TextWrapper(columns(), first, indent, break_long_words=False, break_on_hyphens=False)
    print("\n".join(wrap.wrap(text)) or first)


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
    words = {key: max(map(len, f"{key} {' '.join(str(row[key]) for row in rows)}".split())) for key in widths}
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
            break
    return left_out


def _cell(text: str, width: int) -> list[str]:
    return wrap(text, width, break_long_words=False, break_on_hyphens=False) if len(text) > width else [text]


def print_judgement(content: dict[str, Any]) -> None:
    """Print both sides under the first reading that falls, or else under the literal one; the hypotheses; how many
    fall."""
    readings = content["readings"]
    falling = [reading for reading in readings if reading["refutes"]]
    shown = (falling or readings)[0]
    print(f"{content['claim']}: {content['functional']}")
    after = f", after {content['rounds']} rounds" if "rounds" in content else ""
    sign = ">" if shown["refutes"] else "not shown to exceed"
    print(f"left {shown['left']} {sign} right {shown['right']}, {shown['ratio']} times{after}")
    if shown["reading"]:
        print(f"read with {', '.join(f'{name}: {option}' for name, option in shown['reading'].items())}")
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
        print(f"violates {' and '.join(violated)}, which the claim does not assume: it needs one of these")
    print(f"{'falls' if violated else 'refuted'} under {len(falling)} of {len(readings)} readings")


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
            f"{m['data']} {float(m['ratio']):.2g} {m['outcome']}{_elsewhere(m)}" for m in evidence["measured"]
        )
        ref, tight = f"{row['id']}@{row['edition']}", text(row["tightness"])
        table.add_row(ref, with_readings(row), units, exact, measured, tight, row["why"])
    _print_rich(table, ("units", "measured: left/right", "tightness", "largest left/right", "why"))


def _elsewhere(measured: Mapping[str, Any]) -> str:
    """Where a claim was measured, if that was not a CPU."""
    device = measured.get("device", "cpu")
    return "" if device == "cpu" else f" ({device})"


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


class Progress:
    """Display of progress, on standard error; called with (label, done, total).

    On a terminal it is a bar. Elsewhere it is a line, once ``QUIET`` seconds have passed and then every ``PAUSE``, with
    the time that is left at the pace so far.
    """

    QUIET, PAUSE = 10.0, 60.0

    def __enter__(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        self.on_terminal = console.is_terminal
        self.bars = Bars(console=console, transient=True, disable=not self.on_terminal)
        self.bars.start()
        self.tasks: dict[str, Any] = {}
        self.begun: dict[str, float] = {}
        self.next = time.monotonic() + self.QUIET
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if label not in self.tasks:
            self.tasks[label] = self.bars.add_task(label, total=total)
            self.begun[label] = now
        self.bars.update(self.tasks[label], completed=done)
        if not self.on_terminal and now >= self.next and done < total:
            self.next = now + self.PAUSE
            left = _left(now - self.begun[label], done, total)
            print(f"fedtheory: {label}: {done} of {total}{left}", file=sys.stderr)


def _left(seconds: float, done: int, total: int) -> str:
    """The time that is left, at the pace so far.

    >>> _left(30.0, 40, 240)
    ', about 0:02:30 left'
    """
    from datetime import timedelta

    return f", about {timedelta(seconds=round(seconds / done * (total - done)))} left" if done and seconds else ""
