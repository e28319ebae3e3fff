"""Dispatch of a claim to the subject of its functional, as the papers say it.

A subject draws, reads and makes examples of the runs, or other things, that the claim speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import subjects
from ..quantities import nearest
from .registry import papers
from .index import by_algorithm

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from .paper import Paper
    from ..setting import Setting
    from ..subjects.protocol import Point, Space, Subject

PLAIN = "fast"
"""Algorithm on whose settings a claim about runs or rounds is searched that has nothing of one algorithm alone.

FAST has rounds with everyone, with uniform cohorts and with any others.
"""


def algorithm_of(claim: Claim) -> str | None:
    """Return the algorithm that a claim is about, by its paper's where its quantities do not tell.

    See ``claims.statement.algorithm_of``.

    >>> from fedtheory.papers import claim
    >>> algorithm_of(claim("fast.eq28"))
    'fast'
    """
    from ..claims.statement import algorithm_of as told_by

    known = papers().get(claim.paper)
    return told_by(claim, known.algorithm if known else "")


def subject_of(claim: Claim) -> Subject:
    """Return the subject of the claim's functional.

    For runs and rounds, it is the subject of the claim's algorithm (or of ``PLAIN``): that of the claim's own paper,
    else of another one.

    Raises:
        ValueError: nobody says how there are examples of them, or the claim names an algorithm that nobody knows.

    >>> from fedtheory.papers import claim
    >>> [subject_of(claim(id)).name for id in ("fast.rem2.a", "fast.thm1", "safari.thm4", "flics.thm1")]
    ['values', 'fast', 'safari', 'selection']
    """
    from ..claims.statement import OF_RUNS

    if claim.functional.scope not in OF_RUNS:
        if claim.algorithm and claim.algorithm not in algorithms():
            raise _unknown(claim, claim.algorithm, "is about it")
        return subjects.named(claim.functional.scope, f"{claim.ref} bounds {claim.functional.name}", _by_scope())
    algorithm, known = algorithm_of(claim) or PLAIN, papers()
    own = [known[claim.paper]] if claim.paper in known else []
    for paper in (*own, *known.values()):
        if algorithm in paper.subjects:
            return paper.subjects[algorithm]
    try:
        return subjects.named(algorithm, others=_by_scope())
    except ValueError:
        raise _unknown(claim, algorithm, "draws its runs") from None


def _by_scope() -> dict[str, Subject]:
    return {scope: subject for paper in papers().values() for scope, subject in paper.scopes.items()}


def algorithms() -> dict[str, list[Paper]]:
    """Return the papers of each algorithm that a claim may name: those whose claims are about it, or that draw its
    runs.

    >>> list(algorithms())
    ['fast', 'safari', 'fedau', 'flics', 'local_sgd', 'fedavg_decaying']
    """
    return by_algorithm(lambda paper: paper.subjects)


def _unknown(claim: Claim, algorithm: str, does: str) -> ValueError:
    known = [name for name in algorithms() if name != algorithm]
    near = nearest(algorithm, known)
    listed = "" if near.startswith("known") else f" known are {', '.join(sorted(known))}"
    return ValueError(f"algorithm = {algorithm!r} of {claim.ref}: no paper {does}: {near}{listed}")


def searched(claim: Claim, space: Space | None = None) -> tuple[str, str]:
    """Describe what a search for a counterexample draws, in one of the claim's spaces, and what it leaves out.

    Where a claim about runs does not say whose, the words name those on which it is searched, and the way to say it.
    """
    from ..claims.statement import OF_RUNS

    space = space or subject_of(claim).space(claim)
    unsaid = claim.functional.scope in OF_RUNS and algorithm_of(claim) is None
    advice = (
        f" (the claim does not say whose runs it is about: these are {PLAIN}'s; state `algorithm=`, one of "
        f"{', '.join(algorithms())})"
    )
    return space.searched + (advice if unsaid else ""), space.left_out


def from_setting(claim: Claim, setting: Setting, rounds: int, **given: Any) -> Point:
    """Make the exact point of a setting, for a claim; ``given`` are values of quantities that no setting has.

    Raises:
        ValueError: a setting makes no point of what the claim speaks of; it is said why.
    """
    subject = subject_of(claim)
    make = getattr(subject, "from_setting", None)
    if make is None:
        raise ValueError(f"{claim.ref} is about {subject.name}: no setting makes an exact point of it")
    return make(claim, setting, rounds, **given)


def contradiction(claim: Claim) -> str:
    """Say why nothing that the claim is about meets its hypotheses, where its subject knows that; "" where it does
    not."""
    own = getattr(subject_of(claim), "contradiction", None)
    found = None if own is None else own(claim)
    return found[0] if found else ""


def findings(claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (name, sentence, evidence) for each finding of the claim's subject on its hypotheses."""
    own = getattr(subject_of(claim), "findings", None)
    return iter(()) if own is None else own(claim)
