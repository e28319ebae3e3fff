"""The aggregated update's moments: convolution against enumeration, both exact, and against known formulas."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.selection import Round

READINGS = list(itertools.product([False, True], [None, 1, 4]))


def random_round(rng, divided, number):
    groups = int(rng.integers(1, 4))
    a = rng.integers(0, 4, groups)
    r = [Fraction(int(rng.integers(0, 7)), 6) * int(n) for n in a]
    p = [Fraction(int(v), 10) for v in rng.integers(1, 9, groups)]
    s = [Fraction(int(v), 5) for v in rng.integers(1, 9, groups)]
    return Round(r, [int(n) for n in a], p, s, divided, number)


@pytest.mark.parametrize(("divided", "number"), READINGS)
def test_convolution_equals_enumeration(divided, number):
    rng = np.random.default_rng(4)
    for _ in range(12):
        law = random_round(rng, divided, number)
        closed, listed = law.moments(), law.enumerated()
        assert (closed.mean == listed.mean).all()
        assert (closed.covariance == listed.covariance).all()
        assert (closed.noise == listed.noise).all()
        assert all(isinstance(value, Fraction) for value in closed.covariance.flat)


def test_known_weights_and_no_division():
    """Lemma 4's reading: mean p_j r_j / s_j, covariance diagonal with (p_j / s_j)^2 r_j (1 - r_j / a_j)."""
    m = Round(["1/2", 2], [3, 4], ["1/4", "3/4"], ["1/3", 2], divided=False).moments()
    assert m.mean.tolist() == [Fraction(3, 8), Fraction(3, 4)]
    assert m.covariance[0, 1] == 0
    assert m.covariance[0, 0] == Fraction(9, 16) * Fraction(1, 2) * Fraction(5, 6)
    assert m.covariance[1, 1] == Fraction(9, 64) * 2 * Fraction(1, 2)
    assert m.noise.tolist() == [Fraction(9, 16) * Fraction(1, 2), Fraction(9, 64) * 2]


def test_dividing_by_the_number_of_answers_is_another_estimator():
    """One certain client in each of two groups: 1/|S| halves the update, so it is not near sum p_j v_j."""
    plain = Round([1, 1], [1, 1], ["1/2", "1/2"], [1, 1], divided=False).moments()
    divided = Round([1, 1], [1, 1], ["1/2", "1/2"], [1, 1], divided=True).moments()
    assert plain.mean.tolist() == [Fraction(1, 2)] * 2
    assert divided.mean.tolist() == [Fraction(1, 4)] * 2


def test_weights_of_the_first_round_alone_cancel_the_counts():
    """At t = 1 the current estimate is N_j itself, so g_j = p_j wherever someone answers: E = p_j P(N_j > 0)."""
    m = Round([1, 1], [2, 4], ["1/3", "2/3"], [0, 0], divided=False, number=1).moments()
    assert m.mean.tolist() == [Fraction(1, 3) * Fraction(3, 4), Fraction(2, 3) * (1 - Fraction(3, 4) ** 4)]


def test_update_moments_by_enumerating_updates_too():
    """Updates v_j +- c_j, fair signs: all answers and all signs, in the plane."""
    law = Round(["1/2", "3/2"], [1, 2], ["1/4", "3/4"], [1, 2], divided=True, number=2)
    v, c = np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([[0.5, 0.0], [1.0, -1.0]])
    group, chance = [0, 1, 1], [0.5, 0.75, 0.75]
    mean, second = np.zeros(2), np.zeros((2, 2))
    for answers in itertools.product([0, 1], repeat=3):
        counts = [answers[0], answers[1] + answers[2]]
        likely = np.prod([q if yes else 1 - q for q, yes in zip(chance, answers, strict=True)])
        for signs in itertools.product([-1, 1], repeat=3):
            total = np.zeros(2)
            for j, yes, sign in zip(group, answers, signs, strict=True):
                if yes:
                    total += float(law.weight(j, counts[j])) * (v[j] + sign * c[j])
            total /= max(sum(counts), 1)
            mean += likely / 8 * total
            second += likely / 8 * np.outer(total, total)
    moments = law.moments()
    noise = np.einsum("ji,jk->jik", c, c)
    assert moments.update_mean(v) == pytest.approx(mean, rel=1e-13)
    assert moments.update_covariance(v, noise) == pytest.approx(second - np.outer(mean, mean), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([2], [1], [1], [1], False), r"rates\[0\] = 2: allowed is 0 to availability\[0\] = 1"),
        (([1], ["3/2"], [1], [1], False), r"availability\[0\] = 3/2: allowed is a whole number"),
        (([1], [1], [1], [0], False), r"estimate\[0\] = 0: allowed is a number > 0"),
        (([1, 1], [1], [1], [1], False), "rates = .*: allowed is one number >= 0 a group"),
        (([-1], [1], [1], [1], False), "rates = .*: allowed is one number >= 0 a group"),
        (([float("nan")], [1], [1], [1], False), "rates = nan"),
        (([1], [1], [1], [1], False, 0), "number = 0: allowed is None or a whole number >= 1"),
    ],
)
def test_wrong_input_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        Round(*arguments)
