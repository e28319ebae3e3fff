"""Theorems of the kernel in the vocabulary of claims: their scalars, region, assumptions and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sympy

from ...assumptions import constant_of
from ...claims import readings
from ...quantities import QUANTITIES
from ..implies import is_positive_product
from ..kernel.forms import STEP, STEPS
from ..kernel.regions import Condition
from ..kernel.scalars import Scalar
from ..kernel.sealed import ancestry, intact
from ..kernel.theorems import Theorem

_NO_AXIOMS = {"combine", "project"}
"""Rules that need no premise: sums of squares, and the meaning of a projection."""

_SNAPSHOTS, _CLIENT_ROUNDS = map(sympy.Symbol, ("snapshot_probability", "client_round_probability"))
_KINDS = {
    "uniform": {"snapshot_probability": _SNAPSHOTS - 1}, "server": {"client_round_probability": -_CLIENT_ROUNDS},
    "arbitrary": {"client_round_probability": _CLIENT_ROUNDS - 1, "snapshot_probability": -_SNAPSHOTS},
}  # fmt: skip
"""Expressions that are >= 0 if every round is of this kind, by the quantity that says so."""

READINGS = {
    "random_kinds": (readings.SNAPSHOTS, readings.PROBABILITY),
    "random_client_rounds": (readings.KINDS_OF_ROUNDS, readings.PROBABILITY),
    "cohort_is_a_set": (readings.UNIFORM_COHORT, readings.WITHOUT_REPLACEMENT),
}
"""Assumptions that are a reading of the algorithm; that a cohort is a set is one if it is drawn uniformly."""

_BY_DEFINITION = frozenset({*READINGS, "equal_weights", "full_participation"})
"""Assumptions without a constant that a claim does not make: its algorithm has them, or its hypotheses."""

_EVERYONE, _TAKING_PART, _CLIENTS = "full_participation", *map(sympy.Symbol, ("arbitrary_cohort", "clients"))
"""The assumption that all clients take part, which is said by the number that does."""

_PARAMETERS = {
    "local_lr": "local_lr", "server_lr": "server_lr", "cohort": "cohort", "arbitrary_cohort": "arbitrary_cohort",
    "probability": "snapshot_probability", "client_round_probability": "client_round_probability",
    "local_steps": "local_steps", "clients": "clients",
}  # fmt: skip
"""Quantity that each of the algorithm's parameters is; the free ``share`` of a draw is none."""


Letters = Mapping[str, str | sympy.Expr]


def named(letters: Letters) -> dict[str, sympy.Expr]:
    """Return the expression in quantities for which each letter stands.

    >>> named({"L": "smoothness", "q": 1 - sympy.Symbol("participation_probability")})
    {'L': smoothness, 'q': 1 - participation_probability}
    """
    return {letter: sympy.Symbol(of) if isinstance(of, str) else of for letter, of in letters.items()}


OF_KIND = "kind"
"""Name of the need that every round is of the theorem's kind."""


@dataclass(frozen=True)
class ReadOff:
    """Theorem, read with the quantities that its letters stand for.

    Attributes:
        letters: by letter the name of a quantity, or an expression in quantities.
    """

    theorem: Theorem
    letters: Letters

    def __post_init__(self) -> None:
        intact(self.theorem)

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the needs of the theorem, each with a name. These are the region's conditions on quantities, beyond
        what the vocabulary says of each; the values of the algorithm's parameters that have expressions in the theorem;
        and the kind of every round, if the theorem is given one."""
        found = []
        for condition in self.theorem.where.conditions:
            if condition.name in self.letters and not self._in_vocabulary(condition):
                name = str(self.letters[condition.name]).replace(" ", "")
                for i, (expression, strict) in enumerate(condition.polynomials(self.theorem.where.ring)):
                    if not strict:
                        found.append((f"{name}_{i}", self.read(expression)))
        for name, value in self._own_parameters:
            if name in self._parameters and self._place(value) != self._parameters[name]:
                found += self._tied(name, sympy.Symbol(self._parameters[name]) - self.read(value))
        if any(name == _EVERYONE for name, _ in self.theorem.assumptions):
            found.append((_EVERYONE, _TAKING_PART - _CLIENTS))
        return (*found, *self._needs_of_kind())

    @staticmethod
    def _tied(name: str, apart: sympy.Expr) -> list[tuple[str, sympy.Expr]]:
        """Return the needs that a quantity is the theorem's expression in its place: from both sides, if that is a
        number."""
        if len(apart.free_symbols) == 1:
            return [(f"{name}_at_least", apart), (f"{name}_at_most", -apart)]
        return [(name, -(apart**2))] if apart != 0 else []

    @property
    def chance(self) -> str:
        """Quantity that says whether every round is of the kind that the theorem is given, or "".

        Raises:
            ValueError: no letter is such a quantity, or several are.
        """
        if self.theorem.context != "kind":
            return ""
        known = [name for name in _KINDS[self.theorem.kind] if name in self.letters.values()]
        if len(known) != 1:
            raise ValueError(f"{self.theorem.kind} rounds: allowed is one letter that says how probable they are")
        return known[0]

    def _needs_of_kind(self) -> Iterator[tuple[str, sympy.Expr]]:
        if self.chance:
            yield OF_KIND, _KINDS[self.theorem.kind][self.chance]

    def _place(self, value: Scalar) -> str | sympy.Expr | None:
        """Return what a parameter that is a letter stands for."""
        return self.letters.get(str(value)) if value.is_polynomial and str(value) in value.names else None

    def _in_vocabulary(self, condition: Condition) -> bool:
        """Whether the vocabulary says as much of the quantity.

        Raises:
            ValueError: the condition is that it is > 0 or a count, and the vocabulary does not say so.
        """
        stands_for, kind = self.letters[condition.name], condition.kind
        if not isinstance(stands_for, str):
            strict = any(strict for _, strict in condition.polynomials(self.theorem.where.ring))
            if strict and not is_positive_product(stands_for):
                raise ValueError(f"{condition.name}: {kind}, which {stands_for} need not be")
            return False
        known = QUANTITIES[stands_for]
        above_zero = known.positive or known.lower > 0
        says = {
            "nonnegative": known.lower >= 0,
            "positive": above_zero,
            "capped": above_zero,
            "count": known.integer and known.lower >= 1,
        }
        if not says.get(kind, True):
            raise ValueError(f"{condition.name}: {kind}, which {known.name} need not be")
        if condition.bound is None:
            return True
        return kind == "interval" and condition.bound == 1 and known.lower >= 0 and known.upper <= 1

    def read(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's names. The step k has none, as a scalar that depends on it is said of
        every step."""
        unknown = scalar.names - (self.letters.keys() - {STEP})
        if unknown:
            raise ValueError(f"{sorted(unknown)}: letters of the theorem that stand for no quantity")
        return scalar.expression().xreplace({sympy.Symbol(a): b for a, b in named(self.letters).items()})

    def read_apart(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's names, as a sum over products of the letters that do not occur in the
        denominator, each in lowest terms."""
        parts = {sympy.S.One: scalar}
        for name in (c.name for c in self.theorem.where.conditions if c.kind == "nonnegative"):
            if name in scalar.names - scalar.bottom.names:
                letter = self.read(self.theorem.where.ring[name])
                parts = {
                    data * letter**power: part
                    for data, whole in parts.items()
                    for power, part in whole.coefficients(name).items()
                }
        return sympy.Add(*(data * self.read(part) for data, part in parts.items()))

    def kinds(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return (quantities whose bounds the theorem assumes, readings), read off the theorem.

        Raises:
            ValueError: a constant is another one than the quantity itself.
        """
        quantities, read = [], {}
        drawn = any(name == "uniform_cohorts" for name, _ in self.theorem.assumptions)
        for name, constant in sorted(self.theorem.assumptions, key=str):
            if name == "cohort_is_a_set" and not drawn:
                continue
            if name in READINGS:
                ambiguity, option = READINGS[name]
                read[ambiguity] = option
            elif constant is not None:
                quantity, power = constant_of(name)
                own = sympy.Symbol(quantity) ** power
                weaker = (sympy.S.Zero,) if name == "strongly_convex" else ()  # a strongly convex function is convex
                if self.read(constant) not in (own, *weaker):
                    raise ValueError(f"{name}: the theorem takes the constant {constant}, not {own}")
                quantities.append(quantity)
        self._check_parameters()
        return tuple(dict.fromkeys(quantities)), read

    @property
    def _own_parameters(self) -> tuple[tuple[str, Scalar], ...]:
        """The parameters of the algorithm that are quantities, each the same in every step and round."""
        return self.theorem.parameters

    @property
    def _parameters(self) -> dict[str, str]:
        """The quantity that each of the algorithm's parameters is; of a round of known kind its cohort's size, too."""
        size = {"uniform": {"size": "cohort"}, "arbitrary": {"size": "arbitrary_cohort"}}
        return {**_PARAMETERS, **size.get(self.theorem.kind, {})}

    def _places(self, value: Scalar) -> list[str]:
        """The quantities of all parameters that are the same."""
        return [self._parameters[n] for n, other in self.theorem.parameters if n in self._parameters and other == value]

    def _check_parameters(self) -> None:
        """Refuse letters that stand for other quantities than those that the theorem's algorithm has in their place;
        what a parameter is that has no letter of its own stands among the needs."""
        for name, value in self._own_parameters:
            quantity = self._parameters.get(name)
            if name == "share" and self._any_share(value):
                continue
            expression = str(value) not in value.names and value.names <= self.letters.keys()
            if not quantity or not (expression or self._place(value) in self._places(value)):
                raise ValueError(f"{name} = {value}: allowed is the letter of the algorithm's {quantity}")
        if self.letters.get(STEPS, "local_steps") != "local_steps":
            raise ValueError(f"{STEPS} = {self.letters[STEPS]}: allowed is local_steps")

    def _any_share(self, share: Scalar) -> bool:
        """Whether the theorem's uniform cohorts are all that there are: its share is a letter of its own with the
        condition 0 <= share <= 1/size, and nothing else; or what it is of sets of so many of the clients."""
        of = dict(self.theorem.parameters)
        size = of.get("cohort", of.get("size"))
        if size is None:
            return False
        if self._is_free(share, 1 / size):
            return True
        a_set = ("cohort_is_a_set", None) in self.theorem.assumptions
        return a_set and "clients" in of and share * size * (of["clients"] - 1) == of["clients"] - size

    def _is_free(self, letter: Scalar, most: Scalar) -> bool:
        own = [c for c in self.theorem.where.conditions if letter == letter.ring[c.name]]
        return str(letter) not in self.letters and any(c.kind == "interval" and c.bound == most for c in own)

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the kernel's axioms that the theorem is made of."""
        return tuple(sorted({t.rule for t in ancestry(self.theorem) if not t.premises} - _NO_AXIOMS))

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name, each with its constant if it has one."""
        found = []
        for name, constant in sorted(self.theorem.assumptions, key=str):
            found.append(name if constant is None else f"{name}({self.read(constant)})")
        return tuple(found)


def other_kinds(theorem: Theorem) -> tuple[str, ...]:
    """Return the kinds of assumption without a constant that a theorem takes, and that a claim has to make."""
    names = (name for name, constant in sorted(theorem.assumptions, key=str) if constant is None)
    return tuple(name for name in names if name not in _BY_DEFINITION)
