"""Runs of FedAU's Algorithm 1 in files and searches, and a claim's question about one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from ....algorithms import fedau, given_weights
from ....claims import readings
from ....claims.statement import Claim
from ....federations import Quadratic
from ....functionals import AVERAGE_SQUARED_WEIGHTED_GRADIENT, AVERAGES, HISTORY, OBJECTIVE_WEIGHT
from ....moments.evaluators import EXACT, Question
from ....participation import Bernoulli
from ....setting import Setting

STEPS = ("local_lr", "global_lr")

Row = tuple[Any, ...]
"""Numbers, one for each client or for each coordinate."""


@dataclass(frozen=True)
class FedauRun:
    """Algorithm 1 with everything that it runs on; numbers are Fractions, or floats.

    Attributes:
        curvatures, slopes: (N, D), h and g of each client, F_n(x) = sum_d h_d x_d^2/2 + g_d x_d.
        start: (D,), x_0. gradient_noise: sigma.
        probabilities: (N,), p_n.
        local_steps: I. local_lr, global_lr: gamma and eta; ``None``: the claim chooses them.
        rounds: T.
        weights: given ones, in round t those of ``weights[t % len(weights)]``; () for Algorithm 2's.
        cutoff: K of Algorithm 2, an integer >= 1 or ``math.inf``; ``None`` where weights are given, or the claim
            chooses it.
        objective: (N,), phi_n >= 0 with sum 1, where a claim leaves it open; else ().
        history: (rounds, N) of 0 and 1, for a claim about round 0: who takes part in it and in those after it, in a run
            whose estimated weights are all known; else ().
    """

    curvatures: tuple[Row, ...]
    slopes: tuple[Row, ...]
    start: Row
    gradient_noise: Any
    probabilities: Row
    local_steps: int
    local_lr: Any
    global_lr: Any
    rounds: int
    weights: tuple[Row, ...] = ()
    cutoff: int | float | None = None
    objective: Row = ()
    history: tuple[tuple[int, ...], ...] = ()

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.slopes)

    @property
    def dimension(self) -> int:
        """The dimension of the iterates."""
        return len(self.start)

    @property
    def smoothness(self) -> Any:
        """The largest |curvature| of a client."""
        return max(abs(h) for row in self.curvatures for h in row)

    @property
    def weights_vary(self) -> bool:
        """Whether the weights depend on who takes part, of a run whose cutoff is settled: estimated ones do unless all
        of them are 1."""
        if self.weights:
            return False
        assert self.cutoff is not None
        return min(self.rounds - 1, self.cutoff) > 1

    def setting(self) -> Setting:
        """Return the setting; where the claim chooses, it has a step of 1 and no cutoff."""
        return self._setting

    @cached_property
    def _setting(self) -> Setting:
        steps = {name: 1 if getattr(self, name) is None else getattr(self, name) for name in STEPS}
        algorithm = (
            given_weights(aggregation_weight=self.weights, local_steps=self.local_steps, **steps)
            if self.weights
            else fedau(cutoff=self.cutoff or math.inf, local_steps=self.local_steps, **steps)
        )
        federation = _federation(self.curvatures, self.slopes, self.gradient_noise)
        return Setting(federation, algorithm, Bernoulli(self.probabilities), self.start)

    def question(
        self,
        statement: Claim,
        numbers: str = EXACT,
        rounds: Any = None,
        reading: Mapping[str, str] | None = None,
        steps: Mapping[str, Any] | None = None,
    ) -> Question:
        """Ask a claim's question about the run, over its own rounds unless told otherwise.

        The mean over rounds is from round 0 on. ``steps`` are those that the claim chooses. Before it has, runs stay
        where they start, as with steps of 0.
        """
        objective = statement.functional.objective or self.objective
        besides = {OBJECTIVE_WEIGHT: objective, HISTORY: self.history}
        return Question(
            self.setting(),
            self.rounds if rounds is None else rounds,
            {**(reading or {}), readings.AVERAGE: AVERAGES[1]},
            numbers,
            {name: value for name, value in besides.items() if value}
            | {name: 0 for name in STEPS if getattr(self, name) is None}
            | dict(steps or {}),
        )


@lru_cache(maxsize=4)  # one run has several settings
def _federation(curvatures: tuple[Row, ...], slopes: tuple[Row, ...], gradient_noise: Any) -> Quadratic:
    return Quadratic.with_slopes(curvatures, slopes, gradient_noise)


# Claims -------------------------------------------------------------------------------------------------------------


def is_about_a_round(statement: Claim) -> bool:
    """Whether it is about one round; else about runs."""
    return statement.functional.scope == "round"


def chooses_cutoff(statement: Claim) -> bool:
    """Whether it is about Algorithm 2's weights with a cutoff of its own choice."""
    return "cutoff" in statement.choices


def may_estimate(statement: Claim) -> bool:
    """Whether the weights may be Algorithm 2's: not where the claim uses a Q that is then random, unless it chooses the
    cutoff, so that it is about nothing else."""
    if is_about_a_round(statement):
        return any(a.name == readings.CONDITIONING for a in statement.ambiguities)
    constant = statement.functional == AVERAGE_SQUARED_WEIGHTED_GRADIENT
    return chooses_cutoff(statement) or not (constant or "weight_scale" in statement.quantities)


def bounds_gradient(statement: Claim) -> bool:
    """Whether it assumes a bounded gradient (Option 2 of Assumption 5)."""
    return "global_gradient_bound" in {*statement.quantities, *(a.quantity for a in statement.assumptions)}
