"""Bounds on one round, and on a function at points: what each says holds in models, its unsound neighbours are refused,
by the checker too; and no number, name or line of a claim's file may be another one."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from fedtheory.papers import papers
from fedtheory.papers.fast.proofs import eq17_eq28, lemmas_1_2
from fedtheory.papers.safari.proofs import repaired_editions
from fedtheory.proof import checker
from fedtheory.proof.kernel import round_bounds
from fedtheory.proof.kernel.round_bounds import OF_POINTS, bound_at_points, bound_round
from fedtheory.proof.kernel.run_bounds import RunBound
from fedtheory.proof.kernel.saved_claims import digest, saved_claim
from fedtheory.proof.kernel.scalars import Scalar
from fedtheory.proof.kernel.theorems import Refused

from .models import valued
from .test_points import GRID, MODEL

AT_POINTS = {lemmas_1_2._upper_model: 1, lemmas_1_2._perturbed: 2}
"""The bounds, and how many distances each has."""


@pytest.mark.parametrize("make", AT_POINTS, ids=lambda make: make.__name__)
def test_no_function_exceeds_it(make: Callable[[], RunBound]) -> None:
    """The functional at points, against the bound at their distances; some attain it."""
    bound, ring = make(), lemmas_1_2.RING
    form, _ = OF_POINTS[bound.functional]
    at, least = {**MODEL.numbers, "size": MODEL.numbers["K"]}, []
    for points in GRID:
        ends = ((1, 0),) if AT_POINTS[make] == 1 else ((2, 1), (2, 0))
        distances = {n: abs(points[a] - points[b]) for n, (a, b) in zip(("d", "p"), ends, strict=False)}
        model = replace(MODEL, points=points)
        for client in (0, 1):
            value = model._value(form(ring), at, client, 0)
            least.append(valued(bound.bound, {**at, **distances}) - value)
    assert min(least) == 0


# unsound neighbours ---------------------------------------------------------------------------------------------------


def _of_a_round() -> RunBound:
    return bound_at_points(eq17_eq28.gradient_error(), eq17_eq28.ROUND, "linearization_error", ("start",))


def _of_any_mean() -> RunBound:
    return bound_round(eq17_eq28.gradient_error(), eq17_eq28.ROUND, "local_gradient_error", ("slope", "R"))


def _another_functional() -> RunBound:
    letters = ("distance", "slope", "R")
    return bound_round(repaired_editions.server_fall(), repaired_editions.RUNS, "final_squared_distance", letters)


UNSOUND = {
    "a bound on a round for any points": ("of no algorithm", _of_a_round),
    "of any mean, what is known of the plain one": ("known of the plain mean", _of_any_mean),
    "of another functional": ("is left over", _another_functional),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_it_refuses(name: str) -> None:
    says, make = UNSOUND[name]
    with pytest.raises(Refused, match=says):
        make()


def _whatever_is_left(form: Any, parts: Any) -> dict[str, Scalar]:
    return dict.fromkeys((*parts, ""), form.ring.number(0))


@pytest.mark.parametrize(("name", "line", "weaker"), [
    ("of any mean, what is known of the plain one", "OF_PLAIN_MEAN", set()),
    ("of another functional", "split", _whatever_is_left),
])  # fmt: skip
def test_the_checker_refuses_what_a_weaker_kernel_makes(name: str, line: str, weaker: Any, monkeypatch) -> None:
    monkeypatch.setattr(round_bounds, line, weaker)
    data = json.loads(json.dumps(saved_claim(UNSOUND[name][1](), {}, {})))
    with pytest.raises(checker.Wrong, match="bound 0: "):
        checker.check(data)


# files ----------------------------------------------------------------------------------------------------------------

FILES = ("fast.lemma2@main", "safari.eq28@main", "fast.eq17@main", "safari.rem5.b@main", "fast.thm1@periodic",
         "safari.thm4@corrected", "li2020.thm1@main", "khaled2020.thm1@main", "fedau.cor4@corrected",
         "fast.cor3@corrected")  # fmt: skip
MULTIPLIERS = {"multipliers", "factors", "rests", "inverses", "share"}
"""Arguments by which a line says why it follows: by others it may follow too."""


@cache
def text_of(ref: str) -> str:
    """The published proof of a claim."""
    folder = papers()[ref.split(".")[0]].folder
    assert folder is not None
    steps = json.loads((folder / "certificates" / f"{ref}.json").read_text(encoding="utf-8"))["steps"]
    (goal,) = (step for step in steps if step["name"] == "claim.goal")
    return goal["findings"][0]["evidence"][0]["data"]


def places(data: Any, at: tuple = ()) -> Iterator[tuple]:
    """The place of every number, name and word of a file."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    if not parts:
        yield at
    for name, part in parts:
        yield from places(part, (*at, name))


def changed(data: Any, at: tuple) -> Any:
    """A file with another number, name or word in one place; or ``None`` if nothing stands there."""
    made = copy.deepcopy(data)
    part = made
    for name in at[:-1]:
        part = part[name]
    old = part[at[-1]]
    if old is None or old in ([], {}):
        return None
    part[at[-1]] = (not old) if isinstance(old, bool) else old + 1 if isinstance(old, int) else f"{old}1"
    return made


def accepted(data: Any) -> bool:
    try:
        checker.check(data)
    except checker.Wrong:
        return False
    return True


def wrongly_accepted(ref: str, tried: list[tuple]) -> list[tuple]:
    """The places of these in which another word is accepted, though no multiplier, no bound of a region, no name of a
    letter that stands for nothing, and no number that is put in for one to meet what a region asks of it."""
    data = json.loads(text_of(ref))
    free = {("names", i) for i, name in enumerate(data["names"]) if name not in data["letters"]}
    kept = [at for at in tried if at[0] != "regions" and at not in free and not MULTIPLIERS & {*map(str, at)}]
    kept = [at for at in kept if at[2:4] != ("arguments", "values") or {*at[4:5]} <= data["letters"].keys()]
    made = ((at, changed(data, at)) for at in kept)
    return [at for at, other in made if other is not None and accepted(other)]


def lines(ref: str) -> list[tuple]:
    """The places in bounds, in the last theorem, and in what the claim says."""
    every = list(places(json.loads(text_of(ref))))
    last = max((at[1] for at in every if at[0] == "theorems" and len(at) > 1), default=-1)
    return [at for at in every if at[0] != "theorems" or at[1:2] == (last,)]


@pytest.mark.parametrize("ref", FILES[:2])
def test_no_word_of_a_file_may_be_another(ref: str) -> None:
    tried = lines(ref)
    assert wrongly_accepted(ref, Random(ref).sample(tried, 15)) == []


@pytest.mark.parametrize(
    ("ref", "said"),
    [("khaled2020.thm1@main", "local_sgd, F the plain mean of the clients' functions, every client once in a round"),
     ("fast.lemma2@main", "fast\nassumed"),
     ("safari.thm4@corrected",
      "safari, arbitrary_cohort clients in each arbitrary round, no client twice in a cohort, read with")],
    ids=["everyone", "points", "cohorts"],
)  # fmt: skip
def test_what_is_printed_says_what_is_taken_of_cohorts(ref: str, said: str) -> None:
    """No word of a claim says so, and it is false of weighing clients, of those drawn twice, and where nobody comes."""
    assert f"of every run of {said}" in checker.in_words(json.loads(text_of(ref)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("ref", FILES)
def test_no_word_of_any_file_may_be_another(ref: str) -> None:
    assert wrongly_accepted(ref, lines(ref)) == []


def test_a_letter_of_no_root_has_no_name() -> None:
    assert wrongly_accepted("fedau.cor4@corrected", [("bounds", 6, "arguments", "root")]) == []


@pytest.mark.parametrize("ref", FILES[:2])
def test_no_line_may_stand_elsewhere(ref: str) -> None:
    """Each theorem, in turn, after the one that follows it."""
    data = json.loads(text_of(ref))
    for part in ("theorems", "bounds"):
        for at in range(len(data[part]) - 1):
            made = copy.deepcopy(data)
            made[part][at : at + 2] = made[part][at : at + 2][::-1]
            used = [i for line in made[part] for i in line.get("premises", ())]
            assert not accepted(made) or used == [i for line in data[part] for i in line.get("premises", ())]


@pytest.mark.parametrize("ref", ["fast.lemma1@main", "safari.eq28@main", "fast.eq17@main"])
def test_what_a_claim_says_is_what_is_proved(ref: str) -> None:
    """With its digest anew: a digit of a term or a hypothesis more, a hypothesis or an assumption less, other words."""
    data = json.loads(text_of(ref))
    made: list[tuple[str, dict[str, Any]]] = []
    said = data["claim"]
    for part in ("terms", "hypotheses"):
        for name, text in said[part].items():
            for at in (i for i, letter in enumerate(text) if letter.isdigit()):
                other = text[:at] + str(int(text[at]) % 9 + 1) + text[at + 1 :]
                made.append((other, said | {part: said[part] | {name: other}}))
            made.append((f"no {name}", said | {part: {n: t for n, t in said[part].items() if n != name}}))
    made += [
        (f"no {a}", said | {"assumptions": [b for b in said["assumptions"] if b != a]})
        for a in said["assumptions"]
        if a.split("(")[0] in {n for n, _ in data["bounds"][-1]["assumptions"]}
    ]
    made.append(("another functional", said | {"functional": "squared_movement"}))
    known = checker.proof_of(copy.deepcopy(data)).claim
    assert known is not None and len(made) > 4
    for what, claim in made:
        checker.LEFT["work"] = checker.LARGEST["work"]
        try:
            known.read(data["letters"], claim, digest(data["letters"], claim), data["roots"])
        except checker.Wrong:
            continue
        pytest.fail(f"{ref}: accepted with {what}")


def cap(quantity: str) -> checker.Scalar:
    """sqrt(2) times a quantity, as the checker reads it where it is a cap."""
    claim = object.__new__(checker.ClaimOfRuns)
    claim.proof = SimpleNamespace(names=["x"], name=lambda name: checker.Scalar({checker.place(0): 1}))  # type: ignore[assignment]
    claim.letters, claim.chosen, claim.roots = {"x": quantity}, {}, []
    return claim.above(ast.parse(f"sqrt(2)*{quantity}", mode="eval").body)


def test_a_cap_with_a_root_is_raised_only_where_it_is_not_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    for counted in ("work", "size"):
        monkeypatch.setitem(checker.LEFT, counted, checker.LARGEST[counted])
    assert cap("gradient_norm") == checker.Scalar({checker.place(0): 91}, {0: 64})  # 91/64 > sqrt 2 >= 90/64
    with pytest.raises(checker.Wrong, match="no product >= 0"):
        cap("vector_covariance")
    monkeypatch.setitem(checker.QUANTITIES, "vector_covariance", "nonnegative")
    assert cap("vector_covariance") == cap("gradient_norm")  # what is planted would be accepted
