"""SAFARI's figures show exact errors, the claims' own bounds and conditions, and mark the best q."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.algorithms import theorem_5_server_lr
from fedtheory.moments.errors import exact_errors
from fedtheory.moments.stationary import stationary
from fedtheory.papers.safari.statements import thm4, thm5
from fedtheory.report.figures import save
from fedtheory.report.safari import floor, largest_q, pair, plot_bounds, plot_conditions, plot_floors


def lines(axes) -> dict[str, object]:
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def test_the_pair_meets_both_ties() -> None:
    setting = pair("1/2", "1/50", curvature=7)
    steps = setting.algorithm
    assert steps.server_lr == Fraction(1, 100)
    assert steps.server_lr == theorem_5_server_lr("1/50", 1, smoothness=7, strong_convexity=7)


def test_floors() -> None:
    """On the left the errors are the stationary ones, above the limit and below the corrected floor; by hand, with
    a = eta_c and s = a/2: E y^2 = (2 q a (1 - a) m + q a^2)/(q a (2 - a) + (1 - q) s (2 - s)), m = 2q/(1 + q)."""
    left, right = plot_floors(("1/5",), rounds=(100, 300)).axes
    shown = lines(left)
    exact = shown["exact, $\\eta_c$ = 1/5"]
    q, errors = exact.get_xdata(), exact.get_ydata()
    a, s = 1 / 5, 1 / 10
    mean = 2 * q / (1 + q)
    by_hand = (2 * q * a * (1 - a) * mean + q * a**2) / (q * a * (2 - a) + (1 - q) * s * (2 - s))
    np.testing.assert_allclose(errors, by_hand, rtol=1e-12)
    assert (floor(q) <= errors * (1 + 1e-12)).all()
    assert (errors <= shown["corrected floor $4q$"].get_ydata()).all()
    small = [stationary(pair(float(share), "1/100000")).squared_distance for share in (0.1, 0.7)]
    np.testing.assert_allclose(small, floor(np.array([0.1, 0.7])), rtol=1e-3)  # of first order in the step
    best = [float(line.get_xdata()[0]) for line in right.lines if len(line.get_xdata()) == 1]
    assert best == [1.0, 0.0]
    shown = lines(right)["R = 300"]
    share = shown.get_xdata()[50]
    expected = exact_errors(pair(float(share), "1/50", 10, 1), [300]).squared_distance[0]
    assert shown.get_ydata()[50] == expected


def test_bounds() -> None:
    """Printed bounds end far below the exact errors, the repaired ones stay above; both at the published instances."""
    left, right = plot_bounds().axes
    for axes, ratio in ((left, 7.2), (right, 9.0)):
        shown = {label: line.get_ydata() for label, line in lines(axes).items()}
        exact = shown["exact"]
        assert exact[-1] / shown["printed bound"][-1] == pytest.approx(ratio, rel=0.01)
        assert (exact <= shown["corrected bound"]).all() and (exact <= shown["sharp bound"] * (1 + 1e-12)).all()
    unconditional = replace(thm4.MAIN, hypotheses=())
    bound = float(unconditional.at(pair("1/2", "1/50", start=2), rounds=10**4).value)
    assert lines(left)["printed bound"].get_ydata()[-1] == bound == pytest.approx(0.064, rel=1e-12)


def test_conditions() -> None:
    """By hand, for small steps: Theorem 5 at (x - 2)/(2 h x) allows x/(4 - x) as derived, h x/(h x + 8 - 4 x) as
    printed; Theorem 4 x^2/(x^2 + 4 - 2 (x - 1)^2) up to its pole."""
    left, right = plot_conditions((1, 10)).axes
    for label, line in lines(right).items():
        x, q = line.get_xdata(), line.get_ydata()
        if label == "derived, any h":
            np.testing.assert_allclose(q, x / (4 - x), rtol=1e-6)
        elif label.startswith("printed"):
            h = float(label.split("= ")[1])
            np.testing.assert_allclose(q, h * x / (h * x + 8 - 4 * x), rtol=1e-6)
        else:
            np.testing.assert_allclose(x, 2 * q / (1 + q))
    x = np.array([0.5, 2.0, 3.0])
    found = largest_q(thm4.MAIN, "q_condition", smoothness=1, local_steps=1, server_lr=1e-9, dissimilarity=1,
                      peak_server_gradient=x**2, peak_arbitrary_pseudogradient=(x - 1) ** 2)  # fmt: skip
    np.testing.assert_allclose(found, x**2 / (x**2 + 4 - 2 * (x - 1) ** 2), rtol=1e-6)
    pole = next(patch for patch in left.patches).get_x()
    assert pole == pytest.approx(2 + 6**0.5, rel=0.01)  # x^2 + 4 - 2 (x - 1)^2 = 0


def test_where_a_run_settles_is_never_allowed() -> None:
    """x = 2q/(1 + q) under Theorem 5 as derived: x/(4 - x) = q/(2 + q) < q; under Theorem 4 with G_1, G_2 there."""
    q = np.linspace(0.01, 1, 50)
    x = 2 * q / (1 + q)
    allowed = largest_q(thm4.MAIN, "q_condition", smoothness=1, local_steps=1, server_lr=1e-9, dissimilarity=1,
                        peak_server_gradient=x**2, peak_arbitrary_pseudogradient=(x - 1) ** 2)  # fmt: skip
    assert (allowed < q).all() and (x / (4 - x) < q).all()
    assert thm5.DERIVED.hypotheses[1].name == "q_condition"


def test_the_same_figure_gives_the_same_file(tmp_path) -> None:
    for name in ("a", "b"):
        save(plot_conditions((1,)), tmp_path / f"{name}.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
