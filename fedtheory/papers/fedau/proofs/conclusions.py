"""Conclusions of FedAU's steps, before any claim is looked at; a claim is tried on every derivation of its
functional."""

from __future__ import annotations

from dataclasses import replace

import sympy

from ....claims import readings
from ....proof.derivations import Derivation
from ....proof.domain import bare
from ....quantities import symbols
from ...fast.displays.lemmas import DRIFT_CAP
from ..displays.symbols import (
    FIXED, E, F, G, I, K, L, N, Q, Q_expected, T, W, absence, bracket, c, cutoff_bias, d, delta, error, gamma,
    gradient, intervals, least, omega, p, peak_error, q, share, sigma, t, w, weight_spread, z,
)  # fmt: skip

_NONCONVEX = ("smoothness", "gradient_noise", "dissimilarity")
_BOUNDED = (*_NONCONVEX, "global_gradient_bound")
_OF_THE_ROUND = {readings.CONDITIONING: readings.OF_THE_ROUND}
_SUMMED = {readings.AVERAGE: readings.FROM_ROUND_0}
_GIVEN = {**_SUMMED, readings.WEIGHTS: readings.GIVEN}
_EITHER = {readings.CONDITION: (readings.GIVEN_AN_INTERVAL, readings.IN_EXPECTATION)}

_one_round = ("one_round", 1 - T)
_local_cap = ("local_cap", 1 - 15 * z)
_global_cap = ("global_cap", 1 - 4 * L * I * c)
_scale_cap = ("scale_cap", N - 54 * L * I * Q * c)

# One round ------------------------------------------------------------------------------------------------------------


def _descent(divergence: sympy.Expr, mean_error: sympy.Expr) -> sympy.Expr:
    """(B.3.5)."""
    return (FIXED + c * I * bracket(15) * gradient**2).subs({d: divergence, E: mean_error}, simultaneous=True)


ROUNDS = (
    Derivation("(B.3.2)", functional="weighted_divergence", steps=("fedau.B.3.2",), right_side=4 * delta**2,
               assumptions=("dissimilarity",), proves=("fedau.lemmaB_3_1@main",)),
    Derivation("(B.3.2), sharp", functional="weighted_divergence", steps=("fedau.B.3.2.sharp.least",),
               right_side=4 * (1 - least) ** 2 * delta**2, assumptions=("dissimilarity",),
               proves=("fedau.lemmaB_3_1@sharp",)),
    Derivation("(B.3.3)", functional="local_drift", steps=("fedau.B.3.3", "fedau.B.3.3_from_the_sharper_drift"),
               right_side=5 * I * gamma**2 * (sigma**2 + 24 * I * delta**2) + 30 * I**2 * gamma**2 * gradient**2,
               needs=(_one_round, DRIFT_CAP), assumptions=_NONCONVEX, proves=("fedau.lemmaB_3_2@main",)),
    Derivation("(B.3.3), sharp", functional="local_drift", steps=("fedau.B.3.3.sharp.rounded",),
               right_side=sympy.Rational(7, 4) * I * gamma**2 * (sigma**2 + 6 * I * (4 * delta**2 + gradient**2)),
               needs=(_one_round, ("local_cap", 1 - 4 * z)), assumptions=_NONCONVEX,
               proves=("fedau.lemmaB_3_2@sharp",)),
    Derivation("(B.3.5)", functional="weighted_increase", steps=("fedau.B.3.5", "fedau.descent.printed"),
               right_side=_descent(2 * delta, N * error), needs=(_one_round, _local_cap, _global_cap),
               assumptions=_NONCONVEX, readings=_OF_THE_ROUND, proves=("fedau.lemmaB_3_3@main",)),
    Derivation("(B.5.1)", functional="weighted_increase", steps=("fedau.B.5.1", "fedau.descent.printed"),
               right_side=_descent(delta, W), needs=(_one_round, _local_cap, _global_cap), assumptions=_NONCONVEX,
               readings=_OF_THE_ROUND, proves=("fedau.lemmaB_5_1@main",)),
)  # fmt: skip

# Many rounds ----------------------------------------------------------------------------------------------------------

_away = 15 * L**2 * I * gamma**2 * sigma**2
_drift = gamma**2 * L**2 * I * (sigma**2 + 6 * I * delta**2)
_17_16 = sympy.Rational(17, 16)
_descends = sympy.Rational(1, 8) - 15 * z**2 - share * c * L * I * Q / (N * w)

MANY_ROUNDS = (
    Derivation("(B.4.1) to (B.4.4)", functional="average_squared_weighted_gradient",
               steps=("fedau.B.3.5", "fedau.B.4.4"),
               right_side=8 * F / (c * w * I * T) + 20 * gamma**2 * L**2 * I * (sigma**2 + 24 * I * delta**2)
                   + 8 * c * L / (N * w) * (_17_16 * sigma**2 + 4 * share * I * delta**2) * Q,
               needs=(_local_cap, ("global_cap", 1 - 4 * L * I * c * w), ("descent", _descends)),
               assumptions=_NONCONVEX, proves=("fedau.thm1@main",)),
    Derivation("(B.5.1) to (B.5.3)", functional="average_squared_gradient",
               steps=("fedau.B.5.3", "fedau.B.5.3_under_1/15", "fedau.rounds.gap"),
               right_side=8 * F / (c * I * T) + 12 * (_away + share * (delta**2 + G**2)) * W + 20 * _drift
                   + c * L / N * (sympy.Rational(17, 2) * sigma**2 + 27 * I * delta**2) * Q,
               needs=(_local_cap, _global_cap, _scale_cap), assumptions=_BOUNDED, readings=_GIVEN,
               proves=("fedau.thm2@main",)),
    Derivation("(B.5.1) to (B.5.5)", functional="average_squared_gradient",
               steps=("fedau.B.5.5", "fedau.B.5.5_under_1/15", "fedau.rounds.gap"),
               right_side=16 * F / (c * I * T) + 24 * (_away + share * delta**2) * W + 40 * _drift
                   + c * L / N * (17 * sigma**2 + 54 * I * delta**2) * Q,
               needs=(_local_cap, _global_cap, _scale_cap, ("nearly_optimal", sympy.Rational(1, 81) - peak_error)),
               assumptions=_NONCONVEX, readings=_GIVEN, proves=("fedau.thm2.nearly_optimal@main",)),
    Derivation("Theorem 2, repaired", functional="average_squared_gradient",
               steps=("fedau.thm2.corrected", "fedau.rounds.gap"),
               right_side=sympy.Rational(16, 3) * F / (c * I * T) + 8 * (_away + share * (delta**2 + G**2)) * W
                   + sympy.Rational(16, 3) * c * L / N * (_17_16 * sigma**2 + share * I * (delta**2
                   + G**2)) * Q_expected + sympy.Rational(40, 3) * _drift,
               needs=(_local_cap, _global_cap), assumptions=_BOUNDED, readings=_SUMMED,
               proves=("fedau.thm2@corrected",)),
)  # fmt: skip

# Weights --------------------------------------------------------------------------------------------------------------

_tail = (1 - p) ** K
_bias = (1 - p) ** (2 * K)
_mean = 1 / p - _tail / p
_variance = q / p**2 - (2 * K - 1) * _tail / p - _bias / p**2
_STEPS_MEAN, _STEPS_VARIANCE = ("fedau.B.6.3", "fedau.mean"), ("fedau.B.6.6", "fedau.variance")
_late, _two_rounds = ("after_the_cutoff", t - K), ("two_rounds", T - 2)


def _moment(name: str, functional: str, steps: tuple[str, ...], right: sympy.Expr, part: str) -> Derivation:
    return Derivation(
        name, functional=functional, steps=steps, right_side=right, proves=(f"fedau.lemmaB_6_1.{part}@main",)
    )


def _line(letter: str, steps: tuple[str, ...], right: sympy.Expr) -> tuple[Derivation, Derivation]:
    """Return (B.6.8) under either condition, as printed, and without one: from t = K on an interval has always
    ended."""
    name, ref = f"(B.6.8), {letter.replace('_', ', ')}", f"fedau.eqB_6_8.{letter}"
    printed = Derivation(
        name,
        functional="round_weight_error",
        steps=steps,
        right_side=right + _bias,
        needs=(_late,),
        readings=_EITHER,
        proves=(f"{ref}@main",),
    )
    return printed, replace(printed, name=f"{name}, from round K on", readings={}, proves=(f"{ref}@corrected",))


WEIGHTS = (
    _moment("(B.6.3)", "interval_mean", _STEPS_MEAN, _mean, "mean"),
    _moment("(B.6.3), from below", "negated_interval_mean", _STEPS_MEAN, -_mean, "mean_below"),
    _moment("(B.6.4) to (B.6.6)", "interval_variance", _STEPS_VARIANCE, _variance, "variance"),
    _moment("(B.6.4) to (B.6.6), from below", "negated_interval_variance", _STEPS_VARIANCE, -_variance,
            "variance_below"),
    Derivation("(B.6.7), in every round", functional="round_weight_error", steps=("fedau.every_round",),
               right_side=absence, proves=("fedau.eqB_6_7@sharp",)),
    *_line("a", ("fedau.B.6.8_a",), p**2 * weight_spread),
    *_line("b", ("fedau.B.6.8_a", "fedau.B.6.8_b"), p**2 * _variance / intervals),
    *_line("b_next", ("fedau.B.6.8_a", "fedau.B.6.8_b", "fedau.B.6.8_b_next"),
          p**2 * 2 * K * _variance / t),
    Derivation("(B.6.8)", functional="round_weight_error", steps=("fedau.B.6.8",), right_side=2 * K * q / t + _bias,
               readings=_EITHER, proves=("fedau.eqB_6_8.c@main",)),
    Derivation("(B.6.7) to (B.6.9)", functional="average_weight_error", steps=("fedau.thm3",),
               right_side=(3 * K + 2 * K * sympy.log(T)) / T + cutoff_bias, needs=(_two_rounds,),
               proves=("fedau.thm3@appendix",)),
    Derivation("(B.6.7) to (7)", functional="average_weight_error", steps=("fedau.thm3_rate",),
               right_side=(2 + 3 / sympy.log(2)) * K * sympy.log(T) / T + cutoff_bias, needs=(_two_rounds,),
               proves=("fedau.thm3@main",)),
    Derivation("Theorem 3, sharp", functional="average_weight_error", steps=("fedau.sharp.sum",),
               right_side=absence * K * (2 + sympy.log(T / K)) / T + cutoff_bias, needs=(("cutoff_in_time", T - K),),
               proves=("fedau.thm3@sharp",)),
)  # fmt: skip

# The logarithmic cutoff -----------------------------------------------------------------------------------------------


def _corollary() -> tuple[dict[str, sympy.Expr], dict[str, sympy.Expr], dict[str, sympy.Expr], list[sympy.Expr]]:
    """The choices of Lemma B.7.1, of Corollary 4 and of the repaired one; R log^2 T/T and both leading terms. With the
    vocabulary's symbols, as roots are drawn with their signs."""
    L, F, N, I, T, Q, Q_bar, sigma, delta, G, least = symbols(
        "smoothness",
        "initial_gap",
        "clients",
        "local_steps",
        "rounds",
        "weight_scale",
        "expected_weight_scale",
        "gradient_noise",
        "dissimilarity",
        "global_gradient_bound",
        "least_participation_probability",
    )
    R = -1 / (2 * sympy.log(1 - least))
    cutoff = {"cutoff": sympy.ceiling(sympy.log(T) * R)}
    slope, wide = I * delta**2 + sigma**2, I * (delta**2 + G**2) + sigma**2
    local = sympy.Min(1 / (L * I * sympy.sqrt(T)), 1 / (4 * sympy.sqrt(15) * L * I), evaluate=False)

    def choices(scale: sympy.Expr, slopes: sympy.Expr, *caps: sympy.Expr) -> dict[str, sympy.Expr]:
        first = sympy.sqrt(F * N / (scale * slopes * L * I * T))
        step = sympy.Min(first, 1 / (4 * L * I), *caps, evaluate=False)
        return {"local_lr": bare(local), "global_lr": bare(step / local)} | cutoff_bare

    cutoff_bare = {name: bare(choice) for name, choice in cutoff.items()}
    leading = [bare(sympy.sqrt(L * F * s * x / (N * I * T))) for s, x in ((Q, slope), (Q_bar, wide))]
    return (
        cutoff_bare,
        choices(Q, slope, N / (54 * L * I * Q)),
        choices(Q_bar, wide),
        [bare(R * sympy.log(T) ** 2 / T), *leading],
    )


CUTOFF, CHOSEN, CHOSEN_BEFORE, (_rate, _leading, _leading_before) = _corollary()
_lemma = (4 + 7 / sympy.log(2)) * _rate
_chosen_away = 15 * sigma**2 / (I * T) + share * (delta**2 + G**2)

LOGARITHMIC_CUTOFF = (
    Derivation("(B.7.1)", functional="average_weight_error", steps=("fedau.B.7.1",), right_side=_lemma,
               needs=(_two_rounds,), choices=CUTOFF, proves=("fedau.lemmaB_7_1@main",)),
    Derivation("(B.7.1), sharp", functional="average_weight_error",
               steps=("fedau.B.7.1.sharp_many", "fedau.B.7.1.sharp_few", "fedau.B.7.1.sharp_one"),
               right_side=(2 + 5 / sympy.log(2)) * _rate, needs=(_two_rounds,), choices=CUTOFF,
               proves=("fedau.lemmaB_7_1@sharp",)),
    Derivation("(B.7.2)", functional="long_run_bias", steps=("fedau.B.7.2", "fedau.mean"),
               right_side=(sympy.log(T) / sympy.log(2)) ** 2 / T, needs=(_two_rounds,), choices=CUTOFF,
               proves=("fedau.eqB_7_2@main",)),
    Derivation("Corollary 4", functional="average_squared_gradient", steps=("fedau.cor4",),
               right_side=35 * _leading + 12 * _chosen_away * _lemma + 32 * L * F / T + 432 * L * F * Q / (N * T)
                   + 20 * (sigma**2 / I + 6 * delta**2) / T,
               needs=(_two_rounds,), assumptions=_BOUNDED,
               readings=_SUMMED | {readings.SCALE: readings.KNOWN_BEFOREHAND},
               proves=("fedau.cor4@main",), choices=CHOSEN),
    Derivation("Corollary 4, repaired", functional="average_squared_gradient", steps=("fedau.cor4.corrected",),
               right_side=sympy.Rational(70, 3) * _leading_before + 8 * _chosen_away * _lemma
                   + sympy.Rational(64, 3) * L * F / T + sympy.Rational(40, 3) * (sigma**2 / I + 6 * delta**2) / T,
               needs=(_two_rounds,), assumptions=_BOUNDED, readings=_SUMMED, proves=("fedau.cor4@corrected",),
               choices=CHOSEN_BEFORE),
)  # fmt: skip

VALUES = (
    Derivation("the interval of nearly optimal weights", functional="squared_weight_error", steps=("fedau.asm5",),
               right_side=sympy.Rational(1, 81),
               needs=(("from_below", omega - 8 / (9 * p)), ("from_above", 10 / (9 * p) - omega)),
               readings={readings.FRACTIONS: readings.BELOW_THE_LINE}, proves=("fedau.asm5.interval@main",),
               left_side=(p * omega - 1) ** 2),
    Derivation("Q for known probabilities", functional="known_scale",
               steps=("fedau.known_scale", "fedau.equiprobable"), proves=("fedau.appA_3.scale@main",)),
    Derivation("the weight error for known probabilities", functional="known_error", steps=("fedau.known_error",),
               proves=("fedau.appA_3.error@main",)),
    Derivation("(B.6.7)", functional="initial_weight_error", steps=("fedau.B.6.7",), proves=("fedau.eqB_6_7@main",)),
)  # fmt: skip

DERIVATIONS = (*ROUNDS, *MANY_ROUNDS, *WEIGHTS, *LOGARITHMIC_CUTOFF, *VALUES)
