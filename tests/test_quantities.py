"""The vocabulary: what it allows, what it says when it refuses, and the algebra of units."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtheory.federations import Quadratic
from fedtheory.papers import papers
from fedtheory.papers.paper import Paper
from fedtheory.quantities import (
    CLIENT_ROUND_QUANTITIES,
    CURVATURE,
    DIMENSIONLESS,
    LEAST_QUANTITIES,
    LENGTH,
    OBJECTIVE,
    OF_A_SETTING,
    QUANTITIES,
    ROUND_QUANTITIES,
    RUN_QUANTITIES,
    SCOPES,
    SERVER_RUN_QUANTITIES,
    SLOPE,
    SQUARED_LENGTH,
    SQUARED_SLOPE,
    STEP,
    Units,
    check_values,
    nearest,
    quantity,
    symbol,
    symbols,
)
from tests.loops import looped

EVERY = sorted(QUANTITIES)
COUNTS = ["clients", "cohort", "arbitrary_cohort", "local_steps", "rounds", "snapshot_period", "cutoff", "history",
          "guaranteed_intervals", "groups", "group_clients", "samples_per_client", "samples", "server_samples",
          "client_samples", "class_size", "vc_dimension"]  # fmt: skip
INDICES = ["round_index", "step_index"]
POSITIVE = ["step_shift", "smoothness", "strong_convexity", "local_lr", "server_lr", "young_parameter", "step_constant",
            "global_lr", "weight_scale", "expected_weight_scale", "update_weight",
            "least_participation", "descent_constant", "participation_estimate", "failure_probability",
            "hidden_constant", "target_width", "source_width"]  # fmt: skip
SIGNED = [
    "vector_covariance",
    "objective_decrease",
    "least_client_progress",
    "peak_client_progress",
    "arbitrary_excess",
    "sample_complexity",
]
FROM_ONE = ["dissimilarity_factor"]
FROM_ZERO = sorted(set(EVERY) - {*COUNTS, *INDICES, *POSITIVE, *SIGNED, *FROM_ONE})


def refusal(**values: object) -> str:
    """What ``check_values`` says about them."""
    with pytest.raises(ValueError) as caught:
        check_values(values)
    return str(caught.value)


# Bounds of one quantity.


@looped("name", COUNTS)
def test_counts_are_whole_numbers_from_one(name: str) -> None:
    check_values({name: 1})
    check_values({name: 3.0})
    check_values({name: np.int64(7)})
    for wrong in (0, -1, 1.5, 2.0000001):
        assert refusal(**{name: wrong}) == f"{name} = {float(wrong)}: allowed is an integer >= 1"


@looped("name", INDICES)
def test_indices_are_whole_numbers_from_zero(name: str) -> None:
    check_values({name: 0})
    check_values({name: 3.0})
    for wrong in (-1, 0.5):
        assert refusal(**{name: wrong}) == f"{name} = {float(wrong)}: allowed is an integer >= 0"


@looped("name", POSITIVE)
def test_positive_quantities_exclude_zero(name: str) -> None:
    check_values({name: 5e-324})
    check_values({name: Fraction(1, 3)})
    for wrong in (0, -1e-9):
        assert refusal(**{name: wrong}) == f"{name} = {float(wrong)}: allowed is a finite number > 0"


@looped("name", FROM_ONE)
def test_factors_start_at_one(name: str) -> None:
    check_values({name: 1.0})
    assert refusal(**{name: 0.5}) == f"{name} = 0.5: allowed is a finite number >= 1"


@looped("name", FROM_ZERO)
def test_the_other_quantities_start_at_zero(name: str) -> None:
    check_values({name: 0})
    assert refusal(**{name: -1e-9}).startswith(f"{name} = -1e-09: allowed is a ")


@looped("name", SIGNED)
def test_a_signed_quantity_may_be_any_finite_number(name: str) -> None:
    for value in (-1e300, 0, 2.5):
        check_values({name: value})
    for wrong in (-math.inf, math.inf, math.nan):
        assert refusal(**{name: wrong}) == f"{name} = {wrong}: allowed is a finite number"


def test_probability_ends_at_one() -> None:
    check_values({"snapshot_probability": np.array([0.0, 1.0])})
    for wrong in (-0.25, 1.25, np.nextafter(1.0, 2.0)):
        assert refusal(snapshot_probability=wrong) == f"snapshot_probability = {wrong}: allowed is a number in [0, 1]"


@looped("name", EVERY)
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_nothing_may_be_infinite_or_undefined(name: str, wrong: float) -> None:
    expected = f"{name} = {wrong}: allowed is {QUANTITIES[name].allowed}"
    assert refusal(**{name: wrong}) == expected
    assert refusal(**{name: [1, wrong]}) == expected
    with pytest.raises(ValueError, match=re.escape(expected)):
        QUANTITIES[name].check(wrong)


@pytest.mark.parametrize("wrong", ["many", [[1], [2, 3]], 1j, object()])
def test_what_is_no_number_is_refused_by_name(wrong: object) -> None:
    assert re.match(r"smoothness = .*: allowed is a finite number > 0$", refusal(smoothness=wrong))


# Arrays.


def test_arrays_are_refused_for_one_bad_entry_which_is_named() -> None:
    check_values({"rounds": range(1, 10), "local_lr": np.full((2, 3), 0.1)})
    assert refusal(rounds=[3, 2, 0]) == "rounds = 0.0: allowed is an integer >= 1"
    assert refusal(rounds=np.array([[1, 2], [2.5, 4]])) == "rounds = 2.5: allowed is an integer >= 1"
    assert refusal(snapshot_probability=[0.5, 1.5, 0.1]).startswith("snapshot_probability = 1.5: ")


def test_empty_arrays_are_refused() -> None:
    assert refusal(rounds=[]) == "rounds is empty: allowed is an integer >= 1"


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=6))
def test_an_array_is_allowed_exactly_when_every_entry_is(entries: list[float]) -> None:
    def allowed(value: object) -> bool:
        try:
            check_values({"snapshot_probability": value})
        except ValueError:
            return False
        return True

    assert allowed(entries) == all(allowed(entry) for entry in entries) == all(0 <= entry <= 1 for entry in entries)


# Pairs that contradict each other.

PAIRS = {
    "strong_convexity": ("smoothness", "(0"),
    "cohort": ("clients", "[1"),
    "arbitrary_cohort": ("clients", "[1"),
    "dissimilarity_at_optimum": ("dissimilarity", "[0"),
}


@pytest.mark.parametrize("small", PAIRS)
def test_ordered_pairs(small: str) -> None:
    large, opening = PAIRS[small]
    check_values({small: 3, large: 3})
    check_values({small: 2, large: 3})
    check_values({small: 4})
    assert refusal(**{small: 4, large: 3}) == f"{small} = 4: allowed is a number in {opening}, {large}] = {opening}, 3]"
    assert refusal(**{small: [1, 4], large: [2, 3]}).startswith(f"{small} = [1, 4]: ")
    assert refusal(**{small: [1, 4], large: 3}).startswith(f"{small} = [1, 4]: ")


# Names.


@pytest.mark.parametrize(
    ("name", "meant"),
    [("smothness", "smoothness"), ("local_learning_rate", "local_lr"), ("Cohort", "cohort"), ("round", "rounds")],
)
def test_an_unknown_name_is_answered_with_the_nearest_known_one(name: str, meant: str) -> None:
    expected = f"unknown quantity {name!r}: did you mean {meant!r}?"
    assert refusal(**{name: 1}) == expected
    for ask in (quantity, symbol.__wrapped__):
        with pytest.raises(ValueError, match=re.escape(expected)):
            ask(name)


def test_a_name_like_no_other_is_answered_with_those_that_there_are() -> None:
    some = ", ".join(sorted(EVERY)[:12])
    assert refusal(zzz=1) == f"unknown quantity 'zzz': known are {some}, ... ({len(EVERY)} in all)"
    assert nearest("zzz", ["b", "a"]) == "known are a, b"


@looped("name", EVERY)
def test_the_table_is_consistent(name: str) -> None:
    known = quantity(name)
    assert known.name == name
    assert known.meaning
    assert known.lower < known.upper


@pytest.mark.parametrize("paper", papers().values(), ids=papers())
def test_within_a_paper_no_letter_means_two_things(paper: Paper) -> None:
    assert set(paper.letters) <= set(QUANTITIES)
    assert len(paper.letters) == len(set(paper.letters.values()))


def test_the_groups_of_quantities_are_whole() -> None:
    """Each is what its field says; the order of the first is that of columns in results and checkpoints."""
    assert RUN_QUANTITIES == (
        "peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient",
    )  # fmt: skip
    assert len(SERVER_RUN_QUANTITIES) == 7 and {*LEAST_QUANTITIES} < {*SERVER_RUN_QUANTITIES}
    assert [name.split("_", 1)[1] for name in LEAST_QUANTITIES] == [n.split("_", 1)[1] for n in RUN_QUANTITIES[:2]]
    assert len(ROUND_QUANTITIES) == 5 and CLIENT_ROUND_QUANTITIES == ("arbitrary_excess", "arbitrary_drift")
    assert {q.scope for q in QUANTITIES.values()} == {"", *SCOPES}
    assert {a for q in QUANTITIES.values() for a in q.algorithms} <= {p.algorithm for p in papers().values()}


# Units.

# From what each quantity is: a gradient is F/x, a step times a gradient is x, smoothness is a gradient over a length.
EXPECTED_UNITS = {
    CURVATURE: ["smoothness", "strong_convexity", "young_parameter"],
    SLOPE: [
        "gradient_noise",
        "dissimilarity",
        "dissimilarity_at_optimum",
        "dissimilarity_offset",
        "gradient_norm",
        "server_noise",
        "gradient_bound",
        "global_gradient_bound",
        "local_gradient_bound",
    ],
    OBJECTIVE: ["heterogeneity_gap", "initial_gap", "objective_decrease", "arbitrary_excess"],
    LENGTH: ["initial_distance", "displacement", "perturbation", "mean_update_length"],
    STEP: ["local_lr", "server_lr", "step_constant", "least_client_progress", "peak_client_progress"],
    SQUARED_LENGTH: ["arbitrary_drift", "squared_mean_update", "squared_state_update"],
    SQUARED_SLOPE: [
        "weighted_noise",
        *RUN_QUANTITIES,
        *LEAST_QUANTITIES,
        *["peak_server_gradient", "least_server_gradient", "least_gradient"],
        "full_pseudogradient",
        "cohort_pseudogradient",
        "arbitrary_pseudogradient",
        *["weighted_pseudogradient", "squared_mean_vector", "mean_squared_vector", "vector_covariance"],
    ],
    DIMENSIONLESS: [
        *COUNTS,
        *INDICES,
        "dissimilarity_factor",
        "step_shift",
        *["snapshot_probability", "client_round_probability", "adaptivity", "participation_probability"],
        *["least_participation_probability", "absence", "ever_absent", "aggregation_weight"],
        *["cutoff_bias", "weight_spread"],
        *[
            "weight_error",
            "peak_weight_error",
            "weight_scale",
            "expected_weight_scale",
            "update_weight",
            "objective_error",
            "least_objective_weight",
            "global_lr",
        ],
        *["weight_concentration", "estimate_error", "largest_estimate_error", "least_participation"],
        *["least_group_participation", "selection_variance", "selection_proxy", "rate_spread", "weight_mismatch"],
        *["mean_mismatch", "answer_proxy", "answer_mismatch"],
        *["descent_constant", "group_weight", "group_participation", "participation_estimate"],
        *["response_probability", "relative_error", "failure_probability", "hidden_constant", "price_drift"],
        *["client_share", "confidence", "complexity", "server_complexity", "pair_complexity", "sample_complexity"],
        *["vc_complexity", "server_vc_complexity"],
        *["rare_mass", "error_level", "relatedness", "relatedness_exponent", "noise_constant", "noise_exponent"],
        *["source_excess", "related_gap", "best_excess", "target_width", "source_width", "threshold_distance"],
        "outside_support",
    ],
}


def test_units_of_every_quantity() -> None:
    expected = {name: units for units, names in EXPECTED_UNITS.items() for name in names}
    assert {name: q.units for name, q in QUANTITIES.items()} == expected


def test_no_algorithm_says_what_a_federation_has() -> None:
    """The constants of one, and what is measured from its start, among what its algorithms may not choose."""
    has = {*Quadratic.common_hessian([1, -1], gradient_noise=1).constants(), "initial_gap", "initial_distance"}
    assert "gradient_noise" in has and has <= OF_A_SETTING


def test_units_fit_together() -> None:
    assert SLOPE * LENGTH == OBJECTIVE
    assert STEP * SLOPE == LENGTH
    assert CURVATURE * STEP == DIMENSIONLESS
    assert SLOPE / LENGTH == CURVATURE
    assert SLOPE**2 == SQUARED_SLOPE
    assert LENGTH**2 == SQUARED_LENGTH


powers = st.integers(-4, 4)
any_units = st.builds(Units, powers, powers)


@given(any_units, any_units, any_units, powers)
def test_units_form_a_group_with_powers(a: Units, b: Units, c: Units, n: int) -> None:
    assert a * b == b * a
    assert (a * b) * c == a * (b * c)
    assert a * DIMENSIONLESS == a
    assert a / a == DIMENSIONLESS
    assert (a * b) / b == a
    assert (a * b) ** n == a**n * b**n
    assert a ** (n + 1) == a**n * a
    assert (a**2) ** 0.5 == a


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (DIMENSIONLESS, "1"), (CURVATURE, "F/x^2"), (STEP, "x^2/F"), (SQUARED_SLOPE, "F^2/x^2"), (Units(2, 1), "F^2x"),
        (Units(-1, -2), "1/F/x^2"), (Units(0.5, 0), "F^0.5"),
    ],
)  # fmt: skip
def test_units_in_words(units: Units, text: str) -> None:
    assert str(units) == text


# Symbols.


@looped("name", EVERY)
def test_a_symbol_assumes_what_the_bounds_justify_and_no_more(name: str) -> None:
    s = symbol(name)
    assert s.name == name
    assert s is symbol(name)
    assert s.is_real
    assert bool(s.is_positive) == (name in COUNTS or name in POSITIVE or name in FROM_ONE)
    assert bool(s.is_nonnegative) == (name not in SIGNED)
    assert bool(s.is_integer) == (name in COUNTS or name in INDICES)


def test_symbols_keep_the_order() -> None:
    assert [s.name for s in symbols("rounds", "cohort")] == ["rounds", "cohort"]


def test_a_number_beyond_floats_is_refused_by_name():
    for value in (Fraction(10) ** 400, -(Fraction(10) ** 400)):
        with pytest.raises(ValueError, match=r"gradient_noise = .*: allowed is a finite number >= 0"):
            QUANTITIES["gradient_noise"].check(value)
