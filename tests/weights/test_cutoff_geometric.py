"""The cutoff-geometric law, against Fractions, 100 digits, sympy, scipy and samples."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from fedtheory.weights import CutoffGeometric

PROBABILITIES = [1e-12, 1e-9, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1 - 1e-12]
CUTOFFS = [2, 3, 4, 7, 30, 51, 299, 301, 10**4, 3 * 10**6, 10**7, 10**9, math.inf]


def law(p: Fraction, cutoff: int) -> dict[int, Fraction]:
    """(B.6.1)."""
    q = 1 - p
    return {k: p * q ** (k - 1) if k < cutoff else q ** (k - 1) for k in range(1, cutoff + 1)}


def test_the_papers_mean_and_variance_by_induction_over_the_cutoff():
    """(B.6.2), symbolically: E_{K+1} g(S) - E_K g(S) = q^K (g(K+1) - g(K)), since only the mass q^{K-1} at K moves."""
    q, K, k = sympy.symbols("q K k", positive=True)
    p = 1 - q
    g = sympy.Function("g")
    moved = p * q ** (K - 1) * g(K) + q**K * g(K + 1) - q ** (K - 1) * g(K)
    assert sympy.simplify(sympy.expand(moved - q**K * (g(K + 1) - g(K)))) == 0
    mean = 1 / p - q**K / p
    variance = q / p**2 - (2 * K - 1) * q**K / p - q ** (2 * K) / p**2
    for moment, power in ((mean, k), (variance + mean**2, k**2)):
        step = moment.subs(K, K + 1) - moment - q**K * (power.subs(k, K + 1) - power.subs(k, K))
        assert sympy.cancel(sympy.together(sympy.expand(step) * p**2)) == 0
        assert sympy.simplify(moment.subs(K, 1) - 1) == 0  # K = 1: S = 1


def test_the_law_in_fractions():
    for p in (Fraction(1, 64), Fraction(1, 4), Fraction(1, 2), Fraction(7, 8)):
        for cutoff in (1, 2, 3, 8, 20):
            chances, interval = law(p, cutoff), CutoffGeometric(float(p), cutoff)
            assert sum(chances.values()) == 1
            k = np.array([*chances])
            exact = np.array([float(c) for c in chances.values()])
            upto = np.array([float(sum(c for j, c in chances.items() if j <= i)) for i in k])
            # a power costs one logarithm and one exponential: a few units in the last place of exponents up to 40
            assert interval.pmf(k) == pytest.approx(exact, rel=1e-13)
            assert interval.cdf(k) == pytest.approx(upto, rel=1e-13)
            assert interval.sf(k) == pytest.approx(1 - upto, rel=1e-13, abs=1e-15)
            mean = sum(j * c for j, c in chances.items())
            assert interval.mean() == pytest.approx(float(mean), rel=1e-14)
            assert interval.var() == pytest.approx(
                float(sum((j - mean) ** 2 * c for j, c in chances.items())), rel=1e-13
            )
            entropy = -sum(float(c) * math.log(c) for c in chances.values())
            assert interval.entropy() == pytest.approx(entropy, rel=1e-12)
            for argument in (-3.0, -0.1, 0.0, 0.2, 2.0):
                mgf = sum(float(c) * math.exp(argument * j) for j, c in chances.items())
                assert interval.mgf(argument) == pytest.approx(mgf, rel=1e-12)


def digits(p: float, cutoff: float) -> tuple:
    """Mean, variance, skewness and kurtosis to 100 digits, from E[S^r] = sum over j < K of ((j+1)^r - j^r) q^j."""
    with mpmath.workdps(150):
        p = mpmath.mpf(p)
        q = 1 - p

        def binomial_sum(r):
            """sum_{j<K} C(j, r) q^j, by summation by parts."""
            if cutoff == math.inf:
                return q**r / p ** (r + 1)
            total = (1 - q**cutoff) / p
            for i in range(1, r + 1):
                total = (q * total - mpmath.binomial(cutoff, i) * q**cutoff) / p
            return total

        b = [binomial_sum(r) for r in range(4)]
        # (j+1)^r - j^r in binomials: 1; 1 + 2 C(j,1); 1 + 6 C1 + 6 C2; 1 + 14 C1 + 36 C2 + 24 C3
        m1, m2 = b[0], b[0] + 2 * b[1]
        m3, m4 = b[0] + 6 * b[1] + 6 * b[2], b[0] + 14 * b[1] + 36 * b[2] + 24 * b[3]
        var = m2 - m1**2
        third = m3 - 3 * m1 * m2 + 2 * m1**3
        fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4
        return tuple(float(x) for x in (m1, var, third / var ** mpmath.mpf("1.5"), fourth / var**2 - 3))


@pytest.mark.parametrize("p", PROBABILITIES)
def test_moments_keep_their_digits(p):
    for cutoff in CUTOFFS:
        mean, var, skewness, kurtosis = digits(p, cutoff)
        interval = CutoffGeometric(p, cutoff)
        assert interval.mean() == pytest.approx(mean, rel=1e-14)
        # the incomplete beta function at (2, 10^7) is good to 3e-13; orders 3 and 4 lose up to two more digits
        assert interval.var() == pytest.approx(var, rel=1e-12, abs=0)
        assert interval.skewness() == pytest.approx(skewness, rel=2e-11, abs=1e-11)
        assert interval.kurtosis() == pytest.approx(kurtosis, rel=2e-11, abs=1e-10)


def test_no_cutoff_is_scipys_geometric_law():
    k = np.arange(-1, 40)
    for p in (0.02, 0.5, 0.99):
        ours, scipys = CutoffGeometric(p), stats.geom(p)
        assert ours.pmf(k) == pytest.approx(scipys.pmf(k), rel=1e-13)
        assert ours.cdf(k) == pytest.approx(scipys.cdf(k), rel=1e-13)
        assert ours.ppf([0.0, 0.3, 0.99]).tolist() == scipys.ppf([0.0, 0.3, 0.99]).tolist()
    assert CutoffGeometric(0.1).entropy() == pytest.approx(float(stats.geom(0.1).entropy()), rel=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-6, 1.0), st.one_of(st.integers(1, 200), st.just(math.inf)), st.floats(0.0, 1.0))
@example(1 - 2**-53, 23, 1.0)  # P(S > 21) = 2^-1113 rounds to 0
def test_ppf_is_the_inverse_of_cdf(p, cutoff, u):
    interval = CutoffGeometric(p, cutoff)
    k = float(interval.ppf(u))
    if u == 0:
        assert k == 0
    elif u == 1.0:  # without a cutoff P(S <= k) reaches 1 in the limit only
        assert k == (cutoff if p < 1.0 else 1)
    else:
        assert 1 <= k <= cutoff and k == int(k)
        # above the median P(S <= k) is rounded to 1 early: compare the other tail, where 1 - u is exact
        reached = (lambda k: interval.cdf(k) >= u) if u < 0.5 else (lambda k: interval.sf(k) <= 1.0 - u)
        assert reached(k) and (k == 1 or not reached(k - 1))


def test_values_between_integers_and_outside():
    interval = CutoffGeometric(0.5, 4)
    assert interval.pmf([0, 1.5, 5, -2, math.inf]).tolist() == [0] * 5
    assert interval.cdf([0.5, 2.7, 4, 9, math.inf]).tolist() == [0, 0.75, 1, 1, 1]
    assert interval.sf([0.5, 2.7, 4, 9, math.inf]).tolist() == [1, 0.25, 0, 0, 0]
    assert (
        interval.support() == (1, 4)
        and interval.median() == 1
        and interval.std() == pytest.approx(interval.var() ** 0.5)
    )


def test_the_ends_of_the_parameter_range():
    assert CutoffGeometric(0.0, 7).pmf([6, 7]).tolist() == [0, 1]
    constant = CutoffGeometric(0.0, 7)
    assert (constant.mean(), constant.var(), constant.entropy(), float(constant.ppf(0.5))) == (7, 0, 0, 7)
    assert constant.mgf(0.5) == pytest.approx(math.exp(3.5))
    assert constant.rvs(3, seed=0).tolist() == [7, 7, 7]
    always = CutoffGeometric(1.0)
    assert constant.ppf([0.0, 0.5, 1.0]).tolist() == [0, 7, 7] and always.ppf([0.0, 0.5, 1.0]).tolist() == [0, 1, 1]
    assert (always.mean(), always.var(), always.entropy(), float(always.cdf(1)), float(always.sf(1))) == (1, 0, 0, 1, 0)
    assert always.mgf(0.5) == pytest.approx(math.exp(0.5))
    assert CutoffGeometric(0.3, 1).var() == 0 and CutoffGeometric(0.3, 1).mgf(2.0) == pytest.approx(math.exp(2))


def test_the_mgf_is_infinite_where_the_expectation_is():
    interval = CutoffGeometric(0.5)
    assert interval.mgf(math.log(2.0)) == math.inf and interval.mgf(1.0) == math.inf
    assert interval.mgf(0.5) == pytest.approx(
        float(mpmath.nsum(lambda k: 0.5**k * math.exp(0.5 * float(k)), [1, mpmath.inf]))
    )
    assert interval.mgf(800.0) == CutoffGeometric(1.0).mgf(800.0) == CutoffGeometric(0.5, 3).mgf(800.0) == math.inf
    assert interval.mgf(-800.0) == CutoffGeometric(0.5, 3).mgf(-800.0) == 0.0
    # at growth 0, (1-p) e^s = 1, the geometric sum is K - 1
    assert CutoffGeometric(0.5, 3).mgf(math.log(2.0)) == pytest.approx(1 + 1 + 2)


@pytest.mark.parametrize("p", [1e-12, 1e-6, 0.02, 0.5, 0.999])
def test_the_law_keeps_its_digits(p):
    """pmf, tails, entropy and mgf to 50 digits. An exponent x costs x units in the last place, here up to 700."""
    with mpmath.workdps(50):
        q = 1 - mpmath.mpf(p)
        for cutoff in (2, 50, 10**4, 10**9):
            interval = CutoffGeometric(p, cutoff)
            for k in {1, 2, cutoff // 2, cutoff - 1} - {cutoff}:
                absent = q**k
                if absent > mpmath.mpf("1e-300"):
                    assert interval.sf(k) == pytest.approx(float(absent), rel=2e-13, abs=0)
                    assert interval.pmf(k) == pytest.approx(float(p * absent / q), rel=2e-13, abs=0)
                assert interval.cdf(k) == pytest.approx(float(1 - absent), rel=1e-13, abs=0)
            trial = -p * mpmath.log(p) - q * mpmath.log(q)
            trials = (1 - q ** (cutoff - 1)) / mpmath.mpf(p)
            # 1 - p in (1 - p) log(1 - p) is rounded: one unit of 1, against an entropy of p log(1/p)
            assert interval.entropy() == pytest.approx(float(trial * trials), rel=1e-13, abs=0)
            for argument in (-2.0, -1e-3, -p, 1e-9, 0.7 * p, 1.5 * p):
                s = mpmath.mpf(argument)
                y = q * mpmath.exp(s)
                before = p * mpmath.exp(s) * (1 - y ** (cutoff - 1)) / (1 - y)
                exact = float(before + q ** (cutoff - 1) * mpmath.exp(cutoff * s))
                # y^K is known to K units in the last place of log y, and cancels against 1
                assert interval.mgf(argument) == pytest.approx(exact, rel=1e-11, abs=0)


def test_draws_follow_the_law():
    """Pearson's chi-square at level 1e-6, at a fixed seed."""
    interval = CutoffGeometric(0.3, 5)
    draws = interval.rvs(20_000, seed=4)
    observed = np.bincount(draws, minlength=6)[1:]
    assert draws.dtype == np.int64 and observed.sum() == 20_000
    assert stats.chisquare(observed, 20_000 * interval.pmf(np.arange(1, 6))).pvalue > 1e-6
    assert (draws == interval.rvs(20_000, seed=4)).all()


def test_fit_maximises_the_likelihood():
    intervals, cutoff = [1, 1, 2, 4, 6, 6, 3], 6
    fitted = CutoffGeometric.fit(intervals, cutoff)
    best = optimize.minimize_scalar(
        lambda p: -np.log(CutoffGeometric(p, cutoff).pmf(intervals)).sum(), bounds=(1e-3, 0.999), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    assert fitted.participation_probability == pytest.approx(best.x, abs=1e-6)  # the top is flat: sqrt of rounding
    assert CutoffGeometric.fit([2, 4]).participation_probability == 1 / 3
    assert CutoffGeometric.fit([3, 3], cutoff=3).participation_probability == 0


REFUSED = {
    "p 0 without a cutoff": (lambda: CutoffGeometric(0.0), r"participation_probability = 0.0: .*has no end"),
    "p below 0": (lambda: CutoffGeometric(-0.1, 3), r"participation_probability = -0.1: allowed is \[0, 1\]"),
    "p nan": (lambda: CutoffGeometric(math.nan, 3), r"participation_probability = nan"),
    "p text": (lambda: CutoffGeometric("a", 3), r"participation_probability = 'a'"),
    "cutoff": (lambda: CutoffGeometric(0.5, 1.5), r"cutoff = 1.5"),
    "a long cutoff": (lambda: CutoffGeometric(0.5, 2**53 + 1), r"cutoff = 9007199254740993: .*floats skip integers"),
    "k": (lambda: CutoffGeometric(0.5, 3).pmf([1, math.nan]), r"k = \[1, nan\]: allowed are numbers"),
    "k, sf": (lambda: CutoffGeometric(0.5, 3).sf(math.nan), r"k = nan"),
    "k, cdf": (lambda: CutoffGeometric(0.5, 3).cdf(math.nan), r"k = nan"),
    "argument": (lambda: CutoffGeometric(0.5, 3).mgf(math.nan), r"argument = nan: allowed is a finite number"),
    "argument inf": (lambda: CutoffGeometric(0.5).mgf(math.inf), r"argument = inf"),
    "quantile": (lambda: CutoffGeometric(0.5, 3).ppf(1.5), r"probability = 1.5: allowed is \[0, 1\]"),
    "quantile nan": (lambda: CutoffGeometric(0.5, 3).ppf(math.nan), r"probability = nan"),
    "skewness": (lambda: CutoffGeometric(1.0).skewness(), r"skewness of a constant"),
    "kurtosis": (lambda: CutoffGeometric(0.2, 1).kurtosis(), r"kurtosis of a constant"),
    "fit nothing": (lambda: CutoffGeometric.fit([]), r"intervals is empty"),
    "fit beyond": (lambda: CutoffGeometric.fit([4], cutoff=3), r"integers from 1 to cutoff = 3"),
    "fit 0": (lambda: CutoffGeometric.fit([0, 1]), r"intervals = \[0, 1\]"),
    "fit floats": (lambda: CutoffGeometric.fit([1.0]), r"intervals = \[1.0\]"),
    "fit cutoff 1": (lambda: CutoffGeometric.fit([1], cutoff=1), r"cutoff = 1: allowed is 2 or more"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_input_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()
