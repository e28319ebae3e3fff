"""Search of claims about runs and about single rounds: the settings of candidates, and both sides at their horizons."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import sympy

from ..algorithms import fast
from ..algorithms.fast import fast_of
from ..claims.balls import two_sided_denominators
from ..claims.evaluation import Bound, compiled
from ..claims.statement import Claim
from ..federations import ConvexFederation, Federation, Piecewise, Quadratic
from ..federations.piecewise import NoMinimum
from ..functionals import AVERAGES
from ..moments.one_round import one_round
from ..moments.round_maps import quadratic
from ..moments.trajectory import ranges_of_run
from ..participation import Fixed, IndexBeta
from ..quantities import LEAST_QUANTITIES, POINT_QUANTITIES, ROUND_QUANTITIES, RUN_QUANTITIES
from ..setting import Setting
from . import kinked_search
from . import varying_steps as in_floats
from .enclosures import algorithm_of, steps_of, with_new_steps
from .file_entries import FREE, Participants, stated_constants
from .kinked_search import KinkedCandidate
from .lead import LATE, Found, finds_at, worst
from .protocol import Point, Space, runs_of
from .quadratic_candidates import (
    LEFT_OUT,
    OF_ANY_ALGORITHM,
    Candidate,
    demands,
    draw,
    in_words,
    known_of,
    perturb,
    placed,
    settle,
    snapshots,
    structured,
    within,
)
from .run_points import RunPoint, diagonals, run_point
from .run_subject import PARTS, Part, from_setting
from .short_numbers import STEP_SHARES, fixed_sets, short
from .varying_steps import by_rule, certainly, followed, free_of_steps, left_in_floats, possible, step_of
from .violations import violating

HORIZONS = np.unique(np.geomspace(1, 1e8, 33).astype(np.int64))
"""The numbers of rounds at which every candidate is looked at."""

CHOICE_HORIZONS = HORIZONS[::-8][::-1]
"""Numbers of rounds for claims that choose the step size, each of which needs a setting of its own."""

ATTEMPTS = 3
"""Number of tries to match a probability of snapshots with the step size chosen for it, where each limits the other."""

COHORT_DRAWS = ("without replacement", "with replacement")
"""Ways in which a uniform cohort can be drawn."""
GRID = 5
"""Number of points along the range of a maximum over the run, both ends among them; a hypothesis has to hold at all."""

RESOLUTION = 1e-26
"""Left side, in units of smoothness and the squared distance of start and minimisers from x*, that counts as 0.

Less is rounding: of numbers by 2^-53 of that distance, squared.
"""
CANCELLATION = 1e-15  # of the squared extent of the minimisers: what floats leave of products that cancel
ONE_ROUND_RESOLUTION = 1e-14
"""Rounding after one round, in units of smoothness and the squared distance of the start from x*.

Some ten operations are rounded by 2^-53 each, relative to that or to the left side itself.
"""


class Runs(Space):
    """Space of settings on which a claim about runs or single rounds is searched.

    Readings: a candidate conforms to one of the options of every ambiguity that concerns its run (snapshots, cohorts).
    Where several describe the same run, the first counts: which iterates are averaged, how a condition is read.
    """

    part: Part = PARTS["fast"]
    """Of the points near a find."""

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        self.demands = demands(statement)
        options = {ambiguity.name: ambiguity.options[0] for ambiguity in statement.ambiguities}
        self.average = options.get("average", AVERAGES[0])
        self.shifted = options.get("local gradients") == "k = 1..K"

    left_out = LEFT_OUT

    @property
    def searched(self) -> str:
        """Description of the settings that are searched, in words."""
        runs, chosen = runs_of(self.statement, self.part.kind), bool(self.statement.choices)
        return in_words(self.demands, runs, self.horizons.tolist(), chosen) + kinked_search.in_words(self.demands)

    def structured(self) -> Iterator[Any]:
        """The candidates to look at first."""
        beyond = kinked_search.structured(self.demands) if kinked_search.searched(self.demands) else ()
        return itertools.chain(structured(self.demands), map(self._conforming, beyond))

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw a random candidate, at times beyond small quadratics."""
        if kinked_search.searched(self.demands) and rng.random() < kinked_search.SHARE:
            return self._conforming(kinked_search.draw(rng, self.demands))
        return draw(rng, self.demands)

    def perturb(self, candidate: Any, rng: np.random.Generator, size: float) -> Any:
        """A neighbour."""
        if isinstance(candidate, KinkedCandidate):
            return self._conforming(kinked_search.perturb(candidate, rng, self.demands, size))
        return perturb(candidate, rng, self.demands, size)

    def _conforming(self, candidate: KinkedCandidate) -> KinkedCandidate:
        """Convex where the claim speaks of strong convexity."""
        convex = "strong_convexity" in {*self.statement.quantities, *stated_constants(self.statement)}
        return candidate.convex() if convex else candidate

    def readings(self, found: Found) -> tuple[str, ...]:
        """Return the readings of how cohorts are drawn that the found run conforms to: both, where one client is drawn
        or none."""
        algorithm = fast_of(found.point)
        if self.demands.replacement and (algorithm.cohort == 1 or algorithm.snapshot_probability == 0):
            return COHORT_DRAWS
        return COHORT_DRAWS[algorithm.replacement :][:1]

    @cached_property
    def _of_any_algorithm(self) -> list[str]:
        return [name for name in self.statement.quantities if name in OF_ANY_ALGORITHM]

    @cached_property
    def horizons(self) -> np.ndarray:
        """The numbers of rounds at which a candidate is looked at."""
        if self.demands.one_round:
            return HORIZONS[:1]
        return followed(CHOICE_HORIZONS if self.statement.choices else HORIZONS, self.statement)

    def assess(self, candidate: Any) -> tuple[Found, Found | None] | None:
        """Evaluate the candidate at its worst horizon, and at its worst late one (see ``lead.LATE``).

        It is ``None`` if no horizon satisfies every hypothesis.
        """
        try:
            if self.statement.choices:
                finds = list(self._chosen(candidate))
            else:
                setting = settle(self.statement, candidate)
                finds = [] if setting is None else list(self._looked_at(candidate, setting, self._horizons(setting)))
        except NoMinimum:
            return None
        return self._worst(finds)

    def _horizons(self, setting: Setting) -> np.ndarray:
        return kinked_search.LONG_HORIZONS if isinstance(setting.federation, Piecewise) else self.horizons

    def _worst(self, finds: Sequence[Found]) -> tuple[Found, Found | None] | None:
        best = worst(finds)
        late = () if self.demands.one_round else (found for found in finds if found.fading < LATE)
        return None if best is None else (best, worst(late))

    def _chosen(self, candidate: Candidate) -> Iterator[Found]:
        """The candidate with the step size that the claim chooses for each horizon."""
        base, free = placed(candidate), free_of_steps(candidate.step_constant)
        known = known_of(base, [n for n in self.statement.quantities if n not in self.statement.choices])
        stated = free | {name: known[name] for name in ("initial_gap", "initial_distance") if name in known}
        values = {name: constant.value for name, constant in known.items()} | free
        values = {name: np.float64(value) for name, value in values.items() if name in self.statement.quantities}
        for rounds in self.horizons:
            chosen = self._choice(candidate, values | {"rounds": np.float64(rounds)})
            step = chosen.pop("local_lr")
            if possible(step) and _holds(self.statement.evaluate(**chosen), (), undecided=True):
                algorithm = candidate.algorithm(base.federation.clients, step, chosen.get("snapshot_probability"))
                yield from self._looked_at(candidate, base.running(algorithm), np.array([rounds]), stated)

    def _choice(self, candidate: Candidate, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with the step size that the claim chooses and, where snapshots are random, a probability that
        this step size allows, if some tries find one: each depends on the other."""
        for _ in range(0 if candidate.period or by_rule(self.statement.choices["local_lr"]) else ATTEMPTS):
            probability = within(self.statement, candidate, {**values, "local_lr": step_of(self.statement, values)})
            if probability is not None and "snapshot_probability" in values:
                values = {**values, "snapshot_probability": np.float64(probability)}
        return {**values, "local_lr": step_of(self.statement, values)}

    def _looked_at(
        self, candidate: Any, setting: Setting, horizons: np.ndarray, stated: Mapping[str, Any] | None = None
    ) -> Iterator[Found]:
        """The setting at the worst of the horizons where every hypothesis holds, and at the worst late one."""
        overrides: dict[str, Any] = known_of(setting, self._of_any_algorithm)
        overrides |= dict(stated or {}) | self._young(candidate, setting)
        if self.demands.run_quantities:
            if not setting.deterministic:  # one round leaves no arbitrary one to take a maximum over
                horizons = horizons[horizons >= 2]
            peaks = self._peaks(setting, horizons) if horizons.size else None
            if peaks is None:
                return
            overrides |= peaks
        of_round = setting.once("one round in floats", lambda: one_round(setting)) if self.demands.one_round else None
        if of_round:
            overrides |= {n: v for n, v in of_round.quantities().items() if n in self.statement.quantities}
        bound = self.statement.at(setting, rounds=horizons, **overrides)
        admissible = _holds(bound, horizons.shape, undecided=False) & self._without_poles(bound, horizons.shape)
        if not admissible.any():
            return
        if of_round:
            left = np.array([of_round.left(self.statement.functional)])
        else:
            left = self._errors(setting, horizons)
            admissible &= ~np.isnan(left)
        seen = self._surely(left, setting)
        if not of_round:
            right = np.atleast_2d(bound.value).max(axis=0) + np.zeros(left.shape)
            seen = in_floats.surely(setting, horizons, self.statement.functional, self.average, seen, right)
        yield from finds_at(candidate, lambda rounds: setting, bound, horizons, admissible, left, seen)

    def certain(self, found: Found) -> Found:
        return found if self.demands.one_round else certainly(found, self.statement.functional, self.average)

    def _errors(self, setting: Setting, horizons: np.ndarray) -> np.ndarray:
        """The left side at the horizons, infinite where floats are too small for it; nan where it is not known."""
        functional = self.statement.functional
        if functional.compute is not None:
            return self._left(setting, horizons)
        what = "left", functional, self.average, horizons.tobytes()
        return setting.once(what, lambda: self._left(setting, horizons)).copy()

    def _left(self, setting: Setting, horizons: np.ndarray) -> np.ndarray:
        functional = self.statement.functional
        if isinstance(setting.federation, Piecewise):
            return kinked_search.errors_at(setting, horizons, functional, self.average)
        with np.errstate(over="ignore"):
            return left_in_floats(setting, horizons, functional, self.average)

    def _peaks(self, setting: Setting, horizons: np.ndarray) -> dict[str, Any] | None:
        """The run quantities at each horizon or, where they are not known exactly, a grid over their ranges,
        (points, 1) or (points, len(horizons)); ``None`` where nothing is known."""
        ranges = ranges_of_run(setting, horizons, {*self.statement.quantities}, self.shifted)
        if ranges is None:
            return None
        if all(np.array_equal(low, high) for low, high in ranges.values()):
            return {name: low for name, (low, _) in ranges.items()}
        axes = [np.linspace(low, high, GRID).reshape(GRID, -1) for low, high in ranges.values()]
        places = np.indices((GRID,) * len(axes)).reshape(len(axes), -1)
        return {name: axis[place] for name, axis, place in zip(ranges, axes, places, strict=True)}

    def _surely(self, left: np.ndarray, setting: Setting) -> np.ndarray:
        """A left side, less what it may be off; 0 where it is nothing but that."""
        units = self.statement.functional.units
        unit, begun, cancelling = setting.whatever_the_algorithm(("scales", units), lambda: _scales(setting, units))
        seen = np.where((left > 0) & (left < RESOLUTION * unit), 0.0, left)
        if self.demands.one_round:
            return np.where(seen > 0, np.maximum(seen - ONE_ROUND_RESOLUTION * begun, 0.0), seen)
        # A round may contract to nothing, and leave the rounding of what was there before it.
        before = np.concatenate([[begun], np.where(left < np.inf, np.maximum(left, 0), 0)[:-1]])
        off = ONE_ROUND_RESOLUTION * np.sqrt(before) * np.sqrt(unit) * (not self.statement.choices) + cancelling
        return np.where((seen > 0) & (seen < 1e8 * off), np.maximum(seen - off, 0.0), seen)

    def _without_poles(self, bound: Bound, shape: tuple[int, ...]) -> np.ndarray:
        """Mark where no denominator of a hypothesis changes sign on the grid.

        A quotient of numbers linear in each maximum then takes its extremes at the grid's corners.
        """
        clear = np.ones(shape, dtype=bool)
        arrays = in_floats.numbers_of(bound.quantities)
        for denominator in self._denominators if any(np.ndim(value) == 2 for value in arrays.values()) else ():
            value = compiled(denominator)(arrays)
            if np.ndim(value) == 2:
                clear &= (value > 0).all(axis=0) | (value < 0).all(axis=0)
        return clear

    @cached_property
    def _denominators(self) -> list[sympy.Expr]:
        return [d for hypothesis in self.statement.hypotheses for d in two_sided_denominators(hypothesis.slack)]

    # Exact points ----------------------------------------------------------------------------------------------------

    def rounded(self, found: Found, digits: int) -> Iterator[RunPoint]:
        """Yield the runs with short numbers and a fixed set, with a share of the steps where the claim chooses none."""
        if isinstance(found.point.federation, Piecewise):
            yield from kinked_search.rounded(self.statement, found, digits, self.part, self._rounded_rule)
            return
        shares = STEP_SHARES[: 1 if self.statement.choices else None]
        for members, share in itertools.product(fixed_sets(found.point), shares):
            yield self._rounded(found, digits, members, share)

    @property
    def beside(self) -> Space | None:
        """The space of runs with participants in the worst order."""
        return import_module(".adversarial_orders", __package__).ordered(self)

    def _rounded(self, found: Found, digits: int, members: Participants, share: Fraction) -> RunPoint:
        given = {name: short(found.quantities[name], digits) for name in FREE if name in found.quantities}
        setting = replace(found.point, participation=members)
        algorithm, fed = setting.algorithm, quadratic(setting)
        steps: dict[str, Any] = {n: short(step * share, digits, ROUND_FLOOR) for n, step in steps_of(algorithm).items()}
        algorithm = with_new_steps(algorithm, steps | self._rounded_rule(algorithm, digits))
        # What cannot be a point is refused before it is rounded.
        from_setting(self.statement, replace(setting, algorithm=algorithm), found.rounds, self.part, **given)
        hessians, centres = (
            [[short(v, digits) for v in row] for row in rows] for rows in (diagonals(fed), fed.exact_centres)
        )
        noises = [short(noise, digits) for noise in (fed.exact_gradient_noise, fed.exact_server_noise)]
        federation = Quadratic(hessians, centres, noises[0], server_noise=noises[1])
        offset = [short(v, digits) for v in setting.exact_start - fed.exact_optimum]
        near = Setting(federation, algorithm, members, list(federation.exact_optimum + np.array(offset)))
        rounds = int(short(found.rounds, digits))
        return from_setting(self.statement, near, rounds, self.part, **given)

    def _rounded_rule(self, algorithm: Any, digits: int) -> dict[str, Any]:
        """The snapshot probability up, as conditions on it have it; one over a whole number where the claim may mean a
        period. Judging looks at cohorts with and without replacement, as the claim has it."""
        if algorithm.periodic:
            return {"replacement": False}
        probability = algorithm.snapshot_probability
        readings = {reading.get("snapshots") for reading in self.statement.readings()}
        if "period" in readings and probability > 0:
            probability = Fraction(1, math.floor(1 / probability))
        else:
            probability = min(Fraction(1), short(probability, digits, ROUND_CEILING))
        return {"replacement": False, "fixed_probability": probability}

    def family_member(self, rng: np.random.Generator) -> RunPoint | None:
        """Draw a quartet: minimisers u, -u, 1, -1; the client u alone takes part in arbitrary rounds."""
        if self.statement.choices or self.demands.one_round:
            return None
        u = Fraction(int(rng.integers(1, 20)), 20)
        constants = {name: Fraction(int(name != "gradient_noise")) for name in stated_constants(self.statement)}
        start = Fraction(int(rng.integers(2, 60)), 20)
        step = Fraction(1, int(rng.integers(20, 400)))
        algorithm = fast(cohort=4, local_lr=step, snapshot_period=2)
        clients = [[1]] * 4, [[u], [-u], [1], [-1]], [start]
        return run_point(*clients, algorithm, Fixed([0]), 10**5, constants, part=PARTS["fast"])

    def violating(self, kind: str) -> Iterator[RunPoint]:
        """Yield points that violate an assumption; see ``violations.violating``."""
        return violating(self.statement, self.part, kind)

    def neighbour(self, point: Point, rng: np.random.Generator) -> RunPoint:
        """Move one number by a step of its grid."""
        assert isinstance(point, RunPoint)
        step, setting = Fraction(int(rng.choice([-2, -1, 1, 2])), 20), point.setting
        kind, centres = rng.integers(3), quadratic(setting).exact_centres
        u = centres[0][0]
        if kind == 0 and 0 < u + step <= 1:
            return point.with_centres([[u + step], [-u - step], *centres[2:]])
        if kind == 1:
            return replace(point, setting=replace(setting, start=[setting.exact_start[0] + step]))
        denominator = max(20, round(float(1 / algorithm_of(setting).local_lr) * float(rng.choice([0.7, 1.5]))))
        algorithm = with_new_steps(setting.algorithm, {"local_lr": Fraction(1, denominator)})
        return replace(point, setting=replace(setting, algorithm=algorithm))

    # Other evidence --------------------------------------------------------------------------------------------------

    @property
    def repairable(self) -> bool:
        """Whether the claim is about runs with a step size of the user's choice, and has no quantities but those of
        settings."""
        elsewhere = {*ROUND_QUANTITIES, *POINT_QUANTITIES, *FREE} & {*self.statement.quantities}
        return self.statement.functional.scope == "run" and not (self.statement.choices or elsewhere)

    @property
    def measurable(self) -> bool:
        """Whether the claim is a theorem about runs with step sizes of the user's choice, not of minima over them."""
        of_runs = self.statement.functional.scope == "run" and not self.statement.choices
        least = {*LEAST_QUANTITIES} & {*self.statement.quantities}
        return of_runs and not least and self.statement.id.split(".")[1].startswith("thm")

    def on_data(self, federation: Federation, cohort: int, arbitrary_cohort: int, local_steps: int) -> Setting:
        """Make ``fast`` with a step size at half the claim's cap and the smallest snapshot probability that the
        q-condition allows.

        The probability has a margin of a thousandth of 1 - q; arbitrary rounds follow the index-weighted Beta(1, 10)
        law. Where the condition speaks about the run, it is met for half of the G_1 that the first round has and G_2 =
        0; whether it holds on the run is checked afterwards. A claim without a condition on q is measured at q = 1/2.

        Raises:
            ValueError: the claim allows no snapshot probability below 1.
        """
        statement, wanted = self.statement, self.demands

        def setting(lr: float, probability: float) -> Setting:
            algorithm = fast(cohort=cohort, local_steps=local_steps, local_lr=lr, **snapshots(wanted, probability))
            return Setting(federation, algorithm, IndexBeta(arbitrary_cohort))

        def slack(at: Setting, hypothesis: str, **overrides: float) -> float:
            return float(np.asarray(statement.at(at, rounds=1, **overrides).slack[hypothesis]))

        tiny = 1e-30
        lr = (slack(setting(tiny, 1.0), "step_cap") + tiny) / 2
        if all(h.name != "q_condition" for h in statement.hypotheses):
            return setting(lr, 0.5)
        probe = setting(lr, 0.0)
        assert isinstance(federation, ConvexFederation)
        first = float((federation.global_gradient(probe.start_vector[None]) ** 2).sum())
        # Half of the first round's value: the local steps after the first see smaller gradients.
        guess = dict(zip(RUN_QUANTITIES, (local_steps**2 * first / 2, 0.0, local_steps**2 * first), strict=True))
        overrides = {name: value for name, value in guess.items() if name in statement.quantities}
        needed = -slack(probe, "q_condition", **overrides)
        if not needed < 1:
            raise ValueError(f"{statement.ref} allows no snapshot probability below 1 on this federation")
        return setting(lr, 1 - (1 - max(0.0, needed)) * (1 - 1e-3))

    def _young(self, candidate: Candidate, setting: Setting) -> dict[str, float]:
        """The free parameter of a Young inequality, a share or multiple of the one that balances both its terms."""
        if "young_parameter" not in self.statement.quantities:
            return {}
        needed = ("dissimilarity", "initial_distance", "smoothness")
        slope, distance, curvature = (c.value for c in setting.quantities(needed=needed).values())
        best = slope / (2 * distance) if slope > 0 and distance > 0 else curvature
        return {"young_parameter": candidate.young * best}


def _scales(setting: Setting, units: Any) -> tuple[float, float, float]:
    """The unit of a left side by start and minimisers, and by the start alone; what floats leave of terms that
    cancel."""
    fed = setting.federation
    if isinstance(fed, Piecewise):
        points, cancelling = kinked_search.extent(setting).astype(float), 0.0
    else:
        fed = quadratic(setting)
        points = (np.vstack([fed.exact_centres, setting.exact_start]) - fed.exact_optimum).astype(float)
        cancelling = CANCELLATION * in_floats.scale(fed, units, points[:-1])
    return in_floats.scale(fed, units, points), in_floats.scale(fed, units, points[-1:]), cancelling


def _holds(bound: Bound, shape: tuple[int, ...], undecided: bool) -> np.ndarray:
    """Mark where every hypothesis holds (on the whole of a grid); ``undecided`` counts where a quantity is unknown."""
    admissible = np.ones(shape, dtype=bool)
    for slack in bound.slack.values():
        holds = np.asarray(undecided if slack is None else slack >= 0)
        admissible &= holds.all(axis=0) if holds.ndim == 2 else holds
    return admissible
