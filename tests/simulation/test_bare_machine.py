"""Simulations run with nothing installed but numpy, scipy, numba and torch."""

import subprocess
import sys

BLOCKED = (
    "sympy",
    "flint",
    "cvxpy",
    "clarabel",
    "matplotlib",
    "z3",
    "pydantic",
    "typer",
    "rich",
    "pooch",
    "sklearn",
    "jinja2",
    "pandas",
)

PROGRAM = """
import sys
for name in {blocked}:
    sys.modules[name] = None
import numpy as np
import fedtheory as ft
process = ft.participation.IndexBeta(2)
algorithm = ft.algorithms.fast(snapshot_probability=0.5, cohort=2, local_lr="1/(10 + step_index)", local_steps=2)
quadratic = ft.federations.random_quadratic(4, 2, gradient_noise=0.1)
rows = np.random.default_rng(0).standard_normal((4, 6, 3))
logistic = ft.federations.Logistic(list(rows), [np.arange(6) % 2] * 4, 0.1)
for federation in (quadratic, logistic):
    run = ft.Setting(federation, algorithm, process).simulate(replicas=2, rounds=3)
    assert np.isfinite(run.rows["squared_distance"]).all()
assisted = ft.algorithms.safari(client_round_probability=0.5, local_lr=0.1, server_lr=0.1)
for federation in (quadratic, logistic):
    run = ft.Setting(federation, assisted, process).simulate(replicas=2, rounds=3)
    assert np.isfinite(run.rows["squared_distance"]).all()
for other in (
    ft.algorithms.flics_adam(groups=[0, 0, 1, 1], budget=1, local_lr=0.1, global_lr=0.1),
    ft.algorithms.fedau(local_lr=0.1),
    ft.algorithms.known_statistics(local_lr=0.1),
):
    run = ft.Setting(quadratic, other, process).simulate(replicas=2, rounds=3)
    assert np.isfinite(run.rows["squared_distance"]).all()
adaptive = ft.algorithms.fast(adaptivity=1, cohort=2, local_lr=0.1)
run = ft.Setting(logistic, adaptive, process).simulate(replicas=2, rounds=3)
assert np.isfinite(run.rows["snapshot_probability"]).all()
import torch
# torch's own vmap imports sympy, which torch asks for: the path "vmap", and the choice among paths, are not tried here
points = ft.data.Dataset("points", rows.reshape(24, 3), np.arange(24) % 2, classes=2)
parts = ft.data.Partition(tuple(np.split(np.arange(24), 4)))
network = ft.federations.Network(torch.nn.Linear(3, 2), points, parts, batch_size=2, path="grouped")
run = ft.Setting(network, adaptive, process).simulate(replicas=2, rounds=3)
assert np.isfinite(run.rows["train_loss"]).all()
print("ran")
"""


def test_simulation_needs_numpy_scipy_and_torch_only():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(blocked=BLOCKED)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "ran", done.stderr
