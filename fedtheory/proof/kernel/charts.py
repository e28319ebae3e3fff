"""Charts: every letter of a region written through parameters >= 0, by which inequalities are certified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from flint import fmpq_mpoly

from .sample_points import somewhere
from .scalars import Ring, Scalar, by_power

POLYA = 3
"""The largest power of 1 + the sum of the parameters that a numerator is multiplied by to lose its negative signs."""
Quotient = tuple[fmpq_mpoly, fmpq_mpoly]


@dataclass(frozen=True, eq=False)
class Chart:
    """All points of a region: each letter is a quotient in parameters >= 0, of which ``positive`` are > 0, and in the
    letters that come later. ``of`` has the letters, ``ring`` the parameters too. A point of the region is the image of
    parameters at which nothing is divided by 0.

    >>> of, ring = Ring("x c"), Ring("x c u")
    >>> (x, c), u = of.symbols, ring["u"]
    >>> chart = Chart(of.names, ring, (("x", ring["c"] / (1 + u)), ("c", 2 + 0 * u)), ("u",), frozenset())
    >>> chart.certifies(2 - x), chart.certifies(x - 2), chart.never_zero(3 - x), chart.never_zero(2 - x)
    (True, False, True, False)
    """

    of: tuple[str, ...]
    ring: Ring
    letters: tuple[tuple[str, Scalar], ...]
    parameters: tuple[str, ...]
    positive: frozenset[str]
    _known: dict[tuple[str, str], Scalar] = field(default_factory=dict, repr=False)
    _decided: dict[tuple, bool] = field(default_factory=dict, repr=False)

    def pulled(self, expression: Scalar) -> Scalar:
        """Return the expression in the parameters alone, in lowest terms.

        Raises:
            ValueError: a letter of which the region says nothing.
        """
        if (key := _key(expression)) not in self._known:
            self._known[key] = Scalar(self.ring, *self._quotient(expression))
        return self._known[key]

    def _quotient(self, expression: Scalar) -> Quotient:
        """Return the expression in the parameters letter by letter, without the power products that top and bottom have
        in common."""
        loose = expression.names - {name for name, _ in self.letters} - {*self.parameters}
        if loose:
            raise ValueError(f"{expression} uses {sorted(loose)}, of which the region says nothing")
        top, bottom = (p.project_to_context(self.ring.context) for p in (expression.numerator, expression.denominator))
        for name, letter in self._bounded:
            at = self.ring.names.index(name)
            if not (top.degrees()[at] or bottom.degrees()[at]):
                continue
            (top, over), (bottom, under) = (self._substituted(p, at, letter) for p in (top, bottom))
            top, bottom = _apart(top * under, bottom * over)
        return top.compose(*self._free, ctx=self.ring.context), bottom.compose(*self._free, ctx=self.ring.context)

    @cached_property
    def _bounded(self) -> list[tuple[str, Scalar]]:
        """The letters by whose bounds others come in."""
        return [(n, c) for n, c in self.letters if not (c.is_polynomial and c.names <= {*self.parameters})]

    @cached_property
    def _free(self) -> list[fmpq_mpoly]:
        """Return the expression that each name becomes at the end: for a letter without a bound its polynomial in its
        parameters."""
        bounded, letters = {n for n, _ in self._bounded}, dict(self.letters)
        return [
            x if n in bounded or n not in letters else letters[n].numerator
            for n, x in zip(self.ring.names, self.ring.context.gens(), strict=True)
        ]

    def _substituted(self, polynomial: fmpq_mpoly, at: int, letter: Scalar) -> Quotient:
        """Substitute a quotient for the letter that is the name number ``at``, and return a polynomial over a power."""
        degree, one = int(polynomial.degrees()[at]), self.ring.context.constant(1)
        if not degree:
            return polynomial, one
        tops, bottoms = (_powers(p, degree, one) for p in (letter.numerator, letter.denominator))
        total = self.ring.context.constant(0)
        for power, part in by_power(polynomial, self.ring, at).items():
            total = total + part * tops[power] * bottoms[degree - power]
        return total, bottoms[-1]

    def certifies(self, expression: Scalar) -> bool:
        """Whether expression >= 0 is certified at every point where it is defined: as a quotient in the parameters it
        has no negative coefficient, if need be in lowest terms, once the numerator is multiplied by a power of 1 +
        their sum. Where it is negative at one of a few points nothing is tried."""
        if self.seen_negative(expression):
            return False
        if (key := _key(expression)) not in self._decided:
            self._decided[key] = self._certifies(*self._quotient(expression))
        return self._decided[key]

    def seen_negative(self, expression: Scalar) -> bool:
        """Whether an expression is < 0 at one of a few points: that is seen before anything is expanded."""
        return somewhere(self, expression, lambda value: value < 0)

    def _certifies(self, top: fmpq_mpoly, bottom: fmpq_mpoly) -> bool:
        if _no_sign(top) and _no_sign(bottom):
            return True
        top, bottom = (lowest := Scalar(self.ring, top, bottom)).numerator, lowest.denominator
        top, bottom = (top, bottom) if _no_sign(bottom) else (-top, -bottom)
        return _no_sign(bottom) and any(map(_no_sign, self._multiples(top)))

    def _multiples(self, top: fmpq_mpoly) -> Iterator[fmpq_mpoly]:
        gens = zip(self.ring.context.gens(), top.degrees(), strict=True)
        factor = sum((x for x, degree in gens if degree > 0), self.ring.context.constant(1))
        for _ in range(POLYA + 1):
            yield top
            top = top * factor

    def never_zero(self, expression: Scalar) -> bool:
        """Whether a numerator is seen to be > 0 at every point: it has no negative coefficient in the parameters, and
        no parameters that may vanish together are in all its terms."""
        if somewhere(self, expression, lambda value: value == 0):
            return False
        if (key := (*_key(expression), "zero")) not in self._decided:
            top = self.pulled(expression).numerator
            self._decided[key] = _no_sign(top) and self._no_zero(top)
        return self._decided[key]

    def _no_zero(self, top: fmpq_mpoly) -> bool:
        terms = self._supports(top)
        return all(any(term <= kept for term in terms) for kept in self._kept)

    def _supports(self, polynomial: fmpq_mpoly) -> set[frozenset[str]]:
        """The parameters of each term that may be 0."""
        return {
            frozenset(n for n, power in zip(self.ring.names, powers, strict=True) if power and n not in self.positive)
            for powers in polynomial.monoms()
        }

    @cached_property
    def _kept(self) -> list[frozenset[str]]:
        """The smallest sets of parameters that keep every divisor from 0 while all others are 0. What is 0 at such a
        point is so where fewer are 0, so that no other points are asked."""
        kept = [frozenset[str]()]
        divided = [self._divided(i) for i, (_, letter) in enumerate(self.letters) if not letter.is_polynomial]
        for terms in (self._supports(d) for d in divided if _no_sign(d)):
            sets = {some | term for some in kept for term in terms}
            kept = [some for some in sets if not any(other < some for other in sets)]
        return kept

    def _divided(self, number: int) -> fmpq_mpoly:
        """Return the divisor of a letter, in the parameters."""
        later = Chart(self.of, self.ring, self.letters[number + 1 :], self.parameters, self.positive)
        return later.pulled(self.letters[number][1].bottom).numerator


def _key(expression: Scalar) -> tuple[str, str]:
    return str(expression.numerator), str(expression.denominator)


def _apart(top: fmpq_mpoly, bottom: fmpq_mpoly) -> Quotient:
    common = top.term_content().gcd(bottom.term_content())
    return (top, bottom) if common.is_zero() else (top / common, bottom / common)


def _no_sign(polynomial: fmpq_mpoly) -> bool:
    return all(c >= 0 for c in polynomial.coeffs())


def _powers(base: fmpq_mpoly, most: int, one: fmpq_mpoly) -> list[fmpq_mpoly]:
    made = [one]
    for _ in range(most):
        made.append(made[-1] * base)
    return made
