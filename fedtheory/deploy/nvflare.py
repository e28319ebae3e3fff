"""NVFlare: a controller of its Controller API that runs an algorithm of ``fedtheory.algorithms`` with real clients.

A client gets the model in full, as an ``FLModel`` with the task "train". Its ``current_round`` counts from 0, and its
``meta`` has ``local_lr`` (a number, or a list of one for each step), ``local_steps`` and ``proximal``. It answers with
the model that it trained, in full or as a difference. ``NUM_STEPS_CURRENT_ROUND`` of its ``meta``, by which NVFlare
weights clients, is what it counts as examples. ``train_accuracy`` of its ``metrics``, if it is there, says how well the
model that it got does on them. An answer without ``params`` says that the client did not train.

A client's name is that of its site, which its certificate keeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.fl_constant import FLMetaKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal
from nvflare.app_common.abstract.fl_model import FLModel, ParamsType
from nvflare.app_common.utils.fl_model_utils import FLModelUtils

from ..algorithms.algorithm import Algorithm
from ..files import Damaged
from .answers import Answer
from .server import Asked, Gradient, Server

EXAMPLES, ACCURACY = FLMetaKey.NUM_STEPS_CURRENT_ROUND, "train_accuracy"
"""Names of what clients answer in ``meta`` and in ``metrics``."""

logger = getLogger(__name__)


@dataclass(frozen=True)
class _Rounds:
    """What a controller runs, and how long."""

    model: dict[str, np.ndarray]
    opened: Callable[[], Server]
    num_rounds: int
    timeout: int
    least_seconds: float
    task_name: str


class DeployedController(Controller):
    """Controller that asks whom the algorithm says, and makes the next model as it does: see ``deploy.Server``.

    A job's configuration has numbers and words only, so that a job has a subclass, whose ``__init__`` takes these and
    calls this one. The job goes on where the state in ``directory`` ends: ``num_rounds`` counts from the first round
    of all. A round in which nobody answers leaves the model as it is. What comes after a round's end is dropped and
    logged, and so is an answer that cannot be taken.

    Args:
        model: its arrays by name, before round 0.
        algorithm, clients, directory, seed, server_gradient: as of ``Server``; clients are called by their sites.
        num_rounds: how many rounds there are in all.
        timeout: whole seconds that a round waits for answers; 0: without end.
        least_seconds: how long a round takes at least, so that rounds pass while nobody is there.
        task_name: of what clients do.

    Raises:
        ValueError: the number of rounds or the timeout is not a whole number, or is below 0.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        model: Mapping[str, np.ndarray],
        clients: int | Sequence[str],
        directory: str | Path | None = None,
        num_rounds: int = 3,
        timeout: int = 3600,
        *,
        seed: int = 0,
        server_gradient: Gradient | None = None,
        least_seconds: float = 0.0,
        task_name: str = "train",
    ) -> None:
        super().__init__()
        for name, value in {"num_rounds": num_rounds, "timeout": timeout}.items():
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} = {value!r}: allowed is a whole number >= 0")
        given = {name: np.asarray(each) for name, each in model.items()}
        more: Any = {"directory": directory, "seed": seed, "server_gradient": server_gradient}

        def opened() -> Server:
            return Server(algorithm, list(given.values()), clients, **more)

        # One attribute: a job's configuration takes a subclass's parameters from the attributes of the same names.
        self._rounds = _Rounds(given, opened, num_rounds, timeout, least_seconds, task_name)
        self._server: Server | None = None
        self._sent: dict[str, int] = {}
        self._late: list[Answer] = []
        self._lock = Lock()

    def measure(self, round: int, model: dict[str, np.ndarray]) -> None:
        """Look at the model after so many rounds: nothing here; a subclass may write what it sees."""

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Open the server, with the model of the state if there is one. The job ends where that cannot be done."""
        try:
            self._server = self._rounds.opened()
        except (ValueError, Damaged) as error:
            self.system_panic(str(error), fl_ctx)

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Run the rounds that are left. A round in which the job is stopped is done once more by the next job."""
        server, until = self._server, self._rounds.num_rounds
        if server is None:
            return
        if server.round == 0:
            self.measure(0, self._model())
        while server.round < until and not abort_signal.triggered:
            begun = time.monotonic()
            task = server.begin(self._available())
            answers = self._answers(task, abort_signal, fl_ctx) if task.clients else []
            if abort_signal.triggered:
                break
            server.end([*answers, *self._those_late()])
            self.measure(server.round, self._model())
            time.sleep(max(0.0, self._rounds.least_seconds - (time.monotonic() - begun)))

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Give the directory free for another job."""
        if self._server is not None:
            self._server.close()

    def process_result_of_unknown_task(
        self, client: Any, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """Keep an answer that comes after its round's end, for the log; one to a task that was not sent is dropped."""
        with self._lock:
            round = self._sent.pop(client_task_id, None)
            if round is None:
                logger.warning("client %s: an answer to a task that was not sent", client.name)
            else:
                self._late.append(_answer(client.name, result, round, self._model()))

    def _model(self) -> dict[str, np.ndarray]:
        assert self._server is not None
        return dict(zip(self._rounds.model, self._server.model, strict=True))

    def _available(self) -> list[str]:
        """The sites of the job that are connected."""
        names = [client.name for client in self._engine.get_clients()]
        return [name for name in names if self.get_client_disconnect_time(name) is None]

    def _answers(self, asked: Asked, abort_signal: Signal, fl_ctx: FLContext) -> list[Answer]:
        """What those who are asked answer in time."""
        came: list[Answer] = []
        model = self._model()

        def sent(client_task: ClientTask, fl_ctx: FLContext) -> None:
            with self._lock:
                self._sent[client_task.id] = asked.round

        def received(client_task: ClientTask, fl_ctx: FLContext) -> None:
            with self._lock:
                self._sent.pop(client_task.id, None)
            came.append(_answer(client_task.client.name, client_task.result, asked.round, model))
            client_task.result = None

        told = FLModel(
            params=model,
            current_round=asked.round,
            total_rounds=self._rounds.num_rounds,
            meta={name: value for name, value in asked.instructions.items() if name != "round"},
        )
        task = Task(
            self._rounds.task_name,
            FLModelUtils.to_shareable(told),
            timeout=self._rounds.timeout,
            after_task_sent_cb=sent,
            result_received_cb=received,
        )
        self.broadcast_and_wait(task, fl_ctx, list(asked.clients), min_responses=0, abort_signal=abort_signal)
        return came

    def _those_late(self) -> list[Answer]:
        with self._lock:
            late, self._late = self._late, []
        return late


def _answer(name: str, result: Shareable, round: int, model: Mapping[str, np.ndarray]) -> Answer:
    """What a site's result says. What it lacks, the server names."""
    try:
        code = result.get_return_code()
        if code != ReturnCode.OK:
            return Answer(name, None, round=round, error=str(code))
        found = FLModelUtils.from_shareable(result)
        return Answer(
            client=name,
            arrays=_arrays(found, model),
            examples=(found.meta or {}).get(EXAMPLES, 0),
            round=round,
            accuracy=(found.metrics or {}).get(ACCURACY),
            error="answered no arrays",
        )
    except Exception as error:  # a content of whatever kind the client has sent
        return Answer(name, None, round=round, error=f"answered no model: {error}")


def _arrays(found: FLModel, model: Mapping[str, np.ndarray]) -> list[Any] | None:
    if not found.params:
        return None
    if not isinstance(found.params, Mapping) or set(found.params) != set(model):
        return []
    arrays = [found.params[name] for name in model]
    if found.params_type != ParamsType.DIFF:
        return arrays
    return [_sum(start, each) for start, each in zip(model.values(), arrays, strict=True)]


def _sum(start: np.ndarray, difference: Any) -> np.ndarray:
    """The array that a difference makes; what is none stays as it is, for the server to name."""
    each = np.asarray(difference)
    is_one = start.dtype.kind == "f" and each.dtype.kind in "fiu" and each.shape == start.shape
    return start + each if is_one else each
