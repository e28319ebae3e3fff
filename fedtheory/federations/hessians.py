"""The clients' Hessians times vectors of packed pairs, by what the Hessians have in common.

Dense Hessians take pairs in tiles of ``TILE`` rows, one client's in each, so that every product of matrices has
the same shape and a replica's bits do not depend on what shares its batch. Local training keeps the rows of its
pairs from the first step to the last: `rows` puts numbers of pairs there, `back` takes them out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..extras import torch

if TYPE_CHECKING:
    from torch import Tensor

    from .federation import Pairs

TILE = 8
"""Rows of one product of matrices: few enough that few are empty where a client has some pairs, and as fast as more."""


BLOCK = 2**21
"""Bytes of the matrices with which a part's steps are made on a CPU: so they stay in its cache from step to step."""


class Part(ABC):
    """Products of some rows, made by themselves, so that their steps can be made before those of others."""

    @abstractmethod
    def product(self, rows: Tensor) -> Tensor:
        """Return H_i v in these rows."""

    @abstractmethod
    def stepped(self, rows: Tensor, size: float) -> Tensor:
        """Return v - size H_i v in these rows."""


class Products(ABC):
    """Products H_i v for every pair."""

    @abstractmethod
    def to(self, device: torch.device | str, dtype: torch.dtype) -> Products:
        """Return these products on another device or in another precision."""

    def times(self, v: Tensor, pairs: Pairs) -> Tensor:
        """Return H_i v of each pair's client i, for v (P, D)."""
        rows = self.rows(v, pairs)
        return self.back(joined([part.product(rows[at]) for at, part in self.parts(pairs)], rows), pairs)

    def rows(self, v: Tensor, pairs: Pairs, dim: int = 0) -> Tensor:
        """Arrange v, with an axis of the pairs, ``dim``, in the rows in which products are made."""
        return v

    def back(self, rows: Tensor, pairs: Pairs) -> Tensor:
        """Return the numbers of the pairs from those in rows."""
        return rows

    @abstractmethod
    def parts(self, pairs: Pairs) -> Iterator[tuple[slice, Part]]:
        """Yield all rows, in parts, one after the other."""

    def moved(self, sizes: tuple[float, ...], proximal: float) -> Products:
        """Return products by -E_i H_i, which give the change of x by SGD with steps of these ``sizes``.

        Where the gradient at x is g, SGD adds -E_i g to x, with E = sum_k size_k prod_{j > k} (I - size_j (H_i +
        proximal I)). The last result is kept.
        """
        if self._moved is None or self._moved[0] != (sizes, proximal):
            self._moved = (sizes, proximal), self._moved_by(sizes, proximal)
        return self._moved[1]

    _moved: tuple[object, Products] | None = None

    @abstractmethod
    def _moved_by(self, sizes: Sequence[float], proximal: float) -> Products: ...


def joined(parts: list[Tensor], rows: Tensor) -> Tensor:
    """Join the rows of the parts; without parts, return those given."""
    return rows if not parts else parts[0] if len(parts) == 1 else torch.cat(parts)


class Entrywise(Part):
    """Products with diagonal matrices, ``entries`` (rows, D) or (D,)."""

    def __init__(self, entries: Tensor) -> None:
        self.entries = entries

    def product(self, rows: Tensor) -> Tensor:
        return rows * self.entries

    def stepped(self, rows: Tensor, size: float) -> Tensor:
        return torch.addcmul(rows, rows, self.entries, value=-size)


class Diagonal(Products):
    """Diagonal Hessians: ``entries`` (M, D)."""

    def __init__(self, entries: Tensor) -> None:
        self.entries = entries

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Diagonal:
        return type(self)(self.entries.to(device, dtype))

    def parts(self, pairs: Pairs) -> Iterator[tuple[slice, Part]]:
        yield slice(None), Entrywise(self._own(pairs))

    @property
    def diagonals(self) -> Tensor:
        """The diagonals, (M, D), or (1, D) of all clients."""
        return self.entries.view(-1, self.entries.shape[-1])

    def moved(self, sizes: tuple[float, ...], proximal: float) -> Diagonal:
        return cast(Diagonal, super().moved(sizes, proximal))

    def _moved_by(self, sizes: Sequence[float], proximal: float) -> Products:
        total = torch.zeros_like(self.entries)
        for size in sizes:
            total = total * (1 - size * (self.entries + proximal)) + size
        return type(self)(-total * self.entries)

    def _own(self, pairs: Pairs) -> Tensor:
        return pairs.once(f"entries {id(self)}", lambda: self.entries.index_select(0, pairs.client))


class CommonDiagonal(Diagonal):
    """One diagonal Hessian of all clients: ``entries`` (D,)."""

    def _own(self, pairs: Pairs) -> Tensor:
        return self.entries


class Alike(Part):
    """Products with one matrix, (D, D), for all rows."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def product(self, rows: Tensor) -> Tensor:
        return rows @ self.matrix

    def stepped(self, rows: Tensor, size: float) -> Tensor:
        return torch.addmm(rows, rows, self.matrix, alpha=-size)


class Batched(Part):
    """Products with a matrix for each tile, given in layers, (tiles, D, D) each."""

    def __init__(self, layers: list[Tensor]) -> None:
        self.layers = layers
        self.tiles = [len(matrices) for matrices in layers]

    def product(self, rows: Tensor) -> Tensor:
        return self._joined(rows, [torch.bmm(own, matrices) for own, matrices in self._split(rows)])

    def stepped(self, rows: Tensor, size: float) -> Tensor:
        found = [torch.baddbmm(own, own, matrices, alpha=-size) for own, matrices in self._split(rows)]
        return self._joined(rows, found)

    def _split(self, rows: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
        tiles = rows.view(-1, TILE, rows.shape[1])
        return zip(tiles.split(self.tiles) if len(self.tiles) > 1 else (tiles,), self.layers, strict=True)

    def _joined(self, rows: Tensor, tiles: list[Tensor]) -> Tensor:
        return joined(tiles, rows).view(rows.shape)


class _Full(Products):
    """Hessians with all their entries: ``matrices`` (M, D, D), or (D, D)."""

    def __init__(self, matrices: Tensor) -> None:
        self.matrices = matrices

    def to(self, device: torch.device | str, dtype: torch.dtype) -> _Full:
        return type(self)(self.matrices.to(device, dtype))

    def _moved_by(self, sizes: Sequence[float], proximal: float) -> Products:
        total, product = torch.zeros_like(self.matrices), self.matrices * sizes[0]
        entries = total.diagonal(dim1=-2, dim2=-1)
        entries.fill_(sizes[0])
        for size in sizes[1:]:
            total -= (product.add_(proximal * total) if proximal > 0 else product).mul_(size)
            entries += size
            product = total @ self.matrices
        return type(self)(product.neg_())


class Common(_Full):
    """One Hessian of all clients, (D, D)."""

    def rows(self, v: Tensor, pairs: Pairs, dim: int = 0) -> Tensor:
        missing = -len(pairs) % TILE
        return (
            torch.cat([v, torch.zeros_like(v.narrow(dim, 0, 1)).repeat_interleave(missing, dim)], dim) if missing else v
        )

    def back(self, rows: Tensor, pairs: Pairs) -> Tensor:
        return rows[: len(pairs)]

    def parts(self, pairs: Pairs) -> Iterator[tuple[slice, Part]]:
        yield slice(None), Alike(self.matrices)


class Dense(_Full):
    """A Hessian for each client, (M, D, D): each is read once for all pairs of its client in a layer of tiles."""

    def rows(self, v: Tensor, pairs: Pairs, dim: int = 0) -> Tensor:
        return v.index_select(dim, self._tiles(pairs).pair) if len(pairs) else v

    def back(self, rows: Tensor, pairs: Pairs) -> Tensor:
        return rows.index_select(0, self._tiles(pairs).slot) if len(rows) else rows

    def parts(self, pairs: Pairs) -> Iterator[tuple[slice, Part]]:
        start = 0
        for number, layers in enumerate(self._tiles(pairs).blocks if len(pairs) else ()):
            part = pairs.once(f"matrices {id(self)} {number}", partial(self._batched, layers))
            stop = start + TILE * sum(part.tiles)
            yield slice(start, stop), part
            start = stop

    def _batched(self, layers: Sequence[Tensor | slice]) -> Batched:
        """Return the products with the matrices of these clients."""
        matrices = self.matrices
        return Batched([matrices[own] if isinstance(own, slice) else matrices.index_select(0, own) for own in layers])

    def _tiles(self, pairs: Pairs) -> Tiles:
        on_cpu, one = self.matrices.device.type == "cpu", self.matrices[0].nbytes
        clients = max(1, BLOCK // one) if on_cpu else len(self.matrices)
        return pairs.once(f"tiles of {clients}", lambda: Tiles.of(pairs, clients))


class Tiles(NamedTuple):
    """The rows of pairs in tiles of ``TILE`` rows, a client each.

    Blocks have a fixed number of clients. In a block, layer l has a tile of every client with more than l * ``TILE``
    pairs.

    ``slot`` (P,) is each pair's row, ``pair`` (rows,) each row's pair. Empty rows repeat a pair, and their results are
    not used. ``blocks`` has the clients of each layer's tiles, as a range where nearly all of it are wanted: reading
    matrices in order costs less than picking them out.
    """

    slot: Tensor
    pair: Tensor
    blocks: tuple[tuple[Tensor | slice, ...], ...]

    @classmethod
    def of(cls, pairs: Pairs, together: int) -> Tiles:
        """Place the pairs, with ``together`` participating clients in a block."""
        from ..loops.participant_lists import place_in_tiles

        sizes, device = pairs.sizes, pairs.client.device
        present = sizes.nonzero()[0]
        first = np.zeros((-(-int(sizes.max()) // TILE), len(sizes)), dtype=np.int64)
        blocks, count = [], 0
        for start in range(0, len(present), together):
            block = present[start : start + together]
            layers: list[Tensor | slice] = []
            for layer in range(-(-int(sizes[block].max()) // TILE)):
                wanted = block[sizes[block] > layer * TILE]
                low, high = int(wanted[0]), int(wanted[-1]) + 1
                if 4 * len(wanted) >= 3 * (high - low):
                    wanted = np.arange(low, high)
                    layers.append(slice(low, high))
                else:
                    layers.append(torch.from_numpy(wanted).to(device))
                first[layer, wanted] = np.arange(count, count + len(wanted))
                count += len(wanted)
            blocks.append(tuple(layers))
        slot, pair = np.empty(sizes.sum(), dtype=np.int64), np.zeros(count * TILE, dtype=np.int64)
        place_in_tiles(sizes, first, TILE, slot, pair)
        return cls(torch.from_numpy(slot).to(device), torch.from_numpy(pair).to(device), tuple(blocks))


def products(matrices: Tensor) -> Products:
    """Products by symmetric ``matrices`` (M, D, D).

    >>> type(products(torch.eye(3).expand(4, 3, 3))).__name__
    'CommonDiagonal'
    """
    common = bool((matrices == matrices[:1]).all())
    entries = matrices.diagonal(dim1=1, dim2=2)
    if torch.count_nonzero(matrices) == torch.count_nonzero(entries):
        return CommonDiagonal(entries[0].contiguous()) if common else Diagonal(entries.contiguous())
    return Common(matrices[0]) if common else Dense(matrices)
