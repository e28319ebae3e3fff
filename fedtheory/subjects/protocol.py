"""The protocol of subjects: one for everything that is drawn, written to files, computed and judged.

A claim bounds a functional of a *subject*: the values of quantities, a function at some points, estimated weights, a
selection, a round, a run. A subject knows where to look for examples of it (``Space``), and how an exact example is
read from a file. Such an example (``Point``) knows both sides of the claim. Search, shrink, judge, replay, repair and
assess are one loop each over these; they compare no paper's and no functional's name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import sympy
from flint import arb

from ..assumptions import (
    COHORT_BEFORE_NOISE,
    INDEPENDENT_DRAWS,
    INDEPENDENT_PARTICIPATION,
    STATIONARY_AVAILABILITY,
    UNIFORM_COHORTS,
)
from ..claims.balls import Number, ball, decimal, evaluate_in_balls, rational_value
from ..claims.schedules import INDICES, by_rule, rule_of
from ..claims.statement import Claim
from ..moments.evaluators import BALL, Question, quantity
from ..quantities import QUANTITIES, symbol
from .lead import Found

if TYPE_CHECKING:
    from ..federations import Federation
    from ..setting import Setting

Reading = Mapping[str, str]
"""Reading of a claim: an option for each ambiguity."""

Box = Mapping[str, arb]
"""An interval for each run quantity."""


Slack = Number | None
"""A proven lower bound of a slack that is >= 0; ``None`` where the hypothesis is not shown to hold."""

NOT_CHECKED, VIOLATED = "not checked", "violated by construction"
COMPUTED = "computed: the federation's own constant against the stated one"
OWN_CONSTANT = "computed: it is the example's own constant"


class Checked(NamedTuple):
    """Check of an assumption or a hypothesis on an example: the slack, and how it was found."""

    slack: Slack
    how: str


def _no_boxes() -> list[Box]:
    """Return one box that restricts nothing, for runs without quantities of their own."""
    return [{}]


@dataclass(frozen=True)
class Sides:
    """Both sides of a claim at a point, under one reading. Readings that share a part share the object.

    Attributes:
        left: the functional's value, a Fraction or a ball; or infinite.
        values: every quantity that the point fixes; an infinite one is a float.
        boxes: intervals which together hold what the runs' own quantities can be; may raise ``Undecided``.
        note: how run quantities were enclosed, where that is not the usual way, or "".
    """

    left: Any
    values: Mapping[str, Any]
    boxes: Callable[[], list[Box]] = _no_boxes
    note: str = ""


class Examined(Protocol):
    """A point, as a claim speaks of it. What several readings share is computed once."""

    checks: Mapping[str, Checked] = {}
    """By assumption that bounds a constant, or is computed: how far the stated constant is on the safe side of the true
    one, and how that was found."""

    def sides(self, reading: Reading) -> Sides:
        """Return both sides' parts under a reading.

        Raises:
            Undecided: under that reading the point decides nothing; it is said why.
        """

    def chosen(self) -> Mapping[str, Number]:
        """Return the values of what the claim chooses."""
        return {}


class Point(Protocol):
    """An exact example: rational numbers, one claim's worth of them."""

    bearer: str = "federation"
    """Whose the constants of assumptions are: ``federation``, ``function`` or ``problem``."""

    @property
    def violated(self) -> frozenset[str]:
        """The kinds of assumption (``fedtheory.assumptions``) that it does not meet."""
        return frozenset()

    @property
    def met(self) -> Mapping[str, str]:
        """The kinds of assumption that it meets, and why, where they are not among ``violated``.

        One that is neither here nor among ``Examined.checks`` is not checked, so not met.
        """
        return {}

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """Return the point as the claim speaks of it; unless ``follow``, long runs are enclosed without following
        them."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data, in the order of an instance's file, but for the claim's ref."""

    def shorter(self) -> Iterator[Point]:
        """Yield neighbours whose numbers take fewer digits."""
        return iter(())


class Space(Protocol):
    """Space of examples on which a claim is searched.

    Attributes:
        repairable: whether the standard repairs of ``evidence.repair`` can be tried on it.
        measurable: whether it has ``on_data``.
    """

    @property
    def searched(self) -> str:
        """Description of the examples that are drawn, in words."""
        return ""

    @property
    def left_out(self) -> str:
        """Description of the examples that a claim may speak of and that are not drawn, in words."""
        return ""

    @property
    def repairable(self) -> bool:
        """Whether the standard repairs can be tried on it."""
        return False

    @property
    def measurable(self) -> bool:
        """Whether it has ``on_data``."""
        return False

    @property
    def beside(self) -> Space | None:
        """A second space, with draws of its own, to search once nothing is found here; ``None`` if there is none."""
        return None

    def structured(self) -> Iterator[Any]:
        """The candidates to look at first."""
        return iter(())

    def draw(self, rng: np.random.Generator) -> Any:
        """A random candidate."""

    def perturb(self, candidate: Any, rng: np.random.Generator, size: float) -> Any:
        """A neighbour."""

    def assess(self, candidate: Any) -> tuple[Found, Found | None] | None:
        """Evaluate both sides in floating point at the candidate's worst horizon and at its worst late one.

        It is ``None`` where no horizon meets every hypothesis.
        """

    def certain(self, found: Found) -> Found:
        """The find with what is certain of its left side: the lower end of an enclosure, where it has one."""
        return found

    def readings(self, found: Found) -> tuple[str, ...]:
        """Return the readings under which the find is one."""
        return ("",)

    def rounded(self, found: Found, digits: int) -> Iterator[Point]:
        """Yield exact points near a find, with so many significant digits, the most promising first.

        Raises:
            ValueError: no point can hold it; it is said why.
        """

    def family_member(self, rng: np.random.Generator) -> Point | None:
        """Draw a point with short numbers, of a family by which such claims fall; ``None`` where none is known."""
        return None

    def neighbour(self, point: Point, rng: np.random.Generator) -> Point:
        """Return another member of the family, one number moved; the point itself where there is none."""
        return point

    def violating(self, kind: str) -> Iterator[Point]:
        """Yield points at which the claim falls and which violate an assumption of this kind, the most telling first.

        There are none where no such points are known.
        """
        return iter(())

    def on_data(self, federation: Federation, cohort: int, arbitrary_cohort: int, local_steps: int) -> Setting:
        """Make a setting on a federation of real data that meets the hypotheses, as far as these can be told
        beforehand.

        Raises:
            ValueError: claims of this kind are not measured on real data.
        """
        raise ValueError("real data: allowed are claims about runs that can be measured on them")


class Subject(Protocol):
    """The subject of functionals of one kind.

    Attributes:
        name: its name as ``Functional.scope``; for runs and rounds, the algorithm.
    """

    @property
    def name(self) -> str:
        """The name as ``Functional.scope``; for runs and rounds, the algorithm."""

    def space(self, claim: Claim) -> Space:
        """Return the space in which the claim is searched."""

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Point:
        """Read a point from plain data, not yet checked.

        Raises:
            ValueError: an entry is missing, of the wrong kind or out of bounds; it is named.
        """


@dataclass(frozen=True)
class Instance:
    """A point, as an instance of one claim.

    Attributes:
        claim: its ref.
        point: what it is made of.
    """

    claim: str
    point: Point = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the instance as plain data; ``parse`` reads it back."""
        return {"claim": self.claim, **self.point.to_json()}


# What points share --------------------------------------------------------------------------------------------------


def chosen_step(claim: Claim, name: str, values: Mapping[str, Number]) -> Any:
    """Return the step size of this name that the claim chooses.

    It is exact where it is rational, and a ``StepRule`` where it changes.

    Raises:
        ValueError: it is not a number > 0.
    """
    if by_rule(claim.choices[name]):
        known(claim.choices[name].subs({symbol(index): 1 for index in INDICES}), values)
        return rule_of(claim, name, values)
    choice = known(claim.choices[name], values)
    enclosure = evaluate_in_balls(choice, values)
    if not enclosure > 0:
        raise ValueError(f"{name}: {claim.ref} chooses {decimal(enclosure)} here, allowed is a number > 0")
    exact = rational_value(choice, values)
    return enclosure if exact is None or not enclosure.overlaps(ball(exact)) else exact


def known(expression: sympy.Expr, values: Mapping[str, Number]) -> sympy.Expr:
    """Evaluate an expression of which every quantity has a value."""
    unknown = sorted({s.name for s in expression.free_symbols} - set(values))
    if unknown:
        raise ValueError(
            f"{unknown[0]}: such an instance does not have it, or cannot enclose it; its subject has to supply it"
        )
    return expression


def runs_of(claim: Claim, algorithm: str) -> str:
    """Name the runs, or rounds, that a search draws, with the values that the claim binds."""
    what = "rounds" if claim.functional.scope == "round" else "runs"
    bound = " and ".join(f"{name} = {value}" for name, value in claim.bound.items())
    return f"{what} of {algorithm}" + (f" with {bound}" if bound else "")


def span(values: Iterable[float]) -> str:
    """Write the least and the largest of some numbers, in words.

    >>> span((1, 1, 2, 5)), span([3])
    ('1 to 5', '3')
    """
    least, most = min(values := tuple(values)), max(values)
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"


ROOTS = ("dissimilarity", "dissimilarity_at_optimum", "dissimilarity_offset")
"""Constants whose squares are rational."""


CHOSEN_BEFORE = {COHORT_BEFORE_NOISE: "by construction: who takes part does not depend on noise"}
UNIFORM_DRAWS = {
    UNIFORM_COHORTS: "by construction: the cohorts that the algorithm draws are uniform, by draws of their own",
}
SAME_CLIENTS = dict.fromkeys(
    (INDEPENDENT_PARTICIPATION, INDEPENDENT_DRAWS, STATIONARY_AVAILABILITY),
    "by the process: the same clients in every round",
)
"""Reasons why participants who are fixed beforehand, or drawn uniformly by the algorithm, meet assumptions."""


def assumption_checks(claim: Claim, stated: Mapping[str, Fraction], true: Mapping[str, Any]) -> dict[str, Checked]:
    """Check the stated constant of each assumption that bounds one.

    The slack is how far the stated constant is on the safe side of the true one; it is ``None`` if it is not. Both are
    squared for ``ROOTS``, which are lengths.

    Raises:
        ValueError: there is no true one.
    """
    checks: dict[str, Checked] = {}
    for assumption in claim.assumptions:
        name = assumption.quantity
        if not name:
            continue
        if name not in true:
            reason = "hessians differ between clients, so it is infinite" if name in ROOTS else "unknown"
            raise ValueError(f"{name} of {assumption.name}: {reason}")
        value = stated[name] ** 2 if name in ROOTS else stated[name]
        margin = true[name] - value if assumption.from_below else value - true[name]
        checks[assumption.name] = Checked(margin if margin >= 0 and value >= 0 else None, COMPUTED)
    return checks


def finite(value: Number | float) -> bool:
    """Whether a side or a quantity is a finite number."""
    if isinstance(value, arb):
        return bool(value.is_finite())
    return isinstance(value, Fraction) or math.isfinite(value)


def own_values(claim: Claim, setting: Setting, rounds: int) -> dict[str, Any]:
    """Return the values of quantities that the user defined, as far as the claim uses them, exact or in balls."""
    own = [name for name in claim.quantities if QUANTITIES[name].compute is not None]
    return {name: quantity(name, Question(setting, rounds, numbers=BALL)).value for name in own}
