"""Crowds of whose clients a step remembers something: by means and deviations, against each client followed alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

import fedtheory as ft
from fedtheory.algorithms import own
from fedtheory.algorithms.corrected_steps import feddyn, saga, scaffnew, scaffold
from fedtheory.federations import Quadratic
from fedtheory.moments import remembering_crowds
from fedtheory.moments.custom_rounds import OwnLayout
from fedtheory.moments.remembering_crowds import CrowdLayout
from fedtheory.moments.round_maps import layout_of
from fedtheory.participation import Bernoulli, Fixed, Markov, Participation, Phases, Uniform


def two_memories(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
    """Remember a gradient of each client, how often it came, weighted, the model before, and a mean."""
    y, seen = memory["y"], memory["seen"]
    fresh = round.gradient(x[:, None] + y / 3 - memory["before"][:, None] / 5)
    seen = seen + round.present * (round.gradient(x) + seen / 2 - y) + round.noise(0.25, clients=True)
    moved = x - local_lr * (round.share * (fresh - y)).sum(1) - local_lr * (y - 2 * seen).mean(1)
    return moved, {"y": y + round.present * (fresh - y) / 2, "seen": seen, "before": x, "mean": seen.mean(1) / 2}


MEMORIES = {"y": "clients", "before": "model", "seen": "clients", "mean": "vector"}
STEPS = {
    "two memories": own(two_memories, memory=MEMORIES, local_lr="1/5"),
    "scaffold 1": scaffold(local_lr="1/5", local_steps=2, option=1),
    "scaffold 2": scaffold(local_lr="1/5", local_steps=2),
    "saga": saga(local_lr="1/3"),
    "feddyn": feddyn(local_lr="1/5", local_steps=1, penalty="1/2"),
    "scaffnew": scaffnew(local_lr="1/3", communication_probability="1/4"),
}


def of_kinds(*numbers: int) -> Quadratic:
    """Clients of so many of each kind, with noise."""
    hessians = [[1 + k] for k, number in enumerate(numbers) for _ in range(number)]
    centres = [[3 * (-1) ** k] for k, number in enumerate(numbers) for _ in range(number)]
    return Quadratic(hessians, centres, "1/2")


def squares(setting: ft.Setting) -> list[Fraction]:
    """E|x_R - x*|^2 after up to three rounds, exactly."""
    return list(setting.exact([1, 2, 3], exact=True).squared_distance)


CASES = [
    ("two memories", (4,), Uniform(2)),
    ("two memories", (2, 3), Uniform(3)),
    ("two memories", (3,), Fixed([0, 1, 2])),
    ("two memories", (3, 1), Phases([[0, 1], [1, 3]], [1, 1], cyclic=True)),
    ("scaffold 1", (5,), Uniform(1)),
    ("scaffold 2", (3, 2), Uniform(4)),
    ("scaffold 2", (2, 2), Bernoulli(["1/2", "1/2", "1/3", "1/3"])),
    ("scaffold 2", (4,), Markov(["1/2", 1, 1, 1], ["1/4", 1, 1, 1])),
    ("saga", (2, 3), Uniform(1)),
    ("feddyn", (4, 1), Uniform(2)),
    ("scaffnew", (4,), Fixed(range(4))),
]


@pytest.mark.parametrize(("step", "numbers", "process"), CASES, ids=str)
def test_means_and_deviations_are_enough(
    step: str, numbers: tuple[int, ...], process: Participation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def setting() -> ft.Setting:
        return ft.Setting(of_kinds(*numbers), STEPS[step], process, start=2)

    alone = setting()
    assert isinstance(layout_of(alone), OwnLayout)
    expected = squares(alone)
    monkeypatch.setattr(remembering_crowds, "LEAST_CROWD", 0)
    together = setting()
    assert isinstance(layout_of(together), CrowdLayout)
    assert squares(together) == expected


def test_noise_that_clients_have_in_common_sets_none_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[Fraction]:
        fed = Quadratic([[1]] * 4, [[3], [3], [-3], [-3]], "1/2", "common two-point")
        return squares(ft.Setting(fed, STEPS["scaffold 2"], Uniform(3), start=2))

    alone = found()
    monkeypatch.setattr(remembering_crowds, "LEAST_CROWD", 0)
    assert found() == alone


def test_what_a_crowds_round_may_not_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relapses: a group's mean is taken for its kind's; a client's own noise is left out of how clients differ."""
    monkeypatch.setattr(remembering_crowds, "LEAST_CROWD", 0)

    def found() -> list[Fraction]:
        return squares(ft.Setting(of_kinds(3, 2), STEPS["scaffold 2"], Uniform(4), start=2))

    right, within = found(), remembering_crowds._Collected._within
    with monkeypatch.context() as forgetful:
        forgetful.setattr(remembering_crowds.CrowdAnswers, "_deviate", lambda *args: None)
        assert found() != right

    def quiet(self, p, answers, *rest):  # type: ignore[no-untyped-def]
        answers.own_noises = [[] for _ in answers.own_noises]
        within(self, p, answers, *rest)

    monkeypatch.setattr(remembering_crowds._Collected, "_within", quiet)
    assert found() != right


def test_ten_thousand_clients_cost_as_much_as_ten() -> None:
    """SAGA from x* with exact gradients, one client of N a round: after one round E|x - x*|^2 = (eta s)^2, with s^2 the
    mean of |grad F_i(x*)|^2, as nothing is remembered yet."""
    for clients in (10, 10**4):
        fed = Quadratic([[1]] * clients, [[3]] * (clients // 2) + [[-3]] * (clients // 2))
        setting = ft.Setting(fed, saga(local_lr="1/8"), Uniform(1), start=0)
        layout = layout_of(setting)
        assert isinstance(layout, CrowdLayout) and layout.size == 1 + 2 + 2 + 1
        assert setting.exact([1], exact=True).squared_distance == [Fraction(9, 64)]


def test_clients_that_are_told_apart_are_followed_one_by_one() -> None:
    def first(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
        kept = memory["y"] + round.present * (round.gradient(x) - memory["y"])
        return x - local_lr * kept[:, 0], {"y": kept}

    def pairs(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
        kept = memory["y"] + round.present * (round.gradient(x) - memory["y"])
        apart = kept[:, :, None] - kept[:, None]
        return x - local_lr * apart.sum(1).sum(1), {"y": kept}

    for step in (first, pairs):
        algorithm = own(step, memory={"y": "clients"}, local_lr="1/10")
        assert isinstance(layout_of(ft.Setting(of_kinds(10), algorithm, Uniform(1))), OwnLayout)
