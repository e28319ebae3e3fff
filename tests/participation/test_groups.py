"""Groups of which a random number is available (FLICS, section IV-B)."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch
from scipy.stats import chi2

from fedtheory.participation import DayNightGroups, Keys, PoissonGroups, UniformGroups
from fedtheory.randomness import Axis

GROUPS = [2, 0, 1, 0, 2, 2, 1, 2, 2, 0]  # sizes 3, 2, 5
PROCESSES = {
    "uniform": UniformGroups(GROUPS, [0, 1, 2], [3, 1, 4]),
    "poisson": PoissonGroups(GROUPS, [1.5, 0.0, 40.0]),
    "day and night": DayNightGroups(GROUPS, [3.0, 0.1, 2.0], [0.2, 1.0, 0.0]),
}
every = pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES.keys())


def state_of(process, replicas: int, clients: int = 10):
    return process.init(Keys(3, Axis.ARBITRARY, torch.arange(replicas), clients))


@every
def test_as_many_take_part_as_are_available(process):
    state = state_of(process, 500)
    for r in range(3):
        available, counts = process.available(state, r), process.step(state, r)[0]
        assert available.shape == (500, 3) and available.dtype == torch.int64
        for k in range(3):
            members = [i for i, group in enumerate(GROUPS) if group == k]
            assert torch.equal(counts[:, members].sum(1), available[:, k])


@every
def test_chances_are_laws_on_the_groups_sizes(process):
    for phase in range(process.phases):
        chances = process.chances(phase)
        assert chances.shape == (3, 6) and (chances >= 0).all()
        np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-14)  # six numbers to rounding
        assert (chances[np.arange(6) > process.group_sizes[:, None]] == 0).all()


@every
def test_available_has_the_law(process):
    """Chi-square at level 1e-6, each round and group."""
    state = state_of(process, 20_000)
    for r in (0, 1, 2):
        available = process.available(state, r).numpy()
        for k, chances in enumerate(process.chances(process.phase(r))):
            observed = np.bincount(available[:, k], minlength=6)
            assert (observed[chances == 0] == 0).all()
            common = chances * 20_000 >= 10
            statistic = ((observed - 20_000 * chances) ** 2 / (20_000 * np.where(common, chances, 1)))[common].sum()
            assert chi2.sf(statistic, max(common.sum() - 1, 1)) > 1e-6
        # Groups are independent: 5 standard deviations.
        centred = available - available.mean(0)
        scale = np.maximum(available.std(0), 1e-9)
        correlation = (centred.T @ centred) / 20_000 / np.outer(scale, scale)
        assert (np.abs(correlation[~np.eye(3, dtype=bool)]) < 5 / np.sqrt(20_000)).all()


@pytest.mark.parametrize("rate", [1e-9, 0.3, 4.0, 60.0, 2000.0])
def test_capped_poisson_to_high_precision(rate):
    size = 50
    chances = PoissonGroups([0] * size, [rate]).chances(0)[0]
    with mpmath.workdps(60):
        exact = [mpmath.e**-rate * mpmath.mpf(rate) ** k / mpmath.factorial(k) for k in range(size)]
        exact.append(mpmath.gammainc(size, 0, rate, regularized=True))
    # scipy's pmf works with logarithms of the order of 1e3, so relative errors are of the order of 1e3 times 1e-16.
    np.testing.assert_allclose(chances, [float(x) for x in exact], rtol=1e-11, atol=1e-300)


def test_day_and_night_alternate_and_the_papers_first_round_is_night():
    process = DayNightGroups([0, 0], day=[0.0], night=[1e4])
    state = state_of(process, 4, 2)
    assert [int(process.step(state, r)[0].sum()) for r in range(4)] == [8, 0, 8, 0]
    other = DayNightGroups([0, 0], day=[0.0], night=[1e4], first="day")
    assert [int(other.step(state, r)[0].sum()) for r in range(4)] == [0, 8, 0, 8]
    assert process.sizes(2) == (0, 2)  # nobody by day, both by night
    with pytest.raises(ValueError, match="its rounds differ in law; see marginal"):
        process.inclusion(2)


def test_the_order_of_the_clients_does_not_matter_to_the_law():
    order = [3, 1, 0, 2, 9, 8, 7, 6, 5, 4]
    one = PROCESSES["uniform"].inclusion(10)
    other = UniformGroups([GROUPS[i] for i in order], [0, 1, 2], [3, 1, 4]).inclusion(10)
    np.testing.assert_allclose(other.second, one.second[np.ix_(order, order)], rtol=1e-15)


def test_nobody_beyond_the_last_possible_number():
    """Where rounding keeps the cumulated law below 1, the largest uniform number must not pass it."""
    from fedtheory.participation.groups import _cumulated

    chances = np.array([[0.1] * 10 + [0.0] * 3])
    assert np.cumsum(chances)[-1] < 1
    assert _cumulated(chances)[0, 9:].tolist() == [1.0] * 3
    assert _cumulated(np.array([[0.0, 0.5, 0.5]]))[0].tolist() == [0.0, 0.5]
