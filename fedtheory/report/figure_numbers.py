"""The numbers of a figure: what its lines, bands, bars, markers and maps show, read off the figure itself."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from matplotlib.ticker import FixedFormatter

DIGITS = 6
"""Significant digits that are written: a thousandth of what is seen."""
GENERATED = ("_child", "_container", "_nolegend_")
"""Beginnings of the names that matplotlib gives to what has no name."""


class Row(NamedTuple):
    """One number of a figure.

    Attributes:
        panel: from 1, row by row.
        series: what the line, band, bar or map is called; that of a legend, or one that no legend shows.
        x, y: where; y only in maps.
        value: the number.
        low, high: of a band or an interval.
    """

    panel: int
    series: str
    x: float | str
    y: float | str = ""
    value: float | str = ""
    low: float | str = ""
    high: float | str = ""


def numbers(figure: Figure) -> list[Row]:
    """Read every number that the figure shows, panel by panel. Cells of an image that are 0 are left out.

    >>> import fedtheory as ft
    >>> bound = ft.claim("fast.thm2").evaluate(
    ...     smoothness=1, strong_convexity=1, gradient_noise=0, dissimilarity=0, initial_distance=1, cohort=1,
    ...     arbitrary_cohort=1, local_steps=1, local_lr=1 / 40, snapshot_probability=1, rounds=[1, 2])
    >>> [(row.series, row.x, round(row.value, 4)) for row in numbers(ft.plot(bound))]
    [('bound', 1.0, 0.9753), ('bound', 2.0, 0.9512)]
    """
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>" and axes.get_visible()]
    return [row for number, axes in enumerate(panels, 1) for row in _of_axes(axes, number)]


def nameless(figure: Figure) -> list[str]:
    """List the parts of a figure that show numbers and have no name, so that ``numbers`` leaves them out."""
    found = []
    for axes in figure.axes:
        held = {child for container in axes.containers for child in container.get_children()}
        lines = [line for line in axes.lines if line not in held and not _name(line.get_label())]
        found += [str(line) for line in lines if len(np.asarray(line.get_xydata())) > 2]
        found += [
            str(each) for each in axes.collections if isinstance(each, PolyCollection) and not _name(each.get_label())
        ]
    return found


def csv_text(rows: list[Row]) -> str:
    """Write the rows as CSV, a header first.

    Rows at places next to each other may differ in ``x`` alone. Of them the first and the last are written: between
    them a line is level, a map of one colour.

    >>> print(csv_text([Row(1, "bound", float(x), value=1 / 3) for x in range(9)]))
    panel,series,x,y,value,low,high
    1,bound,0,,0.333333,,
    1,bound,8,,0.333333,,
    <BLANKLINE>
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    for level in _levels(rows):
        ends = level[:1] + level[1:][-1:]
        writer.writerows([_written(entry) for entry in row] for row in ends)
    return text.getvalue()


def _levels(rows: list[Row]) -> Iterator[list[Row]]:
    """The rows, those together that differ in ``x`` alone as written, at places that follow each other in the panel."""
    places: dict[int, set[float]] = {}
    for row in rows:
        if not isinstance(row.x, str):
            places.setdefault(row.panel, set()).add(row.x)
    order = {panel: {x: n for n, x in enumerate(sorted(known))} for panel, known in places.items()}

    def alike(numbered: tuple[int, Row]) -> tuple[Any, ...]:
        n, row = numbered
        before = -1 if isinstance(row.x, str) else order[row.panel][row.x]  # names are alone: n differs
        return (n - before, *map(_written, row._replace(x="")))

    for _, group in itertools.groupby(enumerate(rows), alike):
        yield [row for _, row in group]


def _written(entry: float | str) -> str:
    return entry if isinstance(entry, str) else f"{float(entry):.{DIGITS}g}"


def _name(label: object) -> str:
    """The name of something that may be kept out of the legend by a line below its first letter; "" if it has none."""
    text = str(label)
    return "" if text.startswith(GENERATED) else text.removeprefix("_").replace("\n", " ")


def _of_axes(axes: Axes, panel: int) -> Iterator[Row]:
    held = {child for container in axes.containers for child in container.get_children()}
    for line in axes.lines:
        if line not in held and (name := _name(line.get_label())) and len(np.asarray(line.get_xydata())):
            yield from _of_line(line, panel, name)
    for container in axes.containers:
        if isinstance(container, BarContainer):
            yield from _of_bars(axes, container, panel)
        elif isinstance(container, ErrorbarContainer):
            yield from _of_intervals(axes, container, panel)
    for patch in axes.patches:
        if isinstance(patch, StepPatch) and (name := _name(patch.get_label())):
            values, edges, _ = patch.get_data()
            yield from (
                Row(panel, name, (a + b) / 2, value=value)
                for value, a, b in zip(values, edges[:-1], edges[1:], strict=True)
            )
    for each in axes.collections:
        if isinstance(each, QuadMesh):
            yield from _of_map(axes, each, panel)
        elif isinstance(each, PolyCollection) and (name := _name(each.get_label())):
            yield from _of_band(each, panel, name)
    for image in axes.images:
        yield from _of_image(image, panel)


def _of_line(line: Line2D, panel: int, name: str) -> Iterator[Row]:
    x, y = np.asarray(line.get_xydata(), dtype=float).T.tolist() or ([], [])
    yield from (Row(panel, name, a, value=b) for a, b in zip(x, y, strict=True) if np.isfinite(b))


def _of_bars(axes: Axes, bars: BarContainer, panel: int) -> Iterator[Row]:
    lying = bars.orientation == "horizontal"
    names = _tick_names(axes.yaxis if lying else axes.xaxis)
    for bar in bars:
        at = float(bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2)
        value = float(bar.get_width() if lying else bar.get_height())
        yield Row(panel, _name(bars.get_label()) or "bar", _named_place(names, at), value=value)


def _of_intervals(axes: Axes, container: ErrorbarContainer, panel: int) -> Iterator[Row]:
    """Yield the rows of values with intervals; lying ones stand at places that may have names."""
    data, _, bars = container.lines
    ends = bars[0].get_segments() if bars else []
    name = _name(container.get_label()) or _name(data.get_label()) or "interval"
    lying = bool(container.has_xerr)
    names = _tick_names(axes.yaxis) if lying else {}
    for n, point in enumerate(np.asarray(data.get_xydata(), dtype=float)):
        at, value = (point[1], point[0]) if lying else (point[0], point[1])
        interval = sorted(ends[n][:, 0 if lying else 1]) if n < len(ends) and len(ends[n]) else ["", ""]
        yield Row(panel, name, _named_place(names, at), "", value, *interval)


def _tick_names(axis: Axis) -> dict[float, str]:
    """Return the names of an axis that has names in place of numbers, by place."""
    if not isinstance(axis.get_major_formatter(), FixedFormatter):
        return {}
    texts = [text.get_text().strip().replace("\n", " ") for text in axis.get_ticklabels()]
    return dict(zip(map(float, axis.get_ticklocs()), texts, strict=True))


def _named_place(names: Mapping[float, str], at: float) -> float | str:
    return next((text for tick, text in names.items() if abs(tick - at) < 0.5), at)


def _of_map(axes: Axes, mesh: QuadMesh, panel: int) -> Iterator[Row]:
    corners, values = np.asarray(mesh.get_coordinates()), np.asarray(mesh.get_array())
    x, y = _middles(corners[0, :, 0], axes.get_xscale()), _middles(corners[:, 0, 1], axes.get_yscale())
    name = _name(mesh.get_label()) or "map"
    for row, column in np.ndindex(*values.shape):
        yield Row(panel, name, float(x[column]), float(y[row]), float(values[row, column]))


def _middles(edges: np.ndarray, scale: str) -> np.ndarray:
    return np.asarray(np.sqrt(edges[1:] * edges[:-1]) if scale == "log" else (edges[1:] + edges[:-1]) / 2)


def _of_band(band: PolyCollection, panel: int, name: str) -> Iterator[Row]:
    """Yield the rows of a band between two curves: its outline runs along one of them and back along the other."""
    for path in band.get_paths():
        outline = np.asarray(path.vertices)
        half = (len(outline) - 3) // 2
        there, back = outline[1 : half + 1], outline[half + 2 : 2 * half + 2][::-1]
        for (x, one), (_, other) in zip(there, back, strict=True):
            yield Row(panel, name, float(x), low=float(min(one, other)), high=float(max(one, other)))


def _of_image(image: AxesImage, panel: int) -> Iterator[Row]:
    values = np.asarray(image.get_array(), dtype=float)
    name = _name(image.get_label()) or "image"
    for row, column in zip(*np.nonzero(values), strict=True):
        yield Row(panel, name, float(column), float(row), float(values[row, column]))
