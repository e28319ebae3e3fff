"""Certificates of signs on a region: letters are written through parameters >= 0 until no coefficient is negative."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..kernel.forms import STEP, STEPS
from ..kernel.regions import Condition
from ..kernel.scalars import Scalar
from .scalar_text import Monomial, Names, NotExported, Terms, halves, polynomial_text, scalar_text, terms

LARGEST_TERMS = 20_000
"""Largest number of terms of a numerator."""
MOST_SUBSETS = 400
POLYA = 3


class Certificate(NamedTuple):
    """Identity expression = numerator / denominator once the ``letters`` are written through parameters. No coefficient
    of the numerator is negative, and the denominator, as text, is a product of powers."""

    letters: tuple[Condition, ...]
    numerator: Terms
    denominator: str


class Region:
    """Conditions of a region, with texts for its letters, and those of them that are > 0."""

    def __init__(self, conditions: Iterable[Condition], names: Names) -> None:
        self.conditions, self.names = tuple(conditions), names
        self.strict: set[str] = set()
        for condition in reversed(self.conditions):
            if self._positive(condition):
                self.strict.add(condition.name)

    def _positive(self, condition: Condition) -> bool:
        """Whether the letter is > 0; that it is >= 0 is asked for."""
        if condition.kind == "at_least":
            assert condition.bound
            top, bottom = halves(condition.bound)
            if not (no_negative(top) and self.positive(bottom)):
                raise NotExported(f"{condition.name}: a bound from below that is not seen to be >= 0")
            return self.positive(top)
        return condition.kind in ("positive", "count", "capped")

    def positive(self, polynomial: Scalar) -> bool:
        """Whether a polynomial has no negative coefficient, and a term of letters that are > 0."""
        return no_negative(polynomial) and self.lead(terms(polynomial), frozenset()) is not None

    def lead(self, polynomial: Terms, positive: frozenset[str]) -> Monomial | None:
        """Return the monomial of a term that is > 0 where these parameters are."""
        return next((m for m in polynomial if all(n in self.strict or n in positive for n, _ in m)), None)

    def certificate(self, expression: Scalar, strict: bool) -> Certificate:
        """Return the shortest certificate that is found."""
        useful = tuple(c for c in self.conditions if c.kind not in ("positive", "nonnegative"))
        for letters in _subsets(expression, useful):
            for polya in range(POLYA + 1 if len(letters) == len(useful) else 1):
                found = self._through(expression, letters, polya)
                if found and (not strict or all(self.lead(found.numerator, c) is not None for c in cases(letters))):
                    return found
        raise NotExported(f"{scalar_text(expression, {})}: no certificate of its sign")

    def _through(self, expression: Scalar, letters: tuple[Condition, ...], polya: int) -> Certificate | None:
        made, bottom = halves(expression)
        if not self.positive(bottom):
            return None
        divisors = [(bottom, 1)]
        for condition in letters:
            made, divisor = _substituted(made, condition, STEP in expression.names)
            divisors.append(divisor)
        sum_of_names = sum((made.ring[name] for name in made.names), made.ring.number(1))
        made = made * sum_of_names**polya
        divisors.append((sum_of_names, polya))
        if len(made.numerator) > LARGEST_TERMS:
            raise NotExported(f"a polynomial of {len(made.numerator)} terms: allowed are {LARGEST_TERMS}")
        if not no_negative(made):
            return None
        factors = [(f"({polynomial_text(terms(d), self.names)})", power) for d, power in divisors if power and d != 1]
        powers = [text if power == 1 else f"{text} ^ {power}" for text, power in factors]
        return Certificate(letters, terms(made), " * ".join(powers) or "1")


def no_negative(polynomial: Scalar) -> bool:
    """Whether a polynomial has no negative coefficient."""
    return all(c > 0 for c in polynomial.numerator.coeffs())


def _subsets(expression: Scalar, useful: tuple[Condition, ...]) -> Iterator[tuple[Condition, ...]]:
    names, before = set(expression.names), 0
    while len(names) > before:
        before = len(names)
        names |= {n for c in useful if c.name in names for n in c.used}
    near = [c for c in useful if c.name in names]
    every = (itertools.combinations(near, size) for size in range(len(near) + 1))
    yield from itertools.islice(itertools.chain.from_iterable(every), MOST_SUBSETS - 1)
    if len(near) < len(useful):
        yield useful


def _substituted(polynomial: Scalar, condition: Condition, stepped: bool) -> tuple[Scalar, tuple[Scalar, int]]:
    """The polynomial with the letter through its parameters, times a power; that power."""
    ring = polynomial.ring
    u, whole = ring[parameter(condition)], ring.number(1)
    top, bottom = halves(whole if condition.bound is None else condition.bound)
    if condition.kind == "capped":
        whole = whole + u
    elif condition.kind == "interval":
        top, whole = top * u, u + ring[rest(condition)]
    else:
        top = top + bottom * u + (ring[STEP] if condition.name == STEPS and stepped else 0)
    parts = polynomial.coefficients(condition.name)
    degree = max(parts, default=0)
    products = (part * top**power * (bottom * whole) ** (degree - power) for power, part in parts.items())
    return sum(products, ring.number(0)), (bottom * whole if condition.kind == "capped" else bottom, degree)


def cases(letters: Iterable[Condition]) -> list[frozenset[str]]:
    """Return all choices of the one of each interval's two parameters that is > 0."""
    pairs = [(parameter(c), rest(c)) for c in letters if c.kind == "interval"]
    return [frozenset(chosen) for chosen in itertools.product(*pairs)]


def parameter(condition: Condition) -> str:
    """Return the name of a letter's parameter."""
    return f"u_{condition.name}"


def rest(condition: Condition) -> str:
    """Return the name of the second parameter of an interval's letter."""
    return f"v_{condition.name}"
