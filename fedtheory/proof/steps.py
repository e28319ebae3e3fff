"""Steps of a proof, the checks that each needs, and the decisions about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Union

import sympy

from . import positivity
from .analytic import Enclosed
from .gram import Gram, GramCertificate, GramCounterexample
from .identity import is_identity
from .positivity import Certificate, Counterexample
from .symbol_regions import Region

if TYPE_CHECKING:
    from .claim_theorems import KernelClaim
    from .composition import Composed

KINDS = (
    "identity", "polynomial", "gram", "induction", "analytic", "probabilistic", "lemma", "composed", "definition",
    "unclear",
)  # fmt: skip
"""Kinds of step. A composed one is a theorem of the kernel, a definition is taken as given, and an unclear one says
nothing that can be checked."""

Evidence = Certificate | Counterexample | GramCertificate | GramCounterexample | str
"""Evidence of a decision; a string is a point, or the saved proof of a theorem of the kernel."""


@dataclass(frozen=True)
class Finding:
    """Result of one check: ``proved``, ``gap`` or ``unknown``, with the evidence."""

    outcome: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Identity:
    """Check that two rational functions are equal."""

    left: sympy.Expr
    right: sympy.Expr = sympy.S.Zero

    def decide(self) -> Finding:
        """Expand both sides, and return a point at which they differ if they do."""
        if is_identity(self.left, self.right):
            return Finding("proved")
        return Finding("gap", (_point_of_difference(self.left - self.right),))

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the identity holds: expanding needs no evidence."""
        return evidence == () and is_identity(self.left, self.right)

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the identity fails."""
        return not is_identity(self.left, self.right)


@dataclass(frozen=True)
class Nonnegative:
    """Check that an expression is >= 0 on each of several regions, the cases."""

    expression: sympy.Expr
    cases: tuple[Region, ...]

    def decide(self) -> Finding:
        """Return certificates for all cases, a counterexample to one of them, or ``unknown``."""
        found = []
        for where in self.cases:
            result = positivity.prove(self.expression, where)
            if isinstance(result, Counterexample):
                return Finding("gap", (result,))
            found += [] if result is None else [result]
        return Finding("proved", tuple(found)) if 0 < len(found) == len(self.cases) else Finding("unknown")

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether these certificates prove the check; nothing is searched."""
        return len(evidence) == len(self.cases) > 0 and all(
            isinstance(c, Certificate) and c.proves(self.expression, where)
            for c, where in zip(evidence, self.cases, strict=True)
        )

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether this is a counterexample to one of the cases."""
        return (
            len(evidence) == 1
            and isinstance(evidence[0], Counterexample)
            and any(evidence[0].refutes(self.expression, where) for where in self.cases)
        )


@dataclass(frozen=True)
class Vectors:
    """Check of a statement about vectors."""

    statement: Gram

    def decide(self) -> Finding:
        """Return a certificate, a counterexample, or ``unknown``."""
        result = self.statement.decide()
        if result is None:
            return Finding("unknown")
        return Finding("proved" if isinstance(result, GramCertificate) else "gap", (result,))

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether this certificate proves the statement; nothing is searched."""
        return len(evidence) == 1 and isinstance(evidence[0], GramCertificate) and evidence[0].proves(self.statement)

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether this is a counterexample."""
        return (
            len(evidence) == 1 and isinstance(evidence[0], GramCounterexample) and evidence[0].refutes(self.statement)
        )


@dataclass(frozen=True)
class Ball:
    """Check of an inequality in one variable by ball arithmetic."""

    statement: Enclosed

    def decide(self) -> Finding:
        """Enclose the expression in balls, and look for a point at which it is negative if that does not prove it."""
        if self.statement.holds():
            return Finding("proved")
        point = self.statement.counterexample()
        return Finding("unknown") if point is None else Finding("gap", (f"{self.statement.variable} = {point}",))

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the inequality holds: balls are enclosed anew, without evidence."""
        return evidence == () and self.statement.holds()

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether some point of the interval is enclosed below 0."""
        return self.statement.counterexample() is not None


@dataclass(frozen=True)
class Cap:
    """Inequality ``expression >= 0`` on ``where(c)``, the region under a cap with the constant c.

    >>> from fedtheory.proof.symbol_regions import capped, region
    >>> x = sympy.Symbol("x")
    >>> Cap(1 - 36 * x**2, lambda c: region(capped("x", c))).weakest(Fraction(1, 8))
    (Fraction(1, 8), Fraction(1, 4))
    """

    expression: sympy.Expr
    where: Callable[[sympy.Expr], Region]

    @cache  # noqa: B019
    def weakest(self, tolerance: Fraction = Fraction(1, 10**4)) -> tuple[Fraction | None, Fraction | None]:
        """Bisect for the largest constant below 1/2 with a proof and the smallest with a counterexample. The search
        stops early at a constant where neither is found."""
        proved, refuted, low, high = None, None, Fraction(0), Fraction(1, 2)
        while high - low > tolerance:
            middle = (low + high) / 2
            found = positivity.prove(self.expression, self.where(sympy.Rational(middle.numerator, middle.denominator)))
            if isinstance(found, Certificate):
                proved = low = middle
            elif isinstance(found, Counterexample):
                refuted = high = middle
            else:
                break
        return proved, refuted


Check = Union[Identity, Nonnegative, Vectors, Ball, "Composed", "KernelClaim"]


@dataclass(frozen=True)
class Step:
    """Step of a proof.

    Attributes:
        name: its name in code and in reports.
        equation: the place where the paper prints it.
        says: one line.
        kind: one of ``KINDS``.
        checks: all have to come out proved. (An induction has its base and its increment.)
        why: the derivation by hand, in one line.
        expected: the outcome by hand.
        printed: whether the paper prints it; the others replace a printed one, or close a case.
        rests_on: names of earlier steps that it uses.
        repaired_by: names of steps, not printed, from which the conclusion of a broken step is derived instead.
        weakest_cap: the cap whose constants are searched for the largest with which the step holds.
        paper: the paper whose step it is.
        assumes: the kinds of assumption (``fedtheory.assumptions``) that a given step takes.
        of: refs of the claims in whose printed proofs it stands, where no proof says that.
    """

    name: str
    equation: str
    says: str
    kind: str
    checks: tuple[Check, ...] = ()
    why: str = ""
    expected: str = "proved"
    printed: bool = True
    rests_on: tuple[str, ...] = ()
    repaired_by: tuple[str, ...] = ()
    weakest_cap: Cap | None = None
    paper: str = ""
    assumes: tuple[str, ...] = ()
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind = {self.kind!r}: allowed is one of {', '.join(KINDS)}")
        if self.kind in ("definition", "unclear") and self.checks:
            raise ValueError(f"checks of step {self.name!r}: a {self.kind} step has none")

    @property
    def takes(self) -> tuple[str, ...]:
        """Kinds of assumption that the step takes: its own, and those of the theorems that its checks make."""
        return (*self.assumes, *(kind for check in self.checks for kind in getattr(check, "assumes", ())))


@dataclass(frozen=True)
class Decision:
    """Result of ``decide``: ``proved``, ``gap`` or ``unknown``, or ``given`` for a definition, with each check's
    finding."""

    step: Step
    outcome: str
    findings: tuple[Finding, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether nothing is open: proved, or given by definition."""
        return self.outcome in ("proved", "given")

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Evidence of all findings."""
        return tuple(e for finding in self.findings for e in finding.evidence)


def decide(step: Step, earlier: Mapping[str, Decision] | None = None) -> Decision:
    """Decide a step by its checks and by whether all steps that it rests on are closed.

    >>> from fedtheory.papers.proofs import library
    >>> decide(library().step("a2.22_under_the_cap_1/8")).evidence[0].value
    '-7/32'
    """
    return conclude(step, tuple(check.decide() for check in step.checks), earlier or {})


def conclude(step: Step, findings: tuple[Finding, ...], earlier: Mapping[str, Decision]) -> Decision:
    """Return the decision that follows from the findings about a step's checks."""
    if step.kind == "definition":
        return Decision(step, "given")
    outcomes = {finding.outcome for finding in findings}
    missing = [name for name in step.rests_on if not _closed(name, earlier)]
    if "gap" in outcomes:
        return Decision(step, "gap", findings)
    if step.kind == "unclear" or missing or outcomes - {"proved"} or not (findings or step.rests_on):
        return Decision(step, "unknown", findings)
    return Decision(step, "proved", findings)


def decide_all(steps: Iterable[Step]) -> tuple[Decision, ...]:
    """Decide steps in order: each may rest on earlier ones.

    A broken step counts as closed for those that rest on it if every step of its ``repaired_by`` is closed and comes
    before them.
    """
    decisions: dict[str, Decision] = {}
    for step in steps:
        if step.name in decisions:
            raise ValueError(f"step {step.name!r}: its name occurs twice")
        decisions[step.name] = decide(step, decisions)
    return tuple(decisions.values())


def _closed(name: str, earlier: Mapping[str, Decision]) -> bool:
    if name not in earlier:
        return False
    decision = earlier[name]
    repairs = decision.step.repaired_by
    return decision.closed or (bool(repairs) and all(r in earlier and earlier[r].closed for r in repairs))


def _point_of_difference(difference: sympy.Expr) -> str:
    """A point at which two different rational functions differ: by whole numbers, which some power of 7 avoids."""
    names = sorted(difference.free_symbols, key=lambda s: s.name)
    for base in range(2, 50):
        point = {s: sympy.Integer(base) ** (2 * i + 1) for i, s in enumerate(names)}
        value = difference.subs(point)
        if value.is_Rational and value != 0:
            return ", ".join(f"{s.name} = {x}" for s, x in point.items()) + f": {value}"
    return "they differ as rational functions"


def evidence_data(evidence: Evidence) -> dict:
    """Return evidence as plain data for JSON, which ``evidence_from`` reads back."""
    if isinstance(evidence, str):
        return {"type": "text", "data": evidence}
    return {"type": type(evidence).__name__, "data": json.loads(evidence.to_json())}


def evidence_from(data: Mapping) -> Evidence:
    """Read evidence that ``evidence_data`` wrote; raise ``ValueError`` for anything else."""
    kinds = {c.__name__: c for c in (Certificate, Counterexample, GramCertificate, GramCounterexample)}
    if not isinstance(data, dict) or set(data) != {"type", "data"}:
        raise ValueError(f"evidence = {data!r}: allowed is an object with exactly the fields type, data")
    if data["type"] == "text" and isinstance(data["data"], str):
        return data["data"]
    if not isinstance(data["type"], str) or data["type"] not in kinds:
        raise ValueError(f"type = {data['type']!r}: allowed is one of text, {', '.join(kinds)}")
    return kinds[data["type"]].from_data(data["data"])
