"""Settings: a federation, an algorithm, a participation process, a start; everything a claim speaks about."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import numpy as np

from .algorithms.algorithm import OwnRound, ServerRound
from .arguments import check_has
from .doors import through
from .extras import is_tensor, torch
from .rationals import exact_array

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

    from .algorithms.algorithm import Algorithm
    from .federations.constants import Constant
    from .federations.federation import Federation
    from .moments.expected_errors import ExactErrors
    from .moments.stationary import FixedPoint, Stationary
    from .participation import Participation
    from .simulation.observer import Observer
    from .simulation.run import Run
    from .simulation.trackers import Tracker
    from .simulation.tracking import Tracking


class SimulationOptions(TypedDict, total=False):
    """Options of ``simulation.simulate`` beside ``replicas``, ``rounds`` and ``seed``: see there."""

    record_every: int | None
    observers: Sequence[Observer | str] | None
    chunk: int | None
    pairs_at_once: int | None
    memory_limit: int | None
    threads: int
    device: str | torch.device
    dtype: str | torch.dtype | None
    directory: str | Path | None
    checkpoint_every: int | None
    progress: Callable[[int, int], None] | bool | None
    executor: Executor | None
    mixed: bool
    keep_models: int | None
    memory_on_disk: bool | None
    start: Run | None
    track: str | Tracker | Tracking | None


Found = TypeVar("Found")

OF_START = ("federation", "participation", "start", "exact_start", "start_vector")
"""Names of what a setting knows besides its algorithm, some of it once it was asked for."""

KEPT = ("_kept", "_of_any_start", "_of_any_algorithm")
"""Names of the stores of what was computed of a setting."""


@dataclass(frozen=True)
class Setting:
    """Setting in which ``algorithm`` runs on ``federation``; ``participation`` says who trains in the rounds whose
    participants the algorithm does not draw itself.

    Args:
        federation, algorithm, participation: see their packages.
        start: x_0, a number (the same in every coordinate) or (D,), in units of x. ``None`` means 0; a federation that
            ``starts``, such as a network with its initial weights, draws a start for each replica instead.

    Raises:
        ValueError: the start has the wrong shape or is not finite; the federation cannot supply a cohort; the algorithm
            needs to know something of the process that it does not know; or it minimises another objective than one
            whose weights the federation names.
    """

    federation: Federation
    algorithm: Algorithm
    participation: Participation
    start: Any = None

    def __post_init__(self) -> None:
        check_has(
            "federation",
            self.federation,
            ("clients", "dimension", "gradient"),
            "a federation, such as federations.Quadratic.common_hessian(offsets=[1, -1])",
        )
        check_has(
            "algorithm", self.algorithm, ("kinds", "check"), "an algorithm, such as algorithms.fedavg(local_lr=0.1)"
        )
        check_has(
            "participation",
            self.participation,
            ("step", "init", "check"),
            "a process, such as participation.Uniform(cohort=2)",
        )
        self.participation.check(self.federation.clients)
        self._check_algorithm()
        shape = self._checked_shape()
        if shape not in ((), (self.federation.dimension,)):
            raise ValueError(f"start has shape {shape}: allowed is () or ({self.federation.dimension},)")

    def _check_algorithm(self) -> None:
        if (known := self.algorithm.for_federation(self.federation)) is not self.algorithm:
            object.__setattr__(self, "algorithm", known)
        self.algorithm.check(self.federation.clients, self.participation)
        weighed = self.federation.objective_weight
        if weighed is not None and weighed != self.algorithm.objective_weight(self.federation.clients):
            raise ValueError(
                "objective_weight: allowed is the weighting that the algorithm has: of groups by their "
                "group_weight, else of all clients alike"
            )

    def _checked_shape(self) -> tuple[int, ...]:
        """The shape of the start; ``ValueError`` if it is not finite."""
        if self._floating:
            if not np.isfinite(np.asarray(self.start)).all():
                raise ValueError("start has entries that are not finite: allowed are finite numbers")
            return tuple(self.start.shape)
        return () if self.start is None else exact_array("start", self.start).shape

    @property
    def _floating(self) -> bool:
        """Whether the start is an array of floats already; a network's has too many entries for Fractions."""
        if is_tensor(self.start):
            return self.start.is_floating_point()
        return isinstance(self.start, np.ndarray) and self.start.dtype.kind == "f"

    @property
    def starts_at_random(self) -> bool:
        """Whether every replica has a start of its own, drawn by the federation."""
        return self.start is None and self.federation.starts

    @cached_property
    def exact_start(self) -> np.ndarray:
        """Start x_0 as Fractions, (D,).

        Raises:
            ValueError: every replica draws its own.
        """
        start = 0 if self.start is None else self.start
        if self.starts_at_random:
            raise ValueError("start: every replica draws its own; allowed here is one that is given")
        return np.broadcast_to(exact_array("start", start), (self.federation.dimension,)).copy()

    @cached_property
    def start_vector(self) -> torch.Tensor:
        """Start x_0, (D,) float64.

        Raises:
            ValueError: every replica draws its own.
        """
        if self._floating and np.ndim(self.start) == 1:
            return torch.as_tensor(self.start, dtype=torch.float64, device="cpu")
        return torch.from_numpy(self.exact_start.astype(float))

    def starts(self, seed: int, replica_ids: torch.Tensor) -> torch.Tensor:
        """Return x_0 of each replica, (replicas, D), on the CPU; a replica's depends on its number and the seed
        alone."""
        if self.starts_at_random:
            return self.federation.initial(seed, replica_ids.cpu())
        return self.start_vector.expand(len(replica_ids), -1)

    @property
    def deterministic(self) -> bool:
        """Whether every run is the same: no noise, fixed participants or all clients in rounds of every kind, none of
        them selected, and kinds of round that come periodically or always."""
        algorithm, fed = self.algorithm, self.federation
        if any(kind.selection is not None for kind in algorithm.client_rounds):
            return False
        everyone = all(own.cohort == fed.clients and not own.replacement for own in algorithm.own_cohorts)
        quiet = fed.deterministic and (fed.server_noise == 0 or not self.has_server_rounds)
        alternates = algorithm.period is not None or (not algorithm.adaptive and algorithm.share in (0, 1))
        if self.starts_at_random:
            return False
        return quiet and self.participation.deterministic and everyone and alternates

    @property
    def has_server_rounds(self) -> bool:
        """Whether the server makes rounds of its own, or may ask for its gradient in others."""
        return any(isinstance(kind, ServerRound | OwnRound) for kind in self.algorithm.kinds)

    def fingerprint(self) -> str:
        """Return a hash of all that decides a run."""
        content = hashlib.sha256(self.federation.identity(self.has_server_rounds))
        for part in (self.algorithm, self.participation):
            content.update(repr(part).encode())
        content.update(b"drawn" if self.starts_at_random else self.start_vector.numpy().tobytes())
        return content.hexdigest()

    def once(self, what: Hashable, compute: Callable[[], Found]) -> Found:
        """Return ``compute()``, kept under the name ``what`` for as long as the setting is."""
        if what not in self._kept:
            self._kept[what] = compute()
        return self._kept[what]

    def started(self, start: Any) -> Setting:
        """Return the setting with another x_0. Results that do not depend on the start are made once for all settings
        that come from one another so."""
        other = replace(self, start=start)
        other.__dict__["_of_any_start"] = self.__dict__.setdefault("_of_any_start", {})
        return other

    def running(self, algorithm: Algorithm) -> Setting:
        """Return the setting with another algorithm, the same one for the same algorithm.

        What depends on the federation and the start alone is computed once for all settings that come from one another
        so.
        """
        return self.once(("running", algorithm), lambda: self._running(algorithm))

    def _running(self, algorithm: Algorithm) -> Setting:
        other = object.__new__(type(self))  # all else was checked
        shared = {name: self.__dict__[name] for name in OF_START if name in self.__dict__}
        kept = self.__dict__.setdefault("_of_any_algorithm", {})
        other.__dict__.update(shared, algorithm=algorithm, _of_any_algorithm=kept)
        other._check_algorithm()
        return other

    def whatever_the_algorithm(self, what: Hashable, compute: Callable[[], Found]) -> Found:
        """Return ``compute()``, kept under the name ``what`` where other settings share it (see ``running``)."""
        shared = self.__dict__.setdefault("_of_any_algorithm", {})
        if what not in shared:
            shared[what] = compute()
        return shared[what]  # type: ignore[no-any-return]

    def whatever_the_start(self, what: Hashable, compute: Callable[[], Found]) -> Found:
        """Return ``compute()``, kept under the name ``what`` where other settings share it (see ``started``)."""
        if "_of_any_start" not in self.__dict__:
            return compute()
        shared = self.__dict__["_of_any_start"]
        if what not in shared:
            shared[what] = compute()
        return shared[what]  # type: ignore[no-any-return]

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields that are copied and sent to other processes, without results that are only kept."""
        return {name: value for name, value in self.__dict__.items() if name not in KEPT}

    # What follows is computed by packages above, which know settings: see ``doors``.

    def quantities(
        self, rounds: Any = None, needed: Collection[str] | None = None, **options: Any
    ) -> dict[str, Constant]:
        """Compute the claims' quantities (only those ``needed``, if given) with how each is known: see
        ``fedtheory.moments.evaluators.quantities``."""
        found: dict[str, Constant] = through("setting.quantities")(self, rounds, needed, **options)
        return found

    def exact(self, rounds: Any = None, exact: bool = False) -> ExactErrors:
        """Compute exact expected errors, for quadratic federations: see
        ``fedtheory.moments.expected_errors.exact_errors``."""
        found: ExactErrors = through("setting.exact")(self, rounds, exact)
        return found

    def simulate(
        self,
        replicas: int | None = None,
        rounds: int = 1000,
        seed: int | None = None,
        **options: Unpack[SimulationOptions],
    ) -> Run:
        """Simulate runs, 32 with seed 0 if nothing else is said: see ``fedtheory.simulation.simulate``."""
        run: Run = through("setting.simulate")(self, replicas=replicas, rounds=rounds, seed=seed, **options)
        return run

    def fixed_point(self, exact: bool = False) -> FixedPoint:
        """Compute the point at which the expected model settles: see ``fedtheory.moments.stationary.fixed_point``."""
        found: FixedPoint = through("setting.fixed_point")(self, exact)
        return found

    def stationary(self, exact: bool = False) -> Stationary:
        """Compute the moments of the law to which runs tend: see ``fedtheory.moments.stationary.stationary``."""
        found: Stationary = through("setting.stationary")(self, exact)
        return found
