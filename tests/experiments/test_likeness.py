"""Printed tables beside our numbers: cells by labels, paired differences, pages, curves, what is published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy.stats import ttest_rel

from fedtheory.cli.experiments import _write_pages
from fedtheory.experiments.paired_tests import Differences
from fedtheory.experiments.printed_tables import Cell, folder, tables
from fedtheory.experiments.results import digest, experiment_files, published, settings_now, summary, thinned
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.table_pages import pages
from fedtheory.experiments.theirs_and_ours import REASONS, Beside, Ranked, beside, pairs, ranked, reason
from fedtheory.files import json_text, read_json
from fedtheory.report.pictures.result_pictures import Curves
from fedtheory.report.style import KEY
from fedtheory.report.training import plot_curves
from fedtheory.seals import sealed

TABLE = """
paper = "p"
number = "1"
place = "here"
caption = "a table"
keys = ["method"]
columns = [{ s = "0", measure = "accuracy" }, { s = "1", measure = "accuracy" }]
rows = [["a", "80.0", "70.0"], ["b", "82.0", "-"]]
[measures.accuracy]
unit = "%"
statistic = "one run"
dash = "no difference"
"""
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
kind = "Incomplete"
process = { kind = "Uniform", cohort = 1 }
absent = []
[run]
rounds = 4
seeds = [0, 1, 2]
observers = [{ kind = "squared_distance" }]
[grid]
"participation.absent" = [[], [0]]
[called]
"participation.absent" = { label = "s", values = ["0", "1"] }
[[variants]]
name = "A"
set = {}
labels = { method = "a" }
[[variants]]
name = "B"
set = { "algorithm.local_lr" = 0.2 }
labels = { method = "b" }
[[statistics]]
name = "x"
of = "squared_distance"
[[likeness]]
table = "1"
by = ["method", "s"]
statistic = "x"
orders = [["method"], ["s"]]
[[likeness]]
table = "1"
cells = { method = "b", s = "0" }
by = ["s"]
ours = { method = "b" }
minus = { method = "a" }
statistic = "x"
"""
VALUES = {"A, s=0": [1.0, 2.0, 4.0], "A, s=1": [0.5, 1.0, 5.0], "B, s=0": [2.0, 4.0, 5.0]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An experiments folder with one paper, whose last setting was not run."""
    (tmp_path / "p" / "tables" / "ours").mkdir(parents=True)
    (tmp_path / "p" / "tables" / "table1.toml").write_text(TABLE)
    path = tmp_path / "p" / "twin.toml"
    path.write_text(FILE)
    points = {point.name: dict(point.labels) for point in read_experiment(path).points()}
    curves = {"rounds": [0, 4], "squared_distance": [[1.0, 0.5]] * 3}
    now = settings_now(read_experiment(path))
    rows = [{"name": name, "asked": now[name], "labels": points[name], "seeds": [0, 1, 2], "seconds": 1.0,
             "commits": ["c0ffee"],
             "statistics": {"x": summary([[each] for each in values], [[math.nan]] * 3)}, "curves": curves}
            for name, values in VALUES.items()]  # fmt: skip
    content = {"file": "p/twin.toml", "sha256": digest(path), "commits": ["c0ffee"], "data": [], "seconds": 3.0,
               "units": {}, "settings": rows}  # fmt: skip
    published(path).write_text(json_text(sealed(content)))
    return tmp_path


def read(root: Path) -> tuple[Any, Any, Any]:
    (path,) = experiment_files(root)
    return read_experiment(path), read_json(published(path)), tables("p", root)[0]


def test_cells_and_settings_meet_by_labels(root: Path) -> None:
    experiment, content, table = read(root)
    whole, difference = experiment.checked.likeness
    rows = beside(experiment, content, whole, table)
    assert [(row.cell.text, list(row.values.values())) for row in rows] == [
        ("80.0", VALUES["A, s=0"]), ("70.0", VALUES["A, s=1"]), ("82.0", VALUES["B, s=0"]), ("-", []),
    ]  # fmt: skip
    (row,) = beside(experiment, content, difference, table)
    assert list(row.values.values()) == [1.0, 2.0, 1.0] and row.seconds == 2.0
    first = content["settings"][0]
    first["seeds"], first["statistics"]["x"]["values"] = [2, 7], [4.0, 9.0]
    first["curves"]["squared_distance"] = [[1.0, 0.5]] * 2
    (row,) = beside(experiment, content, difference, table)
    assert row.values == {2: 1.0}


def test_pairs_are_compared_seed_by_seed(root: Path) -> None:
    """By the mean over the last third of the rounds, whatever statistic stands beside the printed numbers."""
    experiment, content, table = read(root)
    whole = experiment.checked.likeness[0]
    late = {"A, s=0": [1.0, 2.0, 4.0, 3.0, 1.0], "A, s=1": [0.5, 1.0, 5.0, 2.0, 1.0],
            "B, s=0": [2.0, 3.5, 5.5, 4.0, 2.5]}  # fmt: skip
    for row in content["settings"]:
        row["seeds"], row["statistics"]["x"]["values"] = [0, 1, 2, 3, 4], [9.0, 8.0, 7.0, 6.0, 5.0]
        row["curves"] = {
            "rounds": [0, 2, 3, 4],
            "squared_distance": [[9.0, 9.0, x + 1, x - 1] for x in late[row["name"]]],
        }
    by_method, by_s = ranked(list(pairs(beside(experiment, content, whole, table), whole.orders)))
    assert (by_method.one.cell.text, by_method.other.cell.text) == ("80.0", "82.0")
    assert (by_s.one.cell.text, by_s.other.cell.text) == ("80.0", "70.0")
    assert by_method.differences.values == (-1.0, -1.5, -1.5, -1.0, -1.5) and float(by_method.printed) == -2
    test = ttest_rel(late["A, s=0"], late["B, s=0"], alternative="less")
    assert by_method.differences.p_below(0) == pytest.approx(test.pvalue) and by_method.verdict == "as printed"
    low, high = ttest_rel(late["A, s=0"], late["B, s=0"]).confidence_interval(0.975)  # of two pairs
    assert by_method.interval == pytest.approx((high - low) / 2) and by_method.tests == 2
    assert by_s.verdict == "smaller" and by_s.differences.mean + by_s.interval < 5 and by_s.resolution > 0.5


def pair(printed: str, differences: Sequence[float], spread: str | None = None) -> Ranked:
    """A printed difference and ours, of two cells with this spread each."""
    cells = (
        Beside(Cell(tables("safari")[0], {}, "", Decimal(value), None if spread is None else Decimal(spread)), {})
        for value in (printed, "0")
    )
    return Ranked(*cells, Decimal(printed), Differences(tuple(differences)))


def verdict(printed: str, differences: list[float], spread: str | None = None) -> str:
    """Our word on it."""
    (judged,) = ranked([pair(printed, differences, spread)])
    return judged.verdict


@pytest.mark.parametrize(
    ("printed", "differences", "said"),
    [
        ("2.0", [1.5, 2.0, 2.5, 2.0, 1.8], "as printed"),
        ("-2.0", [-1.5, -2.0, -2.5, -2.0, -1.8], "as printed"),
        ("-2.0", [1.5, 2.0, 2.5, 2.0, 1.8], "reversed"),
        ("45", [0.5, 0.6, 0.4, 0.5, 0.55], "same sign, not the size"),
        ("0.5", [45.0, 46.0, 44.0, 45.0, 45.5], "same sign, not the size"),
        ("45", [0.5, -0.6, 0.4, -0.5, 0.55], "smaller"),
        ("1.0", [0.5, -0.6, 0.4, -0.5, 0.55], "open"),
        ("0", [1.5, 2.0, 2.5, 2.0, 1.8], "no order"),
        ("2.0", [2.0, 2.1, 1.9, 2.0], "open"),  # four seeds
        ("2.0", [2.0, 2.0, 2.0, 2.0, 2.0], "as printed"),
        ("2.0", [0.0, 0.0, 0.0, 0.0, 0.0], "smaller"),
        ("2.0", [2.0, 2.0, 2.0, 2.0, math.nan], "open"),
    ],
)  # fmt: skip
def test_verdicts_of_a_pair(printed: str, differences: list[float], said: str) -> None:
    assert verdict(printed, differences) == said


@settings(max_examples=20)  # a resolution is a root of the noncentral t
@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=5, max_size=5), min_size=1, max_size=6),
    st.lists(st.integers(1, 12), min_size=6, max_size=6),
)
def test_an_open_pair_with_seeds_enough_is_below_the_resolution(
    differences: list[list[int]], printed: list[int]
) -> None:
    """Holm decides what Bonferroni does, and the resolution is above Bonferroni's edge."""
    family = [pair(str(size), found) for found, size in zip(differences, printed, strict=False)]
    for each in ranked(family):
        if each.verdict == "open":
            assert abs(each.differences.mean) < each.resolution
            assert reason(each) == REASONS[1 if each.resolution > each.printed else 2]


def test_too_few_seeds_are_a_reason() -> None:
    (judged,) = ranked([pair("2.0", (2.0, 2.1, 1.9, 2.0))])
    assert (judged.verdict, reason(judged)) == ("open", REASONS[0])


def test_spreads_that_overlap_are_no_order() -> None:
    found = [1.5, 2.0, 2.5, 2.0, 1.8]
    assert (verdict("2.0", found, "1.0"), verdict("2.0", found, "0.9")) == ("no order", "as printed")


def test_a_page_has_no_interval_of_one_seed(root: Path) -> None:
    experiment, content, _ = read(root)
    for each in content["settings"]:
        values = each["statistics"]["x"]["values"][:1]
        each["seeds"], each["statistics"]["x"] = [0], summary([values], [[math.nan]])
        each["curves"]["squared_distance"] = [[1.0, 0.5]]
    published(root / "p" / experiment.name.split("/")[-1]).write_text(json_text(sealed(content)))
    (text,) = pages(root).values()
    said = "| method a, s 0 | method a, s 1 | +10.0 | +0.00 | - | - | 1 | open: fewer than 5 seeds |"
    assert said in text and "nan" not in text


def test_two_settings_of_one_cell_are_refused(root: Path) -> None:
    experiment, content, table = read(root)
    del content["settings"][0]["labels"]["method"]
    with pytest.raises(ValueError, match="settings 'A, s=0' and 'B, s=0' both have the labels"):
        beside(experiment, content, experiment.checked.likeness[0], table)


def test_a_page_says_what_was_run(root: Path) -> None:
    ((path, text),) = pages(root).items()
    assert path == root / "p" / "tables" / "ours" / "table1.md"
    assert "| a | 0 | 80.0 | 2.33 ± 1.53 | -77.67 | 0, 1, 2 | 1 | c0ffee |" in text
    assert "| b | 1 | - | not run |" in text and "- runs: 9 of the file's 12" in text
    assert "2 pairs: 0 as printed, 0 same sign, not the size, 0 reversed, 0 smaller, 2 open, 0 no order." in text


def test_curves_have_a_panel_for_each_setting_of_the_grid(root: Path) -> None:
    experiment, content, _ = read(root)
    figure = plot_curves(content, experiment.grid_labels, "squared_distance")
    assert [axes.get_title("left") for axes in figure.axes] == ["s = 0", "s = 1"]
    assert [[line.get_label() for line in axes.lines] for axes in figure.axes] == [["A", "B"], ["A"]]
    with pytest.raises(ValueError, match="no setting has curves of 'test_accuracy'"):
        plot_curves(content, experiment.grid_labels)


def many(alone: int = 1) -> dict[str, Any]:
    """Results of settings with labels: two laws with four values of q each, and others of one setting."""
    kinds = [(law, q) for law in ("beta", "gamma") for q in range(4)] + [(f"law{n}", 1) for n in range(alone)]
    curves = {(law, q): [[float(q), 1.0, 2.0], [float(q), 3.0, 5.0 + len(law)]] for law, q in kinds}
    rows = [{"name": f"{law}, q {q}", "labels": {"data": "d", "law": law, "q": str(q)}, "seeds": [0, 1],
             "curves": {"rounds": [0, 2, 4], "x": curves[law, q]}} for law, q in kinds]  # fmt: skip
    return {"file": "p/many.toml", "settings": rows}


def test_a_panel_with_many_curves_is_divided() -> None:
    """Into one for each value of a label; those of one setting are thin grey lines in all of them."""
    content = many()
    figure = plot_curves(content, [], "x", "law")
    assert [axes.get_title("left") for axes in figure.axes] == ["law = beta", "law = gamma"]
    rows = {row["name"]: row["curves"] for row in content["settings"]}
    for axes, law in zip(figure.axes, ("beta", "gamma"), strict=True):
        assert axes.get_ylim() == figure.axes[0].get_ylim() and axes.get_xlim() == figure.axes[0].get_xlim()
        names = [str(line.get_label()) for line in axes.lines]
        assert names == ["law0, q 1", "q 0", "q 1", "q 2", "q 3"]
        legend = axes.get_legend()
        assert legend is not None and [text.get_text() for text in legend.get_texts()] == names
        for line, name in zip(axes.lines, ["law0, q 1", *(f"{law}, q {q}" for q in range(4))], strict=True):
            drawn = np.asarray(line.get_ydata(), dtype=float)
            assert drawn.tolist() == np.mean(rows[name]["x"], axis=0).tolist()
        widths = [line.get_linewidth() for line in axes.lines]
        assert max(widths[:1]) < min(widths[1:]) and axes.lines[0].get_color() == KEY
        assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 5
        assert len(axes.collections) == 4  # a pale band for each but the thin one
    assert not figure.legends


def test_a_panel_that_need_not_or_cannot_be_divided_stays_whole() -> None:
    few = {**many(), "settings": many()["settings"][:8]}
    singles = {**many(9), "settings": many(9)["settings"][8:]}
    for content, by in ((few, "law"), (many(), ""), (many(), "color"), (many(), "data"), (singles, "law")):
        figure = plot_curves(content, [], "x", by)
        titles = [axes.get_title("left") for axes in figure.axes]
        lines = len(content["settings"]) if by != "data" else 9
        assert titles in ([""], ["data = d"]) and len(figure.axes[0].lines) == lines


def test_lines_that_labels_do_not_tell_apart_keep_their_names() -> None:
    content = many()
    content["settings"][0]["labels"]["q"] = "1"
    (first, second) = plot_curves(content, [], "x", "law").axes
    assert [line.get_label() for line in first.lines][1:] == [f"beta, q {q}" for q in range(4)]
    assert [line.get_label() for line in second.lines][1:] == [f"q {q}" for q in range(4)]


def test_a_grid_of_panels_is_divided_too(root: Path) -> None:
    experiment, _, _ = read(root)
    assert (
        experiment.first_label == "method"
        and replace(experiment, checked=experiment.checked.model_copy(update={"likeness": ()})).first_label == ""
    )
    rows = [{**row, "name": f"{row['name']}, s={s}", "labels": row["labels"] | {"s": str(s)}}
            for s in range(2) for row in many()["settings"][: 9 - 2 * s]]  # fmt: skip
    figure = plot_curves({"file": "f", "settings": rows}, ["s"], "x", "law")
    titles = [axes.get_title("left") for axes in figure.axes if axes.get_visible()]
    assert titles == ["s = 0, law = beta", "s = 0, law = gamma", "s = 1"]
    assert [len(axes.lines) for axes in figure.axes if axes.get_visible()] == [5, 5, 7]


def test_the_published_curves_are_few_in_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command draws them, and as a figure file does."""
    figures: dict[str, Figure] = {}

    def name(path: Path) -> str:
        return f"{path.parents[2].name}/{path.stem}"

    monkeypatch.setattr("fedtheory.report.style.save", lambda figure, path: figures.update({name(path): figure}))
    monkeypatch.setattr("fedtheory.files.write_beside", lambda path, content: None)
    assert {name(path) for path in _write_pages() if path.suffix == ".png"} == set(figures)
    for drawn in (figures["fast/small.fashion_mnist"], Curves(experiment="fast/small.fashion_mnist").drawn()):
        titles = [axes.get_title("left") for axes in drawn.axes]
        assert titles == [f"participation = {law}" for law in ("beta", "gamma")]
        assert all(len(axes.lines) == 5 and axes.lines[0].get_label() == "uniform, q 1" for axes in drawn.axes)
    (whole,) = figures["safari/table6_7.fashion_mnist"].axes
    assert len(whole.lines) == 8 and len(figures["flics/tableI.synthetic"].axes) == 3


def test_long_curves_are_thinned_to_their_ends() -> None:
    rounds = list(range(0, 1001, 10))
    results = [{"rounds": rounds, "rows": {"x": [[float(r) for r in rounds], [3.0 * r for r in rounds]]}}]
    kept = thinned(results)
    assert len(kept["rounds"]) == 60 and kept["rounds"][0] == 0 and kept["rounds"][-1] == 1000
    assert kept["x"] == [[2.0 * r for r in kept["rounds"]]]


def test_the_pages_are_what_was_run() -> None:
    made = pages()
    for path, text in made.items():
        assert path.read_text() == text, "run: fedtheory experiments --pages"
    assert {path for path in folder().glob("*/tables/ours/*.md")} == set(made)
    for path in experiment_files():
        if published(path).exists():  # curves of files that stand beside a table
            assert published(path).with_suffix(".png").is_file() == bool(read_experiment(path).checked.likeness)
