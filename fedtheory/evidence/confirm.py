"""Does an instance refute a claim? Decided in rational and ball arithmetic, reading by reading."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from flint import arb

from .. import __version__
from ..claims import claim
from ..claims.statement import Claim, slack_of
from ..functionals import AVERAGES
from ..quantities import RUN_QUANTITIES
from .balls import ball, decimal, evaluate_exactly, evaluate_in_balls, lower_bound_over_box, working_precision
from .enclosure import Box, LeftSide, Undecided, left_side, run_boxes
from .instance import SCHEMA, Instance, parse

Slack = arb | Fraction | None
"""A proven lower bound of a slack that is >= 0; ``None`` where the hypothesis is not shown to hold."""


@dataclass(frozen=True)
class ReadingJudgement:
    """An instance under one reading of the claim.

    Attributes:
        reading: option by ambiguity.
        slack: by hypothesis or assumption, a proven lower bound, >= 0; ``None`` where it is not shown to hold.
        left, right: enclosures of the two sides.
        undecided: why a run quantity could not be enclosed, or "".
    """

    reading: dict[str, str]
    slack: dict[str, Slack]
    left: arb
    right: arb
    undecided: str = ""

    @property
    def failing(self) -> list[str]:
        """Hypotheses that are not shown to hold."""
        return [name for name, slack in self.slack.items() if slack is None]

    @property
    def refutes(self) -> bool:
        """Every hypothesis holds and left > right, both proven."""
        return not self.failing and bool(self.left > self.right)

    def to_json(self) -> dict[str, Any]:
        return {
            "reading": self.reading,
            "slack": {name: None if slack is None else decimal(slack) for name, slack in self.slack.items()},
            "left": decimal(self.left),
            "right": decimal(self.right),
            "ratio": decimal(self.left / self.right),
            "refutes": self.refutes,
        } | ({"undecided": self.undecided} if self.undecided else {})


@dataclass(frozen=True)
class Judgement:
    """An instance under every reading of its claim, the literal reading first."""

    instance: Instance
    readings: tuple[ReadingJudgement, ...]

    @property
    def refutes(self) -> bool:
        """Whether the claim falls under EVERY reading (charity)."""
        return all(reading.refutes for reading in self.readings)

    def to_json(self) -> dict[str, Any]:
        """The instance's file: what it is, every printed hypothesis with its slack, the readings tried."""
        statement = claim(self.instance.claim)
        literal = self.readings[0]
        conditions = [(a.name, f"{a.quantity} as the federation has it", a.source) for a in statement.assumptions]
        conditions += [(h.name, str(h.relation), h.source) for h in statement.hypotheses]
        literal_json = literal.to_json()
        return {
            "schema": SCHEMA,
            "fedtheory": __version__,
            **self.instance.to_json(),
            "functional": statement.functional.meaning,
            "hypotheses": [
                {"name": name, "statement": text, "source": source, "slack": literal_json["slack"][name]}
                for name, text, source in conditions
            ],
            **{key: literal_json[key] for key in ("left", "right", "ratio")},
            "refutes": self.refutes,
            "readings": [reading.to_json() for reading in self.readings],
        }


def judge(instance: Instance, follow: bool = True) -> Judgement:
    """The instance under every reading of its claim. Unless ``follow``, deterministic runs are enclosed without
    following them round by round: quicker, and proves no more."""
    with working_precision():
        return Judgement(instance, tuple(_judge_readings(instance, follow)))


def _judge_readings(instance: Instance, follow: bool) -> Iterator[ReadingJudgement]:
    statement = claim(instance.claim)
    exact = _exact_quantities(instance)
    right = evaluate_in_balls(statement.right_side, exact)
    fixed_slack = _assumption_slack(statement, instance)
    lefts = functools.cache(lambda *how: left_side(instance, *how))
    boxes = functools.cache(lambda *how: run_boxes(instance, *how, follow))
    slacks = functools.cache(lambda relation, *how: _hypothesis_slack(slack_of(relation), exact, lambda: boxes(*how)))
    for reading in statement.readings():
        how = (reading.get("snapshots", "period"), reading.get("uniform cohort", "without replacement"))
        slack, undecided = dict(fixed_slack), ""
        for hypothesis in statement.hypotheses:
            try:
                slack[hypothesis.name] = slacks(
                    hypothesis.under(reading).relation, *how, reading.get("local gradients", "k = 0..K-1")
                )
            except Undecided as reason:
                slack[hypothesis.name], undecided = None, str(reason)
        left: LeftSide = lefts(*how)
        value = left.of(statement.functional, reading.get("average", AVERAGES[0]))
        yield ReadingJudgement(reading, slack, value, right, undecided)


def _exact_quantities(instance: Instance) -> dict[str, Fraction | arb]:
    """Every quantity that the instance fixes; exact, but for a distance that is a square root."""
    setting = instance.setting()
    fed = setting.federation
    shift = setting.exact_start - fed.exact_optimum
    return {
        **instance.constants,
        "initial_gap": shift @ (fed.exact_hessians.sum(0) / Fraction(fed.clients)) @ shift / 2,
        "initial_distance": ball(shift @ shift).sqrt(),
        "clients": Fraction(fed.clients),
        "cohort": Fraction(instance.cohort),
        "arbitrary_cohort": Fraction(len(instance.members)),
        "local_steps": Fraction(instance.local_steps),
        "local_lr": instance.local_lr,
        "rounds": Fraction(instance.rounds),
        "snapshot_probability": Fraction(1, instance.snapshot_period),
        "snapshot_period": Fraction(instance.snapshot_period),
    }


def _assumption_slack(statement: Claim, instance: Instance) -> dict[str, Fraction | None]:
    """By assumption: how far the stated constant is on the safe side of the federation's own (squared for the
    dissimilarity, which is a length); ``None`` if it is not."""
    true = _true_constants(instance)
    slack = {}
    for assumption in statement.assumptions:
        stated, actual = instance.constants[assumption.quantity], true[assumption.quantity]
        if assumption.quantity == "dissimilarity":
            stated = stated**2
        margin = actual - stated if assumption.from_below else stated - actual
        slack[assumption.name] = margin if margin >= 0 and stated >= 0 else None
    return slack


def _true_constants(instance: Instance) -> dict[str, Fraction]:
    """The federation's constants in rational arithmetic; the dissimilarity squared."""
    fed = instance.setting().federation
    eigenvalues = [v for row in instance.hessians for v in row]
    return {
        "smoothness": max(eigenvalues),
        "strong_convexity": min(eigenvalues),
        "gradient_noise": fed.exact_gradient_noise,
        "dissimilarity": fed.exact_squared_dissimilarity,
    }


def _hypothesis_slack(expression: sympy.Expr, exact: dict[str, Any], boxes: Callable[[], list[Box]]) -> Slack:
    """A proven lower bound >= 0 of the slack; ``None`` if there is none."""
    if not {s.name for s in expression.free_symbols} & set(RUN_QUANTITIES):
        return _sign_checked(expression, exact)
    known = {s: sympy.Rational(exact[s.name].numerator, exact[s.name].denominator)
             for s in expression.free_symbols if s.name not in RUN_QUANTITIES}  # fmt: skip
    bounds = [_slack_over_box(expression.xreplace(known), box) for box in boxes()]
    return None if any(b is None for b in bounds) else functools.reduce(lambda a, b: a.min(b), bounds)


def _sign_checked(expression: sympy.Expr, exact: dict[str, Any]) -> Slack:
    if all(isinstance(exact[s.name], Fraction) for s in expression.free_symbols):
        try:
            slack = evaluate_exactly(expression, exact)
        except ZeroDivisionError:  # a condition that divides by zero is not shown to hold
            return None
    else:
        slack = evaluate_in_balls(expression, exact)
    return slack if slack >= 0 else None


def _slack_over_box(expression: sympy.Expr, box: Box) -> arb | None:
    names = [name for name in RUN_QUANTITIES if name in {s.name for s in expression.free_symbols}]
    return lower_bound_over_box(
        lambda values: evaluate_in_balls(expression, dict(zip(names, values, strict=True))),
        [box[name] for name in names],
    )


class ReplayError(ValueError):
    """A recorded instance does not say what its numbers say."""


def replay(data: dict[str, Any]) -> Judgement:
    """Judge a recorded instance afresh and compare everything that the file states.

    Raises:
        ReplayError: a hypothesis fails, the bound is not exceeded, or a recorded number is not the recomputed one.
        ValueError: the file is not an instance.
    """
    if type(data.get("schema")) is not int or data["schema"] != SCHEMA:
        raise ValueError(f"schema = {data.get('schema')!r}: allowed is {SCHEMA}")
    judgement = judge(parse(data))
    literal = judgement.readings[0]
    if literal.failing:
        raise ReplayError(f"{judgement.instance.claim}: the hypothesis {literal.failing[0]} does not hold")
    if not literal.refutes:
        raise ReplayError(f"{judgement.instance.claim}: the bound is not exceeded: "
                          f"left {decimal(literal.left)}, right {decimal(literal.right)}")  # fmt: skip
    for key, value in judgement.to_json().items():
        # Compared as text, since 1, 1.0 and True are equal to Python.
        if key != "fedtheory" and json.dumps(data.get(key)) != json.dumps(value):
            raise ReplayError(f"{judgement.instance.claim}: the file says {key} = {_short(data.get(key))}, "
                              f"recomputed is {_short(value)}")  # fmt: skip
    return judgement


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
