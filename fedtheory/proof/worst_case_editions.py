"""Numeric editions of claims. An edition states the bound that the certificate of a worst case gives, at its class,
steps and numbers of clients. The kernel proves it from the certificate, over all rounds.

The statement is a claim in the vocabulary of the one that it is an edition of. Its counts and probabilities are bound
to the certificate's numbers, its step sizes are c/L, mu is at least kappa L, and there is no noise. L stays a letter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import sympy

from ..assumptions import ASSUMPTIONS, AT_ONE_PLACE
from ..claims.readings import KINDS_OF_ROUNDS, SNAPSHOTS, UNIFORM_COHORT
from ..claims.statement import Ambiguity, Claim, Hypothesis, Term, algorithm_of
from ..functionals import FINAL_SQUARED_DISTANCE
from ..quantities import bare, symbol
from ..worstcase.certificates import Certificate
from ..worstcase.round_plans import ServerStep
from . import chains
from .algorithm_match import Rounds, strange
from .chains import Chain
from .claim_goals import READINGS
from .claim_theorems import KernelClaim
from .composition import Composed, other_kinds
from .derivations import Origin
from .kernel.regions import Condition, Where
from .kernel.round_rules import contraction, expect_arbitrary
from .kernel.saved_theorems import saved
from .kernel.scalars import Ring, Scalar
from .kernel.sealed import ancestry
from .kernel.theorems import Theorem
from .kernel.worst_case_theorems import Constants, worst_case
from .library import Library
from .steps import Evidence

EDITION, SOURCE = "worst_case", "the certificate of a worst case"
RING = Ring("k K q L mu M sigma sigma_s sigma_G")
LETTERS = {
    "L": "smoothness", "mu": "strong_convexity", "M": "clients", "sigma": "gradient_noise", "sigma_s": "server_noise",
    "sigma_G": "dissimilarity",
}  # fmt: skip
"""Quantities of the theorem's letters."""

_CHANCE = {"fast": ("snapshot_probability", {"uniform": 1, "arbitrary": 0}, "random_kinds"),
           "safari": ("client_round_probability", {"server": 0, "arbitrary": 1}, "random_client_rounds")}  # fmt: skip
"""Table from an algorithm to the quantity that draws the kind of a round, its value if all rounds are of a kind, and
the assumption that it does so in every round."""

_COUNTS = {"local_steps": "local_steps", "clients": "clients", "cohort": "cohort",
           "arbitrary_cohort": "arbitrary_cohort", "probability": "snapshot_probability",
           "client_round_probability": "client_round_probability"}  # fmt: skip
_SIZES = {"uniform": "cohort", "arbitrary": "arbitrary_cohort"}


def one_round(data: Mapping[str, Any]) -> Theorem:
    """Return the kernel's theorem of a certificate about one round's |x+ - x*|^2. For arbitrary sets of clients, the
    theorem is given that the round is theirs.

    Raises:
        ValueError: the certificate is no proof, or the kernel has no word for what it is about.
    """
    certificate = Certificate.from_json(dict(data))
    plan, kappa = certificate.problem.plan, certificate.problem.functions.condition
    L, mu, M, sigma, sigma_s, sigma_G = (RING[name] for name in LETTERS)
    server = any(isinstance(kind, ServerStep) for kind in plan.kinds)
    none = RING.number(0)
    spread = Condition("sigma_G", "nonnegative") if certificate.multipliers.additive else _no("sigma_G")
    conditions = [Condition("mu", "at_least", L * kappa), Condition("L", "positive"), _no("sigma"), spread]
    conditions += [_no("sigma_s")] * server + [Condition("M", "count")] * (plan.clients is None)
    of = Constants(L, mu, sigma_G**2, sigma**2, sigma_s**2 if server else none, M if plan.clients is None else None)
    made = worst_case(data, Where(RING, tuple(conditions)), of)
    return expect_arbitrary(made, dict(made.parameters)["size"]) if made.context == "cohort" else made


def _no(name: str) -> Condition:
    """Return the condition that a letter is 0."""
    return Condition(name, "interval", RING.number(0))


class NumericEdition(Origin):
    """Numeric edition of a claim.

    Args:
        claim: about the final squared distance of FAST or SAFARI.
        data: a certificate's, as in its file.

    Raises:
        ValueError: the claim is about something else; the certificate is no proof, does not contract, or is about
            rounds that are none of the algorithm's.

    >>> from fedtheory.papers import claim
    >>> import json, pathlib
    >>> file = pathlib.Path("docs/certificates/fast.contracting.json")
    >>> made = NumericEdition(claim("fast.thm2@wide"), json.loads(file.read_text()))
    >>> made.prove().verdict
    'proved'
    """

    def __init__(self, claim: Claim, data: Mapping[str, Any]) -> None:
        self.base, self.data = claim, data
        self.algorithm = algorithm_of(claim) or ""
        if claim.functional != FINAL_SQUARED_DISTANCE or self.algorithm not in _CHANCE:
            raise ValueError(
                f"{claim.ref}: allowed is a claim about {FINAL_SQUARED_DISTANCE.meaning} of {' or '.join(_CHANCE)}"
            )
        names = {name for name, _ in self.theorem.assumptions}
        unknown = set(other_kinds(self.theorem)) - ASSUMPTIONS.keys()
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))}: the vocabulary of claims has no such assumption")
        _, kinds, law = _CHANCE[self.algorithm]
        if self.theorem.kind not in kinds if self.theorem.kind else law not in names:
            raise ValueError(f"certificate: {claim.ref} is about {self.algorithm}, which has no such rounds")
        try:
            self.factor, self.addition = contraction(self.theorem)
        except ValueError as error:
            raise ValueError(f"certificate: no bound over many rounds: {error}") from None

    functional = FINAL_SQUARED_DISTANCE.name

    @cached_property
    def theorem(self) -> Theorem:
        """Theorem of the kernel on one round."""
        return one_round(self.data)

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the axioms that the theorem is made of."""
        return tuple(sorted({t.rule for t in ancestry(self.theorem) if not t.premises}))

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name, each with its constant if it has one."""
        found = sorted(self.theorem.assumptions, key=str)
        return tuple(name if c is None else f"{name}({self._read(c)})" for name, c in found)

    def assumptions(self) -> tuple[str, ...]:
        """Return the names of the assumptions that a claim has to make."""
        with_constants = (name for name, constant in self.theorem.assumptions if constant is not None)
        named = (AT_ONE_PLACE.get(name, name) for name in with_constants if name not in READINGS)
        return tuple(sorted({*other_kinds(self.theorem), *named}))

    def check(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> EditionClaim:
        """Return the check that a claim is the edition, made anew: nothing that was put into this one counts."""
        return EditionClaim(claim, NumericEdition(self.base, self.data), rounds(claim, algorithm))

    def _read(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's names."""
        of = LETTERS | {"q": _CHANCE[self.algorithm][0]}
        return scalar.expression().xreplace({sympy.Symbol(letter): sympy.Symbol(of[letter]) for letter in of})

    @cached_property
    def bound(self) -> dict[str, Any]:
        """Quantities that are numbers, or other quantities, in these runs."""
        chance, of_kind, _ = _CHANCE[self.algorithm]
        counts = _COUNTS | ({"size": _SIZES[self.theorem.kind]} if self.theorem.kind in _SIZES else {})
        found: dict[str, Any] = {LETTERS[c.name]: 0 for c in self.theorem.where.conditions if c.kind == "interval"}
        if self.theorem.kind:
            found[chance] = of_kind[self.theorem.kind]
        for name, value in self.theorem.parameters:
            if name in counts and not value.names:
                found[counts[name]] = _in_vocabulary(self._read(value))
        return found

    @property
    def _hypotheses(self) -> tuple[Hypothesis, ...]:
        """Hypotheses on the clients' convexity; and that all of them take part, if the certificate is about
        everyone."""
        mu, L, n, M = map(symbol, ("strong_convexity", "smoothness", "arbitrary_cohort", "clients"))
        kappa = sympy.Rational(str(Certificate.from_json(dict(self.data)).problem.functions.condition))
        found = [Hypothesis("curvature", sympy.Ge(mu, kappa * L), SOURCE)] if kappa else []
        parameters = dict(self.theorem.parameters)
        if parameters["clients"].names and parameters["clients"] in map(parameters.get, ("size", "arbitrary_cohort")):
            found.append(Hypothesis("everyone", sympy.Le((n - M) ** 2, 0), SOURCE))
        return tuple(found)

    @property
    def _ambiguities(self) -> tuple[Ambiguity, ...]:
        """Read as the theorem is, also where the claim does not say that it can be read otherwise. Where all rounds are
        of one kind there is nothing to read of how kinds alternate, and where no cohort is drawn nothing of how."""
        names = {name for name, _ in self.theorem.assumptions}
        nothing = {SNAPSHOTS, KINDS_OF_ROUNDS} if self.theorem.kind else set()
        nothing |= set() if "uniform_cohorts" in names else {UNIFORM_COHORT}
        found = {a.name: a for a in self.base.ambiguities}
        for ambiguity, option in (READINGS[name] for name in sorted(names & READINGS.keys())):
            found[ambiguity] = Ambiguity(ambiguity, (option,), SOURCE)
        return tuple(a for name, a in found.items() if name not in nothing)

    @cached_property
    def claim(self) -> Claim:
        """Claim that the edition states."""
        steps, rest = ("local_lr", "server_lr"), self._read(1 - self.factor)
        rounds, distance = map(symbol, ("rounds", "initial_distance"))
        return Claim(
            id=self.base.id,
            edition=EDITION,
            title=f"{self.base.title}: numbers of a worst case",
            source=SOURCE,
            functional=self.base.functional,
            letters=self.base.letters,
            algorithm=self.base.algorithm,
            terms=(
                Term("initial", (1 - rest) ** rounds * distance**2),
                Term("floor", _in_vocabulary(self._read(self.addition) / rest)),
            ),
            hypotheses=self._hypotheses,
            assumptions=self.base.assumptions,
            ambiguities=self._ambiguities,
            bound=self.bound,
            choices={
                name: _in_vocabulary(self._read(value)) for name, value in self.theorem.parameters if name in steps
            },
        )

    @cached_property
    def library(self) -> Library:
        """Library of one derivation."""
        made = self.derivation("worst case", (self.claim.ref,)).of(self.algorithm)
        return Library([], [made], {self.base.paper: self.algorithm})

    def statement(self) -> str:
        """Claim in words."""
        claim = self.claim
        known = [f"{name} = {value}" for name, value in {**claim.choices, **claim.bound}.items()]
        known += [str(h.relation) for h in self._hypotheses]
        return f"{claim.functional.meaning} <= {claim.right_side}, where {', '.join(known)}"

    def prove(self) -> Chain:
        """Return the chain that proves the edition, or the open step: an assumption that the claim does not make."""
        return chains.prove(self.claim, self.library)


@dataclass(frozen=True)
class EditionClaim(KernelClaim):
    """Check that a claim is a numeric edition: the kernel makes the theorem on one round from the certificate, the
    independent checker accepts it, and the claim says what follows for all rounds by ``contraction``.

    Attributes:
        rounds: the rounds of the claim's algorithm.
    """

    about: ClassVar[str] = "the rounds of a worst case"
    claim: Claim
    edition: NumericEdition
    rounds: Rounds

    @property
    def read(self) -> dict[str, str]:
        """The option of each ambiguity under which the theorem is the claim."""
        return {a.name: a.options[0] for a in self.edition.claim.ambiguities if len(a.options) == 1}

    def apart(self) -> Iterator[str]:
        """List in words what the claim says otherwise than the edition; nothing where it is the edition, or weaker: a
        term may be larger by a factor, and more may be assumed."""
        own = self.edition.claim
        for part in ("functional", "hypotheses", "bound", "choices", "ambiguities", "algorithm"):
            if getattr(self.claim, part) != getattr(own, part):
                yield f"it has other {part} than the edition"
        if [t.name for t in self.claim.terms] != [t.name for t in own.terms]:
            yield "it has other terms than the edition"
        for said, term in zip(self.claim.terms, own.terms, strict=False):
            ratio = sympy.cancel(said.expression / term.expression) if term.expression != 0 else sympy.nan
            if said.expression != term.expression and not (ratio.is_Rational and ratio >= 1):
                yield f"{term.name}: {said.expression}, allowed is {term.expression}"
        made = {*self.claim.assumed}
        yield from (f"it assumes {name}" for name in self.edition.assumptions() if name not in made)
        yield from strange(self.edition.theorem, self.rounds)

    def found(self) -> bool:
        """Whether the claim is the edition, or weaker."""
        return not list(self.apart())

    def data(self) -> dict[str, Any]:
        """Return the saved proof of the theorem on one round."""
        return saved(self.edition.theorem)

    def said(self, read: Mapping[str, str]) -> dict[str, Any]:
        """Return nothing: the file has the theorem on one round, and no claim."""
        return {}

    def says(self, other: KernelClaim) -> bool:
        """Whether the claim of another check is the edition as it stands now: its file has no claim to compare."""
        return isinstance(other, EditionClaim) and other.found()

    def is_of(self, data: Mapping[str, Any]) -> bool:
        """Whether a saved proof is from the theorem that the kernel makes now."""
        return self._theorem.accepts((json.dumps(data),))

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the claim is the edition, and the checker accepts the text as a proof of its theorem."""
        return self.found() and self._theorem.accepts(evidence)

    @property
    def _theorem(self) -> Composed:
        return Composed(lambda: self.edition.theorem)


def _in_vocabulary(expression: Any) -> sympy.Expr:
    """Return the expression with the vocabulary's symbols, which know the signs of quantities."""
    plain = bare(expression)
    return plain.xreplace({s: symbol(s.name) for s in plain.free_symbols})
