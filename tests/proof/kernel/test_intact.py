"""A theorem says what it said when a rule made it, or is of no use: no rule takes it, none saves it or reads it off."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from fedtheory.papers import claim
from fedtheory.papers.fast.proofs.kinds_of_round import LETTERS
from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex
from fedtheory.papers.paper import Paper
from fedtheory.papers.proofs import proof_of
from fedtheory.proof.composition import Composed
from fedtheory.proof.kernel import forms, sealed
from fedtheory.proof.kernel.axioms import START_POINT
from fedtheory.proof.kernel.forms import ONE, Form, Vector, square
from fedtheory.proof.kernel.forms import Term as VectorTerm
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_rules import average
from fedtheory.proof.kernel.run_bounds import MEAN_GRADIENT
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.sealed import intact
from fedtheory.proof.kernel.tactics import of_runs, over_rounds
from fedtheory.proof.kernel.theorems import Refused, Theorem, combine
from fedtheory.proof.translate.claim_bounds import MadeBound

RING = Ring("a b k K")
a, b, _, _ = RING.symbols
WHERE = Where(RING, (Condition("a", "positive"), Condition("b", "count")))
SMALL = Fraction(1, 2**61)


def made() -> Theorem:
    """|x|^2/2 + a + b/3 >= 0."""
    x = Vector(RING, {VectorTerm("", START_POINT): RING.number(1)})
    return combine([], where=WHERE, context="start", constant=a + b / 3, squares=[(x, "", RING.number(Fraction(1, 2)))])


def by_flint(theorem: Theorem) -> None:
    numerator = theorem.form.entries[ONE].numerator
    for powers, c in list(numerator.to_dict().items()):
        numerator[powers] = c * 2


def by_scalar(theorem: Theorem) -> None:
    theorem.form.entries[ONE].numerator = (a * 5).numerator


def by_referent(theorem: Theorem) -> None:
    """The dictionary below the read-only mapping."""
    (entries,) = gc.get_referents(theorem.form.entries)
    entries[ONE] = a * SMALL


def by_form(theorem: Theorem) -> None:
    object.__setattr__(theorem, "form", theorem.form * SMALL)


def by_part(name: str, value: object) -> Callable[[Theorem], None]:
    return lambda theorem: object.__setattr__(theorem, name, value)


def by_premise(theorem: Theorem) -> None:
    object.__setattr__(theorem, "premises", (combine([], where=WHERE, context="start", constant=b),))


def by_bound(theorem: Theorem) -> None:
    object.__setattr__(theorem.where.conditions[0], "kind", "nonnegative")


CHANGES: dict[str, Callable[[Theorem], None]] = {
    "a coefficient's number": by_flint, "a coefficient": by_scalar, "the entries below": by_referent,
    "the form": by_form,
    "the region": by_part("where", Where(RING, ())),
    "the assumptions": by_part("assumptions", frozenset({("any", None)})),
    "the parameters": by_part("parameters", (("local_lr", a),)), "an equality": by_part("equality", True),
    "the context": by_part("context", "run"), "the end": by_part("path_to_the_end", False),
    "the rule": by_part("rule", "mix"),
    "the arguments": by_part("arguments", {}), "the premises": by_premise, "a condition": by_bound,
}  # fmt: skip
USES: dict[str, Callable[[Theorem], object]] = {
    "a rule": lambda t: combine([(t, 1)], where=Where(RING, (Condition("a", "positive"), Condition("b", "count"))),
                                context="start"),
    "saving": saved, "asking": intact,
}  # fmt: skip


def conditions_anew(theorem: Theorem) -> Theorem:
    """Of a region of its own, as a condition that is changed is changed in every theorem of its region."""
    own = Where(RING, tuple(Condition(c.name, c.kind, c.bound) for c in theorem.where.conditions))
    return combine([(theorem, 1)], where=own, context="start")


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_of_no_use(change: str, use: str) -> None:
    theorem = conditions_anew(made())
    USES[use](theorem)
    CHANGES[change](theorem)
    with pytest.raises(
        Refused, match=r"changed after it was made|allowed is a theorem given|region that does not|whole run"
    ):
        USES[use](theorem)


def test_a_premise_that_was_changed_spoils_the_proof() -> None:
    first = made()
    last = combine([(first, 2)], where=WHERE, context="start")
    by_form(first)
    with pytest.raises(Refused, match="changed"):
        saved(last)


def test_entries_arguments_and_terms_are_read_only() -> None:
    theorem, x = made(), Vector(RING, {VectorTerm("", START_POINT): RING.number(1)})
    mappings = (theorem.form.entries, theorem.arguments, x.terms, square(x).entries)
    for mapping in mappings:
        with pytest.raises(TypeError):
            mapping[next(iter(mapping))] = a  # type: ignore[index]
        assert not hasattr(mapping, "update") and not hasattr(mapping, "pop")
    own = {ONE: a}
    form = Form(RING, own)
    own[ONE] = b
    assert form.entries[ONE] == a  # it is no view of what it was made from


def test_what_no_rule_made_is_no_theorem() -> None:
    for other in (copy.copy(made()), copy.copy(made())):
        with pytest.raises(Refused, match="no rule made"):
            intact(other)
    with pytest.raises(Refused, match="by the rules"):
        replace(made(), equality=True)


# A claim with a right side that is far too small, through a paper of one's own ----------------------------------------


def scaled_down(theorem: Theorem) -> Theorem:
    """With its constant 2^61 times smaller, which is the same modulo 2^61 - 1."""
    object.__setattr__(theorem, "form", Form(theorem.form.ring, {
        **theorem.form.entries, ONE: theorem.form.entries[ONE] * SMALL}))  # fmt: skip
    return theorem


def own_nonconvex() -> Theorem:
    """FAST's theorem, made anew: what is changed here is changed for no other test."""
    return combine([(nonconvex(), 1)], where=nonconvex().where, context="start")


def read(make: Callable[[], Theorem]) -> MadeBound:
    letters = LETTERS | of_runs(MEAN_GRADIENT)
    return MadeBound(lambda: over_rounds(make(), MEAN_GRADIENT), letters, MEAN_GRADIENT, of_rounds=True)


def verdict_of(make: Callable[[], Theorem], share: Fraction | int) -> str | None:
    """Of FAST's Theorem 1 with every part of its right side but the gap's times a share, by a theorem of one's own."""
    this, by = claim("fast.thm1@corrected"), sympy.Rational(str(share))
    terms = tuple(t if "gap" in str(t.expression) else replace(t, expression=t.expression * by) for t in this.terms)
    own = replace(this, id="mine.thm", edition="main", terms=terms)
    paper = Paper("mine", "", algorithm=this.paper, claims=(own,),
                  derivations=(read(make).derivation("mine", (own.ref,)),))  # fmt: skip
    found = proof_of(own, paper)
    return found.verdict if found else None


def test_a_right_side_that_is_too_small_is_not_proved() -> None:
    assert verdict_of(own_nonconvex, 1) == "proved" and verdict_of(own_nonconvex, SMALL) is None
    assert verdict_of(lambda: scaled_down(own_nonconvex()), SMALL) is None


def test_a_bound_is_none_of_a_theorem_that_was_changed() -> None:
    """Neither when it is made, nor when it is asked for again."""
    theorem = own_nonconvex()
    origin = read(lambda: theorem)
    assert origin.bound is origin.bound
    scaled_down(theorem)
    for asked in (origin, read(lambda: theorem)):
        with pytest.raises(Refused, match="changed"):
            _ = asked.bound


# Each leak, planted again ---------------------------------------------------------------------------------------------


def test_mutable_entries_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With plain dictionaries for entries the first line below is no error, and without the hash the last one."""
    monkeypatch.setattr(forms, "MappingProxyType", dict)
    theorem = made()
    theorem.form.entries[ONE] = a * SMALL  # type: ignore[index]
    with pytest.raises(Refused, match="changed"):
        combine([(theorem, 1)], where=WHERE, context="start")
    monkeypatch.setattr(sealed, "_seal", lambda theorem: "")
    theorem = made()
    theorem.form.entries[ONE] = a * SMALL  # type: ignore[index]
    assert combine([(theorem, 1)], where=WHERE, context="start").form.entries[ONE] == a * SMALL


class Same(dict):
    """The hash of any theorem is that of any other one."""

    def get(self, *_: object) -> str:
        return ""


def test_without_the_hash_the_checker_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second lock: what is saved of it does not follow, compared exactly."""
    monkeypatch.setattr(sealed, "_seal", lambda theorem: "")
    monkeypatch.setattr(sealed, "_SEALS", Same())
    theorem = scaled_down(own_nonconvex())
    assert average(theorem)[1] == average(nonconvex())[1] * SMALL
    assert Composed(lambda: theorem).certified().outcome == "unknown"
