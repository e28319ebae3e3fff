"""Bounds on runs from theorems on a step: they are what the recursion over all steps gives, each unsound neighbour is
refused, by the checker too, and no word of a claim may change."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction as F
from functools import cache
from typing import Any

import pytest

from fedtheory.claims.statement import Term
from fedtheory.papers.khaled2020.proofs import thm1 as khaled
from fedtheory.papers.li2020.proofs import thm1_to_thm3 as li
from fedtheory.papers.proofs import chain
from fedtheory.proof import checker
from fedtheory.proof.chains import GOAL
from fedtheory.proof.claim_goals import Goal, claim_data
from fedtheory.proof.claim_theorems import ClaimTheorem
from fedtheory.proof.kernel import step_run_bounds
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, OPTIMUM
from fedtheory.proof.kernel.client_means import LAST, MeanAxioms, one_step, round_end
from fedtheory.proof.kernel.forms import STEP, Form
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import RunBound, restrict, weaken
from fedtheory.proof.kernel.saved_claims import digest, saved_claim
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.step_run_bounds import bound_gap, iterate_decaying_steps, iterate_steps
from fedtheory.proof.kernel.theorems import Refused, Theorem, combine, instantiate, over_clients
from fedtheory.quantities import symbols

REFS = ("khaled2020.thm1@main", *(f"li2020.thm{number}@{edition}" for number, edition in li.EDITIONS))
ENDS = {1: li.end_of_all, 2: li.end_of_draw, 3: li.end_of_draw}


@cache
def check_of(ref: str) -> ClaimTheorem:
    (found,) = (c for d in chain(ref).decisions if d.step.name == GOAL for c in d.step.checks)
    return found


def geometric() -> RunBound:
    return iterate_steps(khaled.one_step(), khaled.round_end(), khaled.RUNS, "R", "d", "power")


def decaying(end: Callable[[], Theorem] = li.end_of_draw) -> RunBound:
    return iterate_decaying_steps(li.one_step(), end(), li.RUNS, "R", "d", "t")


# models ---------------------------------------------------------------------------------------------------------------


def points(where: Where, given: tuple[Scalar, ...], count: int) -> Iterator[dict[str, F]]:
    """Points of a region, at which all that is given holds, with few rounds and steps."""
    draw = random.Random(1)
    zero = dict.fromkeys(where.ring.names, F(0))
    while count:
        at: dict[str, F] = {}
        for condition in reversed(where.conditions):
            limit = None if condition.bound is None else condition.bound.at({**zero, **at})
            part = F(draw.randint(1, 8), 8)
            if condition.kind == "count":
                at[condition.name] = F(draw.randint(1, 3))
            elif condition.kind == "at_least":
                at[condition.name] = limit + draw.choice((F(0), part, 20 * part))
            else:
                at[condition.name] = part * (2 if limit is None else limit)
        if all(g.at({**zero, **at}) >= 0 for g in given):
            count -= 1
            yield {**zero, **at}


def worst(step: Theorem, end: Theorem, point: dict[str, F]) -> F:
    """The largest A after R rounds that the theorems allow: each step is one of the recursion, with equality."""
    (factor, added), more = one_step(step), round_end(end)
    now, names = point["d"] ** 2, step.where.ring.names
    for r in range(int(point["R"])):
        at = {**{n: point[n] for n in names}, "t": r * point["K"]}
        for j in range(int(point["K"])):
            now = factor.at({**at, STEP: F(j)}) * now + added.at({**at, STEP: F(j)})
        now += more.at(at)
    return now


def test_equal_steps_are_bounded_by_what_the_recursion_gives() -> None:
    bound = geometric()
    for point in points(bound.where, (), 10):
        power = bound.definitions[0].of.at(point) ** int(point["K"] * point["R"])
        assert worst(khaled.one_step(), khaled.round_end(), point) == bound.bound.at({**point, "power": power})


@pytest.mark.parametrize(("end", "least"), [(li.end_of_all, F(4, 5)), (li.end_of_draw, F(3, 5))])
def test_decaying_steps_are_bounded_by_more_than_the_recursion_gives(end: Callable[[], Theorem], least: F) -> None:
    """The run that the theorems allow is below the bound, and near it; what a round's end adds is counted at every
    step."""
    bound, near = decaying(end), F(0)
    for point in points(bound.where, bound.given, 60):
        seen = worst(li.one_step(), end(), point) / bound.bound.at(point)
        assert seen <= 1
        near = max(near, seen)
    assert near > least


@pytest.mark.parametrize("ref", REFS)
def test_every_claim_is_above_the_worst_run(ref: str) -> None:
    """At points of the claim's region the recursion is below its right side."""
    bound, number = check_of(ref).bound, int(ref[len("khaled2020.thm")] if ref.startswith("k") else ref[10])
    assert bound is not None
    khaleds = ref.startswith("khaled2020")
    step, end = (khaled.one_step(), khaled.round_end()) if khaleds else (li.one_step(), ENDS[number]())
    for point in points(bound.where, bound.given, 15):
        at = dict(point)
        if not khaleds:
            at["s"] = point["shift"] + (0 if ref.endswith("from_0") else 1)
            at["share"] = dict(bound.parameters).get("share", 0 * bound.bound).at(point)
            assert worst(step, end, at) * point["L"] / 2 <= bound.bound.at(point)
        else:
            power = bound.definitions[0].of.at(point) ** int(point["K"] * point["R"])
            assert worst(step, end, at) <= bound.bound.at({**point, "power": power})


# unsound neighbours ---------------------------------------------------------------------------------------------------


def adding() -> Theorem:
    """|x+ - x*|^2 <= |X_K - x*|^2 + sigma^2: true, and more than nothing at a round's end."""
    return combine([(khaled.round_end(), 1)], where=khaled.WHERE, context="run", constant=khaled.sigma**2)


def another_end(step: Scalar) -> Theorem:
    """A round's end of an algorithm with another step size."""
    x, last = (khaled.AXIOMS.vector(atom) for atom in (NEXT, LAST))
    whole = x + last.under("M") - khaled.AXIOMS.vector(OPTIMUM) * 2
    return combine([(MeanAxioms(khaled.WHERE, step).everyone(whole), -1)], where=khaled.WHERE, context="run")


def standing() -> Theorem:
    """A_{k+1} <= A_k + what a step adds: true, and no contraction."""
    return combine([(khaled.one_step(), 1)], where=khaled.WHERE, context="run",
                   squares=[(khaled._D, "", khaled.mu * khaled.eta)])  # fmt: skip


def late() -> Theorem:
    """A step of the rounds that begin with step 100 or later."""
    conditions = (Condition("t", "at_least", li.RING.number(100)) if c.name == "t" else c for c in li.WHERE.conditions)
    return instantiate(li.one_step(), {}, Where(li.RING, tuple(conditions)))


def late_end() -> Theorem:
    return instantiate(li.end_of_draw(), {}, late().where)


def slower() -> Theorem:
    """A step with 1 - 1/(s + t + k) for 1 - 2/(s + t + k), and the same added: true, and of another form."""
    return combine([(li.one_step(), 1)], where=li.WHERE, context="run", squares=[(li._D, "", li.mu * li.eta / 2)])


def growing() -> Theorem:
    """A step to which more is added, the same at every step."""
    return combine([(li.one_step(), 1)], where=li.WHERE, context="run", constant=li.G**2)


def of_share(share: Scalar) -> Theorem:
    return instantiate(li.end_of_draw(), {"share": share}, li.WHERE)


def rising_noise() -> Theorem:
    """The same step, with noise that may be larger in each step than in the one before: so it is of that step alone."""
    noise = over_clients(khaled.AXIOMS.variance((1 + khaled.k) * khaled.sigma**2), "M")
    return combine([(khaled.one_step(), 1), (noise, 0)], where=khaled.WHERE, context="run")


def on_average() -> Theorem:
    """|x_own - x*|^2 and so on: no theorem of F(x) given a round's start."""
    return li.moved()


UNSOUND: dict[str, tuple[str, Callable[[], RunBound]]] = {
    "more at a round's end": (
        "nothing more at a round's end",
        lambda: iterate_steps(khaled.one_step(), adding(), khaled.RUNS, "R", "d", "power"),
    ),
    "a round's end of another algorithm": (
        "vectors of two algorithms: local_lr",
        lambda: iterate_steps(khaled.one_step(), another_end(khaled.eta / 2), khaled.RUNS, "R", "d", "power"),
    ),
    "a factor of 1": (
        "not certified to be in [0, 1)",
        lambda: iterate_steps(standing(), khaled.round_end(), khaled.RUNS, "R", "d", "power"),
    ),
    "steps that are not equal": (
        "not certified to be in [0, 1)",
        lambda: iterate_steps(li.one_step(), li.end_of_all(), li.RUNS, "R", "d", "N"),
    ),
    "noise that changes with the steps": (
        "allowed is what is the same at every step",
        lambda: iterate_steps(rising_noise(), khaled.round_end(), khaled.RUNS, "R", "d", "power"),
    ),
    "a letter of the theorems for the rounds": (
        "different letters",
        lambda: iterate_steps(khaled.one_step(), khaled.round_end(), khaled.RUNS, "K", "d", "power"),
    ),
    "a step of late rounds": (
        "rounds begin at any step",
        lambda: iterate_decaying_steps(late(), late_end(), li.RUNS, "R", "d", "t"),
    ),
    "a first step that is no letter of its own": (
        "rounds begin at any step",
        lambda: iterate_decaying_steps(li.one_step(), li.end_of_draw(), li.RUNS, "R", "d", "K"),
    ),
    "a slower decay": (
        "allowed are 1 - 2/(s + t + k)",
        lambda: iterate_decaying_steps(slower(), li.end_of_draw(), li.RUNS, "R", "d", "t"),
    ),
    "as much in every step": (
        "allowed are 1 - 2/(s + t + k)",
        lambda: iterate_decaying_steps(growing(), li.end_of_draw(), li.RUNS, "R", "d", "t"),
    ),
    "equal steps for decaying ones": (
        "rounds begin at any step",
        lambda: iterate_decaying_steps(khaled.one_step(), khaled.round_end(), khaled.RUNS, "R", "d", "sigma_G"),
    ),
    "a share that changes from round to round": (
        "allowed are 1 - 2/(s + t + k)",
        lambda: decaying(lambda: of_share(li.t)),
    ),
    "a theorem of the run for one of F": ("allowed is a |x - x*|^2", lambda: bound_gap(decaying(), on_average())),
    "a gap of a gap": ("final_squared_distance", lambda: bound_gap(bound_gap(decaying(), li.gap()), li.gap())),
    "s >= 2 is dropped": ("neither given nor certified", lambda: restrict(decaying(), decaying().where)),
    "one number of steps for all": (
        "allowed are letters that are not defined",
        lambda: restrict(decaying(), decaying().where, {"K": li.RUNS.number(1)}, decaying().given),
    ),
    "a step that is the first one, for all": (
        "allowed are letters that are not defined",
        lambda: restrict(decaying(), decaying().where, {"t": li.RUNS.number(0)}, decaying().given),
    ),
    "a number of rounds below a power": (
        "allowed are letters that are not defined",
        lambda: restrict(geometric(), geometric().where, {"R": khaled.RUNS.number(1)}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_it_refuses(name: str) -> None:
    says, make = UNSOUND[name]
    with pytest.raises((Refused, ValueError), match=re.escape(says)):
        make()


def refusal(data: dict[str, Any]) -> str:
    try:
        checker.check(copy.deepcopy(data))
    except checker.Wrong as wrong:
        return str(wrong)
    return ""


def written(bound: RunBound) -> dict[str, Any]:
    return json.loads(json.dumps(saved_claim(bound, {}, {})))


def _any_algorithm(found: Mapping, given: Mapping) -> dict:
    return {**found, **given}


def _nothing_more(step: Theorem, end: Theorem) -> tuple[Scalar, Scalar, Scalar]:
    return *one_step(step), 0 * round_end(end)


def _half(theorem: Theorem) -> Scalar:
    return step_run_bounds_gap(theorem) / 2


step_run_bounds_gap = step_run_bounds._of_gap

PLANTED: dict[str, tuple[str, Any, Callable[[], RunBound]]] = {
    "any algorithm": ("joined", _any_algorithm, UNSOUND["a round's end of another algorithm"][1]),
    "nothing is added at a round's end": ("_recursion", _nothing_more, UNSOUND["more at a round's end"][1]),
    "what draws add is left out": ("_recursion", _nothing_more, decaying),
    "half of a gap": ("_of_gap", _half, lambda: bound_gap(decaying(), li.gap())),
}
"""Rules of the kernel that are made unsound: the function, what stands in its place, and what is then made."""


@pytest.mark.parametrize("name", PLANTED)
def test_the_checker_refuses_what_an_unsound_kernel_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, relapse, make = PLANTED[name]
    monkeypatch.setattr(step_run_bounds, function, relapse)
    assert refusal(written(make())).startswith("bound ")


def test_the_checker_asks_for_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that certifies everything makes a bound from what grows; the checker does not."""
    more = combine([(standing(), 1)], where=khaled.WHERE, context="run", squares=[(khaled._D, "", khaled.eta)])
    monkeypatch.setattr(Where, "certifies", lambda *_: True)
    monkeypatch.setattr(Where, "never_zero", lambda *_: True)
    monkeypatch.setattr(Where, "defines", lambda *_: True)
    made = written(iterate_steps(more, khaled.round_end(), khaled.RUNS, "R", "d", "power"))
    assert re.match(r"bound \d+: ", refusal(made))


def test_the_checker_puts_no_number_of_steps_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what holds of one step a round would be said of any number of them."""
    monkeypatch.setattr("fedtheory.proof.kernel.run_bounds.STEPS", STEP)
    one, two = {"K": li.RUNS.number(1)}, Condition("s", "at_least", li.RUNS.number(2))
    where = Where(li.RUNS, tuple(two if c.name == "s" else c for c in decaying().where.conditions if c.name != "K"))
    made = restrict(decaying(), where, one, [g.replace(one) for g in decaying().given])
    assert "K" not in made.bound.names
    assert "no exponent" in refusal(written(made))


# the claims -----------------------------------------------------------------------------------------------------------


def test_the_checker_puts_no_number_of_a_step_in() -> None:
    """Else what is left by steps that decay would be said of steps that are all as large as the first one."""
    data = written(restrict(decaying(), decaying().where, {}, decaying().given))
    zero = {"top": [], "bottom": [[[0] * len(data["names"]), "1"]]}
    data["bounds"][-1]["arguments"]["values"] = {"t": zero}
    assert "no step's number" in refusal(data)


@pytest.mark.parametrize("ref", REFS)
def test_the_checker_alone_follows_to_the_claim(ref: str) -> None:
    data = json.loads(check_of(ref).text())
    said = checker.in_words(data)
    assert ref in said and all(term in said for term in data["claim"]["terms"].values())
    assert all(hypothesis in said for hypothesis in data["claim"]["hypotheses"].values())


@cache
def read_of(ref: str) -> tuple[Any, dict[str, Any]]:
    data = json.loads(check_of(ref).text())
    return checker.proof_of(data).claim, data


def wrong(ref: str, letters: dict[str, str], claim: dict[str, Any]) -> str:
    proof, data = read_of(ref)
    checker.LEFT["work"] = checker.LARGEST["work"]
    try:
        proof.read(letters, claim, digest(letters, claim), data["roots"])
    except checker.Wrong as error:
        return str(error)
    return ""


@pytest.mark.parametrize("ref", ["khaled2020.thm1@main", "li2020.thm1@appendix", "li2020.thm3@main"])
def test_no_digit_and_no_quantity_of_the_claim_may_change(ref: str) -> None:
    _, data = read_of(ref)
    letters, claim = data["letters"], data["claim"]
    assert not wrong(ref, letters, claim)
    tried = 0
    for part in ("terms", "hypotheses", "choices"):
        for name, text in claim[part].items():
            changed = [text[: m.start()] + str(int(m[0]) % 9 + 1) + text[m.end() :] for m in re.finditer(r"\d", text)]
            inside = {*re.findall(r"[a-z_]+", text)} & {*letters.values()}
            others = sorted(letters.values())
            changed += [re.sub(rf"\b{old}\b", new, text) for old in sorted(inside) for new in others if new != old]
            for new in changed:
                assert wrong(ref, letters, claim | {part: claim[part] | {name: new}}).startswith("claim"), (name, new)
                tried += 1
    assert tried > 60


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "not everyone": lambda claim: claim["hypotheses"].pop("everyone", claim["assumptions"].remove("independent_draws")
                                                          if "independent_draws" in claim["assumptions"] else None),
    "no first step": lambda claim: claim["hypotheses"].pop("first_step"),
    "no slow decay": lambda claim: claim["hypotheses"].pop("slow_decay"),
    "another algorithm": lambda claim: claim.update(algorithm="local_sgd"),
    "rounds of weighted updates": lambda claim: claim.update(algorithm="fedau"),
    "no choice": lambda claim: claim["choices"].clear(),
    "drawn by weight": lambda claim: claim["readings"].update(cohort="S with replacement by p_k")
    if "everyone" in claim["hypotheses"] or "S without" in claim["readings"]["cohort"]
    else claim["readings"].update(cohort="everyone"),
    "no noise": lambda claim: claim["assumptions"].remove("unbiased_noise"),
    "no bound on gradients": lambda claim: claim["assumptions"].remove("bounded_stochastic_gradients(gradient_bound)"),
    "the final distance": lambda claim: claim.update(functional="final_squared_distance"),
}  # fmt: skip


@pytest.mark.parametrize("ref", ["li2020.thm1@main", "li2020.thm2@from_0", "li2020.thm3@main"])
@pytest.mark.parametrize("change", CHANGES)
def test_no_other_claim_passes(change: str, ref: str) -> None:
    _, data = read_of(ref)
    claim = copy.deepcopy(data["claim"])
    CHANGES[change](claim)
    assert wrong(ref, data["letters"], claim).startswith("claim")


def goal_of(ref: str, **changed: Any) -> tuple[str, ...]:
    """What the kernel's goal finds in the way of a changed claim."""
    check = check_of(ref)
    assert check.bound is not None
    return tuple(replace(check, claim=replace(check.claim, **changed)).goal.differences(check.bound))


def hypotheses(ref: str, without: str) -> tuple:
    return tuple(h for h in check_of(ref).claim.hypotheses if h.name != without)


def test_the_goal_asks_who_takes_part() -> None:
    for ref in ("khaled2020.thm1@main", "li2020.thm1@main"):
        assert "everyone takes part" in " ".join(goal_of(ref, hypotheses=hypotheses(ref, "everyone")))
    two, three = (check_of(f"li2020.thm{n}@main") for n in (2, 3))
    assert two.bound is not None and three.bound is not None
    swapped = " ".join(three.goal.differences(two.bound))
    assert "share" in swapped or "cohort" in swapped
    other = replace(three, rounds=two.rounds)
    assert "drawn" in " ".join(other.goal.differences(three.bound))


def test_the_goal_asks_how_steps_decay() -> None:
    ref = "li2020.thm1@main"
    faster = {"local_lr": check_of(ref).claim.choices["local_lr"] * 2}
    assert "local_lr" in " ".join(goal_of(ref, choices=faster))
    assert goal_of(ref, hypotheses=hypotheses(ref, "first_step"))
    assert goal_of(ref, hypotheses=hypotheses(ref, "slow_decay"))


def at_most(d: Any, L: Any, mu: Any, K: Any, n: Any, sigma: Any) -> tuple:
    """What equal steps of at most 1/(4 L) leave at most: the start's distance, and what noise adds."""
    return d**2, sigma**2 / (4 * L * mu * n) + sigma**2 * (K - 1) / (8 * L * mu)


def test_a_bound_for_equal_steps_is_none_for_steps_by_a_rule() -> None:
    """It holds for each step size of the rule, if that is the size of all steps."""
    check, ring = check_of("khaled2020.thm1@main"), Ring(" ".join((*khaled.RUNS.names, "t")))
    equal = iterate_steps(khaled.one_step(), khaled.round_end(), ring, "R", "d", "power")
    where = Where(ring, tuple(Condition("t", "nonnegative") if c.name == "eta" else c for c in equal.where.conditions))
    by_rule = restrict(equal, where, {"eta": 1 / (4 * ring["L"] * (ring["t"] + 1))})
    made = weaken(by_rule, sum(at_most(*(ring[name] for name in ("d", "L", "mu", "K", "n", "sigma"))), ring.number(0)))
    names = "smoothness", "step_index", "initial_distance", "strong_convexity", "local_steps", "clients"
    L, t, *others = symbols(*names, "gradient_noise")
    terms = tuple(Term(name, e) for name, e in zip("ab", at_most(others[0], L, *others[1:]), strict=True))
    mine = replace(check.claim, terms=terms, hypotheses=hypotheses("khaled2020.thm1@main", "step_cap"),
                   choices={"local_lr": 1 / (4 * L * (t + 1))})  # fmt: skip
    letters = {n: q for n, q in check.goal.letters.items() if n != "eta"} | {"t": "step_index"}
    goal = Goal(mine, letters, ring, check.goal.rounds)
    assert [*goal.differences(made)] == ["its steps are of one size, and the claim's of several"]
    data = json.loads(json.dumps(saved_claim(made, letters, claim_data(mine, {}, "local_sgd"))))
    assert "a bound for steps of one size" in refusal(data)


def test_no_other_paper_is_needed() -> None:
    """The claims are the kernel's theorems, without a step of a printed proof."""
    for ref in REFS:
        assert [d.step.name for d in chain(ref).decisions] == [GOAL] and chain(ref).verdict == "proved"


def test_a_form_of_the_kernel_is_what_is_followed() -> None:
    """The theorem on a step is on the mean of all clients' iterates, not on one client's."""
    one = combine([], where=khaled.WHERE, context="run")
    with pytest.raises(Refused, match="is left over"):
        iterate_steps(one, khaled.round_end(), khaled.RUNS, "R", "d", "power")
    assert Form(khaled.RING, {}) == one.form and ITERATE.client


def test_the_claim_of_another_step_count_is_refused() -> None:
    """P^R for P^(K R) is smaller for K > 1, and another number for the checker too."""
    ref = "khaled2020.thm1@main"
    _, data = read_of(ref)
    claim: dict[str, Any] = copy.deepcopy(data["claim"])
    for name, text in claim["terms"].items():
        claim["terms"][name] = text.replace("**(local_steps*rounds)", "**rounds")
    assert claim != data["claim"] and wrong(ref, data["letters"], claim).startswith("claim")
