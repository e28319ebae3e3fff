"""The diagnosis of a participation log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

import numpy as np

from ..arguments import check_has
from ..participation import Log
from .averaging import ImpliedObjective, implied_objectives, usual_cutoffs, weight_error_bands
from .calendar import CalendarEffect, calendar_effects, local_times
from .client_dependence import Overdispersion, Pair, overdispersion, pairs_together
from .client_rates import Change, Rates, changes, rates
from .family_choice import FamilyChoice, canonical_order, choose_family
from .power import rounds_to_detect
from .time_dependence import length_test, number_of_runs_test, runs_of

LEAST_ROUNDS = 60
"""Number of rounds below which nothing is said of dependence or of a family."""

LEAST_CHANGES = 30
"""Number of comings and goings, of all clients, below which nothing is said of them either, unless there is none."""

MOST_CELLS = 200_000_000
"""Number of rounds times clients up to which a log is diagnosed."""

WIDTHS = (60.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 21_600.0, 86_400.0)
"""Widths of rounds, in seconds, of which one is taken if none is given."""

ENOUGH = 300
"""Number of rounds that a width should leave."""


@dataclass(frozen=True)
class Diagnosis:
    """Answers of a log. Arrays are by client, in the order of ``names``.

    Attributes:
        names: the clients.
        rounds, width, unit: of the log; no width where it has rounds of its own.
        mask: (rounds, clients), who was there.
        times: the local time at which each round starts, where the log has dates.
        told: what was not taken as it stands.
        rates: see `Rates`.
        missing: what the log is too short by for what follows, in words; "" if it is not.
        never: columns of clients who never came.
        changes: clients who joined late, left or changed.
        runs_z, absences_z, presences_z: see ``time_dependence``; nan of a log that is too short.
        memory: the clients' mean correlation of a round with the next.
        sizes: see `Overdispersion`.
        pairs: see ``client_dependence``; None of too many clients.
        calendar: see ``calendar``; empty without dates.
        family: see `FamilyChoice`; None of a log that is too short.
        fair: what the clients' weights should be.
        objectives: see `ImpliedObjective`.
        weight_errors: FedAU's, by cutoff. weight_error_bands: the ends of their intervals.
        level: of intervals; tests have 1 - level, the family-wise ones together.
    """

    names: tuple[str, ...]
    rounds: int
    width: float | None
    unit: str
    mask: np.ndarray
    times: list[Any]
    told: tuple[str, ...]
    rates: Rates
    missing: str
    never: list[int]
    changes: list[Change]
    runs_z: float
    absences_z: float
    presences_z: float
    memory: float
    sizes: Overdispersion
    pairs: list[Pair] | None
    calendar: list[CalendarEffect]
    family: FamilyChoice | None
    fair: np.ndarray
    objectives: list[ImpliedObjective]
    weight_errors: Mapping[float, float]
    weight_error_bands: Mapping[float, tuple[float, float]]
    level: float

    @property
    def best_cutoff(self) -> float:
        """The cutoff of least weight error on this log."""
        return min(self.weight_errors, key=lambda cutoff: (self.weight_errors[cutoff], cutoff))

    @property
    def rounds_for_ten_percent(self) -> int | None:
        """Number of rounds that tell the median client's rate from one that is a tenth away; None if it has no
        rate between 0 and 1."""
        rate, inflation = float(np.median(self.rates.rate)), float(np.median(self.rates.inflation))
        return rounds_to_detect(rate / 10, rate, inflation=inflation) if 0 < rate < 1 else None

    def assumptions(self) -> dict[str, dict[str, str]]:
        """Return what the log says of each assumption on participation: ``assumption_evidence``."""
        from .assumption_evidence import assumption_evidence

        return assumption_evidence(self)

    def to_json(self) -> dict[str, Any]:
        """Return every number, by name."""
        from .words import to_json

        return to_json(self)

    def __str__(self) -> str:
        from .words import sentences

        return "\n".join(sentences(self))


def diagnose(
    log: Log,
    *,
    width: float | None = None,
    tz: tzinfo | None = None,
    samples: Mapping[str, float] | None = None,
    labels: Mapping[str, Sequence[float]] | None = None,
    groups: Mapping[str, object] | None = None,
    cutoffs: Sequence[float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Diagnosis:
    """Say what a participation log says: rates, dependence, the family, and what rules of averaging minimise on it.

    What depends on chance is drawn from ``seed`` alone, and clients are put in an order by what they did. So other
    names, another order of clients, or a clock that is shifted, change labels and nothing else.

    Args:
        log: of `read_log`.
        width: how long a round is, in the log's unit. Default: for dates the largest of 1, 5, 10, 15, 30 minutes, 1 and
            6 hours and 1 day that leaves 300 rounds, or else 1 minute. A log of rounds has its own.
        tz: the zone whose hours and weekdays count; default: UTC.
        samples: each client's number of samples, if the fair objective is n_i/n; default: 1/N.
        labels: each client's label shares, or counts.
        groups: each client's group, where they are known; else they are looked for.
        cutoffs: FedAU's, that are compared.
        level: of intervals.

    Raises:
        ValueError: an argument outside its range, a client without samples, labels or a group, a log without anybody.

    >>> import tempfile, pathlib
    >>> from fedtheory.participation import read_log
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = file.write_text("round,client\\n" + "".join(f"{r},a\\n{r},{'bc'[r % 2]}\\n" for r in range(80)))
    >>> found = diagnose(read_log(file))
    >>> found.family.name, found.rates.rate.tolist()
    ('Cyclic', [1.0, 0.5, 0.5])
    """
    check_has("log", log, ("mask", "names", "unit"), "a log, as read_log returns it")
    if not 0.5 <= level < 1:
        raise ValueError(f"level = {level}: allowed is a number in [0.5, 1)")
    if not len(log.client):
        raise ValueError("log: nobody came; allowed is a log with at least one client who did")
    if width is None and log.unit == "seconds since 1970 UTC":
        width = _usual_width(log.ends - log.begins)
    clients, by_rounds = len(log.names), log.unit == "rounds"
    cells = (log.ends - log.begins) / (width or 1.0) * clients
    if cells > MOST_CELLS:
        of = "" if by_rounds else f" of width = {width}"
        raise ValueError(f"log: {cells:.3g} rounds{of} times clients: allowed are at most {MOST_CELLS:.3g}")
    mask = log.mask(width)
    order = canonical_order(mask)
    back = np.argsort(order, kind="stable")
    here = np.ascontiguousarray(mask[:, order])
    names = [log.names[i] for i in order]
    fair = np.array([float(v) for v in _each("samples", samples, names)]) if samples else np.ones(clients)
    if not (np.isfinite(fair).all() and (fair >= 0).all() and fair.any()):
        raise ValueError("samples: allowed are finite numbers >= 0, not all 0")
    shares = None if labels is None else _shares(_each("labels", labels, names))
    known = (
        None if groups is None else np.unique([str(g) for g in _each("groups", groups, names)], return_inverse=True)[1]
    )
    rounds = len(mask)
    estimated = rates(here, level)
    missing = _missing(here)
    long_enough = not missing
    chosen = usual_cutoffs(rounds) if cutoffs is None else [float(k) for k in cutoffs]
    banded = weight_error_bands(here, chosen, estimated.block, level, seed)
    errors = {cutoff: error for cutoff, (error, _, _) in banded.items()}
    best = min(errors, key=lambda k: (errors[k], k))
    objectives = implied_objectives(
        here, fair / fair.sum(), list(dict.fromkeys([best, math.inf])), estimated.block, shares, level, seed
    )
    nan = float("nan")
    dated = log.unit == "seconds since 1970 UTC"
    return Diagnosis(
        names=log.names,
        rounds=rounds,
        width=None if by_rounds else width,
        unit=log.unit,
        mask=mask,
        times=local_times(log.begins, float(width or 1), rounds, tz) if dated else [],
        told=log.told,
        rates=Rates(
            estimated.rate[back], estimated.low[back], estimated.high[back], estimated.inflation[back], estimated.block
        ),
        missing=missing,
        never=sorted(int(order[i]) for i in np.flatnonzero(~here.any(axis=0))),
        changes=_at(order, changes(here, estimated.inflation, 1 - level)) if long_enough else [],
        runs_z=number_of_runs_test(here) if long_enough else nan,
        absences_z=length_test(runs_of(~here), clients) if long_enough else nan,
        presences_z=length_test(runs_of(here), clients) if long_enough else nan,
        memory=_memory(here),
        sizes=overdispersion(here, estimated.block, level) if long_enough else Overdispersion(nan, nan, nan, nan),
        pairs=_pairs(order, pairs_together(here, estimated.inflation, 1 - level)) if long_enough else [],
        calendar=calendar_effects(mask.sum(axis=1).astype(float), log.begins, float(width), tz)
        if dated and width
        else [],
        family=choose_family(here, known, seed, order) if long_enough else None,
        fair=(fair / fair.sum())[back],
        objectives=[_reordered(each, back) for each in objectives],
        weight_errors=errors,
        weight_error_bands={cutoff: (low, high) for cutoff, (_, low, high) in banded.items()},
        level=level,
    )


def _missing(mask: np.ndarray) -> str:
    """Say what a log is too short by, for its dependence and its family; "" if it is not."""
    rounds, changed = len(mask), int((mask[1:] != mask[:-1]).sum())
    if rounds < LEAST_ROUNDS:
        return f"{rounds} rounds are too few; {LEAST_ROUNDS - rounds} more are needed"
    if 0 < changed < LEAST_CHANGES:
        more = -(-rounds * (LEAST_CHANGES - changed) // changed)
        return f"{changed} comings and goings are too few; about {more} more rounds are needed for {LEAST_CHANGES}"
    return ""


def _usual_width(length: float) -> float:
    return max((w for w in WIDTHS if length / w >= ENOUGH), default=WIDTHS[0])


def _each(name: str, given: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    missing = [each for each in names if each not in given]
    if missing:
        raise ValueError(f"{name}: client {sorted(missing)[0]!r} has none; allowed is one for each of {len(names)}")
    return [given[each] for each in names]


def _shares(rows: Sequence[Sequence[float]]) -> np.ndarray:
    if len({len(row) for row in rows}) != 1:
        raise ValueError("labels: clients have different numbers of labels; allowed is one number a label and client")
    counts = np.array(rows, dtype=float)
    if not (np.isfinite(counts).all() and (counts >= 0).all() and (counts.sum(axis=1) > 0).all()):
        raise ValueError("labels: allowed are finite numbers >= 0, not all 0 for any client")
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _memory(mask: np.ndarray) -> float:
    """The mean over clients whose presence varies of the correlation of a round with the next."""
    p = mask.mean(axis=0)
    varies = p * (1 - p) > 0
    if len(mask) < 3 or not varies.any():
        return float("nan")
    q = p[varies]
    both = (mask[1:, varies] & mask[:-1, varies]).sum(axis=0)
    first, last = mask[:-1, varies].sum(axis=0), mask[1:, varies].sum(axis=0)
    covariance = (both - q * (first + last) + (len(mask) - 1) * q**2) / len(mask)
    return float((covariance / (q * (1 - q))).mean())


def _at(order: np.ndarray, found: list[Change]) -> list[Change]:
    from dataclasses import replace

    return sorted((replace(each, client=int(order[each.client])) for each in found), key=lambda c: c.client)


def _pairs(order: np.ndarray, found: list[Pair] | None) -> list[Pair] | None:
    if found is None:
        return None
    there = ((p, int(order[p.one]), int(order[p.other])) for p in found)
    return [Pair(min(one, other), max(one, other), p.correlation, p.p) for p, one, other in there]


def _reordered(found: ImpliedObjective, back: np.ndarray) -> ImpliedObjective:
    from dataclasses import replace

    return replace(found, weight=found.weight[back])
