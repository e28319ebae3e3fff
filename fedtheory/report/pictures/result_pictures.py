"""Pictures of experiments' results, as they are kept beside the experiment files."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, Literal

from matplotlib.figure import Figure
from pydantic import Field, ValidationError, model_validator

from ...experiments.printed_tables import folder, tables
from ...experiments.published import read_current
from ...experiments.reading import Listed, Strict
from ...experiments.results import experiment_files, published
from ...experiments.schema import Experiment, read_experiment
from ...experiments.theirs_and_ours import beside
from ...files import read_json
from ...quantities import nearest
from ..cost import plot_cost
from ..table import plot_table
from ..training import plot_curves
from .picture import Kind


class OfResults(Kind):
    """Base of the pictures of an experiment's results.

    Attributes:
        experiment: its file's paper and name, as ``flics/tableI.synthetic``.
    """

    seen = ("likeness", "only", "of")
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


KINDS = (Curves, PrintedTable, Cost)
