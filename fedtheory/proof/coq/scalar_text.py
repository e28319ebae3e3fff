"""Scalars of a saved proof as polynomials and quotients of them, and as text for Coq."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import Ordering, fmpq, fmpq_mpoly_ctx

Monomial = tuple[tuple[str, int], ...]
"""Power product ((name, power), ...) in alphabetical order, every power > 0."""

Names = Mapping[str, str]
"""Texts that stand for names."""

LARGEST_TERMS = 20_000
"""Largest number of terms of a polynomial."""


class NotExported(ValueError):
    """Error of a proof that has a part without an export."""


@dataclass(frozen=True)
class Polynomial:
    """Polynomial with rational coefficients: {monomial: coefficient}, none of them 0.

    >>> x, one = Polynomial.name("x"), Polynomial.number(1)
    >>> ((x + one) * (x - one)).text({})
    'x ^ 2 - 1'
    """

    terms: Mapping[Monomial, Fraction]

    @classmethod
    def of(cls, terms: Mapping[Monomial, Fraction]) -> Polynomial:
        """Make a polynomial of terms, without those whose coefficient is 0."""
        if len(terms) > LARGEST_TERMS:
            raise NotExported(f"a polynomial of {len(terms)} terms: allowed are {LARGEST_TERMS}")
        return cls({powers: c for powers, c in terms.items() if c})

    @classmethod
    def number(cls, value: int | Fraction) -> Polynomial:
        """Make a constant polynomial."""
        return cls.of({(): Fraction(value)})

    @classmethod
    def name(cls, name: str) -> Polynomial:
        """Make the polynomial that is a name."""
        return cls({((name, 1),): Fraction(1)})

    def __add__(self, other: Polynomial) -> Polynomial:
        made = dict(self.terms)
        for powers, c in other.terms.items():
            made[powers] = made.get(powers, Fraction(0)) + c
        return Polynomial.of(made)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * Polynomial.number(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        made: dict[Monomial, Fraction] = {}
        for p, c in self.terms.items():
            for r, d in other.terms.items():
                key = times(p, r)
                made[key] = made.get(key, Fraction(0)) + c * d
        return Polynomial.of(made)

    def __pow__(self, power: int) -> Polynomial:
        made = Polynomial.number(1)
        for _ in range(power):
            made = made * self
        return made

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that occur."""
        return frozenset(name for powers in self.terms for name, _ in powers)

    @property
    def is_number(self) -> bool:
        """Whether the polynomial is constant."""
        return not self.names

    @property
    def is_one(self) -> bool:
        """Whether the polynomial is 1."""
        return self == Polynomial.number(1)

    def by_power(self, name: str) -> dict[int, Polynomial]:
        """Return {power: coefficient} in a name."""
        parts: dict[int, dict[Monomial, Fraction]] = {}
        for powers, c in self.terms.items():
            rest = tuple(pair for pair in powers if pair[0] != name)
            parts.setdefault(dict(powers).get(name, 0), {})[rest] = c
        return {p: Polynomial(part) for p, part in parts.items()}

    def text(self, at: Names) -> str:
        """Return the polynomial as text for Coq, with texts for some names; coefficients have to be whole.

        >>> Polynomial({(("K", 2), ("L", 1)): Fraction(-3), (): Fraction(1)}).text({"K": "INR K"})
        '1 - 3 * (INR K) ^ 2 * L'
        """
        parts = []
        for powers, c in sorted(self.terms.items(), key=lambda term: (term[1] < 0, term[0])):
            if c.denominator != 1:
                raise NotExported(f"{c}: allowed are whole coefficients")
            factors = [_power(at.get(name, name), p) for name, p in powers]
            if abs(c) != 1 or not factors:
                factors.insert(0, str(abs(c)))
            parts.append(("- " if c < 0 else "+ ") + " * ".join(factors))
        if not parts:
            return "0"
        first, *rest = parts
        return " ".join([first.removeprefix("+ "), *rest])

    def nested(self, at: Names) -> str:
        """Return the polynomial as text for Coq in Horner's form, where every letter is taken out of as many terms as
        it is in. This is far shorter than ``text`` if the sign is that of all coefficients.

        >>> powers = (("K", 2), ("L", 1)), (("K", 1),), (("L", 1),)
        >>> Polynomial({p: Fraction(3) for p in powers}).nested({})
        'K * (3 * K * L + 3) + 3 * L'
        """
        if len(self.terms) < 2:
            return self.text(at)
        least = {n: min(dict(powers).get(n, 0) for powers in self.terms) for n in self.names}
        if common := {n: p for n, p in least.items() if p}:
            inside = self._without(common).nested(at)
            return " * ".join([*(_power(at.get(n, n), p) for n, p in sorted(common.items())), f"({inside})"])
        often = max(sorted(self.names), key=lambda n: sum(n in dict(powers) for powers in self.terms))
        with_it = Polynomial({powers: c for powers, c in self.terms.items() if often in dict(powers)})
        return f"{with_it.nested(at)} + {(self - with_it).nested(at)}"

    def _without(self, common: Mapping[str, int]) -> Polynomial:
        """Divided by powers that are in every term."""
        return Polynomial(
            {
                tuple((n, p - common.get(n, 0)) for n, p in powers if p > common.get(n, 0)): c
                for powers, c in self.terms.items()
            }
        )


def _power(base: str, power: int) -> str:
    inside = base if base.isidentifier() else f"({base})"
    return inside if power == 1 else f"{inside} ^ {power}"


def times(one: Monomial, other: Monomial) -> Monomial:
    """Return the product of two monomials."""
    made = dict(one)
    for name, power in other:
        made[name] = made.get(name, 0) + power
    return tuple(sorted(made.items()))


@dataclass(frozen=True)
class Scalar:
    """Quotient of two polynomials with whole coefficients without a common divisor."""

    top: Polynomial
    bottom: Polynomial

    @classmethod
    def of(cls, top: Polynomial, bottom: Polynomial) -> Scalar:
        """Make a quotient, scaled to whole coefficients without a common divisor."""
        every = [*top.terms.values(), *bottom.terms.values()]
        scale = Fraction(math.lcm(*(c.denominator for c in every)))
        common = math.gcd(*(int(c * scale) for c in every))
        factor = Polynomial.number(scale / common)
        return cls(top * factor, bottom * factor)

    @classmethod
    def read(cls, data: Mapping, names: list[str]) -> Scalar:
        """Read a scalar of a saved proof."""
        return cls.of(*(_read(data[part], names) for part in ("top", "bottom")))

    @classmethod
    def number(cls, value: int | Fraction) -> Scalar:
        """Return a number as a scalar."""
        return cls.of(Polynomial.number(value), Polynomial.number(1))

    @property
    def names(self) -> frozenset[str]:
        """Names that occur."""
        return self.top.names | self.bottom.names

    @property
    def is_zero(self) -> bool:
        """Whether the scalar is 0."""
        return not self.top.terms

    @property
    def is_one(self) -> bool:
        """Whether the scalar is 1."""
        return self == Scalar.number(1)

    def __sub__(self, other: Scalar) -> Scalar:
        return Scalar.of(self.top * other.bottom - other.top * self.bottom, self.bottom * other.bottom)

    def __mul__(self, other: Scalar) -> Scalar:
        return Scalar.of(self.top * other.top, self.bottom * other.bottom)

    def replace(self, values: Mapping[str, Scalar]) -> Scalar:
        """Replace names by quotients, all at once."""
        top, over = _replaced(self.top, values)
        bottom, under = _replaced(self.bottom, values)
        return Scalar.of(top * under, bottom * over)

    def apart(self, letters: Iterable[str]) -> dict[Monomial, Scalar]:
        """Return the coefficients, each in lowest terms, of the products of letters that do not occur in the
        denominator."""
        free = frozenset(letters) - self.bottom.names
        parts: dict[Monomial, dict[Monomial, Fraction]] = {}
        for powers, c in self.top.terms.items():
            data = tuple(pair for pair in powers if pair[0] in free)
            parts.setdefault(data, {})[tuple(pair for pair in powers if pair[0] not in free)] = c
        return {data: _lowest(Polynomial(part), self.bottom) for data, part in parts.items()}

    def text(self, at: Names) -> str:
        """Return the quotient as text for Coq."""
        top = self.top.text(at)
        return top if self.bottom.is_one else f"({top}) / ({self.bottom.text(at)})"

    def __hash__(self) -> int:
        return hash((self.top, self.bottom))


def _lowest(top: Polynomial, bottom: Polynomial) -> Scalar:
    """A quotient in lowest terms."""
    names = tuple(sorted(top.names | bottom.names)) or ("unused",)
    context = fmpq_mpoly_ctx.get(names, Ordering.lex)
    made = []
    for part in (top, bottom):
        terms = {
            tuple(dict(p).get(n, 0) for n in names): fmpq(c.numerator, c.denominator) for p, c in part.terms.items()
        }
        made.append(context.from_dict(terms))
    common = made[0].gcd(made[1])
    top, bottom = (
        Polynomial(
            {
                tuple((n, int(e)) for n, e in zip(names, powers, strict=True) if e): Fraction(int(c.p), int(c.q))
                for powers, c in (part / common).to_dict().items()
            }
        )
        for part in made
    )
    return Scalar.of(top, bottom)


def _read(data: Iterable, names: list[str]) -> Polynomial:
    return Polynomial.of(
        {tuple(sorted((n, p) for n, p in zip(names, powers, strict=True) if p)): Fraction(c) for powers, c in data}
    )


def _replaced(polynomial: Polynomial, values: Mapping[str, Scalar]) -> tuple[Polynomial, Polynomial]:
    """Top and bottom of a polynomial with quotients for some names."""
    one = Polynomial.number(1)
    highest = {n: max((dict(p).get(n, 0) for p in polynomial.terms), default=0) for n in values}
    bottom, total = one, Polynomial({})
    for name, power in highest.items():
        bottom = bottom * values[name].bottom ** power
    for powers, c in polynomial.terms.items():
        term = Polynomial.number(c)
        mine = dict(powers)
        for name, power in highest.items():
            used = mine.pop(name, 0)
            term = term * values[name].top ** used * values[name].bottom ** (power - used)
        total = total + term * Polynomial({tuple(sorted(mine.items())): Fraction(1)})
    return total, bottom
