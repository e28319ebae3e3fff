"""Conclusions of SAFARI's steps, before any claim is looked at; a claim is tried on every derivation of its
functional."""

from __future__ import annotations

from dataclasses import replace

import sympy

from ....claims import readings
from ....proof.derivations import Derivation
from ....proof.domain import bare
from ....quantities import symbols
from . import thm4_thm5
from ..displays import round_shares
from ..displays.symbols import (
    UNBIASED_PROGRESS, UNBIASED_REST,
    G1, G2, K, L, R, bias, client_cost, clients, d, decrease, drift, eta, eta_s, excess, gradient, least_G1, least_G2,
    least_ratio, m, mu, noise, pseudogradient, q, rate, server, sigma, sigma_G, sigma_s, tied_rate, w, z, zeta,
)  # fmt: skip

_CLIENTS = ("smoothness", "gradient_noise", "dissimilarity")
_NONCONVEX = (*_CLIENTS, "server_noise")
_CONVEX = (*_NONCONVEX, "strong_convexity")
_EITHER = (readings.EXACT_SHARES, readings.PROBABILITY)
_FROM_START = {readings.AVERAGE: readings.FROM_ROUND_0}
_SUMMED = _FROM_START | {readings.KINDS_OF_ROUNDS: _EITHER}
_RANDOM = {readings.KINDS_OF_ROUNDS: readings.PROBABILITY}
# Minima over the rounds of a run whose kinds are drawn depend on how many of each there are: the mean over the rounds
# then is no average of the two with the shares 1 - q and q, for which the condition is.
_ORDERED = {readings.KINDS_OF_ROUNDS: readings.EXACT_SHARES}
_MEANT_ROOT = {readings.ROOT: readings.ROOT_OF_30}
_IN_THEOREM_4 = _SUMMED | _MEANT_ROOT | {readings.LOCAL_GRADIENTS: readings.FROM_STEP_0}

_one_round, _client_round = ("one_round", 1 - R), ("client_round", q - 1)
_tie_4 = ("tie", -((K * eta - 2 * eta_s) ** 2))
_tie_5 = ("tie", -((4 * L * eta_s - (L + mu) * K * eta) ** 2))
_cap_21 = ("cap_21", 1 - 21 * z)
_eight = ("cap_8", 8 - z)

# Theorem 4 --------------------------------------------------------------------------------------------------------

_STEPS_50 = ("s4.38", "s4.39")
"""Steps that are printed beside those on which (50) rests."""

_drift_50 = 80 * L**2 * eta_s**2 / K * (noise + 6 * K * bias)
_noise_50 = 8 * w / (m * K) * noise


def _right_53(server_noise: sympy.Expr) -> sympy.Expr:
    return 2 * zeta / (R * eta_s) + (1 - q) * w * server_noise + q * (_drift_50 + _noise_50)


def _condition(g1: sympy.Expr, g2: sympy.Expr, step: sympy.Expr | int) -> tuple[str, sympy.Expr]:
    """The condition on q before dividing, with 2 L step/K^2."""
    covered = (1 - w) * g1
    return "q_condition", covered - q * (4 * bias - 4 * g2 * (1 / (2 * K**2) - 2 * L * step / K**2) + covered)


NONCONVEX = (
    Derivation("(29) to (50)", functional="squared_gradient", steps=(*_STEPS_50, "s4.50", "s4.50_tied"),
               right_side=2 / eta_s * decrease + 4 * bias + (8 * w / K**2 - 2 / K**2) * pseudogradient + _drift_50
                   + _noise_50,
               needs=(_one_round, _client_round, _tie_4, ("cap_8", 1 - 8 * z)), assumptions=_CLIENTS,
               readings=_MEANT_ROOT, proves=("safari.eq50@main",)),
    Derivation("(25) to (55), with minima", functional="average_squared_gradient",
               steps=(*_STEPS_50, "s4.53", "s4.55_squared_step", "s4.54_minima"), right_side=_right_53(noise),
               needs=(_tie_4, _cap_21, _condition(least_G1, least_G2, 0), ("one_noise", sigma - sigma_s)),
               assumptions=_NONCONVEX,
               readings=_IN_THEOREM_4 | _ORDERED | {readings.Q_CONDITION: (
                   readings.PRODUCT, readings.PRODUCT_ETA_S, readings.QUOTIENT, readings.QUOTIENT_ETA_S)},
               proves=("safari.thm4@submission", "safari.cor1.c@submission")),
    Derivation("(25) to (55)", functional="average_squared_gradient",
               steps=(*_STEPS_50, "s4.53", "s4.54_squares_replaced_by_their_maximum", "s4.55_quotient",
                   "s4.55_squared_step"),
               right_side=_right_53(server), needs=(_tie_4, _cap_21, _condition(G1, G2, eta_s)),
               assumptions=_NONCONVEX,
               readings=_IN_THEOREM_4 | {readings.Q_CONDITION: readings.PRODUCT_ETA_S},
               proves=("safari.thm4@main", "safari.thm4@appendix", "safari.cor1.a@main", "safari.cor1.b@main",
                   "safari.cor1.c@main")),
    Derivation("Remark 5, identical clients", functional="average_squared_gradient", steps=("rem5.identical",),
               right_side=_right_53(server).subs(bias, 0),
               needs=(_tie_4, _cap_21, ("identical", -sigma_G)), assumptions=_NONCONVEX,
               readings=_FROM_START | _MEANT_ROOT, proves=("safari.rem5.a@main",)),
)  # fmt: skip

# Theorem 5 --------------------------------------------------------------------------------------------------------

_STEPS_83 = ("s5.80", "s5.81", "s5.83")
_RECURSION = ("s5.84_factor", "s5.84_sum_of_delta")
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

_PRINTED_85 = Derivation(
    "(56) to (85), as printed",
    functional="final_squared_distance",
    steps=(*_STEPS_83, "s5.83_gain", "s5.83_every_round", *_RECURSION),
    right_side=_many,
    needs=(_tie_5, _eight, _decay, ("q_condition", _gain - q * (_gain + _cost - 4 / mu * least_ratio))),
    assumptions=_CONVEX,
    readings={**_RANDOM, readings.Q_CONDITION: readings.PRODUCT},
    proves=("safari.thm5@main", "safari.thm5@appendix"),
)

CONVEX = (
    Derivation("(59) to (65)", functional="final_squared_distance", steps=("s5.65", "s5.65_every_step"),
               right_side=(1 - rate) * d**2 + eta**2 * pseudogradient + K * eta**2 / m * noise - 2 * eta * K * excess
                   + 2 * eta * L * drift,
               needs=(_one_round, _client_round, ("tied_cap", 8 * L - (L + mu) ** 2 * K * eta)),
               assumptions=("smoothness", "gradient_noise", "strong_convexity"), proves=("safari.eq65@main",)),
    Derivation("(59) to (77)", functional="final_squared_distance", steps=("s5.75", "s5.77", "s5.77_from_a_fourth"),
               right_side=(1 - rate) * d**2 + eta**2 * K**2 * (1 + 15 * z * (1 + z)) * gradient**2
                   + eta**2 * K**2 * (4 + 60 * z * (1 + z)) * bias + eta**2 * K * (1 / m + 10 * z * (1 + z)) * noise
                   - 2 * eta * K * excess,
               needs=(_one_round, _client_round, _eight), assumptions=(*_CLIENTS, "strong_convexity"),
               proves=("safari.eq77@main",)),
    Derivation("(56) to (83)", functional="final_squared_distance", steps=_STEPS_83,
               right_side=(1 - rate) * d**2 + _constant,
               needs=(_one_round, _tie_5, _eight, ("q_condition", 4 * q / mu * excess - _bracket * gradient**2)),
               assumptions=_CONVEX, proves=("safari.eq83@main",)),
    Derivation("(56) to (85)", functional="final_squared_distance",
               steps=(*_STEPS_83, "s5.83_gain_corrected", "s5.83_every_round", *_RECURSION), right_side=_many,
               needs=(_tie_5, _eight, _decay, ("q_condition", _gain - q * (_gain + _cost - 4 / mu * least_ratio))),
               assumptions=_CONVEX, readings=_RANDOM, proves=("safari.thm5@derived",)),
    _PRINTED_85,
    replace(_PRINTED_85, name="(56) to (85), as printed, with an O(.)", proves=("safari.cor2@main",),
            readings={**_PRINTED_85.readings, readings.CONSTANTS: (readings.UNIFORM, readings.OF_THE_PROBLEM)}),
    Derivation("Theorem 5, all clients", functional="final_squared_distance",
               steps=("thm5.unbiased.round", "thm5.unbiased.progress", "thm5.unbiased.factor", "s5.84_geometric_sum",
                   "s5.84_exponential"),
               right_side=sympy.exp(-UNBIASED_PROGRESS * R) * d**2 + UNBIASED_REST / UNBIASED_PROGRESS,
               needs=(("server_cap", 1 - 2 * w), ("drift_cap", mu - 20 * L**2 * K * eta), ("everyone", m - clients)),
               assumptions=_CONVEX, readings=_RANDOM, lacks="cohorts of all clients, among rounds of several kinds",
               proves=("safari.thm5@unbiased",)),
)  # fmt: skip


def _rates() -> tuple[sympy.Expr, sympy.Expr]:
    """Return (1/(n_T + n_S))^(beta r) and (1/n_T)^r, r = 1/(2 - beta_Q)."""
    beta, b, n_T, n_S = symbols("relatedness_exponent", "noise_exponent", "server_samples", "client_samples")
    r = 1 / (2 - b)
    return bare((1 / (n_T + n_S)) ** (beta * r)), bare((1 / n_T) ** r)


_POOLED, _ALONE = _rates()
RATES = (
    Derivation("rates for few samples, as printed", functional="pooled_rate", steps=("learn.improvement",),
               left_side=_POOLED, right_side=_ALONE, proves=("safari.thm2.improvement@main",)),
)  # fmt: skip

DERIVATIONS = (*RATES, *NONCONVEX, *CONVEX, *thm4_thm5.DERIVATIONS, *round_shares.DERIVATIONS)
