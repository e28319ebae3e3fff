"""Bounds on answers, on draws with known weights, and on numbers: each rule holds in models that are enumerated,
refuses its unsound neighbours, and so does the checker; no number, letter or word of the claims' proofs may change."""

from __future__ import annotations

import itertools
import json
import math
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
from fedtheory.papers import claim
from fedtheory.papers.flics.proofs import draws, thm1
from fedtheory.papers.proofs import library
from fedtheory.proof import checker
from fedtheory.proof.answer_goals import LAWS, PARAMETERS
from fedtheory.proof.claim_theorems import ClaimTheorem
from fedtheory.proof.kernel.answer_bounds import (
    bound_inner_product,
    bound_square,
    selected_bias,
    selected_square,
    telescope_answers,
)
from fedtheory.proof.kernel.forms import ONE
from fedtheory.proof.kernel.number_bounds import by_logarithm, frequency, value
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import RunBound, restrict, weaken
from fedtheory.proof.kernel.saved_claims import digest, saved_claim
from fedtheory.proof.kernel.scalars import Scalar
from fedtheory.proof.kernel.theorems import Refused, Theorem, combine, instantiate
from fedtheory.proof.translate.claim_bounds import MadeBound

from .test_run_bounds import refusal
from .written import proof_in, why_no_claim

WIDE = thm1._WIDE
OF_CLAIMS = {ref: d.origin for d in library().derivations if isinstance(d.origin, MadeBound) for ref in d.proves}
REFS = sorted(ref for ref in OF_CLAIMS if ref.startswith("flics."))


@cache
def check_of(ref: str) -> ClaimTheorem:
    found = OF_CLAIMS[ref].of_claim(claim(ref), "flics", lambda *_: pytest.fail("no engine's rounds"))
    assert found is not None
    return found


# models ---------------------------------------------------------------------------------------------------------------


def test_the_second_moment_of_every_small_draw_is_below_its_bound() -> None:
    """Two groups of one or two clients, vectors of two coordinates, all numbers of answers; close to it somewhere."""
    closest = F(0)
    for estimates, chances in itertools.product(itertools.product((F(1, 2), F(1), F(2)), repeat=2), repeat=2):
        chance = tuple(each / 3 for each in chances)
        for x, p in itertools.product((((1, 0), (1, 0)), ((2, -1), (-1, 1))), (F(1, 3), F(1, 2))):
            weights, second, mean, cov = (p, 1 - p), F(0), (F(0), F(0)), F(0)
            outcomes = [
                (math.prod(c if n else 1 - c for c, n in zip(chance, numbers, strict=True)), numbers)
                for numbers in itertools.product((0, 1), repeat=2)
            ]
            scale = [w / s for w, s in zip(weights, estimates, strict=True)]
            for probability, numbers in outcomes:
                sent = [sum(y * n * v[d] for y, n, v in zip(scale, numbers, x, strict=True)) for d in (0, 1)]
                second += probability * sum(each**2 for each in sent)
            delta = max(abs(c / s - 1) for c, s in zip(chance, estimates, strict=True))
            mean = tuple(sum(w * v[d] for w, v in zip(weights, x, strict=True)) for d in (0, 1))
            cov = sum(y**2 * c * (1 - c) * sum(F(z) ** 2 for z in v) for y, c, v in zip(scale, chance, x, strict=True))
            vectors = sum(w * sum(F(z) ** 2 for z in v) for w, v in zip(weights, x, strict=True))
            at = {"mean": sum(z**2 for z in mean), "vectors": vectors, "covariance": cov, "delta": delta}
            largest = draws.lemma_6().bound.at(at)
            assert second <= largest
            closest = max(closest, second / largest)
    assert closest > F(9, 10)


def test_the_bias_of_every_small_draw_is_below_its_bound() -> None:
    bound, attained = draws.lemma_4().bound, False
    for s, hat in itertools.product(itertools.product((F(1, 2), F(1), F(3)), repeat=2), repeat=2):
        worst, least = max(abs(a - b) for a, b in zip(s, hat, strict=True)), min(s)
        if worst >= least:
            continue
        for v in ((1, 1), (1, -2), (0, 3)):
            bias = abs(sum(F(1, 2) * (a / b - 1) * x for a, b, x in zip(s, hat, v, strict=True)))
            at = dict.fromkeys(bound.ring.names, F(0))
            at |= {"error": worst, "room": least - worst, "length": F(1, 2) * sum(map(abs, v))}
            assert bias <= bound.at(at)
            attained |= bias == bound.at(at) > 0
    assert attained


@pytest.mark.parametrize(("clients", "rounds"), [(1, 1), (1, 6), (2, 3), (3, 4)])
def test_frequencies_are_off_as_rarely_as_is_said(clients: int, rounds: int) -> None:
    """The law of all answers, by binomial coefficients, against 2 exp(-2 n t x^2)."""
    number = clients * rounds
    for r, error in itertools.product((F(0), F(1, 5), F(1, 2), F(1)), (F(1, 10), F(1, 2), F(1), F(3))):
        law = [math.comb(number, k) * r**k * (1 - r) ** (number - k) for k in range(number + 1)]
        off = F(0)
        for k, chance in enumerate(law):
            inside = r > 0 and k > 0 and abs(r * number / k - 1) <= error
            off += 0 if inside else chance
        x = error * r / (1 + error)
        assert float(off) <= 2 * math.exp(-2 * number * float(x) ** 2) * (1 + 1e-12)


def test_a_run_whose_weights_change_has_the_mean_of_what_they_add() -> None:
    """F falls by as much as the theorem allows: the mean of |grad F|^2 is the bound, with means of delta^2 and V."""
    theorem = thm1.given_availability()
    bound = telescope_answers(theorem, WIDE, "rounds", "gap")
    at = dict.fromkeys(WIDE.names, F(0)) | {"eta": F(1, 10), "c": F(1, 5), "L": F(1), "K": F(2), "G": F(3)}
    own = {name: at[name] for name in theorem.where.ring.names}
    fall = F(at["c"] * at["K"] / 2)
    rounds = ((F(5), F(0)), (F(1), F(2)), (F(1), F(1)))  # the mean of delta^2 is 9, and not the square of a mean
    grown = [_constant(theorem).at(own | {"delta": d, "V": v}) for d, v in rounds]
    slopes = [F(1), F(0), F(4000)]
    gap = sum(fall * g - b for g, b in zip(slopes, grown, strict=True))  # what is left of F - inf F is 0
    assert gap > 0
    at |= {"rounds": F(3), "gap": gap, "delta": F(3), "V": F(1)}
    assert bound.bound.at(at) == sum(slopes) / 3


def _constant(theorem: Theorem) -> Scalar:
    return theorem.form.entries[ONE]


# unsound neighbours ---------------------------------------------------------------------------------------------------

V, delta, S = thm1.V, thm1.delta, thm1.S
where_6 = Where(draws._MOMENTS, (Condition("covariance", "real"),
                                 *(Condition(n, "nonnegative") for n in ("mean", "vectors", "delta"))))  # fmt: skip
m, vs, cov, d = draws._MOMENTS.symbols
worst, least, error, room, length = draws._ERRORS.symbols
where_4 = Where(draws._ERRORS, (Condition("least", "at_least", worst), Condition("worst", "nonnegative"),
                                Condition("length", "nonnegative")))  # fmt: skip
n, p, s, hat, r, t, e, w = draws._GROUP.symbols[:8]
_one = draws._GROUP.number(1)
of_band = Where(draws._GROUP, (Condition("n", "count"), Condition("t", "count"), Condition("delta", "capped", _one),
                               Condition("r", "interval", _one), Condition("epsilon", "nonnegative"),
                               Condition("l", "nonnegative")))  # fmt: skip
dlt, log = draws._GROUP["delta"], draws._GROUP["l"]


def added(make: Callable[[], Theorem], more: Scalar, where: Where | None = None) -> Theorem:
    """A theorem with more on its larger side: true, and weaker."""
    own = make()
    return combine([(own, 1)], where=where or own.where, context="start", constant=more)


def narrow() -> Theorem:
    """Where V <= 1."""
    one = thm1.RING.number(1)
    conditions = [Condition("V", "interval", one) if c.name == "V" else c for c in thm1.CAPPED.conditions]
    return instantiate(thm1.given_availability(), {}, replace(thm1.CAPPED, conditions=tuple(conditions)))


def capped_by_proxy() -> Theorem:
    step = Condition("c", "capped", 1 / (thm1.L * thm1.K * (1 + V)))
    return combine([(thm1.given_availability(), 1)], where=thm1.region(step), context="start")


def of_run(make: Callable[[], Theorem]) -> Callable[[], RunBound]:
    return lambda: telescope_answers(make(), WIDE, "rounds", "gap")


def tail(x: Scalar, where: Where = of_band) -> RunBound:
    return frequency(where, n, t, r, e, x, "w")


EXACT = e * r / (1 + e)
UNSOUND: dict[str, tuple[str, Callable[[], RunBound]]] = {
    "a product of what is averaged": ("linear in delta^2, V and W", of_run(
        lambda: added(thm1.given_availability, V * delta**2))),
    "a square of what is averaged": ("linear in delta^2, V and W", of_run(
        lambda: added(thm1.given_availability, V**2))),
    "delta itself, for its square": ("linear in delta^2, V and W", of_run(
        lambda: added(thm1.given_availability, delta))),
    "a condition on what is averaged": ("nothing else is asked", of_run(narrow)),
    "a cap on a step by every round's proxy": ("nothing else is asked", of_run(capped_by_proxy)),
    "twice the proxy for the proxy": ("allowed is a letter", of_run(
        lambda: instantiate(thm1.given_availability(), {"V": 2 * V}, thm1.CAPPED))),
    "one letter for two": ("different letters", of_run(
        lambda: instantiate(thm1.given_the_past(), {"delta": S}, thm1.FREE))),
    "a letter of the theorem for the rounds": ("different letters", lambda: telescope_answers(
        thm1.given_availability(), WIDE, "K", "gap")),
    "a theorem that is no descent": ("allowed is F(x)", of_run(thm1.second_moment)),
    "a second moment for a first": ("allowed are gradient_norm, squared_mean_update and 1", lambda: bound_inner_product(
        thm1.error(), WIDE, "gradient", "update")),
    "second moments beside the first": ("first moment alone", lambda: bound_inner_product(
        thm1.second_moment(), WIDE, "gradient", "update")),
    "a first moment for a second": ("given who is there", lambda: bound_square(thm1.inner(), WIDE, "update")),
    "the mismatch of one state for that of all": ("V alone", lambda: bound_square(
        added(thm1.second_moment, delta**2), WIDE, "update")),
    "a square of one state's proxy": ("linear", lambda: bound_square(
        added(thm1.second_moment, V**2), WIDE, "update")),
    "a cross term with too little": ("not certified", lambda: selected_square(where_6, m, vs, cov, d, d, d / 2)),
    "a cross term with nothing": ("not certified", lambda: selected_square(where_6, m, vs, cov, d, 0 * d, d)),
    "two factors below 0": ("not certified", lambda: selected_square(where_6, m, vs, cov, d, -d, -d)),
    "estimates that may be 0": ("certified to be > 0", lambda: selected_bias(where_4, worst, least, length)),
    "estimates below 0": ("not certified", lambda: selected_bias(where_4, least, worst, length)),
    "a deviation that leaves the band": ("above", lambda: tail(e * r)),
    "a deviation down to 0": ("below", lambda: tail(r)),
    "twice the deviation": ("above", lambda: tail(2 * EXACT)),
    "a deviation below 0": ("deviation", lambda: tail(-EXACT)),
    "rounds that are no count": ("a letter that is a count", lambda: frequency(of_band, n, e, r, e, EXACT, "w")),
    "twice the rounds": ("a letter that is a count", lambda: frequency(of_band, n, 2 * t, r, e, EXACT, "w")),
    "an exponent that is too small": ("may be larger", lambda: by_logarithm(tail(EXACT), "w", dlt, "l", 2, ())),
    "a level above 1": ("(0, 1]", lambda: by_logarithm(given(), "w", 2 * dlt, "l", 1, (w * 0 + 1,))),
    "a third logarithm": ("may be larger", lambda: by_logarithm(given(), "w", dlt, "l", 3, (w * 0 + 1,))),
    "a multiplier below 0": ("multiplier", lambda: by_logarithm(given(), "w", dlt, "l", 1, (w * 0 - 1,))),
    "no logarithm": ("a letter that is >= 0", lambda: by_logarithm(given(), "w", dlt, "t", 1, (w * 0 + 1,))),
    "a smaller value": ("may be too small", lambda: weaken(value(of_band, r), r - r**2)),
}  # fmt: skip
_OF_SIGNS = (
    "not certified",
    "below",
    "above",
    "deviation",
    "may be larger",
    "multiplier",
    "may be too small",
    "(0, 1]",
)
SIGNS = (*(name for name, (says, _) in UNSOUND.items() if says in _OF_SIGNS), "estimates that may be 0")


def given() -> RunBound:
    """With Y >= 2 log(1/x) given."""
    start = tail(EXACT)
    return restrict(start, of_band, {}, [start.definitions[0].of - 2 * log])


@pytest.mark.parametrize("name", UNSOUND)
def test_it_refuses(name: str) -> None:
    says, make = UNSOUND[name]
    with pytest.raises((Refused, ValueError), match=re.escape(says)):
        make()


@pytest.mark.parametrize("name", SIGNS)
def test_the_checker_refuses_what_a_kernel_without_signs_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = UNSOUND[name][1]
    with monkeypatch.context() as patched:
        patched.setattr(Where, "certifies", lambda *_: True)
        patched.setattr(Where, "never_zero", lambda *_: True)
        made = json.loads(json.dumps(saved_claim(make(), {}, {})))
    assert re.match(r"bound \d+: ", refusal(made))


STRUCTURE = [name for name in UNSOUND if name not in SIGNS and name not in (
    "a letter of the theorem for the rounds", "rounds that are no count", "twice the rounds", "no logarithm",
    "a theorem that is no descent", "a second moment for a first", "a first moment for a second",
    "second moments beside the first",
)]  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURE)
def test_the_checker_refuses_what_a_kernel_that_asks_nothing_of_the_weights_makes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the kernel's two questions about delta, V and W left out, it makes the false bound; the checker refuses."""
    from fedtheory.proof.kernel import answer_bounds

    def every(theorem: Theorem, of: Mapping[str, Scalar]) -> dict[str, set[str]]:
        return {"proxy": set()}

    make = UNSOUND[name][1]
    with monkeypatch.context() as patched:
        patched.setattr(answer_bounds, "_linear", lambda *_: None)
        patched.setattr(answer_bounds, "_letters", every)
        patched.setattr(Where, "certifies", lambda *_: True)
        made = json.loads(json.dumps(saved_claim(make(), {}, {})))
    assert re.match(r"bound \d+: ", refusal(made))


# the claims -----------------------------------------------------------------------------------------------------------


@cache
def text_of(ref: str) -> str:
    return check_of(ref).text()


def wrong(ref: str, letters: dict[str, str], words: dict[str, Any], sealed: str = "") -> str:
    return why_no_claim(text_of(ref), letters, words, sealed)


@pytest.mark.parametrize("ref", REFS)
def test_the_checker_says_the_claim(ref: str) -> None:
    data = json.loads(text_of(ref))
    said = checker.in_words(data)
    for text in (*data["claim"]["terms"].values(), *data["claim"]["hypotheses"].values(), data["claim"]["functional"]):
        assert text in said
    assert ref in said


def changed_digits(ref: str) -> Iterator[tuple[str, str, str]]:
    words = json.loads(text_of(ref))["claim"]
    for part in ("terms", "hypotheses", "choices"):
        for name, text in words[part].items():
            for found in re.finditer(r"\d", text):
                at = found.start()
                yield part, name, text[:at] + str(int(text[at]) % 9 + 1) + text[at + 1 :]


@pytest.mark.parametrize("ref", ["flics.cor1_1@received", "flics.lemma4@corrected", "flics.eq7.d@main"])
def test_a_file_is_compared_with_the_claim_of_its_name(ref: str, tmp_path: Path) -> None:
    """With its digest anew, only the papers tell that a claim of this name says something else."""
    data, file = json.loads(text_of(ref)), tmp_path / "claim.json"
    for source, status in ((data["claim"]["source"], 0), ("mine", 1)):
        words = data["claim"] | {"source": source}
        file.write_text(json.dumps(data | {"claim": words, "digest": digest(data["letters"], words)}))
        done = CliRunner().invoke(app, ["prove", "--check", str(file)])
        assert done.exit_code == status, done.output


@pytest.mark.parametrize("ref", REFS)
def test_no_digit_of_the_claim_may_change(ref: str) -> None:
    data = json.loads(text_of(ref))
    letters, words = data["letters"], data["claim"]
    assert not wrong(ref, letters, words)
    for part, name, text in changed_digits(ref):
        changed = words | {part: words[part] | {name: text}}
        assert "digest" in wrong(ref, letters, changed, digest(letters, words))
        assert wrong(ref, letters, changed).startswith("claim"), (part, name, text)
    if proof_in(text_of(ref))[0].claim.bounds[-1]["functional"] == "value":  # type: ignore[union-attr]
        for found in re.finditer(r"\d", words["functional"]):
            at, text = found.start(), words["functional"]
            changed = words | {"functional": text[:at] + str(int(text[at]) % 9 + 1) + text[at + 1 :]}
            assert wrong(ref, letters, changed).startswith("claim")


@pytest.mark.parametrize("ref", REFS)
def test_no_quantity_of_the_claim_may_change(ref: str) -> None:
    data = json.loads(text_of(ref))
    letters, words = data["letters"], data["claim"]
    quantities = sorted(q for q in letters.values() if q.isidentifier())
    for part in ("terms", "hypotheses"):
        for name, text in words[part].items():
            for old, new in itertools.permutations(quantities, 2):
                if re.search(rf"\b{old}\b", text):
                    changed = words | {part: words[part] | {name: re.sub(rf"\b{old}\b", new, text)}}
                    assert wrong(ref, letters, changed).startswith("claim"), (part, name, old, new)
    for one, other in itertools.combinations(sorted(letters), 2):
        swapped = letters | {one: letters[other], other: letters[one]}
        same = {one, other} in ({"groups", "rounds"}, {"S", "V"})  # names of what is nowhere, and summands of one sum
        assert wrong(ref, swapped, words).startswith("claim") != same, (one, other)


@pytest.mark.parametrize("ref", REFS)
def test_nothing_of_the_claim_may_be_left_out(ref: str) -> None:
    data = json.loads(text_of(ref))
    letters, words, last = data["letters"], data["claim"], data["bounds"][-1]
    for part in ("terms", "readings", "choices"):
        for name in words[part].keys() - {"constants of the O(.)"}:  # which says what the hypotheses are
            less = {n: text for n, text in words[part].items() if n != name}
            assert wrong(ref, letters, words | {part: less}).startswith("claim"), (part, name)
    for name in words["hypotheses"]:
        less = {n: text for n, text in words["hypotheses"].items() if n != name}
        assert wrong(ref, letters, words | {"hypotheses": less}).startswith("claim"), name
    asked = {n for n, _ in last["assumptions"]}
    for name in words["assumptions"]:
        less = [each for each in words["assumptions"] if each != name]
        needed = name.partition("(")[0] in (asked | {"independent_answers"} if asked else asked)
        assert bool(wrong(ref, letters, words | {"assumptions": less})) == needed, name


@pytest.mark.parametrize("ref", ["flics.thm1@corrected", "flics.cor1_1@intermittent"])
def test_another_law_of_the_weights_is_another_claim(ref: str) -> None:
    data = json.loads(text_of(ref))
    letters, words = data["letters"], data["claim"]
    for readings in ({"counts": "received"}, {"line 14": "divided"}, {"start": "forgotten"}, {"mine": "1"}):
        assert wrong(ref, letters, words | {"readings": words["readings"] | readings}).startswith("claim")
    for name in ("answer_mismatch", "mean_mismatch", "weight_mismatch"):
        other = letters | {"delta": name}
        text = json.dumps(words["terms"]).replace(letters["delta"], name)
        if name != letters["delta"]:
            assert wrong(ref, other, words | {"terms": json.loads(text)}).startswith("claim")


@pytest.mark.parametrize("ref", REFS)
def test_no_digit_of_a_bound_may_change(ref: str) -> None:
    """Of what the file says beside its theorems on a round: region, bound, parameters, arguments, given."""
    data = json.loads(text_of(ref))
    tried, every = 0, 1 if len(text_of(ref)) < 5000 else 12
    for at, line in enumerate(data["bounds"]):
        text = json.dumps(line)
        for found in itertools.islice(re.finditer(r'"-?[0-9]+(/[0-9]+)?"', text), 0, None, every):
            new = text[: found.end() - 2] + str(int(text[found.end() - 2]) % 9 + 1) + text[found.end() - 1 :]
            bounds = [json.loads(new) if i == at else each for i, each in enumerate(data["bounds"])]
            said = refusal(data | {"bounds": bounds})
            assert said, (ref, line["rule"], found.start())
            tried += 1
    assert tried >= 3


def test_the_checker_knows_the_parameters_of_answers() -> None:
    """Its tables are the package's."""
    same = {name for name, quantity in PARAMETERS.items() if name == quantity}
    assert {*checker.OF_DRAWS} == same
    others = {n: q for n, q in PARAMETERS.items() if n != q and n not in ("selected_lr", "logarithm")}
    assert others == checker.OTHERWISE
    sums = [({n: tuple(q.split(" + ")) for n, q in law.items()}, option) for law, option in LAWS.values()]
    assert sums == [(dict(law), option) for law, option in checker.ANSWER_LAWS]


def test_groups_of_clients_weigh_differently() -> None:
    """What is shown for the plain mean alone is shown for no mean over groups."""
    said = object.__new__(checker.ClaimOfRuns)
    said.claim, said.letters = {"algorithm": "flics", "terms": {}, "hypotheses": {}, "choices": {}}, {}
    bound = {"functional": "inner_product", "kind": "", "parameters": {}, "assumptions": [("equal_weights", None)]}
    with pytest.raises(checker.Wrong, match="of the plain mean"):
        said.check_assumptions(bound, {"line 14": "not divided"}, [])


def test_a_claim_whose_weights_are_known_otherwise_is_not_proved() -> None:
    """Received counts for planned ones, and the proxy without the rates."""
    made = OF_CLAIMS["flics.thm1@corrected"]
    assert made.of_claim(claim("flics.thm1@received"), "flics", lambda *_: None) is None  # type: ignore[arg-type,return-value]
    past = OF_CLAIMS["flics.thm1@intermittent"]
    half = replace(past, letters={**past.letters, "S": "selection_variance"})
    assert half.of_claim(claim("flics.thm1@intermittent"), "flics", lambda *_: None) is None  # type: ignore[arg-type,return-value]
