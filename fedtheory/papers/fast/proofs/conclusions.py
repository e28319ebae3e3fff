"""Conclusions of FAST's steps, before any claim is looked at; a claim is tried on every derivation of its
functional."""

from __future__ import annotations

import sympy

from ....claims import readings
from ....proof.derivations import Derivation
from . import thm1_thm2
from ..displays.symbols import (
    CONDITION, CONVEX_STEP, DRIFT_CAP, LEAST, MEAN, RIGHT_SIDE, K, L, R, arbitrary, cohort, d, decrease, epsilon,
    eta, full, gradient, h, least_G2, m, mu, n, p, q, sigma, sigma_G, z, zeta,
)  # fmt: skip

_NONCONVEX = ("smoothness", "gradient_noise", "dissimilarity")
_CONVEX = (*_NONCONVEX, "strong_convexity")
_DISTINCT = {readings.UNIFORM_COHORT: readings.WITHOUT_REPLACEMENT}
_MIXED = {**_DISTINCT, readings.SNAPSHOTS: readings.PROBABILITY}
_AVERAGED = {**_MIXED, readings.AVERAGE: readings.FROM_ROUND_0}
_PRINTED_THEOREM_1 = {
    **_AVERAGED,
    readings.LOCAL_GRADIENTS: readings.FROM_STEP_0,
    readings.Q_CONDITION: readings.PRODUCT,
}

_one_round = ("one_round", 1 - R)
_snapshot = ("snapshot_round", q - 1)
_arbitrary = ("arbitrary_round", -q)
_twentieth_m, _twentieth_n = ("cap_m", 1 - 20 * m * z), ("cap_n", 1 - 20 * n * z)
_factor = ("factor", 1 - mu * K * eta)
_quarter = sympy.Rational(1, 4)
_drift = 5 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 30 * z**2 * d**2

_STEPS_13 = ("a2.7*", "a2.11_under_its_own_cap", "a2.12", "a2.13*")
_STEPS_23 = (
    "a2.17*", "a2.18*", "a2.20", "a2.21", "a2.22_under_its_own_cap", "a2.22_under_the_cap_1/8", "a2.23*",
)  # fmt: skip
_STEPS_28 = ("a3.26", "a3.27_cap_of_the_drift_lemma", "a3.28")
_STEPS_30 = (*_STEPS_28, "a3.29*", "a3.30_plugging*", "a3.30_distance", "a3.30_dissimilarity", "a3.30_noise")
_STEPS_35 = ("a3.31", "a3.33*", "a3.35*")
_STEPS_38 = (*_STEPS_35, "a3.37", "a3.38_distance", "a3.38_dissimilarity", "a3.38_noise")

# One round ------------------------------------------------------------------------------------------------------------

_progress = 3 * mu * K / 4 * d**2 - L * K * _drift
_arbitrary_progress = (
    2 * eta * _progress - K * eta / (2 * epsilon) * sigma_G**2 - 2 * K * eta * epsilon * d**2
)  # fmt: skip


def _movement(size: sympy.Symbol) -> sympy.Expr:
    return eta**2 * (2 * L**2 * K**2 * _drift + 4 * L**2 * K**2 * d**2 + 4 * K**2 * sigma_G**2 + K * sigma**2 / size)


_fall_13 = (
    decrease - eta / (2 * K) * full + 15 * L**2 * K**3 * eta**3 * sigma_G**2
    + (L * K * eta**2 / m + sympy.Rational(5, 2) * L**2 * K**2 * eta**3) * sigma**2 + L * eta**2 * cohort
)  # fmt: skip
_fall_23 = (
    decrease - (eta / (2 * K) - L * eta**2) * arbitrary + (K * eta + 12 * L**2 * K**3 * eta**3) * sigma_G**2
    + (L * K * eta**2 / n + 2 * L**2 * K**2 * eta**3) * sigma**2
)  # fmt: skip

ROUNDS = (
    Derivation("(5) to (13)", functional="squared_gradient", steps=_STEPS_13, right_side=4 / (K * eta) * _fall_13,
               needs=(_one_round, _snapshot, DRIFT_CAP, ("left_side", sympy.Rational(1, 2) - 15 * z**2 - _quarter)),
               assumptions=_NONCONVEX, readings=_DISTINCT, proves=("fast.eq13@main",)),
    Derivation("(14) to (23)", functional="squared_gradient", steps=_STEPS_23, right_side=4 / (K * eta) * _fall_23,
               needs=(_one_round, _arbitrary, DRIFT_CAP, ("left_side", sympy.Rational(1, 2) - 12 * z**2 - _quarter)),
               assumptions=_NONCONVEX,
               readings={readings.ROOT: (readings.ROOT_OF_30_L_K, readings.ROOT_OF_30)}, proves=("fast.eq23@main",)),
    Derivation("(29)", functional="squared_movement", steps=("a3.29*",), right_side=_movement(m),
               needs=(_one_round, _snapshot, DRIFT_CAP, CONVEX_STEP), assumptions=_CONVEX, readings=_DISTINCT,
               proves=("fast.eq29@main",)),
    Derivation("(26) to (30)", functional="final_squared_distance", steps=_STEPS_30,
               right_side=d**2 - 2 * eta * _progress + _movement(m),
               needs=(_one_round, _snapshot, DRIFT_CAP, CONVEX_STEP), assumptions=_CONVEX, readings=_DISTINCT,
               proves=("fast.eq30@main",)),
    Derivation("(31) to (35)", functional="negated_arbitrary_progress", steps=_STEPS_35,
               right_side=-_arbitrary_progress, needs=(_one_round, _arbitrary, DRIFT_CAP), assumptions=_CONVEX,
               proves=("fast.eq35@main",)),
    Derivation("(31) to (38)", functional="final_squared_distance", steps=_STEPS_38,
               right_side=d**2 - _arbitrary_progress + _movement(n),
               needs=(_one_round, _arbitrary, DRIFT_CAP, CONVEX_STEP), assumptions=_CONVEX, proves=("fast.eq38@main",)),
)  # fmt: skip

# Many rounds, strongly convex -----------------------------------------------------------------------------------------


_young = sigma_G**2 / (K * eta)
_covered = mu * K * eta / 2 - 2 * p * K * eta * _young - 8 * z**2
"""Part of mu K eta/2 that is left in (39), with the Young parameter of the main text."""
_added = (p * K * eta / (2 * _young) + 8 * K**2 * eta**2) * sigma_G**2 + 2 * h * K * eta**2 * sigma**2
_STEPS_39 = (
    *_STEPS_30, *_STEPS_38, "a3.39_kinds", "a3.39_noise_with_4", "a3.39_noise_from_4_to_2", "a3.39_contraction_main",
    "a3.39_floor_main", "a3.38_without_young",
)  # fmt: skip
_PRINTED_40 = ("a3.40_factor_nonnegative", "a3.40_floors*", "a3.40_geometric_sum", "a3.40_exponential")

STRONGLY_CONVEX = (
    Derivation("(26) to (39)", functional="final_squared_distance", steps=_STEPS_39,
               right_side=(1 - mu * K * eta) * d**2 + _added,
               needs=(_one_round, _twentieth_m, _twentieth_n, ("contraction", _covered)), assumptions=_CONVEX,
               readings=_DISTINCT, proves=("fast.eq39@main",)),
    Derivation("(26) to (40)", functional="final_squared_distance", steps=(*_STEPS_39, *_PRINTED_40),
               right_side=sympy.exp(-mu * K * R * eta) * d**2 + _added / (mu * K * eta),
               needs=(_twentieth_m, _twentieth_n, ("contraction", _covered), _factor), assumptions=_CONVEX,
               readings=_MIXED, proves=("fast.thm2@main", "fast.cor3@main")),
)  # fmt: skip

# Many rounds, non-convex ----------------------------------------------------------------------------------------------

_telescoped = zeta / (K * R * eta)

NONCONVEX = (
    Derivation("(5) to (24)", functional="average_squared_gradient",
               steps=(*_STEPS_13, *_STEPS_23, "a2.22_under_both_caps*", "a2.24_shares", "a2.24_coefficient*",
                   "a2.24_telescope", "a2.24_q*", "a2.24_squares*", "a2.24_noise_term_dropped"),
               right_side=4 * _telescoped + 4 * h * L * eta * sigma**2 + (120 * p + 60 * q) * z**2 * sigma_G**2,
               needs=(("cap_8", 1 - 8 * z), ("noise_cap", h - 5 * z)), assumptions=_NONCONVEX,
               readings=_PRINTED_THEOREM_1,
               proves=("fast.thm1@main", "fast.thm1@appendix", "fast.cor1@main", "fast.cor1@appendix",
                   "fast.cor2@main")),
    Derivation("Theorem 1, with minima", functional="average_squared_gradient", steps=("thm1.minima.mean",),
               right_side=4 * _telescoped + RIGHT_SIDE,
               needs=(("cap_8", 1 - 8 * z), ("noise_cap", h - 5 * z), ("q_condition", CONDITION)),
               assumptions=_NONCONVEX,
               readings={**_DISTINCT, readings.SNAPSHOTS: readings.PERIOD, readings.AVERAGE: readings.FROM_ROUND_0,
                         readings.LOCAL_GRADIENTS: readings.FROM_STEP_0,
                         readings.KINDS_OF_ROUNDS: readings.EXACT_SHARES},
               lacks="the least of a quantity over the rounds of a kind, in a bound on the run",
               proves=("fast.thm1@minima",)),
)  # fmt: skip

_SQUARES = "numbers that are >= 0 as a square is, not by the signs of their coefficients"

VALUES = (
    Derivation("a floor, from the condition on every round", functional="floor_of_snapshots",
               steps=("thm1.minima.floor",), left_side=LEAST, right_side=MEAN,
               needs=(("q_condition", CONDITION.subs(least_G2, (gradient + sigma_G) ** 2)), ("one_step", 1 - K),
                      ("cap_8", 1 - 8 * z)),
               lacks=_SQUARES, proves=("fast.thm1@floor",)),
    Derivation("what the appendix's condition leaves", functional="arbitrary_probability", steps=("a3.25_forces_q",),
               left_side=p, right_side=mu**2 / (256 * L**2),
               needs=(("q_condition", q - 1 + (mu * K * eta - 16 * z**2) / 4),), lacks=_SQUARES,
               proves=("fast.thm2@room",)),
    Derivation("the condition at sigma_G = 0", functional="least_snapshot_probability_identical",
               steps=("rem2.rewritten",), readings={readings.Q_CONDITION: readings.PRODUCT},
               proves=("fast.rem2.a@main",)),
    Derivation("the quotient of leading coefficients", functional="distance_of_the_limit_from_one",
               steps=("rem2.rewritten", "rem2.limit"),
               readings={readings.Q_CONDITION: (readings.QUOTIENT, readings.PRODUCT), readings.SUMS: readings.HELD},
               lacks="limits", proves=("fast.rem2.b@main",)),
)  # fmt: skip

DERIVATIONS = (*ROUNDS, *STRONGLY_CONVEX, *NONCONVEX, *thm1_thm2.DERIVATIONS, *VALUES)
