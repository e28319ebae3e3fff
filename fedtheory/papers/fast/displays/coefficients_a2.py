"""The coefficient inequalities of appendix A.2 as data, each with the outcome derived by hand."""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from ....proof.symbol_regions import Region, at_least, capped, count, equal, interval, nonnegative, positive, region
from ....proof.steps import Cap, Step
from ....proof.write import coefficient_step
from .symbols import G1, G2, G3, K, L, eta, half, m, mu, n, q, setting, sigma_G, z

squared_z = sympy.Symbol("squared_step")  # z^2, where a printed cap on z is irrational
_noise_rate = (q * n + (1 - q) * m) / (m * n)  # = h, as printed
_higher_order = (10 * q + 20 * (1 - q)) * L**2 * K * eta**2
_CAP_8 = 1 / (8 * L * K)
_CAP_NOISE = _noise_rate / (5 * L * K)  # (nq + m(1-q)) / (5mnLK)


def _coefficient_identities() -> Iterable[Step]:
    """Compare the coefficients of |grad F|^2, sigma_G^2 and sigma^2 before and after insertions and expansions."""
    square = L**2 * K**2 * eta**2
    a, b, eps = sympy.symbols("a b epsilon")
    pairs = {
        # (6): L^2 eta/2 * K * (5K eta^2 (sigma^2 + 6K sigma_G^2) + 30K^2 eta^2 |grad F|^2)
        "a2.7": (
            "(6) to (7)",
            [
                (L**2 * eta / 2 * K * 30 * K**2 * eta**2, 15 * L**2 * K**3 * eta**3),
                (L**2 * eta / 2 * K * 5 * K * eta**2 * 6 * K, 15 * L**2 * K**3 * eta**3),
                (L**2 * eta / 2 * K * 5 * K * eta**2, sympy.Rational(5, 2) * L**2 * K**2 * eta**3),
            ],
        ),
        "a2.13": (
            "(12) to (13)",
            [
                (15 * L**2 * K**3 * eta**3 * 4 / (K * eta), 60 * square),
                (
                    (L * K * eta**2 / m + sympy.Rational(5, 2) * L**2 * K**2 * eta**3) * 4 / (K * eta),
                    4 * L * eta / m + 10 * L**2 * K * eta**2,
                ),
                (L * eta**2 * 4 / (K * eta), 4 * L * eta / K),
            ],
        ),
        "a2.17": (
            "(16) to (17)",
            [
                (2 * L**2 * 30 * K**2 * eta**2, 60 * square),
                (2 + 2 * L**2 * 30 * K**2 * eta**2, 2 + 60 * square),
                (2 * L**2 * 5 * K * eta**2, 10 * L**2 * K * eta**2),
            ],
        ),
        "a2.18": (
            "(15), (17) to (18)",
            [
                (eta / 2 * K * 60 * square, 30 * L**2 * K**3 * eta**3),
                (eta / 2 * K * (2 + 60 * square), K * eta + 30 * L**2 * K**3 * eta**3),
                (eta / 2 * K * 10 * L**2 * K * eta**2, 5 * L**2 * K**2 * eta**3),
            ],
        ),
        "a2.23": (
            "(22) to (23)",
            [
                ((K * eta + 30 * L**2 * K**3 * eta**3) * 4 / (K * eta), 4 + 120 * square),
                (
                    (L * K * eta**2 / n + 5 * L**2 * K**2 * eta**3) * 4 / (K * eta),
                    4 * L * eta / n + 20 * L**2 * K * eta**2,
                ),
                ((eta / (2 * K) - L * eta**2) * 4 / (K * eta), 2 / K**2 - 4 * L * eta / K),
            ],
        ),
        # q times (13) plus p times (23), without the squares of (24) and 4 sigma_G^2, which the q-condition is for
        "a2.24": (
            "(24), first inequality",
            [
                (
                    q * (4 * L * eta / m + 10 * L**2 * K * eta**2)
                    + (1 - q) * (4 * L * eta / n + 20 * L**2 * K * eta**2),
                    4 * _noise_rate * L * eta + _higher_order,
                ),
                (q * 60 * square + (1 - q) * 120 * square, (120 * (1 - q) + 60 * q) * square),
            ],
        ),
        # the same sums serve (29) (with m) and (37) (with n); 2 L^2 K^2 eta^2 times the drift bound
        "a3.29": (
            "(29), (37)",
            [
                (2 * square * 30 * square + 4 * square, 4 * square + 60 * square**2),
                (2 * square * 30 * K**2 * eta**2 + 4 * K**2 * eta**2, 4 * K**2 * eta**2 + 60 * L**2 * K**4 * eta**4),
                (2 * square * 5 * K * eta**2 + K * eta**2 / m, K * eta**2 / m + 10 * L**2 * K**3 * eta**4),
            ],
        ),
        # (26) takes A_7 with the factor -2 eta
        "a3.30_plugging": (
            "(28) to (30)",
            [
                (2 * eta * 3 * mu * K / 4, 3 * mu * K * eta / 2),
                (2 * eta * 30 * L**3 * K**3 * eta**2, 60 * z**3),
                (2 * eta * 30 * L * K**3 * eta**2, 60 * L * K**3 * eta**3),
                (2 * eta * 5 * L * K**2 * eta**2, 10 * L * K**2 * eta**3),
            ],
        ),
        # of vectors too: both sides are the same combination of |a|^2, <a, b> and |b|^2
        "a3.33": (
            "(32) to (33)",
            [
                (a**2 / (4 * eps) + eps * b**2 + a * b, (a + 2 * eps * b) ** 2 / (4 * eps)),
            ],
        ),
        "a3.35": (
            "(34) to (35)",
            [
                (2 * L * K * eta * 30 * square, 60 * L**3 * K**3 * eta**3),
                (2 * L * K * eta * 5 * K * eta**2 * 6 * K, 60 * L * K**3 * eta**3),
                (2 * L * K * eta * 5 * K * eta**2, 10 * L * K**2 * eta**3),
            ],
        ),
    }
    for name, (equation, sides) in pairs.items():
        for index, (left, right) in enumerate(sides, 1):
            yield coefficient_step(
                f"{name}_coefficient_{index}",
                equation,
                f"{left} = {right}",
                "proved",
                "plugging in",
                left - right,
                identity=True,
            )


def left_side(constant: int, squared: sympy.Expr) -> sympy.Expr:
    """Return the inequality 1/2 - constant z^2 >= 1/4."""
    return half - constant * squared - sympy.Rational(1, 4)


CAPS = {
    name: Cap(left_side(constant, z**2), lambda c: setting(cap=c / (L * K)))
    for name, constant in (("a2.11", 15), ("a2.22", 30))
}
"""Inequalities that need the printed caps of z."""


def squared_cap(cap: sympy.Rational) -> Region:
    """Return the region where z^2 <= cap."""
    return region(capped("squared_step", cap))


_EQUAL_COHORTS = {
    size: region(
        capped("local_lr", cap / (L * K)),
        positive("smoothness"),
        count("local_steps"),
        equal("cohort", sympy.Integer(size)),
        equal("arbitrary_cohort", sympy.Integer(size)),
        interval("snapshot_probability"),
    )
    # m = n: h = 1/m, so the caps 1/8 and h/5 give z <= 1/8 for m = 1 and z <= 1/(5m) above
    for size, cap in ((1, sympy.Rational(1, 8)), (2, sympy.Rational(1, 10)))
}

_A2 = (
    # z^2 <= 1/60: 15 z^2 <= 1/4, with equality at the cap
    coefficient_step("a2.11_under_its_own_cap", "(10) to (11)", "1/2 - 15 z^2 >= 1/4 under z <= 1/(2 sqrt(15))",
         "proved", "15/60 = 1/4", left_side(15, squared_z), (squared_cap(sympy.Rational(1, 60)),)),
    # 15/64 < 16/64: the theorem's cap 1/8 implies 1/(2 sqrt(15)) = 1/7.75
    coefficient_step("a2.11_under_the_cap_1/8", "(10) to (11)", "1/2 - 15 z^2 >= 1/4 under the theorem's z <= 1/8",
         "proved", "15/64 <= 1/4", left_side(15, z**2), (setting(cap=_CAP_8),)),
    coefficient_step("a2.22_under_its_own_cap", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under z <= 1/(2 sqrt(30))",
         "proved", "30/120 = 1/4", left_side(30, squared_z), (squared_cap(sympy.Rational(1, 120)),)),
    # 30/64 > 16/64: the theorem's cap 1/8 does not imply 1/(2 sqrt(30)) = 1/10.95
    coefficient_step("a2.22_under_the_cap_1/8", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under the theorem's z <= 1/8",
         "gap", "30/64 > 1/4", left_side(30, z**2), (setting(cap=_CAP_8),),
         repaired_by=("a2.22_with_the_sharper_drift", "a2.23_with_the_sharper_drift"), weakest_cap=CAPS["a2.22"]),
    # both caps of the theorem: fails exactly where min(1/8, h/5) > 1/sqrt(120), that is h > 5/sqrt(120) = 0.4564
    coefficient_step("a2.22_under_both_caps_m=n=1", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under both caps, m = n = 1",
         "gap", "the theorem's caps are met: h = 1, so they give z <= 1/8, and 30/64 > 1/4", left_side(30, z**2),
         (_EQUAL_COHORTS[1],),
         repaired_by=("a2.22_with_the_sharper_drift", "a2.23_with_the_sharper_drift"), weakest_cap=CAPS["a2.22"]),
    coefficient_step("a2.22_under_both_caps_m=n=2", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under both caps, m = n = 2",
         "gap", "the theorem's caps are met: h = 1/2, so they give z <= 1/10, and 30/100 > 1/4", left_side(30, z**2),
         (_EQUAL_COHORTS[2],),
         repaired_by=("a2.22_with_the_sharper_drift", "a2.23_with_the_sharper_drift"), weakest_cap=CAPS["a2.22"]),
    coefficient_step("a2.22_under_both_caps_m,n>=3", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under both caps, m >= 3 "
        "and n >= 3",
         "proved", "h <= 1/3: z <= 1/15, 30/225 < 1/4", left_side(30, z**2), (setting(cap=_CAP_NOISE, least=3),),
         printed=False),
    # q [G1 + N - 2 z G3] >= N with N = (2z - 1) G2 + 2 K^2 sigma_G^2, from 2/K^2 times it
    coefficient_step("a2.24_q_condition_as_a_product", "(24)", "the sum to be dropped is 2/K^2 (N - q (G1 + N - 2 z "
        "G3))",
         "proved", "multiplying out",
         -2 / K**2 * q * G1 + 4 * L * eta / K * q * G3 - (2 / K**2 - 4 * L * eta / K) * (1 - q) * G2
         + 4 * (1 - q) * sigma_G**2
         - 2 / K**2 * ((2 * z - 1) * G2 + 2 * K**2 * sigma_G**2
                       - q * (G1 + (2 * z - 1) * G2 - 2 * z * G3 + 2 * K**2 * sigma_G**2)),
         identity=True),
    # with numerator N and denominator D symbols of their own: q >= N / D, D > 0 gives q D >= N
    coefficient_step("a2.24_q_condition_divided_by_D>0", "(24)", "q >= N/D implies q D >= N where D > 0",
         "proved", "q = N/D + s: q D - N = s D", sympy.Symbol("q") * sympy.Symbol("D") - sympy.Symbol("N"),
         tuple(region(at_least("q", sympy.Symbol("N") / sympy.Symbol("D")),
                      equal("N", sign * sympy.Symbol("size")), nonnegative("size"), positive("D"))
               for sign in (1, -1)), printed=False),
    # D < 0 <= N: every q >= 0 satisfies the quotient, none the product; D = -d needs 2 z G3 = G1 + N + d
    coefficient_step("a2.24_q_condition_divided_by_D<0", "(24)", "q >= N/D implies q D >= N where D < 0",
         "gap", "with a negative denominator D = -d every q meets the printed condition, and none the product",
         q * (G1 + (2 * z - 1) * G2 - 2 * z * G3 + 2 * K**2 * sigma_G**2)
         - (2 * z - 1) * G2 - 2 * K**2 * sigma_G**2,
         (setting(
             equal("peak_cohort_pseudogradient",
                   (G1 + sympy.Symbol("d") + (2 * z - 1) * G2 + 2 * K**2 * sigma_G**2) / (2 * z)),
             equal("peak_arbitrary_pseudogradient", sympy.Integer(0)), nonnegative("peak_full_pseudogradient"),
             positive("dissimilarity"), positive("d"), cap=_CAP_8),)),
    # two snapshot rounds with squares g1 = G1 >= g2: -(g1 + g2) / 2 <= -G1 needs g2 = G1
    coefficient_step("a2.24_squares_replaced_by_their_maximum", "(24)",
         "-(mean of the squares over the snapshot rounds) <= -G_1, where G_1 is their maximum",
         "gap", "the mean of g2 and G_1 is below their maximum G_1; the same for G_2",
         (G1 + sympy.Symbol("g2")) / 2 - G1,
         (region(interval("g2", high=G1), positive("peak_full_pseudogradient")),)),
    # the last inequality of (24) drops a nonnegative term; its coefficient would have to be <= 0
    coefficient_step("a2.24_noise_term_dropped", "(24), last line", "4 h L eta + (10q + 20p) L^2 K eta^2 <= 4 h L eta",
         "gap", "the dropped term is positive; with 8 in place of 4 the inequality holds", -_higher_order,
         (setting(cap=_CAP_NOISE, least=2),)),
)  # fmt: skip

A2 = {step.name: step for step in (*_coefficient_identities(), *_A2)}
