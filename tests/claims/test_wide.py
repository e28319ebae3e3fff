"""Bounds whose parts are beyond the range of floats: the value is what exact arithmetic says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedtheory.claims import arithmetic
from fedtheory.claims.arithmetic import Compiled, compiled, compiled_slack, compiled_term, seen_in_range
from fedtheory.claims.balls import ball, evaluate_or_limit, working_precision
from fedtheory.claims.statement import Claim
from fedtheory.claims.wide_floats import Wide
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import symbols

F = Fraction
numbers = st.floats(-1e300, 1e300, allow_nan=False, allow_subnormal=False)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """As every caller has it."""
    with np.errstate(all="ignore"):
        yield


def exact(value: Wide) -> Fraction:
    mantissa, exponent = float(value.mantissa), int(value.exponent)
    return F(mantissa) * F(2) ** exponent if mantissa else F(0)


@given(numbers, numbers, numbers, numbers)
@settings(max_examples=200)
def test_arithmetic_against_fractions(a: float, b: float, c: float, d: float) -> None:
    wide = {x: Wide.of(x) for x in (a, b, c, d)}
    product, other = wide[a] * wide[b], wide[c] * wide[d]
    assert abs(exact(product) - F(a) * F(b)) <= abs(F(a) * F(b)) * F(1, 2**52)
    total = exact(product) + exact(other)
    allowed = (abs(exact(product)) + abs(exact(other))) * F(1, 2**52)
    assert abs(exact(product + other) - total) <= allowed
    assert abs(exact(product + -other) - (exact(product) - exact(other))) <= allowed
    assert exact(product.min(other)) == min(exact(product), exact(other))
    assert exact(product.max(other)) == max(exact(product), exact(other))
    assert exact(abs(product)) == abs(exact(product))
    assert abs(exact(product**3) - exact(product) ** 3) <= abs(exact(product)) ** 3 * F(1, 2**50)
    if other.mantissa != 0:
        quotient = exact(product) / exact(other)
        assert abs(exact(product / other) - quotient) <= abs(quotient) * F(1, 2**52)
    assert float(Wide.of(a).to_float()) == a


def test_powers_logarithms_and_exponentials() -> None:
    far = Wide.of(1e-300) * Wide.of(1e-300)
    assert exact(far ** Wide.of(0.5)) == pytest.approx(1e-300, rel=1e-13, abs=0)
    assert float(far.log().to_float()) == pytest.approx(-600 * math.log(10), rel=1e-14)
    assert float((far * Wide.of(1400.0).exp()).to_float()) == pytest.approx(math.exp(1400 - 600 * math.log(10)))
    assert float(Wide.of(3.7).ceil().to_float()) == 4
    third = Wide.of(-0.5) ** Wide.of(3.0)
    assert float(third.to_float()) == -0.125
    below = Wide.of(-0.5) ** Wide.of(2001.0) * Wide.of(2.0) ** Wide.of(2000.0)
    assert float(below.to_float()) == -0.5
    assert float((Wide.of(0.0) ** Wide.of(5000.0)).to_float()) == 0
    huge = Wide.rational(sympy.Integer(10) ** 400)
    assert abs(exact(Wide.rational(sympy.Rational(1, 10**400)) * huge) - 1) < F(1, 2**51)


def test_ordinary_numbers_are_computed_as_numpy_does() -> None:
    """To the last digit, not by way of logarithms."""
    for base, power in ((0.3, 2.5), (7.0, -1.5), (1e-9, 3.25), (1.7e20, 2.0)):
        assert float((Wide.of(base) ** Wide.of(power)).to_float()) == np.power(base, power)
    for argument in (3.0, -2.75, 699.0, -650.5):
        assert float(Wide.of(argument).exp().to_float()) == np.exp(argument)


def test_signs_of_powers_far_away() -> None:
    far = Wide.of(1e-300) * Wide.of(1e-300)
    for base, power, sign in ((far, 3.0, 1), (-far, 3.0, -1), (far, 2.0, 1), (-far, 2.0, 1)):
        value = base ** Wide.of(power)
        assert np.sign(value.mantissa) == sign
        assert exact(abs(value)) == pytest.approx(exact(far) ** int(power), rel=1e-11)


SHARP = claim("safari.thm5@sharp")


@given(seed=st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_the_sharp_theorem_5_keeps_its_digits(seed: int) -> None:
    """Squares of its steps are below the smallest float, and stand in quotients."""
    rng = np.random.default_rng(seed)
    L = 10.0 ** rng.uniform(-100, 100)
    mu, K = L * 10.0 ** rng.uniform(-8, 0), int(rng.integers(1, 50))
    values = {
        "smoothness": L, "strong_convexity": mu, "local_steps": K, "arbitrary_cohort": 3,
        "rounds": int(10 ** rng.uniform(0, 6)), "server_noise": 10.0 ** rng.uniform(-100, 100),
        "client_round_probability": rng.random() * 10.0 ** rng.uniform(-200, 0),
        "server_lr": rng.random() / (2 * L) * 10.0 ** rng.uniform(-100, 0),
        "local_lr": rng.random() * mu / (20 * K * L) / L * 10.0 ** rng.uniform(-100, 0),
        **{name: 10.0 ** rng.uniform(-100, 100) for name in ("gradient_noise", "dissimilarity", "initial_distance")},
    }  # fmt: skip
    bound = SHARP.evaluate(**values)
    assume(bound.hypotheses_hold)
    with working_precision():
        for term in SHARP.terms:
            side = ball(evaluate_or_limit(term.expression, {n: F(v) for n, v in values.items()}))
            if 1e-300 < side < 1e300:
                assert float(bound.terms[term.name]) == pytest.approx(float(side.mid()), rel=1e-12, abs=0)


x, y, q = symbols("dissimilarity", "objective_decrease", "local_lr")


def test_what_divides_by_zero_follows_the_rule_in_a_wide_range_too() -> None:
    tiny = {"dissimilarity": np.float64(1e-200), "objective_decrease": np.float64(1e-300), "local_lr": np.float64(0)}
    assert compiled(x**2 / x**2 * sympy.Integer(1))(tiny) == 1
    assert compiled_term(x**2 / (x**2 + y**2))(tiny) == 1
    assert compiled_term(x**2 / (y * x))(tiny | {"objective_decrease": np.float64(0)}) == math.inf
    assert compiled_slack(x**2 / (y * x))(tiny | {"objective_decrease": np.float64(0)}) == -math.inf
    assert compiled_term(x**3 / (y * x**2))(tiny) == pytest.approx(1e100)  # no denominator of it is 0
    array = {"dissimilarity": np.array([1e-200, 1.0, 0.0]), "local_lr": np.array([1e-220, 2.0, 1.0])}
    assert compiled_term(x * q / (x * q + q**2 * x))(array) == pytest.approx([1, 1 / 3, math.inf])


def test_an_exponential_that_vanishes_is_no_reason_to_compute_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedtheory.claims.arithmetic._in_wide_range", None)
    assert compiled(1 + sympy.exp(-x))({"dissimilarity": np.array([1e6, 0.0])}).tolist() == [1, 2]


def test_a_function_that_wide_numbers_lack_is_left_to_numpy() -> None:
    assert compiled(sympy.sin(x) + x**2)({"dissimilarity": np.float64(1e-200)}) == 1e-200


def _draws(claim: Claim, rng: np.random.Generator, decades: float) -> dict[str, np.ndarray]:
    """Values of all quantities of a claim, an array or a number each."""
    values = {}
    for name in sorted({s.name for e in _expressions(claim) for s in e.free_symbols}):
        size = 5 if rng.random() < 0.5 else None
        values[name] = np.asarray(10.0 ** rng.uniform(-decades, decades, size))[()]
    return values


def _expressions(claim: Claim) -> list[sympy.Expr]:
    return [*(term.expression for term in claim.terms), *(h.slack for h in claim.hypotheses)]


def _alike(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return all(np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in other)


def _compiled_parts(claim: Claim) -> dict[str, Compiled]:
    terms = {f"term {term.name}": compiled_term(term.expression) for term in claim.terms}
    return terms | {f"hypothesis {h.name}": compiled_slack(h.slack) for h in claim.hypotheses}


def _together(functions: Mapping[str, Compiled], values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All of them in one state of errors, as a claim's are evaluated."""
    with seen_in_range():
        return {name: function(values) for name, function in functions.items()}


def test_a_claims_functions_under_one_guard_are_those_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit, of every claim, at ordinary values and at such as leave the range of floats."""
    wide, beyond = arithmetic._in_wide_range, []
    monkeypatch.setattr(arithmetic, "_in_wide_range", lambda *given: beyond.append(1) or wide(*given))
    rng = np.random.default_rng(1)
    for one in all_claims():
        functions = _compiled_parts(one)
        for decades in (2, 150):
            values = _draws(one, rng, decades)
            alone = {name: function(values) for name, function in functions.items()}
            assert _alike(_together(functions, values), alone), f"{one.ref} at values of {decades} decades"
    assert len(beyond) > 20


def test_one_function_beyond_the_range_takes_no_other_with_it() -> None:
    x = sympy.Symbol("x")
    functions = {"plain": compiled(2 * x), "wide": compiled(x**2 / 10**100)}
    found = _together(functions, {"x": np.array([1.0, 1e200])})
    assert found["plain"].tolist() == [2.0, 2e200]
    assert found["wide"].tolist() == pytest.approx([1e-100, 1e300])
