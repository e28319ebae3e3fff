"""Theorems 1 to 3: FedAvg with everyone, with S clients drawn by weight, with S of N clients that weigh the same.

The paper counts gradient steps, and bounds E F(w_T) - F* by the distance of w_1. It is stated here where the clients
are synchronised, after R rounds of E = ``local_steps`` steps, where w_T is the server's model. ``step_index`` is 0 at
the first step.

In the edition ``main`` steps are counted from t = 1, so that w_1 is the first model and T = R E + 1. In ``from_0`` they
are counted from t = 0 as the synchronisations t = E, 2E, ... suggest, T = R E, and w_1 is taken for the first model.
The appendix has the same eta_t with a gamma that is less by one, and gamma + 1 in the bound where t counts from 1.

The paper takes gamma = max(8 kappa, E); here gamma is at least both. What is drawn has a reading of its own: the S
clients of Theorem 2 are drawn with replacement, client k with probability p_k, those of Theorem 3 without, all
p_k = 1/N; where N = 1 its C divides by 0.
"""

from __future__ import annotations


from fedtheory.assumptions import INDEPENDENT_DRAWS, UNBIASED_NOISE, UNCORRELATED_NOISE
from fedtheory.claims import readings
from fedtheory.claims.statement import Ambiguity, Assumption, Claim, Hypothesis, Term, at_least
from fedtheory.functionals import FINAL_GAP
from fedtheory.quantities import symbols

L, mu, noise, Gamma, G = symbols(
    "smoothness", "strong_convexity", "weighted_noise", "heterogeneity_gap", "gradient_bound"
)
N, S, E, R = symbols("clients", "arbitrary_cohort", "local_steps", "rounds")
gamma, t, distance = symbols("step_shift", "step_index", "initial_distance")
kappa = L / mu

COHORT, EVERYONE, BY_WEIGHT, UNIFORM = readings.WHO, readings.EVERYONE, readings.BY_WEIGHT, readings.UNIFORMLY

_TITLES = {
    1: "FedAvg with everyone",
    2: "FedAvg with clients drawn by weight, with replacement",
    3: "FedAvg with clients drawn without replacement, of equal weights",
}
_COHORTS = {1: EVERYONE, 2: BY_WEIGHT, 3: UNIFORM}
_SAMPLING = {2: 4 * E**2 * G**2 / S, 3: (N - S) / (N - 1) * 4 * E**2 * G**2 / S}
_WHERE = {"main": "", "from_0": ", steps counted from 0", "appendix": ", proof of Theorem 1"}


def theorem(number: int, edition: str) -> Claim:
    """Return Theorem 1, 2 or 3 in an edition."""
    less = 1 if edition == "appendix" else 0  # the appendix' gamma is max(8 kappa, E) less this
    first = 0 if edition == "from_0" else 1
    outside = kappa / (gamma + less + R * E + first - 1)
    parts = {"noise": noise, "heterogeneity": 6 * L * Gamma, "drift": 8 * (E - 1) ** 2 * G**2}
    if number in _SAMPLING:
        parts["sampling"] = _SAMPLING[number]
    terms = [Term(name, outside * 2 * part / mu) for name, part in parts.items()]
    return Claim(
        id=f"li2020.thm{number}",
        edition=edition,
        title=_TITLES[number],
        source=f"Li et al. 2020, Theorem {number}{_WHERE[edition]}, at the synchronisations",
        functional=FINAL_GAP,
        terms=(*terms, Term("initial", outside * mu * (gamma + less) / 2 * distance**2)),
        hypotheses=(
            Hypothesis("first_step", at_least(gamma, 8 * kappa - less), f"Theorem {number}: gamma = max(8 kappa, E)"),
            Hypothesis("slow_decay", at_least(gamma, E - less), f"Theorem {number}: gamma = max(8 kappa, E)"),
            *([Hypothesis("everyone", at_least(S, N), "full device participation")] if number == 1 else []),
        ),
        assumptions=(
            Assumption("assumption_1", "smoothness", "Assumption 1"),
            Assumption("assumption_2", "strong_convexity", "Assumption 2", from_below=True),
            Assumption("assumption_3", "weighted_noise", "Assumption 3"),
            Assumption("assumption_4", "gradient_bound", "Assumption 4"),
            Assumption("non_iid", "heterogeneity_gap", "degree of non-iid"),
            Assumption("unbiased", kind=UNBIASED_NOISE, source="samples drawn uniformly"),
            Assumption("uncorrelated", kind=UNCORRELATED_NOISE, source="proof of Lemma 2"),
            *([Assumption("draws", kind=INDEPENDENT_DRAWS, source="Assumptions 5 and 6")] if number > 1 else []),
        ),
        ambiguities=(Ambiguity(COHORT, (_COHORTS[number],), "whose models are averaged"),),
        choices={"local_lr": 2 / (mu * (gamma + t + first))},
    )


EDITIONS = ((1, "main"), (1, "from_0"), (1, "appendix"), (2, "main"), (2, "from_0"), (3, "main"), (3, "from_0"))
"""(number, edition) of each theorem."""

CLAIMS = tuple(theorem(*edition) for edition in EDITIONS)
