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
@pytest.mark.parametrize(("clients", "steps"), [(2, 2), (3, 2), (4, 1), (2, 3)])
def test_full_participation(kind, clients, steps):
    theirs = of_pepit(kind, clients)
    end = theirs.averaged(theirs.start, 0.3, steps)
    expected = theirs.worst((end - theirs.optimum) ** 2)
    assert ours(kind, local_sgd(local_lr="3/10", local_steps=steps)) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("kind", ["strongly_convex", "convex", "quadratic"])
@pytest.mark.parametrize(("clients", "cohort", "steps"), [(2, 1, 2), (3, 2, 2), (4, 2, 1), (4, 3, 2)])
def test_uniform_cohorts(kind, clients, cohort, steps):
    theirs = of_pepit(kind, clients)
    expected = theirs.worst(theirs.expected(theirs.start, 0.3, steps, cohort))
    mine = local_sgd(local_lr="3/10", local_steps=steps, participants=Cohort(cohort))
    assert ours(kind, mine, clients=clients) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        *(("strongly_convex", metric) for metric in METRICS[1:]),
        ("convex", "final_gap"),
        ("convex", "average_squared_gradient"),
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
    ],
)
def test_snapshots_and_arbitrary_rounds(kind, clients, chosen, cohort):
    """FAST: a uniform cohort with probability 1/4, else a set that the adversary chose."""
    theirs = of_pepit(kind, clients)
    fixed = theirs.averaged(theirs.start, 0.3, 2, range(chosen)) - theirs.optimum
    expected = theirs.worst(0.25 * theirs.expected(theirs.start, 0.3, 2, cohort) + 0.75 * fixed**2)
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


@pytest.mark.parametrize(("clients", "chosen"), [(2, 1), (3, 1), (3, 2)])
def test_clients_and_server(clients, chosen):
    """SAFARI: chosen clients with probability 1/4, else a step of the server."""
    theirs = of_pepit("strongly_convex", clients)
    fixed = theirs.averaged(theirs.start, 0.3, 2, range(chosen)) - theirs.optimum
    server = theirs.start - 0.2 * theirs.mean.gradient(theirs.start) - theirs.optimum
    expected = theirs.worst(0.25 * fixed**2 + 0.75 * server**2)
    mine = mixture(("1/4", local_sgd(local_lr="3/10", local_steps=2, participants=Arbitrary(chosen))),
                   ("3/4", ServerStep(Fraction(1, 5))))  # fmt: skip
    assert ours("strongly_convex", mine, clients=clients) == pytest.approx(expected, rel=AGREE)


def test_one_client():
    theirs = of_pepit("strongly_convex", 1)
    end = theirs.averaged(theirs.start, 1.4, 2)
    expected = theirs.worst((end - theirs.optimum) ** 2)
    assert ours("strongly_convex", local_sgd(local_lr="7/5", local_steps=2), clients=1) == pytest.approx(
        expected, rel=AGREE
    )
