"""Scalars of a saved proof as text for Coq."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flint import fmpq

from ..kernel.scalars import Ring, Scalar

Monomial = tuple[tuple[str, int], ...]
"""Power product ((name, power), ...) in alphabetical order, every power > 0."""

Terms = Mapping[Monomial, int]
"""Polynomial with whole coefficients: {monomial: coefficient}, none of them 0."""

Names = Mapping[str, str]
"""Texts that stand for names."""


class NotExported(ValueError):
    """Error of a proof that has a part without an export."""


def read_scalar(data: Mapping, ring: Ring) -> Scalar:
    """Read a scalar of a saved proof, whose letters are the first names of a ring."""
    parts = []
    for part in (data["top"], data["bottom"]):
        padded = {(*powers, *[0] * (len(ring.names) - len(powers))): c.split("/") for powers, c in part}
        parts.append(ring.context.from_dict({powers: fmpq(*map(int, c)) for powers, c in padded.items()}))
    return Scalar(ring, *parts)


def halves(scalar: Scalar) -> tuple[Scalar, Scalar]:
    """Return numerator and denominator, scaled to whole coefficients without a common divisor."""
    parts = scalar.numerator, scalar.denominator
    every = [c for part in parts for c in part.coeffs()]
    factor = fmpq(math.lcm(*(int(c.q) for c in every)), math.gcd(*(int(c.p) for c in every)))
    top, bottom = (Scalar(scalar.ring, part * factor, scalar.ring.context.constant(1)) for part in parts)
    return top, bottom


def terms(polynomial: Scalar) -> Terms:
    """Return the terms of a polynomial with whole coefficients."""
    made = {}
    for powers, c in polynomial.numerator.to_dict().items():
        named = zip(polynomial.ring.names, map(int, powers), strict=True)
        made[tuple(sorted(pair for pair in named if pair[1]))] = int(c.p)
    return made


def scalar_text(scalar: Scalar, at: Names) -> str:
    """Return a quotient as text for Coq, with texts for some names.

    >>> L, eta = Ring("L eta").symbols
    >>> scalar_text((L * eta - 2) / 3 / L, {"eta": "step"})
    '(L * step - 2) / (3 * L)'
    """
    top, bottom = (polynomial_text(terms(part), at) for part in halves(scalar))
    return top if bottom == "1" else f"({top}) / ({bottom})"


def polynomial_text(polynomial: Terms, at: Names) -> str:
    """Return a polynomial as text for Coq, with texts for some names.

    >>> polynomial_text({(("K", 2), ("L", 1)): -3, (): 1}, {"K": "INR K"})
    '1 - 3 * (INR K) ^ 2 * L'
    """
    parts = []
    for powers, c in sorted(polynomial.items(), key=lambda term: (term[1] < 0, term[0])):
        factors = [_power(at.get(name, name), p) for name, p in powers]
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        parts.append(("- " if c < 0 else "+ ") + " * ".join(factors))
    return " ".join(parts).removeprefix("+ ") or "0"


def nested_text(polynomial: Terms, at: Names) -> str:
    """Return a polynomial as text for Coq in Horner's form, where every letter is taken out of as many terms as it is
    in. This is far shorter than ``polynomial_text`` if the sign is that of all coefficients.

    >>> powers = (("K", 2), ("L", 1)), (("K", 1),), (("L", 1),)
    >>> nested_text(dict.fromkeys(powers, 3), {})
    'K * (3 * K * L + 3) + 3 * L'
    """
    if len(polynomial) < 2:
        return polynomial_text(polynomial, at)
    each = [dict(powers) for powers in polynomial]
    names = sorted({name for powers in each for name in powers})
    least = {n: min(powers.get(n, 0) for powers in each) for n in names}
    if common := {n: p for n, p in least.items() if p}:
        inside = {
            tuple((n, p - common.get(n, 0)) for n, p in powers if p > common.get(n, 0)): c
            for powers, c in polynomial.items()
        }
        return " * ".join([*(_power(at.get(n, n), p) for n, p in common.items()), f"({nested_text(inside, at)})"])
    often = max(names, key=lambda n: sum(n in powers for powers in each))
    with_it = {powers: c for powers, c in polynomial.items() if often in dict(powers)}
    others = {powers: c for powers, c in polynomial.items() if often not in dict(powers)}
    return f"{nested_text(with_it, at)} + {nested_text(others, at)}"


def _power(base: str, power: int) -> str:
    inside = base if base.isidentifier() else f"({base})"
    return inside if power == 1 else f"{inside} ^ {power}"
