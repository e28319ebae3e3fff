"""Every statement of FLICS, at a setting: both sides have all they need."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory.claims.evaluation import Bound
from fedtheory.claims.statement import Claim
from fedtheory.moments.evaluators import Question, Unserved, left, quantity
from fedtheory.papers import all_claims, claim
from fedtheory.papers.flics.examples.selection_settings import along_a_trace, answers
from fedtheory.setting import Setting

from .selection_settings import one_round

WEIGHT = (F(2, 5), F(3, 5))
TRACE = along_a_trace(WEIGHT, [[2, 1], [1, 3]], [F(3), F(5, 4)], F(2), (F(1), F(-1)), F(3), F(1, 4), F(1, 100))
ROUND = one_round(WEIGHT, (F(1), F(1, 2)), [(F(1), (2, 1), (F(5, 4), F(1, 2)))], F(2), (F(1), F(-1)), F(3), F(1, 4), 2,
                  F(1, 40))  # fmt: skip
STATED = {"estimate_error": 0.3, "least_participation": 0.4, "descent_constant": 0.2, "relative_error": 0.5,
          "failure_probability": 0.1, "hidden_constant": 1.0}  # fmt: skip
REFS = [c.ref for c in all_claims() if c.paper == "flics" and c.functional.scope == "selection"]
HOLDING = [ref for ref in REFS if ref.endswith(("@corrected", "@intermittent", "@received"))]


def where(ref: str) -> tuple[Setting, object]:
    if "lemma" in ref:
        return ROUND, None
    if "eq7" in ref:
        return answers(F(1, 4), 2), [1, 10, 100]
    return TRACE, [1, 10, 100] if ref in HOLDING and "received" not in ref else [1, 4, 8]


def bound(statement: Claim, question: Question) -> Bound:
    """The claim at a setting."""
    values: dict = {}
    known: Mapping = question.setting.quantities(question.rounds, needed=statement.quantities)
    for name in statement.quantities:
        if name in STATED:
            values[name] = STATED[name]
        elif name == "gradient_norm":
            values[name] = abs(2 * (3 - (0.4 - 0.6)))
        elif name in known:
            values[name] = known[name].value
        else:
            values[name] = quantity(name, question).value
    return statement.evaluate(**{name: value for name, value in values.items() if name not in statement.choices})


@pytest.mark.parametrize("ref", REFS)
def test_both_sides(ref: str) -> None:
    statement, (setting, rounds) = claim(ref), where(ref)
    for reading in statement.readings():
        question = Question(setting, rounds, reading, stated=STATED)
        found, value = bound(statement, question), np.asarray(left(statement.functional, question))
        assert value.shape in (np.shape(rounds), ())
        assert np.isfinite(value).all()
        if ref in HOLDING and found.hypotheses_hold and not statement.choices:
            assert (value <= found.value * (1 + 1e-12) + 1e-15).all(), reading


@pytest.mark.parametrize("ref", [ref for ref in HOLDING if "cor1_1" not in ref and "thm2" not in ref])
def test_the_repaired_statements_are_met_by_their_hypotheses(ref: str) -> None:
    statement, (setting, rounds) = claim(ref), where(ref)
    assert bound(statement, Question(setting, rounds, next(statement.readings()), stated=STATED)).hypotheses_hold


def test_what_a_statement_alone_knows_is_asked_for() -> None:
    with pytest.raises(Unserved, match="no evaluator"):
        quantity("descent_constant", Question(TRACE, 10))
