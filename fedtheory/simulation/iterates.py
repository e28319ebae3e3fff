"""The points that simulated runs went through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .engine import simulate
from .observer import Observer

if TYPE_CHECKING:
    from ..setting import Setting
    from .state import Plan, State


def iterates(
    setting: Setting, *, rounds: int, replicas: int = 1, seed: int = 0, every: int = 1, **options: Any
) -> Tensor:
    """x_0, x_every, x_{2 every}, ... up to x_rounds of the runs that `simulate` makes, (n, replicas, D), on the CPU.

    Args:
        options: those of `simulate`, but ``observers``, ``directory`` and ``checkpoint_every``.

    Raises:
        ValueError: ``every`` is no integer in 1 to ``rounds``, or what `simulate` refuses.

    >>> from fedtheory import Setting
    >>> from fedtheory.algorithms import fast
    >>> from fedtheory.federations import Quadratic
    >>> from fedtheory.participation import Fixed
    >>> algorithm = fast(snapshot_period=2, cohort=2, local_lr="1/2")
    >>> iterates(Setting(Quadratic.common_hessian([1, -1]), algorithm, Fixed([0])), rounds=3)[:, 0, 0].tolist()
    [0.0, 0.0, 0.5, 0.25]
    """
    if not 1 <= every <= rounds or every != int(every):
        raise ValueError(f"every = {every}: allowed is an integer in 1 to rounds = {rounds}")
    models = _Models(every)
    simulate(setting, replicas=replicas, rounds=rounds, seed=seed, observers=[models], directory=None, **options)
    seen = rounds // every + 1  # in each chunk of replicas
    chunks = [torch.stack(models.found[first : first + seen]) for first in range(0, len(models.found), seen)]
    return torch.cat(chunks, dim=1)


@dataclass(frozen=True)
class _Models(Observer):
    """Keeps x_0, x_every, ... of every chunk of replicas, on the CPU."""

    every: int
    found: list[Tensor] = field(default_factory=list, compare=False, repr=False)

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        if round % self.every == 0:
            self.found.append(state.x.cpu())
        return {}
