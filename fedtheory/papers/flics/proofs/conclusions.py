"""Conclusions of FLICS's steps, before any claim is looked at; a claim is tried on every derivation of its
functional."""

from __future__ import annotations

import sympy

from ....claims import readings
from ....proof.derivations import Derivation
from ..displays.symbols import (
    G, K, L, M, P, T, c, epsilon, eta, eta_L, gap, gradient, inflation, pseudogradient, r_min,
    s_min, sigma, sigma_G, spread, worst, z,
)  # fmt: skip

mean_vector, covariance, price_drift = sympy.symbols("squared_mean_vector vector_covariance price_drift")

_noise = ("gradient_noise",)
_bounded = ("gradient_noise", "local_gradient_bound")
_smooth = ("smoothness", *_bounded)
_UNDIVIDED = {readings.LINE_14: readings.NOT_DIVIDED}
_PLANNED = _UNDIVIDED | {readings.COUNTS: readings.PLANNED, readings.START: (readings.FORGOTTEN, readings.COUNTED)}
_EITHER_MATRIX = {readings.SIGMA: (readings.COVARIANCE, readings.CORRELATION)}
_COVARIANCE = {readings.SIGMA: readings.COVARIANCE}
_LEAST = _PLANNED | _COVARIANCE | {readings.MINIMUM: readings.FROM_T_0}
_RATE = _LEAST | {readings.CONSTANTS: (readings.UNIFORM, readings.OF_THE_PROBLEM)}
_estimates = (("estimates", epsilon - worst), ("least_participation", s_min - r_min))
_local_cap = ("local_cap", 1 - 8 * z)
_floors = sigma**2 + 6 * K * sigma_G**2

# Printed steps, which break ----------------------------------------------------------------------------------------

_STEPS_4 = ("flics.4.24", "flics.4.groups", "flics.4.number", "flics.4.density", "flics.4.ratio",
            "flics.4.equality")  # fmt: skip
_STEPS_1 = (
    "flics.1.lemmas", "flics.1.sign", "flics.1.constant", "flics.1.second", "flics.1.rounds", "flics.1.sorted",
    "flics.1.over_T", "flics.1.first",
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
    Derivation("(24) to (23), as printed", functional="aggregate_error", steps=(*_STEPS_4, "flics.4.factor"),
               right_side=sympy.Integer(0), needs=_estimates, assumptions=_noise,
               readings=_UNDIVIDED | {readings.FACTOR: readings.EPSILON}, proves=("flics.lemma4@main",)),
    Derivation("(26), as printed", functional="scaled_inner_product",
               steps=("flics.5.definition", "flics.5.lemma4", "flics.5.statement", "flics.5.fifteen"),
               right_side=inflation * eta_L * K / 2 * (1 + 30 * z**2 * M * P) * gradient**2
                   + 5 * inflation * eta_L**3 * L**2 * K**2 * M * P / 2 * _floors
                   - inflation * eta_L / (2 * K) * pseudogradient,
               needs=(*_estimates, _local_cap), assumptions=("smoothness", "gradient_noise", "dissimilarity"),
               readings=_UNDIVIDED, proves=("flics.lemma5@main",)),
    Derivation("Lemma 6, as printed", functional="squared_selected_vector",
               steps=("flics.6.square", "flics.6.moments", "flics.6.products", "flics.6.sum"),
               right_side=inflation**2 * mean_vector + covariance, needs=_estimates, proves=("flics.lemma6@main",)),
    Derivation("(28), as printed", functional="squared_aggregate",
               steps=("flics.7.groups", "flics.7.split", "flics.7.lemma6", "flics.7.one_step", "flics.7.signs",
                   "flics.7.noise", "flics.7.last"),
               right_side=inflation**2 * eta_L**2 * K * sigma**2 * P + eta_L**2 * inflation**2 * pseudogradient
                   + eta_L**2 * (sigma**2 + G**2) * spread,
               needs=_estimates, assumptions=_bounded,
               readings=_UNDIVIDED | _COVARIANCE | {readings.LOCAL_GRADIENTS: readings.FROM_STEP_0},
               proves=("flics.lemma7@main",)),
    Derivation("(9) to Theorem 1, as printed", functional="least_squared_gradient", steps=_STEPS_1,
               right_side=_right_1, needs=_needs_1, assumptions=_in_theorem_1, readings=_LEAST,
               proves=("flics.thm1@main", "flics.thm1@appendix")),
    Derivation("(9) to Corollary 1.1, as printed", functional="least_squared_gradient",
               steps=(*_STEPS_1, "flics.1.rate"), right_side=_right_1, needs=_needs_1, assumptions=_in_theorem_1,
               readings=_RATE, proves=("flics.cor1_1@main",)),
)  # fmt: skip

# What holds --------------------------------------------------------------------------------------------------------

_ALONG_A_TRACE = "selections along a trace: prices of a convex program in every round, and limits"

REPAIRED = (
    Derivation("(11) to (22)", functional="policy_limit",
               steps=("flics.2.12_lower", "flics.2.14_no_solution", "flics.2.end"), right_side=sympy.Integer(0),
               needs=(("least_participation", s_min - r_min),),
               readings=_EITHER_MATRIX | {readings.SIGMA_T: readings.OF_THE_POLICY},
               lacks=_ALONG_A_TRACE, proves=("flics.thm2@main",)),
    Derivation("weak duality along a trace", functional="policy_gap", steps=("flics.2.spread",),
               right_side=price_drift, lacks=_ALONG_A_TRACE, proves=("flics.thm2@corrected",)),
)  # fmt: skip

DERIVATIONS = (*PRINTED, *REPAIRED)
