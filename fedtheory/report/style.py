"""How every figure looks: colours by meaning, one style sheet, and how a figure is finished and saved.

Figures are made without pyplot, under matplotlib's defaults and the sheet, whatever the user's own settings are; those
are left alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser

from ..claims.typeset import mathtext
from ..files import write_beside
from ..functionals import Functional
from ..papers import papers
from ..quantities import DIMENSIONLESS, quantity

BOUND, EXACT, MEASURED, REPAIRED, SHARP = "#b2182b", "#1a1a1a", "#2166ac", "#2166ac", "#1b7837"
"""What is claimed; what is so; what was drawn; what holds in its place, and what is the best that does."""

SEVERAL = (BOUND, "#4d4d4d", MEASURED, SHARP, "#762a83")
"""Lines of one kind beside each other."""

GREYS = (EXACT, "#6b6b6b", "#ababab")
"""The same for exact errors."""

KEY, PALE = "0.3", "0.6"
"""What a legend shows of lines of several colours; lines to compare with."""

DASHED = (0, (3, 2))

BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15), "ncols": 2}
"""A legend below its panel."""

SHEET = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "grid.color": "0.9",
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}
LARGE = {"axes.titlesize": 11, "grid.color": "0.92"}
"""What pictures of several panels differ in."""


@contextmanager
def styled(**changes: Any) -> Iterator[None]:
    """Draw under ``SHEET`` with these changes: for ``with``, and a decorator."""
    with matplotlib.style.context(["default", SHEET | changes]):
        yield


def panels(width: float, height: float, columns: int = 1, rows: int = 1, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of so many inches, and its axes, row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(np.ravel(figure.subplots(rows, columns, **options)))


def finish(
    axes: Axes, title: str, across: str, up: str, grid: bool = True, legend: bool = True, **options: Any
) -> None:
    """Title, labels, grid, and a legend with these options where something has a label."""
    axes.set_title(title)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(grid)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(**options)


@cache
def functional_label(functional: Functional) -> str:
    """An axis's label: the left side as printed, or in words where matplotlib cannot typeset it, and the units."""
    formula = f"${mathtext(functional.latex)}$"
    try:
        MathTextParser("path").parse(formula)
    except ValueError:
        formula = functional.meaning.replace("$", r"\$")
    return f"{formula}   [{typeset_units(functional.units)}]"


def typeset_units(units: object) -> str:
    """Units with raised powers, as matplotlib draws them.

    >>> typeset_units("F^2/x^2")
    'F$^{2}$/x$^{2}$'
    """
    return re.sub(r"\^(-?\d+)", r"$^{\1}$", str(units))


def letter(name: str, paper: str) -> str:
    """A paper's letter for a quantity, as LaTeX; "" if it has none."""
    return papers()[paper].letters.get(name, "") if paper in papers() else ""


def _drawable(symbol: str) -> str:
    """LaTeX that matplotlib can draw; "" where it cannot."""
    try:
        MathTextParser("agg").parse(f"${symbol}$")
    except ValueError:
        return ""
    return symbol


def quantity_label(name: str, paper: str) -> str:
    """An axis's label: the quantity, the paper's letter, the units."""
    known, symbol = quantity(name), _drawable(letter(name, paper))
    words = re.sub(r"\blr$", "step size", name.replace("_", " "))
    shown = "" if known.units == DIMENSIONLESS else f"  [{typeset_units(known.units)}]"
    return f"{words}{f'  ${symbol}$' if symbol else ''}{shown}"


def covered(curve: np.ndarray, later: Sequence[np.ndarray]) -> dict[str, Any]:
    """How a curve is drawn: wide and pale where one that is drawn later runs within a twentieth of it, relatively, over
    at least a third of its points, so that both are seen.

    >>> covered(np.ones(9), [np.ones(9)]), covered(np.ones(9), [np.full(9, 2.0)])
    ({'lw': 5.0, 'alpha': 0.45}, {})
    """
    with np.errstate(invalid="ignore"):
        near = any((np.abs(other - curve) <= 0.05 * np.abs(curve)).mean() >= 1 / 3 for other in later)
    return {"lw": 5.0, "alpha": 0.45} if near else {}


def scale(values: np.ndarray) -> str:
    """``log`` where increasing values are > 0 and closer to evenly spaced in their logarithms than as they are."""
    if values[0] <= 0 or len(values) < 2 or (np.diff(values) <= 0).any():
        return "linear"

    def spread(steps: np.ndarray) -> float:
        return float(steps.max() / steps.min())

    return "log" if spread(np.diff(np.log(values))) < spread(np.diff(values)) else "linear"


@styled()
def save(figure: Figure, path: Path) -> None:
    """Write the figure whole or not at all; the same figure gives the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:], dpi=160, metadata={"Software": None})
    write_beside(path, buffer.getvalue())
