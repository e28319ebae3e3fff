"""Local solvers on convex federations: as PyTorch steps, kept or not; and what knows plain SGD only says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fedtheory import Setting, algorithms
from fedtheory.federations import Quadratic
from fedtheory.neural import SGD, Adam
from fedtheory.participation import Fixed
from fedtheory.simulation import iterates

CENTRE, CURVATURE, START, LR, STEPS, ROUNDS = 3.0, 0.5, -1.0, 0.25, 3, 4
FED = Quadratic([[[CURVATURE]]], [[CENTRE]])

SOLVERS: dict[str, tuple[object, Callable[[list[Tensor]], torch.optim.Optimizer]]] = {
    "momentum": (SGD(momentum=0.9), lambda p: torch.optim.SGD(p, LR, momentum=0.9)),
    "momentum and decay": (
        SGD(momentum=0.5, weight_decay=0.1), lambda p: torch.optim.SGD(p, LR, momentum=0.5, weight_decay=0.1)),
    "Adam": (Adam(), lambda p: torch.optim.Adam(p, LR)),
    "Adam and decay": (
        Adam(beta1=0.8, epsilon=1e-3, weight_decay=0.1),
        lambda p: torch.optim.Adam(p, LR, betas=(0.8, 0.999), eps=1e-3, weight_decay=0.1)),
}  # fmt: skip


def plainly(build: Callable, keep: bool) -> list[float]:
    """One client, so that the server's model is the client's."""
    x = torch.tensor([START], dtype=torch.float64, requires_grad=True)
    path, optimiser = [START], build([x])
    for _ in range(ROUNDS):
        optimiser = optimiser if keep else build([x])
        for _ in range(STEPS):
            optimiser.zero_grad()
            (CURVATURE * (x - CENTRE).square().sum() / 2).backward()
            optimiser.step()
        path.append(float(x.detach()))
    return path


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", SOLVERS)
def test_clients_step_as_pytorch_does(name: str, keep: bool) -> None:
    solver, build = SOLVERS[name]
    solver = type(solver)(**vars(solver) | {"keep": keep})
    algorithm = algorithms.fedavg(local_lr=LR, local_steps=STEPS).trained_by(solver)
    found = iterates(Setting(FED, algorithm, Fixed([0]), START), rounds=ROUNDS)[:, 0, 0]
    torch.testing.assert_close(found, torch.tensor(plainly(build, keep)).double(), rtol=1e-5, atol=1e-6)


def test_what_is_kept_makes_a_difference() -> None:
    for name, (_, build) in SOLVERS.items():
        assert abs(plainly(build, True)[-1] - plainly(build, False)[-1]) > 1e-3, name


@pytest.mark.parametrize("build", [algorithms.fedavg, algorithms.fedau, algorithms.mifa])
def test_moments_of_other_solvers_are_refused(build: Callable) -> None:
    plain = build(local_lr="1/8")
    other = plain.trained_by(SGD(momentum=0.5))
    Setting(FED, plain, Fixed([0])).simulate(replicas=1, rounds=1)
    for ask in (lambda s: s.exact([3]), lambda s: s.fixed_point(), lambda s: s.stationary()):
        with pytest.raises(ValueError):
            ask(Setting(FED, other, Fixed([0])))
    assert not other.plain and other.quantities() == {}


def test_fast_and_safari_take_solvers_too() -> None:
    fast = algorithms.fast(cohort=1, snapshot_period=2, local_lr="1/8").trained_by(SGD(momentum=0.5))
    safari = algorithms.safari(client_round_probability="1/2", local_lr="1/8", server_lr="1/8").trained_by(
        SGD(momentum=0.5)
    )
    for algorithm in (fast, safari):
        assert {kind.local_solver for kind in algorithm.client_rounds} == {SGD(momentum=0.5)}
        assert algorithm.quantities() == {} and not algorithm.plain
        with pytest.raises(ValueError, match="moments are known of plain SGD"):
            Setting(FED, algorithm, Fixed([0])).exact([3])
