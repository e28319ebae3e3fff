"""The contract of every claim, from one table: names, symbols, readings, typesetting, imports."""

from __future__ import annotations

import functools
import json
import math
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sympy
from matplotlib.mathtext import MathTextParser

import fedtheory
from fedtheory.assumptions import ASSUMPTIONS
from fedtheory.claims.schedules import INDICES
from fedtheory.claims.statement import Claim, Term, slack_of
from fedtheory.claims.typeset import expression_latex, left_latex, mathtext
from fedtheory.papers import all_claims, claim, editions, index, papers
from fedtheory.papers.paper import Paper
from fedtheory.papers.registry import algorithms
from fedtheory.quantities import QUANTITIES, symbol
from tests.loops import looped

CLAIMS = {c.ref: c for c in all_claims()}
every_claim = looped("each", CLAIMS.values(), ids=CLAIMS)
some_claims = looped("each", CLAIMS.values(), ids=CLAIMS, quick=24)
"""What takes long: the quick tests try some."""


def relations(each: Claim) -> dict[str, sympy.core.relational.Relational]:
    """All relations of the claim, the alternative readings included."""
    found = {h.name: h.relation for h in each.hypotheses}
    for hypothesis in each.hypotheses:
        found |= {f"{hypothesis.name} as {option}": r for option, r in hypothesis.alternatives.items()}
    return found


# What a claim says about itself.

FAST = {
    "lemma1": "main", "lemma2": "main", "eq13": "main", "eq17": "main", "eq23": "main",
    "thm1": "main appendix minima floor corrected sharp sharper averaged periodic",
    "cor1": "main appendix corrected", "cor2": "main corrected",
    "rem1.a": "main", "rem1.b": "main",
    "rem2.a": "main", "rem2.b": "main", "eq28": "main", "eq29": "main", "eq30": "main", "eq35": "main",
    "eq38": "main", "eq39": "main", "thm2": "main appendix room corrected sharp sharper averaged wide periodic",
    "cor3": "main corrected", "rem3": "main",
}  # fmt: skip


def test_refs_are_unique_and_lead_to_their_claim() -> None:
    assert len(CLAIMS) == len(all_claims())
    for id, names in FAST.items():
        assert [each.edition for each in editions(f"fast.{id}")] == names.split()
    assert sum(len(names.split()) for names in FAST.values()) == sum(each.paper == "fast" for each in all_claims())
    for id in {each.id for each in CLAIMS.values()}:
        assert claim(id) is claim(f"{id}@main")
        assert all(edition.id == id for edition in editions(id))


@every_claim
def test_names_and_sources(each: Claim) -> None:
    assert claim(each.ref) is each
    assert re.fullmatch(r"[a-z]+\d*\.(thm|cor|lemma|eq|rem|asm|ex|app)\w+(\.\w+)?@\w+", each.ref)
    assert each.paper == each.id.partition(".")[0]
    assert each.title
    assert each.source.lower().startswith(each.paper.rstrip("0123456789"))
    for named in (each.terms, each.hypotheses, each.assumptions, each.ambiguities, each.rates):
        names = [item.name for item in named]
        assert len(names) == len(set(names))
    assert all(h.source for h in each.hypotheses)
    assert all(a.source for a in each.assumptions)


@every_claim
def test_every_symbol_is_the_vocabularys(each: Claim) -> None:
    expressions = [t.expression for t in each.terms] + [slack_of(r) for r in relations(each).values()]
    used = set().union(*(e.free_symbols for e in expressions))
    used |= set().union(*(choice.free_symbols for choice in each.choices.values())) | set(map(symbol, each.choices))
    assert not used & set(map(symbol, INDICES)) or each.choices
    used -= set(map(symbol, INDICES))  # of a step size by rule: no quantity that the claim is given
    if each.functional.expression is not None:
        used |= each.functional.expression.free_symbols
        used |= set().union(*(other.free_symbols for other in each.functional.alternatives.values()))
    # Equal symbols have equal names AND equal assumptions.
    assert used == {symbol(name) for name in each.quantities}
    in_rates = set().union(*(rate.expression.free_symbols for rate in each.rates))
    assert in_rates <= {symbol(name) for name in QUANTITIES}
    assert list(each.quantities) == [name for name in QUANTITIES if name in each.quantities]
    assert all(a.quantity in QUANTITIES if a.quantity else a.kind in ASSUMPTIONS for a in each.assumptions)


@every_claim
def test_choices_and_hashes(each: Claim) -> None:
    for name, choice in each.choices.items():
        assert name in QUANTITIES and symbol(name) not in choice.free_symbols
        # What is chosen is not left in the right side: there its choice stands.
        assert symbol(name) not in each.right_side.free_symbols
    assert hash(each) == hash(replace(each)) and each == replace(each)
    assert {each: 1}[replace(each)] == 1


def test_editions_by_name_or_as_a_whole() -> None:
    first, second = symbol("rounds"), symbol("cohort")
    each = replace(claim("fast.thm2"), terms=(Term("a", first), Term("b", second)))
    changed = each.edited("x", "there", terms={"b": first, "c": second})
    assert changed.terms == (Term("a", first), Term("b", first), Term("c", second))
    assert changed.hypotheses == each.hypotheses and changed.ref == "fast.thm2@x" and changed.source == "there"
    assert each.edited("x", "there", terms=(Term("d", first),)).terms == (Term("d", first),)
    assert each.edited("x", "there", hypotheses=()).hypotheses == ()
    cap = sympy.Le(first, 3)
    step_cap, q_condition = each.edited("x", "there", hypotheses={"step_cap": cap}).hypotheses
    assert step_cap == replace(each.hypotheses[0], relation=cap) and q_condition == each.hypotheses[1]
    with pytest.raises(ValueError, match=r"no hypothesis of fast.thm2@main is named 'cap': known are step_cap"):
        each.edited("x", "there", hypotheses={"cap": cap})


@every_claim
def test_terms_and_hypotheses_are_found_by_name(each: Claim) -> None:
    assert [each.term(t.name) for t in each.terms] == list(each.terms)
    assert [each.hypothesis(h.name) for h in each.hypotheses] == list(each.hypotheses)
    with pytest.raises(ValueError, match=f"no term of {each.ref} is named 'nose': known are {each.terms[0].name}"):
        each.term("nose")
    with pytest.raises(ValueError, match=f"no hypothesis of {each.ref} is named 'cap': known are "):
        each.hypothesis("cap")


@every_claim
def test_readings_start_with_the_literal_one_and_are_complete(each: Claim) -> None:
    readings = list(each.readings())
    assert readings[0] == {a.name: a.options[0] for a in each.ambiguities}
    assert len(readings) == math.prod(len(a.options) for a in each.ambiguities)
    assert len({tuple(r.items()) for r in readings}) == len(readings)
    options = {option for a in each.ambiguities for option in a.options}
    for hypothesis in each.hypotheses:
        assert set(hypothesis.alternatives) <= options
        assert hypothesis.under(readings[0]) == hypothesis
        for option, relation in hypothesis.alternatives.items():
            assert hypothesis.under({"any": option}).relation == relation


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("fast.thm3", r"unknown claim 'fast\.thm3': did you mean 'fast\.thm[12]'\?"),
        ("fast.thm2@apendix", r"unknown edition 'apendix' of fast\.thm2: did you mean 'appendix'\?"),
        ("zzz", r"unknown claim 'zzz': known are fast\.cor1, fast\.cor2, .*, \.\.\. \(\d+ in all\)"),
    ],
)
def test_unknown_refs(ref: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        claim(ref)


# Typesetting.


def balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0 and text.count(r"\left") == text.count(r"\right")


@functools.cache
def read(text: str) -> None:
    """By an independent reader, which raises a ValueError where it cannot."""
    MathTextParser("path").parse("$" + mathtext(text) + "$")


@some_claims
@pytest.mark.parametrize("vocabulary", [False, True])
def test_latex_is_well_formed(each: Claim, vocabulary: bool) -> None:
    text = each.latex(vocabulary)
    assert balanced(text)
    left = each.functional.latex if vocabulary else left_latex(each.functional, each.letters["rounds"])
    assert text.startswith(left + r" \le ")
    assert "+ -" not in text
    others = [*each.choices.values(), *(rate.expression for rate in each.rates)]
    if vocabulary:  # names, which stand where letters stand
        names = set().union(*(e.free_symbols for e in (*others, *(term.expression for term in each.terms))))
        readable = [expression_latex(sympy.sqrt(name) / name**2, {}) for name in names]
    else:
        readable = [text, *(expression_latex(expression, each.letters) for expression in others)]
    for one in readable:
        read(one)


@every_claim
def test_latex_uses_the_papers_letters(each: Claim) -> None:
    assert each.letters["rounds"] == "R" or not re.search(r"(?<![A-Za-z])R(?![A-Za-z])", each.latex())
    text, spelled = each.latex(), each.latex(vocabulary=True)
    in_terms = {s.name for t in each.terms for s in t.expression.free_symbols}
    for name in in_terms:
        in_latex = name.replace("_", r"\_")
        letter = each.letters.get(name)
        assert (letter or in_latex) in text
        assert in_latex not in text or letter is None
        assert in_latex in spelled
    assert each._repr_latex_() == f"$\\displaystyle {text}$"


# Imports.


def run_python(code: str) -> str:
    home = Path(fedtheory.__file__).parents[1]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=home)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_table_of_claims_loads_nothing_heavy() -> None:
    code = "import sys, fedtheory.claims; print(*{'numpy', 'sympy', 'scipy', 'torch', 'flint'} & set(sys.modules))"
    assert run_python(code).split() == []


def test_claims_are_complete_without_torch() -> None:
    code = """
import sys
sys.modules["torch"] = None
from fedtheory.papers import all_claims
from fedtheory.evidence.units_check import check_units
from fedtheory.quantities import QUANTITIES
values = {name: 1.0 for name in QUANTITIES} | {"snapshot_probability": 0.5}
for each in all_claims():
    given = {name: value for name, value in values.items() if name not in each.choices}
    assert each.latex() and each.evaluate(**given).value is not None and check_units(each) is not None
print(len(all_claims()))
"""
    assert run_python(code).split() == [str(len(CLAIMS))]


@pytest.mark.parametrize("paper", papers().values(), ids=papers())
def test_the_kept_list_is_that_of_the_claims(paper: Paper, tmp_path: Path) -> None:
    rows = [{"claim": each.ref, "title": each.title, "source": each.source} for each in paper.claims]
    kept = json.loads((paper.folder / index.FILE).read_text(encoding="utf-8"))
    again = "python -c 'from fedtheory.papers.index import refresh as r; r()'"
    assert (kept["claims"], kept["sources"]) == (rows, index.sources(paper)), f"write it anew: {again}"
    drawn = list(paper.subjects)
    assert kept["draws"] == drawn, f"write it anew: {again}"
    assert (index.listed(paper, tmp_path), index.drawn(paper, tmp_path)) == (rows, drawn)
    path, empty = tmp_path / index.FILE, kept | {"claims": [], "draws": []}
    for content, told in ((empty, ([], [])), (empty | {"sources": ""}, (rows, drawn))):
        path.write_text(json.dumps(content))
        assert (index.listed(paper, tmp_path), index.drawn(paper, tmp_path)) == told
    path.write_text("{")
    assert (index.listed(paper, tmp_path), index.drawn(paper, tmp_path)) == (rows, drawn)


def test_the_lists_are_every_papers() -> None:
    assert [row["claim"] for row in index.listing()] == list(CLAIMS)
    assert index.algorithms() == algorithms()


def test_a_claim_in_another_process_has_a_hash_of_its_own() -> None:
    """That of texts differs between processes, and the one that a claim keeps must not travel."""
    here = claim("fast.thm2")
    assert hash(here) == hash(replace(here)) and "_hash" in vars(here)
    there = pickle.loads(pickle.dumps(here))
    assert "_hash" not in vars(there) and there == here and hash(there) == hash(here)
    assert hash(replace(here, edition="other")) != hash(here)
