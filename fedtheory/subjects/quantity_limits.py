"""Limits that hypotheses set to a quantity; known without a setting, and so without torch."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from sympy import Ge, Le

from ..claims.arithmetic import Compiled, compiled
from ..claims.balls import rational_value
from ..claims.statement import Claim
from ..quantities import symbol


def limit_of(statement: Claim, name: str, kind: type[Le] | type[Ge], values: Mapping[str, Any]) -> float | None:
    """Return the smallest upper (``Le``) or largest lower (``Ge``) limit that the hypotheses set to a quantity.

    Only hypotheses count that ``values`` decide; ``None`` if there is none.
    """
    given = values.keys()
    decided = [side for names, side in _sides(statement, name, kind) if names <= given]  # type: ignore[arg-type]  # a class has a hash
    if not decided:
        return None
    arrays = {n: np.float64(v) for n, v in values.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = [float(side(arrays)) for side in decided]
    limits = [limit for limit in limits if not np.isnan(limit)]
    return (min if kind is Le else max)(limits) if limits else None


def solved_limit(
    statement: Claim, name: str, kind: type[Le] | type[Ge], values: Mapping[str, Any]
) -> Fraction | float | None:
    """Return the limit of ``limit_of``, also from hypotheses such as ``local_lr * smoothness <= 1``.

    One side over the other is a multiple of a power of the quantity there. The limit is a Fraction where it is rational
    in ``values`` that are Fractions.

    >>> from fedtheory.papers import claim
    >>> values = {"smoothness": Fraction(3), "local_steps": 1, "snapshot_probability": Fraction(1, 2)}
    >>> solved_limit(claim("fast.thm1"), "local_lr", Le, values | {"cohort": 2, "arbitrary_cohort": 1})
    Fraction(1, 24)
    """
    limits: list[Fraction | float] = []
    for side in _solved(statement, name, kind):  # type: ignore[arg-type]  # classes hash
        names = {each.name for each in side.free_symbols}
        if not names <= values.keys():
            continue
        exact = all(isinstance(values[each], int | Fraction) for each in names)
        found: Fraction | float | None = None
        if exact:
            found = rational_value(side, {each: Fraction(values[each]) for each in names})
        if found is None:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                found = float(compiled(side)({each: np.float64(values[each]) for each in names}))
        if found == found:
            limits.append(found)
    return (min if kind is Le else max)(limits) if limits else None


@lru_cache(maxsize=1024)
def _solved(statement: Claim, name: str, kind: type[Le] | type[Ge]) -> tuple[sympy.Expr, ...]:
    """The limits, solved for the quantity."""
    own, found = symbol(name), []
    for relation in (h.relation for h in statement.hypotheses):
        if relation.lhs == own and own not in relation.rhs.free_symbols:  # whatever the other side's sign
            found += [relation.rhs] * isinstance(relation, kind)
            continue
        if not relation.lhs.is_nonnegative or not relation.rhs.is_nonnegative or own not in relation.free_symbols:
            continue
        factor, power = (relation.lhs / relation.rhs).as_independent(own, as_Add=False)
        base, exponent = power.as_base_exp()
        if base != own or not exponent.is_Rational:
            continue
        above = isinstance(relation, Le) == (exponent > 0)
        if above == (kind is Le):
            found.append((1 / factor) ** (1 / exponent))
    return tuple(found)


@lru_cache(maxsize=1024)
def _sides(statement: Claim, name: str, kind: type[Le] | type[Ge]) -> list[tuple[frozenset[str], Compiled]]:
    """The limits that the hypotheses set, each with the names of its quantities."""
    sides = [
        h.relation.rhs for h in statement.hypotheses if isinstance(h.relation, kind) and h.relation.lhs == symbol(name)
    ]
    return [(frozenset(s.name for s in side.free_symbols), compiled(side)) for side in sides]
