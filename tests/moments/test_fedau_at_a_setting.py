"""Every claim of FedAU has its numbers on a setting of its algorithm."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory.algorithms import given_weights
from fedtheory.claims.evaluation import evaluate
from fedtheory.claims.statement import Claim, leaves_objective_open
from fedtheory.moments.evaluators import FLOAT, Unserved, left, quantity
from fedtheory.papers import all_claims, claim
from fedtheory.papers.fedau.examples.weighted_runs import FedauRun

from .literally import P, made

CLAIMS = [claim for claim in all_claims() if claim.id.startswith("fedau.")]

CONVEX = FedauRun(
    curvatures=((F(1),), (F(1),)), slopes=((F(1),), (F(-1),)), start=(F(2),), gradient_noise=F(1, 2),
    probabilities=(F(9, 10),) * 2, cutoff=3, local_steps=2, local_lr=F(1, 100), global_lr=F(1, 2), rounds=6,
)  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.ref)
def test_every_claim_has_its_quantities_on_a_setting(claim: Claim) -> None:
    """Both sides in floats: the right one from quantities that a setting has, the left one below it where it should."""
    run = replace(CONVEX, rounds=1) if claim.functional.scope == "round" else CONVEX
    if claim.functional.objective or claim.functional.scope in ("round", "values"):
        run = replace(run, weights=((F(10, 9),) * 2,), cutoff=None)
    if leaves_objective_open(claim):
        run = replace(run, objective=(F(1, 4), F(3, 4)))
    question = run.question(claim, FLOAT)
    base, found = question.setting.quantities(run.rounds), {}
    for name in claim.quantities:
        if name in claim.choices or name == "cohort":
            continue
        try:
            found[name] = quantity(name, question).value
        except Unserved:
            found[name] = base[name].value
    found |= {"cohort": 1} if "cohort" in claim.quantities else {}
    bound = evaluate(claim, found)
    assert np.isfinite(bound.value)
    if claim.functional.scope != "values":
        value = left(claim.functional, question)
        assert isinstance(value, float)
        if "eqB_6_8" not in claim.id and "lemmaB_6_1" not in claim.id and not claim.choices:
            assert value <= bound.value


ONE_HESSIAN = {"curvatures": [[1], [1]], "slopes": [[1], [-2]], "gradient_noise": F(1, 3)}


def test_theorem_1_is_about_the_objective_of_its_weights() -> None:
    """p omega = (1, 2/5), so phi = (5/7, 2/7) and h = x^2/2 + x/7: its gap at 2 is (15/7)^2/2; that of F, with the
    slope -1/2, is (3/2)^2/2."""
    setting = made(ONE_HESSIAN, P, [[3, "1/2"]])
    bound = claim("fedau.thm1").at(setting, rounds=5)
    assert bound.quantities["initial_gap"] == pytest.approx(225 / 98, rel=1e-14)
    assert bound.provenance["initial_gap"] == "exact: of the objective at x_0"
    of_f = claim("fedau.thm2").at(setting, rounds=5, global_gradient_bound=9.0)
    assert of_f.quantities["initial_gap"] == pytest.approx(9 / 8, rel=1e-14)
    several = replace(setting, algorithm=given_weights(local_lr="1/4", aggregation_weight=[[3, "1/2"], [1, 1]]))
    with pytest.raises(ValueError, match=r"needs initial_gap.*given weights differ between rounds"):
        claim("fedau.thm1").at(several, rounds=5)


def test_an_objective_may_be_stated() -> None:
    """With phi = (0, 1) the gradient at 2 is 2 - 2; with 1/2 each it is 3/2. It is no quantity of the claim."""
    setting, lemma = made(ONE_HESSIAN, P, [[3, "1/2"]]), claim("fedau.lemmaB_3_3")
    norms = [lemma.at(setting, rounds=1, **stated).quantities["gradient_norm"]
             for stated in ({}, {"objective_weight": (0, 1)})]  # fmt: skip
    assert norms == [1.5, 0.0]
    told = lemma.at(setting, rounds=1, **{"objective_weight": (0, 1), "history of participation": ((0, 1),)})
    assert {*told.quantities} == {*lemma.quantities} == {*told.provenance}
    with pytest.raises(ValueError, match="allowed are 2 numbers >= 0 with sum 1"):
        lemma.at(setting, rounds=1, objective_weight=(1, 1))
