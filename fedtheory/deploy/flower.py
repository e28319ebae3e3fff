"""Flower: a strategy of its Message API that runs an algorithm of ``fedtheory.algorithms`` with real clients.

A client takes the model from the record ``arrays`` and what it is told from the record ``config``: ``server-round``
(counted from 1, as Flower does), ``local-lr`` (a number, or a list of one for each step), ``local-steps`` and
``proximal``. It answers with ``arrays``, the model that it trained, and with metrics, of which ``num-examples`` is the
number of its examples and ``train-accuracy``, if it is there, how well the model that it got does on them.

A client's name is the number of its node, which Flower keeps where nodes have keys; or it is what the client says when
it is asked: with ``name_key="client"`` each new node gets a message of the type "query", and its answer has a record
``config`` with ``client``. So a client that comes back on another node is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from logging import getLogger
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from ..algorithms.algorithm import Algorithm
from ..rationals import checked_count
from .answers import Answer
from .round_log import RECEIVED
from .server import Gradient, Server

ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"
"""Names of the records in messages."""
EXAMPLES, ACCURACY, ROUND = "num-examples", "train-accuracy", "server-round"
"""Names of the metrics that clients answer, and of the round's number in what they are told."""

logger = getLogger(__name__)


@dataclass
class DeployedStrategy(Strategy):
    """Strategy that asks whom the algorithm says, and makes the next model as it does: see ``deploy.Server``.

    ``start`` goes on where a state in ``directory`` ends: ``num_rounds`` counts from the first round of all. A round in
    which nobody answers leaves the model as it is. What comes after a round's end is dropped and logged.

    Args:
        algorithm, clients, directory, seed, server_gradient: as of ``Server``.
        name_key: under which clients say their names; ``None``: they are called by the numbers of their nodes.
        name_seconds: how long a new node may take to say its name; it is asked again in the next round.
        first_nodes: how many nodes are waited for before the first round.
        at_once: how many nodes are asked at the same time, where many are on one machine; ``None``: all. A timeout is
            then of each lot.
        least_seconds: how long a round takes at least, so that rounds pass while nobody is there.
        poll_seconds: between two looks for answers.

    Raises:
        ValueError: as ``Server``, when it starts; ``at_once`` is below 1.
    """

    algorithm: Algorithm
    clients: int | Sequence[str]
    directory: str | Path | None = None
    seed: int = 0
    server_gradient: Gradient | None = None
    name_key: str | None = None
    name_seconds: float = 60.0
    first_nodes: int = 1
    at_once: int | None = None
    least_seconds: float = 0.0
    poll_seconds: float = 0.2
    server: Server | None = field(default=None, init=False)
    _keys: list[str] = field(default_factory=list, init=False)
    _named: dict[int, str] = field(default_factory=dict, init=False)
    _asked: dict[str, int] = field(default_factory=dict, init=False)
    """The rounds of messages that were not answered yet, by their ids."""

    def summary(self) -> None:
        """Log what is run."""
        logger.info("%r with clients %s, state in %s", self.algorithm, self.clients, self.directory)

    def start(  # type: ignore[override]
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run the rounds that are left of ``num_rounds``, and return the last model and what was measured.

        Args:
            timeout: seconds that a round waits for answers.
            evaluate_config: unused: clients are not asked to evaluate.
            train_config, evaluate_fn: as of Flower's strategies. Rounds count from 1; 0 is before the first.
        """
        self.summary()
        result = Result()
        with self.opened(initial_arrays) as server:
            self._wait(grid)
            if evaluate_fn is not None and server.round == 0:
                self._measured(result, 0, evaluate_fn)
            while server.round < num_rounds:
                begun, number = time.monotonic(), server.round + 1
                messages = self.configure_train(number, self.arrays, train_config or ConfigRecord(), grid)
                replies = self._replies(grid, list(messages), timeout)
                _, metrics = self.aggregate_train(number, replies)
                if metrics is not None:
                    result.train_metrics_clientapp[number] = metrics
                if evaluate_fn is not None:
                    self._measured(result, number, evaluate_fn)
                time.sleep(max(0.0, self.least_seconds - (time.monotonic() - begun)))
            result.arrays = self.arrays
        return result

    def opened(self, initial_arrays: ArrayRecord) -> Server:
        """Return the server, with the model of the state if there is one."""
        if self.at_once is not None:
            checked_count("at_once", self.at_once)
        self._keys = list(initial_arrays.keys())
        model = [array.numpy() for array in initial_arrays.values()]
        self.server = Server(
            self.algorithm,
            model,
            self.clients,
            directory=self.directory,
            seed=self.seed,
            server_gradient=self.server_gradient,
        )
        self._named = {int(node): name for node, name in self.server.senders.items()} if self.name_key else {}
        return self.server

    @property
    def arrays(self) -> ArrayRecord:
        """The model as Flower has it.

        Raises:
            ValueError: nothing was opened.
        """
        model = self._opened.model
        return ArrayRecord(
            {key: Array(np.ascontiguousarray(each)) for key, each in zip(self._keys, model, strict=True)}
        )

    @property
    def _opened(self) -> Server:
        if self.server is None:
            raise ValueError("the strategy has no server: allowed after start or opened")
        return self.server

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the messages to those whom the algorithm asks."""
        names = self._names(grid)
        nodes = {name: node for node, name in names.items()}
        task = self._opened.begin(nodes)
        told = {name.replace("_", "-"): value for name, value in task.instructions.items() if name != "round"}
        record = ConfigRecord({**config, **told, ROUND: server_round})
        return [
            Message(RecordDict({ARRAYS: arrays, CONFIG: record}), nodes[name], MessageType.TRAIN)
            for name in task.clients
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the next model, and how many answers it is of, with how many examples."""
        server = self._opened
        server.end([self._answer(reply) for reply in replies])
        came = [row for row in server.rows if row.status == RECEIVED]
        return self.arrays, MetricRecord({"answers": len(came), EXAMPLES: float(sum(row.examples for row in came))})

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return no message: clients are not asked to evaluate."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return nothing, as nobody was asked."""
        return None

    def _measured(
        self, result: Result, number: int, evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None]
    ) -> None:
        found = evaluate_fn(number, self.arrays)
        if found is not None:
            result.evaluate_metrics_serverapp[number] = found

    def _wait(self, grid: Grid) -> None:
        while len(list(grid.get_node_ids())) < self.first_nodes:
            time.sleep(self.poll_seconds)

    def _names(self, grid: Grid) -> dict[int, str]:
        """The names of the nodes that are there. Of two nodes with one name the first one counts."""
        nodes = list(grid.get_node_ids())
        new = [node for node in nodes if node not in self._named]
        if self.name_key is None:
            self._named |= {node: str(node) for node in new}
        elif new:
            messages = [Message(RecordDict(), node, MessageType.QUERY) for node in new]
            for reply in self._exchanged(grid, messages, self.name_seconds):
                name = None if reply.has_error() else _entry(reply.content, CONFIG, self.name_key)
                if isinstance(name, str) and name:
                    self._named[reply.metadata.src_node_id] = name
                    self._opened.met(str(reply.metadata.src_node_id), name)
                else:
                    logger.warning("node %d says no name under %r", reply.metadata.src_node_id, self.name_key)
        found: dict[int, str] = {}
        for node in nodes:
            name = self._named.get(node)
            if name is None or name in found.values():
                logger.warning("node %d is left out: its name is %r", node, name)
            else:
                found[node] = name
        return found

    def _replies(self, grid: Grid, messages: list[Message], timeout: float) -> list[Message]:
        """The answers to messages of a round, and those to earlier ones that have come meanwhile."""
        before = list(self._asked)
        found = self._exchanged(grid, messages, timeout, self._asked)
        return found + (list(grid.pull_messages(before)) if before else [])

    def _exchanged(
        self, grid: Grid, messages: list[Message], timeout: float, asked: dict[str, int] | None = None
    ) -> list[Message]:
        """The answers to messages, of which there are not too many at once; ``asked`` remembers them by their ids."""
        found: list[Message] = []
        size = self.at_once or len(messages) or 1
        for some in (messages[i : i + size] for i in range(0, len(messages), size)):
            new = [known for known in grid.push_messages(some) if known]
            if asked is not None:
                asked |= dict.fromkeys(new, self._opened.round)
            found += self._pulled(grid, new, timeout)
        return found

    def _pulled(self, grid: Grid, waiting: list[str], timeout: float) -> list[Message]:
        left, until, found = set(waiting), time.monotonic() + timeout, list[Message]()
        while left:
            for reply in grid.pull_messages(list(left)):
                left.discard(reply.metadata.reply_to_message_id)
                found.append(reply)
            if not left or time.monotonic() >= until:
                break
            time.sleep(self.poll_seconds)
        return found

    def _answer(self, reply: Message) -> Answer:
        """What a message says. What it lacks, the server names."""
        node, round = reply.metadata.src_node_id, self._asked.pop(reply.metadata.reply_to_message_id, None)
        name = self._named.get(node, str(node))
        if reply.has_error():
            error = f"error {reply.error.code}: {reply.error.reason}"
            return Answer(name, None, round=round, sender=str(node), error=error)
        content = reply.content
        said = _entry(content, CONFIG, self.name_key) if self.name_key else None
        return Answer(
            client=name if said is None else str(said),
            arrays=self._arrays(content),
            examples=_entry(content, METRICS, EXAMPLES) or 0,
            round=round,
            sender=str(node),
            accuracy=_entry(content, METRICS, ACCURACY),
            error="answered no arrays",
        )

    def _arrays(self, content: RecordDict) -> list[np.ndarray] | None:
        records = list(content.array_records.values())
        if not records:
            return None
        record = content.array_records.get(ARRAYS, records[0])
        if set(record.keys()) != set(self._keys):
            return []
        try:
            return [record[key].numpy() for key in self._keys]
        except Exception as error:  # bytes that are no array, of whatever kind the client has sent
            logger.warning("arrays that cannot be read: %s", error)
            return []


def _entry(content: RecordDict, record: str, key: str) -> Any:
    """An entry of a record of a message; ``None`` if it is not there."""
    found: Any = content.get(record)
    return found.get(key) if hasattr(found, "get") else None
