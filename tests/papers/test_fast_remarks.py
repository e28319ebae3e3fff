"""FAST's Remarks 1 and 3, and what the appendix's condition on q leaves: against closed forms, without the library."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F

import pytest
import sympy

from fedtheory.evidence.constructions import construct
from fedtheory.evidence.judge import judge, parse
from fedtheory.files import read_json
from fedtheory.papers import claim, paper
from fedtheory.papers.fast.statements import rem1, thm2
from fedtheory.papers.proofs import prove
from fedtheory.quantities import symbol
from fedtheory.subjects.protocol import Instance


def left_of_one_drawn(local_steps: int, rounds: int, step_constant: float) -> float:
    """The mean over r = 1..R of E x_r^2 where x moves a share s of the way to 1 or -1 in every round, from 0."""
    share = 1 - (1 - step_constant / math.sqrt(rounds * local_steps)) ** local_steps
    kept = (1 - share) ** 2
    mean_power = kept * (1 - kept**rounds) / (rounds * (1 - kept))
    return share / (2 - share) * (1 - mean_power)


def right_of_one_drawn(local_steps: int, rounds: int, step_constant: float) -> float:
    return 60 * step_constant**2 / math.sqrt(rounds * local_steps)


def test_a_gain_from_local_steps_falls_by_the_closed_form() -> None:
    """Moments in balls and the closed form agree to 1e-9, the rounding of powers over 10^6 rounds in floats."""
    judged = construct("fast.rem1.b")
    assert judged is not None and judged.refutes and len(judged.readings) == 4
    expected = left_of_one_drawn(100, 10**6, 0.1) / right_of_one_drawn(100, 10**6, 0.1)
    assert float(judged.readings[0].ratio) == pytest.approx(expected, rel=1e-9)


def test_no_constant_in_place_of_the_rate_helps() -> None:
    """The ratio grows like K at R = K^3: doubled, it doubles to a hundredth."""
    ratios = [left_of_one_drawn(K, K**3, 0.1) / right_of_one_drawn(K, K**3, 0.1) for K in (100, 200, 400)]
    assert ratios[1] / ratios[0] == pytest.approx(2, rel=1e-2) and ratios[2] / ratios[1] == pytest.approx(2, rel=1e-2)


def test_the_rate_without_a_gain_from_local_steps_is_not_refuted() -> None:
    """1/sqrt(mR) in place of 1/sqrt(mRK), planted: the instance is below it."""
    K = sympy.sqrt(symbol("local_steps"))
    statement = rem1.UNIFORM
    slower = statement.edited("slower", "", terms={t.name: t.expression * K for t in statement.terms})
    point = paper("fast").counterexamples["fast.rem1.b@main"](statement)
    assert judge(Instance(statement.ref, point), statement=statement).refutes
    assert not judge(Instance(statement.ref, point), statement=slower).refutes


def test_remark_3_needs_noises_that_are_uncorrelated() -> None:
    """16 identical clients with common noise, an autoregression of one client's noise: E x_R^2 = eta sigma^2/(2 - eta)
    and what is left of the start, with the step l/(mu R), l = log(8 R)."""
    statement, rounds = claim("fast.rem3"), 10**5
    file = paper("fast").folder / "needs" / "fast.rem3@main.uncorrelated_noise.json"
    judged = judge(parse(read_json(file), statement))
    eta = math.log(8 * rounds) / rounds
    left = (1 - eta) ** (2 * rounds) + eta / (2 - eta) * (1 - (1 - eta) ** (2 * rounds))
    right = (1 + math.log(8 * rounds)) * 2 / (16 * rounds) + math.exp(-rounds / (20 * 16))
    assert judged.refutes and float(judged.readings[0].ratio) == pytest.approx(left / right, rel=1e-9)
    assert left / right > 3.7 > 1 > left / 16 / right  # noises of their own leave a sixteenth


def test_remark_3_is_corollary_3_as_repaired_without_what_it_does_not_say() -> None:
    statement = claim("fast.rem3")
    assert prove(statement).outcome != "proved"
    assert prove(statement.assuming("uncorrelated_noise", "cohort_before_noise")).outcome == "proved"
    assert "uncorrelated_noise" not in statement.assumed


# What the appendix's condition on q leaves ----------------------------------------------------------------------------


def test_the_room_is_the_maximum_over_the_step() -> None:
    mu, L, z = sympy.symbols("mu L z", positive=True)
    room = (mu / L * z - 16 * z**2) / 4
    (best,) = sympy.solve(sympy.diff(room, z), z)
    assert sympy.simplify(room.subs(z, best) - mu**2 / (256 * L**2)) == 0
    assert prove(thm2.ROOM).outcome == "proved"


@pytest.mark.parametrize("wrong", [F(1, 257), F(1, 300)])
def test_a_smaller_room_is_not_proved(wrong: F) -> None:
    (term,) = thm2.ROOM.terms
    smaller = replace(term, expression=term.expression * 256 * sympy.Rational(wrong.numerator, wrong.denominator))
    assert prove(replace(thm2.ROOM, terms=(smaller,))).outcome != "proved"


def test_255_256_is_the_room_of_clients_with_one_curvature_alone() -> None:
    """At mu/L = 1/10 no step leaves more than 1/25600."""
    best = max((F(1, 10) * z - 16 * z**2) / 4 for z in (F(k, 10**4) for k in range(1, 100)))
    assert best <= F(1, 25600) and best > F(99, 100) * F(1, 25600)
