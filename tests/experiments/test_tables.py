"""Printed tables as data: counts of rows and cells, digits, labels, and errors that name the line."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.experiments.prices import Shop
from fedtheory.experiments.printed_tables import Table, cells, tables
from fedtheory.experiments.reading import parse_toml

SHAPES = {
    "fast": {"1": (7, 3), "2": (4, 8), "3": (25, 8), "4": (4, 8), "5": (6, 9), "6": (25, 8), "7": (25, 8), "8": (6, 9)},
    "flics": {"I": (15, 5)},
    "fedau": {"1": (21, 8), "C.4.1": (7, 8), "D.1.1": (7, 10), "D.3.1": (4, 3), "D.6.1": (6, 6)},
    "safari": {
        "1": (6, 4), "2": (6, 4), "3": (4, 4), "4": (3, 4), "5": (6, 4), "6": (1, 5), "7": (4, 1), "8": (6, 4),
        "9": (6, 4), "10": (12, 4), "11": (8, 4),
    },
}  # fmt: skip

SMALL = """
paper = "p"
number = "1"
place = "s"
caption = "c"
keys = ["q"]
columns = [{ measure = "accuracy" }]
rows = [
    ["1", "71.40±2.1"],
    ["0", "-"],
]

[measures.accuracy]
unit = "%"
statistic = "mean"
spread = "deviation"
dash = "not run"
"""


@pytest.mark.parametrize("paper", SHAPES)
def test_every_table_is_there_whole(paper: str) -> None:
    found = {t.number: (len(t.rows), len(t.columns)) for t in tables(paper) if t.edition == "main"}
    assert found == SHAPES[paper]


def test_the_submission_of_safari_has_its_table() -> None:
    (table,) = [t for t in tables("safari") if t.edition == "submission"]
    assert [cell.text for cell in table.cells[:4]] == ["-", "-", "4.15", "12.75"]


@pytest.mark.parametrize(("paper", "number", "labels", "text"), [
    ("fast", "3", {"participation": "gamma", "q": "0.2", "dataset": "fashion_mnist", "alpha": "0.05"}, "72.40±4.7"),
    ("fast", "6", {"participation": "beta", "q": "0.5", "dataset": "cifar10", "measure": "ratio"}, "47.9"),
    ("fast", "8", {"participation": "weibull", "q": "adaptive 9", "measure": "accuracy"}, "74.52±8.9"),
    ("flics", "I", {"dataset": "emnist", "method": "flics-adam", "availability": "cyclic"}, "**94.7** (+56.4)"),
    ("fedau", "1", {"participation": "cyclic", "method": "mifa", "dataset": "cifar100", "measure": "test_accuracy"},
     "41.1±0.6"),
    ("fedau", "D.6.1", {"method": "fedvarp", "mean_participation": "0.1", "measure": "train_accuracy"}, "61.5±25.8"),
    ("safari", "11", {"m": "1", "algorithm": "fedavg", "p": "1"}, "10.31"),
    ("safari", "6", {"s": "60"}, "82.37±5.8"),
])  # fmt: skip
def test_cells_have_the_printed_digits(paper: str, number: str, labels: dict[str, str], text: str) -> None:
    found = cells(tables(paper), [number], **labels)
    assert {cell.text for cell in found if cell.spread is not None or "±" not in text} == {text}


def test_numbers_keep_their_digits() -> None:
    table = parse_toml(SMALL.encode(), "t.toml", Table)
    cell, dash = table.cells
    assert (str(cell.value), cell.spread, dash.value) == ("71.40", Decimal("2.1"), None)
    assert cells([table]) == (cell,)


@pytest.mark.parametrize(("old", "new", "message"), [
    ('["1", "71.40±2.1"]', '["1"]', r"rows\[0\] has 1 entries: allowed are 1 keys and 1 cells"),
    ('"71.40±2.1"', '"71,40"', "cell '71,40': allowed is a number"),
    ('dash = "not run"', "", "a dash in accuracy"),
    ('spread = "deviation"', "", "spread of accuracy is not described"),
    ('measure = "accuracy"', 'measure = "acuracy"', "measure = 'acuracy': allowed is accuracy"),
    ('["0", "-"]', '["1", "-"]', "q 1 occurs twice"),
    ('caption = "c"', 'captoin = "c"', "t.toml, line 5: captoin is unknown; did you mean 'caption'"),
    ('number = "1"', "number = 1", "t.toml, line 3: number = 1: input should be a valid string"),
    ('statistic = "mean"', 'statistik = "mean"', "line 15: measures.accuracy.statistik is unknown"),
])  # fmt: skip
def test_what_is_wrong_is_said(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(ValueError, match=message):
        parse_toml(SMALL.replace(old, new).encode(), "t.toml", Table)


WITHOUT = """
[[without_file]]
cells = { q = "1" }
why = "no data"
"""


@pytest.mark.parametrize(("added", "message"), [
    (WITHOUT.replace("q = ", "q1 = "), r"without_file\[0\]: no number has these labels"),
    (WITHOUT.replace('"1"', '"0"'), r"without_file\[0\]: no number has these labels"),  # a dash
    (WITHOUT.replace('"no data"', '""'), r"line 21: without_file\[0\].why = .*: string should have at least"),
    (2 * WITHOUT, "without_file: q 1 is named twice: allowed is one reason for a number"),
])  # fmt: skip
def test_what_has_no_file_is_a_number_named_once(added: str, message: str) -> None:
    table = parse_toml((SMALL + WITHOUT).encode(), "t.toml", Table)
    assert [table.why_without(cell) for cell in table.cells] == ["no data", None]
    with pytest.raises(ValueError, match=message):
        parse_toml((SMALL + added).encode(), "t.toml", Table)


@pytest.mark.parametrize("paper", SHAPES)
def test_every_number_has_a_file_beside_it_or_a_reason_why_not(paper: str) -> None:
    printed = tables(paper)
    beside = Shop(paper, printed).offers
    for cell in cells(printed):
        reason = cell.table.why_without(cell)
        assert (cell in beside) == (reason is None), f"{cell.table.name}, {cell.where}: {reason}"


def test_a_table_in_another_papers_folder_is_refused(tmp_path) -> None:
    (tmp_path / "q" / "tables").mkdir(parents=True)
    (tmp_path / "q" / "tables" / "t.toml").write_text(SMALL)
    with pytest.raises(ValueError, match="paper = 'p' in the folder of 'q'"):
        tables("q", tmp_path)


def test_the_commands_print_tables() -> None:
    runner = CliRunner()
    shown = runner.invoke(app, ["tables", "--paper", "flics"])
    assert shown.exit_code == 0 and "**67.6** (0.9)" in shown.output and "flics Table I (section IV-D)" in shown.output
    data = json.loads(runner.invoke(app, ["tables", "--paper", "safari", "--number", "7", "--json"]).output)
    assert data[0]["rows"][0] == ["fedavg", "", "80±0.38"]
    wrong = runner.invoke(app, ["tables", "--paper", "fedau", "--number", "2"])
    assert str(wrong.exception) == "number = '2': allowed is 1, C.4.1, D.1.1, D.3.1, D.6.1"
    wrong = runner.invoke(app, ["tables", "--paper", "q"])
    assert str(wrong.exception).endswith(": allowed is fast or fedau or flics or safari")
    none = runner.invoke(app, ["curves", "--paper", "flics"])
    assert str(none.exception).endswith("its authors published no curves: allowed is fast")
