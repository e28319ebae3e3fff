"""Pictures of where runs settle show exact errors and their limits, and mark the best q."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.algorithms import fast, fedavg, mifa
from fedtheory.federations import Quadratic
from fedtheory.moments.expected_errors import exact_errors
from fedtheory.participation import Bernoulli, Fixed, Markov, Participation
from fedtheory.report.settling import plot_algorithms, plot_inconsistency
from fedtheory.setting import Setting

STEPS = [0.01, 0.1, 0.5, 3.0]
RATES = ("9/10", "1/2", "1/5", "1/10")
FOUR = Quadratic([[1], [2], ["1/2"], [1]], [[2], [-1], [1], [-2]], gradient_noise="1/2")
MAKERS = {
    "average all": lambda lr: fedavg(local_lr=lr, local_steps=3, average="all"),
    "MIFA": lambda lr: mifa(local_lr=lr, local_steps=3),
}


def compared(who: Participation):
    return {name: lambda lr, make=make: Setting(FOUR, make(lr), who, start=5) for name, make in MAKERS.items()}


@pytest.mark.parametrize("who", [Bernoulli(RATES), Fixed([0, 1, 2, 3])], ids=["some", "everyone"])
def test_lines(who: Participation) -> None:
    figure = plot_algorithms(compared(who), "1/20", rounds=300, steps=STEPS)
    left, right = figure.axes
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == list(MAKERS) == [line.get_label() for line in left.lines]
    for line, make in zip(left.lines, compared(who).values(), strict=True):
        rounds = line.get_xdata()
        assert rounds[0] == 1 and rounds[-1] == 300
        assert line.get_ydata().tolist() == make("1/20").exact(rounds).squared_distance.tolist()
    assert len({(line.get_color(), line.get_marker()) for line in left.lines}) == len(MAKERS)
    shown = {line.get_label(): line for line in right.lines}
    for name, make in compared(who).items():
        ends, bias = shown[f"_{name}"], shown[f"_{name}, bias"]
        assert ends.get_xdata().tolist() == STEPS
        settled, biased = np.array(ends.get_ydata()), np.array(bias.get_ydata())
        run = make(0.1).exact([3000]).squared_distance[0]
        assert settled[1] == pytest.approx(run, rel=1e-9)  # the radius is below 0.98: 0.98^3000 is 1e-26
        assert np.isnan(settled[-1]) and np.isnan(biased[-1])  # a step of 3 on a curvature of 2
        assert not (biased[:3] > settled[:3]).any()


def test_participants_with_a_memory() -> None:
    """The joint law of four chains and the state of MIFA has 16 * 36 numbers."""
    chains = Markov.with_largest_entry(RATES, "1/20")
    with_memory, without = (plot_algorithms(compared(who), "1/20", rounds=20, steps=[0.05]).axes[1].lines[2]
                            for who in (chains, Bernoulli(RATES)))  # fmt: skip
    assert with_memory.get_label() == "_MIFA" and with_memory.get_ydata()[0] > without.get_ydata()[0]


def lines(axes) -> dict[str, object]:
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def test_floors(drawn) -> None:
    """On the left the errors are the stationary ones, above the exact limit (2q/(1 + q))^2 and below the corrected
    floor 4q; by hand, with a = eta_c and s = a/2:
    E y^2 = (2 q a (1 - a) m + q a^2)/(q a (2 - a) + (1 - q) s (2 - s)), m = 2q/(1 + q)."""
    left, right = drawn("safari.floors").axes
    shown = lines(left)
    for label, a in (("exact, $\\eta_c$ = 1/2", 1 / 2), ("exact, $\\eta_c$ = 1/1000", 1 / 1000)):
        q, errors, s = shown[label].get_xdata(), shown[label].get_ydata(), a / 2
        mean = 2 * q / (1 + q)
        by_hand = (2 * q * a * (1 - a) * mean + q * a**2) / (q * a * (2 - a) + (1 - q) * s * (2 - s))
        np.testing.assert_allclose(errors, by_hand, rtol=1e-10)
        assert (mean**2 <= errors * (1 + 1e-10)).all()
        floor = np.asarray(shown["floor of safari.thm5@corrected"].get_ydata(), dtype=float)
        np.testing.assert_allclose(floor, 4 * q, rtol=1e-12)
        assert (errors <= floor).all()
    best = [float(line.get_xdata()[0]) for line in right.lines if len(line.get_xdata()) == 1]
    assert best == [1.0, 0.0, 0.0]


def test_the_error_after_some_rounds_is_the_exact_one(drawn) -> None:
    line = lines(drawn("fast.q_error").axes[1])["exact, R = 300"]
    share, error = float(line.get_xdata()[50]), float(line.get_ydata()[50])
    federation = Quadratic.common_hessian(offsets=[1, -1], gradient_noise=1)
    algorithm = fast(snapshot_probability=share, cohort=2, local_lr="1/50")
    setting = Setting(federation, algorithm, Fixed([0]), start=10)
    assert error == exact_errors(setting, [300]).squared_distance[0]


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
