"""Certificates of signs on a region: letters are written through parameters >= 0 until no coefficient is negative."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .scalar_text import NotExported, Polynomial, Scalar

STEP, STEPS = "k", "K"
MOST_SUBSETS = 400
POLYA = 3


@dataclass(frozen=True)
class Condition:
    """Condition on a letter as saved: positive, nonnegative, count, capped, interval or at_least."""

    name: str
    kind: str
    bound: Scalar | None

    def statements(self) -> list[tuple[Scalar, bool]]:
        """Return pairs (expression, whether strict); all expressions are >= 0, and > 0 if strict."""
        x = Scalar.of(Polynomial.name(self.name), Polynomial.number(1))
        if self.kind in ("positive", "nonnegative"):
            return [(x, self.kind == "positive")]
        if self.kind == "count":
            return [(x - Scalar.number(1), False)]
        assert self.bound
        if self.kind == "at_least":
            return [(x - self.bound, False)]
        return [(x, self.kind == "capped"), (self.bound - x, False)]


@dataclass(frozen=True)
class Certificate:
    """Identity expression = numerator / denominator once the ``letters`` are written through parameters. No coefficient
    of the numerator is negative, and the denominator is a product of ``factors`` with powers."""

    letters: tuple[Condition, ...]
    numerator: Polynomial
    factors: tuple[tuple[str, int], ...]
    polya: tuple[str, int]


@dataclass
class Region:
    """Conditions of a region, and the known sign of each letter."""

    conditions: tuple[Condition, ...]
    names: Mapping[str, str]
    strict: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for condition in reversed(self.conditions):
            self.strict[condition.name] = self._positive(condition)

    def _positive(self, condition: Condition) -> bool:
        """Whether the letter is > 0; that it is >= 0 is asked for."""
        if condition.kind in ("positive", "count", "capped"):
            return True
        if condition.kind == "at_least":
            bound = condition.bound
            assert bound
            if not (self.nonnegative(bound.top) and self.positive(bound.bottom)):
                raise NotExported(f"{condition.name}: a bound from below that is not seen to be >= 0")
            return self.positive(bound.top)
        return False

    def nonnegative(self, polynomial: Polynomial) -> bool:
        """Whether all coefficients of a polynomial are > 0."""
        return all(c > 0 for c in polynomial.terms.values())

    def positive(self, polynomial: Polynomial, more: frozenset[str] = frozenset()) -> bool:
        """Whether a polynomial has no negative coefficient, and a term of letters that are > 0 or among ``more``."""
        return self.nonnegative(polynomial) and any(
            all(self.strict.get(name, False) or name in more for name, _ in powers) for powers in polynomial.terms
        )

    def certificate(self, expression: Scalar, strict: bool) -> Certificate:
        """Return the shortest certificate that is found."""
        for letters in self._subsets(expression):
            for polya in range(POLYA + 1 if len(letters) == len(self._useful()) else 1):
                found = self._through(expression, letters, polya)
                if found and (not strict or self._is_positive(found)):
                    return found
        raise NotExported(f"{expression.text({})}: no certificate of its sign")

    def _useful(self) -> list[Condition]:
        return [c for c in self.conditions if c.kind not in ("positive", "nonnegative")]

    def _subsets(self, expression: Scalar) -> Iterator[tuple[Condition, ...]]:
        useful = self._useful()
        names, before = set(expression.names), 0
        while len(names) > before:
            before = len(names)
            names |= {n for c in useful if c.name in names and c.bound for n in c.bound.names}
        near = [c for c in useful if c.name in names]
        tried = 0
        for size in range(len(near) + 1):
            for chosen in itertools.combinations(near, size):
                tried += 1
                if tried < MOST_SUBSETS:
                    yield chosen
        if len(near) < len(useful):
            yield tuple(useful)

    def _through(self, expression: Scalar, letters: tuple[Condition, ...], polya: int) -> Certificate | None:
        if not self.positive(expression.bottom):
            return None
        made, factors = expression.top, [(expression.bottom.text(self.names), 1)]
        for condition in letters:
            made, more = self._substituted(made, condition, STEP in expression.names)
            factors += more
        names = sorted(made.names)
        sum_of_names = sum((Polynomial.name(n) for n in names), Polynomial.number(1))
        made = made * sum_of_names**polya
        if not self.nonnegative(made):
            return None
        return Certificate(
            letters, made, tuple(f for f in factors if f[0] != "1" and f[1]), (sum_of_names.text(self.names), polya)
        )

    def _substituted(
        self, polynomial: Polynomial, condition: Condition, stepped: bool
    ) -> tuple[Polynomial, list[tuple[str, int]]]:
        """The polynomial with the letter through its parameter, times the factors."""
        parts, one = polynomial.by_power(condition.name), Polynomial.number(1)
        degree = max(parts, default=0)
        u = Polynomial.name(parameter(condition))
        if condition.kind == "count":
            top, bottom = one + u, one
            if condition.name == STEPS and stepped:
                top = top + Polynomial.name(STEP)
        else:
            assert condition.bound
            top, bottom = condition.bound.top, condition.bound.bottom
            if condition.kind == "at_least":
                top = top + bottom * u
            elif condition.kind == "capped":
                bottom = bottom * (one + u)
            else:
                whole, top = u + Polynomial.name(rest(condition)), top * u
                made = Polynomial({})
                for power, part in parts.items():
                    made = made + part * top**power * (bottom * whole) ** (degree - power)
                return made, [(bottom.text(self.names), degree)]
        made = Polynomial({})
        for power, part in parts.items():
            made = made + part * top**power * bottom ** (degree - power)
        return made, [(bottom.text(self.names), degree)]

    def _is_positive(self, certificate: Certificate) -> bool:
        """Whether the numerator is > 0: in each case of which of an interval's two parameters is not 0."""
        return all(self.lead(certificate, chosen) is not None for chosen in cases(certificate))

    def lead(self, certificate: Certificate, positive: frozenset[str]) -> tuple | None:
        """Return a term of the numerator that is > 0 where these parameters are."""
        return next(
            (
                powers
                for powers in certificate.numerator.terms
                if all(self.strict.get(n, False) or n in positive for n, _ in powers)
            ),
            None,
        )


def cases(certificate: Certificate) -> list[frozenset[str]]:
    """Return all choices of the one of each interval's two parameters that is > 0."""
    pairs = [(parameter(c), rest(c)) for c in certificate.letters if c.kind == "interval"]
    return [frozenset(chosen) for chosen in itertools.product(*pairs)]


def parameter(condition: Condition) -> str:
    """Return the name of a letter's parameter."""
    return f"u_{condition.name}"


def rest(condition: Condition) -> str:
    """Return the name of the second parameter of an interval's letter."""
    return f"v_{condition.name}"


def factor_text(factors: tuple[tuple[str, int], ...]) -> str:
    """Return a product of powers as text for Coq."""
    return " * ".join(f"({text})" if power == 1 else f"({text}) ^ {power}" for text, power in factors) or "1"
