"""Figures of learnability: error against capacity, and excess risk against a server's data.

Others show where a condition holds, and how much of each bound is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from matplotlib.figure import Figure

from ..learning import FiniteClass, Law, TwoPoints, excess_law, finite_complexity, smallest_alpha, theorem_2, theorem_3
from ..learning.relatedness import smallest_noise_constant
from .colours import EXACT, PRINTED, REPAIRED
from .style import DASHED, KEY, LARGE, LINES, MIXED, PALE, covered, finish, panels, several, styled


@styled(**LARGE)
def plot_capacity(clients: int = 20, samples: Sequence[int] = (1, 10, 1000)) -> Figure:
    """Draw the errors of and beside Theorem 1 over the capacity, and how likely the largest is.

    The left panel has the error of which Theorem 1 speaks, and the errors that hold in its place. The right one shows
    how likely the largest is not avoided, for samples chosen one by one and for whole clients that are alike.

    >>> figure = plot_capacity(5, (1,))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['capacity m/M', 'capacity m/M']
    """
    figure, (left, right) = panels(10, 4.2, columns=2)
    m = np.arange(1, clients)
    omega = m / clients
    left.plot(omega, (1 - omega) / 8, color=PRINTED, label="printed, probability 1/20")
    left.plot(omega, (1 - omega) / 2, color=REPAIRED, ls=DASHED, label="the same process, probability 9/10")
    left.plot(omega, 1 - omega, color=REPAIRED, ls=MIXED, label="clients that differ, certain")
    for n, colour in zip(samples, several(len(samples)), strict=True):
        problems = [TwoPoints(clients, int(k), n) for k in m]
        hidden = np.array([-math.expm1(p.log_shown()) for p in problems])
        right.plot(
            omega, hidden, color=colour, label=f"n = {n}", **covered(hidden, [np.ones(len(m))] * (n != samples[-1]))
        )
        right.plot(
            omega,
            [-math.expm1(p.log_shown_by_clients()) for p in problems],
            color=colour,
            ls=DASHED,
            lw=1.2,
            label=f"_n = {n}, whole clients",
        )
    right.axhline(1 / 20, color=PALE, lw=0.9, label="1/20")
    right.plot([], [], color=KEY, ls=DASHED, lw=1.2, label="whole clients, alike")
    finish(left, "Error that some target forces", "capacity m/M", "error")
    finish(right, f"How often $x_2$ stays hidden, M = {clients}", "capacity m/M", "probability", legend=False)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=len(samples) + 2)
    return figure


MOST = 5
"""The most problems in one picture."""

Problem = tuple[Law, Law, FiniteClass]
"""P, the clients' D, and the class."""


def one_server_sample_more(problem: Problem, clients: int, server: Sequence[int]) -> tuple[list[float], list[float]]:
    """Compute exact mean excess risks for so many server samples, with ``clients`` client samples and without."""
    P, D, H = problem
    with_clients = [float(excess_law(P, H, [(P, n), (D, clients)]).mean()) for n in server]
    return with_clients, [float(excess_law(P, H, [(P, n)]).mean()) for n in server]


@styled(**LARGE)
def plot_server_data(problems: Mapping[str, Problem], clients: int = 4, most: int = 8) -> Figure:
    """Draw the exact mean excess risk of the worst minimiser over the server's samples.

    Lines are with clients' samples, and (dashed) without. The legend gives the smallest alpha for beta = 1 at as many
    samples of both.

    >>> P = Law.labelled(["1/2", "1/2"], [0, 1])
    >>> figure = plot_server_data({"alike": (P, P, FiniteClass.all(2))}, clients=2, most=3)
    >>> figure.axes[0].get_ylabel()
    'mean excess risk under P'
    """
    if not 1 <= len(problems) <= MOST:
        raise ValueError(f"{len(problems)} problems: allowed are 1 to {MOST}")
    figure, (axes,) = panels(6.2, 4.4)
    server = list(range(1, most + 1))
    for (name, problem), colour in zip(problems.items(), several(len(problems)), strict=True):
        P, D, H = problem
        alpha = float(smallest_alpha(P.excesses(H), D.mixed(P, Fraction(1, 2)).excesses(H), 1).value)
        both, alone = one_server_sample_more(problem, clients, server)
        axes.plot(server, both, color=colour, label=rf"{name}, $\alpha$ = {alpha:.3g}")
        axes.plot(server, alone, color=colour, ls=DASHED, lw=1.1, label=f"_{name}, without clients")
    axes.plot([], [], color=KEY, ls=DASHED, lw=1.1, label="without clients")
    finish(axes, f"{clients} client samples", "server samples", "mean excess risk under P")
    return figure


@styled(**LARGE)
def plot_conditions(
    apart: Problem, problem: Problem, most: int = 7, samples: int = 200, confidence: Fraction = Fraction(1, 20)
) -> Figure:
    """Draw where Theorem 3's condition holds, and how much of Theorems 2 and 3 is used.

    The left panel shows where e_P(h_Q*) <= a_T on the problem ``apart``, over both numbers of samples. The right one
    shows, on the other problem, the exact quantile over the bound.

    >>> P = Law.labelled(["1/2", "1/2"], [0, 1])
    >>> D = Law.labelled(["1/2", "1/2"], [1, 0])
    >>> [axes.get_xlabel() for axes in plot_conditions((P, D, FiniteClass.all(2)), (P, P, FiniteClass.all(2)), 2).axes]
    ['server samples', 'server samples = client samples']
    """
    figure, (left, right) = panels(10, 4.2, columns=2)
    P, D, H = apart
    of_p, grid = P.excesses(H), np.unique(np.geomspace(1, samples, 30).astype(int)).tolist()
    best = [[float(of_p[D.mixed(P, Fraction(m, n + m)).best(H)]) for n in grid] for m in grid]
    allowed = np.array([finite_complexity(len(H), n, confidence) for n in grid])
    left.pcolormesh(grid, grid, np.array(best) <= allowed, cmap="Greys", vmin=0, vmax=2, shading="nearest")
    left.set_xscale("log")
    left.set_yscale("log")
    P, D, H = problem
    of_p, counts = P.excesses(H), range(1, most + 1)
    used: dict[str, list[float]] = {"Theorem 2": [], "Theorem 3": []}
    for n in counts:
        Q = D.mixed(P, Fraction(1, 2))
        alpha = float(smallest_alpha(of_p, Q.excesses(H), 1).value)
        noise = [
            float(smallest_noise_constant(law.excesses(H), law.disagreements(H, law.best(H)), 1).value)
            for law in (Q, P)
        ]
        a_T, e_0 = finite_complexity(len(H), n, confidence), float(of_p[Q.best(H)])
        bounds = (theorem_2(alpha, 1, noise[0], 1, len(H), 2 * n, confidence), theorem_3(e_0, noise[1], 1, a_T))
        exact = [float(excess_law(P, H, [(P, n), (D, n)], server=s).quantile(confidence)) for s in (None, 0)]
        for name, value, bound in zip(used, exact, bounds, strict=True):
            used[name].append(value / bound if math.isfinite(bound) and bound > 0 else 0.0)
    for (name, values), line in zip(used.items(), LINES, strict=False):
        right.plot(list(counts), values, color=EXACT, ls=line, label=f"exact / bound, {name}")
    right.axhline(1, color=PALE, lw=0.9, label="all of it")
    finish(left, r"Dark: $e_P(h_Q^*)\leq a_T$", "server samples", "client samples", grid=False)
    finish(right, "Exact quantile / bound with every constant", "server samples = client samples", "share used")
    return figure
