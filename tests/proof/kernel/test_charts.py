"""What the kernel certifies on a region is what the checks of certificates find, decided in another way: there sympy
writes letters through parameters >= 0, here flint does, letter by letter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction as F

import pytest

from fedtheory.proof import positivity, symbol_regions
from fedtheory.proof.kernel.charts import Chart
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.sample_points import somewhere
from fedtheory.proof.kernel.scalars import Ring, Scalar

RING = Ring("q eta L mu m sigma K k")
q, eta, L, mu, m, sigma, K, k = RING.symbols
WHERE = Where(RING, (
    Condition("eta", "capped", mu / (8 * L**2 * K)), Condition("q", "interval", 1 / m), Condition("L", "at_least", mu),
    Condition("mu", "positive"), Condition("K", "count"), Condition("m", "count"), Condition("sigma", "nonnegative"),
))  # fmt: skip


def by_certificates() -> symbol_regions.Region:
    """The same region where certificates are made."""
    e = {name: RING[name].expression() for name in RING.names}
    return symbol_regions.region(
        symbol_regions.capped("eta", e["mu"] / (8 * e["L"] ** 2 * e["K"])), symbol_regions.interval("q", 0, 1 / e["m"]),
        symbol_regions.at_least("L", e["mu"]), symbol_regions.positive("mu"), symbol_regions.at_least("K", e["k"] + 1),
        symbol_regions.count("k", 0), symbol_regions.count("m"), symbol_regions.nonnegative("sigma"),
    )  # fmt: skip


def drawn(count: int) -> Iterator[Scalar]:
    """Differences that are about 0 somewhere on the region, some of them quotients."""
    rng = random.Random(0)
    small = [q * m, 8 * L**2 * K * eta / mu, mu / L, k / K, 1 / K, 1 / m, eta * L, RING.number(F(1, 8))]
    for _ in range(count):
        one, other, third = rng.sample(small, 3)
        yield (1 - one * other - third * rng.choice((0, F(1, 8), 1))) * rng.choice((sigma, mu / L, 1 / (1 + k)))


def test_what_is_certified_has_a_certificate_and_the_other_way_round() -> None:
    found = set()
    for expression in drawn(60):
        certified = WHERE.chart.certifies(expression)
        assert certified is (positivity.certify(expression.expression(), by_certificates()) is not None), expression
        found.add(certified)
    assert found == {True, False}


@pytest.mark.parametrize(
    "polynomial", [K - k, mu, 1 + q, L, m - q, K - k - 1, q, sigma, L - mu, 1 - q, k, eta, 1 - eta]
)
def test_what_is_never_zero_is_so_for_certificates_too(polynomial: Scalar) -> None:
    assert WHERE.never_zero(polynomial) is by_certificates().never_zero(polynomial.expression())


def test_what_is_0_in_a_corner_alone_may_be_0() -> None:
    """Where six parameters are 0 at once, which none of the points tried first is."""
    corner = K - 1 + m - 1 + q + sigma + k + L - mu
    assert not somewhere(WHERE.chart, corner, lambda value: value == 0)
    assert not WHERE.never_zero(corner) and WHERE.never_zero(corner + mu)


def test_letters_are_put_in_for_sums_and_products_alike() -> None:
    pulled = WHERE.chart.pulled
    for one, other in ((eta, 1 / (q + 1)), (q * eta, L / mu), (1 / L, K * eta + k)):
        assert pulled(one + other) == pulled(one) + pulled(other)
        assert pulled(one * other) == pulled(one) * pulled(other)


def test_a_quotient_in_lowest_terms_and_a_power_of_the_sum_are_tried() -> None:
    """(mu^3 + K^3)/(mu + K) = mu^2 - mu K + K^2, and x^2 - x y + y^2 >= 0 only once it is multiplied by x + y + 1."""
    assert WHERE.certifies(mu**2 - mu * m + m**2) and not WHERE.certifies(mu**2 - 2 * mu * m + m**2)
    assert WHERE.certifies((mu**3 + L**3) / (mu + L))


def test_a_letter_of_which_nothing_is_said_is_refused() -> None:
    where = Where(RING, (Condition("mu", "positive"),))
    with pytest.raises(ValueError, match=r"uses \['L'\], of which the region says nothing"):
        where.certifies(mu + L)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ((Condition("mu", "positive"), Condition("mu", "count")), "one condition a name"),
        ((Condition("mu", "positive"), Condition("L", "at_least", mu)), "in names of later ones"),
        ((Condition("K", "positive"),), "allowed is a count"),
        ((Condition("eta", "capped"),), "needs a bound"),
        ((Condition("eta", "capped", 1 / (mu - 1)), Condition("mu", "positive")), "divides by what may be 0"),
    ],
)
def test_a_region_that_is_none_is_refused(conditions: tuple[Condition, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Where(RING, conditions).certifies(mu)


def test_what_is_kept_of_an_expression_is_of_all_of_it() -> None:
    """Not of another one with its numerator, nor of another question: (x^2 - x + 1)(1 + x) has no negative sign."""
    ring, x = Ring("x u"), Ring("x")["x"]
    chart = Chart(("x",), ring, (("x", ring["u"]),), ("u",), frozenset())
    hidden = x**2 - x + 1
    for _ in range(2):
        assert chart.certifies(x / (1 + x)) and not chart.certifies(x / hidden) and chart.certifies(x)
        assert chart.certifies(hidden) and not chart.never_zero(hidden)
        assert chart.certifies(1 + x) and chart.never_zero(1 + x)
