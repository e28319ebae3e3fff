"""Exact weight moments: against the enumeration of all histories, against each other, and in the long run."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import fedtheory.weights.exact_moments as moments
from fedtheory.weights import (
    CutoffGeometric,
    FedAU,
    cyclic_long_run_weight,
    cyclic_weight_moments,
    largest_scale,
    long_run_weight,
    markov_long_run_weight,
    markov_weight_moments,
    weight_moments,
)
from tests.work import counted

ROUNDS = 12
CUTOFFS = [1, 2, 3, 5, math.inf]


def algorithm_2(participated: tuple[int, ...], cutoff: float) -> list[Fraction]:
    """The weights of rounds 0, ..., len(participated): averages of the list of intervals."""
    intervals, running, weights = [], 0, [Fraction(1)]
    for present in participated:
        running += 1
        if present or running == cutoff:
            intervals.append(running)
            running = 0
        weights.append(Fraction(sum(intervals), len(intervals)) if intervals else Fraction(1))
    return weights


@cache
def histories(cutoff: float) -> list[tuple[tuple[int, ...], list[Fraction]]]:
    """All histories of rounds 0 to 11 and the weights of rounds 0 to 12."""
    return [(bits, algorithm_2(bits, cutoff)) for bits in product((0, 1), repeat=ROUNDS)]


def enumerated(chance, cutoff: float) -> tuple[list[Fraction], list[Fraction]]:
    """E[omega] and E[omega^2] in every round, in Fractions; ``chance`` gives a history's probability.

    Sums are taken over integer numerators: all weights share the denominator lcm(1..12).
    """
    scale = math.lcm(*range(1, ROUNDS + 1))
    first, second = [Fraction(0)] * (ROUNDS + 1), [Fraction(0)] * (ROUNDS + 1)
    by_chance: dict[Fraction, list] = {}
    for bits, weights in histories(cutoff):
        sums = by_chance.setdefault(chance(bits), [[0] * (ROUNDS + 1), [0] * (ROUNDS + 1)])
        for t, w in enumerate(weights):
            n = w.numerator * (scale // w.denominator)
            sums[0][t] += n
            sums[1][t] += n * n
    for probability, (one, two) in by_chance.items():
        for t in range(ROUNDS + 1):
            first[t] += probability * one[t] / scale
            second[t] += probability * two[t] / scale**2
    return first, second


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_bernoulli_moments_are_those_of_all_histories(cutoff):
    """Rounds 0 to 12, that is all histories of 12 rounds; 1e-12 is a thousand times what rounding leaves."""
    for p in (Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(9, 10)):
        first, second = enumerated(lambda bits, p=p: p ** sum(bits) * (1 - p) ** (ROUNDS - sum(bits)), cutoff)
        error = [p * p * b - 2 * p * a + 1 for a, b in zip(first, second, strict=True)]
        moments = weight_moments(float(p), cutoff, ROUNDS + 1)
        assert moments.mean == pytest.approx(np.array(first, float), abs=1e-12)
        variance = [b - a * a for a, b in zip(first, second, strict=True)]
        assert moments.variance == pytest.approx(np.array(variance, float), abs=1e-12)
        assert moments.error == pytest.approx(np.array(error, float), abs=1e-12)
        assert moments.bias == pytest.approx(np.array([p * a - 1 for a in first], float), abs=1e-12)
        assert moments.average_error() == pytest.approx(float(sum(error) / (ROUNDS + 1)), abs=1e-12)


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_markov_moments_are_those_of_all_histories(cutoff):
    for p, entry in (
        (Fraction(1, 2), Fraction(1, 4)),
        (Fraction(1, 5), Fraction(1, 4)),
        (Fraction(1, 3), Fraction(1, 20)),
    ):
        stay = 1 - entry * (1 - p) / p

        def chance(bits, p=p, entry=entry, stay=stay):
            total = p if bits[0] else 1 - p
            for before, now in pairwise(bits):
                present = stay if before else entry
                total *= present if now else 1 - present
            return total

        first, second = enumerated(chance, cutoff)
        moments = markov_weight_moments(float(p), float(entry), cutoff, ROUNDS + 1)
        assert moments.mean == pytest.approx(np.array(first, float), abs=1e-12)
        variance = [b - a * a for a, b in zip(first, second, strict=True)]
        assert moments.variance == pytest.approx(np.array(variance, float), abs=1e-12)


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_cyclic_moments_are_those_of_all_offsets(cutoff):
    for active, cycle in ((1, 1), (1, 4), (3, 5), (2, 9)):
        weights = [
            algorithm_2(tuple(int((t + offset) % cycle < active) for t in range(ROUNDS)), cutoff)
            for offset in range(cycle)
        ]
        first = [sum(column) / cycle for column in zip(*weights, strict=True)]
        second = [sum(w * w for w in column) / cycle for column in zip(*weights, strict=True)]
        moments = cyclic_weight_moments(active, cycle, cutoff, ROUNDS + 1)
        assert moments.participation_probability == active / cycle
        assert moments.mean == pytest.approx(np.array(first, float), abs=1e-12)
        variance = [b - a * a for a, b in zip(first, second, strict=True)]
        assert moments.variance == pytest.approx(np.array(variance, float), abs=1e-12)


@pytest.mark.parametrize("cutoff", [1, 2, 7, 50, 300, math.inf])
def test_the_generating_function_and_the_recursion_agree_over_many_rounds(cutoff):
    """Two algorithms with no line in common. In units of 1/p, rounding leaves 3e-13 after 10,000 rounds."""
    for p in (1e-6, 0.002, 0.02, 0.1, 0.5, 0.9, 1.0):
        fast, slow = weight_moments(p, cutoff, 700), markov_weight_moments(p, p, cutoff, 700)
        assert p * fast.mean == pytest.approx(p * slow.mean, abs=1e-12)
        assert p**2 * fast.variance == pytest.approx(p**2 * slow.variance, abs=1e-12)


def exact_squares(p: Fraction, cutoff: float, rounds: int) -> list[Fraction]:
    """E[omega_t^2] from the powers of f, one for each number of intervals: no formula in common with the module."""
    law = {s: p * (1 - p) ** (s - 1) for s in range(1, int(min(cutoff, rounds)))}
    if cutoff < rounds:
        law[int(cutoff)] = (1 - p) ** (int(cutoff) - 1)
    ended, ratios = [Fraction(1)] + [Fraction(0)] * (rounds - 1), [Fraction(1)] + [Fraction(0)] * (rounds - 1)
    for m in range(1, rounds):
        ended = [sum((law[s] * ended[t - s] for s in law if s <= t), Fraction(0)) for t in range(rounds)]
        ratios = [r + Fraction(t, m) ** 2 * chance for t, (r, chance) in enumerate(zip(ratios, ended, strict=True))]
    ages = range(int(min(cutoff, rounds)))
    return [sum((1 - p) ** a * ratios[t - a] for a in ages if a <= t) for t in range(rounds)]


@pytest.mark.parametrize("cutoff", [17, 20, 31, math.inf])
@pytest.mark.parametrize("p", [Fraction(1, 4), Fraction(1, 6), Fraction(3, 4), Fraction(1)])
def test_recurrences_have_the_digits_of_exact_moments(p, cutoff):
    """40 rounds; 1e-14 is five times the largest relative error that was seen."""
    if cutoff < math.inf:
        assert (1 - p) ** int(cutoff) <= moments.MOST_DAMPED * p
    found = moments._by_recurrences(float(p), cutoff, 40)
    assert found == pytest.approx(np.array(exact_squares(p, cutoff, 40), float), rel=1e-14, abs=0)


@pytest.mark.parametrize("cutoff", [17, 50, 300, 699])
def test_recurrences_and_the_transform_agree_where_both_are_good(cutoff):
    """In units of 1/p; the transform's rounding leaves 2e-14 of it."""
    circle, seen = moments._Circle(cutoff, 700), 0
    for p in (0.008, 0.02, 0.0676, 0.1, 0.16, 0.3, 0.9, 1.0):
        if moments._absent_until(p, cutoff) <= moments.MOST_DAMPED * p:
            found, seen = moments._by_recurrences(p, cutoff, 700), seen + 1
            assert p**2 * found == pytest.approx(p**2 * circle.mean_square(p), abs=1e-13)
    assert seen > 2


@pytest.mark.slow
@pytest.mark.parametrize(("p", "cutoff"), [(0.02, 50), (0.1, 300), (0.02, math.inf), (0.001, 4000)])
def test_the_two_algorithms_agree_over_ten_thousand_rounds(p, cutoff):
    fast, slow = weight_moments(p, cutoff, 10_000), markov_weight_moments(p, p, cutoff, 10_000)
    assert p**2 * fast.variance == pytest.approx(p**2 * slow.variance, abs=1e-12)
    assert p * fast.mean == pytest.approx(p * slow.mean, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(st.just(0.0), st.floats(1e-12, 1.0)), st.one_of(st.integers(1, 40), st.just(math.inf)), st.integers(1, 60)
)
def test_moments_respect_what_weights_can_be(p, cutoff, rounds):
    moments = weight_moments(p, cutoff, rounds)
    largest = min(cutoff, max(1, rounds - 1))
    assert (moments.mean >= 1 - 1e-12).all() and (moments.mean <= largest * (1 + 1e-12)).all()
    # a variable in [1, k] with mean m has variance at most (k - m)(m - 1)
    assert (moments.variance <= (largest - moments.mean) * (moments.mean - 1) + 1e-11 * largest**2).all()
    assert (moments.variance[:2] == 0).all() and moments.mean[0] == pytest.approx(1)


@pytest.mark.parametrize("cutoff", [1, 2, 3, math.inf])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_the_scale_of_two_clients_is_that_of_all_pairs_of_histories(cutoff, rounds):
    """Q = max_t (p_1 omega_1^2 + p_2 omega_2^2) / 2: its largest value, and the average of what it maximises."""
    for p in ((Fraction(1, 4), Fraction(1, 2)), (Fraction(1, 4), Fraction(1)), (Fraction(0), Fraction(3, 4))):
        average, largest = Fraction(0), Fraction(0)
        for pair in product(product((0, 1), repeat=rounds - 1), repeat=2):
            chance = math.prod(q if bit else 1 - q for q, bits in zip(p, pair, strict=True) for bit in bits)
            weights = zip(*(algorithm_2(bits, cutoff) for bits in pair), strict=True)
            scales = [sum(q * w**2 for q, w in zip(p, now, strict=True)) / 2 for now in weights]
            average += chance * sum(scales) / rounds
            largest = max(largest, max(scales)) if chance else largest
        floats = [float(q) for q in p]
        assert weight_moments(floats, cutoff, rounds).average_scale() == pytest.approx(float(average), abs=1e-12)
        assert largest_scale(floats, cutoff, rounds) == float(largest)


def test_from_the_cutoff_on_the_mean_is_that_of_one_interval():
    """E[omega_t] = (1 - (1-p)^K) / p exactly for t >= K, and not before."""
    moments = weight_moments(0.1, 5, 40)
    assert moments.mean[5:] == pytest.approx(CutoffGeometric(0.1, 5).mean(), rel=1e-14)
    assert (moments.mean[1:5] < 0.9 * CutoffGeometric(0.1, 5).mean()).all()


def test_a_cutoff_that_is_never_reached_is_none():
    without = weight_moments([0.2, 0.7], math.inf, 30)
    for cutoff in (30, 31, 10**9):
        assert (weight_moments([0.2, 0.7], cutoff, 30).variance == without.variance).all()
    assert not np.allclose(weight_moments([0.2, 0.7], 29, 30).mean, without.mean, rtol=1e-6, atol=0)


def test_clients_that_never_and_always_take_part():
    never = weight_moments(0.0, 4, 10)
    assert never.mean.tolist() == [1] * 4 + [4] * 6
    assert np.abs(never.variance).max() < 1e-12 and never.error.tolist() == [1] * 10
    assert weight_moments(0.0, math.inf, 10).mean.tolist() == [1] * 10
    for cutoff in (1, 3, math.inf):
        assert weight_moments(1.0, cutoff, 10).error == pytest.approx(np.zeros(10), abs=1e-13)


def test_clients_keep_their_places():
    p = np.array([[0.3, 0.05, 0.3], [0.9, 0.0, 1.0]])
    moments = weight_moments(p, 4, 20)
    assert moments.mean.shape == moments.error.shape == (2, 3, 20)
    for place in np.ndindex(p.shape):
        alone = weight_moments(p[place], 4, 20)
        assert (alone.mean == moments.mean[place]).all() and (alone.variance == moments.variance[place]).all()


def test_long_run_limits():
    for cutoff in (1, 2, 5, 50, math.inf):
        assert long_run_weight(0.3, cutoff) == pytest.approx(weight_moments(0.3, cutoff, 400).mean[-1], rel=1e-12)
        # the variance falls like 1/t: after 1600 rounds the mean of a Markov client is within a few hundredths
        for p, entry in ((0.5, 0.25), (0.2, 0.25), (0.3, 0.05)):
            moments = markov_weight_moments(p, entry, cutoff, 1600)
            limit = markov_long_run_weight(p, entry, cutoff)
            assert moments.mean[-1] == pytest.approx(limit, rel=3e-2)
            gap = np.abs(moments.mean - limit)
            assert gap[-1] < 0.6 * gap[800] + 1e-12  # and the bias falls like 1/t too
        assert markov_long_run_weight(0.3, 0.3, cutoff) == pytest.approx(float(long_run_weight(0.3, cutoff)), rel=1e-14)


def test_rare_entries_keep_their_digits():
    """With entries and exits of 10^-12 an interval ends by participation in a row, or at the cutoff in a row."""
    for p, entry, cutoff in ((0.5, 1e-12, 10), (0.25, 1e-12, 1000), (0.9, 1e-9, 7)):
        present, enters = (fmpq(*number.as_integer_ratio()) for number in (p, entry))
        leave, absent = enters * (1 - present) / present, 1 - enters
        runs_in, again = leave * absent ** (cutoff - 1), absent**cutoff
        share = runs_in / (1 - again + runs_in)
        after_presence = 1 + leave * sum(absent**j for j in range(cutoff - 1))
        exact = (1 - share) * after_presence + share * sum(absent**j for j in range(cutoff))
        nearest = int(exact.numerator) / int(exact.denominator)
        assert markov_long_run_weight(p, entry, cutoff) == pytest.approx(nearest, rel=1e-14)


def test_cyclic_long_run_limits():
    """Over 200 cycles, the start adds less than one cycle."""
    for active, cycle in ((1, 7), (3, 10), (10, 10), (1, 1), (4, 9)):
        history = (np.arange(200 * cycle) % cycle < active).astype(np.uint8)
        for cutoff in (1, 2, 3, 4, 7, math.inf):
            limit = cyclic_long_run_weight(active, cycle, cutoff)
            assert FedAU(cutoff).batch(history)[-1] == pytest.approx(limit, rel=2e-2)


@pytest.mark.slow
def test_250_clients_over_ten_thousand_rounds_take_few_calls():
    """Arrays hold all clients and rounds."""
    with counted(10**6):
        moments = weight_moments(np.linspace(0.02, 0.9, 250), 50, 10_000)
    assert moments.error.shape == (250, 10_000)
    assert moments.error.min() > 0


REFUSED = {
    "tiny p": (lambda: weight_moments(1e-80, 5, 9), r"nothing between 0 and 1e-75"),
    "p": (lambda: weight_moments(1.1, 5, 9), r"participation_probability = .*1.1.*: allowed is \[0, 1\]"),
    "huge p": (lambda: weight_moments(10**400, 5, 9), r"participation_probability = 10+: allowed is a number in"),
    "one p of several": (lambda: weight_moments([0.5, -1.0], 5, 9), r"participation_probability\[1\]"),
    "no p": (lambda: weight_moments([], 5, 9), r"participation_probability is empty"),
    "cutoff": (lambda: weight_moments(0.5, 0, 9), r"cutoff = 0"),
    "rounds": (lambda: weight_moments(0.5, 5, 0), r"rounds = 0: allowed is an integer >= 1"),
    "half a round": (lambda: weight_moments(0.5, 5, 2.5), r"rounds = 2.5"),
    "scale rounds": (lambda: largest_scale(0.5, 5, 0), r"rounds = 0"),
    "scale p": (lambda: largest_scale([0.5, 2.0], 5, 9), r"participation_probability\[1\] = 2.0"),
    "limit at p 0": (lambda: long_run_weight(0.0, math.inf), r"has no end"),
    "entry 0": (lambda: markov_weight_moments(0.5, 0.0, 5, 9), r"entry_probability = 0.0: allowed is \(0, 1\], since"),
    "entry too large": (lambda: markov_weight_moments(0.2, 0.5, 5, 9), r"entry_probability = 0.5: allowed is \(0, 0.2"),
    "chain p 0": (lambda: markov_weight_moments(0.0, 0.5, 5, 9), r"participation_probability = 0.0"),
    "too many rounds": (lambda: markov_weight_moments(0.5, 0.5, 5, 10**6), r"rounds = 1000000: allowed is 1 to 20000"),
    "active 0": (lambda: cyclic_weight_moments(0, 5, 2, 9), r"active = 0: allowed is an integer from 1 to cycle = 5"),
    "active": (lambda: cyclic_weight_moments(6, 5, 2, 9), r"active = 6"),
    "cycle": (lambda: cyclic_long_run_weight(1, 0, 2), r"cycle = 0"),
    "cyclic cutoff": (lambda: cyclic_long_run_weight(1, 2, -1), r"cutoff = -1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_input_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("cutoff", "rounds"), [(10**9, 10**9), (50, 10**9), (math.inf, 10**12), (50, 10**7)])
def test_what_would_fill_the_memory_is_refused_at_once(cutoff, rounds):
    with pytest.raises(ValueError, match=rf"rounds = {rounds}: their moments need about \d+ GB; allowed is \d+ here"):
        weight_moments(0.1, cutoff, rounds)
    with pytest.raises(ValueError, match="allowed is"):
        weight_moments([0.1] * 10**5, 5, 10**5)


@pytest.mark.parametrize("cutoff", [60, 90, math.inf])
def test_a_chain_keeps_no_more_numbers_than_it_says(cutoff):
    rounds = 180
    markov_weight_moments(0.5, 0.25, cutoff, rounds)
    tracemalloc.start()
    markov_weight_moments(0.5, 0.25, cutoff, rounds)
    most = tracemalloc.get_traced_memory()[1] / 8
    tracemalloc.stop()
    assert most <= max(0, cutoff * (rounds - cutoff)) + 30 * rounds


def test_what_is_told_to_be_allowed_is():
    with pytest.raises(ValueError) as caught:
        weight_moments(np.linspace(0.1, 0.9, 4), math.inf, 10**9)
    allowed = int(str(caught.value).split("allowed is ")[1].split()[0])
    each = moments._BYTES["without"] + 8 * moments._BYTES["kept"]
    assert f"need about {each} GB" in str(caught.value)
    assert allowed * each <= moments.LARGEST_MEMORY < (allowed + 1) * each
