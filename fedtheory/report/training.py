"""Accuracy curves of training runs: a panel for each setting of a grid, a line for each method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import LINES, finish, panels, several, styled

COLUMNS = 4
"""Panels in a row."""


@styled()
def plot_curves(content: Mapping[str, Any], grid: Sequence[str], of: str = "test_accuracy") -> Figure:
    """The mean over seeds of what was watched, over the rounds, and between pale edges the least and the largest seed.

    Args:
        content: an experiment's results, as ``experiments.results.gathered`` gives them.
        grid: the labels that tell panels apart; what else a setting's name says tells lines apart.
        of: what was watched.

    Raises:
        ValueError: no setting was run, or ``of`` was not watched.
    """
    rows = [row for row in content["settings"] if of in row["curves"]]
    if not rows:
        raise ValueError(f"{content['file']}: no setting has curves of {of!r}")
    groups: dict[str, dict[str, Any]] = {}
    for row in rows:
        panel = ", ".join(f"{label}={row['labels'][label]}" for label in grid)
        groups.setdefault(panel, {})[row["name"].removesuffix(panel).rstrip(", ") or "all"] = row
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    looks = {
        name: (colour, LINES[k % len(LINES)])
        for k, (name, colour) in enumerate(zip(names, several(len(names)), strict=True))
    }
    columns = min(COLUMNS, len(groups))
    height = 3.2 * math.ceil(len(groups) / columns) + 0.3 * math.ceil(len(names) / columns)
    figure, all_axes = panels(
        max(6.0, 3.6 * columns), height, columns, math.ceil(len(groups) / columns), sharey=True, squeeze=False
    )
    for axes in all_axes[len(groups) :]:
        axes.set_visible(False)
    for axes, (panel, group) in zip(all_axes, groups.items(), strict=False):
        for name, row in group.items():
            _line(axes, row["curves"], of, looks[name], name)
        finish(axes, panel.replace("=", " = "), "round", of.replace("_", " "), legend=False)
    handles = [next(line for axes in all_axes for line in axes.lines if line.get_label() == name) for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), columns + 1))
    return figure


def _line(axes: Axes, curves: Mapping[str, Any], of: str, look: tuple[str, Any], name: str) -> None:
    seeds = np.array(curves[of], dtype=float)
    axes.plot(curves["rounds"], seeds.mean(0), color=look[0], ls=look[1], label=name)
    if len(seeds) > 1:
        axes.fill_between(curves["rounds"], seeds.min(0), seeds.max(0), color=look[0], alpha=0.15, lw=0,
                          label=f"_{name}, least to largest seed")  # fmt: skip
