"""The coefficient inequalities of appendix A.3 as data, each with the outcome derived by hand."""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from ....proof.symbol_regions import Region, at_least, capped, count, equal, interval, positive, region
from ....proof.steps import Cap, Step
from ....proof.write import coefficient_step
from .symbols import K, L, eta, m, mu, n, q, setting, sigma_G, z

_noise_rate = (q * n + (1 - q) * m) / (m * n)  # = h, as printed

_TWENTIETH = sympy.Rational(1, 20)


def distance_absorption() -> sympy.Expr:
    """Return 8 z^2 minus what (30) and (38) absorb into it (coefficient of |x_r - x*|^2)."""
    return 8 * z**2 - (60 * z**3 + 4 * z**2 + 60 * z**4)


def dissimilarity_absorption() -> sympy.Expr:
    """Return 8 K^2 eta^2 minus what is absorbed into it (coefficient of sigma_G^2)."""
    return 8 * K**2 * eta**2 - (4 * K**2 * eta**2 + 60 * L * K**3 * eta**3 + 60 * L**2 * K**4 * eta**4)


def noise_absorption(size: sympy.Expr) -> sympy.Expr:
    """Return 2K eta^2 / size minus what is absorbed into it (coefficient of sigma^2)."""
    return 2 * K * eta**2 / size - (K * eta**2 / size + 10 * L * K**2 * eta**3 + 10 * L**2 * K**3 * eta**4)


def cohort_cap(size: sympy.Expr, constant: sympy.Expr = _TWENTIETH) -> Region:
    """Return the region where z <= constant / size."""
    return setting(cap=constant / (size * L * K))


CAPS = {
    "a3.30_distance": Cap(distance_absorption(), lambda c: cohort_cap(m, c)),
    "a3.30_dissimilarity": Cap(dissimilarity_absorption(), lambda c: cohort_cap(m, c)),
    "a3.30_noise": Cap(noise_absorption(m), lambda c: cohort_cap(m, c)),
    "a3.38_noise": Cap(noise_absorption(n), lambda c: cohort_cap(n, c)),
}
"""Inequalities that need the printed caps of z, each a constant over a cohort."""


def _absorptions(equation: str, size: sympy.Expr) -> Iterable[Step]:
    cap = (cohort_cap(size),)
    name, letter = f"a3.{equation[1:-1]}", {m: "m", n: "n"}[size]
    under = f"under z <= 1/(20 {letter})"
    # divided by z^2 (by K^2 eta^2): 60 z + 60 z^2 <= 4; at z = 1/20 it is 3.15
    yield coefficient_step(
        f"{name}_distance",
        equation,
        f"60 z^3 + 4 z^2 + 60 z^4 <= 8 z^2 {under}",
        "proved",
        "3.15 <= 4",
        distance_absorption(),
        cap,
    )
    yield coefficient_step(
        f"{name}_dissimilarity",
        equation,
        f"4 + 60 z + 60 z^2 <= 8, times K^2 eta^2, {under}",
        "proved",
        "3.15 <= 4",
        dissimilarity_absorption(),
        cap,
    )
    # divided by K eta^2: 10 z + 10 z^2 <= 1/m; at z = 1/(20m) it is 0.5/m + 0.025/m^2
    yield coefficient_step(
        f"{name}_noise",
        equation,
        f"1/{letter} + 10 z + 10 z^2 <= 2/{letter}, times K eta^2, {under}",
        "proved",
        "0.5/m + 0.025/m^2 <= 1/m",
        noise_absorption(size),
        cap,
    )


EPSILON = {"main": sigma_G**2 / (K * eta), "appendix": 1 / (K * eta)}
"""Free constant of (33) in each edition: the main text's (and the proof's), and the one that (25) corresponds to."""

CONTRACTION = {
    edition: mu * K * eta / 2 - (1 - q) * 2 * K * eta * epsilon - 8 * z**2 for edition, epsilon in EPSILON.items()
}
"""Coefficient of |x_r - x*|^2 in (39): mu K eta / 2 minus p 2K eta epsilon + 8 z^2."""

_RADIUS = {"main": sigma_G**2, "appendix": sympy.Integer(1)}


def q_condition_holds(edition: str) -> Region:
    """Return the region of the q-condition, solved for mu, with nothing else assumed.

    It is mu K eta = 4 p r + 16 z^2 + s, with r = sigma_G^2 (main) or 1 (appendix).
    """
    return region(
        at_least("strong_convexity", (4 * (1 - q) * _RADIUS[edition] + 16 * z**2) / (K * eta)),
        positive("local_lr"),
        positive("smoothness"),
        positive("dissimilarity"),
        count("local_steps"),
        interval("snapshot_probability"),
    )


def all_hypotheses_hold(edition: str) -> Region:
    """Return a region in which every hypothesis of the edition holds, for counterexamples.

    There m = n = 1, mu = L, z <= 1/20, and p = (z - 16 z^2) share / (4 r) with 0 <= share <= 1, which is in [0, 1]; in
    the main text sigma_G >= 1 to that end.
    """
    return region(
        equal("snapshot_probability", 1 - (z - 16 * z**2) * sympy.Symbol("share") / (4 * _RADIUS[edition])),
        interval("share"),
        at_least("dissimilarity", sympy.Integer(1)) if edition == "main" else positive("dissimilarity"),
        equal("strong_convexity", L),
        capped("local_lr", 1 / (20 * L * K)),
        positive("smoothness"),
        count("local_steps"),
    )


_q_range = (region(interval("snapshot_probability"), positive("dissimilarity"), count("local_steps"),
                   positive("local_lr"), count("cohort"), count("arbitrary_cohort")),)  # fmt: skip

_mixed_noise = q * 2 * K * eta**2 / m + (1 - q) * 2 * K * eta**2 / n

_A3 = (
    coefficient_step("a3.27_cap_of_the_drift_lemma", "(27), (34)", "z <= 1/(20 m) implies the drift lemma's z <= 1/8",
         "proved", "20 m >= 8", sympy.Rational(1, 8) - z, (cohort_cap(m),)),
    *_absorptions("(30)", m),
    *_absorptions("(38)", n),
    # p 4K eta eps = 4 p sigma_G^2 (main) or 4 p (appendix): the q-condition, halved, word for word
    coefficient_step("a3.39_contraction_main", "(39)", "p 2K eta eps + 8 z^2 <= mu K eta/2, eps and q-condition of "
        "the main text",
         "proved", "it is the q-condition", CONTRACTION["main"], (q_condition_holds("main"),)),
    coefficient_step("a3.39_contraction_appendix", "(39)", "p 2K eta eps + 8 z^2 <= mu K eta/2 with the "
         "appendix's q-condition and eps = 1/(K eta)",
         "proved", "it is the q-condition", CONTRACTION["appendix"], (q_condition_holds("appendix"),)),
    # the appendix prints the statement (25) but proves (39) with eps = sigma_G^2/(K eta): 4 p sigma_G^2 > 4 p
    # where sigma_G > 1 (in the unit of the paper's 1)
    coefficient_step("a3.39_contraction_appendix_condition_main_epsilon", "(39)",
         "p 2K eta eps + 8 z^2 <= mu K eta/2 with the appendix's q-condition and eps = sigma_G^2/(K eta)",
         "gap", "sigma_G^2 > 1, where the q-condition holds with equality", CONTRACTION["main"],
         (all_hypotheses_hold("appendix"),), repaired_by=("a3.39_contraction_appendix",),
         of=("fast.thm2@appendix",)),
    # p K eta sigma_G^2 / (2 eps)
    coefficient_step("a3.39_floor_main", "(39)", "p K eta sigma_G^2/(2 eps) = p/2 K^2 eta^2, eps of the main text",
         "proved", "plugging in", (1 - q) * K * eta * sigma_G**2 / (2 * EPSILON["main"]) - (1 - q) / 2 * K**2 * eta**2,
         identity=True),
    coefficient_step("a3.39_floor_appendix", "(25)", "p K eta sigma_G^2/(2 eps) = p/2 K^2 eta^2 sigma_G^2, eps = "
        "1/(K eta)",
         "proved", "plugging in",
         (1 - q) * K * eta * sigma_G**2 / (2 * EPSILON["appendix"]) - (1 - q) / 2 * K**2 * eta**2 * sigma_G**2,
         identity=True),
    coefficient_step("a3.39_floor_appendix_statement_main_epsilon", "(39), (25)",
         "p K eta sigma_G^2/(2 eps) <= p/2 K^2 eta^2 sigma_G^2, the floor of (25), with eps = sigma_G^2/(K eta)",
         "gap", "it asks for sigma_G^2 >= 1",
         (1 - q) / 2 * K**2 * eta**2 * sigma_G**2 - (1 - q) * K * eta * sigma_G**2 / (2 * EPSILON["main"]), _q_range,
         repaired_by=("a3.39_floor_appendix",), of=("fast.thm2@appendix",)),
    coefficient_step("a3.39_noise_with_2", "(39), last line", "q 2K eta^2/m + p 2K eta^2/n = 2 (qn + pm)/(mn) K eta^2",
         "proved", "common denominator", _mixed_noise - 2 * _noise_rate * K * eta**2, identity=True),
    coefficient_step("a3.39_noise_with_4", "(39), middle line", "q 2K eta^2/m + p 2K eta^2/n <= 4K (qn + pm)/(mn) "
        "eta^2",
         "proved", "2 <= 4", 4 * _noise_rate * K * eta**2 - _mixed_noise, _q_range),
    coefficient_step("a3.39_noise_from_4_to_2", "(39), middle to last line",
                     "4K (qn + pm)/(mn) eta^2 <= 2 (qn + pm)/(mn) K eta^2", "gap", "4 > 2",
                     -2 * _noise_rate * K * eta**2, _q_range, repaired_by=("a3.39_noise_with_2",)),
    coefficient_step("a3.40_factor_nonnegative", "(40)", "1 - mu K eta >= 0", "proved", "mu K eta <= z <= 1/20",
        1 - mu * K * eta,
         (region(interval("strong_convexity", high=L), capped("local_lr", 1 / (20 * m * L * K)),
                 positive("smoothness"), count("local_steps"), count("cohort")),)),
    coefficient_step("a3.40_floors_main", "(40)",
                     "(39)'s additive terms over mu K eta are the printed floors, first of three", "proved", "dividing",
                     (1 - q) / 2 * K**2 * eta**2 / (mu * K * eta) - (1 - q) / (2 * mu) * K * eta, identity=True),
    coefficient_step("a3.40_floors_dissimilarity", "(40)", "second of three", "proved", "dividing",
         8 * K**2 * eta**2 / (mu * K * eta) - 8 / mu * K * eta, identity=True),
    coefficient_step("a3.40_floors_noise", "(40)", "third of three", "proved", "dividing",
         2 * _noise_rate * K * eta**2 / (mu * K * eta) - 2 * (q * n + (1 - q) * m) / (m * n * mu) * eta,
         identity=True),
)  # fmt: skip

A3 = {step.name: step for step in _A3}
