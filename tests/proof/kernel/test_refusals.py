"""What the kernel must refuse: each of these gives a false theorem, or one that says more than was shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from fedtheory.papers.fast.proofs.kinds_of_round import (
    RING,
    K,
    Kinds,
    L,
    eta,
    k,
    m,
    mu,
    n,
    q,
    region,
    share,
    sigma,
    sigma_G,
    size,
)
from fedtheory.papers.fast.proofs.thm1_thm2 import mixed_distance
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, NOISE, OPTIMUM, START_POINT, Axioms, at
from fedtheory.proof.kernel.forms import PATH, START, Atom, Form, dot, square
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_rules import (
    ARBITRARY,
    UNIFORM,
    contraction,
    expect_arbitrary,
    expect_uniform,
    mix,
    project,
)  # fmt: skip
from fedtheory.proof.kernel.theorems import (
    Theorem,
    combine,
    induct,
    instantiate,
    last_step,
    over_clients,
    over_steps,
)  # fmt: skip
from fedtheory.proof.local_sgd import LocalSGD

PLAIN = Kinds(convex=True).plain
AXIOMS = Axioms(PLAIN, eta, size)
SGD = LocalSGD(AXIOMS, L, sigma**2)
x, g0, N = SGD.start, SGD.gradient_at_start, SGD.noise
COHORT = {"where": PLAIN, "context": "cohort"}
VARIANCE = AXIOMS.variance(sigma**2)
NEAR = over_clients(AXIOMS.dissimilar(START_POINT, sigma_G**2), "S")
WIDER = region(1 / (7 * L * K), convex=True)
G, GRADIENT = Atom("g_start", True), Atom("g", True, (1, 0, 0), PATH)
STRONGER = SGD.path.form - square(g0) * (k * eta**2)
ALONE = replace(AXIOMS, given="start")
"""Of the clients' paths, whatever the cohort."""
LATE = combine([], squares=[(SGD.moved, "", 1)], where=PLAIN, context="kind", kind=ARBITRARY)


def forge() -> Theorem:
    return Theorem("start", "", PLAIN, frozenset(), (), Form.constant(-sigma), False, False, "forged", ())


def another_algorithm() -> Theorem:
    double = instantiate(SGD.path, {"eta": eta / 2}, PLAIN)
    return combine([(SGD.path, 1), (double, 1)], **COHORT)


def mixed_at_one_kind_only() -> Theorem:
    whole = instantiate(SGD.one_round(eta * L**2, mu / mu, mu / mu, PLAIN), {"size": m}, PLAIN)
    uniform = expect_uniform(whole, m, share, PLAIN)
    return mix(uniform, uniform, q, PLAIN)


ATTEMPTS: dict[str, Callable[[], object]] = {
    "a theorem that no rule made": forge,
    "a negative multiplier of an inequality": lambda: combine([(VARIANCE, -1)], **COHORT),
    "a multiplier that is negative somewhere": lambda: combine([(VARIANCE, 1 - L * eta * K * 9)], **COHORT),
    "a multiplier that divides by 0 somewhere": lambda: combine([(VARIANCE, 1 / sigma)], **COHORT),
    "a negative square": lambda: combine([], squares=[(x, "", -1)], **COHORT),
    "a negative constant": lambda: combine([], constant=-1, **COHORT),
    "a theorem beyond its region": lambda: combine([(VARIANCE, 1)], where=WIDER, context="cohort"),
    "noise against the step it moves": lambda: AXIOMS.unbiased(AXIOMS.vector(at(ITERATE, 1))),
    "noise against itself": lambda: AXIOMS.unbiased(N),
    "noise against the drift": lambda: AXIOMS.unbiased(SGD.drift),
    "noise against the round's end": lambda: AXIOMS.unbiased(AXIOMS.vector(NEXT)),
    "noise against a forged earlier iterate": lambda: AXIOMS.smooth(Atom("x", True, (1, 0, 0), START), START_POINT, L),
    "the mean over a cohort that is not given": lambda: over_clients(LATE, "S"),
    "what is given the cohort used without": lambda: combine([(SGD.drift_bound, 1)], where=PLAIN, context="start"),
    "the mean of a drawn cohort's later squares": lambda: expect_uniform(
        instantiate(over_clients(SGD.path, "S"), {"size": m}, PLAIN), m, share, PLAIN),
    "a mean of squares over an arbitrary cohort": lambda: expect_arbitrary(NEAR, n),
    "a share of which nothing is said": lambda: expect_uniform(NEAR, m, q, PLAIN),
    "a multiple of the share that is bounded": lambda: expect_uniform(NEAR, m, share * 101 / 100, PLAIN),
    "a cohort of another size": lambda: expect_arbitrary(instantiate(SGD.noise_bound, {"size": m}, PLAIN), n),
    "two algorithms": another_algorithm,
    "a snapshot as an arbitrary round": mixed_at_one_kind_only,
    "a projection on what is not known": lambda: project(G, SGD.cohort_gradient, ARBITRARY, PLAIN),
    "a projection of what is not known at the start": lambda: project(GRADIENT, x, ARBITRARY, PLAIN),
    "an optimum against what is random": lambda: AXIOMS.optimal(SGD.cohort_gradient),
    "an induction with another factor": lambda: induct(*SGD.path.premises, SGD.path.form, 1 + 2 / K),
    "an induction to a stronger bound": lambda: induct(*SGD.path.premises, STRONGER, 1 + 1 / K),
    "the end of a path that was not shown": lambda: last_step(VARIANCE),
    "steps of what has none": lambda: over_steps(SGD.noise_bound),
    "an expression for K": lambda: instantiate(SGD.path, {"K": K + 1}, PLAIN),
    "a larger step size than shown": lambda: instantiate(SGD.path, {"eta": 2 * eta}, PLAIN),
    "a gradient bound as a contraction": lambda: contraction(mixed_distance()),
    "dissimilarity along the path": lambda: AXIOMS.dissimilar(ITERATE, sigma_G**2),
    "a bound over what may be 0": lambda: Where(
        RING, (Condition("eta", "capped", 1 / L), Condition("L", "nonnegative"))
    ),
    "a bound over what is not conditioned": lambda: Where(RING, (Condition("eta", "capped", 1 / L),)),
    "a cohort's mean where none is given": lambda: ALONE.unbiased(SGD.cohort_gradient),
    "a cohort's noise where none is given": lambda: ALONE.uncorrelated(),
    "a round's end where no cohort is given": lambda: ALONE.round(x),
    "descent to a round's end where no cohort is given": lambda: ALONE.descent(NEXT, START_POINT, L),
    "a path given the start, used given the cohort": lambda: combine([(ALONE.variance(sigma**2), 1)], **COHORT),
    "a path given the cohort, used given the start": lambda: combine([(VARIANCE, 1)], where=PLAIN, context="start"),
    "the cohort's mean of a path given the start": lambda: over_clients(ALONE.variance(sigma**2), "S"),
    "scalars of another ring": lambda: combine([(VARIANCE, type(RING)("L mu").symbols[0])], **COHORT),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTEMPTS)
def test_it_refuses(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ATTEMPTS[name]()


def test_a_constant_of_an_assumption_follows_what_is_put_in() -> None:
    """sigma^2 := sigma^2/1000 in the conclusion alone would be a theorem for nothing."""
    thousandth = instantiate(VARIANCE, {"sigma": sigma / 1000}, PLAIN)
    assert ("bounded_noise", sigma**2 / 10**6) in thousandth.assumptions
    assert ("bounded_noise", sigma**2) not in thousandth.assumptions


def test_a_share_that_is_put_in_is_said() -> None:
    """The share of a cohort's draw is the algorithm's own: with 0 for it the theorem is of algorithms that have 0."""
    drawn = expect_uniform(combine([(NEAR, 1)], **COHORT), m, share, PLAIN)
    assert dict(instantiate(drawn, {"share": 0 * share}, PLAIN).parameters)["share"] == 0


def test_what_is_drawn_keeps_both_moments() -> None:
    """E|mean_S g|^2 = share mean|g|^2 + (1 - share)|mean g|^2."""
    square_of_mean = combine([], squares=[(SGD.cohort_gradient, "", 1)], **COHORT)
    drawn = expect_uniform(square_of_mean, m, share, PLAIN)
    mean = g0.under("M")
    assert drawn.form == square(g0).under("M") * share + square(mean) * (1 - share)
    assert drawn.kind == UNIFORM


def test_sums_over_steps_follow_faulhaber() -> None:
    total = (Form.constant(k**3 + k)).under("K")
    for count in range(1, 6):
        expected = sum(Fraction(j**3 + j) for j in range(count))
        assert total.entries["1"].at({"K": count}) == expected


def test_indices_of_two_vectors_are_told_apart() -> None:
    """mean <u_i, v> is <mean u, v>, and mean <u_i, u_i> is not |mean u|^2."""
    optimum = AXIOMS.vector(OPTIMUM)
    assert dot(g0, optimum).under("M") == dot(g0.under("M"), optimum)
    assert square(g0).under("M") != square(g0.under("M"))
    assert NOISE.stage == PATH
