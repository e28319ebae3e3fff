"""The figure of cutoffs shows exact errors, marks the cutoffs, and never rises above the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedtheory.report.weights import cutoffs_up_to, plot_cutoffs, plot_inconsistency
from fedtheory.weights import best_cutoff, logarithmic_cutoff, weight_error_bound, weight_moments


def test_lines_are_the_exact_errors_and_their_share_of_the_bound():
    rounds, p = 200, 0.3
    left, right = plot_cutoffs([p], rounds).axes
    cutoffs = cutoffs_up_to(rounds)
    exact = [weight_moments(p, int(k), rounds).average_error() for k in cutoffs]
    bound = [weight_error_bound(p, int(k), rounds) for k in cutoffs]
    np.testing.assert_array_equal(left.lines[0].get_xdata(), cutoffs)
    np.testing.assert_array_equal(left.lines[0].get_ydata(), exact)
    np.testing.assert_array_equal(right.lines[0].get_ydata(), np.array(exact) / bound)
    assert (right.lines[0].get_ydata() <= 1).all()
    marked = {(line.get_marker(), *line.get_xdata()) for line in left.lines if len(line.get_xdata()) == 1}
    assert marked == {("o", best_cutoff(p, rounds)[0]), ("^", logarithmic_cutoff(p, rounds)), ("s", 50)}
    assert left.lines[1].get_ydata()[0] == weight_moments(p, math.inf, rounds).average_error()


def test_too_many_curves_are_refused():
    with pytest.raises(ValueError, match=r"probabilities = \[\]: allowed are 1 to 5"):
        plot_cutoffs([])


def test_the_distance_from_the_minimiser_and_its_first_order():
    """Two clients, curvatures 1 and 2, minimisers 0 and 1, I = 2: the minimiser is 2/3; at gamma = 1/2 the shares are
    3/4 and 1, and runs settle at 4/7. To first order the distance is gamma/9."""
    (axes,) = plot_inconsistency([2], curvatures=[1, 2]).axes
    exact, first_order = axes.lines
    gamma = exact.get_xdata()
    assert gamma[-1] == 0.5 and exact.get_ydata()[-1] == pytest.approx(2 / 3 - 4 / 7, rel=1e-9)
    np.testing.assert_allclose(first_order.get_ydata(), gamma / 9, rtol=1e-12)
    np.testing.assert_allclose(exact.get_ydata()[:5], gamma[:5] / 9, rtol=1e-3)
    with pytest.raises(ValueError, match=r"local_steps = \[\]"):
        plot_inconsistency([])
