"""The worked files of docs/referee.md: each is examined, and the document shows what is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from fedtheory.evidence.referee import STATES, load, referee, status
from fedtheory.evidence.search import ROUNDING
from fedtheory.papers import added
from fedtheory.papers.khaled2020.subjects import Candidate
from fedtheory.papers.registry import subject_of
from fedtheory.quantities import QUANTITIES, Quantity

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "referee.md").read_text(encoding="utf-8")
FILES = {
    "my_theorem": ({"example.thm1@main": "refuted"}, 1),
    "local_sgd": ({"local.cor1@main": "proved"}, 0),
    "own_algorithm": ({"averaged.thm1@main": "survived", "averaged.thm2@main": "refuted"}, 1),
    "own_functional": ({"limit.thm1@main": "survived", "limit.thm2@main": "refuted"}, 1),
    "own_proof": ({"mine.thm1@main": "open", "mine.thm2@main": "refuted"}, 1),
    "kernel_proof": ({"longer.thm1@main": "proved"}, 0),
}


@pytest.fixture(autouse=True)
def _known_here() -> Iterator[None]:
    """What a file defines ends with the test."""
    known = cast(dict[str, Quantity], QUANTITIES)
    before = dict(known)
    yield
    known.clear()
    known.update(before)


def test_every_worked_file_is_shown() -> None:
    assert {path.stem for path in (DOCS / "referee").glob("*.py")} == set(FILES)
    assert all(f"(referee/{name}.py)" in TEXT for name in FILES)
    assert all(f"| `{state}` | " in TEXT for state in STATES)


@pytest.mark.parametrize("name", FILES)
def test_a_worked_file_is_found_to_be_what_the_document_shows(name: str) -> None:
    states, code = FILES[name]
    reports = referee(DOCS / "referee" / f"{name}.py", candidates=60)
    assert {report.claim: report.state for report in reports} == states and status(reports) == code
    shown = TEXT.partition(f"(referee/{name}.py)")[2].partition("````markdown")[2].partition("````")[0]
    for report in reports:
        head, searched, left_out, proof = (
            re.search(pattern, report.markdown(), flags=re.M)[0]
            for pattern in (r"\A# .*\n\n\*\*.*$", "^Searched: [^,]*", "^Not searched: .*$", "^Proof: .*$")
        )
        assert all(part in shown for part in (head, searched, left_out, proof))
        assert (report.instance is not None) == (report.state == "refuted")


def test_a_worst_case_of_an_algorithm_of_ones_own_is_what_the_document_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quadratics are the worst: z goes to 9/10 and 81/100 of the way, and x to the halves."""
    chapter = TEXT.partition("## Functionals and questions of one's own")[2]
    code, shown = (chapter.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("python", "text"))
    monkeypatch.chdir(DOCS.parent)
    exec(code, {})
    halves = (((1 + 0.9) / 2 + 0.81) / 2) ** 2
    assert capsys.readouterr().out == shown == f"averaged solved {halves:.4f}\nfast_alone solved {0.9**4:.4f}\n"


@pytest.mark.parametrize(
    "candidate",
    [
        Candidate(10, 1, 1, 1.0, 1.0, 0.0, 1.0, 0, 1.0),
        Candidate(10, 1, 1, 0.023, 36.15022729719656, 0.0, 0.0011688350652683554, 2, 1.0, 3.738, 1802553525),
        Candidate(50, 1, 1, 0.022, 0.007465050893153088, 1.7857133676869505e-4, 235.106, 0, 1.0, 134.184, 686272490),
        Candidate(50, 1, 1, 1e-5, 0.005040750184757101, 0.22144500561170222, 869.7042769151946, 0, 1.0),
    ],
)
def test_what_rounding_leaves_of_a_round_that_contracts_to_nothing_is_no_lead(candidate: Candidate) -> None:
    """A step of 1/smoothness brings clients of one curvature to x* at once, but for the noise."""
    paper = load(DOCS / "referee" / "own_proof.py")
    with added(paper):
        found = subject_of(paper.claims[0]).space(paper.claims[0]).assess(candidate)
        assert found is None or found[0].ratio <= 1 + ROUNDING
        halved = subject_of(paper.claims[1]).space(paper.claims[1]).assess(candidate)
        assert not candidate.noise or halved[0].ratio > 1.5
