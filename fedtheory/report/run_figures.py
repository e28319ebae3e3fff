"""Figures of runs and exact errors over rounds, without a bound: means over replicas and their confidence bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..arguments import described
from ..moments.expected_errors import ExactErrors
from ..quantities import nearest
from ..rationals import option
from ..simulation import Run
from ..simulation.run import mean_and_interval
from .colours import EXACT, MEASURED
from .style import LINES, captioned, finish, in_words, panels, several, styled, typeset_units

Drawn = Run | ExactErrors

FIRST = ("squared_distance", "test_accuracy", "train_accuracy", "training_accuracy", "loss")
"""Rows that are drawn if nothing else is said, the first one that all have."""
LETTERS = {
    "squared_distance": (r"|x_r - x^*|^2", "x^2"),
    "squared_gradient": (r"|\nabla F(x_r)|^2", "F^2/x^2"),
    "gap": (r"F(x_r) - F^*", "F"),
}
"""Formulas and units of rows that have them."""
UNITS = {"loss": "F", "accuracy": "share", "bytes_sent": "bytes", "probability": "share"}
"""Units of other rows, by how their names end."""
OVER = {"_sum": "sum before round r of", "_min": "least so far of", "_max": "largest so far of"}
DECADES = 20.0
"""The ratio of the largest to the least value from which on they are drawn logarithmically."""
BELOW = 3.0
"""Factor by which a logarithmic axis goes below the least mean; a band that goes down to 0 is cut there."""


@styled()
def plot_runs(
    *drawn: Drawn | Mapping[str, Drawn] | Sequence[Drawn],
    row: str | None = None,
    labels: Sequence[str] | None = None,
    scale: str | None = None,
    confidence: float = 0.99,
) -> Figure:
    """Draw a row of runs over their rounds, the mean over replicas with its confidence band, and exact errors beside.

    Args:
        drawn: ``setting.simulate(...)`` and ``setting.exact(rounds)``, in any order; or these in a list, or by label.
        row: of the run, as "squared_gradient", "test_accuracy" or "squared_gradient_sum"; by default the error's, of
            networks the accuracy's.
        labels: what they are called, one each.
        scale: "log" or "linear"; by default logarithmic where values are > 0 and some 20 times others.
        confidence: of the band (see ``Run.interval``); one replica has none.

    Raises:
        ValueError: other things to draw, a row that one of them lacks, has of each client or has no finite number of,
            or another scale.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1], gradient_noise=1)
    >>> s = ft.Setting(fed, ft.algorithms.fedavg(local_lr="1/10"), ft.participation.Uniform(1), start=9)
    >>> figure = plot_runs(s.exact(range(41)), s.simulate(replicas=8, rounds=40))
    >>> [line.get_label() for line in figure.axes[0].lines], figure.axes[0].get_yscale()
    (['exact', 'mean of 8 replicas'], 'log')
    """
    shown, names = _listed(drawn, labels)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence}: allowed is a number between 0 and 1")
    if scale is not None:
        option("scale", scale, ("log", "linear"))
    row = _row(shown, row)
    curves = [_curve(each, row, confidence, name) for each, name in zip(shown, names, strict=True)]
    values = np.concatenate([mean for _, mean, _, _ in curves])
    positive = bool((values > 0).all())
    if scale == "log" and not positive:
        raise ValueError(f"scale = 'log': {row} has values <= 0; allowed is 'linear'")
    scale = scale or ("log" if positive and values.max() > DECADES * values.min() else "linear")
    figure, (axes,) = panels(6.4, 4.0)
    colours = _colours(shown)
    banded = False
    for each, name, (rounds, mean, low, high), (colour, line) in zip(shown, names, curves, colours, strict=True):
        axes.plot(rounds, mean, color=colour, ls=line, label=name, zorder=2.5 if isinstance(each, ExactErrors) else 2)
        banded |= _band(axes, rounds, low, high, colour)
    axes.set_yscale(scale, **({"nonpositive": "clip"} if scale == "log" else {}))
    if scale == "log":
        axes.set_ylim(bottom=values.min() / BELOW)
    finish(axes, "", "round $r$", label_of(row))
    said = [f"Bands: {confidence:.0%} confidence intervals of the mean."] if banded else []
    for each, name in zip(shown, names, strict=True):
        if isinstance(each, Run) and each.divergence is not None:
            said.append(f"{name}: {each.divergence}.")
    return captioned(figure, " ".join(said))


def _listed(drawn: Sequence[Any], labels: Sequence[str] | None) -> tuple[list[Drawn], list[str]]:
    """What is drawn, one after the other, with names."""
    shown: list[Any] = []
    called: list[str | None] = []
    for each in drawn:
        if isinstance(each, Mapping):
            shown += each.values()
            called += map(str, each)
        else:
            many = list(each) if isinstance(each, list | tuple) else [each]
            shown += many
            called += [None] * len(many)
    for each in shown:
        if not isinstance(each, Run | ExactErrors):
            raise ValueError(
                f"plot: what is {described(each)} cannot be drawn: allowed are runs (setting.simulate), exact errors "
                "(setting.exact), or a bound first"
            )
    if not shown:
        raise ValueError("plot: nothing is given: allowed is at least one run, exact errors or a bound")
    if labels is not None:
        if isinstance(labels, str) or len(labels) != len(shown):
            given = 1 if isinstance(labels, str) else len(labels)
            raise ValueError(f"labels: {given} for {len(shown)} curves: allowed is a list of one each")
        called = list(map(str, labels))
    runs = sum(isinstance(each, Run) for each in shown)
    names, number = [], 0
    for each, name in zip(shown, called, strict=True):
        number += isinstance(each, Run)
        names.append(_called(each, name, number, runs > 1))
    return shown, names


def _called(each: Drawn, name: str | None, number: int, among: bool) -> str:
    if isinstance(each, ExactErrors):
        return name or "exact"
    of = f"mean of {each.replicas} replicas" if each.replicas > 1 else "one replica"
    return f"{name}, {of}" if name else f"run {number}, {of}" if among else of


def _row(shown: Sequence[Drawn], row: str | None) -> str:
    """The row that is drawn, which all have."""
    known = [_known(each) for each in shown]
    if row is None:
        common = [name for name in known[0] if all(name in names for names in known)]
        found = [name for name in (*FIRST, *common) if name in common]
        if not found:
            raise ValueError("row: what is drawn has no row in common: allowed are curves of the same number")
        return found[0]
    for each, names in zip(shown, known, strict=True):
        if row not in names:
            if isinstance(each, Run) and row in each.rows:
                raise ValueError(f"row = {row!r} has a number for each client: allowed are {', '.join(names)}")
            raise ValueError(f"row = {row!r}: {nearest(row, names)}")
    return row


def _known(each: Drawn) -> list[str]:
    if isinstance(each, ExactErrors):
        return ["squared_distance", "squared_gradient", "squared_gradient_sum"]
    return [name for name, values in each.rows.items() if values.ndim == 2]


def _curve(each: Drawn, row: str, confidence: float, name: str) -> tuple[np.ndarray, ...]:
    """Rounds, means and the ends of the band, where the mean is finite."""
    if isinstance(each, ExactErrors):
        mean = np.asarray(each.gradient_sum if row.endswith("_sum") else getattr(each, row), dtype=float)
        low = high = np.full_like(mean, np.nan)
    else:
        mean, low, high = mean_and_interval(each.rows[row], confidence)
    finite = np.isfinite(mean)
    if not finite.any():
        raise ValueError(f"row = {row!r}: {name} has no finite number; allowed is a row that has one")
    rounds = np.asarray(each.rounds, dtype=float)
    return rounds[finite], mean[finite], low[finite], high[finite]


def _colours(shown: Sequence[Drawn]) -> list[tuple[str, Any]]:
    """Exact curves are black; one run has the colour of what is measured, several have colours of their own."""
    runs = sum(isinstance(each, Run) for each in shown)
    of_runs = iter(several(runs) if runs > 1 else [MEASURED] * runs)
    exact = iter(LINES[i % len(LINES)] for i in range(len(shown)))
    return [(EXACT, next(exact)) if isinstance(each, ExactErrors) else (next(of_runs), "-") for each in shown]


def _band(axes: Axes, rounds: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> bool:
    """Draw a band where it is finite; whether there is one."""
    there = np.isfinite(low) & np.isfinite(high)
    if not there.any():
        return False
    axes.fill_between(rounds[there], low[there], high[there], color=colour, alpha=0.22, lw=0)
    return True


def label_of(row: str) -> str:
    """An axis's label: the row's formula or words, and its units.

    >>> label_of("gap"), label_of("test_accuracy"), label_of("squared_gradient_min")[:20]
    ('$F(x_r) - F^*$   [F]', 'test accuracy   [share]', 'least so far of $|\\\\n')
    """
    plain, over = row, ""
    for ending, words in OVER.items():
        if row.endswith(ending):
            plain, over = row.removesuffix(ending), f"{words} "
    formula, units = LETTERS.get(plain, ("", ""))
    units = units or next((unit for ending, unit in UNITS.items() if plain.endswith(ending)), "")
    said = f"${formula}$" if formula else in_words(plain)
    return over + said + (f"   [{typeset_units(units)}]" if units else "")
