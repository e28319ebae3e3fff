"""Proofs of the kernel made again with one thing changed: a premise, a region, a coefficient, a need, an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from fedtheory.proof.kernel.answering_clients import Answers
from fedtheory.proof.kernel.axioms import Axioms
from fedtheory.proof.kernel.client_means import MeanAxioms, own_share
from fedtheory.proof.kernel.forms import Atom, Term, Vector
from fedtheory.proof.kernel.participation_intervals import Intervals
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_rules import expect_arbitrary, expect_everyone, expect_uniform, mix, project
from fedtheory.proof.kernel.scalars import Scalar
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.server_rounds import ServerAxioms, mix_server
from fedtheory.proof.kernel.theorems import (
    Theorem,
    combine,
    induct,
    instantiate,
    last_step,
    over_clients,
    over_steps,
)  # fmt: skip
from fedtheory.proof.kernel.weighted_rounds import WeightedRounds

PERCENT = Fraction(1, 100)
WEIGHTED_RULES = {
    "weighted round", "weighted descent", "participation", "weighted noise of a round", "scaled noise",
    "error of weights", "scale of weights", "around plain mean", "bounded gradient",
}  # fmt: skip
ANSWER_RULES = {
    "answered round": "round", "answered descent": "descent", "mean of answers": "mean",
    "answers around their mean": "apart", "mismatch of answers": "mismatched", "spread of answers": "spread",
    "second moment of answers": "second_moment", "bounded local gradient": "stochastic_gradient",
    "path of bounded steps": "path",
}  # fmt: skip
INTERVAL_RULES = {
    "unit": "unit", "moment of an interval": "moment", "early moment of an interval": "early_moment",
    "mean of ended intervals": "mean_ended", "spread of ended intervals": "spread_ended",
    "early weight": "early_weight", "early weight of an interval": "early_given",
}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What a theorem is made from: the same line of a proof, to be changed."""

    rule: str
    premises: tuple[int, ...]
    where: Where
    context: str
    kind: str
    arguments: Mapping[str, Any]
    step: Scalar | None
    size: Scalar | None
    server: Scalar | None
    form: Any
    weighted: tuple[Scalar, Scalar] | None = None
    """c and n, of rounds of weighted updates."""
    answers: tuple[Scalar, Scalar] | None = None
    """c and delta, of rounds in which clients answer."""
    lengths: tuple[Scalar, Scalar, Scalar] | None = None
    """q, C and q^C, of intervals between participations."""

    def theorem(self, earlier: list[Theorem]) -> Theorem:
        """The rule, applied again."""
        p, a, where = [earlier[i] for i in self.premises], self.arguments, self.where
        match self.rule:
            case "combine":
                pairs = list(zip(p, a["multipliers"], strict=True))
                return combine(pairs, where=where, context=self.context, kind=self.kind, squares=a["squares"],
                               constant=a["constant"])  # fmt: skip
            case "over clients":
                return over_clients(*p, a["binder"])
            case "over steps":
                return over_steps(*p)
            case "induct":
                return induct(*p, self.form, a["factor"])
            case "last step":
                return last_step(*p)
            case "instantiate":
                return instantiate(*p, a["values"], where)
            case "expect uniform":
                return expect_uniform(*p, a["size"], a["share"], where)
            case "expect arbitrary":
                return expect_arbitrary(*p, a["size"])
            case "expect everyone":
                return expect_everyone(*p, a["size"])
            case "project":
                return project(a["family"], a["other"], self.kind, where)
            case "mix":
                return mix(*p, a["probability"], where)
            case "own share":
                return own_share(*p, a["own"], a["centre"], a["least"], where)
            case "mix server":
                return mix_server(*p, a["probability"], where)
        names = {"mu <= L": "constants_in_order"}
        name = names.get(self.rule, self.rule.removeprefix("server ").replace(" ", "_"))
        if self.rule.startswith("server "):
            return getattr(ServerAxioms(where, self.server), name)(**a)
        one = where.ring.number(1)
        of_paths = self.step is not None and self.size is None  # given the round's start alone, or nothing
        step, size = (one if scalar is None else scalar for scalar in (self.step, self.size))
        if self.weighted is not None:
            of_weights = {"weighted_round": "round", "weighted_descent": "descent", "scaled_noise": "noise_bound",
                          "weighted_noise_of_a_round": "noise"}  # fmt: skip
            return getattr(WeightedRounds(where, step, *self.weighted), of_weights.get(name, name))(*p, **a)
        if self.rule in ANSWER_RULES:
            return getattr(Answers(where, step, *(self.answers or (one, one))), ANSWER_RULES[self.rule])(*p, **a)
        if self.lengths is not None:
            return getattr(Intervals(where, *self.lengths), INTERVAL_RULES[self.rule])(*p, **a)
        if hasattr(MeanAxioms, name):
            return getattr(MeanAxioms(where, step), name)(**a)
        given = "cohort" if not of_paths else "run" if self.context == "run" else "start"
        return getattr(Axioms(where, step, size, given), name)(**a)


def lines(theorem: Theorem) -> list[Made]:
    """A proof as what it is made from, in the order of making."""
    order = ancestry(theorem)
    numbers = {id(t): i for i, t in enumerate(order)}
    return [
        Made(t.rule, tuple(numbers[id(p)] for p in t.premises), t.where, t.context, t.kind, t.arguments,
             dict(t.parameters).get("local_lr"), dict(t.parameters).get("size"),
             dict(t.parameters).get("server_lr"), t.form, _of_weights(t), _of_answers(t),
             _of_lengths(t))
        for t in order
    ]  # fmt: skip


def _of_weights(theorem: Theorem) -> tuple[Scalar, Scalar] | None:
    """Of an axiom, or a rule, of such rounds alone."""
    given = dict(theorem.parameters)
    own = theorem.rule in WEIGHTED_RULES
    return (given["weighted_lr"], given["clients"]) if own else None


def _of_answers(theorem: Theorem) -> tuple[Scalar, Scalar] | None:
    """Of an axiom, or a rule, of such rounds alone."""
    given = dict(theorem.parameters)
    own = theorem.rule in ANSWER_RULES and "selected_lr" in given
    return (given["selected_lr"], given["mismatch"]) if own else None


def _of_lengths(theorem: Theorem) -> tuple[Scalar, Scalar, Scalar] | None:
    """Of an axiom, or a rule, of intervals alone."""
    given = dict(theorem.parameters)
    return (given["absence"], given["cutoff"], given["tail"]) if theorem.rule in INTERVAL_RULES else None


def replayed(
    proof: list[Made], at: int = -1, changed: Made | None = None, known: list[Theorem] | None = None
) -> Theorem:
    """The last theorem, with another line at one place; those before it may be given.

    Raises:
        ValueError: a rule refuses.
    """
    made: list[Theorem] = list(known or [])
    for i in range(len(made), len(proof)):
        made.append((changed if i == at and changed else proof[i]).theorem(made))
    return made[-1]


def stated(theorem: Theorem) -> tuple:
    """What a theorem says, without how it was made."""
    return (theorem.context, theorem.kind, theorem.where, theorem.assumptions, theorem.parameters, theorem.form,
            theorem.equality, theorem.path_to_the_end)  # fmt: skip


def remade(
    proof: list[Made], made: list[Theorem], at: int, changed: Made, fresh: list[Theorem] | None = None
) -> Theorem:
    """The last theorem of a proof whose theorems are ``made``, with another line at one place: only what rests on it is
    made again, and what says the same as before is kept. All that is made again is added to ``fresh``.

    Raises:
        ValueError: a rule refuses.
    """
    again, touched = list(made), {at}
    for i in range(at, len(proof)):
        if i != at and not touched & {*proof[i].premises}:
            continue
        again[i] = (changed if i == at else proof[i]).theorem(again)
        if fresh is not None:
            fresh.append(again[i])
        if stated(again[i]) == stated(made[i]):
            again[i] = made[i]
        else:
            touched.add(i)
    return again[-1]


_OF_A_REGION = {"combine", "instantiate", "expect uniform", "project", "mix", "mix server", "own share"}
"""The rules that are told a region; the others but the axioms take their premises'."""
_RULES = {*_OF_A_REGION, "over clients", "over steps", "induct", "last step", "expect arbitrary", "expect everyone"}


def changes(line: Made, number: int, all_regions: list[Where]) -> Iterator[tuple[str, Made]]:
    """(what is changed, the changed line)."""
    for i, _ in enumerate(line.premises):
        for other in {number - 1, line.premises[i] - 1} - {line.premises[i]}:
            if 0 <= other < number:
                premises = (*line.premises[:i], other, *line.premises[i + 1 :])
                yield f"premise {i} is {other}", replace(line, premises=premises)
    axiom = line.rule not in _RULES
    if axiom or line.rule in _OF_A_REGION:
        for i, where in enumerate(regions_of(line.where, all_regions)):
            yield f"region {i}", replace(line, where=where)
    for name, argument in line.arguments.items():
        for what, other in others(argument):
            yield f"{name}: {what}", replace(line, arguments={**line.arguments, name: other})
    if axiom and line.step is not None:
        yield "the step size is twice as long", replace(line, step=line.step * 2)
        if line.size is not None:
            yield "the cohort has a client more", replace(line, size=line.size + 1)
    if line.weighted is not None:
        step, count = line.weighted
        yield "c is twice as large", replace(line, weighted=(step * 2, count))
        yield "a client more", replace(line, weighted=(step, count + 1))
    if line.answers is not None:
        step, mismatch = line.answers
        yield "c is twice as large", replace(line, answers=(step * 2, mismatch))
        yield "delta is half as large", replace(line, answers=(step, mismatch / 2))
    if line.lengths is not None:
        absence, cutoff, tail = line.lengths
        yield "clients are absent half as often", replace(line, lengths=(absence / 2, cutoff, tail))
        yield "C and its power for one another", replace(line, lengths=(absence, tail, cutoff))
        yield "twice the power", replace(line, lengths=(absence, cutoff, tail * 2))
    if axiom and line.server is not None:
        yield "the server's step is twice as long", replace(line, server=line.server * 2)
    if line.rule == "induct":
        for share in (1 + PERCENT, 1 - PERCENT):
            yield f"claimed {share} times", replace(line, form=line.form * share)


def regions_of(where: Where, more: list[Where]) -> Iterator[Where]:
    """Regions with one need looser or gone, and the proof's other ones."""
    yield from loosened(where)
    yield from (other for other in more if other != where)


@cache
def loosened(where: Where) -> tuple[Where, ...]:
    """Made once: most lines of a proof are about one region."""
    return tuple(_loosened(where))


def _loosened(where: Where) -> Iterator[Where]:
    for i, condition in enumerate(where.conditions):
        rest = where.conditions[:i], where.conditions[i + 1 :]
        if condition.kind in ("capped", "interval", "at_least") and condition.bound is not None:
            sign = -1 if condition.kind == "at_least" else 1
            for share in (1 + sign * PERCENT, 4 if sign > 0 else Fraction(1, 4)):
                looser = replace(condition, bound=condition.bound * share)
                yield replace(where, conditions=(*rest[0], looser, *rest[1]))
        if condition.kind == "positive":
            with suppress(ValueError):  # there is no region that divides by what may be 0
                yield replace(where, conditions=(*rest[0], Condition(condition.name, "nonnegative"), *rest[1]))


def others(value: Any) -> Iterator[tuple[str, Any]]:
    """Values that differ in one coefficient, index or name."""
    if isinstance(value, Scalar) and not value.is_zero:
        for share in (1 + PERCENT, 1 - PERCENT, Fraction(1, 2)):
            yield f"{share} times", value * share
        for name in sorted(value.names & {"K", "k", "m", "n", "C"}):
            yield f"{name} + 1 for {name}", value.replace({name: value.ring[name] + 1})
    elif isinstance(value, Vector):
        for term in value.terms:
            for what, c in others(value.terms[term]):
                yield f"{term}: {what}", Vector(value.ring, {**value.terms, term: c})
            for what, other in others(term.atom):
                moved = {Term(t.bound, other) if t == term else t: c for t, c in value.terms.items()}
                yield f"{term}: {what}", Vector(value.ring, moved)
    elif type(value) is int:
        yield "one less", value - 1
        yield "one more", value + 1
    elif isinstance(value, Atom):
        if value.step:
            p, q, r = value.step
            yield "a step later", value._replace(step=(p, q, r + 1))
        if value.name == "x":
            yield "x* for x", Atom("x*")
        if value.name == "x_mean":
            yield "x for x_mean", Atom("x", True, value.step, value.stage, value.lag)
        if value.name == "g_start":
            yield "g_opt for g_start", Atom("g_opt", True)
    elif isinstance(value, str):
        yield "another cohort", {"M": "S", "S": "M"}.get(value, "M")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            for what, other in others(part):
                yield f"{name}: {what}", {**value, name: other}
    elif isinstance(value, list | tuple):
        for i, part in enumerate(value):
            for what, other in others(part):
                yield f"{i}: {what}", type(value)([*value[:i], other, *value[i + 1 :]])
            yield f"{i} is left out", type(value)([*value[:i], *value[i + 1 :]])
