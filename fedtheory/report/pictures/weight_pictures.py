"""Pictures of FedAU's weights and of what they minimise."""

from __future__ import annotations

from typing import Literal

from matplotlib.figure import Figure
from pydantic import Field

from ...experiments.reading import Listed
from ..settling import plot_inconsistency
from ..weight_figures import plot_cutoffs
from .picture import Kind


class Cutoffs(Kind):
    """Exact errors of FedAU's weights over the cutoff, with the best one: ``plot_cutoffs``."""

    kind: Literal["cutoffs"] = "cutoffs"
    probabilities: Listed[float] = Field(min_length=1, max_length=5)
    rounds: int = Field(ge=2)

    def drawn(self) -> Figure:
        return plot_cutoffs(self.probabilities, self.rounds)


class Inconsistency(Kind):
    """Distance of FedAU's limit from its objective's minimiser with several local steps: ``plot_inconsistency``."""

    kind: Literal["inconsistency"] = "inconsistency"
    local_steps: Listed[int] = Field(min_length=1, max_length=5)
    curvatures: Listed[float] = Field(min_length=2)

    def drawn(self) -> Figure:
        return plot_inconsistency(self.local_steps, self.curvatures)


KINDS = (Cutoffs, Inconsistency)
