"""Derivations computed from theorems of the kernel.

The needs and assumptions of a claim are read off the theorem. The claim is tied to the derivation as to every other
one.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

import sympy

from ..claims import readings
from ..claims.statement import OF_RUNS, Claim
from . import checker
from .algorithm_match import Rounds, strange
from .claim_theorems import ClaimTheorem
from .derivations import Derivation
from .kernel.round_rules import average, contraction
from .kernel.sampling_laws import SampleTheorem
from .kernel.saved_theorems import saved
from .kernel.sealed import intact
from .kernel.theorems import Theorem
from .steps import Evidence, Finding, Step
from .translate.vocabulary import OF_KIND, Letters, ReadOff, other_kinds


@cache
def once(make: Callable[[], Theorem]) -> Callable[[], Theorem]:
    """Return a function that makes the theorem only once. So the theorem that is read is the one whose proof is
    checked."""
    return cache(make)


@dataclass(frozen=True)
class Composed:
    """Check that the kernel makes a theorem, and that the independent checker accepts its saved proof.

    Attributes:
        make: makes the theorem; nothing else here does so before it is asked for.
    """

    make: Callable[[], Theorem | SampleTheorem]

    @property
    def assumes(self) -> tuple[str, ...]:
        """Kinds of assumption without a constant that the theorem takes, and that a claim has to make."""
        theorem = self.make()
        if isinstance(theorem, SampleTheorem):
            return tuple(sorted(theorem.assumptions))
        return other_kinds(theorem)

    def certified(self) -> Finding:
        """Return ``proved`` with the theorem's saved proof as evidence if the checker accepts it, else ``unknown``."""
        text = json.dumps(saved(self.make()), separators=(",", ":"))
        return Finding("proved", (text,)) if self.accepts((text,)) else Finding("unknown")

    decide = certified
    """Decide the check; the kernel refutes nothing, so this is ``certified``."""

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the checker accepts the text as a proof of the very theorem that the kernel makes now."""
        if len(evidence) != 1 or not isinstance(evidence[0], str):
            return False
        shown = _checked(evidence[0])
        return shown is not None and shown == _conclusion(saved(self.make()))

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Return false: a theorem that the kernel does not make may still be true."""
        return False


@lru_cache(maxsize=500)
def _checked(text: str) -> tuple | None:
    """Check the proof in a text, once, and return its conclusion; ``None`` if it is no proof."""
    try:
        data = checker.read(text)
        checker.check(data)
    except (checker.Wrong, ValueError):
        return None
    return _conclusion(data) if isinstance(data, Mapping) and not checker.is_certificate(data) else None


def _conclusion(data: Mapping) -> tuple:
    """The names and all that letters stand for, the last theorem without how it was made, and its region."""
    last = data["theorems"][-1]
    stated = {part: value for part, value in last.items() if part not in ("rule", "premises", "arguments", "where")}
    shared = {part: value for part, value in data.items() if part not in ("regions", "theorems")}
    return shared, data["regions"][last["where"]], stated


@dataclass(frozen=True)
class OfRounds(ABC):
    """Derivation of a bound over many rounds from a theorem on one round.

    Attributes:
        make: makes the theorem.
        letters: the quantity of each letter of the theorem's scalars.
    """

    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}
    of_one_kind: ClassVar[bool] = True
    """Whether a theorem given a kind of round speaks of runs whose rounds are all of it."""

    make: Callable[[], Theorem]
    letters: Letters

    def __post_init__(self) -> None:
        for part in dataclass_fields(self):
            given = getattr(self, part.name)
            if callable(given):
                object.__setattr__(self, part.name, once(given))

    @property
    @abstractmethod
    def functional(self) -> str:
        """Name of the functional that is bounded."""

    @abstractmethod
    def right_side(self) -> sympy.Expr:
        """Bound, computed from the theorem."""

    @property
    def theorem(self) -> Theorem:
        """Theorem as the kernel made it: see ``intact``."""
        return intact(self.make())

    @cached_property
    def own(self) -> ReadOff:
        """Theorem in the vocabulary."""
        return ReadOff(self.theorem, self.letters)

    @property
    def all_of(self) -> tuple[ReadOff, ...]:
        """All theorems that are used, this one first, in the vocabulary."""
        return (self.own,)

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the expressions that have to be >= 0, beyond what the vocabulary says, each with a name."""
        asked = {
            need: name for each in self.all_of for name, need in each.needs() if name != OF_KIND or self.of_one_kind
        }
        names = list(asked.values())
        return tuple(
            (name if names.count(name) == 1 else f"{name}.{i}", need) for i, (need, name) in enumerate(asked.items())
        )

    def choices(self) -> Mapping[str, sympy.Expr]:
        """Return the quantities that the derivation chooses, with their expressions."""
        return {}

    def step(self, name: str, equation: str, says: str) -> Step:
        """Return the one step of a proof that the kernel composed; its assumptions are the theorem's."""
        return Step(name, equation, says, "composed", self.checks, printed=False)

    @property
    def checks(self) -> tuple[Composed, ...]:
        """Return one check for each of the theorems."""
        return (Composed(self.make),)

    def makes(self, steps: Iterable[Step]) -> bool:
        """Whether the steps are these theorems, with their assumptions, and nothing else."""
        own = ("composed", self.checks, ())
        return all(
            type(s) is Step and all(type(c) is Composed for c in s.checks) and (s.kind, s.checks, s.assumes) == own
            for s in steps
        )

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the kernel's axioms that the theorems are made of."""
        return tuple(sorted({name for each in self.all_of for name in each.axioms()}))

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name, each with its constant if it has one."""
        return tuple(dict.fromkeys(name for each in self.all_of for name in each.assumed()))

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> ClaimTheorem | None:
        """Return the check that a claim is a theorem of the kernel on whole runs, or ``None`` if it is not found to
        be."""
        return None

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words the ways in which the theorems are not about the rounds of a claim's algorithm."""
        if claim.functional.scope not in OF_RUNS:
            yield f"it is about rounds, and {claim.functional.name} is of no run"
            return
        try:
            own = rounds(claim, algorithm)
        except ValueError as error:
            yield str(error)
            return
        yield from self.strange_to(own)

    def strange_to(self, rounds: Rounds) -> Iterator[str]:
        """List in words the parts of the theorems that do not belong to these rounds."""
        for each in self.all_of:
            yield from strange(each.theorem, rounds)
            if self.of_one_kind and each.chance and len(rounds.kinds) > 1 and each.chance != rounds.chance:
                yield f"it needs {each.chance}, and these are of a kind by {rounds.chance}"

    def derivation(self, name: str, step: str, proves: tuple[str, ...]) -> Derivation:
        """Return the derivation with this step; the theorem is made only when it is needed."""
        return Computed(name, functional=self.functional, steps=(step,), proves=proves, origin=self)

    @property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation, computed from the theorem.

        Raises:
            ValueError: a letter stands for another quantity than the theorem's algorithm has in its place; or a theorem
                was changed after it was made.
        """
        known = _CONTENT.get(id(self))
        if known is None or known[0] is not self:
            known = _CONTENT[id(self)] = self, MappingProxyType(self._computed())
        for each in self.all_of:
            intact(each.theorem)
        return known[1]

    def _computed(self) -> dict[str, Any]:
        kinds = [each.kinds() for each in self.all_of]
        read = {name: option for _, options in kinds for name, option in options.items()}
        return {
            "right_side": self.right_side(),
            "needs": self.needs(),
            "assumptions": tuple(dict.fromkeys(q for quantities, _ in kinds for q in quantities)),
            "readings": {**read, **self.own_readings},
            "choices": self.choices(),
        }


_CONTENT: dict[int, tuple[OfRounds, Mapping[str, Any]]] = {}
"""Cache of computed derivations. It is kept apart from the objects that read theorems, which anybody could write to."""


class Computed(Derivation):
    """Derivation that is computed from its origin, each part when it is first asked for. A part that is given instead
    stays as it is, and differs from the computed one (see ``verdict_word.is_computed``)."""

    def __init__(self, name: str, *, functional: str, steps: tuple[str, ...], **given: Any) -> None:
        fields = {
            "name": name,
            "functional": functional,
            "steps": steps,
            "proves": (),
            "algorithm": "",
            "left_side": None,
            "origin": None,
        } | given
        unknown = fields.keys() - {f.name for f in dataclass_fields(Derivation)}
        if unknown:
            raise TypeError(f"{sorted(unknown)}: no parts of a derivation")
        self.__dict__.update(fields)

    def _part(self, name: str) -> Any:
        if self.origin is None:
            raise ValueError(f"{self.name}: allowed is a derivation with an origin, from which it is computed")
        return self.origin.content[name]

    @cached_property
    def right_side(self) -> Any:
        """Bound over bare symbols, computed from the theorem."""
        return self._part("right_side")

    @cached_property
    def needs(self) -> Any:
        """Expressions that have to be >= 0, each with a name, computed from the theorem."""
        return self._part("needs")

    @cached_property
    def assumptions(self) -> Any:
        """Quantities whose standing assumptions the theorem uses."""
        return self._part("assumptions")

    @cached_property
    def readings(self) -> Any:
        """Options of ambiguities under which the theorem holds."""
        return self._part("readings")

    @cached_property
    def choices(self) -> Any:
        """Quantities that the derivation chooses, with their expressions."""
        return self._part("choices")


class _OfAllRounds(OfRounds):
    """Derivation of a bound on whole runs, which the kernel makes too."""

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> ClaimTheorem | None:
        if type(self) not in _OF_PLAIN_RUNS or any(not isinstance(name, str) for name in self.letters.values()):
            return None
        key = id(self), claim, algorithm
        if key not in _OF_CLAIMS:
            try:
                letters = tuple((name, str(quantity)) for name, quantity in self.letters.items())
                check = ClaimTheorem(claim, self.make, letters, rounds(claim, algorithm), algorithm)
                _OF_CLAIMS[key] = self, check if check.certified().outcome == "proved" else None
            except ValueError:  # nothing says what the rounds are, or a part of the claim has no letter
                _OF_CLAIMS[key] = self, None
        return _OF_CLAIMS[key][1]


_OF_CLAIMS: dict[tuple[int, Claim, str], tuple[OfRounds, ClaimTheorem | None]] = {}
"""Cache of claims' theorems, apart from the objects that read theorems, which anybody could write to."""


class Contraction(_OfAllRounds):
    """Bound on the final squared distance from E|x+ - x*|^2 <= P |x - x*|^2 + B in every round:

        E|x_R - x*|^2 <= exp(-(1 - P) R) |x_0 - x*|^2 + B/(1 - P),

    by induction over the rounds and P <= exp(-(1 - P)).
    """

    functional = "final_squared_distance"

    def right_side(self) -> sympy.Expr:
        factor, addition = contraction(self.theorem)
        fall = sympy.factor(self.own.read(1 - factor))
        return self.decay(fall) * sympy.Symbol("initial_distance") ** 2 + self.own.read_apart(addition) / fall

    def decay(self, fall: sympy.Expr) -> sympy.Expr:
        """Return an upper bound of (1 - fall)^R."""
        return sympy.exp(-fall * sympy.Symbol("rounds"))


class Geometric(Contraction):
    """Contraction whose bound has (1 - fall)^R itself, with fall = 1 - P, instead of the exponential."""

    def decay(self, fall: sympy.Expr) -> sympy.Expr:
        """Return (1 - fall)^R."""
        return (1 - fall) ** sympy.Symbol("rounds")


class Descent(_OfAllRounds):
    """Bound on the mean squared gradient from E F(x+) <= F(x) - c |grad F(x)|^2 + B in every round:

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + B/c,

    by summing over the rounds.
    """

    functional = "average_squared_gradient"
    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {readings.AVERAGE: readings.FROM_ROUND_0}

    def right_side(self) -> sympy.Expr:
        fall, addition = average(self.theorem)
        gap, rounds = sympy.symbols("initial_gap rounds")
        return (gap / rounds + self.own.read_apart(addition)) / sympy.factor(self.own.read(fall))


_OF_PLAIN_RUNS = (Contraction, Geometric, Descent)
"""Derivations of runs whose every round is as the theorem says; for those of other runs the kernel lacks a rule."""
