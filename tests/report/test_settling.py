"""Pictures of where runs settle show exact errors and their limits, and mark the best q."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedtheory.algorithms import theorem_5_server_lr
from fedtheory.moments.errors import exact_errors
from fedtheory.moments.stationary import stationary
from fedtheory.participation import Bernoulli, Fixed, Markov
from fedtheory.report.catalogue import COMPARED, RATES, floor, four_clients, pair, plot_compared, plot_pair_floors
from fedtheory.report.settling import plot_inconsistency
from fedtheory.setting import Setting

STEPS = [0.01, 0.1, 0.5, 3.0]


@pytest.mark.parametrize("process", [None, Fixed([0, 1, 2, 3])], ids=["default", "everyone"])
def test_lines(process: object) -> None:
    figure = plot_compared(process, "1/20", rounds=300, steps=STEPS)
    left, right = figure.axes
    names = [text.get_text() for text in left.get_legend().get_texts()]
    assert names == list(COMPARED) == [line.get_label() for line in left.lines]
    who = process or Bernoulli(RATES)
    for line, (colour, make) in zip(left.lines, COMPARED.values(), strict=True):
        rounds = line.get_xdata()
        assert rounds[0] == 1 and rounds[-1] == 300 and line.get_color() == colour
        wanted = Setting(four_clients(), make("1/20"), who, start=5).exact(rounds).squared_distance
        assert line.get_ydata().tolist() == wanted.tolist()
    for ends, bias, (_, make) in zip(right.lines[:-2:2], right.lines[1:-2:2], COMPARED.values(), strict=True):
        assert ends.get_xdata().tolist() == STEPS
        settled, biased = np.array(ends.get_ydata()), np.array(bias.get_ydata())
        run = Setting(four_clients(), make(0.1), who, start=5).exact([3000]).squared_distance[0]
        assert settled[1] == pytest.approx(run, rel=1e-9)  # the radius is below 0.98: 0.98^3000 is 1e-26
        assert np.isnan(settled[-1]) and np.isnan(biased[-1])  # a step of 3 on a curvature of 2
        assert (biased[:3] <= settled[:3]).all()
    shared = [right.lines[2 * list(COMPARED).index(name) + 1].get_ydata() for name in ("known statistics", "MIFA")]
    np.testing.assert_allclose(*shared, rtol=1e-9)


def test_participants_with_a_memory() -> None:
    """The joint law of four chains and the state of MIFA has 16 * 36 numbers."""
    chains = Markov.with_largest_entry(RATES, "1/20")
    figure = plot_compared(chains, "1/20", rounds=20, steps=[0.05])
    independent = plot_compared(rounds=20, steps=[0.05])
    for with_memory, without in zip(figure.axes[1].lines[:-2:2], independent.axes[1].lines[:-2:2], strict=True):
        assert with_memory.get_ydata()[0] > without.get_ydata()[0]


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
    left, right = plot_pair_floors(steps=("1/5",), rounds=(100, 300)).axes
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


def test_the_distance_from_the_minimiser_and_its_first_order():
    """Two clients, curvatures 1 and 2, minimisers 0 and 1, I = 2: the minimiser is 2/3; at gamma = 1/2 the shares are
    3/4 and 1, and runs settle at 4/7. To first order the distance is gamma/9."""
    (axes,) = plot_inconsistency([2], curvatures=[1, 2]).axes
    exact, first_order = axes.lines[:2]
    gamma = exact.get_xdata()
    assert gamma[-1] == 0.5 and exact.get_ydata()[-1] == pytest.approx(2 / 3 - 4 / 7, rel=1e-9)
    np.testing.assert_allclose(first_order.get_ydata(), gamma / 9, rtol=1e-12)
    np.testing.assert_allclose(exact.get_ydata()[:5], gamma[:5] / 9, rtol=1e-3)
    with pytest.raises(ValueError, match=r"local_steps = \[\]"):
        plot_inconsistency([])
