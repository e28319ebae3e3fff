"""The page of a claim: everything that is known of it, as its template shows it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from sympy.core.relational import Relational

from ...claims.comparison import Difference, compare
from ...claims.schedules import by_rule
from ...claims.statement import OF_RUNS, Ambiguity, Claim
from ...claims.typeset import expression_latex, left_latex, rounds_letter
from ...evidence.counts import read_literally
from ...papers import editions, papers
from ...papers.registry import algorithm_of
from ...quantities import QUANTITIES
from ...quantities import symbol as quantity_symbol
from ...subjects.protocol import Point
from .calculator import Calculator, calculator
from .films import Film
from .instance_pages import film, point_of, values_of
from .mathml import formula, symbol
from .published_evidence import NOT_CHECKED, Proof, instances, kinds_of, largest_ratio, proof_of, rows, tightness_of

SCOPE_WORDS = {
    "function": "a function at some points", "weights": "weights that clients estimate",
    "selection": "a server's selection", "learning": "a learning problem", "values": "values of quantities alone",
}  # fmt: skip
"""Subjects, by their scope, of functionals that are not of a run."""


@dataclass(frozen=True)
class Part:
    """A term, hypothesis, assumption, choice or rate of a statement.

    Attributes:
        name: in code. formula: typeset, in pieces between which a line may break. source: where it is printed.
        note: what else is said of it. differs: whether the edition of the page has something else in its place.
    """

    name: str
    formula: tuple[Markup, ...]
    source: str = ""
    note: str = ""
    differs: bool = False
    options: tuple[tuple[str, tuple[Markup, ...]], ...] = ()


@dataclass(frozen=True)
class Statement:
    """One edition, typeset; of another one than the page's own, what differs is marked."""

    claim: Claim
    left: Markup
    terms: tuple[Part, ...]
    hypotheses: tuple[Part, ...]
    assumptions: tuple[Part, ...]
    choices: tuple[Part, ...]
    rates: tuple[Part, ...]
    bound: tuple[Part, ...]
    differences: tuple[Difference, ...] = ()
    left_differs: bool = False


@dataclass(frozen=True)
class Shown:
    """An instance on a page: its file, and its film or why there is none."""

    file: str
    command: str
    data: Mapping[str, Any]
    film: Film | None
    no_film: str = ""


@dataclass(frozen=True)
class ClaimPage:
    """Content of a claim's page, for the template.

    Attributes:
        statement: its own edition. others: the other editions. row: of the scorecard, or ``None``. verdict: its word.
        algorithm: whose runs it is about. calculator: or ``None``, and then ``no_calculator`` says why. tightness: what
            is published of it. refereed: what the referee says, of a claim that is not published.
    """

    claim: Claim
    paper: str
    statement: Statement
    others: tuple[Statement, ...]
    row: Mapping[str, Any] | None
    verdict: str
    ratio: str
    kinds: tuple[str, ...]
    algorithm: str
    proof: Proof | None
    instances: tuple[Shown, ...]
    calculator: Calculator | None
    no_calculator: str
    letters: Mapping[str, Markup]
    figures: tuple[str, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    tightness: Mapping[str, Any] | None = None
    refereed: Mapping[str, Any] | None = None

    @property
    def literally(self) -> bool:
        """Whether its proof covers the literal reading, if it has one."""
        return read_literally(self.claim, self.row)

    @property
    def has_findings(self) -> bool:
        """Whether its paper has a page of findings, as papers with errata have."""
        known = papers().get(self.claim.paper)
        return known is not None and bool(known.errata)

    @property
    def about(self) -> str:
        """The subject of the left side, in words."""
        scope = self.claim.functional.scope
        return f"{scope}s of {self.algorithm}" if scope in OF_RUNS and self.algorithm else SCOPE_WORDS.get(scope, scope)

    @property
    def readings(self) -> tuple[Ambiguity, ...]:
        """The ambiguities on which what the calculator shows depends."""
        parts = (self.claim.functional.alternatives, *(h.alternatives for h in self.claim.hypotheses))
        options = {option for alternatives in parts for option in alternatives}
        return tuple(open for open in self.claim.ambiguities if options & {*open.options})


def claim_page(claim: Claim, figures: tuple[str, ...] = ()) -> ClaimPage:
    """The page of a published claim; ``figures`` are the names of its pictures."""
    row = rows().get(claim.ref)
    found = tuple(_shown(claim, each) for each in instances(claim.ref))
    made, why = _calculator(claim, [each.data for each in found])
    proof = proof_of(claim.ref)
    return ClaimPage(
        claim,
        papers()[claim.paper].title,
        statement_of(claim),
        tuple(_others(claim)),
        row,
        row["verdict"] if row else NOT_CHECKED,
        largest_ratio(row),
        tuple(kinds_of(row)),
        algorithm_of(claim) or "",
        proof,
        found,
        made,
        why,
        letters_of(claim),
        figures,
        tuple(_commands(claim, proof, found)),
        tightness_of(claim.ref),
    )


def _shown(claim: Claim, found: Mapping[str, Any]) -> Shown:
    return shown(claim, found["file"], found["command"], found["data"], point_of(claim, found["data"]))


def shown(claim: Claim, file: str, command: str, data: Mapping[str, Any], point: Point) -> Shown:
    """An instance with its film, or why there is none."""
    try:
        return Shown(file, command, data, film(claim, point))
    except ValueError as reason:
        return Shown(file, command, data, None, str(reason))


def _calculator(claim: Claim, found: list[Mapping[str, Any]]) -> tuple[Calculator | None, str]:
    """The calculator, at the first instance's values if there is one; or why there is none."""
    values = values_of(claim, point_of(claim, found[0])) if found else {}
    try:
        return calculator(claim, values), ""
    except ValueError as reason:
        return None, str(reason)


def _commands(claim: Claim, proof: Proof | None, shown: tuple[Shown, ...]) -> Iterator[tuple[str, str]]:
    yield "what it states", f"fedtheory show {shlex.quote(claim.ref)}"
    for each in shown:
        yield "judges an instance afresh", each.command
    if proof:
        yield "checks its certificates, without a search", f"fedtheory prove {shlex.quote(claim.ref)} --recheck"
    yield "compares it with worst cases", f"fedtheory tightness {shlex.quote(claim.ref)}"
    yield "searches for an instance that refutes it", f"fedtheory refute {shlex.quote(claim.ref)}"


def letters_of(claim: Claim) -> dict[str, Markup]:
    """The letters of a claim's quantities, typeset; the name in code where its paper has none."""
    names = {*claim.quantities, *claim.bound, *claim.choices}
    return {name: formula(claim.letters[name]) if name in claim.letters else symbol(name) for name in names}


def statement_of(claim: Claim, against: Claim | None = None) -> Statement:
    """A claim, typeset; what differs from ``against`` is marked."""
    found = _typeset(claim, tuple(claim.letters.items()))
    if against is None:
        return found
    differences = tuple(differing(against, claim))
    marked = {(difference.kind, difference.name) for difference in differences}

    def with_marks(kind: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(replace(part, differs=(kind, part.name) in marked) for part in parts)

    return replace(
        found,
        terms=with_marks("term", found.terms),
        hypotheses=with_marks("hypothesis", found.hypotheses),
        assumptions=with_marks("assumption", found.assumptions),
        choices=with_marks("choice", found.choices),
        rates=with_marks("rate", found.rates),
        differences=differences,
        left_differs=("functional", "functional") in marked,
    )


@cache
def _typeset(claim: Claim, letters: tuple[tuple[str, str], ...]) -> Statement:
    """A claim, typeset once in a process: it stands on the page of each of its editions. Equal claims may differ in
    their letters."""

    def typeset(expression: Any, before: str = "") -> tuple[Markup, ...]:
        return tuple(map(formula, _pieces(expression, before, claim.letters)))

    def letter(name: str) -> str:
        return expression_latex(quantity_symbol(name), claim.letters)

    def options(hypothesis: Any) -> tuple[tuple[str, tuple[Markup, ...]], ...]:
        return tuple((name, typeset(relation)) for name, relation in hypothesis.alternatives.items())

    return Statement(
        claim,
        formula(left_latex(claim.functional, rounds_letter(claim.letters))),
        tuple(Part(t.name, typeset(t.expression, _joined(i, t.expression))) for i, t in enumerate(claim.terms)),
        tuple(
            Part(
                h.name,
                typeset(h.relation),
                h.source,
                "only the proof uses it" if h.implicit else "",
                options=options(h),
            )
            for h in claim.hypotheses
        ),
        tuple(
            Part(a.name, (formula(letter(a.quantity)),) if a.quantity else (), a.source, a.meaning)
            for a in claim.assumptions
        ),
        tuple(
            Part(
                name,
                typeset(choice, f"{letter(name)} = "),
                "",
                "changes with the rounds" if by_rule(choice) else QUANTITIES[name].meaning,
            )
            for name, choice in claim.choices.items()
        ),
        tuple(Part(r.name, typeset(r.expression)) for r in claim.rates),
        tuple(Part(name, typeset(value, f"{letter(name)} = ")) for name, value in claim.bound.items()),
    )


_RELATIONS = {"<=": r"\le", "<": "<", ">=": r"\ge", ">": ">", "==": "=", "!=": r"\neq"}


def _pieces(expression: Any, before: str, letters: Mapping[str, str]) -> tuple[str, ...]:
    """An expression as LaTeX; a relation in two, before its sign, unless on its left is a letter."""
    if not isinstance(expression, Relational) or expression.lhs.is_Symbol:
        return (before + expression_latex(expression, letters),)
    sign = _RELATIONS[expression.rel_op]
    return before + expression_latex(
        expression.lhs, letters
    ), f"{{}} {sign} {expression_latex(expression.rhs, letters)}"


def _joined(index: int, expression: Any) -> str:
    """Return the text before a summand: nothing before the first; else a plus, unless it brings a minus.

    The braces make a sign one between two summands, not one in front of a number.
    """
    if index == 0:
        return ""
    return "{} " if expression_latex(expression, {}).startswith("-") else "{} + "


def _others(claim: Claim) -> Iterator[Statement]:
    name = claim.paper
    known = editions(claim.id) if name in papers() else (claim,)
    for other in known:
        if other.edition != claim.edition:
            yield statement_of(other, claim)


def differing(one: Claim, other: Claim) -> tuple[Difference, ...]:
    """List the differences of two claims; each pair is compared once."""
    first, second = sorted((one, other), key=lambda claim: claim.ref)
    found = _compared(first, second)
    if first is one:
        return found
    return tuple(Difference(d.kind, d.name, d.after, d.before) for d in found)


@cache
def _compared(one: Claim, other: Claim) -> tuple[Difference, ...]:
    return tuple(compare(one, other))


def figures_of(ref: str, folder: Path) -> list[Path]:
    """List the pictures of a claim in a folder, by their names.

    They begin with its ref, or with its id and no other edition. Of a picture that is there as SVG and as PNG, the SVG
    is taken.

    >>> figures_of("fast.thm1@main", Path("nowhere"))
    []
    """
    if not folder.is_dir():
        return []
    id = ref.partition("@")[0]
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".png", ".svg") and _is_of(p.name, id, ref))
    vector = {path.stem for path in files if path.suffix == ".svg"}
    return [path for path in files if path.suffix == ".svg" or path.stem not in vector]


def _is_of(name: str, id: str, ref: str) -> bool:
    stem = name.rpartition(".")[0]
    return stem == id or any(stem == ref or stem.startswith(f"{start}.") for start in (ref, f"{id}@all"))
