"""FedAU's exact left sides against Algorithms 1 and 2 carried out word by word, over every participation and every sign
of every noise, in Fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory.claims.balls import working_precision
from fedtheory.claims.undecided import Undecided
from fedtheory.subjects.fedau import weights as fedau_weights
from fedtheory.subjects.fedau.exact import (
    EstimatedWeights,
    FedauRun,
    GivenWeights,
    attendances,
    expected_increase,
    given_sums,
    in_balls,
    largest_divergence,
    largest_drift,
    minimiser,
    squared_gradient_bound,
    stays_in,
)
from fedtheory.subjects.fedau.quantities import largest_weights
from fedtheory.subjects.fedau.weights import (
    estimated_sum,
    estimated_summary,
    given_summary,
    largest_weight_error,
    largest_weight_scale,
    law_given_weights,
    participation_given_scale,
    weight_states,
)
from fedtheory.weights import largest_scale, weight_moments

# Algorithms 1 and 2, literally ----------------------------------------------------------------------------------------


def algorithm_2(attendance: list[tuple[int, ...]], cutoff: float) -> list[list[F]]:
    """The weights of rounds 0 to len(attendance), by the paper's running average, client by client."""
    clients = len(attendance[0])
    columns = []
    for n in range(clients):
        M, S, omega = 0, 0, F(1)
        column = [omega]
        for t in range(1, len(attendance) + 1):
            S += 1
            if attendance[t - 1][n] == 1 or cutoff == S:
                omega = F(S) if M == 0 else (M * omega + S) / F(M + 1)
                M, S = M + 1, 0
            column.append(omega)
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def chance(run: FedauRun, attendance: tuple[tuple[int, ...], ...]) -> F:
    product = F(1)
    for row in attendance:
        for p, here in zip(run.probabilities, row, strict=True):
            product *= p if here else 1 - p
    return product


def histories(run: FedauRun, rounds: int) -> Iterator[tuple[F, tuple[tuple[int, ...], ...]]]:
    rows = list(itertools.product((0, 1), repeat=run.clients))
    for attendance in itertools.product(rows, repeat=rounds):
        if probability := chance(run, attendance):
            yield probability, attendance


def weights_along(run: FedauRun, attendance: tuple[tuple[int, ...], ...]) -> list[tuple[F, ...]]:
    if isinstance(run.weights, GivenWeights):
        return [run.weights.rows[t % len(run.weights.rows)] for t in range(len(attendance) + 1)]
    return [tuple(row) for row in algorithm_2(list(attendance), run.weights.cutoff)]


def algorithm_1(run: FedauRun, rounds: int) -> Iterator[tuple[F, list[list[F]], list[list[F]], list[tuple[F, ...]]]]:
    """(probability, x_0..x_rounds, all local iterates, weights) of every run; noise is +-sigma/sqrt(D), D a square."""
    root = {1: 1, 4: 2}[run.dimension]
    for probability, attendance in histories(run, rounds):
        weights = weights_along(run, attendance)
        draws = sum(map(sum, attendance)) * run.local_steps * run.dimension
        for signs in itertools.product((-1, 1), repeat=draws if run.gradient_noise else 0):
            noise = iter(signs)
            x, path, locals_ = list(run.start), [list(run.start)], []
            for t, row in enumerate(attendance):
                step = [F(0)] * run.dimension
                for n in (n for n, here in enumerate(row) if here):
                    y = list(x)
                    for _ in range(run.local_steps):
                        for d in range(run.dimension):
                            xi = next(noise) * run.gradient_noise / root if run.gradient_noise else F(0)
                            y[d] -= run.local_lr * (run.curvatures[n][d] * y[d] + run.slopes[n][d] + xi)
                        locals_.append(list(y))
                    step = [s + weights[t][n] * (b - a) for s, a, b in zip(step, x, y, strict=True)]
                x = [a + run.global_lr / run.clients * s for a, s in zip(x, step, strict=True)]
                path.append(list(x))
            yield probability / 2 ** len(signs), path, locals_, weights


def squared_gradient(run: FedauRun, phi: tuple[F, ...], x: list[F]) -> F:
    rows = run.gradients(x)
    return sum((sum((w * row[d] for w, row in zip(phi, rows, strict=True)), F(0)) ** 2
                for d in range(run.dimension)), F(0))  # fmt: skip


def value(run: FedauRun, phi: tuple[F, ...], x: list[F]) -> F:
    return sum((w * (h * v * v / 2 + g * v) for w, hs, gs in zip(phi, run.curvatures, run.slopes, strict=True)
                for h, g, v in zip(hs, gs, x, strict=True)), F(0))  # fmt: skip


def brute_sum(run: FedauRun, phi: tuple[F, ...]) -> F:
    return sum((p * sum(squared_gradient(run, phi, x) for x in path)
                for p, path, _, _ in algorithm_1(run, run.rounds - 1)), F(0))  # fmt: skip


# Runs -----------------------------------------------------------------------------------------------------------------

ROWS = ((F(3), F(1, 2)), (F(1), F(2)))
TWO = FedauRun(
    curvatures=((F(1),), (F(3, 2),)), slopes=((F(1),), (F(-2),)), start=(F(2),), gradient_noise=F(1, 3),
    probabilities=(F(1, 3), F(4, 5)), weights=GivenWeights(ROWS), local_steps=1, local_lr=F(1, 4), global_lr=F(3, 5),
    rounds=3,
)  # fmt: skip
ONE = replace(TWO, curvatures=((F(3, 2),),), slopes=((F(-1),),), probabilities=(F(2, 5),), local_steps=2, rounds=4,
              weights=GivenWeights(((F(5, 2),),)))  # fmt: skip
PLANE = replace(
    TWO, curvatures=((F(1), F(2), F(1), F(3)),) * 2, slopes=((F(1), F(0), F(2), F(1)), (F(-1), F(3), F(0), F(1))),
    start=(F(2), F(-1), F(0), F(1)), rounds=2,
)  # fmt: skip
RUNS = {
    "rows of weights": TWO,
    "three rounds of two rows": replace(TWO, gradient_noise=F(0), local_steps=3, rounds=4),
    "local steps with noise": ONE,
    "four dimensions": PLANE,
    "estimated": replace(TWO, weights=EstimatedWeights(2)),
    "estimated, more steps": replace(ONE, weights=EstimatedWeights(2)),
    "estimated, longer": replace(TWO, gradient_noise=F(0), weights=EstimatedWeights(3), rounds=5),
    "estimated, no cutoff": replace(ONE, gradient_noise=F(0), weights=EstimatedWeights(np.inf), rounds=7),
    "estimated, one always there": replace(TWO, probabilities=(F(1), F(1, 5)), weights=EstimatedWeights(3)),
}


@pytest.mark.parametrize("name", RUNS)
def test_sums_of_squared_gradients_are_those_of_all_runs(name: str) -> None:
    run = RUNS[name]
    for phi in (run.equal, tuple(F(n + 1, run.clients * (run.clients + 1) // 2) for n in range(run.clients))):
        expected = brute_sum(run, phi)
        if isinstance(run.weights, GivenWeights):
            assert given_sums(run, phi, [run.rounds])[0] == expected
        else:
            assert estimated_sum(run, phi) == expected


@pytest.mark.parametrize("name", RUNS)
def test_floats_and_balls_agree_with_fractions(name: str) -> None:
    """In floats up to 1e-13: a few rounds lose a few units of 2^-53."""
    run = RUNS[name]
    given = isinstance(run.weights, GivenWeights)

    def sums(of: FedauRun) -> object:
        return given_sums(of, of.equal, [of.rounds])[0] if given else estimated_sum(of, of.equal)

    exact = sums(run)
    assert float(sums(run.in_floats())) == pytest.approx(float(exact), rel=1e-13)
    with working_precision():
        enclosed = sums(in_balls(run)).value
        assert enclosed.contains(exact.numerator * enclosed**0 / exact.denominator)
        assert float(enclosed.rad()) < 1e-60


def test_many_rounds_by_powers() -> None:
    """Two rows of weights, all horizons up to 40 one after the other; 10^6 rounds in floats and in balls."""
    horizons = list(range(1, 41))
    sums = given_sums(TWO, TWO.equal, horizons)
    later = replace(TWO, weights=GivenWeights(ROWS[::-1]))
    assert sums[6] == given_sums(TWO, TWO.equal, [7])[0] != given_sums(later, TWO.equal, [7])[0]
    differences = [b - a for a, b in itertools.pairwise([F(0), *sums])]
    # Markov chain of period 2: each class of rounds settles.
    assert abs(differences[39] - differences[37]) < abs(differences[5] - differences[3])
    with working_precision():
        long = float(given_sums(in_balls(TWO), TWO.equal, [10**6])[0].value)
    assert given_sums(TWO.in_floats(), TWO.equal, [10**6])[0] == pytest.approx(long, rel=1e-9)


def test_a_constant_row_is_a_cycle_of_one() -> None:
    constant = replace(TWO, weights=GivenWeights(ROWS[:1]))
    twice = replace(TWO, weights=GivenWeights(ROWS[:1] * 2))
    assert given_sums(constant, TWO.equal, [5]) == given_sums(twice, TWO.equal, [5])


def test_estimated_weights_with_cutoff_1_are_weights_of_1() -> None:
    ones = replace(TWO, weights=GivenWeights(((F(1), F(1)),)), rounds=5)
    assert estimated_sum(replace(ones, weights=EstimatedWeights(1)), TWO.equal) == given_sums(ones, TWO.equal, [5])[0]


# One round ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [TWO, ONE, PLANE, replace(TWO, curvatures=((F(-1),), (F(0),)))])
def test_the_increase_of_a_round_is_that_of_all_its_runs(run: FedauRun) -> None:
    phi = (F(1, 4), F(3, 4)) if run.clients == 2 else (F(1),)
    runs = list(algorithm_1(run, 1))
    expected = sum((p * value(run, phi, path[1]) for p, path, _, _ in runs), F(0)) - value(run, phi, run.start)
    assert expected_increase(run, phi, run.weights.rows[0], attendances(run.probabilities)) == expected


@pytest.mark.parametrize("run", [TWO, ONE, PLANE, replace(TWO, curvatures=((F(-2),), (F(1),)), local_steps=3)])
def test_the_drift_is_that_of_all_local_iterates(run: FedauRun) -> None:
    """By local training of one client at a time, where every iterate is seen."""
    largest = F(0)
    for n in range(run.clients):
        alone = replace(run, curvatures=run.curvatures[n : n + 1], slopes=run.slopes[n : n + 1], probabilities=(F(1),),
                        weights=GivenWeights(((F(1),),)))  # fmt: skip
        runs = list(algorithm_1(alone, 1))
        for i in range(run.local_steps):
            drifts = [p * sum((a - b) ** 2 for a, b in zip(ys[i], run.start, strict=True)) for p, _, ys, _ in runs]
            largest = max(largest, sum(drifts))
    assert largest_drift(run) == largest


def test_the_divergence_by_hand() -> None:
    """Gradients at 2: 2 + 1 and 3 - 2; their mean with weights 1/4 and 3/4 is 3/2."""
    assert largest_divergence(TWO, (F(1, 4), F(3, 4))) == F(9, 4)


# What weights tell ----------------------------------------------------------------------------------------------------

TOLD = [
    (replace(ONE, probabilities=(F(9, 10),)), 2, ((0,), (1,))),
    (replace(ONE, probabilities=(F(9, 10),)), 3, ((0,), (0,), (1,))),
    (replace(ONE, probabilities=(F(1, 4),)), 2, ((0,), (0,))),
    (TWO, 3, ((1, 0), (0, 1), (1, 1))),
    (TWO, 2, ((1, 0),)),
    (TWO, 2, ()),
]


@pytest.mark.parametrize(("run", "cutoff", "history"), TOLD)
def test_who_took_part_given_the_weights(run: FedauRun, cutoff: int, history: tuple) -> None:
    run = replace(run, weights=EstimatedWeights(cutoff), history=history)
    known = algorithm_2(list(history), cutoff) if history else []
    chances: dict[tuple[int, ...], F] = {}
    for probability, attendance in histories(run, max(1, len(history))):
        if not history or algorithm_2(list(attendance), cutoff) == known:
            chances[attendance[0]] = chances.get(attendance[0], F(0)) + probability
    whole = sum(chances.values())
    expected = {who: p / whole for who, p in chances.items()}
    law = (
        {who: p for p, who in law_given_weights(run)} if history else {w: p for p, w in attendances(run.probabilities)}
    )
    assert law == expected


def test_later_weights_tell_that_a_client_was_away() -> None:
    """omega_2 = 2 means absence in round 0, for any cutoff from 2 on."""
    for cutoff in (2, 3, 7, np.inf):
        run = replace(ONE, probabilities=(F(9, 10),), weights=EstimatedWeights(cutoff), history=((0,), (1,)))
        assert law_given_weights(run) == [(1, (0,))]


def test_an_impossible_history_is_refused() -> None:
    run = replace(ONE, probabilities=(F(1),), weights=EstimatedWeights(2), history=((0,), (1,)))
    with pytest.raises(ValueError, match="history: allowed is one that has a positive probability"):
        law_given_weights(run)


# Summaries of weights -------------------------------------------------------------------------------------------------

CASES = [((F(1, 2), F(1)), 2, 5), ((F(9, 10), F(1, 5)), 3, 5), ((F(1, 3),), np.inf, 7), ((F(1, 4), F(1, 4)), 1, 3),
         ((F(1), F(1)), 4, 3), ((F(9, 10),), 3, 3), ((F(1, 2),), 6, 2)]  # fmt: skip


@pytest.mark.parametrize(("p", "cutoff", "rounds"), CASES)
def test_summaries_are_those_of_all_histories(p: tuple[F, ...], cutoff: float, rounds: int) -> None:
    run = replace(TWO, slopes=((F(0),),) * len(p), probabilities=p)
    error = expected = F(0)
    errors, scales = [], []
    by_scale: dict[F, list] = {}
    for probability, attendance in histories(run, rounds - 1):
        weights = algorithm_2(list(attendance), cutoff) if attendance else [[F(1)] * len(p)]
        of_rounds = [(sum((q * w - 1) ** 2 for q, w in zip(p, row, strict=True)) / len(p),
                      sum(q * w**2 for q, w in zip(p, row, strict=True)) / len(p)) for row in weights]  # fmt: skip
        error += probability * sum(e for e, _ in of_rounds) / rounds
        expected += probability * sum(s for _, s in of_rounds) / rounds
        errors.append(max(e for e, _ in of_rounds))
        scales.append(max(s for _, s in of_rounds))
        one = by_scale.setdefault(scales[-1], [F(0), [F(0)] * len(p)])
        one[0] += probability
        one[1] = [a + probability * b for a, b in zip(one[1], attendance[0], strict=True)]
    found = estimated_summary(p, cutoff, rounds)
    assert (found.error, found.expected_scale) == (error, expected)
    assert found.peak_error == largest_weight_error(p, cutoff, rounds) == max(errors)
    assert found.scale == largest_weight_scale(p, cutoff, rounds) == max(scales)
    told = participation_given_scale(p, cutoff, rounds)
    assert told == {Q: (whole, tuple(v / whole for v in present)) for Q, (whole, present) in by_scale.items()}


def test_summaries_agree_with_the_weights_package() -> None:
    """1e-12: what the generating functions were measured to be off by."""
    for p, cutoff, rounds in (((0.3, 0.9), 4, 30), ((0.05,), np.inf, 40)):
        found = estimated_summary(p, cutoff, rounds)
        moments = weight_moments(p, cutoff, rounds)
        assert found.error == pytest.approx(moments.average_error(), abs=1e-12)
        assert found.expected_scale == pytest.approx(moments.average_scale(), abs=1e-12 * 40**2)
        assert found.scale == pytest.approx(largest_scale(p, cutoff, rounds), rel=1e-14)


def test_given_summaries_by_hand() -> None:
    """p = (1/3, 4/5); p omega = (1, 2/5) in even rounds, (1/3, 8/5) in odd ones."""
    even, odd = F(9, 25) / 2, (F(4, 9) + F(9, 25)) / 2
    even_scale, odd_scale = (F(3) + F(1, 5)) / 2, (F(1, 3) + F(16, 5)) / 2
    found = given_summary(TWO, 3)
    assert (found.error, found.peak_error) == ((2 * even + odd) / 3, odd)
    assert (found.scale, found.expected_scale) == (max(even_scale, odd_scale), (2 * even_scale + odd_scale) / 3)
    first = given_summary(TWO, 1)
    assert (first.error, first.peak_error, first.scale, first.expected_scale) == (even, even, even_scale, even_scale)


def test_states_that_are_too_many_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fedau_weights, "LARGEST_STATES", 200)
    with pytest.raises(Undecided, match="more than 200 states"):
        list(weight_states((0.5, 0.5), np.inf, 10))
    with pytest.raises(Undecided, match="more than 200 states"):
        estimated_sum(replace(TWO.in_floats(), weights=EstimatedWeights(np.inf), rounds=10), (0.5, 0.5))
    assert len(list(weight_states((0.5,), np.inf, 10))) == 10


# Where runs stay ------------------------------------------------------------------------------------------------------

BOXED = replace(TWO, curvatures=((F(3, 2),), (F(3, 2),)))
"""One curvature."""


@pytest.mark.parametrize(
    "run",
    [
        BOXED,
        replace(BOXED, weights=GivenWeights(((F(5), F(3)),)), gradient_noise=F(3)),
        replace(ONE, weights=EstimatedWeights(2), gradient_noise=F(5), rounds=3),
        replace(
            PLANE,
            curvatures=((F(1), F(2), F(1), F(3)),) * 2,
            gradient_noise=F(0),
            weights=GivenWeights(ROWS[1:]),
            rounds=3,
        ),
    ],
)
def test_no_run_leaves_its_box(run: FedauRun) -> None:
    """The largest |grad f| at any global or local iterate of any run."""
    assert stays_in(run, largest_weights(run))
    bound = squared_gradient_bound(run)
    seen = [squared_gradient(run, run.equal, x) for _, path, ys, _ in algorithm_1(run, run.rounds) for x in path + ys]
    assert max(seen) <= bound <= 40 * max(seen)  # and the box is not absurdly large


def test_the_box_by_hand() -> None:
    """f' = 3 x/2 - 1/2 is 5/2 at the start 2, and -3/2 and 3/2 at the minimisers -2/3 and 4/3, moved by 1/3."""
    assert squared_gradient_bound(BOXED) == max(F(5, 2) ** 2, (F(3, 2) + F(1, 3)) ** 2)


def test_larger_steps_leave_it() -> None:
    """The shares of both clients: 3/8 * 3/5 * (sum of weights)/2 <= 1 up to a sum of 80/9."""
    for total, stays in ((F(80, 9), True), (F(81, 9), False)):
        assert stays_in(BOXED, (total - 1, F(1))) == stays
    assert not stays_in(replace(BOXED, local_lr=F(1), global_lr=F(1, 100)), (F(1), F(1)))
    with pytest.raises(Undecided, match="one positive curvature"):
        squared_gradient_bound(TWO)


def test_without_a_minimum_there_is_none() -> None:
    with pytest.raises(ValueError, match="no unique minimiser"):
        minimiser(replace(TWO, curvatures=((F(1),), (F(-1),))), TWO.equal)
