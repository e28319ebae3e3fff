"""Proofs for other programs: a proof of the kernel as a file for Coq, in which every theorem is a lemma."""

from __future__ import annotations

from ..chains import Chain
from ..claim_goals import theorem_of
from ..claim_theorems import ClaimTheorem
from ..kernel.saved_theorems import saved
from .proof_file import export
from .scalar_text import NotExported

EXPORTS = {"coq": ".v"}
"""The languages, and how the names of their files end."""

FROM_EVERY_ROUND = ("iterate", "telescope", "restrict", "weaken", "enlarge", "define")
"""Rules of a bound on runs that follows from one theorem on every round, which is what is exported."""


def exported(chain: Chain) -> str:
    """Return the proof of a claim that the kernel composed, as a file for Coq.

    Raises:
        NotExported: the kernel did not compose it, or it uses something of which there is no export.
    """
    ref = chain.claim.ref
    if chain.theorem is None:
        raise NotExported(f"{ref}: no proof of the kernel: allowed is a claim whose proof it composed")
    if not isinstance(chain.theorem, ClaimTheorem):
        raise NotExported(f"{ref}: a theorem on {chain.theorem.about}: allowed is one on rounds, or on points")
    made = chain.theorem.data()
    others = [bound["rule"] for bound in made["bounds"] if bound["rule"] not in FROM_EVERY_ROUND]
    theorem = theorem_of(chain.theorem.make())
    if others or theorem is None:
        raise NotExported(f"{ref}: a bound by the rule {others[0]!r}: exported are theorems on one round")
    return export(saved(theorem), ref)


__all__ = ["EXPORTS", "NotExported", "exported"]
