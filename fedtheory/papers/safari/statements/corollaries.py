"""SAFARI, Corollaries 1 and 2: the theorems with step sizes that shrink with the rounds.

The terms carry the constants that follow from the theorems; ``rates`` are the printed O(.). Corollary 1 is three
statements: a, the rate; b and c, the linear speedup, under a condition on the server's noise or on q.
"""

from __future__ import annotations

from dataclasses import replace

from sympy import Integer, log, sqrt

from ....claims.hidden_constants import may_depend_on_the_problem
from ....claims.statement import Hypothesis, Term, at_least, at_most
from .common import K, L, R, distance, m, mu, q, sigma, sigma_G, sigma_s, zeta
from .thm4 import MAIN as THEOREM_4
from .thm4 import SUBMISSION as THEOREM_4_SUBMISSION
from .thm5 import MAIN as THEOREM_5

_SOURCE = "SAFARI, section 4, Corollary 1"
STAYS = (
    "no constant of any problem will do: the problem stays along the family of instances, left/right grows with the "
    "rounds without bound"
)
_speedup = 1 / sqrt(m * K * R)

# The step size 1/sqrt(R) is printed as a number: its units clash.
RATE = THEOREM_4.edited(
    "main",
    _SOURCE,
    id="safari.cor1.a",
    title="The rate of SAFARI on non-convex objectives",
    terms={
        "optimization": 2 * zeta / sqrt(R),
        "server_noise": L * (1 - q) * sigma_s**2 / sqrt(R),
        "drift": 80 * q * L**2 / (K * R) * (sigma**2 + 6 * K * sigma_G**2),
        "noise": 8 * L * q / (m * K * sqrt(R)) * sigma**2,
    },
    choices={"server_lr": 1 / sqrt(R), "local_lr": 2 / (K * sqrt(R))},
    rates=(Term("only", 1 / sqrt(R)),),
    constants=STAYS,
)

# What Theorem 4 gives with server_lr = sqrt(mK/R), the submitted version's choice; the final version chooses
# 1/sqrt(R), with which the optimization term is 2 zeta/sqrt(R), whatever m and K are.
_faster = {
    "optimization": 2 * zeta * _speedup,
    "drift": 80 * q * L**2 * m / R * (sigma**2 + 6 * K * sigma_G**2),
    "noise": 8 * L * q * sigma**2 * _speedup,
}
SPEEDUP_BY_NOISE = RATE.edited(
    "main",
    _SOURCE,
    id="safari.cor1.b",
    title="The linear speedup of SAFARI when the server's gradients are precise",
    terms=_faster | {"server_noise": L * (1 - q) * sigma**2 * _speedup},
    hypotheses=(
        *THEOREM_4.hypotheses,
        Hypothesis("precise_server", at_most(sigma_s**2, sigma**2 / (m * K)), "Corollary 1, with the constant 1"),
    ),
    rates=(Term("only", _speedup),),
)

_mostly_clients = Hypothesis("mostly_clients", at_least(q, 1 - 1 / (m * K)), "Corollary 1, with the constant 1")
SPEEDUP_BY_CLIENTS = SPEEDUP_BY_NOISE.edited(
    "main",
    _SOURCE,
    id="safari.cor1.c",
    title="The linear speedup of SAFARI when nearly all rounds are the clients'",
    terms={"server_noise": L * sigma_s**2 * _speedup},
    hypotheses=(*THEOREM_4.hypotheses, _mostly_clients),
)

SPEEDUP_SUBMISSION = replace(
    SPEEDUP_BY_CLIENTS,
    edition="submission",
    source="SAFARI, submitted version, Corollary 1",
    terms=tuple(replace(t, expression=t.expression.subs(sigma_s, sigma)) for t in SPEEDUP_BY_CLIENTS.terms),
    hypotheses=(*THEOREM_4_SUBMISSION.hypotheses, _mostly_clients),
    choices={"server_lr": sqrt(m * K) / sqrt(R), "local_lr": 2 * sqrt(m * K) / (K * sqrt(R))},
    constants="its terms have them as numbers, and nothing refutes it with these where the noises are uncorrelated and "
    "cohorts chosen before them",
)

# Omega(log(R)/R) bounds the step sizes from below only; read as equal to it, with eta = log(R)/R, so that
# (1 - eta)^R <= 1/R.
_step = 2 * log(R) / (R * K * mu)
COROLLARY_2 = THEOREM_5.edited(
    "main",
    "SAFARI, section 4, Corollary 2",
    id="safari.cor2",
    title="The rate of SAFARI on strongly convex objectives",
    terms={
        "initial": distance**2 / R,
        "client_bias": 16 * q * log(R) / (mu**2 * R) * sigma_G**2,
        "noise": 4 * q * log(R) / (mu**2 * m * K * R) * sigma**2,
        "drift": 80 * q * L * log(R) ** 2 / (mu**3 * K * R**2) * (1 + 2 * L * log(R) / (mu * R))
        * (sigma**2 + 6 * K * sigma_G**2),
        "server_noise": (1 - q) * (L + mu) ** 2 * log(R) / (4 * L**2 * mu**2 * R) * sigma_s**2,
    },
    choices={"local_lr": _step, "server_lr": (L + mu) * log(R) / (2 * L * mu * R)},
    rates=(Term("only", Integer(1) / R),),
    ambiguities=(
        *THEOREM_5.ambiguities,
        may_depend_on_the_problem("'an O~(1/R) convergence rate' does not say whether its constants are the theorem's "
                                  "or may be any of the problem"),
    ),
)  # fmt: skip

COROLLARY_1 = (RATE, SPEEDUP_BY_NOISE, SPEEDUP_BY_CLIENTS, SPEEDUP_SUBMISSION)
EDITIONS = (*COROLLARY_1, COROLLARY_2)
