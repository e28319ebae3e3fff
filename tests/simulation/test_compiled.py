"""What compiled loops do in main memory is what torch does on other devices, bit for bit; local steps apart, whose
products torch may round otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedtheory.algorithms import aggregation, fast, fedau, fedavg, fedvarp
from fedtheory.federations import Quadratic
from fedtheory.federations.federation import Pairs
from fedtheory.participation import Bernoulli, Uniform
from fedtheory.setting import Setting
from fedtheory.simulation import fused_rounds, state

CLIENTS, DIMENSION = 5, 3
LOCAL = {"local_lr": "1/8", "local_steps": 2}
PROCESS = Bernoulli(["1/4", "1/2", "1/8", "1/2", "3/4"])
MODULES = {"aggregation": aggregation, "state": state}


def quadratic(curvature: float = 1.0) -> Quadratic:
    rng = np.random.default_rng(0)
    entries = curvature * rng.uniform(0.5, 1, (CLIENTS, DIMENSION))
    return Quadratic(entries, rng.standard_normal((CLIENTS, DIMENSION)), gradient_noise=0.5)


SETTINGS = {
    "some": Setting(quadratic(), fedavg(**LOCAL), PROCESS),
    "estimated": Setting(quadratic(), fedau(**LOCAL), PROCESS),
    "remembered": Setting(quadratic(), fedvarp(**LOCAL), PROCESS),
    "two kinds": Setting(quadratic(), fast(**LOCAL, cohort=2, snapshot_probability="1/3"), PROCESS),
    "drawn twice": Setting(quadratic(), fedavg(**LOCAL), Uniform(3, replacement=True)),
    "diverging": Setting(quadratic(1e9), fedavg(**LOCAL), Uniform(2)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("name", SETTINGS)
def test_runs_are_the_same(monkeypatch: pytest.MonkeyPatch, name: str, module: str, dtype: str) -> None:
    options = {"replicas": 7, "rounds": 60, "record_every": 3, "dtype": dtype, "device": "cpu"}
    here = SETTINGS[name].simulate(**options)
    asked: list[torch.Tensor] = []
    monkeypatch.setattr(MODULES[module], "in_memory", asked.append)  # None: no
    monkeypatch.setattr(fused_rounds.Several, "of", lambda plan: None)
    there = SETTINGS[name].simulate(**options)
    assert asked
    assert (here.diverged_at >= 0).any() == (name == "diverging")
    np.testing.assert_array_equal(here.diverged_at, there.diverged_at)
    for row, values in here.rows.items():
        if (name, module) == ("remembered", "aggregation"):  # the sum of updates is followed, and added up elsewhere
            np.testing.assert_allclose(values, there.rows[row], 1e-5 if dtype == "float32" else 1e-13, err_msg=row)
            continue
        np.testing.assert_array_equal(values, there.rows[row], row)


def test_nobody_and_everybody_are_listed() -> None:
    mask = torch.zeros(3, 2, 4, dtype=torch.bool)
    mask[1] = True
    first, second, third = Pairs.of_rounds(mask, torch.tensor([5, 7]), seed=0, first=9)
    assert len(first) == len(third) == 0 and first.offsets.tolist() == [0] * 5
    assert second.client.tolist() == [0, 0, 1, 1, 2, 2, 3, 3] and second.replica.tolist() == [0, 1] * 4
    assert second.replica_id.tolist() == [5, 7] * 4 and second.offsets.tolist() == [0, 2, 4, 6, 8]


def test_nan_is_never_forgotten() -> None:
    """What cannot be observed is NaN: in the least and the most from then on."""
    from fedtheory.loops.statistics import follow

    nan, inf = np.nan, np.inf
    value, least, most = np.array([nan, 1, 2, inf]), np.array([0, nan, 3, 0.0]), np.array([5, nan, 1, 0.0])
    found, finite = np.empty((3, 4)), np.array([True, True, False, True])
    follow(value, np.ones(4), np.full(4, 2.0), least, most, found, finite)
    np.testing.assert_array_equal(found, [[3, 3, 3, 3], [nan, nan, 2, 0], [nan, nan, 2, inf]])
    assert finite.tolist() == [False, True, False, False]


def test_one_number_that_is_not_finite_is_enough() -> None:
    from fedtheory.loops.statistics import find_finite

    x, found = np.ones((4, 3)), np.empty(4, dtype=bool)
    x[1, 2], x[2, 0], x[3, 1] = np.nan, -np.inf, np.finfo(float).max
    find_finite(x, found)
    assert found.tolist() == [True, False, False, True]
