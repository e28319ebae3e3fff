"""Where a claim leaves room for the snapshot probability, in one picture."""

from __future__ import annotations

import re
from collections.abc import Mapping

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..evidence.consistency import KINDS, SLIVER, Map, q_map
from ..papers import claim, papers
from ..quantities import DIMENSIONLESS, quantity

COLOURS = ("#d9d9d9", "#b2182b", "#f4a582", "#92c5de", "#2166ac")
"""One colour a kind, from no room (red) to all (blue); grey where another hypothesis fails."""

TEXTS = {
    "ruled out": "another hypothesis fails",
    "none": "no q is allowed",
    "sliver": f"less than {100 * SLIVER:g} % of [0, 1]",
    "interval": "part of [0, 1]",
    "everything": "every q is allowed",
}


def plot_maps(*maps: Map, title: str = "") -> Figure:
    """The kinds of one or two maps, side by side, as colours over their two quantities, 800 pixels wide. Each panel
    says the least q allowed on its grid and the values of the other quantities, the legend each panel's shares.

    An axis is logarithmic where its values are > 0 and closer to evenly spaced in their logarithms than as they are.

    Raises:
        ValueError: there is no map, or more than two, or an axis has fewer than two values, or they do not increase.

    >>> from fedtheory.papers import claim
    >>> from fedtheory.evidence.consistency import q_map
    >>> found = q_map(claim("fast.thm2@appendix"), ("local_lr", [0.001, 0.01, 0.1]), ("strong_convexity", [0.5, 1]),
    ...               dict(smoothness=1, local_steps=1, cohort=1, arbitrary_cohort=1))
    >>> plot_maps(found).axes[0].get_xlabel()
    'local_lr  $\\\\eta_c$  [x$^{2}$/F]'
    """
    if len(maps) not in (1, 2):
        raise ValueError(f"maps = {len(maps)} of them: allowed is one or two")
    figure = Figure(figsize=(8, 5.4), dpi=100, layout="constrained")
    for axes, found in zip(np.ravel(figure.subplots(1, len(maps))), maps, strict=True):
        _draw(axes, found, wide=len(maps) == 1)
    figure.suptitle(title or "Snapshot probabilities q that the hypotheses allow", x=0.01, ha="left", fontsize=13)
    handles = [
        Patch(facecolor=colour, label=f"{TEXTS[kind]}: {', '.join(_percent(found.shares[kind]) for found in maps)}")
        for kind, colour in zip(KINDS, COLOURS, strict=True)
        if any(found.shares[kind] for found in maps)
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=11,
        title="with its share of the left panel, of the right one" if len(maps) == 2 else "with its share of the panel",
    )  # fmt: skip
    return figure


def fast_maps() -> Figure:
    """Theorem 2 of FAST as its appendix states it, which allows a q only in a sliver below 1, and Theorem 1, whose
    condition allows more or less of [0, 1] with what G_1 remembers of the start."""
    theorem_2 = q_map(
        claim("fast.thm2@appendix"),
        ("local_lr", np.geomspace(1e-4, 1, 49)), ("strong_convexity", np.geomspace(1e-3, 1, 37)),
        dict(smoothness=1, local_steps=1, cohort=1, arbitrary_cohort=1),
    )  # fmt: skip
    theorem_1 = q_map(
        claim("fast.thm1@main"),
        ("dissimilarity", np.geomspace(0.01, 100, 49)), ("peak_full_pseudogradient", np.geomspace(0.01, 1e4, 37)),
        dict(smoothness=1, local_steps=1, local_lr=1 / 16, cohort=2, arbitrary_cohort=1,
             peak_arbitrary_pseudogradient=1, peak_cohort_pseudogradient=1),
    )  # fmt: skip
    return plot_maps(theorem_2, theorem_1)


def _draw(axes: Axes, found: Map, wide: bool) -> None:
    for name, values in (found.x, found.y):
        if len(values) < 2 or not np.all(np.diff(values) > 0):
            raise ValueError(f"{name} = {values}: allowed are at least two increasing values")
    paper = found.claim.split(".")[0]
    scales = [_scale(values) for _, values in (found.x, found.y)]
    edges = [_edges(values, scale) for (_, values), scale in zip((found.x, found.y), scales, strict=True)]
    axes.pcolormesh(*edges, found.kinds, cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=len(KINDS) - 0.5)
    axes.set_xscale(scales[0])
    axes.set_yscale(scales[1])
    axes.set_xlabel(_label(found.x[0], paper), fontsize=11)
    axes.set_ylabel(_label(found.y[0], paper), fontsize=11)
    axes.tick_params(labelsize=10)
    least = "none" if np.isnan(found.least).all() else f"{np.nanmin(found.least):.4g}"
    lines = [f"{found.claim}, least q shown: {least}", *_wrapped(_fixed(found, paper), 9 if wide else 4)]
    axes.set_title("\n".join(lines), loc="left", fontsize=10)


def _wrapped(parts: list[str], per_line: int) -> list[str]:
    return [",  ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]


def _label(name: str, paper: str) -> str:
    known = quantity(name)
    letter = _letters(paper).get(name)
    units = re.sub(r"\^(\d+)", r"$^{\1}$", str(known.units))
    shown = "" if known.units == DIMENSIONLESS else f"  [{units}]"
    return f"{name}{f'  ${letter}$' if letter else ''}{shown}"


def _letters(paper: str) -> Mapping[str, str]:
    return papers()[paper].letters if paper in papers() else {}


def _fixed(found: Map, paper: str) -> list[str]:
    """The other quantities, in the paper's letters where it has them."""
    letters = _letters(paper)
    return [f"{f'${letters[n]}$' if n in letters else n} = {float(v):g}" for n, v in found.fixed.items()]


def _percent(share: float) -> str:
    """A share that is not 0 is not shown as 0 %, nor one that is not 1 as 100 %."""
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{share:.0%}".replace("%", " %")


def _scale(values: np.ndarray) -> str:
    if values[0] <= 0:
        return "linear"

    def spread(steps: np.ndarray) -> float:
        return float(steps.max() / steps.min())

    return "log" if spread(np.diff(np.log(values))) < spread(np.diff(values)) else "linear"


def _edges(values: np.ndarray, scale: str) -> np.ndarray:
    """The cells' edges: halfway between the values, on the axis's own scale."""
    at = np.log(values) if scale == "log" else values
    middle = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.exp(edges) if scale == "log" else edges
