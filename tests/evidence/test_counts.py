"""How many statements have which verdict: as docs/theorems.md and the front page tell it, from what is published."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fedtheory.claims.comparison import PRINTED, is_printed
from fedtheory.evidence.counts import VERDICTS, counted, read_literally, text
from fedtheory.evidence.scorecard import published_rows
from fedtheory.papers import all_claims
from fedtheory.report.generated_docs import BEGIN, END

PAGE = Path(__file__).parents[2] / "docs" / "theorems.md"
CLAIMS, ROWS = all_claims(), published_rows()
COUNTS = counted(CLAIMS, ROWS)


def test_every_statement_is_counted_once() -> None:
    refs = [ref for count in COUNTS.values() for ref in (*count.printed, *count.own)]
    assert sorted(refs) == sorted(claim.ref for claim in CLAIMS) and set(COUNTS) <= {*VERDICTS}
    assert all(ROWS[ref]["verdict"] == word for word, count in COUNTS.items() for ref in (*count.printed, *count.own))
    for name in {claim.paper for claim in CLAIMS}:
        of = [claim for claim in CLAIMS if claim.paper == name]
        printed, own = map(sum, zip(*(count.of(name) for count in COUNTS.values()), strict=True))
        assert (printed, own) == (sum(is_printed(claim) for claim in of), sum(not is_printed(claim) for claim in of))


def test_what_a_paper_prints_says_where() -> None:
    """And the edition tells which it is."""
    where = {"main": r"section|appendix|Theorem|Remark", "appendix": r"appendix|proof of", "submission": "submitted"}
    for claim in CLAIMS:
        assert is_printed(claim) == (claim.edition in PRINTED and "not printed" not in claim.source)
        if is_printed(claim):
            assert re.search(where[claim.edition], claim.source), claim.ref


def test_a_consequence_of_what_is_printed_is_ours() -> None:
    main = next(claim for claim in CLAIMS if is_printed(claim))
    ours = replace(main, source=f"{main.source}: a consequence, not printed")
    assert is_printed(main) and not is_printed(ours) and not is_printed(replace(main, edition="sharp"))


def test_a_proof_that_leaves_the_literal_reading_out_is_marked() -> None:
    """By the options that it covers: the first of each ambiguity is the literal one."""
    for claim in CLAIMS:
        readings = ROWS[claim.ref]["readings"] if ROWS[claim.ref]["verdict"] in ("proved", "steps decided") else {}
        left_out = [a.name for a in claim.ambiguities if a.name in readings and a.options[0] not in readings[a.name]]
        assert read_literally(claim, ROWS[claim.ref]) is (not left_out)
        marked = {ref for count in COUNTS.values() for ref in count.not_literally}
        assert (claim.ref in marked) is (bool(left_out) and is_printed(claim))
    assert "fast.rem2.a@main" in COUNTS["proved"].not_literally  # read as a product; the quotient falls


@pytest.mark.skipif(not PAGE.exists(), reason="the docs are not beside the tests")
def test_the_page_of_theorems_tells_the_counts() -> None:
    """`fedtheory claims --counts --into docs/theorems.md` puts them there."""
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == text(CLAIMS, ROWS)
    for word, count in COUNTS.items():
        assert re.search(rf"^\| {word} \| {len(count.printed)}\b.* \| {len(count.own)} \|$", shown, flags=re.M)
