"""The controller for NVFlare on tasks of NVFlare's own, without processes: rounds, late answers, bad ones, restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nvflare", reason="the extra 'nvflare' is not installed")

from nvflare.apis.client import Client
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.wf_comm_server import WFCommServer
from nvflare.apis.shareable import ReturnCode, Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.app_common.abstract.fl_model import FLModel, ParamsType
from nvflare.app_common.utils.fl_model_utils import FLModelUtils

from fedtheory import algorithms
from fedtheory.deploy import Server
from fedtheory.deploy import nvflare as deployed
from fedtheory.deploy.nvflare import DeployedController
from fedtheory.participation import read_log

from .rounds_beside import (
    CLIENTS,
    NAMES,
    SEED,
    START,
    STOP,
    TABLE,
    accuracy,
    flat,
    gradient,
    served,
    shaped,
    trace,
    update,
)

Trainer = Callable[[str, FLModel], Shareable | None]


def trained(name: str, told: FLModel, **more: Any) -> Shareable:
    """What a site answers: the model plus an update that is fixed beforehand, of as many examples as its number + 1."""
    x = flat(told.params.values())
    after = dict(zip(START, shaped(x + update(int(name), told.current_round)), strict=True))
    said = {"meta": {"NUM_STEPS_CURRENT_ROUND": int(name) + 1}, "metrics": {"train_accuracy": accuracy(x)}}
    return FLModelUtils.to_shareable(FLModel(params=after, **(said | more)))


class Sites:
    """A job in this process: NVFlare's own keeper of tasks, the controller in a thread, and sites that ask for tasks.

    Args:
        there: who is connected in each round, (rounds, clients); the others are reported dead.
        answer: what a site answers to a model; ``None``: nothing. With a header "round" it is handed in after that one.
        stop: the round in which the first job is stopped, as answers come in.
    """

    def __init__(self, there: np.ndarray, answer: Trainer = trained, stop: int | None = None) -> None:
        self.there, self.answer, self.models = there, answer, list[np.ndarray]()
        self.stop, self.signal = stop, Signal()
        self.told: list[FLModel] = []
        self.panics: list[str] = []
        self.kept: list[tuple[Client, str, str, Shareable]] = []
        self.clients = [Client(name, name) for name in NAMES]

    def run(self, algorithm: Any, folder: Path | None, rounds: int, **given: Any) -> None:
        """Run a job until its controller ends."""
        sites = self

        class Own(DeployedController):
            def measure(self, round: int, model: dict[str, np.ndarray]) -> None:
                sites.models.append(flat(model.values()))

            def _available(self) -> list[str]:
                assert self._server is not None
                sites.stop_after(self._server.round - 1)
                for name, here in zip(NAMES, sites.there[self._server.round], strict=True):
                    status = SimpleNamespace(disconnect_time=None if here else 1.0)
                    keeper._dead_clients[name] = status
                return super()._available()

            def system_panic(self, reason: str, fl_ctx: FLContext) -> None:
                sites.panics.append(reason)

        controller = Own(algorithm, START, given.pop("clients", NAMES), folder, num_rounds=rounds, **given)
        keeper = WFCommServer(task_check_period=0.001)
        controller.set_communicator(keeper)
        keeper._task_check_period = 0.001
        controller._engine = keeper._engine = SimpleNamespace(
            get_clients=lambda: self.clients, new_context=lambda: FLContext()
        )
        context, ended = FLContext(), threading.Event()
        controller.start_controller(context)

        def keep() -> None:
            while not ended.is_set():
                keeper.check_tasks()
                time.sleep(0.0005)

        def control() -> None:
            try:
                controller.control_flow(self.signal, context)
            finally:
                controller.stop_controller(context)
                ended.set()

        threads = [threading.Thread(target=each, daemon=True) for each in (keep, control)]
        for one in threads:
            one.start()
        while not ended.is_set():
            for client in self.clients:
                self._serve(keeper, client)
            time.sleep(0.0005)
        for one in threads:
            one.join(timeout=10)

    def stop_after(self, round: int) -> None:
        """Stop the first job if it is in this round, or past it."""
        if self.stop is not None and round >= self.stop:
            self.signal.trigger("stop")

    def _serve(self, keeper: WFCommServer, client: Client) -> None:
        context = FLContext()
        name, known, data = keeper.process_task_request(client, context)
        if not name:
            return
        told = FLModelUtils.from_shareable(data)
        waiting = [kept for kept in self.kept if kept[3].get_header("round") < told.current_round]
        self.kept = [kept for kept in self.kept if kept not in waiting]
        for other, task, late, result in waiting:
            keeper.process_submission(other, task, late, result, context)
        self.told.append(told)
        result = self.answer(client.name, told)
        if result is not None and result.get_header("round") is None:
            keeper.process_submission(client, name, known, result, context)
            self.stop_after(told.current_round)
        elif result is not None and not any(kept[2] == known for kept in self.kept):
            self.kept.append((client, name, known, result))


def rows(folder: Path) -> list[list[str]]:
    return [line.split(",", 4) for line in (folder / "log.csv").read_text().splitlines()[1:]]


@pytest.mark.parametrize("rule", TABLE)
def test_its_rounds_are_the_servers(rule: str, tmp_path: Path) -> None:
    """To the bit, over 200 rounds with empty ones, clients who are away, and a job that is stopped in a round's middle
    and goes on as another."""
    mask = trace()
    sites = Sites(mask, stop=STOP)
    sites.run(TABLE[rule], tmp_path, len(mask), server_gradient=gradient, seed=SEED)
    assert STOP < len(sites.models) <= STOP + 2
    sites.stop, sites.signal = None, Signal()
    sites.run(TABLE[rule], tmp_path, len(mask), server_gradient=gradient, seed=SEED)
    np.testing.assert_array_equal(sites.models, served(TABLE[rule], mask))
    came = read_log(tmp_path / "log.csv", names=NAMES, until=len(mask)).mask()
    assert not (came & ~mask).any() and not sites.panics


def test_a_site_is_told_what_to_do() -> None:
    sites = Sites(np.ones((2, CLIENTS), bool))
    sites.run(algorithms.fedavg(local_lr="1/(1 + step_index)", local_steps=2), None, 2)
    first, last = sites.told[0], sites.told[-1]
    assert (first.current_round, last.current_round, last.total_rounds) == (0, 1, 2)
    assert {k: last.meta[k] for k in ("local_lr", "local_steps", "proximal")} == {
        "local_lr": [1 / 3, 1 / 4], "local_steps": 2, "proximal": 0.0,
    }  # fmt: skip
    assert first.params["w"].tolist() == START["w"].tolist() and first.params_type == ParamsType.FULL


def test_a_difference_is_added_to_what_was_sent() -> None:
    """1e-15: it is one addition more."""
    given = np.ones((5, CLIENTS), bool)

    def difference(name: str, told: FLModel) -> Shareable:
        params = dict(zip(START, shaped(update(int(name), told.current_round)), strict=True))
        return FLModelUtils.to_shareable(FLModel(params_type=ParamsType.DIFF, params=params))

    whole, parts = Sites(given), Sites(given, difference)
    for sites in (whole, parts):
        sites.run(algorithms.fedavg(local_lr=1), None, 5)
    np.testing.assert_allclose(parts.models, whole.models, rtol=0, atol=1e-15)


def test_a_difference_of_whole_numbers_is_one() -> None:
    """Such as signs."""

    def signs(name: str, told: FLModel) -> Shareable:
        params = {"w": np.ones((2, 2), np.int8), "b": np.asarray(-1)}
        return FLModelUtils.to_shareable(FLModel(params_type=ParamsType.DIFF, params=params))

    sites = Sites(np.ones((1, CLIENTS), bool), signs)
    sites.run(algorithms.fedavg(local_lr=1), None, 1)
    np.testing.assert_allclose(sites.models[1] - sites.models[0], [1, 1, 1, 1, -1], rtol=1e-14)  # a mean of seven


def _changed(**params: Any) -> Trainer:
    def answer(name: str, told: FLModel) -> Shareable:
        return FLModelUtils.to_shareable(FLModel(params={**told.params, **params}))

    return answer


def _without_model(name: str, told: FLModel) -> Shareable:
    return FLModelUtils.to_shareable(FLModel(metrics={"away": 1.0}))


def _steps(value: Any) -> Trainer:
    def answer(name: str, told: FLModel) -> Shareable:
        return FLModelUtils.to_shareable(FLModel(params=told.params, meta={"NUM_STEPS_CURRENT_ROUND": value}))

    return answer


BAD: dict[str, tuple[Trainer, str, str]] = {
    "another shape": (_changed(w=np.zeros(3)), "dropped", "array 0 is float64 (3,): allowed are numbers (2, 2)"),
    "NaN": (_changed(b=np.array(np.nan)), "dropped", "array 1 has an entry that is not finite"),
    "other arrays": (_changed(v=np.zeros(3)), "dropped", "arrays: there are 0, allowed are 2"),
    "rows of other lengths": (_changed(w=[[1.0], [1.0, 2.0]]), "dropped", "array 0 cannot be read: ValueError"),
    "numbers by name": (_changed(w={"x": 1}), "dropped", "array 0 is object ()"),
    "no model": (_without_model, "failed", "answered no arrays"),
    "a content that is none": (lambda name, told: Shareable({"x": 1}), "failed", "answered no model"),
    "an error": (lambda name, told: make_reply(ReturnCode.EXECUTION_EXCEPTION), "failed", "EXECUTION_EXCEPTION"),
    "no answer": (lambda name, told: None, "missing", ""),
    "steps above floats": (_steps(10**400), "dropped", "examples = 1000"),
    "steps that are none": (_steps("many"), "dropped", "examples = 'many': allowed is a number >= 0"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_taken_is_dropped_by_name(bad: str, tmp_path: Path) -> None:
    wrong, status, reason = BAD[bad]

    def answer(name: str, told: FLModel) -> Shareable | None:
        return wrong(name, told) if name == "1" and told.current_round == 1 else trained(name, told)

    sites = Sites(np.ones((3, CLIENTS), bool), answer)
    sites.run(algorithms.fedavg(local_lr=1), tmp_path, 3, timeout=1)
    (told,) = [row for row in rows(tmp_path) if row[:2] == ["1", "1"]]
    assert told[2] == status and reason in told[4]
    expected = np.ones((3, CLIENTS), bool)
    expected[1, 1] = False
    assert read_log(tmp_path / "log.csv").mask().tolist() == expected.tolist()
    added = [np.mean([update(i, r) for i in np.flatnonzero(expected[r])], axis=0) for r in range(3)]
    np.testing.assert_allclose(sites.models[-1], sites.models[0] + sum(added), rtol=0, atol=1e-14)


def test_a_late_answer_is_dropped_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def answer(name: str, told: FLModel) -> Shareable:
        result = trained(name, told)
        if (name, told.current_round) == ("2", 0):
            result.set_header("round", 0)  # it is handed in in the next round
        return result

    sites = Sites(np.ones((3, CLIENTS), bool), answer)
    sites.run(algorithms.fedavg(local_lr=1), tmp_path, 3, timeout=1)
    found = {(row[0], row[1]): row[2:] for row in rows(tmp_path)}
    assert found["0", "2"] == ["missing", "0", ""]
    assert found["1", "2"] == ["received", "3", "late: an answer to round 0"]
    assert "late: an answer to round 0" in caplog.text


def test_an_answer_to_a_task_that_was_not_sent_is_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it says: it may be of a job before, and so of another model."""
    controller = DeployedController(algorithms.fedavg(local_lr=1), START, NAMES)
    controller.start_controller(FLContext())
    controller.process_result_of_unknown_task(Client("0", "0"), "train", "known to nobody", Shareable(), FLContext())
    assert controller._those_late() == [] and "client 0: an answer to a task that was not sent" in caplog.text


def test_two_jobs_on_one_state_and_another_run_are_refused(tmp_path: Path) -> None:
    sites = Sites(np.ones((1, CLIENTS), bool))
    with Server(algorithms.fedavg(local_lr=1), list(START.values()), NAMES, directory=tmp_path):
        sites.run(algorithms.fedavg(local_lr=1), tmp_path, 1)
    assert len(sites.panics) == 1 and "is in use by another process or thread" in sites.panics[0]
    sites.run(algorithms.mifa(local_lr=1), tmp_path, 1)
    assert "holds another run: algorithm" in sites.panics[1] and not sites.models
    sites.run(algorithms.fedavg(local_lr=1), tmp_path, 1)
    assert len(sites.panics) == 2 and len(sites.models) == 2


@pytest.mark.parametrize("given", [{"num_rounds": 1.5}, {"timeout": -1}])
def test_other_numbers_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(given))} = .*: allowed is a whole number >= 0"):
        DeployedController(algorithms.fedavg(local_lr=1), START, NAMES, **given)


def test_an_answer_that_is_counted_for_another_round_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted relapse: a late answer that is taken for one to the present round."""
    mask = np.ones((3, CLIENTS), bool)

    def answer(name: str, told: FLModel) -> Shareable | None:
        if name == "2" and told.current_round == 1:
            return None
        result = trained(name, told)
        if (name, told.current_round) == ("2", 0):
            result.set_header("round", 0)
        return result

    def models() -> list[Any]:
        sites = Sites(mask, answer)
        sites.run(algorithms.fedavg(local_lr=1), None, 3, timeout=1)
        return np.array(sites.models).tolist()

    right, whole = models(), deployed._answer
    monkeypatch.setattr(deployed, "_answer", lambda name, result, round, model: whole(name, result, None, model))
    assert models() != right
