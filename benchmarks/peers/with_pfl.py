"""Milliseconds a round of FedAvg with pfl-research: ``python with_pfl.py CASE ROUNDS`` where that is installed."""

from __future__ import annotations

import json
import logging
import sys
import time
from itertools import pairwise

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByUser
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn
from training import LR, cases


class Model(nn.Module):
    """A network with the loss and the metrics that pfl-research asks for."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def loss(self, inputs: Tensor, targets: Tensor, eval: bool = False) -> Tensor:
        self.train(not eval)
        return nn.functional.cross_entropy(self.module(inputs), targets)

    @torch.no_grad()
    def metrics(self, inputs: Tensor, targets: Tensor, eval: bool = True) -> dict[str, Weighted]:
        loss = nn.functional.cross_entropy(self.module(inputs), targets, reduction="sum")
        return {"loss": Weighted(float(loss), len(targets))}


class Stopwatch:
    """When each round ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_train_begin(self, *, model: object) -> Metrics:
        return Metrics()

    def after_central_iteration(self, *arguments: object, **named: object) -> tuple[bool, Metrics]:
        self.ends.append(time.perf_counter())
        return False, Metrics()

    def on_train_end(self, *, model: object) -> None:
        pass


def main(name: str, rounds: int) -> None:
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(2)
    (case,) = cases([name])
    need = case.steps * case.batch  # a client's epoch is its visit
    users = {
        str(i): [case.samples.features[part[:need]], case.samples.labels[part[:need]]]
        for i, part in enumerate(case.parts)
    }
    dataset = FederatedDataset.from_slices(users, get_user_sampler("random", list(users)))
    backend = SimulatedBackend(dataset, None, postprocessors=[WeightByUser()])
    module = Model(case.module)
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    train = NNTrainHyperParams(local_learning_rate=LR, local_num_epochs=1, local_batch_size=case.batch)
    watch = Stopwatch()
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(rounds + 1, 10**9, case.cohort, 0),
        backend=backend,
        model=model,
        model_train_params=train,
        model_eval_params=NNEvalHyperParams(local_batch_size=None),
        callbacks=[watch],
    )
    times = sorted(1e3 * (b - a) for a, b in pairwise(watch.ends))
    print(json.dumps({"best_ms": times[0], "median_ms": times[len(times) // 2], "torch": torch.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
