"""Conclusions of the steps, before the claim is looked at."""

from __future__ import annotations

import sympy

from fedtheory.proof.derivations import Derivation

from ..displays.symbols import H, L, M, gamma, mu, sigma

R, distance, spread, taking_part = sympy.symbols("rounds initial_distance dissimilarity arbitrary_cohort")

DERIVATIONS = (
    Derivation(
        "one step of the mean, R H times",
        functional="final_squared_distance",
        steps=("khaled2020.floors", "khaled2020.steps_taken"),
        right_side=(1 - gamma * mu) ** (H * R) * distance**2
        + gamma * sigma**2 / (mu * M) + 2 * L * gamma**2 * (H - 1) * sigma**2 / mu,
        needs=(("cap", 1 - 4 * L * gamma), ("identical", -spread), ("everyone", taking_part - M)),
        assumptions=("smoothness", "strong_convexity", "gradient_noise", "dissimilarity"),
        proves=("khaled2020.thm1@main",),
    ),
)  # fmt: skip
