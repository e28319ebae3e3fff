"""Theorem 2 of FAST, composed by the kernel."""

from fractions import Fraction

import pytest

from fedtheory.papers.fast.proofs import composed
from fedtheory.papers.fast.proofs.composed import K, L, eta, m, mu, n, p, q, sigma, sigma_G
from fedtheory.proof.kernel.rounds import contraction
from fedtheory.proof.kernel.theorems import Refused, combine


def test_a_round_contracts() -> None:
    round = composed.strongly_convex_round()
    factor, addition = contraction(round)
    h, where = q / m + p / n, round.where
    assert where.certifies((1 - factor) / (K * eta) - mu + Fraction(695, 100) * L**2 * K * eta)
    per_round = addition / (K * eta)
    of_dissimilarity, of_noise = per_round.coefficients("sigma_G")[2], per_round.coefficients("sigma")[2]
    assert addition == (of_dissimilarity * sigma_G**2 + of_noise * sigma**2) * K * eta
    assert where.certifies(p**2 / mu + Fraction(595, 100) * K * eta - of_dissimilarity)
    assert where.certifies((h + Fraction(109, 100)) * eta - of_noise)
    assert not where.certifies(p**2 / mu + 3 * K * eta - of_dissimilarity)  # the test can fail


def test_short_constants_are_at_least_what_was_shown() -> None:
    """A constant that is too small is refused, whichever it is."""
    round = composed.strongly_convex_round()
    (exact,) = round.premises
    _, addition = contraction(exact)
    for smaller in (composed.ADDITION * Fraction(9, 10), composed.ADDITION - K**2 * eta**2 * sigma_G**2):
        with pytest.raises(Refused, match="constant"):
            combine([(exact, 1)], where=round.where, context="start", constant=smaller - addition)


def test_its_assumptions_are_computed() -> None:
    names = {name for name, _ in composed.strongly_convex_round().assumptions}
    assert names == {
        "smooth", "strongly_convex", "bounded_dissimilarity", "bounded_noise", "unbiased_noise", "uncorrelated_noise",
        "cohort_before_noise", "cohort_is_a_set", "uniform_cohorts", "random_kinds",
    }  # fmt: skip
