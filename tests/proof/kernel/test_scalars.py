"""Scalars of theorems, drawn: sums, coefficients and replaced names are what they are at points, in lowest terms."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from fedtheory.proof.kernel.scalars import Ring, Scalar

RING = Ring("a b c")


def polynomial(rng: Random) -> Scalar:
    total = RING.number(0)
    for _ in range(rng.randint(1, 4)):
        term = RING.number(Fraction(rng.choice((-3, -1, 1, 2)), rng.randint(1, 3)))
        for letter in RING.symbols:
            term = term * letter ** rng.choice((0, 0, 1, 2))
        total = total + term
    return total


def drawn(count: int = 60) -> list[tuple[Scalar, Scalar, dict[str, Scalar]]]:
    """Pairs of quotients, a third of which have the same denominator, and what is put in for some names. Denominators
    are above 0 where letters are."""
    rng, found = Random(0), []
    for i in range(count):
        bottoms = [1 + (1 + i % 3) * RING["a"] * RING["b"], 2 + RING["c"] ** 2]
        one, other = polynomial(rng) / bottoms[0], polynomial(rng) / bottoms[i % 3 > 0]
        names = rng.sample(RING.names, rng.randint(0, 2))
        found.append((one, other, {name: RING.symbols[i % 3] + rng.choice((1, RING["a"])) / 3 for name in names}))
    return found


AT = {"a": Fraction(2, 7), "b": Fraction(5, 3), "c": Fraction(11, 13)}


def is_lowest(scalar: Scalar) -> bool:
    common = scalar.numerator.gcd(scalar.denominator)
    return bool(common.is_one()) and scalar.denominator.leading_coefficient() == 1


def test_sums_products_and_quotients() -> None:
    for one, other, _ in drawn():
        x, y = one.at(AT), other.at(AT)
        made = {x + y: one + other, x - y: one - other, x * y: one * other} | ({x / y: one / other} if y else {})
        assert all(scalar.at(AT) == value and (scalar.is_zero or is_lowest(scalar)) for value, scalar in made.items())


def test_names_and_coefficients() -> None:
    for one, *_ in drawn():
        top, bottom = one.numerator.degrees(), one.denominator.degrees()
        assert one.names == {n for n, *powers in zip(RING.names, top, bottom, strict=True) if any(powers)}
        for at, name in enumerate(RING.names):
            if not bottom[at]:
                found = one.coefficients(name)
                assert sum((c * RING[name] ** n for n, c in found.items()), RING.number(0)) == one
                assert all(name not in c.names and not c.is_zero for c in found.values())
    assert RING.number(0).coefficients("a") == {}


def test_replaced_names() -> None:
    for one, _, values in drawn():
        there = {name: values[name].at(AT) if name in values else value for name, value in AT.items()}
        changed = one.replace(values)
        assert changed.at(AT) == one.at(there) and is_lowest(changed)
