"""The pages as files: links, formulas, words, and that they say what the published evidence says."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import tomllib
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from math import prod
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy
from typer.testing import CliRunner

import fedtheory.report.site as package
from fedtheory.claims.comparison import compare
from fedtheory.claims.statement import Term
from fedtheory.cli import app
from fedtheory.cli.verdicts import _instance_file
from fedtheory.experiments.setting_parts import FAMILIES
from fedtheory.papers import all_claims, claim
from fedtheory.papers.saved_certificates import folders, published
from fedtheory.report.site import further_pages, pages, part_pages, published_evidence
from fedtheory.report.site.calculator import calculator
from fedtheory.report.site.claim_page import claim_page, figures_of, statement_of
from fedtheory.report.site.instance_pages import film, point_of
from fedtheory.report.site.javascript import javascript, literal
from fedtheory.report.site.mathml import mathml
from fedtheory.report.site.replaced_folder import LIST
from fedtheory.tightness import scorecard_column
from tests.report.site.reading import Page, read

ROOT = Path(package.__file__).parents[3]


@pytest.fixture(scope="module")
def read_pages(site):
    """Every page, read, by its place in the folder."""
    return read_all(site)


def read_all(site):
    return {path.relative_to(site).as_posix(): read(path) for path in sorted(site.rglob("*.html"))}


def test_every_claim_table_experiment_algorithm_and_process_has_a_page(read_pages):
    assert {pages.address(c.ref) for c in all_claims()} <= read_pages.keys()
    for folder, family in (("algorithms", "algorithm"), ("processes", "process")):
        assert {f"{folder}/{name}.html" for name in FAMILIES[family]()} == {
            name for name in read_pages if name.startswith(f"{folder}/")
        }
    for folder in ("tables", "experiments"):
        assert sum(name.startswith(f"{folder}/") for name in read_pages) > 10


@pytest.mark.slow
def test_no_two_files_differ_by_case_alone(site):
    """Where a file system does not tell them apart, the one would be the other."""
    names = [path.relative_to(site).as_posix().lower() for path in site.rglob("*")]
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_every_link_leads_to_a_file_of_the_folder(site, read_pages):
    assert dead_links(site, read_pages) == []


def dead_links(site, read_pages):
    """Pages with their links that lead to no file."""
    links = [(name, link) for name, page in read_pages.items() for link in page.links]
    return [(name, link) for name, link in links if not link.startswith(("#", "data:,"))
            and not ((site / name).parent / unquote(link.partition("#")[0])).is_file()]  # fmt: skip


FEW = ("fast.lemma2@main", "fast.thm2@appendix", "flics.thm1@main", "safari.ex1@main")
"""One that is proved, one of several editions, and instances with a film and without."""


def test_a_report_of_few_claims(tmp_path, monkeypatch):
    """Its pages, links, cells and formulas; those of all claims are slow tests."""
    monkeypatch.setattr(pages, "all_claims", lambda: [claim(ref) for ref in FEW])
    for kind in ("table_pages", "experiment_pages", "algorithm_pages", "process_pages"):
        every = getattr(further_pages, kind)
        monkeypatch.setattr(further_pages, kind, lambda every=every: islice(every(), 2))
    told, site = [], tmp_path / "report"
    written = pages.write(site, progress=lambda *each: told.append(each))
    assert {path for path in site.rglob("*") if path.is_file()} - {site / LIST} == {*written}
    few = read_all(site)
    addresses = {pages.address(ref) for ref in FEW}
    assert {name for name in few if name.startswith("claims/")} == addresses
    dead = {os.path.normpath(Path(name).parent / unquote(link)) for name, link in dead_links(site, few)}
    folders = ("tables", "experiments", "algorithms", "processes")
    assert all(sum(name.startswith(f"{folder}/") for name in few) == 2 for folder in folders)
    others = {pages.address(each.ref) for each in all_claims()} - addresses
    assert {each for each in dead if not each.startswith(folders)} <= others and len(dead & others) > 3
    assert [each for each in told if each[0] == "claims"] == [("claims", i, 4) for i in range(1, 5)]
    assert empty_cells(few) == {} and check_formulas(site) > 50
    front = (site / "index.html").read_text(encoding="utf-8")
    assert [ref for ref in FEW if f'href="{pages.address(ref)}"' not in front] == []
    assert few[pages.address("safari.ex1@main")].text.count("Nothing to play: ") == 1


def test_the_problem_of_the_algorithms_curves_is_that_of_its_words():
    """FedAvg's error before and after its first round, over all sets of those who come, from the words alone."""
    words, (_, pale) = part_pages._errors("fedavg")
    said = re.search(r"minimisers (.*), which take part with probabilities (.*); a start at (.*?):", words)
    minimisers, chances, (start,) = ([Fraction(each) for each in part.split(", ")] for part in said.groups())
    error = 0
    for here in product((0, 1), repeat=len(chances)):
        chance = prod(p if i else 1 - p for i, p in zip(here, chances, strict=True))
        ends = [start - (start - c) / 10 for i, c in zip(here, minimisers, strict=True) if i]
        error += chance * (sum(ends) / len(ends) if ends else start) ** 2
    assert sum(minimisers) == 0 and pale["points"][:2] == [[0, float(start**2)], [1, float(f"{float(error):.6g}")]]


@pytest.mark.slow
def test_a_process_that_a_pattern_names_is_used_there(read_pages):
    assert "../experiments/fedau.fashion_mnist.html" in read_pages["processes/Markov.html"].links


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*"):
        if path.suffix in (".html", ".css", ".js"):
            elsewhere = re.findall(
                r"""(?:url\(|src=|href=|import\s*\(?|fetch\()\s*["']?(?:https?:)?//""", path.read_text()
            )
            assert elsewhere == [], path.name


SAYS_NOTHING = ("", "None", "nan", "null", "undefined")
"""A cell of a printed table may be a dash: that is what is printed there."""


@pytest.mark.slow
def test_no_cell_says_nothing(read_pages):
    assert empty_cells(read_pages) == {}


def empty_cells(read_pages):
    """By page the cells that say nothing."""
    return {name: empty for name, page in read_pages.items()
            if (empty := [cell for cell in page.cells if cell[1] in SAYS_NOTHING
                          or (cell[1] == "-" and not name.startswith("tables/"))])}  # fmt: skip


@pytest.mark.slow
def test_no_cell_has_marks_of_markdown(read_pages):
    assert cells_in_markdown(read_pages) == {}
    cells = ("**67.6** (+0.9)", "2*x**2 <= (a + b)**2", "[x](y.md)", "&lt;b&gt;1&lt;/b&gt;")
    planted = Page(f"<table><tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr></table>")
    assert cells_in_markdown({"planted": planted}) == {"planted": ["**67.6** (+0.9)", "[x](y.md)", "<b>1</b>"]}


def cells_in_markdown(read_pages):
    """By page the cells with bold, code or links in Markdown, or with tags; in a formula, two stars follow a name or a
    bracket."""
    marks = re.compile(r"(?<![\w)\]])\*\*[^*\s][^*]*\*\*|`|\]\([^)\s]*[./#][^)\s]*\)|</[a-z]+>")
    return {name: marked for name, page in read_pages.items()
            if (marked := [text for _, text in page.cells if marks.search(text)])}  # fmt: skip


@pytest.mark.slow
def test_tightness_is_what_is_published(read_pages):
    counted = 0
    for ref, found in scorecard_column.published().items():
        text = read_pages[pages.address(ref)].text
        if found["column"]["measure"] == "constant":
            assert f"That is {found['looseness']:.6g} times as much" in text
            counted += 1
        elif found["status"] == "not applicable":
            assert f"Tightness not applicable: {found['why']}" in text
        for each in found.get("after", ()):
            assert f"{each['bound']:.6g}" in text
    assert counted > 15


@pytest.mark.slow
def test_every_instance_is_followed_or_the_page_says_why_not(read_pages, shown):
    said = {}
    for statement in all_claims():
        for each in shown[statement.ref].instances if statement.functional.scope in FOLLOWED else ():
            said[statement.ref] = each.no_film or "followed"
            assert each.film or f"Nothing to play: {each.no_film}." in read_pages[pages.address(statement.ref)].text
    followed = {ref for ref, words in said.items() if words == "followed"}
    assert {"flics.thm1@main", "flics.thm2@main", "safari.lemma2@main", "fedau.eqB_6_8.a@main"} <= followed
    assert said["flics.lemma4@main"] == "it is about one round: there is nothing to follow"
    assert said["safari.ex1@main"].endswith("nothing is drawn")


FOLLOWED = ("selection", "learning", "weights", "values", "round")


def test_bars_are_counts_and_rates():
    def published(ref):
        return film(claim(ref), point_of(claim(ref), published_evidence.instances(ref)[0]["data"])).data

    there, rates, _ = (series["values"] for series in published("flics.thm1@main")["bars"]["series"])
    assert rates == there and {tuple(row) for row in there} == {(1, 3), (3, 1)}  # everybody who is there is asked
    drawn = published("safari.thm3@main")
    counts, expected = (np.array(series["values"]) for series in drawn["bars"]["series"])
    assert (counts.sum(1) == drawn["rounds"]).all() and (np.diff(counts, axis=0) >= 0).all()
    assert expected.sum(1) == pytest.approx(drawn["rounds"])


@pytest.mark.slow
def test_the_pages_have_the_colours_of_figures(site):
    from fedtheory.report import colours

    sheet = (site / "assets/colours.css").read_text()
    light, dark = sheet.split("@media")
    for name, colour in colours.ON_WHITE.items():
        assert f"--{name}: {colour};" in light and f"--{name}: {colours.ON_BLACK[name]};" in dark
    own = (site / "assets/style.css").read_text()
    assert not [name for name in colours.ON_WHITE if f"--{name}:" in own]
    assert {f"stroke: var(--{name})" in own for name in colours.ON_WHITE} == {True}


@pytest.mark.slow
def test_every_formula_is_well_formed(site):
    assert check_formulas(site) > 3000


def check_formulas(site):
    """The number of formulas, each of which is well formed."""
    seen = 0
    for path in site.glob("claims/*.html"):
        for formula in re.findall(r"<math>.*?</math>", path.read_text(encoding="utf-8"), re.DOTALL):
            assert not re.search(r">\\", formula), f"{path.name}: a command that is not known in {formula}"
            for element in ElementTree.fromstring(formula).iter():
                expected = {"mfrac": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
                assert len(element) == expected.get(element.tag, len(element)), f"{path.name}: {formula}"
            seen += 1
    return seen


@pytest.mark.slow
def test_the_front_page_says_what_the_scorecard_says(site, read_pages):
    rows = published_evidence.rows()
    content = (site / "index.html").read_text(encoding="utf-8")
    assert re.search(r"\d (is|are) so under", content) and not re.search(r"\b1 are so", content)
    found = re.findall(
        r'<tr data-paper="(\w+)" data-verdict="([^"]+)".*?href="claims/([^"]+).html"', content, re.DOTALL
    )
    assert {ref: (paper, verdict) for paper, verdict, ref in found} == {
        ref: (row["id"].split(".")[0], row["verdict"]) for ref, row in rows.items()
    }
    for row in rows.values():
        assert " ".join(row["why"].split()) in read_pages["index.html"].text


def test_what_is_not_known_is_called_so(monkeypatch):
    known = published_evidence.rows()
    ref = "fast.lemma2@main"
    monkeypatch.setattr(published_evidence, "rows", lambda: {key: row for key, row in known.items() if key != ref})
    monkeypatch.setattr("fedtheory.report.site.claim_page.rows", published_evidence.rows)
    monkeypatch.setattr("fedtheory.report.site.claim_page.proof_of", lambda ref: None)
    monkeypatch.setattr(published_evidence.scorecard_column, "published", lambda: {})
    page = Page(pages.render("claim.html", page=claim_page(claim(ref)), up="../"))
    for subject in ("Units", "Consistency", "Proof", "Search", "Measured", "Tightness"):
        assert f"{subject} not checked" in page.text
    front = next(row for row in pages.front_page()["rows"] if row["claim"].ref == ref)
    assert {front[name] for name in ("verdict", "ratio", "why", "tightness")} == {"not checked"}


@pytest.mark.slow
def test_terms_stand_in_the_printed_order_and_all_editions_are_there(site):
    page = claim_page(claim("safari.thm4@main"))
    assert [part.name for part in page.statement.terms] == [term.name for term in claim("safari.thm4").terms]
    assert [other.claim.edition for other in page.others] == [
        "appendix", "submission", "corrected", "sharp", "sharper", "averaged", "floor"
    ]  # fmt: skip
    content = (site / "claims/safari.thm4@main.html").read_text(encoding="utf-8")
    places = [content.index(f'title="{term.name}"') for term in claim("safari.thm4").terms]
    assert places == sorted(places)


def test_what_differs_between_editions_is_marked_and_nothing_else():
    main, other = claim("fast.thm2@main"), claim("fast.thm2@appendix")
    marked = statement_of(other, main)
    differing = {(d.kind, d.name) for d in compare(main, other)}
    assert differing == {("term", "arbitrary_rounds"), ("hypothesis", "q_condition")}
    assert {("term", p.name) for p in marked.terms if p.differs} | {
        ("hypothesis", p.name) for p in marked.hypotheses if p.differs
    } == differing
    assert not any(part.differs for part in statement_of(main).terms)
    (difference,) = [d for d in marked.differences if d.name == "arbitrary_rounds"]
    assert difference.before == str(main.term("arbitrary_rounds").expression)


def test_a_film_ends_where_the_published_instance_does(shown):
    seen = 0
    for statement in all_claims():
        published = published_evidence.instances(statement.ref)
        for found, each in zip(published, shown[statement.ref].instances, strict=True):
            film = each.film
            if film is not None and film.unit == "round" and statement.functional.name != "policy_limit":
                last = [film.data[side][-1] for side in ("left", "right")]
                recorded = [float(found["data"][side]) for side in ("left", "right")]
                assert last == pytest.approx(recorded, rel=1e-8)  # the run in floating point, recorded to 12 digits
                seen += 1
    assert seen >= 40


def test_a_proof_is_the_certificates_one():
    for ref in ("fast.thm1@main", "fast.thm2@sharp", "safari.thm1@main", "flics.thm2@main"):
        row = published_evidence.rows()[ref]["evidence"]["proof"]
        proof = published_evidence.proof_of(ref)
        steps = (*proof.steps, *proof.ties)
        assert (proof.outcome, proof.to_decide) == (row["outcome"], row["steps"])
        data = json.loads((folders()[ref.partition(".")[0]] / f"{ref}.json").read_text())
        assert [(s.name, s.outcome) for s in proof.ties] == [(s["name"], s["outcome"]) for s in data["steps"]]
        assert not any(step.outcome == published_evidence.NOT_CHECKED for step in steps)
    assert published_evidence.proof_of("fast.thm1@nowhere") is None
    (gap,) = [s for s in published_evidence.proof_of("fast.thm1@main").steps if s.name == "a2.22_under_the_cap_1/8"]
    assert gap.outcome == "gap" and "off by -7/32" in gap.against


def test_the_commands_find_what_they_name():
    for ref in published():
        for found in published_evidence.instances(ref):
            path = _instance_file(found["command"].removeprefix("fedtheory replay "))
            assert (
                json.loads((ROOT / path).read_text() if not path.is_absolute() else path.read_text()) == found["data"]
            )


def test_pictures_are_found_by_their_names(tmp_path):
    for name in (
        "fast.thm1.png",
        "fast.thm1.svg",
        "fast.thm1@main.bounds.png",
        "fast.thm1@sharp.png",
        "fast.thm11.png",
    ):
        (tmp_path / name).write_text("")
    assert [path.name for path in figures_of("fast.thm1@main", tmp_path)] == [
        "fast.thm1.svg",
        "fast.thm1@main.bounds.png",
    ]


@pytest.mark.parametrize("latex", ["{a", r"\frac{1}", "a}", r"\left( a", r"\sqrt", r"\mathbf{x"])
def test_a_formula_that_does_not_end_is_refused(latex):
    with pytest.raises(ValueError, match=r"ends|closes"):
        mathml(latex)


def test_letters_accents_scripts_and_delimiters():
    assert mathml(r"\mathbb{E}\|\mathbf{x}_R\|^2").count("𝔼") == 1
    assert "<msup><mo" in mathml(r"\|x\|^2")
    assert mathml(r"\hat s_i(t)^{2}").startswith("<math><msub><mover")
    assert '<munderover><mo movablelimits="false">∑</mo>' in mathml(r"\sum_{i=1}^M x")
    assert mathml(r"\frac1M").count("<mfrac><mn>1</mn><mi>M</mi></mfrac>") == 1
    assert mathml(r"\frac{x^2}{12}").endswith("<mn>12</mn></mfrac></math>")
    # a command takes one digit of a number, and leaves the others
    assert mathml(r"\frac1234 y") == mathml(r"\frac{1}{2} 34 y") != mathml(r"\frac{1}{234} y")
    assert mathml(r"x^123") == mathml("x^{1} 23")


def test_an_expression_that_has_no_arithmetic_leaves_a_page_without_calculator():
    x = claim("fast.lemma2").terms[0].expression
    with pytest.raises(ValueError, match="no arithmetic for gamma"):
        javascript(sympy.gamma(x))
    odd = replace(claim("fast.lemma2"), terms=(Term("odd", sympy.gamma(x)),))
    with pytest.raises(ValueError, match="gamma"):
        calculator(odd)
    shown = replace(claim_page(claim("fast.lemma2")), calculator=None, no_calculator="no arithmetic for gamma")
    assert "There is none: no arithmetic for gamma." in Page(pages.render("claim.html", page=shown, up="../")).text


def test_data_in_a_script_cannot_end_it():
    assert "<" not in literal(["</script>", {"a": "<!--"}]) and json.loads(literal("</script>")) == "</script>"


def test_templates_and_assets_are_part_of_the_package():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["fedtheory"]
    for folder in ("templates", "assets"):
        for path in (Path(package.__file__).parent / folder).iterdir():
            inside = path.relative_to(ROOT / "fedtheory").as_posix()
            assert any(fnmatch.fnmatch(inside, pattern) for pattern in wanted), inside


def test_the_command_writes_where_it_is_told(tmp_path, monkeypatch):
    asked = []

    def write(into, figures, progress, docs=None):
        asked.append((into, figures))
        return [into / "index.html", into / "assets/style.css"]

    monkeypatch.setattr(package, "write", write)
    done = CliRunner().invoke(app, ["report", "--into", str(tmp_path / "a"), "--figures", "pictures"])
    assert done.exit_code == 0 and f"open {tmp_path / 'a' / 'index.html'}" in " ".join(done.output.split())
    done = CliRunner().invoke(app, ["report", "--into", str(tmp_path / "a"), "--json"])
    assert json.loads(done.output)["pages"] == [str(tmp_path / "a" / "index.html")]
    assert asked == [(tmp_path / "a", Path("pictures")), (tmp_path / "a", Path("figures"))]


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ValueError, match="folder that can be written to"):
        pages.write(tmp_path / "taken")
