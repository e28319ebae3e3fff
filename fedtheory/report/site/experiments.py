"""Pages of printed tables and of experiments: the printed numbers, and those of our runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from ...experiments.overview import duration
from ...experiments.printed_tables import Table, folder, tables
from ...experiments.published import read_current
from ...experiments.results import experiment_files, published
from ...experiments.schema import Experiment, Likeness, read_experiment
from ...experiments.table_checks import check
from ...experiments.table_pages import figure_name, number
from ...experiments.theirs_and_ours import Beside, Part, Ranked, counted, parts_of

NOT_RUN = "not run"


@dataclass(frozen=True)
class Row:
    """A printed cell and ours: ``labels``, ``theirs``, ``ours``, ``difference`` and ``seeds``, as texts."""

    labels: tuple[str, ...]
    theirs: Markup
    ours: str
    difference: str
    seeds: str


@dataclass(frozen=True)
class Compared:
    """A part of a printed table beside one experiment.

    Attributes:
        experiment: its title. page: its page. by: the names of the labels. unit: of the numbers. rows: cell by cell.
        pairs: every two cells that the table ranks, with what our runs say.
    """

    experiment: str
    page: str
    by: tuple[str, ...]
    unit: str
    rows: tuple[Row, ...]
    pairs: tuple[Ranked, ...]

    @property
    def order(self) -> str:
        """The number of pairs of each verdict, in words."""
        return counted(self.pairs)


@dataclass(frozen=True)
class TablePage:
    """A printed table, as data, with what checks found about it and what stands beside it."""

    table: Table
    page: str
    findings: tuple[Any, ...]
    compared: tuple[Compared, ...]

    @property
    def cells(self) -> list[tuple[str, Markup]]:
        """The labels of each cell that others do not share, and its printed text."""
        return [(cell.where or "all", as_printed(cell.text or "nothing")) for cell in self.table.cells]


@dataclass(frozen=True)
class ExperimentPage:
    """An experiment file, with what was run of it."""

    path: Path
    page: str
    experiment: Experiment
    command: str
    run: str
    settings: tuple[tuple[str, str, str], ...]
    tables: tuple[tuple[str, str], ...]
    picture: Path | None

    @property
    def shape(self) -> str:
        """The numbers of settings, seeds and rounds, in words."""
        plan, search = self.experiment.plan, self.experiment.checked.search
        number = (
            f"a search of {sum(len(stage.values) for stage in search.stages)} settings"
            if search
            else f"{len(self.experiment.points())} settings"
        )
        return f"{number}, {len(plan.seeds)} {'seed' if len(plan.seeds) == 1 else 'seeds'}, {plan.rounds} rounds"

    @property
    def copied(self) -> str:
        """The name of the picture among the report's."""
        return f"{Path(self.page).stem}{self.picture.suffix}" if self.picture else ""


@cache
def experiments_page() -> bool:
    """Whether the experiments are there: they are part of the project's sources, not of an installed package."""
    try:
        return folder().is_dir()
    except FileNotFoundError:
        return False


def page_of(path: Path) -> str:
    """Return the place of an experiment's page in the folder.

    >>> page_of(Path("experiments/fast/table2.cifar10.toml"))
    'experiments/fast.table2.cifar10.html'
    """
    return f"experiments/{path.parent.name}.{path.stem}.html"


def page_of_table(table: Table) -> str:
    """Return the place of a printed table's page in the folder."""
    edition = "" if table.edition == "main" else f"{table.edition}."
    return f"tables/{table.paper}.{edition}table{table.number}.html"


def papers_with_tables() -> list[str]:
    """List the papers that have a folder of experiments."""
    return sorted(path.name for path in folder().iterdir() if path.is_dir()) if experiments_page() else []


@cache
def files() -> tuple[tuple[Path, Experiment], ...]:
    """Every experiment file, read."""
    return tuple((path, read_experiment(path)) for path in experiment_files()) if experiments_page() else ()


def table_pages() -> Iterator[TablePage]:
    """A page for each printed table."""
    for paper in papers_with_tables():
        found = check(paper)
        for table in tables(paper):
            about = tuple(finding for finding in found if table.number in _numbers(finding.tables))
            yield TablePage(table, page_of_table(table), about, tuple(_compared(table)))


def as_printed(text: str) -> Markup:
    """A printed number, in bold where it is printed so.

    >>> print(as_printed("**67.6** (+0.9)"))
    <b>67.6</b> (+0.9)
    """
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(text))))


def _numbers(text: str) -> list[str]:
    """The numbers of tables in words such as "Tables 2 and D.6.1".

    >>> _numbers("Table D.6.1, Table 2.")
    ['Table', 'D.6.1', 'Table', '2']
    """
    return [word.rstrip(".") for word in re.findall(r"[\w.]+", text)]


def _compared(table: Table) -> Iterator[Compared]:
    read = (
        (path, experiment, content)
        for path, experiment in files()
        if path.parent.name == table.paper
        and any((like.table, like.edition) == (table.number, table.edition) for like in experiment.checked.likeness)
        and (content := read_current(path, experiment)) is not None
    )
    yield from map(_beside, parts_of(table, read))


def _beside(part: Part) -> Compared:
    units = sorted({cell.cell.measure.unit for cell in part.cells})
    return Compared(
        part.experiment.checked.title,
        page_of(part.path),
        tuple(part.likeness.by),
        ", ".join(units),
        tuple(_row(part.likeness, cell) for cell in part.cells),
        tuple(part.pairs),
    )


def _row(likeness: Likeness, cell: Beside) -> Row:
    labels = tuple(cell.labels.get(label, "all") for label in likeness.by)
    if not cell.values:
        return Row(labels, as_printed(cell.cell.text), NOT_RUN, NOT_RUN, "none")
    off = "not a number" if cell.cell.value is None else f"{cell.mean - float(cell.cell.value):+.2f}"
    return Row(
        labels, as_printed(cell.cell.text), number(cell.mean, cell.deviation), off, ", ".join(map(str, cell.values))
    )


def experiment_pages() -> Iterator[ExperimentPage]:
    """A page for each experiment file."""
    for path, experiment in files():
        content = read_current(path, experiment)
        picture = published(path).parent / figure_name(path)
        yield ExperimentPage(
            path,
            page_of(path),
            experiment,
            f"fedtheory run experiments/{path.parent.name}/{path.name}",
            _run(content),
            tuple(_settings(content)),
            tuple(_likenesses(path, experiment)),
            picture if picture.exists() else None,
        )


def _run(content: Mapping[str, Any] | None) -> str:
    if content is None:
        return NOT_RUN
    units = sum(len(row["seeds"]) for row in content["settings"])
    return f"{units} runs, which took {duration(content['seconds'])}, at {', '.join(content['commits'])}"


def _settings(content: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the seeds and the statistics of each setting that was run."""
    for row in content["settings"] if content else ():
        told = [f"{name} {_statistic(value)}" for name, value in row.get("statistics", {}).items()]
        yield row["name"], ", ".join(map(str, row["seeds"])), "; ".join(told) or "none"


def _statistic(value: Any) -> str:
    if isinstance(value, Mapping) and isinstance(value.get("mean"), (int, float)):
        return f"{value['mean']:.4g}"
    return f"{value:.4g}" if isinstance(value, (int, float)) else "not a number"


def _likenesses(path: Path, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """The printed tables that it stands beside, with their pages."""
    wanted = {(each.table, each.edition) for each in experiment.checked.likeness}
    for table in tables(path.parent.name):
        if (table.number, table.edition) in wanted:
            yield table.name, page_of_table(table)
