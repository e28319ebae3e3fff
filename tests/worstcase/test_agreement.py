"""Worst cases agree with PEPit's, which knows every client by itself."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fedtheory.algorithms import fast
from fedtheory.worstcase import (
    METRICS,
    Arbitrary,
    Cohort,
    ServerStep,
    convex,
    local_sgd,
    mixture,
    quadratic,
    strongly_convex,
    worst_case,
)

from .reference import Clients

AGREE = 1e-6
MU, ZETA = 0.1, 0.7


def class_of(kind: str):
    return {"strongly_convex": strongly_convex(smoothness=1, strong_convexity=MU), "convex": convex(smoothness=1),
            "quadratic": quadratic(smoothness=1, strong_convexity=MU)}[kind]  # fmt: skip


def of_pepit(kind: str, clients: int) -> Clients:
    return Clients(clients, 0.0 if kind == "convex" else MU, ZETA, kind == "quadratic")


def ours(kind: str, algorithm, **options):
    found = worst_case(class_of(kind), algorithm, dissimilarity_at_optimum=ZETA, **options)
    assert found.status == "solved" and found.kind == "exact" and found.gap < 1e-7
    return found.value


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize(("clients", "steps"), [(2, 2), (3, 2), (4, 1), (2, 3), (4, 2), (3, 3)])
def test_full_participation(kind, clients, steps):
    theirs = of_pepit(kind, clients)
    end = theirs.averaged(theirs.start, 0.3, steps)
    expected = theirs.worst((end - theirs.optimum) ** 2)
    assert ours(kind, local_sgd(local_lr="3/10", local_steps=steps)) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize(
    ("clients", "cohort", "steps"), [(2, 1, 2), (3, 2, 2), (4, 2, 1), (4, 3, 2), (3, 1, 3), (4, 1, 2)]
)
def test_uniform_cohorts(kind, clients, cohort, steps):
    theirs = of_pepit(kind, clients)
    expected = theirs.worst(theirs.expected(theirs.start, 0.3, steps, cohort))
    mine = local_sgd(local_lr="3/10", local_steps=steps, participants=Cohort(cohort))
    assert ours(kind, mine, clients=clients) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        *(("strongly_convex", metric) for metric in METRICS[1:]),
        *(("convex", metric) for metric in METRICS[1:]),
        ("quadratic", "final_squared_gradient"),
        pytest.param("quadratic", "final_gap", marks=pytest.mark.slow),
    ],
)
def test_other_metrics_over_two_rounds(kind, metric):
    theirs = of_pepit(kind, 2)
    first = theirs.averaged(theirs.start, 0.3, 2)
    last = theirs.averaged(first, 0.3, 2)
    best = theirs.mean(theirs.optimum)

    def of(x):
        return theirs.mean(x) - best if metric.endswith("gap") else theirs.mean.gradient(x) ** 2

    expected = theirs.worst(of(last) if metric.startswith("final") else (of(first) + of(last)) / 2)
    value = ours(kind, local_sgd(local_lr="3/10", local_steps=2), rounds=2, metric=metric)
    assert value == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize(
    ("kind", "clients", "chosen", "cohort"),
    [
        *((kind, *sizes) for kind in ("strongly_convex", "convex") for sizes in ((2, 1, 1), (3, 2, 2), (4, 2, 3))),
        ("quadratic", 2, 1, 1),
        ("quadratic", 3, 2, 2),
        ("quadratic", 4, 2, 3),
    ],
)
def test_snapshots_and_arbitrary_rounds(kind, clients, chosen, cohort):
    """FAST: a uniform cohort with probability 1/4, else a set that the adversary chose."""
    theirs = of_pepit(kind, clients)
    fixed = theirs.averaged(theirs.start, 0.3, 2, range(chosen)) - theirs.optimum
    error = 0.25 * theirs.expected(theirs.start, 0.3, 2, cohort) + 0.75 * fixed**2
    expected = theirs.worst(error, precise=kind == "quadratic" and clients == 4)
    mine = mixture(("1/4", local_sgd(local_lr="3/10", local_steps=2, participants=Cohort(cohort))),
                   ("3/4", local_sgd(local_lr="3/10", local_steps=2, participants=Arbitrary(chosen))))  # fmt: skip
    assert ours(kind, mine, clients=clients) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize(("clients", "chosen"), [(2, 1), (3, 2)])
def test_snapshots_in_every_second_round(kind, clients, chosen):
    """Everyone, then a set that an adversary chose, as one program."""
    theirs = of_pepit(kind, clients)
    first = theirs.averaged(theirs.start, 0.3, 1)
    expected = theirs.worst((theirs.averaged(first, 0.3, 1, range(chosen)) - theirs.optimum) ** 2)
    mine = fast(cohort=clients, local_lr="3/10", snapshot_period=2)
    found = ours(kind, mine, rounds=2, clients=clients, arbitrary_cohort=chosen)
    assert found == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize(("clients", "chosen"), [(2, 1), (3, 1), (4, 2)])
def test_clients_and_server(kind, clients, chosen):
    """SAFARI: chosen clients with probability 1/4, else a step of the server."""
    theirs = of_pepit(kind, clients)
    fixed = theirs.averaged(theirs.start, 0.3, 2, range(chosen)) - theirs.optimum
    server = theirs.start - 0.2 * theirs.mean.gradient(theirs.start) - theirs.optimum
    expected = theirs.worst(0.25 * fixed**2 + 0.75 * server**2)
    mine = mixture(("1/4", local_sgd(local_lr="3/10", local_steps=2, participants=Arbitrary(chosen))),
                   ("3/4", ServerStep(Fraction(1, 5))))  # fmt: skip
    assert ours(kind, mine, clients=clients) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize("metric", METRICS)
def test_averages_and_gaps_of_one_local_step(kind, metric):
    """Every metric of every class over two rounds."""
    theirs = of_pepit(kind, 3 if kind != "quadratic" else 2)
    first = theirs.averaged(theirs.start, 0.3, 1)
    last = theirs.averaged(first, 0.3, 1)
    of = {
        "distance": lambda x: (x - theirs.optimum) ** 2,
        "gap": lambda x: theirs.mean(x) - theirs.mean(theirs.optimum),
        "gradient": lambda x: theirs.mean.gradient(x) ** 2,
    }[metric.rsplit("_", 1)[1]]
    error = of(last) if metric.startswith("final") else (of(first) + of(last)) / 2
    expected = theirs.worst(error, precise=kind == "quadratic" and metric.endswith("gap"))
    found = ours(kind, local_sgd(local_lr="3/10"), rounds=2, metric=metric)
    assert found == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize(("clients", "rounds"), [(2, 1), (3, 1), (4, 1), (2, 2)])
def test_a_dissimilarity_at_the_servers_points_too(kind, clients, rounds):
    theirs, x = of_pepit(kind, clients), None
    x = theirs.start
    for _ in range(rounds):
        mean = theirs.mean.gradient(x)
        for f in theirs.functions:
            theirs.problem.add_constraint((f.gradient(x) - mean) ** 2 <= ZETA**2 / 4)
        x = theirs.averaged(x, 0.3, 2)
    for f in theirs.functions:
        theirs.problem.add_constraint(f.gradient(theirs.optimum) ** 2 <= ZETA**2 / 4)
    expected = theirs.worst((x - theirs.optimum) ** 2)
    mine = local_sgd(local_lr="3/10", local_steps=2)
    found = worst_case(class_of(kind), mine, rounds=rounds, dissimilarity_at_optimum=ZETA / 2, everywhere=True)
    assert found.status == "solved" and found.value == pytest.approx(expected, rel=AGREE)
    assert found.value < ours(kind, mine, rounds=rounds) * (1 - 1e-3)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize("metric", ["final_squared_distance", "final_gap"])
def test_one_client(kind, metric):
    theirs = of_pepit(kind, 1)
    end = theirs.averaged(theirs.start, 1.4, 2)
    gap = metric == "final_gap"
    expected = theirs.worst(theirs.mean(end) - theirs.mean(theirs.optimum) if gap else (end - theirs.optimum) ** 2)
    found = ours(kind, local_sgd(local_lr="7/5", local_steps=2), clients=1, metric=metric)
    assert found == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex"])
@pytest.mark.parametrize(("clients", "who", "lr", "steps"), [
    (1, None, 1.5, 3), (2, None, 0.5, 2), (2, None, 1.0, 3), (3, None, 1.0, 2), (3, Cohort(2), 0.5, 2),
    (3, Cohort(1), 1.0, 2), (3, Arbitrary(2), 0.5, 3), (2, Arbitrary(1), 1.0, 2),
])  # fmt: skip
def test_noise_with_two_values_attains_the_bound_by_its_variance(kind, clients, who, lr, steps):
    """A program with a point for every outcome. So nothing is lost where only second moments of the noise count."""
    theirs = of_pepit(kind, clients)
    taking_part = range(who.size if isinstance(who, Arbitrary) else clients)
    ends = [theirs.noisy(i, theirs.start, lr, steps) for i in taking_part]
    expected = theirs.worst(theirs.noisy_error(ends, who.size if who else clients))
    mine = local_sgd(local_lr=lr, local_steps=steps, participants=who)
    found = worst_case(class_of(kind), mine, clients=clients, dissimilarity_at_optimum=ZETA, gradient_noise=1)
    assert found.status == "solved" and found.value == pytest.approx(expected, rel=AGREE)
