"""What the proof for received counts says of a round, by every way of answering, in Fractions."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from sympy import Rational

from fedtheory.claims.statement import Ambiguity
from fedtheory.evidence.judge import judge
from fedtheory.evidence.search import ROUNDING
from fedtheory.papers.flics.examples.selection_points import SelectionPoint
from fedtheory.papers.flics.examples.selection_search import Selections
from fedtheory.papers.flics.examples.selection_settings import SelectionRun, Trace
from fedtheory.papers.flics.statements import thm1
from fedtheory.papers.proofs import proof_of
from fedtheory.subjects.protocol import Instance

CHANCES = (F(1, 100), F(1, 3), F(9, 10), F(1))
HISTORIES = (F(0), F(1, 10), F(1), F(20))


def ratio(answers: int, history: F, count: int) -> F:
    """S_j/s^_j."""
    return answers * count / (history + answers) if answers else F(0)


def law(clients: int, q: F) -> list[F]:
    return [math.comb(clients, k) * q**k * (1 - q) ** (clients - k) for k in range(clients + 1)]


@pytest.mark.parametrize("clients", [1, 2, 5])
def test_the_variance_of_a_ratio_is_at_most_what_is_sent(clients: int) -> None:
    """And close to it: 99% where answers are rare and the history long."""
    closest = F(0)
    for q, history in itertools.product(CHANCES, HISTORIES):
        chances = law(clients, q)
        mean = sum(c * ratio(k, history, 7) for k, c in enumerate(chances))
        variance = sum(c * ratio(k, history, 7) ** 2 for k, c in enumerate(chances)) - mean**2
        sent = sum(c * k * (7 / (history + k)) ** 2 for k, c in enumerate(chances) if k)
        growths = [ratio(k + 1, history, 7) - ratio(k, history, 7) for k in range(clients)]
        stein = clients * q * (1 - q) * sum(c * growths[k] ** 2 for k, c in enumerate(law(clients - 1, q)))
        assert variance <= stein <= (1 - q) * sent
        closest = max(closest, variance / sent)
    assert F(88, 100) < closest < 1


def test_an_aggregate_by_every_way_of_answering() -> None:
    """Two groups, updates v_j + noise: E Delta, and E|Delta|^2 against its bound."""
    weight, clients, chances = (F(2, 5), F(3, 5)), (2, 3), (F(1, 3), F(3, 4))
    history, count, means, noises = (F(1), F(5, 2)), 4, (F(2), F(-1)), (F(1), F(1, 2))
    first = second = F(0)
    rho, sent = [F(0)] * 2, [F(0)] * 2
    for answers in itertools.product(*(range(n + 1) for n in clients)):
        chance = math.prod(law(n, q)[k] for n, q, k in zip(clients, chances, answers, strict=True))
        y = [p * count / (h + k) if k else F(0) for p, h, k in zip(weight, history, answers, strict=True)]
        mean = sum(a * k * v for a, k, v in zip(y, answers, means, strict=True))
        first += chance * mean
        second += chance * (mean**2 + sum(a**2 * k * z**2 for a, k, z in zip(y, answers, noises, strict=True)))
        for j in range(2):
            rho[j] += chance * ratio(answers[j], history[j], count)
            sent[j] += chance * y[j] ** 2 * answers[j]
    assert first == sum(p * r * v for p, r, v in zip(weight, rho, means, strict=True))
    largest = max(v**2 + z**2 for v, z in zip(means, noises, strict=True))
    assert second <= first**2 + largest * sum(sent)
    parts = zip(means, noises, sent, strict=True)
    assert second <= first**2 + sum((v**2 + z**2) * s for v, z, s in parts)
    # the weights of planned counts, p_j/s^_j with the expected answers in s^_j, do not give the mean
    planned = [n * q for n, q in zip(clients, chances, strict=True)]
    assert first != sum(p * r * count / (h + r) * v for p, r, h, v in zip(weight, planned, history, means, strict=True))


@pytest.mark.parametrize("this", [thm1.RECEIVED, thm1.COROLLARY_RECEIVED], ids=lambda c: c.ref)
def test_it_holds_under_each_reading(this: thm1.Claim) -> None:
    space, rng = Selections(this), np.random.default_rng(5)
    judged = [r for _ in range(20) for r in judge(Instance(this.ref, space.draw(rng)), statement=this).readings]
    known = [r for r in judged if not r.failing and not r.undecided]
    assert len(known) >= 15
    assert all(float(r.left) <= float(r.right) * (1 + ROUNDING) for r in known)


def _run(**changes: object) -> SelectionPoint:
    """Two rounds of a client that answers with probability 1/100 in the second one."""
    trace = Trace((F(1),), ((1,), (1,)), (F(1), F(1, 100)))
    run = SelectionRun(trace, F(0), F(1), (F(0),), F(1), F(0), 1, 2, local_lr=F(1, 10), global_lr=F(1))
    return SelectionPoint(replace(run, **changes), {})


def test_its_terms_by_hand() -> None:
    """s^(1) = 1, s^(2) = 1 with an answer and 1/2 without: S/s^ is 1 with probability 1/100, and 1 in round 1."""
    readings = judge(Instance(thm1.RECEIVED.ref, _run()), statement=thm1.RECEIVED).readings
    by = {r.reading["start"]: r for r in readings}
    # x_1 = 9/10; gap 1/2, eta eta_L K = 1/10, T = 2, G = 1, drift 0
    expected = 2 * 0.5 / (0.1 * 2) + 2 * (0 + 0.99**2) / 2 + 0.1 * (1 + 0.01) / 2
    assert float(by["forgotten"].right) == pytest.approx(expected, rel=1e-12)
    assert float(by["forgotten"].left) == pytest.approx((1 + 0.9**2) / 2, rel=1e-12)
    # where the start 0 counts as a round: s^ = 1/2 and 2/3, S/s^ = 2 and 3/2
    expected = 5 + 2 * (1 + 0.985**2) / 2 + 0.1 * (4 + 2.25 / 100) / 2
    assert float(by["counted"].right) == pytest.approx(expected, rel=1e-12)


def test_what_loses_the_proof() -> None:
    this = thm1.RECEIVED
    assert proof_of(this)
    for term in this.terms:
        assert not proof_of(this.edited("mine", "", terms={term.name: term.expression * Rational(99, 100)}))
    planned, corrected = thm1.CORRECTED.ambiguities[1], thm1.CORRECTED
    undivided, counts, start = this.ambiguities
    assert not proof_of(replace(this, ambiguities=(undivided, planned, start)))
    assert not proof_of(replace(this, ambiguities=(Ambiguity("line 14", ("divided",), ""), counts, start)))
    assert not proof_of(replace(this, hypotheses=()))
    assert not proof_of(replace(corrected, ambiguities=this.ambiguities))
    for assumption in this.assumptions:
        if assumption.kind in ("independent_noise", "independent_answers", "unbiased_noise"):
            rest = tuple(a for a in this.assumptions if a is not assumption)
            assert not proof_of(replace(this, assumptions=rest)), assumption.kind
