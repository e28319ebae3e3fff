"""The points that simulated runs went through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..rationals import checked_count
from .engine import simulate
from .observer import Observer

if TYPE_CHECKING:
    from ..setting import Setting


def iterates(
    setting: Setting, *, rounds: int, replicas: int = 1, seed: int = 0, every: int = 1, **options: Any
) -> Tensor:
    """x_0, x_every, x_{2 every}, ... up to x_rounds of the runs that `simulate` makes, (n, replicas, D), on the CPU.

    Args:
        options: those of `simulate`, but ``observers``, ``keep_models``, ``start`` and those of directories.

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
    rounds = checked_count("rounds", rounds)
    allowed = f"an integer in 1 to rounds = {rounds}"
    if checked_count("every", every, allowed=allowed) > rounds:
        raise ValueError(f"every = {every}: allowed is {allowed}")
    every = int(every)
    run = simulate(
        setting,
        replicas=replicas,
        rounds=rounds,
        seed=seed,
        observers=[Observer()],
        keep_models=every,
        directory=None,
        start=None,
        **options,
    )
    return torch.stack([torch.from_numpy(run.models[round]) for round in range(0, rounds + 1, every)])
