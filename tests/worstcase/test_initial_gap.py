"""Starts that are bounded by their gap, functions that are not convex, and constants that have a price."""

from __future__ import annotations

import warnings
from fractions import Fraction

import pytest
from PEPit import PEP, Expression
from PEPit.functions import SmoothConvexFunction, SmoothFunction

from fedtheory.worstcase import Arbitrary, Problem, convex, local_sgd, plan_of, smooth, solved, strongly_convex

from .reference import CLARABEL

MEAN_SQUARED_GRADIENT = {"metric": "average_squared_gradient", "average": "r = 0..R-1", "everywhere": True}
PRICED = {"dissimilarity_at_optimum": "zeta", "initial_gap": "gap"}


def ours(kind: str, rounds: int, prices: dict | None = None, zeta: object = "1/2", **options: object):
    who = options.pop("who", None)
    round_ = local_sgd(local_lr="1/5", local_steps=2, participants=who)
    plan = plan_of(round_, rounds, clients=4 if who else None)
    functions = smooth(smoothness=1) if kind == "smooth" else convex(smoothness=1)
    return solved(Problem(functions, plan, dissimilarity_at_optimum=Fraction(zeta), initial_gap=Fraction(1),
                          prices=prices or {}, **MEAN_SQUARED_GRADIENT | options))  # fmt: skip


def theirs(kind: str, rounds: int, prices: dict | None = None, zeta: float = 0.5, clients: int = 2, who=None) -> float:
    """With one function a client, mean squared gradient over x_0..x_{R-1}, L = 1."""
    problem, make = PEP(), {"smooth": SmoothFunction, "convex": SmoothConvexFunction}[kind]
    functions = [problem.declare_function(make, L=1.0) for _ in range(clients)]
    mean = sum(functions[1:], functions[0]) / clients
    best, points = mean.stationary_point(), [problem.set_initial_point()]
    for _ in range(rounds - 1):
        ends = []
        for f in functions[:who] if who else functions:
            y = points[-1]
            for _ in range(2):
                y = y - 0.2 * f.gradient(y)
            ends.append(y)
        points.append(sum(ends[1:], ends[0]) / len(ends))
    costs = {PRICED[name]: (float(price), Expression()) for name, price in (prices or {}).items()}
    of = {"gap": 1.0, "zeta": zeta**2} | {name: free for name, (_, free) in costs.items()}
    problem.set_initial_condition(mean(points[0]) - mean(best) <= of["gap"])
    for x in points:
        problem.add_constraint(mean.gradient(x) ** 2 / 2 <= mean(x) - mean(best))
    for x in [best, *points]:
        for f in functions:
            problem.add_constraint((f.gradient(x) - mean.gradient(x)) ** 2 <= of["zeta"])
    metric = sum((mean.gradient(x) ** 2 for x in points[1:]), mean.gradient(points[0]) ** 2) / rounds
    problem.set_performance_metric(metric - sum((p * free for p, free in costs.values()), 0.0 * of["gap"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem.solve(wrapper="cvxpy", verbose=0, **CLARABEL)


OF_ZETA, OF_GAP = {"dissimilarity_at_optimum": "3/10"}, {"initial_gap": "2"}


@pytest.mark.parametrize(("kind", "rounds", "clients", "prices"), [
    ("convex", 2, 2, None), ("convex", 2, 3, None), ("convex", 3, 2, OF_ZETA), ("convex", 3, 2, OF_GAP),
    ("smooth", 2, 2, None), ("smooth", 2, 3, None), ("smooth", 3, 2, OF_ZETA),
])  # fmt: skip
def test_agrees_with_pepit(kind, rounds, clients, prices):
    prices = {name: Fraction(value) for name, value in (prices or {}).items()}
    found = ours(kind, rounds, prices)
    assert found.status == "solved" and found.kind == "upper bound"
    expected = theirs(kind, rounds, prices, clients=clients)
    assert found.value == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_a_set_of_clients_agrees_with_pepit():
    """The same two of four in every round."""
    expected = theirs("convex", 2, clients=4, who=2)
    assert ours("convex", 2, who=Arbitrary(2)).value == pytest.approx(expected, rel=1e-6)
    assert expected > theirs("convex", 2, clients=4) * (1 + 1e-4)


def test_by_hand():
    """|grad F(x_0)|^2 <= 2 L (F(x_0) - F*), whatever the rounds are, of convex functions and of others; L = 3."""
    for functions in (convex(smoothness=3), smooth(smoothness=3)):
        plan = plan_of(local_sgd(local_lr="1/5"), 1)
        found = solved(Problem(functions, plan, initial_gap=Fraction(7), dissimilarity_at_optimum=Fraction(1),
                               **MEAN_SQUARED_GRADIENT))  # fmt: skip
        assert found.value == pytest.approx(2 * 3 * 7, rel=1e-6)
        assert found.recursion.of_gap == pytest.approx(6, rel=1e-6) and found.recursion.contraction == 0


def test_units():
    """With F -> c F and x -> s x, gaps grow by c, squared gradients by (c/s)^2 and step sizes by s^2/c."""
    c, s = Fraction(3), Fraction(1, 5)
    one = ours("convex", 3, {"dissimilarity_at_optimum": Fraction(3, 10)})
    plan = plan_of(local_sgd(local_lr=Fraction(1, 5) * s**2 / c, local_steps=2), 3)
    other = solved(Problem(convex(smoothness=c / s**2), plan, initial_gap=c, dissimilarity_at_optimum=c / s / 2,
                           prices={"dissimilarity_at_optimum": Fraction(3, 10)}, **MEAN_SQUARED_GRADIENT))  # fmt: skip
    assert other.value == pytest.approx(float(one.value * (c / s) ** 2), rel=1e-6)


def test_what_is_not_convex_is_worse():
    assert ours("smooth", 2).value > ours("convex", 2).value * (1 + 1e-4)


def test_a_price_is_a_multiplier():
    """At the price that the bounded program puts on zeta^2, the free one has the same multiplier of the gap."""
    bounded = ours("convex", 3).recursion
    free = ours("convex", 3, {"dissimilarity_at_optimum": Fraction(bounded.additive)})
    assert free.recursion.of_gap == pytest.approx(bounded.of_gap, rel=1e-5)
    assert free.recursion.additive == pytest.approx(bounded.additive)
    assert ours("convex", 3, {"dissimilarity_at_optimum": Fraction(0)}).status == "unbounded"


@pytest.mark.parametrize(("changes", "message"), [
    ({"initial_gap": Fraction(0)}, "initial_gap = 0: allowed is a number > 0"),
    ({"initial_gap": Fraction(1), "distance": Fraction(2)}, "without another start"),
    ({"initial_gap": Fraction(1), "contraction": Fraction(1)}, "without another start"),
    ({"initial_gap": Fraction(1), "metric": "final_squared_distance"}, "allowed with initial_gap is one of final_gap"),
    ({"prices": {"gradient_noise": Fraction(1)}}, "prices: 'gradient_noise': allowed with initial_gap"),
    ({"initial_gap": Fraction(1), "prices": {"distance": Fraction(1)}}, "prices: 'distance': allowed with"),
    ({"initial_gap": Fraction(1), "prices": {"gradient_noise": Fraction(1)}}, "gradient_noise = 0: allowed"),
    ({"initial_gap": Fraction(1), "prices": {"dissimilarity_at_optimum": Fraction(-1)}}, "= -1: allowed is"),
    ({"initial_gap": Fraction(1), "prices": {"initial_gap": 1, "dissimilarity_at_optimum": 1}}, "at least one"),
])  # fmt: skip
def test_refused(changes, message):
    plan = plan_of(local_sgd(local_lr="1/5"), 2)
    asked = {"metric": "average_squared_gradient", "dissimilarity_at_optimum": Fraction(1)} | changes
    with pytest.raises(ValueError, match=message):
        Problem(strongly_convex(smoothness=1, strong_convexity="1/2"), plan, **asked)


def test_functions_that_are_not_convex_need_a_gap():
    with pytest.raises(ValueError, match="initial_gap: needed where functions are not convex"):
        Problem(smooth(smoothness=1), plan_of(local_sgd(local_lr="1/5")))


def test_there_is_no_certificate_of_a_gap():
    with pytest.raises(ValueError, match="allowed for a certificate is a start at a distance"):
        ours("convex", 2).certificate()
