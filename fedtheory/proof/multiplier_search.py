"""Search for the multipliers of a kernel proof: goal - sum of multipliers * premises - squares is a number >= 0.

A multiplier is a combination of products and quotients of letters with rational factors. Which products may occur is
read off the coefficients that have to cancel. That every coefficient of the goal is matched, and that multipliers are
>= 0 on the region as the kernel certifies signs, are linear conditions on the factors: a linear program. Its solution
is made rational, and the kernel makes the theorem from it, so that nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat, fmpq_mpoly

from .kernel.forms import ONE, STEP, Entry, Form, Product, Term, Value, Vector, _show_entry, square
from .kernel.regions import Where
from .kernel.scalars import Ring, Scalar
from .kernel.theorems import Context, Refused, Theorem, combine

TRIES = ((2, 20), (3, 40), (3, 120))
"""Numbers of each try: how often products of letters are read off what the last ones leave, and how many there may be
of one premise or square."""
SECONDS = 20.0
"""Time for one program."""
VALUE = 4
"""Weight of a function's value that is left over, where the nearest combination is looked for: what is left over of
squares says more."""
SMALL = 1e-7
"""A factor that a program in floating point calls 0."""


class NotFound(ValueError):
    """Error of a goal for which no multipliers are found. The message says what is left over, or which multiplier is
    not certified.

    Attributes:
        left: coefficients of the goal that nothing matches, by entry: goal - the nearest combination.
    """

    def __init__(self, text: str, left: Mapping[Entry, Scalar] | None = None) -> None:
        super().__init__(text)
        self.left = dict(left or {})


@dataclass(frozen=True)
class Found:
    """Proof of a goal: the theorem that the kernel made of it, and its parts."""

    theorem: Theorem
    premises: tuple[tuple[Theorem, Scalar], ...]
    squares: tuple[tuple[Vector, str, Scalar], ...]
    constant: Scalar

    def lines(self, **named: Theorem | Vector) -> str:
        """Return the lines that a proof keeps, in Python. Theorems and vectors are called by these names; a theorem
        without one by its rule, a vector by those of its terms, or as it is shown."""
        known = {id(value): name for name, value in named.items() if isinstance(value, Theorem)}
        vectors = {name: value for name, value in named.items() if isinstance(value, Vector)}
        called = [known.get(id(each), each.rule.replace(" ", "_")) for each, _ in self.premises]
        made = [f"    ({name}, {_python(c)})," for name, (_, c) in zip(called, self.premises, strict=True)]
        drawn = [f"    ({_called(v, vectors)}, {bound!r}, {_python(c)})," for v, bound, c in self.squares]
        return "\n".join(["premises = [", *made, "]", "squares = [", *drawn, "]"])


def find_multipliers(
    goal: Form,
    premises: Sequence[Theorem | tuple[Theorem, Scalar | int]],
    *,
    where: Where,
    context: Context,
    kind: str = "",
    squares: Iterable[tuple[Vector, str]] = (),
) -> Found:
    """Prove goal >= 0 on a region from theorems, with multipliers >= 0 (any, of an equality), squares and a constant >=
    0 that are found. A premise with a multiplier keeps it. Beside the given squares |v|^2, below binders, those of the
    single vectors and of the sums and differences of two are tried.

    Raises:
        NotFound: what is left over, or the multiplier that is not certified to be >= 0.

    >>> from fedtheory.proof.kernel.axioms import START_POINT, OPTIMUM, Axioms
    >>> from fedtheory.proof.kernel.forms import Value, square
    >>> from fedtheory.proof.kernel.regions import Condition
    >>> from fedtheory.proof.kernel.theorems import over_clients
    >>> ring = Ring("L K k"); L = ring["L"]
    >>> where = Where(ring, (Condition("L", "positive"), Condition("K", "count")))
    >>> axioms = Axioms(where, L, L, "start")
    >>> x, best = axioms.vector(START_POINT), axioms.vector(OPTIMUM)
    >>> rise = Form(ring, {Value("M", START_POINT): ring.number(-1), Value("M", OPTIMUM): ring.number(1)})
    >>> known = [over_clients(axioms.descent(START_POINT, OPTIMUM, L), "M"), axioms.optimal(x - best)]
    >>> found = find_multipliers(rise + square(x - best) * L / 2, known, where=where, context="start")
    >>> [c for _, c in found.premises]
    [1, -1]
    >>> find_multipliers(rise + square(x - best) * L / 3, known, where=where, context="start")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    fedtheory.proof.multiplier_search.NotFound: not found: of <x, x> (-1/6*L); of <x, x*> (1/3*L); ... is left over
    """
    given = [p if isinstance(p, tuple) else (p, None) for p in premises]
    rest = goal
    for theorem, fixed in given:
        if fixed is not None:
            rest = rest - theorem.form * fixed
    free = [_Item(theorem.form, not theorem.equality, theorem) for theorem, fixed in given if fixed is None]
    drawn = [*_squares(squares), *_simple_squares(rest, [item.form for item in free], [*squares])]
    factors = _solved(rest, (*free, *drawn), where)
    own = iter(factors)
    kept = [(theorem, next(own) if fixed is None else where.ring.number(1) * fixed) for theorem, fixed in given]
    made: list[tuple[Vector, str, Scalar]] = [
        (item.of[0], item.of[1], c) for item, c in zip(drawn, own, strict=True) if not c.is_zero
    ]  # fmt: skip
    over = rest
    for item, c in zip((*free, *drawn), factors, strict=True):
        over = over - item.form * c
    constant = over.entries.get(ONE, where.ring.number(0))
    try:
        theorem = combine(kept, where=where, context=context, kind=kind, squares=made, constant=constant)
    except Refused as refused:
        raise NotFound(f"not certified: {refused}") from None
    if theorem.form != goal:
        raise NotFound("not found: what is made of the factors is another theorem", (goal - theorem.form).entries)
    return Found(theorem, tuple(kept), tuple(made), constant)


# what may be added ----------------------------------------------------------------------------------------------------


class _Item(NamedTuple):
    """Form that is added with a multiplier, which has a sign or none; and what it is the form of."""

    form: Form
    signed: bool
    of: Any


def _squares(given: Iterable[tuple[Vector, str]]) -> Iterator[_Item]:
    for vector, bound in given:
        form = square(vector)
        for binder in bound:
            form = form.under(binder)
        yield _Item(form, True, (vector, bound))


def _simple_squares(goal: Form, forms: Iterable[Form], known: Sequence[tuple[Vector, str]]) -> Iterator[_Item]:
    """Yield the squares of single vectors, and of the sums and differences of two whose product occurs."""
    entries = dict.fromkeys(e for form in (goal, *forms, *(i.form for i in _squares(known))) for e in form.entries)
    products = [e for e in entries if isinstance(e, Product)]
    alone = {(e.bound, t): None for e in products for t in (e.left, e.right)}
    made = [(_vector(goal.ring, {t: 1}), bound) for bound, t in alone]
    for e in products:
        if e.left != e.right:
            made += [(_vector(goal.ring, {e.left: 1, e.right: sign}), e.bound) for sign in (1, -1)]
    for item in _squares(made):
        if len(item.form.entries) and not any(item.of == (v, b) for v, b in known):
            yield item


def _vector(ring: Ring, terms: Mapping[Term, int]) -> Vector:
    return Vector(ring, {term: ring.number(c) for term, c in terms.items()})


def _shapes(c: Scalar) -> list[Scalar]:
    """Return a coefficient, and its power products over its denominator, each without its number."""
    ring, one = c.ring, c.ring.context
    whole = Scalar(ring, c.numerator / c.numerator.leading_coefficient(), c.denominator)
    parts = (Scalar(ring, one.from_dict({powers: 1}), c.denominator) for powers in c.numerator.to_dict())
    return list(dict.fromkeys((whole, *parts)))


def _size(c: Scalar) -> tuple[int, int, str]:
    """Return by how much a product of letters is complicated."""
    tops, bottoms = ([sum(map(int, powers)) for powers in p.to_dict()] for p in (c.numerator, c.denominator))
    return len(tops) + len(bottoms), max(tops, default=0) + max(bottoms, default=0), str(c)


def _products(goal: Form, items: Sequence[_Item], rounds: int, most: int) -> list[list[Scalar]]:
    """Return for each item the products of letters by which it may be multiplied: those that make of one of its
    coefficients a part of one that has to cancel."""
    need: dict[Entry, dict[Scalar, None]] = {e: dict.fromkeys(_shapes(c)) for e, c in goal.entries.items()}
    found: list[dict[Scalar, None]] = [{} for _ in items]
    for _ in range(rounds):
        new: list[tuple[int, Scalar]] = []
        for at, item in enumerate(items):
            tried = {
                t / u for e, c in item.form.entries.items() if e in need for t in need[e] for u in _shapes(c)
            } - found[at].keys()
            room = most - len(found[at])
            new += [(at, b) for b in sorted(tried, key=_size)[: max(room, 0)]]
        for at, b in new:
            found[at][b] = None
            for e, c in items[at].form.entries.items():
                need.setdefault(e, {}).update(dict.fromkeys(_shapes(b * c)))
    return [list(each) for each in found]


# the program ----------------------------------------------------------------------------------------------------------


def _solved(goal: Form, items: Sequence[_Item], where: Where) -> list[Scalar]:
    """Return the multiplier of each item, by the first try that finds them.

    Raises:
        NotFound: none does; with what the last one leaves over.
    """
    for rounds, most in TRIES:
        program = _Program(goal, items, where, _products(goal, items, rounds, most))
        if (floats := program.floats()) is not None:
            made = [where.ring.number(0) for _ in items]
            for (at, b), x in zip(program.columns, program._exact(floats), strict=True):
                made[at] = made[at] + b * x
            return made
    raise program.unmatched()


class _Program:
    """Linear program in the factors of the products of letters."""

    def __init__(self, goal: Form, items: Sequence[_Item], where: Where, products: Sequence[Sequence[Scalar]]) -> None:
        self.goal, self.items, self.where, self.ring = goal, items, where, where.ring
        letters = {c.name for c in where.conditions} | {STEP}
        self.columns = [
            (at, b) for at, each in enumerate(products) for b in each if where.defines(b) and b.names <= letters
        ]
        self.rows: list[tuple[dict[int, fmpq], fmpq]] = []  # equalities: sum of c x = b
        self.where_of: list[tuple[Entry, Scalar]] = []
        self.signs: list[tuple[dict[int, fmpq], fmpq]] = []  # sum of c x + b >= 0
        self._match()
        self._sign()

    def _parts(self, entry: Entry) -> dict[int, Scalar]:
        """Return what each column has of an entry."""
        forms = ((x, b, self.items[at].form.entries) for x, (at, b) in enumerate(self.columns))
        return {x: b * entries[entry] for x, b, entries in forms if entry in entries}

    def _match(self) -> None:
        """Ask that every coefficient of the goal but that of 1 is matched."""
        entries = dict.fromkeys(self.goal.entries)
        for at, _ in self.columns:
            entries |= dict.fromkeys(self.items[at].form.entries)
        zero = self.ring.number(0)
        for entry in (e for e in entries if e != ONE):
            for powers, bottom, row, value in _linear(self._parts(entry), self.goal.entries.get(entry, zero)):
                self.rows.append((row, value))
                term = Scalar(self.ring, self.ring.context.from_dict({powers: 1}), bottom)
                self.where_of.append((entry, term))

    def _sign(self) -> None:
        """Ask that multipliers of inequalities and squares, and what is left of 1, have no negative coefficient on the
        region's chart."""
        by_item: dict[int, dict[int, Scalar]] = {}
        for x, (at, b) in enumerate(self.columns):
            if self.items[at].signed:
                by_item.setdefault(at, {})[x] = b
        zero = self.ring.number(0)
        for parts in by_item.values():
            self._no_negative(parts, zero)
        self._no_negative({x: -c for x, c in self._parts(ONE).items()}, self.goal.entries.get(ONE, zero))

    def _no_negative(self, parts: Mapping[int, Scalar], more: Scalar) -> None:
        steps = any(STEP in c.names for c in (*parts.values(), more))
        for chart in self.where._first_and_later if steps else (self.where.chart,):
            pulled = {x: chart.pulled(c) for x, c in parts.items()}
            self.signs += [(row, value) for _, _, row, value in _linear(pulled, chart.pulled(more))]

    def floats(self, loose: bool = False) -> np.ndarray | None:
        """Solve in floating point, with the least sum of factors, the simpler products first; or, ``loose``, with the
        least sum of what is left over, which comes after the factors."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_matrix, eye, hstack

        if not self.columns:
            return None
        n, m = len(self.columns), len(self.rows)
        equal, values = _matrix(self.rows, n)
        above, floors = _matrix(self.signs, n)
        sizes = [_size(b) for _, b in self.columns]
        cost, left = np.array([1 + 0.3 * degrees + 0.2 * terms for terms, degrees, _ in sizes] * 2), [equal, -equal]
        if loose:
            left += [eye(m), -eye(m)]
            rare = [VALUE if isinstance(entry, Value) else 1 for entry, _ in self.where_of]
            cost = np.concatenate([cost * 1e-6, rare, rare])
        nothing = coo_matrix((len(self.signs), len(cost) - 2 * n))
        found = linprog(
            cost, A_eq=hstack(left).tocsr(), b_eq=values, A_ub=hstack([-above, above, nothing]).tocsr(), b_ub=floors,
            bounds=(0, None), method="highs-ds", options={"time_limit": SECONDS},
        )  # fmt: skip
        if found.status != 0:
            return None
        more, less, over, under = np.split(found.x, [n, 2 * n, 2 * n + m])
        return np.concatenate([more - less, over - under])

    def _exact(self, floats: np.ndarray) -> list[Fraction]:
        """Return rational factors near a solution: those that the equalities and the tight inequalities fix, and near
        ones for what is left free."""
        used = [x for x, value in enumerate(floats) if abs(value) > SMALL]
        tight = [(row, -value) for row, value in self.signs if abs(_at(row, floats) + _float(value)) < SMALL]
        near = [_near(floats[x]) for x in used]
        solution = _solve([*self.rows, *tight], used, near) or _solve(self.rows, used, near) or near
        made = dict(zip(used, solution, strict=True))
        return [made.get(x, Fraction(0)) for x in range(len(self.columns))]

    def unmatched(self) -> NotFound:
        """Return the error with what the nearest combination leaves over."""
        if not self.columns:
            return NotFound(f"not found: of {self.goal} nothing is matched", self.goal.entries)
        loose = self.floats(loose=True)
        if loose is None:
            return NotFound("not found: what is left of 1 cannot be certified to be >= 0")
        left: dict[Entry, Scalar] = {}
        for (entry, term), value in zip(self.where_of, loose[len(self.columns) :], strict=True):
            if abs(value) > SMALL:
                left[entry] = left.get(entry, self.ring.number(0)) + term * _near(value)
        said = "; ".join(f"of {_show_entry(entry)} ({c})" for entry, c in left.items())
        return NotFound(f"not found: {said} is left over", left)


def _linear(
    parts: Mapping[int, Scalar], value: Scalar
) -> Iterator[tuple[tuple[int, ...], fmpq_mpoly, dict[int, fmpq], fmpq]]:
    """Yield for each power product of the common numerator: the product, the common denominator, its factors in the
    parts, and that in the value."""
    bottom = value.denominator
    for c in parts.values():
        bottom = bottom * (c.denominator / bottom.gcd(c.denominator))
    rows: dict[tuple[int, ...], dict[int, fmpq]] = {}
    for x, c in parts.items():
        for powers, factor in (c.numerator * (bottom / c.denominator)).to_dict().items():
            rows.setdefault(powers, {})[x] = factor
    values = (value.numerator * (bottom / value.denominator)).to_dict()
    for powers in dict.fromkeys((*rows, *values)):
        yield powers, bottom, rows.get(powers, {}), values.get(powers, fmpq(0))


def _float(value: fmpq) -> float:
    return float(Fraction(int(value.p), int(value.q)))


def _at(row: Mapping[int, fmpq], floats: np.ndarray) -> float:
    return sum(_float(c) * floats[x] for x, c in row.items())


def _near(value: float) -> Fraction:
    return Fraction(float(value)).limit_denominator(1000)


def _matrix(rows: Sequence[tuple[Mapping[int, fmpq], fmpq]], width: int) -> tuple[Any, list[float]]:
    from scipy.sparse import coo_matrix

    at = [(i, x, _float(c)) for i, (row, _) in enumerate(rows) for x, c in row.items()]
    lines, places, data = zip(*at, strict=True) if at else ((), (), ())
    return coo_matrix((data, (lines, places)), shape=(len(rows), width)), [_float(value) for _, value in rows]


def _solve(
    system: Sequence[tuple[Mapping[int, fmpq], fmpq]], used: Sequence[int], near: Sequence[Fraction]
) -> list[Fraction] | None:
    """Solve linear equations for the unknowns that are used, the others being 0; those that stay free are near ones."""
    rows = [[*(row.get(x, fmpq(0)) for x in used), value] for row, value in system]
    rows = [row for row in rows if any(row)]
    width, made = len(used), [*near]
    reduced, rank = fmpq_mat(len(rows), width + 1, [c for row in rows for c in row]).rref()
    pivots = [next(j for j in range(width + 1) if reduced[i, j] != 0) for i in range(rank)]
    if width in pivots:
        return None
    free = [(j, fmpq(near[j].numerator, near[j].denominator)) for j in range(width) if j not in pivots]
    for i, pivot in enumerate(pivots):
        value = reduced[i, width] - sum((reduced[i, j] * x for j, x in free), fmpq(0))
        made[pivot] = Fraction(int(value.p), int(value.q))
    return made


def _python(value: Scalar) -> str:
    """Return a scalar as an expression in the letters of a proof, in whole numbers, so that no quotient is rounded."""
    numbers = value.numerator.coeffs()
    scale = lcm(1, *(int(c.q) for c in numbers))
    if not value.names:
        (number,) = numbers or [fmpq(0)]
        return str(number) if number.q == 1 else f"Fraction({number.p}, {number.q})"
    top, bottom = (str(p * scale).replace("^", "**") for p in (value.numerator, value.denominator))
    return top if bottom == "1" else f"({top}) / ({bottom})"


def _called(vector: Vector, known: Mapping[str, Vector]) -> str:
    """Return a vector by the name that it has, or as a combination of named single terms."""
    for name, value in known.items():
        if value == vector:
            return name
    single = {
        next(iter(v.terms)): name for name, v in known.items() if len(v.terms) == 1 and [*v.terms.values()] == [1]
    }
    if vector.terms.keys() <= single.keys():
        return " + ".join(f"{single[term]} * ({_python(c)})" for term, c in vector.terms.items())
    return repr(vector)
