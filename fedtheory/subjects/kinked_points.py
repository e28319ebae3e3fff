"""Points of claims about runs on clients with piecewise linear gradients, counted by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, arb_mat

from ..algorithms import Algorithm, Fast
from ..claims.balls import Ball, Number, Undecided, ball, ball_matrix
from ..claims.statement import Claim
from ..federations import Piecewise, PiecewiseLinear
from ..federations.federation import ONE_SIDED
from ..federations.relative_dissimilarity import least_whole_factor
from ..functionals import AVERAGES, Functional
from ..moments.exchangeable import TooMany, affine_map, enumerated_errors
from ..moments.kinked_runs import alike, counts_of_members, deterministic_errors, piecewise
from ..moments.mean_drift import drift_floor
from ..participation import Fixed
from ..quantities import RUN_QUANTITIES, SERVER_RUN_QUANTITIES
from ..setting import Setting
from .enclosures import FIRST, SECOND, Way, advanced, steps_of, with_new_steps
from .file_entries import (
    check_size,
    entry,
    indices,
    is_about_one_round,
    rational_entry,
    rationals,
    stated_constants,
    vector,
)
from .protocol import Box, Examined, Reading, Sides, assumption_checks
from .run_points import RunPoint
from .short_numbers import offset_above, root_above

if TYPE_CHECKING:
    from .run_subject import Part

MOST_CLIENTS, MOST_KINDS, MOST_PIECES = 100_000, 20, 50
"""Largest numbers of clients, of their kinds, and of pieces of a gradient in such an instance."""

ENUMERATED = 6
"""Largest number of rounds of random runs whose laws are enumerated."""

FROM_BELOW = "the left side from below, by the drift of the mean"


@dataclass(frozen=True, eq=False)
class KinkedPoint(RunPoint):
    """Run on a ``Piecewise`` federation; of each kind, the first clients are the fixed participants."""

    def _check_federation(self, claim: Claim) -> None:
        fed = piecewise(self.setting)
        check_size("dimension", fed.dimension)
        pieces = max(len(g.slopes) for row in fed.gradients for g in row)
        for name, size, most in (
            ("clients", fed.clients, MOST_CLIENTS),
            ("kinds", len(fed.gradients), MOST_KINDS),
            ("pieces", pieces, MOST_PIECES),
        ):
            if size > most:
                raise ValueError(f"{name} = {size}: allowed in an instance is at most {most}")
        if is_about_one_round(claim) and claim.functional.scope == "round":
            raise ValueError(f"{claim.ref} is about one round: allowed is a quadratic federation")

    def _written_clients(self) -> dict[str, Any]:
        fed = piecewise(self.setting)
        rows = [[g.to_json() for g in row] for row in fed.gradients]
        return {"federation": {"kind": "piecewise", "multiplicities": list(fed.multiplicities), "gradients": rows}}

    def _written_participants(self) -> dict[str, Any]:
        return {"participation": {"kind": "fixed", "counts": counts_of_members(self.setting)}}

    def _initial_gap(self) -> Fraction:
        return piecewise(self.setting).exact_gap(list(self.setting.exact_start))

    def true_constants(self, squared: bool = False) -> dict[str, Number]:
        """Return the federation's constants; see ``RunPoint.true_constants``."""
        fed = piecewise(self.setting)
        constants: dict[str, Number] = dict(fed.exact_constants())
        roots = {n: v if squared else ball(v).sqrt() for n, v in fed.exact_squared_constants().items()}
        return constants | roots | self._true_offset(squared)

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """Return the point as the claim speaks of it."""
        return _ExaminedKinks(self, claim)

    def shorter(self):
        """Yield points with fewer rounds."""
        if self.rounds > 10:
            yield replace(self, rounds=self.rounds // 10)


def kinked_point(
    gradients: Sequence[Sequence[PiecewiseLinear]],
    multiplicities: Sequence[int],
    start: Sequence[Fraction],
    algorithm: Algorithm,
    counts: Sequence[int],
    rounds: int,
    constants: Mapping[str, Fraction],
    order: tuple[str, ...],
    part: Part,
) -> KinkedPoint:
    """Make the runs of these kinds of clients, of which so many of each kind take part whenever the algorithm draws
    none.

    Raises:
        ValueError: shapes that do not match, or numbers out of bounds.
    """
    if sum(multiplicities) > MOST_CLIENTS:
        raise ValueError(f"clients = {sum(multiplicities)}: allowed in an instance is at most {MOST_CLIENTS}")
    if len(counts) != len(multiplicities) or any(not 0 <= c <= m for c, m in zip(counts, multiplicities, strict=True)):
        raise ValueError(f"counts = {list(counts)}: allowed is for each kind at most its multiplicity")
    noise, server_noise = (constants.get(name, Fraction(0)) for name in ("gradient_noise", "server_noise"))
    fed = Piecewise(gradients, multiplicities, noise, server_noise=server_noise)
    setting = Setting(fed, algorithm, Fixed(first_members(multiplicities, counts)), start=list(start))
    return KinkedPoint(setting, rounds, constants, order, part=part)


def first_members(multiplicities: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return the first so many clients of each kind.

    >>> first_members([3, 2], [1, 2])
    [0, 3, 4]
    """
    starts = np.cumsum([0, *multiplicities[:-1]]).tolist()
    return [i for begin, count in zip(starts, counts, strict=True) for i in range(begin, begin + count)]


def parse(data: Mapping[str, Any], claim: Claim, part: Part) -> KinkedPoint:
    """Read a run from plain data, not yet checked."""
    federation, algorithm, participation = (
        entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    made, order = part.read(algorithm, claim)
    return kinked_point(
        read_gradients(federation),
        indices(federation, "multiplicities"),
        vector(data, "start"),
        made,
        indices(participation, "counts"),
        entry(data, "rounds", int),
        rationals(data, "constants"),
        order,
        part,
    )


def read_gradients(federation: Mapping[str, Any]) -> list[list[PiecewiseLinear]]:
    """Read the gradients of each kind of client, by coordinate.

    Raises:
        ValueError: an entry is missing, of the wrong kind or out of bounds.
    """
    rows = entry(federation, "gradients", list)
    if not rows or len(rows) > MOST_KINDS or not all(isinstance(row, list) for row in rows):
        raise ValueError(f"gradients: allowed is a list of 1 to {MOST_KINDS} lists")
    return [[_line(each) for each in row] for row in rows]


def _line(data: Any) -> PiecewiseLinear:
    if not isinstance(data, dict):
        raise ValueError(f"gradients: a {type(data).__name__} is no gradient, allowed is an object")
    breakpoints = vector(data, "breakpoints")
    if len(breakpoints) >= MOST_PIECES:
        raise ValueError(f"breakpoints are {len(breakpoints)}: allowed are fewer than {MOST_PIECES}")
    return PiecewiseLinear(vector(data, "slopes"), breakpoints, rational_entry(data, "at_zero"))


def from_setting(claim: Claim, setting: Setting, rounds: int, part: Part, **given: Fraction) -> KinkedPoint:
    """Make the point of a setting; ``given`` are values of ``file_entries.FREE``.

    Raises:
        ValueError: the runs are not those of a fixed set without replacement, or a constant is infinite or not given.
    """
    fed, algorithm = piecewise(setting), setting.algorithm
    if not isinstance(setting.participation, Fixed):
        raise ValueError(f"participation is {type(setting.participation).__name__}: allowed is Fixed")
    if isinstance(algorithm, Fast) and (algorithm.replacement or algorithm.adaptive):
        raise ValueError("algorithm has replacement or adaptive snapshots: allowed is neither")
    if fed.noise == ONE_SIDED:
        raise ValueError(f"noise = {fed.noise!r}: allowed in an instance with kinks is 'two-point'")
    constants = kinked_constants(claim, fed, given)
    open_steps = {name: None for name in steps_of(algorithm) if name in claim.choices}
    return kinked_point(
        fed.gradients,
        fed.multiplicities,
        list(setting.exact_start),
        with_new_steps(algorithm, open_steps),
        counts_of_members(setting),
        rounds,
        constants,
        (),
        part,
    )


def kinked_constants(claim: Claim, fed: Piecewise, given: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return the constants that an instance of the claim states; ``given`` ones take precedence.

    Raises:
        ValueError: one is infinite or not given.
    """
    known: dict[str, Any] = {**fed.exact_constants(), "dissimilarity": fed.squared_dissimilarity_root_above()}
    known["dissimilarity_at_optimum"] = root_above(fed.exact_squared_constants()["dissimilarity_at_optimum"])
    asked = stated_constants(claim)
    if "dissimilarity_offset" in asked:
        known["dissimilarity_factor"] = given.get("dissimilarity_factor") or Fraction(least_whole_factor(fed) or 1)
        known["dissimilarity_offset"] = offset_above(fed, known["dissimilarity_factor"])
    constants: dict[str, Any] = {name: given.get(name, known.get(name)) for name in asked}
    missing = [name for name, value in constants.items() if value is None]
    if missing:
        raise ValueError(f"{missing[0]} is not in a setting, or infinite: give it")
    return constants


# Both sides -----------------------------------------------------------------------------------------------------------


class _ExaminedKinks(Examined):
    def __init__(self, point: KinkedPoint, claim: Claim) -> None:
        self.point, self.claim = point, claim
        self.values = point.quantities(claim)
        steps = {name: self.values[name] for name in claim.choices}
        self.algorithm = with_new_steps(
            point.setting.algorithm, {n: v if isinstance(v, Fraction) else Ball(v) for n, v in steps.items()}
        )
        self.asked = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES} & set(claim.quantities)
        self.checks = assumption_checks(claim, point.constants, point.true_constants(squared=True))
        self._known: dict[Any, tuple[Number, str]] = {}

    def chosen(self) -> Mapping[str, Number]:
        return self.values

    def sides(self, reading: Reading) -> Sides:
        way = self.point.part.way(self.point, self.claim, reading, self.algorithm)
        average = reading.get("average", AVERAGES[0])
        key = way.setting.algorithm, way.order, average
        if key not in self._known:
            self._known[key] = left_side(way, self.claim.functional, average)
        left, note = self._known[key]
        return Sides(left, self.values, self._boxes, note)

    def _boxes(self) -> list[Box]:
        if self.asked:
            raise Undecided("run quantities are enclosed for quadratic federations only")
        return [{}]


def left_side(way: Way, functional: Functional, average: str) -> tuple[Number, str]:
    """Compute the functional of the runs, and say how it was found where that is not the usual way.

    Raises:
        Undecided: the runs can be followed by none of the ways; it is said why.
    """
    setting, rounds = way.setting, way.rounds
    fed = piecewise(setting)
    if not functional.among_errors:
        raise Undecided(f"{functional.name} is not known of clients with kinks, or of crowds")
    if not any(g.breakpoints for row in fed.gradients for g in row):
        return _affine(way, functional, average), ""
    if setting.deterministic or (way.order and alike(setting)):
        found = deterministic_errors(way.in_balls, [rounds], ball, way.order)
        if not found.rounds:
            raise Undecided(f"the run does not settle soon enough to be followed over {rounds} rounds")
        return found.functional(functional, average)[0], ""
    if any(isinstance(step, Ball) for step in steps_of(setting.algorithm).values()):
        raise Undecided("the claim chooses an irrational step size: random runs with kinks need rational ones")
    if rounds <= ENUMERATED:
        try:
            found = enumerated_errors(setting, rounds, asks_for_the_last(functional, average), way.order)
            return found.functional(functional, average)[0], ""
        except TooMany as reason:
            if functional.average:
                raise Undecided(str(reason)) from None
    if functional.observable != "squared_distance" or functional.average or way.order:
        raise Undecided(f"rounds = {rounds}: laws of random runs with kinks are enumerated up to {ENUMERATED}")
    try:
        return drift_floor(setting, [rounds], exact=True)[0], FROM_BELOW
    except ValueError as reason:
        raise Undecided(str(reason)) from None


def asks_for_the_last(functional: Functional, average: str) -> bool:
    """Whether the functional needs E|grad F(x_R)|^2."""
    return functional.observable == "squared_gradient" and (not functional.average or average == AVERAGES[0])


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of runs without kinks.

    Attributes:
        maps: see ``affine_map``, of either kind of round and of a drawn one. start: the moments of x_0.
        slope: F's squared curvature.
    """

    maps: list[arb_mat]
    start: arb_mat
    slope: arb

    def of(self, end: arb_mat, rounds: int, functional: Functional, average: str) -> arb:
        """Return the coordinate's part of the functional, from the moments after the rounds."""
        if functional.average:
            late = (end[0, 0] - self.start[0, 0]) * self.slope if average == AVERAGES[0] else arb(0)
            return (end[3, 0] + late) / rounds
        return end[0, 0] if functional.observable == "squared_distance" else self.slope * end[0, 0]


def coordinates(setting: Setting) -> list[tuple[Coordinate, int]]:
    """Return the different coordinates of runs without kinks, and how many are like each; steps are in balls."""
    fed, share = piecewise(setting), setting.algorithm.share
    shifts = setting.exact_start - fed.exact_optimum
    found: list[tuple[Coordinate, int]] = []
    seen: dict[Any, list[int]] = {}
    for j, shift in enumerate(shifts):
        key = (tuple(row[j] for row in fed.gradients), shift)
        seen.setdefault(key, []).append(j)
    for (_, shift), places in seen.items():
        j = places[0]
        maps = [ball_matrix(affine_map(setting, kind, j)) for kind in setting.algorithm.kinds]
        maps.append(maps[FIRST] * ball(share) + maps[SECOND] * ball(1 - share))
        start = ball_matrix(np.array([shift**2, shift, Fraction(1), Fraction(0)], dtype=object))
        found.append((Coordinate(maps, start, ball(fed.mean_gradient[j].slopes[0]) ** 2), len(places)))
    return found


def _affine(way: Way, functional: Functional, average: str) -> arb:
    """Enclose the left side of a run without kinks, from two moments of each coordinate."""
    each = [
        (one.of(advanced(way, one.maps, one.start), way.rounds, functional, average), times)
        for one, times in coordinates(way.in_balls)
    ]
    return sum((value * times for value, times in each), arb(0))
