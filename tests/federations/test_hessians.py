"""Hessians times packed vectors: the products are right, and a replica's bits do not depend on its batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedtheory.federations.federation import Pairs
from fedtheory.federations.hessians import TILE, Common, CommonDiagonal, Dense, Diagonal, Products, products

CLIENTS = 7
KINDS = {"diagonal": Diagonal, "common diagonal": CommonDiagonal, "common": Common, "dense": Dense}


def matrices(kind: str, dimension: int, dtype: torch.dtype) -> torch.Tensor:
    rng = np.random.default_rng(dimension)
    dense = rng.standard_normal((1 if "common" in kind else CLIENTS, dimension, dimension))
    dense = dense + dense.transpose(0, 2, 1)
    if "diagonal" in kind:
        dense = dense * np.eye(dimension)
    return torch.as_tensor(np.broadcast_to(dense, (CLIENTS, dimension, dimension)).copy(), dtype=dtype)


def some_pairs(replicas: int, share: float, seed: int = 0) -> Pairs:
    """Client 0 takes part in all replicas, so that some have many tiles and some none."""
    mask = torch.as_tensor(np.random.default_rng(seed).random((replicas, CLIENTS)) < share)
    mask[:, 0] = True
    return Pairs.of(mask, torch.arange(replicas), seed=0, round=0)


def vectors(pairs: Pairs, dimension: int, dtype: torch.dtype) -> torch.Tensor:
    """A vector of each (replica, client), whatever else there is."""
    each = np.random.default_rng(1).standard_normal((200, CLIENTS, dimension))
    return torch.as_tensor(each, dtype=dtype)[pairs.replica, pairs.client]


@pytest.mark.parametrize("share", [0, 0.1, 1])
@pytest.mark.parametrize("replicas", [1, TILE, TILE + 1, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_each_pair(kind: str, replicas: int, share: float) -> None:
    given = matrices(kind, 5, torch.float64)
    found, pairs = products(given), some_pairs(replicas, share)
    assert type(found) is KINDS[kind]
    v = vectors(pairs, 5, torch.float64)
    expected = torch.stack([given[i] @ row for i, row in zip(pairs.client, v, strict=True)])
    torch.testing.assert_close(found.times(v, pairs), expected, rtol=1e-13, atol=1e-13)  # sums of 5 products


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dimension", [3, 50, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_the_batch(kind: str, dimension: int, dtype: torch.dtype) -> None:
    found: Products = products(matrices(kind, dimension, dtype))
    together = some_pairs(100, 0.4)
    all_of_them = found.times(vectors(together, dimension, dtype), together)
    for replica in (0, 57, 99):
        mask = torch.zeros(replica + 1, CLIENTS, dtype=torch.bool)
        mask[replica, together.client[together.replica == replica]] = True
        alone = Pairs.of(mask, torch.arange(replica + 1), seed=0, round=0)
        own = found.times(vectors(alone, dimension, dtype), alone)
        assert torch.equal(own, all_of_them[together.replica == replica])


def test_a_part_of_the_pairs_has_tiles_of_its_own() -> None:
    given = matrices("dense", 4, torch.float64)
    found, pairs = products(given), some_pairs(60, 0.5)
    v = vectors(pairs, 4, torch.float64)
    whole, middle = found.times(v, pairs), len(pairs) // 3
    parts = [found.times(v[a:b], pairs.part(a, b)) for a, b in ((0, middle), (middle, len(pairs)))]
    assert torch.equal(torch.cat(parts), whole)


def test_nobody_takes_part() -> None:
    nobody = Pairs.of(torch.zeros(3, CLIENTS, dtype=torch.bool), torch.arange(3), seed=0, round=0)
    for kind in KINDS:
        assert products(matrices(kind, 4, torch.float64)).times(torch.zeros(0, 4).double(), nobody).shape == (0, 4)
