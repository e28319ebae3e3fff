"""Limits that hypotheses set to a quantity; known without a setting, and so without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Ge, Le

from ..claims.evaluation import compiled
from ..claims.statement import Claim
from ..quantities import symbol


def limit_of(statement: Claim, name: str, kind: type[Le] | type[Ge], values: Mapping[str, Any]) -> float | None:
    """Return the smallest upper (``Le``) or largest lower (``Ge``) limit that the hypotheses set to a quantity.

    Only hypotheses count that ``values`` decide; ``None`` if there is none.
    """
    arrays = {n: np.float64(v) for n, v in values.items()}
    sides = [
        h.relation.rhs for h in statement.hypotheses if isinstance(h.relation, kind) and h.relation.lhs == symbol(name)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = [float(compiled(side)(arrays)) for side in sides if {s.name for s in side.free_symbols} <= set(values)]
    limits = [limit for limit in limits if not np.isnan(limit)]
    return (min if kind is Le else max)(limits) if limits else None
