"""The summary of a claim for ``fedtheory show``."""

from __future__ import annotations

from typing import Any

from ..papers import claim
from ..papers.registry import algorithm_of
from .units_check import check_units


def shown(ref: str) -> dict[str, Any]:
    """Summarise a claim as plain data: both sides, its hypotheses, its readings, whether its units match; but for its
    LaTeX.

    Raises:
        ValueError: there is no such claim.

    >>> shown("fast.thm1")["units"]
    'homogeneous'
    """
    statement = claim(ref)
    findings = [f"{finding.where}: {finding.what}" for finding in check_units(statement)]
    return {
        "claim": statement.ref,
        "title": statement.title,
        "source": statement.source,
        "left": statement.functional.meaning,
        "terms": {term.name: str(term.expression) for term in statement.terms},
        "hypotheses": {h.name: str(h.relation) for h in statement.hypotheses},
        "algorithm": algorithm_of(statement) or "not said",
        "bound": {name: str(value) for name, value in statement.bound.items()},
        "choices": {name: str(choice) for name, choice in statement.choices.items()},
        "assumptions": {a.name: f"{a.kind}: {a.meaning} ({a.source})" for a in statement.assumptions},
        "readings": {a.name: list(a.options) for a in statement.ambiguities},
        **({"constants": statement.constants} if statement.constants else {}),
        "units": findings or "homogeneous",
    }
