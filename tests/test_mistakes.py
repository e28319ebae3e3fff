"""Mistakes that are easily made with the Python interface: one line that names the argument and what it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import fedtheory as ft
from fedtheory import Setting, data, learning, weights
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


LISTS, NUMBERS, WORDS = (None, 3, "x", len), (None, "x", [1], 1j, len), (None, 3, np.zeros(0), ["a"])
"""What is no list, no number and no word."""

KINDS: dict[Callable[..., object], dict[str, tuple[Any, tuple[Any, ...]]]] = {
    data.Dirichlet: {"clients": (3, ()), "alpha": (1.0, NUMBERS), "test": ("whole", (None, [1], len))},
    data.LabelDirichlet: {"clients": (3, ()), "alpha": (1.0, NUMBERS), "over": ("classes", WORDS)},
    data.ByQuantity: {"clients": (3, ()), "alpha": (1.0, NUMBERS)},
    data.BySize: {"clients": (3, ()), "growth": ("linear", WORDS), "rate": (1.0, NUMBERS)},
    data.ByFeatureNoise: {"clients": (3, ()), "level": (1.0, NUMBERS), "spread": ("variance", WORDS)},
    data.CoarseLabels: {"alpha": (1.0, NUMBERS), "beta": (1.0, NUMBERS)},
    data.LabelsPerClient: {"clients": (3, ()), "labels": (2, ()), "choice": ("random", WORDS)},
    data.Partition: {"train": ((np.arange(2),), (*LISTS, [None], np.zeros(0)))},
    data.Dataset: {"name": ("d", ()), "features": (np.eye(2), ("x", {}, [[1], [1, 2]], [1j])),
                   "labels": (np.arange(2), ([[1], [1, 2]],)), "classes": (2, NUMBERS)},
    data.synthetic: {"clients": (2, ()), "alpha": (1.0, NUMBERS), "beta": (1.0, NUMBERS),
                     "spread": ("deviation", WORDS)},
    data.load: {"name": ("digits", (["digits"], {}))},
    A.fedavg: {"local_lr": (1, ()), "average": ("all", WORDS)},
    A.fednova: {"local_lr": (1, ()), "local_steps": ([1, 2], LISTS)},
    A.scaffold: {"local_lr": (1, ()), "option": (2, (np.zeros(0),))},
    A.naive: {"local_lr": (1, ()), "budget": (1, ()), "groups": ([0, 1], (*LISTS, [None], ["a"], [0, 10**18]))},
    A.own: {"step": (lambda x, memory, round: (x, memory), (3, "9" * 500, int)), "memory": ({}, ("x", 3, ["a"])),
            "name": ("a", (3, ["a"]))},
    P.Fixed: {"members": ([0], (*LISTS, "9" * 500))},
    P.Bernoulli: {"probabilities": (["1/2"], (*LISTS, [[1], [1, 2]]))},
    P.DayNightGroups: {"groups": ([0], (*LISTS, [10**9])), "day": ([1.0], (*LISTS, [None])), "night": ([1.0], LISTS)},
    P.GroupChain: {"groups": ([0], LISTS), "counts": ([[1]], (*LISTS, [3])), "initial": ([1], LISTS)},
    P.Incomplete: {"process": (P.Uniform(1), ("x", P.Uniform)), "absent": ([], LISTS)},
    P.IndexBeta: {"cohort": (1, ()), "alpha": (1.0, NUMBERS), "beta": (1.0, NUMBERS)},
    P.IndexGamma: {"cohort": (1, ()), "shape": (1.0, NUMBERS), "scale": (1.0, NUMBERS), "beyond": ("last", WORDS)},
    P.Mixture: {"processes": ([P.Uniform(1)], (*LISTS, ["x"])), "probabilities": ([1], LISTS)},
    P.Multinomial: {"cohort": (1, NUMBERS), "probabilities": ([1], LISTS)},
    P.Phases: {"sets": ([[0]], LISTS), "lengths": ([1], LISTS)},
    P.PoissonGroups: {"groups": ([0], LISTS), "rates": ([1.0], (*LISTS, ["a"]))},
    P.RandomPatterns: {"mask": ([[1]], ([[1], [1, 0]],)), "pools": ([[0]], (*LISTS, [3])), "pool_of": ([0], LISTS)},
    P.Recorded: {"mask": ([[1]], ([[1], [1, 0]], 3)), "after": ("repeat", WORDS)},
    P.UniformGroups: {"groups": ([0], LISTS), "lowest": ([0], LISTS), "highest": ([1], LISTS)},
    P.Weighted: {"cohort": (1, ()), "weights": ([1.0], (*LISTS, ["a"]))},
    P.class_weights: {"classes": (2, ()), "concentration": (1.0, NUMBERS), "seed": (0, ("x", -1, 1.5))},
    P.participation_probabilities: {"class_distributions": ([[1.0]], ("x", [["a"]])),
                                    "weights": ([1.0], ("x", [[1], [1, 2]])), "mean": (0.5, NUMBERS),
                                    "floor": (0.1, NUMBERS)},
    P.history: {"process": (P.Uniform(1), (None, P.Uniform)), "clients": (2, NUMBERS), "rounds": (2, ())},
    P.estimated_marginal: {"process": (P.Uniform(1), (None, P.Uniform)), "clients": (2, NUMBERS), "round": (0, NUMBERS),
                           "confidence": (0.9, NUMBERS)},
    F.Quadratic: {"hessians": ([[1]], ([],)), "centres": ([[1]], ([],)), "noise": ("gaussian", WORDS),
                  "objective_weight": ([1], (3, []))},
    F.Logistic: {"features": ([np.ones((1, 1))], (*LISTS, [["a"]])), "labels": ([[0]], LISTS), "l2": (1.0, NUMBERS),
                 "gradient_noise": (0.0, NUMBERS)},
    F.PiecewiseLinear: {"slopes": ([1], LISTS), "breakpoints": ([], LISTS)},
    weights.weight_moments: {"participation_probability": ([0.5], ([[1], [1, 1]],)), "cutoff": (5, ()),
                             "rounds": (3, ())},
    weights.best_cutoff: {"participation_probability": ([0.5], ()), "rounds": (3, ()),
                          "candidates": ([1], (3, "x", len))},
    learning.binomial_tail: {"trials": (3, ()), "probability": ("1/2", ()), "above": (1, NUMBERS)},
}  # fmt: skip
"""Arguments that are right, and wrong ones of other kinds."""


@pytest.mark.parametrize("made", KINDS, ids=lambda made: made.__name__)
def test_an_argument_of_another_kind_is_named_in_one_line(made: Callable[..., object]) -> None:
    right = {name: value for name, (value, _) in KINDS[made].items()}
    made(**right)
    for name, (_, others) in KINDS[made].items():
        for wrong in others:
            with pytest.raises(ValueError, match=f"{name.removesuffix('s')}.*allowed") as caught:
                made(**{**right, name: wrong})
            assert "\n" not in str(caught.value) and len(str(caught.value)) < 400, (name, wrong)


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
