"""What the papers state, as data: a folder a paper, a file a theorem."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ..quantities import nearest

if TYPE_CHECKING:
    from ..claims.statement import Claim

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
    "safari.eq28": "safari.rounds",
    "safari.eq50": "safari.rounds",
    "safari.thm4": "safari.thm4",
    "safari.cor1.a": "safari.corollaries",
    "safari.cor1.b": "safari.corollaries",
    "safari.cor1.c": "safari.corollaries",
    "safari.eq58": "safari.rounds",
    "safari.eq65": "safari.rounds",
    "safari.eq77": "safari.rounds",
    "safari.eq83": "safari.rounds",
    "safari.thm5": "safari.thm5",
    "safari.cor2": "safari.corollaries",
    "safari.rem5.a": "safari.rem5",
    "safari.rem5.b": "safari.rem5",
    "fedau.lemmaB_3_1": "fedau.rounds",
    "fedau.lemmaB_3_2": "fedau.rounds",
    "fedau.lemmaB_3_3": "fedau.rounds",
    "fedau.thm1": "fedau.thm1",
    "fedau.lemmaB_5_1": "fedau.rounds",
    "fedau.thm2": "fedau.thm2",
    "fedau.thm2.nearly_optimal": "fedau.thm2",
    "fedau.asm5.interval": "fedau.asm5",
    "fedau.lemmaB_6_1.mean": "fedau.lemmaB_6_1",
    "fedau.lemmaB_6_1.mean_below": "fedau.lemmaB_6_1",
    "fedau.lemmaB_6_1.variance": "fedau.lemmaB_6_1",
    "fedau.lemmaB_6_1.variance_below": "fedau.lemmaB_6_1",
    "fedau.eqB_6_7": "fedau.eqB_6_8",
    "fedau.eqB_6_8.a": "fedau.eqB_6_8",
    "fedau.eqB_6_8.b": "fedau.eqB_6_8",
    "fedau.eqB_6_8.b_next": "fedau.eqB_6_8",
    "fedau.eqB_6_8.c": "fedau.eqB_6_8",
    "fedau.thm3": "fedau.thm3",
    "fedau.lemmaB_7_1": "fedau.lemmaB_7_1",
    "fedau.eqB_7_2": "fedau.lemmaB_7_1",
    "fedau.cor4": "fedau.cor4",
    "fedau.appA_3.scale": "fedau.asm5",
    "fedau.appA_3.error": "fedau.asm5",
    "flics.lemma4": "flics.lemmas",
    "flics.lemma5": "flics.lemmas",
    "flics.lemma6": "flics.lemmas",
    "flics.lemma7": "flics.lemmas",
    "flics.thm1": "flics.thm1",
    "flics.cor1_1": "flics.thm1",
    "flics.eq7.a": "flics.eq7",
    "flics.eq7.b": "flics.eq7",
    "flics.eq7.c": "flics.eq7",
    "flics.eq7.d": "flics.eq7",
    "flics.eq7.e": "flics.eq7",
    "flics.thm2": "flics.thm2",
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
    return tuple(
        claim
        for claim in import_module(f"{__name__}.{MODULES[id].replace('.', '.statements.', 1)}").EDITIONS
        if claim.id == id
    )


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
