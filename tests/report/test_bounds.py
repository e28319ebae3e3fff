"""Figures show the numbers they are given, and are written whole."""

from dataclasses import replace

import numpy as np
import pytest

import fedtheory as ft
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT
from fedtheory.report.catalogue import pair, plot_pair_bounds
from fedtheory.report.style import save


@pytest.fixture
def setting():
    federation = ft.federations.Quadratic.common_hessian(offsets=[1, -1], gradient_noise=0.1)
    algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50")
    return ft.Setting(federation, algorithm, ft.participation.Fixed([0]), start=3)


def test_lines_are_bound_exact_and_measured(setting):
    rounds = np.arange(1, 41)
    bound = ft.claim("fast.thm1").at(setting, rounds=rounds)
    exact, run = setting.exact(rounds), setting.simulate(replicas=8, rounds=40, record_every=1)
    axes = ft.plot(bound, exact, run).axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_array_equal(drawn["bound"], bound.value)
    np.testing.assert_array_equal(drawn["exact"], exact.functional(AVERAGE_SQUARED_GRADIENT))
    np.testing.assert_array_equal(drawn["measured (8 replicas)"], run.interval(AVERAGE_SQUARED_GRADIENT)[0])
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "F^2/x^2" in axes.get_ylabel()


def test_the_same_figure_gives_the_same_file_and_nothing_else(setting, tmp_path):
    bound = ft.claim("fast.thm1").at(setting, rounds=np.arange(1, 9))
    for name in ("a.png", "b.png"):
        save(ft.plot(bound), tmp_path / "figures" / name)
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert files == ["a.png", "b.png"]
    assert (tmp_path / "figures" / "a.png").read_bytes() == (tmp_path / "figures" / "b.png").read_bytes()


def lines(axes) -> dict[str, object]:
    return {line.get_label(): line for line in axes.lines}


def test_bounds() -> None:
    """Printed bounds end far below the exact errors, the repaired ones stay above; both at the published instances."""
    left, right = plot_pair_bounds().axes
    for axes, ratio in ((left, 7.2), (right, 9.0)):
        shown = {label: line.get_ydata() for label, line in lines(axes).items()}
        exact = shown["exact"]
        assert exact[-1] / shown["printed bound"][-1] == pytest.approx(ratio, rel=0.01)
        assert (exact <= shown["corrected bound"]).all() and (exact <= shown["sharp bound"] * (1 + 1e-12)).all()
    unconditional = replace(ft.claim("safari.thm4"), hypotheses=())
    bound = float(unconditional.at(pair("1/2", "1/50", start=2), rounds=10**4).value)
    assert lines(left)["printed bound"].get_ydata()[-1] == bound == pytest.approx(0.064, rel=1e-12)
