"""Lemma 1 display by display, Remark 2, and the bounds by the dimension of a class."""

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
from fedtheory.functionals import DISAGREEMENT_DEFICIT, PAIR_DEVIATION, POOLED_SOURCE_EXCESS
from fedtheory.learning.risk_bounds import theorem_2_vc, theorem_3_vc, vc_complexity
from fedtheory.learning.tails import log_tail
from fedtheory.papers import claim
from fedtheory.papers.proofs import prove
from fedtheory.papers.safari.examples.learning_problems import Pooled
from fedtheory.papers.safari.examples.learning_search import LearningProblems
from fedtheory.subjects.protocol import Instance

HALF = Fraction(1, 2)


def problems(count: int) -> list[Pooled]:
    """Small ones, in some of which the server's samples are of another law."""
    rng, space, found = np.random.default_rng(5), LearningProblems(claim("safari.lemma1.deviation")), []
    while len(found) < count:
        problem = space.draw(rng).problem
        if problem.server_samples + problem.client_samples <= 5 and len(problem.target) <= 2:
            found.append(problem)
    assert any(p.server is not None and p.server != p.target for p in found)
    return found


def samples(problem: Pooled):
    atoms = [(x, y) for x in range(len(problem.target)) for y in (0, 1)]
    n, m = problem.server_samples, problem.client_samples
    first = problem.server or problem.target
    for drawn in itertools.product(atoms, repeat=n + m):
        weight = Fraction(1)
        for i, (x, y) in enumerate(drawn):
            weight *= (first if i < n else problem.clients)[x][y]
        if weight:
            yield drawn, weight


def least_enough(gap: Fraction, differing: Fraction) -> float:
    """The least x >= 0 with gap <= sqrt(differing x) + x, by bisection."""
    low, high = 0.0, 2.0
    if gap <= 0:
        return 0.0
    for _ in range(80):
        x = (low + high) / 2
        low, high = (low, x) if float(gap) <= math.sqrt(float(differing) * x) + x else (x, high)
    return high


def quantile(law: dict, delta: Fraction):
    return min(v for v in law if sum(p for w, p in law.items() if w > v) <= delta)


@pytest.mark.parametrize("delta", [HALF, Fraction(1, 7)])
def test_functionals_of_lemma_1_literally(delta: Fraction) -> None:
    for problem in problems(10):
        labels, total = problem.labels, problem.server_samples + problem.client_samples
        q = problem.q.joint
        risks = [sum(q[x, y] for x in range(len(q)) for y in (0, 1) if row[x] != y) for row in labels]
        deviations, deficits, excesses = {}, {}, {}
        for drawn, weight in samples(problem):
            errors = [sum(row[x] != y for x, y in drawn) for row in labels]
            worst, deficit = 0.0, Fraction(0)
            for h, g in itertools.permutations(range(len(labels)), 2):
                differing = sum(q[x].sum() for x in range(len(q)) if labels[h][x] != labels[g][x])
                seen = Fraction(sum(labels[h][x] != labels[g][x] for x, _ in drawn), total)
                gap = risks[h] - risks[g] - Fraction(errors[h] - errors[g], total)
                worst = max(worst, least_enough(gap, min(differing, seen)))
                deficit = max(deficit, differing / 2 - seen)
            excess = max(r for r, e in zip(risks, errors, strict=True) if e == min(errors)) - min(risks)
            for law, value in ((deviations, round(worst, 12)), (deficits, deficit), (excesses, excess)):
                law[value] = law.get(value, Fraction(0)) + weight
        constants = {"confidence": delta}
        assert float(problem.left(PAIR_DEVIATION, constants)) == pytest.approx(quantile(deviations, delta), abs=1e-9)
        assert problem.left(DISAGREEMENT_DEFICIT, constants) == quantile(deficits, delta)
        assert problem.left(POOLED_SOURCE_EXCESS, constants) == quantile(excesses, delta)


@pytest.mark.parametrize(
    ("ref", "term", "factor"),
    [("safari.lemma1.deviation@corrected", "complexity", Rational(9, 10)),
     ("safari.lemma1.deficit@corrected", "complexity", Rational(9, 10)),
     ("safari.lemma1.excess@corrected", "rate", Rational(9, 10)), ("safari.thm2@vc", "source", Rational(9, 10)),
     ("safari.thm3@vc", "best", Rational(9, 10)), ("safari.ex1@within", "related", Rational(9, 10)),
     ("safari.thm2@main", "second", Rational(9, 10)), ("safari.rem2.thm2@corrected", "source", Rational(9, 10))],
)  # fmt: skip
def test_a_smaller_bound_loses_its_proof(ref: str, term: str, factor: Rational) -> None:
    whole = claim(ref)
    less = whole.edited("less", "mutated", terms={term: factor * whole.term(term).expression})
    assert prove(less).outcome != "proved"


def test_theorems_2_and_3_with_a_constant_of_the_problem() -> None:
    """Proved if the constant is large enough, and not for a smaller one or without a condition."""
    for ref in ("safari.thm2@main", "safari.thm3@main", "safari.rem2.thm2@main"):
        whole = claim(ref)
        chain = prove(whole)
        assert chain.outcome == "proved"
        constant = whole.hypothesis("constant")
        (option, relation), *_ = constant.alternatives.items()
        smaller = replace(constant, alternatives={option: relation.func(2 * relation.lhs, relation.rhs)})
        others = tuple(h for h in whole.hypotheses if h.name != "constant")
        assert prove(replace(whole, hypotheses=(smaller, *others))).outcome != "proved"
        assert prove(replace(whole, hypotheses=(constant, *others[:-1]))).outcome != "proved"


def test_theorem_3_takes_samples_of_the_target() -> None:
    whole = claim("safari.thm3@corrected")
    without = replace(whole, assumptions=tuple(a for a in whole.assumptions if a.kind != "server_of_target"))
    assert prove(without).outcome != "proved"
    assert prove(claim("safari.rem2.thm2@corrected")).outcome == "proved"


def test_remark_2_fails_for_theorem_3() -> None:
    found = construct("safari.rem2.thm3")
    assert found.refutes and len(found.readings) == 2
    point = found.instance.point
    small = replace(point.problem, server_samples=10**8, _kept={})  # then the bound is above p = 1/(2 10^6)
    assert not judge(Instance("safari.rem2.thm3@main", replace(point, problem=small))).refutes
    unrelated = replace(point, constants=point.constants | {"relatedness": Fraction(999, 1000)})
    assert "assumption_2" in judge(Instance("safari.rem2.thm3@main", unrelated)).readings[0].failing
    stated = {name: v for name, v in point.constants.items() if not name.startswith("relatedness")}
    of_theorem_3 = judge(Instance("safari.thm3@main", replace(point, constants=stated)))
    assert "server_of_target" in of_theorem_3.readings[0].failing


def test_a_server_of_another_law_in_files() -> None:
    data = {"claim": "safari.rem2.thm3@main", **construct("safari.rem2.thm3").instance.point.to_json()}
    again = parse(json.loads(json.dumps(data)), claim("safari.rem2.thm3"))
    assert again.point == construct("safari.rem2.thm3").instance.point
    data["problem"]["server"] = [["1/2", "0"], ["0", "0"]]
    with pytest.raises(ValueError, match="joint sums to 1/2"):
        parse(data, claim("safari.rem2.thm3"))
    data["problem"]["server"] = [["1", "0"]]
    with pytest.raises(ValueError, match="points"):
        parse(data, claim("safari.rem2.thm3"))


def test_bounds_by_the_dimension_are_never_below() -> None:
    """A coin with a bias of 0.3/sqrt(n) is read wrongly with probability above 1/5, and then the excess risk is twice
    the bias: the bounds hold, and say something; of what they allow half a percent is reached at least."""
    delta = Fraction(1, 5)
    for n in (30_001, 10**6 + 1):
        bias = Fraction(3, 10 * math.isqrt(n))
        assert math.exp(log_tail(n, HALF - bias, above=n // 2)) > delta
        for bound in (theorem_2_vc(0, 1, 1, 0, 1, n, delta), theorem_3_vc(0, 1, 0, vc_complexity(1, n, delta))):
            assert 2 * bias <= bound < 1 and 2 * bias > bound / 200


def test_the_complexity_of_a_dimension() -> None:
    n, d, delta = 50, 3, Fraction(1, 10)
    growth = sum(math.comb(2 * n, k) for k in range(d + 1))  # labellings of 2n points, at most
    assert (math.log(growth) + math.log(4 / delta)) / n <= vc_complexity(d, n, delta) < 0.7
    assert vc_complexity(200, 3, HALF) >= 200 / 3
    for bad in (lambda: vc_complexity(0, 1, HALF), lambda: vc_complexity(1, 0, HALF), lambda: vc_complexity(1, 1, 0)):
        with pytest.raises(ValueError, match="allowed is"):
            bad()


def test_what_a_thousand_server_samples_each_improve_by_hand() -> None:
    """sqrt(1001 n) >= n, the first rate's improvement at beta = 1/2, holds up to n = 1001 and no further."""
    from fedtheory.papers.proofs import library

    (check,) = library().step("learn.improvement").checks
    (n,) = check.expression.free_symbols
    assert [check.expression.subs(n, k) for k in (1, 1000, 1001, 1002)] == [1000, 1000, 0, -1002]
