"""Which statements a paper prints, and which are our own."""

from __future__ import annotations

from .statement import Claim

PRINTED = ("main", "appendix", "submission")
"""The editions that a paper prints: its text, its appendix, the version that was submitted. The others are ours."""

NOT_PRINTED = "not printed"
"""How the source of a statement ends that is ours all the same, such as what follows from a printed one."""


def is_printed(claim: Claim) -> bool:
    """Whether a paper prints a statement, by its edition and its source.

    >>> from fedtheory.papers import editions
    >>> [claim.edition for claim in editions("fast.thm2") if is_printed(claim)]
    ['main', 'appendix']
    """
    return claim.edition in PRINTED and not claim.source.endswith(NOT_PRINTED)
