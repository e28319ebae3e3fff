"""The rule that chooses a path: a function of network, batches and device, near the fastest where measured."""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

import fedtheory
from fedtheory.neural import FlatModel, models
from fedtheory.neural.gradients import PATHS, choose_path
from fedtheory.neural.grouped import refusal
from fedtheory.neural.packed import Batches
from fedtheory.neural.paths import CPU, CUDA, kind_of, rule

BENCHMARKS = Path(fedtheory.__file__).parents[1] / "benchmarks"
WITHIN = 1.4
"""Times of a busy machine vary by a tenth; at the sizes where two paths are level either may be chosen."""


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    if not BENCHMARKS.is_dir():
        pytest.skip("not a source tree")
    spec = importlib.util.spec_from_file_location("paths_benchmark", BENCHMARKS / "paths.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_rule_is_near_the_fastest_of_what_was_measured(benchmark: ModuleType) -> None:
    kept = json.loads((BENCHMARKS / "kept" / "paths.json").read_text())
    assert kept["machine"]["threads"] == "1" and len(kept["rows"]) > 30
    slow = []
    for row in kept["rows"]:
        make, shape, _ = benchmark.CASES[row["case"]]
        model = FlatModel(make())
        chosen = rule(model, (row["batch"], *shape), row["device"])
        assert (chosen, kind_of(model), model.dimension) == (row["rule"], row["kind"], row["parameters"])
        if row["milliseconds"][chosen] > WITHIN * min(row["milliseconds"].values()):
            slow.append((row["case"], row["batch"], chosen, row["milliseconds"]))
    assert not slow
    assert {row["kind"] for row in kept["rows"]} == CPU.keys() - {"convolutions", "moving statistics"}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(
    "make",
    [
        models.multinomial_logistic, models.small_cnn, lambda: models.fast_char_lstm(20, 4, 8),
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.LogSoftmax(1)),
        lambda: nn.Sequential(nn.Conv2d(1, 2, 3, padding="same"), nn.Flatten(), nn.Linear(1568, 10)),
        lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, track_running_stats=False), nn.Flatten()),
    ],
)  # fmt: skip
def test_a_path_that_there_is_is_chosen(make, device: str) -> None:
    model = FlatModel(make())
    table = CUDA if device == "cuda" else CPU
    found = rule(model, (8, 1, 28, 28), device)
    assert kind_of(model) in table and found in PATHS
    assert found != "grouped" or refusal(model) is None
    assert not (model.statistics or model.mixes_samples) or found == "loop"


def test_no_clock_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> float:
        raise AssertionError("a clock was asked")

    monkeypatch.setattr(time, "perf_counter", never)
    model = FlatModel(models.multinomial_logistic())
    x, given = model.initial(0).expand(2, -1), Batches(torch.zeros(2, 3, 1, 28, 28), torch.zeros(2, 3).long())
    assert choose_path(model, x, given) == "grouped"
    with pytest.raises(AssertionError, match="a clock was asked"):
        choose_path(FlatModel(models.multinomial_logistic(784, 7)), x, given, way="timed")
