"""Algorithms for clients that come at different rates, in one picture: exact errors, and where they settle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..algorithms import Algorithm, fast, fedavg, fedvarp, known_statistics, mifa
from ..federations import Quadratic
from ..moments.errors import exact_errors
from ..moments.stationary import NotContracting, stationary
from ..participation import Bernoulli, Participation
from ..setting import Setting

RATES = ("9/10", "1/2", "1/5", "1/10")
"""The clients' participation probabilities, where the caller gives no process."""

LOCAL_STEPS = 3

Step = float | str | Fraction

COMPARED: dict[str, tuple[str, Callable[[Step], Algorithm]]] = {
    "average participating": ("#b2182b", lambda lr: fedavg(local_lr=lr, local_steps=LOCAL_STEPS)),
    "average all": ("#ef8a62", lambda lr: fedavg(local_lr=lr, local_steps=LOCAL_STEPS, average="all")),
    "FAST, $q = 1/2$": (
        "#762a83",
        lambda lr: fast(local_lr=lr, local_steps=LOCAL_STEPS, snapshot_probability="1/2", cohort=2),
    ),
    "known statistics": ("#1a1a1a", lambda lr: known_statistics(local_lr=lr, local_steps=LOCAL_STEPS)),
    "FedVarp": ("#2166ac", lambda lr: fedvarp(local_lr=lr, local_steps=LOCAL_STEPS)),
    "MIFA": ("#1b7837", lambda lr: mifa(local_lr=lr, local_steps=LOCAL_STEPS)),
}
"""Name, colour and constructor of each algorithm."""


def four_clients() -> Quadratic:
    """On a line, with curvatures 1, 2, 1/2, 1 and minimisers 2, -1, 1, -2; gradient noise 1/2."""
    return Quadratic([[1], [2], ["1/2"], [1]], [[2], [-1], [1], [-2]], gradient_noise="1/2")


def plot_algorithms(
    process: Participation | None = None, local_lr: Step = "1/50", rounds: int = 1000, steps: Sequence[float] = ()
) -> Figure:
    """On the left E|x_r - x*|^2 over the rounds, from x_0 = 5 and exact; on the right what it tends to, over the step
    size, with the part that is bias, |lim E x_r - x*|^2, dashed. A line ends where squares do not contract. Known
    statistics, FedVarp and MIFA share a dashed line: their mean weights are equal, so that local steps alone bias them.

    The federation is ``four_clients``, with three local steps.

    Args:
        process: of four clients; default: ``Bernoulli(RATES)``.
        local_lr: of the left side.
        rounds: of the left side, at least 1.
        steps: local step sizes of the right side; default: 25 from 1/1000 to 1/2.

    Raises:
        ValueError: as ``exact_errors``.

    >>> figure = plot_algorithms(rounds=100, steps=[0.01, 0.1])
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['round r', 'local step size']
    """
    fed, who = four_clients(), process or Bernoulli(RATES)
    sizes = np.array(steps if len(steps) else np.geomspace(1e-3, 0.5, 25))
    axis = np.unique(np.geomspace(1, rounds, 200).astype(np.int64))
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, (colour, make) in COMPARED.items():
        errors = exact_errors(Setting(fed, make(local_lr), who, start=5), axis).squared_distance
        left.loglog(axis, errors, color=colour, lw=1.8, label=name)
        ends = [_ends(Setting(fed, make(float(step)), who)) for step in sizes]
        right.loglog(sizes, [end for end, _ in ends], color=colour, lw=1.8)
        right.loglog(sizes, [bias if bias > 0 else np.nan for _, bias in ends], color=colour, lw=1.2, ls=(0, (3, 2)))
    right.plot([], [], color="0.3", lw=1.8, label="$E|x-x^*|^2$")
    right.plot([], [], color="0.3", lw=1.2, ls=(0, (3, 2)), label="of which bias")
    _finish(left, f"Exact error, local step size {local_lr}", "round r", "$E|x_r-x^*|^2$")
    _finish(right, "Where it settles", "local step size", "$E|x_\\infty-x^*|^2$")
    return figure


def _ends(setting: Setting) -> tuple[float, float]:
    """The limit of the error, and of it the bias; NaN where they do not exist."""
    try:
        found = stationary(setting)
    except NotContracting:
        return np.nan, np.nan
    return found.squared_distance, float(found.mean @ found.mean)


def _finish(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
