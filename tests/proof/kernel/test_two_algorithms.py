"""False theorems that parameters, regions and contexts have to keep out: each was made before they did."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from fedtheory.papers import claim
from fedtheory.papers.fast.proofs import thm1_thm2
from fedtheory.papers.fast.proofs.kinds_of_round import RING as FAST
from fedtheory.papers.fast.proofs.thm2_curved import strongly_convex
from fedtheory.papers.li2020.proofs import thm1_to_thm3 as li
from fedtheory.proof import checker
from fedtheory.proof.algorithm_match import built_in
from fedtheory.proof.claim_goals import Goal
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, NOISE, OPTIMUM, START_POINT, Axioms, at
from fedtheory.proof.kernel.client_means import MeanAxioms
from fedtheory.proof.kernel.forms import Atom, Term, Vector, square
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import FINAL_DISTANCE
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.step_run_bounds import iterate_decaying_steps
from fedtheory.proof.kernel.tactics import of_runs, over_rounds
from fedtheory.proof.kernel.theorems import Refused, Theorem, combine, induct, instantiate, over_clients
from fedtheory.proof.kernel.weighted_rounds import ROUND_NOISE, WeightedRounds
from fedtheory.proof.kernel.weighted_run_bounds import telescope_weights
from fedtheory.proof.translate.claim_bounds import MadeBound

RING = Ring("k K c n eta G L s")
k, K, c, n, eta, G, L, s = RING.symbols
WHERE = Where(RING, (
    Condition("K", "count"), Condition("c", "positive"), Condition("n", "count"), Condition("eta", "positive"),
    Condition("L", "positive"), *(Condition(name, "nonnegative") for name in ("G", "s")),
))  # fmt: skip


def _vector(ring: Ring, atom: Atom) -> Vector:
    return Vector(ring, {Term("", atom): ring.number(1)})


def _no_noise() -> Theorem:
    """-sigma^2 >= 0, of weights whose scale is -1."""
    bound = WeightedRounds(WHERE, eta, c, n).noise_bound(s, RING.number(-1))
    made = combine([(bound, n / K)], where=WHERE, context="start", squares=[(_vector(RING, ROUND_NOISE), "", n / K)])
    return combine([(made, 1)], where=WHERE, context="start")


def test_what_follows_of_an_algorithm_keeps_its_parameters() -> None:
    made = _no_noise()
    assert dict(made.parameters)["scale"] == -1
    assert checker.check(saved(made)) == 3


def test_the_checker_keeps_parameters_too() -> None:
    data = saved(_no_noise())
    del data["theorems"][-1]["parameters"]["scale"]
    with pytest.raises(checker.Wrong, match="parameters"):
        checker.check(data)


def _everybody_near() -> Theorem:
    """(P - 1) |x - x*|^2 + B >= 0 from P |x - x*|^2 + B - E|x+ - x*|^2 >= 0, and weighted rounds with c = 0."""
    theorem = strongly_convex()
    stays = WeightedRounds(theorem.where, FAST["eta"], FAST.number(0), FAST.number(1))
    x, after, best = (_vector(FAST, atom) for atom in (START_POINT, NEXT, OPTIMUM))
    return combine([(theorem, 1), (stays.round(after + x - best * 2), 1)], where=theorem.where, context="start")


def test_theorems_on_rounds_that_end_in_different_ways_do_not_combine() -> None:
    with pytest.raises(Refused, match="two algorithms"):
        _everybody_near()


def test_the_checker_combines_no_two_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedtheory.proof.kernel.theorems.of_one_algorithm", lambda parameters: True)
    with pytest.raises(checker.Wrong, match="two algorithms"):
        checker.check(saved(_everybody_near()))


def _of_the_run() -> Theorem:
    """2 G^2 - E|grad F_i(x)|^2 >= 0 over the run, of steps of size 0."""
    still, means = Axioms(WHERE, RING.number(0), n, "run"), MeanAxioms(WHERE, RING.number(0))
    x, y, later = (still.vector(a) for a in (START_POINT, ITERATE, at(ITERATE, 1)))
    g, first = still.gradient(ITERATE), still.gradient(START_POINT)
    stays = combine([(still.local_step(y + later - x * 2), -1)], where=WHERE, context="run")
    nowhere = combine([], where=WHERE, context="run")
    path = induct(nowhere, stays, -square(y - x), RING.number(1))
    bound = combine([(means.stochastic_gradient(G**2), 1), (still.unbiased(g), 2)], where=WHERE, context="run",
                    squares=[(still.vector(NOISE), "", 1)])  # fmt: skip
    return combine([(bound, 2), (still.smooth(ITERATE, START_POINT, L), 2), (path, 2 * L**2)], where=WHERE,
                   context="run", squares=[(2 * g - first, "", 1)])  # fmt: skip


def test_what_holds_over_the_run_says_nothing_of_a_cohort_that_is_given() -> None:
    theorem = _of_the_run()
    assert not any(atom.stage for term in theorem.form.terms for atom in (term.atom,))
    with pytest.raises(Refused, match="whole run"):
        over_clients(theorem, "S")
    data = saved(over_clients(theorem, "M"))
    data["theorems"][-1] |= {"arguments": {"binder": "S"}, "context": "cohort"}
    for entry, _ in data["theorems"][-1]["form"]:
        if entry[0] == "product":
            entry[1] = entry[1].replace("M", "S")
    with pytest.raises(checker.Wrong, match="whole run"):
        checker.check(data)


def _in_01(ring: Ring) -> tuple[Condition, ...]:
    return Condition("k", "interval", ring.number(1)), Condition("K", "count")


def test_a_region_has_no_condition_on_the_step() -> None:
    """Else 1 - k >= 0, whose sum over k < K is not."""
    with pytest.raises(ValueError, match="k: allowed is no condition"):
        Where(RING, _in_01(RING))
    data = saved(combine([], where=WHERE, context="start", constant=s))
    data["regions"][0].insert(0, ["k", "interval", data["theorems"][0]["arguments"]["constant"]])
    with pytest.raises(checker.Wrong, match="k is any step"):
        checker.check(data)


def test_a_parameter_of_a_region_is_no_letter() -> None:
    """Else K = k + 1 + K_, and K - 1 - K_ >= 0 for every K_."""
    with pytest.raises(ValueError, match="K_ is a name of the ring"):
        Where(Ring("k K K_"), (Condition("K", "count"), Condition("K_", "nonnegative")))


@pytest.mark.parametrize("share", [FAST.number(0), 1 / (2 * FAST["m"])])
def test_a_share_that_is_put_in_is_not_that_of_any_uniform_cohort(share: Scalar) -> None:
    theorem = strongly_convex()
    made = instantiate(theorem, {"share": share}, theorem.where)
    letters, this = thm1_thm2.LETTERS | of_runs(FINAL_DISTANCE), claim("fast.thm2@wide")
    for of, wrong in ((made, True), (theorem, False)):
        origin = MadeBound(lambda of=of: over_rounds(of, FINAL_DISTANCE), letters, FINAL_DISTANCE, of_rounds=True)
        goal = origin.check(this, "fast", built_in).goal
        assert any("share" in why for why in goal._parameters(origin.bound)) == wrong
        assert (origin.of_claim(this, "fast", built_in) is None) == wrong


@pytest.mark.parametrize("share", [li.mu, li.RING.number(1), li.s * li.mu])
def test_the_share_of_a_draw_is_that_of_its_law(share: Scalar) -> None:
    """Else mu is read as 1/S at a round's end, which bounds what is drawn without 1/mu^2."""
    end = instantiate(li.end_of_draw(), {"share": share}, li.WHERE)
    made = iterate_decaying_steps(li.one_step(), end, li.RUNS, "R", "d", "t")
    assert not Goal(claim("li2020.thm2"), li._LETTERS, li.RUNS, None).drawn(made)


def test_the_share_of_a_draw_is_the_same_at_every_step() -> None:
    """Else k <= K - 1 bounds what is drawn by nothing where K = 1."""
    with pytest.raises(Refused, match="share k"):
        li.MEANS.spread_of_draw(li.k)
    with pytest.raises(Refused, match="share k"):
        li.MEANS.drawn_mean(li.AXIOMS.vector(OPTIMUM), li.k)
    with pytest.raises(Refused, match="clients k"):
        li.MEANS.uncorrelated_clients(li.k + 1)
    data = saved(li.MEANS.spread_of_draw(li.n))
    text = json.dumps(data).replace(json.dumps(_text(li.n)), json.dumps(_text(li.k)))
    with pytest.raises(checker.Wrong, match="the same at every step"):
        checker.check(json.loads(text))


def _text(letter: Scalar) -> list:
    return [[[int(name == str(letter)) for name in letter.ring.names], "1"]]


def test_a_theorem_on_other_rounds_is_none_on_weighted_updates() -> None:
    with pytest.raises(ValueError, match="allowed are letters for E and Q"):
        telescope_weights(thm1_thm2.nonconvex(), thm1_thm2.RING, "R", "gap", "weight_scale")


def _calls() -> list[Callable[[], Theorem]]:
    return [_no_noise, _of_the_run]


@pytest.mark.parametrize("make", _calls())
def test_what_is_true_still_passes(make: Callable[[], Theorem]) -> None:
    checker.check(saved(make()))
