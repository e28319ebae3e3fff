"""Every printed step that does not hold stands in the paper's list of findings, also where a proof does without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtheory.evidence.findings import CLAIMED, NO_CLAIM, UNDECIDED, open_row, step_rows
from fedtheory.evidence.referee import cell
from fedtheory.papers.proofs import library
from fedtheory.papers.saved_certificates import folders
from fedtheory.proof.step_certificates import own_steps

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"


@pytest.fixture(scope="module")
def failing() -> dict[str, list]:
    """By paper, the printed steps that fail."""
    decided = {paper: map(library().decided, own_steps(paper, library())) for paper in folders()}
    return {paper: [d for d in those if d.step.printed and not d.closed] for paper, those in decided.items()}


@pytest.mark.parametrize(("paper", "count"), [("fast", 9), ("flics", 29), ("fedau", 6), ("safari", 15)])
def test_the_page_has_all_of_them(failing, paper: str, count: int) -> None:
    page = (FINDINGS / f"{paper}.md").read_text(encoding="utf-8")
    rows = [open_row(NO_CLAIM, decision) for decision in failing[paper]]
    told = [row.what.removesuffix(UNDECIDED).removeprefix(CLAIMED).removesuffix(".") for row in rows]
    assert len(rows) == count and [what for what in told if cell(what) not in page] == []


def test_what_is_said_is_not_said_again() -> None:
    every = list(step_rows("fedau", ()))
    assert {row.claim for row in every} >= {"fedau.lemmaB_7_1@main", "fedau.cor4@main"}
    first = [row for row in every if row.where == every[0].where]
    assert 0 < len(first) < len(every)
    assert list(step_rows("fedau", [row for row in every if row not in first])) == first
    assert not any(row.claim.endswith("corrected") for row in every)  # of what is printed alone


def test_steps_of_no_claim_are_told() -> None:
    assert {row.where for row in step_rows("safari", ()) if row.claim == NO_CLAIM} >= {"before (2)", "(24)"}
