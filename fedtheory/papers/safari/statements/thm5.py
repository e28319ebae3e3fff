"""SAFARI, Theorem 5: strongly convex objectives.

The theorem ties the step sizes: eta = local_lr K mu / 2 = 2 server_lr L mu / (L + mu), so server_lr is chosen here.

Its condition on q is printed for a round r, with G_3 = |grad F(x_r)|^2 and G_4 = mean over S_r of F_i(x_r) - F_i(x*),
and is needed in every round. Divided by G_3 it depends on the round through G_4/G_3 alone, and the ratios that it
allows form an interval; so it holds in every round exactly if it holds at the smallest and at the largest ratio. Where
x_r = x* both are 0: before the division the condition is 0 <= 0 there and asks nothing, as a quotient it is none.

The end of the proof, after (83), prints it once more, with N for the 1 in 1/(1 + N/D): a squared length. So read, it is
asked for at the smallest G_3 of all rounds, with D > 0, which is no less than what is printed.
"""

from __future__ import annotations

from sympy import Rational, exp

from ....assumptions import COHORT_BEFORE_NOISE, UNCORRELATED_NOISE
from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_least, at_most
from ....functionals import FINAL_SQUARED_DISTANCE
from ....quantities import symbols
from .common import (
    CORRECTED_STRONGLY_CONVEX, RANDOM_KINDS, SERVER_CAP, STRONGLY_CONVEX, K, L, R, assumptions, client_step,
    distance, eta_c, eta_s, m, mean_step, mu, q, sigma, sigma_G, sigma_s,
)  # fmt: skip

least, peak, least_G3 = symbols("least_client_progress", "peak_client_progress", "least_gradient")
(M,) = symbols("clients")

Q_CONDITION = Ambiguity(
    readings.Q_CONDITION,
    (readings.QUOTIENT, readings.PRODUCT, readings.THIRD_LAYOUT),
    "the proof derives the condition before dividing by numbers whose signs it does not settle, and ends with N/D over "
    "1 + N/D where the statement has 1",
)

SERVER_STEP = (L + mu) * K * eta_c / (4 * L)
"""Step size of the server that makes local_lr K mu / 2 = 2 server_lr L mu / (L + mu)."""

rate = eta_c * K * mu / 2
tied_rate = 2 * eta_s * L * mu / (L + mu)
client_cost = 1 + 30 * L * tied_rate / mu * (1 + 2 * L * tied_rate / mu)
_curve = (L + mu) ** 2 * tied_rate / (4 * L**2 * mu**2)


def _q_conditions(cost, gain) -> tuple[Hypothesis, ...]:
    """q <= 1/(1 + (cost - 4/mu ratio)/gain) at the smallest and at the largest ratio G_4/G_3 of the run."""

    # N/(1 + N/D) increases with N where D > 0, and is least at the largest ratio and the smallest G_3.
    smallest = least_G3 * (cost - 4 / mu * peak) / (1 + (cost - 4 / mu * peak) / gain)
    third = {least: at_least(gain, 0), peak: at_most(q, smallest)}

    def at(name, ratio):
        left = cost - 4 / mu * ratio
        return Hypothesis(
            name,
            at_most(q, 1 / (1 + left / gain)),
            "Theorem 5; G_3 and G_4 after it",
            alternatives={
                readings.PRODUCT: at_most(q * (gain + left), gain),
                readings.THIRD_LAYOUT: third[ratio],
            },
        )

    return at("q_condition", least), at("q_condition_at_peak", peak)


_printed_gain = 1 / (L + mu) - _curve

MAIN = Claim(
    id="safari.thm5",
    title="SAFARI on strongly convex objectives",
    source="SAFARI, section 4, Theorem 5",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("initial", (1 - rate) ** R * distance**2),
        Term("client_bias", 8 * q * eta_c * K / mu * sigma_G**2),
        Term("noise", 2 * q * eta_c / (mu * m) * sigma**2),
        Term("drift", 4 * q * L * (1 + K * eta_c * L) / mu * 5 * K * eta_c**2 * (sigma**2 + 6 * K * sigma_G**2)),
        Term("server_noise", (1 - q) * (L + mu) / (2 * L * mu) * SERVER_STEP * sigma_s**2),
    ),
    hypotheses=(SERVER_CAP, *_q_conditions(4 * tied_rate / mu**2 * client_cost, _printed_gain)),
    assumptions=assumptions(*STRONGLY_CONVEX),
    ambiguities=(Q_CONDITION, RANDOM_KINDS),
    choices={"server_lr": SERVER_STEP},
)

# The appendix prints the clients' cost without 1/mu^2, which clashes with the units of 4 G_4/mu.
_appendix_conditions = _q_conditions(4 * tied_rate * client_cost, _printed_gain)
APPENDIX = MAIN.edited(
    "appendix", "SAFARI, appendix, Theorem 5, (56) to (85)", hypotheses=(SERVER_CAP, *_appendix_conditions)
)

# The condition that (81) leads to: 1/(L mu) where the statements print 1/(L + mu), before any division.
_gain = 1 / (L * mu) - _curve
_cost = 4 * tied_rate / mu**2 * client_cost
DERIVED = MAIN.edited(
    "derived",
    "SAFARI, Theorem 5, with the condition on q that (81) leads to",
    hypotheses=(
        SERVER_CAP,
        Hypothesis("q_condition", at_most(q * (_gain + _cost - 4 / mu * least), _gain), "(81) to (83)"),
    ),
    ambiguities=(RANDOM_KINDS,),
)

# No condition on q: what the clients' rounds pull away from x* stays as a floor.
CORRECTED = MAIN.edited(
    "corrected",
    "SAFARI, Theorem 5, repaired",
    title="SAFARI on strongly convex objectives, for every q, with the floor of the clients' rounds",
    terms={"client_rounds": 4 * q * sigma_G**2 / mu**2},
    hypotheses=(SERVER_CAP, Hypothesis("drift_cap", at_most(eta_c, 1 / (20 * L * K)), "repaired")),
    ambiguities=(RANDOM_KINDS,),
    assumptions=CORRECTED_STRONGLY_CONVEX,
)

# With any two step sizes. As both go to 0 and the rounds grow faster, this is client_share^2 sigma_G^2/mu^2, which a
# pair of clients with L = mu attains; client_share = client_step/mean_step.
_progress = mu * mean_step - (1 - q) * L * mu * eta_s**2 - 10 * q * L**2 * K**2 * eta_c**2
SHARP = MAIN.edited(
    "sharp",
    "SAFARI, Theorem 5, with the exact floor",
    title="SAFARI on strongly convex objectives: the exact floor of the clients' rounds as the step sizes go to 0",
    terms=(
        Term("initial", exp(-_progress * R) * distance**2),
        Term("client_rounds", client_step**2 / mean_step * sigma_G**2 / (mu * _progress)),
        Term("drift", 9 * q * K**2 * eta_c**2 * sigma_G**2 / _progress),
        Term("server_noise", (1 - q) * eta_s**2 * sigma_s**2 / _progress),
        Term("noise", (1 + 1 / m) * q * K * eta_c**2 * sigma**2 / _progress),
    ),
    hypotheses=(
        Hypothesis("server_cap", at_most(eta_s, 1 / (2 * L)), "repaired"),
        Hypothesis("drift_cap", at_most(eta_c, mu / (20 * L**2 * K)), "repaired"),
    ),
    ambiguities=(RANDOM_KINDS,),
    choices={},
    assumptions=CORRECTED_STRONGLY_CONVEX,
)

# Composed of the axioms by the kernel: the clients' step is not capped by their curvature, progress loses terms in mu^2
# alone, and all of the noise falls with the cohort as the step does. Dissimilarity is used at the optimum alone.
_z = L * K * eta_c
_sharper = mu * mean_step - (1 - q) * mu**2 * eta_s**2 / 2 - Rational(5, 2) * q * mu**2 * K**2 * eta_c**2
SHARPER = SHARP.edited(
    "sharper",
    "SAFARI, Theorem 5, composed by the kernel",
    title="SAFARI on strongly convex objectives: the exact floor, steps that the curvature does not cap, noise that "
    "falls with the cohort",
    terms=(
        Term("initial", exp(-_sharper * R) * distance**2),
        Term("client_rounds", client_step**2 * sigma_G**2 / _sharper**2),
        Term("drift", (1 + 10 * _z) * q * K**2 * eta_c**2 * sigma_G**2 / _sharper),
        Term("server_noise", (1 - q) * eta_s**2 * sigma_s**2 / _sharper),
        Term("noise", ((1 + _z) / m + Rational(8, 3) * (1 - 1 / K) * _z) * q * K * eta_c**2 * sigma**2 / _sharper),
    ),
    hypotheses=(SERVER_CAP, Hypothesis("drift_cap", at_most(eta_c, 1 / (8 * L * K)), "composed")),
    assumptions=assumptions(*STRONGLY_CONVEX, UNCORRELATED_NOISE, COHORT_BEFORE_NOISE),
)

# Not printed: with participants whose mean is F nothing pulls away from x*, and there is no floor, for every q. The
# algorithm draws nobody, so that the participants are all clients here.
_unbiased = 2 * mu * mean_step - (1 - q) * L * mu * eta_s**2 - 9 * q * L**2 * K**2 * eta_c**2
UNBIASED = SHARP.edited(
    "unbiased",
    "SAFARI, Theorem 5 where all clients take part, not printed",
    title="SAFARI on strongly convex objectives, where the clients' rounds are of all clients: no floor",
    terms=(
        Term("initial", exp(-_unbiased * R) * distance**2),
        Term("drift", 6 * q * K**2 * eta_c**2 * sigma_G**2 / _unbiased),
        Term("server_noise", (1 - q) * eta_s**2 * sigma_s**2 / _unbiased),
        Term("noise", (1 + 1 / M) * q * K * eta_c**2 * sigma**2 / _unbiased),
    ),
    bound={"arbitrary_cohort": M},
)

EDITIONS = (MAIN, APPENDIX, DERIVED, CORRECTED, SHARP, SHARPER, UNBIASED)
