"""What is no trusted line: a wrong answer of what looks for a proof, or writes it down, proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fedtheory.papers.proofs import chain
from fedtheory.proof import claim_theorems
from fedtheory.proof.claim_theorems import ClaimTheorem
from fedtheory.proof.kernel import charts, run_bounds, saved_claims, saved_theorems
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import RunBound, restrict
from fedtheory.proof.kernel.scalars import Ring

REF = "safari.eq58@main"


def anew() -> ClaimTheorem:
    """Return the check of a claim, of which nothing is decided yet."""
    theorem = chain(REF).theorem
    assert isinstance(theorem, ClaimTheorem)
    return replace(theorem)


def test_it_is_proved() -> None:
    assert anew().certified().outcome == "proved"


def half(data: dict) -> dict:
    return data | {
        "bound": [part | {"top": [[powers, f"{c}/2"] for powers, c in part["top"]]} for part in data["bound"]]
    }


WRITTEN: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "half the bound": (saved_claims, "_line", half),
    "a bound that assumes nothing": (saved_claims, "_line", lambda data: data | {"assumptions": []}),
    "a bound without parameters": (saved_claims, "_line", lambda data: data | {"parameters": {}}),
    "a theorem that assumes nothing": (saved_theorems, "line", lambda data: data | {"assumptions": []}),
    "equalities": (saved_theorems, "line", lambda data: data | {"equality": True}),
    "axioms alone": (saved_theorems, "line", lambda data: data | {"premises": []}),
    "a region without its last condition": (saved_theorems, "region", lambda data: data[:-1]),
    "other coefficients": (saved_theorems, "_polynomial", lambda data: [[powers, f"{c}0"] for powers, c in data]),
}


@pytest.mark.parametrize("wrong", WRITTEN)
def test_what_is_written_wrongly_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the checker: a claim is `proved` only if it is found in the file."""
    module, name, change = WRITTEN[wrong]
    own = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **more: change(own(*given, **more)))
    assert anew().certified().outcome == "unknown"


def on_half(bound: RunBound) -> RunBound:
    """Return a bound on a smaller region, where a letter that was > 0 is at most 1."""
    name = next(c.name for c in bound.where.conditions if c.kind == "positive")
    conditions = tuple(
        Condition(name, "capped", bound.where.ring.number(1)) if c.name == name else c for c in bound.where.conditions
    )
    return restrict(bound, Where(bound.where.ring, conditions), {}, bound.given)


FOUND: dict[str, Callable[[RunBound, Any], Any]] = {
    "a bound on a smaller region": lambda bound, other: on_half(bound),
    "a larger bound": lambda bound, other: run_bounds.weaken(bound, bound.bound + bound.where.ring.number(1)),
    "the bound of another claim": lambda bound, other: other,
}


@pytest.mark.parametrize("wrong", FOUND)
def test_what_is_found_wrongly_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = claim_theorems.sought, chain("safari.eq28@main").theorem.bound
    monkeypatch.setattr(claim_theorems, "sought", lambda made, goal: FOUND[wrong](own(made, goal), other))
    assert anew().bound is not None and not anew().found()


@pytest.mark.parametrize("says", [True, False])
def test_points_only_refuse(says: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart certifies no more where the points say nothing, and nothing where they always say no."""
    monkeypatch.setattr(charts, "somewhere", lambda *given: says)
    ring = Ring("x y")
    x, y = ring.symbols
    where = Where(ring, (Condition("x", "capped", y), Condition("y", "positive")))
    assert where.certifies(y - x) == where.never_zero(y) == (not says)
    assert not where.certifies(x - y) and not where.never_zero(y - x)
