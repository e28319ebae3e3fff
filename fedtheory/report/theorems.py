"""The figures of the papers' theorems: for each a setting that shows what it says, and whether it is so; and what their
conditions allow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..algorithms import fast
from ..evidence.measured import bound_on_run
from ..federations import Quadratic, random_quadratic
from ..moments.errors import exact_errors
from ..papers import claim as find_claim
from ..participation import Fixed, IndexBeta
from ..setting import Setting
from ..simulation import simulate
from . import safari, selection
from .algorithms import plot_algorithms
from .figures import plot, save
from .maps import fast_maps
from .weights import plot_cutoffs, plot_inconsistency


def theorem_1() -> tuple[Setting, int, int]:
    """Two clients with minimisers +-1; client 1 alone between full snapshots; a start outside. Returns the setting,
    rounds and replicas."""
    federation = Quadratic.common_hessian(offsets=[1, -1], gradient_noise="1/2")
    algorithm = fast(snapshot_period=2, cohort=2, local_lr="1/50")
    return Setting(federation, algorithm, Fixed([0]), start=3), 20_000, 16


def theorem_2() -> tuple[Setting, int, int]:
    """Ten clients in five dimensions, index-weighted Beta participation, the smallest q that the theorem allows."""
    federation = random_quadratic(
        10, 5, smoothness=1.0, strong_convexity=0.5, dissimilarity=0.02, gradient_noise=0.02, seed=0
    )
    claim = find_claim("fast.thm2@main")

    def setting(probability: float) -> Setting:
        algorithm = fast(snapshot_probability=probability, cohort=2, local_lr="1/200", local_steps=2)
        return Setting(federation, algorithm, IndexBeta(2), start=1.0)

    needed = -float(claim.at(setting(0.0), rounds=1).slack["q_condition"])
    return setting(min(1.0, max(0.0, needed * (1 + 1e-9)))), 4_000, 16


FIGURES: dict[str, Callable[[], tuple[Setting, int, int]]] = {"fast.thm1": theorem_1, "fast.thm2": theorem_2}


def draw_theorem(id: str, folder: Path, progress: Callable[[int, int], None] | None = None) -> Path:
    """Draw the theorem's figure into ``folder``; its path.

    Raises:
        ValueError: a hypothesis fails on the figure's own runs.
    """
    statement = find_claim(id)
    setting, rounds, replicas = FIGURES[id]()
    horizons = np.unique(np.geomspace(1, rounds, 200).astype(np.int64))
    run = simulate(
        setting, replicas=replicas, rounds=rounds, seed=0, record_every=max(1, rounds // 400),
        observers=[statement.functional.observable, "peaks"], progress=progress,
    )  # fmt: skip
    if not bound_on_run(statement, setting, run, rounds).hypotheses_hold:
        raise ValueError(f"{id}: a hypothesis fails on the figure's runs")
    bound = statement.at(setting, rounds=horizons, **dict.fromkeys(run.peaks, 0.0))
    path = folder / f"{id}.png"
    save(plot(bound, exact_errors(setting, horizons), run), path)
    return path


PLOTS: dict[str, Callable[[], Figure]] = {
    "fast.q_conditions.png": fast_maps,
    **safari.FIGURES,
    "fedau.cutoffs.png": plot_cutoffs,
    "fedau.inconsistency.png": plot_inconsistency,
    **selection.FIGURES,
    "algorithms.errors.png": plot_algorithms,
}
"""The other figures, by their files' names."""


def draw(name: str, folder: Path) -> Path:
    """Draw one of ``PLOTS`` into ``folder``; its path."""
    save(PLOTS[name](), folder / name)
    return folder / name


def figures(folder: Path) -> dict[str, Callable[[], Path]]:
    """What draws every figure, by its file's name."""
    theorems = {f"{id}.png": partial(draw_theorem, id, folder) for id in FIGURES}
    return theorems | {name: partial(draw, name, folder) for name in PLOTS}
