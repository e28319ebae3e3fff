"""Rounds make a device wait for nothing: what the processor asks of tensors is asked once for many rounds."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fedtheory import randomness
from fedtheory.algorithms import aggregation, fast, fedavg, fedavgm, safari
from fedtheory.algorithms.base import Algorithm
from fedtheory.federations import linear_training, listing, random_quadratic
from fedtheory.federations.quadratic import Quadratic
from fedtheory.participation import Bernoulli, Uniform, processes
from fedtheory.setting import Setting
from fedtheory.simulation import several, state

CLIENTS = 4
WAITING = {"_local_scalar_dense", "is_nonzero", "nonzero", "equal", "masked_select", "_unique2"}
METHODS = ("cpu", "numpy", "tolist", "item", "__bool__", "__int__", "__float__", "__array__")
LOCAL = {"local_lr": "1/8", "local_steps": 2}
ALGORITHMS: dict[str, Algorithm] = {
    "fedavg": fedavg(**LOCAL),
    "momentum": fedavgm(**LOCAL, momentum="1/2"),
    "fast": fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
    "safari": safari(**LOCAL, client_round_probability="1/2", server_lr="1/4"),
}
FEDERATIONS = {
    "dense": Quadratic(
        [[[2, k / 4], [k / 4, 1]] for k in range(1, 1 + CLIENTS)], [[1, 0], [0, 1], [2, 0], [0, 0]], 0.5
    ),
    "common": random_quadratic(CLIENTS, 3, seed=1, gradient_noise=0.5),
    "diagonal, Gaussian": Quadratic([[1, 2], [2, 1], [1, 1], [3, 1]], [[1, 0]] * CLIENTS, 0.5, "gaussian"),
    "common, no noise": Quadratic.common_hessian([1, -1, 2, 0]),
}


class Waits(TorchDispatchMode):
    """Counts what a device would have to be waited for: operations, boolean indices, and reading of tensors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.count = 0
        for name in METHODS:
            monkeypatch.setattr(torch.Tensor, name, self.counted(getattr(torch.Tensor, name)))

    def counted(self, method):
        def call(*given, **options):
            self.count += 1
            return method(*given, **options)

        return call

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        places = args[1] if func.__name__.startswith("index.") else ()
        masks = any(place is not None and place.dtype == torch.bool for place in places)
        self.count += masks or func.__name__.split(".")[0] in WAITING
        return func(*args, **(kwargs or {}))


def waits(setting: Setting, rounds: int) -> int:
    with pytest.MonkeyPatch.context() as patch, Waits(patch) as seen:
        for module in (
            randomness,
            processes,
            listing,
            linear_training,
            aggregation,
            several,
            state,
        ):  # as on a device, whose numbers numpy cannot reach
            patch.setattr(module, "in_memory", lambda x: False)
        setting.simulate(replicas=3, rounds=rounds, record_every=rounds)
    return seen.count


@pytest.mark.parametrize("federation", FEDERATIONS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("process", [Uniform(2), Bernoulli(["1/4", "1/2", "1/8", "1/2"])], ids=["uniform", "bernoulli"])
def test_more_rounds_wait_no_more_often(algorithm: str, federation: str, process: object) -> None:
    here = Setting(FEDERATIONS[federation], ALGORITHMS[algorithm], process)
    waits(here, 3)  # what is computed once
    assert waits(here, 3) == waits(here, 40) > 0


def test_waiting_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    with Waits(monkeypatch) as seen:
        x = torch.ones(3)
        found = [x[x > 0], float(x.sum()), bool(x.any()), x.nonzero(), x.tolist()]
    assert seen.count >= len(found)
