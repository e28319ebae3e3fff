"""What ``show`` says is kept beside each paper: it has to be what would be said anew."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fedtheory.evidence import claim_summaries
from fedtheory.papers import all_claims, claim, papers


@pytest.mark.parametrize("name", papers())
def test_what_is_kept_is_what_would_be_said(name: str) -> None:
    kept = claim_summaries._kept(papers()[name])
    assert kept == {each.ref: json.loads(json.dumps(claim_summaries.said(each))) for each in papers()[name].claims}


def test_showing_builds_no_expression() -> None:
    code = (
        "import sys; from fedtheory.cli.statuses import run; run(['show', 'fast.thm2', '--json'])\n"
        "print([name for name in ('sympy', 'numpy', 'torch', 'numba', 'flint') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *lines, loaded = run.stdout.splitlines()
    assert json.loads("\n".join(lines)) == claim_summaries.said(claim("fast.thm2"))
    assert loaded == "[]"


OTHER_CODE = '{"sources": "another", "claims": {"fast.thm2@main": 1}}'


@pytest.mark.parametrize("content", [None, "", "[1]", '{"claims": 3}', OTHER_CODE])
def test_a_file_that_is_missing_damaged_or_of_other_code_is_not_read(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        (tmp_path / "kept.json").write_text(content)
    monkeypatch.setattr(claim_summaries, "FILE", tmp_path / "kept.json")
    monkeypatch.setattr(claim_summaries, "said", lambda statement: {"anew": statement.ref})
    assert claim_summaries.shown("fast.thm2") == {"anew": "fast.thm2@main"}


def test_a_file_that_is_right_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"sources": claim_summaries.code_of(papers()["fast"]), "claims": {"fast.thm2@main": {"kept": True}}}
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    monkeypatch.setattr(claim_summaries, "FILE", tmp_path / "kept.json")
    assert claim_summaries.shown("fast.thm2") == claim_summaries.shown("fast.thm2@main") == {"kept": True}
    assert claim_summaries.shown("fast.thm2@sharp")["claim"] == "fast.thm2@sharp"  # one that it lacks


def test_it_depends_on_the_code_that_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On every file, and on the paper."""
    now = claim_summaries.code_of(papers()["fast"])
    assert now != claim_summaries.code_of(papers()["safari"])
    for path in claim_summaries.SAYING:
        with monkeypatch.context() as without:
            without.setattr(claim_summaries, "SAYING", [other for other in claim_summaries.SAYING if other != path])
            assert claim_summaries.code_of(papers()["fast"]) != now, path


def test_a_claim_that_is_not_there_is_named() -> None:
    for ref, why in (("fast.thm22", "did you mean"), ("fast.thm2@shrap", "did you mean 'sharp'"), ("x.y", "unknown")):
        with pytest.raises(ValueError, match=why):
            claim_summaries.shown(ref)


def test_every_claim_is_kept() -> None:
    kept = {ref for paper in papers().values() for ref in claim_summaries._kept(paper)}
    assert kept == {each.ref for each in all_claims()}
