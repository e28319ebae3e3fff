"""Figures show the numbers they are given, and are written whole."""

import numpy as np
import pytest

import fedtheory as ft
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT
from fedtheory.report.figures import save


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
