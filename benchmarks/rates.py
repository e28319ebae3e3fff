"""What this machine does in a second: products of matrices, copies, and numbers of torch's generator."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache

import torch

from fedtheory.federations.hessians import TILE

NUMBERS = 2**18


def process_seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def timed(call: Callable[[], object], repetitions: int = 30) -> float:
    """Process seconds, a median."""
    call()
    return statistics.median(process_seconds(call) for _ in range(repetitions))


class Rates:
    """Seconds that one number costs, measured when first asked for."""

    def __init__(self) -> None:
        self.moved, self.drawn, self.product = cache(self._moved), cache(self._drawn), cache(self._product)

    def step(self, hessians: str, dimension: int, noise: str, dtype: torch.dtype) -> float:
        """Of a local step of a pair: its numbers are moved, each takes a number of noise, if there is any, and with
        dense Hessians they are multiplied by one."""
        number = self.moved(dtype) + (0 if noise == "none" else self.drawn(noise, dtype))
        return dimension * (number + (dimension * self.product(dimension, dtype) if hessians == "dense" else 0))

    @staticmethod
    def _moved(dtype: torch.dtype) -> float:
        """A number that is read and written, in a cache."""
        numbers, copy = torch.rand(NUMBERS, dtype=dtype), torch.empty(NUMBERS, dtype=dtype)
        return timed(lambda: copy.copy_(numbers)) / NUMBERS

    @staticmethod
    def _drawn(noise: str, dtype: torch.dtype) -> float:
        """A fair sign, a normal number, or one in [0, 1)."""
        generator = torch.Generator().manual_seed(0)
        if noise == "uniform":
            return timed(lambda: torch.rand(NUMBERS, generator=generator, dtype=dtype)) / NUMBERS
        if noise == "gaussian":
            return timed(lambda: torch.randn(NUMBERS, generator=generator, dtype=dtype)) / NUMBERS
        return timed(lambda: torch.randint(2, (NUMBERS,), generator=generator, dtype=torch.int8)) / NUMBERS

    @staticmethod
    def _product(dimension: int, dtype: torch.dtype) -> float:
        """A multiplication with an addition, in products of tiles by matrices that stay in a cache."""
        count = max(1, min(64, 2**20 // (dimension**2 * dtype.itemsize)))
        rows, matrices = (
            torch.rand(count, TILE, dimension, dtype=dtype),
            torch.rand(count, dimension, dimension, dtype=dtype),
        )
        return timed(lambda: torch.bmm(rows, matrices)) / (rows.numel() * dimension)
