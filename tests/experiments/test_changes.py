"""`fedtheory run --set`: values that are changed in all settings of a file, kept apart by name; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedtheory.cli.statuses import run as command
from fedtheory.experiments import schema
from fedtheory.experiments.commands import RunOptions, change, run_files
from fedtheory.experiments.schema import read_experiment
from fedtheory.files import read_json

FILE = """
start = 1
[federation]
kind = "random_quadratic"
clients = 4
dimension = 2
[algorithm]
kind = "fedavg"
local_lr = 0.1
[run]
rounds = 5
"""
GRID = """
[grid]
"algorithm.local_steps" = [1, 2]
[[variants]]
name = "half"
set = { "participation" = { kind = "Uniform", cohort = 2 } }
[[variants]]
name = "all"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "e.toml"
    file.write_text(FILE)
    return file


def run(path: Path, **options: Any) -> Any:
    changes = dict(change(each) for each in options.pop("set", ()))
    return run_files([path], RunOptions(path.parent / "store", changes=changes, **options))


@pytest.mark.parametrize(("text", "value"), [
    ("local_lr=.1", 0.1), ("local_lr = -.5e-3", -0.5e-3), ("local_lr=1/10", "1/10"), ("average=samples", "samples"),
    ("average='all'", "all"), ("seeds=[0, 1]", [0, 1]), ("mixed=true", True), ("rounds=40", 40),
    ("process={ kind = 'Uniform', cohort = 2 }", {"kind": "Uniform", "cohort": 2}), ("cutoff=inf", float("inf")),
    ("local_lr=1/(2 + round_index)", "1/(2 + round_index)"),
])  # fmt: skip
def test_values_are_those_of_toml(text: str, value: Any) -> None:
    assert change(f"algorithm.{text}") == (f"algorithm.{text.partition('=')[0].strip()}", value)


@pytest.mark.parametrize("text", ["algorithm.local_lr", "=1", "algorithm.local_lr=", "a..b=1", "a.b=[1", 'a.b="x',
                                  "a.b=1\nc=2", "a b=1", "a.b={x"])  # fmt: skip
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--set"):
        print(change(text))


def test_a_changed_value_gives_the_numbers_of_a_file_that_says_so(path: Path) -> None:
    (changed,) = run(path, set=["algorithm.local_lr=.2"]).contents
    (plain,) = run(path).contents
    path.write_text(FILE.replace("local_lr = 0.1", "local_lr = 0.2"))
    (said,) = run_files([path], RunOptions(path.parent / "other")).contents
    assert [row["name"] for row in changed["settings"]] == ["algorithm.local_lr=0.2"]
    assert changed["settings"][0]["statistics"] == said["settings"][0]["statistics"]
    assert plain["settings"][0]["name"] == "only"
    assert plain["settings"][0]["statistics"] != said["settings"][0]["statistics"]


def test_values_are_kept_apart_and_found_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(path, set=["algorithm.local_lr=.2"])
    other = run(path, set=["algorithm.local_lr=.3"])
    again = run(path, set=["algorithm.local_lr=.2"])
    assert first.contents == again.contents != other.contents
    kept = sorted(read_json(each)["asked"]["algorithm"]["local_lr"] for each in path.parent.rglob("result.json"))
    assert kept == [0.2, 0.3]
    monkeypatch.setattr(schema, "text_of", lambda value: "value")  # names that do not tell them apart: refused
    run(path, set=["algorithm.local_lr=.2"])
    (said,) = run(path, set=["algorithm.local_lr=.3"]).lines
    assert "holds the result of another experiment (algorithm.local_lr = 0.2 there, 0.3 here)" in said


def test_names_do_not_depend_on_the_order(path: Path) -> None:
    changes = ["run.rounds=3", "algorithm.local_lr=1/5"]
    one, two = (run(path, set=each).contents[0]["settings"][0]["name"] for each in (changes, changes[::-1]))
    assert one == two == "algorithm.local_lr=1|5, run.rounds=3"


def test_seeds_and_what_costs_time_are_no_names(path: Path) -> None:
    (content,) = run(path, set=["run.seeds=[3, 4]", "run.checkpoint_every=2", "run.device=cpu"]).contents
    assert [(row["name"], row["seeds"]) for row in content["settings"]] == [("only", [3, 4])]


def test_all_settings_are_changed(path: Path) -> None:
    path.write_text(FILE + GRID)
    with pytest.raises(ValueError, match=r"setting 'half, .*Everyone.cohort is unknown"):
        read_experiment(path).changed({"algorithm.local_lr": 0.3, "participation.kind": "Everyone"})
    changed = read_experiment(path).changed({"algorithm.local_lr": 0.3})
    assert [point.name for point in changed.points()] == [
        "half, local_steps=1, algorithm.local_lr=0.3", "half, local_steps=2, algorithm.local_lr=0.3",
        "all, local_steps=1, algorithm.local_lr=0.3", "all, local_steps=2, algorithm.local_lr=0.3",
    ]  # fmt: skip
    assert {point.content["algorithm"]["local_lr"] for point in changed.points()} == {0.3}


@pytest.mark.parametrize(("key", "value", "said"), [
    ("algorithm.local_l", 0.1, r"algorithm.fedavg.local_l is unknown; did you mean 'local_lr'\?"),
    ("algoritm.local_lr", 0.1, r"--set algoritm.local_lr: did you mean 'algorithm.local_lr'\?"),
    ("federation.dimensions", 3, r"dimensions is unknown; did you mean 'dimension'\?"),
    ("federation.noise.kind", 3, r"--set federation.noise.kind: .*'federation.kind'"),
    ("run.rouns", 3, r"run.rouns is unknown; did you mean 'rounds'\?"),
    ("title", "x", "--set title: known are"),
    ("grid.x", 1, "--set grid.x: known are"),
    ("run", 1, "--set run: "),
    ("algorithm.local_steps", 3, "the file's grid gives algorithm.local_steps its values: allowed is another key"),
    ("participation", {"kind": "Everyone"}, "the file's variant 'half' gives participation its values"),
    ("algorithm", {"kind": "fedavg", "local_lr": 1}, "the file's grid gives algorithm.local_steps its values"),
    ("run.rounds", 0, "run.rounds = 0: input should be greater than or equal to 1"),
    ("run.seeds", [], "allowed are different integers >= 0"),
])  # fmt: skip
def test_what_is_refused(path: Path, key: str, value: Any, said: str) -> None:
    path.write_text(FILE + GRID)
    with pytest.raises(ValueError, match=said):
        read_experiment(path).changed({key: value})


def test_a_kind_without_arguments_becomes_a_table(path: Path) -> None:
    network = 'kind = "Network"\ndataset = "digits"\nmodel = "small_cnn"\npartition = { kind = "Uniform", clients = 3 }'
    path.write_text(FILE.replace('kind = "random_quadratic"\nclients = 4\ndimension = 2', network))
    (point,) = read_experiment(path).changed({"federation.model.classes": 12}).points()
    assert point.content["federation"]["model"] == {"kind": "small_cnn", "classes": 12}


def test_the_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(path.parent / "store")]
    assert command(["run", str(path), *store, "--set", "algorithm.local_lr=.2", "--set", "run.rounds=3"]) == 0
    assert "algorithm.local_lr=0.2, run.rounds=3" in capsys.readouterr().out
    for more, said in {
        ("--set", "algorithm.local_lr=.2", "--set", "algorithm.local_lr=.3"): "allowed is each key once",
        ("--set", "algorithm.local_lr=.2", "--publish"): "--set: allowed without --publish and --missing",
        ("--set", "algorithm.local_l=.2"): "did you mean 'local_lr'?",
        ("--set", "algorithm.local_lr"): "allowed is KEY=VALUE",
        ("--svg",): "--figures, --svg: allowed with figure files",
    }.items():
        assert command(["run", str(path), *store, *more]) == 2
        err = capsys.readouterr().err.splitlines()
        assert said in err[-1], err
