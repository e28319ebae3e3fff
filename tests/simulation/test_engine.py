"""The batched engine against FAST's Algorithm 1 written as plain loops over one replica and its own draws."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast
from fedtheory.federations import Pairs, Quadratic
from fedtheory.participation import Fixed, IndexBeta, Keys, Uniform
from fedtheory.quantities import RUN_QUANTITIES
from fedtheory.randomness import Axis
from fedtheory.setting import Setting
from fedtheory.simulation import Run
from fedtheory.simulation.run import OBSERVABLES

from .recorder import Recorder

ROUNDING = 1e-12
"""Relative: a few dozen contracting rounds in float64, where only the order of the additions differs, lose less."""


@dataclass
class Plain:
    """One replica of a run: iterates x_0..x_R, (R + 1, D), and G_1 to G_3 by definition."""

    iterates: np.ndarray
    peaks: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    snapshots: list[bool] = field(default_factory=list)


def noise_of(setting: Setting, seed: int, replica: int, client: int, round: int, step: int) -> np.ndarray:
    """The noise of one gradient."""
    one = Pairs(
        torch.tensor([client]), torch.tensor([0]), torch.tensor([replica]), torch.tensor([0, 1]), seed, round, step
    )
    return setting.federation.draw_noise(one)[0].double().numpy()


def local_training(
    setting: Setting, x: np.ndarray, client: int, seed: int, replica: int, round: int
) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1, line 8: the model after K steps, and the sum of the exact gradients on the way."""
    fed, algorithm = setting.federation, setting.algorithm
    y, total = x.copy(), np.zeros_like(x)
    for k in range(algorithm.local_steps):
        gradient = fed.hessians[client] @ (y - fed.centres[client])
        total += gradient
        if fed.gradient_noise > 0:
            gradient = gradient + noise_of(setting, seed, replica, client, round, k)
        y = y - float(algorithm.local_lr) * gradient
    return y, total


def plain_fast(setting: Setting, rounds: int, seed: int, replica: int) -> Plain:
    """Algorithm 1, for one replica."""
    algorithm, clients = setting.algorithm, setting.federation.clients
    ids = torch.tensor([replica])
    x = setting.start_vector.numpy().copy()
    run = Plain(np.array([x]))
    arbitrary = setting.participation.init(Keys(seed, Axis.ARBITRARY, ids, clients))
    for r in range(rounds):
        counts, arbitrary = setting.participation.step(arbitrary, r)
        snapshot = bool(algorithm.is_first(Keys(seed, Axis.SNAPSHOT, ids, clients), r)[0])
        if snapshot:
            counts, _ = algorithm.uniform.step(algorithm.uniform.init(Keys(seed, Axis.COHORT, ids, clients)), r)
        drawn = [i for i, count in enumerate(counts[0].tolist()) for _ in range(count)]
        trained = [local_training(setting, x, i, seed, replica, r) for i in drawn]
        mean = sum(total for _, total in trained) / len(drawn)
        if snapshot:
            full = [local_training(setting, x, i, seed, replica, r)[1] for i in range(clients)]
            full = sum(full) / clients
            run.peaks[0] = max(run.peaks[0], float(full @ full))
            run.peaks[2] = max(run.peaks[2], float(mean @ mean))
        else:
            run.peaks[1] = max(run.peaks[1], float(mean @ mean))
        x = sum(model for model, _ in trained) / len(drawn)
        run.iterates = np.vstack([run.iterates, x])
        run.snapshots.append(snapshot)
    return run


def plain_observables(setting: Setting, iterates: np.ndarray) -> dict[str, np.ndarray]:
    """|x - x*|^2 and |grad F(x)|^2 from the definition of F."""
    fed = setting.federation
    optimum = np.linalg.solve(fed.hessians.sum(0), np.einsum("ijk,ik->j", fed.hessians, fed.centres))
    gradients = np.stack([(iterates - c) @ h for h, c in zip(fed.hessians, fed.centres, strict=True)]).mean(0)
    return {
        "squared_distance": ((iterates - optimum) ** 2).sum(1),
        "squared_gradient": (gradients**2).sum(1),
    }


def some_federation(clients: int = 4, dimension: int = 3, seed: int = 0, **noise: object) -> Quadratic:
    """Different full Hessians with eigenvalues in [1/2, 2], and centres of order 1."""
    rng = np.random.default_rng(seed)
    hessians = []
    for _ in range(clients):
        basis = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
        h = basis @ np.diag(rng.uniform(0.5, 2, dimension)) @ basis.T
        hessians.append((h + h.T) / 2)
    return Quadratic(np.array(hessians), rng.standard_normal((clients, dimension)), **noise)


def some_setting(noise: str | None, *, participation=None, **algorithm: object) -> Setting:
    fed = some_federation(**({} if noise is None else {"gradient_noise": 0.7, "noise": noise}))
    options = {"cohort": 2, "local_lr": 0.1} | algorithm
    return Setting(fed, fast(**options), participation or Fixed([0, 2]), start=[3.0, -2.0, 1.0])


SETTINGS = {
    "no noise, everybody": some_setting(None, cohort=4, snapshot_period=3),
    "two-point, period": some_setting("two-point", snapshot_period=3),
    "gaussian, period": some_setting("gaussian", snapshot_period=3, local_steps=3),
    "two-point, probability": some_setting("two-point", snapshot_probability=0.4, local_steps=3),
    "gaussian, probability, uniform": some_setting(
        "gaussian", snapshot_probability="2/5", participation=Uniform(3), cohort=1
    ),
    "with replacement": some_setting(
        "two-point", snapshot_probability=0.5, replacement=True, cohort=3, local_steps=3, participation=IndexBeta(2)
    ),
    "with replacement, more draws than clients": some_setting(
        "two-point", snapshot_period=2, replacement=True, cohort=9, participation=Uniform(2, replacement=True)
    ),
    "only snapshots": some_setting("gaussian", snapshot_period=1),
    "hardly any snapshots": some_setting("gaussian", snapshot_probability=0, participation=IndexBeta(1)),
}
each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())


def assert_close(found: object, expected: object, tolerance: float = ROUNDING) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def assert_same_run(run: Run, other: Run) -> None:
    """Bit for bit."""
    assert np.array_equal(run.rounds, other.rounds) and np.array_equal(run.diverged_at, other.diverged_at)
    assert run.rows.keys() == other.rows.keys() and run.peaks.keys() == other.peaks.keys()
    for name in run.rows:
        assert np.array_equal(run.rows[name], other.rows[name]), name
    for name in run.peaks:
        assert np.array_equal(run.peaks[name], other.peaks[name]), name


# Against plain loops.


@each_setting
def test_engine_is_algorithm_1(setting, tmp_path):
    """Observables of every round, G_1 to G_3, and the iterates themselves, as checkpoints hold them."""
    rounds, seed = 15, 11
    run = setting.simulate(
        replicas=3, rounds=rounds, seed=seed, record_every=1, observers=[*OBSERVABLES, "peaks"], directory=tmp_path,
        checkpoint_every=1,
    )  # fmt: skip
    assert run.divergence is None and run.diverged_at.tolist() == [-1, -1, -1]
    for replica in range(3):
        plain = plain_fast(setting, rounds, seed, replica)
        for name, values in plain_observables(setting, plain.iterates).items():
            assert_close(run.rows[name][replica], values)
        for name, value in zip(RUN_QUANTITIES, plain.peaks, strict=True):
            assert_close(run.peaks[name][replica], value)
        for round in range(1, rounds + 1):
            with np.load(tmp_path / "replica-000000" / f"segment-{round:012d}.npz") as segment:
                assert_close(segment["x"][replica], plain.iterates[round])


def test_settings_cover_what_they_are_for():
    """Both kinds of round occur where they should, and a client is drawn several times."""
    kinds = {name: plain_fast(s, 25, 11, 0).snapshots for name, s in SETTINGS.items()}
    assert kinds["two-point, period"] == [r % 3 == 0 for r in range(25)]
    assert all(kinds["only snapshots"]) and not any(kinds["hardly any snapshots"])
    for name in ("two-point, probability", "gaussian, probability, uniform", "with replacement"):
        assert 3 <= sum(kinds[name]) <= 22, name


@st.composite
def random_settings(draw):
    clients, dimension = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    noise = {"gradient_noise": draw(st.sampled_from([0.0, 1.0])), "noise": draw(st.sampled_from(NOISES))}
    fed = some_federation(clients, dimension, draw(st.integers(0, 1000)), **noise)
    replacement = draw(st.booleans())
    snapshots = draw(
        st.one_of(
            st.integers(1, 4).map(lambda i: {"snapshot_period": i}),
            st.floats(0, 1).map(lambda q: {"snapshot_probability": q}),
        )
    )
    algorithm = fast(
        cohort=draw(st.integers(1, clients + 2 * replacement)), local_lr=draw(st.floats(1e-3, 0.9)),
        local_steps=draw(st.integers(1, 3)), replacement=replacement, **snapshots,
    )  # fmt: skip
    count = draw(st.integers(1, clients))
    participation = draw(
        st.one_of(
            st.permutations(range(clients)).map(lambda order: Fixed(order[:count])),
            st.just(Uniform(count)),
            st.just(IndexBeta(count, alpha=1.0, beta=2.0)),
        )
    )
    return Setting(fed, algorithm, participation, start=draw(st.floats(-5, 5)))


NOISES = ("two-point", "gaussian")


@settings(deadline=None, max_examples=25)
@given(random_settings(), st.integers(0, 2**40))
def test_engine_is_algorithm_1_on_random_settings(setting, seed):
    run = setting.simulate(replicas=2, rounds=6, seed=seed, record_every=1, observers=[*OBSERVABLES, "peaks"])
    for replica in range(2):
        plain = plain_fast(setting, 6, seed, replica)
        for name, values in plain_observables(setting, plain.iterates).items():
            assert_close(run.rows[name][replica], values)
        assert_close([run.peaks[name][replica] for name in RUN_QUANTITIES], plain.peaks)


def test_g1_in_double_precision():
    """A third of three clients is no float32 number."""
    setting = Setting(some_federation(3), fast(cohort=2, local_lr=0.1, local_steps=2, snapshot_period=2), Fixed([0]), 1)
    run = setting.simulate(replicas=1, rounds=3, observers=[*OBSERVABLES, "peaks"])
    assert_close(run.peaks["peak_full_pseudogradient"][0], plain_fast(setting, 3, 0, 0).peaks[0])


def test_run_quantities_are_tracked_only_if_asked():
    run = SETTINGS["two-point, period"].simulate(replicas=2, rounds=5)
    assert run.peaks == {}


# What shares a batch changes nothing.


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("replacement", [False, True])
def test_draws_are_the_same_bits_on_every_chunk_plan(noise, replacement):
    plain = some_federation()
    records, finals = [], []
    for chunk, device_dtype in ((7, torch.float64), (1, torch.float64), (3, torch.float64), (7, torch.float32)):
        fed = Recorder(plain.hessians, plain.centres, gradient_noise=0.7, noise=noise)
        algorithm = fast(cohort=3, local_lr=0.1, local_steps=2, snapshot_probability=0.5, replacement=replacement)
        setting = Setting(fed, algorithm, IndexBeta(2, beta=2.0), start=1.0)
        finals.append(setting.simulate(replicas=7, rounds=12, seed=5, chunk=chunk, dtype=device_dtype))
        records.append(fed.record)
    assert len({round for _, _, round, _ in records[0]}) == 12
    assert all(record == records[0] for record in records[:3])
    assert records[3].keys() == records[0].keys()
    gaussian = noise == "gaussian"  # of which float32 draws its own numbers; others it rounds
    rounded = {key: np.float32(drawn).tolist() for key, drawn in records[0].items()}
    assert (records[3] == rounded) != gaussian
    # and the iterates agree to the rounding of the precision
    for final, tolerance in zip(finals[: 3 if gaussian else 4], (0, ROUNDING, ROUNDING, 1e-4), strict=False):
        for name in OBSERVABLES:
            assert_close(final.rows[name], finals[0].rows[name], tolerance)


@each_setting
@pytest.mark.parametrize("chunk", [1, 2])
def test_chunks_agree(setting, chunk):
    """``chunk=1`` says that every replica of a batch is what it is alone."""
    options = {"replicas": 5, "rounds": 12, "seed": 3, "record_every": 5, "observers": [*OBSERVABLES, "peaks"]}
    together, parts = setting.simulate(**options), setting.simulate(chunk=chunk, **options)
    for name in together.rows:
        assert_close(parts.rows[name], together.rows[name])
    for name in RUN_QUANTITIES:
        assert_close(parts.peaks[name], together.peaks[name])
    assert_same_run(setting.simulate(chunk=chunk, **options), parts)


@each_setting
def test_replicas_do_not_depend_on_how_many_there_are(setting):
    few, many = (setting.simulate(replicas=n, rounds=20, seed=3, record_every=5) for n in (2, 9))
    for name in few.rows:
        assert_close(many.rows[name][:2], few.rows[name])


def test_seeds_and_replicas_differ():
    setting = SETTINGS["gaussian, probability, uniform"]
    finals = [setting.simulate(replicas=3, rounds=5, seed=s).rows["squared_distance"][:, -1] for s in range(3)]
    assert len(np.unique(np.concatenate(finals))) == 9


@pytest.mark.parametrize("name", [name for name in SETTINGS if SETTINGS[name].federation.noise != "gaussian"])
def test_single_precision(name):
    """Where it rounds the draws of double precision: those of Gaussian noise are others. 50 rounds of contractions:
    rounding errors do not build up. Each is 6e-8 of a number of order 1; a hundred of them would be 6e-6 of the largest
    value on the way."""
    run, single = (
        SETTINGS[name].simulate(replicas=4, rounds=50, seed=1, record_every=5, dtype=dtype)
        for dtype in (torch.float64, torch.float32)
    )
    for name in OBSERVABLES:
        scale = run.rows[name + "_max"][:, -1:]
        assert (np.abs(single.rows[name] - run.rows[name]) <= 1e-5 * scale).all()
        assert single.rows[name].dtype == np.float64
    assert not np.array_equal(single.rows["squared_distance"], run.rows["squared_distance"])


def test_whole_floats_are_counts():
    setting = SETTINGS["two-point, period"]
    counts = {"replicas": 3, "rounds": 6, "record_every": 2, "chunk": 2, "pairs_at_once": 2, "keep_models": 2,
              "checkpoint_every": 2, "threads": 1}  # fmt: skip
    run, given = (setting.simulate(**each) for each in (counts, {name: float(n) for name, n in counts.items()}))
    assert given.where == run.where and np.array_equal(given.parameters(4), run.parameters(4))


# What is refused.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 0}, "replicas = 0: allowed is an integer >= 1"),
        ({"rounds": 0}, "rounds = 0: allowed is an integer >= 1"),
        ({"rounds": -3}, "rounds = -3: allowed is an integer >= 1"),
        ({"record_every": -1}, "record_every = -1: allowed is an integer >= 1"),
        ({"observers": []}, "observers = []: allowed are observers, or of the names squared_distance, "),
        ({"observers": ["squared_norm"]}, "observers = ['squared_norm']: allowed are"),
        *(
            pytest.param(
                {name: value}, f"{name} = {value}: allowed is an integer >= 1"
            )
            for name, value in [("record_every", 0), ("chunk", 0), ("chunk", -1), ("checkpoint_every", 0),
                                ("checkpoint_every", -1), ("rounds", 2.5)]
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError) as error:
        SETTINGS["two-point, period"].simulate(**({"replicas": 2, "rounds": 5} | options))
    assert message in str(error.value)


def test_observables_named_twice():
    setting, options = SETTINGS["two-point, period"], {"replicas": 1, "rounds": 5}
    twice = setting.simulate(observers=["squared_distance"] * 2, **options)
    once = setting.simulate(observers=["squared_distance"], **options)
    assert np.array_equal(twice.rows["squared_distance_sum"], once.rows["squared_distance_sum"])
