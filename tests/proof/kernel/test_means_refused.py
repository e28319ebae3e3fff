"""What the kernel and the checker must refuse of the mean of all clients' paths."""

from __future__ import annotations

import json

import pytest

from fedtheory.papers.khaled2020.proofs import thm1 as of_khaled
from fedtheory.papers.li2020.proofs import thm1_to_thm3 as of_li
from fedtheory.papers.li2020.proofs.thm1_to_thm3 import AXIOMS, MEANS, RING, WHERE, K, L, k, moved, mu, s, share
from fedtheory.proof import checker
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, START_POINT, Axioms
from fedtheory.proof.kernel.client_means import MeanAxioms, one_step, round_end
from fedtheory.proof.kernel.forms import Form
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.theorems import combine, induct, instantiate, last_step, over_steps

_convex = Where(RING, tuple(Condition("mu", "nonnegative") if c.name == "mu" else c
                            for c in WHERE.conditions if c.name not in ("L",)))  # fmt: skip
x, x_next, last = AXIOMS.vector(START_POINT), AXIOMS.vector(NEXT), last_step(moved())
ONE = RING.number(1)

REFUSED = {
    "the least value of what need not have one": lambda: MeanAxioms(_convex, ONE).lowest(ITERATE, mu, L),
    "a heterogeneity of such": lambda: MeanAxioms(_convex, ONE).heterogeneity(L, mu),
    "a draw against what it makes": lambda: MEANS.drawn_mean(x_next, share),
    "a draw against a cohort's mean": lambda: MEANS.drawn_mean(AXIOMS.vector(ITERATE).under("S"), share),
    "a round of steps of several sizes": lambda: Axioms(WHERE, of_li.eta, ONE).round(x),
    "a step size put in that changes": lambda: instantiate(moved(), {"G": k}, WHERE),
    "what holds over the run, given a start": lambda: combine([(last, 1)], where=WHERE, context="start"),
    "of the run, about the start, given the start": lambda: combine(
        [(MEANS.optimal_along(x), 1)], where=WHERE, context="start"),
    "of a cohort in the run": lambda: Axioms(WHERE, ONE, ONE, "run").round(x),
    "a sum of steps with their sizes": lambda: over_steps(AXIOMS.local_step(x)),
    "a step's bound that fails at a later step": lambda: combine(
        [], where=WHERE, context="run", constant=(K - k - 1) * (1 - k)),
    "a step's bound that fails at the first step": lambda: combine(
        [], where=WHERE, context="run", constant=k - ONE / 9),
    "a reading of another form": lambda: one_step(moved()),
    "a round's end of another form": lambda: round_end(of_li.one_step()),
    "a reading of what is given a start": lambda: one_step(of_li.gap()),
    "an induction with a wrong start": lambda: induct(
        combine([], where=WHERE, context="run"), combine([], where=WHERE, context="run"), Form.constant(k - s), ONE),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    with pytest.raises(ValueError):
        REFUSED[what]()


def test_a_step_is_a_whole_number() -> None:
    """k (2 k - 1) >= 0 at k = 0 and from k = 1 on, though not between; the checker sees that too, and no more."""
    true = combine([], where=WHERE, context="run", constant=k * (2 * k - 1))
    data = json.loads(json.dumps(saved(true)))
    assert checker.check(data) == 1
    changed = json.loads(json.dumps(data).replace('"-1"', '"-5/2"'))
    assert changed != data
    with pytest.raises(checker.Wrong):
        checker.check(changed)


def test_the_checker_knows_whose_parameter_an_argument_is() -> None:
    """The share of a draw and the number of clients are the algorithm's: not another one in the axiom."""
    for make, rule, name in ((of_li.end_of_draw, "spread of draw", "share"),
                             (of_khaled.one_step, "uncorrelated clients", "clients")):  # fmt: skip
        data = json.loads(json.dumps(saved(make())))
        assert checker.check(data)
        (line,) = (one for one in data["theorems"] if one["rule"] == rule)
        line["arguments"][name] = {
            "top": line["arguments"][name]["bottom"],
            "bottom": line["arguments"][name]["bottom"],
        }
        with pytest.raises(checker.Wrong, match="a parameter and its argument"):
            checker.check(data)
