"""Practical claims: each kind of comparison made of our runs, and the words of a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fedtheory.experiments import prices
from fedtheory.experiments.comparisons import Gaps, Higher, Limit, Ordered, Relative, Same, Trial, Within
from fedtheory.experiments.overview import overview
from fedtheory.experiments.practical_claims import PracticalClaim, practical_claims
from fedtheory.experiments.prices import NOTHING, Rest, measured, price, seconds_a_round, write_prices
from fedtheory.experiments.printed_tables import Cell, Table, folder
from fedtheory.experiments.reading import parse_toml
from fedtheory.experiments.results import digest, published, settings_now
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.table_checks import Statement, read_checks
from fedtheory.experiments.table_pages import pages
from fedtheory.experiments.theirs_and_ours import Beside, More, more
from fedtheory.files import json_text
from fedtheory.seals import sealed

TABLE = b"""
paper = "p"
number = "1"
place = "here"
caption = "a table"
keys = ["method", "s"]
columns = [{ measure = "accuracy" }]
rows = [["a", "0", "80"], ["a", "1", "70"], ["a", "2", "65"], ["b", "0", "60"], ["b", "1", "61"], ["c", "0", "1"]]
[measures.accuracy]
unit = "%"
statistic = "one run"
"""
SEEDS = range(6)
NOISE = (-0.1, 0.05, 0.1, 0.0, -0.05, 0.02)
MEANS = {("a", "0"): 8.0, ("a", "1"): 7.0, ("a", "2"): 7.5, ("b", "0"): 5.0, ("b", "1"): 6.5}


@pytest.fixture(scope="module")
def table() -> Table:
    return parse_toml(TABLE, "table1.toml", Table)


def ours(cell: Cell) -> Mapping[int, float] | None:
    """Means with noise of the setting's own, of six seeds; c was not run."""
    key = (cell.labels["method"], cell.labels["s"])
    if key not in MEANS:
        return None
    turn = list(MEANS).index(key)
    return {seed: 100 * MEANS[key] + NOISE[(seed + turn) % 6] for seed in SEEDS}


def means(trials: Sequence[Trial]) -> list[list[tuple[float, float, float]]]:
    return [[(round(each.differences.mean), each.least, each.most) for each in trial.wanted] for trial in trials]


def printed(trials: Sequence[Trial]) -> list[list[float]]:
    """What is printed in the places of ours, which the cells of a trial say too."""
    found = []
    for trial in trials:
        assert trial.cells or not trial.wanted
        found.append([round(each.printed, 6) for each in trial.wanted])
    return found


def trials(table: Table, kind: type[Any], **given: Any) -> list[Trial]:
    return list(kind.model_validate({"kind": kind.__name__.lower()} | given).trials([table], ours))


A, B, C = {"method": "a"}, {"method": "b"}, {"method": "c"}
UP = (0.0, math.inf)


def test_each_kind_of_comparison_is_made_of_our_runs(table: Table) -> None:
    assert means(trials(table, Higher, of=A, than=B)) == [[(300, *UP)], [(50, *UP)]]
    assert means(trials(table, Higher, of=C, than=A)) == [[]]
    both = {"of": {"method": "a"}, "than": {"s": ["1", "2"]}, "cells": A}
    every = [[(100, *UP)], [(50, *UP)], [(-50, *UP)], [(50, *UP)]]
    assert means(trials(table, Higher, **both)) == every == means(trials(table, Higher, **both, against="largest"))
    assert trials(table, Higher, **both, against="largest", mostly=True) == []
    least = [[(100, *UP), (50, *UP)], [(-50, *UP)], [(50, *UP)]]
    assert means(trials(table, Higher, **both, against="least")) == least
    within = trials(table, Within, of=A, than=B, least=3.0, most=18.0, digits=0)
    assert means(within) == [[(300, 2.5, 18.5)], [(50, 2.5, 18.5)]]
    relative = trials(table, Within, of=A, than=B, least=3.0, most=18.0, digits=0, relative=True)
    assert means(relative) == [[(37, 2.5, 18.5)], [(7, 2.5, 18.5)]]  # 300/800, 50/700
    along = {"along": "s", "values": ["0", "1", "2"]}
    assert means(trials(table, Ordered, cells=A, **along, rising=True)) == [[(-100, *UP)], [(50, *UP)]]
    assert means(trials(table, Ordered, cells=A, **along, rising=False)) == [[(100, *UP)], [(-50, *UP)]]
    assert means(trials(table, Gaps, of=A, than=B, **along, rising=False)) == [[(250, *UP)]]
    assert means(trials(table, Gaps, of=A, than=B, **along, rising=True)) == [[(-250, *UP)]]
    assert means(trials(table, Limit, cells=B, least=90.0)) == [[(500, 90.0, math.inf)], [(650, 90.0, math.inf)]]
    assert trials(table, Same, of=A, than=B) == [] == trials(table, Relative, of=A, than=B)


def test_what_is_printed_stands_beside_each_comparison(table: Table) -> None:
    """By hand: 80, 70, 65 of a and 60, 61 of b at s = 0, 1, 2."""
    both = {"of": {"method": "a"}, "than": {"s": ["1", "2"]}, "cells": A}
    assert printed(trials(table, Higher, of=A, than=B)) == [[20.0], [9.0]]
    assert printed(trials(table, Higher, **both, against="least")) == [[10.0, 15.0], [5.0], [-5.0]]
    assert printed(trials(table, Within, of=A, than=B, least=3.0)) == [[20.0], [9.0]]
    assert printed(trials(table, Within, of=A, than=B, least=3.0, relative=True)) == [[25.0], [12.857143]]  # 900/70
    along = {"along": "s", "values": ["0", "1", "2"]}
    assert printed(trials(table, Ordered, cells=A, **along, rising=True)) == [[-10.0], [-5.0]]
    assert printed(trials(table, Ordered, cells=A, **along, rising=False)) == [[10.0], [5.0]]
    assert printed(trials(table, Gaps, of=A, than=B, **along, rising=False)) == [[11.0]]
    assert printed(trials(table, Gaps, of=A, than=B, **along, rising=True)) == [[-11.0]]
    assert printed(trials(table, Limit, cells=B, least=90.0)) == [[60.0], [61.0]]


def test_more_seeds_are_counted_once_a_setting(table: Table) -> None:
    """Two numbers of one run, of 2 s in two seeds, and one of another, of 9 s in three, one of which is a pilot's: 10
    seeds of the one are 8 more, 8 of the other 6 more."""
    cell, two = table.cells[0], {0: 1.0, 1: 1.0}
    test, train = (Beside(cell, {}, two, two, {"one": 2.0}) for _ in range(2))
    other = Beside(cell, {}, {**two, 2: 1.0}, two, {"other": 9.0})
    found = more([(10.0, [test]), (8.0, [train, other]), (1.0, [other])])
    assert found == More(10.0, 8 * 1.0 + 6 * 3.0) and more([]) == More(0.0, 0.0)


def claim(words: Sequence[str], mostly: bool = False) -> str:
    statement = Statement.model_validate({"id": "i", "place": "p", "says": "s", "readings": [{"kind": "limit"}]})
    return PracticalClaim("p", statement, "", tuple(Trial("") for _ in words), tuple(words), mostly, 0.0).verdict


@pytest.mark.parametrize(
    ("words", "all_of_them", "most_of_them"),
    [
        (["holds"] * 3, "borne out", "borne out"),
        (["holds", "holds", "fails"], "not borne out", "borne out"),
        (["holds", "holds", "open"], "open", "borne out"),
        (["holds", "holds", "not run"], "borne out so far", "borne out"),
        (["holds", "open", "not run"], "open", "open"),
        (["fails", "fails", "not run"], "not borne out", "not borne out"),
        (["holds", "fails"], "not borne out", "not borne out"),
        (["open", "fails", "open"], "not borne out", "open"),
        (["not run"] * 2, "not run", "not run"),
    ],
)
def test_words_of_a_sentence(words: list[str], all_of_them: str, most_of_them: str) -> None:
    assert (claim(words), claim(words, mostly=True)) == (all_of_them, most_of_them)


FILE = """
paper = "p"
title = "a twin"
[federation]
kind = "common_hessian"
offsets = [[1.0], [-1.0]]
[algorithm]
kind = "fedavg"
local_lr = 0.1
[participation]
kind = "Uniform"
cohort = 1
[run]
rounds = 3
seeds = [0, 1, 2, 3, 4, 5]
observers = [{ kind = "squared_distance" }]
[[statistics]]
name = "x"
of = "squared_distance"
[[likeness]]
table = "1"
by = ["method", "s"]
statistic = "x"
orders = [["method"], ["s"]]
"""
CHECKS = """
[[statements]]
id = "first"
place = "here"
says = "a is above b"
readings = [{ kind = "higher", tables = ["1"], of = { method = "a" }, than = { method = "b" } }]
[[statements]]
id = "second"
place = "here"
says = "changes are those of the table"
readings = [{ kind = "same", tables = ["1"], of = { method = "a" }, than = { method = "b" } }]
[[drawn]]
place = "Fig. 1"
says = "a is faster"
like = "p/twin"
runs = 60
"""
LITERALLY = """
[[statements.readings]]
kind = "ordered"
reading = "at each step"
tables = ["1"]
cells = { method = "a" }
along = "s"
values = ["0", "1", "2"]
rising = true
[[statements.readings]]
kind = "higher"
reading = "from 1 to 2"
tables = ["1"]
of = { method = "a", s = "2" }
than = { method = "a", s = "1" }
[[statements.readings]]
kind = "higher"
reading = "never asked"
tables = ["1"]
of = { method = "a" }
than = { method = "b" }
"""


def test_sentences_are_judged_by_what_is_published(tmp_path: Path, table: Table) -> None:
    paper = tmp_path / "p"
    (paper / "tables" / "ours").mkdir(parents=True)
    (paper / "tables" / "table1.toml").write_bytes(TABLE)
    (paper / "checks.toml").write_text(CHECKS)
    variants = [
        f'[[variants]]\nname = "{m} {s}"\nset = {{ "algorithm.local_lr" = 0.{k + 1} }}\n'
        f'labels = {{ method = "{m}", s = "{s}" }}\n'
        for k, (m, s) in enumerate(MEANS)
    ]
    path = paper / "twin.toml"
    path.write_text(FILE + "".join(variants))
    rows, now = [], settings_now(read_experiment(path))
    for point in read_experiment(path).points():
        (cell,) = (each for each in table.cells if each.labels.items() >= dict(point.labels).items())
        found = ours(cell)
        assert found is not None
        values = list(found.values())
        numbers = {"mean": sum(values) / 6, "deviation": 1.0, "runs": 6, "values": [0.0] * 6} | {"mean": 0.0}
        rows.append({"name": point.name, "asked": now[point.name], "labels": dict(point.labels),
                     "seeds": list(SEEDS), "seconds": 1.0, "commits": ["c0ffee"], "statistics": {"x": numbers},
                     "curves": {"rounds": [0, 3], "squared_distance": [[0.0, value] for value in values]}})  # fmt: skip
    content = {"file": "p/twin.toml", "sha256": digest(path), "commits": ["c0ffee"], "data": [], "seconds": 5.0,
               "units": {}, "settings": rows}  # fmt: skip
    published(path).write_text(json_text(sealed(content)))
    (found_claim,) = practical_claims("p", tmp_path)
    assert (found_claim.statement.id, found_claim.verdict, found_claim.count) == ("first", "borne out", "2 hold")
    assert found_claim.seconds == 4.0 and found_claim.least is not None
    text, mean, half, resolution = found_claim.least
    assert "method a against method b" in text and 0 < half < resolution < mean
    assert "| p | a is above b | borne out | 2 hold |" in overview(tmp_path)
    assert found_claim.rest == NOTHING == Rest(0.0) and found_claim.more is None
    faster = "| p | a is faster | not judged | no numbers: Fig. 1 | - | - | - | - | - | 10 s |"
    assert faster in overview(tmp_path)  # 60 / 30 of 5 s
    check_more(tmp_path, path, content)
    (paper / "checks.toml").write_text('[[statements]]\nid = "x"\nplace = "p"\nsays = "a rises"\n' + LITERALLY)
    words = [(each.reading, each.verdict) for each in practical_claims("p", tmp_path)]
    assert words == [("at each step", "not borne out"), ("from 1 to 2", "borne out")]
    (paper / "checks.toml").write_text(CHECKS)
    written = overview(tmp_path)  # ours are at least three times the printed ones; a rises from s = 1 to 2, by 50
    assert "| p Table 1 | 6 | 0 | 5 | 1 | 0 | 0 | 0 | 0 |\n| all | 6 | 0 | 5 | 1 | 0 | 0 | 0 | 0 |" in written
    assert "Open are 0 of 6 pairs (0%), and 0 of the 6 with 5 seeds or more (0%)." in written
    published(path).write_text(json_text(sealed({**content, "settings": [first_seeds(row) for row in rows]})))
    assert "| all | 6 | 0 | 0 | 0 | 0 | 6 | 0 | 0 |" in (written := overview(tmp_path))
    assert "Open are 6 of 6 pairs (100%), and 0 of the 0 with 5 seeds or more (-)." in written
    assert "| p | a is above b | open | 2 open | - | - | fewer than 5 seeds | " in written
    published(path).write_text(json_text(sealed(content)))
    check_prices(tmp_path, path)


def check_more(root: Path, path: Path, content: dict[str, Any]) -> None:
    """Where b is a with more noise, 9 printed points take more seeds; each setting's six took a second."""
    rows = [dict(row) for row in content["settings"]]
    (a,) = (row for row in rows if row["name"] == "a 1")
    wild = [[0.0, 700 + 10 * (-1) ** k] for k in SEEDS]
    rows = [
        row | ({"curves": a["curves"] | {"squared_distance": wild}} if row["name"] == "b 1" else {}) for row in rows
    ]
    published(path).write_text(json_text(sealed({**content, "settings": rows})))
    (open_claim,) = practical_claims("p", root)
    assert (open_claim.verdict, open_claim.count) == ("open", "1 hold, 1 open") and open_claim.more is not None
    ((_, wanted),) = ((t, w) for t in open_claim.trials for w in t.wanted if "s 1" in t.text)
    needed = wanted.differences.seeds_for(4.5, 2)  # half of 70 - 61, of two tests
    assert open_claim.more == More(needed, pytest.approx(2 * (needed - 6) / 6)) and needed > 40
    written = overview(root)
    assert f"| {needed:.0f} seeds: {2 * (needed - 6) / 6:.0f} s | 4 s | - |" in written
    assert "in all but a third of the latter takes none: these would have seen it; in each" in written
    published(path).write_text(json_text(sealed(content)))
    check_cost(root, path, content)
    check_pilot(root, path, content)


def check_cost(root: Path, path: Path, content: dict[str, Any]) -> None:
    """Where a file has one setting for all numbers of a and one for those of b, each took its second once."""
    before = path.read_text()
    both = "".join(
        f'[[variants]]\nname = "{name}"\nset = {{ "algorithm.local_lr" = {lr} }}\nlabels = {{ method = "{name}" }}\n'
        for name, lr in (("a", 0.1), ("b", 0.2))
    )
    path.write_text(FILE.replace('"method", "s"', '"method"').replace('["method"], ["s"]', '["method"]') + both)
    now = settings_now(read_experiment(path))
    rows = [row | {"name": name, "labels": {"method": name}, "asked": now[name]}
            for name, row in zip("ab", content["settings"], strict=False)]  # fmt: skip
    published(path).write_text(json_text(sealed({**content, "sha256": digest(path), "settings": rows})))
    (claim,) = practical_claims("p", root)
    assert claim.count == "2 hold" and claim.seconds == 2.0
    path.write_text(before)
    published(path).write_text(json_text(sealed(content)))


def check_pilot(root: Path, path: Path, content: dict[str, Any]) -> None:
    """A pilot's seeds are shown, and nothing is judged by them: of six seeds, one is a pilot, or two."""
    before = path.read_text()
    for pilot, verdict in (("[5]", "borne out"), ("[0, 5]", "open")):
        path.write_text(before.replace("seeds = [", f"pilot = {pilot}\nseeds = ["))
        (claim,) = practical_claims("p", root)
        left = {len(each.differences.values) for trial in claim.trials for each in trial.wanted}
        assert (claim.verdict, left) == (verdict, {6 - pilot.count(",") - 1})
        page = pages(root)[root / "p" / "tables" / "ours" / "table1.md"]
        assert "| 0, 1, 2, 3, 4, 5 | 1 | c0ffee |" in page and f"| {left.pop()} | " in page
    path.write_text(before.replace("seeds = [", "pilot = [6]\nseeds = ["))
    with pytest.raises(ValueError, match=r"pilot: 6 is none of the seeds: allowed are some of \[0, 1, 2, 3, 4, 5\]"):
        read_experiment(path)
    path.write_text(before)


def first_seeds(row: dict[str, Any]) -> dict[str, Any]:
    """A row of four seeds alone."""
    statistics = {"x": row["statistics"]["x"] | {"runs": 4, "values": [0.0] * 4}}
    curves = {"rounds": [0, 3], "squared_distance": row["curves"]["squared_distance"][:4]}
    return row | {"seeds": list(SEEDS)[:4], "statistics": statistics, "curves": curves}


def check_prices(root: Path, path: Path) -> None:
    """Two seeds more of four settings cost what 30 runs took in 5 seconds; a file of such rounds has that price too."""
    path.write_text(path.read_text().replace("4, 5]", "4, 5, 6, 7]"))
    (longer,) = practical_claims("p", root)
    assert longer.rest == Rest(pytest.approx(4 * 2 * 5 / 30))
    other = path.with_name("other.toml")
    other.write_text(path.read_text().partition("[[likeness]]")[0].replace("local_lr = 0.1", "local_lr = 0.2"))
    steps = path.with_name("steps.toml")
    steps.write_text(other.read_text().replace("local_lr = 0.2", "local_lr = 0.2\nlocal_steps = 2"))
    pace = seconds_a_round(root)
    assert pace == {"p/twin": pytest.approx(5 / 30 / 3), "p/other": pytest.approx(5 / 30 / 3)}
    assert price(other, read_experiment(other), pace) == pytest.approx(8 * 5 / 30)
    assert math.isinf(price(steps, read_experiment(steps), pace)) and "| not known |" in overview(root)
    write_prices({steps: {"seconds a round": 100_000.0}}, root)
    assert seconds_a_round(root)["p/steps"] == 100_000.0 and "| 667 h, for a GPU |" in overview(root)
    here, large = overview(root).split("### Full size, for a GPU")
    assert "| `steps` |" in large and "| `steps` |" not in here and "| `twin` |" in here and "| `twin` |" not in large


def test_rounds_of_a_file_are_timed(tmp_path: Path) -> None:
    path = tmp_path / "p" / "twin.toml"
    path.parent.mkdir()
    path.write_text(FILE.partition("[[likeness]]")[0])
    found = measured(path)
    assert 0 <= found["seconds a round"] < 1 and found["setting"] == "only" and "noise in the shape of" not in found


def test_clients_a_round_are_averaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "twin.toml"
    four = FILE.partition("[[likeness]]")[0].replace("[[1.0], [-1.0]]", "[[1.0], [-1.0], [2.0], [-2.0]]")
    path.write_text(four.replace("[[statistics]]", '[grid]\n"participation.cohort" = [2, 1, 4]\n[[statistics]]'))
    seconds = {1: 10.0, 4: 40.0}
    monkeypatch.setattr(prices, "_timed", lambda point: {
        "seconds a round": seconds[point.content["participation"]["cohort"]], "setting": point.name
    })  # fmt: skip
    assert measured(path)["seconds a round"] == pytest.approx(10 * 7 / 3, abs=1e-4)  # seven in three settings


def test_every_paper_with_tables_has_practical_claims() -> None:
    """About fifty sentences in all; those on arithmetic of printed numbers alone are not among them."""
    found = {
        paper.name: {each.statement.id for each in practical_claims(paper.name)}
        for paper in folder().iterdir()
        if (paper / "checks.toml").exists()
    }
    assert {paper: len(ids) for paper, ids in found.items()} == {"fast": 18, "fedau": 12, "flics": 9, "safari": 14}
    for paper, ids in found.items():
        rest = [each.id for each in read_checks(paper).statements if each.id not in ids]
        assert rest == {"flics": ["changes_avg", "changes_adam"], "safari": ["gains_of_table_5"]}.get(paper, [])
