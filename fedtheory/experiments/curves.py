"""Printed tables against the curves that their authors published: an archive of CSV files, one a run.

Which labels a file is of stands in its name; patterns, given as data, read them. The curves are no part of the project:
``compare`` runs where the archive is found, and what it computed is kept as JSON.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pydantic import Field, field_validator

from ..files import open_regular, parsing, read_counted
from .comparisons import value
from .printed_tables import Cell, cells, folder, half_unit, tables
from .reading import Listed, Strict, read_toml
from .table_checks import Finding

MEAN_NOISE, SHOWN = 1e-4, 12
"""Error of a mean by float32 and by means of evaluation batches, in per cent; the most cells that are written out."""


class Word(Strict):
    """Meaning of a part of a file's name.

    Attributes:
        group: of the pattern.
        text: that it matched.
        labels: what that means.
    """

    group: str
    text: str
    labels: dict[str, str]


class Curves(Strict):
    """An archive of published curves, and how to read it.

    Attributes:
        archive: its file name, under the folder ``FEDTHEORY_DATA``.
        source: where it is from.
        measure: of the tables, that the curves are of.
        last: so many evaluations, the last ones, are behind a printed number.
        scale: what the curves' values are multiplied by.
        patterns: of names; groups are labels, or are explained by ``words``.
        words: earlier ones win.
    """

    archive: str
    source: str
    measure: str
    last: int = Field(ge=2)
    scale: float = 1.0
    patterns: Listed[str]
    words: Listed[Word]

    @field_validator("patterns")
    @classmethod
    def _compile(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no pattern: {error}") from None
        return patterns

    def labels(self, name: str) -> dict[str, str] | None:
        """The labels of a file by its name; ``None`` if no pattern fits, or a word is unknown."""
        for pattern in self.patterns:
            if match := re.fullmatch(pattern, name):
                return self._explained({k: v for k, v in match.groupdict().items() if v is not None})
        return None

    def _explained(self, groups: Mapping[str, str]) -> dict[str, str] | None:
        labels: dict[str, str] = {}
        known = {word.group for word in self.words}
        for word in self.words:
            if groups.get(word.group) == word.text:
                labels = {**word.labels, **labels}
        for group, text in groups.items():
            if group not in known:
                labels.setdefault(group, text)
            elif all((word.group, word.text) != (group, text) for word in self.words):
                return None
        return labels


@dataclass(frozen=True)
class Curve:
    """One published run.

    Attributes:
        name: of the file.
        labels: what it is of.
        run: which one, of how many in the file; a run starts where steps start again.
        mean, deviation: of the last evaluations; the deviation with n - 1.
        first, end: the steps of the first and the last evaluation.
        digest: of all values.
    """

    name: str
    labels: Mapping[str, str]
    run: str
    mean: float
    deviation: float
    first: int
    end: int
    digest: str

    def statistic(self) -> str:
        """Write mean and deviation as the tables print them."""
        return f"{self.mean:.2f}±{self.deviation:.1f}"


@dataclass
class Compared:
    """Comparison of the curves with the printed numbers.

    Attributes:
        agree: how many cells are the statistic of a curve of their labels.
        differ: cells, with the curves of their labels.
        missing: cells without a curve.
        twice: groups of curves of different labels that agree in every value.
        several: cells with different runs of their labels (none that stands for other labels too), one of which gives
            the printed number.
    """

    agree: int = 0
    differ: list[tuple[Cell, list[Curve]]] = field(default_factory=list)
    missing: list[Cell] = field(default_factory=list)
    twice: list[list[Curve]] = field(default_factory=list)
    several: list[tuple[Cell, list[Curve]]] = field(default_factory=list)


def read_rule(paper: str, root: Path | None = None) -> Curves | None:
    """Read the rule by which a paper's published curves are read; ``None`` if there are none."""
    path = (root or folder()) / paper / "curves.toml"
    return read_toml(path, Curves) if path.exists() else None


def archive_path(rule: Curves) -> Path:
    """Find the archive.

    Raises:
        FileNotFoundError: it is not in ``FEDTHEORY_DATA``.
    """
    data = os.environ.get("FEDTHEORY_DATA")
    path = Path(data or ".") / rule.archive
    if not data or not path.is_file():
        raise FileNotFoundError(f"{rule.archive}: not in FEDTHEORY_DATA = {data!r}; it is {rule.source}")
    return path


def read_curves(rule: Curves, path: Path) -> Iterator[Curve]:
    """The curves of an archive whose names are understood and that have enough values.

    Raises:
        ValueError: it is no archive, or a file in it no table of steps and values.
    """
    with parsing(path, "not an archive of curves"), open_regular(path) as file, tarfile.open(fileobj=file) as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            labels = rule.labels(name) if member.isfile() else None
            content = archive.extractfile(member) if labels is not None else None
            if labels is not None and content is not None:
                yield from _curve(rule, name, labels, read_counted(f"{path}: {name}", content))


def _curve(rule: Curves, name: str, labels: Mapping[str, str], content: bytes) -> Iterator[Curve]:
    try:
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8").lstrip())))
        points = [(int(float(row["Step"])), rule.scale * float(row["Value"])) for row in rows]
    except (KeyError, TypeError, ValueError, OverflowError, csv.Error):
        raise ValueError(f"{name}: allowed is a table with the columns Step and Value") from None
    starts = [place for place, (step, _) in enumerate(points) if place == 0 or step < points[place - 1][0]]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(points)], strict=True), 1):
        values = [value for _, value in points[start:end]]
        if len(values) >= rule.last:
            digest = hashlib.sha256(repr(values).encode()).hexdigest()
            tail = values[-rule.last :]
            run = f"{number} of {len(starts)}"
            yield Curve(name, dict(labels), run, fmean(tail), stdev(tail), points[start][0], points[end - 1][0], digest)


def compare(paper: str, path: Path | None = None, root: Path | None = None) -> Compared:
    """A paper's tables against its published curves.

    Raises:
        ValueError: there are no curves of this paper, or the archive cannot be read.
        FileNotFoundError: the archive is not there.
    """
    rule = read_rule(paper, root)
    if rule is None:
        raise ValueError(f"paper = {paper!r}: its authors published no curves")
    curves = list(read_curves(rule, path or archive_path(rule)))
    found = Compared(twice=copies(curves))
    unique = {tuple(sorted(c.labels.items())): c for c in reversed(cells(tables(paper, root), measure=rule.measure))}
    for cell in reversed(unique.values()):
        mine = list({curve.digest: curve for curve in curves if of_cell(cell, curve)}.values())
        if any(gives(curve, cell) for curve in mine):
            found.agree += 1
            own = [curve for curve in mine if all(curve not in group for group in found.twice) or gives(curve, cell)]
            found.several += [(cell, own)] if len(own) > 1 else []
        elif mine:
            found.differ.append((cell, mine))
        else:
            found.missing.append(cell)
    return found


def of_cell(cell: Cell, curve: Curve) -> bool:
    """Whether the two agree in every label that both have."""
    return all(curve.labels.get(k, v) == v for k, v in cell.labels.items() if k != "measure")


def gives(curve: Curve, cell: Cell) -> bool:
    """Whether the printed number and spread are the curve's, rounded."""
    near = abs(curve.mean - float(value(cell))) <= float(half_unit(value(cell))) + MEAN_NOISE
    if cell.spread is None:
        return near
    return near and abs(curve.deviation - float(cell.spread)) <= float(half_unit(cell.spread)) + MEAN_NOISE


def copies(curves: Sequence[Curve]) -> list[list[Curve]]:
    """Curves of different labels that agree in every value."""
    same: dict[str, list[Curve]] = {}
    for curve in curves:
        group = same.setdefault(curve.digest, [])
        if all(curve.labels != other.labels for other in group):
            group.append(curve)
    return [group for group in same.values() if len(group) > 1]


def to_json(paper: str, compared: Compared, path: Path) -> dict[str, Any]:
    """Return the comparison as plain content, with the archive that it was computed from."""
    return {
        "paper": paper,
        "archive": path.name,
        "sha256": _digest(path),
        "command": f"fedtheory curves --paper {paper} --into experiments/{paper}/curves.json",
        "agree": compared.agree,
        "missing": [_address(cell) for cell in compared.missing],
        "differ": [_beside(cell, mine) for cell, mine in compared.differ],
        "several": [_beside(cell, mine) for cell, mine in compared.several],
        "twice": [[_numbers(curve) for curve in group] for group in compared.twice],
    }


def _digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _address(cell: Cell) -> dict[str, Any]:
    return {"table": cell.table.number, "labels": dict(cell.labels), "printed": cell.text}


def _beside(cell: Cell, mine: Sequence[Curve]) -> dict[str, Any]:
    return {**_address(cell), "curves": [_numbers(curve) for curve in mine]}


def _numbers(curve: Curve) -> dict[str, Any]:
    return {
        "name": curve.name,
        "labels": dict(curve.labels),
        "run": curve.run,
        "mean": round(curve.mean, 3),
        "deviation": round(curve.deviation, 3),
        "first": curve.first,
        "end": curve.end,
    }


def findings(paper: str, root: Path | None = None) -> Iterator[Finding]:
    """The kept comparison, as findings; none if there is none."""
    from ..files import read_json

    path = (root or folder()) / paper / "curves.json"
    if path.exists():
        kept = read_json(path)
        yield _differences(kept)
        yield from _copies(kept)
        yield from _choices(kept)


def _differences(kept: Mapping[str, Any]) -> Finding:
    far = sorted(kept["differ"], key=_distance, reverse=True)
    shown = "; ".join(f"{_where(each)}: {each['printed']} printed, {_runs(each)}" for each in far[:SHOWN])
    looked = kept["agree"] + len(far)
    what = (
        f"the authors' published curves give {kept['agree']} of {looked} printed numbers to the last digit, and "
        f"{len(far)} not, {sum(_distance(each) > 0.1 for each in far)} of these by more than .1 points; the largest: "
        f"{shown}"
    )
    missing = "; ".join(f"{_where(each)}: {each['printed']}" for each in kept["missing"])
    without = f". No curve is published for {missing}" if missing else ""
    return Finding("all", "published curves", what + without, "differs" if far else "agrees")


def _copies(kept: Mapping[str, Any]) -> Iterator[Finding]:
    for group in kept["twice"]:
        what = f"one and the same curve is published for {' and for '.join(_spelled(each['labels']) for each in group)}"
        yield Finding("all", "published curves", what, "repeated")


def _choices(kept: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the finding on which of several published runs of a setting was printed."""
    several = kept["several"]
    if several:
        highest = sum(_printed(each) >= max(c["mean"] for c in each["curves"]) - 0.006 for each in several)
        lowest = sum(_printed(each) <= min(c["mean"] for c in each["curves"]) + 0.006 for each in several)
        shown = "; ".join(f"{_where(each)}: {each['printed']} printed, {_runs(each)}" for each in several)
        last = sum(any(_is_last(each, curve) for curve in each["curves"]) for each in several)
        chance = at_least(highest, [1 / len(each["curves"]) for each in several])
        what = (
            f"for {len(several)} printed numbers several different runs of the setting are published; printed is the "
            f"highest in {highest} (so many or more by a random choice: p = {chance:.2g}) and the lowest in {lowest}; "
            f"it is the last run of its file in {last}, and how one was chosen is not said: {shown}"
        )
        yield Finding("all", "published curves", what, "several runs")


def at_least(count: int, chances: Sequence[float]) -> float:
    """Compute the probability that at least ``count`` of independent events happen.

    >>> at_least(1, [0.5, 0.5])
    0.75
    """
    law = [1.0]
    for chance in chances:
        law = [a * (1 - chance) + b * chance for a, b in zip([*law, 0.0], [0.0, *law], strict=True)]
    return sum(law[count:])


def _printed(each: Mapping[str, Any]) -> float:
    return float(each["printed"].partition("±")[0])


def _is_last(each: Mapping[str, Any], curve: Mapping[str, Any]) -> bool:
    """Whether the curve is the last of its file and gives the printed number."""
    number, _, runs = curve["run"].partition(" of ")
    return bool(number == runs and abs(curve["mean"] - _printed(each)) < 0.006)


def _distance(each: Mapping[str, Any]) -> float:
    return min(abs(_printed(each) - curve["mean"]) for curve in each["curves"])


def _where(each: Mapping[str, Any]) -> str:
    return f"Table {each['table']}, {_spelled(each['labels'])}"


def _runs(each: Mapping[str, Any]) -> str:
    runs = dict.fromkeys(f"{c['mean']:.2f}±{c['deviation']:.1f} (to step {c['end']})" for c in each["curves"])
    return f"{' and '.join(runs)} by the curve{'s' * (len(runs) > 1)}"


def _spelled(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{k} {v}" for k, v in labels.items() if k != "measure")
