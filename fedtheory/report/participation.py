"""Who took part: rounds, and how often."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.figure import Figure

from ..participation import Participation, history
from .figures import EXACT, MEASURED


def plot_participation(process: Participation, clients: int, rounds: int = 1000, seed: int = 0) -> Figure:
    """One run of a process: above, who takes part in which round; below, the share of rounds of each client and,
    where the process knows it, the expected share.

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
    figure = Figure(figsize=(6.4, 5.0), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[3, 2])
    above.imshow(counts.T, cmap="Greys", vmin=0, vmax=max(1, counts.max()), aspect="auto", origin="lower",
                 interpolation="nearest", extent=(-0.5, rounds - 0.5, -0.5, clients - 0.5))  # fmt: skip
    above.set_title(f"{type(process).__name__}: {clients} clients, {rounds} rounds", loc="left", fontsize=10)
    above.set_xlabel("round")
    above.set_ylabel("client")
    below.bar(np.arange(clients), counts.mean(axis=0), width=1.0, color=MEASURED, alpha=0.6, label="this run")
    below.step(
        np.arange(clients), _expected(process, clients, rounds), where="mid", color=EXACT, lw=1.4, label="expected"
    )
    below.set_xlim(-0.5, clients - 0.5)
    below.set_xlabel("client")
    below.set_ylabel("draws a round")
    below.spines[["top", "right"]].set_visible(False)
    below.legend(frameon=False, fontsize=9)
    return figure


def _expected(process: Participation, clients: int, rounds: int) -> np.ndarray:
    """The mean over the rounds of E[N_i], (clients,)."""
    try:
        return process.inclusion(clients).first.astype(float)
    except ValueError:  # rounds differ
        return np.mean([process.expected(clients, r).astype(float) for r in range(rounds)], axis=0)
