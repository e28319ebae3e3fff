"""Papers as objects: their statements, their proofs, their letters, and the runs that they are about."""

from __future__ import annotations

import sys
from copy import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from ..proof.derivations import Derivation
    from ..proof.printed_proof import PrintedProof
    from ..proof.steps import Step
    from ..setting import Setting
    from ..subjects.protocol import Point, Subject
    from ..subjects.families import Family
    from .in_print import Citation, Erratum


class PaperError(ValueError):
    """Error where a paper cannot be used; the message says where and why."""


class Example(NamedTuple):
    """An example of a setting of a paper's algorithm, at which a claim can be evaluated.

    Attributes:
        setting: the setting.
        rounds: the number of rounds.
        stated: values of quantities that no setting has.
    """

    setting: Setting
    rounds: int
    stated: Mapping[str, Any] = {}


class Part:
    """A part of a paper that is heavy to load: given outright, or read on first use from a sub-module of the paper."""

    def __init__(self, module: str, attribute: str, empty: object, finish: Callable[[Paper, Any], Any]) -> None:
        self.module, self.attribute, self.empty, self.finish = module, attribute, empty, finish

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, paper: Paper | None, owner: type) -> Any:
        if paper is None:
            return None  # the field's default: nothing is given
        kept = paper.__dict__[self.name] = self.finish(paper, self._read(paper.home))
        return kept  # which is found before this descriptor from now on

    def given(self, paper: Paper) -> None:
        """Finish what was given outright; of what was not, nothing is kept."""
        value = paper.__dict__.pop(self.name)
        if value is not None:
            paper.__dict__[self.name] = self.finish(paper, value)

    def _read(self, home: str) -> Any:
        module = f"{home}.{self.module}"
        if not home or find_spec(module) is None:
            return self.empty
        return getattr(import_module(module), self.attribute, self.empty)


def several(part: str, items: Any, kind: type) -> tuple[Any, ...]:
    """Return a part's items as a tuple.

    Raises:
        PaperError: they are none, or one of them is of another class.

    >>> several("claims", 5, int)
    Traceback (most recent call last):
    fedtheory.papers.paper.PaperError: claims = 5: allowed is a tuple of builtins.int
    """
    found = tuple(items) if isinstance(items, Iterable) and not isinstance(items, str) else (None,)
    if not all(isinstance(each, kind) for each in found):
        raise PaperError(f"{part} = {_short(items)}: allowed is a tuple of {kind.__module__}.{kind.__name__}")
    return found


def _short(value: object) -> str:
    return text if len(text := repr(value)) < 100 else f"{text[:100]}..."


def _by_name(part: str, items: Any, right: Callable[[Any], bool], allowed: str) -> Any:
    """Return a part that is a mapping from names to what is right.

    Raises:
        PaperError: it is none.
    """
    if not isinstance(items, Mapping) or not all(isinstance(name, str) and right(each) for name, each in items.items()):
        raise PaperError(f"{part} = {_short(items)}: allowed is a mapping from names to {allowed}")
    return items


def _subjects(part: str, subjects: Any) -> Any:
    named = "subjects (fedtheory.subjects.protocol.Subject)"
    return _by_name(part, subjects, lambda each: not isinstance(each, type) and hasattr(each, "name"), named)


def _claims(paper: Paper, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    from ..claims.statement import Claim

    seen = set()
    for claim in (claims := several("claims", claims, Claim)):
        if claim.paper != paper.name or claim.ref in seen:
            raise PaperError(f"{claim.ref}: allowed is a ref that begins with {paper.name!r} and is there once")
        seen.add(claim.ref)
    return tuple(_lettered(claim, paper.letters) for claim in claims)


def _lettered(claim: Claim, letters: Mapping[str, str]) -> Claim:
    """Copy a claim with letters, which are nothing that its making checks; those that it has of its own stay."""
    made = copy(claim)
    object.__setattr__(made, "letters", {**letters, **claim.letters})
    return made


def _steps(paper: Paper, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    from ..proof.steps import Step

    return tuple(replace(step, paper=paper.name) for step in several("steps", steps, Step))


def _derivations(paper: Paper, derivations: tuple[Derivation, ...]) -> tuple[Derivation, ...]:
    from ..proof.derivations import Derivation

    return tuple(each.of(paper.algorithm) for each in several("derivations", derivations, Derivation))


def _printed_proofs(paper: Paper, proofs: tuple[PrintedProof, ...]) -> tuple[PrintedProof, ...]:
    from ..proof.printed_proof import PrintedProof

    return several("printed_proofs", proofs, PrintedProof)


def _made(paper: Paper, made: Any) -> Any:
    return _by_name("counterexamples", made, callable, "functions of a claim")


def _families(paper: Paper, families: Any) -> Any:
    from ..subjects.families import Family

    return _by_name("families", families, lambda each: isinstance(each, Family), "fedtheory.subjects.families.Family")


def _example(paper: Paper, example: Any) -> Any:
    if not (example is None or callable(example)):
        raise PaperError(f"example = {_short(example)}: allowed is a function of a claim, or None")
    return example


def _citation(paper: Paper, citation: Any) -> Any:
    from .in_print import Citation

    if not (citation is None or isinstance(citation, Citation)):
        raise PaperError(f"citation = {_short(citation)}: allowed is a fedtheory.papers.in_print.Citation, or None")
    return citation


def _errata(paper: Paper, errata: Any) -> tuple[Erratum, ...]:
    from .in_print import Erratum

    return several("errata", errata, Erratum)


def _part(module: str, attribute: str, empty: object, finish: Callable[[Paper, Any], Any]) -> Any:
    """A ``Part``, which to a type checker is what it gives."""
    return Part(module, attribute, empty, finish)


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper: its statements and proofs, its letters, and its algorithm's examples.

    The last ten attributes are read on first use where they are not given, from sub-modules of ``home``:
    ``statements`` (``CLAIMS``), ``display_steps`` (``STEPS``), ``proofs`` (``DERIVATIONS``), ``printed_proofs``
    (``PRINTED_PROOFS``), ``counterexamples`` (``COUNTEREXAMPLES``, ``FAMILIES``), ``subjects`` (``SUBJECTS``,
    ``example``), ``citation`` (``CITATION``) and ``errata`` (``ERRATA``).
    One that is not there is empty.

    Attributes:
        name: the name with which the ids of its claims begin.
        title: the title as printed.
        letters: LaTeX by the name of a quantity.
        algorithm: the algorithm whose runs and rounds its claims are about, unless their quantities tell.
        prose: meanings of the short names in what its steps say, by short name.
        shorthands: a sentence for each other letter of its steps.
        order: papers are listed by it, then by name.
        home: the package of its sub-modules.
        rests_on: the other papers on whose steps its proofs rest.
        evaluators: those sub-modules that register evaluators of its quantities and functionals
            (``moments.evaluators``).
        scopes: subjects by the scope of functionals, for other things than an algorithm's runs.
        claims: every edition of every statement, in the paper's order.
        steps: its printed displays, in the paper's order, and what repairs them; read where one is asked for.
        derivations: the kernel's theorems that its claims are.
        printed_proofs: the claims that its steps show, or fail to show.
        counterexamples: by a claim's ref, the function that makes its counterexample; it is called with the claim.
        families: by a claim's ref, counterexamples along which no constant of its O(.) will do.
        subjects: by algorithm, the subject that draws and reads examples of its runs.
        example: a function of a claim, which returns a setting at which it can be evaluated.
        citation: where the paper appeared; or ``None``.
        errata: what is wrong in what it prints, for a reader.
    """

    name: str
    title: str
    letters: Mapping[str, str] = field(default_factory=dict)
    algorithm: str = ""
    prose: Mapping[str, str] = field(default_factory=dict)
    shorthands: Mapping[str, str] = field(default_factory=dict)
    order: int = 1000
    home: str = ""
    rests_on: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    scopes: Mapping[str, Subject] = field(default_factory=dict)
    claims: tuple[Claim, ...] = _part("statements", "CLAIMS", (), _claims)
    steps: tuple[Step, ...] = _part("display_steps", "STEPS", (), _steps)
    derivations: tuple[Derivation, ...] = _part("proofs", "DERIVATIONS", (), _derivations)
    printed_proofs: tuple[PrintedProof, ...] = _part("printed_proofs", "PRINTED_PROOFS", (), _printed_proofs)
    counterexamples: Mapping[str, Callable[[Claim], Point]] = _part("counterexamples", "COUNTEREXAMPLES", {}, _made)
    families: Mapping[str, Family] = _part("counterexamples", "FAMILIES", {}, _families)
    subjects: Mapping[str, Subject] = _part("subjects", "SUBJECTS", {}, lambda paper, part: _subjects("subjects", part))
    example: Callable[[Claim], Example] | None = _part("subjects", "example", None, _example)  # noqa: RUF009 - a descriptor
    citation: Citation | None = _part("citation", "CITATION", None, _citation)  # noqa: RUF009 - a descriptor
    errata: tuple[Erratum, ...] = _part("errata", "ERRATA", (), _errata)

    def __post_init__(self) -> None:
        for name in ("name", "title", "algorithm", "home"):
            if not isinstance(text := getattr(self, name), str):
                raise PaperError(f"{name} = {_short(text)}: allowed is a text")
        for name in ("letters", "prose", "shorthands"):
            _by_name(name, getattr(self, name), lambda words: isinstance(words, str), "texts")
        for name in ("rests_on", "evaluators"):
            several(name, getattr(self, name), str)
        _subjects("scopes", self.scopes)
        for part in vars(Paper).values():
            if isinstance(part, Part):
                part.given(self)

    @property
    def folder(self) -> Path | None:
        """The folder of its package, where its certificates, instances and index lie."""
        return Path(str(sys.modules[self.home].__file__)).parent if self.home else None

    def with_subjects(self, more: Mapping[str, Subject]) -> Paper:
        """Add these algorithms' runs to those that the paper draws; what it draws itself goes first."""
        self.__dict__["subjects"] = {**more, **self.subjects}
        return self

    def __repr__(self) -> str:
        return f"Paper({self.name!r})"
