"""Listings of the parts of a statement, as rows: quantities, functionals, assumptions, algorithms."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]


def quantities() -> Rows:
    """List every quantity of the vocabulary.

    >>> quantities()[0]["name"], quantities()[0]["units"]
    ('smoothness', 'F/x^2')
    """
    from .quantities import QUANTITIES

    return [
        {
            "name": q.name,
            "units": str(q.units),
            "allowed": q.allowed,
            "of": q.scope or "a setting",
            "algorithms": list(q.algorithms) or ["all"],
            "meaning": q.meaning,
        }
        for q in QUANTITIES.values()
    ]


def functionals() -> Rows:
    """List every left side that a claim can bound; of quantities alone, ``functionals.of_values`` makes more.

    >>> functionals()[0]["constant"]
    'FINAL_SQUARED_DISTANCE'
    """
    from . import functionals as module

    known = ((name, f) for name, f in vars(module).items() if isinstance(f, module.Functional))
    return [
        {
            "name": f.name,
            "constant": name,
            "units": str(f.units),
            "of": f.scope,
            "algorithms": [f.algorithm or "all"],
            "meaning": f.meaning,
        }
        for name, f in known
    ]


def assumptions() -> Rows:
    """List every kind of assumption; one without a quantity says how a round's randomness hangs together."""
    from .assumptions import ASSUMPTIONS

    return [
        {
            "name": a.name,
            "quantity": a.quantity,
            "bound": "" if not a.quantity else "below" if a.from_below else "above",
            "implies": list(a.implies),
            "meaning": a.meaning,
        }
        for a in ASSUMPTIONS.values()
    ]


def algorithms() -> Rows:
    """List every algorithm that a claim may name, with the quantities that it alone, or with others, knows of."""
    from .papers.index import algorithms as known
    from .quantities import QUANTITIES

    return [
        {
            "name": name,
            "papers": [paper.name for paper in papers],
            "meaning": "; ".join(p.title for p in papers),
            "quantities": [q.name for q in QUANTITIES.values() if name in q.algorithms],
        }
        for name, papers in known().items()
    ]
