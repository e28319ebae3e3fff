"""Displays (13), (23), (30), (35), (38) and (39) of FAST, composed by the kernel: |grad F(x)|^2 before a snapshot, and
before an arbitrary round, by the fall of F and sums of local gradients; what an arbitrary cohort's local gradients have
along x - x*; |x+ - x*|^2 after a snapshot, an arbitrary round, and a round of either kind, in terms of |x - x*|^2."""

from __future__ import annotations

from functools import partial

from ....proof.kernel.axioms import START_POINT
from ....proof.kernel.regions import Condition
from ....proof.kernel.round_bounds import PROGRESS, bound_round
from ....proof.kernel.round_rules import ARBITRARY, expect_arbitrary, expect_uniform
from ....proof.kernel.run_bounds import FINAL_DISTANCE, RunBound, weaken
from ....proof.kernel.scalars import Ring
from ....proof.kernel.tactics import coefficient, follow, with_letters
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate, over_clients
from ....proof.translate.claim_bounds import Bounds
from . import thm2_curved
from .eq17_eq28 import ROUND, of_round
from .kinds_of_round import LETTERS, RING, K, Kinds, L, eta, m, n, share, sigma_G


def _arbitrary_fall() -> Theorem:
    given = Kinds(convex=False).sgd.summed_descent(sigma_G**2, ARBITRARY)
    return expect_arbitrary(instantiate(given, {"size": n}, given.where), n)


def _snapshot_fall() -> Theorem:
    """With W the sum over the steps of the cohort's mean gradients, and V that of all clients', of which it has the
    mean: <g, V> = (|K g|^2 + |V|^2 - |K g - V|^2)/(2 K), where V - K g is the drift of all clients."""
    sgd = Kinds(convex=False).sgd
    ax, where, g0 = sgd.axioms, sgd.axioms.where, sgd.gradient_at_start
    g, W, w = g0.under("M"), sgd.gradient_along.under("S").under("K"), sgd.cohort_noise
    premises: Multiples = [*sgd.falls(4 / (K * eta)), (sgd.noise_bound, 4 * L * eta / K)]
    falls = combine(premises, where=where, context="cohort", squares=[(W - w, "", 2 * L * eta / K)])
    drawn, drift = (expect_uniform(instantiate(t, {"size": m}, where), m, share, where)
                    for t in (falls, sgd.drift_over("M")))  # fmt: skip
    of_drift = coefficient(drift.form, g0, g0, "M") * 2 / K**2
    near = over_clients(ax.dissimilar(START_POINT, sigma_G**2), "M")
    return follow([(drawn, 1), (drift, 2 / K**2), (near, of_drift)], [(g, "", 1 - of_drift)])


FALL = Ring(" ".join([*RING.names, "R", "slope", "decrease", "summed"]))
"""The letters of a round; rounds, |grad F(x)|, F(x) - E F(x+), and the squared sum of local gradients."""


FALL_OF_ALL = Ring(" ".join([*RING.names, "R", "slope", "decrease", "full", "cohort"]))
"""Letters before a snapshot, with the squared sums of all clients' gradients and of the cohort's."""


snapshot_fall = partial(
    of_round, _snapshot_fall, "squared_gradient", "decrease slope full cohort R", "size", FALL_OF_ALL
)
"""(13)."""
arbitrary_fall = partial(of_round, _arbitrary_fall, "squared_gradient", "decrease slope summed R", ring=FALL)
"""(23): both readings of its cap are stronger than z <= 1/8."""
arbitrary_progress = partial(of_round, thm2_curved.arbitrary_progress, PROGRESS, "start R")
"""(35)."""
arbitrary = partial(of_round, thm2_curved.arbitrary_by_young, FINAL_DISTANCE, "start slope R", "share")
"""(38), with the printed Young parameter as a letter."""


def snapshot() -> RunBound:
    """(30), with room: the kernel's noise is at most 6/5 of sigma^2/m where 2 is printed."""
    return bound_round(thm2_curved.snapshot(), ROUND, FINAL_DISTANCE, ("start", "slope", "R"), plain=True)


def either() -> RunBound:
    """(39): what is taken of mu K eta/2 is 2 (1 - q) sigma_G^2 + 8 z^2, as the condition on q says."""
    made = bound_round(thm2_curved.by_dissimilarity(), ROUND, FINAL_DISTANCE, ("start", "slope", "R"), plain=True)
    names = ("eta", "m", "n", "L", "mu", "K", "q", "sigma", "sigma_G", "start", "R")
    eta, m, n, L, mu, K, q, sigma, sigma_G, D, R = (ROUND[name] for name in names)
    p, z = 1 - q, L * K * eta
    small, rare = 1 / (20 * n * L * K) - eta, (mu * K * eta - 16 * z**2) / (4 * sigma_G**2) - p
    cap = Condition("eta", "capped", 1 / (20 * m * L * K))
    given = with_letters(made, {"size": 1}, [1 - R, small, rare], cap)
    claimed = (1 - mu * K * eta) * D**2 + p * K**2 * eta**2 / 2 + 8 * K**2 * eta**2 * sigma_G**2
    claimed = claimed + 2 * (q / m + p / n) * K * eta**2 * sigma**2
    return weaken(given, claimed, [ROUND.number(0), p * L * K**2 * eta**2 * sigma**2 * 8 / 3, 2 * sigma_G**2 * D**2])


_OF_ROUND = LETTERS | {
    "R": "rounds", "start": "initial_distance", "slope": "gradient_norm", "a": "young_parameter",
}  # fmt: skip
_OF_FALL = LETTERS | {
    "R": "rounds", "slope": "gradient_norm", "decrease": "objective_decrease", "summed": "arbitrary_pseudogradient",
}  # fmt: skip
_OF_FALL_OF_ALL = {name: quantity for name, quantity in _OF_FALL.items() if name != "summed"} | {
    "full": "full_pseudogradient", "cohort": "cohort_pseudogradient",
}  # fmt: skip
BOUNDS: Bounds = {
    "eq13@main": (snapshot_fall, _OF_FALL_OF_ALL, "squared_gradient"),
    "eq23@main": (arbitrary_fall, _OF_FALL, "squared_gradient"),
    "eq30@main": (snapshot, _OF_ROUND, FINAL_DISTANCE),
    "eq35@main": (arbitrary_progress, _OF_ROUND, PROGRESS),
    "eq38@main": (arbitrary, _OF_ROUND, FINAL_DISTANCE),
    "eq39@main": (either, _OF_ROUND, FINAL_DISTANCE),
}
