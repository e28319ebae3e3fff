"""Theorems, and the rules that make them. Nothing else makes a theorem; every rule computes its conclusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal

from .forms import ONE, PATH, START, STEP, STEPS, Atom, Entry, Form, Product, Term, Value, Vector, square
from .regions import Where
from .scalars import Scalar
from .sealed import MAKER, Refused, Sealed, intact

Context = Literal["cohort", "kind", "start", "run"]
"""Condition of an expectation: given the round's start and cohort; its start and kind; its start; or nothing."""

Assumption = tuple[str, Scalar | None]
"""Kind of an assumption, and its constant if it has one."""

MEAN = "E "
"""Prefix of the name of a conditional mean."""

_OWN_PARAMETERS = (
    frozenset({"weighted_lr"}), frozenset({"selected_lr"}), frozenset({"cutoff"}),
    frozenset({"server_lr", "client_round_probability"}),
    frozenset({"cohort", "probability"}),
)  # fmt: skip
"""Parameters by which algorithms differ that make the same vectors."""


@dataclass(frozen=True, eq=False)
class Theorem(Sealed):
    """Theorem for every federation, participation and algorithm that meet ``assumptions``, all scalars in ``where``,
    all clients i and all steps k = 0, ..., ``last`` (K - 1 or K):

        form >= 0, or form = 0 where ``equality``, with <u, v> = E[u . v | context].

    ``rule`` and ``premises`` say how it was made; ``parameters`` are those of the algorithm whose vectors occur. A hash
    of all that it says is kept from its making on: see ``intact``.
    """

    context: Context
    kind: str
    where: Where
    assumptions: frozenset[Assumption]
    parameters: tuple[tuple[str, Scalar], ...]
    form: Form
    equality: bool
    path_to_the_end: bool
    rule: str
    premises: tuple[Theorem, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    _maker: InitVar[object] = None

    @property
    def made_of(self) -> tuple[Theorem, ...]:
        return self.premises

    def said(self) -> tuple[Any, ...]:
        return (
            self.context,
            self.kind,
            self.where.ring.names,
            self.where.conditions,
            sorted(map(repr, self.assumptions)),
            self.parameters,
            list(self.form.entries.items()),
            self.equality,
            self.path_to_the_end,
        )

    def __repr__(self) -> str:
        sign = "=" if self.equality else ">="
        return f"[{self.context} {self.kind}] {self.form} {sign} 0"


def _theorem(
    rule: str,
    premises: Sequence[Theorem],
    *,
    context: Context,
    where: Where,
    form: Form,
    kind: str = "",
    assumptions: Iterable[Assumption] | None = None,
    parameters: Mapping[str, Scalar] | None = None,
    equality: bool = False,
    path_to_the_end: bool = False,
    **arguments: Any,
) -> Theorem:
    inherited = frozenset(a for p in map(intact, premises) for a in p.assumptions)
    every = inherited if assumptions is None else frozenset(assumptions)
    of = dict(parameters or {})
    for premise in premises if parameters is None else ():
        of = _same_parameters(of, premise, context)
    if not of_one_algorithm(of):
        raise Refused(f"vectors of two algorithms: of {', '.join(sorted(of))}")
    for name, c in (*of.items(), *every):
        if name != "local_lr" and c is not None and STEP in c.names:
            raise Refused(f"{name} = {c}: allowed is what is the same at every step")
    where.need(*form.entries.values())
    return Theorem(context, kind, where, every, tuple(sorted(of.items())), form, equality, path_to_the_end, rule,
                   tuple(premises), arguments, _maker=MAKER)  # fmt: skip


def _same_parameters(found: dict[str, Scalar], premise: Theorem, context: Context) -> dict[str, Scalar]:
    given = dict(premise.parameters)
    if context == "start" and premise.kind and "size" in given:
        found = joined(found, {"cohort" if premise.kind == "uniform" else "arbitrary_cohort": given.pop("size")})
    return joined(found, given)


def joined(found: Mapping[str, Scalar], given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return all parameters of two lists; each that both have has to be the same in both."""
    for name in found.keys() & given.keys():
        if found[name] != given[name]:
            raise Refused(f"vectors of two algorithms: {name} = {found[name]} and {given[name]}")
    return {**found, **given}


def said_besides(made: Any, *parameters: str, assumption: str = "") -> list[Scalar]:
    """Return the scalars of a theorem, or of a bound, besides its conclusion: the constants that are assumed, the
    parameters, and the bounds of conditions, but for those of parameters, and of an assumption, with these names."""
    found = [c for name, c in made.assumptions if name != assumption and c is not None]
    found += [c for name, c in made.parameters if name not in parameters]
    return found + [c.bound for c in made.where.conditions if c.bound is not None]


def of_one_algorithm(parameters: Iterable[str]) -> bool:
    """Whether one algorithm has all these parameters. Its rounds end in weighted updates, or in answers, or are the
    server's in turn with the clients', or are of uniform and arbitrary cohorts; or its weights have a cutoff."""
    return sum(not own.isdisjoint(parameters) for own in _OWN_PARAMETERS) <= 1


def known_at_start(entry: Entry) -> bool:
    """Whether a product or a value is known at the round's start: it has no cohort's mean and no later vector."""
    if isinstance(entry, str):
        return True
    atoms = [entry.point] if isinstance(entry, Value) else [entry.left.atom, entry.right.atom]
    cohorts = "S" in entry.bound or (isinstance(entry, Product) and "S" in entry.left.bound + entry.right.bound)
    return not cohorts and all(atom.stage == START for atom in atoms)


def entry_binders(entry: Entry) -> str:
    """Return all binders of an entry and of its factors."""
    if isinstance(entry, Product):
        return entry.bound + entry.left.bound + entry.right.bound
    return entry.bound if isinstance(entry, Value) else ""


def about_start(form: Form) -> bool:
    """Whether all of a form is known at the round's start, so that it holds whatever else is given."""
    return all(map(known_at_start, form.entries))


def split(form: Form, parts: Mapping[str, Form], wanted: str = "") -> dict[str, Scalar]:
    """Return the factor of each of some forms in a sum of multiples of them and of 1, whose factor is named "".

    Raises:
        Refused: the form is no such sum; ``wanted`` says what is.
    """
    found, rest = {}, form
    for name, part in parts.items():
        others = {entry for other, each in parts.items() if other != name for entry in each.entries}
        entry = next(entry for entry in part.entries if entry not in others)
        found[name] = rest.entries.get(entry, form.ring.number(0)) / part.entries[entry]
        rest = rest - part * found[name]
    found[""] = rest.entries.get(ONE, form.ring.number(0))
    if rest != Form.constant(found[""]):
        allowed = wanted or f"are {', '.join(parts)} and 1"
        raise Refused(f"{rest - Form.constant(found[''])} is left over: allowed {allowed}")
    return found


def _check_context(theorem: Theorem, context: Context, kind: str) -> None:
    if theorem.context == context and theorem.kind in ("", kind):
        return
    if theorem.context == "run":
        raise Refused(f"{theorem}: of the whole run, and nothing follows given the {context}")
    if not about_start(theorem.form):
        raise Refused(f"{theorem}: allowed is a theorem given the {context} {kind}, or one about the start alone")


Multiples = Sequence[tuple[Theorem, Scalar | int]]
"""Theorems, each with its multiplier."""


def combine(
    premises: Multiples,
    *,
    where: Where,
    context: Context,
    kind: str = "",
    squares: Sequence[tuple[Vector, str, Scalar | int]] = (),
    constant: Scalar | int = 0,
) -> Theorem:
    """Add theorems times multipliers >= 0 (of any sign for an equality), multiples >= 0 of squares |v|^2 below binders,
    and a constant >= 0."""
    ring = where.ring
    total = Form(ring, {})
    equality = not squares and (ring.number(1) * constant).is_zero
    to_the_end = bool(premises) and STEP not in (ring.number(1) * constant).names
    for theorem, multiplier in premises:
        factor = ring.number(1) * multiplier
        _check_context(theorem, context, kind)
        if not where.within(theorem.where):
            raise Refused(f"{theorem}: shown on a region that does not contain this one")
        where.need(factor)
        if not theorem.equality:
            where.ask(factor, "multiplier")
        equality &= theorem.equality
        to_the_end &= (theorem.path_to_the_end or "k" not in theorem.form.open) and STEP not in factor.names
        total = total + theorem.form * factor
    for vector, bound, multiplier in squares:
        factor = ring.number(1) * multiplier
        to_the_end &= STEP not in factor.names
        where.need(*vector.terms.values())
        where.ask(factor, "multiplier of a square:")
        form = square(vector)
        for binder in bound:
            form = form.under(binder)
        total = total + form * factor
    shift = ring.number(1) * constant
    where.ask(shift, "constant")
    return _theorem(
        "combine",
        [t for t, _ in premises],
        context=context,
        kind=kind,
        where=where,
        form=total + Form.constant(shift),
        equality=equality,
        path_to_the_end=to_the_end,
        multipliers=[ring.number(1) * c for _, c in premises],
        constant=shift,
        squares=[(v, bound, ring.number(1) * c) for v, bound, c in squares],
    )


def over_clients(theorem: Theorem, binder: str) -> Theorem:
    """Take the mean over all clients (M), or over the cohort (S), of a theorem that holds for every client."""
    if binder not in ("M", "S") or "i" not in theorem.form.open:
        raise Refused(f"{theorem}: allowed is a theorem for every client i, and M or S")
    if binder == "S" and theorem.context == "run":
        raise Refused(f"{theorem}: of the whole run, and nothing follows given the cohort")
    if binder == "S" and theorem.context != "cohort" and not about_start(theorem.form):
        raise Refused(f"{theorem}: the mean over a cohort is taken of what holds given the cohort")
    context: Context = "cohort" if binder == "S" else theorem.context
    to_the_end = theorem.path_to_the_end
    return _follows(
        "over clients", theorem, theorem.form.under(binder), context=context, path_to_the_end=to_the_end, binder=binder
    )


def _follows(rule: str, theorem: Theorem, form: Form, **but: Any) -> Theorem:
    """Make a theorem of another form, given the same, on the same region and with the same sign, but for what is named;
    what else is named are the rule's arguments."""
    said = {part: getattr(theorem, part) for part in ("context", "kind", "where", "equality")}
    return _theorem(rule, [theorem], form=form, **(said | but))


def over_steps(theorem: Theorem) -> Theorem:
    """Sum a theorem that holds for every step over k = 0, ..., K - 1."""
    if "k" not in theorem.form.open:
        raise Refused(f"{theorem}: allowed is a theorem for every step k")
    return _follows("over steps", theorem, theorem.form.under("K"))


def induct(base: Theorem, step: Theorem, bound: Form, factor: Scalar) -> Theorem:
    """Prove bound(k) >= 0 for k = 0, ..., K from bound(0) >= 0 and bound(k+1) - factor bound(k) >= 0 for k < K."""
    if "k" not in bound.open or base.context != step.context or base.kind != step.kind:
        raise Refused("induction: allowed is a form in k, with base and step given the same")
    if base.form != at_step(bound, 0, 0, 0):
        raise Refused(f"base {base.form}: it has to be {at_step(bound, 0, 0, 0)}")
    if step.form != at_step(bound, 1, 0, 1) - bound * factor:
        raise Refused(f"step {step.form}: it has to be {at_step(bound, 1, 0, 1) - bound * factor}")
    if any(STEP in c.bottom.names for c in bound.entries.values()):
        raise Refused("induction: a form that divides by what depends on k")
    if not step.where.within(base.where) or not step.where.certifies(factor):
        raise Refused(f"induction: factor {factor} >= 0 and the base's region are not certified on the step's")
    return _theorem(
        "induct",
        [base, step],
        context=step.context,
        kind=step.kind,
        where=step.where,
        form=bound,
        path_to_the_end=True,
        factor=factor,
    )


def at_step(form: Form, a: int, b: int, c: int) -> Form:
    """Return the form with a k + b K + c for k; vectors at step 0 of a path are those of the round's start. Below a sum
    over the steps there is no k left to put in for."""
    ring = form.ring
    index = {STEP: ring[STEP] * a + ring[STEPS] * b + c}

    def moved(term: Term) -> Term:
        atom = term.atom
        if not atom.step or "K" in term.bound:
            return term
        p, q, r = atom.step
        new = started(atom._replace(step=(p * a, q + p * b, r + p * c)))
        return Term(term.bound if new.client else _without_means(term.bound), new)

    sums = Form(ring, {e: c for e, c in form.entries.items() if not isinstance(e, str) and "K" in e.bound})
    return sums.mapped(lambda term: term, index) + _anew((form - sums).mapped(moved, index))


def _without_means(bound: str) -> str:
    return "".join(binder for binder in bound if binder not in "MS")


def _anew(form: Form) -> Form:
    """Return the form with the means over clients of products in their places, as vectors below them may be no client's
    now."""
    total = Form(form.ring, {})
    for entry, c in form.entries.items():
        part = Form(form.ring, {entry: c})
        if isinstance(entry, Product):
            part = Form(form.ring, {entry._replace(bound=_without_means(entry.bound)): c})
            for binder in entry.bound:
                part = part.under(binder) if binder in "MS" else part
        total = total + part
    return total


def started(atom: Atom) -> Atom:
    """Return the vector of the round's start for an iterate, or a gradient, at step 0."""
    first = {
        Atom("x", True, (0, 0, 0), PATH): Atom("x"),
        Atom("g", True, (0, 0, 0), PATH): Atom("g_start", True),
        Atom("x_mean", False, (0, 0, 0), PATH): Atom("x"),
        Atom("g_mean", True, (0, 0, 0), PATH): Atom("g_start", True),
    }
    return first.get(atom, atom)


def last_step(theorem: Theorem) -> Theorem:
    """Take a theorem that holds up to the end of the path at k = K."""
    if not theorem.path_to_the_end:
        raise Refused(f"{theorem}: shown for k < K only")
    return _follows("last step", theorem, at_step(theorem.form, 0, 1, 0))


def instantiate(theorem: Theorem, values: Mapping[str, Scalar], where: Where) -> Theorem:
    """Replace scalars by expressions in the form, in the constants of the assumptions and in the algorithm's
    parameters. The theorem's own conditions have to be certified on the new region."""
    if STEP in values or STEPS in values:
        raise Refused("k and K are no scalars to put expressions in for")
    if any(STEP in value.names for value in values.values()):
        raise Refused("what is put in for a scalar is the same at every step: allowed is what does not depend on k")
    where.need(*values.values())
    for condition in theorem.where.conditions:
        for expression, strict in condition.polynomials(where.ring):
            changed = expression.replace(values)
            if not where.certifies(changed) or (strict and not where.never_zero(changed)):
                raise Refused(f"{changed} {'>' if strict else '>='} 0: not certified on the region")
    assumptions = [(name, c.replace(values) if c is not None else None) for name, c in theorem.assumptions]
    parameters = {name: value.replace(values) for name, value in theorem.parameters}
    return _follows(
        "instantiate",
        theorem,
        theorem.form.mapped(lambda t: t, values),
        where=where,
        assumptions=assumptions,
        parameters=parameters,
        path_to_the_end=theorem.path_to_the_end,
        values=dict(values),
    )
