"""Theorems on one round, for runs whose kinds of round are fixed: weights, runs that are enumerated, what the rules
refuse, and what loses the proof."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Rational

from fedtheory.algorithms import fast
from fedtheory.claims.statement import Claim
from fedtheory.evidence.search import ROUNDING, search
from fedtheory.federations import Quadratic
from fedtheory.papers import claim
from fedtheory.papers.fast.proofs.kinds_of_round import RING
from fedtheory.papers.fast.proofs.thm1_thm2 import PERIODS, nonconvex, strongly_convex, strongly_convex_averaged
from fedtheory.papers.fast.statements.common import RANDOM_SNAPSHOTS
from fedtheory.papers.proofs import chain, proof_of, prove
from fedtheory.papers.safari.proofs import repaired_editions as safari
from fedtheory.participation import Fixed
from fedtheory.proof import checker
from fedtheory.proof.kernel import fixed_kinds
from fedtheory.proof.kernel.fixed_kinds import iterate_periods, telescope_kinds, telescope_periods
from fedtheory.proof.kernel.regions import Where
from fedtheory.proof.kernel.run_bounds import RunBound
from fedtheory.proof.kernel.saved_claims import saved_claim
from fedtheory.proof.kernel.theorems import combine, instantiate
from fedtheory.proof.verdict_word import KERNEL
from fedtheory.quantities import symbols
from fedtheory.setting import Setting
from tests.proof.kernel.written import why_no_claim

PERIODIC = [claim("fast.thm1@periodic"), claim("fast.thm2@periodic")]
each = pytest.mark.parametrize("this", PERIODIC, ids=lambda c: c.ref)


def contraction() -> RunBound:
    return iterate_periods(strongly_convex(), PERIODS, "R", "start", "power", "I")


def descent() -> RunBound:
    return telescope_periods(nonconvex(), PERIODS, "R", "start", "I")


# Weights -----------------------------------------------------------------------------------------------------------


def shares(fall: F, period: int) -> tuple[F, F]:
    """s and a of ``iterate_periods``."""
    own = F(1, period)
    return own + (1 - own) * fall, (1 - own) * (1 + fall)


@pytest.mark.parametrize("period", [1, 2, 3, 7])
def test_the_rounds_of_a_kind_weigh_no_more(period: int) -> None:
    """For every R, and tight: both bounds are met within 1% somewhere, and their second parts are needed."""
    needed = [False, False]
    for fall, rounds in itertools.product((F(1, 1000), F(1, 10), F(1, 2), F(1)), range(1, 40)):
        weight = [(1 - fall) ** (rounds - 1 - r) for r in range(rounds)]
        own = sum(w for r, w in enumerate(weight) if r % period == 0)
        s, a = shares(fall, period)
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


@pytest.mark.parametrize(("steps", "lr"), [(1, F(1, 10)), (3, F(1, 50)), (2, F(1, 16))])
@pytest.mark.parametrize("period", [1, 2, 3, 7, 50])
def test_runs_with_periods(steps: int, lr: F, period: int) -> None:
    """Exact moments of all rounds are below both bounds; with no snapshot but the first, near what they bound."""
    of_runs, of_means = contraction(), descent()
    for rounds in (1, 2, 5, 9, 40):
        schedule = tuple(r % period == 0 for r in range(rounds))
        exact, distance = moments(schedule, F(3), steps, lr), F(3) - MEAN
        at = {name: F(0) for name in PERIODS.names} | {
            "eta": lr, "L": CURVATURE, "mu": CURVATURE, "K": F(steps), "m": F(COHORT), "n": F(1), "sigma": F(1, 2),
            "sigma_G": F(3, 2), "share": F(1, 3), "R": F(rounds), "I": F(period), "size": F(1),
        }  # fmt: skip
        (power,) = of_runs.definitions
        bound = of_runs.bound.at(at | {"start": distance, "power": power.of.at(at) ** rounds})
        assert exact[-1] <= bound
        mean = sum(exact[:-1]) / rounds * CURVATURE**2
        assert mean <= of_means.bound.at(at | {"start": CURVATURE * distance**2 / 2})
        if rounds == 40 and period == 50:  # the bias of its cohort, (c - mean)^2 = 9/4, is what is left
            assert F(9, 4) * F(1, 4) < exact[-1] and bound < 12 * exact[-1]


def test_a_schedule_of_other_kinds_is_worse() -> None:
    """So kinds must not be mistaken: arbitrary rounds exceed the bound for snapshots alone."""
    rounds, at = 100, dict.fromkeys(PERIODS.names, F(1))
    at |= {"eta": F(1, 16), "m": F(COHORT), "sigma": F(1, 2), "sigma_G": F(3, 2), "share": F(1, 3), "R": F(rounds)}
    at |= {"start": F(3) - MEAN}
    found = moments((False,) * rounds, F(3), 1, F(1, 16))
    (power,) = contraction().definitions
    assert found[-1] > contraction().bound.at(at | {"power": power.of.at(at) ** rounds})
    assert sum(found[:-1]) / rounds > descent().bound.at(at | {"start": (F(3) - MEAN) ** 2 / 2})


def test_the_model_is_the_settings() -> None:
    fed = Quadratic.common_hessian([1, -1, 2, 0], 1, "1/2")
    algorithm = fast(snapshot_period=3, cohort=2, local_steps=2, local_lr="1/16")
    exact = Setting(fed, algorithm, Fixed([2]), start=3).exact(range(8), exact=True)
    own = moments((True, False, False) * 3, F(3), 2, F(1, 16))
    assert list(exact.squared_distance) == own[:8]


def half() -> Any:
    return instantiate(strongly_convex(), {"q": RING.number(1) / 2}, strongly_convex().where)


def _kinds(clients: Any = safari.clients_descent, server: Any = safari.server_descent) -> RunBound:
    return telescope_kinds(clients(), server(), safari.q, safari.RUNS, "R", "gap")


def slower() -> Any:
    """The server's rounds with another fall."""
    made = safari.server_descent()
    g = fixed_gradient(made)
    return combine([(made, 1)], where=made.where, context="kind", kind=made.kind, squares=[(g, "", safari.eta_s / 4)])


def fixed_gradient(made: Any) -> Any:
    return safari.ServerAxioms(made.where, safari.eta_s).gradient


UNSOUND: dict[str, tuple[str, Callable[[], RunBound]]] = {
    "a rate that depends on the kind": ("does not depend on the kind of round|in the same region", lambda: (
        iterate_periods(strongly_convex_averaged(), PERIODS, "R", "start", "power", "I"))),
    "a theorem for one probability": ("for every probability", lambda: iterate_periods(
        half(), PERIODS, "R", "start", "power", "I")),
    "rounds of one kind": ("for every probability", lambda: telescope_periods(
        safari.clients_descent(), safari.RUNS, "R", "gap", "eta")),
    "a letter that is there": ("different letters", lambda: telescope_periods(
        nonconvex(), PERIODS, "R", "start", "m")),
    "another fall": ("with the same fall", lambda: _kinds(server=slower)),
    "kinds exchanged": ("with the same fall", lambda: _kinds(safari.server_descent, safari.clients_descent)),
    "a share above 1": ("not certified to be in", lambda: telescope_kinds(
        safari.clients_descent(), safari.server_descent(), safari.q * 2, safari.RUNS, "R", "gap")),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_it_refuses(name: str) -> None:
    says, make = UNSOUND[name]
    with pytest.raises(ValueError, match=says):
        make()


def refusal(bound: RunBound) -> str:
    try:
        checker.check(json.loads(json.dumps(saved_claim(bound, {}, {}))))
    except checker.Wrong as wrong:
        return str(wrong)
    return ""


PLANTED: dict[str, tuple[Any, str, Any, Callable[[], RunBound]]] = {
    "fewer snapshots": (fixed_kinds, "_of_kinds", lambda *given: _OF_KINDS(*given) / 2, descent),
    "a share above 1": (Where, "certifies", lambda *_: True, UNSOUND["a share above 1"][1]),
    "a round's B at q = 1/2": (fixed_kinds, "_of_kinds", lambda _, fall, added, ring, s, a: (
        (s + a) * added.replace({"q": added.ring.number(1) / 2}).within(ring)), contraction),
}  # fmt: skip
"""Lines of the kernel that are planted out, so that it makes a false bound: the checker refuses it."""
_OF_KINDS = fixed_kinds._of_kinds


@pytest.mark.parametrize("name", PLANTED)
def test_the_checker_refuses_what_a_weaker_kernel_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, line, weaker, make = PLANTED[name]
    safari.clients_descent(), safari.server_descent(), nonconvex(), strongly_convex()
    monkeypatch.setattr(place, line, weaker)
    assert refusal(make()).startswith(("bound 0", "conditions"))


def test_the_checker_accepts_what_is_sound() -> None:
    for made in (contraction(), descent(), _kinds()):
        assert refusal(made).startswith("claim")  # there is no claim in the file


def test_either_kinds_of_shares() -> None:
    """Theorem 4 is proved for exact shares and for rounds by chance; of other kinds of round the checker knows none."""
    found = chain("safari.thm4@corrected")
    assert found.verdict == "proved" and {r["kinds of rounds"] for r in found.readings} == {
        "probability",
        "exact shares",
    }
    file = found.theorem.text()
    data = json.loads(file)
    assert not why_no_claim(file, data["letters"], data["claim"])
    for name, text in (("algorithm", "fast"), ("algorithm", "fedau"), ("functional", "final_squared_distance")):
        assert "claim" in why_no_claim(file, data["letters"], data["claim"] | {name: text})
    for term, text in data["claim"]["terms"].items():
        terms = data["claim"]["terms"] | {term: f"99*({text})/100"}
        assert "claim" in why_no_claim(file, data["letters"], data["claim"] | {"terms": terms})


# The claims ----------------------------------------------------------------------------------------------------------


@each
def test_the_kernel_proves_it_for_periods_alone(this: Claim) -> None:
    found = prove(this)
    assert (found.verdict, found.joints) == ("proved", KERNEL)
    assert {reading["snapshots"] for reading in found.readings} == {"period"}
    assumed = found.source.origin.assumed()
    assert "periodic_kinds(snapshot_period)" in assumed and not any("random_kinds" in name for name in assumed)
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
