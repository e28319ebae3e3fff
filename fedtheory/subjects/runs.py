"""Searching claims about runs and about single rounds: a candidate's setting, admissible at which horizons, and both
sides there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from sympy import Ge, Le

from ..claims.arithmetic import two_sided_denominators
from ..claims.evaluation import Bound, compiled
from ..claims.statement import Claim
from ..functionals import AVERAGES
from ..moments.errors import exact_errors
from ..moments.one_round import one_round
from ..moments.trajectory import peak_ranges, running_peak_ranges
from ..quantities import RUN_QUANTITIES, symbol
from ..setting import Setting
from .candidates import Candidate, demands, draw, perturb, structured
from .found import LATE, Found, ratio, worst

HORIZONS = np.unique(np.geomspace(1, 1e8, 33).astype(np.int64))
"""The numbers of rounds at which every candidate is looked at."""

CHOICE_HORIZONS = HORIZONS[::-8][::-1]
"""The same for claims that choose the step size: a setting for each."""

ATTEMPTS = 3
"""Tries to match a probability of snapshots with the step size chosen for it, where each limits the other."""

COHORT_DRAWS = ("without replacement", "with replacement")
"""How a uniform cohort can be drawn."""

GRID = 5
"""Points along the range of each maximum over a run that is known by a range, at all of which a hypothesis has to
hold. Both ends are among them."""

RESOLUTION = 1e-26
"""Of a left side, in units of smoothness and the squared distance of start and minimisers from x*: less is rounding
(of numbers by 2^-53 of that distance, squared), which counts as 0."""

ONE_ROUND_RESOLUTION = 1e-14
"""The same after one round, in units of smoothness and the squared distance of the start from x*: some ten operations
are rounded by 2^-53 each, of that or of the left side itself."""

DIVERGING_STEP = 4.0
"""Times 1/smoothness: what a step share of 1 means where a claim caps no step size. Gradient descent diverges there."""


class Runs:
    """The settings on which a claim about runs or single rounds is searched.

    Readings: a candidate conforms to one of the options of every ambiguity that concerns its run (snapshots, cohorts);
    where several readings describe the same run, the first one counts: which iterates are averaged, which local
    gradients the maxima over the run sum, how a condition is read.
    """

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        self.demands = demands(statement)
        options = {ambiguity.name: ambiguity.options[0] for ambiguity in statement.ambiguities}
        self.average = options.get("average", AVERAGES[0])
        self.shifted = options.get("local gradients") == "k = 1..K"

    def structured(self) -> Iterator[Candidate]:
        """The candidates to look at first."""
        return structured(self.demands)

    def draw(self, rng: np.random.Generator) -> Candidate:
        """A random candidate."""
        return draw(rng, self.demands)

    def perturb(self, candidate: Candidate, rng: np.random.Generator, size: float) -> Candidate:
        """A neighbour."""
        return perturb(candidate, rng, self.demands, size)

    def readings(self, found: Found) -> tuple[str, ...]:
        """Under which readings of how cohorts are drawn the run is the one found: both, where one client is drawn or
        none."""
        algorithm = found.point.algorithm
        if self.demands.replacement and (algorithm.cohort == 1 or algorithm.snapshot_probability == 0):
            return COHORT_DRAWS
        return COHORT_DRAWS[algorithm.replacement :][:1]

    @cached_property
    def horizons(self) -> np.ndarray:
        if self.demands.one_round:
            return HORIZONS[:1]
        return CHOICE_HORIZONS if self.statement.choices else HORIZONS

    def assess(self, candidate: Candidate) -> tuple[Found, Found | None] | None:
        """The candidate at its worst horizon, and at its worst late one (see ``found.LATE``); ``None`` if no horizon
        satisfies every hypothesis."""
        if self.statement.choices:
            finds = list(self._chosen(candidate))
        else:
            setting = settle(self.statement, candidate)
            finds = [] if setting is None else list(self._looked_at(candidate, setting, self.horizons))
        if not finds:
            return None
        late = () if self.demands.one_round else (found for found in finds if found.fading < LATE)
        return worst(finds), worst(late)

    def _chosen(self, candidate: Candidate) -> Iterator[Found]:
        """The candidate with the step size that the claim chooses for each horizon."""
        base, free = candidate.setting(), {"step_constant": candidate.step_constant}
        known = base.quantities(needed=[n for n in self.statement.quantities if n not in self.statement.choices])
        values = {name: constant.value for name, constant in known.items()} | free
        values = {name: np.float64(value) for name, value in values.items() if name in self.statement.quantities}
        for rounds in self.horizons:
            chosen = self._choice(candidate, values | {"rounds": np.float64(rounds)})
            step = chosen.pop("local_lr")
            if 0 < step < np.inf and _holds(self.statement.evaluate(**chosen), (), undecided=True):
                algorithm = candidate.algorithm(base.federation.clients, step, chosen.get("snapshot_probability"))
                yield from self._looked_at(candidate, replace(base, algorithm=algorithm), np.array([rounds]), free)

    def _choice(self, candidate: Candidate, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with the step size that the claim chooses and, where snapshots are random, a probability that
        this step size allows, if some tries find one: each depends on the other."""

        def step() -> float:
            with np.errstate(divide="ignore", invalid="ignore"):
                return float(compiled(self.statement.choices["local_lr"])(values))

        for _ in range(0 if candidate.period else ATTEMPTS):
            probability = _within(self.statement, candidate, {**values, "local_lr": step()})
            if probability is not None and "snapshot_probability" in values:
                values = {**values, "snapshot_probability": np.float64(probability)}
        return {**values, "local_lr": step()}

    def _looked_at(
        self, candidate: Candidate, setting: Setting, horizons: np.ndarray, free: Mapping[str, float] | None = None
    ) -> Iterator[Found]:
        """The setting at the worst of the horizons where every hypothesis holds, and at the worst late one."""
        overrides = dict(free or {}) | self._young(candidate, setting)
        if self.demands.run_quantities:
            if not setting.deterministic:  # one round leaves no arbitrary one to take a maximum over
                horizons = horizons[horizons >= 2]
            peaks = self._peaks(setting, horizons) if horizons.size else None
            if peaks is None:
                return
            overrides |= peaks
        of_round = one_round(setting) if self.demands.one_round else None
        if of_round:
            overrides |= {n: v for n, v in of_round.quantities().items() if n in self.statement.quantities}
        bound = self.statement.at(setting, rounds=horizons, **overrides)
        admissible = _holds(bound, horizons.shape, undecided=False) & self._without_poles(bound, horizons.shape)
        if not admissible.any():
            return
        if of_round:
            left = np.array([of_round.left(self.statement.functional)])
        else:
            with np.errstate(over="ignore"):  # infinite, as it has to be
                left = exact_errors(setting, horizons).functional(self.statement.functional, self.average)
        terms = [np.broadcast_to(value.max(axis=0) if np.ndim(value) == 2 else value, horizons.shape)
                 for value in bound.terms.values()]  # fmt: skip
        seen = self._surely(left, setting)
        right, ratios = sum(terms), ratio(seen, terms)
        fading = np.divide(terms[0], right, out=np.zeros(len(right)), where=(right > 0) & np.isfinite(right))
        usable = admissible & np.isfinite(right)  # an infinite left side is a lead, not to be skipped
        for rows in (usable, usable & (fading < LATE)):
            if rows.any():
                i = int(np.where(rows, ratios, -1.0).argmax())
                quantities = {name: float(np.broadcast_to(v, horizons.shape)[i])
                              for name, v in bound.quantities.items() if np.ndim(v) < 2}  # fmt: skip
                yield Found(candidate, setting, quantities, int(horizons[i]), float(left[i]), float(right[i]),
                            float(ratios[i]), float(fading[i]))  # fmt: skip

    def _peaks(self, setting: Setting, horizons: np.ndarray) -> dict[str, np.ndarray] | None:
        """The maxima over the run at each horizon or, where they are not known exactly, a grid over their ranges,
        (points, 1) or (points, len(horizons)); ``None`` where nothing is known."""
        if setting.deterministic:
            ranges = running_peak_ranges(setting, horizons, self.shifted)
        else:
            ranges = peak_ranges(setting, self.shifted)
        if ranges is None or all(np.array_equal(low, high) for low, high in ranges.values()):
            return ranges and {name: low for name, (low, _) in ranges.items()}
        axes = [np.linspace(low, high, GRID).reshape(GRID, -1) for low, high in ranges.values()]
        places = np.indices((GRID,) * len(axes)).reshape(len(axes), -1)
        return {name: axis[place] for name, axis, place in zip(ranges, axes, places, strict=True)}

    def _surely(self, left: np.ndarray, setting: Setting) -> np.ndarray:
        """A left side, less what it may be off; 0 where it is nothing but that."""
        start = (setting.exact_start - setting.federation.exact_optimum)[None]
        points = np.vstack([setting.federation.exact_centres - setting.federation.exact_optimum, start])
        seen = np.where((left > 0) & (left < RESOLUTION * self._unit(setting, points)), 0.0, left)
        if not self.demands.one_round:
            return seen
        off = ONE_ROUND_RESOLUTION * self._unit(setting, start)
        return np.where(seen > 0, np.maximum(seen - off, 0.0), seen)

    def _unit(self, setting: Setting, points: np.ndarray) -> float:
        """What the left side is measured in: smoothness and the extent of ``points`` around x*, to the powers of its
        units."""
        fed, units = setting.federation, self.statement.functional.units
        extent = float((points**2).sum(1).max()) ** (units.objective + units.parameter / 2)
        return float(fed.constants()["smoothness"].value) ** units.objective * extent

    def _without_poles(self, bound: Bound, shape: tuple[int, ...]) -> np.ndarray:
        """Where no denominator of a hypothesis changes sign on the grid: a quotient of numbers linear in each maximum
        then takes its extremes at the grid's corners."""
        clear = np.ones(shape, dtype=bool)
        arrays = {name: np.asarray(value, dtype=float) for name, value in bound.quantities.items()}
        for denominator in self._denominators if any(np.ndim(value) == 2 for value in arrays.values()) else ():
            value = compiled(denominator)(arrays)
            if np.ndim(value) == 2:
                clear &= (value > 0).all(axis=0) | (value < 0).all(axis=0)
        return clear

    @cached_property
    def _denominators(self) -> list[sympy.Expr]:
        return [d for hypothesis in self.statement.hypotheses for d in two_sided_denominators(hypothesis.slack)]

    def _young(self, candidate: Candidate, setting: Setting) -> dict[str, float]:
        """The free parameter of a Young inequality, a share or multiple of the one that balances both its terms."""
        if "young_parameter" not in self.statement.quantities:
            return {}
        needed = ("dissimilarity", "initial_distance", "smoothness")
        slope, distance, curvature = (c.value for c in setting.quantities(needed=needed).values())
        best = slope / (2 * distance) if slope > 0 and distance > 0 else curvature
        return {"young_parameter": candidate.young * best}


def _holds(bound: Bound, shape: tuple[int, ...], undecided: bool) -> np.ndarray:
    """Where every hypothesis holds (on the whole of a grid); ``undecided`` says what counts where a quantity of the
    run is not known."""
    admissible = np.ones(shape, dtype=bool)
    for slack in bound.slack.values():
        holds = np.asarray(undecided if slack is None else slack >= 0)
        admissible &= np.broadcast_to(holds.all(axis=0) if holds.ndim == 2 else holds, shape)
    return admissible


def settle(statement: Claim, candidate: Candidate) -> Setting | None:
    """The candidate's setting, with the step size at its share of the cap and, where snapshots are random, the
    probability of a snapshot between the smallest and the largest one that the hypotheses allow; ``None`` if they
    allow none."""
    base = candidate.setting()
    known = base.quantities(needed=["smoothness", *(n for n in statement.quantities if n not in RUN_QUANTITIES)])
    values: dict[str, Any] = {name: constant.value for name, constant in known.items()} | {"rounds": 1}
    values.pop("local_lr", None)
    probability = None
    if not candidate.period:
        probability = values["snapshot_probability"] = _within(statement, candidate, values)
        if probability is None:
            return None
    cap = limit_of(statement, "local_lr", Le, values)
    step = candidate.step_share * (DIVERGING_STEP / float(known["smoothness"].value) if cap is None else cap)
    if not 0 < step < np.inf:
        return None
    if not candidate.period:
        probability = _within(statement, candidate, values | {"local_lr": step})
        if probability is None:
            return None
    return replace(base, algorithm=candidate.algorithm(base.federation.clients, float(step), probability))


def _within(statement: Claim, candidate: Candidate, values: Mapping[str, Any]) -> float | None:
    """The probability at the candidate's share of the way from the smallest to the largest one allowed."""
    lowest = max(0.0, limit_of(statement, "snapshot_probability", Ge, values) or 0.0) * (1 + 1e-12)
    limit = limit_of(statement, "snapshot_probability", Le, values)
    highest = 1.0 if limit is None else min(1.0, limit)
    if lowest > 1 or lowest > highest * (1 + 1e-9):
        return 1.0 if lowest <= 1 + 1e-9 and highest == 1 else None
    return lowest + max(0.0, highest - lowest) * candidate.probability


def limit_of(statement: Claim, name: str, kind: type, values: Mapping[str, Any]) -> float | None:
    """The smallest upper (``Le``) or largest lower (``Ge``) limit that the hypotheses set to a quantity, among those
    that ``values`` decide; ``None`` if there is none."""
    arrays = {n: np.float64(v) for n, v in values.items()}
    sides = [h.relation.rhs for h in statement.hypotheses
             if isinstance(h.relation, kind) and h.relation.lhs == symbol(name)]  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = [float(compiled(side)(arrays)) for side in sides if {s.name for s in side.free_symbols} <= set(values)]
    limits = [limit for limit in limits if not np.isnan(limit)]
    return (min if kind is Le else max)(limits) if limits else None
