"""Theorems on one round, for runs whose kinds of round are fixed: weights, any schedule, and what loses the proof."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import sympy
from sympy import Rational

from fedtheory.algorithms import fast
from fedtheory.claims.statement import Claim
from fedtheory.evidence.search import ROUNDING, search
from fedtheory.federations import Quadratic
from fedtheory.papers import claim
from fedtheory.papers.fast.proofs.kinds_of_round import LETTERS, RING
from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex, strongly_convex, strongly_convex_averaged
from fedtheory.papers.fast.statements.common import RANDOM_SNAPSHOTS
from fedtheory.papers.proofs import library, proof_of, prove
from fedtheory.participation import Fixed
from fedtheory.proof.kernel.theorems import instantiate
from fedtheory.proof.translate.scheduled_runs import PeriodicContraction, PeriodicDescent, shares
from fedtheory.proof.verdict_word import KERNEL
from fedtheory.quantities import symbols
from fedtheory.setting import Setting

PERIODIC = [claim("fast.thm1@periodic"), claim("fast.thm2@periodic")]
each = pytest.mark.parametrize("this", PERIODIC, ids=lambda c: c.ref)
CONTRACTION, DESCENT = PeriodicContraction(strongly_convex, LETTERS), PeriodicDescent(nonconvex, LETTERS)

# Weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [1, 2, 3, 7])
def test_the_rounds_of_a_kind_weigh_no_more(period: int) -> None:
    """For every R, and tight: both bounds are met within 1% somewhere, and their second parts are needed."""
    needed = [False, False]
    for fall, rounds in itertools.product((F(1, 1000), F(1, 10), F(1, 2), F(1)), range(1, 40)):
        weight = [(1 - fall) ** (rounds - 1 - r) for r in range(rounds)]
        own = sum(w for r, w in enumerate(weight) if r % period == 0)
        s, a = (F(int(x.p), int(x.q)) for x in shares(sympy.Rational(fall.numerator, fall.denominator), period))
        assert own <= s / fall and sum(weight) - own <= a / fall
        needed[0] |= own > F(1, period) / fall
        needed[1] |= sum(weight) - own > (1 - F(1, period)) / fall
    assert needed == [period > 1, period > 1]


@pytest.mark.parametrize("period", [1, 2, 5])
def test_the_numbers_of_rounds_of_a_kind(period: int) -> None:
    for rounds in range(1, 30):
        own = len(range(0, rounds, period))
        assert F(own, rounds) <= F(1, period) + (1 - F(1, period)) / rounds
        assert F(rounds - own, rounds) <= 1 - F(1, period)


# Any schedule --------------------------------------------------------------------------------------------------------

CENTRES, CURVATURE = (F(1), F(-1), F(2), F(0)), F(1)
COHORT, ARBITRARY = 2, (2,)
MEAN = sum(CENTRES) / 4
KNOWN = {"smoothness": CURVATURE, "strong_convexity": CURVATURE, "cohort": F(COHORT), "arbitrary_cohort": F(1),
         "gradient_noise": F(1, 2), "dissimilarity": F(3, 2)}  # fmt: skip


def moments(schedule: tuple[bool, ...], start: F | float, steps: int, lr: F | float) -> list[F] | list[float]:
    """E(x_r - x*)^2 for r = 0..R, of clients (x - c_i)^2/2 with noise of variance 1/4, the third client in arbitrary
    rounds."""
    kept = (1 - lr) ** steps
    noise = lr**2 / 4 * sum((1 - lr) ** (2 * k) for k in range(steps))
    pairs = [sum(c) / 2 for c in itertools.combinations(map(type(start), CENTRES), COHORT)]
    middle = type(start)(MEAN)
    first, second = start - middle, (start - middle) ** 2
    found = [second]
    for snapshot in schedule:
        pulls = [(1 - kept) * (c - middle) for c in (pairs if snapshot else [type(start)(CENTRES[2])])]
        pull, square = sum(pulls) / len(pulls), sum(p * p for p in pulls) / len(pulls)
        second = kept**2 * second + 2 * kept * first * pull + square + noise / (COHORT if snapshot else 1)
        first = kept * first + pull
        found.append(second)
    return found


SCHEDULES = [*itertools.product((True, False), repeat=5), (True,) * 40, (False,) * 40, (True, False, False) * 40]


@pytest.mark.parametrize(("steps", "lr"), [(1, F(1, 10)), (3, F(1, 50)), (2, F(1, 16))])
def test_any_schedule(steps: int, lr: F) -> None:
    quantities = KNOWN | {"local_steps": F(steps), "local_lr": lr}
    for schedule in SCHEDULES:
        exact = moments(schedule, F(3), steps, lr)
        distance = F(3) - MEAN
        bound = CONTRACTION.along(schedule, distance, quantities)
        assert exact[-1] <= bound
        mean = sum(exact[:-1]) / len(schedule) * CURVATURE**2
        assert mean <= DESCENT.along(schedule, CURVATURE * distance**2 / 2, quantities)
        if schedule == (False,) * 40:
            # the bias of its cohort, (c - mean)^2 = 9/4, is what is left
            assert F(9, 4) * F(1, 4) < exact[-1] and bound < 12 * exact[-1]


def test_a_schedule_of_other_kinds_is_worse() -> None:
    """So kinds must not be mistaken: arbitrary rounds exceed the bound for snapshots alone."""
    quantities = KNOWN | {"local_steps": F(1), "local_lr": F(1, 16)}
    rounds = 100
    found = moments((False,) * rounds, F(3), 1, F(1, 16))
    assert found[-1] > CONTRACTION.along((True,) * rounds, F(3) - MEAN, quantities)
    gap = (F(3) - MEAN) ** 2 / 2
    assert sum(found[:-1]) / rounds > DESCENT.along((True,) * rounds, gap, quantities)


def test_the_model_is_the_settings() -> None:
    fed = Quadratic.common_hessian([1, -1, 2, 0], 1, "1/2")
    algorithm = fast(snapshot_period=3, cohort=2, local_steps=2, local_lr="1/16")
    exact = Setting(fed, algorithm, Fixed([2]), start=3).exact(range(8), exact=True)
    own = moments((True, False, False) * 3, F(3), 2, F(1, 16))
    assert list(exact.squared_distance) == own[:8]


def test_a_schedule_outside_of_the_theorem_is_refused() -> None:
    quantities = KNOWN | {"local_steps": F(1), "local_lr": F(1, 7)}
    with pytest.raises(ValueError, match="allowed are such that"):
        CONTRACTION.along((True,), F(1), quantities)
    with pytest.raises(ValueError, match="gradient_noise"):
        CONTRACTION.along((True,), F(1), {k: v for k, v in quantities.items() if k != "gradient_noise"})
    with pytest.raises(ValueError, match="at least one round"):
        DESCENT.along((), F(1), quantities | {"local_lr": F(1, 10)})
    averaged = PeriodicContraction(strongly_convex_averaged, LETTERS)
    assert averaged.along((True, False), F(1), quantities | {"local_lr": F(1, 40)}) > 0
    with pytest.raises(ValueError, match="does not depend on the kind of round"):
        averaged.right_side()
    half = instantiate(strongly_convex(), {"q": RING.number(1) / 2}, strongly_convex().where)
    with pytest.raises(ValueError, match="a theorem for every snapshot_probability"):
        PeriodicContraction(lambda: half, LETTERS).content  # noqa: B018


# The claims ----------------------------------------------------------------------------------------------------------


@each
def test_the_kernel_proves_it_for_periods_alone(this: Claim) -> None:
    chain = prove(this)
    assert (chain.verdict, chain.joints) == ("proved", KERNEL)
    assert {reading["snapshots"] for reading in chain.readings} == {"period"}
    origin = chain.derivation.origin
    assert "periodic_kinds" in origin.assumed() and not any("random_kinds" in name for name in origin.assumed())
    random = tuple(RANDOM_SNAPSHOTS if a.name == "snapshots" else a for a in this.ambiguities)
    assert not proof_of(replace(this, ambiguities=random))


@each
def test_what_loses_the_proof(this: Claim) -> None:
    for term in this.terms:
        assert not proof_of(this.edited("mine", "", terms={term.name: term.expression * Rational(99, 100)})), term.name
    (period,) = symbols("snapshot_period")
    for other in (period / 2, period - 1):
        denser = {t.name: t.expression.xreplace({period: other}) for t in this.terms}
        assert denser["arbitrary_rounds"] != this.term("arbitrary_rounds").expression
        assert not proof_of(this.edited("mine", "", terms=denser))
    assert not proof_of(replace(this, hypotheses=()))
    for assumption in this.assumptions:
        rest = tuple(a for a in this.assumptions if a is not assumption)
        assert not proof_of(replace(this, assumptions=rest)), assumption.name


@each
def test_the_search_finds_no_violation(this: Claim) -> None:
    report = search(this, candidates=60, climbs=2, steps=10, seed=3)
    assert report.admissible >= 10
    assert 0 < report.best.ratio <= 1 + ROUNDING
    assert report.best.candidate.period >= 1


def test_period_1_is_what_every_round_being_a_snapshot_gives() -> None:
    """At I = 1 the terms are those of the random edition at q = 1."""
    for this in PERIODIC:
        other = claim(this.ref.replace("periodic", "sharper"))
        for term in this.terms:
            found = {s.name: s for s in {*term.expression.free_symbols, *other.right_side.free_symbols}}
            one = term.expression.subs(found["snapshot_period"], 1) if "snapshot_period" in found else term.expression
            expected = other.term(term.name).expression.subs(found["snapshot_probability"], 1)
            assert sympy.simplify(one - expected) == 0, term.name


def test_the_floor_of_a_long_run() -> None:
    """With small steps what is left is at most (1 - 1/I) sigma_G^2/mu^2, and half of it comes: (1 - 1/I)^2."""
    this = PERIODIC[1]
    values = {name: float(v) for name, v in KNOWN.items()} | {"local_steps": 1, "snapshot_period": 2, "local_lr": 1e-4,
              "rounds": 10**7, "initial_distance": 1, "gradient_noise": 0}  # fmt: skip
    bound = float(this.evaluate(**values).value)
    exact = moments((True, False) * 1000, 3.0, 1, 0.01)[-1]
    assert bound == pytest.approx(0.5 * 1.5**2, rel=2e-3) and exact < bound
    assert np.isclose(exact, 0.25 * 1.5**2, rtol=0.05)


def test_derivations_are_in_the_library() -> None:
    names = {d.name for d in library().derivations if isinstance(d.origin, PeriodicContraction | PeriodicDescent)}
    assert names == {"composed, thm1.periodic", "composed, thm2.periodic"}
