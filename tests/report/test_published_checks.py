"""What `verify` checks: whatever is changed in a published file is named, with what is written and what follows."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.evidence import assess, kept_searches, scorecard
from fedtheory.evidence.candidate_data import candidate_data, candidate_from, classes_of
from fedtheory.evidence.findings import Row
from fedtheory.evidence.parallel_work import run_all
from fedtheory.evidence.work_done import record, work_of
from fedtheory.experiments.printed_tables import folder as experiments
from fedtheory.papers import all_claims, claim, saved_certificates
from fedtheory.papers.registry import subject_of
from fedtheory.report import published_checks, verification
from fedtheory.report.generated_docs import BEGIN, END, generated
from fedtheory.report.published_checks import Checked, Difference, Places, check_published

ROOT = Path(__file__).parents[2]
SOMETIMES, STANDS, NEEDS = "fast.rem2.a@main", "fast.lemma2@main", "fast.eq35@main"
"""A claim with an instance against some of its readings, one whose search is kept, and one that needs an assumption."""

here = pytest.mark.skipif(not (ROOT / "figures").is_dir(), reason="the figures are not beside the tests")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Copies of the published files, in the places where the checks look for them."""
    shutil.copytree(assess.PUBLISHED, tmp_path / "published")
    for folder in ("instances", "needs", "certificates"):
        shutil.copytree(saved_certificates.papers()["fast"].folder / folder, tmp_path / folder)
    others = {name: at for name, at in saved_certificates.folders().items() if name != "fast"}
    certificates = others | {"fast": tmp_path / "certificates"}

    def instance(ref, violated=""):
        return tmp_path / ("needs" if violated else "instances") / f"{ref}{'.' * bool(violated)}{violated}.json"

    monkeypatch.setattr(assess, "instance_path", instance)
    monkeypatch.setattr(published_checks, "instance_path", instance)
    monkeypatch.setattr(saved_certificates, "folders", lambda: certificates)
    return tmp_path


def wrong(files: Path, *refs: str) -> list[str]:
    """What the checks say about some claims."""
    where = Places(files / "published", None, None)
    found = check_published(where, workers=1, only=lambda ref: ref in refs)
    assert [f"{row['id']}@{row['edition']}" for row in found.card["rows"]] == sorted(refs, key=order().index)
    return [each.text for each in found.differences]


@cache
def order() -> list[str]:
    return [each.ref for each in all_claims()]


def change(file: Path, alter) -> None:
    """Alter what a JSON file holds."""
    content = json.loads(file.read_text())
    alter(content)
    file.write_text(json.dumps(content))


def row_of(card, ref):
    return next(row for row in card["rows"] if f"{row['id']}@{row['edition']}" == ref)


def test_what_is_published_follows(files):
    assert wrong(files, SOMETIMES, STANDS, NEEDS) == []


def test_a_scorecard_that_is_checked_has_the_bytes_of_one_that_is_made(files):
    """`verify` and `verify --fresh` write the same rows, with their entries in the same order."""
    published = json.loads((files / "published/scorecard.json").read_text())
    found = check_published(Places(files / "published", None, None), workers=1, only=lambda ref: ref == NEEDS)
    assert json.dumps(found.card["rows"]) == json.dumps([row_of(published, NEEDS)])


@pytest.mark.parametrize(
    ("ref", "path", "key", "value"),
    [
        (STANDS, ["verdict"], "verdict", "holds"),
        (STANDS, ["why"], "why", "The steps of a proof are decided."),
        (STANDS, ["evidence", "exact", "search", "largest_ratio"], "evidence.exact.search.largest_ratio", 0.999998),
        (STANDS, ["evidence", "exact", "search", "admissible"], "evidence.exact.search.admissible", 7),
        (STANDS, ["evidence", "exact", "search", "seeds"], "evidence.exact.search.seeds[0]", [1]),
        (STANDS, ["evidence", "proof", "steps"], "evidence.proof.steps", 99),
        (STANDS, ["evidence", "units", "homogeneous"], "evidence.units.homogeneous", 1),
        (STANDS, ["tightness", "why"], "tightness.why", "nobody knows"),
        (SOMETIMES, ["evidence", "exact", "instance", "ratio"], "evidence.exact.instance.ratio", 8.25),
        (SOMETIMES, ["instance"], "instance", None),
        (NEEDS, ["evidence", "needs", 0, "assumption"], "evidence.needs[0].assumption", "given_weights"),
    ],
)
def test_an_entry_of_the_scorecard_is_named_with_both_values(files, ref, path, key, value):
    before = []

    def alter(card):
        entry = row_of(card, ref)
        for part in path[:-1]:
            entry = entry[part]
        before.append(entry[path[-1]])
        entry[path[-1]] = value

    change(files / "published" / "scorecard.json", alter)
    was = before[0][0] if isinstance(before[0], list) else before[0]
    now = value[0] if isinstance(value, list) else value
    assert wrong(files, ref) == [f"scorecard.json: {ref}: {key}: published is {now!r}, checked is {was!r}"]


def test_rows_that_are_missing_too_many_or_twice():
    published = json.loads((assess.PUBLISHED / "scorecard.json").read_text())["rows"]
    differ = partial(published_checks._rows_differ, published, whole=True)
    assert not list(differ(published=published))
    dropped = [row for row in published if row["id"] != "fast.lemma2"]
    assert [each.text for each in differ(published=dropped)] == [
        "scorecard.json: fast.lemma2@main: published is 'absent', checked is 'verdict proved'"
    ]
    added = [*published, published[0] | {"id": "fast.thm9"}]
    assert [each.text for each in differ(published=added)] == [
        f"scorecard.json: fast.thm9@{published[0]['edition']}: published is 'verdict {published[0]['verdict']}', "
        "checked is 'absent: there is no such claim'"
    ]
    assert "published is '2 rows', checked is '1 row'" in next(differ(published=[*published, published[0]])).text


def first_number(data, found=None):
    """The path of the first number in plain data that is not 0."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, float) and value:
            return [key]
        if isinstance(value, (dict, list)) and (path := first_number(value)):
            return [key, *path]
    return None


def test_a_candidate_whose_number_is_changed(files):
    """One digit of the settings by which a search found its largest ratio gives another ratio."""

    def alter(content):
        entry = content["searches"][STANDS]["overall"]["candidate"]["fields"]
        path = first_number(entry)
        for part in path[:-1]:
            entry = entry[part]
        entry[path[-1]] *= 1.01

    kept = kept_searches.published()[STANDS]["overall"]
    change(files / "published" / "searches.json", alter)
    lines = wrong(files, STANDS)
    assert lines and all(line.startswith(f"searches.json: {STANDS}: ") for line in lines)
    assert any(f"published is {kept['right']!r}, checked is " in line for line in lines)


@pytest.mark.parametrize(("key", "value"), [("ratio", 0.5), ("left", 3.0), ("right", 2), ("rounds", 2)])
def test_a_kept_number_that_its_candidate_does_not_give(files, key, value):
    change(files / "published" / "searches.json", lambda c: c["searches"][STANDS]["overall"].update({key: value}))
    line = f"searches.json: {STANDS}: overall: {key}: published is {value!r}, checked is "
    assert any(each.startswith(line) for each in wrong(files, STANDS))


@pytest.mark.parametrize(
    ("alter", "says"),
    [
        (lambda kept: kept["overall"]["candidate"].update({"class": "os.system"}), "class = 'os.system': allowed is"),
        (lambda kept: kept["overall"]["candidate"]["fields"].update(more=1), "field 'more': allowed are"),
        (lambda kept: kept["overall"]["candidate"]["fields"].popitem(), "it is missing"),
        (lambda kept: kept["overall"].update(candidate=None), "candidate"),
        (lambda kept: kept.pop("overall"), "none: 'overall'"),
    ],
)
def test_a_candidate_that_cannot_be_read(files, alter, says):
    change(files / "published" / "searches.json", lambda content: alter(content["searches"][STANDS]))
    assert any(line.startswith(f"searches.json: {STANDS}") and says in line for line in wrong(files, STANDS))


@pytest.mark.parametrize(
    ("alter", "key"),
    [
        (lambda exact: exact["readings"][0].update(ratio="0.5"), "exact.readings[0].ratio: published is '0.5'"),
        (lambda exact: exact["instance"]["constants"].update(smoothness="7"), "exact.instance.constants.smoothness"),
        (lambda exact: exact.update(refutes=True), "exact.refutes: published is True, checked is False"),
    ],
)
def test_an_exact_point_that_its_candidate_does_not_give(files, alter, key):
    change(files / "published" / "searches.json", lambda content: alter(content["searches"][STANDS]["exact"]))
    (line,) = wrong(files, STANDS)
    assert line.startswith(f"searches.json: {STANDS}: {key}") and ", checked is " in line


def test_a_search_that_is_not_there(files):
    change(files / "published" / "searches.json", lambda content: content["searches"].pop(STANDS))
    assert any("published is 'absent', checked is 'a search" in line for line in wrong(files, STANDS))


def test_a_ratio_above_one_does_not_hold(files):
    """Kept numbers above 1, in both files: the rule finds a lead, and the candidate does not give them."""
    change(files / "published" / "searches.json", lambda c: c["searches"][STANDS]["overall"].update(ratio=1.5))
    lines = wrong(files, STANDS)
    assert f"scorecard.json: {STANDS}: verdict: published is 'proved', checked is 'not checked'" in lines
    assert any("overall: ratio: published is 1.5, checked is " in line for line in lines)


def test_an_instance_whose_number_is_changed(files):
    change(files / "instances" / f"{SOMETIMES}.json", lambda content: content.update(ratio="2"))
    assert any(
        line.startswith(f"instances/{SOMETIMES}.json: ") and "the file says ratio = '2', recomputed is " in line
        for line in wrong(files, SOMETIMES)
    )
    change(files / "instances" / f"{SOMETIMES}.json", lambda content: content.update(claim=STANDS))
    assert any(f"claim = '{STANDS}'" in line for line in wrong(files, SOMETIMES))


def test_an_instance_of_what_is_needed_whose_number_is_changed(files):
    (file,) = (files / "needs").glob(f"{NEEDS}.*.json")
    change(file, lambda content: content["readings"][0].update(left="1"))
    assert any(line.startswith(f"needs/{file.name}: ") and "recomputed" in line for line in wrong(files, NEEDS))


def _numbers(data):
    """Every place of a whole number in a certificate, as (container, key)."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, str) and value.lstrip("-").isdigit():
            yield data, key
        elif isinstance(value, (dict, list)):
            yield from _numbers(value)


def test_a_certificate_whose_number_is_changed(files):
    """A number of the theorem that the claim is."""

    def alter(content):
        evidence = content["steps"][0]["findings"][0]["evidence"][0]
        saved = json.loads(evidence["data"])
        box, key = next(_numbers(saved["bounds"]))
        box[key] = str(int(box[key]) + 1)
        evidence["data"] = json.dumps(saved, separators=(",", ":"))

    change(files / "certificates" / f"{SOMETIMES}.json", alter)
    lines = wrong(files, SOMETIMES)
    assert lines and lines[0].startswith(f"certificates/{SOMETIMES}.json: published is 'a proof', checked is ")


def test_a_proof_of_another_claim(files):
    other = files / "certificates" / "fast.lemma1@main.json"
    shutil.copy(other, files / "certificates" / f"{STANDS}.json")
    assert any("claim = 'fast.lemma1@main'" in line for line in wrong(files, STANDS))
    change(files / "certificates" / f"{STANDS}.json", lambda content: content.update(claim=STANDS))
    assert any(line.startswith(f"certificates/{STANDS}.json: ") for line in wrong(files, STANDS))


def test_a_proof_that_is_not_there(files):
    (files / "certificates" / f"{STANDS}.json").unlink()
    assert any("published is 'no file', checked is 'a file, for" in line for line in wrong(files, STANDS))


def test_a_step_whose_certificate_is_changed(files):
    def alter(content):
        proved = (s for s in content["steps"] if s["outcome"] == "proved")
        first, second, *_ = [s for s in proved if any(found["evidence"] for found in s["findings"])]
        first["findings"], second["findings"] = second["findings"], first["findings"]

    change(files / "certificates" / "steps.json", alter)
    (line,) = published_checks.check_steps("fast")["wrong"]
    assert line.where == "fast/certificates/steps.json" and "the evidence does not show 'proved'" in line.checked


def test_tightness_that_does_not_follow_from_its_numbers(files):
    file, ref = files / "published" / "tightness.json", "fast.thm2@sharper"
    assert not list(published_checks._tightness(file, {*order()}))
    change(file, lambda content: content["claims"][ref].update(looseness=1.5))
    (line,) = published_checks._tightness(file, {*order()})
    assert line.text.startswith(f"tightness.json: {ref}: column.value: published is 2.0") and "is 1.5" in line.text


@here
@pytest.mark.parametrize("name", ["fedau.thm1", "khaled2020.thm1"])
def test_a_number_beside_a_figure(tmp_path, name):
    """One figure of bounds, and one that shows runs too."""
    paper, kind = name.split(".")
    toml, file = experiments() / paper / "figures" / f"{kind}.toml", tmp_path / f"{name}.csv"
    shutil.copy(ROOT / "figures" / file.name, file)
    assert published_checks.check_figure(toml, file)["wrong"] == []
    lines = file.read_text().splitlines()
    cells = lines[3].split(",")
    cells[4] = cells[4][:-1] + str((int(cells[4][-1]) + 1) % 10)
    file.write_text("\n".join([*lines[:3], ",".join(cells), *lines[4:]]) + "\n")
    (found,) = published_checks.check_figure(toml, file)["wrong"]
    assert found == Difference(f"figures/{name}.csv", "line 4", ",".join(cells), lines[3])


def test_a_row_of_a_page_of_findings(tmp_path):
    statements = [each for each in all_claims() if each.paper == "flics"]
    row = Row(statements[0].ref, "statement", "does not hold", "instance")
    results = {f"claim {s.ref}": {"rows": [row.data()] if s is statements[0] else []} for s in statements}
    results |= {f"{kind} flics": {"rows": []} for kind in ("steps", "tables")}
    page = tmp_path / "flics.md"
    page.write_text(f"# Page\n{BEGIN}\n{generated('flics', [row])}\n{END}\n")
    assert not list(published_checks._pages(tmp_path, statements, results))
    page.write_text(page.read_text().replace("does not hold", "holds after all"))
    (found,) = published_checks._pages(tmp_path, statements, results)
    assert "holds after all" in found.published and "does not hold" in found.checked
    assert found.where == "findings/flics.md"
    page.write_text("\n".join(line for line in page.read_text().splitlines() if "holds after all" not in line))
    (found,) = published_checks._pages(tmp_path, statements, results)
    assert found.published == "no such line" and "does not hold" in found.checked


def test_a_certificate_of_a_worst_case(tmp_path):
    kept = sorted((ROOT / "docs" / "certificates").glob("*.json"))
    if not kept:
        pytest.skip("the certificates are not beside the tests")
    file = tmp_path / kept[0].name
    shutil.copy(kept[0], file)
    assert published_checks.check_certificate(file)["wrong"] == []

    change(file, lambda content: content.update(contraction="1/2"))
    (found,) = published_checks.check_certificate(file)["wrong"]
    assert found.key == "" and found.published == "a certificate" and found.checked


def spaces():
    """A claim for every kind of space."""
    known: dict[object, object] = {}
    for statement in all_claims():
        space = subject_of(statement).space(statement)
        known.setdefault((type(space), statement.functional.name), (statement, space))
    return list(known.values())


@pytest.mark.parametrize(("statement", "space"), spaces(), ids=lambda each: getattr(each, "ref", ""))
def test_candidates_of_every_space_are_read_as_they_were(statement, space):
    """To the last bit: what is read is written in the same way, and gives the same sides."""
    rng, classes = np.random.default_rng(5), classes_of(space)
    drawn = [
        *(each for each, _ in zip(space.structured(), range(3), strict=False)),
        *(space.draw(rng) for _ in range(4)),
    ]
    for candidate in (each for each in drawn if each is not None):
        text = json.dumps(candidate_data(candidate), allow_nan=False)
        again = candidate_from(json.loads(text), classes)
        assert json.dumps(candidate_data(again)) == text
        before, after = space.assess(candidate), space.assess(again)
        assert (before is None) == (after is None)
        if before and after:
            assert (before[0].ratio, before[0].rounds) == (after[0].ratio, after[0].rounds)


@dataclass(frozen=True)
class Alien:
    """No candidate."""

    number: float


def test_what_no_candidate_is_made_of_is_refused():
    space = subject_of(claim(STANDS)).space(claim(STANDS))
    with pytest.raises(ValueError, match=r"Alien': allowed is fedtheory\."):
        candidate_from(candidate_data(Alien(1.0)), classes_of(space))
    with pytest.raises(TypeError, match="object: allowed are numbers"):
        candidate_data(object())
    for wrong in ({"float": "1.0"}, {"call": "x"}, {"fraction": "1/2", "more": 1}, {"number": 1, "of": "object"}):
        with pytest.raises(ValueError, match="allowed is an object that candidate_data writes"):
            candidate_from(wrong, {})
    for text in ("1/0", "1/", "a", f"1/{10**4000}"):
        with pytest.raises(ValueError, match="allowed is a number such as 3"):
            candidate_from({"fraction": text}, {})


def test_a_run_that_was_stopped_goes_on_and_one_that_ended_does_not(files, monkeypatch, tmp_path):
    kept, where = tmp_path / "kept", Places(files / "published", None, None)
    check = partial(check_published, where, workers=1, kept=kept, only=lambda ref: ref in (SOMETIMES, STANDS))

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(published_checks, "check_searches", stopped)
        with pytest.raises(KeyboardInterrupt):
            check()
    assert len(list(kept.glob("*.json"))) == 2
    again = check()
    assert again.resumed == 2 and not again.differences and not list(kept.glob("*.json"))
    assert check().resumed == 0


def test_a_searches_numbers_are_those_of_the_scorecard():
    """Both files are of one search."""
    rows, kept = scorecard.published_rows(), kept_searches.published()
    for ref, first in assess.twins(all_claims()).items():
        told = rows[ref]["evidence"]["exact"]["search"]
        assert told == (scorecard.rounded(kept_searches.summary(kept[first])) if first in kept else None)


def test_progress_counts_work_and_not_tasks():
    """The time that is left is right to a factor of 2 from a tenth on where tasks take what is kept of them."""
    tasks = {f"claim {i}": partial(pow, 2, i) for i in range(20)}
    work = {name: 1.0 + 30.0 * (place < 3) for place, name in enumerate(tasks)}
    at: list[tuple[int, int]] = []
    spent: dict[str, float] = {}
    run_all(tasks, workers=1, progress=lambda _, *here: at.append(here), work=work, spent=spent)
    assert (
        at.pop(0) == (0, 1000)
        and at[0] == (round(1000 * 31 / 110), 1000)
        and at[-1] == (1000, 1000)
        and spent.keys() == tasks.keys()
    )
    elapsed = 0.0
    for (done, total), seconds in zip(at, work.values(), strict=True):
        elapsed += seconds
        left = 110 - elapsed
        assert abs(elapsed / done * (total - done) - left) <= max(left, 0.5) / 2


def test_work_is_kept_by_what_it_is_of(tmp_path, monkeypatch):
    file = tmp_path / "work.json"
    file.write_text(json.dumps(record(file, {"search a@main 300 8 30 seed 0": 2.0, "claim a@main": 0.001})))
    monkeypatch.setattr("fedtheory.evidence.work_done.FILE", file)
    assert work_of(["search a@main 20 1 1 seed 3", "search b@main 1 1 1 seed 0", "claim a@main", "new"]) == {
        "search a@main 20 1 1 seed 3": 2.0, "search b@main 1 1 1 seed 0": 2.0, "claim a@main": 0.01, "new": 1.0,
    }  # fmt: skip


def test_a_search_takes_what_its_own_pieces_took(tmp_path, monkeypatch):
    """Not what the checks of `verify` took, and not what errata did, which are kept beside."""
    file = tmp_path / "work.json"
    file.write_text(json.dumps(record(file, {"search a@main": 2.0, "proof a@main": 3.0, "claim a@main": 50.0,
                                             "errata a@main": 70.0, "errata a.steps": 9.0})))  # fmt: skip
    monkeypatch.setattr("fedtheory.evidence.work_done.FILE", file)
    assert verification.expected(assess.QUICK) == 5.0
    assert verification.expected(assess.FULL) == 3.0 + 2.0 * assess.FULL.looks / assess.QUICK.looks


@pytest.fixture
def verify(monkeypatch, tmp_path):
    """`verify`, the checks of which say what they are told to."""
    card = json.loads((assess.PUBLISHED / "scorecard.json").read_text())
    said = Checked(card, [], {}, {"proofs": 170, "kernel": 70, "instances": 70, "candidates": 180}, ["searches"])

    def run(*options, **changes):
        monkeypatch.setattr(published_checks, "check_published", lambda *_, **__: replace(said, **changes))
        return CliRunner().invoke(app, ["verify", "--report", str(tmp_path), *options])

    return run


def test_what_verify_prints_fits_a_screen(verify, tmp_path):
    done = verify()
    assert done.exit_code == 0, done.output
    assert len(done.output.splitlines()) <= 24 and max(map(len, done.stdout.splitlines())) <= 120
    assert "173 claims: " in done.stdout and "nothing differs" in done.stdout and "fedtheory replay" in done.stdout
    assert (tmp_path / "scorecard.json").exists() and not (tmp_path / "differences.json").exists()
    assert len(verify("--table").stdout.splitlines()) > 173
    assert json.loads(verify("--json").stdout)["differences"] == []


def test_what_differs_is_told_and_kept(verify, tmp_path):
    many = [Difference("scorecard.json", f"a.thm{i}@main: verdict", "holds", "refuted") for i in range(40)]
    done = verify(differences=many)
    assert done.exit_code == 1 and len(done.output.splitlines()) <= 24
    assert "differs: scorecard.json: a.thm0@main: verdict: published is 'holds', checked is 'refuted'" in done.stderr
    assert len(json.loads((tmp_path / "differences.json").read_text())["differences"]) == 40
    done = verify(contradicted={STANDS: "There is a complete proof of it, and an instance against it."})
    assert done.exit_code == 1 and f"{STANDS}: There is a complete proof" in done.stderr
    assert verify().exit_code == 0 and not (tmp_path / "differences.json").exists()


@pytest.mark.parametrize("option", [["--accept"], ["--full"], ["--device", "cuda"]])
def test_what_goes_with_a_search_is_refused_without(verify, option):
    done = verify(*option)
    assert done.exit_code == 2 and "allowed is with --search" in done.stderr


def test_a_search_is_published_with_what_it_kept():
    """The searches that `verify --search` writes are those of its verdicts, each with its version and seed."""
    (verdict,) = assess.assess_all(
        [claim(STANDS)], depth=assess.Depth(candidates=5, climbs=1, steps=1, seeds=2, refuted_too=False), workers=1
    )
    written = verification._searches([verdict])
    kept = written["searches"][STANDS]
    assert written["fedtheory"] and kept["seeds"] == [0, 1] and kept["candidates"] >= 10
    assert kept["depth"] == {"candidates": 5, "climbs": 1, "steps": 1}
    again, exact = kept_searches.judged_again(claim(STANDS), "overall", kept["overall"])
    assert exact == kept["exact"] and exact["readings"][0]["fails"] == [] and not exact["refutes"]
    assert again["ratio"] == kept["overall"]["ratio"] == verdict.evidence["exact"]["search"]["largest_ratio"]


def test_published_searches_are_as_deep_as_verify_searches():
    deep = {"candidates": assess.QUICK.candidates, "climbs": assess.QUICK.climbs, "steps": assess.QUICK.steps}
    for ref, kept in kept_searches.published().items():
        assert kept["depth"] == deep and len(kept["seeds"]) == assess.QUICK.seeds, ref


def test_other_rounds_of_a_search_without_late_ones_are_named_and_no_crash():
    kept = kept_searches.published()["fast.lemma2@main"]
    assert kept["late"] is None
    again, _ = kept_searches.judged_again(claim("fast.lemma2"), "overall", kept["overall"] | {"rounds": 7})
    assert again["rounds"] == kept["overall"]["rounds"] == 1


@pytest.mark.parametrize(("key", "value"), [("outcome", "exceeded"), ("ratio", 0.9), ("hypotheses_hold", False)])
def test_what_was_measured_follows_from_its_numbers(key, value):
    for ref, row in scorecard.published_rows().items():
        assert not list(published_checks._measured_apart(ref, row))
    row = json.loads(json.dumps(scorecard.published_rows()["fast.thm1@main"]))
    was, row["evidence"]["measured"][0][key] = row["evidence"]["measured"][0][key], value
    (found,) = published_checks._measured_apart("fast.thm1@main", row)
    assert found.key == f"fast.thm1@main: evidence.measured[0].{key}" and found.published == value
    assert found.checked == (pytest.approx(was, rel=1e-5) if key == "ratio" else was)
