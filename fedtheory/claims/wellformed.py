"""Checks of the parts of a claim; errors say which part is wrong, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sympy

from ..quantities import ANYBODYS, QUANTITIES, nearest, quantity, symbol
from .schedules import check_indices

if TYPE_CHECKING:
    from .statement import Claim

RELATIONS = (sympy.Le, sympy.Ge)


def check_relation(name: str, relation: Any) -> None:
    """Refuse what is no ``a <= b`` or ``a >= b`` of quantities.

    >>> check_relation("cap", sympy.Le(1, 2))
    Traceback (most recent call last):
    ValueError: hypothesis 'cap': True has no symbols, so it is no condition: allowed is Le(a, b) or Ge(a, b) with a ...
    """
    allowed = "allowed is Le(a, b) or Ge(a, b) with a quantity in it"
    if relation in (True, False, sympy.true, sympy.false):
        raise ValueError(f"hypothesis {name!r}: {relation} has no symbols, so it is no condition: {allowed}")
    if not isinstance(relation, RELATIONS):
        raise ValueError(f"hypothesis {name!r}: relation = {relation!r}: {allowed}")
    if not relation.free_symbols:
        raise ValueError(f"hypothesis {name!r}: {relation} has no symbols, so it is no condition: {allowed}")


def check_kinds(part: str, items: Any, kind: type, made: str) -> None:
    """Refuse a part of a claim that is no tuple of a kind, or has items of a class of one's own: that says what it
    likes."""
    if not isinstance(items, (tuple, list)):
        raise ValueError(f"{part} = {items!r}: allowed is a tuple of {made}")
    for i, item in enumerate(items):
        if type(item) is not kind:
            raise ValueError(f"{part}[{i}] = {item!r}: allowed is a {made}")


def check_symbols(claim: Claim) -> None:
    """Refuse a symbol that is none of the vocabulary's, or a float, and say where it stands."""
    for where, expression in _expressions(claim):
        if not isinstance(expression, sympy.Basic):
            raise ValueError(f"{where} = {expression!r}: allowed is a sympy expression of quantities")
        floats, letters = _written(expression)
        for rounded in floats:
            meant = sympy.Rational(str(float(rounded)))
            allowed = f"allowed is a rational such as sympy.Rational({meant.p}, {meant.q})"
            raise ValueError(f"{where}: {float(rounded)} is a float, with which nothing is exact: {allowed}")
        for used in letters:
            if used.name not in QUANTITIES:
                raise ValueError(
                    f"{where}: no quantity is named {used.name!r}: {nearest(used.name, QUANTITIES)}; `fedtheory "
                    f"quantities` lists them, and fedtheory.quantities.symbols makes their symbols; one of your own is "
                    "made by fedtheory.own.define"
                )
            if used != symbol(used.name):
                raise ValueError(
                    f"{where}: {used.name} is a symbol of another making: take it from fedtheory.quantities.symbols"
                )
    check_indices(claim, ((where, {s.name for s in _written(e)[1]}) for where, e in _expressions(claim)))


@lru_cache(maxsize=4096)
def _written(expression: sympy.Basic) -> tuple[list[sympy.Float], list[sympy.Symbol]]:
    """An expression's floats and symbols. A claim's copies have most expressions of it."""
    return sorted(expression.atoms(sympy.Float)), sorted(expression.free_symbols, key=str)


def _expressions(claim: Claim) -> Iterator[tuple[str, Any]]:
    """(where, expression) of everything that a claim writes down."""
    yield from ((f"bound {name}", expression) for name, expression in claim.bound.items())
    yield from ((f"term {term.name!r}", term.expression) for term in (*claim.terms, *claim.rates))
    for hypothesis in claim.hypotheses:
        for relation in (hypothesis.relation, *hypothesis.alternatives.values()):
            yield f"hypothesis {hypothesis.name!r}", relation
    yield from ((f"choice of {name}", expression) for name, expression in claim.choices.items())
    left = claim.functional
    for expression in (*([] if left.expression is None else [left.expression]), *left.alternatives.values()):
        yield f"functional {left.name!r}", expression


def check_algorithm(claim: Claim) -> None:
    """Refuse an algorithm that a quantity of the claim, or its functional, does not know."""
    if not isinstance(claim.algorithm, str):
        raise ValueError(f"algorithm = {claim.algorithm!r}: allowed is a name; `fedtheory algorithms` lists them")
    own = claim.functional.algorithm
    if claim.algorithm and own not in ("", claim.algorithm):
        raise ValueError(
            f"algorithm = {claim.algorithm!r}: {claim.functional.name} speaks of {own} alone; name that, or bound "
            "another functional"
        )
    for name in claim.quantities if claim.algorithm else ():
        others = () if name in ANYBODYS else QUANTITIES[name].algorithms
        if others and claim.algorithm not in others:
            raise ValueError(
                f"algorithm = {claim.algorithm!r}: {name} is a quantity of {' and '.join(others)} alone; state the "
                "claim without it, or name that algorithm"
            )


def expressed(bound: Mapping[str, Any], choices: Iterable[str]) -> dict[str, sympy.Expr]:
    """Turn the values that quantities are bound to into sympy expressions.

    Raises:
        ValueError: it is no mapping; a quantity is unknown, chosen by the claim or a step size, or a value is none that
            it can have.
    """
    if not isinstance(bound, Mapping):
        raise ValueError(f"bound = {bound!r}: allowed is a dict of values by quantity, such as {{'clients': 2}}")
    values: dict[str, sympy.Expr] = {}
    for name, value in bound.items():
        known = quantity(name)
        if name in choices or name.endswith("_lr"):
            raise ValueError(
                f"bound: {name} is a step size or chosen: allowed in `choices`, or in hypotheses, Le({name}, ...) and "
                f"Ge({name}, ...)"
            )
        if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool):
            known.check(value)
            value = sympy.Rational(*Fraction(value).as_integer_ratio())
        if not isinstance(value, sympy.Expr) or symbol(name) in value.free_symbols:
            raise ValueError(f"bound: {name} = {value!r}: allowed is {known.allowed}, or an expression of others")
        if value.is_number:
            known.check(Fraction(str(value)) if value.is_Rational else float(value))
        values[name] = value
    return values


def relations_of(name: str, value: sympy.Expr) -> Iterator[tuple[str, Any]]:
    """Yield the (name, relation) pairs that together say that a quantity has this value.

    Relations that the vocabulary implies are left out.
    """
    known, own = quantity(name), symbol(name)
    for suffix, end, relation in (("at_most", known.upper, own <= value), ("at_least", known.lower, own >= value)):
        if not (value.is_Rational and Fraction(str(value)) == end) and relation != sympy.true:
            yield f"{name}_{suffix}", relation
