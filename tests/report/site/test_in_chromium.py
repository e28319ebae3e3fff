"""The pages in a browser: they load alone, and what they compute is what Python computes."""

from __future__ import annotations

import json
import math
import random
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from fedtheory.claims.arithmetic import compiled_slack, compiled_term
from fedtheory.claims.schedules import by_rule
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import ORDERED_PAIRS, QUANTITIES
from fedtheory.report.site.calculator import fields
from fedtheory.report.site.pages import address

_SPEC = util.spec_from_file_location("chromium", Path(__file__).with_name("chromium.py"))
chromium = util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(chromium)

pytestmark = [
    pytest.mark.xdist_group("site"),
    pytest.mark.skipif(chromium.program() is None, reason=f"no browser: none of {', '.join(chromium.NAMES)} is there"),
]

RELATIVE = 1e-12
"""A few dozen operations, each off by less than 1e-15 relatively, with little cancellation at the points drawn."""


@pytest.fixture(scope="module")
def page():
    with chromium.browser() as opened:
        yield opened


@pytest.fixture
def quiet(page):
    """A page on which nothing was said or asked for yet; in the end, nothing may have been."""
    page.errors.clear(), page.requests.clear()
    page.look(1280)
    yield page
    assert page.errors == []
    assert [request for request in page.requests if not request.startswith(("file:", "data:"))] == []


SET_AND_READ = """((points) => points.map((point) => {
  const root = document.querySelector("[data-calculator]");
  const inputs = [...root.querySelectorAll("[data-field]")];
  if (point.slide !== undefined) {
    const slider = root.querySelectorAll("[data-slider]")[point.slide];
    slider.value = point.to;
    slider.dispatchEvent(new Event("input"));
  } else if (inputs.length) {
    for (const input of inputs) input.value = point.values[input.dataset.field] ?? "";
    inputs[0].dispatchEvent(new Event("input"));
  }
  const all = (kind) => Object.fromEntries([...root.querySelectorAll(`[data-${kind}]`)].map(
    (cell) => [cell.dataset[kind], cell.dataset.value]));
  return {values: Object.fromEntries(inputs.map((input) => [input.dataset.field, input.value])),
          wrong: [...root.querySelectorAll("[data-complaint]")].map((cell) => cell.textContent).join(""),
          total: all("total"), terms: all("terms"), slack: all("slack"), chosen: all("chosen"), bound: all("bound")};
}))"""


def points_of(statement):
    """Values of the fields: as they stand at first, moved at random, with zeros, and far out."""
    draw, found = random.Random(statement.ref), fields(statement, {})
    start = {field.name: 1.0 if field.value is None else field.value for field in found}
    moved = [{name: allowed(name, value * 2 ** draw.uniform(-2, 2), draw) for name, value in start.items()}
             for _ in range(2)]  # fmt: skip
    free = {f.name: f.quantity.lower == 0 and not f.quantity.positive and not f.quantity.integer for f in found}
    zeros = {name: 0.0 if free[name] and draw.random() < 0.6 else value for name, value in moved[0].items()}
    far = {name: allowed(name, value * 10 ** draw.choice((-150, -40, 0, 40)), draw) if math.isinf(
        QUANTITIES[name].upper) and not QUANTITIES[name].integer else value for name, value in moved[1].items()}  # fmt: skip
    if any(map(by_rule, statement.choices.values())):  # whose rational numbers have only so many digits
        return [start, *moved, zeros]
    return [start, *moved, zeros, far]


def allowed(name, value, draw):
    known = QUANTITIES[name]
    if known.upper == 1:
        return draw.random() or 0.5
    if known.integer:
        return float(max(round(value), known.lower))
    return max(value, known.lower) if math.isfinite(known.lower) else value * draw.choice((-1, 1))


def in_order(values):
    """With what may not exceed another quantity cut to it."""
    for small, large in ORDERED_PAIRS:
        if small in values and large in values:
            values[small] = min(values[small], values[large])
    return values


def exact_text(value):
    return repr(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def same(told, expected):
    """Whether the page's number is Python's."""
    expected = float(expected)
    told = {"Infinity": math.inf, "-Infinity": -math.inf}.get(told) or float(told)
    return (
        told == expected
        or (math.isnan(told) and math.isnan(expected))
        or abs(told - expected) <= RELATIVE * abs(expected)
    )


def differences(statement, told):
    """Where the page's numbers are not Python's, by name."""
    values = {name: float(text) for name, text in told["values"].items() if text}
    bound = statement.evaluate(**values)
    chosen = {name: bound.quantities[name] for name, choice in statement.choices.items() if not by_rule(choice)}
    numbers = {name: np.asarray(value, dtype=float)[()] for name, value in bound.quantities.items() if name not in
               statement.choices or name in chosen}  # fmt: skip
    expected = {
        "terms": bound.terms, "slack": bound.slack, "chosen": chosen, "total": {"value": bound.value},
        "bound": {name: numbers[name] for name in statement.bound},
    }  # fmt: skip
    if statement.functional.expression is not None:
        expected["total"]["left"] = left_side(statement.functional.expression, numbers)
    return {
        (kind, name): (told[kind][name], value) for kind, entries in expected.items() for name, value in entries.items()
        if not (told[kind][name] == "" if value is None else same(told[kind][name], value))
    }  # fmt: skip


def left_side(expression, numbers):
    """A left side of values; no number where it is undefined, for which terms and slacks have different values."""
    with np.errstate(all="ignore"):
        above, below = compiled_term(expression)(numbers), compiled_slack(expression)(numbers)
    return above if above == below else math.nan


def test_every_calculator_computes_what_python_computes(site, quiet):
    wrong = {}
    for statement in all_claims():
        quiet.load(site / address(statement.ref))
        points = [{"values": {n: exact_text(x) for n, x in in_order(p).items()}} for p in points_of(statement)]
        points += [{"slide": 0, "to": to} for to in (310, 770) if fields(statement, {})]
        for told in quiet.run(f"{SET_AND_READ}({json.dumps(points)})"):
            if told["wrong"]:  # a slider that passes what another quantity allows
                continue
            found = differences(statement, told)
            if found:
                wrong[statement.ref] = found
    assert wrong == {}
