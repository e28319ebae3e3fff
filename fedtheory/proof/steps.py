"""A step of a proof, and what is decided about it."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from .identity import is_identity
from .positivity import Certificate, Counterexample, prove
from .regions import Region


@dataclass(frozen=True)
class Step:
    """One step of a proof.

    Attributes:
        name: in code and in reports.
        equation: where the paper prints it.
        says: one line.
        expected: ``proved``, ``gap`` or ``analytic``, by hand.
        why: the derivation by hand, in one line.
        expression: claimed to be >= 0 (or, for an identity, to be 0); ``None`` if analytic.
        regions: the cases, which together cover what the step assumes; all have to be proved.
        identity: whether the claim is ``expression = 0``.
        printed: whether the paper prints it; the others say what holds instead, or close a case.
    """

    name: str
    equation: str
    says: str
    expected: str
    why: str
    expression: sympy.Expr | None = None
    regions: tuple[Region, ...] = ()
    identity: bool = False
    printed: bool = True


@dataclass(frozen=True)
class Decision:
    """What ``decide`` found: ``proved``, ``gap``, ``unknown`` or ``analytic``, with the evidence."""

    step: Step
    outcome: str
    evidence: tuple[Certificate | Counterexample, ...] = ()


def decide(step: Step) -> Decision:
    """Decide a step: an identity by expansion, an inequality by a certificate for each case or one counterexample.

    >>> from fedtheory.proof.fast_steps import step
    >>> decide(step("a2.22_under_the_cap_1/8")).evidence[0].value
    '-7/32'
    """
    if step.expression is None:
        return Decision(step, "analytic")
    if step.identity:
        return Decision(step, "proved" if is_identity(step.expression, sympy.Integer(0)) else "gap")
    results = [prove(step.expression, where) for where in step.regions]
    for result in results:
        if isinstance(result, Counterexample):
            return Decision(step, "gap", (result,))
    if results and all(isinstance(result, Certificate) for result in results):
        return Decision(step, "proved", tuple(results))
    return Decision(step, "unknown")
