"""Figure files: one TOML file a figure, with its kind and its data; reading, drawing and writing of figures.

paper = "fast"
title = "Theorem 1 on two clients"       # in lists
caption = "What is to be seen, in a sentence or two."
[figure]
kind = "bounds"                          # see ``report.pictures``; its other keys are the kind's

A figure is written as PNG (or SVG), with its numbers beside it as CSV. Both are computed from the file alone, so that
they can be deleted and drawn again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union

from matplotlib.figure import Figure
from pydantic import Field, create_model

from ..experiments.printed_tables import folder
from ..experiments.reading import Component, Strict, read_toml
from ..files import write_beside
from ..papers import all_claims
from .figure_files import figure_files
from .figure_numbers import csv_text, numbers
from .pictures import KINDS, Kind
from .style import captioned, save

FORMATS = ("png", "svg")


class FigureFileBase(Strict):
    """The entries of a file besides its figure.

    Attributes:
        paper: whose theorems or whose experiments it shows.
        title: one line.
        caption: what is to be seen.
    """

    paper: Component = ""
    title: str = Field(min_length=1)
    caption: str = Field(min_length=1)


@functools.cache
def model() -> Any:
    """The model of a figure file, of the kinds that there are."""
    kinds: Any = Annotated[Union[tuple(KINDS.values())], Field(discriminator="kind")]  # noqa: UP007 (made at run time)
    return create_model("FigureFile", __base__=FigureFileBase, figure=(kinds, ...))


@dataclass(frozen=True)
class FigureFile:
    """A checked figure file.

    Attributes:
        path: of the file.
        checked: its content.
    """

    path: Path
    checked: Any

    @property
    def name(self) -> str:
        """The name of the figure: the paper's and the file's.

        >>> read_figure(folder() / "fast" / "figures" / "thm1.toml").name
        'fast.thm1'
        """
        return ".".join(filter(None, [self.checked.paper, self.path.stem]))

    @property
    def kind(self) -> Kind:
        """The checked ``[figure]`` table."""
        return self.checked.figure  # type: ignore[no-any-return]

    @property
    def command(self) -> str:
        """The command line that draws the figure."""
        return f"fedtheory run {shown_path(self.path)}"

    def drawn(self) -> Figure:
        """The figure with its caption: what is to be seen, every parameter, and the command.

        Raises:
            ValueError: its data are missing, partial or out of range; the file is named.
        """
        try:
            figure = self.kind.drawn()
        except (ValueError, FileNotFoundError) as reason:
            raise type(reason)(f"{self.path}: {reason}") from None
        return captioned(figure, self.checked.caption, self.kind.said(), f"Drawn by {self.command}")


def shown_path(path: Path) -> str:
    """Write a path as captions do: from ``experiments`` on if it lies there."""
    root = folder().resolve()
    inside = path.resolve()
    return f"experiments/{inside.relative_to(root).as_posix()}" if inside.is_relative_to(root) else path.name


def read_figure(path: str | Path) -> FigureFile:
    """Read and check a figure file.

    Raises:
        ValueError: see ``experiments.reading.read_toml``: the file, the line, the key and what is allowed.
        FileNotFoundError: there is no such file.
    """
    return FigureFile(Path(path), read_toml(path, model()))


def draw(path: str | Path, into: Path | None = None, format: str = "png") -> Figure:
    """Draw the figure of a file; with ``into``, also write it there, its numbers beside it.

    Raises:
        ValueError: see ``read_figure`` and ``FigureFile.drawn``; another format.

    >>> figure = draw(folder() / "fedau" / "figures" / "inconsistency.toml")
    >>> figure.axes[0].get_xlabel()
    'local step size $\\\\gamma$'
    """
    if format not in FORMATS:
        raise ValueError(f"format = {format!r}: allowed is {' or '.join(FORMATS)}")
    file = read_figure(path)
    figure = file.drawn()
    if into is not None:
        save(figure, into / f"{file.name}.{format}")
        write_beside(into / f"{file.name}.csv", csv_text(numbers(figure)).encode())
    return figure


def written(path: Path, into: Path, format: str = "png") -> Path:
    """Draw a file into a folder; where the picture is."""
    draw(path, into, format)
    return into / f"{read_figure(path).name}.{format}"


def figures(into: Path, root: Path | None = None) -> dict[str, Callable[[], Path]]:
    """Return a function for every figure, by its name, that draws it into a folder."""
    return {read_figure(path).name: functools.partial(written, path, into) for path in figure_files(root)}


def figures_of_claims(into: Path) -> dict[str, Callable[[], Path]]:
    """Return the functions of ``figures`` for the figures that are named after a claim.

    >>> "fast.thm1" in figures_of_claims(Path("figures")), "fast.labels" in figures_of_claims(Path("figures"))
    (True, False)
    """
    ids = {statement.id for statement in all_claims()}
    return {name: drawn for name, drawn in figures(into).items() if name in ids}
