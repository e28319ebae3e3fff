"""Evaluators on settings and FedAU's own runs say the same, in Fractions; and every claim of FedAU has its numbers."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from fedtheory.subjects.fedau.exact import EstimatedWeights, FedauRun, GivenWeights, squared_gradient_bound, stays_in
from fedtheory.subjects.fedau.quantities import (
    is_about_a_round,
    largest_weights,
    leaves_objective_open,
    quantities,
    speaks_of_weights,
)
from fedtheory.subjects.fedau.sides import _left, exact_root
from fedtheory.subjects.weights.exact import (
    CONDITION,
    GIVEN_AN_INTERVAL,
    INTERVAL_FUNCTIONALS,
    Weights,
    exact_left,
    exact_spread,
)
from flint import arb

from fedtheory.algorithms import fedau, given_weights
from fedtheory.claims.balls import ball, working_precision
from fedtheory.claims.evaluation import evaluate
from fedtheory.claims.statement import Claim
from fedtheory.claims.undecided import Undecided
from fedtheory.federations import Quadratic
from fedtheory.moments import of_weighted_runs as of_runs
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, Unserved, left, quantity
from fedtheory.moments.weighted_rounds import weighted_rounds
from fedtheory.papers import all_claims
from fedtheory.participation import Bernoulli
from fedtheory.setting import Setting
from fedtheory.subjects.weights.samples import FloatWeights

CLAIMS = [claim for claim in all_claims() if claim.id.startswith("fedau.")]
OF_RUNS = [claim for claim in CLAIMS if speaks_of_weights(claim)]
OF_WEIGHTS = [claim for claim in CLAIMS if claim.functional.scope == "weights"]
OWN = {
    "weight_error", "peak_weight_error", "weight_scale", "expected_weight_scale", "update_weight", "objective_error",
    "least_objective_weight", "least_participation_probability", "gradient_bound", "cutoff",
}  # fmt: skip


def setting_of(run: FedauRun) -> Setting:
    fed = Quadratic.with_slopes(run.curvatures, run.slopes, gradient_noise=run.gradient_noise)
    steps = {"local_lr": run.local_lr, "global_lr": run.global_lr, "local_steps": run.local_steps}
    if isinstance(run.weights, EstimatedWeights):
        return Setting(fed, fedau(cutoff=run.weights.cutoff, **steps), Bernoulli(run.probabilities), run.start)
    algorithm = given_weights(aggregation_weight=run.weights.rows, **steps)
    return Setting(fed, algorithm, Bernoulli(run.probabilities), run.start)


def question_of(run: FedauRun, claim: Claim, numbers: str = EXACT, **reading: str) -> Question:
    """A claim's question about the run; the claims' average over rounds starts at 0."""
    stated: dict[str, Any] = {}
    if leaves_objective_open(claim):
        stated[of_runs.OBJECTIVE] = run.objective
    if claim.functional.objective:
        stated[of_runs.OBJECTIVE] = claim.functional.objective
    if run.history:
        stated[of_runs.HISTORY] = run.history
    return Question(setting_of(run), run.rounds, {"average": "r = 0..R-1", **reading}, numbers, stated)


def some_run(rng: random.Random, claim: Claim, in_a_box: bool) -> FedauRun:
    """Two clients at most, of up to two dimensions; of a round also what has no minimum, and a history."""
    clients, dimension, of_a_round = rng.randint(1, 2), rng.randint(1, 2), is_about_a_round(claim)

    def number(least: int = -6, most: int = 6) -> F:
        return F(rng.randint(least, most), rng.randint(1, 4))

    common = tuple(number(1) for _ in range(dimension))
    kinds = {"given": GivenWeights, "estimated": EstimatedWeights}
    kind = "estimated" if "cutoff" in claim.choices else "given" if claim.functional.objective else rng.choice([*kinds])
    rows = 1 if of_a_round or claim.functional.objective else rng.randint(1, 3)
    weights = (
        GivenWeights(tuple(tuple(number(1) for _ in range(clients)) for _ in range(rows)))
        if kind == "given" else EstimatedWeights(rng.choice([1, 2, 3, math.inf]))
    )  # fmt: skip
    shares = [number(1) for _ in range(clients)]
    p = tuple(F(rng.randint(1, 4), 4) for _ in range(clients))
    p = p if rng.random() < 0.7 else tuple(F(1, 3) for _ in range(clients))
    told = of_a_round and kind == "estimated" and rng.random() < 0.5
    return FedauRun(
        curvatures=tuple(
            common if in_a_box else tuple(number(-3 if of_a_round else 1) or F(1) for _ in range(dimension))
            for _ in range(clients)
        ),
        slopes=tuple(tuple(number() for _ in range(dimension)) for _ in range(clients)),
        start=tuple(number() for _ in range(dimension)),
        gradient_noise=number(0), probabilities=p, weights=weights, local_steps=rng.randint(1, 3),
        local_lr=F(1, rng.randint(7, 40)), global_lr=F(1, rng.randint(2, 9)),
        rounds=1 if of_a_round else rng.randint(1, 4),
        objective=tuple(s / sum(shares) for s in shares) if leaves_objective_open(claim) else (),
        history=tuple(tuple(int(q == 1 or rng.random() < 0.5) for q in p) for _ in range(2)) if told else (),
    )  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Equal Fractions, or balls that overlap and are tiny."""
    one, other = (v.value if hasattr(v, "value") else v for v in (one, other))
    if isinstance(one, arb) or isinstance(other, arb):
        tiny = max(float(ball(one).rad()), float(ball(other).rad())) < 1e-50
        return bool(ball(one).overlaps(ball(other))) and tiny
    return one == other


@pytest.mark.parametrize("claim", OF_RUNS, ids=lambda claim: claim.ref)
def test_claims_about_runs_have_the_same_numbers(claim: Claim) -> None:
    rng, compared, bounds = random.Random(claim.ref), 0, 0
    for _ in range(40):
        run = some_run(rng, claim, in_a_box=rng.random() < 0.6)
        question = question_of(run, claim)
        own = {name for name in claim.quantities if name in OWN and name not in claim.choices}
        with working_precision():
            try:
                theirs = quantities(run, claim, exact_root)
            except (Undecided, ValueError):  # no dissimilarity, no box
                continue
            for name in own - {"gradient_bound"}:
                assert same(quantity(name, question).value, theirs[name]), (name, run)
            for name in {"initial_gap", "gradient_norm"} & {*claim.quantities}:
                if of_runs.OBJECTIVE in question.stated:
                    assert same(quantity(name, question).value, theirs[name]), (name, run)
            if "gradient_bound" in claim.quantities:
                square = squared_gradient_bound(run)
                assert same(of_runs.squared_gradient_bound(weighted_rounds(question)), square)
                stays = stays_in(run, largest_weights(run))
                assert of_runs.stays_in(weighted_rounds(question), largest_weights(run)) == stays
                if stays:
                    bounds += 1
                    assert same(quantity("gradient_bound", question).value, theirs["gradient_bound"])
                else:
                    with pytest.raises(Undecided, match="may leave"):
                        quantity("gradient_bound", question)
                    continue
            for reading in ({}, {"conditioning": "weights of all rounds"}):
                if reading and run.history == () and isinstance(run.weights, EstimatedWeights):
                    continue  # it is said that something is known, and not what
                try:
                    expected = _left(run, claim, reading)
                except ValueError as impossible:
                    with pytest.raises(ValueError, match=str(impossible)):
                        left(claim.functional, replace(question, reading={**question.reading, **reading}))
                    continue
                numbers = EXACT if is_about_a_round(claim) else BALL
                asked = replace(question, reading={**question.reading, **reading}, numbers=numbers)
                assert same(left(claim.functional, asked), expected), run
                exact = left(claim.functional, replace(asked, numbers=EXACT))
                close = left(claim.functional, replace(asked, numbers=FLOAT))
                assert close == pytest.approx(float(exact), rel=1e-9, abs=1e-12)
        compared += 1
    assert compared >= 8 and (bounds >= 3 or "gradient_bound" not in claim.quantities)


@pytest.mark.parametrize("claim", OF_WEIGHTS, ids=lambda claim: claim.ref)
def test_claims_about_weights_have_the_same_numbers(claim: Claim) -> None:
    rng = random.Random(claim.ref)
    for _ in range(30):
        needs_one = {"participation_probability", "weight_spread"} & {*claim.quantities}
        p = tuple(F(rng.randint(1, 8), 8) for _ in range(1 if needs_one else rng.randint(1, 3)))
        rounds = 1 if claim.functional in INTERVAL_FUNCTIONALS else rng.randint(2, 9)
        weights = Weights(p, rng.randint(1, 5), rounds)
        fed = Quadratic.common_hessian([0] * len(p))
        setting = Setting(fed, fedau(local_lr=1, cutoff=weights.cutoff), Bernoulli(p))
        for condition in (GIVEN_AN_INTERVAL, ""):
            question = Question(setting, rounds, {CONDITION: condition}, EXACT)
            assert left(claim.functional, question) == exact_left(weights, claim.functional, condition)
            for name, value in weights.quantities().items():
                if name in claim.quantities and name not in ("clients", "rounds"):
                    assert quantity(name, question).value == value
            floats = FloatWeights(replace(weights, probabilities=tuple(map(float, p))), condition == GIVEN_AN_INTERVAL)
            found = left(claim.functional, replace(question, numbers=FLOAT))
            # Theirs are less 1e-11, over the chance that an interval has ended.
            assert found == pytest.approx(floats.left(claim.functional), abs=1e-9)
            if "weight_spread" in claim.quantities:
                assert quantity("weight_spread", question).value == exact_spread(weights, condition)


CONVEX = FedauRun(
    curvatures=((F(1),), (F(1),)), slopes=((F(1),), (F(-1),)), start=(F(2),), gradient_noise=F(1, 2),
    probabilities=(F(9, 10),) * 2, weights=EstimatedWeights(3), local_steps=2, local_lr=F(1, 100), global_lr=F(1, 2),
    rounds=6, objective=(F(1, 4), F(3, 4)),
)  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.ref)
def test_every_claim_has_its_quantities_on_a_setting(claim: Claim) -> None:
    """Both sides in floats: the right one from quantities that a setting has, the left one below it where it should."""
    run = replace(CONVEX, rounds=1) if claim.functional.scope == "round" else CONVEX
    if claim.functional.objective or claim.functional.scope in ("round", "values"):
        run = replace(run, weights=GivenWeights(((F(10, 9),) * 2,)))
    question = question_of(run, claim, FLOAT)
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
