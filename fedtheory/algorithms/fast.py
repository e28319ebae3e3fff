"""FAST: federated averaging with snapshots (FAST, Algorithm 1).

In a snapshot round a uniformly drawn cohort takes part, in every other (arbitrary) round whoever the participation
process brings. Each participant takes ``local_steps`` gradient steps of size ``local_lr`` from the server's model,
and the server averages the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from ..exact import exact_number
from ..participation import Keys, Uniform
from ..quantities import check_values
from ..randomness import uniforms, words


@dataclass(frozen=True)
class Fast:
    """See ``fast``. ``local_lr`` and ``snapshot_probability`` keep an exact value where one was given."""

    cohort: int
    local_lr: Fraction
    local_steps: int = 1
    snapshot_period: int | None = None
    snapshot_probability: Fraction = Fraction(0)
    replacement: bool = False

    @property
    def uniform(self) -> Uniform:
        """The process of the snapshot rounds."""
        return Uniform(self.cohort, self.replacement)

    @property
    def periodic(self) -> bool:
        return self.snapshot_period is not None

    def is_snapshot(self, keys: Keys, round: int) -> Tensor:
        """Which replicas take a snapshot in this round, (replicas,) bool."""
        if self.periodic:
            return torch.full_like(keys.replica_ids, round % self.snapshot_period == 0, dtype=torch.bool)
        return uniforms(words(keys.seed, keys.axis, keys.replica_ids, round)) < float(self.snapshot_probability)

    def quantities(self) -> dict[str, float]:
        """The claims' quantities that the algorithm fixes; a period I stands for the probability 1/I."""
        known = {
            "cohort": self.cohort,
            "local_lr": float(self.local_lr),
            "local_steps": self.local_steps,
            "snapshot_probability": float(self.snapshot_probability),
        }
        return known | ({"snapshot_period": self.snapshot_period} if self.periodic else {})


def fast(
    *,
    cohort: int,
    local_lr: float | str | Fraction,
    local_steps: int = 1,
    snapshot_period: int | None = None,
    snapshot_probability: float | str | Fraction | None = None,
    replacement: bool = False,
) -> Fast:
    """FAST with snapshots either in the rounds 0, I, 2I, ... or with probability q in every round.

    Args:
        cohort: clients in a snapshot round (m).
        local_lr: the clients' step size (eta_c), in units of x^2/F.
        local_steps: gradient steps of a client in a round (K).
        snapshot_period, snapshot_probability: exactly one of them (I, q).
        replacement: whether a snapshot's cohort is drawn with replacement.

    Raises:
        ValueError: a value out of bounds, or both or none of period and probability.

    >>> fast(snapshot_period=2, cohort=2, local_lr="1/100").snapshot_probability
    Fraction(1, 2)
    """
    if (snapshot_period is None) == (snapshot_probability is None):
        raise ValueError("snapshot_period and snapshot_probability: give exactly one of them")
    given = {"cohort": cohort, "local_lr": exact_number("local_lr", local_lr), "local_steps": local_steps}
    if snapshot_period is not None:
        given["snapshot_period"] = snapshot_period
        check_values({"snapshot_period": snapshot_period})
        probability = Fraction(1, int(snapshot_period))
    else:
        probability = exact_number("snapshot_probability", snapshot_probability)
    check_values(given | {"snapshot_probability": probability})
    counts = {name: int(given[name]) for name in ("cohort", "local_steps", "snapshot_period") if name in given}
    return Fast(local_lr=given["local_lr"], snapshot_probability=probability, replacement=replacement, **counts)
