"""The algorithm whose runs and rounds a claim is about, from its quantities and its left side."""

from __future__ import annotations

from ..quantities import QUANTITIES
from .statement import Claim

OF_RUNS = ("run", "round")
"""Scopes of the functionals that are defined on an algorithm's runs."""


def algorithm_of(claim: Claim, paper_algorithm: str = "") -> str | None:
    """Return the algorithm that a claim is about.

    It is the one that the claim names, else its functional's or its paper's, else the one whose own quantities it uses.
    ``None`` where that is not one, or where a quantity is used that this algorithm does not have.

    >>> from fedtheory.papers import claim
    >>> algorithm_of(claim("fast.thm2")), algorithm_of(claim("safari.thm5")), algorithm_of(claim("fast.eq28"))
    ('fast', 'safari', None)
    >>> algorithm_of(claim("fast.eq28"), "fast"), algorithm_of(claim("fast.thm2"), "safari")
    ('fast', None)
    """
    if claim.algorithm:
        return claim.algorithm
    knowing = [set(QUANTITIES[name].algorithms) for name in claim.quantities if QUANTITIES[name].algorithms]
    named = {claim.functional.algorithm, paper_algorithm} - {""}
    possible = named or (set.intersection(*knowing) if knowing else set())
    if len(possible) != 1 or not all(possible <= algorithms for algorithms in knowing):
        return None
    return next(iter(possible))


def leaves_objective_open(claim: Claim) -> bool:
    """Whether a claim about a round of weighted updates is about any mean of the clients' functions, not their plain
    mean.

    It is if it uses no error that the plain mean has.

    >>> from fedtheory.papers import claim
    >>> [leaves_objective_open(claim(f"fedau.lemma{name}")) for name in ("B_3_3", "B_5_1")]
    [True, False]
    """
    return claim.functional.scope == "round" and "weight_error" not in claim.quantities


def may_speak_of(claim: Claim, algorithm: str) -> bool:
    """Whether a claim can be about an algorithm's runs: nothing in it belongs to others alone.

    >>> from fedtheory.papers import claim
    >>> [may_speak_of(claim("fast.thm2"), name) for name in ("fast", "safari")]
    [True, False]
    """
    own = {claim.algorithm, claim.functional.algorithm} - {""}
    knowing = [QUANTITIES[name].algorithms for name in claim.quantities]
    return own <= {algorithm} and all(algorithm in algorithms for algorithms in knowing if algorithms)
