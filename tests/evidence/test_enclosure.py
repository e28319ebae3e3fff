"""Enclosures of what runs do, against values found by hand: they hold them, and hardly more."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq
from hypothesis import given
from hypothesis import strategies as st

from fedtheory.algorithms import safari
from fedtheory.claims.balls import interval, working_precision
from fedtheory.evidence.judge import _at_lowest
from fedtheory.federations import Quadratic
from fedtheory.participation import Fixed, LargestNoise, Phases
from fedtheory.quantities import LEAST_QUANTITIES, RUN_QUANTITIES, symbols
from fedtheory.setting import Setting
from fedtheory.subjects import enclosures
from fedtheory.subjects.enclosures import Undecided, Way, every_round, progress_everywhere, with_new_steps
from fedtheory.subjects.enclosures import run_boxes as boxes_of

from .numbers import DRAWN, Numbers, left_side, run_boxes

INDICES = ("k = 0..K-1", "k = 1..K")


def is_from_to(found: arb, low: F, high: F) -> bool:
    """Whether a ball holds both ends and is wider by 10^-8 of them at most, as a radius has 30 binary digits."""
    with working_precision(2000):
        ends = [arb(fmpq(F(end).numerator, F(end).denominator)) for end in (low, high)]
        slack = arb("1e-8") * (ends[1] - ends[0]) + arb("1e-60")
        narrow = found.lower() >= ends[0] - slack and found.upper() <= ends[1] + slack
        return all(found.contains(end) for end in ends) and bool(narrow)


# Random runs on a line: y = x - x*, clients at y = -5, 2 and 3 of curvature 2, x* = 1/3.


def thrown(**changes: object) -> Numbers:
    """Two local steps of 1/8 leave 9/16 of the way: gradients sum to 2 (1 + 3/4) = 7/2 of it; 21/8 a step later."""
    parts = {
        "hessians": ((F(2),),) * 3, "centres": ((F(-14, 3),), (F(7, 3),), (F(10, 3),)), "start": (F(13, 3),),
        "cohort": 2, "local_steps": 2, "local_lr": F(1, 8), "snapshot_period": 2, "members": (0,), "rounds": 10,
        "constants": {"smoothness": F(2), "gradient_noise": F(0), "dissimilarity": F(20)},
    }  # fmt: skip
    return Numbers("fast.thm1@main", **(parts | changes))


FROM_4 = (16, 25), (F(49, 4), 81), (0, F(225, 4))
"""y_0 = 4, the participant at -5, pairs of clients from -3/2 to 5/2, a snapshot first: |y|^2 is 16 at first, and 25 at
the participant's; the nearest to it after snapshots is -3/2, the farthest y_0; the farthest pair is 5/2, from -5."""

RANGES = {
    "from 4": ({}, "period", "without replacement", [FROM_4]),
    "from 4, the kind drawn": ({}, "probability", "without replacement",
                               [FROM_4, ((0, 25), (81, 81), (0, F(225, 4)))]),
    "from 4, one client twice": ({}, "period", "with replacement", [((16, 25), (0, 81), (0, 81))]),
    "from -6": ({"start": (F(-17, 3),), "members": (0, 1)}, "probability", "without replacement",
                [((36, 36), (0, F(81, 4)), (0, F(289, 4))),
                 ((F(9, 4), 36), (F(81, 4), F(81, 4)), (0, F(289, 4)))]),
    "from -6 to 2": ({"start": (F(-17, 3),), "members": (1,)}, "probability", "without replacement",
                     [((36, 36), (0, 64), (0, F(289, 4))), ((0, 36), (64, 64), (0, F(289, 4)))]),
    "from 1 to 3": ({"start": (F(4, 3),), "members": (2,)}, "probability", "without replacement",
                    [((1, 9), (F(1, 4), F(81, 4)), (0, F(81, 4))), ((1, 9), (4, F(81, 4)), (0, F(81, 4)))]),
    "from -1 to -5": ({"start": (F(-2, 3),)}, "probability", "without replacement",
                      [((1, 25), (F(49, 4), F(225, 4)), (0, F(225, 4))), ((1, 25), (16, F(225, 4)), (0, F(225, 4)))]),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_the_interval_that_holds_all_runs(name: str) -> None:
    """G_1, G_2 and G_3 of runs on a line, from the lowest to the highest, squares times (7/2)^2 or (21/8)^2."""
    changes, snapshots, draw, expected = RANGES[name]
    with working_precision():
        for index, scale in zip(INDICES, (F(7, 2), F(21, 8)), strict=True):
            boxes = run_boxes(thrown(**changes), snapshots, draw, index)
            assert len(boxes) == len(expected)
            for box, ranges in zip(boxes, expected, strict=True):
                for ball, (low, high) in zip(box.values(), ranges, strict=True):
                    assert is_from_to(ball, scale**2 * low, scale**2 * high), (box, ranges)


@pytest.mark.parametrize(("changes", "snapshots", "why"), [
    ({"rounds": 1}, "period", "a maximum is over no rounds"),
    ({"snapshot_period": None, "snapshot_probability": F(1)}, DRAWN, "a maximum is over no rounds"),
    ({"hessians": ((F(2),), (F(2),), (F(3),))}, "period", "with one curvature"),
    ({"constants": {"smoothness": F(2), "gradient_noise": F(1), "dissimilarity": F(20)}}, "period", "without noise"),
    ({"local_lr": F(5, 8)}, "period", "above 1 / curvature"),
])  # fmt: skip
def test_runs_that_no_interval_holds(changes: dict, snapshots: str, why: str) -> None:
    with working_precision(), pytest.raises(Undecided, match=why):
        run_boxes(thrown(**changes), snapshots, "without replacement", INDICES[0])


def test_a_step_size_below_0_is_never_enclosed() -> None:
    """Such as a claim might choose."""
    way = thrown().way("period")
    setting = replace(way.setting, algorithm=with_new_steps(way.setting.algorithm, {"local_lr": F(-1, 8)}))
    with working_precision(), pytest.raises(Undecided, match="local step size"):
        boxes_of(replace(way, setting=setting), INDICES[0], {*RUN_QUANTITIES})


def test_a_step_that_ends_at_the_minimiser_is_no_overshoot() -> None:
    """eta = 1/2 at curvature 2: the first of two gradients is all there is, 2 y; one step later there is none."""
    with working_precision():
        for index, scale in zip(INDICES, (F(2), F(0)), strict=True):
            (box,) = run_boxes(thrown(local_lr=F(1, 2)), "period", "without replacement", index)
            for ball, (low, high) in zip(box.values(), FROM_4, strict=True):
                assert is_from_to(ball, scale**2 * low, scale**2 * high)


# Deterministic runs on a plane: everybody in snapshots, two of three clients in other rounds, different curvatures.


def followed(instance: Numbers, kinds: list[str], later: bool) -> dict[str, list[F]]:
    """|mean sum of gradients|^2 of snapshot rounds and of others, by a loop over rounds, clients, steps."""
    x, squares = list(instance.start), {"snapshot": [], "other": []}
    for kind in kinds:
        clients = range(len(instance.centres)) if kind == "snapshot" else instance.members
        sums, ends = [F(0)] * len(x), [F(0)] * len(x)
        for i in clients:
            for d, (h, c) in enumerate(zip(instance.hessians[i], instance.centres[i], strict=True)):
                y = x[d]
                for _ in range(instance.local_steps):
                    before, y = y, y - instance.local_lr * h * (y - c)
                    sums[d] += h * ((y if later else before) - c) / len(clients)
                ends[d] += y / len(clients)
        squares[kind].append(sum(s**2 for s in sums))
        x = ends
    return squares


def plane(**changes: object) -> Numbers:
    parts = {
        "hessians": ((F(1), F(1, 2)), (F(2), F(1, 3)), (F(1, 2), F(3))), "cohort": 3, "members": (0, 2), "rounds": 7,
        "centres": ((F(1), F(-2)), (F(3), F(1, 2)), (F(-4), F(5))), "start": (F(-3), F(7)), "snapshot_period": 3,
    }  # fmt: skip
    return thrown(**(parts | changes))


@pytest.mark.parametrize("start", [(F(-3), F(7)), (F(0), F(4)), (F(9), F(0))])
@pytest.mark.parametrize("share", [None, F(0), F(1)])
def test_a_run_without_chance_is_followed(start: tuple, share: F | None) -> None:
    """Where no round is of a kind, the maximum and the minimum over them are 0; minima are found where asked for."""
    if share is None:
        instance, kinds = plane(start=start), ["snapshot", "other", "other"] * 2 + ["snapshot"]
    else:
        instance = plane(start=start, snapshot_period=None, snapshot_probability=share)
        kinds = ["snapshot" if share else "other"] * 7
    with working_precision():
        for index, later in zip(INDICES, (False, True), strict=True):
            squares, how = followed(instance, kinds, later), "period" if share is None else DRAWN
            first, second = (max(squares[kind], default=F(0)) for kind in ("snapshot", "other"))
            least = [min(squares[kind], default=F(0)) for kind in ("snapshot", "other")]
            (box,) = run_boxes(instance, how, "without replacement", index)
            for name, value in zip(RUN_QUANTITIES, (first, second, first), strict=True):
                assert is_from_to(box[name], value, value)
            (box,) = boxes_of(instance.way(how), index, {*LEAST_QUANTITIES})
            for name, value in zip(LEAST_QUANTITIES, least, strict=True):
                assert is_from_to(box[name], value, value)


@pytest.mark.parametrize("name", LEAST_QUANTITIES)
def test_minima_of_runs_that_are_not_followed_are_not_known(name: str) -> None:
    """An interval that holds all runs says nothing of their minima, random or not."""
    everyone = thrown(cohort=3)
    for instance, draw, follow in ((thrown(), "without replacement", True), (everyone, "with replacement", True),
                                   (everyone, "without replacement", False)):  # fmt: skip
        with working_precision(), pytest.raises(Undecided, match="minima over rounds are of deterministic runs"):
            boxes_of(instance.way("period", draw), INDICES[0], {*RUN_QUANTITIES, name}, follow)


def test_minima_that_are_not_finite_are_not_0() -> None:
    """Only a minimum over no rounds is 0: one that nobody enclosed stays unknown."""
    with working_precision(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(enclosures, "column", lambda *_: arb_mat([[arb("nan")], [arb("nan")], [1]]))
        (box,) = boxes_of(plane().way("period"), INDICES[0], {*LEAST_QUANTITIES})
    assert not any(box[name].is_finite() for name in LEAST_QUANTITIES)


def test_the_error_after_a_round_of_a_plane() -> None:
    """One snapshot, one step of 1/4: each coordinate is moved by the mean of what the clients' gradients are there."""
    instance = plane(rounds=1, local_steps=1, local_lr=F(1, 4))
    ends, optimum = [], []
    for d, x in enumerate(instance.start):
        clients = [(h[d], c[d]) for h, c in zip(instance.hessians, instance.centres, strict=True)]
        ends.append(x - F(1, 4) * sum(h * (x - c) for h, c in clients) / 3)
        optimum.append(sum(h * c for h, c in clients) / sum(h for h, _ in clients))
    curvatures = [sum(h[d] for h in instance.hessians) / 3 for d in (0, 1)]
    shifts = [[x - o for x, o in zip(at, optimum, strict=True)] for at in (instance.start, ends)]
    squares = [sum((c * y) ** 2 for c, y in zip(curvatures, shift, strict=True)) for shift in shifts]
    with working_precision():
        side = left_side(instance, "period")
        assert is_from_to(side.final["squared_distance"], *[sum(y**2 for y in shifts[1])] * 2)
        assert is_from_to(side.initial["squared_distance"], *[sum(y**2 for y in shifts[0])] * 2)
        assert is_from_to(side.final["squared_gradient"], squares[1], squares[1])
        assert is_from_to(side.sums["squared_gradient"], squares[0], squares[0])


# Every round of SAFARI's runs on a line: curvature 2, x* = 1/3.


def served(y: F, c: F, **changes: object) -> Numbers:
    """y_0 = y, and two participants whose minimiser is c, a third who balances them."""
    centres = tuple((z + F(1, 3),) for z in (c - 4, c + 4, -2 * c))
    parts = {
        "hessians": ((F(2),),) * 3, "centres": centres, "start": (y + F(1, 3),), "client_round_probability": F(1, 2),
        "local_lr": F(1, 4), "server_lr": F(1, 8), "members": (0, 1), "rounds": 4,
        "constants": {"smoothness": F(2), "gradient_noise": F(0), "server_noise": F(0), "dissimilarity": F(20)},
    }  # fmt: skip
    return Numbers("safari.thm4@main", **(parts | changes))


ROUNDS = {  # (1 - 2 c/y)/4 at the lowest y, at y_0 and at the highest, and the lowest y
    "to c, then the server": (served(F(3), F(1)), (F(-101, 108), F(1, 12), F(1, 12), F(27, 64))),
    "the same from below": (served(F(-3), F(-1)), (F(-101, 108), F(1, 12), F(1, 12), F(27, 64))),
    "upwards to c": (served(F(1), F(3), local_steps=2, local_lr=F(1, 8), rounds=3),
                     (F(-29, 12), F(-5, 4), F(-1, 4), F(9, 16))),
    "a server that moves far": (served(F(3), F(1), local_lr=F(1, 8), server_lr=F(1, 4)),
                                (F(-13, 12), F(1, 12), F(1, 12), F(3, 8))),
    "participants without a bias": (served(F(3), F(0), rounds=3), (F(1, 4), F(1, 4), F(1, 4), F(3, 4))),
    "one round": (served(F(3), F(1), rounds=1), (F(1, 12), F(1, 12), F(1, 12), F(3))),
    "two participants of three": (served(F(3), F(1), members=(1, 2), rounds=2),
                                  (F(-1, 4), F(0), F(0), F(3, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", ROUNDS)
def test_what_every_round_is_between(name: str) -> None:
    instance, (low, first, high, lowest) = ROUNDS[name]
    with working_precision():
        (box,) = every_round(instance.way(DRAWN))
        assert is_from_to(box["least_client_progress"], low, first)
        assert is_from_to(box["peak_client_progress"], first, high)
        assert is_from_to(box["least_gradient"], (2 * lowest) ** 2, (2 * abs(instance.start[0] - F(1, 3))) ** 2)


@pytest.mark.parametrize(("rounds", "pieces"), [(4, 1), (5, 2), (21, 7), (301, 20)])
def test_gradients_of_all_sizes_come_in_pieces(rounds: int, pieces: int) -> None:
    """They halve in a server's round, from 2: pieces of a factor 100 each, 20 at most, the last down to the end."""
    instance = served(F(1), F(1), local_lr=F(1, 8), server_lr=F(1, 4), rounds=rounds)
    with working_precision():
        boxes = every_round(instance.way(DRAWN))
        assert len(boxes) == pieces
        ends = [F(4, 100**n) for n in range(pieces)] + [F(4, 4 ** (rounds - 1))]
        for box, high, low in zip(boxes, ends, ends[1:], strict=False):
            assert is_from_to(box["least_gradient"], low, high)
            assert is_from_to(box["least_client_progress"], (1 - 2 * F(2) ** (rounds - 1)) / 4, F(-1, 4))


@pytest.mark.parametrize(("instance", "why"), [
    (served(F(3), F(-1, 10**9)), "not on the same side"),
    (served(F(-3), F(1, 10**9)), "not on the same side"),
    (served(F(0), F(1)), "not on the same side"),
    (served(F(3), F(1), server_lr=F(1, 2)), "past its target"),
    (served(F(3), F(1), local_lr=F(1, 2)), "past its target"),
    (served(F(3), F(1), local_lr=F(5, 4), local_steps=2), "away from it"),
])  # fmt: skip
def test_every_round_of_runs_of_another_kind(instance: Numbers, why: str) -> None:
    with working_precision(), pytest.raises(Undecided, match=why):
        every_round(instance.way(DRAWN))


def test_rounds_that_end_near_their_targets() -> None:
    """A share of 1 - 10^-6 is below 1."""
    near = F(1, 2) - F(1, 2 * 10**6)
    for changes in ({"local_lr": near}, {"server_lr": near}):
        instance = replace(served(F(3), F(1)), **changes, rounds=2)
        with working_precision():
            assert all(ball.is_finite() for box in every_round(instance.way(DRAWN)) for ball in box.values())


# Progress at any x ---------------------------------------------------------------------------------------------------

WHOLE = st.integers(1, 9)


@given(hessians=st.lists(st.tuples(WHOLE, WHOLE), min_size=2, max_size=3), y=st.tuples(*[st.integers(-9, 9)] * 2),
       who=st.sampled_from([[0], [1], [0, 1]]))  # fmt: skip
def test_what_the_progress_is_between_at_any_x(hessians, y, who) -> None:
    """G_4/G_3 word for word, of clients with one minimiser, is between the ends, which the axes attain."""
    fed, centre = Quadratic(hessians, [[3, F(1, 2)]] * len(hessians), gradient_noise=1), np.array([F(3), F(1, 2)])
    algorithm = safari(client_round_probability=1, local_lr=F(1, 50), server_lr=F(1, 50))
    setting = Setting(fed, algorithm, Fixed(who), start=[0, 0])
    low, high = progress_everywhere(setting)
    found = []
    for x in (centre + np.array(step) for step in (y, (1, 0), (0, 1))):
        losses = [h @ ((x - centre) ** 2) / 2 for h in np.array(hessians, dtype=object)[who]]
        gradient = np.array(hessians, dtype=object).sum(0) * F(1, len(hessians)) * (x - centre)
        if gradient.any():
            found.append(F(sum(losses)) / len(who) / (gradient @ gradient))
    assert all(low <= ratio <= high for ratio in found)
    assert low == min(found[-2:]) and high == max(found[-2:])
    anyone = progress_everywhere(replace(setting, participation=LargestNoise(1)))
    assert anyone[0] <= low and high <= anyone[1]


def test_progress_that_depends_on_x_is_not_bounded_at_any_x() -> None:
    """Where a participant's gradient is not 0 at x*, and then whoever else can take part."""
    algorithm = safari(client_round_probability=1, local_lr=F(1, 50), server_lr=F(1, 50))
    apart = Quadratic([[1], [1], [1]], [[F(1, 10**9)], [F(-1, 10**9)], [0]])
    for who, bounded in (
        (Fixed([0]), False), (Fixed([0, 1]), True), (Fixed([2]), True), (Fixed([0, 1, 2]), True),
        (Phases([[0, 1], [1, 0]], [1, 3], cyclic=True), True), (Phases([[0, 1], [0, 2]], [1, 3], cyclic=True), False),
        (LargestNoise(2), False),
    ):  # fmt: skip
        found = progress_everywhere(Setting(apart, algorithm, who))
        assert found == ((F(1, 2), F(1, 2)) if bounded else None)
    assert progress_everywhere(Setting(Quadratic([[[2, 1], [1, 2]]], [[0, 0]]), algorithm, Fixed([0]))) is None


# Minima of every run -------------------------------------------------------------------------------------------------


def noisy_pair(**changes) -> Setting:
    """Two identical clients 2 (x - 1)^2/2 with skewed noise, and a server with noise of its own."""
    given = {
        "noise": "two-point 2",
        "server_noise": 3,
        "gradient_noise": 1,
        "centres": [1, 1],
        "share": F(1, 2),
    } | changes
    fed = Quadratic.common_hessian(given["centres"], 2, given["gradient_noise"], given["noise"], given["server_noise"])
    steps = {"local_lr": F(1, 3), "server_lr": F(2, 5)} | given.get("steps", {})
    return Setting(fed, safari(client_round_probability=given["share"], local_steps=2, **steps), Fixed([0]), start=[3])


def least_boxes(setting: Setting, order: tuple[int, ...] = ()) -> list:
    return boxes_of(Way(setting, 4, order), INDICES[0], {"least_server_gradient", "least_arbitrary_pseudogradient"})


def test_minima_of_every_run_are_below_what_any_round_can_be() -> None:
    """By all kinds and noises of three rounds; and 0 is not excluded, as a run may come to x* between two rounds."""
    setting, clients, servers = noisy_pair(), [F(2), F(-1, 2)], [F(6), F(-3, 2)]
    squares = {"server": [], "client": []}

    def follow(y: F, rounds: int) -> None:
        if rounds:
            squares["server"].append((2 * y) ** 2)
            for noise in servers:
                follow(y - F(2, 5) * (2 * y + noise), rounds - 1)
            for noise in clients:
                halfway = y - F(1, 3) * (2 * y + noise)
                squares["client"].append((2 * y + 2 * halfway) ** 2)
                for later in clients:
                    follow(halfway - F(1, 3) * (2 * halfway + later), rounds - 1)

    follow(F(2), 3)
    with working_precision():
        (box,) = least_boxes(setting)
    for name, kind in (("least_server_gradient", "server"), ("least_arbitrary_pseudogradient", "client")):
        assert float(box[name].upper()) >= max(map(float, squares[kind])) and box[name].contains(0)
        assert float(box[name].upper()) <= 4 * max(map(float, squares[kind]))


@pytest.mark.parametrize(("changes", "why"), [
    ({"noise": "gaussian"}, "noise that is bounded"), ({"centres": [1, 2]}, "identical clients"),
    ({"share": 1}, "minimum is over no rounds"), ({"steps": {"local_lr": F(2, 3)}}, "moves past its target"),
    ({"steps": {"server_lr": F(2, 3)}}, "moves past its target"),
])  # fmt: skip
def test_minima_of_other_noisy_runs_are_not_known(changes, why: str) -> None:
    with working_precision(), pytest.raises(Undecided, match=why):
        least_boxes(noisy_pair(**changes))
    with working_precision(), pytest.raises(Undecided, match="minimum is over no rounds"):
        least_boxes(noisy_pair(), (1,))


def test_a_slack_that_is_affine_is_least_at_a_corner() -> None:
    names = ["least_server_gradient", "least_arbitrary_pseudogradient"]
    g, h = symbols(*names)
    with working_precision():
        box = {names[0]: interval(0, F(5)), names[1]: interval(F(1), F(3))}
        for slack, least in ((g - g / 3 - g / 4, 0), (2 * h - g / 10 - h, F(1, 2)), (h - g / 4, None),
                             (7 - g - h / 2, F(1, 2)), (3 + g * 0, 3)):  # fmt: skip
            found = _at_lowest(slack, names)(box, {})
            assert found is None if least is None else abs(float(found) - least) < 1e-8
        for slack in (g / h, g * h, 1 / (1 + g), g**2):
            assert _at_lowest(slack, names) is None
