"""Whom the server asks: long-term participation of policies beside the best in hindsight, and how the gap closes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from ..selection import CyclicAvailability, PoissonAvailability, UniformAvailability, genie_gap, offvar, online, proxy
from .figures import BOUND, EXACT, MEASURED

STYLES = {"FLICS": (MEASURED, "o", 5.0), "naive": ("#e08214", "s", 4.5), "uniform": (BOUND, "^", 5.0)}
"""Colour, marker and size of each policy."""

LINES = (MEASURED, "#e08214", "#5aae61", BOUND, "#762a83")


def policies(availability: ArrayLike, budget: float, group_weight: ArrayLike) -> dict[str, np.ndarray]:
    """The rates (rounds, groups) of FLICS-OPT, of asking k p_j or all that are there ("naive"), and of asking everyone
    who is there alike ("uniform", what FedAvg does in expectation).

    >>> rates = policies([[4, 1]], 2, [0.25, 0.75])
    >>> {name: each.round(12).tolist() for name, each in rates.items()}
    {'FLICS': [[1.0, 1.0]], 'naive': [[0.5, 1.0]], 'uniform': [[1.6, 0.4]]}
    """
    a, p = np.asarray(availability, dtype=float), np.asarray(group_weight, dtype=float)
    present = a.sum(axis=1, keepdims=True)
    share = np.divide(budget, present, out=np.ones_like(present), where=present > budget)
    return {"FLICS": online(a, budget, p).rates, "naive": np.minimum(budget * p, a), "uniform": share * a}


def plot_long_term(traces: Mapping[str, ArrayLike], budget: float, group_weight: ArrayLike) -> Figure:
    """A panel a trace: every group's participation, in clients a round, of each policy and of the best in hindsight;
    in the legend the value sum_j p_j^2 / s_j of each, relative to the best.

    Args:
        traces: (rounds, groups) counts of available clients, by name.

    Raises:
        ValueError: as ``selection.offvar``.
    """
    p = np.asarray(group_weight, dtype=float)
    groups = np.arange(1, len(p) + 1)
    figure = Figure(figsize=(3.7 * len(traces), 3.6), layout="constrained")
    panels = figure.subplots(1, len(traces), squeeze=False)[0]
    for axes, (name, trace) in zip(panels, traces.items(), strict=True):
        best = offvar(trace, budget, p)
        edges = np.arange(len(p) + 1) + 0.5
        axes.stairs(best.participation, edges, baseline=None, color=EXACT, lw=1.8, label="best in hindsight")
        for policy, rates in policies(trace, budget, p).items():
            colour, marker, size = STYLES[policy]
            mean = rates.mean(axis=0)
            label = f"{policy}: {proxy(mean, p) / best.objective:.2f}"
            axes.plot(groups, mean, color=colour, marker=marker, ms=size, ls="", alpha=0.9, label=label)
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_xlabel("group")
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.45)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    panels[0].set_ylabel("clients a round, on average")
    return figure


def plot_gap(
    traces: Mapping[str, Sequence[ArrayLike]], budget: float, group_weight: ArrayLike, rounds: Sequence[int]
) -> Figure:
    """sum_j p_j^2 / s_j of FLICS-OPT after so many rounds, less the best in hindsight for these rounds, relative
    to the latter: the mean over the traces of a process, a line a process. Both axes are logarithmic, and means below
    1e-12 are left out: they are rounding.

    Raises:
        ValueError: as ``selection.genie_gap``.
    """
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    at = np.asarray(rounds)
    for colour, (name, several) in zip(itertools.cycle(LINES), traces.items(), strict=False):
        gaps = [genie_gap(online(trace, budget, group_weight), trace, budget, rounds) for trace in several]
        relative = np.mean([gap.gap / gap.genie for gap in gaps], axis=0)
        shown = relative > 1e-12
        axes.loglog(at[shown], relative[shown], color=colour, lw=1.6, marker="o", ms=3, label=name)
    span = np.array([min(rounds), max(rounds)], dtype=float)
    start = max((line.get_ydata()[0] for line in axes.lines if len(line.get_ydata())), default=1.0)
    axes.loglog(span, start * span[0] / span, color="0.6", lw=1.0, ls=(0, (4, 3)), label="1/T")
    axes.set_xlabel("rounds T")
    axes.set_ylabel("gap to the best in hindsight, relative")
    axes.grid(which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def example_traces(rounds: int, seed: int = 0) -> dict[str, np.ndarray]:
    """The simulated processes of FLICS, section IV-B, for ten groups, the later ones scarcer; the paper's own
    parameters are not printed."""
    scarce = np.linspace(1.0, 0.1, 10)
    means = 12 * scarce
    processes = {
        "Uniform": UniformAvailability([1] * 10, np.ceil(2 * means).astype(int).tolist()),
        "Poisson": PoissonAvailability(means.tolist()),
        "Cyclic": CyclicAvailability(day=(2 * means).tolist(), night=(0.2 * means[::-1]).tolist()),
    }
    return {name: process.trace(rounds, seed) for name, process in processes.items()}


EXAMPLE_BUDGET, EXAMPLE_WEIGHT = 20.0, np.full(10, 0.1)


def plot_example_participation(rounds: int = 5000) -> Figure:
    """``plot_long_term`` of ``example_traces``, a budget of 20 and equal weights."""
    return plot_long_term(example_traces(rounds), EXAMPLE_BUDGET, EXAMPLE_WEIGHT)


def plot_example_gap(rounds: int = 5000, replicas: int = 10) -> Figure:
    """``plot_gap`` of ``example_traces`` over so many replicas, a budget of 20 and equal weights."""
    prefixes = np.unique(np.geomspace(min(20, rounds), rounds, 16).astype(int)).tolist()
    drawn = [example_traces(rounds, seed) for seed in range(replicas)]
    several = {name: [each[name] for each in drawn] for name in drawn[0]}
    return plot_gap(several, EXAMPLE_BUDGET, EXAMPLE_WEIGHT, prefixes)


FIGURES = {"flics.participation.png": plot_example_participation, "flics.gap.png": plot_example_gap}
"""What draws each figure, by its file's name."""
