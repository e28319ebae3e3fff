"""Proofs for other programs: a proof of the kernel as a file for Coq, in which every theorem is a lemma."""

from __future__ import annotations

import json

from ..chains import Chain
from ..kernel.saved_theorems import FORMAT, OF_SAMPLES
from .proof_file import export
from .scalar_text import NotExported

EXPORTS = {"coq": ".v"}
"""The languages, and how the names of their files end."""


def exported(chain: Chain) -> str:
    """Return the proof of a claim that the kernel composed, as a file for Coq.

    Raises:
        NotExported: the kernel did not compose it, or it uses something of which there is no export.
    """
    found = [json.loads(e) for d in chain.decisions for e in d.evidence if isinstance(e, str) and FORMAT in e]
    if any(isinstance(e, str) and OF_SAMPLES in e for d in chain.decisions for e in d.evidence):
        raise NotExported(f"{chain.claim.ref}: a theorem on samples: allowed is one on rounds, or on points")
    if not found and chain.theorem is not None:
        rule = json.loads(chain.theorem.text())["bounds"][0]["rule"]
        raise NotExported(f"{chain.claim.ref}: a bound by the rule {rule!r}: exported are theorems on one round")
    if not found:
        raise NotExported(f"{chain.claim.ref}: no proof of the kernel: allowed is a claim whose proof it composed")
    return export(found, chain.claim.ref)


__all__ = ["EXPORTS", "NotExported", "exported"]
