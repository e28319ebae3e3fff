"""All histories at once against one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory import algorithms, participation
from fedtheory.federations import Quadratic
from fedtheory.moments.evaluators import EXACT, Question, Unserved
from fedtheory.papers.flics.exact import branching_runs
from fedtheory.papers.flics.exact.branching_runs import Branching, follow, var_rates
from fedtheory.papers.flics.exact.selected import states_of
from fedtheory.papers.flics.exact.selected_runs import Followed
from fedtheory.papers.flics.examples.selection_settings import along_a_trace
from fedtheory.selection import rational
from fedtheory.setting import Setting

TOLERANCE = 1e-12
"""Sums over several groups run in another order, and powers are rounded otherwise: some 10^3 terms, by 2^-53 each."""

LISTS = ("squares", "bound", "error", "proxy", "rate_spread", "squared_mismatch", "mean_mismatch", "answer_proxy",
         "answer_mismatch", "variance", "correlation")  # fmt: skip


def on_a_line(local_lr: F = F(1, 100), **options) -> Setting:
    """One client that is asked with probability 2/3, 1/4 for ever: whoever answers moves the model."""
    return along_a_trace((F(1),), [[1], [1]], [F(2, 3), F(1, 4)], F(2), (F(1),), F(3), F(1, 2), local_lr,
                         F(1, 10), counts="received", **options)  # fmt: skip


def of_two_groups(process=None, **options) -> Setting:
    weight, groups = ["1/4", "3/4"], [0, 0, 1]
    phi = [F(1, 8), F(1, 8), F(3, 4)]
    fed = Quadratic(
        [[1, 2], [1, 2], ["1/2", 3]], [[1, -1], [1, -1], [-2, 3]], gradient_noise=F(3, 4), objective_weight=phi
    )
    algorithm = algorithms.flics_avg(groups=groups, budget=["5/2", "5/4"], budget_after="last", local_lr="1/50",
                                     local_steps=2, group_weight=weight, counts="received", **options)  # fmt: skip
    return Setting(fed, algorithm, process or participation.Fixed([0, 1, 2]), start=[2, -1])


def settings() -> Iterator:
    yield pytest.param(on_a_line(), 30, id="a line")
    yield pytest.param(on_a_line(update="start_counts", local_steps=3), 30, id="the start counts")
    yield pytest.param(on_a_line(F(2, 3), global_lr=F(5, 2)), 20, id="past the centre")
    at_rest = along_a_trace((F(1),), [[1]], [F(2, 3)], F(2), (F(1, 3),), F(1, 3), local_lr=F(1, 7), counts="received")
    yield pytest.param(at_rest, 20, id="at the optimum")
    yield pytest.param(of_two_groups(), 7, id="two groups")
    yield pytest.param(of_two_groups(divided=True), 7, id="divided")
    absent = participation.Recorded.of_counts([[2, 1], [0, 1], [1, 0], [2, 1]], [0, 0, 1], after="last")
    yield pytest.param(of_two_groups(absent, update="start_counts", start="1/5"), 7, id="a trace")
    yield pytest.param(of_two_groups(participation.Bernoulli(["1/2", "1/3", 1])), 5, id="random availability")
    yield pytest.param(of_two_groups(participation.Fixed([0, 1])), 7, id="a group that is never there")


def both(setting: Setting, rounds: int) -> tuple[Followed, Followed]:
    question = Question(setting, rounds)
    states = [states_of(setting, t, exact=False) for t in range(rounds)]
    return Branching(question, rounds, states), Followed(question, rounds)


@pytest.mark.parametrize(("setting", "rounds"), list(settings()))
def test_all_at_once_as_one_after_the_other(setting: Setting, rounds: int) -> None:
    together, single = both(setting, rounds)
    assert together.work == single.work
    for name in LISTS:
        found, expected = getattr(together, name), getattr(single, name)
        assert len(found) == len(expected) == rounds + (name == "squares")
        assert all(isinstance(value, float) for value in found), name
        # What is a difference of numbers near 1 is rounded as these are.
        floor = TOLERANCE if "mismatch" in name else 0
        np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=floor, err_msg=name)


def test_one_client_has_the_same_bits() -> None:
    """At most two histories come together, and no sum has more than one group: nothing is left to round otherwise."""
    for setting in (on_a_line(), on_a_line(update="start_counts")):
        together, single = both(setting, 40)
        for name in LISTS:
            assert getattr(together, name) == pytest.approx(getattr(single, name), rel=2**-51, abs=0), name
        for name in ("squares", "bound", "error"):
            assert getattr(together, name) == getattr(single, name), name


@pytest.mark.parametrize("update", ["mean", "start_counts"])
def test_a_group_that_is_never_there_has_gradients_too(update: str) -> None:
    """F_1 = x^2/2, F_2 = (x - 100)^2/2 of clients that never come, from 0, where all stays: G = 100."""
    setting = along_a_trace((F(1, 2), F(1, 2)), [[1, 0]], [F(1)], F(1), (F(0), F(100)), counts="received",
                            update=update, local_lr=F(1, 2))  # fmt: skip
    together, single = both(setting, 20)
    assert together.bound == single.bound == [100.0] * 20


def test_which_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(follow(Question(on_a_line(), 30)), Branching)
    assert type(follow(Question(on_a_line(), 3))) is Followed
    assert type(follow(Question(on_a_line(), 9, {}, EXACT))) is Followed
    assert type(follow(Question(on_a_line(), 30, {"counts": "planned"}))) is Followed
    monkeypatch.setattr(branching_runs, "LARGEST_GRID", 100)
    assert type(follow(Question(on_a_line(), 30))) is Followed


def test_what_branches_too_much_is_refused_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = of_two_groups()
    monkeypatch.setattr("fedtheory.papers.flics.exact.selected_runs.LARGEST_WORK", 500)
    for least in (2, 100):
        monkeypatch.setattr(branching_runs, "LEAST_ROUNDS", least)
        with pytest.raises(Unserved, match="branch in more than 500 ways"):
            follow(Question(setting, 8))


def test_rates_of_many_histories() -> None:
    rng = np.random.default_rng(3)
    for groups in (1, 2, 3, 4):
        weight = [0.0, *rng.integers(1, 8, groups - 1)] if groups == 4 else rng.integers(1, 8, groups).tolist()
        weight = [float(p) / sum(weight) for p in weight]
        history = rng.integers(0, 6, (200, groups)) * rng.choice([1.0, 0.37], (200, 1))
        there = rng.integers(0, 4, (200, groups)).astype(float)
        budget = rng.choice([0.25, 1.0, 2.5, 20.0], 200)
        found = var_rates(history, there, budget, weight)
        expected = [rational.var_rates(tuple(h), tuple(a), float(k), weight)
                    for h, a, k in zip(history.tolist(), there.tolist(), budget, strict=True)]  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
