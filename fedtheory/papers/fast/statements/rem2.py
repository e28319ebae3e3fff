"""FAST, Remark 2: what Theorem 1 asks of q when the clients' data are alike, and when they differ without bound.

Both parts speak of the bound on q as a number that depends on the dissimilarity, with everything else held fixed. (In
a run the G's depend on it too.) The rewriting of the bound in the same remark is a step of the proof chain.
"""

from __future__ import annotations

import sympy

from ....claims.statement import Claim, Term
from ....functionals import of_values
from .thm1 import MAIN as THEOREM_1
from .thm1 import denominator, numerator, sigma_G

bound_on_q = numerator / denominator
_step_cap = THEOREM_1.hypotheses[:1]

# "sigma_G -> 0: then q >= 0, so that we can always set q = 0": the bound on q is at most 0.
IDENTICAL = Claim(
    id="fast.rem2.a",
    title="With identical clients no snapshot is needed",
    source="FAST, section 4.2, Remark 2, case 1",
    functional=of_values(
        "least_snapshot_probability_identical", "the bound on q at dissimilarity 0",
        bound_on_q.subs(sigma_G, 0), r"\lim_{\sigma_G\to0}\frac{(2LK\eta_c-1)G_2+2K^2\sigma_G^2}"
        r"{G_1+(2LK\eta_c-1)G_2-2LK\eta_cG_3+2K^2\sigma_G^2}",
    ),
    terms=(Term("zero", sympy.Integer(0)),),
    hypotheses=_step_cap,
)  # fmt: skip

# "sigma_G -> infinity: the lower bound of q will approach 1": one minus its limit is at most 0, and at least 0.
UNBOUNDED = Claim(
    id="fast.rem2.b",
    title="With clients that differ without bound every round has to be a snapshot",
    source="FAST, section 4.2, Remark 2, case 2",
    functional=of_values(
        "distance_of_the_limit_from_one", "|1 - limit of the bound on q as the dissimilarity grows|",
        sympy.Abs(1 - sympy.limit(bound_on_q, sigma_G, sympy.oo)),
        r"\Big|1-\lim_{\sigma_G\to\infty}\frac{(2LK\eta_c-1)G_2+2K^2\sigma_G^2}"
        r"{G_1+(2LK\eta_c-1)G_2-2LK\eta_cG_3+2K^2\sigma_G^2}\Big|",
    ),
    terms=(Term("zero", sympy.Integer(0)),),
    hypotheses=_step_cap,
)  # fmt: skip

EDITIONS = (IDENTICAL, UNBOUNDED)
