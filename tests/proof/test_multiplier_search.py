"""Multipliers that are searched for: those of the kernel's proofs are found again, a cap that is changed gets a proof
or the term that fails, and what a program in floating point says is nothing that the kernel does not certify."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fedtheory.papers.flics.proofs import thm1 as flics
from fedtheory.papers.khaled2020.proofs import thm1 as khaled
from fedtheory.papers.li2020.proofs import thm1_to_thm3 as li
from fedtheory.proof import checker, multiplier_search
from fedtheory.proof.kernel import tactics
from fedtheory.proof.kernel.axioms import OPTIMUM, START_POINT, Axioms
from fedtheory.proof.kernel.client_means import MeanAxioms
from fedtheory.proof.kernel.forms import Form, Product, Term, Value, square
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.tactics import show
from fedtheory.proof.kernel.theorems import Theorem, over_clients
from fedtheory.proof.multiplier_search import Found, NotFound, find_multipliers

Call = tuple[Form, Any, dict[str, Any]]


def last_call(module: ModuleType, make: Callable[[], Theorem], patch: pytest.MonkeyPatch) -> Call:
    """What the last step of a proof is shown from: its goal, its premises with their multipliers, and its squares."""
    calls: list[Call] = []

    def kept(goal: Form, premises: Any, **more: Any) -> Theorem:
        calls.append((goal, premises, more))
        return show(goal, premises, **more)

    patch.setattr(module, "show", kept)
    getattr(make, "__wrapped__", make)()
    return calls[-1]


def found_anew(call: Call, squares: bool = True) -> Found:
    goal, premises, more = call
    drawn = [(v, b) for v, b, _ in more["squares"]] if squares else ()
    known = [t for t, _ in premises]
    where = more.get("where", known[0].where)
    return find_multipliers(goal, known, where=where, context=known[0].context, squares=drawn)


PROOFS: dict[str, tuple[ModuleType, Callable[[], Theorem], bool]] = {
    "FLICS's descent": (flics, flics.given_availability, False),
    "the drift of clients with the same data": (tactics, khaled.drift, True),
    "a step of local SGD": (khaled, khaled.one_step, True),
    "a round's end with draws": (li, li.end_of_draw, False),
    "how far a client moves": (tactics, li.moved, True),
}
"""Steps of proofs, and whether their squares are given."""


@pytest.mark.parametrize("name", PROOFS)
def test_the_multipliers_of_a_proof_are_found_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, make, squares = PROOFS[name]
    call = last_call(module, make, monkeypatch)
    found = found_anew(call, squares)
    one = found.theorem.where.ring.number(1)
    assert found.theorem.form == call[0]
    assert [c for _, c in found.premises] == [one * c for _, c in call[1]]
    assert checker.check(json.loads(json.dumps(saved(found.theorem)))) > 2


def capped(number: int) -> Where:
    cap = Condition("eta", "capped", 1 / (number * khaled.L))
    return Where(khaled.RING, tuple(cap if c.name == "eta" else c for c in khaled.WHERE.conditions))


def drift_under(cap: int, monkeypatch: pytest.MonkeyPatch) -> Found:
    """The step of the drift's induction for eta <= 1/(cap L), without its multipliers."""
    where = capped(cap)
    monkeypatch.setattr(khaled, "WHERE", where)
    monkeypatch.setattr(khaled, "AXIOMS", Axioms(where, khaled.eta, khaled.n, "run"))
    monkeypatch.setattr(khaled, "MEANS", MeanAxioms(where, khaled.eta))
    call: list[Call] = []

    def kept(goal: Form, premises: Any, **more: Any) -> Theorem:
        call.append((goal, premises, more))
        return found_anew(call[0]).theorem

    monkeypatch.setattr(tactics, "show", kept)
    khaled.drift.__wrapped__()  # type: ignore[attr-defined]
    return found_anew(call[0])


def test_a_cap_that_is_changed_gets_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the step size is allowed: eta <= 1/(2 L)."""
    found = drift_under(2, monkeypatch)
    assert found.theorem.where == capped(2)
    assert "    (local, -1)," in found.lines(local=found.premises[0][0]).splitlines()


def test_a_cap_that_is_too_large_gets_the_term_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match=r"^not found: of .* is left over$") as error:
        drift_under(1, monkeypatch)
    assert any(isinstance(entry, Product) and not c.is_zero for entry, c in error.value.left.items())


def gap(factor: Fraction | int) -> Iterator[Any]:
    """F(x) - F(x*) <= factor L/2 |x - x*|^2, and what it follows from for the factor 1."""
    where, ring = li.WHERE, li.RING
    axioms, one = li.AXIOMS, ring.number(1)
    x, best = axioms.vector(START_POINT), axioms.vector(OPTIMUM)
    values = Form(ring, {Value("M", START_POINT): -one, Value("M", OPTIMUM): one})
    yield values + square(x - best) * (li.L * factor / 2)
    yield [over_clients(axioms.descent(START_POINT, OPTIMUM, li.L), "M"), axioms.optimal(x - best)]
    yield {"where": where, "context": "start"}


def test_a_false_goal_is_refused_with_the_term() -> None:
    goal, premises, more = gap(Fraction(2, 3))
    with pytest.raises(NotFound, match="is left over") as error:
        find_multipliers(goal, premises, **more)
    x = Term("", START_POINT)
    assert error.value.left[Product("", x, x)] == -li.L / 6


def test_a_premise_too_few_is_told() -> None:
    goal, premises, more = gap(1)
    assert [c for _, c in find_multipliers(goal, premises, **more).premises] == [1, -1]
    with pytest.raises(NotFound, match="is left over"):
        find_multipliers(goal, premises[:1], **more)


def test_a_multiplier_that_is_not_certified_is_named() -> None:
    goal, premises, more = gap(1)
    fixed = [(premises[0], li.mu - li.L), premises[1]]
    minus = goal + premises[0].form * (li.mu - li.L - 1)
    with pytest.raises(NotFound, match=r"^not certified: multiplier -L \+ mu: not certified to be >= 0"):
        find_multipliers(minus, fixed, **more)


def test_a_multiplier_that_is_given_is_kept() -> None:
    goal, premises, more = gap(3)
    found = find_multipliers(goal, [(premises[0], 1), premises[1]], **more)
    assert found.premises[0][1] == 1 and found.theorem.form == goal


def test_lines_are_exact() -> None:
    goal, premises, more = gap(Fraction(5, 3))
    found = find_multipliers(goal, premises, **more)
    letters = {name: li.RING[name] for name in li.RING.names} | {"Fraction": Fraction}
    named = {"fall": premises[0], "best": premises[1], "x": li._start, "y": li._optimum}
    kept: dict[str, Any] = {}
    exec(found.lines(**named), letters | named, kept)
    assert show(goal, kept["premises"], squares=kept["squares"], **more).form == goal


@pytest.mark.parametrize("relapse", ["signs", "rounding", "rows"])
def test_what_the_program_says_is_nothing_without_the_kernel(relapse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the signs of multipliers, with rounded factors, or with half of the coefficients, no theorem is made."""
    program = multiplier_search._Program
    goal, premises, more = gap(Fraction(2, 3) if relapse != "rounding" else 1)
    if relapse == "signs":
        monkeypatch.setattr(program, "_sign", lambda self: None)
    elif relapse == "rows":
        monkeypatch.setattr(program, "_match", lambda self: None)
    else:
        monkeypatch.setattr(program, "_exact", lambda self, x: [Fraction(float(v * 1.01)) for v in np.asarray(x)])
    with pytest.raises(NotFound):
        find_multipliers(goal, premises, **more)
