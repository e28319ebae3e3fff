"""FedAU, Theorem 1 (formally B.4.1): constant weights make Algorithm 1 minimise an objective weighted by p_n omega_n.

With steps of order 1/sqrt(T) the bound goes to 0. ``initial_gap`` is that of h, ``update_weight`` is P/N and
``weight_scale`` the mean over clients of p_n omega_n^2. The algorithm does not change if the weights are multiplied by
a number c and global_lr divided by it; nor does the bound.
"""

from __future__ import annotations

from sympy import Rational

from ....claims.statement import Claim, Hypothesis, Term, at_most
from ....functionals import AVERAGE_SQUARED_WEIGHTED_GRADIENT
from ....quantities import symbols
from .common import NONCONVEX, I, L, N, T, assumptions, delta, gamma, initial_gap, sigma
from .rounds import LOCAL_CAP, Q, step

(w,) = symbols("update_weight")

# The last three are what the proof uses where the statement says "a sufficiently large T".
MAIN = Claim(
    id="fedau.thm1",
    title="What constant weights minimise",
    source="FedAU, section 2, Theorem 1, and appendix B.4, Theorem B.4.1, (B.4.4)",
    functional=AVERAGE_SQUARED_WEIGHTED_GRADIENT,
    terms=(
        Term("optimization", 8 * initial_gap / (step * w * I * T)),
        Term("drift", 20 * gamma**2 * L**2 * I * (sigma**2 + 24 * I * delta**2)),
        Term("scale", 8 * step * L / (N * w) * (Rational(17, 16) * sigma**2 + Rational(27, 2) * I * delta**2) * Q),
    ),
    hypotheses=(
        Hypothesis("local_cap", LOCAL_CAP.relation, "Lemma B.3.3", implicit=True),
        Hypothesis("global_cap", at_most(step * w, 1 / (4 * L * I)), "Lemma B.3.3", implicit=True),
        Hypothesis(
            "descent",
            at_most(15 * L**2 * I**2 * gamma**2 + Rational(27, 8) * step * L * I * Q / (N * w), Rational(1, 8)),
            "appendix B.4, after (B.4.2)",
            implicit=True,
        ),
    ),
    assumptions=assumptions(*NONCONVEX),
)

EDITIONS = (MAIN,)
