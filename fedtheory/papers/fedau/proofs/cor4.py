"""Corollary 4, composed by the kernel from Theorem 2 and Lemma B.7.1: the cutoff and the steps are chosen from both.

With gamma the local step, c = gamma eta and W the mean error of the weights, Theorem 2 says, for c and gamma below
caps,

    mean over r < R of E|grad F(x_r)|^2 <= a/c + b c + D(gamma^2, W).

W is bounded by Lemma B.7.1. Then c is the least of the root of A/S and of the caps, S the data of b c; and gamma^2 at
most 1/(L^2 I^2 T).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from ....proof.kernel.interval_bounds import average_errors, choose_cutoff
from ....proof.kernel.regions import Condition
from ....proof.kernel.run_bounds import RunBound
from ....proof.kernel.scalars import Ring
from ....proof.kernel.step_choices import choose_step, put_error
from ....proof.kernel.tactics import restricted
from ....proof.kernel.theorems import Theorem
from ....proof.kernel.weighted_run_bounds import EXPECTED_SCALE, LARGEST_SCALE, telescope_weights
from ....proof.translate.claim_bounds import Bounds, made_bounds
from .thm1_thm2 import bounded, bounded_corrected, nearly_optimal
from .thm1_thm2 import RING as OF_ROUNDS
from .thm3 import RING as OF_INTERVALS
from .thm3 import early_cutoff, early_rounded, late_rounded

_NEW = ("R", "gap", "log", "absence", "bias", "least", "decay", "two", "lead")
RUNS = Ring(" ".join(dict.fromkeys([*OF_ROUNDS.names, *OF_INTERVALS.names, *_NEW])))
"""The letters of Theorems 2 and 3; rounds, F(x_0) - inf F, log R, the means of q and q^(2C), the least p, R of the
cutoff, log 2, and the root by which the step is chosen."""
c, L, K, n, Q, sigma, d, G, R, gap = (RUNS[name] for name in ["c", "L", "K", "n", "Q", "sigma", "d", "G", "R", "gap"])
_one, _two_rounds = RUNS.number(1), Condition("R", "at_least", RUNS.number(2))
_GLOBAL = (_one, 16 * L**2 * K**2)
"""c <= 1/(4 L K)."""
_LOCAL = [(_one, L**2 * K**2 * R), (_one, 240 * L**2 * K**2)]
"""gamma <= 1/(L K sqrt R), and gamma <= 1/(4 sqrt 15 L K)."""
_SCALE = (n**2, (54 * L * K * Q) ** 2)
"""c <= n/(54 L K Q)."""


@cache
def error_of_weights() -> RunBound:
    """(B.7.1)."""
    average = average_errors(late_rounded(), early_cutoff(), RUNS, ("R", "log", "absence", "bias"), early_rounded())
    return choose_cutoff(average, ("least", "decay", "two"))


def _chosen(make: Callable[[], Theorem], share: int, by_scale: bool = True) -> RunBound:
    """Choose the steps, c by Q ``slope``; ``share`` times that, in L/n, is what multiplies c."""
    scale, spread = (LARGEST_SCALE, d**2) if by_scale else (EXPECTED_SCALE, d**2 + G**2)
    slope = K * spread + sigma**2
    given = [1 / (4 * L * K) - c, *([n / (54 * L * K * Q) - c] if by_scale else [])]
    conditions = [Condition("Q", "positive"), Condition("c", "positive"), _two_rounds]
    run = restricted(telescope_weights(make(), RUNS, "R", "gap", scale), {}, conditions, given)
    known = put_error(run, error_of_weights())
    entries = [(gap * n, Q * slope * L * K * R), _GLOBAL, *([_SCALE] if by_scale else [])]
    inverses = [4 * L * K, *([54 * L * K * Q / n] if by_scale else [])]
    chosen = choose_step(known, "weighted_lr", entries, inverses, share * _one / (n * K * R), "lead")
    return choose_step(chosen, "local_lr", _LOCAL)


_LETTERS = {
    "L": "smoothness", "K": "local_steps", "n": "clients", "sigma": "gradient_noise", "d": "dissimilarity",
    "G": "global_gradient_bound", "R": "rounds", "gap": "initial_gap", "peak": "peak_weight_error",
    "least": "least_participation_probability",
}  # fmt: skip
_GIVEN, _EXPECTED = {**_LETTERS, "Q": "weight_scale"}, {**_LETTERS, "Q": "expected_weight_scale"}
_OF_MEAN = "average_squared_gradient"
_BOUNDS: Bounds = {
    "cor4@main": (partial(_chosen, bounded, 27), _GIVEN, _OF_MEAN),
    "cor4.nearly_optimal@main": (partial(_chosen, nearly_optimal, 54), _GIVEN, _OF_MEAN),
    "cor4@corrected": (partial(_chosen, bounded_corrected, 18, by_scale=False), _EXPECTED, _OF_MEAN),
}

DERIVATIONS = made_bounds("fedau", _BOUNDS, of_rounds=True)
"""The claims' theorems."""
