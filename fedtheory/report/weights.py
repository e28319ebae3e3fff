"""How good FedAU's weights are for each cutoff, exactly, and how far the printed bound is from that; and how far from
the objective's minimiser runs with several local steps settle."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.figure import Figure

from ..weights import (
    RULE_OF_THUMB,
    best_cutoff,
    fixed_point,
    inconsistency_rate,
    logarithmic_cutoff,
    objective_minimiser,
    weight_error_bound,
    weight_moments,
)

COLOURS = ("#b2182b", "#4d4d4d", "#2166ac", "#1b7837", "#762a83")


def cutoffs_up_to(rounds: int, points: int = 40) -> np.ndarray:
    """Whole numbers from 1 to ``rounds`` - 1, evenly spaced in their logarithms."""
    return np.unique(np.geomspace(1, max(1, rounds - 1), points).astype(int))


def plot_cutoffs(probabilities: Sequence[float] = (0.02, 0.1, 0.5), rounds: int = 10_000) -> Figure:
    """On the left the exact average error (1/T) sum_t E[(p omega_t - 1)^2] over the cutoff K, with the best cutoff,
    that of Corollary 4 and the rule of thumb; on the right the exact error over the bound (B.6.9).

    Raises:
        ValueError: more probabilities than colours, or one outside (0, 1].

    >>> figure = plot_cutoffs([0.5], rounds=30)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['weight error', 'exact error / bound']
    """
    if not 1 <= len(probabilities) <= len(COLOURS):
        raise ValueError(f"probabilities = {list(probabilities)}: allowed are 1 to {len(COLOURS)}")
    cutoffs = cutoffs_up_to(rounds)
    figure = Figure(figsize=(10, 4.4), dpi=100, layout="constrained")
    left, right = figure.subplots(1, 2)
    for p, colour in zip(probabilities, COLOURS, strict=False):
        exact = np.array([weight_moments(p, int(k), rounds).average_error() for k in cutoffs])
        bound = np.array([weight_error_bound(p, int(k), rounds) for k in cutoffs])
        left.loglog(cutoffs, exact, color=colour, lw=1.8, label=f"p = {p:g}")
        left.axhline(weight_moments(p, math.inf, rounds).average_error(), color=colour, lw=0.9, ls=":")
        best, least = best_cutoff(p, rounds)
        if best < math.inf:
            left.plot(best, least, "o", color=colour)
        for k, marker in ((logarithmic_cutoff(p, rounds), "^"), (RULE_OF_THUMB, "s")):
            if k < rounds:
                left.plot(k, weight_moments(p, k, rounds).average_error(), marker, color=colour, mfc="white")
        right.loglog(cutoffs, exact / bound, color=colour, lw=1.8)
    for marker, filled, text in (
        ("o", True, "best cutoff"), ("^", False, "Corollary 4"), ("s", False, f"K = {RULE_OF_THUMB}"),
    ):  # fmt: skip
        left.plot([], [], marker, color="0.3", mfc=None if filled else "white", label=text)
    left.plot([], [], ":", color="0.3", lw=0.9, label="no cutoff")
    right.axhline(1, color="0.6", lw=0.9)
    left.set_ylabel("weight error")
    right.set_ylabel("exact error / bound")
    left.set_title(f"Exact error of FedAU's weights over {rounds:,} rounds".replace(",", " "), loc="left", fontsize=11)
    right.set_title("How much of the bound (B.6.9) is used", loc="left", fontsize=11)
    for axes in (left, right):
        axes.set_xlabel("cutoff K")
        axes.grid(which="major", color="0.92")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False, fontsize=9)
    return figure


def plot_inconsistency(local_steps: Sequence[int] = (2, 5, 20), curvatures: Sequence[float] = (1, 10)) -> Figure:
    """How far E x_t of Algorithm 1 settles from the minimiser of h, over the step size (solid), and to first order
    (dotted): clients with these curvatures and minimisers 0, 1, ..., equal weights p_n omega_n.

    Raises:
        ValueError: more numbers of steps than colours, or a curvature that is not positive.

    >>> len(plot_inconsistency([2]).axes[0].lines)
    2
    """
    if not 1 <= len(local_steps) <= len(COLOURS):
        raise ValueError(f"local_steps = {list(local_steps)}: allowed are 1 to {len(COLOURS)}")
    clients = [1] * len(curvatures), [[h] for h in curvatures], [[n] for n in range(len(curvatures))]
    best = objective_minimiser(*clients)[0]
    steps = np.geomspace(1e-4, 1, 60) / max(curvatures)
    figure = Figure(figsize=(6, 4.2), dpi=100, layout="constrained")
    axes = figure.subplots()
    for count, colour in zip(local_steps, COLOURS, strict=False):
        there = [abs(float(fixed_point(*clients, count, step)[0] - best)) for step in steps * (1 - 1e-12)]
        axes.loglog(steps, there, color=colour, lw=1.8, label=f"I = {count}")
        rate = abs(float(inconsistency_rate(*clients, count)[0]))
        axes.loglog(steps, rate * steps, color=colour, lw=0.9, ls=":")
    axes.set_xlabel(r"local step size $\gamma$")
    axes.set_ylabel("distance from the minimiser of h")
    axes.set_title("Where runs settle with several local steps", loc="left", fontsize=11)
    axes.grid(which="major", color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure
