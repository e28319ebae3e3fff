"""Settings on which repairs of a claim are tried, each over many horizons at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import sympy

from ..algorithms import fast
from ..algorithms.fast import fast_of
from ..claims.statement import Claim, Hypothesis
from ..federations import Quadratic
from ..functionals import AVERAGES
from ..moments.round_maps import local_maps, quadratic
from ..moments.trajectory import peaks_at, trajectory
from ..participation import Fixed
from ..quantities import QUANTITIES, RUN_QUANTITIES, symbol
from ..setting import Setting
from ..subjects.run_points import RunPoint
from ..subjects.varying_steps import left_in_floats, longest, surely
from .judge import parse

Q, STEP = "snapshot_probability", "local_lr"

HORIZONS = np.unique(np.geomspace(1, 1e8, 33).astype(np.int64))
"""The numbers of rounds at which every setting is looked at."""

ROUNDING, DRIFT = 1e-9, 1e-15
"""Relative errors of float64 recursions: at most ROUNDING, and by repeated squaring DRIFT a round."""

SHARES = (1.0, 0.1, 0.01, 0.001)
"""Step sizes of the structured settings, over the largest one allowed."""

BEYOND = (2.0, 10.0, 100.0)
"""Further shares of the largest step size, to see how much weaker a step cap may be."""


@dataclass(frozen=True)
class Rows:
    """A setting at several horizons: both sides, the slack of every hypothesis, and the quantities, all (horizons,)."""

    setting: Setting
    rounds: np.ndarray
    left: np.ndarray
    terms: Mapping[str, np.ndarray]
    slack: Mapping[str, np.ndarray]
    quantities: Mapping[str, np.ndarray]

    @property
    def right(self) -> np.ndarray:
        """The right side: the sum of the terms."""
        return reduce(np.add, self.terms.values())

    def admissible(self, but: str = "") -> np.ndarray:
        """Mark the horizons at which every hypothesis holds, except the one named ``but``."""
        holds = [slack >= 0 for name, slack in self.slack.items() if name != but]
        return np.isfinite(self.right) & reduce(np.logical_and, holds, np.ones(len(self.left), dtype=bool))

    @property
    def surely_left(self) -> np.ndarray:
        """The left side less what rounding may have added."""
        return self.left * (1 - ROUNDING - DRIFT * self.rounds)

    @property
    def falls(self) -> np.ndarray:
        """Marks of the horizons at which the claim fails for certain, whatever rounding did."""
        return self.surely_left > self.right


def speaks_of_the_run(claim: Claim) -> bool:
    """Whether the claim uses extremes over the run, such as G_1."""
    return bool(set(RUN_QUANTITIES) & set(claim.quantities))


def is_cap(hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis bounds the local step size from above."""
    return isinstance(hypothesis.relation, sympy.Le) and hypothesis.relation.lhs == symbol(STEP)


def rows_of(claim: Claim, setting: Setting, horizons: np.ndarray = HORIZONS) -> Rows | None:
    """Evaluate the setting at some horizons, with snapshots as often as the claim asks for.

    It is ``None`` if the setting is none for the claim: adaptive snapshots, a random run where the claim speaks of
    maxima over it, or no snapshot probability that is allowed.
    """
    runs, algorithm, horizons = speaks_of_the_run(claim), fast_of(setting), horizons[horizons <= longest(claim)]
    if algorithm.adaptive or (runs and not setting.deterministic):
        return None
    settled = setting if runs or algorithm.periodic else _settled(claim, setting)
    if settled is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        peaks = peaks_at(settled, horizons) if runs else {}
    # Where a run has left the range of floats its maxima are not known, and nothing is claimed there.
    known_there = reduce(np.logical_and, map(np.isfinite, peaks.values()), np.ones(len(horizons), dtype=bool))
    used: dict[str, Any] = {name: np.where(known_there, v, 0) for name, v in peaks.items()}
    bound = claim.at(settled, rounds=horizons, **used)
    average = next((a.options[0] for a in claim.ambiguities if a.name == "average"), AVERAGES[0])
    left = left_in_floats(settled, horizons, claim.functional, average)
    left = np.where(np.isnan(left), -np.inf, left)  # what is not known needs nothing
    right = np.broadcast_to(bound.value, horizons.shape)
    left = surely(settled, horizons, claim.functional, average, left, right)

    def spread(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return {name: np.broadcast_to(np.asarray(v, dtype=float), horizons.shape) for name, v in values.items()}

    slack = {name: np.where(known_there, v, -np.inf) for name, v in spread(bound.slack).items()}
    known = settled.quantities(
        1, needed=["strong_convexity", "smoothness", "dissimilarity", "initial_gap", "initial_distance"]
    )
    quantities = {name: constant.value for name, constant in known.items()} | dict(bound.quantities)
    return Rows(settled, horizons, left, spread(bound.terms), slack, spread(quantities))


def _settled(claim: Claim, setting: Setting) -> Setting | None:
    """The setting with its snapshot probability raised to the least one that the hypotheses allow."""
    on_q = [h for h in claim.hypotheses if symbol(Q) in h.slack.free_symbols]
    names = {s.name for h in on_q for s in h.slack.free_symbols} - {Q}
    known = setting.quantities(1, needed=names)
    values = {name: float(constant.value) for name, constant in known.items()}
    algorithm = fast_of(setting)
    current = float(algorithm.snapshot_probability)
    for hypothesis in on_q:
        allowed = claim.required(hypothesis, Q, **values)
        if allowed.empty:
            return None
        if current not in allowed:
            current = max(current, allowed.smallest) if allowed.largest >= current else allowed.largest
    return replace(setting, algorithm=replace(algorithm, fixed_probability=Fraction(current)))


def least_pseudogradients(setting: Setting, horizons: np.ndarray) -> dict[str, np.ndarray]:
    """Compute minima in the place of G_1 and G_2: over the first R rounds of a deterministic run, for each R of
    ``horizons``."""
    states = trajectory(setting, int(horizons.max()) - 1)
    states = np.column_stack([states, np.ones(len(states))])
    sums = local_maps(setting).gradient_sums()
    snapshot = np.arange(len(states)) % (fast_of(setting).snapshot_period or 1) == 0
    assert isinstance(setting.participation, Fixed)
    forms = sums.mean(0), sums[list(setting.participation.members)].mean(0)
    found = {}
    for name, form, kind in zip(RUN_QUANTITIES[:2], forms, (snapshot, ~snapshot), strict=True):
        squares = np.where(kind, ((states @ form.T) ** 2).sum(1), np.inf)
        found[name] = np.minimum.accumulate(squares)[horizons - 1]
    return found


def known_settings(claim: Claim, seed: int) -> Iterator[Setting]:
    """Yield the settings of the published instance and of the search's best points."""
    from .assess import recorded_instance
    from .search import search

    recorded = recorded_instance(claim.ref)
    if recorded is not None:
        point = parse(recorded, claim).point
        assert isinstance(point, RunPoint)
        yield point.setting
    report = search(claim, candidates=150, climbs=3, steps=15, seed=seed)
    for found in (report.best, report.best_late):
        if found is not None and isinstance(found.point.federation, Quadratic):
            yield found.point


def structured_settings(claim: Claim) -> Iterator[Setting]:
    """Make structured settings.

    Clients have minimisers +-1, one of which takes part in arbitrary rounds, or u, -u, 1, -1 with the client u. Where
    runs may be random, there are clients with noise that are nearly alike, and cohorts of one.
    """
    options = next((a.options for a in claim.ambiguities if a.name == "snapshots"), ("period", "probability"))
    deterministic = speaks_of_the_run(claim)
    kinds: list[dict[str, Any]] = [{"snapshot_period": 2}, {"snapshot_period": 5}] if "period" in options else []
    if "probability" in options and not deterministic:
        kinds += [{"snapshot_probability": q} for q in (0, Fraction(1, 2), 1)]
    families: list[tuple[tuple, int, int]] = [((1, -1), 0, 2), ((Fraction(1, 2), Fraction(-1, 2), 1, -1), 0, 4)]
    if not deterministic:
        families += [
            ((1, -1), 0, 1),
            ((Fraction(1, 20), Fraction(-1, 20)), 0, 1),
            ((Fraction(1, 20), Fraction(-1, 20)), 10, 1),
        ]
    for (offsets, noise, cohort), kind in itertools.product(families, kinds):
        federation = Quadratic.common_hessian(offsets, gradient_noise=noise)
        for start, local_steps in ((0, 1), (2, 1), (30, 1), (2, 5)):
            algorithm = fast(cohort=cohort, local_lr=1, local_steps=local_steps, **kind)
            setting = Setting(federation, algorithm, Fixed([0]), start=start)
            cap = _largest_step(claim, setting)
            for share in (*SHARES, *BEYOND):
                yield replace(setting, algorithm=replace(algorithm, local_lr=Fraction(cap * share)))


def _largest_step(claim: Claim, setting: Setting) -> float:
    """The smallest of the claim's caps on the step size; 1/smoothness if it has none."""
    caps = [h for h in claim.hypotheses if is_cap(h)]
    names = {s.name for h in caps for s in h.slack.free_symbols} - {STEP}
    values = {name: float(c.value) for name, c in setting.quantities(1, needed=names).items()}
    sets = [claim.required(h, STEP, **values) for h in caps]
    return min((s.largest for s in sets if not s.empty), default=1 / setting.federation.constants()["smoothness"].value)


def neighbour(setting: Setting, rng: np.random.Generator, size: float) -> Setting:
    """Move step size, start and snapshot probability by about ``size`` in the logarithm."""
    moves = [Fraction(float(np.exp(size * rng.standard_normal()))) for _ in range(3)]
    algorithm = fast_of(setting)
    algorithm = replace(algorithm, local_lr=Fraction(float(algorithm.local_lr * moves[0])))
    if not algorithm.periodic:
        rest = min(Fraction(1), (1 - algorithm.snapshot_probability) * moves[1])
        algorithm = replace(algorithm, fixed_probability=Fraction(float(1 - rest)))
    optimum = quadratic(setting).exact_optimum
    start = [
        Fraction(float(best + (x - best) * moves[2])) for x, best in zip(setting.exact_start, optimum, strict=True)
    ]
    return replace(setting, algorithm=algorithm, start=start)


def described(rows: Rows, index: int) -> dict[str, Any]:
    """Describe a setting at one horizon, as plain data."""
    numbers = {n: float(v[index]) for n, v in sorted(rows.quantities.items()) if n in QUANTITIES}
    return {
        "minimisers": quadratic(rows.setting).centres.tolist(),
        "start": [float(v) for v in rows.setting.exact_start],
        "snapshot_period": fast_of(rows.setting).snapshot_period,
        "participation": repr(rows.setting.participation),
        "quantities": numbers | {"rounds": float(rows.rounds[index])},
        "left": float(rows.left[index]),
        "right": float(rows.right[index]),
    }
