"""Mistakes that are easily made with the Python interface: one line that names the argument and what it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import fedtheory as ft
from fedtheory import Setting, data
from fedtheory import algorithms as A
from fedtheory import federations as F
from fedtheory import participation as P
from fedtheory.simulation import Evaluation, Run

FED, FEDAVG, WHO = F.Quadratic.common_hessian(offsets=[1, -1, 3]), A.fedavg(local_lr="1/10"), P.Uniform(2)
SETTING = Setting(FED, FEDAVG, WHO, start=1)
LINEAR, THREE, DIGITS = torch.nn.Linear(64, 10), data.Uniform(clients=3), data.load("digits")
CLAIM = ft.claim("fast.thm2")


def simulated(**options: Any) -> Run:
    return SETTING.simulate(**{"replicas": 1, "rounds": 2, **options})


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a function for an algorithm": (lambda: Setting(FED, A.fedavg, WHO), "algorithm is the function fedavg"),
    "a class for a process": (lambda: Setting(FED, FEDAVG, P.Uniform), "participation is the class Uniform"),
    "a class for a federation": (lambda: Setting(F.Quadratic, FEDAVG, WHO), "federation is the class Quadratic"),
    "federation and algorithm swapped": (lambda: Setting(FEDAVG, FED, WHO), "federation is of type EveryRound"),
    "algorithm and process swapped": (lambda: Setting(FED, WHO, FEDAVG), "algorithm is of type Uniform"),
    "a name for an algorithm": (lambda: Setting(FED, "fedavg", WHO), "algorithm is 'fedavg'"),
    "a name for a process": (lambda: Setting(FED, FEDAVG, "Uniform"), "participation is 'Uniform'"),
    "a cohort for a process": (lambda: Setting(FED, FEDAVG, 2), "participation is 2"),
    "no process": (lambda: Setting(FED, FEDAVG, None), "participation is None"),
    "a cohort in text": (lambda: Setting(FED, FEDAVG, P.Uniform("2")), "cohort = '2'"),
    "a start in words": (lambda: Setting(FED, FEDAVG, WHO, start="one"), "start = 'one'"),
    "rounds in words": (lambda: simulated(rounds="ten"), "rounds = 'ten'"),
    "no rounds": (lambda: simulated(rounds=None), "rounds = None"),
    "half a replica": (lambda: simulated(replicas=2.5), "replicas = 2.5"),
    "endless rounds": (lambda: simulated(rounds=float("inf")), "rounds = inf"),
    "rounds that are no number": (lambda: simulated(rounds=float("nan")), "rounds = nan"),
    "rounds beyond int64": (lambda: simulated(rounds=2**63), "rounds = 9223372036854775808"),
    "replicas of thousands of digits": (lambda: simulated(replicas=10**5000), r"replicas = 2\^16609 or more"),
    "a seed in words": (lambda: simulated(seed="a"), "seed = 'a'"),
    "one observer's name": (lambda: simulated(observers="squared_distance"), "observers is 'squared_distance'"),
    "an observer's class": (lambda: simulated(observers=[Evaluation]), "the class Evaluation"),
    "an executor's name": (lambda: simulated(executor="processes"), "executor is 'processes'"),
    "workers for an executor": (lambda: simulated(executor=4), "executor is 4"),
    "a number for a directory": (lambda: simulated(directory=3), "directory is 3"),
    "a word for progress": (lambda: simulated(progress="yes"), "progress is 'yes'"),
    "an unknown device": (lambda: simulated(device="gpu"), "device = 'gpu'"),
    "exact rounds in words": (lambda: SETTING.exact("ten"), "rounds"),
    "a data set's name": (lambda: F.Network(LINEAR, "digits", THREE), "dataset is 'digits'"),
    "a function for a data set": (lambda: F.Network(LINEAR, data.load, THREE), "dataset is the function load"),
    "a partition's class": (lambda: F.Network(LINEAR, DIGITS, data.Uniform), "partition is the class Uniform"),
    "clients for a partition": (lambda: F.Network(LINEAR, DIGITS, 3), "partition is 3"),
    "a model's class": (lambda: F.Network(torch.nn.Linear, DIGITS, THREE), "model is the class Linear"),
    "model and data swapped": (lambda: F.Network(DIGITS, LINEAR, THREE), "model is of type Dataset"),
    "a data set's name to split": (lambda: THREE.split("digits"), "dataset is 'digits'"),
    "an unknown data set": (lambda: data.load("digit"), "digit"),
    "a row that was not observed": (lambda: simulated().rows["test_accuracy"], "test_accuracy.*data with a test part"),
    "a setting to plot": (lambda: ft.plot(SETTING), "bound is of type Setting"),
    "bound and exact swapped": (lambda: ft.plot(SETTING.exact(range(3)), CLAIM), "of type Claim cannot be drawn"),
    "a claim for its name": (lambda: ft.claim(CLAIM), "ref is of type Claim"),
    "no claim": (lambda: ft.claim(None), "ref is None"),
    "a slip in a claim's name": (lambda: ft.claim("fast.them2"), "did you mean"),
    "a word for a setting": (lambda: CLAIM.at("setting", rounds=3), "setting is 'setting'"),
    "setting and rounds swapped": (lambda: CLAIM.at(10, rounds=SETTING), "setting is 10"),
    "a slip in a quantity": (lambda: CLAIM.evaluate(smothness=1), "smoothness"),
    "claim and setting swapped": (lambda: ft.verify(SETTING, "fast.thm2"), "claim is of type Setting"),
    "a class for a setting": (lambda: ft.verify("fast.thm2", Setting), "setting is the class Setting"),
    "a setting to refute": (lambda: ft.refute(SETTING), "statement is of type Setting"),
    "a claim to referee": (lambda: ft.referee(CLAIM), "path is of type Claim"),
    "one client for a list": (lambda: P.Fixed(0), "members is 0"),
    "one offset for a list": (lambda: F.Quadratic.common_hessian(offsets=3), "offsets has shape"),
    "a step in a list": (lambda: A.fedavg(local_lr=[0.1]), "local_lr = "),
    "a step that is missing": (lambda: A.fedavg(), "local_lr"),
    "a folder for a run": (lambda: Run.load("."), "folder"),
}  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_in_one_line(mistake: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        mistake()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_rows_are_a_dict_still() -> None:
    run = simulated()
    assert isinstance(run.rows, dict) and run.rows.get("nothing") is None and "nothing" not in run.rows
    with pytest.raises(KeyError, match="did you mean 'squared_distance'"):
        run.rows["squared_distnce"]
