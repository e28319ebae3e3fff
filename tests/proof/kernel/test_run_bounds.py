"""Bounds on whole runs: each rule holds in models that are enumerated, refuses its unsound neighbours, and so does the
checker; a claim's proof carries the claim, and no number or letter of it may change."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction as F
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.papers.fast.proofs.kinds_of_round import RING, Kinds
from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex, nonconvex_corrected, strongly_convex
from fedtheory.papers.proofs import chain
from fedtheory.proof import checker
from fedtheory.proof.chains import GOAL
from fedtheory.proof.claim_goals import theorem_of
from fedtheory.proof.claim_theorems import ClaimTheorem
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_rules import average, contraction
from fedtheory.proof.kernel.run_bounds import (
    Definition,
    RunBound,
    enlarge,
    iterate,
    restrict,
    telescope,
    untouched,
    weaken,
)  # fmt: skip
from fedtheory.proof.kernel.saved_claims import digest, saved_claim
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.theorems import Refused, Theorem, combine

from .written import proof_in, why_no_claim

WIDE = Ring(" ".join([*RING.names, "rounds", "start", "power", "decay"]))
R, start, power, decay = (WIDE[name] for name in ("rounds", "start", "power", "decay"))
eta, q, K = WIDE["eta"], WIDE["q"], WIDE["K"]
CLAIMS = ("fast.thm2@sharper", "fast.thm2@corrected", "fast.thm1@corrected")


@cache
def check_of(ref: str) -> ClaimTheorem:
    (found,) = (c for d in chain(ref).decisions if d.step.name == GOAL for c in d.step.checks)
    return found


def links(bound: RunBound) -> list[RunBound]:
    """A bound and all that it is from, the first one first."""
    premise = bound.premise
    return [*(links(premise) if isinstance(premise, RunBound) else []), bound]


def iterated() -> RunBound:
    return iterate(strongly_convex(), WIDE, "rounds", "start", "power")


def dropped() -> RunBound:
    bound = iterated()
    return weaken(bound, power * start**2 + bound.bound.coefficients("power")[0])


def telescoped() -> RunBound:
    return telescope(nonconvex_corrected(), WIDE, "rounds", "start")


# models ---------------------------------------------------------------------------------------------------------------


def test_iterate_is_what_the_recursion_gives() -> None:
    """V(r + 1) = P V(r) + B is the largest run that the theorem allows; the bound is its value in every round."""
    of = iterated().definitions[0].of
    for point in points(iterated(), 4):
        factor, addition = (part.within(WIDE).at(point) for part in contraction(strongly_convex()))
        assert of.at(point) == factor
        value = point["start"] ** 2
        for r in range(1, 6):
            value = factor * value + addition
            assert value == iterated().bound.at({**point, "rounds": F(r), "power": factor**r})


def test_telescope_is_what_every_descent_obeys() -> None:
    """Of all falls G from a few numbers with F >= 0 in the end the mean is at most the bound, which some attain."""
    bound, attained = telescoped(), False
    for point in points(bound, 3):
        fall, addition = (part.within(WIDE).at(point) for part in average(nonconvex_corrected()))
        for slopes in itertools.product((0, 1, 4), repeat=3):
            first = sum(fall * g - addition for g in slopes)
            lowest = min(sum(fall * g - addition for g in slopes[r:]) for r in range(4))
            gap = first - lowest  # F falls to its least value in some round
            at = {**point, "rounds": F(3), "start": gap}
            mean = F(sum(slopes), 3)
            assert mean <= bound.bound.at(at)
            attained |= mean == bound.bound.at(at)
    assert attained


@pytest.mark.parametrize("ref", [*CLAIMS, "fast.thm2@sharp", "safari.thm5@sharper"])
def test_every_link_is_above_the_worst_run(ref: str) -> None:
    """At points of the claim's region, what the round's theorem allows is at most the right side of every link."""
    check = check_of(ref)
    assert check.bound is not None
    chained, theorem = links(check.bound), theorem_of(check.bound)
    assert isinstance(theorem, Theorem)
    tried = 0
    for point in points(check.bound, 4):
        worst = worst_of(theorem, point, chained)
        for bound in chained:
            assert worst <= value(bound, point) + F(1, 10**40)
            tried += 1
    assert tried >= 4 * 3


def worst_of(theorem: Theorem, point: Mapping[str, F], chained: list[RunBound]) -> F:
    at = {name: point.get(name, F(1)) for name in theorem.where.ring.names}
    for link in chained:
        if link.rule == "restrict":
            at |= {n: v.at(point) for n, v in link.arguments["values"].items() if n in at}
    if chained[0].functional == "final_squared_distance":
        factor, addition = (part.at(at) for part in contraction(theorem))
        now = point["initial_distance"] ** 2
        for _ in range(int(point["rounds"])):
            now = factor * now + addition
        return now
    fall, addition = (part.at(at) for part in average(theorem))
    return (point["initial_gap"] / point["rounds"] + addition) / fall


def value(bound: RunBound, point: Mapping[str, F]) -> F:
    """A lower bound of the right side, whose defined letters have factors >= 0 or are exact."""
    rounds = int(dict(bound.parameters)["rounds"].at(point))
    of = {d.name: d.of.at(point) for d in bound.definitions}
    at = {d.name: of[d.name] ** rounds if d.sort == "power" else least_exp(of[d.name]) for d in bound.definitions}
    return bound.bound.at({**point, **at})


def least_exp(x: F) -> F:
    """A number just below exp(-x), x >= 0: 1/(1 + x + x^2/2 + ...) with what is left out of the series bounded."""
    term, total = F(1), F(0)
    for j in range(1, 200):
        total, term = total + term, term * x / j
    assert x < 50
    return 1 / (total + 2 * term)


def points(bound: RunBound, count: int) -> Iterator[dict[str, F]]:
    """Points of a bound's region, at which all that is given holds, with a few rounds."""
    draw = random.Random(0)
    while count:
        at: dict[str, F] = {"k": F(0)}
        for condition in reversed(bound.where.conditions):
            limit = None if condition.bound is None else condition.bound.at({**dict.fromkeys(WIDE.names, F(0)), **at})
            part = F(draw.randint(1, 9), 9)
            if limit is None:
                at[condition.name] = F(draw.randint(1, 4)) if condition.kind == "count" else 2 * part
            elif condition.kind == "at_least":
                at[condition.name] = limit + part
            else:
                at[condition.name] = part * limit
        if all(given.at({**dict.fromkeys(bound.where.ring.names, F(0)), **at}) >= 0 for given in bound.given):
            count -= 1
            yield {**dict.fromkeys(bound.where.ring.names, F(0)), **at}


# unsound neighbours ---------------------------------------------------------------------------------------------------


def growing(more: int) -> Theorem:
    """E|x+ - x*|^2 <= P |x - x*|^2 + B with P >= 1: true, and no contraction."""
    theorem = strongly_convex()
    added = (1 - contraction(theorem)[0]) * more
    return combine(
        [(theorem, 1)], where=theorem.where, context="start", squares=[(Kinds(True).sgd.distance, "", added)]
    )


def without_fall(more: int) -> Theorem:
    """E F(x+) <= F(x) + (more - 1) c |grad F|^2 + B: true, and no descent."""
    theorem = nonconvex()
    fall, _ = average(theorem)
    return combine(
        [(theorem, 1)], where=theorem.where, context="start", squares=[(Kinds(False).gradient, "", fall * more)]
    )


def given_a_cap() -> RunBound:
    bound = dropped()
    return restrict(bound, bound.where, {}, [1 / (100 * WIDE["L"] * K) - eta])


def wider() -> Where:
    conditions = dropped().where.conditions
    doubled = (replace(c, bound=c.bound * 2) if c.name == "eta" and c.bound else c for c in conditions)
    return Where(WIDE, tuple(doubled))


def fall_of(bound: RunBound) -> Scalar:
    return 1 - bound.definitions[0].of


UNSOUND: dict[str, tuple[str, Callable[[], RunBound]]] = {
    "a factor of 1": (
        "not certified to be below 1",
        lambda: iterate(growing(1), WIDE, "rounds", "start", "power"),
    ),
    "a factor above 1": (
        "not certified to be in [0, 1]",
        lambda: iterate(growing(2), WIDE, "rounds", "start", "power"),
    ),
    "no fall": ("not certified to be > 0", lambda: telescope(without_fall(1), WIDE, "rounds", "start")),
    "a rise": ("not certified to be > 0", lambda: telescope(without_fall(2), WIDE, "rounds", "start")),
    "a theorem given the cohort": (
        "allowed is a theorem given",
        lambda: iterate(Kinds(True).sgd.path, WIDE, "rounds", "start", "power"),
    ),
    "a letter of the theorem for the rounds": (
        "different letters",
        lambda: iterate(strongly_convex(), WIDE, "K", "start", "power"),
    ),
    "a smaller right side": ("may be too small", lambda: weaken(dropped(), dropped().bound - power * start**2 / 10**9)),
    "a sum without its end": ("may be too small", lambda: weaken(iterated(), power * start**2)),
    "a multiplier below 0": ("multiplier", lambda: weaken(given_a_cap(), given_a_cap().bound, [-eta])),
    "more of what is given than there is": (
        "may be too small",
        lambda: weaken(given_a_cap(), given_a_cap().bound - start**2, [WIDE.number(1)]),
    ),
    "more of a square than there is": (
        "may be too small",
        lambda: weaken(given_a_cap(), given_a_cap().bound - start**2, (), [(WIDE.number(1), start)]),
    ),
    "a square times what may be below 0": (
        "multiplier",
        lambda: weaken(given_a_cap(), given_a_cap().bound, (), [(-eta, start)]),
    ),
    "a square that divides by what may be 0": (
        "divides by what may be 0",
        lambda: weaken(given_a_cap(), given_a_cap().bound, (), [(WIDE.number(1), 1 / start)]),
    ),
    "an exponent that is too large": (
        "may be smaller",
        lambda: enlarge(dropped(), "power", Definition("decay", "exponential", R * fall_of(dropped()) * F(101, 100))),
    ),
    "an exponent without the rounds' number": (
        "may be smaller",
        lambda: enlarge(dropped(), "power", Definition("decay", "exponential", 2 * fall_of(dropped()))),
    ),
    "a smaller base": (
        "may be smaller",
        lambda: enlarge(dropped(), "power", Definition("decay", "power", dropped().definitions[0].of * F(1, 2))),
    ),
    "a base above 1": (
        "not certified to be at most 1",
        lambda: enlarge(dropped(), "power", Definition("decay", "power", WIDE.number(2))),
    ),
    "an exponent below 0": (
        "not certified to be >= 0 on the region",
        lambda: enlarge(dropped(), "power", Definition("decay", "exponential", -R)),
    ),
    "a factor below 0": (
        "its factor is not certified",
        lambda: enlarge(iterated(), "power", Definition("decay", "exponential", R * fall_of(iterated()))),
    ),
    "a power for an exponential": (
        "no power",
        lambda: enlarge(
            enlarge(dropped(), "power", Definition("decay", "exponential", R * fall_of(dropped()))),
            "decay",
            Definition("power", "power", dropped().definitions[0].of),
        ),
    ),
    "a larger region": ("not certified on the region", lambda: restrict(dropped(), wider())),
    "a hypothesis that is dropped": (
        "neither given nor certified",
        lambda: restrict(given_a_cap(), given_a_cap().where),
    ),
    "another number of rounds below a power": (
        "allowed are letters",
        lambda: restrict(dropped(), dropped().where, {"rounds": 2 * R}),
    ),
    "one number of steps for all": (
        "allowed are letters",
        lambda: restrict(dropped(), dropped().where, {"K": WIDE.number(1)}),
    ),
    "a number for a power": (
        "allowed are letters",
        lambda: restrict(dropped(), dropped().where, {"power": WIDE.number(0)}),
    ),
    "a condition on a power": (
        "of which the region says nothing",
        lambda: restrict(dropped(), Where(WIDE, (Condition("power", "nonnegative"), *dropped().where.conditions))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_it_refuses(name: str) -> None:
    says, make = UNSOUND[name]
    with pytest.raises((Refused, ValueError), match=re.escape(says)):
        make()


def written(bound: RunBound) -> dict[str, Any]:
    """A bound's file, with a claim that says nothing; read from text, as a file is."""
    return json.loads(json.dumps(saved_claim(bound, {}, {})))


def refusal(data: dict[str, Any]) -> str:
    try:
        checker.check(copy.deepcopy(data))
    except checker.Wrong as wrong:
        return str(wrong)
    return ""


def signs_alone(name: str) -> bool:
    """Whether only signs are in the way, but for what divides by 0."""
    return name not in ("a factor of 1", "no fall") and UNSOUND[name][0] not in (
        "allowed is a theorem given", "different letters", "no power", "allowed are letters",
        "neither given nor certified", "of which the region says nothing",
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name in UNSOUND if signs_alone(name)])
def test_the_checker_refuses_what_a_kernel_without_signs_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that certifies everything makes the false bound; the checker says which theorem or bound it is."""
    make = UNSOUND[name][1]
    monkeypatch.setattr(Where, "certifies", lambda *_: True)
    monkeypatch.setattr(Where, "never_zero", lambda *_: True)
    monkeypatch.setattr(Where, "defines", lambda *_: True)
    made = written(make())
    assert re.match(r"bound \d+: ", refusal(made))
    monkeypatch.setattr(checker.Proof, "_nonnegative", lambda *_: True)
    monkeypatch.setattr(checker.Proof, "never_zero", lambda *_: True)
    monkeypatch.setattr(checker, "is_positive", lambda *_: True)
    assert refusal(made).startswith("claim")  # the bounds pass a checker without signs, so it is the sign that it asks


def test_a_bound_is_made_by_rules_alone() -> None:
    with pytest.raises(Refused, match="by the rules of the kernel alone"):
        replace(dropped(), bound=WIDE.number(0))


def test_a_bound_that_was_changed_is_of_no_use() -> None:
    bound = dropped()
    object.__setattr__(bound, "bound", WIDE.number(0))
    with pytest.raises(Refused, match="changed after it was made"):
        untouched(bound)
    with pytest.raises(Refused, match="changed after it was made"):
        weaken(bound, WIDE.number(1))
    with pytest.raises(Refused, match="changed after it was made"):
        saved_claim(bound, {}, {})


# the claim in the file ------------------------------------------------------------------------------------------------


@cache
def text_of(ref: str) -> str:
    return check_of(ref).text()


@cache
def kept_words(ref: str) -> str:
    """Letters and claim of a file, as text: the whole file is long."""
    data = json.loads(text_of(ref))
    return json.dumps([data["letters"], data["claim"]])


def words_of(ref: str) -> tuple[dict[str, str], dict[str, Any]]:
    letters, claim = json.loads(kept_words(ref))
    return letters, claim


def wrong(ref: str, letters: dict[str, str], claim: dict[str, Any], sealed: str = "") -> str:
    return why_no_claim(text_of(ref), letters, claim, sealed)


@pytest.mark.parametrize("ref", CLAIMS)
def test_the_checker_says_the_claim(ref: str) -> None:
    data = json.loads(text_of(ref))
    said = checker.in_words(data)
    for term in data["claim"]["terms"].values():
        assert term in said
    assert ref in said and "local_lr <= " in said and data["claim"]["functional"] in said


def places(claim: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Every digit of the claim's expressions, by part, name, and place."""
    for part in ("terms", "hypotheses"):
        for name, text in claim[part].items():
            yield from ((part, name, found.start()) for found in re.finditer(r"\d", text))


@pytest.mark.parametrize("ref", CLAIMS)
def test_no_digit_of_the_claim_may_change(ref: str) -> None:
    letters, claim = words_of(ref)
    assert not wrong(ref, letters, claim)
    tried = 0
    for part, name, at in places(claim):
        text = claim[part][name]
        new = text[:at] + str(int(text[at]) % 9 + 1) + text[at + 1 :]
        changed = claim | {part: claim[part] | {name: new}}
        assert "digest" in wrong(ref, letters, changed, digest(letters, claim))
        assert wrong(ref, letters, changed).startswith("claim"), (part, name, new)
        tried += 1
    assert tried > 15


@pytest.mark.parametrize("ref", CLAIMS)
def test_no_quantity_of_the_claim_may_change(ref: str) -> None:
    letters, claim = words_of(ref)
    quantities = sorted(letters.values())
    for part in ("terms", "hypotheses"):
        for name, text in claim[part].items():
            for old, new in itertools.permutations(quantities, 2):
                if re.search(rf"\b{old}\b", text):
                    changed = claim | {part: claim[part] | {name: re.sub(rf"\b{old}\b", new, text)}}
                    assert wrong(ref, letters, changed).startswith("claim"), (part, name, old, new)
    for one, other in itertools.combinations(sorted(letters), 2):
        swapped = letters | {one: letters[other], other: letters[one]}
        assert wrong(ref, swapped, claim).startswith("claim"), (one, other)


def without(part: str, name: str) -> Callable[[dict[str, Any]], None]:
    return lambda claim: claim[part].pop(name)


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another functional": lambda claim: claim.update(functional="average_squared_gradient"),
    "another algorithm": lambda claim: claim.update(algorithm="safari"),
    "an unknown algorithm": lambda claim: claim.update(algorithm="mine"),
    "a term less": without("terms", "noise"),
    "no hypothesis": without("hypotheses", "step_cap"),
    "no reading": without("readings", "snapshots"),
    "another reading": lambda claim: claim["readings"].update(snapshots="period"),
    "a reading more": lambda claim: claim["readings"].update(average="r = 0..R-1"),
    "a choice": lambda claim: claim["choices"].update(local_lr="1/smoothness"),
    "no smoothness": lambda claim: claim["assumptions"].remove("smooth(smoothness)"),
    "no noise": lambda claim: claim["assumptions"].remove("unbiased_noise"),
    "no uniform cohorts": lambda claim: claim["assumptions"].remove("uniform_cohorts"),
    "smoothness by another quantity": lambda claim: claim["assumptions"].__setitem__(0, "smooth(strong_convexity)"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_other_claim_passes(change: str) -> None:
    letters, claim = words_of("fast.thm2@sharper")
    CHANGES[change](claim)
    assert wrong("fast.thm2@sharper", letters, claim).startswith("claim")


@pytest.mark.parametrize("name", ["id", "edition", "source"])
def test_a_name_that_changes_is_seen(name: str) -> None:
    letters, claim = words_of("fast.thm2@sharper")
    changed = claim | {name: claim[name] + "x"}
    assert "digest" in wrong("fast.thm2@sharper", letters, changed, digest(letters, claim))


def test_a_term_of_another_name_is_seen() -> None:
    letters, claim = words_of("fast.thm2@sharper")
    changed = claim | {"terms": {"mine" if name == "noise" else name: text for name, text in claim["terms"].items()}}
    assert "digest" in wrong("fast.thm2@sharper", letters, changed, digest(letters, claim))


@pytest.mark.parametrize(
    "text", ["1 +", "__import__(0)", "x.y", "smoothness if 1 else 2", "1e3", "lambda: 1", "(" * 3000, "exp()", 7]
)
def test_text_that_is_no_expression_is_unreadable(text: Any) -> None:
    letters, claim = words_of("fast.thm2@sharper")
    claim["terms"]["noise"] = text
    proof = proof_in(text_of("fast.thm2@sharper"))[0].claim
    assert proof is not None
    with pytest.raises(checker.Unfit):
        proof.read(letters, claim, digest(letters, claim), [])


def test_a_file_whose_claim_is_another_papers_is_refused(tmp_path: Path) -> None:
    """With its digest anew, only the claim of that name tells: of the claims of the papers it is compared."""
    data = json.loads(text_of("fast.thm2@sharper"))
    file = tmp_path / "claim.json"
    for edition, status in (("sharper", 0), ("sharp", 1), ("mine", 0)):
        data["claim"]["edition"] = edition
        file.write_text(json.dumps(data | {"digest": digest(data["letters"], data["claim"])}))
        done = CliRunner().invoke(app, ["prove", "--check", str(file)])
        assert done.exit_code == status, done.output


def test_the_checker_knows_the_vocabulary() -> None:
    """What it says of quantities and assumptions is what the package says."""
    from fedtheory.assumptions import ASSUMPTIONS, AT_ONE_PLACE, constant_of, with_implied
    from fedtheory.proof.claim_goals import PARAMETERS, READINGS
    from fedtheory.quantities import QUANTITIES

    for name, sort in checker.QUANTITIES.items():
        known = QUANTITIES[name]
        assert known.lower >= 0 or sort == "real"
        assert {
            "positive": known.positive, "nonnegative": True, "real": True, "count": known.integer and known.lower >= 1,
            "probability": known.upper <= 1,
        }[sort]  # fmt: skip
    assert {name: constant_of(name) for name in checker.ASSUMED} == checker.ASSUMED
    for name, stronger in checker.GIVEN_BY.items():
        assert all(AT_ONE_PLACE.get(name) == other or name in with_implied([other]) for other in stronger)
        assert all(other in ASSUMPTIONS for other in stronger)
    assert checker.READ_AS == READINGS
    assert checker.PARAMETERS == PARAMETERS


def test_only_what_is_above_zero_by_its_meaning_may_be_taken_to_be() -> None:
    """Of no quantity that may be 0 or less is "positive" taken for known; some without a word for it are counts."""
    from types import SimpleNamespace

    from fedtheory.proof.claim_goals import Goal
    from fedtheory.proof.kernel.regions import Condition
    from fedtheory.quantities import QUANTITIES

    def is_known(name: str, *slacks: Scalar) -> bool:
        goal: Any = SimpleNamespace(letters={"x": name}, claim=SimpleNamespace(assumptions=()), ring=ring, in_place={})
        bound: Any = SimpleNamespace(functional="", parameters=(), bound=ring.number(0))
        goal._tends, goal.slacks = (lambda *of: Goal._tends(goal, *of)), (lambda: slacks)
        goal._above_zero = lambda *of: Goal._above_zero(goal, *of)
        return Goal._in_vocabulary(goal, Condition("x", "positive"), bound)

    ring = Ring("x")
    known = {name for name in QUANTITIES if is_known(name)}
    divided = {name for name in QUANTITIES if is_known(name, 1 - 1 / ring["x"])}
    assert {"rounds", "clients", "smoothness", "local_lr"} <= known
    assert not [name for name in known if QUANTITIES[name].lower <= 0 and not QUANTITIES[name].positive]
    assert not [name for name, each in QUANTITIES.items() if each.lower < 0 and name in known | divided]
    assert "dissimilarity" in divided - known  # where a hypothesis divides by it
