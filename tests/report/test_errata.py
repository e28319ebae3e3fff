"""The errata: one for each printed statement that falls, with the numbers of its instance and no names of the code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fedtheory.claims.comparison import is_printed
from fedtheory.evidence.scorecard import published_rows
from fedtheory.files import read_json
from fedtheory.papers import all_claims, claim, instance_path, papers
from fedtheory.papers.in_print import Erratum
from fedtheory.quantities import QUANTITIES
from fedtheory.report import errata_pages
from fedtheory.report.errata_pages import errata
from fedtheory.report.site.mathml import mathml

STATED = ("federation", "algorithm", "participation", "start", "rounds", "selection", "weights", "problem", "values",
          "constants")  # fmt: skip
NO_NUMBERS = {"kind", "members", "order", "labels", "hypothesis"}
"""Entries that name clients, rounds or labels."""
SMALL = {Fraction(n) for n in (-1, 0, 1, 2)}
"""Numbers that sentences have of their own: indices, squares, halves."""

ALL = [each for paper in papers().values() for each in paper.errata]


def of_file(ref: str) -> set[Fraction]:
    """The numbers that an instance's file states."""
    path = instance_path(ref)
    assert path is not None
    data = read_json(path)
    return set(_numbers({name: data[name] for name in STATED if name in data}))


def _numbers(data: Any) -> Iterator[Fraction]:
    if isinstance(data, dict):
        yield from (n for name, value in data.items() if name not in NO_NUMBERS for n in _numbers(value))
    elif isinstance(data, list):
        yield from (n for value in data for n in _numbers(value))
    elif isinstance(data, int) or re.fullmatch(r"-?\d+(/\d+)?", data):
        yield Fraction(data)


def of_sentence(text: str) -> set[Fraction]:
    return {Fraction(found) for found in re.findall(r"-?\d+(?:/\d+)?", text)}


def slips(erratum: Erratum) -> tuple[set[Fraction], set[Fraction]]:
    """Numbers of the file that the words lack, and those of the words that the file lacks."""
    file, told = of_file(erratum.claims[0]), of_sentence(erratum.instance)
    return file - told - SMALL, told - file - SMALL - {each / 2 for each in file}


@pytest.mark.parametrize("erratum", ALL, ids=lambda each: each.claims[0])
def test_an_instance_in_words_is_that_of_the_file(erratum: Erratum) -> None:
    assert slips(erratum) == (set(), set())


def test_slips_are_found() -> None:
    """Planted: another number, and one that is left out."""
    one = ALL[0]
    assert slips(replace(one, instance=one.instance.replace("100000", "10000"))) == ({100000}, {10000})
    assert slips(replace(one, instance=one.instance.replace("19/10", "it"))) == ({Fraction(19, 10)}, set())


def test_every_printed_statement_that_falls_has_one() -> None:
    rows = published_rows()
    fallen = [each.ref for each in all_claims() if is_printed(each) and rows[each.ref]["verdict"] == "refuted"]
    assert Counter(ref for each in ALL for ref in each.claims) == Counter(fallen)


ONE_LETTER = re.compile(r"(\\(bar|hat)\s?)?(\\?[A-Za-z]+)(_(\\?[A-Za-z]+|\{.*\}))?")


def unexplained(told: Sequence[Erratum]) -> set[str]:
    """Letters of formulas on a paper's page that neither its own displays nor the sentences have."""
    texts = "".join(text for each in told for text in (*each.printed, each.wrong, each.instance, each.true))
    shown = [claim(ref) for each in told for ref in (each.claims[0], *each.editions)]
    letters = {each.letters[name] for each in shown for name in each.quantities if name in each.letters}
    return {each for each in letters if ONE_LETTER.fullmatch(each) and _plain(each) not in _plain(texts)}


def _plain(latex: str) -> str:
    return re.sub(r"[{}\s]", "", latex)


@pytest.mark.parametrize("paper", [name for name, paper in papers().items() if paper.errata])
def test_every_letter_of_a_formula_is_printed_or_explained(paper: str) -> None:
    """Planted: repairs whose letters are not explained."""
    told = papers()[paper].errata
    assert unexplained(told) == set()
    if paper == "flics":
        bare = [replace(each, true="") for each in told]
        assert unexplained(bare) >= {r"\bar V_T", r"\hat\delta_T"}


@pytest.mark.parametrize("erratum", ALL, ids=lambda each: each.claims[0])
def test_what_is_printed_can_be_drawn(erratum: Erratum) -> None:
    """A command that the pages do not know would stand there by its name."""
    assert erratum.printed
    assert not any(re.search(r"<mtext>\\", str(mathml(each))) for each in erratum.printed)


def test_a_repair_without_a_theorem_says_so() -> None:
    """Planted: without the sentence, the page would claim more than is proved."""
    text = errata("fast")
    without = [each for each in papers()["fast"].errata if not each.editions]
    assert text.count(errata_pages.NO_THEOREM) == len(without) == 1


def test_what_is_true_instead_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a statement that is refuted is no repair."""
    text = "".join(errata(name) for name in papers())
    assert all(f"`fedtheory prove {ref}`" in text for each in ALL for ref in each.editions)
    wrong = replace(ALL[0], editions=("fast.thm1@main",))
    monkeypatch.setattr(errata_pages, "papers", lambda: {"fast": replace(papers()["fast"], errata=(wrong,))})
    with pytest.raises(ValueError, match=r"fast\.thm1@main: refuted"):
        errata("fast")


@pytest.mark.parametrize("paper", [name for name, paper in papers().items() if paper.errata])
def test_no_name_of_the_code_is_shown(paper: str) -> None:
    """But in the commands, which are to be typed."""
    told = re.sub(r"`[^`]*`", "", errata(paper))
    assert "mathtt" not in told and not re.search(rf"\b({'|'.join(n for n in QUANTITIES if '_' in n)})\b", told)
    assert not re.search(rf"\b{paper}\.(thm|cor|eq|lemma|rem)", told)


def test_both_sides_are_those_of_the_file() -> None:
    path = instance_path("fast.thm1@main")
    assert isinstance(path, Path)
    data = read_json(path)
    left, right = (f"{float(data[side]):.4g}" for side in ("left", "right"))
    assert f"The left side is {left} and the right side {right}: the left one is 3.29 times" in errata("fast")
    assert claim("fast.thm1@main").title in errata("fast")
