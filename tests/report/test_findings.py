"""The pages of docs/findings: what is generated of them is what the command gives, and can be read."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fedtheory.claims.comparison import is_printed
from fedtheory.evidence import findings as module
from fedtheory.evidence.findings import UNDECIDED, Row, errata, instance_rows
from fedtheory.papers import all_claims, claim, papers
from fedtheory.quantities import QUANTITIES
from fedtheory.report.errata_pages import errata as errata_of
from fedtheory.report.generated_docs import BEGIN, END, findings, generated, put, verdicts

DOCS = Path(__file__).parents[2] / "docs" / "findings"
PAGES = sorted(path.stem for path in DOCS.glob("*.md"))
here = pytest.mark.skipif(not PAGES, reason="the pages are not beside the tests")


@cache
def rows(paper: str) -> tuple[Row, ...]:
    return errata(paper)


def page(paper: str) -> str:
    """The generated part."""
    text = (DOCS / f"{paper}.md").read_text(encoding="utf-8")
    return text.partition(BEGIN)[2].partition(END)[0].strip()


@here
@pytest.mark.parametrize("paper", PAGES)
def test_a_page_has_the_published_verdicts(paper: str) -> None:
    """`fedtheory errata --paper NAME --into docs/findings/NAME.md` puts them there."""
    assert page(paper).startswith(f"{errata_of(paper)}\n\n{verdicts(paper)}".strip())


@here
@pytest.mark.parametrize("paper", PAGES)
def test_a_page_has_the_findings_of_today(paper: str) -> None:
    assert page(paper) == generated(paper, rows(paper))


@here
@pytest.mark.parametrize("paper", PAGES)
def test_a_page_says_once_what_its_rows_share(paper: str) -> None:
    """No reading has a row of its own that says what the others say, and no difference stands in names of the code."""
    told = page(paper)
    assert told.count("neither proved nor refuted") == 1 and "it is claimed that" not in told
    assert told.count("meets every hypothesis") <= 1 and told.count("No admissible setting") == 0
    lines = [line.split(" | ") for line in told.splitlines() if line.startswith("| ")]
    statements = Counter(line[0] for line in lines if line[1] == "statement" and line[2].startswith("instance"))
    assert max(statements.values()) <= 2
    for *_, check, what in (line for line in lines if line[2].startswith("edition")):
        assert not any(re.search(rf"\b{name}\b", what) for name in QUANTITIES if "_" in name), (what, check)
    heads = {"| claim", "| ---"}
    told_once = [tuple(line) for line in lines if line[0] not in heads]
    assert len(told_once) == len({*told_once})
    widths = {len(re.sub(r"\\\\|\\\|", "", line).split("|")) for line in told.splitlines() if line.startswith("| ")}
    assert widths <= {6, 8}  # four columns of findings, six of verdicts: nothing in a cell ends it


@here
def test_a_row_stands_for_every_claim_of_which_it_speaks() -> None:
    (paper,) = PAGES[:1]
    printed = {each.ref for each in all_claims() if each.paper == paper and is_printed(each)}
    assert {ref for ref in printed if f"| {ref} |" in page(paper)} == printed


def test_readings_that_do_not_matter_have_no_rows(monkeypatch) -> None:
    """Theorem 2 of FLICS falls by what sigma_T is, whatever Sigma is."""
    one = claim("flics.thm2")
    short = [row.what for row in instance_rows(one)]
    assert len(short) == 2 and all("sigma_T" in what and "Sigma:" not in what for what in short)
    every = [dict(reading) for reading in one.readings()]
    monkeypatch.setattr(module, "refuting", lambda judged: [each["reading"] for each in judged if each["refutes"]])
    assert len(list(instance_rows(one))) > 2 and len(every) == 6


def test_rows_that_differ_in_one_part_are_one() -> None:
    both = [Row("fast.thm1@main", "noise", "units do not match: a", "units"),
            Row("fast.thm1@main", "rate", "units do not match: a", "units"),
            Row("fast.thm2@main", "FAST, section 4.2, Theorem 2", f"it is claimed that b.{UNDECIDED}", "proof"),
            Row("fast.thm1@main", "FAST, section 4.2, Theorem 1, (2)", f"it is claimed that b.{UNDECIDED}", "proof"),
            ]  # fmt: skip
    told = findings("fast", both).splitlines()
    assert "| fast.thm1@main | noise; rate | units | units do not match: a |" in told
    assert "| fast.thm2@main, fast.thm1@main | statement | proof, undecided | b |" in told


def test_assumptions_are_explained_once() -> None:
    meant = "who takes part in a round is chosen before the round's gradient noise is drawn, or independently of it"
    said = [Row(ref, "assumptions", f"needs cohort_before_noise, which is not stated ({meant}): 2 > 1", "instance")
            for ref in ("fast.eq13@main", "fast.eq23@main")]  # fmt: skip
    told = findings("fast", said)
    assert told.count(meant) == 1 and f"- `cohort_before_noise`: {meant}" in told
    row = "assumptions | instance | needs `cohort_before_noise`, which is not stated: 2 > 1"
    assert f"| fast.eq13@main, fast.eq23@main | {row} |" in told


def test_what_is_generated_replaces_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")
    put(path, "new")
    assert path.read_text() == f"above\n{BEGIN}\nnew\n{END}\nbelow\n"
    for text in ("none", f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}", f"{BEGIN}\n{END}\n{END}"):
        path.write_text(text)
        with pytest.raises(ValueError, match="allowed is a file with one line"):
            put(path, "new")


def test_the_pages_are_those_of_papers() -> None:
    assert {*PAGES} <= {*papers()}


def test_what_falls_under_some_readings_says_under_which() -> None:
    judged = [{"reading": {"q": option, "r": rest}, "refutes": option == "b", "left": "2", "right": "1", "ratio": "2"}
              for option in "ab" for rest in "xy"]  # fmt: skip
    partly = {"refutes": False, "left": "0", "right": "1", "ratio": "0", "readings": judged}
    assert "(who takes part" in (told := module.needs_text("cohort_before_noise", partly))
    assert ", read with q: b: left 2 > right 1 (2 times)" in told
    assert "read with" not in module.needs_text("cohort_before_noise", partly | {"refutes": True})
