"""SAFARI, Remark 5: what Theorem 4 asks of q when the clients' data are alike, and when they differ without bound.

Both parts speak of the bound on q as a number that depends on the dissimilarity, with everything else held fixed. That
the theorems with q = 0 are those of stochastic gradient descent is an identity of their terms.
"""

from __future__ import annotations

import sympy
from sympy import Le

from ....claims.statement import Claim, Hypothesis, Term
from ....functionals import of_values
from .common import L, eta_s, sigma_G
from .thm4 import G1, G2, LITERAL, bound_on_q

_bound = bound_on_q(G1, G2, LITERAL)
_server_cap = Hypothesis(
    "server_cap", Le(eta_s, 1 / (8 * sympy.sqrt(30) * L)), "Theorem 4: the cap on local_lr = 2 server_lr/K"
)

# "sigma_G = 0: we can simply choose q = 1": then the bound on q is at least 1.
IDENTICAL = Claim(
    id="safari.rem5.a",
    title="With identical clients every round can be theirs",
    source="SAFARI, section 4, Remark 5, i)",
    functional=of_values(
        "client_rounds_refused_identical", "1 - the bound on q at dissimilarity 0", 1 - _bound.subs(sigma_G, 0),
        r"1-\lim_{\sigma_G\to0}1/\left(\frac{4\sigma_G^2-4G_2(\frac{1}{2K^2}-\frac{2L\eta_s^2}{K^2})}"
        r"{(1-L\eta_s)G_1}+1\right)",
    ),
    terms=(Term("zero", sympy.Integer(0)),),
    hypotheses=(_server_cap,),
)  # fmt: skip

# "sigma_G -> infinity: we can set q = 0": the limit of the bound on q is not negative.
UNBOUNDED = Claim(
    id="safari.rem5.b",
    title="With clients that differ without bound no round is theirs",
    source="SAFARI, section 4, Remark 5, ii)",
    functional=of_values(
        "limit_of_the_bound_unbounded", "|limit of the bound on q as the dissimilarity grows|",
        sympy.Abs(sympy.limit(_bound, sigma_G, sympy.oo)),
        r"\Big|\lim_{\sigma_G\to\infty}1/\left(\frac{4\sigma_G^2-4G_2(\frac{1}{2K^2}-\frac{2L\eta_s^2}{K^2})}"
        r"{(1-L\eta_s)G_1}+1\right)\Big|",
    ),
    terms=(Term("zero", sympy.Integer(0)),),
    hypotheses=(_server_cap,),
)  # fmt: skip

EDITIONS = (IDENTICAL, UNBOUNDED)
