"""Federations whose clients' gradients are piecewise linear in each coordinate: every constant is known exactly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import listed
from ..extras import torch
from ..rationals import exact_array, exact_number
from .constants import BOUND, EXACT, Constant, Constants, Region
from .devices import find_dtype, placed
from .federation import ConvexFederation, Pairs
from .noise_laws import check_noise

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class PiecewiseLinear:
    """Continuous piecewise linear function g: g(0) = ``at_zero``, with ``slopes[j]`` from breakpoint j - 1 to j.

    Args:
        slopes: one more than breakpoints. breakpoints: ascending. at_zero: g(0).

    Raises:
        ValueError: a number that is not finite, breakpoints that do not ascend, or too many or few slopes.

    >>> huber = PiecewiseLinear(slopes=[0, 1, 0], breakpoints=[-1, 1])
    >>> [huber(Fraction(x)) for x in (-3, "1/2", 5)], huber.integral(Fraction(3))
    ([Fraction(-1, 1), Fraction(1, 2), Fraction(1, 1)], Fraction(5, 2))
    """

    slopes: tuple[Fraction, ...]
    breakpoints: tuple[Fraction, ...]
    at_zero: Fraction

    def __init__(self, slopes: Sequence, breakpoints: Sequence = (), at_zero: object = 0) -> None:
        for name, values in (("slopes", slopes), ("breakpoints", breakpoints)):
            values = listed(name, values, "a list of numbers")
            exact = exact_array(name, values) if values else np.empty(0)
            if exact.ndim != 1:
                raise ValueError(f"{name} have shape {exact.shape}: allowed is a list of numbers")
            object.__setattr__(self, name, tuple(exact))
        object.__setattr__(self, "at_zero", exact_number("at_zero", at_zero))
        if len(self.slopes) != len(self.breakpoints) + 1:
            raise ValueError(
                f"slopes are {len(self.slopes)} and breakpoints {len(self.breakpoints)}: "
                "allowed is one slope more than breakpoints"
            )
        if any(a >= b for a, b in zip(self.breakpoints, self.breakpoints[1:], strict=False)):
            raise ValueError(f"breakpoints = {[str(t) for t in self.breakpoints]}: allowed are ascending ones")

    @cached_property
    def hinges(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """(t, d): g(x) = base + slopes[0] x + sum of d max(x - t, 0)."""
        rises = [after - before for before, after in zip(self.slopes, self.slopes[1:], strict=False)]
        return tuple(zip(self.breakpoints, rises, strict=True))

    @cached_property
    def base(self) -> Fraction:
        """The intercept of the first piece."""
        return self.at_zero + sum((d * t for t, d in self.hinges if t < 0), Fraction(0))

    @cached_property
    def intercepts(self) -> tuple[Fraction, ...]:
        """The pieces' values at 0 if continued: on piece j, g(x) = intercepts[j] + slopes[j] x."""
        found = [self.base]
        for t, d in self.hinges:
            found.append(found[-1] - d * t)
        return tuple(found)

    def __call__(self, x: Fraction) -> Fraction:
        piece = bisect_left(self.breakpoints, x)
        return self.intercepts[piece] + self.slopes[piece] * x

    def integral(self, x: Fraction) -> Fraction:
        """The integral of g from 0 to x."""
        return self._primitive(x) - self._primitive_at_zero

    def _primitive(self, at: Fraction) -> Fraction:
        curved = sum((d * (at - t) ** 2 for t, d in self.hinges if at > t), Fraction(0))
        return self.base * at + (self.slopes[0] * at**2 + curved) / 2

    @cached_property
    def _primitive_at_zero(self) -> Fraction:
        return self._primitive(Fraction(0))

    def plus(self, other: PiecewiseLinear, weight: Fraction = Fraction(1)) -> PiecewiseLinear:
        """Return g + ``weight`` times another function."""
        places = sorted({*self.breakpoints, *other.breakpoints})

        def slope(of: PiecewiseLinear, piece: int) -> Fraction:
            at = bisect_left(of.breakpoints, places[piece]) if piece < len(places) else len(of.breakpoints)
            return of.slopes[at]

        slopes = [slope(self, j) + weight * slope(other, j) for j in range(len(places) + 1)]
        return PiecewiseLinear(slopes, places, self.at_zero + weight * other.at_zero)

    def largest_square(self) -> Fraction | None:
        """The largest g(x)^2; ``None`` where g is unbounded."""
        if self.slopes[0] != 0 or self.slopes[-1] != 0:
            return None
        return max(self(x) ** 2 for x in self.breakpoints or (Fraction(0),))

    def minimiser(self) -> Fraction | None:
        """Return the point at which the integral of g is least; ``None`` where it has no minimum or several."""
        return self._minimiser

    @cached_property
    def _minimiser(self) -> Fraction | None:
        ends = (self.breakpoints[0], self.breakpoints[-1]) if self.breakpoints else (Fraction(0),) * 2
        left = -self.slopes[0] if self.slopes[0] != 0 else self(ends[0])  # the sign of g far out
        right = self.slopes[-1] if self.slopes[-1] != 0 else self(ends[1])
        if not (left <= 0 <= right):
            return None
        bounds = [None, *self.breakpoints, None]
        zeros: set[Fraction] = set()
        for intercept, slope, low, high in zip(self.intercepts, self.slopes, bounds, bounds[1:], strict=False):
            if slope == 0 and intercept == 0:
                zeros |= {end for end in (low, high) if end is not None}
            elif slope != 0:
                zero = -intercept / slope
                if (low is None or low <= zero) and (high is None or zero <= high):
                    zeros.add(zero)
        best = list(zeros)
        if len(best) > 1:
            values = {zero: self.integral(zero) for zero in zeros}
            best = [zero for zero, value in values.items() if value == min(values.values())]
        rays = [end for end, sign in zip(ends, (left, right), strict=True) if sign == 0]  # beyond which g is 0
        return best[0] if len(best) == 1 and best[0] not in rays else None

    def to_json(self) -> dict[str, Any]:
        """Return the function as plain data."""
        lists = {name: [str(v) for v in getattr(self, name)] for name in ("slopes", "breakpoints")}
        return {**lists, "at_zero": str(self.at_zero)}


class NoMinimum(ValueError):
    """Error of a federation whose F has no minimiser, or several."""


class _Tensors(NamedTuple):
    """The lines of all rows, and of F: at 0 and the first slope, (rows, D), where they bend and by how much, (rows, D,
    most bends); and of which row each client's are."""

    base: Tensor
    first: Tensor
    places: Tensor
    rises: Tensor
    kinds: Tensor


class Piecewise(ConvexFederation):
    """Federation of F_i(x) = sum_j of the integral of g_ij from 0 to x_j, with piecewise linear functions g_ij.

    Hessians are diagonal and constant between kinks. Clients are copies of a few kinds. F is convex where all slopes
    are >= 0. Smaller ones are allowed (F then may have several stationary points, but one minimiser).

    Numbers are kept as Fractions; floats are the dyadic numbers that they are.

    Args:
        gradients: a row for each kind, with a ``PiecewiseLinear`` (or its slope alone, a number) for each coordinate.
        multiplicities: how many clients are of each kind, in this order; by default one.
        gradient_noise, noise, server_noise: see ``ConvexFederation``.

    Raises:
        ValueError: rows of different lengths, multiplicities below 1, or an F without a unique minimiser.

    >>> fed = Piecewise([[PiecewiseLinear([2, 1], [0], at_zero=g)] for g in (1, -1)], multiplicities=[5, 5])
    >>> fed.clients, fed.exact_optimum.tolist(), fed.constants()["dissimilarity"].value
    (10, [Fraction(0, 1)], 1.0)
    """

    def __init__(
        self,
        gradients: Sequence[Sequence[PiecewiseLinear | Any]],
        multiplicities: Sequence[int] | None = None,
        gradient_noise: float | str | Fraction = 0.0,
        noise: str = "two-point",
        server_noise: float | str | Fraction = 0.0,
    ) -> None:
        self.gradients = tuple(
            tuple(g if isinstance(g, PiecewiseLinear) else PiecewiseLinear([g]) for g in row) for row in gradients
        )
        lengths = {len(row) for row in self.gradients}
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError(f"gradients have rows of lengths {sorted(lengths)}: allowed are equal ones >= 1")
        counts = (1,) * len(self.gradients) if multiplicities is None else tuple(multiplicities)
        if len(counts) != len(self.gradients) or not all(type(c) is int and c >= 1 for c in counts):
            raise ValueError(f"multiplicities = {list(counts)}: allowed is an integer >= 1 for each row of gradients")
        self.multiplicities, self.clients, self.dimension = counts, sum(counts), lengths.pop()
        self.exact_gradient_noise = exact_number("gradient_noise", gradient_noise)
        self.exact_server_noise = exact_number("server_noise", server_noise)
        self.gradient_noise, self.server_noise = float(self.exact_gradient_noise), float(self.exact_server_noise)
        self.noise = noise
        check_noise(self.gradient_noise, noise, self.server_noise)
        for j, mean in enumerate(self.mean_gradient):
            if mean.minimiser() is None:
                raise NoMinimum(
                    f"gradients: F has no minimiser or several along coordinate {j}, allowed is exactly one"
                )
        self._place("cpu", "float64")

    @cached_property
    def kind_of_client(self) -> np.ndarray:
        """The row of each client, (clients,)."""
        return np.repeat(np.arange(len(self.gradients)), self.multiplicities)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of each kind of client among the clients."""
        return tuple(Fraction(count, self.clients) for count in self.multiplicities)

    @cached_property
    def mean_gradient(self) -> tuple[PiecewiseLinear, ...]:
        """The gradient of F, by coordinate."""
        total = [PiecewiseLinear([0])] * self.dimension
        for share, row in zip(self.shares, self.gradients, strict=True):
            total = [mean.plus(g, share) for mean, g in zip(total, row, strict=True)]
        return tuple(total)

    @cached_property
    def exact_optimum(self) -> np.ndarray:
        """x* in Fractions, (D,)."""
        return np.array([mean.minimiser() for mean in self.mean_gradient], dtype=object)

    @property
    def optimum(self) -> Tensor:
        return torch.as_tensor(self.exact_optimum.astype(float))

    def exact_gap(self, x: Sequence[Fraction]) -> Fraction:
        """Return F(x) - F(x*)."""
        ends = zip(self.mean_gradient, x, self.exact_optimum, strict=True)
        return sum((mean.integral(a) - mean.integral(b) for mean, a, b in ends), Fraction(0))

    @property
    def optimal_value(self) -> float:
        return float(-self.exact_gap([Fraction(0)] * self.dimension))

    # Constants -------------------------------------------------------------------------------------------------------

    @cached_property
    def exact_squared_dissimilarity(self) -> Fraction | None:
        """max over i and x of |grad F_i(x) - grad F(x)|^2: coordinates take their maxima on their own; ``None`` where
        it is infinite."""
        rows = [
            [g.plus(mean, Fraction(-1)).largest_square() for g, mean in zip(row, self.mean_gradient, strict=True)]
            for row in self.gradients
        ]
        known = [[v for v in row if v is not None] for row in rows]
        return None if known != rows else max(sum(row, Fraction(0)) for row in known)

    @cached_property
    def _slopes(self) -> list[Fraction]:
        return [slope for row in self.gradients for g in row for slope in g.slopes]

    def exact_constants(self) -> dict[str, Fraction]:
        return {
            "smoothness": max(map(abs, self._slopes)),
            "strong_convexity": min(self._slopes),
            "gradient_noise": self.exact_gradient_noise,
            "server_noise": self.exact_server_noise,
        }

    def exact_squared_constants(self) -> dict[str, Fraction]:
        zero = Fraction(0)
        gradients = [[g(x) for g, x in zip(row, self.exact_optimum, strict=True)] for row in self.gradients]
        found = {"dissimilarity_at_optimum": max(sum((v**2 for v in row), zero) for row in gradients)}
        everywhere = self.exact_squared_dissimilarity
        return found if everywhere is None else {"dissimilarity": everywhere, **found}

    def constants(self, region: Region | None = None) -> Constants:
        return self._constants if region is None else self._constants_on(region)

    @cached_property
    def _constants(self) -> Constants:
        return self._constants_on(None)

    def _constants_on(self, region: Region | None) -> Constants:
        values, squares = self.exact_constants(), self.exact_squared_constants()
        kind = EXACT if region is None else BOUND  # a region need not meet the piece with the largest slope
        return Constants(
            {
                "smoothness": Constant(float(values["smoothness"]), kind, "largest slope of a gradient"),
                "strong_convexity": Constant(float(values["strong_convexity"]), kind, "smallest slope of a gradient"),
                "dissimilarity": self._dissimilarity(region),
                "dissimilarity_at_optimum": Constant(
                    float(squares["dissimilarity_at_optimum"]) ** 0.5, EXACT, "largest client gradient at x*"
                ),
                "gradient_noise": Constant(self.gradient_noise, EXACT, "as constructed"),
                **self._known_server_noise(),
            }
        )

    def _dissimilarity(self, region: Region | None) -> Constant:
        square = self.exact_squared_dissimilarity
        if square is not None:
            return Constant(float(square) ** 0.5, EXACT if region is None else BOUND, "largest at kinks")
        if region is None:
            return Constant(float("inf"), EXACT, "outermost slopes differ: unbounded over R^D")
        if np.shape(region.centre) != (self.dimension,):
            raise ValueError(f"region's centre has shape {np.shape(region.centre)}: allowed is ({self.dimension},)")
        boxes = [(Fraction(float(c) - region.radius), Fraction(float(c) + region.radius)) for c in region.centre]
        rows = []
        for row in self.gradients:
            off = [g.plus(mean, Fraction(-1)) for g, mean in zip(row, self.mean_gradient, strict=True)]
            rows.append(
                sum(
                    max(d(x) ** 2 for x in (*ends, *(t for t in d.breakpoints if ends[0] < t < ends[1])))
                    for d, ends in zip(off, boxes, strict=True)
                )
            )
        return Constant(float(max(rows)) ** 0.5, BOUND, "largest at kinks and ends of the box around the ball")

    def squared_dissimilarity_root_above(self) -> Fraction | None:
        """The dissimilarity where it is rational, else a rational just above it."""
        square = self.exact_squared_dissimilarity
        if square is None:
            return None
        root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
        return (
            root if root**2 == square else Fraction(isqrt(square.numerator * 10**24 // square.denominator) + 1, 10**12)
        )

    # Tensors ---------------------------------------------------------------------------------------------------------

    def _place(self, device: torch.device | str, dtype: torch.dtype | str) -> None:
        self._placed: tuple[torch.device | str, torch.dtype | str] = device, dtype
        self.__dict__.pop("_tensors", None)

    @cached_property
    def _tensors(self) -> _Tensors:
        """Made when the simulation first computes."""
        device, dtype = self._placed[0], find_dtype(self._placed[1], torch.float64)
        rows = [*self.gradients, self.mean_gradient]  # the last one is F's
        most = max(len(g.breakpoints) for row in rows for g in row)

        def tensor(of: Any) -> Tensor:
            return torch.tensor([[of(g) for g in row] for row in rows], device=device, dtype=dtype)

        def padded(values: list[float]) -> list[float]:
            return values + [0.0] * (most - len(values))

        return _Tensors(
            tensor(lambda g: float(g.base)),
            tensor(lambda g: float(g.slopes[0])),
            tensor(lambda g: padded([float(t) for t in g.breakpoints])),
            tensor(lambda g: padded([float(d) for _, d in g.hinges])),
            torch.as_tensor(self.kind_of_client, device=device),
        )

    def to(self, device: torch.device | str = "cpu", dtype: torch.dtype | str = "float64") -> Piecewise:
        self.mean_gradient  # noqa: B018  # found here, so that copies have it too
        return placed(self, device, dtype)

    def _gradient(self, x: Tensor, rows: Tensor) -> Tensor:
        base, first, places, rises, _ = self._tensors
        above = (x[:, :, None] - places[rows]).clamp_min(0)
        return base[rows] + first[rows] * x + (rises[rows] * above).sum(2)

    def _value(self, x: Tensor, rows: Tensor) -> Tensor:
        base, first, places, rises, _ = self._tensors
        above, before = ((at[:, :, None] - places[rows]).clamp_min(0) ** 2 for at in (x, torch.zeros_like(x)))
        curved = first[rows] * x**2 + (rises[rows] * (above - before)).sum(2)
        return (base[rows] * x + curved / 2).sum(1)

    def _of_mean(self, x: Tensor) -> Tensor:
        return torch.full((len(x),), len(self.gradients), device=x.device)

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        return self._gradient(x, self._tensors.kinds[pairs.client])

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        return self._value(x, self._tensors.kinds[pairs.client])

    def global_gradient(self, x: Tensor) -> Tensor:
        return self._gradient(x, self._of_mean(x))

    def global_loss(self, x: Tensor) -> Tensor:
        return self._value(x, self._of_mean(x))
