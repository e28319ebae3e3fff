"""Vectors, and affine forms in their inner products, in one canonical form.

A vector is a combination of terms; a term is an atom below the binders "mean over all clients" (M), "mean over the
round's cohort" (S) and "sum over the local steps" (K) that bind its indices. A form is a combination of inner products
<u, v> = E[u . v], of values E F_i(point), and of 1, each below binders that bind an index of both factors. A binder
sits as far inside as it can, so that equal forms are equal dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from .scalars import Number, Ring, Scalar, power_sum

STEP, STEPS = "k", "K"
"""Names of the local step's index, from 0 to K - 1, and of the number of steps."""

START, COHORT, PATH, END = range(4)
"""Stages at which a vector is known: the round's start, with its cohort, along the local steps, and at the round's
end."""


class Atom(NamedTuple):
    """Vector, or family of vectors over clients or steps.

    ``step`` is the index a k + b K + c of a step as (a, b, c), or empty; ``stage`` says when it is known, and on the
    path ``lag`` how many steps after that of its index.
    """

    name: str
    client: bool = False
    step: tuple[int, ...] = ()
    stage: int = START
    lag: int = 0


class Term(NamedTuple):
    """Atom below binders, a sorted string of K, M, S."""

    bound: str
    atom: Atom

    @property
    def known(self) -> tuple[int, tuple[int, ...]]:
        """Return (stage, step); on the path, the term is known before the noise of that step."""
        atom = self.atom
        if atom.stage == PATH:
            if "K" in self.bound:
                return PATH, (0, 1, atom.lag - 1 + (atom.step[2] if atom.step else 0))
            a, b, c = atom.step or (0, 0, 0)
            return PATH, (a, b, c + atom.lag)
        return (max(atom.stage, COHORT), (0, 0, 0)) if "S" in self.bound else (atom.stage, (0, 0, 0))


def known_before(term: Term, step: tuple[int, ...]) -> bool:
    """Whether a term is known before the noise of a step (with its index, for every value of k) is drawn."""
    stage, at = term.known
    if stage != PATH:
        return stage < PATH
    return at[:2] == step[:2] and at[2] <= step[2]


class Product(NamedTuple):
    """Expectation E[u . v] below binders that bind an index of both."""

    bound: str
    left: Term
    right: Term


class Value(NamedTuple):
    """Expectation E F_i(point) below binders; F itself if M is one of them."""

    bound: str
    point: Atom


ONE = "1"
Entry = Product | Value | str
Key = TypeVar("Key", bound=Term | Product | Value | str)


@dataclass(frozen=True, eq=False)
class Combination(Generic[Key]):
    """Linear combination of entries; none has the factor 0, and they are not changed."""

    ring: Ring
    entries: Mapping[Key, Scalar]

    def __post_init__(self) -> None:
        kept = {entry: c for entry, c in self.entries.items() if not c.is_zero}
        object.__setattr__(self, "entries", MappingProxyType(kept))

    @classmethod
    def total(cls, ring: Ring, parts: Iterable[tuple[Any, Scalar]]) -> Self:
        """Make the sum of entries times scalars; an entry may come more than once."""
        made: dict[Any, Scalar] = {}
        for entry, c in parts:
            made[entry] = made[entry] + c if entry in made else c
        return cls(ring, made)

    def __add__(self, other: Self) -> Self:
        return self.total(self.ring, (*self.entries.items(), *other.entries.items()))

    def __neg__(self) -> Self:
        return self * -1

    def __sub__(self, other: Self) -> Self:
        return self + -other

    def __mul__(self, factor: Scalar | Number) -> Self:
        return self.total(self.ring, ((entry, c * factor) for entry, c in self.entries.items()))

    __rmul__ = __mul__

    def __truediv__(self, factor: Scalar | Number) -> Self:
        return self * (self.ring.number(1) / factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def under(self, binder: str) -> Self:
        """Return the mean over clients (M, S), or the sum over steps (K)."""
        return self.total(self.ring, (_below(binder, entry, c, self.ring) for entry, c in self.entries.items()))

    def mapped(self, change: Callable[[Term], Term], scalars: Mapping[str, Scalar] | None = None) -> Self:
        """Change every term, and replace scalars' letters by expressions if they are given; entries are put in
        canonical form anew."""
        values = scalars or {}
        parts = ((_changed(entry, change), c.replace(values)) for entry, c in self.entries.items())
        return self.total(self.ring, parts)

    @property
    def open(self) -> frozenset[str]:
        """Indices among i and k that are free."""
        found = {"k" for c in self.entries.values() if STEP in c.names}
        return frozenset(found.union(*map(_open, self.entries)))

    def __repr__(self) -> str:
        return " + ".join(f"({c}) {_show_entry(entry)}" for entry, c in self.entries.items()) or "0"


class Vector(Combination[Term]):
    """Linear combination of terms."""

    @classmethod
    def one(cls, ring: Ring, atom: Atom, bound: str = "") -> Vector:
        """Make the vector that is one atom, below binders."""
        return cls(ring, {Term(bound, atom): ring.number(1)})

    @property
    def terms(self) -> Mapping[Term, Scalar]:
        """Terms, each with its factor."""
        return self.entries


class Form(Combination[Entry]):
    """Linear combination of products, values and 1."""

    @classmethod
    def constant(cls, value: Scalar) -> Form:
        """Make a form that is a constant."""
        return cls(value.ring, {ONE: value})

    @property
    def terms(self) -> frozenset[Term]:
        """Terms of all products."""
        return frozenset(t for e in self.entries if isinstance(e, Product) for t in (e.left, e.right))


def dot(left: Vector, right: Vector) -> Form:
    """Return <left, right>; indices of the same name are the same index."""
    pairs = ((u, v, c * d) for u, c in left.terms.items() for v, d in right.terms.items())
    return Form.total(left.ring, ((Product("", *sorted((u, v))), c) for u, v, c in pairs))


def square(vector: Vector) -> Form:
    """Return |v|^2."""
    return dot(vector, vector)


def _open(entry: Entry | Term) -> set[str]:
    """Indices among i and k that are free; the values below no mean are those of client i."""
    if isinstance(entry, str):
        return set()
    if isinstance(entry, Product):
        found = _open(entry.left) | _open(entry.right)
    elif isinstance(entry, Value):
        found = {"i"} | _open(Term("", entry.point))
    else:
        step = entry.atom.step
        found = ({"i"} if entry.atom.client else set()) | ({"k"} if step and step[0] != 0 else set())
    return found - {"k" if binder == "K" else "i" for binder in entry.bound}


def _changed(entry: Entry | Term, change: Callable[[Term], Term]) -> Entry | Term:
    if isinstance(entry, Product):
        return Product(entry.bound, *sorted((change(entry.left), change(entry.right))))
    if isinstance(entry, Value):
        return Value(entry.bound, change(Term("", entry.point)).atom)
    return change(entry) if isinstance(entry, Term) else entry


def _below(binder: str, entry: Entry | Term, c: Scalar, ring: Ring) -> tuple[Entry | Term, Scalar]:
    index = "k" if binder == "K" else "i"
    if isinstance(entry, str) or index not in _open(entry):
        return entry, _sum_of_powers(c, ring) if binder == "K" else c
    if binder == "K" and STEP in c.names:
        raise ValueError(f"({c}) {_show_entry(entry)}: a factor that depends on k, of a vector that does: no sum of it")
    if isinstance(entry, Product):
        free = [index in _open(term) for term in (entry.left, entry.right)]
        if not all(free):
            inside = [_with(term, binder) if f else term for term, f in zip(entry[1:], free, strict=True)]
            return Product(entry.bound, *sorted(inside)), c
    return _with(entry, binder), c


def _with(entry: Any, binder: str) -> Any:
    return entry._replace(bound="".join(sorted(entry.bound + binder)))


def _sum_of_powers(c: Scalar, ring: Ring) -> Scalar:
    """sum over k from 0 to K - 1."""
    total = ring.number(0)
    for power, coefficient in c.coefficients(STEP).items():
        total = total + coefficient * power_sum(ring, power, STEPS)
    return total


def _show_step(step: tuple[int, ...]) -> str:
    a, b, c = step
    parts = ["k"] * a + ["K"] * b + ([str(c)] if c or not (a or b) else [])
    return "+".join(parts)


def _show(term: Term) -> str:
    atom = term.atom
    index = ",".join((["i"] if atom.client else []) + ([_show_step(atom.step)] if atom.step else []))
    name = f"{atom.name}[{index}]" if index else atom.name
    return "".join({"M": "mean ", "S": "cohort ", "K": "sum "}[b] for b in term.bound) + name


def _show_entry(entry: Entry | Term) -> str:
    if isinstance(entry, Product):
        return f"{entry.bound}<{_show(entry.left)}, {_show(entry.right)}>"
    if isinstance(entry, Value):
        return f"{entry.bound} F({_show(Term('', entry.point))})"
    return _show(entry) if isinstance(entry, Term) else entry
