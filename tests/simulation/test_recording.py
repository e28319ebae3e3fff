"""What a run keeps: rows and their running sums, minima and maxima, functionals, confidence intervals."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy import stats

from fedtheory.algorithms import fast
from fedtheory.federations import random_quadratic
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.participation import Fixed, IndexBeta
from fedtheory.setting import Setting
from fedtheory.simulation import Run
from fedtheory.simulation.fused_rounds import Several
from fedtheory.simulation.run import OBSERVABLES


def some_setting(noise: str = "two-point", gradient_noise: float = 0.7, **algorithm: object) -> Setting:
    fed = random_quadratic(4, 3, smoothness=2.0, strong_convexity=0.5, gradient_noise=gradient_noise, noise=noise)
    participation = algorithm.pop("participation", Fixed([0, 2]))
    return Setting(fed, fast(**({"cohort": 2, "local_lr": 0.1} | algorithm)), participation, start=[3.0, -2.0, 1.0])


SETTINGS = {
    "no noise, everybody": some_setting(gradient_noise=0.0, cohort=4, snapshot_period=3),
    "two-point, period": some_setting(snapshot_period=3),
    "gaussian, period": some_setting("gaussian", snapshot_period=3, local_steps=3),
    "two-point, probability": some_setting(snapshot_probability=0.4, local_steps=3),
    "with replacement": some_setting(
        snapshot_probability=0.5, replacement=True, cohort=3, local_steps=3, participation=IndexBeta(2)
    ),
}


def assert_close(found: object, expected: object) -> None:
    """To 1e-12: the same few dozen numbers added in another order."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# Rows.


@pytest.mark.parametrize("record_every", [2, 7, 40, 100])
@pytest.mark.parametrize("setting", [SETTINGS["with replacement"], SETTINGS["no noise, everybody"]], ids=["a", "b"])
def test_rows_accumulate_every_round(setting, record_every):
    options = {"replicas": 3, "rounds": 40, "seed": 2}
    every = setting.simulate(record_every=1, **options)
    assert every.rounds.tolist() == list(range(41))
    run = setting.simulate(record_every=record_every, **options)
    assert run.rounds.tolist() == sorted({*range(0, 41, record_every), 40}) and run.rounds.dtype == np.int64
    for name in OBSERVABLES:
        values = every.rows[name]
        before = np.concatenate([np.zeros((3, 1)), values.cumsum(1)[:, :-1]], axis=1)
        assert_close(every.rows[name + "_sum"], before)
        assert np.array_equal(every.rows[name + "_min"], np.minimum.accumulate(values, axis=1))
        assert np.array_equal(every.rows[name + "_max"], np.maximum.accumulate(values, axis=1))
    for name in every.rows:
        assert run.rows[name].shape == (3, len(run.rounds))
        assert np.array_equal(run.rows[name], every.rows[name][:, run.rounds]), name


def test_default_recording():
    setting = SETTINGS["two-point, period"]
    assert setting.simulate(replicas=1, rounds=250).rounds.tolist() == [*range(0, 250, 2), 250]
    assert setting.simulate(replicas=1, rounds=1).rounds.tolist() == [0, 1]


@pytest.mark.parametrize("observed", OBSERVABLES)
def test_one_observable_alone(observed):
    setting, options = SETTINGS["two-point, period"], {"replicas": 2, "rounds": 9, "record_every": 3}
    alone, both = setting.simulate(observers=[observed], **options), setting.simulate(**options)
    assert {name for name in both.rows if name.startswith(observed)} == set(alone.rows)
    for name, values in alone.rows.items():
        assert np.array_equal(values, both.rows[name])


def test_functionals():
    """The random variables that claims bound, from the observables of every round."""
    setting = SETTINGS["gaussian, period"]
    run = setting.simulate(replicas=3, rounds=20, seed=4, record_every=6)
    every = setting.simulate(replicas=3, rounds=20, seed=4, record_every=1)
    assert run.rounds_of(FINAL_SQUARED_DISTANCE).tolist() == [0, 6, 12, 18, 20]
    assert run.rounds_of(AVERAGE_SQUARED_GRADIENT).tolist() == [6, 12, 18, 20]
    assert np.array_equal(run.samples(FINAL_SQUARED_DISTANCE), every.rows["squared_distance"][:, [0, 6, 12, 18, 20]])
    gradient = every.rows["squared_gradient"]
    later = np.stack([gradient[:, 1 : r + 1].mean(1) for r in (6, 12, 18, 20)], axis=1)
    earlier = np.stack([gradient[:, :r].mean(1) for r in (6, 12, 18, 20)], axis=1)
    assert_close(run.samples(AVERAGE_SQUARED_GRADIENT), later)
    assert_close(run.samples(AVERAGE_SQUARED_GRADIENT, "r = 0..R-1"), earlier)


def test_progress_counts_replica_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every call: of as many rounds as are made at once, or one by one."""

    def seen() -> list[int]:
        calls = []
        SETTINGS["two-point, period"].simulate(
            replicas=5, rounds=4, chunk=2, progress=lambda done, total: calls.append((done, total))
        )
        assert all(total == 20 for _, total in calls)
        return [done for done, _ in calls]

    assert seen() == [8, 16, 20]
    monkeypatch.setattr(Several, "of", lambda plan: None)
    assert seen() == [2, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19, 20]


# Confidence intervals.


@pytest.fixture(scope="module")
def seeds() -> list[Run]:
    return [SETTINGS["gaussian, period"].simulate(replicas=40, rounds=6, seed=s, record_every=6) for s in range(300)]


@pytest.mark.parametrize(("confidence", "fewest", "most"), [(0.99, 0.97, 1.0), (0.8, 0.72, 0.88)])
def test_confidence_intervals_cover(seeds, confidence, fewest, most):
    """The share of 300 seeds whose interval holds the exact value.

    With coverage 99%, more than 9 misses (a share below 97%) have probability 1e-3; with coverage 80%, a share
    outside 72% to 88% has probability 5e-4. 40 replicas of a sum of many independent draws are near enough to normal
    for Student's interval. The second level also catches intervals that are too wide.
    """
    exact = SETTINGS["gaussian, period"].exact([6])
    for functional, average in ((FINAL_SQUARED_DISTANCE, ""), (AVERAGE_SQUARED_GRADIENT, "r = 0..R-1")):
        value = exact.functional(functional, average)[0]
        covered = 0
        for run in seeds:
            mean, low, high = (v[-1] for v in run.interval(functional, average, confidence=confidence))
            assert low <= mean <= high
            covered += low <= value <= high
        assert fewest <= covered / len(seeds) <= most, functional.name


def test_intervals_are_students():
    """As scipy has them."""
    run = SETTINGS["two-point, probability"].simulate(replicas=7, rounds=12, seed=1, record_every=4)
    for functional in (FINAL_SQUARED_DISTANCE, AVERAGE_SQUARED_GRADIENT):
        samples = run.samples(functional)[:, 1:]
        mean, low, high = (part[1:] for part in run.interval(functional, confidence=0.9))
        expected = stats.ttest_1samp(samples, 0).confidence_interval(0.9)
        assert_close(mean, samples.mean(0))
        assert_close(low, expected.low)
        assert_close(high, expected.high)


def test_one_replica_says_nothing_about_the_mean():
    run = SETTINGS["gaussian, period"].simulate(replicas=1, rounds=3)
    mean, low, high = run.interval(FINAL_SQUARED_DISTANCE)
    assert np.isfinite(mean).all() and (low == -inf).all() and (high == inf).all()
