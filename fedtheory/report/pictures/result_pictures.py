"""Pictures of experiments' results, as they are kept beside the experiment files."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field, ValidationError, model_validator

from ...claims.evaluation import Bound
from ...claims.statement import Claim
from ...experiments.construction import setting
from ...experiments.grid import ONLY
from ...experiments.printed_tables import folder, tables
from ...experiments.published import read_current
from ...experiments.reading import Listed, Strict
from ...experiments.results import experiment_files, published
from ...experiments.schema import Experiment, read_experiment
from ...experiments.theirs_and_ours import beside
from ...files import read_json
from ...functionals import AVERAGES
from ...moments.mean_path import mean_path
from ...papers import claim
from ...quantities import QUANTITIES, nearest
from ...setting import Setting
from ...simulation import Run
from ..bound_figures import plot, values_said
from ..cost import plot_cost
from ..table import plot_table
from ..training import plot_curves
from .picture import Kind, Ref


class OfResults(Kind):
    """Base of the pictures of an experiment's results.

    Attributes:
        experiment: its file's paper and name, as ``flics/tableI.synthetic``.
    """

    seen: ClassVar[tuple[str, ...]] = ("likeness", "only", "of")
    experiment: str

    def sentences(self, name: str) -> list[str]:
        return [f"results of experiments/{self.experiment}.toml"] if name == "experiment" else super().sentences(name)

    def found(self) -> tuple[Experiment, Mapping[str, Any]]:
        """Find the experiment and its kept results.

        Raises:
            ValueError: there is no such experiment file, or it was not run.
        """
        files = {f"{path.parent.name}/{path.stem}": path for path in experiment_files()}
        if self.experiment not in files:
            raise ValueError(f"experiment = {self.experiment!r} is unknown; {nearest(self.experiment, files)}")
        path = files[self.experiment]
        experiment = read_experiment(path)
        content = read_current(path, experiment)
        if content is None:
            kept = [name for name, each in files.items() if published(each).exists()]
            raise ValueError(
                f"experiment = {self.experiment!r} has no kept results: allowed is one that was run with "
                f"`fedtheory run --publish`, such as {', '.join(kept) or 'none yet'}"
            )
        return experiment, content


class Curves(OfResults):
    """Accuracy curves: ``plot_curves``.

    Attributes:
        only: a pattern that the settings' names have to match.
        of: what was watched.
    """

    kind: Literal["curves"] = "curves"
    only: str = "*"
    of: str = "test_accuracy"

    def drawn(self) -> Figure:
        experiment, content = self.found()
        rows = [row for row in content["settings"] if fnmatch.fnmatchcase(row["name"], self.only)]
        if not rows:
            raise ValueError(
                f"only = {self.only!r}: allowed is a pattern of settings that were run, such as "
                f"{', '.join(repr(row['name']) for row in content['settings'][:3])}"
            )
        return plot_curves({**content, "settings": rows}, experiment.grid_labels, self.of, experiment.first_label)


class PrintedTable(OfResults):
    """A printed table beside our results: ``plot_table``.

    Attributes:
        likeness: which of the experiment file's, from 0.
    """

    kind: Literal["table"] = "table"
    likeness: int = Field(default=0, ge=0)

    def drawn(self) -> Figure:
        experiment, content = self.found()
        several = experiment.checked.likeness
        if self.likeness >= len(several):
            raise ValueError(f"likeness = {self.likeness}: allowed is 0 to {len(several) - 1}")
        one = several[self.likeness]
        paper = self.experiment.split("/")[0]
        table = next(each for each in tables(paper) if (each.number, each.edition) == (one.table, one.edition))
        return plot_table(beside(experiment, content, one, table), f"Table {table.number}: {experiment.checked.title}")


class MeasuredBounds(OfResults):
    """Bounds of a theorem's editions on a setting that was run, a proven interval of its error, and what was measured.

    The bounds are evaluated with the constants that the federation proves, and the interval is that of ``mean_path``:
    neither is of the runs. Hypotheses about quantities of the run are undecided here.

    Attributes:
        of: the setting's name.
        printed, repaired: the editions, about one functional.
    """

    seen = (*OfResults.seen, "printed", "repaired")
    kind: Literal["measured_bounds"] = "measured_bounds"
    of: str = ONLY
    printed: Listed[Ref] = ()
    repaired: Listed[Ref] = ()

    @model_validator(mode="after")
    def _check(self) -> MeasuredBounds:
        names = {claim(ref).functional.name for ref in self.claims()}
        if len(names) != 1:
            raise ValueError(f"printed and repaired are about {len(names)} functionals: allowed is one")
        return self

    def claims(self) -> tuple[str, ...]:
        return (*self.printed, *self.repaired)

    def drawn(self) -> Figure:
        experiment, content = self.found()
        rows = {row["name"]: row for row in content["settings"]}
        if self.of not in rows:
            raise ValueError(f"of = {self.of!r} was not run; {nearest(self.of, rows)}")
        made = setting(next(point.content for point in experiment.points() if point.name == self.of))
        run, average = _kept_run(rows[self.of]), _shared_average([claim(ref) for ref in self.claims()])
        places = run.rounds[run.rounds > 0]
        printed, repaired = (
            [_bound(claim(ref), made, places) for ref in refs] for refs in (self.printed, self.repaired)
        )
        first = (printed or repaired)[0]
        functional = first.statement.functional
        low, high = mean_path(made, int(places[-1])).interval(functional, places, average)
        exact = {"proven floor of the error": low, "proven ceiling of the error": high}
        below = f"Constants: {values_said(first, without={'rounds'})}."
        measured = f"measured ({next(iter(rows[self.of]['statistics'].values()))['runs']} runs)"
        return plot(printed, exact, run, repaired=repaired, average=average, measured=measured, below=below)


def _kept_run(row: Mapping[str, Any]) -> Run:
    """The recorded curves of a setting as a run, one replica a seed: means over the runs of a seed."""
    curves = {name: np.array(each, dtype=float) for name, each in row["curves"].items() if name != "rounds"}
    seeds = len(row["seeds"])
    return Run(np.array(row["curves"]["rounds"]), curves, {}, np.full(seeds, -1))


def _shared_average(statements: list[Claim]) -> str:
    """The first range of iterates over which all of these statements may be read to average."""
    allowed = [{reading["average"] for reading in each.readings() if "average" in reading} for each in statements]
    return next((each for each in AVERAGES if all(each in some for some in allowed if some)), AVERAGES[0])


def _bound(statement: Claim, made: Setting, places: np.ndarray) -> Bound:
    """The right side at these rounds; hypotheses that ask for quantities of the run are undecided."""
    of_runs = {name for name in statement.quantities if QUANTITIES[name].scope in ("run", "server run")}
    bound = statement.at(made, rounds=places, **dict.fromkeys(of_runs, 0.0))
    undecided = {
        each.name for each in statement.hypotheses if of_runs & {symbol.name for symbol in each.relation.free_symbols}
    }
    slack = {name: None if name in undecided else value for name, value in bound.slack.items()}
    shown = {name: value for name, value in bound.quantities.items() if name not in of_runs}
    value = np.broadcast_to(np.asarray(bound.value, dtype=float), places.shape)
    return replace(bound, value=value, slack=slack, quantities=shown | {"rounds": places})


class Timed(Strict):
    """A panel of kept times: what the size is, and pairs of a size and a time by the way's name."""

    across: str = Field(min_length=1)
    curves: dict[str, Listed[Listed[float]]] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Timed:
        for name, pairs in self.curves.items():
            if not pairs or any(len(pair) != 2 or min(pair) <= 0 for pair in pairs):
                raise ValueError(f"curves.{name}: allowed are pairs of a size > 0 and a time > 0, at least one")
        return self


class Times(Strict):
    """Times that a benchmark keeps."""

    up: str = Field(min_length=1)
    machine: str = Field(min_length=1)
    panels: Listed[Timed] = Field(min_length=1)


class Cost(Kind):
    """Running times against size: ``plot_cost``.

    Attributes:
        results: the file that a benchmark kept, from the project's folder on.
    """

    kind: Literal["cost"] = "cost"
    results: str

    def found(self) -> Times:
        """Read the kept times.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is no such file, or a part of it is missing or out of bounds; it is named.
        """
        path = folder().parent / self.results
        if not path.is_file():
            raise FileNotFoundError(f"results = {self.results!r}: there is no such file; benchmarks write it")
        try:
            return Times.model_validate(read_json(path))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise ValueError(f"results = {self.results!r}: {where}: {first['msg']}") from None

    def sentences(self, name: str) -> list[str]:
        return [f"times of {self.results}, measured on {self.found().machine}"]

    def drawn(self) -> Figure:
        found = self.found()
        return plot_cost({panel.across: panel.curves for panel in found.panels}, found.up)


KINDS = (Curves, PrintedTable, MeasuredBounds, Cost)
