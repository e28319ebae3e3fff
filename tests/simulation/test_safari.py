"""SAFARI in the engine: against a plain loop, draw by draw; on any chunk plan; stopped and resumed; against the exact
moments."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
import pytest
import torch

from fedtheory.algorithms import ClientRound, Safari, fast, safari
from fedtheory.federations import Logistic, Pairs, Quadratic
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.moments.round_maps import local_maps
from fedtheory.participation import Fixed, IndexBeta, Keys, Recorded, Uniform
from fedtheory.randomness import Axis, normals, signs, uniforms, words
from fedtheory.setting import Setting
from fedtheory.simulation.iterates import iterates

from .recorder import Recorder

ROUNDING = 1e-10
"""Iterates of order 1, contractions: rounding errors of 1e-16 do not build up; the margin is for the reader's ease."""

NOISES = ("two-point", "gaussian")


def some_federation(noisy: bool = True, noise: str = "two-point") -> Recorder:
    """Four clients in three dimensions, eigenvalues in [1/2, 2]; the centres make x* = 0, so that recorded noise is
    the noise to the last bit."""
    rng = np.random.default_rng(0)
    hessians = []
    for _ in range(2):
        basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        h = basis @ np.diag(rng.uniform(0.5, 2, 3)) @ basis.T
        hessians += [(h + h.T) / 2] * 2
    centres = rng.standard_normal((2, 3))
    centres = np.stack([centres[0], -centres[0], centres[1], -centres[1]])
    return Recorder(np.array(hessians), centres, 0.7 * noisy, noise, server_noise=0.4 * noisy)


def some_setting(noisy: bool = True, noise: str = "two-point", who: object = None, **algorithm: object) -> Setting:
    options = {"client_round_probability": 0.4, "local_lr": 0.1, "server_lr": 0.2} | algorithm
    return Setting(some_federation(noisy, noise), safari(**options), who or Fixed([0, 2]), start=[3.0, -2.0, 1.0])


SETTINGS = {
    "no noise": some_setting(False),
    "no noise, local steps, uniform": some_setting(False, who=Uniform(2), local_steps=3),
    "two-point": some_setting(local_steps=2),
    "gaussian, uniform": some_setting(noise="gaussian", who=Uniform(3), local_steps=2),
    "index": some_setting(who=IndexBeta(2), client_round_probability="2/3"),
    "with replacement": some_setting(who=Uniform(5, replacement=True)),
    "clients only": some_setting(client_round_probability=1, who=Uniform(2)),
    "server only": some_setting(client_round_probability=0, noise="gaussian"),
    "several server steps": some_setting(server_steps=3, local_steps=2),
    "server only, several steps": some_setting(client_round_probability=0, noise="gaussian", server_steps=2),
}
each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


# Algorithm 1 for one replica, as a plain loop.


@dataclass
class Plain:
    iterates: list[np.ndarray]
    record: dict[tuple[int, int, int, int], list[float]] = field(default_factory=dict)


def plain_safari(setting: Setting, rounds: int, seed: int, replica: int) -> Plain:
    fed, algorithm, ids = setting.federation, setting.algorithm, torch.tensor([replica])
    run = Plain([setting.start_vector.numpy().copy()])

    def noise(client: int, round: int, step: int, level: float) -> np.ndarray:
        """A client's noise; the server draws as the client after the last one."""
        number = fed.clients if client == -1 else client
        key = words(seed, Axis.GRADIENT_NOISE, torch.tensor(replica), number, round, step)
        draw = signs if fed.noise == "two-point" else normals
        drawn = draw(key, fed.dimension).double().numpy() * (level / np.sqrt(fed.dimension))
        if client >= 0 or level > 0:
            run.record[replica, client, round, step] = drawn.tolist()
        return drawn

    state = setting.participation.init(Keys(seed, Axis.ARBITRARY, ids, fed.clients))
    for r in range(rounds):
        x = run.iterates[-1]
        counts, state = setting.participation.step(state, r)
        coin = uniforms(words(seed, Axis.SNAPSHOT, torch.tensor(replica), r))
        if coin < float(algorithm.client_round_probability):
            drawn = [i for i, count in enumerate(counts[0].tolist()) for _ in range(count)]
            models = []
            for i in drawn:
                y = x.copy()
                for k in range(algorithm.local_steps):
                    g = fed.hessians[i] @ (y - fed.centres[i])
                    if fed.gradient_noise > 0:
                        g = g + noise(i, r, k, fed.gradient_noise)
                    y = y - float(algorithm.local_lr) * g
                models.append(y)
            run.iterates.append(sum(models) / len(models))
        else:
            for k in range(algorithm.server_steps):
                g = sum(h @ (x - c) for h, c in zip(fed.hessians, fed.centres, strict=True)) / fed.clients
                x = x - float(algorithm.server_lr) * (g + noise(-1, r, k, fed.server_noise))
            run.iterates.append(x)
    return run


@each_setting
def test_the_engine_is_algorithm_1(setting: Setting, tmp_path) -> None:
    """The iterates of every round, the observables, and who trained with which noise."""
    rounds, seed, fed = 15, 11, setting.federation
    engine = replace(setting, federation=some_federation(fed.gradient_noise > 0, fed.noise))
    run = engine.simulate(replicas=3, rounds=rounds, seed=seed, record_every=1, directory=tmp_path, checkpoint_every=1)
    plain = [plain_safari(setting, rounds, seed, replica) for replica in range(3)]
    for round in range(1, rounds + 1):
        with np.load(tmp_path / "replica-000000" / f"segment-{round:012d}.npz") as segment:
            wanted = np.array([p.iterates[round] for p in plain])
            np.testing.assert_allclose(segment["x"], wanted, rtol=ROUNDING, atol=ROUNDING)
    iterates = np.array([p.iterates for p in plain])
    hessian = fed.hessians.mean(0)
    for name, vectors in {"squared_distance": iterates, "squared_gradient": iterates @ hessian}.items():
        np.testing.assert_allclose(run.rows[name], (vectors**2).sum(2), rtol=ROUNDING, atol=ROUNDING)
    if fed.gradient_noise > 0:
        record = {key: drawn for p in plain for key, drawn in p.record.items()}
        assert engine.federation.record == record
        kinds = {client == -1 for _, client, _, _ in record}
        assert kinds == {0: {True}, 1: {False}}.get(setting.algorithm.client_round_probability, {True, False})


@each_setting
def test_what_shares_a_batch_changes_nothing(setting: Setting) -> None:
    fed = setting.federation
    records, finals = [], []
    for replicas, chunk in ((5, None), (5, 1), (5, 2), (2, None)):
        alone = replace(setting, federation=some_federation(fed.gradient_noise > 0, fed.noise))
        finals.append(alone.simulate(replicas=replicas, rounds=20, seed=3, record_every=5, chunk=chunk))
        records.append({key: drawn for key, drawn in alone.federation.record.items() if key[0] < 2})
    assert all(record == records[0] for record in records)
    for final in finals:
        for name, values in final.rows.items():
            np.testing.assert_allclose(values[:2], finals[0].rows[name][:2], rtol=ROUNDING, atol=ROUNDING)


class Stopped(Exception):
    pass


@each_setting
def test_stopped_and_resumed_is_not_stopped(setting: Setting, tmp_path) -> None:
    options = {"replicas": 4, "rounds": 30, "seed": 7, "record_every": 4}
    whole = setting.simulate(**options)

    def stop(done: int, _: int) -> None:
        if done >= 4 * 17:
            raise Stopped

    with pytest.raises(Stopped):
        setting.simulate(**options, directory=tmp_path, checkpoint_every=5, progress=stop)
    assert [path.stem for path in sorted(tmp_path.glob("*/segment-*"))][-1] == "segment-000000000015"
    resumed = setting.simulate(**options, directory=tmp_path, checkpoint_every=5)
    assert whole.rows.keys() == resumed.rows.keys()
    for name in whole.rows:
        assert np.array_equal(whole.rows[name], resumed.rows[name]), name


@pytest.mark.parametrize("who", [Fixed([1, 3]), IndexBeta(2)], ids=["fixed", "index"])
def test_without_server_rounds_it_is_fast_without_snapshots(who: object) -> None:
    """To the last bit."""
    options = {"replicas": 5, "rounds": 40, "seed": 2, "record_every": 3}
    mine = some_setting(client_round_probability=1, local_steps=3, who=who)
    fasts = replace(mine, algorithm=fast(snapshot_probability=0, cohort=1, local_lr=0.1, local_steps=3))
    one, other = mine.simulate(**options), fasts.simulate(**options)
    for name in one.rows:
        assert np.array_equal(one.rows[name], other.rows[name]), name


class TwoTrainings(Safari):
    """Two kinds of client round: three short steps of whoever is there, or one long step of all four clients."""

    @property
    def kinds(self) -> tuple[ClientRound, ClientRound]:
        return ClientRound(3, self.local_lr), ClientRound(1, self.server_lr, Uniform(4))


def test_kinds_of_round_can_train_differently() -> None:
    plain = some_setting(False)
    setting = replace(
        plain,
        algorithm=TwoTrainings(**{each.name: getattr(plain.algorithm, each.name) for each in fields(plain.algorithm)}),
    )
    run, fed = setting.simulate(replicas=6, rounds=9, seed=1, record_every=1), setting.federation
    for replica in range(6):
        x = setting.start_vector.numpy()
        for r in range(9):
            assert run.rows["squared_distance"][replica, r] == pytest.approx(x @ x, rel=ROUNDING)
            first = uniforms(words(1, Axis.SNAPSHOT, torch.tensor(replica), r)) < 0.4
            models = []
            for i in (0, 2) if first else range(4):
                y = x
                for _ in range(3 if first else 1):
                    y = y - (0.1 if first else 0.2) * fed.hessians[i] @ (y - fed.centres[i])
                models.append(y)
            x = np.mean(models, axis=0)
    # The exact moments, too, train each kind in its own way; a 99% interval, the seed is fixed.
    _, low, high = setting.simulate(replicas=3000, rounds=9).interval(FINAL_SQUARED_DISTANCE, confidence=0.99)
    assert low[-1] <= setting.exact([9]).squared_distance[0] <= high[-1]
    with pytest.raises(ValueError, match="allowed is one way of local training"):
        local_maps(setting)


# Noise of the server.


@pytest.mark.parametrize("noise", NOISES)
def test_the_servers_noise_has_its_variance(noise: str) -> None:
    fed = Quadratic.common_hessian([[1, 2], [-1, -2]], gradient_noise=5, noise=noise, server_noise=3)
    zero, ids = torch.zeros(20_000, 2).double(), torch.arange(20_000)
    drawn = fed.server_gradient(zero, ids, seed=1, round=4)
    if noise == "two-point":
        # Squares of 3/sqrt(2), one rounding.
        assert torch.allclose(drawn.square(), torch.tensor(4.5, dtype=torch.float64), rtol=1e-14)
    # Standard errors are 3/sqrt(4 10^4) = 0.015 of the mean and at most 4.5 sqrt(2/2e4) = 0.045 of the square.
    assert drawn.mean(0).abs().max() < 0.08 and (drawn.square().mean(0) - 4.5).abs().max() < 0.2
    assert abs(float((drawn[:, 0] * drawn[:, 1]).mean())) < 0.15
    other_round = fed.server_gradient(zero, ids, seed=1, round=5)
    assert abs(float((drawn * other_round).mean())) < 0.15
    mask = torch.ones(20_000, 2, dtype=torch.bool)
    of_clients = fed.draw_noise(Pairs.of(mask, ids, 1, 4)).view(2, 20_000, 2)
    assert (of_clients * drawn).mean(1).abs().max() < 0.25


def test_without_noise_it_is_the_gradient_of_f() -> None:
    rows = [np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[-1.0, 1.0]])]
    for fed in (some_federation(False), Logistic(rows, [np.array([0, 1]), np.array([1])], 0.1, gradient_noise=1.0)):
        x = torch.linspace(-1, 1, 2 * fed.dimension).double().view(2, -1)
        assert torch.equal(fed.server_gradient(x, torch.arange(2), 0, 0), fed.global_gradient(x))


def test_logistic_runs() -> None:
    rng = np.random.default_rng(0)
    rows, labels = list(rng.standard_normal((4, 6, 3))), [np.arange(6) % 2] * 4
    fed = Logistic(rows, labels, 0.1, gradient_noise=0.1, server_noise=0.2)
    algorithm = safari(client_round_probability=0.5, local_lr=0.1, server_lr=0.2, local_steps=2)
    run = Setting(fed, algorithm, IndexBeta(2), 1.0).simulate(replicas=3, rounds=30)
    assert run.divergence is None and (run.rows["squared_distance"][:, -1] < run.rows["squared_distance"][:, 0]).all()
    assert fed.constants()["server_noise"].value == 0.2
    assert "server_noise" not in Logistic(rows, labels, 0.1).constants()
    noiseless = Setting(Logistic(rows, labels, 0.1), algorithm, IndexBeta(2), 1.0)
    assert noiseless.quantities()["server_noise"].value == 0


@pytest.mark.parametrize("value", [-1, float("inf"), float("nan")])
def test_what_is_no_noise_of_the_server(value: float) -> None:
    with pytest.raises(ValueError, match=r"^server_noise = .*: allowed is a finite number"):
        Quadratic([[1]], [[0]], server_noise=value)
    with pytest.raises(ValueError, match=r"^server_noise = .*: allowed is a finite number"):
        Logistic([[[1.0]]] * 2, [[0], [1]], l2=1.0, server_noise=value)


# Against the exact moments.

COMPARED = {name: SETTINGS[name] for name in SETTINGS if name != "no noise"}
HORIZON, REPLICAS = 12, 4000
COMPARISONS = 2 * HORIZON * len(COMPARED)


@pytest.mark.parametrize("setting", COMPARED.values(), ids=COMPARED)
def test_simulation_agrees_with_the_exact_moments(setting: Setting) -> None:
    """99% for all comparisons together, by Bonferroni; the seed is fixed."""
    fed = setting.federation
    plain = Quadratic(fed.hessians, fed.centres, fed.gradient_noise, fed.noise, fed.server_noise)
    setting = replace(setting, federation=plain)
    run = setting.simulate(replicas=REPLICAS, rounds=HORIZON, seed=5, record_every=1)
    confidence = 1 - 0.01 / COMPARISONS
    _, low, high = run.interval(FINAL_SQUARED_DISTANCE, confidence=confidence)
    wanted = setting.exact(run.rounds).squared_distance
    assert ((low <= wanted) & (wanted <= high))[1:].all()
    _, low, high = run.interval(AVERAGE_SQUARED_GRADIENT, "r = 0..R-1", confidence)
    wanted = setting.exact(run.rounds[1:]).functional(AVERAGE_SQUARED_GRADIENT, "r = 0..R-1")
    # Before the first random outcome there is no spread: then equality up to rounding.
    slack = 1e-12 * wanted
    assert ((low - slack <= wanted) & (wanted <= high + slack)).all()


# Settings, and what is refused.


def test_the_quantities_of_a_setting() -> None:
    setting = some_setting(who=Uniform(3), local_steps=2)
    known = setting.quantities(rounds=7)
    assert "cohort" not in known and "snapshot_probability" not in known
    wanted = {"client_round_probability": 0.4, "local_lr": 0.1, "local_steps": 2, "server_lr": 0.2,
              "arbitrary_cohort": 3, "server_noise": 0.4, "gradient_noise": 0.7, "rounds": 7}  # fmt: skip
    assert {name: known[name].value for name in wanted} == wanted
    assert known["server_noise"].kind == "exact"
    assert set(setting.quantities(needed=["arbitrary_drift", "arbitrary_excess", "objective_decrease"])) == {
        "arbitrary_drift", "arbitrary_excess", "objective_decrease"
    }  # fmt: skip


def test_deterministic_is_without_coin_and_noise() -> None:
    quiet, noisy = some_setting(False, client_round_probability=1), some_setting(client_round_probability=1)
    assert quiet.deterministic and not noisy.deterministic
    assert not some_setting(False).deterministic
    assert not some_setting(False, client_round_probability=0, who=Uniform(2)).deterministic
    server = Quadratic([[1], [2]], [[1], [0]], server_noise=1)
    assert not Setting(server, quiet.algorithm, Fixed([0])).deterministic
    assert Setting(server, fast(cohort=2, local_lr=1, snapshot_period=2), Fixed([0])).deterministic


def test_fingerprints() -> None:
    def of(server_noise: float = 0.4, algorithm: object = None, **changes: object) -> str:
        fed = Quadratic([[1], [2]], [[1], [0]], server_noise=server_noise)
        options = {"client_round_probability": 0.4, "local_lr": 0.1, "server_lr": 0.2} | changes
        return Setting(fed, algorithm or safari(**options), Fixed([0]), 1).fingerprint()

    prints = [of(), of(0.5), of(client_round_probability=0.5), of(local_lr=0.2), of(server_lr=0.1), of(local_steps=2)]
    assert len(set(prints)) == len(prints) and of() == prints[0]
    # FAST never asks the server.
    fasts = fast(cohort=1, local_lr=0.1, snapshot_period=2)
    assert of(0.4, fasts) == of(0.5, fasts)


def test_what_the_engine_refuses() -> None:
    with pytest.raises(ValueError, match=r"^observer peaks: allowed with Fast only, not Safari$"):
        some_setting().simulate(replicas=1, rounds=2, observers=["peaks"])


def test_rounds_may_differ_in_size() -> None:
    """Nobody, some or all: the mean over those who are there, and x stays where nobody is."""
    process = Recorded.of_sets([[0, 2], [], [1], [0, 1, 2, 3]], clients=4)
    setting = some_setting(client_round_probability=1, noisy=False, who=process)
    fed, x = setting.federation, setting.start_vector.numpy()
    found = iterates(setting, rounds=4)[:, 0].numpy()
    for r, members in enumerate([[0, 2], [], [1], [0, 1, 2, 3]]):
        models = []
        for i in members:
            y = x
            for _ in range(setting.algorithm.local_steps):
                y = y - 0.1 * fed.hessians[i] @ (y - fed.centres[i])
            models.append(y)
        x = np.mean(models, axis=0) if members else x
        np.testing.assert_allclose(found[r + 1], x, rtol=ROUNDING)
    assert (found[2] == found[1]).all()
