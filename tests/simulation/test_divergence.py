"""Runs that leave the finite numbers are reported with their round, are never NaN, and disturb no other replica."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import torch

from fedtheory.algorithms import fast
from fedtheory.federations import Quadratic
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.participation import Fixed
from fedtheory.setting import Setting
from fedtheory.simulation import OBSERVABLES, Run


def line(start: float, *, hessian: float = 1.0, local_lr: float = 0.5, local_steps: int = 1) -> Setting:
    """F(x) = (hessian/2) x^2: every local step multiplies x by 1 - local_lr * hessian."""
    algorithm = fast(cohort=1, local_lr=local_lr, local_steps=local_steps, snapshot_period=1)
    return Setting(Quadratic([[hessian]], [[0.0]]), algorithm, Fixed([0]), start=start)


def thousandfold(**options: object) -> Run:
    """x -> -999 x in every round, from 1; in float64, |x|^2 overflows in round 52 and x in round 103."""
    return line(1.0, local_lr=1000.0).simulate(replicas=3, rounds=150, record_every=1, **options)


def assert_reported(run: Run) -> None:
    """No NaN, and a row or a peak is infinite only where and when a replica is reported."""
    for values in (*run.rows.values(), *run.peaks.values()):
        assert not np.isnan(values).any()
    before = (run.diverged_at[:, None] < 0) | (run.rounds < run.diverged_at[:, None])
    for name, values in run.rows.items():
        assert np.isfinite(values[before]).all(), name
    for name, values in run.peaks.items():
        assert np.isfinite(values[run.diverged_at < 0]).all(), name


def test_divergence_is_reported_with_its_round():
    """999^(2 * 51) = 9e305 is a float64, its product with 999^2 is none."""
    run = thousandfold()
    assert run.divergence == "3 of 3 replicas diverged, the first at round 52"
    assert run.diverged_at.tolist() == [52, 52, 52]
    assert_reported(run)
    for name in ("squared_distance", "squared_gradient"):
        assert np.isfinite(run.rows[name][:, :52]).all() and (run.rows[name][:, 52:] == inf).all()


def test_divergence_in_single_precision():
    """999^12 = 9.9e35 is a float32, 999^14 = 9.9e41 is none: |x|^2 overflows in round 7."""
    run = thousandfold(dtype=torch.float32)
    assert run.diverged_at.tolist() == [7, 7, 7]
    assert_reported(run)


@pytest.mark.parametrize("observables", [("squared_distance",), ("squared_gradient",)])
def test_a_square_that_overflows_while_the_iterate_is_finite(observables):
    """x = 2^600 halves in every round and stays finite, but its square is none: the rows say infinity, the run why."""
    run = line(2.0**600).simulate(replicas=2, rounds=200, record_every=1, observers=observables)
    values = run.rows[observables[0]]
    assert (values[:, :89] == inf).all() and np.isfinite(values[:, 89:]).all()  # 2^(600 - 88) squared is 2^1024
    assert run.divergence == "2 of 2 replicas diverged, the first at round 0"
    assert_reported(run)


def test_an_overflow_on_the_way_is_reported_at_its_round():
    """x -> -3 x from 2^500, on F = x^2 / 2: 9^7 * 2^1000 < 2^1024 < 9^8 * 2^1000. The iterate stays finite."""
    run = line(2.0**500, local_lr=4.0).simulate(replicas=1, rounds=12, record_every=4)
    assert run.rounds.tolist() == [0, 4, 8, 12]
    assert np.isfinite(run.rows["squared_distance"][0]).tolist() == [True, True, False, False]
    # 1 + 9 + ... + 9^7 = (9^8 - 1) / 8 = 0.32 * 2^24: it is the square that overflows first, not the sum.
    assert run.divergence == "1 of 1 replicas diverged, the first at round 8"
    assert_reported(run)


def test_an_unobserved_square_is_not_judged():
    """|x|^2 is finite, |grad F|^2 = 2^1040 is not: that depends on what is asked for."""
    setting = line(1.0, hessian=2.0**520, local_lr=2.0**-521)
    assert setting.simulate(replicas=1, rounds=3, observers=["squared_distance"]).divergence is None
    assert setting.simulate(replicas=1, rounds=3).divergence == "1 of 1 replicas diverged, the first at round 0"


def test_a_sum_that_overflows_while_its_terms_are_finite():
    """x^2 = 2^1022 in every round: the fourth makes the sum 2^1024."""
    run = line(2.0**511, local_lr=2.0).simulate(replicas=1, rounds=6, record_every=1, observers=["squared_distance"])
    assert (run.rows["squared_distance"] == 2.0**1022).all()
    assert run.diverged_at.tolist() == [3]
    assert_reported(run)


def test_a_peak_that_overflows_while_the_squares_are_finite():
    """Four local gradients 2^511 (1, -1, 1, -1) cancel; four of one sign, with hardly any step, make 2^513."""
    for lr, local_steps, diverged_at in ((2.0, 4, -1), (1e-20, 4, 1), (1e-20, 1, -1)):
        setting = line(2.0**511, local_lr=lr, local_steps=local_steps)
        run = setting.simulate(replicas=1, rounds=1, observers=[*OBSERVABLES, "peaks"])
        assert run.diverged_at.tolist() == [diverged_at]
        peaks = [float(values[0]) for values in run.peaks.values()]
        assert (inf in peaks) == (diverged_at >= 0)
        assert_reported(run)


def test_divergence_of_some_replicas_leaves_the_others_alone():
    """Client 1 multiplies by about -10^100 and client 0 by 1/2: |x|^2 overflows where client 1 is drawn twice."""
    fed = Quadratic([[1.0], [1e100]], [[0.0], [1.0]])
    setting = Setting(fed, fast(cohort=1, local_lr=0.5, snapshot_probability=0.3), Fixed([0]), start=3.0)
    options = {"replicas": 40, "rounds": 10, "seed": 0, "record_every": 1, "observers": ["squared_distance"]}
    run = setting.simulate(**options)
    diverged = run.diverged_at >= 0
    assert 0 < diverged.sum() < 40
    first = run.diverged_at[diverged].min()
    assert run.divergence == f"{diverged.sum()} of 40 replicas diverged, the first at round {first}"
    assert_reported(run)
    assert np.array_equal(setting.simulate(**options, chunk=1).diverged_at, run.diverged_at)
    far = run.rows["squared_distance_max"][:, -1]
    assert (diverged == (far == inf)).all() and (far[~diverged] < 1e201).all()


def test_diverged_run_quantities_are_infinite():
    run = thousandfold(observers=[*OBSERVABLES, "peaks"])
    assert run.divergence is not None
    assert (run.peaks["peak_full_pseudogradient"] == inf).all() and (
        run.peaks["peak_cohort_pseudogradient"] == inf
    ).all()
    assert (run.peaks["peak_arbitrary_pseudogradient"] == 0).all()  # there was no arbitrary round
    assert_reported(run)


def test_overflow_of_the_gradient_is_not_nan():
    fed = Quadratic([[[2, -2], [-2, 2.5]]], [[0, 0]])
    setting = Setting(fed, fast(cohort=1, local_lr=1e-6, snapshot_period=1), Fixed([0]), start=[1.7e308, 1.7e308])
    run = setting.simulate(replicas=1, rounds=1)
    assert run.divergence == "1 of 1 replicas diverged, the first at round 0"
    assert_reported(run)


def test_interval_of_a_diverged_run_is_not_nan():
    assert not any(np.isnan(part).any() for part in thousandfold().interval(FINAL_SQUARED_DISTANCE))
