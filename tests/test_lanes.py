"""Operations on sixteen floats are those of numpy and PyTorch, one by one."""

from __future__ import annotations

import numpy as np
import torch

from fedtheory.loops.compiler import compiled
from fedtheory.loops.lanes import fma, load, sixteen, store, store_bytes, total, where_equal


@compiled
def halved(values: np.ndarray, halves: np.ndarray) -> None:
    """Through half precision and back."""
    for i in range(0, len(values), 16):
        store(halves, i, load(values, i))
        store(values, i, load(halves, i))


@compiled
def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    store(c, 0, fma(load(a, 0), load(b, 0), load(c, 0)))
    return total(load(c, 0))


@compiled
def changed(values: np.ndarray) -> None:
    """5 in the place of 200, from the second on."""
    number = load(values, 1)
    store_bytes(values, 1, where_equal(number, sixteen(np.float32(200)), sixteen(np.float32(5)), number))


def test_half_precision_is_the_nearest_even_one() -> None:
    halves = np.arange(0, 2**16, 7, dtype=np.uint32) << 16
    bits = np.concatenate([halves + low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]).astype(np.uint32)
    values = np.concatenate([bits.view(np.float32), np.float32([np.inf, -np.inf, np.nan, -np.nan])])
    values = np.resize(values, len(values) + -len(values) % 16)
    expected = torch.from_numpy(values).bfloat16().float().numpy()
    found, halves = values.copy(), np.empty(len(values), np.int16)
    halved(found, halves)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(torch.from_numpy(halves).view(torch.bfloat16).float(), expected)


def test_products_and_sums_are_rounded_once() -> None:
    draws = np.random.default_rng(0)
    a, b = (draws.standard_normal(16).astype(np.float32) for _ in range(2))
    c = -(a * b)  # so that what rounding loses is left
    exact = a.astype(np.float64) * b + c
    assert np.abs(exact).min() > 0
    got = fused(a, b, c)
    np.testing.assert_array_equal(c, exact.astype(np.float32))
    pairs = c[:8] + c[8:]
    fours = pairs[:4] + pairs[4:]
    assert got == (fours[0] + fours[2]) + (fours[1] + fours[3])


def test_bytes_are_numbers() -> None:
    values = np.array([200, *range(15), 200, 200], np.uint8)
    changed(values)
    assert values.tolist() == [200, *range(15), 5, 200]
