"""What a claim bounds and by what: bound, exact value and what was measured, over rounds or at one place."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..claims.evaluation import Bound
from ..claims.statement import Claim
from ..functionals import Functional
from ..moments.errors import ExactErrors, exact_errors
from ..schedule import StepRule
from ..setting import Setting
from ..simulation import Run
from .style import (
    BELOW,
    BOUND,
    DASHED,
    EXACT,
    LARGE,
    MEASURED,
    REPAIRED,
    SHARP,
    covered,
    finish,
    functional_label,
    panels,
    quantity_label,
    scale,
    styled,
)  # fmt: skip

MEASURED_STYLE: dict[str, Any] = {"color": MEASURED, "ls": DASHED, "lw": 1.6}


NO_BREAK = "\u00a0"
"""A space at which no line ends."""
VISIBLE = 1.01
"""A band whose upper end is nowhere so many times its lower one is not seen."""


@styled()
def plot(
    bound: Bound,
    exact: ExactErrors | ArrayLike | None = None,
    run: Run | None = None,
    confidence: float = 0.99,
    terms: bool = False,
) -> Figure:
    """A claim's right side with the exact left side and the replicas' mean and confidence band, where given.

    A bound at several rounds, or at several values of one other quantity, is a line over them, rounds logarithmic and
    values too where none is negative; a bound at one place is a bar beside its terms. Hypotheses that fail or are
    undecided are told in small print above, the values of all other quantities below. Where the exact left side first
    exceeds the bound there is a mark.

    Args:
        bound: of any claim: ``claim.at(setting, rounds=array)`` or ``claim.evaluate(...)``.
        exact: the left side: ``setting.exact(rounds)``, or one number for each number of the bound, as
            ``fedtheory.moments.evaluators.left`` gives for any functional.
        run: ``setting.simulate(...)``, of a bound over rounds or at a recorded round.
        confidence: of the band.
        terms: whether a line has its terms as thin lines with it.

    Raises:
        ValueError: the bound varies with several quantities; ``exact`` or ``run`` does not speak of the claim's left
            side, or not where the bound is.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=3)
    >>> figure = plot(ft.claim("fast.thm1").at(s, rounds=range(1, 100)), s.exact(range(1, 100)))
    >>> figure.axes[0].get_title(loc="left")
    'fast.thm1@main: FAST on non-convex objectives'
    """
    statement = bound.statement
    if run is not None and statement.functional.observable not in run.rows:
        raise ValueError(f"run has no {statement.functional.name}: allowed is one whose observables include what "
                         f"{statement.ref} is about")  # fmt: skip
    figure, (axes,) = panels(6.4, 4.0)
    across = _across(bound)
    if across is None:
        _bars(axes, bound, exact, run, confidence)
    else:
        _lines(axes, bound, across, exact, run, confidence, terms)
    note = _note(bound)
    _title(axes, statement, across is not None, note)
    axes.annotate(note, (0, 1), (0, 6), "axes fraction", "offset points", fontsize=7.5, color=BOUND)
    figure.supxlabel(_values(bound, run), fontsize=6.5, color="0.35")
    return figure


def _values(bound: Bound, run: Run | None) -> str:
    """The quantities that have one value, and what was simulated with which seed, in lines that fit below a figure."""

    def text(value: Any) -> str:
        return value.text if isinstance(value, StepRule) else f"{float(value):.4g}"

    shown = {name: text(value) for name, value in bound.quantities.items() if not np.ndim(value)}
    pairs = [f"{name} = {value}".replace(" ", NO_BREAK) for name, value in shown.items()]
    if run is not None and run.where:
        pairs.append(f"measured: {run.where['setting']}, seed {run.where['seed']}")
    return textwrap.fill(", ".join(pairs), 110)


def _title(axes: Axes, statement: Claim, across: bool, note: str) -> None:
    title = textwrap.fill(f"{statement.ref}: {statement.title}", 64 if across else 56)
    axes.set_title(title, pad=19 if note else None)


def _across(bound: Bound) -> str | None:
    """The quantity that the bound varies with; ``None`` if there is none."""
    several = [
        name for name, value in bound.quantities.items() if np.ndim(value) and name not in bound.statement.choices
    ]
    if "rounds" in several:
        return "rounds"
    if len(several) > 1:
        raise ValueError(f"bound varies with {', '.join(several)}: allowed is one of them, or rounds")
    return several[0] if several else None


def _lines(axes: Axes, bound: Bound, across: str, exact: Any, run: Run | None, confidence: float, terms: bool) -> None:
    functional, at = bound.statement.functional, np.asarray(bound.quantities[across])
    axes.loglog(at, np.broadcast_to(bound.value, at.shape), color=BOUND, lw=2, label="bound")
    if terms:
        for name, value in bound.terms.items():
            axes.plot(at, np.broadcast_to(value, at.shape), color=BOUND, lw=0.7, alpha=0.7)
            end = at[-1], np.broadcast_to(value, at.shape)[-1]
            axes.annotate(name, end, (0, 2), "data", "offset points", fontsize=7, color=BOUND, ha="right")
    if exact is not None:
        places, left = _exact_line(functional, exact, at)
        axes.plot(places, left, color=EXACT, lw=1.6, label="exact")
        _mark_crossing(axes, across, places, left, at, np.broadcast_to(bound.value, at.shape))
    if run is not None:
        if across != "rounds":
            raise ValueError(f"run: the bound varies with {across}: allowed is a bound over rounds, or at one round")
        _measured_line(axes, functional, run, confidence)
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    if (drawn < 0).any() or not (drawn[np.isfinite(drawn)] > 0).any():
        axes.set_yscale("linear")
    if across != "rounds":
        axes.set_xscale(scale(at))
    label = "rounds R" if across == "rounds" else quantity_label(across, bound.statement.paper)
    finish(axes, "", label, functional_label(functional))


def _mark_crossing(
    axes: Axes, across: str, places: np.ndarray, left: np.ndarray, at: np.ndarray, right: np.ndarray
) -> None:
    """A circle where the exact left side is first seen above the bound, at a place that both have."""
    _, ours, theirs = np.intersect1d(places, at, return_indices=True)
    above = np.flatnonzero(left[ours] > right[theirs])
    if len(above):
        place, value = places[ours[above[0]]], left[ours[above[0]]]
        name = "R" if across == "rounds" else across
        axes.plot(
            [place], [value], "o", mfc="none", mec=EXACT, ms=9, label=f"first above the bound, {name} = {place:.4g}"
        )


def _exact_line(functional: Functional, exact: Any, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(exact, ExactErrors):
        return exact.rounds, _of_errors(functional, exact)
    values = np.asarray(exact, dtype=float)
    if values.shape != at.shape:
        raise ValueError(f"exact has shape {values.shape}: allowed is that of the bound, {at.shape}")
    return at, values


def _of_errors(functional: Functional, exact: ExactErrors) -> np.ndarray:
    if not hasattr(exact, functional.observable or functional.name):
        raise ValueError(f"exact has no {functional.name}: allowed is an array, such as "
                         "fedtheory.moments.evaluators.left gives for it")  # fmt: skip
    return exact.functional(functional)


def _measured_line(axes: Axes, functional: Functional, run: Run, confidence: float) -> None:
    axis = run.rounds_of(functional)
    shown = axis > 0
    mean, low, high = (values[shown] for values in run.interval(functional, confidence=confidence))
    axes.plot(axis[shown], mean, **MEASURED_STYLE, label=f"measured ({_replicas(run)})")
    floor = np.maximum(low, mean * 1e-3)
    if (np.isfinite(high) & (high > floor * VISIBLE)).any():
        axes.fill_between(axis[shown], floor, high, color=MEASURED, alpha=0.25, lw=0,
                          label=f"{confidence:.0%} interval")  # fmt: skip


def _replicas(run: Run) -> str:
    return f"{run.replicas} replica{'s' if run.replicas > 1 else ''}"


def _bars(axes: Axes, bound: Bound, exact: Any, run: Run | None, confidence: float) -> None:
    functional, at = bound.statement.functional, bound.quantities.get("rounds")
    bars = [("bound", float(bound.value), BOUND, 1.0)]
    if len(bound.terms) > 1:
        bars += [(f"  {name}", float(value), BOUND, 0.4) for name, value in bound.terms.items()]
    if isinstance(exact, ExactErrors):
        exact = _of_errors(functional, exact)[_place(exact.rounds, at, "exact")]
    if exact is not None:
        bars.append(("exact", float(exact), EXACT, 1.0))
    if run is not None:
        place = _place(run.rounds_of(functional), at, "run")
        mean, low, high = (values[place] for values in run.interval(functional, confidence=confidence))
        bars.append((f"measured\n({_replicas(run)})", float(mean), MEASURED, 0.8))
        if np.isfinite([low, high]).all():
            axes.plot([low, high], [len(bars) - 1] * 2, color=EXACT, lw=1.2, marker="|")
    names, values, colours, alphas = zip(*bars, strict=True)
    for row, (value, colour, alpha) in enumerate(zip(values, colours, alphas, strict=True)):
        axes.barh(row, value if np.isfinite(value) else 0, color=colour, alpha=alpha, height=0.6)
        axes.annotate(f"{value:.4g}", (max(value, 0) if np.isfinite(value) else 0, row), (4, 0), "data",
                      "offset points", va="center", fontsize=8)  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 4) - 0.5, -0.5)
    axes.margins(x=0.14)
    if not any(value and np.isfinite(value) for value in values):
        axes.set_xlim(0, 1)
    finish(axes, "", functional_label(functional), "", grid=False)


def _place(rounds: np.ndarray, at: Any, what: str) -> int:
    found = np.flatnonzero(rounds == at)
    if not len(found):
        raise ValueError(f"{what} does not have the bound's round {at}")
    return int(found[0])


def _note(bound: Bound) -> str:
    """What is wrong with the hypotheses, in one line."""
    failing = [name if np.all(slack < 0) else f"{name} (in part)"
               for name, slack in bound.slack.items() if slack is not None and np.any(slack < 0)]  # fmt: skip
    undecided = [name for name, slack in bound.slack.items() if slack is None]
    parts = [f"{word}: {', '.join(names)}" for word, names in (("fails", failing), ("undecided", undecided)) if names]
    return textwrap.shorten("; ".join(parts), 110, placeholder=" ...")


@dataclass(frozen=True)
class Editions:
    """A panel of ``plot_editions``.

    Attributes:
        title, up: what the panel shows.
        editions: the printed, the corrected and the sharp one of a statement.
        setting, rounds: where, and up to which round.
    """

    title: str
    up: str
    editions: tuple[Claim, Claim, Claim]
    setting: Setting
    rounds: int


@styled(**LARGE)
def plot_editions(left: Editions, right: Editions) -> Figure:
    """Printed, corrected and sharp bounds over rounds, whatever their hypotheses say, with the exact left sides."""
    figure, both = panels(10, 5, columns=2)
    for axes, shown in zip(both, (left, right), strict=True):
        horizons = np.unique(np.geomspace(1, shown.rounds, 200).astype(np.int64))
        names = (("printed", BOUND), ("corrected", REPAIRED), ("sharp", SHARP))
        curves = [replace(each, hypotheses=()).at(shown.setting, rounds=horizons).value for each in shown.editions]
        curves.append(exact_errors(shown.setting, horizons).functional(shown.editions[0].functional))
        for i, (name, colour) in enumerate((*names, ("exact", EXACT))):
            label = name if name == "exact" else f"{name} bound"
            axes.loglog(horizons, curves[i], color=colour, label=label, **covered(curves[i], curves[i + 1 :]))
        finish(axes, shown.title, "rounds R", shown.up, **BELOW)
    return figure
