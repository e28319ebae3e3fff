"""What weighted rounds do, against Algorithms 1 and 2 carried out word by word, other exact moments and the engine."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from flint import arb

from fedtheory.algorithms import constant_weights, fedau, fedavg, given_weights, known_statistics
from fedtheory.claims.balls import Undecided, ball, working_precision
from fedtheory.claims.readings import OF_ALL_ROUNDS
from fedtheory.functionals import (
    AVERAGE_SQUARED_GRADIENT,
    AVERAGE_SQUARED_WEIGHTED_GRADIENT,
    AVERAGES,
    HISTORY,
    LOCAL_DRIFT,
    WEIGHTED_DIVERGENCE,
    WEIGHTED_INCREASE,
    Functional,
)
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, Unserved, left, quantity
from fedtheory.moments.expected_errors import exact_errors
from fedtheory.papers.fedau.exact import weight_states
from fedtheory.papers.fedau.exact.weight_states import law_given_weights, participation_given_scale
from fedtheory.papers.fedau.exact.weighted_run_evaluators import (
    IMPLIED,
    objective_of,
    squared_gradient_bound,
    stays_in,
)
from fedtheory.papers.fedau.exact.weighted_update_rounds import (
    Unfollowed,
    _advanced,
    advanced_in_floats,
    weighted_rounds,
)
from fedtheory.participation import Bernoulli, Markov
from fedtheory.setting import Setting

from .literally import (
    ONE,
    PLANE,
    ROWS,
    RUNS,
    STEPS,
    TWO,
    P,
    algorithm_1,
    algorithm_2,
    histories,
    made,
    squared_gradient,
    value,
)

FROM_0, FROM_1 = {"average": AVERAGES[1]}, {"average": AVERAGES[0]}


def asked(functional: Functional, setting: Setting, rounds: object, numbers: str = EXACT, **more: object) -> object:
    return left(functional, Question(setting, rounds, numbers=numbers, **more))


def brute_average(setting: Setting, rounds: int, phi: tuple[F, ...], first: int = 0) -> F:
    runs = algorithm_1(setting, rounds - 1 + first)
    return sum((p * sum(squared_gradient(setting, phi, x) for x in path[first:]) for p, path, _ in runs), F(0)) / rounds


# Runs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_averages_of_squared_gradients_are_those_of_all_runs(name: str) -> None:
    setting, rounds = RUNS[name]
    clients = setting.federation.clients
    for phi in ((F(1, clients),) * clients, tuple(F(2 * n + 2, clients * (clients + 1)) for n in range(clients))):
        found = asked(AVERAGE_SQUARED_GRADIENT, setting, rounds, reading=FROM_0, stated={"objective_weight": phi})
        assert found == brute_average(setting, rounds, phi)
    assert asked(AVERAGE_SQUARED_GRADIENT, setting, rounds, reading=FROM_0) == brute_average(
        setting, rounds, (F(1, clients),) * clients
    )


@pytest.mark.parametrize("name", ["rows of weights", "estimated", "local steps with noise"])
def test_the_average_from_the_first_round_on(name: str) -> None:
    setting, rounds = RUNS[name]
    phi = (F(1, setting.federation.clients),) * setting.federation.clients
    expected = brute_average(setting, rounds - 1, phi, first=1)
    assert asked(AVERAGE_SQUARED_GRADIENT, setting, rounds - 1, reading=FROM_1) == expected
    assert asked(AVERAGE_SQUARED_GRADIENT, setting, rounds - 1) == expected
    with pytest.raises(ValueError, match="average = 'all'"):
        asked(AVERAGE_SQUARED_GRADIENT, setting, 1, reading={"average": "all"})


@pytest.mark.parametrize("name", RUNS)
def test_floats_and_balls_agree_with_fractions(name: str) -> None:
    """In floats up to 1e-13: a few rounds lose a few units of 2^-53."""
    setting, rounds = RUNS[name]
    exact = asked(AVERAGE_SQUARED_GRADIENT, setting, rounds, reading=FROM_0)
    found = asked(AVERAGE_SQUARED_GRADIENT, setting, rounds, FLOAT, reading=FROM_0)
    assert isinstance(found, float) and found == pytest.approx(float(exact), rel=1e-13)
    with working_precision():
        enclosed = asked(AVERAGE_SQUARED_GRADIENT, setting, rounds, BALL, reading=FROM_0)
        assert isinstance(enclosed, arb) and enclosed.contains(ball(exact)) and float(enclosed.rad()) < 1e-60


@pytest.mark.parametrize("numbers", [FLOAT, EXACT])
@pytest.mark.parametrize("name", ["rows of weights", "estimated, longer"])
def test_many_horizons_at_once(name: str, numbers: str) -> None:
    setting, _ = RUNS[name]
    horizons = np.array([[1, 4], [2, 5]])
    found = asked(AVERAGE_SQUARED_GRADIENT, setting, horizons, numbers, reading=FROM_0)
    alone = [[asked(AVERAGE_SQUARED_GRADIENT, setting, int(T), numbers, reading=FROM_0) for T in row]
             for row in horizons]  # fmt: skip
    assert found.shape == (2, 2) and found.tolist() == pytest.approx(np.array(alone), rel=1e-14)


def test_implied_objective() -> None:
    """p omega = (1, 2/5): phi = (5/7, 2/7)."""
    setting = made(TWO, P, ROWS[:1])
    assert objective_of(Question(setting, numbers=EXACT, stated={"objective_weight": IMPLIED})) == (F(5, 7), F(2, 7))
    found = asked(AVERAGE_SQUARED_WEIGHTED_GRADIENT, setting, 3)
    assert found == brute_average(setting, 3, (F(5, 7), F(2, 7)))
    scaled = made(TWO, P, [[7 * w for w in ROWS[0]]], global_lr=F(3, 35))
    assert asked(AVERAGE_SQUARED_WEIGHTED_GRADIENT, scaled, 3) == found


def test_given_weights_have_the_moments_of_any_algorithm() -> None:
    """Fractions; and 1e-9 after 10^6 rounds in floats, 10^8 rounds of which settle."""
    setting = made(TWO, P, ROWS)
    for T in (1, 2, 5):
        theirs = exact_errors(setting, [T], exact=True).functional(AVERAGE_SQUARED_GRADIENT, AVERAGES[1])[0]
        assert asked(AVERAGE_SQUARED_GRADIENT, setting, T, reading=FROM_0) == theirs
    long = asked(AVERAGE_SQUARED_GRADIENT, setting, [10**6, 10**8], FLOAT, reading=FROM_0)
    theirs = exact_errors(setting, [10**6]).functional(AVERAGE_SQUARED_GRADIENT, AVERAGES[1])
    with working_precision():
        enclosed = asked(AVERAGE_SQUARED_GRADIENT, setting, 10**6, BALL, reading=FROM_0)
    assert long[0] == pytest.approx(theirs[0], rel=1e-9) and long[0] == pytest.approx(float(enclosed), rel=1e-9)
    assert long[1] == pytest.approx(long[0], rel=1e-4)


def test_known_probabilities_are_weights_of_their_reciprocals() -> None:
    known = Setting(made(TWO, P, 1).federation, known_statistics(**STEPS), Bernoulli(P), 2)
    given = made(TWO, P, [[1 / p for p in P]])
    assert asked(AVERAGE_SQUARED_GRADIENT, known, 4) == asked(AVERAGE_SQUARED_GRADIENT, given, 4)
    assert quantity("weight_error", Question(known, 4, numbers=EXACT)).value == 0


def test_estimated_weights_with_cutoff_1_are_weights_of_1() -> None:
    ones, cut = made(TWO, P, [[1, 1]]), made(TWO, P, 1)
    assert asked(AVERAGE_SQUARED_GRADIENT, ones, 5) == asked(AVERAGE_SQUARED_GRADIENT, cut, 5)
    assert asked(AVERAGE_SQUARED_WEIGHTED_GRADIENT, ones, 4) == asked(AVERAGE_SQUARED_WEIGHTED_GRADIENT, cut, 4)


def test_a_constant_row_is_a_cycle_of_one() -> None:
    """And of two rows it counts which comes first."""
    one, twice = (
        made(TWO, P, ROWS[:1]),
        replace(made(TWO, P, 1), algorithm=given_weights(aggregation_weight=ROWS[:1] * 2, **STEPS)),
    )
    assert asked(AVERAGE_SQUARED_GRADIENT, one, 5) == asked(AVERAGE_SQUARED_GRADIENT, twice, 5)
    first, second = (asked(AVERAGE_SQUARED_GRADIENT, made(TWO, P, rows), 7) for rows in (ROWS, ROWS[::-1]))
    assert first != second


def test_the_dissimilarity_of_one_hessian() -> None:
    """Slopes (1, 0) and (-1, 3), off their mean by (1, -3/2): a root that is irrational is a ball."""
    plane = {"curvatures": [[1, 2]] * 2, "slopes": [[1, 0], [-1, 3]]}
    question = Question(made(plane, P, ROWS, [2, -1]), 1, numbers=EXACT)
    with working_precision():
        assert (quantity("dissimilarity", question).value ** 2).contains(arb(13) / 4)
    assert quantity("dissimilarity", replace(question, numbers=FLOAT)).value == pytest.approx(math.sqrt(13) / 2)
    apart = Question(made(TWO, P, ROWS), 1, numbers=EXACT)
    with pytest.raises(Unserved, match="curvatures differ between clients, so it is infinite"):
        quantity("dissimilarity", apart)
    assert quantity("dissimilarity", replace(apart, numbers=FLOAT)).value == math.inf


def test_steps_may_be_stated() -> None:
    setting, other = made(TWO, P, ROWS), made(TWO, P, ROWS, local_lr=F(1, 9), global_lr=F(1, 2))
    stated = {"local_lr": F(1, 9), "global_lr": F(1, 2)}
    assert asked(AVERAGE_SQUARED_GRADIENT, setting, 3, stated=stated) == asked(AVERAGE_SQUARED_GRADIENT, other, 3)
    with working_precision():
        irrational = asked(AVERAGE_SQUARED_GRADIENT, setting, 3, BALL, stated={"local_lr": arb(2).sqrt() / 8})
    close = asked(AVERAGE_SQUARED_GRADIENT, setting, 3, FLOAT, stated={"local_lr": math.sqrt(2) / 8})
    assert float(irrational) == pytest.approx(close, rel=1e-13)


@pytest.mark.parametrize(
    "algorithm",
    [fedau(cutoff=2, **STEPS), given_weights(aggregation_weight=ROWS, **STEPS)],
    ids=["estimated", "given"],
)
def test_simulated_runs_have_that_mean(algorithm: object) -> None:
    """In bands of 99% for both (2.81 standard errors each)."""
    setting = replace(made(TWO, P, 1), algorithm=algorithm)
    sums = setting.simulate(replicas=8_000, rounds=6, seed=3).rows["squared_gradient_sum"][:, -1]
    found = asked(AVERAGE_SQUARED_GRADIENT, setting, 6, FLOAT, reading=FROM_0) * 6
    error = float(sums.std() / np.sqrt(len(sums)))
    assert abs(float(sums.mean()) - found) < 2.81 * error < 0.02 * found


# One round ------------------------------------------------------------------------------------------------------------

ROUNDS = {
    "two": made(TWO, P, ROWS[:1]),
    "one": made(ONE, [F(2, 5)], [[F(5, 2)]], local_steps=2),
    "plane": made(PLANE, P, ROWS[:1], [2, -1, 0, 1]),
    "no minimum": made(TWO | {"curvatures": [[-1], [0]]}, P, ROWS[:1]),
    "estimated": made(TWO | {"curvatures": [[-2], [1]]}, P, 3, local_steps=2),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_the_increase_of_a_round_is_that_of_all_its_runs(name: str) -> None:
    setting = ROUNDS[name]
    phi = (F(1, 4), F(3, 4)) if setting.federation.clients == 2 else (F(1),)
    runs = list(algorithm_1(setting, 1))
    expected = sum((p * value(setting, phi, path[1]) for p, path, _ in runs), F(0)) - value(setting, phi, runs[0][1][0])
    assert asked(WEIGHTED_INCREASE, setting, 1, stated={"objective_weight": phi}) == expected
    found = asked(WEIGHTED_INCREASE, setting, 1, FLOAT, stated={"objective_weight": phi})
    assert isinstance(found, float) and found == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("name", ROUNDS)
def test_the_drift_is_that_of_all_local_iterates(name: str) -> None:
    """By local training of one client at a time, where every iterate is seen."""
    setting, largest = ROUNDS[name], F(0)
    fed, steps = setting.federation, setting.algorithm.round.local_steps
    for n in range(fed.clients):
        rows = {"curvatures": [[h[d][d] for d in range(fed.dimension)] for h in fed.exact_hessians[n : n + 1]],
                "slopes": fed.exact_slopes[n : n + 1], "gradient_noise": fed.exact_gradient_noise}  # fmt: skip
        alone = made(rows, [F(1)], [[1]], setting.start, local_steps=steps)
        runs = list(algorithm_1(alone, 1))
        for i in range(steps):
            drifts = [p * sum((a - b) ** 2 for a, b in zip(ys[i], path[0], strict=True)) for p, path, ys in runs]
            largest = max(largest, sum(drifts))
    assert asked(LOCAL_DRIFT, setting, 1) == largest
    assert asked(LOCAL_DRIFT, setting, 1, FLOAT) == pytest.approx(float(largest), rel=1e-13)


def test_the_divergence_by_hand() -> None:
    """Gradients at 2: 2 + 1 and 3 - 2; their mean with weights 1/4 and 3/4 is 3/2, with weights 1/2 it is 2."""
    stated = {"objective_weight": (F(1, 4), F(3, 4))}
    assert asked(WEIGHTED_DIVERGENCE, ROUNDS["two"], 1, stated=stated) == F(9, 4)
    assert asked(WEIGHTED_DIVERGENCE, ROUNDS["two"], 1) == 1


def test_quantities_of_a_stated_objective_by_hand() -> None:
    """f~ = x^2 11/16 - 5/4 x: curvature 11/8, gradient 3/2 at 2, gap (3/2)^2 / (2 11/8) = 9/11."""
    question = Question(ROUNDS["two"], 1, numbers=EXACT, stated={"objective_weight": (F(1, 4), F(3, 4))})
    names = ("gradient_norm", "initial_gap", "least_objective_weight")
    assert [quantity(name, question).value for name in names] == [F(3, 2), F(9, 11), F(1, 4)]
    # p omega / 2 = (1/2, 1/5)
    assert quantity("objective_error", question).value == F(1, 16) + F(11, 20) ** 2
    assert quantity("update_weight", question).value == F(7, 10)
    with pytest.raises(Unserved, match="no unique minimiser"):
        quantity("initial_gap", replace(question, setting=ROUNDS["no minimum"]))
    irrational = Question(ROUNDS["plane"], 1, numbers=EXACT, stated={"objective_weight": (F(1), F(0))})
    with working_precision():
        norm = quantity("gradient_norm", irrational).value
        assert (norm**2).contains(arb(9 + 4 + 4 + 16))
    assert quantity("gradient_norm", replace(irrational, numbers=FLOAT)).value == pytest.approx(math.sqrt(33))


@pytest.mark.parametrize(
    ("objective", "message"),
    [((1,), "allowed are 2 numbers >= 0 with sum 1"), (("3/2", "-1/2"), "allowed are 2 numbers"),
     ((1, 1), "with sum 1"), ("mean", "objective_weight = 'mean': allowed are numbers, or 'implied'")],
)  # fmt: skip
def test_no_objective(objective: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        asked(WEIGHTED_DIVERGENCE, ROUNDS["two"], 1, stated={"objective_weight": objective})


# What weights tell ----------------------------------------------------------------------------------------------------

TOLD = [
    ([F(9, 10)], 2, ((0,), (1,))),
    ([F(9, 10)], 3, ((0,), (0,), (1,))),
    ([F(1, 4)], 2, ((0,), (0,))),
    (P, 3, ((1, 0), (0, 1), (1, 1))),
    (P, 2, ((1, 0),)),
]


@pytest.mark.parametrize(("p", "cutoff", "history"), TOLD)
def test_who_took_part_given_the_weights(p: list[F], cutoff: int, history: tuple) -> None:
    known = algorithm_2(list(history), cutoff)
    chances: dict[tuple[int, ...], F] = {}
    for probability, attendance in histories(p, len(history)):
        if algorithm_2(list(attendance), cutoff) == known:
            chances[attendance[0]] = chances.get(attendance[0], F(0)) + probability
    expected = {who: chance / sum(chances.values()) for who, chance in chances.items()}
    assert {who: chance for chance, who in law_given_weights(tuple(p), cutoff, history)} == expected
    # The increase of round 0, where the participants have this law.
    federation = {"curvatures": [[1]] * len(p), "slopes": [[n + 1] for n in range(len(p))], "gradient_noise": F(0)}
    setting, always = (made(federation, q, cutoff) for q in (p, [F(1, 2)] * len(p)))
    informed = asked(WEIGHTED_INCREASE, setting, 1, reading={"conditioning": OF_ALL_ROUNDS}, stated={HISTORY: history})
    phi = (F(1, len(p)),) * len(p)
    by_set = {who: value(always, phi, path[1]) - value(always, phi, path[0])
              for (_, path, _), (_, (who,)) in zip(algorithm_1(always, 1), histories([F(1, 2)] * len(p), 1),
                                                   strict=True)}  # fmt: skip
    assert informed == sum((chance * by_set[who] for who, chance in expected.items()), F(0))
    plain = asked(WEIGHTED_INCREASE, setting, 1, stated={HISTORY: history})
    assert plain == asked(WEIGHTED_INCREASE, setting, 1) == asked(
        WEIGHTED_INCREASE, setting, 1, reading={"conditioning": OF_ALL_ROUNDS}
    )  # fmt: skip


def test_later_weights_tell_that_a_client_was_away() -> None:
    """omega_2 = 2 means absence in round 0, for any cutoff from 2 on."""
    for cutoff in (2, 3, 7, math.inf):
        assert law_given_weights((F(9, 10),), cutoff, ((0,), (1,))) == [(1, (0,))]


def test_histories_that_are_refused() -> None:
    def informed(p: F, history: object) -> object:
        reading = {"conditioning": OF_ALL_ROUNDS}
        return asked(WEIGHTED_INCREASE, made(ONE, [p], 2), 1, reading=reading, stated={HISTORY: history})

    with pytest.raises(ValueError, match="history: allowed is one that has a positive probability"):
        informed(F(1), ((0,), (1,)))
    for history in (((0, 1),), ((2,),)):
        with pytest.raises(ValueError, match="allowed are rows of 1 entries 0 or 1"):
            informed(F(1, 2), history)


def test_what_the_scale_tells() -> None:
    """Against all histories; with the cutoff 1 it tells nothing."""
    for p, cutoff, rounds in (((F(1, 2), F(1, 3)), 2, 4), ((F(9, 10),), math.inf, 5), ((F(1, 2), F(1, 3)), 1, 3)):
        by_scale: dict[F, list] = {}
        for probability, attendance in histories(p, rounds - 1):
            weights = algorithm_2(attendance, cutoff)
            scale = max(sum(q * w**2 for q, w in zip(p, row, strict=True)) / len(p) for row in weights)
            one = by_scale.setdefault(scale, [F(0), [F(0)] * len(p)])
            one[0] += probability
            one[1] = [a + probability * b for a, b in zip(one[1], attendance[0], strict=True)]
        expected = {Q: (whole, tuple(v / whole for v in present)) for Q, (whole, present) in by_scale.items()}
        assert participation_given_scale(p, cutoff, rounds) == expected


# Where runs stay ------------------------------------------------------------------------------------------------------

BOXED = TWO | {"curvatures": [["3/2"], ["3/2"]]}
"""One curvature."""


@pytest.mark.parametrize(
    ("setting", "rounds"),
    [
        (made(BOXED, P, ROWS), 3),
        (made(BOXED, P, [[5, 3]], noise=F(3)), 3),
        (made(ONE, [F(2, 5)], 2, noise=F(5), local_steps=2), 3),
        (made(PLANE | {"curvatures": [[1, 2, 1, 3]] * 2}, P, ROWS[1:], [2, -1, 0, 1], noise=F(0)), 3),
    ],
)
def test_no_run_leaves_its_box(setting: Setting, rounds: int) -> None:
    """The largest |grad F| at any global or local iterate of any run."""
    question, phi = Question(setting, rounds, numbers=EXACT), (F(1, setting.federation.clients),)
    with working_precision():
        bound = quantity("global_gradient_bound", question).value
        square = squared_gradient_bound(weighted_rounds(question))
        assert bound**2 == square or (bound**2).contains(ball(square))
    in_floats = quantity("global_gradient_bound", replace(question, numbers=FLOAT)).value
    assert in_floats == pytest.approx(float(bound), rel=1e-14)
    seen = [squared_gradient(setting, phi * setting.federation.clients, x)
            for _, path, ys in algorithm_1(setting, rounds) for x in path + ys]  # fmt: skip
    assert max(seen) <= square <= 40 * max(seen)  # and the box is not absurdly large


def test_the_box_by_hand() -> None:
    """F' = 3 x/2 - 1/2 is 5/2 at the start 2, and -3/2 and 3/2 at the minimisers -2/3 and 4/3, moved by 1/3."""
    assert quantity("global_gradient_bound", Question(made(BOXED, P, ROWS), 3, numbers=EXACT)).value == F(5, 2)
    other = BOXED | {"slopes": [[-1], [3]]}  # gradients 3 x/2 + 1: 1 at 0; 2 and -2 at the minimisers
    for start, largest in ((0, F(2) + F(1, 3)), (-4, F(5))):
        assert (
            quantity("global_gradient_bound", Question(made(other, P, ROWS, start), 3, numbers=EXACT)).value == largest
        )
    lower = BOXED | {"slopes": [[4], [-1], [-1]], "curvatures": [["3/2"]] * 3}  # 2/3 - 4 is the farthest
    three = made(lower, [F(1, 2)] * 3, [[1] * 3], 0)
    assert quantity("global_gradient_bound", Question(three, 1, numbers=EXACT)).value == F(10, 3) + F(1, 3)
    noisy = Question(made(BOXED, P, ROWS, noise=F(2)), 3, numbers=EXACT)
    assert quantity("global_gradient_bound", noisy).value == F(3, 2) + 2


def test_larger_steps_leave_it() -> None:
    """The shares of both clients: 3/8 * 3/5 * (sum of weights)/2 <= 1 up to a sum of 80/9."""
    rounds = weighted_rounds(Question(made(BOXED, P, ROWS), 3, numbers=EXACT))
    for whole, stays in ((F(80, 9), True), (F(81, 9), False)):
        assert stays_in(rounds, (whole - 1, F(1))) == stays
        given = Question(made(BOXED, P, [[whole - 1, 1]]), 3, numbers=EXACT)
        if stays:
            assert quantity("global_gradient_bound", given).value > 0
        else:
            with pytest.raises(Unfollowed, match="the run may leave the region"):
                quantity("global_gradient_bound", given)
    long, short = (Question(made(BOXED, P, math.inf), T, numbers=EXACT) for T in (7, 5))  # weights up to 6, to 4
    assert quantity("global_gradient_bound", short).value == F(5, 2)
    with pytest.raises(Undecided, match="the run may leave the region"):
        quantity("global_gradient_bound", long)
    # One step would take more than the way; two steps of 1/2 take 15/16 of it, and 3/4 of a round would with one.
    alone = {"curvatures": [["3/2"]], "slopes": [[-1]]}
    for steps, lr, global_lr, stays in ((1, F(1), F(1, 100), False), (1, F(1, 2), F(4, 3), True),
                                        (2, F(1, 2), F(16, 15), True), (2, F(1, 2), F(17, 15), False)):  # fmt: skip
        one = made(alone, [F(1, 2)], [[1]], local_steps=steps, local_lr=lr, global_lr=global_lr)
        assert stays_in(weighted_rounds(Question(one, 1, numbers=EXACT)), (F(1),)) == stays
    certain = Question(made(BOXED, [1, F(4, 5)], math.inf), 8, numbers=EXACT)  # weights 1, and up to 7
    assert quantity("global_gradient_bound", certain).value == F(5, 2)
    with pytest.raises(Unfollowed, match="one positive curvature"):
        quantity("global_gradient_bound", Question(made(TWO, P, ROWS), 3))
    gaussian = made(BOXED | {"noise": "gaussian"}, P, ROWS)
    with pytest.raises(Unfollowed, match="may leave"):
        quantity("global_gradient_bound", Question(gaussian, 3))


# What is not followed -------------------------------------------------------------------------------------------------


def test_states_that_are_too_many_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_states, "LARGEST_STATES", 200)
    with pytest.raises(Undecided, match="more than 200 states"):
        asked(AVERAGE_SQUARED_GRADIENT, made(TWO, P, math.inf), 10, FLOAT)
    many = {"curvatures": [[1]] * 13, "slopes": [[1]] * 13}
    with pytest.raises(Unfollowed, match="clients = 13: all sets of at most 12 are looked at"):
        asked(AVERAGE_SQUARED_GRADIENT, made(many, [F(1, 2)] * 13, 2), 3, FLOAT)
    assert asked(AVERAGE_SQUARED_GRADIENT, made(many, [F(1, 2)] * 13, [[1] * 13]), 3, FLOAT) > 0


def test_settings_without_weighted_updates() -> None:
    here = made(TWO, P, 2)
    markov = replace(here, participation=Markov(["1/4", "1/2"], ["1/8", "1/4"]))
    mixed = {"curvatures": [[[2, 1], [1, 2]]] * 2, "slopes": [[1, 1]] * 2}
    with pytest.raises(Unserved, match="participation = Markov: allowed is Bernoulli"):
        asked(WEIGHTED_INCREASE, markov, 1)
    with pytest.raises(Unserved, match="allowed are quadratic federations with diagonal Hessians"):
        asked(WEIGHTED_INCREASE, made(mixed, P, 2), 1)
    with pytest.raises(Unserved, match="weights of updates: the algorithm has none of its own"):
        asked(WEIGHTED_INCREASE, replace(here, algorithm=fedavg(local_lr=1)), 1)
    with pytest.raises(Unserved, match="rounds: what is asked for is of a horizon"):
        asked(AVERAGE_SQUARED_GRADIENT, here, None)
    with pytest.raises(ValueError, match="rounds = 0: allowed are integers >= 1"):
        asked(AVERAGE_SQUARED_GRADIENT, here, 0)
    with pytest.raises(Unserved, match="estimated weights change"):
        asked(AVERAGE_SQUARED_WEIGHTED_GRADIENT, here, 3)
    with pytest.raises(Unserved, match="no unique minimiser"):
        asked(AVERAGE_SQUARED_GRADIENT, made(TWO | {"curvatures": [[1], [-1]]}, P, ROWS), 3)
    constant = replace(here, algorithm=constant_weights(aggregation_weight=[1, 1], **STEPS))
    assert asked(AVERAGE_SQUARED_WEIGHTED_GRADIENT, constant, 3) > 0


def test_all_horizons_at_once_are_each_alone() -> None:
    """To the bit, of given weights in floats: by binary powers of one horizon after the other."""
    rng = np.random.default_rng(3)
    for length in (1, 2, 3, 5):
        maps = rng.uniform(-0.25, 0.25, size=(length, 4, 4))
        maps[:, 3] = [0, 0, 0, 1]
        state, horizons = rng.normal(size=4), [0, 1, length, length + 1, 7, 100, 12345, 10**8]
        together = advanced_in_floats(maps, state, np.array(horizons))
        squares: list[np.ndarray] = []
        alone = [np.asarray(_advanced(list(maps), state, horizon, squares)) for horizon in horizons]
        assert together.tobytes() == np.array(alone).tobytes(), f"{length} maps"
