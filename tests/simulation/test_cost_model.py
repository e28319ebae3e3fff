"""The model of what a run costs: its fit, and what the kept figures say of it."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fedtheory.files import read_json

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("cost_model")


@pytest.mark.parametrize("hessians", ["diagonal", "dense"])
def test_costs_are_found_from_times_that_follow_them(benchmark: ModuleType, hessians: str) -> None:
    """So the sizes of the calibration tell all costs apart, and the sizes to be told are others."""
    cases = benchmark.calibration(hessians)
    features = np.array([case.features() for case in cases])
    costs = 1e-3 / features.mean(0)
    np.testing.assert_allclose(benchmark.fitted(features, features @ costs), costs, rtol=1e-6)
    assert not set(cases) & {case for name in benchmark.SIZES for case in benchmark.sweep(hessians, name)}


def test_rows_of_tiles_are_those_that_the_engine_makes(benchmark: ModuleType) -> None:
    """On average: how many pairs a client has is binomial."""
    rng = np.random.default_rng(0)
    case = benchmark.Case("dense", replicas=30, clients=40)
    counts = rng.binomial(30, 0.1, (20_000, 40))
    seen = (np.ceil(counts / benchmark.TILE) * benchmark.TILE).sum(1)
    assert abs(seen.mean() - case.rows) < 5 * seen.std() / len(seen) ** 0.5


def test_kept_times_are_told_within_a_fifth() -> None:
    kept = read_json(FOLDER / "kept" / "engine.json")
    assert [panel["across"] for panel in kept["panels"]] == ["rounds", "replicas", "clients", "dimension"]
    for panel in kept["panels"]:
        for hessians in ("diagonal", "dense"):
            seconds, told = (np.array(panel["curves"][f"{hessians}, {way}"]) for way in ("measured", "model"))
            assert (seconds[:, 0] == told[:, 0]).all()
            assert (abs(told[:, 1] / seconds[:, 1] - 1) < 0.2).all(), (panel["across"], hessians)
