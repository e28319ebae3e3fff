"""What makes up a claim is checked where it is made; what it binds holds in every use of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from sympy import Ge, Le

from fedtheory.algorithms import fast
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term, algorithm_of, may_speak_of
from fedtheory.evidence.search import search
from fedtheory.federations import Quadratic
from fedtheory.functionals import AVERAGE_SQUARED_WEIGHTED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.papers import PaperError, claim, load
from fedtheory.papers.registry import subject_of
from fedtheory.participation import Fixed
from fedtheory.quantities import symbols
from fedtheory.setting import Setting
from fedtheory.subjects.kinked_search import KinkedCandidate

K, L, eta, q, m, M, distance = symbols(
    "local_steps", "smoothness", "local_lr", "snapshot_probability", "cohort", "clients", "initial_distance"
)


def made(**changes) -> Claim:
    parts = {"id": "mine.thm1", "title": "", "source": "", "functional": FINAL_SQUARED_DISTANCE,
             "terms": (Term("initial", distance**2),)}  # fmt: skip
    return Claim(**parts | changes)


x = sympy.Symbol("kappa")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terms": (Term("drift", x * eta),)}, r"term 'drift': no quantity is named 'kappa': .*symbols makes their"),
        ({"terms": (Term("drift", sympy.Symbol("local_lr")),)}, r"term 'drift': local_lr is a symbol of another makin"),
        ({"terms": (("drift", eta),)}, r"terms\[0\] = \('drift', local_lr\): allowed is a Term\(name, expression\)"),
        ({"terms": Term("drift", eta)}, r"terms = Term.*: allowed is a tuple of Term\(name, expression\)"),
        ({"terms": (Term("drift", 2.5),)}, r"term 'drift' = 2.5: allowed is a sympy expression"),
        ({"hypotheses": (Le(eta, 1 / L),)}, r"hypotheses\[0\] = .*: allowed is a Hypothesis\(name, relation"),
        ({"assumptions": ("smooth",)}, r"assumptions\[0\] = 'smooth': allowed is a Assumption\(name, quantity"),
        ({"choices": {"local_lr": x}}, r"choice of local_lr: no quantity is named 'kappa'"),
        ({"rates": (Term("rate", x),)}, r"term 'rate': no quantity is named 'kappa'"),
        ({"bound": {"cohrt": 1}}, r"unknown quantity 'cohrt': did you mean 'cohort'"),
        ({"bound": {"cohort": Fraction(1, 2)}}, r"cohort = 1/2: allowed is an integer >= 1"),
        ({"bound": {"cohort": x}}, r"bound cohort: no quantity is named 'kappa'"),
        ({"bound": {"cohort": "m"}}, r"bound: cohort = 'm': allowed is an integer >= 1, or an expression of others"),
        ({"bound": {"cohort": m}}, r"bound: cohort = cohort: allowed is an integer >= 1, or an expression of others"),
        ({"bound": ["clients"]}, r"bound = \['clients'\]: allowed is a dict of values by quantity, such as"),
        (
            {"bound": {"local_lr": 1}},
            r"bound: local_lr is a step size or chosen: allowed in `choices`, or in hypotheses, Le\(",
        ),
        ({"algorithm": 3}, r"algorithm = 3: allowed is a name"),
        ({"id": 3}, r"id is 3: allowed is a text"),
        ({"title": None}, r"title is None: allowed is a text"),
        (
            {"algorithm": "local_sgd", "terms": (Term("a", 1 / q),)},
            r"'local_sgd': snapshot_probability is .* of fast alone",
        ),
        (
            {"algorithm": "fast", "functional": AVERAGE_SQUARED_WEIGHTED_GRADIENT},
            r"algorithm = 'fast': average_squared_weighted_gradient speaks of fedau alone",
        ),
    ],
)
def test_what_is_no_claim_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        made(**changes)


@pytest.mark.parametrize("relation", [True, sympy.true, Le(1, 2), Ge(1, 2), sympy.Eq(eta, L), sympy.Lt(eta, L), eta])
def test_a_relation_that_is_no_condition_is_refused(relation):
    with pytest.raises(ValueError, match=r"hypothesis 'cap': .*allowed is Le\(a, b\) or Ge\(a, b\) with a quantity"):
        Hypothesis("cap", relation, "")
    with pytest.raises(ValueError, match="hypothesis 'cap'"):
        Hypothesis("cap", Le(eta, L), "", alternatives={"other": relation})


def test_what_is_wrong_in_a_file_is_told_with_its_line(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import sympy\nfrom fedtheory.claims.statement import *\nfrom fedtheory.functionals import *\n\n"
        "CLAIM = Claim(id='mine.thm1', title='', source='', functional=FINAL_SQUARED_DISTANCE,\n"
        "              terms=(Term('a', sympy.Symbol('kappa')),))\n"
    )
    with pytest.raises(PaperError, match=r"mine\.py, line 5: ValueError: term 'a': no quantity is named 'kappa'"):
        load(path)


# What a claim binds -----------------------------------------------------------------------------------------------


def test_what_is_bound_makes_hypotheses_but_for_what_the_vocabulary_says():
    bound = made(bound={"snapshot_probability": 1, "local_steps": 1, "cohort": M, "clients": 3})
    assert [(h.name, h.relation) for h in bound.hypotheses] == [
        ("snapshot_probability_at_least", Ge(q, 1)), ("local_steps_at_most", Le(K, 1)),
        ("cohort_at_most", Le(m, M)), ("cohort_at_least", Ge(m, M)),
        ("clients_at_most", Le(M, 3)), ("clients_at_least", Ge(M, 3)),
    ]  # fmt: skip
    assert {"snapshot_probability", "local_steps", "cohort", "clients"} <= set(bound.quantities)
    cap = Hypothesis("cap", Le(eta, 1 / L), "")
    other = replace(bound, bound={"local_steps": 2}, hypotheses=(*bound.hypotheses, cap))
    assert [h.name for h in other.hypotheses] == ["cap", "local_steps_at_most", "local_steps_at_least"]
    assert replace(bound, bound={}).hypotheses == ()
    assert bound.edited("other", "").hypotheses == bound.hypotheses


def test_what_is_bound_close_to_an_end_is_not_the_end():
    almost = 1 - sympy.Rational(1, 10**20)
    bound = made(bound={"snapshot_probability": almost})
    assert [h.relation for h in bound.hypotheses] == [Le(q, almost), Ge(q, almost)]


def test_evaluation_takes_what_is_bound_and_checks_what_is_given():
    bound = made(bound={"cohort": M, "local_steps": 2, "clients": 3}, terms=(Term("a", eta / m), Term("b", K * eta)))
    taken = bound.evaluate(local_lr=0.3)
    assert float(taken.terms["a"]) == pytest.approx(0.1) and float(taken.terms["b"]) == 0.6
    assert taken.hypotheses_hold and dict(taken.quantities)["clients"] == 3
    given = bound.evaluate(local_lr=0.3, cohort=2, clients=3)
    assert float(given.slack["cohort_at_least"]) == -1 and given.hypotheses_hold is False
    with pytest.raises(ValueError, match="needs local_lr"):
        bound.evaluate(cohort=1)


def test_a_setting_is_checked_against_what_is_bound():
    bound = made(bound={"snapshot_probability": 1, "local_steps": 2})
    federation = Quadratic.common_hessian([1, -1])

    def at(**parameters):
        algorithm = fast(cohort=2, local_lr="1/10", **parameters)
        return bound.at(Setting(federation, algorithm, Fixed([0]), start=1), rounds=3)

    assert at(snapshot_probability=1, local_steps=2).hypotheses_hold
    assert not at(snapshot_probability="1/2", local_steps=2).hypotheses_hold
    assert not at(snapshot_probability=1, local_steps=3).hypotheses_hold
    alone = made(bound={"client_round_probability": 1}, terms=(Term("a", distance**2),))
    found = alone.at(Setting(federation, fast(cohort=2, local_lr=1, snapshot_probability=1), Fixed([0]), start=1))
    assert found.provenance["client_round_probability"] == "bound to 1"


def test_only_the_runs_that_are_bound_are_drawn():
    plain = claim("fast.thm2@corrected")
    bound = replace(plain, bound={"snapshot_probability": 1, "local_steps": 5, "cohort": M})
    space, rng = subject_of(bound).space(bound), np.random.default_rng(0)
    drawn = [*space.structured(), *(space.draw(rng) for _ in range(60))]
    drawn += [space.perturb(c, rng, 1.0) for c in drawn]
    assert {c.local_steps for c in drawn} == {5} and len({c.cohort for c in drawn}) == 1
    found = [f for c in drawn for f in space.assess(c) or () if f is not None]
    assert len(found) > 50 and all(f.quantities["snapshot_probability"] == 1 for f in found)
    assert all(f.quantities["cohort"] == f.quantities["clients"] for f in found if "clients" in f.quantities)


def test_local_sgd_is_drawn_with_different_data_unless_a_claim_says_otherwise():
    same = claim("khaled2020.thm1")
    any_data = replace(same, hypotheses=tuple(h for h in same.hypotheses if h.name != "identical_data"))
    differing = replace(any_data, assumptions=any_data.assumptions[:3])
    kinds = {}
    for name, statement in {"same": same, "any": any_data, "differing": differing}.items():
        space, rng = subject_of(statement).space(statement), np.random.default_rng(0)
        drawn = [space.draw(rng) for _ in range(40)]
        beyond = [c for c in drawn if isinstance(c, KinkedCandidate)]
        assert beyond and all(len(c.multiplicities) == 1 and c.offset == 0 for c in beyond)  # identical data
        drawn = [c for c in drawn if c not in beyond]
        kinds[name] = (any(c.spread for c in drawn), any(c.mixed for c in drawn))
        assert ("identical and different data" in space.searched) == kinds[name][0]
        assert ("common and different Hessians" in space.searched) == kinds[name][1]
    assert kinds == {"same": (False, False), "any": (True, False), "differing": (True, True)}
    steps = replace(differing, bound={"local_steps": 3})
    space = subject_of(steps).space(steps)
    drawn = [space.draw(np.random.default_rng(s)) for s in range(9)]
    assert {type(c) for c in drawn} > {KinkedCandidate} and {c.local_steps for c in drawn} == {3}
    assert " 3 local" in space.searched and "100 local" not in space.searched


# Whose runs -------------------------------------------------------------------------------------------------------


def test_the_algorithm_that_a_claim_names_comes_first():
    plain = claim("fast.eq28")
    assert algorithm_of(plain) is None and algorithm_of(replace(plain, algorithm="local_sgd"), "fast") == "local_sgd"
    named = replace(plain, algorithm="local_sgd")
    assert may_speak_of(named, "local_sgd") and not may_speak_of(named, "fast") and may_speak_of(plain, "fast")
    assert subject_of(replace(named, functional=FINAL_SQUARED_DISTANCE)).name == "local_sgd"
    for statement in (plain, claim("fast.lemma1"), made()):
        with pytest.raises(ValueError, match=r"algorithm = 'slow' of .*: no paper (draws its runs|is about it): "):
            subject_of(replace(statement, algorithm="slow"))


def test_an_instance_of_another_algorithm_is_none():
    true = claim("khaled2020.thm1")
    loose = replace(true, hypotheses=tuple(h for h in true.hypotheses if h.name != "everyone"))
    found = search(replace(loose, id="mine.thm1"), 30, 1, 2).best
    named = replace(loose, id="mine.thm1", algorithm="local_sgd")
    point = next(subject_of(replace(named, algorithm="")).space(replace(named, algorithm="")).rounded(found, 6))
    point.check(replace(named, algorithm=""))
    with pytest.raises(ValueError, match="is not about fast"):
        point.check(named)


@pytest.mark.parametrize("kind", ["uncorrelated_noise", "smooth"])
def test_an_assumption_has_the_quantity_of_its_kind(kind: str) -> None:
    """Else it is made by the name of one kind, and checked as a bound of another."""
    with pytest.raises(ValueError, match=f"quantity = 'gradient_noise' of {kind}, allowed is (none|'smoothness')"):
        Assumption("mine", "gradient_noise", "", kind=kind)


def test_an_assumption_on_a_quantity_is_of_a_known_kind() -> None:
    """Else a claim would be taken to assume what nobody knows, and not that the quantity is bounded."""
    with pytest.raises(ValueError, match="kind = 'uncorelated_noise', did you mean 'uncorrelated_noise'"):
        Assumption("mine", "gradient_noise", kind="uncorelated_noise")


def test_an_assumption_bounds_as_its_kind_does() -> None:
    """Else strong convexity, bounded from above by who forgets to say so, refutes a claim by functions that are more
    convex than it says."""
    assert Assumption("mine", "strong_convexity").from_below and not Assumption("mine", "smoothness").from_below
    turned = Assumption("mine", "strong_convexity", from_below=False)
    assert not turned.from_below and turned.meaning == "strong_convexity bounds the federation's own from above"


@pytest.mark.parametrize("where", ["terms", "hypotheses", "choices"])
def test_floats_are_refused_with_the_rational_that_is_meant(where: str) -> None:
    """0.9 is no number that exact arithmetic has: not in a term, a hypothesis or a choice."""
    this, eta = claim("fast.eq29"), symbols("local_lr")[0]
    changes = {
        "terms": (Term("noise", 0.9 * eta),), "hypotheses": (Hypothesis("cap", sympy.Le(0.9 * eta, 1), "here"),),
        "choices": {"local_lr": 0.9 / symbols("smoothness")[0]},
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"0\.9 is a float, .* sympy\.Rational\(9, 10\)"):
        replace(this, **{where: changes[where]})
