"""Instances about FedAU: where Lemma B.3.3 fails under one of its readings, and from what a search has found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_FLOOR
from fractions import Fraction

from ...claims.statement import Claim
from ...subjects.fedau.exact import EstimatedWeights, FedauRun, GivenWeights
from ...subjects.fedau.instance import FedauInstance

ONE = Fraction(1)


def known_to_be_away(ref: str) -> FedauInstance:
    """One client, F(x) = x^2/2, no noise, p = 9/10, weights of Algorithm 2 with K = 2; x_0 = 1 and local_lr = 1/100,
    local_lr global_lr = 5/972.

    If the client is away in round 0 and there in round 1, its weight in round 2 is 2; had it been there in round 0, it
    would be 1. So all weights together tell that it was away: x_1 = x_0, and E f(x_1) - f(x_0) = 0. With omega_0 = 1
    the sum of (p - 1)^2 is 1/100 and that of p omega^2 is 9/10, so that the right side is

        5/972 (81/1600 + 15/10^4 + (27/8) (5/972) (9/10) - 1/4) |grad f(x_0)|^2 = -(5/972) 0.18225 < 0.

    Given the weights of round 0 alone it is there with probability 9/10, and f decreases.
    """
    run = FedauRun(
        curvatures=((ONE,),), slopes=((Fraction(0),),), start=(ONE,), gradient_noise=Fraction(0),
        probabilities=(Fraction(9, 10),), weights=EstimatedWeights(2), local_steps=1, local_lr=Fraction(1, 100),
        global_lr=Fraction(125, 243), rounds=1, objective=(ONE,) if "3_3" in ref else (), history=((0,), (1,)),
    )  # fmt: skip
    return FedauInstance(ref, run)


CONSTRUCTIONS: dict[str, Callable[[str], FedauInstance]] = {
    "fedau.lemmaB_3_3@main": known_to_be_away,
    "fedau.lemmaB_5_1@main": known_to_be_away,
}
"""Instances by which a claim falls under one of its readings, not under all."""


def rounded_fedau(statement: Claim, run: FedauRun, share: Fraction, short: Callable[..., Fraction]) -> FedauInstance:
    """The run with its numbers rounded by ``short``, its steps down from this share of theirs."""

    def row(values: tuple) -> tuple[Fraction, ...]:
        return tuple(short(v) for v in values)

    steps = {
        name: None if name in statement.choices else short(getattr(run, name) * float(part), rounding=ROUND_FLOOR)
        for name, part in (("local_lr", ONE), ("global_lr", share))
    }
    weights = run.weights
    if isinstance(weights, GivenWeights):
        weights = GivenWeights(tuple(map(row, weights.rows)))
    elif "cutoff" in statement.choices:
        weights = EstimatedWeights(None)
    objective = row(run.objective[:-1])
    if run.objective:
        objective = (*objective, max(Fraction(0), 1 - sum(objective)))
    rounded = replace(
        run, curvatures=tuple(map(row, run.curvatures)), slopes=tuple(map(row, run.slopes)), start=row(run.start),
        gradient_noise=short(run.gradient_noise), probabilities=tuple(min(ONE, p) for p in row(run.probabilities)),
        weights=weights, rounds=int(short(run.rounds, whole=True)), objective=objective, **steps,
    )  # fmt: skip
    return FedauInstance(statement.ref, rounded)
