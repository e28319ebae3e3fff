"""Worst-case problems: the question with its checks, and its numbers without units."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..functionals import AVERAGES, check_average
from ..rationals import exact_number
from .classes import FunctionClass
from .geometry import Geometry, Units
from .program import METRICS, Program
from .round_plans import Plan, ServerStep, Training
from .round_quantities import AFTER, POWERS, ROUND_METRIC, check

PRICED = {"initial_gap": "gap", "dissimilarity_at_optimum": "dissimilarity", "gradient_noise": "noise"}
"""Constants that may have a price, and their names in a program."""

SMALLEST = Fraction(1, 10**50)
"""Least length that counts, relative to the largest one."""
SQUARES = Fraction(1, 10**300), Fraction(10) ** 300
"""Least and largest square of a number: floats have them."""


@dataclass(frozen=True)
class Problem:
    """Problem of the largest metric over all federations of a class. See ``worst_case`` for the arguments.

    Attributes:
        contraction: tau: the start is free, and tau |x_0 - x*|^2 is taken off the metric.
        initial_gap: a bound on F(x_0) - F*, instead of one on the distance.
        prices: of initial_gap, dissimilarity_at_optimum, gradient_noise, such as {"gradient_noise": b}: the constant is
            free, and b sigma^2 (or b zeta^2, or b times the initial gap) is taken off the metric; the constant's own
            number is its unit.
        combination: quantities of one round as {quantity: coefficient} (see ``round_quantities``), in the place of a
            metric, whose name is "one_round" then.

    Raises:
        ValueError: a number out of bounds; a metric that is not known of this plan; a program too large for this
            machine.
    """

    functions: FunctionClass
    plan: Plan
    metric: str = "final_squared_distance"
    average: str = AVERAGES[0]
    distance: Fraction = Fraction(1)
    dissimilarity_at_optimum: Fraction | None = Fraction(0)
    everywhere: bool = False
    gradient_noise: Fraction = Fraction(0)
    server_noise: Fraction = Fraction(0)
    contraction: Fraction | None = None
    initial_gap: Fraction | None = None
    prices: Mapping[str, Fraction] = field(default_factory=dict, hash=False)
    combination: Mapping[str, Fraction] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.functions, FunctionClass):
            raise ValueError(
                f"functions = {self.functions!r}: allowed is strongly_convex(...), convex(...), quadratic(...) or "
                "smooth(...)"
            )
        if (self.metric == ROUND_METRIC) != bool(self.combination):
            raise ValueError(
                f"metric = {self.metric!r}: allowed with a combination, and only there, is {ROUND_METRIC!r}"
            )
        if self.combination:
            check(self.combination, self.plan)
        elif self.metric not in METRICS:
            raise ValueError(f"metric = {self.metric!r}: allowed is one of {', '.join(METRICS)}")
        check_average(self.average)
        for name in (
            "distance",
            "dissimilarity_at_optimum",
            "gradient_noise",
            "server_noise",
            "contraction",
            "initial_gap",
        ):
            value = getattr(self, name)
            if value is None and name in ("dissimilarity_at_optimum", "contraction", "initial_gap"):
                continue
            number = exact_number(name, value)
            if number < 0 and not (name == "contraction" and self.combination):
                raise ValueError(f"{name} = {number}: allowed is a number >= 0")
            object.__setattr__(self, name, number)
        self._check_together()
        self._check_gap()
        self._check_scales()
        self._check_size()

    def _check_together(self) -> None:
        if self.plan.random and self.metric not in ("final_squared_distance", ROUND_METRIC):
            raise ValueError(f"metric = {self.metric!r}: allowed for random rounds is 'final_squared_distance'")
        noisy = self.gradient_noise > 0
        if noisy and self.plan.clients is None:
            raise ValueError(f"gradient_noise = {self.gradient_noise}: needs clients, over which it averages out")
        if noisy and self.plan.chosen is not None and len(self.plan.rounds) > 1:
            raise ValueError(f"rounds = {len(self.plan.rounds)}: allowed is 1 for an arbitrary cohort with noise")
        if self.server_noise and len(self.plan.rounds) > 1:
            raise ValueError(f"server_noise = {self.server_noise}: allowed is 0 in several rounds")
        if self.server_noise and self.metric != "final_squared_distance":
            raise ValueError(f"server_noise = {self.server_noise}: allowed is 0 with this metric")

    def _check_gap(self) -> None:
        """A start that is bounded by its gap, and constants that have a price."""
        by_gap = self.initial_gap is not None
        if self.functions.nonconvex and not by_gap and self.contraction is None:
            raise ValueError("initial_gap: needed where functions are not convex, in the place of a distance")
        if by_gap and (self.contraction is not None or self.distance != 1 or not self.initial_gap):
            raise ValueError(f"initial_gap = {self.initial_gap}: allowed is a number > 0, without another start")
        if by_gap and self.metric not in METRICS[1:]:
            raise ValueError(f"metric = {self.metric!r}: allowed with initial_gap is one of {', '.join(METRICS[1:])}")
        for name, price in self.prices.items():
            if name not in PRICED or (name == "initial_gap" and not by_gap) or not (by_gap or self.combination):
                raise ValueError(
                    f"prices: {name!r}: allowed with initial_gap is one of {', '.join(PRICED)}, with a combination one "
                    "of the last two"
                )
            if not getattr(self, name):
                raise ValueError(f"{name} = {getattr(self, name)}: allowed with a price is its unit, a number > 0")
            if exact_number(f"price of {name}", price) < 0:
                raise ValueError(f"price of {name} = {price}: allowed is a number >= 0")
        if len(self.prices) == (self.contraction is None) + bool(self.dissimilarity_at_optimum) + bool(
            self.gradient_noise
        ):
            raise ValueError("prices: allowed is to leave at least one constant without")

    def _check_scales(self) -> None:
        """Numbers whose squares vanish beside the others' are no data: 0 is meant."""
        L = self.functions.smoothness
        for name in ("distance", "dissimilarity_at_optimum", "gradient_noise", "initial_gap"):
            check_square(name, getattr(self, name))
        if self.initial_gap is not None:
            check_square("initial_gap / smoothness", self.initial_gap / L)
        check_square("the largest length", self.length)
        if not SQUARES[0] <= self.unit <= SQUARES[1]:
            raise ValueError(f"the unit of {self.metric}: allowed is a number from 1e-300 to 1e300")
        sizes = {
            "distance": Fraction(0) if self.free_start else self.distance,
            "dissimilarity_at_optimum": (self.dissimilarity_at_optimum or 0) / L,
            "gradient_noise": self.gradient_noise / L,
        }
        for name, size in sizes.items():
            if 0 < size < SMALLEST * self.length:
                raise ValueError(
                    f"{name}: allowed is 0, or at least {float(SMALLEST)} of the largest length "
                    f"{float(self.length):.3g}"
                )

    def _check_size(self) -> None:
        what = f"rounds = {len(self.plan.rounds)} with {self.points_predicted()} points a client"
        check_memory(self.bytes_needed(), what)

    def points_predicted(self) -> int:
        """Return the number of points at which a client's gradient counts, x* among them."""
        paths = [{(k.local_lr, k.proximal) for _, k in each if isinstance(k, Training)} for each in self.plan.rounds]
        return 1 + sum(1 + sum(len(rates) - 1 for rates, _ in each) for each in paths) + self.at_end

    def bytes_needed(self) -> int:
        """Return the memory that the program takes: rows of pairs of points, and the factor of the solver's matrix."""
        points, orbits = self.points_predicted(), 1 if self.plan.chosen is None else 2
        noises = sum(len(k.local_lr) for k in self.plan.kinds if isinstance(k, Training)) if self.gradient_noise else 0
        families = points + noises
        length = (1 + orbits * families) * (2 + orbits * families) // 2 + orbits * families * (families + 1) // 2
        pairs = orbits * points**2
        return 8 * (3 * pairs * length + (length + pairs) ** 2 // 2)

    @property
    def at_end(self) -> bool:
        """Whether gradients or values count after the last round."""
        if self.combination:
            return any(name in AFTER for name in self.combination)
        last = self.metric != "final_squared_distance"
        return last and not (self.metric.startswith("average") and self.average == AVERAGES[1])

    @property
    def exact(self) -> bool:
        """Whether the value is attained by a federation of the class, or else only an upper bound."""
        return not self.gradient_noise and not self.everywhere and not self.functions.nonconvex and not self.prices

    @property
    def length(self) -> Fraction:
        """Unit of length: the largest of the start's distance and zeta / L (or sigma / L)."""
        L = self.functions.smoothness
        sizes = [self.gradient_noise / L, (self.dissimilarity_at_optimum or Fraction(0)) / L]
        if self.initial_gap is not None:
            sizes.append(Fraction(float(self.initial_gap / L) ** 0.5))
        elif not self.free_start:
            sizes.append(self.distance)
        return max(sizes) or Fraction(1)

    @property
    def free_start(self) -> bool:
        """Whether no distance bounds the start."""
        return self.contraction is not None or self.initial_gap is not None

    @property
    def bounded(self) -> bool:
        """Whether the metric is, over all of the class: start and clients' gradients there are, and steps multiply."""
        return not self.free_start and self.dissimilarity_at_optimum is not None

    @property
    def unit(self) -> Fraction:
        """Unit of the metric: length^2, times L for gaps and L^2 for squared gradients."""
        metric = METRICS[0] if self.combination else self.metric
        return unit_of_metric(metric, self.length, self.functions.smoothness)

    @property
    def recursive(self) -> bool:
        """Whether the next rounds do the same from where these end."""
        return True

    @property
    def of_server_noise(self) -> float:
        """The factor of the server's noise, squared, in the squared distance after the last round."""
        kinds = [(float(p), kind) for p, kind in self.plan.rounds[-1] if isinstance(kind, ServerStep)]
        return sum((p * float(kind.server_lr) ** 2 for p, kind in kinds), 0.0)

    def units(self, number: Any, scaled: bool) -> Units:
        """Return the numbers without units, of one kind."""
        L, length = self.functions.smoothness, self.length
        zeta = self.dissimilarity_at_optimum
        return Units(
            number,
            number(self.functions.condition),
            L,
            number(self._start()),
            None if zeta is None else number(zeta / (L * length)),
            number(self.gradient_noise / (L * length)),
            number(self.server_noise / (L * length)),
            scaled,
        )

    def _start(self) -> Fraction:
        """The start's distance; where that is free, its scale."""
        if self.contraction is not None:
            return self._reach()
        return Fraction(1) if self.initial_gap is not None else self.distance / self.length

    def _reach(self) -> Fraction:
        """Return the rough distance from x* at which the drift of a round keeps a model: a scale for starts that are
        free."""
        rates = [sum(k.local_lr) if isinstance(k, Training) else k.server_lr for k in self.plan.kinds]
        return min(Fraction(1), max(rates) * self.functions.smoothness)

    def geometry(self, number: Any = float, scaled: bool = True) -> Geometry:
        """Return the points and their vectors."""
        return Geometry(self.plan, self.units(number, scaled), self.at_end)

    def counted(self, geometry: Geometry) -> list[int]:
        """Return the points that gaps and gradients are averaged over."""
        if self.combination:
            return []
        shared = [p for p, point in enumerate(geometry.points) if point.shared]
        if self.metric.startswith("final"):
            return shared[-1:]
        first = 1 if self.average == AVERAGES[0] else 0
        return shared[first : first + len(self.plan.rounds)]

    def dissimilar_at(self, geometry: Geometry) -> list[int]:
        """Return the points at which the dissimilarity is bounded by a number > 0."""
        if not self.dissimilarity_at_optimum:
            return []
        return [0, *(p for p, point in enumerate(geometry.points) if point.shared)] if self.everywhere else [0]

    def program(self) -> Program:
        """Return the semidefinite program, in floats."""
        tau = None if self.contraction is None else float(self.contraction * self.length**2 / self.unit)
        geometry = self.geometry()
        at = self.dissimilar_at(geometry)
        a_gap = self.length**2 * self.functions.smoothness
        gap = None if self.initial_gap is None or "initial_gap" in self.prices else float(self.initial_gap / a_gap)
        units = {
            "initial_gap": a_gap,
            "dissimilarity_at_optimum": (self.dissimilarity_at_optimum or 0) ** 2,
            "gradient_noise": self.gradient_noise**2,
        }
        prices = {PRICED[name]: float(price * units[name] / self.unit) for name, price in self.prices.items()}
        return Program(
            geometry,
            self.metric,
            self.counted(geometry),
            self.functions.quadratic,
            tau,
            at,
            gap,
            prices,
            self._combination(),
        )

    def _combination(self) -> dict[str, float]:
        """Coefficients of quantities without units."""
        L = self.functions.smoothness
        return {name: float(coefficient * L ** POWERS[name]) for name, coefficient in self.combination.items()}


def unit_of_metric(metric: str, length: Fraction, smoothness: Fraction) -> Fraction:
    """Return the unit of a metric: length^2, times L for gaps and L^2 for squared gradients."""
    return length**2 * smoothness ** (0 if "distance" in metric else 1 if "gap" in metric else 2)


def check_square(name: str, number: Fraction | None) -> None:
    """Raise ``ValueError`` if a number is not 0 and its square is none that floats have."""
    if number and not SQUARES[0] <= number**2 <= SQUARES[1]:
        raise ValueError(f"{name}: allowed is 0, or a number from 1e-150 to 1e150")


def check_memory(need: int, what: str) -> None:
    """Raise ``ValueError`` if a program of ``need`` bytes is too large for this machine."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if need > there:
        raise ValueError(
            f"{what}: the program needs about {need / 2**30:.0f} GiB, this machine has {there / 2**30:.0f} GiB"
        )
