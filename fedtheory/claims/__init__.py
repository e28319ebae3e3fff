"""What the papers state, as data: a folder a paper, a file a theorem."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ..quantities import nearest

if TYPE_CHECKING:
    from .statement import Claim

MODULES = {
    "fast.lemma1": "fast.lemmas",
    "fast.lemma2": "fast.lemmas",
    "fast.eq13": "fast.rounds_nonconvex",
    "fast.eq17": "fast.rounds_nonconvex",
    "fast.eq23": "fast.rounds_nonconvex",
    "fast.thm1": "fast.thm1",
    "fast.cor1": "fast.cor1",
    "fast.cor2": "fast.cor1",
    "fast.rem2.a": "fast.rem2",
    "fast.rem2.b": "fast.rem2",
    "fast.eq28": "fast.rounds_convex",
    "fast.eq29": "fast.rounds_convex",
    "fast.eq30": "fast.rounds_convex",
    "fast.eq35": "fast.rounds_convex",
    "fast.eq38": "fast.rounds_convex",
    "fast.eq39": "fast.rounds_convex",
    "fast.thm2": "fast.thm2",
    "fast.cor3": "fast.cor3",
}
"""The module that defines each statement's editions, by id, in the order of the papers."""


@cache
def editions(id: str) -> tuple[Claim, ...]:
    """All editions of a statement.

    >>> [claim.ref for claim in editions("fast.thm2")]
    ['fast.thm2@main', 'fast.thm2@appendix', 'fast.thm2@corrected', 'fast.thm2@sharp']
    """
    if id not in MODULES:
        raise ValueError(f"unknown claim {id!r}: {nearest(id, MODULES)}")
    return tuple(claim for claim in import_module(f"{__name__}.{MODULES[id]}").EDITIONS if claim.id == id)


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
