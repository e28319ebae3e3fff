"""Calculator of a claim's page: its fields, and its expressions as JavaScript."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from ...claims.schedules import by_rule
from ...claims.statement import Claim, slack_of
from ...quantities import ORDERED_PAIRS, QUANTITIES, Quantity
from .javascript import function, literal

START = {
    "rounds": 1000, "local_lr": 0.01, "server_lr": 0.01, "clients": 10, "cohort": 2, "arbitrary_cohort": 2,
    "local_steps": 5, "strong_convexity": 0.5, "gradient_noise": 0.5, "dissimilarity": 0.2,
    "dissimilarity_at_optimum": 0.1, "history": 20, "confidence": 0.1, "failure_probability": 0.1,
}  # fmt: skip
"""Initial values of fields, unless the page's instance says otherwise. Other fields begin at 1, 10 or 1/2."""

STEPS = ("local_lr", "server_lr", "global_lr")
_HALVINGS = 24


@dataclass(frozen=True)
class Field:
    """A quantity that the reader of a page sets.

    Attributes:
        quantity: which one.
        value: where it stands at first; ``None`` where it is empty, so that what needs it is undecided.
        optional: whether only hypotheses use it.
    """

    quantity: Quantity
    value: float | None
    optional: bool

    @property
    def name(self) -> str:
        """The name of the quantity."""
        return self.quantity.name

    def data(self) -> dict[str, Any]:
        """Return the entries of the field for the page's code."""
        known = self.quantity
        return {
            "name": known.name,
            "value": self.value,
            "optional": self.optional,
            "allowed": known.allowed,
            "lower": known.lower if math.isfinite(known.lower) else None,
            "upper": known.upper if math.isfinite(known.upper) else None,
            "positive": known.positive,
            "integer": known.integer,
        }


@dataclass(frozen=True)
class Calculator:
    """Calculator on the page of a claim.

    Attributes:
        fields: what is set.
        script: a call of the page's code with the claim's expressions; it is safe inside a ``script`` element.
    """

    fields: tuple[Field, ...]
    script: str


def calculator(claim: Claim, values: Mapping[str, float] | None = None) -> Calculator:
    """The calculator of a claim; its fields begin at ``values`` as far as these go.

    Raises:
        ValueError: a function in an expression that the page's arithmetic does not have.
    """
    found = fields(claim, values or {})
    content = {
        "ref": literal(claim.ref),
        "fields": literal([field.data() for field in found]),
        "pairs": literal([pair for pair in ORDERED_PAIRS if {*pair} <= {field.name for field in found}]),
        "bound": _named((name, sympy.sympify(value), None) for name, value in claim.bound.items()),
        "choices": _named((n, choice, None) for n, choice in claim.choices.items() if not by_rule(choice)),
        "terms": _named((term.name, term.expression, "Infinity") for term in claim.terms),
        "rates": _named((rate.name, rate.expression, "Infinity") for rate in claim.rates),
        "slack": "[" + ",".join(map(_slack, claim.hypotheses)) + "]",
        "left": _left(claim),
    }
    return Calculator(found, f"Calculator({{{','.join(f'{key}:{text}' for key, text in content.items())}}});")


def fields(claim: Claim, values: Mapping[str, float]) -> tuple[Field, ...]:
    """The quantities that are set, in the vocabulary's order: neither those that the claim chooses nor those that it
    binds."""
    names = [name for name in claim.quantities if name not in claim.choices and name not in claim.bound]
    needed = {s.name for side in _sides(claim) for s in side.free_symbols}
    start = start_values(claim, names, needed, values)
    return tuple(Field(QUANTITIES[name], start.get(name), name not in needed) for name in names)


def _sides(claim: Claim) -> Iterable[sympy.Expr]:
    yield from (term.expression for term in claim.terms)
    yield from claim.choices.values()
    yield from map(sympy.sympify, claim.bound.values())
    if claim.functional.expression is not None:
        yield claim.functional.expression


def start_values(claim: Claim, names: Iterable[str], needed: set[str], values: Mapping[str, float]) -> dict[str, float]:
    """Return allowed values, by name, at which the calculator starts.

    They are the given ones, else usual ones with step sizes so small that hypotheses hold, if any are, or else others
    at which fewer fail. Quantities that runs alone have are left out unless they are given or the right side needs
    them.
    """
    usual = {
        n: float(values.get(n, _usual(QUANTITIES[n])))
        for n in names
        if n in values or n in needed or not QUANTITIES[n].scope
    }
    for small, large in ORDERED_PAIRS:
        if small in usual and large in usual and small not in values:
            usual[small] = min(usual[small], usual[large])
    free = [name for name in usual if name not in values]
    steps = [name for name in STEPS if name in free]
    tried = dict(usual)
    for _ in range(_HALVINGS if steps else 0):
        if not _failing(claim, tried):
            return tried
        tried |= {name: tried[name] / 2 for name in steps}
    return _moved(claim, usual, free)


def _moved(claim: Claim, start: dict[str, float], free: Iterable[str]) -> dict[str, float]:
    """The values with some of them moved, one at a time, as long as fewer hypotheses fail."""
    found, failing = start, _failing(claim, start)
    for name in (*free, *free) if failing else ():
        for candidate in _elsewhere(QUANTITIES[name], found):
            fewer = _failing(claim, found | {name: candidate})
            if fewer is not None and fewer < (failing or 0):
                found, failing = found | {name: candidate}, fewer
    return found


def _elsewhere(known: Quantity, values: Mapping[str, float]) -> Iterator[float]:
    """Other allowed values of a quantity: the ends of its range, its equal, some steps away."""
    value = values[known.name]
    yield from (
        max(1.0, known.lower),
        *(values[large] for small, large in ORDERED_PAIRS if small == known.name and large in values),
    )
    if not known.positive and known.lower == 0:
        yield 0.0
    for factor in (4, 40, 1 / 4, 1 / 40, 1 / 400):
        if known.lower <= value * factor <= known.upper:
            yield float(max(round(value * factor), known.lower)) if known.integer else value * factor
    if known.upper == 1:
        yield from (0.9, 0.99)


def _failing(claim: Claim, values: Mapping[str, float]) -> int | None:
    """Count the hypotheses that fail; ``None`` where the claim has no value there."""
    try:
        slack = claim.evaluate(**values).slack.values()
    except ValueError:
        return None
    return sum(bool(value is not None and value < 0) for value in slack)


def _usual(known: Quantity) -> float:
    if known.name in START:
        return START[known.name]
    if known.integer:
        return max(10.0, known.lower)
    return 0.5 if known.upper == 1 else max(1.0, known.lower)


def _function(expression: sympy.Expr, undefined: str | None) -> str:
    """The expression with the names that it needs, and what counts where it is undefined; ``None``: division by zero is
    what it is in floating point, as it is for what a claim chooses."""
    needs = literal(sorted(s.name for s in expression.free_symbols))
    return f"{{needs:{needs},at:{function(expression, undefined)}}}"


def _named(entries: Iterable[tuple[str, sympy.Expr, str | None]]) -> str:
    return "[" + ",".join(f"{{name:{literal(name)},of:{_function(e, other)}}}" for name, e, other in entries) + "]"


def _slack(hypothesis: Any) -> str:
    options = ",".join(
        f"{literal(option)}:{_function(slack_of(relation), '-Infinity')}"
        for option, relation in hypothesis.alternatives.items()
    )
    of = _function(hypothesis.slack, "-Infinity")
    return f"{{name:{literal(hypothesis.name)},of:{of},options:{{{options}}}}}"


def _left(claim: Claim) -> str:
    """The left side, where it is of values alone; else ``null``."""
    left = claim.functional
    if left.expression is None:
        return "null"
    options = ",".join(f"{literal(o)}:{_function(e, 'NaN')}" for o, e in left.alternatives.items())
    return f"{{of:{_function(left.expression, 'NaN')},options:{{{options}}}}}"
