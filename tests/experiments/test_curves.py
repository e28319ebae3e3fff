"""Tables against published curves: on an archive made here, and on the authors' where it is found."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from fedtheory.experiments.curves import archive_path, compare, findings, read_rule, to_json
from fedtheory.experiments.printed_tables import folder
from fedtheory.files import read_json

TABLE = """
paper = "p"
number = "1"
place = "s"
caption = "c"
keys = ["q"]
columns = [{ measure = "accuracy" }]
rows = [["0", "70.00±1.0"], ["1", "80.00±1.0"], ["2", "90.00±1.0"], ["3", "95.00±1.0"]]

[measures.accuracy]
unit = "%"
statistic = "mean of the last 3"
spread = "deviation"
"""
RULE = """
archive = "curves.tar"
source = "made here"
measure = "accuracy"
last = 3
scale = 100.0
patterns = ["run-(?P<rate>[^.]+)[.]csv"]
words = [
    { group = "rate", text = "none", labels = { q = "0" } },
    { group = "rate", text = "one", labels = { q = "1" } },
    { group = "rate", text = "two", labels = { q = "2" } },
]
"""


def archive(path: Path, files: dict[str, list[tuple[int, float]]]) -> None:
    with tarfile.open(path, "w") as tar:
        for name, points in files.items():
            text = "\r\nWall time,Step,Value\r\n" + "".join(f"0.0,{step},{v}\r\n" for step, v in points)
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "p" / "tables").mkdir(parents=True)
    (tmp_path / "p" / "tables" / "t.toml").write_text(TABLE)
    (tmp_path / "p" / "curves.toml").write_text(RULE)
    good = [(0, 0.1), (10, 0.79), (20, 0.80), (30, 0.81)]
    other = [(0, 0.1), (10, 0.75), (20, 0.76), (30, 0.77)]
    archive(tmp_path / "curves.tar", {
        "run-none.csv": [(0, 0.1), (10, 0.7), (20, 0.72), (30, 0.74)],
        "run-one.csv": good + other,  # two runs in one file
        "run-two.csv": other,
        "run-five.csv": good,
    })  # fmt: skip
    return tmp_path


def test_each_cell_is_compared_with_the_runs_of_its_labels(root: Path) -> None:
    got = compare("p", root / "curves.tar", root)
    assert got.agree == 1
    assert [(cell.labels["q"], [curve.statistic() for curve in mine]) for cell, mine in got.differ] == [
        ("0", ["72.00±2.0"]), ("2", ["76.00±1.0"]),
    ]  # fmt: skip
    assert [cell.labels["q"] for cell in got.missing] == ["3"]
    assert [[curve.labels["q"] for curve in group] for group in got.twice] == [["1", "2"]]
    assert not got.several  # the other run of q = 1 is that of q = 2


@pytest.mark.parametrize("first", [0, 40])
def test_different_runs_of_a_setting_are_told(root: Path, first: int) -> None:
    """A step before the last one begins another run, whether it is the file's first step or one before all of it."""
    more = [(0, 0.1), (10, 0.75), (20, 0.77), (30, 0.79)]
    good = [(first, 0.1), (first + 10, 0.79), (first + 20, 0.80), (first + 30, 0.81)]
    archive(root / "curves.tar", {"run-one.csv": good + more})
    got = compare("p", root / "curves.tar", root)
    ((cell, runs),) = got.several
    assert cell.labels["q"] == "1"
    assert [(run.run, run.statistic()) for run in runs] == [("1 of 2", "80.00±1.0"), ("2 of 2", "77.00±2.0")]


def test_a_missing_archive_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDTHEORY_DATA", str(root / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"curves.tar: not in FEDTHEORY_DATA = .*made here"):
        compare("p", root=root)
    with pytest.raises(ValueError, match="paper = 'q': its authors published no curves"):
        compare("q", root=root)
    (root / "curves.tar").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="not an archive of curves"):
        compare("p", root / "curves.tar", root)


def test_fasts_published_curves() -> None:
    differs, copy, _, several = findings("fast")
    assert "355 of 380 printed numbers" in differs.what
    assert "72.40±4.7 printed, 68.65±4.7" in differs.what and "71.48±4.5 printed, 69.60±2.1" in differs.what
    assert copy.verdict == "repeated" and "algorithm fedavg and for" in copy.what
    assert "65.94±1.3 printed, 77.00±1.1 (to step 9999) and 66.72±0.6" in several.what


def test_which_of_several_runs_was_printed_is_counted(tmp_path: Path) -> None:
    """The highest of two, twice; the lowest; and neither of four. By chance, two or more of three halves and a quarter:
    1 - 3/32 - 10/32."""
    runs = {"80.00±1.0": [77, 80.003], "90.00": [85, 89.996], "70.00": [70, 75], "60.00": [50, 70, 59, 60]}
    kept = {
        "agree": 4, "missing": [], "differ": [], "twice": [],
        "several": [
            {"table": "1", "labels": {}, "printed": printed, "curves": [
                {"mean": mean, "deviation": 1.0, "end": 9, "run": f"{i} of {len(means)}"}
                for i, mean in enumerate(means, 1)
            ]}
            for printed, means in runs.items()
        ],
    }  # fmt: skip
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "curves.json").write_text(json.dumps(kept))
    _, several = findings("p", tmp_path)
    assert several.what.startswith("for 4 printed numbers several different runs")
    assert "the highest in 2 (so many or more by a random choice: p = 0.59) and the lowest in 1" in several.what
    assert "the last run of its file in 3" in several.what


def test_what_is_kept_is_what_the_archive_gives() -> None:
    rule = read_rule("fast")
    assert rule is not None
    if not (Path(os.environ.get("FEDTHEORY_DATA", "")) / rule.archive).is_file():
        pytest.skip("the archive of FAST's curves is not in FEDTHEORY_DATA")
    path = archive_path(rule)
    assert to_json("fast", compare("fast"), path) == read_json(folder() / "fast" / "curves.json")
