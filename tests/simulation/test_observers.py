"""Observers: one's own, on a federation without an optimum; their memory, their spacing, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from fedtheory import Setting, algorithms
from fedtheory.claims.evaluation import at_setting
from fedtheory.federations import Federation, Pairs, Quadratic
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.papers import claim
from fedtheory.participation import Fixed, Uniform
from fedtheory.randomness import Axis, signs, words
from fedtheory.simulation import Observer, iterates, simulate
from fedtheory.simulation.observers import Peaks, SquaredDistance, SquaredGradient, Training
from fedtheory.simulation.state import Plan, State

ROUNDING = 1e-12


class TwoLayers(Federation):
    """Scalar networks x -> b tanh(a x), one example (x_i, y_i) a client: F_i(a, b) = (b tanh(a x_i) - y_i)^2 / 2, which
    is not convex; gradients with two-point noise of level 1/10 in every coordinate."""

    dimension = 2

    def __init__(self, inputs: list[float], labels: list[float]) -> None:
        self.clients = len(inputs)
        self.inputs, self.labels = torch.tensor(inputs).double(), torch.tensor(labels).double()

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        inputs, labels = self.inputs[pairs.client].to(x), self.labels[pairs.client].to(x)
        return (x[:, 1] * torch.tanh(x[:, 0] * inputs) - labels).square() / 2

    def gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        key = words(pairs.seed, Axis.GRADIENT_NOISE, pairs.replica_id, pairs.client, pairs.round, pairs.step)
        x = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(self.loss(x, pairs).sum(), x)
        return gradient + signs(key, 2).to(gradient) / 10

    def to(self, device: object = "cpu", dtype: torch.dtype = torch.float64) -> TwoLayers:
        return self


@dataclass(frozen=True)
class Loss(Observer):
    """F(x_r), and how many clients have trained so far."""

    every: int = 1
    names = ("loss",)

    def initial(self, ids: Tensor) -> dict[str, Tensor]:
        return {"trained": torch.zeros(len(ids), dtype=torch.float64)}

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        fed = plan.federation
        pairs = Pairs.of(torch.ones(len(state.x), fed.clients, dtype=torch.bool), state.ids, 0, round)
        values = fed.loss(state.x[pairs.replica], pairs)
        return {"loss": torch.zeros(len(state.x)).double().index_add_(0, pairs.replica, values) / fed.clients}

    def after_training(self, plan: Plan, state: State, round: int, training: Training) -> None:
        assert training.gradients is None  # nobody asks for them
        state.kept["trained"] = state.kept["trained"] + (training.counts > 0).sum(1)


NET = TwoLayers([1.0, -0.5, 2.0], [0.5, -0.3, 0.8])
SETTING = Setting(NET, algorithms.fedavg(local_lr="1/4", local_steps=2), Uniform(2), start=[0.5, 0.25])
OPTIONS = {"replicas": 5, "rounds": 12, "seed": 3, "record_every": 4}


def test_a_network_runs_and_its_loss_falls() -> None:
    run = simulate(SETTING, **OPTIONS, observers=[Loss()])
    assert run.rounds.tolist() == [0, 4, 8, 12] and list(run.rows) == ["loss", "loss_sum", "loss_min", "loss_max"]
    assert (run.rows["loss"][:, -1] < run.rows["loss"][:, 0]).all()
    assert run.peaks.keys() == {"trained"} and (run.peaks["trained"] == 24).all()  # 2 clients in 12 rounds
    assert run.divergence is None and not SETTING.deterministic


def test_rounds_of_a_network_by_hand() -> None:
    """Autograd against the derivatives of b tanh(a x), one local step at a time."""
    found = iterates(SETTING, rounds=3, seed=1)[:, 0].numpy()
    counts = SETTING.participation
    plan = Plan.of(SETTING, rounds=3, seed=1, observers=[Loss()])
    state, x = counts.init(plan.keys(Axis.ARBITRARY, torch.arange(1))), np.array([0.5, 0.25])
    for r in range(3):
        drawn, state = counts.step(state, r)
        ends = []
        for i in np.flatnonzero(drawn[0].numpy()):
            y = x.copy()
            for k in range(2):
                key = words(1, Axis.GRADIENT_NOISE, torch.arange(1), torch.tensor([i]), r, k)
                hidden = np.tanh(y[0] * float(NET.inputs[i]))
                off = y[1] * hidden - float(NET.labels[i])
                slope = np.array([off * y[1] * (1 - hidden**2) * float(NET.inputs[i]), off * hidden])
                y = y - 0.25 * (slope + signs(key, 2)[0].numpy() / 10)
            ends.append(y)
        x = np.mean(ends, axis=0)
        np.testing.assert_allclose(found[r + 1], x, rtol=ROUNDING)


def test_chunks_and_checkpoints_keep_what_observers_keep(tmp_path: Path) -> None:
    whole = simulate(SETTING, **OPTIONS, observers=[Loss()])

    def stop(done: int, total: int) -> None:
        if done == 7 * 5:
            raise KeyboardInterrupt

    options = {"observers": [Loss()], "directory": tmp_path, "checkpoint_every": 3}
    with pytest.raises(KeyboardInterrupt):
        simulate(SETTING, **OPTIONS, **options, progress=stop)
    resumed = simulate(SETTING, **OPTIONS, **options)
    parts = simulate(SETTING, **OPTIONS, observers=[Loss()], chunk=2)
    for name in whole.rows:
        assert np.array_equal(whole.rows[name], resumed.rows[name])
        np.testing.assert_allclose(whole.rows[name], parts.rows[name], rtol=ROUNDING)
    assert (whole.peaks["trained"] == resumed.peaks["trained"]).all()
    with pytest.raises(ValueError, match="holds another run: observers = "):
        simulate(SETTING, **OPTIONS, **options | {"observers": [Loss(every=2)]})


class Slope(Observer):
    """The sum of the gradient's entries."""

    names = ("slope",)

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        return {"slope": state.gradient(plan.federation).sum(1).to(torch.float64)}


def test_a_gradient_is_computed_once_a_round_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three observers that want it, one after training; each round's is its own."""
    asked: list[Tensor] = []
    compute = Quadratic.global_gradient

    def counted(fed: Quadratic, x: Tensor) -> Tensor:
        asked.append(x.clone())
        return compute(fed, x)

    monkeypatch.setattr(Quadratic, "global_gradient", counted)
    fed = Quadratic([[1.0], [2.0], [4.0]], [[1], [0], [3]])
    setting = Setting(fed, FAST, Fixed([0, 2]))
    run = simulate(setting, replicas=2, rounds=5, observers=["squared_gradient", Slope(), Peaks()])
    points = iterates(setting, rounds=5, replicas=2)
    torch.testing.assert_close(torch.stack(asked), points, rtol=ROUNDING, atol=ROUNDING)
    assert np.array_equal(run.rows["slope"] ** 2, run.rows["squared_gradient"])


def test_a_spaced_observer_looks_less_often() -> None:
    options = {"replicas": 2, "rounds": 7, "seed": 1, "record_every": 1}
    every, third = (simulate(SETTING, **options, observers=[Loss(n)]).rows for n in (1, 3))
    at = [0, 3, 6, 7]
    for r in range(8):
        seen = [s for s in at if s <= r]
        assert np.array_equal(third["loss"][:, r], every["loss"][:, seen[-1]])
        before = every["loss"][:, [s for s in seen if s < seen[-1]]].sum(1)
        np.testing.assert_allclose(third["loss_sum"][:, r], before, rtol=ROUNDING)
        assert np.array_equal(third["loss_max"][:, r], every["loss"][:, seen].max(1))


def test_a_spaced_sum_is_no_average_over_rounds() -> None:
    convex = Setting(Quadratic([[1.0], [2.0]], [[1], [0]]), SETTING.algorithm, Fixed([0]))
    run = simulate(convex, replicas=2, rounds=4, observers=[SquaredGradient(every=2), SquaredDistance()])
    with pytest.raises(ValueError, match="needs squared_gradient of every round, observed here: every 2 rounds"):
        run.samples(AVERAGE_SQUARED_GRADIENT)
    alone = simulate(convex, replicas=2, rounds=4, observers=["squared_gradient"])
    with pytest.raises(ValueError, match="final_squared_distance needs squared_distance of every round"):
        alone.samples(FINAL_SQUARED_DISTANCE)


@pytest.mark.parametrize(
    ("name", "kind"), [("squared_distance", "ConvexFederation"), ("squared_gradient", "ExactFederation")]
)
def test_observers_say_which_federation_they_need(name: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^observer {name} needs an? {kind}, not TwoLayers$"):
        simulate(SETTING, **OPTIONS, observers=[name], directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()


FAST = algorithms.fast(local_lr="1/10", snapshot_period=2, cohort=2)


def test_observers_say_what_else_they_need() -> None:
    with pytest.raises(ValueError, match=r"^observer peaks needs an ExactFederation"):
        simulate(replace(SETTING, algorithm=FAST), rounds=2, observers=[Peaks()])
    with pytest.raises(ValueError, match=r"^observer snapshots: allowed with adaptive snapshots only"):
        simulate(SETTING, rounds=2, observers=["snapshots"])
    with pytest.raises(ValueError, match=r"^TwoLayers has no training accuracy"):
        simulate(SETTING, rounds=2, observers=["training_accuracy"])
    with pytest.raises(ValueError, match="loss is observed twice, allowed is once"):
        simulate(SETTING, rounds=2, observers=[Loss(), Loss(every=2)])
    with pytest.raises(ValueError, match=r"^every = 0: allowed is an integer >= 1"):
        simulate(SETTING, rounds=2, observers=[Loss(every=0)])
    with pytest.raises(ValueError, match="did you mean 'peaks'"):
        simulate(SETTING, rounds=2, observers=["peak"])


def test_a_server_without_data_refuses_its_rounds() -> None:
    server = algorithms.safari(client_round_probability=0, local_lr="1/10", server_lr="1/10")
    with pytest.raises(ValueError, match=r"^TwoLayers has no server_gradient"):
        simulate(replace(SETTING, algorithm=server), rounds=1, observers=[Loss()])


def test_claims_about_a_network_say_what_they_lack() -> None:
    setting = replace(SETTING, algorithm=FAST, participation=Fixed([0]))
    with pytest.raises(ValueError, match=r"fast\.thm2@main needs smoothness, .*: quantity \w+: TwoLayers and Fast"):
        claim("fast.thm2").at(setting, rounds=10)
    stated = {"smoothness": 2.0, "strong_convexity": 1.0, "gradient_noise": 0.2, "dissimilarity": 1.0}
    with pytest.raises(ValueError, match="quantity initial_distance: TwoLayers knows no optimum"):
        at_setting(claim("fast.thm2"), setting, 10, stated)
    assert np.isfinite(claim("fast.thm2").at(setting, rounds=10, initial_distance=1.0, **stated).value)


def test_fingerprints_of_networks_differ() -> None:
    other = TwoLayers([1.0, -0.5, 2.0], [0.5, -0.3, 0.9])
    assert SETTING.fingerprint() == replace(SETTING, start=[0.5, 0.25]).fingerprint()
    assert replace(SETTING, federation=other).fingerprint() != SETTING.fingerprint()
