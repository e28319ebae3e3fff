"""The figure of cutoffs shows exact errors, marks the cutoffs, and never rises above the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedtheory.report.weight_figures import cutoffs_up_to, plot_cutoffs
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
