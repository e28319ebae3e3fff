"""SAFARI, appendix A.1: what Corollary 1's condition says of the shares of either kind of round; and what the
submitted version's condition on q, with minima over the rounds, makes of every run that meets it.

The second is not printed. Let w = L eta_s = L K eta_c/2, and let a be the root of E|grad F(x_r)|^2 in a round of the
clients'. A local step changes a client's gradient by at most L eta_c times its length and that of its noise, and
((1 + 2 w/K)^K - 1)/(2 w) <= 1/(1 - w): so the sum of K local gradients, those at k = 0..K-1, has a root of the mean
square of at most K (a + sigma_G + w sigma)/(1 - w), whoever takes part. G_2, the least over the rounds, is no larger in
expectation. Since 1 - 4 w <= (1 - w)^2 the condition, multiplied out, then gives

    4 q sigma_G^2 <= (1 - q) (1 - w) G_1 + 2 q (a + sigma_G + w sigma)^2,

whatever the number of local steps is; with (a + b)^2 <= 3 a^2 + 3/2 b^2 the mean over the rounds (1 - q) s + q a^2,
with s >= G_1 the mean over the server's, is at least q (sigma_G^2/6 - w sigma sigma_G - w^2 sigma^2/2). The shares of
the kinds of round are exact here.
"""

from __future__ import annotations


from ....claims.statement import Claim, Hypothesis, Term, at_least, at_most
from ....functionals import of_values
from ....quantities import symbols
from ....units import SQUARED_SLOPE
from .common import K, L, eta_s, m, q, sigma, sigma_G
from .thm4 import PROVED, excess

(c,) = symbols("hidden_constant")
a, least_G1 = symbols("gradient_norm", "least_server_gradient")

# q = 1 - c/(mK) or more: R_s/R_c = (1 - q)/q is at most c/(mK (1 - c/(mK))), as printed.
RATIO = Claim(
    id="safari.appA_1.ratio",
    title="How many rounds of the server's there are for each of the clients'",
    source="SAFARI, appendix A.1, after Corollary 1's conditions",
    functional=of_values("server_rounds_per_client_round", "(1 - q)/q, the server's rounds for each of the clients'",
                         (1 - q) / q, r"\frac{R_s}{R_c}"),
    terms=(Term("ratio", c / (m * K * (1 - c / (m * K)))),),
    hypotheses=(
        Hypothesis("mostly_clients", at_least(q, 1 - c / (m * K)), "Corollary 1: q = Omega(1 - 1/(mK))"),
        Hypothesis("some_clients", at_least(K, c / m), "R_c >= 0"),
    ),
    constants="c is a letter of the statement, which is proved for every c",
)  # fmt: skip

w = L * eta_s
LARGEST_G2 = (K * (a + sigma_G + w * sigma) / (1 - w)) ** 2
"""Upper bound of the least squared sum of local gradients over the clients' rounds."""

_covered = (1 - w) * least_G1
FLOOR = Claim(
    id="safari.thm4",
    edition="floor",
    title="Runs that meet the condition on q do not converge, with any number of local steps",
    source="SAFARI, submitted version, Theorem 4: a consequence of its condition on q, not printed",
    functional=of_values(
        "floor_of_client_rounds",
        "q (sigma_G^2/6 - w sigma sigma_G - w^2 sigma^2/2), w = L eta_s, of the mean of |grad F|^2 over the rounds",
        q * (sigma_G**2 / 6 - w * sigma * sigma_G - w**2 * sigma**2 / 2),
        r"q\Big(\frac{\sigma_G^2}{6}-L\eta_s\sigma\sigma_G-\frac{L^2\eta_s^2\sigma^2}{2}\Big)", units=SQUARED_SLOPE,
    ),
    terms=(Term("server_rounds", (1 - q) * least_G1), Term("client_rounds", q * a**2)),
    hypotheses=(
        Hypothesis("server_cap", at_most(eta_s, 1 / (2 * L)), "Theorem 4: its step cap has L eta_s <= 1/43"),
        Hypothesis(
            "q_condition", at_most(q * (excess(LARGEST_G2, PROVED) + _covered), _covered),
            "Theorem 4, before dividing, with 2 L eta_s/K^2, and G_2 as large as it can be",
        ),
    ),
)  # fmt: skip
