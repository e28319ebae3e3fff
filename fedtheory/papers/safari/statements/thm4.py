"""SAFARI, Theorem 4: non-convex objectives.

G_2 is printed with the participants as [m] and sums of grad F_i at the local iterates; it is the vocabulary's
``peak_arbitrary_pseudogradient``. In a random run G_1 and G_2 are maxima over rounds of expectations, which is what
the proof sums: a round's kind does not depend on where it starts. The minima of the submitted version are of one run,
as printed: its condition then is one on every run, from which (54) follows where the shares of the kinds are exact, and
is not shown where kinds are drawn, since the minima depend on how many of each there are.

The local step size is chosen: local_lr = 2 server_lr / K.
"""

from __future__ import annotations

from sympy import Integer, Rational

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_most
from ....functionals import AVERAGE_SQUARED_GRADIENT
from ....quantities import symbols
from .common import (
    CORRECTED_NONCONVEX, KINDS, LOCAL_INDEX, MEANT_STEP_CAP, NONCONVEX, RANDOM_KINDS, ROOT, STEP_CAP,
    SUM_OF_THE_PROOF, SUM_OVER_ROUNDS, K, L, R, assumptions, client_step, eta_c, eta_s, m, mean_step, q, sigma,
    sigma_G, sigma_s, zeta,
)  # fmt: skip

G1, G2 = symbols("peak_server_gradient", "peak_arbitrary_pseudogradient")
least_G1, least_G2 = symbols("least_server_gradient", "least_arbitrary_pseudogradient")

Q_CONDITION = Ambiguity(
    readings.Q_CONDITION,
    (readings.QUOTIENT, readings.QUOTIENT_ETA_S, readings.PRODUCT, readings.PRODUCT_ETA_S),
    "the statement prints 2 L eta_s^2/K^2, the end of its proof 2 L eta_s/K^2; the proof derives the condition before "
    "dividing by numbers whose signs it does not settle",
)
LITERAL, PROVED = eta_s**2, eta_s
"""Factors for the step: eta_s^2 in 2 L eta_s^2/K^2, as printed, and eta_s in 2 L eta_s/K^2, as proved."""


def excess(g2, step):
    """Return the part of 4 sigma_G^2 that the clients' rounds leave uncovered."""
    return 4 * sigma_G**2 - 4 * g2 * (1 / (2 * K**2) - 2 * L * step / K**2)


def bound_on_q(g1, g2, step):
    """Return the right side of the condition on q."""
    return 1 / (excess(g2, step) / ((1 - L * eta_s) * g1) + 1)


def q_condition(g1, g2) -> Hypothesis:
    """Return the condition on q in its four readings."""

    def product(step):
        covered = (1 - L * eta_s) * g1
        return at_most(q * (excess(g2, step) + covered), covered)

    return Hypothesis(
        "q_condition",
        at_most(q, bound_on_q(g1, g2, LITERAL)),
        "Theorem 4; G_1 and G_2 after it",
        alternatives={
            readings.QUOTIENT_ETA_S: at_most(q, bound_on_q(g1, g2, PROVED)),
            readings.PRODUCT: product(LITERAL),
            readings.PRODUCT_ETA_S: product(PROVED),
        },
    )


MAIN = Claim(
    id="safari.thm4",
    title="SAFARI on non-convex objectives",
    source="SAFARI, section 4, Theorem 4",
    functional=AVERAGE_SQUARED_GRADIENT,
    terms=(
        Term("optimization", 2 * zeta / (R * eta_s)),
        Term("server_noise", L * eta_s * (1 - q) * sigma_s**2),
        Term("drift", 80 * q * L**2 * eta_s**2 / K * (sigma**2 + 6 * K * sigma_G**2)),
        Term("noise", 8 * L * q * eta_s / (m * K) * sigma**2),
    ),
    hypotheses=(STEP_CAP, q_condition(G1, G2)),
    assumptions=assumptions(*NONCONVEX),
    ambiguities=(SUM_OVER_ROUNDS, LOCAL_INDEX, ROOT, Q_CONDITION, KINDS),
    choices={"local_lr": 2 * eta_s / K},
)

# The appendix restates the theorem with the same mathematics.
APPENDIX = MAIN.edited("appendix", "SAFARI, appendix, Theorem 4, (25) to (55)")

# The submitted version has minima for maxima, and one bound on the noise of clients and server. Its Assumption 3
# asks smoothness of F alone.
SUBMISSION = MAIN.edited(
    "submission",
    "SAFARI, submitted version, Theorem 4",
    terms={"server_noise": L * eta_s * (1 - q) * sigma**2},
    hypotheses=(
        STEP_CAP,
        q_condition(least_G1, least_G2),
        Hypothesis("one_noise", at_most(sigma_s, sigma), "Assumption 4 of the submitted version"),
    ),
)

# Without a condition on q: the chain (25) to (52), with 4 sigma_G^2 of every client round kept. For either kind of
# rounds; it needs no q-condition because (28) and (50) have nonpositive multiples of G_1 and G_2 on the right.
CORRECTED = MAIN.edited(
    "corrected",
    "SAFARI, Theorem 4, repaired",
    title="SAFARI on non-convex objectives, for every q, with the floor of the clients' rounds",
    terms={"client_rounds": 4 * q * sigma_G**2},
    hypotheses=(MEANT_STEP_CAP,),
    ambiguities=(SUM_OF_THE_PROOF, KINDS),
    assumptions=CORRECTED_NONCONVEX,
)

# With any two step sizes. As both go to 0 and the rounds grow faster, this is client_share^2 sigma_G^2, which a pair
# of clients attains; client_share = client_step/mean_step.
_progress = mean_step - (1 - q) * L * eta_s**2 - 19 * q * L * K**2 * eta_c**2
SHARP = MAIN.edited(
    "sharp",
    "SAFARI, Theorem 4, with the exact floor",
    title="SAFARI on non-convex objectives: the exact floor of the clients' rounds as the step sizes go to 0",
    terms=(
        Term("optimization", 2 * zeta / (R * _progress)),
        Term("client_rounds", client_step**2 / mean_step * sigma_G**2 / _progress),
        Term("drift", 20 * q * L * K**2 * eta_c**2 * sigma_G**2 / _progress),
        Term("server_noise", (1 - q) * L * eta_s**2 * sigma_s**2 / _progress),
        Term("noise", (2 / m + Rational(21, 10)) * q * L * K * eta_c**2 * sigma**2 / _progress),
    ),
    hypotheses=(
        Hypothesis("step_cap", at_most(eta_c, 1 / (42 * L * K)), "repaired"),
        Hypothesis("server_cap", at_most(eta_s, 1 / (2 * L)), "repaired"),
    ),
    ambiguities=(SUM_OF_THE_PROOF, RANDOM_KINDS),
    choices={},
    assumptions=CORRECTED_NONCONVEX,
)

# Composed of the axioms by the kernel, with a parameter T between the clients' bias and the drift: T = 1, and T = m for
# noise that falls with the cohort at any step size.
_z = L * K * eta_c


def _composed(edition: str, says: str, T) -> Claim:
    curvature = 1 + Rational(11, 10) / T + 5 * _z
    progress = mean_step - (1 - q) * L * eta_s**2 / 2 - q * L * K**2 * eta_c**2 * curvature / 2
    drift = q * L * K**2 * eta_c**2 * (curvature + T * client_step**2 / progress**2)
    noise = (1 + _z) / m + (1 - 1 / K) * (Rational(11, 10) / T + 4 * _z)
    return SHARP.edited(
        edition,
        "SAFARI, Theorem 4, composed by the kernel",
        title=f"SAFARI on non-convex objectives: the exact floor, larger steps and {says}",
        terms=(
            Term("optimization", 2 * zeta / (R * progress)),
            Term("client_rounds", client_step**2 * sigma_G**2 / progress**2),
            Term("drift", drift * sigma_G**2 / progress),
            Term("server_noise", (1 - q) * L * eta_s**2 * sigma_s**2 / progress),
            Term("noise", noise * q * L * K * eta_c**2 * sigma**2 / progress),
        ),
        hypotheses=(
            Hypothesis("step_cap", at_most(eta_c, 1 / (8 * L * K)), "composed"),
            Hypothesis("server_cap", at_most(eta_s, 1 / L), "composed"),
        ),
    )


SHARPER = _composed("sharper", "smaller constants", Integer(1))
AVERAGED = _composed("averaged", "noise that falls with the cohort", m)

EDITIONS = (MAIN, APPENDIX, SUBMISSION, CORRECTED, SHARP, SHARPER, AVERAGED)
