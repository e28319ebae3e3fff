"""Conditions of rules that once stood in the kernel or in the checker alone, or in neither: both ask for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from fedtheory.proof import checker
from fedtheory.proof.kernel import round_rules, theorems
from fedtheory.proof.kernel.answering_clients import Answers
from fedtheory.proof.kernel.axioms import ITERATE, NOISE, OPTIMUM, START_POINT, Axioms, at, gradient_at
from fedtheory.proof.kernel.forms import ONE, Form, Term, Value, Vector, square
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_rules import expect_arbitrary, expect_uniform, mix
from fedtheory.proof.kernel.saved_theorems import _data, saved, saved_together
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.theorems import Refused, Theorem, at_step, combine, induct, instantiate, over_steps

RING = Ring("eta gamma s t p q n K k")
eta, gamma, s, t, p, q, n, K, k = RING.symbols
one, zero = RING.number(1), RING.number(0)
WHERE = Where(RING, (
    Condition("eta", "positive"), Condition("gamma", "nonnegative"),
    *(Condition(name, "interval", 1 / n) for name in ("s", "t")),
    *(Condition(name, "interval", one) for name in ("p", "q")),
    *(Condition(name, "count") for name in ("n", "K")),
))  # fmt: skip


def values_fall_slowly() -> Theorem:
    """sum_k F_i(x_{i,k+1}) - sum_k F_i(x_{i,k}) + K eta gamma >= 0 of convex F_i with E|grad F_i + N|^2 <= gamma."""
    axioms = Axioms(WHERE, eta, one, given="start")
    slope, noise = axioms.gradient(ITERATE), axioms.vector(NOISE)
    apart = axioms.unbiased(slope)
    bounded = Answers(WHERE, eta, eta, gamma).stochastic_gradient(gamma)
    smaller = combine([(bounded, 1), (apart, 2)], where=WHERE, context="start", squares=[(noise, "", 1)])
    convex, step = axioms.convex(at(ITERATE, 1), ITERATE, zero), axioms.local_step(slope)
    lines = [(convex, 1), (step, 1), (apart, -eta), (smaller, eta)]
    return over_steps(combine(lines, where=WHERE, context="start"))


FALSE = Form(RING, {Value("K", ITERATE): one, Value("K", START_POINT): -one, ONE: k * K * eta * gamma})
"""sum_k F_i(x_{i,k}) - K F_i(x) + k K eta gamma, which is negative at k = 0 where F_i falls."""


def false_induction() -> tuple[dict, Theorem, Theorem]:
    """Return a file whose last line is an induction over a form in which k is below a sum, base and step."""
    step, base = values_fall_slowly(), combine([], where=WHERE, context="start")
    data, numbers = saved_together([base, step], RING.names)
    data = json.loads(json.dumps(data))
    line = data["theorems"][numbers[1]] | {
        "rule": "induct", "premises": numbers, "arguments": {"factor": _data(one)}, "form": _data(FALSE),
        "path_to_the_end": True,
    }  # fmt: skip
    data["theorems"].append(line)
    return data, base, step


def test_the_step_below_a_sum_stays() -> None:
    data, base, step = false_induction()
    with pytest.raises(Refused, match="base"):
        induct(base, step, FALSE, one)
    with pytest.raises(checker.Wrong, match="the base is another one"):
        checker.check(data)


def test_the_step_below_a_sum_is_substituted_in_the_old_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the checker once did is seen here: it takes the false line."""

    def moved(self: checker.Rules, items: list, a: int, b: int, c: int) -> list:
        index = self.proof.name("k") * checker.number(a) + self.proof.name("K") * checker.number(b) + checker.number(c)
        at_values = [e if e[0] == "one" else (*e[:2], checker.shifted(e[2], a, b, c) if e[2][2] else e[2])
                     for e, _ in items]  # fmt: skip
        return [(e, self.proof.put(scalar, {"k": index})) for e, (_, scalar) in zip(at_values, items, strict=True)]

    monkeypatch.setattr(checker.Rules, "moved", moved)
    data, *_ = false_induction()
    assert checker.check(data) == len(data["theorems"])


def test_a_closed_sum_is_the_same_at_the_last_step() -> None:
    gradient = Vector(RING, {Term("", gradient_at(ITERATE)): one})
    closed = square(gradient).under("K").under("M")
    assert at_step(closed, 0, 1, 0) == closed != at_step(square(gradient).under("M"), 0, 1, 0)


def start() -> Theorem:
    """A theorem given the cohort, about the start alone."""
    axioms = Axioms(WHERE, eta, n)
    gradient = axioms.global_gradient(START_POINT)
    return combine([(axioms.local_step(gradient), 0)], where=WHERE, context="cohort", squares=[(gradient, "", 1)])


def test_a_share_is_not_drawn_twice() -> None:
    first = expect_uniform(start(), n, s, WHERE)
    assert dict(expect_uniform(first, n, s, WHERE).parameters)["share"] == s
    with pytest.raises(Refused, match="share = s and t"):
        expect_uniform(first, n, t, WHERE)


def test_a_sum_of_what_has_no_step_stays_one() -> None:
    """Of clients that are alike E|sum_k (mean_S g - mean g)|^2 is 0, and s mean |g|^2 - s |sum_k mean g|^2 is not."""
    own, gradient = Term("K", gradient_at(START_POINT)), gradient_at(START_POINT)
    apart = Vector(RING, {Term("KS", gradient): one, Term("KM", gradient): -one})
    given = combine([], where=WHERE, context="cohort", squares=[(apart, "", one)])
    drawn = expect_uniform(given, n, s, WHERE)
    alone = Vector(RING, {own: one})
    assert drawn.form == (square(alone).under("M") - square(alone.under("M"))) * s
    data = json.loads(json.dumps(saved(drawn)))
    assert checker.check(data) == 2
    text = json.dumps(data["theorems"][-1]["form"]).replace('["K", ["g_start"', '["", ["g_start"')
    data["theorems"][-1]["form"] = json.loads(text)
    with pytest.raises(checker.Wrong, match="form is not what the rule concludes"):
        checker.check(data)


def twice_mixed(first: Scalar, second: Scalar) -> Theorem:
    """Return a mixture of rounds by the second probability, of theorems that have the first one's."""
    kinds = {"uniform": expect_uniform(start(), n, s, WHERE), "arbitrary": expect_arbitrary(start(), n)}
    made = mix(*kinds.values(), first, WHERE)
    both = (
        combine([(theorem, 1), (made, 1)], where=WHERE, context="kind", kind=kind) for kind, theorem in kinds.items()
    )
    return mix(*both, second, WHERE)


def test_a_mixture_keeps_the_parameters_of_what_is_mixed() -> None:
    assert dict(twice_mixed(p, p).parameters)["probability"] == p
    with pytest.raises(Refused, match="probability = p and q"):
        twice_mixed(p, q)


def of_another_size(kind: str) -> Theorem:
    """Return a mixture's theorem said to be of cohorts of one client, as a theorem that is 0 = 0 is."""
    uniform, arbitrary = expect_uniform(start(), n, s, WHERE), expect_arbitrary(start(), n)
    nothing = combine([(Axioms(WHERE, eta, one).uncorrelated(), 0)], where=WHERE, context="cohort")
    both = combine([(mix(uniform, arbitrary, q, WHERE), 1), (nothing, 1)], where=WHERE, context="start", kind=kind)
    return combine([(both, 1)], where=WHERE, context="start", kind=kind)


@pytest.mark.parametrize("kind", ["uniform", "arbitrary"])
def test_a_cohorts_size_stays(kind: str) -> None:
    with pytest.raises(Refused, match=f"{'' if kind == 'uniform' else 'arbitrary_'}cohort = (n and 1|1 and n)"):
        of_another_size(kind)


@pytest.mark.parametrize("made", [
    lambda: expect_uniform(expect_uniform(start(), n, s, WHERE), n, t, WHERE), lambda: twice_mixed(p, q),
    lambda: of_another_size("uniform"), lambda: of_another_size("arbitrary"),
])  # fmt: skip
def test_the_checker_refuses_it_too(made: Callable[[], Theorem], monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that drops a premise's parameter makes a file that the checker refuses, unless it drops it as well."""
    for module in (round_rules, theorems):
        monkeypatch.setattr(module, "joined", lambda found, given: {**found, **given})
    data = json.loads(json.dumps(saved(made())))
    with pytest.raises(checker.Wrong, match="two algorithms"):
        checker.check(data)
    monkeypatch.setattr(checker, "together", lambda *several: {n: v for of in several for n, v in of.items()})
    assert checker.check(data) == len(data["theorems"])


def test_a_fall_that_depends_on_the_kind_is_none() -> None:
    """Also where it divides by the probability."""
    rules = SimpleNamespace(
        proof=SimpleNamespace(depends=lambda scalar, name: scalar.has(0)), snapshot_letter=lambda theorem: "q"
    )
    fall = checker.ONE / (checker.ONE + checker.Scalar({checker.place(0): 1}))
    with pytest.raises(checker.Wrong, match="kind of round"):
        checker.ClaimOfRuns.of_kinds(rules, {}, checker.ONE, fall)  # type: ignore[arg-type]


def of_equal_slopes(how: str) -> Theorem:
    """-|grad F_i(x) - grad F_i(x*)|^2 >= 0 of all smooth F_i, by what divides by z = 0: smoothness less z^2 times
    a square over z^2, or less z y times a square, with 1/z put in for y."""
    ring = Ring("L y z eta n K k")
    L, y, z, eta, n, *_ = ring.symbols
    counts = tuple(Condition(name, "positive") for name in ("L", "eta", "n"))
    zero = Where(ring, (Condition("z", "interval", 0 * L), *counts))
    where = Where(ring, (Condition("y", "real"), *zero.conditions))
    axioms = Axioms(where, eta, n)
    way, factor = (axioms.vector(START_POINT) - axioms.vector(OPTIMUM)) * L, -z * y
    if how == "a square":
        way, factor = way / z, -z * z
    lines = [(axioms.smooth(START_POINT, OPTIMUM, L), 1)]
    made = combine(lines, where=where, context="start", squares=[(way, "", factor)])
    return made if how == "a square" else instantiate(made, {"y": 1 / z}, zero)


@pytest.mark.parametrize(("how", "why"), [("a square", "a square divides by"), ("a value", "a value divides by")])
def test_nothing_divides_by_0(how: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="divides by what may be 0"):
        of_equal_slopes(how)
    monkeypatch.setattr(Where, "need", lambda self, *expressions: None)
    with pytest.raises(checker.Wrong, match=why):
        checker.check(json.loads(json.dumps(saved(of_equal_slopes(how)))))


def test_a_parameter_is_the_same_at_every_step() -> None:
    """But for the step size: a theorem that is left without steps would not say of which one it is."""
    own = Vector(RING, {Term("S", gradient_at(START_POINT)): one})
    given = combine([], where=WHERE, context="cohort", squares=[(own, "", one)])
    with pytest.raises(Refused, match="size = k: allowed is what is the same at every step"):
        expect_arbitrary(given, k)
    data = json.loads(json.dumps(saved(expect_arbitrary(given, n))))
    assert checker.check(data)
    line = data["theorems"][-1]
    line["arguments"]["size"] = line["parameters"]["size"] = _data(k)
    with pytest.raises(checker.Wrong, match="size: allowed is what is the same at every step"):
        checker.check(data)
