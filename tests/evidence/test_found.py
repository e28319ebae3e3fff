"""The ratio of two sides whose parts may be negative."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtheory.subjects.lead import ratio

whole = st.integers(-6, 6)


@given(whole, st.lists(whole, min_size=1, max_size=4))
def test_above_one_exactly_where_left_exceeds_right(left: int, terms: list[int]) -> None:
    found, right = ratio(float(left), map(float, terms)), sum(terms)
    assert (found > 1) == (left > right)
    if any([left, *terms]):
        assert (found == 1) == (left == right)
    above = max(left, 0) + sum(max(-t, 0) for t in terms)
    below = sum(max(t, 0) for t in terms) + max(-left, 0)
    expected = 0 if above == 0 else float("inf") if below == 0 else float(Fraction(above, below))
    assert found == expected


def test_left_over_right_where_nothing_is_negative() -> None:
    assert ratio(3.0, [1.0, 5.0]) == 0.5


def test_scalars_arrays_and_extremes() -> None:
    left = np.array([0.0, 1.0, np.inf, 1.0])
    assert ratio(left, [np.array([0.0, 0.0, 1.0, np.inf]), 0.0]).tolist() == [0.0, np.inf, np.inf, 0.0]
    assert ratio(1.0, [np.array([1.0, 2.0])]).tolist() == [1.0, 0.5]
    assert np.ndim(ratio(1.0, [2.0])) == 0


@pytest.mark.parametrize("left", [0.0, -1.0])
def test_a_left_side_of_at_most_0_exceeds_nothing(left: float) -> None:
    assert ratio(left, [0.0]) == 0
