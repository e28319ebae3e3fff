"""The referee on the documented example, on variations of it, and on files that state nothing."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import sympy
from typer.testing import CliRunner

from fedtheory.claims.statement import Hypothesis
from fedtheory.cli import app
from fedtheory.evidence import referee as module
from fedtheory.evidence.referee import RefereeError, examine, load, referee, save
from fedtheory.evidence.rule import Contradiction
from fedtheory.papers import added, claim, papers
from fedtheory.papers.proofs import proof_of
from fedtheory.quantities import symbols

EXAMPLE = Path(__file__).parents[2] / "docs" / "referee" / "my_theorem.py"
CANDIDATES = 150
MINE = """
from dataclasses import replace
import sympy
from fedtheory.claims.statement import Assumption, Claim, Term
from fedtheory.functionals import LINEARIZATION_ERROR
from fedtheory.papers.paper import Paper
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.write import same
from fedtheory.quantities import symbols

L, d = symbols("smoothness", "displacement")
TWICE = Claim(
    id="mine.thm1", title="Twice the quadratic model", source="mine, Theorem 1", functional=LINEARIZATION_ERROR,
    terms=(Term("curvature", L * d**2),), assumptions=(Assumption("smooth", "smoothness", "Assumption 1"),),
)
QUARTER = replace(TWICE, id="mine.thm2", terms=(Term("curvature", L * d**2 / 4),))
x = sympy.Symbol("x")
PAPER = Paper(
    name="mine", title="Mine", claims=(TWICE, QUARTER),
    steps=(same("mine.rounded", "(1)", "x + x = 2x", [(x + x, 2 * x)], rests_on=("lemma1.integral",)),),
    derivations=(
        Derivation("twice Lemma 1", functional="linearization_error", steps=("mine.rounded",),
                   right_side=sympy.Symbol("smoothness") * sympy.Symbol("displacement")**2,
                   assumptions=("smoothness",), proves=("mine.thm1@main",)),
    ),
)
"""


@pytest.fixture(scope="module")
def example():
    return load(EXAMPLE)


@pytest.fixture(scope="module")
def report(example):
    with added(example):
        return examine(example.claims[0], candidates=CANDIDATES)


def test_the_example_is_refuted_by_an_exact_instance(report):
    assert report.state == "refuted"
    assert report.instance["refutes"] and float(report.instance["ratio"]) > 1
    assert report.rows[0].check == "instance"
    assert report.search["largest_ratio"] > 1


def test_a_theorem_about_snapshots_in_every_round_excludes_nothing(report):
    assert not [row for row in report.rows if row.check == "consistency"]


def test_the_examples_wrong_step_is_named_with_a_counterexample(report):
    gaps = [row for row in report.rows if row.check == "proof"]
    assert [row.where for row in gaps] == ["(9)"]


def test_the_report_is_written_as_its_suffix_says(report, tmp_path):
    assert json.loads(save([report], tmp_path / "r.json").read_text())[0]["state"] == "refuted"
    text = save([report], tmp_path / "r.md").read_text()
    assert text.startswith("# example.thm1@main: Local SGD") and "| instance |" in text
    with pytest.raises(ValueError, match=r"allowed is a name that ends in \.json or \.md"):
        save([report], tmp_path / "r.pdf")


def test_units_and_contradictions_are_found(example):
    L, eta, K = symbols("smoothness", "local_lr", "local_steps")
    (claimed,) = example.claims
    wrong = claimed.edited("main", "example", terms={"noise": claimed.term("noise").expression * L})
    rows = examine(wrong, candidates=20).rows
    assert any(row.check == "units" and row.where == "noise" for row in rows)
    impossible = dataclasses.replace(
        claimed, hypotheses=(*claimed.hypotheses, Hypothesis("large_step", sympy.Ge(eta, 1 / (L * K)), "example"))
    )
    assert examine(impossible, candidates=20).state == "contradictory"


def test_a_true_theorem_is_proved_or_survives(monkeypatch):
    report = examine(claim("fast.eq30"), candidates=60)
    assert report.state == "proved" and report.steps > 5 and f"Proof: {report.steps} steps" in report.markdown()
    monkeypatch.setattr(module, "proof_of", lambda claim: None)
    monkeypatch.setattr(module, "_own_decisions", lambda claim: ())
    report = examine(claim("fast.eq30"), candidates=60)
    assert report.state == "survived" and report.steps == 0


def test_a_paper_of_several_claims_is_examined_claim_by_claim(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    proved, refuted = referee(path, candidates=60)
    assert (proved.claim, proved.state, proved.steps) == ("mine.thm1@main", "proved", 6)
    assert (refuted.claim, refuted.state) == ("mine.thm2@main", "refuted") and "mine" not in papers()
    assert any(row.check == "proof" for row in refuted.rows)
    done = CliRunner().invoke(app, ["referee", str(path), "--json"])
    assert done.exit_code == 1 and [r["state"] for r in json.loads(done.stdout)] == ["proved", "refuted"]


def test_a_file_with_the_name_of_a_paper_is_refused(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE.replace("mine", "fast"))
    with pytest.raises(RefereeError, match="paper 'fast': another one has that name"):
        referee(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_this_name", r"my\.py, line 1: ModuleNotFoundError: .*unknown"),
        ("x = 1\ny = (", r"my\.py, line 2: SyntaxError: .*unknown"),
        ("raise SystemExit(3)", r"my\.py, line 1: SystemExit: 3; the theorem's state is unknown"),
        ("x = 1", r"CLAIM = None: allowed is a fedtheory\.claims\.statement\.Claim"),
        ("CLAIM = 'x^2'", r"CLAIM = 'x\^2': allowed"),
    ],
)
def test_a_file_that_states_nothing_decides_nothing(tmp_path, text, message):
    path = tmp_path / "my.py"
    path.write_text(text)
    with pytest.raises(RefereeError, match=message):
        referee(path)
    done = CliRunner().invoke(app, ["referee", str(path)])
    assert done.exit_code != 0 and isinstance(done.exception, RefereeError)


def test_steps_that_are_none_are_refused(tmp_path, example):
    path = tmp_path / "my.py"
    path.write_text(EXAMPLE.read_text() + "\nSTEPS = ['z <= 1']\n")
    with pytest.raises(RefereeError, match="STEPS: allowed is a list"):
        load(path)
    with pytest.raises(RefereeError, match="no such file"):
        load(tmp_path / "absent.py")


def test_a_lead_that_is_not_confirmed_leaves_the_theorem_open(example, monkeypatch):
    monkeypatch.setattr(module, "refuting_point", lambda *arguments: None)
    report = examine(example.claims[0], candidates=CANDIDATES)
    assert report.state == "open"
    assert report.rows[0].check == "search"


def test_what_is_proved_and_refuted_stops_the_program(monkeypatch) -> None:
    half = claim("fast.lemma1").edited("half", "", terms={"curvature": claim("fast.lemma1").right_side / 2})
    assert examine(half, candidates=CANDIDATES).state == "refuted"
    monkeypatch.setattr(module, "proof_of", lambda _: proof_of(claim("fast.lemma1")))
    with pytest.raises(Contradiction, match="half: an instance refutes a claim whose proof is complete"):
        examine(half, candidates=CANDIDATES)
