"""Worst cases of algorithms that are steps: against PEPit, against built-in ones, and in runs that attain them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from PEPit import Point

from fedtheory.algorithms import fedavg, feddyn, fedlin, own, saga, scaffnew, scaffold
from fedtheory.algorithms.custom_algorithm import Outcomes, Round, numbers_at
from fedtheory.worstcase import convex, local_sgd, quadratic, smooth, strongly_convex, worst_case
from fedtheory.worstcase.geometry import PathPoint
from fedtheory.worstcase.interpolation import Interpolant
from fedtheory.worstcase.program import Program
from fedtheory.worstcase.step_geometry import StepGeometry, StepRounds, Way
from fedtheory.worstcase.worst_functions import _strict, _vectors

from .reference import Clients

LR, MU, ZETA, ETA = 0.25, 0.1, 0.5, 1.5
"""Step size, strong convexity with L = 1, dissimilarity, and SCAFFOLD's server step."""


def averaging(x, memory, round, *, local_lr, local_steps):
    return x + (round.share * round.train(x, local_lr, local_steps)).sum(1), {}


STEPS = {
    "FedAvg": lambda K: own(averaging, local_lr=LR, local_steps=K),
    "SCAFFOLD, option 1": lambda K: scaffold(local_lr=LR, local_steps=K, global_lr=ETA, option=1),
    "SCAFFOLD, option 2": lambda K: scaffold(local_lr=LR, local_steps=K, global_lr=ETA, option=2),
    "FedLin": lambda K: fedlin(local_lr=LR, local_steps=K),
}


class Published(Clients):
    """The algorithms as they are printed, on PEPit's points; a round returns the next model and control variates."""

    def step(self, name: str, x, controls: list, who: tuple[int, ...], K: int) -> tuple:
        mean_control = sum(controls[1:], controls[0]) / len(controls)
        here = {i: self.functions[i].gradient(x) for i in who} if name in ("FedLin", "SCAFFOLD, option 1") else {}
        mean_here = sum((here[i] for i in who[1:]), here[who[0]]) / len(who) if name == "FedLin" else None
        ends, renewed = [], list(controls)
        for i in who:
            y = x
            for _ in range(K):
                g = self.functions[i].gradient(y)
                if name == "FedLin":
                    g = g - here[i] + mean_here
                elif name.startswith("SCAFFOLD"):
                    g = g - controls[i] + mean_control
                y = y - LR * g
            ends.append(y)
            if name == "SCAFFOLD, option 1":
                renewed[i] = here[i]
            elif name == "SCAFFOLD, option 2":
                renewed[i] = controls[i] - mean_control + (x - y) / (K * LR)
        mean_end = sum(ends[1:], ends[0]) / len(ends)
        return x + (ETA if name.startswith("SCAFFOLD") else 1) * (mean_end - x), renewed

    def expected(self, name: str, size: int, K: int, rounds: int, metric: str):
        """The mean of a metric over all sequences of cohorts; averages are over r = 1..R."""
        of = {
            "squared_distance": lambda x: (x - self.optimum) ** 2,
            "gap": lambda x: self.mean(x) - self.mean(self.optimum),
            "squared_gradient": lambda x: self.mean.gradient(x) ** 2,
        }[metric.split("_", 1)[1]]
        nothing = Point(is_leaf=False, decomposition_dict={})
        ways = [(self.start, [nothing] * len(self.functions))]
        values = []
        for _ in range(rounds):
            cohorts = list(combinations(range(len(self.functions)), size))
            ways = [self.step(name, x, controls, who, K) for x, controls in ways for who in cohorts]
            of_round = [of(x) for x, _ in ways]
            values.append(sum(of_round[1:], of_round[0]) / len(ways))
        return sum(values[1:], values[0]) / rounds if metric.startswith("average") else values[-1]


def by_pepit(name: str, clients: int, size: int, K: int, rounds: int, metric: str) -> float:
    theirs = Published(clients, MU, ZETA)
    return theirs.worst(theirs.expected(name, size, K, rounds, metric))


def by_us(name: str, clients: int, size: int, K: int, rounds: int, metric: str) -> float:
    found = worst_case(
        strongly_convex(smoothness=1, strong_convexity="1/10"),
        STEPS[name](K),
        clients=clients,
        cohort=size,
        rounds=rounds,
        metric=metric,
        dissimilarity_at_optimum=ZETA,
    )
    assert found.status == "solved" and found.kind == "exact" and found.gap < 1e-7
    return found.value


PEPIT = [
    ("FedAvg", 2, 1, 2, 1, "final_squared_distance", 0.973177694),
    ("FedAvg", 2, 2, 2, 1, "final_squared_distance", 0.905418365),
    ("FedAvg", 3, 1, 2, 1, "final_squared_distance", 0.973177694),
    ("FedAvg", 3, 2, 2, 1, "final_squared_distance", 0.919888122),
    ("FedAvg", 3, 3, 1, 1, "final_squared_distance", 0.950625),
    ("FedAvg", 2, 1, 2, 2, "final_squared_distance", 0.939342209),
    ("FedAvg", 2, 1, 1, 2, "final_gap", 0.255433889),
    ("FedAvg", 3, 2, 1, 2, "final_squared_distance", 0.911417257),
    ("FedAvg", 2, 1, 1, 2, "average_squared_gradient", 0.514940611),
    ("SCAFFOLD, option 1", 2, 1, 2, 1, "final_squared_distance", 1.033229811),
    ("SCAFFOLD, option 1", 2, 2, 2, 1, "final_squared_distance", 0.859889209),
    ("SCAFFOLD, option 1", 3, 1, 2, 1, "final_squared_distance", 1.033229811),
    ("SCAFFOLD, option 1", 3, 2, 2, 1, "final_squared_distance", 0.89343332),
    ("SCAFFOLD, option 1", 3, 3, 1, 1, "final_squared_distance", 0.92640625),
    ("SCAFFOLD, option 1", 2, 1, 2, 2, "final_squared_distance", 0.892822825),
    ("SCAFFOLD, option 1", 2, 1, 1, 2, "final_gap", 0.202432912),
    ("SCAFFOLD, option 1", 3, 2, 1, 2, "final_squared_distance", 0.868491345),
    ("SCAFFOLD, option 1", 2, 1, 1, 2, "average_squared_gradient", 0.398964795),
    ("SCAFFOLD, option 2", 2, 1, 2, 1, "final_squared_distance", 1.033229811),
    ("SCAFFOLD, option 2", 2, 2, 2, 1, "final_squared_distance", 0.859889209),
    ("SCAFFOLD, option 2", 3, 1, 2, 1, "final_squared_distance", 1.033229811),
    ("SCAFFOLD, option 2", 3, 2, 2, 1, "final_squared_distance", 0.89343332),
    ("SCAFFOLD, option 2", 3, 3, 1, 1, "final_squared_distance", 0.92640625),
    ("SCAFFOLD, option 2", 2, 1, 2, 2, "final_squared_distance", 0.893827905),
    ("SCAFFOLD, option 2", 2, 1, 1, 2, "final_gap", 0.202432912),
    ("SCAFFOLD, option 2", 3, 2, 1, 2, "final_squared_distance", 0.868491345),
    ("SCAFFOLD, option 2", 2, 1, 1, 2, "average_squared_gradient", 0.398964795),
    ("FedLin", 2, 1, 2, 1, "final_squared_distance", 0.973177694),
    ("FedLin", 2, 2, 2, 1, "final_squared_distance", 0.903687891),
    ("FedLin", 3, 1, 2, 1, "final_squared_distance", 0.973177694),
    ("FedLin", 3, 2, 2, 1, "final_squared_distance", 0.919439589),
    ("FedLin", 3, 3, 1, 1, "final_squared_distance", 0.950625),
    ("FedLin", 2, 1, 2, 2, "final_squared_distance", 0.939342209),
    ("FedLin", 2, 1, 1, 2, "final_gap", 0.255433889),
    ("FedLin", 3, 2, 1, 2, "final_squared_distance", 0.911417257),
    ("FedLin", 2, 1, 1, 2, "average_squared_gradient", 0.514940611),
]
"""(name, clients, cohort, local steps, rounds, metric) with PEPit's values: version 0.5.1, solved with Clarabel 0.11 to
1e-10 (to 1e-6 where that is not reached); they agree within ``AGREE``."""

AGREE = 1e-6


@pytest.mark.parametrize("case", PEPIT, ids=str)
def test_worst_cases_are_those_that_pepit_found(case: tuple) -> None:
    *asked, expected = case
    assert by_us(*asked) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("case", PEPIT, ids=str)
def test_pepit_finds_them(case: tuple) -> None:
    *asked, expected = case
    assert by_pepit(*asked) == pytest.approx(expected, rel=AGREE / 10)


FUNCTIONS = {
    "strongly convex": strongly_convex(smoothness=2, strong_convexity="1/5"),
    "convex": convex(smoothness=2),
    "quadratic": quadratic(smoothness=2, strong_convexity="1/5"),
}
OPTIONS = {"dissimilarity_at_optimum": "3/2", "distance": "4/5"}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_step_has_the_worst_case_of_the_built_in_algorithm_that_it_is(kind: str) -> None:
    """Built-in algorithms have programs of their own, by symmetry, with two Gram matrices."""
    mine, theirs = own(averaging, local_lr="1/5", local_steps=3), fedavg(local_lr="1/5", local_steps=3)
    for clients, cohort in ((2, 1), (3, 2), (3, None)):
        values = [
            worst_case(FUNCTIONS[kind], each, clients=clients, cohort=cohort, **OPTIONS) for each in (mine, theirs)
        ]
        assert values[0].value == pytest.approx(values[1].value, rel=1e-7)
        assert values[0].recursion.additive == pytest.approx(values[1].recursion.additive, rel=1e-3)
    for metric in ("final_gap", "average_gap", "average_squared_gradient"):
        for average in ("r = 1..R", "r = 0..R-1"):
            settings = {"clients": 2, "rounds": 2, "metric": metric, "average": average, **OPTIONS}
            one, other = (worst_case(FUNCTIONS[kind], each, **settings).value for each in (mine, theirs))
            assert one == pytest.approx(other, rel=1e-7)


def proximal_sgd(x, memory, round, *, local_lr):
    return x + (round.share * round.train(x, local_lr, 2, proximal=1)).sum(1), {}


def test_other_questions_have_the_worst_cases_of_rounds_as_data() -> None:
    of = FUNCTIONS["strongly convex"]
    pulled = worst_case(of, own(proximal_sgd, local_lr="1/5"), clients=2, **OPTIONS).value
    plan = worst_case(of, local_sgd(local_lr="1/5", local_steps=2, proximal=1), clients=2, **OPTIONS).value
    assert pulled == pytest.approx(plan, rel=1e-7)

    def server(x, memory, round, *, server_lr):
        return x - server_lr * round.server_gradient(x), {}

    found = worst_case(of, own(server, server_lr="1/5"), clients=3, rounds=2, **OPTIONS).value
    assert found == pytest.approx(0.64 * (1 - 1 / 25) ** 4, rel=1e-7)  # gradient descent on F, (1 - lr mu)^(2 R)

    def point(x, memory, round, *, weight):
        return x + (round.share * round.proximal(x, weight)).sum(1), {}

    found = worst_case(of, own(point, weight="1/2"), clients=1, rounds=2, **OPTIONS).value
    assert found == pytest.approx(
        0.64 * (1 + 2 / 5) ** -4, rel=1e-7
    )  # the proximal point method, (1 + mu/weight)^(-2 R)


# Attained -------------------------------------------------------------------------------------------------------------


class PlainRound(Round):
    """A round on numbers, of clients whose gradients are given: (1, D) for x, (1, clients, D) for what is theirs."""

    def __init__(self, functions: list, counts: tuple[int, ...], outcomes: Outcomes) -> None:
        self.functions, self.outcomes = functions, outcomes
        self.count = torch.tensor(counts, dtype=torch.float64)[None, :, None]
        self.share, self.present = self.count / self.count.sum(), (self.count > 0).double()
        self.somebody = torch.ones(1, 1, dtype=torch.float64)

    def gradient(self, x):
        rows = (x if x.ndim == 3 else x[:, None].expand(1, len(self.functions), -1))[0]
        found = [torch.tensor(f(row.numpy())[1]) for f, row in zip(self.functions, rows, strict=True)]
        return self.present * torch.stack(found)[None]

    def draw(self, probability, clients=False):
        return torch.tensor([self.outcomes.draws(Fraction(probability), [True])], dtype=torch.float64)

    each = train = proximal = server_gradient = permutation = noise = cohort = None


def in_plain_rounds(found) -> float:
    """The expected squared distance of the worst functions' runs, by calling the step on numbers along every way."""
    problem, program, solution = found.problem, found.program, _strict(found)
    (basis,) = _vectors(program, solution)
    length, L, mu = (
        float(problem.length),
        float(problem.functions.smoothness),
        float(problem.functions.strong_convexity),
    )
    functions = []
    for o, path in enumerate(program.paths):
        x, h = (np.array([getattr(each, name) for each in path]) @ basis * length for name in "xh")
        values = np.array([program.value_of(o, p) @ solution.point if p else 0.0 for p in range(len(path))])
        own_one = Interpolant(x, h * L, values * L * length**2, L - mu, mu, np.zeros(x.shape[1]))
        functions.append(own_one.at)
    kind, start = problem.algorithm.round, torch.tensor(program.geometry.start @ basis * length)[None]
    each = torch.zeros(1, problem.clients, start.shape[1], dtype=torch.float64)
    ways = [(1.0, start, {name: each if what == "clients" else 0 * start for name, what in kind.memory})]
    for _ in range(problem.rounds):
        after = []
        for p, x, memory in ways:
            for counts, q in problem.law:
                way = Outcomes()
                while way is not None:
                    moved = kind.step(x, memory, PlainRound(functions, counts, way), **numbers_at(kind, 0, float))
                    after.append((p * float(q * way.probability), *moved))
                    way = way.next()
        ways = after
    return sum(p * float((x**2).sum()) for p, x, _ in ways)


ATTAINED = {
    "FedAvg": (lambda: own(by_gradients, local_lr="1/4"), 3, 2, 1),
    "SCAFFOLD, option 1": (lambda: scaffold(local_lr="1/8", local_steps=2, option=1), 2, 1, 2),
    "SCAFFOLD, option 2": (lambda: scaffold(local_lr="1/8", local_steps=2), 3, 2, 1),
    "FedLin": (lambda: fedlin(local_lr="1/8", local_steps=2), 2, 1, 2),
    "SAGA": (lambda: saga(local_lr="1/4"), 2, 1, 3),
    "FedDyn": (lambda: feddyn(local_lr="1/8", local_steps=2, penalty=1), 2, 1, 2),
    "Scaffnew": (lambda: scaffnew(local_lr="1/4", communication_probability="1/2"), 2, None, 2),
}


def by_gradients(x, memory, round, *, local_lr):
    y = x[:, None] - local_lr * round.gradient(x)
    return (round.share * (y - local_lr * round.gradient(y))).sum(1), {}


@pytest.mark.parametrize("name", ATTAINED)
def test_worst_functions_attain_the_value_in_plain_rounds(name: str) -> None:
    make, clients, cohort, rounds = ATTAINED[name]
    of = FUNCTIONS["strongly convex"]
    found = worst_case(of, make(), clients=clients, cohort=cohort, rounds=rounds, **OPTIONS)
    assert found.status == "solved"
    assert in_plain_rounds(found) == pytest.approx(found.value, rel=1e-5)  # conditions that are stricter by 1e-9


# Relapses and refusals ------------------------------------------------------------------------------------------------


def free_at_optimum(geometry: StepGeometry, client: int, stars: int) -> PathPoint:
    point = OPTIMUM(geometry, client, stars)
    if client < stars:
        return point
    geometry._vectors["gradient", client, 0] = point.h * 0
    return replace(point, h=point.h * 0)


def weighed_once(rounds: StepRounds, trace: Any, way: Way, probability: Fraction) -> Way:
    return MOVED(rounds, trace, way, probability / way.probability)


MOVED, OPTIMUM = StepRounds._moved, StepGeometry._optimum
RELAPSES = {
    "a way's own probability is forgotten": (StepRounds, "_moved", weighed_once),
    "memory is not kept": (
        StepRounds,
        "_moved",
        lambda rounds, trace, way, p: Way(p, MOVED(rounds, trace, way, p).x, way.memory),
    ),
    "pairs of one client's points are left out": (Program, "_interpolation", lambda program, o: None),
    "the gradients at x* need not add up to 0": (StepGeometry, "_optimum", free_at_optimum),
}


@pytest.mark.parametrize("name", RELAPSES)
def test_what_a_worst_case_needs_is_seen_where_it_is_lost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = ("SCAFFOLD, option 2", 2, 1, 2, 2, "final_squared_distance")
    expected = next(value for *asked, value in PEPIT if tuple(asked) == case)
    where, what, relapse = RELAPSES[name]
    monkeypatch.setattr(where, what, relapse)
    try:
        found = by_us(*case)
    except AssertionError:  # not solved
        return
    assert found != pytest.approx(expected, rel=AGREE)


def shifted(x, memory, round, *, local_lr):
    return x - local_lr * (round.gradient(x).mean(1) + x), {}


def clipped(x, memory, round, *, local_lr):
    return x - local_lr * round.gradient(x).mean(1).clamp(-1, 1), {}


def first_coordinate(x, memory, round, *, local_lr):
    return x - local_lr * round.gradient(x).mean(1) + 0 * x[:, :1], {}


def of_dimension(x, memory, round, *, local_lr):
    return x - local_lr / x.shape[1] * round.gradient(x).mean(1), {}


def noisy(x, memory, round, *, local_lr):
    return x - local_lr * round.gradient(x).mean(1) + round.noise(1), {}


def coordinates(x, memory, round, *, local_lr):
    return x - local_lr * round.gradient(x).mean(1) * (torch.arange(x.shape[1]) + 1).tolist(), {}


REFUSED = {
    "depends on where the origin is": shifted,
    "is not linear in the state at `clamp`": clipped,
    "tells coordinates apart": first_coordinate,
    "depends on the number of dimensions": of_dimension,
    r"round.noise\(1\): allowed for worst cases is 0": noisy,
    "does not treat all coordinates alike": coordinates,
}


@pytest.mark.parametrize("why", REFUSED)
def test_steps_without_a_worst_case_are_told_with_their_place(why: str) -> None:
    step = own(REFUSED[why], name="mine", local_lr="1/4")
    with pytest.raises(ValueError, match=rf"test_steps.py, line \d+: algorithm mine.* {why}"):
        worst_case(FUNCTIONS["strongly convex"], step, clients=2)


def test_arguments_that_are_out_of_bounds_and_what_is_not_there() -> None:
    of, step = FUNCTIONS["strongly convex"], fedlin(local_lr="1/4")
    for options, why in (
        ({}, "clients = None: needed for a step of one's own"),
        ({"clients": 2, "cohort": 3}, "cohort = 3: allowed is a whole number from 1 to clients = 2"),
        ({"clients": 2, "rounds": 0}, "rounds = 0"),
        ({"clients": 2, "metric": "gap"}, "metric = 'gap'"),
        ({"clients": 2, "gradient_noise": 1}, "allowed with a step of one's own is 0"),
        ({"clients": 2, "distance": -1}, "distance = -1"),
        ({"clients": 6, "cohort": 3, "rounds": 3}, "more than 1024 ways: allowed are fewer rounds"),
    ):
        with pytest.raises(ValueError, match=why):
            worst_case(of, step, **options)
    with pytest.raises(ValueError, match="allowed with a step of one's own are convex ones"):
        worst_case(smooth(smoothness=1), step, clients=2)
    found = worst_case(of, step, clients=2)
    for ask in (found.certificate, found.instance):
        with pytest.raises(ValueError, match="algorithm fedlin: allowed are algorithms that are not steps"):
            ask()


def test_from_the_optimum_a_step_moves_by_what_clients_differ() -> None:
    step, of = own(averaging, local_lr="1/5", local_steps=2), FUNCTIONS["strongly convex"]
    builtin = fedavg(local_lr="1/5", local_steps=2)
    found = [worst_case(of, each, clients=2, distance=0, dissimilarity_at_optimum=1).value for each in (step, builtin)]
    assert found[0] == pytest.approx(found[1], rel=1e-6) and found[0] > 0  # small: in units of its size to 1e-10
