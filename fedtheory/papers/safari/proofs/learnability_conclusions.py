"""Conclusions of section 3's steps."""

from __future__ import annotations

import sympy

from ....claims import readings
from ....proof.derivations import Derivation
from ....proof.domain import bare
from ....quantities import symbols

M, m, rare, level = sympy.symbols("clients arbitrary_cohort rare_mass error_level")
alpha, beta, nu, b = sympy.symbols("relatedness relatedness_exponent noise_constant noise_exponent")
a, a_T, a_2, e_Q, gap, e_0 = sympy.symbols(
    "complexity server_complexity pair_complexity source_excess related_gap best_excess"
)
share, width_P, width_Q, distance, outside = sympy.symbols(
    "client_share target_width source_width threshold_distance outside_support"
)

_half = (1 - m / M) / 2
_mass = (("mass_from", rare - _half), ("mass_to", _half - rare))
_reached = ("level_reached", _half - level)
_away = ("some_stay_away", M - 1 - m)
_within = {readings.THRESHOLDS: readings.IN_THE_SUPPORT}
_nested, _inside = ("nested", width_P - width_Q), ("in_the_support", -outside)
_noise_1 = ("noise_exponent_1", b - 1)
_factor = 2 * nu + sympy.Rational(2, 3)


def _with_exponents() -> tuple[sympy.Expr, ...]:
    """The right sides of Theorem 2, Lemma 2 and Theorem 3 with every constant, for any exponents; with the
    vocabulary's symbols, as roots are drawn with their signs."""
    alpha, beta, nu, b, a, a_T, e_0 = symbols(
        "relatedness",
        "relatedness_exponent",
        "noise_constant",
        "noise_exponent",
        "complexity",
        "server_complexity",
        "best_excess",
    )
    rate = 1 / (2 - b)
    source = (8 * nu * a) ** rate + 2 * a / 3
    root = sympy.sqrt(2 * nu * e_0**b * a_T)
    found = (source + alpha * source**beta, e_0 + root + a_T / 3, (16 * nu * a_T) ** rate + 2 * e_0 + 2 * a_T / 3)
    return tuple(map(bare, found))


def _rates() -> tuple[sympy.Expr, ...]:
    """(d/(n_T + n_S))^(beta r) and ^r, (1/(n_T + n_S))^(beta r) and (1/n_T)^r, r = 1/(2 - beta_Q)."""
    beta, b, d, n_T, n_S = symbols(
        "relatedness_exponent", "noise_exponent", "vc_dimension", "server_samples", "client_samples"
    )
    r, n = 1 / (2 - b), n_T + n_S
    return tuple(map(bare, ((d / n) ** (beta * r), (d / n) ** r, (1 / n) ** (beta * r), (1 / n_T) ** r)))


_SECOND, _FIRST, _POOLED, _ALONE = _rates()


def _hidden() -> tuple[sympy.Expr, ...]:
    """The right sides of Theorems 2 and 3 with the constant of their O(.), and by how much it is large enough for
    Theorem 2; those of (18), and for a dimension of (18) and Theorems 2 and 3, with every constant."""
    alpha, beta, nu, b, c, a, a_T = symbols(
        "relatedness",
        "relatedness_exponent",
        "noise_constant",
        "noise_exponent",
        "hidden_constant",
        "complexity",
        "server_complexity",
    )
    a_d, a_dT, e_0 = symbols("vc_complexity", "server_vc_complexity", "best_excess")
    rate = 1 / (2 - b)
    of_vc = (128 * nu * a_d) ** rate + 32 * a_d
    third_vc = (256 * nu * a_dT) ** rate + 2 * e_0 + 32 * a_dT
    source = (8 * nu * a) ** rate + 2 * a / 3
    enough = c - (1 + alpha) * (8 * nu + 2) ** (1 + beta)
    found = (c * a**rate + c * a ** (beta * rate), c * a_T**rate, enough, source, of_vc, of_vc + alpha * of_vc**beta)
    return tuple(map(bare, (*found, third_vc)))


_HIDDEN_2, _HIDDEN_3, _ENOUGH_2, _EXCESS, _VC_EXCESS, _VC_2, _VC_3 = _hidden()
_BESIDE = {readings.CONFIDENCE_TERM: readings.BESIDE_WITH_MAX}
_OF_THE_PROBLEM = {readings.CONSTANTS: readings.OF_THE_PROBLEM}

_THEOREM_2, _LEMMA_2, _THEOREM_3 = _with_exponents()


def _beside() -> tuple[tuple[str, sympy.Expr], tuple[str, sympy.Expr], sympy.Expr, sympy.Expr]:
    """Return two conditions, and two right sides with their constant.

    The conditions are that A is large enough with the confidence beside the logarithm, and that there are at least d
    samples. The right sides are those of (16) and (17), and of (18).
    """
    n, d, delta, A, c, b = symbols(
        "samples", "vc_dimension", "confidence", "sample_complexity", "hidden_constant", "noise_exponent"
    )
    least = d / n * sympy.Max(sympy.log(sympy.Max(n, d) / d), 1) + sympy.log(1 / delta) / n
    needs = ("complexity", bare(A - least)), ("samples", bare(n - d))
    return *needs, bare(c * A), bare(c * A ** (1 / (2 - b)))


*_A_BESIDE, _C_A, _C_RATE = _beside()
_UNIVERSAL = (*_A_BESIDE, ("constant", sympy.Symbol("hidden_constant") - 512))
_OF_THE_NOISE = (*_A_BESIDE, ("constant", sympy.Symbol("hidden_constant") - 640 * nu - 161))

LEARNABILITY = (
    Derivation("(2) to (11)", functional="negated_failure", steps=("learn.11",), right_side=-sympy.Rational(1, 20),
               needs=(_away, *_mass, ("level_reached", _half / 4 - level)), proves=("safari.thm1@main",)),
    Derivation("Theorem 1 of SAFARI, sharp", functional="negated_failure", steps=("learn.sharp.any",),
               right_side=-sympy.Rational(2, 5), needs=(_away, *_mass, _reached), proves=("safari.thm1@sharp",)),
    Derivation("Theorem 1, for functions", functional="negated_failure_of_functions", steps=("learn.sharp.functions",),
               right_side=-sympy.Rational(4, 5), needs=(_away, *_mass, _reached), proves=("safari.thm1@functions",)),
    Derivation("Chernoff's bound", functional="rare_tail", steps=("learn.tail",), right_side=sympy.Rational(17, 20),
               needs=(_away, *_mass), proves=("safari.app1.tail@main",)),
    Derivation("the one-dimensional example", functional="relatedness_gap", steps=("learn.example",),
               right_side=(1 - width_Q / width_P) * e_Q, needs=(_nested, _inside), readings=_within,
               proves=("safari.ex1@main",)),
    Derivation("the example, in the support", functional="relatedness_gap", steps=("learn.example",),
               right_side=(1 - width_Q / width_P) * e_Q, needs=(_nested, _inside), proves=("safari.ex1@within",)),
    Derivation("the example's excess risk", functional="negated_source_excess", steps=("learn.uniform",),
               right_side=-distance / width_Q, needs=(_nested, _inside), readings=_within,
               proves=("safari.ex1.q@main",)),
    Derivation("the example's excess risk, in the support", functional="negated_source_excess",
               steps=("learn.uniform",), right_side=-distance / width_Q, needs=(_nested, _inside),
               proves=("safari.ex1.q@within",)),
    Derivation("a mixture with P", functional="relatedness_gap", steps=("learn.mixture.above", "learn.mixture.below"),
               right_side=alpha * e_Q, needs=(("at_least_1", alpha - 1), ("shares", alpha * (1 - share) - share)),
               proves=("safari.ex1@corrected",)),
    Derivation("(12) to (15)", functional="target_excess", steps=("learn.15",), right_side=gap + e_Q,
               proves=("safari.eq15@main",)),
    Derivation("Theorem 2, with constants", functional="pooled_excess", steps=("learn.massart.2",),
               right_side=(1 + alpha) * _factor * a,
               needs=(("beta_from", beta - 1), ("beta_to", 1 - beta), _noise_1), proves=("safari.thm2@massart",)),
    Derivation("Theorem 2, with constants and exponents", functional="pooled_excess", steps=("learn.general.2",),
               right_side=_THEOREM_2, proves=("safari.thm2@corrected", "safari.rem2.thm2@corrected")),
    Derivation("Theorem 2, with a constant of the problem", functional="pooled_excess", steps=("learn.hidden.2",),
               right_side=_HIDDEN_2, needs=(("constant", _ENOUGH_2), ("enough_samples", 1 - a)),
               readings=_OF_THE_PROBLEM, proves=("safari.thm2@main", "safari.rem2.thm2@main")),
    Derivation("rates for few samples, as printed", functional="pooled_rate", steps=("learn.improvement",),
               left_side=_POOLED, right_side=_ALONE, proves=("safari.thm2.improvement@main",)),
    Derivation("the first rate dominates", functional="second_rate", steps=("learn.first",), left_side=_SECOND,
               right_side=_FIRST, proves=("safari.thm2.first@main",),
               needs=(("from_1_on", beta - 1),
                      ("enough_samples", sympy.Symbol("server_samples") + sympy.Symbol("client_samples")
                       - sympy.Symbol("vc_dimension")))),
    Derivation("(17), with constants", functional="disagreement_excess", steps=("learn.frequency",),
               right_side=5 * a_2 / 6, proves=("safari.lemma1.frequency@corrected",)),
    Derivation("Lemma 2, with the root", functional="checked_empirical_gap", steps=("learn.general.lemma_2",),
               right_side=_LEMMA_2, proves=("safari.lemma2@corrected", "safari.lemma2@main")),
    Derivation("Theorem 3, with constants and exponents", functional="checked_excess", steps=("learn.general.3",),
               right_side=_THEOREM_3, proves=("safari.thm3@corrected",)),
    Derivation("Theorem 3, with a constant of the problem", functional="checked_excess", steps=("learn.hidden.3",),
               right_side=_HIDDEN_3,
               needs=(("constant", sympy.Symbol("hidden_constant") - 16 * nu - 5), ("best_of_q", a_T - e_0),
                      ("enough_samples", 1 - a_T)),
               readings=_OF_THE_PROBLEM, proves=("safari.thm3@main",)),
    Derivation("Theorem 3, with constants", functional="checked_excess", steps=("learn.massart.3",),
               right_side=3 * e_0 + _factor * a_T, needs=(_noise_1,), proves=("safari.thm3@massart",)),
    Derivation("(17) from below, with constants", functional="disagreement_deficit", steps=("learn.17.below",),
               right_side=4 * a_2 / 3, proves=("safari.lemma1.deficit@corrected",)),
    Derivation("(16), with constants", functional="pair_deviation", steps=("learn.16.constant",),
               right_side=97 * a_2 / 27, proves=("safari.lemma1.deviation@corrected",)),
    Derivation("(18), with constants and exponents", functional="pooled_source_excess", steps=("learn.general.excess",),
               right_side=_EXCESS, proves=("safari.lemma1.excess@corrected",)),
    Derivation("(17), beside", functional="disagreement_excess", steps=("learn.beside.17",), right_side=_C_A,
               needs=_UNIVERSAL, readings=_BESIDE, proves=("safari.lemma1.frequency@main",)),
    Derivation("(17) from below, beside", functional="disagreement_deficit", steps=("learn.beside.17_below",),
               right_side=_C_A, needs=_UNIVERSAL, readings=_BESIDE, proves=("safari.lemma1.deficit@main",)),
    Derivation("(16), beside", functional="pair_deviation", steps=("learn.beside.16",), right_side=_C_A,
               needs=_UNIVERSAL, readings=_BESIDE, proves=("safari.lemma1.deviation@main",)),
    Derivation("(18), beside", functional="pooled_source_excess", steps=("learn.beside.large",), right_side=_C_RATE,
               needs=_OF_THE_NOISE, readings=_BESIDE | _OF_THE_PROBLEM, proves=("safari.lemma1.excess@main",)),
    Derivation("(18), with the dimension", functional="pooled_source_excess", steps=("learn.vc.excess",),
               right_side=_VC_EXCESS, proves=("safari.lemma1.excess@vc",)),
    Derivation("Theorem 2, with the dimension", functional="pooled_excess", steps=("learn.vc.2",), right_side=_VC_2,
               proves=("safari.thm2@vc",)),
    Derivation("Theorem 3, with the dimension", functional="checked_excess", steps=("learn.vc.3",), right_side=_VC_3,
               proves=("safari.thm3@vc", "safari.rem2.thm3@main")),
)  # fmt: skip
