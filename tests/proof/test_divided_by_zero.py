"""What a claim divides by is taken to be above 0 only where nothing is lost: a cap such as 1/x is infinite at x = 0,
and holds there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import sympy

from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.functionals import Functional
from fedtheory.papers import claim
from fedtheory.papers.fast.proofs.kinds_of_round import LETTERS as OF_FAST
from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex
from fedtheory.papers.paper import Paper
from fedtheory.papers.proofs import prove
from fedtheory.proof import checker
from fedtheory.proof.algorithm_match import built_in
from fedtheory.proof.claim_goals import claim_data
from fedtheory.proof.claim_theorems import ClaimTheorem
from fedtheory.proof.kernel.number_bounds import value
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import MEAN_GRADIENT, RunBound, restrict, weaken
from fedtheory.proof.kernel.saved_claims import saved_claim
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.tactics import of_runs, over_rounds
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.quantities import DIMENSIONLESS, symbols

L, eta, sigma_G, least, error, level = symbols(
    "smoothness", "local_lr", "dissimilarity", "least_participation", "estimate_error", "snapshot_probability"
)
LETTERS = {"L": "smoothness", "eta": "local_lr", "x": "dissimilarity"}
RING = Ring("L eta x")
ABOVE_0 = tuple(Condition(name, "positive") for name in ("x", "L", "eta"))
UNDER_1_OVER_X = sympy.Le(eta, 1 / sigma_G)


def stated(left: sympy.Expr, right: sympy.Expr, *hypotheses: Any, **more: Any) -> Claim:
    asked = tuple(Hypothesis(f"h{i}", relation, "") for i, relation in enumerate(hypotheses))
    of = Functional("mine", "", DIMENSIONLESS, "", scope="values", expression=left)
    return Claim(id="mine.thm", title="", source="", functional=of, terms=(Term("all", right),), hypotheses=asked,
                 **more)  # fmt: skip


def verdict(this: Claim, make: Callable[[], RunBound], letters: Mapping[str, str]) -> tuple[str, bool]:
    """The verdict on a claim, and whether the checker accepts that a bound is the claim."""
    origin = MadeBound(make, letters, "mine")
    paper = Paper("mine", "", algorithm="fast", claims=(this,), derivations=(origin.derivation("mine", (this.ref,)),))
    try:
        checker.check(saved_claim(make(), letters, claim_data(this, {}, "fast")))
    except checker.Wrong:
        return prove(this, paper).verdict, False
    return prove(this, paper).verdict, True


def shown(ring: Ring, above_0: tuple[Condition, ...], right: Scalar, given: Scalar, factor: Scalar) -> RunBound:
    """L <= right, by a multiple of what is given to be >= 0."""
    where = Where(ring, above_0)
    return weaken(restrict(value(where, ring["L"]), where, {}, [given]), right, [factor])


def half() -> RunBound:
    """L <= L/2 for x > 0, given x <= 0."""
    x, smoothness = RING["x"], RING["L"]
    return shown(RING, ABOVE_0, smoothness / 2, -x, smoothness / (2 * x))


PINNED = {
    "by a hypothesis": stated(L, L / 2, UNDER_1_OVER_X, sympy.Le(sigma_G, 0)),
    "by what is bound": stated(L, L / 2, UNDER_1_OVER_X, bound={"dissimilarity": 0}),
    "by a least cap": stated(L, L / 2, sympy.Le(eta, sympy.Min(1 / sigma_G, L)), sympy.Le(sigma_G, 0)),
}


@pytest.mark.parametrize("how", PINNED)
def test_a_cap_that_is_infinite_at_0_holds_there(how: str) -> None:
    this = PINNED[how]
    at_0 = this.evaluate(smoothness=1, local_lr=1, dissimilarity=0)
    assert at_0.hypotheses_hold and at_0.value < 1
    assert verdict(this, half, LETTERS) == ("unknown", False)


def test_what_holds_near_0_holds_at_0() -> None:
    """eta x <= 1 under eta <= 1/x alone, at x = 0 too: the limit of what is shown for x > 0."""
    where = Where(RING, (Condition("eta", "capped", 1 / RING["x"]), *ABOVE_0[:1]))
    made = lambda: weaken(value(where, RING["eta"] * RING["x"]), RING.number(1))  # noqa: E731
    assert verdict(stated(eta * sigma_G, sympy.Integer(1), UNDER_1_OVER_X), made, LETTERS) == ("proved", True)


def test_what_never_holds_at_0_is_above_0() -> None:
    """eta >= 1/x fails at x = 0, so that another hypothesis may speak of x."""
    this = stated(L, L / 2, sympy.Ge(eta, 1 / sigma_G), sympy.Le(sigma_G, 0))
    where = Where(RING, (Condition("eta", "at_least", 1 / RING["x"]), *ABOVE_0[:2]))
    made = lambda: weaken(restrict(half(), where, {}, half().given), RING["L"] / 2)  # noqa: E731
    assert verdict(this, made, LETTERS)[1]


def test_a_run_changes_with_what_it_is_a_run_of() -> None:
    """A probability of snapshots is no letter that may be moved: nothing says that a run's left side is a limit."""
    plain, letters = claim("fast.thm1@sharper"), tuple((OF_FAST | of_runs(MEAN_GRADIENT)).items())
    this = replace(plain, hypotheses=(*plain.hypotheses, Hypothesis("h", sympy.Le(L, 1 / level), "")))

    def theorem(of: Claim, bound: RunBound) -> ClaimTheorem:
        return ClaimTheorem(of, lambda: bound, letters, built_in(of, "fast"), "fast")

    bound = theorem(plain, over_rounds(nonconvex(), MEAN_GRADIENT)).bound
    assert bound is not None
    kept = (Condition(c.name, "capped", c.bound) if c.name == "q" else c for c in bound.where.conditions)
    for made in (bound, restrict(bound, Where(bound.where.ring, tuple(kept)), {}, bound.given)):
        found, holds = theorem(this, made), made is bound
        assert found.found() == holds
        data = saved_claim(made, dict(letters), claim_data(this, found.goal.read(made), "fast"))
        with nullcontext() if holds else pytest.raises(checker.Wrong, match="q: a condition that the claim does not"):
            checker.check(data)


def test_a_right_side_that_is_minus_infinity_says_something() -> None:
    """L <= -L/(r - e)^2 for r > e, given r <= e: at r = e it is said that L <= -infinity."""
    ring = Ring("L r e d")
    smoothness, d = ring["L"], ring["d"]
    above_0 = (Condition("d", "positive"), Condition("L", "positive"), Condition("e", "nonnegative"))
    equal = sympy.Le(error, least), sympy.Le(least, error)
    letters = {"L": "smoothness", "e": "estimate_error", "d": "least_participation - estimate_error"}
    for sign, word in ((-1, ("unknown", False)), (1, ("proved", True))):
        right = smoothness * sign / d**2
        make = lambda right=right: shown(ring, above_0, right, -d, smoothness / d**3 + smoothness / d)  # noqa: E731
        this = stated(L, sign * L / (least - error) ** 2, *equal)
        assert this.evaluate(smoothness=1, least_participation=1, estimate_error=1).value == sign * float("inf")
        assert verdict(this, make, letters) == word
