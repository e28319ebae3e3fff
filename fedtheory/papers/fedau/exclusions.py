r"""Claims about Algorithm 2 whose own hypotheses ask for weights that it never makes.

With m the longest interval that is seen and s the share of clients that may be absent, its peak weight error is at
least s ((m - 1)/(m + 1))^2 (``papers.fedau.examples.contradiction``). A claim that allows less, and says itself that
cutoff and rounds are so large and so many clients may be absent, is about no run.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from ...claims.statement import Claim
from ...proof import positivity
from ...proof.symbol_regions import at_least, region
from ...quantities import symbol
from .examples.contradiction import PEAK, averaged_errors, least_peak_error
from .examples.weighted_runs import chooses_cutoff
from .examples.weighted_run_subject import WeightedUpdates


class EstimatedWeights(WeightedUpdates):
    """Subject of Algorithm 1 with the weights of Algorithm 2, which knows the hypotheses that exclude these."""

    def contradiction(self, claim: Claim) -> tuple[str, dict[str, Any]] | None:
        """Prove that no run meets the claim's hypotheses: a sentence and its evidence; ``None`` if that is not
        known."""
        return contradiction(claim)

    def findings(self, claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Find that no run meets the claim's hypotheses, or else the consequences of estimated weights for them."""
        shown = self.contradiction(claim)
        if shown is not None:
            yield "contradictory", *shown
        else:
            yield from super().findings(claim)


def contradiction(claim: Claim) -> tuple[str, dict[str, Any]] | None:
    """Return (sentence, evidence) if a claim with the weights of Algorithm 2 asks for a smaller peak weight error than
    theirs.

    Theirs is what they have where the claim's own hypotheses hold. ``None`` if it asks for no smaller one.

    >>> from fedtheory.papers import claim
    >>> contradiction(claim("fedau.cor4.nearly_optimal@long_runs"))[1]["least"]
    '1/72'
    >>> contradiction(claim("fedau.cor4.nearly_optimal")) is None
    True
    """
    allowed = [h for h in claim.hypotheses if _is_cap(h.relation, PEAK)]
    longest = int(min(stated_least(claim, "cutoff"), stated_least(claim, "rounds") - 1))
    share = stated_least(claim, "ever_absent")
    if not (allowed and chooses_cutoff(claim) and longest >= 2):
        return None
    least, lowest = least_peak_error(longest, share), min(allowed, key=lambda h: h.relation.rhs)
    tolerance = Fraction(int(lowest.relation.rhs.p), int(lowest.relation.rhs.q))
    proof = above(tolerance, longest, share) if least > tolerance else None
    if not isinstance(proof, positivity.Certificate):
        return None
    what = (
        f"with the weights of Algorithm 2, intervals of {longest} rounds and a share {share} of clients that may be "
        f"absent, {lowest.name} fails with positive probability: it allows {tolerance}, and some round has {least}"
    )
    identity = [str(side) for side in averaged_errors(*sympy.symbols("p m"))]
    proofs = [{"fails": lowest.name, "certificate": proof.to_json()}]
    return what, {"least": str(least), "tolerance": str(tolerance), "identity": identity, "proofs": proofs}


def above(tolerance: Fraction, longest: int, share: Fraction) -> object:
    """Return a certificate that s ((m - 1)/(m + 1))^2 >= tolerance for all m and s from ``longest`` and ``share``
    on."""
    m, s = sympy.symbols("m s")
    cap, least = (sympy.Rational(x.numerator, x.denominator) for x in (tolerance, share))
    where = region(at_least("m", sympy.Integer(longest)), at_least("s", least))
    return positivity.prove(s * ((m - 1) / (m + 1)) ** 2 - cap, where, samples=0)


def stated_least(claim: Claim, name: str) -> Fraction:
    """Return the largest number that a hypothesis states as a floor of a quantity, under every reading; 0 if none
    does."""
    floors = [
        h.relation.rhs
        for h in claim.hypotheses
        if isinstance(h.relation, sympy.Ge)
        and h.relation.lhs == symbol(name)
        and h.relation.rhs.is_Rational
        and not h.alternatives
    ]
    return max((Fraction(int(floor.p), int(floor.q)) for floor in floors), default=Fraction(0))


def _is_cap(relation: Any, name: str) -> bool:
    return isinstance(relation, sympy.Le) and relation.lhs == symbol(name) and relation.rhs.is_Rational
