"""Exact weights: against all histories of Algorithm 2, against floating point, and FedAU's statements about them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction as F
from itertools import product

import pytest
import sympy

from fedtheory.claims.readings import CONDITION, GIVEN_AN_INTERVAL
from fedtheory.claims.statement import Claim
from fedtheory.evidence.judge import Judgement, judge, parse
from fedtheory.evidence.replay import ReplayError, replay
from fedtheory.functionals import AVERAGE_WEIGHT_ERROR, LONG_RUN_BIAS, ROUND_WEIGHT_ERROR, Functional
from fedtheory.moments.evaluators import left, quantity
from fedtheory.papers.fedau.counterexamples import COUNTEREXAMPLES as ALL
from fedtheory.papers.fedau.exact.weight_laws import interval_moments, round_moments
from fedtheory.papers.fedau.examples.weight_points import (
    LARGEST_HISTORY,
    NO_CUTOFF,
    Weights,
    WeightsPoint,
    chosen_cutoff,
)
from fedtheory.papers.fedau.statements import eqB_6_8, lemmaB_6_1, lemmaB_7_1, thm3
from fedtheory.quantities import symbol
from fedtheory.subjects.file_entries import CHOSEN
from fedtheory.subjects.protocol import Instance
from fedtheory.weights import CutoffGeometric, logarithmic_cutoff, weight_moments

COUNTEREXAMPLES = {ref: build for ref, build in ALL.items() if "eqB_6_8" in ref}
CLAIMS = {c.ref: c for module in (lemmaB_6_1, eqB_6_8, thm3, lemmaB_7_1) for c in module.EDITIONS}
PROBABILITIES = (F(1, 10), F(1, 2), F(9, 10))
CUTOFFS = (1, 2, 3, 5, math.inf)
ROUNDS = 9


def exact_left(weights: Weights, functional: Functional, condition: str) -> F:
    return left(functional, weights.question(reading={CONDITION: condition}))


def valued(weights: Weights, name: str, condition: str = "") -> F:
    return quantity(name, weights.question(reading={CONDITION: condition})).value


def algorithm_2(history: tuple[int, ...], cutoff: float) -> list[tuple[int, F]]:
    """(M, omega) in rounds 0 to len(history), line by line as printed."""
    M, S, omega, found = 0, 0, F(1), [(0, F(1))]
    for present in history:
        S += 1
        if present == 1 or cutoff == S:
            omega = F(S) if M == 0 else (M * omega + S) / (M + 1)
            M, S = M + 1, 0
        found.append((M, omega))
    return found


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_moments_are_those_of_all_histories(cutoff: float) -> None:
    runs = {history: algorithm_2(history, cutoff) for history in product((0, 1), repeat=ROUNDS - 1)}
    for p in PROBABILITIES:
        chances = {h: p ** sum(h) * (1 - p) ** (ROUNDS - 1 - sum(h)) for h in runs}
        for t, moments in enumerate(round_moments(p, cutoff, ROUNDS)):
            ended = [(chances[h], run[t][1]) for h, run in runs.items() if run[t][0] > 0]
            assert moments.initial == 1 - sum(chance for chance, _ in ended)
            assert moments.mean == sum(chance * omega for chance, omega in ended)
            assert moments.mean_square == sum(chance * omega**2 for chance, omega in ended)
            error = sum(chances[h] * (p * run[t][1] - 1) ** 2 for h, run in runs.items())
            assert moments.squared_distance(p, F(1), False) == error
            if ended:
                given = sum(chance * (p * omega - 1) ** 2 for chance, omega in ended) / sum(c for c, _ in ended)
                assert moments.squared_distance(p, F(1), True) == given


@pytest.mark.parametrize(("p", "cutoff"), [(F(1, 50), 20), (F(3, 10), 4), (F(1, 7), math.inf), (F(9, 10), 2)])
def test_moments_are_those_of_the_generating_function(p: F, cutoff: float) -> None:
    """150 rounds; 1e-12 is what floating point was measured to leave."""
    known = weight_moments(float(p), cutoff, 150)
    exact = [float(m.squared_distance(p, F(1), False)) for m in round_moments(p, cutoff, 150)]
    assert known.error == pytest.approx(exact, abs=1e-12)
    assert float(exact_left(Weights((p,), cutoff, 150), AVERAGE_WEIGHT_ERROR, "")) == pytest.approx(
        known.average_error(), abs=1e-12
    )


def test_certain_clients() -> None:
    """Who always takes part has weight 1; who never does has weight K from round K on; cutoff 1 says nothing."""
    assert all(m.squared_distance(F(1), F(1), False) == 0 for m in round_moments(F(1), 3, 6))
    never = round_moments(F(0), 3, 6)
    assert [m.initial for m in never] == [1, 1, 1, 0, 0, 0] and [m.mean for m in never] == [0, 0, 0, 3, 3, 3]
    assert all(m.squared_distance(F(1, 3), F(1), False) == F(4, 9) for m in round_moments(F(1, 3), 1, 6))
    with pytest.raises(ZeroDivisionError):
        never[2].squared_distance(F(1), F(1), True)


def test_several_clients_are_averaged() -> None:
    both = Weights((F(1, 2), F(1, 10)), 3, 6)
    for functional in (AVERAGE_WEIGHT_ERROR, ROUND_WEIGHT_ERROR, LONG_RUN_BIAS):
        alone = [exact_left(replace(both, probabilities=(p,)), functional, "") for p in both.probabilities]
        assert exact_left(both, functional, "") == sum(alone) / 2
    known = {
        "clients": 2, "rounds": 6, "least_participation_probability": F(1, 10), "absence": F(7, 10), "history": 5,
        "cutoff": 3, "cutoff_bias": (F(1, 2) ** 6 + F(9, 10) ** 6) / 2, "guaranteed_intervals": 1,
    }  # fmt: skip
    assert {name: valued(both, name) for name in known} == known
    assert valued(replace(both, rounds=7), "guaranteed_intervals") == 2


# The statements.


def sides(ref: str, p: F, cutoff: float, rounds: int, condition: str = "") -> tuple[F, F]:
    """Both sides of a claim about one client, in rational arithmetic by sympy: another route than that of ``judge``."""
    weights = Weights((p,), cutoff, rounds)
    values = {name: valued(weights, name, condition) for name in CLAIMS[ref].quantities}
    at = {symbol(name): sympy.Rational(F(v).numerator, F(v).denominator) for name, v in values.items()}
    right = CLAIMS[ref].right_side.subs(at)
    assert right.is_Rational
    return exact_left(weights, CLAIMS[ref].functional, condition), F(int(right.p), int(right.q))


@pytest.mark.parametrize("part", ["mean", "mean_below", "variance", "variance_below"])
def test_lemma_b_6_1_is_an_equation(part: str) -> None:
    for p in (*PROBABILITIES, F(1), F(1, 1000)):
        for cutoff in (1, 2, 3, 7, 20):
            left, right = sides(f"fedau.lemmaB_6_1.{part}@main", p, cutoff, 1)
            assert left == right


def test_the_law_of_an_interval_in_floating_point() -> None:
    for p in PROBABILITIES:
        for cutoff in (1, 2, 7, 40):
            mean, variance = interval_moments(p, cutoff)
            law = CutoffGeometric(float(p), cutoff)
            assert (float(mean), float(variance)) == pytest.approx((law.mean(), law.var()), rel=1e-12)


GRID = [(p, cutoff, t) for p in (*PROBABILITIES, F(1, 1000)) for cutoff in (1, 2, 3, 6) for t in range(1, 14)]


@pytest.mark.parametrize("condition", [GIVEN_AN_INTERVAL, "in expectation"])
def test_the_lines_of_b_6_8_exactly(condition: str) -> None:
    """From the cutoff on, (a) is an equation and the others hold; before it, (a) fails always, the last line never."""
    for p, cutoff, t in GRID:
        lines = {name: sides(f"fedau.eqB_6_8.{name}@main", p, cutoff, t + 1, condition)
                 for name in ("a", "b", "b_next", "c")}  # fmt: skip
        holds = {name: left <= right for name, (left, right) in lines.items()}
        assert holds["c"]
        if t >= cutoff:
            assert all(holds.values()) and lines["a"][0] == lines["a"][1]
        else:
            assert not holds["a"]
    assert sides("fedau.eqB_6_8.b@main", F(1, 2), 2, 3)[0] == sides("fedau.eqB_6_8.b@main", F(1, 2), 2, 3)[1]


def test_no_round_is_worse_than_absence() -> None:
    for p, cutoff, t in GRID:
        left, right = sides("fedau.eqB_6_7@sharp", p, cutoff, t)
        assert left <= right == 1 - p
    assert sides("fedau.eqB_6_7@sharp", F(1, 5), math.inf, 12)[0] < F(4, 5)


def judged(ref: str, *probabilities: F, cutoff: float = math.inf, rounds: int = 1, given: bool = True) -> Judgement:
    instance = Instance(ref, WeightsPoint(Weights(probabilities, cutoff, rounds), given))
    return judge(instance, statement=CLAIMS[ref])


@pytest.mark.parametrize("ref", ["fedau.thm3@main", "fedau.thm3@appendix", "fedau.thm3@sharp"])
def test_theorem_3_on_exact_weights(ref: str) -> None:
    for probabilities in (PROBABILITIES[:1], PROBABILITIES, (F(1, 10**6),)):
        for cutoff, rounds in ((1, 2), (1, 60), (3, 3), (3, 40), (20, 60)):
            (reading,) = judged(ref, *probabilities, cutoff=cutoff, rounds=rounds).readings
            assert not reading.failing and reading.ratio <= 1 and not reading.refutes


def test_a_hypothesis_that_fails() -> None:
    assert judged("fedau.thm3@sharp", F(1, 2), cutoff=5, rounds=4).readings[0].failing == ["cutoff_in_time"]
    assert judged("fedau.thm3@main", F(1, 2), cutoff=1, rounds=1).readings[0].failing == ["two_rounds"]
    assert judged("fedau.eqB_6_8.a@corrected", F(1, 2), cutoff=5, rounds=5).readings[0].failing == ["after_the_cutoff"]


def test_lemma_b_7_1_on_exact_weights() -> None:
    for p in PROBABILITIES:
        for rounds in (2, 3, 10, 50):
            for ref in ("fedau.lemmaB_7_1@main", "fedau.lemmaB_7_1@sharp", "fedau.eqB_7_2@main"):
                judgement = judged(ref, p, F(1), rounds=rounds, given=False)
                assert judgement.readings[0].ratio <= 1 and not judgement.readings[0].failing
                (chosen,) = judgement.to_json()["chosen"]
                assert float(chosen["value"]) == logarithmic_cutoff([p, F(1)], rounds)


# The cutoff that a claim chooses.


def test_the_chosen_cutoff() -> None:
    lemma = CLAIMS["fedau.lemmaB_7_1@main"]
    for p, rounds in ((F(1, 50), 10_000), (F(2, 5), 7), (F(99, 100), 2), (F(1, 10**9), 5)):
        assert chosen_cutoff(lemma, Weights((F(1), p), math.inf, rounds).question()) == logarithmic_cutoff(p, rounds)
    assert chosen_cutoff(lemma, Weights((F(1, 2),), math.inf, 4**5 + 1).question()) == 6
    for undecided in (Weights((F(1, 2),), math.inf, 4**5), Weights((F(1),), math.inf, 9), Weights((F(0),), 1, 9)):
        assert chosen_cutoff(lemma, undecided.question()) is None
    with pytest.raises(ValueError, match="chooses no integer >= 1 here"):
        judged("fedau.lemmaB_7_1@main", F(1), rounds=9, given=False)
    changed = replace(lemma, choices={"local_lr": symbol("rounds")})
    with pytest.raises(ValueError, match="chooses local_lr: allowed is the ceiling of a cutoff"):
        chosen_cutoff(changed, Weights((F(1, 2),), math.inf, 9).question())


# Files.


@pytest.mark.parametrize("ref", COUNTEREXAMPLES)
def test_refutations_are_replayed(ref: str) -> None:
    statement = CLAIMS[ref]
    judgement = judge(Instance(ref, COUNTEREXAMPLES[ref](statement)), statement=statement)
    assert judgement.refutes and len(judgement.readings) == 2
    data = json.loads(json.dumps(judgement.to_json()))
    assert replay(data, statement).instance == judgement.instance
    for key, wrong in (("left", "0.5"), ("refutes", False), ("functional", "x")):
        with pytest.raises(ReplayError, match=f"the file says {key}"):
            replay(data | {key: wrong}, statement)
    later = data["weights"] | {"rounds": data["weights"]["cutoff"] + 1}
    with pytest.raises(ReplayError, match="the bound is not exceeded"):
        replay(data | {"weights": later}, statement)


def test_refutations_by_hand() -> None:
    """Before any interval but the one of round 0, the weight is 1 for certain."""
    expected = {
        "fedau.eqB_6_8.a@main": (F(1, 4), F(1, 8)),
        "fedau.eqB_6_8.b@main": (F(81, 100), F(1071, 2000)),
        "fedau.eqB_6_8.b_next@main": (F(81, 100), F(111159, 200000)),
    }
    for ref, both in expected.items():
        weights = COUNTEREXAMPLES[ref](CLAIMS[ref]).weights
        for condition in (GIVEN_AN_INTERVAL, "in expectation"):
            assert sides(ref, *weights.probabilities, weights.cutoff, weights.rounds, condition) == both


def test_instances_come_back_from_their_files() -> None:
    for ref, cutoff, given in (
        ("fedau.thm3@main", 3, True),
        ("fedau.eqB_6_7@sharp", math.inf, True),
        ("fedau.lemmaB_7_1@main", math.inf, False),
    ):
        instance = Instance(ref, WeightsPoint(Weights((F(1, 3), F(1)), cutoff, 7), given))
        data = json.loads(json.dumps(instance.to_json()))
        assert parse(data, CLAIMS[ref]) == instance
        assert data["weights"]["cutoff"] == (3 if cutoff == 3 else NO_CUTOFF if given else CHOSEN)


GOOD = {"probabilities": ["1/2", "1"], "cutoff": 3, "rounds": 4}
WRONG = [
    ({"probabilities": []}, "probabilities has 0 entries: allowed are 1 to 100"),
    ({"probabilities": ["1/2"] * 101}, "probabilities has 101 entries: allowed are 1 to 100"),
    ({"probabilities": ["3/2"]}, r"probabilities = 3/2: allowed is a number in \[0, 1\]"),
    ({"probabilities": ["-1/2"]}, r"probabilities = -1/2: allowed is a number in \[0, 1\]"),
    ({"probabilities": [0.5]}, "probabilities = 0.5: allowed is a rational"),
    ({"probabilities": "1/2"}, "probabilities = '1/2': allowed is a list"),
    ({"cutoff": 0}, "cutoff = 0: allowed is an integer >= 1, or 'none'"),
    ({"cutoff": "3"}, "cutoff = '3': allowed is an int"),
    ({"cutoff": True}, "cutoff = True: allowed is an int"),
    ({"cutoff": "chosen"}, "cutoff = 'chosen': allowed is an integer >= 1, or 'none'"),
    ({"cutoff": 10**9}, r"clients \* \(rounds \+ cutoff\) \* bits = .*: allowed is at most 200000"),
    ({"rounds": 0}, f"rounds = 0: allowed is an integer from 1 to {LARGEST_HISTORY}"),
    ({"rounds": LARGEST_HISTORY + 1}, f"rounds = 201: allowed is an integer from 1 to {LARGEST_HISTORY}"),
    ({"rounds": "4"}, "rounds = '4': allowed is an int"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_refused_files(change: dict, message: str) -> None:
    statement = CLAIMS["fedau.thm3@main"]
    assert isinstance(parse({"claim": statement.ref, "weights": GOOD}, statement).point, WeightsPoint)
    with pytest.raises(ValueError, match=message):
        parse({"claim": statement.ref, "weights": GOOD | change}, statement)


def test_instances_of_other_claims() -> None:
    def refused(ref: str, message: str, **change: object) -> None:
        with pytest.raises(ValueError, match=message):
            parse({"claim": ref, "weights": GOOD | change}, CLAIMS[ref])

    refused("fedau.lemmaB_7_1@main", "cutoff = 3: allowed is left to the claim, which chooses it")
    refused("fedau.lemmaB_6_1.mean@main", "rounds = 4: allowed is an integer from 1 to 1")
    initial = CLAIMS["fedau.eqB_6_7@main"]
    with pytest.raises(ValueError, match="is about a values: allowed with such an instance is one about a weights"):
        WeightsPoint(Weights((F(1, 2),), 3, 4)).check(initial)
    with pytest.raises(ValueError, match="participation_probability: it is a client's, and clients differ"):
        judged("fedau.eqB_6_8.c@main", F(1, 2), F(1, 3), cutoff=3, rounds=4)
    with pytest.raises(ValueError, match="cutoff: weights have none here"):
        judged("fedau.thm3@main", F(1, 2), rounds=4)


def test_a_changed_claim_falls() -> None:
    """(b) from the cutoff on is attained at t = K = 2: 1% less of either term falls, on this very instance."""
    statement = CLAIMS["fedau.eqB_6_8.b@corrected"]
    instance = Instance(statement.ref, WeightsPoint(Weights((F(1, 2),), 2, 3)))
    assert not judge(instance, statement=statement).refutes
    for term in statement.terms:
        broken: Claim = statement.edited("broken", "", terms={term.name: term.expression * sympy.Rational(99, 100)})
        assert judge(replace(instance, claim=broken.ref), statement=broken).refutes
