"""Kinds of a Python file beside an experiment file, and models to start from: run, told, known by hash, kept inside."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedtheory.experiments import files_beside, work_units
from fedtheory.experiments.commands import RunOptions, run_files
from fedtheory.experiments.files_beside import FilesBeside
from fedtheory.experiments.overview import overview
from fedtheory.experiments.published import read_current
from fedtheory.experiments.results import experiment_files, published
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.work_units import perform, units_of
from fedtheory.files import read_json
from fedtheory.neural import save_model

PYTHON = """
from __future__ import annotations

from os import getpid
from pathlib import Path

import numpy as np
import torch
from torch import nn

from fedtheory.algorithms import fedavg, own
from fedtheory.data import Dataset
from fedtheory.participation.base import Participation

(Path(__file__).parent / "executed").touch()


class Net(nn.Module):
    def __init__(self, width: int, classes: int = 3):
        super().__init__()
        self.first, self.second = nn.Linear(4, width), nn.Linear(width, classes)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Breaks(Net):
    def forward(self, x):
        if len(x) == 3:  # a batch, but neither the two points of the check nor an evaluation
            raise RuntimeError("three is too many")
        return super().forward(x)


class Narrow(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)


def points(count: int = 45, drawn: bool = False) -> Dataset:
    rng = np.random.mtrand if drawn else np.random.default_rng(0)
    labels = np.arange(count) % 3
    features = rng.normal(size=(count, 4)) + labels[:, None]
    return Dataset.of(features, labels, test=(features, labels), name="mine")


def algorithm(*, local_lr=0.1, **more):
    return fedavg(local_lr=local_lr, local_steps=3, **more)


def step(x, memory, round, *, local_lr):
    return x + (round.share * round.train(x, local_lr)).sum(1), memory


OWN = own(step, name="plain", local_lr="1/10")


class Rotating(Participation):
    deterministic, independent_rounds, cohort = True, True, 1

    def __init__(self, first: int = 0) -> None:
        self.first = first

    def check(self, clients):
        assert clients > 1

    def step(self, state, round):
        counts = torch.zeros(len(state.replica_ids), state.clients, dtype=torch.int8)
        counts[:, (self.first + round) % state.clients] = 1
        return counts, state

    def inclusion(self, clients):
        raise ValueError("rounds differ")


class Held(Rotating):
    def __init__(self):
        super().__init__()
        self.inner = object()


def seven():
    return 7


def fails():
    return 1 / 0
"""
FILE = """
title = "mine"
[federation]
kind = "Network"
model = { kind = "mine.py:Net", width = 4 }
dataset = { kind = "mine.py:points", count = 45 }
partition = { kind = "Dirichlet", clients = 3, alpha = 1.0 }
batch_size = 3
[algorithm]
kind = "mine.py:algorithm"
local_lr = 0.2
[participation]
kind = "mine.py:Rotating"
first = 1
[run]
rounds = 4
observers = ["loss"]
"""


def line(text: str) -> int:
    """The line of the Python file that has this text."""
    return PYTHON[: PYTHON.index(text)].count("\n") + 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "mine.py").write_text(PYTHON)
    (folder / "e.toml").write_text(FILE)
    return folder / "e.toml"


def edited(path: Path, *changes: tuple[str, str]) -> Path:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return path


def run(path: Path, store: str = "store", **options: Any) -> tuple[Any, list[str]]:
    told: list[str] = []
    return run_files([path], RunOptions(path.parents[1] / store, tell=told.append, **options)), told


def executed(path: Path) -> bool:
    return (path.parent / "executed").exists()


def test_a_sweep_over_a_network_of_ones_own(path: Path) -> None:
    edited(path, ("[run]", '[grid]\n"federation.model.width" = [3, 4]\n[run]'))
    report, told = run(path)
    digest = hashlib.sha256(PYTHON.encode()).hexdigest()
    assert told == [f"executes {path.parent / 'mine.py'} (sha256 {digest})"]
    assert not report.failed and not report.lines
    (content,) = report.contents
    assert [row["name"] for row in content["settings"]] == ["width=3", "width=4"]
    assert content["code"] == {"mine.py": digest}
    result = read_json(path.parents[1] / "store/own/e/width=3/seed-0/result.json")
    assert result["asked"]["code"] == {"mine.py": digest}
    again, _ = run(path)
    assert again.contents == report.contents


def test_without_files_beside_nothing_is_told(path: Path) -> None:
    path.write_text('federation = { kind = "common_hessian", offsets = [1, -1] }\n'
                    'algorithm = { kind = "fedavg", local_lr = 0.1 }\nrun = { rounds = 2 }\n')  # fmt: skip
    report, told = run(path)
    assert not told and not report.failed and "code" not in report.contents[0] and not executed(path)


@pytest.mark.parametrize("finished", [True, False])
def test_a_changed_file_is_refused_by_name(path: Path, monkeypatch: pytest.MonkeyPatch, finished: bool) -> None:
    run(path)
    if not finished:
        (path.parents[1] / "store/own/e/only/seed-0/result.json").unlink()
    (path.parent / "mine.py").write_text(PYTHON.replace("relu", "tanh"))
    report, _ = run(path)
    what = "the result" if finished else "the checkpoints"
    assert (
        report.failed and f"holds {what} of another experiment (mine.py has another content: sha256" in report.lines[0]
    )
    (path.parent / "mine.py").write_text(PYTHON)
    assert not run(path)[0].failed
    (path.parent / "mine.py").write_text(PYTHON.replace("relu", "tanh"))  # what is not hashed is not missed
    monkeypatch.setattr(
        work_units, "hashes", lambda folder, content: {"mine.py": hashlib.sha256(PYTHON.encode()).hexdigest()}
    )
    monkeypatch.setattr(
        FilesBeside, "_read", lambda self, files: ({file: (self.folder / file).read_bytes() for file in files}, {})
    )
    assert not run(path)[0].failed


def test_a_file_that_changes_before_its_unit_begins_is_refused(path: Path) -> None:
    experiment = read_experiment(path)
    (unit,) = units_of(experiment, experiment.points(), path.parents[1] / "store")
    (path.parent / "mine.py").write_text(PYTHON.replace("relu", "tanh"))
    with pytest.raises(ValueError, match=r"mine.py has another content.*it was changed while the file was run"):
        perform(unit)
    assert not executed(path)


def rows(path: Path, store: str) -> Any:
    return read_json(path.parents[1] / store / "own/e/only/seed-0/result.json")["rows"]


def test_a_run_goes_on_to_the_bits_of_a_long_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(path)
    short = rows(path, "store")
    files_beside._RUN.clear()  # as in another process
    edited(path, ("rounds = 4", "rounds = 9"))
    report, _ = run(path)
    assert not report.failed
    run(path, "fresh")
    assert rows(path, "store") == rows(path, "fresh")
    assert rows(path, "store")["loss"][0][:5] == short["loss"][0]
    edited(path, ("rounds = 9", "rounds = 5"))
    assert "run.rounds = 9 there, 5 here" in run(path)[0].lines[0]


def test_a_process_without_a_repr_is_known_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = FilesBeside(path.parent)
    made = beside.made("process", "mine.py:Rotating", lambda: beside.kind("process", "mine.py:Rotating")(2))
    assert repr(made) == "Rotating({'first': 2})"
    with pytest.raises(ValueError, match=r"mine.py:Held: its repr has a place in memory"):
        beside.made("process", "mine.py:Held", lambda: beside.kind("process", "mine.py:Held")())


def test_draws_in_a_file_are_the_same_each_time(path: Path) -> None:
    edited(path, ("count = 45", "count = 45, drawn = true"))
    run(path, "one")
    np.random.seed(77)
    drawn = np.random.random()
    np.random.seed(77)
    run(path, "two")
    assert np.random.random() == drawn  # what others draw is as if nothing had been drawn in between
    assert rows(path, "one") == rows(path, "two")


@pytest.mark.parametrize(("old", "new", "said"), [
    ("mine.py:Net", "mine.py:Nett", "line 5: federation.model: mine.py defines no 'Nett'; did you mean 'Net'?"),
    ("mine.py:Net", "other.py:Net", "other.py: no such file; what an experiment file names is looked for beside it"),
    ("width = 4", "widht = 4", "federation.model: mine.py:Net: widht is unknown; did you mean 'width'?"),
    (", width = 4", "", "federation.model: mine.py:Net: width is missing"),
    ("width = 4", 'width = "4"', "federation.model: mine.py:Net: width = '4': Input should be a valid integer"),
    ('mine.py:Net", width = 4', 'mine.py:seven"', "mine.py:seven gives int: allowed is a model"),
    ('mine.py:Net", width = 4', 'mine.py:fails"', f"mine.py, line {line('return 1 / 0')}: ZeroDivisionError"),
    ('mine.py:Net", width = 4', 'mine.py:Narrow"', "Narrow does not take features of shape (2, 4)"),
    ('mine.py:Net", width = 4', 'mine.py:getpid"', "mine.py: getpid comes from posix: allowed is a model, or"),
    ('mine.py:Net", width = 4', 'mine.py:torch"', "mine.py: torch is module: allowed is a model, or"),
    ("mine.py:Net", "mine.py:Breaks", f"only, seed 0: mine.py, line {line('raise Run')}: RuntimeError: three is"),
    ("mine.py:points", "mine.py:Net", "federation.dataset: mine.py:Net: count is unknown; known are classes, width"),
    ("mine.py:algorithm", "mine.py:OWN", "algorithm: mine.py:OWN: local_lr is unknown; it takes no keys"),
    ("mine.py:algorithm", "mine.py:Rotating", "algorithm: mine.py:Rotating: local_lr is unknown"),
    ("local_lr = 0.2", "local_lr = -1", f"mine.py, line {line('return fed')}: ValueError: local_lr = -1.0: allowed is"),
    ("local_lr = 0.2", "momentun = 1", f"mine.py, line {line('return fed')}: TypeError: fedavg() got an unexp"),
    ("Dirichlet", "mine.py:Net", "federation.partition: kind 'mine.py:Net' of a partition: a Python file may define a"),
    ('kind = "Network"', 'kind = "mine.py:Net"', "federation: kind 'mine.py:Net' of a federation: a Python file may"),
    ("batch_size = 3", "batch_size = 3\nworkers = 2", "workers = 2: allowed is 0 with a model of a Python file"),
])  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(path: Path, old: str, new: str, said: str) -> None:
    report, _ = run(edited(path, (old, new)))
    assert report.failed and not report.contents
    (line,) = report.lines
    assert said in line and "\n" not in line, line


@pytest.mark.parametrize(("source", "said"), [
    ("import nothing_of_this_name\n", "mine.py, line 1: ModuleNotFoundError"),
    ("x = 1\nx = = 2\n", "mine.py, line 2: SyntaxError: invalid syntax"),
    ("raise SystemExit(3)\n", "mine.py, line 1: SystemExit: 3"),
    ("\0", "mine.py"),
    ("", "mine.py defines no 'Net'; it defines nothing"),
])  # fmt: skip
def test_a_file_that_fails_is_said_with_its_line(path: Path, source: str, said: str) -> None:
    (path.parent / "mine.py").write_text(source)
    report, _ = run(path)
    assert report.failed and len(report.lines) == 1 and said in report.lines[0], report.lines


def with_modules(path: Path, imports: str = "import layers") -> None:
    """The network's hidden units come from a module beside the file, which imports another."""
    (path.parent / "mine.py").write_text(
        PYTHON.replace("import numpy", f"{imports}\nimport numpy", 1).replace("torch.relu(", "layers.unit(")
    )
    (path.parent / "layers.py").write_text(
        "import functools\ndef unit(x):\n    import slopes\n    return slopes.unit(x)\nimport mine_too\n"
    )
    (path.parent / "slopes.py").write_text("import torch\n\n\ndef unit(x):\n    return torch.relu(x)\n")
    (path.parent / "mine_too.py").write_text("import layers\nassert layers.functools\n")


def test_modules_beside_are_known_by_their_hashes_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(path)
    with_modules(path)
    report, told = run(path, "modules")
    files = ["layers.py", "mine.py", "mine_too.py", "slopes.py"]
    digests = {file: hashlib.sha256((path.parent / file).read_bytes()).hexdigest() for file in files}
    assert not report.failed and report.contents[0]["code"] == digests and len(told) == 4
    assert rows(path, "modules")["loss"] == rows(path, "store")["loss"]  # that of the same network in one file
    assert "mine.py has another content" in run(path)[0].lines[0]
    (path.parent / "slopes.py").write_text("import torch\n\n\ndef unit(x):\n    return torch.tanh(x)\n")
    assert "(slopes.py has another content: sha256" in run(path, "modules")[0].lines[0]
    changed, _ = run(path, "tanh")  # in the same process, with the same mine.py: no module that was executed before
    assert not changed.failed and rows(path, "tanh")["loss"] != rows(path, "store")["loss"]
    monkeypatch.setattr(files_beside, "_imported", lambda content: set())  # planted: only the file itself is hashed
    report, _ = run(path, "leak")
    assert (report.failed and "layers lies below" in report.lines[0]) or "No module named 'layers'" in report.lines[0]


def test_a_module_that_changes_before_its_unit_begins_is_refused(path: Path) -> None:
    with_modules(path)
    experiment = read_experiment(path)
    (unit,) = units_of(experiment, experiment.points(), path.parents[1] / "store")
    (path.parent / "slopes.py").write_text("raise AssertionError\n")
    with pytest.raises(ValueError, match=r"slopes.py has another content.*it was changed while the file was run"):
        perform(unit)
    assert not executed(path)


def test_the_module_beside_is_that_which_is_hashed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another module of that name, which the process has imported, is not what the file gets, and stays as it is."""
    other = type(np)("layers")
    monkeypatch.setitem(sys.modules, "layers", other)
    with_modules(path)
    assert not run(path)[0].failed and sys.modules["layers"] is other


@pytest.mark.parametrize(("imports", "made", "said"), [
    ("import package", "package/__init__.py", "ImportError: package lies below"),
    ("import folder.inner", "folder/inner.py", "ImportError: folder lies below"),
    ("import importlib; importlib.import_module('computed')", "computed.py", "ImportError: computed lies below"),
    ("__import__('compu' + 'ted')", "computed.py", "ImportError: computed lies below"),
    ("import layers.more", "layers/more.py", "No module named 'layers.more'; layers.py is a file"),
    ("from . import layers", "", "ImportError: a relative import: allowed is the name"),
    ("import broken", "broken.py", "broken.py, line 1: ZeroDivisionError"),
])  # fmt: skip
def test_what_has_no_hash_is_refused_by_name(
    path: Path, monkeypatch: pytest.MonkeyPatch, imports: str, made: str, said: str
) -> None:
    monkeypatch.syspath_prepend(path.parent)
    with_modules(path, f"{imports}; import layers")
    if made:
        (path.parent / made).parent.mkdir(exist_ok=True)
        (path.parent / made).write_text("1 / 0\n" if made == "broken.py" else "")
    report, _ = run(path)
    for name in ("package", "folder", "folder.inner", "computed"):
        sys.modules.pop(name, None)
    assert report.failed and said in report.lines[0] and len(report.lines) == 1, report.lines


HOSTILE = ["../mine.py:Net", "/tmp/mine.py:Net", "a/../mine.py:Net", "./mine.py:Net", ".mine.py:Net", "-mine.py:Net",
           "a//mine.py:Net", "mine.py:Net:Net", "mine.py:__import__", "mine.py:_Net", "mine.py:Net.forward", "mine.py:",
           ":Net", "mine.pyc:Net", "mine:Net", "C:/mine.py", "https://example.org/mine.py:Net", "mine.py\\u0000:Net",
           "mine\\u202e.py:Net", "a\\\\mine.py:Net", "mine.py:Net\\n", " mine.py:Net", "~/mine.py:Net"]  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_that_lead_elsewhere_execute_nothing(path: Path, kind: str) -> None:
    (path.parents[1] / "mine.py").write_text(PYTHON)
    report, told = run(edited(path, ("mine.py:Net", kind)))
    assert report.failed and "allowed is FILE.py:NAME" in report.lines[0] and not told
    assert not executed(path) and not (path.parents[1] / "executed").exists()


@pytest.mark.parametrize("what", ["link", "link_to_folder", "pipe", "folder"])
def test_what_is_no_file_of_the_folder_executes_nothing(path: Path, what: str) -> None:
    outside = path.parents[1] / "outside"
    outside.mkdir()
    (outside / "mine.py").write_text(PYTHON)
    file = path.parent / ("sub/mine.py" if what == "link_to_folder" else "other.py")
    if what == "link":
        file.symlink_to(outside / "mine.py")
    elif what == "link_to_folder":
        file.parent.symlink_to(outside)
    elif what == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    name = file.relative_to(path.parent).as_posix()
    report, told = run(edited(path, ("mine.py:Net", f"{name}:Net")))
    said = {"pipe": "is a pipe", "folder": "is a folder"}.get(what, "is a symbolic link")
    assert report.failed and said in report.lines[0] and not told
    assert not executed(path) and not (outside / "executed").exists()


def test_a_link_that_is_followed_would_be_seen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = path.parents[1] / "outside.py"
    outside.write_text(PYTHON)
    (path.parent / "other.py").symlink_to(outside)
    monkeypatch.setattr(Path, "is_symlink", lambda self: False)
    report, told = run(edited(path, ("mine.py:Net", "other.py:Net")))
    assert not report.failed and len(told) == 2


def test_pages_execute_nothing_and_know_what_is_current(path: Path) -> None:
    report, _ = run(path, publish=True)
    assert not report.failed
    (path.parent / "executed").unlink()
    assert read_json(published(path))["code"] == {"mine.py": hashlib.sha256(PYTHON.encode()).hexdigest()}
    assert read_current(path, read_experiment(path)) is not None
    assert "| 1 runs |" in overview(path.parents[1])
    assert experiment_files(path.parents[1]) == [path]
    (path.parent / "mine.py").write_text(PYTHON + "\n")
    assert read_current(path, read_experiment(path)) is None
    assert "of another version of the file" in overview(path.parents[1])
    (path.parent / "mine.py").unlink()
    assert read_current(path, read_experiment(path)) is None
    assert not executed(path)


def test_published_runs_are_of_one_content_of_the_python_file(path: Path) -> None:
    run(path, publish=True)
    edited(path, ("rounds = 4", "rounds = 4\nseeds = [0, 1]"))
    run(path, publish=True)
    assert "nothing is missing" in run(path, missing=True)[0].lines[0]
    (path.parent / "mine.py").write_text(PYTHON.replace("relu", "tanh"))
    report, _ = run(path, "another", publish=True)
    assert "is made anew: 2 of its 2 runs were of another content" in report.lines[-1]


def test_a_page_of_an_experiment_with_a_file_beside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fedtheory.report.site import experiments

    run(path, publish=True)
    (path.parent / "executed").unlink()
    for name, value in {
        "experiment_files": lambda: [path],
        "tables": lambda paper: [],
        "experiments_page": lambda: True,
    }.items():
        monkeypatch.setattr(experiments, name, value)
    experiments.files.cache_clear()
    try:
        (page,) = experiments.experiment_pages()
    finally:
        experiments.files.cache_clear()
    assert page.run.startswith("1 runs") and page.settings[0][0] == "only" and not executed(path)


def test_processes_of_workers_run_what_was_hashed(path: Path) -> None:
    """The file is executed in another process too, which compares the hash that it is sent."""
    experiment = read_experiment(path)
    (unit,) = units_of(experiment, experiment.points(), path.parents[1] / "store")
    assert unit.code == {"mine.py": hashlib.sha256(PYTHON.encode()).hexdigest()}
    import pickle

    assert pickle.loads(pickle.dumps(unit)).code == unit.code
    assert re.fullmatch(r"[0-9a-f]{64}", unit.code["mine.py"])


class TestStart:
    """A model's file from which runs start."""

    def started(self, path: Path, start: str) -> Any:
        return run(edited(path, ('title = "mine"', f'title = "mine"\nstart = "{start}"')))[0]

    @pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
    def test_a_run_starts_from_it(self, path: Path, suffix: str) -> None:
        net = FilesBeside(path.parent).kind("model", "mine.py:Net")(4)
        save_model(net, path.parent / f"trained{suffix}")
        edited(path, ("rounds = 4", "rounds = 1\nkeep_models = 1"))
        report = self.started(path, f"trained{suffix}")
        assert not report.failed
        from fedtheory.simulation import stored_run

        kept = stored_run(path.parents[1] / "store/own/e/only/seed-0")
        flat = torch.cat([each.detach().flatten() for each in net.parameters()])
        assert (kept.parameters(0)[0] == flat.numpy()).all()
        assert set(report.contents[0]["code"]) == {"mine.py", f"trained{suffix}"}
        save_model(FilesBeside(path.parent).kind("model", "mine.py:Net")(4), path.parent / f"trained{suffix}")
        assert f"trained{suffix} has another content" in run(path)[0].lines[0]

    def test_what_is_wrong_is_said_in_one_line(self, path: Path) -> None:
        save_model(torch.nn.Linear(5, 3), path.parent / "other.npz")
        (line,) = self.started(path, "other.npz").lines
        assert "other.npz holds a model of another architecture: weight is (3, 5) there and missing in Net" in line
        for start, said in {
            "none.npz": "none.npz: no such file",
            "../other.npz": "allowed is a model's file below",
        }.items():
            (line,) = run(edited(path, ('start = "', f'start = "{start}" #')))[0].lines
            assert said in line

    def test_a_federation_without_a_network_has_none(self, path: Path) -> None:
        save_model(torch.nn.Linear(5, 3), path.parent / "other.npz")
        path.write_text('title = "mine"\nfederation = { kind = "common_hessian", offsets = [1, -1] }\n'
                        'algorithm = { kind = "fedavg", local_lr = 0.1 }\n')  # fmt: skip
        (line,) = self.started(path, "other.npz").lines
        assert "start = 'other.npz': allowed is a number, Quadratic has no network" in line
