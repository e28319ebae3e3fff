"""Deterministic runs on quadratic federations, and the run quantities that claims ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..quantities import RUN_QUANTITIES
from .rounds import advance, local_maps, mean_map, schedule

if TYPE_CHECKING:
    from ..setting import Setting


def trajectory(setting: Setting, rounds: int) -> np.ndarray:
    """x_r - x* for r = 0..rounds in lifted coordinates (a last column of ones), (rounds + 1, D + 1).

    Raises:
        ValueError: the setting is random.
    """
    if not setting.deterministic:
        raise ValueError("the setting is random: a trajectory needs no noise, a fixed arbitrary set, "
                         "periodic snapshots and all clients in them")  # fmt: skip
    start = np.append((setting.exact_start - setting.federation.exact_optimum).astype(float), 1.0)
    return advance(schedule(setting, mean_map), start, np.arange(rounds + 1))


def peaks(setting: Setting, rounds: int, shifted: bool = False) -> dict[str, float]:
    """The run quantities over the rounds 0..rounds-1 of a deterministic run; 0 where no round is of the kind.

    ``shifted`` reads the sums of local gradients as k = 1..K instead of k = 0..K-1: one local step later.
    """
    states = trajectory(setting, rounds - 1)
    local = local_maps(setting)
    sums = local.gradient_sums()
    if shifted:
        # One step later: grad_i(y_1..y_K) is the sum from the start y_1 = y - eta grad_i(y).
        step = local_step(setting)
        sums = np.einsum("ijk,ikl->ijl", sums, step)
    algorithm = setting.algorithm
    every = np.arange(rounds)
    snapshot = every % (algorithm.snapshot_period or 1) == 0
    if not algorithm.periodic:
        snapshot = np.full(rounds, algorithm.snapshot_probability == 1)
    full = sums.mean(0)
    arbitrary = sums[list(setting.participation.members)].mean(0)
    values = [(full, snapshot), (arbitrary, ~snapshot), (full, snapshot)]
    return {
        name: float(((states[rows] @ form.T) ** 2).sum(1).max(initial=0.0))
        for name, (form, rows) in zip(RUN_QUANTITIES, values, strict=True)
    }


def local_step(setting: Setting) -> np.ndarray:
    """The lifted map of one local gradient step of every client, (M, D + 1, D + 1)."""
    from dataclasses import replace

    single = replace(setting, algorithm=replace(setting.algorithm, local_steps=1))
    return local_maps(single).maps
