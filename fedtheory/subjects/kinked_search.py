"""Search of claims about runs beyond small quadratics: gradients with kinks, and crowds of clients of a few kinds.

A run with kinks is followed where it is deterministic, to any horizon, else by its law over a round and by the drift of
its mean. A crowd without kinks is followed by the moments of its coordinates, in balls, over up to 10^15 rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..algorithms import Fast, fast
from ..claims.balls import Undecided, working_precision
from ..claims.statement import Claim
from ..federations import Piecewise, PiecewiseLinear
from ..functionals import Functional
from ..moments.kinked_runs import counts_of_members, deterministic_errors, piecewise
from ..moments.mean_drift import drift_floor
from ..participation import Fixed
from ..setting import Setting
from .enclosures import DRAWN, Way, algorithm_of, steps_of, with_new_steps
from .file_entries import FREE
from .kinked_points import KinkedPoint, asks_for_the_last, coordinates, first_members, from_setting, left_side
from .lead import Found
from .quadratic_candidates import Demands, log_uniform
from .run_subject import Part
from .short_numbers import STEP_SHARES, short

SHARE = 0.25
"""Share of the random candidates that have kinks or are crowds, where a claim speaks of runs."""

LONG_HORIZONS = np.unique(np.round(np.geomspace(1, 1e15, 31)).astype(np.int64))
"""The numbers of rounds at which such candidates are looked at."""

MOST_COPIES, MOST_STEPS, MOST_DIMENSIONS = 10**4, 100, 4

PRECISION = 192
"""Bits of the balls that a search computes in."""

STATES = 8
"""Largest number of signs of a client in a round whose law is enumerated in a search."""


@dataclass(frozen=True)
class KinkedCandidate:
    """One point of the search space.

    Attributes:
        clients: M. share: of them in the first of two kinds; 1 for one kind only.
        offset: what the first kind's gradient has above F's, in units of smoothness * scale.
        dimension: every coordinate is like the first one, but for curvature: see ``conditioning``.
        left, right: slopes before the kink, and after it up to ``width`` further on, over ``smoothness``; from there on
            the slope is ``smoothness``. width: 0 for no second kink; infinite for none at all (slopes are then
            ``smoothness``).
        level: F's gradient at the kink, in units of smoothness * scale.
        conditioning: of a crowd, smallest over largest curvature (from two dimensions on).
        start: x_0 less the kink (of a crowd: x_0 - x*), along the coordinate ``axis``, in units of ``scale``.
        present: which share of each kind is there in arbitrary rounds.
        cohort: m. noise: as ``quadratic_candidates.Candidate``; server_noise likewise.
        The others are those of ``quadratic_candidates.Candidate``.
    """

    clients: int
    share: float
    offset: float
    dimension: int
    left: float
    right: float
    width: float
    level: float
    conditioning: float
    smoothness: float
    scale: float
    noise: float
    server_noise: float
    start: float
    axis: int
    present: tuple[float, float]
    cohort: int
    local_steps: int
    step_share: float
    step_constant: float
    probability: float
    young: float = 1.0
    period: ClassVar[int] = 0
    replacement: ClassVar[bool] = False

    @property
    def crowd(self) -> bool:
        """Whether there are no kinks."""
        return math.isinf(self.width)

    @property
    def family(self) -> str:
        """Climbs start from each."""
        if self.crowd:
            return "crowd"
        return ("convex, " if min(self.left, self.right) >= 0 else "") + ("drift" if self.probability == 1 else "kinks")

    @property
    def multiplicities(self) -> list[int]:
        """The numbers of clients of each kind."""
        first = min(self.clients, max(1, round(self.share * self.clients)))
        return [first] if first == self.clients else [first, self.clients - first]

    def convex(self) -> KinkedCandidate:
        """Return the candidate with slopes > 0."""
        return replace(self, left=max(abs(self.left), 1e-6), right=max(abs(self.right), 1e-6))

    def federation(self) -> Piecewise:
        """Make the clients; ``ValueError`` where F has no unique minimiser."""
        counts, unit = self.multiplicities, self.smoothness * self.scale
        offsets = [self.offset * unit]
        if len(counts) == 2:
            offsets.append(-offsets[0] * counts[0] / counts[1])
        else:
            offsets = [0.0]
        rows = [
            [self._line(j, offset if j == self.axis % self.dimension else 0.0) for j in range(self.dimension)]
            for offset in offsets
        ]
        return Piecewise(rows, counts, self.noise * unit, server_noise=self.server_noise * unit)

    def _line(self, coordinate: int, offset: float) -> PiecewiseLinear:
        if self.crowd:
            factor = self.conditioning ** (coordinate / max(1, self.dimension - 1))
            return PiecewiseLinear([self.smoothness * factor], (), offset)
        slopes, places = [self.left * self.smoothness, self.right * self.smoothness], [0.0]
        if self.width > 0:
            slopes, places = [*slopes, self.smoothness], [0.0, self.width * self.scale]
        return PiecewiseLinear(slopes, places, self.level * self.smoothness * self.scale + offset)

    def setting(self, local_lr: float = 1.0, probability: float | None = None) -> Setting:
        """Make the setting with this step size and this probability of snapshots."""
        fed, offset = self.federation(), [Fraction(0)] * self.dimension
        offset[self.axis % self.dimension] = Fraction(self.start * self.scale)
        start = list(fed.exact_optimum + np.array(offset)) if self.crowd else offset
        algorithm = self.algorithm(fed.clients, local_lr, probability)
        counts = [round(share * count) for share, count in zip(self.present, fed.multiplicities, strict=False)]
        if not sum(counts):
            counts[0] = 1
        return Setting(fed, algorithm, Fixed(first_members(fed.multiplicities, counts)), start=start)

    def algorithm(self, clients: int, local_lr: float, probability: float | None = None) -> Fast:
        """Make ``fast`` with these parameters."""
        q = self.probability if probability is None else probability
        return fast(
            cohort=min(self.cohort, clients), local_steps=self.local_steps, local_lr=local_lr, snapshot_probability=q
        )


def searched(wanted: Demands) -> bool:
    """Whether a claim can be searched on such runs.

    It speaks of no maxima over them, of more than one round, and of nothing that a user's file computes.
    """
    return not wanted.own and not wanted.run_quantities and not wanted.one_round and "probability" in wanted.snapshots


def in_words(wanted: Demands) -> str:
    """Describe what is drawn besides small quadratics, as the rest of a sentence."""
    if not searched(wanted):
        return ""
    steps = wanted.fixed.get("local_steps", MOST_STEPS)
    return (
        f"; in {SHARE:.0%} of the draws gradients with kinks, or crowds: at most {MOST_COPIES} clients of few kinds, "
        f"{MOST_DIMENSIONS} dimensions, {steps} local steps"
    )


def structured(wanted: Demands) -> Iterator[KinkedCandidate]:
    """Yield the first candidates.

    These are a large crowd from far, over rounds without end, and two halves of a crowd whose local steps drift to a
    kink.
    """
    plain = KinkedCandidate(
        clients=MOST_COPIES,
        share=0.5,
        offset=1.0,
        dimension=1,
        left=1.0,
        right=1.0,
        width=math.inf,
        level=0.0,
        conditioning=1.0,
        smoothness=1.0,
        scale=1.0,
        noise=0.0,
        server_noise=0.0,
        start=3.0,
        axis=0,
        present=(1.0, 0.0),
        cohort=MOST_COPIES,
        local_steps=20,
        step_share=1e-3,
        step_constant=1.0,
        probability=0.0,
    )
    yield conforming(plain, wanted)
    drifting = replace(plain, local_steps=10, start=0.0, present=(1.0, 1.0), probability=1.0)
    for size, share in ((1.0, 0.66), (0.1, 0.66), (0.1, 0.066)):
        for right, level, width in ((-0.65, 0.0061, 0.04), (-0.85, 0.0066, 0.04), (0.05, 0.0031, 0.0)):
            kink = replace(drifting, right=right, level=level * size, width=width * size, step_share=share)
            yield conforming(kink, wanted)


def noisy(wanted: Demands) -> Iterator[KinkedCandidate]:
    """Yield crowds whose noise averages out and whose mean drifts off a kink, with few local steps and with many."""
    plain = next(structured(wanted))
    for steps, share, ratio in ((2, 1.0, 0.15), (2, 1.0, 0.05), (10, 0.2, 0.12), (100, 0.04, 0.12)):
        yield replace(
            plain, left=ratio, right=1.0, width=0.0, noise=1.0, start=0.0, local_steps=steps, step_share=share
        )


def draw(rng: np.random.Generator, wanted: Demands) -> KinkedCandidate:
    """Draw a random candidate: clients, local steps and dimensions by their logarithms."""
    crowd = rng.random() < 0.5
    clients, convex = log_uniform(rng, MOST_COPIES), rng.random() < 0.5
    with_noise = rng.random() < (0.5 if crowd else 0.3)
    low = 10.0 ** -rng.uniform(0, 3)
    right = float(rng.choice([low, rng.uniform(low, 1)])) if convex else rng.uniform(-1, 1)
    sides = [1.0, right] if rng.random() < 0.5 or not convex else [right, 1.0]
    size = 10.0 ** -rng.uniform(0, 4)  # of what local steps see, over the offset
    everyone = not crowd or rng.random() < 0.4
    candidate = KinkedCandidate(
        clients=clients,
        share=float(rng.choice([0.5, 1.0, rng.uniform(0, 1), 1 / clients])),
        offset=float(rng.choice([-1, 1])),
        dimension=log_uniform(rng, MOST_DIMENSIONS if crowd else 3),
        left=sides[0],
        right=sides[1],
        width=math.inf if crowd else 0.0 if convex and rng.random() < 0.5 else size * 10.0 ** rng.uniform(-1, 1),
        level=0.0 if crowd else size * float(rng.choice([0.0, rng.uniform(-1, 2)])),
        conditioning=float(rng.choice([1.0, 10.0 ** -rng.uniform(0, 4)])),
        smoothness=float(rng.choice([1.0, 10.0 ** rng.uniform(-3, 3)])),
        scale=float(rng.choice([1.0, 10.0 ** rng.uniform(-3, 2)])),
        noise=10.0 ** rng.uniform(-3, 3) if with_noise else 0.0,
        server_noise=10.0 ** rng.uniform(-3, 3) if with_noise and rng.random() < 0.5 else 0.0,
        start=float(rng.choice([-1, 1])) * (10.0 ** rng.uniform(-3, 3) if crowd else size * 10.0 ** rng.uniform(-1, 1)),
        axis=int(rng.integers(3)),
        present=(1.0, float(rng.choice([0.0, 1.0]))) if rng.random() < 0.7 else (0.0, 1.0),
        cohort=MOST_COPIES if everyone else log_uniform(rng, clients),
        local_steps=log_uniform(rng, MOST_STEPS),
        step_share=float(rng.choice([1.0, 10.0 ** -rng.uniform(0, 4)])),
        step_constant=10.0 ** rng.uniform(-3, 4),
        probability=float(rng.choice([0.0, 1.0, rng.uniform(0, 1)] if crowd else [0.0, 1.0])),
        young=10.0 ** rng.uniform(-1, 1),
    )
    return conforming(candidate, wanted)


def conforming(candidate: KinkedCandidate, wanted: Demands) -> KinkedCandidate:
    """Change a candidate so that it conforms to the claim.

    Noise with kinks needs one dimension. Counts are those that the claim binds, and cohorts are equal where it supposes
    so.
    """
    if candidate.noise and not candidate.crowd:
        candidate = replace(candidate, dimension=1, server_noise=0.0)
    counts = candidate.multiplicities
    own = {name: value for name, value in wanted.fixed.items() if name != "arbitrary_cohort"}
    candidate = replace(candidate, **own) if own else candidate
    if "arbitrary_cohort" in wanted.fixed:
        first = min(counts[0], wanted.fixed["arbitrary_cohort"])
        others = min(sum(counts[1:]), wanted.fixed["arbitrary_cohort"] - first)
        candidate = replace(candidate, present=(first / counts[0], others / max(1, sum(counts[1:]))))
    if wanted.equal_cohorts:
        there = sum(round(share * count) for share, count in zip(candidate.present, counts, strict=False)) or 1
        candidate = replace(candidate, cohort=there)
    return candidate


SHARES = ("left", "right", "share", "step_share", "conditioning", "probability")
FREELY = ("width", "level", "start", "offset", "noise", "server_noise", "smoothness", "step_constant", "young")
MOVED = dict.fromkeys(SHARES, 1.0) | dict.fromkeys(FREELY, math.inf)
"""Numbers that a step of a climb moves, each with the largest size that it may reach."""

REDRAWN = (
    "clients",
    "share",
    "dimension",
    "right",
    "width",
    "start",
    "present",
    "cohort",
    "local_steps",
    "probability",
)


def perturb(candidate: KinkedCandidate, rng: np.random.Generator, wanted: Demands, size: float) -> KinkedCandidate:
    """Return a neighbour."""

    def moved(name: str, most: float) -> float:
        value = getattr(candidate, name) * (float(np.exp(size * rng.standard_normal())) if rng.random() < 0.4 else 1.0)
        return max(-most, min(most, value))

    moves: dict[str, Any] = {name: moved(name, most) for name, most in MOVED.items()}
    neighbour = replace(candidate, **moves)
    if rng.random() < 0.25:
        other, name = draw(rng, wanted), str(rng.choice(REDRAWN))
        if other.crowd == candidate.crowd or name not in ("width", "start"):
            neighbour = replace(neighbour, **{name: getattr(other, name)})
    return conforming(neighbour, wanted)


# What is seen of them ----------------------------------------------------------------------------------------------


def errors_at(setting: Setting, horizons: np.ndarray, functional: Functional, average: str) -> np.ndarray:
    """Compute the functional at the ascending horizons, in floats; nan where the run cannot be followed so far, or
    the functional is none of its errors."""
    left = np.full(len(horizons), np.nan)
    if not functional.among_errors:
        return left
    kinks = any(g.breakpoints for row in piecewise(setting).gradients for g in row)
    if kinks and setting.deterministic:
        values = deterministic_errors(setting, horizons.tolist()).functional(functional, average)
        left[: len(values)] = [math.inf if math.isnan(value) else value for value in values]
        return left
    with working_precision(PRECISION):
        if not kinks:
            return _of_crowd(setting, horizons, functional, average)
        enumerable = algorithm_of(setting).local_steps <= STATES and not asks_for_the_last(functional, average)
        if not functional.average and functional.observable == "squared_distance":
            with suppress(ValueError):  # a grid that is too long, say
                left[:] = [float(value) for value in drift_floor(setting, horizons.tolist())]
        if horizons[0] == 1 and enumerable:
            with suppress(Undecided, ValueError):  # drawn with replacement, or in two dimensions
                left[0] = float(left_side(Way(setting, 1), functional, average)[0])
    return left


def _of_crowd(setting: Setting, horizons: np.ndarray, functional: Functional, average: str) -> np.ndarray:
    """Compute the left side of a crowd without kinks: in balls, by powers of two rounds."""
    way, left = Way(setting, 1), np.zeros(len(horizons))
    for one, times in coordinates(way.in_balls):
        powers = [one.maps[DRAWN]]
        for _ in range(int(horizons[-1]).bit_length() - 1):
            powers.append(powers[-1] * powers[-1])
        for i, rounds in enumerate(horizons.tolist()):
            state = one.start
            for bit, power in enumerate(powers):
                if rounds >> bit & 1:
                    state = power * state
            left[i] += times * _as_float(one.of(state, rounds, functional, average))
    return left


def _as_float(value: Any) -> float:
    """Infinite where it is too large for a float, or lost."""
    found = float(value)
    return found if math.isfinite(found) else math.inf


def extent(setting: Setting) -> np.ndarray:
    """Return points around x*, (n, D): where gradients have their kinks, where the steepest lines through clients'
    gradients at x* have their zeros, and the start."""
    fed, points = piecewise(setting), []
    steepest = max(abs(slope) for row in fed.gradients for g in row for slope in g.slopes)
    for row in fed.gradients:
        points.append(np.array([g(best) / steepest for g, best in zip(row, fed.exact_optimum, strict=True)]))
        most = max(len(g.breakpoints) for g in row)
        for i in range(most):
            points.append(
                np.array(
                    [
                        g.breakpoints[min(i, len(g.breakpoints) - 1)] - best if g.breakpoints else best * 0
                        for g, best in zip(row, fed.exact_optimum, strict=True)
                    ]
                )
            )
    return np.vstack([*points, setting.exact_start - fed.exact_optimum])


# Exact points --------------------------------------------------------------------------------------------------------


def rounded(claim: Claim, found: Found, digits: int, part: Part, rule: Any) -> Iterator[KinkedPoint]:
    """Yield the runs with short numbers; ``rule`` makes the parameters of the algorithm besides its steps."""
    setting, fed = found.point, piecewise(found.point)
    given = {name: short(found.quantities[name], digits) for name in FREE if name in found.quantities}
    rows = [[_short_line(g, digits) for g in row] for row in fed.gradients]
    noises = [short(noise, digits) for noise in (fed.exact_gradient_noise, fed.exact_server_noise)]
    rounds = int(short(found.rounds, digits))
    for horizon in _horizons(found, rounds):
        for share in STEP_SHARES[: 1 if claim.choices else None]:
            steps: dict[str, Any] = {
                name: short(step * share, digits, ROUND_FLOOR) for name, step in steps_of(setting.algorithm).items()
            }
            algorithm = with_new_steps(setting.algorithm, steps | rule(setting.algorithm, digits))
            try:
                near = Piecewise(rows, fed.multiplicities, noises[0], server_noise=noises[1])
                offset = [short(v, digits) for v in setting.exact_start - fed.exact_optimum]
                members = first_members(fed.multiplicities, counts_of_members(setting))
                moved = Setting(near, algorithm, Fixed(members), list(near.exact_optimum + np.array(offset)))
                yield from_setting(claim, moved, horizon, part, **given)
            except ValueError:  # no point can hold it
                return


def _horizons(found: Found, rounds: int) -> Sequence[int]:
    """Shorter ones too where a float overflowed."""
    return (rounds,) if math.isfinite(found.left) else sorted({max(1, rounds // 10**k) for k in range(4)})


def _short_line(of: PiecewiseLinear, digits: int) -> PiecewiseLinear:
    slopes, breakpoints = ([short(v, digits) for v in values] for values in (of.slopes, of.breakpoints))
    return PiecewiseLinear(slopes, breakpoints, short(of.at_zero, digits))
