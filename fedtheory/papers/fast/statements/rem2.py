"""FAST, Remark 2: Theorem 1's condition on q when the clients' data are alike, and when they differ without bound.

Both parts speak of the condition on q as the dissimilarity goes to a limit; before dividing, as the theorem's proof
derives it, q = 0 meets it for identical clients, the quotient may exceed 1. That it approaches 1 is so with G_1 to G_3
held fixed. In runs they grow with the dissimilarity: where all lengths are multiplied by s, so is sigma_G, and G_1 to
G_3 by s^2, so that the quotient stays what it is. The rewriting of the bound in the same remark is a step of the proof
chain.
"""

from __future__ import annotations

import sympy

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Term
from ....functionals import of_values
from .thm1 import G2, Q_CONDITION, denominator, numerator, sigma_G
from .thm1 import MAIN as THEOREM_1

bound_on_q = numerator / denominator
_step_cap = THEOREM_1.hypotheses[:1]

# "sigma_G -> 0: then q >= 0, so that we can always set q = 0": the bound on q is at most 0. Before dividing, q = 0 is
# allowed where the numerator is at most 0, here a multiple of G_2.
IDENTICAL = Claim(
    id="fast.rem2.a",
    title="With identical clients no snapshot is needed",
    source="FAST, section 4.2, Remark 2, case 1",
    functional=of_values(
        "least_snapshot_probability_identical", "what the condition on q asks at dissimilarity 0",
        bound_on_q.subs(sigma_G, 0), r"\lim_{\sigma_G\to0}\frac{(2LK\eta_c-1)G_2+2K^2\sigma_G^2}"
        r"{G_1+(2LK\eta_c-1)G_2-2LK\eta_cG_3+2K^2\sigma_G^2}",
        alternatives={readings.PRODUCT: numerator.subs(sigma_G, 0) / G2},
    ),
    terms=(Term("zero", sympy.Integer(0)),),
    hypotheses=_step_cap,
    ambiguities=(Q_CONDITION,),
)  # fmt: skip

# "sigma_G -> infinity: the lower bound of q will approach 1": one minus its limit is at most 0, and at least 0. For
# large sigma_G the denominator is > 0, so that the product asks the same.
UNBOUNDED = Claim(
    id="fast.rem2.b",
    title="With clients that differ without bound every round has to be a snapshot",
    source="FAST, section 4.2, Remark 2, case 2",
    functional=of_values(
        "distance_of_the_limit_from_one", "|1 - limit of the bound on q as the dissimilarity grows|",
        sympy.Abs(1 - sympy.limit(bound_on_q, sigma_G, sympy.oo)),
        r"\Big|1-\lim_{\sigma_G\to\infty}\frac{(2LK\eta_c-1)G_2+2K^2\sigma_G^2}"
        r"{G_1+(2LK\eta_c-1)G_2-2LK\eta_cG_3+2K^2\sigma_G^2}\Big|",
        alternatives={readings.OF_RUNS_OF_EACH_SIZE: sympy.Abs((denominator - numerator) / denominator)},
    ),
    terms=(Term("zero", sympy.Integer(0)),),
    hypotheses=_step_cap,
    ambiguities=(
        Q_CONDITION,
        Ambiguity(
            readings.SUMS,
            (readings.HELD, readings.OF_RUNS_OF_EACH_SIZE),
            "the limit is that of an expression; G_1 to G_3 are maxima over a run, which depend on the clients",
        ),
    ),
)  # fmt: skip

EDITIONS = (IDENTICAL, UNBOUNDED)
