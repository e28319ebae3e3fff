"""Figures of where runs settle: over the step size, over a probability, and how they get there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..moments.expected_errors import exact_errors
from ..moments.stationary import NotContracting, stationary
from ..setting import Setting
from ..weights import fixed_point, inconsistency_rate, objective_minimiser
from .colours import REPAIRED
from .style import BELOW, DASHED, GREYS, KEY, LARGE, LINES, REPAIRED_LINES, covered, finish, panels, several, styled

MARKERS = "osD^vXP"
"""Markers of methods that are drawn beside each other."""

MOST = 5
"""The most numbers of local steps in one picture."""


@styled()
def plot_algorithms(
    compared: Mapping[str, Callable[[Any], Setting]],
    local_lr: Any = "1/50",
    rounds: int = 1000,
    steps: Sequence[float] | np.ndarray = (),
) -> Figure:
    """Draw E|x_r - x*|^2 over the rounds, exact, and its limit over the step size.

    The part of the limit that is bias, |lim E x_r - x*|^2, is dashed. A line ends where squares do not contract.

    Args:
        compared: by name, what gives the setting of a local step size.
        local_lr: of the left side.
        rounds: of the left side, at least 1.
        steps: local step sizes of the right side; default: 25 from 1/1000 to 1/2.

    Raises:
        ValueError: as ``exact_errors``.
    """
    sizes = np.array(steps if len(steps) else np.geomspace(1e-3, 0.5, 25))
    axis = np.unique(np.geomspace(1, rounds, 200).astype(np.int64))
    figure, (left, right) = panels(10, 5.2, columns=2)
    errors = [exact_errors(setting(local_lr), axis).squared_distance for setting in compared.values()]
    ends = [np.array([_ends(setting(float(step))) for step in sizes]) for setting in compared.values()]
    dashed: dict[str, Any] = {"lw": 1.2, "ls": DASHED}
    for i, (name, colour) in enumerate(zip(compared, several(len(compared)), strict=True)):
        mark: dict[str, Any] = {"color": colour, "marker": MARKERS[i % len(MARKERS)], "ms": 5}
        every: Any = (10 + 4 * i, 40)
        left.loglog(axis, errors[i], **mark, markevery=every, label=name, **covered(errors[i], errors[i + 1 :]))
        end, bias = ends[i].T
        right.loglog(
            sizes,
            end,
            **mark,
            markevery=(i % 4, 6),
            label=f"_{name}",
            **covered(end, [each[:, 0] for each in ends[i + 1 :]]),
        )
        bias = np.where(bias > 0, bias, np.nan)
        right.loglog(
            sizes,
            bias,
            **mark,
            markevery=(i % 4, 6),
            label=f"_{name}, bias",
            **dashed | covered(bias, [each[:, 1] for each in ends[i + 1 :]]),
        )
    right.plot([], [], color=KEY, label="$E|x-x^*|^2$")
    right.plot([], [], color=KEY, **dashed, label="of which bias")
    finish(left, f"Exact error, local step size {local_lr}", "round r", "$E|x_r-x^*|^2$", legend=False)
    finish(right, "Where it settles", "local step size", "$E|x_\\infty-x^*|^2$")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _ends(setting: Setting) -> tuple[float, float]:
    """The limit of the error, and of it the bias; NaN where they do not exist."""
    try:
        found = stationary(setting)
    except NotContracting:
        return np.nan, np.nan
    return float(found.squared_distance), float(found.mean @ found.mean)


Share = Callable[[float], Setting]
"""The setting with a share of rounds of one kind."""


@styled(**LARGE)
def plot_floors(
    settling: Mapping[str, Share],
    floors: Mapping[str, Callable[[np.ndarray], np.ndarray]],
    started: Share,
    rounds: Sequence[int] = (100, 300, 10_000),
    name: str = "q",
    points: int = 100,
) -> Figure:
    """Draw the exact stationary error over a share q of rounds, and the exact error after some rounds.

    The left panel has E|x - x*|^2 and the floors that statements have in its place. The right one has the error after
    some rounds, with the best q.

    Args:
        settling: by label, what gives the setting of a share.
        floors: functions of the shares, by label: of repaired statements, the largest first.
        started: of a share, a setting with a start, for the right side.
        rounds: of the right side, up to three.
        name: what the share is called.
        points: on the left; on the right as many.

    Raises:
        ValueError: more settings, floors or rounds than lines that can be told apart.
    """
    for what, many, most in (("settling", settling, 2), ("floors", floors, len(REPAIRED_LINES)), ("rounds", rounds, 3)):
        if len(many) > most:
            raise ValueError(f"{len(many)} {what}: allowed are up to {most}, whose lines can be told apart")
    figure, (left, right) = panels(10, 5, columns=2)
    q = np.linspace(1 / points, 1, points)
    settled = {
        label: np.array([float(stationary(setting(share)).squared_distance) for share in map(float, q)])
        for label, setting in settling.items()
    }
    for (label, floor), line in zip(floors.items(), REPAIRED_LINES, strict=False):
        values = np.broadcast_to(floor(q), q.shape)
        left.plot(q, values, color=REPAIRED, ls=line, label=label, **covered(values, list(settled.values())))
    for n, ((label, values), grey, line) in enumerate(zip(settled.items(), GREYS, LINES, strict=False)):
        left.plot(q, values, color=grey, ls=line, label=label, **covered(values, list(settled.values())[n + 1 :]))
    finish(left, "Where runs settle", name, "$E|x_\\infty-x^*|^2$", **BELOW)
    shares = np.concatenate([[0.0], np.geomspace(1e-4, 0.05, points // 3), np.linspace(0.05, 1, points * 2 // 3)[1:]])
    after = [np.array([exact_errors(started(float(q)), [R]).squared_distance[0] for q in shares]) for R in rounds]
    for n, (R, errors, grey, line) in enumerate(zip(rounds, after, GREYS, LINES, strict=False)):
        best, number = int(errors.argmin()), f"{R:,}".replace(",", " ")
        wide = covered(errors, after[n + 1 :])
        right.semilogy(shares, errors, color=grey, ls=line, label=f"exact, R = {number}", **wide)
        right.plot(shares[best], errors[best], "o", color=grey, clip_on=False, zorder=3, label=f"_best q, R = {R}")
    right.plot([], [], "o", color=KEY, label="best q")
    finish(right, "After R rounds", name, "$E|x_R-x^*|^2$", **BELOW)
    return figure


@styled(**LARGE)
def plot_inconsistency(local_steps: Sequence[int] = (2, 5, 20), curvatures: Sequence[float] = (1, 10)) -> Figure:
    """Draw the distance of E x_t of FedAU's Algorithm 1 in the limit from the minimiser of h, over the step size.

    It is solid, and dotted to first order. The clients have these curvatures, minimisers 0, 1, ..., and equal weights
    p_n omega_n.

    Raises:
        ValueError: more numbers of steps than colours, or a curvature that is not positive.

    >>> [text.get_text() for text in plot_inconsistency([2]).axes[0].get_legend().get_texts()]
    ['I = 2', 'exact', 'to first order in $\\\\gamma$']
    """
    if not 1 <= len(local_steps) <= MOST:
        raise ValueError(f"local_steps = {list(local_steps)}: allowed are 1 to {MOST}")
    clients = [1] * len(curvatures), [[h] for h in curvatures], [[n] for n in range(len(curvatures))]
    best = objective_minimiser(*clients)[0]
    steps = np.geomspace(1e-4, 1, 60) / max(curvatures)
    figure, (axes,) = panels(6, 4.2)
    for count, colour in zip(local_steps, several(len(local_steps)), strict=True):
        there = [abs(float(fixed_point(*clients, count, step)[0] - best)) for step in steps * (1 - 1e-12)]
        axes.loglog(steps, there, color=colour, label=f"I = {count}")
        axes.loglog(
            steps,
            abs(float(inconsistency_rate(*clients, count)[0])) * steps,
            color=colour,
            lw=0.9,
            ls=":",
            label=f"_I = {count}, to first order",
        )
    axes.plot([], [], color=KEY, label="exact")
    axes.plot([], [], color=KEY, lw=0.9, ls=":", label="to first order in $\\gamma$")
    finish(
        axes,
        "Where runs settle with several local steps",
        r"local step size $\gamma$",
        "distance from the minimiser of h",
    )
    return figure
