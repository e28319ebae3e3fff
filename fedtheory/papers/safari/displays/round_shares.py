"""Appendix A.1's ratio of rounds, and the floor under every run that meets the submitted version's condition on q.

In the floor b stands for sigma_G + w sigma, w = L eta_s, so that the condition's slack, multiplied out, is

    (1 - w) (1 - q) G_1 - q (4 sigma_G^2 - 2 (1 - 4 w)/(1 - w)^2 (a + b)^2).

Six times what the mean |grad F|^2 has above the floor, less this slack, is at least q (2 a - b)^2.
"""

from __future__ import annotations

import sympy

from ....proof.derivations import Derivation
from ....proof.symbol_regions import Part, Region, capped, equal, interval, nonnegative, positive, region
from ....proof.write import nonnegative_step, same
from .symbols import K, L, gradient, least_G1, m, q, sigma, sigma_G, w

c, b, more = sympy.symbols("hidden_constant b more")

LARGEST_G2 = (K * (gradient + sigma_G + w * sigma) / (1 - w)) ** 2
_slack = (1 - w) * (1 - q) * least_G1 - q * (4 * sigma_G**2 - 2 * (1 - 4 * w) * LARGEST_G2 / K**2)
_mean = (1 - q) * least_G1 + q * gradient**2
_least = q * (sigma_G**2 / 6 - w * sigma * sigma_G - w**2 * sigma**2 / 2)


def _where(*parts: Part) -> Region:
    return region(
        equal("dissimilarity", b - w * sigma),
        *parts,
        nonnegative("more"),
        interval("client_round_probability"),
        nonnegative("least_server_gradient"),
        nonnegative("gradient_noise"),
        capped("server_lr", 1 / (2 * L)),
        positive("smoothness"),
    )


STEPS = (
    same("appA_1.ratio", "A.1", "c/(mK (1 - c/(mK))) = c/(mK - c)",
         [(c / (m * K * (1 - c / (m * K))), c / (m * K - c))]),
    nonnegative_step("thm4.floor", "Theorem 4 of the submitted version", "six times the mean of |grad F|^2 above the "
                     "floor is at least the slack of the condition on q, for 2 a >= b and for 2 a <= b",
                     6 * (_mean - _least) - _slack,
                     _where(equal("gradient_norm", b / 2 + more), nonnegative("b")),
                     _where(equal("b", 2 * gradient + more), nonnegative("gradient_norm")), printed=False),
)  # fmt: skip

DERIVATIONS = (
    Derivation("A.1, the ratio of rounds", functional="server_rounds_per_client_round", steps=("appA_1.ratio",),
               proves=("safari.appA_1.ratio@main",)),
    Derivation("a floor, from the condition with minima", functional="floor_of_client_rounds",
               steps=("thm4.floor",), right_side=_mean, left_side=_least,
               needs=(("q_condition", _slack), ("server_cap", 1 - 2 * w)), proves=("safari.thm4@floor",),
               lacks="numbers that are >= 0 as a square is, not by the signs of their coefficients"),
)  # fmt: skip
