"""What `evaluate` says besides the bound: readings, rates, what is undecided, unused or rounded."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fedtheory.claims.evaluation import ROUNDING
from fedtheory.cli import app
from fedtheory.papers import claim

THM1, COR1 = claim("fast.thm1"), claim("fast.cor1")
AT = {
    "smoothness": 1.0, "gradient_noise": 0.5, "dissimilarity": 0.5, "initial_gap": 2.0, "cohort": 2,
    "arbitrary_cohort": 4, "local_steps": 2, "snapshot_probability": 0.5, "rounds": 100,
}  # fmt: skip
PEAKS = {f"peak_{kind}_pseudogradient": value for kind, value in (("full", 2.0), ("arbitrary", 1.0), ("cohort", 3.0))}


def test_a_reading_changes_the_hypotheses_that_it_is_about():
    literal = THM1.evaluate(**AT, **PEAKS, local_lr=0.01)
    options = next(a.options for a in THM1.ambiguities if a.name == "q-condition")
    assert options == ("quotient", "product")
    for option in options:
        bound = THM1.evaluate(reading={"q-condition": option}, **AT, **PEAKS, local_lr=0.01)
        relation = THM1.hypothesis("q_condition").under({"q-condition": option}).relation
        assert bound.statement.hypothesis("q_condition").relation == relation
        values = AT | PEAKS | {"local_lr": 0.01}
        low, high = (relation.lhs, relation.rhs) if relation.rel_op == "<=" else (relation.rhs, relation.lhs)
        expected = float((high - low).subs({s: values[s.name] for s in relation.free_symbols}))
        assert float(bound.slack["q_condition"]) == pytest.approx(expected, rel=1e-12)
        assert bound.value == literal.value and bound.slack["step_cap"] == literal.slack["step_cap"]
    assert float(literal.slack["q_condition"]) == float(
        THM1.evaluate(reading={"q-condition": options[0]}, **AT, **PEAKS, local_lr=0.01).slack["q_condition"]
    )
    assert THM1.evaluate(reading={}, **AT, local_lr=0.01).statement is THM1


def test_a_reading_is_fixed_for_all_that_is_asked_of_the_claim():
    read = THM1.under({"q-condition": "product", "snapshots": "period"})
    assert sum(1 for _ in read.readings()) == sum(1 for _ in THM1.readings()) / 4
    values = {name: value for name, value in (AT | PEAKS).items() if name != "snapshot_probability"}
    found = read.required("q_condition", "snapshot_probability", local_lr=0.01, **values)
    condition = THM1.hypothesis("q_condition").under({"q-condition": "product"})
    assert found == THM1.required(condition, "snapshot_probability", local_lr=0.01, **values)


def test_wrong_readings_are_refused():
    with pytest.raises(ValueError, match=r"q-condition = 'quotiont': allowed is 'quotient' or"):
        THM1.evaluate(reading={"q-condition": "quotiont"}, **AT, local_lr=0.01)
    with pytest.raises(ValueError, match=r"reading of 'q': allowed for fast.thm1@main is 'snapshots'|reading of 'q'"):
        THM1.under({"q": "product"})
    with pytest.raises(ValueError, match=r"reading of 'average': allowed for flics.lemma6@main is none: it has no"):
        claim("flics.lemma6").under({"average": "r = 1..R"})


def test_what_only_hypotheses_use_may_be_left_out():
    each = claim("flics.thm1")
    in_bound = {s.name for s in each.right_side.free_symbols}
    only = [name for name in each.quantities if name not in in_bound]
    assert "weight_concentration" in each.quantities and only
    values = dict.fromkeys(in_bound, 1.0)
    bound = each.evaluate(**values)
    assert np.isfinite(bound.value) and bound.hypotheses_hold is not True
    for hypothesis in each.hypotheses:
        missing = {s.name for s in hypothesis.slack.free_symbols} - in_bound
        assert (bound.slack[hypothesis.name] is None) is bool(missing)
        assert set(bound.undecided.get(hypothesis.name, ())) == missing
    with pytest.raises(ValueError, match=f"{each.ref} needs {sorted(in_bound)[0]}|needs"):
        each.evaluate(**{name: 1.0 for name in in_bound if name != sorted(in_bound)[0]})


def test_what_is_not_used_is_told():
    bound = THM1.evaluate(**AT, local_lr=0.01, server_lr=1.0, clients=9)
    assert bound.unused == ("server_lr", "clients")
    assert THM1.evaluate(**AT, **PEAKS, local_lr=0.01).unused == ()


def test_printed_rates_are_evaluated():
    bound = COR1.evaluate(**AT, step_constant=1.0)
    share = 4 * 0.5 + 2 * 0.5
    assert float(bound.rates["first"]) == pytest.approx(np.sqrt(share / (2 * 4 * 2 * 100)), rel=1e-15)
    assert float(bound.rates["second"]) == pytest.approx(4 * 2 * 2 / (100 * share), rel=1e-15)
    several = COR1.evaluate(**AT | {"rounds": np.array([100, 400])}, step_constant=1.0).rates["first"]
    assert several[1] == pytest.approx(several[0] / 2, rel=1e-15)
    assert THM1.evaluate(**AT, local_lr=0.01).rates == {}


def test_what_is_negative_by_rounding_alone_counts_as_0():
    each = claim("flics.thm1")
    values = dict.fromkeys({s.name for s in each.right_side.free_symbols}, 1.0)
    zero = each.evaluate(**values | {"selection_variance": 0.0})
    for tiny in (-1e-18, -ROUNDING, np.array([-1e-18, 0.0])):
        bound = each.evaluate(**values | {"selection_variance": tiny})
        assert np.all(bound.value == zero.value) and bound.rounded == ("selection_variance",)
        assert np.all(np.asarray(bound.quantities["selection_variance"]) == 0)
    assert zero.rounded == ()
    for wrong in (-2 * ROUNDING, -0.1, np.array([-1e-18, -1.0]), np.nan):
        with pytest.raises(ValueError, match=r"selection_variance = .*: allowed is a finite number >= 0"):
            each.evaluate(**values | {"selection_variance": wrong})
    for name in ("dissimilarity", "cohort", "local_lr"):  # units, whole numbers, and what is not 0
        with pytest.raises(ValueError, match=f"{name} = .*: allowed is"):
            THM1.evaluate(**AT | {"local_lr": 0.01, name: -1e-18})


def run(*arguments):
    done = CliRunner().invoke(app, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_the_command_says_all_of_it():
    given = [f"{name}={value}" for name, value in AT.items()]
    made = json.loads(run("evaluate", "fast.cor1", *given, "step_constant=1", "clients=9", "--json"))
    assert made["unused"] == ["clients"] and set(made["rates"]) == {"first", "second"}
    assert made["chosen"]["local_lr"] == float(COR1.evaluate(**AT, step_constant=1.0).quantities["local_lr"])
    assert made["slack"]["q_condition"].startswith("undecided: needs peak_full_pseudogradient, peak_arbitrary")
    read = json.loads(run("evaluate", "fast.thm1", *given, *(f"{n}={v}" for n, v in PEAKS.items()), "local_lr=0.01",
                          "--reading", "q-condition=product", "--json"))  # fmt: skip
    assert read["reading"] == {"q-condition": "product"} and "unused" not in read and "rates" not in read
    assert read["slack"]["q_condition"] == float(
        THM1.evaluate(reading={"q-condition": "product"}, **AT, **PEAKS, local_lr=0.01).slack["q_condition"]
    )
    text = run("evaluate", "fast.thm1", *given, "local_lr=0.01", "clients=9")
    assert "unused: clients" in text and "q_condition: undecided: needs peak_full_pseudogradient" in text
    with pytest.raises(ValueError, match="--reading 'product': allowed is ambiguity=option"):
        run("evaluate", "fast.thm1", *given, "--reading", "product")
    rounded = json.loads(run("evaluate", "fast.thm1", *given, "local_lr=0.01", "estimate_error=-1e-18", "--json"))
    assert rounded["counts_as_0"] == ["estimate_error"]
