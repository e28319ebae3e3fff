"""`fedtheory new`: the file that it writes runs, its possibilities are such, and keys are told once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fedtheory.cli.statuses import run as command
from fedtheory.experiments import grid
from fedtheory.experiments.grid import with_defaults
from fedtheory.experiments.keys import TABLES, keys, markdown, meaning
from fedtheory.experiments.results import experiment_files
from fedtheory.experiments.schema import Variant, model, read_experiment
from fedtheory.experiments.starter import EXAMPLES, starter
from fedtheory.files import plain_toml, read_json
from fedtheory.simulation import simulate

DOCS = Path(__file__).parents[2] / "docs" / "experiment-files.md"


def merged(content: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {**content, **{key: {**content[key], **value} if key in ("federation", "algorithm", "run") else value
                          for key, value in more.items()}}  # fmt: skip


def possibilities() -> list[str]:
    """What stands behind # in the file: a line in its table, or a table of its own."""
    found, table = [], ""
    for line in starter("e.toml").splitlines():
        if header := re.fullmatch(r"(# )?(\[+[a-z_.]+\]+)(  #.*)?", line):
            table = header[2]
            found += [table] if header[1] and not (table == "[[variants]]" and "[[variants]]" in found[-1]) else []
            if header[1] and table == "[[variants]]" and "[[variants]]" in found[-1] and found[-1] != table:
                found[-1] += f"\n{table}"
            own = bool(header[1])
        elif re.match(r'# ("[a-z_.]+"|[a-z_]+) = ', line):
            if own:
                found[-1] += f"\n{line[2:]}"
            else:
                found.append(f"{table}\n{line[2:]}")
    return found


def test_there_are_possibilities() -> None:
    assert len(possibilities()) >= 25 and any("[[variants]]" in each for each in possibilities())


@pytest.mark.parametrize("text", possibilities(), ids=lambda text: " ".join(text.split())[:60])
def test_a_possibility_can_stand_in_the_file(text: str) -> None:
    content = plain_toml(starter("e.toml").encode(), "e.toml")
    more = plain_toml(text.encode(), "more")
    assert more
    model().model_validate(with_defaults(merged(content, more), "e.toml"))


def test_the_file_runs_and_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "first.toml"
    assert command(["new", str(file)]) == 0 and "first.toml runs it" in capsys.readouterr().out
    text = file.read_text()
    assert max(map(len, text.splitlines())) <= 120 and "first.toml" in text
    (point,) = read_experiment(file).points()
    assert point.name == "only"
    assert command(["run", str(file), "--store", str(tmp_path / "store"), "--set", "run.rounds=4"]) == 0
    (result,) = (tmp_path / "store").rglob("result.json")
    assert set(read_json(result)["statistics"]) > {"test_accuracy", "test_loss"}
    file.write_text("mine")
    capsys.readouterr()
    assert command(["new", str(file)]) == 2 and "is there already" in capsys.readouterr().err
    assert file.read_text() == "mine"
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "nowhere.toml")
    assert command(["new", str(link)]) == 2 and not (tmp_path / "nowhere.toml").exists()
    assert command(["new", str(tmp_path / "x.txt")]) == 2


@pytest.mark.slow
def test_the_whole_file_runs(tmp_path: Path) -> None:
    file = tmp_path / "first.toml"
    file.write_text(starter("first.toml"))
    assert command(["run", str(file), "--store", str(tmp_path / "store")]) == 0


def test_federation_and_algorithm_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "least.toml"
    path.write_text('federation = { kind = "common_hessian", offsets = [1, -1, 0] }\n'
                    'algorithm = { kind = "fedavg", local_lr = 0.1 }\n')  # fmt: skip
    experiment = read_experiment(path)
    assert experiment.checked.title == "least" and experiment.plan.rounds == 1000 and experiment.plan.seeds == (0,)
    assert command(["run", str(path), "--store", str(tmp_path / "store"), "--set", "run.rounds=3"]) == 0
    (result,) = (tmp_path / "store").rglob("result.json")
    assert set(read_json(result)["statistics"]) == {"squared_distance", "squared_gradient"}
    for left_out, said in (("federation", "federation is missing"), ("algorithm", "algorithm is missing")):
        path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith(left_out)))
        with pytest.raises(ValueError, match=said):
            read_experiment(path)


def test_defaults_are_those_of_simulate() -> None:
    assert inspect.signature(simulate).parameters["rounds"].default == grid.ROUNDS
    told = {each.name: each.default for each in keys()}
    assert told["run.rounds"] == str(grid.ROUNDS) and told["federation"] == told["algorithm"] == "needed"
    needed = [each.name for each in keys() if each.default == "needed"]
    assert needed == ["federation", "algorithm", "statistics.of", "variants.name", "search.statistic", "search.stages",
                      "search.stages.over", "search.stages.values"]  # fmt: skip


def test_every_key_has_a_meaning_and_every_default_is_one() -> None:
    for table, of in TABLES:
        assert set(meaning(of or model())) == set((of or model()).model_fields), table
    told = {each.name: each.default for each in keys() if each.name.startswith("run.")}
    assert {f"run.{name}" for name in EXAMPLES} == {name for name, default in told.items() if not default}
    assert meaning(Variant)["set"].startswith("dotted keys and their values")


def test_a_key_without_a_meaning_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Variant, "__doc__", Variant.__doc__.replace("labels: of", "lables: of"))
    with pytest.raises(AssertionError):
        test_every_key_has_a_meaning_and_every_default_is_one()


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not beside the tests")
def test_the_documentation_has_the_table_of_keys() -> None:
    assert markdown() in DOCS.read_text(encoding="utf-8"), "copy what fedtheory.experiments.keys.markdown() returns"


def test_the_command_prints_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["new", "--keys"]) == 0
    out = capsys.readouterr().out
    assert all(each.name in out for each in keys())


def test_what_is_filled_in_changes_no_file_that_says_it() -> None:
    for path in experiment_files():
        plain = plain_toml(path.read_bytes(), str(path))
        assert with_defaults(plain, str(path)) == plain, path
