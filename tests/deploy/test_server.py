"""The deployed server by itself: bad answers, names, the log, two servers on one state, damage, and what it imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtheory.algorithms import fast, fedau, fedavg, fednova, known_statistics, mifa, safari
from fedtheory.deploy import Answer, Server
from fedtheory.diagnosis import diagnose
from fedtheory.files import Damaged
from fedtheory.participation import read_log

NAMES = ["a", "b", "c"]
GOOD = [np.ones((2, 1)), np.ones(1)]


def server(folder: Path | None = None, algorithm: Any = None, **given: Any) -> Server:
    model, clients = given.pop("model", [np.zeros((2, 1)), np.zeros(1)]), given.pop("clients", NAMES)
    return Server(algorithm or fedavg(local_lr="1/10"), model, clients, directory=folder, **given)


def rows(folder: Path) -> list[list[str]]:
    return [line.split(",", 4) for line in (folder / "log.csv").read_text().splitlines()[1:]]


BAD: dict[str, tuple[Answer, str, str]] = {
    "fewer arrays": (Answer("b", GOOD[:1], 1), "dropped", "arrays: there are 1, allowed are 2"),
    "another shape": (Answer("b", [np.ones(2), GOOD[1]], 1), "dropped", "array 0 is float64 (2,)"),
    "NaN": (Answer("b", [GOOD[0], np.array([np.nan])], 1), "dropped", "array 1 has an entry that is not finite"),
    "infinity": (Answer("b", [GOOD[0], np.array([np.inf])], 1), "dropped", "not finite"),
    "text": (Answer("b", [GOOD[0], np.array(["x"])], 1), "dropped", "array 1 is <U1 (1,)"),
    "complex numbers": (Answer("b", [GOOD[0], np.array([1j])], 1), "dropped", "array 1 is complex128 (1,)"),
    "nothing": (Answer("b", None, error="out of memory"), "failed", "out of memory"),
    "a number": (Answer("b", 3, 1), "dropped", "there are none"),  # type: ignore[arg-type]
    "late": (Answer("b", GOOD, 1, round=-1), "dropped", "late: an answer to round -1"),
    "examples below 0": (Answer("b", GOOD, -1), "dropped", "examples = -1: allowed is a number >= 0"),
    "examples that are a word": (Answer("b", GOOD, "many"), "dropped", "examples = 'many'"),  # type: ignore[arg-type]
    "an accuracy above 1": (Answer("b", GOOD, 1, accuracy=2.0), "dropped", "accuracy = 2.0"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_answer_is_dropped_by_name_and_the_run_goes_on(bad: str, tmp_path: Path) -> None:
    answer, status, reason = BAD[bad]
    with server(tmp_path) as one:
        one.begin("ab")
        one.end([answer, Answer("a", GOOD, 5)])
        assert one.model[0].tolist() == [[1.0], [1.0]] and one.round == 1
    found = {row[1]: row for row in rows(tmp_path)}
    assert found["a"][2:] == ["received", "5", ""] and found["c"][2] == "unavailable"
    assert found["b"][2:4] == [status, "0"] and reason in found["b"][4]
    assert read_log(tmp_path / "log.csv").mask().tolist() == [[True, False, False]]


def test_who_is_nobody_or_comes_twice_or_was_not_asked_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    one = server()
    assert one.begin(["a", "x", "a"]).clients == ("a",)
    twice = [each * 3 for each in GOOD]
    one.end([Answer("a", GOOD), Answer("a", twice), Answer("b", twice), Answer("x", twice)])
    assert one.model[1].tolist() == [1.0]
    for said in ("'a': answered twice", "'b': was not asked", "'x': is none of the 3 clients"):
        assert said in caplog.text


def test_a_connection_is_of_one_client_and_a_client_may_come_over_another(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        one.begin("ab")
        one.end([Answer("a", GOOD, sender="7"), Answer("b", GOOD, sender="8")])
    with server(tmp_path) as one:  # it is remembered
        one.begin("ab")
        one.end([Answer("b", GOOD, sender="7"), Answer("a", GOOD, sender="9")])
        assert [(row.client, row.status) for row in one.rows] == [("a", "received"), ("b", "dropped")]
        assert one.rows[1].reason == "connection 7 was client 'a' before"


def test_clients_without_names_get_their_numbers_as_they_come() -> None:
    one = server(clients=2)
    assert one.begin(["q"]).clients == ("q",)
    assert one.begin(["r", "q", "s"]).clients == ("q", "r")


def test_samples_that_are_0_are_dropped_where_they_count() -> None:
    one = server(algorithm=fedavg(local_lr=1, average="samples"))
    one.begin("ab")
    one.end([Answer("a", GOOD, 0), Answer("b", [each * 2 for each in GOOD], 7)])
    assert one.model[1].tolist() == [2.0] and one.rows[0].reason.startswith("examples = 0")


def test_two_servers_on_one_state_are_refused(tmp_path: Path) -> None:
    with server(tmp_path), pytest.raises(Damaged, match="lock: is in use by another process or thread"):
        server(tmp_path)
    server(tmp_path).close()


def test_another_run_is_refused_by_name(tmp_path: Path) -> None:
    server(tmp_path).close()
    for other, said in (
        ({"algorithm": fedau(local_lr=1)}, "algorithm = "),
        ({"clients": ["a", "b"]}, r"clients = \['a', 'b', 'c'\] there"),
        ({"seed": 1}, "seed = 0 there, 1 here"),
        ({"model": [np.zeros(2)]}, "model = "),
    ):
        with pytest.raises(ValueError, match=f"holds another run: .*{said}"):
            server(tmp_path, **other)
    server(tmp_path).close()  # none of them holds the lock


def test_damage_is_named(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        one.begin("a")
        one.end([Answer("a", GOOD, 1)])
    log, state = tmp_path / "log.csv", tmp_path / "state.npz"
    whole = log.read_bytes()
    log.write_bytes(whole[:-3])
    with pytest.raises(Damaged, match=r"log.csv: has \d+ bytes: allowed is a log of at least the \d+ of the state"):
        server(tmp_path)
    log.write_bytes(whole + b"1,a,rec")  # of a round that was not finished
    server(tmp_path).close()
    assert log.read_bytes() == whole
    content = state.read_bytes()
    state.write_bytes(content[:200] + bytes([content[200] ^ 1]) + content[201:])
    with pytest.raises(Damaged, match=r"state\.npz"):
        server(tmp_path)
    state.unlink()
    with pytest.raises(Damaged, match=r"log.csv: is there, and state.npz is not"):
        server(tmp_path)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an algorithm of one's own": (
        {"algorithm": fednova(local_lr=1, local_steps=[1, 2, 3])}, "allowed is one whose server averages",
    ),
    "unknown statistics": ({"algorithm": known_statistics(local_lr=1)}, "participation_probability = None"),
    "numbers without names": (
        {"algorithm": known_statistics(local_lr=1, participation_probability=["1/2"] * 3), "clients": 3},
        "Known are their names",
    ),
    "other numbers": ({"algorithm": known_statistics(local_lr=1, participation_probability=[1])}, "there are 1"),
    "a cohort of more": ({"algorithm": fast(local_lr=1, cohort=4, snapshot_period=2)}, "cohort = 4"),
    "no server data": (
        {"algorithm": safari(local_lr=1, server_lr=1, client_round_probability="1/2")}, "server_gradient = None",
    ),
    "names twice": ({"clients": ["a", "a"]}, "distinct names"),
    "no client": ({"clients": 0}, "clients = 0"),
    "a model of whole numbers": ({"model": [np.zeros(2, int)]}, "no array of floats"),
    "a model with NaN": ({"model": [np.array([np.nan])]}, r"model\[0\]"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_deployed_is_refused(case: str) -> None:
    given, said = REFUSED[case]
    with pytest.raises(ValueError, match=said):
        server(**given)


def test_the_model_keeps_its_precision_and_its_whole_numbers(tmp_path: Path) -> None:
    model = [np.zeros(2, np.float32), np.array(7), np.zeros((), np.float64)]
    with server(tmp_path, model=model) as one:
        one.begin("a")
        one.end([Answer("a", [np.full(2, 0.1), np.array(9), np.array(0.1)], 1)])
    with server(tmp_path, model=model) as one:
        assert [each.dtype.str for each in one.model] == ["<f4", "<i8", "<f8"]
        assert one.model[1] == 7 and one.model[2] == 0.1 and one.model[0][0] == np.float32(0.1)
        one.begin("a")  # an update is from the model that was handed out, not from the one that is kept
        one.end([Answer("a", one.model, 1)])
        assert one.x[0].tolist() == [0.1, 0.1, 0.1]


def test_instructions_are_of_the_round() -> None:
    one = server(algorithm=fedavg(local_lr="1/(1 + step_index)", local_steps=2))
    assert one.begin("a").instructions == {"round": 0, "local_lr": [1.0, 0.5], "local_steps": 2, "proximal": 0.0}
    one.end([])
    assert one.begin("a").instructions["local_lr"] == [float(Fraction(1, 3)), 0.25]


ALLOWED = """
import sys
class Only:
    allowed = {"numpy", "scipy", "fedtheory", *sys.stdlib_module_names}
    def find_spec(self, name, path=None, target=None):
        if path is None and name not in self.allowed and not name.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Only())
"""
"""A program begins so where there is nothing but numpy and scipy."""

PROGRAM = """
import numpy as np, time
from fedtheory.algorithms import fedau
from fedtheory.deploy import Answer, Server
from fedtheory.participation import read_log
from fedtheory import weights
weights.FedAU().batch(np.zeros((3, 2))); weights.weight_moments(0.5, cutoff=3, rounds=9)
with Server(fedau(local_lr=1, cutoff=3), [np.zeros(1)], ["a", "b", "c"], directory=sys.argv[1]) as one:
    while one.round < 30:
        names = one.begin([name for i, name in enumerate("abc") if (one.round + i) % (i + 2) == 0]).clients
        if one.round == 12 and sys.argv[2] == "hang":
            print("there", flush=True)
            time.sleep(60)
        one.end([Answer(name, [one.model[0] + ord(name)], 1) for name in names])
    print(one.model[0][0], read_log(sys.argv[1] + "/log.csv").mask().sum())
"""

PLANTED = """
import importlib._bootstrap_external as files
def uncached(*given, **named):
    raise NotImplementedError
def planted(self, path):
    return whole(self, path) + b"\\nimport networkx\\n" * path.endswith("/weights/weight_rules.py")
files.cache_from_source, whole = uncached, files.SourceFileLoader.get_data
files.SourceFileLoader.get_data = planted
"""
"""A program imports more than it should, wherever weights are imported."""


def program(folder: Path, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ALLOWED + PROGRAM, str(folder), how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_numpy_and_scipy_are_enough_and_a_killed_server_goes_on(tmp_path: Path) -> None:
    with program(tmp_path / "killed", "hang") as killed:
        assert killed.stdout is not None and killed.stdout.readline() == "there\n"
        os.kill(killed.pid, signal.SIGKILL)
    said = [program(tmp_path / folder, "on").communicate(timeout=600)[0] for folder in ("killed", "whole")]
    assert said[0] == said[1] and said[0].endswith(" 32\n")
    assert (tmp_path / "killed" / "log.csv").read_bytes() == (tmp_path / "whole" / "log.csv").read_bytes()


def test_an_import_of_more_is_seen(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALLOWED + PLANTED + PROGRAM, str(tmp_path), "on"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1 and done.stderr.endswith("ModuleNotFoundError: No module named 'networkx'\n")


def test_the_log_is_diagnosed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with server(tmp_path, mifa(local_lr=1)) as one:
        for _ in range(80):
            names = one.begin(name for name, p in zip("abc", (0.9, 0.5, 0.2), strict=True) if rng.random() < p).clients
            one.end([Answer(name, one.model, 3) for name in names])
    log = read_log(tmp_path / "log.csv")
    assert log.names == ("a", "b", "c") and log.mask().shape == (80, 3)
    assert "3 clients" in str(diagnose(log))


def test_a_planted_relapse_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a round that the state does not know, left in the log: it stands there twice."""
    import fedtheory.deploy.round_log as module

    monkeypatch.setattr(module.os, "truncate", lambda path, length: None)
    with server(tmp_path) as one:
        one.begin("a")
        one.end([Answer("a", GOOD, 1)])
    whole = (tmp_path / "log.csv").read_bytes()
    (tmp_path / "log.csv").write_bytes(whole + b"1,a,received,1,\n")
    server(tmp_path).close()
    assert (tmp_path / "log.csv").read_bytes() != whole
