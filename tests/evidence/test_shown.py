"""What ``show`` says is kept beside each paper: it has to be what would be said anew."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fedtheory.evidence import shown
from fedtheory.papers import all_claims, claim, papers


@pytest.mark.parametrize("name", papers())
def test_what_is_kept_is_what_would_be_said(name: str) -> None:
    kept = shown._kept(papers()[name])
    assert kept == {each.ref: json.loads(json.dumps(shown.said(each))) for each in papers()[name].claims}


def test_showing_builds_no_expression() -> None:
    code = (
        "import sys; from fedtheory.cli.statuses import run; run(['show', 'fast.thm2', '--json'])\n"
        "print([name for name in ('sympy', 'numpy', 'torch', 'numba', 'flint') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *lines, loaded = run.stdout.splitlines()
    assert json.loads("\n".join(lines)) == shown.said(claim("fast.thm2"))
    assert loaded == "[]"


OTHER_CODE = '{"sources": "another", "claims": {"fast.thm2@main": 1}}'


@pytest.mark.parametrize("content", [None, "", "[1]", '{"claims": 3}', OTHER_CODE])
def test_a_file_that_is_missing_damaged_or_of_other_code_is_not_read(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        (tmp_path / "kept.json").write_text(content)
    monkeypatch.setattr(shown, "FILE", tmp_path / "kept.json")
    monkeypatch.setattr(shown, "said", lambda statement: {"anew": statement.ref})
    assert shown.shown("fast.thm2") == {"anew": "fast.thm2@main"}


def test_a_file_that_is_right_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"sources": shown.code_of(papers()["fast"]), "claims": {"fast.thm2@main": {"kept": True}}}
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    monkeypatch.setattr(shown, "FILE", tmp_path / "kept.json")
    assert shown.shown("fast.thm2") == shown.shown("fast.thm2@main") == {"kept": True}
    assert shown.shown("fast.thm2@sharp")["claim"] == "fast.thm2@sharp"  # one that it lacks


def test_it_depends_on_the_code_that_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On every file, and on the paper."""
    now = shown.code_of(papers()["fast"])
    assert now != shown.code_of(papers()["safari"])
    for path in shown.SAYING:
        with monkeypatch.context() as without:
            without.setattr(shown, "SAYING", [other for other in shown.SAYING if other != path])
            assert shown.code_of(papers()["fast"]) != now, path


def test_a_claim_that_is_not_there_is_named() -> None:
    for ref, why in (("fast.thm22", "did you mean"), ("fast.thm2@shrap", "did you mean 'sharp'"), ("x.y", "unknown")):
        with pytest.raises(ValueError, match=why):
            shown.shown(ref)


def test_every_claim_is_kept() -> None:
    kept = {ref for paper in papers().values() for ref in shown._kept(paper)}
    assert kept == {each.ref for each in all_claims()}
