"""Contradictions are shown, compatibility is witnessed exactly, and conditions that exclude convergence are found."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from sympy import Ge, Le, Rational

from fedtheory.claims.evaluation import compiled
from fedtheory.claims.statement import Claim, Hypothesis
from fedtheory.evidence.consistency import (
    KINDS,
    SLIVER,
    check_consistency,
    limiting_slack,
    needs_small_steps,
    q_map,
)
from fedtheory.papers import all_claims, claim
from fedtheory.proof import compatibility as deciding
from fedtheory.proof import smt
from fedtheory.proof.compatibility import compatibility, reverify, slacks, strict
from fedtheory.proof.positivity import Certificate, prove
from fedtheory.proof.symbol_regions import count, nonnegative, positive, region
from fedtheory.quantities import DIMENSIONLESS, QUANTITIES, Quantity, symbol, symbols
from tests.loops import looped

L, mu, K, eta, q, G = symbols(
    "smoothness", "strong_convexity", "local_steps", "local_lr", "snapshot_probability", "dissimilarity"
)
FREE = dict(smoothness=1, local_steps=1, cohort=1, arbitrary_cohort=1)


def planted(ref: str, *relations: sympy.Rel) -> Claim:
    """A claim with further hypotheses."""
    original = claim(ref)
    extra = tuple(Hypothesis(f"planted_{i}", relation, "planted") for i, relation in enumerate(relations))
    return replace(original, edition="planted", hypotheses=(*original.hypotheses, *extra))


def names(statement: Claim) -> list[str]:
    return [finding.name for finding in check_consistency(statement)]


# Compatible -----------------------------------------------------------------------------------------------------------


@looped("statement", all_claims(), ids=lambda c: c.ref, quick=60)
def test_the_papers_hypotheses_can_be_met_and_the_witness_says_how(statement):
    found = compatibility(statement)
    assert found.state == "compatible" and set(found.slack) == {h.name for h in statement.hypotheses}
    point = {name: Fraction(text) for name, text in found.witness.items()}
    # Second route: the float evaluation of the claim itself, which checks the bounds too. Rounding of a slack that is
    # exactly 0 allows 1e-12.
    bound = statement.evaluate(**{name: float(value) for name, value in point.items()})
    assert all(float(slack) >= -1e-12 for slack in bound.slack.values())
    with_reading = tuple(h.under(found.reading) for h in statement.hypotheses)
    assert all(value >= 0 for value in slacks(statement, with_reading, point).values())


def test_a_step_at_the_very_cap_is_compatible():
    found = compatibility(planted("fast.thm2", Ge(eta, 1 / (20 * L * K))))
    assert found.state == "compatible"
    values = {name: Fraction(text) for name, text in found.witness.items()}
    assert values["local_lr"] * 20 * values["smoothness"] * values["local_steps"] == 1
    assert found.slack["planted_2" if "planted_2" in found.slack else "planted_0"] == "0"


def test_a_reading_that_can_be_met_is_named():
    """The literal words cannot be met, another reading of them can."""
    below, above = Ge(eta, 1 / (40 * L * K)), Ge(eta, 1 / (4 * L * K))
    odd = Hypothesis("odd", above, "planted", alternatives={"product": below})
    original = claim("fast.thm1")
    statement = replace(original, hypotheses=(original.hypotheses[0], odd))
    found = compatibility(statement)
    assert found.state == "compatible" and found.reading == {"q-condition": "product"}


# Contradictory --------------------------------------------------------------------------------------------------------

CONTRADICTIONS = {
    "a step below and above its cap": ("fast.thm2", (Ge(eta, 1 / (4 * L * K)),)),
    "strong convexity above smoothness": ("fast.lemma2", (Ge(mu, 2 * L),)),
    "a sum of squares below a product": ("fast.lemma2", (Le(mu**2 + L**2, mu * L / 2),)),
    "another argument of a minimum": ("fast.thm1", (Ge(eta, 1 / (7 * L * K)),)),
    "two planted ones": ("fast.lemma1", (Le(L, 1), Ge(L, 2))),
    "no round at all": ("fast.eq13", (Ge(symbols("rounds")[0], 2),)),
}


@pytest.mark.parametrize("ref, relations", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_planted_contradiction_is_found_with_a_certificate(ref, relations):
    statement = planted(ref, *relations)
    found = compatibility(statement)
    assert found.state == "contradictory" and not found.witness
    assert all(reverify(statement, proof) for proof in found.proofs)
    assert names(statement) == ["contradictory"]
    finding = check_consistency(statement)[0]
    assert json.loads(json.dumps(finding.evidence)) == finding.evidence
    # The certificate is about these hypotheses, not about others.
    assert not any(reverify(claim(ref), proof) for proof in found.proofs)


def test_a_contradiction_without_a_certificate_is_the_solvers():
    """thm2@appendix asks q >= 255/256, by a maximum inside the region, which no certificate without cases shows."""
    statement = planted("fast.thm2@appendix", Le(q, Rational(1, 2)))
    found = compatibility(statement)
    z3 = pytest.importorskip("z3")
    assert found.state == "contradictory"
    solver = z3.Solver()
    solver.from_string(found.proofs[0]["system"])
    assert solver.check() == z3.unsat


@pytest.mark.slow
def test_the_solver_does_not_rule_out_what_can_be():
    """q = 255/256 is attained at one step size alone: a witness is not found, and no contradiction either."""
    assert compatibility(planted("fast.thm2@appendix", Le(q, Rational(255, 256)))).state != "contradictory"


@pytest.mark.parametrize("trouble", ["missing", "failing", "giving up", "not asked"])
def test_a_solver_in_trouble_decides_nothing(monkeypatch, trouble):
    z3 = pytest.importorskip("z3")
    statement = planted("fast.lemma1", Le(L, 1), Ge(L, 2))
    monkeypatch.setattr(deciding, "certificate", lambda claim, hypotheses: None)
    found = compatibility(statement)
    assert found.state == "contradictory" and found.proofs[0]["solver"].startswith("z3")
    if trouble == "missing":
        monkeypatch.setitem(sys.modules, "z3", None)
    elif trouble == "failing":

        def fail(self):
            raise z3.Z3Exception("out of memory")

        monkeypatch.setattr(z3.Solver, "check", fail)
    elif trouble == "giving up":
        monkeypatch.setattr(z3.Solver, "check", lambda self: z3.unknown)
    else:
        monkeypatch.setattr(deciding, "_solved", lambda claim, hypotheses: None)
    deciding.kept_compatibility.cache_clear()
    found = compatibility(statement)
    assert found.state == "unknown" and not found.proofs
    assert [finding.name for finding in check_consistency(statement)] == ["undecided"]
    deciding.kept_compatibility.cache_clear()


def test_a_solver_out_of_steps_decides_nothing(monkeypatch):
    pytest.importorskip("z3")
    statement = planted("fast.thm2@appendix", Le(q, Rational(1, 2)))
    monkeypatch.setattr(deciding, "certificate", lambda claim, hypotheses: None)
    monkeypatch.setattr(smt, "SOLVER_STEPS", 10)
    assert compatibility(statement).state == "unknown"


y = symbols("objective_decrease")[0]
AT_ZERO = {
    "from above, positive": ((Le(G, 0), Ge(1 / G, 1)), "compatible"),
    "from above, of either sign": ((Le(G, 0), Ge((L - 1) / G, 1)), "compatible"),
    "from above, negative": ((Le(G, 0), Ge(-1 / G, 1)), "unknown"),
    "of either sign, no limit": ((Le(y**2, 0), Ge(1 / y, 1)), "contradictory"),
}


@pytest.mark.parametrize("relations, state", AT_ZERO.values(), ids=AT_ZERO)
def test_what_divides_by_zero_is_met_where_its_limit_says_so(relations, state):
    """A quotient whose denominator vanishes from above is judged by its limit, here as in ``Claim.evaluate``."""
    statement = planted("fast.lemma1", *relations)
    found = compatibility(statement)
    assert found.state == state
    if state == "compatible":
        assert found.witness["dissimilarity"] == "0" and found.slack["planted_1"] == "inf"
        assert statement.evaluate(**{n: float(Fraction(v)) for n, v in found.witness.items()}).hypotheses_hold


def test_theorem_2_can_be_met_without_dissimilarity():
    found = compatibility(planted("fast.thm2@main", Le(G, 0)))
    assert found.state == "compatible" and found.slack["q_condition"] == "inf"


CLOSE = Ge(L, Rational("7.123")), Le(L, Rational("7.1231"))
"""Relations that no short number meets, so that a certificate is asked for first."""


def stated(*relations: sympy.Rel, **choices: sympy.Expr) -> Claim:
    """A claim with these hypotheses alone."""
    of = tuple(Hypothesis(f"h{i}", relation, "stated") for i, relation in enumerate(relations))
    return replace(claim("fast.thm2"), edition="stated", hypotheses=of, choices=choices, bound={})


def test_a_cap_that_is_infinite_rules_nothing_out():
    """Without dissimilarity any step is below the cap."""
    assert compatibility(stated(Le(eta, 1 / G), Le(eta * G, 0), *CLOSE)).state != "contradictory"


OWN = {
    "whole, from 0": (Quantity("own_late", "clients that are late", DIMENSIONLESS, integer=True), 0, 0),
    "from -1/2": (Quantity("own_excess", "an excess", DIMENSIONLESS, lower=-0.5), 0, Rational(-1, 4)),
    "from -1 to 1": (Quantity("own_share", "a share, signed", DIMENSIONLESS, lower=-1, upper=1), 0, Rational(-1, 2)),
    "any": (Quantity("own_decrease", "a decrease", DIMENSIONLESS, lower=-np.inf), -1, -2),
}


@pytest.mark.parametrize(("own", "cap", "product"), OWN.values(), ids=OWN)
def test_quantities_of_ones_own_may_have_all_values_that_they_are_said_to(monkeypatch, own, cap, product):
    monkeypatch.setitem(QUANTITIES, own.name, own)
    x = symbol(own.name)
    asked = stated(Le(x, cap), Le(L * x, L * product), *CLOSE)
    assert compatibility(asked).state != "contradictory"


BARELY = 1 + Rational(1, 10**20)
TOO_LARGE = {
    "a pair": ((Le(mu, L * BARELY), Ge(mu, L * BARELY)), {}),
    "a whole number": ((Le(K, BARELY), Ge(K, BARELY)), {}),
    "a probability": ((Le(q, BARELY), Ge(q, BARELY)), {}),
    "an infinite choice": ((Le(G, 0), Ge(L, 1)), {"local_steps": 1 / G}),
    "a choice": ((Ge(L, 1),), {"snapshot_probability": Rational(5)}),
    "a chosen pair": ((Ge(L, 1),), {"strong_convexity": sympy.sqrt(2) * L}),
    "a choice that is no whole number": ((Ge(L, 1),), {"local_steps": sympy.sqrt(2)}),
}


@pytest.mark.parametrize(("relations", "choices"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_values_that_are_not_allowed_are_no_witness(relations, choices):
    """However close they are to what is."""
    assert compatibility(stated(*relations, **choices)).state != "compatible"


def test_of_powers_that_are_too_large_nothing_is_decided():
    assert compatibility(stated(Le(L, 1), Ge(L**101, 2))).state == "unknown"


def test_an_equality_on_the_edge_is_no_contradiction():
    """x >= 0 shown for a slack is not x > 0: -slack = 0 on the edge leaves the hypothesis met there."""
    assert compatibility(planted("fast.lemma1", Le(L, 1), Ge(L, 1))).state == "compatible"
    x, k = sympy.symbols("x k")
    assert strict(prove(x, region(positive("x")))) and not strict(prove(x, region(nonnegative("x"))))
    assert not strict(prove(k - 1, region(count("k")))) and strict(prove(k, region(count("k"))))


def test_a_tampered_certificate_is_refused():
    statement = planted("fast.thm2", Ge(eta, 1 / (4 * L * K)))
    proof = dict(compatibility(statement).proofs[0])
    data = json.loads(proof["certificate"])
    data["numerator"]["terms"][0][1] = "7"
    assert not reverify(statement, proof | {"certificate": json.dumps(data)})
    assert not reverify(statement, proof | {"fails": "q_condition"})


# Convergence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", ["fast.thm2@main", "fast.thm2@appendix", "fast.cor3@main"])
def test_the_q_condition_of_theorem_2_excludes_convergence(ref):
    statement = claim(ref)
    finding = next(f for f in check_consistency(statement) if f.name == "excludes_convergence")
    assert finding.evidence["limit"] == "snapshot_probability - 1"
    rows = finding.evidence["least_probability"]["rows"]
    for step, least in rows:
        # By hand, all quantities 1: 1 - q <= (eta - 16 eta^2)/4.
        step = Fraction(step)
        assert Fraction(least) == 1 - (step - 16 * step**2) / 4
    assert len(rows) == 5 and json.dumps(finding.evidence)


def test_a_condition_that_leaves_room_is_no_finding():
    room = claim("fast.thm2").edited("room", "", hypotheses={"q_condition": Ge(q, Rational(1, 2) + eta * L)})
    assert names(room) == []
    assert limiting_slack(room.hypothesis("q_condition"), {"local_lr": 0}) == q - Rational(1, 2)


def test_a_bound_that_does_not_need_small_steps_is_no_finding():
    """Without the terms that grow with the step, for infinitely many rounds the bound is 0 at any step."""
    original = claim("fast.thm2")
    bare = replace(original, terms=original.terms[:1])
    assert needs_small_steps(original) and needs_small_steps(bare) is None
    assert "excludes_convergence" not in names(bare)
    # A floor that fades with 1 - q does not need small steps either.
    fading = replace(original, terms=original.terms[:2])
    assert needs_small_steps(fading) is None
    assert needs_small_steps(claim("fast.thm1@corrected")) is not None


def test_theorem_1s_condition_asks_for_every_round_at_the_optimum():
    for ref in ("fast.thm1@main", "fast.thm1@appendix", "fast.cor1@main"):
        assert names(claim(ref)) == ["asks_for_every_round_at_the_optimum"]
    condition = claim("fast.thm1").hypothesis("q_condition")
    zero = {"peak_full_pseudogradient": 0, "peak_cohort_pseudogradient": 0}
    # Second route: numbers. With G_1 = G_3 = 0 the quotient is 1 whatever the rest is.
    values = dict(smoothness=2.0, local_steps=3.0, local_lr=0.01, dissimilarity=0.7, peak_arbitrary_pseudogradient=0.4,
                  snapshot_probability=0.25)  # fmt: skip
    slack = compiled(condition.slack)
    assert slack(values | zero) == pytest.approx(-0.75, abs=1e-12)
    # With a larger G_1 there is room.
    assert slack(values | zero | {"peak_full_pseudogradient": 100.0}) > 0


def test_a_condition_on_the_other_pseudogradient_is_no_finding():
    """G_2 does not fade."""
    G2 = symbols("peak_arbitrary_pseudogradient")[0]
    other = claim("fast.thm1").edited("other", "", hypotheses={"q_condition": Ge(q, 1 - G2 / (G2 + 2 * K**2 * G**2))})
    assert names(other) == []


def test_the_least_probability_of_theorem_2_is_proved_and_attained():
    statement = claim("fast.thm2@appendix")
    finding = next(f for f in check_consistency(statement) if f.name == "least_snapshot_probability")
    assert finding.evidence["least"] == "255/256"
    slack = statement.hypothesis("q_condition").slack
    claimed = sympy.expand(q - slack) - Rational(255, 256)
    certificates = [Certificate.from_json(text) for text in finding.evidence["certificates"]]
    assert len(certificates) == 2 and all(c.proves(claimed, c.region) for c in certificates)
    # The two cases meet: steps below and above mu/(32 L^2 K).
    at = [dict(c.region.substitutions)["local_lr"].expression() for c in certificates]
    u, l, m, k = sympy.symbols("u_local_lr smoothness strong_convexity local_steps")
    assert sympy.simplify(at[0] - m / (32 * l**2 * k * (1 + u))) == 0
    assert sympy.simplify(at[1] - m * (1 + u) / (32 * l**2 * k)) == 0
    attained = {name: Fraction(text) for name, text in finding.evidence["attained"].items()}
    assert statement.required("q_condition", "snapshot_probability", **attained).intervals[0][0] == Fraction(255, 256)


def test_a_smaller_factor_moves_the_least_probability():
    other = claim("fast.thm2@appendix").edited(
        "other", "", hypotheses={"q_condition": Ge(q, 1 - (mu * K * eta - 16 * L**2 * K**2 * eta**2) / 2)}
    )
    finding = next(f for f in check_consistency(other) if f.name == "least_snapshot_probability")
    assert finding.evidence["least"] == "127/128"
    assert "least_snapshot_probability" not in names(claim("fast.thm2@main"))


def test_our_repairs_of_the_theorems_have_no_finding():
    for ref in ("fast.thm1@corrected", "fast.thm1@sharp", "fast.thm2@corrected", "fast.thm2@sharp"):
        assert check_consistency(claim(ref)) == ()


# Maps -----------------------------------------------------------------------------------------------------------------


def test_the_map_of_theorem_2s_appendix_is_empty_below_255_256():
    steps = np.append(np.geomspace(1e-4, 0.049, 15), 1 / 32)
    found = q_map(
        claim("fast.thm2@appendix"), ("local_lr", steps), ("strong_convexity", np.geomspace(0.01, 1, 8)), FREE
    )
    seen = found.least[~np.isnan(found.least)]
    assert seen.min() == 255 / 256 and found.shares["everything"] == found.shares["interval"] == 0
    assert found.kinds.shape == (8, 16) and sum(found.shares.values()) == pytest.approx(1)
    # No q at all exactly where mu eta < 16 eta^2.
    below = found.x[1][None, :] > found.y[1][:, None] / 16
    np.testing.assert_array_equal(found.kinds == KINDS.index("none"), below)


def test_the_map_agrees_with_the_claims_own_numbers():
    statement = claim("fast.thm2@main")
    steps, spread = np.geomspace(1e-3, 0.1, 7), np.geomspace(1e-3, 10, 9)
    fixed = FREE | {"strong_convexity": 0.5}
    found = q_map(statement, ("local_lr", steps), ("dissimilarity", spread), fixed)
    kinds = [KINDS[k] for k in found.kinds.ravel()]
    assert set(kinds) == set(KINDS)
    for row, column in np.ndindex(found.kinds.shape):
        step, g = steps[column], spread[row]
        least = 1 - (0.5 * step - 16 * step**2) / (4 * g**2)
        kind = KINDS[found.kinds[row, column]]
        if step > 1 / 20:
            assert kind == "ruled out" and np.isnan(found.least[row, column])
        elif least > 1:
            assert kind == "none" and np.isnan(found.least[row, column])
        else:
            assert found.least[row, column] == pytest.approx(max(0, least), abs=1e-12)
            room = 1 - max(0.0, least)
            assert found.room[row, column] == pytest.approx(room, abs=1e-12)
            assert kind == ("everything" if room == 1 else "sliver" if room < SLIVER else "interval")


def test_maps_refuse_what_they_cannot_draw():
    statement = claim("fast.thm2@main")
    step, fixed = ("local_lr", [0.01]), FREE | {"strong_convexity": 0.5}
    with pytest.raises(ValueError, match="need dissimilarity"):
        q_map(statement, step, ("rounds", [1]), fixed)
    with pytest.raises(ValueError, match="local_lr: allowed is each quantity once"):
        q_map(statement, step, step, fixed)
    with pytest.raises(ValueError, match="did you mean 'dissimilarity'"):
        q_map(statement, step, ("disimilarity", [1]), fixed)
    with pytest.raises(ValueError, match=r"dissimilarity = -1.0: allowed is a finite number >= 0"):
        q_map(statement, step, ("dissimilarity", [-1]), fixed)
    with pytest.raises(ValueError, match="asks nothing of snapshot_probability"):
        q_map(claim("fast.thm2@sharp"), step, ("dissimilarity", [1]), fixed)


def test_rungs_are_drawn_alike_each_time() -> None:
    """Point by point, whatever was asked for before."""
    draw = random.Random(0)
    wanted = [[int(draw.expovariate(0.7)) for _ in range(3)] for _ in range(50)]
    assert deciding._rungs(3)[:50].tolist() == wanted
    assert deciding._rungs(3).shape == (deciding.SAMPLES, 3)


def test_quantities_that_are_fixed_come_in_the_order_of_their_hypotheses() -> None:
    """Whatever Python's seed for hashes: a witness is written in this order."""
    names = ("smoothness", "strong_convexity", "gradient_noise", "dissimilarity", "initial_distance", "local_lr")
    for order in (names, names[::-1]):
        both = [(kind, symbol) for symbol in symbols(*order) for kind in (Le, Ge)]
        hypotheses = [Hypothesis(f"fixed_{i}", kind(symbol, 1), "") for i, (kind, symbol) in enumerate(both)]
        assert [*deciding._fixed(hypotheses)] == [*order]
