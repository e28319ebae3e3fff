"""Bounds on runs and rounds of weighted updates, and on weights that are means of participation intervals: each holds
in models that are enumerated, refuses its unsound neighbours, and so does the checker; no digit of a saved claim, or of
a bound on the way, may change."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction as F
from functools import cache, partial
from math import ceil, exp, log
from types import SimpleNamespace
from typing import Any

import pytest

from fedtheory.claims import readings
from fedtheory.claims.statement import Ambiguity
from fedtheory.papers import claim
from fedtheory.papers.fedau.proofs import cor4
from fedtheory.papers.fedau.proofs import thm1_thm2 as rounds
from fedtheory.papers.fedau.proofs import thm3 as weights
from fedtheory.papers.fedau.proofs.thm1_thm2 import RUNS, WHERE, E, Q
from fedtheory.papers.fedau.proofs.thm3 import FROM_1, HISTORY, WIDE, C, a, q, t
from fedtheory.papers.proofs import chain, library
from fedtheory.proof import checker
from fedtheory.proof.claim_theorems import ClaimTheorem
from fedtheory.proof.kernel import interval_bounds, round_bounds, weighted_run_bounds
from fedtheory.proof.kernel.axioms import OPTIMUM, START_POINT, Axioms
from fedtheory.proof.kernel.interval_bounds import (
    average_errors,
    bound_bias,
    bound_every_error,
    bound_late_error,
    bound_moment,
    choose_cutoff,
    choose_cutoff_of_bias,
    over_clients,
)
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_bounds import bound_round
from fedtheory.proof.kernel.round_rules import average
from fedtheory.proof.kernel.run_bounds import Definition, RunBound, define, enlarge, restrict, weaken
from fedtheory.proof.kernel.saved_claims import saved_claim
from fedtheory.proof.kernel.theorems import Theorem, combine, instantiate
from fedtheory.proof.kernel.weighted_run_bounds import (
    EXPECTED_SCALE,
    LARGEST_SCALE,
    telescope_constant_weights,
    telescope_weights,
)

from .models import exact
from .test_intervals import LAW, Comings
from .written import why_no_claim

PROVED = sorted(f"fedau.{ref}" for ref in (*rounds._BOUNDS, *weights._BOUNDS, *cor4._BOUNDS)
                if "lemmaB_6_1.variance_below" not in ref)  # fmt: skip
CLAIM_OF_CHOICES = "fedau.cor4@corrected"
FEW = ("fedau.thm2@main", "fedau.thm1@main", "fedau.lemmaB_3_3@main", "fedau.thm3@main", "fedau.lemmaB_7_1@sharp",
       "fedau.eqB_6_8.b@corrected", "fedau.eqB_7_2@main", "fedau.asm5.interval@main", CLAIM_OF_CHOICES)  # fmt: skip


@cache
def check_of(ref: str) -> ClaimTheorem:
    found = chain(ref).theorem
    assert isinstance(found, ClaimTheorem)
    return found


@cache
def text_of(ref: str) -> str:
    return check_of(ref).text()


# models ---------------------------------------------------------------------------------------------------------------


def points(where: Where, count: int) -> Iterator[dict[str, F]]:
    draw = random.Random(0)
    for _ in range(count):
        at = dict.fromkeys(where.ring.names, F(0))
        for condition in reversed(where.conditions):
            limit, part = condition.bound and condition.bound.at(at), F(draw.randint(1, 9), 9)
            free = F(draw.randint(1, 4)) if condition.kind == "count" else 2 * part
            at[condition.name] = free if limit is None else limit * part
        yield at


@pytest.mark.parametrize("scale", [EXPECTED_SCALE, LARGEST_SCALE])
def test_every_run_of_weighted_rounds_is_below_the_bound(scale: str) -> None:
    """Of rounds with errors and scales of their own, F falls as little as the theorem allows; some attain the bound."""
    theorem = rounds.bounded_corrected()
    bound, (fall, added) = telescope_weights(theorem, RUNS, "R", "gap", scale), average(theorem)
    closest = F(0)
    for at in points(theorem.where, 3):
        for own in itertools.product(((0, 1), (1, 3), (2, 1)), repeat=3):
            each = [added.at(at | {"E": F(e), "Q": F(s)}) for e, s in own]
            for slopes in itertools.product((0, 10**6), repeat=3):
                values = [F(0)]
                for g, more in zip(slopes, each, strict=True):
                    values.append(values[-1] - fall.at(at) * g + more)
                scales = [F(s) for _, s in own]
                most = max(scales) if scale == LARGEST_SCALE else sum(scales) / 3
                point = dict.fromkeys(RUNS.names, F(0)) | at
                point |= {"E": F(sum(e for e, _ in own), 3), "Q": most, "R": F(3), "gap": -min(values)}
                ratio = F(sum(slopes), 3) / bound.bound.at(point)
                closest = max(closest, ratio)
                assert ratio <= 1
    assert closest == 1


def test_constant_weights_are_those_of_the_mean_that_they_imply() -> None:
    """With phi_i = p_i omega_i/(n w) a round of c' and omega_i is one of c' w and omega_i/w, without an error."""
    for ps, omegas in (((F(1, 2), F(1, 3)), (F(2), F(5))), ((F(1), F(1, 4), F(1)), (F(1), F(3), F(1, 2)))):
        n = len(ps)
        w = sum(p * o for p, o in zip(ps, omegas, strict=True)) / n
        phi = [p * o / (n * w) for p, o in zip(ps, omegas, strict=True)]
        assert sum(phi) == 1
        assert sum((p * (o / w) / n - f) ** 2 for p, o, f in zip(ps, omegas, phi, strict=True)) == 0
        scale = sum(p * o**2 for p, o in zip(ps, omegas, strict=True)) / n
        assert sum(p * (o / w) ** 2 for p, o in zip(ps, omegas, strict=True)) / n == scale / w**2
    start = telescope_constant_weights(rounds.constant_weights(), RUNS, "R", "gap", "mean_weight")
    parameters, w = dict(start.parameters), RUNS["mean_weight"]
    assert parameters["weighted_lr"] * w == RUNS["c"] and parameters["weight_scale"] == RUNS["Q"] * w**2


@cache
def error(chance: F, cutoff: int, history: int) -> F:
    p = exact(chance.numerator, chance.denominator)
    squares = (share * (p * x["weight"] - 1) ** 2 for share, x in Comings(p, cutoff, history).ways)
    return F(str(sum(squares, exact(0))))


CHANCES = ((F(1, 3), F(4, 5)), (F(0), F(1)), (F(1, 2),))


def numbers(chances: tuple[F, ...], cutoff: int, many: int) -> dict[str, float]:
    absent = [1 - p for p in chances]
    return {
        "T": many, "C": cutoff, "absence": float(sum(absent)) / len(absent), "log": log(many), "two": log(2),
        "bias": float(sum(x ** (2 * cutoff) for x in absent)) / len(absent),
    }  # fmt: skip


def value(bound: RunBound, at: dict[str, float]) -> float:
    known = {name: F(at.get(name, 0)) for name in bound.where.ring.names}
    return float(bound.bound.at(known))


@pytest.mark.parametrize("cutoff", [1, 2, 3])
@pytest.mark.parametrize("chances", CHANCES)
def test_mean_errors_of_enumerated_weights_are_below_their_bounds(chances: tuple[F, ...], cutoff: int) -> None:
    """1e-12 is far above the rounding of the logarithms."""
    for many in range(2, 10):
        mean = sum(float(error(p, cutoff, at)) for p in chances for at in range(many)) / many / len(chances)
        at = numbers(chances, cutoff, many)
        made = [weights.average(), weights.average_by_logarithm()]
        assert all(mean <= value(bound, at) + 1e-12 for bound in made)
        if many >= cutoff:
            blocks = weights.average_in_blocks()
            assert mean <= value(blocks, at | {"log": log(many / cutoff)}) + 1e-12


@pytest.mark.parametrize("chance", [F(1, 10), F(1, 2), F(9, 10), F(99, 100)])
def test_chosen_cutoffs_of_enumerated_weights(chance: F) -> None:
    bounds = weights.chosen(), weights._chosen_in_blocks()
    for many in range(2, 10):
        R = -1 / (2 * log(1 - chance))
        cutoff = ceil(R * log(many))
        every = [chance, min(F(1), chance * F(3, 2))]
        mean = sum(float(error(p, cutoff, at)) for p in every for at in range(many)) / many / 2
        at = {"T": many, "log": log(many), "spread": log(many), "decay": R, "two": log(2)}
        assert all(mean <= value(bound, at) + 1e-12 for bound in bounds)
        bias = sum((1 - float(p)) ** (2 * cutoff) for p in every) / 2
        assert bias <= value(weights._bias(), at) + 1e-12


def test_errors_of_one_round_and_moments() -> None:
    late = bound_late_error(weights.by_rounds(), WIDE)
    every = bound_every_error(weights.late(), weights.early(), WIDE, weights.early_given())
    first = bound_moment("interval_mean", weights.length(), weights.squared_length(), WIDE)
    for chance, cutoff, history in itertools.product((F(1, 3), F(4, 5), F(1)), (1, 2, 3), (1, 2, 4, 7)):
        absent, zeros = 1 - chance, dict.fromkeys(WIDE.names, F(0))
        at = zeros | {"p": chance, "C": F(cutoff), "a": absent**cutoff, "t": F(history)}
        at |= {"m": F(history // cutoff), "r": F(history % cutoff)}
        law = Comings(exact(chance.numerator, chance.denominator), cutoff, 4)
        mean, square = (F(str(sum((s * x["interval"] ** k for s, x in law.ways), exact(0)))) for k in (1, 2))
        spread = chance**2 * (square - mean**2)
        assert error(chance, cutoff, history) <= every.bound.at(at)
        if history >= cutoff:
            assert all(given.at(at) >= 0 for given in late.given)
            assert error(chance, cutoff, history) <= late.bound.at(at) == 2 * cutoff * spread / history + at["a"] ** 2
        assert first.bound.at(at) == mean


def test_what_is_known_of_logarithms() -> None:
    """log n >= 1 - 1/n, log T >= log 2 from T = 2 on, and R >= 0."""
    bound = define(weights._two_rounds(weights.average()), "two", WIDE.number(2))
    known = {c.name: c for c in bound.known.conditions}
    assert known["log"].bound == WIDE["two"] and known["two"].bound == F(1, 2) <= log(2)
    chances = Where(WIDE, (Condition("p", "interval", WIDE.number(1)),))
    tail = Definition("a", "tail", 1 - WIDE["p"]).fact(chances)
    assert tail.kind == "interval" and all(x**n <= x for x in (0, 0.3, 1) for n in (1, 2, 5))
    assert exp(log(2)) <= 2 + 1e-12


# unsound neighbours ---------------------------------------------------------------------------------------------------


def _on(theorem: Theorem, name: str, condition: Condition) -> Theorem:
    """The theorem on a smaller region, with another condition on a letter."""
    ring = theorem.where.ring
    bound = None if condition.bound is None else condition.bound.within(ring)
    new = (Condition(name, condition.kind, bound) if c.name == name else c for c in theorem.where.conditions)
    return combine([(theorem, 1)], where=Where(ring, tuple(new)), context="run")


def with_product() -> Theorem:
    return combine([(rounds.bounded_corrected(), 1)], where=WHERE, context="start", constant=E * Q)


def without_error() -> Theorem:
    return instantiate(rounds.bounded_corrected(), {"E": 0 * E}, WHERE)


def capped_by_the_error() -> Theorem:
    cap = Condition("eta", "capped", 1 / (15 * rounds.L * rounds.K * (1 + E)))
    where = Where(rounds.RING, (cap, *(c for c in WHERE.conditions if c.name != "eta")))
    return combine([(rounds.bounded_corrected(), 1)], where=where, context="start")


def of_clients_by_weight() -> Theorem:
    """About a mean in which no client weighs less than w, which the plain one is for w <= 1/n alone."""
    where = Where(rounds.RING, (*WHERE.conditions, Condition("w", "interval", rounds.RING.number(1))))
    return combine([(rounds.bounded_corrected(), 1), (rounds.around_by_weight(), 0)], where=where, context="start",
                   constant=(1 - rounds.w) ** 2 * rounds.d**2)  # fmt: skip


def squares_of_the_cutoff() -> RunBound:
    late = weights._late(2 * C**2 * q / HISTORY + a**2)
    early = weights._early(FROM_1, 2 * C**2 * q / t + a**2)
    return average_errors(late, weights.early_cutoff(), WIDE, ("T", "log", "absence", "bias"), early)


_BIAS = partial(bound_bias, weights.mean(), WIDE, ("absence", "bias"))
_MANY = ("T", "log", "absence", "bias")
UNSOUND: dict[str, tuple[str, Callable[[], RunBound]]] = {
    "delta for any mean": ("known of the plain mean", lambda: bound_round(
        rounds.descent(True), RUNS, "weighted_increase", ("slope", "R"), False)),
    "a bound on the gradient for the mean that weights imply": ("known of the plain mean", lambda: (
        telescope_constant_weights(without_error(), RUNS, "R", "gap", "mean_weight"))),
    "an error for the mean that weights imply": ("allowed is a theorem with E = 0", lambda: (
        telescope_constant_weights(rounds.bounded_corrected(), RUNS, "R", "gap", "mean_weight"))),
    "a cap on every round's scale, for the mean": ("a condition on every round's", lambda: (
        telescope_weights(rounds.bounded(), RUNS, "R", "gap", EXPECTED_SCALE))),
    "a step that is capped by every round's error": ("every round's own", lambda: (
        telescope_weights(capped_by_the_error(), RUNS, "R", "gap", EXPECTED_SCALE))),
    "a product of what is averaged": ("linear in E and Q", lambda: (
        telescope_weights(with_product(), RUNS, "R", "gap", EXPECTED_SCALE))),
    "a least weight that is the run's": ("with no least weight", lambda: (
        telescope_weights(of_clients_by_weight(), RUNS, "R", "gap", EXPECTED_SCALE))),
    "another scale": ("allowed are letters for E and Q", lambda: (
        telescope_weights(rounds.bounded(), RUNS, "R", "gap", "scale"))),
    "a fall that depends on a round's weights": ("not certified to be > 0", lambda: (
        telescope_weights(rounds.descent(True), RUNS, "R", "gap", EXPECTED_SCALE))),
    "a path without its last step": ("a theorem on the last step", lambda: (
        bound_round(rounds.local_drift(), RUNS, "local_drift", ("slope", "R"), False))),
    "another bound on the last step": ("another bound on the last step", lambda: bound_round(
        rounds.local_drift(), RUNS, "local_drift", ("slope", "R"), False, rounds.last_slow_drift())),
    "a letter that is there": ("different letters", lambda: telescope_weights(
        rounds.bounded(), RUNS, "K", "gap", LARGEST_SCALE)),
    "an early theorem for a late one": (r"no theorem|allowed is a theorem", lambda: bound_late_error(
        weights.early(), WIDE)),
    "another bound before the cutoff": ("another bound before", lambda: bound_every_error(
        weights.late(), weights.early_absence(), WIDE)),
    "without the first round": ("from t = 0 on", lambda: average_errors(
        weights.late_rounded(), weights.early_rounded(), WIDE, _MANY, weights.early_rounded())),
    "a bound on a moment for p > 0 alone": ("no rounds that have a name", lambda: bound_bias(
        weights.length(), WIDE, ("absence", "bias"))),
    "the bias of another moment": ("a number", lambda: bound_bias(
        LAW.moment(2, weights.SQUARE), WIDE, ("absence", "bias"))),
    "a mean over clients of late rounds alone": ("of every probability", lambda: over_clients(
        bound_late_error(weights.by_rounds(), WIDE), "absence", "bias")),
    "a bound where p > 0 alone for all p": ("no rounds that have a name", lambda: bound_every_error(
        _on(weights.late_absence(), "p", Condition("p", "capped", weights.RING.number(1))), weights.early_absence(),
        WIDE)),
    "a bound of one round for round 0": ("from t = 0 on", lambda: bound_every_error(
        weights.late_absence(), weights._early(FROM_1, q), WIDE)),
    "another bound given an interval": ("another bound where it is given", lambda: bound_every_error(
        weights.late(), weights.early(), WIDE, weights._given(FROM_1, q))),
    "a bound on the first half of a block": ("no rounds that have a name", lambda: bound_late_error(
        _on(weights.late(), "r", Condition("r", "interval", (C - 1) / 2)), WIDE)),
    "a spread without its mean": ("by a number", lambda: bound_late_error(weights.split(), WIDE)),
    "a spread around another mean": ("by a number", lambda: bound_late_error(
        weights.split(), WIDE, combine([(weights.mean(), 2)], where=weights.ANY, context="run"), "spread")),
    "moments where p may be 0": ("by a number", lambda: bound_moment(
        "interval_mean", weights.mean(), weights.squared_length(), WIDE)),
    "a mean for a variance": ("by a number", lambda: bound_moment(
        "interval_variance", weights.length(), weights.length(), WIDE)),
    "blocks that are no blocks": ("divides by what depends on m", lambda: average_errors(
        weights.late(), weights.early_absence(), WIDE, _MANY)),
    "a mean of products": ("linear in q and q", lambda: average_errors(
        weights.by_intervals(), weights.early_absence(), WIDE, _MANY)),
    "squares of the cutoff": ("with numbers f, s and y", lambda: choose_cutoff(
        squares_of_the_cutoff(), ("least", "decay", "two"))),
    "a large bound before the cutoff": ("not certified to be at most 1", lambda: choose_cutoff(
        _in_blocks(), ("least", "decay", "two"), weights.early_cutoff())),
    "a mean of q that is one of q^(2C)": ("allowed are letters for T, C and the means", lambda: choose_cutoff(
        restrict(weights.average(), Where(WIDE, tuple(
            c for c in weights.average().where.conditions if c.name != "absence")), {"absence": WIDE["bias"]}),
        ("least", "decay", "two"))),
    "a late bound without what is before": ("for all t < C", lambda: choose_cutoff(
        _in_blocks(), ("least", "decay", "two"))),
    "a theorem before the cutoff that assumes more": ("assumes no more than the bound", lambda: choose_cutoff(
        _in_blocks(), ("least", "decay", "two"), _smooth_too())),
    "a cutoff that is chosen twice": ("for every cutoff", lambda: choose_cutoff(
        weights.chosen(), ("least", "decay", "two"))),
    "a smaller logarithm": ("may be smaller", lambda: enlarge(
        weights.average(), "log", Definition("spread", "log", WIDE["T"] / WIDE["C"]))),
    "the logarithm of less than 1": ("not certified to be >= 1", lambda: define(
        weights.average(), "two", WIDE.number(1) / 2)),
    "1 for less than a logarithm": ("may be too small", lambda: weaken(
        weights.average(), weights.average().bound - WIDE["C"] / WIDE["T"])),
    "one round where two are asked": ("may be too small", lambda: weaken(
        define(weights.average(), "two", WIDE.number(2)),
        (2 + 3 / WIDE["two"]) * WIDE["C"] * WIDE["log"] / WIDE["T"] + WIDE["bias"])),
    "another cutoff below q^C": ("allowed are letters", lambda: restrict(
        bound_late_error(weights.by_intervals(), WIDE), bound_late_error(weights.by_intervals(), WIDE).where,
        {"C": 2 * WIDE["C"]})),
    "the bias of a chosen cutoff": ("on the long-run bias", lambda: choose_cutoff_of_bias(
        choose_cutoff_of_bias(_BIAS(), ("T", "log", "least", "decay", "two")), ("m", "r", "b", "k", "t"))),
}  # fmt: skip


def _in_blocks() -> RunBound:
    longer = enlarge(weights.average_in_blocks(), "log", Definition("spread", "log", WIDE["T"]))
    return weaken(longer, WIDE["C"] * (2 + WIDE["spread"]) / WIDE["T"] + WIDE["bias"])


def _smooth_too() -> Theorem:
    """What is known before the cutoff, plus nothing of smooth functions: a theorem keeps what it has assumed."""
    early = weights.early_absence()
    C = early.where.ring["C"]
    smooth = Axioms(early.where, C, C).smooth(START_POINT, OPTIMUM, C)
    return combine([(early, 1), (smooth, 0)], where=early.where, context="run")


@pytest.mark.parametrize("name", UNSOUND)
def test_it_refuses(name: str) -> None:
    says, make = UNSOUND[name]
    with pytest.raises(ValueError, match=says):
        make()


def refusal(bound: RunBound) -> str:
    data = json.loads(json.dumps(saved_claim(bound, {}, {})))
    try:
        checker.check(copy.deepcopy(data))
    except checker.Wrong as wrong:
        return str(wrong)
    return ""


def _no_conditions(theorem: Theorem, *_: Any) -> tuple[str, tuple[Condition, ...]]:
    return "", theorem.where.conditions


PLANTED: dict[str, tuple[Any, str, Any]] = {
    "delta for any mean": (round_bounds, "OF_PLAIN_MEAN", set()),
    "a bound on the gradient for the mean that weights imply": (weighted_run_bounds, "OF_PLAIN_MEAN", set()),
    "a cap on every round's scale, for the mean": (weighted_run_bounds, "_conditions", _no_conditions),
    "a least weight that is the run's": (
        weighted_run_bounds,
        "_of_updates",
        lambda theorem: {
            name: value for name, value in theorem.parameters if name not in ("error", "scale", "least_weight")
        },
    ),
    "a smaller logarithm": (Where, "certifies", lambda *_: True),
    "the logarithm of less than 1": (Where, "certifies", lambda *_: True),
    "1 for less than a logarithm": (Where, "certifies", lambda *_: True),
    "a large bound before the cutoff": (Where, "certifies", lambda *_: True),
}
"""Lines of the kernel that are planted out, so that it makes the false bound: the checker refuses it."""


@pytest.mark.parametrize("name", PLANTED)
def test_the_checker_refuses_what_a_weaker_kernel_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, line, weaker = PLANTED[name]
    monkeypatch.setattr(place, line, weaker)
    assert re.match(r"bound \d+: ", refusal(UNSOUND[name][1]()))


@pytest.mark.parametrize(("plain", "error"), [(False, "objective_error"), (True, "weight_error")])
def test_a_round_without_an_error_of_weights_is_none_of_any_weights(plain: bool, error: str, monkeypatch) -> None:
    """With weights of 0 nothing moves, so that F does not fall; it does where E = 0, for any mean and for the plain
    one."""
    without = instantiate(rounds.descent(plain), {"E": 0 * E, "Q": 0 * Q}, WHERE)
    of = dict(bound_round(without, RUNS, "weighted_increase", ("slope", "R"), plain).parameters)
    assert of[error] == of["weight_scale"] == 0
    kept = {name: c.within(RUNS) for name, c in without.parameters if name not in ("error", "scale")}
    monkeypatch.setattr(round_bounds, "_of_weights", lambda *_: kept)
    forgot = bound_round(without, RUNS, "weighted_increase", ("slope", "R"), plain)
    assert "the file's parameters is not what the rule concludes" in refusal(forgot)


def test_the_checker_refuses_a_theorem_that_assumes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, first, read = _in_blocks(), _smooth_too(), interval_bounds._read

    def of_less(*given: Any) -> Any:
        """Read a theorem as if it assumed nothing."""
        found = read(*given)
        theorem = SimpleNamespace(assumptions=frozenset(), form=found.theorem.form, where=found.theorem.where)
        parts = {name: getattr(found, name) for name in ("first", "constant", "error", "of_error_below")}
        return SimpleNamespace(theorem=theorem, **parts)

    monkeypatch.setattr(interval_bounds, "_read", of_less)
    made = choose_cutoff(bound, ("least", "decay", "two"), first)
    assert "assumes more than the bound" in refusal(made)


def test_the_checker_accepts_each_bound_on_the_way() -> None:
    for make in (weights.average, weights._chosen_in_blocks, weights._bias):
        assert refusal(make()).startswith("claim")  # there is no claim in the file


# claims ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", FEW)
def test_no_digit_of_the_claim_may_change(ref: str) -> None:
    data, tried = json.loads(text_of(ref)), 0
    assert not why_no_claim(text_of(ref), data["letters"], data["claim"])
    for part in ("terms", "hypotheses", "choices"):
        for name, text in data["claim"][part].items():
            for found in re.finditer(r"\d", text):
                new = text[: found.start()] + str(int(found.group()) % 9 + 1) + text[found.end() :]
                changed = data["claim"] | {part: data["claim"][part] | {name: new}}
                assert "claim" in why_no_claim(text_of(ref), data["letters"], changed)
                tried += 1
    assert tried >= 2


@pytest.mark.parametrize("ref", ["fedau.thm2@corrected", "fedau.thm3@main", "fedau.lemmaB_7_1@sharp"])
def test_no_coefficient_of_a_bound_on_the_way_may_change(ref: str) -> None:
    text, tried = text_of(ref), 0
    for at, line in enumerate(json.loads(text)["bounds"]):
        for i, scalar in enumerate(line["bound"]):
            for j, _ in enumerate(scalar["top"]):
                data = json.loads(text)
                data["bounds"][at]["bound"][i]["top"][j][1] = str(F(scalar["top"][j][1]) + 1)
                with pytest.raises(checker.Wrong):
                    checker.check(data)
                tried += 1
    assert tried > 5


CHANGES: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "no reading of the weights": ("fedau.thm2@main", lambda claim: claim["readings"].pop("weights")),
    "estimated weights": ("fedau.thm2@main", lambda claim: claim["readings"].update(weights="estimated on the run")),
    "no bounded gradient": ("fedau.thm2@main", lambda claim: claim["assumptions"].remove(
        "bounded_gradient(global_gradient_bound)")),
    "no independence": ("fedau.thm3@main", lambda claim: claim["assumptions"].remove("independent_participation")),
    "one round": ("fedau.thm3@main", lambda claim: claim["hypotheses"].pop("two_rounds")),
    "another logarithm": ("fedau.thm3@main", lambda claim: claim["terms"].update(
        variance=claim["terms"]["variance"].replace("log(rounds)", "log(cutoff)"))),
    "another cutoff": ("fedau.lemmaB_7_1@main", lambda claim: claim["choices"].update(
        cutoff="ceiling(-log(rounds)/(3*log(1 - least_participation_probability)))")),
    "no choice": ("fedau.lemmaB_7_1@main", lambda claim: claim["choices"].pop("cutoff")),
    "before the cutoff": ("fedau.eqB_6_8.b@corrected", lambda claim: claim["hypotheses"].pop("after_the_cutoff")),
    "no cap of the scale": ("fedau.thm2@main", lambda claim: claim["hypotheses"].update(
        global_cap="global_lr*local_lr <= 1/(4*local_steps*smoothness)")),
    "another algorithm": ("fedau.thm2@main", lambda claim: claim.update(algorithm="fast")),
    "weights of another algorithm": ("fedau.thm3@main", lambda claim: claim.update(algorithm="safari")),
    "the implied gradient": ("fedau.thm2@main", lambda claim: claim.update(
        functional="average_squared_weighted_gradient")),
    "the mean scale for the largest": ("fedau.thm2@corrected", lambda claim: claim["terms"].update(
        {n: text.replace("expected_weight_scale", "weight_scale") for n, text in claim["terms"].items()})),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_no_other_claim_passes(change: str) -> None:
    ref, edit = CHANGES[change]
    data = json.loads(text_of(ref))
    edit(data["claim"])
    assert "claim" in why_no_claim(text_of(ref), data["letters"], data["claim"])


def test_a_bound_that_forgot_the_cutoff_is_none_of_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """With m >= 1 the round m C + r is after the cutoff: nothing has to be given, and no earlier round is meant."""
    check = check_of("fedau.eqB_6_8.b@corrected")
    assert check.bound is not None
    forgot = restrict(check.bound, check.bound.where, {}, [])
    assert check.bound.given and not forgot.given
    said = dict(check.said(check.read))
    said["hypotheses"] = {n: text for n, text in said["hypotheses"].items() if n != "after_the_cutoff"}
    data = saved_claim(forgot, check.goal.letters, said)
    with pytest.raises(checker.Wrong, match=r"no round t = m C \+ r"):
        checker.check(json.loads(json.dumps(data)))
    monkeypatch.setattr(
        checker.ClaimOfRuns, "is_of_round", lambda self, name, *rest: self.letters[name] == checker.WITHIN
    )
    checker.check(json.loads(json.dumps(data)))  # it is this alone that refuses it


@pytest.mark.parametrize("ref", PROVED)
def test_the_kernels_theorem_is_the_claim(ref: str) -> None:
    assert chain(ref).verdict == "proved" and check_of(ref).certified().outcome == "proved"
    said = checker.in_words(json.loads(text_of(ref)))
    assert ref in said and all(text in said for text in json.loads(text_of(ref))["claim"]["terms"].values())


def test_a_cap_with_a_root_is_read_from_above() -> None:
    """sqrt 15/60 is below 31/480, which is below 1/15, and sqrt 30/30 below 117/640, which is below 11/60."""
    for number_, factor, above, needed in ((15, 60, F(31, 480), F(1, 15)), (30, 30, F(117, 640), F(11, 60))):
        assert F(number_, factor**2) <= above**2 and above <= needed
    caps = [str(c) for c in check_of("fedau.thm2@main").goal.slacks()]
    assert any("31/480" in cap for cap in caps)


def test_the_plain_mean_is_none_of_weighing_clients() -> None:
    goal = check_of("fedau.thm2@main").goal
    bound = check_of("fedau.thm2@main").bound
    assert bound is not None and goal.rounds is not None and not list(goal.differences(bound))
    weighing = replace(goal, rounds=replace(goal.rounds, plain_mean=False))
    assert "it assumes equal_weights, and the claim does not" in list(weighing.differences(bound))


def test_a_bound_in_expectation_is_none_given_an_interval() -> None:
    """Where it is not shown that it holds given an interval, a claim that is read so is another one."""
    make, letters, _ = weights._BOUNDS["eqB_6_7@sharp"]
    for option in (readings.GIVEN_AN_INTERVAL, readings.IN_EXPECTATION):
        read = (Ambiguity(readings.CONDITION, (option,), "words"),)
        check = ClaimTheorem(
            replace(claim("fedau.eqB_6_7@sharp"), ambiguities=read), make, tuple(letters.items()), None, "fedau"
        )
        assert check.found() == (option == readings.IN_EXPECTATION)


def test_each_claim_has_a_bound_of_its_own() -> None:
    own = {ref for d in library().derivations for ref in d.proves if type(d.origin).__name__ == "MadeBound"}
    assert {*PROVED} <= own and all(claim(ref).paper == "fedau" for ref in PROVED)
    assert claim("fedau.thm3@main").functional.name == interval_bounds.AVERAGE_ERROR
