"""Figures of a claim's bound, its exact left side and measured values, over rounds or at one place."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter
from numpy.typing import ArrayLike

from ..arguments import check_kind
from ..claims.evaluation import Bound
from ..claims.statement import Claim
from ..claims.typeset import rounds_letter
from ..functionals import AVERAGES, Functional
from ..moments.expected_errors import ExactErrors
from ..quantities import nearest
from ..schedule import StepRule
from ..simulation import Run
from .colours import EXACT, MEASURED, PRINTED, REPAIRED, WORST
from .run_figures import Drawn, plot_runs
from .style import (
    DOTTED,
    KEY,
    LINES,
    MIXED,
    PRINTED_LINES,
    REPAIRED_LINES,
    captioned,
    covered,
    finish,
    functional_label,
    in_words,
    panels,
    quantity_label,
    scale,
    styled,
    typeset_units,
)

MEASURED_STYLE: dict[str, Any] = {"color": MEASURED, "ls": DOTTED, "lw": 2.2}

NO_BREAK = "\u00a0"
"""A space at which no line ends."""
ROUNDING = 1e-12
"""Relative excess of an exact value over a bound that may be rounding."""
VISIBLE = 0.02
"""The least height of a band, as a share of its panel's. A band that is nowhere so high is hidden by its line."""


@dataclass(frozen=True)
class Right:
    """One right side: a bound, what it is called, and how its line looks."""

    bound: Bound
    label: str
    colour: str
    line: Any


@styled()
def plot(
    bound: Bound | Sequence[Bound] | Drawn | Sequence[Drawn] | Mapping[str, Drawn],
    exact: ExactErrors | ArrayLike | Mapping[str, ArrayLike] | Run | None = None,
    run: Run | None = None,
    *more: Drawn,
    confidence: float = 0.99,
    terms: bool = False,
    repaired: Sequence[Bound] = (),
    worst: ArrayLike | None = None,
    below: str | None = None,
    average: str = AVERAGES[0],
    measured: str | None = None,
    **of_runs: Any,
) -> Figure:
    """Draw a claim's right side, and, where given, the exact left side and the replicas' mean and confidence band.

    Or draw several editions of a statement, printed and repaired, and the exact worst case.

    A bound at several rounds, or at several values of one other quantity, is a line over them, rounds logarithmic and
    values too where none is negative; a bound at one place is a bar beside its terms. Hypotheses that fail or are
    undecided are told in small print above, the values of all other quantities below. Where the exact left side first
    exceeds the (first) bound there is a mark.

    Without a bound runs and exact errors are drawn: ``plot(run)``, ``plot(exact, run)``, ``plot({"a": run, "b":
    another}, row="test_accuracy")``, with the options of ``run_figures.plot_runs``.

    Args:
        bound: of any claim: ``claim.at(setting, rounds=array)`` or ``claim.evaluate(...)``; or several at the same
            places, as printed. Or what is drawn without a bound.
        exact: the left side: ``setting.exact(rounds)``, or one number for each number of the bound, as
            ``fedtheory.moments.evaluators.left`` gives for any functional; or several of these, by name.
        run: ``setting.simulate(...)``, of a bound over rounds or at a recorded round.
        confidence: of the band.
        terms: whether a line has its terms as thin lines with it.
        repaired: what holds in place of what is printed, at the same places.
        worst: the largest left side that there is, one number for each number of the bound.
        below: what is written below, in place of the values of all quantities.
        average: over which iterates the measured left side averages, where it does.
        measured: what the measured line is called; by default of how many replicas it is.
        more: further runs, where there is no bound.
        of_runs: ``row``, ``labels`` and ``scale``, where there is no bound.

    Raises:
        ValueError: the bound varies with several quantities; ``exact`` or ``run`` does not speak of the claim's left
            side, or not where the bound is; several bounds that are not at the same places.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=3)
    >>> at = range(1, 100)
    >>> figure = plot(ft.claim("fast.thm1").at(s, rounds=at), s.exact(at))
    >>> figure.axes[0].get_title(loc="left")
    'fast.thm1@main: FAST on non-convex objectives'
    >>> both = plot(ft.claim("fast.thm1").at(s, rounds=at), repaired=[ft.claim("fast.thm1@sharp").at(s, rounds=at)])
    >>> [line.get_label() for line in both.axes[0].lines]
    ['printed (main)', 'repaired (sharp)']
    """
    several: list[Any] = list(bound) if isinstance(bound, Sequence) else [bound]
    if _without_bound(several):
        drawn: list[Any] = [each for each in (bound, exact, run, *more) if each is not None]
        return plot_runs(*drawn, confidence=confidence, **_options_of_runs(of_runs, terms, repaired, worst, below))
    if more or of_runs:
        raise ValueError(f"{next(iter(of_runs), 'more')}: allowed is without a bound, as in plot(run, another)")
    for each in several:
        check_kind("bound", each, Bound, "what claim(...).at(setting, rounds=...) gives, before exact and run")
    rights = _rights(several, list(repaired))
    first = rights[0].bound
    statement, across = first.statement, _across(first)
    if run is not None and statement.functional.observable not in run.rows:
        raise ValueError(
            f"run has no {statement.functional.name}: allowed is one whose observables include what "
            f"{statement.ref} is about"
        )
    _check_places(rights, across)
    figure, (axes,) = panels(6.4, 4.0 + 0.25 * (len(rights) > 2))
    if across is None:
        _bars(axes, rights, exact, run, confidence, worst)
    else:
        _lines(axes, rights, across, exact, run, confidence, terms, worst, average, measured)
    note = _notes(rights)
    _title(axes, statement, across is not None, note)
    axes.annotate(note, (0, 1), (0, 6), "axes fraction", "offset points", fontsize=7.5, color=KEY)
    return captioned(figure, values_said(first, run) if below is None else below)


def _without_bound(several: Sequence[Any]) -> bool:
    """Whether runs and exact errors are to be drawn."""
    return bool(several) and isinstance(several[0], Run | ExactErrors | Mapping)


def _options_of_runs(given: dict[str, Any], terms: bool, repaired: Any, worst: Any, below: Any) -> dict[str, Any]:
    """The options of ``plot_runs``; ``ValueError`` for those of bounds."""
    unknown = [name for name in given if name not in ("row", "labels", "scale")]
    if unknown:
        raise ValueError(f"{unknown[0]}: {nearest(unknown[0], ('row', 'labels', 'scale', 'confidence'))}")
    of_bounds = {"terms": terms, "repaired": repaired, "worst": worst is not None, "below": below}
    for name, value in of_bounds.items():
        if value:
            raise ValueError(f"{name}: allowed is with a bound, which comes first")
    return given


def _rights(printed: list[Bound], repaired: list[Bound]) -> list[Right]:
    if not printed:
        printed, repaired = repaired[:1], repaired[1:]
        if not printed:
            raise ValueError("bound and repaired are empty: allowed is at least one bound")
        alone = Right(printed[0], f"repaired ({printed[0].statement.edition})", REPAIRED, REPAIRED_LINES[0])
        rights = [alone]
    elif len(printed) == 1 and not repaired:
        return [Right(printed[0], "bound", PRINTED, PRINTED_LINES[0])]
    else:
        rights = _named(printed, "printed", PRINTED, PRINTED_LINES)
    return rights + _named(
        repaired, "repaired", REPAIRED, REPAIRED_LINES[len(rights) if rights[0].colour == REPAIRED else 0 :]
    )


def _named(bounds: Sequence[Bound], word: str, colour: str, lines: Sequence[Any]) -> list[Right]:
    if len(bounds) > len(lines):
        raise ValueError(f"{len(bounds)} {word} bounds: allowed are up to {len(lines)}, whose lines can be told apart")
    ids = {each.statement.id for each in bounds}
    return [
        Right(each, f"{word} ({each.statement.edition if len(ids) == 1 else each.statement.ref})", colour, line)
        for each, line in zip(bounds, lines, strict=False)
    ]


def _check_places(rights: Sequence[Right], across: str | None) -> None:
    """The bounds vary with the same quantity, at the same places."""
    first = rights[0].bound
    for each in rights[1:]:
        other = _across(each.bound)
        same = other == across and (
            across is None or np.array_equal(first.quantities[across], each.bound.quantities[across])
        )
        if not same:
            raise ValueError(
                f"{each.bound.statement.ref} varies with {other or 'nothing'}: allowed are bounds at the "
                f"same places as {first.statement.ref}: {across or 'none'}"
            )


def values_said(bound: Bound, run: Run | None = None, without: Collection[str] = ()) -> str:
    """List the quantities that have one value, ``without`` these, and what was simulated with which seed."""

    def text(value: Any) -> str:
        return value.text if isinstance(value, StepRule) else f"{float(value):.4g}"

    shown = {n: text(value) for n, value in bound.quantities.items() if not np.ndim(value) and n not in without}
    pairs = [f"{in_words(name)} = {value}".replace(" ", NO_BREAK) for name, value in shown.items()]
    if run is not None and run.where:
        pairs.append(f"measured: {run.where['setting']}, seed {run.where['seed']}")
    return ", ".join(pairs)


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


def _lines(
    axes: Axes,
    rights: Sequence[Right],
    across: str,
    exact: Any,
    run: Run | None,
    confidence: float,
    terms: bool,
    worst: Any,
    average: str,
    measured: str | None,
) -> None:
    first = rights[0].bound
    functional, at = first.statement.functional, np.asarray(first.quantities[across])
    letter = rounds_letter(first.statement.letters)
    values = [np.broadcast_to(np.asarray(each.bound.value, dtype=float), at.shape) for each in rights]
    lefts = [(name, *_exact_line(functional, each, at)) for name, each in _exacts(exact).items()]
    later = [left for _, places, left in lefts if np.array_equal(places, at)]
    for n, (each, value) in enumerate(zip(rights, values, strict=True)):
        width = {"lw": 2.0} | covered(value, [*values[n + 1 :], *later], share=0.9)
        axes.loglog(at, value, color=each.colour, ls=each.line if len(rights) > 1 else "-", label=each.label, **width)
    if terms:
        _draw_terms(axes, first, at)
    if worst is not None:
        _draw_worst(axes, *_exact_line(functional, worst, at, "worst"), later)
    for (name, places, left), line in zip(lefts, LINES, strict=False):
        axes.plot(places, left, color=EXACT, ls=line, lw=1.6, label=name)
    if lefts:
        what = "bound" if len(rights) == 1 else f"{rights[0].label.partition(' (')[0]} bound"
        _mark_crossing(axes, letter if across == "rounds" else across, *lefts[0][1:], at, values[0], what)
    if run is not None:
        if across != "rounds":
            raise ValueError(f"run: the bound varies with {across}: allowed is a bound over rounds, or at one round")
        _measured_line(axes, functional, run, confidence, average, measured or f"measured ({_replicas(run)})")
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    if (drawn < 0).any() or not (drawn[np.isfinite(drawn)] > 0).any():
        axes.set_yscale("linear")
    if across != "rounds":
        axes.set_xscale(scale(at))
    elif at.max() < 10 * at.min():  # few powers of ten are shown: 2, 3, 4 are written as they are
        for set_formatter in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            set_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    label = f"rounds {letter}" if across == "rounds" else quantity_label(across, first.statement.paper)
    up = functional_label(functional, letter) if len(lefts) < 2 else f"both sides  [{typeset_units(functional.units)}]"
    below = len(axes.get_legend_handles_labels()[0]) > 2
    finish(axes, "", label, up, legend=not below)
    if below:
        axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)


def _draw_worst(axes: Axes, places: np.ndarray, values: np.ndarray, later: Sequence[np.ndarray]) -> None:
    wide = covered(values, later)
    look: dict[str, Any] = {"ls": "-", **wide} if wide else {"ls": MIXED, "lw": 1.8}
    axes.plot(places, values, color=WORST, label="worst case of the class", **look)


def _exacts(exact: Any) -> dict[str, Any]:
    if exact is None:
        return {}
    return dict(exact) if isinstance(exact, Mapping) else {"exact": exact}


def _draw_terms(axes: Axes, bound: Bound, at: np.ndarray) -> None:
    for name, value in bound.terms.items():
        values = np.broadcast_to(value, at.shape)
        axes.plot(at, values, color=PRINTED, lw=0.7, alpha=0.7, label=f"_{name}")
        axes.annotate(
            name.replace("_", " "),
            (at[-1], values[-1]),
            (0, 2),
            "data",
            "offset points",
            fontsize=7,
            color=PRINTED,
            ha="right",
        )


def _mark_crossing(
    axes: Axes, name: str, places: np.ndarray, left: np.ndarray, at: np.ndarray, right: np.ndarray, what: str
) -> None:
    """A circle where the exact left side is first seen above the bound, at a place that both have."""
    _, ours, theirs = np.intersect1d(places, at, return_indices=True)
    above = np.flatnonzero(left[ours] > right[theirs] * (1 + ROUNDING))
    if len(above):
        place, value = places[ours[above[0]]], left[ours[above[0]]]
        axes.plot(
            [place],
            [value],
            "o",
            mfc="none",
            mec=EXACT,
            ms=9,
            label=f"above the {what} at {name} = {_shown(place)}",
        )


def _shown(place: float) -> str:
    """A number of rounds with all of its digits, another quantity with four.

    >>> _shown(13430), _shown(0.12345)
    ('13 430', '0.1235')
    """
    return f"{place:,.0f}".replace(",", " ") if float(place).is_integer() else f"{place:.4g}"


def _exact_line(
    functional: Functional, exact: Any, at: np.ndarray, called: str = "exact"
) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(exact, ExactErrors):
        return exact.rounds, _of_errors(functional, exact)
    values = np.asarray(exact, dtype=float)
    if values.shape != at.shape:
        raise ValueError(f"{called} has shape {values.shape}: allowed is that of the bound, {at.shape}")
    return at, values


def _of_errors(functional: Functional, exact: ExactErrors) -> np.ndarray:
    if not hasattr(exact, functional.observable or functional.name):
        raise ValueError(
            f"exact has no {functional.name}: allowed is an array, such as "
            "fedtheory.moments.evaluators.left gives for it"
        )
    return exact.functional(functional)


def _measured_line(axes: Axes, functional: Functional, run: Run, confidence: float, average: str, label: str) -> None:
    axis = run.rounds_of(functional)
    shown = axis > 0
    mean, low, high = (values[shown] for values in run.interval(functional, average, confidence))
    axes.plot(axis[shown], mean, **MEASURED_STYLE, label=label)
    floor = np.maximum(low, mean * 1e-3)
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    drawn = drawn[np.isfinite(drawn) & (drawn > 0)]
    finite = np.isfinite(high) & (floor > 0)
    decades = np.log(drawn.max() / drawn.min()) if len(drawn) else 0.0
    if finite.any() and np.log(high[finite] / floor[finite]).max() > VISIBLE * decades:
        axes.fill_between(
            axis[shown], floor, high, color=MEASURED, alpha=0.25, lw=0, label=f"{confidence:.0%} interval"
        )


def _replicas(run: Run) -> str:
    return f"{run.replicas} replica{'s' if run.replicas > 1 else ''}"


def _bars(axes: Axes, rights: Sequence[Right], exact: Any, run: Run | None, confidence: float, worst: Any) -> None:
    bound = rights[0].bound
    functional, at = bound.statement.functional, bound.quantities.get("rounds")
    bars = []
    for each in rights:
        bars.append((each.label, float(each.bound.value), each.colour, 1.0))
        if len(rights) == 1 and len(bound.terms) > 1:
            bars += [(f"  {name}", float(value), each.colour, 0.4) for name, value in bound.terms.items()]
    if worst is not None:
        bars.append(("worst case", float(np.asarray(worst)), WORST, 1.0))
    for name, left in _exacts(exact).items():
        value = (
            _of_errors(functional, left)[_place(left.rounds, at, "exact")] if isinstance(left, ExactErrors) else left
        )
        bars.append((name, float(value), EXACT, 1.0))
    if run is not None:
        place = _place(run.rounds_of(functional), at, "run")
        mean, low, high = (values[place] for values in run.interval(functional, confidence=confidence))
        bars.append((f"measured\n({_replicas(run)})", float(mean), MEASURED, 0.8))
        if np.isfinite([low, high]).all():
            axes.plot(
                [low, high], [len(bars) - 1] * 2, color=EXACT, lw=1.2, marker="|", label=f"_{confidence:.0%} interval"
            )
    names, values, colours, alphas = zip(*bars, strict=True)
    for row, (value, colour, alpha) in enumerate(zip(values, colours, alphas, strict=True)):
        axes.barh(row, value if np.isfinite(value) else 0, color=colour, alpha=alpha, height=0.6)
        axes.annotate(
            f"{value:.4g}",
            (max(value, 0) if np.isfinite(value) else 0, row),
            (4, 0),
            "data",
            "offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 4) - 0.5, -0.5)
    axes.margins(x=0.14)
    if not any(value and np.isfinite(value) for value in values):
        axes.set_xlim(0, 1)
    finish(axes, "", functional_label(functional, rounds_letter(bound.statement.letters)), "", grid=False, legend=False)


def _place(rounds: np.ndarray, at: Any, what: str) -> int:
    found = np.flatnonzero(rounds == at)
    if not len(found):
        raise ValueError(f"{what} does not have the bound's round {at}")
    return int(found[0])


def _notes(rights: Sequence[Right]) -> str:
    """Say what is wrong with the hypotheses, in one line; with editions' names where there are several bounds."""
    said = [(each.bound.statement.edition, _note(each.bound)) for each in rights]
    if len(rights) == 1:
        return textwrap.shorten(said[0][1], 110, placeholder=" ...")
    return textwrap.shorten("; ".join(f"{name} {note}" for name, note in said if note), 110, placeholder=" ...")


def _note(bound: Bound) -> str:
    failing = [
        name if np.all(slack < 0) else f"{name} (in part)"
        for name, slack in bound.slack.items()
        if slack is not None and np.any(slack < 0)
    ]
    undecided = [name for name, slack in bound.slack.items() if slack is None]
    parts = [f"{word}: {', '.join(names)}" for word, names in (("fails", failing), ("undecided", undecided)) if names]
    return "; ".join(parts)
