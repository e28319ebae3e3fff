"""Where runs settle: over the step size, over a probability, and how they get there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..moments.errors import exact_errors
from ..moments.stationary import NotContracting, stationary
from ..setting import Setting
from ..weights import fixed_point, inconsistency_rate, objective_minimiser
from .style import BELOW, DASHED, GREYS, KEY, LARGE, REPAIRED, SEVERAL, SHARP, covered, finish, panels, styled


@styled()
def plot_algorithms(
    compared: Mapping[str, tuple[str, Callable[[Any], Setting]]],
    local_lr: Any = "1/50",
    rounds: int = 1000,
    steps: Sequence[float] | np.ndarray = (),
) -> Figure:
    """On the left E|x_r - x*|^2 over the rounds, exact; on the right what it tends to, over the step size, with the
    part that is bias, |lim E x_r - x*|^2, dashed. A line ends where squares do not contract.

    Args:
        compared: by name, a colour and what gives the setting of a local step size.
        local_lr: of the left side.
        rounds: of the left side, at least 1.
        steps: local step sizes of the right side; default: 25 from 1/1000 to 1/2.

    Raises:
        ValueError: as ``exact_errors``.
    """
    sizes = np.array(steps if len(steps) else np.geomspace(1e-3, 0.5, 25))
    axis = np.unique(np.geomspace(1, rounds, 200).astype(np.int64))
    figure, (left, right) = panels(10, 4.6, columns=2)
    dashed: dict[str, Any] = {"lw": 1.2, "ls": DASHED}
    errors = [exact_errors(setting(local_lr), axis).squared_distance for _, setting in compared.values()]
    ends = [np.array([_ends(setting(float(step))) for step in sizes]) for _, setting in compared.values()]
    for i, (name, (colour, _)) in enumerate(compared.items()):
        left.loglog(axis, errors[i], color=colour, label=name, **covered(errors[i], errors[i + 1 :]))
        end, bias = ends[i].T
        right.loglog(sizes, end, color=colour, **covered(end, [each[:, 0] for each in ends[i + 1 :]]))
        bias = np.where(bias > 0, bias, np.nan)
        right.loglog(sizes, bias, color=colour, **dashed | covered(bias, [each[:, 1] for each in ends[i + 1 :]]))
    right.plot([], [], color=KEY, label="$E|x-x^*|^2$")
    right.plot([], [], color=KEY, **dashed, label="of which bias")
    finish(left, f"Exact error, local step size {local_lr}", "round r", "$E|x_r-x^*|^2$")
    finish(right, "Where it settles", "local step size", "$E|x_\\infty-x^*|^2$")
    return figure


def _ends(setting: Setting) -> tuple[float, float]:
    """The limit of the error, and of it the bias; NaN where they do not exist."""
    try:
        found = stationary(setting)
    except NotContracting:
        return np.nan, np.nan
    return float(found.squared_distance), float(found.mean @ found.mean)


@styled(**LARGE)
def plot_floors(
    setting: Callable[[float, str], Setting],
    started: Callable[[float], Setting],
    start: str,
    floors: Mapping[str, Callable[[np.ndarray], np.ndarray]],
    steps: Sequence[str] = ("1/5", "1/50"),
    rounds: Sequence[int] = (100, 300, 10_000),
) -> Figure:
    """On the left the stationary error over the share q of client rounds for some step sizes, between the floors of
    two statements, the sharp one last; on the right the error after some rounds, with the best q.

    Args:
        setting: of a share and a step size.
        started: of a share, with a start and noise, which ``start`` tells.
        floors: two functions of the shares, by label.
    """
    share = "share q of client rounds"
    figure, (left, right) = panels(10, 5, columns=2)
    q = np.linspace(0.01, 1, 100)
    (corrected, above), (sharp, below) = floors.items()
    left.plot(q, above(q), color=REPAIRED, label=corrected)
    for step, grey in zip(steps, GREYS[1:], strict=False):
        settled = [float(stationary(setting(share, step)).squared_distance) for share in map(float, q)]
        left.plot(q, settled, color=grey, label=f"exact, $\\eta_c$ = {step}")
    left.plot(q, below(q), color=SHARP, ls="--", label=sharp)
    left.set_ylim(0, 2)
    finish(left, "Where runs settle, without noise", share, "$E|x_\\infty-x^*|^2$", **BELOW)
    shares = np.concatenate([[0.0], np.geomspace(1e-4, 0.05, 40), np.linspace(0.05, 1, 60)[1:]])
    for R, grey in zip(rounds, GREYS, strict=False):
        errors = np.array([exact_errors(started(float(q)), [R]).squared_distance[0] for q in shares])
        best = int(errors.argmin())
        right.semilogy(shares, errors, color=grey, label=f"R = {R:,}".replace(",", " "))
        right.plot(shares[best], errors[best], "o", color=grey, clip_on=False, zorder=3)
    right.plot([], [], "o", color=KEY, label="best q")
    finish(right, f"After R rounds, {start}", share, "$E|x_R-x^*|^2$", **BELOW)
    return figure


@styled(**LARGE)
def plot_inconsistency(local_steps: Sequence[int] = (2, 5, 20), curvatures: Sequence[float] = (1, 10)) -> Figure:
    """How far E x_t of FedAU's Algorithm 1 settles from the minimiser of h, over the step size (solid), and to first
    order (dotted): clients with these curvatures and minimisers 0, 1, ..., equal weights p_n omega_n.

    Raises:
        ValueError: more numbers of steps than colours, or a curvature that is not positive.

    >>> [text.get_text() for text in plot_inconsistency([2]).axes[0].get_legend().get_texts()]
    ['I = 2', 'exact', 'to first order in $\\\\gamma$']
    """
    if not 1 <= len(local_steps) <= len(SEVERAL):
        raise ValueError(f"local_steps = {list(local_steps)}: allowed are 1 to {len(SEVERAL)}")
    clients = [1] * len(curvatures), [[h] for h in curvatures], [[n] for n in range(len(curvatures))]
    best = objective_minimiser(*clients)[0]
    steps = np.geomspace(1e-4, 1, 60) / max(curvatures)
    figure, (axes,) = panels(6, 4.2)
    for count, colour in zip(local_steps, SEVERAL, strict=False):
        there = [abs(float(fixed_point(*clients, count, step)[0] - best)) for step in steps * (1 - 1e-12)]
        axes.loglog(steps, there, color=colour, label=f"I = {count}")
        axes.loglog(steps, abs(float(inconsistency_rate(*clients, count)[0])) * steps, color=colour, lw=0.9, ls=":")
    axes.plot([], [], color=KEY, label="exact")
    axes.plot([], [], color=KEY, lw=0.9, ls=":", label="to first order in $\\gamma$")
    finish(axes, "Where runs settle with several local steps", r"local step size $\gamma$",
           "distance from the minimiser of h")  # fmt: skip
    return figure
