"""The published figures: of each the data, and the kind of picture that shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..algorithms import Algorithm, fast, fedavg, fedvarp, known_statistics, mifa, safari, theorem_4_server_lr
from ..claims.statement import Claim
from ..evidence.consistency import q_map
from ..evidence.measured import bound_on_run
from ..federations import Quadratic, random_quadratic
from ..learning import FiniteClass, Law
from ..moments.errors import exact_errors
from ..papers import claim
from ..participation import Bernoulli, Fixed, IndexBeta, Participation
from ..selection import CyclicAvailability, PoissonAvailability, UniformAvailability
from ..setting import Setting
from ..simulation import simulate
from . import twins
from .bounds import Editions, plot, plot_editions
from .learnability import plot_capacity, plot_conditions, plot_server_data
from .participation import plot_gap, plot_long_term
from .regions import Allowed, largest_q, largest_q_by_product, plot_allowed, plot_maps
from .settling import plot_algorithms, plot_floors, plot_inconsistency
from .style import save
from .weights import plot_cutoffs

Number = float | str | Fraction


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

    def setting(probability: float) -> Setting:
        algorithm = fast(snapshot_probability=probability, cohort=2, local_lr="1/200", local_steps=2)
        return Setting(federation, algorithm, IndexBeta(2), start=1.0)

    slack = claim("fast.thm2@main").at(setting(0.0), rounds=1).slack["q_condition"]
    needed = -float(np.asarray(slack))
    return setting(min(1.0, max(0.0, needed * (1 + 1e-9)))), 4_000, 16


def plot_measured(id: str, chosen: tuple[Setting, int, int], progress: Any = None) -> Figure:
    """Bound, exact and measured error of a theorem on a chosen setting.

    Raises:
        ValueError: a hypothesis fails on the figure's own runs.
    """
    statement = claim(id)
    setting, rounds, replicas = chosen
    horizons = np.unique(np.geomspace(1, rounds, 200).astype(np.int64))
    run = simulate(
        setting, replicas=replicas, rounds=rounds, seed=0, record_every=max(1, rounds // 400),
        observers=[statement.functional.observable, "peaks"], progress=progress,
    )  # fmt: skip
    on_runs = bound_on_run(statement, setting, run, rounds)
    if not on_runs.hypotheses_hold:
        raise ValueError(f"{id}: a hypothesis fails on the figure's runs")
    bound = statement.at(setting, rounds=horizons, **dict.fromkeys(run.peaks, 0.0))
    return plot(replace(bound, slack=on_runs.slack), exact_errors(setting, horizons), run)


def plot_fast_maps() -> Figure:
    """Theorem 2 of FAST as its appendix states it, which allows a q only in a sliver below 1, and Theorem 1, whose
    condition allows more or less of [0, 1] with what G_1 remembers of the start."""
    theorem_2 = q_map(
        claim("fast.thm2@appendix"),
        ("local_lr", np.geomspace(1e-4, 1, 145)), ("strong_convexity", np.geomspace(1e-3, 1, 109)),
        dict(smoothness=1, local_steps=1, cohort=1, arbitrary_cohort=1),
    )  # fmt: skip
    theorem_1 = q_map(
        claim("fast.thm1@main"),
        ("dissimilarity", np.geomspace(0.01, 100, 145)), ("peak_full_pseudogradient", np.geomspace(0.01, 1e4, 109)),
        dict(smoothness=1, local_steps=1, local_lr=1 / 16, cohort=2, arbitrary_cohort=1,
             peak_arbitrary_pseudogradient=1, peak_cohort_pseudogradient=1),
    )  # fmt: skip
    return plot_maps(theorem_2, theorem_1)


def pair(q: Number, local_lr: Number, start: float = 0, server_noise: float = 0, curvature: int = 1) -> Setting:
    """SAFARI on F_i(x) = h (x - c_i)^2/2 with c = 1, -1, of which the client at 1 is the only one that takes part,
    under the tie of Theorem 4, which is also that of Theorem 5, as L = mu = h; with h = 1, sigma_G = 1. The optimum is
    0."""
    fed = Quadratic.common_hessian(offsets=[1, -1], hessian=curvature, server_noise=server_noise)
    server_lr = theorem_4_server_lr(local_lr, 1)
    algorithm = safari(client_round_probability=q, local_lr=local_lr, server_lr=server_lr)
    return Setting(fed, algorithm, Fixed([0]), start=start)


def floor(q: np.ndarray) -> np.ndarray:
    """(2q/(1 + q))^2: where E|x - x*|^2 of the pair tends to as the steps go to 0."""
    return (2 * q / (1 + q)) ** 2


def plot_pair_floors(**options: Any) -> Figure:
    """Where the pair settles, between the floors of the corrected theorems and of the sharp ones."""
    floors = {"corrected floor $4q$": lambda q: 4 * q, "sharp floor $(2q/(1+q))^2$": floor}
    return plot_floors(pair, lambda q: pair(q, "1/50", 10, 1), "$x_0$ = 10, server noise 1", floors, **options)


def plot_pair_bounds() -> Figure:
    """Theorems 4 and 5 of SAFARI over rounds, at the instances that refute the printed ones. The printed conditions on
    q hold in all the rounds shown."""
    return plot_editions(
        Editions("Theorem 4: h = 1, $x_0$ = 2, $\\eta_c$ = 1/50, q = 1/2", "mean of $E|\\nabla F(x_r)|^2$",
                 _editions("safari.thm4"), pair("1/2", "1/50", start=2), 10**4),
        Editions("Theorem 5: h = 1000, $x_0$ = 1, $\\eta_c$ = $2\\cdot 10^{-8}$, q = 1/2", "$E|x_R-x^*|^2$",
                 _editions("safari.thm5"), pair("1/2", Fraction(2, 10**8), start=1, curvature=1000), 3 * 10**5),
    )  # fmt: skip


def _editions(id: str) -> tuple[Claim, Claim, Claim]:
    return claim(id), claim(f"{id}@corrected"), claim(f"{id}@sharp")


def plot_pair_conditions(curvatures: tuple[float, ...] = (1, 10, 1000)) -> Figure:
    """Which q the conditions allow at a point x of the pair, and where a run with this q settles. On the left Theorem 4
    with G_1 = |grad F(x)|^2 and G_2 = |grad F_1(x)|^2; on the right Theorem 5 as printed, for several curvatures, and
    as derived, which does not depend on them."""
    x = np.linspace(0.005, 6, 1200)
    area = largest_q(claim("safari.thm4"), "q_condition", smoothness=1, local_steps=1, server_lr=0.01, dissimilarity=1,
                     peak_server_gradient=x**2, peak_arbitrary_pseudogradient=(x - 1) ** 2)  # fmt: skip
    left = Allowed("Theorem 4: allowed far away, not where runs settle", "q", x, area)
    x = np.linspace(0.005, 2, 400)

    def tied(h: float, step: float = 1e-9) -> dict[str, float | np.ndarray]:
        return {"smoothness": h, "strong_convexity": h, "server_lr": step / h, "local_lr": 2 * step / h,
                "least_client_progress": (x - 2) / (2 * h * x), "local_steps": 1}  # fmt: skip

    printed = [(f"printed, h = {h:g}", largest_q(claim("safari.thm5"), "q_condition", **tied(h))) for h in curvatures]
    derived = largest_q_by_product(claim("safari.thm5@derived"), "q_condition", **tied(1))
    right = Allowed("Theorem 5: what is printed depends on the units", "largest q allowed at x", x, None, printed,
                    [("derived, any h", derived)])  # fmt: skip
    q = np.linspace(0, 1, 200)
    return plot_allowed(left, right, ("settles at $2q/(1+q)$", 2 * q / (1 + q), q))


def example_traces(rounds: int, seed: int = 0) -> dict[str, np.ndarray]:
    """The simulated processes of FLICS, section IV-B, for ten groups, the later ones scarcer; the paper's own
    parameters are not printed."""
    scarce = np.linspace(1.0, 0.1, 10)
    means = 12 * scarce
    processes: dict[str, CyclicAvailability | PoissonAvailability | UniformAvailability] = {
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


RATES = ("9/10", "1/2", "1/5", "1/10")
"""The clients' participation probabilities, where the caller gives no process."""

LOCAL_STEPS = 3

COMPARED: dict[str, tuple[str, Callable[[Number], Algorithm]]] = {
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


def plot_compared(process: Participation | None = None, local_lr: Number = "1/50", **options: Any) -> Figure:
    """``plot_algorithms`` of ``COMPARED`` on ``four_clients``, from x_0 = 5. Known statistics, FedVarp and MIFA share a
    dashed line: their mean weights are equal, so that local steps alone bias them.

    Args:
        process: of four clients; default: ``Bernoulli(RATES)``.
        local_lr, options: see ``plot_algorithms``.

    >>> figure = plot_compared(rounds=100, steps=[0.01, 0.1])
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['round r', 'local step size']
    """
    fed, who = four_clients(), process or Bernoulli(RATES)
    settings = {name: (colour, lambda lr, make=make: Setting(fed, make(lr), who, start=5))
                for name, (colour, make) in COMPARED.items()}  # fmt: skip
    return plot_algorithms(settings, local_lr, **options)


def server_problems() -> dict[str, tuple[Law, Law, FiniteClass]]:
    """Three thresholds on two points; clients with P's own law, with the common point alone, and with labels that are
    turned on one point for a part."""
    P = Law([["1/2", "1/10"], ["1/10", "3/10"]])
    H = FiniteClass.thresholds(2)
    return {
        "alike": (P, P, H),
        "the first point alone": (P, Law([["5/6", "1/6"], [0, 0]]), H),
        "some labels turned": (P, Law([["1/2", "1/10"], ["1/5", "1/5"]]), H),
        "labels turned": (P, Law([["1/2", "1/10"], ["3/10", "1/10"]]), H),
    }


FIGURES: dict[str, Callable[[], Figure]] = {
    "fast.thm1.png": lambda: plot_measured("fast.thm1", theorem_1()),
    "fast.thm2.png": lambda: plot_measured("fast.thm2", theorem_2()),
    "fast.q_conditions.png": plot_fast_maps,
    "safari.floors.png": plot_pair_floors,
    "safari.bounds.png": plot_pair_bounds,
    "safari.q_conditions.png": plot_pair_conditions,
    "safari.capacity.png": plot_capacity,
    "safari.server_data.png": lambda: plot_server_data(server_problems()),
    "safari.theorem_3.png": lambda: plot_conditions(
        server_problems()["labels turned"], server_problems()["some labels turned"]
    ),
    "fedau.cutoffs.png": plot_cutoffs,
    "fedau.inconsistency.png": plot_inconsistency,
    "flics.participation.png": plot_example_participation,
    "flics.gap.png": plot_example_gap,
    "algorithms.errors.png": plot_compared,
    **{f"{draw.__name__}.practice.png": draw for draw in (twins.fast, twins.safari, twins.fedau, twins.flics)},
}
"""What draws each figure, by its file's name."""


def draw(name: str, folder: Path) -> Path:
    """Draw one of ``FIGURES`` into ``folder``; its path."""
    save(FIGURES[name](), folder / name)
    return folder / name


def figures(folder: Path) -> dict[str, Callable[[], Path]]:
    """What draws every figure, by its file's name."""
    return {name: partial(draw, name, folder) for name in FIGURES}
