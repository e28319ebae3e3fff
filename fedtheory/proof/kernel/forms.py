"""Vectors, and affine forms in their inner products, in one canonical form.

A vector is a combination of terms; a term is an atom below the binders "mean over all clients" (M), "mean over the
round's cohort" (S) and "sum over the local steps" (K) that bind its indices. A form is a combination of inner products
<u, v> = E[u . v], of values E F_i(point), and of 1, each below binders that bind an index of both factors. A binder
sits as far inside as it can, so that equal forms are equal dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

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
    def open_client(self) -> bool:
        """Whether the client i is free in the term."""
        return self.atom.client and not set(self.bound) & {"M", "S"}

    @property
    def open_step(self) -> bool:
        """Whether the step k is free in the term."""
        return bool(self.atom.step) and self.atom.step[0] != 0 and "K" not in self.bound

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


class Vector:
    """Linear combination of terms."""

    def __init__(self, ring: Ring, terms: Mapping[Term, Scalar]) -> None:
        self.ring = ring
        self.terms: Mapping[Term, Scalar] = MappingProxyType({t: c for t, c in terms.items() if not c.is_zero})

    @classmethod
    def one(cls, ring: Ring, atom: Atom, bound: str = "") -> Vector:
        """Make the vector that is one atom, below binders."""
        return cls(ring, {Term(bound, atom): ring.number(1)})

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.ring, _added(self.terms, other.terms))

    def __neg__(self) -> Vector:
        return self * -1

    def __sub__(self, other: Vector) -> Vector:
        return self + -other

    def __mul__(self, factor: Scalar | Number) -> Vector:
        return Vector(self.ring, {term: c * factor for term, c in self.terms.items()})

    __rmul__ = __mul__

    def __truediv__(self, factor: Scalar | Number) -> Vector:
        return self * (self.ring.number(1) / factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.terms == other.terms

    __hash__ = None  # type: ignore[assignment]

    def under(self, binder: str) -> Vector:
        """Return the mean over clients (M, S), or the sum over steps (K)."""
        made: dict[Term, Scalar] = {}
        for term, c in self.terms.items():
            if binder == "K":
                key, c = _summed(term, c, term.open_step, self.ring)
            else:
                key = Term(_with(term.bound, binder), term.atom) if term.open_client else term
            made[key] = made[key] + c if key in made else c
        return Vector(self.ring, made)

    def mapped(self, change: Callable[[Term], Term], scalars: Mapping[str, Scalar] | None = None) -> Vector:
        """Change every term, and replace scalars' letters by expressions if they are given."""
        made: dict[Term, Scalar] = {}
        for term, c in self.terms.items():
            new, value = change(term), c.replace(scalars) if scalars else c
            made[new] = made[new] + value if new in made else value
        return Vector(self.ring, made)

    @property
    def open(self) -> frozenset[str]:
        """Indices among i and k that are free."""
        found = {"i" for t in self.terms if t.open_client} | {"k" for t in self.terms if t.open_step}
        return frozenset(found | {"k" for c in self.terms.values() if STEP in c.names})

    def __repr__(self) -> str:
        return " + ".join(f"({c}) {_show(term)}" for term, c in self.terms.items()) or "0"


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


@dataclass(frozen=True, eq=False)
class Form:
    """Linear combination of products, values and 1; its entries are not changed."""

    ring: Ring
    entries: Mapping[Entry, Scalar]

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", MappingProxyType(dict(self.entries)))

    @classmethod
    def of(cls, ring: Ring, entries: Mapping[Entry, Scalar]) -> Form:
        """Make a form of entries, without those whose coefficient is 0."""
        return cls(ring, {entry: c for entry, c in entries.items() if not c.is_zero})

    @classmethod
    def constant(cls, value: Scalar) -> Form:
        """Make a form that is a constant."""
        return cls.of(value.ring, {ONE: value})

    def __add__(self, other: Form) -> Form:
        return Form.of(self.ring, _added(self.entries, other.entries))

    def __neg__(self) -> Form:
        return self * -1

    def __sub__(self, other: Form) -> Form:
        return self + -other

    def __mul__(self, factor: Scalar | Number) -> Form:
        return Form.of(self.ring, {entry: c * factor for entry, c in self.entries.items()})

    __rmul__ = __mul__

    def __truediv__(self, factor: Scalar | Number) -> Form:
        return self * (self.ring.number(1) / factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def under(self, binder: str) -> Form:
        """Return the mean of the form over clients, or its sum over steps."""
        made: dict[Entry, Scalar] = {}
        for entry, c in self.entries.items():
            key, value = _below(binder, entry, c, self.ring)
            made[key] = made[key] + value if key in made else value
        return Form.of(self.ring, made)

    def mapped(self, change: Callable[[Term], Term], scalars: Mapping[str, Scalar] | None = None) -> Form:
        """Change every term, and replace scalars' letters by expressions if they are given; entries are put in
        canonical form anew."""
        total = Form.of(self.ring, {})
        for entry, c in self.entries.items():
            value = c.replace(scalars) if scalars else c
            if isinstance(entry, Product):
                left, right = change(entry.left), change(entry.right)
                key: Entry = Product(entry.bound, *sorted((left, right)))
            elif isinstance(entry, Value):
                key = Value(entry.bound, change(Term("", entry.point)).atom)
            else:
                key = entry
            total = total + Form.of(self.ring, {key: value})
        return total

    @property
    def open(self) -> frozenset[str]:
        """Indices among i and k that are free."""
        found = {"k" for c in self.entries.values() if STEP in c.names}
        for entry in self.entries:
            found |= _open(entry)
        return frozenset(found)

    @property
    def terms(self) -> frozenset[Term]:
        """Terms of all products."""
        return frozenset(t for e in self.entries if isinstance(e, Product) for t in (e.left, e.right))

    def __repr__(self) -> str:
        return " + ".join(f"({c}) {_show_entry(entry)}" for entry, c in self.entries.items()) or "0"


def dot(left: Vector, right: Vector) -> Form:
    """Return <left, right>; indices of the same name are the same index."""
    made: dict[Entry, Scalar] = {}
    for u, c in left.terms.items():
        for v, d in right.terms.items():
            key = Product("", *sorted((u, v)))
            made[key] = made[key] + c * d if key in made else c * d
    return Form.of(left.ring, made)


def square(vector: Vector) -> Form:
    """Return |v|^2."""
    return dot(vector, vector)


def _open(entry: Entry) -> set[str]:
    if isinstance(entry, Product):
        clients = {"i"} if (entry.left.open_client or entry.right.open_client) else set()
        steps = {"k"} if (entry.left.open_step or entry.right.open_step) else set()
        return (clients if not set(entry.bound) & {"M", "S"} else set()) | (steps if "K" not in entry.bound else set())
    if isinstance(entry, Value):
        clients = set() if set(entry.bound) & {"M", "S"} else {"i"}
        open_step = bool(entry.point.step) and entry.point.step[0] != 0 and "K" not in entry.bound
        return clients | ({"k"} if open_step else set())
    return set()


def _below(binder: str, entry: Entry, c: Scalar, ring: Ring) -> tuple[Entry, Scalar]:
    index = "k" if binder == "K" else "i"
    if index not in _open(entry):
        return entry, _sum_of_powers(c, ring) if binder == "K" else c
    if binder == "K" and STEP in c.names:
        raise ValueError(f"({c}) {_show_entry(entry)}: a factor that depends on k, of a vector that does: no sum of it")
    if isinstance(entry, Value):
        return Value(_with(entry.bound, binder), entry.point), c
    assert isinstance(entry, Product)
    free = [t.open_step if binder == "K" else t.open_client for t in (entry.left, entry.right)]
    if all(free):
        return Product(_with(entry.bound, binder), entry.left, entry.right), c
    inside = [Term(_with(t.bound, binder), t.atom) if f else t for t, f in zip(entry[1:], free, strict=True)]
    return Product(entry.bound, *sorted(inside)), c


def _summed(term: Term, c: Scalar, free: bool, ring: Ring) -> tuple[Term, Scalar]:
    if not free:
        return term, _sum_of_powers(c, ring)
    if STEP in c.names:
        raise ValueError(f"({c}) {_show(term)}: a factor that depends on k, of a vector that does: no sum of it")
    return Term(_with(term.bound, "K"), term.atom), c


def _sum_of_powers(c: Scalar, ring: Ring) -> Scalar:
    """sum over k from 0 to K - 1."""
    total = ring.number(0)
    for power, coefficient in c.coefficients(STEP).items():
        total = total + coefficient * power_sum(ring, power, STEPS)
    return total


def _with(bound: str, binder: str) -> str:
    return "".join(sorted(bound + binder))


def _added(one: Mapping, other: Mapping) -> dict:
    made = dict(one)
    for key, c in other.items():
        made[key] = made[key] + c if key in made else c
    return made


def _show_step(step: tuple[int, ...]) -> str:
    a, b, c = step
    parts = ["k"] * a + ["K"] * b + ([str(c)] if c or not (a or b) else [])
    return "+".join(parts)


def _show(term: Term) -> str:
    atom = term.atom
    index = ",".join((["i"] if atom.client else []) + ([_show_step(atom.step)] if atom.step else []))
    name = f"{atom.name}[{index}]" if index else atom.name
    return "".join({"M": "mean ", "S": "cohort ", "K": "sum "}[b] for b in term.bound) + name


def _show_entry(entry: Entry) -> str:
    if isinstance(entry, Product):
        return f"{entry.bound}<{_show(entry.left)}, {_show(entry.right)}>"
    if isinstance(entry, Value):
        return f"{entry.bound} F({_show(Term('', entry.point))})"
    return entry
