"""Bounds on runs from theorems on one local step of the mean of all clients, whoever takes part (see ``client_means``).

With A_k = E|mean x_{i,k} - x*|^2 the theorems say P A_k + B >= A_{k+1} for every step k of every round, and A_K + C >=
E|x+ - x*|^2 at a round's end. All clients start the next round from x+, so that A goes on from there: over R rounds of
K steps it is one recursion of T = K R steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .axioms import OPTIMUM, START_POINT
from .client_means import one_step, round_end
from .forms import STEP, STEPS, Form, Value, Vector, square
from .regions import Condition
from .run_bounds import DISTANCE, FINAL_DISTANCE, ROUNDS, Definition, RunBound, _follows, _of_rounds, lifted, untouched
from .scalars import Ring, Scalar
from .theorems import Refused, Theorem, intact, joined, split

FINAL_GAP = "final_gap"
STEP_INDEX = "step_index"
"""Parameter of a run: the letter by which the size of its step number 0, 1, ... is written."""


def iterate_steps(step: Theorem, end: Theorem, ring: Ring, rounds: str, distance: str, power: str) -> RunBound:
    """Conclude from P A_k + B >= A_{k+1} in every step, P and B the same in all, 0 <= P < 1, and A_K >= E|x+ - x*|^2,

        E|x_R - x*|^2 <= P^T |x_0 - x*|^2 + B (1 - P^T)/(1 - P)   after T = K R steps,

    by induction over the steps of all rounds. The letter ``power`` stands for P^T.
    """
    factor, addition, more = _recursion(step, end)
    if not more.is_zero:
        raise Refused(f"{more}: allowed is nothing more at a round's end")
    where = step.where
    if not (where.certifies(factor) and where.certifies(1 - factor) and where.never_zero(1 - factor)):
        raise Refused(f"factor {factor}: not certified to be in [0, 1)")
    of = factor.within(ring)
    right = ring[power] * ring[distance] ** 2 + addition.within(ring) * (1 - ring[power]) / (1 - of)
    return _of_steps(
        "iterate steps",
        step,
        end,
        ring,
        right,
        {ROUNDS: rounds, DISTANCE: distance},
        definitions=[Definition(power, "steps", of)],
    )


def iterate_decaying_steps(step: Theorem, end: Theorem, ring: Ring, rounds: str, distance: str, first: str) -> RunBound:
    """Conclude from P = 1 - 2/(s + t + k), B = b/(s + t + k)^2 and C = c/(s + t + K - 1)^2, for a round whose first
    step is the run's step number t,

        E|x_R - x*|^2 <= (s - 1)/(s + T - 1) |x_0 - x*|^2 + (b + c)/(s + T)   after T = K R steps, given s >= 2.

    By induction over the steps j = t + k of all rounds, each of which adds at most (b + c)/(s + j)^2: P >= 0 times (s -
    1)/(s + j - 1) is at most (s - 1)/(s + j), and P/(s + j) + 1/(s + j)^2 = (s + j - 1)/(s + j)^2 is at most 1/(s + j +
    1). ``first`` is the letter of t, which may be any number >= 0 and is nowhere else; the size of a step is a function
    of t + k, and in the bound it is one of that letter.
    """
    factor, addition, more = _recursion(step, end)
    where, narrow = step.where, step.where.ring
    t, index = narrow[first], narrow[first] + narrow[STEP]
    said = [c for c in where.conditions if c.name == first]
    if said != [Condition(first, "nonnegative")] or any(c.bound and first in c.bound.names for c in where.conditions):
        raise Refused(
            f"{first}: allowed is a letter with the condition {first} >= 0 alone, as rounds begin at any step"
        )
    if factor == 1:
        raise Refused("factor 1: allowed is 1 - 2/(s + t + k)")
    shift = 2 / (1 - factor) - index
    b, c = addition * (shift + index) ** 2, more * (shift + t + narrow[STEPS] - 1) ** 2
    if {first, STEP} & (shift.names | b.names | c.names):
        raise Refused(
            f"{factor}, {addition}, {more}: allowed are 1 - 2/(s + t + k), b/(s + t + k)^2, c/(s + t + K - 1)^2"
        )
    if not (where.certifies(b) and where.certifies(c)):
        raise Refused(f"{b}, {c}: not certified to be >= 0")
    sizes = dict(step.parameters)
    size = sizes["local_lr"].replace({first: t - narrow[STEP]})
    s, taken = shift.within(ring), ring[rounds] * ring[STEPS]
    right = (s - 1) / (s + taken - 1) * ring[distance] ** 2 + (b + c).within(ring) / (s + taken)
    return _of_steps(
        "iterate decaying steps",
        step,
        end,
        ring,
        right,
        {ROUNDS: rounds, DISTANCE: distance},
        given=[s - 2],
        sizes={"local_lr": size, STEP_INDEX: t},
        first=first,
    )


def bound_gap(premise: RunBound, theorem: Theorem) -> RunBound:
    """Conclude E F(x_R) - F(x*) <= a times a bound on E|x_R - x*|^2, from F(x) - F(x*) <= a |x - x*|^2 wherever a round
    starts, a >= 0."""
    untouched(premise)
    if premise.functional != FINAL_DISTANCE:
        raise Refused(f"{premise.functional}: allowed is {FINAL_DISTANCE}")
    where, ring = premise.where, premise.where.ring
    factor = _of_gap(theorem).within(ring)
    if not where.within(lifted(theorem.where, ring)):
        raise Refused("bound gap: the bound's region has to lie in the theorem's")
    if theorem.parameters:
        raise Refused(f"{theorem}: allowed is a theorem on F that is of no algorithm")
    index = dict(premise.parameters).get(STEP_INDEX, ring.number(0))
    if factor.names & {STEP, *index.names} or not where.certifies(factor):
        raise Refused(f"factor {factor}: not certified to be >= 0, or not the same in all rounds")
    assumed = ((name, None if c is None else c.within(ring)) for name, c in theorem.assumptions)
    both = {*premise.assumptions, *assumed}
    return _follows(
        "bound gap", premise, factor * premise.bound, functional=FINAL_GAP, assumptions=both, others=(theorem,)
    )


def _recursion(step: Theorem, end: Theorem) -> tuple[Scalar, Scalar, Scalar]:
    """Return (P, B, C) of theorems on a step and on a round's end, of one algorithm on one region."""
    if intact(end).where != intact(step).where:
        raise Refused("a step and a round's end on different regions: allowed is one")
    return *one_step(step), round_end(end)


def _of_gap(theorem: Theorem) -> Scalar:
    """Return a of a theorem a |x - x*|^2 - F(x) + F(x*) >= 0 given a round's start."""
    ring = intact(theorem).where.ring
    one = ring.number(1)
    values = Form(ring, {Value("M", START_POINT): -one, Value("M", OPTIMUM): one})
    distance = Vector.one(ring, START_POINT) - Vector.one(ring, OPTIMUM)
    says = "is a |x - x*|^2 - F(x) + F(x*) >= 0"
    parts = split(theorem.form - values, {"a": square(distance)}, says)
    if theorem.context != "start" or not parts[""].is_zero:
        raise Refused(f"{theorem}: allowed {says}")
    return parts["a"]


def _of_steps(
    rule: str,
    step: Theorem,
    end: Theorem,
    ring: Ring,
    bound: Scalar,
    letters: Mapping[str, str],
    sizes: Mapping[str, Scalar] | None = None,
    **arguments: Any,
) -> RunBound:
    """Make the bound on a run of steps. What is assumed, and what of the algorithm is not said by ``sizes``, is the
    same in all steps of all rounds."""
    of = {**joined(dict(step.parameters), dict(end.parameters)), **(sizes or {})}
    assumed = {*step.assumptions, *end.assumptions}
    changing = {STEP, *(of[STEP_INDEX].names if STEP_INDEX in of else ())}
    steady = [
        value for name, value in of.items() if name != STEP_INDEX and (name != "local_lr" or STEP_INDEX not in of)
    ]
    for value in (*steady, *(c for _, c in assumed if c is not None)):
        if value.names & changing:
            raise Refused(f"{value}: allowed is what is the same in all steps")
    if STEP in of["local_lr"].names:
        raise Refused(f"local_lr {of['local_lr']}: allowed is a function of the number of the step in the run")
    said: dict[str, Any] = {"before": {"others": (end,)}, "parameters": of, "assumptions": assumed} | arguments
    return _of_rounds(rule, step, ring, FINAL_DISTANCE, letters, bound, **said)
