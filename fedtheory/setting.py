"""A setting: a federation, an algorithm, a participation process, a start; everything a claim speaks about."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .algorithms.base import ServerRound
from .exact import exact_array
from .federations.base import Pairs
from .federations.constants import BOUND, EXACT, Constant
from .quantities import CLIENT_ROUND_QUANTITIES, ROUND_QUANTITIES, RUN_QUANTITIES
from .randomness import Axis, normals, words

if TYPE_CHECKING:
    from .algorithms import Algorithm
    from .federations import Federation
    from .participation import Participation
    from .simulation.run import Run


@dataclass(frozen=True)
class Setting:
    """What runs: ``algorithm`` on ``federation``; ``participation`` says who trains in the rounds whose participants
    the algorithm does not draw itself.

    Args:
        federation, algorithm, participation: see their packages.
        start: x_0, a number (the same in every coordinate) or (D,), in units of x.

    Raises:
        ValueError: a start of the wrong shape or not finite, a cohort that the federation cannot supply, or an
            algorithm that needs to know something of the process that it does not know, or minimises another objective
            than one whose weights the federation names.
    """

    federation: Federation
    algorithm: Algorithm
    participation: Participation
    start: Any = 0.0

    def __post_init__(self) -> None:
        self.participation.check(self.federation.clients)
        self.algorithm.check(self.federation.clients, self.participation)
        weighed = self.federation.objective_weight
        if weighed is not None and weighed != self.algorithm.objective_weight(self.federation.clients):
            raise ValueError("objective_weight: allowed is the weighting that the algorithm has: of groups by their "
                             "group_weight, else of all clients alike")  # fmt: skip
        shape = exact_array("start", self.start).shape
        if shape not in ((), (self.federation.dimension,)):
            raise ValueError(f"start has shape {shape}: allowed is () or ({self.federation.dimension},)")

    @cached_property
    def exact_start(self) -> np.ndarray:
        """x_0 as Fractions, (D,)."""
        return np.broadcast_to(exact_array("start", self.start), (self.federation.dimension,)).copy()

    @cached_property
    def start_vector(self) -> torch.Tensor:
        """x_0, (D,) float64."""
        return torch.from_numpy(self.exact_start.astype(float))

    @property
    def deterministic(self) -> bool:
        """Whether every run is the same: no noise, fixed participants or all clients in rounds of every kind, none of
        them selected, and kinds of round that come periodically or always."""
        algorithm, fed = self.algorithm, self.federation
        if any(kind.selection is not None for kind in algorithm.client_rounds):
            return False
        everyone = all(own.cohort == fed.clients and not own.replacement for own in algorithm.own_cohorts)
        noise = max(fed.gradient_noise, fed.server_noise if self._has_server_rounds else 0.0)
        alternates = algorithm.period is not None or (not algorithm.adaptive and algorithm.share in (0, 1))
        return noise == 0 and self.participation.deterministic and everyone and alternates

    @property
    def _has_server_rounds(self) -> bool:
        return any(isinstance(kind, ServerRound) for kind in self.algorithm.kinds)

    def quantities(self, rounds: Any = None, needed: Collection[str] | None = None) -> dict[str, Constant]:
        """The claims' quantities (only those ``needed``, if given) with how each is known.

        Quantities of the run are included where they can be told beforehand: for deterministic runs of a quadratic
        federation, as maxima over all of the first max(rounds) rounds. Quantities of one round are those of the round
        from the start, on a quadratic federation.
        """
        known = dict(self.federation.constants())
        known["clients"] = Constant(self.federation.clients, EXACT, "the federation")
        for name, value in self.algorithm.quantities().items():
            known[name] = Constant(value, EXACT, "the algorithm")
        if self._has_server_rounds:
            known["server_noise"] = Constant(self.federation.server_noise, EXACT, "as constructed")
        fewest, most = self.participation.sizes(self.federation.clients)
        if fewest == most > 0 and all(kind.selection is None for kind in self.algorithm.client_rounds):
            known["arbitrary_cohort"] = Constant(most, EXACT, "the participation process")
        if rounds is not None:
            known["rounds"] = Constant(rounds, EXACT, "given")
        if needed is None or {"initial_gap", "initial_distance"} & set(needed):
            known |= self._initial_quantities()
        if rounds is not None and needed is not None and set(RUN_QUANTITIES) & set(needed):
            known |= self._run_quantities(int(np.max(rounds)))
        if needed is not None and {*ROUND_QUANTITIES, *CLIENT_ROUND_QUANTITIES} & set(needed):
            known |= self._round_quantities()
        return known if needed is None else {name: known[name] for name in needed if name in known}

    def fingerprint(self) -> str:
        """A hash of what decides a run: the clients' gradients at three random points stand for the federation."""
        fed = self.federation
        everyone = Pairs.of(torch.ones(1, fed.clients, dtype=torch.bool), torch.zeros(1).long(), 0, 0)
        content = hashlib.sha256()
        for point in normals(words(0, Axis.GRADIENT_NOISE, torch.arange(3)), fed.dimension):
            content.update(fed.exact_gradient(point.expand(fed.clients, -1), everyone).numpy().tobytes())
        noise = [fed.gradient_noise, fed.noise] + ([fed.server_noise] if self._has_server_rounds else [])
        for part in (self.algorithm, self.participation, *noise):
            content.update(repr(part).encode())
        content.update(self.start_vector.numpy().tobytes())
        return content.hexdigest()

    def _initial_quantities(self) -> dict[str, Constant]:
        """F(x_0) - F* and |x_0 - x*|, widened by what the optimum's certificate leaves open."""
        fed, x = self.federation, self.start_vector
        gap = float(fed.gap(x[None])[0])
        distance = float(torch.linalg.vector_norm(x - fed.optimum))
        kind = EXACT if fed.optimum_error == 0 else BOUND
        how = "" if kind == EXACT else ", widened by the optimum's certificate"
        return {
            "initial_gap": Constant(max(gap, 0.0) + fed.optimal_value_error, kind, "F(x_0) - F(x*)" + how),
            "initial_distance": Constant(distance + fed.optimum_error, kind, "|x_0 - x*|" + how),
        }

    def _run_quantities(self, rounds: int) -> dict[str, Constant]:
        from .algorithms import Fast
        from .federations.quadratic import Quadratic
        from .moments.trajectory import peaks

        stepwise = isinstance(self.algorithm, Fast) and self.algorithm.plain
        if not (self.deterministic and isinstance(self.federation, Quadratic) and stepwise):
            return {}
        how = f"maximum over the deterministic run's first {rounds} rounds"
        return {name: Constant(value, EXACT, how) for name, value in peaks(self, rounds).items()}

    def _round_quantities(self) -> dict[str, Constant]:
        from .federations.quadratic import Quadratic
        from .moments.one_round import one_round

        if not (isinstance(self.federation, Quadratic) and self.algorithm.plain):
            return {}
        found = one_round(self).quantities()
        return {name: Constant(value, EXACT, "the moments of one round") for name, value in found.items()}

    def exact(self, rounds: Any = None) -> Any:
        """Exact expected errors, for quadratic federations: see ``fedtheory.moments.errors``."""
        from .moments.errors import exact_errors

        return exact_errors(self, rounds)

    def simulate(self, replicas: int = 32, rounds: int = 1000, seed: int = 0, **options: Any) -> Run:
        """Simulated runs: see ``fedtheory.simulation.simulate``."""
        from .simulation import simulate

        return simulate(self, replicas=replicas, rounds=rounds, seed=seed, **options)
