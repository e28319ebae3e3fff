"""The clients' Hessians times vectors of packed pairs, by what the Hessians have in common.

Pairs come in tiles of ``TILE`` rows, padded with zeros, so that every product of matrices has the same shape and a
replica's bits do not depend on what shares its batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .base import Pairs

TILE = 16
"""Rows of one product of matrices."""


class Products(ABC):
    """H_i v for every pair."""

    @abstractmethod
    def times(self, v: Tensor, pairs: Pairs) -> Tensor:
        """H_i v of each pair's client i, for v (P, D)."""


class Diagonal(Products):
    """Diagonal Hessians: ``entries`` (M, D)."""

    def __init__(self, entries: Tensor) -> None:
        self.entries = entries

    def times(self, v: Tensor, pairs: Pairs) -> Tensor:
        return v * self.entries[pairs.client]


class CommonDiagonal(Products):
    """One diagonal Hessian of all clients: ``entries`` (D,)."""

    def __init__(self, entries: Tensor) -> None:
        self.entries = entries

    def times(self, v: Tensor, pairs: Pairs) -> Tensor:
        return v * self.entries


class Common(Products):
    """One Hessian of all clients, (D, D)."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def times(self, v: Tensor, pairs: Pairs) -> Tensor:
        missing = -len(v) % TILE
        padded = torch.cat([v, v.new_zeros(missing, v.shape[1])]) if missing else v
        return (padded @ self.matrix)[: len(v)]


class Dense(Products):
    """A Hessian for each client, (M, D, D): each is read once for all pairs of its client in a layer of tiles."""

    def __init__(self, matrices: Tensor) -> None:
        self.matrices = matrices

    def times(self, v: Tensor, pairs: Pairs) -> Tensor:
        tiles = pairs.once("tiles", lambda: Tiles.of(pairs))
        padded = v.new_zeros(tiles.number * TILE, v.shape[1])
        padded[tiles.slot] = v
        rows, found, first = padded.view(tiles.number, TILE, v.shape[1]), [], 0
        for clients in tiles.layers:
            matrices = self.matrices if clients is None else self.matrices[clients]
            found.append(torch.bmm(rows[first : first + len(matrices)], matrices))
            first += len(matrices)
        return torch.cat(found).flatten(0, 1)[tiles.slot] if found else v


class Tiles(NamedTuple):
    """Where pairs go: layer l has a tile of every client with more than l * ``TILE`` pairs.

    ``slot`` (P,) is each pair's row; ``layers`` has the clients of each layer's tiles, ``None``: all of them, in order;
    ``number`` counts tiles.
    """

    slot: Tensor
    layers: tuple[Tensor | None, ...]
    number: int

    @classmethod
    def of(cls, pairs: Pairs) -> Tiles:
        sizes = pairs.offsets.diff()
        clients, device = len(sizes), sizes.device
        layers: list[Tensor | None] = []
        first = torch.zeros(0, clients, dtype=torch.int64, device=device)
        count = 0
        for layer in range(-(-int(sizes.max()) // TILE)):
            wanted = sizes > layer * TILE
            number = int(wanted.sum())
            everyone = 4 * number >= 3 * clients  # reading them in order costs less than picking them out
            place = torch.arange(clients, device=device) if everyone else wanted.cumsum(0) - 1
            layers.append(None if everyone else wanted.nonzero()[:, 0])
            first = torch.cat([first, (count + place)[None]])
            count += clients if everyone else number
        rank = torch.arange(len(pairs), device=device) - pairs.offsets[pairs.client]
        slot = first[rank // TILE, pairs.client] * TILE + rank % TILE
        return cls(slot, tuple(layers), count)


def products(matrices: Tensor) -> Products:
    """Products by symmetric ``matrices`` (M, D, D).

    >>> type(products(torch.eye(3).expand(4, 3, 3))).__name__
    'CommonDiagonal'
    """
    common = bool((matrices == matrices[:1]).all())
    entries = matrices.diagonal(dim1=1, dim2=2)
    if not (matrices - torch.diag_embed(entries)).any():
        return CommonDiagonal(entries[0].contiguous()) if common else Diagonal(entries.contiguous())
    return Common(matrices[0]) if common else Dense(matrices)
