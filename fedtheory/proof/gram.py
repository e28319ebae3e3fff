"""Inequalities between vectors that are valid in every inner product space.

A statement is linear in inner products and in further real numbers (function values, second moments), with rational
functions of scalars as coefficients. It may use hypotheses. Random vectors with finite second moments form an inner
product space under E<u, v>, so the same statements serve for expectations. An expectation of a vector given the past
that vanishes is an inner product that vanishes.

A vector is a symbol from ``vectors``. The function ``dot`` writes an inner product of combinations through symbols for
the products of the single vectors.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import sympy

from .identity import is_identity
from .polynomial_data import Ratio, Written, fields, list_of, pair_of, plain, to_name, to_rational
from .positivity import Certificate, certify, draws, named_numbers
from .symbol_regions import Region

_VECTOR, _DOT = "vec_", "dot_"


def vectors(names: str) -> tuple[sympy.Symbol, ...]:
    """Return symbols that stand for vectors.

    >>> vectors("a b")
    (vec_a, vec_b)
    """
    made = tuple(sympy.Symbol(_VECTOR + to_name(name)) for name in names.split())
    if any("_" in name for name in names.split()):
        raise ValueError(f"names = {names!r}: allowed are names without _")
    return made


def dot(left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
    """Return <left, right> of two linear combinations of vectors.

    >>> a, b = vectors("a b")
    >>> dot(a + b, a - b)
    dot_a_a - dot_b_b
    """
    total = sympy.Integer(0)
    for (u, c), (v, d) in itertools.product(_combination(left), _combination(right)):
        first, second = sorted((u, v))
        total += c * d * sympy.Symbol(f"{_DOT}{first}_{second}")
    return sympy.expand(total)


def norm2(vector: sympy.Expr) -> sympy.Expr:
    """Return |vector|^2."""
    return dot(vector, vector)


def _combination(vector: sympy.Expr) -> list[tuple[str, sympy.Expr]]:
    vector = sympy.expand(plain(vector))
    names = sorted(s.name for s in vector.free_symbols if s.name.startswith(_VECTOR))
    pairs = [(name, sympy.cancel(vector.coeff(sympy.Symbol(name)))) for name in names]
    rest = vector - sympy.Add(*(c * sympy.Symbol(name) for name, c in pairs))
    if not is_identity(rest, sympy.Integer(0)) or any(
        s.name.startswith(_VECTOR) for _, c in pairs for s in c.free_symbols
    ):
        raise ValueError(f"vector = {vector}: allowed is a linear combination of vectors")
    return [(name.removeprefix(_VECTOR), c) for name, c in pairs]


@dataclass(frozen=True)
class GramCertificate(Written):
    """Proof of ``expression >= 0``: the identity

        expression = sum multiplier * given + sum factor * zero + sum coefficient * |square|^2,

    with certificates that all multipliers and coefficients are >= 0 on the region of the scalars.

    Attributes:
        expression, where: the expression that is >= 0, and the region of its scalars.
        given: pairs of an expression known to be >= 0 and its multiplier; the number 1 is always known to be.
        zero: pairs of an expression known to be 0 and its factor.
        squares: pairs (coefficient, vector).
        signs: certificates, of the multipliers first, then of the coefficients.
    """

    expression: Ratio
    where: Region
    given: tuple[tuple[Ratio, Ratio], ...]
    zero: tuple[tuple[Ratio, Ratio], ...]
    squares: tuple[tuple[Ratio, Ratio], ...]
    signs: tuple[Certificate, ...]

    def verify(self) -> bool:
        """Whether this is a proof: expands one identity and verifies the signs; searches nothing."""
        nonnegative = [m for _, m in self.given] + [c for c, _ in self.squares]
        factors = [*nonnegative, *(f for _, f in self.zero)]
        scalars = {name for name, _ in self.where.substitutions}
        if len(self.signs) != len(nonnegative) or any(not f.names <= scalars for f in factors):
            return False
        if not all(c.proves(m.expression(), self.where) for c, m in zip(self.signs, nonnegative, strict=True)):
            return False
        try:
            # Where a multiplier is undefined nothing would be shown. The squares may be: their sum is continuous.
            multipliers = (f for _, f in (*self.given, *self.zero))
            if not all(self.where.never_zero(f.denominator.expression()) for f in multipliers):
                return False
            total = sympy.Add(
                *(m.expression() * h.expression() for h, m in (*self.given, *self.zero)),
                *(c.expression() * norm2(v.expression()) for c, v in self.squares),
            )
        except ValueError:
            return False
        return is_identity(self.expression.expression(), total)

    def proves(self, statement: Gram) -> bool:
        """Whether this is a proof of exactly this statement: no other hypothesis, no other region."""
        known = [sympy.Integer(1), *(plain(h) for h, _ in statement.given)]
        vanishing = [plain(h) for h, _ in statement.zero]
        return (
            self.where == statement.where
            and is_identity(self.expression.expression(), plain(statement.expression))
            and all(any(is_identity(h.expression(), k) for k in known) for h, _ in self.given)
            and all(any(is_identity(h.expression(), k) for k in vanishing) for h, _ in self.zero)
            and self.verify()
        )

    @classmethod
    def from_data(cls, data: object) -> Self:
        names = "expression", "where", "given", "zero", "squares", "signs"
        expression, where, given, zero, squares, signs = fields(data, *names)
        known, vanishing, sums = (
            tuple((Ratio.from_data(a), Ratio.from_data(b)) for a, b in map(pair_of, list_of(part)))
            for part in (given, zero, squares)
        )
        certificates = tuple(map(Certificate.from_data, list_of(signs)))
        return cls(Ratio.from_data(expression), Region.from_data(where), known, vanishing, sums, certificates)


@dataclass(frozen=True)
class GramCounterexample(Written):
    """Rational counterexample that obeys every hypothesis and makes the expression negative. It consists of vectors of
    dimension at most 3, parameters of the region, and values of the further numbers."""

    parameters: tuple[tuple[str, str], ...]
    coordinates: tuple[tuple[str, tuple[str, ...]], ...]
    numbers: tuple[tuple[str, str], ...]
    value: str

    def refutes(self, statement: Gram) -> bool:
        """Whether the statement fails here, in exact arithmetic."""
        parameters = {name: to_rational(text) for name, text in self.parameters}
        given = {name for name, _ in (*statement.where.substitutions, *statement.where.kinds)}
        if not statement.where.admits(parameters) or any(n in given or n.startswith(_DOT) for n, _ in self.numbers):
            return False
        coordinates = {name: [to_rational(x) for x in vector] for name, vector in self.coordinates}
        if len({len(vector) for vector in coordinates.values()}) > 1:
            return False
        numbers = {name: to_rational(x) for name, x in self.numbers}
        try:
            point = _point(statement.where, parameters, coordinates, numbers)
            value = Ratio.of(statement.expression).at(point)
            held = all(Ratio.of(h).at(point) >= 0 for h, _ in statement.given)
            held = held and all(Ratio.of(h).at(point) == 0 for h, _ in statement.zero)
        except (KeyError, ZeroDivisionError):
            return False
        return held and value == to_rational(self.value) < 0

    @classmethod
    def from_data(cls, data: object) -> Self:
        parameters, coordinates, numbers, value = fields(data, "parameters", "coordinates", "numbers", "value")
        vectors_ = tuple(
            (to_name(n), tuple(str(to_rational(x)) for x in list_of(v))) for n, v in map(pair_of, list_of(coordinates))
        )
        return cls(named_numbers(parameters), vectors_, named_numbers(numbers), str(to_rational(value)))


@dataclass(frozen=True)
class Gram:
    """Statement ``expression >= 0`` in every inner product space.

    Attributes:
        expression: linear in ``dot`` products and in numbers that the region does not name.
        where: the region of the scalars.
        given: pairs of an expression known to be >= 0 and the multiplier to prove the statement with.
        zero: pairs of an expression known to be 0 and the factor to prove the statement with.

    >>> from fedtheory.proof.symbol_regions import positive, region
    >>> a, b = vectors("a b")
    >>> t = sympy.Symbol("t")
    >>> young = (1 + t) * norm2(a) + (1 + 1 / t) * norm2(b) - norm2(a + b)
    >>> Gram(young, region(positive("t"))).decide().proves(Gram(young, region(positive("t"))))
    True
    >>> Gram(young - norm2(b), region(positive("t"))).decide().coordinates
    (('a', ('-2',)), ('b', ('-2',)))
    """

    expression: sympy.Expr
    where: Region
    given: tuple[tuple[sympy.Expr, sympy.Expr], ...] = ()
    zero: tuple[tuple[sympy.Expr, sympy.Expr], ...] = ()

    def decide(self, samples: int = 3000, seed: int = 0) -> GramCertificate | GramCounterexample | None:
        """Return a certificate, a counterexample, or ``None``."""
        return self.certify() or self.refute(samples, seed)

    def certify(self) -> GramCertificate | None:
        """Return the certificate with the given multipliers, or ``None``. Squares are completed one vector after
        another."""
        used = sympy.Add(*(plain(h) * plain(m) for h, m in (*self.given, *self.zero)))
        squares, rest = complete_squares(plain(self.expression) - used)
        if not {s.name for s in rest.free_symbols} <= {name for name, _ in self.where.substitutions}:
            return None
        given = self.given if rest == 0 else (*self.given, (sympy.Integer(1), rest))
        signs = [certify(m, self.where) for m in [m for _, m in given] + [c for c, _ in squares]]
        certified = tuple(sign for sign in signs if sign is not None)
        if len(certified) < len(signs):
            return None
        pairs = (tuple((Ratio.of(a), Ratio.of(b)) for a, b in part) for part in (given, self.zero, squares))
        known, vanishing, sums = pairs
        made = GramCertificate(Ratio.of(self.expression), self.where, known, vanishing, sums, certified)
        return made if made.proves(self) else None

    def refute(self, samples: int = 3000, seed: int = 0) -> GramCounterexample | None:
        """Return a point of small numbers at which every hypothesis holds and the expression is negative, or
        ``None``."""
        hypotheses = [Ratio.of(h) for h, _ in self.given]
        vanishing = [Ratio.of(h) for h, _ in self.zero]
        expression = Ratio.of(self.expression)
        names = set().union(*(r.names for r in (expression, *hypotheses, *vanishing)))
        for parameters, coordinates, numbers in self._samples(names, samples, seed):
            try:
                point = _point(self.where, parameters, coordinates, numbers)
                value = expression.at(point)
                if value >= 0 or any(h.at(point) < 0 for h in hypotheses) or any(h.at(point) for h in vanishing):
                    continue
            except ZeroDivisionError:
                continue
            found = GramCounterexample(
                tuple((n, str(x)) for n, x in sorted(parameters.items())),
                tuple((n, tuple(map(str, v))) for n, v in sorted(coordinates.items())),
                tuple((n, str(x)) for n, x in sorted(numbers.items())),
                str(value),
            )
            if found.refutes(self):
                return found
        return None

    def _samples(self, names: set[str], samples: int, seed: int) -> Iterator[tuple[dict, dict, dict]]:
        scalars = {name for name, _ in self.where.substitutions}
        free = sorted({part for n in names if n.startswith(_DOT) for part in n.removeprefix(_DOT).split("_")})
        others = sorted(n for n in names - scalars if not n.startswith(_DOT))
        rng = random.Random(seed)
        small = [Fraction(x) for x in range(-2, 3)]
        whole = itertools.product(small, repeat=len(free)) if not others else ()
        points = list(itertools.islice(draws(self.where, 16, seed), 24))
        for values in itertools.islice(whole, 700):
            for parameters in points[:4]:
                yield parameters, {n: [x] for n, x in zip(free, values, strict=True)}, {}
        for _ in range(samples):
            size = rng.randint(1, 3)
            coordinates = {n: [rng.choice(small) for _ in range(size)] for n in free}
            yield rng.choice(points), coordinates, {n: Fraction(rng.randint(-8, 8), 2) for n in others}


def complete_squares(form: sympy.Expr) -> tuple[tuple[tuple[sympy.Expr, sympy.Expr], ...], sympy.Expr]:
    """Return coefficients and vectors, and a rest, with form = sum coefficient * |vector|^2 + rest. Inner products are
    left in the rest if a pivot vanishes before its row does.

    >>> a, b = vectors("a b")
    >>> complete_squares(norm2(a) + 2 * dot(a, b) + 3 * norm2(b) + 5)
    (((1, vec_a + vec_b), (2, vec_b)), 5)
    """
    form = _tidy(sympy.expand(plain(form)))
    names = sorted({p for s in form.free_symbols if s.name.startswith(_DOT) for p in s.name[len(_DOT) :].split("_")})
    squares = []
    for index, name in enumerate(names):
        pivot = sympy.factor(form.coeff(sympy.Symbol(f"{_DOT}{name}_{name}")))
        if pivot == 0:
            continue
        vector = sympy.Symbol(_VECTOR + name) + sympy.Add(
            *(
                sympy.cancel(form.coeff(sympy.Symbol(f"{_DOT}{name}_{u}")) / (2 * pivot)) * sympy.Symbol(_VECTOR + u)
                for u in names[index + 1 :]
            )
        )
        squares.append((pivot, sympy.expand(vector)))
        form = _tidy(sympy.expand(form - pivot * norm2(vector)))
    return tuple(squares), form


def _tidy(form: sympy.Expr) -> sympy.Expr:
    """Every coefficient of a product in lowest terms, so that those that cancel are gone."""
    products = sorted((s for s in form.free_symbols if s.name.startswith(_DOT)), key=str)
    total = sympy.Add(*(sympy.cancel(form.coeff(s)) * s for s in products))
    rest = sympy.expand(form - sum(form.coeff(s) * s for s in products))
    return total + sympy.cancel(rest)


def _point(
    where: Region,
    parameters: Mapping[str, Fraction],
    coordinates: Mapping[str, list[Fraction]],
    numbers: Mapping[str, Fraction],
) -> dict[str, Fraction]:
    products = {
        f"{_DOT}{u}_{v}": sum((x * y for x, y in zip(coordinates[u], coordinates[v], strict=True)), Fraction(0))
        for u, v in itertools.combinations_with_replacement(sorted(coordinates), 2)
    }
    return {**where.image(parameters), **products, **numbers}
