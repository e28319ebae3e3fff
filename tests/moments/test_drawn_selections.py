"""Points as the search draws them: floats, balls and Fractions agree, and a free round is that of its setting."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from fedtheory.claims.balls import ball, working_precision
from fedtheory.functionals import (
    LEAST_SQUARED_GRADIENT,
    MEAN_SQUARED_GRADIENT,
    POLICY_GAP,
    POLICY_LIMIT,
    RATIO_FAILURE,
)
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, Unserved, left, quantity
from fedtheory.papers import all_claims
from fedtheory.papers.flics.exact.selected import CORRELATION, MATRIX
from fedtheory.papers.flics.exact.selection_evaluators import OF_ROUNDS, OF_RUNS
from fedtheory.papers.flics.examples.selection_points import SelectionPoint
from fedtheory.papers.flics.examples.selection_search import Selections
from fedtheory.papers.flics.examples.selection_settings import SelectionRound, SelectionRun

from .selection_settings import one_round

CLAIMS = {c.ref: c for c in all_claims() if c.paper == "flics" and c.functional.scope == "selection"}
OF_CASES = ("rate_spread", "answer_mismatch")
"""Of which a candidate's cases and its setting's, which are more, give numbers of other kinds."""
OF_ONE_ROUND = (*OF_ROUNDS, "least_group_participation", *(name for name in OF_RUNS if name not in OF_CASES))
OF_GROUPS = ("smoothness", "gradient_noise", "dissimilarity", "groups", "weight_concentration", "local_steps")


def drawn(ref: str, number: int, seed: int = 0) -> list[SelectionPoint]:
    space, rng = Selections(CLAIMS[ref]), np.random.default_rng(seed)
    candidates = (space.draw(rng) for _ in range(10 * number))
    return list(itertools.islice((c for c in candidates if c is not None), number))


@pytest.mark.parametrize("seed", range(12))
def test_runs(seed: int) -> None:
    (candidate,), claim = drawn("flics.thm1@main", 1, seed), CLAIMS["flics.thm1@main"]
    run = candidate.point
    assert isinstance(run, SelectionRun)
    run = replace(run, rounds=min(run.rounds, 3)) if run.local_steps > 3 else run
    with working_precision():
        for reading, functional in itertools.product(claim.readings(), (LEAST_SQUARED_GRADIENT, MEAN_SQUARED_GRADIENT)):
            exact, enclosed, close = (run.told(functional, OF_RUNS, reading, {}, n) for n in (EXACT, BALL, FLOAT))
            assert ball(exact[0]).overlaps(enclosed[0])
            assert close[0] == pytest.approx(float(exact[0]), rel=1e-11, abs=1e-14)
            for name in OF_RUNS:
                value = exact[1][name]
                if isinstance(value, float):  # infinite
                    assert close[1][name] == value
                    assert not ball(enclosed[1][name]).is_finite()
                else:
                    assert ball(value).overlaps(ball(enclosed[1][name])), name
                    # A variance near 0 is a difference of numbers of the order of 1.
                    assert close[1][name] == pytest.approx(float(value), rel=1e-11, abs=1e-12), name


@pytest.mark.parametrize("ref", [ref for ref in CLAIMS if "lemma" in ref])
def test_a_free_round_is_that_of_its_setting(ref: str) -> None:
    claim, tried = CLAIMS[ref], 0
    for candidate in drawn(ref, 25):
        point = candidate.point
        assert isinstance(point, SelectionRound)
        if point.curvature < 0:  # no federation
            continue
        tried += 1
        states = [(s.probability, s.availability, s.rates) for s in point.states]
        setting = one_round(point.weight, point.estimate, states, point.curvature, point.centres, point.start,
                            point.gradient_noise, point.local_steps, point.local_lr)  # fmt: skip
        own = point.fixed(OF_GROUPS)
        assert {name: quantity(name, Question(setting, numbers=EXACT)).value for name in OF_GROUPS} == own
        for reading in claim.readings():
            question, enclosed, close = (
                Question(setting, None, reading, n, candidate.constants) for n in (EXACT, BALL, FLOAT)
            )
            asked = claim.functional, OF_ONE_ROUND, reading, candidate.constants
            try:
                value, known = point.told(*asked, EXACT)
            except Unserved:  # a correlation that is a root
                assert reading[MATRIX] == CORRELATION
                with pytest.raises(Unserved, match="irrational"):
                    quantity("selection_variance", question)
                with working_precision():
                    value, known = point.told(*asked, BALL)
                    assert ball(left(claim.functional, enclosed)).overlaps(ball(value))
                    found = {name: quantity(name, enclosed).value for name in OF_ONE_ROUND}
                    assert found.keys() == known.keys()
                    assert all(ball(found[name]).overlaps(ball(known[name])) for name in known)
                    rough = point.told(*asked, FLOAT)[1]["selection_variance"]
                    assert isinstance(rough, float)
                    assert rough == pytest.approx(float(known["selection_variance"]), rel=1e-9, abs=1e-12)
            else:
                assert left(claim.functional, question) == value
                assert {name: quantity(name, question).value for name in OF_ONE_ROUND} == known
            assert left(claim.functional, close) == pytest.approx(float(value), rel=1e-9, abs=1e-12)
    assert tried >= 5


@pytest.mark.parametrize("ref", ["flics.thm2@main", "flics.thm2@corrected", "flics.eq7.e@main"])
def test_the_policy_and_answers(ref: str) -> None:
    claim = CLAIMS[ref]
    names = {
        POLICY_GAP: "price_drift",
        RATIO_FAILURE: "response_probability",
        POLICY_LIMIT: "least_group_participation",
    }
    name = names[claim.functional]
    for candidate in drawn(ref, 25):
        point = candidate.point
        for reading in claim.readings():
            exact = point.told(claim.functional, (), reading, candidate.constants, EXACT)[0]
            close = Question(point.setting, [point.rounds], reading, FLOAT, candidate.constants)
            assert np.ravel(left(claim.functional, close))[0] == pytest.approx(float(exact), rel=1e-9, abs=1e-12)
        known = point.fixed((name,))[name]
        assert np.ravel(quantity(name, close).value)[0] == pytest.approx(float(known), rel=1e-9, abs=1e-12)
