"""Figures of running time against size, from kept results of benchmarks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from .style import LINES, finish, panels, several, styled

MARKERS = ("o", "s", "^", "D")


@styled()
def plot_cost(measured: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], up: str) -> Figure:
    """Draw a panel for each kind of size, with a line for each way.

    Args:
        measured: by what the size is, by the way's name, pairs of a size and its cost.
        up: what the cost is.

    >>> figure = plot_cost({"rounds": {"ours": [(10, 1e-3), (100, 2e-3)]}}, "seconds")
    >>> figure.axes[0].get_xlabel(), [line.get_label() for line in figure.axes[0].lines]
    ('rounds', ['ours'])
    """
    names = list(dict.fromkeys(name for curves in measured.values() for name in curves))
    looks = dict(
        zip(
            names, zip(several(len(names)), itertools.cycle(MARKERS), itertools.cycle(LINES), strict=False), strict=True
        )
    )
    figure, all_axes = panels(4.2 * len(measured), 3.7, columns=len(measured), sharey=True)
    for number, (axes, (across, curves)) in enumerate(zip(all_axes, measured.items(), strict=True)):
        for name, pairs in curves.items():
            colour, marker, line = looks[name]
            axes.loglog(*zip(*pairs, strict=True), color=colour, marker=marker, ls=line, ms=4.5, lw=1.6, label=name)
        finish(axes, "", across, "" if number else up, legend=False)
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    return figure
