"""What the papers state, as data: a folder a paper, a file a theorem."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ..quantities import nearest

if TYPE_CHECKING:
    from .statement import Claim

MODULES = {"fast.thm1": "fast.thm1", "fast.thm2": "fast.thm2"}
"""Where each statement's editions are defined, by id."""


@cache
def editions(id: str) -> tuple[Claim, ...]:
    """All editions of a statement.

    >>> [claim.ref for claim in editions("fast.thm2")]
    ['fast.thm2@main', 'fast.thm2@appendix']
    """
    if id not in MODULES:
        raise ValueError(f"unknown claim {id!r}: {nearest(id, MODULES)}")
    return import_module(f"{__name__}.{MODULES[id]}").EDITIONS


def claim(ref: str) -> Claim:
    """The claim named ``<id>`` (its edition ``main``) or ``<id>@<edition>``.

    >>> claim("fast.thm1").source
    'FAST, section 4.2, Theorem 1, (2)'
    >>> claim("fast.thm2@appendx")
    Traceback (most recent call last):
    ValueError: unknown edition 'appendx' of fast.thm2: did you mean 'appendix'?
    """
    id, _, edition = ref.partition("@")
    known = {claim.edition: claim for claim in editions(id)}
    if (edition or "main") not in known:
        raise ValueError(f"unknown edition {edition!r} of {id}: {nearest(edition, known)}")
    return known[edition or "main"]


def all_claims() -> tuple[Claim, ...]:
    """Every edition of every statement."""
    return tuple(claim for id in MODULES for claim in editions(id))
