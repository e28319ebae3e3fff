"""FedAU's exact instances: both sides by hand or by runs carried out word by word; readings; files are checked; what a
search finds in a broken claim becomes an instance with short numbers."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction as F

import pytest
import sympy

from fedtheory.claims.balls import ball
from fedtheory.claims.readings import KNOWN_BEFOREHAND
from fedtheory.claims.statement import Claim, Term
from fedtheory.evidence.confirm import refuting_point
from fedtheory.evidence.judge import Judgement, ReadingJudgement, judge, parse
from fedtheory.evidence.replay import replay
from fedtheory.evidence.search import search
from fedtheory.papers.fedau.counterexamples import COUNTEREXAMPLES as ALL
from fedtheory.papers.fedau.examples.weighted_run_points import FedauPoint
from fedtheory.papers.fedau.examples.weighted_run_search import FedauRuns
from fedtheory.papers.fedau.examples.weighted_runs import FedauRun
from fedtheory.papers.fedau.statements import cor4, rounds, thm1, thm2
from fedtheory.subjects.lead import Found
from fedtheory.subjects.protocol import Instance

COUNTEREXAMPLES = {ref: build for ref, build in ALL.items() if "lemma" in ref}
CLAIMS = {claim.ref: claim for module in (rounds, thm1, thm2, cor4) for claim in module.EDITIONS}

PAIR = FedauRun(
    curvatures=((F(1),),) * 2, slopes=((F(1),), (F(-1),)), start=(F(2),), gradient_noise=F(0),
    probabilities=(F(1, 2), F(1)), weights=((F(2), F(1)),), local_steps=2, local_lr=F(1, 40),
    global_lr=F(2, 5), rounds=1,
)  # fmt: skip
"""F_1 and F_2 are smallest at -1 and 1, f at 0; f'(2) = 2, L = delta = 1."""


def judged(ref: str, run: FedauRun, statement: Claim | None = None) -> Judgement:
    return judge(Instance(ref, FedauPoint(run)), statement=statement or CLAIMS[ref])


def literal(ref: str, run: FedauRun) -> ReadingJudgement:
    return judged(ref, run).readings[0]


# Both sides by hand ---------------------------------------------------------------------------------------------------


def test_lemma_b_3_1_by_hand() -> None:
    """phi = (0, 1): gradients 3 and 1 at 2, that of f~ is 1; 4 = (2 delta)^2."""
    found = literal("fedau.lemmaB_3_1@main", replace(PAIR, objective=(F(0), F(1))))
    assert found.left == 4 and found.right == 4 and found.ratio == 1 and not found.failing and not found.refutes


def test_lemma_b_3_2_by_hand() -> None:
    """Client 1 from 2: gradients 3 and 3 (1 - 1/40); moved by 3/40 (1 + 39/40) = 237/1600. The right side is
    120/1600 (4 + 1)."""
    found = literal("fedau.lemmaB_3_2@main", replace(PAIR, objective=(F(0), F(1))))
    assert found.left.overlaps(ball(F(237, 1600) ** 2)) and float(found.right) == pytest.approx(120 / 1600 * 5)


def test_theorem_1_by_hand() -> None:
    """One round, p omega = (1, 1), so h = f with the gap 2 and P/N = 1, mean p omega^2 = 3/2, step 1/100: the left side
    is 4, the right one 8 * 2/(1/100 * 2) + 20/1600 * 2 * 48 + 8/200 (27/2 * 2) 3/2."""
    found = literal("fedau.thm1@main", PAIR)
    right = F(800) + F(20, 1600) * 96 + F(8, 200) * 27 * F(3, 2)
    assert found.left.contains(4) and float(found.right) == pytest.approx(float(right), rel=1e-15)
    assert not found.failing


def test_theorem_2_by_hand() -> None:
    """G: f' = 2 at the start; the box reaches from 2 to the minimisers."""
    found = judged("fedau.thm2@main", PAIR)
    given, estimated = found.readings
    step = F(1, 100)
    right = 8 * 2 / (step * 2) + 0 + step / 2 * 54 * F(3, 2) + F(20, 1600) * 2 * 12
    assert given.left.contains(4) and float(given.right) == pytest.approx(float(right), rel=1e-15)
    assert not given.failing and estimated.undecided == "the weights are given" and not estimated.refutes


def test_the_weight_error_enters_with_the_gradient_bound() -> None:
    """Weights (1, 1): W = ((1/2)^2 + 0)/2 = 1/8, Q = 3/4, G = 2, delta = 1."""
    run = replace(PAIR, weights=((F(1), F(1)),))
    step = F(1, 100)
    right = 8 * 2 / (step * 2) + 12 * F(27, 8) * 5 / 8 + step / 2 * 54 * F(3, 4) + F(20, 1600) * 2 * 12
    assert float(literal("fedau.thm2@main", run).right) == pytest.approx(float(right), rel=1e-15)


def test_the_smaller_of_two_caps_counts() -> None:
    """Weights (20, 1): Q = 201/2, and N/(54 L I Q) = 2/(108 * 201/2) is below the step 1/400."""
    run = replace(PAIR, weights=((F(20), F(1)),), global_lr=F(1, 10))
    assert literal("fedau.thm2@main", run).failing == ["global_cap"]
    assert literal("fedau.thm2@corrected", run).failing == []
    run = replace(PAIR, global_lr=F(6))
    assert literal("fedau.thm2@corrected", run).failing == ["global_cap"]
    assert literal("fedau.thm1@main", replace(PAIR, local_lr=F(1, 20))).failing == ["local_cap", "descent"]


def test_nearly_optimal_weights_are_asked_for() -> None:
    near = replace(PAIR, weights=((F(20, 9), F(10, 9)),))
    ref = "fedau.thm2.nearly_optimal@main"
    assert literal(ref, near).failing == [] and literal(ref, near).slack["nearly_optimal"] == 0
    late = (near.weights[0], (F(2), F(8, 9)), (F(1), F(1)))
    assert literal(ref, replace(near, weights=late, rounds=2)).failing == []
    assert literal(ref, replace(near, weights=late, rounds=3)).failing == ["nearly_optimal"]


def test_the_scale_of_given_weights_is_known_before_the_run() -> None:
    """However a claim that does not choose their cutoff has Q read, and whoever asks: a file, or a search."""
    statement = replace(thm2.MAIN, ambiguities=(thm2.SUM_OVER_ROUNDS, cor4.SCALE))
    run = replace(PAIR, rounds=5)
    found = judged(statement.ref, run, statement)
    assert len(found.readings) == 2 and len({str(one.right) for one in found.readings}) == 1
    assert all(one.undecided == "" for one in found.readings)
    lead = Found(None, run, {}, rounds=5, left=1.0, right=1.0, ratio=1.0)
    assert FedauRuns(statement).readings(lead) == cor4.SCALE.options
    estimated = replace(run, weights=(), cutoff=3)
    assert FedauRuns(statement).readings(replace(lead, point=estimated)) == (KNOWN_BEFOREHAND,)
    assert FedauRuns(statement).readings(replace(lead, point=replace(estimated, rounds=2))) == cor4.SCALE.options


def test_a_run_that_may_leave_its_box_decides_nothing() -> None:
    run = replace(PAIR, weights=((F(99), F(1)),), global_lr=F(5))
    assert "may leave the region" in literal("fedau.thm2@corrected", run).undecided
    without_weights = replace(thm2.CORRECTED, terms=tuple(t for t in thm2.CORRECTED.terms if t.name == "drift"))
    assert "global_gradient_bound" not in without_weights.quantities
    (found,) = judge(Instance("fedau.thm2@corrected", FedauPoint(run)), statement=without_weights).readings
    assert "may leave the region" in found.undecided and not found.refutes


# Algorithm 2 ----------------------------------------------------------------------------------------------------------


def test_estimated_weights_in_theorem_2_repaired() -> None:
    """One client, p = 1/2, K = 2, four rounds; the participations one by one. In rounds 0 and 1 the weight is 1; it is
    2 in round 2 if the client was away in round 0, and its mean interval in round 3."""
    run = replace(PAIR, curvatures=((F(1),),), slopes=((F(0),),), probabilities=(F(1, 2),), local_steps=1,
                  weights=(), cutoff=2, rounds=4, local_lr=F(1, 40), global_lr=F(2))  # fmt: skip
    left = error = scale = F(0)
    for a, b, c in itertools.product((0, 1), repeat=3):
        second = 1 if a else 2
        # Intervals: (1,) or (2,) after two rounds; round 2 ends one if c, or if b ended the one before.
        third = {(1, 1, 1): F(1), (1, 1, 0): F(1), (1, 0, 1): F(3, 2), (1, 0, 0): F(3, 2), (0, 1, 1): F(3, 2),
                 (0, 1, 0): F(2), (0, 0, 1): F(3, 2), (0, 0, 0): F(2)}[a, b, c]  # fmt: skip
        x, squares = F(2), []
        for here, weight in ((a, 1), (b, 1), (c, second), (0, third)):
            squares.append(x * x)
            x -= here * weight * x * F(1, 20)
        weights = (1, 1, second, third)
        left += sum(squares) / 32
        error += sum((F(w) / 2 - 1) ** 2 for w in weights) / 32
        scale += sum(F(w) ** 2 / 2 for w in weights) / 32
    found = literal("fedau.thm2@corrected", run)
    right = F(16, 3) * 2 / (F(1, 20) * 4) + 27 * 4 * error + F(16, 3) / 20 * F(27, 8) * 4 * scale
    assert float(found.left) == pytest.approx(float(left), rel=1e-15)
    assert float(found.right) == pytest.approx(float(right), rel=1e-15)
    assert not found.failing


def test_corollary_4_chooses_its_cutoff_and_its_steps() -> None:
    """p = 1/2, T = 20: log 20 / log 4 = 2.16, so K = 3. gamma = 1/(4 sqrt 15) < 1/sqrt 20 at I = 1. Q = 9/2 at most."""
    run = replace(PAIR, curvatures=((F(1),),), slopes=((F(0),),), probabilities=(F(1, 2),), local_steps=1, rounds=20,
                  gradient_noise=F(1), weights=(), cutoff=None, local_lr=None, global_lr=None)  # fmt: skip
    found = judged("fedau.cor4@main", run)
    of_the_run, beforehand = found.readings
    assert of_the_run.undecided.startswith("Q depends on who takes part")
    chosen = {one["name"]: float(one["value"]) for one in found.to_json()["chosen"]}
    step = min(math.sqrt(2 / (4.5 * 1 * 20)), 1 / 4, 1 / (54 * 4.5))
    expected = {"cutoff": 3, "local_lr": 1 / (4 * math.sqrt(15)), "global_lr": step * 4 * math.sqrt(15)}
    assert chosen == pytest.approx(expected, rel=1e-11)
    assert not beforehand.failing and 0 < float(beforehand.ratio) < 0.1
    corrected = judged("fedau.cor4@corrected", run)
    assert len(corrected.readings) == 1 and 0 < float(corrected.readings[0].ratio) < 0.1


def test_where_q_is_no_random_number_both_readings_agree() -> None:
    """p = 9/10, T = 20 <= c = 100: K = 1, and all weights are 1."""
    run = replace(PAIR, curvatures=((F(1),),), slopes=((F(0),),), probabilities=(F(9, 10),), local_steps=1, rounds=20,
                  gradient_noise=F(1), weights=(), cutoff=None, local_lr=None, global_lr=None)  # fmt: skip
    first, second = judged("fedau.cor4@main", run).readings
    assert not first.undecided and float(first.ratio) == float(second.ratio) > 0


# Readings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", COUNTEREXAMPLES)
def test_the_descent_lemma_falls_if_later_weights_are_known(ref: str) -> None:
    """With 1_0 = 0 for certain f does not decrease, and the right side is negative: -(5/972) 0.18225."""
    found = judge(Instance(ref, COUNTEREXAMPLES[ref](CLAIMS[ref])), statement=CLAIMS[ref])
    known, unknown = found.readings[1], found.readings[0]
    assert known.reading == {"conditioning": "weights of all rounds"} and known.refutes
    right = -F(5, 972) * F(18225, 100000)
    assert known.left == 0 and float(known.right) == pytest.approx(float(right), rel=1e-15)
    # Given the weight of round 0 alone: x_1 = (1 - 5/972) x_0 with probability 9/10.
    expected = F(9, 10) * ((1 - F(5, 972)) ** 2 - 1) / 2
    assert float(unknown.left) == pytest.approx(float(expected), rel=1e-15)
    assert not unknown.refutes and not unknown.failing and not found.refutes
    data = json.loads(json.dumps(found.to_json()))
    assert data["refutes"] is False and not replay(data, CLAIMS[ref]).refutes


def test_given_weights_tell_nothing() -> None:
    run = replace(PAIR, objective=(F(1, 2), F(1, 2)))
    first, second = judged("fedau.lemmaB_3_3@main", run).readings
    assert (first.left - second.left).contains(0) and float(first.left) < 0 and first.reading != second.reading


# Invariance -----------------------------------------------------------------------------------------------------------


def test_the_scale_of_weights_changes_theorem_2_not_theorem_1() -> None:
    """(omega, eta) -> (c omega, eta/c) leaves every run as it is. Weights 1 of clients with p = 1/2 have W = 1/4; with
    c = 2 there is no weight error, and the bound is smaller."""
    run = replace(PAIR, probabilities=(F(1, 2),) * 2, weights=((F(1), F(1)),), rounds=50)
    scaled = replace(run, weights=((F(2), F(2)),), global_lr=run.global_lr / 2)
    for ref in ("fedau.thm1@main", "fedau.thm2@main", "fedau.thm2@corrected"):
        one, other = literal(ref, run), literal(ref, scaled)
        assert one.left.overlaps(other.left)
        if ref == "fedau.thm1@main":
            assert one.right.overlaps(other.right)
            assert [float(v) for v in one.slack.values()] == [float(v) for v in other.slack.values()]
        else:
            assert one.right > other.right + 10


# Files ----------------------------------------------------------------------------------------------------------------

RUNS = {
    "fedau.lemmaB_3_2@main": replace(PAIR, objective=(F(1, 3), F(2, 3))),
    "fedau.thm1@main": replace(PAIR, rounds=10**9),
    "fedau.thm2@main": replace(PAIR, weights=((F(2), F(1)), (F(1), F(1, 2))), rounds=7),
    "fedau.thm2@corrected": replace(PAIR, weights=(), cutoff=math.inf, rounds=5),
    "fedau.cor4@main": replace(PAIR, weights=(), cutoff=None, local_lr=None, global_lr=None, rounds=5),
}


@pytest.mark.parametrize("ref", RUNS)
def test_instances_survive_their_files(ref: str) -> None:
    instance = Instance(ref, FedauPoint(RUNS[ref]))
    data = json.loads(json.dumps(judge(instance, statement=CLAIMS[ref]).to_json()))
    assert parse(data, CLAIMS[ref]) == instance


LEMMA = replace(PAIR, objective=(F(1, 2), F(1, 2)))
REFUSED: Mapping[str, tuple[str, FedauRun, str]] = {
    "no sizes": ("fedau.thm1@main", replace(PAIR, start=(F(1), F(2))), r"allowed are \(N, D\)"),
    "probability": ("fedau.thm1@main", replace(PAIR, probabilities=(F(1), F(3, 2))), "probabilities = 3/2"),
    "nobody": ("fedau.thm1@main", replace(PAIR, probabilities=(F(0), F(0))), "at least one that is not 0"),
    "noise": ("fedau.thm1@main", replace(PAIR, gradient_noise=F(-1)), "gradient_noise = -1"),
    "steps": ("fedau.thm1@main", replace(PAIR, local_steps=0), "local_steps = 0"),
    "step": ("fedau.thm1@main", replace(PAIR, global_lr=F(0)), "global_lr = 0: allowed is a rational > 0"),
    "a step of one's own": ("fedau.cor4@main", replace(PAIR, weights=(), cutoff=None), "left to the claim"),
    "no step": ("fedau.thm1@main", replace(PAIR, local_lr=None), "local_lr = chosen: allowed is a rational"),
    "flat": ("fedau.lemmaB_3_2@main", replace(LEMMA, curvatures=((F(0),),) * 2), "at least one that is not 0"),
    "several rows": ("fedau.thm1@main", replace(PAIR, weights=((F(1),) * 2,) * 2), "1 to 1 rows of 2"),
    "a short row": ("fedau.thm2@main", replace(PAIR, weights=((F(1),),)), "1 to 100 rows of 2"),
    "a weight of 0": ("fedau.thm2@main", replace(PAIR, weights=((F(1), F(0)),)), "numbers > 0"),
    "random Q": ("fedau.thm2@main", replace(PAIR, weights=(), cutoff=2), "or its Q would be random"),
    "no constant": ("fedau.thm1@main", replace(PAIR, weights=(), cutoff=2), "is about given weights"),
    "given to FedAU": ("fedau.cor4@main", replace(PAIR, local_lr=None, global_lr=None), "is about estimated ones"),
    "cutoff": ("fedau.thm2@corrected", replace(PAIR, weights=(), cutoff=0), "cutoff = 0"),
    "no cutoff": ("fedau.thm2@corrected", replace(PAIR, weights=(), cutoff=None), "cutoff = chosen"),
    "many states": ("fedau.thm2@corrected", replace(PAIR, weights=(), cutoff=2, rounds=999), "rounds = 999"),
    "many rounds": ("fedau.lemmaB_3_2@main", replace(LEMMA, rounds=2), "rounds = 2: allowed is 1"),
    "no objective": ("fedau.lemmaB_3_2@main", PAIR, "allowed is one weight a client"),
    "an objective": ("fedau.lemmaB_5_1@main", LEMMA, "objective: allowed is none"),
    "no sum of 1": ("fedau.lemmaB_3_2@main", replace(PAIR, objective=(F(1), F(1))), "numbers >= 0 with sum 1"),
    "told": ("fedau.lemmaB_5_1@main", replace(PAIR, history=((0, 1),)), "given weights tell nothing"),
    "no history": ("fedau.lemmaB_5_1@main", replace(PAIR, weights=(), cutoff=2, history=((0, 2),)), "0 or 1"),
    "history of a run": ("fedau.thm1@main", replace(PAIR, history=((0, 1),)), "the claim is about runs"),
    "estimated drift": ("fedau.lemmaB_3_2@main", replace(LEMMA, weights=(), cutoff=2), "about given weights"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_instance_is_refused(name: str) -> None:
    ref, run, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        judged(ref, run)


def test_other_claims_are_refused() -> None:
    from fedtheory.papers import claim

    with pytest.raises(ValueError, match="speaks of no weighted updates"):
        FedauPoint(PAIR).check(claim("fast.thm1"))


def test_curvatures_that_differ_have_no_dissimilarity() -> None:
    with pytest.raises(ValueError, match="curvatures differ between clients, so it is infinite"):
        judged("fedau.thm1@main", replace(PAIR, curvatures=((F(1),), (F(2),))))


BAD_FILES = {
    "kind": ("algorithm", {"kind": "fast"}, "kind = 'fast'"),
    "both": ("algorithm", {"cutoff": 2}, "weights and cutoff: give exactly one"),
    "no rows": ("algorithm", {"weights": []}, "weights: allowed is one row or more"),
    "local step by rule": ("algorithm", {"local_lr": "1/(40*(round_index + 1))"}, r"local_lr = '1/\(40"),
    "global step by rule": ("algorithm", {"global_lr": "1/(round_index + 1)"}, r"global_lr = '1/\(round"),
    "chosen step": ("algorithm", {"local_lr": "chosen"}, "local_lr = 'chosen'"),
    "letters": ("federation", {"slopes": [["x"], ["1"]]}, "slopes = 'x'"),
    "participation": ("participation", {"kind": "fixed"}, "kind = 'fixed'"),
    "probabilities": ("participation", {"probabilities": "1"}, "probabilities = '1'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_files_are_checked(name: str) -> None:
    part, change, message = BAD_FILES[name]
    data = Instance("fedau.thm1@main", FedauPoint(PAIR)).to_json()
    with pytest.raises(ValueError, match=message):
        parse(data | {part: data[part] | change}, CLAIMS["fedau.thm1@main"])
    if part == "algorithm":
        with pytest.raises(ValueError, match="history = "):
            parse(data | {"history": [[True]]}, CLAIMS["fedau.thm1@main"])


# From a search --------------------------------------------------------------------------------------------------------


def scaled(claim: Claim, name: str, factor: str) -> Claim:
    terms = tuple(Term(t.name, t.expression * sympy.Rational(factor)) if t.name == name else t for t in claim.terms)
    assert terms != claim.terms
    return replace(claim, edition="broken", terms=terms, ambiguities=())


FALLING = {
    "B.3.2 with a tenth of the noise": scaled(rounds.LEMMA_B_3_2, "noise", "1/10"),
    "B.5.1 with a fifth of the scale": scaled(rounds.LEMMA_B_5_1, "scale", "1/5"),
    "1 with a twentieth of its start": scaled(thm1.MAIN, "optimization", "1/20"),
    "2 without weights": scaled(thm2.MAIN, "weights", "0"),
    "2 repaired without weights": scaled(thm2.CORRECTED, "weights", "0"),
}


@pytest.mark.parametrize("name", FALLING)
def test_what_is_found_becomes_an_instance_with_short_numbers(name: str) -> None:
    claim = FALLING[name]
    report = search(claim, candidates=120, climbs=4, steps=15)
    assert report.best.ratio > 1.001
    judgement = refuting_point(claim, report.best)
    assert judgement is not None and judgement.refutes
    data = json.loads(json.dumps(judgement.to_json()))
    assert replay(data, claim).refutes
    digits = [v for row in data["federation"]["slopes"] for v in row]
    assert max(map(len, digits)) <= 20
