"""The choice of a cutoff, and Theorem 3's explicit bound over the exact error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.weights import (
    RULE_OF_THUMB,
    best_cutoff,
    choice,
    cyclic_weight_moments,
    logarithmic_cutoff,
    weight_error_bound,
    weight_moments,
)

INF = math.inf


def least_cutoff(p: Fraction, rounds: int) -> int:
    """The least K >= 1 with T (1-p)^{2K} <= 1."""
    cutoff = 1
    while rounds * (1 - p) ** (2 * cutoff) > 1:
        cutoff += 1
    return cutoff


@settings(max_examples=100, deadline=None)
@given(st.fractions(Fraction(1, 20), Fraction(99, 100), max_denominator=500), st.integers(2, 10**7))
def test_the_logarithmic_cutoff_in_fractions(p, rounds):
    assert logarithmic_cutoff(p, rounds) == least_cutoff(p, rounds)


def test_exact_powers_are_not_rounded_up():
    for base in (2, 3, 7, 10):
        for power in (1, 2, 5, 12):
            p, rounds = Fraction(base - 1, base), base ** (2 * power)
            assert logarithmic_cutoff(p, rounds) == power
            assert logarithmic_cutoff(p, rounds + 1) == power + 1
            assert logarithmic_cutoff(p, rounds - 1) == power
    # as floats too, which stand for what they print
    assert [logarithmic_cutoff(p, 10**4) for p in (0.9, 0.99, 0.999)] == [2, 1, 1]
    assert [logarithmic_cutoff(p, 10**4 + 1) for p in (0.9, 0.99)] == [3, 2]


def test_products_that_nearly_are_powers_are_told_apart():
    """(3/2)^{2K} is never an integer: the ceiling is decided on either side of it, with numbers of hundreds of bits."""
    for cutoff in (10, 60, 200):
        below = 9**cutoff // 4**cutoff
        assert logarithmic_cutoff("1/3", below) == cutoff
        assert logarithmic_cutoff("1/3", below + 1) == cutoff + 1


def test_tiny_probabilities():
    assert logarithmic_cutoff("1e-9", 10**4) == 4605170184  # log(10^4) / (-2 log(1 - 10^-9)) = 4605170183.685...
    assert (
        logarithmic_cutoff("1e-30", 3) == 549306144334054845697622618461
    )  # (log 3) 10^30 / 2 - (log 3) / 4, rounded up


def test_the_least_probability_counts_and_certain_clients_need_no_more_than_1():
    assert logarithmic_cutoff([0.9, 0.02, 0.5], 10_000) == logarithmic_cutoff(0.02, 10_000) == 228
    assert logarithmic_cutoff(1.0, 100) == logarithmic_cutoff(1, 100) == 1
    assert RULE_OF_THUMB == 50


def test_the_bound_is_the_papers_last_line():
    p, K, T = np.array([0.1, 0.4]), 3, 20
    printed = np.mean([(3 * K + 2 * K * math.log(T)) / T + (1 - q) ** (2 * K) for q in p])
    assert weight_error_bound(p, K, T) == pytest.approx(printed, rel=1e-14)
    assert weight_error_bound(0.5, INF, 20) == INF
    assert weight_error_bound(1.0, 2, 20) == pytest.approx((6 + 4 * math.log(20)) / 20)


def test_the_bound_holds_on_a_grid():
    """Theorem 3 with the constants of (B.6.9)."""
    worst = 0.0
    for rounds in (2, 3, 4, 6, 10, 30, 100, 1000):
        for cutoff in (1, 2, 3, 5, 10, 50, 200):
            for p in (1e-6, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95):
                exact = weight_moments(p, cutoff, rounds).average_error()
                worst = max(worst, exact / weight_error_bound(p, cutoff, rounds))
    assert worst <= 1


def test_the_best_of_all_cutoffs_over_few_rounds():
    for p, rounds in ((0.1, 12), (0.5, 9), ([0.05, 0.6], 15)):
        errors = {K: weight_moments(p, K, rounds).average_error() for K in [*range(1, rounds), INF]}
        cutoff, error = best_cutoff(p, rounds)
        assert error == min(errors.values()) and errors[cutoff] == error


def test_the_search_over_many_rounds_finds_the_valley():
    """Against all cutoffs up to 120; beyond, the errors rise to that of none."""
    for p in (0.05, 0.3, [0.05, 0.5]):
        cutoff, error = best_cutoff(p, 400)
        everything = best_cutoff(p, 400, candidates=[*range(1, 121), INF])
        assert (cutoff, error) == everything


def test_the_search_stays_with_no_cutoff_if_that_is_best():
    assert choice._refine(lambda cutoff: 0.0 if cutoff == INF else 1.0 / cutoff, [1, 2, 50, INF], 100) == INF


def test_candidates():
    cutoff, error = best_cutoff(0.1, 40, candidates=[50, 7])
    assert (cutoff, error) == (7, weight_moments(0.1, 7, 40).average_error())
    assert best_cutoff(0.1, 40, candidates=[90]) == (INF, weight_moments(0.1, INF, 40).average_error())


def test_a_cutoff_beats_none():
    for p in (0.01, 0.1, 0.5, 0.9):
        for rounds in (5, 20, 60):
            assert best_cutoff(p, rounds)[1] < weight_moments(p, INF, rounds).average_error()


def test_with_cycles_no_cutoff_can_be_better():
    """10 active rounds in 100: the gap of 91 rounds is cut, once or more, for good, and p omega stays below 1."""
    errors = [cyclic_weight_moments(10, 100, cutoff, 3000).error[-1] for cutoff in (10, 50, 90, 91, INF)]
    assert min(errors[:3]) > 10 * errors[3] and errors[3] == errors[4]


REFUSED = {
    "bound, one round": (lambda: weight_error_bound(0.5, 3, 1), r"rounds = 1: allowed is an integer >= 2"),
    "bound, p 0": (lambda: weight_error_bound(0.0, 3, 9), r"participation_probability = .*0.0.*assumes p > 0"),
    "bound, cutoff": (lambda: weight_error_bound(0.5, -1, 9), r"cutoff = -1"),
    "log, p 0": (lambda: logarithmic_cutoff(0.0, 9), r"participation_probability = 0.0: allowed is \(0, 1\]"),
    "log, p above 1": (lambda: logarithmic_cutoff([0.5, "3/2"], 9), r"participation_probability = '3/2'"),
    "log, nan": (lambda: logarithmic_cutoff(math.nan, 9), r"participation_probability = nan"),
    "log, text": (lambda: logarithmic_cutoff("x", 9), r"participation_probability = 'x'"),
    "log, 1/0": (lambda: logarithmic_cutoff("1/0", 9), r"participation_probability = '1/0'"),
    "log, no number": (lambda: logarithmic_cutoff(None, 9), r"participation_probability = None"),
    "log, none": (lambda: logarithmic_cutoff([], 9), r"participation_probability is empty"),
    "log, rounds": (lambda: logarithmic_cutoff(0.5, 1), r"rounds = 1: allowed is an integer >= 2"),
    "best, p 0": (lambda: best_cutoff(0.0, 9), r"error is 1 whatever the cutoff"),
    "best, rounds": (lambda: best_cutoff(0.5, 1.5), r"rounds = 1.5"),
    "best, no candidate": (lambda: best_cutoff(0.5, 9, candidates=[]), r"candidates is empty"),
    "best, candidate": (lambda: best_cutoff(0.5, 9, candidates=[0]), r"cutoff = 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_input_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()
