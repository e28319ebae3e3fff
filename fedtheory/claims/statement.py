"""A claim: what a paper states, as data."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import sympy

from ..arguments import check_has, check_kind
from ..assumptions import ASSUMPTIONS, Kind, kind_of, with_implied
from ..functionals import Functional
from ..quantities import ANYBODYS, QUANTITIES, nearest, symbol
from .readings import check_options
from .schedules import INDICES
from .wellformed import check_algorithm, check_kinds, check_relation, check_symbols, expressed, relations_of

if TYPE_CHECKING:
    from ..setting import Setting
    from .asymptotics import Asymptotics
    from .evaluation import Bound
    from .ranges import Allowed

_Named = TypeVar("_Named", "Term", "Hypothesis")

BOUND = "bound"
"""The source of the hypotheses that a claim's ``bound`` makes."""


@dataclass(frozen=True)
class Term:
    """One named summand of a claim's right side."""

    name: str
    expression: sympy.Expr


@dataclass(frozen=True)
class Hypothesis:
    """A named condition of a claim, on constants or on quantities of the run.

    Attributes:
        name: in code and in files, such as ``step_cap``.
        relation: a sympy ``<=`` or ``>=``; its slack is the larger side minus the smaller one, so that it holds
            where the slack is >= 0.
        source: where the paper prints it.
        alternatives: other admissible readings of the same words, by the option's name (see ``Ambiguity``).
        implicit: whether only the proof uses it.
    """

    name: str
    relation: sympy.core.relational.Relational
    source: str
    alternatives: Mapping[str, sympy.core.relational.Relational] = field(default_factory=dict, hash=False)
    implicit: bool = False

    def __post_init__(self) -> None:
        for relation in (self.relation, *self.alternatives.values()):
            check_relation(self.name, relation)

    @property
    def slack(self) -> sympy.Expr:
        """An expression that is >= 0 exactly where the relation holds."""
        return slack_of(self.relation)

    def under(self, reading: Mapping[str, str]) -> Hypothesis:
        """Return the hypothesis with the relation that it has under a reading (option by ambiguity)."""
        for name, option in reading.items():
            check_options(name, [option])
        if not any(option in self.alternatives for option in reading.values()):
            return self
        return replace(self, relation=self.relation_under(reading), alternatives={})

    def relation_under(self, reading: Mapping[str, str]) -> sympy.core.relational.Relational:
        """Return the relation that it has under one of its claim's own readings."""
        return next((self.alternatives[o] for o in reading.values() if o in self.alternatives), self.relation)


@dataclass(frozen=True)
class Assumption:
    """A standing assumption.

    Attributes:
        name: in files, after where it is printed, such as ``assumption_2``.
        quantity: the value of this one bounds the federation's own constant; "" where the assumption is of another
            kind.
        source: where the paper prints it.
        from_below: whether it bounds it from below, not from above; without it, as its kind does: strong convexity
            alone is bounded from below.
        kind: its name in ``fedtheory.assumptions``; that of the quantity, if there is one.
    """

    name: str
    quantity: str = ""
    source: str = ""
    from_below: bool | None = None
    kind: str = ""

    def __post_init__(self) -> None:
        kind = self.kind or (kind_of(self.quantity).name if self.quantity else "")
        if kind not in ASSUMPTIONS and not (self.quantity and kind == kind_of(self.quantity).name):
            raise ValueError(f"assumption {self.name!r}: kind = {kind!r}, {nearest(kind, ASSUMPTIONS)}")
        if self.quantity and kind in ASSUMPTIONS and ASSUMPTIONS[kind].quantity != self.quantity:
            allowed = repr(ASSUMPTIONS[kind].quantity) if ASSUMPTIONS[kind].quantity else "none"
            raise ValueError(f"assumption {self.name!r}: quantity = {self.quantity!r} of {kind}, allowed is {allowed}")
        object.__setattr__(self, "kind", kind)
        if self.from_below is None:
            object.__setattr__(self, "from_below", self._kind.from_below)

    @property
    def _kind(self) -> Kind:
        return ASSUMPTIONS[self.kind] if self.kind in ASSUMPTIONS else kind_of(self.quantity)

    @property
    def meaning(self) -> str:
        """The assumption's meaning, in one line."""
        if self.from_below == self._kind.from_below:
            return self._kind.meaning
        return f"{self.quantity} bounds the federation's own from {'below' if self.from_below else 'above'}"


def numbered(*assumptions: Assumption) -> Callable[..., tuple[Assumption, ...]]:
    """Return a function that picks a paper's assumptions, by the quantities or else the kinds of those that a claim
    makes.

    >>> made = numbered(Assumption("assumption_1", "smoothness", "Assumption 1"))
    >>> [assumption.source for assumption in made("smoothness")]
    ['Assumption 1']
    """
    known = {assumption.quantity or assumption.kind: assumption for assumption in assumptions}
    return lambda *names: tuple(known[name] for name in names)


def least(*caps: sympy.Expr) -> sympy.Expr:
    """Return the smallest of several caps as printed, without sympy's comparing them."""
    return sympy.Min(*caps, evaluate=False)


def at_most(left: Any, right: Any) -> sympy.core.relational.Relational:
    """Return ``left <= right`` without sympy's looking whether that is always so, which takes long."""
    return sympy.Le(left, right, evaluate=False)


def at_least(left: Any, right: Any) -> sympy.core.relational.Relational:
    """Return ``left >= right``, see ``at_most``."""
    return sympy.Ge(left, right, evaluate=False)


@dataclass(frozen=True)
class Ambiguity:
    """A place where the paper's words admit several readings, the literal one first.

    Attributes:
        beyond: the options under which no single instance decides anything, such as constants that may depend on all
            that an instance fixes.
    """

    name: str
    options: tuple[str, ...]
    why: str
    beyond: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_options(self.name, self.options)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One edition of one statement: under the assumptions and hypotheses, functional <= sum of the terms.

    Attributes:
        id, edition: the paper's name with a number, and ``main``, for example; together ``ref``.
        title: one line.
        source: paper, section, equation.
        functional: the left side.
        terms: the right side's summands, in the printed order.
        hypotheses, assumptions: the conditions.
        ambiguities: where readings branch; one that has a single option fixes it.
        choices: quantities that the statement chooses, such as a corollary's step size; that may be a rule, with
            ``step_index`` or ``round_index`` in it.
        algorithm: whose runs it is about, as `fedtheory algorithms` names them; "" where its quantities or its paper
            tell.
        bound: what quantities are in these runs, by name: a number or an expression of others, such as
            ``{"snapshot_probability": 1}``. Each makes hypotheses ``..._at_most`` and ``..._at_least`` (one that the
            vocabulary implies is left out), which every use of the claim meets or checks; `evaluate` takes the value
            from here where it is not given.
        rates: the printed O(.) of a corollary whose terms carry the constants that the O(.) hides.
        letters: its paper's, LaTeX by the name of a quantity; the paper writes them in.
        constants: where it has an O(.) and no open reading of its constants, why (see ``hidden_constants``).
    """

    id: str
    edition: str = "main"
    title: str
    source: str
    functional: Functional
    terms: tuple[Term, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    ambiguities: tuple[Ambiguity, ...] = ()
    choices: Mapping[str, sympy.Expr] = field(default_factory=dict, hash=False)
    algorithm: str = ""
    bound: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rates: tuple[Term, ...] = ()
    letters: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False, repr=False)
    constants: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in ("id", "title", "source"):
            check_kind(name, getattr(self, name), str, "a text")
        check_kinds("terms", self.terms, Term, "Term(name, expression)")
        check_kinds("hypotheses", self.hypotheses, Hypothesis, "Hypothesis(name, relation, source)")
        check_kinds("assumptions", self.assumptions, Assumption, "Assumption(name, quantity, source)")
        check_kinds("ambiguities", self.ambiguities, Ambiguity, "Ambiguity(name, options, why)")
        if type(self.functional) is not Functional:
            raise ValueError(f"functional = {self.functional!r}: allowed is a Functional(name, meaning, units, latex)")
        for part in ("terms", "assumptions", "ambiguities"):
            object.__setattr__(self, part, tuple(getattr(self, part)))
        object.__setattr__(self, "choices", dict(self.choices))
        bound = expressed(self.bound, self.choices)
        own = [Hypothesis(*named, BOUND) for item in bound.items() for named in relations_of(*item)]
        stated = [hypothesis for hypothesis in self.hypotheses if hypothesis.source != BOUND]
        for name, value in {"bound": bound, "hypotheses": (*stated, *own)}.items():
            object.__setattr__(self, name, value)
        check_symbols(self)
        check_algorithm(self)

    def __hash__(self) -> int:
        if "_hash" not in self.__dict__:  # asked for wherever something is kept by claim
            hashed = (getattr(self, own.name) for own in fields(self) if own.compare and own.hash is not False)
            object.__setattr__(self, "_hash", hash(tuple(hashed)))
        return self.__dict__["_hash"]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the hash, which another process computes anew: that of texts differs."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @property
    def ref(self) -> str:
        """The claim's name with its edition, ``<id>@<edition>``."""
        return f"{self.id}@{self.edition}"

    @property
    def paper(self) -> str:
        """The name of the claim's paper, with which ``id`` begins."""
        return self.id.split(".")[0]

    @property
    def assumed(self) -> frozenset[str]:
        """The kinds of its assumptions, with those that hold with them."""
        return with_implied(assumption.kind for assumption in self.assumptions)

    def assuming(self, *kinds: str) -> Claim:
        """Return the claim with further assumptions, of kinds that bound no quantity.

        >>> from fedtheory.papers import claim
        >>> "cohort_before_noise" in claim("fast.thm2").assuming("cohort_before_noise").assumed
        True
        """
        more = (Assumption(kind, kind=kind, source="added") for kind in kinds)
        return replace(self, assumptions=(*self.assumptions, *more))

    @property
    def right_side(self) -> sympy.Expr:
        """The sum of the terms."""
        return sympy.Add(*(term.expression for term in self.terms))

    def term(self, name: str) -> Term:
        """Return the term of that name."""
        return _named(self.terms, name, f"term of {self.ref}")

    def hypothesis(self, name: str) -> Hypothesis:
        """Return the hypothesis of that name."""
        return _named(self.hypotheses, name, f"hypothesis of {self.ref}")

    @cached_property
    def quantities(self) -> tuple[str, ...]:
        """Names of all quantities that the terms, hypotheses and choices use, in the vocabulary's order."""
        return _quantities(self)

    def edited(self, edition: str, source: str, **changes: Any) -> Claim:
        """Make another edition of the same statement.

        Pass ``terms`` or ``hypotheses`` as mappings from the names that differ to their new expression or relation, or
        as tuples, which replace all of them. A new name adds a term; a hypothesis has to be one of this claim's.
        """
        terms, hypotheses = changes.pop("terms", {}), changes.pop("hypotheses", {})
        if isinstance(terms, Mapping):
            merged = {t.name: t.expression for t in self.terms} | dict(terms)
            terms = tuple(Term(name, expression) for name, expression in merged.items())
        if isinstance(hypotheses, Mapping):
            for name in hypotheses:
                self.hypothesis(name)
            hypotheses = tuple(replace(h, relation=hypotheses.get(h.name, h.relation)) for h in self.hypotheses)
        return replace(self, edition=edition, source=source, terms=terms, hypotheses=hypotheses, **changes)

    def readings(self) -> Iterator[dict[str, str]]:
        """Yield every combination of the ambiguities' options, the literal reading first."""
        names = [a.name for a in self.ambiguities]
        for options in itertools.product(*(a.options for a in self.ambiguities)):
            yield dict(zip(names, options, strict=True))

    def under(self, reading: Mapping[str, str]) -> Claim:
        """Return the claim read in one way (option by ambiguity), with the hypotheses that it has under that reading.

        The reading is then no longer open. Ambiguities that it does not name are left as they are.

        Raises:
            ValueError: the claim has no such ambiguity or option; those it has are named.

        >>> from fedtheory.papers import claim
        >>> claim("fast.thm1").under({"q-condition": "product"}).hypothesis("q_condition").relation.lhs.is_Mul
        True
        """
        known = {a.name: a for a in self.ambiguities}
        for name, option in reading.items():
            if name not in known:
                allowed = ", ".join(map(repr, known)) or "none: it has no ambiguity"
                raise ValueError(f"reading of {name!r}: allowed for {self.ref} is {allowed}")
            if option not in known[name].options:
                raise ValueError(f"{name} = {option!r}: allowed is {' or '.join(map(repr, known[name].options))}")
        fixed = (replace(a, options=(reading[a.name],)) if a.name in reading else a for a in self.ambiguities)
        return replace(self, ambiguities=tuple(fixed), hypotheses=tuple(h.under(reading) for h in self.hypotheses))

    def beyond_instances(self, reading: Mapping[str, str]) -> str:
        """Return the option of a reading under which no single instance decides anything, or ""."""
        options = (reading.get(a.name, "") for a in self.ambiguities if reading.get(a.name) in a.beyond)
        return next(options, "")

    def evaluate(self, /, reading: Any = None, **values: float) -> Bound:
        """Evaluate the right side, its terms and the slack of every hypothesis at the given values.

        Values are scalars or arrays that broadcast. The claim is read literally or as ``reading`` says (option by
        ambiguity). What only hypotheses use may be left out: they are then undecided (slack ``None``), and
        ``Bound.undecided`` says for lack of what. What the claim does not use is named in ``Bound.unused``. Step sizes
        that it links may be given either way.

        Raises:
            ValueError: a quantity is missing, unknown, not finite or not allowed; or there is no such reading.

        >>> from fedtheory.papers import claim
        >>> bound = claim("fast.thm2").evaluate(
        ...     smoothness=1, strong_convexity=1, gradient_noise=0, dissimilarity=0.05, initial_distance=1,
        ...     cohort=1, arbitrary_cohort=1, local_steps=1, local_lr=0.05, snapshot_probability=0, rounds=100)
        >>> round(float(bound.value), 4), float(bound.slack["step_cap"])
        (0.0327, 0.0)
        """
        from .evaluation import evaluate

        return evaluate(self.under(reading) if reading else self, values)

    def at(self, setting: Setting, rounds: object = None, **overrides: float) -> Bound:
        """Evaluate the claim with every quantity taken from ``setting``, with its provenance.

        ``overrides`` replace some: by numbers, or by constants of the federation, which have a provenance of their
        own.
        """
        from .evaluation import at_setting

        check_has("setting", setting, ("federation", "algorithm", "participation"), "a Setting")
        return at_setting(self, setting, rounds, overrides)

    def required(self, hypothesis: str | Hypothesis, quantity_name: str, /, **values: float) -> Allowed:
        """Return the values of one quantity for which a hypothesis holds, with all others given: see
        ``solve.required``."""
        from .solve import required

        return required(self, hypothesis, quantity_name, **values)

    def largest_step(self, /, **values: float) -> float:
        """Return the largest local_lr that all decidable hypotheses allow: see ``solve.largest_step``."""
        from .solve import largest_step

        return largest_step(self, **values)

    def rounds_to(self, epsilon: float, /, **values: float) -> int:
        """Return the least rounds for which the right side is at most ``epsilon``: see ``solve.rounds_to``."""
        from .solve import rounds_to

        return rounds_to(self, epsilon, **values)

    def minimize(self, quantity_name: str, /, **values: float) -> tuple[float, float]:
        """Return (argmin, min) of the right side over one quantity's allowed values: see ``solve.minimize``."""
        from .solve import minimize

        return minimize(self, quantity_name, **values)

    def dominant_term(self, /, **values: float) -> str:
        """Return the name of the largest term: see ``solve.dominant_term``."""
        from .solve import dominant_term

        return dominant_term(self, **values)

    def asymptotics(self, others: Iterable[Claim] = ()) -> Asymptotics:
        """Compute each term's leading order as the rounds grow, and the floor: see ``asymptotics.asymptotics``."""
        from .asymptotics import asymptotics

        return asymptotics(self, others)

    def latex(self, vocabulary: bool = False) -> str:
        """Write the bound in LaTeX, in the paper's letters or in the names of the vocabulary."""
        from .typeset import claim_latex

        return claim_latex(self, vocabulary)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


@functools.lru_cache(maxsize=256)
def _quantities(claim: Claim) -> tuple[str, ...]:
    expressions = [*(t.expression for t in claim.terms), *claim.choices.values(), *map(symbol, claim.choices)]
    left = claim.functional
    expressions += [*left.alternatives.values(), *([] if left.expression is None else [left.expression])]
    for hypothesis in claim.hypotheses:
        expressions += [hypothesis.slack, *map(slack_of, hypothesis.alternatives.values())]
    used = {s.name for expression in expressions for s in expression.free_symbols} - INDICES
    return tuple(name for name in QUANTITIES if name in used)


def slack_of(relation: sympy.core.relational.Relational) -> sympy.Expr:
    """Return larger side minus smaller side of ``a <= b`` or ``a >= b``."""
    if isinstance(relation, sympy.Le):
        return relation.rhs - relation.lhs
    if isinstance(relation, sympy.Ge):
        return relation.lhs - relation.rhs
    raise ValueError(f"relation = {relation}: allowed is a sympy Le or Ge that does not evaluate to a constant")


def _named(items: tuple[_Named, ...], name: str, kind: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    raise ValueError(f"no {kind} is named {name!r}: known are {', '.join(item.name for item in items)}")


OF_RUNS = ("run", "round")
"""Scopes of the functionals that are defined on an algorithm's runs."""


def algorithm_of(claim: Claim, paper_algorithm: str = "") -> str | None:
    """Return the algorithm that a claim is about.

    It is the one that the claim names, else its functional's or its paper's, else the one whose own quantities it uses.
    ``None`` where that is not one, or where a quantity is used that this algorithm does not have.

    >>> from fedtheory.papers import claim
    >>> algorithm_of(claim("fast.thm2")), algorithm_of(claim("safari.thm5")), algorithm_of(claim("fast.eq28"))
    ('fast', 'safari', None)
    >>> algorithm_of(claim("fast.eq28"), "fast"), algorithm_of(claim("fast.thm2"), "safari")
    ('fast', None)
    """
    if claim.algorithm:
        return claim.algorithm
    knowing = [set(QUANTITIES[name].algorithms) for name in claim.quantities if QUANTITIES[name].algorithms]
    named = {claim.functional.algorithm, paper_algorithm} - {""}
    possible = named or (set.intersection(*knowing) if knowing else set())
    if len(possible) != 1 or not all(possible <= algorithms for algorithms in knowing):
        return None
    return next(iter(possible))


def leaves_objective_open(claim: Claim) -> bool:
    """Whether a claim about a round of weighted updates is about any mean of the clients' functions, not their plain
    mean.

    It is if it uses no error that the plain mean has.

    >>> from fedtheory.papers import claim
    >>> [leaves_objective_open(claim(f"fedau.lemma{name}")) for name in ("B_3_3", "B_5_1")]
    [True, False]
    """
    return claim.functional.scope == "round" and "weight_error" not in claim.quantities


def may_speak_of(claim: Claim, algorithm: str) -> bool:
    """Whether a claim can be about an algorithm's runs: nothing in it belongs to others alone.

    >>> from fedtheory.papers import claim
    >>> [may_speak_of(claim("fast.thm2"), name) for name in ("fast", "safari")]
    [True, False]
    """
    own = {claim.algorithm, claim.functional.algorithm} - {""}
    own_words = ANYBODYS if claim.algorithm else frozenset()
    knowing = [QUANTITIES[name].algorithms for name in claim.quantities if name not in own_words]
    return own <= {algorithm} and all(algorithm in algorithms for algorithms in knowing if algorithms)
