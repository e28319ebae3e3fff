"""Every command on generated bad input: one line that refuses it, no traceback, and no status that means something
else."""

import contextlib
import io
import json
import random
from collections.abc import Iterator

import pytest
import typer

from fedtheory.cli.app import app
from fedtheory.cli.statuses import run
from fedtheory.papers import instance_path

from .bad import TEXTS, mutated, spoiled

SEED = 20261
GOOD = {
    "availability.csv": "a,b\n2,3\n1,4\n", "budget.csv": "budget\n1\n2\n",
    "log.csv": "round,client\n0,a\n1,b\n2,a\n3,a\n",
    "weights.csv": "group,weight\na,0.5\nb,0.5\n",
    "experiment.toml": 'title = "one"\n\n[run]\nrounds = 3\nseeds = [1]\n',
    "theorem.py": "CLAIM = 3\n",
    "constants.toml": "smoothness = 4\nstrong_convexity = 1\ngradient_noise = 1\ndissimilarity_at_optimum = 1\n"
                      "initial_distance = 2\n",
}  # fmt: skip
VALUES = ["smoothness=1", "strong_convexity=0.5", "gradient_noise=0", "dissimilarity=0.05", "initial_distance=1",
          "cohort=1", "arbitrary_cohort=1", "local_steps=1", "local_lr=0.01", "snapshot_probability=0.9",
          "rounds=10"]  # fmt: skip


def commands() -> dict[str, object]:
    """Every command, by the words that name it."""
    found, group = {}, typer.main.get_command(app)
    waiting = [((), group)]
    while waiting:
        words, one = waiting.pop()
        inner = getattr(one, "commands", None)
        if inner is None:
            found[" ".join(words)] = one
        else:
            waiting += [((*words, name), each) for name, each in inner.items()]
    return found


COMMANDS = commands()
REFUSED = {"run": {1, 2}, "data fetch": {1, 2}}
"""Statuses of what is certainly wrong, where 2 is not the only one: they go on with the other files."""
JUDGING = {"replay": {0, 1, 2}}
"""Statuses of a file that may be right or wrong."""


def outcome(arguments: list[str]) -> tuple[int, str]:
    """The status, and all that was said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = run(arguments)
    return status, said.getvalue()


def check(arguments: list[str], allowed: set[int]) -> None:
    status, said = outcome(arguments)
    assert status in allowed, (arguments, status, said[-500:])
    assert "Traceback" not in said and "Warning:" not in said, (arguments, said[-500:])
    lines = [line for line in said.splitlines() if line.startswith("fedtheory: ")]
    assert status != 2 or lines or "Usage: fedtheory" in said or "Error: " in said, (arguments, said)


def wrong_calls(rng: random.Random, folder: str) -> dict[str, Iterator[list[str]]]:
    """For every command arguments that are certainly wrong."""

    def text() -> str:
        return rng.choice(TEXTS)

    def values() -> list[str]:
        given = list(VALUES)
        at = rng.randrange(len(given))
        name = given[at].partition("=")[0]
        given[at] = rng.choice([f"{name}=", f"{name}={text()}x", f"{name}=nan", f"{name}=1,,2", f"{name}=1/0", text(),
                                f"{text()}={1}", f"{name}=-1e400"])  # fmt: skip
        return given

    absent, file = f"{folder}/absent", f"{folder}/budget.csv/inside"
    data = [f"{folder}/availability.csv", "--budget", f"{folder}/budget.csv", "--weights", f"{folder}/weights.csv"]
    log = f"{folder}/log.csv"
    constants = ["--constants", f"{folder}/constants.toml"]
    option = ["--paper", text() + "?"]
    unknown = text().lstrip("-") + "?"
    listing = [f"--json={unknown}"]
    calls = {
        "explain": [unknown], "cite": rng.choice([[unknown], ["fast.thm2", "--format", unknown]]),
        "evaluate": ["fast.thm2", *values()], "show": [unknown], "prove": [unknown], "refute": [unknown],
        "replay": [rng.choice([absent, file, folder, unknown])], "errata": option, "tables": option, "curves": option,
        "referee": [rng.choice([absent, file, folder, f"{folder}/theorem.py"])], "verify": ["--report", file],
        "report": ["--into", file], "tightness": [unknown],
        "offvar": rng.choice([[absent, *data[1:]], [*data, "--plan", folder], [*data, "--r-min", "-1"],
                              [*data, "--r-min", unknown], data[:3]]),
        "select": rng.choice([[absent, *data[1:]], [*data, "--plan", file], [*data, "--counts", unknown],
                              [*data, "--update", unknown], [*data, "--start", "nan"], [*data, "--seed", "1.5"]]),
        "run": rng.choice([[absent], [folder], [f"{folder}/budget.csv"], [f"{folder}/experiment.toml"], []]),
        "learnability": rng.choice([[unknown], ["digits", "--clients", "0"], ["digits", "--participants", "-1"],
                                    ["digits", "--rows", "0"], ["digits", "--clients", unknown]]),
        "diagnose": rng.choice([[rng.choice([absent, file, folder, unknown])], [f"{folder}/budget.csv"],
                                [log, "--like", unknown], [log, "--width", unknown], [log, "--tz", unknown],
                                [log, "--column", unknown], [log, "--column", f"{unknown}=client"],
                                [log, "--roster", absent], [log, "--samples", f"{folder}/budget.csv"],
                                [log, "--labels", folder], [log, "--groups", file], [log, "--page", unknown],
                                [log, "--until", unknown]]),
        "recommend": rng.choice([[rng.choice([absent, file, folder, unknown]), *constants], [log],
                                 [log, "--constants", rng.choice([absent, file, folder, log])],
                                 *([log, *constants, each, rng.choice([unknown, "-1", "0", "nan", "1e400"])]
                                   for each in ("--budget", "--target", "--rounds", "--local-steps", "--resamples")),
                                 [log, *constants, "--like", unknown], [log, *constants, "--into", unknown],
                                 [log, *constants, "--page", unknown], [log, *constants, "--width", unknown]]),
        "new": [rng.choice([folder, file])],
        "experiments": ["--into", rng.choice([folder, file, f"{folder}/list.txt"])],
        "data where": [unknown], "data fetch": [unknown], "data list": listing, "claims": listing,
        "quantities": listing,
        "functionals": listing, "assumptions": listing, "algorithms": listing,
    }  # fmt: skip
    return calls


@pytest.mark.parametrize("seed", [SEED, *(pytest.param(SEED + i, marks=pytest.mark.slow) for i in (1, 2))])
def test_every_command_refuses_what_is_wrong(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    for name, content in GOOD.items():
        (tmp_path / name).write_text(content)
    rng = random.Random(seed)
    for _ in range(2):
        calls = wrong_calls(rng, str(tmp_path))
        assert calls.keys() == COMMANDS.keys(), "a command that is not tried"
        for name, arguments in calls.items():
            words = name.split()
            check([*words, *arguments], REFUSED.get(name, {2}))
            check([*words, *arguments, rng.choice(["--absent", "-x", f"--json={rng.choice(TEXTS)}x"])], {2})
    assert {path.name for path in tmp_path.iterdir()} <= {*GOOD, "runs", "report"}


def test_no_command_at_all():
    for arguments in (["nonsense"], ["data"], ["data", "nonsense"], ["--nonsense"]):
        check(arguments, {2})


@pytest.mark.parametrize("command", ["offvar", "select"])
def test_tables_that_were_spoiled(tmp_path, command):
    rng = random.Random(SEED)
    for _ in range(25):
        which = rng.choice(["availability.csv", "budget.csv", "weights.csv"])
        for name, content in GOOD.items():
            (tmp_path / name).write_bytes(spoiled(content.encode(), rng) if name == which else content.encode())
        files = [
            tmp_path / "availability.csv",
            "--budget",
            tmp_path / "budget.csv",
            "--weights",
            tmp_path / "weights.csv",
        ]
        check([command, *map(str, files)], {0, 2})


INSTANCES = ["fast.thm1@main", "flics.lemma5@main", "fedau.lemmaB_3_3@main", "safari.thm2@main", "safari.rem5.a@main"]


@pytest.mark.parametrize("ref", INSTANCES)
def test_instances_that_were_spoiled(tmp_path, ref):
    rng, path = random.Random(SEED), tmp_path / "instance.json"
    content = instance_path(ref).read_bytes()
    for at in range(16):
        path.write_bytes(json.dumps(mutated(json.loads(content), rng)).encode() if at % 4 else spoiled(content, rng))
        check(["replay", str(path)], JUDGING["replay"])
