"""Exact moments in special cases in which one algorithm is another, in more dimensions, part by part; and refusals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.federations import Quadratic
from fedtheory.moments.expected_errors import errors_in_floats, exact_errors, expected_models
from fedtheory.moments.linear_rounds import LARGEST, LARGEST_EXACT, LARGEST_IN_BALLS, NotClosed
from fedtheory.moments.participation_laws import chain_of
from fedtheory.moments.round_maps import local_maps, rounds_of_kind
from fedtheory.moments.stationary import fixed_point, stationary
from fedtheory.moments.trajectory import peaks, trajectory
from fedtheory.participation import (
    Bernoulli,
    Cyclic,
    Fixed,
    Incomplete,
    Markov,
    Phases,
    PoissonGroups,
    RandomPatterns,
    Recorded,
    Uniform,
    Weighted,
)
from fedtheory.setting import Setting

P = [F(1, 2), F(1, 5), F(1)]
FED = Quadratic([[1], [3], ["1/2"]], [[1], [-2], [4]], "1/2")
PLANE = Quadratic(
    [[[1, "1/2"], ["1/2", 2]], [[3, 0], [0, "1/4"]], [[1, -1], [-1, 2]]], [[1, 0], [-1, 2], ["1/2", "1/3"]], "3/2"
)
CHAINS = Markov(["1/2", "1/4", 1], ["1/4", "1/5", 1])
EVERYONE = Fixed([0, 1, 2])
STEPS = {"local_lr": "1/9"}
LOCAL = {"local_lr": "1/9", "local_steps": 3}


def on(algorithm: object, process: object, fed: Quadratic = FED, start: object = 3) -> Setting:
    return Setting(fed, algorithm, process, start)


# Special cases in which one algorithm is another.


def same(one: Setting, other: Setting) -> None:
    """Equal in Fractions, round by round and in the end."""
    rounds = range(5)
    for name in ("squared_distance", "squared_gradient"):
        mine, theirs = (getattr(exact_errors(s, rounds, exact=True), name).tolist() for s in (one, other))
        assert mine == theirs
    assert (expected_models(one, rounds, exact=True) == expected_models(other, rounds, exact=True)).all()
    mine, theirs = stationary(one, exact=True), stationary(other, exact=True)
    assert mine.squared_distance == theirs.squared_distance and (mine.covariance == theirs.covariance).all()


AVERAGE = on(algorithms.fedavg(**LOCAL), Bernoulli(P))
ALL = on(algorithms.fedavg(**LOCAL, average="all"), Bernoulli(P))
FULL = on(algorithms.fedavg(**LOCAL), EVERYONE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (on(algorithms.fedprox(**LOCAL, proximal=0), Bernoulli(P)), AVERAGE),
        (on(algorithms.fedprox(**STEPS, proximal=7), Bernoulli(P)), on(algorithms.fedavg(**STEPS), Bernoulli(P))),
        (on(algorithms.fedavgm(**LOCAL, momentum=0), Bernoulli(P)), AVERAGE),
        (on(algorithms.constant_weights(**LOCAL, aggregation_weight=[1, 1, 1]), Bernoulli(P)), ALL),
        (
            on(algorithms.known_statistics(**LOCAL), Bernoulli(P)),
            on(algorithms.constant_weights(**LOCAL, aggregation_weight=[2, 5, 1]), Bernoulli(P)),
        ),
        (on(algorithms.known_statistics(**LOCAL), Uniform(2)), on(algorithms.fedavg(**LOCAL), Uniform(2))),
        (on(algorithms.known_statistics(**LOCAL), EVERYONE), FULL),
        (on(algorithms.fedavg(**LOCAL, average="all"), EVERYONE), FULL),
        (on(algorithms.mifa(**LOCAL), EVERYONE), FULL),
        (on(algorithms.fedvarp(**LOCAL), EVERYONE), FULL),
        (on(algorithms.mifa(**LOCAL), Bernoulli([1, 1, 1])), FULL),
        (on(algorithms.afl(**LOCAL, variant="cross_device"), Bernoulli(P)), AVERAGE),
        (on(algorithms.fedavg(**LOCAL), Uniform(1)), on(algorithms.fedavg(**LOCAL), Uniform(1, replacement=True))),
        (on(algorithms.fast(**LOCAL, cohort=2, snapshot_probability=0), Bernoulli(P)), AVERAGE),
        (on(algorithms.fast(**LOCAL, cohort=2, snapshot_probability=1), Bernoulli(P)),
         on(algorithms.fedavg(**LOCAL), Uniform(2))),
        (on(algorithms.safari(**LOCAL, client_round_probability=1, server_lr=1), Bernoulli(P)), AVERAGE),
        (on(algorithms.fedavg(**LOCAL), Markov(["1/2", "1/5", 1], ["1/2", "1/5", 1])), AVERAGE),
        (on(algorithms.fedavgm(**STEPS, momentum="1/2"), Markov(["1/2", "1/5", 1], ["1/2", "1/5", 1])),
         on(algorithms.fedavgm(**STEPS, momentum="1/2"), Bernoulli(P))),
        (on(algorithms.fedavg(**LOCAL), Cyclic([1, 0, 1], 4)), on(algorithms.fedavg(**LOCAL), Fixed([0, 2]))),
        (on(algorithms.naive(**LOCAL, groups=[0, 0, 0], budget=2), EVERYONE),
         on(algorithms.fedavg(**LOCAL), Uniform(2))),
        (on(algorithms.naive(**LOCAL, groups=[0, 1, 2], budget=1, group_weight=["1/2", "1/5", "3/10"],
                             answers="independent"), EVERYONE),
         on(algorithms.fedavg(**LOCAL), Bernoulli(["1/2", "1/5", "3/10"]))),
    ],
)  # fmt: skip
def test_special_cases(one: Setting, other: Setting) -> None:
    same(one, other)


# More dimensions.


TWO_STEPS = {"local_lr": "1/9", "local_steps": 2}
IN_SPACE = {
    "average participating": (algorithms.fedavg(**TWO_STEPS), Bernoulli(P)),
    "proximal, all": (algorithms.fedprox(**TWO_STEPS, proximal=2, average="all"), Bernoulli(P)),
    "momentum": (algorithms.fedavgm(**TWO_STEPS, momentum="1/3", global_lr="1/2"), Bernoulli(P)),
    "FedVarp": (algorithms.fedvarp(**TWO_STEPS, global_lr="3/2"), Bernoulli(P)),
    "MIFA": (algorithms.mifa(**TWO_STEPS), Uniform(2, replacement=True)),
    "momentum and snapshots": (
        algorithms.fast(**TWO_STEPS, cohort=2, snapshot_probability="1/3", momentum="1/2"), Bernoulli(P)
    ),
    "snapshots in turn": (algorithms.fast(**TWO_STEPS, cohort=1, snapshot_period=3, momentum="1/4"), CHAINS),
    "server rounds, chains": (
        algorithms.safari(**TWO_STEPS, client_round_probability="1/2", server_lr="1/8"), CHAINS
    ),
    "known statistics, chains": (algorithms.known_statistics(**TWO_STEPS), CHAINS),
}  # fmt: skip


@pytest.mark.parametrize(("algorithm", "process"), IN_SPACE.values(), ids=IN_SPACE)
def test_turned_axes(algorithm: object, process: object) -> None:
    """Diagonal Hessians in turned axes: each axis is a federation on a line, with a share of the noise, and squares of
    distances add up. Lines are what the enumeration confirms."""
    curvatures = [[F(1), F(3), F(1, 2)], [F(2), F(1), F(1)], [F(1, 2), F(2), F(3)], [F(1), F(1), F(0)]]
    minimisers = [[F(1), F(-2), F(4)], [F(0), F(1), F(-1)], [F(2), F(2), F(-3)], [F(5), F(0), F(1)]]
    start, sigma = [F(3), F(-1), F(2), F(1)], F(1, 2)
    turn = np.kron(np.eye(2, dtype=int), np.array([[F(3, 5), F(-4, 5)], [F(4, 5), F(3, 5)]], dtype=object))
    hessians = [turn @ np.diag([row[i] for row in curvatures]) @ turn.T for i in range(3)]
    centres = [turn @ np.array([row[i] for row in minimisers], dtype=object) for i in range(3)]
    space = Quadratic(hessians, centres, sigma, server_noise=3 * sigma)
    rounds = [0, 1, 2, 5]
    lines = [
        Setting(Quadratic([[h] for h in hs], [[c] for c in cs], sigma / 2, server_noise=3 * sigma / 2),
                algorithm, process, x).exact(rounds)
        for hs, cs, x in zip(curvatures, minimisers, start, strict=True)
    ]  # fmt: skip
    found = Setting(space, algorithm, process, turn @ np.array(start, dtype=object)).exact(rounds)
    for name in ("squared_distance", "squared_gradient", "gradient_sum"):
        # Rounding: sums of the same size.
        np.testing.assert_allclose(getattr(found, name), sum(getattr(line, name) for line in lines), rtol=1e-11)


# Parts.


def test_local_maps_with_a_proximal_term() -> None:
    """Step by step, on the plane, from the definition; the sums of local gradients, too."""
    algorithm = algorithms.fedprox(local_lr="1/5", local_steps=3, proximal="1/2")
    found = local_maps(on(algorithm, EVERYONE, PLANE), exact=True)
    x = np.array([F(2), F(-1)], dtype=object)
    optimum = PLANE.exact_optimum
    for i, (h, c) in enumerate(zip(PLANE.exact_hessians, PLANE.exact_centres, strict=True)):
        y, total = x, 0 * x
        for _ in range(3):
            gradient = h @ (y - c)
            total = total + gradient
            y = y - F(1, 5) * (gradient + F(1, 2) * (y - x))
        lifted = np.append(x - optimum, F(1))
        assert (found.maps[i] @ lifted == np.append(y - optimum, F(1))).all()
        assert (found.gradient_sums()[i] @ lifted == total).all()
        assert (found.shares[i] == np.eye(2, dtype=int) - found.maps[i, :2, :2]).all()


@pytest.mark.parametrize("process", [Fixed([0, 2]), Phases([[0], [1]], [2, 4], cyclic=True)], ids=["set", "phases"])
def test_trajectories_with_momentum_and_a_proximal_term(process: object) -> None:
    """The run and its peaks, client by client; a snapshot of all every other round."""
    fed, eta, rho, beta = Quadratic([[1], [3], ["1/2"]], [[1], [-2], [4]]), 1 / 9, 0.5, 0.25
    algorithm = algorithms.fast(local_lr="1/9", local_steps=2, cohort=3, snapshot_period=2, momentum=beta, proximal=rho)
    x, v, models, largest = 3.0, 0.0, [], [0.0, 0.0]
    for r in range(10):
        models.append(x)
        members = process.sets[int(process.phase(np.array(r)))] if isinstance(process, Phases) else process.members
        sums, delta = [], []
        for i in range(3) if r % 2 == 0 else members:
            y, total = x, 0.0
            for _ in range(2):
                gradient = float(fed.hessians[i, 0, 0] * (y - fed.centres[i, 0]))
                total, y = total + gradient, y - eta * (gradient + rho * (y - x))
            sums.append(total)
            delta.append(y - x)
        largest[r % 2] = max(largest[r % 2], np.mean(sums) ** 2)
        v = beta * v + np.mean(delta)
        x += v
    setting = on(algorithm, process, fed)
    found = trajectory(setting, 9)
    assert found.shape == (10, 1)
    assert found[:, 0] + float(fed.exact_optimum[0]) == pytest.approx(models, rel=1e-12)
    assert list(peaks(setting, 10).values())[:2] == pytest.approx(largest, rel=1e-12)


def test_increments_keep_the_constant_and_are_zero_without_participants() -> None:
    setting = on(algorithms.mifa(**STEPS, steps_when_empty=False), Recorded.of_sets([[]], 3, "repeat"))
    (empty,) = rounds_of_kind(replace(setting, participation=Bernoulli([0, 0, 0])), setting.algorithm.kinds[0], True)
    assert not empty.mean_increment().any() and not empty.square_increment().any()
    assert exact_errors(setting, [5], exact=True).squared_distance[0] == (3 - FED.exact_optimum[0]) ** 2


def test_a_chain_has_its_stationary_law() -> None:
    for process in (CHAINS, Cyclic(["1/2", "1/3", 0], 4, "random"), Incomplete(Markov(["1/3"], ["1/3"]), [0, 2])):
        chain = chain_of(process, 3)
        assert (chain.transitions.sum(1) == 1).all() and (chain.initial @ chain.transitions == chain.initial).all()
        law = [sum(p for p, s in zip(chain.initial, chain.sets, strict=True) if i in s) for i in range(3)]
        assert law == process.stationary(3).tolist()


# Refusals.


@pytest.mark.parametrize(
    ("algorithm", "process", "message"),
    [
        (algorithms.fedadam(**STEPS, global_lr="1/10"), EVERYONE, "server = Adam: its step divides by a root"),
        (algorithms.fedau(**STEPS), Bernoulli(P), "FedAUWeights: weights estimated from participation that is drawn"),
        (
            algorithms.flics_avg(**STEPS, groups=[0, 0, 1], budget=1, counts="received"), EVERYONE,
            "selection = VarSelection: its rates follow the participation so far",
        ),
        (
            algorithms.fedamplify(**STEPS, period=2, global_lr=2), Bernoulli(["1/2"] * 3),
            "Amplified: its step differs between the rounds of a period|which does not count empty rounds",
        ),
        (
            algorithms.fedavg(**STEPS), RandomPatterns.real_random(np.eye(2), 3, "repeat"),
            "participation = RandomPatterns: its rounds depend on each other",
        ),
        (
            algorithms.naive(**STEPS, groups=[0, 0, 1], budget=1), Bernoulli(P),
            "participation = Bernoulli: allowed with a selection are",
        ),
        (algorithms.fedavg(**STEPS), Cyclic(P, 100), "participation = Cyclic of 3 clients: 10000 joint states"),
    ],
    ids=["FedAdam", "FedAU", "FLICS", "FedAmplify", "patterns", "groups", "cycle"],
)  # fmt: skip
def test_what_has_no_exact_moments(algorithm: object, process: object, message: str) -> None:
    for ask in (lambda s: s.exact([1]), lambda s: expected_models(s, [1]), fixed_point, stationary):
        with pytest.raises(ValueError, match=message):
            ask(on(algorithm, process))


def test_amplified_periods() -> None:
    """One round a period is FedAvg; a stretch by 1 is none. The rest is enumerated."""
    plain = on(algorithms.fedavg(**LOCAL), Uniform(2))
    stretched = on(algorithms.fedavg(**LOCAL, global_lr="3/2"), Uniform(2))
    for options, same_as in (({"period": 1, "global_lr": "3/2"}, stretched), ({"period": 3, "global_lr": 1}, plain)):
        setting = on(algorithms.fedamplify(**LOCAL, **options), Uniform(2))
        found, wanted = (exact_errors(s, range(8), exact=True).squared_distance for s in (setting, same_as))
        assert found.tolist() == wanted.tolist()
    setting = on(algorithms.fedamplify(**LOCAL, period=4, global_lr=2), Uniform(2))
    late = setting.exact([10**8, 10**8 + 3, 10**8 + 4]).squared_distance
    assert late[0] == pytest.approx(late[2], rel=1e-9) and late[1] != pytest.approx(late[0], rel=1e-3)
    settled = stationary(setting)
    squares = [float(m @ m + np.trace(c)) for m, c in zip(settled.means, settled.covariances, strict=True)]
    assert squares[:1] + squares[3:] == pytest.approx(late[:2], rel=1e-9)


def test_not_closed_is_a_value_error() -> None:
    assert issubclass(NotClosed, ValueError)


def test_sizes() -> None:
    """MIFA of M clients in D dimensions has a state of s = (M + 1) D + 1 numbers, and s (s + 1) / 2 second moments."""
    clients = 70
    fed = Quadratic([[1]] * clients, [[i] for i in range(clients)])
    setting = on(algorithms.mifa(**STEPS), Uniform(2), fed)
    with pytest.raises(ValueError, match=rf"a state of 72 numbers .* of {72 * 73 // 2} numbers; .* most {LARGEST}"):
        errors_in_floats(setting, [10**8])
    with pytest.raises(ValueError, match=rf"of {72 * 73 // 2} balls; allowed are at most {LARGEST_IN_BALLS}"):
        setting.exact([10**8])
    assert fixed_point(setting).bias[0] == pytest.approx(0, abs=1e-9)  # means are fewer
    half = on(algorithms.mifa(**STEPS), Uniform(2), Quadratic([[1]] * 45, [[i] for i in range(45)]))
    with pytest.raises(ValueError, match=rf"of {47 * 48 // 2} Fractions; allowed are at most {LARGEST_EXACT}"):
        exact_errors(half, [1], exact=True)


def test_a_record_ends() -> None:
    setting = on(algorithms.fedavg(**STEPS), Recorded.of_sets([[0], [1], [0, 2]], 3))
    assert np.isfinite(setting.exact([0, 3]).squared_distance).all()
    with pytest.raises(ValueError, match="round = 3: the record has the rounds 0 to 2"):
        setting.exact([4])
    ended = replace(setting, participation=Recorded.of_sets([[0], [1], [0, 2]], 3, "absent"))
    errors = ended.exact([3, 4, 10**6]).squared_distance
    np.testing.assert_allclose(errors, setting.exact([3]).squared_distance[0], rtol=1e-14)


def test_floats_only() -> None:
    for process in (PoissonGroups([0, 1, 0], [1.5, 0.5]), Weighted(2, [1, 2, 3])):
        with pytest.raises(ValueError, match="knows its inclusion probabilities in floating point only"):
            exact_errors(on(algorithms.fedavg(**STEPS), process), [1], exact=True)


@pytest.mark.parametrize("snapshots", [{"snapshot_period": 2}, {"snapshot_probability": "1/3"}])
def test_identical_clients_with_a_memory_are_the_limit_of_others(snapshots: dict) -> None:
    """Minimisers that differ by 1e-9 tell the clients apart, and move an error of order 1 by at most as much."""
    algorithm = algorithms.fast(cohort=2, local_lr="1/5", local_steps=2, **snapshots)
    found = [
        Setting(Quadratic([[1]] * 3, [[0], [apart], [0]], 1), algorithm, CHAINS, start=3).exact([1, 2, 3, 9])
        for apart in (0, F(1, 10**9))
    ]
    assert found[0].squared_distance == pytest.approx(found[1].squared_distance, rel=1e-7)
    assert found[0].squared_gradient == pytest.approx(found[1].squared_gradient, rel=1e-7)
