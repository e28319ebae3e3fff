"""Observers of theory: distances, gradients, gaps, accuracies, snapshots and peaks along a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..algorithms import Fast, Updates
from ..algorithms.aggregation import WeightedSum
from ..arguments import check_has, check_kind
from ..federations.federation import ConvexFederation, ExactFederation, Federation, Pairs
from ..federations.local_training import LocalTraining
from ..federations.network_evaluation import Evaluated
from ..quantities import RUN_QUANTITIES, nearest
from ..rationals import checked_count
from .chunked_training import LocalRound, train
from .observer import Observer, Training, convex, exact
from .practice_observers import Evaluation, Loss, RegressionLoss, Traffic, Weights
from .run import OBSERVABLES

if TYPE_CHECKING:
    from ..setting import Setting
    from .state import Plan, State


@dataclass(frozen=True)
class _Square(Observer):
    """|v|^2 of a vector that the federation has at x_r."""

    every: int = 1
    of_points = True

    def check(self, setting: Setting) -> None:
        exact(self.names[0], setting.federation)

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        vectors = self.vector(exact(self.names[0], plan.federation), state)
        value = vectors.square().sum(1).to(torch.float64)
        return {self.names[0]: torch.where(state.finite, value, torch.inf).nan_to_num_(torch.inf, torch.inf)}

    def vector(self, federation: ExactFederation, state: State) -> Tensor:
        """v of each replica, (replicas, D)."""
        raise NotImplementedError


class SquaredDistance(_Square):
    """Observer of |x_r - x*|^2."""

    names = ("squared_distance",)

    def check(self, setting: Setting) -> None:
        convex("squared_distance", setting.federation)

    def vector(self, federation: ExactFederation, state: State) -> Tensor:
        return state.x - convex("squared_distance", federation).optimum_for(state.x)


class SquaredGradient(_Square):
    """Observer of |grad F(x_r)|^2; it costs a full gradient a round."""

    names = ("squared_gradient",)

    def vector(self, federation: ExactFederation, state: State) -> Tensor:
        return state.gradient(federation)


@dataclass(frozen=True)
class Gap(Observer):
    """Observer of F(x_r) - F*; it costs the loss on all data a round."""

    every: int = 1
    of_points = True
    names = ("gap",)

    def check(self, setting: Setting) -> None:
        convex("gap", setting.federation)

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        value = convex("gap", plan.federation).gap(state.x).to(torch.float64)
        return {"gap": torch.where(state.finite, value, torch.inf).nan_to_num_(torch.inf, torch.inf, -torch.inf)}


@dataclass(frozen=True)
class TrainingAccuracy(Observer):
    """Observer of the share of training points that x_r classifies right, see ``Federation.training_accuracy``."""

    every: int = 1
    names = ("training_accuracy",)

    def check(self, setting: Setting) -> None:
        if type(setting.federation).training_accuracy is Federation.training_accuracy:
            setting.federation.training_accuracy(torch.zeros(1, setting.federation.dimension))  # says what is allowed

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        return {"training_accuracy": plan.federation.training_accuracy(state.x)}


@dataclass(frozen=True)
class Snapshots(Observer):
    """Observer of adaptive snapshots: the probability q_r, and 1 if round r is a snapshot, else 0."""

    every: int = 1
    names = ("snapshot_probability", "snapshot")

    def check(self, setting: Setting) -> None:
        if not setting.algorithm.adaptive:
            raise ValueError(f"observer snapshots: allowed with adaptive snapshots only, not {setting.algorithm}")

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        snapshot = state.is_first(plan, round).to(torch.float64)
        return {"snapshot_probability": state.probability, "snapshot": snapshot}


@dataclass(frozen=True)
class Peaks(Observer):
    """Observer of G_1 to G_3 of FAST (``RUN_QUANTITIES``): maxima over the rounds so far.

    They are 0 where there was no round of the kind. The sums run over the local steps k = 0..K-1. With several local
    steps this trains all clients in snapshot rounds.
    """

    needs_gradients = True

    def check(self, setting: Setting) -> None:
        if not isinstance(setting.algorithm, Fast):
            raise ValueError(f"observer peaks: allowed with Fast only, not {type(setting.algorithm).__name__}")
        exact("peaks", setting.federation)

    def initial(self, ids: Tensor) -> dict[str, Tensor]:
        return {name: torch.zeros(len(ids), dtype=torch.float64, device=ids.device) for name in RUN_QUANTITIES}

    def after_training(self, plan: Plan, state: State, round: int, training: Training) -> None:
        snapshot = state.is_first(plan, round)
        aggregation = training.kind.aggregation
        assert isinstance(aggregation, WeightedSum) and training.gradients is not None
        weights = aggregation.weights(training.counts, training.memory)
        mean = Updates(training.gradients, training.pairs, training.counts).combined(weights)
        cohort = mean.square().sum(1).to(torch.float64)
        full = torch.zeros_like(cohort)
        if snapshot.any():
            full = self._full(plan, state, round, snapshot, training.how).square().sum(1).to(torch.float64)
        zero = torch.zeros_like(cohort)
        values = (
            torch.where(snapshot, full, zero),
            torch.where(snapshot, zero, cohort),
            torch.where(snapshot, cohort, zero),
        )
        for name, value in zip(RUN_QUANTITIES, values, strict=True):
            # A diverged replica has no finite gradients left; its peaks are infinite, never NaN.
            state.kept[name] = torch.maximum(state.kept[name], torch.where(value.isnan(), torch.inf, value))

    def _full(self, plan: Plan, state: State, round: int, snapshot: Tensor, how: LocalTraining) -> Tensor:
        """The mean over ALL clients of their sums of local gradients, had all trained (with their own noise)."""
        fed = exact("peaks", plan.federation)
        if how.steps == 1:
            return state.gradient(fed)
        everyone = snapshot[:, None].expand(-1, fed.clients)
        pairs = Pairs.of(everyone, state.ids, plan.seed, round)
        asked = LocalRound(fed, state.x, pairs, how, state.memory, plan.pairs_at_once, summed=True)
        _, _, gradients = train(asked)
        assert gradients is not None
        mean = torch.full(everyone.shape, 1 / fed.clients, dtype=torch.float64, device=everyone.device)
        return Updates(gradients, pairs, everyone).combined(mean)


OBSERVERS: dict[str, type[Observer]] = {
    "squared_distance": SquaredDistance,
    "squared_gradient": SquaredGradient,
    "gap": Gap,
    "training_accuracy": TrainingAccuracy,
    "snapshots": Snapshots,
    "peaks": Peaks,
    "loss": Loss,
    "evaluation": Evaluation,
    "traffic": Traffic,
    "weights": Weights,
}
"""Observers that can be given by name."""


def usual(federation: Federation, record_every: int) -> list[Observer | str]:
    """Return the default observers of a federation.

    Convex problems have squared distance and gradient. Networks have the accuracy on test points, or on training points
    where there are no others, in the recorded rounds; of regression the loss alone.
    """
    if isinstance(federation, ConvexFederation):
        return [*OBSERVABLES]
    if isinstance(federation, Evaluated):
        kind = Evaluation if federation.dataset.classes else RegressionLoss
        return [kind("test" if federation.is_tested else "train", record_every)]
    raise ValueError(f"observers: {type(federation).__name__} has none of its own, allowed is to give some")


def resolve(
    observers: Iterable[Observer | str] | None, setting: Setting, record_every: int = 1
) -> tuple[Observer, ...]:
    """Resolve the observers of a run: names are looked up, each once; ``None`` stands for the usual ones.

    Those that adaptive snapshots always have are added.

    Raises:
        ValueError: there are none, a name is unknown, two observe numbers of one name, or the setting lacks what one of
            them needs.
    """
    if isinstance(observers, str) or not (observers is None or hasattr(observers, "__iter__")):
        check_kind("observers", observers, list, f"a list of observers, or of the names {', '.join(OBSERVERS)}")
    given = list(usual(setting.federation, record_every) if observers is None else observers)
    unknown = [each for each in given if isinstance(each, str) and each not in OBSERVERS]
    if unknown or not given:
        known = f"; {nearest(unknown[0], OBSERVERS)}" if unknown else ""
        raise ValueError(f"observers = {given}: allowed are observers, or of the names {', '.join(OBSERVERS)}{known}")
    found = [OBSERVERS[each]() if isinstance(each, str) else each for each in given]
    for each in found:
        check_has("observers: one", each, ("names", "every", "check"), "an observer, such as Evaluation(), or its name")
    if setting.algorithm.adaptive:
        found += [Snapshots(), TrainingAccuracy()]
    found = list(dict.fromkeys(found))
    names = [name for observer in found for name in observer.names]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"observers = {found}: {', '.join(sorted(twice))} is observed twice, allowed is once")
    for observer in found:
        checked_count("every", observer.every)
        observer.check(setting)
    return tuple(found)
