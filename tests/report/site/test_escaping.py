"""Text from a user's file stays text, wherever a page shows it."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
from sympy import Le
from typer.testing import CliRunner

from fedtheory.claims.statement import Ambiguity, Assumption, Claim, Hypothesis, Term
from fedtheory.cli import app
from fedtheory.evidence.findings import Row
from fedtheory.evidence.referee import Report
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.quantities import symbols
from fedtheory.report.site.javascript import literal
from fedtheory.report.site.pages import docstring, render
from fedtheory.report.site.refereed_page import page, save
from tests.report.site import chromium
from tests.report.site.reading import Page

EVIL = """"'></script></td><script>window.evil = 1</script><img src=x onerror="window.evil = 2">{{ 7 * 7 }}"""
L, eta, R, distance = symbols("smoothness", "local_lr", "rounds", "initial_distance")


def report(text: str) -> Report:
    """A report with this text wherever a file, or what is made of it, can have one."""
    claim = Claim(
        id="mine.thm1", edition="main", title=text, source=text,
        functional=replace(FINAL_SQUARED_DISTANCE, meaning=text, latex=rf"\mathrm{{{text}}} {text}"),
        terms=(Term(text, distance**2 / (R * eta * L)), Term("second", eta * L)),
        hypotheses=(Hypothesis(text, Le(eta, 1 / L), text, alternatives={text: Le(2 * eta, 1 / L)}),),
        assumptions=(Assumption(text, "smoothness", text),),
        ambiguities=(Ambiguity(text, ("literal", text), text),),
        rates=(Term(text + "rate", 1 / R),),
        letters={"smoothness": text, "rounds": rf"\hat{{{text}}}"},
        constants=text,
    )  # fmt: skip
    instance = {
        "claim": text,
        "federation": {text: [text]},
        "left": text,
        "right": text,
        "ratio": text,
        "violates": [text],
        "hypotheses": [{"name": text, "statement": text, "source": text, "slack": text}],
        "readings": [{"reading": {text: text}, "left": text, "right": text, "ratio": text, "refutes": True}],
    }
    search = {"searched": text, "left_out": text, "candidates": 1, "admissible": 1, "seed": 0, "largest_ratio": 1.0}
    return Report("mine.thm1@main", text, "refuted", (Row(text, text, text, text),), 0, text, search, instance, claim)


def test_every_text_of_a_users_file_is_escaped():
    harmless, evil = (Page(page(report(text), [other(text)], OTHER)) for text in ("plain", EVIL))
    assert evil.scripts == harmless.scripts
    assert evil.tags == harmless.tags and evil.handlers == []
    assert not [cell for cell in evil.cells if not cell[1]]
    assert evil.text.count("<script>window.evil = 1</script>") > 15
    assert "49" not in evil.text and "{{ 7 * 7 }}" in evil.text


def other(text):
    return replace(report(text).statement, edition="other", terms=(Term(text, eta),))


OTHER = {"mine.thm1@other": Path("other.html")}


def test_a_page_shows_the_other_editions_of_its_claim_and_no_other_claim():
    this, edition = report("plain"), other("plain")
    alone = page(this)
    assert page(this, [this.statement, replace(edition, id="mine.thm2")], OTHER) == alone
    assert "other.html" in page(this, [this.statement, edition], OTHER) and "other.html" not in alone


def test_lists_of_reports_and_docstrings_are_escaped(tmp_path):
    several = [report(EVIL), replace(report(EVIL), claim="mine.thm2@main", instance=None)]
    several[1] = replace(several[1], statement=replace(several[1].statement, id="mine.thm2"))
    save(several, tmp_path / "r.html")
    listed = Page((tmp_path / "r.html").read_text())
    assert "img" not in listed.tags and listed.text.count("onerror") == 2
    assert {link for link in listed.links if not link.startswith(("#", "data:"))} == {
        "r.mine.thm1%40main.html", "r.mine.thm2%40main.html"
    }  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {
        "r.html", "r.mine.thm1@main.html", "r.mine.thm2@main.html", "mine.thm1@main.instance.json"
    }  # fmt: skip
    assert "<script>" not in docstring(EVIL) and "<img" not in docstring(f"Args:\n    {EVIL}")
    assert "<" not in literal(EVIL)


def test_every_text_of_a_report_was_tried():
    """A field that is added to what a user's file can say is to be escaped too, and to be tried here."""
    assert {field.name for field in fields(Claim)} == {
        "id", "edition", "title", "source", "functional", "terms", "hypotheses", "assumptions", "ambiguities",
        "choices", "algorithm", "bound", "rates", "letters", "constants",
    }  # fmt: skip
    assert {field.name for field in fields(Report)} == {
        "claim",
        "title",
        "state",
        "rows",
        "steps",
        "proof",
        "search",
        "instance",
        "chain",
        "statement",
    }


def test_a_report_is_a_page_where_its_name_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("fedtheory.evidence.referee.referee", lambda *arguments, **more: (report("plain"),))
    for name in ("r.html", "r.json", "r.md"):
        done = CliRunner().invoke(app, ["referee", "mine.py", "--save", str(tmp_path / name)])
        assert done.exit_code == 1, done.output
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "r.json").read_text().startswith("[") and (tmp_path / "r.md").read_text().startswith("# ")
    refused = CliRunner().invoke(app, ["referee", "mine.py", "--save", str(tmp_path / "r.pdf")])
    assert isinstance(refused.exception, ValueError) and ".html or .md or .json" in str(refused.exception)
    with pytest.raises(ValueError, match="does not hold its claim"):
        page(replace(report("plain"), statement=None))


@pytest.mark.skipif(chromium.program() is None, reason=f"no browser: none of {', '.join(chromium.NAMES)} is there")
def test_a_browser_runs_nothing_of_it(tmp_path, quiet):
    save([report(EVIL)], tmp_path / "r.html")
    quiet.load(tmp_path / "r.html")
    assert quiet.run("window.evil") is None
    assert float(quiet.run("document.querySelector('[data-total=value]').dataset.value")) > 0


def test_templates_escape_by_themselves():
    assert "<script>window" not in render("parts.html", parts=[], list="x", title=EVIL, lead=EVIL, up="")
