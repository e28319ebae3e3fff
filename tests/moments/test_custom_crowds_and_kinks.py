"""Steps of one's own on crowds of clients counted by kind, and on clients with kinks: each against another road."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import fedtheory as ft
from fedtheory.algorithms import own
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.moments import cohorts, custom_rounds
from fedtheory.moments.cohorts import law_of, law_of_crowd
from fedtheory.moments.custom_kinks import values_at
from fedtheory.moments.exchangeable import enumerated_errors
from fedtheory.moments.kinked_runs import deterministic_errors
from fedtheory.moments.linear_rounds import NotClosed
from fedtheory.moments.round_maps import layout_of
from fedtheory.participation import Bernoulli, Fixed, Multinomial, Participation, Uniform


def corrected(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
    there = round.gradient(x)
    y = x[:, None] - local_lr * (round.gradient(x[:, None] + 0 * there) - there + (round.share * there).sum(1)[:, None])
    noise, seen = round.noise(1, clients=True).mean(1), round.share.shape[1]
    return (round.share * y).sum(1) + (1 - round.somebody) * x + noise / seen, {"v": (y - x[:, None]).mean(1)}


def averaging(x, memory, round, *, local_lr, local_steps):  # type: ignore[no-untyped-def]
    return x + (round.share * round.train(x, local_lr, local_steps)).sum(1), {}


CROWD = ft.federations.Quadratic([[2]] * 4 + [[1]] * 6, [[1]] * 4 + [[-3]] * 6, "1/2")


def squares(process: Participation) -> list[Fraction]:
    algorithm = own(corrected, memory={"v": "vector"}, name="corrected", local_lr="1/10")
    return list(ft.Setting(CROWD, algorithm, process, start=3).exact([1, 2], exact=True).squared_distance)


@pytest.mark.parametrize(
    "process", [Uniform(2), Fixed([0, 1, 8]), Bernoulli(["1/2", "1/2", *[0] * 6, 1, "1/3"])], ids=str
)
def test_clients_counted_by_kind_and_one_by_one_are_the_same(
    process: Participation, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_kind = squares(process)
    monkeypatch.setattr(custom_rounds, "LEAST_CROWD", 1000)
    assert by_kind == squares(process)


def repeated(x, memory, round, *, local_lr, cohort, replacement):  # type: ignore[no-untyped-def]
    """Who is drawn counts by the square of how often; and now and then others are asked besides."""
    some = round.cohort(int(cohort), replacement=bool(replacement))
    others = round.cohort(2, where=round.draw(Fraction(1, 3)))
    moved = (some.share * some.count * some.train(x, local_lr, 2)).sum(1) + round.server_gradient(x) / 9
    besides = (others.share * some.present * others.gradient(x)).sum(1) / 5
    return x + moved - besides, {"v": (some.present * some.noise(2, clients=True)).mean(1) + memory["v"] / 2}


def by_the_first_coordinate(x, memory, round, *, local_lr, cohort, replacement):  # type: ignore[no-untyped-def]
    """Each coordinate moves as the first one."""
    some = round.cohort(int(cohort), replacement=bool(replacement))
    return x + (some.share * some.count * some.train(x, local_lr, 2)).sum(1)[:, :1], {"v": memory["v"] / 2}


FEW = ft.federations.Quadratic([[2]] * 4 + [[1]], [[1]] * 4 + [[-3]], "1/2", server_noise="1/3")
IN_A_PLANE = ft.federations.Quadratic([[2, 1]] * 4 + [[1, 3]], [[1, 0]] * 4 + [[-3, 1]])


def drawing(
    process: Participation, cohort: int, replacement: bool, step: Any = repeated, fed: Any = FEW
) -> list[Fraction]:
    numbers = {"local_lr": "1/10", "cohort": cohort, "replacement": int(replacement)}
    algorithm = own(step, memory={"v": "vector"}, name=step.__name__, **numbers)
    return list(ft.Setting(fed, algorithm, process, start=3).exact([1, 2], exact=True).squared_distance)


@pytest.mark.parametrize(
    ("process", "cohort", "replacement"),
    [(Fixed(range(5)), 3, True), (Fixed([0, 4]), 2, True), (Fixed(range(5)), 2, False), (Uniform(4), 4, False)],
    ids=str,
)
def test_cohorts_that_a_step_draws_of_a_crowd_are_those_of_its_clients(
    process: Participation, cohort: int, replacement: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They divide clients of a kind into those who are drawn once, twice and not at all."""
    one_by_one = drawing(process, cohort, replacement)
    monkeypatch.setattr(custom_rounds, "LEAST_CROWD", 4)
    monkeypatch.setattr(custom_rounds, "_CHECKED", set())  # so that tensors are compared with the crowd's forms, too
    assert drawing(process, cohort, replacement) == one_by_one
    traces = custom_rounds.traces

    def forgetful(*given):  # type: ignore[no-untyped-def]
        """The relapse: who is drawn twice counts as one who is drawn once, of as many."""
        return [replace(trace, copies=(1,) * len(trace.copies)) for trace in traces(*given)]

    monkeypatch.setattr(custom_rounds, "traces", forgetful)
    assert drawing(process, cohort, replacement) != one_by_one


@pytest.mark.parametrize("replacement", [True, False])
def test_coordinates_that_are_mixed_do_not_change_who_is_drawn(
    replacement: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step is followed twice then, the second time in all coordinates, with the same cohort."""
    one_by_one = drawing(Fixed(range(5)), 3, replacement, by_the_first_coordinate, IN_A_PLANE)
    monkeypatch.setattr(custom_rounds, "LEAST_CROWD", 4)
    assert drawing(Fixed(range(5)), 3, replacement, by_the_first_coordinate, IN_A_PLANE) == one_by_one


def test_a_step_that_remembers_something_of_each_client_draws_cohorts_of_few_clients() -> None:
    def kept(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
        found = round.cohort(2).train(x, local_lr, 1)
        return x + (memory["h"] + found).mean(1), {"h": memory["h"] / 2}

    algorithm = own(kept, memory={"h": "clients"}, name="kept", local_lr="1/10")
    assert layout_of(ft.Setting(CROWD, algorithm, Fixed(range(10)), start=3)).clients == 10


def test_a_mean_of_noises_that_counts_as_one_clients_noise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relapse: an entry that stands for several clients has the noise of one."""
    right, traces = squares(Fixed(range(10))), custom_rounds.traces

    def forgetful(*given):  # type: ignore[no-untyped-def]
        return [replace(trace, copies=(1,) * len(trace.copies)) for trace in traces(*given)]

    monkeypatch.setattr(custom_rounds, "traces", forgetful)
    assert squares(Fixed(range(10))) != right


@pytest.mark.parametrize("process", [
    Uniform(3), Uniform(4, replacement=True), Bernoulli(["1/2"] * 5 + ["1/3"]),
    Multinomial(4, ["1/4", "1/8", "1/8", "1/4", "1/8", "1/8"]), Multinomial(3, ["1/3", "1/3", 0, "1/3", 0, 0]),
], ids=str)  # fmt: skip
def test_the_law_of_a_crowd_is_that_of_its_cohorts(process: Participation) -> None:
    kinds = (0, 0, 1, 0, 1, 1)

    def by_counts(law):  # type: ignore[no-untyped-def]
        total: dict[tuple[Any, ...], Fraction] = {}
        for counts, p in law:
            chances = getattr(process, "probabilities", (1,) * 6)
            own = tuple(sorted(zip(kinds, chances, counts, strict=True)))
            total[own] = total.get(own, Fraction(0)) + p
        return total

    merged = law_of_crowd(process, kinds)
    assert merged is not None and len(merged) < len(law_of(process, 6))
    assert by_counts(merged) == by_counts(law_of(process, 6))


def test_a_step_that_tells_clients_apart_is_followed_client_by_client() -> None:
    def first(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
        return x - local_lr * round.gradient(x)[:, 0], {}

    s = ft.Setting(CROWD, own(first, name="first", local_lr="1/10"), Fixed(range(10)), start=3)
    # client 0 alone, from x = 3: x - (2 (x - 1) +- 1/2)/10, and x* = -5/7
    assert s.exact([1], exact=True).squared_distance == [(3 - Fraction(4, 10) + Fraction(5, 7)) ** 2 + Fraction(1, 400)]


LINES = [ft.federations.PiecewiseLinear([1, "1/3", 1], [0, "1/10"], g) for g in (1, -1)]


@pytest.mark.parametrize("members", [[0, 1, 2], [0, 2]])
def test_certain_runs_with_kinks_are_those_of_the_built_in(members: list[int]) -> None:
    fed, who, horizons = ft.federations.Piecewise([[g] for g in LINES], [2, 1]), Fixed(members), [1, 4]
    mine = ft.Setting(fed, own(averaging, name="averaging", local_lr="1/10", local_steps=3), who, start=1)
    theirs = ft.Setting(fed, ft.algorithms.fedavg(local_lr="1/10", local_steps=3), who, start=1)
    known = deterministic_errors(theirs, horizons, Fraction)
    assert values_at(mine, FINAL_SQUARED_DISTANCE, horizons) == known.squared_distance
    averages = known.functional(AVERAGE_SQUARED_GRADIENT, "r = 0..R-1")
    assert values_at(mine, AVERAGE_SQUARED_GRADIENT, horizons, "r = 0..R-1") == averages


def test_random_runs_with_kinks_are_those_that_are_enumerated() -> None:
    fed, who = ft.federations.Piecewise([[g] for g in LINES], [1, 1], "1/2"), Fixed([0, 1])
    mine = ft.Setting(fed, own(averaging, name="averaging", local_lr="1/10", local_steps=1), who, start=1)
    theirs = ft.Setting(fed, ft.algorithms.fedavg(local_lr="1/10"), who, start=1)
    assert values_at(mine, FINAL_SQUARED_DISTANCE, [2]) == enumerated_errors(theirs, 2, False).squared_distance


def test_a_run_in_floats_that_comes_to_0_goes_on() -> None:
    """Exact forms have the Fraction 0 there, which is no float."""

    def descent(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
        return x - local_lr * (round.share * round.gradient(x)).sum(1), {}

    fed = ft.federations.Piecewise([[ft.federations.PiecewiseLinear([1, 2], [0])]])
    setting = ft.Setting(fed, own(descent, name="descent", local_lr="1/2"), Fixed([0]), start=1)
    assert values_at(setting, FINAL_SQUARED_DISTANCE, [0, 1, 2], exact=False) == [1, 0, 0]


@pytest.mark.parametrize("process, number", [
    (Fixed([0, 2]), 1), (Uniform(2), 3), (Uniform(2, replacement=True), 6), (Uniform(4, replacement=True), 15),
    (Multinomial(4, ["1/2", "1/3", "1/6"]), 15), (Bernoulli(["1/2", "1/3", "1/4"]), 8), (Bernoulli(["1/2", 0, 1]), 2),
], ids=str)  # fmt: skip
def test_cohorts_of_three_clients_are_counted_by_hand(
    process: Participation, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 4 draws among 3 clients (4 + 2 choose 2) = 15 counts come out; a client whose chance is 0 or 1 has one way."""
    monkeypatch.setattr(cohorts, "MOST_COHORTS", number)
    law = law_of(process, 3)
    assert len({counts for counts, _ in law}) == len(law) == number and sum(p for _, p in law) == 1
    monkeypatch.setattr(cohorts, "MOST_COHORTS", number - 1)
    with pytest.raises(NotClosed, match=f": {number} cohorts of 3 clients; .* at most {number - 1} apart"):
        law_of(process, 3)


def test_a_crowd_is_known_up_to_the_most_cohorts_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, known in ((2, False), (3, True)):  # of two alike clients 0, 1 or 2 take part
        monkeypatch.setattr(cohorts, "MOST_COHORTS", most)
        assert (law_of_crowd(Uniform(3, replacement=True), [0, 0, 0, 0]) is not None) == known  # 3, 2 + 1, 1 + 1 + 1
        assert (law_of_crowd(Bernoulli(["1/2", "1/2"]), [0, 0]) is not None) == known
