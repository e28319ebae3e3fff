"""Limits that hypotheses set to a quantity; known without a setting, and so without torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Ge, Le

from ..claims.arithmetic import Compiled, compiled
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


@lru_cache(maxsize=1024)
def _sides(statement: Claim, name: str, kind: type[Le] | type[Ge]) -> list[tuple[frozenset[str], Compiled]]:
    """The limits that the hypotheses set, each with the names of its quantities."""
    sides = [
        h.relation.rhs for h in statement.hypotheses if isinstance(h.relation, kind) and h.relation.lhs == symbol(name)
    ]
    return [(frozenset(s.name for s in side.free_symbols), compiled(side)) for side in sides]
