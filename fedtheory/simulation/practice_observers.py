"""Observers of what a practitioner watches: accuracy on test data, bytes sent, weights, participants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..algorithms import FedAUWeights
from .observer import Observer, Training, exact

if TYPE_CHECKING:
    from ..setting import Setting
    from .state import Plan, State


@dataclass(frozen=True)
class Loss(Observer):
    """Observer of F(x_r); it costs the loss on all data."""

    every: int = 1
    names = ("loss",)

    def check(self, setting: Setting) -> None:
        exact("loss", setting.federation)

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        value = exact("loss", plan.federation).global_loss(state.x).to(torch.float64)
        return {"loss": torch.where(value.isfinite(), value, torch.inf)}


@dataclass(frozen=True)
class Evaluation(Observer):
    """Observer of loss and accuracy of x_r on clients' points, without dropout.

    ``test_loss`` and ``test_accuracy`` are the means over the clients that have such points. ``test_accuracy_worst`` is
    that of the worst client, and ``test_loss_spread`` and ``test_accuracy_spread`` the standard deviations over them. A
    point whose scores are not finite is classified wrong.

    With groups also ``test_accuracy_group_0``, ..., the means over each group's clients, and the worst of these and
    their standard deviation, ``test_accuracy_worst_group`` and ``test_accuracy_group_spread``.

    Args:
        of: "test", or "train" for the clients' training points (``train_loss``, ...).
        every: rounds between two looks.
        by_client: whether to keep every client's numbers too, ``test_loss_by_client`` and ``test_accuracy_by_client``;
            NaN for a client that has no such points.
        groups: each client's group, 0, 1, ..., such as a partition's ``groups``; ``None``: none.

    Raises:
        ValueError: another ``of``, or groups that are not numbered from 0.
    """

    of: str = "test"
    every: int = 1
    by_client: bool = False
    groups: Any = None

    def __post_init__(self) -> None:
        if self.of not in ("test", "train"):
            raise ValueError(f"of = {self.of!r}: allowed is 'test' or 'train'")
        if self.groups is not None:
            groups = tuple(int(g) for g in self.groups)
            if not groups or sorted(set(groups)) != list(range(max(groups) + 1)):
                raise ValueError(f"groups = {groups}: allowed are numbers 0, 1, ..., each of at least one client")
            object.__setattr__(self, "groups", groups)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        accuracy = f"{self.of}_accuracy"
        loss = f"{self.of}_loss"
        found = [loss, f"{loss}_spread", accuracy, f"{accuracy}_worst", f"{accuracy}_spread"]
        if self.groups is not None:
            found += [f"{accuracy}_group_{g}" for g in range(max(self.groups) + 1)]
            found += [f"{accuracy}_worst_group", f"{accuracy}_group_spread"]
        return (*found, *self.per_client)

    @property
    def per_client(self) -> tuple[str, ...]:  # type: ignore[override]
        return (f"{self.of}_loss_by_client", f"{self.of}_accuracy_by_client") if self.by_client else ()

    def check(self, setting: Setting) -> None:
        fed: Any = setting.federation
        if not hasattr(fed, "client_losses"):
            raise ValueError(f"observer evaluation: allowed with a Network only, not {type(fed).__name__}")
        if not fed.dataset.classes:
            raise ValueError("observer evaluation: data of regression have no accuracy; allowed is RegressionLoss()")
        if self.of == "test":
            fed.check_test()
        if self.groups is not None and len(self.groups) != fed.clients:
            raise ValueError(f"groups: there are {len(self.groups)}, allowed is one for each of {fed.clients} clients")

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        fed: Any = plan.federation
        losses, accuracies = fed.client_losses(state.x, self.of)
        losses = _finite_or_infinite(losses, accuracies)
        mean, _, spread = _summary(losses)
        found = [mean, torch.where(mean.isfinite(), spread, torch.inf), *_summary(accuracies)]
        if self.groups is not None:
            of_group = torch.tensor(self.groups, device=accuracies.device)
            means = torch.stack([accuracies[:, of_group == g].nanmean(1) for g in range(max(self.groups) + 1)], dim=1)
            found += [*means.unbind(1), *_summary(means)[1:]]
        return dict(zip(self.names, [*found, losses, accuracies] if self.by_client else found, strict=True))


@dataclass(frozen=True)
class RegressionLoss(Observer):
    """Observer of the loss of x_r on clients' points, where targets are numbers: ``test_loss``, the mean over the
    clients that have such points, of their mean losses, without dropout.

    Args:
        of: "test", or "train" for the clients' training points (``train_loss``).
        every: rounds between two looks.
        by_client: whether to keep every client's loss too, ``test_loss_by_client``; NaN for one without such points.
    """

    of: str = "test"
    every: int = 1
    by_client: bool = False

    def __post_init__(self) -> None:
        if self.of not in ("test", "train"):
            raise ValueError(f"of = {self.of!r}: allowed is 'test' or 'train'")

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return (f"{self.of}_loss", *self.per_client)

    @property
    def per_client(self) -> tuple[str, ...]:  # type: ignore[override]
        return (f"{self.of}_loss_by_client",) if self.by_client else ()

    def check(self, setting: Setting) -> None:
        fed: Any = setting.federation
        if not hasattr(fed, "client_losses"):
            raise ValueError(f"observer of regression: allowed with a Network only, not {type(fed).__name__}")
        if self.of == "test":
            fed.check_test()

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        fed: Any = plan.federation
        losses = _finite_or_infinite(*fed.client_losses(state.x, self.of))
        return dict(zip(self.names, (losses.nanmean(1), losses), strict=False))


def _finite_or_infinite(losses: Tensor, accuracies: Tensor) -> Tensor:
    """Losses of a diverged model as infinite; NaN for clients without points, whose accuracy is NaN too."""
    return torch.where(losses.isnan() & ~accuracies.isnan(), torch.inf, losses)


def _summary(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, least and standard deviation over the second axis, of what is no NaN."""
    mean = values.nanmean(1)
    least = torch.where(values.isnan(), torch.inf, values).amin(1)
    return mean, least, (values - mean[:, None]).square().nanmean(1).sqrt()


@dataclass(frozen=True)
class Traffic(Observer):
    """Observer of the traffic before round r.

    ``bytes_sent`` counts D numbers of the run's precision to each participant and D back. ``clients_trained`` counts
    the participants of all rounds. ``snapshots_taken`` counts the rounds of the algorithm's first kind, such as FAST's
    snapshots. All count from round 0; a client drawn twice in a round counts once.
    """

    every: int = 1
    names = ("bytes_sent", "clients_trained", "snapshots_taken")

    def check(self, setting: Setting) -> None:
        if not setting.algorithm.client_rounds:
            raise ValueError("observer traffic: allowed with algorithms made of known rounds, not a step of one's own")

    def initial(self, ids: Tensor) -> dict[str, Tensor]:
        return {f"{name}_total": torch.zeros(len(ids), dtype=torch.float64, device=ids.device) for name in self.names}

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        return {name: state.kept[f"{name}_total"] for name in self.names}

    def after_training(self, plan: Plan, state: State, round: int, training: Training) -> None:
        trained = (training.counts > 0).sum(1).to(torch.float64)
        sent = 2 * trained * plan.federation.dimension * state.x.element_size()
        kept = state.kept
        kept["bytes_sent_total"] = kept["bytes_sent_total"] + sent
        kept["clients_trained_total"] = kept["clients_trained_total"] + trained
        if training.kind == plan.trainings[0][0].at(round):  # once a round
            kept["snapshots_taken_total"] = kept["snapshots_taken_total"] + state.is_first(plan, round)


@dataclass(frozen=True)
class Weights(Observer):
    """Observer of omega_i^r, the weight that FedAU gives each client before round r.

    It is called ``aggregation_weight`` (replicas, clients).
    """

    every: int = 1
    names = per_client = ("aggregation_weight",)

    def check(self, setting: Setting) -> None:
        if self._of(setting) is None:
            raise ValueError(f"observer weights: allowed with FedAU's weights only, not {setting.algorithm}")

    @staticmethod
    def _of(setting: Setting) -> FedAUWeights | None:
        kinds: Sequence = setting.algorithm.client_rounds
        return next((k.aggregation for k in kinds if isinstance(k.aggregation, FedAUWeights)), None)

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        rule = self._of(plan.setting)
        assert rule is not None
        return {"aggregation_weight": rule.aggregation_weight(state.memory)}
