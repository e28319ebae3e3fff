"""A claim says what it says when its proof is asked for: not what it said before, nor what a class of one's own says of
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sympy

from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.evidence.assess import twins
from fedtheory.functionals import Functional
from fedtheory.papers import claim
from fedtheory.papers.paper import Paper
from fedtheory.papers.proofs import proof_of, prove
from fedtheory.proof.kernel.number_bounds import value
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import RunBound, restrict, weaken
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.quantities import DIMENSIONLESS, symbols

L, eta = symbols("smoothness", "local_lr")
RING = Ring("L eta")
WHERE = Where(RING, (Condition("L", "positive"), Condition("eta", "positive")))
LEFT = Functional("mine", "", DIMENSIONLESS, "", scope="values", expression=L)
ORDER = Hypothesis("order", sympy.Le(L, eta), "")


def made() -> RunBound:
    """L <= eta, given eta - L >= 0."""
    given = RING["eta"] - RING["L"]
    return weaken(restrict(value(WHERE, RING["L"]), WHERE, {}, [given]), RING["eta"], [1])


ORIGIN = MadeBound(made, {"L": "smoothness", "eta": "local_lr"}, "mine")


def stated(of: type[Claim] = Claim, **changed: Any) -> Claim:
    parts: dict[str, Any] = {"terms": (Term("all", eta),), "hypotheses": (ORDER,), "functional": LEFT} | changed
    return of(id="mine.thm", title="", source="", **parts)


def verdict(this: Claim) -> str:
    shown = (ORIGIN.derivation("mine", ("mine.thm@main",)),)
    return prove(this, Paper("mine", "", algorithm="fast", claims=(this,), derivations=shown)).verdict


CHANGES: dict[str, Callable[[Claim], Any]] = {
    "no hypothesis": lambda this: object.__setattr__(this, "hypotheses", ()),
    "another relation": lambda this: object.__setattr__(this.hypotheses[0], "relation", sympy.Ge(L, eta)),
    "another right side": lambda this: object.__setattr__(this, "terms", (Term("all", eta / 9),)),
    "another left side": lambda this: object.__setattr__(this, "functional", replace(LEFT, expression=9 * L)),
    "a choice": lambda this: this.choices.update(local_lr=L / 9),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_changed_after_it_was_proved_is_not(what: str) -> None:
    this = stated(hypotheses=(replace(ORDER),))
    assert verdict(this) == "proved"
    CHANGES[what](this)
    assert verdict(this) != "proved"
    assert verdict(stated()) == "proved"


def test_so_are_the_claims_of_chains() -> None:
    this = stated(choices={"local_lr": L})
    shown = (ORIGIN.derivation("mine", ("mine.thm@main",)),)
    chain = prove(this, Paper("mine", "", algorithm="fast", claims=(this,), derivations=shown))
    assert chain.verdict == "proved"
    chain.claim.choices.update(local_lr=L / 9)  # type: ignore[attr-defined]
    assert verdict(stated(choices={"local_lr": L / 9})) != "proved" != verdict(chain.claim)


class Equal(dict):
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_what_is_equal_to_another_claim_is_not_proved_by_it() -> None:
    assert verdict(stated()) == "proved"
    assert verdict(stated(choices=Equal(local_lr=L / 9))) != "proved"


class Guarded(Claim):
    """A claim that says of its proof alone that L <= eta is asked for."""

    def under(self, reading: Any) -> Claim:
        return stated()


class Small(Term):
    """A term of one's own."""


class Other(Functional):
    """A left side that is another one under a reading."""

    def under(self, reading: Any) -> Functional:
        return replace(LEFT, expression=eta / 2)


def test_a_claim_of_a_class_of_ones_own_says_what_its_parts_say() -> None:
    assert verdict(stated(Guarded)) == "proved"
    assert verdict(stated(Guarded, hypotheses=())) != "proved"


def test_no_part_is_of_a_class_of_ones_own() -> None:
    with pytest.raises(ValueError, match=r"terms\[0\] = Small.*allowed is a Term\(name, expression\)"):
        stated(terms=(Small("all", eta),))
    with pytest.raises(ValueError, match=r"functional = Other.*allowed is a Functional\("):
        stated(functional=Other("mine", "", DIMENSIONLESS, "", scope="values", expression=L))
    this = stated()
    object.__setattr__(this, "terms", (Small("all", eta),))
    with pytest.raises(ValueError, match=r"terms\[0\]"):
        prove(this)


@pytest.mark.parametrize("ref", ["fast.thm1@minima", "fast.rem2.b@main"])
def test_a_left_side_that_one_computes_oneself_is_another(ref: str) -> None:
    """Neither the printed proof nor the search of the other one is its own."""
    this = claim(ref)
    other = replace(this, functional=replace(this.functional, compute=lambda asked: 10**9))
    assert proof_of(this) is not None and proof_of(other) is None
    renamed = replace(other, edition="other")
    assert twins([this, renamed]) == {this.ref: this.ref, renamed.ref: renamed.ref}
