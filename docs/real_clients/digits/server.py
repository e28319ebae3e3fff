"""Flower's server app: FedAU, and the model's accuracy after each round in ``accuracy.csv`` beside the state."""

import os
from pathlib import Path

from flwr.app import Array, ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

from fedtheory.deploy.flower import DeployedStrategy

from . import task

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the rounds that are left."""
    folder = Path(str(context.run_config["state"]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pid").write_text(str(os.getpid()))
    accuracy = folder / "accuracy.csv"

    def look(number: int, arrays: ArrayRecord) -> None:
        with accuracy.open("a") as file:
            print(number, task.accuracy({key: array.numpy() for key, array in arrays.items()}), sep=",", file=file)

    nodes, seconds = int(context.run_config["nodes"]), float(context.run_config["timeout"])
    strategy = DeployedStrategy(
        task.ALGORITHMS["fedau"],
        task.names(nodes),
        folder,
        name_key="client",
        name_seconds=seconds,
        first_nodes=nodes,
        at_once=4,  # each node that is asked starts a process, and all are on this machine
    )
    strategy.start(
        grid,
        ArrayRecord({key: Array(each) for key, each in task.start().items()}),
        num_rounds=int(context.run_config["rounds"]),
        timeout=seconds,
        evaluate_fn=look,
    )
    (folder / "done").touch()
