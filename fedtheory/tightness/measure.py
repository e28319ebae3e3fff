"""Tightness of a convergence claim: its bound against the worst case over (strongly) convex functions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.custom_algorithm import Own
from ..claims.statement import Claim
from ..papers import claim as find_claim
from ..quantities import symbol
from ..worstcase.worst import INACCURATE, SOLVED, UNBOUNDED, Recursion, solved
from .function_class import NotApplicable, differences, of_gradients, of_one_round
from .iterated_rounds import LeastAdded, iterated, least_added, own_contraction, problem
from .matched_problem import NOISE, Comparison, comparison, contracting
from .quadratics import attained_by_quadratics
from .step_tightness import bounds_and_worst, step_of
from .term_constants import ConstantTightness, gradient_problem, of_constants

ROUNDING = 1e-6
"""Relative tolerance of a bound: a worst case that exceeds it by no more counts as equal, for solves have such
errors."""

RESOLVED = 1e-3
"""Relative error below which a least constant is exact enough to divide by it."""

NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class AfterRounds:
    """Bound and worst case after some rounds, in the functional's units.

    Attributes:
        worst: no federation of the class has a larger error; ``None`` where a solve was inaccurate, infinite where
            errors are not bounded.
        attained: the error of a quadratic federation of the class, exact, or ``None`` where none is computed.
        decrement_ratio: (|x_0 - x*|^2 - bound) / (|x_0 - x*|^2 - worst), of squared distances alone, and ``None`` where
            the worst case does not fall below |x_0 - x*|^2: the share of what is gained for sure that the bound shows.
    """

    rounds: int
    bound: float
    worst: float | None
    attained: float | None
    decrement_ratio: float | None


@dataclass(frozen=True)
class Tightness:
    """Tightness of a claim at one choice of its quantities.

    Attributes:
        claim: its ref.
        status: "solved"; "unbounded", where the class does not contract so fast as the claim's factor, or no multiple
            of a constant is enough; "inaccurate"; or "not applicable", with ``why``: then the rest is empty.
        values: the quantities.
        contraction: the bound's factor of |x_0 - x*|^2, a round's (of all rounds, if ``whole``).
        class_contraction: the least factor with which this is possible at all: errors where nothing is added.
        additive: what the bound adds, after ``rounds``.
        best_additive: the least constant that makes the bound with this contraction true, of all rounds; by iterating
            the best of one round unless ``whole``: then what it is after several rounds at most. Where kinds of round
            come at fixed times, each adds its own best.
        looseness: ``additive`` / ``best_additive``; below 1 only where the bound does not hold in the class.
        after: over rounds, the last one of the claim's.
        differences, larger: how the class differs from the claim's, and whether it leaves an assumption out.
        warnings: such as that the bound does not contract.
        constants: of a claim on squared gradients or on one round, in the place of ``contraction`` to ``looseness``:
            the best multiple of each constant.
    """

    claim: str
    status: str
    why: str = ""
    values: dict[str, Any] | None = None
    contraction: float | None = None
    class_contraction: float | None = None
    additive: float | None = None
    best_additive: float | None = None
    looseness: float | None = None
    after: tuple[AfterRounds, ...] = ()
    whole: bool = False
    differences: tuple[str, ...] = ()
    larger: bool = False
    warnings: tuple[str, ...] = ()
    constants: tuple[ConstantTightness, ...] = ()

    @property
    def exceeded(self) -> bool:
        """Whether a worst case exceeds the bound.

        That is a lead; it refutes the claim only if the class is not larger than the claim's.
        """
        above = any(a.worst is not None and a.worst > a.bound * (1 + ROUNDING) for a in self.after)
        above = above or any(each.exceeded for each in self.constants)
        return above or self.status == UNBOUNDED or (self.looseness is not None and self.looseness < 1 - ROUNDING)

    @property
    def refuted(self) -> bool:
        """Whether a quadratic federation of the class has an error above the bound, and the class is the claim's."""
        above = any(a.attained is not None and a.attained > a.bound * (1 + ROUNDING) for a in self.after)
        return above and not self.larger

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        if self.status == NOT_APPLICABLE:
            return {"claim": self.claim, "status": self.status, "why": self.why}
        return {
            "claim": self.claim,
            "status": self.status,
            "values": {name: getattr(value, "text", str(value)) for name, value in (self.values or {}).items()},
            "contraction": self.contraction,
            "class_contraction": self.class_contraction,
            "additive": self.additive,
            "best_additive": self.best_additive,
            "looseness": self.looseness,
            "whole": self.whole,
            "constants": [each.to_json() for each in self.constants],
            "after": [vars(each) for each in self.after],
            "worst_case_above_bound": self.exceeded,
            "refuted": self.refuted,
            "class_differs": list(self.differences),
            "class_is_larger": self.larger,
            "warnings": list(self.warnings),
        }


def tightness(statement: Claim | str, /, **given: Any) -> Tightness:
    """Compare a claim's bound with the worst case over the functions that it is about.

    At the contraction tau of the bound, the best additive constant is the largest of metric - tau |x_0 - x*|^2 over all
    federations and starts. Of one round it is a semidefinite program, whose value nu_1 gives

        E|x_R - x*|^2 <= tau^R |x_0 - x*|^2 + nu_1 (1 - tau^R)/(1 - tau).

    With snapshots in every I-th round there are two such values, see ``iterated_rounds``.
    The worst cases over rounds iterate the least of several recursions of one round, each valid for every start.

    Args:
        statement: a claim, or its ref.
        given: quantities, by name; what is left out is chosen such that the hypotheses hold, with step sizes at their
            caps: see ``matched_problem``.

    Raises:
        ValueError: a quantity is unknown or not allowed, or no choice of the others meets the hypotheses.

    >>> found = tightness("fast.thm2@sharp", snapshot_probability="1/2")
    >>> found.status, found.looseness > 1, found.exceeded
    ('solved', True, False)
    >>> tightness("fast.lemma2").status
    'not applicable'
    """
    statement = find_claim(statement) if isinstance(statement, str) else statement
    if step := step_of(statement):
        return _of_step(statement, step, given)
    try:
        compared = comparison(statement, given)
        by_constants = of_gradients(statement) or of_one_round(statement)
        return _by_constants(compared, given) if by_constants else _tightness(compared)
    except NotApplicable as why:
        return Tightness(statement.ref, NOT_APPLICABLE, str(why))


def _of_step(statement: Claim, algorithm: Own, given: dict[str, Any]) -> Tightness:
    """Compare the bound of a claim about an algorithm of one's own with the worst case after a few rounds."""
    try:
        values, found, differ = bounds_and_worst(statement, algorithm, given)
    except NotApplicable as why:
        return Tightness(statement.ref, NOT_APPLICABLE, str(why))
    squared = float(values["initial_distance"]) ** 2
    distances = statement.functional.name == "final_squared_distance"

    def gained(bound: float, worst: float | None) -> float | None:
        falls = distances and worst is not None and worst < squared
        return (squared - bound) / (squared - worst) if falls and worst is not None else None

    after = tuple(AfterRounds(rounds, bound, worst, None, gained(bound, worst)) for rounds, bound, worst in found)
    status = INACCURATE if any(worst is None for _, _, worst in found) else SOLVED
    _, larger = differences(statement)
    return Tightness(statement.ref, status, values=values, after=after, whole=True, differences=differ, larger=larger)


def constant_alone(statement: Claim, /, **given: Any) -> Tightness:
    """Compute ``tightness`` of a final squared distance without the errors over rounds, ``after``.

    This is a few times as fast. Where there is a best constant, it tells as well whether a worst case exceeds the
    bound.

    Raises:
        ValueError: as in ``tightness``.

    >>> from fedtheory.papers import claim
    >>> found = constant_alone(claim("fast.thm2@sharper"), local_steps=3)
    >>> found.looseness == tightness("fast.thm2@sharper", local_steps=3).looseness, found.after
    (True, ())
    """
    if of_gradients(statement) or of_one_round(statement) or _depends_on_distance(statement) or step_of(statement):
        return tightness(statement, **given)
    try:
        compared = comparison(statement, given)
    except NotApplicable as why:
        return Tightness(statement.ref, NOT_APPLICABLE, str(why))
    return _tightness(compared, over_rounds=compared.whole)


def _by_constants(compared: Comparison, given: dict[str, Any]) -> Tightness:
    """One program for each constant: of one round, or of squared gradients after a few, noise where all take part."""
    statement, everyone = compared.statement, None
    gradients = of_gradients(statement)
    asked_for = {"gradient_noise", "arbitrary_cohort"} & given.keys()
    if gradients and "gradient_noise" in statement.quantities and not asked_for:
        asked = {"arbitrary_cohort": compared.values["clients"], "gradient_noise": NOISE}
        with suppress(ValueError):
            everyone = comparison(statement, {**given, **asked})
    constants = of_constants(compared, everyone)
    rounds, worst = int(compared.values["rounds"]), solved(gradient_problem(compared)).value if gradients else None
    missing = (gradients and worst is None) or any(each.least is None for each in constants)
    none = any(each.least == np.inf for each in constants)
    quiet = ("the server's gradients have no noise",) if "server_noise" in statement.quantities else ()
    return Tightness(
        statement.ref,
        UNBOUNDED if none else "inaccurate" if missing else SOLVED,
        "",
        dict(compared.values),
        after=(AfterRounds(rounds, float(compared.bound.value), worst, None, None),) if gradients else (),
        whole=True,
        differences=compared.differences + quiet,
        larger=compared.larger,
        constants=constants,
    )


def _tightness(compared: Comparison, over_rounds: bool = True) -> Tightness:
    statement, rounds = compared.statement, int(compared.values["rounds"])
    squared = float(compared.values["initial_distance"]) ** 2
    factor, additive = _parts(compared)
    if _depends_on_distance(statement):
        return _without_constant(compared)
    tau = factor if compared.whole else _a_round(compared, factor, rounds)
    own = own_contraction(compared)
    least = least_added(compared, tau, own, rounds) if tau >= 0 else LeastAdded(INACCURATE, (), np.inf, 0.0)
    known = least.status == SOLVED
    resolved = known and least.total > 0 and least.missed < RESOLVED * least.total
    return Tightness(
        statement.ref,
        least.status,
        "",
        dict(compared.values),
        tau,
        own,
        additive,
        None if least.status == INACCURATE else least.total,
        additive / least.total if resolved else None,
        _after(compared, rounds, squared, least.recursions if known else ()) if over_rounds else (),
        compared.whole,
        compared.differences,
        compared.larger,
        tuple(_warnings(compared, tau, factor * squared + additive, squared)),
    )


def _depends_on_distance(statement: Claim) -> bool:
    """Whether more than the contracting terms does, as a step size that is chosen by the start."""
    distance, names = symbol("initial_distance"), contracting(statement)
    others = [t.expression for t in statement.terms if t.name not in names]
    return any(each.has(distance) for each in (*others, *statement.choices.values()))


def _without_constant(compared: Comparison) -> Tightness:
    """Bound and worst case alone: at another distance it would be another algorithm."""
    squared = float(compared.values["initial_distance"]) ** 2
    after = _after(compared, int(compared.values["rounds"]), squared)
    status = "inaccurate" if any(each.worst is None for each in after) else SOLVED
    said = ("no additive constant: what the bound adds, or its step size, depends on the initial distance",)
    return Tightness(
        compared.statement.ref,
        status,
        "",
        dict(compared.values),
        after=after,
        whole=compared.whole,
        differences=compared.differences + said,
        larger=compared.larger,
    )


def _parts(compared: Comparison) -> tuple[float, float]:
    """The bound's factor of |x_0 - x*|^2, and what it adds."""
    names, terms = contracting(compared.statement), compared.bound.terms
    squared = float(compared.values["initial_distance"]) ** 2
    return (
        sum(float(terms[n]) for n in names) / squared,
        sum(float(value) for name, value in terms.items() if name not in names),
    )


def _a_round(compared: Comparison, factor: float, rounds: int) -> float:
    """The contraction of one round: the one whose power the factor is."""
    if factor > 1e-250:
        return float(np.exp(np.log(factor) / rounds))
    return _parts_after(compared, 1)[0]


def _parts_after(compared: Comparison, rounds: int) -> tuple[float, float]:
    bound = _bound_after(compared, rounds)
    names = contracting(compared.statement)
    squared = float(compared.values["initial_distance"]) ** 2
    return (
        sum(float(bound.terms[n]) for n in names) / squared,
        sum(float(value) for name, value in bound.terms.items() if name not in names),
    )


def _bound_after(compared: Comparison, rounds: int) -> Any:
    statement = compared.statement
    values = {n: v for n, v in compared.values.items() if n in statement.quantities and n not in statement.choices}
    return statement.evaluate(**values | {"rounds": Fraction(rounds)})


def _after(
    compared: Comparison, rounds: int, squared: float, best: Sequence[Recursion | None] = ()
) -> tuple[AfterRounds, ...]:
    if compared.whole:
        largest = solved(problem(compared, compared.plan, distance=compared.values["initial_distance"]))
        errors = {rounds: largest.value}
    else:
        chosen = any(
            choice.has(*(s for s in choice.free_symbols if s.name == "rounds"))
            for choice in compared.statement.choices.values()
        )
        asked = {rounds} if chosen else {1, *(10**k for k in range(1, 10) if 10**k < rounds), rounds}
        errors = iterated(compared, sorted(asked), squared, best)
    attained = attained_by_quadratics(compared, sorted(errors))
    distances = compared.statement.functional.name == "final_squared_distance"
    found = []
    for count, worst in errors.items():
        bound = float(_bound_after(compared, count).value)
        falls = distances and worst is not None and worst < squared
        ratio = (squared - bound) / (squared - worst) if falls and worst is not None else None
        found.append(AfterRounds(count, bound, worst, attained.get(count), ratio))
    return tuple(found)


def _warnings(compared: Comparison, tau: float, bound: float, squared: float) -> list[str]:
    said, step = [], compared.values.get("local_lr")
    if isinstance(step, Fraction) and step * compared.functions.smoothness > 2:
        said.append(f"local training diverges: local_lr = {float(step):.6g} is above 2 / smoothness")
    if tau >= 1:
        said.append(f"the bound does not contract: its factor of the squared initial distance is {tau:.6g} a round")
    elif tau < 0:
        said.append(f"the bound's factor of the squared initial distance is {tau:.6g}, below 0")
    if compared.statement.functional.name == "final_squared_distance" and bound >= squared:
        said.append("after its rounds the bound is no less than the squared initial distance")
    return said


def worst_errors(statement: Claim | str, /, rounds: Sequence[int], **given: Any) -> dict[int, float]:
    """Bound E|x_R - x*|^2 over all federations of the claim's class, after each of these numbers of rounds.

    Args:
        statement, given: as in ``tightness``.

    Raises:
        NotApplicable: no worst case of the claim is known, or not of several rounds, or no solve is accurate.
        ValueError: as in ``tightness``, or no rounds.

    >>> errors = worst_errors("khaled2020.thm1", [1, 100])
    >>> errors[100] < errors[1] < 1
    True
    """
    if not len(rounds):
        raise ValueError("rounds is empty: allowed is one number or more")
    statement = find_claim(statement) if isinstance(statement, str) else statement
    if "strongly_convex" not in statement.assumed:
        raise NotApplicable("the claim assumes no convexity, and squared distances have no worst case without")
    compared = comparison(statement, {**given, "rounds": max(rounds)})
    if compared.whole:
        raise NotApplicable("its rounds are one program, too large for many of them")
    errors = iterated(compared, rounds, float(compared.values["initial_distance"]) ** 2)
    if any(each is None for each in errors.values()):
        raise NotApplicable("no solve is accurate")
    return {count: float(error or 0) for count, error in errors.items()}
