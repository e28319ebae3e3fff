"""Theorems on samples: true on small problems on which all tables of samples are enumerated, refused where they would
be unsound, by the kernel and by the checker."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import pytest
import sympy

from fedtheory.papers import claim
from fedtheory.papers.proofs import library
from fedtheory.papers.safari.proofs import samples
from fedtheory.proof import checker
from fedtheory.proof.chains import prove
from fedtheory.proof.composition import Composed
from fedtheory.proof.kernel import sampling_laws as laws
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.sampling_laws import Problem, SampleTheorem
from fedtheory.proof.kernel.saved_claims import digest
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Refused
from fedtheory.proof.step_certificates import saved_data
from fedtheory.quantities import symbols

from .sample_models import Finite, inside, value_of, values, wrong_in

R = Fraction


@cache
def theorem(name: str) -> SampleTheorem:
    return samples.MAKERS[name]()


def law(*rows: tuple[int, int]) -> tuple[tuple[Fraction, ...], ...]:
    total = sum(map(sum, rows))
    return tuple(tuple(R(p, total) for p in row) for row in rows)


LABELS = ((0, 0), (0, 1), (1, 1))
NOISY, OTHERS = law((6, 1), (1, 8)), law((2, 1), (0, 3))
CLEAN, OTHERS_CLEAN = law((1, 0), (0, 3)), law((2, 0), (0, 1))
MODELS = (
    Finite(LABELS, NOISY, NOISY, OTHERS, 2, 1),
    Finite(LABELS, CLEAN, CLEAN, OTHERS_CLEAN, 2, 3),
    Finite(((0, 1), (1, 1)), CLEAN, CLEAN, OTHERS, 3, 1),
    Finite(LABELS, NOISY, OTHERS, OTHERS_CLEAN, 1, 2),  # the server's samples are of another law
)
EXPONENTS = ((R(1), R(1)), (R(1, 2), R(1, 2)), (R(0), R(2)))


def constant(pairs: list[tuple[Fraction, Fraction]], exponent: Fraction) -> Fraction | None:
    """The least c with gap <= c base^exponent, a little more as it is a float; ``None`` if no c is enough."""
    found = [0.0]
    for gap, base in pairs:
        if gap and not base and exponent:
            return None
        found.append(float(gap) / float(base) ** float(exponent) if gap else 0.0)
    return R(max(found)) + R(1, 10**9)


def free_values(of: Finite, made: SampleTheorem, b: Fraction, beta: Fraction) -> dict[str, Fraction] | None:
    """Values of the free letters at which the problem meets the theorem's assumptions, or ``None``."""
    every, kinds = range(len(of.labels)), made.assumptions
    if "server_of_target" in kinds and of.server != of.target:
        return None
    if "one_target" in kinds and not any(all(of.risk(x, h) == 0 for x in ("target", "clients")) for h in every):
        return None
    name = laws.TARGET if "target_noise" in kinds else laws.POOL
    nu = constant([(of.disagreement(name, h, of.best(name)), of.excess(name, h)) for h in every], b)
    gaps = [(abs(of.excess("target", h) - of.excess("pool", h)), of.excess("pool", h)) for h in every]
    alpha = constant(gaps, beta)
    if (nu is None and any("noise" in kind for kind in kinds)) or (alpha is None and "positively_related" in kinds):
        return None
    share = R(of.client_samples, of.samples)
    alpha = max(R(1), share / (1 - share)) if "one_target" in kinds else alpha
    count = of.server_samples if "server_samples" in made.of.parameters else of.samples
    given = {
        "N": R(len(of.labels)), "n": R(count), "delta": R(9, 10), "nu": nu or R(0), "alpha": alpha or R(0), "b": b,
        "beta": beta, "share": share, "c": R(10**4), "d": R(of.dimension), "SA": R(100) if b == 1 else R(3, 4),
    }  # fmt: skip
    asked = {str(made.of.parameters.get(n)): v for n, v in (("noise_exponent", b), ("relatedness_exponent", beta))}
    if any(letter == "1" and value != 1 for letter, value in asked.items()):
        return None
    return given


OF_CLASSES = [
    name for name in samples.MAKERS if not name.startswith(("thm1", "app1", "ex1.within", "ex1.q", "thm2.first"))
]


@pytest.mark.parametrize("name", OF_CLASSES)
def test_every_theorem_holds_on_enumerated_problems(name: str) -> None:
    made, tried = theorem(name), []
    letters = {c.name for c in made.of.where.conditions}
    for of, (b, beta) in product(MODELS, EXPONENTS):
        given = free_values(of, made, b, beta)
        key = of, {n: v for n, v in (given or {}).items() if n in letters}
        if given is not None and key not in tried and inside(made.of, of, given):
            tried.append(key)
            assert not list(wrong_in(ancestry(made), of, given))
    assert tried


@pytest.mark.parametrize(
    "name",
    [
        "lemma1.excess.corrected",
        "lemma1.frequency.corrected",
        "thm3.corrected",
        "lemma1.excess.vc",
        "lemma1.deviation.main",
    ],
)
def test_a_level_that_is_too_low_is_seen_on_problems(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: events at a thousandth of their level, of the same failure."""
    from . import sample_models

    right = sample_models.happens
    monkeypatch.setattr(sample_models, "happens", lambda outcome, event, level: right(outcome, event, level / 1000))
    found = [
        wrong
        for of in MODELS
        if (given := free_values(of, theorem(name), R(1), R(1)))
        for wrong in wrong_in(ancestry(theorem(name)), of, given)
    ]
    assert any("fails with probability" in wrong for wrong in found)


# numbers, and the two-point problem


@pytest.mark.parametrize("name", ["thm1.main", "thm1.sharp", "thm1.functions", "app1.tail.main"])
def test_two_points_are_enumerated(name: str) -> None:
    """The least over learners, by trying them: what they say of the rare point, by the label that they see, or by lot
    where they see none."""
    for M, m, n in ((2, 1, 1), (3, 1, 1), (3, 2, 2), (2, 0, 2), (4, 3, 1)):
        made = theorem(name)
        rare = R(M - m, 2 * M)
        hidden = sum((math.comb(M * n, s) * rare**s * (1 - rare) ** (M * n - s) for s in range((M - m) * n + 1)), R(0))
        lots = [R(i, 20) for i in range(21)] if "functions" not in name else [R(0), R(1)]
        least = min(max(hidden * q, hidden * (1 - q)) for q in lots)
        free = {"M": R(M), "m": R(m), "n": R(n), "eps": rare / 4}
        at = values(made.of, free, lambda kind, *parts, least=least: least)
        for each in ancestry(made):
            value = value_of(each.form, at)
            assert each.functional or (value >= -1e-9 and not (each.equality and value > 1e-9))
        assert value_of(laws.left_side(made.of, made.functional), at) <= value_of(made.form, at) + 1e-12


@pytest.mark.parametrize("name", ["ex1.within", "ex1.q.within"])
def test_thresholds_within_the_support(name: str) -> None:
    made = theorem(name)
    for t, best, narrow, wide in product((R(0), R(1, 2), R(2)), (R(0), R(1)), (R(2), R(3)), (R(3), R(5))):
        off = abs(t - best)
        free = {"w_Q": narrow, "w_P": wide, "dist": off}
        at = values(made.of, free, lambda kind, of_law, h, o=off, w=free: o / w["w_P" if of_law == "target" else "w_Q"])
        for each in ancestry(made):
            value = value_of(each.form, at)
            assert each.functional or (value >= -1e-9 and not (each.equality and value > 1e-9))


# what is refused

_RING = Ring("x p q N n delta a a2 w z s u D e R R0 F F0 m g h y t off")
_x, _p, _q, _N, _n, _delta = (_RING[name] for name in ("x", "p", "q", "N", "n", "delta"))
_ONE = _RING.number(1)
_HALF = _RING.number(R(1, 2))


def problem(conditions: list[Condition] | None = None, parameters: dict | None = None, **numbers: tuple) -> Problem:
    own = [Condition("N", "count"), Condition("n", "count"), Condition("delta", "capped", _ONE)]
    given = {"class_size": _N, "samples": _n} if parameters is None else parameters
    return Problem(Where(_RING, (*(conditions or ()), *own)), given, numbers)


_LEVEL = ("level", _delta / _N, _n)
_AT_MOST_1, _ANY_X, _ABOVE = (
    Condition("x", "interval", _ONE), Condition("x", "nonnegative"), Condition("x", "at_least", _ONE),
)  # fmt: skip


def _of_risks(first: str, second: str) -> Problem:
    return problem(
        a=_LEVEL, D=("disagreement", "pool", *sorted((first, second))), w=("power", 2 * _RING["D"] * _RING["a"], _HALF),
        R=("risk", "pool", first), R0=("risk", "pool", second), F=("frequency", "pool", first),
        F0=("frequency", "pool", second),
    )  # fmt: skip


def _cancelled(by: int, factor: Scalar | None = None) -> object:
    """x (1 + x - sqrt x) >= 0, of which 1 + x - sqrt x is left by x."""
    of = problem([_ANY_X], g=("power", _x, _HALF))
    factor = _x if factor is None else factor
    product_ = laws.add(of, [(laws.power_at_most(of, "g"), _x)])
    return laws.cancel(product_, factor, by)


def _grown(first: str, second: str, dimension: Scalar) -> SampleTheorem:
    """A relative event, by the growth of a class of dimension x."""
    p, f = ("only", "pool", first, second), ("only frequency", "pool", first, second)
    of = problem(
        [_ABOVE], {"samples": _n, "vc_dimension": _x}, a=("growth", _delta, _n, dimension), R=p, F=f,
        w=("power", 16 * _RING["a"] * _RING["R"], _HALF),
    )  # fmt: skip
    return laws.relative(of, "pool", first, second, "a", above=False)


def test_a_relative_event_of_a_drawn_and_a_fixed_one() -> None:
    made = _grown("any", "best of Q", _x)
    assert made.events == {("relative", "pool", "any", "best of Q", "a")}


UNSOUND: dict[str, Callable[[], object]] = {
    "a power of what may be below 0": lambda: problem([_ANY_X], g=("power", _x - 1, _HALF)),
    "a negative exponent": lambda: problem([_ANY_X], g=("power", _x, -_HALF)),
    "a level of more than 1": lambda: problem(a=("level", 2 * _ONE, _n)),
    "a level of what may be 0": lambda: problem([_AT_MOST_1], a=("level", _x, _n)),
    "a number by a later one": lambda: problem([_ANY_X], g=("power", _RING["h"], _HALF), h=("power", _x, _HALF)),
    "one meaning twice": lambda: problem([_ANY_X], g=("power", _x, _HALF), h=("power", _x, _HALF)),
    "a probability above 1": lambda: problem([_ANY_X], s=("tail", _n, _x, _n)),
    "exponents in order of what may be on either side of 1": lambda: laws.order_of_exponents(
        problem([_ANY_X], g=("power", _x, _HALF), h=("power", _x, _ONE)), "g", "h"),
    "exponents out of order": lambda: laws.order_of_exponents(
        problem([_AT_MOST_1], g=("power", _x, _HALF), h=("power", _x, _ONE)), "h", "g"),
    "a related gap at most 1": lambda: laws.probability(problem(g=("related gap",)), "g"),
    "a square at most 1 + x": lambda: laws.power_at_most(problem([_ANY_X], g=("power", _x, 2 * _ONE)), "g"),
    "a negative multiplier": lambda: (
        lambda of: laws.add(of, [(laws.power_at_most(of, "g"), -1)])
    )(problem([_ANY_X], g=("power", _x, _HALF))),
    "a negative rest": lambda: laws.add(problem([_ANY_X]), [], constant=_x - 1),
    "a factor that may be 0 where the rest is below 0": lambda: _cancelled(0),
    "a factor that may be below 0": lambda: _cancelled(1, factor=_RING["x"] - 1),
    "a tail from below the mean": lambda: laws.cantelli(
        problem([_AT_MOST_1], s=("tail", _n, _x, _RING.number(0))), "s"),
    "no level by the samples": lambda: laws.bernstein(
        problem(parameters={"class_size": _N, "samples": 2 * _n}, **dict(_of_risks("any", "best of Q").numbers)),
        "pool", "any", "best of Q", "a"),
    "the server's samples, with the pool's level": lambda: laws.bernstein(
        _of_risks("any", "best of Q"), "server", "any", "best of Q", "a"),
    "an excess over another law's best": lambda: laws.excess(_of_risks("any", "best of Q"), "server", "any"),
    "a growth by another dimension": lambda: _grown("any", "best of Q", 2 * _x),
    "a relative event of two that are drawn": lambda: _grown("any", "other", _x),
    "a growth that is at most a complexity, of fewer samples": lambda: laws.growth_at_most(
        problem([_ABOVE], a=("growth", _delta, _n, _x), g=("complexity", _delta, _n, _x)), "a", "g"),
    "a growth that is at most a complexity, of a lower dimension": lambda: laws.growth_at_most(
        problem([Condition("x", "capped", _ONE)], a=("growth", _delta, _n, _x), g=("complexity", _delta, _n, _x)),
        "a", "g"),
    "a growth by another confidence": lambda: laws.growth_at_most(
        problem(a=("growth", _delta, _n, _ONE), g=("complexity", _delta / 2, _n, _ONE)),
        "a", "g"),
    "a relative pair by the growth of a fixed one": lambda: laws.relative_pair(
        problem([_ABOVE], {"samples": _n, "vc_dimension": _x}, a=("growth", _delta, _n, _x)),
        "pool", "only", "any", "other", "a", above=False),
    "a square at least min(x, 1)": lambda: laws.power_at_least(
        problem([_ANY_X], g=("power", _x, 2 * _ONE), h=("minimum", _x, _ONE)), "g"),
    "the lesser of two that are not in the bounds": lambda: (lambda of: laws.least(
        laws.add(of, [], constant=_x), laws.add(of, [], constant=2 * _ONE), "h", 1))(
        problem([_ANY_X], h=("minimum", _x, _ONE))),
    "the lesser of two equal numbers, times 1/(x - min(x, x))": lambda: (lambda of: laws.least(
        *[laws.add(of, [], constant=_HALF)] * 2, "h", 1 / (_x - _RING["h"])))(
        problem([_ANY_X], h=("minimum", _x, _x))),
    "what one errs in alone, of a share": lambda: laws.split(_of_risks("any", "best of Q"), "excess", "pool", "any",
                                                             "best of Q"),
    "a minimiser that is none": lambda: laws.minimiser(_of_risks("any", "best of Q"), "any", "best of Q"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNSOUND)
def test_the_kernel_refuses(what: str) -> None:
    with pytest.raises(Refused):
        UNSOUND[what]()


def test_pairs_of_drawn_hypotheses_count_as_pairs() -> None:
    """A minimiser against a drawn one is an event of all ordered pairs; only a fixed one makes N - 1 of them."""
    of = _of_risks("minimiser", "other")
    (event,) = laws.bernstein(of, "pool", "minimiser", "other", "a").events
    assert event[2:4] == ("any", "other")
    assert laws.failure(of, event) == _N * (_N - 1) * _delta / _N
    fixed = _of_risks("minimiser", "best of Q")
    (event,) = laws.bernstein(fixed, "pool", "minimiser", "best of Q", "a").events
    assert laws.failure(fixed, event) == (_N - 1) * _delta / _N


def test_a_confidence_below_the_failures_is_refused() -> None:
    name = "lemma1.excess.corrected"
    shown = theorem(name).premises[0]
    with pytest.raises(Refused, match="confidence less the failures"):
        laws.bounds(shown, "pooled_source_excess", samples.delta / 2)
    with pytest.raises(Refused, match="allowed is a confidence where samples are drawn"):
        laws.bounds(shown, "pooled_source_excess")


def test_a_bound_that_depends_on_the_samples_is_refused() -> None:
    of = theorem("lemma1.frequency.corrected").of
    shown = laws.frequent(of, "pool", "any", "other", "a2", above=True)
    with pytest.raises(Refused, match="which depends on no sample"):
        laws.bounds(shown, "disagreement_excess", samples.delta)


def test_theorems_of_two_problems_do_not_combine() -> None:
    first, second = (samples.MAKERS["eq15.main"]().premises[0] for _ in range(2))
    with pytest.raises(Refused, match="of this problem"):
        laws.add(first.of, [(first, 1), (second, 1)])


def test_a_changed_theorem_is_none() -> None:
    made = samples.MAKERS["eq15.main"]()
    object.__setattr__(made, "form", made.form / 2)
    with pytest.raises(Refused, match="changed after it was made"):
        saved(made)
    with pytest.raises(Refused, match="rules of the kernel alone"):
        SampleTheorem(made.of, frozenset(), frozenset(), made.form, False, "", None, "add", ())


# the checker

NAMES = list(samples.MAKERS)


@cache
def text_of(name: str) -> str:
    return json.dumps(saved(theorem(name)))


def data_of(name: str) -> dict:
    return json.loads(text_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_accepts(name: str) -> None:
    assert checker.check(data_of(name)) == len(ancestry(theorem(name)))
    assert theorem(name).functional in checker.in_words(data_of(name))


def refused(data: dict) -> bool:
    try:
        checker.check(data)
    except checker.Wrong:
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_refuses_what_says_more(name: str) -> None:
    """Every theorem's assumptions, events, sign and functional, and the confidence, changed one at a time."""
    for at, line in enumerate(data_of(name)["theorems"]):
        changed = [("equality", not line["equality"]), ("functional", "" if line["functional"] else "pooled_excess")]
        changed += [(part, line[part][1:]) for part in ("assumptions", "events") if line[part]]
        changed += [("confidence", None)] if line["confidence"] else []
        for part, value in changed:
            data = data_of(name)
            data["theorems"][at][part] = value
            assert refused(data), (at, part)


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_refuses_other_numbers(name: str) -> None:
    """Every coefficient of every theorem's form, doubled one at a time."""
    lines = data_of(name)["theorems"]
    for at, line in enumerate(lines):
        for i in range(len(line["form"]["top"])):
            data = data_of(name)
            term = data["theorems"][at]["form"]["top"][i]
            term[1] = str(R(term[1]) * 2)
            assert refused(data), (at, i)


OTHER_TRUE = {
    ("thm2.first.main", "va", 2),  # x^(2 beta r) <= x^r too
    ("thm2.main", "GG", 2),  # a larger constant
}
"""Meanings that can be changed so: name, letter and part. What is proved then is another theorem, and true."""


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_refuses_other_meanings(name: str) -> None:
    """Every word of every meaning exchanged for another one, and every number of one doubled."""
    words = {
        "pool": "server", "server": "pool", "target": "pool", "any": "minimiser", "minimiser": "any",
        "checked": "minimiser", "best of Q": "best of P", "best of P": "best of Q", "other": "checked",
    }  # fmt: skip
    for at, (letter, meaning) in enumerate(data_of(name)["numbers"]):
        for i, part in enumerate(meaning[1:], 1):
            data = data_of(name)
            if isinstance(part, str):
                data["numbers"][at][1][i] = words.get(part, "functions")
            else:
                data["numbers"][at][1][i]["top"] = [[powers, str(R(c) * 2)] for powers, c in part["top"]]
            if data != data_of(name):
                assert refused(data) != ((name, letter, i) in OTHER_TRUE), (letter, i)


FORGED: dict[str, tuple[str, Callable[[dict], None]]] = {
    "half the confidence": ("lemma1.excess.corrected", lambda d: d["theorems"][-1]["arguments"]["confidence"].update(
        {"top": [[p, str(R(c) / 2)] for p, c in d["theorems"][-1]["confidence"]["top"]]})),
    "a region that is larger": ("thm2.main", lambda d: d["regions"][0].pop(0)),
    "a level of other samples": ("lemma2.corrected", lambda d: d["parameters"].update(
        samples=d["parameters"].pop("server_samples"))),
    "no class size": ("thm3.massart", lambda d: d["parameters"].pop("class_size")),
    "a letter k": ("eq15.main", lambda d: d["names"].__setitem__(0, "k")),
    "an unknown rule": ("eq15.main", lambda d: d["theorems"][0].update(rule="combine")),
    "a cycle": ("eq15.main", lambda d: d["theorems"][-1].update(premises=[len(d["theorems"]) - 1])),
    "another version": ("eq15.main", lambda d: d.update(format="fedtheory samples 0")),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_the_checker_refuses_forged_files(what: str) -> None:
    name, forge = FORGED[what]
    data = data_of(name)
    forge(data)
    assert refused(data)


def test_a_planted_slip_of_the_checker_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the checker's sum of failures left out, half the confidence would pass: the forged file above shows it."""
    name, forge = FORGED["half the confidence"]
    data = data_of(name)
    forge(data)
    data["theorems"][-1]["confidence"] = data["theorems"][-1]["arguments"]["confidence"]
    assert refused(data)
    monkeypatch.setattr(checker.SampleProof, "failing", lambda self, event: checker.ZERO)
    assert not refused(data)


# claims

PROVED = (
    "thm1@main", "thm1@sharp", "thm1@functions", "app1.tail@main", "ex1@main", "ex1@within", "ex1@corrected",
    "ex1.q@main", "ex1.q@within", "eq15@main", "thm2@main", "thm2@corrected", "thm2@massart", "thm2.first@main",
    "thm3@main", "thm3@corrected", "thm3@massart", "lemma1.frequency@corrected", "lemma1.deficit@corrected",
    "lemma1.frequency@main", "lemma1.deficit@main", "lemma1.deviation@main", "lemma1.excess@main",
    "lemma1.deviation@corrected", "lemma1.excess@corrected", "lemma1.excess@vc", "thm2@vc", "thm3@vc",
    "lemma2@corrected", "rem2.thm2@main",
    "rem2.thm2@corrected",
)  # fmt: skip


@pytest.mark.parametrize("ref", PROVED)
def test_the_kernel_proves(ref: str) -> None:
    chain = prove(claim(f"safari.{ref}"), library())
    assert (chain.verdict, chain.joints) == ("proved", "kernel")
    said = checker.told(saved_data(chain))[1]
    own = chain.claim.under(chain.theorem.read)
    assert said.startswith(f"safari.{ref} (") and "of every learning problem" in said
    assert all(str(term.expression) in said for term in own.terms)
    assert all(str(hypothesis.relation) in said for hypothesis in own.hypotheses)


@pytest.mark.parametrize("ref", PROVED)
def test_a_smaller_right_side_is_not_proved(ref: str) -> None:
    """Each term times 9/10 (a negative one: 11/10; of what is compared with slack, much less)."""
    own = claim(f"safari.{ref}")
    slack = {"thm1@main": 10, "app1.tail@main": R(7, 10)}.get(ref)
    for term in own.terms:
        factor = slack or (R(11, 10) if term.expression.could_extract_minus_sign() else R(9, 10))
        smaller = own.edited("main", "mutated", terms={term.name: term.expression * factor})
        assert prove(smaller, library()).verdict != "proved", term.name


def test_a_reader_takes_no_other_evidence() -> None:
    """The text of one theorem is no evidence for another one, nor with a meaning changed."""
    first, second = (Composed(lambda name=name: theorem(name)) for name in ("thm3.corrected", "thm3.massart"))
    (text,) = first.certified().evidence
    assert first.accepts((text,)) and not second.accepts((text,))
    changed = text.replace("disagreement", "excess", 1)
    assert not first.accepts((changed,))


# the claim in the file: every part of what it says is compared with what is proved


@cache
def proof_of(ref: str) -> tuple[checker.SampleProof, dict]:
    """A claim's saved proof, checked, and what of it is about the claim."""
    data = saved_data(prove(claim(f"safari.{ref}"), library()))
    return checker.SampleProof(data), {part: data[part] for part in ("letters", "claim")}


def told_apart(ref: str, said: dict) -> bool:
    """Whether the checker refuses what a file says of a claim, beside this proof, with a digest of it."""
    proof, _ = proof_of(ref)
    checker.LEFT["work"] = checker.LARGEST["work"]
    regions = len(proof.regions)
    try:
        checker.ClaimOfSamples(proof, said | {"digest": digest(said["letters"], said["claim"])})
    except checker.Wrong:
        return True
    finally:
        del proof.regions[regions:]
    return False


def changed(ref: str, part: str, **words: object) -> dict:
    """What a file says of a claim, with some words of a part changed, or left out where they are None."""
    said = deepcopy(proof_of(ref)[1])
    there = said["letters"] if part == "letters" else said["claim"][part]
    there.update(words)
    for name in [name for name, value in words.items() if value is None]:
        del there[name]
    return said


NOT_ASKED = {"thm1@main": {"error_level_at_least"}, "thm1@sharp": {"error_level_at_least"},
             "thm1@functions": {"error_level_at_least"}}  # fmt: skip
"""Hypotheses that the theorem does not need."""


@pytest.mark.parametrize("ref", PROVED)
def test_no_digit_of_the_claim_may_change(ref: str) -> None:
    """Unless the right side grows, or it is of a hypothesis that is not needed."""
    _, own = proof_of(ref)
    assert not told_apart(ref, own)
    form = theorem_of(ref).form
    proved = str(form) if not form.names else ""  # a number, from which a printed one may be further away
    for part in ("terms", "hypotheses", "functional"):
        texts = own["claim"][part] if part != "functional" else {"": own["claim"][part]}
        for name, text in texts.items():
            for at in (i for i, c in enumerate(text) if c.isdigit()):
                other = f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"
                said = deepcopy(own)
                if part == "functional":
                    said["claim"][part] = other
                else:
                    said["claim"][part][name] = other
                if not told_apart(ref, said):
                    assert name in NOT_ASKED.get(ref, ()) or (part == "terms" and is_larger(other, proved or text)), (
                        name,
                        other,
                    )


def is_larger(one: str, other: str) -> bool:
    """Whether an expression is not below another one at 20 points, drawn with a seed."""
    draw = Random(0)
    difference = sympy.sympify(one) - sympy.sympify(other)
    points = [{s: draw.uniform(0.01, 0.99) for s in difference.free_symbols} for _ in range(20)]
    return all(difference.evalf(subs=point) >= -1e-12 for point in points)


@pytest.mark.parametrize("ref", PROVED)
def test_no_hypothesis_or_assumption_may_go(ref: str) -> None:
    _, own = proof_of(ref)
    of = theorem_of(ref)
    for name in own["claim"]["hypotheses"]:
        free = name in NOT_ASKED.get(ref, ())
        assert told_apart(ref, changed(ref, "hypotheses", **{name: None})) != free, name
    for name in own["claim"]["assumptions"]:
        said = deepcopy(own)
        said["claim"]["assumptions"].remove(name)
        assert told_apart(ref, said) == (name in of.assumptions), name


def theorem_of(ref: str) -> SampleTheorem:
    return prove(claim(f"safari.{ref}"), library()).theorem.make()


SAYS_MORE: dict[str, tuple[str, Callable[[], dict]]] = {
    "another functional": ("thm3@vc", lambda: changed_word("thm3@vc", "functional", "pooled_excess")),
    "the source's samples for the server's": ("thm3@vc", lambda: renamed("thm3@vc", "server_samples", "samples")),
    "another number of samples": ("thm2@vc", lambda: renamed("thm2@vc", "samples", "server_samples")),
    "a confidence that is another quantity": ("thm2@vc", lambda: renamed("thm2@vc", "confidence", "client_share")),
    "a letter that stands for nothing": ("thm2@main", lambda: changed("thm2@main", "letters", c=None)),
    "a number's letter": ("thm2@main", lambda: changed("thm2@main", "letters", a="hidden_constant", c=None)),
    "a choice": ("thm2@vc", lambda: changed("thm2@vc", "choices", samples="1")),
    "a reading of the left side": ("thm2@vc", lambda: changed("thm2@vc", "readings", average="r = 0..R-1")),
    "a smaller right side": ("thm1@sharp", lambda: changed("thm1@sharp", "terms", more="-1/100000")),
    "a division by 0": ("thm2.first@main", lambda: changed_word(
        "thm2.first@main", "functional", "0/(vc_dimension - vc_dimension)")),
    "a larger left side": ("thm2.first@main", lambda: changed_word(
        "thm2.first@main", "functional", "(vc_dimension/(client_samples + server_samples))**(1/(3 - noise_exponent))")),
    "a root of what is negative": ("lemma2@corrected", lambda: changed(
        "lemma2@corrected", "terms", root="sqrt(2)*best_excess**(noise_exponent/2)*sqrt(-noise_constant)*"
        "sqrt(-server_complexity)")),
    "only one of two exponents": ("thm2@massart", lambda: changed(
        "thm2@massart", "hypotheses", beta_at_most_1=None)),
    "an expression by what is always so": ("thm1@sharp", lambda: changed(
        "thm1@sharp", "hypotheses", rare_mass_at_most=None, rare_mass_at_least="rare_mass <= rare_mass")),
    "two expressions by one another": ("thm2@massart", lambda: changed(
        "thm2@massart", "hypotheses", relatedness_exponent_is_1="relatedness_exponent >= noise_exponent",
        beta_at_most_1="relatedness_exponent <= noise_exponent", noise_exponent_is_1=None)),
    "a hypothesis the other way": ("thm2@main", lambda: changed(
        "thm2@main", "hypotheses", enough_samples="complexity >= 1")),
    "a hypothesis by itself": ("ex1@corrected", lambda: changed(
        "ex1@corrected", "hypotheses", at_least_the_shares="client_share*(1 - client_share) >= client_share")),
}  # fmt: skip


def changed_word(ref: str, part: str, word: str) -> dict:
    said = deepcopy(proof_of(ref)[1])
    said["claim"][part] = word
    return said


def renamed(ref: str, old: str, new: str) -> dict:
    """With one quantity for another in all that the file says, where no letter has the new name."""
    return json.loads(re.sub(rf"\b{old}\b", new, json.dumps(proof_of(ref)[1])))


@pytest.mark.parametrize("what", SAYS_MORE)
def test_the_checker_refuses_a_claim_that_says_more(what: str) -> None:
    ref, make = SAYS_MORE[what]
    assert told_apart(ref, make())


def test_planted_slips_of_the_comparison_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the comparison of letters, or of conditions, what is refused above passes."""
    for what, check in (("another number of samples", "check_letters"), ("only one of two exponents",
                         "check_conditions")):  # fmt: skip
        ref, make = SAYS_MORE[what]
        with monkeypatch.context() as planted:
            planted.setattr(
                checker.ClaimOfSamples,
                check,
                lambda self, *_: vars(self).update(plain=dict.fromkeys(self.problem.quantities)),
            )
            assert not told_apart(ref, make()), what
        assert told_apart(ref, make())


def test_two_expressions_by_one_another_are_nothing_to_the_kernel() -> None:
    """That two exponents are the same does not make them 1."""
    own = prove(claim("safari.thm2@massart"), library()).theorem
    beta, noise = symbols("relatedness_exponent", "noise_exponent")
    same = tuple(replace(own.claim.hypotheses[0], name=n, relation=r) for n, r in (("a", beta <= noise),
                                                                                  ("b", beta >= noise)))  # fmt: skip
    assert [*replace(own, claim=replace(own.claim, hypotheses=same)).apart()]


@pytest.mark.parametrize("ref", ["thm2@main", "ex1@corrected", "thm3@massart", "lemma1.excess@main"])
def test_the_kernels_side_tells_claims_apart(ref: str) -> None:
    """By itself, without the checker: a hypothesis, an assumption, an option and a functional less, or other."""
    chain = prove(claim(f"safari.{ref}"), library())
    own, asked = chain.theorem, theorem_of(ref).assumptions
    assert not [*own.apart()]
    this = own.claim
    others = [replace(this, hypotheses=tuple(h for h in this.hypotheses if h is not one)) for one in this.hypotheses]
    others += [replace(this, assumptions=tuple(a for a in this.assumptions if a.kind != one)) for one in asked]
    others += [replace(this, functional=claim("safari.eq15").functional)]
    others += [replace(this, ambiguities=())] if this.ambiguities else []
    others += [this.edited("main", "mutated", terms={t.name: t.expression * R(99, 100)}) for t in this.terms]
    assert others and all([*replace(own, claim=other).apart()] for other in others)
