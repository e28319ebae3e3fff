"""Counterexamples by construction."""

from __future__ import annotations

from collections.abc import Callable

from ..claims.statement import Claim
from ..papers import claim, papers
from ..subjects.families import Family
from ..subjects.protocol import Instance, Point
from .judge import Judgement, judge


def constructions() -> dict[str, Callable[[Claim], Point]]:
    """Every paper's, by the ref of the claim that falls: under all of its readings, or under some."""
    return {ref: build for paper in papers().values() for ref, build in paper.counterexamples.items()}


def families() -> dict[str, Family]:
    """Every paper's, by the ref of the claim."""
    return {ref: family for paper in papers().values() for ref, family in paper.families.items()}


def construct(statement: Claim | str) -> Judgement | None:
    """The instance by which a paper refutes its claim, judged; ``None`` where it knows none, or where the claim is
    another one of the same ref.

    >>> construct("flics.lemma6").refutes, construct("fast.thm2")
    (True, None)
    """
    statement = claim(statement) if isinstance(statement, str) else statement
    build = constructions().get(statement.ref)
    if build is None or statement != claim(statement.ref):
        return None
    return judge(Instance(statement.ref, build(statement)))
