"""Counterexamples by construction."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ..claims.statement import Claim
from ..papers import claim
from ..subjects.base import Instance, Point
from .judge import Judgement, judge


def constructions() -> dict[str, Callable[[Claim], Point]]:
    """Every paper's, by the ref of the claim that falls: under all of its readings, or under some."""
    found: dict[str, Callable[[Claim], Point]] = {}
    for paper in ("fast", "safari", "fedau", "flics"):
        found |= import_module(f"..papers.{paper}.counterexamples", __package__).CONSTRUCTIONS
    return found


def construct(ref: str) -> Judgement | None:
    """The instance by which a paper's folder refutes a claim, judged; ``None`` where it knows none.

    >>> construct("fast.rem2.a").refutes, construct("fast.rem2.b")
    (True, None)
    """
    statement = claim(ref)
    build = constructions().get(statement.ref)
    return None if build is None else judge(Instance(statement.ref, build(statement)))
