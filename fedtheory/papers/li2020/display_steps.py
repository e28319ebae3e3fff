"""The line at which the printed proofs of Theorems 1 to 3 break: the last one of the induction over all steps.

Steps are counted from 0, and eta = 2/(mu (s + t)) at the step t.
"""

from __future__ import annotations

import sympy

from fedtheory.proof.steps import Step
from fedtheory.proof.symbol_regions import at_least, capped, count, nonnegative, positive, region
from fedtheory.proof.write import nonnegative_step

L, mu = sympy.symbols("smoothness strong_convexity")
s, t, gamma, T = sympy.symbols("s t gamma T")

_SCHEDULE = region(
    at_least("s", 8 * L / mu), capped("strong_convexity", L), positive("smoothness"), nonnegative("t")
)  # fmt: skip
"""s >= 8 kappa, at any step."""

STEPS: tuple[Step, ...] = (
    # what is left of |w_1 - w*|^2 is the product of 1 - mu eta = (s + t - 2)/(s + t) over the steps
    nonnegative_step("li2020.start", "Theorem 1", "(s - 2)(s - 1)/((s + t - 2)(s + t - 1)) <= (s - 1)/(s + t - 1)",
                     (s - 1) / (s + t - 1) - (s - 2) * (s - 1) / ((s + t - 2) * (s + t - 1)), _SCHEDULE,
                     printed=False),
    # eta_t = 2/(mu (gamma + t)) from t = 1, so s = gamma + 1
    nonnegative_step("li2020.constants", "Theorem 1", "for the main text's eta_t, whose s is gamma + 1, the induction "
                     "gives gamma/(gamma + T - 1) |w_1 - w*|^2 after T - 1 steps",
                     gamma / (gamma + T - 1) - (gamma + 1) / (gamma + T),
                     region(at_least("gamma", sympy.Integer(8)), count("T")), expected="gap",
                     why="it gives (gamma + 1)/(gamma + T), which is more from T = 2 on: the appendix' gamma is less "
                     "by one, the printed eta_t the same", repaired_by=("li2020.start",),
                     of=tuple(f"li2020.thm{number}@main" for number in (1, 2, 3))),
)  # fmt: skip
