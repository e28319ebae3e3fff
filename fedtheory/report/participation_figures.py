"""Figures of participation: round by round, on average beside the best in hindsight, and how the gap to it closes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from ..participation import Participation, history
from ..selection import genie_gap, offvar, online, proxy
from .colours import EXACT, MEASURED
from .style import LINES, PALE, finish, panels, several, styled

STYLES = dict(zip(("FLICS", "naive", "uniform"), zip(several(3), "os^", (5.0, 4.5, 5.0), strict=True), strict=True))
"""Colour, marker and size of each policy."""


@styled()
def plot_participation(process: Participation, clients: int, rounds: int = 1000, seed: int = 0) -> Figure:
    """Draw one run of a process: above, who takes part in which round; below, the share of rounds of each client.

    Where the process knows it, the expected share is drawn too.

    As in FAST's Figure 2 (100 clients, 1000 rounds) and FedAU's Figure C.6.1 (one client, 400 rounds). The rounds are
    those of replica 0 of a simulation with this seed. A client drawn several times in a round counts several times.

    Raises:
        ValueError: as ``participation.history``.

    >>> from fedtheory.participation import IndexBeta
    >>> figure = plot_participation(IndexBeta(10), clients=100, rounds=50)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['client', 'draws a round']
    """
    counts = history(process, clients, rounds, seed=seed)[:, 0].numpy()
    figure, (above, below) = panels(6.4, 5.0, rows=2, height_ratios=[3, 2])
    above.imshow(
        counts.T,
        cmap="Greys",
        vmin=0,
        vmax=max(1, counts.max()),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=(-0.5, rounds - 0.5, -0.5, clients - 0.5),
    )
    above.spines[:].set_visible(True)
    finish(above, f"{type(process).__name__}: {clients} clients, {rounds} rounds", "round", "client", grid=False)
    each = np.arange(clients)
    below.bar(each, counts.mean(axis=0), width=1.0, color=MEASURED, alpha=0.6, label="this run")
    edges = np.arange(clients + 1) - 0.5
    below.stairs(_expected(process, clients, rounds), edges, baseline=None, color=EXACT, lw=1.4, label="expected")
    below.set_xlim(-0.5, clients - 0.5)
    for axis in (above.xaxis, above.yaxis, below.xaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    finish(below, "", "client", "draws a round", grid=False)
    return figure


def _expected(process: Participation, clients: int, rounds: int) -> np.ndarray:
    """The mean over the rounds of E[N_i], (clients,)."""
    try:
        return process.inclusion(clients).first.astype(float)
    except ValueError:  # rounds differ
        return np.mean([process.expected(clients, r).astype(float) for r in range(rounds)], axis=0)


def policies(availability: ArrayLike, budget: float, group_weight: ArrayLike) -> dict[str, np.ndarray]:
    """Compute the rates (rounds, groups) of FLICS-OPT and of two simpler policies.

    "naive" asks k p_j or all that are there. "uniform" asks everyone who is there alike, which FedAvg does in
    expectation.

    >>> rates = policies([[4, 1]], 2, [0.25, 0.75])
    >>> {name: each.round(12).tolist() for name, each in rates.items()}
    {'FLICS': [[1.0, 1.0]], 'naive': [[0.5, 1.0]], 'uniform': [[1.6, 0.4]]}
    """
    a, p = np.asarray(availability, dtype=float), np.asarray(group_weight, dtype=float)
    present = a.sum(axis=1, keepdims=True)
    share = np.divide(budget, present, out=np.ones_like(present), where=present > budget)
    return {"FLICS": online(a, budget, p).rates, "naive": np.minimum(budget * p, a), "uniform": share * a}


@styled()
def plot_long_term(traces: Mapping[str, ArrayLike], budget: float, group_weight: ArrayLike) -> Figure:
    """Draw every group's participation, in clients a round, under each policy and in the best plan in hindsight.

    Each trace has a panel. The legend has the value sum_j p_j^2 / s_j of each, relative to the best.

    Args:
        traces: (rounds, groups) counts of available clients, by name.

    Raises:
        ValueError: as ``selection.offvar``.
    """
    p = np.asarray(group_weight, dtype=float)
    groups = np.arange(1, len(p) + 1)
    figure, every = panels(3.7 * len(traces), 3.8, columns=len(traces), sharey=True)
    for axes, (name, trace) in zip(every, traces.items(), strict=True):
        best = offvar(trace, budget, p)
        edges = np.arange(len(p) + 1) + 0.5
        axes.stairs(best.participation, edges, baseline=None, color=EXACT, lw=1.8, label="best in hindsight")
        for policy, rates in policies(trace, budget, p).items():
            colour, marker, size = STYLES[policy]
            mean = rates.mean(axis=0)
            label = f"{policy}: {proxy(mean, p) / best.objective:.2f}"
            axes.plot(groups, mean, color=colour, marker=marker, ms=size, ls="", alpha=0.9, label=label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        up = "clients a round, on average" if axes is every[0] else ""
        finish(axes, name, "group", up, grid=False, fontsize=8, loc="upper left", alignment="left", title_fontsize=8)
        if legend := axes.get_legend():
            legend.set_title("variance term over that of the best")
    every[0].set_ylim(bottom=0, top=every[0].get_ylim()[1] * 1.6)
    return figure


@styled()
def plot_gap(
    traces: Mapping[str, Sequence[ArrayLike]], budget: float, group_weight: ArrayLike, rounds: Sequence[int]
) -> Figure:
    """Draw the gap of FLICS-OPT's sum_j p_j^2 / s_j after so many rounds to the best in hindsight for these rounds.

    It is relative to the latter. A line is the mean over the traces of a process. Both axes are logarithmic, and means
    below 1e-12 are left out: they are rounding.

    Raises:
        ValueError: as ``selection.genie_gap``.
    """
    figure, (axes,) = panels(6.4, 4.0)
    at, firsts = np.asarray(rounds), []
    for colour, line, (name, drawn) in zip(several(len(traces)), itertools.cycle(LINES), traces.items(), strict=False):
        gaps = [genie_gap(online(trace, budget, group_weight), trace, budget, rounds) for trace in drawn]
        relative = np.mean([gap.gap / gap.genie for gap in gaps], axis=0)
        shown = relative > 1e-12
        firsts += relative[shown][:1].tolist()
        axes.loglog(at[shown], relative[shown], color=colour, ls=line, lw=1.6, marker="o", ms=3, label=name)
    span = np.array([min(rounds), max(rounds)], dtype=float)
    start = max(firsts, default=1.0)
    axes.loglog(span, start * span[0] / span, color=PALE, lw=1.0, ls=(0, (4, 3)), label="1/T")
    finish(axes, "", "rounds T", "gap to the best in hindsight, relative")
    return figure
