"""FAST, appendix A.2: bounds on one round from x_0 = x_r that the proof of Theorem 1 shows.

Printed without E_r on the sums of local gradients, which are random; read with it, since the sides they come from are
expectations. (13) prints grad F at the clients' local iterates for grad F_i, which (7) and the definition of G_1 have.
"""

from __future__ import annotations

from sympy import sqrt

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_most
from ....functionals import LOCAL_GRADIENT_ERROR, SQUARED_GRADIENT
from ....quantities import symbols
from .common import (
    ARBITRARY_ROUND, COHORT_DRAW, DRIFT_CAP, NONCONVEX, ONE_ROUND, SNAPSHOT_ROUND, K, L, assumptions, eta, m, n,
)  # fmt: skip

sigma, sigma_G, gradient, decrease = symbols("gradient_noise", "dissimilarity", "gradient_norm", "objective_decrease")
full, cohort, arbitrary = symbols("full_pseudogradient", "cohort_pseudogradient", "arbitrary_pseudogradient")

EQ_13 = Claim(
    id="fast.eq13",
    title="A snapshot round decreases the objective",
    source="FAST, appendix A.2, (13)",
    functional=SQUARED_GRADIENT,
    terms=(
        Term("decrease", 4 / (K * eta) * decrease),
        Term("full_pseudogradient", -2 / K**2 * full),
        Term("heterogeneity", 60 * L**2 * K**2 * eta**2 * sigma_G**2),
        Term("noise", (4 * L * eta / m + 10 * L**2 * K * eta**2) * sigma**2),
        Term("cohort_pseudogradient", 4 * L * eta / K * cohort),
    ),
    hypotheses=(
        ONE_ROUND,
        SNAPSHOT_ROUND,
        DRIFT_CAP,
        Hypothesis("rate_cap", at_most(eta, 1 / (2 * sqrt(15) * K * L)), "after (10)"),
    ),
    assumptions=assumptions(*NONCONVEX),
    ambiguities=(COHORT_DRAW,),
)

EQ_17 = Claim(
    id="fast.eq17",
    title="How far a client's gradient is from the global one during local training",
    source="FAST, appendix A.2, (17)",
    functional=LOCAL_GRADIENT_ERROR,
    terms=(
        Term("gradient", 60 * L**2 * K**2 * eta**2 * gradient**2),
        Term("heterogeneity", (2 + 60 * L**2 * K**2 * eta**2) * sigma_G**2),
        Term("noise", 10 * L**2 * K * eta**2 * sigma**2),
    ),
    hypotheses=(ONE_ROUND, DRIFT_CAP),
    assumptions=assumptions(*NONCONVEX),
)

EQ_23 = Claim(
    id="fast.eq23",
    title="An arbitrary round decreases the objective, up to the dissimilarity",
    source="FAST, appendix A.2, (23)",
    functional=SQUARED_GRADIENT,
    terms=(
        Term("decrease", 4 / (K * eta) * decrease),
        Term("arbitrary_pseudogradient", -(2 / K**2 - 4 * L * eta / K) * arbitrary),
        Term("heterogeneity", (4 + 120 * L**2 * K**2 * eta**2) * sigma_G**2),
        Term("noise", (4 * L * eta / n + 20 * L**2 * K * eta**2) * sigma**2),
    ),
    hypotheses=(
        ONE_ROUND,
        ARBITRARY_ROUND,
        DRIFT_CAP,
        Hypothesis(
            "rate_cap",
            at_most(eta, 1 / (2 * sqrt(30 * K * L))),
            "after (21)",
            alternatives={readings.ROOT_OF_30: at_most(eta, 1 / (2 * sqrt(30) * K * L))},
        ),
    ),
    assumptions=assumptions(*NONCONVEX),
    ambiguities=(
        Ambiguity(
            readings.ROOT,
            (readings.ROOT_OF_30_L_K, readings.ROOT_OF_30),
            "printed sqrt(30 K L), whose units clash with the step's; after (10) the root covers a number alone",
        ),
    ),
)

EDITIONS = (EQ_13, EQ_17, EQ_23)
