"""Figures of the exact error of estimated weights for each cutoff, and of the printed bound's distance from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..weights import RULE_OF_THUMB, best_cutoff, logarithmic_cutoff, weight_error_bound, weight_moments
from .style import KEY, LARGE, PALE, finish, panels, several, styled

MARKERS: dict[str, dict[str, Any]] = {
    "best": {"marker": "o", "ms": 4.5, "ls": "", "zorder": 4},
    "Corollary 4": {"marker": "^", "ms": 12, "mfc": "none", "ls": "", "zorder": 3},
    "rule of thumb": {"marker": "s", "ms": 8, "mfc": "none", "ls": "", "zorder": 3},
}
"""Markers of cutoffs, of different sizes and mostly hollow, so that cutoffs that are close to each other are all
seen."""


MOST = 5
"""The most probabilities in one picture."""


def cutoffs_up_to(rounds: int, points: int = 40) -> np.ndarray:
    """Whole numbers from 1 to ``rounds`` - 1, evenly spaced in their logarithms."""
    return np.unique(np.geomspace(1, max(1, rounds - 1), points).astype(int))


@styled(**LARGE)
def plot_cutoffs(probabilities: Sequence[float] = (0.02, 0.1, 0.5), rounds: int = 10_000) -> Figure:
    """Draw the exact average error (1/T) sum_t E[(p omega_t - 1)^2] over the cutoff K, and its share of the bound.

    The left panel marks the best cutoff, that of Corollary 4 and the rule of thumb. The right one has the exact error
    over the bound (B.6.9).

    Raises:
        ValueError: more probabilities than colours, or one outside (0, 1].

    >>> figure = plot_cutoffs([0.5], rounds=30)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['weight error', 'exact error / bound']
    """
    if not 1 <= len(probabilities) <= MOST:
        raise ValueError(f"probabilities = {list(probabilities)}: allowed are 1 to {MOST}")
    cutoffs = cutoffs_up_to(rounds)
    figure, (left, right) = panels(10, 4.4, columns=2)
    for p, colour in zip(probabilities, several(len(probabilities)), strict=True):
        exact = np.array([weight_moments(p, int(k), rounds).average_error() for k in cutoffs])
        bound = np.array([weight_error_bound(p, int(k), rounds) for k in cutoffs])
        left.loglog(cutoffs, exact, color=colour, label=f"p = {p:g}")
        left.axhline(
            weight_moments(p, math.inf, rounds).average_error(),
            color=colour,
            lw=0.9,
            ls=":",
            label=f"_p = {p:g}, no cutoff",
        )
        best, least = best_cutoff(p, rounds)
        if best < math.inf:
            left.plot(best, least, color=colour, **MARKERS["best"], label=f"_p = {p:g}, best cutoff")
        for k, name in ((logarithmic_cutoff(p, rounds), "Corollary 4"), (RULE_OF_THUMB, "rule of thumb")):
            if k < rounds:
                left.plot(
                    k,
                    weight_moments(p, k, rounds).average_error(),
                    color=colour,
                    **MARKERS[name],
                    label=f"_p = {p:g}, {name}",
                )
        right.loglog(cutoffs, exact / bound, color=colour, label=f"_p = {p:g}")
    left.plot([], [], color=KEY, label="best cutoff", **MARKERS["best"])
    left.plot([], [], color=KEY, label="Corollary 4", **MARKERS["Corollary 4"])
    left.plot([], [], color=KEY, label=f"K = {RULE_OF_THUMB}", **MARKERS["rule of thumb"])
    left.plot([], [], ":", color=KEY, lw=0.9, label="no cutoff")
    right.axhline(1, color=PALE, lw=0.9, label="_all of it")
    over = f"Exact error of FedAU's weights over {rounds:,} rounds".replace(",", " ")
    finish(left, over, "cutoff K", "weight error", legend=False)
    finish(right, "How much of the bound (B.6.9) is used", "cutoff K", "exact error / bound")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=7)
    return figure
