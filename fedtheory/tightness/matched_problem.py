"""The worst case with which a claim on (strongly) convex functions is compared: its quantities, rounds and class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any, TypeVar

from ..algorithms import Algorithm, Safari
from ..assumptions import INDEPENDENT_DRAWS
from ..claims.evaluation import Bound
from ..claims.schedules import linked_from
from ..claims.statement import Claim
from ..quantities import QUANTITIES, symbol
from ..rationals import exact_number
from ..schedule import StepRule
from ..worstcase.algorithm_plans import plan_of
from ..worstcase.classes import FunctionClass, convex, smooth, strongly_convex
from ..worstcase.program import METRICS
from ..worstcase.round_plans import Plan
from .function_class import OF_RUNS, NotApplicable, algorithm_at, differences, of_gradients, of_one_round

DEFAULTS: dict[str, Fraction] = {name: Fraction(value) for name, value in {
    "smoothness": "1", "strong_convexity": "1/10", "clients": "4", "cohort": "2", "arbitrary_cohort": "2",
    "local_steps": "2", "initial_distance": "1", "gradient_noise": "0", "server_noise": "0", "dissimilarity": "1/100",
    "snapshot_probability": "1/2", "client_round_probability": "1/2", "rounds": "1000", "initial_gap": "1",
    "snapshot_period": "2",
}.items()}  # fmt: skip
"""Values of quantities that are not given, as far as the hypotheses allow them."""

OTHERS: dict[str, tuple[str, ...]] = {
    "dissimilarity": ("0",), "rounds": ("10000", "100000", "100", "10", "1"), "arbitrary_cohort": ("4",),
    "cohort": ("4",), "snapshot_probability": ("1", "0"), "client_round_probability": ("1", "0"),
}  # fmt: skip
"""Values to try next where the hypotheses do not allow the default; those of the last quantity change fastest."""

FEW = 4
"""Number of rounds in one program, where a claim bounds squared gradients."""

POWERS = 20
"""Number of powers of 1/2 to try, from 1 on, for a quantity that no single hypothesis bounds."""

NOISE = Fraction(1, 10)
"""Default gradient noise of clients that do not differ: without it nothing would be added."""

MOST_ROUNDS = 10**6

DIGITS = 3
"""Significant digits of a step size that is chosen here, unless only the exact cap is allowed."""

FEDERATION = {"heterogeneity_gap", "weighted_noise", "gradient_bound", "local_lr", "server_lr", "step_shift",
              "young_parameter", "step_constant"}  # fmt: skip
"""Quantities that a comparison knows beside those in ``DEFAULTS``."""

INSTEAD = {"heterogeneity_gap": "dissimilarity", "weighted_noise": "gradient_noise"}
"""Quantity that may be given in the place of a claim's own one, which follows from it."""


Matched = TypeVar("Matched")


@dataclass(frozen=True)
class Comparison:
    """A claim at one choice of its quantities, and the rounds and functions that its worst case is over.

    Attributes:
        bound: the claim at ``values``.
        values: all quantities, exact; chosen ones as the claim chooses them.
        algorithm, plan: of one round, or of all where ``whole``.
        other, period: where snapshots come in every period-th round, from the first one on, and rounds are no one
            program: the plan of the rounds between them.
        functions: of every client.
        dissimilarity, noise, server_noise: zeta, sigma and sigma_s of the class.
        everywhere: whether the dissimilarity is bounded at the server's points too.
        differences: how the class of the worst case differs from the claim's, in words.
        larger: whether the claim assumes something that the class does not: then a worst case above the bound
            decides nothing.
        whole: whether the rounds are one program, or else one round is iterated.
    """

    bound: Bound
    values: Mapping[str, Any]
    algorithm: Algorithm
    plan: Plan
    functions: FunctionClass
    dissimilarity: Fraction
    noise: Fraction
    server_noise: Fraction
    everywhere: bool
    differences: tuple[str, ...]
    larger: bool
    whole: bool
    other: Plan | None = None
    period: int = 1

    @property
    def statement(self) -> Claim:
        """The claim."""
        return self.bound.statement

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plan of each kind of round that comes at times known beforehand."""
        return (self.plan,) if self.other is None else (self.plan, self.other)


def check_applies(statement: Claim) -> None:
    """Raise ``NotApplicable`` unless the claim bounds a worst case's metric of (strongly) convex functions."""
    if of_one_round(statement):
        return _check_known(statement)
    bounded = statement.functional
    if bounded.scope != "run" or bounded.name not in METRICS:
        where = " of one function at given points, where no round is made" if bounded.scope == "function" else ""
        raise NotApplicable(f"it bounds {bounded.name}{where}, no error of a run that a worst case is known of")
    if "strongly_convex" not in statement.assumed and not of_gradients(statement):
        raise NotApplicable("the claim assumes no convexity; worst cases are over (strongly) convex functions")
    of_run = {s.name for term in statement.terms for s in term.expression.free_symbols} & OF_RUNS
    if of_run:
        raise NotApplicable(
            f"its right side depends on the run's {', '.join(sorted(of_run))}, which the class leaves open"
        )
    _check_known(statement)


def _check_known(statement: Claim) -> None:
    unknown = set(statement.quantities) - OF_RUNS - FEDERATION - DEFAULTS.keys()
    if unknown:
        raise NotApplicable(f"no worst case knows of its {', '.join(sorted(unknown))}")


def comparison(statement: Claim, given: Mapping[str, Any]) -> Comparison:
    """Choose the quantities that are not given, and match the claim with its worst case.

    Raises:
        NotApplicable: there is no worst case to compare it with.
        ValueError: a quantity is unknown or not allowed.
    """
    check_applies(statement)
    return matched(statement, given, _compared)


def matched(
    statement: Claim,
    given: Mapping[str, Any],
    compared: Callable[[Bound, dict[str, Fraction]], Matched],
    defaults: Mapping[str, Fraction] = DEFAULTS,
) -> Matched:
    """Choose the quantities that are not given, and compare the claim there.

    They are taken from ``defaults`` and ``OTHERS`` until all hypotheses hold that can be decided, step sizes at their
    caps.

    Raises:
        NotApplicable: there is no worst case to compare it with.
        ValueError: a quantity is unknown or not allowed.
    """
    known = _checked(statement, given)
    statement = linked_from(statement, known)
    refused: Exception = ValueError("no choice of the quantities that are left out meets the hypotheses")
    for values in _choices(statement, known, defaults):
        try:
            full = _completed(statement, values)
        except ValueError as error:
            refused = error
            continue
        bound = _bound(statement, full)
        if bound.hypotheses_hold is False:
            failing = [name for name, slack in bound.slack.items() if slack is not None and slack < 0]
            refused = ValueError(f"the hypotheses {', '.join(failing)} fail")
            continue
        try:
            return compared(bound, full)
        except NotApplicable as error:
            refused = error
    if isinstance(refused, NotApplicable):
        raise refused
    if of_gradients(statement) and not known:
        raise NotApplicable(f"after {FEW} rounds {refused}")
    raise ValueError(
        f"{statement.ref} at {', '.join(f'{n}={v}' for n, v in known.items()) or 'every default'}: {refused}"
    )


def own_quantities(statement: Claim) -> set[str]:
    """Return the quantities that a comparison of the claim accepts: the class's, and the claim's own but for those of a
    run."""
    return {*statement.quantities, "smoothness", "strong_convexity", "clients"} - OF_RUNS


def _checked(statement: Claim, given: Mapping[str, Any]) -> dict[str, Fraction]:
    own = own_quantities(statement)
    allowed = own | {INSTEAD[name] for name in own if name in INSTEAD}
    chosen = linked_from(statement, given).choices
    for name in given:
        if name not in allowed:
            raise ValueError(f"{name}: allowed for {statement.ref} is one of {', '.join(sorted(allowed))}")
        if name in chosen:
            raise ValueError(f"{name} = {given[name]}: {statement.ref} chooses it, leave it out")
        if INSTEAD.get(name) in given:
            raise ValueError(f"{name}, {INSTEAD[name]}: give at most one of them")
        if isinstance(given[name], list | tuple):
            raise ValueError(f"{name} = {given[name]}: allowed is one number")
    known = {name: _short(exact_number(name, value)) for name, value in given.items()}
    for name, value in known.items():
        quantity = QUANTITIES[name]
        if value < quantity.lower or value > quantity.upper or (quantity.positive and value == 0):
            raise ValueError(f"{name} = {value}: allowed is {quantity.allowed}")
        if quantity.integer and value.denominator != 1:
            raise ValueError(f"{name} = {value}: allowed is a whole number")
    if known.get("rounds", 0) > MOST_ROUNDS:
        raise ValueError(f"rounds = {known['rounds']}: allowed are at most {MOST_ROUNDS}")
    return known


def _short(value: Fraction) -> Fraction:
    """The number as written: 0.1 is 1/10."""
    return Fraction(repr(float(value))) if Fraction(float(value)) == value else value


def _choices(
    statement: Claim, known: Mapping[str, Fraction], defaults: Mapping[str, Fraction]
) -> Iterator[dict[str, Fraction]]:
    """Defaults, then others, of what the claim knows and is not given."""
    periodic = "snapshot_period" in statement.quantities
    left_out = "snapshot_probability" if periodic else "snapshot_period"
    base = {name: value for name, value in {**defaults, **known}.items() if name != left_out}
    free = [name for name in OTHERS if name != "cohort" and name in statement.quantities and name not in known]
    if of_one_round(statement) or (periodic and of_gradients(statement)):  # of all clients a snapshot is not random
        free = [name for name in ("cohort", *free) if name in statement.quantities and name not in known]
    if of_one_round(statement):
        base |= {"gradient_noise": NOISE} if "gradient_noise" not in known else {}
    whole = statement.functional.name != "final_squared_distance" or of_one_round(statement)
    if whole and "rounds" not in known:
        base["rounds"] = Fraction(FEW if of_gradients(statement) else 1)  # all rounds are one program
        free = [name for name in free if name != "rounds"]
    ways = [(defaults[name], *(Fraction(v) for v in OTHERS[name])) for name in free]
    for way in product(*ways):
        values = base | dict(zip(free, way, strict=True))
        if values["dissimilarity"] == 0 and "gradient_noise" not in known:
            values["gradient_noise"] = NOISE
        yield values
    if INDEPENDENT_DRAWS in statement.assumed and "clients" not in known:  # whose draws are no draws
        yield {**base, "clients": Fraction(1), "dissimilarity": Fraction(0), "gradient_noise": NOISE, **known}


def _completed(statement: Claim, values: dict[str, Fraction]) -> dict[str, Fraction]:
    """Add the quantities that follow from others, and the step sizes."""
    names, L, mu = statement.quantities, values["smoothness"], values["strong_convexity"]
    if mu > L:
        raise ValueError(f"strong_convexity = {mu}: allowed is at most smoothness = {L}")
    zeta = values["dissimilarity"]
    derived: dict[str, Fraction] = {}
    if "heterogeneity_gap" in names:
        derived["heterogeneity_gap"] = zeta**2 / (2 * L)
    if "weighted_noise" in names:
        derived["weighted_noise"] = values["gradient_noise"] ** 2 / values["clients"]
    if "gradient_bound" in names:
        slope = L * values["initial_distance"] + zeta
        derived["gradient_bound"] = _root(slope**2 + values["gradient_noise"] ** 2)
    if "young_parameter" in names:
        derived["young_parameter"] = mu / 4
    full = dict.fromkeys(sorted(OF_RUNS & set(names)), Fraction(0)) if of_one_round(statement) else {}
    full |= derived | values
    for name, at_least in (("step_shift", True), ("server_lr", False), ("step_constant", False)):
        if name in names and name not in full and name not in statement.choices:
            full[name] = _extreme(statement, name, full, at_least)
    if "local_lr" in names and "local_lr" not in full and "local_lr" not in statement.choices:
        numbers = {n: v for n, v in full.items() if n in names and n not in statement.choices}
        largest = Fraction(statement.largest_step(**{n: float(v) for n, v in numbers.items()}))
        full["local_lr"] = largest
        rounded = full | {"local_lr": _rounded_down(largest)}
        if _bound(statement, rounded).hypotheses_hold is not False:
            full = rounded
    return full


def _power(statement: Claim, name: str, values: Mapping[str, Fraction]) -> Fraction:
    """The largest power of 2 up to 1 with which the hypotheses hold, of a quantity that sets a step size."""
    failing: list[str] = []
    for k in range(POWERS):
        found = _bound(statement, {**values, name: Fraction(1, 2**k)})
        if found.hypotheses_hold is not False:
            return Fraction(1, 2**k)
        failing = [each for each, slack in found.slack.items() if slack is not None and slack < 0]
    raise ValueError(f"{name}: at no power of 2 that is at most 1 do the hypotheses {', '.join(failing)} hold; give it")


def _root(square: Fraction) -> Fraction:
    """The root, or a number above it by less than 1e-12 of it."""
    scale = 10**24
    root = isqrt(square.numerator * scale * square.denominator)
    exact = root * root == square.numerator * scale * square.denominator
    return Fraction(root + (not exact), 10**12 * square.denominator)


def _extreme(statement: Claim, name: str, values: Mapping[str, Fraction], least: bool) -> Fraction:
    """The least or the largest value that every decidable hypothesis allows."""
    found = []
    for hypothesis in statement.hypotheses:
        inside = {s.name for s in hypothesis.slack.free_symbols}
        if name in inside and inside <= {name, *values}:
            allowed = statement.required(hypothesis, name, **{n: float(values[n]) for n in inside - {name}})
            found.append(allowed.smallest if least else allowed.largest)
    if not found:
        return _power(statement, name, values)
    value = Fraction(max(found) if least else min(found))
    return value if least else _rounded_down(value)


def _rounded_down(value: Fraction) -> Fraction:
    """``DIGITS`` digits."""
    exponent = len(str(int(value))) if value >= 1 else 1 - len(str(int(1 / value)))
    unit = Fraction(10) ** (exponent - DIGITS)
    rounded = value // unit * unit
    return rounded if value - rounded < unit * (1 - Fraction(1, 10**6)) else rounded + unit


def _bound(statement: Claim, values: Mapping[str, Fraction]) -> Bound:
    inside: dict[str, Any] = {
        n: v for n, v in values.items() if n in statement.quantities and n not in statement.choices
    }
    return statement.evaluate(**inside)


def _compared(bound: Bound, values: dict[str, Fraction]) -> Comparison:
    statement = bound.statement
    full: dict[str, Any] = {name: value for name, value in values.items() if name not in OF_RUNS}
    for name in statement.choices:
        chosen = bound.quantities[name]
        full[name] = chosen if isinstance(chosen, StepRule) else Fraction(repr(float(chosen)))
    algorithm, drawn = algorithm_at(statement, full)
    n, clients = int(full["arbitrary_cohort"]), int(full["clients"])
    if n > clients and drawn != "twice":
        raise ValueError(f"arbitrary_cohort = {n}: allowed is at most clients = {clients}")
    whole = statement.functional.name != "final_squared_distance" or full["rounds"] == 1
    try:
        who = {"cohort" if drawn else "arbitrary_cohort": n} if n < clients else {}
        if drawn == "twice" and clients > 1:
            raise ValueError("clients are drawn with replacement, and the error is a gap: no one program")
        plan = plan_of(algorithm, int(full["rounds"]) if whole else 1, clients=clients, **who)
        lasting = statement.functional.name != "final_squared_distance"
        if plan.random and ("objective_decrease" in statement.quantities if of_one_round(statement) else lasting):
            raise ValueError(
                f"{statement.functional.name} of random rounds is no one program; allowed is "
                f"arbitrary_cohort = clients = {clients}"
            )
        if whole and full["gradient_noise"] and plan.chosen is not None and len(plan.rounds) > 1:
            raise ValueError(
                "noise of a set of clients over several rounds is no one program; allowed is "
                f"arbitrary_cohort = clients = {clients}"
            )
    except ValueError as error:
        raise NotApplicable(str(error)) from None
    L, mu = full["smoothness"], full["strong_convexity"]
    if "strongly_convex" not in statement.assumed:
        mu = Fraction(0)
    functions = strongly_convex(smoothness=L, strong_convexity=mu) if mu else convex(smoothness=L)
    if not mu and of_one_round(statement):
        functions = smooth(smoothness=L)
    other, period = None, algorithm.period or 1
    if period > 1 and not whole:
        other = plan_of(algorithm.with_share(Fraction(0)), clients=clients, **who)
    differ, larger = differences(statement)
    if clients == 1:
        differ += ("one client alone",)
    zeta, noise = _constants(statement, full)
    return Comparison(
        bound,
        full,
        algorithm,
        plan,
        functions,
        zeta,
        noise,
        full["server_noise"] if isinstance(algorithm, Safari) else Fraction(0),
        "bounded_dissimilarity" in statement.assumed,
        differ,
        larger,
        whole,
        other,
        period,
    )


def _constants(statement: Claim, values: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """zeta and sigma of the class that holds every federation that the claim allows."""
    zeta, noise = values["dissimilarity"], values["gradient_noise"]
    if "heterogeneity_gap" in statement.quantities:
        zeta = _root(2 * values["smoothness"] * values["heterogeneity_gap"])
    if "weighted_noise" in statement.quantities:
        noise = _root(values["weighted_noise"] * values["clients"])
    return zeta, noise


def contracting(statement: Claim) -> list[str]:
    """Return the names of the terms that are a multiple of the squared initial distance."""
    distance = symbol("initial_distance")
    quotients = {t.name: t.expression / distance**2 for t in statement.terms if t.expression.has(distance)}
    return [name for name, quotient in quotients.items() if not quotient.has(distance)]
