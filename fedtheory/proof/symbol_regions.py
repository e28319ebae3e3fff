"""Regions of scalars, with every symbol written through nonnegative parameters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import sympy

from .polynomial_data import Polynomial, Ratio, Written, fields, list_of, pair_of, substituted, to_name

KINDS = ("nonnegative", "positive", "integer")
"""Kinds of parameter in the search for a counterexample: any number >= 0, one > 0, or a whole number >= 0."""


@dataclass(frozen=True)
class Region(Written):
    """Image of all nonnegative parameters under substitutions.

    Attributes:
        substitutions: (name, ratio) in the order in which they are made; a later name may occur in an earlier ratio.
        kinds: (parameter, kind) of every parameter, see ``KINDS``. Only the search for counterexamples uses the kinds;
            a proof covers every real number >= 0.

    >>> from fedtheory.proof.positivity import prove
    >>> cohort, step = sympy.symbols("cohort step")
    >>> caps = region(capped("step", 1 / (20 * cohort)), count("cohort"))
    >>> prove(1 - 20 * step, caps).verify(), prove(1 - 21 * step, caps).point
    (True, (('cohort', '1'), ('step', '1/20')))
    """

    substitutions: tuple[tuple[str, Ratio], ...]
    kinds: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        parameters = [name for name, _ in self.kinds]
        seen = {*parameters}
        if len(seen) < len(parameters) or any(kind not in KINDS for _, kind in self.kinds):
            raise ValueError(f"kinds = {self.kinds}: allowed is each parameter once, with one of {', '.join(KINDS)}")
        for name, ratio in reversed(self.substitutions):
            if name in seen:
                raise ValueError(f"substitutions: {name!r} is given twice, or is a parameter too")
            if not ratio.names <= seen:
                raise ValueError(
                    f"substitutions: {name!r} uses {sorted(ratio.names - seen)}, which nothing later gives"
                )
            seen.add(name)

    def pull_back(self, expression: sympy.Expr) -> sympy.Expr:
        """Return the expression in the parameters alone. Symbols are known by their names, so the vocabulary's will
        do."""
        expression = expression.xreplace({s: sympy.Symbol(s.name) for s in expression.free_symbols})
        loose = {s.name for s in expression.free_symbols} - {name for name, _ in self.substitutions}
        if loose:
            raise ValueError(f"expression uses {sorted(loose)}, of which the region says nothing")
        for name, ratio in self.substitutions:
            expression = expression.xreplace({sympy.Symbol(name): ratio.expression()})
        return expression

    def pulled(self, ratio: Ratio) -> Ratio:
        """Return a ratio in the parameters alone, in lowest terms. This is ``pull_back`` on data, without expressions.

        >>> x = sympy.Symbol("x")
        >>> region(capped("x", sympy.Integer(2))).pulled(Ratio.of(1 / x)).expression()
        u_x/2 + 1/2
        """
        if loose := ratio.names - {name for name, _ in self.substitutions}:
            raise ValueError(f"expression uses {sorted(loose)}, of which the region says nothing")
        return _pulled(self, ratio)

    def image(self, parameters: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Return the point with these parameters; raise ``ZeroDivisionError`` if there is none."""
        values = dict(parameters)
        for name, ratio in reversed(self.substitutions):
            values[name] = ratio.at(values)
        return {name: values[name] for name in sorted(name for name, _ in self.substitutions)}

    def admits(self, parameters: Mapping[str, Fraction]) -> bool:
        """Whether exactly the region's parameters are given, each of its kind."""
        return set(parameters) == {name for name, _ in self.kinds} and all(
            (parameters[name] > 0 if kind == "positive" else parameters[name] >= 0)
            and (kind != "integer" or parameters[name].denominator == 1)
            for name, kind in self.kinds
        )

    def never_zero(self, polynomial: sympy.Expr) -> bool:
        """Whether a polynomial is seen to be > 0 at every point of the region. Written in the parameters, it has to
        have no negative coefficient, and no parameters that may vanish together may be in all its terms.

        >>> s, p = sympy.symbols("share size")
        >>> where = region(interval("share"), nonnegative("size"))
        >>> where.never_zero(1 + s), where.never_zero(s), where.never_zero(1 + p), where.never_zero(s + p)
        (True, False, True, False)
        """
        numerator = self.pulled(Ratio.of(polynomial)).numerator
        if any(c < 0 for c in numerator.coefficients):
            return False
        terms = _supports(numerator, self)
        return frozenset() in terms or not any(all(t & zero for t in terms) for zero in _vanishing(self))

    @classmethod
    def from_data(cls, data: object) -> Self:
        substitutions, kinds = fields(data, "substitutions", "kinds")
        made = tuple((to_name(name), Ratio.from_data(ratio)) for name, ratio in map(pair_of, list_of(substitutions)))
        given = tuple((to_name(name), to_name(kind)) for name, kind in map(pair_of, list_of(kinds)))
        return cls(made, given)


@lru_cache(maxsize=2000)
def _pulled(where: Region, ratio: Ratio) -> Ratio:
    return substituted(ratio, where.substitutions)


def _supports(polynomial: Polynomial, where: Region) -> set[frozenset[str]]:
    """The parameters of each term that may be 0."""
    may_vanish = {name for name, kind in where.kinds if kind != "positive"}
    return {
        frozenset(n for n, power in zip(polynomial.names, powers, strict=True) if power and n in may_vanish)
        for powers, _ in polynomial.terms
    }


@lru_cache(maxsize=500)
def _vanishing(where: Region) -> tuple[frozenset[str], ...]:
    """The sets of parameters that may be 0 together: those at which no substitution divides by 0."""
    names = [name for name, kind in where.kinds if kind != "positive"]
    below = [_pulled(where, Ratio.of(ratio.denominator.expression())).numerator for _, ratio in where.substitutions]
    divided = [_supports(p, where) for p in below if all(c >= 0 for c in p.coefficients)]
    sets = (frozenset(s) for size in range(len(names) + 1) for s in itertools.combinations(names, size))
    return tuple(s for s in sets if all(any(not t & s for t in terms) for terms in divided))


Part = tuple[str, sympy.Expr, dict[str, str]]
"""Substitution of one quantity: name, expression, kinds of its new parameters."""


def count(name: str, least: int = 1) -> Part:
    """Return the part of a whole number >= least, as least + k."""
    return name, least + sympy.Symbol(f"k_{name}"), {f"k_{name}": "integer"}


def positive(name: str) -> Part:
    """Return the part of a number > 0."""
    return name, sympy.Symbol(f"p_{name}"), {f"p_{name}": "positive"}


def nonnegative(name: str) -> Part:
    """Return the part of a number >= 0."""
    return name, sympy.Symbol(f"p_{name}"), {f"p_{name}": "nonnegative"}


def capped(name: str, cap: sympy.Expr) -> Part:
    """Return the part of 0 < name <= cap, as cap / (1 + u)."""
    return name, cap / (1 + sympy.Symbol(f"u_{name}")), {f"u_{name}": "nonnegative"}


def at_least(name: str, floor: sympy.Expr) -> Part:
    """Return the part of name >= floor, as floor + s."""
    return name, floor + sympy.Symbol(f"s_{name}"), {f"s_{name}": "nonnegative"}


def interval(name: str, low: sympy.Expr | int = 0, high: sympy.Expr | int = 1) -> Part:
    """Return the part of low <= name <= high, as low + (high - low) s / (s + t): both ends included."""
    s, t = sympy.symbols(f"s_{name} t_{name}")
    return name, low + (high - low) * s / (s + t), {s.name: "nonnegative", t.name: "nonnegative"}


def equal(name: str, value: sympy.Expr) -> Part:
    """Return the part of name = value."""
    return name, sympy.sympify(value, strict=True), {}


def region(*parts: Part) -> Region:
    """Return the region of these parts; a part may use the quantities of later parts."""
    kinds: dict[str, str] = {}
    for _, _, new in parts:
        kinds |= new
    return Region(tuple((name, Ratio.of(expression)) for name, expression, _ in parts), tuple(sorted(kinds.items())))
