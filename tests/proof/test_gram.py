"""Certificates of vector inequalities: what verification takes, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy

from fedtheory.proof.gram import Gram, complete_squares, dot, norm2, vectors
from fedtheory.proof.polynomials import Polynomial, Ratio, times_power
from fedtheory.proof.positivity import Certificate
from fedtheory.proof.regions import positive, region

t, x = sympy.symbols("t x")
a, b = vectors("a b")
WHERE = region(positive("t"))
YOUNG = Gram((1 + t) * norm2(a) + (1 + 1 / t) * norm2(b) - norm2(a + b), WHERE)


def test_a_certificate_may_use_every_scalar_and_has_a_sign_for_each_multiplier():
    made = YOUNG.certify()
    assert made.verify() and made.proves(YOUNG)
    assert {name for c, _ in made.squares for name in c.names} == {"t"}
    assert not replace(made, signs=made.signs[:-1]).verify()
    assert not replace(made, signs=(*made.signs, *made.signs)).verify()


def test_a_multiplier_of_what_is_no_scalar_is_refused():
    made = Gram(norm2(a) * t + x * t, WHERE, given=((x, t),)).certify()
    assert made.verify()
    other = replace(made, given=tuple((m, h) for h, m in made.given))
    assert not other.verify()


def test_a_certificate_proves_its_own_statement_alone():
    made = YOUNG.certify()
    assert not made.proves(replace(YOUNG, expression=YOUNG.expression + norm2(a)))
    assert not made.proves(replace(YOUNG, where=region(positive("t"), positive("s"))))
    zero = Gram(dot(a, b) * t + norm2(a), WHERE, zero=((dot(a, b), t),))
    assert zero.certify().proves(zero)
    assert not zero.certify().proves(replace(zero, zero=((dot(a, a), t),)))


@pytest.mark.parametrize("vector", [a + 1, a * b, a**2, sympy.Integer(1), t])
def test_what_is_no_linear_combination_is_refused(vector):
    with pytest.raises(ValueError, match="allowed is a linear combination of vectors"):
        dot(vector, a)


def test_squares_and_their_rest_add_up():
    form = sympy.expand(3 * norm2(a) + 2 * t * dot(a, b) + 5 * norm2(b) + 7 * t - 2)
    squares, rest = complete_squares(form)
    assert sympy.expand(rest - (7 * t - 2)) == 0
    total = sum(c * norm2(v) for c, v in squares) + rest
    assert sympy.simplify(sympy.expand(total - form)) == 0


def test_a_power_of_no_factor_changes_nothing():
    polynomial = Polynomial.of(t**2 - 3 * t + 1)
    assert times_power(polynomial, 0) is polynomial
    assert times_power(polynomial, 2).expression().expand() == ((t**2 - 3 * t + 1) * (1 + t) ** 2).expand()


def test_a_certificate_that_divides_by_nothing_proves_nothing():
    nothing = Polynomial((), ())
    one = Polynomial.of(sympy.Integer(1))
    for numerator in (one, nothing):
        made = Certificate(Ratio.of(t), WHERE, 0, numerator, nothing)
        assert made.verify() is False


@pytest.mark.parametrize("polya", [True, 1.0, -1, 21, "1", None])
def test_an_exponent_is_a_small_whole_number(polya):
    polynomial = Polynomial.of(sympy.Symbol("p_t"))
    assert Certificate(Ratio.of(t), WHERE, polya, polynomial, Polynomial.of(sympy.Integer(1))).verify() is False


def test_a_counterexample_has_the_products_of_its_coordinates():
    found = Gram(3 - norm2(a), region()).refute(samples=50)
    ((_, (coordinate, *rest)),) = found.coordinates
    assert int(coordinate) ** 2 == 4 and not rest and found.value == "-1"
