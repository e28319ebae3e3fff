"""Helpers that find the arguments of rules. Nothing here is trusted: a rule computes and checks all of it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from .forms import ONE, Form, Product, Term, Vector, square
from .regions import Condition, Kind, Where
from .run_bounds import (
    DISTANCE,
    FINAL_DISTANCE,
    GAP,
    MEAN_GRADIENT,
    ROUNDS,
    RunBound,
    iterate,
    restrict,
    telescope,
    weaken,
)  # fmt: skip
from .scalars import Ring, Scalar
from .theorems import Multiples, Theorem, at_step, combine, induct

Square = tuple[Vector, str, Scalar | int]


def show(goal: Form, premises: Multiples, *, squares: Sequence[Square] = (), **given: Any) -> Theorem:
    """Prove the theorem goal >= 0 from premises and squares, ``given`` what ``follow`` says, if the rest is a sum of
    multiples of |v|^2 and of 1.

    Raises:
        ValueError: something else is left over.
    """
    rest = goal
    for theorem, multiplier in premises:
        rest = rest - theorem.form * multiplier
    for vector, bound, multiplier in squares:
        form = square(vector)
        for binder in bound:
            form = form.under(binder)
        rest = rest - form * multiplier
    extra: list[Square] = []
    for entry, c in rest.entries.items():
        if entry == ONE:
            continue
        if not (isinstance(entry, Product) and entry.left == entry.right):
            raise ValueError(f"left over: ({c}) {entry}")
        extra.append((Vector(goal.ring, {entry.left: goal.ring.number(1)}), entry.bound, c))
    return follow(premises, [*squares, *extra], rest.entries.get(ONE, 0), **given)


def show_by_induction(bound: Form, factor: Scalar, premises: Multiples, squares: Sequence[Square]) -> Theorem:
    """Prove bound >= 0 for all k <= K: it is 0 at k = 0, and its next value at least ``factor`` times its own, as
    ``show`` finds from premises and squares."""
    step = show(at_step(bound, 1, 0, 1) - bound * factor, premises, squares=squares)
    return induct(combine([], where=step.where, context=step.context), step, bound, factor)


def rounded(
    theorem: Theorem, where: Where, squares: Sequence[Square] = (), constant: Scalar | int = 0, kind: str = ""
) -> Theorem:
    """Add multiples >= 0 of squares, and a constant >= 0, to a theorem, on a region that lies in its own; given a kind
    of round besides, if one is named."""
    return follow([(theorem, 1)], squares, constant, where=where, kind=kind or theorem.kind)


def follow(premises: Multiples, squares: Sequence[Square] = (), constant: Scalar | int = 0, **given: Any) -> Theorem:
    """Combine premises on the region of the first one, given its context and its kind of round, unless another
    ``where``, ``context`` or ``kind`` is named."""
    first = premises[0][0]
    own = {"where": first.where, "context": first.context, "kind": first.kind}
    return combine(premises, squares=squares, constant=constant, **own | given)


def coefficient(form: Form, left: Vector, right: Vector, bound: str = "") -> Scalar:
    """Return the factor of <u, v> in a form, for two single terms."""
    (u,), (v,) = left.terms, right.terms
    return form.entries.get(Product(bound, *sorted((u, v))), form.ring.number(0))


def atom_of(vector: Vector) -> Term:
    """Return the only term of a vector."""
    (term,) = vector.terms
    return term


_STARTS = {MEAN_GRADIENT: GAP, FINAL_DISTANCE: DISTANCE}
"""Quantity of a run's start, by what is bounded."""


def of_runs(functional: str, *more: str) -> dict[str, str]:
    """Return the quantities of the letters that ``over_rounds`` adds to a theorem's, ``more`` those that a claim
    chooses by."""
    return {name: name for name in (ROUNDS, _STARTS[functional], *more)}


def of_every_round(
    functional: str, letters: Mapping[str, str], make: Callable[[], Theorem], *more: str
) -> tuple[Callable[[], RunBound], Mapping[str, str], str]:
    """Return ``over_rounds`` of a theorem that is not yet made, the quantities of its letters, given those of the
    theorem's, and the functional."""
    return lambda: over_rounds(make(), functional, *more), {**letters, **of_runs(functional, *more)}, functional


def with_letters(
    bound: RunBound, values: Mapping[str, Scalar | int], given: Sequence[Scalar] = (), *new: Condition
) -> RunBound:
    """Restrict a bound to scalars for some letters, whose conditions go, with other conditions on some that stay, or on
    new ones."""
    ring = bound.where.ring
    where = changed(Where(ring, tuple(c for c in bound.where.conditions if c.name not in values)), *new)
    return restrict(bound, where, {n: ring.number(1) * c for n, c in values.items()}, given)


def changed(where: Where, *new: Condition) -> Where:
    """Return a region with these conditions in the place of those on the same letters, or after all others."""
    put = {c.name: c for c in new}
    kept = [put.pop(c.name, c) for c in where.conditions]
    return Where(where.ring, (*kept, *put.values()))


def each(kind: Kind, letters: str) -> tuple[Condition, ...]:
    """Return a condition of this kind, which has no bound, on each of these letters."""
    return tuple(Condition(letter, kind) for letter in letters.split())


def restricted(
    bound: RunBound, values: Mapping[str, Scalar], conditions: Sequence[Condition], given: Sequence[Scalar] = ()
) -> RunBound:
    """Restrict a bound to scalars for some letters, with these conditions before those on all other letters."""
    names = {condition.name for condition in conditions} | values.keys()
    kept = (condition for condition in bound.where.conditions if condition.name not in names)
    return restrict(bound, Where(bound.where.ring, (*conditions, *kept)), values, given)


def over_rounds(theorem: Theorem, functional: str, *more: str) -> RunBound:
    """Return the bound on runs that follows from every round alone: on the mean squared gradient by ``telescope``, or
    on the final squared distance by ``iterate``, without the part of the sum that falls with the rounds. Its letters
    are the theorem's, those of ``of_runs``, and two for decays."""
    ring = _ring((*theorem.where.ring.names, *of_runs(functional, *more), _POWER, _DECAY))
    if functional == MEAN_GRADIENT:
        return telescope(theorem, ring, ROUNDS, GAP)
    return iterated(theorem, ring, ROUNDS, DISTANCE)


def iterated(theorem: Theorem, ring: Ring, rounds: str, start: str) -> RunBound:
    """Return the bound on the final squared distance by ``iterate``, with a letter for P^R, and without the part of the
    sum that falls with the rounds."""
    bound = iterate(theorem, ring, rounds, start, _POWER)
    return weaken(bound, ring[_POWER] * ring[start] ** 2 + bound.bound.coefficients(_POWER)[0])


_POWER, _DECAY = "power", "decay"
"""Letters for P^R, and for what a claim has in its place."""


@cache
def _ring(names: tuple[str, ...]) -> Ring:
    """Return the ring of these letters, one for all bounds: what is certified in it is kept."""
    return Ring(" ".join(names))
