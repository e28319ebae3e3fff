"""Experiment files: what is refused, where, and what is allowed instead; settings of grids and variants."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from fedtheory.experiments.construction import setting
from fedtheory.experiments.part_models import model_of
from fedtheory.experiments.reading import line_numbers
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.setting_parts import FAMILIES, kinds
from fedtheory.participation import Incomplete, Uniform

TEXT = """title = "t"
[federation]
kind = "common_hessian"
offsets = [[1.0], [-1.0]]
[algorithm]
kind = "fast"
cohort = 1
local_lr = "1/50"
snapshot_period = 2
[participation]
kind = "Incomplete"
process = { kind = "Uniform", cohort = 1 }
absent = [0]
[run]
rounds = 4
observers = [{ kind = "gap" }]
[[statistics]]
name = "gap"
of = "gap"
"""


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "e.toml"
    path.write_text(text)
    return read_experiment(path)


@pytest.mark.parametrize(("old", "new", "message"), [
    ('kind = "fast"', 'kind = "fsat"', "line 5: algorithm.kind = 'fsat' is unknown; did you mean 'fast'"),
    ("cohort = 1\nlocal", "cohrt = 1\nlocal", "line 7: algorithm.cohrt is unknown; did you mean 'cohort'"),
    ("snapshot_period = 2", 'snapshot_period = "2"', "algorithm.snapshot_period = '2': input should be a valid int"),
    ("rounds = 4", "rounds = 4.5", "line 15: run.rounds = 4.5: input should be a valid integer"),
    ("rounds = 4", "rounds = 0", "line 15: run.rounds = 0: input should be greater than or equal to 1"),
    ('"gap" }', '"gpa" }', r"line 16: run.observers\[0\]: an observer: kind = 'gpa' is unknown; did you mean 'gap'"),
    ('"Uniform"', '"Unifrom"', "line 12: participation.process: a process: kind = 'Unifrom' is unknown"),
    ('of = "gap"', 'off = "gap"', r"line 19: statistics\[0\].off is unknown; did you mean 'of'"),
    ('title = "t"', "title = ", "not a TOML file"),
    ('title = "t"', 'titel = "t"', "line 1: titel is unknown; did you mean 'title'"),
    ("rounds = 4", "rounds = 4\nseeds = [1, 1]", "seeds = .1, 1.: allowed are different integers >= 0"),
    ("[run]", '[grid]\n"algorithm.cohorts" = [1]\n[run]', "setting 'cohorts=1': algorithm.fast.cohorts is unknown"),
    ("[run]", '[grid]\n"run.rounds" = [1, 2]\n[called]\n"run.rounds" = { label = "R", values = ["1"] }\n[run]',
     "called.run.rounds.values = .'1'.: allowed is a different text for each of 2 values"),
    ("[run]", '[[likeness]]\ntable = "1"\nby = ["s"]\nstatistic = "gup"\n[run]',
     "likeness.statistic = 'gup': allowed is gap"),
    ("[run]", '[[likeness]]\ntable = "1"\nby = ["s"]\nstatistic = "gap"\norders = [["p"]]\n[run]',
     "likeness.0.*orders: 'p': allowed are s"),
    ("[run]", '[grid]\n"algorithm.cohort" = [1]\n[called]\n"algorithm.cohorts" = { label = "m" }\n[run]',
     "called.algorithm.cohorts: did you mean 'algorithm.cohort'"),
    ("[run]", '[grid]\n"algoritm.cohort" = [1]\n[run]', "algoritm.cohort: allowed is a key of a table"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ValueError, match=message):
        read(tmp_path, TEXT.replace(old, new, 1))


def test_a_file_becomes_a_setting(tmp_path: Path) -> None:
    experiment = read(tmp_path, TEXT)
    (point,) = experiment.points()
    made = setting(point.content)
    assert made.participation == Incomplete(Uniform(1), (0,))
    assert made.algorithm.snapshot_period == 2 and made.federation.clients == 2


def test_variants_and_grids_are_multiplied(tmp_path: Path) -> None:
    more = """
[[variants]]
name = "all"
set = { participation = { kind = "Uniform", cohort = 1 } }
labels = { participation = "uniform" }
[[variants]]
name = "none"
set = { "algorithm.snapshot_period" = 4 }
[grid]
"algorithm.local_lr" = [0.5, "1/4"]
"""
    points = read(tmp_path, TEXT + more).points()
    assert [point.name for point in points] == ["all, local_lr=0.5", "all, local_lr=1|4", "none, local_lr=0.5",
                                                "none, local_lr=1|4"]  # fmt: skip
    assert points[0].labels == {"participation": "uniform", "local_lr": "0.5"}
    assert setting(points[0].content).participation == Uniform(1)
    assert setting(points[3].content).algorithm.snapshot_period == 4


def test_values_of_a_grid_may_be_called_otherwise(tmp_path: Path) -> None:
    more = """
[grid]
"participation.absent" = [[], [0]]
"algorithm.local_lr" = [0.5]
[called]
"participation.absent" = { label = "s", values = ["0", "1"] }
"algorithm.local_lr" = { label = "step" }
"""
    points = read(tmp_path, TEXT + more).points()
    assert [point.name for point in points] == ["s=0, step=0.5", "s=1, step=0.5"]
    assert points[1].labels == {"s": "1", "step": "0.5"}
    assert setting(points[1].content).participation == Incomplete(Uniform(1), (0,))


def test_every_kind_has_a_model_of_its_arguments() -> None:
    for family in FAMILIES:
        assert kinds(family)
        for name, make in kinds(family).items():
            assert set(model_of(name, make).model_fields) == {"kind", *inspect.signature(make).parameters}


def test_lines_of_nested_tables() -> None:
    text = 'a = 1\n[b]\nc.d = 2\n[[b.e]]\nf = 1\n[[b.e]]\n"x.y" = 3\n'
    lines = line_numbers(text)
    assert lines[("b", "c", "d")] == 3
    assert lines[("b", "e", 0, "f")] == 5
    assert lines[("b", "e", 1, "x.y")] == 7


def test_long_lists_of_integers_have_short_spellings(tmp_path: Path) -> None:
    (point,) = read(tmp_path, TEXT.replace("absent = [0]", "absent = { first = 1 }")).points()
    assert setting(point.content).participation == Incomplete(Uniform(1), (0,))
    for wrong in ("{ first = 0 }", "{ first = true }", "{ last = 2 }", "{ groups = 2 }"):
        with pytest.raises(ValueError, match=r"participation.absent: .*allowed is a list of integers"):
            read(tmp_path, TEXT.replace("absent = [0]", f"absent = {wrong}"))
