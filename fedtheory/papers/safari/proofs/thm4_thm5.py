"""Theorems 4 and 5 of SAFARI as the kernel composes them: of one round, and of many."""

from __future__ import annotations

from ....proof.kernel.regions import Condition
from ....proof.kernel.run_bounds import FINAL_DISTANCE, MEAN_GRADIENT, RunBound, weaken
from ....proof.kernel.scalars import Ring
from ....proof.kernel.tactics import iterated, of_every_round, with_letters
from ....proof.translate.claim_bounds import Bounds, made_bounds
from .kinds_of_round import LETTERS, RING
from .repaired_editions import DERIVATIONS as OF_KINDS
from .repaired_editions import contraction_corrected
from .thm4 import nonconvex, nonconvex_averaged
from .thm5 import of_everyone, strongly_convex

_EVERYONE = Ring(" ".join([*RING.names, "R", "start", "power", "decay", "N"]))
"""The letters of a round; rounds, |x_0 - x*|, P^R, what the claim has in its place, and how many clients there are."""


def _of_everyone() -> RunBound:
    """Theorem 5 where all clients take part in the clients' rounds: m, which is at least N, has 1/m <= 1/N."""
    short = iterated(of_everyone(), _EVERYONE, "R", "start")
    m, N = _EVERYONE["m"], _EVERYONE["N"]
    given = with_letters(short, {"size": 1}, [m - N], Condition("N", "count"))
    noise = given.bound.coefficients("sigma")[2] * _EVERYONE["sigma"] ** 2 / (1 + 1 / m)
    return weaken(given, given.bound + noise * (1 / N - 1 / m), [noise / (m * N)])


_BOUNDS: Bounds = {
    "thm4@sharper": of_every_round(MEAN_GRADIENT, LETTERS, nonconvex),
    "thm4@averaged": of_every_round(MEAN_GRADIENT, LETTERS, nonconvex_averaged),
    "thm5@sharper": of_every_round(FINAL_DISTANCE, LETTERS, strongly_convex),
    "thm5@corrected": of_every_round(FINAL_DISTANCE, LETTERS, contraction_corrected),
    "thm5@unbiased": (
        _of_everyone, LETTERS | {"R": "rounds", "start": "initial_distance", "N": "clients"}, FINAL_DISTANCE,
    ),
}  # fmt: skip

DERIVATIONS = made_bounds("safari", _BOUNDS, of_rounds=True) + OF_KINDS
"""Each from its theorem on a round, or on rounds of either kind."""
