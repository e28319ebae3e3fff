"""Quantities, assumptions and hypotheses that FedAU's statements share.

A round adds (global_lr/clients) * (sum over the participants of weight * update) to x: it divides by the number of all
clients, not of those that take part. Client n takes part in a round with probability p_n, independently of everything
else (Assumption 4).
"""

from __future__ import annotations

from sympy import Integer, ceiling, log

from ....assumptions import INDEPENDENT_NOISE, INDEPENDENT_PARTICIPATION, UNBIASED_NOISE
from ....claims import readings
from ....claims.statement import Ambiguity, Assumption, Hypothesis, numbered, at_least
from ....quantities import symbols

L, sigma, delta, initial_gap = symbols("smoothness", "gradient_noise", "dissimilarity", "initial_gap")
N, I, T = symbols("clients", "local_steps", "rounds")
gamma, eta, G = symbols("local_lr", "global_lr", "global_gradient_bound")
p, p_min = symbols("participation_probability", "least_participation_probability")
K, t = symbols("cutoff", "history")
absence, cutoff_bias = symbols("absence", "cutoff_bias")

ZERO = Integer(0)

assumptions = numbered(
    Assumption("assumption_1", "smoothness", "Assumption 1"),
    Assumption("assumption_2", "gradient_noise", "Assumption 2"),
    Assumption("assumption_3", "dissimilarity", "Assumption 3"),
    Assumption("assumption_5_option_2", "global_gradient_bound", "Assumption 5, Option 2"),
    Assumption("assumption_2_mean", kind=UNBIASED_NOISE, source="Assumption 2"),
    Assumption("assumption_2_independent", kind=INDEPENDENT_NOISE, source="Assumption 2"),
    Assumption("assumption_4", kind=INDEPENDENT_PARTICIPATION, source="Assumption 4"),
)
NONCONVEX = (
    "smoothness", "gradient_noise", "dissimilarity", UNBIASED_NOISE, INDEPENDENT_NOISE, INDEPENDENT_PARTICIPATION,
)  # fmt: skip
OF_WEIGHTS = assumptions(INDEPENDENT_PARTICIPATION)

CONDITION = Ambiguity(
    readings.CONDITION,
    (readings.GIVEN_AN_INTERVAL, readings.IN_EXPECTATION),
    "'based on at least one sample of S_n': in a round before the cutoff, given that an interval has ended, or not",
)

TWO_ROUNDS = Hypothesis("two_rounds", at_least(T, 2), "'when T >= 2'")

R = -1 / (2 * log(1 - p_min))
"""1/log c with c = 1/(1 - p)^2, where p is the least participation probability; c is infinite at p = 1."""

LOGARITHMIC_CUTOFF = {"cutoff": ceiling(log(T) * R)}
"""K = ceil(log_c T)."""

EXPLICIT = "its terms have them as numbers, and it is proved with these"
"""Reason why the constants that an O(.) hides are known."""
