"""Chosen steps, and errors of weights that are put in: each bound is above the one that it is from at the step that is
chosen, unsound neighbours are refused, by the checker too; and the claims that choose otherwise are not proved."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from math import exp, log, sqrt
from typing import Any

import pytest
from sympy import Rational

from fedtheory.claims.statement import Term
from fedtheory.papers import claim
from fedtheory.papers.fast.proofs.thm1_thm2 import PERIODS
from fedtheory.papers.fedau.proofs import cor4, thm1_thm2
from fedtheory.papers.fedau.proofs.cor4 import RUNS, G, K, L, Q, R, c, d, error_of_weights, gap, n, sigma
from fedtheory.papers.proofs import chain, proof_of
from fedtheory.proof import checker
from fedtheory.proof.kernel import step_choices
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import Definition, RunBound, enlarge, restrict, weaken
from fedtheory.proof.kernel.saved_claims import saved_claim
from fedtheory.proof.kernel.step_choices import choose_by_logarithm, choose_step, put_error
from fedtheory.proof.kernel.tactics import restricted
from fedtheory.proof.kernel.weighted_run_bounds import EXPECTED_SCALE, LARGEST_SCALE, telescope_weights

from .written import why_no_claim

CLAIMS = [f"fedau.{ref}" for ref in cor4._BOUNDS]
WIDE = K * (d**2 + G**2) + sigma**2
ENTRIES = [(gap * n, Q * WIDE * L * K * R), cor4._GLOBAL]
SHARE = 18 / (n * K * R)


def run(*given: Any) -> RunBound:
    """Theorem 2, repaired, with its error."""
    start = telescope_weights(thm1_thm2.bounded_corrected(), RUNS, "R", "gap", EXPECTED_SCALE)
    conditions = [Condition("Q", "positive"), Condition("c", "positive"), Condition("R", "at_least", RUNS.number(2))]
    return restricted(start, {}, conditions, [1 / (4 * L * K) - c, *given])


def with_error() -> RunBound:
    return put_error(run(), error_of_weights())


def as_a_step(letter: str) -> RunBound:
    """The same where what a letter stands for is c, too."""
    return restricted(with_error(), {letter: c}, [], with_error().given)


def at(bound: RunBound, values: dict[str, float]) -> float:
    names = bound.where.ring.names
    top, bottom = bound.bound.numerator.to_dict(), bound.bound.denominator.to_dict()

    def value(polynomial: dict) -> float:
        total = 0.0
        for powers, coefficient in polynomial.items():
            term = float(int(coefficient.p) / int(coefficient.q))
            for name, power in zip(names, powers, strict=True):
                term *= values[name] ** int(power) if power else 1.0
            total += term
        return total

    return value(top) / value(bottom)


@pytest.mark.parametrize("name", CLAIMS)
def test_it_is_above_the_theorem_at_the_chosen_steps(name: str) -> None:
    """At draws over many sizes that meet every entry of both minima, and near what it bounds."""
    chosen = chain(name).theorem.make()
    before: RunBound = chosen
    while before.rule in ("choose step", "put error"):
        before = before.premise
    of, met = dict(chosen.parameters), set()
    draw = random.Random(1)
    for _ in range(60):
        values = dict.fromkeys(RUNS.names, 0.0)
        values |= {x: 10 ** draw.uniform(-3, 3) for x in ("L", "gap", "Q", "sigma", "d", "G")}
        values |= {x: float(10 ** draw.randint(1, 4)) for x in ("R", "n", "K")}
        values |= {"log": log(values["R"]), "two": log(2), "decay": -1 / (2 * log(1 - draw.uniform(0.01, 0.99)))}
        root = next(x for x in chosen.definitions if x.sort == "root").of
        values["lead"] = sqrt(at(replace_bound(root), values))
        for step, letter in (("weighted_lr", "c"), ("local_lr", "eta")):
            entries = []
            while f"{step} above {len(entries)}" in of:
                above, below = (of[f"{step} {word} {len(entries)}"] for word in ("above", "below"))
                entries.append(sqrt(at(replace_bound(above), values) / at(replace_bound(below), values)))
            values[letter] = min(entries)
            met.add((step, entries.index(min(entries)), len(entries)))
        values["E"] = at(error_of_weights(), values)
        theorem, bound = at(before, values), at(chosen, values)
        assert theorem <= bound * (1 + 1e-12) and bound < 100 * theorem  # the sums of floats round
    assert all((step, i, most) in met for step, _, most in met for i in range(most))


def replace_bound(scalar: Any) -> Any:
    """Something with the scalar in the place of a bound, to evaluate it."""
    return type("Scalar", (), {"bound": scalar, "where": type("Where", (), {"ring": scalar.ring})})


# unsound neighbours ---------------------------------------------------------------------------------------------------


def capped_by_rounds() -> RunBound:
    """The error's bound for three rounds or more."""
    where = error_of_weights().where
    late = Condition("R", "at_least", RUNS.number(3))
    return restrict(error_of_weights(), Where(RUNS, tuple(late if x.name == "R" else x for x in where.conditions)))


def grows_with_its_square() -> RunBound:
    bound = run()
    return weaken(bound, bound.bound + RUNS["E"] ** 2 * RUNS["G"] ** 2)


UNSOUND: dict[str, tuple[str, Callable[[], RunBound]]] = {
    "an error of other runs": ("same condition on the rounds", lambda: put_error(run(), capped_by_rounds())),
    "the error in a square": ("allowed is what is linear", lambda: put_error(
        grows_with_its_square(), error_of_weights())),
    "an error that is given": ("of which the region says something", lambda: put_error(
        run(1 - RUNS["E"] * c), error_of_weights())),
    "a run's bound for the error": ("allowed is a run's bound with the error", lambda: put_error(run(), run())),
    "an error twice": ("allowed is a run's bound with the error", lambda: put_error(with_error(), error_of_weights())),
    "a share that is too small": ("allowed is a/x", lambda: choose_step(
        with_error(), "weighted_lr", ENTRIES, [4 * L * K], SHARE * 17 / 18, "lead")),
    "an inverse that is too small": ("inverses of other entries", lambda: choose_step(
        with_error(), "weighted_lr", ENTRIES, [3 * L * K], SHARE, "lead")),
    "no inverse": ("inverses of other entries", lambda: choose_step(
        with_error(), "weighted_lr", ENTRIES, [], SHARE, "lead")),
    "no cap": ("not certified for the step", lambda: choose_step(
        with_error(), "weighted_lr", ENTRIES[:1], [], SHARE, "lead")),
    "a cap that is too large": ("not certified for the step", lambda: choose_step(
        with_error(), "weighted_lr", [ENTRIES[0], (RUNS.number(1), 9 * L**2 * K**2)], [4 * L * K], SHARE, "lead")),
    "a cap by what may be 0": ("not certified for the step", lambda: choose_step(
        with_error(), "weighted_lr", [ENTRIES[0], (gap, 16 * L**2 * K**2 * gap)], [4 * L * K], SHARE, "lead")),
    "an entry that may be negative": ("entry that is not certified", lambda: choose_step(
        with_error(), "weighted_lr", [*ENTRIES, (1 - K, RUNS.number(1))], [4 * L * K, K], SHARE, "lead")),
    "a slope without G": ("allowed is a/x", lambda: choose_step(
        with_error(), "weighted_lr", [(gap * n, Q * (K * d**2 + sigma**2) * L * K * R), cor4._GLOBAL], [4 * L * K],
        SHARE, "lead")),
    "a root's letter that is there": ("allowed is a new letter", lambda: choose_step(
        with_error(), "weighted_lr", ENTRIES, [4 * L * K], SHARE, "log")),
    "a local step that may be too large": ("not certified for the step", lambda: choose_step(
        with_error(), "local_lr", cor4._LOCAL[:1])),
    "a square of the step by what may be 0": ("may be 0", lambda: choose_step(
        with_error(), "local_lr", [(RUNS.number(1), gap), cor4._LOCAL[1]])),
    "a step that is the initial gap, too": ("no other parameter", lambda: choose_step(
        as_a_step("gap"), "weighted_lr", ENTRIES, [4 * L * K], SHARE, "lead")),
    "a step that is the noise, too": ("no other parameter", lambda: choose_step(
        as_a_step("sigma"), "weighted_lr", ENTRIES, [4 * L * K], SHARE, "lead")),
    "the number of rounds as a step": ("no other parameter|step > 0", lambda: choose_step(
        with_error(), "rounds", ENTRIES)),
    "a larger root": ("allowed is no power", lambda: enlarge(
        chain(CLAIMS[2]).theorem.make(), "lead", Definition("w", "root", gap))),
}  # fmt: skip


def fast_before() -> RunBound:
    before = chain("fast.cor3@corrected").theorem.make()
    while before.rule != "choose by logarithm":
        before = before.premise
    return before.premise


def by_logarithm(of: Any = None, cap: Any = None, letters: tuple[str, str] = ("I", "power")) -> RunBound:
    """FAST's Corollary 3, with something else in its choice."""
    own = chain("fast.cor3@corrected").theorem.make().arguments
    return choose_by_logarithm(fast_before(), "local_lr", of or own["of"], cap or own["cap"], *letters)


def _own(name: str) -> Any:
    return chain("fast.cor3@corrected").theorem.make().arguments[name]


def without_noise() -> RunBound:
    """The same for exact gradients: the right side is exp(-A cap) D + 1, and has no logarithm."""
    x, start, mu, none = (PERIODS[n] for n in ("eta", "start", "mu", "sigma"))
    before = fast_before()
    zero = {"sigma": 0 * none, "sigma_G": 0 * none}
    where = Where(PERIODS, tuple(c for c in before.where.conditions if c.name not in zero))
    before = restrict(before, where, zero, before.given)
    made = choose_by_logarithm(before, "local_lr", start**2, _own("cap"), "I", "power")
    assert before.bound == PERIODS["decay"] * start**2 and "I" not in made.bound.names
    return weaken(made, made.bound + x * mu)


def chosen_twice() -> RunBound:
    """exp(-A cap) <= exp(-A x) as x <= cap, by which x would be chosen anew: what was shown of the first choice would
    be said of the second one, whose noise is larger."""
    x, mu, K, R, start = (PERIODS[n] for n in ("eta", "mu", "K", "R", "start"))
    again = enlarge(by_logarithm(), "power", Definition("decay", "exponential", x * mu * K * R))
    return choose_by_logarithm(again, "local_lr", PERIODS.number(10**9), start**2 + 10**6, "a", "n")


UNSOUND |= {
    "a step that is chosen already": ("chosen already", chosen_twice),
    "another number for a logarithm that only the choice has": ("allowed are letters that are not defined", lambda: (
        restrict(without_noise(), without_noise().where, {"I": PERIODS.number(0)}, without_noise().given))),
    "a negative number in the logarithm": ("not certified to be >= 0", lambda: by_logarithm(-_own("of"))),
    "a cap below 0": ("not certified to be >= 0", lambda: by_logarithm(cap=-_own("cap"))),
    "a cap by the step": ("allowed is exp", lambda: by_logarithm(cap=PERIODS["eta"])),
    "a logarithm's letter that is there": ("allowed is one definition a letter", lambda: by_logarithm(
        letters=("R", "power"))),
    "a step that is no exponential's": ("of one exponential", lambda: choose_by_logarithm(
        fast_before(), "cohort", _own("of"), _own("cap"), "I", "power")),
}  # fmt: skip


def test_a_step_by_a_logarithm() -> None:
    """At draws where either entry is the least, the bound is above the one that it is from."""
    before, after, draw, met = fast_before(), by_logarithm(), random.Random(0), set()
    for _ in range(300):
        values = dict.fromkeys(PERIODS.names, 0.0)
        values |= {x: 10 ** draw.uniform(-2, 2) for x in ("start", "sigma", "sigma_G")}
        values |= {x: float(draw.randint(1, 9)) for x in ("K", "m")} | {"R": 10.0 ** draw.randint(1, 5), "q": 1.0}
        values |= {"mu": draw.uniform(0.1, 1), "L": 1.0}
        values["I"] = log(max(at(replace_bound(_own("of")), values), 1))
        entries = [at(replace_bound(dict(after.parameters)[f"local_lr least {i}"]), values) for i in (0, 1)]
        met.add(entries.index(min(entries)))
        values |= {"eta": min(entries), "decay": exp(-values["mu"] * values["K"] * values["R"] * min(entries))}
        values["power"] = exp(-values["mu"] * values["R"] / (20 * values["m"] * values["L"]))
        assert at(before, values) <= at(after, values) * (1 + 1e-9)  # floats round
    assert met == {0, 1}


@pytest.mark.parametrize("name", UNSOUND)
def test_it_refuses(name: str) -> None:
    says, make = UNSOUND[name]
    with pytest.raises(ValueError, match=says):
        make()


def refusal(bound: RunBound) -> str:
    data = json.loads(json.dumps(saved_claim(bound, {}, {})))
    try:
        checker.check(data)
    except checker.Wrong as wrong:
        return str(wrong)
    return ""


def test_the_checker_accepts_what_is_sound() -> None:
    for made in (with_error(), choose_step(with_error(), "weighted_lr", ENTRIES, [4 * L * K], SHARE, "lead")):
        assert refusal(made).startswith("claim")  # there is no claim in the file


PLANTED: dict[str, tuple[Any, str, Any]] = {
    **dict.fromkeys(("a share that is too small", "an inverse that is too small", "a cap that is too large",
                     "an entry that may be negative", "a negative number in the logarithm",
                     "a cap below 0"), (Where, "certifies", lambda *_: True)),
    "no cap": (step_choices, "_holds", lambda *_: True),
    "a local step that may be too large": (step_choices, "_holds", lambda *_: True),
    "a cap by what may be 0": (Where, "never_zero", lambda *_: True),
    "a square of the step by what may be 0": (Where, "never_zero", lambda *_: True),
    "a step that is chosen already": (step_choices, "_is_chosen", lambda *_: False),
}  # fmt: skip
"""Lines of the kernel that are planted out, so that it makes the false bound: the checker refuses it."""


@pytest.mark.parametrize("name", PLANTED)
def test_the_checker_refuses_what_a_weaker_kernel_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, line, weaker = PLANTED[name]
    with_error(), fast_before()  # the sound parts are made before
    monkeypatch.setattr(place, line, weaker)
    assert re.match(r"(bound \d+|conditions)", refusal(UNSOUND[name][1]()))


# claims ---------------------------------------------------------------------------------------------------------------

CLAIM = claim("fedau.cor4@corrected")


@pytest.mark.parametrize("term", ["leading", "weights", "optimization", "drift"])
def test_no_term_can_be_less(term: str) -> None:
    """One percent off any term loses the proof; a larger one keeps it."""

    def with_factor(factor: Rational) -> Any:
        terms = tuple(Term(t.name, t.expression * (factor if t.name == term else 1)) for t in CLAIM.terms)
        return proof_of(replace(CLAIM, terms=terms))

    assert with_factor(Rational(99, 100)) is None
    assert with_factor(Rational(101, 100)).verdict == "proved"


@pytest.mark.parametrize("name", ["local_lr", "global_lr", "cutoff"])
def test_no_choice_can_be_another(name: str) -> None:
    own = CLAIM.choices
    assert proof_of(replace(CLAIM, choices={**own, name: own[name] * 2})) is None
    assert proof_of(replace(CLAIM, choices={k: v for k, v in own.items() if k != name})) is None


def test_a_claim_from_one_round_on_is_not_proved() -> None:
    """log T is 0 at T = 1, and no bound on the weights' error is."""
    assert proof_of(replace(CLAIM, hypotheses=())) is None


def test_weights_of_another_law_are_none_of_intervals() -> None:
    theorem = chain(CLAIM.ref).theorem
    others = replace(theorem.goal, rounds=replace(theorem.goal.rounds, by_intervals=False))
    assert any("means of the lengths of intervals" in why for why in others.differences(theorem.bound))


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a smaller entry": lambda said: said["choices"].update(
        local_lr=said["choices"]["local_lr"].replace("sqrt(15)", "sqrt(14)")),
    "an entry less": lambda said: said["choices"].update(local_lr="1/(sqrt(rounds)*local_steps*smoothness)"),
    "a negative entry": lambda said: said["choices"].update(
        global_lr=said["choices"]["global_lr"].replace("Min(1/", "Min(-1/", 1)),
    "over another step": lambda said: said["choices"].update(
        global_lr=said["choices"]["global_lr"].rpartition("/Min")[0] + "/local_steps"),
    "no cutoff": lambda said: said["choices"].pop("cutoff"),
    "a step that is not chosen": lambda said: said["choices"].pop("global_lr"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_the_checker_compares_choices(edit: str) -> None:
    text = chain(CLAIM.ref).theorem.text()
    letters, claim = (json.loads(text)[part] for part in ("letters", "claim"))
    assert not why_no_claim(text, letters, claim)
    EDITS[edit](claim)
    assert "claim" in why_no_claim(text, letters, claim)


def test_the_largest_scale_is_a_number_known_beforehand() -> None:
    start = telescope_weights(thm1_thm2.bounded(), RUNS, "R", "gap", LARGEST_SCALE)
    assert ("scale_known_beforehand", None) in start.assumptions
    assert ("scale_known_beforehand", None) in chain("fedau.cor4@main").theorem.make().assumptions
