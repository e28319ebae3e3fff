"""Quantities and functionals of one's own: computed, searched, judged exactly; what is wrong with one, told once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from sympy import Le

from fedtheory.algorithms import fast
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.evidence.judge import judge
from fedtheory.evidence.referee import referee
from fedtheory.evidence.units_check import check_units
from fedtheory.federations import Quadratic
from fedtheory.functionals import Functional
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, left, quantity
from fedtheory.own import ComputeError, define
from fedtheory.participation import Fixed
from fedtheory.quantities import LENGTH, QUANTITIES, SQUARED_LENGTH, Quantity, symbols
from fedtheory.setting import Setting
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.run_subject import PARTS, from_setting

F = Fraction
SETTING = Setting(
    Quadratic([[1], [1]], [[2], [-2]]), fast(cohort=1, snapshot_probability=0, local_lr="1/2"), Fixed([0, 1]), start=3
)


def farthest(question: Question) -> Fraction:
    """max_i |c_i - x*|."""
    fed = question.setting.federation
    return max(abs(c[0] - fed.exact_optimum[0]) for c in fed.exact_centres)


def distance(question: Question) -> object:
    """E|x_R - x*|^2, by the exact moments."""
    exact = question.numbers != FLOAT
    found = question.setting.exact(question.rounds, exact=exact).squared_distance
    return found if np.ndim(question.rounds) else found[0]


spread = define(Quantity("spread_of_centres", "max |c_i - x*|", LENGTH, data=True, compute=farthest))
del cast(dict, QUANTITIES)["spread_of_centres"]  # which the fixture below puts back, for the tests of this file alone
OWN = Functional("own_distance", "E|x_R - x*|^2", SQUARED_LENGTH, r"E|x_R-x^*|^2", compute=distance)
D, eta, L = symbols("initial_distance", "local_lr", "smoothness")


@pytest.fixture(autouse=True)
def _known_here() -> Iterator[None]:
    """The definitions of a test end with it."""
    known = cast(dict[str, Quantity], QUANTITIES)
    before = dict(known)
    known["spread_of_centres"] = Quantity("spread_of_centres", "max |c_i - x*|", LENGTH, data=True, compute=farthest)
    yield
    known.clear()
    known.update(before)


def made(terms: object) -> Claim:
    return Claim(id="mine.thm1", title="t", source="s", functional=OWN, terms=(Term("all", terms),),
                 hypotheses=(Hypothesis("cap", Le(eta, 1 / L), "s"),))  # fmt: skip


@pytest.mark.parametrize(("numbers", "value"), [(FLOAT, 2.0), (EXACT, F(2)), (BALL, 2)])
def test_a_quantity_of_one_s_own_is_asked_like_any_other(numbers: str, value: object) -> None:
    assert quantity("spread_of_centres", Question(SETTING, numbers=numbers)).value == value
    assert left(OWN, Question(SETTING, 2, numbers=numbers)) == 9 / 16 if numbers == FLOAT else F(9, 16)
    several = left(OWN, Question(SETTING, np.array([0, 1, 2]), numbers=numbers))
    assert [float(v) for v in several] == [9, 9 / 4, 9 / 16]


def test_it_stands_in_claims() -> None:
    claim = made(D**2 + spread**2)
    assert claim.quantities[-1] == "spread_of_centres"
    assert not check_units(claim) and check_units(made(D**2 + spread))
    bound = claim.at(SETTING, rounds=[1, 2])
    assert float(bound.value) == 13 and bound.provenance["spread_of_centres"] == "exact: as its compute says"
    for terms, refutes in ((D**2 + spread**2, False), (spread**2 / 4, False), (spread**2 / 8, True)):
        stated = made(terms)
        judged = judge(Instance(stated.ref, from_setting(stated, SETTING, 2, PARTS["fast"])), statement=stated)
        assert judged.refutes == refutes and float(judged.to_json()["left"]) == 9 / 16


def test_a_name_means_one_thing() -> None:
    again = Quantity("spread_of_centres", "max |c_i - x*|", LENGTH, data=True, compute=lambda question: F(2))
    assert define(again) == spread
    define(Quantity("spread_of_centres", "max |c_i - x*|", LENGTH, data=True, compute=farthest))
    for other in (
        Quantity("spread_of_centres", "another", LENGTH, compute=farthest),
        Quantity("rounds", "R", LENGTH),
        replace(QUANTITIES["rounds"], compute=farthest),
    ):
        with pytest.raises(ValueError, match=f"{other.name} is a quantity already: .* allowed is another name"):
            define(other)
    with pytest.raises(ValueError, match="name = 'no name': allowed is a name such as"):
        define(Quantity("no name", "m", LENGTH))
    assert QUANTITIES["spread_of_centres"].compute is farthest


@pytest.mark.parametrize(
    ("compute", "numbers", "why"),
    [
        (lambda question: 1 / 0, FLOAT, "fails: ZeroDivisionError: division by zero"),
        (lambda question: [1.0, 2.0], FLOAT, r"returns an array of shape \(2,\): allowed is one number, or 3, one for"),
        (lambda question: "2", FLOAT, "returns '2': allowed is a number"),
        (lambda question: None, BALL, "returns None: allowed is a Fraction, an int or a ball"),
        (lambda question: 0.5, EXACT, r"returns 0.5: allowed is a Fraction or an int \(a float is not exact\)"),
        (lambda question: 0.5, BALL, r"returns 0.5: .* \(a float is not exact\)"),
        (lambda question: True, EXACT, "returns True"),
        (lambda: 1, FLOAT, "fails: TypeError"),
    ],
)
def test_a_compute_that_is_wrong_is_told_with_its_place(compute: object, numbers: str, why: str) -> None:
    functional = Functional("wrong", "w", LENGTH, "w", compute=compute)
    with pytest.raises(ComputeError, match=rf"test_own.py, line \d+: functional wrong: compute {why}"):
        left(functional, Question(SETTING, [1, 2, 3], numbers=numbers))


FILE = """
from sympy import Le
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import Functional
from fedtheory.own import define
from fedtheory.quantities import LENGTH, SQUARED_LENGTH, Quantity, symbols

L, mu, eta = symbols("smoothness", "strong_convexity", "local_lr")

def widest(question):
    fed = question.setting.federation
    return max(abs(c - fed.exact_optimum).sum() for c in fed.exact_centres){slip}

def error(question):
    found = question.setting.exact(question.rounds, exact=question.numbers != "float").squared_distance
    return found if hasattr(question.rounds, "__len__") else found[0]

W = define(Quantity("widest_centre_{name}", "max |c_i - x*|_1", LENGTH, data=True, compute=widest))
CLAIM = Claim(
    id="own.thm1", title="a bound without the start", source="here",
    functional=Functional("own_error", "E|x_R - x*|^2", SQUARED_LENGTH, "e", compute=error),
    terms=(Term("spread", W**2),), hypotheses=(Hypothesis("cap", Le(eta, 1 / L), "here"),),
    assumptions=(Assumption("smooth", "smoothness", "A"),),
    algorithm="fast",
)
"""


def test_the_referee_refutes_a_claim_of_own_names(tmp_path: Path) -> None:
    """A start far off is not in the bound."""
    file = tmp_path / "own.py"
    file.write_text(FILE.replace("{slip}", "").replace("{name}", "fine"))
    (report,) = referee(file, candidates=60)
    assert report.state == "refuted" and report.instance is not None
    assert float(report.instance["left"]) > float(report.instance["right"])


def test_the_referee_tells_a_wrong_compute_once(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(FILE.replace("{slip}", " / question.nothing").replace("{name}", "wrong"))
    command = [sys.executable, "-m", "fedtheory.cli", "referee", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2 and "Traceback" not in told
    assert told.count("compute fails: AttributeError") == 1 and "own.py, line 12: quantity widest" in told, told
