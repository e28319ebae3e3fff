"""Rules that leave the cohort, the kind of a round, and the round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .forms import END, PATH, START, Atom, Entry, Form, Product, Value, Vector, dot, square
from .regions import Where
from .scalars import Ring, Scalar
from .sealed import intact
from .theorems import (
    MEAN,
    Assumption,
    Context,
    Refused,
    Theorem,
    _check_context,
    _follows,
    _theorem,
    entry_binders,
    joined,
    known_at_start,
    split,
)

UNIFORM, ARBITRARY = "uniform", "arbitrary"


def expect_uniform(theorem: Theorem, size: Scalar, share: Scalar, where: Where) -> Theorem:
    """Take the expectation over a uniform cohort of ``size`` clients, given the start, of a theorem on vectors known
    before the draw:

        E mean_S <u_i, v_i> = mean <u_i, v_i>,   E <mean_S u, w> = <mean u, w>,
        E <mean_S u, mean_S v> = share mean <u_i, v_i> + (1 - share) <mean u, mean v>,

    where share = (M - m)/(m (M - 1)) without replacement (any number for M = 1), 1/m with; both in [0, 1/m], which
    the region has to say. Of vectors along the paths, which are independent of the draw, the second is taken with w
    known at the start; means of them stay in products with one another, as random vectors.
    """
    _check_context(theorem, "cohort", UNIFORM)
    ring = where.ring
    if not where.within(theorem.where):
        raise Refused("expect: the region has to lie in the theorem's")
    if not _says(where, share, 1 / size):
        raise Refused(f"share {share}: allowed is a name with the condition 0 <= share <= 1/{size}")
    if "i" in theorem.form.open:
        raise Refused(f"{theorem}: an expectation over the cohort is taken of a closed form")
    total = Form(ring, {})
    for entry, c in theorem.form.entries.items():
        total = total + _drawn(entry, share, ring.number(1)) * c
    law: Assumption = ("uniform_cohorts", None)
    return _given_kind("expect uniform", UNIFORM, theorem, where, total, law, size=size, share=share)


def _says(where: Where, share: Scalar, bound: Scalar) -> bool:
    named = [c for c in where.conditions if share.names == {c.name} and share == where.ring[c.name]]
    return any(c.kind == "interval" and c.bound == bound for c in named)


def _drawn(entry: Entry, share: Scalar, one: Scalar) -> Form:
    ring = share.ring
    if known_at_start(entry):
        return Form(ring, {entry: one})
    if isinstance(entry, Value) and (entry.point.stage == START or "S" not in entry.bound):
        return Form(ring, {_of_all(entry): one})
    if isinstance(entry, Product):
        cohorts = ["S" in entry.left.bound, "S" in entry.right.bound]
        if "S" not in entry.bound and not any(cohorts):
            return Form(ring, {entry: one})
        if entry.left.atom.stage == entry.right.atom.stage == START:
            far = Form(ring, {_of_all(entry): one})
            if not all(cohorts):
                return far
            own = (t._replace(bound=t.bound.replace("S", "")) for t in (entry.left, entry.right))
            near = Form(ring, {Product("M", *sorted(own)): one})
            return near * share + far * (1 - share)
        if "S" not in entry.bound:
            other = entry.right if cohorts[0] else entry.left
            if all(cohorts):
                return Form(ring, {entry: one})
            if other.atom.stage == START and {entry.left.atom.stage, entry.right.atom.stage} <= {START, PATH}:
                return Form(ring, {_of_all(entry): one})
    raise Refused(f"{entry}: of a cohort, and not known before it is drawn")


def _of_all(entry: Entry) -> Entry:
    """Return an entry with all clients in the place of the cohort."""
    if isinstance(entry, Product):
        left, right = (t._replace(bound=t.bound.replace("S", "M")) for t in (entry.left, entry.right))
        return Product(entry.bound.replace("S", "M"), *sorted((left, right)))
    return entry._replace(bound=entry.bound.replace("S", "M")) if isinstance(entry, Value) else entry


def expect_everyone(theorem: Theorem, size: Scalar) -> Theorem:
    """Take a theorem given an arbitrary cohort of ``size`` clients for rounds in which that is every client, once: its
    means are those over all clients, who weigh the same in F."""
    _check_context(theorem, "cohort", ARBITRARY)
    if "i" in theorem.form.open:
        raise Refused(f"{theorem}: allowed is a closed form")
    total = Form.total(theorem.form.ring, ((_of_all(entry), c) for entry, c in theorem.form.entries.items()))
    laws: tuple[Assumption, ...] = ("full_participation", None), ("equal_weights", None)
    return _given_kind("expect everyone", ARBITRARY, theorem, theorem.where, total, *laws, size=size)


def expect_arbitrary(theorem: Theorem, size: Scalar) -> Theorem:
    """Take the expectation over an arbitrary cohort of ``size`` clients. Its means stay as random vectors, and no mean
    over it may remain outside of a product."""
    _check_context(theorem, "cohort", ARBITRARY)
    if any("S" in e.bound for e in theorem.form.entries if not isinstance(e, str)) or "i" in theorem.form.open:
        raise Refused(f"{theorem}: a mean of products over an arbitrary cohort has no law")
    return _given_kind("expect arbitrary", ARBITRARY, theorem, theorem.where, theorem.form, size=size)


def _given_kind(
    rule: str, kind: str, theorem: Theorem, where: Where, form: Form, *more: Assumption, **law: Any
) -> Theorem:
    """Make a theorem given the kind of the round from one given its cohort; the parameters of the cohorts' law are the
    rule's arguments, too."""
    assumptions, parameters = {*theorem.assumptions, *more}, joined(dict(theorem.parameters), law)
    said = {"where": where, "assumptions": assumptions, "parameters": parameters}
    return _follows(rule, theorem, form, context="kind", kind=kind, **said, **law)


def conditional_mean(atom: Atom, kind: str, ring: Ring) -> Vector:
    """Return E[mean_S atom | start, kind], a vector known at the start, for a family known at the start."""
    if atom.stage != START or not atom.client:
        raise Refused(f"{atom.name}: allowed is a family over clients that is known at the start")
    return Vector.one(ring, Atom(f"{MEAN}{kind} {atom.name}"))


def project(atom: Atom, other: Vector, kind: str, where: Where) -> Theorem:
    """Prove <mean_S u - E[mean_S u | start, kind], w> = 0 for w known at the start."""
    if any(t.atom.stage != START or "S" in t.bound for t in other.terms) or other.open:
        raise Refused(f"{other}: allowed is a closed vector known at the start")
    if kind not in (UNIFORM, ARBITRARY):
        raise Refused(f"{kind}: allowed is a kind of round that has a cohort, {UNIFORM} or {ARBITRARY}")
    mean = Vector.one(where.ring, atom, "S")
    return _theorem(
        "project",
        [],
        context="kind",
        kind=kind,
        where=where,
        equality=True,
        form=dot(mean - conditional_mean(atom, kind, where.ring), other),
        family=atom,
        other=other,
    )


def mix(snapshot: Theorem, arbitrary: Theorem, probability: Scalar, where: Where) -> Theorem:
    """Add q times the uniform theorem and 1 - q times the arbitrary one: given its start, a round is uniform with
    probability q, and arbitrary otherwise."""
    one, other = dict(snapshot.parameters), dict(arbitrary.parameters)
    if "size" not in one or "size" not in other:
        raise Refused("mix: allowed are theorems of rounds, with the sizes of their cohorts")
    sizes = {"cohort": one.pop("size"), "arbitrary_cohort": other.pop("size"), "probability": probability}
    parts = (snapshot, UNIFORM, probability), (arbitrary, ARBITRARY, 1 - probability)
    return mixed("mix", parts, where, probability, "random_kinds", joined(joined(one, other), sizes))


def mixed(
    rule: str,
    parts: Sequence[tuple[Theorem, str, Scalar]],
    where: Where,
    probability: Scalar,
    law: str,
    parameters: Mapping[str, Scalar],
) -> Theorem:
    """Add theorems on rounds of two kinds, times the probabilities of these. Terms that are not known at the start stay
    as they are in either kind, so they have to be the same in both."""
    for theorem, kind, _ in parts:
        _check_context(theorem, "kind", kind)
        if not where.within(theorem.where):
            raise Refused("mix: the region has to lie in both theorems'")
    if not where.certifies(probability) or not where.certifies(1 - probability):
        raise Refused(f"probability {probability}: not certified to be in [0, 1]")
    theorems = [theorem for theorem, _, _ in parts]
    late, other = ({e: c for e, c in t.form.entries.items() if not known_at_start(e)} for t in theorems)
    if late != other or any("S" in entry_binders(e) for e in late):
        raise Refused(f"mix: what is not known at the start differs, {late} and {other}")
    form, kept = Form(where.ring, {}), Form(where.ring, late)
    for theorem, _, share in parts:
        form = form + (theorem.form - kept) * share
    return _theorem(
        rule,
        theorems,
        context="start",
        where=where,
        form=form + kept,
        parameters=parameters,
        assumptions={*theorems[0].assumptions, *theorems[1].assumptions, (law, probability)},
        equality=all(theorem.equality for theorem in theorems),
        probability=probability,
    )


def _of_every_round(theorem: Theorem) -> None:
    """Refuse what is not given a round's start, or its start and its kind: the latter where every round is of it."""
    context: Context = "kind" if theorem.context == "kind" else "start"
    _check_context(intact(theorem), context, theorem.kind)


def contraction(theorem: Theorem) -> tuple[Scalar, Scalar]:
    """Return (P, B) of a theorem P |x - x*|^2 + B - E|x+ - x*|^2 >= 0 with 0 <= P < 1 and B >= 0, certified: then

    E|x_R - x*|^2 <= P^R |x_0 - x*|^2 + B (1 - P^R)/(1 - P)   for every R, by induction over the rounds; of a theorem
    given a round's kind, where every round is of that kind.
    """
    _of_every_round(theorem)
    where, ring = theorem.where, theorem.where.ring
    start, optimum, end = (Vector.one(ring, a) for a in (Atom("x"), Atom("x*"), Atom("x+", stage=END)))
    says = "is P |x - x*|^2 + B - E|x+ - x*|^2 >= 0"
    parts = split(theorem.form + square(end - optimum), {"P": square(start - optimum)}, says)
    factor, addition = parts["P"], parts[""]
    if not (where.certifies(factor) and where.certifies(1 - factor) and where.certifies(addition)):
        raise Refused(f"factor {factor}, addition {addition}: not certified to be in [0, 1], and >= 0")
    if not where.never_zero(1 - factor):
        raise Refused(f"factor {factor}: not certified to be below 1")
    return factor, addition


def average(theorem: Theorem) -> tuple[Scalar, Scalar]:
    """Return (c, B) of a theorem F(x) - E F(x+) - c |grad F(x)|^2 + B >= 0 with c > 0 and B >= 0, certified: then, by
    summing over the rounds,

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + B/c;

    of a theorem given a round's kind, where every round is of that kind.
    """
    _of_every_round(theorem)
    where, ring = theorem.where, theorem.where.ring
    one, values = ring.number(1), (Value("M", Atom("x")), Value("M", Atom("x+", stage=END)))
    gradient = square(Vector.one(ring, Atom("g_start", True), "M"))
    says = "is F(x) - E F(x+) - c |grad F(x)|^2 + B >= 0"
    parts = split(theorem.form - Form(ring, {values[0]: one, values[1]: -one}), {"c": -gradient}, says)
    fall, addition = parts["c"], parts[""]
    if not (where.certifies(fall) and where.certifies(addition) and where.never_zero(fall)):
        raise Refused(f"fall {fall}, addition {addition}: not certified to be > 0, and >= 0")
    return fall, addition
