"""Helpers that find the arguments of rules. Nothing here is trusted: a rule computes and checks all of it again."""

from __future__ import annotations

from collections.abc import Sequence

from .forms import ONE, Form, Product, Term, Vector, square
from .regions import Where
from .scalars import Scalar
from .theorems import Context, Theorem, combine

Square = tuple[Vector, str, Scalar | int]


def show(
    goal: Form,
    premises: Sequence[tuple[Theorem, Scalar | int]],
    *,
    where: Where,
    context: Context,
    kind: str = "",
    squares: Sequence[Square] = (),
) -> Theorem:
    """Prove the theorem goal >= 0 from premises and squares, if the rest is a sum of multiples of |v|^2 and of 1.

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
    return combine(
        premises, where=where, context=context, kind=kind, squares=[*squares, *extra], constant=rest.entries.get(ONE, 0)
    )


def coefficient(form: Form, left: Vector, right: Vector, bound: str = "") -> Scalar:
    """Return the factor of <u, v> in a form, for two single terms."""
    (u,), (v,) = left.terms, right.terms
    return form.entries.get(Product(bound, *sorted((u, v))), form.ring.number(0))


def atom_of(vector: Vector) -> Term:
    """Return the only term of a vector."""
    (term,) = vector.terms
    return term
