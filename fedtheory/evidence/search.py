"""The search for counterexamples: maximise left / right over small settings that satisfy every hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..claims import claim as find_claim
from ..claims.statement import Claim
from ..quantities import RUN_QUANTITIES
from ..setting import Setting
from .candidates import Candidate, draw, perturb
from .confirm import Judgement
from .moments import exact_errors
from .trajectory import peaks_at

HORIZONS = np.unique(np.geomspace(1, 1e8, 33).astype(np.int64))
"""The numbers of rounds at which every candidate is looked at."""

ROUNDING = 1e-9
"""Float64 recursions over 10^8 rounds lose less than this; a ratio above 1 by less is no lead."""


@dataclass(frozen=True)
class Found:
    """An admissible candidate at one horizon.

    Attributes:
        ratio: left / right; 0 where both are 0.
        fading: the share of the right side that fades as rounds grow (its first term).
    """

    candidate: Candidate
    local_lr: float
    rounds: int
    left: float
    right: float
    fading: float

    @property
    def ratio(self) -> float:
        with np.errstate(divide="ignore", over="ignore"):  # an infinite ratio is the right answer
            return 0.0 if self.left == 0 else float(np.divide(self.left, self.right))


@dataclass(frozen=True)
class SearchReport:
    """What was searched, and the largest left / right seen.

    Attributes:
        candidates: how many settings were looked at.
        admissible: how many of them satisfy every hypothesis at some horizon.
        best: the admissible one with the largest ratio, or ``None``.
        best_late: the same among horizons where the fading share of the bound is below a tenth: how tight the rest
            of the bound is (the first term alone makes many a bound tight at the start).
    """

    claim: str
    seed: int
    candidates: int
    admissible: int
    best: Found | None
    best_late: Found | None


def search(
    ref: str, candidates: int = 1500, climbs: int = 12, steps: int = 40, seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SearchReport:  # fmt: skip
    """Random candidates from structured families, then hill climbing from the ``climbs`` best ones.

    Left sides are exact (moment recursions), with horizons up to 10^8 rounds. A claim whose hypotheses speak about
    maxima over the run is searched over deterministic runs, where these are known.
    """
    statement = find_claim(ref)
    rng = np.random.default_rng(seed)
    deterministic = any(name in RUN_QUANTITIES for name in statement.quantities)
    pool = [draw(rng, deterministic) for _ in range(candidates)]
    tracker = _Tracker(statement, candidates + 2 * climbs * steps, progress)
    overall = [found[0] for candidate in pool if (found := tracker.look(candidate))]
    late = [found for found in tracker.late if found]
    for finds, place in ((overall, 0), (late, 1)):
        finds.sort(key=lambda found: -found.ratio)
        finds[:] = finds[:climbs]
        finds += [tracker.climb(found, place, steps, rng) for found in list(finds)]
    return SearchReport(
        statement.ref, seed, tracker.looked, tracker.admissible,
        max(overall, key=lambda found: found.ratio, default=None),
        max(late, key=lambda found: found.ratio, default=None),
    )  # fmt: skip


class _Tracker:
    """Assesses candidates and keeps count."""

    def __init__(self, statement: Claim, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.statement, self.total, self.progress = statement, total, progress
        self.looked = self.admissible = 0
        self.late: list[Found | None] = []

    def look(self, candidate: Candidate) -> tuple[Found, Found | None] | None:
        self.looked += 1
        if self.progress:
            self.progress(self.looked, self.total)
        result = assess(self.statement, candidate)
        if result is not None:
            self.admissible += 1
            self.late.append(result[1])
        return result

    def climb(self, best: Found, place: int, steps: int, rng: np.random.Generator) -> Found:
        """Hill climbing on the ratio overall (``place`` 0) or late (1)."""
        for step in range(steps):
            result = self.look(perturb(best.candidate, rng, size=0.3 if step < steps // 2 else 0.05))
            if result is not None and result[place] is not None:
                best = max(best, result[place], key=lambda found: found.ratio)
        return best


def assess(statement: Claim, candidate: Candidate) -> tuple[Found, Found | None] | None:
    """The candidate at its worst horizon, and at its worst late one (see ``SearchReport``); ``None`` if no horizon
    satisfies every hypothesis."""
    setting = settle(statement, candidate)
    if setting is None:
        return None
    deterministic = setting.deterministic and set(RUN_QUANTITIES) & set(statement.quantities)
    horizons = HORIZONS[HORIZONS <= 10**6] if deterministic else HORIZONS
    overrides = peaks_at(setting, horizons) if deterministic else {}
    bound = statement.at(setting, rounds=horizons, **overrides)
    admissible = np.ones(len(horizons), dtype=bool)
    for slack in bound.slack.values():
        admissible &= np.broadcast_to(slack is not None and slack >= 0, horizons.shape)
    left = exact_errors(setting, horizons).functional(statement.functional)
    fading = np.broadcast_to(next(iter(bound.terms.values())), left.shape)
    finds = [
        Found(candidate, float(setting.algorithm.local_lr), int(r), float(le), float(ri), float(fa / ri) if ri else 0.0)
        for r, le, ri, fa, ok in zip(
            horizons, left, np.broadcast_to(bound.value, left.shape), fading, admissible, strict=True
        )
        if ok and np.isfinite(ri)  # an infinite left side is a lead, not a candidate to skip
    ]
    if not finds:
        return None
    late = [found for found in finds if found.fading < 0.1]
    return max(finds, key=lambda f: f.ratio), max(late, key=lambda f: f.ratio, default=None)


def settle(statement: Claim, candidate: Candidate) -> Setting | None:
    """The candidate's setting with the step size at its share of the cap and, where snapshots are random, the
    snapshot probability raised to what the q-condition asks for; ``None`` if that cannot be met."""
    probe = candidate.setting(local_lr=1e-30)
    cap = float(statement.at(probe, rounds=1).slack["step_cap"]) + 1e-30
    lr = candidate.step_share * cap
    setting = candidate.setting(local_lr=lr)
    if candidate.period or any(name in RUN_QUANTITIES for name in statement.quantities):
        return setting
    slack = float(statement.at(setting, rounds=1).slack["q_condition"])
    needed = candidate.probability - slack
    if not needed <= 1:
        return None
    # From the smallest allowed probability up to 1, at the candidate's own share of the way.
    lowest = min(1.0, max(0.0, needed) * (1 + 1e-12))
    chosen = lowest + (1 - lowest) * max(0.0, candidate.probability - 0.5)
    return replace(candidate, probability=chosen).setting(local_lr=lr)


def refute(ref: str, seed: int = 0, progress: Callable[[int, int], None] | None = None) -> Judgement | SearchReport:
    """Search for a counterexample; a judgement that refutes the claim under every reading, or what was searched.

    >>> import fedtheory as ft
    >>> ft.refute("fast.thm1@main").refutes  # doctest: +SKIP
    True
    """
    from .shrink import charitable_instance

    report = search(ref, seed=seed, progress=progress)
    if report.best is None or report.best.ratio <= 1 + ROUNDING:
        return report
    return charitable_instance(ref, seed=seed) or report
