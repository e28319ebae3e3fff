"""Decide whether a claim's hypotheses can be met together. A rational witness says yes; a certificate or an
unsatisfiable system of polynomial inequalities says no; everything else is unknown.

A witness gives values of quantities. Quantities of a run or of a round are free in it: it is not shown that some run
has these values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import sympy
from flint import arb

from ..claims.arithmetic import compiled
from ..claims.balls import (
    ball,
    decimal,
    denominators,
    evaluate_in_balls,
    exact_slack,
    two_sided_denominators,
    working_precision,
)
from ..claims.schedules import first_step
from ..claims.statement import Claim, Hypothesis
from ..quantities import ORDERED_PAIRS, QUANTITIES, symbol
from . import smt
from .positivity import Certificate, certify
from .symbol_regions import Part, Region, at_least, capped, count, interval, nonnegative, positive, region

COMPATIBLE, CONTRADICTORY, UNKNOWN = "compatible", "contradictory", "unknown"

SAMPLES = 20_000
"""Points at which a witness is looked for."""

COMBINATIONS = 64
"""Regions on which a certificate is looked for, at most."""

_LADDERS = {
    "count": ("1", "2", "4", "3", "16", "100", "400", "10000", "1000000"),
    "share": ("1", "0", "1/2", "9/10", "1/10", "99/100", "999/1000", "1/100"),
    "number": ("1", "1/100", "1/10", "1/2", "1/1000", "2", "1/20", "1/8", "10", "1/100000", "1000"),
}
_FINER = {
    "count": [*map(str, range(1, 21)), *(f"{m}{'0' * k}" for k in range(1, 9) for m in (3, 5, 10))],
    "share": [*(f"{k}/20" for k in range(21)), *(f"{1 + k}/{10**d}" for d in range(2, 6) for k in (0, 10**d - 3))],
    "number": [str(Fraction(m) / 2 * Fraction(10) ** k) for k in range(-6, 7) for m in (2, 3, 4, 6, 10, 14)],
}
"""Finer ladders of values, tried if the short ones give no witness."""


@dataclass(frozen=True)
class Compatibility:
    """Whether the hypotheses can be met together.

    Attributes:
        state: ``COMPATIBLE``, ``CONTRADICTORY`` or ``UNKNOWN``.
        witness: rational values by quantity, as text ("1/20"), where compatible.
        slack: by hypothesis, its slack at the witness (a lower bound where that is irrational), as text.
        reading: the reading that the witness is for, or {}.
        proofs: one a reading where contradictory, each as plain data: the hypothesis that fails, with a ``certificate``
            that re-verifies without a search, or the solver's ``system`` in SMT-LIB.
    """

    state: str
    witness: Mapping[str, str] = field(default_factory=dict)
    slack: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    proofs: tuple[Mapping[str, Any], ...] = ()


def compatibility(claim: Claim) -> Compatibility:
    """Decide whether values of the quantities, within the vocabulary's bounds, meet every hypothesis.

    Contradictory means so under every reading. A search that finds nothing decides nothing.

    >>> from fedtheory.papers import claim
    >>> found = compatibility(claim("fast.thm2"))
    >>> found.state, float(Fraction(found.slack["q_condition"])) >= 0
    ('compatible', True)
    """
    systems = _systems(claim)
    for reading, hypotheses in systems:
        found = _witness(claim, hypotheses)
        if found:
            return Compatibility(COMPATIBLE, *found, reading)
    proofs = []
    for reading, hypotheses in systems:
        proof = certificate(claim, hypotheses)
        solved = proof or _solved(claim, hypotheses) or _witness(claim, hypotheses, _FINER)
        if isinstance(solved, tuple):
            return Compatibility(COMPATIBLE, *solved, reading)
        proofs.append(solved)
    if not all(proofs):
        return Compatibility(UNKNOWN)
    return Compatibility(CONTRADICTORY, proofs=tuple(proof for proof in proofs if proof))


kept_compatibility = lru_cache(maxsize=1000)(compatibility)
"""``compatibility`` of a claim, decided once in a process."""


def _systems(claim: Claim) -> list[tuple[dict[str, str], tuple[Hypothesis, ...]]]:
    """The hypotheses under every reading that changes them, with what the assumptions say of the same quantities, the
    literal reading first."""
    implied = tuple(_implied(claim))
    systems: dict[tuple, tuple[dict[str, str], tuple[Hypothesis, ...]]] = {}
    for reading in claim.readings():
        hypotheses = tuple(h.under(reading) for h in claim.hypotheses)
        options = {o for h in claim.hypotheses for o in h.alternatives}
        used = {name: option for name, option in reading.items() if option in options}
        systems.setdefault(tuple(h.relation for h in hypotheses), (used, (*hypotheses, *implied)))
    return list(systems.values())


def _implied(claim: Claim) -> Iterator[Hypothesis]:
    """mu/2 |x_0 - x*|^2 <= F(x_0) - F* <= L/2 |x_0 - x*|^2, as far as a claim assumes it and has the quantities."""
    gap, distance = symbol("initial_gap"), symbol("initial_distance")
    for kind, name, relation in (("smooth", "smoothness", sympy.Le), ("strongly_convex", "strong_convexity", sympy.Ge)):
        if kind in claim.assumed and {name, gap.name, distance.name} <= {*claim.quantities}:
            yield Hypothesis(f"gap_if_{kind}", relation(gap, symbol(name) / 2 * distance**2), "implied")


# A witness ------------------------------------------------------------------------------------------------------------


def _distinct(places: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The distinct rows in order; column i has numbers below ``sizes[i]``.

    >>> _distinct(np.array([[1, 0], [0, 2], [1, 0]]), np.array([2, 3])).tolist()
    [[0, 2], [1, 0]]
    """
    if np.prod(sizes.astype(float)) >= 2.0**62 or not sizes.size:
        return np.unique(places, axis=0)
    keys = np.unique(np.ravel_multi_index(tuple(places.T), tuple(sizes)))  # sorts numbers, in the order of the rows
    return np.stack(np.unravel_index(keys, tuple(sizes)), axis=1)


def _witness(
    claim: Claim, hypotheses: Sequence[Hypothesis], steps: Mapping[str, Sequence[str]] = _LADDERS
) -> tuple[dict[str, str], dict[str, str]] | None:
    """(values, slacks) of a point that meets the hypotheses, decided exactly; of ``_LADDERS`` short numbers first."""
    fixed = _fixed(hypotheses)
    names = [name for name in claim.quantities if name not in claim.choices and name not in fixed]
    ladders = {name: _ladder(name, steps) for name in names}
    last = np.array([len(ladders[name]) - 1 for name in names], dtype=np.int64)
    # Every coordinate at once is on its first rung in the first point.
    drawn = np.minimum(_rungs(len(names)), last)
    if steps is not _LADDERS:
        drawn = np.random.default_rng(0).integers(0, last + 1, (SAMPLES, len(names)))
    places = np.vstack([0 * last, drawn])
    places = _distinct(places, last + 1)
    places = places[np.argsort(places.sum(1), kind="stable")]
    numbers = {name: np.array([float(v) for v in ladders[name]])[places[:, i]] for i, name in enumerate(names)}
    with np.errstate(all="ignore"):
        numbers |= {name: np.broadcast_to(compiled(value)(numbers), len(places)) for name, value in fixed.items()}
    for index in np.flatnonzero(_seems_fine(claim, hypotheses, numbers, len(places)))[:50]:
        point = {name: ladders[name][places[index, i]] for i, name in enumerate(names)}
        try:
            point |= {name: exact_slack(value, point) for name, value in fixed.items()}
        except (ValueError, ZeroDivisionError):
            continue
        if found := _met(claim, hypotheses, point):
            return found
    return None


def _met(
    claim: Claim, hypotheses: Sequence[Hypothesis], point: Mapping[str, Fraction]
) -> tuple[dict[str, str], dict[str, str]] | None:
    """(values, slacks) of a point as text, if it meets the hypotheses; decided exactly."""
    slack = slacks(claim, hypotheses, point)
    if slack is None or not all(value >= 0 for value in slack.values()):
        return None
    return {n: str(v) for n, v in point.items()}, {
        n: decimal(v) if isinstance(v, arb) else str(v) for n, v in slack.items()
    }


@cache
def _rungs(names: int) -> np.ndarray:
    """Rungs of so many ladders without an end, (SAMPLES, names): the first ones are drawn most often."""
    draw = np.random.RandomState([0])  # draws as random.Random(0) does
    return (-np.log(1 - draw.random_sample((SAMPLES, names))) / 0.7).astype(np.int64)


def _fixed(hypotheses: Sequence[Hypothesis]) -> dict[str, sympy.Expr]:
    """Quantities that two of the hypotheses, <= and >=, set to one expression in quantities that none does."""
    caps, floors = (
        [(h.relation.lhs, h.relation.rhs) for h in hypotheses if isinstance(h.relation, kind)]
        for kind in (sympy.Le, sympy.Ge)
    )
    both = {left: right for left, right in caps if left.is_Symbol and (left, right) in floors}
    return {left.name: right for left, right in both.items() if not right.free_symbols & set(both)}


def _ladder(name: str, steps: Mapping[str, Sequence[str]] = _LADDERS) -> list[Fraction]:
    known = QUANTITIES[name]
    kind = "count" if known.integer else "share" if known.upper == 1 else "number"
    values = [v for v in map(Fraction, steps[kind]) if known.lower <= v <= known.upper]
    ends = [Fraction(end) for end in (known.lower, known.upper) if math.isfinite(end)]
    values[1:1] = [end for end in ends if end not in values and not (known.positive and end == 0)]
    return values


def _seems_fine(
    claim: Claim, hypotheses: Sequence[Hypothesis], numbers: dict[str, np.ndarray], points: int
) -> np.ndarray:
    """Return where the hypotheses hold up to rounding: a filter before the exact decision."""
    fine = np.ones(points, dtype=bool)
    for small, large in ORDERED_PAIRS:
        if small in numbers and large in numbers:
            fine &= numbers[small] <= numbers[large]
    with np.errstate(all="ignore"):
        numbers = numbers | {n: compiled(first_step(choice))(numbers) for n, choice in claim.choices.items()}
        for name in claim.choices:
            fine &= np.isfinite(numbers[name]) & (numbers[name] > 0)
        for hypothesis in hypotheses:
            fine &= np.broadcast_to(compiled(hypothesis.slack)(numbers) >= -1e-12, fine.shape)
    return fine


def slacks(
    claim: Claim, hypotheses: Sequence[Hypothesis], point: Mapping[str, Fraction]
) -> dict[str, Fraction | float | arb] | None:
    """Return the slack of each hypothesis at a rational point. It is exact, or a lower bound in ball arithmetic if
    roots or logarithms occur. Divisions by zero follow the rule of ``claims.arithmetic``. The result is ``None`` if
    a value, or one that the claim chooses there, is not allowed or a ball is not defined."""
    with working_precision():
        values: dict[str, Any] = dict(point)
        try:
            for name, choice in claim.choices.items():
                values[name] = _value(first_step(choice), point)
                if not values[name] > 0:
                    return None
            if not _allowed(values):
                return None
            return {h.name: _value(h.slack, values) for h in hypotheses}
        except ZeroDivisionError:
            return None


def _allowed(values: Mapping[str, Any]) -> bool:
    """Whether the vocabulary allows the values of quantities, seen without rounding."""
    for name, value in values.items():
        known = QUANTITIES[name]
        if not (known.lower <= value <= known.upper and value < math.inf) or (known.positive and value == 0):
            return False
        if known.integer and not (value.is_integer() if isinstance(value, arb) else value == int(value)):
            return False
    pairs = [(values[a], values[b]) for a, b in ORDERED_PAIRS if a in values and b in values]
    return all(a <= b if type(a) is type(b) else ball(a) <= ball(b) for a, b in pairs)


def _value(expression: sympy.Expr, values: Mapping[str, Any]) -> Fraction | float | arb:
    used = {s.name: values[s.name] for s in expression.free_symbols}
    if all(isinstance(value, Fraction) for value in used.values()):
        try:
            return exact_slack(expression, used)
        except ValueError:
            pass
    return evaluate_in_balls(expression, used).lower()


# A contradiction ------------------------------------------------------------------------------------------------------


def certificate(claim: Claim, hypotheses: Sequence[Hypothesis]) -> dict[str, Any] | None:
    """Return a proof that one hypothesis fails wherever the bounds of the vocabulary and some of the others hold."""
    for target, expression in _atoms(claim, hypotheses):
        others = [h for h in hypotheses if h.name != target]
        for where in itertools.islice(_regions(expression, others), COMBINATIONS):
            try:
                proof = certify(-expression, where)
            except ValueError:
                continue
            if proof is not None and strict(proof):
                return {"fails": target, "certificate": proof.to_json()}
    return None


def strict(proof: Certificate) -> bool:
    """Whether a certificate shows > 0 wherever the expression is defined, and not only >= 0. This is so if some
    monomial has a positive coefficient and only parameters that are never 0."""
    never_zero = {name for name, kind in proof.region.kinds if kind == "positive"}
    return any(
        coefficient > 0 and all(p == 0 or n in never_zero for n, p in zip(proof.numerator.names, powers, strict=True))
        for powers, coefficient in proof.numerator.by_powers.items()
    )


def _atoms(claim: Claim, hypotheses: Sequence[Hypothesis]) -> Iterator[tuple[str, sympy.Expr]]:
    """(hypothesis, expression) with expression >= 0 wherever the hypothesis holds, without minima and maxima; what is
    not rational is left out, which only makes a contradiction harder to show."""
    rational = {symbol(name): c for name, c in claim.choices.items() if c.is_rational_function(*c.free_symbols)}
    for hypothesis in hypotheses:
        for expression in _branches(hypothesis.slack.xreplace(rational)):
            if expression.is_rational_function(*expression.free_symbols) and expression.free_symbols:
                yield hypothesis.name, expression


def _branches(slack: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield the expression with each argument in the place of a minimum (or minus a maximum) that is a summand."""
    for part in sympy.Add.make_args(slack):
        if isinstance(part, sympy.Min):
            for argument in part.args:
                yield from _branches(slack - part + argument)
            return
        if isinstance(-part, sympy.Max):
            for argument in (-part).args:
                yield from _branches(slack - part - argument)
            return
    yield slack


def _regions(expression: sympy.Expr, hypotheses: Sequence[Hypothesis]) -> Iterator[Region]:
    """Regions that hold every point that the vocabulary and ``hypotheses`` admit: each quantity of the expression
    within its bounds, or within one that a hypothesis states for it alone."""
    options: dict[str, list[Part]] = {}
    for hypothesis in hypotheses:
        for name, part in _stated_bounds(hypothesis):
            options.setdefault(name, []).append(part)
    names = sorted(options)
    for chosen in itertools.product(*(options[name] for name in names)):
        parts: dict[str, Part] = {}
        needed = {s.name for s in expression.free_symbols}
        while needed:
            name = needed.pop()
            parts[name] = dict(zip(names, chosen, strict=True)).get(name) or bounds_part(name, expression)
            needed |= {s.name for s in _quantities_of(parts[name])} - set(parts)
        try:
            # A part may use what comes after it.
            order = TopologicalSorter({n: {s.name for s in _quantities_of(p)} for n, p in parts.items()})
            yield region(*(parts[name] for name in reversed(list(order.static_order()))))
        except CycleError:
            continue


def _quantities_of(part: Part) -> set[sympy.Symbol]:
    return {s for s in part[1].free_symbols if s.name in QUANTITIES}


def bounds_part(name: str, expression: sympy.Expr) -> Part:
    """Return the part of a region that the vocabulary gives for a quantity. Strong convexity is at most the smoothness
    if both occur."""
    known, used = QUANTITIES[name], {s.name for s in expression.free_symbols}
    if name == "strong_convexity" and "smoothness" in used:
        return capped(name, symbol("smoothness"))
    if known.lower == -math.inf:
        above, below = sympy.symbols(f"a_{name} b_{name}")
        return name, above - below, {above.name: "nonnegative", below.name: "nonnegative"}
    if known.integer:
        return count(name, math.ceil(known.lower))
    if known.upper < math.inf:
        return interval(name, *map(sympy.Rational, (known.lower, known.upper)))
    if known.lower < 0:
        return at_least(name, sympy.Rational(known.lower))
    return positive(name) if known.positive else nonnegative(name)


def _stated_bounds(hypothesis: Hypothesis) -> Iterator[tuple[str, Part]]:
    """(quantity, part) for relations of the form quantity <= cap or quantity >= floor, where that is finite."""
    relation = hypothesis.relation
    if not relation.lhs.is_Symbol or relation.lhs in relation.rhs.free_symbols:
        return
    name, upper = relation.lhs.name, isinstance(relation, sympy.Le)
    known = QUANTITIES[name]
    several = sympy.Min if upper else sympy.Max
    for bound in relation.rhs.args if isinstance(relation.rhs, several) else (relation.rhs,):
        infinite = len(denominators(bound)) > len(two_sided_denominators(bound))
        if infinite or not bound.is_rational_function(*bound.free_symbols):
            continue
        if upper and known.lower == -math.inf:
            below = sympy.Symbol(f"s_{name}")
            yield name, (name, bound - below, {below.name: "nonnegative"})
        elif upper:
            lower = sympy.Rational(known.lower)
            yield name, (capped(name, bound) if known.positive else interval(name, lower, bound))
        else:
            yield name, (interval(name, bound, 1) if known.upper == 1 else at_least(name, bound))


def _solved(
    claim: Claim, hypotheses: Sequence[Hypothesis]
) -> dict[str, Any] | tuple[dict[str, str], dict[str, str]] | None:
    """Ask z3 about the polynomial system of the hypotheses. Return a proof that no numbers solve it; or (values,
    slacks) of a point that solves it and is then decided exactly; or ``None`` if neither, or if it cannot be asked."""
    names = [name for name in claim.quantities if name not in claim.choices]
    solved = smt.solve([expression for _, expression in _atoms(claim, hypotheses)])
    if isinstance(solved, smt.Unsolvable):
        return {"fails": " and ".join(h.name for h in hypotheses), "solver": solved.solver, "system": solved.system}
    if solved is None:
        return None
    return _met(claim, hypotheses, {name: solved.get(name, _ladder(name)[0]) for name in names})


def reverify(claim: Claim, proof: Mapping[str, Any]) -> bool:
    """Whether a certificate from ``Compatibility.proofs`` shows that the claim's hypotheses contradict each other under
    some reading; searches nothing. A solver's system is not looked into: False.

    Raises:
        ValueError: the certificate's text is none.
    """
    if "certificate" not in proof:
        return False
    found = Certificate.from_json(proof["certificate"])
    return strict(found) and any(
        found.proves(-expression, where)
        for _, hypotheses in _systems(claim)
        for target, expression in _atoms(claim, hypotheses)
        if target == proof["fails"]
        for where in _regions(expression, [h for h in hypotheses if h.name != target])
    )
