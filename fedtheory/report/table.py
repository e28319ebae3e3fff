"""A printed table beside what our runs give in its place."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..experiments.theirs_and_ours import Beside
from .colours import MEASURED, PRINTED
from .style import finish, panels, styled


@styled()
def plot_table(cells: Sequence[Beside], title: str) -> Figure:
    """Draw one line a cell: the printed number with its printed spread, and the mean over our seeds.

    Our mean has their standard deviation. What was not run has no number of ours.

    Args:
        cells: as ``experiments.theirs_and_ours.beside`` gives them.
        title: above.

    Raises:
        ValueError: no cell has both numbers.
    """
    shown = [cell for cell in cells if cell.cell.value is not None]
    if not any(cell.values for cell in shown):
        raise ValueError("cells: none has a printed number and one of ours; allowed is a table that was run")
    figure, (axes,) = panels(6.4, 1.3 + 0.24 * len(shown))
    unit = shown[0].cell.measure.unit
    rows: tuple[tuple[dict[str, Any], list[float], list[float], float], ...] = (
        (
            {"color": PRINTED, "marker": "o", "mfc": "none", "label": "printed"},
            [float(cell.cell.value or 0) for cell in shown],
            [float(cell.cell.spread or math.nan) for cell in shown],
            -0.15,
        ),
        (
            {"color": MEASURED, "marker": "s", "label": "ours, mean and deviation over seeds"},
            [cell.mean for cell in shown],
            [cell.deviation for cell in shown],
            0.15,
        ),
    )
    for looks, values, spreads, shift in rows:
        places = np.arange(len(shown)) + shift
        at = np.isfinite(values)
        wide = np.nan_to_num(np.array(spreads)[at])
        axes.errorbar(np.array(values)[at], places[at], xerr=wide, ls="", ms=4.5, elinewidth=1, **looks)
    names = [", ".join(f"{label} {value}" for label, value in cell.labels.items()) for cell in shown]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    measure = shown[0].cell.labels["measure"]
    finish(axes, "", f"{measure} [{unit}]", "", legend=False)
    figure.suptitle(textwrap.fill(title, 75), x=0.012, ha="left", fontsize=10)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
