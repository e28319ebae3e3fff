"""The drift of the mean: never above the true error, close to it where the mean is known, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast, safari
from fedtheory.federations import Piecewise, PiecewiseLinear
from fedtheory.moments.exchangeable import TooMany, enumerated_errors, trained
from fedtheory.moments.mean_drift import drift_floor, mirrored
from fedtheory.participation import Fixed
from fedtheory.setting import Setting

slopes = st.fractions(Fraction(1, 8), 2, max_denominator=8)


def local(line: PiecewiseLinear, clients: int, lr: Fraction, steps: int, start: Fraction = Fraction(0)) -> Setting:
    fed = Piecewise([[line]], [clients], gradient_noise=1)
    algorithm = fast(cohort=1, snapshot_probability=0, local_lr=lr, local_steps=steps)
    return Setting(fed, algorithm, Fixed(range(clients)), start=start)


@settings(deadline=None, max_examples=25)
@given(slopes, slopes, st.integers(1, 3), st.booleans(), st.fractions(-2, 2, max_denominator=4))
def test_never_above_the_error(one: Fraction, other: Fraction, steps: int, up: bool, start: Fraction) -> None:
    """Over one round and two, of one client, whose law is enumerated; floats and whole numbers agree."""
    line = PiecewiseLinear(sorted([one, other], reverse=not up), [0], at_zero="1/4")
    setting = local(line, 1, Fraction(1, 4), steps, start)
    floors = drift_floor(setting, [1, 2], exact=True)
    for floor, rounds in zip(floors, (1, 2), strict=True):
        assert floor <= enumerated_errors(setting, rounds, last_law=False).squared_distance[0]
    rough = drift_floor(setting, [1, 2])
    assert [float(v) for v in rough] == pytest.approx([float(v) for v in floors], rel=0.05, abs=1e-3)


@pytest.mark.parametrize("steps", [1, 2, 6, 10])
def test_close_to_the_mean_of_a_round(steps: int) -> None:
    line, lr = PiecewiseLinear([Fraction(1, 4), 2], [0]), Fraction(1, 4)
    mean = trained(line, Fraction(0), lr, steps, Fraction(1)).mean_and_variance()[0]
    (floor,) = drift_floor(local(line, 10**4, lr, steps), [1], exact=True)
    unit = lr / 300
    assert max(Fraction(0), -mean - (steps + 2) * unit) ** 2 <= floor <= mean**2
    assert (steps == 1) == (floor == 0)
    assert drift_floor(local(mirrored(line), 10**4, lr, steps), [1], exact=True) == [floor]


def test_several_kinds_and_cohorts_by_their_expected_shares() -> None:
    """The mean of one round, with a drawn cohort: half of the rounds take one of four, half the last client."""
    kinds = [[PiecewiseLinear([Fraction(1, 4), 2], [0], at_zero=g)] for g in (1, -1)]
    fed = Piecewise(kinds, [3, 3], gradient_noise=1)
    algorithm = fast(cohort=2, snapshot_probability="1/2", local_lr="1/4", local_steps=2)
    setting = Setting(fed, algorithm, Fixed([0]), start=-1)
    ends = [trained(row[0], Fraction(-1), Fraction(1, 4), 2, Fraction(1)).mean_and_variance()[0] for row in kinds]
    mean = (ends[0] + ends[1]) / 4 + ends[0] / 2
    (floor,) = drift_floor(setting, [1], exact=True)
    assert (-mean - Fraction(1, 200)) ** 2 <= floor <= mean**2


def test_nothing_is_shown_where_nothing_can_be() -> None:
    line = PiecewiseLinear([1, 2], [0])
    assert drift_floor(local(PiecewiseLinear([1, 2, 1], [0, 1]), 2, Fraction(1, 4), 2), [5]) == [0]  # neither way
    assert drift_floor(local(line, 2, Fraction(3, 4), 2), [5]) == [0]  # a step overshoots
    quiet = Setting(Piecewise([[line]]), fast(cohort=1, snapshot_probability=0, local_lr=1), Fixed([0]), start=1)
    assert drift_floor(quiet, [5]) == [0]


def test_refusals() -> None:
    line = PiecewiseLinear([1, 2], [0])
    with pytest.raises(TooMany, match="points of the grid"):
        drift_floor(local(line, 1, Fraction(1, 4), 1, Fraction(10**6)), [1])
    with pytest.raises(TooMany, match="numbers are too long"):
        drift_floor(local(line, 1, Fraction(10**17 + 3, 10**18), 2), [1], exact=True)
    fed = Piecewise([[line]], gradient_noise=1)
    with pytest.raises(ValueError, match="some rounds are the server's"):
        drift_floor(
            Setting(fed, safari(client_round_probability="1/2", local_lr="1/4", server_lr="1/4"), Fixed([0])), [1]
        )
    with pytest.raises(ValueError, match="kinds of round come periodically"):
        drift_floor(Setting(fed, fast(cohort=1, snapshot_period=2, local_lr="1/4"), Fixed([0])), [1])
