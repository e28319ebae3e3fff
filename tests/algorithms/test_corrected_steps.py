"""SCAFFOLD and its kin: beside plain loops, at their fixed points, in exact moments; and what a step may draw."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
import torch

from fedtheory.algorithms import Own, corrected_steps, feddyn, fedlin, fednova, own, sag, saga, scaffnew, scaffold
from fedtheory.algorithms.custom_algorithm import Outcomes
from fedtheory.federations import Logistic, Quadratic
from fedtheory.moments.custom_rounds import MOST_WAYS
from fedtheory.moments.linear_rounds import NotClosed
from fedtheory.papers import claim
from fedtheory.participation import Bernoulli, Fixed, Participation, Recorded, Uniform
from fedtheory.setting import Setting

HESSIANS = [[[1, 0], [0, 2]], [[2, 1], [1, 1]], [[4, 0], [0, 1]]]
CENTRES = [[3, 0], [-1, 1], [2, 2]]
QUIET = Quadratic(HESSIANS, CENTRES)
NOISY = Quadratic(HESSIANS, CENTRES, gradient_noise=1, server_noise=1)
EVERYONE = Fixed([0, 1, 2])
LR, K = 0.1, 3
LOCAL = {"local_lr": "1/10", "local_steps": K}

COHORTS = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]])

# Plain loops, a client after another, each from the papers' pseudocode.

H, C = torch.tensor(HESSIANS, dtype=torch.float64), torch.tensor(CENTRES, dtype=torch.float64)


def gradient(i: int, x: torch.Tensor) -> torch.Tensor:
    return H[i] @ (x - C[i])


def loop_scaffold(x: torch.Tensor, cohorts: list[list[int]], option: int) -> torch.Tensor:
    c, own = torch.zeros(2).double(), [torch.zeros(2).double() for _ in range(3)]
    for S in cohorts:
        ways, changes = [], []
        for i in S:
            y = x.clone()
            for _ in range(K):
                y = y - LR * (gradient(i, y) - own[i] + c)
            new = gradient(i, x) if option == 1 else own[i] - c + (x - y) / (K * LR)
            ways.append(y - x)
            changes.append((i, new - own[i]))
        if S:
            x = x + 1.5 * sum(ways) / len(S)
        for i, change in changes:
            own[i], c = own[i] + change, c + change / 3
    return x


def loop_fedlin(x: torch.Tensor, cohorts: list[list[int]]) -> torch.Tensor:
    for S in filter(None, cohorts):
        mean = sum(gradient(i, x) for i in S) / len(S)
        models = []
        for i in S:
            y = x.clone()
            for _ in range(K):
                y = y - LR * (gradient(i, y) - gradient(i, x) + mean)
            models.append(y)
        x = sum(models) / len(S)
    return x


def loop_feddyn(x: torch.Tensor, cohorts: list[list[int]]) -> torch.Tensor:
    alpha, h, own = 2.0, torch.zeros(2).double(), [torch.zeros(2).double() for _ in range(3)]
    for S in cohorts:
        models = []
        for i in S:
            y = x.clone()
            for _ in range(K):
                y = y - LR * (gradient(i, y) - own[i] + alpha * (y - x))
            own[i] = own[i] - alpha * (y - x)
            models.append(y)
        h = h - alpha / 3 * sum((y - x for y in models), torch.zeros(2).double())
        if S:
            x = sum(models) / len(S) - h / alpha
    return x


def loop_fednova(x: torch.Tensor, cohorts: list[list[int]]) -> torch.Tensor:
    taus = [1, 4, 2]
    for S in filter(None, cohorts):
        ways = []
        for i in S:
            y = x.clone()
            for _ in range(taus[i]):
                y = y - LR * gradient(i, y)
            ways.append((y - x) / taus[i])
        x = x + sum(taus[i] for i in S) / len(S) * sum(ways) / len(S)
    return x


def loop_latest(x: torch.Tensor, cohorts: list[list[int]], unbiased: bool) -> torch.Tensor:
    table = [torch.zeros(2).double() for _ in range(3)]
    for S in cohorts:
        new = {i: gradient(i, x) for i in S}
        mean = sum(table) / 3
        step = mean + (sum(new[i] - table[i] for i in S) / len(S) if S else 0)
        table = [new.get(i, table[i]) for i in range(3)]
        x = x - LR * (step if unbiased else sum(table) / 3)
    return x


LOOPS: dict[str, tuple[Own, Callable]] = {
    "SCAFFOLD, option 1": (scaffold(**LOCAL, global_lr="3/2", option=1), lambda x, S: loop_scaffold(x, S, 1)),
    "SCAFFOLD, option 2": (scaffold(**LOCAL, global_lr="3/2"), lambda x, S: loop_scaffold(x, S, 2)),
    "FedLin": (fedlin(**LOCAL), loop_fedlin),
    "FedDyn": (feddyn(**LOCAL, penalty=2), loop_feddyn),
    "FedNova": (fednova(local_lr="1/10", local_steps=[1, 4, 2]), loop_fednova),
    "SAG": (sag(local_lr="1/10"), lambda x, S: loop_latest(x, S, False)),
    "SAGA": (saga(local_lr="1/10"), lambda x, S: loop_latest(x, S, True)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_beside_plain_loops(name: str) -> None:
    """Eight rounds, one of them empty; 1e-12 is their rounding."""
    algorithm, loop = LOOPS[name]
    setting = Setting(QUIET, algorithm, Recorded(COHORTS), start=[5, -4])
    found = setting.simulate(replicas=1, rounds=8).parameters()[0]
    wanted = loop(torch.tensor([5.0, -4.0]).double(), [np.flatnonzero(row).tolist() for row in COHORTS])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    exact = setting.exact([8], exact=True).squared_distance[0]
    off = wanted - torch.tensor(QUIET.exact_optimum.astype(float))
    assert float(exact) == pytest.approx(float(off @ off), rel=1e-12)


def test_scaffnew_beside_a_plain_loop() -> None:
    """The law of the meetings, enumerated over three rounds; a run is one of the eight, and 400 runs have each."""
    setting = Setting(QUIET, scaffnew(local_lr="1/10", communication_probability="3/10"), EVERYONE, start=[5, 1])
    total, ends = F(0), []
    for way in range(8):
        meets, chance = [bool(way >> k & 1) for k in range(3)], F(1)
        x, h = [[F(5), F(1)] for _ in range(3)], [[F(0), F(0)] for _ in range(3)]
        for meet in meets:
            chance *= F(3, 10) if meet else F(7, 10)
            y = []
            for i in range(3):
                g = [sum(HESSIANS[i][a][b] * (x[i][b] - CENTRES[i][b]) for b in range(2)) for a in range(2)]
                y.append([x[i][a] - F(1, 10) * (g[a] - h[i][a]) for a in range(2)])
            mean = [sum(y[i][a] for i in range(3)) / 3 for a in range(2)]
            for i in range(3):
                x[i] = mean if meet else y[i]
                h[i] = [h[i][a] + F(3, 10) * 10 * (x[i][a] - y[i][a]) for a in range(2)]
        final = [sum(x[i][a] for i in range(3)) / 3 - QUIET.exact_optimum[a] for a in range(2)]
        ends.append(sum(v * v for v in final))
        total += chance * ends[-1]
    assert setting.exact([3], exact=True).squared_distance.tolist() == [total]
    runs = setting.simulate(replicas=400, rounds=3).rows["squared_distance"][:, 3]
    apart = np.abs(runs[:, None] - np.array(ends, dtype=float)) < 1e-12 * runs[:, None]
    assert apart.any(1).all() and apart.any(0).all()


SETTLED: dict[str, tuple[Own, Participation]] = {
    "SCAFFOLD, option 1": (scaffold(**LOCAL, option=1), Uniform(2)),
    "SCAFFOLD, option 2": (scaffold(**LOCAL), Uniform(2)),
    "FedLin": (fedlin(**LOCAL), EVERYONE),
    "Scaffnew": (scaffnew(local_lr="1/10", communication_probability="1/3"), EVERYONE),
    "FedDyn": (feddyn(**LOCAL, penalty=1), Uniform(2)),
    "SAG": (sag(local_lr="1/20"), Uniform(1)),
    "SAGA": (saga(local_lr="1/10"), Uniform(1)),
}


@pytest.mark.parametrize("name", SETTLED)
def test_fixed_points_and_moments(name: str) -> None:
    """x* exactly without noise; and with it, exact moments are within five standard errors of 20,000 runs."""
    algorithm, process = SETTLED[name]
    assert Setting(QUIET, algorithm, process).fixed_point(exact=True).bias.tolist() == [0, 0]
    setting = Setting(NOISY, algorithm, process, start=[5, -4])
    runs = setting.simulate(replicas=20_000, rounds=3).rows["squared_distance"]
    away = np.abs(runs.mean(0) - setting.exact(range(4)).squared_distance)
    assert (away[1:] < 5 * runs.std(0)[1:] / math.sqrt(20_000)).all()


def test_fednova_tends_to_the_optimum() -> None:
    biases = []
    for lr in ("1/100", "1/1000", "1/10000"):
        setting = Setting(QUIET, fednova(local_lr=lr, local_steps=[1, 4, 2]), EVERYONE)
        biases.append(math.sqrt(float(setting.fixed_point(exact=True).squared_distance)))
    assert biases[1] < biases[0] / 8 and biases[2] < biases[1] / 9  # linear in the step


@pytest.mark.parametrize(
    ("old", "new"),
    [("- mine + mean)", "- mine)"), ("mine - mean - way", "mine - way"), ("(renewed - mine)", "renewed")],
    ids=["c forgotten", "c forgotten in the renewal", "renewed twice"],
)
def test_slips_in_scaffold_are_seen(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getsource(corrected_steps._scaffold)
    assert old in text
    made: dict = {}
    exec(text.replace(old, new), made)
    numbers = {"local_lr": "1/10", "local_steps": K, "global_lr": "3/2", "option": 2}
    slip = own(made["_scaffold"], memory={"controls": "clients"}, name="slip", **numbers)
    name = "SCAFFOLD, option 2"
    loop = LOOPS[name][1]
    monkeypatch.setitem(LOOPS, name, (slip, loop))
    with pytest.raises(AssertionError):
        test_beside_plain_loops(name)


# What a step may draw.


def drawing(x, memory, round, *, local_lr, size, chance):
    g = round.gradient(x)
    coin, each, order = round.draw(chance), round.draw(chance, clients=True), round.permutation(3)
    x = x - local_lr * coin * ((order[0] + 2 * order[1]) * g).sum(1) - local_lr * (round.share * each * g).sum(1)
    x = x + round.noise(size) + (round.share * round.noise(size, clients=True)).sum(1)
    half = x - local_lr * round.server_gradient(x) + local_lr * (round.share * round.proximal(x, 2)).sum(1)
    return half - local_lr * round.server_gradient(half), {}


@pytest.mark.parametrize("process", [Uniform(2), Bernoulli(["1/2", "1/3", "1"]), EVERYONE], ids=repr)
def test_all_that_is_drawn(process: Participation) -> None:
    """Every draw of the language in one step; five standard errors of 20,000 runs."""
    algorithm = own(drawing, local_lr="1/16", size="1/2", chance="1/3")
    setting = Setting(NOISY, algorithm, process, start=[5, -4])
    runs = setting.simulate(replicas=20_000, rounds=3, seed=4).rows["squared_distance"]
    away = np.abs(runs.mean(0) - setting.exact(range(4)).squared_distance)
    assert (away[1:] < 5 * runs.std(0)[1:] / math.sqrt(20_000)).all()


def test_draws_by_hand() -> None:
    """x loses half of itself with probability 1/3, and a third of it otherwise: E x^2 = (1/3 1/4 + 2/3 4/9) x_0^2."""

    def step(x, memory, round, *, chance, rest):
        return x * (rest - round.draw(chance) / 6), {}

    fed = Quadratic([[1]], [[0]])
    setting = Setting(fed, own(step, chance="1/3", rest="2/3"), Fixed([0]), start=6)
    assert setting.exact([1], exact=True).squared_distance.tolist() == [36 * (F(1, 12) + F(8, 27))]
    runs = setting.simulate(replicas=30_000, rounds=1).rows["squared_distance"][:, 1]
    assert sorted({round(float(each), 6) for each in runs}) == [9.0, 16.0]
    assert float((runs < 10).mean()) == pytest.approx(1 / 3, abs=5 * math.sqrt(2 / 9 / 30_000))


def test_cohorts_with_replacement_are_counted() -> None:
    for clients, size in product(range(1, 4), repeat=2):
        drawn = [tuple(asked.count(i) for i in range(clients)) for asked in product(range(clients), repeat=size)]
        found, way = {}, Outcomes()
        while way is not None:
            counts = way.cohort(clients, size, True)
            assert counts not in found
            found[counts], number, way = way.probability, way.number, way.next()
        assert found == {counts: F(drawn.count(counts), clients**size) for counts in drawn} and len(found) == number


def test_orders_are_uniform_and_fresh() -> None:
    def step(x, memory, round, *, weights):
        first, second = round.permutation(4), round.permutation(4)
        values = round.each(weights)
        one = sum(10**k * (place * values).sum(1) for k, place in enumerate(first))
        return x * 0 + one + 10_000 * (second[0] * values).sum(1), {}

    fed = Quadratic([[1]] * 4, [[0]] * 4)
    setting = Setting(fed, own(step, weights=[1, 2, 3, 4]), Fixed([0, 1, 2, 3]))
    values = np.rint(setting.simulate(replicas=24_000, rounds=1).parameters()[:, 0]).astype(int)
    orders, counts = np.unique(values % 10_000, return_counts=True)
    assert len(orders) == 24 and (np.abs(counts - 1000) < 5 * math.sqrt(1000)).all()
    assert len(np.unique(values)) == 96  # the second draw is another one
    mean = float(setting.exact([1], exact=True).squared_distance[0])
    assert mean == pytest.approx(float((values.astype(float) ** 2).mean()), rel=0.02)


def test_a_run_that_goes_on_draws_the_same(tmp_path) -> None:
    setting = Setting(NOISY, own(drawing, local_lr="1/16", size="1/2", chance="1/3"), Uniform(2), start=[5, -4])
    whole = setting.simulate(replicas=50, rounds=8, seed=3)
    longer = setting.simulate(start=setting.simulate(replicas=50, rounds=3, seed=3), rounds=8)
    few = setting.simulate(replicas=7, rounds=8, seed=3)
    assert (whole.rows["squared_distance"] == longer.rows["squared_distance"]).all()
    assert (whole.rows["squared_distance"][:7] == few.rows["squared_distance"]).all()


def test_small_steps_round_and_are_not_refused() -> None:
    for lr in ("1/1000000", "1/1000000000"):
        setting = Setting(QUIET, scaffold(local_lr=lr, local_steps=2), Uniform(1))
        assert setting.fixed_point(exact=True).bias.tolist() == [0, 0]

    def looks(x, memory, round, *, local_lr):
        way = round.gradient(x) if isinstance(x, torch.Tensor) else round.gradient(x) * (1 + F(1, 10**6))
        return x - local_lr * (round.share * way).sum(1), {}

    with pytest.raises(ValueError, match="on tensors step does something else than on exact forms"):
        Setting(QUIET, own(looks, local_lr="1/10"), Uniform(1)).exact([1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda round, x: round.draw(2), "probability = .*2.*: allowed is a number in"),
        (lambda round, x: round.noise(-1), "size = .*-1.*: allowed is a number >= 0"),
        (lambda round, x: round.proximal(x, 0), "weight = .*0.*: allowed is a number > 0"),
        (lambda round, x: round.permutation(0), "number = 0: allowed is an integer >= 1"),
        (lambda round, x: round.each([1, 2]), "2 values: allowed is one for each of 3 clients"),
    ],
)
def test_bad_draws(call: Callable, message: str) -> None:
    def step(x, memory, round, *, local_lr):
        call(round, x)
        return x, {}

    setting = Setting(QUIET, own(step, local_lr="1/10"), EVERYONE)
    for ask in (lambda: setting.exact([1]), lambda: setting.simulate(replicas=1, rounds=1)):
        with pytest.raises(ValueError, match=message):
            ask()


def test_what_is_too_much_or_not_there() -> None:
    def shuffled(x, memory, round, *, local_lr):
        return x - local_lr * (round.permutation(7)[0][:, :3] * round.gradient(x)).sum(1), {}

    calls = []

    def shown(x, memory, round, *, local_lr):
        calls.append(x)
        return shuffled(x, memory, round, local_lr=local_lr)

    with pytest.raises(NotClosed, match=f"its draws come in more than {MOST_WAYS} ways"):
        Setting(QUIET, own(shown, local_lr="1/10"), EVERYONE).exact([1])
    assert len(calls) < 5  # 7! ways are not tried one by one

    def proximal(x, memory, round, *, local_lr):
        return x + (round.share * round.proximal(x, 1)).sum(1), {}

    logistic = Logistic([[[1.0]]] * 2, [[0], [1]], l2=1.0)
    with pytest.raises(ValueError, match="Logistic has no exact proximal step: allowed is Quadratic"):
        Setting(logistic, own(proximal, local_lr="1/10"), Fixed([0, 1])).simulate(replicas=1, rounds=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scaffold(local_lr="1/10", option=3), "option = 3: allowed is 1 or 2"),
        (lambda: scaffold(local_lr=0), "local_lr = 0: allowed is a finite number > 0"),
        (lambda: scaffnew(local_lr="1/10", communication_probability=0), "communication_probability = 0"),
        (lambda: feddyn(**LOCAL, penalty=-1), "penalty = -1: allowed is"),
        (lambda: fednova(local_lr="1/10", local_steps=[]), "local_steps is empty"),
        (lambda: fednova(local_lr="1/10", local_steps=[1, 0]), r"local_steps\[1\] = 0"),
    ],
)
def test_numbers_out_of_bounds(make: Callable, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_theorem_keeps_numbers_of_which_it_cannot_speak() -> None:
    """A file with another ``option`` is about another algorithm, and refused."""
    from fedtheory.subjects.custom_points import OwnPoint, parse

    algorithm = fednova(local_lr="1/10", local_steps=[1, 4, 2])
    diagonal = Quadratic([[1, 2], [2, 1], [4, 1]], CENTRES)
    point = OwnPoint(Setting(diagonal, algorithm, EVERYONE, start=[5, -4]), 3, {})
    data = point.to_json()
    assert data["algorithm"] == {"kind": "fednova", "local_lr": "1/10", "steps": ["1", "4", "2"], "global_lr": "1"}
    assert parse(data, algorithm) == point
    data["algorithm"]["steps"] = ["1", "4", "3"]
    with pytest.raises(ValueError, match=r"steps = .*3.*: allowed is \['1', '4', '2'\], which fednova has"):
        parse(data, algorithm)


def test_one_client_whose_hessian_is_not_diagonal_makes_a_setting_that_no_file_holds() -> None:
    from fedtheory.subjects.custom_points import from_setting

    algorithm = fednova(local_lr="1/10", local_steps=[1, 4, 2])
    statement = claim("fast.lemma2")  # of whose letters none is asked
    hessians = [[[1, 0], [0, 2]], [[2, 1], [1, 2]], [[4, 0], [0, 1]]]
    for skew in range(3):
        own = [hessians[(i + skew) % 3] for i in range(3)]
        with pytest.raises(ValueError, match="federation: allowed are quadratic clients with diagonal Hessians"):
            from_setting(statement, Setting(Quadratic(own, CENTRES), algorithm, EVERYONE, start=[5, -4]), 3, algorithm)
    flat = Setting(Quadratic([[1, 2], [2, 1], [4, 1]], CENTRES), algorithm, EVERYONE, start=[5, -4])
    assert from_setting(statement, flat, 3, algorithm).rounds == 3
