r"""Proof that nearly optimal weights and Algorithm 2 exclude each other.

Assumption 5's Option 1 asks for (1/N) sum_n (p_n omega_t^n - 1)^2 <= 1/81 in all rounds t. Under Algorithm 2 all
weights are 1 in round 0. Let m = min(K, T - 1) be the longest interval that can end in time. With positive probability
all clients with 0 < p_n < 1 stay away until it ends, for m - 1 rounds and then take part or are cut off; their weights
are then m. The two errors of such a client satisfy

    m/(m + 1) (1 - p)^2 + 1/(m + 1) (m p - 1)^2 = ((m - 1)/(m + 1))^2 + m (p - 2/(m + 1))^2,

so that one of the two means over clients is at least the share of clients with p_n < 1 times ((m - 1)/(m + 1))^2, which
is 1/9 for m = 2 and grows with m. The bound is attained at p_n = 2/(m + 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from ....claims import readings
from ....claims.statement import Claim
from ....quantities import symbol
from .weighted_runs import chooses_cutoff

PEAK = "peak_weight_error"


def least_peak_error(longest: int, share: Fraction = Fraction(1)) -> Fraction:
    """Return the smallest value that max_t (1/N) sum_n (p_n omega_t^n - 1)^2 can have almost surely.

    A ``share`` of the clients has p_n < 1, and intervals last up to ``longest`` rounds.

    >>> least_peak_error(2), least_peak_error(50), least_peak_error(1)
    (Fraction(1, 9), Fraction(2401, 2601), Fraction(0, 1))
    """
    return share * Fraction(longest - 1, longest + 1) ** 2


def most_absent_clients(longest: int, tolerance: Fraction) -> Fraction:
    """Return the largest share of clients with p_n < 1 that leaves room for such a peak error.

    >>> most_absent_clients(2, Fraction(1, 81)), most_absent_clients(50, Fraction(1, 81))
    (Fraction(1, 9), Fraction(289, 21609))
    """
    return Fraction(1) if longest == 1 else min(Fraction(1), tolerance / least_peak_error(longest))


def averaged_errors(p: sympy.Expr, m: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Return both sides of the identity above."""
    left = m / (m + 1) * (1 - p) ** 2 + (m * p - 1) ** 2 / (m + 1)
    return left, ((m - 1) / (m + 1)) ** 2 + m * (p - 2 / (m + 1)) ** 2


def estimated_weights_findings(claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (name, sentence, evidence) for hypotheses that Algorithm 2's weights meet only if some clients are always
    there.

    These hypotheses cap the peak weight error, in a claim that may be about Algorithm 2's weights.
    """
    estimated = chooses_cutoff(claim) or any(readings.ESTIMATED in a.options for a in claim.ambiguities)
    for hypothesis in claim.hypotheses if estimated else ():
        tolerance = hypothesis.relation.rhs
        capped = isinstance(hypothesis.relation, sympy.Le) and hypothesis.relation.lhs == symbol(PEAK)
        if not (capped and tolerance.is_Rational):
            continue
        cap = Fraction(int(tolerance.p), int(tolerance.q))
        least = least_peak_error(2)
        if cap >= least:
            continue
        what = (
            f"with the weights of Algorithm 2, a cutoff of 2 or more and 3 rounds or more, {hypothesis.name} fails "
            "with positive probability wherever every client has a probability below 1: the mean squared error is then "
            f"at least {least}, {float(least / cap):.4g} times what is allowed, in round 0 or 2; at most a share "
            f"{most_absent_clients(2, cap)} of the clients may ever be absent"
        )
        yield (
            "excludes_estimated_weights",
            what,
            {
                "hypothesis": hypothesis.name,
                "tolerance": str(cap),
                "least": str(least),
                "identity": [str(side) for side in averaged_errors(sympy.Symbol("p"), sympy.Integer(2))],
                "attained": {"participation_probability": "2/3", "cutoff": "2"},
            },
        )
