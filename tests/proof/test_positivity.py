"""Certificates of positivity: what is proved is true, and what is tampered with is noticed."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.proof.identity import is_identity
from fedtheory.proof.polynomial_data import Polynomial, Ratio
from fedtheory.proof.positivity import (
    Certificate,
    Counterexample,
    certify,
    draws,
    prove,
)
from fedtheory.proof.steps import Cap
from fedtheory.proof.symbol_regions import (
    Region,
    at_least,
    capped,
    count,
    equal,
    interval,
    nonnegative,
    positive,
    region,
)

x, y, z = sympy.symbols("x y z")
ORDERED = region(at_least("x", y), interval("z"), positive("y"))
CAPPED = region(capped("x", 1 / (20 * y)), count("y"))
PROVED = {
    "cap": (1 - 20 * x * y, CAPPED),
    "ordering": (x**2 - y**2 + z * (1 - z), ORDERED),
    "quotient": (x / (x + y) - sympy.Rational(1, 2), ORDERED),
    "polya": (x**2 - x * y + y**2 + 1, region(nonnegative("x"), nonnegative("y"))),
    "constant": (sympy.Integer(3), region()),
    "zero": (sympy.Integer(0), region()),
}


def certificate(name: str) -> Certificate:
    found = prove(*PROVED[name])
    assert isinstance(found, Certificate)
    return found


def altered(ratio: Ratio, index: int) -> Ratio:
    """One coefficient of the numerator one larger."""
    return replace(ratio, numerator=bumped(ratio.numerator, index))


def bumped(polynomial: Polynomial, index: int) -> Polynomial:
    terms = list(polynomial.terms)
    powers, coefficient = terms[index]
    terms[index] = (powers, str(Fraction(coefficient) + 1))
    return replace(polynomial, terms=tuple(terms))


@pytest.mark.parametrize("name", PROVED)
def test_a_certificate_verifies_and_survives_json(name: str) -> None:
    found = certificate(name)
    assert found.verify() and found.proves(*PROVED[name])
    again = Certificate.from_json(found.to_json())
    assert again == found and again.proves(*PROVED[name])


def test_polya_is_used_where_it_is_needed() -> None:
    assert certificate("polya").polya > 0
    assert certificate("cap").polya == 0


def test_the_smallest_exponent_is_found_and_three_are_tried() -> None:
    where = region(nonnegative("x"))
    for middle, exponent in ((0, 0), (1, 1), (sympy.Rational(6, 5), 3)):
        assert certify(x**2 - middle * x + 1, where).polya == exponent
    hard = x**2 - sympy.Rational(7, 5) * x + 1
    assert certify(hard, where) is None and certify(hard, where, polya=4) is None
    assert certify(hard, where, polya=5).polya == 5
    assert certify((1 + x) * hard, where) is None and certify((1 + x) * hard, where, polya=4).polya == 4


def test_what_a_certificate_may_be() -> None:
    """Exponents from 0 to 20, which change nothing where there are no parameters, and coefficients that are no whole
    numbers."""
    found = certificate("constant")
    assert [polya for polya in range(-3, 25) if replace(found, polya=polya).verify()] == list(range(21))
    half = Polynomial((), (((), "1/2"),))
    assert Certificate(Ratio.of(x / x), region(nonnegative("x")), 0, half, half).verify()


def test_a_certificate_speaks_of_the_region_s_parameters_with_a_whole_exponent() -> None:
    found = certificate("constant")
    for named in (
        {"numerator": Polynomial(("q",), (((0,), "3"),))},
        {"denominator": Polynomial(("q",), (((0,), "1"),))},
    ):
        assert not replace(found, **named).verify()
    assert not replace(found, polya=Fraction(0)).verify() and not replace(found, polya=False).verify()


def test_a_denominator_is_positive_somewhere_and_negative_nowhere() -> None:
    """x + 1 over -1 is -(x + 1); a coefficient 0 beside others is none, and nothing else than 0 divides nothing."""
    where, one = region(nonnegative("x")), Polynomial((), (((), "1"),))
    above = Polynomial(("p_x",), (((1,), "1"), ((0,), "1")))
    assert Certificate(Ratio.of(x + 1), where, 0, above, one).verify()
    assert not Certificate(Ratio.of(-x - 1), where, 0, above, Polynomial((), (((), "-1"),))).verify()
    with_zero = Polynomial(("p_x",), (((1,), "0"), ((0,), "1")))
    assert Certificate(Ratio.of(x + 1), where, 0, above, with_zero).verify()
    for nothing in (Polynomial((), ()), Polynomial((), (((), "0"),))):
        assert not Certificate(Ratio.of(x + 1), where, 0, above, nothing).verify()


@pytest.mark.parametrize("name", PROVED)
def test_any_changed_coefficient_is_noticed(name: str) -> None:
    found = certificate(name)
    for index in range(len(found.numerator.terms)):
        assert not replace(found, numerator=bumped(found.numerator, index)).verify()
    if name != "zero":  # 0 / anything is 0
        for index in range(len(found.denominator.terms)):
            assert not replace(found, denominator=bumped(found.denominator, index)).verify()
        for index in range(len(found.inequality.numerator.terms)):
            assert not replace(found, inequality=altered(found.inequality, index)).verify()
    if found.numerator.names:
        assert not replace(found, polya=found.polya + 1).verify()
        assert not replace(found, polya=-1).verify()


@pytest.mark.parametrize("name", ["cap", "ordering", "quotient"])
def test_any_changed_substitution_is_noticed(name: str) -> None:
    expression, where = PROVED[name]
    found = certificate(name)
    for index, (symbol, ratio) in enumerate(where.substitutions):
        for term in range(len(ratio.numerator.terms)):
            parts = list(where.substitutions)
            parts[index] = (symbol, altered(ratio, term))
            changed = replace(found, region=replace(where, substitutions=tuple(parts)))
            assert not changed.proves(expression, where)
            # what still verifies is a true proof of another statement
            same = is_identity(changed.region.pull_back(expression), where.pull_back(expression))
            assert changed.verify() == same


def test_a_certificate_for_another_region_or_inequality_proves_nothing_here() -> None:
    found = certificate("cap")
    assert not found.proves(1 - 21 * x * y, CAPPED)
    assert not found.proves(1 - 20 * x * y, region(capped("x", 1 / (20 * y)), count("y", 2)))


def test_negative_coefficients_prove_nothing_even_where_the_expansion_is_right() -> None:
    where = region(nonnegative("x"))
    expansion = Ratio.of(where.pull_back(x - 1))
    assert not Certificate(Ratio.of(x - 1), where, 0, expansion.numerator, expansion.denominator).verify()
    flipped = Ratio.of(1 - sympy.Symbol("p_x"))
    minus = Polynomial((), (((), "-1"),))
    assert not Certificate(Ratio.of(x - 1), where, 0, flipped.numerator, minus).verify()


def test_a_region_has_to_speak_of_every_symbol() -> None:
    with pytest.raises(ValueError, match=r"uses \['y'\]"):
        prove(x + y, region(nonnegative("x")))
    with pytest.raises(ValueError, match="nothing later gives"):
        region(nonnegative("y"), capped("x", 1 / y))
    with pytest.raises(ValueError, match="given twice"):
        region(nonnegative("x"), equal("x", sympy.Integer(1)))


@pytest.mark.parametrize(
    "bad", [sympy.sqrt(x), sympy.sqrt(2) * x, sympy.Min(x, 1), sympy.Float(0.5) * x, sympy.pi * x, x**y]
)
def test_only_rational_functions_are_taken(bad: sympy.Expr) -> None:
    with pytest.raises(ValueError, match="rational function"):
        prove(bad, region(nonnegative("x"), nonnegative("y")))
    with pytest.raises(ValueError, match="rational function"):
        is_identity(bad, x)


def test_symbols_of_one_name_are_not_confused() -> None:
    with pytest.raises(ValueError, match="same name"):
        prove(x - sympy.Symbol("x", positive=True), region(nonnegative("x")))


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        (1 - 21 * x * y, CAPPED),
        (x - 2 * y, ORDERED),
        (sympy.Rational(99, 100) - x / y * z, ORDERED),
        (-(x**2), region(positive("x"))),
    ],
)
def test_a_counterexample_is_in_the_region_and_negative(expression: sympy.Expr, where: Region) -> None:
    found = prove(expression, where)
    assert isinstance(found, Counterexample) and found.refutes(expression, where)
    point = {sympy.Symbol(n): sympy.Rational(v) for n, v in found.point}
    assert expression.subs(point) == sympy.Rational(found.value) < 0
    assert Counterexample.from_json(found.to_json()) == found
    (name, value), *rest = found.point
    assert not replace(found, point=((name, str(Fraction(value) + 1)), *rest)).verify()
    changed = replace(found, value="-1/123456")
    assert not changed.verify() and not changed.refutes(expression, where)
    (name, value), *rest = found.parameters
    assert not replace(found, parameters=((name, "-1"), *rest)).verify()


def test_counts_of_a_counterexample_are_whole_and_positive_numbers_are_not_zero() -> None:
    # negative only strictly between 1 and 2: true of whole numbers, which this method cannot prove
    assert prove((x - 1) * (x - 2), region(count("x"))) is None
    assert isinstance(prove((x - 1) * (x - 2), region(at_least("x", sympy.Integer(1)))), Counterexample)
    found = prove(2 - x, region(count("x")))
    assert found.refutes(2 - x, region(count("x")))
    assert not replace(found, parameters=(("k_x", "3/2"),), point=(("x", "5/2"),), value="-1/2").verify()
    assert isinstance(prove(x / x - 1, region(positive("x"))), Certificate)
    found = prove(x - 1, region(positive("x")))
    assert not replace(found, parameters=(("p_x", "0"),), point=(("x", "0"),), value="-1").verify()


def test_a_point_where_the_inequality_holds_refutes_nothing() -> None:
    where = region(nonnegative("x"))
    holds = Counterexample(Ratio.of(x - 1), where, (("p_x", "3"),), (("x", "3"),), "2")
    assert not holds.verify()
    assert not replace(holds, parameters=(("p_x", "1"),), point=(("x", "1"),), value="0").verify()
    found = prove(x - 1, where)
    assert found.refutes(x - 1, where)
    assert not found.refutes(x - 2, where) and not found.refutes(x - 1, region(positive("x")))


def test_the_same_seed_finds_the_same_point() -> None:
    expression, where = x**2 - 3 * x + 2, region(nonnegative("x"))
    assert prove(expression, where, seed=3) == prove(expression, where, seed=3)


def test_points_are_of_the_region_corners_first() -> None:
    where = region(nonnegative("x"), positive("y"), count("z"))
    points = list(draws(where, 40, seed=0))
    assert all(map(where.admits, points)) and len(points) == 4 + 8 + 2 * 40 + 4
    named = [tuple(point[name] for name, _ in where.kinds) for point in points]
    sizes = {"nonnegative": (0, 1), "integer": (0, 1)}
    for start, positives in ((0, (1,)), (4, (2, Fraction(1, 2)))):
        corners = itertools.product(*((sizes | {"positive": positives})[kind] for _, kind in where.kinds))
        expected = [tuple(map(Fraction, corner)) for corner in corners]
        assert named[start : start + len(expected)] == expected
    beyond = 1 + max(point["k_z"] for point in points[:-4])
    assert named[-4:] == [(z, p, 1) for z, p in itertools.product((0, 1001), repeat=2)] and beyond <= 1001


def test_a_bound_that_fails_beyond_all_numbers_that_are_drawn_is_refuted() -> None:
    found = prove(1001 * x - x**2, region(count("x")))
    assert isinstance(found, Counterexample) and found.point == (("x", "1002"),)


POLYNOMIALS = st.lists(st.tuples(st.integers(-4, 6), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=4)
RATIONALS = st.fractions(min_value=0, max_value=50, max_denominator=20)


@settings(max_examples=50, deadline=None)
@given(POLYNOMIALS, st.lists(RATIONALS, min_size=3, max_size=3))
def test_what_is_proved_is_nonnegative_and_what_is_refuted_is_not(terms: list, values: list) -> None:
    expression = sympy.Add(*(c * x**i * y**j for c, i, j in terms))
    where = region(capped("x", 1 / (1 + y)), at_least("y", sympy.Rational(1, 2)))
    found = prove(expression, where, polya=2, samples=100)
    if isinstance(found, Certificate):
        assert found.proves(expression, where)
        point = where.image(dict(zip(("u_x", "s_y"), values, strict=False)))
        assert 0 < point["x"] <= 1 / (1 + point["y"]) and point["y"] >= Fraction(1, 2)
        assert sum(c * point["x"] ** i * point["y"] ** j for c, i, j in terms) >= 0
    elif found is not None:
        assert found.refutes(expression, where)


def test_interval_reaches_both_ends() -> None:
    where = region(interval("x", 2, 5))
    ends = [where.image({"s_x": Fraction(s), "t_x": Fraction(1 - s)})["x"] for s in (0, 1)]
    assert ends == [2, 5]
    assert isinstance(prove((x - 2) * (5 - x), where), Certificate)


def test_weakest_cap_brackets_the_root() -> None:
    proved, refuted = Cap(1 - 8 * x**2, lambda c: region(capped("x", c))).weakest()
    assert 8 * proved**2 <= 1 < 8 * refuted**2 and refuted - proved <= Fraction(1, 10**4)
    low, high = Cap(1 - 4 * x, lambda c: region(capped("x", c))).weakest()
    assert low <= Fraction(1, 4) <= high and high - low == Fraction(1, 2**14)  # 1/2^13 would be more than 10^-4
    assert Cap((4 * x - 1) ** 2, lambda c: region(nonnegative("x"))).weakest() == (None, None)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("numerator", "terms", 0, 1), "1/0"),
        (("numerator", "terms", 0, 1), "__import__('os')"),
        (("numerator", "terms", 0, 1), "1e3"),
        (("numerator", "terms", 0, 1), 1),
        (("numerator", "terms", 0, 0), [10**6]),
        (("numerator", "terms", 0, 0), [-1]),
        (("numerator", "terms", 0, 0), [[1]]),
        (("numerator", "names"), ["x; y"]),
        (("numerator", "names"), 3),
        (("inequality", "denominator", "terms"), []),
        (("region", "kinds", 0, 1), "complex"),
        (("region", "kinds", 0), ["a"]),
        (("region", "substitutions", 0, 0), "x.y"),
        (("polya",), True),
        (("polya",), "0"),
        (("extra",), 1),
    ],
)
def test_what_is_no_certificate_is_refused(path: tuple, value: object) -> None:
    data = json.loads(certificate("cap").to_json())
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ValueError):
        Certificate.from_json(json.dumps(data))
