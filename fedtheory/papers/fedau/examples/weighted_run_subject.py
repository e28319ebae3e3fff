"""Subject of runs and rounds in which the clients' updates have weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....algorithms import Algorithm, fedau
from ....claims.statement import Claim
from ....participation import Bernoulli, Participation
from . import weighted_run_points as run_points
from .contradiction import estimated_weights_findings
from .weighted_run_search import FedauRuns


class WeightedUpdates:
    """Subject of claims about Algorithm 1 of FedAU."""

    name = "fedau"

    def space(self, claim: Claim) -> FedauRuns:
        """Return the space in which the claim is searched."""
        return FedauRuns(claim)

    def findings(self, claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Find consequences of estimated weights for the claim's hypotheses."""
        return estimated_weights_findings(claim)

    def runs_as(self, claim: Claim) -> tuple[Algorithm, Participation]:
        """Return Algorithm 1 with the weights of Algorithm 2, and its participants."""
        return fedau(local_lr="1/10"), Bernoulli(["1/2", "1/4"])

    def parse(self, data: Mapping[str, Any], claim: Claim) -> run_points.FedauPoint:
        """Read a point from plain data, not yet checked."""
        return run_points.parse(data, claim)
