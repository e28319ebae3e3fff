"""What FLICS's steps show, before any claim is looked at; a claim is tried on every derivation of its functional."""

from __future__ import annotations

import sympy

from ....proof.derivations import Derivation
from .eq7 import ABOVE, BELOW, VARIANCE, failure, hat, n, p, r, s, t
from .eq7 import epsilon as relative_error
from .tables import (
    G,
    K,
    L,
    M,
    P,
    T,
    c,
    delta,
    drift,
    epsilon,
    eta,
    eta_L,
    gap,
    gradient,
    inflation,
    proxy,
    pseudogradient,
    r_min,
    s_min,
    sigma,
    sigma_G,
    spread,
    worst,
    z,
)  # fmt: skip

length, mean_update, state_update = sympy.symbols("mean_update_length squared_mean_update squared_state_update")
mean_vector, vectors, covariance = sympy.symbols("squared_mean_vector mean_squared_vector vector_covariance")
price_drift, rate_spread = sympy.symbols("price_drift rate_spread")

_noise = ("gradient_noise",)
_bounded = ("gradient_noise", "local_gradient_bound")
_smooth = ("smoothness", *_bounded)
_UNDIVIDED = {"line 14": "not divided"}
_PLANNED = _UNDIVIDED | {"counts": "planned", "start": ("forgotten", "counted")}
_LEAST = _PLANNED | {"minimum": "t = 0..T-1"}
_estimates = (("estimates", epsilon - worst), ("least_participation", s_min - r_min))
_local_cap = ("local_cap", 1 - 8 * z)
_floors = sigma**2 + 6 * K * sigma_G**2

# Printed steps, which break ----------------------------------------------------------------------------------------

_STEPS_4 = ("flics.4.24", "flics.4.25", "flics.4.groups", "flics.4.number", "flics.4.density", "flics.4.ratio",
            "flics.4.equality")  # fmt: skip
_STEPS_1 = (
    "flics.descent", "flics.1.added", "flics.1.lemmas", "flics.1.bound", "flics.1.sign", "flics.1.bracket",
    "flics.1.constant", "flics.1.second", "flics.1.telescope", "flics.1.rounds", "flics.1.sorted", "flics.1.over_T",
    "flics.1.first",
)  # fmt: skip
_right_1 = (
    gap / (c * eta * eta_L * K * T) + L * eta * eta_L * inflation * sigma**2 * P / (2 * c)
    + 5 * L**2 * eta_L**2 * K * M * P / (2 * c) * _floors
    + L * eta * eta_L / (2 * K * c * inflation) * (sigma**2 + G**2) * spread
)  # fmt: skip
_needs_1 = (
    *_estimates, ("step_cap", 1 - K * L * eta * eta_L), _local_cap,
    ("constant_cap", sympy.Rational(1, 2) - 15 * z**2 * M * P - c),
)  # fmt: skip
_in_theorem_1 = (*_smooth, "dissimilarity")

PRINTED = (
    Derivation("(24) to (23), as printed", "aggregate_error", (*_STEPS_4, "flics.4.factor"),
               sympy.Integer(0), _estimates, _noise, _UNDIVIDED | {"factor": "epsilon^"},
               proves=("flics.lemma4@main",), algorithm="flics"),
    Derivation("(26), as printed", "scaled_inner_product",
               ("flics.5.definition", "flics.5.lemma4", "flics.5.statement", "flics.5.fifteen"),
               inflation * eta_L * K / 2 * (1 + 30 * z**2 * M * P) * gradient**2
               + 5 * inflation * eta_L**3 * L**2 * K**2 * M * P / 2 * _floors
               - inflation * eta_L / (2 * K) * pseudogradient,
               (*_estimates, _local_cap), ("smoothness", "gradient_noise", "dissimilarity"), _UNDIVIDED,
               proves=("flics.lemma5@main",), algorithm="flics"),
    Derivation("Lemma 6, as printed", "squared_selected_vector",
               ("flics.6.square", "flics.6.moments", "flics.6.products", "flics.6.sum"),
               inflation**2 * mean_vector + covariance, _estimates, proves=("flics.lemma6@main",), algorithm="flics"),
    Derivation("(28), as printed", "squared_aggregate",
               ("flics.7.groups", "flics.7.split", "flics.7.lemma6", "flics.7.one_step", "flics.7.signs",
                "flics.7.noise", "flics.7.last"),
               inflation**2 * eta_L**2 * K * sigma**2 * P + eta_L**2 * inflation**2 * pseudogradient
               + eta_L**2 * (sigma**2 + G**2) * spread,
               _estimates, _bounded, _UNDIVIDED | {"local gradients": "k = 0..K-1"}, proves=("flics.lemma7@main",),
               algorithm="flics"),
    Derivation("(9) to Theorem 1, as printed", "least_squared_gradient", _STEPS_1, _right_1, _needs_1,
               _in_theorem_1, _LEAST, proves=("flics.thm1@main", "flics.thm1@appendix"), algorithm="flics"),
    Derivation("(9) to Corollary 1.1, as printed", "least_squared_gradient", (*_STEPS_1, "flics.1.rate"),
               _right_1, _needs_1, _in_theorem_1, _LEAST, proves=("flics.cor1_1@main",), algorithm="flics"),
    Derivation("Hoeffding's step, as printed", "ratio_failure",
               ("flics.hoeffding.absolute", "flics.hoeffding.constant"), failure, proves=("flics.eq7.e@main",),
               algorithm="flics"),
    Derivation("(11) to (22), as printed", "policy_limit",
               ("flics.2.12_lower", "flics.2.14_no_solution", "flics.2.end"), sympy.Integer(0),
               (("least_participation", s_min - r_min),), (), {"sigma_T": "the policy's objective"},
               proves=("flics.thm2@main",), algorithm="flics"),
)  # fmt: skip

# What holds --------------------------------------------------------------------------------------------------------

_theorem = ("flics.thm1.round", "flics.thm1.sum")

REPAIRED = (
    Derivation("Lemma 4, repaired", "aggregate_bias",
               ("flics.lemma4.mean", "flics.lemma4.ratio", "flics.lemma4.group", "flics.lemma4.triangle"),
               epsilon / (r_min - epsilon) * length, (*_estimates, ("small_error", r_min - epsilon)), _noise,
               _UNDIVIDED, proves=("flics.lemma4@corrected",), algorithm="flics"),
    Derivation("Lemma 5, repaired", "inner_product", ("flics.lemma5",),
               eta_L * K / 2 * gradient**2 + eta_L * K * (drift + delta**2 * G**2) - mean_update / (2 * eta_L * K),
               (), _smooth, _UNDIVIDED, proves=("flics.lemma5@corrected",), algorithm="flics"),
    Derivation("Lemma 6, repaired", "squared_selected_vector", ("flics.lemma6",),
               (1 + delta) * mean_vector + (1 + delta) * delta * vectors + covariance, (), (), {},
               proves=("flics.lemma6@corrected",), algorithm="flics"),
    Derivation("Lemma 7, repaired", "squared_aggregate", ("flics.lemma7",),
               state_update + eta_L**2 * K**2 * G**2 * proxy, (), _bounded, _UNDIVIDED,
               proves=("flics.lemma7@corrected",), algorithm="flics"),
    Derivation("Theorem 1 of FLICS, repaired", "mean_squared_gradient", _theorem,
               2 * gap / (eta * eta_L * K * T) + 2 * drift + 2 * delta**2 * G**2 + L * eta * eta_L * K * G**2 * proxy,
               (("step_cap", 1 - K * L * eta * eta_L),), _smooth, _PLANNED,
               proves=("flics.thm1@corrected", "flics.cor1_1@corrected"), algorithm="flics"),
    Derivation("Theorem 1 of FLICS, repaired for random availability", "mean_squared_gradient", ("flics.random.sum",),
               2 * gap / (eta * eta_L * K * T) + 2 * drift + 2 * delta**2 * G**2
               + L * eta * eta_L * K * G**2 * (proxy + rate_spread), (), _smooth, _PLANNED,
               proves=("flics.thm1@intermittent", "flics.cor1_1@intermittent"), algorithm="flics"),
    Derivation("Hoeffding's step, repaired", "ratio_failure", ("flics.hoeffding.both",),
               2 * sympy.exp(-2 * n * t * relative_error**2 * r**2 / (1 + relative_error) ** 2),
               proves=("flics.eq7.e@corrected",), algorithm="flics"),
    Derivation("weak duality along a trace", "policy_gap", ("flics.2.spread",), price_drift, (), (), {},
               proves=("flics.thm2@corrected",), algorithm="flics"),
)  # fmt: skip

_counts = (("participation_of_n", n - s), ("estimate_of_n", n - hat))
_ratios = (("ratio_above", ABOVE), ("ratio_below", BELOW))

VALUES = (
    Derivation("(7), at most", "group_variance", ("flics.eq7.identity",), None, proves=("flics.eq7.a@main",),
               algorithm="flics"),
    Derivation("(7), at least", "negated_group_variance", ("flics.eq7.identity",), None, proves=("flics.eq7.b@main",),
               algorithm="flics"),
    Derivation("the band of (7), at least", "negated_variance", ("flics.eq7.lower",),
               -(1 - relative_error) * p**2 / hat + p**2 / n, (*_ratios, *_counts), proves=("flics.eq7.c@main",),
               algorithm="flics", left_side=-VARIANCE),
    Derivation("the band of (7), at most", "variance", ("flics.eq7.upper",),
               (1 + relative_error) * p**2 / hat - p**2 / n, (*_ratios, *_counts), proves=("flics.eq7.d@main",),
               algorithm="flics", left_side=VARIANCE),
)  # fmt: skip

DERIVATIONS = (*PRINTED, *REPAIRED, *VALUES)
