"""NVFlare's server: the controller of a job, and the model's accuracy after each round in ``accuracy.csv``."""

import os
from pathlib import Path

import numpy as np

from digits import task
from fedtheory.deploy.nvflare import DeployedController


class DigitsController(DeployedController):
    """Controller of so many clients and rounds, by an algorithm of ``task``, with its state in a folder."""

    def __init__(self, algorithm: str, clients: int, rounds: int, state: str) -> None:
        super().__init__(
            task.ALGORITHMS[algorithm], task.start(), task.names(clients), state, num_rounds=rounds, timeout=300
        )
        self.algorithm, self.clients, self.rounds, self.state = algorithm, clients, rounds, state

    def measure(self, round: int, model: dict[str, np.ndarray]) -> None:
        """Write the accuracy, and which process to kill."""
        folder = Path(self.state)
        (folder / "pid").write_text(str(os.getpid()))
        with (folder / "accuracy.csv").open("a") as file:
            print(round, task.accuracy(model), sep=",", file=file)
