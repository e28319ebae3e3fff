"""What claims ask of weights, against Algorithm 2 carried out word by word over all histories, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from flint import arb

from fedtheory.claims.balls import ball, working_precision
from fedtheory.claims.readings import GIVEN_AN_INTERVAL
from fedtheory.functionals import (
    AVERAGE_WEIGHT_ERROR,
    INTERVAL_MEAN,
    INTERVAL_VARIANCE,
    LONG_RUN_BIAS,
    NEGATED_INTERVAL_MEAN,
    NEGATED_INTERVAL_VARIANCE,
    ROUND_WEIGHT_ERROR,
)
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, Unserved, left, quantity
from fedtheory.papers.fedau.exact import weight_laws as laws
from fedtheory.papers.fedau.exact.weighted_update_rounds import Unfollowed
from fedtheory.participation import Fixed
from fedtheory.setting import Setting

from .literally import ROWS, TWO, P, algorithm_2, histories, made


def estimating(p: list[F], cutoff: float) -> Setting:
    return made({"curvatures": [[1]] * len(p), "slopes": [[0]] * len(p)}, p, cutoff)


def valued(name: str, setting: Setting, rounds: object = None, numbers: str = EXACT, **reading: str) -> object:
    return quantity(name, Question(setting, rounds, reading, numbers)).value


CASES = [((F(1, 2), F(1)), 2, 5), ((F(9, 10), F(1, 5)), 3, 5), ((F(1, 3),), math.inf, 7), ((F(1, 4), F(1, 4)), 1, 3),
         ((F(1), F(1)), 4, 3), ((F(9, 10),), 3, 3), ((F(1, 2),), 6, 2), ((F(0), F(1, 2)), 2, 5),
         ((F(2, 3),), 4, 1)]  # fmt: skip


@pytest.mark.parametrize(("p", "cutoff", "rounds"), CASES)
def test_summaries_are_those_of_all_histories(p: tuple[F, ...], cutoff: float, rounds: int) -> None:
    """Means over clients: of every round's error, of the last one's, and the extremes that some history attains."""
    setting, N = estimating(list(p), cutoff), len(p)
    average = scale = last = F(0)
    errors, scales = [], []
    for probability, attendance in histories(p, rounds - 1):
        weights = algorithm_2(attendance, cutoff) if attendance else [[F(1)] * N]
        of_rounds = [(sum((q * w - 1) ** 2 for q, w in zip(p, row, strict=True)) / N,
                      sum(q * w**2 for q, w in zip(p, row, strict=True)) / N) for row in weights]  # fmt: skip
        average += probability * sum(e for e, _ in of_rounds) / rounds
        scale += probability * sum(s for _, s in of_rounds) / rounds
        last += probability * of_rounds[-1][0]
        errors.append(max(e for e, _ in of_rounds))
        scales.append(max(s for _, s in of_rounds))
    question = Question(setting, rounds, numbers=EXACT)
    assert valued("weight_error", setting, rounds) == average == left(AVERAGE_WEIGHT_ERROR, question)
    assert valued("expected_weight_scale", setting, rounds) == scale
    assert left(ROUND_WEIGHT_ERROR, question) == last
    assert valued("peak_weight_error", setting, rounds) == max(errors)
    assert valued("weight_scale", setting, rounds) == max(scales)
    assert quantity("weight_scale", question).kind == "bound"
    # 1e-12: what the generating functions were measured to be off by.
    for name, exact in (("weight_error", average), ("expected_weight_scale", scale), ("weight_scale", max(scales))):
        assert valued(name, setting, rounds, FLOAT) == pytest.approx(float(exact), abs=2e-12)
    assert left(ROUND_WEIGHT_ERROR, replace(question, numbers=FLOAT)) == pytest.approx(float(last), abs=2e-12)
    with working_precision():
        enclosed = valued("weight_error", setting, rounds, BALL)
        assert isinstance(enclosed, arb) and enclosed.contains(ball(average))


@pytest.mark.parametrize(("p", "cutoff", "rounds"), [(F(1, 3), 3, 3), (F(1, 3), math.inf, 5), (F(3, 4), 2, 5)])
def test_a_round_given_that_an_interval_has_ended(p: F, cutoff: float, rounds: int) -> None:
    setting, question = estimating([p], cutoff), Question(estimating([p], cutoff), rounds, numbers=EXACT)
    error = spread = whole = F(0)
    mean = sum(min(k, cutoff) * p * (1 - p) ** (k - 1) for k in range(1, 400)) if cutoff < math.inf else None
    for probability, attendance in histories((p,), rounds - 1):
        weight = algorithm_2(attendance, cutoff)[-1][0]
        if any(row[0] for row in attendance) or rounds - 1 >= cutoff:
            whole += probability
            error += probability * (p * weight - 1) ** 2
            spread += probability * (weight - mean) ** 2 if mean else 0
    given = replace(question, reading={"condition": GIVEN_AN_INTERVAL})
    assert left(ROUND_WEIGHT_ERROR, given) == error / whole
    assert left(ROUND_WEIGHT_ERROR, replace(given, numbers=FLOAT)) == pytest.approx(float(error / whole), abs=2e-12)
    if mean:
        found = valued("weight_spread", setting, rounds, condition=GIVEN_AN_INTERVAL)
        assert float(found) == pytest.approx(float(spread / whole), rel=1e-14)
        exact, close = (valued("weight_spread", setting, rounds, numbers) for numbers in (EXACT, FLOAT))
        assert close == pytest.approx(float(exact), abs=1e-11)


def test_nothing_is_given_before_the_first_round() -> None:
    given = Question(estimating([F(1, 2)], 3), 1, {"condition": GIVEN_AN_INTERVAL}, EXACT)
    with pytest.raises(ValueError, match="no interval has ended before the last round"):
        left(ROUND_WEIGHT_ERROR, given)
    assert left(ROUND_WEIGHT_ERROR, replace(given, numbers=FLOAT)) == math.inf


def test_intervals_by_their_law() -> None:
    """Of p = 1/2 and 1/4 up to K = 3: 1, 2, 3 with chances 1/2, 1/4, 1/4 and 1/4, 3/16, 9/16."""
    setting = estimating([F(1, 2), F(1, 4)], 3)
    mean = (F(7, 4) + F(37, 16)) / 2
    variance = ((F(15, 4) - F(49, 16)) + (F(1, 4) + F(3, 4) + F(81, 16) - F(37, 16) ** 2)) / 2
    bias = (F(1, 8) ** 2 + F(27, 64) ** 2) / 2
    expected = {
        INTERVAL_MEAN: mean, NEGATED_INTERVAL_MEAN: -mean, INTERVAL_VARIANCE: variance,
        NEGATED_INTERVAL_VARIANCE: -variance, LONG_RUN_BIAS: bias,
    }  # fmt: skip
    for functional, value in expected.items():
        assert left(functional, Question(setting, numbers=EXACT)) == value
        assert left(functional, Question(setting)) == pytest.approx(float(value), rel=1e-14)
    for functional in expected:
        with pytest.raises(Unserved, match="cutoff: weights have none here"):
            left(functional, Question(estimating([F(1, 2)], math.inf)))
    assert left(LONG_RUN_BIAS, Question(estimating([F(1)], 3))) == 0.0
    assert left(INTERVAL_VARIANCE, Question(estimating([F(1)], 3), numbers=EXACT)) == 0


def test_quantities_of_clients_by_hand() -> None:
    both = estimating([F(1, 2), F(1, 10)], 3)
    known = {name: valued(name, both, 6) for name in (
        "least_participation_probability", "absence", "history", "cutoff", "cutoff_bias", "guaranteed_intervals",
    )}  # fmt: skip
    assert known == {
        "least_participation_probability": F(1, 10), "absence": F(7, 10), "history": 5, "cutoff": 3,
        "cutoff_bias": (F(1, 2) ** 6 + F(9, 10) ** 6) / 2, "guaranteed_intervals": 1,
    }  # fmt: skip
    assert all(type(value) is F for value in known.values())
    assert valued("guaranteed_intervals", both, np.array([2, 7, 10]), FLOAT).tolist() == [1, 2, 3]
    assert valued("participation_probability", estimating([F(1, 3)] * 2, 3)) == F(1, 3)
    assert valued("cutoff", both, numbers=FLOAT) == 3
    for name in ("participation_probability", "weight_spread"):
        with pytest.raises(Unserved, match=f"{name}: it is a client's, and clients differ"):
            valued(name, both, 6)
    with pytest.raises(Unserved, match="history: the weight of round 0"):
        valued("history", both, 1)
    for name in ("cutoff", "cutoff_bias", "guaranteed_intervals"):
        with pytest.raises(Unserved, match="cutoff: weights have none here"):
            valued(name, estimating([F(1, 2)], math.inf), 3)
    with pytest.raises(Unserved, match="participation = Fixed: allowed is Bernoulli"):
        valued("absence", replace(both, participation=Fixed([0])))


def test_given_weights_by_hand() -> None:
    """p = (1/3, 4/5); p omega = (1, 2/5) in even rounds, (1/3, 8/5) in odd ones."""
    setting = made(TWO, P, ROWS)
    even, odd = F(9, 25) / 2, (F(4, 9) + F(9, 25)) / 2
    even_scale, odd_scale = (F(3) + F(1, 5)) / 2, (F(1, 3) + F(16, 5)) / 2
    horizons = np.array([1, 2, 3])
    expected = {
        "weight_error": [even, (even + odd) / 2, (2 * even + odd) / 3],
        "peak_weight_error": [even, odd, odd],
        "weight_scale": [even_scale, max(even_scale, odd_scale), max(even_scale, odd_scale)],
        "expected_weight_scale": [even_scale, (even_scale + odd_scale) / 2, (2 * even_scale + odd_scale) / 3],
    }
    for name, values in expected.items():
        assert valued(name, setting, horizons).tolist() == values
        assert valued(name, setting, horizons, FLOAT) == pytest.approx(np.array(values, dtype=float), rel=1e-15)
        assert valued(name, made(TWO, P, ROWS[:1])) == values[0]  # the same in every round
        with pytest.raises(Unserved, match="rounds: what is asked for is of a horizon"):
            valued(name, setting)
    assert left(ROUND_WEIGHT_ERROR, Question(setting, horizons, numbers=EXACT)).tolist() == [even, odd, even]
    assert left(AVERAGE_WEIGHT_ERROR, Question(setting, 3, numbers=EXACT)) == (2 * even + odd) / 3
    assert quantity("weight_scale", Question(setting, 3)).kind == "exact"


def test_weights_that_do_not_change() -> None:
    assert valued("update_weight", made(TWO, P, ROWS[:1])) == F(7, 10)
    assert valued("update_weight", made(TWO, P, ROWS), 1) == F(7, 10)
    assert valued("update_weight", made(TWO, P, 1)) == valued("update_weight", made(TWO, P, 9), 1) == sum(P) / 2
    assert valued("aggregation_weight", made(TWO, P, [[3, 3]])) == 3
    for weights, why in ((ROWS, "differ between rounds"), (2, "estimated weights change")):
        with pytest.raises(Unserved, match=why):
            valued("update_weight", made(TWO, P, weights), 3)
    with pytest.raises(Unserved, match="it is a client's, and clients differ"):
        valued("aggregation_weight", made(TWO, P, ROWS[:1]))


def test_floats_over_many_rounds() -> None:
    """Averages of many horizons are those of single ones; weights of 1 need no rounds to be followed."""
    setting = estimating([F(1, 50), F(1), F(1, 3)], 50)
    horizons = np.array([10, 1000, 5000])
    found = valued("weight_error", setting, horizons, FLOAT)
    assert found == pytest.approx([valued("weight_error", setting, int(T), FLOAT) for T in horizons], abs=1e-11)
    assert found[0] == pytest.approx(float(valued("weight_error", setting, 10)), abs=1e-12)
    # Over few rounds digits are not lost where the error is tiny.
    often = estimating([1 - F(1, 2**20)], 4)
    assert valued("weight_error", often, 12, FLOAT) == pytest.approx(float(valued("weight_error", often, 12)), rel=1e-9)
    ones = estimating([F(1, 50), F(1)], 1)
    assert valued("weight_error", ones, 10**9, FLOAT) == pytest.approx(0.98**2 / 2, rel=1e-15)
    assert valued("expected_weight_scale", ones, 10**9, FLOAT) == pytest.approx(0.51, rel=1e-15)
    with pytest.raises(Unfollowed, match="weights are followed over at most 10000000"):
        valued("weight_error", setting, 10**9, FLOAT)
    with pytest.raises(Unfollowed, match="followed in Fractions over at most 300"):
        valued("weight_error", setting, 301)
    with pytest.raises(Unfollowed, match="intervals are summed up to 10000000"):
        left(INTERVAL_MEAN, Question(estimating([F(1, 2)], 10**8)))


def test_the_law_of_weights_that_are_certain() -> None:
    assert all(m.squared_distance(F(1), F(1)) == 0 for m in laws.round_moments(F(1), 3, 6))
    never = laws.round_moments(F(0), 3, 6)
    assert [str(m.initial) for m in never] == ["1", "1", "1", "0", "0", "0"] and never[-1].mean == 3


def test_floats_and_fractions_of_one_value_are_kept_apart() -> None:
    for numbers in (FLOAT, EXACT, FLOAT):
        found = valued("weight_error", estimating([F(3, 8)], 2), 4, numbers)
        assert type(found) is (float if numbers == FLOAT else F)
