"""What a reader must be able to see: covered curves, close markers, words for names, one scale, numbers explained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.figure import Figure

import fedtheory as ft
from fedtheory.report.colours import WORST
from fedtheory.report.participation_figures import plot_long_term
from fedtheory.report.settling import plot_inconsistency
from fedtheory.report.style import caption_of, covered, quantity_label
from fedtheory.report.weight_figures import MARKERS, plot_cutoffs

Drawn = Callable[[str], Figure]


def test_a_covered_curve_is_wide_and_one_apart_is_not() -> None:
    curve = np.geomspace(1, 100, 30)
    assert covered(curve, [2 * curve, 1.01 * curve])["lw"] > 4
    assert not covered(curve, [2 * curve]) and not covered(curve, [])
    assert not covered(curve, [np.where(np.arange(30) < 9, curve, 3 * curve)])  # they part soon
    assert covered(np.full(9, np.nan), [np.full(9, np.nan)]) == {}


@pytest.mark.parametrize("name", ["safari.floors", "fast.q_error", "fast.algorithms", "safari.capacity"])
def test_curves_do_not_hide_one_another(name: str, drawn: Drawn) -> None:
    for axes in drawn(name).axes:
        lines = [line for line in axes.lines if len(line.get_xdata()) > 2]
        for i, line in enumerate(lines):
            above = [o for o in lines[i + 1 :] if o.get_linestyle() == line.get_linestyle()]
            curves = [np.asarray(o.get_ydata(), dtype=float) for o in above]
            if covered(np.asarray(line.get_ydata(), dtype=float), curves):
                assert line.get_linewidth() > 4 and (line.get_alpha() or 1) < 0.5


@pytest.mark.parametrize("name", ["khaled2020.thm1", "safari.cor2"])
def test_the_worst_case_is_at_least_the_exact_error_and_seen(name: str, drawn: Drawn) -> None:
    (axes,) = drawn(name).axes
    lines = {str(line.get_label()): line for line in axes.lines}
    worst, exact = lines["worst case of the class"], lines["exact"]
    assert worst.get_color() == WORST and "worst case of the class" in legend_texts(drawn(name))
    above, below = (np.asarray(line.get_ydata(), dtype=float) for line in (worst, exact))
    assert (above >= below * (1 - 1e-6)).all()
    assert (worst.get_linewidth() > 4) == bool(np.allclose(above, below, rtol=0.05))


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_axes_are_named_in_words() -> None:
    assert quantity_label("local_lr", "fast").startswith("local step size  ")
    assert "_" not in quantity_label("peak_full_pseudogradient", "").partition("[")[0]


def test_every_kind_of_line_and_marker_is_in_the_legend() -> None:
    texts = [t.get_text() for t in plot_inconsistency([2, 5]).axes[0].get_legend().get_texts()]
    assert texts[-2:] == ["exact", r"to first order in $\gamma$"]
    assert len({style["ms"] for style in MARKERS.values()}) == 3
    hollow = [line for line in plot_cutoffs([0.1], 200).axes[0].lines if line.get_marker() in "^s"]
    assert hollow and all(line.get_markerfacecolor() == "none" for line in hollow)


def test_panels_share_their_scale_and_explain_their_numbers() -> None:
    figure = plot_long_term({"a": [[3, 1]] * 4, "b": [[9, 6]] * 4}, 2.0, [0.5, 0.5])
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert all(axes.get_legend().get_title().get_text() for axes in figure.axes)


def test_a_figure_says_what_was_simulated() -> None:
    setting = ft.Setting(
        ft.federations.Quadratic.common_hessian(offsets=[1, -1], gradient_noise=0.1),
        ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50"), ft.participation.Fixed([0]), start=3,
    )  # fmt: skip
    bound = ft.claim("fast.thm1").at(setting, rounds=np.arange(1, 9))
    figure = ft.plot(bound, run=setting.simulate(replicas=2, rounds=8, record_every=1, seed=7))
    assert "measured: Quadratic, Fast, Fixed, seed 7" in caption_of(figure)
