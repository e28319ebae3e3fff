"""Worst-case problems of algorithms of one's own: the rounds are followed along all cohorts and draws that may come."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..functionals import AVERAGES, check_average
from ..rationals import exact_number
from .classes import FunctionClass
from .geometry import Units
from .problem import SMALLEST, check_memory, check_square, unit_of_metric
from .program import METRICS, Program
from .step_geometry import Law, StepGeometry, StepRounds

if TYPE_CHECKING:
    from ..algorithms.custom_algorithm import Own


@dataclass(frozen=True)
class StepProblem:
    """Problem of the largest metric of an algorithm of one's own over all federations of a class, without noise. See
    ``worst_case`` for the arguments.

    Attributes:
        law: of the round's participants.

    Raises:
        ValueError: a number out of bounds, or a metric that is not known.
    """

    functions: FunctionClass
    algorithm: Own
    clients: int
    law: tuple[tuple[tuple[int, ...], Fraction], ...]
    rounds: int = 1
    metric: str = "final_squared_distance"
    average: str = AVERAGES[0]
    distance: Fraction = Fraction(1)
    dissimilarity_at_optimum: Fraction | None = Fraction(0)
    everywhere: bool = False

    contraction = None
    initial_gap = None
    gradient_noise = Fraction(0)
    of_server_noise = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.functions, FunctionClass):
            raise ValueError(
                f"functions = {self.functions!r}: allowed is strongly_convex(...), convex(...) or quadratic(...)"
            )
        if self.functions.nonconvex:
            raise ValueError(f"functions = {self.functions}: allowed with a step of one's own are convex ones")
        if type(self.rounds) is not int or self.rounds < 1:
            raise ValueError(f"rounds = {self.rounds}: allowed is a whole number >= 1")
        if self.metric not in METRICS:
            raise ValueError(f"metric = {self.metric!r}: allowed is one of {', '.join(METRICS)}")
        check_average(self.average)
        for name in ("distance", "dissimilarity_at_optimum"):
            if (value := getattr(self, name)) is None and name != "distance":
                continue
            number = exact_number(name, value)
            if number < 0 or 0 < (number if name == "distance" else number / self.functions.smoothness) < SMALLEST:
                raise ValueError(f"{name} = {number}: allowed is 0 or a number >= {float(SMALLEST)}")
            check_square(name, number)
            object.__setattr__(self, name, number)

    @property
    def exact(self) -> bool:
        """Whether the value is attained by a federation of the class, or else only an upper bound."""
        return not self.everywhere

    @property
    def bounded(self) -> bool:
        """Whether the metric is, over all of the class."""
        return self.dissimilarity_at_optimum is not None

    @property
    def length(self) -> Fraction:
        """Unit of length: the larger one of the start's distance and zeta / L."""
        zeta = self.dissimilarity_at_optimum or Fraction(0)
        return max(self.distance, zeta / self.functions.smoothness) or Fraction(1)

    @property
    def unit(self) -> Fraction:
        """Unit of the metric."""
        return unit_of_metric(self.metric, self.length, self.functions.smoothness)

    @property
    def counted(self) -> list[int]:
        """The numbers of rounds before whose x, or after the last of which, gaps and gradients are averaged."""
        if self.metric == "final_squared_distance":
            return []
        if self.metric.startswith("final"):
            return [self.rounds]
        first = 1 if self.average == AVERAGES[0] else 0
        return list(range(first, first + self.rounds))

    @cached_property
    def followed(self) -> StepRounds:
        """The rounds along all ways in which they may come."""
        asked = {*self.counted, *(range(self.rounds) if self.everywhere else ())}
        return StepRounds(self.algorithm.round, self.clients, list(self.law), self.rounds, asked, self.distance == 0)

    @property
    def recursive(self) -> bool:
        """Whether the next rounds do the same from where these end: nothing is remembered."""
        return not self.algorithm.round.memory and not self.followed.server

    def program(self) -> Program:
        """Return the semidefinite program, in floats.

        Raises:
            ValueError: the step is not one whose worst case is known, or the program is too large for this machine.
        """
        followed, L, zeta = self.followed, self.functions.smoothness, self.dissimilarity_at_optimum
        self._check_size()
        units = Units(
            float,
            float(self.functions.condition),
            L,
            float(self.distance / self.length),
            None if zeta is None else float(zeta / (L * self.length)),
            0.0,
            0.0,
            True,
        )
        geometry: Any = StepGeometry(followed, units)  # with the face of a Geometry
        shown = range(len(geometry.together))
        dissimilar = [0, *(shown[1:] if self.everywhere else ())] if zeta else []
        counted = [each for r in self.counted for each in geometry.by_round[r]]
        return Program(
            geometry,
            self.metric,
            [place for place, _ in counted],
            self.functions.quadratic,
            None,
            dissimilar,
            weights=[p / len(self.counted) for _, p in counted],
        )

    def _check_size(self) -> None:
        sides, pairs = 1 + len(self.followed.order) + self.clients, sum(len(each) ** 2 for each in self.followed.points)
        length = sides * (sides + 1) // 2
        check_memory(
            8 * (3 * pairs * length + (length + pairs) ** 2 // 2), f"rounds = {self.rounds} with {sides} vectors"
        )


def law_of_rounds(clients: int | None, cohort: int | None, arbitrary_cohort: int | None) -> Law:
    """Return the law of a round's participants: a uniform cohort, a set that stays, or all.

    Raises:
        ValueError: no number of clients, or a cohort that is none among so many.

    >>> law_of_rounds(3, 2, None)[0]
    ((1, 1, 0), Fraction(1, 3))
    """
    if type(clients) is not int or clients < 1:
        raise ValueError(f"clients = {clients}: needed for a step of one's own is a whole number >= 1")
    for name, size in (("cohort", cohort), ("arbitrary_cohort", arbitrary_cohort)):
        if size is not None and (type(size) is not int or not 1 <= size <= clients):
            raise ValueError(f"{name} = {size}: allowed is a whole number from 1 to clients = {clients}")
    if cohort is not None and arbitrary_cohort is not None:
        raise ValueError("cohort, arbitrary_cohort: give at most one of them")
    if cohort is None:
        members = [tuple(range(arbitrary_cohort or clients))]
    else:
        members = list(combinations(range(clients), cohort))
    return [(tuple(int(i in each) for i in range(clients)), Fraction(1, len(members))) for each in members]
