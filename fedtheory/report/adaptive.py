"""Probabilities of snapshots that follow the training accuracy, round by round."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ..simulation import Run
from .style import LINES, finish, panels, several, styled

ROWS = (("snapshot_probability", "snapshot probability $q_r$"), ("training_accuracy", "training accuracy"))


@styled()
def plot_adaptive(runs: Mapping[str, Run]) -> Figure:
    """Draw the snapshot probability q_r, above, and the training accuracy that it follows, below, over the rounds.

    Lines are means over the replicas of each run. Pale bands are the range between the least and the largest replica
    where there are several.

    Args:
        runs: of adaptive snapshots, by name, recorded in the same rounds or not.

    Raises:
        ValueError: no run, more than can be told apart, or one without an adaptive probability.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Logistic.split(ft.data.load("digits").normalised(), clients=5, alpha=1, l2=0.1, seed=0)
    >>> s = ft.Setting(fed, ft.algorithms.fast(adaptivity=1, cohort=2, local_lr="1/10"), ft.participation.Fixed([0]))
    >>> [axes.get_ylabel() for axes in plot_adaptive({"1": s.simulate(replicas=1, rounds=3, record_every=1)}).axes]
    ['snapshot probability $q_r$', 'training accuracy']
    """
    if not 1 <= len(runs) <= len(LINES):
        raise ValueError(f"{len(runs)} runs: allowed are 1 to {len(LINES)}, whose lines can be told apart")
    for name, run in runs.items():
        if ROWS[0][0] not in run.rows:
            raise ValueError(f"run {name!r} has no snapshot_probability: allowed is a run of adaptive snapshots")
    figure, both = panels(6.4, 5.0, rows=2, sharex=True)
    several_replicas = any(run.replicas > 1 for run in runs.values())
    for axes, (row, up) in zip(both, ROWS, strict=True):
        for (name, run), colour, line in zip(runs.items(), several(len(runs)), LINES, strict=False):
            values = np.asarray(run.rows[row], dtype=float)
            axes.plot(run.rounds, values.mean(0), color=colour, ls=line, label=name)
            if run.replicas > 1:
                axes.fill_between(
                    run.rounds,
                    values.min(0),
                    values.max(0),
                    color=colour,
                    alpha=0.15,
                    lw=0,
                    label=f"_{name}, least to largest replica",
                )
        finish(axes, "", "round r" if axes is both[-1] else "", up, legend=False)
    band = "; pale: least to largest replica" if several_replicas else ""
    counts = " or ".join(str(count) for count in sorted({run.replicas for run in runs.values()}))
    both[0].set_title(f"Means over {counts} replicas{band}")
    figure.legend(*both[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(runs))
    return figure
