"""What SAFARI's steps show, before any claim is looked at; a claim is tried on every derivation of its functional."""

from __future__ import annotations

import sympy

from ....proof.derivations import Derivation
from .repaired5 import FLOOR, PROGRESS
from .tables import (
    G1,
    G2,
    K,
    L,
    R,
    bias,
    client_cost,
    d,
    decrease,
    drift,
    eta,
    eta_s,
    excess,
    gradient,
    least_G1,
    least_G2,
    least_ratio,
    m,
    mu,
    noise,
    pseudogradient,
    q,
    rate,
    server,
    sigma,
    sigma_s,
    tied_rate,
    w,
    z,
    zeta,
)  # fmt: skip

_SERVER = ("smoothness", "server_noise")
_CLIENTS = ("smoothness", "gradient_noise", "dissimilarity")
_NONCONVEX = (*_CLIENTS, "server_noise")
_CONVEX = (*_NONCONVEX, "strong_convexity")
_EITHER = ("exact shares", "probability")
_SUMMED = {"average": "r = 0..R-1", "kinds of rounds": _EITHER}
_RANDOM = {"kinds of rounds": "probability"}
_MEANT_ROOT = {"root": "root of 30"}

_one_round, _server_round, _client_round = ("one_round", 1 - R), ("server_round", -q), ("client_round", q - 1)
_tie_4 = ("tie", -((K * eta - 2 * eta_s) ** 2))
_tie_5 = ("tie", -((4 * L * eta_s - (L + mu) * K * eta) ** 2))
_cap_21 = ("cap_21", 1 - 21 * z)
_eight = ("cap_8", 8 - z)

# Theorem 4 --------------------------------------------------------------------------------------------------------

_STEPS_28 = ("s4.25", "s4.26", "s4.27", "s4.28")
_STEPS_50 = (
    "s4.29", "s4.30", "s4.32", "s4.34", "s4.38", "s4.39", "s4.40", "s4.41", "s4.36", "s4.43", "s4.44", "s4.46",
    "s4.46_root_of_30LK", "s4.48", "s4.50",
)  # fmt: skip
_STEPS_52 = (*_STEPS_28, *_STEPS_50, "s4.51_shares", "s4.51_telescope", "s4.52")
_drift_50 = 80 * L**2 * eta_s**2 / K * (noise + 6 * K * bias)
_noise_50 = 8 * w / (m * K) * noise


def _right_53(server_noise: sympy.Expr) -> sympy.Expr:
    return 2 * zeta / (R * eta_s) + (1 - q) * w * server_noise + q * (_drift_50 + _noise_50)


def _condition(g1: sympy.Expr, g2: sympy.Expr, step: sympy.Expr | int) -> tuple[str, sympy.Expr]:
    """The condition on q before dividing, with 2 L step/K^2."""
    covered = (1 - w) * g1
    return "q_condition", covered - q * (4 * bias - 4 * g2 * (1 / (2 * K**2) - 2 * L * step / K**2) + covered)


_mean_step = (1 - q) * eta_s + q * K * eta
_progress_4 = _mean_step - (1 - q) * L * eta_s**2 - 19 * q * L * K**2 * eta**2

NONCONVEX = (
    Derivation("(25) to (28)", "squared_gradient", _STEPS_28,
               2 / eta_s * decrease + (w - 1) * gradient**2 + w * server, (_one_round, _server_round), _SERVER,
               proves=("safari.eq28@main",), algorithm="safari"),
    Derivation("(29) to (50)", "squared_gradient", (*_STEPS_50, "s4.50_tied"),
               2 / eta_s * decrease + 4 * bias + (8 * w / K**2 - 2 / K**2) * pseudogradient + _drift_50 + _noise_50,
               (_one_round, _client_round, _tie_4, ("cap_8", 1 - 8 * z)), _CLIENTS, _MEANT_ROOT,
               ("safari.eq50@main",), algorithm="safari"),
    Derivation("(25) to (55), with minima", "average_squared_gradient",
               (*_STEPS_52, "s4.53", "s4.55_squared_step", "s4.54_minima"),
               _right_53(noise),
               (_tie_4, _cap_21, _condition(least_G1, least_G2, 0), ("one_noise", sigma - sigma_s)),
               _NONCONVEX,
               _SUMMED | _MEANT_ROOT | {"local gradients": "k = 0..K-1",
                                        "q-condition": ("product", "product with 2 L eta_s", "quotient",
                                                        "quotient with 2 L eta_s")},
               ("safari.thm4@submission", "safari.cor1.c@submission"), algorithm="safari"),
    Derivation("(25) to (55)", "average_squared_gradient",
               (*_STEPS_52, "s4.53", "s4.54_squares_replaced_by_their_maximum", "s4.55_quotient",
                "s4.55_squared_step"),
               _right_53(server), (_tie_4, _cap_21, _condition(G1, G2, eta_s)), _NONCONVEX,
               _SUMMED | _MEANT_ROOT | {"local gradients": "k = 0..K-1", "q-condition": "product with 2 L eta_s"},
               ("safari.thm4@main", "safari.thm4@appendix", "safari.cor1.a@main", "safari.cor1.b@main",
                "safari.cor1.c@main"), algorithm="safari"),
    Derivation("Theorem 4, repaired", "average_squared_gradient", (*_STEPS_52, "thm4.corrected"),
               _right_53(server) + 4 * q * bias, (_tie_4, _cap_21), _NONCONVEX, _SUMMED, ("safari.thm4@corrected",),
               algorithm="safari"),
    Derivation("Theorem 4, sharp", "average_squared_gradient",
               ("thm4.sharp.round", "thm4.sharp.progress", "s4.51_telescope"),
               (2 * zeta / R + (q * K * eta) ** 2 / _mean_step * bias + 20 * q * L * K**2 * eta**2 * bias
                + (1 - q) * L * eta_s**2 * server
                + (2 / m + sympy.Rational(21, 10)) * q * L * K * eta**2 * noise) / _progress_4,
               (("cap_42", 1 - 42 * z), ("server_cap", 1 - 2 * w)), _NONCONVEX,
               {"average": "r = 0..R-1", **_RANDOM}, ("safari.thm4@sharp",), algorithm="safari"),
)  # fmt: skip

# Theorem 5 --------------------------------------------------------------------------------------------------------

_STEPS_58 = ("s5.57", "s5.58")
_STEPS_65 = ("s5.60", "s5.61_step", "s5.61_three_steps", "s5.61", "s5.63_lemma_2", "s5.65")
_STEPS_77 = (
    *_STEPS_65, "s5.67", "s5.68", "s5.69", "s5.70", "s5.73", "s5.75_cap", "s5.75", "s5.77", "s5.client_round",
)  # fmt: skip
_STEPS_83 = (
    *_STEPS_58, *_STEPS_77, "s5.78_kinds", "s5.80", "s5.81", "s5.81_server", "s5.82", "s5.81_with_a_fourth", "s5.83",
)  # fmt: skip
_RECURSION = ("s5.84_factor", "s5.84_sum_of_delta", "s5.84_geometric_sum", "s5.85_floors")
_drift_77 = 2 * eta * K * L * (1 + K * eta * L) * 5 * K * eta**2 * (noise + 6 * K * bias)
_constant = (
    4 * q * eta**2 * K**2 * bias + q * K * eta**2 / m * noise + q * _drift_77 + (1 - q) * eta_s**2 * server
)  # fmt: skip
_server_part = (1 - q) * (L + mu) / (2 * L * mu) * ((L + mu) * tied_rate / (2 * L * mu) - 2 / (L + mu))
_bracket = 4 * q * tied_rate / mu**2 * client_cost + _server_part
_gain = 1 / (L * mu) - (L + mu) ** 2 * tied_rate / (4 * L**2 * mu**2)
_cost = 4 * tied_rate / mu**2 * client_cost
_many = (1 - rate) ** R * d**2 + _constant / rate
_decay = ("factor", 1 - rate)

CONVEX = (
    Derivation("(56) to (58)", "final_squared_distance", _STEPS_58,
               (1 - tied_rate) * d**2 + eta_s * (eta_s - 2 / (L + mu)) * gradient**2 + eta_s**2 * server,
               (_one_round, _server_round), (*_SERVER, "strong_convexity"), proves=("safari.eq58@main",),
               algorithm="safari"),
    Derivation("(59) to (65)", "final_squared_distance", (*_STEPS_65, "s5.65_every_step"),
               (1 - rate) * d**2 + eta**2 * pseudogradient + K * eta**2 / m * noise - 2 * eta * K * excess
               + 2 * eta * L * drift,
               (_one_round, _client_round, ("tied_cap", 8 * L - (L + mu) ** 2 * K * eta)),
               ("smoothness", "gradient_noise", "strong_convexity"), proves=("safari.eq65@main",), algorithm="safari"),
    Derivation("(59) to (77)", "final_squared_distance", (*_STEPS_77, "s5.77_from_a_fourth"),
               (1 - rate) * d**2 + eta**2 * K**2 * (1 + 15 * z * (1 + z)) * gradient**2
               + eta**2 * K**2 * (4 + 60 * z * (1 + z)) * bias + eta**2 * K * (1 / m + 10 * z * (1 + z)) * noise
               - 2 * eta * K * excess,
               (_one_round, _client_round, _eight), (*_CLIENTS, "strong_convexity"), proves=("safari.eq77@main",),
               algorithm="safari"),
    Derivation("(56) to (83)", "final_squared_distance", _STEPS_83, (1 - rate) * d**2 + _constant,
               (_one_round, _tie_5, _eight, ("q_condition", 4 * q / mu * excess - _bracket * gradient**2)), _CONVEX,
               proves=("safari.eq83@main",), algorithm="safari"),
    Derivation("(56) to (85)", "final_squared_distance",
               (*_STEPS_83, "s5.83_gain_corrected", "s5.83_every_round", *_RECURSION), _many,
               (_tie_5, _eight, _decay, ("q_condition", _gain - q * (_gain + _cost - 4 / mu * least_ratio))), _CONVEX,
               _RANDOM, ("safari.thm5@derived",), algorithm="safari"),
    Derivation("(56) to (85), as printed", "final_squared_distance",
               (*_STEPS_83, "s5.83_gain", "s5.83_every_round", *_RECURSION), _many,
               (_tie_5, _eight, _decay, ("q_condition", _gain - q * (_gain + _cost - 4 / mu * least_ratio))), _CONVEX,
               {**_RANDOM, "q-condition": "product"},
               ("safari.thm5@main", "safari.thm5@appendix", "safari.cor2@main"), algorithm="safari"),
    Derivation("Theorem 5, repaired", "final_squared_distance",
               (*_STEPS_58, "thm5.corrected.clients", "thm5.corrected.round", *_RECURSION),
               _many + q * (2 * eta * K / mu) * bias / rate,
               (_tie_5, ("cap_20", 1 - 20 * z), ("server_cap", 2 - (L + mu) * eta_s), _decay), _CONVEX, _RANDOM,
               ("safari.thm5@corrected",), algorithm="safari"),
    Derivation("Theorem 5, sharp", "final_squared_distance",
               ("thm5.sharp.round", "thm5.sharp.progress", "thm5.sharp.factor", "s5.84_geometric_sum",
                "s5.84_exponential"),
               sympy.exp(-PROGRESS * R) * d**2 + FLOOR / PROGRESS,
               (("server_cap", 1 - 2 * w), ("drift_cap", mu - 20 * L**2 * K * eta)), _CONVEX, _RANDOM,
               ("safari.thm5@sharp",), algorithm="safari"),
)  # fmt: skip

VALUES = (
    Derivation("the bound on q at sigma_G = 0", "client_rounds_refused_identical", ("rem5.rewritten",), None,
               proves=("safari.rem5.a@main",), algorithm="safari"),
    Derivation("the limit of the bound on q", "limit_of_the_bound_unbounded", ("rem5.rewritten", "rem5.limit"), None,
               proves=("safari.rem5.b@main",), algorithm="safari"),
)  # fmt: skip

DERIVATIONS = (*NONCONVEX, *CONVEX, *VALUES)
