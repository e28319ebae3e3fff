"""Style of every figure: colours by meaning, one style sheet, and how a figure is finished and saved.

Figures are made without pyplot, under matplotlib's defaults and the sheet, whatever the user's own settings are; those
are left alone.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.mathtext import MathTextParser

from ..claims.typeset import left_latex, mathtext
from ..files import write_beside
from ..functionals import Functional
from ..papers import papers
from ..quantities import DIMENSIONLESS, quantity
from .colours import EXACT

DASHED, DOTTED, MIXED = (0, (5, 2)), (0, (1.2, 1.6)), (0, (5, 1.6, 1.2, 1.6))

PRINTED_LINES: tuple[Any, ...] = ("-", DASHED, DOTTED)
REPAIRED_LINES: tuple[Any, ...] = (DASHED, MIXED, DOTTED, (0, (1, 3)))
"""Line styles of several bounds of one kind: they are told apart without colour too."""

GREYS = (EXACT, "#6b6b6b", "#ababab")
"""Exact values at several places."""

KEY, PALE = "0.3", "0.6"
"""Greys of lines of several colours in a legend, and of lines to compare with."""

LINES: tuple[Any, ...] = ("-", DASHED, DOTTED, MIXED)


def several(count: int, scale: Literal["cividis", "viridis"] = "cividis") -> list[str]:
    """Choose ``count`` colours for things of one kind beside each other, such as methods.

    They come from matplotlib's ``cividis``, or from ``viridis``, which has no greys, from dark to light. Both are safe
    for the colour-blind and keep their order in print. None has a meaning of its own.

    >>> several(2)
    ['#243c6e', '#d6c35d']
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    places = np.linspace(0.15, 0.85, count) if count > 1 else np.array([0.15])
    return [to_hex(colour) for colour in colormaps[scale](places)]


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
"""Changes of the style sheet for pictures of several panels."""


@contextmanager
def styled(**changes: Any) -> Iterator[None]:
    """Draw under ``SHEET`` with these changes: for ``with``, and a decorator."""
    with matplotlib.style.context(["default", SHEET | changes]):
        yield


def panels(width: float, height: float, columns: int = 1, rows: int = 1, **options: Any) -> tuple[Figure, list[Axes]]:
    """Make a figure of so many inches, and its axes, row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(np.ravel(figure.subplots(rows, columns, **options)))


def finish(
    axes: Axes, title: str, across: str, up: str, grid: bool = True, legend: bool = True, **options: Any
) -> None:
    """Set title, labels, grid, and a legend with these options where something has a label."""
    axes.set_title(title)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(grid)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(**options)


@cache
def functional_label(functional: Functional, rounds: str) -> str:
    """An axis's label: the left side with this letter for the rounds, or in words where matplotlib cannot typeset it,
    and the units."""
    formula = f"${mathtext(left_latex(functional, rounds))}$"
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


def in_words(name: str) -> str:
    """A name of the vocabulary as figures write it.

    >>> in_words("local_lr")
    'local step size'
    """
    return re.sub(r"\blr\b", "step size", name.replace("_", " "))


def quantity_label(name: str, paper: str) -> str:
    """An axis's label: the quantity, the paper's letter, the units."""
    known, symbol = quantity(name), _drawable(letter(name, paper))
    shown = "" if known.units == DIMENSIONLESS else f"  [{typeset_units(known.units)}]"
    return f"{in_words(name)}{f'  ${symbol}$' if symbol else ''}{shown}"


def covered(curve: np.ndarray, later: Sequence[np.ndarray], share: float = 1 / 3) -> dict[str, Any]:
    """Choose the style of a curve: wide and pale where a later curve hides it, so that both are seen.

    A curve is hidden where one that is drawn later runs within a twentieth of it, relatively, over at least ``share``
    of its points.

    >>> covered(np.ones(9), [np.ones(9)]), covered(np.ones(9), [np.full(9, 2.0)])
    ({'lw': 5.0, 'alpha': 0.45}, {})
    """
    with np.errstate(invalid="ignore"):
        near = any((np.abs(other - curve) <= 0.05 * np.abs(curve)).mean() >= share for other in later)
    return {"lw": 5.0, "alpha": 0.45} if near else {}


def scale(values: np.ndarray) -> str:
    """Return ``log`` where increasing values are > 0 and closer to evenly spaced in their logarithms than as they
    are."""
    if values[0] <= 0 or len(values) < 2 or (np.diff(values) <= 0).any():
        return "linear"

    def spread(steps: np.ndarray) -> float:
        return float(steps.max() / steps.min())

    return "log" if spread(np.diff(np.log(values))) < spread(np.diff(values)) else "linear"


DPI, COLOURS = 128, 128


@styled(**{"svg.hashsalt": "fedtheory"})
def save(figure: Figure, path: Path) -> None:
    """Write the figure whole or not at all, as PNG or SVG; the same figure gives the same file.

    A PNG is cut down to a fixed number of colours, the same from one drawing to the next.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer, kind = io.BytesIO(), path.suffix[1:]
    without: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=DPI, metadata=without)
    write_beside(path, smaller(buffer) if kind == "png" else buffer.getvalue())


def smaller(png: io.BytesIO) -> bytes:
    """Reduce a picture to at most ``COLOURS`` colours."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(png) as image:
        few = image.convert("RGB").quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


CHARACTERS = 19
"""The number of characters of a caption to an inch."""
SMALL, LINE_HEIGHT = 6.5, 0.118
"""Size of the letters of captions, in points, and distance of their lines, in inches."""
CAPTION = "caption"
WITHIN = "\u200a\n"
"""The break between two lines of one paragraph: a hair space, which is not seen, before the line's end."""


def caption_of(figure: Figure) -> str:
    """Return the caption below a figure; "" if there is none."""
    return "\n".join(text.get_text().replace(WITHIN, " ") for text in figure.texts if text.get_gid() == CAPTION)


def captioned(figure: Figure, *paragraphs: str) -> Figure:
    """Write these paragraphs below the figure, in lines that fit; the figure grows by as much.

    A caption that it has already comes before the last one.
    """
    width, height = figure.get_size_inches()
    said: list[str] = []
    for text in [text for text in figure.texts if text.get_gid() == CAPTION]:
        height -= _height(text.get_text())
        said += text.get_text().replace(WITHIN, " ").split("\n")
        text.remove()
    texts = [text for text in (*paragraphs[:-1], *said, *paragraphs[-1:]) if text]
    lines = (textwrap.wrap(text, int(width * CHARACTERS)) for text in texts)
    caption = "\n".join(WITHIN.join(each) for each in lines)
    if not caption:
        return figure
    below = _height(caption)
    figure.set_size_inches(width, height + below)
    share = below / (height + below)
    engine = figure.get_layout_engine()
    if engine is not None:
        bottom = share + sum(_share_of(legend, figure) for legend in figure.legends)
        engine.set(rect=(0, bottom, 1, 1 - bottom))  # type: ignore[call-arg]
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, share, 1, 1 - share), transform=figure.transFigure)
    figure.text(
        0.012,
        0.05 / (height + below),
        caption,
        fontsize=SMALL,
        color="0.25",
        va="bottom",
        linespacing=1.25,
        gid=CAPTION,
    )
    return figure


def _share_of(legend: Legend, figure: Figure) -> float:
    """Return the share of a figure's height that a legend below its panels needs."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    return float((legend.get_window_extent(renderer).height + 0.06 * figure.dpi) / figure.bbox.height)


def _height(caption: str) -> float:
    return LINE_HEIGHT * (caption.count("\n") + 1) + 0.12
