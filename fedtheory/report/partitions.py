"""Figures of partitions: how many samples of each label every client has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..data import Partition
from .style import KEY, finish, panels, styled

_NUMBERS = 12  # up to so many clients and classes, the numbers are written into the cells
_NAMES = 20  # up to so many classes are named


@styled()
def plot_partition(
    partition: Partition,
    labels: np.ndarray,
    classes: int | None = None,
    of: str = "train",
    class_names: Sequence[str] = (),
    title: str = "",
) -> Figure:
    """Draw how many samples each client has, above, and how many of each label, below, as a heat map.

    Clients that form groups are ordered by group, and lines part the groups.

    Args:
        partition: what to draw.
        labels: (N,) of the data set that its parts index.
        classes: how many; by default up to the largest label.
        of: "train" or "test".
        class_names: names of the labels, in order.
        title: above the picture; by default the number of clients.

    Raises:
        ValueError: as ``Partition.counts``.

    >>> from fedtheory.data import LabelsPerClient, load
    >>> digits = load("digits")
    >>> figure = plot_partition(LabelsPerClient(clients=10, labels=2).split(digits), digits.labels)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['samples', 'label', 'samples of a label']
    """
    counts = partition.counts(labels, classes, of)
    order = np.arange(len(counts)) if partition.groups is None else np.argsort(partition.groups, kind="stable")
    counts = counts[order]
    figure, (above, below) = panels(7.2, 4.4, rows=2, height_ratios=[1, 3], sharex=True)
    above.bar(np.arange(len(counts)), counts.sum(axis=1), width=1.0, color=KEY, alpha=0.7, linewidth=0)
    finish(above, title or f"{len(counts)} clients: {of} samples", "", "samples", grid=False)
    image = below.imshow(
        counts.T,
        cmap="Greys",
        vmin=0,
        vmax=max(1, counts.max()),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
    )
    below.spines[:].set_visible(True)
    across = "client" if partition.groups is None else "client, by group"
    finish(below, "", across, "label", grid=False)
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.yaxis.set_major_locator(MaxNLocator(integer=True))
    if counts.shape[1] <= _NAMES:
        below.set_yticks(range(counts.shape[1]), class_names or [str(c) for c in range(counts.shape[1])])
    if max(counts.shape) <= _NUMBERS:
        for (client, label), count in np.ndenumerate(counts):
            if count:
                colour = "white" if count > counts.max() / 2 else "black"
                below.text(client, label, str(count), ha="center", va="center", fontsize=7, color=colour)
    if partition.groups is not None:
        for edge in np.flatnonzero(np.diff(partition.groups[order])):
            below.axvline(edge + 0.5, color="0.5", lw=0.6)
    figure.colorbar(image, ax=below, label="samples of a label", pad=0.01)
    return figure
