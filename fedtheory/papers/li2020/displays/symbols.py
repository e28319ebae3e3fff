"""Symbols that the steps share. <u, v> stands for E<u, v>, as in FAST's proofs, some of whose lemmas are used.

Steps are counted from 0, and eta = 2/(mu (s + t)) at the step t.
"""

from __future__ import annotations

import sympy

from fedtheory.proof.symbol_regions import Part, Region, at_least, capped, count, nonnegative, positive, region
from fedtheory.proof.write import within

L, mu, eta, G = sympy.symbols("smoothness strong_convexity local_lr gradient_bound")
N, S, E = sympy.symbols("clients arbitrary_cohort local_steps")
Gamma, noise = sympy.symbols("heterogeneity_gap weighted_noise")
V, s, t, j = sympy.symbols("V s t j")
one = sympy.Integer(1)


def cap(*extra: Part) -> Region:
    """Return the region eta <= 1/(4L) and mu <= L, everything else free."""
    return region(
        *extra,
        capped("local_lr", 1 / (4 * L)),
        capped("strong_convexity", L),
        positive("smoothness"),
        count("local_steps"),
        count("arbitrary_cohort"),
        *map(nonnegative, ("heterogeneity_gap", "weighted_noise", "gradient_bound")),
    )


def step_size(at: sympy.Expr) -> sympy.Expr:
    """Return eta at the step ``at``."""
    return 2 / (mu * (s + at))


SCHEDULE = region(
    at_least("s", 8 * L / mu), capped("strong_convexity", L), positive("smoothness"), nonnegative("t")
)  # fmt: skip
"""Region s >= 8 kappa, at any step."""

gram, vectors_check = within(cap())
