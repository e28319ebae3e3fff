"""The batched engine: all replicas of a setting advance round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..algorithms import ClientRound, Fast, ServerRound
from ..federations.base import Federation, Pairs
from ..participation import Keys
from ..quantities import RUN_QUANTITIES
from ..randomness import Axis
from .checkpoint import Checkpoints
from .local import LocalSGD, average, local_update
from .run import ADAPTIVE_OBSERVABLES, OBSERVABLES, Run

if TYPE_CHECKING:
    from ..setting import Setting

CHUNK_BYTES = 256 * 2**20
"""Size that the parameters of one round's pairs may reach before replicas are split into chunks."""


def simulate(
    setting: Setting,
    *,
    replicas: int = 32,
    rounds: int = 1000,
    seed: int = 0,
    record_every: int | None = None,
    observables: Sequence[str] = OBSERVABLES,
    run_quantities: bool = False,
    chunk: int | None = None,
    device: str = "cpu",
    dtype: torch.dtype = torch.float64,
    directory: str | Path | None = None,
    checkpoint_every: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Simulate ``replicas`` independent runs of ``rounds`` rounds.

    Args:
        record_every: rounds between recorded rows (default: rounds / 100, at least 1); the last round is always
            recorded, and sums, minima and maxima are accumulated in every round.
        observables: what to record, of ``squared_distance`` and ``squared_gradient``; the latter costs a full
            gradient a round. Adaptive snapshots add theirs, see ``Run``.
        run_quantities: also track G_1 to G_3 of FAST (the sums run over the local steps k = 0..K-1); for FAST only.
            With several local steps this trains all clients in snapshot rounds.
        chunk: replicas that advance together (default: as many as ``CHUNK_BYTES`` allows). Draws do not depend on it.
        directory: where to keep checkpoints; an interrupted run continues from the last one.
        checkpoint_every: rounds between checkpoints (default: a tenth of the run).
        progress: called with (replica-rounds done, replica-rounds in all).

    Raises:
        ValueError: a count below 1, a directory that holds another run, run quantities of another algorithm than
            FAST, participants whose number differs between rounds, or adaptive snapshots on a federation that has no
            training accuracy.
    """
    counts = {"replicas": replicas, "rounds": rounds, "record_every": record_every, "chunk": chunk,
              "checkpoint_every": checkpoint_every}  # fmt: skip
    for name, value in counts.items():
        if value is not None and (value < 1 or value != int(value)):
            raise ValueError(f"{name} = {value}: allowed is an integer >= 1")
    unknown = sorted(set(observables) - set(OBSERVABLES))
    if unknown or not observables:
        raise ValueError(f"observables = {list(observables)}: allowed are {', '.join(OBSERVABLES)}")
    if run_quantities and not isinstance(setting.algorithm, Fast):
        raise ValueError(f"run_quantities = True: allowed with Fast only, not {type(setting.algorithm).__name__}")
    fitting = _default_chunk(setting, replicas, dtype)
    size = fitting if chunk is None else chunk
    plan = _Plan(
        setting, rounds, seed, record_every or max(1, rounds // 100), tuple(dict.fromkeys(observables)), run_quantities,
        setting.federation.to(device, dtype), setting.start_vector.to(device, dtype),
    )  # fmt: skip
    if plan.adaptive:
        plan.federation.training_accuracy(plan.start[None])  # refused here, before anything is written
    parts = []
    for start in range(0, replicas, size):
        ids = torch.arange(start, min(start + size, replicas), device=device)
        store = Checkpoints.open(directory, plan.label(ids), checkpoint_every or max(1, rounds // 10))
        parts.append(_run_chunk(plan, ids, store, _shifted(progress, start * rounds, replicas * rounds)))
    return Run.join(parts)


@dataclass(frozen=True)
class _Plan:
    """What all chunks of one simulation share."""

    setting: Setting
    rounds: int
    seed: int
    record_every: int
    observables: tuple[str, ...]
    run_quantities: bool
    federation: Federation
    start: Tensor

    @property
    def adaptive(self) -> bool:
        return self.setting.algorithm.adaptive

    def label(self, ids: Tensor) -> dict[str, Any]:
        """What must agree for a checkpoint to belong to this simulation."""
        return {
            "setting": self.setting.fingerprint(),
            "dtype": str(self.start.dtype),
            "seed": self.seed,
            "rounds": self.rounds,
            "record_every": self.record_every,
            "observables": list(self.observables),
            "run_quantities": self.run_quantities,
            "first_replica": int(ids[0]),
            "replicas": len(ids),
        }


def _default_chunk(setting: Setting, replicas: int, dtype: torch.dtype) -> int:
    cohort = max(process.cohort for process in (setting.participation, *setting.algorithm.own_cohorts))
    per_replica = cohort * setting.federation.dimension * (torch.finfo(dtype).bits // 8)
    return max(1, min(replicas, CHUNK_BYTES // per_replica))


def _shifted(progress: Callable[[int, int], None] | None, done: int, total: int) -> Callable[[int], None]:
    return (lambda more: progress(done + more, total)) if progress else (lambda more: None)


def _run_chunk(plan: _Plan, ids: Tensor, store: Checkpoints, progress: Callable[[int], None]) -> Run:
    state = _State.initial(plan, ids)
    first = store.restore(state)
    participation = plan.setting.participation.init(Keys(plan.seed, Axis.ARBITRARY, ids, plan.federation.clients))
    for round in range(first, plan.rounds + 1):
        state.observe(plan, round)
        if round % plan.record_every == 0 or round == plan.rounds:
            store.record(round, state)
        if round == plan.rounds:
            break
        participation = state.advance(plan, round, participation)
        progress((round + 1) * len(ids))
        store.maybe_save(round + 1, state)
    store.finish(plan.rounds, state)
    return store.load()


@dataclass
class _State:
    """All that changes from round to round; plain tensors, so that it can be saved."""

    ids: Tensor
    x: Tensor
    sums: dict[str, Tensor]
    least: dict[str, Tensor]
    most: dict[str, Tensor]
    current: dict[str, Tensor]
    peaks: Tensor
    diverged_at: Tensor
    probability: Tensor
    """q_r of adaptive snapshots before round r, (replicas,) float64; 0 for others."""
    accuracy: Tensor
    """acc_{r-1} of adaptive snapshots before round r, (replicas,) float64; 0 for others."""

    @classmethod
    def initial(cls, plan: _Plan, ids: Tensor) -> _State:
        names = plan.observables + (ADAPTIVE_OBSERVABLES if plan.adaptive else ())
        zero = torch.zeros(len(ids), dtype=torch.float64, device=ids.device)

        def full(value: float) -> dict[str, Tensor]:
            return {name: torch.full_like(zero, value) for name in names}

        x = plan.start.expand(len(ids), -1).clone()
        peaks = torch.zeros(len(ids), len(RUN_QUANTITIES), dtype=torch.float64, device=ids.device)
        never = torch.full_like(ids, -1)
        return cls(ids, x, full(0.0), full(torch.inf), full(-torch.inf), full(0.0), peaks, never, zero, zero)

    def observe(self, plan: _Plan, round: int) -> None:
        """Record what is known before round r; ``sums`` run over the rounds before this one."""
        values = self._squares(plan) | (self._snapshots(plan, round) if plan.adaptive else {})
        finite = torch.isfinite(self.x).all(1) & torch.isfinite(self.peaks).all(1)
        for name, value in values.items():
            self.sums[name] = self.sums[name] + self.current[name]
            self.current[name] = value
            self.least[name] = torch.minimum(self.least[name], value)
            self.most[name] = torch.maximum(self.most[name], value)
            finite &= torch.isfinite(self.sums[name] + value)
        self.diverged_at = torch.where(~finite & (self.diverged_at < 0), round, self.diverged_at)

    def _squares(self, plan: _Plan) -> dict[str, Tensor]:
        """|x_r - x*|^2 and |grad F(x_r)|^2, infinite where they are no numbers."""
        fed = plan.federation
        vectors = {
            "squared_distance": lambda: self.x - fed.optimum.to(self.x),
            "squared_gradient": lambda: fed.global_gradient(self.x),
        }
        finite = torch.isfinite(self.x).all(1)
        values = {name: vectors[name]().square().sum(1).to(torch.float64) for name in plan.observables}
        return {name: torch.where(finite & ~value.isnan(), value, torch.inf) for name, value in values.items()}

    def _snapshots(self, plan: _Plan, round: int) -> dict[str, Tensor]:
        """q_r, whether round r is a snapshot, and the training accuracy of x_r."""
        return {
            "snapshot_probability": self.probability,
            "snapshot": self._is_first(plan, round).to(torch.float64),
            "training_accuracy": plan.federation.training_accuracy(self.x),
        }

    def _is_first(self, plan: _Plan, round: int) -> Tensor:
        """In which replicas this round is of the algorithm's first kind."""
        keys = Keys(plan.seed, Axis.SNAPSHOT, self.ids, plan.federation.clients)
        return plan.setting.algorithm.is_first(keys, round, self.probability)

    def advance(self, plan: _Plan, round: int, participation: Any) -> Any:
        """One round for every replica; returns the participation process's next state."""
        algorithm, first = plan.setting.algorithm, self._is_first(plan, round)
        counts, participation = plan.setting.participation.step(participation, round)
        before, after = self.x, self.x
        trainings: dict[LocalSGD, Tensor] = {}
        for kind, chosen in zip(algorithm.kinds, (first, ~first), strict=True):
            if isinstance(kind, ServerRound):
                step = float(kind.server_lr) * self._server_gradient(plan, round, before, chosen)
                after = torch.where(chosen[:, None], before - step, after)
            else:
                counts = self._with_own_cohort(plan, round, kind, chosen, counts)
                solver = LocalSGD(kind.local_steps, float(kind.local_lr))
                trainings[solver] = trainings.get(solver, torch.zeros_like(chosen)) | chosen
        for solver, chosen in trainings.items():  # kinds of round that train alike train together
            pairs = Pairs.of((counts > 0) & chosen[:, None], self.ids, plan.seed, round)
            weights = counts[pairs.replica, pairs.client].to(before) / counts.sum(1)[pairs.replica]
            models, gradients = local_update(plan.federation, before[pairs.replica], pairs, solver)
            if plan.run_quantities:
                self._track_peaks(plan, round, first, average(gradients, weights, pairs, len(self.ids)), solver)
            after = torch.where(chosen[:, None], average(models, weights, pairs, len(self.ids)), after)
        self.x = after
        if plan.adaptive:
            accuracy = self.current["training_accuracy"]
            self.probability = algorithm.next_probability(self.probability, self.accuracy, accuracy)
            self.accuracy = accuracy
        return participation

    def _with_own_cohort(self, plan: _Plan, round: int, kind: ClientRound, chosen: Tensor, counts: Tensor) -> Tensor:
        """``counts``, in the chosen replicas those of the cohort that this kind of round draws, if it draws one."""
        if kind.uniform is None or not chosen.any():
            return counts
        draws = kind.uniform.init(Keys(plan.seed, Axis.COHORT, self.ids, plan.federation.clients))
        return torch.where(chosen[:, None], kind.uniform.step(draws, round)[0], counts)

    def _server_gradient(self, plan: _Plan, round: int, x: Tensor, chosen: Tensor) -> Tensor:
        """The server's stochastic gradient at x in the chosen replicas, 0 in others, (replicas, D)."""
        gradient = torch.zeros_like(x)
        if chosen.any():
            gradient[chosen] = plan.federation.server_gradient(x[chosen], self.ids[chosen], plan.seed, round)
        return gradient

    def _track_peaks(self, plan: _Plan, round: int, snapshot: Tensor, mean_gradient: Tensor, solver: LocalSGD) -> None:
        cohort = mean_gradient.square().sum(1).to(torch.float64)
        full = torch.zeros_like(cohort)
        if snapshot.any():
            everyone = snapshot[:, None].expand(-1, plan.federation.clients)
            full = self._full_gradient_sum(plan, round, everyone, solver).square().sum(1).to(torch.float64)
        zero = torch.zeros_like(cohort)
        values = torch.stack(
            [
                torch.where(snapshot, full, zero),
                torch.where(snapshot, zero, cohort),
                torch.where(snapshot, cohort, zero),
            ],
            dim=1,
        )
        # A diverged replica has no finite gradients left; its peaks are infinite, never NaN.
        self.peaks = torch.maximum(self.peaks, torch.where(values.isnan(), torch.inf, values))

    def _full_gradient_sum(self, plan: _Plan, round: int, everyone: Tensor, solver: LocalSGD) -> Tensor:
        """The mean over ALL clients of their sums of local gradients, had all trained (with their own noise)."""
        if solver.steps == 1:
            return plan.federation.global_gradient(self.x)
        pairs = Pairs.of(everyone, self.ids, plan.seed, round)
        weights = torch.full((len(pairs),), 1 / plan.federation.clients, dtype=self.x.dtype, device=self.x.device)
        _, gradients = local_update(plan.federation, self.x[pairs.replica], pairs, solver)
        return average(gradients, weights, pairs, len(self.ids))
