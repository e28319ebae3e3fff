"""Tensors of a quadratic federation's numbers, where the simulation computes.

They are made when it first computes, since exact moments ask for none of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..extras import torch
from .devices import find_dtype
from .hessians import Products

if TYPE_CHECKING:
    from torch import Tensor


class Placed:
    """Tensors that ``Quadratic`` computes with, made from its exact numbers."""

    if TYPE_CHECKING:  # the federation's
        tilted: bool

        @property
        def has_optimum(self) -> bool: ...

        @property
        def centres(self) -> np.ndarray: ...

        @property
        def exact_slopes(self) -> np.ndarray: ...

        @property
        def mean_hessian(self) -> np.ndarray: ...

        @property
        def _rounded_optimum(self) -> np.ndarray: ...

        @property
        def _given_products(self) -> Products: ...

    _placed: tuple[torch.device | str, torch.dtype | str] = "cpu", "float64"

    def _prepare(self) -> None:
        """Find the numbers that tensors are made of: here, so that copies on other devices have them too."""
        for name in ("_given_products", "exact_slopes" if self.tilted else "centres"):
            getattr(self, name)
        if self.has_optimum:
            self._rounded_optimum  # noqa: B018

    def _place(self, device: torch.device | str, dtype: torch.dtype | str) -> None:
        self._placed = device, dtype
        for name in ("products", "centred", "slopes", "_hessian", "_optimum"):
            self.__dict__.pop(name, None)

    def _there(self, numbers: np.ndarray) -> Tensor:
        device, dtype = self._placed
        return torch.as_tensor(numbers, device=device, dtype=find_dtype(dtype, torch.float64))

    @cached_property
    def products(self) -> Products:
        """Products with the clients' Hessians."""
        device, dtype = self._placed
        return self._given_products.to(device, find_dtype(dtype, torch.float64))

    @cached_property
    def centred(self) -> Tensor:
        """c_i, (clients, D); those that are ``tilted`` are computed with by their ``slopes``."""
        return self._there(self.centres)

    @cached_property
    def slopes(self) -> Tensor:
        """grad F_i(0), (clients, D)."""
        return self._there(self.exact_slopes.astype(float))

    @cached_property
    def _hessian(self) -> Tensor:
        return self._there(self.mean_hessian)

    @cached_property
    def _optimum(self) -> Tensor:
        return self._there(self._rounded_optimum)
