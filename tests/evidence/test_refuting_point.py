"""Statements that are wrong by one percent fall, exactly, and the right ones stand at the same instances."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import sympy

from fedtheory import Setting, algorithms, federations, participation
from fedtheory.claims.statement import Claim
from fedtheory.evidence.confirm import refuting_point
from fedtheory.evidence.referee import load
from fedtheory.evidence.replay import replay
from fedtheory.evidence.search import search
from fedtheory.moments.function_points import Points
from fedtheory.papers import claim
from fedtheory.quantities import symbol
from fedtheory.subjects import kinked_search
from fedtheory.subjects.functions import FunctionPoint
from fedtheory.subjects.lead import Found
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.values import ValuesPoint

from .numbers import Numbers, as_printed, judge, stated_constants

F = Fraction
EXAMPLE = Path(__file__).parents[2] / "docs" / "referee" / "my_theorem.py"


def scaled(ref: str, **factors: str) -> Claim:
    """The claim with terms multiplied; a factor of 0 drops one."""
    statement = claim(ref)
    terms = [replace(t, expression=sympy.Rational(factors.pop(t.name, 1)) * t.expression) for t in statement.terms]
    assert not factors
    return replace(statement, terms=tuple(terms))


def line(ref: str, centres: tuple, start: object, step: object, **changes: object) -> Numbers:
    """F_i(x) = (x - c_i)^2 / 2, one client in arbitrary rounds, no noise; smoothness = strong_convexity = 1."""
    constants = {"smoothness": F(1), "strong_convexity": F(1), "gradient_noise": F(0), "young_parameter": F(1, 10**6),
                 "dissimilarity": max(abs(F(c)) for c in centres)} | changes.pop("constants", {})  # fmt: skip
    defaults = {
        "hessians": ((F(1),),) * len(centres), "centres": tuple((F(c),) for c in centres), "start": (F(start),),
        "cohort": len(centres), "local_steps": 1, "local_lr": F(step), "snapshot_period": None, "members": (0,),
        "rounds": 1, "snapshot_probability": F(1),
    }  # fmt: skip
    return Numbers(claim=ref, constants={n: constants[n] for n in stated_constants(ref)}, **(defaults | changes))


def points(ref: str, x: int, y: int, z: int) -> Instance:
    """g(u) = u^2 / 2."""
    vectors = ((F(1),), (F(0),), (F(x),), (F(y),), (F(z),))
    return Instance(ref, FunctionPoint(Points(*vectors), {name: F(1) for name in stated_constants(ref)}))


LONG = {"rounds": 10**8, "snapshot_probability": F(0)}
NOISE = {"gradient_noise": F(1)}

# By claim and mutation: an instance where the true statement is tight. What it rests on:
# lemma 2 is an equality at x halfway between y and z where mu = L; lemma 1 anywhere where F is a parabola;
# a round with a small step changes |x - x*|^2 by little, so the coefficient 1 of the start is tight;
# noise alone moves a snapshot round by K eta^2 sigma^2 / m; the floors are met as R grows and the step shrinks, with
# q = 0 and one of two clients in every round.
# (28), (29) and (35) leave room elsewhere: 3 mu / 4 where mu is true, 4 (z^2 + K^2 eta^2 sigma_G^2) where 1 is, so they
# fall just beyond that.
TIGHT = [
    ("fast.lemma1@main", {"curvature": "99/100"}, points("fast.lemma1@main", 0, 1, 0)),
    ("fast.lemma2@main", {"strong_convexity": "101/100"}, points("fast.lemma2@main", 1, 0, 2)),
    ("fast.lemma2@main", {"perturbation": "99/100"}, points("fast.lemma2@main", 1, 0, 2)),
    ("fast.eq28@main", {"distance": "135/100"}, line("fast.eq28@main", (0, 0), 1, "1/1000")),
    ("fast.eq29@main", {"noise": "99/100"},
     line("fast.eq29@main", (0, 0), 0, "1/1000", cohort=1, constants=NOISE)),
    ("fast.eq29@main", {"distance": "249/1000"}, line("fast.eq29@main", (0, 0), 1, "1/10000")),
    ("fast.eq29@main", {"heterogeneity": "249/1000"}, line("fast.eq29@main", (1, -1), 0, "1/10000", cohort=1)),
    ("fast.eq30@main", {"distance": "99/100"}, line("fast.eq30@main", (0, 0), 1, "1/1000")),
    ("fast.eq35@main", {"distance": "135/100"},
     line("fast.eq35@main", (0, 0), 1, "1/1000", snapshot_probability=F(0))),
    ("fast.eq38@main", {"distance": "99/100"},
     line("fast.eq38@main", (0, 0), 1, "1/1000", snapshot_probability=F(0))),
    ("fast.eq39@main", {"distance": "99/100"}, line("fast.eq39@main", (0, 0), 1, "1/1000")),
    ("fast.thm2@appendix", {"initial": "99/100"}, line("fast.thm2@appendix", (0, 0), 1, "1/1000")),
    ("fast.thm2@sharp", {"arbitrary_rounds": "99/100"}, line("fast.thm2@sharp", (1, -1), 1, "1/100000", **LONG)),
    ("fast.thm1@sharp", {"arbitrary_rounds": "99/100"}, line("fast.thm1@sharp", (1, -1), 1, "1/100000", **LONG)),
    ("fast.thm2@corrected", {"arbitrary_rounds": "0"}, line("fast.thm2@corrected", (1, -1), 1, "1/1000", **LONG)),
    ("fast.thm1@corrected", {"arbitrary_rounds": "0"}, line("fast.thm1@corrected", (1, -1), 1, "1/1000", **LONG)),
]  # fmt: skip


@pytest.mark.parametrize(("ref", "factors", "instance"), TIGHT, ids=lambda v: v if isinstance(v, str) else "")
def test_wrong_by_a_percent(ref, factors, instance):
    mutant = judge(instance, statement=scaled(ref, **factors))
    assert mutant.refutes and all(not reading.undecided for reading in mutant.readings)
    true = judge(instance)
    assert all(not reading.failing and not reading.left > reading.right for reading in true.readings)


# What a search finds.


@pytest.mark.parametrize(
    ("ref", "factors"),
    [
        ("fast.lemma2@main", {"strong_convexity": "101/100"}),  # points
        ("fast.eq30@main", {"distance": "99/100"}),  # one round
        ("fast.thm2@sharp", {"arbitrary_rounds": "99/100"}),  # runs with random snapshots
        ("fast.rem2.a@main", {}),  # values
        ("fast.cor3@main", {}),  # a chosen step
    ],
)
def test_finds_of_every_kind_are_confirmed(ref, factors):
    statement = scaled(ref, **factors) if factors else as_printed(claim(ref))
    judgement = refuting_point(statement, search(statement, candidates=150, climbs=3, steps=15).best)
    assert judgement.refutes and judgement.statement == statement
    assert not factors or not any(reading.refutes for reading in judge(judgement.instance).readings)
    assert replay(judgement.to_json(), statement).refutes


@pytest.mark.parametrize("ref", ["fast.lemma2", "fast.eq30", "fast.thm2@appendix", "fast.rem2.b"])
def test_finds_that_are_no_counterexamples_are_not_confirmed(ref):
    statement = claim(ref)
    assert refuting_point(statement, search(statement, candidates=40, climbs=1, steps=5).best) is None


def found(setting: Setting, rounds: int) -> Found:
    return Found(None, setting, {}, rounds, 1.0, 0.1, 10.0)


def test_what_no_instance_can_hold_is_not_confirmed():
    """Hessians that are not diagonal; and dissimilarities that are infinite."""
    for hessians in ([[[2, 1], [1, 2]]] * 2, [[1, 1], [2, 2]]):
        federation = federations.Quadratic(hessians, [[1, 0], [-1, 0]])
        algorithm = algorithms.fast(snapshot_probability=0, cohort=1, local_lr="1/1000")
        setting = Setting(federation, algorithm, participation.Fixed([0]), start=1)
        assert refuting_point(scaled("fast.thm2@corrected", arbitrary_rounds="0"), found(setting, 1000)) is None


def test_other_processes_become_fixed_sets():
    """A bound for arbitrary participation has to stand any set in every round."""
    federation = federations.Quadratic.common_hessian(offsets=[1, -1])
    algorithm = algorithms.fast(snapshot_probability=0, cohort=2, local_lr="1/1000")
    setting = Setting(federation, algorithm, participation.Uniform(1), start=1)
    judgement = refuting_point(scaled("fast.thm2@corrected", arbitrary_rounds="0"), found(setting, 10**5))
    assert judgement.refutes and Numbers.of(judgement.instance).members == (0,)


# The referee's example.


def test_the_referees_example_falls_by_a_short_instance(monkeypatch):
    monkeypatch.setattr(kinked_search, "searched", lambda wanted: False)  # quadratic clients only
    (statement,) = load(EXAMPLE).claims
    judgement = refuting_point(statement, search(statement, candidates=100, climbs=2, steps=10).best)
    assert judgement.refutes
    instance = Numbers.of(judgement.instance)
    numbers = [*sum(instance.hessians, ()), *sum(instance.centres, ()), *instance.start, instance.local_lr]
    significant = [len(str(part).rstrip("0")) for v in numbers for part in (v.numerator, v.denominator)]
    assert max(significant) <= 4
    assert replay(judgement.to_json(), statement).to_json() == judgement.to_json()


def test_the_referees_example_by_hand():
    """Two clients at 1 and -1, one of them drawn in every round with steps of 1/100: in the long run E x^2 is
    eta / (2 - eta) = 1/199, against a bound of 8 eta^2 = 1/1250."""
    (statement,) = load(EXAMPLE).claims
    constants = {"smoothness": F(1), "strong_convexity": F(1), "gradient_noise": F(0), "dissimilarity": F(1)}
    instance = Numbers(statement.ref, ((F(1),),) * 2, ((F(1),), (F(-1),)), (F(0),), 1, 1, F(1, 100), None, (0,), 10**4,
                        constants, F(1))  # fmt: skip
    judgement = judge(instance, statement=statement)
    (reading,) = judgement.readings
    assert judgement.refutes and float(reading.left) == pytest.approx(1 / 199, rel=1e-12)
    assert float(reading.right) == pytest.approx(1 / 1250, rel=1e-12)
    # With everyone drawn there is no such error, and the bound stands.
    assert not judge(replace(instance, cohort=2), statement=statement).refutes


def test_values_keep_whole_numbers_whole():
    """Cohorts and local steps are counts, however a find is rounded."""
    statement = as_printed(claim("fast.rem2.a@main"))
    values = {"cohort": 12.0, "arbitrary_cohort": 17.0, "local_steps": 13.0, "smoothness": 0.7654321, "local_lr": 1e-4,
              "snapshot_probability": 0.123456, "peak_full_pseudogradient": 0.4321,
              "peak_arbitrary_pseudogradient": 1.0, "peak_cohort_pseudogradient": 0.4321}  # fmt: skip
    judgement = refuting_point(statement, Found(None, values, values, 1, 1.0, 0.0, float("inf")))
    assert judgement.refutes and isinstance(judgement.instance.point, ValuesPoint)
    counts = ("cohort", "arbitrary_cohort", "local_steps")
    assert all(judgement.instance.point.values[name].denominator == 1 for name in counts)
    assert symbol("cohort").is_integer
