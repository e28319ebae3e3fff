"""Laws by likely counts: the same quantiles as by all counts, and nothing where what is left out decides."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb

from fedtheory.claims.balls import Undecided, ball, working_precision
from fedtheory.evidence.judge import judge
from fedtheory.functionals import CHECKED_EMPIRICAL_GAP, CHECKED_EXCESS, DISAGREEMENT_DEFICIT, POOLED_SOURCE_EXCESS
from fedtheory.papers import claim
from fedtheory.papers.safari.counterexamples import fair_coin
from fedtheory.papers.safari.examples import likely_counts
from fedtheory.papers.safari.examples.learning_problems import Pooled
from fedtheory.subjects.protocol import Instance

FUNCTIONALS = (CHECKED_EMPIRICAL_GAP, CHECKED_EXCESS, DISAGREEMENT_DEFICIT, POOLED_SOURCE_EXCESS)


def biased(samples: int, share: Fraction) -> Pooled:
    """Two points labelled 0 and 1, of which the server sees both, and the hypotheses 00 and 01."""
    none = Fraction(0)
    law = ((1 - share, none), (none, share))
    return Pooled(((0, 0), (0, 1)), law, ((Fraction(1), none), (none, none)), samples, samples // 4)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 30), Fraction(9, 10)])
def test_quantiles_are_those_of_all_counts(share: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 to 10^3 samples at confidences from 1/2 to 10^-9, which is above what is left out, 2 e^-32."""
    for samples in (10, 300, 1000):
        for confidence in (Fraction(1, 2), Fraction(1, 11), Fraction(1, 10**9)):
            constants = {"confidence": confidence}
            exact = [biased(samples, share).left(f, constants) for f in FUNCTIONALS]
            with monkeypatch.context() as few:
                few.setattr(likely_counts, "LARGEST_EXACT", 0)
                assert [biased(samples, share).left(f, constants) for f in FUNCTIONALS] == exact


@pytest.mark.parametrize(("trials", "p"), [(400, Fraction(1, 2)), (1000, Fraction(1, 100)), (90, Fraction(2, 3))])
def test_counts_and_what_is_left_out(trials: int, p: Fraction) -> None:
    exact = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    with working_precision():
        counts = dict(likely_counts.likely_counts(trials, p))
        for k, weight in counts.items():
            assert weight.overlaps(ball(exact[k])) and weight.rel_accuracy_bits() > 150
        assert ball(1 - sum(exact[k] for k in counts)) < 2 * arb(-2 * likely_counts.DEVIATIONS).exp()


def test_what_is_left_out_may_decide() -> None:
    """A confidence below what is left out tells nothing, and a probability that may lie on either side of it."""
    with working_precision():
        law = likely_counts.LikelyLaw((Fraction(0), Fraction(1)), (arb("0.9"), arb("0.1")), arb("1e-3"))
        assert law.quantile("1/5") == 0 and law.quantile("1/20") == 1
        for confidence in ("1/10000", "1005/10000"):
            with pytest.raises(Undecided, match="quantile"):
                law.quantile(confidence)
        assert law.quantile("102/1000") == 0 and law.quantile("99/1000") == 1


def test_too_many_samples_are_refused() -> None:
    problem = biased(10**12, Fraction(1, 2))
    with pytest.raises(ValueError, match="tables of counts: allowed is at most"):
        problem.check()
    with pytest.raises(ValueError, match="tables of counts: allowed is at most"):
        problem.left(CHECKED_EMPIRICAL_GAP, {"confidence": Fraction(1, 2)})


def test_what_is_undecided_refutes_nothing() -> None:
    """A confidence far below what is left out: the judgement says why, and replaying the instance fails in one line."""
    statement = claim("safari.lemma2")
    point = fair_coin(statement, 10**4)
    tiny = replace(point, constants=point.constants | {"confidence": Fraction(1, 10**30)})
    reading = judge(Instance(statement.ref, tiny)).readings[0]
    assert not reading.refutes and "within sqrt(16 n)" in reading.undecided
