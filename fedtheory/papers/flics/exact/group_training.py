"""Local training of a group's client, coordinate by coordinate, in numbers of any kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb

from ....moments.evaluators import EXACT, FLOAT, Unserved
from ....moments.number_kinds import CONVERT, geometric, larger, power, root
from .selected import Groups


@dataclass(frozen=True)
class Training:
    """Local training of a group's client, in one coordinate: its update is gain (w - centre) plus noise of variance
    ``spread``, which is at most ``reach``. Its last iterate but one is last (w - centre) away from the centre, up to a
    sign, plus at most ``local_reach``."""

    curvature: Any
    centre: Any
    gain: Any
    spread: Any
    reach: Any
    last: Any
    local_reach: Any

    @classmethod
    def of(cls, h: Any, centre: Any, eta: Any, sigma: Any, steps: int) -> Training:
        """Compute the training of so many steps of size ``eta`` on curvature h, with noise of standard deviation
        ``sigma``."""
        shrink = 1 - eta * h
        size = abs(shrink)
        shrunk = power(size, steps) * (-1 if shrink < 0 and steps % 2 else 1)
        return cls(
            h,
            centre,
            shrunk - 1,
            (eta * sigma) ** 2 * geometric(size * size, steps),
            eta * sigma * geometric(size, steps),
            power(size, steps - 1),
            eta * sigma * geometric(size, steps - 1),
        )

    def largest_gradient(self, far: Any, sigma: Any, larger: Callable[[Any, Any], Any] = larger) -> Any:
        """The largest |stochastic gradient| along the local steps from where |w - centre| = ``far``: how far from the
        centre an iterate can be is monotone in the step, so it is largest at the first or at the last one."""
        return abs(self.curvature) * larger(far, self.last * far + self.local_reach) + sigma


def training(groups: Groups, numbers: str) -> list[list[Training]]:
    """Return the local training of each coordinate, and in it of each group."""
    convert = CONVERT[numbers]
    eta, sigma = convert(groups.local_lr), noise_of_a_coordinate(groups, numbers)
    columns = zip(zip(*groups.curvatures, strict=True), zip(*groups.centres, strict=True), strict=True)
    found = [
        [Training.of(convert(h), convert(c), eta, sigma, groups.local_steps) for h, c in zip(*column, strict=True)]
        for column in columns
    ]
    return found


def noise_of_a_coordinate(groups: Groups, numbers: str) -> Any:
    """Return sigma / sqrt(D)."""
    convert, dimension = CONVERT[numbers], len(groups.start)
    if dimension == 1:
        return convert(groups.gradient_noise)
    if numbers == FLOAT:
        return float(groups.gradient_noise) / math.sqrt(dimension)
    share = root(groups.gradient_noise**2 / dimension)
    if isinstance(share, arb) and numbers == EXACT:
        raise Unserved("gradient_noise: its share of a coordinate is irrational; ask for floats or balls")
    return convert(share)
