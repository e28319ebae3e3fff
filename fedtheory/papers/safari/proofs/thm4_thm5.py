"""Theorems 4 and 5 of SAFARI as the kernel composes them: of one round, and of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ....proof.kernel.run_bounds import FINAL_DISTANCE, MEAN_GRADIENT, RunBound
from ....proof.kernel.tactics import of_runs, over_rounds
from ....proof.translate.claim_bounds import made_bounds
from .kinds_of_round import LETTERS
from .repaired_editions import DERIVATIONS as OF_KINDS
from .repaired_editions import contraction_corrected
from .thm4 import nonconvex, nonconvex_averaged
from .thm5 import strongly_convex

_ROUNDS = {
    "thm4@sharper": (nonconvex, MEAN_GRADIENT),
    "thm4@averaged": (nonconvex_averaged, MEAN_GRADIENT),
    "thm5@sharper": (strongly_convex, FINAL_DISTANCE),
    "thm5@corrected": (contraction_corrected, FINAL_DISTANCE),
}
"""The theorem on one round from which each claim's bound follows, and what is bounded."""


def _over_rounds(ref: str) -> RunBound:
    make, functional = _ROUNDS[ref]
    return over_rounds(make(), functional)


_BOUNDS: dict[str, tuple[Callable[[], RunBound], Mapping[str, str], str]] = {
    ref: (partial(_over_rounds, ref), LETTERS | of_runs(what), what) for ref, (_, what) in _ROUNDS.items()
}

DERIVATIONS = made_bounds("safari", _BOUNDS, of_rounds=True) + OF_KINDS
"""Each from its theorem on a round, or on rounds of either kind."""
