"""Pictures of selection: policies beside the best in hindsight."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from ...experiments.part_models import built, union
from ...experiments.reading import Listed, Strict
from ..participation_figures import plot_gap, plot_long_term
from .picture import Kind


class Trace(Strict):
    """Clients that are available, round by round: a process, by name."""

    name: str
    availability: union("availability")  # type: ignore[valid-type]


class Selection(Kind):
    """Base of the pictures of selection.

    Attributes:
        traces: processes of availability.
        rounds: of each.
        seed: of the draws; replica n has this seed plus n.
        budget: k, clients a round.
        group_weight: p_j.
    """

    traces: Listed[Trace] = Field(min_length=1, max_length=4)
    rounds: int = Field(ge=20)
    seed: int = Field(default=0, ge=0)
    budget: float = Field(gt=0)
    group_weight: Listed[float] = Field(min_length=1)

    def drawn_traces(self, seed: int) -> dict[str, np.ndarray]:
        """Draw the counts (rounds, groups) of each process, by name."""
        return {each.name: built(each.availability).trace(self.rounds, seed) for each in self.traces}


class LongTerm(Selection):
    """Each group's participation under each policy, beside the best in hindsight: ``plot_long_term``."""

    kind: Literal["long_term"] = "long_term"

    def drawn(self) -> Figure:
        return plot_long_term(self.drawn_traces(self.seed), self.budget, np.array(self.group_weight))


class Gap(Selection):
    """Gap of the online policy to the best in hindsight, and how it closes: ``plot_gap``."""

    kind: Literal["gap"] = "gap"
    replicas: int = Field(default=10, ge=1)

    def drawn(self) -> Figure:
        prefixes = np.unique(np.geomspace(20, self.rounds, 16).astype(int)).tolist()
        drawn = [self.drawn_traces(self.seed + replica) for replica in range(self.replicas)]
        return plot_gap(
            {name: [each[name] for each in drawn] for name in drawn[0]},
            self.budget,
            np.array(self.group_weight),
            prefixes,
        )


KINDS = (LongTerm, Gap)
