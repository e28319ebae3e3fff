"""Accuracy curves of training runs: a panel for each setting of a grid, a line for each method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import KEY, LINES, finish, panels, several, styled

COLUMNS = 4
"""The number of panels in a row."""
MOST = 8
"""The most lines of a panel that can be told apart; a panel with more is divided."""

Rows = dict[str, Mapping[str, Any]]
"""Settings by what their lines are called."""


@styled()
def plot_curves(content: Mapping[str, Any], grid: Sequence[str], of: str = "test_accuracy", by: str = "") -> Figure:
    """Draw the mean over seeds of what was watched, over the rounds; pale edges are the least and the largest seed.

    Args:
        content: an experiment's results, as ``experiments.results.gathered`` gives them.
        grid: the labels that tell panels apart; what else a setting's name says tells lines apart.
        of: what was watched.
        by: the label that tells the panels apart into which one with more than ``MOST`` lines is divided. A value of
            which there is one setting is for comparison: a thin line in each of them.

    Raises:
        ValueError: no setting was run, or ``of`` was not watched.
    """
    rows = [row for row in content["settings"] if of in row["curves"]]
    if not rows:
        raise ValueError(f"{content['file']}: no setting has curves of {of!r}")
    whole: dict[str, Rows] = {}
    for row in rows:
        panel = ", ".join(f"{label}={row['labels'][label]}" for label in grid)
        whole.setdefault(panel, {})[row["name"].removesuffix(panel).rstrip(", ") or "all"] = row
    drawn = [each for panel, group in whole.items() for each in _divided(panel, group, by)]
    names = list(dict.fromkeys(name for _, group, _ in drawn for name in group))
    columns, divided = min(COLUMNS, len(drawn)), any(beside for *_, beside in drawn) or len(drawn) > len(whole)
    colours = several(len(names), "viridis" if divided else "cividis")  # one without greys, beside the grey line
    looks = {name: (colour, LINES[k % len(LINES)]) for k, (name, colour) in enumerate(zip(names, colours, strict=True))}
    down = math.ceil(len(drawn) / columns)
    height = 4.4 * down if divided else 3.2 * down + 0.3 * math.ceil(len(names) / columns)
    figure, all_axes = panels(max(6.0, 3.6 * columns), height, columns, down, sharey=True, squeeze=False)
    for place, axes in enumerate(all_axes[1:], 1):
        axes.sharex(all_axes[0])
        axes.set_visible(place < len(drawn))
    for axes, (panel, group, beside) in zip(all_axes, drawn, strict=False):
        for k, (name, row) in enumerate(beside.items()):
            axes.plot(
                row["curves"]["rounds"],
                _seeds(row, of).mean(0),
                color=KEY,
                lw=0.9,
                ls=LINES[k % len(LINES)],
                label=name,
            )
        for name, row in group.items():
            _line(axes, row, of, looks[name], name)
        finish(axes, panel.replace("=", " = "), "round", of.replace("_", " "), legend=divided, loc="best")
    if not divided:
        handles = [next(line for axes in all_axes for line in axes.lines if line.get_label() == name) for name in names]
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), columns + 1))
    return figure


def _divided(panel: str, group: Rows, by: str) -> Iterator[tuple[str, Rows, Rows]]:
    """The panels of a group of settings: title, settings, and settings that they are compared with."""
    parts: dict[str, Rows] = {}
    for name, row in group.items():
        parts.setdefault(row["labels"].get(by, ""), {})[name] = row
    if len(group) <= MOST or "" in parts or max(map(len, parts.values())) == 1:
        yield panel, group, {}
        return
    alone = {name: row for part in parts.values() if len(part) == 1 for name, row in part.items()}
    for value, part in parts.items():
        if len(part) > 1:
            yield ", ".join(filter(None, (panel, f"{by}={value}"))), _renamed(part), alone


def _renamed(rows: Rows) -> Rows:
    """Settings by the labels in which they differ, where that tells them apart."""
    labels = [row["labels"] for row in rows.values()]
    differ = [label for label in labels[0] if len({each.get(label) for each in labels}) > 1]
    found = {", ".join(f"{label} {row['labels'].get(label)}" for label in differ): row for row in rows.values()}
    return found if len(found) == len(rows) else rows


def _line(axes: Axes, row: Mapping[str, Any], of: str, look: tuple[str, Any], name: str) -> None:
    rounds, seeds = row["curves"]["rounds"], _seeds(row, of)
    axes.plot(rounds, seeds.mean(0), color=look[0], ls=look[1], label=name)
    if len(seeds) > 1:
        axes.fill_between(
            rounds, seeds.min(0), seeds.max(0), color=look[0], alpha=0.15, lw=0, label=f"_{name}, least to largest seed"
        )


def _seeds(row: Mapping[str, Any], of: str) -> np.ndarray:
    """A curve for each seed, (seeds, rounds)."""
    return np.array(row["curves"][of], dtype=float)
