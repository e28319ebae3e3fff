"""Four rounds of every algorithm worked out by hand: two clients, one dimension, a round in which nobody takes part.

    F_1 = (x - 2)^2 / 2,  F_2 = (x + 1)^2,  local_lr = 1/4:  delta_1 = (2 - x)/4,  delta_2 = -(x + 1)/2  (one step),
    x_0 = 0, and who takes part: {1}, nobody, {1, 2}, {2}.

The numbers are dyadic unless a test says otherwise, so that floating point is exact.
"""

from __future__ import annotations

import math
from fractions import Fraction as Q

import pytest

from fedtheory import algorithms as algos
from fedtheory.algorithms import Algorithm
from fedtheory.federations import Quadratic
from fedtheory.participation import Participation, Recorded
from fedtheory.setting import Setting
from fedtheory.simulation.iterates import iterates

FEDERATION = Quadratic([[[1]], [[2]]], [[2], [-1]])
WHO = Recorded([[1, 0], [0, 0], [1, 1], [0, 1]])
LR = {"local_lr": "1/4"}


def run(algorithm: Algorithm, who: Participation = WHO, rounds: int = 4) -> list[float]:
    """x_1, x_2, ..."""
    return iterates(Setting(FEDERATION, algorithm, who), rounds=rounds)[1:, 0, 0].tolist()


EXACT = {
    # 0 + 1/2; stays; (3/8 - 3/4)/2 = -3/16; -(21/16)/2 = -21/32
    "participating": (algos.fedavg(**LR), [Q(1, 2), Q(1, 2), Q(5, 16), Q(-11, 32)]),
    # 0 + 2/2; stays; delta = 1/4, -1: 2 (-3/8); delta_2 = -5/8: 2 (-5/8)
    "global step": (algos.fedavg(**LR, global_lr=2), [Q(1), Q(1), Q(1, 4), Q(-1)]),
    # half of 1/2; stays; delta = 7/16, -5/8; delta_2 = -37/64
    "all": (algos.fedavg(**LR, average="all"), [Q(1, 4), Q(1, 4), Q(5, 32), Q(-17, 128)]),
    # two steps each, pulled back in the second one: 1/2, 3/4 (7/8 without); worked out below
    "proximal": (
        algos.fedprox(**LR, local_steps=2, proximal=1),
        [Q(3, 4), Q(3, 4), Q(7, 16), Q(-59, 128)],
    ),
    # v: 1/2; kept; 1/4 - 3/16 = 1/16; 1/32 - 25/32 = -3/4
    "momentum": (algos.fedavgm(**LR, momentum="1/2"), [Q(1, 2), Q(1, 2), Q(9, 16), Q(-3, 16)]),
    # v: 1/2, x = 1; kept; delta = 1/4, -1: v = 1/4 - 3/8 = -1/8; delta_2 = -(3/4 + 1)/2: v = -1/16 - 7/8
    "momentum, global step": (
        algos.fedavgm(**LR, momentum="1/2", global_lr=2),
        [Q(1), Q(1), Q(3, 4), Q(-9, 8)],
    ),
    # way 1/2; does not count; way 1/2 - 3/16 = 5/16, stretched to 15/16; a new way
    "amplified": (algos.fedamplify(**LR, period=2, global_lr=3), [Q(1, 2), Q(1, 2), Q(15, 16), Q(-1, 32)]),
    # weights (2, 1)/2: 1/2; stays; 3/8 - 3/8; -(3/4)/2
    "constant": (algos.constant_weights(**LR, aggregation_weight=[2, 1]), [Q(1, 2), Q(1, 2), Q(1, 2), Q(1, 8)]),
    # weights (2, 1)/2 in even rounds, (1, 3)/2 in odd ones, the empty one among them: 1/2; stays; 3/8 - 3/8; -9/8
    "given": (
        algos.given_weights(**LR, aggregation_weight=[[2, 1], [1, 3]]),
        [Q(1, 2), Q(1, 2), Q(1, 2), Q(-5, 8)],
    ),
    # weights 1/(2p) = (1, 2): 1/2; stays; 3/8 - 2 (3/4); 2 (-3/16)
    "known": (
        algos.known_statistics(**LR, participation_probability=["1/2", "1/4"]),
        [Q(1, 2), Q(1, 2), Q(-5, 8), Q(-1)],
    ),
    # omega = 1, 1 up to round 2, before which client 2 has no interval; then its interval is 3: 3 (-37/64)/2
    "fedau": (algos.fedau(**LR, cutoff=math.inf), [Q(1, 4), Q(1, 4), Q(5, 32), Q(-91, 128)]),
    # client 2's first interval is cut in round 1: omega = 2 in round 2; then the mean of 2 and 1
    "fedau, cutoff 2": (algos.fedau(**LR, cutoff=2), [Q(1, 4), Q(1, 4), Q(-5, 32), Q(-121, 256)]),
    # y = (1/2, 0); kept, and again 1/4; (3/8, -3/4); (3/8, -21/32)
    "mifa": (algos.mifa(**LR), [Q(1, 4), Q(1, 2), Q(5, 16), Q(11, 64)]),
    # y = (1/2, 0); kept; (7/16, -5/8); (7/16, -37/64)
    "mifa, staying": (algos.mifa(**LR, steps_when_empty=False), [Q(1, 4), Q(1, 4), Q(5, 32), Q(11, 128)]),
    # 0 + (1/2 - 0); stays; 1/4 + (-1/8 - 3/4)/2 = -3/16; -3/16 + (-21/32 + 3/4) = -3/32
    "fedvarp": (algos.fedvarp(**LR), [Q(1, 2), Q(1, 2), Q(5, 16), Q(7, 32)]),
    # 1/2; the mean 1/4 of y = (1/2, 0); 1/4 + (-3/16 - 7/8)/2 = -9/32; -9/32 + (-47/64 + 7/8) = -9/64
    "fedvarp, stepping": (algos.fedvarp(**LR, steps_when_empty=True), [Q(1, 2), Q(3, 4), Q(15, 32), Q(21, 64)]),
    "afl, cross-silo": (algos.afl(**LR), [Q(1, 4), Q(1, 4), Q(5, 32), Q(11, 128)]),
    "afl, cross-device": (
        algos.afl(**LR, variant="cross_device", global_lr=2),
        [Q(1), Q(1), Q(1, 4), Q(-1)],
    ),
}
# proximal, round 2, x = 3/4: client 1 goes to 17/16, then by -(17/16 - 2 + 5/16)/4 to 39/32; client 2 to -1/8, then by
# -(2 * 7/8 - 7/8)/4 to -11/32; the mean way is (15/32 - 35/32)/2 = -5/16. Round 3, x = 7/16: client 2 goes to -9/32,
# then by -(2 * 23/32 - 23/32)/4 to -59/128.


@pytest.mark.parametrize("name", EXACT)
def test_four_rounds_by_hand(name: str) -> None:
    algorithm, expected = EXACT[name]
    assert run(algorithm) == [float(x) for x in expected]


def test_adam_by_hand() -> None:
    """beta1 = 1/2, beta2 = 3/4, epsilon = 1/2, so v_0 = 1/4; Delta = 1/2, none, -3/16."""
    algorithm = algos.fedadam(**LR, global_lr=2, beta1="1/2", beta2="3/4", epsilon="1/2")
    # m = 1/4, v = 3/16 + 1/16, x = 2 (1/4)/(1/2 + 1/2); all stays; m = 1/8 - 3/32, v = 3/16 + 9/1024 = 201/1024
    third = 1 / 2 + 2 * (1 / 32) / (math.sqrt(201) / 32 + 1 / 2)
    delta = -(third + 1) / 2
    fourth = third + 2 * (1 / 64 + delta / 2) / (math.sqrt(3 / 4 * 201 / 1024 + delta**2 / 4) + 1 / 2)
    assert run(algorithm)[:2] == [0.5, 0.5]
    assert run(algorithm)[2:] == pytest.approx([third, fourth], rel=1e-14)  # a dozen roundings


FAST_SETS = {
    # {1, 2}, {2}, {1, 2}: Delta = (1/2 - 1/2)/2; -1/2; (5/8 - 1/4)/2 = 3/16
    "plain": ({}, [Q(0), Q(-1, 2), Q(-5, 16)]),
    # v = 0; -1/2; -1/4 + 3/16
    "momentum": ({"momentum": "1/2"}, [Q(0), Q(-1, 2), Q(-9, 16)]),
}


@pytest.mark.parametrize("name", FAST_SETS)
def test_fast_on_other_servers_by_hand(name: str) -> None:
    options, expected = FAST_SETS[name]
    algorithm = algos.fast(**LR, cohort=2, snapshot_period=2, **options)
    assert run(algorithm, Recorded([[0, 1]] * 3), 3) == [float(x) for x in expected]


def test_fast_on_fedprox_by_hand() -> None:
    """A snapshot from 0: client 1 goes to 1/2 and 3/4, client 2 to -1/2 and -1/2 - (1 - 1/2)/4 = -5/8."""
    algorithm = algos.fast(**LR, local_steps=2, cohort=2, snapshot_period=2, proximal=1)
    assert run(algorithm, Recorded([[0, 1]]), 1) == [1 / 16]


PLENTY = {"groups": [0, 1], "budget": 2, **LR}
"""Everybody available answers: the rates are the availabilities (1, 0), (0, 0), (1, 1), (0, 1)."""

FLICS = {
    # s^ = (1, 0), (1/2, 0), (2/3, 1/3), (1/2, 1/2) and p = 1/2: weights 1/2; -; 3/4, 3/2; 1
    "mean": ({}, [Q(1, 4), Q(1, 4), Q(-23, 64), Q(-87, 128)]),
    # all but the last round's two answers count as before; there the sum is halved: -39/128
    "divided": ({"divided": True}, [Q(1, 4), Q(1, 4), Q(-7, 128), Q(-135, 256)]),
    # s^ = (1/2, 1/2), then over the rounds from the second on: (0, 0), (1/2, 1/2), (1/3, 2/3): weights 1; -; 1, 1; 3/4
    "printed": ({"update": "printed", "start": "1/2"}, [Q(1, 2), Q(1, 2), Q(1, 8), Q(-19, 64)]),
    # s^ = (3/2, 1/2)/2, (3/2, 1/2)/3, (5/2, 3/2)/4, (5/2, 5/2)/5: weights 2/3; -; 4/5, 4/3; 1
    "start_counts": (
        {"update": "start_counts", "start": "1/2"},
        [Q(1, 3), Q(1, 3), Q(-2, 9), Q(-11, 18)],
    ),
    "received": ({"counts": "received"}, [Q(1, 4), Q(1, 4), Q(-23, 64), Q(-87, 128)]),
    "drawn": ({"answers": "drawn"}, [Q(1, 4), Q(1, 4), Q(-23, 64), Q(-87, 128)]),
    # p = (3/4, 1/4): weights 3/4; -; (9/8, 3/4); 1/2
    "weights": ({"group_weight": ["3/4", "1/4"]}, [Q(3, 8), Q(3, 8), Q(81, 256), Q(-13, 1024)]),
}


@pytest.mark.parametrize("name", FLICS)
def test_flics_by_hand(name: str) -> None:
    options, expected = FLICS[name]
    found = run(algos.flics_avg(**PLENTY, **options))
    assert found == pytest.approx([float(x) for x in expected], rel=1e-14)  # thirds


def test_given_estimates_are_constant_weights() -> None:
    """p/s^ = (1, 1/4) for both; divided, the third round's sum is halved."""
    given = {"groups": [0, 1], "estimate": ["1/2", 2], **LR}
    constant = run(algos.constant_weights(**LR, aggregation_weight=[2, "1/2"]))
    assert run(algos.weighted_groups(**given)) == constant
    divided = run(algos.weighted_groups(**given, divided=True))
    assert divided[:2] == constant[:2]
    assert divided[2] - divided[1] == (constant[2] - constant[1]) / 2


def test_flics_adam_is_adam_on_the_same_update() -> None:
    """Delta = 1/4 in the first round, so m = 1/8 and v = 1/16: x = (1/8)/(1/4 + 1/4)."""
    algorithm = algos.flics_adam(**PLENTY, global_lr=1, beta1="1/2", beta2=0, epsilon="1/4")
    assert run(algorithm)[:2] == [0.25, 0.25]


def test_naive_by_hand() -> None:
    """Plenty of budget: everybody who is available, and the plain mean."""
    found = run(algos.naive(**PLENTY | {"budget": 4}))
    assert found == run(algos.fedavg(**LR))
