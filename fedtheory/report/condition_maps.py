"""Maps of the snapshot probabilities that a claim's conditions allow, over two quantities.

A second figure shows the probabilities that conditions allow at a point, beside where runs settle with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..claims.arithmetic import compiled
from ..claims.statement import Claim
from ..evidence.consistency import KINDS, SLIVER, Map
from .colours import EXACT, PRINTED, REPAIRED
from .style import BELOW, LARGE, finish, letter, panels, quantity_label, scale, several, styled

COLOURS = ("#ffffff", *several(4))
"""One colour a kind, from no room (dark) to all (light); white where another hypothesis fails."""

TEXTS = {
    "ruled out": "another hypothesis fails",
    "none": "no q is allowed",
    "sliver": f"less than {100 * SLIVER:g} % of [0, 1]",
    "interval": "part of [0, 1]",
    "everything": "every q is allowed",
}


@styled()
def plot_maps(*maps: Map, title: str = "") -> Figure:
    """Draw the kinds of one or two maps, side by side, as colours over their two quantities, 800 pixels wide.

    Each panel says the least q allowed on its grid and the values of the other quantities, the legend each panel's
    shares.

    An axis is logarithmic where its values are > 0 and closer to evenly spaced in their logarithms than as they are.

    Raises:
        ValueError: there is no map, or more than two, or an axis has fewer than two values, or they do not increase.

    >>> from fedtheory.papers import claim
    >>> from fedtheory.evidence.consistency import q_map
    >>> found = q_map(claim("fast.thm2@appendix"), ("local_lr", [0.001, 0.01, 0.1]), ("strong_convexity", [0.5, 1]),
    ...               dict(smoothness=1, local_steps=1, cohort=1, arbitrary_cohort=1))
    >>> plot_maps(found).axes[0].get_xlabel()
    'local step size  $\\\\eta_c$  [x$^{2}$/F]'
    """
    if len(maps) not in (1, 2):
        raise ValueError(f"maps = {len(maps)} of them: allowed is one or two")
    figure, both = panels(8, 5.4, columns=len(maps))
    for axes, found in zip(both, maps, strict=True):
        _draw_map(axes, found, wide=len(maps) == 1)
    figure.suptitle(title or "Snapshot probabilities q that the hypotheses allow", x=0.01, ha="left", fontsize=13)
    handles = [
        Patch(
            facecolor=colour,
            edgecolor="0.5",
            lw=0.6,
            label=f"{TEXTS[kind]}: {', '.join(percent(found.shares[kind]) for found in maps)}",
        )
        for kind, colour in zip(KINDS, COLOURS, strict=True)
        if any(found.shares[kind] for found in maps)
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2,
        fontsize=11,
        title="with its share of the left panel, of the right one" if len(maps) == 2 else "with its share of the panel",
    )
    return figure


def _draw_map(axes: Axes, found: Map, wide: bool) -> None:
    for name, values in (found.x, found.y):
        if len(values) < 2 or not np.all(np.diff(values) > 0):
            raise ValueError(f"{name} = {values}: allowed are at least two increasing values")
    paper = found.claim.split(".")[0]
    scales = [scale(values) for _, values in (found.x, found.y)]
    edges = [cell_edges(values, kind) for (_, values), kind in zip((found.x, found.y), scales, strict=True)]
    axes.pcolormesh(*edges, found.kinds, cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=len(KINDS) - 0.5)
    axes.set(xscale=scales[0], yscale=scales[1])
    axes.spines[:].set_visible(True)
    axes.tick_params(labelsize=10)
    least = "none" if np.isnan(found.least).all() else f"{np.nanmin(found.least):.4g}"
    lines = [f"{found.claim}, least q shown: {least}", *_wrapped(_fixed(found, paper), 9 if wide else 4)]
    finish(axes, "\n".join(lines), quantity_label(found.x[0], paper), quantity_label(found.y[0], paper), grid=False)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(11)


def _wrapped(parts: list[str], per_line: int) -> list[str]:
    return [",  ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]


def _fixed(found: Map, paper: str) -> list[str]:
    """The other quantities, in the paper's letters where it has them."""
    letters = {name: letter(name, paper) for name in found.fixed}
    return [f"{f'${letters[n]}$' if letters[n] else n} = {float(v):g}" for n, v in found.fixed.items()]


def percent(share: float) -> str:
    """Write a share in per cent: one that is not 0 is not shown as 0 %, nor one that is not 1 as 100 %."""
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{share:.0%}".replace("%", " %")


def cell_edges(values: np.ndarray, scale: str) -> np.ndarray:
    """The cells' edges: halfway between the values, on the axis's own scale."""
    at = np.log(values) if scale == "log" else values
    middle = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.exp(edges) if scale == "log" else edges


def largest_q(claim: Claim, hypothesis: str, **values: float | np.ndarray) -> np.ndarray:
    """Compute the right side of a claim's literal condition q <= ... at these values; what it does not use is left out.

    >>> from fedtheory.papers import claim
    >>> values = dict(smoothness=1, local_steps=1, server_lr=0.01, dissimilarity=0)
    >>> float(largest_q(claim("safari.thm4"), "q_condition", peak_server_gradient=1, peak_arbitrary_pseudogradient=0,
    ...                 **values))
    1.0
    """
    return compiled(claim.hypothesis(hypothesis).relation.rhs)(_arrays(values))


def largest_q_by_product(claim: Claim, hypothesis: str, **values: float | np.ndarray) -> np.ndarray:
    """The q at which the slack of a condition, linear in q, vanishes."""
    slack = compiled(claim.hypothesis(hypothesis).slack)
    at_0, at_1 = (slack(_arrays(values) | {"client_round_probability": np.float64(q)}) for q in (0, 1))
    return at_0 / (at_0 - at_1)


def _arrays(values: dict[str, float | np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value, dtype=float) for name, value in values.items()}


@dataclass(frozen=True)
class Allowed:
    """Largest q that conditions allow at each of the points ``x``: a panel of ``plot_allowed``.

    Attributes:
        title, up: what the panel shows.
        area: one condition's largest q, for an area. Where it is negative the condition, read as a quotient, allows no
            q, and multiplied out every q.
        printed, derived: largest q by label, for lines.
    """

    title: str
    up: str
    x: np.ndarray
    area: np.ndarray | None = None
    printed: Sequence[tuple[str, np.ndarray]] = ()
    derived: Sequence[tuple[str, np.ndarray]] = ()


@styled(**LARGE)
def plot_allowed(left: Allowed, right: Allowed, settles: tuple[str, np.ndarray, np.ndarray]) -> Figure:
    """Draw the q that two conditions allow at a point x, and where a run with this q settles.

    ``settles`` is (label, x, q).
    """
    figure, both = panels(10, 5, columns=2)
    for axes, shown in zip(both, (left, right), strict=True):
        last = float(np.round(shown.x[-1]))
        if shown.area is not None:
            positive = shown.area >= 0
            axes.fill_between(
                shown.x,
                0,
                np.where(positive, np.minimum(shown.area, 1), 0),
                color=PRINTED,
                alpha=0.18,
                lw=0,
                label="allowed at x",
            )
            axes.axvspan(
                float(shown.x[~positive].min()), last, color="0.88", lw=0, label="quotient: none, product: all"
            )
        for (label, q), line in zip(shown.printed, ("-", "--", ":"), strict=False):
            axes.plot(shown.x, q, color=PRINTED, ls=line, label=label)
        for label, q in shown.derived:
            axes.plot(shown.x, q, color=REPAIRED, label=label)
        label, x, q = settles
        axes.plot(x, q, color=EXACT, label=label)
        finish(axes, shown.title, "x", shown.up, **BELOW)
        axes.set(xlim=(0, last), ylim=(0, 1))
    return figure
