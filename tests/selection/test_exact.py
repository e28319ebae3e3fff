"""The slow solvers at the edges of what they are given; otherwise they are compared in tests/evidence."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fedtheory.selection.rational import best_participation, proxy


def test_rounding_leaves_the_least_participation() -> None:
    """In floats 49 (1/49) is below 1, and two groups that share two clients have just the 1 that each must have."""
    assert 49.0 * (1.0 / 49.0) < 1.0
    for clients in (1, 2):
        assert best_participation([(clients, clients)], [2.0], (49.0, 7.0), 1.0) == (1.0, 1.0)


def test_each_group_has_a_weight_and_a_participation() -> None:
    one = Fraction(1)
    for weight, participation in (((one, one), (one,)), ((one,), (one, one))):
        with pytest.raises(ValueError):
            proxy(participation, weight)


def test_groups_without_weight_have_the_least_participation_too() -> None:
    one = Fraction(1)
    for availability, weight in (((0, 5), (0 * one, one)), ((1, 1, 5), (0 * one, 0 * one, one))):
        with pytest.raises(ValueError, match="no plan gives it to every group"):
            best_participation([availability], [Fraction(5)], weight, Fraction(3, 2))
