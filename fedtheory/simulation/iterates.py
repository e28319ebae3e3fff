"""The points that simulated runs went through."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .engine import simulate

if TYPE_CHECKING:
    from ..setting import Setting


def iterates(
    setting: Setting, *, rounds: int, replicas: int = 1, seed: int = 0, every: int = 1, **options: Any
) -> Tensor:
    """x_0, x_every, x_{2 every}, ... up to x_rounds of the runs that `simulate` makes, (n, replicas, D), on the CPU.

    Args:
        options: those of `simulate`, but ``directory`` and ``checkpoint_every``.

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
    with tempfile.TemporaryDirectory() as folder:
        simulate(
            setting, replicas=replicas, rounds=rounds, seed=seed, directory=folder, checkpoint_every=every, **options
        )
        kept = range(every, rounds + 1, every)
        chunks = [_read(chunk, kept) for chunk in sorted(Path(folder).iterdir())]
    later = np.concatenate(chunks, axis=1)
    start = setting.start_vector.to(torch.from_numpy(later).dtype).expand(replicas, -1)
    return torch.cat([start[None], torch.from_numpy(later)])


def _read(chunk: Path, kept: range) -> np.ndarray:
    """The iterates before the ``kept`` rounds, (n, replicas, D), of a chunk of replicas."""
    found = []
    for round in kept:
        with np.load(chunk / f"segment-{round:012d}.npz", allow_pickle=False) as arrays:
            found.append(arrays["x"])
    return np.stack(found)
