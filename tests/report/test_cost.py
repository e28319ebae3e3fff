"""Kept times, drawn; files that miss something are told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fedtheory.report.drawing import draw
from fedtheory.report.pictures import result_pictures

KEPT = {"up": "seconds", "machine": "a machine", "panels": [{"across": "size", "curves": {"ours": [[1, 2], [10, 3]]}}]}


@pytest.fixture
def figure(tmp_path, monkeypatch):
    """Draws a figure of these kept times."""
    monkeypatch.setattr(result_pictures, "folder", lambda: tmp_path / "experiments")
    file = tmp_path / "cost.toml"
    file.write_text('title = "t"\ncaption = "c."\n[figure]\nkind = "cost"\nresults = "kept.json"\n')

    def drawn(content):
        (tmp_path / "kept.json").write_text(json.dumps(content))
        return draw(file, tmp_path)

    return drawn


def test_every_time_is_in_the_figure_and_in_its_file(figure, tmp_path):
    made = figure(KEPT)
    (line,) = made.axes[0].lines
    assert line.get_xydata().tolist() == [[1, 2], [10, 3]] and line.get_label() == "ours"
    assert (tmp_path / "cost.csv").read_text().splitlines()[1:] == ["1,ours,1,,2,,", "1,ours,10,,3,,"]
    assert "measured on a machine" in "".join(text.get_text() for text in made.texts).replace("\u200a\n", " ")


@pytest.mark.parametrize(("content", "said"), [
    ({**KEPT, "panels": []}, "panels: "),
    ({name: value for name, value in KEPT.items() if name != "up"}, "up: Field required"),
    ({**KEPT, "panels": [{"across": "size", "curves": {"ours": [[1, 0]]}}]}, "curves.ours: allowed are pairs"),
    ({**KEPT, "panels": [{"across": "size", "curves": {"ours": [[1, 1, 1]]}}]}, "curves.ours: allowed are pairs"),
    ({**KEPT, "seconds": 1}, "seconds: Extra"),
])  # fmt: skip
def test_partial_times_are_told(figure, content, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        figure(content)
    assert "cost.toml: results = 'kept.json'" in str(error.value)


def test_missing_times_are_told(tmp_path: Path):
    file = tmp_path / "cost.toml"
    file.write_text('title = "t"\ncaption = "c."\n[figure]\nkind = "cost"\nresults = "benchmarks/none.json"\n')
    with pytest.raises(FileNotFoundError, match=r"cost.toml: results = 'benchmarks/none.json': there is no such file"):
        draw(file)
