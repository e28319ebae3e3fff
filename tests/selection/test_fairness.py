"""Other objectives and stationary policies: against a general solver, their certificates, and repeated rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedtheory.selection import fair, offvar, stationary

A = np.random.default_rng(1).poisson([0.4, 1, 3, 4], (12, 4))
K = np.array([3, 2, 5, 0, 1, 8, 2, 3, 3, 4, 2, 30])
W = np.array([0.3, 0.2, 0.1, 0.4])


def general_solver(alpha, r_min=0.0):
    import cvxpy as cp

    r = cp.Variable(A.shape, nonneg=True)
    s = cp.sum(r, axis=0) / len(A)
    if alpha == math.inf:
        objective = cp.min(cp.multiply(1 / W, s))
    elif alpha == 1:
        objective = W @ cp.log(s)
    else:
        objective = W @ cp.power(s, 1 - alpha) / (1 - alpha)
    return cp.Problem(cp.Maximize(objective), [r <= A, cp.sum(r, axis=1) <= K, s >= r_min]).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("alpha", [0.5, 1, 2, 3, math.inf])
@pytest.mark.parametrize("r_min", [0, 0.25])
def test_alpha_fair(alpha, r_min):
    if alpha == math.inf and r_min:
        with pytest.raises(ValueError, match=r"r_min = 0.25: allowed is 0 for alpha = infinity"):
            fair(A, K, W, alpha, r_min)
        return
    solution = fair(A, K, W, alpha, r_min)
    assert solution.objective == pytest.approx(solution.upper_bound, rel=1e-12)
    assert solution.objective == pytest.approx(general_solver(alpha, r_min), rel=1e-5)  # to the solver's tolerance
    plan = solution.plan()
    assert (plan <= A + 1e-9).all()
    assert (plan.sum(axis=1) <= K + 1e-9).all()
    assert plan.mean(axis=0) == pytest.approx(solution.participation, rel=1e-12)
    assert solution.participation.min() >= r_min * (1 - 1e-15)


def test_one_answer_for_the_whole_family():
    """Weights p^alpha make the level weights p: variance, entropy and max-min fairness then agree."""
    best = offvar(A, K, W).participation
    assert len(offvar(A, K, W).blocks) > 1
    for alpha in (0.5, 1, 2, 4):
        powered = W**alpha / (W**alpha).sum()
        assert fair(A, K, powered, alpha).participation == pytest.approx(best, rel=1e-12)
    assert fair(A, K, W, math.inf).participation == pytest.approx(best, rel=1e-12)
    assert not np.allclose(fair(A, K, W, 2).participation, best, rtol=1e-3)


def test_max_min_goes_on_after_the_first_block():
    """Raising the least is not all: no group can be raised without lowering one that has no more."""
    solution = fair(A, K, W, math.inf)
    level = solution.participation / W
    assert len(solution.blocks) > 1
    assert solution.objective == pytest.approx(level.min(), rel=1e-14)
    assert sorted(level) == pytest.approx(np.sort(solution.level), rel=1e-12)


def test_stationary_policy_is_offvar_on_a_typical_trace():
    """States in proportions 1 : 2 : 5, each that often: the policy's long-term participation is the trace's optimum."""
    states, budgets = [[4, 0, 2], [1, 3, 0], [0, 2, 5]], [3, 2, 4]
    p = [0.5, 0.3, 0.2]
    policy = stationary(states, budgets, [0.125, 0.25, 0.625], p)
    repeated = np.repeat([0, 1, 2], [1, 2, 5])
    best = offvar(np.array(states)[repeated], np.array(budgets)[repeated], p)
    assert policy.participation == pytest.approx(best.participation, rel=1e-12)
    assert policy.objective == pytest.approx(best.objective, rel=1e-12)
    assert (policy.rates <= np.array(states)).all()
    assert (policy.rates.sum(axis=1) <= np.array(budgets) + 1e-12).all()
    assert np.array([0.125, 0.25, 0.625]) @ policy.rates == pytest.approx(policy.participation, rel=1e-12)
    p = [0.2, 0.7, 0.1]  # group 0 is held up by the least
    with_least = stationary(states, budgets, [0.125, 0.25, 0.625], p, r_min=0.6)
    assert with_least.participation == pytest.approx(
        offvar(np.array(states)[repeated], np.array(budgets)[repeated], p, 0.6).participation, rel=1e-12
    )
    assert with_least.participation.min() == pytest.approx(0.6, rel=1e-12)


def test_impossible_states_do_not_count():
    policy = stationary([[1, 1], [9, 9]], [1, 9], [1, 0], [0.5, 0.5])
    assert policy.participation.tolist() == [0.5, 0.5]
    assert policy.rates[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fair(A, K, W, 0), "alpha = 0: allowed is a number above 0"),
        (lambda: fair(A, K, W, "2"), "alpha = '2': allowed is a number above 0"),
        (lambda: fair(A, K, W, math.nan), "alpha = nan"),
        (lambda: fair(A, K, W, 1e-4), r"alpha = 0.0001: 0.3\^\(1/alpha\), for the weight of group 0, is below"),
        (lambda: fair(A, K, [0.3, 0.2, 0.5 - 1e-9, 1e-9], 0.02), "weight of group 3, is below the smallest number"),
        (lambda: fair(A, K, W, 1e4), "alpha = 10000.0: U overflows; allowed is a smaller alpha, or infinity"),
        (
            lambda: stationary([[1, 1]], 1, [0.9], [0.5, 0.5]),
            r"probability = \[0.9\] sums to 0.9",
        ),
        (
            lambda: stationary([[1, 1]], 1, [1, 0], [0.5, 0.5]),
            r"probability has shape \(2,\)",
        ),
        (lambda: stationary([[1, 0]], 1, [1], [0.5, 0.5]), "group 1 has weight 0.5 but is never available"),
    ],
)
def test_wrong_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
