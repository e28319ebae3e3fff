"""Tables in a narrow window: words and numbers stay whole, in the documentation as in the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.site import chromium

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs" / "_static" / "formulas.css"
REPORT = ROOT / "fedtheory" / "report" / "site" / "assets" / "style.css"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.program() is None, reason=f"no browser: none of {', '.join(chromium.NAMES)} is there"),
    pytest.mark.skipif(not DOCS.exists(), reason="the docs are not beside the tests"),
]

CELLS = ("FedAU, appendix B.6, Lemma B.6.1, (B.6.2)", "steps decided", "0.0729 (0.0366)", "1 step, kernel",
         "refuted where read with conditioning: weights of all rounds")  # fmt: skip
BROKEN = """[...document.querySelectorAll("span.whole")].filter((e) => e.getClientRects().length > 1)
  .map((e) => e.textContent)"""


def whole(text: str) -> str:
    return f'<span class="whole">{text}</span>'


def broken(page: Path, style: str, body: str) -> list[str]:
    """What is broken in a window of 400 pixels, of all that should stay whole."""
    page.write_text(f"<!doctype html><html><head><meta charset=utf-8><style>{style}</style></head>{body}</html>")
    with chromium.browser() as shown:
        shown.look(400)
        shown.load(page)
        return shown.run(BROKEN)


def findings(style: str, page: Path) -> list[str]:
    cells = "".join(f"<td>{' '.join(map(whole, cell.split()))}</td>" for cell in CELLS)
    row = f"<tr><td>fedau.lemmaB_6_1.variance_below@main</td>{cells}</tr>"
    return broken(page, style, f'<article><div style="overflow-x:auto"><table>{row}</table></div></article>')


def counts(style: str, page: Path) -> list[str]:
    own = '<span class="own">+ 25</span>'
    cells = "".join(f"<td>{whole('17')} {own.replace('+ 25', whole('+ 25'))}</td>" for _ in range(7))
    row = f'<tr><th scope="row"><span class="verdict">steps decided</span></th>{cells}</tr>'
    return broken(page, style, f'<main><div class="scroll"><table class="counts">{row}</table></div></main>')


def test_a_table_of_findings_keeps_its_words_and_numbers(tmp_path: Path) -> None:
    """Planted: cells that may be broken anywhere."""
    style = DOCS.read_text(encoding="utf-8")
    assert findings(style, tmp_path / "page.html") == []
    assert "0.0729" in findings("table td { overflow-wrap: anywhere }", tmp_path / "page.html")


def test_the_counts_of_the_scorecard_are_broken_before_the_sign_only(tmp_path: Path) -> None:
    """Planted: the styles without what is said of a cell's parts."""
    style = REPORT.read_text(encoding="utf-8")
    assert counts(style, tmp_path / "page.html") == []
    assert "+ 25" in counts(style.replace("white-space: nowrap", ""), tmp_path / "page.html")
