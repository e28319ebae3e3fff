"""Captions read like a paper's: each parameter once, in words."""

from __future__ import annotations

import re

import pytest

from fedtheory.report.drawing import read_figure
from fedtheory.report.figure_files import figure_files
from fedtheory.report.pictures.picture import said

FILES = [read_figure(path) for path in figure_files()]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_entry_is_told_twice_and_none_by_its_name_in_files(file):
    text = file.kind.said()
    assert not re.search(r"likeness|step_index|\bkind\b|_|\{|\[", re.sub(r"experiments/\S+|benchmarks/\S+", "", text))
    sentences = re.split(r"(?<=[^.])\. ", text)
    assert len(sentences) == len(set(sentences))
    assert not text or (text.endswith(".") and text[0].isupper() | text[0].isdigit())


@pytest.mark.parametrize("name", ["khaled2020.thm1", "safari.thm5", "flics.thm1"])
def test_constants_repeat_nothing_of_the_setting(name, drawn):
    from fedtheory.report.style import caption_of

    caption = caption_of(drawn(name))
    (constants,) = re.findall(r"Constants: (.*)\.", caption)
    setting = caption.partition("Constants:")[0]
    names = [pair.replace("\u00a0", " ").split(" = ")[0] for pair in constants.split(", ")]
    assert names and len(names) == len(set(names))
    assert not [name for name in names if re.search(rf"\b{name} [\d(]", setting)]
    assert caption.endswith(f"experiments/{name.split('.')[0]}/figures/{name.split('.', 1)[1]}.toml")


def test_parts_that_share_arguments_say_them_once():
    file = next(file for file in FILES if file.name == "fast.algorithms")
    assert file.kind.said().count("local step size") == 1
    assert said([0.1] * 5) == "5 times 0.1" and said((True, False)) == "1, 0" and said(((True,), (False,))) == "1, 0"
