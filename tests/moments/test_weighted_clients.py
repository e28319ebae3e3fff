"""FedAvg for clients that weigh p_i: everyone, S draws by these weights, uniform cohorts; against enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from fedtheory.algorithms import fedavg
from fedtheory.federations import Quadratic
from fedtheory.functionals import FINAL_GAP, GAP_OF_AVERAGE
from fedtheory.moments.averages import of_run
from fedtheory.moments.evaluators import EXACT, Question, quantity
from fedtheory.moments.objective_evaluators import largest_squared_gradient
from fedtheory.moments.participation_laws import COUNT, FAMILIES, PRESENT, SHARE, draws_of
from fedtheory.participation import Fixed, Multinomial, Participation, Uniform
from fedtheory.setting import Setting

F = Fraction
P, SLOPES, CENTRES = (F(1, 2), F(1, 3), F(1, 6)), (F(1), F(2), F(1, 2)), (F(0), F(3), F(-2))
SIGMA, START, K, ROUNDS, S = F(1, 2), F(5), 2, 2, 2
STEP = "2/(5 + step_index)"
FED = Quadratic([[h] for h in SLOPES], [[c] for c in CENTRES], SIGMA, objective_weight=P)
X_STAR = sum(p * h * c for p, h, c in zip(P, SLOPES, CENTRES, strict=True)) / sum(
    p * h for p, h in zip(P, SLOPES, strict=True)
)

Law = list[tuple[Fraction, dict[int, Fraction]]]
"""(probability, the weight of each client that trains), of a round."""


def everyone() -> Law:
    return [(F(1), dict(enumerate(P)))]


def scheme_one() -> Law:
    """S draws with probabilities p, each counts 1/S; a client drawn twice trains once."""
    law = []
    for drawn in product(range(3), repeat=S):
        chance = P[drawn[0]] * P[drawn[1]]
        law.append((chance, {i: F(drawn.count(i), S) for i in set(drawn)}))
    return law


def scheme_two() -> Law:
    """S of N clients, each with (N/S) p_i."""
    return [(F(1, 3), {i: F(3, S) * P[i] for i in drawn}) for drawn in combinations(range(3), S)]


CASES: dict[str, tuple[Callable[[], Law], Participation, str]] = {
    "everyone": (everyone, Fixed([0, 1, 2]), "weighted"),
    "scheme I": (scheme_one, Multinomial(S, P), "participating"),
    "scheme II": (scheme_two, Uniform(S), "weighted"),
}


def runs(law: Law) -> Iterator[tuple[Fraction, tuple[Fraction, ...]]]:
    def go(chance: Fraction, path: tuple[Fraction, ...]) -> Iterator:
        r, x = len(path) - 1, path[-1]
        if r == ROUNDS:
            yield chance, path
            return
        for p, weights in law:
            for signs in product((-SIGMA, SIGMA), repeat=K * len(weights)):
                noise, moved = iter(signs), x
                for i, w in weights.items():
                    y = x
                    for k in range(K):
                        y -= F(2, 5 + r * K + k) * (SLOPES[i] * (y - CENTRES[i]) + next(noise))
                    moved += w * (y - x)
                yield from go(chance * p / 2 ** len(signs), (*path, moved))

    return go(F(1), (START,))


def gap(x: Fraction) -> Fraction:
    def objective(at: Fraction) -> Fraction:
        return sum(p * h * (at - c) ** 2 / 2 for p, h, c in zip(P, SLOPES, CENTRES, strict=True))

    return objective(x) - objective(X_STAR)


def setting(name: str, local_lr: str = STEP) -> Setting:
    _, process, average = CASES[name]
    algorithm = fedavg(local_lr=local_lr, local_steps=K, average=average, objective_weight=P)
    return Setting(FED, algorithm, process, START)


@pytest.mark.parametrize("name", CASES)
def test_moments_are_what_enumeration_says(name: str) -> None:
    every = list(runs(CASES[name][0]()))
    assert sum(chance for chance, _ in every) == 1
    expected = {
        FINAL_GAP: sum(chance * gap(path[-1]) for chance, path in every),
        GAP_OF_AVERAGE: sum(chance * gap((path[1] + path[2]) / 2) for chance, path in every),
    }
    for functional, value in expected.items():
        assert of_run(setting(name), functional, ROUNDS, exact=True)[0] == value
        assert of_run(setting(name), functional, ROUNDS)[0] == pytest.approx(float(value), rel=1e-12)
    run = setting(name).simulate(replicas=20_000, rounds=ROUNDS, record_every=1, seed=5, observers=["gap"])
    samples = run.rows["gap"][:, -1]
    assert abs(samples.mean() - float(expected[FINAL_GAP])) < 4 * samples.std() / len(samples) ** 0.5


def test_no_scheme_is_biased() -> None:
    """The mean update is that of everyone, whoever is drawn."""
    means = [
        {i: sum(chance * weights.get(i, F(0)) for chance, weights in law()) for i in range(3)}
        for law, _, _ in CASES.values()
    ]
    assert means == [dict(enumerate(P))] * 3
    for name, (law, process, average) in CASES.items():
        draws = draws_of(process, 3, exact=True)
        factors = [3 * p if average == "weighted" else 1 for p in P]
        assert (draws.first(SHARE) * factors).tolist() == list(P), name
        second = draws.second(SHARE, SHARE) * np.outer(factors, factors)
        enumerated = [[sum(c * w.get(i, F(0)) * w.get(j, F(0)) for c, w in law()) for j in range(3)] for i in range(3)]
        assert second.tolist() == enumerated, name


@pytest.mark.parametrize("cohort", [1, 2, 4])
@pytest.mark.parametrize("probabilities", [P, (F(1), F(0), F(0)), (F(1, 3),) * 3])
def test_moments_of_draws_with_replacement(cohort: int, probabilities: tuple[Fraction, ...]) -> None:
    draws = draws_of(Multinomial(cohort, probabilities), 3, exact=True)
    every = [(np.prod([probabilities[i] for i in drawn]), [drawn.count(i) for i in range(3)])
             for drawn in product(range(3), repeat=cohort)]  # fmt: skip
    values = {COUNT: lambda n: F(n), SHARE: lambda n: F(n, cohort), PRESENT: lambda n: F(int(n > 0))}
    for one in FAMILIES:
        first = [sum(chance * values[one](counts[i]) for chance, counts in every) for i in range(3)]
        assert draws.first(one).tolist() == first
        for other in FAMILIES:
            second = [[sum(chance * values[one](counts[i]) * values[other](counts[j]) for chance, counts in every)
                       for j in range(3)] for i in range(3)]  # fmt: skip
            assert draws.second(one, other).tolist() == second, (one, other)


def test_uniform_weights_are_uniform_cohorts() -> None:
    equal = (F(1, 3),) * 3
    for process, same, average in (
        (Multinomial(2, equal), Uniform(2, True), "participating"),
        (Uniform(2), Uniform(2), "weighted"),
    ):
        fed = Quadratic([[h] for h in SLOPES], [[c] for c in CENTRES], SIGMA)
        one = Setting(
            fed, fedavg(local_lr="1/5", local_steps=K, average=average, objective_weight=equal), process, START
        )
        other = Setting(fed, fedavg(local_lr="1/5", local_steps=K), same, START)
        assert (one.exact([1, 3], True).squared_distance == other.exact([1, 3], True).squared_distance).all()


def test_quantities_of_weighted_clients() -> None:
    question = Question(setting("scheme I"), 2, numbers=EXACT)
    gamma = sum(p * h * (X_STAR - c) ** 2 / 2 for p, h, c in zip(P, SLOPES, CENTRES, strict=True))
    assert quantity("heterogeneity_gap", question).value == gamma
    assert quantity("weighted_noise", question).value == SIGMA**2 * sum(p * p for p in P)
    at_start = max((h * (START - c)) ** 2 for h, c in zip(SLOPES, CENTRES, strict=True)) + SIGMA**2
    assert largest_squared_gradient(setting("scheme I"), 1, True) == at_start


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"average": "weighted"}, "objective_weight: average = 'weighted' needs one for each client"),
        ({"average": "all", "objective_weight": P}, "objective_weight = .* 'weighted' or 'participating'"),
        ({"objective_weight": ["1/2", "1/4"]}, "objective_weight = .* with the sum 1"),
        ({"objective_weight": [1, 0]}, r"objective_weight\[1\] = 0: allowed is a finite number > 0"),
    ],
)
def test_weights_that_are_none_are_refused(changes: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        fedavg(local_lr=1, **changes)


def test_settings_and_processes_fit_their_clients() -> None:
    with pytest.raises(ValueError, match="objective_weight: allowed is the weighting that the algorithm has"):
        Setting(FED, fedavg(local_lr=1), Uniform(2))
    with pytest.raises(ValueError, match="objective_weight: there are 2, allowed is one for each of 3 clients"):
        Setting(FED, fedavg(local_lr=1, average="weighted", objective_weight=["1/2", "1/2"]), Uniform(2))
    with pytest.raises(ValueError, match="probabilities: there are 3, allowed is one for each of 4 clients"):
        Multinomial(2, P).check(4)
    for wrong in ((0, P), (128, P), (2, ["1/2", "1/4"]), (2, ["3/2", "-1/2"])):
        with pytest.raises(ValueError, match="allowed is"):
            Multinomial(*wrong)
