"""Worst functions as federations that the engine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..federations import Quadratic
from ..federations.constants import BOUND, EXACT, Constant, Constants, Region
from ..federations.federation import ConvexFederation, Pairs

if TYPE_CHECKING:
    from .worst_functions import Instance


class Interpolated(ConvexFederation):
    """Federation of the functions of an ``Instance``, without noise; x* = 0 and F(x*) = 0.

    Args:
        instance: of a worst case.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.clients, self.dimension = instance.clients, len(instance.start)
        self.gradient_noise, self.noise = 0.0, "two-point"

    def to(self, device: torch.device | str = "cpu", dtype: torch.dtype | str = torch.float64) -> Interpolated:
        """Return the federation itself: it computes on the CPU, in float64."""
        return self

    @property
    def optimum(self) -> Tensor:
        return torch.zeros(self.dimension, dtype=torch.float64)

    @property
    def optimal_value(self) -> float:
        return 0.0

    def _at(self, x: Tensor, clients: list[int]) -> tuple[Tensor, Tensor]:
        """F_i(x) (P,) and gradients (P, D)."""
        found = [self.instance.at(i, row) for i, row in zip(clients, x.double().cpu().numpy(), strict=True)]
        values = torch.tensor([value for value, _ in found], dtype=torch.float64)
        gradients = np.array([gradient for _, gradient in found]).reshape(x.shape)
        return values.to(x), torch.from_numpy(gradients).to(x)

    def _over_all(self, x: Tensor) -> tuple[Tensor, Tensor]:
        parts = [self._at(x, [i] * len(x)) for i in range(self.clients)]
        return torch.stack([v for v, _ in parts]).mean(0), torch.stack([g for _, g in parts]).mean(0)

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        return self._at(x, pairs.client.tolist())[0]

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        return self._at(x, pairs.client.tolist())[1]

    def global_loss(self, x: Tensor) -> Tensor:
        return self._over_all(x)[0]

    def global_gradient(self, x: Tensor) -> Tensor:
        return self._over_all(x)[1]

    def constants(self, region: Region | None = None) -> Constants:
        functions = self.instance.problem.functions
        largest = float(np.linalg.norm(self.instance.gradients, axis=1).max())
        return Constants(
            {
                "smoothness": Constant(float(functions.smoothness), BOUND, "the class"),
                "strong_convexity": Constant(float(functions.strong_convexity), BOUND, "the class"),
                "dissimilarity": Constant(float("inf"), BOUND, "not bounded but at the optimum"),
                "dissimilarity_at_optimum": Constant(largest, EXACT, "largest client gradient at x*"),
                "gradient_noise": Constant(0.0, EXACT, "none"),
            }
        )


def federation_of(instance: Instance) -> ConvexFederation:
    """Return the instance as a federation; of quadratics a ``Quadratic``, of which exact errors are known."""
    if instance.hessians is not None:
        return Quadratic.with_slopes(instance.hessians, instance.gradients)
    return Interpolated(instance)
