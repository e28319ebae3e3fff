"""FedAvg with weights by samples, n_i over the sum of the round's cohort: moments, runs and objectives, enumerated."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from itertools import combinations, product
from math import comb, prod

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import SampleShares, fedavg
from fedtheory.federations import Quadratic
from fedtheory.functionals import FINAL_GAP, GAP_OF_AVERAGE
from fedtheory.moments import implied_objective, sample_shares
from fedtheory.moments.averages import of_run
from fedtheory.moments.cohorts import law_of
from fedtheory.moments.participation_laws import PRESENT, SHARE
from fedtheory.moments.sample_shares import sample_share_draws, sample_shares_of_set
from fedtheory.participation import (
    Bernoulli,
    Cyclic,
    Fixed,
    Incomplete,
    Markov,
    Multinomial,
    Participation,
    Uniform,
    Weighted,
)
from fedtheory.setting import Setting
from fedtheory.testing import check_algorithm

Law = list[tuple[F, tuple[int, ...]]]
"""(probability, how often each client takes part)."""


def independent(p: tuple[F, ...]) -> Law:
    return [
        (prod((q if n else 1 - q for q, n in zip(p, counts, strict=True)), start=F(1)), counts)
        for counts in product((0, 1), repeat=len(p))
    ]


def uniform(clients: int, cohort: int) -> Law:
    return [
        (F(1, comb(clients, cohort)), tuple(int(i in chosen) for i in range(clients)))
        for chosen in combinations(range(clients), cohort)
    ]


def drawn(p: tuple[F, ...], cohort: int) -> Law:
    draws = product(range(len(p)), repeat=cohort)
    return [(prod((p[i] for i in each), start=F(1)), tuple(map(each.count, range(len(p))))) for each in draws]


def weights(counts: tuple[int, ...], samples: tuple[F, ...]) -> np.ndarray:
    held = [n * k for n, k in zip(samples, counts, strict=True)]
    return np.array([h / F(sum(held)) if sum(held) else F(0) for h in held], dtype=object)


def moments(law: Law, samples: tuple[F, ...]) -> tuple[list, list]:
    assert sum(p for p, _ in law) == 1
    first = sum(p * weights(counts, samples) for p, counts in law)
    second = sum(p * np.outer(weights(counts, samples), weights(counts, samples)) for p, counts in law)
    return first.tolist(), second.tolist()


N = (F(1), F(1), F(5, 2), F(7))
P = (F(1, 2), F(1), F(1, 3), F(1, 4))
BY = (F(1, 2), F(1, 4), F(1, 8), F(1, 8))
CASES: dict[str, tuple[Participation, Law]] = {
    "independent": (Bernoulli(P), independent(P)),
    "one": (Uniform(1), uniform(4, 1)),
    "two": (Uniform(2), uniform(4, 2)),
    "three": (Uniform(3), uniform(4, 3)),
    "everyone": (Uniform(4), uniform(4, 4)),
    "fixed": (Fixed([1, 3]), [(F(1), (0, 1, 0, 1))]),
    "with replacement": (Uniform(2, True), drawn((F(1, 4),) * 4, 2)),
    "multinomial": (Multinomial(2, BY), drawn(BY, 2)),
    "incomplete": (
        Incomplete(Uniform(2), [1]),
        [(p, (c[0], 0, c[1], c[2])) for p, c in uniform(3, 2)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("process", "law"), CASES.values(), ids=CASES)
def test_moments_are_those_of_all_cohorts(process: Participation, law: Law) -> None:
    found = sample_share_draws(process, 4, SampleShares(N), exact=True)
    assert (found.first(SHARE).tolist(), found.second(SHARE, SHARE).tolist()) == moments(law, N)
    floats = sample_share_draws(process, 4, SampleShares(N))
    assert floats.second(SHARE, SHARE).astype(float).tolist() == found.second(SHARE, SHARE).astype(float).tolist()


samples_and_chances = st.integers(1, 5).flatmap(
    lambda size: st.tuples(
        st.lists(st.sampled_from([F(1), F(2), F(1, 3), F(4)]), min_size=size, max_size=size),
        st.lists(st.sampled_from([F(0), F(1, 2), F(1, 5), F(1)]), min_size=size, max_size=size),
        st.integers(1, size),
    )
)


@settings(deadline=None, max_examples=60)
@given(samples_and_chances)
def test_moments_of_any_few_clients(drawn: tuple[list[F], list[F], int]) -> None:
    samples, chances, cohort = tuple(drawn[0]), tuple(drawn[1]), drawn[2]
    for process, law in (
        (Bernoulli(chances), independent(chances)),
        (Uniform(cohort), uniform(len(samples), cohort)),
    ):
        found = sample_share_draws(process, len(samples), SampleShares(samples), exact=True)
        assert (found.first(SHARE).tolist(), found.second(SHARE, SHARE).tolist()) == moments(law, samples)
        assert found.first(PRESENT).tolist() == [sum(p * counts[i] for p, counts in law) for i in range(len(samples))]


def test_equal_samples_are_the_mean_over_participants() -> None:
    fed = Quadratic([[1], [2], ["1/2"]], [[0], [3], [-2]], "1/2")
    for process in (Uniform(2), Bernoulli(["1/2", "1/3", 1]), Fixed([0, 2]), Multinomial(2, ["1/2", "1/4", "1/4"])):
        by_samples = Setting(fed, fedavg(local_lr="1/5", local_steps=2, average="samples", samples=[3] * 3), process, 5)
        mean = Setting(fed, fedavg(local_lr="1/5", local_steps=2), process, 5)
        assert (by_samples.exact([1, 4], True).squared_distance == mean.exact([1, 4], True).squared_distance).all()


SLOPES, CENTRES, SIGMA, START = (F(1), F(2), F(1, 2)), (F(0), F(3), F(-2)), F(1, 2), F(5)
HELD, K, ROUNDS = (F(1), F(2), F(5)), 2, 2
SHARES = tuple(n / sum(HELD) for n in HELD)
FED = Quadratic([[h] for h in SLOPES], [[c] for c in CENTRES], SIGMA, objective_weight=SHARES)
RUNS: dict[str, tuple[Participation, Law]] = {
    "uniform": (Uniform(2), uniform(3, 2)),
    "independent": (Bernoulli(["1/2", "1/3", "1/4"]), independent((F(1, 2), F(1, 3), F(1, 4)))),
}


def optimum(phi: tuple[F, ...]) -> F:
    own = list(zip(phi, SLOPES, CENTRES, strict=True))
    return sum(p * h * c for p, h, c in own) / sum(p * h for p, h, c in own)


def paths(law: Law, path: tuple[F, ...] = (START,), chance: F = F(1)) -> Iterator[tuple[F, tuple[F, ...]]]:
    r, x = len(path) - 1, path[-1]
    if r == ROUNDS:
        yield chance, path
        return
    for p, counts in law:
        members = [i for i, n in enumerate(counts) if n]
        for signs in product((-SIGMA, SIGMA), repeat=K * len(members)) if p else ():
            noise, moved = iter(signs), x
            for i in members:
                y = x
                for _ in range(K):
                    y -= F(1, 5) * (SLOPES[i] * (y - CENTRES[i]) + next(noise))
                moved += weights(counts, HELD)[i] * (y - x)
            yield from paths(law, (*path, moved), chance * p / 2 ** len(signs))


@pytest.mark.parametrize(("process", "law"), RUNS.values(), ids=RUNS)
def test_runs_are_those_of_all_cohorts_and_signs(process: Participation, law: Law) -> None:
    def gap(x: F) -> F:
        def value(at: F) -> F:
            return sum(p * h * (at - c) ** 2 / 2 for p, h, c in zip(SHARES, SLOPES, CENTRES, strict=True))

        return value(x) - value(optimum(SHARES))

    s = Setting(FED, fedavg(local_lr="1/5", local_steps=K, average="samples", objective_weight=SHARES), process, START)
    every = list(paths(law))
    expected = {
        FINAL_GAP: sum(chance * gap(path[-1]) for chance, path in every),
        GAP_OF_AVERAGE: sum(chance * gap((path[1] + path[2]) / 2) for chance, path in every),
    }
    for functional, value in expected.items():
        assert of_run(s, functional, ROUNDS, exact=True)[0] == value
        assert of_run(s, functional, ROUNDS)[0] == pytest.approx(float(value), rel=1e-12)
    run = s.simulate(replicas=20_000, rounds=ROUNDS, record_every=1, seed=5, observers=["gap"])
    gaps = run.rows["gap"][:, -1]
    assert abs(gaps.mean() - float(expected[FINAL_GAP])) < 4 * gaps.std() / len(gaps) ** 0.5  # 1 in 15,000


@pytest.mark.parametrize(
    "process", [Cyclic(["1/2"] * 3, 4), Markov(["1/2"] * 3, ["1/3"] * 3)], ids=["cyclic", "markov"]
)
def test_participants_with_a_memory(process: Participation) -> None:
    algorithm = fedavg(local_lr="1/5", average="samples", objective_weight=SHARES)
    s = Setting(FED, algorithm, process, START)
    run = s.simulate(replicas=20_000, rounds=3, record_every=1, seed=5, observers=["gap"])
    gaps, exact = run.rows["gap"][:, -1], of_run(s, FINAL_GAP, 3)[0]
    assert abs(gaps.mean() - exact) < 4 * gaps.std() / len(gaps) ** 0.5  # 1 in 15,000
    with pytest.raises(ValueError, match="its rounds depend on each other"):
        implied_objective(s)


SCHEMES = ("participating", "all", "weighted", "samples")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("process", "law"), RUNS.values(), ids=RUNS)
def test_implied_objectives(process: Participation, law: Law, scheme: str) -> None:
    """By the definition, and: one exact step from a point is the step down that objective, up to its length."""
    given = None if scheme == "all" else SHARES
    fed = Quadratic([[h] for h in SLOPES], [[c] for c in CENTRES], objective_weight=given)
    s = Setting(fed, fedavg(local_lr="1/5", average=scheme, objective_weight=given), process, START)
    found = implied_objective(s)
    of = {
        "participating": lambda c: [F(n, max(1, sum(c))) for n in c],
        "all": lambda c: [F(n, 3) for n in c],
        "weighted": lambda c: [3 * p * F(n, max(1, sum(c))) for p, n in zip(SHARES, c, strict=True)],
        "samples": lambda c: weights(c, HELD).tolist(),
    }[scheme]
    means = [sum(p * F(of(counts)[i]) for p, counts in law) for i in range(3)]
    assert found == tuple(mean / sum(means) for mean in means) and sum(found) == 1
    if scheme == "samples":
        assert found != SHARES  # what the samples alone say it is not
    at = optimum(found)
    moved = sum(p * F(of(counts)[i]) * F(1, 5) * SLOPES[i] * (CENTRES[i] - at) for p, counts in law for i in range(3))
    assert moved == 0  # no other point stays in the mean


def test_one_of_many_is_drawn() -> None:
    """x = 7/8 with probability 1/2, else 0, and x* = 7/10: (7/8 - 7/10)^2/2 + (7/10)^2/2."""
    p = ["1/10", "1/10", "1/10", "7/10"]
    fed = Quadratic([[1]] * 4, [[0], [0], [0], [1]], objective_weight=p)
    for own in ({"objective_weight": p}, {"samples": [2, 2, 2, 14]}):
        s = Setting(fed, fedavg(local_lr=1, average="samples", **own), Uniform(2), 0)
        assert s.exact([1], True).squared_distance[0] == F(49, 160) * F(17, 20) == F(833, 3200)
        assert implied_objective(s) == (F(3, 16), F(3, 16), F(3, 16), F(7, 16))


def test_many_clients_of_few_sizes() -> None:
    """100 clients: weights have the sum 1, and the moments are those of draws within 4 standard errors."""
    samples = tuple(F(1 + i % 4) for i in range(100))
    draws = sample_share_draws(Uniform(10), 100, SampleShares(samples), exact=True)
    assert draws.first(SHARE).sum() == 1 == draws.second(SHARE, SHARE).sum()
    assert (draws.second(SHARE, SHARE).sum(1) == draws.first(SHARE)).all()  # sum_j w_j = 1 in every cohort


def test_terms_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_shares._moments.cache_clear()
    monkeypatch.setattr(sample_shares, "MOST_TERMS", 50)
    with pytest.raises(ValueError, match="has more than 50 terms"):
        sample_share_draws(Bernoulli(["1/2"] * 8), 8, SampleShares(tuple(map(F, range(1, 9)))), exact=True)
    sample_shares._moments.cache_clear()
    with pytest.raises(ValueError, match="participation = Weighted: the moments of shares by samples are known here"):
        sample_share_draws(Weighted(1, [1.0, 2.0]), 2, SampleShares((F(1), F(2))))


def test_wrong_products_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the weights of a ratio of means, n_i P(i) / sum_j n_j P(j), and products of independent weights."""

    def ratio(process: Participation, samples: tuple[F, ...]) -> tuple:
        first = np.array([n * p for n, p in zip(samples, process.inclusion(len(samples)).first, strict=True)])
        first = first / first.sum()
        return first, np.outer(first, first)

    monkeypatch.setattr(sample_shares, "_moments", ratio)
    with pytest.raises(AssertionError):
        test_moments_are_those_of_all_cohorts(*CASES["two"])
    with pytest.raises(AssertionError):
        test_one_of_many_is_drawn()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"samples": [1, 2]}, "samples: allowed is average = 'samples', not 'participating'"),
        ({"average": "samples", "samples": [0, 0]}, "samples = .*: allowed are numbers >= 0, of which one is > 0"),
        ({"average": "samples", "samples": [1, -2]}, r"samples\[1\] = -2"),
        ({"average": "sample", "samples": [1]}, "average = 'sample'"),
    ],
)
def test_samples_that_are_none_are_refused(changes: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        fedavg(local_lr=1, **changes)


def test_settings_need_samples_of_each_client() -> None:
    plain = Quadratic([[1]] * 3, [[0], [1], [2]])
    with pytest.raises(ValueError, match="samples = None: allowed with average = 'samples' are one number for each"):
        Setting(plain, fedavg(local_lr=1, average="samples"), Uniform(2))
    with pytest.raises(ValueError, match="samples: there are 2, allowed is one for each of 3 clients"):
        Setting(plain, fedavg(local_lr=1, average="samples", samples=[1, 2]), Uniform(2))


@pytest.mark.parametrize(
    "process", [Uniform(1), Bernoulli(["1/2"] * 3), Fixed([0]), Multinomial(1, ["1/2", "1/4", "1/4"])]
)
def test_a_cohort_without_samples_is_refused(process: Participation) -> None:
    s = Setting(
        Quadratic([[1]] * 3, [[0], [1], [2]]), fedavg(local_lr=1, average="samples", samples=[0, 1, 1]), process
    )
    with pytest.raises(ValueError, match=r"samples: with probability .* all who take part have 0"):
        s.exact([1])
    with pytest.raises(ValueError, match=r"samples: clients \[0\] take part and have 0"):
        s.simulate(replicas=64, rounds=4, seed=0)


def test_a_client_without_samples_counts_for_nothing() -> None:
    s = Setting(
        Quadratic([[1]] * 3, [[9], [1], [2]]), fedavg(local_lr=1, average="samples", samples=[0, 1, 1]), Uniform(2)
    )
    assert implied_objective(s) == (0, F(1, 2), F(1, 2))
    assert len(s.simulate(replicas=8, rounds=4, seed=0).rows) > 0


def test_it_passes_the_check_of_algorithms() -> None:
    own = [1, 4, 2, "5/2"]
    algorithm = fedavg(local_lr="1/8", local_steps=2, average="samples", samples=own)
    checked = check_algorithm(algorithm, objective_weight=own)  # with everyone there it settles where n_i F_i sum least
    assert {"replicas alone and in a batch", "runs that were stopped", "single precision"} <= {*checked}


def test_rows_of_a_round() -> None:
    counts = torch.tensor([[1, 0, 1], [0, 0, 0], [0, 2, 1]], dtype=torch.int8)
    found = SampleShares((F(1), F(2), F(5))).weights(counts, {})
    assert found.tolist() == [[1 / 6, 0, 5 / 6], [0, 0, 0], [0, 4 / 9, 5 / 9]]
    members = sample_shares_of_set([0, 2], 3, SampleShares((F(1), F(2), F(5))))
    assert members.first(SHARE).tolist() == [F(1, 6), 0, F(5, 6)]
    assert law_of(Fixed([0, 2]), 3) == [((1, 0, 1), 1)]
