"""The worst order of participants: against all orders, in Fractions, by a loop of its own."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fedtheory as ft
from fedtheory.federations import Quadratic
from fedtheory.moments.averages import form_of
from fedtheory.moments.worst_order import Order, worst_orders
from fedtheory.setting import Setting

STAGES = 6


def error(setting: Setting, sets: tuple[tuple[int, ...], ...], stay: int, summed: bool = False) -> Fraction:
    """|grad F|^2 after these rounds, or its sum after every stage, by gradient steps; no snapshots, no noise."""
    fed, lr = setting.federation, setting.algorithm.local_lr
    x, total = setting.exact_start, Fraction(0)
    for members in sets:
        for _ in range(stay):
            ends = []
            for i in members:
                y = x
                for _ in range(setting.algorithm.local_steps):
                    y = y - lr * (fed.exact_hessians[i] @ (y - fed.exact_centres[i]))
                ends.append(y)
            x = sum(ends) / Fraction(len(ends))
        gradient = fed.exact_hessian @ (x - fed.exact_optimum)
        total = total + gradient @ gradient if summed else gradient @ gradient
    return total


def run(fed: Quadratic, lr: str, start: list, local_steps: int = 1) -> Setting:
    algorithm = ft.algorithms.fast(cohort=1, local_lr=lr, local_steps=local_steps, snapshot_probability=0)
    return Setting(fed, algorithm, ft.participation.Fixed([0]), start=start)


LINES = {
    "overshooting": (Quadratic.common_hessian([1, -2, 1]), "19/10", [0], 1),
    "gentle": (Quadratic.common_hessian([1, -2, 1]), "1/3", [-4], 2),
    "other Hessians": (Quadratic([[1], [3], [2]], [[1], [-1], [2]]), "3/5", [1], 1),
    "three steps": (Quadratic([[1], [3], [2]], [[1], [-1], [2]]), "3/5", ["1/2"], 3),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("stay", [1, 2])
def test_on_a_line_no_order_is_worse(name: str, stay: int) -> None:
    setting = run(*LINES[name])
    form = form_of(setting.federation, "squared_gradient").astype(float)
    best = worst_orders(setting, [(0,), (1,), (2,)], STAGES, stay, form)[0]
    everything = [error(setting, sets, stay) for sets in product([(0,), (1,), (2,)], repeat=STAGES)]
    assert error(setting, best.sets, stay) == max(everything)
    assert best.value == pytest.approx(float(max(everything)))


def test_on_a_line_of_pairs_with_snapshots() -> None:
    """The mean of a run with random snapshots: against all orders of pairs, by the exact mean."""
    fed = Quadratic.common_hessian([1, -2, 4])
    algorithm = ft.algorithms.fast(cohort=1, local_lr="9/5", snapshot_probability="1/4")
    setting = Setting(fed, algorithm, ft.participation.Fixed([0, 1]), start=[3])
    pairs = [(0, 1), (0, 2), (1, 2)]
    best = worst_orders(setting, pairs, 5, 1, np.eye(1))[0]

    def mean(sets: tuple) -> Fraction:
        y = setting.exact_start[0] - fed.exact_optimum[0]
        for members in sets:
            centre = sum(fed.exact_centres[list(members), 0]) / 2 - fed.exact_optimum[0]
            y = y - Fraction(9, 5) * (y - Fraction(3, 4) * centre)
        return y * y

    assert mean(best.sets) == max(mean(sets) for sets in product(pairs, repeat=5))


@pytest.mark.parametrize("summed", [False, True])
def test_in_a_plane_the_beam_is_near(summed: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(6):
        fed = Quadratic(rng.integers(1, 5, (3, 2)).tolist(), rng.integers(-3, 4, (3, 2)).tolist())
        setting = run(fed, "2/5", rng.integers(-2, 3, 2).tolist())
        form = form_of(fed, "squared_gradient").astype(float)
        best = worst_orders(setting, [(0,), (1,), (2,)], STAGES, 1, form, summed)[0]
        everything = max(error(setting, sets, 1, summed) for sets in product([(0,), (1,), (2,)], repeat=STAGES))
        reached = error(setting, best.sets, 1, summed)
        assert best.value == pytest.approx(float(reached))
        assert float(everything) * 0.97 <= reached <= everything


def test_the_process_is_the_order() -> None:
    """Run-length phases, and the cycle in which it ends, bring the same sets as the order."""
    order = Order(((0,), (1,), (1,)) + ((0,), (2,)) * 20, 3, 1.0)
    process = order.process()
    assert [process.sets[int(process.phase(np.array(r)))] for r in range(43 * 3)] == [
        members for members in order.sets for _ in range(3)
    ]
    cycle = order.cycle()
    assert cycle is not None and cycle.sets == ((0,), (2,)) and cycle.lengths == (3, 3) and cycle.cyclic
    assert Order(((0,),) * 40, 1, 1.0).cycle() is None
    assert Order(((0,), (1,)) * 3, 1, 1.0).cycle() is None  # too short to tell


def test_whole_periods() -> None:
    algorithm = ft.algorithms.fast(cohort=2, local_lr="1/2", snapshot_period=2)
    setting = Setting(Quadratic.common_hessian([1, -1]), algorithm, ft.participation.Fixed([0]))
    with pytest.raises(ValueError, match="stay = 3: allowed is a multiple of the period, 2"):
        worst_orders(setting, [(0,), (1,)], 4, 3, np.eye(1))
    assert len(worst_orders(setting, [(0,), (1,)], 4, 4, np.eye(1))[0].sets) == 4
