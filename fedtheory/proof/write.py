"""The verbs with which the steps of a proof are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import sympy

from .gram import Gram
from .steps import Identity, Nonnegative, Step, Vectors
from .symbol_regions import Region

Pairs = tuple[tuple[sympy.Expr, sympy.Expr], ...]


def given(name: str, equation: str, says: str, **more: Any) -> Step:
    """Return a definition, or a fact that is taken as given."""
    return Step(name, equation, says, "definition", expected="given", **more)


def same(name: str, equation: str, says: str, pairs: Iterable[tuple[sympy.Expr, sympy.Expr]], **more: Any) -> Step:
    """Return an identity step; ``pairs`` are the sides."""
    checks = tuple(Identity(left, right) for left, right in pairs)
    return Step(name, equation, says, more.pop("kind", "identity"), checks, **more)


def nonnegative_step(name: str, equation: str, says: str, expression: sympy.Expr, *cases: Region, **more: Any) -> Step:
    """Return a polynomial step: ``expression >= 0`` on every region."""
    return Step(name, equation, says, more.pop("kind", "polynomial"), (Nonnegative(expression, cases),), **more)


def gram(
    name: str,
    equation: str,
    says: str,
    expression: sympy.Expr,
    given: Pairs = (),
    zero: Pairs = (),
    *,
    where: Region,
    **more: Any,
) -> Step:
    """Return a step about vectors; ``given`` and ``zero`` pair hypotheses with their multipliers."""
    check = vectors_check(expression, given, zero, where)
    return Step(name, equation, says, more.pop("kind", "gram"), (check,), **more)


def vectors_check(expression: sympy.Expr, given: Pairs, zero: Pairs, where: Region) -> Vectors:
    """Return the check of a Gram statement."""
    return Vectors(Gram(expression, where, given, zero))


def within(where: Region) -> tuple[Callable[..., Step], Callable[..., Vectors]]:
    """Return ``gram`` and ``vectors_check`` on a region, unless they are told another."""

    def check(expression: sympy.Expr, given: Pairs = (), zero: Pairs = (), where: Region = where) -> Vectors:
        return vectors_check(expression, given, zero, where)

    return partial(gram, where=where), check


def coefficient_step(
    name: str,
    equation: str,
    says: str,
    expected: str,
    why: str,
    expression: sympy.Expr,
    regions: tuple[Region, ...] = (),
    identity: bool = False,
    **more: Any,
) -> Step:
    """Return a step about coefficients: an identity ``expression = 0``, or ``expression >= 0`` on every region."""
    check = Identity(expression) if identity else Nonnegative(expression, regions)
    return Step(name, equation, says, "identity" if identity else "polynomial", (check,), why, expected, **more)
