"""Deterministic runs on quadratic federations, and the run quantities that claims ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..quantities import RUN_QUANTITIES
from .rounds import advance, local_maps, mean_map, schedule

if TYPE_CHECKING:
    from ..setting import Setting


def trajectory(setting: Setting, rounds: int) -> np.ndarray:
    """x_r - x* for r = 0..rounds of a deterministic setting, (rounds + 1, D).

    Raises:
        ValueError: the setting is random.
    """
    return _states(setting, np.arange(rounds + 1))[:, :-1]


def _states(setting: Setting, rounds: np.ndarray) -> np.ndarray:
    """x_r - x* before each of ``rounds``, in lifted coordinates (a last column of ones)."""
    if not setting.deterministic:
        raise ValueError("the setting is random: a trajectory needs no noise, a fixed arbitrary set, "
                         "periodic snapshots and all clients in them")  # fmt: skip
    start = np.append((setting.exact_start - setting.federation.exact_optimum).astype(float), 1.0)
    return advance(schedule(setting, mean_map), start, rounds)


def peaks(setting: Setting, rounds: int, shifted: bool = False) -> dict[str, float]:
    """The run quantities over the rounds 0..rounds-1 of a deterministic run; 0 where no round is of the kind.

    ``shifted`` reads the sums of local gradients as k = 1..K instead of k = 0..K-1: one local step later.
    """
    if rounds < 1:
        raise ValueError(f"rounds = {rounds}: allowed is an integer >= 1")
    return {name: float(v[-1]) for name, v in _running_peaks(setting, np.arange(rounds), shifted).items()}


def peaks_at(setting: Setting, horizons: np.ndarray) -> dict[str, np.ndarray]:
    """The run quantities over the first R rounds, for each R of ``horizons``: maxima over a sample of the rounds
    (every one up to 64, then ever fewer), from below. For searching; a proof follows every round."""
    stages = np.unique(np.geomspace(1, horizons.max(), 120).astype(np.int64))
    period = setting.algorithm.snapshot_period or 1
    sample = np.unique(np.concatenate([np.arange(64), *(stages + shift for shift in range(min(period, 12)))]))
    running = _running_peaks(setting, sample, shifted=False)
    last = np.searchsorted(sample, horizons) - 1
    return {name: values[last] for name, values in running.items()}


def _running_peaks(setting: Setting, rounds: np.ndarray, shifted: bool) -> dict[str, np.ndarray]:
    """The maxima over the first entries of ``rounds``, by quantity, each (len(rounds),)."""
    states = _states(setting, rounds)
    sums = local_maps(setting).gradient_sums()
    if shifted:
        sums = sums @ local_maps(replace(setting, algorithm=replace(setting.algorithm, local_steps=1))).maps
    algorithm = setting.algorithm
    snapshot = rounds % (algorithm.snapshot_period or 1) == 0
    if not algorithm.periodic:
        snapshot = np.full(len(rounds), algorithm.snapshot_probability == 1)
    full = sums.mean(0)
    arbitrary = sums[list(setting.participation.members)].mean(0)
    kinds = [(full, snapshot), (arbitrary, ~snapshot), (full, snapshot)]
    return {
        name: np.maximum.accumulate(np.where(rows, ((states @ form.T) ** 2).sum(1), 0.0))
        for name, (form, rows) in zip(RUN_QUANTITIES, kinds, strict=True)
    }
