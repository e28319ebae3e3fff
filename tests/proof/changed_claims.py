"""Claims with one thing changed, from claims that are proved: most of them say more, and have to lose their proof.

A change is of a term, a power, a letter or a number of the right side; of a hypothesis, a choice, an assumption, the
functional, a reading, or the algorithm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import sympy

from fedtheory.claims.readings import OPTIONS
from fedtheory.claims.statement import Claim, Term
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.papers import claim
from fedtheory.papers.proofs import chain
from fedtheory.proof import checker
from fedtheory.proof.kernel.run_bounds import RunBound
from fedtheory.proof.kernel.saved_claims import digest
from fedtheory.proof.step_certificates import saved_data

ALGORITHMS = ("fast", "safari", "fedau", "local_sgd", "fedavg", "fedavg_decaying")


@dataclass(frozen=True)
class Change:
    """Claim with one thing changed.

    Attributes:
        kind: what is changed: one of the functions of ``KINDS``.
        part: which of its parts, by name.
    """

    of: str
    kind: str
    part: str
    claim: Claim

    @property
    def name(self) -> str:
        """The claim's name, the kind and the part."""
        return f"{self.of}: {self.kind} {self.part}"


def _with_term(this: Claim, term: Term, expression: sympy.Expr) -> Claim:
    return replace(this, terms=tuple(replace(t, expression=expression) if t is term else t for t in this.terms))


def terms(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Each term a hundredth smaller, and left out."""
    for term in this.terms:
        yield f"{term.name} * 99/100", _with_term(this, term, term.expression * sympy.Rational(99, 100))
        if len(this.terms) > 1:
            yield f"{term.name} less", replace(this, terms=tuple(t for t in this.terms if t is not term))


def powers(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Each term times, and over, each of its quantities."""
    for term in this.terms:
        for symbol in sorted(term.expression.free_symbols, key=str):
            yield f"{term.name} * {symbol}", _with_term(this, term, term.expression * symbol)
            yield f"{term.name} / {symbol}", _with_term(this, term, term.expression / symbol)


def letters(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Two quantities of a term exchanged."""
    for term in this.terms:
        symbols = sorted(term.expression.free_symbols, key=str)
        for i, a in enumerate(symbols):
            for b in symbols[i + 1 :]:
                changed = term.expression.xreplace({a: b, b: a})
                if changed != term.expression:
                    yield f"{term.name}: {a} and {b}", _with_term(this, term, changed)


def numbers(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Each number of a term a hundredth smaller, and larger."""
    for term in this.terms:
        for number in sorted(n for n in term.expression.atoms(sympy.Rational) if n not in (0, 1, -1)):
            for share in (sympy.Rational(99, 100), sympy.Rational(101, 100)):
                changed = term.expression.xreplace({number: number * share})
                yield f"{term.name}: {number} * {share}", _with_term(this, term, changed)


def hypotheses(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Each hypothesis left out, and its larger side a hundredth larger."""
    for one in this.hypotheses:
        others = tuple(h for h in this.hypotheses if h is not one)
        yield f"{one.name} less", replace(this, hypotheses=others)
        if (relation := _wider(one.relation)) is not None:
            wide = {option: _wider(other) for option, other in one.alternatives.items()}
            read = {option: one.alternatives[option] if other is None else other for option, other in wide.items()}
            wider = replace(one, relation=relation, alternatives=read)
            yield f"{one.name} wider", replace(this, hypotheses=(*others, wider))


def _wider(relation: Any) -> Any:
    """An inequality with the larger side a hundredth larger; ``None`` where that is 0."""
    small, large = (relation.lhs, relation.rhs) if relation.rel_op == "<=" else (relation.rhs, relation.lhs)
    return None if large == 0 else sympy.Le(small, large * sympy.Rational(101, 100))


def choices(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Each choice a hundredth smaller, and larger, and left out; and each entry of a least one."""
    for name, choice in this.choices.items():
        others = {n: c for n, c in this.choices.items() if n != name}
        yield f"{name} less", replace(this, choices=others)
        for share in (sympy.Rational(99, 100), sympy.Rational(101, 100)):
            yield f"{name} * {share}", replace(this, choices={**others, name: choice * share})
        for entry in choice.args if isinstance(choice, sympy.Min) else ():
            kept = sympy.Min(*(e for e in choice.args if e != entry))
            yield f"{name}: {entry} less", replace(this, choices={**others, name: kept})


def assumptions(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Each assumption left out."""
    for one in this.assumptions:
        kept = tuple(a for a in this.assumptions if a is not one)
        yield f"{one.kind} less", replace(this, assumptions=kept)


def functional(this: Claim) -> Iterator[tuple[str, Claim]]:
    """The squared gradient for the distance, and the other way."""
    for other in (AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE):
        if other != this.functional:
            yield other.name, replace(this, functional=other)


def readings(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Each ambiguity with the options alone that the proof does not cover."""
    theorem = chain(this.ref).theorem
    for one in this.ambiguities:
        covered = one.options if one.name in theorem.whichever else (theorem.read[one.name],)
        others = tuple(o for o in OPTIONS.get(one.name, ()) if o not in covered)
        if others:
            changed = tuple(replace(a, options=others) if a is one else a for a in this.ambiguities)
            yield one.name, replace(this, ambiguities=changed)


def algorithm(this: Claim) -> Iterator[tuple[str, Claim]]:
    """Of another algorithm's runs, where that has all quantities of the claim."""
    own = chain(this.ref).theorem
    for other in ALGORITHMS:
        if other != own.algorithm:
            with suppress(ValueError):
                yield other, replace(this, algorithm=other)


KINDS: dict[str, Callable[[Claim], Iterator[tuple[str, Claim]]]] = {
    made.__name__: made for made in (terms, powers, letters, numbers, hypotheses, choices, assumptions, functional,
                                     readings, algorithm)
}  # fmt: skip


def changes(ref: str) -> Iterator[Change]:
    """All changes of a claim, each with an edition of its own."""
    this = claim(ref)
    for kind, make in KINDS.items():
        for part, changed in make(this):
            yield Change(ref, kind, part, replace(changed, edition="changed"))


# what may keep its proof

ROOM = {
    "safari.thm4@corrected: hypotheses step_cap wider": "101/(400 sqrt 30) < 1/21, which its theorem on a round asks",
    "safari.rem5.b@main: choices local_lr * 101/100": "the cap is one of a smaller server_lr",
    "fast.thm2@sharp: hypotheses step_cap wider": "the edition `sharper` says as much",
    **{
        f"safari.thm5@corrected: hypotheses server_cap {how}": "the drift cap gives eta_s <= 1/(40 L)"
        for how in ("less", "wider")
    },
    **{
        f"safari.thm4@sharp: hypotheses {cap} wider": "its round asks eta_c <= 1/(8 L K) and eta_s <= 1/L"
        for cap in ("step_cap", "server_cap")
    },
    **{
        f"safari.thm5@sharp: hypotheses {cap} wider": "its round asks eta_c <= 1/(8 L K) and eta_s <= 2/(L + mu)"
        for cap in ("drift_cap", "server_cap")
    },
    **{
        f"fast.cor3@corrected: choices local_lr: 1/(20*{size}*local_steps*smoothness) less": "m = n: the other says so"
        for size in ("cohort", "arbitrary_cohort")
    },
    **{
        f"safari.thm5@unbiased: hypotheses arbitrary_cohort_at_least {how}": "its `bound` says so again"
        for how in ("less", "wider")
    },
}
"""Changes that ask as much as a proof needs, with why."""


def may_be_proved(change: Change) -> bool:
    """Whether a changed claim is weaker: its right side is nowhere smaller, or nowhere below what its proof begins
    with; or what it does not ask any more is nothing that the proof needs, or more than that: see ``ROOM``."""
    if change.name in ROOM:
        return True
    if change.kind in ("terms", "powers", "letters", "numbers"):
        own = claim(change.of)
        return _is_nowhere_smaller(change.claim, own) or _is_above_its_rounds(change.claim, own)
    if change.kind == "hypotheses":
        return _without(change.of, "hypotheses", change.part.rpartition(" ")[0])
    if change.kind == "assumptions":
        return _without(change.of, "assumptions", change.part.rpartition(" ")[0])
    return False


def _without(ref: str, part: str, name: str) -> bool:
    """Whether the checker accepts the claim's own proof without a hypothesis, or an assumption."""
    data: dict[str, Any] = json.loads(json.dumps(saved_data(chain(ref))))
    own = data["claim"]
    if part == "hypotheses":
        del own[part][name]
    else:
        own[part] = [each for each in own[part] if each.partition("(")[0] != name]
    data["digest"] = digest(data["letters"], own)
    try:
        checker.check(data)
    except checker.Wrong:
        return False
    return True


TINY = sympy.Rational(1, 10**20)
"""What is lost where a choice is put in with 40 digits."""


def _is_nowhere_smaller(one: Claim, other: Claim) -> bool:
    """Whether a right side is at least another one at 20 points, drawn with a seed, that meet the hypotheses; at those
    alone at which it divides by nothing that is 0, as it says nothing at others."""
    difference = sum((t.expression for t in one.terms), sympy.S.Zero) - other.right_side
    values = [value for point in map(_computed, _points(other, one)) if (value := difference.subs(point)).is_finite]
    return len(values) >= 5 and all(value >= -TINY for value in values)


def _computed(point: dict[sympy.Symbol, sympy.Expr]) -> dict[sympy.Symbol, sympy.Expr]:
    """The point, with 60 digits where powers of a fraction would have millions of them."""
    long = any(s.name == "rounds" and value > 1000 for s, value in point.items())
    return {s: sympy.N(value, 60) for s, value in point.items()} if long else point


def _is_above_its_rounds(one: Claim, other: Claim) -> bool:
    """Whether a right side is, at the same points, at least what the other claim's theorem on a round adds up to: the
    first bound of its proof, which it may be far above."""
    theorem = chain(other.ref).theorem
    bound = theorem.bound
    while isinstance(bound.premise, RunBound):
        bound = bound.premise
    of = {letter: sympy.Symbol(quantity) for letter, quantity in theorem.goal.letters.items()}
    right = sum((t.expression for t in one.terms), sympy.S.Zero)
    for point in _points(other, one):
        bare = {sympy.Symbol(symbol.name): sympy.N(value, 60) for symbol, value in point.items()}
        at = {sympy.Symbol(n): of.get(n, sympy.S.One) for n in bound.where.ring.names}
        steps = {"power": sympy.Symbol("rounds"), "steps": sympy.Symbol("rounds") * sympy.Symbol("local_steps")}
        for d in bound.definitions:
            at[sympy.Symbol(d.name)] = (d.of.expression().xreplace(at)) ** steps[d.sort]
        value = bound.bound.expression().xreplace(at).xreplace(bare)
        at_point = right.subs({symbol: sympy.N(v, 60) for symbol, v in point.items()})
        if at_point.is_finite and not at_point >= value - TINY:
            return False
    return True


def _points(other: Claim, one: Claim) -> list[dict[sympy.Symbol, sympy.Expr]]:
    """Draw 20 points, with a seed, that meet a claim's hypotheses, and have another one's quantities too."""
    names = sorted({s for c in (one, other) for t in c.terms for s in t.expression.free_symbols}
                   | {s for h in other.hypotheses for s in h.relation.free_symbols}
                   | {s for c in other.choices.values() for s in c.free_symbols}, key=str)  # fmt: skip
    return _drawn_points(other.ref, tuple(names))


@cache
def _drawn_points(ref: str, names: tuple[sympy.Symbol, ...]) -> list[dict[sympy.Symbol, sympy.Expr]]:
    other, draw, found = claim(ref), Random(0), list[dict[sympy.Symbol, sympy.Expr]]()
    for _ in range(4000):
        point = {s: _drawn(s.name, draw) for s in names}
        for s in names:
            if s.name in other.choices:
                point[s] = sympy.N(other.choices[s.name].subs({k: v for k, v in point.items() if k != s}), 40)
        for h in other.hypotheses:  # where two step sizes are tied
            slack = h.relation.rhs - h.relation.lhs
            root = sympy.sqrt(-slack) if (-slack).is_Pow and (-slack).exp == 2 else None
            tied = [s for s in names if s.name == "server_lr"]
            if root is not None and tied and tied[0] in slack.free_symbols:
                inside = (-slack).base
                rest = {k: v for k, v in point.items() if k != tied[0]}
                point[tied[0]] = sympy.solve(inside.subs(rest), tied[0])[0]
        size = {s.name: value for s, value in point.items()}
        if any(size.get(name, 0) > size.get("clients", 7) for name in ("cohort", "arbitrary_cohort")):
            continue  # no more clients are asked than there are
        if not all(h.slack.subs(point) >= -TINY for h in other.hypotheses):
            continue
        found.append(point)
        if len(found) == 20:
            return found
    raise ValueError(f"{ref}: {len(found)} points, allowed are 20")


def _drawn(name: str, draw: Random) -> sympy.Expr:
    """Draw a value of a quantity: small steps, whole counts, shares."""
    exact = sympy.Rational
    if name in ("clients", "cohort", "arbitrary_cohort", "local_steps"):
        return exact(draw.choice([1, 1, 2, 3, 7]))
    if name == "rounds":
        return exact(draw.choice([1, 10, 1000, 10**6]))
    if name.endswith("_lr"):
        return exact(draw.choice([1, 2, 5]), 10 ** draw.choice([2, 3, 4, 5]))
    if name.endswith("probability"):
        return exact(draw.choice([0, 0, 1, 3, 9, 10, 10]), 10)
    if name == "strong_convexity":
        return exact(draw.choice([1, 5, 10]), 10)
    if name.startswith("dissimilarity"):  # 0 where all clients' data are the same
        return exact(draw.choice([0, 2, 5, 20]))
    return exact(draw.choice([1, 2, 5, 20]))
