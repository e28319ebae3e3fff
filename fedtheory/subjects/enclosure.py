"""Proven enclosures of what a claim needs from the runs of an instance.

The left side follows from the exact recursion of second moments, in balls. The run quantities G_1 to G_3 are maxima
over the run: they are enclosed by following the run where it is deterministic, and by an invariant interval where it
is random or long (one dimension, one curvature, no noise): then a round moves x a share a = 1 - (1 - eta h)^K of the
way to the mean minimiser of the cohort, so x never leaves the hull of its start and of the minimisers that a cohort can
have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from ..claims.balls import Ball, ball, ball_matrix, interval
from ..claims.undecided import Undecided
from ..functionals import Functional
from ..moments.errors import accumulating, initial_moments
from ..moments.linear_rounds import mean_map, second_moment_map
from ..moments.rounds import local_maps, observable_weights
from ..moments.timeline import schedule
from ..quantities import RUN_QUANTITIES
from ..setting import Setting
from .instance import Instance

FOLLOWED = 10**6
"""Deterministic runs are followed round by round over at most so many rounds; longer ones are enclosed like random
ones, by an invariant interval."""

Box = dict[str, arb]
"""An interval for each run quantity."""


@dataclass(frozen=True)
class LeftSide:
    """E of the observables for one reading of the algorithm, enclosed."""

    final: dict[str, arb]
    sums: dict[str, arb]
    initial: dict[str, arb]
    rounds: int

    def of(self, functional: Functional, average: str) -> arb:
        """The functional; ``average`` says which iterates an average runs over."""
        name = functional.observable
        if not functional.average:
            return self.final[name]
        total = self.sums[name]
        if average == "r = 1..R":
            total = total + self.final[name] - self.initial[name]
        return total / self.rounds


def left_side(instance: Instance, snapshots: str, cohort_draw: str) -> LeftSide:
    """The exact expected errors after ``instance.rounds`` rounds, in balls."""
    # A step size in a ball keeps its powers from growing by their digits.
    step = instance.local_lr if isinstance(instance.local_lr, Ball) else Ball(ball(instance.local_lr))
    setting = replace(instance, local_lr=step).setting(snapshots, cohort_draw)
    weights = observable_weights(setting.federation, exact=True)
    start = initial_moments(setting, exact=True)
    final, sums, initial = {}, {}, {}
    plan = schedule(setting, second_moment_map, exact=True)
    for name, weight in weights.items():
        extended = accumulating(plan, weight)
        state = ball_matrix(np.append(start, Fraction(0)))
        first, rest = ball_matrix(extended.first), ball_matrix(extended.rest)
        cycles, phase = divmod(instance.rounds, plan.period)
        state = (rest ** (plan.period - 1) * first) ** cycles * state
        if phase > 0:
            state = rest ** (phase - 1) * (first * state)
        values = [state[i, 0] for i in range(len(start) + 1)]
        final[name] = sum((ball(w) * v for w, v in zip(weight, values, strict=False)), arb(0))
        sums[name] = values[-1]
        initial[name] = ball(weight @ start)
    return LeftSide(final, sums, initial, instance.rounds)


def run_boxes(instance: Instance, snapshots: str, cohort_draw: str, local_index: str, follow: bool = True) -> list[Box]:
    """Boxes that together hold (G_1, G_2, G_3) of every run that has a round of each kind (others have probability
    0 with periodic snapshots of period 2 or more over two rounds or more, q^R + (1 - q)^R with random ones, and leave a
    maximum over no rounds).

    A deterministic run is followed round by round (there a maximum over no rounds is 0), or, unless ``follow`` and
    over more than ``FOLLOWED`` rounds, enclosed like a random one.

    Raises:
        Undecided: no run has rounds of both kinds, or the runs are not of the kind that an invariant interval covers.
    """
    setting = instance.setting(snapshots, cohort_draw)
    shifted = local_index == "k = 1..K"
    if setting.deterministic and follow and instance.rounds <= FOLLOWED:
        return [_deterministic_box(setting, instance.rounds, shifted)]
    if instance.rounds == 1 or instance.probability in (0, 1):
        raise Undecided("no run has rounds of both kinds, so a maximum is over no rounds")
    return list(_invariant_boxes(instance, snapshots, cohort_draw, shifted))


def _deterministic_box(setting: Setting, rounds: int, shifted: bool) -> Box:
    """Follow the run in balls, round by round."""
    local = local_maps(setting, exact=True)
    sums = local.gradient_sums()
    if shifted:
        single = replace(setting, algorithm=replace(setting.algorithm, local_steps=1))
        sums = np.stack([s @ t for s, t in zip(sums, local_maps(single, exact=True).maps, strict=True)])
    members = list(setting.participation.members)
    full = ball_matrix(sums.sum(0) / Fraction(len(sums)))
    arbitrary = ball_matrix(sums[members].sum(0) / Fraction(len(members)))
    plan = schedule(setting, mean_map, exact=True)
    first, rest = ball_matrix(plan.first), ball_matrix(plan.rest)
    state = ball_matrix(np.append(setting.exact_start - setting.federation.exact_optimum, Fraction(1)))
    peaks = [arb(0), arb(0)]
    algorithm = setting.algorithm
    for round in range(rounds):
        snapshot = round % plan.period == 0 if algorithm.periodic else algorithm.snapshot_probability == 1
        gradient = (full if snapshot else arbitrary) * state
        size = sum((gradient[i, 0] ** 2 for i in range(gradient.nrows())), arb(0))
        peaks[not snapshot] = peaks[not snapshot].max(size)
        state = (first if snapshot else rest) * state
    return dict(zip(RUN_QUANTITIES, (peaks[0], peaks[1], peaks[0]), strict=True))


def _invariant_boxes(instance: Instance, snapshots: str, cohort_draw: str, shifted: bool) -> Iterator[Box]:
    curvatures = {row[0] for row in instance.hessians}
    noisy = instance.constants.get("gradient_noise", 0) != 0
    if len(instance.start) > 1 or len(curvatures) > 1 or noisy:
        raise Undecided("the run quantities are enclosed in one dimension, with one curvature and without noise only")
    step = 1 - instance.local_lr * curvatures.pop()
    if not (ball(step) >= 0 and ball(step) < 1):
        raise Undecided("the local step size is above 1 / curvature")
    scale = (1 - step**instance.local_steps) / instance.local_lr * (step if shifted else 1)
    geometry = _Geometry.of(instance, cohort_draw)
    kinds = ("snapshot",) if snapshots == "period" else ("snapshot", "arbitrary")
    for kind_of_round_0 in kinds:
        ranges = geometry.squared_distances(kind_of_round_0)
        yield {
            name: interval(scale**2 * low, scale**2 * high)
            for name, (low, high) in zip(RUN_QUANTITIES, ranges, strict=True)
        }


@dataclass(frozen=True)
class _Geometry:
    """The line of x - x*: the start, the arbitrary cohort's minimiser, and the range of the uniform cohorts'."""

    start: Fraction
    arbitrary: Fraction
    lowest: Fraction
    highest: Fraction

    @classmethod
    def of(cls, instance: Instance, cohort_draw: str) -> _Geometry:
        minimisers = [row[0] for row in instance.centres]
        optimum = sum(minimisers) / len(minimisers)
        shifted = sorted(c - optimum for c in minimisers)
        m = instance.cohort if cohort_draw == "without replacement" else 1
        members = [minimisers[i] - optimum for i in instance.members]
        return cls(
            instance.start[0] - optimum, sum(members) / len(members), sum(shifted[:m]) / m, sum(shifted[-m:]) / m
        )  # fmt: skip

    def squared_distances(self, kind_of_round_0: str) -> tuple[tuple[Fraction, Fraction], ...]:
        """Ranges of the maxima over the run of |x|^2 in snapshot rounds (G_1), |x - arbitrary|^2 in arbitrary
        rounds (G_2) and |x - cohort|^2 in snapshot rounds (G_3).

        A maximum is at least its value in the first round of the kind: at x_0 if that is round 0; otherwise at a
        point that rounds of the other kind reached from x_0, so in the hull of x_0 and of where they pull to.
        """
        everywhere = [self.start, self.arbitrary, self.lowest, self.highest]
        first_snapshot = first_arbitrary = [self.start]
        if kind_of_round_0 == "snapshot":
            first_arbitrary = [self.start, self.lowest, self.highest]
        else:
            first_snapshot = [self.start, self.arbitrary]
        cohort_far = max((x - c) ** 2 for x in everywhere for c in (self.lowest, self.highest))
        return (
            (_nearest(first_snapshot, Fraction(0)), max(x**2 for x in everywhere)),
            (_nearest(first_arbitrary, self.arbitrary), max((x - self.arbitrary) ** 2 for x in everywhere)),
            (Fraction(0), cohort_far),
        )


def _nearest(points: list[Fraction], target: Fraction) -> Fraction:
    """The squared distance from ``target`` to the hull of ``points``."""
    return max(min(points) - target, target - max(points), Fraction(0)) ** 2
