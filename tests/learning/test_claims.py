"""SAFARI's section 3 as claims: both sides by a second route, instances, mutations that lose a proof, bad files."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sympy import Rational

from fedtheory.evidence.constructions import construct
from fedtheory.evidence.judge import judge, parse
from fedtheory.evidence.replay import replay
from fedtheory.evidence.search import search
from fedtheory.functionals import CHECKED_EMPIRICAL_GAP, DISAGREEMENT_EXCESS, RARE_TAIL
from fedtheory.learning.tails import log_tail
from fedtheory.papers import all_claims, claim
from fedtheory.papers.proofs import prove
from fedtheory.papers.safari.counterexamples import FAMILIES
from fedtheory.papers.safari.examples.learning_points import LearningPoint, stated
from fedtheory.papers.safari.examples.learning_problems import Hiding, Pooled, Thresholds
from fedtheory.papers.safari.examples.learning_search import LearningProblems
from fedtheory.subjects.protocol import Instance

CLAIMS = [c for c in all_claims() if c.functional.scope == "learning"]
LEMMA_1 = {f"safari.lemma1.{part}@main" for part in ("frequency", "deficit", "deviation", "excess")}
UNDER_ALL = {"safari.lemma2@main", "safari.rem2.thm3@main"}
UNDER_SOME = {
    *LEMMA_1, "safari.ex1@main", "safari.ex1.q@main", "safari.thm2@main", "safari.thm3@main", "safari.rem2.thm2@main",
}  # fmt: skip
PROVED = [c.ref for c in CLAIMS if c.edition != "main"] + [
    "safari.thm1@main",
    "safari.app1.tail@main",
    "safari.eq15@main", "safari.thm2@main", "safari.thm3@main", "safari.rem2.thm2@main", *sorted(LEMMA_1),
]  # fmt: skip


def problems(count: int, seed: int) -> list[Pooled]:
    rng, space, found = np.random.default_rng(seed), LearningProblems(claim("safari.lemma2@corrected")), []
    while len(found) < count:
        problem = space.draw(rng).problem
        if problem.server_samples + problem.client_samples <= 5 and len(problem.target) <= 2:
            found.append(problem)
    return found


def samples(problem: Pooled):
    """Every ordered sample with its probability: (server's, clients')."""
    atoms = [(x, y) for x in range(len(problem.target)) for y in (0, 1)]
    n, m = problem.server_samples, problem.client_samples
    for drawn in itertools.product(atoms, repeat=n + m):
        weight = Fraction(1)
        for i, (x, y) in enumerate(drawn):
            weight *= (problem.target if i < n else problem.clients)[x][y]
        if weight:
            yield drawn[:n], drawn[n:], weight


def quantile(law: dict[Fraction, Fraction], delta: Fraction) -> Fraction:
    return min(v for v in law if sum(p for w, p in law.items() if w > v) <= delta)


@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 7)])
def test_functionals_of_samples_literally(delta: Fraction) -> None:
    for problem in problems(12, 1):
        labels, n = problem.labels, problem.server_samples
        best_p = min(range(len(labels)), key=lambda h: problem.p.risks(problem.hypotheses)[h])
        best_q = min(range(len(labels)), key=lambda h: problem.q.risks(problem.hypotheses)[h])
        gaps: dict[Fraction, Fraction] = {}
        differences: dict[Fraction, Fraction] = {}
        for server, clients, weight in samples(problem):
            errors = [sum(row[x] != y for x, y in server + clients) for row in labels]
            of_server = [sum(row[x] != y for x, y in server) for row in labels]
            fit = [h for h, e in enumerate(errors) if e == min(errors) and of_server[h] <= of_server[best_q]]
            gap = max((Fraction(of_server[h] - of_server[best_p], n) for h in fit), default=Fraction(0))
            gaps[gap] = gaps.get(gap, Fraction(0)) + weight
            most = Fraction(0)
            for one, other in itertools.combinations(labels, 2):
                seen = Fraction(sum(one[x] != other[x] for x, _ in server + clients), len(server + clients))
                mass = sum(problem.q.joint[x].sum() for x in range(len(one)) if one[x] != other[x])
                most = max(most, seen - 2 * mass)
            differences[most] = differences.get(most, Fraction(0)) + weight
        constants = {"confidence": delta}
        assert problem.left(CHECKED_EMPIRICAL_GAP, constants) == quantile(gaps, delta)
        assert problem.left(DISAGREEMENT_EXCESS, constants) == quantile(differences, delta)


def test_the_rare_tail_literally() -> None:
    problem = Hiding(3, 1, 1, Fraction(1, 3))
    assert problem.left(RARE_TAIL, {}) == 3 * Fraction(1, 9) * Fraction(2, 3) + Fraction(1, 27)


@pytest.mark.parametrize("ref", sorted(UNDER_ALL | UNDER_SOME | {"safari.thm2.improvement@main"}))
def test_instances_fall_and_replay(ref: str) -> None:
    found = construct(ref)
    assert found is not None and found.refutes == (ref not in UNDER_SOME) and found.readings[0].refutes
    replay(json.loads(json.dumps(found.to_json())))


def test_what_the_instances_rest_on() -> None:
    """One number changed and nothing falls: fewer samples, a threshold in the support, enough samples for the class."""
    coin = construct("safari.lemma2@main").instance.point
    fewer = replace(coin, problem=replace(coin.problem, server_samples=10, client_samples=20))
    assert not judge(Instance("safari.lemma2@main", fewer)).readings[0].refutes
    outside = construct("safari.ex1@main").instance.point
    inside = replace(outside, problem=replace(outside.problem, threshold=Fraction(1, 4)))
    assert not any(r.refutes for r in judge(Instance("safari.ex1@main", inside)).readings)
    unseen = construct("safari.lemma1.deficit@main").instance.point
    likelier = replace(unseen, constants=unseen.constants | {"confidence": Fraction(1, 2)})
    assert not judge(Instance("safari.lemma1.deficit@main", likelier)).readings[0].refutes
    common = construct("safari.thm2@main").instance.point
    unrelated = replace(common, constants=common.constants | {"relatedness": Fraction(998)})
    assert "assumption_2" in judge(Instance("safari.thm2@main", unrelated)).readings[0].failing


@pytest.mark.parametrize("ref", PROVED)
def test_proved_claims_survive_the_search(ref: str) -> None:
    assert prove(claim(ref)).outcome == "proved"
    report = search(claim(ref), candidates=60, climbs=2, steps=5)
    assert report.admissible > 10 and report.lead is None


@pytest.mark.parametrize(
    ("ref", "term", "factor"),
    [("safari.thm1@sharp", "probability", Rational(21, 20)), ("safari.thm1@functions", "probability", Rational(21, 20)),
     ("safari.app1.tail@main", "probability", Rational(3, 4)), ("safari.ex1@corrected", "related", Rational(9, 10)),
     ("safari.eq15@main", "source", Rational(9, 10)), ("safari.thm2@massart", "source", Rational(9, 10)),
     ("safari.thm3@massart", "rate", Rational(9, 10)), ("safari.thm2@corrected", "source", Rational(9, 10)),
     ("safari.lemma2@corrected", "complexity", Rational(9, 10)),
     ("safari.lemma1.frequency@corrected", "complexity", Rational(9, 10))],
)  # fmt: skip
def test_a_smaller_bound_loses_its_proof(ref: str, term: str, factor: Rational) -> None:
    whole = claim(ref)
    less = whole.edited("less", "mutated", terms={term: factor * whole.term(term).expression})
    assert prove(less).outcome != "proved"


def test_the_search_finds_what_is_wrong() -> None:
    """Bounds that are false on small problems fall in the search."""
    tight = claim("safari.eq15@main")
    half = tight.edited("half", "mutated", terms={"source": tight.term("source").expression / 2})
    assert search(half, candidates=60, climbs=2, steps=5).lead is not None
    sharp = claim("safari.thm1@functions")
    more = sharp.edited("more", "mutated", terms={"probability": -Rational(19, 20)})
    assert search(more, candidates=200, climbs=2, steps=5).lead is not None


@pytest.mark.parametrize("statement", CLAIMS, ids=lambda c: c.ref)
def test_what_is_drawn_is_an_example_and_survives_files(statement) -> None:
    rng, space = np.random.default_rng(3), LearningProblems(statement)
    seen = 0
    for _ in range(12):
        point = space.draw(rng)
        if min(point.constants.values(), default=Fraction(0)) < 0 and "sample_complexity" not in point.constants:
            continue  # no constant is enough
        point.check(statement)
        data = json.loads(json.dumps({"claim": statement.ref, **point.to_json()}))
        assert parse(data, statement).point == point
        seen += 1
    assert seen > 0 and space.searched and space.left_out


def unseen(law: str, samples: int) -> tuple[Fraction, Fraction]:
    """The left side of Lemma 1 at its instances and how often it is reached, by counting on how many samples the second
    point is: on none, or on all."""
    mass = Fraction(1, 2) if law == "half" else Fraction(1, 4)
    if law == "half":
        return mass / 2, (1 - mass) ** samples
    return 1 - 2 * mass, mass**samples


@pytest.mark.parametrize("samples", [10, 50, 100, 300])
def test_lemma_1_falls_by_its_confidence_term(samples: int) -> None:
    """Inside the logarithm log(1/delta) hardly counts: delta is below the probability of a sample that says nothing."""
    for part, law, times in (("deficit", "half", 1), ("deviation", "half", 2), ("excess", "half", 2),
                             ("frequency", "quarter", 1)):  # fmt: skip
        ref = f"safari.lemma1.{part}@main"
        point = FAMILIES[ref].member(claim(ref), samples)
        found = judge(Instance(ref, point))
        left, often = unseen(law, samples)
        delta = point.constants["confidence"]
        assert delta == often / 2  # so that the quantile at delta is what is reached so often
        inside, beside = found.readings[0], next(r for r in found.readings if "beside" in r.reading["confidence term"])
        assert float(inside.left) == pytest.approx(float(times * left), rel=1e-15)
        halvings = (1 / delta).numerator.bit_length() - 1
        assert delta == Fraction(1, 2**halvings)
        printed = math.log(samples + halvings * math.log(2) / samples) / samples
        assert printed <= point.constants["sample_complexity"] <= printed * (1 + 1e-4)
        assert float(inside.ratio) == pytest.approx(float(times * left) / printed, rel=1e-4)
        assert inside.refutes and not beside.refutes and beside.failing[0] == "complexity"
        assert halvings > samples  # beside the logarithm A is at least log(1/delta)/n > log(2)


def test_lemma_1_at_fewer_samples_than_dimensions_is_none_of_its_instances() -> None:
    """A of all labellings of 4 points and 2 samples is below 0: without the hypothesis that would refute everything."""
    labels = tuple(tuple(h >> x & 1 for x in range(4)) for h in range(16))
    law = ((Fraction(1, 4), Fraction(0)),) * 4
    constants = {"confidence": Fraction(1, 2), "hidden_constant": Fraction(1), "sample_complexity": Fraction(-1, 10)}
    point = LearningPoint(Pooled(labels, law, law, 1, 1), constants)
    for part in ("frequency", "deficit", "deviation"):
        whole = claim(f"safari.lemma1.{part}")
        literal = judge(Instance(whole.ref, point)).readings[0]
        assert literal.failing == ["samples"] and not literal.refutes
        kept = tuple(h for h in whole.hypotheses if h.name != "samples")
        assert judge(Instance(whole.ref, point), statement=replace(whole, hypotheses=kept)).readings[0].refutes


def test_lemma_1_beside_needs_a_logarithm_of_at_least_1() -> None:
    """At n = d samples log(n/d) = 0: all 4 samples, of 16 points, are in a set of 4 points that the class knows."""
    sets = [c for k in (0, 4) for c in itertools.combinations(range(16), k)][:1821]
    n, points = 4, 16
    left = Fraction(1) - 2 * Fraction(n, points)  # the points that were seen, or more, make up the set
    assert len(sets) == 1821 and float(left) > math.log(2) / n  # A with delta = 1/2 and log(n/d) in place of 1
    assert left < 1 + math.log(2) / n


@pytest.mark.parametrize("samples", [10**3, 10**4, 10**6, 10**8])
def test_lemma_2_falls_for_any_constant(samples: int) -> None:
    """The left side by another route, tails of the binomial law in floating point; and the bound that is derived for
    all numbers of samples, 1/(2 sqrt(n))."""
    ref = "safari.lemma2@main"
    point = FAMILIES[ref].member(claim(ref), samples)
    constants = {"confidence": Fraction(1, 11)}
    left = point.problem.left(CHECKED_EMPIRICAL_GAP, constants)
    excess = left * samples  # zeros less ones
    zeros = (samples + excess) / 2
    assert zeros.denominator == 1
    tails = [math.exp(log_tail(samples, Fraction(1, 2), above=int(zeros) - k)) for k in (0, 1)]
    assert tails[0] <= 1 / 11 < tails[1]
    assert 4 * left**2 * samples > 1 and Fraction(9, 16) / 6 > Fraction(1, 11)  # Paley and Zygmund
    complexity = math.log(11 * samples) / samples
    assert complexity <= point.constants["sample_complexity"] <= complexity * (1 + 1e-4)
    ratio = float(left) / float(point.constants["sample_complexity"])
    assert ratio > 0.999 * math.sqrt(samples) / (2 * math.log(11 * samples))
    assert samples < 10**8 or ratio > 340


def test_stated_constants() -> None:
    assert stated(claim("safari.thm1")) == ("error_level",)
    assert stated(claim("safari.thm3@massart")) == ("confidence", "noise_constant", "noise_exponent")


def bad(statement: str, **changes) -> str:
    data = {"claim": claim(statement).ref, **construct("safari.thm2@main").instance.point.to_json()}
    data["problem"] |= changes
    with pytest.raises(ValueError) as caught:
        parse(data, claim(statement))
    return str(caught.value)


def test_bad_files() -> None:
    ref = "safari.thm2@main"
    assert "joint sums to 1/2" in bad(ref, target=[["1/2", "0"], ["0", "0"]])
    assert "probabilities >= 0" in bad(ref, target=[["3/2", "0"], ["-1/2", "0"]])
    assert "is there twice" in bad(ref, labels=[[0, 0], [0, 0]])
    assert "at least two hypotheses" in bad(ref, labels=[[0, 0]])
    assert "labels: allowed is a list of lists" in bad(ref, labels=[0])
    assert "hypothesis = 2" in bad(ref, hypothesis=2)
    assert "server_samples, client_samples = 0" in bad(ref, server_samples=0)
    assert "tables of counts: allowed is at most" in bad(ref, server_samples=10**10)
    assert "kind = 'circles': allowed is 'two points'" in bad(ref, kind="circles")
    assert "such a problem has no negated_failure" in bad("safari.thm1")
    with pytest.raises(ValueError, match=r"capacity = 2/2"):
        LearningPoint(Hiding(2, 2, 1, Fraction(1, 2)), {"error_level": Fraction(1, 2)}).check(claim("safari.thm1"))
    with pytest.raises(ValueError, match="allowed is at most 5000"):
        LearningPoint(Hiding(5001, 2, 1, Fraction(1, 2)), {"error_level": Fraction(1, 2)}).check(claim("safari.thm1"))
    for source, best, what in (((0, 2), 1, "allowed is an interval in target"), ((0, 1), 2, r"best = 2")):
        point = Thresholds((Fraction(0), Fraction(1)), tuple(map(Fraction, source)), Fraction(best), Fraction(0))
        with pytest.raises(ValueError, match=what):
            point.check()
    assert math.isclose(float(construct(ref).readings[0].left), 0.5)
