"""SAFARI, Remark 5: with identical clients "we can simply choose q = 1" and have federated averaging; as clients differ
without bound, "we can set q = 0" and have stochastic gradient descent; the bounds are then Theorem 4's without their
terms in sigma_G.

The remark speaks of no condition on q, so neither part has one. That the algorithm is the other one then is an identity
of its rounds.
"""

from __future__ import annotations


from ....claims.statement import Hypothesis, Term, at_least, at_most
from .common import ROOT, STEP_CAP, SUM_OVER_ROUNDS, K, L, eta_s, m, q, sigma, sigma_G, sigma_s
from .thm4 import MAIN as THEOREM_4

_optimization = THEOREM_4.terms[0]

IDENTICAL = THEOREM_4.edited(
    "main",
    "SAFARI, section 4, Remark 5, i)",
    id="safari.rem5.a",
    title="With identical clients every round can be theirs",
    terms=(
        _optimization,
        Term("drift", 80 * L**2 * eta_s**2 / K * sigma**2),
        Term("noise", 8 * L * eta_s / (m * K) * sigma**2),
    ),
    hypotheses=(
        STEP_CAP,
        Hypothesis("identical", at_most(sigma_G, 0), "'F_i(x) = F and sigma_G = 0'"),
        Hypothesis("every_round_theirs", at_least(q, 1), "'we can simply choose q = 1'"),
    ),
    ambiguities=(SUM_OVER_ROUNDS, ROOT),
)

UNBOUNDED = THEOREM_4.edited(
    "main",
    "SAFARI, section 4, Remark 5, ii)",
    id="safari.rem5.b",
    title="With clients that differ without bound no round is theirs",
    terms=(_optimization, Term("server_noise", L * eta_s * sigma_s**2)),
    hypotheses=(STEP_CAP, Hypothesis("no_round_theirs", at_most(q, 0), "'we can set q = 0'")),
    ambiguities=(SUM_OVER_ROUNDS, ROOT),
)

EDITIONS = (IDENTICAL, UNBOUNDED)
