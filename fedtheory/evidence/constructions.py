"""Counterexamples by construction, from all papers."""

from __future__ import annotations

from collections.abc import Callable

from ..claims.statement import Claim
from ..papers import claim, papers
from ..subjects.families import Family
from ..subjects.protocol import Instance, Point
from .judge import Judgement, judge


def constructions() -> dict[str, Callable[[Claim], Point]]:
    """Return every paper's makers of counterexamples, by the ref of the claim that falls under all of its readings or
    some."""
    return {ref: build for paper in papers().values() for ref, build in paper.counterexamples.items()}


def families() -> dict[str, Family]:
    """Return every paper's families of counterexamples, by the ref of the claim."""
    return {ref: family for paper in papers().values() for ref, family in paper.families.items()}


def construct(statement: Claim | str) -> Judgement | None:
    """Judge the instance by which a paper refutes its claim.

    It is ``None`` where the paper knows none, or where the claim is another one of the same ref.

    >>> construct("flics.lemma6").refutes, construct("fast.thm2")
    (True, None)
    """
    statement = claim(statement) if isinstance(statement, str) else statement
    build = constructions().get(statement.ref)
    if build is None or statement != claim(statement.ref):
        return None
    return judge(Instance(statement.ref, build(statement)))
