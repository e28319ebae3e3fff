"""The strategy for Flower on messages of Flower's own, without processes: names, late answers, bad ones, restarts."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="the extra 'flower' is not installed")

from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from fedtheory.algorithms import fast, fedau, fedavg
from fedtheory.deploy import Answer, Server
from fedtheory.deploy.flower import DeployedStrategy
from fedtheory.files import Damaged
from fedtheory.participation import read_log

from . import rounds_beside as beside

CLIENTS = 4


@pytest.fixture(autouse=True)
def _a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages belong to a run, which a server app is of."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


def trained(name: str, message: Message) -> RecordDict:
    """What a client answers: the model plus its own number, as many examples."""
    arrays = {key: Array(array.numpy() + int(name)) for key, array in message.content["arrays"].items()}
    return RecordDict({"arrays": ArrayRecord(arrays), "metrics": MetricRecord({"num-examples": int(name) + 1})})


class Clients(Grid):
    """A grid in this process: nodes with names, of whom some are there in a round, and what they answer."""

    def __init__(self, nodes: dict[int, str], answer: Callable[[str, Message], Any] = trained) -> None:
        self.nodes, self.answer, self.there = nodes, answer, set(nodes)
        self.replies: dict[str, Message] = {}
        self.held: set[str] = set()
        self.queries = 0

    def get_node_ids(self) -> Iterable[int]:
        return [node for node in self.nodes if node in self.there]

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        ids = []
        for message in messages:
            known = f"message {len(ids)} {id(message)} {len(self.replies)}"
            message.metadata.__dict__["_message_id"] = known
            ids.append(known)
            name = self.nodes[message.metadata.dst_node_id]
            if message.metadata.message_type == "query":
                self.queries += 1
                content: Any = RecordDict({"config": ConfigRecord({"client": name})})
            else:
                content = self.answer(name, message)
            if content is not None:
                self.replies[known] = Message(content, reply_to=message)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [self.replies.pop(each) for each in message_ids if each in self.replies and each not in self.held]

    def create_message(self, *given: Any, **named: Any) -> Message:
        raise NotImplementedError

    def send_and_receive(self, *given: Any, **named: Any) -> list[Message]:
        raise NotImplementedError

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError


def model() -> ArrayRecord:
    return ArrayRecord({"w": Array(np.zeros((2, 2), np.float32)), "b": Array(np.zeros(2))})


def strategy(folder: Path | None, algorithm: Any = None, **given: Any) -> DeployedStrategy:
    algorithm = algorithm or fedau(local_lr="1/10", local_steps=3, cutoff=5)
    clients = given.pop("clients", CLIENTS)
    return DeployedStrategy(algorithm, clients, folder, poll_seconds=0.001, **given)


def numbers(arrays: ArrayRecord) -> dict[str, Any]:
    return {key: array.numpy().tolist() for key, array in arrays.items()}


def test_a_run_is_that_of_the_server_without_flower(tmp_path: Path) -> None:
    told: list[ConfigRecord] = []

    def answer(name: str, message: Message) -> RecordDict:
        told.append(message.content["config"])
        return trained(name, message)

    found = strategy(tmp_path).start(Clients({5 + i: str(i) for i in range(CLIENTS)}, answer), model(), num_rounds=3)
    with Server(fedau(local_lr="1/10", cutoff=5), [np.zeros((2, 2), np.float32), np.zeros(2)], CLIENTS) as server:
        for _ in range(3):
            names = server.begin(map(str, range(CLIENTS))).clients
            server.end([Answer(i, [each + int(i) for each in server.model], int(i) + 1) for i in names])
        assert numbers(found.arrays) == {"w": server.model[0].tolist(), "b": server.model[1].tolist()}
    assert found.arrays["w"].numpy().dtype == np.float32 and found.arrays["b"].numpy().dtype == np.float64
    assert {k: told[-1][k] for k in ("server-round", "local-lr", "local-steps")} == {
        "server-round": 3, "local-lr": 0.1, "local-steps": 3,
    }  # fmt: skip
    assert found.train_metrics_clientapp[3]["num-examples"] == 10 and not found.evaluate_metrics_serverapp
    assert read_log(tmp_path / "log.csv").mask().all()


def behind_flower(algorithm: Any, mask: np.ndarray, folder: Path, stop: int) -> np.ndarray:
    """The models of a strategy whose server fails in the middle of a round and is started again, (rounds + 1, D)."""
    found: list[np.ndarray] = []
    nodes = {5 + i: name for i, name in enumerate(beside.NAMES)}

    def answer(name: str, message: Message) -> RecordDict:
        x = beside.flat(each.numpy() for each in message.content["arrays"].values())
        round = message.content["config"]["server-round"] - 1
        (said,) = beside.answers([name], round, x, beside.accuracy(x))
        metrics = {"num-examples": said.examples, "train-accuracy": said.accuracy}
        arrays = {key: Array(each) for key, each in zip(beside.START, said.arrays, strict=True)}
        return RecordDict({"arrays": ArrayRecord(arrays), "metrics": MetricRecord(metrics)})

    def look(number: int, arrays: ArrayRecord) -> None:
        found.append(beside.flat(each.numpy() for each in arrays.values()))
        come(number)

    def come(done: int) -> None:
        grid.there = {5 + int(i) for i in np.flatnonzero(mask[done : done + 1].any(axis=0))}

    class Failing(Clients):
        """A grid that fails as the answers of a round come in."""

        def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
            if len(found) > stop:
                raise ConnectionError("the link is gone")
            return super().pull_messages(message_ids)

    start = ArrayRecord({key: Array(each) for key, each in beside.START.items()})
    for grid in (Failing(nodes, answer), Clients(nodes, answer)):
        come(max(len(found) - 1, 0))
        running = strategy(
            folder, algorithm, clients=beside.NAMES, seed=beside.SEED, server_gradient=beside.gradient,
            name_key="client", first_nodes=0,
        )  # fmt: skip
        with contextlib.suppress(ConnectionError):
            running.start(grid, start, num_rounds=len(mask), evaluate_fn=look)
        assert running.server is not None and running.server.round == len(found) - 1
    return np.array(found)


@pytest.mark.parametrize("rule", beside.TABLE)
def test_its_rounds_are_the_servers(rule: str, tmp_path: Path) -> None:
    """To the bit, over 200 rounds with empty ones, clients who are away, and a restart."""
    algorithm, mask = beside.TABLE[rule], beside.trace()
    found = behind_flower(algorithm, mask, tmp_path, beside.STOP)
    assert len(np.unique(found, axis=0)) > 100
    np.testing.assert_array_equal(found, beside.served(algorithm, mask))


def test_a_round_without_answers_leaves_the_model(tmp_path: Path) -> None:
    seen: list[Any] = []
    grid = Clients({1: "0", 2: "1"})

    def look(number: int, arrays: ArrayRecord) -> MetricRecord:
        seen.append(numbers(arrays))
        grid.there = {1, 2} if number in (0, 2) else set()
        return MetricRecord({"round": number})

    found = strategy(tmp_path).start(grid, model(), num_rounds=4, evaluate_fn=look)
    assert seen[0] != seen[1] == seen[2] != seen[3] == seen[4] and sorted(found.evaluate_metrics_serverapp) == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip
    assert read_log(tmp_path / "log.csv").mask().astype(int).tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("at_once", [1, 3, None])
def test_nodes_are_asked_so_many_at_once(at_once: int | None, tmp_path: Path) -> None:
    class Few(Clients):
        """A grid that says how many messages were not answered yet."""

        most = 0

        def push_messages(self, messages: Iterable[Message]) -> list[str]:
            ids = super().push_messages(messages)
            self.most = max(self.most, len(self.replies))
            return ids

    grid = Few({5 + i: str(i) for i in range(CLIENTS)})
    names = list(grid.nodes.values())
    strategy(tmp_path, clients=names, name_key="client", at_once=at_once).start(grid, model(), num_rounds=2)
    assert grid.most == (at_once or CLIENTS) and read_log(tmp_path / "log.csv").mask().all()
    with pytest.raises(ValueError, match="at_once = 0"):
        strategy(None, at_once=0).start(grid, model())


def test_a_late_answer_is_dropped_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = Clients({1: "0", 2: "1"})

    class Slow(set):  # type: ignore[type-arg]
        """The first answer of node 2 comes a round too late."""

        def __contains__(self, known: object) -> bool:
            reply = grid.replies[str(known)]
            return reply.metadata.src_node_id == 2 and running.server is not None and running.server.round == 0

    grid.held = Slow()
    running = strategy(tmp_path)
    with caplog.at_level(logging.WARNING):
        running.start(grid, model(), num_rounds=3, timeout=0.01)
    rows = (tmp_path / "log.csv").read_text().splitlines()[1:]
    assert rows[:2] == ["0,1,received,1,", "0,2,missing,0,"]
    assert rows[2:4] == ["1,1,received,1,", "1,2,received,2,late: an answer to round 0"]
    assert "late: an answer to round 0" in caplog.text
    assert read_log(tmp_path / "log.csv").mask().astype(int).tolist() == [[1, 0], [1, 1], [1, 1]]


BAD: dict[str, tuple[Callable[[RecordDict], Any], str, str]] = {
    "another shape": (
        lambda good: RecordDict({**good, "arrays": ArrayRecord({"w": Array(np.zeros(3)), "b": Array(np.zeros(2))})}),
        "dropped", "array 0 is float64 (3,): allowed are numbers (2, 2)",
    ),
    "NaN": (
        lambda good: RecordDict(
            {**good, "arrays": ArrayRecord({"w": Array(np.full((2, 2), np.nan)), "b": Array(np.zeros(2))})}
        ),
        "dropped", "array 0 has an entry that is not finite",
    ),
    "other arrays": (
        lambda good: RecordDict({**good, "arrays": ArrayRecord({"v": Array(np.zeros(2))})}),
        "dropped", "arrays: there are 0, allowed are 2",
    ),
    "nothing": (lambda good: RecordDict(), "failed", "answered no arrays"),
    "an error": (lambda good: Error(7, "it broke\nbadly"), "failed", "error 7: it broke badly"),
    "no answer": (lambda good: None, "missing", ""),
    "examples that are none": (
        lambda good: RecordDict({**good, "metrics": MetricRecord({"num-examples": float("nan")})}),
        "dropped", "examples = nan: allowed is a number >= 0",
    ),
    "another name": (
        lambda good: RecordDict({**good, "config": ConfigRecord({"client": "3"})}),
        "dropped", "connection 2 was client '1' before",
    ),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_taken_is_dropped_by_name(bad: str, tmp_path: Path) -> None:
    wrong, status, reason = BAD[bad]

    def answer(name: str, message: Message) -> Any:
        good, number = trained(name, message), message.content["config"]["server-round"]
        return wrong(good) if name == "1" and number == 2 else good

    grid = Clients({1: "0", 2: "1"}, answer)
    found = strategy(tmp_path, fedavg(local_lr=1), clients=["0", "1", "3"], name_key="client").start(
        grid, model(), num_rounds=3, timeout=0.01
    )
    rows = [line.split(",", 4) for line in (tmp_path / "log.csv").read_text().splitlines()[1:]]
    (told,) = [row for row in rows if row[:2] == ["1", "3" if bad == "another name" else "1"]]
    assert told[2] == status and reason in told[4]
    assert read_log(tmp_path / "log.csv").mask().astype(int).tolist() == [[1, 1, 0], [1, 0, 0], [1, 1, 0]]
    assert numbers(found.arrays)["b"] == [0.5 + 0 + 0.5] * 2  # the model goes on from who came: updates 0 and 1
    assert grid.queries == 2


def test_a_client_on_another_node_is_the_same_and_two_of_one_name_are_not(tmp_path: Path) -> None:
    grid = Clients({1: "0", 2: "1", 3: "1"})
    running = strategy(tmp_path, clients=["0", "1"], name_key="client")
    running.start(grid, model(), num_rounds=1)
    grid.there = {1, 3}  # node 2 is gone, its client is back on node 3
    strategy(tmp_path, clients=["0", "1"], name_key="client").start(grid, model(), num_rounds=2)
    assert (tmp_path / "log.csv").read_text().splitlines()[1:] == [
        "0,0,received,1,", "0,1,received,2,", "1,0,received,1,", "1,1,received,2,",
    ]  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
def test_a_node_that_has_said_its_name_answers_for_no_other(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first round, too. A planted relapse, of which nothing is known, is seen."""

    def answer(name: str, message: Message) -> RecordDict | None:
        good = trained("9", message)
        return RecordDict({**good, "config": ConfigRecord({"client": "1"})}) if name == "0" else None

    if not known:
        monkeypatch.setattr(Server, "met", lambda self, sender, name: None)
    running = strategy(None, fedavg(local_lr=1), clients=["0", "1"], name_key="client")
    found = running.start(Clients({1: "0", 2: "1"}, answer), model(), num_rounds=1, timeout=0.01)
    assert numbers(found.arrays)["b"] == ([0.0] * 2 if known else [9.0] * 2)
    assert running.server is not None
    assert [row[1:3] for row in running.server.rows] == [("0", "missing"), ("1", "dropped" if known else "received")]


def test_two_servers_on_one_state_are_refused(tmp_path: Path) -> None:
    first = strategy(tmp_path)
    with first.opened(model()), pytest.raises(Damaged, match="lock: is in use by another process or thread"):
        strategy(tmp_path).start(Clients({1: "0"}), model(), num_rounds=1)


def test_a_server_that_is_started_again_goes_on(tmp_path: Path) -> None:
    nodes = {5 + i: str(i) for i in range(CLIENTS)}
    algorithm = fast(cohort=2, local_lr="1/10", snapshot_probability="1/2", momentum="1/2")
    whole = strategy(tmp_path / "whole", algorithm).start(Clients(nodes), model(), num_rounds=9)
    for last in (4, 9):
        part = strategy(tmp_path / "parts", algorithm).start(Clients(nodes), model(), num_rounds=last)
    assert numbers(part.arrays) == numbers(whole.arrays)
    assert (tmp_path / "parts" / "log.csv").read_bytes() == (tmp_path / "whole" / "log.csv").read_bytes()
