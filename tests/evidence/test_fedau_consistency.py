"""Option 1 of Assumption 5 and the weights of Algorithm 2 exclude each other: the identity, all reachable weights."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction as F

import pytest
import sympy

from fedtheory.evidence.consistency import check_consistency
from fedtheory.papers.fedau.exact.weight_laws import largest_error
from fedtheory.papers.fedau.exact.weight_states import participation_given_scale
from fedtheory.papers.fedau.examples.contradiction import (
    averaged_errors,
    estimated_weights_findings,
    least_peak_error,
    most_absent_clients,
)
from fedtheory.papers.fedau.statements import asm5, cor4, rounds, thm1, thm2, thm3
from fedtheory.quantities import symbol


def test_the_identity() -> None:
    left, right = averaged_errors(*sympy.symbols("p m", positive=True))
    assert sympy.simplify(left - right) == 0


@pytest.mark.parametrize("cutoff", [2, 3, 7, 50])
def test_no_probabilities_come_below_the_least_peak_error(cutoff: int) -> None:
    """Against the largest error that weights reach, which was compared with all histories; the bound is attained."""
    rng = random.Random(cutoff)
    for _ in range(100):
        clients, absent = rng.randint(1, 6), rng.randint(1, 6)
        p = [F(rng.randint(1, 99), 100) if n < absent else F(1) for n in range(clients)]
        share = F(sum(q < 1 for q in p), clients)
        assert largest_error(tuple(p), cutoff, 100) >= least_peak_error(cutoff, share)
    best = (F(2, cutoff + 1), F(1))
    assert largest_error(best, cutoff, 100) == least_peak_error(cutoff, F(1, 2))
    assert least_peak_error(cutoff) > F(1, 81)


def test_where_option_1_leaves_room() -> None:
    """A cutoff of 1, two rounds, or all but a few clients that are always there."""
    tolerance = F(1, 81)
    assert largest_error((F(8, 9),), 1, 100) == largest_error((F(8, 9),), 50, 2) == tolerance
    assert largest_error((F(8, 9),), 2, 3) > 48 * tolerance
    share = most_absent_clients(2, tolerance)
    nine = (F(2, 3), *[F(1)] * 8)
    assert share == F(1, 9) and largest_error(nine, 2, 100) == tolerance
    assert largest_error(nine[:8], 2, 100) > tolerance
    assert most_absent_clients(1, tolerance) == 1


def test_the_finding() -> None:
    (found,) = estimated_weights_findings(thm2.NEARLY_OPTIMAL)
    assert found[0] == "excludes_estimated_weights" and "9 times what is allowed" in found[1]
    assert found[2]["least"] == "1/9" and found[2]["tolerance"] == "1/81"
    assert any(f.name == "excludes_estimated_weights" for f in check_consistency(thm2.NEARLY_OPTIMAL))
    of_corollary = replace(cor4.MAIN, hypotheses=(*cor4.MAIN.hypotheses, thm2.NEARLY_OPTIMAL.hypotheses[-1]))
    assert len(list(estimated_weights_findings(of_corollary))) == 1


def test_other_claims_have_none() -> None:
    loose = thm2.NEARLY_OPTIMAL.edited(
        "loose", "", hypotheses={"nearly_optimal": sympy.Le(symbol("peak_weight_error"), sympy.Rational(1, 9))}
    )
    given = replace(thm2.NEARLY_OPTIMAL, ambiguities=(thm2.GIVEN_WEIGHTS,))
    others = (*rounds.EDITIONS, *thm1.EDITIONS, *thm3.EDITIONS, cor4.MAIN, cor4.CORRECTED, *asm5.EDITIONS)
    for claim in (loose, given, *others):
        assert list(estimated_weights_findings(claim)) == []


def test_q_tells_who_took_part_in_round_0() -> None:
    """One client, p = 9/10, T = 3: Q = 4 p if it was away in round 0, else p. Any step chosen by Q knows it."""
    for cutoff, away in ((2, F(1, 10)), (3, F(9, 100))):
        told = participation_given_scale((F(9, 10),), cutoff, 3)
        assert told[F(18, 5)] == (away, (0,)) and told[F(9, 10)][1][0] != F(9, 10)
    # With two clients, too; and never where Q is no random number, as in one round.
    assert participation_given_scale((F(1, 2), F(1, 3)), 2, 1) == {F(5, 12): (1, (F(1, 2), F(1, 3)))}
    told = participation_given_scale((F(1, 2), F(1, 3)), 2, 4)
    assert sum(chance for chance, _ in told.values()) == 1
    assert any(present != (F(1, 2), F(1, 3)) for _, present in told.values())
    assert participation_given_scale((F(1, 2), F(1, 3)), 1, 4) == {F(5, 12): (1, (F(1, 2), F(1, 3)))}
