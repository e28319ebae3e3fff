"""Certificates of vector inequalities: what verification takes, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy

from fedtheory.proof.gram import Gram, GramCounterexample, complete_squares, dot, norm2, vectors
from fedtheory.proof.polynomial_data import Polynomial, Ratio, times_power
from fedtheory.proof.positivity import Certificate
from fedtheory.proof.symbol_regions import positive, region

t, x, y = sympy.symbols("t x y")
a, b = vectors("a b")
WHERE = region(positive("t"))
YOUNG = Gram((1 + t) * norm2(a) + (1 + 1 / t) * norm2(b) - norm2(a + b), WHERE)


def test_a_certificate_may_use_every_scalar_and_has_a_sign_for_each_multiplier():
    made = YOUNG.certify()
    assert made.verify() and made.proves(YOUNG)
    assert {name for c, _ in made.squares for name in c.names} == {"t"}
    assert not replace(made, signs=made.signs[:-1]).verify()
    assert not replace(made, signs=(*made.signs, *made.signs)).verify()
    assert not replace(made, signs=made.signs[:-1]).proves(YOUNG)
    two = Gram(t * norm2(a) + 2 * norm2(b), WHERE).certify()
    assert two.verify() and not replace(two, signs=two.signs[::-1]).verify()


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
    assert zero.certify().proves(replace(zero, zero=((dot(a, a), t), (dot(a, b), t))))
    assert Gram(x * t + norm2(a), WHERE, zero=((x, t),)).certify().verify()
    assert Gram(x * y + norm2(a), WHERE, zero=((x, y),)).certify() is None  # y is no scalar of the region


def test_hypotheses_of_a_certificate_are_those_of_the_statement_and_the_number_1():
    statement = Gram(norm2(a) * t + x * t, WHERE, given=((x, t),))
    made = statement.certify()
    assert made.proves(statement) and made.proves(replace(statement, given=((y, t), (x, t))))
    assert not made.proves(replace(statement, given=())) and not made.proves(replace(statement, given=((2 * x, t),)))
    with_rest = Gram(norm2(a) + t, WHERE)
    assert [(h.expression(), m.expression()) for h, m in with_rest.certify().given] == [(1, t)]
    assert with_rest.certify().proves(with_rest) and YOUNG.certify().given == ()
    assert Gram(norm2(a) - t, WHERE).certify() is None and Gram(norm2(a) + x, WHERE).certify() is None


@pytest.mark.parametrize("vector", [a + 1, a * b, a**2, sympy.Integer(1), sympy.Integer(-1), t])
def test_what_is_no_linear_combination_is_refused(vector):
    with pytest.raises(ValueError, match="allowed is a linear combination of vectors"):
        dot(vector, a)


def test_names_of_vectors_have_no_underscore():
    for names in ("b_c", "a b_c", "b_c a"):
        with pytest.raises(ValueError, match="allowed are names without _"):
            vectors(names)
    assert dot(a - a, b) == 0


def test_squares_and_their_rest_add_up():
    form = sympy.expand(3 * norm2(a) + 2 * t * dot(a, b) + 5 * norm2(b) + 7 * t - 2)
    squares, rest = complete_squares(form)
    assert sympy.expand(rest - (7 * t - 2)) == 0
    total = sum(c * norm2(v) for c, v in squares) + rest
    assert sympy.simplify(sympy.expand(total - form)) == 0


def test_products_without_a_square_of_their_own_are_left():
    assert complete_squares(2 * dot(a, b) + t) == ((), 2 * dot(a, b) + t)
    assert complete_squares(-norm2(a) + 2 * dot(a, b)) == (((-1, a - b), (1, b)), 0)


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


FALSE = Gram(x - t * norm2(a), WHERE, given=((x - 1, sympy.Integer(0)),), zero=((x - y, sympy.Integer(0)),))


def point(x="1", y=None, t="1", a="2", more=(), value=None):
    """A would-be counterexample of ``FALSE``, with the value that its numbers give."""
    exact = sympy.Rational(x) - sympy.Rational(t) * sympy.Rational(a) ** 2
    numbers = (("x", x), ("y", x if y is None else y), *more)
    return GramCounterexample((("p_t", t),), (("a", (a,)),), numbers, str(exact) if value is None else value)


def test_a_counterexample_obeys_every_hypothesis():
    for there in (point(), point(x="3/2"), point(x="2"), point(t="1/2"), point(a="11/10")):
        assert there.refutes(FALSE)
    assert not point(x="1/2").refutes(FALSE) and not point(x="0").refutes(FALSE)
    assert not point(y="2").refutes(FALSE) and not point(y="0").refutes(FALSE)
    assert point(y="2").refutes(replace(FALSE, zero=()))
    assert not point(a="1").refutes(FALSE)  # there both sides are equal
    assert not point(x="2", a="1").refutes(FALSE)
    assert not point(value="-2").refutes(FALSE)


def test_a_counterexample_has_parameters_of_the_region_and_names_nothing_else():
    assert not point(t="0", value="1").refutes(FALSE) and not point(t="-1", value="-5").refutes(FALSE)
    below = replace(FALSE, expression=x - norm2(a))  # negative whatever t is
    assert not point(t="-1", value="-3").refutes(below)
    for more, value in ((("t", "5"), "-19"), (("p_t", "1"), "-3"), (("dot_a_a", "4"), "-3"), (("dot_b_b", "1"), "-3")):
        assert not point(more=(more,), value=value).refutes(FALSE)
    missing = point()
    assert not replace(missing, numbers=missing.numbers[:1]).refutes(FALSE)
    assert not replace(missing, coordinates=()).refutes(FALSE)
    assert not point(x="1", value="-3").refutes(replace(FALSE, expression=FALSE.expression / (x - 1)))


def test_points_where_hypotheses_more_than_hold_are_looked_at():
    """Numbers are halves: none of them is 1/3."""
    statement = Gram(x - norm2(a), region(), given=((x - sympy.Rational(1, 3), sympy.Integer(0)),))
    assert statement.refute(samples=200).refutes(statement)


def test_points_where_hypotheses_just_hold_are_looked_at():
    """Only b = 0, or a orthogonal to b, is allowed."""
    nothing = sympy.Integer(0)
    for given, zero in ((((-norm2(b), nothing),), ()), ((), ((dot(a, b), nothing),))):
        statement = Gram(norm2(b) - norm2(a), region(), given=given, zero=zero)
        found = statement.refute(samples=50)
        assert found.refutes(statement) and type(found).from_data(found.data()) == found


def test_vectors_of_a_counterexample_are_of_one_space():
    flat = replace(point(), coordinates=(("a", ("2", "0")), ("b", ("0", "1"))))
    assert flat.refutes(FALSE)
    for other in ((), ("0",), ("0", "1", "0")):
        assert not replace(flat, coordinates=(("a", ("2", "0")), ("b", other))).refutes(FALSE)
