"""Does an instance refute a claim? Decided in rational and ball arithmetic, reading by reading."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy
from flint import arb

from .. import __version__
from ..claims.balls import (
    Ball,
    Number,
    ball,
    decimal,
    evaluate_in_balls,
    evaluate_number,
    evaluate_or_limit,
    lower_bound_over_box,
    working_precision,
)
from ..claims.statement import Claim, Term, slack_of
from ..functionals import AVERAGES, SQUARED_GRADIENT
from ..moments.one_round import one_round
from ..papers import claim
from ..quantities import QUANTITIES, RUN_QUANTITIES, SERVER_RUN_QUANTITIES, symbol
from ..setting import Setting
from ..subjects.enclosure import FOLLOWED, Box, Undecided, left_side, run_boxes
from ..subjects.entries import shown
from ..subjects.exact_values import exact_quantities, known, true_constants
from ..subjects.fedau.instance import FedauInstance
from ..subjects.fedau.sides import settled, sides
from ..subjects.instance import (
    SCHEMA,
    AnyInstance,
    FunctionInstance,
    Instance,
    ValuesInstance,
    is_about_one_round,
    parse,
)
from ..subjects.safari.exact import DRAWN, safari_box, safari_left, safari_quantities, with_chosen_steps
from ..subjects.safari.instance import SafariInstance
from ..subjects.selection.instance import SelectionInstance, finite
from ..subjects.weights.exact import CONDITION, exact_left, exact_spread
from ..subjects.weights.instance import WeightsInstance

Slack = Number | None
"""A proven lower bound of a slack that is >= 0; ``None`` where the hypothesis is not shown to hold."""

Reading = dict[str, str]
"""Option by ambiguity."""


@dataclass(frozen=True)
class ReadingJudgement:
    """An instance under one reading of the claim.

    Attributes:
        reading: option by ambiguity.
        slack: by hypothesis or assumption, a proven lower bound, >= 0; ``None`` where it is not shown to hold.
        left, right: enclosures of the two sides; not finite where the instance has no such run.
        ratio: left / right. Terms that can be negative count on the other side: with left and terms split into
            positive and negative parts, (left^+ + sum of term^-) / (sum of term^+ + left^-).
        undecided: why a side or a run quantity could not be enclosed, or "".
        note: how run quantities were enclosed, where that is not the usual way, or "".
    """

    reading: Reading
    slack: dict[str, Slack]
    left: arb
    right: arb
    ratio: arb
    undecided: str = ""
    note: str = ""

    @property
    def failing(self) -> list[str]:
        """Hypotheses that are not shown to hold."""
        return [name for name, slack in self.slack.items() if slack is None]

    @property
    def refutes(self) -> bool:
        """Every hypothesis holds and left > right, both proven."""
        return not self.failing and bool(self.left > self.right)

    def to_json(self) -> dict[str, Any]:
        remarks = {"undecided": self.undecided, "note": self.note}
        return {
            "reading": self.reading,
            "slack": {name: None if slack is None else decimal(slack) for name, slack in self.slack.items()},
            "left": decimal(self.left),
            "right": decimal(self.right),
            "ratio": decimal(self.ratio),
            "refutes": self.refutes,
        } | {key: text for key, text in remarks.items() if text}


@dataclass(frozen=True)
class Judgement:
    """An instance under every reading of its claim, the literal reading first."""

    instance: AnyInstance
    readings: tuple[ReadingJudgement, ...]
    statement: Claim

    @property
    def refutes(self) -> bool:
        """Whether the claim falls under EVERY reading (charity). Only such a judgement makes a verdict ``refuted``;
        one that falls under some readings is still an instance worth a file, which says ``"refutes": false``."""
        return all(reading.refutes for reading in self.readings)

    def to_json(self) -> dict[str, Any]:
        """The instance's file: what it is, every printed hypothesis with its slack, the readings tried."""
        statement, literal_json = self.statement, self.readings[0].to_json()
        conditions = [(a.name, f"{a.quantity} as the {_bearer(self.instance)} has it", a.source)
                      for a in statement.assumptions]  # fmt: skip
        conditions += [(h.name, str(h.relation), h.source) for h in statement.hypotheses]
        return {
            "schema": SCHEMA,
            "fedtheory": __version__,
            **self.instance.to_json(),
            "functional": statement.functional.meaning,
            **({"chosen": self._chosen()} if statement.choices else {}),
            "hypotheses": [
                {"name": name, "statement": text, "source": source, "slack": literal_json["slack"][name]}
                for name, text, source in conditions
            ],
            **{key: literal_json[key] for key in ("left", "right", "ratio")},
            "refutes": self.refutes,
            "readings": [reading.to_json() for reading in self.readings],
        }

    def _chosen(self) -> list[dict[str, str]]:
        with working_precision():
            if isinstance(self.instance, WeightsInstance):
                values: Mapping[str, Any] = self.instance.settled(self.statement).quantities()
            elif isinstance(self.instance, SelectionInstance):
                values = self.instance.steps(self.statement)
            elif isinstance(self.instance, SafariInstance):
                values = safari_quantities(self.instance, self.statement)
            elif isinstance(self.instance, FedauInstance):
                values = settled(self.instance, self.statement)[1]
            else:
                values = exact_quantities(self.instance, self.statement)
        return [{"name": name, "statement": str(choice), "value": decimal(values[name])}
                for name, choice in self.statement.choices.items()]  # fmt: skip


def _bearer(instance: AnyInstance) -> str:
    return "function" if isinstance(instance, FunctionInstance) else "federation"


def judge(instance: AnyInstance, follow: bool = True, statement: Claim | None = None) -> Judgement:
    """The instance under every reading of its claim, or of ``statement`` instead: someone's own claim, or a changed
    copy of one.

    Unless ``follow``, deterministic runs are enclosed without following them round by round: quicker, and proves no
    more.

    Raises:
        ValueError: it is no instance of the claim, or the claim uses what such an instance does not have.
    """
    statement = claim(instance.claim) if statement is None else statement
    instance.check(statement)
    with working_precision():
        if isinstance(instance, FunctionInstance):
            readings = _judge_function(instance, statement)
        elif isinstance(instance, ValuesInstance):
            readings = _judge_values(instance, statement)
        elif isinstance(instance, WeightsInstance):
            readings = _judge_weights(instance, statement)
        elif isinstance(instance, SelectionInstance):
            readings = _judge_selection(instance, statement)
        elif isinstance(instance, SafariInstance):
            readings = _judge_safari(instance, statement)
        elif isinstance(instance, FedauInstance):
            readings = _judge_fedau(instance, statement)
        else:
            readings = _judge_run(instance, statement, follow)
        return Judgement(instance, tuple(readings), statement)


# Functions, weights, selections and values ----------------------------------------------------------------------------


def _judge_function(instance: FunctionInstance, statement: Claim) -> Iterator[ReadingJudgement]:
    points, functional = instance.points, statement.functional
    true = {"smoothness": points.smoothness, "strong_convexity": points.strong_convexity}
    distances = {name: ball(square).sqrt() for name, square in points.squares(functional).items()}
    values = true | dict(instance.constants) | distances
    slack = _assumption_slack(statement, instance.constants, true)
    yield from _judge_fixed(statement, values, slack, points.left(functional))


def _judge_weights(instance: WeightsInstance, statement: Claim) -> Iterator[ReadingJudgement]:
    weights = instance.settled(statement)
    values: dict[str, Number] = {name: Fraction(value) for name, value in weights.quantities().items()}
    # Counts stand in exponents, which have to be numbers there.
    counts = {symbol(name): sympy.Integer(int(v)) for name, v in values.items() if QUANTITIES[name].integer}
    terms = tuple(Term(term.name, term.expression.xreplace(counts)) for term in statement.terms)
    for reading in statement.readings():
        condition = reading.get(CONDITION, "")
        left = exact_left(weights, statement.functional, condition)
        if "weight_spread" in statement.quantities:
            values["weight_spread"] = exact_spread(weights, condition)
        conditions = {h.name: slack_of(h.under(reading).relation).xreplace(counts) for h in statement.hypotheses}
        slack = {name: _non_negative(evaluate_or_limit(known(e, values), values)) for name, e in conditions.items()}
        yield ReadingJudgement(
            reading, slack, ball(left), *_right_and_ratio(replace(statement, terms=terms), values, left)
        )


def _judge_selection(instance: SelectionInstance, statement: Claim) -> Iterator[ReadingJudgement]:
    for reading in statement.readings():
        left, values = instance.sides(statement, reading)
        slack: dict[str, Slack] = {a.name: Fraction(0) for a in statement.assumptions}  # the point's own constants
        for hypothesis in statement.hypotheses:
            expression = known(slack_of(hypothesis.under(reading).relation), values)
            slack[hypothesis.name] = _non_negative(evaluate_or_limit(expression, values))
        left = ball(left) if finite(left) else arb("inf")
        used = {s.name for term in statement.terms for s in term.expression.free_symbols}
        if all(finite(values[name]) for name in used):
            yield ReadingJudgement(reading, slack, left, *_right_and_ratio(statement, values, left))
        else:
            yield ReadingJudgement(reading, slack, left, arb("inf"), arb("nan"), "the right side is infinite")


def _judge_values(instance: ValuesInstance, statement: Claim) -> Iterator[ReadingJudgement]:
    try:
        left = evaluate_number(statement.functional.expression, instance.values)
    except ZeroDivisionError:
        raise ValueError(f"values: {statement.functional.meaning} divides by zero") from None
    yield from _judge_fixed(statement, instance.values, {}, left)


def _judge_fixed(
    statement: Claim, values: Mapping[str, Number], slack: dict[str, Slack], left: Number
) -> Iterator[ReadingJudgement]:
    """All readings, where only the relations of hypotheses depend on the reading."""
    for reading in statement.readings():
        conditions = [(h.name, slack_of(h.under(reading).relation)) for h in statement.hypotheses]
        more = {name: _non_negative(evaluate_or_limit(known(e, values), values)) for name, e in conditions}
        yield ReadingJudgement(reading, slack | more, ball(left), *_right_and_ratio(statement, values, left))


# Runs and rounds ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Way:
    """The instance under one way of running the algorithm.

    Attributes:
        values: all quantities that it fixes.
        left: the left side, by which iterates an average runs over.
    """

    values: Mapping[str, Number]
    left: Callable[[str], Number]


def _judge_run(instance: Instance, statement: Claim, follow: bool) -> Iterator[ReadingJudgement]:
    values = exact_quantities(instance, statement)
    step = values["local_lr"]
    stepped = replace(instance, local_lr=step if isinstance(step, Fraction) else Ball(step))
    fixed_slack = _assumption_slack(statement, instance.constants, true_constants(instance, squared=True))
    ways = functools.cache(lambda *how: _way(stepped, statement, values, *how))
    boxes = functools.cache(lambda *how: run_boxes(stepped, *how, follow))
    slacks = functools.cache(
        lambda relation, *how: _hypothesis_slack(slack_of(relation), ways(*how[:2]).values, lambda: boxes(*how))
    )
    for reading in statement.readings():
        how = _how(instance, statement, reading)
        if how[0] == "period" and instance.period is None:
            why = f"snapshots with probability {instance.probability} have no period"
            none = dict.fromkeys([h.name for h in statement.hypotheses])
            yield ReadingJudgement(reading, fixed_slack | none, arb("nan"), arb("nan"), arb("nan"), why)
            continue
        slack, undecided, way = dict(fixed_slack), "", ways(*how)
        for hypothesis in statement.hypotheses:
            try:
                slack[hypothesis.name] = slacks(
                    hypothesis.under(reading).relation, *how, reading.get("local gradients", "k = 0..K-1")
                )
            except Undecided as reason:
                slack[hypothesis.name], undecided = None, str(reason)
        left = way.left(reading.get("average", AVERAGES[0]))
        right, ratio = _right_and_ratio(statement, way.values, left)
        note = _note(stepped, statement, how)
        yield ReadingJudgement(reading, slack, ball(left), right, ratio, undecided, note)


def _judge_safari(instance: SafariInstance, statement: Claim) -> Iterator[ReadingJudgement]:
    values = safari_quantities(instance, statement)
    stepped = with_chosen_steps(instance, values)
    true = true_constants(instance, squared=True) | {"server_noise": instance.federation.exact_server_noise}
    fixed_slack = _assumption_slack(statement, instance.constants, true)
    ways = functools.cache(lambda kinds: _safari_way(stepped, statement, values, kinds))
    boxes = functools.cache(lambda *how: [safari_box(stepped, statement, *how)])
    slacks = functools.cache(
        lambda relation, *how: _hypothesis_slack(slack_of(relation), ways(how[0]).values, lambda: boxes(*how))
    )
    for reading in statement.readings():
        how = reading.get("kinds of rounds", DRAWN), reading.get("local gradients", "k = 0..K-1")
        try:
            way = ways(how[0])
        except Undecided as reason:
            none = dict.fromkeys([h.name for h in statement.hypotheses])
            yield ReadingJudgement(reading, fixed_slack | none, arb("nan"), arb("nan"), arb("nan"), str(reason))
            continue
        slack, undecided = dict(fixed_slack), ""
        for hypothesis in statement.hypotheses:
            try:
                slack[hypothesis.name] = slacks(hypothesis.under(reading).relation, *how)
            except Undecided as reason:
                slack[hypothesis.name], undecided = None, str(reason)
        left = way.left(reading.get("average", AVERAGES[0]))
        yield ReadingJudgement(reading, slack, ball(left), *_right_and_ratio(statement, way.values, left), undecided)


def _judge_fedau(instance: FedauInstance, statement: Claim) -> Iterator[ReadingJudgement]:
    fixed: dict[str, Slack] = {a.name: Fraction(0) for a in statement.assumptions}  # the run's own constants
    for reading in statement.readings():
        try:
            left, values = sides(instance, statement, reading)
        except Undecided as reason:
            none = dict.fromkeys([h.name for h in statement.hypotheses])
            yield ReadingJudgement(reading, fixed | none, arb("nan"), arb("nan"), arb("nan"), str(reason))
            continue
        relations = {h.name: known(slack_of(h.under(reading).relation), values) for h in statement.hypotheses}
        slack = {name: _non_negative(evaluate_or_limit(relation, values)) for name, relation in relations.items()}
        yield ReadingJudgement(reading, fixed | slack, ball(left), *_right_and_ratio(statement, values, left))


def _safari_way(instance: SafariInstance, statement: Claim, values: Mapping[str, Number], kinds: str) -> _Way:
    if not is_about_one_round(statement):
        side = safari_left(instance, kinds)
        return _Way(values, lambda average: side.of(statement.functional, average))
    return _one_round(instance.setting(), instance, statement, values)


def _how(instance: Instance, statement: Claim, reading: Reading) -> tuple[str, str]:
    """How the algorithm runs under a reading. A claim about one round speaks of the probability of its kind; where a
    claim does not say which, snapshots come as the instance has them."""
    own = "probability" if instance.snapshot_period is None else "period"
    snapshots = "probability" if is_about_one_round(statement) else reading.get("snapshots", own)
    return snapshots, reading.get("uniform cohort", "without replacement")


def _way(instance: Instance, statement: Claim, values: Mapping[str, Number], snapshots: str, cohort_draw: str) -> _Way:
    if not is_about_one_round(statement):
        side = left_side(instance, snapshots, cohort_draw)
        return _Way(values, lambda average: side.of(statement.functional, average))
    return _one_round(instance.setting(snapshots, cohort_draw), instance, statement, values)


def _one_round(
    setting: Setting, instance: Instance | SafariInstance, statement: Claim, values: Mapping[str, Number]
) -> _Way:
    for name in ("local_lr", *statement.choices):
        if not isinstance(values[name], Fraction):
            raise ValueError(
                f"{name}: the claim chooses no rational one; allowed in a claim about one round is a rational"
            )
    found = one_round(setting, exact=True)
    norm = {"gradient_norm": ball(found.left(SQUARED_GRADIENT)).sqrt()}
    left = found.left(statement.functional) if instance.rounds == 1 else arb("nan")
    return _Way({**values, **norm, **found.quantities()}, lambda average: left)


def _note(instance: Instance, statement: Claim, how: tuple[str, str]) -> str:
    not_followed = instance.rounds > FOLLOWED and set(RUN_QUANTITIES) & set(statement.quantities)
    if not_followed and instance.setting(*how).deterministic:
        return f"longer than {FOLLOWED} rounds: run quantities by an invariant interval"
    return ""


def _assumption_slack(
    statement: Claim, stated: Mapping[str, Fraction], true: Mapping[str, Number]
) -> dict[str, Fraction | None]:
    """By assumption: how far the stated constant is on the safe side of the true one (both squared for the
    dissimilarity, which is a length); ``None`` if it is not.

    Raises:
        ValueError: there is no true one.
    """
    slack = {}
    for assumption in statement.assumptions:
        name = assumption.quantity
        if name not in true:
            reason = "hessians differ between clients, so it is infinite" if name == "dissimilarity" else "unknown"
            raise ValueError(f"{name} of {assumption.name}: {reason}")
        value = stated[name] ** 2 if name == "dissimilarity" else stated[name]
        margin = true[name] - value if assumption.from_below else value - true[name]
        slack[assumption.name] = margin if margin >= 0 and value >= 0 else None
    return slack


# Sides and hypotheses -------------------------------------------------------------------------------------------------


def _right_and_ratio(statement: Claim, values: Mapping[str, Number], left: Number) -> tuple[arb, arb]:
    terms = [evaluate_in_balls(known(term.expression, values), values) for term in statement.terms]
    zero, left = arb(0), ball(left)
    above = left.max(zero) + sum(((-term).max(zero) for term in terms), zero)
    below = (-left).max(zero) + sum((term.max(zero) for term in terms), zero)
    ratio = above / below
    if below == 0:
        ratio = zero if above == 0 else arb("inf")
    return sum(terms, zero), ratio


def _hypothesis_slack(expression: sympy.Expr, values: Mapping[str, Number], boxes: Callable[[], list[Box]]) -> Slack:
    """A proven lower bound >= 0 of the slack; ``None`` if there is none."""
    of_a_run = (*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES)
    names = [name for name in of_a_run if name in {s.name for s in expression.free_symbols}]
    if not names:
        return _non_negative(evaluate_or_limit(known(expression, values), values))
    # Numbers that are known combine before balls blur them.
    exact = {s: values[s.name] for s in expression.free_symbols if isinstance(values.get(s.name), Fraction)}
    rest = expression.xreplace({s: sympy.Rational(v.numerator, v.denominator) for s, v in exact.items()})

    def slack(point: Sequence[arb]) -> arb:
        return ball(evaluate_or_limit(rest, {**values, **dict(zip(names, point, strict=True))}))

    bounds = [lower_bound_over_box(slack, [box[name] for name in names]) for box in boxes()]
    return None if any(b is None for b in bounds) else functools.reduce(lambda a, b: a.min(b), bounds)


def _non_negative(slack: Slack) -> Slack:
    return slack if slack is not None and slack >= 0 else None


class ReplayError(ValueError):
    """A recorded instance does not say what its numbers say."""


def replay(data: dict[str, Any], statement: Claim | None = None) -> Judgement:
    """Judge a recorded instance afresh, of its claim or of ``statement`` instead, and compare everything that the file
    states. It may fall under some readings only: its ``refutes`` says whether it falls under all.

    Raises:
        ReplayError: under every reading a hypothesis fails or the bound is not exceeded (it is said how under the
            literal one), or a recorded number is not the recomputed one.
        ValueError: the file is not an instance.
    """
    if type(data.get("schema")) is not int or data["schema"] != SCHEMA:
        raise ValueError(f"schema = {shown(data.get('schema'))}: allowed is {SCHEMA}")
    judgement = judge(parse(data, statement), statement=statement)
    literal = judgement.readings[0]
    if not any(reading.refutes for reading in judgement.readings):
        if literal.failing:
            raise ReplayError(f"{judgement.instance.claim}: the hypothesis {literal.failing[0]} does not hold")
        raise ReplayError(f"{judgement.instance.claim}: the bound is not exceeded: "
                          f"left {decimal(literal.left)}, right {decimal(literal.right)}")  # fmt: skip
    recomputed = judgement.to_json()
    for key, value in recomputed.items():
        if key != "fedtheory" and not _same(data.get(key), value):
            raise ReplayError(f"{judgement.instance.claim}: the file says {key} = {shown(data.get(key))}, "
                              f"recomputed is {shown(value)}")  # fmt: skip
    for key in data:
        if key not in recomputed:
            raise ReplayError(f"{judgement.instance.claim}: the file says {shown(key)}, which no instance has")
    return judgement


def _same(recorded: Any, value: Any) -> bool:
    """Whether two pieces of plain data are the same: compared as text, since 1, 1.0 and True are equal to Python."""
    try:
        return json.dumps(recorded) == json.dumps(value)
    except (RecursionError, TypeError, ValueError):  # too deep, or no plain data
        return False
