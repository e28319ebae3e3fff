"""z3 as a second opinion: it contradicts nothing, and where it fails it decides nothing."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import sympy

from fedtheory.papers.proofs import library
from fedtheory.proof import smt
from fedtheory.proof.positivity import Certificate, Counterexample
from fedtheory.proof.steps import Nonnegative
from fedtheory.proof.symbol_regions import nonnegative, region

x = sympy.Symbol("x")
WHERE = region(nonnegative("x"))


@pytest.mark.slow
def test_it_contradicts_no_polynomial_step() -> None:
    """On every step that positivity decided; a time-out decides nothing, and four in five are decided by both."""
    checks = [
        (step.name, check, finding)
        for step in library().steps
        for check, finding in zip(step.checks, library().decided(step.name).findings, strict=True)
        if isinstance(check, Nonnegative)
    ]
    both = 0
    for name, check, finding in checks:
        answers = [smt.decide(check.expression, where, 500) for where in check.cases]
        if finding.outcome == "proved":
            assert all(isinstance(e, Certificate) for e in finding.evidence), name
            assert not any(isinstance(a, Counterexample) for a in answers), name
            both += all(a is True for a in answers)
        else:
            assert finding.outcome == "gap" and not all(a is True for a in answers), name
            both += any(isinstance(a, Counterexample) for a in answers)
    assert both >= 0.8 * len(checks) > 30


def test_it_decides_what_certificates_do_not() -> None:
    assert smt.decide((x - 1) ** 2, WHERE) is True
    found = smt.decide(x**2 - 2 * x, WHERE)
    assert isinstance(found, Counterexample) and found.refutes(x**2 - 2 * x, WHERE)


def test_an_irrational_point_is_checked_in_our_arithmetic() -> None:
    """(x^2 - 2)^2 < 10^-30 only next to sqrt(2): either a verified point or nothing."""
    tight = (x**2 - 2) ** 2 - sympy.Rational(1, 10**30)
    found = smt.decide(tight, WHERE)
    assert found is None or found.refutes(tight, WHERE)


def test_a_missing_solver_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    assert smt.decide(x, WHERE) is None


def test_a_failing_solver_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", ModuleType("z3"))
    assert smt.decide(x, WHERE) is None


@pytest.mark.parametrize(
    ("answer", "expected"), [(("unknown", {}), None), (("timeout", {}), None), (("unsat", {}), True)]
)
def test_only_unsat_is_a_proof(monkeypatch: pytest.MonkeyPatch, answer: tuple, expected: bool | None) -> None:
    monkeypatch.setattr(smt, "_ask", lambda *_: answer)
    assert smt.decide(x, WHERE) is expected


def test_a_model_that_is_wrong_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "_ask", lambda *_: ("sat", {"p_x": sympy.Rational(5)}))
    assert smt.decide(x, WHERE) is None


def test_too_many_parameters_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "_ask", lambda *_: ("unsat", {}))
    names = [f"y{i}" for i in range(smt.MOST_PARAMETERS + 1)]
    assert smt.decide(sympy.Add(*map(sympy.Symbol, names)), region(*map(nonnegative, names))) is None
