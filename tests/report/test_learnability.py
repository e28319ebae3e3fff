"""Pictures of what can be learned: every line against numbers that are made in another way."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from fedtheory.learning import FiniteClass, Law
from fedtheory.report.learnability_figures import (
    one_server_sample_more,
    plot_capacity,
    plot_conditions,
    plot_server_data,
)

COIN = Law([["3/4", "1/4"]])
TURNED = Law([["1/4", "3/4"]])
BOTH = FiniteClass([[0], [1]])


def named(axes) -> dict[str, np.ndarray]:
    return {line.get_label(): np.array(line.get_ydata()) for line in axes.lines if not line.get_label().startswith("_")}


def test_errors_and_how_often_they_are_forced() -> None:
    M, samples = 6, (1, 4)
    left, right = plot_capacity(M, samples).axes
    m = np.arange(1, M)
    printed, same_process, differing = named(left).values()
    np.testing.assert_allclose(printed, (1 - m / M) / 8)
    np.testing.assert_allclose(same_process, 4 * printed)
    np.testing.assert_allclose(differing, 8 * printed)
    of_samples, of_clients = right.lines[0:4:2], right.lines[1:4:2]
    for n, one_by_one, whole in zip(samples, of_samples, of_clients, strict=True):
        p = (1 - m / M) / 2
        np.testing.assert_allclose(one_by_one.get_xdata(), m / M)
        np.testing.assert_allclose(one_by_one.get_ydata(), binom.cdf((M - m) * n, M * n, p), rtol=1e-11)
        np.testing.assert_allclose(whole.get_ydata(), binom.sf(m - 1, M, (1 - p) ** n), rtol=1e-9)
    assert right.lines[4].get_ydata() == [1 / 20, 1 / 20]


def mean_excess(sources: list[tuple[Law, int]]) -> Fraction:
    """The coin's: its mean excess risk where the labels' majority is taken, the worse of the two in a tie."""
    total = Fraction(0)
    drawn = [law for law, n in sources for _ in range(n)]
    for labels in itertools.product((0, 1), repeat=len(drawn)):
        weight = math.prod((law.joint[0, y] for law, y in zip(drawn, labels, strict=True)), start=Fraction(1))
        total += weight * (2 * sum(labels) >= len(labels)) * HALF
    return total


HALF = Fraction(1, 2)
"""The excess risk of the wrong hypothesis."""


def test_mean_excess_risks() -> None:
    both, alone = one_server_sample_more((COIN, TURNED, BOTH), 2, [1, 2, 3])
    assert both == [float(mean_excess([(COIN, n), (TURNED, 2)])) for n in (1, 2, 3)]
    assert alone == [float(mean_excess([(COIN, n)])) for n in (1, 2, 3)]
    (axes,) = plot_server_data({"alike": (COIN, COIN, BOTH), "turned": (COIN, TURNED, BOTH)}, clients=2, most=3).axes
    solid, dashed = axes.lines[0:4:2], axes.lines[1:4:2]
    for clients, with_clients, without in zip((COIN, TURNED), solid, dashed, strict=True):
        assert list(with_clients.get_xdata()) == [1, 2, 3]
        expected = [float(mean_excess([(COIN, n), (clients, 2)])) for n in (1, 2, 3)]
        assert list(with_clients.get_ydata()) == expected and list(without.get_ydata()) == alone
    # alike: e_P = e_Q; turned, in equal parts: e_Q = 0 for both hypotheses and e_P = 1/2 for one
    assert [r"$\alpha$ = 0" in solid[0].get_label(), r"$\alpha$ = inf" in solid[1].get_label()] == [True, True]


def test_as_many_problems_as_colours() -> None:
    for count in (0, 6):
        with pytest.raises(ValueError, match=f"{count} problems: allowed are 1 to 5"):
            plot_server_data({str(i): (COIN, COIN, BOTH) for i in range(count)})


def test_where_the_condition_of_theorem_3_holds() -> None:
    """With turned labels the best under Q is the best under P as long as the server has at least as many samples (the
    first of the class in a tie); else e_P(h_Q*) = 1/2 is allowed while log(2/delta)/n >= 1/2."""
    left, right = plot_conditions((COIN, TURNED, BOTH), (COIN, COIN, BOTH), 3, 40, Fraction(1, 20)).axes
    (mesh,) = left.collections
    x, y = mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1]
    held = np.array(mesh.get_array()).astype(bool).reshape(len(y) - 1, len(x) - 1)
    grid = np.unique(np.geomspace(1, 40, 30).astype(int))
    expected = [[m <= n or math.log(40) / n >= 0.5 for n in grid] for m in grid]
    assert held.tolist() == expected and not held.all()
    for line in right.lines[:2]:
        used = np.array(line.get_ydata())
        assert list(line.get_xdata()) == [1, 2, 3] and used.min() > 0 and used.max() < 1
    # one sample of the server and one of a client: e_P = 1/2 is exceeded with probability 0, and reached with 7/16
    a, alpha, noise = math.log(2 * 20) / 2, 0.0, 2.0
    root = (math.sqrt(2 * noise * a) + math.sqrt(2 * noise * a + 4 * a / 3)) / 2
    assert right.lines[0].get_ydata()[0] == pytest.approx(0.5 / ((1 + alpha) * root**2), rel=1e-6)
