"""Figures of runs without a bound: lines are the rows' means, bands their intervals; wrong arguments are told."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fedtheory as ft
from fedtheory.report import plot_adaptive
from fedtheory.report.run_figures import label_of

FED = ft.federations.Quadratic.common_hessian(offsets=[1, -1], gradient_noise=1)
SETTING = ft.Setting(FED, ft.algorithms.fedavg(local_lr="1/10"), ft.participation.Uniform(1), start=9)
EXACT, RUN = SETTING.exact(range(31)), SETTING.simulate(replicas=8, rounds=30)
OTHER = SETTING.simulate(replicas=1, rounds=30, seed=3)
BOUND = ft.claim("fast.thm1").at(
    ft.Setting(FED, ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50"), ft.participation.Fixed([0])),
    rounds=range(1, 9),
)
BY_CLIENT = ft.simulation.Run(
    RUN.rounds, {"of_clients": np.ones((8, 31, 2)), "signed": RUN.rows["squared_distance"] - 1}, {}, RUN.diverged_at
)


def test_a_run_alone_is_its_mean_and_band() -> None:
    (axes,) = ft.plot(RUN, scale="linear").axes
    (line,), (band,) = axes.lines, axes.collections
    values = RUN.rows["squared_distance"]
    assert line.get_xdata().tolist() == list(range(31)) and line.get_ydata().tolist() == values.mean(0).tolist()
    half = 3.499483297350494 * values.std(0, ddof=1) / 8**0.5  # Student's quantile of 7 degrees, two-sided 99%
    ends = band.get_paths()[0].vertices
    assert ends[:, 1].max() == pytest.approx((values.mean(0) + half).max(), rel=1e-12)
    assert ends[:, 1].min() == pytest.approx((values.mean(0) - half).min(), rel=1e-12)
    assert axes.get_ylabel() == "$|x_r - x^*|^2$   [x$^{2}$]" and axes.get_xlabel() == "round $r$"


def test_exact_errors_and_runs_in_any_order_and_number() -> None:
    for given in ((EXACT, RUN), (RUN, EXACT)):
        lines = {line.get_label(): line for line in ft.plot(*given).axes[0].lines}
        assert sorted(lines) == ["exact", "mean of 8 replicas"]
        assert lines["exact"].get_ydata().tolist() == EXACT.squared_distance.tolist()
    several = ft.plot(RUN, OTHER, EXACT, RUN, row="squared_gradient_sum").axes[0]
    assert [line.get_label() for line in several.lines] == [
        "run 1, mean of 8 replicas", "run 2, one replica", "exact", "run 3, mean of 8 replicas"
    ]  # fmt: skip
    assert len({line.get_color() for line in several.lines}) == 4 and len(several.collections) == 2
    assert several.lines[2].get_ydata().tolist() == EXACT.gradient_sum.tolist()
    assert several.get_ylabel() == r"sum before round r of $|\nabla F(x_r)|^2$   [F$^{2}$/x$^{2}$]"


@pytest.mark.parametrize("given", [({"a": RUN, "b": OTHER},), ([RUN, OTHER],), (RUN, OTHER)])
def test_runs_with_labels(given: Any) -> None:
    options = {} if isinstance(given[0], dict) else {"labels": ["a", "b"]}
    lines = ft.plot(*given, **options).axes[0].lines
    assert [line.get_label() for line in lines] == ["a, mean of 8 replicas", "b, one replica"]


def test_the_scale_is_chosen_by_the_values() -> None:
    assert ft.plot(RUN).axes[0].get_yscale() == "log"  # from 81 to 1
    assert ft.plot(RUN, scale="linear").axes[0].get_yscale() == "linear"
    assert ft.plot(RUN, row="squared_distance_max").axes[0].get_yscale() == "linear"
    assert ft.plot(BY_CLIENT, row="signed").axes[0].get_yscale() == "linear"
    axes = ft.plot(RUN).axes[0]
    assert axes.get_ylim()[0] == pytest.approx(RUN.rows["squared_distance"].mean(0).min() / 3)  # not where a band is 0


def test_replicas_that_diverged_are_told() -> None:
    diverging = ft.Setting(FED, ft.algorithms.fedavg(local_lr=10**4), ft.participation.Uniform(1), start=9)
    run = diverging.simulate(replicas=2, rounds=300)
    figure = ft.plot(run)
    assert any("2 of 2 replicas diverged" in text.get_text().replace("\\n", " ") for text in figure.texts)
    assert np.isfinite(figure.axes[0].lines[0].get_ydata()).all()


def test_labels_have_units() -> None:
    assert [label_of(row) for row in ("gap", "test_accuracy", "train_loss", "bytes_sent", "weird")] == [
        "$F(x_r) - F^*$   [F]", "test accuracy   [share]", "train loss   [F]", "bytes sent   [bytes]", "weird"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: ft.plot(3), "bound is 3: allowed is what claim(...).at(setting, rounds=...) gives"),
        (lambda: ft.plot(RUN, 3), "plot: what is 3 cannot be drawn: allowed are runs (setting.simulate), exact errors"),
        (lambda: ft.plot(RUN, row="squared_distanc"), "row = 'squared_distanc': did you mean 'squared_distance'?"),
        (lambda: ft.plot(EXACT, row="test_accuracy"), "row = 'test_accuracy': known are squared_distance, "),
        (lambda: ft.plot(BY_CLIENT, row="of_clients"), "row = 'of_clients' has a number for each client: allowed are "),
        (lambda: ft.plot(BY_CLIENT, EXACT), "row: what is drawn has no row in common"),
        (lambda: ft.plot(BY_CLIENT, row="signed", scale="log"), "scale = 'log': signed has values <= 0"),
        (lambda: ft.plot(RUN, scale="loglog"), "scale = 'loglog': allowed is one of log, linear"),
        (lambda: ft.plot(RUN, labels=["a", "b"]), "labels: 2 for 1 curves: allowed is a list of one each"),
        (lambda: ft.plot(RUN, labels="a"), "labels: 1 for 1 curves: allowed is a list of one each"),
        (lambda: ft.plot(RUN, terms=True), "terms: allowed is with a bound, which comes first"),
        (lambda: ft.plot(RUN, colour="red"), "colour: known are confidence, labels, row, scale"),
        (lambda: ft.plot(RUN, confidence=2), "confidence = 2: allowed is a number between 0 and 1"),
        (lambda: ft.plot(BOUND, row="gap"), "row: allowed is without a bound, as in plot(run, another)"),
        (lambda: ft.plot(BOUND, EXACT, RUN, RUN), "more: allowed is without a bound"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_a_line(draw: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        draw()
    assert "\n" not in str(caught.value)


def test_means_of_adaptive_runs_are_over_as_many_replicas_as_each_has() -> None:
    def run(replicas: int) -> ft.simulation.Run:
        rows = dict.fromkeys(("snapshot_probability", "training_accuracy"), np.ones((replicas, 3)) / 2)
        return ft.simulation.Run(np.arange(3), rows, {}, np.full(replicas, -1))

    axes = plot_adaptive({"a": run(2), "b": run(5)}).axes[0]
    assert axes.get_title(loc="left").startswith("Means over 2 or 5 replicas")
