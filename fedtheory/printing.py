"""Reading and printing for the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
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


def print_tree(content: dict[str, Any], indent: str = "") -> None:
    """Print nested data as lines, one level of indentation for each level."""
    for key, value in content.items():
        if isinstance(value, dict):
            print(f"{indent}{key}:")
            print_tree(value, indent + "  ")
        elif isinstance(value, list):
            print(f"{indent}{key}: {', '.join(map(str, value))}")
        else:
            print(f"{indent}{key}: {value}")


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print rows as a table with aligned columns."""
    widths = {key: max(len(key), *(len(str(row[key])) for row in rows)) for key in rows[0]}
    for row in ({key: key for key in widths}, *rows):
        print("  ".join(str(row[key]).ljust(width) for key, width in widths.items()).rstrip())


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
    _print_rich(table)


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
    _print_rich(table)


def _print_rich(table: Any) -> None:
    """A table as wide as the terminal, and at least 120 columns; in a file or a pipe every row is one line."""
    from rich.console import Console

    console = Console()
    widest = console.measure(table, options=console.options.update(max_width=10**5)).maximum
    console.width = max(console.width, 120) if console.is_terminal else widest
    console.print(table)


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
