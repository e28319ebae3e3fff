"""The deployed server by itself: bad answers, names, the log, two servers on one state, damage, and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fedtheory.algorithms import fast, fedau, fedavg, fednova, known_statistics, mifa, safari
from fedtheory.deploy import Answer, Server
from fedtheory.deploy.answers import is_name
from fedtheory.deploy.round_log import RoundLog, Row
from fedtheory.diagnosis import diagnose
from fedtheory.files import Damaged, archived
from fedtheory.participation import read_log

from .killed_server import RELAPSES

ROOT = Path(__file__).parents[2]
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
    "rows of other lengths": (Answer("b", [[[1], [1, 2]], GOOD[1]], 1), "dropped", "array 0 cannot be read"),
    "arrays by name": (Answer("b", {"w": 1, "b": 2}, 1), "dropped", "array 0 cannot be read: KeyError"),  # type: ignore[arg-type]
    "numbers above floats": (
        Answer("b", [GOOD[0], np.array([np.longdouble("1e4000")])], 1), "dropped", "array 1 has an entry",
    ),
    "an error of two lines": (Answer("b", None, error="out of\r\nmemory\0 \ud800"), "failed", "out of memory? ?"),
    "a long error": (Answer("b", None, error="long" * 999), "failed", "long" * 50),
    "late": (Answer("b", GOOD, 1, round=-1), "dropped", "late: an answer to round -1"),
    "early": (Answer("b", GOOD, 1, round=3), "dropped", "an answer to round 3"),
    "rounds": (Answer("b", GOOD, 1, round=np.zeros(2)), "dropped", "an answer to round array"),  # type: ignore[arg-type]
    "examples above floats": (Answer("b", GOOD, 10**400), "dropped", "examples = 1000"),
    "examples that cannot be printed": (Answer("b", GOOD, 10**9999), "dropped", "examples = a int"),
    "an accuracy above floats": (Answer("b", GOOD, 1, accuracy=10**400), "dropped", "accuracy = 1000"),
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
    assert found["b"][2:4] == [status, "0"] and reason in found["b"][4] and len(found) == 3
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


@pytest.mark.parametrize("name", ["", " ", " b", "b\n", "b\0", "\ud800", "b" * 201])
def test_what_no_log_holds_is_no_name(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with server(tmp_path, clients=3) as one:
        assert one.begin(["a", name]).clients == ("a",)
        one.end([Answer(name, GOOD, 1), Answer("a", GOOD, 1)])
    assert read_log(tmp_path / "log.csv").names == ("a",)
    assert caplog.text.count("is none of the 3 clients") == 2
    with pytest.raises(ValueError, match="distinct names, each of 1 to 200 characters that can be printed"):
        server(clients=["a", name])


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True))
@example(["a,b", 'q"q', "#", "0", "=1", "é"])
def test_what_is_a_name_is_read_back(names: list[str]) -> None:
    rows = [Row(0, name, "received") for name in names if is_name(name)]
    assume(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        RoundLog(path, 0).append(rows)
        assert read_log(path).names == tuple(row.client for row in rows)


def test_a_name_that_is_a_number_is_its_text(tmp_path: Path) -> None:
    with server(tmp_path, clients=["3", "4"]) as one:
        one.begin("34")
        one.end([Answer(3, GOOD, 1)])  # type: ignore[arg-type]
    assert [row[1:3] for row in rows(tmp_path)] == [["3", "received"], ["4", "missing"]]


def test_whose_a_connection_is_can_be_known_before_it_answers() -> None:
    one = server()
    one.met("7", "a")
    one.begin("ab")
    one.end([Answer("b", GOOD, sender="7"), Answer("b", [each * 2 for each in GOOD], sender="8")])
    assert one.model[1].tolist() == [2.0]


def test_a_closed_server_begins_no_round(tmp_path: Path) -> None:
    one = server(tmp_path)
    one.begin("a")
    one.close()
    with pytest.raises(ValueError, match="begin: allowed is no round of a server that is closed"):
        one.begin("a")
    with pytest.raises(ValueError, match="end: allowed after begin"):
        one.end([Answer("a", GOOD, 1)])
    assert not (tmp_path / "log.csv").exists()


@pytest.mark.parametrize(("kind", "size"), [("f4", 1e38), ("f8", 1.5e308)])
def test_a_run_that_diverges_ends_before_the_round_is_kept(kind: str, size: float, tmp_path: Path) -> None:
    """In the precision that the model is handed out in; who goes on from the state does the round again."""
    algorithm, model = mifa(local_lr=1, global_lr=8), [np.zeros(1, kind)]
    far, near = [np.array([size])], [np.ones(1)]
    with server(tmp_path, algorithm, model=model) as one:
        one.begin("abc")
        with pytest.raises(ValueError, match="round 0: the run diverges"):
            one.end(Answer(name, far, 1) for name in "abc")
        with pytest.raises(ValueError, match="closed"):
            one.begin("abc")
    with server(tmp_path, algorithm, model=model) as one:
        assert one.round == 0
        one.begin("abc")
        one.end(Answer(name, near, 1) for name in "abc")
        assert one.model[0].tolist() == [8.0]


def test_a_disk_that_is_full_loses_no_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with server(tmp_path) as one:
        one.begin("a")
        with monkeypatch.context() as planted, pytest.raises(OSError, match="No space left"):
            planted.setattr("fedtheory.deploy.server.write_beside", full)
            one.end([Answer("a", GOOD, 1)])
        with pytest.raises(ValueError, match="closed"):
            one.begin("a")
    with server(tmp_path) as one:
        assert one.round == 0 and one.model[1].tolist() == [0.0]
        one.begin("b")
        one.end([Answer("b", GOOD, 1)])
    assert [row[:3] for row in rows(tmp_path) if row[2] == "received"] == [["0", "b", "received"]]


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


def test_a_log_is_gone_on_with_however_long_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDTHEORY_LARGEST_FILE", "100")
    for _ in range(5):
        with server(tmp_path, clients=np.int64(3)) as one:  # a number is a number
            one.begin("abc")
            one.end([])
    assert one.round == 5 and (tmp_path / "log.csv").stat().st_size > 100


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


def arrays_of(state: Path) -> dict[str, np.ndarray]:
    with np.load(state) as found:
        return dict(found)


def labelled(state: Path, **changed: Any) -> np.ndarray:
    label = json.loads(arrays_of(state)["label"].tobytes())
    return np.frombuffer(json.dumps(label | changed).encode(), dtype=np.uint8)


OTHER_STATES: dict[str, tuple[Callable[[Path], dict[str, Any]], str]] = {
    "an older version": (lambda state: {"label": labelled(state, layout=0)}, "layout = 0 there, 1 here"),
    "no label": (lambda state: {"label": None}, "damaged state .*label"),
    "a label of another kind": (lambda state: {"label": np.zeros(3, np.uint8)}, "damaged state"),
    "a label that is a list": (lambda state: {"label": np.frombuffer(b"[]", np.uint8)}, "damaged state"),
    "another model": (lambda state: {"x": np.zeros((1, 2))}, r"x is float64 \(1, 2\): allowed is float64 \(1, 3\)"),
    "no memory": (lambda state: {"memory.updates": None}, "damaged state .*allowed are"),
    "more memory": (lambda state: {"memory.more": np.zeros(1)}, "damaged state .*allowed are"),
    "rounds that are none": (lambda state: {"label": labelled(state, round="many")}, "damaged state .*many"),
}


@pytest.mark.parametrize("case", OTHER_STATES)
def test_another_state_is_refused_by_name_and_stays(case: str, tmp_path: Path) -> None:
    with server(tmp_path, mifa(local_lr=1)) as one:
        one.begin("a")
        one.end([Answer("a", GOOD, 1)])
    changed, said = OTHER_STATES[case]
    state = tmp_path / "state.npz"
    found = arrays_of(state)
    new = changed(state)
    assert all(name in found for name, array in new.items() if array is None)
    state.write_bytes(archived(**{name: array for name, array in (found | new).items() if array is not None}))
    before, log = state.read_bytes(), (tmp_path / "log.csv").read_bytes()
    with pytest.raises((Damaged, ValueError), match=said):
        server(tmp_path, mifa(local_lr=1))
    assert (state.read_bytes(), (tmp_path / "log.csv").read_bytes()) == (before, log)


def test_a_state_that_is_cut_off_anywhere_is_damaged(tmp_path: Path) -> None:
    server(tmp_path).close()
    state = tmp_path / "state.npz"
    whole = state.read_bytes()
    for length in range(0, len(whole), 97):
        state.write_bytes(whole[:length])
        with pytest.raises(Damaged, match=r"state\.npz"):
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
    "a model with NaN": ({"model": [np.array([np.nan])]}, r"model\[0\] is not finite"),
    "no model": ({"model": None}, "model is None: allowed is a list of arrays"),
    "a model of rows of other lengths": ({"model": [[1.0, [2.0]]]}, r"model\[0\] is of type list"),
    "a name of an algorithm": ({"algorithm": "fedavg"}, "algorithm = 'fedavg': allowed is one of"),
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


@pytest.mark.parametrize("relapse", RELAPSES)
def test_a_server_that_is_killed_fifty_times_loses_nothing(relapse: str, tmp_path: Path) -> None:
    """And what would lose something is seen."""
    command = [sys.executable, "-m", "tests.deploy.killed_server", str(tmp_path), relapse]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout == "whole\n") == (relapse == "none"), done.stdout + done.stderr
    assert done.stdout.startswith(("whole", "Damaged: ", "AssertionError: after "))
