"""The parts by themselves: weights of draws with replacement, FedAU's weights and FLICS's rates against the packages
that compute them for whole histories, the numbers of clients that answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory import algorithms as algos
from fedtheory.algorithms import (
    MIFA,
    AverageAll,
    AverageParticipating,
    Constant,
    FedAUWeights,
    FedVarp,
    GroupWeights,
    Known,
    Updates,
)
from fedtheory.algorithms.aggregation import Memory, WeightedSum
from fedtheory.federations import Pairs
from fedtheory.participation import Keys, Uniform
from fedtheory.randomness import Axis
from fedtheory.selection import online, var
from fedtheory.weights import FedAU

ONCE = torch.zeros(1, 1, dtype=torch.float64)


def updates(delta: list[list[float]], counts: list[list[int]]) -> Updates:
    """One dimension; ``delta`` (replicas, clients) counts where ``counts`` are positive."""
    drawn = torch.tensor(counts, dtype=torch.int8)
    pairs = Pairs.of(drawn > 0, torch.arange(len(drawn)), 0, 0)
    return Updates(torch.tensor(delta, dtype=torch.float64)[pairs.replica, pairs.client][:, None], pairs, drawn)


def after_one_round(rule: object, delta: list[list[float]], counts: list[list[int]], memory: dict) -> list[float]:
    return rule.step(updates(delta, counts), memory)[0][:, 0].tolist()


# Draws with replacement: client 1 twice, client 2 once, client 3 not.

TWICE = [[2, 1, 0]]
DELTA = [[3.0, 6.0, 100.0]]


def latest(values: list[float]) -> Memory:
    """The memory of clients' latest updates."""
    table = torch.tensor([[[value] for value in values]], dtype=torch.float64)
    total = torch.tensor([[[sum(values)], [0.0]]], dtype=torch.float64)
    return {"updates": table, "total": total, "replaced": torch.tensor([0])}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (AverageParticipating(), (2 * 3 + 6) / 3),
        (AverageAll(), (2 * 3 + 6) / 3),
        (Constant((1, 3, 5)), (2 * 3 + 3 * 6) / 3),
        (Known((0.5, 0.25, 1)), (4 * 3 + 4 * 6) / 3),
        (FedVarp(), (1 + 2 + 4) / 3 + (2 * (3 - 1) + (6 - 2)) / 3),
        (MIFA(), (3 + 6 + 4) / 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_client_drawn_twice_counts_twice(rule: object, expected: float) -> None:
    assert after_one_round(rule, DELTA, TWICE, latest([1.0, 2.0, 4.0])) == pytest.approx([expected], rel=1e-15)


def test_the_latest_update_is_remembered_once() -> None:
    for rule in (MIFA(), FedVarp()):
        memory = latest([1.0, 2.0, 4.0])
        _, after = rule.step(updates(DELTA, TWICE), memory)
        assert after["updates"].flatten().tolist() == [3, 6, 4]
        assert after["updates"] is memory["updates"]  # in its place, since it is as large as all clients' models
        assert after["total"].sum() == 13 and after["replaced"].tolist() == [2]


def test_a_client_drawn_twice_ends_one_interval() -> None:
    rule = FedAUWeights(math.inf)
    memory = rule.initial(ONCE, 3)
    memory = rule.after(torch.tensor(TWICE), memory)
    kept = rule.stored(memory)
    assert kept["intervals"].tolist() == [[1, 1, 0]] and kept["running"].tolist() == [[0, 0, 1]]


def test_known_takes_what_it_does_not_know_from_the_process() -> None:
    """E[N_i] = 6/4 for six draws of four clients."""
    assert Known().bound(Uniform(6, replacement=True), 4) == Known((1.5,) * 4)
    assert Known((1,) * 4).bound(Uniform(2), 4) == Known((1,) * 4)


def test_groups_that_were_not_counted_yet_weigh_nothing() -> None:
    rule, counts = GroupWeights((0, 1), (Fraction(1, 2), Fraction(1, 2))), torch.tensor([[1, 0]])
    assert rule.weights(counts, {"estimate": torch.tensor([[2.0, 0.0]])}).tolist() == [[0.25, 0]]


# FedAU's weights, against the package that computes them for whole histories.


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=n, max_size=n)
    ),
    st.one_of(st.integers(1, 6), st.just(math.inf)),
)
@settings(max_examples=60, deadline=None)
def test_fedau_weights_are_those_of_the_weights_package(history: list[list[bool]], cutoff: float) -> None:
    """To the last bit."""
    rule, mask = FedAUWeights(cutoff), np.array(history)
    memory, found = rule.initial(ONCE, 3), []
    for row in torch.tensor(mask):
        found.append(rule.aggregation_weight(memory)[0].numpy())
        assert torch.equal(rule.weights(row[None].to(torch.int8), memory)[0], row * torch.from_numpy(found[-1]) / 3)
        memory = rule.after(row[None].to(torch.int8), memory)
    assert np.array_equal(np.array(found), FedAU(cutoff).batch(mask))


@dataclass(frozen=True)
class EveryClient(FedAUWeights):
    """The same weights, where every client's counters change in every round."""

    def initial(self, x: torch.Tensor, clients: int) -> Memory:
        zero = torch.zeros(len(x), clients, dtype=torch.int64)
        return {"intervals": zero, "covered": zero, "running": zero}

    def stored(self, memory: Memory) -> Memory:
        return memory

    def restored(self, kept: Memory) -> Memory:
        return kept

    def aggregation_weight(self, memory: Memory, place: torch.Tensor | None = None) -> torch.Tensor:
        mean = memory["covered"].to(torch.float64) / memory["intervals"].clamp(min=1)
        return torch.where(memory["intervals"] > 0, mean, 1.0)

    def after(self, counts: torch.Tensor, memory: Memory) -> Memory:
        length = memory["running"] + 1
        ended = (counts > 0) | (length == self.cutoff)
        return {
            "intervals": memory["intervals"] + ended,
            "covered": memory["covered"] + torch.where(ended, length, 0),
            "running": torch.where(ended, 0, length),
        }

    def step(self, updates: Updates, memory: Memory) -> tuple[torch.Tensor, Memory]:
        return WeightedSum.step(self, updates, memory)


CUTOFFS = st.one_of(st.integers(1, 6), st.just(math.inf))


@given(st.integers(0, 10**6), st.integers(1, 40), CUTOFFS, st.sampled_from([0.05, 0.3, 0.9]), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_counters_of_participants_alone_say_the_same_of_everyone(
    seed: int, rounds: int, cutoff: float, share: float, kept_at: int
) -> None:
    """To the bit, in two replicas, also after a checkpoint in between; and a checkpoint has the same."""
    rng = np.random.default_rng(seed)
    few, every, x = FedAUWeights(cutoff), EveryClient(cutoff), torch.zeros(2, 3, dtype=torch.float64)
    here, there = few.initial(x, 5), every.initial(x, 5)
    for t in range(rounds):
        drawn = torch.from_numpy(rng.random((2, 5)) < share)
        pairs = Pairs.of(drawn, torch.arange(2), 0, t)
        delta = torch.from_numpy(rng.standard_normal((len(pairs), 3)))
        sent = Updates(delta, pairs, drawn.to(torch.int8))
        if t == kept_at:
            here = few.restored({name: value.clone() for name, value in few.stored(here).items()})
        assert torch.equal(few.aggregation_weight(here), every.aggregation_weight(there))
        (moved, here), (wanted, there) = few.step(sent, here), every.step(sent, there)
        assert torch.equal(moved, wanted)
        kept = few.stored(here)
        assert kept.keys() == there.keys() and all(torch.equal(kept[name], there[name]) for name in kept)


@given(st.integers(0, 10**6), st.sampled_from(["float32", "float64"]), st.sampled_from([0.1, 0.5, 1.0]))
@settings(max_examples=40, deadline=None)
def test_the_sum_of_latest_updates_is_followed(seed: int, precision: str, share: float) -> None:
    """It is the sum of all rows to 2^-50 of their sizes, however many rounds there were, also where updates become
    smaller and smaller: what rounding has taken from it is added, and after a while all rows are."""
    rng, rule, dtype = np.random.default_rng(seed), MIFA(), getattr(torch, precision)
    memory = rule.initial(torch.zeros(2, 3, dtype=dtype), 6)
    for t in range(60):
        drawn = torch.from_numpy(rng.random((2, 6)) < share)
        pairs = Pairs.of(drawn, torch.arange(2), 0, t)
        delta = torch.from_numpy(rng.standard_normal((len(pairs), 3)) * 10.0 ** (3 - t / 3)).to(dtype)
        _, memory = rule.step(Updates(delta, pairs, drawn.to(torch.int8)), memory)
        rows = memory["updates"].to(torch.float64)
        wrong = (memory["total"].sum(1) - rows.sum(1)).abs()
        assert (wrong <= 2**-50 * rows.abs().sum(1)).all()
        assert (memory["replaced"] < 6).all()


# FLICS's rates, against the packages that compute them along a trace.

GROUPS = [0] * 5 + [1] * 3 + [2] * 4
SIZES = [5, 3, 4]


def availability(trace: np.ndarray) -> torch.Tensor:
    """The first a_j clients of each group, (rounds, clients) bool."""
    return torch.tensor([[k < row[g] for g, size in enumerate(SIZES) for k in range(size)] for row in trace])


def rates_along(algorithm: algos.EveryRound, trace: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """r(t), the clients of each group that answer, and s^(t); each (rounds, groups), of one replica."""
    selection = algorithm.round.selection
    keys, memory, rows = Keys(3, Axis.SELECTION, torch.tensor([7]), len(GROUPS)), selection.initial(ONCE), []
    for round, available in enumerate(availability(trace)):
        per_group = torch.from_numpy(trace[round])[None]
        rates = selection.rates(per_group, round, memory)
        taken, memory = selection.step(available[None], keys, round, memory)
        assert not (taken.bool() & ~available).any()
        answers = [int(taken[0, np.array(GROUPS) == j].sum()) for j in range(3)]
        rows.append((rates[0].tolist(), answers, memory.get("estimate", rates)[0].tolist()))
    return tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("update", ["mean", "printed", "start_counts"])
@pytest.mark.parametrize("counts", ["planned", "received"])
def test_rates_solve_var_along_a_trace(counts: str, update: str) -> None:
    rng, p = np.random.default_rng(4), [0.5, 0.2, 0.3]
    trace, budget = rng.integers(0, np.array(SIZES) + 1, (40, 3)), [4, 2.5, 1]
    options = {"counts": counts, "update": update, "start": 0.25}
    algorithm = algos.flics_avg(
        local_lr=1, groups=GROUPS, budget=budget, group_weight=["1/2", "1/5", "3/10"], **options
    )
    rates, answers, estimate = rates_along(algorithm, trace)
    k = np.resize(budget, 40)
    counted = rates if counts == "planned" else answers
    sums, t = counted.cumsum(0), np.arange(1, 41)[:, None]
    expected = {
        "mean": sums / t,
        "start_counts": (0.25 + sums) / (t + 1),
        "printed": np.vstack([np.full(3, 0.25), (sums - sums[0])[1:] / t[:-1]]),
    }[update]
    np.testing.assert_allclose(estimate, expected, rtol=1e-12)
    history = np.vstack([np.zeros(3), expected[:-1] * t[:-1]])
    # Histories are sums of at most 40 rounds, in another order.
    np.testing.assert_allclose(rates, var(history, trace, k, p).rates, atol=1e-10)
    if counts == "planned":
        np.testing.assert_allclose(rates, online(trace, k, p, **options).rates, atol=1e-10)


def answers_of(algorithm: algos.EveryRound, replicas: int) -> np.ndarray:
    """How many of each group answer in round 0, (replicas, groups), 4, 3 and 1 clients being available."""
    here = availability(np.array([[4, 3, 1]])).expand(replicas, -1)
    selection = algorithm.round.selection
    keys = Keys(0, Axis.SELECTION, torch.arange(replicas), len(GROUPS))
    taken, _ = selection.step(here, keys, 0, selection.initial(torch.zeros(replicas, 1)))
    assert not (taken.bool() & ~here).any()
    # Every available client of a group is as likely as another: five standard errors of a share.
    for j, available in enumerate([4, 3, 1]):
        shares = taken[:, np.array(GROUPS) == j][:, :available].double().mean(0)
        assert float(shares.max() - shares.min()) < 5 / math.sqrt(replicas)
    return np.stack([taken[:, np.array(GROUPS) == j].sum(1).numpy() for j in range(3)], axis=1)


def test_each_available_client_answers_by_itself() -> None:
    """p k = (3/2, 6/5, 3/10): binomial numbers of 4, 3 and 1 clients with these means."""
    algorithm = algos.naive(
        local_lr=1, groups=GROUPS, budget=3, group_weight=["1/2", "2/5", "1/10"], answers="independent"
    )
    found, rates, here = answers_of(algorithm, 4000), np.array([1.5, 1.2, 0.3]), np.array([4, 3, 1])
    variance = rates * (1 - rates / here)
    assert (np.abs(found.mean(0) - rates) < 5 * np.sqrt(variance / 4000)).all()
    np.testing.assert_allclose(found.var(0), variance, rtol=0.15)  # five standard errors of a variance are 0.11


def test_the_server_draws_whole_numbers() -> None:
    algorithm = algos.naive(local_lr=1, groups=GROUPS, budget=3, group_weight=["1/2", "2/5", "1/10"])
    found = answers_of(algorithm, 4000)
    assert [sorted(set(column)) for column in found.T.tolist()] == [[1, 2], [1, 2], [0, 1]]
    assert (np.abs(found.mean(0) - [1.5, 1.2, 0.3]) < 5 * np.sqrt([0.25, 0.16, 0.21]) / math.sqrt(4000)).all()
    more = algos.naive(local_lr=1, groups=GROUPS, budget=8, group_weight=["1/2", "1/4", "1/4"])
    assert (answers_of(more, 50) == [4, 2, 1]).all()  # p k = (4, 2, 2), of which 4, 3 and 1 are there


@pytest.mark.parametrize("answers", ["independent", "drawn"])
def test_answers_of_different_rounds_and_replicas_are_independent(answers: str) -> None:
    """Two of four clients on average; a correlation of 4000 fair coins has a standard error of 0.016."""
    selection = algos.naive(local_lr=1, groups=[0] * 4, budget=2, answers=answers).round.selection
    keys, everyone = Keys(1, Axis.SELECTION, torch.arange(4001), 4), torch.ones(4001, 4, dtype=torch.bool)
    rounds = [selection.step(everyone, keys, r, {})[0].double().numpy() - 0.5 for r in (0, 1, 2)]
    for one, other in ((rounds[0], rounds[1]), (rounds[1], rounds[2]), (rounds[0][1:], rounds[0][:-1])):
        assert (np.abs((one * other[: len(one)]).mean(0)) < 5 * 0.25 / 63).all()


def test_a_budget_takes_some_of_those_who_are_there() -> None:
    """2 or 3 of 4 available clients, each as likely as another, and both of 2."""
    selection = algos.fedavg(local_lr=1, budget=[1, "5/2"]).round.selection
    keys, here = Keys(1, Axis.SELECTION, torch.arange(4000), 6), torch.tensor([[1, 0, 1, 1, 0, 1]]).bool()
    taken, memory = selection.step(here.expand(4000, -1), keys, 1, {})
    assert set(taken.sum(1).tolist()) == {2, 3} and not taken[:, [1, 4]].any() and memory == {}
    # Five standard errors of a share.
    assert (np.abs(taken[:, [0, 2, 3, 5]].double().mean(0).numpy() - 2.5 / 4) < 5 * 0.5 / 63).all()
    two = torch.tensor([[0, 1, 0, 0, 1, 0]]).bool().expand(4000, -1)
    assert torch.equal(selection.step(two, keys, 1, {})[0].bool(), two)
    assert (selection.step(here.expand(4000, -1), keys, 0, {})[0].sum(1) == 1).all()


@pytest.mark.parametrize("budget", ["1/2", "7/2"])
def test_rounded_numbers_of_different_rounds_are_independent(budget: str) -> None:
    selection = algos.naive(local_lr=1, groups=[0] * 4, budget=budget).round.selection
    keys, everyone = Keys(1, Axis.SELECTION, torch.arange(4000), 4), torch.ones(4000, 4, dtype=torch.bool)
    up = [selection.step(everyone, keys, r, {})[0].sum(1).double().numpy() - float(Fraction(budget)) for r in (0, 1)]
    assert set(np.abs(up[0])) == {0.5} and abs((up[0] * up[1]).mean()) < 5 * 0.25 / 63
