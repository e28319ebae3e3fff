"""Worst cases that are known, bounds from below by exact errors, and how values depend on what they are asked for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedtheory as ft
from fedtheory.algorithms import fast, fedavg, fedprox, safari
from fedtheory.participation import Fixed, Uniform
from fedtheory.worstcase import (
    Arbitrary,
    Cohort,
    Problem,
    Recursion,
    ServerStep,
    additive_constant,
    best_steps,
    convex,
    local_sgd,
    mixture,
    plan_of,
    quadratic,
    smooth,
    solver,
    strongly_convex,
    worst_case,
)
from tests.work import counted

STRONG = strongly_convex(smoothness=2, strong_convexity="1/5")
STEEP = strongly_convex(smoothness=1, strong_convexity="1/5")
QUADRATIC = quadratic(smoothness=2, strong_convexity="1/5")
rates = st.integers(1, 60).map(lambda k: Fraction(k, 100))


def value(functions, algorithm, **options):
    found = worst_case(functions, algorithm, **options)
    assert found.status == "solved", found
    assert found.lower <= found.upper + 1e-6 * max(1.0, abs(found.upper))
    return found.value


@settings(max_examples=12)
@given(rates, st.integers(1, 3))
def test_one_client_is_gradient_descent(lr, steps):
    """E|x_K - x*|^2 <= max((1 - lr mu)^2, (1 - lr L)^2)^K, and no less (Taylor, Hendrickx and Glineur 2018)."""
    rate = float(max((1 - lr / 5) ** 2, (1 - lr * 2) ** 2))
    assert value(STRONG, local_sgd(local_lr=lr, local_steps=steps), clients=1) == pytest.approx(rate**steps, rel=1e-7)


def test_gradient_descent_on_convex_functions():
    """F(x_N) - F* <= L |x_0 - x*|^2 / (4 N + 2) for steps 1/L, and no less (Drori and Teboulle 2014, Theorem 3.1)."""
    found = value(convex(smoothness=2), local_sgd(local_lr="1/2"), rounds=3, metric="final_gap", clients=1)
    assert found == pytest.approx(2 / 14, rel=1e-7)
    many = value(
        convex(smoothness=2), local_sgd(local_lr="1/2"), rounds=3, metric="final_gap", dissimilarity_at_optimum=3
    )
    assert many == pytest.approx(2 / 14, rel=1e-6)  # one local step: whose gradients are averaged makes no difference


def test_one_local_step_has_no_additive_constant():
    tau = Fraction(81, 100)
    one = additive_constant(STRONG, local_sgd(local_lr="1/2"), contraction=tau + Fraction(1, 10**6))
    assert one.status == "solved" and abs(one.value) < 1e-6
    two = additive_constant(STRONG, local_sgd(local_lr="1/4", local_steps=2), contraction=tau)
    assert two.value > 1e-3
    assert (
        additive_constant(STRONG, local_sgd(local_lr="1/2"), contraction=tau - Fraction(1, 100)).status == "unbounded"
    )


def test_the_number_of_clients_does_not_matter_where_all_take_part():
    training = local_sgd(local_lr="1/4", local_steps=3)
    values = [value(STRONG, training, clients=m, dissimilarity_at_optimum=1) for m in (None, 2, 3, 1000)]
    assert max(values) - min(values) < 1e-9
    assert value(STRONG, training, clients=1, dissimilarity_at_optimum=1) < min(values) - 1e-3
    everyone = [local_sgd(local_lr="1/4", local_steps=3, participants=who(3)) for who in (Cohort, Arbitrary)]
    assert [value(STRONG, each, clients=3, dissimilarity_at_optimum=1) for each in everyone] == pytest.approx(
        values[:2]
    )


@settings(max_examples=10)
@given(st.data())
def test_exact_errors_of_quadratics_stay_below(data):
    """Any federation of quadratics on a line, under FedAvg, FAST and SAFARI."""
    clients = data.draw(st.integers(2, 4))
    share = st.integers(0, 10).map(lambda k: Fraction(k, 10))
    curvatures = [Fraction(1, 5) + Fraction(9, 5) * data.draw(share) for _ in range(clients)]
    slopes = [data.draw(share) - Fraction(1, 2) for _ in range(clients)]
    noise = data.draw(st.sampled_from([Fraction(0), Fraction(1, 2)]))
    federation = ft.federations.Quadratic.with_slopes(
        [[c] for c in curvatures], [[s] for s in slopes], gradient_noise=noise, server_noise=noise / 2
    )
    lr, steps = data.draw(rates), data.draw(st.integers(1, 3))
    size = data.draw(st.integers(1, clients))
    algorithm, who, given_ = data.draw(st.sampled_from([
        (fedavg(local_lr=lr, local_steps=steps), Uniform(size), {"cohort": size}),
        (fedprox(local_lr=lr, local_steps=steps, proximal=1), Fixed(range(clients)), {}),
        (fast(local_lr=lr, local_steps=steps, cohort=size, snapshot_probability="1/3"), Fixed(range(size)),
         {"arbitrary_cohort": size}),
        (safari(local_lr=lr, local_steps=steps, server_lr=lr / 2, client_round_probability="1/3"), Fixed(range(size)),
         {"arbitrary_cohort": size}),
    ]))  # fmt: skip
    setting = ft.Setting(federation, algorithm, who, start=Fraction(3))
    error = float(setting.exact([1]).squared_distance[0])
    constants = federation.constants()
    found = value(
        QUADRATIC, algorithm, clients=clients, distance=abs(Fraction(3) - federation.exact_optimum[0]),
        dissimilarity_at_optimum=constants["dissimilarity_at_optimum"].value, gradient_noise=noise,
        server_noise=noise / 2, **given_,
    )  # fmt: skip
    assert error <= found * (1 + 1e-7) + 1e-9


def test_noise_of_one_step_is_known():
    """|x - lr (g + noise) - x*|^2: the deterministic rate, and lr^2 sigma^2 over the clients that are averaged."""
    one = local_sgd(local_lr="1/4")
    quiet = value(STRONG, one)
    for clients in (1, 4):
        found = worst_case(STRONG, one, clients=clients, gradient_noise=3)
        assert found.value == pytest.approx(quiet + 9 / 16 / clients, rel=1e-6) and found.kind == "upper bound"
    drawn = local_sgd(local_lr="1/4", participants=Cohort(2))
    assert value(STRONG, drawn, clients=4, gradient_noise=3) >= quiet + 9 / 16 / 2 - 1e-6
    server = worst_case(STRONG, ServerStep(Fraction(1, 4)), server_noise=3)
    assert server.value == pytest.approx(quiet + 9 / 16, rel=1e-6)
    assert server.recursion.of_server_noise == 1 / 16


def test_where_nothing_is_unknown():
    """From x* with one Hessian for all: nothing moves but by noise."""
    for functions in (strongly_convex(smoothness=1, strong_convexity=1), quadratic(smoothness=1, strong_convexity=1)):
        assert value(functions, local_sgd(local_lr="1/4", local_steps=2), distance=0) == 0


@settings(max_examples=25)
@given(st.data())
def test_noise_on_quadratics_is_what_exact_errors_say(data):
    """In one round: of clients with one Hessian, the curvature from a grid at which noise leaves the most."""
    clients = data.draw(st.integers(1, 4))
    lr, steps = data.draw(st.integers(1, 19).map(lambda k: Fraction(k, 10))), data.draw(st.integers(1, 4))
    size, pull = data.draw(st.integers(1, clients)), data.draw(st.sampled_from([0, Fraction(1, 2)]))
    algorithm, who, options = data.draw(st.sampled_from([
        (fedprox(local_lr=lr, local_steps=steps, proximal=pull), Uniform(size), {"cohort": size}),
        (fedprox(local_lr=lr, local_steps=steps, proximal=pull), Fixed(range(clients)), {}),
        (fast(local_lr=lr, local_steps=steps, cohort=size, snapshot_probability="1/3", replacement=True),
         Fixed([0]), {"arbitrary_cohort": 1}),
        (safari(local_lr=lr, local_steps=steps, server_lr=lr / 2, client_round_probability="1/3"), Fixed(range(size)),
         {"arbitrary_cohort": size}),
    ]))  # fmt: skip
    errors = []
    for k in range(10, 51):
        federation = ft.federations.Quadratic.common_hessian([Fraction(0)] * clients, Fraction(k, 50), Fraction(3, 2))
        setting = ft.Setting(federation, algorithm, who, start=Fraction(0))
        errors.append(float(setting.exact([1]).squared_distance[0]))
    functions = quadratic(smoothness=1, strong_convexity="1/5")
    found = worst_case(functions, algorithm, clients=clients, distance=0, gradient_noise="3/2", **options)
    assert max(errors) <= found.value * (1 + 1e-9) and found.value <= max(errors) * (1 + 1e-2)
    assert found.value == pytest.approx(found.recursion.of_noise * 9 / 4, rel=1e-9)
    apart = worst_case(functions, algorithm, clients=clients, dissimilarity_at_optimum=1, **options)
    both = worst_case(functions, algorithm, clients=clients, dissimilarity_at_optimum=1, gradient_noise="3/2",
                      **options)  # fmt: skip
    assert both.value == pytest.approx(apart.value + found.value, rel=1e-9)


@pytest.mark.parametrize(("clients", "cohort"), [(1, 1), (4, 2), (4, 4), (7, 1)])
@pytest.mark.parametrize("mu", [Fraction(1, 5), Fraction(1)])
def test_noise_on_quadratics_is_the_one_of_the_flattest(mu, clients, cohort):
    """Two steps on mu/2 |x|^2, from noise: lr^2 sigma^2 (1 + (1 - lr mu)^2) over the cohort; only second moments of it
    count there, so that the bound is attained."""
    lr = 0.25
    training = local_sgd(local_lr=lr, local_steps=2, participants=Cohort(cohort))
    noise = lr**2 * (1 + (1 - lr * float(mu)) ** 2) / cohort
    for distance in (0, 1):
        found = value(quadratic(smoothness=1, strong_convexity=mu), training, clients=clients, distance=distance,
                      gradient_noise=1)  # fmt: skip
        assert found == pytest.approx(noise + distance * (1 - lr * float(mu)) ** 4, rel=1e-6)


def test_noise_of_one_drawn_client_is_attained_with_large_steps():
    """Of one client, whose Hessian is L: what others' later gradients know of its noise must not count."""
    training = local_sgd(local_lr="19/10", local_steps=2, participants=Cohort(1))
    for functions in (STEEP, replace(STEEP, quadratic=True)):
        found = value(functions, training, clients=7, distance=0, gradient_noise=1)
        assert found == pytest.approx(1.9**2 * (1 + 0.9**2), rel=1e-6)


def test_proximal_terms_and_means_over_all_clients_on_one_function():
    """With L = mu every step is known: x_2 = x (1 - lr - lr (1 - lr)) + proximal lr^2 x; absent clients send 0."""
    one = strongly_convex(smoothness=1, strong_convexity=1)
    lr, pull = 0.25, 2.0
    found = value(one, fedprox(local_lr="1/4", local_steps=2, proximal=2))
    assert found == pytest.approx(((1 - lr) ** 2 + lr**2 * pull) ** 2, rel=1e-7)
    halved = value(one, fedavg(local_lr="1/4", local_steps=2, average="all", global_lr=3), clients=4, cohort=2)
    assert halved == pytest.approx((1 - 3 / 2 * (1 - (1 - lr) ** 2)) ** 2, rel=1e-7)


@settings(max_examples=8)
@given(rates, st.integers(1, 3), st.floats(0.1, 5), st.floats(1e-40, 3))
def test_the_recursion_bounds_every_start(lr, steps, distance, zeta):
    training = local_sgd(local_lr=lr, local_steps=steps)
    known = worst_case(STRONG, training, dissimilarity_at_optimum=1).recursion
    found = value(STRONG, training, distance=distance, dissimilarity_at_optimum=zeta)
    assert found <= known.after(1, distance=distance, dissimilarity_at_optimum=zeta) * (1 + 1e-6)


@settings(max_examples=6)
@given(rates, st.integers(1, 3), st.sampled_from([Fraction(1, 7), Fraction(50)]))
def test_units(lr, steps, factor):
    """Objectives times c with steps over c: the same distances, c times the gaps; lengths times c: c^2 times those."""
    training = local_sgd(local_lr=lr, local_steps=steps)
    scaled = strongly_convex(smoothness=2 * factor, strong_convexity=factor / 5)
    slower = local_sgd(local_lr=lr / factor, local_steps=steps)
    for metric, power in (("final_squared_distance", 0), ("final_gap", 1), ("final_squared_gradient", 2)):
        plain = value(STRONG, training, metric=metric, dissimilarity_at_optimum=1)
        same = value(scaled, slower, metric=metric, dissimilarity_at_optimum=factor)
        assert same == pytest.approx(plain * float(factor) ** power, rel=1e-6)
        longer = value(STRONG, training, metric=metric, distance=factor, dissimilarity_at_optimum=factor)
        assert longer == pytest.approx(plain * float(factor) ** 2, rel=1e-6)


def test_smaller_classes_have_smaller_worst_cases():
    training = local_sgd(local_lr="1/4", local_steps=3)
    of = {each: value(each, training, dissimilarity_at_optimum=1) for each in (QUADRATIC, STRONG, convex(smoothness=2))}
    assert of[QUADRATIC] < of[STRONG] < of[convex(smoothness=2)]
    narrow = strongly_convex(smoothness=2, strong_convexity=2)  # one Hessian: local steps are steps of the mean
    assert value(narrow, training, dissimilarity_at_optimum=1) == pytest.approx(0.5**6, rel=1e-7)
    assert value(narrow, training, metric="final_gap") == pytest.approx(0.5**6, rel=1e-7)


def test_a_dissimilarity_everywhere_is_a_smaller_class():
    training = local_sgd(local_lr="1/4", local_steps=3)
    at_optimum = value(STRONG, training, dissimilarity_at_optimum=1, distance=9)
    found = worst_case(STRONG, training, dissimilarity_at_optimum=1, distance=9, everywhere=True)
    assert found.value < at_optimum - 1e-3 and found.kind == "upper bound"


@pytest.mark.parametrize("lr", ["1/1000", "1/100000"])
def test_small_steps_are_accurate(lr):
    """1 - value is known to six digits where the step is as small as that."""
    training = local_sgd(local_lr=lr, local_steps=4)
    found = worst_case(STRONG, training, clients=2)
    rate = (1 - Fraction(lr) / 5) ** 8
    assert found.status == "solved" and (1 - found.value) == pytest.approx(float(1 - rate), rel=1e-6)


def test_small_values_are_accurate_too():
    """Beside a dissimilarity of 1000, a gap is known as well as without: one local step does not feel it."""
    one = local_sgd(local_lr="1/4")
    near = value(STRONG, one, metric="final_gap", clients=1)
    assert value(STRONG, one, metric="final_gap", dissimilarity_at_optimum=1000) == pytest.approx(near, rel=1e-5)
    drift = [additive_constant(STRONG, local_sgd(local_lr=lr, local_steps=2), contraction=1).value / float(lr) ** 3
             for lr in (Fraction(1, 1000), Fraction(1, 2000))]  # fmt: skip
    assert drift[0] == pytest.approx(drift[1], rel=1e-2)


def test_averages_of_one_round():
    """Over r = 0..R-1 the first round's average is about x_0."""
    found = value(STRONG, local_sgd(local_lr="1/4"), metric="average_gap", average="r = 0..R-1")
    assert found == pytest.approx(1.0, rel=1e-7)  # L/2 |x_0 - x*|^2
    later = value(STRONG, local_sgd(local_lr="1/4"), metric="average_gap")
    assert (
        later == pytest.approx(value(STRONG, local_sgd(local_lr="1/4"), metric="final_gap"), rel=1e-7) and later < found
    )


def test_dissimilarity_without_bound():
    assert (
        worst_case(STRONG, local_sgd(local_lr="1/4", local_steps=2), dissimilarity_at_optimum=None).status
        == "unbounded"
    )


def test_a_start_at_the_optimum_drifts():
    drift = value(STRONG, local_sgd(local_lr="1/4", local_steps=2), distance=0, dissimilarity_at_optimum=1)
    known = additive_constant(STRONG, local_sgd(local_lr="1/4", local_steps=2), contraction=10).value
    assert 0 < drift <= known + 1e-6
    assert value(STRONG, local_sgd(local_lr="1/4"), distance=0, dissimilarity_at_optimum=1) == pytest.approx(
        0, abs=1e-9
    )


# What is refused -----------------------------------------------------------------------------------------------------

REFUSED = [
    (lambda: strongly_convex(smoothness=1, strong_convexity=0), "`convex` is the class"),
    (lambda: strongly_convex(smoothness=1, strong_convexity=2), "strong_convexity = 2: allowed is"),
    (lambda: quadratic(smoothness=1, strong_convexity=2), "strong_convexity = 2: allowed is"),
    (lambda: quadratic(smoothness=1, strong_convexity=-1), "strong_convexity = -1: allowed is"),
    (lambda: strongly_convex(smoothness=1, strong_convexity=-1), "strong_convexity = -1: allowed is"),
    (lambda: strongly_convex(smoothness=1, strong_convexity=2), r"strong_convexity = 2: .* smoothness = 1"),
    (lambda: strongly_convex(smoothness=float("nan"), strong_convexity=1), "smoothness = nan: allowed is"),
    (lambda: convex(smoothness=0), "smoothness = 0: allowed is"),
    (lambda: smooth(smoothness=0), "smoothness = 0: allowed is"),
    (lambda: local_sgd(local_lr=0), "local_lr = 0: allowed is"),
    (lambda: local_sgd(local_lr=1, local_steps=0), "local_steps = 0: allowed is"),
    (lambda: local_sgd(local_lr=1, proximal=-1), "proximal = -1: allowed is"),
    (lambda: mixture(("1/2", local_sgd(local_lr=1))), "sum 1"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), rounds=0), "rounds = 0"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), metric="final_gradient"), "metric = 'final_gradient'"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), distance=-1), "distance = -1"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), gradient_noise=1), "needs clients"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), dissimilarity_at_optimum=1e-60), "allowed is 0, or at least"),
    (lambda: worst_case("strong", local_sgd(local_lr=1)), "functions = 'strong'"),
    (lambda: worst_case(STRONG, "fedavg"), "allowed are kinds|algorithm = 'fedavg'"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1, participants=Cohort(2))), "clients: needed with cohort = 2"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1, participants=Cohort(3)), clients=2), "cohort = 3: allowed is"),
    (lambda: worst_case(STRONG, fedavg(local_lr=1), clients=3, cohort=2, rounds=2), "Recursion.after"),
    (lambda: worst_case(STRONG, fedavg(local_lr=1), clients=3, cohort=2, metric="final_gap"), "random rounds"),
    (lambda: worst_case(STRONG, fast(cohort=1, local_lr=1, adaptivity=1), clients=2), "with_share"),
    (lambda: worst_case(STRONG, fast(cohort=1, local_lr=1, snapshot_period=2), clients=2, rounds=2), "are random"),
    (lambda: worst_case(STRONG, ft.algorithms.fedavgm(local_lr=1, momentum="1/2")), "plain server"),
    (lambda: worst_case(STRONG, ft.algorithms.mifa(local_lr=1)), "allowed is the mean"),
    (lambda: plan_of(fedavg(local_lr=1), clients=3, cohort=1, arbitrary_cohort=1), "at most one"),
    (lambda: plan_of(local_sgd(local_lr=1), clients=3, cohort=1), "their own ``participants``"),
    (lambda: plan_of([(1, local_sgd(local_lr=1))], clients=3, arbitrary_cohort=1), "their own ``participants``"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), rounds=10**9), "rounds = 1000000000: allowed is .* to 100000"),
    (lambda: local_sgd(local_lr=1, local_steps=10**9), "local_steps = 1000000000: allowed is .* to 100000"),
    (lambda: plan_of(fedavg(local_lr=1, local_steps=10**9)), "local_steps = 1000000000: allowed is .* to 100000"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), distance="1e200"), "distance: allowed is 0, or .* to 1e150"),
    (lambda: worst_case(STRONG, local_sgd(local_lr=1), distance="1e-200"), "distance: allowed is 0, or .* to 1e150"),
    (lambda: Recursion(0.5, 1.0).after(-1), "rounds = -1: allowed is"),
    (lambda: best_steps(STRONG, local_sgd, horizon=5, metric="final_gap"), "horizon = 5: allowed is 1, but for one"),
    (lambda: best_steps(STRONG, local_sgd, horizon=5, rounds=2), "horizon = 5: allowed is 1, but for one"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_bad_input_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_program_beyond_the_memory_is_refused_with_its_size():
    with pytest.raises(ValueError, match=r"needs about \d+ GiB, this machine has \d+ GiB"):
        worst_case(STRONG, local_sgd(local_lr="1/10", local_steps=100), rounds=10)


def test_an_inaccurate_solve_has_no_value():
    found = worst_case(STRONG, local_sgd(local_lr="1/4", local_steps=2), dissimilarity_at_optimum=1, accuracy=1e-30)
    assert (found.status, found.value, found.recursion) == ("inaccurate", None, None)
    assert found.gap > 0 and "inaccurate" in repr(found)


def test_scs_follows_where_clarabel_is_inaccurate(monkeypatch):
    problem = Problem(STRONG, plan_of(local_sgd(local_lr="1/4", local_steps=2)), dissimilarity_at_optimum=Fraction(1))
    program = problem.program()
    right = solver.solve(program)
    original = solver.clarabel
    monkeypatch.setattr(solver, "clarabel", lambda *given: replace(original(*given), dual=2.0))
    other = solver.solve(program, accuracy=1e-5)
    assert (right.solver, other.solver) == ("Clarabel", "SCS")
    assert other.dual == pytest.approx(right.dual, abs=1e-5)


def test_pairs_that_are_added_give_the_value_of_all_pairs(monkeypatch):
    training = local_sgd(local_lr="1/4", local_steps=3)
    whole = value(STRONG, training, rounds=2, metric="final_gap", dissimilarity_at_optimum=1)
    monkeypatch.setattr(solver, "ALL_PAIRS", 0)
    monkeypatch.setattr(solver, "first_pairs", lambda program, pairs: np.array([0 in (p, q) for _, p, q in pairs]))
    found = worst_case(STRONG, training, rounds=2, metric="final_gap", dissimilarity_at_optimum=1)
    assert found.value == pytest.approx(whole, rel=1e-7) and len(found.solution.pairs) < len(found.program.pairs)


def spent(steps: int, rounds: int) -> int:
    training = local_sgd(local_lr="1/20", local_steps=steps)
    with counted() as work:
        value(STEEP, training, rounds=rounds, dissimilarity_at_optimum=1)
    return work.calls


def test_two_steps_take_few_calls():
    value(STEEP, local_sgd(local_lr="1/20"))  # what is imported on first use
    assert spent(2, 1) < 20_000


@pytest.mark.slow
def test_eight_steps_in_four_rounds_take_little_more_than_four():
    assert spent(8, 4) < 25 * spent(4, 4)


@pytest.mark.parametrize("functions", [convex(smoothness=1), quadratic(smoothness=1)], ids=str)
def test_what_start_and_constants_bound_is_never_said_to_be_unbounded(functions):
    found = worst_case(functions, local_sgd(local_lr=1000, local_steps=2))  # (1 - 1000)^4 |x_0 - x*|^2
    assert found.status == "inaccurate" and found.value is None and found.recursion is None


def test_a_recursion_beyond_floats_is_infinite():
    assert Recursion(4.0, 1.0).after(10_000) == inf
    assert Recursion(4.0, 1.0).after(10_000, distance=0) == 0


def test_the_least_constant_does_not_depend_on_the_unit_of_length():
    found = []
    for a in (1, Fraction(10) ** 60):  # lengths times a, so that L is divided by a^2
        of = strongly_convex(smoothness=1 / Fraction(a) ** 2, strong_convexity=Fraction(1, 10) / a**2)
        one = additive_constant(of, local_sgd(local_lr=Fraction(a**2, 2), local_steps=3), contraction="19/20")
        found.append(one.value / float(a) ** 4)
    assert found[1] == pytest.approx(found[0], rel=1e-9)
