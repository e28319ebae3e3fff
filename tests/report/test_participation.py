"""Pictures of who takes part show the run and the law, the policies and the best in hindsight."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.participation import Cyclic, DayNightGroups, IndexGamma, Uniform, history
from fedtheory.report.drawing import read_figure
from fedtheory.report.figure_files import figure_files
from fedtheory.report.participation_figures import plot_gap, plot_long_term, plot_participation, policies
from fedtheory.report.pictures.selection_pictures import Gap
from fedtheory.selection import genie_gap, offvar, online

PROCESSES = [IndexGamma(3), Uniform(5, replacement=True), Cyclic([0.3] * 12), DayNightGroups([0] * 12, [9.0], [1.0])]


@pytest.mark.parametrize("process", PROCESSES, ids=lambda p: type(p).__name__)
def test_the_picture_shows_the_run_and_the_law(process):
    figure = plot_participation(process, clients=12, rounds=31, seed=4)
    above, below = figure.axes
    counts = history(process, 12, 31, seed=4)[:, 0].numpy()
    image = above.images[0]
    assert (np.asarray(image.get_array()) == counts.T).all()
    assert image.origin == "lower" and image.get_extent() == [-0.5, 30.5, -0.5, 11.5]
    assert image.get_clim() == (0, max(1, counts.max()))
    *bars, law = below.patches
    assert [bar.get_height() for bar in bars] == counts.mean(axis=0).tolist()
    expected = np.mean([process.marginal(12, r).first.astype(float) for r in range(31)], axis=0)
    values, edges, _ = law.get_data()
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert [edges[0], edges[-1]] == [bars[0].get_x(), bars[-1].get_x() + 1] == [*below.get_xlim()]
    assert [text.get_text() for text in below.get_legend().get_texts()] == ["expected", "this run"]
    assert type(process).__name__ in above.get_title(loc="left")


PUBLISHED = next(read_figure(path) for path in figure_files() if path.match("flics/figures/participation.toml")).kind
TRACES = {name: trace[:60, [0, 5, 8, 9]] for name, trace in PUBLISHED.drawn_traces(0).items()}
WEIGHT, BUDGET = np.array([0.4, 0.3, 0.2, 0.1]), 6.0


@pytest.mark.parametrize("name", TRACES)
def test_policies_keep_to_budget_and_availability(name: str) -> None:
    trace = TRACES[name]
    for policy, rates in policies(trace, BUDGET, WEIGHT).items():
        assert (rates >= 0).all(), policy
        assert (rates <= trace + 1e-12).all(), policy  # one rounding
        assert (rates.sum(axis=1) <= BUDGET * (1 + 1e-12)).all(), policy
    uniform = policies(trace, BUDGET, WEIGHT)["uniform"]
    shares = [row[a > 0] / a[a > 0] for row, a in zip(uniform, trace, strict=True) if a.any()]
    assert all(np.ptp(share) < 1e-12 for share in shares)


def test_nobody_is_asked_where_nobody_is_there() -> None:
    rates = policies([[0, 0], [3, 1]], 2, [0.5, 0.5])
    assert all((each[0] == 0).all() for each in rates.values())
    assert rates["naive"].tolist()[1] == [1.0, 1.0]
    assert rates["uniform"].tolist()[1] == [1.5, 0.5]


def test_a_panel_a_trace_shows_every_policy() -> None:
    figure = plot_long_term(TRACES, BUDGET, WEIGHT)
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(TRACES)
    for axes, trace in zip(figure.axes, TRACES.values(), strict=True):
        best = offvar(trace, BUDGET, WEIGHT)
        np.testing.assert_array_equal(axes.patches[0].get_data().values, best.participation)
        shown = [line.get_ydata() for line in axes.lines]
        expected = [rates.mean(axis=0) for rates in policies(trace, BUDGET, WEIGHT).values()]
        np.testing.assert_array_equal(shown, expected)
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels[0] == "best in hindsight"
        values = [float((WEIGHT**2 / mean).sum() / best.objective) for mean in expected]
        assert labels[1:] == [f"{p}: {v:.2f}" for p, v in zip(("FLICS", "naive", "uniform"), values, strict=True)]
        assert min(values) >= 1 - 1e-12


def test_the_gap_is_the_mean_over_traces() -> None:
    rounds = [20, 40, 60]
    several = {"Poisson": [TRACES["Poisson"], TRACES["Uniform"]]}
    axes = plot_gap(several, BUDGET, WEIGHT, rounds).axes[0]
    gaps = [genie_gap(online(t, BUDGET, WEIGHT), t, BUDGET, rounds) for t in several["Poisson"]]
    expected = np.mean([gap.gap / gap.genie for gap in gaps], axis=0)
    line, guide = axes.lines
    shown = expected > 1e-12
    assert shown.any()
    np.testing.assert_array_equal(line.get_xdata(), np.array(rounds)[shown])
    np.testing.assert_allclose(line.get_ydata(), expected[shown], rtol=1e-12)
    assert np.ptp(guide.get_xdata() * guide.get_ydata()) < 1e-12
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_the_examples_are_drawn() -> None:
    short = PUBLISHED.model_copy(update={"rounds": 40})
    assert len([axes for axes in short.drawn().axes if axes.has_data()]) == 3
    options = {name: getattr(short, name) for name in ("traces", "rounds", "budget", "group_weight")}
    lines = Gap(**options, replicas=2).drawn().axes[0].lines
    assert len(lines) == 4 and all(len(line.get_xdata()) for line in lines)
