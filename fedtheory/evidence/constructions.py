"""Counterexamples by construction."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from .. import papers
from ..claims.statement import Claim
from ..subjects.base import Instance, Point
from .judge import Judgement, judge


def constructions() -> dict[str, Callable[[Claim], Point]]:
    """Every paper's, by the ref of the claim that falls: under all of its readings, or under some."""
    found: dict[str, Callable[[Claim], Point]] = {}
    for module in pkgutil.iter_modules(papers.__path__, f"{papers.__name__}."):
        home = f"{module.name}.counterexamples"
        if module.ispkg and find_spec(home):
            found |= import_module(home).CONSTRUCTIONS
    return found


def construct(ref: str) -> Judgement | None:
    """The instance by which a paper's folder refutes a claim, judged; ``None`` where it knows none.

    >>> construct("fast.rem2.a").refutes, construct("fast.rem2.b")
    (True, None)
    """
    statement = papers.claim(ref)
    build = constructions().get(statement.ref)
    return None if build is None else judge(Instance(statement.ref, build(statement)))
