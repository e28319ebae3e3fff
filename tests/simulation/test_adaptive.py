"""Adaptive snapshots in the engine, against Algorithms 1 and 2 written as plain loops over one replica."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import data
from fedtheory.algorithms import fast
from fedtheory.federations import Logistic, Pairs, random_quadratic
from fedtheory.participation import Fixed, Keys, Uniform
from fedtheory.randomness import Axis, uniforms, words
from fedtheory.setting import Setting
from fedtheory.simulation import OBSERVABLES, Run
from fedtheory.simulation.run import ADAPTIVE_OBSERVABLES, row_names

CLIENTS, ROWS = 6, 25


def federation(**noise: object) -> Logistic:
    """A few handwritten digits, each client with hardly more than one of the ten."""
    digits = data.load("digits").normalised()
    order = np.argsort(digits.labels[: CLIENTS * ROWS], kind="stable").reshape(CLIENTS, ROWS)
    return Logistic([digits.features[o] for o in order], [digits.labels[o] for o in order], 0.01, classes=10, **noise)


OPTIMUM = federation().optimum.tolist()


def some_setting(adaptivity: object = 2, **changes: object) -> Setting:
    """Large steps from the optimum on one or two unlike clients a round: the accuracy goes up and down."""
    noise = {name: changes.pop(name) for name in ("gradient_noise", "noise") if name in changes}
    participation = changes.pop("participation", Uniform(1))
    algorithm = fast(**({"adaptivity": adaptivity, "cohort": 2, "local_lr": 2.0, "local_steps": 2} | changes))
    return Setting(federation(**noise), algorithm, participation, start=OPTIMUM)


SETTINGS = {
    "noiseless": some_setting(),
    "two-point noise": some_setting(gradient_noise=0.5),
    "gaussian noise, with replacement": some_setting(
        adaptivity="7", gradient_noise=0.5, noise="gaussian", replacement=True, cohort=3, local_steps=1
    ),
    "always the same clients": some_setting(adaptivity="1/2", participation=Fixed([0, 1])),
}
each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())


# The slow reference: numpy, one replica, one client, one row after the other.


def rows_of(setting: Setting, client: int) -> tuple[np.ndarray, np.ndarray]:
    span = slice(client * ROWS, (client + 1) * ROWS)
    return setting.federation._rows[span].numpy(), setting.federation._labels[span].numpy()


def plain_accuracy(setting: Setting, x: np.ndarray) -> float:
    right = 0
    for client in range(CLIENTS):
        for row, label in zip(*rows_of(setting, client), strict=True):
            right += int(np.argmax(x.reshape(10, -1) @ row) == label)
    return right / (CLIENTS * ROWS)


def plain_gradient(setting: Setting, x: np.ndarray, client: int) -> np.ndarray:
    gradient = np.zeros((10, len(x) // 10))
    for row, label in zip(*rows_of(setting, client), strict=True):
        scores = np.exp(x.reshape(10, -1) @ row)
        probabilities = scores / scores.sum()
        probabilities[label] -= 1
        gradient += np.outer(probabilities, row) / ROWS
    return gradient.ravel() + setting.federation.l2 * x


def plain_training(setting: Setting, x: np.ndarray, client: int, seed: int, replica: int, round: int) -> np.ndarray:
    fed, algorithm = setting.federation, setting.algorithm
    for step in range(algorithm.local_steps):
        gradient = plain_gradient(setting, x, client)
        if fed.gradient_noise > 0:
            ids = torch.tensor([client]), torch.tensor([0]), torch.tensor([replica]), torch.tensor([0, 1])
            gradient = gradient + fed.draw_noise(Pairs(*ids, seed, round, step))[0].numpy()
        x = x - float(algorithm.local_lr) * gradient
    return x


def plain_run(setting: Setting, rounds: int, seed: int, replica: int) -> dict[str, np.ndarray]:
    """Algorithm 2 as printed, around Algorithm 1: q_r, whether round r is a snapshot, acc_r and x_r, r = 0..rounds."""
    algorithm, ids = setting.algorithm, torch.tensor([replica])
    arbitrary = setting.participation.init(Keys(seed, Axis.ARBITRARY, ids, CLIENTS))
    x, q, delta, kept = setting.start_vector.numpy(), 0.0, 0.0, []
    for r in range(rounds + 1):
        snapshot = bool(uniforms(words(seed, Axis.SNAPSHOT, ids, r))[0] < q)
        counts, arbitrary = setting.participation.step(arbitrary, r)
        accuracy = plain_accuracy(setting, x)
        kept.append((q, snapshot, accuracy, x))
        delta = delta - accuracy
        q = min(1.0, max(0.0, q + float(algorithm.adaptivity) * delta))
        delta = accuracy
        if snapshot:
            counts, _ = algorithm.uniform.step(algorithm.uniform.init(Keys(seed, Axis.COHORT, ids, CLIENTS)), r)
        drawn = [i for i, count in enumerate(counts[0].tolist()) for _ in range(count)]
        x = np.mean([plain_training(setting, x, i, seed, replica, r) for i in drawn], axis=0)
    return dict(zip((*ADAPTIVE_OBSERVABLES, "x"), map(np.array, zip(*kept, strict=True)), strict=True))


@each_setting
def test_engine_is_algorithm_2(setting, tmp_path):
    """Step by step: probabilities, snapshots and accuracies to the last bits, iterates to 1e-10: the steps are not
    contracting, so that differences in the order of additions of 1e-16 grow, by less than 2.5 a round."""
    rounds, seed = 15, 11
    run = setting.simulate(replicas=2, rounds=rounds, seed=seed, record_every=1, directory=tmp_path, checkpoint_every=1)
    for replica in range(2):
        plain = plain_run(setting, rounds, seed, replica)
        assert np.array_equal(run.rows["snapshot"][replica], plain["snapshot"])
        for name in ("snapshot_probability", "training_accuracy"):
            np.testing.assert_allclose(run.rows[name][replica], plain[name], rtol=0, atol=1e-14, err_msg=name)
        for r in range(1, rounds + 1):
            with np.load(tmp_path / "replica-000000" / f"segment-{r:012d}.npz") as segment:
                np.testing.assert_allclose(segment["x"][replica], plain["x"][r], rtol=0, atol=1e-10)


def test_settings_cover_what_they_are_for():
    """Both kinds of round occur in each with q strictly between 0 and 1, and q reaches both ends after round 1."""
    reached = set()
    for name, setting in SETTINGS.items():
        rows = setting.simulate(replicas=3, rounds=15, seed=11, record_every=1).rows
        q, snapshot = rows["snapshot_probability"], rows["snapshot"]
        assert {0, 1} == set(snapshot[(q > 0) & (q < 1)]), name
        assert len(np.unique(rows["training_accuracy"])) > 10, name
        reached |= set(q[:, 2:].ravel())
    assert {0, 1} < reached


# What is recorded.


def test_rows():
    """The recurrence holds between the recorded rows; sums run over the rounds before."""
    setting = SETTINGS["two-point noise"]
    every = setting.simulate(replicas=4, rounds=25, seed=2, record_every=1)
    q, accuracy = every.rows["snapshot_probability"], every.rows["training_accuracy"]
    before = np.concatenate([np.zeros((4, 1)), accuracy[:, :-1]], axis=1)
    assert np.array_equal(q[:, 1:], (q + 2 * (before - accuracy)).clip(0, 1)[:, :-1]) and (q[:, 0] == 0).all()
    counts = np.cumsum(every.rows["snapshot"], axis=1)
    assert np.array_equal(every.rows["snapshot_sum"][:, 1:], counts[:, :-1]) and counts[:, -1].min() > 0
    some = setting.simulate(replicas=4, rounds=25, seed=2, record_every=7, observers=["squared_distance"])
    assert set(some.rows) == set(row_names(("squared_distance", *ADAPTIVE_OBSERVABLES)))
    for name, values in some.rows.items():
        assert np.array_equal(values, every.rows[name][:, some.rounds]), name


def test_adaptivity_zero_is_no_snapshots():
    """The same run as with a fixed probability 0."""
    options = {"replicas": 3, "rounds": 12, "seed": 4, "record_every": 1}
    never = some_setting(adaptivity=0, gradient_noise=0.5)
    without = fast(cohort=2, local_lr=2.0, local_steps=2, snapshot_probability=0)
    fixed = Setting(never.federation, without, never.participation, start=OPTIMUM)
    run, other = never.simulate(**options), fixed.simulate(**options)
    assert (run.rows["snapshot_probability_max"] == 0).all() and (run.rows["snapshot_max"] == 0).all()
    assert not set(other.rows) & set(row_names(ADAPTIVE_OBSERVABLES))
    for name, values in other.rows.items():
        assert np.array_equal(values, run.rows[name]), name


def test_run_quantities_follow_the_snapshots():
    """G_1 and G_3 of a replica are 0 as long as it has had no snapshot."""
    run = some_setting(adaptivity=0.3).simulate(replicas=12, rounds=12, seed=1, observers=[*OBSERVABLES, "peaks"])
    had = run.rows["snapshot_sum"][:, -1] > 0
    assert 0 < had.sum() < 12
    for name in ("peak_full_pseudogradient", "peak_cohort_pseudogradient"):
        assert np.array_equal(run.peaks[name] > 0, had)


# What shares a batch changes nothing, nor does a stop.


def assert_same_run(run: Run, other: Run) -> None:
    """Bit for bit."""
    assert np.array_equal(run.rounds, other.rounds) and np.array_equal(run.diverged_at, other.diverged_at)
    assert run.rows.keys() == other.rows.keys()
    assert all(np.array_equal(run.rows[name], other.rows[name]) for name in run.rows)
    assert all(np.array_equal(run.peaks[name], other.peaks[name]) for name in run.peaks)


@each_setting
@pytest.mark.parametrize("chunk", [1, 2])
def test_a_replica_alone_is_the_same_in_a_batch(setting, chunk):
    """Probabilities, snapshots and accuracies bit for bit: no score is so near to another that an iterate's last bits
    decide which is larger. The rest to 1e-10, as above."""
    options = {"replicas": 5, "rounds": 15, "seed": 3, "record_every": 1}
    together, parts = setting.simulate(**options), setting.simulate(**options, chunk=chunk)
    for name, values in together.rows.items():
        if name.startswith(ADAPTIVE_OBSERVABLES):
            assert np.array_equal(parts.rows[name], values), name
        else:
            np.testing.assert_allclose(parts.rows[name], values, rtol=1e-10, atol=1e-12, err_msg=name)
    few = setting.simulate(**(options | {"replicas": 2}))
    assert np.array_equal(few.rows["snapshot_probability"], together.rows["snapshot_probability"][:2])


def interrupted(directory: Path, setting: Setting, call: int, **options: object) -> None:
    """A run that is stopped after ``call`` rounds."""
    calls = []

    def progress(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == call:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        setting.simulate(directory=directory, progress=progress, **options)


@pytest.mark.parametrize("call", [1, 4, 5, 9, 21, 24])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_resumed_run_is_the_uninterrupted_one(tmp_path, call, dtype):
    setting = SETTINGS["two-point noise"]
    options = {"replicas": 4, "rounds": 17, "seed": 5, "record_every": 3, "chunk": 2, "dtype": dtype,
               "checkpoint_every": 4}  # fmt: skip
    interrupted(tmp_path, setting, call, **options)
    undisturbed = setting.simulate(**options)
    assert_same_run(setting.simulate(directory=tmp_path, **options), undisturbed)
    assert_same_run(setting.simulate(directory=tmp_path, **options), undisturbed)  # finished: only loaded
    assert undisturbed.rows["snapshot_probability_max"].max() > 0


def test_another_adaptivity_is_another_run(tmp_path):
    options = {"replicas": 1, "rounds": 3, "directory": tmp_path}
    some_setting(adaptivity=1).simulate(**options)
    with pytest.raises(ValueError, match="holds another run: setting = "):
        some_setting(adaptivity="11/10").simulate(**options)


def test_a_diverged_replica_has_a_probability():
    """Its scores overflow, so it classifies nothing right: q rises by what was right before, and stays a number."""
    run = some_setting(adaptivity=1, local_lr=1e100).simulate(replicas=2, rounds=12, seed=0, record_every=1)
    assert run.divergence.startswith("2 of 2 replicas diverged")
    assert (run.rows["training_accuracy"][:, -1] == 0).all()
    for name, values in run.rows.items():
        assert not np.isnan(values).any(), name
    assert np.isfinite(run.rows["snapshot_probability"]).all()


def test_a_federation_without_accuracy_is_refused_before_the_run(tmp_path):
    """Nothing is written."""
    setting = Setting(random_quadratic(3, 2), fast(adaptivity=1, cohort=2, local_lr=0.1), Fixed([0]), start=1.0)
    with pytest.raises(ValueError, match="Quadratic has no training accuracy: allowed is a federation that classifies"):
        setting.simulate(replicas=1, rounds=3, directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()
