"""Judgement of an instance against a claim: in rational and ball arithmetic, reading by reading."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from flint import arb

from .. import __version__
from ..assumptions import reason
from ..claims.balls import (
    Number,
    Undecided,
    ball,
    decimal,
    evaluate_in_balls,
    evaluate_or_limit,
    lower_bound_over_box,
    working_precision,
)
from ..claims.statement import Claim, slack_of
from ..papers import claim
from ..papers.registry import subject_of
from ..quantities import QUANTITIES, RUN_QUANTITIES, SERVER_RUN_QUANTITIES, symbol
from ..schedule import StepRule
from ..subjects.file_entries import entry, shown
from ..subjects.protocol import (
    NOT_CHECKED,
    VIOLATED,
    Box,
    Checked,
    Examined,
    Instance,
    Reading,
    Sides,
    Slack,
    finite,
    known,
)

SCHEMA = 2
"""Version of the format of instances' files. Files of version 1 do not say how anything was checked."""

EXACTLY, IN_BALLS = "computed exactly", "computed, in balls"
ENCLOSED = "computed, for every value in an enclosure of the run's own"


def parse(data: Mapping[str, Any], statement: Claim | None = None) -> Instance:
    """Read an instance from plain data: of the claim that the data name, or of ``statement``, whose ref they must name.

    All numbers are integers or strings of rationals ("1/100"); they are parsed, never evaluated.

    Raises:
        ValueError: an entry is missing, of the wrong kind or out of bounds; it is named.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"an instance is a {type(data).__name__}: allowed is an object")
    ref = entry(data, "claim", str)
    if len(ref) > 100:
        raise ValueError(f"claim = {shown(ref)}: allowed is a claim's ref, <id>@<edition>")
    if statement is None:
        statement = claim(ref)
    elif ref != statement.ref:
        raise ValueError(f"claim = {shown(ref)}: allowed is {statement.ref!r}")
    instance = Instance(statement.ref, subject_of(statement).parse(data, statement))
    instance.point.check(statement)
    return instance


@dataclass(frozen=True)
class ReadingJudgement:
    """An instance under one reading of the claim.

    Attributes:
        reading: option by ambiguity.
        checks: by hypothesis or assumption, how it was checked, and a proven lower bound of its slack, >= 0; ``None``
            where it is not shown to hold.
        left, right: enclosures of the two sides; not finite where the instance has no such run.
        ratio: left / right. Terms that can be negative count on the other side: with left and terms split into
            positive and negative parts, (left^+ + sum of term^-) / (sum of term^+ + left^-).
        undecided: why a side or a run quantity could not be enclosed, or "".
        note: how run quantities were enclosed, where that is not the usual way, or "".
    """

    reading: Reading
    checks: dict[str, Checked]
    left: arb
    right: arb
    ratio: arb
    undecided: str = ""
    note: str = ""

    @property
    def slack(self) -> dict[str, Slack]:
        """Slack of each hypothesis or assumption; see ``checks``."""
        return {name: check.slack for name, check in self.checks.items()}

    @property
    def failing(self) -> list[str]:
        """The hypotheses that are not shown to hold."""
        return [name for name, slack in self.slack.items() if slack is None]

    @property
    def refutes(self) -> bool:
        """Whether every hypothesis holds and left > right, both proven."""
        return not self.failing and bool(self.left > self.right)

    def to_json(self, literal: ReadingJudgement | None = None) -> dict[str, Any]:
        """Return plain data; how things were checked only where it differs from the literal reading."""
        differs = {
            name: check.how
            for name, check in self.checks.items()
            if literal is not None and check.how != literal.checks[name].how
        }
        remarks = {"undecided": self.undecided, "note": self.note}
        return (
            {
                "reading": self.reading,
                "slack": {name: None if slack is None else decimal(slack) for name, slack in self.slack.items()},
                "left": decimal(self.left),
                "right": decimal(self.right),
                "ratio": decimal(self.ratio),
                "refutes": self.refutes,
            }
            | ({"checked": differs} if differs else {})
            | {key: text for key, text in remarks.items() if text}
        )


@dataclass(frozen=True)
class Judgement:
    """An instance under every reading of its claim, the literal reading first.

    Attributes:
        chosen: the values of what the claim chooses, at the instance.
    """

    instance: Instance
    readings: tuple[ReadingJudgement, ...]
    statement: Claim
    chosen: Mapping[str, Number]

    @property
    def refutes(self) -> bool:
        """Whether the claim falls under EVERY reading (charity).

        Only such a judgement makes a verdict ``refuted``. One that falls under some readings is still an instance worth
        a file, which says ``"refutes": false``.
        """
        return all(reading.refutes for reading in self.readings)

    def to_json(self) -> dict[str, Any]:
        """Return the content of the instance's file.

        It has what the instance is, every printed hypothesis with its slack and how it was checked, and the readings
        tried.
        """
        statement, literal = self.statement, self.readings[0]
        literal_json = literal.to_json()
        bearer = self.instance.point.bearer
        conditions = [
            (a.name, f"{a.quantity} as the {bearer} has it" if a.quantity else a.meaning, a.source)
            for a in statement.assumptions
        ]
        conditions += [(h.name, str(h.relation), h.source) for h in statement.hypotheses]
        chosen = [
            {"name": name, "statement": str(choice), "value": _shown(self.chosen[name])}
            for name, choice in statement.choices.items()
        ]
        return {
            "schema": SCHEMA,
            "fedtheory": __version__,
            **self.instance.to_json(),
            **({"violates": sorted(self.instance.point.violated)} if self.instance.point.violated else {}),
            "functional": statement.functional.meaning,
            **({"chosen": chosen} if statement.choices else {}),
            "hypotheses": [
                {
                    "name": name,
                    "statement": text,
                    "source": source,
                    "slack": literal_json["slack"][name],
                    "checked": literal.checks[name].how,
                }
                for name, text, source in conditions
            ],
            **{key: literal_json[key] for key in ("left", "right", "ratio")},
            "refutes": self.refutes,
            "readings": [reading.to_json(literal) for reading in self.readings],
        }


def _shown(chosen: Any) -> str:
    return str(chosen) if isinstance(chosen, StepRule) else decimal(chosen)


def judge(instance: Instance, follow: bool = True, statement: Claim | None = None) -> Judgement:
    """Judge the instance under every reading of its claim.

    With ``statement`` it is judged against that instead: someone's own claim, or a changed copy of one. Unless
    ``follow``, deterministic runs are enclosed without following them round by round: quicker, and proves no more.

    Raises:
        ValueError: it is no instance of the claim, or the claim uses what such an instance does not have.
    """
    statement = claim(instance.claim) if statement is None else statement
    instance.point.check(statement)
    with working_precision():
        examined = instance.point.examined(statement, follow)
        chosen = examined.chosen() if statement.choices else {}
        slacks = _Slacks(statement)
        readings = []
        for reading in statement.readings():
            try:
                sides: Sides | Undecided = examined.sides(reading)
            except Undecided as reason:
                sides = reason
            if option := statement.beyond_instances(reading):
                sides = Undecided(f"read with {option!r}, no single instance decides it")
            readings.append(_judged(statement, reading, _assumed(statement, instance, examined), sides, slacks))
        return Judgement(instance, tuple(readings), statement, chosen)


def _assumed(statement: Claim, instance: Instance, examined: Examined) -> dict[str, Checked]:
    """Check each assumption. One that the point does not check is not met."""
    point = instance.point

    def check(kind: str) -> Checked:
        if kind in point.violated:
            return Checked(None, VIOLATED)
        how = reason(kind, point.met)
        return Checked(Fraction(0), how) if how else Checked(None, NOT_CHECKED)

    return {
        a.name: examined.checks[a.name] if a.name in examined.checks else check(a.kind) for a in statement.assumptions
    }


def _judged(
    statement: Claim, reading: Reading, checks: dict[str, Checked], sides: Sides | Undecided, slacks: _Slacks
) -> ReadingJudgement:
    if isinstance(sides, Undecided):
        none = dict.fromkeys([h.name for h in statement.hypotheses], Checked(None, NOT_CHECKED))
        return ReadingJudgement(reading, checks | none, arb("nan"), arb("nan"), arb("nan"), str(sides))
    undecided = ""
    for hypothesis in statement.hypotheses:
        try:
            checks[hypothesis.name] = slacks.of(hypothesis.relation_under(reading), sides)
        except Undecided as reason:
            checks[hypothesis.name], undecided = Checked(None, NOT_CHECKED), str(reason)
    left = sides.left if isinstance(sides.left, arb) else ball(sides.left) if finite(sides.left) else arb("inf")
    used = {s.name for term in statement.terms for s in term.expression.free_symbols}
    if not all(finite(sides.values[name]) for name in used & sides.values.keys()):
        return ReadingJudgement(reading, checks, left, arb("inf"), arb("nan"), "the right side is infinite")
    return ReadingJudgement(reading, checks, left, *_right_and_ratio(statement, sides, left), undecided, sides.note)


def _right_and_ratio(statement: Claim, sides: Sides, left: arb) -> tuple[arb, arb]:
    terms = [evaluate_in_balls(known(term.expression, sides.values), sides.values) for term in statement.terms]
    zero = arb(0)
    above = left.max(zero) + sum(((-term).max(zero) for term in terms), zero)
    below = (-left).max(zero) + sum((term.max(zero) for term in terms), zero)
    ratio = above / below
    if below == 0:
        ratio = zero if above == 0 else arb("inf")
    return sum(terms, zero), ratio


class _Slacks:
    """Proven lower bounds >= 0 of slacks; what readings share is bounded once."""

    def __init__(self, statement: Claim) -> None:
        self.of_runs = [name for name in (*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES) if name in statement.quantities]
        self.known: list[tuple[Any, Mapping[str, Any], Callable[[], list[Box]], Checked]] = []

    def of(self, relation: sympy.core.relational.Relational, sides: Sides) -> Checked:
        """The slack of a relation, ``None`` if no lower bound is shown; may raise ``Undecided``."""
        for other, values, boxes, check in self.known:
            if relation == other and values is sides.values and boxes is sides.boxes:
                return check
        check = self._bounded(slack_of(relation), sides)
        self.known.append((relation, sides.values, sides.boxes, check))
        return check

    def _bounded(self, expression: sympy.Expr, sides: Sides) -> Checked:
        values, used = sides.values, {s.name for s in expression.free_symbols}
        names = [name for name in self.of_runs if name in used]
        boxes = sides.boxes() if names else []
        names = [name for name in names if name not in values or any(name in box for box in boxes)]  # else it is stated
        if not names:
            slack = evaluate_or_limit(known(expression, values), values)
            return Checked(slack if slack >= 0 else None, EXACTLY if isinstance(slack, Fraction) else IN_BALLS)
        # Numbers that are known combine before balls blur them.
        exact = {s: values[s.name] for s in expression.free_symbols if isinstance(values.get(s.name), Fraction)}
        rest = expression.xreplace({s: sympy.Rational(v.numerator, v.denominator) for s, v in exact.items()})

        def slack_at(point: Sequence[arb]) -> arb:
            return ball(evaluate_or_limit(rest, {**values, **dict(zip(names, point, strict=True))}))

        bounds = [lower_bound_over_box(slack_at, [box[name] for name in names]) for box in boxes]
        if None in bounds and (corner := _at_lowest(rest, names)):
            bounds = [
                bound if bound is not None else corner(box, values) for bound, box in zip(bounds, boxes, strict=True)
            ]
        known_bounds = [bound for bound in bounds if bound is not None]
        shown = len(known_bounds) == len(bounds)
        return Checked(functools.reduce(arb.min, known_bounds) if shown else None, ENCLOSED)


def _at_lowest(slack: sympy.Expr, names: Sequence[str]) -> Callable[[Box, Mapping[str, Any]], arb | None] | None:
    """The least value over a box of a slack that is affine in these quantities, so that it is found at a corner, if it
    is seen to be >= 0: where the quantity stands several times a ball of the whole box forgets that it is one. ``None``
    where the slack is not affine.

    >>> names = ["least_server_gradient", "least_arbitrary_pseudogradient"]
    >>> x, y = map(symbol, names)
    >>> box = {"least_server_gradient": arb("1 +/- 1.5"), "least_arbitrary_pseudogradient": arb("3 +/- 1")}
    >>> round(float(_at_lowest(x - (x - 2 * y) / 3 - x / 2, names)(box, {})), 6)  # x/6 + 2 y/3 at x = 0, y = 2
    1.333333
    """
    quantities = [symbol(name) for name in names]
    slopes = [sympy.expand(slack.diff(each)) for each in quantities]
    if any(slope.has(*quantities) for slope in slopes):
        return None
    free = slack.xreplace(dict.fromkeys(quantities, sympy.Integer(0)))

    def lowest(box: Box, values: Mapping[str, Any]) -> arb | None:
        found = ball(evaluate_or_limit(free, values))
        for name, slope in zip(names, slopes, strict=True):
            rise = ball(evaluate_or_limit(slope, values))
            if not (rise >= 0 or rise <= 0):
                return None
            least = arb(QUANTITIES[name].lower)  # a ball whose lower end is 0 may reach below it by its rounding
            found = found + rise * (box[name].lower().max(least) if rise >= 0 else box[name].upper())
        return found.lower() if found >= 0 else None

    return lowest
