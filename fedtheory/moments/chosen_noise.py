"""Noise of the clients that ``LargestNoise`` chooses among identical ones, as the noise of one client."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.aggregation import AverageParticipating
from ..algorithms.algorithm import ClientRound
from ..federations.noise_laws import rise_of
from ..federations.quadratic import Quadratic
from ..participation import LargestNoise
from ..schedule import one_number

if TYPE_CHECKING:
    from .round_maps import LocalMaps


@dataclass(frozen=True)
class ChosenNoise:
    """The mean of the chosen clients' noises, in one kind of number.

    Attributes:
        mean: of the first one. variance: of the first one. later: variance of every later one.
        single: the variance of one client's noise. factor: a. local_lr: eta. local_steps: K.
    """

    mean: Any
    variance: Any
    later: Any
    single: Any
    factor: Any
    local_lr: Any
    local_steps: int

    def powers(self) -> list[Any]:
        """Return a^0, ..., a^(K-1)."""
        found = [self.factor * 0 + 1]
        while len(found) < self.local_steps:
            found.append(found[-1] * self.factor)
        return found

    def end_mean(self) -> Any:
        """The expectation of what the noises add to the mean of the last iterates."""
        return -self.local_lr * self.powers()[-1] * self.mean

    def end_variance(self) -> Any:
        """The variance of what the noise adds to the end of local training."""
        *later, first = (power * power for power in self.powers())
        return self.local_lr * self.local_lr * (first * self.variance + self.later * sum(later))

    def sum_mean(self) -> Any:
        """The expectation of what the noises add to the mean of the clients' sums of gradients."""
        return -(1 - self.powers()[-1]) * self.mean

    def sum_variance(self) -> Any:
        """The variance of what the noise adds to the sum of local gradients."""
        *later, first = ((1 - power) * (1 - power) for power in self.powers())
        return first * self.variance + self.later * sum(later)

    def added_drift(self, start: Any) -> Any:
        """Return what the mean of the first noise adds to the chosen clients' mean of sum_k E|y_{i,k} - y_0|^2."""
        moved = [(power * self.factor - 1) * start for power in self.powers()[:-1]]  # a^k y_0 - y_0, k = 1..K-1
        means = [-self.local_lr * power * self.mean for power in self.powers()[:-1]]
        return sum((2 * there * mean for there, mean in zip(moved, means, strict=True)), 0 * start)


def chosen_noise(fed: Quadratic, kind: ClientRound, process: LargestNoise, exact: bool) -> ChosenNoise:
    """Return the noise of a round in which ``process`` chooses.

    Raises:
        ValueError: the clients are not identical ones on a line with two-point noise, or the algorithm does more than
            to average the participants.
    """
    rise = rise_of(fed.noise)
    if fed.dimension > 1 or not fed.identical or rise is None:
        raise ValueError("LargestNoise: moments are known for identical clients in one dimension with two-point noise")
    if not isinstance(kind.aggregation, AverageParticipating) or kind.proximal != 0 or not kind.trains_alike:
        raise ValueError(
            "LargestNoise: moments are known where participants make equally many steps and are averaged, without a "
            "proximal term"
        )

    def number(value: Fraction) -> Any:
        return value if exact else float(value)

    mean, square = process.mean_and_square(fed.clients, rise)
    sigma, eta = fed.exact_gradient_noise, number(one_number("local_lr", kind.local_lr))
    return ChosenNoise(
        mean=number(sigma * mean),
        variance=number(sigma**2 * (square - mean**2)),
        later=number(sigma**2 / process.count),
        single=number(sigma**2),
        factor=1 - eta * number(fed.exact_hessians[0, 0, 0]),
        local_lr=eta,
        local_steps=kind.local_steps,
    )


def as_one_client(local: LocalMaps, noise: ChosenNoise) -> LocalMaps:
    """Return the maps of the mean of the chosen clients, as of a single one."""
    maps = local.maps[:1].copy()
    maps[0, 0, 1] = maps[0, 0, 1] + noise.end_mean()
    covariance = np.array([[[noise.end_variance()]]], dtype=local.noise.dtype)
    return replace(local, maps=maps, shares=local.shares[:1], noise=covariance, gradients=local.gradients[:1])
