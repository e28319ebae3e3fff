"""What the strategies draw is accepted by what it is for, and covers the cases that matter."""

from __future__ import annotations

import importlib
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import find, given, settings
from hypothesis import strategies as st

from fedtheory.federations import Quadratic
from fedtheory.participation import Fixed, IndexBeta, Keys, Phases, Uniform, Weighted
from fedtheory.quantities import QUANTITIES
from fedtheory.randomness import Axis
from fedtheory.selection import offvar
from fedtheory.testing import (
    federations,
    participation_arrays,
    participation_processes,
    quantity_values,
    run_settings,
    selection_problems,
    weight_rules,
)
from fedtheory.weights import ExponentialAverage, FedAU, KnownStatistics


@settings(max_examples=50, deadline=None)
@given(participation_arrays(max_rounds=5, max_clients=2, max_replicas=3))
def test_arrays_are_masks_of_the_sizes_asked_for(history):
    rounds, replicas, clients = history.shape
    assert history.dtype == np.uint8 and set(np.unique(history)) <= {0, 1}
    assert 1 <= rounds <= 5 and 1 <= replicas <= 3 and 1 <= clients <= 2


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4).flatmap(lambda clients: st.tuples(st.just(clients), participation_processes(clients))))
def test_processes_run(drawn):
    clients, process = drawn
    state = process.init(Keys(seed=0, axis=Axis.COHORT, replica_ids=torch.arange(3), clients=clients))
    for round in range(3):
        counts, state = process.step(state, round)
        assert counts.shape == (3, clients) and (counts.sum(1) == process.cohort).all()


@pytest.mark.parametrize("kind", [Fixed, Phases, Uniform, Weighted, IndexBeta])
def test_every_process_is_drawn(kind):
    assert find(participation_processes(3), lambda process: isinstance(process, kind))


def test_phases_of_some_clients_are_drawn():
    found = find(participation_processes(3), lambda process: isinstance(process, Phases) and process.cohort == 1)
    assert found.sets == ((0,),) and not found.cyclic


@settings(max_examples=40, deadline=None)
@given(federations(clients=2))
def test_federations_have_constants(federation):
    assert federation.clients == 2 and federation.constants()["strong_convexity"].value > 0


def test_federations_with_one_hessian_and_with_several_are_drawn():
    alike = find(federations(clients=2), lambda f: np.isfinite(f.constants()["dissimilarity"].value))
    unlike = find(federations(clients=2), lambda f: not (f.hessians[0] == f.hessians[1]).all())
    assert isinstance(alike, Quadratic) and isinstance(unlike, Quadratic)


@settings(max_examples=60, deadline=None)
@given(weight_rules(), participation_arrays())
def test_rules_see_the_past_only(rule, history):
    weights = rule.batch(history)
    changed = history.copy()
    changed[-1] = 1 - changed[-1]
    assert weights.shape == history.shape and (weights == rule.batch(changed)).all()


@pytest.mark.parametrize("kind", [FedAU, ExponentialAverage, KnownStatistics])
def test_every_rule_is_drawn(kind):
    assert find(weight_rules(), lambda rule: isinstance(rule, kind))
    assert find(weight_rules(), lambda rule: rule.cutoff == math.inf)


@settings(max_examples=25, deadline=None)
@given(run_settings())
def test_settings_run_and_have_exact_errors(setting):
    errors = setting.exact([0, 3]).squared_distance
    assert errors[0] >= 0 and np.isfinite(errors).all()


@settings(max_examples=40, deadline=None)
@given(selection_problems())
def test_selection_problems_are_solved(problem):
    solution = offvar(**problem)
    assert (solution.totals > 0).all() and abs(solution.gap) < 1e-9 * max(1, solution.objective)


def test_strategies_say_what_they_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "fedtheory.testing.strategies")
    with pytest.raises(ImportError, match=r"strategies need hypothesis: pip install 'fedtheory\[testing\]'"):
        importlib.import_module("fedtheory.testing.strategies")


@pytest.mark.slow
@settings(max_examples=20, deadline=None, database=None)
@given(st.data())
def test_values_of_every_quantity_are_allowed(data):
    for name, quantity in QUANTITIES.items():
        quantity.check(data.draw(quantity_values(name)))


def test_step_sizes_are_small_and_other_quantities_of_order_one():
    seen = {name: [] for name in ("local_lr", "server_lr", "smoothness", "gradient_noise")}

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(st.data())
    def look(data):
        for name, values in seen.items():
            values.append(data.draw(quantity_values(name)))

    look()
    for name, values in seen.items():
        assert min(values) >= 0 and (max(values) <= Fraction(1, 3)) == name.endswith("lr"), name
