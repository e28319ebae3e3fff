"""The least number of rounds, by trying all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedtheory.claims.arithmetic import compiled_slack
from fedtheory.claims.balls import evaluate_in_balls, working_precision
from fedtheory.claims.solve import rounds_to
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import symbol
from fedtheory.testing import values_of

F = Fraction
R = symbol("rounds")
log = sympy.log
ALL = np.arange(1.0, 4001)


def chosen(each: Claim, expression: sympy.Expr) -> sympy.Expr:
    return expression.xreplace({symbol(name): choice for name, choice in each.choices.items()})


LOGARITHMIC = [c for c in all_claims() if any(R in part.free_symbols for part in c.right_side.atoms(log))]
GROWING = [claim("flics.thm1@main"), claim("flics.thm1@appendix")]


def test_which_claims_have_rounds_under_a_logarithm() -> None:
    papers = {each.id for each in LOGARITHMIC}
    assert {"fast.cor3", "safari.cor2", "fedau.thm3", "fedau.lemmaB_7_1", "fedau.eqB_7_2", "fedau.cor4"} <= papers


@pytest.mark.parametrize("each", LOGARITHMIC + GROWING, ids=lambda c: c.ref)
@given(data=st.data(), quantile=st.floats(0.02, 0.98))
@settings(max_examples=4)
def test_against_all_rounds(each: Claim, data: st.DataObject, quantile: float) -> None:
    right = chosen(each, each.right_side)
    values = data.draw(values_of({s.name for s in right.free_symbols} - {"rounds"}))
    assume(values.get("least_participation_probability") not in (0, 1))
    arrays = {key: np.asarray(float(v)) for key, v in values.items()} | {"rounds": ALL}
    with np.errstate(all="ignore"):
        curve = np.broadcast_to(compiled_slack(right)(arrays), ALL.shape)
        allowed = np.ones(ALL.shape, dtype=bool)
        for h in each.hypotheses:
            names = {s.name for s in h.slack.free_symbols}
            if "rounds" in names and names <= arrays.keys():
                allowed &= np.broadcast_to(compiled_slack(h.slack)(arrays) >= 0, ALL.shape)
    assume(allowed.any() and np.isfinite(curve[allowed]).all() and np.ptp(curve[allowed]) > 0)
    epsilon = F(float(np.quantile(curve[allowed], quantile))) * (1 + F(1, 10**9))
    assume(epsilon > 0)
    expected = next(int(n) for n, v, ok in zip(ALL, curve, allowed, strict=True) if ok and v <= epsilon)
    found = each.rounds_to(epsilon, **values)
    assert found == expected
    with working_precision():
        assert evaluate_in_balls(right, values | {"rounds": F(found)}) <= float(epsilon)
        if found > 1 and allowed[found - 2]:
            assert evaluate_in_balls(right, values | {"rounds": F(found - 1)}) > float(epsilon)


def bound_of(*expressions: sympy.Expr, rounds: tuple = ()) -> Claim:
    named = tuple(Hypothesis(f"h{i}", relation, "here") for i, relation in enumerate(rounds))
    terms = tuple(Term(f"t{i}", e) for i, e in enumerate(expressions))
    return replace(claim("fast.thm1"), hypotheses=named, terms=terms)


def test_far_away() -> None:
    """log(R)/R = 10^-12 near 3.1 * 10^13: within at R rounds and not at R - 1, exactly."""
    found = rounds_to(bound_of(log(R) / R, rounds=(sympy.Ge(R, 2),)), F(1, 10**12))
    assert found > 10**13
    with working_precision():
        at = [evaluate_in_balls(log(R) / R, {"rounds": F(n)}) * 10**12 for n in (found - 1, found)]
    assert at[0] > 1 >= at[1]


def test_what_rises_with_the_rounds() -> None:
    """1/R + R/10^4 <= 1/10 from 11 to 989; log(R)^2/R rises up to 7 rounds; R from 1 to 100."""
    window = bound_of(1 / R, R / 10**4)
    assert rounds_to(window, F(1, 10)) == 11
    assert rounds_to(bound_of(1 / R, R / 10**4, rounds=(sympy.Ge(R, 500),)), F(1, 10)) == 500
    with pytest.raises(ValueError, match=r"epsilon = 0.1: no rounds in \[1000, inf\) .* brings the right side of fast"):
        rounds_to(bound_of(1 / R, R / 10**4, rounds=(sympy.Ge(R, 1000),)), F(1, 10))
    with pytest.raises(ValueError, match=r"epsilon = 0.01: no rounds: any in \[1, inf\) brings"):
        rounds_to(window, F(1, 100))
    assert rounds_to(bound_of(log(R) ** 2 / R, rounds=(sympy.Ge(R, 2),)), 0.3) == 2
    assert rounds_to(bound_of(log(R) ** 2 / R, rounds=(sympy.Ge(R, 3),)), 0.3) == 53
    assert rounds_to(bound_of(R), 100) == 1
    assert rounds_to(bound_of(sympy.exp(R / 10**6), log(R)), 3) == 1
    with pytest.raises(ValueError, match="brings the right side of fast"):
        rounds_to(bound_of(log(R + 1)), F(1, 10))
    assert rounds_to(bound_of(sympy.Max(2 / R, 1 / sympy.sqrt(R), evaluate=False)), F(1, 10)) == 100


def test_a_tie_is_decided_exactly() -> None:
    """8/sqrt(R) = 1/10 at R = 6400; 0/R + 1/2 = 1/2."""
    assert rounds_to(bound_of(8 / sympy.sqrt(R)), F(1, 10)) == 6400
    assert rounds_to(bound_of(8 / sympy.sqrt(R)), F(1, 10) - F(1, 10**40)) == 6401
    assert rounds_to(bound_of(0 / R, sympy.Rational(1, 2)), F(1, 2)) == 1
    four = (sympy.Ge(R, 4), sympy.Le(R, 4))
    assert rounds_to(bound_of(log(R) + 2 - 2 * log(2), rounds=four), 2) == 4  # log(4) is 2 log(2)
    with pytest.raises(ValueError, match=r"brings the right side"):
        rounds_to(bound_of(log(R) + 2 - 2 * log(2), rounds=four), 2 - F(1, 10**40))


def test_printed_hypotheses_about_rounds_are_met() -> None:
    """FAST's Corollary 2 asks for R >= (m n K/h)^3; FedAU's Theorem 3 for two rounds, its sharper edition for K."""
    cor2 = claim("fast.cor2")
    given = {"smoothness": 1, "gradient_noise": 1, "dissimilarity": 0, "initial_gap": 1, "cohort": 2,
             "arbitrary_cohort": 2, "local_steps": 3, "snapshot_probability": 1}  # fmt: skip
    given = {key: value for key, value in given.items() if symbol(key) in chosen(cor2, cor2.right_side).free_symbols}
    complete = given | {"snapshot_probability": 1, "arbitrary_cohort": 2, "local_steps": 3, "cohort": 2}
    complete["step_constant"] = 1
    assert rounds_to(cor2, 10**6, **complete) == (2 * 2 * 3 // 2) ** 3
    assert rounds_to(claim("fedau.thm3"), 10, cutoff=1, cutoff_bias=0) == 2
    assert rounds_to(claim("fedau.thm3@sharp"), 10**6, cutoff=9, cutoff_bias=0, absence=0.5) == 9
    with pytest.raises(ValueError, match="no rounds satisfies the hypotheses h0, h1 of fast"):
        rounds_to(bound_of(1 / R, rounds=(sympy.Ge(R, 3), sympy.Le(R, 2))), 0.5)
    falling = bound_of(sympy.exp(-R / 7), rounds=(sympy.Le(R, 10),))
    assert rounds_to(falling, 0.5) == math.ceil(7 * math.log(2))
    with pytest.raises(ValueError, match=r"no rounds in \[1, 10\] \(integers\) brings"):
        rounds_to(falling, 0.01)
    apart = bound_of(sympy.exp(-R / 7), rounds=(sympy.Ge((R - 3) * (R - 20), 0),))
    assert (rounds_to(apart, 0.5), rounds_to(apart, 0.9)) == (20, 1)


def test_what_divides_by_zero_for_all_rounds_is_never_enough() -> None:
    sigma = symbol("dissimilarity")
    with pytest.raises(ValueError, match="brings the right side"):
        rounds_to(bound_of(1 / (R * sigma)), 1, dissimilarity=0)
    with pytest.raises(ValueError, match="brings the right side"):
        rounds_to(bound_of(log(R) / (R * sigma)), 1, dissimilarity=0)
