"""Bound, exact error and measured error in one picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.figure import Figure

from ..files import write_beside
from ..papers import claim as find_claim

if TYPE_CHECKING:
    from ..claims.evaluation import Bound
    from ..moments.errors import ExactErrors
    from ..simulation import Run

BOUND, EXACT, MEASURED = "#b2182b", "#1a1a1a", "#2166ac"


def plot(bound: Bound, exact: ExactErrors | None = None, run: Run | None = None, confidence: float = 0.99) -> Figure:
    """The bound over rounds, with the exact error and the replicas' mean and confidence band where given.

    ``bound`` comes from ``claim.at(setting, rounds=array)``; the other two from ``setting.exact(rounds)`` and
    ``setting.simulate(...)``. Both axes are logarithmic.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=3)
    >>> figure = plot(ft.claim("fast.thm1").at(s, rounds=range(1, 100)), s.exact(range(1, 100)))
    >>> figure.axes[0].get_title(loc="left")
    'fast.thm1@main: FAST on non-convex objectives'
    """
    statement = find_claim(bound.claim)
    functional = statement.functional
    rounds = np.atleast_1d(bound.quantities["rounds"])
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.loglog(rounds, np.broadcast_to(bound.value, rounds.shape), color=BOUND, lw=2, label="bound")
    if exact is not None:
        axes.loglog(exact.rounds, exact.functional(functional), color=EXACT, lw=1.6, label="exact")
    if run is not None:
        axis = run.rounds_of(functional)
        shown = axis > 0
        mean, low, high = (values[shown] for values in run.interval(functional, confidence=confidence))
        axes.loglog(axis[shown], mean, color=MEASURED, ls=(0, (3, 2)), lw=1.6,
                    label=f"measured ({run.replicas} replicas)")  # fmt: skip
        if run.replicas > 1:
            floor = np.maximum(low, mean * 1e-3)
            axes.fill_between(axis[shown], floor, high, color=MEASURED, alpha=0.25, lw=0,
                              label=f"{confidence:.0%} interval")  # fmt: skip
    axes.set_title(f"{statement.ref}: {statement.title}", loc="left", fontsize=10)
    axes.set_xlabel("rounds R")
    axes.set_ylabel(f"${functional.latex}$   [{functional.units}]")
    axes.grid(which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write the figure whole or not at all; the same figure gives the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:], dpi=160, metadata={"Software": None})
    write_beside(path, buffer.getvalue())
