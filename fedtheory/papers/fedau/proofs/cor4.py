"""Corollary 4, composed by the kernel from Theorem 2 and Lemma B.7.1: the steps and the cutoff are chosen from both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sympy import Expr, Symbol, sqrt

from ....claims import readings
from ....proof.composition import OfRounds
from ....proof.derivations import Derivation
from ....proof.steps import Step
from ....proof.translate.chosen_steps import ChosenSteps
from ....proof.translate.cutoffs import LogarithmicCutoff
from ....proof.translate.weighted_updates import PLAIN, OfWeights
from ....quantities import symbols
from .thm1_thm2 import bounded, bounded_corrected, nearly_optimal
from .thm3 import early_cutoff, early_rounded, late_rounded

L, I, N, T = symbols("smoothness", "local_steps", "clients", "rounds")
sigma, delta, G = symbols("gradient_noise", "dissimilarity", "global_gradient_bound")
Q, Q_expected = symbols("weight_scale", "expected_weight_scale")


SUMMED = {readings.AVERAGE: readings.FROM_ROUND_0}
OF_F = {
    "eta": "local_lr", "L": "smoothness", "K": "local_steps", "n": "clients", "sigma": "gradient_noise",
    "d": "dissimilarity", "G": "global_gradient_bound", "c": Symbol("local_lr") * Symbol("global_lr"),
    "peak": "peak_weight_error", "E": "weight_error", "Q": "weight_scale",
}  # fmt: skip


def _slope(scale: Expr, spread: Expr) -> Expr:
    return L * scale * spread / N


_chosen = partial(
    ChosenSteps, local_lr=1 / (L * I * sqrt(T)), local_cap=1 / (4 * sqrt(15) * L * I),
    error=LogarithmicCutoff(late_rounded, early=early_rounded, first=early_cutoff, averaged=True),
)  # fmt: skip

THEOREMS = {
    "cor4@main": _chosen(
        bounded, OF_F, slope=_slope(Q, I * delta**2 + sigma**2),
        weights=OfWeights(PLAIN, SUMMED | {readings.SCALE: readings.KNOWN_BEFOREHAND}),
    ),
    "cor4.nearly_optimal@main": _chosen(
        nearly_optimal, OF_F, slope=_slope(Q, I * delta**2 + sigma**2),
        weights=OfWeights(PLAIN, SUMMED | {readings.SCALE: readings.KNOWN_BEFOREHAND}),
    ),
    "cor4@corrected": _chosen(
        bounded_corrected, {**OF_F, "Q": "expected_weight_scale"}, weights=OfWeights(PLAIN, SUMMED),
        slope=_slope(Q_expected, I * (delta**2 + G**2) + sigma**2),
    ),
}  # fmt: skip


def of_claims(theorems: Mapping[str, OfRounds], says: str) -> tuple[tuple[Step, ...], tuple[Derivation, ...]]:
    """Return the steps and derivations of theorems, each of the claim that has its name."""
    names = {name: f"fedau.{name.replace('@', '.')}.composed" for name in theorems}
    return (
        tuple(theorem.step(names[name], "composed", says) for name, theorem in theorems.items()),
        tuple(
            theorem.derivation(f"composed, fedau.{name}", names[name], (f"fedau.{name}",))
            for name, theorem in theorems.items()
        ),
    )


STEPS, DERIVATIONS = of_claims(THEOREMS, "Theorem 2 and Lemma B.7.1, by the kernel")
