"""Deterministic runs on quadratic federations, and the run quantities that claims ask for."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.fast import fast_of
from ..participation import Fixed, Phases
from ..quantities import LEAST_QUANTITIES, RUN_QUANTITIES
from ..rationals import checked_count
from .linear_rounds import mean_map
from .round_maps import initial_state, local_maps, quadratic
from .timeline import advance, timeline

if TYPE_CHECKING:
    from ..setting import Setting

PEAK_STAGES = 60
"""Stages of a run between which its maxima are enclosed: enough to keep the enclosures narrow over 10^8 rounds."""


def trajectory(setting: Setting, rounds: int) -> np.ndarray:
    """Return x_r - x* for r = 0..rounds of a deterministic setting, (rounds + 1, D).

    Raises:
        ValueError: the setting is random.
    """
    return _states(setting, np.arange(rounds + 1))[:, :-1]


def _states(setting: Setting, rounds: np.ndarray) -> np.ndarray:
    """x_r - x* before each of ``rounds``, in lifted coordinates (a last column of ones)."""
    if not setting.deterministic:
        raise ValueError(
            "the setting is random: a trajectory needs no noise, and participants and kinds of round that are not drawn"
        )
    states = advance(timeline(setting, mean_map), initial_state(setting), rounds)
    return np.delete(states, np.s_[setting.federation.dimension : -1], axis=1)  # what the algorithm remembers


def peaks(setting: Setting, rounds: int, shifted: bool = False) -> dict[str, float]:
    """Compute the run quantities over the rounds 0..rounds-1 of a deterministic run; 0 where no round is of the kind.

    ``shifted`` reads the sums of local gradients as k = 1..K instead of k = 0..K-1: one local step later.
    """
    checked_count("rounds", rounds)
    return {name: float(v[-1]) for name, v in _running_peaks(setting, np.arange(rounds), shifted).items()}


def least(setting: Setting, rounds: int) -> dict[str, float]:
    """Compute the least values over the rounds 0..rounds-1 of a deterministic run, as ``peaks`` does the largest."""
    checked_count("rounds", rounds)
    every = np.arange(rounds)
    vectors, snapshot = _pseudogradients(setting, every, False), _are_snapshots(setting, every)
    found = {}
    for name, of_kind, peak in zip(LEAST_QUANTITIES, (snapshot, ~snapshot), RUN_QUANTITIES[:2], strict=True):
        squares = (vectors[peak] ** 2).sum(1)[of_kind]
        found[name] = float(squares.min()) if squares.size else 0.0
    return found


def peaks_at(setting: Setting, horizons: np.ndarray, shifted: bool = False) -> dict[str, np.ndarray]:
    """Compute the run quantities over the first R rounds from below, for each R of ``horizons``, for searching.

    They are maxima over a sample of the rounds (every one up to 64, then ever fewer). A proof follows every round.
    """
    stages = np.unique(np.geomspace(1, horizons.max(), 120).astype(np.int64))
    period = fast_of(setting).snapshot_period or 1
    sample = np.unique(np.concatenate([np.arange(64), *(stages + shift for shift in range(min(period, 12)))]))
    running = _running_peaks(setting, sample, shifted)
    last = np.searchsorted(sample, horizons) - 1
    return {name: values[last] for name, values in running.items()}


def ranges_of_run(
    setting: Setting, horizons: np.ndarray, names: AbstractSet[str], shifted: bool = False
) -> Mapping[str, tuple[Any, Any]] | None:
    """Return intervals that contain the run quantities of these ``names``, or ``None`` where one is not known.

    Maxima over random runs are enclosed as in ``peak_ranges``. Least values are known for deterministic runs only.
    """
    alike, least = setting.deterministic, names & {*LEAST_QUANTITIES}
    known: list[Mapping[str, tuple[Any, Any]] | None]
    known = [running_peak_ranges(setting, horizons, shifted) if alike else peak_ranges(setting, shifted)]
    if least:
        known.append(running_least_ranges(setting, horizons, shifted) if alike else None)
    if any(ranges is None for ranges in known):
        return None
    return {name: ends for ranges in known if ranges for name, ends in ranges.items() if name in names}


def running_peak_ranges(
    setting: Setting, horizons: np.ndarray, shifted: bool = False
) -> dict[str, tuple[np.ndarray, np.ndarray]] | None:
    """Enclose each run quantity of a deterministic run, for each R of ``horizons``; on a line, both ends are equal.

    Returns ``None`` outside the case covered: diagonal Hessians with eta H <= I, participants that never change.

    With C the map of one snapshot period, the state at a place s of the period goes through its values C^j y_s + ...
    towards a limit. Each coordinate does so on its own and in one direction, since 0 <= C <= I. So does a sum of local
    gradients. Hence between two periods j of a sample each coordinate's square is at most the larger one of theirs.
    """
    rounds = _sampled(setting, horizons)
    if rounds is None:
        return None
    seen, ranges = rounds < horizons[:, None, None], {}
    for name, found in _pseudogradients(setting, rounds.ravel(), shifted).items():
        squares = (found**2).reshape(*rounds.shape, -1)
        between = np.concatenate([squares[:1], np.maximum(squares[1:], squares[:-1])])  # since the cycle before
        low, high = (np.where(seen, part.sum(2), 0.0).max((1, 2)) for part in (squares, between))
        ranges[name] = (low, high)
    return ranges


def running_least_ranges(
    setting: Setting, horizons: np.ndarray, shifted: bool = False
) -> dict[str, tuple[np.ndarray, np.ndarray]] | None:
    """Enclose the least values over the rounds of either kind, as ``running_peak_ranges`` does for the largest.

    They are 0 where no round is of the kind. Between two periods of a sample a coordinate's square is at least the
    smaller one of theirs, or 0 where the coordinate changes its sign.
    """
    rounds = _sampled(setting, horizons)
    if rounds is None:
        return None
    ranges = {}
    vectors = _pseudogradients(setting, rounds.ravel(), shifted)
    snapshot = _are_snapshots(setting, rounds)
    for name, of_kind, peak in zip(LEAST_QUANTITIES, (snapshot, ~snapshot), RUN_QUANTITIES[:2], strict=True):
        found = vectors[peak].reshape(*rounds.shape, -1)
        smaller = np.where(found[1:] * found[:-1] > 0, np.minimum(found[1:] ** 2, found[:-1] ** 2), 0.0)
        between, seen = np.concatenate([found[:1] ** 2, smaller]), of_kind & (rounds < horizons[:, None, None])
        low, high = (np.where(seen, part.sum(2), np.inf).min((1, 2)) for part in (between, found**2))
        ranges[name] = (np.where(low < np.inf, low, 0.0), np.where(high < np.inf, high, 0.0))
    return ranges


def _sampled(setting: Setting, horizons: np.ndarray) -> np.ndarray | None:
    """Rounds in which a deterministic run is looked at, (periods, rounds of a period), the last two periods of every
    horizon among them; ``None`` outside the case that ``running_peak_ranges`` covers."""
    fed, algorithm = quadratic(setting), fast_of(setting)
    period = algorithm.snapshot_period or 1
    curvatures = np.diagonal(fed.hessians, axis1=1, axis2=2)
    diagonal = np.count_nonzero(fed.hessians) == np.count_nonzero(curvatures)
    if not diagonal or isinstance(setting.participation, Phases):
        return None
    if float(algorithm.local_lr) * curvatures.max() > 1:
        return None
    ends = (horizons - 1) // period
    stages = np.geomspace(1, max(1, ends.max()), PEAK_STAGES).astype(np.int64)
    cycles = np.unique(np.concatenate([[0], stages, ends, np.maximum(ends - 1, 0)]))
    return cycles[:, None] * period + np.arange(period)


def peak_ranges(setting: Setting, shifted: bool = False) -> dict[str, tuple[float, float]] | None:
    """Enclose the run quantities in every run of two rounds or more, where uniform cohorts are random.

    Returns ``None`` outside the case covered: one dimension, one curvature h, no noise, periodic snapshots, a fixed
    set.

    A round moves x a share a = 1 - (1 - eta h)^K of the way to its cohort's mean minimiser. So x stays in the hull of
    its start and of the means that a cohort can have. The sum of a round's local gradients is (a / eta) (x - mean).
    Round 0 is a snapshot at x_0, round 1 arbitrary at a share a of the way to some uniform cohort's mean.
    """
    fed, algorithm, process = quadratic(setting), fast_of(setting), setting.participation
    if not isinstance(process, Fixed) or algorithm.replacement or (algorithm.snapshot_period or 1) < 2:
        return None
    contraction = 1 - float(algorithm.local_lr) * float(fed.hessians[0, 0, 0])
    if fed.dimension > 1 or not fed.has_common_hessian or fed.gradient_noise > 0 or contraction < 0:
        return None
    share = 1 - contraction**algorithm.local_steps
    factor = (share / float(algorithm.local_lr) * (contraction if shifted else 1)) ** 2
    centres = (fed.exact_centres - fed.exact_optimum).astype(float).ravel()
    start, set_mean = float(setting.exact_start[0] - fed.exact_optimum[0]), centres[list(process.members)].mean()
    ordered = np.sort(centres)
    means = np.array([ordered[: algorithm.cohort].mean(), ordered[-algorithm.cohort :].mean()])
    hull = np.array([min(start, *means, set_mean), max(start, *means, set_mean)])
    second = start + share * (means - start)  # x_1

    def largest(of: float) -> float:
        return float(np.max((hull - of) ** 2))

    arbitrary_first = 0.0 if second[0] <= set_mean <= second[1] else float(np.min((second - set_mean) ** 2))
    ranges = {
        "peak_full_pseudogradient": (start**2, largest(0.0)),
        "peak_arbitrary_pseudogradient": (arbitrary_first, largest(set_mean)),
        "peak_cohort_pseudogradient": (0.0, max(map(largest, means))),
    }
    return {name: (factor * low, factor * high) for name, (low, high) in ranges.items()}


def _running_peaks(setting: Setting, rounds: np.ndarray, shifted: bool) -> dict[str, np.ndarray]:
    """The maxima over the first entries of ``rounds``, by quantity, each (len(rounds),)."""
    return {
        name: np.maximum.accumulate((vectors**2).sum(1))
        for name, vectors in _pseudogradients(setting, rounds, shifted).items()
    }


def _are_snapshots(setting: Setting, rounds: np.ndarray) -> np.ndarray:
    """Return the mask of the rounds of a deterministic run that are snapshots, in the shape of ``rounds``."""
    algorithm = fast_of(setting)
    if algorithm.periodic:
        return rounds % (algorithm.snapshot_period or 1) == 0
    return np.full(rounds.shape, algorithm.snapshot_probability == 1)


def _pseudogradients(setting: Setting, rounds: np.ndarray, shifted: bool) -> dict[str, np.ndarray]:
    """The mean sums of local gradients whose squares the run quantities are maxima of, each (len(rounds), D); 0 in
    rounds of the other kind."""
    algorithm = fast_of(setting)
    states = _states(setting, rounds)
    if not isinstance(setting.participation, (Fixed, Phases)):
        raise ValueError(f"participation = {setting.participation}: run quantities are known for Fixed and Phases only")
    sums = local_maps(setting).gradient_sums()
    if shifted:
        sums = sums @ local_maps(replace(setting, algorithm=replace(algorithm, local_steps=1))).maps
    snapshot = _are_snapshots(setting, rounds)
    full = states @ sums.mean(0).T
    process = setting.participation
    sets = process.sets if isinstance(process, Phases) else (process.members,)
    forms = np.array([sums[list(members)].mean(0) for members in sets])
    current = forms[process.phase(rounds)] if isinstance(process, Phases) else forms[:1]
    arbitrary = (current @ states[:, :, None])[:, :, 0]
    kinds = [(full, snapshot), (arbitrary, ~snapshot), (full, snapshot)]
    return {
        name: np.where(rows[:, None], vectors, 0.0) for name, (vectors, rows) in zip(RUN_QUANTITIES, kinds, strict=True)
    }
