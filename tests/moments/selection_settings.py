"""A round of selection as a setting."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

from fedtheory.algorithms import weighted_groups
from fedtheory.papers.flics.examples.selection_settings import federation, groups_of
from fedtheory.participation import Bernoulli, Mixture
from fedtheory.setting import Setting


def one_round(
    weight: Sequence[F],
    estimate: Sequence[F],
    states: Sequence[tuple[F, Sequence[int], Sequence[F]]],
    curvature: F,
    centres: Sequence[F],
    start: F,
    gradient_noise: F,
    local_steps: int,
    local_lr: F,
) -> Setting:
    """A round whose estimate is known: in each state so many clients are there and answer at these rates."""
    groups = groups_of([max(there[j] for _, there, _ in states) for j in range(len(weight))])
    place = [groups[:i].count(j) for i, j in enumerate(groups)]
    answering = [
        Bernoulli([rates[j] / there[j] if k < there[j] else F(0) for k, j in zip(place, groups, strict=True)])
        for _, there, rates in states
    ]
    algorithm = weighted_groups(groups=groups, estimate=estimate, local_lr=local_lr, local_steps=local_steps,
                                group_weight=weight)  # fmt: skip
    process = Mixture(answering, [chance for chance, _, _ in states])
    return Setting(federation(weight, groups, curvature, centres, gradient_noise), algorithm, process, start=start)
