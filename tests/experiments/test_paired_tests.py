"""Tests of paired differences: levels and power by simulation, Holm's procedure by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from fedtheory.experiments.paired_tests import LEAST_SEEDS, LEVEL, POWER, Differences, Wanted, decided, errors_seen


def drawn(means: list[float], seeds: int, rng: np.random.Generator) -> list[Differences]:
    """Normal differences with a common seed effect, so that the tests of a family depend on each other."""
    shared = rng.normal(size=seeds)
    return [Differences(tuple(mean + 0.5 * shared + rng.normal(size=seeds))) for mean in means]


def test_one_sided_tests_are_students() -> None:
    values = (0.3, -0.1, 0.8, 0.4, 0.2)
    found = Differences(values)
    for bound in (-1.0, 0.0, 0.25, 2.0):
        assert found.p_above(bound) == pytest.approx(ttest_1samp(values, bound, alternative="greater").pvalue)
        assert found.p_below(bound) == pytest.approx(ttest_1samp(values, bound, alternative="less").pvalue)
    low, high = ttest_1samp(values, 0).confidence_interval(1 - LEVEL / 3)
    assert found.half_width(3) == pytest.approx((high - low) / 2)


def test_any_wrong_sign_is_rare() -> None:
    """300 families of 12 dependent tests, of which half have no difference: the share of families with a wrong word
    is at most LEVEL; above .1 has probability below 1e-4 (binomial). Without a correction it is
    about .14."""
    rng = np.random.default_rng(1)
    wrong = alone = 0
    for _ in range(300):
        family = [Wanted(each, least=0.0) for each in drawn([-1e-9] * 6 + [2.0] * 6, 6, rng)]
        wrong += "holds" in decided(family)[:6]
        alone += any(decided([each])[0] == "holds" for each in family[:6])
    assert wrong <= 30 < alone


def test_a_difference_as_large_as_the_resolution_is_seen() -> None:
    """The deviation is known here to be 1, that of 6 seeds: 1,000 draws see it with the stated probability, within
    five standard errors of .0095 each."""
    rng, tests = np.random.default_rng(2), 5
    unit = Differences((-1.0, 1.0, -1.0, 1.0, -1.0, 1.0))
    size = unit.resolution(tests) / (unit.error * math.sqrt(6))
    seen = sum(2 * Differences(tuple(size + rng.normal(size=6))).p_above(0) * tests <= LEVEL for _ in range(1000))
    assert abs(seen / 1000 - POWER) < 0.0475


@pytest.mark.parametrize(("size", "tests"), [(3.0, 1), (1.0, 1), (1.0, 40), (0.05, 3)])
def test_so_many_seeds_see_a_size_and_one_fewer_does_not(size: float, tests: int) -> None:
    """Of half minus and half plus one, n values have the deviation sqrt(n / (n - 1)); 8 seeds tell it here."""
    eight = Differences((-1.0, 1.0) * 4)
    needed, deviation = int(eight.seeds_for(size, tests)), math.sqrt(8 / 7)

    def seen(n: int) -> float:
        return errors_seen(n, tests) * deviation / math.sqrt(n)

    assert seen(needed) <= size and (needed == LEAST_SEEDS or seen(needed - 1) > size)
    assert eight.resolution(tests) == pytest.approx(seen(8)) and eight.seeds_for(eight.resolution(tests), tests) == 8


def test_seeds_that_nobody_can_count() -> None:
    assert Differences((-1.0, 1.0) * 4).seeds_for(0.0) == math.inf
    assert math.isnan(Differences((1.0, 2.0, 1.0, 2.0)).seeds_for(1.0)) and Differences((1.0,) * 6).seeds_for(0.5) == 5


def test_the_margin_is_to_the_nearest_end() -> None:
    few = Differences((1.0,))
    assert Wanted(few, least=0.0, printed=-3.0).margin == 3.0 and Wanted(few, 2.0, 5.0, 4.5).margin == 0.5
    assert math.isnan(Wanted(few, least=0.0).margin)


def test_holm_steps_down() -> None:
    """Six hypotheses of three statements: .05/6, .05/5, .05/4, ...; the second would not pass .05/6."""
    by_p = {}
    for spread in np.linspace(0.01, 3, 400):
        each = Differences(tuple(1 + spread * np.array([-1.0, 0.5, 1.0, -0.5, 0.0, 0.0])))
        by_p[each.p_above(0)] = each
    first, second, third = (min(by_p, key=lambda p: abs(p - wanted)) for wanted in (0.001, 0.009, 0.0124))
    assert first < LEVEL / 6 < second < LEVEL / 5 < third < LEVEL / 4
    family = [Wanted(by_p[p], least=0.0) for p in (third, first, second)]
    assert decided(family) == ["holds"] * 3
    assert decided(family[2:] + [Wanted(Differences((1.0, -1.0, 0.5, -0.5, 0.1)), least=0.0)] * 2) == ["open"] * 3


def test_a_range_takes_both_ends() -> None:
    near = Differences((0.9, 1.0, 1.1, 1.0, 1.05, 0.95))
    assert decided([Wanted(near, 0.5, 1.5)]) == ["holds"] and decided([Wanted(near, 1.5, 2.0)]) == ["fails"]
    assert decided([Wanted(near, 0.99, 2.0)]) == ["open"] and decided([Wanted(near, -math.inf, 0.5)]) == ["fails"]


def test_few_seeds_are_open_and_correct_nothing() -> None:
    sure = Wanted(Differences((1.0, 1.3, 0.8, 1.1, 0.9)), least=0.0)
    few = Wanted(Differences((1.0, 1.1, 0.9, 1.0)), least=0.0)
    assert sure.p_holds < LEVEL / 2
    assert decided([few] * 100 + [sure]) == ["open"] * 100 + ["holds"]
