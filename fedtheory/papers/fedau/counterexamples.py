"""Instances about FedAU: one where Lemma B.3.3 fails under one of its readings, and others on estimated weights."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ...claims.statement import Claim
from ...subjects.protocol import Point
from .examples.weighted_run_points import FedauPoint
from .examples.weighted_runs import FedauRun
from .examples.weight_points import Weights, WeightsPoint

ONE = Fraction(1)


def known_to_be_away(claim: Claim) -> FedauPoint:
    """One client, F(x) = x^2/2, no noise, p = 9/10, weights of Algorithm 2 with K = 2; x_0 = 1 and local_lr = 1/100,
    local_lr global_lr = 5/972.

    If the client is away in round 0 and there in round 1, its weight in round 2 is 2; had it been there in round 0, it
    would be 1. So all weights together tell that it was away: x_1 = x_0, and E f(x_1) - f(x_0) = 0. With omega_0 = 1
    the sum of (p - 1)^2 is 1/100 and that of p omega^2 is 9/10, so that the right side is

        5/972 (81/1600 + 15/10^4 + (27/8) (5/972) (9/10) - 1/4) |grad f(x_0)|^2 = -(5/972) 0.18225 < 0.

    Given the weights of round 0 alone it is there with probability 9/10, and f decreases.
    """
    run = FedauRun(
        curvatures=((ONE,),),
        slopes=((Fraction(0),),),
        start=(ONE,),
        gradient_noise=Fraction(0),
        probabilities=(Fraction(9, 10),),
        cutoff=2,
        local_steps=1,
        local_lr=Fraction(1, 100),
        global_lr=Fraction(125, 243),
        rounds=1,
        objective=(ONE,) if "3_3" in claim.id else (),
        history=((0,), (1,)),
    )
    return FedauPoint(run)


def before_the_cutoff(probability: Fraction, cutoff: int) -> WeightsPoint:
    """One client in round 1, before the cutoff K >= 2: its weight is 1 for certain, whether an interval has ended (it
    then lasted 1 round) or not. So the error is q^2, q = 1 - p.

    Line (a) has p^2 (1 - E[S])^2 + q^(2K) with E[S] = (1 - q^K)/p, that is q^2 - 2 q^(K+1) + 2 q^(2K), which is smaller
    as long as q^(K-1) < 1. At p = 1/2, K = 2: 1/8 against 1/4.

    Line (b) has p^2 Var[S] + q^(2K) = q - (2K-1) p q^K, the next one twice the variance's share times K. At p = 1/10,
    K = 3 these are 0.5355 and 0.5558 against 0.81.
    """
    return WeightsPoint(Weights((probability,), cutoff, rounds=2))


COUNTEREXAMPLES: dict[str, Callable[[Claim], Point]] = {
    "fedau.lemmaB_3_3@main": known_to_be_away,
    "fedau.lemmaB_5_1@main": known_to_be_away,
    "fedau.eqB_6_8.a@main": lambda claim: before_the_cutoff(Fraction(1, 2), 2),
    "fedau.eqB_6_8.b@main": lambda claim: before_the_cutoff(Fraction(1, 10), 3),
    "fedau.eqB_6_8.b_next@main": lambda claim: before_the_cutoff(Fraction(1, 10), 3),
}
"""Makers of counterexamples by the claim's ref. Those about rounds refute one reading, not all."""
