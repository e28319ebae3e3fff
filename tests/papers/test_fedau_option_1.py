"""FedAU's Corollary 4 under Option 1: what it says of short runs, and that it says nothing of long ones; histories of
participation are walked one by one here, with weights of this file's own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction as F

import pytest
import sympy

from fedtheory.algorithms import fedau
from fedtheory.evidence.consistency import check_consistency
from fedtheory.evidence.verdict_rule import overall
from fedtheory.federations import Quadratic
from fedtheory.papers.fedau.exclusions import above, contradiction
from fedtheory.papers.fedau.statements import cor4
from fedtheory.papers.proofs import prove
from fedtheory.participation import Bernoulli
from fedtheory.proof.positivity import Certificate
from fedtheory.quantities import symbol
from fedtheory.setting import Setting

CAP = F(1, 81)


def weights(history: tuple[int, ...], cutoff: int) -> list[F]:
    """Of rounds 0..len(history): 1 until an interval ends, then the mean of those that have, which a participation or
    the cutoff ends."""
    found, ended, length = [F(1)], [], 0
    for present in history:
        length += 1
        if present or length == cutoff:
            ended.append(length)
            length = 0
        found.append(F(sum(ended), len(ended)) if ended else F(1))
    return found


def peak_error(probabilities: tuple[F, ...], cutoff: int, rounds: int) -> F:
    """The largest that max_t (1/N) sum_n (p_n omega_t^n - 1)^2 is with positive probability."""
    possible = []
    for p in probabilities:
        choices = (1,) if p == 1 else (0, 1)
        possible.append([weights(h, cutoff) for h in itertools.product(choices, repeat=rounds - 1)])
    worst = F(0)
    for t in range(rounds):
        each = [max((p * w[t] - 1) ** 2 for w in of) for p, of in zip(probabilities, possible, strict=True)]
        worst = max(worst, sum(each) / len(probabilities))
    return worst


GRID = [F(k, 12) for k in range(1, 13)]


@pytest.mark.parametrize("cutoff", [2, 3, 4])
@pytest.mark.parametrize("rounds", [3, 4, 6])
def test_no_long_run_meets_option_1(cutoff: int, rounds: int) -> None:
    """Every mean error of a share s of absent clients is at least s/9, whatever the probabilities are."""
    for probabilities in itertools.combinations_with_replacement(GRID, 2):
        share = F(sum(p < 1 for p in probabilities), 2)
        assert peak_error(probabilities, cutoff, rounds) >= share / 9
        if share:
            assert peak_error(probabilities, cutoff, rounds) > CAP
    assert peak_error((F(2, 3), F(1)), 2, 3) == F(1, 18)  # attained


def test_short_runs_meet_it_and_so_do_clients_that_are_always_there() -> None:
    assert peak_error((F(8, 9), F(8, 9)), 1, 6) == CAP == peak_error((F(8, 9),), 5, 2)
    assert peak_error((F(1), F(1)), 3, 5) == 0
    assert peak_error((F(2, 3), *[F(1)] * 8), 2, 3) == CAP  # a ninth of the clients, and no more


def test_the_row_of_long_runs_is_vacuous() -> None:
    (found,) = check_consistency(cor4.LONG_RUNS)
    assert found.name == "contradictory" and found.evidence["least"] == "1/72"
    text = found.evidence["proofs"][0]["certificate"]
    assert Certificate.from_json(text).verify()
    evidence = {
        "proof": None, "exact": {"instance": None, "search": None}, "needs": [], "measured": [],
        "consistency": [{"name": found.name, "what": found.what}], "units": {"findings": []},
    }  # fmt: skip
    assert overall(evidence)[0] == "vacuous"


def relaxed(name: str, relation: object):
    """The row with another relation of that name, or without it."""
    others = tuple(h for h in cor4.LONG_RUNS.hypotheses if h.name != name)
    own = () if relation is None else (replace(cor4.LONG_RUNS.hypothesis(name), relation=relation),)
    return replace(cor4.LONG_RUNS, hypotheses=(*others, *own))


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("three_rounds", sympy.Ge(symbol("rounds"), 2)),
        ("intervals_are_seen", None),
        ("some_may_be_absent", sympy.Ge(symbol("ever_absent"), sympy.Rational(1, 9))),
        ("nearly_optimal", sympy.Le(symbol("peak_weight_error"), sympy.Rational(1, 72))),
    ],
)
def test_each_hypothesis_is_needed(name: str, relation: object) -> None:
    """Planted: what leaves room is no contradiction."""
    assert contradiction(cor4.LONG_RUNS) is not None and contradiction(relaxed(name, relation)) is None
    assert all(f.name != "contradictory" for f in check_consistency(relaxed(name, relation)))


def test_given_weights_are_not_those_of_algorithm_2() -> None:
    assert contradiction(replace(cor4.LONG_RUNS, choices={})) is None


def test_the_certificate_is_of_its_numbers() -> None:
    assert isinstance(above(F(1, 81), 2, F(1, 8)), Certificate)
    assert not isinstance(above(F(1, 71), 2, F(1, 8)), Certificate)  # below 1/72, at m = 2


def test_it_is_proved_of_short_runs_with_twice_the_constants_of_option_2() -> None:
    """The kernel's constants are those that doubling (B.5.3) to (B.5.5) gives."""
    assert prove(cor4.NEARLY_OPTIMAL).verdict == "proved"
    twice = {t.name: 2 * t.expression.subs(symbol("global_gradient_bound"), 0) for t in cor4.MAIN.terms}
    for term in cor4.NEARLY_OPTIMAL.terms:
        assert sympy.expand(term.expression - twice[term.name]) == 0


@pytest.mark.parametrize("name", [t.name for t in cor4.NEARLY_OPTIMAL.terms])
def test_smaller_terms_are_not_proved(name: str) -> None:
    smaller = {name: cor4.NEARLY_OPTIMAL.term(name).expression * sympy.Rational(49, 50)}
    assert prove(cor4.NEARLY_OPTIMAL.edited("smaller", "", terms=smaller)).outcome != "proved"


def test_it_is_not_proved_without_nearly_optimal_weights() -> None:
    """What a theorem needs of other quantities than the steps is asked of the claim."""
    without = replace(cor4.NEARLY_OPTIMAL, hypotheses=(cor4.TWO_ROUNDS,))
    assert prove(without).outcome != "proved"


def test_how_many_may_be_absent() -> None:
    fed = Quadratic.common_hessian([1, 0, -1, 0])
    setting = Setting(fed, fedau(local_lr="1/100", cutoff=2), Bernoulli(["1/2", 1, 1, "3/4"]), start=1)
    assert setting.quantities(needed=["ever_absent"])["ever_absent"].value == 0.5
