"""What an instance about selection is as a setting."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

from fedtheory.algorithms import flics_avg, weighted_groups
from fedtheory.federations import Quadratic
from fedtheory.participation import Bernoulli, Fixed, Mixture, Recorded
from fedtheory.setting import Setting


def groups_of(sizes: Sequence[int]) -> list[int]:
    """Each client's group."""
    return [j for j, size in enumerate(sizes) for _ in range(max(size, 1))]


def federation(weight: Sequence[F], groups: Sequence[int], curvature: F, centres: Sequence[F], noise: F) -> Quadratic:
    """F_j(x) = curvature (x - centre_j)^2 / 2 for the clients of group j, and F = sum_j p_j F_j."""
    phi = [weight[j] / groups.count(j) for j in groups]
    return Quadratic.common_hessian([centres[j] for j in groups], curvature, noise, objective_weight=phi)


def along_a_trace(
    weight: Sequence[F],
    availability: Sequence[Sequence[int]],
    budget: Sequence[F],
    curvature: F = F(1),
    centres: Sequence[F] | None = None,
    start: F = F(0),
    gradient_noise: F = F(0),
    local_lr: F = F(1),
    **options: object,
) -> Setting:
    """FLICS-AVG where so many clients of each group are there in the rounds given, of which the last one stays."""
    groups = groups_of([max(column) for column in zip(*availability, strict=True)])
    fed = federation(weight, groups, curvature, centres or [F(0)] * len(weight), gradient_noise)
    algorithm = flics_avg(groups=groups, budget=budget, budget_after="last", local_lr=local_lr, group_weight=weight,
                          **options)  # fmt: skip
    return Setting(fed, algorithm, Recorded.of_counts(availability, groups, after="last"), start=start)


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


def answers(probability: F, clients: int) -> Setting:
    """One group, each of whose clients answers with this probability in every round."""
    groups = [0] * clients
    algorithm = flics_avg(groups=groups, budget=clients * probability, local_lr=1, counts="received")
    return Setting(Quadratic.common_hessian([0] * clients), algorithm, Fixed(range(clients)))
