"""Printed statements, told from editions of our own."""

from __future__ import annotations

from .statement import Claim

PRINTED = ("main", "appendix", "submission")
"""The editions that a paper prints: its text, its appendix, the version that was submitted. The others are ours."""

NOT_PRINTED = "not printed"
"""Ending of the source of a statement that is ours although its edition is printed, such as a consequence of a printed
one."""


def is_printed(claim: Claim) -> bool:
    """Whether a paper prints a statement, by its edition and its source.

    >>> from fedtheory.papers import editions
    >>> [claim.edition for claim in editions("fast.thm2") if is_printed(claim)]
    ['main', 'appendix']
    """
    return claim.edition in PRINTED and not claim.source.endswith(NOT_PRINTED)
