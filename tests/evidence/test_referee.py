"""The referee on the documented example, on variations of it, and on files that state nothing."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import runpy
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import sympy
from typer.testing import CliRunner

from fedtheory.claims.statement import Hypothesis
from fedtheory.cli import app
from fedtheory.cli.statuses import run as run_command
from fedtheory.evidence import referee as module
from fedtheory.evidence.confirm import confirmed
from fedtheory.evidence.referee import RefereeError, examine, load, referee, save, status
from fedtheory.evidence.repair import repairs
from fedtheory.evidence.search import search
from fedtheory.evidence.verdict_rule import PROVED_AND_REFUTED
from fedtheory.papers import added, claim, papers
from fedtheory.papers.proofs import proof_of
from fedtheory.papers.registry import algorithm_of, algorithms
from fedtheory.participation import Uniform
from fedtheory.quantities import symbols

EXAMPLE = Path(__file__).parents[2] / "docs" / "referee" / "my_theorem.py"
CANDIDATES = 150
MINE = """
from dataclasses import replace
import sympy
from fedtheory.claims.statement import Assumption, Claim, Term
from fedtheory.functionals import LINEARIZATION_ERROR
from fedtheory.papers.paper import Paper
from fedtheory.proof.printed_proof import PrintedProof
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
    printed_proofs=(PrintedProof("twice Lemma 1", ("mine.thm1@main",), ("mine.rounded",)),),
)
"""


@pytest.fixture(scope="module", autouse=True)
def _once():
    """What is searched and repaired depends on nothing but what is asked, so a claim that several tests examine is
    searched once; ``confirmed`` and proofs, which tests replace, are asked again."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("search", "repairs"):
            patch.setattr(module, name, _kept(getattr(module, name)))
        yield


def _kept(function):
    known = {}

    def kept(claim, *, progress=None, **asked):
        key = (claim, *asked.items())
        if key not in known:
            known[key] = function(claim, **asked)
        return known[key]

    return kept


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
    assert text.index("Searched: runs of fast with snapshot_probability = 1 on") < text.index("| claim |")
    assert '"rounds": ' in text and f"fedtheory replay {report.instance_file} --theorem" in text
    with pytest.raises(ValueError, match=r"allowed is a name that ends in \.md or \.json"):
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
    true = claim("khaled2020.thm1")
    report = examine(true, candidates=60)
    assert report.state == "proved" and report.steps == 1 and status([report]) == 0
    assert "Proof: 'composed, khaled2020.thm1@main', made by the kernel." in report.markdown()
    monkeypatch.setattr(module, "proof_of", lambda claim: None)
    monkeypatch.setattr(module, "_own_decisions", lambda claim, attempt: ())
    report = examine(true, candidates=60)
    assert report.state == "survived" and report.steps == 0 and status([report]) == 0


def test_a_paper_of_several_claims_is_examined_claim_by_claim(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    proved, refuted = referee(path, candidates=60)
    assert (proved.claim, proved.state, proved.steps) == ("mine.thm1@main", "proved", 1)
    assert (refuted.claim, refuted.state) == ("mine.thm2@main", "refuted") and "mine" not in papers()
    assert refuted.proof.startswith("not proved; ") and not any(row.check == "proof" for row in refuted.rows)
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
        ("x = 1\ny = (", r"my\.py, line 2: SyntaxError: '\(' was never closed; the theorem's state is unknown$"),
        (
            "class Own(BaseException):\n    pass\n\n\nraise Own('mine')",
            r"my\.py, line 5: Own: mine; the theorem's state",
        ),
        ("raise ValueError('one\\ntwo')", r"my\.py, line 1: ValueError: one two; the theorem's state"),
        ("raise SystemExit(3)", r"my\.py, line 1: SystemExit: 3; the theorem's state is unknown"),
        ("x = 1", r"my\.py: neither CLAIM nor PAPER is there: allowed is one of them$"),
        ("CLAIM = 'x^2'", r"CLAIM = 'x\^2': allowed is a fedtheory\.claims\.statement\.Claim"),
    ],
)
def test_a_file_that_states_nothing_decides_nothing(tmp_path, text, message):
    path = tmp_path / "my.py"
    path.write_text(text)
    with pytest.raises(RefereeError, match=message):
        referee(path)
    done = CliRunner().invoke(app, ["referee", str(path)])
    assert done.exit_code != 0 and isinstance(done.exception, RefereeError)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("claims=CLAIM", r"claims = Claim.*\.\.\.: allowed is a tuple of fedtheory\.claims\.statement\.Claim"),
        ("claims=(CLAIM,), steps=(1,)", r"steps = \(1,\): allowed is a tuple of fedtheory\.proof\.steps\.Step"),
        ("claims=(CLAIM,), derivations=('a',)", r"derivations = \('a',\): allowed is a tuple of .*Derivation"),
        ("claims=(CLAIM,), printed_proofs=5", r"printed_proofs = 5: allowed is a tuple of .*PrintedProof"),
        ("letters=5", "letters = 5: allowed is a mapping from names to texts"),
        ("prose={'z': 1}", "prose = {'z': 1}: allowed is a mapping from names to texts"),
        ("subjects={'a': 5}", "subjects = {'a': 5}: allowed is a mapping from names to subjects"),
        ("scopes={'a': int}", "scopes = {'a': <class 'int'>}: allowed is a mapping from names to subjects"),
        ("algorithm=5", "algorithm = 5: allowed is a text"),
        ("rests_on='fast'", "rests_on = 'fast': allowed is a tuple of builtins.str"),
        ("evaluators=5", "evaluators = 5: allowed is a tuple of builtins.str"),
        ("counterexamples={'a': 5}", "= {'a': 5}: allowed is a mapping from names to functions of a claim"),
        ("families={'a': 5}", r"families = {'a': 5}: allowed is a mapping from names to .*\.Family"),
        ("example=5", "example = 5: allowed is a function of a claim, or None"),
        ("citation=5", "citation = 5: allowed is a .*Citation, or None"),
        ("errata=5", "errata = 5: allowed is a tuple of .*Erratum"),
        ("claims=(CLAIM,), derivations=[Derivation(steps=())]", r"unexpected keyword argument 'steps'"),
    ],
)
def test_a_paper_of_wrong_parts_is_refused_with_its_line(tmp_path, part, message):
    path = tmp_path / "my.py"
    more = "from fedtheory.papers.paper import Paper\nfrom fedtheory.proof.derivations import Derivation\n"
    path.write_text(f"{EXAMPLE.read_text()}\n{more}PAPER = Paper(name='example', title='', {part})\n")
    line = len(path.read_text().splitlines())
    with pytest.raises(RefereeError, match=rf"my\.py, line {line}: \w+: .*{message}"):
        load(path)


def test_a_folder_that_fails_is_told_by_the_file_in_it(tmp_path):
    (tmp_path / "__init__.py").write_text(
        "from fedtheory.papers.paper import Paper\nPAPER = Paper('a', '', home=__name__)\n"
    )
    (tmp_path / "statements.py").write_text(
        "from fedtheory.claims.statement import Claim\n\nCLAIMS = (Claim(steps=1),)\n"
    )
    with pytest.raises(RefereeError, match=r"statements\.py, line 3: TypeError: .*'steps'"):
        load(tmp_path)


def test_steps_that_are_none_are_refused(tmp_path, example):
    path = tmp_path / "my.py"
    path.write_text(EXAMPLE.read_text() + "\nSTEPS = ['z <= 1']\n")
    with pytest.raises(RefereeError, match=r"STEPS = \['z <= 1'\]: allowed is a tuple of"):
        load(path)
    with pytest.raises(RefereeError, match="no such file"):
        load(tmp_path / "absent.py")


def test_a_lead_that_is_not_confirmed_leaves_the_theorem_open(example, monkeypatch):
    monkeypatch.setattr("fedtheory.evidence.refute.confirmed", lambda *arguments: (None, "no point can hold it"))
    report = examine(example.claims[0], candidates=CANDIDATES)
    assert report.state == "open" and status([report]) == 2
    assert report.rows[0].check == "search" and report.rows[0].what.endswith("confirms it: no point can hold it")


def test_what_is_proved_and_refuted_is_told_with_both(monkeypatch, tmp_path) -> None:
    half = claim("fast.lemma1").edited("half", "", terms={"curvature": claim("fast.lemma1").right_side / 2})
    assert examine(half, candidates=CANDIDATES).state == "refuted"
    monkeypatch.setattr(module, "proof_of", lambda _: proof_of(claim("fast.lemma1")))
    report = examine(half, candidates=CANDIDATES)
    assert report.state == PROVED_AND_REFUTED and status([report]) == 1
    (row,) = [row for row in report.rows if row.check == "proof and instance"]
    assert "one of the two is wrong" in row.what and "one of the two is wrong" in report.markdown()
    save([report], tmp_path / "r.md")
    assert json.loads((tmp_path / report.proof_file).read_text())["outcome"] == "proved"
    assert json.loads((tmp_path / report.instance_file).read_text())["refutes"] is True
    assert report.proof_file in (tmp_path / "r.md").read_text()


def test_the_instance_of_a_saved_report_is_replayed_with_its_theorem(report, tmp_path):
    save([report], tmp_path / "r.md")
    instance = str(tmp_path / report.instance_file)
    done = CliRunner().invoke(app, ["replay", instance, "--theorem", str(EXAMPLE)])
    assert done.exit_code == 0 and "refuted under 1 of 1 reading\n" in done.stdout
    assert "unknown claim 'example.thm1'" in str(CliRunner().invoke(app, ["replay", instance]).exception)
    harmless = tmp_path / "harmless.py"
    harmless.write_text(EXAMPLE.read_text().replace("2 * eta * sigma**2", "2 * eta * sigma**2 + distance**2 * mu"))
    done = CliRunner().invoke(app, ["replay", instance, "--theorem", str(harmless)])
    assert done.exit_code == 1 and "replay failed: example.thm1@main: the bound is not exceeded" in done.stderr


LOCAL = """
from dataclasses import replace
from fedtheory.papers import claim
theorem = claim("khaled2020.thm1")
hypotheses = tuple(h for h in theorem.hypotheses if h.name != "everyone")
CLAIM = replace(theorem, id="mine.thm1", hypotheses=hypotheses{more})
"""


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ("", "refuted"),
        (", algorithm='local_sgd'", "survived"),
        (
            ", algorithm='local_sgd', bound={'arbitrary_cohort': theorem.functional and symbol('clients')}",
            "proved",
        ),
    ],
)
def test_a_claim_is_judged_on_the_runs_of_the_algorithm_that_it_names(tmp_path, more, state):
    """Khaled's theorem, without the words that everyone takes part: FAST with q = 0 and one client refutes it."""
    path = tmp_path / "mine.py"
    path.write_text("from fedtheory.quantities import symbol\n" + LOCAL.format(more=more))
    (found,) = referee(path, candidates=150)
    assert found.state == state
    whose, advice = ("local_sgd", False) if more else ("fast", True)
    assert found.search["searched"].startswith(f"runs of {whose}")
    assert (f"state `algorithm=`, one of {', '.join(algorithms())})" in found.search["searched"]) == advice
    assert found.instance is None or found.instance["algorithm"]["kind"] == "fast"


def test_an_algorithm_that_nobody_knows_is_named_with_its_line(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(LOCAL.format(more=",\n    algorithm='local_sdg'"))
    with pytest.raises(RefereeError) as error:
        referee(path)
    assert str(error.value) == (
        f"{path}, line 7: algorithm = 'local_sdg' of mine.thm1@main: no paper draws its runs: did you mean "
        f"'local_sgd'? known are {', '.join(sorted(algorithms()))}"
    )


def test_no_admissible_setting_is_untested_and_not_judged():
    (R,), true = symbols("rounds"), claim("khaled2020.thm1")
    longer = (Hypothesis("long", sympy.Ge(R, 10**16), ""), *(h for h in true.hypotheses if h.name != "everyone"))
    never = dataclasses.replace(true, id="mine.thm1", algorithm="local_sgd", hypotheses=longer)
    report = examine(never, candidates=40)
    assert report.state == "untested" and report.search["admissible"] == 0 and status([report]) == 2
    assert "**untested**: no setting that was looked at meets every hypothesis" in report.markdown()


def test_a_term_that_no_setting_shows_is_unseen_and_not_unnecessary():
    """Where no client has noise the terms with it are 0; a factor of 0 would look enough for them."""
    true, (sigma,) = claim("khaled2020.thm1"), symbols("gradient_noise")
    silent = dataclasses.replace(
        true, id="mine.thm1", hypotheses=(*true.hypotheses, Hypothesis("no_noise", sympy.Le(sigma, 0), ""))
    )
    report = examine(silent, candidates=60)
    assert report.search["unseen"] == ["noise", "drift"]
    assert {row.where for row in report.rows if "is unseen: at most 0 of the right side" in row.what} == {
        "noise", "drift",
    }  # fmt: skip
    assert search(true, candidates=60, climbs=1, steps=5).unseen == ()


def test_a_factor_of_a_term_that_no_setting_shows_is_no_repair():
    """With snapshots in every round what is multiplied by 1 - q is 0 at every admissible setting."""
    whole = dataclasses.replace(claim("fast.thm2@corrected"), bound={"snapshot_probability": 1})
    sentences = {repair.where: repair.sentence for repair in repairs(whole) if repair.name == "factor"}
    assert sentences["arbitrary_rounds"].startswith("arbitrary_rounds is unseen: at most 0 of the right side")
    assert all("unseen" not in sentences[name] for name in ("initial", "heterogeneity", "noise"))


def test_the_reason_why_a_lead_is_not_confirmed_is_told():
    mine = claim("khaled2020.thm1")
    lead = search(mine, candidates=30, climbs=1, steps=2).best
    judgement, why = confirmed(mine, lead)
    assert judgement is None and "exact points near it do not refute the claim; with 16 digits: left " in why
    assert "is not shown to exceed right" in why
    huge = dataclasses.replace(lead, point=dataclasses.replace(lead.point, participation=Uniform(1)))
    assert confirmed(claim("fast.eq13"), dataclasses.replace(huge, quantities={}))[1]


def test_what_the_files_own_code_gets_wrong_is_told_with_its_line(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(LOCAL.format(more="") + "def wrong():\n    return {}['absent']\n")
    monkeypatch.setattr(module, "examine", lambda *arguments: runpy.run_path(str(path))["wrong"]())
    with pytest.raises(RefereeError, match=r"mine\.py, line 8: KeyError: 'absent'; nothing is decided about mine"):
        referee(path)
    monkeypatch.setattr(module, "examine", lambda *arguments: {}["ours"])
    with pytest.raises(KeyError, match="ours"):  # of this program, not of the file
        referee(path)


@pytest.mark.parametrize(
    "states", [("proved", "survived", "steps decided"), ("refuted", "open"), ("contradictory",), ("untested",)]
)
def test_the_exit_status(states, report):
    reports = [dataclasses.replace(report, state=state) for state in states]
    expected = 0 if "proved" in states else 2 if "untested" in states else 1
    assert status(reports) == expected


def test_where_a_report_is_saved_is_checked_before_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "referee", lambda *arguments, **more: pytest.fail("it has begun"))
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o755)

    def refused(target):
        done = CliRunner().invoke(app, ["referee", str(EXAMPLE), "--save", str(tmp_path / target)])
        return isinstance(done.exception, ValueError) and "allowed is a " in str(done.exception)

    assert refused("r.pdf") and refused("file/r.md") and refused(".")
    monkeypatch.setattr("os.access", lambda path, mode, known=os.access: mode == os.R_OK and known(path, mode))
    assert refused("r.md") and refused("new/folder/r.md")


def test_a_short_search_climbs_from_fewer(monkeypatch):
    asked = []

    def searching(claim, *, candidates, climbs, **options):
        asked.append((candidates, climbs))
        raise RefereeError("enough")

    monkeypatch.setattr(module, "search", searching)
    for options in ({}, {"candidates": 360}, {"candidates": 60}, {"candidates": 1}):
        with pytest.raises(RefereeError, match="enough"):
            examine(claim("fast.lemma2"), **options)
    assert asked == [(1500, 12), (360, 12), (60, 2), (1, 1)]


HOSTILE = """
from dataclasses import replace
from types import SimpleNamespace
import sympy
from fedtheory.claims.statement import Hypothesis, Term
from fedtheory.papers import claim
from fedtheory.papers.paper import Paper
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.steps import Identity, Step
from fedtheory.quantities import symbols

(q,) = symbols("snapshot_probability")
FAST = claim("fast.lemma1")
ONE = Step("mine.one", "(1)", "1 = 1", "identity", (Identity(sympy.Integer(1), sympy.Integer(1)),))
OTHER = SimpleNamespace(name="fast")


def of(this, subjects=None):
    by = PrintedProof("mine", (this.ref,), ("mine.one",))
    return Paper("mine", "", claims=(this,), steps=(ONE,), printed_proofs=(by,), subjects=subjects or {{}})


{file}
"""
HOSTILE_FILES = {
    "an expression about points": ("PAPER = of(replace(FAST, id='mine.thm', functional=replace(FAST.functional, "
                                   "expression=sympy.Integer(0)), terms=(Term('nothing', FAST.right_side * 0),)))",
                                   2, "mine.thm@main: functional = linearization_error"),
    "1 = 1": ("PAPER = of(replace(FAST, id='mine.thm', terms=(Term('all', 2 * FAST.right_side / 3),)))",
              1, "**refuted**"),
    "contradictory": ("CLAIM = replace(FAST, id='mine.thm', hypotheses=(*FAST.hypotheses, Hypothesis('more', "
                      "sympy.Ge(q, 2), '')))", 1, "**contradictory**"),
    "a name": ("PAPER = of(replace(FAST, id='mine.thm'), {'fast': OTHER})", 2,
               "paper 'mine': its subject 'fast' would be another one than that of paper 'fast'"),
    "a compute": ("PAPER = of(replace(FAST, id='mine.thm', functional=replace(FAST.functional, compute=print)))", 2,
                  "has another compute than the built-in"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE_FILES)
def test_a_hostile_file_earns_no_word(kind: str, tmp_path, monkeypatch) -> None:
    """A report, or one line, and never a word that reads like a proof; no traceback."""
    text, code, told = HOSTILE_FILES[kind]
    path = tmp_path / "mine.py"
    path.write_text(HOSTILE.format(file=text))
    short = lambda *arguments, **more: referee(*arguments, **more | {"candidates": CANDIDATES})  # noqa: E731
    monkeypatch.setattr(module, "referee", short)
    done = printed_by_the_referee(path)
    assert done[0] == code and told in done[1] and "Traceback" not in done[1], done[1]
    assert "**proved**" not in done[1] and "**steps decided**" not in done[1]
    assert code == 1 or done[1].strip().count("\n") == 0


def printed_by_the_referee(path: Path) -> tuple[int, str]:
    """The status, and all that is printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command(["referee", str(path)])
    return code, out.getvalue() + err.getvalue()


def test_without_an_attempt_the_papers_own_steps_are_told():
    """Also where some derivation is about the claim, and none was tried."""
    statement = claim("fast.thm1@sharp")
    paper = papers()[statement.paper]
    assert any(derivation.fits(statement, algorithm_of(statement)) for derivation in paper.derivations)
    assert next(iter(module._own_decisions(statement, None))).step.name == paper.steps[0].name
