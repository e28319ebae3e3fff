"""Pictures of weight estimators beside each other: bias, variance and error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .style import KEY, LARGE, PALE, finish, panels, several, styled

MARKERS = "osD^vP*X<>hp"
"""One for each rule; from the thirteenth on they come again."""

LEAST = 1e-3
"""Below this, biases and variances are drawn as this."""


@styled(**LARGE)
def plot_estimators(
    names: Sequence[str],
    cutoffs: np.ndarray,
    probability: np.ndarray,
    bias: np.ndarray,
    variance: np.ndarray,
    error: np.ndarray,
) -> Figure:
    """Draw the bias, the variance and the error of weight estimators.

    The left has the bias |E p w - 1| and the standard deviation of p w in the last round, for each rule (by marker) and
    client (by colour, at most five), with lines of equal error. The right has the mean error E(p w - 1)^2 of all
    rounds, over the cutoff where it is finite, else on the edge. Errors of 0 are left out there.

    Args:
        names: (rules,).
        cutoffs: (rules,), nan where there is none.
        probability: (clients,).
        bias, variance, error: (rules, clients).

    >>> figure = plot_estimators(["a"], np.array([3.0]), np.array([0.5]), *np.full((3, 1, 1), 0.1))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['bias |E p w - 1|', 'cutoff K']
    """
    figure, (left, right) = panels(11, 5.4, columns=2)
    clients = np.argsort(probability, kind="stable")
    clients = clients[np.unique(np.linspace(0, len(clients) - 1, min(5, len(clients))).astype(int))]
    with_cutoff = np.flatnonzero(np.isfinite(cutoffs))
    with_cutoff = with_cutoff[np.argsort(cutoffs[with_cutoff], kind="stable")]
    for n, colour in zip(clients, several(len(clients)), strict=True):
        for i in range(len(names)):
            look: dict[str, Any] = {
                "color": colour,
                "ms": 7,
                "mfc": "none" if i % 2 else colour,
                "ls": "",
                "marker": MARKERS[i % len(MARKERS)],
                "clip_on": False,
            }
            left.plot(max(abs(bias[i, n]), LEAST), max(np.sqrt(variance[i, n]), LEAST), **look)
            if np.isfinite(cutoffs[i]):
                right.plot(cutoffs[i], error[i, n], **look)
            elif error[i, n] > 0:
                right.plot(1.0, error[i, n], transform=right.get_yaxis_transform(), **look)
        right.plot(cutoffs[with_cutoff], error[with_cutoff, n], color=colour, label=f"p = {probability[n]:.3g}")
    some = np.geomspace(1e-4, 1, 200) * np.pi / 2
    angle = np.r_[some, np.pi / 2 - some[::-1]]
    for radius in (0.01, 0.1, 1.0):
        left.plot(radius * np.cos(angle), radius * np.sin(angle), color=PALE, lw=0.8, zorder=0)
    left.set(xscale="log", yscale="log", xlim=(LEAST, None), ylim=(LEAST, None))
    right.set(xscale="log", yscale="log")
    for i, name in enumerate(names):
        left.plot([], [], MARKERS[i % len(MARKERS)], color=KEY, mfc="none" if i % 2 else KEY, label=name)
    finish(
        left,
        f"Last round; grey: equal error; what is below {LEAST:g} is drawn there",
        "bias |E p w - 1|",
        "standard deviation of p w",
        legend=False,
    )
    finish(right, "All rounds; on the right edge: no cutoff", "cutoff K", "mean error E(p w - 1)²", loc="lower left")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
