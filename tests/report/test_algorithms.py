"""The picture of the algorithms shows exact errors and their limits."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.participation import Bernoulli, Fixed, Markov
from fedtheory.report.algorithms import COMPARED, RATES, four_clients, plot_algorithms
from fedtheory.setting import Setting

STEPS = [0.01, 0.1, 0.5, 3.0]


@pytest.mark.parametrize("process", [None, Fixed([0, 1, 2, 3])], ids=["default", "everyone"])
def test_lines(process: object) -> None:
    figure = plot_algorithms(process, "1/20", rounds=300, steps=STEPS)
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
    figure = plot_algorithms(chains, "1/20", rounds=20, steps=[0.05])
    independent = plot_algorithms(rounds=20, steps=[0.05])
    for with_memory, without in zip(figure.axes[1].lines[:-2:2], independent.axes[1].lines[:-2:2], strict=True):
        assert with_memory.get_ydata()[0] > without.get_ydata()[0]
