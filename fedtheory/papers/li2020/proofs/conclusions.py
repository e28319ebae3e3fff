"""Conclusions of the steps, before a claim is looked at: for steps counted from 1 and from 0, and whoever is drawn."""

from __future__ import annotations

import sympy

from fedtheory.proof.derivations import Derivation

from ..statements.theorems import BY_WEIGHT, COHORT, EDITIONS, EVERYONE, UNIFORM
from ..displays.sums import noise_left
from ..displays.symbols import E, G, Gamma, L, N, S, mu, noise, s

R, gamma, t, distance = sympy.symbols("rounds step_shift step_index initial_distance")

_DRAWN = ("li2020.recursion_of_draws", "li2020.later")
_SAMPLING = {
    EVERYONE: (sympy.Integer(0), ()),
    BY_WEIGHT: (4 * E**2 * G**2 / S, (*_DRAWN, "li2020.with_replacement")),
    UNIFORM: ((N - S) / (N - 1) * 4 * E**2 * G**2 / S, (*_DRAWN, "li2020.without_replacement")),
}


_WAYS = {
    "main": (1, (s - 1) / (s + R * E - 1), ("li2020.start", "li2020.constants")),
    "from_0": (0, s / (s + R * E), ("li2020.induction",)),
    "appendix": (1, s / (s + R * E), ("li2020.induction",)),
}
"""The number of the first step, what is left of |w_1 - w*|^2, and the steps that show it."""


def _derivation(number: int, edition: str) -> Derivation:
    cohort = (EVERYONE, BY_WEIGHT, UNIFORM)[number - 1]
    sampling, drawn = _SAMPLING[cohort]
    first, start, steps = _WAYS[edition]
    added = noise + 6 * L * Gamma + 8 * (E - 1) ** 2 * G**2
    squared = start * distance**2 + noise_left(R * E) * added + noise_left(R * E - 1) * sampling
    return Derivation(
        f"Theorem {number}, {edition}",
        functional="final_gap",
        steps=(*steps, "li2020.gap", "li2020.steps_taken", *drawn),
        right_side=(L / 2 * squared).xreplace({s: gamma + first}),
        needs=(("cap", gamma + first - 8 * L / mu), ("halving", gamma + first - E)),
        assumptions=("smoothness", "strong_convexity", "weighted_noise", "gradient_bound", "heterogeneity_gap"),
        readings={COHORT: cohort},
        choices={"local_lr": 2 / (mu * (gamma + t + first))},
        proves=(f"li2020.thm{number}@{edition}",),
    )


DERIVATIONS = tuple(_derivation(*edition) for edition in EDITIONS)
